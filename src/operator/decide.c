/* From a dirty record to a plan: the record's bytes become a model, the model and the children's records a view, the view a plan. */
#include "kind.h"
#include "verbs.h"

enum { LOCAL_ROUNDS = 4 };

/* The record's bytes as one object again, as ray_read wants it. */
static struct slice object_text(const struct cluster *c, struct slice meta, struct slice spec, struct arena *a)
{
    struct slice api = c->kind->api_version;
    meta = slice_skip(slice_head(meta, meta.len - 1), 1); /* without its braces */
    char gone[TIME_TEXT_MAX];
    return arena_printf(a,
                        "{\"apiVersion\":\"%.*s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%.*s\",\"uid\":\"%s\","
                        "\"generation\":%lld%s%s%.*s},\"spec\":%.*s}",
                        SLICE_ARG(api), c->kind->name, c->name, SLICE_ARG(istr_slice(c->ns)), c->uid, (long long)c->generation,
                        c->deleting ? arena_printf(a, ",\"deletionTimestamp\":\"%.*s\"", SLICE_ARG(time_format(c->deleted_us, gone))).ptr
                                    : "",
                        meta.len ? "," : "", SLICE_ARG(meta), SLICE_ARG(spec));
}

/* What was read once is read again, unless it came without the fields that every object has, in the room of which it passed
 * LIMIT_JSON_TOKENS: then *e says so, and the name and the uid are all that there is of it. */
static struct jval read_again(const struct cluster *c, struct arena *a, struct err *e)
{
    struct json *doc = arena_new(a, struct json);
    struct err none = {0};
    if (json_parse(doc, object_text(c, istr_slice(c->meta), istr_slice(c->spec), a), a, e))
        return json_root(doc);
    if (!json_parse(doc, object_text(c, SLICE("{}"), SLICE("null"), a), a, &none))
        fatal("operator: the name of a resource that was read before cannot be read again: %s", none.text);
    return json_root(doc);
}

static void keep_hashes(struct cluster *c, const struct ray_cluster *model)
{
    c->hashes = mem_alloc((model->group_count + 1) * sizeof c->hashes[0]);
    c->hashes[0] = model->head.hash;
    for (uint32_t i = 0; i < model->group_count; i++)
        c->hashes[i + 1] = model->groups[i].hash;
}

void read_cluster(struct op *op, struct cluster *c, struct jval object)
{
    bool right = ray_read_known(object, c->hashes, &op->model_arena, &op->model, &op->errors);
    if (right && !c->hashes)
        keep_hashes(c, &op->model);
}

void read_job(struct op *op, struct cluster *c, struct jval object)
{
    (void)c;
    ray_read_job(object, &op->model_arena, &op->job, &op->errors);
}

void model_load(struct op *op, struct cluster *c)
{
    if (op->parsed == c)
        return;
    struct err e = {0};
    arena_reset(&op->model_arena, 256 * KIB);
    memset(&op->errors, 0, sizeof op->errors);
    c->kind->read(op, c, read_again(c, &op->model_arena, &e));
    op->parsed = c;
    if (e.code) /* and not that there is no spec */
        op->errors =
            (struct ray_errors){.list = {{.path = SLICE("spec"), .text = arena_dup(&op->model_arena, slice_of(e.text))}}, .count = 1};
}

struct slice group_name(const struct op *op, int32_t group)
{
    if (group >= 0 && (uint32_t)group < op->model.group_count)
        return op->model.groups[group].name;
    return group < 0 ? SLICE(RAY_HEAD_GROUP) : SLICE_NONE;
}

struct service_record *service_of(const struct cluster *c, struct slice name)
{
    for (struct service_record *r = c->services; r; r = r->next)
        if (slice_eq(slice_of(r->service.name), name))
            return r;
    return NULL;
}

static const struct service *find_service(const struct cluster *c, struct slice name)
{
    const struct service_record *r = service_of(c, name);
    return r ? &r->service : NULL;
}

const struct pod **view_pods(struct op *op, const struct cluster *c, uint32_t *count)
{
    const struct pod **pods = arena_array(&op->plan_arena, c->pod_count + 1, sizeof *pods);
    *count = 0;
    for (const struct pod_record *r = c->pods; r; r = r->next)
        pods[(*count)++] = &r->pod;
    return pods;
}

