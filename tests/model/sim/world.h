/* A world in one process and in virtual time: operators, the model API server, and the connections between them. Nothing waits; a step goes
 * to whatever is due next.
 *
 * An operator runs in a process, with clocks of its own; it can be killed, frozen and started again. A connection is a wire with two ends:
 * what was written before an end was closed is still carried, as TCP does, so a write of a process that is dead may yet land. With all
 * knobs of world_path at zero bytes arrive at once, whole and in order: that is the world of tests/world. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <mobula/operator.h>

#include "tests/model/apiserver/apiserver.h"

enum { WORLD_START_MS = 1000000, WORLD_PROCESSES = 2, WORLD_BUFFER = NET_BUFFER };

#define WORLD_SERVER "10.0.0.1" /* as the kubeconfigs of tests/data/world have it */

struct world;
struct wire;
struct fakerays;

struct process {
    struct net net; /* first */
    struct world *world;
    struct op *op; /* NULL: it does not run */
    struct kube_config *config;
    uint32_t number;
    int64_t ahead_ms;        /* its monotonic clock less the world's */
    int64_t skew_us;         /* its wall clock less the world's */
    int64_t frozen_until_ms; /* stopped as by SIGSTOP */
};

/* What the path does to bytes, in both directions. Pieces of one direction of one wire keep their order; wires overtake each other. */
struct world_path {
    int64_t latency_ms, jitter_ms; /* a piece takes latency_ms and a random part of jitter_ms */
    uint32_t piece_max;            /* bytes of a piece at most, a random number of them, and of one write; 0: whole */
};

/* Protocol of connections to the API server. */
enum world_tls { WORLD_PLAIN, WORLD_TLS12, WORLD_TLS13 };

/* Load model of the API server (costs.c). cores 0: it answers at once. */
enum { WORLD_CORES = 16 };
struct world_costs {
    uint32_t cores;
    int64_t more_ms;     /* added to each answer: network distance, which is no load */
    int64_t patience_ms; /* a request that would wait longer for a core gets a 429; 0: none does */
    int64_t others_ms;   /* interval of requests by other users; 0: none */
    uint64_t served, refused, others_refused;
    int64_t others_longest_ms; /* longest wait and service time of another user's request */
    int64_t free_ms[WORLD_CORES], next_ms;
};

/* What the operator sent. */
struct world_traffic {
    uint32_t posts, patches, puts, deletes; /* but of events and leases */
    uint32_t pod_posts, events;
    uint32_t bare_deletes; /* without the uid of what is to go: it may be another object by now */
    uint32_t at_once;      /* most POSTs of pods that came together */
};

/* What the path has done. */
struct world_hits {
    uint64_t delayed, pieces; /* pieces: reads and writes that were shorter than they could have been */
    uint64_t refused;         /* connections */
    uint64_t none;            /* connections that were not begun */
    uint64_t sessions;        /* of TLS that have opened */
    uint64_t updates;         /* of their keys */
    uint64_t torn;            /* records that were cut */
};

/* What becomes of a request that has come to the server. */
enum world_fate {
    FATE_SERVED,
    FATE_REFUSED,     /* answered with status and reason; carried out as well when `commit` */
    FATE_LOST,        /* the connection breaks before the server sees it */
    FATE_ANSWER_LOST, /* it is carried out and the connection breaks before the answer */
    FATE_ANSWER_CUT,  /* … or after `bytes` of the answer */
    FATE_SILENCE,     /* carried out when `commit`; from then on the connection carries nothing */
};

struct world_request {
    struct world_request *next;
    struct world *world;
    struct process *from; /* who sent it; it may run no more */
    struct wire *wire;
    uint32_t number;             /* counts all requests of the world */
    int64_t began_ms;            /* when its head was written, by the world's clock */
    struct slice method, target; /* in this allocation, as the others */
    struct slice head, body;     /* head: names and values of all headers but Authorization, a line each */
    uint64_t end;                /* offset on the wire of the byte behind it */
    enum world_fate fate;
    int status;
    const char *reason;
    int retry_after_s;
    bool commit;
    uint32_t bytes;
    int64_t delay_ms;              /* of the answer */
    bool kill_before, kill_behind; /* the process dies before the server has it; when it was carried out, before the answer comes */
};

/* Who looks on. Each may be NULL. */
struct world_hooks {
    bool (*connect)(struct world_hooks *h, struct process *p);       /* false: nobody answers */
    void (*began)(struct world_hooks *h, struct world_request *q);   /* its head was written; the rest may follow later */
    void (*sent)(struct world_hooks *h, struct world_request *q);    /* all of it was written */
    void (*arrived)(struct world_hooks *h, struct world_request *q); /* decides its fate */
    void (*answered)(struct world_hooks *h, const struct world_request *q, int status, struct slice answer);
    void (*stepped)(struct world_hooks *h, struct process *p, uint64_t since); /* since: of w->pieces before it; may kill it inside */
    void (*killed)(struct world_hooks *h, struct process *p);
};

