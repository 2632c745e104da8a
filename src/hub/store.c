/* Records of the objects, as watches show them. A workload's record is made again with each version. */
#include "private.h"

#include <stdio.h>

static const struct {
    const struct kube_resource *resource;
    struct slice kind;
} kinds[SOURCES] = {
    [SOURCE_CLOUDS] = {&hub_clouds, {"Cloud", 5}},
    [SOURCE_CONFIGS] = {&hub_configs, {"ComputeConfig", 13}},
    [SOURCE_WORKLOADS] = {&hub_workloads, {"Workload", 8}},
};

struct space *hub_store_space(const struct hub *h, struct slice ns)
{
    for (uint32_t i = 0; i < h->o.namespace_count; i++)
        if (slice_empty(h->spaces[i].ns) || slice_eq(h->spaces[i].ns, ns))
            return &h->spaces[i];
    return NULL;
}

static bool space_synced(const struct space *s)
{
    return s->source[SOURCE_CLOUDS].synced && s->source[SOURCE_CONFIGS].synced && s->source[SOURCE_WORKLOADS].synced;
}

/* Writes that it needs before its operator may know of it, or when that operator is no more. */
static void workload_care(struct hub *h, struct workload *w)
{
    const struct space *s = hub_store_space(h, w->ns);
    if (!s || !space_synced(s) || s->going)
        return;
    if (w->of->present && w->finalizer < 0 && !w->deleting)
        finalizer_write(h, w, true);
    else if (!w->of->present && w->finalizer >= 0 && w->deleting)
        finalizer_write(h, w, false);
    else if (w->of->present && !w->marks.identified && !w->over && !w->deleting)
        finalizer_write(h, w, true);
    if (w->over && !w->marks.end && !w->deleting)
        identity_mark_end(h, w);
    if (w->marks.end_unsaid)
        end_write(h, w);
    hidden_care(h, w);
}

/* ---- clouds ---- */

/* The cloud is not found by its deployment id any more; another one that has the same id is. */
static void free_id(struct hub *h, const struct cloud *c)
{
    struct cloud *other;
    if (!c->present || map_get(&h->ids, slice_of(c->id)) != c)
        return;
    map_del(&h->ids, slice_of(c->id));
    for (uint32_t i = 0; (other = map_next(&h->clouds, &i)) != NULL;)
        if (other != c && other->present && strcmp(other->id, c->id) == 0) {
            map_put(&h->ids, slice_of(other->id), other);
            return;
        }
}

static void cloud_vanish(struct hub *h, struct cloud *c)
{
    free_id(h, c);
    c->present = false;
    c->version = 0;
    c->session = (struct session){0};
    mem_free((char *)(uintptr_t)c->identity.ptr);
    c->identity = SLICE_NONE;
    c->health = 0;
    c->types[0] = c->nodes[0] = '\0';
    c->calls++; /* its operator's call may be the last that holds it */
    if (c->held)
        call_refuse(c->held, &refuse_cloud, "cloud %s was deleted", c->key);
    c->calls--;
    cloud_release(h, c);
}

/* The id in the status is the one that counts: it never changes, and came along from another cluster's backup perhaps. */
static void read_id(struct hub *h, struct cloud *c, struct jval object)
{
    char made[HUB_DEPLOYMENT_ID];
    struct slice id = json_get_str(object, "status.deploymentId", &h->event);
    c->told_id = id.len == HUB_DEPLOYMENT_ID;
    hub_deployment_id(json_get_str(object, "metadata.uid", &h->event), made);
    struct slice kept = identity_of_cloud(object, &h->event);
    const struct cloud *holder = kept.len == HUB_DEPLOYMENT_ID ? map_get(&h->ids, kept) : NULL;
    c->marked = kept.len == HUB_DEPLOYMENT_ID && (!c->told_id || slice_eq(id, kept));
    if (!c->told_id)
        id = c->marked && (!holder || holder == c) ? kept : (struct slice){made, sizeof made};
    if (c->present && slice_is(id, c->id))
        return;
    free_id(h, c);
    slice_copy(id, c->id, sizeof c->id);
    struct cloud *other = map_get(&h->ids, slice_of(c->id));
    if (other)
        log_warn("two clouds have one deployment id: the older record keeps it", LF_CSTR("id", c->id), LF_CSTR("cloud", c->key),
                 LF_CSTR("other", other->key));
    else
        map_put(&h->ids, slice_of(c->id), c);
}

