/* Shared by the files of the hub.
 *
 * A call is one request from its arrival to its answer. It goes through steps: who asks (auth.c), may he (auth.c), what is it about
 * (sync.c, rest.c). A step that needs the API server asks it with call_ask and goes on when the answer is there. */
#ifndef MOBULA_HUB_PRIVATE_H
#define MOBULA_HUB_PRIVATE_H

#include <mobula/hub.h>
#include <mobula/remote.h>
#include <mobula/tls.h>

/* ---- records of objects: cloud.c, kind_*.c, store.c ---- */

struct call;

/* Of a JSON text, as who reads it counts. */
struct weight {
    size_t bytes, tokens; /* tokens: at most so many */
    int depth;
};

struct workload {
    struct cloud *of;
    struct workload *next, **back;     /* of the same cloud */
    struct slice ns, name, uid, cloud; /* in text[], as the next three; uid: as operators know it, which a restore does not change */
    struct slice object_uid;           /* as the API server has it */
    struct slice config;               /* spec.computeConfig.name; empty: none */
    struct slice spec;
    int64_t generation, observed; /* observed: the generation that the status speaks of */
    uint64_t version;
    uint64_t changed; /* the version at which something changed that its operator is to know */
    struct {
        uint64_t said;     /* hash of the status that was written last; 0: unknown */
        uint64_t reporter; /* hash of the instance that has reported the status; 0: none */
        int64_t sequence;  /* of that report */
        struct slice ray;  /* status.ray, which its pods report and not its operator, in text[] too; empty: none */
        int64_t ray_ms;    /* monotonic: the next report of its pods is refused before */
    } report;
    const char *over;      /* the status says that it has ended: "SUCCEEDED"; NULL: it does not */
    uint32_t round;        /* of the list that showed it */
    int32_t finalizer;     /* index of ours among the finalizers; -1: it is not there */
    bool other_finalizers; /* the list of finalizers is there */
    bool deleting, done;   /* done: its operator has nothing of it any more */
    bool writing;          /* a report of it is on its way to the API server */
    bool shown;            /* its operator may know this generation: it has the finalizer, and nothing hides it */
    int64_t base;          /* generation and observed are above the object's own by this much: it was restored */
    struct {
        bool annotated, identified, end; /* it has annotations, among them its identity, and its end */
        bool end_unsaid;                 /* `over` is the annotation's: a restore has dropped the status */
    } marks;
    bool terminate;       /* spec.terminate: nothing else of the spec counts */
    struct weight weight; /* of the spec */
    const char *hidden;   /* why its operator is not told of this generation: HUB_UNRESOLVED or HUB_UNFIT; NULL: nothing hides it … */
    const char *told;     /* … and which of them its status says */
    char text[];
};

/* As client-go judges a Lease: times in the record are other machines' clocks and decide nothing. A session has ended when the record has
 * not changed for HUB_SESSION_MS since this replica first saw this version of it, by its own monotonic clock. */
struct session {
    char instance[LIMIT_HUB_INSTANCE + 1], lease[LIMIT_HUB_LEASE + 1]; /* instance empty: nobody's */
    char last[TIME_TEXT_MAX];                                          /* lastContactTime: only to be told */
    int64_t since_us;
    int64_t renewals; /* a renewal differs from the one before by this number, whatever the clocks say */
    uint64_t hash;    /* of the record; 0: there is none */
    int64_t seen_ms;  /* monotonic: when this replica first saw this version of the record */
    int64_t wrote_ms; /* monotonic: when this replica sent its last write of this instance's session that succeeded; 0: it has sent none */
    char url[LIMIT_HUB_URL + 1]; /* of the replica that holds its calls; empty: it cannot be reached */
    bool here;                   /* that is this replica */
};

struct cloud_condition {
    char status[8];   /* True, False, Unknown */
    int64_t since_us; /* 0: it is not there */
};

/* A Cloud, or what workloads name as one. */
struct cloud {
    char *key; /* "ns/name" */
    struct slice ns, name;
    bool present;
    char id[HUB_DEPLOYMENT_ID + 1]; /* while it is present */
    bool told_id;                   /* status.deploymentId is there */
    bool marked;                    /* … and the annotation that keeps it over a restore */
    uint64_t version;
    uint32_t round;
    struct session session;
    struct slice identity; /* spec.operatorIdentity; own memory */
    uint64_t health;       /* hash of the components in the status */
    bool silent;           /* its status says that its operator does not call */
    struct cloud_condition connected, healthy;
    char types[LIMIT_HUB_HASH + 1], nodes[LIMIT_HUB_HASH + 1]; /* hashes of the lists in the status */
    struct workload *first;
    int64_t full_ms;            /* of bootstrap calls: for auth_pays */
    struct call *held;          /* its operator's call, until there is something to answer */
    struct question *questions; /* oldest first */
    uint32_t calls;             /* that point here */
};

