#include <mobula/net.h>

#include "host.h"

#include <stdio.h>

struct allow_entry {
    struct net_rule rule; /* first */
    struct cidr network;  /* of NET_NETWORK */
    char host[];
};
enum { HOST_TEXT_MAX = LIMIT_NET_HOST + ADDRESS_TEXT_MAX + 5 };

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
    struct net_rule *first, **end;
    unsigned count;
    const char *remedy;
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
    struct peer *p;
    for (uint32_t i = 0; (p = map_next(&a->peers, &i)) != NULL;)
        mem_free(p);
    map_free(&a->peers);
    for (struct net_rule *at = a->first, *next; at; at = next) {
        next = at->next;
        mem_free(at);
    }
    mem_free(a);
}

/* ---- entries ---- */

/* PREFIX*.NAME: a name once the star is a letter. Under a top-level domain alone it would hold what anybody can register. */
static bool wildcard_read(struct slice host, size_t star, struct err *e)
{
    char name[LIMIT_NET_HOST];
    struct slice tail = slice_skip(host, star + 1);
    bool well = host.len <= sizeof name && slice_starts(tail, SLICE(".")) && slice_find(host, '.') > (ptrdiff_t)star;
    if (well) {
        memcpy(name, host.ptr, host.len);
        name[star] = 'x';
        well = host_is_name((struct slice){name, host.len});
    }
    if (!well)
        return err_set(e, ERR_CONFIG, "\"%.*s\" is not a wildcard: want *.NAME or PREFIX*.NAME, one star at the end of the first label",
                       SLICE_ARG(host));
    return slice_find(slice_skip(tail, 1), '.') > 0 ||
           err_set(e, ERR_CONFIG, "\"%.*s\" holds all of a top-level domain: want two labels or more behind the star", SLICE_ARG(host));
}

static bool entry_read(struct slice host, struct allow_entry *out, struct err *e)
{
    struct ip ip;
    ptrdiff_t star = slice_find(host, '*');
    out->rule.kind = star >= 0 ? NET_WILDCARD : NET_NAME;
    if (star >= 0)
        return wildcard_read(host, (size_t)star, e);
    if (ip_parse(host, &ip))
        out->network = (struct cidr){ip, 128};
    else if (!cidr_parse(host, &out->network))
        return host_is_name(host) ||
               err_set(e, ERR_CONFIG, "\"%.*s\" is not a host name, *.NAME, PREFIX*.NAME, IP address or CIDR", SLICE_ARG(host));
    out->rule.kind = NET_NETWORK;
    return true;
}

/* One spelling for what is the same. */
static void entry_spell(struct allow_entry *entry, struct slice host, char out[HOST_TEXT_MAX])
{
    struct net_rule *rule = &entry->rule;
    rule->host = (struct slice){out, host.len};
    for (size_t i = 0; i < host.len && rule->kind != NET_NETWORK; i++)
        out[i] = host.ptr[i] >= 'A' && host.ptr[i] <= 'Z' ? (char)(host.ptr[i] + ('a' - 'A')) : host.ptr[i];
    if (rule->kind != NET_NETWORK)
        return;
    char text[ADDRESS_TEXT_MAX];
    struct address address = address_of(&entry->network.net, 0);
    rule->v6 = !ip_is_v4(&entry->network.net);
    rule->host.len = (size_t)snprintf(out, HOST_TEXT_MAX, "%s/%u", address_text(&address, text), entry->network.bits - (rule->v6 ? 0 : 96));
}

bool net_allow_add(struct net_allow *a, struct slice host, uint16_t port, const char *setting, struct err *e)
{
    struct allow_entry made = {.rule = {.port = port, .setting = setting}};
    char text[HOST_TEXT_MAX];
    if (!entry_read(host, &made, e))
        return err_wrap(e, "%s", setting);
    entry_spell(&made, host, text);
    for (const struct net_rule *at = a->first; at; at = at->next)
        if (at->port == port && slice_eq(at->host, made.rule.host))
            return true;
    if (a->count == LIMIT_NET_ALLOW)
        return err_set(e, ERR_LIMIT, "%s: \"%.*s\" does not fit in the egress allowlist: LIMIT_NET_ALLOW is %d", setting, SLICE_ARG(host),
                       LIMIT_NET_ALLOW);
    size_t len = made.rule.host.len;
    struct allow_entry *entry = mem_alloc(sizeof *entry + len);
    *entry = made;
    memcpy(entry->host, text, len);
    entry->rule.host = (struct slice){entry->host, len};
    *a->end = &entry->rule;
    a->end = &entry->rule.next;
    a->count++;
    return true;
}

