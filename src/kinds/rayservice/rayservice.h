/* rayservice: Ray Serve applications on RayClusters that are made for them. Pure functions: the resource becomes a model; a view of it,
 * of its clusters and of what their heads answered becomes a plan.
 *
 * One cluster is active: status names it, and both services lead to it. A changed cluster spec makes a second one, the pending cluster. It
 * gets the applications. When all of them run and a pod of it takes requests, both services are changed to lead to it. Once the API server
 * has both, status names it as active; the earlier cluster is deleted after a delay. Names of clusters are functions of the resource and
 * of the spec: going back to an earlier spec finds its cluster if that still exists.
 *
 * The hash of the configuration sent to a head is stored in status (serveConfigHash), so that a restarted operator does not send it again.
 *
 * With SERVICE_UPGRADE_STEPS requests come through a Gateway, and an HTTPRoute divides them between the Services of the two clusters.
 * Percents of capacity (target_capacity of Serve's configuration) and of traffic move in turns: the pending cluster gets capacity, then
 * traffic up to it, then the active one loses as much capacity. Capacity is written to status after the head has taken it; the weights of
 * traffic are in annotations of the HTTPRoute, which are written with it, and status repeats them. So an operator that starts at any time
 * goes on from there. steps.c has the rules. */
#ifndef MOBULA_RAYSERVICE_H
#define MOBULA_RAYSERVICE_H

#include <mobula/plan.h>
#include <mobula/raycluster.h>
#include <mobula/rayservice.h>
#include <mobula/route.h>
#include <mobula/spec.h>

extern const struct kube_resource rayservice_resource;
#define RAYSERVICE_HASH "mobula.dev/cluster-spec-hash" /* annotation of its clusters: rayservice_hash of their spec */
#define RAYSERVICE_TLS "mobula.dev/gateway-tls-secret" /* annotation: Secret for HTTPS of its Gateway */
#define RAYSERVICE_SCALE "mobula.dev/scale-hash"       /* … and rayservice_scale_hash of it */
enum {
    RAYSERVICE_NAME_MAX = 47,  /* bytes: "<name>-<5>" is a RayCluster's name */
    RAYSERVICE_APPS_MAX = 256, /* applications of one configuration */
};

/* The value has our domain: KubeRay's values are plain words, so no later value of KubeRay's can clash with it. */
#define RAYSERVICE_ROLLING "mobula.dev/RollingUpdate"
enum service_upgrade { SERVICE_NEW_CLUSTER, SERVICE_UPGRADE_NONE, SERVICE_UPGRADE_STEPS, SERVICE_UPGRADE_ROLLING };

/* upgradeStrategy.clusterUpgradeOptions, of SERVICE_UPGRADE_STEPS; upgradeStrategy.rollingUpdate, of SERVICE_UPGRADE_ROLLING. */
struct service_options {
    struct ray_roll roll;
    bool else_new;       /* a change that cannot be made in place creates a second cluster; else it waits */
    int32_t surge;       /* percent of capacity that moves at once */
    int32_t step;        /* percent of traffic that moves at once; 0: none does */
    int64_t interval_ms; /* between two steps of traffic */
    struct slice gateway_class;
};

/* All slices and values lie in the document or in the arena given to the reader. */
struct rayservice {
    struct slice ns, name, uid;
    int64_t generation, created_us;
    bool deleting, suspend, managed_elsewhere, finalizer;
    bool exclude_head; /* the head pod takes no requests */
    enum service_upgrade upgrade;
    int64_t deletion_delay_ms, initializing_ms; /* initializing_ms 0: no limit */
    struct jval labels, annotations, cluster_spec, serve_service;
    struct slice config; /* serveConfigV2 as JSON; empty: none */
    uint64_t config_hash;
    struct slice *apps; /* names of its applications */
    uint32_t app_count;
    uint64_t cluster_hash; /* rayservice_hash of the cluster spec */
    uint64_t scale_hash;   /* rayservice_scale_hash of it */
    uint32_t group_count;
    int32_t serve_port; /* of its serve Service; 0: not known, because of errors */
    struct service_options options;
};

/* Collects all errors in *errors, those of the cluster spec with their whole path. Returns whether there were none. */
bool rayservice_read(const struct spec_object *from, struct arena *a, struct rayservice *out, struct spec_errors *errors);
/* kind.check: the same errors, and notes on fields that are accepted and have no effect. */
void rayservice_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes);

