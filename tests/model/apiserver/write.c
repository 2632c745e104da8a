#include "request.h"

#include <stdlib.h>

/* Of custom resources a finalizer without a domain is only warned of. */
static void warn_of_finalizers(struct request *q, const struct node *tree, const struct node *old)
{
    const struct node *list = dom_get(tree, "metadata.finalizers"), *had = dom_get(old, "metadata.finalizers");
    for (const struct node *f = list && q->api->of->custom ? list->child : NULL; f; f = f->next) {
        const struct node *same = had ? had->child : NULL;
        while (same && !dom_equal(same, f))
            same = same->next;
        bool standard = slice_eq(f->text, SLICE("orphan")) || slice_eq(f->text, SLICE("foregroundDeletion"));
        if (!same && !standard && slice_find(f->text, '/') < 0)
            request_warn(q, arena_printf(q->a,
                                         "metadata.finalizers: \"%.*s\": prefer a domain-qualified finalizer name to avoid accidental "
                                         "conflicts with other finalizer writers",
                                         SLICE_ARG(f->text)));
    }
}

/* A request to /status is only about the status; the texts do not say so, the fields do. */
static void check_schema(struct request *q, const struct node *tree)
{
    unsigned first = q->st.cause_count;
    if (!request_is_status(q)) {
        schema_check(&q->st, tree, q->api->schema, SLICE(""));
        return;
    }
    const struct node *status = dom_get(tree, "status");
    if (status)
        schema_check(&q->st, status, dom_get(q->api->schema, "properties.status"), SLICE(""));
    for (unsigned i = first; i < q->st.cause_count; i++) {
        struct slice *field = &q->st.causes[i].field;
        *field = arena_printf(q->a, "status%s%.*s", field->len ? "." : "", SLICE_ARG(*field));
    }
}

/* Allocation comes before all checks, and what it refuses is said alone. */
static bool begin(struct request *q, const struct node *tree, const struct node *old)
{
    struct status *st = &q->st;
    const struct rules *rules = q->api->of->rules;
    unsigned before = st->cause_count;
    if (rules && rules->begin && !request_is_status(q))
        rules->begin(st, tree, old, q->dry_run);
    if (st->cause_count == before)
        return true;
    st->cause_count -= before;
    memmove(st->causes, st->causes + before, st->cause_count * sizeof *st->causes);
    return false;
}

/* Everything that can be said about an object by itself; false with a 422 of all that is wrong. */
static bool check_object(struct request *q, struct node *tree, const struct node *old)
{
    const struct rules *rules = q->api->of->rules;
    struct node *meta = dom_get(tree, "metadata");
    if (!begin(q, tree, old))
        return status_invalid(&q->st, q->api->group, q->api->of->kind, dom_str(meta, "name"));
    bool later = rules && rules->checks_first && !q->api->events_view && !old;
    if (q->other_kind.len) /* then only the rules are looked at */
        status_cause(&q->st, "FieldValueInvalid", SLICE("kind"), "Invalid value: \"%.*s\": must be %.*s", SLICE_ARG(q->other_kind),
                     SLICE_ARG(q->api->of->kind));
    if (!later && !q->other_kind.len)
        metadata_check(&q->st, q->api, meta, !old);
    if (q->api->schema && !q->other_kind.len)
        check_schema(q, tree);
    if (q->api->schema)
        schema_rules(&q->st, tree, old, q->api->schema);
    if (rules && rules->check)
        rules->check(&q->st, q->api, tree, old);
    if (later && !q->st.cause_count)
        metadata_check(&q->st, q->api, meta, !old);
    struct slice group = q->api->events_view ? SLICE("") : q->api->group; /* events are always said to be of the old group */
    struct slice kind = q->other_kind.len ? q->other_kind : q->api->of->kind;
    if (q->st.cause_count)
        return status_invalid(&q->st, group, kind, dom_str(meta, "name"));
    warn_of_finalizers(q, tree, old);
    return true;
}

/* Defaults first, then who owns what, then what the server adds by itself. */
static void complete(struct request *q, struct node *tree, const struct node *old, bool applied)
{
    const struct rules *rules = q->api->of->rules;
    if (q->api->schema && !q->other_kind.len) /* nothing is known of another kind */
        schema_default(tree, q->api->schema, q->a);
    if (rules && rules->defaults)
        rules->defaults(tree, q->a);
    if (!applied)
        managers_update(q, old, tree);
    if (rules && rules->fill)
        rules->fill(q->s, tree, old, q->a);
}

/* ---- create ---- */

