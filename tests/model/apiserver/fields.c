#include "fields.h"

/* ---- path elements ---- */

static struct slice member_element(struct slice key, struct arena *a)
{
    return arena_printf(a, "f:%.*s", SLICE_ARG(key));
}

static struct slice prefixed(const char *prefix, const struct node *value, struct arena *a)
{
    struct slice text = dom_text(value, a);
    return arena_printf(a, "%s%.*s", prefix, SLICE_ARG(text));
}

static struct slice item_element(const struct list_shape *l, const struct node *item, struct arena *a)
{
    if (l->type == LIST_SET)
        return prefixed("v:", item, a);
    struct node *keys = dom_new(a, JSON_OBJECT);
    for (size_t i = 0; i < l->key_count; i++) {
        const struct node *k = dom_key(item, l->keys[i]);
        struct slice otherwise = shape_key_value(item, l->keys[i]);
        if (k || otherwise.ptr)
            dom_put(keys, l->keys[i], k ? dom_copy(k, a) : dom_new_str(a, otherwise));
    }
    return prefixed("k:", keys, a);
}

/* ---- building ---- */

const struct fields *fields_child(const struct fields *f, struct slice element)
{
    for (const struct fields *c = f ? f->child : NULL; c; c = c->next)
        if (slice_eq(c->element, element))
            return c;
    return NULL;
}

/* Children are kept in the order of their elements. */
static struct fields *want_child(struct fields *f, struct slice element, struct arena *a)
{
    struct fields **link = &f->child;
    while (*link && slice_cmp((*link)->element, element) < 0)
        link = &(*link)->next;
    struct fields *found = *link;
    if (found && slice_eq(found->element, element))
        return found;
    struct fields *made = arena_new(a, struct fields);
    *made = (struct fields){.element = element, .next = *link};
    *link = made;
    return made;
}

static bool is_leaf(const struct node *v, struct shape shape)
{
    if (v->type == JSON_OBJECT)
        return !v->child || shape_atomic_map(shape);
    return v->type != JSON_ARRAY || !v->child || shape_list(shape).type == LIST_ATOMIC;
}

/* containers: objects and lists inside become members themselves, as those do that an update has made. */
static void add_value(struct fields *f, const struct node *v, struct shape shape, struct arena *a, bool containers);

static void add_items(struct fields *f, const struct node *list, struct shape shape, struct arena *a, bool containers)
{
    struct list_shape l = shape_list(shape);
    for (const struct node *c = list->child; c; c = c->next) {
        struct fields *item = want_child(f, item_element(&l, c, a), a);
        item->member = true;
        if (l.type == LIST_MAP && c->type == JSON_OBJECT)
            add_value(item, c, shape_item(shape), a, containers);
    }
}

static void add_value(struct fields *f, const struct node *v, struct shape shape, struct arena *a, bool containers)
{
    if (v->type == JSON_ARRAY && !v->child && shape_list(shape).type != LIST_ATOMIC) {
        f->member = f->member || containers; /* nobody applies an empty list */
        return;
    }
    if (is_leaf(v, shape)) {
        f->member = true;
        return;
    }
    if (v->type == JSON_ARRAY) {
        add_items(f, v, shape, a, containers);
        return;
    }
    for (const struct node *c = v->child; c; c = c->next) {
        struct fields *inner = want_child(f, member_element(c->key, a), a);
        inner->member = inner->member || containers || !shape_declares(shape, c->key); /* keys of maps are members, whatever they hold */
        add_value(inner, c, shape_member(shape, c->key), a, containers);
    }
}

/* Fields that nobody owns. */
static void strip(struct fields *root)
{
    static const char *const unowned[] = {"f:name",       "f:namespace",         "f:uid",           "f:resourceVersion",
                                          "f:generation", "f:creationTimestamp", "f:managedFields", "f:selfLink"};
    for (struct fields **link = &root->child; *link;) {
        if (!slice_eq((*link)->element, SLICE("f:metadata"))) {
            link = &(*link)->next;
            continue;
        }
        for (struct fields **inner = &(*link)->child; *inner;) {
            bool drop = false;
            for (size_t i = 0; i < COUNT_OF(unowned); i++)
                drop = drop || slice_eq((*inner)->element, slice_of(unowned[i]));
            if (drop)
                *inner = (*inner)->next;
            else
                inner = &(*inner)->next;
        }
        if ((*link)->child)
            link = &(*link)->next;
        else
            *link = (*link)->next;
    }
}

struct fields *fields_of(const struct node *value, struct shape shape, struct arena *a)
{
    struct fields *f = arena_new(a, struct fields);
    if (value->child)
        add_value(f, value, shape, a, false);
    strip(f);
    return f;
}

