/* Decides which clusters a RayService has, which of them gets the requests, and what their heads are asked. */
#include "decide.h"

#include <mobula/children.h>

/* ---- active and pending cluster ---- */

static const struct service_cluster *cluster_of(const struct service_decision *d, struct slice name)
{
    for (uint32_t i = 0; i < d->in->cluster_count && !slice_empty(name); i++)
        if (!d->in->clusters[i].deleting && slice_eq(d->in->clusters[i].name, name))
            return &d->in->clusters[i];
    return NULL;
}

/* Whether the service is as wanted: it has the wanted hash, or the hash that the API server's answer to our last apply had. */
static bool leads(const struct service *have, uint64_t want)
{
    return have && !have->deleting && want && (have->hash == want || (have->wanted == want && have->became == have->hash));
}

static bool leads_both(const struct service_decision *d, const struct service_cluster *c)
{
    return leads(d->in->head_service, c->head_want) && leads(d->in->serve_service, c->serve_want);
}

/* The cluster that status names as active. If status was lost, as by a restore, the cluster that the serve service leads to. */
static const struct service_cluster *find_active(const struct service_decision *d)
{
    struct slice pending = json_get_str(d->prior, "pendingServiceStatus.rayClusterName", d->a);
    const struct service_cluster *c = cluster_of(d, json_get_str(d->prior, "activeServiceStatus.rayClusterName", d->a));
    for (uint32_t i = 0; i < d->in->cluster_count && !c; i++) {
        const struct service_cluster *one = &d->in->clusters[i];
        if (!one->deleting && !slice_eq(one->name, pending) && leads(d->in->serve_service, one->serve_want))
            c = one;
    }
    return c;
}

/* An invalid spec changes nothing: status keeps both clusters. */
static void keep_clusters(struct service_decision *d)
{
    d->active = find_active(d);
    d->pending = cluster_of(d, json_get_str(d->prior, "pendingServiceStatus.rayClusterName", d->a));
    d->pending = d->pending == d->active ? NULL : d->pending;
    d->waits = SLICE("the spec is invalid");
}

/* Whether the cluster can be kept: it has the spec's hash, the spec only appends worker groups, or a rolling update can make the change. */
bool rayservice_fits(const struct service_decision *d, const struct service_cluster *c)
{
    return c->hash == d->s->cluster_hash || (c->group_count < d->s->group_count && c->hash == c->first_hash) ||
           (d->s->upgrade == SERVICE_UPGRADE_ROLLING && slice_empty(c->apart));
}

/* Whether the active cluster stays the only one, whatever the spec says. */
static bool stays(const struct service_decision *d)
{
    return d->s->upgrade == SERVICE_UPGRADE_NONE || (d->s->upgrade == SERVICE_UPGRADE_ROLLING && !d->s->options.else_new);
}

static void find_clusters(struct service_decision *d)
{
    struct slice named = json_get_str(d->prior, "pendingServiceStatus.rayClusterName", d->a);
    d->active = find_active(d);
    d->pending = cluster_of(d, named);
    d->rollback = rayservice_in_steps(d) && d->active && d->pending && d->pending != d->active && !rayservice_fits(d, d->pending);
    if (d->rollback && !rayservice_rolled_back(d))
        return;
    d->rollback = false;
    d->pending = NULL;
    if (d->active && (rayservice_fits(d, d->active) || stays(d)))
        return;
    d->pending = cluster_of(d, named);
    if (d->pending && (d->pending == d->active || !rayservice_fits(d, d->pending)))
        d->pending = NULL;
    for (uint32_t i = 0; i < d->in->cluster_count && !d->pending; i++) {
        const struct service_cluster *c = &d->in->clusters[i];
        if (c != d->active && !c->deleting && c->hash == d->s->cluster_hash)
            d->pending = c;
    }
    d->missing = !d->pending;
}

bool rayservice_wanted(const struct service_decision *d, const struct service_cluster *c)
{
    if (d->rollback)
        return d->s->config_hash && c == d->active && rayservice_fits(d, c);
    return d->s->config_hash && !d->missing && (d->pending ? c == d->pending : c == d->active);
}

