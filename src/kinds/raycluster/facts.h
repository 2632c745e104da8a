/* Inside raycluster: what the parts of its status are made of. */
#ifndef MOBULA_RAYCLUSTER_FACTS_H
#define MOBULA_RAYCLUSTER_FACTS_H

#include "decide.h"

struct group_numbers {
    int64_t desired, min, max; /* pods */
    int64_t running, ready;
};

/* The facts to report, gathered once from the view. */
struct facts {
    const struct cluster_view *in;
    struct arena *a;
    struct jval prior;            /* the status that the server has */
    const struct pod *head;       /* live, or the one that ended; NULL */
    struct slice going;           /* without a live head: pods_going_text of the previous head pod; empty: none is being deleted … */
    int64_t going_again_us;       /* … wall clock: when that deletion begins to count as hanging; 0: it does already */
    struct group_numbers *groups; /* as the spec's */
    struct group_numbers all;     /* workers together */
    uint32_t pods;                /* not being deleted */
    int32_t refused;              /* the group whose template the API server refused in a dry run; GROUP_NONE */
    int64_t old_head;             /* ready worker pods that belong to a head that has ended: not in the numbers above */
    bool valid, ready;            /* valid: no errors in the spec, and none refused */
    bool suspends, suspended;     /* it is to have no pods; and has none */
    bool drift;                   /* running pods were made from an older template and are not replaced */
    struct roll roll;             /* the rolling update that replaces them; number GROUP_NONE: none */
    const struct pod *slow;       /* of a cluster that was complete once: a worker that should be ready by now, or gone; NULL: none … */
    uint32_t slow_count;          /* number of such pods */
    int64_t slow_again_us;        /* … wall clock: when another one begins to count; 0: none will */
    const struct pod *expiring;   /* with tlsOptions: the oldest live pod whose certificate ends soon; NULL: none */
    uint32_t expiring_count;      /* number of such pods */
    int64_t expiring_again_us;    /* wall clock: when the next pod becomes one; 0: no pod has a certificate */
    bool service;                 /* the head service is there, and stays */
    const char *state;
    struct slice stamp; /* the time of what changes now; empty when only the rest matters */
};

/* Of a cluster with instance types. */
#define STATUS_TYPES_READY "InstanceTypesReady"
/* Workers of a cluster that was complete once are not ready, or hang in Terminating, for longer than POD_HANGS_MS. */
#define STATUS_SLOW "WorkersNotReady"
/* Of one that was not ready for the first time in its time: until it is, or is suspended. */
#define STATUS_LATE "StartingTimedOut"

/* ingress.c: the condition STATUS_INGRESS. False: it has none. */
bool ingress_condition(const struct facts *f, struct condition *out);

void facts_gather(const struct cluster_view *in, struct jval prior, struct arena *a, struct facts *out);

/* "conditions": […] of the status, with the transition times of the prior ones where nothing changed. Conditions of types that are not
 * ours go through as they are: the list is written as a whole. */
void status_write_conditions(const struct facts *f, struct jout *w);

/* Milliseconds until the cluster is reported as late with its start; TIME_NEVER: it has started, or no limit is set. */
int64_t status_late_in_ms(const struct facts *f);

/* The errors of the spec, in one line of at most max bytes; empty when it is valid. */
struct slice status_errors(const struct facts *f, size_t max);

#endif