void fields_drop(struct fields *f, struct slice element, bool really)
{
    for (struct fields **link = &f->child; really && *link;) {
        if (slice_eq((*link)->element, element))
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
}

/* ---- comparing ---- */

static void compare(const struct node *before, const struct node *now, struct shape shape, struct arena *a, struct fields *changed,
                    struct fields *removed);

static void compare_members(const struct node *before, const struct node *now, struct shape shape, struct arena *a, struct fields *changed,
                            struct fields *removed)
{
    for (const struct node *c = now->child; c; c = c->next) {
        struct slice element = member_element(c->key, a);
        compare(dom_key(before, c->key), c, shape_member(shape, c->key), a, want_child(changed, element, a),
                want_child(removed, element, a));
    }
    for (const struct node *c = before->child; c; c = c->next) {
        struct slice element = member_element(c->key, a);
        if (!dom_key(now, c->key))
            compare(c, NULL, shape_member(shape, c->key), a, changed, want_child(removed, element, a));
    }
}

static const struct node *same_item(const struct list_shape *l, const struct node *list, const struct node *item)
{
    if (l->type == LIST_MAP)
        return shape_find(l, list, item);
    const struct node *c = list->child;
    while (c && !dom_equal(c, item))
        c = c->next;
    return c;
}

static size_t count_items(const struct list_shape *l, const struct node *list, const struct node *like)
{
    struct node one = {.type = JSON_ARRAY};
    size_t n = 0;
    for (const struct node *c = list->child; c; c = c->next) {
        struct node alone = *c;
        alone.next = NULL;
        one.child = &alone;
        n += same_item(l, &one, like) != NULL;
    }
    return n;
}

/* One item, or NULL, of each. */
static void compare_item(const struct node *before, const struct node *now, const struct list_shape *l, struct shape shape, struct arena *a,
                         struct fields *changed, struct fields *removed)
{
    struct slice element = item_element(l, now ? now : before, a);
    struct fields *to = want_child(changed, element, a), *from = want_child(removed, element, a);
    to->member = to->member || !before;
    from->member = from->member || !now;
    if (l->type == LIST_MAP)
        compare(before, now, shape_item(shape), a, to, from);
}

/* An item that is there twice is looked at as a whole: it has come or gone or changed. */
static void compare_twins(const struct node *before, const struct node *now, const struct list_shape *l, struct shape shape,
                          struct arena *a, struct fields *changed, struct fields *removed, bool were, bool are)
{
    struct slice element = item_element(l, now ? now : before, a);
    if (were && !are && now)
        compare_item(NULL, now, l, shape, a, changed, removed);
    if (are && !were && before)
        compare_item(before, NULL, l, shape, a, changed, removed);
    if (were && !are)
        want_child(removed, element, a)->member = true;
    if (!were || (are && !dom_equal(before, now)))
        want_child(changed, element, a)->member = true;
}

static void compare_items(const struct node *before, const struct node *now, struct shape shape, struct arena *a, struct fields *changed,
                          struct fields *removed)
{
    struct list_shape l = shape_list(shape);
    for (int side = 0; side < 2; side++) {
        for (const struct node *c = side ? before->child : now->child; c; c = c->next) {
            const struct node *old = side ? c : same_item(&l, before, c), *new = side ? same_item(&l, now, c) : c;
            bool were = count_items(&l, before, c) > 1, are = count_items(&l, now, c) > 1;
            if (side && new)
                continue;
            if (were || are)
                compare_twins(old, new, &l, shape, a, changed, removed, were, are);
            else
                compare_item(old, new, &l, shape, a, changed, removed);
        }
    }
}

/* Changes as a whole, or is no container at all. */
static bool is_atom(const struct node *v, struct shape shape)
{
    return v->type == JSON_OBJECT ? shape_atomic_map(shape) : v->type != JSON_ARRAY || shape_list(shape).type == LIST_ATOMIC;
}

static void compare(const struct node *before, const struct node *now, struct shape shape, struct arena *a, struct fields *changed,
                    struct fields *removed)
{
    if (before && now && before->type == now->type && !is_atom(now, shape)) {
        if (now->type == JSON_OBJECT)
            compare_members(before, now, shape, a, changed, removed);
        else
            compare_items(before, now, shape, a, changed, removed);
        return;
    }
    if (before && now && dom_equal(before, now))
        return;
    if (now) {
        changed->member = changed->member || !before;
        add_value(changed, now, shape, a, true);
    }
    if (before && (!now || !is_leaf(before, shape))) {
        removed->member = removed->member || !now;
        add_value(removed, before, shape, a, true);
    }
}

void fields_compare(const struct node *before, const struct node *now, struct shape shape, struct arena *a, struct fields *changed,
                    struct fields *removed)
{
    compare_members(before, now, shape, a, changed, removed);
    strip(changed);
    strip(removed);
}

/* ---- sets ---- */

bool fields_empty(const struct fields *f)
{
    if (!f)
        return true;
    for (const struct fields *c = f->child; c; c = c->next)
        if (c->member || !fields_empty(c))
            return false;
    return true;
}

bool fields_equal(const struct fields *x, const struct fields *y)
{
    if ((x && x->member) != (y && y->member))
        return false;
    for (const struct fields *c = x ? x->child : NULL; c; c = c->next)
        if (!fields_equal(c, fields_child(y, c->element)))
            return false;
    for (const struct fields *c = y ? y->child : NULL; c; c = c->next)
        if (!fields_child(x, c->element) && !fields_equal(NULL, c))
            return false;
    return true;
}

enum set_op { SET_UNION, SET_MINUS, SET_BOTH };

/* Either side may be NULL. NULL when nothing is left. */
static struct fields *combine(const struct fields *x, const struct fields *y, enum set_op op, struct arena *a)
{
    bool in_x = x && x->member, in_y = y && y->member;
    struct fields *f = arena_new(a, struct fields), **tail = &f->child;
    f->element = x ? x->element : y->element;
    f->member = op == SET_UNION ? in_x || in_y : op == SET_MINUS ? in_x && !in_y : in_x && in_y;
    const struct fields *c = x ? x->child : NULL, *d = y ? y->child : NULL;
    while (c || (op == SET_UNION && d)) {
        int order = !c ? 1 : !d ? -1 : slice_cmp(c->element, d->element);
        const struct fields *left = order <= 0 ? c : NULL, *right = order >= 0 ? d : NULL;
        c = left ? c->next : c;
        d = right ? d->next : d;
        if ((left || op == SET_UNION) && (*tail = combine(left, right, op, a)))
            tail = &(*tail)->next;
    }
    return f->member || f->child ? f : NULL;
}

static struct fields *or_empty(struct fields *f, struct arena *a)
{
    return f ? f : arena_new(a, struct fields);
}

struct fields *fields_union(const struct fields *x, const struct fields *y, struct arena *a)
{
    return or_empty(combine(x, y, SET_UNION, a), a);
}

struct fields *fields_minus(const struct fields *x, const struct fields *y, struct arena *a)
{
    return or_empty(combine(x, y, SET_MINUS, a), a);
}

struct fields *fields_both(const struct fields *x, const struct fields *y, struct arena *a)
{
    return or_empty(combine(x, y, SET_BOTH, a), a);
}

/* ---- cutting ---- */

void fields_cut(struct node *v, const struct fields *last, const struct fields *owned, struct shape shape, struct arena *a)
{
    bool list = v->type == JSON_ARRAY;
    struct list_shape l = list ? shape_list(shape) : (struct list_shape){0};
    for (struct node *c = is_atom(v, shape) ? NULL : v->child, *next; c; c = next) {
        next = c->next;
        struct slice element = list ? item_element(&l, c, a) : member_element(c->key, a);
        const struct fields *had = fields_child(last, element), *has = fields_child(owned, element);
        if (!had)
            continue;
        bool named = !list && shape_declares(shape, c->key); /* who owns something in it owns it; not so an item of a list */
        bool free = !has || (!has->member && (!named || fields_empty(has)));
        free = free && !slice_eq(element, SLICE("f:metadata")); /* it is never without a name */
        if (free && (had->member || named))
            dom_unlink(v, c);
        else
            fields_cut(c, had, has, list ? shape_item(shape) : shape_member(shape, c->key), a);
    }
}

/* ---- FieldsV1 ---- */

struct fields *fields_read(const struct node *v1, struct arena *a)
{
    struct fields *f = arena_new(a, struct fields);
    for (const struct node *c = v1 ? v1->child : NULL; c; c = c->next) {
        if (slice_eq(c->key, SLICE("."))) {
            f->member = true;
            continue;
        }
        struct fields *inner = want_child(f, c->key, a), *read = fields_read(c, a);
        inner->member = read->member || !c->child;
        inner->child = read->child;
    }
    return f;
}

struct node *fields_write(const struct fields *f, struct arena *a)
{
    struct node *n = dom_new(a, JSON_OBJECT);
    if (f->member && f->child)
        dom_put(n, SLICE("."), dom_new(a, JSON_OBJECT));
    for (const struct fields *c = f->child; c; c = c->next)
        if (c->member || !fields_empty(c))
            dom_put(n, c->element, fields_write(c, a));
    return n;
}

/* k:{"name":"x"} as [name="x"], f:spec as .spec */
static struct slice spell(struct slice prefix, struct slice element, struct arena *a)
{
    if (slice_starts(element, SLICE("f:")))
        return arena_printf(a, "%.*s.%.*s", SLICE_ARG(prefix), SLICE_ARG(slice_skip(element, 2)));
    const struct node *keys = slice_starts(element, SLICE("k:")) ? dom_parse(slice_skip(element, 2), a, NULL) : NULL;
    if (!keys)
        return arena_printf(a, "%.*s[=%.*s]", SLICE_ARG(prefix), SLICE_ARG(slice_skip(element, 2)));
    struct slice text = arena_printf(a, "%.*s[", SLICE_ARG(prefix));
    for (const struct node *k = keys->child; k; k = k->next) {
        struct slice value = dom_text(k, a);
        text = arena_printf(a, "%.*s%.*s=%.*s%s", SLICE_ARG(text), SLICE_ARG(k->key), SLICE_ARG(value), k->next ? "," : "]");
    }
    return text;
}

void fields_walk(const struct fields *f, struct slice prefix, struct arena *a, fields_visit visit, void *owner)
{
    for (const struct fields *c = f->child; c; c = c->next)
        if (c->member)
            visit(owner, spell(prefix, c->element, a));
    for (const struct fields *c = f->child; c; c = c->next)
        fields_walk(c, spell(prefix, c->element, a), a, visit, owner);
}
