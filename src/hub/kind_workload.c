/* The kind Workload: records as its watch shows them, and the writes that each object needs. A record is made again with each version. */
#include "private.h"

/* Writes that it needs before its operator may know of it, or when that operator is no more. */
void workload_care(struct hub *h, struct workload *w)
{
    const struct space *s = hub_store_space(h, w->ns);
    if (!s || !hub_space_known(s) || s->going)
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
static void workload_vanish(struct hub *h, struct space *s, struct workload *w, bool remember, uint64_t version)
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
        workload_vanish(h, src->space, old, false, 0);
        old = NULL;
    }
    if (old)
        old->round = src->keeper.round;
    if (old && kube_watch_is_old(src->keeper.watch, w->version, old->version)) {
        mem_free(w);
        return;
    }
    w->round = src->keeper.round;
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

static void drop_workload(struct hub *h, struct source *src, struct jval object, uint64_t version)
{
    struct workload *w = map_get(&h->workloads, identity_of_workload(h, object, &h->event));
    if (w && json_str_eq(json_get(object, "metadata.uid"), w->object_uid)) /* not of the object that it was before it was restored */
        workload_vanish(h, src->space, w, true, version);
}

static void sweep_workloads(struct hub *h, struct source *src, uint64_t version)
{
    struct workload *w;
    bool remember = version != UINT64_MAX;
    for (uint32_t i = 0; (w = map_next(&h->workloads, &i)) != NULL;)
        if (w->round != src->keeper.round && w->version <= version && hub_space_has(src->space, w->ns))
            workload_vanish(h, src->space, w, remember, version);
}

/* The first list, or the first after a backup was restored, says nothing of what changed when. */
static void workloads_listed(struct hub *h, struct source *src, bool first)
{
    (void)h;
    if (first)
        src->space->floor = src->keeper.version;
}

static void care_workloads(struct hub *h)
{
    struct workload *w;
    for (uint32_t i = 0; (w = map_next(&h->workloads, &i)) != NULL;)
        workload_care(h, w);
}

static void free_workloads(struct hub *h)
{
    struct workload *w;
    for (uint32_t i = 0; (w = map_next(&h->workloads, &i)) != NULL;) {
        unlink_workload(w);
        map_del(&h->workloads, w->uid);
        mem_free(w);
    }
    map_free(&h->workloads);
}

const struct hub_kind hub_kind_workload = {
    .name = {"Workload", 8},
    .resource = &hub_workloads,
    .keep = keep_workload,
    .drop = drop_workload,
    .sweep = sweep_workloads,
    .listed = workloads_listed,
    .care = care_workloads,
    .free = free_workloads,
};
