/* The verbs of pods and services. Their handlers are in pod.c and service.c. */
#include <mobula/children.h>

const struct verb pod_delete = {"delete-pod", VERB_DELETE, {"FailedToDeletePod"}};
const struct verb kservice_delete = {"delete-service", VERB_DELETE, {"FailedToDeleteService"}};
