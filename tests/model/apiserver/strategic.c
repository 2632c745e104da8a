/* Strategic merge patch, as kubectl apply and kubectl edit send it for built-in kinds: a merge patch in which some lists are merged by a
 * key, with the directives $patch (delete, replace), $deleteFromPrimitiveList, $retainKeys and $setElementOrder. */
#include "shape.h"

static bool is_directive(struct slice key)
{
    return slice_starts(key, SLICE("$"));
}

static bool merge_object(struct request *q, struct node *into, struct node *patch, struct shape shape);

static bool patch_is(const struct node *patch, const char *what)
{
    return slice_eq(dom_str(patch, "$patch"), slice_of(what));
}

static bool replaces(const struct node *list)
{
    for (const struct node *p = list->child; p; p = p->next)
        if (patch_is(p, "replace"))
            return true;
    return false;
}

static bool merge_items(struct request *q, struct node *into, struct node *patch, struct shape shape, const struct list_shape *l)
{
    if (replaces(patch)) /* the whole list, by what else is in the patch */
        into->child = into->last = NULL;
    for (struct node *p = patch->child; p; p = p->next) {
        if (p->type != JSON_OBJECT)
            return status_bad(&q->st, "expected an object as list element in strategic merge patch");
        struct node *same = shape_find(l, into, p);
        if (patch_is(p, "delete") && same)
            dom_unlink(into, same);
        if (patch_is(p, "delete") || patch_is(p, "replace"))
            continue;
        if (!same)
            same = dom_push(into, dom_new(q->a, JSON_OBJECT));
        if (!merge_object(q, same, p, shape_item(shape)))
            return false;
    }
    return true;
}

static struct node *find_equal(const struct node *list, const struct node *item)
{
    struct node *c = list->child;
    while (c && !dom_equal(c, item))
        c = c->next;
    return c;
}

static void merge_set(struct request *q, struct node *into, const struct node *patch)
{
    for (const struct node *p = patch->child; p; p = p->next)
        if (!find_equal(into, p))
            dom_push(into, dom_copy(p, q->a));
}

static size_t index_in(struct node *const *list, size_t count, const struct node *n)
{
    size_t i = 0;
    while (i < count && list[i] != n)
        i++;
    return i;
}

static size_t gather(const struct node *list, struct node **out)
{
    size_t n = 0;
    for (struct node *c = list->child; c; c = c->next)
        out[n++] = c;
    return n;
}

/* The order that a patch gives a list: items that it names (in $setElementOrder, or else by patching them) stand in its order, the others
 * where they stood among those, and new items as early as that allows. `was` is the list before the patch. */
static void reorder(struct request *q, struct node *list, const struct node *order, const struct list_shape *l, struct node **was,
                    size_t count)
{
    size_t n = dom_len(list), named = 0, others = 0, i = 0, k = 0;
    struct node **all = arena_array(q->a, n + 1, sizeof *all), **first = arena_array(q->a, n + 1, sizeof *all),
                **rest = arena_array(q->a, n + 1, sizeof *all);
    gather(list, all);
    for (const struct node *o = order->child; o; o = o->next) {
        struct node *same = l->type == LIST_MAP ? shape_find(l, list, o) : find_equal(list, o);
        if (same && index_in(first, named, same) == named)
            first[named++] = same;
    }
    for (size_t x = 0; x < n; x++)
        if (index_in(first, named, all[x]) == named)
            rest[others++] = all[x];
    list->child = list->last = NULL;
    while (i < named || k < others) {
        size_t place = i < named ? index_in(was, count, first[i]) : count;
        bool other = k < others && (i == named || (place < count && index_in(was, count, rest[k]) < place));
        dom_push(list, other ? rest[k++] : first[i++]);
    }
}

static bool merge_ordered(struct request *q, struct node *list, struct node *patch, struct shape shape, const struct list_shape *l,
                          const struct node *order)
{
    struct node **was = arena_array(q->a, dom_len(list) + 1, sizeof *was);
    size_t count = gather(list, was);
    if (l->type != LIST_MAP)
        merge_set(q, list, patch);
    else if (!merge_items(q, list, patch, shape, l))
        return false;
    reorder(q, list, order ? order : patch, l, was, count);
    return true;
}

static bool merge_list(struct request *q, struct node *into, struct node *patch, struct shape shape, const struct node *order)
{
    struct list_shape l = shape_patch_list(shape);
    struct node *have = dom_key(into, patch->key);
    if (l.type == LIST_ATOMIC) {
        dom_put(into, patch->key, dom_copy(patch, q->a));
        return true;
    }
    if (!dom_is(have, JSON_ARRAY))
        have = dom_put(into, patch->key, dom_new(q->a, JSON_ARRAY));
    return merge_ordered(q, have, patch, shape, &l, order);
}

/* "$deleteFromPrimitiveList/finalizers": ["x"] */
static void delete_from(struct node *into, const struct node *directive)
{
    struct slice rest = directive->key;
    slice_cut(&rest, '/');
    struct node *list = rest.ptr ? dom_key(into, rest) : NULL;
    for (const struct node *d = directive->child; list && d; d = d->next) {
        struct node *c = list->child;
        while (c && !dom_equal(c, d))
            c = c->next;
        if (c)
            dom_unlink(list, c);
    }
    if (list && !list->child)
        dom_unlink(into, list);
}

static void retain_only(struct node *into, const struct node *names)
{
    for (struct node *c = into->child, *next; c; c = next) {
        next = c->next;
        const struct node *n = names->child;
        while (n && !slice_eq(n->text, c->key))
            n = n->next;
        if (!n)
            dom_unlink(into, c);
    }
}

static bool merge_member(struct request *q, struct node *into, struct node *p, struct shape shape, const struct node *order)
{
    struct node *have = dom_key(into, p->key);
    if (p->type == JSON_NULL) {
        if (have)
            dom_unlink(into, have);
        return true;
    }
    if (p->type == JSON_ARRAY)
        return merge_list(q, into, p, shape, order);
    if (p->type != JSON_OBJECT) {
        dom_put(into, p->key, dom_copy(p, q->a));
        return true;
    }
    if (!dom_is(have, JSON_OBJECT))
        have = dom_put(into, p->key, dom_new(q->a, JSON_OBJECT));
    if (!patch_is(p, "delete"))
        return merge_object(q, have, p, shape);
    dom_unlink(into, have);
    return true;
}

static bool merge_object(struct request *q, struct node *into, struct node *patch, struct shape shape)
{
    if (patch_is(patch, "replace"))
        into->child = into->last = NULL;
    const struct node *retain = dom_get(patch, "$retainKeys");
    if (retain)
        retain_only(into, retain);
    for (struct node *p = patch->child; p; p = p->next) {
        if (slice_starts(p->key, SLICE("$deleteFromPrimitiveList/")))
            delete_from(into, p);
        if (is_directive(p->key))
            continue;
        const struct node *order = dom_key(patch, arena_printf(q->a, "$setElementOrder/%.*s", SLICE_ARG(p->key)));
        if (!merge_member(q, into, p, shape_member(shape, p->key), order))
            return false;
    }
    return true;
}

bool strategic_merge(struct request *q, struct node *into, struct node *patch)
{
    return merge_object(q, into, patch, shape_root(q->api));
}
