/* A model Kubernetes API server, for people and tests without a cluster. It is a pure state machine: bytes go in per connection, bytes come
 * out per connection, time and chance are given, and nothing here makes a system call. The same seed, the same bytes and the same times
 * give the same answers, byte for byte. tests/model/apiserver/main.c runs it over loopback; tests drive it in-process.
 *
 * What it is: namespaces, nodes, pods, services, configmaps, secrets, serviceaccounts, persistentvolumeclaims, events (v1 and
 * events.k8s.io/v1 are two views of one storage), leases, deployments and RBAC objects (stored; nothing acts on them), and whatever
 * CustomResourceDefinitions add. All verbs, over HTTP/1.1; status codes, reasons and messages are those of kube-apiserver 1.34. A
 * small scheduler and kubelet make pods run, a garbage collector follows ownerReferences, and namespaces empty themselves.
 *
 * What it is not:
 * - no authentication, no authorisation (reviews.c answers who asks of them);
 * - no quotas, no Pod Security; of admission webhooks those of enum apiserver_mutator;
 * - JSON, and YAML in what clients send; no CBOR, and no protobuf, which the typed commands of kubectl send (kubectl create namespace):
 *   a 415; kubectl apply works. A key that appears twice in an object is a 400;
 * - CRD schemas: defaults, pruning, types, required, enum, minimum, maximum, lengths, counts, times and CEL rules (cel.h) are applied;
 *   patterns and other formats are not. Versions are converted by renaming apiVersion.
 * - built-in objects get the defaults and checks that clients of this project meet (pods.c, kinds.c), not all of them; unknown fields
 *   of built-in objects are kept;
 * - managedFields: what the kubelet and the other controllers in here write is owned by nobody;
 * - namespaces get a service account, but no kube-root-ca.crt;
 * - one node of endless size, pods fail only when asked to (annotations, kubelet.c); no logs but one line;
 * - a CRD is established and gone at once; custom resources have no scale, pods no binding, eviction, exec or proxy; services have a
 *   proxy, which looks at no port;
 * - texts of refusals are the real ones where clients might read them; what Go's decoders say about broken JSON, the order of several
 * causes and the descriptions of table columns are not;
 * - what is served from the watch cache is the newest state, unless a test holds the cache back. */
#ifndef APISERVER_H
#define APISERVER_H

#include <mobula/base.h>

struct apiserver;
struct conn;

/* ---- life ---- */

/* What stands between clients and the store, and changes objects as they are created (mutate.c). */
enum apiserver_mutator {
    MUTATE_FIRST = 1,      /* a mesh: its proxy is the first container of a pod, before those that were sent */
    MUTATE_LAST = 2,       /* an agent: another container behind them */
    MUTATE_NATIVE = 4,     /* a native sidecar: an init container that is started again */
    MUTATE_INIT = 8,       /* an init container before the others */
    MUTATE_METADATA = 16,  /* labels and annotations of pods, services and custom resources are added, and one of pods is replaced */
    MUTATE_IMAGES = 32,    /* all images of a pod are those of a mirror */
    MUTATE_RESOURCES = 64, /* each container gets requests and limits that it has not */
    MUTATE_ALL = 127,      /* … all that a cluster may live with */
    MUTATE_STRIP = 128,    /* a pod loses the label that it is watched by */
};

/* 0 in a field means the default that stands beside it. */
struct apiserver_config {
    uint64_t seed;
    int64_t schedule_ms; /* 20: a new pod gets its node */
    int64_t start_ms;    /* 500: and from there on is Running and Ready */
    int64_t stop_ms;     /* 200: a pod that is asked to stop is gone */
    int64_t lose_ms;     /* 1000: a worker whose head has ended exits, once another runs (Ray's own need 20 to 60 s) */
    int64_t collect_ms;  /* 50: the garbage collector looks at an object whose owner has gone */
    int64_t bookmark_ms; /* 60000 */
    uint32_t history;    /* 4096: events kept per resource; a watch from before them gets 410 */
    bool pod_events;     /* Scheduled, Pulled, Started … as kubectl describe shows them */
    bool no_nodes;       /* pods stay Pending */
    uint32_t mutators;   /* bits by enum apiserver_mutator */
    const char *pod_net; /* "127.100": the first half of pods' addresses, which lead nowhere outside this machine, whoever tries them */
};

