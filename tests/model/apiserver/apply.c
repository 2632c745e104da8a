/* Server-side apply, and who owns which field. The rules are those of structured-merge-diff: an applier owns what it applied; what it no
 * longer applies goes, unless somebody else owns it; a field that another manager owns and that gets another value is a conflict, or is
 * taken from them by force. */
#include "fields.h"

enum { MANAGERS_MAX = 64 };

struct manager {
    struct slice name, operation, version, sub, time;
    struct fields *set;
};

struct managers {
    struct manager list[MANAGERS_MAX];
    size_t count;
    bool none;      /* nobody is said to own anything */
    bool forgotten; /* there were others */
};

/* ---- metadata.managedFields ---- */

/* Who wrote an event under its other name is forgotten, as the real server does: it cannot convert between the two. */
static void managers_read(struct managers *m, const struct node *tree, const struct api *api, struct arena *a)
{
    const struct node *list = dom_get(tree, "metadata.managedFields");
    struct slice version = api_version(api, a);
    m->none = !dom_len(list);
    for (const struct node *e = list ? list->child : NULL; e && m->count < MANAGERS_MAX - 1; e = e->next) {
        if (api->of->rules == &rules_event && !slice_eq(dom_str(e, "apiVersion"), version)) {
            m->forgotten = true;
            continue;
        }
        m->list[m->count++] = (struct manager){.name = dom_str(e, "manager"),
                                               .operation = dom_str(e, "operation"),
                                               .version = dom_str(e, "apiVersion"),
                                               .sub = dom_str(e, "subresource"),
                                               .time = dom_str(e, "time"),
                                               .set = fields_read(dom_get(e, "fieldsV1"), a)};
    }
}

static void managers_write(const struct managers *m, struct node *tree, struct arena *a)
{
    struct node *meta = dom_want(a, tree, "metadata", JSON_OBJECT), *list = dom_new(a, JSON_ARRAY);
    for (size_t i = 0; i < m->count; i++) {
        const struct manager *x = &m->list[i];
        if (fields_empty(x->set))
            continue;
        struct node *e = dom_push(list, dom_new(a, JSON_OBJECT));
        dom_put_str(a, e, "manager", x->name);
        dom_put_str(a, e, "operation", x->operation);
        dom_put_str(a, e, "apiVersion", x->version);
        if (x->time.len)
            dom_put_str(a, e, "time", x->time);
        dom_put_str(a, e, "fieldsType", SLICE("FieldsV1"));
        dom_put(e, SLICE("fieldsV1"), fields_write(x->set, a));
        if (x->sub.len)
            dom_put_str(a, e, "subresource", x->sub);
    }
    if (list->child)
        dom_put(meta, SLICE("managedFields"), list);
    else
        dom_drop(meta, "managedFields");
}

/* The entry of this request, made when there is none. */
static struct manager *mine(struct request *q, struct managers *m, const char *operation)
{
    struct slice version = api_version(q->api, q->a), op = slice_of(operation);
    for (size_t i = 0; i < m->count; i++) {
        struct manager *x = &m->list[i];
        bool same_version = slice_eq(x->version, version) || slice_eq(op, SLICE("Apply"));
        if (slice_eq(x->name, q->manager) && slice_eq(x->operation, op) && slice_eq(x->sub, q->sub) && same_version)
            return x;
    }
    struct manager *x = &m->list[m->count++];
    *x = (struct manager){.name = q->manager, .operation = op, .version = version, .sub = q->sub, .set = arena_new(q->a, struct fields)};
    return x;
}

/* Fields are owned under the names of the version that was written. */
static const struct node *as_seen(struct request *q, const struct node *stored)
{
    if (!q->api->events_view)
        return stored;
    struct node *seen = dom_copy(stored, q->a);
    view_from_storage(q->api, seen);
    return seen;
}

static const struct node *as_applied(struct request *q, const struct node *config)
{
    struct node *seen = dom_copy(config, q->a);
    view_rename(q->api, seen);
    return seen;
}

