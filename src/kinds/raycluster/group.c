/* The workers of one group whose replicas are single pods.
 *
 * Invariant: a place (index) is held by at most one live pod. A pod that failed holds its place until its successor is created, and is
 * deleted right after it: so its logs stay as long as the group waits, and every prefix of the plan has the place held at most once by a
 * pod that runs. The successor's name is made of the failed pod's uid, so that a lost answer leads to AlreadyExists, never to a twin. */
#include "decide.h"

#include <stdlib.h>

enum { WELL_AGAIN_MS = 60 * 1000 };

/* Whether the failures are refusals of pods, which are over as soon as all pods are there. Pods that ended may end again. A refused service
 * counts for the head, too: answer_service forgets it. An autoscaler takes back a launch that was refused: then all pods are there, but the
 * refusal is over only when a pod could be made. */
static bool is_refusal(const struct group_view *g)
{
    const struct group_failures *f = g->failures;
    return (f->made || !g->named_only) && f->ends == 0 && !f->ended && !slice_starts(slice_of(f->reason), SLICE(POD_REASON_SERVICE));
}

int32_t decide_want(const struct group_view *g)
{
    return g->spec->desired + (g->roll ? g->roll->extra : 0);
}

bool decide_failures(const struct group_view *g, struct plan *p)
{
    bool counted = false, refused = is_refusal(g);
    int64_t well = 0; /* pods */
    for (uint32_t i = 0; i < g->count; i++) {
        const struct pod *pod = g->pods[i];
        well += pod_live(pod) && pod->orphan == POD_OWNED && (refused || pod->ready);
        if (!pod_failed(pod) || pod->ours.counted)
            continue;
        struct action *act = plan_add(p, &raycluster_count_failure);
        act->group = g->number;
        act->uid = slice_of(pod->uid);
        act->text = pod_failure_text(pod, p->arena);
        counted = true;
    }
    if (counted)
        return false; /* how long to wait is known when it has been counted: the next plan, at once */
    const struct group_failures *f = g->failures;
    if (f->count && well == (int64_t)g->count && well == (int64_t)decide_want(g) * g->spec->hosts) {
        /* By the monotonic clock: a wall clock that is set back would make the failure one of the future. */
        int64_t forget_ms = f->not_before_ms + plan_backoff_ms(f->count, 0) + WELL_AGAIN_MS;
        if (refused || g->in->now.mono_ms >= forget_ms)
            plan_add(p, &raycluster_forget_failures)->group = g->number;
        else
            plan_look_again(p, forget_ms);
    }
    if (f->count && g->in->now.mono_ms < f->not_before_ms) {
        plan_look_again(p, f->not_before_ms);
        return false;
    }
    return true;
}

int32_t decide_attempts(const struct group_view *g)
{
    const struct group_failures *f = g->failures;
    return f->count && f->made < INT32_MAX / 2 ? (int32_t)(1 + 2 * f->made) : INT32_MAX;
}

/* The live head pod if it was made from the present template; else NULL. Outdated workers older than this head are replaced: nothing may
 * listen any more at the GCS address that they were made with. */
static const struct pod *head_to_follow(const struct group_view *g)
{
    const struct pod *head = NULL;
    for (uint32_t i = 0; i < g->in->pod_count && !g->spec->head; i++)
        if (g->in->pods[i]->head && pod_live(g->in->pods[i]))
            head = g->in->pods[i];
    return head && head->hash && !pod_outdated(head, &g->in->cluster->head) ? head : NULL;
}

static bool to_renew(const struct group_view *g, const struct pod *pod, const struct pod *head)
{
    return pod_live(pod) && pod_outdated(pod, g->spec) && (g->in->cluster->recreate || (head && pod->created_us < head->created_us));
}

enum renewal decide_renewal(const struct group_view *g, struct plan *p)
{
    bool outdated = false;
    const struct pod *head = head_to_follow(g);
    for (uint32_t i = 0; i < g->count && !outdated; i++)
        outdated = to_renew(g, g->pods[i], head);
    if (!outdated || g->spec->blocked)
        return RENEWAL_NONE;
    if (g->failures->accepted == g->spec->hash)
        return RENEWAL_DUE;
    if (g->failures->refused == g->spec->hash && g->in->now.mono_ms < g->failures->try_ms) {
        plan_look_again(p, g->failures->try_ms);
        return RENEWAL_NONE;
    }
    struct action *act = plan_add(p, &raycluster_try_pod);
    act->group = g->number;
    act->index = 0;
    return RENEWAL_TRIED;
}

