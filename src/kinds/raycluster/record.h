/* The state of a RayCluster beside that of a record of any kind. */
#ifndef MOBULA_RAYCLUSTER_RECORD_H
#define MOBULA_RAYCLUSTER_RECORD_H

#include <mobula/kind_raycluster.h>
#include <mobula/settings.h>

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

enum auth_secret { AUTH_TOKEN, AUTH_CA, AUTH_SECRETS }; /* a cluster's Secrets that the operator reads */

/* The part of the model that a question to the head needs beside its pod and service: of each job's many, and of models only a few are
 * kept. */
struct head_way {
    uint16_t dashboard_port;
    struct slice service, secrets[AUTH_SECRETS]; /* names of its head service and its Secrets; empty: it needs no such Secret */
    char texts[];
};

struct raycluster {
    uint64_t *hashes; /* of the head and of each group, once the spec was read without errors; else NULL */
    struct service_pace paces[RAY_SERVICES];
    struct service_want wants[RAY_SERVICES]; /* computed on first use */
    uint64_t wants_of;                       /* hash of the inputs of `wants` other than spec, metadata and instance types */
    struct held *held;                       /* worker names occupied by pods that do not count */
    struct scaling *scaling;                 /* NULL: not scaled by this operator */
    struct auth *auths[AUTH_SECRETS];        /* NULL: not needed (yet) */
    struct head_way *way;                    /* NULL: not needed since the spec was changed */
    uint64_t logged;                         /* hash of the legacy status block that was logged last */
    int64_t zone_from_ms;                    /* see cluster_view */
    int64_t made_ms;                         /* likewise */
    int64_t zone_stays_at;                   /* generation for which cluster_view.zone_stays holds; 0: none */
    uint32_t zones_left;                     /* see cluster_view */
    uint32_t zone;                           /* pod_zone_hash of the one that its pods are made for; 0: none, or none is chosen yet */
    bool zone_settled;                       /* see cluster_view */
    bool typed;                              /* it names an instance type: a change of these touches it */
    bool head_untold;                        /* no event has told that its head was created: the one about its workers will */
    bool strips;                             /* the last pod that we created came back without its label or owner */
    uint8_t accounts;                        /* bits by enum ray_account: objects needed before the head that exist */
};
/* NULL: the record is not that of a RayCluster that is present. */
struct raycluster *raycluster_of(const struct record *c);
extern const struct own_type raycluster_own;
/* Of cluster.ray.io/v1. */
static inline bool is_legacy(const struct record *c)
{
    return c->kind->family == OPERATOR_LEGACY;
}

/* way.c: what it is now; loads the model if that is not known. Valid until a record changes. */
const struct head_way *head_way(struct op *op, struct record *c);

/* services.c: what the loaded model makes of a service, with the patches in force: built once, and then known until one of them changes */
struct service_want service_wanted(struct op *op, struct record *c, enum ray_service which);

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
    return op->models.loaded->model;
}

/* services.c: counts a refused create or apply against its group, or backs off the record if a retry may succeed */
void group_refused(struct op *op, struct flight *f, const struct kube_status *s);

/* routes.c: NULL: it asks for no Ingress, and had none */
const struct route_view *view_ingress(struct op *op, struct record *c);

/* view.c */
int64_t decide_cluster(struct op *op, struct record *c, struct plan *p);
void read_cluster(struct op *op, struct record *c, const struct spec_object *from);

/* ---- shared by the files of this folder ---- */

struct slice group_name(const struct op *op, int32_t group); /* of the loaded model; group: as in struct action */
const struct group_failures *view_failures(struct op *op, struct record *c);
/* The cause of a group's failures is gone: resets their count and backoff. */
void failures_over(struct op *op, struct record *c, struct slice group, bool head);
void failures_prune(struct op *op, struct record *c); /* drops failures of groups that the loaded model does not have */
/* Reads the failure counts that the previous leader wrote into status. */
void extract_failures(struct op *op, struct record *c);
/* Counts a failure of the flight's group, unless the spec has changed since: then the number may mean another group. */
void flight_failed(struct op *op, const struct flight *f, const char *text);
/* Counts a failure of a group: drops the rest of the plan and backs off the group. During a backoff nothing more is counted: requests that
 * fail together are one failure. */
void group_failed(struct op *op, struct record *c, int32_t group, bool ended, const char *event, struct slice reason);
void say_legacy(struct op *op, struct record *c, const char *level, struct slice text);
void say_legacy_status(struct op *op, struct record *c);
void raycluster_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes);
bool raycluster_preview(struct jval object, struct preview *p);

/* held.c */
void held_report_stripped(struct op *op, const struct flight *f, struct jval pod); /* it was created, but without its label or owner */
void held_found(struct op *op, const struct flight *f, struct jval pod);           /* it occupies the name, and does not count */
/* The next pod of this group and index is named as the successor of that one. False: too many of its names are occupied. */
bool held_keep(struct op *op, struct record *c, struct slice group, int32_t index, struct slice uid);
const struct held_name *view_held(struct op *op, const struct record *c, uint32_t *count); /* in the plan's arena; the model is loaded */
void held_clear(struct op *op, struct record *c);

/* pace.c */
void service_applied(struct op *op, const struct flight *f, const struct kube_answer *a); /* the apply succeeded */
void service_gone(struct op *op, struct record *c, const struct service_record *r);       /* controller.service_gone */

