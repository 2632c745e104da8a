/* What the kinds know of each other and of their children. File names stand before what a file holds. */
#ifndef MOBULA_KINDS_H
#define MOBULA_KINDS_H

#include <mobula/control.h>

/* The tables, see kinds.c. */
extern const struct kind kind_raycluster, kind_raycluster_legacy, kind_rayjob, kind_pod, kind_kservice;
void kind_tell(struct op *op, struct pod_record *pod, enum child_news what); /* the owner of the pod */

/* ---- records and views ---- */

void pod_remove(struct op *op, struct pod_record *r);
void service_remove(struct op *op, struct service_record *r);
void pod_by_us(struct op *op, struct slice uid, bool by_us); /* whether a DELETE of ours is on its way to it, or was answered */
void kservice_by_us(struct op *op, struct slice uid, bool by_us);
void failures_prune(struct op *op, struct cluster *c); /* of groups that the loaded model does not have */
/* The ray.io/v1 cluster of this name in the namespace of another record; NULL. */
struct cluster *cluster_named(struct op *op, const struct cluster *beside, struct slice name);
struct slice group_name(const struct op *op, int32_t group); /* of the loaded model, by an action's number */
/* what a view shows of the cluster, in the plan's arena; the model is loaded */
const struct pod **view_pods(struct op *op, const struct cluster *c, uint32_t *count);
const struct group_failures *view_failures(struct op *op, struct cluster *c);
/* the service of this name that the cluster owns; NULL */
struct service_record *service_of(const struct cluster *c, struct slice name);
/* The group of the flight failed, unless the spec has changed since: then the number means another group, and all is decided anew. */
void flight_failed(struct op *op, const struct flight *f, const char *text);
/* The rest of the plan is dropped and the group waits. While it waits already, nothing more is counted: what fails together is one
 * failure. */
void group_failed(struct op *op, struct cluster *c, int32_t group, bool ended, const char *event, struct slice reason);
/* What the answer to a create holds. False: no watch tells of it, and the cluster waits for a list. */
bool answer_pod(struct op *op, const struct flight *f, struct jval pod, uint64_t version);
void extract_pod(struct op *op, struct space *space, struct jval object, uint64_t version, uint32_t round);
void extract_service(struct op *op, struct space *space, struct jval object, uint64_t version, uint32_t round);
struct slice extract_owner(struct jval object, struct arena *a); /* uid of the RayCluster or RayJob that controls it */
/* the record of the RayCluster or RayJob that controls this pod or service, made when it is not there yet; NULL: none, or a child that is
 * not one of ours by its uid or name */
struct cluster *extract_parent(struct op *op, struct space *space, struct jval child);
bool extract_labelled(struct jval object); /* a pod or service; else no list and no watch of ours tells of it */
/* A pod that is labelled as another cluster's than the one that owns it: somebody has set it aside. */
bool extract_elsewhere(struct jval pod, struct arena *a);
/* the failures that whoever led before wrote into status */
void extract_failures(struct op *op, struct cluster *c);
void say_work(struct op *op, struct cluster *c, const char *reason); /* what a plan has done to pods, under this reason of an event */
void say_legacy(struct op *op, struct cluster *c, const char *level, struct slice text);
void say_legacy_status(struct op *op, struct cluster *c);

/* how a kind is read, kept and decided */
int64_t decide_cluster(struct op *op, struct cluster *c, struct plan *p);
int64_t decide_job(struct op *op, struct cluster *c, struct plan *p);
void read_cluster(struct op *op, struct cluster *c, struct jval object);
void read_job(struct op *op, struct cluster *c, struct jval object);
void kept_cluster(struct op *op, struct cluster *c, struct jval object, uint32_t round, bool changed, bool status);
void kept_job(struct op *op, struct cluster *c, struct jval object, uint32_t round, bool changed, bool status);

/* pod/doubt.c: what is said of pods and services, and not believed before they are listed */
void doubt_pod(struct op *op, struct pod_record *r);
void doubt_service(struct op *op, struct service_record *r);
/* The object has changed, or what is wanted of it: no doubt about it lasts longer than a first one does. */
void doubt_anew(struct op *op, struct cluster *c, struct doubt *d);
bool doubt_list(struct op *op, struct cluster *c);      /* whether that has to be listed first: it is being listed then */
int64_t doubt_recall(struct op *op, struct cluster *c); /* what the lists have, too, counts as it is again; returns when to look next */

/* raycluster/held.c */
void held_stripped(struct op *op, const struct flight *f,
                   struct jval pod);                                     /* it was created, and came so that it will not be found again */
void held_found(struct op *op, const struct flight *f, struct jval pod); /* it has the name, and does not count */
/* Names this place's pod as the successor of that one. False: too many such names of it are held. */
bool held_keep(struct op *op, struct cluster *c, struct slice group, int32_t index, struct slice uid);
const struct held_name *view_held(struct op *op, const struct cluster *c, uint32_t *count); /* in the plan's arena; the model is loaded */
void held_clear(struct op *op, struct cluster *c);

/* kservice/pace.c */
void service_applied(struct op *op, const struct flight *f, const struct kube_answer *a); /* answered well */
void service_ends(const struct op *op, const struct service_record *r);                   /* its record goes */

/* rayjob/view.c: decisions about RayJobs */
struct job *job_of(struct op *op, struct cluster *c);              /* made when there is none yet */
void job_decide(struct op *op, struct cluster *c, struct plan *p); /* in the plan's arena */
void job_drop(struct op *op, struct cluster *c);                   /* what was heard is forgotten, what was asked is not waited for */

