/* An upgrade in steps, as KubeRay 1.7 takes them, and its way back. Capacity is a head's target_capacity, traffic the weights of the
 * HTTPRoute; both are percents.
 *
 *   onward: when the pending cluster has as much traffic as capacity, it gets maxSurgePercent more capacity, or, where both clusters
 * together have more than 100, the active one loses as much. Traffic follows by stepSizePercent each interval, up to the pending cluster's
 *           capacity. When the active cluster has no capacity and the pending one all traffic, that becomes the active one.
 *   back:   the same with the clusters changed about, until the active cluster has all capacity and all traffic.
 *
 * Beyond KubeRay: each step waits until status has the one before, and a step onward for an answer of the pending cluster's head that is
 * younger than that and says that all runs, and for the HTTPRoute to be in force. A cluster that does not run never gets more. */
#include "decide.h"

struct shares {
    int32_t active, pending; /* capacity */
    int32_t traffic;         /* the pending cluster's; the active one has the rest */
    bool recorded;           /* status says so */
};

bool rayservice_in_steps(const struct service_decision *d)
{
    return d->s->upgrade == SERVICE_UPGRADE_STEPS;
}

/* ---- the present state ---- */

struct jval rayservice_prior(const struct service_decision *d, const struct service_cluster *c)
{
    static const char *const both[] = {"activeServiceStatus", "pendingServiceStatus"};
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        struct jval said = json_get(d->prior, both[i]);
        if (json_str_eq(json_get(said, "rayClusterName"), c->name))
            return said;
    }
    return NO_VALUE;
}

int32_t rayservice_capacity(const struct service_decision *d, const struct service_cluster *c)
{
    int32_t traffic = rayservice_traffic(d, c);
    int64_t otherwise = !rayservice_in_steps(d) || !d->active || c == d->active ? 100 : traffic > 0 ? traffic : 0;
    return c->said.scaled ? c->said.capacity : (int32_t)json_get_int(rayservice_prior(d, c), "targetCapacity", otherwise);
}

/* A route has names and weights in annotations, which its controller and others leave alone. */
static int32_t weight_in(struct jval annotations, const char *prefix, struct slice service, struct arena *a)
{
    int64_t n = -1;
    struct slice svc = json_str(json_key(annotations, arena_printf(a, "%ssvc", prefix)), a);
    bool its = slice_eq(svc, service) && slice_int(json_str(json_key(annotations, arena_printf(a, "%sweight", prefix)), a), &n);
    return its && n >= 0 && n <= 100 ? (int32_t)n : -1;
}

int32_t rayservice_traffic(const struct service_decision *d, const struct service_cluster *c)
{
    struct jval text;
    const struct route *have = d->in->route ? d->in->route->have : NULL;
    if (!have || !json_read(&text, have->text, d->a, NULL))
        return (int32_t)json_get_int(rayservice_prior(d, c), "trafficRoutedPercent", -1);
    struct jval notes = json_get(text, "metadata.annotations");
    struct slice service = rayservice_own_name(c->name, d->a);
    int32_t n = weight_in(notes, RAYSERVICE_PRIMARY, service, d->a);
    return n >= 0 ? n : weight_in(notes, RAYSERVICE_CANARY, service, d->a);
}

static struct shares shares_of(const struct service_decision *d)
{
    struct shares s = {.active = rayservice_capacity(d, d->active), .pending = rayservice_capacity(d, d->pending)};
    int32_t traffic = rayservice_traffic(d, d->pending);
    struct jval active = rayservice_prior(d, d->active), pending = rayservice_prior(d, d->pending);
    s.traffic = traffic > 0 ? traffic : 0;
    s.recorded = traffic >= 0 && json_get_int(pending, "trafficRoutedPercent", -1) == traffic &&
                 json_get_int(pending, "targetCapacity", -1) == s.pending && json_get_int(active, "targetCapacity", -1) == s.active;
    return s;
}

