/* The verbs of RayJobs: their names, how they are carried out, and the reason of the event if one is refused. The handlers are in kind.c.
 */
#include <mobula/rayjob.h>

const struct verb rayjob_create_cluster = {"create-cluster", VERB_CREATE, {"FailedToCreateRayCluster"}};
const struct verb rayjob_delete_cluster = {"delete-cluster", VERB_DELETE, {"FailedToDeleteRayCluster"}};
const struct verb rayjob_suspend_workers = {"suspend-workers", VERB_PATCH, {"FailedToUpdateRayCluster"}};
const struct verb rayjob_create_submitter = {"create-submitter", VERB_CREATE, {"FailedToCreateRayJobSubmitter"}};
const struct verb rayjob_add_finalizer = {"add-finalizer", VERB_PATCH, {"FailedToUpdateRayJob"}};
const struct verb rayjob_remove_finalizer = {"remove-finalizer", VERB_PATCH, {"FailedToUpdateRayJob"}};
const struct verb rayjob_mark_ended = {"mark-ended", VERB_PATCH, {"FailedToUpdateRayJob"}};
const struct verb rayjob_delete = {"delete-job", VERB_DELETE, {"FailedToDeleteRayJob"}};
const struct verb rayjob_look = {"look", VERB_ASK, {NULL}};
const struct verb rayjob_submit = {"submit", VERB_ASK, {NULL}};
const struct verb rayjob_stop = {"stop", VERB_ASK, {NULL}};
const struct verb rayjob_read_log = {"read-log", VERB_ASK, {NULL}};
