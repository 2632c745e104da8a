/* pod: what is kept of the pods and services of a Ray cluster, and how the API server's objects are read for it. A part of the room ray. */
#ifndef MOBULA_POD_H
#define MOBULA_POD_H

#include <mobula/ray.h>

/* Groups by number: one of the spec's from 0, or */
enum { GROUP_HEAD = -1, GROUP_NONE = -2 };

enum { POD_NAME_MAX = 63, UID_TEXT_MAX = 36, IP_TEXT_MAX = 45 };
enum { POD_OLD_HEAD_MS = 90 * 1000, POD_HANGS_MS = 60 * 1000, POD_RECORD_MAX = 272 };

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

/* Whether the pod has an ownerReference. Without one it is adopted, unless it was made for a cluster of another namespace, whose addresses
 * its containers have. */
enum pod_orphan { POD_OWNED, POD_ORPHAN, POD_STRAY };

/* Of a worker that a rolling update replaces. ASKED: Ray is to drain its node; UNDER_WAY: the node drains; DONE: the pod can be deleted. */
enum pod_drain { POD_DRAIN_NONE, POD_DRAIN_ASKED, POD_DRAIN_UNDER_WAY, POD_DRAIN_DONE };

/* The kept part of a pod: at most POD_RECORD_MAX bytes, however large the pod. */
struct pod {
    char name[POD_NAME_MAX + 1], uid[UID_TEXT_MAX + 1], ip[IP_TEXT_MAX + 1];
    uint32_t going_s;    /* seconds since 1970 by the API server's clock: when its deletion was requested; 0: it was not, or unknown */
    struct slice group;  /* its worker group; interned by the owner of the record */
    struct slice reason; /* why it is not ready: the reason of the Ray container, else of another container that waits or ended, else of the
                            pod; interned */
    struct slice words;  /* the same in a line of at most LIMIT_POD_WORDS: "Unschedulable: 0/3 nodes are available: …"; interned */
    uint64_t version;    /* resourceVersion of the object that this was read from */
    uint64_t hash;       /* RAY_ANNOTATION_HASH; 0: none */
    int64_t created_us, ready_us; /* wall clock of the API server; ready_us 0: not ready */
    int64_t run_us;               /* node's clock: when the running Ray container started; 0: it does not run */
    int32_t index;                /* of its replica in the group; -1: no index label (another operator made it) */
    int32_t host;                 /* host number in its replica; 0 if a replica is one pod */
    int32_t exit_code;            /* of the Ray container that ended */
    uint32_t zone;                /* pod_zone_hash of its label */
    uint8_t phase;                /* enum pod_phase */
    bool head, ready, deleting;
    bool serves : 1;    /* its label RAY_LABEL_SERVE is "true" */
    bool on_demand : 1; /* its label says that it was made for an on-demand node */
    uint8_t orphan : 2; /* enum pod_orphan */
    bool ended;         /* the Ray container ended and will not be restarted */
    bool restarted;     /* its kubelet has restarted the Ray container at least once */
    bool stopped;       /* the Ray container does not run at present: it will be restarted, or has ended */
    bool gave_up;       /* our init container timed out waiting for the GCS: counts as ended, though the kubelet restarts it */
    bool unschedulable; /* no node has room for it; see pod_read */
    struct {
        bool counted; /* its failure is already counted in group_failures */
        bool asked;   /* a DELETE of it failed but may still take effect: scale-down picks it first */
        bool doubted; /* `deleting` only because a DELETE was answered 404: it keeps its place until the watch or a list confirms it */
        bool overtaken : 1; /* the API server has a newer version that we have not seen: it may have become ready or busy */
        uint8_t drain : 2;  /* enum pod_drain */
    } ours;                 /* known to this operator only */
    uint16_t idle_s;        /* its node was asked to drain after so many idle seconds; 0: not asked, or for another reason */
};
_Static_assert(sizeof(struct pod) <= POD_RECORD_MAX, "a fleet has a hundred thousand of them");
/* A zone in four bytes; of no zone 0. */
uint32_t pod_zone_hash(struct slice zone);
/* Whether a ready worker still belongs to an earlier head: it became ready before the Ray container of this head started. Without GCS fault
 * tolerance its raylet cannot join the new head and exits, at most 62 s after it lost the old one. A worker that is still ready
 * POD_OLD_HEAD_MS after the start of this head counts as joined, whatever its times say. */
bool pod_of_old_head(const struct pod *worker, const struct pod *head, int64_t now_us);
/* Reads a Pod object; the caller sets version, counted and the fields after that. group, reason and words lie in the object or in a. A pod
 * of another scheduler, or of a pod group, is never `unschedulable`: such a scheduler may say so of a head until its workers exist. */
