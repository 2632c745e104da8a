/* Writes a RayService's status, in KubeRay's fields, and the events that belong to it. */
#include "decide.h"

#include <mobula/status.h>

/* ---- one cluster ---- */

/* Writes the members of a merge patch that turns `prior` into `now`: null for what `now` lacks. */
static void write_over(struct jout *w, struct jval prior, struct jval now, struct arena *a)
{
    struct jval k, v;
    for (struct jiter it = json_iter(now); json_next(&it, &k, &v);) {
        struct jval was = json_key(prior, json_str(k, a));
        jout_key(w, json_str(k, a));
        if (json_type(v) != JSON_OBJECT || json_type(was) != JSON_OBJECT) {
            jout_val(w, v);
            continue;
        }
        jout_object(w);
        write_over(w, was, v, a);
        jout_end(w);
    }
    for (struct jiter it = json_iter(prior); json_next(&it, &k, &v);) {
        if (json_there(json_key(now, json_str(k, a))))
            continue;
        jout_key(w, json_str(k, a));
        jout_null(w);
    }
}

static void write_deployments(struct jout *w, const struct serve_app *app, struct jval prior, struct arena *a)
{
    struct jval k, v;
    jout_kobject(w, "serveDeploymentStatuses");
    for (uint32_t i = 0; i < app->deployment_count; i++) {
        jout_key(w, app->deployments[i].name);
        jout_form(w, "{status:'%.*s',message:'%.*s'}", SLICE_ARG(app->deployments[i].status), SLICE_ARG(app->deployments[i].message));
    }
    for (struct jiter it = json_iter(prior); json_next(&it, &k, &v);) {
        bool there = false;
        for (uint32_t i = 0; i < app->deployment_count; i++)
            there |= json_str_eq(k, app->deployments[i].name);
        if (there)
            continue;
        jout_key(w, json_str(k, a));
        jout_null(w);
    }
    jout_end(w);
}

static void write_apps(struct jout *w, const struct service_cluster *c, struct jval prior, struct arena *a)
{
    struct jval k, v;
    jout_kobject(w, "applicationStatuses");
    for (uint32_t i = 0; i < c->said.app_count; i++) {
        const struct serve_app *app = &c->said.apps[i];
        jout_key(w, app->name);
        jout_form(w, "{status:'%.*s',message:'%.*s'", SLICE_ARG(app->status), SLICE_ARG(app->message));
        write_deployments(w, app, json_get(json_key(prior, app->name), "serveDeploymentStatuses"), a);
        jout_end(w);
    }
    for (struct jiter it = json_iter(prior); json_next(&it, &k, &v);) {
        bool there = false;
        for (uint32_t i = 0; i < c->said.app_count; i++)
            there |= json_str_eq(k, c->said.apps[i].name);
        if (there)
            continue;
        jout_key(w, json_str(k, a));
        jout_null(w);
    }
    jout_end(w);
}

/* Percents of an upgrade in steps. stamp: see struct status_writer. Without steps they go. They stay as they are while
 * the spec is invalid or the route is not known. */
static void write_shares(const struct service_decision *d, struct jout *w, struct jval prior, const struct service_cluster *c,
                         struct slice stamp)
{
    static const char *const keys[] = {"targetCapacity", "trafficRoutedPercent", "lastTrafficMigratedTime"};
    struct jval said = rayservice_prior(d, c);
    int32_t traffic = rayservice_traffic(d, c), capacity = rayservice_capacity(d, c);
    bool steps = rayservice_in_steps(d), same = json_get_int(said, "trafficRoutedPercent", -1) == traffic;
    struct slice time = same ? json_get_str(said, "lastTrafficMigratedTime", d->a) : stamp;
    if (d->in->errors->count || (steps && rayservice_routes_unknown(d)))
        return;
    if (steps || capacity != 100)
        jout_kint(w, "targetCapacity", capacity);
    if (steps && traffic >= 0)
        jout_kint(w, "trafficRoutedPercent", traffic);
    if (steps && traffic >= 0 && !slice_empty(time))
        jout_kstr(w, "lastTrafficMigratedTime", time);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (json_there(json_get(prior, keys[i])) && !(steps ? i == 0 || traffic >= 0 : i == 0 && capacity != 100)) {
            jout_key(w, slice_of(keys[i]));
            jout_null(w);
        }
}

