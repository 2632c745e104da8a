/* Turns custom resources into records. An object gets no record if its name, namespace or uid is one that no API server would give: these
 * texts are written into JSON and paths without escaping, and an empty name in a path would mean all objects. */
#include <mobula/control.h>

struct record *controller_record(struct op *op, struct space *space, struct slice ns, struct jval object, const struct kind *child)
{
    struct slice uid;
    const struct kind *kind = controller_of(op, object, child, &op->arenas.event, &uid);
    struct record *owner = kind ? record_make(op, uid, ns, space, kind) : NULL;
    /* a client that may write an object may name any uid there, its own among them: if the uid is known by now, its real kind decides */
    return owner && (!owner->present || may_own(owner->kind, child)) ? owner : NULL;
}

/* The annotations without kubectl's last-applied copy of the whole object. */
static void write_annotations(struct jval annotations, struct jout *w, struct arena *a)
{
    struct jval k, v;
    jout_kobject(w, "annotations");
    for (struct jiter it = json_iter(annotations); json_next(&it, &k, &v);) {
        if (json_is(k, "kubectl.kubernetes.io/last-applied-configuration"))
            continue;
        jout_key(w, json_str(k, a));
        jout_val(w, v);
    }
    jout_end(w);
}

static const struct istr *intern_meta(struct op *op, struct jval metadata, const struct kind *kind)
{
    struct buf *b = &op->out.body;
    buf_clear(b);
    struct jout w;
    jout_init(&w, b);
    jout_object(&w);
    struct jval labels = json_get(metadata, "labels"), annotations = json_get(metadata, "annotations");
    if (json_type(labels) == JSON_OBJECT)
        jout_kval(&w, "labels", labels);
    if (json_type(annotations) == JSON_OBJECT)
        write_annotations(annotations, &w, &op->arenas.event);
    struct jval finalizers = json_get(metadata, "finalizers");
    if (kind->finalizers && json_type(finalizers) == JSON_ARRAY)
        jout_kval(&w, "finalizers", finalizers);
    struct jval created = json_get(metadata, "creationTimestamp");
    if (kind->creation && json_type(created) == JSON_STRING)
        jout_kval(&w, "creationTimestamp", created);
    jout_end(&w);
    return intern_get(&op->strings, buf_slice(b));
}

/* Returns whether the status differs from the record's. */
static bool keep_status(struct op *op, struct record *c, struct slice status)
{
    if (c->status.len == status.len && (status.len == 0 || memcmp(c->status.text, status.ptr, status.len) == 0))
        return false;
    mem_free(c->status.text);
    c->status.text = NULL;
    if (c->kind->resource)
        op->all.unreported += (uint32_t)(status.len == 0) - (uint32_t)(c->status.len == 0);
    c->status_ours = false; /* set again by the answer to our own write, if this status came from it */
    c->status.len = status.len;
    if (status.len) {
        c->status.text = mem_alloc(status.len);
        memcpy(c->status.text, status.ptr, status.len);
    }
    return true;
}

struct jval record_status(const struct record *c, struct arena *a)
{
    return json_document((struct slice){c->status.text, c->status.len}, a, NULL);
}

bool keep_interned(struct op *op, const struct istr **held, const struct istr *fresh)
{
    bool changed = *held != fresh;
    intern_drop(&op->strings, *held);
    *held = fresh;
    return changed;
}

static struct record *claimed_by(struct op *op, const struct record *c, struct jval object)
{
    struct record *owner = NULL;
    for (const struct kind *const *k = op->parts->kinds; *k && !owner; k++)
        if ((*k)->controller && (*k)->controller->claim)
            owner = (*k)->controller->claim(op, c, object);
    return owner;
}

static void keep_owner(struct op *op, struct record *c, struct jval object, bool changed)
{
    struct record *owner = controller_record(op, c->space, istr_slice(c->ns), object, c->kind);
    struct record *claimed = owner ? NULL : orphan_claim(op, c->space, object, c->kind);
    c->family.orphan = claimed && claimed != c;
    record_own(op, c, owner ? owner : c->family.orphan ? claimed : claimed_by(op, c, object));
    if (changed)
        record_tell(op, c);
}

void extract_record(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round)
{
    struct arena *a = &op->arenas.event;
    struct jval metadata = json_get(object, "metadata");
    struct slice ns = json_get_str(metadata, "namespace", a), name = json_get_str(metadata, "name", a);
    struct record *c = name_dns1123_subdomain(name) ? record_make(op, json_get_str(metadata, "uid", a), ns, from->space, from->kind) : NULL;
    if (!c)
        return;
    c->round = round ? round : c->round;
    if (c->present && source_is_old(from, version, c->seen.version, round)) {
        if (c->kind->owned && !c->family.owner) /* its owner may have come since */
            keep_owner(op, c, object, false);
        return;
    }
    bool fresh = !c->present, changed = fresh;
    if (fresh)
        record_comes(op, c, from->space, from->kind, name);
    c->seen.version = version;
    int64_t generation = json_get_int(metadata, "generation", 0);
    changed |=
        generation != c->seen.generation; /* the spec may have changed and changed back unseen: observedGeneration must still follow */
    if (generation != c->seen.generation) {
        warnings_drop(op, c);
        c->kind->controller->respecified(op, c);
    }
    c->seen.generation = generation;
    bool deleting = json_there(json_get(metadata, "deletionTimestamp"));
    changed |= deleting != c->deleting;
    c->deleting = deleting;
    if (!time_parse(json_get_str(metadata, "deletionTimestamp", a), &c->seen.deleted_us, NULL))
        c->seen.deleted_us = 0;
    struct slice spec = json_raw(json_get(object, "spec"));
    changed |= keep_interned(op, &c->seen.spec, intern_get(&op->strings, slice_empty(spec) ? SLICE("null") : spec));
    changed |= keep_interned(op, &c->seen.meta, intern_meta(op, metadata, c->kind));
    bool status = keep_status(op, c, json_raw(json_get(object, "status")));
    if (fresh)
        c->kind->controller->lead(op, c, true); /* the previous leader's counters are in its status */
    if (c->kind->owned)
        keep_owner(op, c, object, changed || status);
    if (c->kind->controller->kept)
        c->kind->controller->kept(op, c, object, round, status);
    if (changed) {
        work_drop(c); /* the rest of the plan was decided for the old spec */
        record_reread(op, c);
    }
    if (changed || round != 0) /* the answer to our own status write is nothing to decide on */
        record_touch(op, c);
}

void drop_record(struct op *op, struct source *from, struct jval object)
{
    struct arena *a = &op->arenas.event;
    struct record *c = record_get(op, json_get_str(object, "metadata.uid", a), json_get_str(object, "metadata.namespace", a));
    if (!c || !c->present)
        return;
    (void)from;
    log_info(c->kind->gone, LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name));
    record_gone(op, c);
}

void sweep_records(struct op *op, struct source *from, uint64_t version)
{
    struct record *c;
    for (uint32_t i = 0; (c = map_next(&op->all.records, &i)) != NULL;)
        if (c->present && c->kind == from->kind && c->space == from->space && c->round != from->keeper.round && c->seen.version <= version)
            record_gone(op, c);
}
