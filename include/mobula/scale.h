/* scale: the autoscaler, as a pure function of what a head says and of what pods there are, and the bin packing that it rests on. */
#ifndef MOBULA_SCALE_H
#define MOBULA_SCALE_H

#include <mobula/pod.h>

/* ---- autoscaling: how many pods each group should have, and which nodes to drain ----
 *
 * Ray's own algorithm (v1), as a pure function of the head's state and of the pods: the same view, the same plan. Without a usable state
 * (none, an old one, one without the head's own node) every group stays as it is: no node is drained, only pods that have not started and
 * are above a maximum are cancelled, only the minimum is added.
 *
 * Scale-down drains nodes: a plan lists `drains`, the raylet accepts or refuses, and a later state shows an accepted node as DEAD: then its
 * pod is in `removals`. Until then the pod counts. So decide again whenever a pod has changed, before raycluster_decide, which would
 * otherwise replace a pod that has ended. These are removed without a drain:
 *   - pods that have not started and are not needed: delete them only in the version that was seen, as they may have started since;
 *   - pods that run, but whose node has been missing for long: Ray in them has ended, and the head restarted before it could report that;
 *   - pods above a maximum that agreed to drain and have not finished after SCALE_PREEMPT_MS.
 *
 * The caller guarantees that slices and pointers are valid and that the state is complete. Checked here: amounts (ray_pack_…), counts below
 * 1, node ids of another length (never drained), two nodes for one pod (the busier one counts, none is drained), nodes without a pod of
 * ours (ignored), pods without a node (not joined yet). Garbage scales nothing down, and up by SCALE_STEP at a time, to the groups'
 * maximum. */

/* The state that one decision passes to the next; one for each group. */
struct scale_memory {
    int32_t target;     /* replicas; -1: nothing was decided yet */
    int64_t surplus_ms; /* monotonic: since when pods that have not started are not needed; 0: they are needed */
};

/* The contents of earlier states; one for each pod. */
struct scale_seen {
    bool joined;      /* it has had a node in Ray */
    bool parting;     /* its node drains or was asked to: the end of the pod is no failure then */
    int64_t alone_ms; /* monotonic: since when the pod runs without a node while the head works; 0: it has a node */
    int64_t drain_ms; /* monotonic: since when its node drains; 0: it does not drain */
};

struct scale_view {
    const struct ray_cluster *cluster;
    const struct ray_offer *offers; /* [0] head, [1 + i] groups[i] (ray_group_offer) */
    const struct pod *const *pods;  /* as in cluster_view */
    uint32_t pod_count;
    const struct scale_seen *seen;         /* [i] pods[i]; NULL: none */
    const struct group_failures *failures; /* likewise: [1 + i] groups[i] */
    const struct ray_state *state;         /* NULL: no valid answer of the head yet */
    int64_t state_ms;                      /* monotonic: when it was received */
    const struct scale_memory *memory;     /* [i] groups[i]; NULL: nothing was decided yet */
    struct now now;
};

struct scale_drain {
    struct slice node_id; /* RAY_NODE_ID bytes */
    const struct pod *pod;
    int32_t group;
    uint16_t idle_s;     /* how long it has been idle, if that is the reason; else 0 */
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
    SCALE_NO_GROUP,  /* no group has pods that are large enough with such labels */
    SCALE_AT_MAX,    /* the groups that fit, or the cluster, are at their maximum */
    SCALE_WAITS,     /* the groups that fit are in backoff after failures */
    SCALE_LATER,     /* this decision has reached SCALE_STEP: the next one goes on */
    SCALE_MALFORMED, /* an impossible amount, or a limit was reached: see `text` */
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
    int32_t launch, throttled; /* of `target`: new ones, and those that the upscaling speed delays */
    int32_t nodes, idle;       /* joined nodes, and the idle ones among them */
    int32_t pending;           /* pods whose node has not joined */
};

struct scale_plan {
    const char *held;            /* why nothing was decided; NULL: it was */
    struct scale_group *groups;  /* by group */
    struct scale_memory *memory; /* by group: for the next view */
    struct scale_seen *seen;     /* by pod: likewise */
    struct scale_drain *drains;
    struct scale_removal *removals;
    struct scale_unmet *unmet;
    struct slice *lines; /* the decision and its reason, as text without the cluster's name */
    uint32_t drain_count, removal_count, unmet_count, line_count;
    uint32_t lines_beyond;    /* lines dropped at LIMIT_SCALE_LINES: the last line says so */
    struct ray_report report; /* for the GCS */
    int64_t next_ms;          /* decide again at this time even if no new state comes; TIME_NEVER */
};
/* Everything in *out lies in a or in the view. */
void scale_cluster(const struct scale_view *in, struct arena *a, struct scale_plan *out);

/* The block that the legacy operator logged at each poll, each line prefixed with "<cluster>:". */
void scale_log_legacy(const struct scale_view *in, const struct scale_plan *plan, struct arena *a, struct buf *out);
/* For people: what `ray status` says, what was decided, and why. */
void scale_status_text(const struct scale_view *in, const struct scale_plan *plan, struct arena *a, struct buf *out);
/* "{CPU: 1, memory: 2Gi}". Names come from the head and are cleaned for a log line; at most LIMIT_SCALE_NAMES of them. */
struct slice scale_bundle_text(const struct ray_bundle *b, struct arena *a);

