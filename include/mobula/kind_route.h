/* kind_route: records of Ingresses, Gateways, HTTPRoutes, GRPCRoutes and VirtualServices, and how their owners have them written. Each kind
 * is watched on demand, from the first owner that asks for one. */
#ifndef MOBULA_KIND_ROUTE_H
#define MOBULA_KIND_ROUTE_H

#include <mobula/control.h>
#include <mobula/route.h>

extern const struct kind kind_ingress, kind_gateway, kind_httproute, kind_grpcroute, kind_virtualservice;

/* The view that the decision about `c` has of its route of this name; begins to watch the kind. `want` and `apply` are the caller's. */
struct route_view route_look(struct op *op, struct record *c, const struct kind *k, struct slice name);
/* Whether `c` has a route of this name, as far as the kind is watched. */
bool route_seen(const struct op *op, const struct record *c, const struct kind *k, struct slice name);
/* The next route of this kind in another namespace; *at is 0 at first. NULL: none. *ns: its namespace. */
const struct route *route_elsewhere(const struct op *op, const struct record *c, const struct kind *k, uint32_t *at, struct slice *ns);
void routes_respecified(struct op *op, struct record *c); /* the owner's generation changed: what was refused is tried again at once */
/* For verb_make of an apply. False with *e: the name is taken by another object of ours. */
verb_make route_make;
/* The rest of an apply's struct verb_handler. A refusal is counted against the route alone: nothing else of its owner waits. */
extern const struct verb_more route_sealed;
verb_answer route_answer;
verb_failed route_failed;
/* ---- certificates of host names (--route-ca) ---- */

struct route_tls_want {
    struct slice secret, hosts; /* hosts: "a,b". secret empty: the route has no TLS */
    struct slice field;         /* of the spec, that names a Secret of the user's; empty: the Secret is made */
    struct slice gateway_ns;    /* namespace of a Gateway that reads the Secret; empty: the owner's own */
};
/* Reads the Secret when that is due. NULL: the operator makes no certificates, or none is wanted. In the plan's arena. */
const struct route_tls_view *route_tls_look(struct op *op, struct record *c, const struct route_tls_want *want);
void route_tls_drop(struct op *op, const struct record *c); /* the owner is gone */
void route_tls_figures(const struct op *op, struct buf *b); /* for /metrics */

/* Whether the failures are those of a route: they are of no group. */
bool route_group(struct slice group);

#endif