static void cloud_care(struct hub *h, const struct cloud *c)
{
    if (!c->told_id)
        deployment_id_write(h, c);
    if (!c->marked)
        identity_mark_cloud(h, c);
}

static void keep_cloud(struct hub *h, struct source *src, struct jval object)
{
    struct arena *a = &h->event;
    uint64_t version = 0;
    struct slice hash, ns = json_get_str(object, "metadata.namespace", a), name = json_get_str(object, "metadata.name", a);
    bool before;
    struct jval status = json_get(object, "status");
    if (slice_empty(name) || !kube_version_parse(json_get_str(object, "metadata.resourceVersion", a), &version))
        return;
    struct cloud *c = cloud_at(h, ns, name);
    if (src)
        c->round = src->round;
    if (kube_watch_is_old(src ? src->watch : NULL, version, c->version))
        return;
    read_id(h, c, object);
    before = c->present;
    c->present = true;
    c->version = version;
    session_read(h, c, status, a);
    cloud_touch(c); /* another instance may have taken the cloud from the one whose call this is */
    mem_free((char *)(uintptr_t)c->identity.ptr);
    struct slice identity = json_get_str(object, "spec.operatorIdentity", a);
    c->identity = slice_empty(identity) ? SLICE_NONE : (struct slice){hub_copy(identity), identity.len};
    conditions_read(c, status, a);
    c->health = json_is(json_get(status, "health"), "UNKNOWN") ? 0 : hub_hash(json_get(status, "components"));
    hash = json_get_str(status, "instanceTypes.hash", a);
    slice_copy(hash.len > LIMIT_HUB_HASH ? SLICE_NONE : hash, c->types, sizeof c->types);
    hash = json_get_str(status, "nodes.hash", a);
    slice_copy(hash.len > LIMIT_HUB_HASH ? SLICE_NONE : hash, c->nodes, sizeof c->nodes);
    if (!before && src && space_synced(src->space))
        cloud_care(h, c);
    for (struct workload *w = c->first; w && !before; w = w->next)
        workload_care(h, w);
}

void hub_store_keep_cloud(struct hub *h, struct jval object)
{
    keep_cloud(h, NULL, object);
}

/* ---- workloads ---- */

static void unlink_workload(struct workload *w)
{
    *w->back = w->next;
    if (w->next)
        w->next->back = w->back;
}

static void link_workload(struct workload *w, struct cloud *c)
{
    w->of = c;
    w->next = c->first;
    w->back = &c->first;
    if (w->next)
        w->next->back = &w->next;
    c->first = w;
}

/* A copy of these texts in one block with their record. */
static struct workload *workload_new(const struct slice *texts, size_t count, struct slice **to, struct workload *w)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += texts[i].len + 1;
    w = mem_alloc(sizeof *w + size);
    to[0] = &w->ns, to[1] = &w->name, to[2] = &w->uid, to[3] = &w->cloud, to[4] = &w->config, to[5] = &w->spec, to[6] = &w->report.ray;
    to[7] = &w->object_uid;
    char *p = w->text;
    for (size_t i = 0; i < count; i++) {
        if (texts[i].len)
            memcpy(p, texts[i].ptr, texts[i].len);
        *to[i] = (struct slice){p, texts[i].len};
        p += texts[i].len + 1;
    }
    return w;
}

static int32_t finalizer_index(struct jval object)
{
    struct jval k, one;
    int32_t i = 0;
    for (struct jiter it = json_iter(json_get(object, "metadata.finalizers")); json_next(&it, &k, &one); i++)
        if (json_is(one, HUB_FINALIZER))
            return i;
    return -1;
}

static void read_status(struct workload *w, struct jval status, struct arena *a)
{
    struct slice reporter = json_get_str(status, "reporter", a);
    w->observed = json_get_int(status, "observedGeneration", 0);
    w->observed += w->observed ? w->base : 0;
    w->told = hidden_word(json_get(status, "reason"));
    w->report.reporter = slice_empty(reporter) ? 0 : hash64(reporter, 1);
    w->report.sequence = json_get_int(status, "sequence", 0);
    w->over = remote_ended(json_get(status, "state"));
}

