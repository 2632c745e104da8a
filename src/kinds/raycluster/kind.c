/* RayClusters as a kind: the tables of ray.io/v1 and of cluster.ray.io/v1 over one set of functions, and the verbs. */
#include "record.h"

#include <mobula/kind_route.h>

struct record *cluster_named(struct op *op, const struct record *beside, struct slice name)
{
    return name_find(op, &kind_raycluster, beside->ns, name);
}

/* The head is reached in another way: drops everything that was made from the old way, and decides again. */
static void reached_otherwise(struct op *op, struct record *c)
{
    struct raycluster *own = raycluster_of(c);
    if (!own)
        return;
    mem_free(own->way);
    own->way = NULL;
    memset(own->wants, 0, sizeof own->wants);
    model_forget(op, c);
    record_touch(op, c);
}

static void told_cluster(struct op *op, struct record *c, struct pod_record *pod, enum child_news what)
{
    bool head = pod->running && (what == CHILD_GOES || what == CHILD_RESTORED);
    if (head || what == CHILD_REACHED)
        reached_otherwise(op, c);
    if (what == CHILD_REACHED)
        return;
    if (what == CHILD_GOES)
        scaling_commit_replica(pod);
    else if (what == CHILD_ENDED)
        scaling_ended(pod);
    else if (what == CHILD_CHANGED || pod->stop)
        scaling_spare_replica(op, pod); /* its replica is whole, and is decided on as such */
}

static void reread_cluster(struct record *c)
{
    struct raycluster *own = raycluster_of(c);
    if (!own)
        return;
    mem_free(own->hashes);
    own->hashes = NULL;
    mem_free(own->way);
    own->way = NULL;
    memset(own->wants, 0, sizeof own->wants);
}

static void forget_cluster(struct op *op, struct record *c)
{
    if (raycluster_of(c)) {
        scaling_drop(c);
        auth_drop(c);
        held_clear(op, c);
    }
    route_tls_drop(op, c);
    tools_drop_unused(op, c->ns);
}

static void respecified_cluster(struct op *op, struct record *c)
{
    struct raycluster *own = raycluster_of(c);
    children_respecified(op, c);
    routes_respecified(op, c);
    memset(own->paces, 0, sizeof own->paces);
}

static void lead_cluster(struct op *op, struct record *c, bool leads)
{
    if (leads) {
        extract_failures(op, c); /* another client has counted meanwhile, and may have moved it */
        zones_reread(op, c);
        return;
    }
    scaling_drop(c);
    auth_drop(c);
}

static void done_cluster(struct op *op, struct record *c)
{
    const struct work *w = c->work;
    say_work(op, c,
             w->created_head   ? "CreatedHeadPod"
             : w->created      ? "CreatedWorkerPod"
             : w->deleted_head ? "DeletedHeadPod"
                               : "DeletedWorkerPod");
}

static const struct verb_more sealed = {.seal = seal_service}, secretive = {.secret = account_secret};
static const struct verb_handler handlers[] = {
    {.verb = &raycluster_create_account, .make = account_make, .answer = account_answer, .failed = group_failed_by, .more = &secretive},
    {.verb = &raycluster_apply_head_service, .make = make_service, .more = &sealed, .answer = answer_service, .failed = group_failed_by},
    {.verb = &raycluster_apply_headless_service,
     .make = make_service,
     .more = &sealed,
     .answer = answer_service,
     .failed = group_failed_by},
    {.verb = &raycluster_apply_serve_service, .make = make_service, .more = &sealed, .answer = answer_service, .failed = group_failed_by},
    {.verb = &raycluster_apply_ingress, .make = route_make, .more = &route_sealed, .answer = route_answer, .failed = route_failed},
    {.verb = &raycluster_try_pod, .make = make_pod, .answer = answer_try, .failed = group_failed_by},
    {.verb = &raycluster_create_pod, .make = make_pod, .answer = answer_create, .failed = group_failed_by},
    {.verb = &raycluster_adopt_pod, .make = adopt_make, .answer = adopt_answer, .failed = group_failed_by},
    {.verb = &raycluster_count_failure, .carry_out = count_failure},
    {.verb = &raycluster_forget_failures, .carry_out = forget_failures},
    {.verb = &raycluster_keep_zone, .carry_out = keep_zone},
    {.verb = &raycluster_leave_zone, .carry_out = leave_zone},
    {.verb = &raycluster_stay_in_zone, .carry_out = stay_in_zone},
    {.verb = &raycluster_leave_spot, .carry_out = leave_spot},
    {.verb = &raycluster_drain_pod, .carry_out = drain_begin},
    {.verb = &raycluster_remove_finalizer, .make = finalizer_remove, .answer = finalizer_answer, .failed = call_failed},
    {.verb = NULL},
};

static const struct kind *const cluster_owns[] = {&kind_pod, &kind_kservice, &kind_ingress, NULL};
static const struct kind *const cluster_needs[] = {&kind_raycluster, &kind_raycluster_legacy, &kind_pod, &kind_kservice, NULL};

static const struct controller controller = {.owns = cluster_owns,
                                             .needs = cluster_needs,
                                             .decide = decide_cluster,
                                             .read = read_cluster,
                                             .told = told_cluster,
                                             .service_gone = service_gone,
                                             .own = &raycluster_own,
                                             .forget = forget_cluster,
                                             .reread = reread_cluster,
                                             .lead = lead_cluster,
                                             .done = done_cluster,
                                             .respecified = respecified_cluster,
                                             .unsettled = doubt_list,
                                             .recall = doubt_recall,
                                             .runs_ray = true,
                                             .mounts_tools = true};

const struct kind kind_raycluster = {.name = "RayCluster",
                                     .word = "cluster",
                                     .api_version = SLICE("ray.io/v1"),
                                     .resource = &ray_resources[RAY_V1],
                                     .plural = "rayclusters.ray.io",
                                     .handlers = handlers,
                                     .family = OPERATOR_RAY_IO,
                                     .keep = extract_record,
                                     .drop = drop_record,
                                     .sweep = sweep_records,
                                     .check = raycluster_check,
                                     .preview = raycluster_preview,
                                     .gone = "cluster deleted",
                                     .on_setting = types_changed,
                                     .finalizers = true,
                                     .orphan = {.maker = RAY_LABEL_MAKER_NAME, .maker_kind = RAY_LABEL_MAKER_KIND},
                                     .controller = &controller,
                                     .owned = true};

const struct kind kind_raycluster_legacy = {.name = "RayCluster",
                                            .word = "cluster",
                                            .api_version = SLICE("cluster.ray.io/v1"),
                                            .resource = &ray_resources[RAY_LEGACY],
                                            .plural = "rayclusters.cluster.ray.io",
                                            .family = OPERATOR_LEGACY,
                                            .keep = extract_record,
                                            .drop = drop_record,
                                            .sweep = sweep_records,
                                            .check = raycluster_check,
                                            .preview = raycluster_preview,
                                            .gone = "cluster deleted",
                                            .controller = &controller};
