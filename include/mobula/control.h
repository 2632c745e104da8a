/* control: the part of the operator that is the same for every kind: records of objects, who owns them, lists and watches, what is decided
 * when, calls on their way and what their answers mean, failures and backoff, events. What a kind is stands in a table (struct kind), and
 * what can be done in another (struct verb): this room knows neither a kind nor a verb by name.
 *
 * RayClusters of both kinds and RayJobs are kept in one sort of record, because the same happens to all of them: they are watched, decided
 * in turn, carried out in turn, and hold what they own. Such a record exists as soon as the custom resource or any of its children (by
 * owner uid, in the same namespace) has been seen, and goes when none of them is left and nothing is in flight for it. Records move
 * forward only: an object older than what the record holds (by resourceVersion) is ignored, so answers to own writes and watch events may
 * come in any order. That is how own writes are seen before the next decision. */
#ifndef MOBULA_CONTROL_H
#define MOBULA_CONTROL_H

#include <mobula/heads.h>
#include <mobula/operator.h>
#include <mobula/reconcile.h>

#include <stdio.h>

/* ---- records ---- */

struct cluster;
struct kind;

/* Of what the API server was heard to say of an object, and is not to be believed alone. */
struct doubt {
    int64_t ms;        /* until then the watch may tell how it is; from then on a list decides; 0: no doubt */
    uint32_t round;    /* the watch's when the doubt came: a consistent list of a later one decides */
    uint8_t disproved; /* doubts of this version that lists have disproved, in a row */
};

struct pod_record {
    struct pod pod; /* first: the view points here */
    struct cluster *of;
    struct pod_record *next, **link;
    const struct istr *group, *reason, *words;
    const char *stop;       /* why the autoscaler gave it up, a literal; NULL: it did not */
    uint32_t stop_decision; /* … and in which of its decisions */
    bool stop_begun;        /* … and a host of its replica goes by that already */
    struct scale_seen seen; /* by the autoscaler */
    struct doubt doubt; /* it counts as deleting because a DELETE was answered "not there", or as overtaken because one was answered that it
                           is another by now */
    int64_t asked_ms;   /* until when pod.asked holds */
    uint32_t round;
    bool by_us; /* a DELETE of ours is on its way, or was answered */
};
_Static_assert(sizeof(struct pod_record) < 512, "there may be a hundred thousand of them");

struct service_record {
    struct service service;
    const struct istr *endpoints; /* which service.endpoints lies in */
    struct cluster *of;
    struct service_record *next, **link;
    struct doubt doubt; /* it counts as deleting because a DELETE was answered "not there" */
    int64_t made_ms;    /* the record, monotonic */
    int64_t going_ms;   /* likewise: the watch told that it is being deleted; 0: it has not */
    uint32_t round;
    bool by_us; /* likewise */
};

/* Failures of one group; a cluster has a list of those that failed. */
struct failing {
    struct failing *next;
    const struct istr *group; /* NULL: the head */
    struct group_failures f;
};

/* See held_name in cluster_view. */
struct held {
    struct held *next;
    const struct istr *group;
    int32_t index;
    uint32_t names; /* of this place, one after the other, that were found to be held */
    char uid[UID_TEXT_MAX + 1];
};

/* A plan that is being carried out: a copy of its actions with their texts behind them, in one block. */
struct work {
    uint32_t count, next;
    uint32_t created_head, created, deleted_head, deleted, refused;
    int64_t began_ms;
    char why_deleted[256]; /* each reason once */
    char first_created[POD_NAME_MAX + 1];
    uint64_t status_hash; /* of its verb_status … */
    uint32_t reasons;     /* … and what plan.reasons says of it */
    struct action actions[];
};

/* The bytes that a record is found by: its uid, and behind that its namespace. Whoever may write into one namespace may name any uid as an
 * owner, but nothing is owned from another: what is named across is no record of the namespace where it is. */
enum { RECORD_KEY_MAX = UID_TEXT_MAX + 1 + LIMIT_KUBE_NAMESPACE };