static struct workload *read_workload(struct hub *h, struct jval object)
{
    enum { TEXTS = 8 };
    struct arena *a = &h->event;
    struct jval spec = json_get(object, "spec"), ray = json_get(object, "status.ray");
    const struct slice texts[TEXTS] = {
        json_get_str(object, "metadata.namespace", a),
        json_get_str(object, "metadata.name", a),
        identity_of_workload(h, object, a),
        json_get_str(spec, "cloud", a),
        json_get_str(spec, "computeConfig.name", a),
        json_type(spec) == JSON_OBJECT ? json_raw(spec) : SLICE("{}"),
        json_there(ray) ? json_raw(ray) : SLICE(""),
        json_get_str(object, "metadata.uid", a),
    };
    uint64_t version;
    struct slice *to[TEXTS];
    if (slice_empty(texts[1]) || slice_empty(texts[2]) || texts[2].len > LIMIT_HUB_UID ||
        !kube_version_parse(json_get_str(object, "metadata.resourceVersion", a), &version))
        return NULL;
    struct workload *w = workload_new(texts, TEXTS, to, NULL);
    w->version = version;
    w->base = slice_eq(w->uid, w->object_uid) ? 0 : identity_generations(object, a);
    w->generation = json_get_int(object, "metadata.generation", 1) + w->base;
    w->deleting = json_there(json_get(object, "metadata.deletionTimestamp"));
    w->finalizer = finalizer_index(object);
    w->other_finalizers = json_len(json_get(object, "metadata.finalizers")) > 0;
    w->terminate = json_get_bool(spec, "terminate", false);
    w->weight = weigh(w->spec);
    read_status(w, json_get(object, "status"), a);
    identity_read_marks(w, object, a);
    workload_look(h, w);
    return w;
}

/* remember: its operator may still have something of it. */
static void drop_workload(struct hub *h, struct space *s, struct workload *w, bool remember, uint64_t version)
{
    struct cloud *c = w->of;
    struct gone *g = &s->gone[s->gone_at];
    if (remember && (w->shown || w->report.reporter) && !w->done) {
        s->floor = g->version > s->floor ? g->version : s->floor;
        *g = (struct gone){.of = c, .version = version};
        slice_copy(w->uid, g->uid, sizeof g->uid);
        s->gone_at = (s->gone_at + 1) % LIMIT_HUB_GONE;
    }
    map_del(&h->workloads, w->uid);
    unlink_workload(w);
    mem_free(w);
    if (remember)
        cloud_touch(c);
    cloud_release(h, c);
}

static void keep_workload(struct hub *h, struct source *src, struct jval object)
{
    struct workload *w = read_workload(h, object);
    if (!w)
        return;
    struct workload *old = map_get(&h->workloads, w->uid);
    if (old && !(slice_eq(old->ns, w->ns) && slice_eq(old->name, w->name))) { /* it bears the uid that is this one's own */
        log_warn("a workload has the identity of another one, and loses it", LF("namespace", old->ns), LF("workload", old->name));
        drop_workload(h, src->space, old, false, 0);
        old = NULL;
    }
    if (old)
        old->round = src->round;
    if (old && kube_watch_is_old(src->watch, w->version, old->version)) {
        mem_free(w);
        return;
    }
    w->round = src->round;
    if (old)
        w->report.said = old->report.said, w->report.ray_ms = old->report.ray_ms, w->done = old->done, w->writing = old->writing;
    if (old && old->report.reporter == w->report.reporter && old->report.sequence > w->report.sequence)
        w->report.sequence = old->report.sequence;
    bool news = !old || old->generation != w->generation || old->deleting != w->deleting || old->shown != w->shown;
    w->changed = news ? w->version : old->changed;
    link_workload(w, cloud_at(h, w->ns, w->cloud));
    map_put(&h->workloads, w->uid, w);
    if (old) {
        unlink_workload(old);
        mem_free(old);
    }
    workload_care(h, w);
    if (news)
        cloud_touch(w->of);
}

/* ---- compute configs ---- */

static void drop_config(struct hub *h, struct config *c)
{
    map_del(&h->configs, slice_of(c->key));
    mem_free((char *)(uintptr_t)c->spec.ptr);
    mem_free(c->key);
    mem_free(c);
}

static void keep_config(struct hub *h, struct source *src, struct jval object)
{
    struct arena *a = &h->event;
    struct slice ns = json_get_str(object, "metadata.namespace", a), spec = json_raw(json_get(object, "spec"));
    struct slice key = hub_key(h, ns, json_get_str(object, "metadata.name", a));
    struct config *c = map_get(&h->configs, key);
    if (!c) {
        c = mem_alloc(sizeof *c);
        c->key = hub_copy(key);
        map_put(&h->configs, slice_of(c->key), c);
    }
    mem_free((char *)(uintptr_t)c->spec.ptr);
    c->spec = (struct slice){hub_copy(spec), spec.len};
    c->weight = weigh(c->spec);
    c->round = src->round;
    if (space_synced(src->space))
        workloads_look(h, ns);
}