/* What is at WORLD_FAR, where an operator of this world calls for its work: a control plane that a test plays (plane.h), or real ones
 * (tests/fleet). */
#define WORLD_FAR "127.0.0.1"
struct world_far {
    struct link *(*open)(struct world_far *f, struct process *p, struct link_owner *owner, int64_t deadline_ms);
    bool (*move)(struct world_far *f); /* returns whether anything moved */
    int64_t (*deadline)(const struct world_far *f);
    struct operator_plane (*options)(const struct world_far *f);
};

struct world {
    struct process process[WORLD_PROCESSES];
    struct op *op;              /* that of process[0] */
    const struct process *turn; /* whose it is; NULL: nobody's */
    struct apiserver *server;
    struct now now;
    struct wire *wires;
    struct arena arena;
    struct world_far *far;                                     /* NULL: there is none */
    struct fakerays *rays;                                     /* NULL: nobody scales by what heads say (fakeray.h) */
    struct slice executable;                                   /* for ConfigMap mobula-tools; empty: --tools=none */
    bool (*executable_take)(void *carrier, struct slice *out); /* NULL: executable is there from the beginning */
    struct operator_configmap settings[LIMIT_SETTINGS];        /* ConfigMaps in namespace n; the same holds */
    const struct shape_patches *patches;                       /* below those of a ConfigMap */
    const struct slice *agent;                                 /* as in struct ray_options; NULL: none */
    bool submitter_pods;                                       /* --submitter=pod */
    int64_t fence_ms;                                          /* of operators that are started from now on */
    enum operator_access access;
    bool unreachable; /* connections are refused while it is set */
    bool full;        /* no connection can be begun while it is set */
    uint64_t steps;
    uint32_t slept; /* steps after which an operator would wait although it has something to decide */
    struct world_traffic sent;
    struct world_path path;
    enum world_tls tls;      /* of connections to the API server that are opened from now on */
    struct world_keys *keys; /* private to secure.c */
    struct world_costs costs;
    struct world_hits hits;
    struct rng rng; /* of the path */
    struct world_hooks *hooks;
    const char *kubeconfig;
    uint64_t pieces;             /* that were written so far */
    uint32_t requests, numbers;  /* so far; of wires */
    uint32_t pod_posts_now;      /* of the move that runs */
    struct world_parsed *parsed; /* private to world_object */
};

/* ---- life ---- */

void world_init(struct world *w, const struct apiserver_config *config);
void world_free(struct world *w);

/* Namespace n, seed 1, no tools: what most tests want. With `elect` it uses Lease n/mobula. */
void world_start_operator(struct world *w, bool elect);
void world_kill_operator(struct world *w);

void world_launch(struct world *w, uint32_t process, const struct operator_options *o);
void world_crash(struct world *w, uint32_t process);
/* The same, but of what it has written since `since` (a value of w->pieces) only a part, in the order of writing, has left it. */
void world_crash_inside(struct world *w, uint32_t process, uint64_t since);
struct now world_process_now(const struct process *p);

/* Of mem_alloc, alive now: all worlds and everything else of this process. */
uint64_t world_heap_bytes(void);
/* From now on blocks are looked into that an operator of this world gives back, or has made larger, which may leave a copy behind. */
void world_heap_search(const struct world *w, const char *text, const char *other);
uint32_t world_heap_found(void); /* how many held one of the two; and no more are looked into */

/* ---- time ---- */

/* One turn at the present time, then on to whatever is due next, at most `until`. */
void world_step(struct world *w, int64_t until);
void world_run(struct world *w, int64_t ms);

/* ---- the path ---- */

/* Each returns how many connections it has hit. */
/* Every connection ends as when a cable is pulled. */
uint32_t world_cut_all(struct world *w);
/* Connections that stand carry nothing any more, as behind a NAT that has forgotten them; about `share` of 256 of them. */
uint32_t world_silence(struct world *w, uint32_t share);
/* About `share` of 256 of the connections break; what was on its way to the server arrives when `commit`. */
uint32_t world_break(struct world *w, uint32_t share, bool commit);
uint32_t world_links_of(const struct process *p); /* that it has open */

/* ---- what was sent ---- */

uint32_t world_writes(const struct world *w);
bool world_is_write(const struct world_request *q); /* of more than events and leases */

/* ---- the admin's hand: one request, answered at once ---- */

/* *answer, when it is wanted: the body, in the world's arena. */
int world_ask(struct world *w, const char *method, const char *path, const char *type, struct slice body, struct slice *answer);
int world_call(struct world *w, const char *method, const char *path, const char *type, struct slice body);

/* The object of namespace n as the server has it, NO_VALUE if none. It is parsed again only after a change, so that a test can look at it
 * after each step. The value lives as long as the world. */
struct jval world_object(struct world *w, const char *resource, const char *name);

/* wire.c: for world.c */
extern const struct net_ops wire_net_ops;
bool wires_move(struct world *w); /* returns whether anything moved */
int64_t wires_deadline(const struct world *w);
void wires_forget_pieces(struct world *w, const struct process *p, uint64_t since, uint64_t until);
void wires_free(struct world *w);

#endif
