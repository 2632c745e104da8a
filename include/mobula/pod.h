/* pod: what is kept of the pods and services of a Ray cluster, and how the API server's objects are read for it. A part of the room ray. */
#ifndef MOBULA_POD_H
#define MOBULA_POD_H

#include <mobula/ray.h>

/* Groups by number: one of the spec's from 0, or */
enum { GROUP_HEAD = -1, GROUP_NONE = -2 };

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

/* ---- what a record says ---- */

/* It neither runs nor will run again: its place is free for a successor. */
bool pod_failed(const struct pod *pod);
/* It runs, or may yet. */
bool pod_live(const struct pod *pod);
/* It may be gone, and may run as before: nobody else is put into its place. */
bool pod_doubted(const struct pod *pod);
/* Either: status shows it, and does not change with each doubt that comes and goes. */
bool pod_stands(const struct pod *pod);
/* It is of no group of the spec because somebody has changed the label that says of which: it is left alone, and its place is free. */
bool pod_astray(const struct ray_cluster *c, const struct pod *pod, struct arena *a);
/* The pod was made from something else than what the spec says now. */
bool pod_outdated(const struct pod *pod, const struct ray_group *spec);
/* "pod X ended with exit code 1 (OOMKilled): its last words" */
struct slice pod_failure_text(const struct pod *pod, struct arena *a);
/* "drained after 60 s idle"; empty: it was not drained for that. */
struct slice pod_drained_text(const struct pod *pod, struct arena *a);
/* Of a Pod object: its condition of this type; not there: it has none. */
struct jval pod_condition(struct jval pod, struct slice type);
/* Of a Pod object that is not ready, with the status of its Ray container: pod.reason and pod.words. over: that container is not started
 * again. */
void pod_why(struct jval pod, struct jval ray, bool over, struct arena *a, struct slice *reason, struct slice *words);

#endif
