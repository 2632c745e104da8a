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

static const struct verb_handler handlers[] = {
    {.verb = &rayjob_create_cluster, .make = job_make_cluster, .answer = job_answer, .failed = object_failed},
    {.verb = &rayjob_delete_cluster, .make = job_make_delete, .answer = job_answer, .failed = object_failed},
    {.verb = &rayjob_suspend_workers, .make = job_make_suspend, .answer = job_answer, .failed = object_failed},
    {.verb = &rayjob_create_submitter, .make = job_make_submitter, .answer = job_answer, .failed = object_failed},
    {.verb = &rayjob_add_finalizer, .make = finalizer_add, .answer = finalizer_answer, .failed = object_failed},
    {.verb = &rayjob_remove_finalizer, .make = finalizer_remove, .answer = finalizer_answer, .failed = object_failed},
    {.verb = &rayjob_mark_ended, .make = job_make_mark, .answer = finalizer_answer, .failed = object_failed},
    {.verb = &rayjob_delete, .make = job_make_delete, .answer = job_answer, .failed = object_failed},
    {.verb = &rayjob_look, .carry_out = job_ask},
    {.verb = &rayjob_submit, .carry_out = job_ask},
    {.verb = &rayjob_stop, .carry_out = job_ask},
    {.verb = &rayjob_read_log, .carry_out = job_ask},
    {.verb = NULL},
};

static const struct kind *const job_owns[] = {&kind_raycluster, &kind_pod, &kind_kservice, NULL};
static const struct kind *const job_needs[] = {&kind_raycluster, &kind_raycluster_legacy, &kind_rayjob, &kind_pod, &kind_kservice, NULL};
static const struct kind *const job_must[] = {&kind_raycluster, NULL};

static const struct controller controller = {.owns = job_owns,
                                             .needs = job_needs,
                                             .must = job_must,
                                             .decide = decide_job,
                                             .read = read_job,
                                             .kept = kept_job,
                                             .forget = forget_job,
                                             .lead = lead_job,
                                             .done = done_job,
                                             .respecified = children_respecified,
                                             .unsettled = doubt_list,
                                             .recall = doubt_recall,
                                             .mounts_tools = true,
                                             .by_wall_clock = true,
                                             .goes_by_status = true};

const struct kind kind_rayjob = {.name = "RayJob",
                                 .word = "job",
                                 .api_version = SLICE("ray.io/v1"),
                                 .resource = &ray_job_resource,
                                 .plural = "rayjobs.ray.io",
                                 .handlers = handlers,
                                 .family = OPERATOR_RAY_IO,
                                 .keep = extract_record,
                                 .drop = drop_record,
                                 .sweep = sweep_records,
                                 .check = rayjob_check,
                                 .preview = rayjob_preview,
                                 .gone = "job deleted",
                                 .finalizers = true,
                                 .finalizer = RAY_JOB_FINALIZER,
                                 .orphan = {.maker = RAY_LABEL_CRONJOB},
                                 .controller = &controller,
                                 .owned = true};