/* How often in a row a service was applied that was not there, and none has stayed; from_ms: see cluster_view. */
struct service_pace {
    uint64_t name; /* its hash */
    uint32_t applied;
    int64_t from_ms;
};

struct cluster {
    union {
        char uid[UID_TEXT_MAX + 1];
        char key[RECORD_KEY_MAX];
    };
    struct space *space;
    bool present; /* the custom resource itself is there */
    bool deleting, dirty, queued, in_ring;
    const struct kind *kind;
    const struct istr *ns, *spec, *meta; /* spec: its bytes; meta: {"labels":…,"annotations":…}, and "finalizers" where the kind has some */
    const struct istr *warned;           /* what the API server has warned of since its generation, a line each; NULL: nothing */
    uint64_t *hashes;                    /* the head's and each group's, once spec and meta were read and found right; else NULL */
    char *name;
    uint64_t version;
    int64_t generation, deleted_us; /* deleted_us: wall clock of the API server; 0: it is not */
    char *status;
    size_t status_len;
    uint64_t status_hash; /* plan.status_hash of our last status write that was answered … */
    bool status_ours;     /* … and which status came from */
    int64_t status_at_ms, status_not_before_ms;
    uint32_t reasons;        /* plan.reasons of the last status write with some … */
    int64_t reasons_ms;      /* … and when it was answered */
    uint32_t status_trouble; /* status writes that failed in a row */
    struct pod_record *pods;
    struct service_record *services;
    uint32_t pod_count;
    struct service_pace services_pace[2];   /* of the head service, of the headless one */
    struct held *held;                      /* names of its workers that pods hold which do not count */
    struct failing *failing;                /* of a job: one, of the cluster or submitter that it could not make */
    struct cluster *owner;                  /* the RayJob that a cluster was made by */
    struct cluster *clusters;               /* of a RayJob: those that it owns … */
    struct cluster *next_owned, **owned_at; /* … by these */
    struct job *job;                        /* of a RayJob that was decided */
    struct scaling *scaling;                /* NULL: nobody scales it, or somebody else does */
    struct auth *auth;                      /* NULL: its head asks for no token, or nobody has asked the head anything */
    uint8_t accounts;                       /* bits by enum ray_account: what must stand before its next head and does */
    uint8_t waits;                          /* calls in a row that found in their place what is still going away */
    struct work *work;
    uint32_t in_flight;
    uint32_t trouble; /* calls in a row that failed for no reason of the spec's: backs off the whole cluster */
    int64_t not_before_ms;
    bool by_us;          /* a DELETE of ours was answered */
    bool strips;         /* the last pod that was created for it came without its label or its owner */
    bool unsure;         /* what belonged to it went, and not by us: it may be gone itself */
    uint32_t pods_round; /* what a POST did is not known: nothing is decided before a consistent list of pods of this round */
    uint32_t missed;     /* times in a row that it was not there when it was read because of that */
    int64_t decided_ms;  /* the last decision */
    int64_t wake_ms;     /* TIME_NEVER: not in the heap */
    uint32_t heap_at;
    uint32_t round;
    struct cluster *next_dirty, *next_ring;
    uint64_t logged; /* hash of the last legacy status block */
};

/* One watched type of one namespace. */
struct source {
    struct op *op;
    struct space *space;
    const struct kind *kind;
    struct kube_watch *watch;
    bool synced, absent, told; /* told: somebody waits for what is absent, and that was said */
    uint32_t round;
    uint32_t asked;    /* the round of the last consistent list that was asked for: when synced, all up to it are complete */
    int64_t missed_ms; /* monotonic: no list of what was missed before then */
    struct err trouble;
};

/* A watched namespace, or all of them. Nothing is decided in it before all the sources that it depends on are complete. */
struct space {
    struct slice ns;
    struct source *source;   /* one for each of kinds[] */
    int64_t workers_from_ms; /* see cluster_view: the later of this and that of struct op */
};

/* The tools ConfigMap in one namespace. */
struct tools {
    const struct istr *ns;
    enum { TOOLS_UNKNOWN, TOOLS_ASKING, TOOLS_APPLYING, TOOLS_THERE } state;
    int64_t again_ms;
    uint32_t failures;
};

