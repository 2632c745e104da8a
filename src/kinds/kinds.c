#include <mobula/kinds.h>

const struct kind *const kinds[] = {&kind_raycluster, &kind_raycluster_legacy, &kind_rayjob, &kind_raycronjob,
                                    &kind_pod,        &kind_kservice,          NULL};
_Static_assert(COUNT_OF(kinds) - 1 <= LIMIT_KINDS, "as the limit of watches has it");

uint32_t kind_count(void)
{
    return COUNT_OF(kinds) - 1;
}

/* ---- pods and services: children, that nothing is decided on ---- */

static void keep_pod(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round)
{
    extract_pod(op, from->space, object, version, round);
}

static void drop_pod(struct op *op, struct source *from, struct jval object)
{
    (void)from;
    struct pod_record *r = map_get(&op->pods, json_get_str(object, "metadata.uid", &op->event_arena));
    if (r)
        pod_remove(op, r);
}

static void sweep_pods(struct op *op, struct source *from, uint64_t version)
{
    struct pod_record *r;
    for (uint32_t i = 0; (r = map_next(&op->pods, &i)) != NULL;)
        if (r->of->space == from->space && r->round != from->round && r->pod.version <= version)
            pod_remove(op, r);
}

/* Of what who decided before has sent, a list in pages holds only what had come when it was asked for: the rest its watch has yet to tell.
 */
static void keep_fence(struct op *op, struct source *from)
{
    if (kube_watch_asked_ms(from->watch) < op->workers_from_ms)
        from->space->workers_from_ms = op->now.mono_ms + op->o.fence_ms;
}

const struct kind kind_pod = {.name = "Pod",
                              .word = "pod",
                              .api_version = SLICE("v1"),
                              .resource = &kube_pods,
                              .plural = "pods",
                              .selector = SLICE(RAY_LABEL_CLUSTER),
                              .keep = keep_pod,
                              .drop = drop_pod,
                              .sweep = sweep_pods,
                              .listed = keep_fence};

static void keep_service(struct op *op, struct source *from, struct jval object, uint64_t version, uint32_t round)
{
    extract_service(op, from->space, object, version, round);
}

static void drop_service(struct op *op, struct source *from, struct jval object)
{
    (void)from;
    struct service_record *r = map_get(&op->services, json_get_str(object, "metadata.uid", &op->event_arena));
    if (r)
        service_remove(op, r);
}

static void sweep_services(struct op *op, struct source *from, uint64_t version)
{
    struct service_record *r;
    for (uint32_t i = 0; (r = map_next(&op->services, &i)) != NULL;)
        if (r->of->space == from->space && r->round != from->round && r->service.version <= version)
            service_remove(op, r);
}

const struct kind kind_kservice = {.name = "Service",
                                   .word = "service",
                                   .api_version = SLICE("v1"),
                                   .resource = &kube_services,
                                   .plural = "services",
                                   .selector = SLICE(RAY_LABEL_CLUSTER),
                                   .keep = keep_service,
                                   .drop = drop_service,
                                   .sweep = sweep_services};

/* ---- what is decided on ---- */

void kind_tell(struct op *op, struct pod_record *pod, enum child_news what)
{
    const struct kind *k = pod->of->kind;
    if (k->told)
        k->told(op, pod->of, pod, what);
}

void drop_cluster(struct op *op, struct source *from, struct jval object)
{
    struct arena *a = &op->event_arena;
    struct cluster *c = cluster_get(op, json_get_str(object, "metadata.uid", a), json_get_str(object, "metadata.namespace", a));
    if (!c || !c->present)
        return;
    (void)from;
    log_info(c->kind->gone, LF("namespace", istr_slice(c->ns)), LF_CSTR(c->kind->word, c->name));
    cluster_gone(op, c);
}

void sweep_clusters(struct op *op, struct source *from, uint64_t version)
{
    struct cluster *c;
    for (uint32_t i = 0; (c = map_next(&op->clusters, &i)) != NULL;)
        if (c->present && c->kind == from->kind && c->space == from->space && c->round != from->round && c->version <= version)
            cluster_gone(op, c);
}

static void told_cluster(struct op *op, struct cluster *c, struct pod_record *pod, enum child_news what)
{
    (void)c;
    if (what == CHILD_GOES)
        scaling_goes(pod);
    else if (what == CHILD_ENDED)
        scaling_ended(pod);
    else if (what == CHILD_CHANGED || pod->stop)
        scaling_spare(op, pod); /* its replica is whole, and is decided on as such */
}

