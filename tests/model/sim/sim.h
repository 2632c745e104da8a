/* The simulator: one seed makes a schedule of moves (of users and of the machines that pods run on) and of faults; the world runs it, and
 * invariants are checked at every change of the store, every request and every line of the log. Then the faults stop, and what remains must
 * become what a run of the same moves without faults becomes, and stay so. */
#ifndef SIM_H
#define SIM_H

#include "world.h"

#include <stdio.h>

/* Texts that must not be where they do not belong: the token of kubeconfig-sim, and the value of a variable of every Ray container. */
#define SIM_TOKEN "sim-token-4f1c9a77e2b0d3"
#define SIM_CANARY "sim-canary-9d2e61b05c"

#define SIM_TEMPLATE "example.com/v" /* annotation of each pod: which template of its user's it was made from */

#define SIM_FRAGILE "m" /* the namespace that is deleted now and then */

enum {
    SIM_MS = 60 * 1000, /* of moves and faults */
    SIM_ENTRIES = 256,
    SIM_CLUSTERS = 5,
    SIM_GROUPS = 2,
    SIM_TEXT = 400,
    SIM_UID = 37,
    SIM_SAYINGS = 512,
    SIM_NAMESPACES = 2,
    SIM_RENEW_MS = 3000,    /* of the operators' lease */
    SIM_FALLBACK_MS = 3000, /* a pod waits so long for a spot node … */
    SIM_RETRY_MS = 6000,    /* … and its group leaves spot for so long */
};

/* ---- the schedule ---- */

enum sim_kind {
    /* moves */
    MOVE_CREATE,
    MOVE_DELETE,
    MOVE_RECREATE,
    MOVE_SCALE,
    MOVE_TEMPLATE,
    MOVE_SUSPEND,
    MOVE_SPOIL,
    MOVE_GROUPS,
    MOVE_NOTE,
    MOVE_POD_DELETED,
    MOVE_POD_FAILS,
    MOVE_POD_RESTARTS,
    MOVE_POD_UNREADY,
    MOVE_SERVICE_DELETED,
    MOVE_SERVICE_EDITED,
    MOVE_RAYLET_DIES, /* this and the next: only where clusters are scaled (scaled.c) */
    MOVE_LIMIT,
    MOVE_JOB_CREATE, /* this and the next five: only where there are jobs (jobs.c) */
    MOVE_JOB_DELETE,
    MOVE_JOB_SUSPEND,
    MOVE_JOB_NAMED,
    MOVE_JOB_CLUSTER,
    MOVE_JOB_NOTE,
    MOVE_CRON_CREATE, /* this and the next five: only where there are RayCronJobs (crons.c) */
    MOVE_CRON_DELETE,
    MOVE_CRON_SUSPEND,
    MOVE_CRON_RULES,
    MOVE_CRON_RUN_DELETED,
    MOVE_TIME,
    MOVE_TOKEN, /* only where heads ask for one (tokens.c) */
    MOVE_SPOT,  /* only where groups prefer spot (markets.c) */
    MOVE_NODE_LOST,
    MOVE_NAMESPACE_DELETED,
    MOVE_SECOND_HEAD, /* never by a seed: for the test of the invariants */
    /* faults */
    FAULT_LATENCY,
    FAULT_PIECES,
    FAULT_BREAK,
    FAULT_SILENCE,
    FAULT_DOWN,
    FAULT_NO_CONNECT,
    FAULT_LOST,
    FAULT_ANSWER_LOST,
    FAULT_ANSWER_CUT,
    FAULT_SLOW,
    FAULT_REFUSED,
    FAULT_THROTTLED,
    FAULT_FAILED,
    FAULT_HANG,
    FAULT_KILL,
    FAULT_KILL_INSIDE,
    FAULT_KILL_AT_WRITE,
    FAULT_STOP,
    FAULT_FREEZE,
    FAULT_CLOCK,
    FAULT_COMPACT,
    FAULT_WATCH_END,
    FAULT_WATCH_EXPIRE,
    FAULT_OLD_CACHE,
    FAULT_WATCH_DELAY,
    FAULT_WATCH_DOUBLE,
    FAULT_WATCH_LOSE,
    FAULT_NO_BOOKMARKS,
    FAULT_NO_STREAM,
    FAULT_SHORT_PAGES,
    FAULT_LEASE_TAKEN,
    FAULT_LEASE_DELETED,
    FAULT_HEADS_BREAK, /* this and what follows: only where clusters are scaled, or have jobs */
    FAULT_HEAD_RESTART,
    FAULT_HEADS_HANG,
    FAULT_HEADS_NONSENSE,
    FAULT_HEADS_LATE,
    FAULT_HEADS_STALE,
    FAULT_HEADS_CUT,
    FAULT_HEADS_REFUSE,
    FAULT_DASH_LOSES,
    FAULT_DASH_TROUBLE,
    SIM_KINDS,
    SIM_FIRST_FAULT = FAULT_LATENCY,
};

