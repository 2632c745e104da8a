/* kind_rayjob: functions of the kind RayJob that higher kinds and the operator call. Its decisions are in rayjob.h. */
#ifndef MOBULA_KIND_RAYJOB_H
#define MOBULA_KIND_RAYJOB_H

#include <mobula/control.h>
#include <mobula/heads.h>
#include <mobula/rayjob.h>

extern const struct kind kind_rayjob;

/* Asks the head for the end of the log of the job that was submitted last. False: no log can be asked for; *e has the reason if it is a
 * failure. */
bool job_ask_log(struct record *c, ray_dash_done *done, void *owner, struct err *e);
/* For inspect.h: job_asks: the request that the dashboard has not answered yet (NULL: none); job_follows: whether the RayJob waits for a
 * cluster that it does not own; job_matches_record: whether the record's state is this RayJob's. */
const struct verb *job_asks(const struct record *c);
bool job_follows(const struct record *c);
bool job_matches_record(const struct record *c);

#endif
