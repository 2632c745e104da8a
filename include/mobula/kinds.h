/* kinds: what the folders of src/kinds use of each other, with the file before the functions that it defines. */
#ifndef MOBULA_KINDS_H
#define MOBULA_KINDS_H

#include <mobula/control.h>
#include <mobula/heads.h>
#include <mobula/raycluster.h>
#include <mobula/rayjob.h>
#include <mobula/shape.h>

/* All kinds, lowest first, ended by NULL: kinds.c. */
extern const struct kind *const kinds[];
extern const struct control_parts kinds_parts; /* the tables of this room, for the core */
/* The kinds that others speak of: src/kinds/NAME/kind.c. */
extern const struct kind kind_raycluster, kind_raycluster_legacy, kind_rayjob, kind_raycronjob, kind_rayservice;
extern const struct kind kind_workload, kind_pod, kind_kservice;
void kind_tell(struct op *op, struct pod_record *pod, enum child_news what); /* calls told() of the owner's kind */

/* ---- records and views ---- */

struct pod_record {
    struct pod pod; /* first: views point at it */
    struct record *of;
    struct pod_record *next, **link;
    const struct istr *group, *reason, *words;
    const struct istr *running; /* of a head pod: the text of ray_running_read; else NULL */
    const char *stop;           /* why the autoscaler chose it for removal, a literal; NULL: it did not */
    uint32_t stop_decision;     /* the autoscaler decision that chose it */
    bool stop_begun;            /* another host of its replica is already being deleted for that decision */
    struct scale_seen seen;     /* what the autoscaler knows from earlier states of the head */
    struct doubt doubt;         /* our DELETE was answered 404 (pod.doubted) or 409 (pod.overtaken) */
    int64_t asked_ms;           /* pod.asked holds until then */
    uint32_t round;
    bool by_us; /* our DELETE is in flight or was accepted */
};
_Static_assert(sizeof(struct pod_record) < 512, "there may be a hundred thousand pods");

struct service_record {
    struct service service;
    const struct istr *endpoints; /* holds the bytes of service.endpoints */
    struct record *of;
    struct service_record *next, **link;
    struct doubt doubt; /* our DELETE was answered 404: service.deleting is set until that is confirmed */
    int64_t made_ms;    /* monotonic: when the record was created */
    int64_t going_ms;   /* monotonic: when the watch showed it as being deleted; 0: not yet */
    uint32_t round;
    bool by_us; /* our DELETE is in flight or was accepted */
};

void pod_remove(struct op *op, struct pod_record *r);
void service_remove(struct op *op, struct service_record *r);
void pod_by_us(struct op *op, struct slice uid, bool by_us); /* marks whether our DELETE is in flight or was accepted */
void kservice_by_us(struct op *op, struct slice uid, bool by_us);
/* The cause of a group's failures is gone: resets their count and backoff. */
void failures_over(struct op *op, struct record *c, struct slice group, bool head);
void failures_prune(struct op *op, struct record *c); /* drops failures of groups that the loaded model does not have */
/* The ray.io/v1 RayCluster of this name in the namespace of `beside`; NULL: none. */
struct record *cluster_named(struct op *op, const struct record *beside, struct slice name);
struct slice group_name(const struct op *op, int32_t group); /* of the loaded model; group: as in struct action */
/* Parts of a view, in the plan's arena; the model is loaded. */
const struct pod **view_pods(struct op *op, const struct record *c, uint32_t *count);
const struct group_failures *view_failures(struct op *op, struct record *c);
/* False with *e: a service of this name belongs to another object of ours. An apply would take it away without a conflict, because both are
 * written by the same field manager. */
bool service_free(struct op *op, const struct record *c, struct slice name, struct err *e);
/* The service of this name that the record owns; NULL: none. */
struct service_record *service_of(const struct record *c, struct slice name);
/* Counts a failure of the flight's group, unless the spec has changed since: then the number may mean another group. */
void flight_failed(struct op *op, const struct flight *f, const char *text);
/* Counts a failure of a group: drops the rest of the plan and backs off the group. During a backoff nothing more is counted: requests that
 * fail together are one failure. */
