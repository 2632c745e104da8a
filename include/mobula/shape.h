/* shape: what pods look like beyond what their owners say. An instance type names an amount of CPU, memory and accelerators; a pod template
 * that names a type gets its requests and limits from it. Patches (patches.h) change what is written. Pure functions of bytes: where the
 * texts come from is unknown here. */
#ifndef MOBULA_SHAPE_H
#define MOBULA_SHAPE_H

#include <mobula/spec.h>

struct ray_cluster;

/* On a pod template, as an annotation or as a label; made pods have both. */
#define SHAPE_INSTANCE_TYPE "anyscale.com/instance-type"
#define SHAPE_ACCELERATOR "anyscale.com/accelerator-type"
#define SHAPE_MARKET RAY_LABEL_MARKET
#define SHAPE_ZONE RAY_LABEL_ZONE
/* On the head's template, beside its SHAPE_ZONE "a,b": the zones of the whole cluster. */
#define SHAPE_ZONE_TIMEOUT RAY_NOTE_ZONE_TIMEOUT /* "5m": how long its minimum may take in one of them */
#define SHAPE_CROSS_ZONE RAY_NOTE_CROSS_ZONE     /* "true": in all of them at once */
/* On the head's template, too, "25m": a cluster that was not ready for the first time by then gets condition StartingTimedOut. */
#define SHAPE_STARTING_TIMEOUT RAY_NOTE_STARTING_TIMEOUT
/* The label that nodes of a zone carry. */
#define SHAPE_ZONE_LABEL "topology.kubernetes.io/zone"
#define SHAPE_NODE_TYPE "anyscale.com/ray-node-type"
/* On a pod template, "true": the pods that run follow a type that is changed, as if the template had been. */
#define SHAPE_FOLLOW RAY_NOTE_FOLLOW

/* An amount of one resource by Kubernetes' name: cpu in thousandths, memory in bytes, all others in pieces. */
struct shape_amount {
    struct slice name;
    int64_t amount;
};

struct shape_type {
    struct slice name;
    uint32_t line; /* of its value in the text */
    const struct shape_amount *amounts;
    uint32_t amount_count;
    struct slice accelerator;               /* "T4"; empty: none */
    struct slice architecture;              /* amd64 or arm64; empty: any */
    int64_t tpu_hosts, tpu_slices;          /* 0: not given */
    struct jval node_selector, tolerations; /* may be absent */
};

struct shape_types {
    struct shape_type *list;
    uint32_t count;
};

/* Reads the text `instance_types.yaml` of the ConfigMap. Every error at once goes to *errors; returns whether there was none. The types
 * that are right are in *out even then. Everything is in a. */
bool shape_types_read(struct slice text, struct arena *a, struct shape_types *out, struct spec_errors *errors);
const struct shape_type *shape_type_find(const struct shape_types *types, struct slice name); /* NULL: there is none */

/* The type that a pod template names; empty: none. The annotation wins over the label. */
struct slice shape_type_named(struct jval template, struct arena *a);
/* The template as the type makes it, in a. The type is the upper bound of the sum over all containers, so what the first container (Ray's)
 * gets, as requests and limits, is the type less what the others ask for; sidecars among the init containers count with these, and no
 * other init container may ask for more than the type. node_type: head or worker. Fails when too little is left. */
bool shape_type_apply(const struct shape_type *type, struct jval template, struct slice node_type, struct arena *a, struct slice *out,
                      struct err *e);

/* Whether a template may name this market; empty: it names none, and is on-demand. */
bool shape_market_known(struct slice market, struct err *e);
/* The text of this annotation or label of a pod template, the annotation if it has both; empty: neither. */
struct slice shape_given(struct jval template, const char *key, struct arena *a);
/* Applies the types to the groups that name one: templates and, for Ray 2.49 and later, node labels. Hashes stay those of the spec, so that
 * pods that run are not outdated by another type, unless the template asks for it (SHAPE_FOLLOW). A group whose type is missing or does
 * not fit stays as it is and is blocked, with one of these reasons. */
#define SHAPE_TYPE_MISSING "InstanceTypeNotFound"
#define SHAPE_TYPE_UNFIT "InstanceTypeTooSmall"
#define SHAPE_MARKET_UNKNOWN "MarketTypeUnknown"
#define SHAPE_HOSTS_DIFFER "TpuHostsDiffer"
void shape_cluster(const struct shape_types *types, struct ray_cluster *c, struct arena *a);
/* A part of it for clusters without types: groups whose template names a market have it as annotation and as label, and those that prefer
 * spot have two forms. */
void shape_markets(struct ray_cluster *c, struct arena *a);

/* Applies the type that a pod template of no group (a submitter's) names; one that names none stays as it is. False with *e: there is no
 * such type. */
bool shape_pod(const struct shape_types *types, struct slice node_type, struct jval *template, struct arena *a, struct err *e);

/* Before shape_cluster: places the groups of a cluster whose head names zones in the one of this pod_zone_hash (the first if there is
 * none), or with SHAPE_CROSS_ZONE in all of them; a group with zones of its own in these. Fills c->zones, zone and zone_ms. A group that
 * cannot be placed, for its size, is blocked. */
void shape_zones(struct ray_cluster *c, uint32_t hash, struct arena *a);
/* Which zone of the list is tried behind this one; behind the last, the first. */
struct slice shape_zone_after(struct slice zones, struct slice zone);
uint32_t shape_zone_count(struct slice zones);

#endif