/* Hash of the fields of a RayClusterSpec whose change needs a new cluster: all but `suspend`, and replicas, limits and workers to delete of
 * its groups. Only the first `groups` worker groups count: a spec with more groups behind the same ones has the same hash. 0: it cannot be
 * hashed. rayservice_scale_hash: the same of the fields of the groups that are left out. */
uint64_t rayservice_hash(struct jval cluster_spec, uint32_t groups, struct arena *a);
uint64_t rayservice_scale_hash(struct jval cluster_spec, struct arena *a);

/* ---- names and objects ---- */

/* Name of the cluster for this spec. second: the other name, if a cluster that was changed in place since holds the first one. */
struct slice rayservice_cluster_name(const struct rayservice *s, bool second, struct arena *a);
struct slice rayservice_head_name(const struct rayservice *s, struct arena *a);
struct owner rayservice_owner(const struct rayservice *s);
/* grows: it is the second one of an upgrade in steps. */
bool rayservice_build_cluster(const struct rayservice *s, struct slice name, bool grows, struct buf *out, struct arena *a);
/* A merge patch that gives a running cluster the worker groups of the spec. live: the cluster's own spec; with an autoscaler its replicas
 * and scaleStrategy are kept. */
bool rayservice_build_update(const struct rayservice *s, struct slice uid, struct slice version, struct jval live, struct buf *out,
                             struct arena *a);
/* A merge patch that gives a cluster annotations: the one that asks for a Service of its own, and those with the hashes of the spec. */
struct slice rayservice_build_marks(const struct rayservice *s, struct slice uid, bool serve, bool hashes, struct arena *a);
bool rayservice_build_service(const struct rayservice *s, const struct ray_cluster *to, bool head, struct arena *a, struct buf *out,
                              struct err *e);

/* inplace.c: the value of RAY_ANNOTATION_ROLL for the service's clusters; empty: they get none. */
struct slice rayservice_roll_text(const struct rayservice *s, struct arena *a);
/* Why a running cluster with the spec `live` cannot be upgraded to `want` in place; empty: it can. */
struct slice rayservice_apart(struct jval live, struct jval want, struct arena *a);

/* ---- routes ---- */

struct service_cluster;

#define RAYSERVICE_PRIMARY "anyscale.com/primary-" /* annotations of the HTTPRoute: svc, weight … */
#define RAYSERVICE_CANARY "anyscale.com/canary-"   /* … and svc, weight, exists */
struct slice rayservice_gateway_name(const struct rayservice *s, struct arena *a);
struct slice rayservice_route_name(const struct rayservice *s, struct arena *a);
struct slice rayservice_own_name(struct slice cluster, struct arena *a); /* of the Service that leads to one cluster */
/* seed: see struct route_object. */
bool rayservice_build_gateway(const struct rayservice *s, uint64_t seed, struct arena *a, struct buf *out, struct err *e);
/* canary: NULL: none; weight: its percent of the requests. */
bool rayservice_build_route(const struct rayservice *s, const struct service_cluster *primary, const struct service_cluster *canary,
                            int32_t weight, uint64_t seed, struct arena *a, struct buf *out, struct err *e);
/* The value that means a change of capacity in serve_said.refused_hash. */
uint64_t serve_scale_id(int32_t capacity);

/* ---- answers of heads ---- */

enum { SERVE_WORDS_MAX = 2 * KIB };
struct serve_deployment {
    struct slice name, status, message;
};
struct serve_app {
    struct slice name, status, message;
    const struct serve_deployment *deployments;
    uint32_t deployment_count;
};

/* Answers of the dashboard of one cluster's head. Zero-initialised: none yet. */
struct serve_said {
    bool asking;          /* a request is in flight: its answer causes a new decision */
    bool known;           /* the head has answered: apps and head_serves are valid */
    int64_t answered_ms;  /* monotonic: the last answer … */
    uint32_t failures;    /* … requests since then without one … */
    int64_t failed_ms;    /* … the last of them … */
    struct slice trouble; /* … and why it failed */
    const struct serve_app *apps;
    uint32_t app_count;
    bool head_serves;         /* the proxy beside the head is healthy */
    bool scaled;              /* `capacity` is the target_capacity last sent to this head */
    int32_t capacity;         /* percent */
    uint64_t put_hash;        /* rayservice.config_hash of the configuration last sent to this head; 0: not known */
    int64_t put_ms;           /* monotonic: when it was sent; an earlier answer does not show it */
    uint64_t refused_hash;    /* rayservice.config_hash, or serve_scale_id, of what the head refused … */
    int64_t refused_ms;       /* … monotonic: when … */
    struct slice refused_why; /* … and the error text */
};