bool rayservice_rolled_back(const struct service_decision *d)
{
    struct shares s = shares_of(d);
    return s.active == 100 && s.traffic == 0;
}

/* ---- the condition of the next step ---- */

static bool wait_for(struct service_decision *d, struct slice what)
{
    d->waits = slice_empty(d->waits) ? what : d->waits;
    return false;
}

/* Whether the cluster runs by an answer that is younger than what was sent, and not old. with_pods: requests need a pod that takes them. */
static bool settled(struct service_decision *d, const struct service_cluster *c, bool with_pods)
{
    struct slice why = SLICE("");
    int64_t now_ms = d->in->now.mono_ms, answered_ms = c->said.answered_ms;
    if (!(with_pods ? rayservice_runs(d, c, &why) : rayservice_apps_run(d, c, &why)))
        return wait_for(d, why);
    if (answered_ms > c->said.put_ms && answered_ms + SERVE_FRESH_MS >= now_ms && !c->said.failures)
        return true;
    d->due = true;
    return wait_for(d, arena_printf(d->a, "the head of RayCluster %.*s is asked whether all runs", SLICE_ARG(c->name)));
}

static bool interval_over(struct service_decision *d, const struct service_cluster *to)
{
    int64_t last_us = 0;
    struct slice text = json_get_str(rayservice_prior(d, to), "lastTrafficMigratedTime", d->a);
    if (!time_parse(text, &last_us, NULL))
        return true;
    int64_t left_ms = (last_us - d->in->now.wall_us + 999) / 1000 + d->s->options.interval_ms;
    if (left_ms <= 0)
        return true;
    plan_look_again(d->p, d->in->now.mono_ms + (left_ms < d->s->options.interval_ms ? left_ms : d->s->options.interval_ms));
    return wait_for(d, arena_printf(d->a, "the next %d %% of the requests go to RayCluster %.*s %lld s after the last (intervalSeconds)",
                                    (int)d->s->options.step, SLICE_ARG(to->name), (long long)(d->s->options.interval_ms / 1000)));
}

struct slice rayservice_routes_trouble(const struct service_decision *d)
{
    const struct route_view *both[] = {d->in->gateway, d->in->route};
    for (size_t i = 0; i < COUNT_OF(both) && both[i]; i++) {
        struct slice text = route_trouble(both[i], d->a);
        if (!slice_empty(text))
            return text;
    }
    return SLICE("");
}

