/* Rolling replacement of workers of an older template (annotation RAY_ANNOTATION_ROLL): group after group, in the order of the spec, while
 * the others serve. The state is in the pods alone: their template hash says which are old, so any operator goes on where the last one was.
 *
 * Of D replicas of a group, S may be extra at a time (maxSurgePercent, rounded up) and U may be missing (maxUnavailablePercent, rounded
 * down); at least one of both is 1, and no more than S + U end at a time. An extra replica is created while the live and the ending ones
 * are fewer than D + S. An old one is deleted only while at least D - U others are up. When a new one fails, no old one is deleted until
 * its successor is up; only what a scale-down makes surplus is. An autoscaler counts every pod as its own, so there S is 0 and U is at
 * least 1.
 *
 * An old worker is one whose annotation RAY_ANNOTATION_HASH differs from the hash of its group (hash.c). That is made of the spec, not of
 * the pod that a version of the operator builds from it, and tests pin its values: an update of the operator begins no replacement. */
#include "decide.h"

enum { SETTLED_MS = 60 * 1000 };

/* A replica: one pod, or all pods of one index where a replica has several hosts. */
struct unit {
    uint32_t from, to; /* in group_view.pods */
    bool live, old, up;
    const struct pod *bad;    /* it failed, or cannot start; NULL: none */
    const struct pod *down;   /* it lives and is not up; NULL: none */
    const struct pod *ending; /* it ends, or workersToDelete names it, so this plan deletes it; NULL: none */
};

struct tally {
    int32_t all, going, fresh, fresh_down, up, old, old_head; /* replicas; all: live ones; old_head: made for an earlier head */
    const struct pod *bad, *down, *ending;
};

/* A new node of a RayService has no replica of an application, so no Serve proxy, and its pod is not ready: after a minute of Ray without a
 * restart it counts, as it is there to take replicas. An old node that is not ready, or a pod of which another container fails, does not.
 */
static bool is_up(const struct group_view *g, const struct pod *pod, bool old, int64_t *again_ms)
{
    if (pod->ready || old || !g->in->cluster->serves || !pod->run_us || pod->restarted || !slice_empty(pod->reason))
        return pod->ready;
    int64_t left_ms = SETTLED_MS - (g->in->now.wall_us - pod->run_us) / 1000;
    if (left_ms > 0 && left_ms < *again_ms)
        *again_ms = left_ms;
    return left_ms <= 0;
}

/* Of a pod that is not up. A Ray container that was restarted runs for moments between two ends: that is no start. */
static bool cannot_start(const struct pod *pod)
{
    return (pod->restarted && !pod->ready) || slice_ends(pod->reason, SLICE("BackOff")) || slice_find_text(pod->reason, "Err") >= 0 ||
           slice_starts(pod->reason, SLICE("Invalid"));
}

