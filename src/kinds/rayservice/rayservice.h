/* rayservice: applications of Ray Serve on RayClusters that are made for them. Pure functions: the resource becomes a model; a view of it,
 * of its clusters and of what their heads answered becomes a plan.
 *
 * One cluster is active: status names it, and both services lead to it. A changed cluster spec makes a second one, the pending cluster. It
 * gets the applications, and when all of them run and a pod of it takes requests, the services are turned to it. Only when the API server
 * has both does status call it active; the earlier cluster is deleted some time later. Names of clusters are functions of the resource and
 * of the spec: going back to an earlier spec finds its cluster if that still exists.
 *
 * Which configuration a head was given is stored in status (serveConfigHash), so that a restart of the operator puts none again. */
#ifndef MOBULA_RAYSERVICE_H
#define MOBULA_RAYSERVICE_H

#include <mobula/plan.h>
#include <mobula/raycluster.h>
#include <mobula/spec.h>

extern const struct kube_resource rayservice_resource;
#define RAYSERVICE_FINALIZER "ray.io/rayservice-finalizer" /* KubeRay's: removed, as owner references delete what belongs to it */
#define RAYSERVICE_TIMEOUT "ray.io/initializing-timeout"   /* annotation: a duration, or seconds */
#define RAYSERVICE_HASH "mobula.dev/cluster-spec-hash"     /* annotation of its clusters: what they were made from */
#define RAYSERVICE_SCALE "mobula.dev/scale-hash"           /* … and the numbers of replicas that were asked for */
enum {
    RAYSERVICE_NAME_MAX = 47,   /* bytes: "<name>-<5>" is a RayCluster's name */
    RAYSERVICE_DELETION_S = 60, /* default of rayClusterDeletionDelaySeconds */
    RAYSERVICE_APPS_MAX = 256,  /* applications of one configuration */
};

enum service_upgrade { SERVICE_NEW_CLUSTER, SERVICE_UPGRADE_NONE };

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
    uint64_t cluster_hash; /* of the cluster spec without numbers of replicas; see rayservice_hash */
    uint64_t scale_hash;   /* of these numbers */
    uint32_t group_count;
};

/* Every error at once, those of the cluster spec by their whole path. */
bool rayservice_read(const struct spec_object *from, struct arena *a, struct rayservice *out, struct spec_errors *errors);
/* kind.check: those, and what is accepted and has no effect. */
void rayservice_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes);

/* What a new cluster is needed for, of a RayClusterSpec: all of it but replicas, limits and workers to delete of its groups. Only the first
 * `groups` worker groups count: a spec that has more, behind the same ones, has the same hash. 0: it cannot be hashed. */
uint64_t rayservice_hash(struct jval cluster_spec, uint32_t groups, struct arena *a);
uint64_t rayservice_scale_hash(struct jval cluster_spec, struct arena *a);

/* ---- names and objects ---- */

struct slice rayservice_cluster_name(const struct rayservice *s, struct arena *a); /* of the cluster that the spec asks for */
struct slice rayservice_head_name(const struct rayservice *s, struct arena *a);
struct slice rayservice_serve_name(const struct rayservice *s, struct arena *a);
struct owner rayservice_owner(const struct rayservice *s);
bool rayservice_build_cluster(const struct rayservice *s, struct buf *out, struct arena *a);
/* A merge patch that gives a running cluster the groups and numbers of the spec. live: its spec, from which replicas are taken where an
 * autoscaler sets them. */
bool rayservice_build_update(const struct rayservice *s, struct slice uid, struct slice version, struct jval live, struct buf *out,
                             struct arena *a);
bool rayservice_build_service(const struct rayservice *s, const struct ray_cluster *to, bool head, struct arena *a, struct buf *out,
                              struct err *e);

/* ---- what heads answered ---- */