bool rayservice_routes_unknown(const struct service_decision *d)
{
    const struct route_view *both[] = {d->in->gateway, d->in->route};
    for (size_t i = 0; i < COUNT_OF(both) && both[i]; i++)
        if (!both[i]->known && slice_empty(both[i]->why_not))
            return true;
    return false;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* ---- traffic ---- */

static int32_t onward(struct service_decision *d, const struct shares *s)
{
    const struct service_options *o = &d->s->options;
    if (s->traffic >= s->pending)
        return s->traffic;
    if (d->in->route->have && d->in->route->have->trouble.len) { /* route_trouble needs `want`, which follows from this decision */
        wait_for(d, d->in->route->have->trouble);
        return s->traffic;
    }
    if (o->step == 0) {
        wait_for(d, SLICE("stepSizePercent is 0: no requests move"));
        return s->traffic;
    }
    if (!interval_over(d, d->pending) || !settled(d, d->pending, true))
        return s->traffic;
    return least(s->traffic + o->step, s->pending);
}

/* A pending cluster that does not run keeps nothing, however the active one is. */
static int32_t back(struct service_decision *d, const struct shares *s)
{
    int32_t step = d->s->options.step ? d->s->options.step : 100, active = 100 - s->traffic;
    bool either = rayservice_runs(d, d->active, NULL) || !rayservice_runs(d, d->pending, NULL);
    if (active >= s->active || !either || !interval_over(d, d->active))
        return s->traffic;
    return 100 - least(active + step, s->active);
}

/* ---- capacity ---- */

static bool all_runs(struct service_decision *d, const struct shares *s)
{
    struct slice trouble = rayservice_routes_trouble(d);
    if (!slice_empty(trouble))
        return wait_for(d, trouble);
    return settled(d, d->pending, s->pending > 0);
}

/* Of the active or of the pending cluster, as far as the other one leaves it. */
static int32_t goal_onward(struct service_decision *d, const struct shares *s, bool active)
{
    int32_t surge = d->s->options.surge, most = 100 - surge;
    bool crowded = s->active + s->pending > 100;
    if (s->traffic != s->pending || !s->recorded || crowded != active || !all_runs(d, s))
        return active ? s->active : s->pending;
    if (active)
        return s->active > surge ? s->active - surge : 0;
    return s->pending < most ? s->pending + surge : 100;
}

/* Capacity of a head that cannot be reached is not there, and cannot be taken away. */
static int32_t goal_back(const struct service_decision *d, const struct shares *s, bool active)
{
    int32_t surge = d->s->options.surge ? d->s->options.surge : 100;
    bool crowded = s->active + (d->pending->head_ready ? s->pending : 0) > 100;
    if (100 - s->traffic != s->active || !s->recorded || crowded == active)
        return active ? s->active : s->pending;
    if (active)
        return least(100, s->active + surge);
    return s->pending > surge ? s->pending - surge : 0;
}

int32_t rayservice_goal(const struct service_decision *d, const struct service_cluster *c)
{
    struct service_decision scratch = *d; /* rayservice_steps reports the condition that it waits for */
    struct plan none = {.arena = d->a, .next_ms = TIME_NEVER};
    scratch.p = &none;
    if (!rayservice_in_steps(d) || !d->active || !d->pending)
        return 100;
    struct shares s = shares_of(d);
    return d->rollback ? goal_back(d, &s, c == d->active) : goal_onward(&scratch, &s, c == d->active);
}

/* ---- routes ---- */

static void decide_route(struct service_decision *d)
{
    struct route_view *v = d->in->route;
    const struct service_cluster *canary = d->pending && d->pending->own ? d->pending : NULL;
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct err e = {0};
    if (!d->active->own) {
        v->want.trouble = arena_printf(d->a, "Service %.*s-serve-svc, to which requests go, is not there yet", SLICE_ARG(d->active->name));
        return;
    }
    if (rayservice_build_route(d->s, d->active, canary, d->weight, d->in->patches_revision, d->a, &text, &e))
        v->want = route_want_of(arena_dup(d->a, buf_slice(&text)), d->in->patches, d->a);
    else
        v->want.trouble = arena_printf(d->a, "%s", e.text);
    route_decide(v, d->in->now, d->p);
}

bool rayservice_end_routes(struct service_decision *d, const char *why)
{
    bool gone = true;
    if (d->in->route)
        gone &= route_end(d->in->route, why, d->in->now, d->p);
    if (d->in->gateway)
        gone &= route_end(d->in->gateway, why, d->in->now, d->p);
    return gone;
}

void rayservice_steps(struct service_decision *d)
{
    if (!rayservice_in_steps(d)) {
        rayservice_end_routes(d, "upgradeStrategy is not NewClusterWithIncrementalUpgrade any more");
        return;
    }
    if (!d->in->gateway)
        return;
    route_decide(d->in->gateway, d->in->now, d->p);
    if (!d->active) {
        d->in->route->want.trouble = SLICE("no cluster takes requests yet");
        return;
    }
    if (d->pending) {
        struct shares s = shares_of(d);
        d->weight = !s.recorded ? s.traffic : d->rollback ? back(d, &s) : onward(d, &s);
        d->moved = !d->rollback && s.recorded && s.active == 0 && s.traffic == 100;
        if (d->weight == s.traffic && !d->rollback && !d->moved && s.traffic == s.pending)
            all_runs(d, &s); /* says what capacity waits for */
    }
    decide_route(d);
}
