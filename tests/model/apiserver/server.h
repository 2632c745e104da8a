/* The whole of the model server, for its own files. */
#ifndef APISERVER_SERVER_H
#define APISERVER_SERVER_H

#include "store.h"

#include <mobula/http.h>

/* Things that happen by themselves later: an object is looked at again. */
enum wake {
    WAKE_POD,       /* scheduler and kubelet */
    WAKE_LOST,      /* a worker whose head has ended */
    WAKE_COLLECT,   /* garbage collector: are its owners gone? */
    WAKE_NAMESPACE, /* a namespace that is terminating */
};
enum { UID_LEN = 36 };

struct timer {
    int64_t due_ms;
    uint64_t seq; /* equal times keep their order */
    enum wake what;
    char uid[UID_LEN];
};
struct timers {
    struct timer *heap;
    size_t count, cap;
    uint64_t seq;
};

struct conn {
    struct conn *next;
    struct http_reader reader;
    struct buf in;   /* what has not been read yet */
    struct buf body; /* of the request that is being read */
    struct buf out;
    size_t sent;         /* how much of out the client has */
    struct watch *watch; /* the answer that is still being given */
    bool closing;        /* nothing is read any more; closed when out is empty */
    bool forsaken;       /* its request was passed on to somebody who never answers */
    bool waiting;        /* a request for a resourceVersion that has not come yet */
    uint64_t wait_rv;
    const struct resource *waits_for;
    int64_t patience_ms;
};

struct apiserver {
    struct apiserver_config config;
    struct apiserver_faults faults;
    struct apiserver_hits hits;
    struct apiserver_observer *observer;
    struct apiserver_backend backend;
    struct rng rng;
    struct now now; /* of the step that runs */
    uint64_t rv;
    struct resource **resources;
    struct api **apis;
    size_t resource_count, api_count;
    struct map by_uid;
    struct timers timers;
    struct conn *conns;
    struct arena scratch; /* of one request or one timer */
    struct arena forever; /* names and schemas of registered resources */
    struct buf body;      /* of the answer that is being made */
    struct buf line;      /* of the watch event that is being written */
    uint32_t pod_ips, cluster_ips, node_ports;
};

/* registry.c */
void registry_builtins(struct apiserver *s);
const struct api *registry_api(const struct apiserver *s, struct slice group, struct slice version, struct slice plural);
struct resource *registry_resource(const struct apiserver *s, struct slice group, struct slice plural);
struct resource *registry_named(const struct apiserver *s, struct slice full); /* "pods", "rayclusters.ray.io" */
/* The preferred version of a resource. */
const struct api *registry_storage(const struct apiserver *s, const struct resource *r);
struct resource *registry_add_resource(struct apiserver *s, const struct resource *like);
struct api *registry_add_api(struct apiserver *s, const struct api *like);
void registry_drop_apis(struct apiserver *s, const struct resource *r);

/* timers.c */
void timers_add(struct apiserver *s, int64_t due_ms, enum wake what, struct slice uid);
bool timers_take(struct apiserver *s, struct timer *out); /* one that is due */
int64_t timers_next(const struct apiserver *s);

/* world.c: what the rest of the cluster does about a change. Called by the store after every one. */
void world_changed(struct apiserver *s, struct object *o, enum change change);
void world_wake(struct apiserver *s, const struct timer *t);
void world_start(struct apiserver *s);
/* Writes an object that nobody asked for over HTTP. The tree is stored as it is, metadata completed. */
struct object *world_create(struct apiserver *s, struct resource *r, struct slice ns, struct slice name, struct node *tree);
void world_event(struct apiserver *s, const struct object *about, const char *type, const char *reason, const char *component,
                 struct slice message);

/* kubelet.c */
void kubelet_saw(struct apiserver *s, const struct object *pod, enum change change);
void kubelet_wake(struct apiserver *s, struct object *pod);
void kubelet_lost(struct apiserver *s, struct object *worker);

/* gc.c */
void gc_saw(struct apiserver *s, const struct object *o, enum change change);
void gc_wake(struct apiserver *s, struct object *o);
void gc_namespace(struct apiserver *s, struct object *ns);

/* crd.c */
void crd_saw(struct apiserver *s, struct object *crd, enum change change);

/* remove.c: deletion as the API does it, also for the collectors. */
enum propagation {
    PROPAGATE_AS_IT_IS, /* as the finalizers of the object say */
    PROPAGATE_BACKGROUND,
    PROPAGATE_FOREGROUND,
    PROPAGATE_ORPHAN,
};
/* Begins or completes a deletion. grace_s < 0: the object's own. Returns true when the object is gone. */
bool remove_object(struct apiserver *s, struct object *o, enum propagation how, int64_t grace_s);
/* Takes one finalizer away, and then the object if that was the last. */
bool remove_finalizer(struct apiserver *s, struct object *o, const char *finalizer);
/* Is this object being deleted, with nothing that holds it any more? */
bool remove_may_go(const struct node *tree);

/* Fresh texts. */
struct slice world_uid(struct apiserver *s, struct arena *a);
struct slice world_time(const struct apiserver *s, int64_t after_s, struct arena *a); /* now and so many seconds */
struct slice world_suffix(struct apiserver *s, struct arena *a);                      /* five random letters of generateName */

#endif