struct sim_entry {
    int64_t at_ms; /* from the beginning */
    enum sim_kind kind;
    uint32_t dice[3]; /* what exactly: each kind takes of it what it needs */
};

/* What is the same in the whole run, made of the seed too. */
struct sim_setup {
    bool elect, all_namespaces, legacy_late; /* legacy_late: the CRD of the old kind comes in the middle */
    bool streaming;
    int64_t bookmark_ms;
    bool scaled;           /* by what heads say */
    bool tokens;           /* … to who brings a token, where they belong to clusters of the new kind */
    bool job_tokens;       /* so are the heads of jobs' own clusters */
    bool jobs, submitters; /* submitters: pods submit them */
    bool crons;            /* of the seeds with jobs */
    bool markets;          /* groups prefer spot nodes, which come and go */
    uint32_t mutators;     /* of the API server: bits by enum apiserver_mutator; pods of users are not started again then */
    bool proxied;          /* heads are asked through the API server */
    uint32_t operators;
    int64_t start_ms;   /* of pods */
    int64_t latency_ms; /* when no fault changes it */
};

struct sim_plan {
    uint64_t seed;
    struct sim_setup setup;
    struct sim_entry entries[SIM_ENTRIES];
    uint32_t count;
};

void sim_plan_make(struct sim_plan *p, uint64_t seed);
const char *sim_kind_name(enum sim_kind k);

/* ---- what users want ---- */

enum want_token { TOKEN_NONE, TOKEN_MADE, TOKEN_USERS };

struct want {
    enum ray_kind kind;
    enum want_token token;
    const char *ns, *name;
    bool there, suspend, bad, recreate, multi; /* bad: the spec cannot work */
    bool never;                                /* restartPolicy of its pods */
    bool scaled;                               /* replicas[0] is the work that there is */
    bool market;                               /* its workers prefer spot */
    uint32_t groups, replicas[SIM_GROUPS], template, note;
    uint32_t limit; /* of the workers, where it is scaled */
    /* of this incarnation, for what may be */
    char uid[SIM_UID];
    bool suspended;                                                  /* it was, at some time */
    uint32_t asked[SIM_GROUPS], most[SIM_GROUPS], fewer[SIM_GROUPS]; /* pods; fewer: what was taken back, less what has gone for that */
    uint32_t had;                                                    /* groups, as the user wrote last */
    uint64_t dropped[SIM_GROUPS];                                    /* the version of the store when the group was not there last */
    bool spotless[SIM_GROUPS];                                       /* a pod of it has had no spot node */
};
enum { WANT_HOSTS = 3 };                        /* of each replica of a cluster that is `multi` */
uint32_t want_scaled_max(const struct want *c); /* replicas of a group of a cluster that is scaled */

/* ---- coverage: where the operator was when a fault came ---- */

