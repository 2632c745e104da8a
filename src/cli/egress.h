/* The output of `mobula egress`: the places that may be contacted, in the form that one firewall or another takes. The list is a net_allow
 * that is filled as the operator fills its own, so the printed list is the enforced one. */
#ifndef MOBULA_CLI_EGRESS_H
#define MOBULA_CLI_EGRESS_H

#include "cli.h"

struct egress_bucket {
    struct slice url, endpoint, region, secret;
    bool virtual_host;
};
struct egress_options {
    struct slice format, ns, watch, kubeconfig, context, ray_access, head_ports, plane_url, sts, ray_version;
    struct net_proxies proxies; /* of the operator, for its control plane */
    struct flag_texts api_servers, entries, profiles, cloud_ids, sources;
    struct egress_bucket bucket; /* of the operator */
    bool all_namespaces, strict;
};
/* Adds the servers of a bucket, if one is named. */
bool egress_sts(struct slice url, struct net_allow *allow, struct arena *a, struct err *e); /* the same of --sts-url */
bool egress_bucket(const struct egress_bucket *o, struct net_allow *allow, struct arena *a, struct err *e);

struct egress_options egress_defaults(void);
extern const struct flags egress_flags;

/* The parts of a format. */
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

/* One way to write the list. */
struct egress_format {
    const char *name;
    const char *about; /* text above it, in lines; NULL: the format has no comments */
    bool pod;          /* it is for the operator's own pod, in the cluster */
    bool names;        /* it can hold names and "*.NAME" */
    bool prefixes;     /* and "PREFIX*.NAME" */
    void (*write)(const struct egress *g, struct buf *out);
};
const struct egress_format *egress_format(struct slice name, struct err *e);

/* Checks the options and appends the list. notes: lines about what the format cannot hold or was left out; they stand in the list as well,
 * where it has comments. The same options give the same bytes. */
bool egress_write(const struct egress_options *o, struct buf *out, struct buf *notes, struct err *e);

#endif