static void reread_cluster(struct cluster *c)
{
    mem_free(c->hashes);
    c->hashes = NULL;
}

static void forget_cluster(struct op *op, struct cluster *c)
{
    scaling_drop(c);
    auth_drop(c);
    held_clear(op, c);
    c->strips = false;
    c->accounts = 0;
    memset(c->services_pace, 0, sizeof c->services_pace);
    tools_drop_unused(op, c->ns);
}

static void lead_cluster(struct op *op, struct cluster *c, bool leads)
{
    if (leads) {
        extract_failures(op, c); /* somebody else has counted meanwhile */
        return;
    }
    scaling_drop(c);
    auth_drop(c);
}

static void lead_job(struct op *op, struct cluster *c, bool leads)
{
    if (!leads)
        job_drop(op, c);
}

static void done_cluster(struct op *op, struct cluster *c)
{
    const struct work *w = c->work;
    say_work(op, c,
             w->created_head   ? "CreatedHeadPod"
             : w->created      ? "CreatedWorkerPod"
             : w->deleted_head ? "DeletedHeadPod"
                               : "DeletedWorkerPod");
}

static const struct kind *const cluster_needs[] = {&kind_raycluster, &kind_raycluster_legacy, &kind_pod, &kind_kservice, NULL};

const struct kind kind_raycluster = {.name = "RayCluster",
                                     .word = "cluster",
                                     .api_version = SLICE("ray.io/v1"),
                                     .resource = &ray_resources[RAY_V1],
                                     .plural = "rayclusters.ray.io",
                                     .family = OPERATOR_RAY_IO,
                                     .keep = extract_cluster,
                                     .drop = drop_cluster,
                                     .sweep = sweep_clusters,
                                     .needs = cluster_needs,
                                     .decide = decide_cluster,
                                     .read = read_cluster,
                                     .kept = kept_cluster,
                                     .told = told_cluster,
                                     .forget = forget_cluster,
                                     .reread = reread_cluster,
                                     .lead = lead_cluster,
                                     .done = done_cluster,
                                     .respecified = children_respecified,
                                     .unsettled = doubt_list,
                                     .recall = doubt_recall,
                                     .gone = "cluster deleted",
                                     .finalizers = true};

const struct kind kind_raycluster_legacy = {.name = "RayCluster",
                                            .word = "cluster",
                                            .api_version = SLICE("cluster.ray.io/v1"),
                                            .resource = &ray_resources[RAY_LEGACY],
                                            .plural = "rayclusters.cluster.ray.io",
                                            .family = OPERATOR_LEGACY,
                                            .keep = extract_cluster,
                                            .drop = drop_cluster,
                                            .sweep = sweep_clusters,
                                            .needs = cluster_needs,
                                            .decide = decide_cluster,
                                            .read = read_cluster,
                                            .told = told_cluster,
                                            .forget = forget_cluster,
                                            .reread = reread_cluster,
                                            .lead = lead_cluster,
                                            .done = done_cluster,
                                            .respecified = children_respecified,
                                            .unsettled = doubt_list,
                                            .recall = doubt_recall,
                                            .gone = "cluster deleted"};

static void done_job(struct op *op, struct cluster *c)
{
    say_work(op, c, "DeletedRayJobSubmitter");
}

static const struct kind *const job_needs[] = {&kind_raycluster, &kind_raycluster_legacy, &kind_rayjob, &kind_pod, &kind_kservice, NULL};
static const struct kind *const job_must[] = {&kind_raycluster, NULL};

const struct kind kind_rayjob = {.name = "RayJob",
                                 .word = "job",
                                 .api_version = SLICE("ray.io/v1"),
                                 .resource = &ray_job_resource,
                                 .plural = "rayjobs.ray.io",
                                 .family = OPERATOR_RAY_IO,
                                 .keep = extract_cluster,
                                 .drop = drop_cluster,
                                 .sweep = sweep_clusters,
                                 .needs = job_needs,
                                 .must = job_must,
                                 .decide = decide_job,
                                 .read = read_job,
                                 .kept = kept_job,
                                 .forget = job_drop,
                                 .lead = lead_job,
                                 .done = done_job,
                                 .respecified = children_respecified,
                                 .unsettled = doubt_list,
                                 .recall = doubt_recall,
                                 .gone = "job deleted",
                                 .finalizers = true,
                                 .by_wall_clock = true,
                                 .goes_by_status = true};