/* Until the head has answered this process, the applications of a cluster that status already names stay as they are. */
static void write_cluster(const struct service_decision *d, struct jout *w, const char *key, const struct service_cluster *c,
                          struct slice stamp)
{
    struct jval prior = json_get(d->prior, key);
    bool other = c && !json_str_eq(json_get(prior, "rayClusterName"), c->name);
    char hash[RAY_HASH_TEXT];
    if (!c) {
        if (json_len(prior)) {
            jout_key(w, slice_of(key));
            jout_null(w);
        }
        return;
    }
    jout_kobject(w, key);
    jout_kstr(w, "rayClusterName", c->name);
    write_shares(d, w, prior, c, stamp);
    if (json_type(c->status) == JSON_OBJECT && json_raw(c->status).len > LIMIT_STATUS_COPY) {
        status_put(w, prior, "rayClusterStatus", SLICE(""));
    } else if (json_type(c->status) == JSON_OBJECT) {
        jout_kobject(w, "rayClusterStatus");
        write_over(w, json_get(prior, "rayClusterStatus"), c->status, d->a);
        jout_end(w);
    }
    if (c->said.known || other)
        write_apps(w, c, json_get(prior, "applicationStatuses"), d->a);
    uint64_t given = rayservice_given(d, c);
    if (c->said.answered_ms < c->said.put_ms) { /* the applications are from before */
        if (!other)
            status_put(w, NO_VALUE, "serveConfigHash", json_get_str(prior, "serveConfigHash", d->a));
    } else if (given) {
        ray_hash_format(given, hash);
        jout_kstr(w, "serveConfigHash", (struct slice){hash, sizeof hash});
    } else {
        status_put(w, prior, "serveConfigHash", SLICE(""));
    }
    jout_end(w);
}

/* ---- conditions ---- */

/* In an upgrade in steps both clusters take requests. */
static uint32_t endpoints(const struct service_decision *d)
{
    bool both = d->active && d->pending && rayservice_in_steps(d);
    return (d->active ? d->active->ready : 0) + (both ? d->pending->ready : 0);
}

/* Until the head of a service that takes requests has been asked, as after a start of the operator, the former message stays. */
static struct slice ready_message(const struct service_decision *d)
{
    const struct service_cluster *c = d->active;
    struct slice why = SLICE("");
    struct condition was;
    rayservice_runs(d, c, &why);
    bool unasked = endpoints(d) > 0 && c->head_ready && !c->said.known && !c->said.failures;
    if (unasked && route_prior_condition(d->prior, "Ready", d->a, &was) && was.yes && was.generation == d->s->generation)
        return was.message;
    return why;
}

static struct condition ready_condition(const struct service_decision *d)
{
    struct condition c = {.type = "Ready", .reason = SLICE("Initializing"), .generation = d->s->generation};
    if (d->in->errors->count) {
        c.reason = SLICE("ValidationFailed");
        c.message = spec_errors_text(d->in->errors, LIMIT_JOB_MESSAGE, d->a);
    } else if (d->s->suspend) {
        c.reason = SLICE("SuspendRequested");
        c.message = SLICE("spec.suspend is true");
    } else if (d->timed_out) {
        c.reason = SLICE("InitializingTimeout");
        c.message =
            SLICE("no cluster was ready in the time of annotation " RAYSERVICE_TIMEOUT ": delete this RayService and create it again");
    } else if (d->active) {
        c.yes = endpoints(d) > 0;
        c.reason = c.yes ? SLICE("NonZeroServeEndpoints") : SLICE("ZeroServeEndpoints");
        c.message = ready_message(d);
    } else if (d->pending) {
        rayservice_runs(d, d->pending, &c.message);
    }
    if (slice_empty(c.message) && d->in->refusals && d->in->refusals->count)
        c.message = arena_printf(d->a, "its RayCluster %s: %s",
                                 d->active || d->pending ? "or services cannot be written" : "cannot be created", d->in->refusals->reason);
    c.message = arena_cut(d->a, c.message, LIMIT_JOB_MESSAGE);
    return c;
}

