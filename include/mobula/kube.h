/* kube: the Kubernetes API as calls, watches, a lease and events, over links. It knows Status errors, resourceVersions, continue tokens,
 * relists, Retry-After and flow control; it knows nothing of pods. Rules and their ids (L1…, C1…, W1…) are those of the API contract that
 * the tests carry.
 *
 * Everything here is a state machine: given bytes (through links) and time (through tick) it sends bytes, calls back with finished answers
 * and items, and names its next deadline. Callbacks may start further calls. */
#ifndef MOBULA_KUBE_H
#define MOBULA_KUBE_H

#include <mobula/base.h>
#include <mobula/http.h>
#include <mobula/json.h>
#include <mobula/net.h>

/* ---- configuration: where the server is and who we are. The only part that reads files (and, when allowed, runs an exec plugin). ---- */

struct kube_config_options {
    const char *kubeconfig; /* a path; NULL: $KUBECONFIG (a list, first wins), else in-cluster, else ~/.kube/config */
    const char *context;    /* NULL: current-context */
    bool allow_exec; /* exec plugins may run: true for commands; for the operator and the control plane only if stderr is a terminal */
};

struct kube_config {
    struct slice host; /* name or IP, without brackets */
    uint16_t port;
    bool tls, insecure, in_cluster;
    bool plugin;              /* its exec plugin is run while it is used */
    struct slice tls_name;    /* the name or address that the certificate must be for */
    struct slice path_prefix; /* "" or "/k8s/clusters/c-1", no slash at the end */
    struct slice namespace_;  /* of the context or the service account; "default" when neither says */
    struct slice source;      /* "in-cluster" or the file, for messages */
    const char *name;         /* of the server, in messages: "API server" */
    const char *setting;      /* that names the server: for the allowlist's message */
    struct tls_trust *trust;
    struct tls_identity *identity;
    bool use_proxy;
    struct net_proxy proxy;
    struct slice impersonate_user, impersonate_uid;
    struct slice *impersonate_groups;
    uint32_t impersonate_group_count;
    struct http_header *impersonate_extra; /* whole headers: Impersonate-Extra-KEY */
    uint32_t impersonate_extra_count;
    struct kube_config_private *private_;
};

/* A kubeconfig entry that is named twice counts as it stands first. auth-provider is refused by name, and so is an exec plugin without
 * allow_exec. An https server without certificate-authority is checked against the machine's own CA bundle. */
struct kube_config *kube_config_load(const struct kube_config_options *o, struct err *e);
/* Files with the CAs that a distribution trusts, in the order in which they are looked for; ended by NULL. */
extern const char *const kube_system_bundles[];
/* Another server that is called in the same way, with a bearer token. */
struct kube_config_url {
    const char *url; /* https://HOST[:PORT][/PREFIX]; http:// only to this machine itself: no token goes over a network in the clear, unless
                        `clear` */
    bool clear;      /* the token's rights are few enough: docs/security.md */
    const char *setting, *name; /* as in struct kube_config */
    const char *token_file;     /* read again while it is used */
    struct slice token;         /* without token_file; empty: none */
    const char *ca_file;        /* read again too; NULL: the machine's own CA bundle */
    struct slice ca, tls_name;  /* in their place: PEM, which is copied; what the certificate is for, when that is not the host */
    const char *more_ca_file;   /* --egress-ca-file: CAs beside those, read again too; then this machine need not have a bundle */
};
struct kube_config *kube_config_url(const struct kube_config_url *o, struct err *e);
void kube_config_free(struct kube_config *c);
/* The value of the Authorization header, or empty. Never logged. */
struct slice kube_config_authorization(const struct kube_config *c);
/* Which cluster the server is the API server of, in words for whom they only have to differ: inside, many clusters give it the same
 * address, but each has a CA of its own. */
struct slice kube_config_cluster(const struct kube_config *c, struct arena *a);
/* Replaces the token of a configuration that was given none. */
void kube_config_set_token(struct kube_config *c, struct slice token);
void kube_config_endpoint(const struct kube_config *c, struct endpoint *out);
/* host and port, and the proxy, go on the allowlist. */
bool kube_config_allow(const struct kube_config *c, struct net_allow *allow, struct err *e);

