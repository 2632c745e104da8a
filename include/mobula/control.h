/* control: the controller core, the same for every kind: records of objects and their owners, lists and watches, when a record is decided,
 * requests in flight and what their answers mean, failures and backoff, events. A kind is a table (struct kind), and what can be done to
 * its objects is another (struct verb): this room names neither a kind nor a verb. docs/architecture.md has the way of one event, a
 * table of a record's states, and a glossary.
 *
 * Every custom resource, RayCluster and RayJob alike, is a `struct record`. The record is created when the resource or one of its children
 * (by owner uid, in the same namespace) is first seen, and freed when neither is left and no request is in flight for it. Records only move
 * forward: an object with an older resourceVersion than the record's is ignored. So answers to own writes and watch events may arrive in
 * any order, and the result of an own write is in the record before the next decision. */
#ifndef MOBULA_CONTROL_H
#define MOBULA_CONTROL_H

#include <mobula/operator.h>
#include <mobula/plan.h>
#include <mobula/pod.h>
#include <mobula/preview.h>
#include <mobula/record.h>

#include <stdio.h>

/* One watched type of one namespace. */
struct source {
    struct kube_keeper keeper; /* a kind that the server does not know, or that flags exclude, is absent and synced */
    struct op *op;
    struct space *space;
    const struct kind *kind;
    bool told;         /* the log says that a kind waits for it because the server does not know it */
    int64_t missed_ms; /* monotonic: source_missed requests no list before then */
};

/* A watched namespace, or all of them. A kind is decided in it once the lists of all kinds that it needs are complete. */
struct space {
    struct slice ns;
    struct source *source;    /* one for each of kinds[] */
    int64_t workers_from_ms;  /* see cluster_view; the later of this and op.workers_from_ms holds */
    const struct istr *going; /* the namespace in which the last create was refused because it is being deleted; NULL: none */
    uint64_t orphans;         /* orphan.c: a bit for the hash of each owner that an orphan's labels name and that is not known */
};

struct operator_stats {
    uint64_t decisions, plans, events_seen;
    uint64_t scalings;           /* autoscaler decisions */
    uint64_t *actions, *refused; /* by verb_number, verb_count of each */
    uint64_t dash_calls, dash_failures;
    uint64_t unknown; /* writes with an unknown outcome, which was looked up */
};

/* Rate limits of log lines: each of these has its own, so that a thousand lost heads do not hide a failing watch. */
enum said_kind { SAID_SERVER, SAID_CLUSTER, SAID_HEAD, SAID_DRAIN, SAID_KINDS };

struct setting;
/* Purpose of a ConfigMap of the operator's own namespace. */
struct setting_kind {
    const char *flags[2]; /* of the operator, for the ConfigMap's name and the text's key: {"policy-configmap", "policy-key"} */
    struct slice key;     /* the default of the second: "policy.yaml" */
    bool (*start)(struct setting *s, struct err *e); /* before anything is requested; NULL: nothing is to be done then */
    /* Takes the text as it is now; text.ptr NULL: there is no such ConfigMap or key. False with *e: it is broken, and what was taken last
     * stays in force. The text is valid during the call. */
    bool (*on_text)(struct setting *s, struct slice text, struct err *e);
    void (*on_trouble)(const struct setting *s); /* nothing is known yet, because setting.why. NULL: only kinds hear of it */
    void (*free)(struct setting *s);             /* at the end of the process */
    bool first;                                  /* nothing is written before its text is known, or cannot be read */
    bool freezes;                                /* its ConfigMap can have the annotation SETTING_FROZEN */
};

/* The tables that the core works with. The room operator passes those of the rooms kinds and settings. */
struct verb_handler;
struct control_parts {
    const struct kind *const *kinds;            /* lowest first, ended by NULL; at most LIMIT_KINDS */
    const struct setting_kind *const *settings; /* ended by NULL; at most LIMIT_SETTINGS */
    const struct verb_handler *handlers;        /* control_handlers */
    /* Changes the text of an object that is about to be created or applied, or says why it must not be sent. secret: it holds a token. In
     * op->body_arena. */
    bool (*amend)(struct op *op, bool secret, struct buf *object, struct err *e);
};

