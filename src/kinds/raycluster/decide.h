/* Inside raycluster: the parts that a decision about a RayCluster is made of. */
#ifndef MOBULA_RAYCLUSTER_DECIDE_H
#define MOBULA_RAYCLUSTER_DECIDE_H

#include <mobula/raycluster.h>
#include <mobula/spec.h>

/* roll.c: the group that a rolling update (annotation RAY_ANNOTATION_ROLL) replaces now, and the old pods to delete. */
struct roll {
    int32_t number;             /* the group, as in actions; GROUP_NONE: no rolling update is in progress */
    int32_t surge, unavailable; /* the group's budget, in replicas */
    int32_t extra;              /* surge replicas to create or keep */
    bool *gone, *drain;         /* for each pod of the group, in the order of the view: delete it now, or have Ray drain it first */
    bool stopped;               /* a new pod failed: no old one is deleted */
    struct slice why;           /* why the update is stopped, or what it waits for; empty: nothing */
    int64_t again_ms;           /* monotonic: when a pod that is not ready may count as up; TIME_NEVER: only when it is ready */
};

/* The pods of one group, and what may be done for it now. */
struct group_view {
    const struct cluster_view *in;
    const struct ray_group *spec;
    const struct group_failures *failures;
    int32_t number;          /* as in actions */
    const struct pod **pods; /* of this group, sorted by index, then age */
    uint32_t count;
    bool held;               /* no pod is created: there is no head that could be joined, no room for it, or the group is blocked */
    const struct roll *roll; /* NULL: no rolling update of this group */
    bool named_only;         /* an autoscaler, ours or KubeRay's, names the pods to delete: surplus pods are not picked here */
};

struct group_view *decide_group_views(const struct cluster_view *in, struct arena *a); /* the head's, then those of the worker groups */
/* head: the live one; NULL: none. */
struct roll decide_roll(const struct group_view *groups, const struct pod *head, struct arena *a);

int32_t decide_want(const struct group_view *g); /* replicas, with the surge of a rolling update */

/* Whether the group's outdated pods may be given up: the spec asks for it and the API server has taken the new template in a dry run, which
 * is planned (and waited for) when it has not been tried yet. */
enum renewal { RENEWAL_NONE, RENEWAL_TRIED, RENEWAL_DUE };
enum renewal decide_renewal(const struct group_view *g, struct plan *p);

/* Counts new failures and forgets old ones. Returns whether pods may be created in this group now; else the plan looks again in time. */
bool decide_failures(const struct group_view *g, struct plan *p);
/* How many pods (or replicas) may be created now. After a failure one, then three times as many as have been created since: what fails for
 * one fails for a thousand, and need not be asked a thousand times. Created as we saw it: a pod's own time is by the API server's clock,
 * that of the failure by ours. */
int32_t decide_attempts(const struct group_view *g);
/* market.c: plans that the group leaves spot, or looks again in time. */
void decide_market(const struct group_view *g, struct plan *p);
bool market_on_demand(const struct group_view *g); /* pods that are created now are on-demand ones */
/* Whether pods of another zone are going, or the zone is changed: nothing else is decided. head, groups: of the view, head first. */
bool decide_zone(const struct group_view *groups, uint32_t count, struct plan *p);
/* Why a pod that waits for a node is made again: the group has left spot, or it has waited too long; NULL: it stays. */
const char *market_lost(const struct group_view *g, const struct pod *pod);
/* Whether workersToDelete holds its name. */
bool decide_given_up(const struct ray_group *spec, const struct pod *pod);
/* The uid of a pod that has the name for this index and does not count: the new one is named as its successor. Empty: the name is free. */
struct slice decide_held(const struct group_view *g, int32_t index);
/* Whether the pod that would be made at this index has a name that workersToDelete still holds, of an earlier one: it would go at once. */
bool decide_named(const struct group_view *g, int32_t index, struct slice replaces_uid, struct arena *a);
/* A pod that must go: as it was seen, when the autoscaler has given it up for having not started. */
void decide_delete(const struct group_view *g, const struct pod *pod, const char *why, struct plan *p);
/* Whether all is seen by now that was sent by who decided before; else the plan looks again in time. What a new pod is called may depend on
 * one that was there then: on its uid, or on which number its replica of several hosts had. The name of a head does not, nor that of a host
 * that its replica lacks. */
bool decide_heard_out(const struct group_view *g, struct plan *p);
/* Returns the head that stays; NULL: there is none. */
const struct pod *decide_head(const struct group_view *g, struct plan *p);
/* Workers are created when the head has been, so that they take neither its node nor its share of a quota. What keeps them from it: */
enum head_first {
    HEAD_THERE,   /* nothing */
    HEAD_MISSING, /* there is none yet, or it is going away */
    HEAD_DENIED,  /* the API server refuses it … */
    HEAD_ROOMLESS /* … or no node has room for it: workers that have not joined a head make room */
};
enum head_first head_first(const struct pod *head, const struct group_failures *failures);
bool head_needs_room(const struct group_view *g, enum head_first first); /* the head's group */
/* Deletes those of the group that make room for the head and takes them out of *g. */
void decide_room(struct group_view *g, struct plan *p);
void decide_workers(const struct group_view *g, struct plan *p);    /* one host per replica */
void decide_multi_host(const struct group_view *g, struct plan *p); /* replicas live and die as a whole */
/* Pods that must go in any case (named by workersToDelete, outdated where the spec says so) and doubted ones, *gone of them, stand at the
 * end of keep afterwards, which has g->count places; what stays live stands at its front. Returns the number of these. */
uint32_t decide_keep(const struct group_view *g, const struct pod **keep, uint32_t *gone, struct plan *p);

/* ingress.c */
void decide_ingress(const struct cluster_view *in, struct plan *p);

/* Adds the status patch when something in it changed, and events that belong to a change. */
void decide_status(const struct cluster_view *in, struct plan *p);

/* Whether the cluster is to have no pods. A suspension that has begun, as status tells, goes on until its pods are gone and status says so,
 * whatever the spec says meanwhile: who suspends counts on getting all of the room, or, if the spec is changed before, none. */
enum suspension { SUSPENSION_NONE, SUSPENSION_BEGINS, SUSPENSION_GOES_ON };
enum suspension suspension_of(const struct cluster_view *in, struct jval status);

#endif
