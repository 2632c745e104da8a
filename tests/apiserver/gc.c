/* The garbage collector and the namespace controller: level-triggered, an object at a time. An object whose owners are all gone is deleted;
 * an owner that is deleted in the foreground goes after its dependents; one that is deleted as an orphanage lets them go first. */
#include "request.h"

static void look_later(struct apiserver *s, struct slice uid)
{
    timers_add(s, s->now.mono_ms + s->config.collect_ms, WAKE_COLLECT, uid);
}

static bool owned_by(const struct version *v, struct slice uid)
{
    for (uint32_t i = 0; i < v->owner_count; i++)
        if (slice_eq(v->owners[i], uid))
            return true;
    return false;
}

/* Calls visit with every object that names this uid as an owner. The list is taken first: visit may change the store. */
static size_t dependents(const struct apiserver *s, struct slice uid, struct arena *a, struct object ***out)
{
    size_t n = 0, cap = 0;
    struct object **list = NULL;
    for (size_t r = 0; r < s->resource_count; r++) {
        if (s->resources[r]->rules == &rules_event) /* events are outside of garbage collection */
            continue;
        for (size_t i = 0; i < s->resources[r]->count; i++) {
            if (!owned_by(s->resources[r]->objects[i]->now, uid))
                continue;
            if (n == cap) {
                struct object **more = arena_array(a, cap = cap ? 2 * cap : 16, sizeof *more);
                if (n)
                    memcpy(more, list, n * sizeof *more);
                list = more;
            }
            list[n++] = s->resources[r]->objects[i];
        }
    }
    *out = list;
    return n;
}

void gc_saw(struct apiserver *s, const struct object *o, enum change change)
{
    if (o->of->rules == &rules_event)
        return;
    if (change == CHANGE_DELETED) {
        struct object **list;
        size_t n = dependents(s, o->uid, &s->scratch, &list);
        for (size_t i = 0; i < n; i++)
            look_later(s, list[i]->uid);
    }
    for (uint32_t i = 0; i < o->now->owner_count; i++) {
        const struct object *owner = store_by_uid(s, o->now->owners[i]);
        if (change == CHANGE_DELETED && owner && owner->now->deleting)
            look_later(s, owner->uid); /* it may have waited for this one */
        else if (change == CHANGE_ADDED && !owner)
            look_later(s, o->uid);
    }
    if (change == CHANGE_MODIFIED && o->now->deleting)
        look_later(s, o->uid);
}

static bool has_finalizer(const struct node *tree, const char *name)
{
    const struct node *list = dom_get(tree, "metadata.finalizers");
    for (const struct node *f = list ? list->child : NULL; f; f = f->next)
        if (slice_eq(f->text, slice_of(name)))
            return true;
    return false;
}

/* Takes the references to this owner out of an object; or, with owner empty, those to owners that do not exist. */
static void drop_references(struct apiserver *s, struct object *o, struct slice owner)
{
    struct node *tree = version_tree(o->now, &s->scratch), *list = dom_get(tree, "metadata.ownerReferences");
    for (struct node *r = list->child, *next; r; r = next) {
        next = r->next;
        struct slice uid = dom_str(r, "uid");
        if (owner.len ? slice_eq(uid, owner) : !store_by_uid(s, uid))
            dom_unlink(list, r);
    }
    if (!list->child)
        dom_drop(dom_get(tree, "metadata"), "ownerReferences");
    store_put(s, o->of, o, tree);
}

static void orphan(struct apiserver *s, struct object *owner)
{
    struct object **list;
    size_t n = dependents(s, owner->uid, &s->scratch, &list);
    for (size_t i = 0; i < n; i++)
        drop_references(s, list[i], owner->uid);
    remove_finalizer(s, owner, "orphan");
}

static void delete_dependents_first(struct apiserver *s, struct object *owner)
{
    struct object **list;
    struct slice uid = owner->uid;
    size_t n = dependents(s, uid, &s->scratch, &list), left = 0;
    for (size_t i = 0; i < n; i++)
        left += list[i]->now->deleting || !remove_object(s, list[i], PROPAGATE_BACKGROUND, -1);
    owner = store_by_uid(s, uid);
    if (owner && !left)
        remove_finalizer(s, owner, "foregroundDeletion");
}

/* An owner counts when an object of that uid and name lives in the same namespace, or in none. */
static size_t living_owners(struct apiserver *s, const struct object *o, const struct node *tree)
{
    size_t living = 0;
    const struct node *list = dom_get(tree, "metadata.ownerReferences");
    for (const struct node *r = list ? list->child : NULL; r; r = r->next) {
        const struct object *owner = store_by_uid(s, dom_str(r, "uid"));
        living += owner && slice_eq(owner->name, dom_str(r, "name")) && (!owner->ns.len || slice_eq(owner->ns, o->ns));
    }
    return living;
}

void gc_wake(struct apiserver *s, struct object *o)
{
    const struct node *tree = version_tree(o->now, &s->scratch);
    if (o->now->deleting && has_finalizer(tree, "orphan")) {
        orphan(s, o);
    } else if (o->now->deleting && has_finalizer(tree, "foregroundDeletion")) {
        delete_dependents_first(s, o);
    } else if (!o->now->deleting && o->now->owner_count) {
        size_t living = living_owners(s, o, tree);
        if (!living)
            remove_object(s, o, PROPAGATE_BACKGROUND, -1);
        else if (living < o->now->owner_count)
            drop_references(s, o, SLICE(""));
    }
}

void gc_namespace(struct apiserver *s, struct object *ns)
{
    struct object **all;
    size_t n = 0, left = 0;
    for (size_t r = 0; r < s->resource_count; r++)
        n += s->resources[r]->namespaced ? s->resources[r]->count : 0;
    all = arena_array(&s->scratch, n + 1, sizeof *all);
    n = 0;
    for (size_t r = 0; r < s->resource_count; r++)
        for (size_t i = 0; i < s->resources[r]->count; i++)
            if (s->resources[r]->namespaced && slice_eq(s->resources[r]->objects[i]->ns, ns->name))
                all[n++] = s->resources[r]->objects[i];
    for (size_t i = 0; i < n; i++)
        left += all[i]->now->deleting || !remove_object(s, all[i], PROPAGATE_BACKGROUND, -1);
    if (left) {
        timers_add(s, s->now.mono_ms + 2 * s->config.collect_ms, WAKE_NAMESPACE, ns->uid);
        return;
    }
    struct node *tree = version_tree(ns->now, &s->scratch);
    dom_drop(dom_want(&s->scratch, tree, "spec", JSON_OBJECT), "finalizers");
    store_put(s, ns->of, ns, tree);
    if (remove_may_go(tree))
        store_remove(s, ns);
}
