/* Rolling update of workers of an older template (annotation RAY_ANNOTATION_ROLL): group after group, in the order of the spec, while the
 * other workers serve. All state is in the pods and in Ray: the template hash marks old pods, and Ray knows the nodes that drain, so a new
 * leader continues the update. An old worker whose Ray runs is drained by Ray (drain.c), which counts as terminating, then deleted.
 *
 * A group has D desired replicas, a surge S (maxSurgePercent, rounded up) and a limit U of unavailable replicas (maxUnavailablePercent,
 * rounded down); S or U is at least 1, and at most S + U replicas terminate at a time. A surge replica is created while live and
 * terminating replicas are fewer than D + S. An old replica is deleted only while at least D - U other replicas are up. When a new replica
 * fails, no old replica is deleted until its successor is up, except for surplus ones after a scale-down. An autoscaler counts every pod,
 * surge replicas included, so in a scaled cluster S is 0 and U is at least 1.
 *
 * A worker is old if its annotation RAY_ANNOTATION_HASH differs from the hash of its group (hash.c). The hash is made from the spec, not
 * from the pod that a version of the operator builds, and tests pin its values: an update of the operator starts no rolling update. */
#include "decide.h"

enum { SETTLED_MS = 60 * 1000 };

/* A replica: one pod, or all pods of one index where a replica has several hosts. */
struct unit {
    uint32_t from, to; /* in group_view.pods */
    bool live, old, up;
    bool runs;                /* Ray runs in one of its pods */
    bool drains, drained;     /* Ray is to drain its nodes, or does; or that has ended, and no pod of it is deleted yet */
    const struct pod *bad;    /* a pod that failed or cannot start; NULL: none */
    const struct pod *down;   /* a live pod that is not up; NULL: none */
    const struct pod *ending; /* a pod that terminates or drains, or that workersToDelete names (this plan deletes it); NULL: none */
};

struct tally {
    int32_t all, going, fresh, fresh_down, up, old, old_head; /* replicas; all: live ones; old_head: created for an earlier head */
    int32_t drain; /* part of `going`: replicas that drain, or have drained and are deleted by this plan */
    const struct pod *bad, *down, *ending;
};

/* A new node of a RayService runs no Serve replica yet, so no Serve proxy, and its pod is not ready. It counts as up once its Ray container
 * has run for SETTLED_MS without a restart, because Serve can place replicas there. An old node that is not ready does not count as up, nor
 * does a pod with another container that fails. */
static bool is_up(const struct group_view *g, const struct pod *pod, bool old, int64_t *again_ms)
{
    if (pod->ready || old || !g->in->cluster->serves || !pod->run_us || pod->restarted || !slice_empty(pod->reason))
        return pod->ready;
    int64_t left_ms = SETTLED_MS - (g->in->now.wall_us - pod->run_us) / 1000;
    if (left_ms > 0 && left_ms < *again_ms)
        *again_ms = left_ms;
    return left_ms <= 0;
}

/* Whether a pod that is not up crashes or cannot start. A crashing Ray container runs for moments between two restarts: that is no start.
 */
static bool cannot_start(const struct pod *pod)
{
    return (pod->restarted && !pod->ready) || slice_ends(pod->reason, SLICE("BackOff")) || slice_find_text(pod->reason, "Err") >= 0 ||
           slice_starts(pod->reason, SLICE("Invalid"));
}

static struct unit read_unit(const struct group_view *g, uint32_t from, int64_t *again_ms)
{
    int32_t up = 0, hosts = g->spec->hosts, index = g->pods[from]->index;
    bool deleted = false, drain = false;
    struct unit u = {.from = from, .to = from + 1};
    /* pods without an index: as many as a replica has hosts count as one replica */
    while (hosts > 1 && u.to < g->count && g->pods[u.to]->index == index && (index >= 0 || u.to - from < (uint32_t)hosts))
        u.to++;
    for (uint32_t i = from; i < u.to; i++) {
        const struct pod *pod = g->pods[i];
        bool live = pod_live(pod), old = live && pod_outdated(pod, g->spec), sure = !pod->ours.asked && !pod->ours.overtaken;
        bool well = live && sure && is_up(g, pod, old, again_ms);
        u.live |= live;
        deleted |= pod->deleting || (live && decide_given_up(g->spec, pod));
        drain |= live && pod->ours.drain;
        u.drains |= live && (pod->ours.drain == POD_DRAIN_ASKED || pod->ours.drain == POD_DRAIN_UNDER_WAY);
        u.runs |= live && pod->run_us;
        u.ending = pod->ours.drain || pod->deleting || (live && decide_given_up(g->spec, pod)) ? pod : u.ending;
        u.old |= old;
        up += well;
        if (live && !well)
            u.down = pod;
        if ((pod_failed(pod) && !pod->ours.drain) || (live && !well && cannot_start(pod)))
            u.bad = pod;
    }
    u.up = up >= hosts;
    u.drains &= !deleted;
    u.drained = drain && !u.drains && !deleted;
    return u;
}

