/* Carries plans out: the records of the rings (ring.c) take turns, and each action of a turn becomes a call. A body is built when its turn
 * comes: until then an action is a small record. */
#include "ring.h"

enum { ACTIONS_PER_TURN = 4 };

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
    if (h->more && h->more->outdated && h->more->outdated(op, act))
        return true;
    uint64_t *begun = &op->stats.actions[verb_number(op, act->verb)];
    if (act->verb->how >= VERB_ASK) {
        ++*begun;
        h->carry_out(op, c, act);
        return true;
    }
    struct flight *f = slab_alloc(&op->slabs.flight);
    *f = (struct flight){.op = op, .c = c, .verb = act->verb, .group = act->group, .index = act->index, .generation = c->seen.generation};
    struct call_text t = {0};
    struct err e = {0};
    buf_clear(&op->out.body);
    buf_clear(&op->out.path);
    arena_reset(&op->arenas.body, 64 * KIB);
    bool object = writes_object(act->verb->how);
    if (object) /* a status is in its action, and what is deleted has a name there */
        model_load(op, c);
    bool secret = verb_secret(op, act->verb, act->index);
    bool made = h->make(op, c, act, f, &t, &e) && !op->out.body.full && (!object || op->parts->amend(op, secret, &op->out.body, &e)) &&
                (!h->more || !h->more->seal || h->more->seal(op, c, act, f, &e));
    if (!made || op->out.body.full || op->out.path.full) {
        err_set(&e, ERR_LIMIT, "object does not fit %d bytes (LIMIT_JSON_ITEM)", LIMIT_JSON_ITEM);
        slab_free(&op->slabs.flight, f);
        h->failed(op, c, act, e.text);
        return true;
    }
    struct kube_request r = {.lane = KUBE_LANE_MAIN,
                             .method = t.method,
                             .path = buf_slice(&op->out.path),
                             .content_type = t.content_type,
                             .body = buf_slice(&op->out.body),
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
        mem_wipe(op->out.body.ptr, op->out.body.len); /* the client has a copy, and wipes it */
    if (!sent) {
        slab_free(&op->slabs.flight, f);
        return false;
    }
    if (h->more && h->more->by_us)
        h->more->by_us(op, slice_of(f->uid), true);
    ++*begun;
    c->in_flight++;
    op->flights++;
    return true;
}

void execute_none(struct op *op)
{
    for (struct ring *r; (r = ring_next(op)) != NULL;) {
        struct record *c = ring_pop(r);
        c->in_ring = false;
        work_drop(c);
        work_settle(op, c);
    }
}

static bool is_old(const struct op *op, const struct record *c)
{
    return c->present && c->work && op->now.mono_ms >= c->work->began_ms + OPERATOR_PLAN_MS;
}

/* A plan that has waited OPERATOR_PLAN_MS was decided on an outdated view. The record is decided again but does not wait again; otherwise
 * one that waits long would fall behind newer ones again and again. */
static void renew(struct op *op, struct record *c)
{
    work_drop(c);
    work_settle(op, c);
    decide_one(op, c);
}

/* One turn of a record. False: the client takes no more calls, and the next step continues the same turn. */
static bool take_turn(struct op *op, struct record *c)
{
    struct work *w = c->work;
    while (c->present && w && w->next < w->count && (w->turn < ACTIONS_PER_TURN || w->count - w->next <= RING_WHOLE)) {
        if (kube_client_room(op->client) == 0 || !execute_one(op, c, &w->actions[w->next]))
            return false;
        w->next++; /* execute_one may have dropped the plan's rest, but never frees it */
        w->turn++;
    }
    return true;
}

/* After a long pause all plans are old, and deciding again need not result in a call, so the request window does not limit the number of
 * decisions: OPERATOR_DECISIONS does. */
bool execute_all(struct op *op)
{
    if (settings_awaited(op))
        return false;
    int renewals = 0;
    for (struct ring *r; (r = ring_next(op)) != NULL;) {
        bool room = kube_client_room(op->client) != 0;
        if (!room && r != &op->ring.rings[0])
            return false;
        bool old = room && is_old(op, r->first);
        if (old && renewals++ == OPERATOR_DECISIONS)
            return true;
        struct record *c = ring_pop(r);
        if (old)
            renew(op, c);
        bool over = take_turn(op, c);
        c->in_ring = false;
        if (c->work && c->work->next < c->work->count) {
            c->work->turn = over ? 0 : c->work->turn;
            ring_put(op, c, !over);
        } else {
            work_settle(op, c);
        }
        if (!over)
            return false;
        op->ring.picks++;
    }
    return false;
}
