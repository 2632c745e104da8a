/* heads: clients of Ray heads, for many heads at once, over links: the GCS (demand, drains, reports, health) and the dashboard (jobs,
 * Serve). A head is untrusted: every answer has limits and a deadline, and an answer that is malformed anywhere is dropped as a whole. */
#ifndef MOBULA_HEADS_H
#define MOBULA_HEADS_H

#include <mobula/http.h>
#include <mobula/kube.h>
#include <mobula/net.h>

/* ---- state of a cluster: GetClusterResourceState, read by the GCS client, used by the autoscaler ----
 *
 * Quantities are fixed point as in Ray, in 1/RAY_QUANTUM of a unit: 0.1 + 0.2 is 0.3. Each is at most LIMIT_RAY_AMOUNT units and never
 * negative; a sum over many nodes may overflow 64 bits, which the caller must handle. All memory is in the reader's arena. */

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
    enum ray_node_status status; /* UNKNOWN: a value of a later Ray; not idle */
    int64_t idle_ms;             /* 0 unless IDLE. Only this says that a node is idle: free resources do not, as work may need none */
    struct ray_bundle total, available; /* a resource that is used up is absent from `available`; dead nodes have none */
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
    struct slice session;         /* changes when the head restarts: earlier states are void then */
    int64_t version;              /* rises with every answer, changed or not */
    const struct ray_node *nodes; /* the head and dead ones too */
    uint32_t node_count;
    struct ray_demands demands; /* pending tasks and actors, by shape; Ray reports at most 100 shapes of each node */
    const struct ray_gang *gangs;
    uint32_t gang_count;
    const struct ray_demands *constraints; /* request_resources(): must fit beside each other on the whole cluster, used or not */
    uint32_t constraint_count;
};

/* Reads a GetClusterResourceStateReply. Slices point into reply. What is malformed in any place, negative, not a number or beyond a limit
 * (LIMIT_RAY_STATE, LIMIT_RAY_RESOURCES, LIMIT_RAY_COUNT, LIMIT_RAY_AMOUNT) gives an error and an empty state, never a part of it. */
bool ray_state_read(struct slice reply, struct arena *a, struct ray_state *out, struct err *e);
/* Writes members nodesAlive, nodesDead and resources (name, total, used) into an open object: the sums of all nodes, in Ray's order,
 * without the resource node:IP of each node, and the first RAY_REPORT_RESOURCES of them. */
enum { RAY_REPORT_RESOURCES = 32 };
void ray_state_report(const struct ray_state *s, struct jout *w);
/* Hash of the state without version and idle times; 0: there is demand. */
uint64_t ray_state_quiet(const struct ray_state *s);

/* The report of the autoscaler (ReportAutoscalingState) for `ray status`. Slices belong to the caller. */
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
    struct ray_demands infeasible;                /* demand that would not fit even with every node that may still be added */
    const struct ray_gang *const *gangs;          /* likewise */
    const struct ray_demands *const *constraints; /* likewise */
    uint32_t gang_count, constraint_count;
};

/* ---- GCS clients: one for each head, over links, one connection kept for each ----
 *
 * Calls are unary gRPC over HTTP/2, in the clear or with TLS. Each has RAY_GCS_MS from DNS to the last byte, so that a head that hangs, or
 * sends a byte a second, delays no other head. A malformed, oversized or late answer is an error and nothing else. Incomplete answers of
 * all heads together may hold LIMIT_RAY_ANSWERS bytes. Between calls a client holds its struct and an idle link. */

enum { RAY_GCS_UNAUTHENTICATED = 16 }; /* a grpc_status: the token is not the head's */
enum ray_gcs_call { RAY_GCS_HEALTH, RAY_GCS_STATE, RAY_GCS_REPORT, RAY_GCS_DRAIN };

struct ray_gcs_answer {
    enum ray_gcs_call call;
    struct err err;                /* ERR_NONE: success. The text begins with the head's address */
    int grpc_status;               /* of a well-formed answer; -1: there was none */
    uint32_t failures;             /* consecutive failed calls, this one included */
    bool open;                     /* failed although the port is open: the GCS hangs or starts, or something else listens there */
    bool gave_way;                 /* failed because LIMIT_RAY_ANSWERS was reached, and this answer was the slowest */
    bool new_session;              /* STATE: the session has changed: the head was restarted */
    bool accepted;                 /* DRAIN: the node will drain */
    struct slice node;             /* DRAIN: its id */
    struct slice pod;              /* DRAIN: the pod's name, as given to ray_gcs_drain */
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
    struct tls_trust *trust; /* NULL: no TLS. identity: the client certificate. References are taken to both */
    struct tls_identity *identity;
    const char *tls_name; /* SAN that the head's certificate must have, a string literal; NULL: host */
};