struct setting {
    struct op *op;
    struct kube_watch *watch; /* NULL: not watched */
    bool known;               /* a text was taken or refused, or there is none */
    bool broken, seen;        /* broken: the last text was refused, because `why`; seen: in the present list */
    bool frozen;              /* the ConfigMap, when it was seen last, had the annotation SETTING_FROZEN */
    uint64_t hash;            /* of the last text */
    void *taken;              /* the setting's own, made by setting_kind.start or on_text and freed by its `free`. NULL: nothing */
    struct err why;           /* of the refusal; or, while nothing is known, why the ConfigMap cannot be read */
};

/* The parsed content of a record. A few are kept: a RayJob, its cluster and their neighbours take turns. */
enum { MODELS_KEPT = 4 };
struct loaded {
    const struct record *of; /* NULL: nobody's. model_forget clears it */
    struct arena arena;
    struct spec_errors errors;
    void *model; /* the result of kind.read, in `arena`; the kind knows its type. Its texts lie in the record's spec and meta: it is of
                    no use any more once these have changed */
};

struct op {
    const struct control_parts *parts;
    struct net *net;
    struct kube_client *client;
    struct kube_lease *lease;
    struct kube_events *events;
    struct operator_options o;
    struct rng rng;
    struct intern strings;
    struct {
        struct map records, pods, services; /* by key, by uid, by uid */
        uint32_t unreported;                /* records of resources that have no status yet: those that are starting */
    } all;
    struct {
        struct map map;   /* see names.c */
        uint32_t watched; /* name watches that are set */
    } names;
    struct {
        struct slab record, pod, service, flight;
    } slabs;
    struct space *spaces;
    struct {
        struct record *first, *last;
    } dirty;
    struct {
        struct ring {
            struct record *first, *last; /* last: of any value while there is no first */
        } rings[OPERATOR_RINGS];         /* records with work, by the actions that are left: see turn.c */
        uint64_t serial, picks;
    } ring;
    struct {
        struct record **list;
        uint32_t count, cap;
    } heap; /* by timer.wake_ms */
    struct {
        struct arena event, plan, body;
    } arenas;
    struct {
        struct buf body, path;
    } out; /* the request that is made */
    struct {
        struct loaded list[MODELS_KEPT];
        struct loaded *kept[MODELS_KEPT]; /* these, the one that model_load was asked for last first … */
        struct loaded *loaded;            /* … which is this */
    } models;
    struct setting settings[LIMIT_SETTINGS]; /* by place in parts->settings */
    void *own[LIMIT_KINDS]; /* the state that each of kinds[] keeps for all its objects together; made and freed by the kind */
    struct checks *checks;  /* of this operator and its cluster, kinds/workload/checks.c; NULL: they are off */
    uint32_t flights;
    uint32_t watches_denied; /* lists and watches that were answered 403 since the start */
    struct {
        bool leading, stopping, released;
        int64_t stop_ms, farewell_ms;   /* monotonic: since when it is to end; until when decisions go on for that; 0: not yet */
        uint32_t farewell_asked;        /* questions of farewell.c without an answer */
        bool complete;                  /* all lists have been complete once */
        int64_t workers_from_ms;        /* see cluster_view */
    } phase;                            /* from its start to its end */
    struct log_memory said[SAID_KINDS]; /* suppresses repeated log lines, see say_once */
    struct operator_stats stats;
    struct {
        struct serve *health, *status, *metrics;
    } serve;
    struct now now;   /* of the present step */
    int64_t since_us; /* wall clock minus monotonic clock, as last seen: a change means that the wall clock was set; 0: not yet */
};

/* ---- kinds: what is watched, a table each ---- */

/* An event of a child, for its owner. */
enum child_news {
    CHILD_STARTED,  /* a pod is no longer pending */
    CHILD_ENDED,    /* a pod succeeded or failed, or its Ray container ended for good */
    CHILD_GOES,     /* it is being deleted, or has been */
    CHILD_CHANGED,  /* a DELETE with a version was refused: the server has a newer version than the one we chose */
    CHILD_REACHED,  /* the labels, ports, start parameters or token Secret of a head pod changed, or were read for the first time */
    CHILD_RESTORED, /* it counted as being deleted, and a list shows that it is not */
};