/* ---- resourceVersions: decimal integers, comparable within one resource type (KEP-5504). 0 is "none". etcd's are int64. ---- */

bool kube_version_parse(struct slice text, uint64_t *out);
enum { KUBE_VERSION_TEXT = 24 };
struct slice kube_version_format(uint64_t version, char out[KUBE_VERSION_TEXT]); /* "" for 0 */

/* ---- paths ---- */

struct kube_resource {
    struct slice group;   /* "" for the core group */
    struct slice version; /* "v1" */
    struct slice plural;  /* "pods" */
};
extern const struct kube_resource kube_pods, kube_services, kube_configmaps, kube_secrets;
/* /api/v1/namespaces/NS/pods/NAME/SUB or /apis/G/V/…; empty ns: all namespaces; empty name, sub: left out. */
bool kube_path(struct buf *b, const struct kube_resource *r, struct slice ns, struct slice name, struct slice sub);
/* Adds ?name=value, or &name=value behind an earlier one; the value is percent-encoded. fieldManager and force for server-side apply (W5),
 * dryRun=All and fieldValidation=Strict (W10), timeout=5s. */
bool kube_query(struct buf *b, const char *name, struct slice value);

/* Decodes a key of a Secret and appends it. An optional one may be missing or empty: cert-manager may write an empty ca.crt. */
bool kube_secret_data(struct jval secret, const char *key, bool optional, struct buf *out, struct arena *a, struct err *e);

/* A CA in a Secret: tls.crt, tls.key, and ca.crt, or tls.crt in its place. Zero-initialise it. */
struct kube_ca {
    struct buf cert, key, root;
};
/* Replaces what *ca holds. False: it is not complete. */
bool kube_secret_ca(struct jval secret, struct kube_ca *ca, struct arena *a, struct err *e);
void kube_ca_wipe(struct kube_ca *ca);

/* Which field belongs to whom: half of the bytes of an object, and nobody here reads them. Watches hand out objects without. */
#define KUBE_UNREAD "metadata.managedFields"

/* Content types (W4). Strategic merge is not among them: custom resources do not know it. */
#define KUBE_TYPE_JSON "application/json"
#define KUBE_TYPE_JSON_PATCH "application/json-patch+json"
#define KUBE_TYPE_MERGE_PATCH "application/merge-patch+json"
#define KUBE_TYPE_APPLY "application/apply-patch+yaml" /* JSON is YAML */

/* The body of a DELETE (W3): only the object of this uid, and with version != 0 only as it stood then. propagation is Background,
 * Foreground, Orphan, or empty for the server's default. */
bool kube_delete_options(struct buf *b, struct slice uid, uint64_t version, struct slice propagation);

/* ---- reviews: whose a token is, and what its user may do ---- */

#define KUBE_TOKEN_REVIEWS "/apis/authentication.k8s.io/v1/tokenreviews"
#define KUBE_ACCESS_REVIEWS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

/* Whether the token is a JWT whose claim "aud" has the audience. The claim is not verified here: it decides whether the TokenReview asks
 * for that audience, and the API server verifies it. */
bool kube_token_is_for(struct slice token, const char *audience, struct arena *a);
/* Bodies of both. audience NULL: the API server's own. subject: of a TokenReview's answer; attributes: resourceAttributes, JSON. */
void kube_token_review(struct buf *b, struct slice token, const char *audience);
void kube_access_review(struct buf *b, struct slice subject, struct slice attributes);
/* Reads the status of their answers. Texts may lie in the document. */
struct kube_review {
    bool yes;
    struct slice user, subject; /* of an accepted token: its name, and members of a SubjectAccessReview's spec as a JSON object */
    struct slice reason;
};
void kube_token_reviewed(struct jval status, const char *audience, struct arena *a, struct kube_review *out);
void kube_access_reviewed(struct jval status, struct arena *a, struct kube_review *out);

/* ---- answers ---- */

