/* RayCronJobs in the simulator, in half of the seeds that have jobs: what users ask for, what the store was seen to say of each and of its
 * runs, and the invariants of them. Time passes faster there: now and then the clock of the whole world is put forward by minutes. */
#ifndef SIM_CRONS_H
#define SIM_CRONS_H

#include "jobs.h"

enum { SIM_CRONS = 3 };
enum cron_pattern { PATTERN_MINUTE, PATTERN_TWO_MINUTES, PATTERN_EVERY, PATTERNS };
enum cron_rule { RULE_ALLOW, RULE_FORBID, RULE_REPLACE, RULES };

struct want_cron {
    bool there, suspend;
    enum cron_pattern pattern;
    enum cron_rule rule;
    int32_t deadline_s;  /* -1: none */
    uint32_t keep[2];    /* history: of runs that failed, of runs that succeeded */
    struct want_job run; /* namespace and name are the RayCronJob's */
    uint32_t rules;      /* of this incarnation: bits of all rules that it ever had … */
    uint32_t least[2];   /* … and the smallest history */
};

/* A RayCronJob, as the store has shown it. It stays here when it has gone, and so do its runs. */
struct seen_cron {
    struct seen_cron *next;
    char uid[SIM_UID], ns[16], name[16];
    bool gone, suspend;
    enum cron_rule rule;
    int64_t created_s, told_s;               /* told_s: lastScheduleTime; INT64_MIN: none */
    int64_t suspended_ms, ruled_ms;          /* since when `suspend` and `rule` are what they are */
    int64_t missed, active, generation_seen; /* of its status */
    bool suspended_told;
    int64_t known[WORLD_PROCESSES], known_ms[WORLD_PROCESSES]; /* the generation that operators know, and since when */
    struct want_cron *want;                                    /* of this incarnation; its user may have made another since */
};

struct cron_run {
    struct cron_run *next;
    char uid[SIM_UID], name[JOBS_NAME];
    struct seen_cron *of;
    int64_t due_s, added_ms;
    bool gone, deleting, over, succeeded;
};

struct crons {
    struct want_cron want[SIM_CRONS];
    struct seen_cron *seen;
    struct cron_run *runs;
    int64_t latest_us;                 /* that the clock of any process has shown */
    int64_t ahead_us[WORLD_PROCESSES]; /* of the wall clock before the monotonic one */
    int64_t set_ms[WORLD_PROCESSES];   /* when that has changed last */
};

/* ---- crons.c: users ---- */
void crons_begin(struct sim *s); /* all functions do nothing where there are none */
void crons_move(struct sim *s, const struct sim_entry *e);
void crons_calm(struct sim *s); /* all are suspended: none is due any more */
void crons_namespace_deleted(struct sim *s, const char *ns);
void crons_delete_all(struct sim *s);
void crons_end(struct sim *s);

/* ---- crons_seen.c: what the store says, and what it may not say ---- */
void crons_changed(struct sim *s, const struct apiserver_change *c);
void crons_check_request(struct sim *s, const struct world_request *q);
bool crons_run_goes(struct sim *s, const char *uid); /* a run, which an operator may delete now */
void crons_step(struct sim *s);
bool crons_right(struct sim *s, char why[SIM_TEXT]);
void crons_residue(struct sim *s);

#endif
