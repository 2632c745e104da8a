/* plan: the result of a decision. A decision is a pure function from a view to a plan: actions in order, of which every prefix leaves a
 * legal state, and the time at which to decide again. An action points at its verb; how that is carried out is not known here. */
#ifndef MOBULA_PLAN_H
#define MOBULA_PLAN_H

#include <mobula/base.h>

enum verb_how {
    VERB_CREATE,  /* POST */
    VERB_APPLY,   /* PATCH by server-side apply */
    VERB_DELETE,  /* DELETE, with the uid */
    VERB_PATCH,   /* PATCH of the decided object or of one that it owns */
    VERB_DRY_RUN, /* POST that changes nothing */
    VERB_ASK,     /* a request to a Ray head */
    VERB_SAY,     /* a Kubernetes event */
    VERB_MOVE,    /* changes records only, no call; carried out at once, then the record is decided again */
};

/* A verb is one thing that can be done to the objects of a kind. It is plain data, so that a decision names verbs without the code that
 * carries them out (struct verb_handler in control.h). Verbs are compared by their addresses. */
struct verb {
    const char *name; /* "create-pod": in metrics and logs */
    enum verb_how how;
    const char *refusal[2]; /* reason of the Warning event when the call is refused: [0]; of a call about a head [1], if not NULL */
};

/* The verbs of every kind. Those of one kind are declared in the header of its decision, and defined in its verbs.c. Behind each verb: the
 * members of struct action that it uses. */
extern const struct verb verb_status; /* text: the merge patch for /status */
extern const struct verb verb_adopt;  /* name, uid, version: of an object whose ownerReference is missing */
extern const struct verb verb_event;  /* why: the reason; text: the note */

struct action {
    const struct verb *verb;
    bool warning;   /* events */
    bool on_demand; /* create: ray_group.on_demand */
    bool logged;    /* events: the note goes into the operator's log too (notes may hold what a user's program wrote) */
    int32_t group;  /* -1: head, else index into groups; -2: in no group of the spec */
    int32_t index;
    uint64_t version;             /* delete the pod only in this resourceVersion, because its state is the reason; 0: in any */
    const char *why;              /* a literal: delete reasons, event reasons */
    struct slice name, uid, text; /* in the view's pods or in the arena */
};

struct plan {
    struct action *actions;
    uint32_t count, cap;
    struct action beyond; /* the last action that did not fit (PLAN_ACTIONS): it comes with the next plan */
    uint32_t follow;      /* actions known to be needed after these until the object is complete: workers that wait for their head */
    uint64_t status_hash; /* hash of the status that verb_status writes, without its times */
    bool hands_off;       /* the object is another controller's: nothing is adopted for it */
    uint32_t reasons;     /* consecutive recent status writes, this one included, that changed only reasons; 0: this one changes more */
    int64_t next_ms;      /* decide again at this time even if nothing happens; TIME_NEVER */
    struct arena *arena;
};

/* Adds an action with group -2, index -1 and all else zero. If the plan is full, that is plan.beyond. */
struct action *plan_add(struct plan *p, const struct verb *verb);
void plan_event(struct plan *p, bool warning, const char *reason, struct slice note);
/* Decide again at ms at the latest. */
void plan_look_again(struct plan *p, int64_t ms);

/* Backoff after the count-th consecutive failure (from 1): PLAN_BACKOFF_MS, doubling to PLAN_BACKOFF_MAX_MS, with a jitter that
 * is a function of the seed, so that the same view gives the same plan. */
int64_t plan_backoff_ms(uint32_t count, uint64_t seed);

#endif
