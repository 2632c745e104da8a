/* Inside raycronjob: what a decision has found out, for its parts. */
#ifndef MOBULA_RAYCRONJOB_DECIDE_H
#define MOBULA_RAYCRONJOB_DECIDE_H

#include "raycronjob.h"

struct cron_decision {
    const struct cron_view *in;
    const struct raycronjob *cron;
    struct arena *a;
    struct plan *p;
    struct jval prior;               /* the status that the server has */
    int64_t now_s;                   /* wall clock */
    int64_t told_s, last_s;          /* scheduled time of the last run: by status; by status and RayJobs; CRON_NEVER */
    int64_t since_s;                 /* runs due after this were not started: last_s, or the creation of the RayCronJob */
    int64_t success_us;              /* when the last run succeeded; 0: none has */
    const struct cron_child *failed; /* the run that ended last, if it failed; NULL: it did not, or is not known any more */
    struct schedule_due due;
    uint32_t missed;     /* of what is due, those that will not be started any more */
    const char *waiting; /* why nothing is started although a run is due: reason of the condition Waiting; NULL: it does not wait */
    struct slice why;
};

/* Whether the RayJob runs or may run. A RayJob that is being deleted: while it has pods, or if not finished, for CRON_GOING_MS. */
bool cron_active(const struct cron_decision *d, const struct cron_child *job);
/* "2027-01-15T08:00:00Z" */
struct slice cron_time(const struct cron_decision *d, int64_t s);

/* Adds the status patch when it says something new, and events that belong to it. Returns whether the server has it all already. */
bool cron_decide_status(struct cron_decision *d);

#endif