/* A RayCluster of a RayService. */
struct service_cluster {
    struct slice name, uid;
    bool deleting;
    uint64_t hash, scale_hash; /* of the spec that it was made from, as in struct rayservice; scale_hash 0: not known */
    uint64_t first_hash;       /* rayservice_hash of the service's spec with only as many groups as this cluster has */
    uint32_t group_count;
    struct slice apart;             /* SERVICE_UPGRADE_ROLLING: why it cannot be upgraded in place; empty: it can, or has the spec */
    bool other_roll;                /* its RAY_ANNOTATION_ROLL differs from rayservice_roll_text */
    bool unmarked;                  /* another operator made it for the present spec: it gets the annotations with both hashes */
    uint32_t outdated;              /* workers of an older template */
    bool head_ready;                /* requests to its dashboard can be sent */
    const struct pod *head;         /* the running head pod; NULL: none */
    uint32_t ready;                 /* number of pods that are ready and take Serve requests */
    uint64_t head_want, serve_want; /* ray_service_hash of the two services if they lead to this cluster; 0: cannot be built */
    bool announced;                 /* its annotation asks for a Service of its own, which … */
    const struct service *own;      /* … is this; NULL: not there yet */
    int32_t serve_port;             /* of that Service */
    int64_t unused_ms;              /* monotonic: since when this process has seen it neither active nor pending; 0: it is one of them */
    struct jval status;
    struct slice why; /* why it is not ready, as far as known */
    struct serve_said said;
};

struct service_view {
    const struct rayservice *service;
    const struct spec_errors *errors;
    const struct service_cluster *clusters; /* all that it owns */
    uint32_t cluster_count;
    bool pods_left;                                     /* pods of deleted clusters still exist */
    const struct service *head_service, *serve_service; /* NULL: not there */
    struct jval status;                                 /* as the API server has it */
    uint64_t status_hash;
    int64_t status_not_before_ms;
    const struct group_failures *refusals; /* of writes; NULL: none */
    struct route_view *gateway,
        *route; /* NULL: neither is asked for, and none was; what is wanted of the second follows from the decision */
    const struct shape_patches *patches; /* NULL: none */
    uint64_t patches_revision;
    int64_t active_ms; /* monotonic: when this process last saw an active cluster in status, or a spec that cannot be read; 0: it has not */
    struct now now;
};

/* ---- decisions ---- */

/* Behind a verb: the fields of struct action that it uses. name, uid: the cluster's, where nothing else is said. */
extern const struct verb rayservice_create_cluster;      /* name */
extern const struct verb rayservice_update_cluster;      /* name, uid */
extern const struct verb rayservice_delete_cluster;      /* name, uid; why */
extern const struct verb rayservice_apply_head_service;  /* uid */
extern const struct verb rayservice_apply_serve_service; /* uid */
extern const struct verb rayservice_label_head;          /* name, uid of the pod; index 1: "true", 0: "false" */
extern const struct verb rayservice_look;                /* name, uid: asks the head for its applications */
extern const struct verb rayservice_put;   /* name, uid: sends the configuration to the head; index: with this target_capacity, or -1 */
extern const struct verb rayservice_scale; /* name, uid; index: the target_capacity that the head is sent, with the configuration that
                                              it has; version: rayservice_given of that */
extern const struct verb rayservice_announce_cluster; /* name, uid; text: the merge patch of its annotations */
extern const struct verb rayservice_apply_gateway;    /* name; text: the object */
extern const struct verb rayservice_apply_route;      /* name; text: the object */
extern const struct verb rayservice_remove_finalizer; /* text: the finalizer's name */

/* Every prefix of the plan is legal. */
void rayservice_decide(const struct service_view *in, struct arena *a, struct plan *out);

enum {
    SERVE_LOOK_MS = 1000,               /* after an answer until the head is asked again, while not all applications run … */
    SERVE_CALM_MS = 10 * 1000,          /* … and while all applications run */
    SERVE_TROUBLE_MS = 2 * 1000,        /* after a request without an answer; doubles … */
    SERVE_TROUBLE_MAX_MS = 30 * 1000,   /* … up to this */
    SERVE_FRESH_MS = 2 * SERVE_LOOK_MS, /* so old may be the answer by which a step is taken */
    SERVE_REFUSED_MS = 60 * 1000,       /* until a refused configuration is sent again: its import may have failed for want of a node */
};

#endif
