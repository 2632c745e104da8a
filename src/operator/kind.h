/* What is watched, a table each: how its objects become records, and what is decided about those. The core goes by these tables and knows
 * no kind by name. A new kind is one of them, and a line in kinds.c. */
#ifndef MOBULA_OPERATOR_KIND_H
#define MOBULA_OPERATOR_KIND_H

#include "op.h"

/* What became of a child, for its owner. */
enum child_news {
    CHILD_STARTED,  /* a pod that was pending is not any more */
    CHILD_ENDED,    /* what ran in a pod is over */
    CHILD_GOES,     /* it is being deleted, or its record goes */
    CHILD_CHANGED,  /* it is another by now than the one that was to be deleted */
    CHILD_RESTORED, /* it was taken for going, and is not */
};

struct kind {
    const char *name; /* "RayCluster" */
    const char *word; /* "cluster": the key of its name in log lines */
    struct slice api_version;
    const struct kube_resource *resource;
    const char *plural;    /* "rayclusters.ray.io": for messages */
    struct slice selector; /* labels of its watch; empty: all objects */

    /* Objects become records. Older ones are ignored. round: of the list or watch that handed the object out; 0: an answer to a call. */
    void (*keep)(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round);
    void (*drop)(struct op *op, struct source *from, struct jval object); /* the watch tells that it is gone */
    /* A list is complete: what it has not shown is gone, unless it is newer than the list. */
    void (*sweep)(struct op *op, struct source *from, uint64_t version);
    void (*listed)(struct op *op, struct source *from); /* the same, after that; may be NULL */

    /* Of what is decided on; else NULL. Lists are ended by NULL. */
    const struct kind *const *needs; /* whose lists must be complete before it is decided */
    const struct kind *const *must;  /* of these, whose absence says nothing: the server may just be starting */
    int64_t (*decide)(struct op *op, struct cluster *c, struct plan *p); /* returns when to look again */
    void (*read)(struct op *op, struct cluster *c, struct jval object);  /* into op->model or op->job, and op->errors */
    /* The record has been brought up to date. changed: what is decided on, but for its status; status: that. May be NULL. */
    void (*kept)(struct op *op, struct cluster *c, struct jval object, uint32_t round, bool changed, bool status);
    /* Something became of a pod. May be NULL. */
    void (*told)(struct op *op, struct cluster *c, struct pod_record *pod, enum child_news what);
    void (*forget)(struct op *op, struct cluster *c); /* frees what was hung on the record: the object is gone */
    void (*reread)(struct cluster *c);                /* its spec or meta is another: what was made of them is forgotten. May be NULL */
    /* This process begins to lead, or ends: what only a leader may know is read from status, or dropped. */
    void (*lead)(struct op *op, struct cluster *c, bool leads);
    const char *(*did)(const struct work *w); /* the reason of the event that tells of a plan that was carried out */
    const char *gone;                         /* "cluster deleted": what the log says when the watch tells so */
    bool finalizers;                          /* are part of what is decided on */
    bool by_wall_clock;                       /* has deadlines that are times of the wall clock */
    bool goes_by_status; /* goes on from where its status says that it is: an unknown status write is looked up first */
};
extern const struct kind *const kinds[]; /* lowest first, ended by NULL */
extern const struct kind kind_raycluster, kind_raycluster_legacy, kind_rayjob, kind_pod, kind_kservice;

uint32_t kind_count(void);
void kind_tell(struct op *op, struct pod_record *pod, enum child_news what); /* the owner of the pod */

#endif