enum kube_reason { /* of a Status; the words of metav1.StatusReason */
                   KUBE_REASON_NONE,
                   KUBE_UNAUTHORIZED,
                   KUBE_FORBIDDEN,
                   KUBE_NOT_FOUND,
                   KUBE_ALREADY_EXISTS,
                   KUBE_CONFLICT,
                   KUBE_GONE,
                   KUBE_INVALID,
                   KUBE_SERVER_TIMEOUT,
                   KUBE_TIMEOUT,
                   KUBE_TOO_MANY_REQUESTS,
                   KUBE_BAD_REQUEST,
                   KUBE_METHOD_NOT_ALLOWED,
                   KUBE_NOT_ACCEPTABLE,
                   KUBE_TOO_LARGE,
                   KUBE_UNSUPPORTED_MEDIA,
                   KUBE_INTERNAL,
                   KUBE_EXPIRED,
                   KUBE_UNAVAILABLE,
                   KUBE_STORAGE_READ,
                   KUBE_REASON_OTHER,
};

struct kube_status {
    int code;
    enum kube_reason reason;
    char message[ERR_TEXT_MAX];
    int64_t retry_after_ms;     /* -1: none */
    bool object;                /* a Status object says so; else there is the bare code */
    bool version_too_large;     /* cause ResourceVersionTooLarge (L6) */
    bool namespace_terminating; /* cause NamespaceTerminating (W14) */
    bool manager_conflict;      /* cause FieldManagerConflict (W5) */
};
/* Reads a Status object, or makes one from the bare code when the body is none. */
void kube_status_read(int code, struct slice body, struct kube_status *out);
const char *kube_reason_text(enum kube_reason r);

/* ---- the client ---- */

enum kube_outcome {
    KUBE_OK,      /* 2xx: body holds the object */
    KUBE_REFUSED, /* a well-formed error: see status. Below 500 it had no effect; a 5xx to a write may have had one */
    KUBE_UNSENT,  /* it never reached the server: see err */
    KUBE_UNKNOWN, /* it was sent and the answer is lost: it may have taken effect */
};

struct kube_answer {
    enum kube_outcome outcome;
    struct kube_status status;
    struct slice body;     /* valid during the callback, and so are */
    struct slice warnings; /* the server's warnings, where they were asked for: LIMIT_KUBE_WARNINGS lines at most, each a text fit to be
                              told */
    struct err err;        /* of a call without an answer. ERR_STATUS: its last try was refused, and there was no time for another */
    int told;              /* HTTP status of the last refusal of any of its tries; 0: none */
    int64_t took_ms;
};

typedef void kube_done(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now);
/* A piece of a body. It must not make or recall calls. */
typedef void kube_piece(void *owner, uint64_t tag, struct slice piece);

enum kube_lane {
    KUBE_LANE_MAIN,   /* under the adaptive window */
    KUBE_LANE_EVENTS, /* one link, best effort */
    KUBE_LANE_LEASE,  /* one link of its own, so that a renewal never waits behind pods */
    KUBE_LANE_PROXY, /* the server's proxy to a backend that may hang (KUBE_PROXY_CALLS at a time) or lie: an answer here counts for its own
                        call only, never against the server or our credentials */
};

struct kube_request {
    enum kube_lane lane;
    struct slice method;       /* "POST" */
    struct slice path;         /* with query, percent-encoded, without the prefix */
    struct slice content_type; /* of the body; empty: no body */
    struct slice body;         /* path, body and header are copied */
    struct http_header header; /* one more; no name: none. For whom the server passes the request on to */
    bool again;         /* idempotent: may be sent again after a lost answer (GET, PUT with RV, DELETE with uid, server-side apply) */
    bool at_once;       /* do not retry 5xx (or a webhook's 429) inside the client; report it so the caller can back off without
                           holding a window slot */
    bool warnings;      /* the answer holds the server's warnings; false: the client logs them, each text once */
    bool secret;        /* the answer holds a secret: its buffers are wiped after `done` */
    int64_t timeout_ms; /* from now; 0: KUBE_CALL_MS */
    int64_t begin_ms;   /* not sent at all after this time; 0: until the timeout */
    kube_done *done;    /* called once, unless the client is freed before */
    kube_piece *piece;  /* gets the body of a 2xx in pieces, of any length; the answer has none then. Each piece restarts the
                           timeout, and after the first the call is not retried. NULL: the answer holds the body */
    void *owner;
    const void *about; /* key of the owner's: kube_calls_recall ends calls with the same key; NULL: none */
    uint64_t tag;
};

