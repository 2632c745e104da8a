/* scale: the autoscaler, as a pure function of what a head says and of what pods there are, and the bin packing that it rests on. */
#ifndef MOBULA_SCALE_H
#define MOBULA_SCALE_H

#include <mobula/pod.h>

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

/* What the autoscaler has to say, for status. */
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
/* What is asked for. */
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
/* What a node has left. */
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