struct ray_gcs_pool;
struct ray_gcs_pool *ray_gcs_pool_new(struct net *net, uint64_t seed);
void ray_gcs_pool_free(struct ray_gcs_pool *p); /* with its clients; no callbacks */
/* Starts the calls that are due; returns when to call again. Call it after every net_dispatch too: it is cheap. */
int64_t ray_gcs_pool_tick(struct ray_gcs_pool *p, struct now now);

struct ray_gcs;
struct ray_gcs *ray_gcs_open(struct ray_gcs_pool *p, const struct ray_gcs_options *o, struct err *e);
void ray_gcs_close(struct ray_gcs *g); /* the pointer is dead after this */
/* Polls STATE every every_ms, at least RAY_GCS_EVERY_MS apart; up to RAY_GCS_BACKOFF_MAX_MS apart while calls fail. 0: stops. */
void ray_gcs_poll(struct ray_gcs *g, int64_t every_ms, struct now now);
/* One health check, which ends by until_ms. It needs no token. A gRPC server without the health service counts as healthy: an older Ray,
 * which cannot be asked more. */
void ray_gcs_check(struct ray_gcs *g, int64_t until_ms, struct now now);
/* Sends a report, in place of one that has not been sent yet. It is cut at LIMIT_RAY_REPORT. */
void ray_gcs_report(struct ray_gcs *g, const struct ray_report *report, struct now now);
/* The GCS accepts a drain of a node that it does not know, so the id must be one of the last state. At most LIMIT_RAY_DRAINS are queued;
 * for each `done` is called once. */
struct ray_drain {
    struct slice node_id;
    bool preempt;         /* no raylet refuses it; else the node drains only if it is still idle */
    int64_t deadline_ms;  /* of a preemption: milliseconds since 1970; else 0 */
    struct slice message; /* for people, in Ray's own state of the node */
    struct slice pod;     /* its name: comes back with the answer, for the log */
};
bool ray_gcs_drain(struct ray_gcs *g, const struct ray_drain *drain, struct now now, struct err *e);

/* ---- settings of a GCS client, and waiting for a GCS ---- */

/* The text of a file, in a. */
typedef bool ray_gcs_file(struct slice path, struct arena *a, struct slice *out, struct err *e);
/* If Ray's RAY_USE_TLS is set: loads the files of RAY_TLS_CA_CERT, RAY_TLS_SERVER_CERT and RAY_TLS_SERVER_KEY into *o, which keeps them
 * until the process ends. False: a file is missing or malformed. */
bool ray_gcs_tls(struct ray_gcs_options *o, ray_gcs_file *read, struct err *e);
/* "HOST:PORT" or "[V6]:PORT". */
bool ray_gcs_address(struct slice text, struct endpoint *to, struct err *e);

enum { RAY_GCS_RETRY_MS = 1000 }; /* between two attempts, with a quarter of jitter both ways */
/* One health check after another until one says that the GCS serves. Driven like all owners of links: ray_gcs_wait_step, loop_wait,
 * net_dispatch, again. */
struct ray_gcs_wait {
    struct ray_gcs_pool *pool;
    struct ray_gcs *gcs;
    int64_t until_ms; /* no attempt begins or goes on after this */
    struct rng rng;
    int64_t next_ms; /* when the next attempt begins */
    bool asking;
    bool serving;   /* done */
    struct err why; /* why not, after the last attempt that ended */
};
bool ray_gcs_wait_begin(struct ray_gcs_wait *w, struct net *net, const struct endpoint *to, int64_t until_ms, uint64_t seed,
                        ray_gcs_file *read, struct err *e);
void ray_gcs_wait_end(struct ray_gcs_wait *w);
/* Begins an attempt when one is due; returns when to call again. */
int64_t ray_gcs_wait_step(struct ray_gcs_wait *w, struct now now);
/* The GCS serves, or the time is over and w->why says why not. */
bool ray_gcs_wait_over(const struct ray_gcs_wait *w, struct now now);

/* ---- the dashboard of a head: jobs, Serve, its version ----
 *
 * Three parts, each usable alone: building an HTTP request, reading an answer, and a client that sends the one and receives the other.
 * Requests through the API server's proxy are sent by room kube instead. */

