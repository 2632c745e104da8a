/* rayjob: the decision about a RayJob, a pure function like that about a RayCluster: the same view always gives the same plan. */
#ifndef MOBULA_RAYJOB_H
#define MOBULA_RAYJOB_H

#include <mobula/children.h>

/* The actions on it and for it. Behind a verb: the fields of struct action that it uses; text: the submission id, if any. */
extern const struct verb rayjob_create_cluster;   /* name */
extern const struct verb rayjob_delete_cluster;   /* name, uid; why */
extern const struct verb rayjob_suspend_workers;  /* name, uid of the RayCluster */
extern const struct verb rayjob_create_submitter; /* name */
extern const struct verb rayjob_add_finalizer, rayjob_remove_finalizer;
extern const struct verb rayjob_mark_ended; /* text: the value of RAY_ANNOTATION_ENDED */
extern const struct verb rayjob_delete;     /* the RayJob itself, with everything that it owns */
extern const struct verb rayjob_look;       /* asks the dashboard for its session and, if there is an id, for the job */
extern const struct verb rayjob_submit, rayjob_stop;
extern const struct verb rayjob_read_log; /* the last lines of the driver's log */

/* The state of a job as Ray reports it. */
enum job_state { JOB_STATE_NONE, JOB_PENDING, JOB_RUNNING, JOB_STOPPED, JOB_SUCCEEDED, JOB_FAILED };

/* A RayCluster, as its jobs see it. */
struct job_cluster {
    struct slice name, uid;
    bool owned; /* by this RayJob */
    bool deleting;
    bool ready;               /* status.state */
    bool refused;             /* its Valid condition is False */
    bool workers_suspended;   /* all worker groups are */
    bool head_runs;           /* a head pod runs, or may */
    uint32_t head_failures;   /* consecutive head pods that ended; refused creates do not count */
    struct slice why;         /* why it is not ready, as far as known */
    struct slice dashboard;   /* HOST:PORT */
    struct slice head_end;    /* how its head pod ended last: "pod X ended with exit code 137 (OOMKilled)"; empty: unknown */
    struct slice pods_failed; /* message of its condition ReplicaFailure; empty: no pod failed of late */
    struct slice stays;       /* of a cluster that is being deleted: pods_going_text of its pods; empty: none of them is being deleted */
    int64_t stays_again_us;   /* wall clock: when `stays` changes; 0: it does not */
    struct jval status;       /* not there: none yet */
};

/* The dashboard's answers so far. Zero-initialised: nothing yet. */
struct job_said {
    struct slice cluster; /* the RayCluster of that dashboard: if the job has another one by now, all of this is void */
    struct slice session; /* Ray's session in the last answer; empty: no answer yet */
    struct slice id;      /* submission id that was asked about in this session; empty: none */
    bool known;           /* Ray knows that submission */
    enum job_state state;
    struct slice message;         /* Ray's message about the job */
    int64_t started_us, ended_us; /* by the head's clock; 0: not yet */
    struct slice refused;         /* answer to a submission that Ray refused for its content; empty: none */
    struct slice log;             /* last lines of the driver's log */
    bool log_asked;               /* the log was requested, answered or not */
    uint32_t stops;               /* stop requests that this session answered */
    int64_t stop_ms;              /* monotonic: the last of them */
    bool stopping;                /* the job's state has not been read since */
    bool asking;                  /* a request is in flight: its answer causes a new decision */
    int64_t answered_ms;          /* monotonic: the last answer */
    uint32_t failures;            /* requests since then without an answer */
    int64_t failed_ms;            /* monotonic: the last of them */
    int64_t failing_ms;           /* monotonic: the first of them */
    struct slice trouble;         /* why the last one failed */
    bool says_no;                 /* it was refused, so something does answer there */
    bool absent;                  /* a look after an unheard submission found no job; only the next one proves which Ray said so */
    uint32_t unsubmitted;         /* submissions that Ray answered with a 5xx */
    int64_t unsubmitted_ms;       /* monotonic: the last of them */
    struct slice unsubmitted_why; /* its text */
    uint32_t unheard;             /* submissions without an answer from Ray since it last knew a job */
    int64_t unheard_ms;           /* monotonic: the last of them */
    struct slice unheard_no;      /* the server that refused it instead of Ray (a proxy, the API server), and why; empty: none */
};

struct job_view {
    const struct ray_job *job;
    const struct spec_errors *errors;   /* errors that ray_read_job found */
    const struct job_cluster *clusters; /* those that the job owns, and the one to run on */
    uint32_t cluster_count;
    const struct pod *const *submitters; /* pods that the job owns */
    uint32_t submitter_count;
    bool unmarked;        /* it lacks RAY_ANNOTATION_ENDED, which would keep it from running again after a restore */
    bool namespace_going; /* it is being deleted */
    int64_t silence_s;    /* as operator_options.job_silence_s and delete_jobs; 0: JOB_CHECK_TIMEOUT_MS */
    bool delete_jobs;
    bool submitter_pods;  /* K8sJobMode uses submitter pods; false: the operator submits */
    int64_t submitter_ms; /* monotonic: when this process created the last submitter pod; 0: it has not */
    int64_t leaving_ms;   /* monotonic: when the RayJob was first seen with a deletionTimestamp; 0: it has none */
    int64_t giving_up_ms; /* monotonic: since when this process has seen the RayJob Suspending or Retrying; 0: it is in neither phase */
    /* Monotonic: when this process first saw startTime, endTime and rayJobInfo.endTime in status; 0: they are not there. At least so much
     * time has passed since then, even if the wall clock is set. */
    int64_t start_known_ms, end_known_ms, ray_end_known_ms;
    bool silent_before;   /* status had jobStatusCheckFailureStartTime when this process saw the RayJob first, and ever since */
    struct jval status;   /* as the API server has it; not there: none */
    uint64_t status_hash; /* these two as in cluster_view */
    int64_t status_not_before_ms;
    const struct group_failures *refusals; /* refused creates: count, not_before_ms and reason; NULL: none */
    struct job_said said;
    struct now now;
};

/* The state machine is in status: a plan either writes the next state (and does nothing that depends on it), or acts in the state that the
 * API server has. So a submission id is stored before it is used, and every prefix of a plan is legal. */
void rayjob_decide(const struct job_view *in, struct arena *a, struct plan *out);

/* Updates *said with one answer of the dashboard; id is the submission that was asked about. The caller sets `cluster` and `asking`. Slices
 * are those of the answer: copy them to keep *said longer. After a write with unknown outcome `id` is empty, so that the job is looked up
 * before anything else is done. */
struct ray_dash_answer;
void job_hear(struct job_said *said, struct slice id, const struct ray_dash_answer *answer, struct now now);

/* Shortens a text to at most max bytes: keeps its beginning and mostly its end. */
struct slice job_shorten(struct slice text, size_t max, struct arena *a);
const char *job_state_name(enum job_state state);             /* "PENDING"; "" for none */
bool job_state_parse(struct slice name, enum job_state *out); /* false: not a state that Ray has */

#endif
