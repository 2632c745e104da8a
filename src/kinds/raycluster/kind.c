/* RayClusters as a kind: the tables of ray.io/v1 and of cluster.ray.io/v1 over one set of functions, and the verbs. */
#include "record.h"

struct raycluster *raycluster_of(const struct record *c)
{
    return c->kind == &kind_raycluster || c->kind == &kind_raycluster_legacy ? c->own : NULL;
}

struct rayclusters *rayclusters_of(const struct op *op)
{
    return *kind_own(op, &kind_raycluster);
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
        scaling_goes(pod);
    else if (what == CHILD_ENDED)
        scaling_ended(pod);
    else if (what == CHILD_CHANGED || pod->stop)
        scaling_spare(op, pod); /* its replica is whole, and is decided on as such */
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
    tools_drop_unused(op, c->ns);
}

static void respecified_cluster(struct op *op, struct record *c)
{
    struct raycluster *own = raycluster_of(c);
    children_respecified(op, c);
    memset(own->paces, 0, sizeof own->paces);
}

static void lead_cluster(struct op *op, struct record *c, bool leads)
{
    if (leads) {
        extract_failures(op, c); /* somebody else has counted meanwhile, and may have moved it */
        zones_anew(op, c);
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

const struct verb raycluster_create_account = {.name = "create-account",
                                               .how = VERB_CREATE,
                                               .make = account_make,
                                               .answer = account_answer,
                                               .failed = group_failed_by,
                                               .secret = account_secret,
                                               .refusal = {"FailedToCreateWorkerPod", "FailedToCreateHeadPod"}};
const struct verb raycluster_apply_head_service = {.name = "apply-head-service",
                                                   .how = VERB_APPLY,
                                                   .make = make_service,
                                                   .seal = seal_service,
                                                   .answer = answer_service,
                                                   .failed = group_failed_by,
                                                   .refusal = {"FailedToCreateService"}};
const struct verb raycluster_apply_headless_service = {.name = "apply-headless-service",
                                                       .how = VERB_APPLY,
                                                       .make = make_service,
                                                       .seal = seal_service,
                                                       .answer = answer_service,
                                                       .failed = group_failed_by,
                                                       .refusal = {"FailedToCreateService"}};
const struct verb raycluster_try_pod = {.name = "try-pod",
                                        .how = VERB_DRY_RUN,
                                        .make = make_pod,
                                        .answer = answer_try,
                                        .failed = group_failed_by,
                                        .refusal = {"FailedToCreateWorkerPod", "FailedToCreateHeadPod"}};
const struct verb raycluster_create_pod = {.name = "create-pod",
                                           .how = VERB_CREATE,
                                           .make = make_pod,
                                           .answer = answer_create,
                                           .failed = group_failed_by,
                                           .refusal = {"FailedToCreateWorkerPod", "FailedToCreateHeadPod"}};
const struct verb raycluster_count_failure = {.name = "count-failure", .how = VERB_MOVE, .carry_out = count_failure};
const struct verb raycluster_forget_failures = {.name = "forget-failures", .how = VERB_MOVE, .carry_out = forget_failures};
const struct verb raycluster_keep_zone = {.name = "keep-zone", .how = VERB_MOVE, .carry_out = keep_zone};
const struct verb raycluster_leave_zone = {.name = "leave-zone", .how = VERB_MOVE, .carry_out = leave_zone};
const struct verb raycluster_leave_spot = {.name = "leave-spot", .how = VERB_MOVE, .carry_out = leave_spot};
const struct verb raycluster_remove_finalizer = {.name = "remove-redis-finalizer",
                                                 .how = VERB_PATCH,
                                                 .make = job_make_finalizers,
                                                 .answer = job_answer,
                                                 .failed = group_failed_by,
                                                 .refusal = {"FailedToUpdateRayCluster"}};

static const struct verb *const verbs[] = {&raycluster_create_account,  &raycluster_apply_head_service, &raycluster_apply_headless_service,
                                           &raycluster_try_pod,         &raycluster_create_pod,         &raycluster_count_failure,
                                           &raycluster_forget_failures, &raycluster_keep_zone,          &raycluster_leave_zone,
                                           &raycluster_leave_spot,      &raycluster_remove_finalizer,   NULL};

static const struct kind *const cluster_owns[] = {&kind_pod, &kind_kservice, NULL};
static const struct kind *const cluster_needs[] = {&kind_raycluster, &kind_raycluster_legacy, &kind_pod, &kind_kservice, NULL};

const struct kind kind_raycluster = {.name = "RayCluster",
                                     .word = "cluster",
                                     .api_version = SLICE("ray.io/v1"),
                                     .resource = &ray_resources[RAY_V1],
                                     .plural = "rayclusters.ray.io",
                                     .verbs = verbs,
                                     .family = OPERATOR_RAY_IO,
                                     .keep = extract_record,
                                     .drop = drop_record,
                                     .sweep = sweep_records,
                                     .owns = cluster_owns,
                                     .needs = cluster_needs,
                                     .decide = decide_cluster,
                                     .read = read_cluster,
                                     .kept = kept_owned,
                                     .told = told_cluster,
                                     .own_size = sizeof(struct raycluster),
                                     .forget = forget_cluster,
                                     .reread = reread_cluster,
                                     .lead = lead_cluster,
                                     .done = done_cluster,
                                     .check = raycluster_check,
                                     .preview = raycluster_preview,
                                     .respecified = respecified_cluster,
                                     .unsettled = doubt_list,
                                     .recall = doubt_recall,
                                     .gone = "cluster deleted",
                                     .runs_ray = true,
                                     .finalizers = true};

const struct kind kind_raycluster_legacy = {.name = "RayCluster",
                                            .word = "cluster",
                                            .api_version = SLICE("cluster.ray.io/v1"),
                                            .resource = &ray_resources[RAY_LEGACY],
                                            .plural = "rayclusters.cluster.ray.io",
                                            .family = OPERATOR_LEGACY,
                                            .keep = extract_record,
                                            .drop = drop_record,
                                            .sweep = sweep_records,
                                            .owns = cluster_owns,
                                            .needs = cluster_needs,
                                            .decide = decide_cluster,
                                            .read = read_cluster,
                                            .told = told_cluster,
                                            .own_size = sizeof(struct raycluster),
                                            .forget = forget_cluster,
                                            .reread = reread_cluster,
                                            .lead = lead_cluster,
                                            .done = done_cluster,
                                            .check = raycluster_check,
                                            .preview = raycluster_preview,
                                            .respecified = respecified_cluster,
                                            .unsettled = doubt_list,
                                            .recall = doubt_recall,
                                            .gone = "cluster deleted",
                                            .runs_ray = true};