static struct unit read_unit(const struct group_view *g, uint32_t from, int64_t *again_ms)
{
    int32_t up = 0, hosts = g->spec->hosts, index = g->pods[from]->index;
    struct unit u = {.from = from, .to = from + 1};
    /* of pods without an index as many as a replica has hosts stand for one */
    while (hosts > 1 && u.to < g->count && g->pods[u.to]->index == index && (index >= 0 || u.to - from < (uint32_t)hosts))
        u.to++;
    for (uint32_t i = from; i < u.to; i++) {
        const struct pod *pod = g->pods[i];
        bool live = pod_live(pod), old = live && pod_outdated(pod, g->spec), sure = !pod->ours.asked && !pod->ours.overtaken;
        bool well = live && sure && is_up(g, pod, old, again_ms);
        u.live |= live;
        u.ending = pod->deleting || (live && decide_given_up(g->spec, pod)) ? pod : u.ending;
        u.old |= old;
        up += well;
        if (live && !well)
            u.down = pod;
        if (pod_failed(pod) || (live && !well && cannot_start(pod)))
            u.bad = pod;
    }
    u.up = up >= hosts;
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
    bool lacks = t->fresh_down > 0 || t->all < g->spec->desired || (t->fresh == 0 && r->surge > 0);
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

static void mark_deleted(const struct group_view *g, const struct unit *u, struct roll *r)
{
    for (uint32_t i = u->from; i < u->to; i++)
        r->gone[i] = pod_live(g->pods[i]);
}

/* Replicas beyond those that the spec and the surge ask for: the group was scaled down, or suspended. An autoscaler names those itself. */
static int32_t surplus_of(const struct group_view *g, const struct tally *t, const struct roll *r)
{
    int32_t n = t->all - g->spec->desired - r->surge;
    return g->named_only || n < 0 ? 0 : n;
}

/* Marks the old replicas that this plan deletes. Those that are not up come first: nothing is lost with them. One whose state is not known
 * (a newer version exists) is kept. replace: also those that have a successor, or may be missing; else surplus ones only. */
static void pick_old(const struct group_view *g, const struct tally *t, bool replace, struct roll *r)
{
    int32_t least = g->spec->desired - (replace ? r->unavailable : 0), may = t->all - least - t->fresh_down, up = t->up;
    int32_t most = surplus_of(g, t, r) + (replace ? r->surge + r->unavailable - t->going : 0);
    may = may < most ? may : most; /* a pod that ends holds its node still, maybe beside its successor */
    int64_t again_ms = TIME_NEVER;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < g->count && may > 0;) {
            struct unit u = read_unit(g, i, &again_ms);
            bool unsure = u.down && u.down->ours.overtaken && !u.down->ours.asked;
            i = u.to;
            if (!u.live || u.ending || !u.old || unsure || u.up != (pass == 1) || (u.up && up - 1 < least))
                continue;
            mark_deleted(g, &u, r);
            up -= u.up;
            may--;
        }
}

/* earlier: what keeps an earlier group from being complete; empty: nothing. This group keeps its extra replicas meanwhile. */
static void roll_group(const struct group_view *g, const struct tally *t, struct slice earlier, struct roll *r, struct arena *a)
{
    set_budget(g, r);
    int32_t want = g->spec->desired, lacks = want - t->fresh, room = want + r->surge - t->all - t->going;
    int32_t more = !slice_empty(earlier) ? 0 : lacks < room ? lacks : room, hold = t->all + (more > 0 ? more : 0);
    r->number = g->number;
    r->extra = hold > want ? hold - want : 0;
    r->gone = arena_array(a, g->count + 1, sizeof *r->gone);
    bool replace = slice_empty(earlier) && may_go_on(g, t, r, a);
    int64_t wait_ms = g->in->workers_from_ms - g->in->now.mono_ms; /* a DELETE by the previous leader may be on its way */
    if (!slice_empty(earlier))
        r->why = earlier;
    else if (slice_empty(r->why) && t->ending)
        r->why = arena_printf(a, "pod %s is not gone yet%s%.*s", t->ending->name, slice_empty(t->ending->words) ? "" : ": ",
                              SLICE_ARG(t->ending->words));
    if (wait_ms <= 0)
        pick_old(g, t, replace, r);
    else if (wait_ms < r->again_ms)
        r->again_ms = wait_ms;
}

/* Why the next groups wait for this one, which has no old pods; empty: they do not. */
static struct slice unsettled(const struct group_view *g, const struct tally *t, struct roll *r, struct arena *a)
{
    if (!t->bad && !t->fresh_down && t->all >= g->spec->desired)
        return SLICE("");
    may_go_on(g, t, r, a);
    return arena_printf(a, "group %.*s: %.*s", SLICE_ARG(g->spec->name),
                        SLICE_ARG(slice_empty(r->why) ? SLICE("not all of its pods are there") : r->why));
}

struct roll decide_roll(const struct group_view *groups, uint32_t count, const struct pod *head, struct arena *a)
{
    const struct cluster_view *in = groups[0].in;
    struct roll r = {.number = GROUP_NONE, .again_ms = TIME_NEVER};
    struct slice earlier = SLICE("");
    if (!in->cluster->roll.on || !head || pod_outdated(head, &in->cluster->head))
        return r;
    for (uint32_t k = 1; k < count && r.number == GROUP_NONE; k++) {
        struct tally t = tally_of(&groups[k], head, &r.again_ms);
        if (t.old_head) /* they follow their head, all at once */
            continue;
        if (t.old)
            roll_group(&groups[k], &t, earlier, &r, a);
        else if (slice_empty(earlier))
            earlier = unsettled(&groups[k], &t, &r, a);
    }
    return r;
}
