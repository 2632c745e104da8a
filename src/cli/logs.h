/* Parts of `mobula logs` that need no API server. */
#ifndef MOBULA_CLI_LOGS_H
#define MOBULA_CLI_LOGS_H

#include <mobula/heads.h>

enum { LOGS_LAST = 128 };

/* A log that comes from its beginning each time, and is shown once. Zero-initialise it. */
struct logs_view {
    uint64_t shown, seen; /* bytes shown; and of the reading that is under way */
    bool json;            /* it comes as {"logs": "…"} */
    bool malformed;
    bool deaf; /* the output has no reader */
    struct ray_log_text text;
    char last[LOGS_LAST]; /* the end of what was shown */
    size_t last_len;
};
void logs_view_begin(struct logs_view *v, bool json);
void logs_view_add(struct logs_view *v, struct slice piece);
/* Whether it was a log, to its end. */
bool logs_view_end(struct logs_view *v);

/* The log has gone, and `kept` holds the last lines of it: shows what comes behind what was shown. False: that is not in there. */
bool logs_view_rest(struct logs_view *v, struct slice kept);

/* Of a list of Pods the newest of the job's own that has started; empty: there is none. *container is the one that is to show the log, by
 * the name that its template gives it; where there is none by that name the first. */
struct slice logs_submitter(struct jval pods, struct slice uid, struct slice *container, struct arena *a);
/* jobDeploymentStatus of a RayJob that will print no more. */
bool logs_job_over(struct slice phase);

#endif