void group_failed(struct op *op, struct record *c, int32_t group, bool ended, const char *event, struct slice reason);
/* Keeps the pod in the answer to a create. False: the watch has passed its version without it, and the record waits for a list. */
bool answer_pod(struct op *op, const struct flight *f, struct jval pod, uint64_t version);
void extract_pod(struct op *op, struct space *space, struct jval object, uint64_t version, uint32_t round);
void extract_service(struct op *op, struct space *space, struct jval object, uint64_t version, uint32_t round);
struct slice extract_owner(const struct op *op, struct jval object,
                           struct arena *a); /* uid of the controlling owner, if it is of a kind that owns pods */
/* controller_record of a pod or service. NULL, too, if the child's own uid or name is invalid. */
struct record *extract_parent(struct op *op, struct space *space, struct jval child, const struct kind *kind);
bool extract_labelled(struct jval object); /* whether it has the label by which we list and watch pods and services */
/* The pod's cluster label names another cluster than its owner: somebody took it out of service to look at it. */
bool extract_elsewhere(struct jval pod, struct arena *a);
/* Reads the failure counts that the previous leader wrote into status. */
void extract_failures(struct op *op, struct record *c);
void say_work(struct op *op, struct record *c, const char *reason); /* log line and event about the pods that a plan created and deleted */
void say_legacy(struct op *op, struct record *c, const char *level, struct slice text);
void say_legacy_status(struct op *op, struct record *c);

/* NAME/manifest.c: kind.check and kind.preview */
void raycluster_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes);
void rayjob_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes);
bool raycluster_preview(struct jval object, struct preview *p);
bool rayjob_preview(struct jval object, struct preview *p);

/* pod/doubt.c: unconfirmed answers about pods and services (struct doubt) */
void doubt_pod(struct op *op, struct pod_record *r);
void doubt_service(struct op *op, struct service_record *r);
/* The object or its spec has changed: the wait of a doubt is the first, short one again. */
void doubt_anew(struct op *op, struct record *c, struct doubt *d);
bool doubt_list(struct op *op, struct record *c);      /* kind.unsettled */
int64_t doubt_recall(struct op *op, struct record *c); /* kind.recall */

/* raycluster/held.c */
void held_stripped(struct op *op, const struct flight *f, struct jval pod); /* it was created, but without its label or owner */
void held_found(struct op *op, const struct flight *f, struct jval pod);    /* it occupies the name, and does not count */
/* The next pod of this group and index is named as the successor of that one. False: too many of its names are occupied. */
bool held_keep(struct op *op, struct record *c, struct slice group, int32_t index, struct slice uid);
const struct held_name *view_held(struct op *op, const struct record *c, uint32_t *count); /* in the plan's arena; the model is loaded */
void held_clear(struct op *op, struct record *c);

/* raycluster/pace.c */
void service_applied(struct op *op, const struct flight *f, const struct kube_answer *a); /* the apply succeeded */

/* rayjob/ask.c */
/* Asks the head for the end of the log of the job that was submitted last. False: it has none, and *e says why when something is in the
 * way. */
bool job_ask_log(struct record *c, ray_dash_done *done, void *owner, struct err *e);
/* For inspect.h: the question that its dashboard has not answered yet (NULL: none), whether it waits for a cluster that it does not own,
 * and whether its state is its own. */
const struct verb *job_asks(const struct record *c);
bool job_follows(const struct record *c);
bool job_right(const struct record *c);

/* raycluster/scaling.c */
void scaling_follow(struct op *op, struct record *c); /* starts, stops or redirects scaling as the loaded model says */
void scaling_drop(struct record *c);
bool scaling_speaks(const struct record *c);  /* it writes the legacy log block itself */
bool scaling_decides(const struct record *c); /* the autoscaler sets the number of pods and names those to delete */
/* Cancels a pending removal: the autoscaler chose this pod because it had not started (or was thought deleted), and that turned out to be
 * wrong. The whole replica is kept until the autoscaler chooses it again. */
