/* reconcile: what to do next, as a pure function. A view is all that a decision may look at; a plan is an ordered list of actions in which
 * every prefix leaves a legal state, and the time at which to look again. The same view always gives the same plan: the unit tests, the
 * simulator and `mobula explain` rest on that. No I/O, no memory of what it was doing: level, not edge. */
#ifndef MOBULA_RECONCILE_H
#define MOBULA_RECONCILE_H

#include <mobula/base.h>
#include <mobula/plan.h>
#include <mobula/ray.h>

enum { POD_NAME_MAX = 63, UID_TEXT_MAX = 36, IP_TEXT_MAX = 45 };

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

/* What is kept of a pod: a few fields, at most 256 bytes, whatever the pod itself weighs. */
struct pod {
    char name[POD_NAME_MAX + 1], uid[UID_TEXT_MAX + 1], ip[IP_TEXT_MAX + 1];
    struct slice group;  /* interned by the owner of the record */
    struct slice reason; /* why it is not ready: the Ray container's reason, else another's that waits or ended, else the pod's; interned */
    struct slice words;  /* the same in a line of at most LIMIT_POD_WORDS: "Unschedulable: 0/3 nodes are available: …"; interned */
    uint64_t version;    /* resourceVersion of what we saw */
    uint64_t hash;       /* RAY_ANNOTATION_HASH; 0: none */
    int64_t created_us, ready_us; /* wall clock of the API server; ready_us 0: not ready */
    int32_t index;                /* of its replica in the group; -1: no index label (made by somebody else) */
    int32_t host;                 /* in its replica; 0 where a replica is one pod */
    int32_t exit_code;            /* of the Ray container that ended */
    uint8_t phase;                /* enum pod_phase */
    bool head, ready, deleting;
    bool ended;         /* the Ray container ended and is not started again */
    bool stopped;       /* the Ray container does not run now, though the pod does: it waits to be started again, or has ended */
    bool gave_up;       /* our init container has waited for the GCS in vain: ended, too, though the kubelet starts it again */
    bool unschedulable; /* no node has room for it, and it is scheduled alone: see pod_read */
    bool counted;       /* its failure is in the group's count already */
    bool asked;         /* a DELETE of it was not answered well, and may have been carried out: of too many pods it is the first to go */
    bool doubted;       /* deleting only because a DELETE was answered "not there": it keeps its place until the watch or a list has told */
    bool overtaken;     /* the API server has a newer one than this, and nobody has shown it: it may be ready or at work since */
    uint16_t idle_s;    /* its node was asked to drain when it had been idle for so long; 0: it was not, or not for that */
};
/* Of a Pod object; version, counted and what follows it are the caller's to set. group, reason and words lie in the object or in
 * a. A pod of another scheduler, or of a group that is scheduled as a whole, is never `unschedulable`: that scheduler may say so of a head
 * until its workers are there. */
void pod_read(struct jval object, struct arena *a, struct pod *out);
/* "pod X: Unschedulable: …": what keeps the head of these pods from being ready, or when it is, the first of the others that says more
 * than that it starts. Empty: nothing is known to. */
struct slice pods_trouble(const struct pod *const *pods, uint32_t count, struct arena *a);

/* Of a service of ours. */
struct service {
    char name[POD_NAME_MAX + 1], uid[UID_TEXT_MAX + 1], ip[IP_TEXT_MAX + 1]; /* ip "None": headless */
    uint64_t version, hash;                                                  /* hash: ray_service_hash of what the server has */
    struct slice endpoints; /* ray_service_endpoints of it; interned by the owner of the record */
    bool deleting;
    bool ours;               /* made by this operator: it carries RAY_ANNOTATION_HASH */
    uint64_t wanted, became; /* hashes: of what we applied last, and of what the server made of it; 0: nothing yet */
    int64_t applied_ms;      /* monotonic: when */
};

/* Failures of a group, so that nothing is recreated in a tight loop. Kept in status too, so that a restart does not forget them. */
struct group_failures {
    uint32_t count;        /* since the group was last well */
    uint32_t made;         /* pods that were created since the last one, after the wait for it */
    int64_t last_us;       /* wall clock of the last one */
    bool ended;            /* the last one was a pod that ended; else one that could not be made */
    int64_t not_before_ms; /* monotonic: nothing is created in this group before; it is forgotten some time after */
    uint32_t ends;         /* of `count`: pods that ended */
    uint64_t accepted;     /* the group's hash (ray_group.hash) that the API server took in a dry run; 0: none was tried */
    uint64_t refused;      /* the one that it refused, for the reason below: nothing that runs is given up for it … */
    int64_t try_ms;        /* … and it is tried again at this monotonic time: the cause may lie elsewhere, a quota or a service account */
    char reason[ERR_TEXT_MAX]; /* of the last one: "container ended with exit code 1 (OOMKilled)", "403 Forbidden: exceeded quota …" */
};

/* A worker's name that a pod has which does not count, because its labels were changed: the one for its place is named as its successor. */
struct held_name {
    int32_t group, index;
    struct slice uid; /* of the pod that has the name */
};