uint64_t rayservice_given(const struct service_decision *d, const struct service_cluster *c)
{
    static const char *const both[] = {"activeServiceStatus", "pendingServiceStatus"};
    uint64_t hash = c->said.put_hash;
    for (size_t i = 0; i < COUNT_OF(both) && !hash; i++) {
        struct jval said = json_get(d->prior, both[i]);
        if (json_str_eq(json_get(said, "rayClusterName"), c->name))
            ray_hash_parse(json_get_str(said, "serveConfigHash", d->a), &hash);
    }
    return hash;
}

static bool no(struct slice *why, struct slice text)
{
    if (why)
        *why = text;
    return false;
}

/* Why the state of the cluster's applications is not known. */
static struct slice silent(const struct service_decision *d, const struct service_cluster *c)
{
    if (c->said.failures)
        return arena_printf(d->a, "the head of RayCluster %.*s does not answer: %.*s", SLICE_ARG(c->name), SLICE_ARG(c->said.trouble));
    if (!c->head_ready)
        return arena_printf(d->a, "RayCluster %.*s is not ready%s%.*s", SLICE_ARG(c->name), slice_empty(c->why) ? "" : ": ",
                            SLICE_ARG(c->why));
    return arena_printf(d->a, "the head of RayCluster %.*s is asked for its applications", SLICE_ARG(c->name));
}

static const struct serve_app *app_of(const struct service_cluster *c, struct slice name)
{
    for (uint32_t i = 0; i < c->said.app_count; i++)
        if (slice_eq(c->said.apps[i].name, name))
            return &c->said.apps[i];
    return NULL;
}

bool rayservice_apps_run(const struct service_decision *d, const struct service_cluster *c, struct slice *why)
{
    const struct serve_said *said = &c->said;
    bool wanted = rayservice_wanted(d, c);
    if (!said->known)
        return no(why, silent(d, c));
    if (wanted && said->refused_hash == d->s->config_hash)
        return no(why, arena_printf(d->a, "Ray Serve refused serveConfigV2: %.*s", SLICE_ARG(said->refused_why)));
    if (wanted && rayservice_given(d, c) != d->s->config_hash)
        return no(why, arena_printf(d->a, "serveConfigV2 is sent to RayCluster %.*s", SLICE_ARG(c->name)));
    for (uint32_t i = 0; i < d->s->app_count && wanted; i++)
        if (!app_of(c, d->s->apps[i]))
            return no(why, arena_printf(d->a, "Ray Serve does not list application %.*s yet", SLICE_ARG(d->s->apps[i])));
    if (wanted && said->answered_ms < said->put_ms)
        return no(why, arena_printf(d->a, "the head of RayCluster %.*s is asked whether all runs", SLICE_ARG(c->name)));
    for (uint32_t i = 0; i < said->app_count; i++)
        if (!slice_is(said->apps[i].status, "RUNNING"))
            return no(why,
                      arena_printf(d->a, "application %.*s is %.*s%s%.*s", SLICE_ARG(said->apps[i].name), SLICE_ARG(said->apps[i].status),
                                   slice_empty(said->apps[i].message) ? "" : ": ", SLICE_ARG(said->apps[i].message)));
    return said->app_count > 0 || no(why, arena_printf(d->a, "no application is deployed on RayCluster %.*s", SLICE_ARG(c->name)));
}

static bool runs(const struct service_decision *d, const struct service_cluster *c, struct slice *why)
{
    if (!rayservice_apps_run(d, c, why))
        return false;
    return c->ready > 0 ||
           no(why, arena_printf(d->a, "no pod of RayCluster %.*s takes requests: its workers are not ready, and the head %s",
                                SLICE_ARG(c->name), d->s->exclude_head ? "is left out" : "has no healthy proxy"));
}

/* While the head does not answer, its last answer counts. */
bool rayservice_runs(const struct service_decision *d, const struct service_cluster *c, struct slice *why)
{
    bool yes = runs(d, c, why);
    if (!yes && why && c->said.known && c->said.failures)
        *why = arena_printf(d->a, "%.*s; its head does not answer: %.*s", SLICE_ARG(*why), SLICE_ARG(c->said.trouble));
    return yes;
}

/* ---- clusters ---- */