enum sim_state {
    STATE_DOWN,
    STATE_STARTING, /* no list was complete yet */
    STATE_LISTING,  /* one is to be taken again */
    STATE_LEADERLESS,
    STATE_CREATING, /* pods of a cluster that has no head yet */
    STATE_SCALING,  /* … that has */
    STATE_DELETING,
    STATE_WRITING, /* services, status, dry runs */
    STATE_WAITING, /* for a backoff */
    STATE_IDLE,
    SIM_STATES,
};
const char *sim_state_name(enum sim_state s);

/* Likewise what it does for a RayJob: one that runs is looked at from time to time, which is a state of its own. */
enum sim_job_state {
    JOBSTATE_NEW,
    JOBSTATE_CLUSTER, /* one is made, or waited for */
    JOBSTATE_WAITING, /* for a user to submit */
    JOBSTATE_SUBMITTING,
    JOBSTATE_RUNNING,
    JOBSTATE_LOOKING,
    JOBSTATE_READING, /* the log */
    JOBSTATE_STOPPING,
    JOBSTATE_RETRYING,
    JOBSTATE_SUSPENDING,
    JOBSTATE_SUSPENDED,
    JOBSTATE_OVER,
    JOBSTATE_DELETING,
    SIM_JOB_STATES,
};
const char *sim_job_state_name(enum sim_job_state s);

/* What it does now: for the cluster that is busiest, and for jobs. */
struct sim_where {
    enum sim_state state;
    bool jobs[SIM_JOB_STATES];
};

/* ---- a run ---- */

/* What a seed waits for after the last fault, longest first of all that it has: how long is a matter of these (run.c). */
enum sim_pace {
    PACE_PLAIN,
    PACE_JOBS,
    PACE_SCALED,
    SIM_PACES,
};
enum { SIM_CONVERGED_MAX_S = 1970 }; /* no seed may take longer, whatever it has */

struct sim_result {
    char violation[SIM_TEXT]; /* empty: none */
    char which[32];           /* the invariant's name */
    int64_t converged_ms;     /* after the last fault */
    enum sim_pace pace;
    uint32_t writes, refused_writes, faults_met, requests;
    uint64_t sessions, updates, torn; /* of TLS: opened; changes of their keys; records that were cut */
    uint64_t history;                 /* hash of all that happened; 0 when it was not recorded */
    uint32_t coverage[SIM_KINDS][SIM_STATES], job_coverage[SIM_KINDS][SIM_JOB_STATES];
};

struct sim_options {
    bool faults;           /* without: moves only */
    bool record;           /* makes result.history */
    FILE *out;             /* the history in words; with record only */
    const char *reference; /* the end state that it must reach; NULL: any that is right */
    uint32_t reference_writes;
};

/* *end: the end state in words, to be freed with mem_free; NULL when there was a violation. */
void sim_run(const struct sim_plan *p, const struct sim_options *o, struct sim_result *r, char **end);
/* Both runs: without faults, then with them. */
void sim_seed(uint64_t seed, bool record, FILE *out, struct sim_result *r);
/* The same for a plan that was cut down. */
void sim_both(const struct sim_plan *p, bool record, FILE *out, struct sim_result *r);
/* Drops entries as long as the same invariant is broken. */
void sim_minimise(struct sim_plan *p, const char *which, FILE *out);

/* ---- inside ---- */

enum pod_node { NODE_WELL, NODE_LOST, NODE_SILENT, NODE_EVICTED };

struct seen_pod {
    struct seen_pod *next;
    enum pod_node on; /* a node that is lost, and what has come of that */
    char uid[SIM_UID], owner[SIM_UID], ns[16], name[64], group[32];
    int32_t index, host;
    uint32_t template;
    uint32_t gcs;  /* GCS port: of a head, at which it listens; of a worker, for which it was made; 0: not in its text */
    uint64_t born; /* its first version */
    bool head, live, ready;
    bool never;          /* its containers are not started again, and there are more than Ray's */
    bool spare;          /* its going was asked for */
    bool restarts;       /* it is ill, and with it Ray */
    bool demand;         /* it was made for an on-demand node */
    bool spotless;       /* it was made for spot, and has been seen without a node */
    int64_t spotless_ms; /* since when it has none; 0: it has one */
    int64_t heal_ms;     /* 0: it is well */
};

