/* `mobula explain service`: reports which cluster gets the requests of a RayService and why, the states of its applications, and the next
 * step of the operator. It reads the RayService, its Service and its RayClusters. */
#ifndef MOBULA_CLI_EXPLAIN_SERVICE_H
#define MOBULA_CLI_EXPLAIN_SERVICE_H

#include "explain_cluster.h"

struct explain_service {
    struct jval object;            /* the RayService */
    struct slice serve_name;       /* name of the Service that clients use */
    struct jval serve;             /* that Service; NO_VALUE: it does not exist, … */
    struct slice serve_silence;    /* … unless this is the reason why it could not be read */
    struct jval clusters;          /* array of RayClusters; NO_VALUE: … */
    struct slice clusters_silence; /* … the reason why they could not be listed */
    bool unwatched;                /* no installation watches its namespace; false if that cannot be read */
    int64_t now_us;
};

void explain_service_words(const struct explain_service *f, struct arena *a, struct buf *out);

#endif
