/* Shared by service.c, service_deploy.c, service_logs.c, service_plane.c and service_token.c. */
#ifndef MOBULA_CLI_SERVICE_H
#define MOBULA_CLI_SERVICE_H

#include "fleet.h"

#include <mobula/service.h>

bool service_token(struct service_desk *d, struct err *e);
bool service_logs(struct service_desk *d, struct err *e);
bool service_deploy(struct service_desk *d, struct err *e);

/* With a control plane the service is a Workload: its VersionedService is in the cluster of its cloud. */
bool service_uses_plane(const struct service_desk *d, struct arena *a); /* the flags or a login name a control plane */
int service_plane(struct service_desk *d, const char *verb);            /* returns the exit status */

#endif
