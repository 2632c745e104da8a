/* The verbs of RayCronJobs: their names, how they are carried out, and the reason of the event if one is refused. The handlers are in
 * kind.c. */
#include "raycronjob.h"

const struct verb raycronjob_create_job = {"create-run", VERB_CREATE, {"FailedToCreateRayJob"}};
const struct verb raycronjob_delete_job = {"delete-run", VERB_DELETE, {"FailedToDeleteRayJob"}};
