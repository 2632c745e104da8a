/* reconcile: what to do next, as a pure function. A view is all that a decision may look at; a plan is an ordered list of actions in which
 * every prefix leaves a legal state, and the time at which to look again. The same view always gives the same plan: the unit tests, the
 * simulator and `mobula explain` rest on that. No I/O, no memory of what it was doing: level, not edge. */
#ifndef MOBULA_RECONCILE_H
#define MOBULA_RECONCILE_H

#include <mobula/base.h>
#include <mobula/plan.h>
#include <mobula/pod.h>
#include <mobula/scale.h>

/* A worker's name that a pod has which does not count, because its labels were changed: the one for its place is named as its successor. */
struct held_name {
    int32_t group, index;
    struct slice uid; /* of the pod that has the name */
};

struct cluster_view {
    const struct ray_cluster *cluster; /* `desired` of its groups is the autoscaler's where there is one */
    const struct scale_news *scaling;  /* NULL: the operator does not scale it */
    bool by_name;                      /* it does: of too many pods those go that workers_to_delete names, and no other */
    const struct ray_errors *errors;   /* what ray_read found */
    struct slice warnings;             /* of the API server about pods and services of this generation, a line each; empty: none */
    const struct pod *const *pods;     /* those that this very cluster (by uid) owns, in any order */
    uint32_t pod_count;
    const struct service *head_service, *headless_service; /* NULL: not there */
    const struct service *const *services;                 /* all that the cluster owns, those two among them */
    uint32_t service_count;
    uint32_t accounts;    /* bits by enum ray_account: what must stand before the head is there */
    struct slice status;  /* the status that the API server has; empty: none */
    int64_t status_at_ms; /* monotonic time of our last status write; 0: none yet */
    uint32_t fleet;       /* how many clusters there are in all: the more, the longer mere progress waits */
    uint32_t reasons;     /* plan.reasons of the last such write … */
    int64_t reasons_ms;   /* … and its monotonic time */
    uint64_t status_hash; /* plan.status_hash of the write that `status` came from, 0 when it is somebody else's: the same is not written
                             twice, even when the server drops parts of it */
    int64_t status_not_before_ms; /* monotonic: no status is written earlier, because the last one was refused; 0: none was */
    /* Monotonic: workers are made from then on. What a process that has ended, or led before, has sent may still be carried out, and a
     * pod's name, or its replica's number, depends on the one that it replaces, which may be gone by now: two at one place. */
    int64_t workers_from_ms;
    /* Monotonic: the head service, the headless one, when it is not there, is applied from then on: the last one has not stayed. */
    int64_t services_from_ms[2];
    const struct group_failures *failures; /* [0] head, [1 + i] groups[i] */
    const struct held_name *held;
    uint32_t held_count;
    const struct ray_options *options;
    struct now now;
};

/* Fills *out (actions in a). */
void reconcile_cluster(const struct cluster_view *in, struct arena *a, struct plan *out);

/* How long a group waits after its n-th failure in a row (n from 1): RECONCILE_BACKOFF_MS doubling to RECONCILE_BACKOFF_MAX_MS, with a
 * jitter that is a function of the seed, so that the same view gives the same plan. */
int64_t reconcile_backoff_ms(uint32_t count, uint64_t seed);

/* ---- RayJob ---- */

/* What Ray says of a job. */
enum job_state { JOB_STATE_NONE, JOB_PENDING, JOB_RUNNING, JOB_STOPPED, JOB_SUCCEEDED, JOB_FAILED };

/* A RayCluster, as its jobs see it. */
struct job_cluster {
    struct slice name, uid;
    bool owned; /* by this very job */
    bool deleting;
    bool ready;             /* status.state */
    bool refused;           /* its Valid condition is False */
    bool workers_suspended; /* all its worker groups */
    bool head_runs;         /* a head pod does, or may */
    uint32_t head_failures; /* head pods that ended, in a row; refused creations are none */
    struct slice why;       /* why it is not ready, as far as one knows */
    struct slice dashboard; /* HOST:PORT */
    struct slice status;    /* JSON; empty: none yet */
};

