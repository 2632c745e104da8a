#include "request.h"

/* ---- the two steps of a deletion ---- */

static bool is_held(const struct node *tree)
{
    return dom_len(dom_get(tree, "metadata.finalizers")) || dom_len(dom_get(tree, "spec.finalizers"));
}

bool remove_may_go(const struct node *tree)
{
    return dom_get(tree, "metadata.deletionTimestamp") && !is_held(tree) && dom_int(tree, "metadata.deletionGracePeriodSeconds", 0) == 0;
}

static struct node *find_text(const struct node *array, struct slice text)
{
    struct node *c = array ? array->child : NULL;
    while (c && !slice_eq(c->text, text))
        c = c->next;
    return c;
}

bool remove_finalizer(struct apiserver *s, struct object *o, const char *finalizer)
{
    struct node *tree = version_tree(o->now, &s->scratch), *list = dom_get(tree, "metadata.finalizers");
    const struct node *found = find_text(list, slice_of(finalizer));
    if (!found)
        return false;
    dom_unlink(list, found);
    if (!list->child)
        dom_drop(dom_get(tree, "metadata"), "finalizers");
    if (remove_may_go(tree)) {
        store_remove(s, o);
        return true;
    }
    store_put(s, o->of, o, tree);
    return false;
}

/* How long the object may take: only a pod that runs may take any time. */
static int64_t grace_of(const struct object *o, const struct node *tree, int64_t asked_s)
{
    if (o->of->rules != &rules_pod)
        return 0;
    struct slice phase = dom_str(tree, "status.phase");
    if (!dom_str(tree, "spec.nodeName").len || slice_eq(phase, SLICE("Succeeded")) || slice_eq(phase, SLICE("Failed")))
        return 0;
    return asked_s >= 0 ? asked_s : dom_int(tree, "spec.terminationGracePeriodSeconds", 30);
}

static bool set_propagation(struct apiserver *s, struct node *meta, enum propagation how)
{
    static const char *const ours[] = {"foregroundDeletion", "orphan"};
    struct node *list = dom_get(meta, "finalizers");
    const char *wanted = how == PROPAGATE_FOREGROUND ? ours[0] : how == PROPAGATE_ORPHAN ? ours[1] : NULL;
    bool has[] = {find_text(list, slice_of(ours[0])), find_text(list, slice_of(ours[1]))};
    bool wants[] = {how == PROPAGATE_FOREGROUND || (how == PROPAGATE_AS_IT_IS && has[0]),
                    how == PROPAGATE_ORPHAN || (how == PROPAGATE_AS_IT_IS && has[1])};
    if (has[0] == wants[0] && has[1] == wants[1])
        return false;
    for (size_t i = 0; i < COUNT_OF(ours); i++)
        for (const struct node *f; has[i] && (f = find_text(list, slice_of(ours[i])));)
            dom_unlink(list, f);
    if (wanted)
        dom_push(dom_want(&s->scratch, meta, "finalizers", JSON_ARRAY), dom_new_str(&s->scratch, slice_of(wanted)));
    else if (list && !list->child)
        dom_drop(meta, "finalizers");
    return true;
}

static void mark_deleting(struct apiserver *s, struct object *o, struct node *tree, int64_t grace_s)
{
    struct arena *a = &s->scratch;
    struct node *meta = dom_get(tree, "metadata");
    dom_put_str(a, meta, "deletionTimestamp", world_time(s, grace_s, a));
    if (o->of->rules != &rules_namespace)
        dom_put_int(a, meta, "deletionGracePeriodSeconds", grace_s);
    if (dom_get(meta, "generation"))
        dom_put_int(a, meta, "generation", dom_int(meta, "generation", 0) + 1);
    if (o->of->rules == &rules_namespace)
        dom_put_str(a, dom_want(a, tree, "status", JSON_OBJECT), "phase", SLICE("Terminating"));
}

/* A later deletion with less time counts from the first one and ends no earlier than now; a graceful one keeps a second. */
static void shorten_deletion(struct apiserver *s, struct node *meta, int64_t left_s, int64_t grace_s)
{
    struct arena *a = &s->scratch;
    char text[TIME_TEXT_MAX];
    int64_t end_us = s->now.wall_us;
    time_parse(dom_str(meta, "deletionTimestamp"), &end_us, NULL);
    end_us -= (left_s - grace_s) * 1000000;
    if (end_us < s->now.wall_us) {
        end_us = s->now.wall_us;
        grace_s = grace_s > 0;
    }
    dom_put_str(a, meta, "deletionTimestamp", arena_dup(a, time_format(end_us, text)));
    dom_put_int(a, meta, "deletionGracePeriodSeconds", grace_s);
}

