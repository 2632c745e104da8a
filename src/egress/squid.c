/* Squid: lines of squid.conf. */
#include "formats.h"

/* A name's dots are no wildcards in a regular expression; nothing else in it means something there. */
static void squid_pattern(struct slice host, struct buf *out)
{
    buf_putc(out, '^');
    for (size_t i = 0; i < host.len; i++) {
        if (host.ptr[i] == '*')
            buf_put(out, SLICE("[a-z0-9_-]+"));
        else if (host.ptr[i] == '.')
            buf_put(out, SLICE("\\."));
        else
            buf_putc(out, host.ptr[i]);
    }
    buf_putc(out, '$');
}

/* Lists of one kind and port. -n: no lookups, so that a name is compared as it was asked for. */
static void squid_kind(const struct egress *g, enum net_rule_kind kind, uint16_t port, struct buf *out)
{
    static const char *const types[] = {[NET_NAME] = "names", [NET_WILDCARD] = "patterns", [NET_NETWORK] = "networks"};
    static const char *const tests[] = {[NET_NAME] = "dstdomain -n", [NET_WILDCARD] = "dstdom_regex -n -i", [NET_NETWORK] = "dst -n"};
    bool any = false;
    for (const struct net_rule *r = g->rules; r; r = r->next) {
        if (r->kind != kind || r->port != port)
            continue;
        any = true;
        buf_printf(out, "acl mobula_%s_%u %s ", types[kind], port, tests[kind]);
        if (kind == NET_WILDCARD)
            squid_pattern(r->host, out);
        else
            buf_put(out, r->host);
        buf_putc(out, '\n');
    }
    if (any)
        buf_printf(out, "http_access allow mobula_connect%s mobula_port_%u mobula_%s_%u\n", g->sources ? " mobula_from" : "", port,
                   types[kind], port);
}

/* Whether an entry before this one has its port. */
static bool port_seen(const struct egress *g, const struct net_rule *r)
{
    const struct net_rule *first = g->rules;
    while (first->port != r->port)
        first = first->next;
    return first != r;
}

void egress_put_squid(const struct egress *g, struct buf *out)
{
    buf_put(out, SLICE("acl mobula_connect method CONNECT\n"));
    for (const struct net_rule *r = g->sources; r; r = r->next)
        buf_printf(out, "acl mobula_from src %.*s\n", SLICE_ARG(r->host));
    for (const struct net_rule *r = g->rules; r; r = r->next) {
        if (port_seen(g, r))
            continue;
        buf_printf(out, "acl mobula_port_%u port %u\n", r->port, r->port);
        for (int kind = NET_NAME; kind <= NET_NETWORK; kind++)
            squid_kind(g, (enum net_rule_kind)kind, r->port, out);
    }
    if (g->sources)
        buf_put(out, SLICE("http_access deny mobula_from\n"));
}