struct config {
    char *key; /* "ns/name" */
    struct slice spec;
    struct weight weight;
    uint32_t round;
};

struct source;

/* One of the hub's kinds: its records, as its watches show them, and the writes that its objects need. */
struct hub_kind {
    const struct kube_resource *resource;
    struct slice name; /* "Cloud" */
    /* Brings a record up to date with an object; an older version is ignored. from NULL: the object is the answer to a call. */
    void (*keep)(struct hub *h, struct source *from, struct jval object);
    void (*drop)(struct hub *h, struct source *from, struct jval object, uint64_t version); /* the object was deleted, at this version */
    void (*sweep)(struct hub *h, struct source *from, uint64_t version);                    /* as in struct kube_keeper_user */
    void (*listed)(struct hub *h, struct source *from, bool first);                         /* the same; may be NULL */
    void (*care)(struct hub *h); /* writes that objects need, once all lists are complete and from time to time; may be NULL */
    void (*free)(struct hub *h);
};
extern const struct hub_kind hub_kind_cloud, hub_kind_config, hub_kind_workload;

enum { SOURCE_CLOUDS, SOURCE_CONFIGS, SOURCE_WORKLOADS, SOURCES };
extern const struct hub_kind *const hub_kinds[SOURCES];

/* One watched kind of a space. */
struct source {
    struct kube_keeper keeper;
    struct space *space;
    const struct hub_kind *kind;
};

/* A workload that is gone without its operator having said so. */
struct gone {
    struct cloud *of;
    char uid[LIMIT_HUB_UID + 1];
    uint64_t version;
};

struct space {
    struct hub *hub;
    struct slice ns; /* empty: all */
    struct source source[SOURCES];
    uint64_t floor; /* changes before it are not known in order: a revision below it is answered in full */
    struct gone gone[LIMIT_HUB_GONE];
    uint32_t gone_at; /* the oldest: written next */
    bool going;       /* leave.c: the namespace is being deleted */
};

struct hub_stats {
    uint64_t syncs, statuses, dropped, refused, conflicts, resyncs;
};

struct hub {
    struct hub_options o;
    struct kube_client *client;
    struct serve *serve, *metrics;
    struct now now;
    struct rng rng;
    struct map clouds, ids, configs, workloads; /* by "ns/name", deployment id, "ns/name", uid */
    struct {
        struct map users, verdicts;
        struct kube_config *sts_config;
        struct kube_client *sts;                       /* NULL: no proofs of AWS are taken */
        uint32_t reviews, unknown_reviews;             /* in flight: all of them, and those of unknown tokens */
        int64_t unknown_ms, address_ms[HUB_ADDRESSES]; /* for rate_pays: reviews of unknown tokens, in all and by address */
    } auth;
    size_t values; /* of the calls of operators: LIMIT_HUB_VALUES */
    struct space *spaces;
    struct call *calls;
    struct flight *flights; /* call.c: questions to the API server */
    struct arena event;     /* reset with each event and answer */
    struct buf body, path;
    uint64_t questions; /* asked so far */
    int64_t care_ms;    /* hub_store_care again */
    struct log_memory said;
    struct hub_stats stats;
    struct {
        struct tls_identity *identity; /* NULL: no certificate */
        uint64_t certified;            /* hash of its texts */
        struct buf trusted;            /* PEM that other replicas' certificates are checked against … */
        char name[128];                /* … and a name that they have */
        struct keeper *keeper;         /* cert.c; NULL: the certificate is given */
    } tls;
    struct net *net;
    struct peer *peers;
    char secret[TLS_MAC]; /* known to all replicas that have the same key */
    bool stopping;
    int64_t stop_ms;  /* monotonic: since when */
    uint32_t leaving; /* leave.c: questions without an answer … */
    int64_t leave_ms; /* … and until when finalizers are waited for; 0: not yet */
};

/* peer.c: other replicas */
int64_t peers_tick(struct hub *h); /* returns when to call again */
void peers_free(struct hub *h);
bool peer_forwarded(const struct call *c);                   /* another replica has sent it on: it is not sent on again */
bool peer_holds(const struct hub *h, const struct cloud *c); /* another replica holds its operator's call, and can be reached */
void peer_forward(struct call *c, const struct cloud *to);   /* sends c on to that replica: its answer is c's answer */
void peer_answers(struct call *c,
                  struct slice answers); /* sends answers of c's operator on to that replica, which has asked; c waits for it */

