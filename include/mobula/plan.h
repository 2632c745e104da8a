/* plan: what a decision may say. A decision is a pure function: it looks at a view and fills a plan, an ordered list of actions in which
 * every prefix leaves a legal state, and the time at which to look again. What an action does stands in its verb, which a decision only
 * names. */
#ifndef MOBULA_PLAN_H
#define MOBULA_PLAN_H

#include <mobula/base.h>

/* What can be done to objects of a kind. How it is done is the controller's to know. */
struct verb;

enum verb_how {
    VERB_CREATE,  /* POST */
    VERB_APPLY,   /* PATCH by server-side apply */
    VERB_DELETE,  /* DELETE, with the uid */
    VERB_PATCH,   /* PATCH of the decided object, or of what it owns */
    VERB_DRY_RUN, /* POST that changes nothing */
    VERB_ASK,     /* a question to somebody else than the API server */
    VERB_SAY,     /* an event */
    VERB_MOVE,    /* moves records, costs no call, and is carried out before the plan is kept */
};
const char *verb_name(const struct verb *v); /* "create-pod": in metrics and logs */
enum verb_how verb_how(const struct verb *v);

/* Verbs of every kind that is decided. */
extern const struct verb verb_status; /* text is the merge patch for /status */
extern const struct verb verb_event;  /* why is the reason, text the note */

/* Of pods and services. name, uid; why, or in its place text; of pods version */
extern const struct verb pod_delete, kservice_delete;

/* Of RayClusters. */
extern const struct verb raycluster_create_account; /* one object that must stand before the head: index is its enum ray_account */
extern const struct verb raycluster_apply_head_service, raycluster_apply_headless_service;
extern const struct verb raycluster_try_pod;          /* of group: a dry run, before pods that run are given up for a changed template */
extern const struct verb raycluster_create_pod;       /* of group at index, replacing uid (may be empty) */
extern const struct verb raycluster_count_failure;    /* of group, for the pod of this uid: text is the reason */
extern const struct verb raycluster_forget_failures;  /* of group: it is well again */
extern const struct verb raycluster_remove_finalizer; /* RAY_REDIS_FINALIZER */

/* Of RayJobs; text is the submission id where one is meant. */
extern const struct verb rayjob_create_cluster;   /* name */
extern const struct verb rayjob_delete_cluster;   /* name, uid; why */
extern const struct verb rayjob_suspend_workers;  /* of the cluster name, uid */
extern const struct verb rayjob_create_submitter; /* name */
extern const struct verb rayjob_add_finalizer, rayjob_remove_finalizer;
extern const struct verb rayjob_delete; /* the RayJob itself, with all that it owns */
extern const struct verb rayjob_look;   /* asks the dashboard for its session and, where there is an id, for the job */
extern const struct verb rayjob_submit, rayjob_stop;
extern const struct verb rayjob_read_log; /* the last lines of the driver's log */

struct action {
    const struct verb *verb;
    bool warning;  /* events */
    bool logged;   /* events: the note is for whoever runs the operator, too. Of others it may be what a user's program wrote */
    int32_t group; /* -1: head, else index into groups; -2: none of the spec's */
    int32_t index;
    uint64_t version; /* of a pod that goes for what it was seen to be: that in which it was; 0: it goes whatever it is by now */
    const char *why;  /* a literal: delete reasons, event reasons */
    struct slice name, uid, text; /* in the view's pods or in the arena */
};

struct plan {
    struct action *actions;
    uint32_t count, cap;
    struct action beyond; /* the last one that had no room (RECONCILE_ACTIONS): the next plan has it, when this one has been carried out */
    uint64_t status_hash; /* of the status that verb_status writes, but for its times */
    uint32_t reasons;     /* how many writes of late told of another reason and of nothing else, this one with them; 0: it does not */
    int64_t next_ms;      /* look again at this time even if nothing happens; TIME_NEVER */
    struct arena *arena;
};

/* One more action, all else in it blank. A plan that is full keeps it beside (plan.beyond). */
struct action *plan_add(struct plan *p, const struct verb *verb);
void plan_event(struct plan *p, bool warning, const char *reason, struct slice note);
/* Look again at ms at the latest. */
void plan_look_again(struct plan *p, int64_t ms);

#endif
