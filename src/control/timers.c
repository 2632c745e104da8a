/* A binary heap of records by wake_ms, the time of their next decision. Each record knows its place in the heap, so its time can be moved
 * in either direction. */
#include <mobula/control.h>

static void place(struct op *op, struct record *c, uint32_t at)
{
    op->heap[at] = c;
    c->heap_at = at;
}

static void sift_up(struct op *op, struct record *c, uint32_t at)
{
    for (; at > 0; at = (at - 1) / 2) {
        struct record *parent = op->heap[(at - 1) / 2];
        if (parent->wake_ms <= c->wake_ms)
            break;
        place(op, parent, at);
    }
    place(op, c, at);
}

static void sift_down(struct op *op, struct record *c, uint32_t at)
{
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= op->heap_count)
            break;
        if (child + 1 < op->heap_count && op->heap[child + 1]->wake_ms < op->heap[child]->wake_ms)
            child++;
        if (op->heap[child]->wake_ms >= c->wake_ms)
            break;
        place(op, op->heap[child], at);
        at = child;
    }
    place(op, c, at);
}

static void take_out(struct op *op, struct record *c)
{
    uint32_t at = c->heap_at;
    struct record *last = op->heap[--op->heap_count];
    c->wake_ms = TIME_NEVER;
    if (last == c)
        return;
    sift_up(op, last, at);
    sift_down(op, last, last->heap_at);
}

void timer_set(struct op *op, struct record *c, int64_t ms)
{
    if (c->wake_ms != TIME_NEVER)
        take_out(op, c);
    if (ms == TIME_NEVER)
        return;
    if (op->heap_count == op->heap_cap) {
        op->heap_cap = op->heap_cap ? op->heap_cap * 2 : 64;
        op->heap = mem_resize(op->heap, op->heap_cap * sizeof(struct record *));
    }
    c->wake_ms = ms;
    op->heap_count++;
    sift_up(op, c, op->heap_count - 1);
}

int64_t timer_next(const struct op *op)
{
    return op->heap_count ? op->heap[0]->wake_ms : TIME_NEVER;
}

struct record *timer_due(struct op *op, int64_t now_ms)
{
    if (timer_next(op) > now_ms)
        return NULL;
    struct record *c = op->heap[0];
    take_out(op, c);
    return c;
}