/* cert.c */
void hub_cert_start(struct hub *h);
void hub_cert_free(struct hub *h);
void hub_cert_renew(struct hub *h);
int64_t hub_cert_tick(struct hub *h); /* returns when to call again */
bool hub_cert_ready(const struct hub *h, struct buf *why);

bool hub_store_start(struct hub *h, struct err *e);
void hub_store_stop(struct hub *h); /* its watches: before the client goes */
void hub_store_free(struct hub *h);
struct cloud *hub_store_cloud_by_id(const struct hub *h, struct slice id);
struct space *hub_store_space(const struct hub *h, struct slice ns); /* NULL: not served */
bool hub_space_has(const struct space *s, struct slice ns);          /* the namespace is the space's */
bool hub_space_known(const struct space *s);                         /* all of its lists have been complete */
void hub_store_care(struct hub *h);                    /* writes that objects need: again from time to time, since they may fail */
void workload_care(struct hub *h, struct workload *w); /* the same for one workload */
/* A read of the newest state showed a version that is below one known before the read was sent: everything is listed again. */
void hub_store_restored(struct hub *h, uint64_t known, uint64_t is);
struct slice hub_key(struct hub *h, struct slice ns, struct slice name);   /* "ns/name", in h->event */
char *hub_copy(struct slice s);                                            /* with mem_alloc */
struct cloud *cloud_at(struct hub *h, struct slice ns, struct slice name); /* made if it is not there */
void cloud_leave(struct call *c);                                          /* the call is none of its cloud's any more */
void cloud_release(struct hub *h, struct cloud *c);                        /* frees it if nothing is left of it */
/* Has its operator's call answered if there is something to say: after a change. */
void cloud_touch(struct cloud *c);
uint64_t hub_hash(struct jval v); /* of the value: the same for every spelling */

/* ---- resolve.c: compute configs ---- */

/* The config that a workload names. NULL: there is none. */
const struct config *config_find(const struct hub *h, struct slice ns, struct slice name);
extern const char HUB_UNRESOLVED[], HUB_UNFIT[]; /* reasons: its compute config is not there; no operator could read it */
const char *hidden_word(struct jval reason);     /* which of them it is; NULL: none */
struct weight weigh(struct slice json);
/* Sets hidden and shown. */
void workload_look(struct hub *h, struct workload *w);
/* The same for all of a namespace (empty: of all) that name a compute config, when one has come, changed or gone. */
void workloads_look(struct hub *h, struct slice ns);
/* Writes to the status of a hidden workload why it is hidden, or that its compute config has come, unless the status says so. */
void hidden_care(struct hub *h, const struct workload *w);
/* Its operator has not reported this generation, so the status is the hub's to write. */
bool workload_waits(const struct workload *w);
/* The spec for its operator, in a: the compute config stands in it. */
struct slice workload_spec(const struct hub *h, const struct workload *w, struct arena *a);

/* ---- calls: call.c ---- */

typedef void call_step(struct call *c);

struct call {
    struct hub *hub;
    struct serve_ask *ask; /* NULL: the client has gone */
    struct call *next, **back;
    struct arena arena;
    const char *verb; /* for the audit, and what is asked of the API server */
    struct slice project, resource, name;
    struct slice token;  /* SHA-256 of it */
    struct slice proven; /* the token is a proof of an identity of AWS (caller.c): the deployment id that it is for; ptr NULL: it is none */
    struct slice user, subject;
    call_step *then;      /* when the API server has answered all of it */
    call_step *touch;     /* when until_ms has come, or its cloud has changed */
    call_step *next_step; /* auth.c: behind the review */
    uint32_t pending;
    /* the answer to the last of it, during `then` */
    const struct kube_answer *answer;
    /* sync.c */
    struct cloud *cloud;
    struct {
        struct json doc;
        size_t values; /* of it, in hub.values */
        struct slice instance, lease, version;
        int64_t wrote_ms;  /* when the write of its session was sent */
        uint64_t revision; /* that the operator has */
        struct slice cursor;
        bool full, want_types, want_nodes;
        bool release; /* the operator ends: the cloud is nobody's behind this call */
        uint32_t tries;
        uint64_t known; /* version of the cloud when it was read */
        bool failed;    /* a write did not come through: the operator is to report again */
        char failure[ERR_TEXT_MAX];
        int64_t wait_ms;             /* for how long the answer may be held */
        int64_t ahead_ms, listed_ms; /* the operator has a newer revision than we: since when, and when a list was asked for */
        int64_t since_ms;            /* it is held since then; 0: not yet */
    } sync;                          /* the call of an operator */
    int64_t until_ms;                /* touch is called then; 0: not at all */
    struct question *question;       /* the peer whose answer it waits for */
    call_step *hide;                 /* answers instead of a 403, which would show that the object exists; NULL: 403 */
    struct slice uid, version;       /* of the workload whose log is asked for; version: of its service, or empty */
    struct folder *folder;           /* folder.c */
    int64_t lines;
};