/* What the dashboard last said, in plain values, however it was asked. Zero: nothing yet. */
struct job_said {
    struct slice cluster; /* whose dashboard: all of it is void when that is not the job's cluster any more */
    struct slice session; /* the run of Ray that answered last; empty: none has */
    struct slice id;      /* the submission that was asked about in this session; empty: none */
    bool known;           /* there is such a submission; false: there is not */
    enum job_state state;
    struct slice message;         /* Ray's own words on it */
    int64_t started_us, ended_us; /* by the head's clock; 0: not yet */
    struct slice refused;         /* the submission was refused for what is in it: the answer */
    struct slice log;             /* the last lines of the driver's log … */
    bool log_asked;               /* … when they were asked for, with an answer or without */
    uint32_t stops;               /* stops that this session answered … */
    int64_t stop_ms;              /* … monotonic, the last of them … */
    bool stopping;                /* … and what it has done was not looked at yet */
    bool asking;                  /* a question is on its way: the answer brings the job here again */
    int64_t answered_ms;          /* monotonic: the last answer */
    uint32_t failures;            /* questions since then that had no answer … */
    int64_t failed_ms;            /* … monotonic, the last of them … */
    int64_t failing_ms;           /* … likewise, the first of them */
    struct slice trouble;         /* … and why … */
    bool says_no;                 /* … which is what somebody answered: it is not silent */
    uint32_t unsubmitted;         /* submissions that Ray answered with an error of its own (5xx) … */
    int64_t unsubmitted_ms;       /* … monotonic, the last of them … */
    struct slice unsubmitted_why; /* … and what it said */
    uint32_t unheard;             /* submissions without an answer of Ray's, since it knew a job … */
    int64_t unheard_ms;           /* … monotonic, the last of them … */
    struct slice unheard_no;      /* … and who said no instead, and why; empty: nobody */
};

struct job_view {
    const struct ray_job *job;
    const struct ray_errors *errors;    /* what ray_read_job found */
    const struct job_cluster *clusters; /* all that the job owns, and the one that it is to run on */
    uint32_t cluster_count;
    const struct pod *const *submitters; /* pods that the job owns */
    uint32_t submitter_count;
    bool submitter_pods;  /* K8sJobMode is served by submitter pods, not by the operator itself */
    int64_t submitter_ms; /* monotonic: when this process made the last of them; 0: it has made none */
    int64_t leaving_ms;   /* monotonic: since when one has known that the RayJob is being deleted; 0: it is not */
    /* Monotonic: since when this process has known what status says of these times; 0: nothing. At least so much has passed since then,
     * wherever the wall clock is put. */
    int64_t start_known_ms, end_known_ms, ray_end_known_ms;
    struct slice status; /* as in cluster_view */
    uint64_t status_hash;
    int64_t status_not_before_ms;
    const struct group_failures *refusals; /* of what was to be created: count, not_before_ms and reason; NULL: none */
    struct job_said said;
    struct now now;
};

/* The state machine lives in status: a plan either moves it on (and then does nothing that depends on that), or acts in the state that the
 * API server has. So the id of a submission is stored before it is used, and any prefix of a plan is legal. */
void reconcile_job(const struct job_view *in, struct arena *a, struct plan *out);

/* Moves *said on by one answer of its dashboard; id is the submission that was asked about. `cluster` and `asking` are the caller's to set.
 * Slices are those of the answer: who keeps *said longer copies them. A write whose outcome is not known leaves the submission not asked
 * about, so that it is looked for before anything else is done. */
struct ray_dash_answer;
void job_hear(struct job_said *said, struct slice id, const struct ray_dash_answer *answer, struct now now);

/* A text of at most max bytes: of a longer one its beginning and, mostly, its end. */
struct slice job_shorten(struct slice text, size_t max, struct arena *a);
const char *job_state_name(enum job_state state);             /* "PENDING"; "" for none */
bool job_state_parse(struct slice name, enum job_state *out); /* false: no word of Ray's */

#endif