struct action *rayservice_add(struct service_decision *d, const struct verb *verb, const struct service_cluster *c)
{
    struct action *act = plan_add(d->p, verb);
    act->name = c->name;
    act->uid = c->uid;
    return act;
}

static bool backs_off(struct service_decision *d)
{
    const struct group_failures *r = d->in->refusals;
    if (!r || d->in->now.mono_ms >= r->not_before_ms)
        return false;
    plan_look_again(d->p, r->not_before_ms);
    return true;
}

/* Clusters that the routes lead to have a Service of their own, which RayCluster's controller makes for an annotation. */
static void announce(struct service_decision *d, const struct service_cluster *c)
{
    bool serve = c && rayservice_in_steps(d) && !c->announced;
    if (c && (serve || c->unmarked) && !c->deleting && !backs_off(d))
        rayservice_add(d, &rayservice_announce_cluster, c)->text = rayservice_build_marks(d->s, c->uid, serve, c->unmarked, d->a);
}

/* If a cluster of the wanted name is still being deleted, its end is waited for: it causes the next decision. */
static void decide_cluster(struct service_decision *d)
{
    struct slice name = rayservice_cluster_name(d->s, false, d->a);
    if (d->active && slice_eq(d->active->name, name)) /* the active cluster was created for this spec and was changed in place since */
        name = rayservice_cluster_name(d->s, true, d->a);
    for (uint32_t i = 0; i < d->in->cluster_count; i++)
        if (slice_eq(d->in->clusters[i].name, name) && d->missing)
            return;
    if (d->missing) {
        if (backs_off(d))
            return;
        struct action *act = plan_add(d->p, &rayservice_create_cluster);
        act->name = name;
        act->index = rayservice_in_steps(d) && d->active; /* it grows in steps */
        return;
    }
    const struct service_cluster *c = d->pending && !d->rollback ? d->pending : d->active;
    if (!c)
        return;
    bool appended = c->hash != d->s->cluster_hash, scaled = c->scale_hash && c->scale_hash != d->s->scale_hash;
    if (rayservice_fits(d, c) && (appended || scaled || c->other_roll) && !backs_off(d))
        rayservice_add(d, &rayservice_update_cluster, c);
}

static void delete_cluster(struct service_decision *d, const struct service_cluster *c, const char *why)
{
    if (!c->deleting)
        rayservice_add(d, &rayservice_delete_cluster, c)->why = why;
}

/* Deletes unused clusters after deletion_delay_ms, so that requests in flight can end; at once if there is no serve service. */
static void decide_unused(struct service_decision *d)
{
    for (uint32_t i = 0; i < d->in->cluster_count; i++) {
        const struct service_cluster *c = &d->in->clusters[i];
        if (c == d->active || c == d->pending || c == d->switched || c->deleting)
            continue;
        int64_t until_ms = c->unused_ms + d->s->deletion_delay_ms;
        if (!d->in->serve_service || (d->active && c->unused_ms && d->in->now.mono_ms >= until_ms))
            delete_cluster(d, c, "the service does not use it any more");
        else
            plan_look_again(d->p, c->unused_ms && until_ms > d->in->now.mono_ms ? until_ms : d->in->now.mono_ms + SERVE_LOOK_MS);
    }
}

/* ---- services ---- */

/* Minimum interval between our applies while another client keeps reverting the service. */
enum { SERVICE_AGAIN_MS = 5 * 1000 };

static void apply(struct service_decision *d, const struct service *have, uint64_t want, const struct verb *verb,
                  const struct service_cluster *to)
{
    int64_t again_ms = have ? have->applied_ms + SERVICE_AGAIN_MS : 0;
    if (!want || (have && have->deleting) || leads(have, want))
        return;
    if (have && have->wanted == want && d->in->now.mono_ms < again_ms)
        plan_look_again(d->p, again_ms);
    else if (!backs_off(d))
        rayservice_add(d, verb, to);
}

