/* Watch events move records. A list that begins (RESTART) starts a new round; what was not seen in it when it is complete (SYNCED) is gone,
 * unless the record is newer than the list: then an own write was answered meanwhile. When the store itself has gone back (REWOUND), no
 * record is worth more than what a process has that has just started: none. */
#include "op.h"

/* A cluster has nothing to do with jobs, so who may not see those still has clusters. A job has a cluster: of one that is not there because
 * the server says (as one that has just started may, or a gateway before it) that it knows no clusters at all, nothing follows for it. */
bool space_synced(const struct space *s, bool jobs)
{
    if (jobs && s->source[SOURCE_V1].absent && !s->source[SOURCE_JOBS].absent)
        return false;
    for (int i = 0; i < SOURCE_COUNT; i++)
        if (!s->source[i].synced && (i != SOURCE_JOBS || jobs))
            return false;
    return true;
}

void space_tell_absent(struct space *s)
{
    struct source *src = &s->source[SOURCE_V1];
    if (!src->absent || src->told)
        return;
    src->told = true;
    log_warn("RayJobs wait: the API server does not know RayClusters; apply what mobula install --crds-only --print prints",
             LF_CSTR("resource", source_name(src->what)), LF("namespace", slice_empty(s->ns) ? SLICE("all") : s->ns));
}

static bool of_space(const struct cluster *c, const struct space *s)
{
    return c->space == s;
}

static void sweep_clusters(struct op *op, struct source *src, uint64_t version)
{
    struct cluster *c;
    for (uint32_t i = 0; (c = map_next(&op->clusters, &i)) != NULL;)
        if (c->present && record_source(c) == src->what && of_space(c, src->space) && c->round != src->round && c->version <= version)
            cluster_gone(op, c);
}

static void sweep_pods(struct op *op, struct source *src, uint64_t version)
{
    struct pod_record *r;
    for (uint32_t i = 0; (r = map_next(&op->pods, &i)) != NULL;)
        if (of_space(r->of, src->space) && r->round != src->round && r->pod.version <= version)
            pod_remove(op, r);
}

static void sweep_services(struct op *op, struct source *src, uint64_t version)
{
    struct service_record *r;
    for (uint32_t i = 0; (r = map_next(&op->services, &i)) != NULL;)
        if (of_space(r->of, src->space) && r->round != src->round && r->service.version <= version)
            service_remove(op, r);
}

static void sweep(struct op *op, struct source *src, uint64_t version)
{
    if (src->what == SOURCE_PODS)
        sweep_pods(op, src, version);
    else if (src->what == SOURCE_SERVICES)
        sweep_services(op, src, version);
    else
        sweep_clusters(op, src, version);
}

/* What could not be decided while a list was incomplete. What has been decided since it last changed stays as it is. */
static void touch_space(struct op *op, struct space *s)
{
    struct cluster *c;
    for (uint32_t i = 0; (c = map_next(&op->clusters, &i)) != NULL;)
        if (of_space(c, s) && c->dirty)
            cluster_touch(op, c);
}

static void upsert(struct op *op, struct source *src, const struct kube_watch_event *ev)
{
    if (src->what == SOURCE_PODS)
        extract_pod(op, src->space, ev->item, ev->version, src->round);
    else if (src->what == SOURCE_SERVICES)
        extract_service(op, src->space, ev->item, ev->version, src->round);
    else
        extract_cluster(op, src, ev->item, ev->version, src->round);
}

static void delete_one(struct op *op, struct source *src, struct jval item)
{
    struct slice uid = json_get_str(item, "metadata.uid", &op->event_arena);
    if (src->what == SOURCE_PODS) {
        struct pod_record *r = map_get(&op->pods, uid);
        if (r)
            pod_remove(op, r);
    } else if (src->what == SOURCE_SERVICES) {
        struct service_record *r = map_get(&op->services, uid);
        if (r)
            service_remove(op, r);
    } else {
        struct cluster *c = cluster_get(op, uid, json_get_str(item, "metadata.namespace", &op->event_arena));
        if (c && c->present) {
            log_info(c->kind == RECORD_JOB ? "job deleted" : "cluster deleted", LF("namespace", istr_slice(c->ns)),
                     LF_CSTR(record_key(c), c->name));
            cluster_gone(op, c);
        }
    }
}

const char *source_name(enum source_what what)
{
    static const char *const names[] = {"rayclusters.ray.io", "rayclusters.cluster.ray.io", "rayjobs.ray.io", "pods", "services"};
    return names[what];
}