static struct tally tally_of(const struct group_view *g, const struct pod *head, int64_t *again_ms)
{
    struct tally t = {0};
    for (uint32_t i = 0; i < g->count;) {
        struct unit u = read_unit(g, i, again_ms);
        bool counts = u.live && !u.ending;
        t.all += counts;
        t.going += u.ending != NULL;
        t.drain += u.drains || u.drained;
        t.old += counts && u.old;
        t.old_head += counts && u.old && head->hash && g->pods[i]->created_us < head->created_us;
        t.fresh += counts && !u.old;
        t.fresh_down += counts && !u.old && !u.up;
        t.up += counts && u.up;
        t.bad = u.bad && !(counts && u.old) ? u.bad : t.bad;
        t.down = counts && !u.old && !u.up ? u.down : t.down;
        t.ending = u.ending ? u.ending : t.ending;
        i = u.to;
    }
    return t;
}

static void set_budget(const struct group_view *g, struct roll *r)
{
    const struct ray_roll *roll = &g->in->cluster->roll;
    int64_t want = g->spec->desired;
    r->surge = g->named_only ? 0 : (int32_t)((want * roll->surge + 99) / 100);
    r->unavailable = (int32_t)(want * roll->unavailable / 100);
    if (r->surge + r->unavailable == 0)
        r->unavailable = 1; /* a surge above 0 is never rounded to 0 */
}

static bool stop_for(struct roll *r, struct slice why)
{
    r->stopped = true;
    r->why = why;
    return false;
}

/* Whether old replicas may be replaced; if not, r->why names the pod that failed, or another cause. */
static bool may_go_on(const struct group_view *g, const struct tally *t, struct roll *r, struct arena *a)
{
    const struct group_failures *f = g->failures;
    /* When a faulty template is corrected, its replicas may take up the whole budget. Then no replica of the corrected one can be created
     * before some are deleted, so the failures of the faulty one must not stop that. */
    bool lacks = t->fresh_down > 0 || t->all < g->spec->desired || (t->fresh == 0 && t->all < g->spec->desired + r->surge);
    if (g->spec->blocked)
        return stop_for(r, g->spec->blocked_text);
    if (t->bad && pod_failed(t->bad))
        return stop_for(r, pod_failure_text(t->bad, a));
    if (t->bad)
        return stop_for(
            r, arena_printf(a, "pod %s: %.*s", t->bad->name, SLICE_ARG(slice_empty(t->bad->words) ? t->bad->reason : t->bad->words)));
    if (f->count && (lacks || g->in->now.mono_ms < f->not_before_ms))
        return stop_for(r, slice_of(f->reason));
    if (t->down)
        r->why = arena_printf(a, "pod %s is not up yet%s%.*s", t->down->name, slice_empty(t->down->words) ? "" : ": ",
                              SLICE_ARG(t->down->words));
    return true;
}

/* Pods in which Ray does not run are not drained: they are deleted with the other pods of their replica, once those have drained. */
static void mark_replaced(const struct group_view *g, const struct unit *u, struct roll *r)
{
    bool drains = u->runs && g->in->drains && !u->drained;
    for (uint32_t i = u->from; i < u->to; i++) {
        r->drain[i] = drains && pod_live(g->pods[i]) && g->pods[i]->run_us;
        r->gone[i] = !drains && pod_live(g->pods[i]);
    }
}

static void mark_drained(const struct group_view *g, struct roll *r)
{
    int64_t again_ms = TIME_NEVER;
    for (uint32_t i = 0; i < g->count;) {
        struct unit u = read_unit(g, i, &again_ms);
        if (u.drained)
            mark_replaced(g, &u, r);
        i = u.to;
    }
}

/* Replicas above the desired number and the surge, after a scale-down or a suspension. 0 if an autoscaler names the pods to delete. */
static int32_t surplus_of(const struct group_view *g, const struct tally *t, const struct roll *r)
{
    int32_t n = t->all - g->spec->desired - r->surge;
    return g->named_only || n < 0 ? 0 : n;
}

