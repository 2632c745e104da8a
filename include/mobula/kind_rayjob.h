/* kind_rayjob: what higher kinds and the operator use of RayJobs. A decision on one is in rayjob.h. */
#ifndef MOBULA_KIND_RAYJOB_H
#define MOBULA_KIND_RAYJOB_H

#include <mobula/control.h>
#include <mobula/heads.h>
#include <mobula/rayjob.h>

extern const struct kind kind_rayjob;

/* Asks the head for the end of the log of the job that was submitted last. False: it has none, and *e says why when something is in the
 * way. */
bool job_ask_log(struct record *c, ray_dash_done *done, void *owner, struct err *e);
/* For inspect.h: the question that its dashboard has not answered yet (NULL: none), whether it waits for a cluster that it does not own,
 * and whether its state is its own. */
const struct verb *job_asks(const struct record *c);
bool job_follows(const struct record *c);
bool job_right(const struct record *c);

#endif