/* What a create is compared with: the parts of a typed object that are always printed are not new. */
static const struct node *blank(struct request *q)
{
    const struct rules *rules = q->api->of->rules;
    struct node *empty = dom_literal(q->a, rules && rules->blank ? rules->blank : "{}");
    if (rules == &rules_pod)
        dom_put(dom_get(empty, "spec"), SLICE("containers"), dom_new(q->a, JSON_ARRAY));
    dom_want(q->a, empty, "metadata", JSON_OBJECT);
    if (!q->api->of->custom && !rules) { /* nothing is known of what it prints; of all that we have these are always there */
        dom_want(q->a, empty, "spec", JSON_OBJECT);
        dom_want(q->a, empty, "status", JSON_OBJECT);
    }
    return as_seen(q, empty);
}

void managers_update(struct request *q, const struct node *old, struct node *tree)
{
    struct managers m = {.count = 0};
    struct fields changed = {0}, removed = {0};
    const struct node *before = old ? as_seen(q, old) : blank(q);
    fields_compare(before, as_seen(q, tree), shape_root(q->api), q->a, &changed, &removed);
    if (old)
        managers_read(&m, tree, q->api, q->a);
    if (old && m.none) /* where nobody owns anything only apply begins to keep account */
        return;
    if (fields_empty(&changed) && fields_empty(&removed)) {
        if (m.forgotten)
            managers_write(&m, tree, q->a);
        return;
    }
    struct manager *me = mine(q, &m, "Update");
    for (size_t i = 0; i < m.count; i++) {
        struct manager *x = &m.list[i];
        x->set = fields_minus(x->set, &removed, q->a);
        if (x != me)
            x->set = fields_minus(x->set, &changed, q->a);
    }
    me->set = fields_union(me->set, &changed, q->a);
    me->time = world_time(q->s, 0, q->a);
    managers_write(&m, tree, q->a);
}

/* What the garbage collector takes out of an object is owned by nobody any more. */
void managers_forget(const struct api *api, const struct node *old, struct node *tree, struct arena *a)
{
    struct managers m = {.count = 0};
    struct fields changed = {0}, removed = {0};
    fields_compare(old, tree, shape_root(api), a, &changed, &removed);
    managers_read(&m, old, api, a);
    for (size_t i = 0; i < m.count; i++)
        m.list[i].set = fields_minus(m.list[i].set, &removed, a);
    managers_write(&m, tree, a);
}

/* ---- merging ---- */

static void merge(struct node *into, const struct node *from, struct shape shape, struct arena *a);

static struct node *find_item(const struct list_shape *l, const struct node *list, const struct node *item)
{
    if (l->type == LIST_MAP)
        return shape_find(l, list, item);
    struct node *c = list->child;
    while (c && !dom_equal(c, item))
        c = c->next;
    return c;
}

/* The next item at or after `from` that is also in the other list. */
static const struct node *next_shared(const struct list_shape *l, const struct node *from, const struct node *other)
{
    while (from && !find_item(l, other, from))
        from = from->next;
    return from;
}

/* The items of both. The applied ones stand in the applied order; those that are only in the live list stay between them where they were,
 * as far as that goes. */
static void merge_items(struct node *into, const struct node *from, struct shape shape, const struct list_shape *l, struct arena *a)
{
    struct node live = *into;
    const struct node *left = live.child, *right = from->child, *shared = next_shared(l, right, &live);
    bool deep = l->type == LIST_MAP && !shape_atomic_map(shape_item(shape));
    into->child = into->last = NULL;
    while (left || right) {
        const struct node *same = left ? find_item(l, from, left) : NULL;
        if (left && !same) {
            dom_push(into, dom_copy(left, a));
            left = left->next;
            continue;
        }
        if (left && (!right || (shared && same != shared && same != right))) { /* its turn comes later, or has been */
            left = left->next;
            continue;
        }
        struct node *had = find_item(l, &live, right), *item = had && deep ? dom_copy(had, a) : dom_copy(right, a);
        if (had && deep)
            merge(item, right, shape_item(shape), a);
        dom_push(into, item);
        if (same == right)
            left = left->next;
        shared = shared == right ? next_shared(l, right->next, &live) : shared;
        right = right->next;
    }
}

