/* Four lines: HTTPS_PROXY (and MOBULA_PROXIES), NO_PROXY, a host, and a line of /etc/hosts that is also an entry of the allowlist, by
 * itself and as HOST:PORT. What is read must keep its promises: an exception for a host excepts it, and what was allowed is allowed. */
#include "src/net/host.h"
#include "src/net/resolve.h"

#include <mobula/net.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PORT = 443 };

static void demand(bool promise)
{
    if (!promise)
        abort();
}

static bool is_host(struct slice host)
{
    return net_is_ip(host) || host_is_name(host);
}

static bool proxied(struct slice url, struct slice no_proxy, struct slice table, struct slice host, struct arena *a, struct net_proxy *out)
{
    struct err e = {0};
    bool use = false;
    bool ok = net_proxy_for(&(struct net_proxies){url, no_proxy, table}, host, PORT, a, out, &use, &e);
    demand(ok == (e.code == ERR_NONE));
    return ok && use;
}

static void check_proxy(struct slice url, struct slice no_proxy, struct slice host)
{
    struct arena a = {0};
    struct net_proxy p;
    for (int table = 0; table < 2; table++)
        if (proxied(url, no_proxy, table ? url : SLICE_NONE, host, &a, &p)) {
            demand(is_host(p.host) && p.port != 0);
            demand(slice_find(p.basic, '\r') < 0 && slice_find(p.basic, '\n') < 0 && !p.host.ptr[p.host.len]);
        }
    struct slice all = arena_printf(&a, "%.*s,*", SLICE_ARG(no_proxy));
    struct slice it = arena_printf(&a, "%.*s,%.*s", SLICE_ARG(no_proxy), SLICE_ARG(host));
    struct slice direct = arena_printf(&a, "%.*s=direct,%.*s", SLICE_ARG(host), SLICE_ARG(url));
    demand(!proxied(url, all, SLICE_NONE, host, &a, &p));
    if (is_host(host))
        demand(!proxied(url, it, SLICE_NONE, host, &a, &p) && !proxied(url, no_proxy, direct, host, &a, &p));
    arena_free(&a);
}

static void check_allow(struct slice entry)
{
    struct net_allow *allow = net_allow_new();
    struct err e = {0};
    struct arena a = {0};
    bool ok = net_allow_add(allow, entry, PORT, "--fuzz", &e);
    demand(ok == (e.code == ERR_NONE));
    if (ok && is_host(entry)) {
        demand(net_allow_check(allow, entry, PORT, &e));
        demand(!net_allow_check(allow, entry, PORT + 1, &e) && e.code == ERR_DENIED);
    } else if (ok && slice_find(entry, '*') >= 0) {
        struct slice tail = entry, before = slice_cut(&tail, '*');
        demand(net_allow_check(allow, arena_printf(&a, "%.*sx%.*s", SLICE_ARG(before), SLICE_ARG(tail)), PORT, &e));
        demand(!net_allow_check(allow, arena_printf(&a, "%.*s%.*s", SLICE_ARG(before), SLICE_ARG(tail)), PORT, &e));
        demand(!net_allow_check(allow, arena_printf(&a, "%.*sx.y%.*s", SLICE_ARG(before), SLICE_ARG(tail)), PORT, &e));
        demand(!net_allow_check(allow, arena_printf(&a, "%.*sx y%.*s", SLICE_ARG(before), SLICE_ARG(tail)), PORT, &e));
    }
    struct cidr c;
    if (cidr_parse(entry, &c))
        demand(cidr_has(&c, &c.net) && ok);
    arena_free(&a);
    net_allow_free(allow);
}

/* What is on the list as HOST:PORT is of the form that firewalls are told, and can be read again. */
static void check_text(struct slice text)
{
    for (int strict = 0; strict < 2; strict++) {
        struct net_allow *allow = net_allow_new(), *again = net_allow_new();
        struct err e = {0};
        bool ok = net_allow_text(allow, text, strict, "--fuzz", &e);
        const struct net_rule *r = net_allow_first(allow);
        demand(ok == (e.code == ERR_NONE) && ok == (r != NULL));
        if (ok) {
            demand(r->port > 0 && !r->next && !(strict && r->kind == NET_WILDCARD));
            for (size_t i = 0; i < r->host.len; i++)
                demand(strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.*:/", r->host.ptr[i]) && r->host.ptr[i]);
            demand(net_allow_add(again, r->host, r->port, "--fuzz", &e) && slice_eq(net_allow_first(again)->host, r->host));
        }
        net_allow_free(allow);
        net_allow_free(again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice rest = {(const char *)data, size};
    struct slice url = slice_cut(&rest, '\n'), no_proxy = slice_cut(&rest, '\n'), host = slice_cut(&rest, '\n');
    check_proxy(url, no_proxy, host);
    check_allow(rest);
    check_text(rest);
    struct ip ip;
    struct address address;
    char text[ADDRESS_TEXT_MAX];
    if (hosts_line_has(rest, host, &ip)) {
        struct ip again;
        address = address_of(&ip, PORT);
        demand(ip_parse(slice_of(address_text(&address, text)), &again) && memcmp(&ip, &again, sizeof ip) == 0);
        demand(address_port(&address) == PORT);
    }
    return 0;
}