enum { SERVE_WORDS_MAX = 2 * KIB };
struct serve_deployment {
    struct slice name, status, message;
};
struct serve_app {
    struct slice name, status, message;
    const struct serve_deployment *deployments;
    uint32_t deployment_count;
};

/* What the dashboard of one cluster said. Zero-initialised: nothing yet. */
struct serve_said {
    bool asking;          /* a request is in flight: its answer causes a new decision */
    bool known;           /* the rest is an answer */
    int64_t answered_ms;  /* monotonic: the last answer … */
    uint32_t failures;    /* … requests since then without one … */
    int64_t failed_ms;    /* … the last of them … */
    struct slice trouble; /* … and why it failed */
    const struct serve_app *apps;
    uint32_t app_count;
    bool head_serves;         /* the proxy beside the head is healthy */
    uint64_t put_hash;        /* rayservice.config_hash of the configuration that this head was given last; 0: not known */
    int64_t put_ms;           /* monotonic: when it was given; an answer that is older says nothing of it */
    uint64_t refused_hash;    /* of the one that it refused … */
    int64_t refused_ms;       /* … when … */
    struct slice refused_why; /* … and in which words */
};

/* A RayCluster, as its service sees it. */
struct service_cluster {
    struct slice name, uid;
    bool deleting;
    uint64_t hash, scale_hash; /* as rayservice's; scale_hash 0: not known */
    uint64_t first_hash;       /* rayservice_hash of the service's spec with only as many groups as this cluster has */
    uint32_t group_count;
    bool head_ready;                /* its dashboard can be asked */
    const struct pod *head;         /* NULL: none runs */
    uint32_t ready;                 /* pods that are ready and take requests */
    uint64_t head_want, serve_want; /* ray_service_hash of the services that would lead to it; 0: cannot be built */
    int64_t unused_ms; /* monotonic: since when this process knows that it is neither active nor pending; 0: it is one of them */
    struct jval status;
    struct slice why; /* why it is not ready, as far as known */
    struct serve_said said;
};

struct service_view {
    const struct rayservice *service;
    const struct spec_errors *errors;
    const struct service_cluster *clusters; /* all that it owns */
    uint32_t cluster_count;
    bool pods_left;                                     /* pods of clusters that are gone still run */
    const struct service *head_service, *serve_service; /* NULL: not there */
    struct jval status;                                 /* as the API server has it */
    uint64_t status_hash;
    int64_t status_not_before_ms;
    const struct group_failures *refusals; /* of writes; NULL: none */
    struct now now;
};

/* ---- what to do ---- */

/* Behind a verb: the fields of struct action that it uses. name, uid: the cluster's, where nothing else is said. */
extern const struct verb rayservice_create_cluster;      /* name */
extern const struct verb rayservice_update_cluster;      /* name, uid */
extern const struct verb rayservice_delete_cluster;      /* name, uid; why */
extern const struct verb rayservice_apply_head_service;  /* uid */
extern const struct verb rayservice_apply_serve_service; /* uid */
extern const struct verb rayservice_label_head;          /* name, uid of the pod; index 1: "true", 0: "false" */
extern const struct verb rayservice_look;                /* name, uid: asks its head for the applications */
extern const struct verb rayservice_put;                 /* name, uid: gives its head the configuration */
extern const struct verb rayservice_remove_finalizer;    /* text: which */

/* Every prefix of the plan is legal. */
void rayservice_decide(const struct service_view *in, struct arena *a, struct plan *out);

enum {
    SERVE_LOOK_MS = 1000,        /* between two questions while something is under way */
    SERVE_CALM_MS = 10 * 1000,   /* … and while all applications run */
    SERVE_TROUBLE_MS = 2 * 1000, /* after a question without an answer; doubles … */
    SERVE_TROUBLE_MAX_MS = 30 * 1000,
    SERVE_REFUSED_MS = 60 * 1000, /* a configuration that a head refused is put again: an import may have needed a node */
};

#endif