bool decide_given_up(const struct ray_group *spec, const struct pod *pod)
{
    struct slice name = slice_of(pod->name);
    for (uint32_t i = 0; i < spec->workers_to_delete_count; i++)
        if (slice_eq(spec->workers_to_delete[i], name))
            return true;
    return false;
}

/* The autoscaler gives up what has not started without a word to the head; what runs is the head's to drain. */
void decide_delete(const struct group_view *g, const struct pod *pod, const char *why, struct plan *p)
{
    bool named = decide_given_up(g->spec, pod), drained = named || pod_failed(pod);
    bool given_up = g->in->by_name && pod->phase == POD_PENDING && !pod->ours.overtaken && named;
    if (given_up || pod->gave_up) /* the kubelet starts its wait again: it may have joined since */
        plan_delete_as_seen(p, pod, g->number, why);
    else
        plan_delete(p, pod, g->number, why)->text = drained ? pod_drained_text(pod, p->arena) : SLICE_NONE;
}

struct slice decide_held(const struct group_view *g, int32_t index)
{
    for (uint32_t i = 0; i < g->in->held_count; i++)
        if (g->in->held[i].group == g->number && g->in->held[i].index == index)
            return g->in->held[i].uid;
    return SLICE_NONE;
}

bool decide_named(const struct group_view *g, int32_t index, struct slice replaces_uid, struct arena *a)
{
    if (g->spec->workers_to_delete_count == 0)
        return false;
    struct slice name = ray_worker_pod_name(g->in->cluster, g->spec, index, replaces_uid, a);
    for (uint32_t i = 0; i < g->spec->workers_to_delete_count; i++)
        if (slice_eq(g->spec->workers_to_delete[i], name))
            return true;
    return false;
}

uint32_t decide_keep(const struct group_view *g, const struct pod **keep, uint32_t *gone, struct plan *p)
{
    uint32_t kept = 0, going = 0;
    bool renew = decide_renewal(g, p) == RENEWAL_DUE;
    const struct pod *head = head_to_follow(g);
    for (uint32_t i = 0; i < g->count; i++) {
        const struct pod *pod = g->pods[i];
        if (pod_doubted(pod))
            keep[g->count - ++going] = pod;
        if (!pod_live(pod))
            continue;
        bool named = decide_given_up(g->spec, pod);
        const char *lost = named ? NULL : market_lost(g, pod);
        if (lost) {
            plan_delete_as_seen(p, pod, g->number, lost);
            keep[g->count - ++going] = pod;
            continue;
        }
        if (!named && !(renew && to_renew(g, pod, head)) && !(g->roll && g->roll->gone[i])) {
            keep[kept++] = pod;
            continue;
        }
        decide_delete(g, pod,
                      !named           ? "made from an older template"
                      : g->in->by_name ? "given up by the autoscaler"
                                       : "named in workersToDelete",
                      p);
        keep[g->count - ++going] = pod;
    }
    *gone = going;
    return kept;
}

/* Scale-down order: 1. pods whose earlier DELETE may still take effect (else we would lose two); 2. not ready; 3. possibly ready (our view
 * is outdated); 4. ready. Ties: youngest first, then highest index. */
