/* `mobula explain job`: reports the phase of a RayJob and its reason, its cluster, and the next step of the operator. */
#ifndef MOBULA_CLI_EXPLAIN_JOB_H
#define MOBULA_CLI_EXPLAIN_JOB_H

#include "explain_object.h"

struct explain_job {
    struct jval object; /* the RayJob */
    bool unwatched;     /* no installation watches its namespace; false if that cannot be read */
    int64_t now_us;
};

void explain_job_words(const struct explain_job *f, struct arena *a, struct buf *out);

#endif