/* Marks the old replicas that this plan deletes, or has Ray drain: first the replicas that are not up, which serve nothing. A replica with
 * an outdated state (a newer resourceVersion exists) is kept. replace: within the budget too, else only surplus replicas. */
static void pick_old(const struct group_view *g, const struct tally *t, bool replace, struct roll *r)
{
    int32_t least = g->spec->desired - (replace ? r->unavailable : 0), may = t->all - least - t->fresh_down, up = t->up;
    int32_t most = surplus_of(g, t, r) + (replace ? r->surge + r->unavailable - t->going : 0);
    may = may < most ? may : most; /* a terminating pod still holds its node, maybe beside its successor */
    int64_t again_ms = TIME_NEVER;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < g->count && may > 0;) {
            struct unit u = read_unit(g, i, &again_ms);
            bool unsure = u.down && u.down->ours.overtaken && !u.down->ours.asked;
            i = u.to;
            if (!u.live || u.ending || !u.old || unsure || u.up != (pass == 1) || (u.up && up - 1 < least))
                continue;
            mark_replaced(g, &u, r);
            up -= u.up;
            may--;
        }
}

/* earlier: why an earlier group is not complete; empty: it is. While it is not, this group only keeps the surge replicas it has. */
static void roll_group(const struct group_view *g, const struct tally *t, struct slice earlier, struct roll *r, struct arena *a)
{
    set_budget(g, r);
    int32_t want = g->spec->desired, lacks = want - t->fresh, room = want + r->surge - t->all - t->going;
    int32_t more = !slice_empty(earlier) ? 0 : lacks < room ? lacks : room, hold = t->all + t->drain + (more > 0 ? more : 0);
    r->number = g->number;
    r->extra = hold > want ? hold - want : 0;
    r->gone = arena_array(a, g->count + 1, sizeof *r->gone);
    r->drain = arena_array(a, g->count + 1, sizeof *r->drain);
    bool replace = slice_empty(earlier) && may_go_on(g, t, r, a);
    int64_t wait_ms = g->in->workers_from_ms - g->in->now.mono_ms; /* a DELETE of the previous leader may be in flight */
    if (!slice_empty(earlier))
        r->why = earlier;
    else if (slice_empty(r->why) && t->ending && !t->ending->deleting && t->ending->ours.drain)
        r->why = arena_printf(a, "Ray drains pod %s: its tasks end, and Serve moves its replicas to other nodes", t->ending->name);
    else if (slice_empty(r->why) && t->ending)
        r->why = arena_printf(a, "pod %s is not deleted yet%s%.*s", t->ending->name, slice_empty(t->ending->words) ? "" : ": ",
                              SLICE_ARG(t->ending->words));
    if (wait_ms <= 0) {
        mark_drained(g, r);
        pick_old(g, t, replace, r);
    } else if (wait_ms < r->again_ms) {
        r->again_ms = wait_ms;
    }
}

/* Why the next groups wait for this one, which has no old pods; empty: they do not. */
static struct slice unsettled(const struct group_view *g, const struct tally *t, struct roll *r, struct arena *a)
{
    if (!t->bad && !t->fresh_down && t->all >= g->spec->desired)
        return SLICE("");
    may_go_on(g, t, r, a);
    return arena_printf(a, "group %.*s: %.*s", SLICE_ARG(g->spec->name),
                        SLICE_ARG(slice_empty(r->why) ? SLICE("not all of its pods exist") : r->why));
}

struct roll decide_roll(const struct group_view *groups, const struct pod *head, struct arena *a)
{
    const struct cluster_view *in = groups[0].in;
    struct roll r = {.number = GROUP_NONE, .again_ms = TIME_NEVER};
    struct slice earlier = SLICE("");
    if (!in->cluster->roll.on || !head || pod_outdated(head, &in->cluster->head))
        return r;
    for (uint32_t k = 1; k <= in->cluster->group_count && r.number == GROUP_NONE; k++) {
        struct tally t = tally_of(&groups[k], head, &r.again_ms);
        if (t.old_head) /* workers of an earlier head are all replaced at once, with their head */
            continue;
        if (t.old || t.drain)
            roll_group(&groups[k], &t, earlier, &r, a);
        else if (slice_empty(earlier))
            earlier = unsettled(&groups[k], &t, &r, a);
    }
    return r;
}
