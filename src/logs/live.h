/* One reading of a job and its log. These functions set l->e, and l->absent if the API server answers that something does not exist. */
#ifndef MOBULA_LOGS_LIVE_H
#define MOBULA_LOGS_LIVE_H

#include <mobula/logs.h>

bool logs_read_job(struct logs_live *l);                           /* l->job and l->over of a RayJob */
bool logs_find_submitter(struct logs_live *l, struct slice *path); /* whether it has a submitter pod; path: of that pod's log */
bool logs_read_submitter(struct logs_live *l, struct slice path);  /* shows what is new in it */
bool logs_read_head(struct logs_live *l);                          /* the same, from the head's dashboard */

#endif
