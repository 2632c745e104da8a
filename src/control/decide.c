/* From a dirty record to a plan: the stored spec is parsed into a model, the kind fills a view from it and from the children's records, and
 * a pure function turns the view into a plan. */
#include <mobula/control.h>

bool plan_move(struct op *op, struct record *c, const struct plan *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct action *act = &p->actions[i];
        if (act->verb->how != VERB_MOVE)
            continue;
        verb_handler(op, act->verb)->carry_out(op, c, act);
        op->stats.actions[verb_number(op, act->verb)]++;
        any = true;
    }
    return any;
}

static bool is_call(const struct action *act)
{
    return act->verb->how != VERB_MOVE;
}

/* A plan lives in an arena that the next decision resets: copies its actions and their texts into one block. */
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
    w->follow = p->follow + (p->beyond.verb ? PLAN_ACTIONS : 0);
    for (uint32_t i = 0; i < p->count; i++) {
        if (!is_call(&p->actions[i]))
            continue;
        struct action *to = &w->actions[w->count++];
        *to = p->actions[i];
        w->writes_status |= to->verb == &verb_status;
        to->name = slice_behind(&at, to->name);
        to->uid = slice_behind(&at, to->uid);
        to->text = slice_behind(&at, to->text);
    }
    return w;
}

/* The cost of a decision grows with the pods of the record, and so does the number of events. So events that come soon after a decision are
 * batched into the next one; after a quiet time a record is decided at once. A RayJob (goes_by_status) has few
 * events, and each of its steps waits for the status of the one before: a long pause would delay its pods. */
static int64_t pace_ms(const struct record *c)
{
    enum { LEAST_MS = 100, STEP_MS = 2, PODS_PER_MS = 10, MOST_MS = 1000 };
    int64_t ms = c->children.pod_count / PODS_PER_MS, least = c->kind->controller->goes_by_status ? STEP_MS : LEAST_MS;
    return ms < least ? least : ms < MOST_MS ? ms : MOST_MS;
}

void decide_one(struct op *op, struct record *c)
{
    if (!c->present) {
        record_settle(op, c);
        return;
    }
    space_tell_absent(c->space, c->kind);
    if (!space_synced(c->space, c->kind) || c->work || c->in_flight)
        return; /* it is touched again when the backoff or look-up ends */
    int64_t due = c->backoff.not_before_ms > c->decided_ms + pace_ms(c) ? c->backoff.not_before_ms : c->decided_ms + pace_ms(c);
    if (op->now.mono_ms < due) {
        record_wake_at(op, c, due);
        return;
    }
    if (c->unsure) {
        record_confirm(op, c);
        return;
    }
    if (orphan_waits(op, c) || c->kind->controller->unsettled(op, c))
        return;
    c->decided_ms = op->now.mono_ms;
    c->dirty = false;
    model_load(op, c);
    struct plan p;
    int64_t doubted_ms = c->kind->controller->recall(op, c), next_ms = c->kind->controller->decide(op, c, &p);
    timer_set(op, c, next_ms < doubted_ms ? next_ms : doubted_ms);
    orphan_plan(c, &p);
    c->work = work_copy(&p, op->now);
    if (!c->work)
        return;
    op->stats.plans++;
    ring_add(op, c);
}

void decide_all(struct op *op)
{
    struct record *c;
    while ((c = timer_due(op, op->now.mono_ms)) != NULL)
        record_touch(op, c);
    for (int i = 0; i < OPERATOR_DECISIONS && (c = dirty_pop(op)) != NULL; i++)
        decide_one(op, c);
}

void decide_none(struct op *op)
{
    for (struct record *c; (c = dirty_pop(op)) != NULL;)
        if (!c->present)
            record_settle(op, c);
}