static bool check_namespace(struct request *q, struct node *meta)
{
    struct slice named = dom_str(meta, "namespace");
    if (!q->api->of->namespaced) {
        dom_drop(meta, "namespace");
        return true;
    }
    if (named.len && !slice_eq(named, q->ns))
        return status_bad(&q->st, "the namespace of the provided object does not match the namespace sent on the request");
    dom_put_str(q->a, meta, "namespace", q->ns);
    const struct object *ns = store_find(registry_resource(q->s, SLICE(""), SLICE("namespaces")), SLICE(""), q->ns);
    if (!ns)
        return status_not_found(&q->st, SLICE(""), SLICE("namespaces"), q->ns);
    if (!ns->now->deleting)
        return true;
    struct slice name = dom_str(meta, "name"), full = status_resource(q->a, q->api->group, q->api->of->plural);
    name = name.len ? name : dom_str(meta, "generateName");
    status_cause(&q->st, "NamespaceTerminating", SLICE("metadata.namespace"), "namespace %.*s is being terminated", SLICE_ARG(q->ns));
    status_set(&q->st, 403, "Forbidden",
               "%.*s \"%.*s\" is forbidden: unable to create new content in namespace %.*s because it is being terminated", SLICE_ARG(full),
               SLICE_ARG(name), SLICE_ARG(q->ns));
    q->st.name = name;
    q->st.group = q->api->group;
    q->st.kind = q->api->of->plural;
    return false;
}

static void choose_name(struct request *q, struct node *meta)
{
    enum { BASE_MAX = 58, TRIES = 8 };
    struct slice name = dom_str(meta, "name"), base = slice_head(dom_str(meta, "generateName"), BASE_MAX);
    for (int i = 0; !name.len && base.len; i++) {
        struct slice suffix = world_suffix(q->s, q->a), made = arena_printf(q->a, "%.*s%.*s", SLICE_ARG(base), SLICE_ARG(suffix));
        if (i == TRIES || !store_find(q->api->of, q->ns, made))
            name = made;
    }
    dom_put_str(q->a, meta, "name", name);
}

