/* reconcile: decisions as pure functions. A view is everything that a decision may look at; a plan is a list of actions in order, of which
 * every prefix leaves a legal state, and the time at which to decide again. The same view always gives the same plan: unit tests, the
 * simulator and `mobula explain` depend on that. No I/O, and level-triggered: no memory of earlier decisions. */
#ifndef MOBULA_RECONCILE_H
#define MOBULA_RECONCILE_H

#include <mobula/base.h>
#include <mobula/patches.h>
#include <mobula/plan.h>
#include <mobula/pod.h>
#include <mobula/scale.h>

/* A worker's name is occupied by a pod that does not count because its labels were changed: the next pod of that place is named as its
 * successor. */
struct held_name {
    int32_t group, index;
    struct slice uid; /* of the pod that occupies the name */
};

/* What the spec makes of a service, as far as one that is there is compared with it. */
struct service_want {
    uint64_t hash; /* ray_service_hash of it; 0: it cannot be made, or is not known */
    uint64_t ip;   /* hash64 of its clusterIP; 0: it asks for none */
};
/* object: the service as it is sent. */
struct service_want service_want_of(struct jval object, struct arena *a);
/* Builds it, as patches (NULL: none) make it; where these cannot, without them: to send it fails then, and tells why. */
struct service_want service_want_made(const struct ray_cluster *c, bool head, const struct shape_patches *patches, struct arena *a);

struct cluster_view {
    const struct ray_cluster *cluster; /* with an autoscaler, `desired` of its groups is the autoscaler's */
    const struct scale_news *scaling;  /* NULL: this operator does not scale it */
    bool by_name;                      /* our autoscaler scales this cluster: on scale-down delete exactly the pods in workers_to_delete */
    const struct spec_errors *errors;  /* what ray_read found */
    struct slice warnings;             /* warnings of the API server about pods and services of this generation, a line each */
    const struct pod *const *pods;     /* owned by this cluster (by uid), in any order */
    uint32_t pod_count;
    const struct service *head_service, *headless_service; /* NULL: not there */
    struct service_want wants[2];                          /* of those of the two that are there */
    const struct service *const *services;                 /* all that the cluster owns, those two among them */
    uint32_t service_count;
    uint32_t accounts;    /* bits by enum ray_account: objects needed before the head that exist */
    struct slice status;  /* as the API server has it; empty: none */
    int64_t status_at_ms; /* monotonic time of our last status write; 0: none yet */
    uint32_t fleet;       /* number of all clusters: the more, the longer counters in status wait */
    uint32_t reasons;     /* plan.reasons of our last status write that had any */
    int64_t reasons_ms;   /* monotonic: time of that write */
    uint64_t status_hash; /* plan.status_hash of the write that `status` came from, 0 if somebody else wrote it: the same is not written
                             twice, even if the server drops parts of it */
    int64_t status_not_before_ms; /* monotonic: end of the backoff after a refused status write; 0: none */
    /* Monotonic: no workers are created before. The previous leader's last requests may still arrive, and a pod's name depends on the pod
     * that it replaces: with another view we would create a second pod for the same place. Or the ConfigMap that they mount is not there
     * yet.
     */
    int64_t workers_from_ms;
    /* Monotonic: a missing head service [0] or headless service [1] is not applied before, because the last one did not last. */
    int64_t services_from_ms[2];
    bool zone_settled;                     /* the minimum of the cluster has been in cluster->zone: it stays there while its head does */
    int64_t zone_from_ms;                  /* monotonic: since when it is tried */
    const struct group_failures *failures; /* [0] head, [1 + i] groups[i] */
    const struct held_name *held;
    uint32_t held_count;
    const struct ray_options *options;
    struct now now;
};

/* Fills *out; the actions lie in a. */
void reconcile_cluster(const struct cluster_view *in, struct arena *a, struct plan *out);

/* ---- RayJob ---- */

/* What Ray says of a job. */
enum job_state { JOB_STATE_NONE, JOB_PENDING, JOB_RUNNING, JOB_STOPPED, JOB_SUCCEEDED, JOB_FAILED };

/* A RayCluster, as its jobs see it. */
struct job_cluster {
    struct slice name, uid;
    bool owned; /* by this RayJob */
    bool deleting;
    bool ready;             /* status.state */
    bool refused;           /* its Valid condition is False */
    bool workers_suspended; /* all worker groups are */
    bool head_runs;         /* a head pod runs, or may */
    uint32_t head_failures; /* consecutive head pods that ended; refused creates do not count */
    struct slice why;       /* why it is not ready, as far as known */
    struct slice dashboard; /* HOST:PORT */
    struct jval status;     /* not there: none yet */
};

/* What the dashboard said so far. Zero-initialised: nothing yet. */
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
    uint32_t unsubmitted;         /* submissions that Ray answered with a 5xx */
    int64_t unsubmitted_ms;       /* monotonic: the last of them */
    struct slice unsubmitted_why; /* its text */
    uint32_t unheard;             /* submissions without an answer from Ray since it last knew a job */
    int64_t unheard_ms;           /* monotonic: the last of them */
    struct slice unheard_no;      /* who refused it instead of Ray (a proxy, the API server), and why; empty: nobody */
};

struct job_view {
    const struct ray_job *job;
    const struct spec_errors *errors;   /* what ray_read_job found */
    const struct job_cluster *clusters; /* those that the job owns, and the one to run on */
    uint32_t cluster_count;
    const struct pod *const *submitters; /* pods that the job owns */
    uint32_t submitter_count;
    bool submitter_pods;  /* K8sJobMode uses submitter pods; false: the operator submits */
    int64_t submitter_ms; /* monotonic: when this process created the last submitter pod; 0: it has not */
    int64_t leaving_ms;   /* monotonic: when the RayJob was first seen with a deletionTimestamp; 0: it has none */
    /* Monotonic: when this process first saw startTime, endTime and rayJobInfo.endTime in status; 0: they are not there. At least so much
     * time has passed since then, even if the wall clock is set. */
    int64_t start_known_ms, end_known_ms, ray_end_known_ms;
    struct jval status;   /* as the API server has it; not there: none */
    uint64_t status_hash; /* these two as in cluster_view */
    int64_t status_not_before_ms;
    const struct group_failures *refusals; /* refused creates: count, not_before_ms and reason; NULL: none */
    struct job_said said;
    struct now now;
};

/* The state machine is in status: a plan either writes the next state (and does nothing that depends on it), or acts in the state that the
 * API server has. So a submission id is stored before it is used, and every prefix of a plan is legal. */
void reconcile_job(const struct job_view *in, struct arena *a, struct plan *out);

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