static struct slice step_words(const struct service_decision *d)
{
    int32_t traffic = rayservice_traffic(d, d->pending);
    struct slice waits = d->waits;
    if (d->rollback)
        waits = SLICE("the spec is no more that of this cluster, so all of it goes back");
    return arena_printf(d->a, "RayCluster %.*s has %d %% of the capacity and gets %d %% of the requests%s%.*s", SLICE_ARG(d->pending->name),
                        (int)rayservice_capacity(d, d->pending), (int)(traffic > 0 ? traffic : 0), waits.len ? "; " : "", SLICE_ARG(waits));
}

/* Gateway and HTTPRoute, of a service that asks for them. */
static struct condition routes_condition(const struct service_decision *d)
{
    struct condition c = {.type = "RoutesReady", .generation = d->s->generation};
    struct slice trouble = rayservice_routes_trouble(d), class = d->s->options.gateway_class;
    const struct route_view *v = d->in->gateway;
    c.yes = slice_empty(trouble);
    c.reason = c.yes ? SLICE("GatewayProgrammed") : SLICE("GatewayNotReady");
    if (c.yes)
        c.message = v->have->address.len
                        ? arena_printf(d->a, "requests come through Gateway %.*s at %.*s", SLICE_ARG(v->name), SLICE_ARG(v->have->address))
                        : arena_printf(d->a, "requests come through Gateway %.*s", SLICE_ARG(v->name));
    else if (slice_find_text(trouble, "; listener ") >= 0) /* the class is right then */
        c.message = trouble;
    else if (v->known)
        c.message = arena_printf(d->a, "%.*s (clusterUpgradeOptions.gatewayClassName is \"%.*s\": see kubectl get gatewayclasses)",
                                 SLICE_ARG(trouble), SLICE_ARG(class));
    else
        c.message = arena_printf(d->a,
                                 "upgradeStrategy.type NewClusterWithIncrementalUpgrade: %.*s; needed are the definitions of the Gateway "
                                 "API with a controller for class \"%.*s\", and `mobula install --gateways --httproutes`",
                                 SLICE_ARG(trouble), SLICE_ARG(class));
    c.message = arena_cut(d->a, c.message, LIMIT_JOB_MESSAGE);
    return c;
}

/* The condition stays until Gateway and HTTPRoute are deleted: after a restart it shows that the service had them. */
static bool has_routes_condition(const struct service_decision *d, struct condition *out)
{
    const struct route_view *v = d->in->gateway;
    if (!v)
        return false;
    if (d->in->errors->count || rayservice_routes_unknown(d))
        return route_prior_condition(d->prior, "RoutesReady", d->a, out);
    bool wanted = rayservice_in_steps(d) && !d->s->suspend && !d->timed_out;
    struct slice ends = SLICE("Gateway and HTTPRoute are being deleted");
    *out = wanted ? routes_condition(d) : (struct condition){"RoutesReady", false, SLICE("DeletionInProgress"), ends, d->s->generation};
    return wanted || v->have || d->in->route->have;
}

#define IN_PLACE "WorkersAreReplaced"
#define NOT_IN_PLACE "InPlaceNotPossible"

/* Fills UpgradeInProgress of a service with SERVICE_UPGRADE_ROLLING. Returns false if it has another strategy, or no upgrade to make. */
static bool rolls(const struct service_decision *d, struct condition *c)
{
    const struct service_cluster *own = d->active;
    bool differs = own && own->hash != d->s->cluster_hash;
    if (d->s->upgrade != SERVICE_UPGRADE_ROLLING || !own || d->pending || d->missing || !(differs || own->outdated))
        return false;
    struct jval drift = status_condition(own->status, SLICE(STATUS_DRIFT));
    c->yes = rayservice_fits(d, own);
    if (!c->yes) {
        c->reason = SLICE(NOT_IN_PLACE);
        c->message = arena_printf(d->a,
                                  "RayCluster %.*s is kept as it is: %.*s. Revert the change, or set "
                                  "upgradeStrategy.rollingUpdate.ifNotPossible: NewCluster to get a second cluster for it",
                                  SLICE_ARG(own->name), SLICE_ARG(own->apart));
        return true;
    }
    c->reason = json_is(json_get(drift, "reason"), STATUS_ROLL_STOPPED) ? SLICE(STATUS_ROLL_STOPPED) : SLICE(IN_PLACE);
    c->message = json_get_str(drift, "message", d->a);
    if (differs && d->in->refusals && d->in->refusals->count)
        c->message = arena_printf(d->a, "RayCluster %.*s cannot be changed: %s", SLICE_ARG(own->name), d->in->refusals->reason);
    else if (differs || slice_empty(c->message))
        c->message = arena_printf(d->a, "the workers of RayCluster %.*s will be replaced", SLICE_ARG(own->name));
    return true;
}