static const struct service *const *view_services(struct op *op, const struct cluster *c, uint32_t *count)
{
    *count = 0;
    for (const struct service_record *r = c->services; r; r = r->next)
        (*count)++;
    const struct service **services = arena_array(&op->plan_arena, *count + 1, sizeof *services);
    uint32_t at = 0;
    for (const struct service_record *r = c->services; r; r = r->next)
        services[at++] = &r->service;
    return services;
}

const struct group_failures *view_failures(struct op *op, struct cluster *c)
{
    struct group_failures *failures = arena_array(&op->plan_arena, op->model.group_count + 1, sizeof *failures);
    for (int32_t k = -1; c->failing && k < (int32_t)op->model.group_count; k++) {
        const struct group_failures *f = failures_of(op, c, group_name(op, k), k < 0, false);
        if (f)
            failures[k + 1] = *f;
    }
    return failures;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void view_fill(struct op *op, struct cluster *c, struct cluster_view *v)
{
    struct arena *a = &op->plan_arena;
    *v = (struct cluster_view){.cluster = &op->model,
                               .errors = &op->errors,
                               .failures = view_failures(op, c),
                               .scaling = scaling_apply(op, c, a),
                               .warnings = c->warned ? istr_slice(c->warned) : SLICE_NONE,
                               .by_name = scaling_decides(c),
                               .accounts = c->accounts,
                               .status = {c->status, c->status_len},
                               .status_at_ms = c->status_at_ms,
                               .reasons = c->reasons,
                               .reasons_ms = c->reasons_ms,
                               .fleet = op->clusters.count,
                               .status_hash = c->status_ours ? c->status_hash : 0,
                               .status_not_before_ms = c->status_not_before_ms,
                               .workers_from_ms = later(op->workers_from_ms, c->space->workers_from_ms),
                               .services_from_ms = {c->services_pace[0].from_ms, c->services_pace[1].from_ms},
                               .options = &op->o.ray,
                               .now = op->now};
    v->pods = view_pods(op, c, &v->pod_count);
    v->services = view_services(op, c, &v->service_count);
    v->held = view_held(op, c, &v->held_count);
    if (op->errors.count)
        return;
    v->head_service = find_service(c, ray_head_service_name(&op->model, a));
    v->headless_service = find_service(c, ray_headless_service_name(&op->model, a));
}

void count_failure(struct op *op, struct cluster *c, const struct action *act)
{
    struct pod_record *r = map_get(&op->pods, act->uid);
    if (r)
        r->pod.counted = true;
    group_failed(op, c, act->group, true, act->group < 0 ? "HeadPodEnded" : "WorkerPodEnded", act->text);
}

void forget_failures(struct op *op, struct cluster *c, const struct action *act)
{
    failures_forget(op, c, group_name(op, act->group), act->group < 0);
}

/* Actions that only move records. Returns whether there was one. */
static bool carry_out_local(struct op *op, struct cluster *c, const struct plan *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct action *act = &p->actions[i];
        if (act->verb->how != VERB_MOVE)
            continue;
        act->verb->carry_out(op, c, act);
        op->stats.actions[verb_number(act->verb)]++;
        any = true;
    }
    return any;
}

static bool is_call(const struct action *act)
{
    return act->verb->how != VERB_MOVE;
}

static struct slice copy_behind(char **at, struct slice s)
{
    if (slice_empty(s))
        return SLICE_NONE;
    char *p = *at;
    memcpy(p, s.ptr, s.len);
    *at += s.len;
    return (struct slice){p, s.len};
}

/* The plan outlives the arena it was made in: its actions and their texts move into one block. */
static struct work *work_copy(const struct plan *p, struct now now)
{
    uint32_t count = 0;
    size_t text = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (is_call(&p->actions[i])) {
            count++;
            text += p->actions[i].name.len + p->actions[i].uid.len + p->actions[i].text.len;
        }
    if (count == 0)
        return NULL;
    struct work *w = mem_alloc(sizeof *w + count * sizeof w->actions[0] + text);
    char *at = (char *)&w->actions[count];
    w->began_ms = now.mono_ms;
    w->status_hash = p->status_hash;
    w->reasons = p->reasons;
    for (uint32_t i = 0; i < p->count; i++) {
        if (!is_call(&p->actions[i]))
            continue;
        struct action *to = &w->actions[w->count++];
        *to = p->actions[i];
        to->name = copy_behind(&at, to->name);
        to->uid = copy_behind(&at, to->uid);
        to->text = copy_behind(&at, to->text);
    }
    return w;
}