/* State of the autoscaler, for status. */
struct scale_news {
    bool works;         /* the head answers, and decisions are made */
    const char *reason; /* a literal; NULL: nothing is known yet */
    struct slice words;
};

/* ---- bin packing: what fits where, by the rules of Ray's own autoscaler (v1): first fit, largest first ----
 *
 * A pack is the vocabulary of one question: names of resources become numbers in the order of the names, selectors become bits. So it is
 * used in this order: learn every bundle, make shapes of what is asked for, make rooms of what there is. All memory is the arena's.
 * What it reads may be garbage: an amount that is negative or above the limit is no shape and gives no room, a name that stands twice in a
 * bundle counts with its larger amount where it is asked for and with its smaller one where it is offered. */

struct ray_part {
    uint32_t name;
    int64_t amount;
};
/* The request. */
struct ray_shape {
    const struct ray_request *request;
    struct ray_part *parts; /* by name */
    uint32_t count;
    int32_t selector; /* its bit; -1: any node will do */
};
struct ray_want {
    struct ray_shape shape;
    int64_t count;
};
/* The free resources of a node. */
struct ray_room {
    struct ray_part *parts; /* by name */
    uint32_t count;
    uint32_t owner; /* the caller's own number */
    bool used;      /* something was put here */
    bool taken;     /* by the spread that is being placed */
    uint64_t meets; /* bits of selectors */
    const struct ray_label *labels;
    uint32_t label_count;
};
struct ray_rooms {
    struct ray_room *list;
    uint32_t count, cap;
};

struct ray_pack {
    struct arena *arena;
    struct slice *names; /* sorted */
    uint32_t name_count, name_cap;
    const struct ray_request *selectors[LIMIT_RAY_PACK_SELECTORS]; /* by bit: one that has them */
    uint32_t selector_count;
    bool implicit; /* names are asked for that every node has one of */
};
void ray_pack_init(struct ray_pack *p, struct arena *a);
/* The first LIMIT_RAY_PACK_NAMES names are kept: learn what is offered before what is asked for. */
void ray_pack_learn(struct ray_pack *p, const struct ray_bundle *b);
bool ray_pack_shape(struct ray_pack *p, const struct ray_request *r, struct ray_shape *out, struct err *e);
struct ray_room ray_pack_room(const struct ray_pack *p, const struct ray_bundle *b, const struct ray_label *labels, uint32_t label_count);
/* n copies of a room at the end of the list. */
void ray_pack_add(const struct ray_pack *p, struct ray_rooms *rooms, const struct ray_room *room, int64_t n);
/* A copy of its own; labels are shared. */
struct ray_rooms ray_pack_clone(const struct ray_pack *p, const struct ray_rooms *rooms);

bool ray_pack_holds(const struct ray_room *room, const struct ray_shape *s);

/* Sorts by number of resources, their sum, and name by name, the largest first; equal shapes become one want, and wants of nothing go.
 * Returns how many are left. */
uint32_t ray_pack_sort(struct ray_want *wants, uint32_t count);
/* Puts as much as fits, in the order of the wants each into the first rooms that have the space, and takes it off both. */
void ray_pack_fit(const struct ray_rooms *rooms, struct ray_want *wants, uint32_t count);
/* The same with at most one of all wants in a room, and none in a room that has the label already (an empty key: no such label). Where each
 * went is kept in `put`, which has room for all, until it is taken back or meant. Returns how many were put. */
struct ray_put {
    struct ray_room *room;
    const struct ray_shape *shape;
    bool was_used;
};
uint32_t ray_pack_spread(const struct ray_rooms *rooms, struct ray_want *wants, uint32_t count, const struct ray_label *label,
                         struct ray_put *put);
void ray_pack_take_back(const struct ray_put *put, uint32_t count);

/* A kind of node that may be added: a worker group. */
struct ray_supply {
    struct slice name;
    struct ray_room full; /* of one node, unused */
    int32_t hosts;        /* nodes that only come together */
    int32_t priority;     /* the higher one is chosen when several fit */
    int64_t left;         /* nodes of it that may still come */
    int64_t added;        /* out: nodes of it that should */
};
struct ray_score {
    int32_t rank;      /* a selector that is to be tried earlier is met */
    bool gpu_ok;       /* no GPUs, or somebody asks for them */
    uint32_t matching; /* resources of it that somebody asks for */
    double least, mean;
};
/* How well a room would be filled by these wants in their order; false: none of them fits, or it has not one whole unit of anything. */
bool ray_pack_score(const struct ray_pack *p, const struct ray_room *full, struct ray_want *wants, uint32_t count, struct ray_score *out);
/* Adds nodes, each time of the kind with the best score (then of the greatest name), until nothing is left to place, no kind helps, or
 * `room` nodes have been added. Takes off the wants what the new nodes hold. */
void ray_pack_choose(const struct ray_pack *p, struct ray_supply *kinds, uint32_t kind_count, struct ray_want *wants, uint32_t count,
                     int64_t room);
/* The same for a spread: each new node holds one want. */
void ray_pack_choose_spread(const struct ray_pack *p, struct ray_supply *kinds, uint32_t kind_count, struct ray_want *wants, uint32_t count,
                            int64_t room);
/* Whether a node with these labels meets one of the request's selectors; *at is which, from 0. */
bool ray_selected(const struct ray_request *r, const struct ray_label *labels, uint32_t label_count, uint32_t *at);

#endif