/* A kind that an installation may be without: neither its definition nor the right to list it need be there. */
struct kind_option {
    const char *flag;    /* of the operator, of installations and of the chart: "raycronjobs". NULL: every installation has the kind */
    const char *run;     /* help of the operator's flag, which is on where it is not given … */
    const char *install; /* … and of an installation's, which is off, unless --kinds=all brings every kind */
};

/* The state of a kind in record.own: zeroed when the resource is first seen, freed after `forget`. The files of a kind find their state by
 * its type. By the kind's table they would all depend on the file with the table, which depends on all of them. */
struct own_type {
    size_t size;
};

/* The controller of a kind: decides on its objects and handles events of their children. Lists are ended by NULL. */
struct controller {
    const struct kind *const *owns;  /* kinds whose objects belong to one of this kind that is their controlling owner */
    const struct kind *const *needs; /* kinds whose lists must be complete before this one is decided */
    const struct kind *const
        *must; /* of these, kinds that must exist: if the server does not know one (it may just be starting), decisions wait */
    int64_t (*decide)(struct op *op, struct record *c, struct plan *p); /* fills the plan; returns when to decide again at the latest */
    void (*read)(struct op *op, struct record *c, const struct spec_object *from); /* into op->loaded: model and errors */
    /* The record was brought up to date. round: as of kind.keep; status: the status has changed. May be NULL. */
    void (*kept)(struct op *op, struct record *c, struct jval object, uint32_t round, bool status);
    /* Something happened to a pod that it owns; the resource itself may be gone, and `own` with it. May be NULL. */
    void (*told)(struct op *op, struct record *c, struct pod_record *pod, enum child_news what);
    void (*service_gone)(struct op *op, struct record *c, const struct service_record *s); /* a service that it owns; may be NULL */
    /* The owner of an object that has no controlling owner of ours: a record of this kind, found by its labels; NULL: it is none of this
     * kind's. May be NULL. */
    struct record *(*claim)(struct op *op, const struct record *c, struct jval object);
    const struct own_type *own; /* of record.own, and of the kind's state in op->own. NULL: the kind hangs record.own there itself, and
                                   frees it in `forget` */
    /* The resource is gone: frees what the kind's own state points at. At the end of the process it is called for every record: without
     * `own` for one whose resource has not been seen. */
    void (*forget)(struct op *op, struct record *c);
    void (*reread)(struct record *c); /* spec or meta changed: drops what was derived from them. May be NULL */
    /* This process became the leader (state is read from status) or no longer is (state that only a leader has is dropped). */
    void (*lead)(struct op *op, struct record *c, bool leads);
    void (*done)(struct op *op, struct record *c); /* a plan was carried out: logs it and writes events */
    void (*respecified)(struct op *op,
                        struct record *c); /* the generation changed: doubts about children get their first, short wait again */
    bool (*unsettled)(struct op *op, struct record *c); /* true: a list of its children was requested, and the decision waits for it */
    int64_t (*recall)(struct op *op, struct record *c); /* ends doubts that a list disproved; returns when the next one is due */
    bool runs_ray;                                      /* Ray runs in its pods: metrics count them */
    bool mounts_tools;                                  /* its pods mount ConfigMap mobula-tools */
    bool has_agent;                                     /* heads of the clusters that it owns, over however many steps, run mobula-agent */
    bool by_wall_clock;                                 /* its deadlines are wall clock times: decided again when the clock is set */
    bool goes_by_status; /* its state machine is in status: after a status write with unknown outcome the object is read first */
};

/* How the owner of an object without ownerReferences is found, as a restore from a backup leaves it. All NULL: it is not looked for. */
struct orphan_rule {
    const char *mark;       /* annotation that only objects of this operator carry; NULL: none is needed */
    const char *cluster;    /* label with the name of a cluster that may own the object … */
    const char *maker;      /* … or label with the name of another owner, with which the object's own name begins … */
    const char *maker_kind; /* … and label with that owner's kind; NULL: any kind that may own it */
};