struct kube_client;
/* The main lane has an adaptive window of calls in flight over kept connections: it follows the time that answers take, and is halved after
 * a 429 (src/kube/window.h).
 * While the server cannot be reached, one call at a time is tried, with backoff; the others stay queued until their timeout. That is logged
 * once, and then once a minute.
 *
 * Callbacks may do anything but free or tick the client. config and net stay the caller's; seed determines all jitter. user_agent: a
 * literal. */
struct kube_client *kube_client_new(struct net *net, struct kube_config *config, uint64_t seed, const char *user_agent);
void kube_client_free(struct kube_client *c);
/* Keeps one connection of the main lane open while the server can be reached, so that the first call after a quiet time needs no handshake.
 * It is renewed at NET_IDLE_MS like any other. */
void kube_client_keep_warm(struct kube_client *c);
/* The longest pause between two connections that fail; KUBE_BACKOFF_MAX_MS unless it is said. */
void kube_client_backoff(struct kube_client *c, int64_t most_ms);
/* Calls that the window allows to start now on the main lane. The caller builds bodies only for these, so that a thousand pods to be
 * created are not a thousand bodies in memory. Further calls are queued (LIMIT_KUBE_CALLS). */
uint32_t kube_client_room(const struct kube_client *c);
/* Retries, within the timeout, 429 and 5xx with Retry-After (unless at_once), a 401 once (with fresh credentials), and connections that
 * failed before a byte was sent. Returns false with *e if the queue is full. */
bool kube_call(struct kube_client *c, const struct kube_request *r, struct now now, struct err *e);
/* For an owner that may not write any longer (`about` NULL: any of its calls). Calls that are queued, connecting or partly written end now,
 * with KUBE_UNSENT, or KUBE_UNKNOWN if they had been sent before; calls in flight are not retried. Calls made later are not affected. */
void kube_calls_recall(struct kube_client *c, const void *owner, const void *about, struct now now);
/* Does what is due (retries, idle links, reloads, watches) and returns when to call again: at once if it has called an owner back, because
 * that may have changed what the lease, events and others have to do. Call it after every net_dispatch too. */
int64_t kube_client_tick(struct kube_client *c, struct now now);
/* Reads the credentials again now; connections opened with other credentials are not used any more. */
void kube_client_renew(struct kube_client *c, struct now now);

struct kube_client_stats {
    uint64_t requests, errors, retries, throttled; /* sent; refused or unanswered; retried; 429 of the server's flow control */
    uint64_t watch_events, watch_restarts, watch_skipped;
    uint64_t bytes_in, bytes_out;
    uint32_t in_flight, window, links;
    uint32_t pressure, waiting; /* thousandths: how much longer answers take than the fastest; calls that only wait for each other */
    int64_t last_ok_ms;         /* monotonic: last 2xx; 0: none yet */
    const char *tls[4];         /* of the last connection: TLS version, group, suite and kind of the server's key, as in struct link */
    int64_t server_cert_expires_us;
    struct err trouble; /* why the server cannot be used at present; ERR_NONE: it can */
};
const struct kube_client_stats *kube_client_stats(const struct kube_client *c);

/* ---- watches: list, then watch, for ever. The cache is the owner's. ---- */

enum kube_watch_what {
    KUBE_WATCH_RESTART,  /* a list begins: decide nothing before SYNCED; items not handed out until then are gone */
    KUBE_WATCH_UPSERT,   /* item exists; its present state */
    KUBE_WATCH_DELETE,   /* item was deleted, or is no longer selected; its last state */
    KUBE_WATCH_SYNCED,   /* the list is complete: items not handed out since RESTART do not exist */
    KUBE_WATCH_PROGRESS, /* nothing changed up to version: a bookmark, or after each item */
    KUBE_WATCH_ABSENT,   /* the server does not know this resource (no CRD): a complete list of nothing; asked again every 30 s */
    KUBE_WATCH_SKIPPED,  /* an item was malformed or too large and was skipped; see err. The list is requested again */
    KUBE_WATCH_TROUBLE,  /* list or watch fails, once per kind of failure: see err; the cache stays as it is. Ends with the next RESTART,
                            UPSERT or PROGRESS */
    KUBE_WATCH_REWOUND,  /* the server's store was restored from a backup, at `version`: drop the whole cache, as present objects may have
                            lower versions. Every watch of the client reports it, after RESTART */
};

