/* Carries plans out: clusters with work stand in a ring, and each gets a few actions per turn while the client's window has room, so that
 * one cluster's thousand pods do not delay another cluster's first. Bodies are built when their turn comes: what waits is small. */
#include "kind.h"
#include "verbs.h"

/* Most clusters have no more actions than this: their spec is read once for all of them and not once for each. */
enum { ACTIONS_PER_TURN = 8 };

void ring_add(struct op *op, struct cluster *c)
{
    if (c->in_ring)
        return;
    c->in_ring = true;
    c->next_ring = NULL;
    if (op->ring_last)
        op->ring_last->next_ring = c;
    else
        op->ring_first = c;
    op->ring_last = c;
}

static struct cluster *ring_pop(struct op *op)
{
    struct cluster *c = op->ring_first;
    op->turn = 0;
    op->ring_first = c->next_ring;
    if (!op->ring_first)
        op->ring_last = NULL;
    c->in_ring = false;
    return c;
}

void work_settle(struct op *op, struct cluster *c)
{
    if (c->in_flight || (c->work && c->work->next < c->work->count))
        return;
    if (c->work) {
        if (c->present)
            say_work(op, c);
        mem_free(c->work);
        c->work = NULL;
    }
    cluster_touch(op, c);
}

static const struct ray_group *group_spec(const struct op *op, int32_t group)
{
    return group < 0 ? &op->model.head : &op->model.groups[group];
}

/* Its workers wait for what is in there; asked for with the head, which is made before them, it is there when a kubelet mounts it. That is
 * a call of its own, with the same buffers. */
static void want_tools(struct op *op, struct cluster *c)
{
    tools_want(op, c->ns);
    buf_clear(&op->path);
}

/* Another cluster's service of this name: it would change hands without a word, because both are written by the same manager. */
static const struct service_record *taken(struct op *op, const struct cluster *c, struct slice name)
{
    const struct service_record *r = name_find(op, &kind_kservice, c->ns, name);
    return r && r->of != c && r->of->present ? r : NULL;
}

bool make_pod(struct op *op, struct cluster *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    const struct ray_group *g = group_spec(op, act->group);
    if (op->model.group_count && act->verb == &raycluster_create_pod)
        want_tools(op, c);
    struct slice name = act->group < 0 ? ray_head_pod_name(&op->model, &op->body_arena)
                                       : ray_worker_pod_name(&op->model, g, act->index, act->uid, &op->body_arena);
    snprintf(f->name, sizeof f->name, "%.*s", SLICE_ARG(name));
    *t = (struct call_text){SLICE("POST"), SLICE(KUBE_TYPE_JSON), false};
    kube_path(&op->path, &kube_pods, istr_slice(c->ns), SLICE_NONE, SLICE_NONE);
    buf_put(&op->path, SLICE("?fieldManager=" RAY_FIELD_MANAGER));
    if (act->verb == &raycluster_try_pod) {
        buf_put(&op->path, SLICE("&dryRun=All"));
        f->hash = g->hash;
    }
    return act->group < 0 ? ray_build_head_pod(&op->model, &op->o.ray, &op->body_arena, &op->body, e)
                          : ray_build_worker_pod(&op->model, g, act->index, act->uid, &op->o.ray, &op->body_arena, &op->body, e);
}

bool make_delete(struct op *op, struct cluster *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)e;
    snprintf(f->name, sizeof f->name, "%.*s", SLICE_ARG(act->name));
    snprintf(f->uid, sizeof f->uid, "%.*s", SLICE_ARG(act->uid));
    bool pod = act->verb == &pod_delete;
    struct slice why = act->text.len ? act->text : slice_of(act->why);
    utf8_copy(why, f->why, sizeof f->why);
    *t = (struct call_text){SLICE("DELETE"), SLICE(KUBE_TYPE_JSON), true};
    kube_path(&op->path, pod ? &kube_pods : &kube_services, istr_slice(c->ns), act->name, SLICE_NONE);
    f->version = act->version;
    return kube_delete_options(&op->body, act->uid, f->version, SLICE("Background"));
}

bool make_service(struct op *op, struct cluster *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    bool head = act->verb == &raycluster_apply_head_service;
    struct slice name = head ? ray_head_service_name(&op->model, &op->body_arena) : ray_headless_service_name(&op->model, &op->body_arena);
    snprintf(f->name, sizeof f->name, "%.*s", SLICE_ARG(name));
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_APPLY), true};
    kube_path(&op->path, &kube_services, istr_slice(c->ns), name, SLICE_NONE);
    buf_put(&op->path, SLICE("?fieldManager=" RAY_FIELD_MANAGER));
    const struct service_record *other = NULL;
    f->fresh = !service_of(c, name);
    if (!f->fresh)
        buf_put(&op->path, SLICE("&force=true")); /* ours: set right. Else nobody's fields are taken over */
    else
        other = taken(op, c, name);
    if (other)
        return err_set(e, ERR_CONFIG, "service %.*s belongs to RayCluster %s (%.*s): rename one of the two clusters or its headService",
                       SLICE_ARG(name), other->of->name, SLICE_ARG(other->of->kind->api_version));
    struct json doc;
    bool built = head ? ray_build_head_service(&op->model, &op->body_arena, &op->body, e)
                      : ray_build_headless_service(&op->model, &op->body_arena, &op->body, e);
    if (!built || !json_parse(&doc, buf_slice(&op->body), &op->body_arena, e))
        return false;
    f->hash = ray_service_hash(json_root(&doc));
    return true;
}