/* From now on; see the configuration. */
void apiserver_mutate(struct apiserver *s, uint32_t mutators);
struct apiserver *apiserver_new(const struct apiserver_config *config, struct now now);
void apiserver_free(struct apiserver *s);

/* ---- connections ---- */

struct conn *apiserver_connect(struct apiserver *s);
/* The client sent these bytes; they are copied where they are still needed. */
void apiserver_feed(struct apiserver *s, struct conn *c, struct slice bytes, struct now now);
/* What the client is to be sent, valid until the next call with this server; and how much of it was. */
struct slice apiserver_output(const struct conn *c);
void apiserver_sent(struct apiserver *s, struct conn *c, size_t n, struct now now);
/* The server wants the connection closed once its output has been sent. */
bool apiserver_wants_close(const struct conn *c);
void apiserver_disconnect(struct apiserver *s, struct conn *c);

/* ---- time ---- */

/* When apiserver_tick wants to be called at the latest (mono_ms), or TIME_NEVER. */
int64_t apiserver_deadline(const struct apiserver *s);
void apiserver_tick(struct apiserver *s, struct now now);

/* ---- faults: what tests make go wrong ---- */

/* The next `times` requests that match are answered like this instead of being looked at; afterwards too when `commit` is set: then the
 * request is carried out and only its answer is lost. */
struct apiserver_override {
    struct slice method; /* SLICE_NONE: any */
    struct slice path;   /* prefix of the target; SLICE_NONE: any */
    int status;          /* HTTP status; 0: the connection is cut without an answer */
    const char *reason;  /* of the Status body, "" for none: a 429 without one is flow control's, which is no Status */
    const char *message; /* of the Status body; NULL: made of the code */
    int retry_after_s;   /* 0: no header */
    bool commit;
    uint32_t times;
};

struct apiserver_faults {
    int64_t watch_delay_ms; /* events reach watches this much later */
    /* Whoever asks for a list that must not be older than N gets what the held cache has, without a word. No API server does that; a cache
     * that somebody has put in front of one might, and servers before 1.19 know no resourceVersionMatch. */
    bool older_lists;
    bool expired_as_http;    /* a watch from too long ago: HTTP 410 instead of an ERROR event */
    bool no_streaming_lists; /* sendInitialEvents is refused, as with the WatchList gate off */
    bool no_bookmarks;
    int64_t bookmark_ms;            /* takes the place of the configuration's; 0: it does not */
    uint32_t page_max;              /* a list that asks for pages gets so many items at most in each; 0: as many as it asks for */
    uint32_t drop_events;           /* so many events that a watch is due next do not reach it: an apiserver that has lost them */
    uint32_t double_events;         /* so many events that a watch is due next are sent twice */
    bool no_spot;                   /* pods whose annotation anyscale.com/market-type is SPOT get no node until it is over */
    struct apiserver_override next; /* works while next.times > 0 */
};
struct apiserver_faults *apiserver_faults(struct apiserver *s);

/* What came of them, since the server began. */
struct apiserver_hits {
    uint64_t late, dropped, doubled; /* events that a watch would have been sent as they were due */
    uint64_t bookmarks;              /* that were not sent */
    uint64_t streams;                /* streaming lists that were refused */
    uint64_t expired;                /* watches and continue tokens from before the history that were told so */
    uint64_t expired_as_http;        /* … of these, watches with HTTP 410 */
    uint64_t held;                   /* lists, watches and waits that were served from a cache that was held where it was */
    uint64_t pages;                  /* lists of which a page was shorter than asked for */
};
const struct apiserver_hits *apiserver_hits(const struct apiserver *s);

/* resource: "pods" or "rayclusters.ray.io", or empty for all. Forgets the history: watches and continue tokens from before get 410. */
void apiserver_compact(struct apiserver *s, struct slice resource);
/* What etcd's compaction does by itself: lists of older versions and continue tokens are expired, while watches, which are served from a
 * cache, still begin where they did; but for those of events, which have none. */
