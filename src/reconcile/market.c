/* Pods that no node takes.
 *
 * Groups that prefer spot nodes (PREFER_SPOT). A pod is made for spot. When no node has taken it within the fallback time, the group leaves
 * spot for the retry time: pods that still wait are replaced, and all that are created are on-demand. After the retry time new pods are
 * made for spot again; on-demand pods that run go when the autoscaler finds them idle. */
#include "reconcile_private.h"

static int64_t fallback_ms(const struct group_view *g)
{
    int64_t set = g->in->options->spot_fallback_ms;
    return set ? set : RECONCILE_SPOT_FALLBACK_MS;
}

static bool waits(const struct pod *pod)
{
    return pod->unschedulable && pod->phase == POD_PENDING && !pod->deleting && !pod->overtaken;
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

/* Milliseconds until the pod has waited so long for any node that it is made anew; TIME_NEVER: it stays. */
static int64_t stays_for_ms(const struct group_view *g, const struct pod *pod)
{
    int64_t most_ms = g->in->options->unscheduled_ms;
    return g->in->cluster->typed && most_ms && !g->spec->blocked && waits(pod) ? most_ms - age_ms(g, pod) : TIME_NEVER;
}

bool market_on_demand(const struct group_view *g)
{
    return g->spec->on_demand && g->in->now.mono_ms < g->failures->spot_from_ms;
}

const char *market_lost(const struct group_view *g, const struct pod *pod)
{
    if (market_on_demand(g) && waits_for_ms(g, pod) <= 0)
        return "no spot node has taken it: an on-demand pod takes its place";
    return stays_for_ms(g, pod) <= 0 ? "no node has taken it for too long: it is made anew" : NULL;
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
