/* The verbs of VersionedServices: their names, how they are carried out, and the reason of the event if one is refused. The handlers are in
 * kind.c. */
#include "versioned.h"

const struct verb versioned_apply_version = {"apply-version", VERB_APPLY, {"FailedToApplyRayService"}};
const struct verb versioned_delete_version = {"delete-version", VERB_DELETE, {"FailedToDeleteRayService"}};
const struct verb versioned_write_token = {"write-token", VERB_PATCH, {"TokenNotUsable"}};
const struct verb versioned_apply_route = {"apply-version-route", VERB_APPLY, {"FailedToApplyRoute"}};
