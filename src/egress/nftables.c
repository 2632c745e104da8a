/* nftables: a table for the machine that the nodes' packets pass. */
#include "formats.h"

void egress_put_nftables(const struct egress *g, struct buf *out)
{
    buf_put(out, SLICE("table inet mobula_egress\ndelete table inet mobula_egress\ntable inet mobula_egress {\n"
                       "    chain forward {\n        type filter hook forward priority filter; policy accept;\n"));
    for (const struct net_rule *r = g->sources; r; r = r->next)
        buf_printf(out, "        %s saddr %.*s jump nodes\n", r->v6 ? "ip6" : "ip", SLICE_ARG(r->host));
    if (!g->sources)
        buf_put(out, SLICE("        jump nodes\n"));
    buf_put(out, SLICE("    }\n    chain nodes {\n        ct state established,related accept\n"));
    for (const struct net_rule *r = g->rules; r; r = r->next)
        if (r->kind == NET_NETWORK)
            buf_printf(out, "        %s daddr %.*s tcp dport %u accept\n", r->v6 ? "ip6" : "ip", SLICE_ARG(r->host), r->port);
    if (g->sources)
        buf_put(out, SLICE("        counter reject\n"));
    buf_put(out, SLICE("    }\n}\n"));
}
