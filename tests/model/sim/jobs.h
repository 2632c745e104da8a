/* RayJobs in the simulator, in every third seed: what users ask for, the dashboards that run what is submitted, what the store was seen to
 * say of each job, and the invariants of them. */
#ifndef SIM_JOBS_H
#define SIM_JOBS_H

#include "fakeray.h"
#include "sim.h"

enum { SIM_JOBS = 4, JOBS_ID = 100, JOBS_NAME = 64, JOBS_IDS = 32, JOBS_WORD = 40, JOBS_SESSION = 200 };

/* What the program does. It is told by its entrypoint, so that each dashboard knows. */
enum job_script { SCRIPT_SUCCEEDS, SCRIPT_FAILS, SCRIPT_FAILS_ONCE, SCRIPT_ENDLESS, SCRIPT_REFUSED, SCRIPTS };

/* What is deleted when it is over. */
enum job_after { AFTER_NOTHING, AFTER_SHUTDOWN, AFTER_CLUSTER, AFTER_WORKERS, AFTER_SELF, AFTERS };

enum job_mode { MODE_K8S, MODE_HTTP, MODE_SIDECAR, MODE_INTERACTIVE, MODES };

struct want_job {
    const char *ns, *name;
    bool there, suspend, named; /* named: an interactive one that was told its jobId */
    const char *selected;       /* the user's cluster that it runs on; NULL: one of its own */
    enum job_mode mode;
    enum job_script script;
    enum job_after after;
    uint32_t workers, run_ms, retries, deadline_s, ttl_s, note;
};

/* A RayJob, as the store has shown it. It stays here when it has gone. */
struct seen_job {
    struct seen_job *next;
    char uid[SIM_UID], ns[16], name[16];
    bool gone, over; /* over: Complete or Failed */
    char phase[JOBS_WORD], reason[JOBS_WORD], id[JOBS_ID], cluster[JOBS_NAME], session[JOBS_SESSION];
    int64_t attempt, retries;
    uint32_t resumes, taken; /* taken: submissions */
    bool deletes_self;       /* its rules may delete it */
    uint32_t tries;          /* submissions of the present id that came to a dashboard, whatever it made of them */
    bool submitter_ended;    /* a pod that was to submit it has */
    char ids[JOBS_IDS][JOBS_ID];
    uint32_t id_count; /* that status ever had */
};

/* Likewise a RayCluster of ray.io. */
struct seen_cluster {
    struct seen_cluster *next;
    char uid[SIM_UID], ns[16], name[JOBS_NAME];
    char job[SIM_UID]; /* of the RayJob that owns it; empty: a user made it */
    bool live, gone, workers_suspended;
    bool ready;        /* says its status */
    uint32_t troubles; /* head pods of it that ended, and writes for it that were refused */
};

/* What a dashboard has taken. LOST: its head has gone, or begun again. */
enum submission_state { SUBMISSION_RUNS, SUBMISSION_SUCCEEDED, SUBMISSION_FAILED, SUBMISSION_STOPPED, SUBMISSION_LOST };
struct submission {
    struct submission *next;
    struct fakeray *head;
    uint32_t session;
    char id[JOBS_ID];
    bool by_hand; /* a user's own */
    enum job_script script;
    enum submission_state state;
    int64_t began_ms, run_ms, ended_ms;
};

/* A submitter pod. */
struct submitter {
    struct submitter *next;
    char uid[SIM_UID], ns[16], name[JOBS_NAME], cluster[JOBS_NAME], id[JOBS_ID], entrypoint[JOBS_ID];
    bool runs, posted;
    int64_t next_ms; /* when it tries, or looks, again */
};

struct jobs {
    struct want_job want[SIM_JOBS];
    struct seen_job *seen;
    struct seen_cluster *clusters;
    struct submission *taken;
    struct submitter *submitters;
    uint32_t attempts, struck, by_hand; /* that began; faults of dashboards; submissions of users */
};

#define JOBS_FREE_ALL(list)                                                                                                                \
    while (list) {                                                                                                                         \
        void *first = list;                                                                                                                \
        (list) = (list)->next;                                                                                                             \
        mem_free(first);                                                                                                                   \
    }

/* ---- jobs.c: users ---- */
void jobs_write_spec(struct sim *s, struct buf *b, const struct want_job *j);
void jobs_begin(struct sim *s); /* all functions do nothing where there are no jobs */
void jobs_move(struct sim *s, const struct sim_entry *e);
void jobs_namespace_deleted(struct sim *s, const char *ns);
void jobs_delete_all(struct sim *s);
void jobs_end(struct sim *s);

/* ---- jobs_board.c: dashboards and submitter pods ---- */
int jobs_dash(struct fakehead *h, struct slice method, struct slice target, struct slice body, struct buf *out);
void jobs_submit_by_hand(struct sim *s, struct fakeray *h, struct slice id, enum job_script script, uint32_t run_ms);
void jobs_knobs(struct sim *s); /* after scaled_knobs */
void jobs_tick(struct sim *s);
int64_t jobs_next(const struct sim *s);
void jobs_pod_changed(struct sim *s, const struct apiserver_change *c);        /* jobs_changed calls it */
const struct submission *jobs_submission(const struct sim *s, const char *id); /* the latest */
bool jobs_knows(const struct submission *sub);                                 /* its head runs still, in that session */

/* ---- jobs_seen.c: what the store says, and what it may not say ---- */
void jobs_head_ended(struct sim *s, const char *owner);
void jobs_refused(struct sim *s, const struct world_request *q); /* a write was */
void jobs_changed(struct sim *s, const struct apiserver_change *c);
void jobs_check_request(struct sim *s, const struct world_request *q);
void jobs_check_submit(struct sim *s, const char *id, const struct process *from);
struct seen_job *jobs_seen(const struct sim *s, const char *ns, const char *name); /* that is in the store */
struct seen_job *jobs_of_id(const struct sim *s, const char *id);

/* ---- jobs_end.c: the end ---- */
bool jobs_run_right(struct sim *s, const struct want_job *w, char why[SIM_TEXT]); /* one of them, or a run of a RayCronJob */
bool jobs_right(struct sim *s, char why[SIM_TEXT]);
int64_t jobs_pods(const struct sim *s); /* that belong to jobs, those of runs of RayCronJobs among them */
void jobs_residue(struct sim *s);

#endif