/* The services lead to the active cluster until all applications of the pending one run; then they are changed to lead to that. */
static void decide_services(struct service_decision *d)
{
    bool in_steps = rayservice_in_steps(d) && d->active;
    bool turn = d->pending && (in_steps ? d->moved : rayservice_runs(d, d->pending, NULL));
    const struct service_cluster *to = turn ? d->pending : d->active;
    if (!to)
        return;
    apply(d, d->in->head_service, to->head_want, &rayservice_apply_head_service, to);
    apply(d, d->in->serve_service, to->serve_want, &rayservice_apply_serve_service, to);
    if (turn && leads_both(d, to)) {
        d->switched = to;
        d->active = to;
        d->pending = NULL;
    }
}

static void delete_service(struct service_decision *d, const struct service *service)
{
    if (!service || service->deleting)
        return;
    struct action *act = plan_add(d->p, &kservice_delete);
    act->name = slice_of(service->name);
    act->uid = slice_of(service->uid);
    act->why = "the RayService is suspended";
}

/* ---- the whole decision ---- */

static void decide_end(struct service_decision *d, const char *why)
{
    rayservice_end_routes(d, why);
    for (uint32_t i = 0; i < d->in->cluster_count; i++)
        delete_cluster(d, &d->in->clusters[i], why);
    delete_service(d, d->in->head_service);
    delete_service(d, d->in->serve_service);
    d->active = d->pending = NULL;
}

/* When a condition became False, on the wall clock; 0: it is not False. */
static int64_t false_since_us(struct jval status, const char *type, struct arena *a)
{
    int64_t us = 0;
    struct slice text = json_get_str(status_condition(status, slice_of(type)), "lastTransitionTime", a);
    return condition_is(status, type, "False") && time_parse(text, &us, NULL) ? us : 0;
}

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t rayservice_timeout_begin(int64_t created_us, struct jval status, struct arena *a)
{
    return max_of(created_us, max_of(false_since_us(status, "Ready", a), false_since_us(status, "Suspended", a)));
}

/* The loss of the active cluster is not always in status: a service may have been unready before. */
static bool is_timed_out(struct service_decision *d)
{
    if (json_is(json_get(status_condition(d->prior, SLICE("Ready")), "reason"), "InitializingTimeout"))
        return true;
    if (!d->s->initializing_ms || d->active || !d->s->created_us || condition_is(d->prior, "Suspended", "True") ||
        json_there(json_get(d->prior, "activeServiceStatus.rayClusterName")))
        return false;
    int64_t from_us = rayservice_timeout_begin(d->s->created_us, d->prior, d->a);
    int64_t lost_us = d->in->active_ms ? d->in->now.wall_us - (d->in->now.mono_ms - d->in->active_ms) * 1000 : 0;
    int64_t until_us = max_of(from_us, lost_us) + d->s->initializing_ms * 1000;
    int64_t left_ms = (until_us - d->in->now.wall_us + 999) / 1000;
    if (left_ms > 0)
        plan_look_again(d->p, d->in->now.mono_ms + left_ms);
    return left_ms <= 0;
}

static void decide_course(struct service_decision *d)
{
    if (d->s->suspend) {
        decide_end(d, "the RayService is suspended");
        return;
    }
    find_clusters(d);
    d->timed_out = is_timed_out(d);
    if (d->timed_out) {
        decide_end(d, "the RayService was not ready within its initializing timeout");
        return;
    }
    decide_cluster(d);
    announce(d, d->active);
    announce(d, d->pending);
    rayservice_steps(d);
    if (d->active)
        rayservice_ask(d, d->active);
    if (d->pending && !(rayservice_in_steps(d) && rayservice_routes_unknown(d)))
        rayservice_ask(d, d->pending); /* with a capacity that follows from the route, if status has none */
    decide_services(d);
    decide_unused(d);
}

void rayservice_decide(const struct service_view *in, struct arena *a, struct plan *out)
{
    struct service_decision d = {.in = in, .s = in->service, .a = a, .p = out, .prior = in->status};
    *out = (struct plan){.arena = a, .next_ms = TIME_NEVER, .hands_off = d.s->managed_elsewhere};
    if (d.s->finalizer && d.s->deleting)
        plan_add(out, &rayservice_remove_finalizer)->text = SLICE(RAY_SERVICE_FINALIZER);
    if (d.s->managed_elsewhere || d.s->deleting)
        return;
    if (in->errors->count == 0)
        decide_course(&d);
    else
        keep_clusters(&d);
    rayservice_decide_status(&d);
}
