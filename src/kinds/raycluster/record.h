/* What is kept of a RayCluster beside what a record of any kind has. */
#ifndef MOBULA_RAYCLUSTER_RECORD_H
#define MOBULA_RAYCLUSTER_RECORD_H

#include <mobula/kinds.h>

struct scaling; /* scaling.c */
struct auth;    /* token.c */

/* A pod name that is occupied by a pod that does not count; see struct held_name. */
struct held {
    struct held *next;
    const struct istr *group;
    int32_t index;
    uint32_t names; /* names of this group and index that were found occupied, one after the other */
    char uid[UID_TEXT_MAX + 1];
};

/* Consecutive applies of a service that did not last; from_ms: see services_from_ms in cluster_view. */
struct service_pace {
    uint64_t name; /* its hash */
    uint32_t applied;
    int64_t from_ms;
};

/* What a question to the head goes by beside its pod and service: of each job's many, and of models only a few are kept. */
struct head_way {
    uint16_t dashboard_port;
    struct slice service, secret; /* names of its head service, and of the Secret with its token; empty: it needs none */
    char texts[];
};

struct raycluster {
    uint64_t *hashes;             /* of the head and of each group, once the spec was read without errors; else NULL */
    struct service_pace paces[2]; /* [0] head service, [1] headless service */
    struct service_want wants[2]; /* the same, once they were needed */
    uint64_t wants_of;            /* a hash of what they follow from beside spec, metadata and instance types */
    struct held *held;            /* worker names occupied by pods that do not count */
    struct scaling *scaling;      /* NULL: not scaled by this operator */
    struct auth *auth;            /* NULL: no token is needed, or none has been needed yet */
    struct head_way *way;         /* NULL: not needed since the spec was changed */
    uint64_t logged;              /* hash of the legacy status block that was logged last */
    int64_t zone_from_ms;         /* see cluster_view */
    uint32_t zone;                /* pod_zone_hash of the one that its pods are made for; 0: none, or none is chosen yet */
    bool zone_settled;            /* see cluster_view */
    bool typed;                   /* it names an instance type: a change of these touches it */
    bool strips;                  /* the last pod that we created came back without its label or owner */
    uint8_t accounts;             /* bits by enum ray_account: objects needed before the head that exist */
};
/* NULL: the record is not that of a RayCluster that is present. */
struct raycluster *raycluster_of(const struct record *c);

/* heads.c: what it is now; loads the model if that is not known. Valid until a record changes. */
const struct head_way *head_way(struct op *op, struct record *c);

/* services.c: what the loaded model makes of a service, with the patches in force: built once, and then known until one of them changes */
struct service_want service_wanted(struct op *op, struct record *c, bool head);

/* Of all RayClusters of an operator. */
struct rayclusters {
    struct ray_gcs_pool *gcs;
    struct ray_dash_pool *dash;
    struct ray_turns turns;  /* of dashboard requests that go through the API server's proxy */
    struct head_call *calls; /* heads.c */
    struct map tools;        /* tools.c: by namespace */
    uint64_t executable_hash;
};
struct rayclusters *rayclusters_of(const struct op *op);

/* The loaded model. */
static inline struct ray_cluster *cluster_model(const struct op *op)
{
    return op->loaded->model;
}

/* services.c: counts a refused create or apply against its group, or backs off the record if a retry may succeed */
void group_refused(struct op *op, struct flight *f, const struct kube_status *s);

/* pace.c: controller.service_gone */
void service_gone(struct op *op, struct record *c, const struct service_record *r);

/* view.c */
int64_t decide_cluster(struct op *op, struct record *c, struct plan *p);
void read_cluster(struct op *op, struct record *c, const struct spec_object *from);

#endif