/* Where quota refuses pods of the second cluster, the strategy without one is offered. */
static struct slice pending_words(const struct service_decision *d)
{
    static const char quota[] = "exceeded quota";
    struct slice words = SLICE(""), why = arena_cut(d->a, d->pending->why, LIMIT_JOB_MESSAGE / 2);
    if (rayservice_runs(d, d->pending, &words) || !slice_has(why, quota))
        return words;
    if (!slice_has(words, quota))
        words = arena_printf(d->a, "%.*s: %.*s", SLICE_ARG(words), SLICE_ARG(why));
    return d->s->upgrade != SERVICE_NEW_CLUSTER
               ? words
               : arena_printf(d->a,
                              "%.*s. With upgradeStrategy.type mobula.dev/RollingUpdate workers are replaced without a second cluster",
                              SLICE_ARG(words));
}

static struct condition upgrade_condition(const struct service_decision *d)
{
    struct condition c = {.type = "UpgradeInProgress", .generation = d->s->generation};
    bool differs = d->active && !d->pending && !d->missing && d->active->hash != d->s->cluster_hash;
    c.yes = d->active && (d->pending || d->missing);
    struct slice begins = ready_condition(d).reason; /* KubeRay gives the reason of a service that has not been ready yet to both */
    c.reason = c.yes                                         ? SLICE("BothActivePendingClustersExist")
               : d->active                                   ? SLICE("NoPendingCluster")
               : slice_starts(begins, SLICE("Initializing")) ? begins
                                                             : SLICE("NoActiveCluster");
    if (rolls(d, &c))
        c.message = arena_cut(d->a, c.message, LIMIT_JOB_MESSAGE);
    else if (c.yes && d->pending && rayservice_in_steps(d))
        c.message = step_words(d);
    else if (c.yes && d->in->errors->count)
        c.message = d->waits;
    else if (c.yes && d->pending)
        c.message = pending_words(d);
    else if (c.yes)
        c.message = d->in->refusals && d->in->refusals->count
                        ? arena_printf(d->a, "the new RayCluster cannot be created: %s", d->in->refusals->reason)
                        : SLICE("the new RayCluster is created");
    else if (differs && d->s->upgrade == SERVICE_UPGRADE_NONE)
        c.message =
            arena_printf(d->a, "RayCluster %.*s differs from the spec and is kept: upgradeStrategy is None", SLICE_ARG(d->active->name));
    c.message = arena_cut(d->a, c.message, LIMIT_JOB_MESSAGE);
    return c;
}

static void write_conditions(const struct service_decision *d, struct jout *w, struct slice stamp)
{
    static const char *const ours[] = {"Ready", "UpgradeInProgress", "RollbackInProgress", "RoutesReady", "Suspending", "Suspended", NULL};
    struct condition all[6] = {ready_condition(d), upgrade_condition(d)};
    size_t count = 2;
    if (d->rollback)
        all[count++] = (struct condition){"RollbackInProgress", true, SLICE("DesiredClusterSpecChanged"), step_words(d), d->s->generation};
    count += has_routes_condition(d, &all[count]);
    bool routes = (d->in->gateway && d->in->gateway->have) || (d->in->route && d->in->route->have);
    bool left = d->in->cluster_count > 0 || d->in->pods_left || routes, suspend = d->s->suspend && d->in->errors->count == 0;
    if (suspend || json_there(status_condition(d->prior, SLICE("Suspending")))) {
        struct slice reason = suspend ? left ? SLICE("SuspendInProgress") : SLICE("SuspendComplete") : SLICE("RayServiceResumed");
        all[count++] = (struct condition){"Suspending", suspend && left, reason, SLICE(""), d->s->generation};
        all[count++] = (struct condition){"Suspended", suspend && !left, reason, SLICE(""), d->s->generation};
    }
    status_write_all(w, all, count, d->prior, stamp, d->a, ours);
}