/* What one operator has said: a line of its log, or an event. */
struct saying {
    uint64_t what;
    int64_t at_ms;
};

struct lease_pace {
    int64_t from_ms;
    uint32_t count;
};

struct sim {
    struct world_hooks hooks;           /* first */
    struct apiserver_observer observer; /* second */
    struct world w;
    const struct sim_plan *plan;
    const struct sim_options *o;
    struct sim_result *r;
    struct rng rng;     /* of faults that strike by chance */
    struct arena arena; /* of one look */
    struct want want[SIM_CLUSTERS];
    struct seen_pod *pods;
    struct sim_owner *owners; /* owners.c */
    struct token *tokens;     /* tokens.c: the latest first */
    struct owned *owned;
    const struct world_request *serving; /* the operator's request that the store changes for; NULL: for none */
    struct lease_pace pace[WORLD_PROCESSES];
    struct {
        int holder;                         /* the process that the record names; -1: none of them */
        int64_t ms;                         /* for how long, as the record says */
        int64_t sent_ms[WORLD_PROCESSES];   /* when the last record with this name was sent … */
        int64_t stored_ms[WORLD_PROCESSES]; /* … and stored */
        int64_t asked_ms;                   /* when what is served now was sent */
        bool has_seen[WORLD_PROCESSES];     /* since it started it has read a record with another's name */
    } lease;
    struct saying said[WORLD_PROCESSES][SIM_SAYINGS]; /* the latest; of the process that runs now */
    uint32_t said_count[WORLD_PROCESSES];
    int64_t until_ms[SIM_KINDS]; /* when a fault that lasts is over */
    uint32_t dice[SIM_KINDS][3]; /* and of what kind it is */
    struct {
        bool follows;    /* what it comes to is looked for */
        uint64_t hits;   /* as they were at the last look */
        uint32_t states; /* that it has been counted in, a bit each */
    } effect[SIM_KINDS];
    uint64_t held; /* connections that nobody answered */
    struct {
        uint64_t since; /* the store's resourceVersion when it started */
        uint64_t version[SIM_NAMESPACES][LIMIT_KINDS];
    } view[WORLD_PROCESSES];
    bool moved; /* the move that runs has changed what heads have to do */
    int64_t restart_ms[WORLD_PROCESSES], expire_ms, legacy_ms;
    int64_t tampered_ms, edited_ms; /* the Lease was deleted or edited; edited */
    bool stopping[WORLD_PROCESSES], synced[WORLD_PROCESSES];
    struct {
        int64_t evict_ms, gone_ms; /* when the pods of the lost node are told to go, and when they have gone */
        bool stays;                /* it does not answer, but was not deleted */
    } node;
    int64_t namespace_ms, usable_ms; /* when the deleted namespace is made again, and when users use it */
    struct jobs *jobs;               /* NULL: there are none */
    struct crons *crons;             /* likewise */
    uint32_t demands;                /* pods that were made for on-demand nodes */
    bool returned;                   /* spot nodes are there for good: from now on pods are made for these */
    bool silenced;
    bool still;        /* all has come to its end: from now on nothing is written and nothing said */
    int64_t still_us;  /* since when, by the world's clock */
    uint32_t next;     /* entry */
    uint64_t revision; /* before the request that is served */
};