struct removal {
    bool moved; /* the object changes first */
    bool goes;  /* and then it goes */
};

/* Is the object going after a while that this request does not shorten? Then nothing of it changes. */
static bool is_pending(const struct node *meta, int64_t grace_s)
{
    int64_t left = dom_int(meta, "deletionGracePeriodSeconds", 0);
    return left > 0 && (grace_s < 0 || grace_s >= left);
}

/* What a deletion makes of an object: its tree, and whether it stays. */
static struct removal remove_plan(struct apiserver *s, struct object *o, struct node *tree, enum propagation how, int64_t grace_s)
{
    struct node *meta = dom_get(tree, "metadata");
    bool first = !o->now->deleting;
    bool owns = o->of->rules != &rules_event; /* events are outside of garbage collection */
    struct removal r = {0};
    if (is_pending(meta, grace_s))
        return r;
    r.moved = owns && set_propagation(s, meta, how);
    int64_t left = dom_int(meta, "deletionGracePeriodSeconds", 0), grace = first ? grace_of(o, tree, grace_s) : left > 0 ? grace_s : 0;
    r.goes = !grace && !is_held(tree);
    if (r.goes && o->of->rules != &rules_pod) /* of a pod, all see that it is going before it is gone */
        return r;
    r.moved = r.moved || first || left > 0;
    if (first)
        mark_deleting(s, o, tree, grace);
    else if (left > 0)
        shorten_deletion(s, meta, left, grace);
    return r;
}

bool remove_object(struct apiserver *s, struct object *o, enum propagation how, int64_t grace_s)
{
    struct node *tree = version_tree(o->now, &s->scratch);
    struct removal r = remove_plan(s, o, tree, how, grace_s);
    if (r.moved)
        store_put(s, o->of, o, tree);
    if (r.goes)
        store_remove(s, o);
    return r.goes;
}

/* ---- DELETE ---- */

struct delete_options {
    enum propagation how;
    int64_t grace_s; /* -1: not said */
    struct slice uid, rv;
};

