/* Custom resources and services become records. Pods: extract_pod.c. An object whose name, namespace or uid is none that an API server
 * gives has no record: these words go into JSON as they stand, and an empty one names all objects of a path. */
#include "kind.h"

static struct jval controller_ref(struct jval object, struct slice kind)
{
    struct jval k, ref;
    for (struct jiter it = json_iter(json_get(object, "metadata.ownerReferences")); json_next(&it, &k, &ref);)
        if (json_get_bool(ref, "controller", false) && json_str_eq(json_get(ref, "kind"), kind))
            return ref;
    return (struct jval){.at = -1};
}

static struct slice controller(struct jval object, struct slice kind, struct arena *a)
{
    return json_get_str(controller_ref(object, kind), "uid", a);
}

struct slice extract_owner(struct jval object, struct arena *a)
{
    struct slice uid = controller(object, SLICE("RayCluster"), a);
    return uid.len ? uid : controller(object, SLICE("RayJob"), a);
}

/* The annotations but kubectl's copy of the whole object. */
static void write_annotations(struct jval annotations, struct jout *w, struct arena *a)
{
    struct jval k, v;
    jout_kobject(w, "annotations");
    for (struct jiter it = json_iter(annotations); json_next(&it, &k, &v);) {
        if (json_str_eq(k, SLICE("kubectl.kubernetes.io/last-applied-configuration")))
            continue;
        jout_key(w, json_str(k, a));
        jout_raw(w, json_raw(v));
    }
    jout_end(w);
}

static const struct istr *intern_meta(struct op *op, struct jval metadata, bool with_finalizers)
{
    struct buf *b = &op->body;
    buf_clear(b);
    struct jout w;
    jout_init(&w, b);
    jout_object(&w);
    struct jval labels = json_get(metadata, "labels"), annotations = json_get(metadata, "annotations");
    if (json_type(labels) == JSON_OBJECT)
        jout_kraw(&w, "labels", json_raw(labels));
    if (json_type(annotations) == JSON_OBJECT)
        write_annotations(annotations, &w, &op->event_arena);
    struct jval finalizers = json_get(metadata, "finalizers");
    if (with_finalizers && json_type(finalizers) == JSON_ARRAY)
        jout_kraw(&w, "finalizers", json_raw(finalizers));
    jout_end(&w);
    return intern_get(&op->strings, buf_slice(b));
}

/* Returns whether it is another. */
static bool keep_status(struct cluster *c, struct slice status)
{
    if (c->status_len == status.len && (status.len == 0 || memcmp(c->status, status.ptr, status.len) == 0))
        return false;
    mem_free(c->status);
    c->status = NULL;
    c->status_ours = false; /* the answer to our own write says otherwise, if it is that */
    c->status_len = status.len;
    if (status.len) {
        c->status = mem_alloc(status.len);
        memcpy(c->status, status.ptr, status.len);
    }
    return true;
}

static bool keep_interned(struct op *op, const struct istr **held, const struct istr *fresh)
{
    bool changed = *held != fresh;
    intern_drop(&op->strings, *held);
    *held = fresh;
    return changed;
}

void extract_failures(struct op *op, struct cluster *c)
{
    struct jval k, g;
    struct json status;
    struct err e = {0};
    failures_clear(op, c);
    if (!c->status_len || !json_parse(&status, (struct slice){c->status, c->status_len}, &op->event_arena, &e))
        return;
    for (struct jiter it = json_iter(json_get(json_root(&status), "groups")); json_next(&it, &k, &g);) {
        int64_t count = json_get_int(g, "failures", 0), last_us;
        struct slice name = json_get_str(g, "name", &op->event_arena);
        if (count <= 0 || !time_parse(json_get_str(g, "lastFailureTime", &op->event_arena), &last_us, &e))
            continue;
        struct group_failures *f = failures_of(op, c, name, slice_eq(name, SLICE(RAY_HEAD_GROUP)), true);
        f->count = count > 1000 ? 1000 : (uint32_t)count;
        int64_t ends = json_get_int(g, "podsEnded", 0);
        f->ends = ends <= 0 ? 0 : ends < count ? (uint32_t)ends : f->count;
        f->last_us = last_us;
        f->ended = json_get_bool(g, "ended", false);
        utf8_copy(json_get_str(g, "reason", &op->event_arena), f->reason, sizeof f->reason);
        /* By the wall clock that wrote it, when the wait ends or was over; never later than a whole wait from now. */
        int64_t wait = reconcile_backoff_ms(f->count, hash64(slice_of(c->uid), 0)), gone = (op->now.wall_us - last_us) / 1000;
        f->not_before_ms = op->now.mono_ms + wait - (gone > 0 ? gone : 0);
    }
}

