/* RayCronJob: a RayJob is made of a template whenever a schedule is due, as a CronJob of Kubernetes makes Jobs. Pure functions: the
 * resource becomes a model, a view of it and of its RayJobs becomes a plan, a due time becomes a RayJob.
 *
 * Nothing is remembered but what the API server has. The last run is the latest of status.lastScheduleTime and of the times that the
 * RayJobs carry; what is due after it and was not started is caught up once, by the last of these times. A RayJob's name is made of its
 * time, so that a run is not started twice whatever answer or status write is lost, and wherever the clock is put. */
#ifndef MOBULA_RAYCRONJOB_H
#define MOBULA_RAYCRONJOB_H

#include "schedule.h"

#include <mobula/plan.h>
#include <mobula/pod.h>

extern const struct kube_resource raycronjob_resource;
#define RAYCRONJOB_LABEL RAY_LABEL_CRONJOB                   /* of a RayJob: KubeRay's */
#define RAYCRONJOB_TIME "ray.io/cronjob-scheduled-timestamp" /* annotation of a RayJob: KubeRay's */
enum { RAYCRONJOB_NAME_MAX = 36 };                           /* bytes: "<name>-<minutes since 1970>" is a RayJob's name */
enum { RAYCRONJOB_KEEP_SUCCEEDED = 3, RAYCRONJOB_KEEP_FAILED = 1 };

enum cron_policy { CRON_ALLOW, CRON_FORBID, CRON_REPLACE };

/* All slices and values lie in the document or in the arena given to the reader. */
struct raycronjob {
    struct slice ns, name, uid;
    int64_t generation, created_us;
    bool deleting, suspend;
    enum cron_policy policy;
    int64_t deadline_s; /* startingDeadlineSeconds; -1: none */
    int32_t keep_succeeded, keep_failed;
    struct slice zone; /* the name of its time zone; empty: UTC */
    struct schedule schedule;
    struct jval template; /* a RayJobSpec */
};

/* Every error at once, those of the template by their whole path. Whether there is such a time zone is not known here. */
bool raycronjob_read(struct jval object, struct arena *a, struct raycronjob *out, struct spec_errors *errors);
bool raycronjob_read_resource(const struct spec_object *from, struct arena *a, struct raycronjob *out, struct spec_errors *errors);

/* kind.check: those, and what is accepted and has no effect (ray_job_notes). */
void raycronjob_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes);

/* ---- its RayJobs ---- */

struct slice raycronjob_job_name(const struct raycronjob *c, int64_t due_s, struct arena *a);
bool raycronjob_build_job(const struct raycronjob *c, int64_t due_s, struct buf *out, struct arena *a);
/* When the run was due for which a RayJob was made: by its annotation, else by its name. CRON_NEVER: somebody else has made it. */
#define CRON_NEVER INT64_MIN
int64_t raycronjob_scheduled(struct jval metadata, struct slice name, struct arena *a);

/* ---- decisions ---- */

struct cron_child {
    struct slice name, uid;
    int64_t scheduled_s;          /* CRON_NEVER */
    bool finished, succeeded;     /* finished: jobDeploymentStatus is Complete or Failed */
    struct slice reason, message; /* of one that has failed: the RayJob's own */
    int64_t ended_us;             /* 0: not known */
    int64_t deleting_us;          /* since when it is being deleted; 0: it is not */
    uint32_t pods;                /* pods of its clusters, in any state; counted only while it is being deleted */
    struct slice stays;           /* pods_going_text of these pods; empty: none of them is being deleted */
};

struct cron_view {
    const struct raycronjob *cron;
    const struct spec_errors *errors; /* errors that raycronjob_read found */
    const struct zone *zone;          /* NULL: it cannot be read … */
    struct slice zone_why;            /* … and why */
    const struct cron_child *jobs;    /* all that it owns */
    uint32_t job_count;
    struct slice status; /* as in cluster_view */
    uint64_t status_hash;
    int64_t status_not_before_ms;
    const struct group_failures *refusals; /* of the RayJob that was to be created; NULL: none */
    struct now now;
};

/* The actions for it. Behind a verb: the fields of struct action that it uses. */
extern const struct verb raycronjob_create_job; /* name; text is the time for which it is made */
extern const struct verb raycronjob_delete_job; /* name, uid; why */

/* Every prefix of the plan is legal. A RayJob is deleted only when status tells of its run already. */
void raycronjob_decide(const struct cron_view *in, struct arena *a, struct plan *out);

enum {
    CRON_LOOK_MS = 60 * 60 * 1000, /* at the latest: clocks are set */
    CRON_ZONE_MS = 60 * 1000,      /* a time zone that cannot be read is looked for again */
    CRON_GOING_MS = 60 * 1000,     /* a RayJob without pods that is being deleted for longer does not block the next run */
    CRON_AHEAD_MS = 60 * 1000,     /* a last run that is further in the future is worth a word */
    CRON_ACTIVE_TOLD = 50,         /* in status.active */
};

#endif
