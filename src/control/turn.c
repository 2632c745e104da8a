/* Carries plans out: clusters with work stand in a ring, and each gets a few actions per turn while the client's window has room, so that
 * one cluster's thousand pods do not delay another cluster's first. Bodies are built when their turn comes: what waits is small. */
#include <mobula/control.h>

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
            c->kind->done(op, c);
        mem_free(c->work);
        c->work = NULL;
    }
    cluster_touch(op, c);
}

/* Pods, services, clusters of jobs. What a server drops of a status that we write is nobody's mistake. */
static bool holds_users_words(enum verb_how how)
{
    return how == VERB_CREATE || how == VERB_APPLY || how == VERB_DRY_RUN;
}

/* Returns false when the client took no call: the action stays where it is. */
static bool execute_one(struct op *op, struct cluster *c, const struct action *act)
{
    if (act->verb->outdated && act->verb->outdated(op, act))
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
