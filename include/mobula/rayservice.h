/* rayservice: names and times of a RayService that its decisions and the command line compute alike. Pure. */
#ifndef MOBULA_RAYSERVICE_FACTS_H
#define MOBULA_RAYSERVICE_FACTS_H

#include <mobula/spec.h>

#define RAYSERVICE_TIMEOUT "ray.io/initializing-timeout" /* annotation: a duration, or seconds */
enum { RAYSERVICE_DELETION_S = 60 };                     /* default of rayClusterDeletionDelaySeconds */

/* The name of the Service that clients of a RayService use; serve_service: spec.serveService. */
struct slice rayservice_serve_name(struct slice name, struct jval serve_service, struct arena *a);
/* Reads the value of RAYSERVICE_TIMEOUT. False: it is not a time above 0. */
bool rayservice_timeout_parse(struct slice text, int64_t *ms);
/* Wall time in microseconds at which that timeout begins: the RayService was created, was resumed, or lost its active cluster. */
int64_t rayservice_timeout_begin(int64_t created_us, struct jval status, struct arena *a);

#endif
