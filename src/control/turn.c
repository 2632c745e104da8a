/* Carries plans out, with fair queueing: records with work form a ring, and each gets a few actions per turn while the client's request
 * window has room, so that one cluster's thousand pods do not delay another cluster's first. A body is built when its turn comes: until
 * then an action is a small record. */
#include <mobula/control.h>

/* Most plans have no more actions than this, so the spec is parsed once per plan and not once per action. */
enum { ACTIONS_PER_TURN = 8 };

void ring_add(struct op *op, struct record *c)
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

static struct record *ring_pop(struct op *op)
{
    struct record *c = op->ring_first;
    op->turn = 0;
    op->ring_first = c->next_ring;
    if (!op->ring_first)
        op->ring_last = NULL;
    c->in_ring = false;
    return c;
}

void work_settle(struct op *op, struct record *c)
{
    if (c->in_flight || (c->work && c->work->next < c->work->count))
        return;
    if (c->work) {
        if (c->present)
            c->kind->controller->done(op, c);
        mem_free(c->work);
        c->work = NULL;
    }
    record_touch(op, c);
}

/* Pods, services and clusters of jobs: patches are for them, and they hold text of the user's template. A status does not, so warnings
 * about it are not asked for. */
static bool writes_object(enum verb_how how)
{
    return how == VERB_CREATE || how == VERB_APPLY || how == VERB_DRY_RUN;
}

/* Returns false when the client took no call: the action stays where it is. */
static bool execute_one(struct op *op, struct record *c, const struct action *act)
{
    const struct verb_handler *h = verb_handler(op, act->verb);
    if (h->outdated && h->outdated(op, act))
        return true;
    uint64_t *begun = &op->stats.actions[verb_number(op, act->verb)];
    if (h->carry_out) {
        ++*begun;
        h->carry_out(op, c, act);
        return true;
    }
    struct flight *f = slab_alloc(&op->flight_slab);
    *f = (struct flight){.op = op, .c = c, .verb = act->verb, .group = act->group, .index = act->index, .generation = c->generation};
    struct call_text t = {0};
    struct err e = {0};
    buf_clear(&op->body);
    buf_clear(&op->path);
    arena_reset(&op->body_arena, 64 * KIB);
    bool object = writes_object(act->verb->how);
    if (object) /* a status is in its action, and what is deleted has a name there */
        model_load(op, c);
    bool secret = h->secret && h->secret(act->index);
    bool made = h->make(op, c, act, f, &t, &e) && !op->body.full && (!object || op->parts->amend(op, secret, &op->body, &e)) &&
                (!h->seal || h->seal(op, c, act, f, &e));
    if (!made || op->body.full || op->path.full) {
        err_set(&e, ERR_LIMIT, "object does not fit %d bytes (LIMIT_JSON_ITEM)", LIMIT_JSON_ITEM);
        slab_free(&op->flight_slab, f);
        h->failed(op, c, act, e.text);
        return true;
    }
    struct kube_request r = {.lane = KUBE_LANE_MAIN,
                             .method = t.method,
                             .path = buf_slice(&op->path),
                             .content_type = t.content_type,
                             .body = buf_slice(&op->body),
                             .again = t.again,
                             .at_once = true,
                             .warnings = object,
                             .secret = secret,
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
    if (h->by_us)
        h->by_us(op, slice_of(f->uid), true);
    ++*begun;
    c->in_flight++;
    op->flights++;
    return true;
}

void execute_none(struct op *op)
{
    while (op->ring_first) {
        struct record *c = ring_pop(op);
        work_drop(c);
        work_settle(op, c);
    }
}

static bool is_old(const struct op *op, const struct record *c)
{
    return c->present && c->work && op->now.mono_ms >= c->work->began_ms + OPERATOR_PLAN_MS;
}

/* A plan that has waited OPERATOR_PLAN_MS was decided on an outdated view. The record is decided again but keeps its place in the ring;
 * otherwise a record that waits long would fall behind newer ones again and again. */
static void renew(struct op *op, struct record *c)
{
    work_drop(c);
    work_settle(op, c);
    decide_one(op, c);
}

/* One turn of a record. If the request window fills up, the next step continues the same turn. False: the client takes no more calls. */
static bool take_turn(struct op *op, struct record *c)
{
    struct work *w = c->work;
    while (c->present && w && w->next < w->count && op->turn < ACTIONS_PER_TURN) {
        if (kube_client_room(op->client) == 0 || !execute_one(op, c, &w->actions[w->next]))
            return false;
        w->next++; /* execute_one may have dropped the plan's rest, but never frees it */
        op->turn++;
    }
    return true;
}

/* After a long pause all plans are old, and deciding again need not result in a call, so the request window does not limit the number of
 * decisions: OPERATOR_DECISIONS does. */
bool execute_all(struct op *op)
{
    if (settings_awaited(op))
        return false;
    for (int renewals = 0; op->ring_first;) {
        struct record *c = op->ring_first;
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
