/* The list as a format gets it, and the formats. */
#ifndef MOBULA_EGRESS_FORMATS_H
#define MOBULA_EGRESS_FORMATS_H

#include <mobula/egress.h>

/* The parts of a format. Hosts, namespaces and networks were checked where they were read, so none holds a character that means something
 * in any of them. */
enum { EGRESS_HEAD_PORTS = 16 };
struct egress {
    struct slice ns;
    struct cli_namespaces watch; /* where heads are; none: everywhere */
    bool heads;                  /* false: none is contacted */
    uint16_t head_ports[EGRESS_HEAD_PORTS];
    uint32_t head_port_count;
    bool api;                       /* the API server is on the allowlist */
    struct slice proxies[2];        /* hosts of proxies to it and to the control plane: no TLS begins there */
    const struct net_rule *rules;   /* the allowlist */
    const struct net_rule *sources; /* NET_NETWORK: the machines that a firewall on their way is for; NULL: all */
};

typedef void egress_put(const struct egress *g, struct buf *out);
egress_put egress_put_networkpolicy, egress_put_cilium; /* policies.c */
egress_put egress_put_azure, egress_put_squid;          /* azure.c, squid.c */
egress_put egress_put_nftables;                         /* nftables.c */

/* One way to write the list. */
struct egress_format {
    const char *name;
    const char *about; /* text above it, in lines; NULL: the format has no comments */
    bool pod;          /* it is for the operator's own pod, in the cluster */
    bool names;        /* it can hold names and "*.NAME" */
    bool prefixes;     /* and "PREFIX*.NAME" */
    egress_put *write;
};
const struct egress_format *egress_format(struct slice name, struct err *e);

#endif
