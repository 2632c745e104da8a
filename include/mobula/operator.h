/* operator: binds what is seen to decisions and decisions to calls. Events move records, a moved record marks its cluster dirty, dirty
 * clusters are decided in turn, plans are carried out in turn under the client's window, and answers move records.
 * It is driven by three functions and the net it is given, so the event loop and the simulator drive it alike. */
#ifndef MOBULA_OPERATOR_H
#define MOBULA_OPERATOR_H

#include <mobula/base.h>
#include <mobula/kube.h>
#include <mobula/net.h>
#include <mobula/ray.h>

/* How the heads of clusters are reached. */
enum operator_access {
    OPERATOR_DIRECT,  /* by the address of their pod */
    OPERATOR_SERVICE, /* by that of the head service, where it has one of its own */
    OPERATOR_PROXY,   /* through the API server: for dashboards only, as it passes no gRPC on. Nothing is scaled by demand then */
};

/* Which RayClusters are looked after. RayJobs belong to those of ray.io. */
enum operator_kinds { OPERATOR_ALL_KINDS, OPERATOR_RAY_IO, OPERATOR_LEGACY };

struct operator_options {
    const struct slice *namespaces; /* watched; a single empty one: all */
    uint32_t namespace_count;
    struct ray_options ray;
    struct slice executable; /* bytes of this program, for ConfigMap mobula-tools; empty unless RAY_TOOLS_CONFIGMAP */
    bool autoscaling;        /* clusters that ask for it are scaled by what their heads say, but where ray.sidecar or they say otherwise */
    bool submitter_pods;     /* jobs of K8sJobMode are submitted by a pod of their own, and not from here */
    enum operator_access access;
    enum operator_kinds kinds; /* the others are neither watched nor asked for: there may be no right to it */
    bool leader_elect;
    struct kube_lease_options lease; /* when leader_elect */
    int64_t fence_ms;                /* for so long who begins to lead makes no workers (OPERATOR_FENCE_MS) */
    struct slice instance;           /* who reports events: the pod's or host's name */
    struct net_allow *allow;         /* where heads are put while they are asked; NULL: the net knows no list */
    /* Reads the file of a time zone, by its name, which leads nowhere else (zone_name_valid). NULL: UTC is the only one. */
    bool (*zone_file)(const void *zones, struct slice name, struct arena *a, struct slice *out, struct err *e);
    const void *zones;
    uint64_t seed;
};

struct op;
/* config, net and all slices stay the caller's. */
struct op *operator_new(struct net *net, struct kube_config *config, const struct operator_options *o, struct err *e);
void operator_free(struct op *op);

/* Call it before every net_dispatch: who has slept beyond its lease (a stopped process, a machine that was suspended) must know so before
 * the answers that wait for it let the next calls out. */
void operator_wake(struct op *op, struct now now);

/* Reads the credentials of the API server again, now. */
void operator_renew(struct op *op, struct now now);

/* Does all that can be done now and returns when to come again. Call it after every net_dispatch. */
int64_t operator_step(struct op *op, struct now now);

/* No new work is begun; the lease is given up when what is in flight has been answered. True when there is nothing left to wait for. */
bool operator_stop(struct op *op, struct now now);

/* Accepts links on the health and metrics listeners: GET /healthz, /readyz, /metrics. */
struct link_accept *operator_health(struct op *op);
struct link_accept *operator_metrics(struct op *op);

/* Ready: all caches complete, and (when elected) somebody leads. Else why not, in words. */
bool operator_ready(const struct op *op, struct now now, struct buf *why);

#endif