/* A decision costs in proportion to the cluster's pods, and each of its pods brings events: what comes soon after a decision is gathered
 * for the next. Whoever has been quiet is decided at once. */
static int64_t pace_ms(const struct cluster *c)
{
    enum { LEAST_MS = 100, PODS_PER_MS = 10, MOST_MS = 1000 };
    int64_t ms = c->pod_count / PODS_PER_MS;
    return ms < LEAST_MS ? LEAST_MS : ms < MOST_MS ? ms : MOST_MS;
}

/* Who made them may have ended before it had seen to the tools that they wait for. */
static bool workers_wait(const struct cluster *c)
{
    for (const struct pod_record *r = c->pods; r; r = r->next)
        if (!r->pod.head && !r->pod.deleting && r->pod.phase == POD_PENDING)
            return true;
    return false;
}

int64_t decide_cluster(struct op *op, struct cluster *c, struct plan *p)
{
    if (op->errors.count == 0)
        failures_prune(op, c);
    if (op->errors.count == 0)
        auth_follow(op, c);
    scaling_follow(op, c);
    bool again = true;
    for (int i = 0; i < LOCAL_ROUNDS && again; i++) {
        struct cluster_view v;
        arena_reset(&op->plan_arena, 256 * KIB);
        view_fill(op, c, &v);
        reconcile_cluster(&v, &op->plan_arena, p);
        op->stats.decisions++;
        again = carry_out_local(op, c, p);
    }
    if (again)
        cluster_touch(op, c); /* there was more to count than a few plans hold */
    if (c->kind == &kind_raycluster_legacy && !scaling_speaks(c))
        say_legacy_status(op, c);
    if (workers_wait(c))
        tools_want(op, c->ns);
    return p->next_ms < auth_next(op, c) ? p->next_ms : auth_next(op, c);
}

int64_t decide_job(struct op *op, struct cluster *c, struct plan *p)
{
    arena_reset(&op->plan_arena, 256 * KIB);
    job_decide(op, c, p);
    op->stats.decisions++;
    return p->next_ms;
}

void decide_one(struct op *op, struct cluster *c)
{
    if (!c->present) {
        cluster_settle(op, c);
        return;
    }
    space_tell_absent(c->space, c->kind);
    if (!space_synced(c->space, c->kind) || c->work || c->in_flight)
        return; /* it is touched again when that is over */
    int64_t due = c->not_before_ms > c->decided_ms + pace_ms(c) ? c->not_before_ms : c->decided_ms + pace_ms(c);
    if (op->now.mono_ms < due) {
        cluster_wake_at(op, c, due);
        return;
    }
    if (c->unsure) {
        cluster_confirm(op, c);
        return;
    }
    if (doubt_list(op, c))
        return;
    c->decided_ms = op->now.mono_ms;
    c->dirty = false;
    model_load(op, c);
    struct plan p;
    int64_t doubted_ms = doubt_recall(op, c), next_ms = c->kind->decide(op, c, &p);
    timer_set(op, c, next_ms < doubted_ms ? next_ms : doubted_ms);
    c->work = work_copy(&p, op->now);
    if (!c->work)
        return;
    op->stats.plans++;
    ring_add(op, c);
}

void decide_all(struct op *op)
{
    struct cluster *c;
    while ((c = timer_due(op, op->now.mono_ms)) != NULL)
        cluster_touch(op, c);
    for (int i = 0; i < OPERATOR_DECISIONS && (c = dirty_pop(op)) != NULL; i++)
        decide_one(op, c);
}

void decide_none(struct op *op)
{
    for (struct cluster *c; (c = dirty_pop(op)) != NULL;)
        if (!c->present)
            cluster_settle(op, c);
}
