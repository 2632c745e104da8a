/* The view of a decision about a RayCluster, and how the decision is carried out. */
#include "record.h"

enum { LOCAL_ROUNDS = 4 };

static void keep_hashes(struct raycluster *own, const struct ray_cluster *model)
{
    own->hashes = mem_alloc((model->group_count + 1) * sizeof own->hashes[0]);
    own->hashes[0] = model->head.hash;
    for (uint32_t i = 0; i < model->group_count; i++)
        own->hashes[i + 1] = model->groups[i].hash;
}

/* Heads of clusters that belong to a workload run mobula-agent, which reports to the control plane; with a bucket, every pod does. */
static void add_agent(struct op *op, const struct record *c)
{
    struct err ignored = {0}; /* a template that is almost too large stays as it is */
    const struct record *owner = c->family.owner;
    while (owner && !owner->kind->controller->has_agent)
        owner = owner->family.owner;
    bool reports = owner && ray_wants_agent(cluster_model(op), &op->o.ray, &op->models.loaded->arena);
    ray_add_agent(cluster_model(op), reports, &op->o.ray, &op->models.loaded->arena, &ignored);
}

/* The ray_running_read text of the head pod; NULL: there is no head, or it is being deleted: then the spec counts, as for the next head. */
static const struct istr *head_running(const struct record *c)
{
    for (const struct pod_record *r = c->children.pods; r; r = r->next)
        if (r->pod.head && !r->pod.deleting && r->running)
            return r->running;
    return NULL;
}

void read_cluster(struct op *op, struct record *c, const struct spec_object *from)
{
    struct raycluster *own = raycluster_of(c);
    struct ray_cluster *model = arena_new(&op->models.loaded->arena, struct ray_cluster);
    op->models.loaded->model = model;
    bool right = ray_read_resource(from, own->hashes, &op->models.loaded->arena, model, &op->models.loaded->errors);
    if (right) {
        if (!own->hashes)
            keep_hashes(own, model);
        zones_apply(op, c);
        if (op->o.ray.agent || op->o.ray.ship)
            add_agent(op, c);
        types_apply(op, c);
    }
    const struct istr *running = head_running(c);
    if (running) /* last: hashes and templates must be the spec's. With an invalid spec, too: the head still runs */
        ray_running_apply(model, istr_slice(running), &op->models.loaded->arena);
    own->typed = right && model->typed;
    model->auth.routes = !slice_empty(op->o.route_ca);
    model->host = route_host(op->o.domain, "i", model->ns, model->name, &op->models.loaded->arena);
}

static const struct service *find_service(const struct record *c, struct slice name)
{
    const struct service_record *r = service_of(c, name);
    return r ? &r->service : NULL;
}

