#include <mobula/net.h>

#include "host.h"

#include <stdio.h>

struct allow_entry {
    struct allow_entry *next;
    const char *setting;
    enum { ALLOW_NAME, ALLOW_WILDCARD, ALLOW_NETWORK } kind;
    uint16_t port;
    struct cidr network;
    size_t len;
    char host[]; /* as it was given */
};

/* An address and port that somebody has borrowed. */
struct peer {
    struct peer_key {
        struct ip ip;
        uint16_t port;
    } key; /* of the map: no padding in it */
    uint32_t users;
};
_Static_assert(sizeof(struct peer_key) == sizeof(struct ip) + sizeof(uint16_t), "a key is compared as bytes");

struct net_allow {
    struct allow_entry *first, **end;
    unsigned count;
    struct map peers;
};

struct net_allow *net_allow_new(void)
{
    struct net_allow *a = mem_alloc(sizeof *a);
    a->end = &a->first;
    return a;
}

void net_allow_free(struct net_allow *a)
{
    if (!a)
        return;
    for (struct allow_entry *at = a->first, *next; at; at = next) {
        next = at->next;
        mem_free(at);
    }
    struct peer *p;
    for (uint32_t i = 0; (p = map_next(&a->peers, &i)) != NULL;)
        mem_free(p);
    map_free(&a->peers);
    mem_free(a);
}

static struct slice entry_host(const struct allow_entry *at)
{
    return (struct slice){at->host, at->len};
}

static bool entry_read(struct slice host, struct allow_entry *out, struct err *e)
{
    struct ip ip;
    if (ip_parse(host, &ip)) {
        out->kind = ALLOW_NETWORK;
        out->network = (struct cidr){ip, 128};
        return true;
    }
    if (cidr_parse(host, &out->network)) {
        out->kind = ALLOW_NETWORK;
        return true;
    }
    bool wildcard = slice_starts(host, SLICE("*."));
    out->kind = wildcard ? ALLOW_WILDCARD : ALLOW_NAME;
    if (host_is_name(wildcard ? slice_skip(host, 2) : host))
        return true;
    return err_set(e, ERR_CONFIG, "\"%.*s\" is not a host name, *.NAME, IP address or CIDR", SLICE_ARG(host));
}

bool net_allow_add(struct net_allow *a, struct slice host, uint16_t port, const char *setting, struct err *e)
{
    struct allow_entry read;
    if (!entry_read(host, &read, e))
        return err_wrap(e, "%s", setting);
    for (struct allow_entry *at = a->first; at; at = at->next)
        if (at->port == port && slice_eq_nocase(entry_host(at), host))
            return true;
    if (a->count == LIMIT_NET_ALLOW)
        return err_set(e, ERR_LIMIT, "%s: \"%.*s\" does not fit in the egress allowlist: LIMIT_NET_ALLOW is %d", setting, SLICE_ARG(host),
                       LIMIT_NET_ALLOW);
    struct allow_entry *at = mem_alloc(sizeof *at + host.len);
    at->setting = setting;
    at->kind = read.kind;
    at->port = port;
    at->network = read.network;
    at->len = host.len;
    memcpy(at->host, host.ptr, host.len);
    *a->end = at;
    a->end = &at->next;
    a->count++;
    return true;
}

static struct slice key_slice(const struct peer_key *key)
{
    return (struct slice){(const char *)key, sizeof *key};
}

bool net_allow_peer(struct net_allow *a, struct slice ip, uint16_t port, struct err *e)
{
    struct peer_key key = {.port = port};
    if (!ip_parse(ip, &key.ip) || !ip_is_routed(&key.ip) || port == 0)
        return err_set(e, ERR_DENIED, "\"%.*s\" port %u is no address of another host that may be connected to",
                       SLICE_ARG(slice_head(ip, INET6_ADDRSTRLEN)), port);
    struct peer *p = map_get(&a->peers, key_slice(&key));
    if (!p && a->peers.count == LIMIT_NET_PEERS)
        return err_set(e, ERR_LIMIT, "%.*s:%u does not fit in the egress allowlist: LIMIT_NET_PEERS is %d", SLICE_ARG(ip), port,
                       LIMIT_NET_PEERS);
    if (!p) {
        p = mem_alloc(sizeof *p);
        p->key = key;
        map_put(&a->peers, key_slice(&p->key), p);
    }
    p->users++;
    return true;
}

void net_allow_drop_peer(struct net_allow *a, struct slice ip, uint16_t port)
{
    struct peer_key key = {.port = port};
    struct peer *p = ip_parse(ip, &key.ip) ? map_get(&a->peers, key_slice(&key)) : NULL;
    if (!p || --p->users > 0)
        return;
    map_del(&a->peers, key_slice(&key));
    mem_free(p);
}

static bool is_peer(const struct net_allow *a, const struct ip *ip, uint16_t port)
{
    struct peer_key key = {*ip, port};
    return map_get(&a->peers, key_slice(&key)) != NULL;
}

static bool entry_holds(const struct allow_entry *at, struct slice host, const struct ip *ip)
{
    switch (at->kind) {
    case ALLOW_NETWORK:
        return ip && cidr_has(&at->network, ip);
    case ALLOW_WILDCARD: { /* the star stands for exactly one label, as in certificates */
        ptrdiff_t dot = slice_find(host, '.');
        return !ip && dot > 0 && slice_eq_nocase(slice_skip(host, (size_t)dot), slice_skip(entry_host(at), 1));
    }
    case ALLOW_NAME:
        break;
    }
    return !ip && slice_eq_nocase(entry_host(at), host);
}

/* "--kubeconfig, --control-plane": each setting that put something on the list, once. */
static const char *settings(const struct net_allow *a, char out[ERR_TEXT_MAX])
{
    size_t used = 0;
    out[0] = '\0';
    for (const struct allow_entry *at = a->first; at && used < ERR_TEXT_MAX - 1; at = at->next) {
        const struct allow_entry *same = a->first;
        while (same != at && strcmp(same->setting, at->setting) != 0)
            same = same->next;
        if (same == at)
            used += (size_t)snprintf(out + used, ERR_TEXT_MAX - used, "%s%s", used ? ", " : "", at->setting);
    }
    return out;
}

bool net_allow_check(const struct net_allow *a, struct slice host, uint16_t port, struct err *e)
{
    struct ip ip;
    bool is_ip = ip_parse(host, &ip);
    const struct allow_entry *other_port = NULL;
    if (is_ip && is_peer(a, &ip, port))
        return true;
    for (const struct allow_entry *at = a->first; at; at = at->next) {
        if (!entry_holds(at, host, is_ip ? &ip : NULL))
            continue;
        if (at->port == 0 || at->port == port)
            return true;
        other_port = at;
    }
    if (other_port)
        return err_set(e, ERR_DENIED, "%.*s:%u is not on the egress allowlist: %s allows port %u there, not %u", SLICE_ARG(host), port,
                       other_port->setting, other_port->port, port);
    if (!a->first)
        return err_set(e, ERR_DENIED, "%.*s:%u is not on the egress allowlist, which is empty", SLICE_ARG(host), port);
    char text[ERR_TEXT_MAX];
    return err_set(e, ERR_DENIED, "%.*s:%u is not on the egress allowlist, which is made of %s", SLICE_ARG(host), port, settings(a, text));
}
