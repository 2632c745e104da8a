/* egress: the places that may be contacted, in the form that one firewall or another takes. The list is a net_allow that is filled as the
 * operator fills its own, so the printed list is the enforced one. Only a kubeconfig is read, and nothing is contacted or printed. */
#ifndef MOBULA_EGRESS_H
#define MOBULA_EGRESS_H

#include <mobula/command.h>
#include <mobula/net.h>

struct egress_bucket {
    struct slice url, endpoint, region, secret;
    bool virtual_host;
};
/* Values as they are typed: an error names the flag of `mobula egress` that it is about. */
struct egress_options {
    struct slice format, ns, watch, kubeconfig, context, ray_access, head_ports, plane_url, sts, ray_version;
    struct net_proxies proxies; /* of the operator, for its control plane */
    struct flag_texts api_servers, entries, profiles, cloud_ids, sources;
    struct egress_bucket bucket; /* of the operator */
    bool all_namespaces, strict;
};
struct egress_options egress_defaults(void);

/* Checks the options and appends the list. notes: lines about what the format cannot hold or was left out; they stand in the list as well,
 * where it has comments. The same options give the same bytes. False: *e, and `out` may hold a part of the list. */
bool egress_write(const struct egress_options *o, struct buf *out, struct buf *notes, struct err *e);

#endif
