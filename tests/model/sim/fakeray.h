/* Ray in a world: each cluster whose head pod runs has a GCS at that pod's address, and each of its worker pods that runs is a node there.
 * A test says what work there is; work is put on nodes in the order in which they came, and what does not fit is told as demand. A node
 * that is asked to drain agrees when it is idle, or when it must go; then its raylet ends, and the pod goes on as if nothing had happened,
 * as with a real one.
 *
 * fakeray.c is Ray, fakeray_link.c what is between it and the operator. */
#ifndef SIM_FAKERAY_H
#define SIM_FAKERAY_H

#include "world.h"

#include <mobula/heads.h>

#include "tests/unit/heads/fakehead.h"

enum { FAKERAY_WORKS = 8, FAKERAY_NAME = 64, FAKERAY_CPUS = 2, FAKERAY_TEXT = 200 };

/* A pod of Ray, as the store has it. */
struct fakeray_pod {
    struct fakeray_pod *next;
    struct fakeray *of;
    char uid[40], name[FAKERAY_NAME], group[FAKERAY_NAME], ip[48];
    int32_t replica; /* of a group whose replicas have several hosts */
    bool head, runs;
    uint16_t gcs, dash; /* of a head: where its `ray start` listens */
    bool ended;         /* its raylet has ended: drained or killed */
    int64_t since_ms;   /* when it began to run */
    uint32_t lives;     /* restarts of its container */
};

/* A raylet. Dead ones stay listed. */
struct fakeray_node {
    struct fakeray_node *next;
    char id[RAY_NODE_ID];
    struct fakeray_pod pod; /* as it was: the pod itself may be gone */
    bool dead, works;
    bool drains; /* it has agreed to, and takes no work any more */
    double free; /* CPUs */
    int64_t idle_since_ms;
};

/* Work of one shape: tasks that each need so many CPUs; together: a STRICT_SPREAD placement group with a bundle for each of them. */
struct fakeray_work {
    double cpus;
    uint32_t count, waiting;
    bool together;
};

/* Ray in one cluster: it outlives its pods. */
struct fakeray {
    struct fakehead fake; /* first: how it misbehaves, and what came */
    struct fakeray *next;
    struct world *world;
    char kind[32], ns[FAKERAY_NAME], cluster[FAKERAY_NAME]; /* kind: "ray.io" */
    char pod[40];                                           /* uid of its head pod; empty: none runs */
    char ip[48];
    const char *service; /* another head service that leads to it; NULL: none */
    uint16_t gcs, dash;  /* the ports at which its head listens */
    uint32_t sessions;
    /* what there is to do, by hand */
    struct fakeray_work works[FAKERAY_WORKS], asked_for; /* asked_for: request_resources() */
    bool by_replica;                                     /* work fills one replica after the other, and not nodes as they came */
    bool tls;                                            /* its GCS requires mutual TLS */
    bool refuses;                                        /* every drain */
    bool lingers;                                        /* a node that works and must go drains for ever */
    bool stale;                                          /* says the same as before, whatever happens */
    struct slice message;                                /* says this instead of a state; SLICE_NONE: the truth */
    int64_t rejoin_ms;                                   /* workers that were there before the head come to it so much later */
    int64_t answer_ms;                                   /* answers take so much longer */
    int64_t pace_ms;                                     /* between two pieces of fake.per_step bytes; 0: 1 */
    bool unreachable;                                    /* connections do not open */
    bool refused;                                        /* … or fail at once */
    bool down;                                           /* … because its container is */
    bool trouble;                                        /* for who answers as its dashboard */
    /* what became of it */
    struct fakeray_node *nodes;
    int64_t began_ms;
    struct buf state;
    uint32_t accepted, declined, strange;              /* drains; strange: of ids that are not its own */
    uint32_t preempted;                                /* accepted ones of nodes that worked */
    uint32_t refused_drains, repeated, late, troubles; /* what `refuses`, `stale`, `answer_ms` and `trouble` have come to */
    int64_t asked_ms, longest_ms;                      /* when a state was asked for last, and the longest time between two such calls */
};

struct fakerays {
    struct apiserver_observer observer; /* first: of the store, unless somebody else hands changes on */
    struct world *world;
    struct fakeray *first;
    struct fakeray_pod *pods;
    struct fakeray_link *links;
    const struct process *from;       /* of what a head is fed now; NULL: it comes through the API server */
    void (*began)(struct fakeray *h); /* its head's container begins; may be NULL */
    int (*dash)(struct fakehead *h, struct slice method, struct slice target, struct slice body, struct buf *out); /* of heads that come */
    struct arena arena;
};

/* From now on pods are followed; before an operator is started, and before there are pods. observe: this looks at the store itself. */
void fakerays_begin(struct world *w, bool observe);
void fakerays_changed(struct fakerays *h, const struct apiserver_change *c);
void fakerays_free(struct fakerays *h); /* NULL is fine */

/* kind: "ray.io" or "cluster.ray.io". It is there as soon as somebody asks for it. */
struct fakeray *fakeray_of(struct world *w, const char *kind, const char *ns, const char *cluster);
void fakeray_work(struct fakeray *h, uint32_t which, double cpus, uint32_t count, bool together);
void fakeray_request(struct fakeray *h, double cpus, uint32_t count);
void fakeray_kill_raylet(struct fakeray *h, const char *pod); /* its pod goes on */
/* Ray of the head begins again in the same pod, as when its container is restarted. */
void fakeray_restart(struct fakeray *h);
/* The container of a pod ends, and begins again: Ray with it. */
void fakeray_container_ends(struct world *w, const char *uid);
void fakeray_container_begins(struct world *w, const char *uid);
/* The number behind the last `flag` in the text of a pod, as Ray reads ` --port=`; without one `usual`. */
int64_t fakeray_flag(struct slice pod, const char *flag, int64_t usual);
/* Of this pod in the present session; NULL: none has come. */
struct fakeray_node *fakeray_node_of(const struct fakeray *h, struct slice pod);
uint32_t fakeray_nodes(const struct fakeray *h); /* that live, but for the head's own */

/* fakeray_link.c: for world.c and wire.c */
struct link *fakerays_open(struct process *p, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms);
int fakerays_serve(void *owner, const struct apiserver_passed *p, struct buf *out, struct err *e); /* what the API server passes on */
bool fakerays_move(struct world *w);                                                               /* returns whether anything moved */
int64_t fakerays_deadline(const struct world *w);
/* About `share` of 256 of the connections to this head (NULL: to any) break. Returns how many. */
uint32_t fakerays_cut(struct world *w, const struct fakeray *h, uint32_t share);
uint32_t fakerays_links(const struct world *w);

#endif