bool make_status(struct op *op, struct cluster *c, const struct action *act, struct flight *f, struct call_text *t, struct err *e)
{
    (void)e;
    f->hash = c->work->status_hash;
    *t = (struct call_text){SLICE("PATCH"), SLICE(KUBE_TYPE_MERGE_PATCH), true};
    kube_path(&op->path, c->kind->resource, istr_slice(c->ns), slice_of(c->name), SLICE("status"));
    buf_put(&op->path, SLICE("?fieldManager=" RAY_FIELD_MANAGER "-status"));
    return buf_put(&op->body, act->text);
}

/* Of a pod that goes only as it was seen: it has been seen anew since, and what becomes of it is the next plan's to say. */
static bool seen_anew(const struct op *op, const struct action *act)
{
    const struct pod_record *r = act->version ? map_get(&op->pods, act->uid) : NULL;
    return act->version && (!r || r->pod.version != act->version);
}

/* Pods, services, clusters of jobs. What a server drops of a status that we write is nobody's mistake. */
static bool holds_users_words(enum verb_how how)
{
    return how == VERB_CREATE || how == VERB_APPLY || how == VERB_DRY_RUN;
}

/* Returns false when the client took no call: the action stays where it is. */
static bool execute_one(struct op *op, struct cluster *c, const struct action *act)
{
    if (seen_anew(op, act))
        return true;
    uint64_t *begun = &op->stats.actions[verb_number(act->verb)];
    if (act->verb->carry_out) {
        ++*begun;
        act->verb->carry_out(op, c, act);
        return true;
    }
    struct flight *f = slab_alloc(&op->flight_slab);
    *f = (struct flight){.op = op, .c = c, .verb = act->verb, .group = act->group, .index = act->index, .generation = c->generation};
    struct call_text t = {0};
    struct err e = {0};
    buf_clear(&op->body);
    buf_clear(&op->path);
    arena_reset(&op->body_arena, 64 * KIB);
    model_load(op, c);
    if (!act->verb->make(op, c, act, f, &t, &e) || op->body.full || op->path.full) {
        err_set(&e, ERR_LIMIT, "object does not fit %d bytes", LIMIT_JSON_ITEM);
        slab_free(&op->flight_slab, f);
        act->verb->failed(op, c, act, e.text);
        return true;
    }
    struct kube_request r = {.lane = KUBE_LANE_MAIN,
                             .method = t.method,
                             .path = buf_slice(&op->path),
                             .content_type = t.content_type,
                             .body = buf_slice(&op->body),
                             .again = t.again,
                             .at_once = true,
                             .warnings = holds_users_words(act->verb->how),
                             .secret = verb_secret(act->verb, act->index),
                             .begin_ms = c->work->began_ms + OPERATOR_PLAN_MS,
                             .done = answer_done,
                             .owner = op,
                             .about = c,
                             .tag = (uint64_t)(uintptr_t)f};
    bool sent = kube_call(op->client, &r, op->now, &e);
    if (r.secret)
        mem_wipe(op->body.ptr, op->body.len); /* the client has a copy, and wipes it */
    if (!sent) {
        slab_free(&op->flight_slab, f);
        return false;
    }
    if (act->verb->by_us)
        act->verb->by_us(op, slice_of(f->uid), true);
    ++*begun;
    c->in_flight++;
    op->flights++;
    return true;
}

void execute_none(struct op *op)
{
    while (op->ring_first) {
        struct cluster *c = ring_pop(op);
        work_drop(c);
        work_settle(op, c);
    }
}

static bool is_old(const struct op *op, const struct cluster *c)
{
    return c->present && c->work && op->now.mono_ms >= c->work->began_ms + OPERATOR_PLAN_MS;
}

/* What was decided so long ago was right for what was seen then. It is decided anew, in its place: or who waits long for their turns would
 * stand behind those who have come later, again and again. */
static void renew(struct op *op, struct cluster *c)
{
    work_drop(c);
    work_settle(op, c);
    decide_one(op, c);
}

/* One turn of a cluster, which the next step goes on with when the window is full. Returns false when the client takes no more calls. */
static bool take_turn(struct op *op, struct cluster *c)
{
    struct work *w = c->work;
    while (c->present && w && w->next < w->count && op->turn < ACTIONS_PER_TURN) {
        if (kube_client_room(op->client) == 0 || !execute_one(op, c, &w->actions[w->next]))
            return false;
        w->next++; /* … of a plan that may have been dropped meanwhile */
        op->turn++;
    }
    return true;
}

/* After a time in which nothing went on all plans are old, and what comes of them need not be a call: the window does not bound them. */
bool execute_all(struct op *op)
{
    for (int renewals = 0; op->ring_first;) {
        struct cluster *c = op->ring_first;
        if (is_old(op, c) && kube_client_room(op->client) != 0) {
            if (renewals++ == OPERATOR_DECISIONS)
                return true;
            renew(op, c);
        }
        if (!take_turn(op, c))
            return false;
        ring_pop(op);
        if (c->work && c->work->next < c->work->count)
            ring_add(op, c);
        else
            work_settle(op, c);
    }
    return false;
}
