/* Inside the autoscaler. Nodes are what Ray counts, replicas what the spec counts: a replica is `hosts` nodes, each in a pod of its own. */
#ifndef MOBULA_SCALE_PRIVATE_H
#define MOBULA_SCALE_PRIVATE_H

#include <mobula/scale.h>

/* ---- Ray's v1 algorithm by itself: which nodes to launch (scale_launch.c) ---- */

struct scale_kind {           /* a worker group */
    struct ray_supply supply; /* name, full, hosts, priority; the rest is scratch */
    int64_t min, max;         /* nodes; min is taken as at most max */
    int64_t count;            /* nodes that are there or ordered … */
    int64_t running, pending; /* … of them such that have joined, and such that have not */
    bool closed;              /* only min may launch it: it fails to start */
    int64_t sure;             /* out: launches that no speed limits: min, request_resources … */
    int64_t bypass;           /* … and placement groups */
    int64_t wanted;           /* out: all that is wanted */
    int64_t launch;           /* out: of that, what may be launched now */
};

struct scale_gang {
    const struct ray_gang *gang;
    struct ray_label label; /* of a STRICT_SPREAD */
    struct ray_want *wants;
    uint32_t count;
    bool unmet; /* out */
};

struct scale_wants {
    struct ray_want *list;
    uint32_t count;
};

struct scale_launch {
    struct ray_pack *pack;
    struct scale_kind *kinds;
    uint32_t kind_count;
    int64_t most;                    /* nodes of all kinds together */
    double speed;                    /* upscalingSpeed */
    struct ray_rooms free, whole;    /* free resources of nodes, and those of idle nodes; in the order in which they are to be filled */
    struct scale_wants *constraints; /* request_resources(); out: what is unmet */
    uint32_t constraint_count;
    struct scale_gang *spreads; /* STRICT_SPREAD groups */
    uint32_t spread_count;
    struct scale_wants groups;  /* bundles of other placement groups */
    struct scale_wants demands; /* those and all else; out: what is unmet */
};
void scale_launch(struct scale_launch *l);
/* Alone, for its vectors: kinds' wanted, sure and bypass are given. */
void scale_launch_limit(struct scale_launch *l);
/* Likewise: only the nodes that are missing to min. */
void scale_launch_min(struct scale_launch *l);

/* ---- which nodes there are (scale_units.c) ---- */

struct scale_member { /* a pod that lives, and what the head says of it */
    const struct pod *pod;
    const struct ray_node *node; /* NULL: it has not joined */
    int32_t group;               /* -1: head */
    uint32_t at;                 /* of the view's pods */
    bool twin;                   /* two nodes say that they are this pod */
};

/* A replica. */
struct scale_unit {
    uint32_t group;
    struct scale_member *members;
    uint32_t count;
    bool joined;     /* every host, and none of them leaves */
    bool leaving;    /* a host drains, or is dead … */
    bool dead;       /* … */
    bool lost;       /* … or runs without Ray for long, which is as good as dead */
    bool started;    /* some pod of it is beyond Pending, or may be */
    bool twins;      /* see scale_member */
    bool victim;     /* it is above a max and will go */
    bool needed;     /* a demand was placed on it */
    bool replaced;   /* a rolling update replaces it: it stands for its successor */
    int64_t idle_ms; /* of the busiest host that has joined, where the others have not started; -1: not idle */
    double busy;     /* mean part of its resources in use */
};

struct scale_scene {
    const struct scale_view *in;
    struct arena *a;
    const struct ray_node *head; /* NULL: no head that lives */
    struct scale_member *members;
    uint32_t member_count;
    struct scale_unit
        *units; /* in the order in which demand is placed on them: the busy ones, the most recently used … those not started */
    uint32_t unit_count;
};
struct scale_scene scale_look(const struct scale_view *in, struct arena *a);
/* Marks units that are lost, and fills the plan's `seen`. */
void scale_find_lost(const struct scale_scene *s, struct scale_plan *p);
/* By group: a joined node of its newest template, that of the least name; NULL: none. */
const struct ray_node **scale_samples(const struct scale_scene *s);

/* ---- which of them go (scale_stop.c) ---- */

/* Marks victims: units above their group's max, and above the cluster's. */
void scale_find_victims(const struct scale_scene *s);
/* Drains, removals and memory of what nobody needs. */
void scale_stop(const struct scale_scene *s, struct scale_plan *p);
/* Without a word of the head: victims that have not started. */
void scale_stop_unheard(const struct scale_scene *s, struct scale_plan *p);

/* ---- in words (scale_say.c) ---- */

/* A name that a head told, fit for a line of text. */
void scale_put_name(struct buf *b, struct slice name);
/* 1.5 for 15000 */
void scale_put_amount(struct buf *b, int64_t amount);
void scale_say(struct scale_plan *p, struct arena *a, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The result for each group, and demands that fit nowhere. */
void scale_explain(const struct scale_scene *s, struct scale_plan *p);
/* The report to the GCS. */
void scale_report(const struct scale_scene *s, struct scale_plan *p);

#endif
