/* heads: what is said to the heads of running clusters: their GCS (demand, drains, reports, health) and their dashboard (jobs, Serve), over
 * links, for many heads at once. What a head says is untrusted: every answer has limits and a deadline, and one that is malformed anywhere
 * gives nothing. */
#ifndef MOBULA_HEADS_H
#define MOBULA_HEADS_H

#include <mobula/http.h>
#include <mobula/kube.h>
#include <mobula/net.h>

/* ---- what a head says of its cluster: GetClusterResourceState, read by the GCS client, used by the autoscaler ----
 *
 * Quantities are fixed point like Ray's own, in 1/RAY_QUANTUM of a unit: 0.1 + 0.2 is 0.3. One is at most LIMIT_RAY_AMOUNT units and never
 * negative; a sum over many nodes may still not fit into 64 bits, and whoever adds has to care. All memory is the reader's arena's. */

#define RAY_QUANTUM 10000 /* no enum: it stands beside doubles, and clang minds that */

struct ray_amount {
    struct slice name; /* "CPU", "memory" (bytes), "accelerator_type:A100" … */
    int64_t amount;
};
/* A set of resources: sorted by name, each name once, none 0. */
struct ray_bundle {
    const struct ray_amount *list;
    uint32_t count;
};
struct ray_label {
    struct slice key, value;
};

enum { RAY_NODE_ID = 28 }; /* raw bytes; people see 56 hexadecimal digits */
enum ray_node_status { RAY_NODE_UNKNOWN, RAY_NODE_RUNNING, RAY_NODE_DEAD, RAY_NODE_IDLE, RAY_NODE_DRAINING };

struct ray_node {
    struct slice id;          /* RAY_NODE_ID bytes */
    struct slice instance_id; /* RAY_CLOUD_INSTANCE_ID: the pod's name; empty when the pod did not set it */
    struct slice type;        /* RAY_NODE_TYPE_NAME: the group; likewise */
    struct slice ip;
    enum ray_node_status status; /* UNKNOWN: a number that nobody knows yet. It is not idle */
    int64_t idle_ms; /* 0 unless it is IDLE. Status and this say that a node is idle; free resources do not: work may need none */
    struct ray_bundle total, available; /* a resource that is used up is absent from available; a dead node has none */
    const struct ray_label *labels;     /* static ones and those of its placement groups, "_PG_…", by key */
    uint32_t label_count;
};

/* One condition on a label: its value is one of these, or none of these (which a node without the label meets too). */
struct ray_condition {
    struct slice key;
    const struct slice *values;
    uint32_t value_count;
    bool not_in;
};
/* All conditions must hold; a selector without any is met by every node. */
struct ray_selector {
    const struct ray_condition *list;
    uint32_t count;
};

struct ray_request {
    struct ray_bundle bundle;
    const struct ray_selector *selectors; /* in the order in which they are to be tried; none: any node will do */
    uint32_t selector_count;
    struct slice affinity, affinity_value;           /* STRICT_PACK: all requests with the same label go to one node */
    struct slice anti_affinity, anti_affinity_value; /* STRICT_SPREAD: no two of them to one node, nor to one that carries it already */
};
struct ray_demand {
    struct ray_request request;
    int64_t count; /* ≥ 1 */
};
struct ray_demands {
    const struct ray_demand *list;
    uint32_t count;
};

/* A pending placement group: all of it at once or nothing. */
enum ray_strategy { RAY_PACK, RAY_SPREAD, RAY_STRICT_PACK, RAY_STRICT_SPREAD };
struct ray_gang {
    const struct ray_request *requests; /* one for each bundle that has no node yet */
    uint32_t count;
    enum ray_strategy strategy;
    struct slice details; /* "<36 hexadecimal digits>:STRICT_SPREAD|PENDING" */
};

struct ray_state {
    struct slice session;         /* another one is another cluster: the head has started anew, and nothing of before counts */
    int64_t version;              /* rises with every answer: no sign of a change */
    const struct ray_node *nodes; /* the head and dead ones too */
    uint32_t node_count;
    struct ray_demands demands; /* tasks and actors that wait, by shape; at most 100 shapes of each node reach the GCS */
    const struct ray_gang *gangs;
    uint32_t gang_count;
    const struct ray_demands *constraints; /* request_resources(): must fit beside each other on the whole cluster, used or not */
    uint32_t constraint_count;
};

/* Reads a GetClusterResourceStateReply. Slices point into reply. What is malformed in any place, negative, not a number or beyond a limit
 * (LIMIT_RAY_STATE, LIMIT_RAY_RESOURCES, LIMIT_RAY_COUNT, LIMIT_RAY_AMOUNT) gives an error and an empty state, never a part of it. */
