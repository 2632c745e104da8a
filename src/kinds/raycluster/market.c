/* Pods that no node takes.
 *
 * Zones. A cluster with a list of them tries one after the other: when its minimum has no room in one within a time, all of its pods go,
 * and are made for the next. Once the minimum ran there it stays, but when its head finds no node for that time. When each zone was tried,
 * pods that run are not deleted for another try.
 *
 * Groups that prefer spot nodes (PREFER_SPOT). A pod is made for spot. When no node has taken it within the fallback time, the group leaves
 * spot for the retry time: pods that still wait are replaced, and all that are created are on-demand. After the retry time new pods are
 * made for spot again; on-demand pods that run go when the autoscaler finds them idle. */
#include "decide.h"

static int64_t fallback_ms(const struct group_view *g)
{
    int64_t set = g->in->options->spot_fallback_ms;
    return set ? set : RAYCLUSTER_SPOT_FALLBACK_MS;
}

static bool waits(const struct pod *pod)
{
    return pod->unschedulable && pod->phase == POD_PENDING && !pod->deleting && !pod->ours.overtaken;
}

static int64_t age_ms(const struct group_view *g, const struct pod *pod)
{
    return (g->in->now.wall_us - pod->created_us) / 1000;
}

/* Milliseconds until the pod has waited long enough for a spot node; TIME_NEVER: it does not wait for one. */
static int64_t waits_for_ms(const struct group_view *g, const struct pod *pod)
{
    return g->spec->on_demand && !pod->on_demand && waits(pod) ? fallback_ms(g) - age_ms(g, pod) : TIME_NEVER;
}

/* Milliseconds until the pod has waited so long for any node that it is made again; TIME_NEVER: it stays. */
static int64_t stays_for_ms(const struct group_view *g, const struct pod *pod)
{
    int64_t most_ms = g->in->options->unscheduled_ms;
    return g->in->cluster->marketed && most_ms && !g->spec->blocked && waits(pod) ? most_ms - age_ms(g, pod) : TIME_NEVER;
}

bool market_on_demand(const struct group_view *g)
{
    return g->spec->on_demand && g->in->now.mono_ms < g->failures->spot_from_ms;
}

const char *market_lost(const struct group_view *g, const struct pod *pod)
{
    if (market_on_demand(g) && waits_for_ms(g, pod) <= 0)
        return "no spot node has taken it: an on-demand pod takes its place";
    return stays_for_ms(g, pod) <= 0 ? "no node has taken it for too long: it is made again" : NULL;
}

void decide_market(const struct group_view *g, struct plan *p)
{
    for (uint32_t i = 0; i < g->count && !g->spec->blocked; i++) {
        int64_t ms = waits_for_ms(g, g->pods[i]), stays_ms = stays_for_ms(g, g->pods[i]);
        if (stays_ms != TIME_NEVER && stays_ms > 0)
            plan_look_again(p, g->in->now.mono_ms + stays_ms);
        if (ms == TIME_NEVER)
            continue;
        if (ms > 0) {
            plan_look_again(p, g->in->now.mono_ms + ms);
        } else if (!market_on_demand(g)) {
            struct action *act = plan_add(p, &raycluster_leave_spot);
            act->group = g->number;
            act->text = arena_printf(p->arena, "pod %s of group %.*s has had no spot node for %lld s: its pods are on-demand for a while",
                                     g->pods[i]->name, SLICE_ARG(g->spec->name), (long long)(fallback_ms(g) / 1000));
            return;
        }
    }
}

static bool in_zone(const struct group_view *g, const struct pod *pod)
{
    return !pod->zone || g->spec->zoned || pod->zone == pod_zone_hash(g->in->cluster->zone.made_for);
}

/* How much of a group's minimum does not run; *waiting: a pod of it that waits for a node. */
static int64_t lacking(const struct group_view *g, const struct pod **waiting)
{
    const struct ray_group *spec = g->spec;
    int64_t lacks = (int64_t)(g->in->cluster->scale.on && spec->min < spec->desired ? spec->min : spec->desired) * spec->hosts;
    for (uint32_t i = 0; i < g->count; i++)
        lacks -= pod_live(g->pods[i]) && g->pods[i]->phase == POD_RUNNING;
    for (uint32_t i = 0; i < g->count && lacks > 0; i++)
        *waiting = waits(g->pods[i]) ? g->pods[i] : *waiting;
    return lacks > 0 ? lacks : 0;
}

static void leave_zone(const struct group_view *head, const struct pod *waiting, bool runs, struct plan *p)
{
    const struct cluster_view *in = head->in;
    const struct ray_cluster *c = head->in->cluster;
    struct slice next = shape_zone_after(c->zone.allowed, c->zone.made_for);
    int64_t set = c->zone.ms ? c->zone.ms : head->in->options->zone_ms, most_ms = set ? set : RAYCLUSTER_ZONE_MS;
    bool again = in->zone.settled || in->zone.stays, all = in->zone.left + 1 >= shape_zone_count(c->zone.allowed);
    int64_t left_ms = most_ms - (again ? age_ms(head, waiting) : in->now.mono_ms - in->zone.from_ms);
    if (slice_eq(next, c->zone.made_for) || (in->zone.stays && runs))
        return;
    if (left_ms > 0) {
        plan_look_again(p, in->now.mono_ms + left_ms);
        return;
    }
    bool stays = all && runs && !in->zone.settled;
    struct action *act = plan_add(p, stays ? &raycluster_stay_in_zone : &raycluster_leave_zone);
    act->name = next;
    act->text = arena_printf(p->arena, "pod %s has no node in zone %.*s, where the cluster's minimum did not run within %lld s: %s%.*s%s",
                             waiting->name, SLICE_ARG(c->zone.made_for), (long long)(most_ms / 1000), stays ? "each of " : "",
                             SLICE_ARG(stays ? c->zone.allowed : next), stays ? " was tried" : " is next");
}

bool decide_zone(const struct group_view *groups, uint32_t count, struct plan *p)
{
    const struct cluster_view *in = groups->in;
    const struct pod *waiting = NULL;
    int64_t lacks = 0;
    uint32_t before = p->count;
    bool runs = false;
    if (slice_empty(in->cluster->zone.made_for))
        return false;
    for (uint32_t k = 0; k < (in->zone.settled ? 1 : count); k++) {
        lacks += lacking(&groups[k], &waiting);
        for (uint32_t i = 0; i < groups[k].count; i++)
            runs |= pod_live(groups[k].pods[i]) && groups[k].pods[i]->phase == POD_RUNNING;
        for (uint32_t i = 0; i < groups[k].count && !in->zone.settled; i++)
            if (!groups[k].pods[i]->deleting && !in_zone(&groups[k], groups[k].pods[i]))
                plan_delete(p, groups[k].pods[i], groups[k].number, "its cluster tries another zone");
    }
    if (p->count == before && lacks == 0 && !in->zone.settled)
        plan_add(p, &raycluster_keep_zone);
    else if (p->count == before && waiting)
        leave_zone(groups, waiting, runs, p);
    return p->count > before;
}
