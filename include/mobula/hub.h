/* hub: the control plane, without its event loop. People store Clouds, ComputeConfigs and Workloads in the hub's own cluster; operators
 * call POST /v1/sync and get the workloads of their cloud (docs/api/openapi.yaml). Everything that must outlive this process is in those
 * objects: several replicas run side by side, and know of each other only through them. */
#ifndef MOBULA_HUB_H
#define MOBULA_HUB_H

#include <mobula/kube.h>
#include <mobula/serve.h>

/* "cldrsrc_" and 24 lower-case letters and digits, made from the Cloud's uid: whoever reads the object knows it. */
enum { HUB_DEPLOYMENT_ID = 32 };
void hub_deployment_id(struct slice uid, char out[HUB_DEPLOYMENT_ID]); /* no NUL */

extern const struct kube_resource hub_clouds, hub_configs, hub_workloads;
#define HUB_FINALIZER "mobula.dev/operator"
#define HUB_CA_CONFIGMAP "mobula-control-plane-ca"
#define HUB_AUDIENCE "mobula.dev/control-plane" /* audience of tokens that a control plane accepts and an API server does not */

/* A certificate of the hub's own making, by a CA of its own (cert.c). A Secret that somebody else has made is used, and never written. */
struct hub_cert {
    struct slice ns;                /* of its objects */
    struct slice secret, ca_secret; /* of type kubernetes.io/tls; with the CA's key. Empty: no certificate is kept here */
    const struct slice *names;      /* of this server: DNS names and IP addresses */
    uint32_t name_count;
};

struct hub_options {
    const struct slice *namespaces; /* namespaces whose objects are served: projects. One empty namespace: all of them */
    uint32_t namespace_count;
    struct slice replica; /* the name of this process, in Cloud.status.session */
    uint64_t seed;
    struct hub_cert cert;
    struct slice url;        /* where other replicas reach this one; empty: they do not */
    const char *sts;         /* URL of STS, which verifies operators' identities of AWS; NULL: none are accepted */
    struct net_allow *allow; /* the egress allowlist, which other replicas are put on and taken off; NULL: everything is allowed */
};

/* hub_options.url of a process that listens at `address` ([HOST]:PORT) and is reached at an IP address. False: ip is none, or the address
 * is empty. */
bool hub_replica_url(struct slice ip, struct slice address, struct arena *a, struct slice *url);

struct hub;
/* The caller keeps config, net and all slices alive until hub_free. */
struct hub *hub_new(struct net *net, struct kube_config *config, const struct hub_options *o, struct err *e);
void hub_free(struct hub *h);
/* Does what is due and returns when to call again. Call it after every net_dispatch. */
int64_t hub_step(struct hub *h, struct now now);
/* Answers who waits, and lets nobody in. True: nothing is left to wait for. */
bool hub_stop(struct hub *h, struct now now);
void hub_renew(struct hub *h, struct now now); /* reads the credentials again now */
/* Sets the API's certificate and key, PEM. ca: CAs that may have issued other replicas' certificates; may be empty. False: nothing changes.
 */
bool hub_certify(struct hub *h, struct slice cert, struct slice key, struct slice ca, struct err *e);
struct tls_identity *const *hub_identity(const struct hub *h); /* for loop_listen_tls; points to NULL while there is none */
struct link_accept *hub_accept(struct hub *h);                 /* the API, /healthz and /readyz */
struct link_accept *hub_metrics(struct hub *h);                /* /metrics */
/* Ready: all lists have been read once, and the API server answers. False with the reason in *why. */
bool hub_ready(const struct hub *h, struct buf *why);

#endif