/* A kind of object that is watched. */
struct kind {
    const char *name; /* "RayCluster" */
    const char *word; /* "cluster": the key of its name in log lines */
    struct slice api_version;
    const struct kube_resource *resource; /* NULL: no resource of this API server. Its records have another source */
    const char *plural;                   /* "rayclusters.ray.io": for messages */
    const struct verb_handler *handlers;  /* of the verbs of its objects; NULL: it has none, or another kind has them in its list */
    struct slice selector;                /* labels of its watch; empty: all objects */
    enum operator_kinds family;           /* with which of --kinds it is watched; OPERATOR_ALL_KINDS: with any */

    /* Brings the record up to date with an object; an older version is ignored. round: of the list or watch that the object came from; 0:
     * it is the answer to a call. */
    void (*keep)(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round);
    void (*drop)(struct op *op, struct source *from, struct jval object); /* a DELETED event */
    /* A list is complete: records that it did not show are removed, unless they are newer than the list. */
    void (*sweep)(struct op *op, struct source *from, uint64_t version);
    void (*listed)(struct op *op, struct source *from); /* after sweep; may be NULL */
    void (*free)(struct op *op);                        /* at the end of the process; NULL: its records are those that control frees */
    /* A setting has changed: its text was taken or refused, its annotation SETTING_FROZEN came or went, or nothing is known of it because
     * setting.why. Touches the records that depend on it. NULL: none does. */
    void (*on_setting)(struct op *op, const struct setting *s);

    const struct controller *controller; /* NULL: nothing is decided on its objects */
    const char *gone;                    /* log message for a DELETED event: "cluster deleted"; of kinds with a controller */
    bool owned;                          /* its objects may have an owner with a record: that is touched when they change */
    bool on_demand;                      /* watched in a namespace from the first source_demand, so that nobody else needs the right to */
    bool creation;                       /* decisions depend on creationTimestamp */
    bool finalizers;                     /* metadata.finalizers is kept: decisions depend on it */
    struct orphan_rule orphan;
    const char *finalizer; /* of ours on its objects, which keeps a namespace from being deleted; NULL: there is none */

    /* For the command line; both NULL: nobody writes a manifest of it. A kind with `check` is a custom resource of ours, whose definition
     * is airgap/crds/PLURAL.yaml. */
    /* Every error of an object, and notes about what is accepted and has no effect. */
    void (*check)(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes);
    /* Hands out what would be made of the object in an empty namespace. False: p->errors or p->err says why not. NULL: it is not shown. */
    bool (*preview)(struct jval object, struct preview *p);
    struct kind_option optional;
};

uint32_t kind_count(const struct op *op);
/* The first kind whose controller has this type. */
const struct kind *own_kind(const struct op *op, const struct own_type *type);
void **kind_own(const struct op *op, const struct kind *k); /* the kind's place in op->own */
/* record.own if it is of this type, else NULL. */
static inline void *record_own_as(const struct record *c, const struct own_type *type)
{
    return c->kind->controller && c->kind->controller->own == type ? c->own : NULL;
}
/* Whether --kinds has this kind. One that it excludes counts as absent, and nothing waits for it. */
bool wanted_kind(const struct kind *k, enum operator_kinds which);

/* ---- the files of this room ---- */

/* object.c */
struct record *record_get(struct op *op, struct slice uid, struct slice ns);
/* Finds or creates the record. NULL: uid or namespace is invalid. Until the resource itself is seen its kind is a guess, taken from the
 * ownerReference of a child. */