/* ---- watches ---- */

static bool in_space(const struct space *s, struct slice ns)
{
    return slice_empty(s->ns) || slice_eq(s->ns, ns);
}

/* An object that the complete list did not show is gone, unless it is newer than the list. */
static void sweep(struct hub *h, struct source *src, uint64_t version)
{
    struct space *s = src->space;
    bool remember = version != UINT64_MAX;
    struct cloud *c;
    struct config *f;
    struct workload *w;
    for (uint32_t i = 0; src->kind == SOURCE_CLOUDS && (c = map_next(&h->clouds, &i)) != NULL;)
        if (c->present && c->round != src->round && c->version <= version && in_space(s, c->ns))
            cloud_vanish(h, c);
    for (uint32_t i = 0; src->kind == SOURCE_WORKLOADS && (w = map_next(&h->workloads, &i)) != NULL;)
        if (w->round != src->round && w->version <= version && in_space(s, w->ns))
            drop_workload(h, s, w, remember, version);
    for (uint32_t i = 0; src->kind == SOURCE_CONFIGS && (f = map_next(&h->configs, &i)) != NULL;) {
        struct slice key = slice_of(f->key), ns = slice_cut(&key, '/');
        if (f->round != src->round && in_space(s, ns))
            drop_config(h, f);
    }
}

static void keep(struct hub *h, struct source *src, struct jval item)
{
    if (src->kind == SOURCE_CLOUDS)
        keep_cloud(h, src, item);
    else if (src->kind == SOURCE_CONFIGS)
        keep_config(h, src, item);
    else
        keep_workload(h, src, item);
}

static void drop(struct hub *h, struct source *src, struct jval item, uint64_t version)
{
    struct arena *a = &h->event;
    struct slice key = hub_key(h, json_get_str(item, "metadata.namespace", a), json_get_str(item, "metadata.name", a));
    struct cloud *c = src->kind == SOURCE_CLOUDS ? map_get(&h->clouds, key) : NULL;
    struct config *f = src->kind == SOURCE_CONFIGS ? map_get(&h->configs, key) : NULL;
    struct workload *w = src->kind == SOURCE_WORKLOADS ? map_get(&h->workloads, identity_of_workload(h, item, a)) : NULL;
    if (w && !json_str_eq(json_get(item, "metadata.uid"), w->object_uid))
        w = NULL; /* of the object that it was before it was restored */
    if (c && c->present)
        cloud_vanish(h, c);
    if (f) {
        drop_config(h, f);
        workloads_look(h, json_get_str(item, "metadata.namespace", a));
    }
    if (w)
        drop_workload(h, src->space, w, true, version);
}

static void trouble(struct source *src, const struct kube_watch_event *ev)
{
    bool same = src->trouble.code == ev->err->code && strcmp(src->trouble.text, ev->err->text) == 0;
    src->trouble = *ev->err;
    if (!same && !(ev->err->code == ERR_CLOSED && !ev->status))
        log_warn("watch does not work", LF("resource", kinds[src->kind].resource->plural), LF("namespace", src->space->ns),
                 LF_CSTR("error", ev->err->text));
}

/* Writes that each workload needs, once everything is known; and again from time to time, since such a write may fail. */
void hub_store_care(struct hub *h)
{
    struct workload *w;
    struct cloud *c;
    for (uint32_t i = 0; (w = map_next(&h->workloads, &i)) != NULL;)
        workload_care(h, w);
    for (uint32_t i = 0; (c = map_next(&h->clouds, &i)) != NULL;)
        if (c->present)
            cloud_care(h, c);
}

/* The first list, or the first after a backup was restored, says nothing of what changed when. */
static void listed(struct hub *h, struct source *src, uint64_t version)
{
    struct space *s = src->space;
    bool whole = space_synced(s);
    sweep(h, src, version);
    if (src->kind == SOURCE_WORKLOADS) {
        s->floor = src->synced ? s->floor : version;
        s->version = version;
    }
    src->listing = false;
    src->synced = true;
    if (!space_synced(s))
        return;
    struct workload *w;
    for (uint32_t i = 0; !whole && (w = map_next(&h->workloads, &i)) != NULL;)
        workload_look(h, w);
    if (!whole)
        hub_store_care(h);
    else if (src->kind == SOURCE_CONFIGS)
        workloads_look(h, s->ns);
    struct cloud *c;
    for (uint32_t i = 0; (c = map_next(&h->clouds, &i)) != NULL;)
        cloud_touch(c);
}