enum ray_dash_call {
    RAY_DASH_VERSION,
    RAY_DASH_SUBMIT, /* body: ray_build_submission's */
    RAY_DASH_JOB,
    RAY_DASH_JOBS,
    RAY_DASH_STOP,
    RAY_DASH_DELETE,
    RAY_DASH_LOG,   /* of the driver: its last lines */
    RAY_DASH_TASKS, /* of the cluster: how many of each function ended how */
    RAY_DASH_SERVE,
    RAY_DASH_SERVE_PUT, /* body: a Serve configuration */
    RAY_DASH_SERVE_DELETE,
    RAY_DASH_REPLICAS, /* of Serve: where their logs are */
    RAY_DASH_FILE,     /* the last lines of a log file of a node */
};
struct ray_dash_request {
    enum ray_dash_call call;
    struct slice id;    /* of a submission: JOB, STOP, DELETE, LOG. FILE: its path, as REPLICAS has it */
    struct slice node;  /* FILE */
    int64_t lines;      /* FILE */
    struct slice body;  /* JSON: SUBMIT, SERVE_PUT */
    struct slice token; /* RAY_AUTH_TOKEN, or empty */
    bool doubtful;      /* the head did not answer the last time: only a part of all calls in flight may be such */
};
const char *ray_dash_method(enum ray_dash_call call);
/* "/api/jobs/ID/stop"; service not empty: through the API server, "/api/v1/namespaces/NS/services/SERVICE:PORT/proxy/api/jobs/…". */
struct slice ray_dash_path(const struct ray_dash_request *r, struct slice ns, struct slice service, uint16_t port, struct arena *a);
/* The header with the token: not Authorization when proxied, because the API server uses that itself; Ray prefers this one if both are
 * sent. */
struct http_header ray_dash_token(struct slice token, bool proxied, struct arena *a);

enum ray_dash_outcome {
    RAY_DASH_OK,
    RAY_DASH_ABSENT,  /* no such job (404) */
    RAY_DASH_EXISTS,  /* a job of this id was submitted before */
    RAY_DASH_DENIED,  /* no token, or a wrong one (401, 403) */
    RAY_DASH_REFUSED, /* other 4xx: the same request will not succeed later either */
    RAY_DASH_FAILED,  /* 5xx, or a malformed or oversized answer: it may have taken effect */
    RAY_DASH_UNSENT,  /* no connection: it had no effect */
    RAY_DASH_LOST,    /* no answer: it may have taken effect */
};

struct ray_dash_job {
    struct slice submission_id, job_id; /* empty: none */
    struct slice status;                /* PENDING RUNNING SUCCEEDED FAILED STOPPED, or what a later Ray calls it */
    struct slice entrypoint, message, error_type, driver_node_id;
    bool driver;              /* started by ray.init(), not by a submission */
    int64_t start_ms, end_ms; /* by the head's clock, since 1970; 0: not yet */
    bool exited;
    int64_t exit_code;
};
bool ray_dash_job_ended(struct slice status); /* it is final */
/* Ray's message about a job as one line, without the log lines that Ray appends; NUL-terminated. */
struct slice ray_dash_job_words(const struct ray_dash_job *job, char *out, size_t size);
struct ray_serve_deployment {
    struct slice name, status, message;
    int64_t replicas; /* wanted */
};
struct ray_serve_app {
    struct slice name, status, message, route_prefix;
    struct slice config; /* JSON: what it was deployed from by a configuration; empty: by other means */
    const struct ray_serve_deployment *deployments;
    uint32_t deployment_count;
};

struct ray_serve_proxy {
    struct slice node_ip, status; /* HEALTHY STARTING UNHEALTHY DRAINING DRAINED */
};

enum { RAY_REPLICAS_MAX = 64, RAY_LOG_PATH = 256 }; /* replicas of one answer: further ones are left out, and those with a longer path */
struct ray_serve_replica {
    struct slice node, file; /* node id, and path of its log below the node's folder of logs; RAY_LOG_PATH bytes each at most */
};

/* All slices lie in the body or in the arena. */
struct ray_dash_answer {
    enum ray_dash_call call;
    enum ray_dash_outcome outcome;
    struct err err;                           /* set unless the outcome is OK: one line, with the head's own words */
    int http_status;                          /* 0: none */
    struct slice ray_version, session;        /* VERSION */
    struct slice submission_id;               /* SUBMIT */
    bool done;                                /* STOP: the job was running and is being stopped; DELETE: it was deleted */
    const struct ray_dash_job *jobs;          /* JOB: one; JOBS */
    const struct ray_serve_app *apps;         /* SERVE, in the head's order */
    const struct ray_serve_proxy *proxies;    /* SERVE: the HTTP proxies of Ray Serve, at most one on each node */
    const struct ray_serve_replica *replicas; /* REPLICAS: those that have a log */
    uint32_t job_count, app_count, proxy_count, replica_count;
    struct slice log; /* LOG: whole lines, at most LIMIT_RAY_LOG bytes of JSON text. TASKS: Ray's summary, JSON. FILE: any bytes */
    bool log_cut;     /* LOG: there were more before them */
};
/* Reads an answer. For LOG the body may be only its end, from ray_log. */
void ray_dash_read(enum ray_dash_call call, int status, struct slice body, bool log_cut, struct arena *a, struct ray_dash_answer *out);