static const struct service *const *view_services(struct op *op, const struct record *c, uint32_t *count)
{
    *count = 0;
    for (const struct service_record *r = c->children.services; r; r = r->next)
        (*count)++;
    const struct service **services = arena_array(&op->arenas.plan, *count + 1, sizeof *services);
    uint32_t at = 0;
    for (const struct service_record *r = c->children.services; r; r = r->next)
        services[at++] = &r->service;
    return services;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The loaded model as a decision sees it: how many pods a group has, and which of them go, is the autoscaler's where there is one. It is a
 * copy, because the loaded one outlives this decision and says what the spec says. */
static const struct ray_cluster *view_model(struct op *op, const struct record *c, const struct scale_news **news)
{
    struct arena *a = &op->arenas.plan;
    const struct ray_cluster *said = cluster_model(op);
    struct ray_cluster *model = arena_new(a, struct ray_cluster);
    *model = *said;
    model->groups = arena_array(a, said->group_count + 1, sizeof *model->groups);
    if (said->group_count)
        memcpy(model->groups, said->groups, said->group_count * sizeof *model->groups);
    *news = scaling_apply(c, model->groups, model->group_count, a);
    return model;
}

static void view_fill(struct op *op, struct record *c, struct cluster_view *v)
{
    struct arena *a = &op->arenas.plan;
    const struct raycluster *own = raycluster_of(c);
    const struct scale_news *news;
    const struct ray_cluster *model = view_model(op, c, &news);
    *v = (struct cluster_view){.cluster = model,
                               .errors = &op->models.loaded->errors,
                               .failures = view_failures(op, c),
                               .scaling = news,
                               .warnings = c->warned ? istr_slice(c->warned) : SLICE_NONE,
                               .by_name = scaling_decides(c),
                               .drains = scaling_drains(c, NULL),
                               .accounts = own->accounts,
                               .status = {c->status.text, c->status.len},
                               .status_at_ms = c->status.at_ms,
                               .made_ms = own->made_ms,
                               .reasons = c->status.reasons,
                               .reasons_ms = c->status.reasons_ms,
                               .fleet = {.all = op->all.records.count, .starting = op->all.unreported},
                               .status_hash = c->status_ours ? c->status.hash : 0,
                               .status_not_before_ms = c->status.not_before_ms,
                               .workers_from_ms =
                                   later(later(op->phase.workers_from_ms, c->space->workers_from_ms), tools_from_ms(op, c->ns)),
                               .zone.settled = own->zone_settled,
                               .zone.stays = own->zone_stays_at && own->zone_stays_at == cluster_model(op)->generation,
                               .zone.left = own->zones_left,
                               .zone.from_ms = own->zone_from_ms,
                               .options = &op->o.ray,
                               .now = op->now};
    v->pods = view_pods(op, c, &v->pod_count);
    v->services = view_services(op, c, &v->service_count);
    v->held = view_held(op, c, &v->held_count);
    v->ingress = view_ingress(op, c);
    if (op->models.loaded->errors.count)
        return;
    for (enum ray_service k = 0; k < RAY_SERVICES; k++) {
        v->services_from_ms[k] = own->paces[k].from_ms;
        v->own[k] = find_service(c, ray_service_name(cluster_model(op), k, a));
        if (v->own[k])
            v->wants[k] = service_wanted(op, c, k);
    }
}

void count_failure(struct op *op, struct record *c, const struct action *act)
{
    struct pod_record *r = map_get(&op->all.pods, act->uid);
    if (r)
        r->pod.ours.counted = true;
    group_failed(op, c, act->group, true, act->group < 0 ? "HeadPodEnded" : "WorkerPodEnded", act->text);
}

void forget_failures(struct op *op, struct record *c, const struct action *act)
{
    failures_over(op, c, group_name(op, act->group), act->group < 0);
}

/* The process that made them may have ended before it had made the tools that they wait for. */
static bool workers_wait(const struct record *c)
{
    for (const struct pod_record *r = c->children.pods; r; r = r->next)
        if (!r->pod.head && !r->pod.deleting && r->pod.phase == POD_PENDING)
            return true;
    return false;
}

static bool has_head(const struct record *c)
{
    const struct pod_record *r = c->children.pods;
    while (r && !r->pod.head)
        r = r->next;
    return r;
}

/* A head is made as a workload's or as nobody's, and that the cluster's RayJob is a workload's is known with the list of RayJobs. */
static bool owner_awaited(struct op *op, struct record *c)
{
    bool awaited = op->o.ray.agent && c->family.owner && !c->family.owner->present &&
                   !source_of(c->space, c->family.owner->kind)->keeper.synced && !has_head(c);
    c->dirty |= awaited; /* so that the end of the list touches it */
    return awaited;
}

int64_t decide_cluster(struct op *op, struct record *c, struct plan *p)
{
    if (types_awaited(op, c) || owner_awaited(op, c)) {
        *p = (struct plan){.next_ms = TIME_NEVER, .arena = &op->arenas.plan};
        return TIME_NEVER;
    }
    zones_follow(op, c);
    if (op->models.loaded->errors.count == 0) {
        failures_prune(op, c);
        auth_follow(op, c);
    }
    scaling_follow(op, c);
    drain_follow(op, c);
    bool again = true;
    for (int i = 0; i < LOCAL_ROUNDS && again; i++) {
        struct cluster_view v;
        arena_reset(&op->arenas.plan, 256 * KIB);
        model_load(op, c); /* a moved entry may have changed it */
        view_fill(op, c, &v);
        raycluster_decide(&v, &op->arenas.plan, p);
        op->stats.decisions++;
        again = plan_move(op, c, p);
    }
    if (again)
        record_touch(op, c); /* there was more to count than a few plans hold */
    if (is_legacy(c) && !scaling_writes_log(c))
        say_legacy_status(op, c);
    if (workers_wait(c))
        tools_want(op, c->ns);
    return sooner(sooner(p->next_ms, auth_next(op, c)), drain_next(c));
}
