#include <mobula/kinds.h>

const struct verb pod_delete = {.name = "delete-pod",
                                .how = VERB_DELETE,
                                .make = make_delete,
                                .answer = answer_delete,
                                .failed = group_failed_by,
                                .by_us = pod_by_us,
                                .undone = pod_outlived,
                                .outdated = pod_seen_anew,
                                .refusal = {"FailedToDeletePod"}};
const struct verb kservice_delete = {.name = "delete-service",
                                     .how = VERB_DELETE,
                                     .make = make_delete,
                                     .answer = answer_delete,
                                     .failed = group_failed_by,
                                     .by_us = kservice_by_us,
                                     .undone = pod_outlived,
                                     .refusal = {"FailedToDeleteService"}};

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
                                                   .answer = answer_service,
                                                   .failed = group_failed_by,
                                                   .refusal = {"FailedToCreateService"}};
const struct verb raycluster_apply_headless_service = {.name = "apply-headless-service",
                                                       .how = VERB_APPLY,
                                                       .make = make_service,
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

const struct verb raycluster_remove_finalizer = {.name = "remove-redis-finalizer",
                                                 .how = VERB_PATCH,
                                                 .make = job_make_finalizers,
                                                 .answer = job_answer,
                                                 .failed = group_failed_by,
                                                 .refusal = {"FailedToUpdateRayCluster"}};

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

const struct verb *const verbs[] = {&raycluster_create_account,
                                    &raycluster_apply_head_service,
                                    &raycluster_apply_headless_service,
                                    &kservice_delete,
                                    &raycluster_try_pod,
                                    &raycluster_create_pod,
                                    &pod_delete,
                                    &raycluster_count_failure,
                                    &raycluster_forget_failures,
                                    &raycluster_remove_finalizer,
                                    &verb_status,
                                    &verb_event,
                                    &rayjob_create_cluster,
                                    &rayjob_delete_cluster,
                                    &rayjob_suspend_workers,
                                    &rayjob_create_submitter,
                                    &rayjob_add_finalizer,
                                    &rayjob_remove_finalizer,
                                    &rayjob_delete,
                                    &rayjob_look,
                                    &rayjob_submit,
                                    &rayjob_stop,
                                    &rayjob_read_log,
                                    &raycronjob_create_job,
                                    &raycronjob_delete_job,
                                    NULL};
_Static_assert(COUNT_OF(verbs) <= VERBS_MAX, "each verb has its counters");
