/* The verbs of workloads of the control plane: their names, how they are carried out, and the reason of the event if one is refused. The
 * handlers are in kind.c. */
#include "workload.h"

const struct verb workload_apply = {"apply-workload", VERB_APPLY, {"FailedToApplyWorkload"}};
const struct verb workload_delete = {"delete-workload", VERB_DELETE, {"FailedToDeleteWorkload"}};