/* scaling.c */
void scaling_follow(struct op *op, struct record *c); /* starts, stops or redirects scaling as the loaded model says */
void scaling_drop(struct record *c);
bool scaling_writes_log(const struct record *c); /* it writes the legacy log block itself */
bool scaling_decides(const struct record *c);    /* the autoscaler sets the number of pods and names those to delete */
/* Cancels a pending removal: the autoscaler chose this pod because it had not started (or was thought deleted), and that turned out to be
 * wrong. The whole replica is kept until the autoscaler chooses it again. */
void scaling_spare_replica(struct op *op, struct pod_record *r);
/* The pod is being deleted, or is gone. If the autoscaler chose it, the other hosts of its replica stay chosen: a replica is deleted as a
 * whole. */
void scaling_commit_replica(struct pod_record *r);
/* The pod has ended. If the autoscaler chose it or asked it to drain, that is neither a failure nor a reason to replace it, even before the
 * head reports the node as dead. */
void scaling_ended(struct pod_record *r);
/* Writes the autoscaler's last decision (desired replicas, names to delete) into `groups`, a copy of the model's. NULL: the cluster is not
 * scaled here. */
const struct scale_news *scaling_apply(const struct record *c, struct ray_group *groups, uint32_t count, struct arena *a);
/* Whether its status says that all of its pods have run at once. */
bool status_says_provisioned(const struct record *c, struct arena *a);

/* Whether the head's GCS can be asked for drains, and when it was last heard, or the client of it was made; monotonic. */
bool scaling_drains(const struct record *c, int64_t *heard_ms);

/* drain.c: workers that a rolling update replaces are drained by Ray before their pods are deleted */
bool drain_wanted(const struct op *op, const struct record *c); /* the loaded model has a rolling update, and a worker is outdated */
void drain_look(struct op *op, struct record *c, struct ray_gcs *gcs, const struct ray_state *state); /* the model is loaded */
void drain_follow(struct op *op, struct record *c); /* before a decision: ends drains that took too long, or are not wanted any more */
int64_t drain_next(const struct record *c);         /* monotonic: when drain_follow has something to end; TIME_NEVER */
bool drain_asked(const struct record *c, struct slice pod); /* the pod of this name is being drained */

/* way.c */
const struct pod *head_pod(const struct record *c);  /* that runs and has an address; NULL: there is none */
uint16_t head_port(struct op *op, struct record *c); /* of its dashboard, where it is asked */
/* Address of the head; empty: none yet. Valid until a record changes. */
struct slice head_address(struct op *op, struct record *c);

/* token.c: tokens of clusters with authOptions, and CAs of those with tlsOptions */
void auth_follow(struct op *op, struct record *c); /* the model is loaded */
void auth_drop(struct record *c);
/* The token; empty: the head needs none. False with *e: not read yet, or not available (ERR_STATUS); it is being read, and the cluster and
 * its jobs are touched when it is there. Valid until the next call of any of these functions. e may be NULL. */
bool auth_token(struct op *op, struct record *c, struct slice *token, struct err *e);
/* The trust and the operator's certificate for the head's GCS; both NULL: the GCS has no TLS. Otherwise as auth_token. */
bool auth_tls(struct op *op, struct record *c, struct tls_trust **trust, struct tls_identity **identity, struct err *e);
uint32_t auth_serial(const struct record *c); /* changes with the token or the certificate; 0: none is needed or known */
/* When a missing token or CA is read again; TIME_NEVER: it is known, being read, or not needed. */
int64_t auth_next(const struct op *op, const struct record *c);
/* The head refused the token, or the CA did not sign its certificate: reads the Secret again, and appends the remedy to *e. */
void auth_refused(struct op *op, struct record *c, enum auth_secret which, struct err *e);

/* certificate.c: makes the data of a new CA's Secret */
bool ca_write(int64_t wall_us, struct buf *data, struct err *e);
/* Makes the trust in a Secret's CA, and a client certificate for the operator that the CA signs; the caller drops both. False: a key of the
 * Secret is missing, or the CA is invalid. */
bool ca_take(struct jval secret, int64_t wall_us, struct arena *a, struct tls_trust **trust, struct tls_identity **identity, struct err *e);

/* zones.c: chooses one of the cluster's zones, and places the model, just read, in it */
void zones_apply(struct op *op, struct record *c);
void zones_follow(struct op *op, struct record *c); /* before a decision: if all pods are gone, a zone is chosen again */
void zones_reread(struct op *op, struct record *c); /* reads the zone from the pods */

/* types.c, tools.c */
/* Applies instance types to a model that was just parsed. */
void types_apply(struct op *op, const struct record *c);
/* Whether the cluster names an instance type, and the ConfigMap was neither read nor refused (403) yet. Either of these touches it. */
bool types_awaited(const struct op *op, const struct record *c);
void types_changed(struct op *op, const struct setting *s); /* kind.on_setting */
/* Monotonic: workers are not created before, because the ConfigMap that they mount is being created for the first time; 0: it is there, or
 * its creation has failed. The end of its creation touches the clusters of the namespace. */
int64_t tools_from_ms(const struct op *op, const struct istr *ns);

/* ---- handlers of verbs ---- */

verb_make make_pod, make_service, account_make, adopt_make;
bool seal_service(struct op *op, struct record *c, const struct action *act, struct flight *f, struct err *e);
verb_answer adopt_answer, answer_create, answer_try, answer_service, account_answer;
verb_failed group_failed_by;
bool account_secret(int32_t index);
verb_do count_failure, forget_failures, leave_spot, keep_zone, leave_zone, stay_in_zone, drain_begin;

#endif