void kept_cluster(struct op *op, struct cluster *c, struct jval object, uint32_t round, bool changed, bool status)
{
    (void)round;
    struct slice job = controller(object, SLICE("RayJob"), &op->event_arena);
    struct cluster *owner = cluster_make(op, job, istr_slice(c->ns), c->space, &kind_rayjob);
    cluster_own(op, c, owner != c ? owner : NULL); /* whoever may write the object may name its own uid there */
    if (changed || status)
        cluster_tell(op, c);
}

void kept_job(struct op *op, struct cluster *c, struct jval object, uint32_t round, bool changed, bool status)
{
    (void)changed;
    if (status && round != 0 && !slice_empty(json_get_str(object, "status.jobStatus", &op->event_arena)))
        job_doubt(c);
}

void extract_cluster(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round)
{
    struct arena *a = &op->event_arena;
    struct jval metadata = json_get(object, "metadata");
    struct slice ns = json_get_str(metadata, "namespace", a), name = json_get_str(metadata, "name", a);
    struct cluster *c =
        name_dns1123_subdomain(name) ? cluster_make(op, json_get_str(metadata, "uid", a), ns, from->space, from->kind) : NULL;
    if (!c)
        return;
    c->round = round ? round : c->round;
    if (c->present && version <= c->version)
        return;
    bool fresh = !c->present, changed = fresh;
    if (fresh) {
        c->present = true;
        c->space = from->space;
        c->kind = from->kind;
        c->name = mem_alloc(name.len + 1);
        memcpy(c->name, name.ptr, name.len);
        name_enter(op, c->kind, c->ns, name, c);
    }
    c->version = version;
    int64_t generation = json_get_int(metadata, "generation", 0);
    changed |= generation != c->generation; /* the same spec again after another one that was not seen: status tells which was observed */
    for (struct pod_record *r = generation != c->generation ? c->pods : NULL; r; r = r->next)
        doubt_anew(op, c, &r->doubt);
    for (struct service_record *r = generation != c->generation ? c->services : NULL; r; r = r->next)
        doubt_anew(op, c, &r->doubt);
    if (generation != c->generation)
        warnings_drop(op, c);
    if (generation != c->generation)
        memset(c->services_pace, 0, sizeof c->services_pace);
    c->generation = generation;
    bool deleting = json_there(json_get(metadata, "deletionTimestamp"));
    changed |= deleting != c->deleting;
    c->deleting = deleting;
    if (!time_parse(json_get_str(metadata, "deletionTimestamp", a), &c->deleted_us, NULL))
        c->deleted_us = 0;
    struct slice spec = json_raw(json_get(object, "spec"));
    changed |= keep_interned(op, &c->spec, intern_get(&op->strings, slice_empty(spec) ? SLICE("null") : spec));
    changed |= keep_interned(op, &c->meta, intern_meta(op, metadata, c->kind->finalizers));
    bool status = keep_status(c, json_raw(json_get(object, "status")));
    if (fresh)
        extract_failures(op, c);
    if (c->kind->kept)
        c->kind->kept(op, c, object, round, changed, status);
    if (changed) {
        work_drop(c); /* what was decided for the old spec is not carried further */
        cluster_reread(op, c);
    }
    if (changed || round != 0) /* the answer to our own status write is no news */
        cluster_touch(op, c);
}