static void merge(struct node *into, const struct node *from, struct shape shape, struct arena *a)
{
    for (const struct node *c = from->child; c; c = c->next) {
        struct shape inner = shape_member(shape, c->key);
        struct node *have = dom_key(into, c->key);
        struct list_shape l = c->type == JSON_ARRAY ? shape_list(inner) : (struct list_shape){0};
        if (dom_is(have, JSON_OBJECT) && c->type == JSON_OBJECT && !shape_atomic_map(inner))
            merge(have, c, inner, a);
        else if (dom_is(have, JSON_ARRAY) && c->type == JSON_ARRAY && l.type != LIST_ATOMIC)
            merge_items(have, c, inner, &l, a);
        else
            dom_put(into, c->key, dom_copy(c, a));
    }
}

/* ---- conflicts ---- */

struct conflict {
    struct status *st;
    struct slice with; /* `"manager" using v1` */
    unsigned count;
    struct buf list; /* "- .spec.a\n- .spec.b" */
};

static void one_conflict(void *owner, struct slice path)
{
    struct conflict *c = owner;
    status_cause(c->st, "FieldManagerConflict", path, "conflict with %.*s", SLICE_ARG(c->with));
    buf_printf(&c->list, "\n- %.*s", SLICE_ARG(path));
    c->count++;
}

static struct slice print_manager(const struct manager *m, struct arena *a)
{
    struct slice text = arena_printf(a, "\"%.*s\"", SLICE_ARG(m->name));
    if (m->sub.len)
        text = arena_printf(a, "%.*s with subresource \"%.*s\"", SLICE_ARG(text), SLICE_ARG(m->sub));
    if (slice_eq(m->operation, SLICE("Update")))
        text = arena_printf(a, "%.*s using %.*s", SLICE_ARG(text), SLICE_ARG(m->version));
    return text;
}

static bool report_conflicts(struct request *q, const struct managers *m, const struct manager *me, const struct fields *changed)
{
    struct conflict c = {.st = &q->st};
    struct buf text;
    buf_init(&text, 64 * KIB);
    for (size_t i = 0; i < m->count; i++) {
        unsigned before = c.count;
        if (&m->list[i] == me)
            continue;
        c.with = print_manager(&m->list[i], q->a);
        buf_init(&c.list, 64 * KIB);
        fields_walk(fields_both(m->list[i].set, changed, q->a), SLICE(""), q->a, one_conflict, &c);
        if (c.count > before)
            buf_printf(&text, "%sconflicts with %.*s:%.*s", before ? "\n" : "", SLICE_ARG(c.with), SLICE_ARG(buf_slice(&c.list)));
        buf_free(&c.list);
    }
    if (c.count == 1)
        status_set(&q->st, 409, "Conflict", "Apply failed with 1 conflict: %.*s: %.*s", SLICE_ARG(q->st.causes[0].message),
                   SLICE_ARG(q->st.causes[0].field));
    else if (c.count)
        status_set(&q->st, 409, "Conflict", "Apply failed with %u conflicts: %.*s", c.count, SLICE_ARG(buf_slice(&text)));
    buf_free(&text);
    return c.count > 0;
}

/* ---- apply ---- */

/* An endpoint owns only what it writes. */
static void reset_fields(struct request *q, struct node *config)
{
    if (!request_is_status(q)) {
        if (q->api->of->has_status)
            dom_drop(config, "status");
        return;
    }
    for (struct node *c = config->child, *next; c; c = next) {
        next = c->next;
        if (!slice_eq(c->key, SLICE("status")) && !slice_eq(c->key, SLICE("metadata")))
            dom_unlink(config, c);
    }
    static const char *const kept_by_main[] = {"labels", "annotations", "finalizers", "ownerReferences"};
    for (size_t i = 0; i < COUNT_OF(kept_by_main); i++)
        dom_drop(dom_get(config, "metadata"), kept_by_main[i]);
}