int64_t sim_now(const struct sim *s); /* from the beginning */
void sim_say(struct sim *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The first one counts. */
void sim_violation(struct sim *s, const char *which, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* moves.c */
void moves_begin(struct sim *s);
void moves_apply(struct sim *s, const struct sim_entry *e);
void moves_tick(struct sim *s); /* what goes on by itself */
int64_t moves_next(const struct sim *s);
void moves_calm(struct sim *s); /* what cannot work is set right */
void moves_delete_all(struct sim *s);

/* pods.c */
void pods_changed(struct sim *s, const struct apiserver_change *c);
void pods_wanted(struct sim *s, struct want *c, bool made); /* after each request of a user for a cluster */
void pods_check_delete(struct sim *s, const struct world_request *q);
void pods_check_deleted(struct sim *s, const struct world_request *q);               /* it was answered, or never will be */
struct seen_pod *pods_find(const struct sim *s, struct slice ns, struct slice name); /* that is in the store */
/* Whether a worker may be deleted because it has an older template and a newer head has the new one. */
bool pods_follow(const struct sim *s, const struct want *c, const struct seen_pod *p);
uint32_t pods_mates(const struct sim *s, const struct seen_pod *p); /* how many pods of its replica live, itself included */
bool pods_dropped(const struct want *c, const struct seen_pod *p);
void pods_end(struct sim *s);

/* parts.c: what there is of each kind of the operator's */
struct slice parts_watched(const struct sim *s, uint32_t number); /* resources, children first; .ptr NULL: there are no more */
bool parts_decided(struct slice plural);                          /* a kind that the operator decides on is called so */
void parts_define(struct sim *s);                                 /* makes the definitions … */
void parts_define_late(struct sim *s);                            /* … but those that come late */
void parts_begin(struct sim *s);
bool parts_owns(enum sim_kind move); /* it is one of theirs */
void parts_move(struct sim *s, const struct sim_entry *e);
void parts_tick(struct sim *s);
int64_t parts_next(const struct sim *s);
void parts_changed(struct sim *s, const struct apiserver_change *c);
void parts_check_request(struct sim *s, const struct world_request *q);
void parts_refused(struct sim *s, const struct world_request *q);
void parts_step(struct sim *s);
void parts_namespace_deleted(struct sim *s, const char *ns);
void parts_calm(struct sim *s);
bool parts_right(struct sim *s, char why[SIM_TEXT]);
int64_t parts_pods(const struct sim *s); /* that are none of clusters of the plan */
void parts_delete_all(struct sim *s);
void parts_residue(struct sim *s);
void parts_end(struct sim *s);

/* tokens.c */
#define TOKENS_OPTIONS(more) "\"rayVersion\":\"2.60.0\",\"authOptions\":{\"mode\":\"token\"" more "}," /* of a spec */
void tokens_begin(struct sim *s);
void tokens_create(struct sim *s, const struct want *c); /* what there must be before its cluster */
void tokens_write(struct buf *b, const struct want *c);
void tokens_changed(struct sim *s, const struct apiserver_change *c);
void tokens_look(struct sim *s, struct slice text, struct slice where); /* for what must not be there */
void tokens_apply(struct sim *s, const struct sim_entry *e);
void tokens_tick(struct sim *s);
int64_t tokens_next(const struct sim *s);
void tokens_calm(struct sim *s); /* heads get what their Secrets hold by now */
void tokens_end(struct sim *s);

/* scaled.c: all but the first do nothing where nothing is scaled */
void scaled_begin(struct sim *s);
void scaled_work(struct sim *s, const struct want *c);
void scaled_kill_raylet(struct sim *s, uint32_t dice);
bool scaled_strike(struct sim *s, const struct sim_entry *e);
void scaled_knobs(struct sim *s);
void scaled_changes(struct sim *s, const struct apiserver_change *c); /* is about to be stored */
bool scaled_settled(const struct sim *s, char why[SIM_TEXT]);
void scaled_residue(struct sim *s);

/* markets.c: all do nothing where no group prefers spot */
void markets_begin(struct sim *s);
void markets_options(const struct sim *s, struct operator_options *o);
void markets_write(struct buf *b, const struct want *c); /* annotations of a worker, each behind a comma */
void markets_apply(struct sim *s);
void markets_changed(struct sim *s, struct seen_pod *p, const struct apiserver_change *c, bool new);
void markets_step(struct sim *s);
/* Whether it goes for want of a spot node. */
bool markets_lost(const struct sim *s, const struct want *c, const struct seen_pod *p, const struct world_request *q);
void markets_return(struct sim *s); /* on-demand pods go */

/* mishaps.c */
void mishaps_begin(struct sim *s);
void mishaps_apply(struct sim *s, const struct sim_entry *e);
void mishaps_tick(struct sim *s);
int64_t mishaps_next(const struct sim *s);
bool mishaps_usable(const struct sim *s, const char *ns); /* users may put clusters into this namespace */

/* troubles.c */
void troubles_apply(struct sim *s, const struct sim_entry *e);
void troubles_restart(struct sim *s, struct seen_pod *p, int64_t ms); /* its containers; when it is well */
void troubles_tick(struct sim *s);
int64_t troubles_next(const struct sim *s);

/* faults.c */
void faults_begin(struct sim *s);
void faults_apply(struct sim *s, const struct sim_entry *e);
void faults_tick(struct sim *s); /* ends what is over; starts processes again */
int64_t faults_next(const struct sim *s);
void faults_calm(struct sim *s);
void faults_arrived(struct sim *s, struct world_request *q);
void faults_stepped(struct sim *s, struct process *p, uint64_t since);
bool faults_on(const struct sim *s, enum sim_kind k);
bool faults_last(enum sim_kind k); /* for a while, and not only once */
void sim_start_process(struct sim *s, uint32_t i);

/* effects.c: what came of a fault that strikes later, or for a while, is counted then */
void effects_follow(struct sim *s, enum sim_kind k); /* from now on */
void effects_look(struct sim *s);

/* views.c: what operators take for the state of the store */
void views_started(struct sim *s, uint32_t process);
void views_look(struct sim *s);

/* check.c */
void check_begin(struct sim *s);
void check_started(struct sim *s, uint32_t process); /* one that remembers nothing */
void check_change(struct sim *s, const struct apiserver_change *c);
void check_request_began(struct sim *s, const struct world_request *q);
void check_request(struct sim *s, const struct world_request *q);
void check_answer(struct sim *s, const struct world_request *q, int status);
void check_step(struct sim *s);
void check_end(struct sim *s);

/* owners.c */
void owners_changed(struct sim *s, const struct apiserver_change *c);
void owners_check_request(struct sim *s, const struct world_request *q);
bool owners_gone(const struct sim *s, struct slice uid); /* it was there, and was deleted */
void owners_step(struct sim *s);
void owners_residue(struct sim *s);
void owners_end(struct sim *s);

/* lease.c */
void lease_started(struct sim *s, uint32_t process);
void lease_arrived(struct sim *s, const struct world_request *q);
void lease_changed(struct sim *s, const struct apiserver_change *c);
bool lease_holds(const struct sim *s, uint32_t process); /* it may act now; always true where there is no election */
void lease_step(struct sim *s);

/* state.c */
enum sim_state state_now(const struct sim *s);
struct sim_where state_where(const struct sim *s);
void state_cover(struct sim *s, enum sim_kind k);                                      /* that this has met the operator as it is now */
void state_cover_at(const struct sim *s, enum sim_kind k, const struct sim_where *at); /* … as it was then */
bool state_converged(struct sim *s, char why[SIM_TEXT]);
bool state_has_failures(struct sim *s);
int64_t state_wait_ms(struct sim *s); /* the longest back-off of a group, as its failures say */
char *state_text(struct sim *s);      /* the end in words, the same for all right ends: to be freed */
void state_residue(struct sim *s);    /* violations when something is left after all clusters were deleted */

#endif