void scaling_spare(struct op *op, struct pod_record *r);
/* The pod is being deleted, or is gone. If the autoscaler chose it, the other hosts of its replica stay chosen: a replica is deleted as a
 * whole. */
void scaling_goes(struct pod_record *r);
/* The pod has ended. If the autoscaler chose it or asked it to drain, that is neither a failure nor a reason to replace it, even before the
 * head reports the node as dead. */
void scaling_ended(struct pod_record *r);
/* Writes the autoscaler's last decision (desired replicas, names to delete) into `groups`, a copy of the model's. NULL: the cluster is not
 * scaled here. */
const struct scale_news *scaling_apply(const struct record *c, struct ray_group *groups, uint32_t count, struct arena *a);

/* raycluster/heads.c: the one place that knows how heads are reached */
/* Address of the head; empty: none yet. Valid until a record changes. */
struct slice head_address(struct op *op, struct record *c);
/* Name of the Secret with the token that the running head (else the next one) asks for; empty: none. May load the cluster's model. */
struct slice head_secret(struct op *op, struct record *c, struct arena *a);
/* Sends a request to the dashboard of the cluster's head. False with *e: it cannot be sent now, `done` is not called. */
bool head_ask(struct op *op, struct record *c, const struct ray_dash_request *r, ray_dash_done *done, void *owner, uint64_t tag,
              struct err *e);
void heads_forget(struct op *op, const void *owner); /* `done` of its requests is not called any more */
void heads_init(struct op *op);
int64_t heads_tick(struct op *op); /* sends waiting requests; returns when to call again */
void heads_free(struct op *op);

/* raycluster/token.c: tokens of clusters with authOptions */
void auth_follow(struct op *op, struct record *c); /* the model is loaded */
void auth_drop(struct record *c);
/* The token; empty: the head needs none. False with *e: not read yet, or not available (ERR_STATUS); it is being read, and the cluster and
 * its jobs are touched when it is there. Valid until the next call of any of these functions. e may be NULL. */
bool auth_token(struct op *op, struct record *c, struct slice *token, struct err *e);
uint32_t auth_serial(const struct record *c); /* changes with the token; 0: none */
/* When a missing token is read again; TIME_NEVER: it is there, being read, or not needed. */
int64_t auth_next(const struct op *op, const struct record *c);
/* The head refused the token: reads it again, and adds to *e what to do. */
void auth_refused(struct op *op, struct record *c, struct err *e);

/* raycluster/zones.c: chooses one of the cluster's zones, and places the model, just read, in it */
void zones_apply(struct op *op, struct record *c);
void zones_follow(struct op *op, struct record *c); /* before a decision: if all pods are gone, one is chosen anew */
void zones_anew(struct op *op, struct record *c);   /* the pods tell in which it is */
/* scaling.c: whether its status says that all of its pods have run at once */
bool was_whole(const struct record *c, struct arena *a);

/* raycluster/types.c: the instance types of ConfigMap `instance-types`, and a struct setting_kind */
/* Applies them to the model, just read. */
void types_apply(struct op *op, const struct record *c);
/* Applies them to a pod template of no cluster, such as a RayJob's submitter. False with *e: it names a type that does not exist. */
bool types_pod(const struct op *op, struct slice node_type, struct jval *template, struct arena *a, struct err *e);
/* It names one, and the ConfigMap has not been read yet, nor refused to us: the end of that touches it. */
bool types_awaited(const struct op *op, const struct record *c);
bool types_text(struct op *op, struct slice text, struct err *e);
const struct shape_types *types_in_force(const struct op *op); /* NULL: not known */
const struct shape_types *
types_held(const struct op *op); /* the same, and an empty list as long as they are not known; NULL: it has none */
void types_trouble(struct op *op);
void types_free(struct op *op);