/* What cannot be read when all is merged is the server's fault, as the real one has it. */
static bool decode_applied(struct request *q, struct node *tree)
{
    if (view_decode(q, tree))
        return true;
    q->st.code = 500;
    q->st.reason = "";
    return false;
}

static void apply_new(struct request *q, struct node *config)
{
    struct managers m = {.count = 0};
    struct slice uid = dom_str(config, "metadata.uid");
    struct manager *me = mine(q, &m, "Apply");
    me->set = fields_of(as_applied(q, config), shape_root(q->api), q->a);
    me->time = world_time(q->s, 0, q->a);
    managers_write(&m, config, q->a);
    if (!decode_applied(q, config))
        return;
    if (uid.len)
        status_conflict(&q->st, q->api->group, q->api->of->plural, q->name,
                        "uid mismatch: the provided object specified uid %.*s, and no existing object was found", SLICE_ARG(uid));
    else if (write_names_fit(q, dom_get(config, "metadata")))
        write_new(q, config, true);
}

/* What somebody owns now: this manager what it applies, the others what they did. */
static struct fields *kept(struct request *q, const struct managers *m, const struct manager *me, const struct fields *set)
{
    struct fields *all = fields_union(set, set, q->a);
    for (size_t i = 0; i < m->count; i++)
        if (&m->list[i] != me)
            all = fields_union(all, m->list[i].set, q->a);
    return all;
}

/* All that is there belongs to an entry of this name. */
static void before_first_apply(struct request *q, struct managers *m, const struct node *live)
{
    struct fields *all = arena_new(q->a, struct fields), none = {0};
    fields_compare(blank(q), as_seen(q, live), shape_root(q->api), q->a, all, &none);
    fields_drop(all, SLICE("f:status"), !request_is_status(q) && q->api->of->has_status); /* no field of the other endpoint */
    fields_drop(all, SLICE("f:spec"), request_is_status(q));
    m->list[m->count++] = (struct manager){.name = SLICE("before-first-apply"),
                                           .operation = SLICE("Update"),
                                           .version = api_version(q->api, q->a),
                                           .time = world_time(q->s, 0, q->a),
                                           .set = all};
}

/* When this manager applied before, also in a version whose fields are forgotten. */
static struct slice applied_at(const struct request *q, const struct node *live)
{
    const struct node *list = dom_get(live, "metadata.managedFields");
    for (const struct node *e = list ? list->child : NULL; e; e = e->next)
        if (slice_eq(dom_str(e, "manager"), q->manager) && slice_eq(dom_str(e, "operation"), SLICE("Apply")) &&
            slice_eq(dom_str(e, "subresource"), q->sub))
            return dom_str(e, "time");
    return SLICE_NONE;
}

static void apply_over(struct request *q, struct object *o, struct node *config)
{
    struct shape shape = shape_root(q->api);
    struct managers m = {.count = 0};
    struct fields changed = {0}, removed = {0}, *set;
    struct node *live = version_tree(o->now, q->a), *merged = dom_copy(live, q->a);
    view_rename(q->api, config);
    view_from_storage(q->api, merged);
    set = fields_of(config, shape, q->a);
    managers_read(&m, live, q->api, q->a);
    if (m.none)
        before_first_apply(q, &m, live);
    struct manager *me = mine(q, &m, "Apply");
    merge(merged, config, shape, q->a);
    fields_cut(merged, me->set, kept(q, &m, me, set), shape, q->a);
    fields_compare(as_seen(q, live), merged, shape, q->a, &changed, &removed);
    bool same = dom_equal(as_seen(q, live), merged); /* a set in another order has no changed fields, and is another one */
    view_to_storage(q->api, merged);
    if (!q->force && report_conflicts(q, &m, me, &changed))
        return;
    if (!decode_applied(q, merged))
        return;
    for (size_t i = 0; i < m.count; i++)
        if (&m.list[i] != me)
            m.list[i].set = fields_minus(fields_minus(m.list[i].set, &changed, q->a), &removed, q->a);
    bool moved = m.none || m.forgotten || !same || !fields_equal(me->set, set);
    me->set = set;
    me->version = api_version(q->api, q->a);
    me->time = same ? applied_at(q, live) : world_time(q->s, 0, q->a); /* to own what is there already makes no date */
    if (moved)
        managers_write(&m, merged, q->a);
    write_replace(q, o, live, merged, true);
}

