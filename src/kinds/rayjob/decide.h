/* Inside rayjob: how far a RayJob is, and the parts that a decision about it is made of. */
#ifndef MOBULA_RAYJOB_DECIDE_H
#define MOBULA_RAYJOB_DECIDE_H

#include <mobula/rayjob.h>
#include <mobula/spec.h>

/* status.jobDeploymentStatus. Complete and Failed are final: nothing leads out of them. */
enum job_phase {
    JOB_PHASE_NEW,
    JOB_PHASE_INITIALIZING,
    JOB_PHASE_WAITING, /* InteractiveMode: for spec.jobId */
    JOB_PHASE_RUNNING,
    JOB_PHASE_COMPLETE,
    JOB_PHASE_FAILED,
    JOB_PHASE_RETRYING,
    JOB_PHASE_SUSPENDING,
    JOB_PHASE_SUSPENDED,
    JOB_PHASE_INVALID,
};

/* The content of status. Times are wall clock; 0: not there. */
struct course {
    enum job_phase phase;
    enum job_state state;
    int32_t attempt; /* from 1; 0: none yet */
    int64_t succeeded, failed;
    struct slice id, cluster, dashboard, session, reason, message;
    struct slice waits;      /* the cluster and the pod whose end is waited for: message of condition Waiting; never read back … */
    bool hangs;              /* … which is written only when this is true: a deletion takes longer than POD_HANGS_MS */
    struct slice kept;       /* the cluster that stays after the deletion rules: message of condition ClusterKept; never read back … */
    const char *kept_reason; /* … and its reason */
    struct slice left;       /* set when we could not confirm that the job stopped: message of condition MayStillRun */
    int64_t start_us, end_us, ray_start_us, ray_end_us, silent_us; /* silent: since then the dashboard does not answer */
};

struct job_decision {
    const struct job_view *in;
    const struct ray_job *job;
    struct arena *a;
    struct plan *p;
    struct jval prior;
    struct course is, to;              /* as the API server has it; as it should be */
    const struct job_cluster *cluster; /* the one named in status; NULL: not there */
    bool stale;                        /* something happened that the dashboard is to be asked about at once */
};

/* ---- status.c ---- */
void course_read(struct jval status, struct course *out, struct arena *a);
enum { JOB_MARK_S = 60 * 60 }; /* jobs that ended longer ago get no RAY_ANNOTATION_ENDED: an upgrade does not write to all of them */
/* Adds the status patch when `to` says something new. */
void decide_job_status(struct job_decision *d);

/* ---- run.c: while it runs ---- */
void decide_job_running(struct job_decision *d);
/* Asks the dashboard, when it is time to. id may be empty. */
void decide_look(struct job_decision *d, struct slice id);
/* The dashboard's answer about this attempt's cluster; all zero when it was about another. */
struct job_said job_heard(const struct job_decision *d);
/* Why there is no answer, for status: what was answered instead, or `silent`. Empty: there is one. */
struct slice job_silence(const struct job_decision *d, const struct job_said *said, struct slice silent);
bool job_uses_pod(const struct job_decision *d);

/* ---- end.c: its end, and afterwards ---- */
enum retry { RETRY_NEVER, RETRY_MAYBE };
void job_fail(struct job_decision *d, const char *reason, struct slice message, enum retry retry);
void job_finish(struct job_decision *d, const struct job_said *said);
/* Deletes clusters that the job owns: all, and all submitter pods before them, or those of other attempts only. Returns whether none of
 * them is left. */
bool decide_remove(struct job_decision *d, bool all, const char *why);
/* A submitter that lives when its attempt is over; with `ended` also those that are. Returns whether none of them is left. */
bool decide_remove_submitters(struct job_decision *d, bool ended, const char *why);
void job_say_stays(struct job_decision *d);
void decide_job_ended(struct job_decision *d);

/* ---- stop.c: what may still run then ---- */
void decide_stop_given_up(struct job_decision *d, bool submitters_gone);
/* Before the cluster of an attempt that was given up is deleted: asks the head to stop the job, while it answers, for at most
 * JOB_STOP_FIRST_MS. Returns whether the cluster can be deleted now. */
bool decide_stop_first(struct job_decision *d);
/* The end of a job that is over becomes an annotation, once; and of a job without status the annotation is its end: true if it has one. */
void decide_mark(struct job_decision *d);
bool decide_restored_end(struct job_decision *d);
/* Removes the finalizer of a job that is over, once nothing of it can run on. */
void decide_let_go(struct job_decision *d, bool submitters_gone);
void decide_job_deleted(struct job_decision *d);

/* ---- decide.c ---- */
/* The monotonic time of a wall clock time; never earlier than the next millisecond. */
int64_t job_mono_ms(const struct job_decision *d, int64_t wall_us);
/* When a wait is over that began at that wall clock time. One that begins in the future was told by a clock that is ahead of ours, or ours
 * was set back since: nobody knows how long ago that was, and it is not waited for until our clock gets there. */
int64_t job_due_us(const struct job_decision *d, int64_t from_us, int64_t wait_ms);
/* Whether so many seconds have passed since `from_us`, by the wall clock or since `known_ms`, when this process first saw that time in
 * status (0: it has not); else the plan looks again then. A time that a clock told which was ahead is not waited for. 0 seconds: never. */
bool job_passed(struct job_decision *d, int64_t from_us, int64_t known_ms, int64_t seconds);

#endif
