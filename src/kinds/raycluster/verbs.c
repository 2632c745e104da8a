/* The verbs of RayClusters: their names, how they are carried out, and the reason of the event if one is refused. The handlers are in
 * kind.c. */
#include <mobula/raycluster.h>

const struct verb raycluster_create_account = {"create-account", VERB_CREATE, {"FailedToCreateWorkerPod", "FailedToCreateHeadPod"}};
const struct verb raycluster_apply_head_service = {"apply-head-service", VERB_APPLY, {"FailedToCreateService"}};
const struct verb raycluster_apply_headless_service = {"apply-headless-service", VERB_APPLY, {"FailedToCreateService"}};
const struct verb raycluster_apply_serve_service = {"apply-cluster-serve-service", VERB_APPLY, {"FailedToCreateService"}};
const struct verb raycluster_apply_ingress = {"apply-head-ingress", VERB_APPLY, {"FailedToCreateIngress"}};
const struct verb raycluster_try_pod = {"try-pod", VERB_DRY_RUN, {"FailedToCreateWorkerPod", "FailedToCreateHeadPod"}};
const struct verb raycluster_create_pod = {"create-pod", VERB_CREATE, {"FailedToCreateWorkerPod", "FailedToCreateHeadPod"}};
const struct verb raycluster_adopt_pod = {"adopt-pod", VERB_PATCH, {"FailedToAdoptPod", "FailedToAdoptPod"}};
const struct verb raycluster_count_failure = {"count-failure", VERB_MOVE, {NULL}};
const struct verb raycluster_forget_failures = {"forget-failures", VERB_MOVE, {NULL}};
const struct verb raycluster_keep_zone = {"keep-zone", VERB_MOVE, {NULL}};
const struct verb raycluster_leave_zone = {"leave-zone", VERB_MOVE, {NULL}};
const struct verb raycluster_stay_in_zone = {"stay-in-zone", VERB_MOVE, {NULL}};
const struct verb raycluster_leave_spot = {"leave-spot", VERB_MOVE, {NULL}};
const struct verb raycluster_drain_pod = {"drain-pod", VERB_MOVE, {NULL}};
const struct verb raycluster_remove_finalizer = {"remove-redis-finalizer", VERB_PATCH, {"FailedToUpdateRayCluster"}};