void pod_read(struct jval object, struct arena *a, struct pod *out);
/* Whether no container of a Pod object has the address of a head service in another namespace than ns. */
bool pod_of_namespace(struct jval object, struct slice ns, struct arena *a);
/* "pod X: Unschedulable: …": why the head is not ready, or if it is, the first other pod with a reason beyond starting. Empty: none. */
struct slice pods_trouble(const struct pod *const *pods, uint32_t count, struct arena *a);

/* The kept part of a service. */
struct service {
    char name[POD_NAME_MAX + 1], uid[UID_TEXT_MAX + 1], ip[IP_TEXT_MAX + 1]; /* ip "None": headless */
    uint64_t version, hash;                                                  /* hash: ray_service_hash of what the server has */
    uint16_t dashboard;     /* number of its port "dashboard"; targetPort may differ; 0: it has none */
    struct slice endpoints; /* ray_service_endpoints of it; interned by the owner of the record */
    bool deleting;
    bool ours;               /* made by this operator: it carries RAY_ANNOTATION_HASH */
    uint64_t wanted, became; /* hashes: of our last apply, and of the resulting object; 0: none yet */
    int64_t applied_ms;      /* monotonic: time of that apply */
};

/* Failures of a group, for backoff. Written to status too, so that they survive a restart. */
struct group_failures {
    uint32_t count;            /* since the group was last healthy */
    uint32_t made;             /* pods created since the last failure's backoff ended */
    int64_t last_us;           /* wall clock of the last failure */
    bool ended;                /* the last failure was a pod that ended; else one that could not be created */
    int64_t not_before_ms;     /* monotonic: end of the backoff; some time after it the failures are forgotten */
    int64_t spot_from_ms;      /* monotonic: pods of a group that prefers spot are made on demand until then */
    uint32_t ends;             /* how many of `count` were pods that ended */
    uint64_t accepted;         /* ray_group.hash of the template that the API server accepted in a dry run; 0: none */
    uint64_t refused;          /* ray_group.hash of the template that it refused, for the reason below: running pods are kept */
    int64_t try_ms;            /* monotonic: when that is tried again, as the cause may be a quota or a service account */
    char reason[ERR_TEXT_MAX]; /* of the last failure: "container ended with exit code 1 (OOMKilled)", "403 Forbidden: exceeded quota …" */
};

/* Begins the reason of a failure that counts for the head and is of a service: "service c-head-svc: 403 …". */
#define POD_REASON_SERVICE "service "

#define POD_REASON_GOING "Terminating" /* pod.reason of a pod that is being deleted and has not ended */

/* ---- questions to a record ---- */

/* It neither runs nor will run again: its place is free for a successor. */
bool pod_failed(const struct pod *pod);
/* It runs, or may yet. */
bool pod_live(const struct pod *pod);
/* It may be gone, and may run as before: nobody else is put into its place. */
bool pod_doubted(const struct pod *pod);
/* Either: status shows it, and does not change with each doubt that comes and goes. */
bool pod_counts_in_status(const struct pod *pod);
/* It is of no group of the spec because somebody has changed the label that says of which: it is left alone, and its place is free. */
bool pod_astray(const struct ray_cluster *c, const struct pod *pod, struct arena *a);
/* The pod was made from something else than what the spec says now. */
bool pod_outdated(const struct pod *pod, const struct ray_group *spec);
/* "pod X ended with exit code 1 (OOMKilled): its last words" */
struct slice pod_failure_text(const struct pod *pod, struct arena *a);
/* "pod X is Terminating on node N since 2026-08-19T10:00:00Z; 2 more pods are left": the pod whose deletion was requested first, and the
 * number of the other pods in the list. After POD_HANGS_MS the text also says what to do. Empty: no pod is being deleted. *again_us: wall
 * clock, when POD_HANGS_MS will have passed; 0: it has, or the text is empty. */
struct slice pods_going_text(const struct pod *const *pods, uint32_t count, int64_t now_us, struct arena *a, int64_t *again_us);
/* "drained after 60 s idle"; empty: it was not drained for that. */
struct slice pod_drained_text(const struct pod *pod, struct arena *a);
/* pod.reason and pod.words of a Pod object that is being deleted: "Terminating on node N since …: …". since_us: when its deletion was
 * requested, wall clock; 0: unknown. */
void pod_why_going(struct jval pod, int64_t since_us, struct arena *a, struct slice *reason, struct slice *words);
/* Of a Pod object that is not ready, with the status of its Ray container: pod.reason and pod.words. over: that container is not started
 * again. */
void pod_why(struct jval pod, struct jval ray, bool over, struct arena *a, struct slice *reason, struct slice *words);

#endif
