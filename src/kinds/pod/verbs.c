/* The verbs of Pods: their names, how they are carried out, and the reason of the event if one is refused. The handlers are in kind.c. */
#include <mobula/children.h>

const struct verb pod_delete = {"delete-pod", VERB_DELETE, {"FailedToDeletePod"}};