enum { VERBS_MAX = 32 };
struct operator_stats {
    uint64_t decisions, plans, events_seen;
    uint64_t scalings;                               /* decisions of autoscalers */
    uint64_t actions[VERBS_MAX], refused[VERBS_MAX]; /* by verb_number */
    uint64_t dash_calls, dash_failures;
    uint64_t unknown; /* writes whose outcome had to be looked up */
};

/* What is logged of many by turns, each kind with a share of its own: a thousand heads that are lost do not hide a watch that fails. */
enum said_kind { SAID_SERVER, SAID_CLUSTER, SAID_HEAD, SAID_DRAIN, SAID_KINDS };

struct op {
    struct net *net;
    struct kube_client *client;
    struct kube_lease *lease;
    struct kube_events *events;
    struct ray_gcs_pool *gcs;
    struct ray_dash_pool *dash;
    struct ray_turns turns; /* of questions that go through the API server */
    struct head_call *head_calls;
    struct operator_options o;
    struct rng rng;
    struct intern strings;
    struct map clusters, pods, services, tools; /* by key, by uid, by uid, by namespace */
    struct map names;                           /* see names.c */
    uint32_t watched;                           /* watches of names */
    struct slab cluster_slab, pod_slab, service_slab, flight_slab;
    struct space *spaces;
    struct cluster *dirty_first, *dirty_last;
    struct cluster *ring_first, *ring_last;
    uint32_t turn; /* actions that ring_first has had in this turn */
    struct cluster **heap;
    uint32_t heap_count, heap_cap;
    struct arena event_arena, plan_arena, model_arena, body_arena;
    struct buf body, path;
    struct cluster *parsed; /* whose model op->model holds; NULL: none. What changes the record's content clears it */
    struct ray_cluster model;
    struct ray_job job; /* in the place of model when `parsed` is one */
    struct ray_errors errors;
    uint64_t executable_hash;
    uint32_t flights;
    bool leading, stopping, released;
    bool complete;                      /* all lists were, once */
    int64_t workers_from_ms;            /* see cluster_view */
    struct log_memory said[SAID_KINDS]; /* the same trouble of many calls is one line, and so is that of one again and again */
    struct operator_stats stats;
    struct health *health, *metrics;
    struct now now;   /* of the step that runs */
    int64_t since_us; /* the wall clock when the monotonic one was 0, as it was last seen; 0: not yet */
};

/* ---- kinds: what is watched, a table each ---- */

/* What became of a child, for its owner. */
enum child_news {
    CHILD_STARTED,  /* a pod that was pending is not any more */
    CHILD_ENDED,    /* what ran in a pod is over */
    CHILD_GOES,     /* it is being deleted, or its record goes */
    CHILD_CHANGED,  /* it is another by now than the one that was to be deleted */
    CHILD_RESTORED, /* it was taken for going, and is not */
};

struct kind {
    const char *name; /* "RayCluster" */
    const char *word; /* "cluster": the key of its name in log lines */
    struct slice api_version;
    const struct kube_resource *resource;
    const char *plural;         /* "rayclusters.ray.io": for messages */
    struct slice selector;      /* labels of its watch; empty: all objects */
    enum operator_kinds family; /* with which of --kinds it is watched; OPERATOR_ALL_KINDS: with any */

    /* Objects become records. Older ones are ignored. round: of the list or watch that handed the object out; 0: an answer to a call. */
    void (*keep)(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round);
    void (*drop)(struct op *op, struct source *from, struct jval object); /* the watch tells that it is gone */
    /* A list is complete: what it has not shown is gone, unless it is newer than the list. */
    void (*sweep)(struct op *op, struct source *from, uint64_t version);
    void (*listed)(struct op *op, struct source *from); /* the same, after that; may be NULL */
    void (*free)(struct op *op);                        /* the process ends; NULL: control frees the records */