static void write_status(const void *about, struct jout *w, struct slice stamp)
{
    const struct service_decision *d = about;
    bool ready = ready_condition(d).yes;
    status_put(w, d->prior, "serviceStatus", ready ? SLICE("Running") : SLICE(""));
    jout_kint(w, "numServeEndpoints", endpoints(d));
    jout_kint(w, "observedGeneration", d->s->generation);
    if (!slice_empty(stamp))
        jout_kstr(w, "lastUpdateTime", stamp);
    write_cluster(d, w, "activeServiceStatus", d->active, stamp);
    write_cluster(d, w, "pendingServiceStatus", d->pending, stamp);
    write_conditions(d, w, stamp);
}

/* ---- events ---- */

static void say_upgrade(struct service_decision *d)
{
    struct jval before = status_condition(d->prior, SLICE("UpgradeInProgress"));
    struct condition now = upgrade_condition(d);
    bool began = json_is(json_get(before, "reason"), IN_PLACE), same = json_str_eq(json_get(before, "reason"), now.reason);
    struct slice note = arena_cut(d->a, now.message, LIMIT_KUBE_EVENT_NOTE);
    if (same)
        return;
    if (slice_is(now.reason, NOT_IN_PLACE))
        plan_event(d->p, true, NOT_IN_PLACE, note);
    else if (slice_is(now.reason, IN_PLACE) && !json_is(json_get(before, "status"), "True"))
        plan_event(d->p, false, "RollingUpdateBegun", note);
    else if (began && d->active && !now.yes)
        plan_event(d->p, false, "RollingUpdateDone",
                   arena_printf(d->a, "all workers of RayCluster %.*s have the current template", SLICE_ARG(d->active->name)));
}

static void say_changes(struct service_decision *d)
{
    bool was = condition_is(d->prior, "Ready", "True");
    struct condition ready = ready_condition(d);
    struct jval before = status_condition(d->prior, SLICE("Ready"));
    struct slice earlier = json_get_str(d->prior, "activeServiceStatus.rayClusterName", d->a);
    if (d->in->errors->count &&
        !(json_is(json_get(before, "reason"), "ValidationFailed") && json_get_int(before, "observedGeneration", -1) == d->s->generation))
        plan_event(d->p, true, "InvalidRayServiceSpec", spec_errors_text(d->in->errors, LIMIT_KUBE_EVENT_NOTE, d->a));
    if (d->switched)
        plan_event(d->p, false, "SwitchedRayCluster",
                   arena_printf(d->a, "requests go to RayCluster %.*s%s%.*s", SLICE_ARG(d->switched->name),
                                slice_empty(earlier) ? "" : ", and no more to ", SLICE_ARG(earlier)));
    say_upgrade(d);
    if (d->timed_out && !json_is(json_get(before, "reason"), "InitializingTimeout"))
        plan_event(d->p, true, "RayServiceInitializingTimeout", ready.message);
    if (was && !ready.yes && !d->s->suspend && !d->in->errors->count)
        plan_event(d->p, true, "RayServiceNotReady", arena_cut(d->a, ready.message, LIMIT_KUBE_EVENT_NOTE));
}

bool rayservice_decide_status(struct service_decision *d)
{
    struct status_writer w = {.plan = d->p,
                              .prior = d->prior,
                              .hash = d->in->status_hash,
                              .not_before_ms = d->in->status_not_before_ms,
                              .now = d->in->now,
                              .uid = d->s->uid,
                              .about = d,
                              .write = write_status};
    enum status_news news = status_look(&w);
    if (news != STATUS_NEWS)
        return news == STATUS_SAME;
    say_changes(d);
    status_send(&w);
    return false;
}