struct record *record_make(struct op *op, struct slice uid, struct slice ns, struct space *space, const struct kind *kind);
void record_touch(struct op *op, struct record *c); /* marks it dirty and queues it for a decision */
void record_wake_at(struct op *op, struct record *c, int64_t ms);
void record_settle(struct op *op, struct record *c); /* frees it if it is gone and nothing refers to it */
/* The custom resource was seen for the first time. */
void record_comes(struct op *op, struct record *c, struct space *space, const struct kind *kind, struct slice name);
void record_gone(struct op *op, struct record *c); /* the custom resource was deleted */
struct record *dirty_pop(struct op *op);
void record_reread(struct op *op, struct record *c); /* spec or meta changed: drops what was derived from them */
/* The controlling ownerReference if it is of this kind, else an absent value. */
struct jval controller_ref(struct jval object, struct slice kind);
bool may_own(const struct kind *owner, const struct kind *child);
/* The kind of an object's controlling owner, of those that own objects of kind `child`, and its uid; NULL: it has no such owner. */
const struct kind *controller_of(const struct op *op, struct jval object, const struct kind *child, struct arena *a, struct slice *uid);
/* The record of that owner, created if needed; NULL: there is none, its uid or namespace is invalid, or it is another kind of object. */
struct record *controller_record(struct op *op, struct space *space, struct slice ns, struct jval object, const struct kind *child);
/* orphan.c: the owner of an object that has no ownerReferences, found by kind.orphan. NULL: the rule names none, or it is not known yet. */
struct record *orphan_claim(struct op *op, struct space *space, struct jval object, const struct kind *child);
/* Before the first decision on an owner: true if orphans of its name were seen. Their lists are read again, and the decision waits. */
bool orphan_waits(struct op *op, struct record *c);
void orphan_plan(const struct record *c, struct plan *p); /* adds verb_adopt for each object that the plan does not delete */
/* Replaces *held by `fresh` and drops the old reference. Returns whether the text changed. */
bool keep_interned(struct op *op, const struct istr **held, const struct istr *fresh);
void work_drop(struct record *c);                  /* actions of the plan that have not been started are dropped */
void work_settle(struct op *op, struct record *c); /* after the last answer of a plan: frees it, touches the record */
/* Its controller is to read from the API server whether it still exists, before children are created again. */
void record_doubt(struct record *c);
struct group_failures *failures_of(struct op *op, struct record *c, struct slice group, bool head, bool make);
void failures_forget(struct op *op, struct record *c, struct slice group, bool head);
void failures_clear(struct op *op, struct record *c);
/* Counts one more of them and begins its backoff. False: one is under way, in which nothing more is counted. */
bool failure_count(struct op *op, const struct record *c, struct group_failures *f, struct slice reason);
void records_free(struct op *op);
void record_own(struct op *op, struct record *c, struct record *owner); /* NULL: no owner */
void record_tell(struct op *op, const struct record *c);                /* touches its owner and everyone who watches its name */

/* names.c */
struct name_entry;
struct name_watch { /* zero-initialised but for `who` */
    struct record *who;
    struct name_entry *at; /* private from here */
    struct name_watch *next, **link;
};
void name_enter(struct op *op, const struct kind *kind, const struct istr *ns, struct slice name, void *object);
void name_leave(struct op *op, const struct kind *kind, const struct istr *ns, struct slice name, const void *object);
void *name_find(const struct op *op, const struct kind *kind, const struct istr *ns, struct slice name); /* NULL: there is none */
/* `who` is touched by every name_tell of this name. One name for each watch; an empty name ends it. */
void name_watch(struct op *op, struct name_watch *w, const struct kind *kind, const struct istr *ns, struct slice name);
void name_unwatch(struct op *op, struct name_watch *w);
void name_tell(struct op *op, const struct kind *kind, const struct istr *ns, struct slice name);
void names_free(struct op *op);

/* timers.c: a heap of records by wake_ms */
void timer_set(struct op *op, struct record *c, int64_t ms);
int64_t timer_next(const struct op *op);
struct record *timer_due(struct op *op, int64_t now_ms);

/* keep.c: kind.keep, .drop and .sweep of everything that is decided on */
void extract_record(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round);
void drop_record(struct op *op, struct source *from, struct jval object);
void sweep_records(struct op *op, struct source *from, uint64_t version);
struct jval record_status(const struct record *c, struct arena *a); /* no value: the object has no status */

/* farewell.c: the process is to end. True: decisions go on, to remove finalizers in a namespace that is being deleted. */
bool farewell_goes_on(struct op *op);

