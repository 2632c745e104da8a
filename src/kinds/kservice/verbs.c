/* The verbs of Services: their names, how they are carried out, and the reason of the event if one is refused. The handlers are in kind.c.
 */
#include <mobula/children.h>

const struct verb kservice_delete = {"delete-service", VERB_DELETE, {"FailedToDeleteService"}};
