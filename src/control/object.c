#include <mobula/control.h>

_Static_assert(LIMIT_KUBE_NAMESPACE == 63, "a namespace is a label, and the key has room for one");

/* Whether uid and namespace can form a key. The uid keeps its NUL, because struct record.uid and .key share their bytes. */
static bool key_of(char key[RECORD_KEY_MAX], struct slice uid, struct slice ns)
{
    if (uid.len != UID_TEXT_MAX || !name_dns1123_label(uid) || !name_dns1123_label(ns))
        return false;
    slice_copy(uid, key, UID_TEXT_MAX + 1);
    memcpy(key + UID_TEXT_MAX + 1, ns.ptr, ns.len);
    return true;
}

static struct slice key_slice(const char *key, struct slice ns)
{
    return (struct slice){key, UID_TEXT_MAX + 1 + ns.len};
}

struct record *record_get(struct op *op, struct slice uid, struct slice ns)
{
    char key[RECORD_KEY_MAX];
    return key_of(key, uid, ns) ? map_get(&op->all.records, key_slice(key, ns)) : NULL;
}

struct record *record_make(struct op *op, struct slice uid, struct slice ns, struct space *space, const struct kind *kind)
{
    char key[RECORD_KEY_MAX] = {0};
    if (!key_of(key, uid, ns))
        return NULL;
    struct record *c = map_get(&op->all.records, key_slice(key, ns));
    if (c)
        return c;
    c = slab_alloc(&op->slabs.record);
    memcpy(c->key, key, sizeof key);
    c->ns = intern_get(&op->strings, ns);
    c->space = space;
    c->kind = kind;
    c->timer.wake_ms = TIME_NEVER;
    map_put(&op->all.records, key_slice(c->key, ns), c);
    return c;
}

static void record_free(struct op *op, struct record *c)
{
    map_del(&op->all.records, key_slice(c->key, istr_slice(c->ns)));
    intern_drop(&op->strings, c->ns);
    slab_free(&op->slabs.record, c);
}

/* ---- owners ---- */

/* A model may say who is above it. */
static void forget_below(struct op *op, const struct record *c)
{
    model_forget(op, c);
    for (const struct record *own = c->family.owned; own; own = own->family.next)
        forget_below(op, own);
}

void record_own(struct op *op, struct record *c, struct record *owner)
{
    struct record *before = c->family.owner;
    if (before == owner)
        return;
    if (before) {
        *c->family.at = c->family.next;
        if (c->family.next)
            c->family.next->family.at = c->family.at;
        record_touch(op, before); /* it may have been kept only for this child */
    }
    forget_below(op, c);
    c->family.owner = owner;
    c->family.next = NULL;
    c->family.at = NULL;
    if (!owner)
        return;
    c->family.next = owner->family.owned;
    c->family.at = &owner->family.owned;
    if (c->family.next)
        c->family.next->family.at = &c->family.next;
    owner->family.owned = c;
    record_touch(op, owner);
}

void record_tell(struct op *op, const struct record *c)
{
    if (c->family.owner)
        record_touch(op, c->family.owner);
    name_tell(op, c->kind, c->ns, slice_of(c->name));
}

void record_reread(struct op *op, struct record *c)
{
    if (c->kind->controller->reread)
        c->kind->controller->reread(c);
    model_forget(op, c);
}

/* Objects that named it as their owner before it was seen, with a kind that it does not have. So no chain of owners leads back to where it
 * began. */
static void disown(struct op *op, struct record *c)
{
    for (struct record *own = c->family.owned, *next; own; own = next) {
        next = own->family.next;
        if (c->kind->controller->owns && !may_own(c->kind, own->kind))
            record_own(op, own, NULL);
    }
}

void record_comes(struct op *op, struct record *c, struct space *space, const struct kind *kind, struct slice name)
{
    c->present = true;
    c->space = space;
    c->kind = kind;
    disown(op, c);
    c->name = mem_alloc(name.len + 1);
    memcpy(c->name, name.ptr, name.len);
    c->own = kind->controller->own ? mem_alloc(kind->controller->own->size) : NULL;
    name_enter(op, kind, c->ns, name, c);
    op->all.unreported += kind->resource != NULL;
}

void warnings_drop(struct op *op, struct record *c)
{
    intern_drop(&op->strings, c->warned);
    c->warned = NULL;
}

static void forget_content(struct op *op, struct record *c)
{
    record_reread(op, c);
    c->kind->controller->forget(op, c);
    mem_free(c->own);
    c->own = NULL;
    intern_drop(&op->strings, c->seen.spec);
    intern_drop(&op->strings, c->seen.meta);
    warnings_drop(op, c);
    if (c->name) {
        name_leave(op, c->kind, c->ns, slice_of(c->name), c);
        op->all.unreported -= c->kind->resource && c->status.len == 0;
    }
    mem_free(c->name);
    mem_free(c->status.text);
    c->seen.spec = c->seen.meta = NULL;
    c->name = c->status.text = NULL;
    c->status.len = 0;
    c->status_ours = false;
    c->status.reasons = 0;
    failures_clear(op, c);
}

void record_gone(struct op *op, struct record *c)
{
    c->present = c->unsure = false;
    c->doubt.missed = 0;
    record_tell(op, c);
    if (c->family.owner && !c->by_us)
        record_doubt(c->family.owner);
    record_own(op, c, NULL); /* now, not when the record is freed: two records that own each other would wait for each other */
    c->by_us = false;
    /* now, because the record stays while requests are in flight, and the resource may reappear if a 404 was wrong */
    forget_content(op, c);
    work_drop(c);
    if (c->in_flight) /* drop requests that name it as owner: a new object may have its name by now */
        kube_calls_recall(op->client, op, c, op->now);
    timer_set(op, c, TIME_NEVER);
    record_settle(op, c);
}

void record_settle(struct op *op, struct record *c)
{
    if (c->present || c->in_flight || c->in_ring || c->queued)
        return;
    mem_free(c->work);
    c->work = NULL;
    if (c->children.pods || c->children.services || c->family.owned)
        return;
    record_own(op, c, NULL);
    timer_set(op, c, TIME_NEVER);
    record_free(op, c);
}

void records_free(struct op *op)
{
    struct record *c;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;) {
        forget_content(op, c);
        intern_drop(&op->strings, c->ns);
        mem_free(c->work);
    }
    for (const struct kind *const *k = op->parts->kinds; *k; k++)
        if ((*k)->free)
            (*k)->free(op);
    names_free(op);
    map_free(&op->all.records);
    slab_destroy(&op->slabs.record);
    mem_free(op->heap.list);
}