/* setting.c */
const struct setting *setting_of(const struct op *op, const struct setting_kind *kind);
struct slice setting_name(const struct setting *s); /* of its ConfigMap; empty: it is not watched */
bool settings_init(struct op *op, struct err *e);   /* calls setting_kind.start */
bool settings_start(struct op *op, struct err *e);  /* begins to watch the ConfigMaps */
void settings_stop(struct op *op);
void settings_free(struct op *op);
void setting_tell(const struct setting *s);    /* calls kind.on_setting of each kind */
bool setting_awaited(const struct setting *s); /* it is watched, and nothing is known of it yet, nor why not */
bool settings_awaited(const struct op *op);    /* of one that comes first nothing is known yet: the watch's next event wakes the operator */

/* source.c */
bool space_start(struct op *op, struct space *s, struct slice ns, struct err *e);
void space_stop(struct space *s);
bool space_synced(const struct space *s, const struct kind *k); /* all lists that a decision about this kind needs are complete */
/* Logs, once, that this kind waits because the server does not know a kind that it must have. */
void space_tell_absent(struct space *s, const struct kind *k);
struct source *source_of(const struct space *s, const struct kind *k);
/* kube_watch_is_old, for an object of an event of this source, or (round 0) of the answer of a call. */
bool source_is_old(const struct source *src, uint64_t version, uint64_t known, uint32_t round);
/* Whether the watch has gone past this version of an object that an answer shows, and which it has not shown: the object is gone again, or
 * its event was lost. */
bool source_passed(const struct source *src, uint64_t version);
/* Begins to watch a kind that is watched on demand. Returns whether its objects are known: else why_not, if not NULL, is set to the reason
 * (a flag, a kind that the server does not know, a refusal; empty: the list is under way), and its end touches `c`. Such a kind is in no
 * controller.needs. */
bool source_demand(struct op *op, struct record *c, const struct kind *k, struct slice *why_not);
/* Requests a consistent list. Until it is complete, kinds that need this source are not decided. */
void source_refresh(struct source *src);
/* An answer shows an object that the watch has passed without an event: it is gone again, or the event was lost. Requests a consistent
 * list, at most every 5 s. */
void source_missed(struct source *src);

/* model.c */
void model_load(struct op *op, struct record *c);         /* op->loaded, from the record's bytes */
void model_forget(struct op *op, const struct record *c); /* they say something else now, or something that they refer to does */

/* decide.c */
/* Carries out the VERB_MOVE actions of a plan. Returns whether there was one: then decide again, on the changed records. */
bool plan_move(struct op *op, struct record *c, const struct plan *p);
void decide_all(struct op *op);
void decide_one(struct op *op, struct record *c); /* if it may be decided now; a plan with work is put into the ring */
void decide_none(struct op *op);                  /* not the leader: only frees records that are gone */

/* confirm.c */
void record_confirm(struct op *op, struct record *c); /* reads whether the resource still exists; the answer touches it */

/* turn.c: which record is served next while the request window has room */
bool execute_all(struct op *op);                /* true: more work is left although no event will announce it: call again at once */
void execute_none(struct op *op);               /* drops all actions that have not been started */
void ring_add(struct op *op, struct record *c); /* ring.c */

/* flight.c */
enum { ANSWER_WORDS = ERR_TEXT_MAX + 192 };
enum { ANSWER_LOST = -1 }; /* flight.failed when no answer came */