bool ray_state_read(struct slice reply, struct arena *a, struct ray_state *out, struct err *e);
/* A hash of all that the state says but for its version and how long nodes have been idle; 0: something waits or is asked for. */
uint64_t ray_state_quiet(const struct ray_state *s);

/* What the autoscaler reports back (ReportAutoscalingState), so that `ray status` shows it. Slices are whoever decided's. */
struct ray_launch { /* decided, no pod yet */
    struct slice type;
    int64_t count, at_s; /* pods; seconds since 1970 */
};
struct ray_launching { /* a pod whose node has not joined */
    struct slice type, instance_id, ip, details;
};
struct ray_launch_failure {
    struct slice type, reason;
    int64_t count, at_s;
};
struct ray_report {
    int64_t state_version; /* of the state that was decided on */
    const struct ray_launch *launches;
    const struct ray_launching *launching;
    const struct ray_launch_failure *failures;
    uint32_t launch_count, launching_count, failure_count;
    struct ray_demands infeasible;                /* what would not fit even with every node that may still come */
    const struct ray_gang *const *gangs;          /* likewise */
    const struct ray_demands *const *constraints; /* likewise */
    uint32_t gang_count, constraint_count;
};

/* ---- GCS clients: one for each head, over links, one connection kept for each ----
 *
 * Calls are unary gRPC over cleartext HTTP/2. Each has RAY_GCS_MS from DNS to the last byte, so that a head that hangs, or sends a byte a
 * second, costs nobody else anything. An answer that is malformed, too large or not in time is an error and nothing else. What has come of
 * answers that are not whole has LIMIT_RAY_ANSWERS for all heads together. Between calls a client holds its struct and an idle link. */

enum { RAY_GCS_UNAUTHENTICATED = 16 }; /* a grpc_status: the token is not the head's */
enum ray_gcs_call { RAY_GCS_HEALTH, RAY_GCS_STATE, RAY_GCS_REPORT, RAY_GCS_DRAIN };

struct ray_gcs_answer {
    enum ray_gcs_call call;
    struct err err;                /* ERR_NONE: it worked. Begins with whom it is about */
    int grpc_status;               /* of a well-formed answer; -1: there was none */
    uint32_t failures;             /* calls in a row that failed, this one included */
    bool open;                     /* a failure behind an open port: the GCS hangs, or starts, or something else listens there */
    bool gave_way;                 /* a failure because the answers of all heads together grew too large, and this one was the slowest */
    bool new_session;              /* STATE: not the session of the last state. The head has started anew */
    bool accepted;                 /* DRAIN: the node will go */
    struct slice node;             /* DRAIN: its id */
    struct slice words;            /* DRAIN: why it was refused, cleaned */
    const struct ray_state *state; /* STATE that worked, else NULL */
    int64_t took_ms;
};
/* Everything in the answer is valid during the call. The client may be used and closed in there, and its pool not freed. */
typedef void ray_gcs_done(void *owner, const struct ray_gcs_answer *answer, struct now now);

struct ray_gcs_options { /* all slices are copied */
    struct slice host;   /* an address is best: names wait for the one resolver */
    uint16_t port;
    struct slice token; /* RAY_AUTH_TOKEN, or empty; at most LIMIT_RAY_TOKEN */
    ray_gcs_done *done;
    void *owner;
};

struct ray_gcs_pool;
struct ray_gcs_pool *ray_gcs_pool_new(struct net *net, uint64_t seed);
void ray_gcs_pool_free(struct ray_gcs_pool *p); /* with its clients; nobody is told */
/* Begins the calls that are due; returns when to come again. Call it after every net_dispatch too: it costs little. */
int64_t ray_gcs_pool_tick(struct ray_gcs_pool *p, struct now now);

struct ray_gcs;
struct ray_gcs *ray_gcs_open(struct ray_gcs_pool *p, const struct ray_gcs_options *o, struct err *e);
void ray_gcs_close(struct ray_gcs *g); /* the pointer is dead after this */
/* STATE every so often, at least RAY_GCS_EVERY_MS apart; while calls fail up to RAY_GCS_BACKOFF_MAX_MS apart. 0: no more. */
void ray_gcs_poll(struct ray_gcs *g, int64_t every_ms, struct now now);
/* One health check, which ends by until_ms. It needs no token. A gRPC server that does not know the health service counts as well: a Ray
 * from before it, of which no more can be asked. */
void ray_gcs_check(struct ray_gcs *g, int64_t until_ms, struct now now);
/* Replaces a report that has not been sent yet. What is more than LIMIT_RAY_REPORT of it is left out. */
void ray_gcs_report(struct ray_gcs *g, const struct ray_report *report, struct now now);
/* The GCS says yes for a node that it does not know: the id must be one of the last state. At most LIMIT_RAY_DRAINS wait; each is answered
 * or failed once. */