    /* Of what is decided on; else NULL. Lists are ended by NULL. */
    const struct kind *const *needs; /* whose lists must be complete before it is decided */
    const struct kind *const *must;  /* of these, whose absence says nothing: the server may just be starting */
    int64_t (*decide)(struct op *op, struct cluster *c, struct plan *p); /* returns when to look again */
    void (*read)(struct op *op, struct cluster *c, struct jval object);  /* into op->model or op->job, and op->errors */
    /* The record has been brought up to date. changed: what is decided on, but for its status; status: that. May be NULL. */
    void (*kept)(struct op *op, struct cluster *c, struct jval object, uint32_t round, bool changed, bool status);
    /* Something became of a pod. May be NULL. */
    void (*told)(struct op *op, struct cluster *c, struct pod_record *pod, enum child_news what);
    void (*forget)(struct op *op, struct cluster *c); /* frees what was hung on the record: the object is gone */
    void (*reread)(struct cluster *c);                /* its spec or meta is another: what was made of them is forgotten. May be NULL */
    /* This process begins to lead, or ends: what only a leader may know is read from status, or dropped. */
    void (*lead)(struct op *op, struct cluster *c, bool leads);
    void (*done)(struct op *op, struct cluster *c); /* a plan was carried out: says so */
    void (*respecified)(struct op *op,
                        struct cluster *c);              /* it has another generation: what is known of its children may be doubted anew */
    bool (*unsettled)(struct op *op, struct cluster *c); /* children have to be listed before it is decided: they are being listed then */
    int64_t (*recall)(struct op *op, struct cluster *c); /* what the lists have, too, counts as it is again; returns when to look next */
    const char *gone;                                    /* "cluster deleted": what the log says when the watch tells so */
    bool finalizers;                                     /* are part of what is decided on */
    bool by_wall_clock;                                  /* has deadlines that are times of the wall clock */
    bool goes_by_status; /* goes on from where its status says that it is: an unknown status write is looked up first */
};
extern const struct kind *const kinds[]; /* lowest first, ended by NULL */

uint32_t kind_count(void);

/* ---- the files of this room ---- */

/* object.c */
struct cluster *cluster_get(struct op *op, struct slice uid, struct slice ns);
/* NULL: there can be no such record. Of one that has not been seen itself the kind is a guess, by who names it as its owner. */
struct cluster *cluster_make(struct op *op, struct slice uid, struct slice ns, struct space *space, const struct kind *kind);
void cluster_touch(struct op *op, struct cluster *c); /* dirty: to be decided */
void cluster_wake_at(struct op *op, struct cluster *c, int64_t ms);
void cluster_settle(struct op *op, struct cluster *c); /* frees it when nothing is left of it */
void cluster_gone(struct op *op, struct cluster *c);   /* the custom resource was deleted */
struct cluster *dirty_pop(struct op *op);
void cluster_reread(struct op *op, struct cluster *c); /* spec or meta is another: what was made of them is forgotten */
/* The owner reference of this kind that controls an object; not there: none. Its uid; empty: none. */
struct jval controller_ref(struct jval object, struct slice kind);
struct slice controller_uid(struct jval object, struct slice kind, struct arena *a);
/* Holds `fresh` instead of what is held. Returns whether that is another text. */
bool keep_interned(struct op *op, const struct istr **held, const struct istr *fresh);
void work_drop(struct cluster *c); /* what of the plan has not been begun is not begun */
struct group_failures *failures_of(struct op *op, struct cluster *c, struct slice group, bool head, bool make);
void failures_forget(struct op *op, struct cluster *c, struct slice group, bool head);
void failures_clear(struct op *op, struct cluster *c);
void records_free(struct op *op);
void cluster_own(struct op *op, struct cluster *c, struct cluster *job); /* NULL: nobody */
void cluster_tell(struct op *op, const struct cluster *c);               /* whoever looks at this cluster is dirty */

