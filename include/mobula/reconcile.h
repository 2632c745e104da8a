/* reconcile: what to do next, as a pure function. A view is all that a decision may look at; a plan is an ordered list of actions in which
 * every prefix leaves a legal state, and the time at which to look again. The same view always gives the same plan: the unit tests, the
 * simulator and `mobula explain` rest on that. No I/O, no memory of what it was doing: level, not edge. */
#ifndef MOBULA_RECONCILE_H
#define MOBULA_RECONCILE_H

#include <mobula/base.h>
#include <mobula/ray.h>

enum { POD_NAME_MAX = 63, UID_TEXT_MAX = 36, IP_TEXT_MAX = 45 };

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

/* What is kept of a pod: a few fields, at most 256 bytes, whatever the pod itself weighs. */
struct pod {
    char name[POD_NAME_MAX + 1], uid[UID_TEXT_MAX + 1], ip[IP_TEXT_MAX + 1];
    struct slice group;           /* interned by the owner of the record */
    struct slice reason;          /* why it is not ready: the first waiting or terminated container's reason, else the pod's; interned */
    uint64_t version;             /* resourceVersion of what we saw */
    uint64_t hash;                /* RAY_ANNOTATION_HASH; 0: none */
    int64_t created_us, ready_us; /* wall clock of the API server; ready_us 0: not ready */
    int32_t index;                /* of its replica in the group; -1: no index label (made by somebody else) */
    int32_t host;                 /* in its replica; 0 where a replica is one pod */
    int32_t exit_code;            /* of the Ray container that ended */
    uint8_t phase;                /* enum pod_phase */
    bool head, ready, deleting;
    bool ended;   /* the Ray container ended and is not started again */
    bool counted; /* its failure is in the group's count already */
};

/* Of a service of ours. */
struct service {
    char name[POD_NAME_MAX + 1], uid[UID_TEXT_MAX + 1], ip[IP_TEXT_MAX + 1]; /* ip "None": headless */
    uint64_t version, hash;                                                  /* hash: ray_service_hash of what the server has */
    bool deleting;
    uint64_t wanted, became; /* hashes: of what we applied last, and of what the server made of it; 0: nothing yet */
    int64_t applied_ms;      /* monotonic: when */
};

/* Failures of a group, so that nothing is recreated in a tight loop. Kept in status too, so that a restart does not forget them. */
struct group_failures {
    uint32_t count;        /* since the group was last well */
    int64_t last_us;       /* wall clock of the last one */
    int64_t not_before_ms; /* monotonic: nothing is created in this group before */
    uint64_t accepted;     /* the group's hash (ray_group.hash) that the API server took in a dry run; 0: none was tried */
    uint64_t refused;      /* the one that it refused, for the reason below: nothing that runs is given up for it … */
    int64_t try_ms;        /* … and it is tried again at this monotonic time: the cause may lie elsewhere, a quota or a service account */
    char reason[128];      /* of the last one: "container ended with exit code 1 (OOMKilled)", "403 Forbidden: exceeded quota …" */
};

struct cluster_view {
    const struct ray_cluster *cluster;
    const struct ray_errors *errors; /* what ray_read found */
    const struct pod *const *pods;   /* those that this very cluster (by uid) owns, in any order */
    uint32_t pod_count;
    const struct service *head_service, *headless_service; /* NULL: not there */
    struct slice status;                                   /* the status that the API server has; empty: none */
    int64_t status_at_ms;                                  /* monotonic time of our last status write; 0: none yet */
    uint64_t status_hash; /* plan.status_hash of the write that `status` came from, 0 when it is somebody else's: the same is not written
                             twice, even when the server drops parts of it */
    int64_t status_not_before_ms;          /* monotonic: no status is written earlier, because the last one was refused; 0: none was */
    const struct group_failures *failures; /* [0] head, [1 + i] groups[i] */
    const struct ray_options *options;
    struct now now;
};

enum action_kind {
    ACTION_APPLY_HEAD_SERVICE,
    ACTION_APPLY_HEADLESS_SERVICE,
    ACTION_TRY_POD,         /* of group: a dry run, before pods that run are given up for a changed template */
    ACTION_CREATE_POD,      /* of group at index, replacing uid (may be empty) */
    ACTION_DELETE_POD,      /* name, uid; why */
    ACTION_COUNT_FAILURE,   /* of group, for the pod of this uid: text is the reason. Costs no call */
    ACTION_FORGET_FAILURES, /* of group: it is well again. Costs no call */
    ACTION_STATUS,          /* text is the merge patch for /status */
    ACTION_EVENT,           /* why is the reason word, text the note */
};

struct action {
    uint8_t kind;  /* enum action_kind */
    bool warning;  /* events */
    int32_t group; /* -1: head, else index into groups; -2: none of the spec's */
    int32_t index;
    const char *why;              /* a literal: delete reasons, event reasons */
    struct slice name, uid, text; /* in the view's pods or in the arena */
};

struct plan {
    struct action *actions;
    uint32_t count, cap;
    struct action beyond; /* the last one that had no room (RECONCILE_ACTIONS): the next plan has it, when this one has been carried out */
    uint64_t status_hash; /* of the status that ACTION_STATUS writes, but for its times */
    int64_t next_ms;      /* look again at this time even if nothing happens; TIME_NEVER */
    struct arena *arena;
};

/* Fills *out (actions in a). */
void reconcile_cluster(const struct cluster_view *in, struct arena *a, struct plan *out);

/* How long a group waits after its n-th failure in a row (n from 1): RECONCILE_BACKOFF_MS doubling to RECONCILE_BACKOFF_MAX_MS, with a
 * jitter that is a function of the seed, so that the same view gives the same plan. */
int64_t reconcile_backoff_ms(uint32_t count, uint64_t seed);

const char *action_name(enum action_kind kind);

#endif
