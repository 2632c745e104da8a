/* health: what an operator checks of itself and its cluster for a control plane, a component at a time; and what it says of nodes and
 * instance types. Pure functions of answers: who asks, and when, is unknown here. */
#ifndef MOBULA_HEALTH_H
#define MOBULA_HEALTH_H

#include <mobula/shape.h>

enum {
    HEALTH_COMPONENTS = 7,
    HEALTH_OLDEST_MINOR = 24, /* of Kubernetes: below it the operator does not work … */
    HEALTH_USUAL_MINOR = 28,  /* … and below this one it works, with a warning */
    HEALTH_MESSAGE = 640,     /* bytes */
};

/* UNKNOWN: it could not be checked. SKIPPED: there is nothing to check, or it is not to be checked. */
enum health_state { HEALTH_UNKNOWN, HEALTH_OK, HEALTH_WARN, HEALTH_ERROR, HEALTH_SKIPPED };
extern const char *const health_words[]; /* of the protocol, by state */

struct health_finding {
    enum health_state state;
    const char *reason; /* one word */
    char message[HEALTH_MESSAGE];
};

/* Input of decisions beside the answers of the API server. */
struct health_facts {
    struct slice cloud;                              /* deployment id; empty: there is no control plane */
    struct slice gateway, gateway_ns, ingress_class; /* names; empty: none */
    struct slice rights;                             /* rules of the operator's Role, as JSON; empty: not known */
    const struct slice *namespaces;                  /* where it acts; an empty one: everywhere */
    uint32_t namespace_count;
    struct slice own_ns; /* its own */
    struct slice types;  /* ConfigMap of the instance types; empty: none */
    bool types_known, types_broken;
    uint32_t type_count;
    struct slice types_why; /* of types_broken, or why they are not known; may be empty */
    bool accepted;          /* the control plane has taken this operator's last call … */
    int refused;            /* … or has refused it with this HTTP status; 0: no answer came */
    struct slice trouble;   /* why the last call failed; empty: it did not, or there was none */
    struct slice bucket;    /* URL; empty: none is configured */
    bool bucket_checked;
    struct slice bucket_trouble; /* the failure when it was checked; empty: none */
    struct slice identity;       /* by which it knows this operator; empty: it has not said */
};

struct health_question {
    struct slice path, body; /* no body: a GET, else a POST */
};

struct health_answer {
    int code; /* HTTP status; 200: any 2xx */
    struct jval body;
    struct slice words; /* the API server's message of a refusal */
};

struct health_component {
    const char *name;
    /* The n-th question to the API server about it; false: there is none, or no further one. NULL: it is decided by the facts alone. */
    bool (*ask)(const struct health_facts *f, uint32_t n, struct arena *a, struct health_question *q);
    /* One answer, to the n-th; NULL: nothing was to be asked. */
    void (*decide)(const struct health_facts *f, uint32_t n, const struct health_answer *answer, struct arena *a,
                   struct health_finding *out);
};
enum { HEALTH_RIGHTS = 4, HEALTH_BUCKET = 6 }; /* places of KUBERNETES_PERMISSIONS and STORAGE_BUCKET */
extern const struct health_component health_components[HEALTH_COMPONENTS];

/* Whether text is a list of names of components: "A,B", or all of them. */
bool health_excluded_read(struct slice text, bool out[HEALTH_COMPONENTS], struct err *e);
void health_say(struct health_finding *out, enum health_state state, const char *reason, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Kubernetes' minor version of the answer to /version; 0: it has none. */
int64_t health_minor(struct jval version, struct arena *a);

/* ---- rights ---- */

/* Whether the rules of a SelfSubjectRulesReview (status.resourceRules) allow this; name: of one object only, where the rule has names. */
bool rights_allowed(struct jval have, struct slice verb, struct slice group, struct slice resource, struct slice name, struct arena *a);
/* Those rules of a Role that they do not allow, as "verb resource, …"; empty: nothing. */
struct slice rights_missing(struct jval have, struct jval want, struct arena *a);
struct slice rights_review(struct slice ns, struct arena *a); /* the body of such a review */

/* ---- nodes and instance types ---- */

/* An amount of a node's status.allocatable; 0: it has none. */
int64_t node_amount(struct jval allocatable, struct slice name, int decimals, struct arena *a);
int64_t node_gpus(struct jval allocatable, struct arena *a);
/* Both write one item as the protocol has it. */
void health_node_write(struct jval node, struct arena *a, struct jout *w);
void health_type_write(const struct shape_type *t, struct jout *w);

#endif