struct cluster *extract_parent(struct op *op, struct space *space, struct jval child)
{
    struct arena *a = &op->event_arena;
    struct slice name = json_get_str(child, "metadata.name", a), uid = json_get_str(child, "metadata.uid", a);
    bool known = name.len <= POD_NAME_MAX && name_dns1123_subdomain(name) && uid.len <= UID_TEXT_MAX && name_dns1123_label(uid);
    struct slice ns = json_get_str(child, "metadata.namespace", a), owner = controller(child, SLICE("RayCluster"), a);
    if (!known)
        return NULL;
    return owner.len ? cluster_make(op, owner, ns, space, &kind_raycluster)
                     : cluster_make(op, controller(child, SLICE("RayJob"), a), ns, space, &kind_rayjob);
}

bool extract_labelled(struct jval object)
{
    return json_there(json_key(json_get(object, "metadata.labels"), SLICE(RAY_LABEL_CLUSTER)));
}

bool extract_elsewhere(struct jval pod, struct arena *a)
{
    struct jval label = json_key(json_get(pod, "metadata.labels"), SLICE(RAY_LABEL_CLUSTER));
    struct slice owner = json_get_str(controller_ref(pod, SLICE("RayCluster")), "name", a);
    return json_there(label) && !slice_empty(owner) && !json_str_eq(label, owner);
}

static struct service_record *service_make(struct op *op, struct cluster *c, struct slice uid, struct slice name)
{
    struct service_record *r = slab_alloc(&op->service_slab);
    slice_copy(uid, r->service.uid, sizeof r->service.uid);
    slice_copy(name, r->service.name, sizeof r->service.name);
    r->of = c;
    r->made_ms = op->now.mono_ms;
    r->next = c->services;
    r->link = &c->services;
    if (r->next)
        r->next->link = &r->next;
    c->services = r;
    map_put(&op->services, slice_of(r->service.uid), r);
    name_enter(op, &kind_kservice, c->ns, name, r);
    return r;
}

static void keep_endpoints(struct op *op, struct service_record *r, struct jval object)
{
    buf_clear(&op->body);
    ray_service_endpoints(object, &op->event_arena, &op->body);
    keep_interned(op, &r->endpoints, intern_get(&op->strings, buf_slice(&op->body)));
    r->service.endpoints = istr_slice(r->endpoints);
}

void extract_service(struct op *op, struct space *space, struct jval object, uint64_t version, uint32_t round)
{
    struct arena *a = &op->event_arena;
    struct slice uid = json_get_str(object, "metadata.uid", a), name = json_get_str(object, "metadata.name", a);
    struct service_record *r = map_get(&op->services, uid);
    if (r && version <= r->service.version) {
        r->round = round ? round : r->round;
        return;
    }
    struct cluster *c = extract_parent(op, space, object);
    if (r && r->of != c) { /* it changed hands */
        service_remove(op, r);
        r = NULL;
    }
    if (!c)
        return;
    if (!r)
        r = service_make(op, c, uid, name);
    r->round = round ? round : r->round;
    r->service.version = version;
    slice_copy(json_get_str(object, "spec.clusterIP", a), r->service.ip, sizeof r->service.ip);
    r->service.hash = ray_service_hash(object);
    keep_endpoints(op, r, object);
    r->service.ours = json_there(json_key(json_get(object, "metadata.annotations"), SLICE(RAY_ANNOTATION_HASH)));
    bool deleting = json_there(json_get(object, "metadata.deletionTimestamp"));
    if (deleting)
        r->doubt.ms = 0;
    if (deleting && !r->going_ms)
        r->going_ms = op->now.mono_ms;
    doubt_anew(op, c, &r->doubt);
    r->service.deleting |= deleting; /* our own DELETE may have been answered already */
    cluster_touch(op, c);
}