/* names.c */
struct name_entry;
struct name_watch { /* zero-initialised but for `who` */
    struct cluster *who;
    struct name_entry *at; /* private from here */
    struct name_watch *next, **link;
};
void name_enter(struct op *op, const struct kind *kind, const struct istr *ns, struct slice name, void *object);
void name_leave(struct op *op, const struct kind *kind, const struct istr *ns, struct slice name, const void *object);
void *name_find(const struct op *op, const struct kind *kind, const struct istr *ns, struct slice name); /* NULL: there is none */
/* Whenever an object of this name is told of (name_tell), `who` is touched. One name at a time; an empty one: none. */
void name_watch(struct op *op, struct name_watch *w, const struct kind *kind, const struct istr *ns, struct slice name);
void name_unwatch(struct op *op, struct name_watch *w);
void name_tell(struct op *op, const struct kind *kind, const struct istr *ns, struct slice name);
void names_free(struct op *op);

/* timers.c: a heap of clusters by wake_ms */
void timer_set(struct op *op, struct cluster *c, int64_t ms);
int64_t timer_next(const struct op *op);
struct cluster *timer_due(struct op *op, int64_t now_ms);

/* keep.c: objects to records. Older ones are ignored; what is not ours is passed over. round: of the list or watch that handed it out; 0
 * for the answer to a call, which says nothing about what a list that runs meanwhile holds. */
void extract_cluster(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round);

/* source.c */
bool space_start(struct op *op, struct space *s, struct slice ns, struct err *e);
void space_stop(struct space *s);
bool space_synced(const struct space *s, const struct kind *k); /* all lists that a decision about an object of this kind rests on */
/* What it waits for because the server says that it does not know that kind: said once, as long as that is so. */
void space_tell_absent(struct space *s, const struct kind *k);
struct source *source_of(const struct space *s, const struct kind *k);
/* All that it knows is listed anew, by a list that is not older than now. Until it is complete, nothing is decided. */
void source_refresh(struct source *src);
/* An answer holds what the watch has gone past without a word: it is gone again, or its event was lost. A list tells, but one in 5 s is for
 * all. */
void source_missed(struct source *src);

/* decide.c */
void model_load(struct op *op, struct cluster *c); /* op->model or op->job, and op->errors, from the record's bytes */
/* Carries out the actions of a plan that only move records. Returns whether there was one: then it is decided anew. */
bool plan_move(struct op *op, struct cluster *c, const struct plan *p);
void decide_all(struct op *op);
void decide_one(struct op *op, struct cluster *c); /* if it may be decided now; what is planned stands in the ring then */
void decide_none(struct op *op);                   /* who does not lead only lets go of what is gone */

/* confirm.c */
void cluster_doubt(struct cluster *c);
void cluster_confirm(struct op *op, struct cluster *c); /* asks whether it is still there; the answer touches it */

/* turn.c: a few actions per cluster and turn, as long as the window has room */
bool execute_all(struct op *op);  /* whether it has more to do in the next step, although nobody will say so */
void execute_none(struct op *op); /* no action that has not begun is begun any more */
void ring_add(struct op *op, struct cluster *c);
void work_settle(struct op *op, struct cluster *c); /* says what was done when the last answer is there */

/* flight.c */
enum { ANSWER_WORDS = ERR_TEXT_MAX + 192 };
enum { ANSWER_LOST = -1 }; /* what failed when no answer has told */

struct flight {
    struct op *op;
    struct cluster *c;
    const struct verb *verb;
    bool fresh;   /* of a service: none of ours was there as it was sent */
    bool looking; /* this is the look-up after an answer that was lost, said AlreadyExists, or came from a server in trouble … */
    char why[ANSWER_WORDS]; /* … and what that said */
    int failed;             /* answer_failed() of the answer in whose words trouble is told; 0: in words of our own */
    int64_t not_before_ms;  /* what a server in trouble has asked for: no trouble of this flight is over sooner; 0: nothing */
    int32_t group, index;
    char name[POD_NAME_MAX + 1], uid[UID_TEXT_MAX + 1];
    int64_t generation; /* of the spec that group and index belong to */
    uint64_t hash;      /* of what is sent: the template that is tried, the service, the status; of the Secret's name */
    uint64_t version;   /* of the pod, which is deleted in this version or not at all; 0: in any */
};
kube_done answer_done;
/* A GET of op->path, where the object of the flight's name is: the flight goes on with that. False with *e: it does not. */
bool flight_look(struct op *op, struct flight *f, struct err *e);
/* For answers, whatever they are about. Trouble: of the connection or the server, not of the spec: all of it waits, longer each time. Wait:
 * what it waits for goes on without us, and will most often be over soon: it is looked for each second, and later more rarely. */
