/* RayJobs as a kind, and the verbs. */
#include "record.h"

/* Its cluster may have gone before it. */
static void forget_job(struct op *op, struct record *c)
{
    job_drop(op, c);
    tools_drop_unused(op, c->ns);
}

static void lead_job(struct op *op, struct record *c, bool leads)
{
    if (!leads)
        job_drop(op, c);
}

static void done_job(struct op *op, struct record *c)
{
    say_work(op, c, "DeletedRayJobSubmitter");
}

const struct verb rayjob_create_cluster = {.name = "create-cluster",
                                           .how = VERB_CREATE,
                                           .make = job_make_cluster,
                                           .answer = job_answer,
                                           .failed = job_failed_by,
                                           .refusal = {"FailedToCreateRayCluster"}};
const struct verb rayjob_delete_cluster = {.name = "delete-cluster",
                                           .how = VERB_DELETE,
                                           .make = job_make_delete,
                                           .answer = job_answer,
                                           .failed = job_failed_by,
                                           .refusal = {"FailedToDeleteRayCluster"}};
const struct verb rayjob_suspend_workers = {.name = "suspend-workers",
                                            .how = VERB_PATCH,
                                            .make = job_make_suspend,
                                            .answer = job_answer,
                                            .failed = job_failed_by,
                                            .refusal = {"FailedToUpdateRayCluster"}};
const struct verb rayjob_create_submitter = {.name = "create-submitter",
                                             .how = VERB_CREATE,
                                             .make = job_make_submitter,
                                             .answer = job_answer,
                                             .failed = job_failed_by,
                                             .refusal = {"FailedToCreateRayJobSubmitter"}};
const struct verb rayjob_add_finalizer = {.name = "add-finalizer",
                                          .how = VERB_PATCH,
                                          .make = job_make_finalizers,
                                          .answer = job_answer,
                                          .failed = job_failed_by,
                                          .refusal = {"FailedToUpdateRayJob"}};
const struct verb rayjob_remove_finalizer = {.name = "remove-finalizer",
                                             .how = VERB_PATCH,
                                             .make = job_make_finalizers,
                                             .answer = job_answer,
                                             .failed = job_failed_by,
                                             .refusal = {"FailedToUpdateRayJob"}};
const struct verb rayjob_delete = {.name = "delete-job",
                                   .how = VERB_DELETE,
                                   .make = job_make_delete,
                                   .answer = job_answer,
                                   .failed = job_failed_by,
                                   .refusal = {"FailedToDeleteRayJob"}};
const struct verb rayjob_look = {.name = "look", .how = VERB_ASK, .carry_out = job_ask};
const struct verb rayjob_submit = {.name = "submit", .how = VERB_ASK, .carry_out = job_ask};
const struct verb rayjob_stop = {.name = "stop", .how = VERB_ASK, .carry_out = job_ask};
const struct verb rayjob_read_log = {.name = "read-log", .how = VERB_ASK, .carry_out = job_ask};

static const struct verb *const verbs[] = {&rayjob_create_cluster,  &rayjob_delete_cluster,
                                           &rayjob_suspend_workers, &rayjob_create_submitter,
                                           &rayjob_add_finalizer,   &rayjob_remove_finalizer,
                                           &rayjob_delete,          &rayjob_look,
                                           &rayjob_submit,          &rayjob_stop,
                                           &rayjob_read_log,        NULL};

static const struct kind *const job_owns[] = {&kind_raycluster, &kind_pod, &kind_kservice, NULL};
static const struct kind *const job_needs[] = {&kind_raycluster, &kind_raycluster_legacy, &kind_rayjob, &kind_pod, &kind_kservice, NULL};
static const struct kind *const job_must[] = {&kind_raycluster, NULL};

const struct kind kind_rayjob = {.name = "RayJob",
                                 .word = "job",
                                 .api_version = SLICE("ray.io/v1"),
                                 .resource = &ray_job_resource,
                                 .plural = "rayjobs.ray.io",
                                 .verbs = verbs,
                                 .family = OPERATOR_RAY_IO,
                                 .keep = extract_record,
                                 .drop = drop_record,
                                 .sweep = sweep_records,
                                 .owns = job_owns,
                                 .needs = job_needs,
                                 .must = job_must,
                                 .decide = decide_job,
                                 .read = read_job,
                                 .kept = kept_job,
                                 .forget = forget_job,
                                 .lead = lead_job,
                                 .done = done_job,
                                 .check = rayjob_check,
                                 .preview = rayjob_preview,
                                 .respecified = children_respecified,
                                 .unsettled = doubt_list,
                                 .recall = doubt_recall,
                                 .gone = "job deleted",
                                 .finalizers = true,
                                 .by_wall_clock = true,
                                 .goes_by_status = true};