static void rewound(struct hub *h, struct source *src)
{
    log_warn("the store of the API server was restored from a backup: operators get full answers",
             LF("resource", kinds[src->kind].resource->plural));
    src->round++;
    src->synced = false;
    sweep(h, src, UINT64_MAX);
    memset(src->space->gone, 0, sizeof src->space->gone);
}

void hub_store_restored(struct hub *h, uint64_t known, uint64_t is)
{
    kube_watch_restored(h->spaces[0].source[SOURCE_CLOUDS].watch, known, is, h->now);
}

static void on_watch(void *owner, const struct kube_watch_event *ev, struct now now)
{
    struct source *src = owner;
    struct hub *h = src->space->hub;
    h->now = now;
    arena_reset(&h->event, 64 * KIB);
    if (ev->what != KUBE_WATCH_TROUBLE && ev->what != KUBE_WATCH_SKIPPED)
        src->trouble.code = ERR_NONE;
    /* Before the event is looked at: an answer that it sets off is about it too. */
    bool live = ev->what == KUBE_WATCH_UPSERT || ev->what == KUBE_WATCH_DELETE || ev->what == KUBE_WATCH_PROGRESS;
    if (live && src->kind == SOURCE_WORKLOADS && !src->listing && ev->version > src->space->version)
        src->space->version = ev->version;
    switch (ev->what) {
    case KUBE_WATCH_RESTART:
        src->listing = true;
        src->round++;
        break;
    case KUBE_WATCH_UPSERT:
        keep(h, src, ev->item);
        break;
    case KUBE_WATCH_DELETE:
        drop(h, src, ev->item, ev->version);
        break;
    case KUBE_WATCH_SYNCED:
        listed(h, src, ev->version);
        break;
    case KUBE_WATCH_PROGRESS:
        break;
    case KUBE_WATCH_REWOUND:
        rewound(h, src);
        break;
    case KUBE_WATCH_ABSENT:
        src->synced = false;
        err_set(&src->trouble, ERR_MISSING,
                "the API server does not know it: apply what mobula install --crds-only --control-plane prints");
        break;
    case KUBE_WATCH_SKIPPED:
    case KUBE_WATCH_TROUBLE:
        trouble(src, ev);
    }
}

bool hub_store_start(struct hub *h, struct err *e)
{
    h->spaces = mem_alloc(h->o.namespace_count * sizeof *h->spaces);
    for (uint32_t i = 0; i < h->o.namespace_count; i++)
        for (unsigned k = 0; k < SOURCES; k++) {
            struct space *s = &h->spaces[i];
            struct source *src = &s->source[k];
            s->hub = h;
            s->ns = h->o.namespaces[i];
            *src = (struct source){.space = s, .kind = (enum source_kind)k};
            src->watch =
                kube_watch_start(h->client,
                                 &(struct kube_watch_options){
                                     .resource = *kinds[k].resource, .ns = s->ns, .kind = kinds[k].kind, .on = on_watch, .owner = src},
                                 e);
            if (!src->watch)
                return false;
        }
    return true;
}

void hub_store_stop(struct hub *h)
{
    for (uint32_t i = 0; h->spaces && i < h->o.namespace_count; i++)
        for (unsigned k = 0; k < SOURCES; k++)
            if (h->spaces[i].source[k].watch)
                kube_watch_stop(h->spaces[i].source[k].watch);
}

void hub_store_free(struct hub *h)
{
    struct workload *w;
    struct cloud *c;
    struct config *f;
    for (uint32_t i = 0; (w = map_next(&h->workloads, &i)) != NULL;) {
        unlink_workload(w);
        map_del(&h->workloads, w->uid);
        mem_free(w);
    }
    for (uint32_t i = 0; (f = map_next(&h->configs, &i)) != NULL;)
        drop_config(h, f);
    for (uint32_t i = 0; (c = map_next(&h->clouds, &i)) != NULL;)
        cloud_vanish(h, c);
    map_free(&h->workloads);
    map_free(&h->configs);
    map_free(&h->clouds);
    map_free(&h->ids);
    mem_free(h->spaces);
}