/* What the autoscaler has to say, for status. */
struct scale_news {
    bool works;         /* the head answers, and decisions are made */
    const char *reason; /* a literal; NULL: nothing is known yet */
    struct slice words;
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

/* ---- autoscaling: how many pods each group should have, and which nodes may go ----
 *
 * Ray's own algorithm (v1), as a pure function of what the head says and of what pods there are: the same view, the same plan. What cannot
 * be decided on (no state, an old one, one without the head's own node) leaves every group as it is: no node goes, nothing is cancelled
 * but what has not started and is above a max, nothing but the minimum is added.
 *
 * Down it goes by drains only: a plan asks for them, the raylet accepts or refuses, and in a later state an accepted node is DEAD: then its
 * pod is among `removals`. Until then it counts, so decide anew whenever a pod has changed, before reconcile_cluster is asked: a pod that
 * ended meanwhile would else be replaced. The only other pods there are such that have not started and that nobody needs (delete those as
 * they were seen, by their version: what has started meanwhile is no such pod any more, whoever knows it), such that run but have no node
 * for long (Ray in them has ended, and the head began anew before it could say so), and such that are above a max, have agreed to drain and
 * are still at it after SCALE_PREEMPT_MS.
 *
 * Of the state's reader it is expected that slices and pointers are valid and that the state is whole. Checked here: amounts (ray_pack_…),
 * counts below 1, node ids of another length (never drained), two nodes for one pod (the busier counts, none is drained), nodes without a
 * pod of ours (left alone), pods without a node (not yet joined). What is garbage scales nothing down, and up at most by SCALE_STEP at
 * a time to the groups' max. */

/* What one decision leaves for the next; by group. */
struct scale_memory {
    int32_t target;     /* replicas; -1: nothing was decided yet */
    int64_t surplus_ms; /* monotonic: since when pods that have not started are needed by nobody; 0: they are */
};

/* By pod: what earlier states have said of it. */
struct scale_seen {
    bool joined;      /* Ray had a node of it */
    bool parting;     /* its node drains, or was asked to: when the pod ends, it has done so */
    int64_t alone_ms; /* monotonic: since when the pod runs, the head works and there is no node of it; 0: it is not so */
    int64_t drain_ms; /* monotonic: since when its node drains; 0: it does not */
};

struct scale_view {
    const struct ray_cluster *cluster;
    const struct ray_offer *offers; /* [0] head, [1 + i] groups[i] (ray_group_offer) */
    const struct pod *const *pods;  /* as in cluster_view */
    uint32_t pod_count;
    const struct scale_seen *seen;         /* [i] pods[i]; NULL: nothing is known */
    const struct group_failures *failures; /* likewise: [1 + i] groups[i] */
    const struct ray_state *state;         /* NULL: the head has said nothing (or something else than a state) yet */
    int64_t state_ms;                      /* monotonic: when it came */
    const struct scale_memory *memory;     /* [i] groups[i]; NULL: nothing was decided yet */
    struct now now;
};

struct scale_drain {
    struct slice node_id; /* RAY_NODE_ID bytes */
    const struct pod *pod;
    int32_t group;
    uint16_t idle_s;     /* for how long it has been idle, when that is why; else 0 */
    bool preempt;        /* DRAIN_NODE_REASON_PREEMPTION, which no raylet refuses; else IDLE_TERMINATION */
    int64_t deadline_ms; /* of a preemption: wall clock, milliseconds since 1970; else 0 */
    struct slice message;
};
struct scale_removal {
    const struct pod *pod;
    int32_t group;
    const char *why; /* a literal */
};

enum scale_why {
    SCALE_NO_GROUP,  /* no group's pods are large enough, or have such labels */
    SCALE_AT_MAX,    /* those that could be are at their max, or the cluster is */
    SCALE_WAITS,     /* those that could be fail to start and wait */
    SCALE_LATER,     /* enough is ordered for one decision (SCALE_STEP) */
    SCALE_MALFORMED, /* an amount that no node can have, or a limit: `text` says */
};
struct scale_unmet {
    const struct ray_request *request; /* or, of a STRICT_SPREAD group, */
    const struct ray_gang *gang;
    int32_t constraint; /* of request_resources(): which of the state's; -1: none */
    int64_t count;
    enum scale_why why;
    int32_t group; /* of SCALE_AT_MAX: the first that is, and could hold it; -1: the cluster is */
    struct slice text;
};

struct scale_group {
    int32_t before, target;    /* replicas: with pods now, and wanted */
    int32_t launch, throttled; /* of the wanted: new ones, and such that must wait for the speed */
    int32_t nodes, idle;       /* that have joined, and of them idle ones */
    int32_t pending;           /* pods whose node has not joined */
};

struct scale_plan {
    const char *held;            /* NULL, or why nothing was decided */
    struct scale_group *groups;  /* by group */
    struct scale_memory *memory; /* by group: for the next view */
    struct scale_seen *seen;     /* by pod: likewise */
    struct scale_drain *drains;
    struct scale_removal *removals;
    struct scale_unmet *unmet;
    struct slice *lines; /* in words, without the cluster's name: what was decided and why */
    uint32_t drain_count, removal_count, unmet_count, line_count;
    uint32_t lines_beyond;    /* more lines than LIMIT_SCALE_LINES: the last one says so */
    struct ray_report report; /* for the GCS */
    int64_t next_ms;          /* decide again at this time even if no new state comes; TIME_NEVER */
};
/* Everything in *out lies in a or in the view. */
void scale_cluster(const struct scale_view *in, struct arena *a, struct scale_plan *out);

/* The block that the old operator logged at each look, a line each with "<cluster>:" before it. */
void scale_log_legacy(const struct scale_view *in, const struct scale_plan *plan, struct arena *a, struct buf *out);
/* What `ray status` says, and what was decided and why: for people. */
void scale_status_text(const struct scale_view *in, const struct scale_plan *plan, struct arena *a, struct buf *out);
/* "{CPU: 1, memory: 2Gi}": names are the head's and so made fit for a line. At most LIMIT_SCALE_NAMES of them. */
struct slice scale_bundle_text(const struct ray_bundle *b, struct arena *a);

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
