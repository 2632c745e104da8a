/* VersionedService: versions of one service, each a RayService of its own, and a route that divides the requests between them. Pure
 * functions: the resource becomes a model, a view of it, of its RayServices and of its routes becomes a plan.
 *
 * A change of the versions or of their weights is a rollout. status has its state: the weight and the capacity that each version is to have
 * now, and the weights before. One decision takes one step, into status alone. When the server has that status, RayServices and route are
 * made as it says, and the next step waits until they are. So an operator that starts at any time goes on from there, and a rollback, by
 * failure, by time or on request, is one step: the weights from before.
 *
 * Capacity is target_capacity of Serve's configuration, in percent. It is held back only with maxSurgePercent: then a version that is to
 * get requests first gets capacity, then requests up to it by steps, and then the others lose as much capacity as they have lost requests.
 */
#ifndef MOBULA_VERSIONED_H
#define MOBULA_VERSIONED_H

#include <mobula/plan.h>
#include <mobula/ray.h>
#include <mobula/rayservice.h>
#include <mobula/route.h>
#include <mobula/spec.h>
#include <mobula/versioned.h>

extern const struct kube_resource versioned_resource;
#define VERSIONED_VERSION "mobula.dev/version"    /* label of its RayServices: the name of the version */
#define VERSIONED_TLS "mobula.dev/tls-secret"     /* annotation: Secret with the certificate of its hosts */
#define VERSIONED_CAPACITY "mobula.dev/capacity"  /* annotation of them, beside VERSIONED_HASH: capacity in percent */
#define VERSIONED_EDGE_MAP "mobula-edge-services" /* ConfigMap with sums and weights for the edge */
#define EDGE_SERVICE "mobula-edge"                /* of the edge that `mobula edge --print` prints */
/* Why requests are not divided, and the remedies. */
#define VERSIONED_WHOLE                                                                                                                    \
    "the controller of spec.ingressClassName has no weights, so the heaviest version gets all requests: use spec.gateway, spec.istio, "    \
    "auth: token, or ingressController: ingress-nginx if it has its annotations"
enum {
    VERSIONED_TOKENS = 2,             /* valid ones at a time */
    EDGE_PORT = 80,                   /* of EDGE_SERVICE */
    TOKEN_SUM = 65,                   /* bytes of a SHA-256 sum as text */
    TOKEN_LEAST = 16,                 /* bytes of a token */
    TOKEN_LEAD_MS = 2 * 60 * 1000,    /* a kubelet brings a ConfigMap within this time (it looks each 60 to 90 s) */
    TOKEN_LOOK_MS = 60 * 1000,        /* between two reads of a Secret, and so the delay of a step */
    TOKEN_PUBLISH_MS = 5 * 60 * 1000, /* the edge's ConfigMap is applied again after this time, in case another client has changed it */
    VERSIONED_NAME_MAX = 47,          /* bytes: "<name>-<version>" is a RayService's name */
    VERSIONED_MAX = LIMIT_WORK_VERSIONS,
    VERSIONED_KEPT = 24, /* versions at one time, with those that leave. What is beyond is deleted first */
    VERSIONED_HOSTS = LIMIT_WORK_HOSTS,
    VERSIONED_INTERVAL_S = 15, /* at least: a head whose applications run is asked every 10 s, so that a step goes by a later answer */
    VERSIONED_LOOK_MS = 2 * 1000,
    VERSIONED_LEAVE_MS = 60 * 1000, /* a version without requests is kept so long, for those under way */
};

struct versioned_version {
    struct slice name;
    int32_t weight;
    struct jval spec; /* a RayServiceSpec */
    struct rayservice_facts facts;
};

/* All slices and values lie in the document or in the arena given to the reader. */
struct versioned {
    struct slice ns, name, uid;
    int64_t generation;
    bool deleting, no_rollback; /* no_rollback: a rollout that fails stays as it is */
    int64_t back;               /* the rollout of this generation is to be rolled back; -1: none */
    struct versioned_version *versions;
    uint32_t count;
    struct slice gateway, gateway_ns, section; /* of the HTTPRoute; gateway empty: none … */
    struct slice class;                        /* of the Ingress; empty: none … */
    bool whole;                                /* its controller does not divide requests between two Ingresses */
    struct jval istio;                         /* gateways of the VirtualService; absent: none … */
    struct jval hosts;
    int32_t grpc_port;         /* of the versions' Services; 0: no GRPCRoute is made */
    struct slice grpc_section; /* of the GRPCRoute … */
    struct jval grpc_hosts;
    struct slice tls;                /* Secret with the certificate of `hosts`; empty: no TLS */
    bool tls_named;                  /* VERSIONED_TLS names it */
    bool token;                      /* requests need a token, and go through the edge */
    struct slice rotate;             /* VERSIONED_ROTATE */
    int32_t surge, step;             /* percent; surge 0: capacity is not held back */
    int64_t interval_ms, timeout_ms; /* between two steps; of a rollout */
};

/* Collects all errors. Returns whether there were none. */
/* For checks without an operator: its --domain is not known. */
#define VERSIONED_ANY_DOMAIN "domain.invalid"
bool versioned_read(const struct spec_object *from, struct slice domain, struct arena *a, struct versioned *out,
                    struct spec_errors *errors);
void versioned_check(struct jval object, struct arena *a, struct spec_errors *errors, struct spec_errors *notes); /* kind.check */

/* ---- the token of a service ---- */