struct ray_drain {
    struct slice node_id;
    bool preempt;         /* which no raylet refuses; else it goes only when it is idle still */
    int64_t deadline_ms;  /* of a preemption: milliseconds since 1970; else 0 */
    struct slice message; /* for people, in Ray's own state of the node */
};
bool ray_gcs_drain(struct ray_gcs *g, const struct ray_drain *drain, struct now now, struct err *e);

/* ---- the dashboard of a head: jobs, Serve, its version ----
 *
 * Three things, each usable without the others: what is asked, as the parts of an HTTP request; what an answer says; and a client that
 * carries the one to the head and the other back. Through the API server's proxy somebody else does the carrying. */

enum ray_dash_call {
    RAY_DASH_VERSION,
    RAY_DASH_SUBMIT, /* body: ray_build_submission's */
    RAY_DASH_JOB,
    RAY_DASH_JOBS,
    RAY_DASH_STOP,
    RAY_DASH_DELETE,
    RAY_DASH_LOG, /* of the driver: its last lines */
    RAY_DASH_SERVE,
    RAY_DASH_SERVE_PUT, /* body: a Serve configuration */
    RAY_DASH_SERVE_DELETE,
};
struct ray_dash_request {
    enum ray_dash_call call;
    struct slice id;    /* of a submission: JOB, STOP, DELETE, LOG */
    struct slice body;  /* JSON: SUBMIT, SERVE_PUT */
    struct slice token; /* RAY_AUTH_TOKEN, or empty */
    bool doubtful;      /* it did not answer the last time: no more than a part of all calls under way are such */
};
const char *ray_dash_method(enum ray_dash_call call);
/* "/api/jobs/ID/stop"; service not empty: through the API server, "/api/v1/namespaces/NS/services/SERVICE:PORT/proxy/api/jobs/…". */
struct slice ray_dash_path(const struct ray_dash_request *r, struct slice ns, struct slice service, uint16_t port, struct arena *a);
/* The header that carries the token. The API server keeps Authorization for itself, and Ray prefers it where both are sent. */
struct http_header ray_dash_token(struct slice token, bool proxied, struct arena *a);

enum ray_dash_outcome {
    RAY_DASH_OK,
    RAY_DASH_ABSENT,  /* no such job (404) */
    RAY_DASH_EXISTS,  /* a job of this id was submitted before */
    RAY_DASH_DENIED,  /* no token, or a wrong one (401, 403) */
    RAY_DASH_REFUSED, /* what was asked cannot work (other 4xx): the same again will not either */
    RAY_DASH_FAILED,  /* 5xx, or an answer that is malformed or too large: it may have been done */
    RAY_DASH_UNSENT,  /* no connection: it was not done */
    RAY_DASH_LOST,    /* no answer: it may have been done */
};

struct ray_dash_job {
    struct slice submission_id, job_id; /* empty: none */
    struct slice status;                /* PENDING RUNNING SUCCEEDED FAILED STOPPED, or what a later Ray calls it */
    struct slice entrypoint, message, error_type, driver_node_id;
    bool driver;              /* attached by ray.init(): nobody submitted it */
    int64_t start_ms, end_ms; /* by the head's clock, since 1970; 0: not yet */
    bool exited;
    int64_t exit_code;
};
bool ray_dash_job_ended(struct slice status); /* it is one of those that do not change any more */
/* What Ray says of a job as one line, without the end of the log that it puts behind; NUL-terminated. */
struct slice ray_dash_job_words(const struct ray_dash_job *job, char *out, size_t size);
struct ray_serve_deployment {
    struct slice name, status, message;
    int64_t replicas; /* wanted */
};
struct ray_serve_app {
    struct slice name, status, message, route_prefix;
    const struct ray_serve_deployment *deployments;
    uint32_t deployment_count;
};

/* All slices lie in the body or in the arena. */
struct ray_dash_answer {
    enum ray_dash_call call;
    enum ray_dash_outcome outcome;
    struct err err;                    /* of every outcome but OK: with the head's own words, one line of them */
    int http_status;                   /* 0: none */
    struct slice ray_version, session; /* VERSION */
    struct slice submission_id;        /* SUBMIT */
    bool done;                         /* STOP: it ran and was told to; DELETE */
    const struct ray_dash_job *jobs;   /* JOB: one; JOBS */
    const struct ray_serve_app *apps;  /* SERVE, in the head's order */
    uint32_t job_count, app_count;
    struct slice log; /* LOG: whole lines, at most LIMIT_RAY_LOG bytes of JSON text */
    bool log_cut;     /* LOG: there were more before them */
};
/* What an answer of this status says. The body of LOG may be the end of one, from ray_log. */
void ray_dash_read(enum ray_dash_call call, int status, struct slice body, bool log_cut, struct arena *a, struct ray_dash_answer *out);