/* A stream that was cut is no trouble yet: what the next request meets is. Credentials that are not accepted are the client's to tell. */
static void trouble(struct source *src, const struct kube_watch_event *ev)
{
    const struct err *e = ev->err;
    bool cut = !ev->status && e->code == ERR_CLOSED, denied = ev->status && ev->status->code == 401;
    uint64_t what = hash64(slice_of(e->text), hash64(src->space->ns, src->what));
    src->trouble = *e;
    if (denied || kube_client_stats(src->op->client)->trouble.code != ERR_NONE)
        return; /* no watch works: the client has said so, once for all of them */
    if (say_once(src->op, SAID_SERVER, what))
        log_at(cut ? LOG_INFO : LOG_WARN, cut ? "watch was cut and is taken up again" : "watch does not work",
               LF_CSTR("resource", source_name(src->what)), LF_CSTR("error", e->text), LF_CSTR("step", err_code_name(e->code)),
               LF("namespace", slice_empty(src->space->ns) ? SLICE("all") : src->space->ns));
}

/* Of what who decided before has sent, a list in pages holds only what had come when it was asked for: the rest its watch has yet to tell.
 */
static void keep_fence(const struct op *op, struct source *src)
{
    if (src->what == SOURCE_PODS && kube_watch_asked_ms(src->watch) < op->workers_from_ms)
        src->space->workers_from_ms = op->now.mono_ms + op->o.fence_ms;
}

static void on_watch(void *owner, const struct kube_watch_event *ev, struct now now)
{
    struct source *src = owner;
    struct op *op = src->op;
    op->now = now;
    op->stats.events_seen++;
    arena_reset(&op->event_arena, 64 * KIB);
    if (ev->what != KUBE_WATCH_TROUBLE && ev->what != KUBE_WATCH_SKIPPED)
        src->trouble.code = ERR_NONE;
    switch (ev->what) {
    case KUBE_WATCH_RESTART:
        src->synced = src->absent = false;
        src->round++;
        break;
    case KUBE_WATCH_UPSERT:
        upsert(op, src, ev);
        break;
    case KUBE_WATCH_DELETE:
        delete_one(op, src, ev->item);
        break;
    case KUBE_WATCH_ABSENT:
        src->absent = true;
        src->round++;
        sweep(op, src, UINT64_MAX);
        src->synced = true;
        touch_space(op, src->space);
        break;
    case KUBE_WATCH_SYNCED:
        sweep(op, src, ev->version);
        src->synced = true;
        src->told = false;
        keep_fence(op, src);
        touch_space(op, src->space);
        break;
    case KUBE_WATCH_REWOUND:
        src->round++;
        sweep(op, src, UINT64_MAX);
        break;
    case KUBE_WATCH_PROGRESS:
        break;
    case KUBE_WATCH_SKIPPED:
    case KUBE_WATCH_TROUBLE:
        trouble(src, ev);
        break;
    }
}

void source_refresh(struct source *src)
{
    kube_watch_refresh(src->watch, src->op->now); /* RESTART comes from within */
    src->asked = src->round;
}

void source_missed(struct source *src)
{
    enum { EACH_MS = 5 * 1000 };
    if (src->op->now.mono_ms < src->missed_ms)
        return;
    src->missed_ms = src->op->now.mono_ms + EACH_MS;
    source_refresh(src);
}

bool space_start(struct op *op, struct space *s, struct slice ns, struct err *e)
{
    static const char *const kinds[SOURCE_COUNT] = {"RayCluster", "RayCluster", "RayJob", "Pod", "Service"};
    const struct kube_resource *const resources[] = {&ray_resources[RAY_V1], &ray_resources[RAY_LEGACY], &ray_job_resource, &kube_pods,
                                                     &kube_services};
    s->ns = ns;
    for (int i = 0; i < SOURCE_COUNT; i++) {
        struct source *src = &s->source[i];
        *src = (struct source){.op = op, .space = s, .what = (enum source_what)i};
        struct kube_watch_options o = {.resource = *resources[i], .ns = ns, .kind = slice_of(kinds[i]), .on = on_watch, .owner = src};
        if (i == SOURCE_PODS || i == SOURCE_SERVICES)
            o.labels = SLICE(RAY_LABEL_CLUSTER);
        src->watch = kube_watch_start(op->client, &o, e);
        if (!src->watch)
            return false;
    }
    return true;
}