/* The same for an answer through the API server's proxy. A 4xx of the API server itself means that the request did not reach the dashboard;
 * a 5xx leaves that open. right: the right that a 403 lacks, for the error text. log: the end of the log if it was gathered, else empty. */
void ray_dash_read_proxied(enum ray_dash_call call, const struct kube_answer *answer, struct slice log, bool log_cut, const char *right,
                           struct arena *a, struct ray_dash_answer *out);

/* The driver's log arrives as one JSON string of any length: keeps its end. */
struct ray_log {
    struct buf end;
    uint64_t total;
};
void ray_log_init(struct ray_log *l);
void ray_log_add(struct ray_log *l, struct slice piece);
struct slice ray_log_end(struct ray_log *l, bool *cut); /* for ray_dash_read */
void ray_log_free(struct ray_log *l);

/* The same, decoded while it arrives, to print all of it. Zero-initialise it. */
struct ray_log_text {
    uint64_t total; /* bytes of text so far */
    int state;      /* private from here */
    unsigned at;
    uint32_t point, high;
};
enum { RAY_LOG_TEXT = 4 * KIB };
/* Consumes bytes of *in and writes their text to out; repeat until *in is empty. False: it is not {"logs": "…"}; out has the text up to
 * there. Half a surrogate pair becomes U+FFFD. */
bool ray_log_text_read(struct ray_log_text *t, struct slice *in, char out[RAY_LOG_TEXT], size_t *n);
bool ray_log_text_whole(const struct ray_log_text *t); /* it may end here */

/* ---- fair queueing of calls to dashboards ----
 *
 * At most `most` calls are in flight, at most RAY_DASH_LINKS_HOST of them to one host, and at most `most_doubtful` to heads that did not
 * answer the last time. Hosts take turns, calls to one host keep their order, so that hanging heads delay no other. Each step takes
 * constant time however many calls are queued (LIMIT_RAY_DASH_CALLS, those in flight included): a thousand jobs may share one head. */

struct ray_turn {
    void *call;
    struct ray_turn_host *host; /* private from here */
    struct ray_turn *prev, *next;
    uint64_t number; /* of all that were entered */
    bool doubtful, begun;
};
struct ray_turn_round {
    struct ray_turn_lane *first, *last; /* without those that are full */
};
struct ray_turns {
    uint32_t most, most_doubtful;
    void (*begin)(void *call, struct now now); /* the call may start; it may call ray_turn_leave in here */
    struct map hosts;                          /* private from here */
    struct ray_turn_round rounds[2];           /* [1]: of doubtful calls */
    uint32_t count, begun, doubtful;           /* doubtful: in flight */
    uint64_t entered, looked;                  /* looked: lanes examined to find the next call, a measure of cost */
    bool look;                                 /* a call entered or left: another may start */
};
bool ray_turn_enter(struct ray_turns *all, struct ray_turn *t, struct slice host, uint16_t port, bool doubtful, struct err *e);
void ray_turn_leave(struct ray_turns *all, struct ray_turn *t); /* it ended or was cancelled; also allowed if it never entered */
int64_t ray_turns_tick(struct ray_turns *all, struct now now);  /* starts calls; returns when to call again */

/* ---- a client over links ---- */

typedef void ray_dash_done(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now);
/* A piece of a log. It must not call ray_dash_ask or ray_dash_forget. */
typedef void ray_dash_text(void *owner, uint64_t tag, struct slice piece);
struct ray_dash_to { /* all slices are copied */
    struct slice host;
    uint16_t port;
    ray_dash_done *done;
    void *owner;
    uint64_t tag;
    ray_dash_text *text; /* LOG: gets the whole log, of any length, before the answer, which has none then */
};
/* Each call has its own connection and RAY_DASH_MS from the start of its turn (again with each RAY_LOG_STEP of a log that is printed). At
 * most RAY_DASH_LINKS are in flight, RAY_DASH_LINKS_DOUBTFUL of them to heads that did not answer the last time. */
struct ray_dash_pool;
struct ray_dash_pool *ray_dash_pool_new(struct net *net);
void ray_dash_pool_free(struct ray_dash_pool *p);
uint64_t ray_dash_pool_looked(const struct ray_dash_pool *p);        /* see ray_turns.looked */
int64_t ray_dash_pool_tick(struct ray_dash_pool *p, struct now now); /* starts queued calls; returns when to call again */
/* Queued; sent by the next tick. */
bool ray_dash_ask(struct ray_dash_pool *p, const struct ray_dash_to *to, const struct ray_dash_request *r, struct err *e);
/* Ends all calls of this owner without callbacks. */
void ray_dash_forget(struct ray_dash_pool *p, const void *owner);

#endif