/* patches.c: the patches of ConfigMap `patches`, a struct setting_kind, and control_parts.amend */
const struct shape_patches *patches_in_force(const struct op *op); /* NULL: there are none */
uint64_t patches_revision(const struct op *op);                    /* changes with them; 0: there are none */
bool patches_text(struct op *op, struct slice text, struct err *e);
void patches_trouble(struct op *op);
bool patches_amend(struct op *op, bool secret, struct buf *object, struct err *e);
void patches_free(struct op *op);

/* workload/policy.c: what a control plane may have made here, and a struct setting_kind */
bool policy_text(struct op *op, struct slice text, struct err *e);
/* It has changed, or what it is held against, as the sizes of instance types: what was decided by it, and is not written yet, is decided
 * again. */
void policy_anew(struct op *op);
void policy_free(struct op *op);
bool policy_start(struct op *op, struct err *e); /* reads the policy file, if there is one */
bool policy_file_broken(const struct op *op);    /* what it holds now is not what is in force */

/* raycluster/tools.c */
void tools_want(struct op *op, const struct istr *ns);
/* Monotonic: workers are not created before, because the ConfigMap that they mount is being created for the first time; 0: it is there, or
 * its creation has failed. The end of its creation touches the clusters of the namespace. */
int64_t tools_from_ms(const struct op *op, const struct istr *ns);
/* After the last cluster or job of a namespace is gone: the namespace may be deleted with the ConfigMap, and be made again without it. */
void tools_drop_unused(struct op *op, const struct istr *ns);
int64_t tools_tick(struct op *op);         /* retries what failed; returns when to call again */
void tools_free(struct op *op);            /* before heads_free */
uint32_t tools_known(const struct op *op); /* in how many namespaces */

/* workload/: what a control plane wants to run here */
void workloads_init(struct op *op, struct net *net);
void workloads_free(struct op *op); /* after the records */
void workloads_renew(struct op *op);
bool workloads_stop(struct op *op);                         /* gives the cloud back; returns whether nothing is left to wait for */
int64_t workloads_tick(struct op *op);                      /* returns when to call again */
void workloads_figures(const struct op *op, struct buf *b); /* lines of /metrics */
uint64_t workloads_calls(const struct op *op);              /* made to the control plane */
/* workload/checks.c: what this operator checks of itself and its cluster, and reports */
void checks_init(struct op *op);
void checks_free(struct op *op);
int64_t checks_tick(struct op *op); /* returns when to call again */
/* A line for each component. False: one is not well, or nothing has been checked yet. */
bool checks_run(struct op *op, struct buf *out);
void checks_config(const struct op *op, struct buf *out); /* how it was started, as JSON, without secrets */

/* ---- verbs ---- */

void pod_outlived(struct op *op, const struct flight *f, const struct kube_answer *a); /* verb.undone */
void children_respecified(struct op *op, struct record *c);                            /* kind.respecified */
bool pod_seen_anew(const struct op *op, const struct action *act);                     /* verb.outdated */
verb_failed group_failed_by;

/* raycluster/create.c, pod/delete.c, raycluster/services.c */
verb_make make_pod, make_delete, make_service;
bool seal_service(struct op *op, struct record *c, const struct action *act, struct flight *f, struct err *e); /* verb.seal */
verb_answer answer_create, answer_try, answer_delete, answer_service;
/* raycluster/view.c */
verb_do count_failure, forget_failures, leave_spot, keep_zone, leave_zone;
/* raycluster/account.c */
verb_make account_make;
verb_answer account_answer;
bool account_secret(int32_t index);
/* rayjob/calls.c */
verb_make job_make_cluster, job_make_delete, job_make_suspend, job_make_submitter;
verb_answer job_answer;
/* rayjob/ask.c */
verb_do job_ask;

#endif