/* What a POST may not say; every other way of creating keeps it. */
static const char *const wiped[] = {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"};

/* What only the server writes. */
static const char *const server_fields[] = {"uid",        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
                                            "generation", "selfLink"};

void write_new(struct request *q, struct node *tree, bool applied)
{
    struct resource *r = q->api->of;
    struct node *meta = dom_want(q->a, tree, "metadata", JSON_OBJECT);
    struct slice rv = dom_str(meta, "resourceVersion");
    bool post = slice_eq(q->method, SLICE("POST")), takes_version = !post || q->dry_run || !rv.len || slice_eq(rv, SLICE("0"));
    if (!check_namespace(q, meta))
        return;
    for (size_t i = 0; post && i < COUNT_OF(wiped); i++)
        dom_drop(meta, wiped[i]);
    if (r->rules && r->rules->admit && !r->rules->admit(&q->st, q->s, tree))
        return;
    choose_name(q, meta);
    if (!applied)
        dom_drop(meta, "managedFields");
    if (r->has_status)
        dom_drop(tree, "status");
    if (q->s->config.mutators)
        mutate_new(q->s, q->api, tree);
    complete(q, tree, NULL, applied);
    if (q->st.code || !check_object(q, tree, NULL))
        return;
    if (r->custom || r->counts_generation)
        dom_put_int(q->a, meta, "generation", 1);
    else if (!dom_int(meta, "generation", 0))
        dom_drop(meta, "generation");
    dom_put_str(q->a, meta, "uid", world_uid(q->s, q->a));
    dom_put_str(q->a, meta, "creationTimestamp", world_time(q->s, 0, q->a));
    struct slice name = dom_str(meta, "name");
    if (!takes_version) {
        status_set(&q->st, 500, "", "resourceVersion should not be set on objects to be created");
        return;
    }
    const struct object *other = store_find(r, q->ns, name);
    if (other) {
        q->st.prefix = other->now->deleting ? "object is being deleted: " : NULL;
        status_exists(&q->st, q->api->group, r->plural, name);
        return;
    }
    if (q->dry_run)
        view_answer_tree(q, 201, tree);
    else
        view_answer(q, 201, store_put(q->s, r, NULL, tree)->now);
}

/* Built-in kinds are read into structs: a field that there is not is dropped, and warned of. Of pods the containers are looked at. */
static void drop_unknown(struct request *q, struct node *tree)
{
    static const char *const known[] = {"name",
                                        "image",
                                        "command",
                                        "args",
                                        "workingDir",
                                        "ports",
                                        "envFrom",
                                        "env",
                                        "resources",
                                        "resizePolicy",
                                        "restartPolicy",
                                        "volumeMounts",
                                        "volumeDevices",
                                        "livenessProbe",
                                        "readinessProbe",
                                        "startupProbe",
                                        "lifecycle",
                                        "terminationMessagePath",
                                        "stdin",
                                        "imagePullPolicy",
                                        "terminationMessagePolicy",
                                        "stdinOnce",
                                        "securityContext",
                                        "tty"};
    const struct node *list = dom_get(tree, "spec.containers");
    size_t i = 0;
    for (struct node *c = list ? list->child : NULL; c; c = c->next, i++)
        for (struct node *m = c->child, *next; m; m = next) {
            bool there = false;
            next = m->next;
            for (size_t k = 0; k < COUNT_OF(known); k++)
                there |= slice_eq(m->key, slice_of(known[k]));
            if (there)
                continue;
            request_warn(q, arena_printf(q->a, "unknown field \"spec.containers[%zu].%.*s\"", i, SLICE_ARG(m->key)));
            dom_drop(c, arena_dup(q->a, m->key).ptr);
        }
}

void write_create(struct request *q)
{
    struct node *tree = view_read(q, q->body);
    if (tree && slice_eq(q->api->of->plural, SLICE("pods")))
        drop_unknown(q, tree);
    if (tree)
        write_new(q, tree, false);
}

/* ---- update ---- */

static bool refuse_uid(struct request *q, const struct resource *r, struct slice ns, struct slice name, struct slice uid, struct slice is)
{
    struct slice key = r->group.len && r->custom ? arena_printf(q->a, "%.*s/%.*s", SLICE_ARG(r->group), SLICE_ARG(r->plural)) : r->plural;
    if (r->rules == &rules_service)
        key = SLICE("services/specs");
    return status_conflict(&q->st, q->api->group, r->plural, name,
                           "StorageError: invalid object, Code: 4, Key: %s/%.*s/%.*s%s%.*s, ResourceVersion: 0, AdditionalErrorMsg: "
                           "Precondition failed: UID in precondition: %.*s, UID in object meta: %.*s",
                           q->dry_run ? "" : "/registry", SLICE_ARG(key), SLICE_ARG(ns), ns.len ? "/" : "", SLICE_ARG(name), SLICE_ARG(uid),
                           SLICE_ARG(is));
}

/* A PUT carries its uid as a precondition; in a patch it is a change of a field that does not change. */
static bool check_uid(struct request *q, const struct object *o, struct slice uid)
{
    const struct resource *r = o->of;
    if (!uid.len || slice_eq(uid, o->uid))
        return true;
    if (slice_eq(q->method, SLICE("PATCH")))
        return true;
    return refuse_uid(q, r, o->ns, o->name, uid, o->uid);
}

static bool check_preconditions(struct request *q, const struct object *o, const struct node *meta)
{
    const struct resource *r = o->of;
    struct slice rv = dom_str(meta, "resourceVersion");
    if (!check_uid(q, o, dom_str(meta, "uid")))
        return false;
    bool none = !rv.len || slice_eq(rv, SLICE("0"));
    if (none && (r->custom || r->needs_rv)) {
        status_cause(&q->st, "FieldValueInvalid", SLICE("metadata.resourceVersion"), "Invalid value: 0: must be specified for an update");
        return status_invalid(&q->st, q->api->group, r->plural, o->name);
    }
    int64_t wanted = 0;
    if (!none && (!slice_int(rv, &wanted) || (uint64_t)wanted != o->now->rv))
        return status_conflict(&q->st, q->api->group, r->plural, o->name,
                               "the object has been modified; please apply your changes to the latest version and try again");
    return true;
}

/* What is written must be named as the path says. */
bool write_names_fit(struct request *q, const struct node *meta)
{
    struct slice name = dom_str(meta, "name"), ns = dom_str(meta, "namespace");
    if (ns.len && q->api->of->namespaced && !slice_eq(ns, q->ns))
        return status_bad(&q->st, "the namespace of the provided object does not match the namespace sent on the request");
    if (!name.len)
        return status_bad(&q->st, "the name of the object (%.*s based on URL) was undeterminable: name must be provided",
                          SLICE_ARG(q->name));
    if (!slice_eq(name, q->name))
        return status_bad(&q->st, "the name of the object (%.*s) does not match the name on the URL (%.*s)", SLICE_ARG(name),
                          SLICE_ARG(q->name));
    return true;
}

static void carry_over(struct arena *a, struct node *to, const struct node *from, const char *key)
{
    struct node *value = dom_key(from, slice_of(key));
    if (value)
        dom_put(to, slice_of(key), dom_copy(value, a));
    else
        dom_drop(to, key);
}

/* What is written to /status of a custom resource changes its status and nothing else. */
static struct node *only_status(struct request *q, const struct node *old, struct node *tree, bool applied)
{
    for (const struct node *c = old->child; c; c = c->next)
        if (!slice_eq(c->key, SLICE("metadata")) && !slice_eq(c->key, SLICE("status")))
            dom_put(tree, c->key, dom_copy(c, q->a));
    if (!applied && q->api->schema)
        schema_default(tree, q->api->schema, q->a);
    if (!applied) /* who asks for other metadata owns it, though it stays as it is */
        managers_update(q, old, tree);
    struct node *result = dom_copy(old, q->a);
    carry_over(q->a, result, tree, "status");
    carry_over(q->a, dom_get(result, "metadata"), dom_get(tree, "metadata"), "managedFields");
    return result;
}

/* When an object goes is not for clients to say. A time that is there is kept, whatever they send; one that is not there is refused. */
static void check_deletion(struct request *q, const struct node *old, const struct node *meta)
{
    struct slice time = dom_str(meta, "deletionTimestamp"), grace = dom_str(meta, "deletionGracePeriodSeconds"),
                 had = dom_str(old, "deletionGracePeriodSeconds");
    if (time.len && !dom_get(old, "deletionTimestamp"))
        status_cause(&q->st, "FieldValueInvalid", SLICE("metadata.deletionTimestamp"), "Invalid value: \"%.*s\": field is immutable",
                     SLICE_ARG(time));
    if (grace.len && !slice_eq(grace, had))
        status_cause(&q->st, "FieldValueInvalid", SLICE("metadata.deletionGracePeriodSeconds"), "Invalid value: %.*s: field is immutable",
                     SLICE_ARG(grace));
}

/* What this endpoint may not change is taken from the old object. Returns the object that goes on. */
static struct node *keep_what_is_not_ours(struct request *q, const struct object *o, const struct node *old, struct node *tree,
                                          bool applied)
{
    if (request_is_status(q) && o->of->custom)
        return only_status(q, old, tree, applied);
    if (request_is_status(q)) { /* of a built-in kind the metadata may move as well */
        struct node *result = dom_copy(old, q->a);
        carry_over(q->a, result, tree, "status");
        carry_over(q->a, result, tree, "metadata");
        tree = result;
    } else if (o->of->has_status) {
        carry_over(q->a, tree, old, "status");
    }
    const struct node *old_meta = dom_get(old, "metadata");
    struct node *meta = dom_want(q->a, tree, "metadata", JSON_OBJECT);
    check_deletion(q, old_meta, meta);
    for (size_t i = 0; i < COUNT_OF(server_fields); i++)
        carry_over(q->a, meta, old_meta, server_fields[i]);
    carry_over(q->a, meta, old_meta, "name");
    carry_over(q->a, meta, old_meta, "namespace");
    return tree;
}

static bool has_item(const struct node *list, const struct node *item)
{
    const struct node *c = list ? list->child : NULL;
    while (c && !dom_equal(c, item))
        c = c->next;
    return c;
}

static int by_text(const void *x, const void *y)
{
    return slice_cmp((*(const struct node *const *)x)->text, (*(const struct node *const *)y)->text);
}

static void check_finalizers(struct request *q, const struct node *old, const struct node *tree)
{
    const struct node *before = dom_get(old, "metadata.finalizers"), *after = dom_get(tree, "metadata.finalizers");
    const struct node **more = arena_array(q->a, dom_len(after) + 1, sizeof *more);
    struct slice text = SLICE("");
    size_t n = 0;
    if (!dom_get(old, "metadata.deletionTimestamp"))
        return;
    for (const struct node *f = after ? after->child : NULL; f; f = f->next)
        if (!has_item(before, f))
            more[n++] = f;
    qsort(more, n, sizeof *more, by_text);
    for (size_t i = 0; i < n; i++)
        if (!i || !dom_equal(more[i], more[i - 1]))
            text = arena_printf(q->a, "%.*s%s\"%.*s\"", SLICE_ARG(text), text.len ? ", " : "", SLICE_ARG(more[i]->text));
    for (int twice = 0; n && twice < 2; twice++) /* as the real one says it */
        status_cause(&q->st, "FieldValueForbidden", SLICE("metadata.finalizers"),
                     "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{%.*s}",
                     SLICE_ARG(text));
}

/* The spec is everything but metadata and, where it is a subresource, status. */
static bool same_spec(const struct resource *r, const struct node *old, const struct node *tree)
{
    size_t seen = 0, had = 0;
    for (const struct node *c = tree->child; c; c = c->next) {
        if (slice_eq(c->key, SLICE("metadata")) || (r->has_status && slice_eq(c->key, SLICE("status"))))
            continue;
        seen++;
        if (!dom_equal(c, dom_key(old, c->key)))
            return false;
    }
    for (const struct node *c = old->child; c; c = c->next)
        had += !slice_eq(c->key, SLICE("metadata")) && !(r->has_status && slice_eq(c->key, SLICE("status")));
    return seen == had;
}

/* Equal, but for the time at which a manager wrote again what it already owned: then the old time stays. */
static bool is_same(const struct node *old, struct node *tree)
{
    const struct node *before = dom_get(old, "metadata.managedFields"), *x = before ? before->child : NULL;
    struct node *after = dom_get(tree, "metadata.managedFields");
    for (struct node *y = after ? after->child : NULL; x && y; x = x->next, y = y->next) {
        const struct node *earlier = dom_get(x, "time");
        struct node *time = dom_get(y, "time");
        if (!time || !earlier || slice_eq(time->text, earlier->text))
            continue;
        struct slice now = time->text;
        time->text = earlier->text;
        bool same = dom_equal(old, tree);
        time->text = same ? earlier->text : now;
        return same;
    }
    return dom_equal(old, tree);
}

/* Who owned what before: as the client says it, who may say that nobody did with one empty entry; or as it is when nothing is said. */
static void choose_managers(struct request *q, const struct node *old, struct node *meta)
{
    const struct node *said = dom_get(meta, "managedFields");
    if (!dom_len(said) || request_is_status(q))
        carry_over(q->a, meta, dom_get(old, "metadata"), "managedFields");
    else if (dom_len(said) == 1 && !said->child->child)
        dom_drop(meta, "managedFields");
}

void write_replace(struct request *q, struct object *o, struct node *old, struct node *tree, bool applied)
{
    struct resource *r = o->of;
    struct node *meta = dom_want(q->a, tree, "metadata", JSON_OBJECT);
    struct slice uid = dom_str(meta, "uid");
    if (!write_names_fit(q, meta) || !check_preconditions(q, o, meta))
        return;
    if (!applied)
        choose_managers(q, old, meta);
    tree = keep_what_is_not_ours(q, o, old, tree, applied);
    meta = dom_get(tree, "metadata");
    carry_over(q->a, meta, dom_get(old, "metadata"), "resourceVersion");
    if (uid.len && !slice_eq(uid, o->uid))
        status_cause(&q->st, "FieldValueInvalid", SLICE("metadata.uid"), "Invalid value: \"%.*s\": field is immutable", SLICE_ARG(uid));
    complete(q, tree, old, applied || (r->custom && request_is_status(q)));
    check_finalizers(q, old, tree);
    if (q->st.code || !check_object(q, tree, old))
        return;
    if ((r->custom || r->counts_generation) && !same_spec(r, old, tree))
        dom_put_int(q->a, meta, "generation", dom_int(old, "metadata.generation", 0) + 1);
    bool goes = remove_may_go(tree);   /* its last finalizer is gone, or it never had one: also when nothing moves */
    if (!goes && is_same(old, tree)) { /* no new resourceVersion, no event */
        view_answer(q, 200, o->now);
        return;
    }
    if (q->dry_run) {
        view_answer_tree(q, 200, tree);
        return;
    }
    if (goes) { /* there is no state in between */
        store_remove(q->s, o);
        view_answer_tree(q, 200, tree);
        return;
    }
    store_put(q->s, r, o, tree);
    view_answer(q, 200, o->now);
}

void write_update(struct request *q)
{
    struct object *o = store_find(q->api->of, q->ns, q->name);
    struct node *tree = request_is_json(q) ? view_read(q, q->body) : NULL;
    if (!tree || !write_names_fit(q, dom_get(tree, "metadata")))
        return;
    struct slice uid = dom_str(tree, "metadata.uid");
    if (o)
        write_replace(q, o, version_tree(o->now, q->a), tree, false);
    else if (!q->api->of->put_creates)
        status_not_found(&q->st, q->api->group, q->api->of->plural, q->name);
    else if (uid.len)
        refuse_uid(q, q->api->of, q->ns, q->name, uid, SLICE(""));
    else
        write_new(q, tree, false);
}