void apiserver_compact_lists(struct apiserver *s);
/* The watch cache of the resource is held where it was back_ms ago (or as near as the history reaches), for so long as for_ms: that of
 * another API server which lags behind, or of one that was started with an old cache. What 1.34 serves from it is from then: a list, get or
 * streaming list of resourceVersion 0; of N, when it has come so far, and otherwise a 504 after 3 s (ResourceVersionTooLarge); of no
 * resourceVersion a stream that begins with the old state, and whose end of the initial events comes when the cache has caught up. A watch
 * from N hears nothing until then. Lists and gets without resourceVersion, continue tokens and Exact are not served from it, and are right.
 * for_ms 0 lets it go. */
void apiserver_hold_cache(struct apiserver *s, struct slice resource, int64_t back_ms, int64_t for_ms);
/* Ends all watches of the resource with an ERROR event that says 410, as when the history is full; who begins again may be served. */
uint32_t apiserver_outrun_watches(struct apiserver *s, struct slice resource);
/* Ends all watches of the resource, in order or (rude) in the middle of the connection. Returns how many. */
uint32_t apiserver_drop_watches(struct apiserver *s, struct slice resource, bool rude);
/* Ends all watches of the resource with an ERROR event that says 410, and none may begin where one has ended: as when the watch cache of
 * the server is made again. Returns how many. */
uint32_t apiserver_expire_watches(struct apiserver *s, struct slice resource);

/* The store is put back to what it was at this revision, as etcd is from a backup without a word to anybody (--bump-revision), and the API
 * servers before it begin again: every connection breaks, and versions go on from there. The kubelet and the garbage collector look at
 * everything again. False, and nothing has happened, when the history of a resource does not reach back so far. Definitions of resources
 * are not to have changed since. */
bool apiserver_restore(struct apiserver *s, uint64_t revision);
/* After that: versions go on from one that is higher by so many, and watches from older ones get 410, as etcdutl's --bump-revision and
 * --mark-compacted have it. */
void apiserver_raise_revision(struct apiserver *s, uint64_t by);

/* ---- looking inside, for oracles ---- */

uint64_t apiserver_revision(const struct apiserver *s);
/* The stored object with kind and apiVersion, in the arena; SLICE_NONE when there is none. */
struct slice apiserver_get(const struct apiserver *s, struct slice resource, struct slice ns, struct slice name, struct arena *a);
size_t apiserver_count(const struct apiserver *s, struct slice resource);

/* Every change of the store, in order, as it happens. The slices are borrowed. */
struct apiserver_change {
    enum { APISERVER_ADDED, APISERVER_MODIFIED, APISERVER_DELETED } what;
    struct slice group, plural, ns, name, uid;
    struct slice json, before; /* without kind and apiVersion; before: empty when it was added */
    uint64_t rv;
};
struct apiserver_observer {
    void (*changed)(struct apiserver_observer *o, const struct apiserver_change *change); /* may not call the server */
};
void apiserver_observe(struct apiserver *s, struct apiserver_observer *o);

/* ---- services ---- */

/* A request to …/services/NAME:PORT/proxy/PATH, which the server passes on. */
struct apiserver_passed {
    struct slice ns, service, method, target, body; /* target: PATH and its query */
    struct slice token;                             /* X-Ray-Authorization; SLICE_NONE: there was none */
    int64_t port;                                   /* of the pods: the targetPort of the service's port in the path */
};
/* Instead of a status: no answer ever comes; nobody is behind the service; the connection to who is fails, *e says how. */
enum { APISERVER_SILENT = 0, APISERVER_NOBODY = -1, APISERVER_BROKEN = -2 };
struct apiserver_backend {
    int (*serve)(void *owner, const struct apiserver_passed *p, struct buf *out, struct err *e); /* writes the body, gives the status */
    void *owner;
};
void apiserver_put_behind(struct apiserver *s, struct apiserver_backend backend); /* behind all services; else nobody is */
/* Puts a model of Ray's dashboard there, each job of which takes so long (dash.c). */
void apiserver_run_jobs(struct apiserver *s, int64_t run_ms);

#endif