struct flight {
    struct op *op;
    struct record *c;
    const struct verb *verb;
    bool fresh;             /* of a service: none of ours existed when the request was sent */
    bool looking;           /* this is the look-up after a lost answer, AlreadyExists, or a 5xx */
    char why[ANSWER_WORDS]; /* the text of that answer */
    int failed;             /* answer_failed() of the answer that a log line quotes; 0: the text is our own */
    int64_t not_before_ms;  /* Retry-After of the answer: a backoff of this flight ends no earlier; 0: none */
    int32_t group, index;
    char name[POD_NAME_MAX + 1], uid[UID_TEXT_MAX + 1];
    int64_t generation; /* of the spec that `group` and `index` refer to */
    uint64_t hash;      /* of what was sent: pod template, service, status, or the Secret's name */
    uint64_t version;   /* precondition of a DELETE: the resourceVersion; 0: none */
};
kube_done answer_done;
/* Continues the flight with a GET of op->path, to find out what the write did. False with *e: the request cannot be made. */
bool flight_look(struct op *op, struct flight *f, struct err *e);
/* Both drop the rest of the plan and back off the whole record. Trouble: connection or server failed; exponential backoff. Wait: something
 * else has to finish first, mostly soon (an older pod of the name is being deleted); retried every second, later more rarely. */
void record_trouble(struct op *op, struct record *c, const struct flight *f, const char *text);
/* Logs a failed call and when it is retried, unless the same was logged recently. */
void log_trouble(struct op *op, struct record *c, const struct flight *f, const char *text, int64_t again_ms);
void record_wait(struct op *op, struct record *c, const struct flight *f, const char *text);
/* Trouble that a retry does not overcome, a 403 for example: an event tells the user, too. */
void record_refused(struct op *op, struct record *c, const struct flight *f, const char *text);
/* A refused call that is no failure of the object's spec, as a DELETE: backs off the whole record. */
void call_refused(struct op *op, struct flight *f, const struct kube_status *s);
const char *answer_words(const struct kube_answer *a, char out[ANSWER_WORDS]); /* text of a failure: "503 ServiceUnavailable: …" */
int answer_failed(const struct kube_answer *a);          /* HTTP status of a refusal, err_code of a lost answer; 0: success */
bool answer_troubled(const struct kube_answer *a);       /* a 5xx or 408: the write may have happened nevertheless */
const char *answer_way_out(const struct kube_status *s); /* hint if a policy of the namespace refuses a container that we add; else "" */
bool answer_passing(const struct kube_status *s);        /* a refusal that a retry may overcome: credentials, load, conflict */
/* The object in an answer, in the event arena; absent: it cannot be parsed. */
struct jval answer_object(struct op *op, const struct kube_answer *a, uint64_t *version);

/* warned.c */
void warnings_heard(struct op *op, const struct flight *f, struct slice lines);
void warnings_drop(struct op *op, struct record *c);

/* say.c: log lines and Kubernetes events */
uint64_t said_of(const struct record *c, struct slice words, uint64_t more); /* hash of a text about this record */
bool say_once(struct op *op, enum said_kind kind,
              uint64_t what); /* false: the same was logged recently, suppress it. Logs how many lines were suppressed */
/* The same for a failed call (answer_failed). If the server or the connection failed, a thousand calls of one action are one line, whatever
 * their texts, which hold names and times. Other refusals are logged for each record. */
bool say_failed(struct op *op, int failed, uint64_t action, uint64_t whose);
void say_event(struct op *op, struct record *c, bool warning, const char *reason, struct slice note);
void say_stored(struct op *op, struct record *c); /* the events of the plan whose status was stored */
/* history.c: the same in the bucket, if there is one. object: with its new status */
void history_event(struct op *op, const struct record *c, const struct kube_event *ev);
void history_status(struct op *op, const struct record *c, struct jval object);
void history_tasks(struct op *op, const struct record *c, struct slice summary); /* JSON of a head */

/* ---- verbs: how they are carried out ---- */

/* Method and content type of a call, and whether it is idempotent. Path and body are op->path and op->body. */
struct call_text {
    struct slice method, content_type;
    bool again;
};

/* Builds the call. False with *e: it cannot be built. */
typedef bool verb_make(struct op *op, struct record *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e);
/* Carries out an action that is not a call to the API server. */
typedef void verb_do(struct op *op, struct record *c, const struct action *act);
/* Handles the answer. Returns true if the flight goes on because something has to be looked up. */
typedef bool verb_answer(struct op *op, struct flight *f, const struct kube_answer *a);
/* The call could not be built: counts the failure. */
typedef void verb_failed(struct op *op, struct record *c, const struct action *act, const char *text);