/* The same of an answer that came through the API server's proxy. Its own no is none of Ray's, and the dashboard has not heard the question
 * then; of a 5xx nobody knows. right: what a 403 lacks, for people. log: the end of it where that was gathered, else empty. */
void ray_dash_read_proxied(enum ray_dash_call call, const struct kube_answer *answer, struct slice log, bool log_cut, const char *right,
                           struct arena *a, struct ray_dash_answer *out);

/* The driver's whole log comes as one JSON string without bound: this keeps the end of it. */
struct ray_log {
    struct buf end;
    uint64_t total;
};
void ray_log_init(struct ray_log *l);
void ray_log_add(struct ray_log *l, struct slice piece);
struct slice ray_log_end(struct ray_log *l, bool *cut); /* for ray_dash_read */
void ray_log_free(struct ray_log *l);

/* The same, decoded as it comes, for who shows all of it. Zero-initialise it. */
struct ray_log_text {
    uint64_t total; /* bytes of text so far */
    int state;      /* private from here */
    unsigned at;
    uint32_t point, high;
};
enum { RAY_LOG_TEXT = 4 * KIB };
/* Uses bytes off the front of *in and gives the text that they are; come again until *in is empty. False: it is no {"logs": "…"}, and what
 * stands in out is as far as it was one. Half a surrogate pair is U+FFFD. */
bool ray_log_text_read(struct ray_log_text *t, struct slice *in, char out[RAY_LOG_TEXT], size_t *n);
bool ray_log_text_whole(const struct ray_log_text *t); /* it may end here */

/* ---- whose turn it is among calls to dashboards ----
 *
 * `most` are under way at a time, no more than RAY_DASH_LINKS_HOST of them to one host, and `most_doubtful` to heads that did not answer
 * the last time. Hosts come round by turns, the calls to one of them in their order, so that heads that hang delay nobody else. However
 * many wait (LIMIT_RAY_DASH_CALLS with those under way), each step costs the same: a thousand jobs may share one head. */

struct ray_turn {
    void *call;
    struct ray_turn_host *host; /* private from here */
    struct ray_turn *prev, *next;
    uint64_t number; /* of all that were entered */
    bool doubtful, begun;
};
struct ray_turn_round {
    struct ray_turn_lane *first, *last; /* without those that were found to be full */
};
struct ray_turns {
    uint32_t most, most_doubtful;
    void (*begin)(void *call, struct now now); /* it is its turn, until it leaves, which it may do in here */
    struct map hosts;                          /* private from here */
    struct ray_turn_round rounds[2];           /* [1]: of doubtful calls */
    uint32_t count, begun, doubtful;           /* doubtful: of those that are begun */
    uint64_t entered, looked;                  /* looked: how often a lane was looked at, to find whose turn it is */
    bool look;                                 /* one was entered or has left: it may be another one's turn */
};
bool ray_turn_enter(struct ray_turns *all, struct ray_turn *t, struct slice host, uint16_t port, bool doubtful, struct err *e);
void ray_turn_leave(struct ray_turns *all, struct ray_turn *t); /* it is over, or is not to be any more; or was never entered */
int64_t ray_turns_tick(struct ray_turns *all, struct now now);  /* begins those whose turn it is; returns when to come again */

/* ---- a client over links ---- */

typedef void ray_dash_done(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now);
/* A piece of a log. In here nothing may be asked or forgotten. */
typedef void ray_dash_text(void *owner, uint64_t tag, struct slice piece);
struct ray_dash_to { /* all slices are copied */
    struct slice host;
    uint16_t port;
    ray_dash_done *done;
    void *owner;
    uint64_t tag;
    ray_dash_text *text; /* LOG: gets all of it, from the beginning and without bound, before the answer, in which there is none then */
};
/* Each call has a connection of its own and RAY_DASH_MS, which begin when it is its turn (and anew with each RAY_LOG_STEP of a log that
 * is shown): RAY_DASH_LINKS are under way at a time, RAY_DASH_LINKS_DOUBTFUL of them in doubt. */
struct ray_dash_pool;
struct ray_dash_pool *ray_dash_pool_new(struct net *net);
void ray_dash_pool_free(struct ray_dash_pool *p);
uint64_t ray_dash_pool_looked(const struct ray_dash_pool *p); /* how often a host was looked at to find whose turn it is: what that costs */
int64_t ray_dash_pool_tick(struct ray_dash_pool *p, struct now now); /* begins what is waiting; returns when to come again */
/* Goes out with the next tick. */
bool ray_dash_ask(struct ray_dash_pool *p, const struct ray_dash_to *to, const struct ray_dash_request *r, struct err *e);
/* Calls of this owner end, and nobody is told. */
void ray_dash_forget(struct ray_dash_pool *p, const void *owner);

#endif
