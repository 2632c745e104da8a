/* Consecutive failures, counted for each part of an object (a worker group, the head), from which its backoff follows. */
#include <mobula/control.h>

static bool same_group(const struct failing *f, struct slice group, bool head)
{
    return head ? f->group == NULL : f->group != NULL && slice_eq(istr_slice(f->group), group);
}

struct group_failures *failures_of(struct op *op, struct record *c, struct slice group, bool head, bool make)
{
    for (struct failing *f = c->children.failing; f; f = f->next)
        if (same_group(f, group, head))
            return &f->f;
    if (!make)
        return NULL;
    struct failing *f = mem_alloc(sizeof *f);
    f->group = head ? NULL : intern_get(&op->strings, group);
    f->next = c->children.failing;
    c->children.failing = f;
    return &f->f;
}

static void failing_free(struct op *op, struct failing **link)
{
    struct failing *f = *link;
    *link = f->next;
    intern_drop(&op->strings, f->group);
    mem_free(f);
}

void failures_forget(struct op *op, struct record *c, struct slice group, bool head)
{
    for (struct failing **link = &c->children.failing; *link; link = &(*link)->next)
        if (same_group(*link, group, head)) {
            failing_free(op, link);
            return;
        }
}

void failures_clear(struct op *op, struct record *c)
{
    while (c->children.failing)
        failing_free(op, &c->children.failing);
}

bool failure_count(struct op *op, const struct record *c, struct group_failures *f, struct slice reason)
{
    enum { COUNT_MAX = 1000 };
    if (f->count && op->now.mono_ms < f->not_before_ms)
        return false;
    f->count += f->count < COUNT_MAX;
    f->last_us = op->now.wall_us;
    f->not_before_ms = op->now.mono_ms + plan_backoff_ms(f->count, hash64(slice_of(c->uid), 0));
    utf8_copy(reason, f->reason, sizeof f->reason);
    return true;
}
