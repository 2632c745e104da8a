/* raycluster: the decision about a RayCluster, a pure function. A view is everything that it may look at; a plan is what comes of it. The
 * same view always gives the same plan: unit tests, the simulator and `mobula explain` depend on that. No I/O, and level-triggered: no
 * memory of earlier decisions. */
#ifndef MOBULA_RAYCLUSTER_H
#define MOBULA_RAYCLUSTER_H

#include <mobula/children.h>
#include <mobula/patches.h>
#include <mobula/route.h>
#include <mobula/scale.h>

/* The actions on it and for it. Behind a verb: the fields of struct action that it uses. */
extern const struct verb raycluster_create_account; /* an object that the head needs before it: index is an enum ray_account */
extern const struct verb raycluster_apply_head_service, raycluster_apply_headless_service, raycluster_apply_serve_service;
extern const struct verb raycluster_apply_ingress;                /* name */
enum ray_service raycluster_service_of(const struct verb *apply); /* the service that the verb applies */
extern const struct verb raycluster_try_pod;          /* group: a dry run of a changed template, before running pods are deleted for it */
extern const struct verb raycluster_create_pod;       /* group, index; uid: of the pod that it replaces, may be empty */
extern const struct verb raycluster_adopt_pod;        /* name, uid, version; group: whose backoff a refusal begins */
extern const struct verb raycluster_count_failure;    /* group; uid: the pod; text: the reason */
extern const struct verb raycluster_forget_failures;  /* group: it is healthy again */
extern const struct verb raycluster_keep_zone;        /* the minimum is there */
extern const struct verb raycluster_leave_zone;       /* name: the next one; text: which pod has waited too long */
extern const struct verb raycluster_stay_in_zone;     /* all zones were tried: no other is, while pods of the cluster run; text: as above */
extern const struct verb raycluster_leave_spot;       /* group; text: which pod has waited too long */
extern const struct verb raycluster_drain_pod;        /* uid: Ray is asked to drain its node */
extern const struct verb raycluster_remove_finalizer; /* text: the finalizer's name */

/* A worker's name is occupied by a pod that does not count because its labels were changed: the next pod of that place is named as its
 * successor. */
struct held_name {
    int32_t group, index;
    struct slice uid; /* of the pod that occupies the name */
};

/* The part of a service, as the spec makes it, that an existing one is compared with. */
struct service_want {
    uint64_t hash; /* ray_service_hash of it; 0: it cannot be made, or is not known */
    uint64_t ip;   /* hash64 of its clusterIP; 0: it asks for none */
};
/* object: the service as it is sent. */
struct service_want service_want_of(struct jval object, struct arena *a);
/* Builds it, as patches (NULL: none) make it; where these cannot, without them: to send it fails then, and tells why. */
struct service_want service_want_made(const struct ray_cluster *c, enum ray_service which, const struct shape_patches *patches,
                                      struct arena *a);

/* Condition: each zone of the cluster was tried, none had room for its minimum, and it stays in the last one. */
#define STATUS_ZONES "ZonesExhausted"
/* Condition of a cluster that runs pods of an older template, without upgradeStrategy Recreate. */
#define STATUS_DRIFT "TemplateDrift"
#define STATUS_ROLL_STOPPED "RollingUpdateStopped" /* reason of TemplateDrift and of an event: a new pod failed */
/* Condition of a cluster with tlsOptions: certificates of pods end soon, and Ray reads them only at its start. */
#define STATUS_CERTIFICATES "CertificatesEndSoon"
/* The Ingress of its dashboard. seed: see struct route_object. */
bool raycluster_build_ingress(const struct ray_cluster *c, uint64_t seed, struct arena *a, struct buf *out, struct err *e);
#define STATUS_INGRESS "HeadIngressReady" /* condition of a cluster that has one */

struct cluster_view {
    const struct ray_cluster *cluster; /* with an autoscaler, `desired` of its groups is the autoscaler's */
    const struct scale_news *scaling;  /* NULL: this operator does not scale it */
    bool drains;                       /* the head's GCS can be asked to drain workers that a rolling update replaces */
    bool by_name;                      /* our autoscaler scales this cluster: on scale-down delete exactly the pods in workers_to_delete */
    const struct spec_errors *errors;  /* errors that ray_read found */
    struct slice warnings;             /* warnings of the API server about pods and services of this generation, a line each */
    const struct pod *const *pods;     /* owned by this cluster (by uid), in any order */
    uint32_t pod_count;
    const struct service *own[RAY_SERVICES]; /* NULL: does not exist */
    struct service_want wants[RAY_SERVICES]; /* wanted state of the services in `own` */
    const struct service *const *services;   /* all services that the cluster owns, with those in `own` */
    uint32_t service_count;
    const struct route_view *ingress; /* of the dashboard; NULL: none is asked for, and none was */
    uint32_t accounts;                /* bits by enum ray_account: objects needed before the head that exist */
    struct slice status;              /* as the API server has it; empty: none */
    int64_t status_at_ms;             /* monotonic time of our last status write; 0: none yet */
    int64_t made_ms;                  /* likewise of the last pod that this process has created */
    struct {
        uint32_t all;      /* resources of all kinds: the more, the longer counters in status wait */
        uint32_t starting; /* those of them that have no status yet: the more, the longer a first status waits */
    } fleet;
    uint32_t reasons;     /* plan.reasons of our last status write that had any */
    int64_t reasons_ms;   /* monotonic: time of that write */
    uint64_t status_hash; /* plan.status_hash of the write that `status` came from, 0 if somebody else wrote it: the same is not written
                             twice, even if the server drops parts of it */
    int64_t status_not_before_ms; /* monotonic: end of the backoff after a refused status write; 0: none */
    /* Monotonic: no workers are created before. The previous leader's last requests may still arrive, and a pod's name depends on the pod
     * that it replaces: with another view we would create a second pod for the same place. Or the ConfigMap that they mount is not there
     * yet.
     */
    int64_t workers_from_ms;
    int64_t services_from_ms[RAY_SERVICES]; /* monotonic: end of the backoff of a service that is deleted after each apply */
    struct {
        bool settled;    /* the minimum number of pods has run in cluster->zone.made_for: kept while the head lives */
        bool stays;      /* each zone was tried, and what runs in this one is not given up for another */
        uint32_t left;   /* how many zones were left since the minimum ran last */
        int64_t from_ms; /* monotonic: since when that zone is tried */
    } zone;
    const struct group_failures *failures; /* [0] head, [1 + i] groups[i] */
    const struct held_name *held;
    uint32_t held_count;
    const struct ray_options *options;
    struct now now;
};

/* Fills *out; the actions lie in a. */
void raycluster_decide(const struct cluster_view *in, struct arena *a, struct plan *out);

#endif
