/* Shared by service_plane.c, service_plane_code.c and service_plane_deploy.c: a service of a control plane, which is a Workload. */
#ifndef MOBULA_CLI_SERVICE_PLANE_H
#define MOBULA_CLI_SERVICE_PLANE_H

#include "fleet.h"
#include "service.h"

struct plane_service {
    struct desk desk; /* must be the first member: a verb gets its address */
    struct service_desk *from;
    bool back; /* a rollback */
};
bool plane_is_service(struct desk *d, struct jval workload, struct err *e); /* false: it is another kind of workload, and *e says so */
/* Reads the code that flags and file name. A folder is stored in the bucket of --bucket or of the cloud. */
struct work_code;
bool plane_read_code(struct desk *d, struct jval file, struct work_code *code, struct err *e);
/* Refuses flags that would have no effect, and a service that cannot be deployed to. there: the Workload; may be absent. */
bool plane_check_flags(struct plane_service *p, struct jval there, struct err *e);
fleet_verb plane_deploy, plane_rollback, plane_wait;

#endif