/* port=80,protocol="TCP" */
static struct slice print_keys(const struct list_shape *l, const struct node *item, struct arena *a)
{
    struct slice all = SLICE("");
    for (size_t i = 0; i < l->key_count; i++) {
        const struct node *key = dom_key(item, l->keys[i]);
        struct slice otherwise = shape_key_value(item, l->keys[i]), value;
        if (!key && !otherwise.ptr)
            continue;
        value = dom_text(key ? key : dom_new_str(a, otherwise), a);
        all = arena_printf(a, "%.*s%s%.*s=%.*s", SLICE_ARG(all), all.len ? "," : "", SLICE_ARG(l->keys[i]), SLICE_ARG(value));
    }
    return all;
}

/* No two items of a list may have the same keys. */
static bool one_of_each(struct request *q, const struct node *config, const struct node *value, struct shape shape, struct slice path)
{
    struct list_shape l = value->type == JSON_ARRAY ? shape_list(shape) : (struct list_shape){0};
    bool keyed = l.type == LIST_MAP;
    for (const struct node *c = value->type == JSON_OBJECT || keyed ? value->child : NULL; c; c = c->next) {
        struct slice key = keyed ? shape_key_value(c, l.keys[0]) : c->key;
        if (keyed && shape_find(&l, value, c) != c) {
            struct slice name = dom_str(config, "metadata.name"), ns = dom_str(config, "metadata.namespace"),
                         keys = print_keys(&l, c, q->a);
            return status_set(
                &q->st, 500, "",
                "failed to create typed patch object (%.*s/%.*s; %.*s/%.*s, Kind=%.*s): %.*s: duplicate entries for key [%.*s]",
                SLICE_ARG(ns), SLICE_ARG(name), SLICE_ARG(q->api->group), SLICE_ARG(q->api->version), SLICE_ARG(q->api->of->kind),
                SLICE_ARG(path), SLICE_ARG(keys));
        }
        struct shape inner = keyed ? shape_item(shape) : shape_member(shape, c->key);
        if (!one_of_each(q, config, c, inner, keyed ? path : arena_printf(q->a, "%.*s.%.*s", SLICE_ARG(path), SLICE_ARG(key))))
            return false;
    }
    return true;
}

void apply_object(struct request *q)
{
    struct object *o = store_find(q->api->of, q->ns, q->name);
    if (!o && request_is_status(q) && !q->api->of->put_creates) {
        status_not_found(&q->st, q->api->group, q->api->of->plural, q->name);
        return;
    }
    struct node *config = view_read(q, q->body);
    if (!config)
        return;
    struct node *meta = dom_want(q->a, config, "metadata", JSON_OBJECT);
    if (dom_is(dom_get(meta, "managedFields"), JSON_ARRAY)) {
        status_bad(&q->st, "metadata.managedFields must be nil");
        return;
    }
    dom_drop(meta, "creationTimestamp"); /* typed clients print both as null */
    dom_drop(meta, "managedFields");
    if (q->api->of->custom)
        dom_canonical_numbers(config, q->a);
    if (!one_of_each(q, config, config, shape_root(q->api), SLICE("")))
        return;
    if (q->api->schema && !schema_declared(q, config))
        return;
    reset_fields(q, config);
    if (o)
        apply_over(q, o, config);
    else
        apply_new(q, config);
}
