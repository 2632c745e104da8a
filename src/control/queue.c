/* The queue of records that are to be decided, their alarm clocks, and the rest of a plan. */
#include <mobula/control.h>

void record_touch(struct op *op, struct record *c)
{
    c->dirty = true;
    if (c->queued)
        return;
    c->queued = true;
    c->next_dirty = NULL;
    if (op->dirty.last)
        op->dirty.last->next_dirty = c;
    else
        op->dirty.first = c;
    op->dirty.last = c;
}

struct record *dirty_pop(struct op *op)
{
    struct record *c = op->dirty.first;
    if (!c)
        return NULL;
    op->dirty.first = c->next_dirty;
    if (!op->dirty.first)
        op->dirty.last = NULL;
    c->queued = false;
    c->next_dirty = NULL;
    return c;
}

void record_wake_at(struct op *op, struct record *c, int64_t ms)
{
    if (ms < c->timer.wake_ms)
        timer_set(op, c, ms);
}

void record_doubt(struct record *c)
{
    c->unsure = c->present && c->kind->resource;
}

void work_drop(struct record *c)
{
    if (c->work)
        c->work->count = c->work->next;
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