void net_allow_forget(struct net_allow *a, const char *setting)
{
    struct net_rule **at = &a->first;
    while (*at) {
        struct net_rule *rule = *at;
        if (rule->setting != setting) {
            at = &rule->next;
            continue;
        }
        *at = rule->next;
        a->count--;
        mem_free(rule);
    }
    a->end = at;
}

bool net_place(struct slice text, struct slice *host, uint16_t *port)
{
    struct slice port_text;
    *port = NET_ALLOW_PORT;
    if (host_split_port(text, host, &port_text))
        return port_parse(port_text, port) && *port != 0;
    bool bracket = slice_starts(text, SLICE("[")) && slice_ends(text, SLICE("]"));
    *host = bracket ? (struct slice){text.ptr + 1, text.len - 2} : text;
    return true;
}

bool net_url(struct slice url, struct endpoint *at, struct slice *authority, struct slice *rest)
{
    struct slice host, port;
    at->tls = slice_starts(url, SLICE("https://"));
    if (!at->tls && !slice_starts(url, SLICE("http://")))
        return false;
    *rest = slice_skip(url, at->tls ? 8 : 7);
    *authority = slice_cut(rest, '/');
    bool well = net_place(*authority, &at->host, &at->port);
    if (!at->tls && !host_split_port(*authority, &host, &port))
        at->port = 80;
    return well;
}

bool net_allow_text(struct net_allow *a, struct slice text, bool strict, const char *setting, struct err *e)
{
    struct slice host;
    uint16_t port;
    if (!net_place(text, &host, &port))
        return err_set(e, ERR_CONFIG, "%s: \"%.*s\": want HOST or HOST:PORT, and a port from 1 to 65535%s", setting, SLICE_ARG(text),
                       slice_has(text, "://") ? "; a host, without https:// and without a path" : "");
    if (strict && slice_find(host, '*') >= 0)
        return err_set(e, ERR_DENIED, "%s: \"%.*s\" is a wildcard, which strict mode refuses: write one entry for each name", setting,
                       SLICE_ARG(text));
    return net_allow_add(a, host, port, setting, e);
}

void net_allow_remedy(struct net_allow *a, const char *setting)
{
    a->remedy = setting;
}

const struct net_rule *net_allow_first(const struct net_allow *a)
{
    return a->first;
}

/* ---- peers ---- */

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

/* ---- the check ---- */

static bool wildcard_holds(struct slice pattern, struct slice host)
{
    size_t star = (size_t)slice_find(pattern, '*');
    ptrdiff_t dot = slice_find(host, '.');
    if (dot <= (ptrdiff_t)star || !host_is_name(host)) /* the star stands for a character or more of one label, as in certificates */
        return false;
    return slice_eq_nocase(slice_head(host, star), slice_head(pattern, star)) &&
           slice_eq_nocase(slice_skip(host, (size_t)dot), slice_skip(pattern, star + 1));
}

static bool rule_holds(const struct net_rule *rule, struct slice host, const struct ip *ip)
{
    switch (rule->kind) {
    case NET_NETWORK:
        return ip && cidr_has(&((const struct allow_entry *)rule)->network, ip);
    case NET_WILDCARD:
        return !ip && wildcard_holds(rule->host, host);
    case NET_NAME:
        break;
    }
    return !ip && slice_eq_nocase(rule->host, host);
}

/* "--kubeconfig, --control-plane": each setting that put something on the list, once. */
static const char *settings(const struct net_allow *a, char out[ERR_TEXT_MAX])
{
    size_t used = 0;
    out[0] = '\0';
    for (const struct net_rule *at = a->first; at && used < ERR_TEXT_MAX - 1; at = at->next) {
        const struct net_rule *same = a->first;
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
    const struct net_rule *other_port = NULL;
    if (is_ip && is_peer(a, &ip, port))
        return true;
    for (const struct net_rule *at = a->first; at; at = at->next) {
        if (!rule_holds(at, host, is_ip ? &ip : NULL))
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
    return err_set(e, ERR_DENIED, "%.*s:%u is not on the egress allowlist, which is made of %s%s%s%s", SLICE_ARG(host), port,
                   settings(a, text), a->remedy ? " (" : "", a->remedy ? a->remedy : "", a->remedy ? " adds to it)" : "");
}