static bool read_propagation(struct request *q, const struct node *body, struct delete_options *o)
{
    struct slice policy = body ? dom_str(body, "propagationPolicy") : request_query(q, "propagationPolicy");
    if (dom_true(body, "orphanDependents"))
        policy = SLICE("Orphan");
    o->how = slice_eq(policy, SLICE("Foreground"))   ? PROPAGATE_FOREGROUND
             : slice_eq(policy, SLICE("Orphan"))     ? PROPAGATE_ORPHAN
             : slice_eq(policy, SLICE("Background")) ? PROPAGATE_BACKGROUND
                                                     : PROPAGATE_AS_IT_IS;
    if (!policy.len || o->how != PROPAGATE_AS_IT_IS)
        return true;
    status_cause(&q->st, "FieldValueNotSupported", SLICE("propagationPolicy"),
                 "Unsupported value: \"%.*s\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"", SLICE_ARG(policy));
    return status_invalid(&q->st, SLICE("meta.k8s.io"), SLICE("DeleteOptions"), SLICE(""));
}

static bool read_delete_options(struct request *q, struct delete_options *o)
{
    struct node *body = NULL;
    struct err e = {0};
    if (q->body.len && !(body = dom_parse(q->body, q->a, &e)))
        return status_set(&q->st, 500, "", "couldn't get version/kind; json parse error: %s", e.text);
    struct slice grace = request_query(q, "gracePeriodSeconds");
    if (body || !slice_int(grace, &o->grace_s)) /* a body speaks for all of the query */
        o->grace_s = dom_int(body, "gracePeriodSeconds", -1);
    if ((body ? dom_get(body, "gracePeriodSeconds") != NULL : grace.len > 0) && o->grace_s < 0)
        o->grace_s = 1; /* as the real one has it */
    o->uid = dom_str(body, "preconditions.uid");
    o->rv = dom_str(body, "preconditions.resourceVersion");
    const struct node *dry = dom_at(dom_get(body, "dryRun"), 0);
    q->dry_run = q->dry_run || slice_eq(dom_string(dry), SLICE("All"));
    return read_propagation(q, body, o);
}

static bool check_delete(struct request *q, const struct object *o, const struct delete_options *d)
{
    struct slice rv = arena_printf(q->a, "%llu", (unsigned long long)o->now->rv);
    struct slice group = q->api->events_view ? SLICE("") : q->api->group; /* events are always said to be of the old group */
    if (d->uid.len && !slice_eq(d->uid, o->uid))
        return status_conflict(
            &q->st, group, o->of->kind, o->name,
            "the UID in the precondition (%.*s) does not match the UID in record (%.*s). The object might have been deleted "
            "and then recreated",
            SLICE_ARG(d->uid), SLICE_ARG(o->uid));
    if (d->rv.len && !slice_eq(d->rv, rv))
        return status_conflict(
            &q->st, group, o->of->kind, o->name,
            "the ResourceVersion in the precondition (%.*s) does not match the ResourceVersion in record (%.*s). The object "
            "might have been modified",
            SLICE_ARG(d->rv), SLICE_ARG(rv));
    bool lasting = o->of->rules == &rules_namespace && (slice_eq(o->name, SLICE("default")) || slice_starts(o->name, SLICE("kube-")));
    if (!lasting)
        return true;
    status_set(&q->st, 403, "Forbidden", "namespaces \"%.*s\" is forbidden: this namespace may not be deleted", SLICE_ARG(o->name));
    q->st.name = o->name;
    q->st.kind = o->of->plural;
    return false;
}

static void answer_gone(struct request *q, struct slice uid)
{
    struct jout w;
    q->code = 200;
    jout_init(&w, q->out);
    jout_object(&w);
    jout_kstr(&w, "kind", SLICE("Status"));
    jout_kstr(&w, "apiVersion", SLICE("v1"));
    jout_kobject(&w, "metadata");
    jout_end(&w);
    jout_kstr(&w, "status", SLICE("Success"));
    jout_kobject(&w, "details");
    jout_kstr(&w, "name", q->name);
    if (q->api->group.len)
        jout_kstr(&w, "group", q->api->group);
    jout_kstr(&w, "kind", q->api->of->plural);
    jout_kstr(&w, "uid", uid);
    jout_end(&w);
    jout_end(&w);
}

void remove_one(struct request *q)
{
    struct resource *r = q->api->of;
    struct object *o = store_find(r, q->ns, q->name);
    struct delete_options d = {0};
    if (!read_delete_options(q, &d))
        return;
    if (!o) {
        status_not_found(&q->st, q->api->group, r->plural, q->name);
        return;
    }
    if (!check_delete(q, o, &d))
        return;
    struct slice uid = arena_dup(q->a, o->uid);
    if (q->dry_run) {
        struct node *tree = version_tree(o->now, q->a);
        if (remove_plan(q->s, o, tree, d.how, d.grace_s).goes && !r->delete_answers_object)
            answer_gone(q, uid);
        else
            view_answer_tree(q, 200, tree);
        return;
    }
    bool gone = remove_object(q->s, o, d.how, d.grace_s);
    if (gone && !r->delete_answers_object)
        answer_gone(q, uid);
    else
        view_answer(q, 200, gone ? store_event(r, r->next - 1)->now : o->now);
}

void remove_collection(struct request *q)
{
    struct resource *r = q->api->of;
    struct delete_options d = {0};
    const struct selector *sel = selector_parse(request_query(q, "labelSelector"), request_query(q, "fieldSelector"), q->a, &q->st);
    if (!sel || !selector_fits(sel, r, &q->st) || !read_delete_options(q, &d))
        return;
    struct version **list = arena_array(q->a, r->count + 1, sizeof *list);
    uint64_t rv = q->s->rv; /* of the list that is deleted */
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct version *v = r->objects[i]->now;
        if ((!q->ns.len || slice_eq(v->ns, q->ns)) && selector_matches(sel, v, q->a))
            list[n++] = version_keep(v);
    }
    for (size_t i = 0; i < n && !q->dry_run; i++) {
        struct object *o = store_find(r, list[i]->ns, list[i]->name);
        if (o)
            remove_object(q->s, o, d.how, d.grace_s);
    }
    view_list(q, list, n, rv, SLICE(""), -1);
    for (size_t i = 0; i < n; i++)
        version_drop(list[i]);
}