/* Carries out one verb. */
/* The parts of a handler that few verbs have; each may be NULL. */
struct verb_more {
    /* Sees op->body as it will be sent: what `make` has built, after control_parts.amend. False with *e: it cannot be sent. */
    bool (*seal)(struct op *op, struct record *c, const struct action *act, struct flight *f, struct err *e);
    void (*by_us)(struct op *op, struct slice uid, bool by_us); /* VERB_DELETE */
    /* The call failed and its record is gone meanwhile: undoes what was marked when it was sent. */
    void (*undone)(struct op *op, const struct flight *f, const struct kube_answer *a);
    bool (*outdated)(const struct op *op, const struct action *act); /* the object has changed since the decision: skip the action */
    bool (*secret)(int32_t index);                                   /* request and answer hold a secret: wiped after use */
};
struct verb_handler {
    const struct verb *verb; /* NULL: end of a list */
    union {
        verb_do *carry_out; /* of VERB_ASK, VERB_SAY, VERB_MOVE */
        verb_make *make;    /* this and the rest of all others */
    };
    verb_answer *answer;
    verb_failed *failed;
    const struct verb_more *more; /* NULL: none of these */
};

/* Verbs are numbered for counters: first those of every kind, then those of each kind. NULL: there are no more. */
const struct verb *verb_at(const struct op *op, uint32_t number);
uint32_t verb_number(const struct op *op, const struct verb *v);                    /* verb_count() - 1 if no kind has a handler for it */
uint32_t verb_count(const struct op *op);                                           /* one more than there are verbs */
const struct verb_handler *verb_handler(const struct op *op, const struct verb *v); /* some kind has one for each verb in a plan */

bool verb_secret(const struct op *op, const struct verb *v, int32_t index);
const char *verb_refusal(const struct verb *v, int32_t group);

/* object_write.c: objects that have a record of their own and are created and deleted for another one, such as a RayCluster for a RayJob */
/* Keeps the object in the answer to a write, so that the next decision knows it before its watch event comes. */
void object_answered(struct op *op, const struct flight *f, const struct kube_answer *a, const struct kind *what);
void object_deleting(struct op *op, struct record *c); /* our DELETE succeeded: it is not sent again while the object still exists */
/* A write for the record was refused: counts the failure, backs off, and reports it as the verb's event. */
void object_refused(struct op *op, struct record *c, const struct verb *what, const char *text);
/* For verb_make: the DELETE of the object act->name, if it still has act->uid; all that it owns goes with it. */
bool object_make_delete(struct op *op, const struct record *c, const struct action *act, struct flight *f, struct call_text *t,
                        const struct kube_resource *of, struct slice propagation);
verb_failed object_failed; /* object_refused of a call that could not be built */
/* Handles every answer but success. A lasting refusal of a create or apply is counted (object_refused), of another write it backs off the
 * record (record_refused); the rest is retried. */
void object_write_failed(struct op *op, struct flight *f, const struct kube_answer *a);
/* The same for a kind that says itself which refusals pass, and so are retried, and whether a lasting one is counted. */
void object_write_sorted(struct op *op, struct flight *f, const struct kube_answer *a, bool passes, bool counted);
/* The body and path of a PATCH that makes c the owner of an object of this kind: act->name, uid, version. */
bool orphan_write(struct op *op, struct record *c, const struct action *act, const struct kind *child, struct flight *f,
                  struct call_text *t);
verb_make orphan_make;     /* of verb_adopt: an object with a record */
verb_answer orphan_answer; /* likewise */

/* Adds act->text to the finalizers of the decided object, or removes it, if the object has not changed since. The kind must have
 * `finalizers` set. */
verb_make finalizer_add, finalizer_remove;
verb_answer finalizer_answer;

/* flight.c: verb_handler.failed of such a call */
verb_failed call_failed;

/* Handlers of verb_status and verb_event, which any kind may plan; ended by one without a verb. */
extern const struct verb_handler control_handlers[];
/* status.c, say.c: these handlers' functions */
verb_make make_status;
verb_answer answer_status;
verb_do say_planned;
verb_failed status_failed;

#endif