/* The Secret as it was last read. */
struct token_state {
    bool there, ours, valid, next, former; /* valid: it has a token; next, former: it has these, too */
    uint64_t done;                         /* hash of VERSIONED_ROTATE at the last rotation */
    int64_t since_us;                      /* time of its last step */
};
/* The next action on the Secret, or on the ConfigMap of the edge. */
enum token_step {
    TOKEN_READ,
    TOKEN_MAKE,    /* a token is made */
    TOKEN_STAGE,   /* the next token is made */
    TOKEN_TAKE,    /* it becomes the token, and that the former one */
    TOKEN_END,     /* the former one is removed */
    TOKEN_PUBLISH, /* the sums and weights are written for the edge */
};
/* Time after which every edge has read a change of the ConfigMap. */
int64_t versioned_token_lead(int64_t grace_ms);
/* asked: by VERSIONED_ROTATE; grace_ms: the former token stays valid for so long. */
enum token_step versioned_token_step(const struct token_state *t, uint64_t asked, int64_t grace_ms, int64_t now_us);

enum { TOKEN_SECRET, TOKEN_EDGE, TOKEN_PARTS };
/* Condition of each service that has a token, and of one whose text may be in the edge's ConfigMap still. */
#define STATUS_TOKEN "TokenReady"
/* The kept state of one service. */
struct versioned_token {
    struct token_part {
        const struct istr *trouble;
        uint32_t failures;
        int64_t again_ms;
    } part[TOKEN_PARTS];
    struct token_state has;
    bool known, fresh; /* known: the Secret was read, or could not be; fresh: `has` is as it was read last, and nothing failed since */
    bool gone;         /* the ConfigMap does not have the service any more */
    uint32_t sum_count;
    char sums[VERSIONED_TOKENS][TOKEN_SUM];
    uint64_t published;   /* hash of the text in the ConfigMap; 0: not known */
    int64_t published_ms; /* monotonic: since when it is there */
    int64_t since_ms;     /* monotonic: since when this process knows that the ConfigMap has the service; 0: it does not */
};
struct versioned_token_view {
    const struct versioned_token *state;
    int64_t grace_ms; /* --service-auth; 0: no tokens are made */
    struct slice secret;
};

/* ---- objects ---- */

struct owner versioned_owner(const struct versioned *s);
/* The RayService of a version. spec: a RayServiceSpec; config: its serveConfigV2 as JSON, which gets the capacity; empty: as in the spec.
 * The hash of what it is made of is an annotation, and *hash. Empty: it is too large. */
struct slice versioned_build_child(const struct versioned *s, struct slice version, struct jval spec, struct slice config, int32_t capacity,
                                   struct slice *hash, struct arena *a);

struct version;
/* list: versions with a Service, the primary one and, if there is one, the canary first; weight: of struct version.share. seed: see
 * route_object. */
struct versioned_shares {
    const struct version *list;
    uint32_t count;
    const struct version *primary, *canary; /* NULL: none */
    bool edge;                              /* routes lead to the edge */
    uint64_t seed;
};
/* VERSIONED_INGRESS: of the primary's share, VERSIONED_CANARY: of the canary's. */
enum { VERSIONED_HTTPROUTE, VERSIONED_INGRESS, VERSIONED_CANARY, VERSIONED_GRPCROUTE, VERSIONED_VIRTUALSERVICE, VERSIONED_ROUTES };
struct versioned_route {
    const char *suffix; /* of the object's name, behind the service's and a dash */
    const char *kind, *api_version;
    const char *flag; /* of the operator and of `install`, that brings the kind */
};
extern const struct versioned_route versioned_routes[VERSIONED_ROUTES];
bool versioned_asks(const struct versioned *s, int which); /* the spec asks for routes of that kind */
/* Whether the route with this text (see struct route) gets requests for a host. With wildcards: "*.a.b" meets "x.a.b", and "y.x.a.b" unless
 * one_label, as for Ingresses. */
bool versioned_hosts_meet(struct slice text, struct slice host, bool one_label, struct arena *a);
bool versioned_build_route(const struct versioned *s, const struct versioned_shares *in, int which, struct arena *a, struct buf *out,
                           struct err *e);

/* The service's text in the ConfigMap of the edge; empty: no version takes requests. */
struct slice versioned_build_edge(const struct versioned *s, const struct versioned_shares *in, const struct versioned_token *t,
                                  struct arena *a);

/* ---- decisions ---- */

/* A RayService of it. */
struct versioned_child {
    struct slice name, uid, version; /* version: of its label */
    bool deleting, service;          /* service: its serve Service exists, so that a route can lead to it */
    int64_t generation;
    struct jval status, spec;
    struct slice hash; /* VERSIONED_HASH */
    int64_t capacity;  /* VERSIONED_CAPACITY; -1: not there */
};

struct versioned_view {
    const struct versioned *service;
    const struct spec_errors *errors;
    const struct versioned_child *children;
    uint32_t child_count;
    struct jval status; /* as the API server has it */
    uint64_t status_hash;
    int64_t status_not_before_ms;
    const struct group_failures *refusals;       /* of writes of RayServices; NULL: none */
    struct route_view *routes[VERSIONED_ROUTES]; /* NULL: neither asked for nor there */
    const struct route_tls_view *tls;            /* NULL: none */
    const struct versioned_token_view *token;    /* NULL: none */
    const struct shape_patches *patches;         /* NULL: none */
    uint64_t patches_revision;
    struct now now;
};

/* Behind a verb: the fields of struct action that it uses. */
extern const struct verb versioned_apply_version;  /* name, uid (empty: there is none yet), text: the object */
extern const struct verb versioned_delete_version; /* name, uid; why */
/* name, text: the object */
extern const struct verb versioned_apply_route;
extern const struct verb versioned_write_token; /* index: enum token_step; name: the Secret; text */

/* Every prefix of the plan is legal. */
void versioned_decide(const struct versioned_view *in, struct arena *a, struct plan *out);

#endif