extern const struct serve_user hub_people; /* routes.c */
struct call *call_new(struct hub *h, struct serve_ask *q);
bool call_resource(struct slice name); /* one of those that people may ask for */
void call_drop_values(struct call *c); /* its request has been read: the memory of it is free again */
void call_gone(struct serve_ask *q);
int64_t calls_tick(struct hub *h); /* calls whose time has come; returns when the next one's does */
void calls_free(struct hub *h);
/* Asks the API server; c->then follows when nothing is pending any more. */
void call_ask(struct call *c, struct kube_request *r);
/* The same for one of many: done gets its answer before c->then. c NULL: a write of the hub's own, for which nobody waits. */
typedef void call_done(struct hub *h, struct call *c, void *about, const struct kube_answer *a);
void hub_ask_at(struct hub *h, struct kube_client *client, struct call *c, struct kube_request *r, call_done *done, void *about);
void hub_ask(struct hub *h, struct call *c, struct kube_request *r, call_done *done, void *about);
/* Takes back one that was added to c->pending by hand, so that c->then does not come in the middle of several questions. */
void call_settle(struct call *c);
/* Ends the call. */
void call_answer(struct call *c, int status, struct slice json);
void call_text(struct call *c, int status, struct slice text);
struct refusal {
    int status;
    const char *code, *remedy;
    int retry_s; /* 0: no Retry-After */
};
void call_refuse(struct call *c, const struct refusal *r, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* An answer of the API server other than 2xx, in our words. */
void call_refuse_as(struct call *c, const struct kube_answer *a);
bool answer_too_large(const struct kube_answer *a);           /* refused for the object's size: 413, or a 500 that says so */
void call_relay(struct call *c, const struct kube_answer *a); /* answers with another replica's refusal */
extern const struct refusal refuse_bad, refuse_unknown, refuse_later, refuse_lost, refuse_cloud;
/* The path of an object of the hub's resources, in h->path. */
struct slice hub_path(struct hub *h, const struct kube_resource *r, struct slice ns, struct slice name, struct slice sub);

/* ---- authentication and rights: auth.c ---- */

/* Goes on with `then` when the token is somebody's, whose name is c->user then; refuses otherwise. */
void auth_who(struct call *c, call_step *then);
/* Goes on when that user may c->verb c->resource c->name in c->project; refuses otherwise. */
void auth_may(struct call *c, call_step *then);
struct slice auth_bearer(const struct call *c); /* the bearer token; empty: there is none */
/* Each call costs HUB_RATE_MS. *full_ms: the time at which all calls so far are paid for. False: more than HUB_BURST calls are not. */
bool auth_pays(int64_t *full_ms, struct now now);
/* Keeps the text of a review that an operator has made, for as long as reviews of our own API server are remembered; ptr NULL: there is
 * none. */
void auth_keep(struct call *c, struct slice key, bool yes, struct slice words);
struct slice auth_kept(struct call *c, struct slice key);
void auth_free(struct hub *h);

/* caller.c: proofs of an identity of AWS */
struct slice caller_cloud(struct slice token);                 /* the deployment id that it is for; ptr NULL: the token is no proof */
const char *caller_check(struct slice token, int64_t wall_us); /* NULL, or why it cannot be valid */
void caller_request(struct hub *h, struct slice token, struct kube_request *r); /* its path lies in h->body */
/* Reads the answer of STS: an ARN, or why there is none. False: there is no answer, and the call is refused. */
bool caller_answer(struct call *c, const struct kube_answer *a, struct slice *arn, struct slice *why);

/* ---- the subject of a call ---- */

void sync_begin(struct call *c); /* sync.c */
/* session.c */
void session_take(struct call *c, call_step *then); /* the cloud is this instance's, and what it reports of it is stored */
void session_read(const struct hub *h, struct cloud *c, struct jval status, struct arena *a);
bool session_silent(const struct hub *h, const struct cloud *c); /* it was not renewed for HUB_SESSION_MS */
/* Until when an instance may be told of work on the strength of its session: before another replica can call the session ended. */
int64_t session_sure_ms(const struct cloud *c);
void session_refuse(struct call *c); /* 409: another instance has the cloud */
/* Refuses the call with 404 if its cloud was deleted after the API server carried out the request. */
bool session_refuse_deleted(struct call *c);
/* health.c: the member conditions of a Cloud's status. healthy: True, False or Unknown; failed: the message of the components that
 * failed; silent: the message when the operator does not call, or empty. */
void conditions_write(struct cloud *c, const char *healthy, struct slice failed, struct slice silent, int64_t now_us, struct jout *w);
void conditions_read(struct cloud *c, struct jval status, struct arena *a);
void silence_care(struct hub *h); /* clouds whose operators have gone silent */
/* clean.c: text of operators, heads and pods, cleaned before it is stored. */
struct slice clean_message(struct slice text, struct arena *a);                 /* one line, and behind "log:" the lines of a log */
struct slice clean_json(struct jval v, struct arena *a);                        /* with each key and string as one line */
bool clean_url(struct slice url);                                               /* http or https, printable ASCII, at most LIMIT_HTTP_URL */
void put_time(struct jout *w, const char *key, struct jval v, struct arena *a); /* only what is a time */
void reports_write(struct call *c, call_step *then);                            /* report.c: statuses */
/* page.c: the members revision, full, more and workloads of an answer, and whether there is anything to say in them. */
void page_write(struct call *c, struct jout *w);
bool page_due(const struct call *c);
void project_may(struct call *c, call_step *then); /* rest.c: auth_may, when the project is served here */
void rest_begin(struct call *c);
void logs_begin(struct call *c);
struct workload *workload_named(const struct hub *h, struct slice ns, struct slice name);
void folder_put_begin(struct call *c); /* folder.c */
void folder_get_begin(struct call *c);
void operator_may(struct call *c, call_step *then);     /* sync.c: auth_may, and the user is the one that the cloud names */
void figures_write(const struct hub *h, struct buf *b); /* metrics.c */
/* writes.c: requests, whose bodies are in h->body: a merge patch of an object, or of its "status" … */
struct kube_request hub_patch(struct hub *h, const struct kube_resource *of, struct slice ns, struct slice name, const char *sub);
struct kube_request cloud_patch(struct hub *h, const struct cloud *c); /* of its status */
struct kube_request workload_patch(struct hub *h, const struct workload *w, const char *sub, const char *type);
struct kube_request finalizer_request(struct hub *h, const struct workload *w, bool add);
struct kube_request ray_request(struct call *c, const struct workload *of, struct jval ray); /* of what a pod reports */
/* … and writes for which no call waits. */
void finalizer_write(struct hub *h, const struct workload *w, bool add);
void hidden_write(struct hub *h, const struct workload *w, const char *why); /* the status says why it is hidden; NULL: not any more */
void deployment_id_write(struct hub *h, const struct cloud *c);
void end_write(struct hub *h, const struct workload *w); /* the status of a workload whose end only its annotation says */

/* leave.c: the process is to end. True: finalizers of a namespace that is being deleted are still to be removed. */
bool hub_leaves(struct hub *h);

/* identity.c */
struct slice identity_of_workload(const struct hub *h, struct jval object, struct arena *a);
int64_t identity_generations(struct jval object, struct arena *a); /* workload.base of a restored workload */
void identity_read_marks(struct workload *w, struct jval object, struct arena *a);
struct slice identity_of_cloud(struct jval object, struct arena *a); /* its deployment id; empty: no annotation says so */
void identity_put(const struct workload *w, struct buf *out);
void identity_mark_cloud(struct hub *h, const struct cloud *c);
void identity_mark_end(struct hub *h, const struct workload *w);

/* pods.c */
struct credential {
    int64_t end_s;                     /* since 1970 */
    struct slice cloud, workload, pod; /* deployment id and uids */
};
struct slice credential_make(const struct hub *h, const struct credential *c, struct arena *a);
const char *credential_read(const struct hub *h, struct slice text, struct credential *out); /* NULL, or why it is not accepted */
void bootstrap_begin(struct call *c);
void report_begin(struct call *c);

typedef void question_done(struct call *c, const struct cloud *of, struct jval answer);

struct question {
    struct question *next;
    struct cloud *of;
    struct call *call;
    char id[32];
    const char *kind;
    question_done *done; /* gets the operator's answer */
    struct slice uid;    /* in the call's arena, as version. Empty: the token of the call is asked about */
    struct slice version;
    int64_t lines;
    bool sent;
};
void question_put(struct call *c, struct cloud *of, const char *kind, question_done *done);
void question_drop(struct question *q);
/* Those that have not been sent; true: there is one. w NULL: only whether. */
bool questions_write(struct cloud *c, struct jout *w);
bool question_answered(struct cloud *of, struct jval answer); /* false: nobody here has asked it */

#endif