static int compare_victims(const void *a, const void *b)
{
    const struct pod *x = *(const struct pod *const *)a, *y = *(const struct pod *const *)b;
    if (x->ours.asked != y->ours.asked)
        return x->ours.asked ? -1 : 1;
    if (x->ready != y->ready)
        return x->ready ? 1 : -1;
    if (x->ours.overtaken != y->ours.overtaken)
        return x->ours.overtaken ? 1 : -1;
    if (x->created_us != y->created_us)
        return x->created_us > y->created_us ? -1 : 1;
    if (x->index != y->index)
        return x->index > y->index ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Which places are held: held[i] for i < places. Pods without an index, or with one that is taken, hold the lowest free place. */
static void mark_places(const struct pod **live, uint32_t count, bool *held, int32_t places)
{
    uint32_t homeless = 0;
    for (uint32_t i = 0; i < count; i++) {
        int32_t at = live[i]->index;
        if (at >= 0 && at < places && !held[at])
            held[at] = true;
        else
            homeless++;
    }
    for (int32_t at = 0; at < places && homeless; at++)
        if (!held[at]) {
            held[at] = true;
            homeless--;
        }
}

/* The youngest pod at this index that no longer counts: what a new one replaces. g->pods is sorted by index, then age. */
static const struct pod *predecessor(const struct group_view *g, int32_t index)
{
    uint32_t low = 0, high = g->count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (g->pods[mid]->index <= index)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && g->pods[low - 1]->index == index && !pod_live(g->pods[low - 1]) ? g->pods[low - 1] : NULL;
}

/* Returns whether all were planned: after a failure they are few at first. The places of pods that go are filled by the next plan, in which
 * a successor is named after them: named now, it might be called as they are, who still hold that name. Those of doubted pods are filled
 * when it is known that they are gone. */
static bool create_missing(const struct group_view *g, const struct pod **live, uint32_t count, uint32_t going, int32_t want,
                           struct plan *p)
{
    /* A scaled-down group may keep a pod at a high index: places reach as far as any pod kept, so that nobody's index is given twice. */
    int32_t places = want + (int32_t)(count + going);
    bool *held = arena_array(p->arena, (size_t)places + 1, sizeof *held);
    mark_places(live, count, held, places);
    mark_places(live + g->count - going, going, held, places);
    int32_t missing = want - (int32_t)(count + going), attempts = decide_attempts(g);
    bool all = missing <= attempts && going == 0;
    missing = missing <= attempts ? missing : attempts;
    for (int32_t at = 0; missing > 0; at++) {
        const struct pod *old = predecessor(g, at);
        struct slice replaces = old ? slice_of(old->uid) : decide_held(g, at);
        if ((at < places && held[at]) || decide_named(g, at, replaces, p->arena))
            continue;
        missing--;
        struct action *act = plan_add(p, &raycluster_create_pod);
        act->group = g->number;
        act->index = at;
        act->on_demand = market_on_demand(g);
        act->uid = replaces;
    }
    return all;
}

/* Where some stay, who is not ready goes as it was seen: should it be ready by now, another might be the one. Whoever may be ready keeps
 * its place, and keeps it from being taken from others, until it is known. */
static void delete_surplus(const struct group_view *g, const struct pod **live, uint32_t count, uint32_t want, struct plan *p)
{
    qsort(live, count, sizeof *live, compare_victims);
    for (uint32_t i = 0; i < count - want; i++) {
        if (want && live[i]->ours.overtaken)
            return;
        if (want && !live[i]->ready)
            plan_delete_as_seen(p, live[i], g->number, "more replicas than desired");
        else
            plan_delete(p, live[i], g->number, "more replicas than desired");
    }
}

bool decide_heard_out(const struct group_view *g, struct plan *p)
{
    if (g->in->now.mono_ms >= g->in->workers_from_ms)
        return true;
    plan_look_again(p, g->in->workers_from_ms);
    return false;
}

void decide_workers(const struct group_view *g, struct plan *p)
{
    const struct pod **live = arena_array(p->arena, g->count + 1, sizeof *live);
    bool well = decide_failures(g, p);
    uint32_t going, count = decide_keep(g, live, &going, p);
    int32_t want = decide_want(g);
    bool may_create = well && !g->held && ((int64_t)count >= want || decide_heard_out(g, p)), all = may_create;
    if ((int64_t)count > want && !g->named_only)
        delete_surplus(g, live, count, (uint32_t)want, p);
    else if ((int64_t)count < want && may_create)
        all = create_missing(g, live, count, going, want, p);
    /* A failed pod goes when its successor has been created above, or when nobody needs its place. */
    if ((int64_t)count >= want || all)
        for (uint32_t i = 0; i < g->count; i++)
            if (pod_failed(g->pods[i]))
                decide_delete(g, g->pods[i], "it ended", p);
}