struct kube_watch_event {
    enum kube_watch_what what;
    struct jval item; /* UPSERT, DELETE: the object but for KUBE_UNREAD, valid during the callback */
    uint64_t version; /* the item's or the list's */
    const struct err *err;
    const struct kube_status *status; /* of a TROUBLE that came as a Status, else NULL: a 403 names verb, resource and namespace */
};
typedef void kube_watch_on(void *owner, const struct kube_watch_event *event, struct now now);

struct kube_watch_options {
    struct kube_resource resource;
    struct slice ns;     /* empty: all namespaces */
    struct slice labels; /* label selector, not encoded; empty: all */
    struct slice fields; /* field selector, not encoded; empty: all. "metadata.name=NAME" is what a Role with resourceNames allows */
    struct slice kind;   /* "Pod": an object of another kind counts as malformed; empty: any */
    kube_watch_on *on;
    void *owner;
};

struct kube_watch;
/* Slices are copied. The first request goes out with the next tick. The first list has no resourceVersion (consistent); later ones are
 * NotOlderThan the highest seen; an older one is refused. Streams the list (sendInitialEvents) where the server can, else pages of
 * KUBE_PAGE.
 *
 * A list that is older than what was seen is a stale read. It is refused three times, then a consistent one is requested; if that is older
 * three times, the server's store was restored from a backup: REWOUND, a log line, and the next list is accepted. A restored server does
 * not announce that, and sends no events to a watch above its version. So its version is read (a consistent list of one item) when a watch
 * resumes on another connection, and when a watch has been silent for KUBE_SILENCE_MS. A store that was restored with raised versions is
 * recognized by older objects (kube_watch_is_old).
 *
 * A list with an unreadable item (SKIPPED: malformed, duplicate keys, of another kind, above LIMIT_JSON_ITEM) is requested again once,
 * after a backoff. If that has such an item too, it is accepted, so that one object does not block all others; SKIPPED tells the owner that
 * an object may exist that it was not shown. An unreadable live event causes a new list. A stream that is not JSON objects at all never
 * counts as complete. */
struct kube_watch *kube_watch_start(struct kube_client *c, const struct kube_watch_options *o, struct err *e);
void kube_watch_stop(struct kube_watch *w); /* also from its own callback; the pointer is dead after this */
/* Requests a consistent list, as at the start, because the cache may be stale. Reports RESTART. */
void kube_watch_refresh(struct kube_watch *w, struct now now);
/* For the callback of an UPSERT: whether its version of an object is not newer than the one that the owner has, `known`. An older one in a
 * list is remembered: if the list's own version is not below `known`, the store was restored, and REWOUND follows. w: NULL if the object
 * came in the answer of a call. */
bool kube_watch_is_old(struct kube_watch *w, uint64_t version, uint64_t known);
/* The owner has proof that the store was restored: a GET showed version `is` of an object that was known at version `known` before the GET
 * was sent. All watches of the client report REWOUND from within. */
void kube_watch_restored(struct kube_watch *w, uint64_t known, uint64_t is, struct now now);
bool kube_watch_synced(const struct kube_watch *w);
uint64_t kube_watch_version(const struct kube_watch *w); /* everything up to here was handed out */
int64_t kube_watch_asked_ms(const struct kube_watch *w); /* monotonic: when the last list was requested; its pages may show that time */

/* ---- keepers: one watch, and how complete the records are that its owner keeps of it ---- */

