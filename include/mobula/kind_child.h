/* kind_child: records of Pods and Services, the children of all other kinds. Nothing is decided on them themselves: their owner is. */
#ifndef MOBULA_KIND_CHILD_H
#define MOBULA_KIND_CHILD_H

#include <mobula/children.h>
#include <mobula/control.h>
#include <mobula/scale.h>

extern const struct kind kind_pod, kind_kservice;

struct pod_record {
    struct pod pod; /* first: views point at it */
    struct record *of;
    struct pod_record *next, **link;
    const struct istr *group, *reason, *words;
    const struct istr *running; /* of a head pod: the text of ray_running_read; else NULL */
    const char *stop;           /* why the autoscaler chose it for removal, a literal; NULL: it did not */
    uint32_t stop_decision;     /* the autoscaler decision that chose it */
    bool stop_begun;            /* another host of its replica is already being deleted for that decision */
    struct scale_seen seen;     /* the autoscaler's knowledge from earlier states of the head */
    struct doubt doubt;         /* our DELETE was answered 404 (pod.doubted) or 409 (pod.overtaken) */
    int64_t asked_ms;           /* pod.asked holds until then */
    int64_t drain_ms;           /* monotonic: when pod.ours.drain left POD_DRAIN_NONE */
    uint32_t round;
    bool by_us; /* our DELETE is in flight or was accepted */
};
_Static_assert(sizeof(struct pod_record) < 512, "there may be a hundred thousand pods");

struct service_record {
    struct service service;
    const struct istr *endpoints; /* holds the bytes of service.endpoints */
    struct record *of;
    struct service_record *next, **link;
    struct doubt doubt; /* our DELETE was answered 404: service.deleting is set until that is confirmed */
    int64_t made_ms;    /* monotonic: when the record was created */
    int64_t going_ms;   /* monotonic: when the watch showed it as being deleted; 0: not yet */
    uint32_t round;
    bool by_us; /* our DELETE is in flight or was accepted */
};

/* The service of this name that the record owns; NULL: none. */
struct service_record *service_of(const struct record *c, struct slice name);
/* The pods that it owns, in the plan's arena, as a view has them. */
const struct pod **view_pods(struct op *op, const struct record *c, uint32_t *count);

/* ---- Pod and Service objects of the API server ---- */

/* Keeps an object from an answer to a call (round 0) or from a list or watch. */
void extract_pod(struct op *op, struct space *space, struct jval object, uint64_t version, uint32_t round);
void extract_service(struct op *op, struct space *space, struct jval object, uint64_t version, uint32_t round);
struct slice extract_owner(const struct op *op, struct jval object,
                           struct arena *a); /* uid of the controlling owner, if it is of a kind that owns pods */
bool extract_labelled(struct jval object);   /* whether it has the label by which we list and watch pods and services */
/* The pod's cluster label names another cluster than its owner: the pod was detached by hand, for example to debug it. */
bool extract_elsewhere(struct jval pod, struct arena *a);

/* ---- doubts, for struct controller ---- */

bool doubt_list(struct op *op, struct record *c);           /* controller.unsettled */
int64_t doubt_recall(struct op *op, struct record *c);      /* controller.recall */
void children_respecified(struct op *op, struct record *c); /* controller.respecified */

#endif
