/* Confirms that a custom resource still exists before its missing children are created again. The garbage collector deletes children after
 * their owner. If the owner's watch has stalled, its DELETED event is missing, and an operator that recreates every missing child would
 * work against the garbage collector without end. So when somebody else deleted a child, the owner is read first. It is read by a list with
 * a field selector on its name, which needs no right beyond those of the watch. */
#include <mobula/control.h>

enum { MISSED = 2 };

static void still_unsure(struct op *op, struct record *c)
{
    c->unsure = true;
    c->backoff.not_before_ms = op->now.mono_ms + backoff_ms(&op->rng, c->doubt.missed, OPERATOR_BACKOFF_MS, OPERATOR_BACKOFF_MAX_MS);
    record_wake_at(op, c, c->backoff.not_before_ms);
}

/* The resource was not found. Usually its DELETED event is about to arrive. If it has not come a moment later, the watch is no longer
 * trusted, and a consistent list is requested. */
static void missed(struct op *op, struct record *c)
{
    still_unsure(op, c);
    if (++c->doubt.missed != MISSED)
        return;
    log_warn("a resource is gone, but its watch sent no DELETED event: a new list is requested", LF_CSTR("resource", c->kind->plural),
             LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name));
    kube_watch_refresh(source_of(c->space, c->kind)->keeper.watch, op->now);
}

/* False: the answer is not a list. */
static bool read_list(struct op *op, struct record *c, struct slice body)
{
    struct err e = {0};
    struct jval doc;
    uint64_t version;
    arena_reset(&op->arenas.event, 64 * KIB);
    if (!json_read(&doc, body, &op->arenas.event, &e) || json_type(json_get(doc, "items")) != JSON_ARRAY)
        return false;
    struct jval k, item;
    for (struct jiter it = json_iter(json_get(doc, "items")); json_next(&it, &k, &item);) {
        if (!json_is(json_get(item, "metadata.uid"), c->uid))
            continue; /* another object, created later under the same name */
        if (!kube_version_parse(json_get_str(item, "metadata.resourceVersion", &op->arenas.event), &version))
            return false;
        c->doubt.missed = 0;
        extract_record(op, source_of(c->space, c->kind), item, version, 0);
        return true;
    }
    missed(op, c);
    return true;
}

static void confirm_done(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct op *op = owner;
    struct record *c = (struct record *)(uintptr_t)tag;
    op->now = now;
    if (c->present && (a->outcome != KUBE_OK || !read_list(op, c, a->body)))
        still_unsure(op, c);
    c->in_flight--;
    op->flights--;
    work_settle(op, c);
}

void record_confirm(struct op *op, struct record *c)
{
    struct err e = {0};
    struct slice name = arena_printf(&op->arenas.plan, "metadata.name=%s", c->name);
    buf_clear(&op->out.path);
    kube_path(&op->out.path, c->kind->resource, istr_slice(c->ns), SLICE_NONE, SLICE_NONE);
    kube_query(&op->out.path, "fieldSelector", name);
    struct kube_request r = {.lane = KUBE_LANE_MAIN,
                             .method = SLICE("GET"),
                             .path = buf_slice(&op->out.path),
                             .again = true,
                             .done = confirm_done,
                             .owner = op,
                             .about = c,
                             .tag = (uint64_t)(uintptr_t)c};
    c->unsure = false; /* deletions from now on need a confirmation of their own */
    if (!kube_call(op->client, &r, op->now, &e)) {
        still_unsure(op, c);
        return;
    }
    c->in_flight++;
    op->flights++;
}