/* The owner's functions. Each event of the watch calls `begin` and then at most one of the others, but for `sweep`. */
struct kube_keeper_user {
    void (*begin)(void *owner, struct now now);                      /* sets the owner's time, frees its memory of the event before */
    void (*keep)(void *owner, struct jval object, uint64_t version); /* an object exists; its present state */
    void (*drop)(void *owner, struct jval object, uint64_t version); /* an object was deleted; its last state */
    /* Drops records that were not shown since keeper.round changed, unless they are newer than `version`: an own write was answered
     * meanwhile. UINT64_MAX: drops all of them. Before `listed`, and after `rewound`. */
    void (*sweep)(void *owner, uint64_t version);
    void (*listed)(void *owner, bool first); /* a list is complete. first: keeper.known was false until now */
    void (*rewound)(void *owner);            /* the store was restored from a backup, and all records are about to be swept. May be NULL */
    void (*absent)(void *owner);             /* the server does not know the resource; keeper.trouble may be set */
    void (*trouble)(void *owner, const struct kube_watch_event *event); /* TROUBLE or SKIPPED. keeper.trouble is the one before */
    /* A resource that the server does not know counts as a complete list of nothing: all records are swept, before `absent`. False: the
     * records stay, and the list counts as incomplete. */
    bool absent_is_empty;
};

/* Zero-initialise it. The owner may set the state of one that is not started. */
struct kube_keeper {
    const struct kube_keeper_user *user;
    void *owner;
    struct kube_watch *watch; /* NULL: not started */
    bool synced;              /* the list is complete; false while the next one is read */
    bool known;               /* a list was complete since the start, REWOUND and ABSENT; still true while the next one is read */
    bool absent;              /* the server does not know the resource */
    uint32_t round;           /* number of the list */
    uint32_t asked;           /* round of the last list that kube_keeper_refresh requested: complete as soon as `synced` is set */
    uint64_t version;         /* of the last complete list, or of a later event, which the owner has got or is getting */
    struct err trouble;       /* why list or watch fails; ERR_NONE: it does not */
};

/* As kube_watch_start, but o->owner owns the keeper, and o->on is not used. Its watch is stopped with kube_watch_stop. */
bool kube_keeper_start(struct kube_keeper *k, struct kube_client *c, const struct kube_keeper_user *user,
                       const struct kube_watch_options *o, struct err *e);
void kube_keeper_refresh(struct kube_keeper *k, struct now now); /* kube_watch_refresh, unless it is not started */
/* A line of words: "pods in ns: " and why the list is not complete. */
void kube_keeper_explain(const struct kube_keeper *k, struct slice resource, struct slice ns, struct buf *why);

/* ---- lease: leader election as in client-go, by the monotonic clock ---- */

struct kube_lease_options {
    struct slice ns, name, identity;
    int64_t lease_ms, renew_ms, retry_ms; /* 0: KUBE_LEASE_MS …; lease > renew > 1.2 × retry is checked */
};
struct kube_lease;
struct kube_lease *kube_lease_start(struct kube_client *c, const struct kube_lease_options *o, struct err *e);
int64_t kube_lease_tick(struct kube_lease *l, struct now now);    /* returns when to call again; call it after every net_dispatch too */
bool kube_lease_held(const struct kube_lease *l, struct now now); /* check it before every write */
struct slice kube_lease_holder(const struct kube_lease *l);
/* Whether another holder, or none, has been seen since the last call of this: then others may have written meanwhile. */
bool kube_lease_changed_hands(struct kube_lease *l);
void kube_lease_release(struct kube_lease *l, struct now now); /* releases it on a clean stop: fire and forget */
void kube_lease_free(struct kube_lease *l);

/* ---- events: fire and forget, bounded, rate limited, repeated ones counted ----
 *
 * The same event (object, type, reason, action, note) within six minutes becomes a series: one object with a count. An object may cause 25
 * writes at once and one per five minutes after that; repeats beyond it are still counted. What the server refuses is dropped. */

struct kube_object_ref {
    struct slice api_version, kind, ns, name, uid;
};
struct kube_event {
    struct kube_object_ref about;
    bool warning;
    struct slice reason, action, note; /* note is cut at LIMIT_KUBE_EVENT_NOTE, with a "…" */
};
struct kube_events;
struct kube_events *kube_events_new(struct kube_client *c, struct slice controller, struct slice instance);
void kube_events_free(struct kube_events *q);
void kube_event_say(struct kube_events *q, const struct kube_event *ev, struct now now);
int64_t kube_events_tick(struct kube_events *q, struct now now); /* ends series; returns when to call again */
uint64_t kube_events_dropped(const struct kube_events *q);

#endif
