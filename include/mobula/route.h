/* route: objects that lead requests to Services: Ingress, Gateway, HTTPRoute, GRPCRoute, Istio's VirtualService. They are leaf kinds:
 * nothing is decided on them, their owner is. Here: what a decision sees of one, and what it may have done. Pure; implemented in
 * src/kinds/route. */
#ifndef MOBULA_ROUTE_H
#define MOBULA_ROUTE_H

#include <mobula/plan.h>
#include <mobula/pod.h>
#include <mobula/spec.h>

struct pairs;

/* Annotation with the address that counts in place of the one in the status. */
#define ROUTE_ADDRESS "anyscale.com/ingress-address"

/* name, uid; why */
extern const struct verb ingress_delete, gateway_delete, httproute_delete, grpcroute_delete, virtualservice_delete;

/* The kept part of a route. */
struct route {
    char name[POD_NAME_MAX + 1], uid[UID_TEXT_MAX + 1];
    uint64_t version;
    struct slice text;    /* {"metadata":{"labels","annotations"},"spec"} as the server has it */
    uint64_t hash;        /* of `text` */
    struct slice trouble; /* the objection in its controller's status, or that it says nothing yet; empty: it is in force */
    struct slice address; /* where its controller listens for it; empty: not known */
    bool deleting;
    uint64_t wanted, became; /* route_want.hash of our last apply, and the hash that the server made of it; 0: none by this process */
    int64_t applied_ms;      /* monotonic: time of that apply */
};

/* A route that its owner asks for. */
struct route_want {
    struct slice plain; /* as route_write has it; empty: it cannot be built, because `trouble` */
    struct slice text;  /* as it is sent: patches are in it … */
    uint64_t hash;      /* … and its hash */
    struct slice trouble;
};
struct shape_patches;
/* patches: NULL: none. Where they fail the text is without them: to send it fails then, and tells why. */
struct route_want route_want_of(struct slice plain, const struct shape_patches *patches, struct arena *a);

/* ---- host names (--domain) ---- */

/* A domain ("{name}.{namespace}.{kind}." stands before it), or a template with {name}. */
bool route_domain_check(struct slice domain, struct err *e);
/* kind: "i" for heads, "s" for services. A name that is no label is replaced by its hash, and so are both where they do not fit into one.
 * Empty: no domain is given. */
struct slice route_host(struct slice domain, const char *kind, struct slice ns, struct slice name, struct arena *a);

struct route_tls_view;
/* Input of a decision. */
struct route_view {
    const struct verb *apply, *remove; /* apply: name; text: route_want.plain; both: index */
    int32_t index;                     /* of the kind of route */
    struct slice name;
    bool known;               /* `have` is what the server has; else because `why_not`, or because the list is under way */
    struct slice why_not;     /* … which begins with what is missing: "ingresses.networking.k8s.io cannot be listed: …" */
    const struct route *have; /* NULL: there is none of this owner's */
    struct route_want want;
    const struct group_failures *refused; /* of its writes; NULL: none */
    const struct route_tls_view *tls;     /* the certificate of its hosts; NULL: none */
};

/* Plans that the route becomes as wanted. Returns whether it is. */
bool route_decide(const struct route_view *v, struct now now, struct plan *p);
/* Plans that it goes. Returns whether it is gone, as far as its kind is known. */
bool route_end(const struct route_view *v, const char *why, struct now now, struct plan *p);
/* Whether the server has it as wanted. */
bool route_there(const struct route_view *v);
/* Why it is not there, or not in force; empty: it is. */
struct slice route_trouble(const struct route_view *v, struct arena *a);

/* ---- certificates ---- */

#define ROUTE_CA_OWN "mobula-route-ca" /* --route-ca of this name: the operator makes the CA */
#define STATUS_ROUTE_TLS "CertificateReady"
extern const struct verb route_write_tls; /* name; index: of the object, the Secret first */

/* The certificate of an owner's route, as last read. */
struct route_tls_view {
    struct slice secret, trouble; /* trouble: why the Secret cannot be used; empty: it can */
    bool known, write[2];         /* write: the Secret, a ReferenceGrant */
    int64_t ends_us, look_ms;     /* look_ms: monotonic, when the next of them is read */
};
void route_tls_decide(const struct route_tls_view *v, struct plan *p); /* NULL is fine */
/* The condition STATUS_ROUTE_TLS. Until the Secret was read that of `prior` stays. False: there is none. */
bool route_tls_condition(const struct route_tls_view *v, struct jval prior, int64_t generation, struct arena *a, struct condition *out);
/* A condition as the server has it. False: it has none. */
bool route_prior_condition(struct jval prior, const char *type, struct arena *a, struct condition *out);

/* One object. seed: of what else the text depends on beside these, as patches; the hash of all of it is the annotation RAY_ANNOTATION_HASH,
 * so that a member that is no longer wanted is missed, too. */
struct route_object {
    const char *api_version, *kind;
    struct owner owner;
    struct slice name;
    const struct pairs *labels;
    struct pairs *annotations;
    struct slice spec;
    uint64_t seed;
};
bool route_write(const struct route_object *o, struct arena *a, struct buf *out, struct err *e);

#endif
