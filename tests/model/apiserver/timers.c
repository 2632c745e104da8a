#include "server.h"

static bool before(const struct timer *a, const struct timer *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->seq < b->seq;
}

static void swap(struct timer *a, struct timer *b)
{
    struct timer t = *a;
    *a = *b;
    *b = t;
}

void timers_add(struct apiserver *s, int64_t due_ms, enum wake what, struct slice uid)
{
    struct timers *t = &s->timers;
    if (t->count == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->heap = mem_resize(t->heap, t->cap * sizeof *t->heap);
    }
    struct timer *n = &t->heap[t->count];
    *n = (struct timer){.due_ms = due_ms, .seq = t->seq++, .what = what};
    memcpy(n->uid, uid.ptr, uid.len < UID_LEN ? uid.len : UID_LEN);
    for (size_t i = t->count++; i > 0 && before(&t->heap[i], &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&t->heap[i], &t->heap[(i - 1) / 2]);
}

bool timers_take(struct apiserver *s, struct timer *out)
{
    struct timers *t = &s->timers;
    if (!t->count || t->heap[0].due_ms > s->now.mono_ms)
        return false;
    *out = t->heap[0];
    t->heap[0] = t->heap[--t->count];
    for (size_t i = 0;;) {
        size_t least = i, left = 2 * i + 1;
        if (left < t->count && before(&t->heap[left], &t->heap[least]))
            least = left;
        if (left + 1 < t->count && before(&t->heap[left + 1], &t->heap[least]))
            least = left + 1;
        if (least == i)
            return true;
        swap(&t->heap[i], &t->heap[least]);
        i = least;
    }
}

int64_t timers_next(const struct apiserver *s)
{
    return s->timers.count ? s->timers.heap[0].due_ms : TIME_NEVER;
}
