/* An index of objects by kind, namespace and name, and the records that watch a name, whether or not an object has it. A look-up is one
 * hash probe: a thousand jobs that each wait for a cluster do not scan a thousand records each. */
#include <mobula/control.h>

enum { KEY_MAX = 2 * sizeof(void *) + LIMIT_KUBE_NAME };

struct name_entry {
    void *object; /* NULL: no object of this name is known */
    struct name_watch *watches;
    uint32_t len;
    /* the key begins here */
    const struct kind *kind;
    const struct istr *ns;
    char name[];
};
_Static_assert(offsetof(struct name_entry, name) == offsetof(struct name_entry, kind) + 2 * sizeof(void *), "the key has no gap");

static struct slice key_of(const struct name_entry *e)
{
    return (struct slice){(const char *)&e->kind, 2 * sizeof(void *) + e->len};
}

static struct slice key_make(char out[KEY_MAX], const struct kind *kind, const struct istr *ns, struct slice name)
{
    memcpy(out, &kind, sizeof kind);
    memcpy(out + sizeof kind, &ns, sizeof ns);
    memcpy(out + 2 * sizeof(void *), name.ptr, name.len);
    return (struct slice){out, 2 * sizeof(void *) + name.len};
}

static struct name_entry *entry_find(const struct op *op, const struct kind *kind, const struct istr *ns, struct slice name)
{
    char key[KEY_MAX];
    if (slice_empty(name) || name.len > LIMIT_KUBE_NAME)
        return NULL;
    return map_get(&op->names.map, key_make(key, kind, ns, name));
}

/* NULL: the name is longer than any object's. */
static struct name_entry *entry_make(struct op *op, const struct kind *kind, const struct istr *ns, struct slice name)
{
    struct name_entry *e = entry_find(op, kind, ns, name);
    if (e || slice_empty(name) || name.len > LIMIT_KUBE_NAME)
        return e;
    e = mem_alloc(sizeof *e + name.len);
    e->len = (uint32_t)name.len;
    e->kind = kind;
    e->ns = intern_keep(ns);
    memcpy(e->name, name.ptr, name.len);
    map_put(&op->names.map, key_of(e), e);
    return e;
}

static void entry_settle(struct op *op, struct name_entry *e)
{
    if (e->object || e->watches)
        return;
    map_del(&op->names.map, key_of(e));
    intern_drop(&op->strings, e->ns);
    mem_free(e);
}

void name_enter(struct op *op, const struct kind *kind, const struct istr *ns, struct slice name, void *object)
{
    struct name_entry *e = entry_make(op, kind, ns, name);
    if (e)
        e->object = object;
}

void name_leave(struct op *op, const struct kind *kind, const struct istr *ns, struct slice name, const void *object)
{
    struct name_entry *e = entry_find(op, kind, ns, name);
    if (!e || e->object != object)
        return; /* a newer object has the name; the DELETED event of this one came late or was lost */
    e->object = NULL;
    entry_settle(op, e);
}

void *name_find(const struct op *op, const struct kind *kind, const struct istr *ns, struct slice name)
{
    const struct name_entry *e = entry_find(op, kind, ns, name);
    return e ? e->object : NULL;
}

void name_unwatch(struct op *op, struct name_watch *w)
{
    struct name_entry *e = w->at;
    if (!e)
        return;
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    *w = (struct name_watch){.who = w->who};
    op->names.watched--;
    entry_settle(op, e);
}

void name_watch(struct op *op, struct name_watch *w, const struct kind *kind, const struct istr *ns, struct slice name)
{
    struct name_entry *e = entry_make(op, kind, ns, name);
    if (w->at == e)
        return;
    name_unwatch(op, w);
    if (!e)
        return;
    w->at = e;
    w->next = e->watches;
    w->link = &e->watches;
    if (w->next)
        w->next->link = &w->next;
    e->watches = w;
    op->names.watched++;
}

void name_tell(struct op *op, const struct kind *kind, const struct istr *ns, struct slice name)
{
    const struct name_entry *e = entry_find(op, kind, ns, name);
    for (struct name_watch *w = e ? e->watches : NULL; w; w = w->next)
        record_touch(op, w->who);
}

void names_free(struct op *op)
{
    struct name_entry *e;
    for (uint32_t i = 0; (e = map_next(&op->names.map, &i)) != NULL;) {
        intern_drop(&op->strings, e->ns);
        mem_free(e);
    }
    map_free(&op->names.map);
}