void cluster_trouble(struct op *op, struct cluster *c, const struct flight *f, const char *text);
/* A call failed, and will be made again at this time: a line for the log, unless it was said. */
void log_trouble(struct op *op, struct cluster *c, const struct flight *f, const char *text, int64_t again_ms);
void cluster_wait(struct op *op, struct cluster *c, const struct flight *f, const char *text);
const char *answer_words(const struct kube_answer *a, char out[ANSWER_WORDS]); /* of one that is not good: "503 ServiceUnavailable: …" */
int answer_failed(const struct kube_answer *a); /* the status of a no, or the err_code of what was lost; 0: it is good */
bool answer_troubled(
    const struct kube_answer *a); /* the server, or who stands before it, is in trouble: it may have done it all the same */
const char *answer_way_out(const struct kube_status *s); /* what to do, where a namespace's policy is against an added container; or "" */
bool answer_passing(const struct kube_status *s);        /* not a no to what was asked for, but to asking now */
/* In the event arena; not there: it cannot be read. */
struct jval answer_object(struct op *op, const struct kube_answer *a, uint64_t *version);

/* warned.c */
void warnings_heard(struct op *op, const struct flight *f, struct slice lines);
void warnings_drop(struct op *op, struct cluster *c);

/* say.c: what was done, as log lines and events */
uint64_t said_of(const struct cluster *c, struct slice words, uint64_t more); /* the same words of the same name */
bool say_once(struct op *op, enum said_kind kind, uint64_t what);             /* whether it may be said; says how much was not */
/* The same for a call that failed (answer_failed): on trouble of the server, or of the way to it, a thousand calls that do the same are one
 * line, whatever their words, which hold names and times. Any other no is said of each that is told so. */
bool say_failed(struct op *op, int failed, uint64_t action, uint64_t whose);
void say_event(struct op *op, struct cluster *c, bool warning, const char *reason, struct slice note);

/* ---- verbs: what can be done, a constant each ---- */

/* Of a call: its method and content type, and whether it may be sent again. Its path and body are op->path and op->body. */
struct call_text {
    struct slice method, content_type;
    bool again;
};

/* False with *e: it cannot be made. */
typedef bool verb_make(struct op *op, struct cluster *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e);
/* Carries out what is no call to the API server. */
typedef void verb_do(struct op *op, struct cluster *c, const struct action *act);
/* Returns whether the flight goes on: something has to be looked up. */
typedef bool verb_answer(struct op *op, struct flight *f, const struct kube_answer *a);
/* The call cannot be made: whose failure it is. */
typedef void verb_failed(struct op *op, struct cluster *c, const struct action *act, const char *text);

struct verb {
    const char *name;
    enum verb_how how;
    verb_do *carry_out; /* VERB_ASK, VERB_SAY, VERB_MOVE */
    verb_make *make;    /* all others, and so are the following */
    verb_answer *answer;
    verb_failed *failed;
    void (*by_us)(struct op *op, struct slice uid, bool by_us); /* VERB_DELETE; may be NULL */
    /* An answer that is not a good one has come when the subject was gone. May be NULL. */
    void (*undone)(struct op *op, const struct flight *f, const struct kube_answer *a);
    bool (*outdated)(const struct op *op, const struct action *act); /* what it was decided on is another by now; NULL: it is not asked */
    bool (*secret)(int32_t index); /* whether what goes over the wire, and comes back, holds a token; NULL: no */
};

extern const struct verb *const verbs[];    /* by number, ended by NULL: kinds/verbs.c */
uint32_t verb_number(const struct verb *v); /* below VERBS_MAX, for counters */

bool verb_secret(const struct verb *v, int32_t index);

/* status.c: every kind that is decided has these */
verb_make make_status;
verb_answer answer_status;
verb_do say_planned;
verb_failed status_failed;

#endif
