/* Inside versioned: the state of one decision, shared by decide.c, observe.c, rollout.c and status.c. */
#ifndef MOBULA_VERSIONED_DECIDE_H
#define MOBULA_VERSIONED_DECIDE_H

#include "versioned.h"

struct version {
    struct slice name;
    const struct versioned_version *want; /* of the spec; NULL: it leaves */
    const struct versioned_child *child;  /* NULL: none */
    struct rayservice_facts facts;        /* of its spec, else of its RayService */
    uint64_t config_hash;                 /* of the RayService */
    int32_t goal, weight, capacity;       /* percent: of the requests at the end of the rollout, and now; capacity -1: none yet */
    int32_t previous;                     /* weight before the rollout; -1: it was not there */
    int32_t share;                        /* weight, or 0 while it does not serve and another one does */
    bool serves;                          /* requests may go to it */
    bool leaves;                          /* see versioned_leaves */
    bool applied;                         /* its RayService is as the spec and `capacity` say, and its status is about that */
    bool settled;                         /* it is, and all of it runs; else because … */
    struct slice why;
    struct slice failed; /* why it will not run; empty: it may */
    struct slice text, hash;
};

enum versioned_phase { VERSIONED_NEW, VERSIONED_PROGRESSING, VERSIONED_COMPLETE, VERSIONED_BACK_AGAIN };
extern const char *const versioned_phases[];

struct versioned_decision {
    const struct versioned_view *in;
    const struct versioned *s;
    struct arena *a;
    struct plan *p;
    struct jval prior, rollout; /* the status that the server has, and its member `rollout` */
    struct version *list;
    uint32_t count;
    struct version *primary, *canary; /* NULL: none */
    enum versioned_phase phase;
    bool began, stepped, ended; /* by this decision */
    bool edge;                  /* routes lead to the edge */
    bool returns;               /* a rollback by steps is under way */
    struct slice why;           /* of a rollback */
    struct slice waits;         /* the condition that the next step waits for */
};

/* Condition STATUS_TOKEN. Reasons while routes lead to the versions: TOKEN_AHEAD, because the edge does not know the service yet, and
 * TOKEN_OVER, after `auth: token` was taken back. Both begin with TOKEN_NONE. */
#define TOKEN_NONE "TokenNotRequired"
#define TOKEN_AHEAD TOKEN_NONE "Yet"
#define TOKEN_OVER TOKEN_NONE "AnyMore"

/* observe.c */
void versioned_gather(struct versioned_decision *d);  /* fills list, from spec, status and RayServices */
void versioned_observe(struct versioned_decision *d); /* how each of them is */
/* Why requests do not come as the weights say; empty: they do, if the edge has read them. */
struct slice versioned_routes_trouble(const struct versioned_decision *d);

/* decide.c: the text of the edge's ConfigMap; empty: none yet */
struct slice versioned_edge_text(const struct versioned_decision *d);
/* Whether every edge has read that text. False: the plan looks again when it will have. */
bool versioned_edge_knows(struct versioned_decision *d);

/* rollout.c: begins a rollout, takes its next step, ends it or rolls it back */
void versioned_begin(struct versioned_decision *d);
void versioned_advance(struct versioned_decision *d);
/* Whether the RayService of a version stays when it gets no requests. */
bool versioned_keeps(const struct versioned_decision *d, const struct version *v);
/* Whether a version gets no requests and will get none, so that no header pins it. */
bool versioned_leaves(const struct versioned_decision *d, const struct version *v);
/* The wall clock's time in status.rollout; 0: none. */
int64_t versioned_time(const struct versioned_decision *d, const char *key);

/* status.c: see rayservice_decide_status */
bool versioned_decide_status(struct versioned_decision *d);

#endif
