/* A binary heap of records by wake_ms, the time of their next decision. Each record knows its place in the heap, so its time can be moved
 * in either direction. */
#include <mobula/control.h>

static void place(struct op *op, struct record *c, uint32_t at)
{
    op->heap.list[at] = c;
    c->timer.heap_at = at;
}

static void sift_up(struct op *op, struct record *c, uint32_t at)
{
    for (; at > 0; at = (at - 1) / 2) {
        struct record *parent = op->heap.list[(at - 1) / 2];
        if (parent->timer.wake_ms <= c->timer.wake_ms)
            break;
        place(op, parent, at);
    }
    place(op, c, at);
}

static void sift_down(struct op *op, struct record *c, uint32_t at)
{
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= op->heap.count)
            break;
        if (child + 1 < op->heap.count && op->heap.list[child + 1]->timer.wake_ms < op->heap.list[child]->timer.wake_ms)
            child++;
        if (op->heap.list[child]->timer.wake_ms >= c->timer.wake_ms)
            break;
        place(op, op->heap.list[child], at);
        at = child;
    }
    place(op, c, at);
}

static void take_out(struct op *op, struct record *c)
{
    uint32_t at = c->timer.heap_at;
    struct record *last = op->heap.list[--op->heap.count];
    c->timer.wake_ms = TIME_NEVER;
    if (last == c)
        return;
    sift_up(op, last, at);
    sift_down(op, last, last->timer.heap_at);
}

void timer_set(struct op *op, struct record *c, int64_t ms)
{
    if (c->timer.wake_ms != TIME_NEVER)
        take_out(op, c);
    if (ms == TIME_NEVER)
        return;
    if (op->heap.count == op->heap.cap) {
        op->heap.cap = op->heap.cap ? op->heap.cap * 2 : 64;
        op->heap.list = mem_resize(op->heap.list, op->heap.cap * sizeof(struct record *));
    }
    c->timer.wake_ms = ms;
    op->heap.count++;
    sift_up(op, c, op->heap.count - 1);
}

int64_t timer_next(const struct op *op)
{
    return op->heap.count ? op->heap.list[0]->timer.wake_ms : TIME_NEVER;
}

struct record *timer_due(struct op *op, int64_t now_ms)
{
    if (timer_next(op) > now_ms)
        return NULL;
    struct record *c = op->heap.list[0];
    take_out(op, c);
    return c;
}
