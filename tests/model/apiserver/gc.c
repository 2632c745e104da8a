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

/* The owner that a reference names: of that uid and name, in the same namespace or in none. Any other counts as one that is gone. */
static const struct object *named_owner(const struct apiserver *s, const struct object *o, const struct node *reference)
{
    const struct object *owner = store_by_uid(s, dom_str(reference, "uid"));
    bool right = owner && slice_eq(owner->name, dom_str(reference, "name")) && (!owner->ns.len || slice_eq(owner->ns, o->ns));
    return right ? owner : NULL;
}

static bool names_absent(struct apiserver *s, const struct object *o)
{
    const struct node *list = dom_get(version_tree(o->now, &s->scratch), "metadata.ownerReferences");
    for (const struct node *r = list ? list->child : NULL; r; r = r->next)
        if (!named_owner(s, o, r))
            return true;
    return false;
}

void gc_saw(struct apiserver *s, const struct object *o, enum change change)
{
    if (change == CHANGE_DELETED) { /* of events the real collector learns later, by asking */
        struct object **list;
        size_t n = dependents(s, o->uid, &s->scratch, &list);
        for (size_t i = 0; i < n; i++)
            look_later(s, list[i]->uid);
    }
    if (o->of->rules == &rules_event)
        return;
    for (uint32_t i = 0; i < o->now->owner_count; i++) {
        const struct object *owner = store_by_uid(s, o->now->owners[i]);
        if (change == CHANGE_DELETED && owner && owner->now->deleting)
            look_later(s, owner->uid); /* it may have waited for this one */
        else if (change != CHANGE_DELETED && !owner)
            look_later(s, o->uid); /* an apply may have named one that has long gone */
        else if (change == CHANGE_ADDED && owner->of->rules == &rules_event)
            look_later(s, owner->uid); /* an event is seen to be owned only when it owns something */
    }
    if (change == CHANGE_ADDED ? o->now->owner_count && names_absent(s, o) : change == CHANGE_MODIFIED && o->now->deleting)
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
        if (owner.len ? slice_eq(uid, owner) : !named_owner(s, o, r))
            dom_unlink(list, r);
    }
    if (!list->child)
        dom_drop(dom_get(tree, "metadata"), "ownerReferences");
    managers_forget(registry_storage(s, o->of), version_tree(o->now, &s->scratch), tree, &s->scratch);
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

/* An owner that waits for its dependents holds none of them. */
static bool is_leaving_first(struct apiserver *s, const struct object *owner)
{
    return owner->now->deleting && has_finalizer(version_tree(owner->now, &s->scratch), "foregroundDeletion");
}

/* An owner counts when it is there and does not go after its dependents. */
static size_t living_owners(struct apiserver *s, const struct object *o, const struct node *tree)
{
    size_t living = 0;
    const struct node *list = dom_get(tree, "metadata.ownerReferences");
    for (const struct node *r = list ? list->child : NULL; r; r = r->next) {
        const struct object *owner = named_owner(s, o, r);
        living += owner && !is_leaving_first(s, owner);
    }
    return living;
}

static bool blocks(const struct node *tree, struct slice owner)
{
    const struct node *list = dom_get(tree, "metadata.ownerReferences");
    for (const struct node *r = list ? list->child : NULL; r; r = r->next)
        if (slice_eq(dom_str(r, "uid"), owner) && dom_true(r, "blockOwnerDeletion"))
            return true;
    return false;
}

/* All go, unless another owner holds them; those that say so are waited for. */
static void delete_dependents_first(struct apiserver *s, struct object *owner)
{
    struct object **list, **own;
    struct slice uid = owner->uid;
    size_t n = dependents(s, uid, &s->scratch, &list), left = 0;
    for (size_t i = 0; i < n; i++) {
        const struct node *tree = version_tree(list[i]->now, &s->scratch);
        bool waits = blocks(tree, uid), more = dependents(s, list[i]->uid, &s->scratch, &own) > 0;
        if (living_owners(s, list[i], tree))
            drop_references(s, list[i], uid);
        else
            left += (list[i]->now->deleting || !remove_object(s, list[i], more ? PROPAGATE_FOREGROUND : PROPAGATE_AS_IT_IS, -1)) && waits;
    }
    owner = store_by_uid(s, uid);
    if (owner && !left)
        remove_finalizer(s, owner, "foregroundDeletion");
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
            remove_object(s, o, PROPAGATE_AS_IT_IS, -1);
        else if (living < o->now->owner_count)
            drop_references(s, o, SLICE(""));
    }
}

/* Deletes what a namespace holds of pods, or of everything else; how much stays for now. */
static size_t empty_of(struct apiserver *s, struct slice ns, bool pods)
{
    struct object **all;
    size_t n = 0, left = 0;
    for (size_t r = 0; r < s->resource_count; r++)
        n += s->resources[r]->namespaced ? s->resources[r]->count : 0;
    all = arena_array(&s->scratch, n + 1, sizeof *all);
    n = 0;
    for (size_t r = 0; r < s->resource_count; r++)
        for (size_t i = 0; i < s->resources[r]->count && (s->resources[r]->rules == &rules_pod) == pods; i++)
            if (s->resources[r]->namespaced && slice_eq(s->resources[r]->objects[i]->ns, ns))
                all[n++] = s->resources[r]->objects[i];
    for (size_t i = 0; i < n; i++)
        left += all[i]->now->deleting || !remove_object(s, all[i], PROPAGATE_BACKGROUND, -1);
    return left;
}

/* Pods go first: while there is one, what they may still need stays. */
void gc_namespace(struct apiserver *s, struct object *ns)
{
    if (empty_of(s, ns->name, true) || empty_of(s, ns->name, false)) {
        timers_add(s, s->now.mono_ms + 2 * s->config.collect_ms, WAKE_NAMESPACE, ns->uid);
        return;
    }
    struct node *tree = version_tree(ns->now, &s->scratch);
    dom_drop(dom_want(&s->scratch, tree, "spec", JSON_OBJECT), "finalizers");
    store_put(s, ns->of, ns, tree);
    if (remove_may_go(tree))
        store_remove(s, ns);
}