/* A time in status, and since when this process has seen it there. */
struct job_time {
    uint64_t what; /* of which attempt it is, and what it says; 0: it is not there */
    int64_t since_ms;
};

/* rayjob/ask.c: what they ask of the head's dashboard */
struct job {
    struct op *op;
    struct cluster *c;
    struct job_said said;                                   /* its texts … */
    char *texts;                                            /* … are in here */
    struct name_watch follows;                              /* the cluster that status names, when it is not the job's own */
    int64_t submitter_ms;                                   /* when its last submitter pod was made; 0: not by this process */
    int64_t leaving_ms;                                     /* since when it has been known to be deleted; 0: it is not */
    struct job_time started, ended, ray_ended;              /* startTime, endTime and rayJobInfo.endTime */
    const struct verb *verb;                                /* of the question that is under way */
    bool doubted;                                           /* … and what its answer does not know may have come since */
    char cluster[POD_NAME_MAX + 1], id[RAY_JOB_ID_MAX + 1]; /* whom it goes to, about which submission */
};
void job_forget_words(struct job *j); /* the message and the log */
/* Another process has written that Ray knows the job: whatever this one has heard to the contrary is older, and is asked anew. */
void job_doubt(struct cluster *c);

/* raycluster/scaling.c */
void scaling_follow(struct op *op, struct cluster *c); /* the model is loaded: whether it is scaled, and which head is asked */
void scaling_drop(struct cluster *c);
bool scaling_speaks(const struct cluster *c);  /* it logs how many nodes there are */
bool scaling_decides(const struct cluster *c); /* how many pods there are, and by name which of them go */
/* The pod was given up as one that has not started, and that is not known of it any more, or counted as gone, and has not: it stays, with
 * all of its replica, until it is given up anew. */
void scaling_spare(struct op *op, struct pod_record *r);
/* The pod goes, or has gone. Was it given up, then the others of its replica stay so, whatever is decided of them alone: it goes as a
 * whole. */
void scaling_goes(struct pod_record *r);
/* The pod has ended. Of one that was given up, or asked to drain, that is neither a failure nor a place to be filled, though its head may
 * not have told of it yet. */
void scaling_ended(struct pod_record *r);
/* Makes of these groups, the model's own in a copy, what the autoscaler decided last: how many pods they have, and which go. NULL: the
 * cluster is not scaled here. */
const struct scale_news *scaling_apply(const struct cluster *c, struct ray_group *groups, uint32_t count, struct arena *a);

/* raycluster/heads.c: the one place that knows how heads are reached */
/* Where the ports of its head are; empty: nowhere yet. Valid until a record moves. */
struct slice head_address(struct op *op, const struct cluster *c); /* its model is loaded */
/* A question to the dashboard of the cluster's head. Loads its model. False with *e: it cannot be asked now, and nobody is told. */
bool head_ask(struct op *op, struct cluster *c, const struct ray_dash_request *r, ray_dash_done *done, void *owner, uint64_t tag,
              struct err *e);
void heads_forget(struct op *op, const void *owner); /* its questions are not answered any more */
void heads_init(struct op *op);
int64_t heads_tick(struct op *op); /* sends those whose turn it is; returns when to come again */
void heads_free(struct op *op);

/* raycluster/token.c: the tokens of clusters with authOptions; of each of these functions the cluster's model is loaded */
void auth_follow(struct op *op, struct cluster *c);
void auth_drop(struct cluster *c);
/* Empty: its head asks for none. False with *e: it is not known yet, or not to be had (ERR_STATUS), and is being asked for; the cluster and
 * its jobs are touched when it is there. Valid until the next call of any of these. e may be NULL. */
bool auth_token(struct op *op, struct cluster *c, struct slice *token, struct err *e);
uint32_t auth_serial(const struct cluster *c); /* another token, another number; 0: none */
/* When a token that is not there is asked for again; TIME_NEVER: it is there, or on its way, or nobody asks. */
int64_t auth_next(const struct op *op, const struct cluster *c);
/* The head says that it is not its token: it is read again, and what to do is added to the words. */
void auth_refused(struct op *op, struct cluster *c, struct err *e);

/* raycluster/tools.c */
void tools_want(struct op *op, const struct istr *ns);
/* When the namespace's last cluster is gone: the namespace may be gone with it, and the next one of its name has no ConfigMap. */
void tools_drop_unused(struct op *op, const struct istr *ns);
int64_t tools_tick(struct op *op); /* what failed is tried again; returns when to come again */
void tools_free(struct op *op);

/* ---- verbs ---- */

void pod_outlived(struct op *op, const struct flight *f, const struct kube_answer *a); /* verb.undone */
void pods_refused(struct op *op, struct flight *f, const struct kube_status *s);       /* whose failure a no is: the group's, or nobody's */
void children_respecified(struct op *op, struct cluster *c);                           /* kind.respecified */
bool pod_seen_anew(const struct op *op, const struct action *act);                     /* verb.outdated */
verb_failed group_failed_by, job_failed_by;

/* raycluster/create.c, pod/delete.c, raycluster/services.c */
verb_make make_pod, make_delete, make_service;
verb_answer answer_create, answer_try, answer_delete, answer_service;
/* raycluster/view.c */
verb_do count_failure, forget_failures;
/* raycluster/account.c */
verb_make account_make;
verb_answer account_answer;
bool account_secret(int32_t index);
/* rayjob/calls.c */
verb_make job_make_cluster, job_make_delete, job_make_suspend, job_make_finalizers, job_make_submitter;
verb_answer job_answer;
/* rayjob/ask.c */
verb_do job_ask;

#endif
