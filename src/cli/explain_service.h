/* `mobula explain service`: which cluster gets the requests of a RayService and why, what its applications wait for, and what the operator
 * does next, in words. All of it stands in the status of the RayService, in its Service, and in its RayClusters. */
#ifndef MOBULA_CLI_EXPLAIN_SERVICE_H
#define MOBULA_CLI_EXPLAIN_SERVICE_H

#include "explain_cluster.h"

struct explain_service {
    struct jval object;            /* the RayService */
    struct slice serve_name;       /* of the Service that clients use */
    struct jval serve;             /* that Service; not there: it does not exist, … */
    struct slice serve_silence;    /* … unless this says why it could not be read */
    struct jval clusters;          /* a list of RayClusters; not there: … */
    struct slice clusters_silence; /* … this says why */
    int64_t now_us;
};

struct slice explain_serve_name(struct jval service, struct arena *a); /* of the Service that clients of this RayService use */
void explain_service_words(const struct explain_service *f, struct arena *a, struct buf *out);

#endif
