/* Groups that prefer spot nodes (PREFER_SPOT). A pod is made for spot. When no node has taken it within the fallback time, the group leaves
 * spot for the retry time: pods that still wait are replaced, and all that are created are on-demand. After the retry time new pods are
 * made for spot again; on-demand pods that run go when the autoscaler finds them idle. */
#include "reconcile_private.h"

static int64_t fallback_ms(const struct group_view *g)
{
    int64_t set = g->in->options->spot_fallback_ms;
    return set ? set : RECONCILE_SPOT_FALLBACK_MS;
}

/* Milliseconds until the pod has waited long enough for a spot node; TIME_NEVER: it does not wait for one. */
static int64_t waits_for_ms(const struct group_view *g, const struct pod *pod)
{
    bool waits = !pod->on_demand && pod->unschedulable && pod->phase == POD_PENDING && !pod->deleting && !pod->overtaken;
    if (!g->spec->on_demand || !waits)
        return TIME_NEVER;
    return fallback_ms(g) - (g->in->now.wall_us - pod->created_us) / 1000;
}

bool market_on_demand(const struct group_view *g)
{
    return g->spec->on_demand && g->in->now.mono_ms < g->failures->spot_from_ms;
}

bool market_lost(const struct group_view *g, const struct pod *pod)
{
    return market_on_demand(g) && waits_for_ms(g, pod) <= 0;
}

void decide_market(const struct group_view *g, struct plan *p)
{
    for (uint32_t i = 0; i < g->count && !g->spec->blocked; i++) {
        int64_t ms = waits_for_ms(g, g->pods[i]);
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
