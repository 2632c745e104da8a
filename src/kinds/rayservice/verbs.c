/* The verbs of RayServices: their names, how they are carried out, and the reason of the event if one is refused. The handlers are in
 * kind.c. */
#include "rayservice.h"

const struct verb rayservice_create_cluster = {"create-service-cluster", VERB_CREATE, {"FailedToCreateRayCluster"}};
const struct verb rayservice_update_cluster = {"update-service-cluster", VERB_PATCH, {"FailedToUpdateRayCluster"}};
const struct verb rayservice_delete_cluster = {"delete-service-cluster", VERB_DELETE, {"FailedToDeleteRayCluster"}};
const struct verb rayservice_apply_head_service = {"apply-rayservice-head-service", VERB_APPLY, {"FailedToCreateService"}};
const struct verb rayservice_apply_serve_service = {"apply-serve-service", VERB_APPLY, {"FailedToCreateService"}};
const struct verb rayservice_label_head = {"label-serve-head", VERB_PATCH, {"FailedToUpdateHeadPodServeLabel"}};
const struct verb rayservice_remove_finalizer = {"remove-service-finalizer", VERB_PATCH, {"FailedToUpdateRayService"}};
const struct verb rayservice_announce_cluster = {"announce-service-cluster", VERB_PATCH, {"FailedToUpdateRayCluster"}};
const struct verb rayservice_apply_gateway = {"apply-service-gateway", VERB_APPLY, {"FailedToCreateGateway"}};
const struct verb rayservice_apply_route = {"apply-service-httproute", VERB_APPLY, {"FailedToCreateHTTPRoute"}};
const struct verb rayservice_scale = {"scale-serve", VERB_ASK, {NULL}};
const struct verb rayservice_look = {"look-serve", VERB_ASK, {NULL}};
const struct verb rayservice_put = {"put-serve-config", VERB_ASK, {NULL}};
