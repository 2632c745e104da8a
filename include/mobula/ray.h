/* ray: the model of a Ray cluster, and the Kubernetes objects made of it. Readers turn RayClusters of both API groups into one model;
 * builders turn the model into pods and services. After the reader only names, labels and status depend on the API group. All functions
 * are pure: bytes in, bytes out. Requests to the heads of running clusters are in heads.h. */
#ifndef MOBULA_RAY_H
#define MOBULA_RAY_H

#include <mobula/base.h>
#include <mobula/heads.h>
#include <mobula/json.h>
#include <mobula/kube.h>
#include <mobula/spec.h>

/* ---- labels, annotations and names: users and other tools depend on them ---- */

#define RAY_LABEL_CLUSTER "ray.io/cluster"     /* on every pod and service: the selector of our watches */
#define RAY_LABEL_NODE_TYPE "ray.io/node-type" /* head | worker */
#define RAY_INIT_CONTAINER "wait-gcs-ready"    /* of a worker: ends when the GCS answers; exit code 1 if it never does */
#define RAY_LABEL_GROUP "ray.io/group"         /* headgroup | the group's (or pod type's) name */
#define RAY_LABEL_REPLICA_INDEX "ray.io/worker-group-replica-index"
#define RAY_LABEL_REPLICA_NAME "ray.io/worker-group-replica-name"
#define RAY_LABEL_HOST_INDEX "ray.io/replica-host-index"
#define RAY_LABEL_MAKER_KIND "ray.io/originated-from-crd"     /* RayJob | RayService: the kind of resource that the object was made for */
#define RAY_LABEL_MAKER_NAME "ray.io/originated-from-cr-name" /* … and the name of that resource */
#define RAY_LABEL_NODE "ray.io/is-ray-node"                   /* of pods with Ray in them: "yes" */
/* Of a RayCluster: names of further ports of the head service that its Ingress leads to, "serve,notebook". */
#define RAY_ANNOTATION_PORTS "mobula.dev/ingress-ports"
#define RAY_ANNOTATION_SERVE "ray.io/enable-serve-service" /* of a RayCluster: "true": it gets RAY_SERVICE_SERVE */
#define RAY_LABEL_SERVE "ray.io/serve"                     /* on pods of a RayService: "true": the pod takes Serve requests */
#define RAY_LABEL_CRONJOB "ray.io/cronjob-name"            /* of a RayJob: the RayCronJob that it is a run of */
#define RAY_LABEL_OWNER_UID "mobula.dev/owner-uid" /* the RayCluster's uid: distinguishes children of an older cluster of the same name */
#define RAY_ANNOTATION_HASH "mobula.dev/template-hash" /* hash of what the pod or service was made from: 16 hex digits */
/* Of a RayJob: "NAME PHASE STATE TIME": how it ended. A restore that drops its status does not run it again. */
#define RAY_ANNOTATION_ENDED "mobula.dev/ended"
#define RAY_ANNOTATION_AUTOSCALER "mobula.dev/autoscaler"           /* of a RayCluster: which autoscaler scales it, operator | sidecar */
#define RAY_ANNOTATION_CA "mobula.dev/tls-secret"                   /* RayCluster with tlsOptions: the Secret with its CA */
#define RAY_ANNOTATION_TOOLS_RESOURCES "mobula.dev/tools-resources" /* of a RayCluster or RayJob: cpu=100m,memory=90Mi */
/* RayCluster: budget of rolling updates of its workers, "maxSurgePercent=25,maxUnavailablePercent=0". */
#define RAY_ANNOTATION_ROLL "mobula.dev/rolling-update"
#define RAY_LABEL_MARKET "anyscale.com/market-type" /* SPOT | ON_DEMAND, of pods with an instance type */
#define RAY_LABEL_ZONE "anyscale.com/zone"          /* of pods that are made for one */
/* Annotations of pod templates; what they mean stands in shape.h. */
#define RAY_NOTE_ZONE_TIMEOUT "mobula.dev/zone-starting-timeout"
#define RAY_NOTE_CROSS_ZONE "mobula.dev/allow-cross-zone"
#define RAY_NOTE_STARTING_TIMEOUT "mobula.dev/workload-starting-timeout"
#define RAY_NOTE_FOLLOW "mobula.dev/follow-instance-type"
#define RAY_FIELD_MANAGER "mobula"
#define RAY_HEAD_GROUP "headgroup"

enum ray_kind { RAY_V1, RAY_LEGACY };
extern const struct kube_resource ray_resources[2]; /* by enum ray_kind: ray.io/v1 and cluster.ray.io/v1 rayclusters */
struct slice ray_api_version(enum ray_kind kind);

/* ---- the model ---- */

/* Which autoscaler the cluster's own annotation selects. UNSAID: the operator's setting decides. */
enum ray_scaler { RAY_SCALER_UNSAID, RAY_SCALER_OPERATOR, RAY_SCALER_SIDECAR };

/* Head or worker group. All slices and values lie in the document or in the arena given to the reader. */
struct ray_group {
    struct slice name; /* "headgroup", groupName, or podTypes[].name */
    bool head;
    int32_t replicas, min, max; /* as given, defaults filled in; head: 1, 1, 1 */
    int32_t hosts;              /* pods per replica, ≥ 1 */
    int32_t desired;            /* replicas to run now: `replicas` clamped to [min, max]; 0 when suspended */
    int64_t idle_timeout_s;     /* -1: not given */
    int32_t priority;           /* of several groups that fit a demand, the highest is chosen */
    bool suspended;
    bool zoned;                                 /* it has zones of its own */
    struct jval template;                       /* PodTemplateSpec; legacy: podConfig */
    struct jval start_params;                   /* rayStartParams */
    struct jval resources, labels;              /* group overrides; legacy: resources = rayResources */
    struct jval setup_commands, start_commands; /* legacy */
    struct slice *workers_to_delete;
    uint32_t workers_to_delete_count;
    const struct ray_group *on_demand; /* of a group that prefers spot: the same, as its pods are made on demand; NULL: it does not */
    const char *blocked;               /* no pod is made, and those that run are left alone: the reason in one word; NULL: none */
    struct slice blocked_text;         /* … and in a sentence */
    uint64_t hash;     /* of everything that a pod of this group is made from (legacy: metadata.labels too, which force a restart) */
    uint64_t hash_now; /* hash of a worker made for the running head, if its GCS port or token Secret differs from the spec's; else 0 */
};

/* Budget of rolling updates: workers of an older template are replaced while the others serve. */
struct ray_roll {
    bool on;
    int32_t surge, unavailable; /* percents of a group's replicas that may be extra, and that may be missing */
};
enum { RAY_ROLL_SURGE = 25 }; /* default of maxSurgePercent; that of maxUnavailablePercent is 0 */

struct ray_cluster {
    enum ray_kind kind;
    struct slice ns, name, uid;
    int64_t generation;
    bool deleting;
    bool redis_finalizer; /* KubeRay put RAY_REDIS_FINALIZER on it */
    int64_t deleted_us;   /* deletionTimestamp, wall clock of the API server; 0: none */
    int64_t redis_wait_s; /* after this many seconds RAY_REDIS_FINALIZER is removed */
    bool suspend;
    bool managed_elsewhere; /* spec.managedBy names another controller: nothing is done for it */
    bool recreate;          /* pods of an older template are replaced: upgradeStrategy Recreate, and always for legacy */
    struct ray_roll roll;   /* RAY_ANNOTATION_ROLL; never with recreate */
    bool serves;            /* RAY_LABEL_MAKER_KIND is RayService: its workers take Serve requests */
    bool serve_service;     /* RAY_ANNOTATION_SERVE is true */
    bool typed;             /* a group names an instance type, and they are applied */
    bool marketed;          /* a group has a type or a market: workers that no node takes are made again */
    struct {
        bool on;
        enum ray_scaler scaler;
        double upscaling_speed; /* the most pending nodes, as a multiple of running ones */
        int64_t idle_timeout_s; /* default of groups that give none */
        int32_t max_workers;    /* limit on all groups together; INT32_MAX: none */
    } scale;                    /* autoscaling */
    struct {
        struct slice allowed;  /* "a,b": those that it may be in; empty: any */
        struct slice made_for; /* the one that its pods are made for; empty: none, or several at once */
        int64_t ms;            /* how long its minimum may take there; 0: the operator's setting */
    } zone;
    struct slice ray_version;
    struct {
        struct slice secret; /* Secret with the token that the head asks of every client; empty: no token */
        bool ours;           /* we create that Secret for this cluster */
        struct slice ca;     /* Secret with the CA that signs its pods' certificates; empty: no TLS between Ray's processes */
        bool ca_ours;        /* we create the CA's Secret for this cluster */
        bool routes;         /* hosts of its Ingress get a certificate where the spec names no Secret */
    } auth;
    struct slice host; /* of its Ingress, or of its head's load balancer, where the spec names none; empty: any */
    struct jval spec, labels, annotations;
    struct ray_group head;
    struct ray_group *groups;
    uint32_t group_count;
    struct {
        int32_t gcs; /* rayStartParams.port or 6379 */
        int32_t dashboard, dashboard_agent, serve;
    } ports;
    const struct ray_running *running; /* set by ray_running_apply; NULL: no head runs, and all fields are the spec's */
};

/* The running head, as clients and workers reach it. The spec may differ by now: that is for the next head. Services, workers and requests
 * to the head are made from a model after ray_running_apply. */
struct ray_running {
    struct ray_group head;             /* its start_params, and the labels and container ports of its template, are those of the pod */
    struct slice auth_secret, auth_ca; /* the values of the spec, as are the ports; ray_next restores them */
    int32_t gcs_port, dashboard_port, dashboard_agent_port;
};
/* Writes the text for ray_running_apply from a head's Pod object, of any operator: its labels, container ports, the port flags of its `ray
 * start`, and the Secret of its token. The same pod always gives the same text. */
void ray_running_read(struct jval pod, struct arena *a, struct buf *out);
/* Sets c->running, and the model's ports and token Secret, to those of the pod that `text` was written from. Hashes and templates of the
 * model stay the spec's; groups get hash_now. */
void ray_running_apply(struct ray_cluster *c, struct slice text, struct arena *a);
/* "dashboard port 8265 runs, 9000 is asked for; …": what differs between the running head and the spec in ports, token Secret and labels;
 * empty: nothing. */
struct slice ray_running_drift(const struct ray_cluster *c, struct arena *a);
/* The model with the spec's ports and token Secret, without c->running: the next head is made from it. */
struct ray_cluster ray_next(const struct ray_cluster *c);

bool ray_managed_elsewhere(struct slice managed_by); /* whether spec.managedBy names another controller */

/* Reads a whole custom resource (metadata and spec). Collects all errors in *errors and returns whether there were none. With errors the
 * model holds what could be read, ns, name and uid always, so that a status can be written. */
bool ray_read(struct jval object, struct arena *a, struct ray_cluster *out, struct spec_errors *errors);
/* The same of a record, too, with the hashes kept since its bytes were read before (the head's, then each group's): computing them takes
 * half of the time. NULL: it was not. */
bool ray_read_resource(const struct spec_object *from, const uint64_t *hashes, struct arena *a, struct ray_cluster *out,
                       struct spec_errors *errors);
/* Reads a RayClusterSpec inside another resource, which makes clusters from it. annotations: those that the clusters will have. *out has no
 * other metadata. Errors as in ray_read. */
void ray_read_cluster_spec(const struct place *spec, struct jval annotations, struct arena *a, struct ray_cluster *out,
                           struct spec_errors *errors);
/* ray_notes for such a spec. */
void ray_cluster_spec_notes(const struct place *spec, struct jval annotations, struct arena *a, struct spec_errors *notes);
/* Reads a value of RAY_ANNOTATION_ROLL. scaled: the cluster has an autoscaler, so no surge pods are created. */
bool ray_roll_read(struct slice text, bool scaled, struct ray_roll *out, struct err *e);
bool ray_roll_check(const struct ray_roll *roll, bool scaled, struct err *e);
/* The text that ray_read makes ray_group.hash of; for a group whose template has been replaced since. */
uint64_t ray_group_hash(const struct ray_cluster *c, const struct ray_group *g, struct arena *a);
/* Notes on fields that are accepted and have no effect: unknown fields (mostly misspelt), and fields of missing features that are safe to
 * ignore. Fields that are not safe to ignore (enableK8sTokenAuth, networkPolicy, gcsFaultToleranceOptions) are errors of
 * ray_read. Used by `mobula validate` and for an event. */
void ray_notes(struct jval object, struct arena *a, struct spec_errors *notes);
/* "2.56.0" as 2056; 0 when it is no version. */
int64_t ray_version_number(struct slice version);
/* ray_version_number of the tag of a Ray image; 0: another image, or a tag that is no version. */
int64_t ray_image_version(struct slice image);
/* Whether Ray takes the scheme and the file ending of the URI, as a working_dir or (module) as one of py_modules. False: ERR_CONFIG. */
bool ray_package_check(struct slice uri, bool module, struct err *e);

/* KubeRay's finalizer for emptying a cluster's Redis before the cluster is deleted, and the seconds after which it gives up. */
#define RAY_REDIS_FINALIZER "ray.io/gcs-ft-redis-cleanup-finalizer"
#define RAY_SERVICE_FINALIZER "ray.io/rayservice-finalizer" /* KubeRay's: removed, as owner references delete the children */
/* Whether the operator removes the finalizer from a resource of any of its kinds. */
bool ray_removes_finalizer(struct slice name);
#define RAY_ANNOTATION_REDIS_WAIT "ray.io/gcs-ft-deletion-timeout"
enum { RAY_REDIS_WAIT_S = 300 };

/* Writes and reads the value of RAY_ANNOTATION_HASH. False: not a value that we write. */
enum { RAY_HASH_TEXT = 16 };
void ray_hash_format(uint64_t hash, char out[RAY_HASH_TEXT]); /* no NUL */
bool ray_hash_parse(struct slice text, uint64_t *hash);

/* ---- settings of the operator that change pods ---- */

enum ray_tools { RAY_TOOLS_CONFIGMAP, RAY_TOOLS_IMAGE, RAY_TOOLS_NONE };
#define RAY_TOOLS_CONFIGMAP_NAME "mobula-tools"

/* Requests and limits of containers that run this binary; empty: not set. Then wait-gcs-ready gets the Ray container's resources, which
 * cost nothing extra (the scheduler takes the larger of init and main containers) and pass a LimitRange that the Ray container passes; a
 * submitter gets 10m of CPU and 16Mi. */
struct ray_tools_resources {
    struct slice cpu, memory;
};
/* Parses "cpu=100m,memory=90Mi", or one of the two. */
bool ray_tools_resources(struct slice text, struct ray_tools_resources *out, struct err *e);

/* How `mobula agent` in every pod of Ray stores log files in a bucket. */
struct ray_ship {
    const struct slice *args; /* of `mobula agent`, ended by one without ptr */
    struct slice ca;          /* PEM that it gets as the file RAY_SHIP_CA; empty: none */
    struct slice secret;      /* name of the Secret with the bucket's credentials, in the pod's namespace; empty: the pod's own identity */
};
#define RAY_SHIP_FOLDER "/var/run/mobula-bucket"
#define RAY_SHIP_CA RAY_AGENT_FOLDER "/bucket-ca.crt"

struct ray_options {
    enum ray_tools tools;     /* where workers get the binary for wait-gcs-ready from */
    struct slice tools_image; /* RAY_TOOLS_IMAGE */
    struct ray_tools_resources tools_resources;
    struct ray_tools_resources agent_resources; /* of RAY_AGENT_CONTAINER; what is empty: tools_resources */
    struct slice cluster_domain;                /* "cluster.local" */
    struct slice version;                       /* mobula's, for Ray's usage tags */
    int64_t unscheduled_ms; /* a worker of a cluster with instance types that has had no node for so long is made again; 0: never */
    int64_t zone_ms;        /* how long a cluster's minimum may take in one zone; 0: RAYCLUSTER_ZONE_MS */
    int64_t starting_ms;    /* a cluster that was not ready for the first time within so long is reported as late; 0: never */
    int64_t spot_fallback_ms, spot_retry_ms; /* 0: RAYCLUSTER_SPOT_FALLBACK_MS, RAYCLUSTER_SPOT_RETRY_MS */
    bool sidecar;                            /* default autoscaler: KubeRay's, as a container of the head */
    const struct slice *agent;               /* arguments of `mobula agent` in heads, ended by one without ptr; NULL: there is none */
    struct slice agent_ca;                   /* PEM that it gets as the file RAY_AGENT_CA; empty: none */
    const struct ray_ship *ship;             /* NULL: logs are not stored */
};

/* The container in which `mobula agent` runs beside a head's Ray, with a token of the pod in RAY_AGENT_FOLDER. */
#define RAY_AGENT_CONTAINER "mobula-agent"
#define RAY_AGENT_FOLDER "/var/run/mobula"
#define RAY_AGENT_CA RAY_AGENT_FOLDER "/ca.crt"
enum { RAY_AGENT_TOKEN_S = 600 }; /* how long a token holds: the least that Kubernetes gives; the kubelet renews it */
/* False: none is asked for, the program cannot be had there, its GCS speaks TLS, or the template has a container of that name. */
bool ray_wants_agent(const struct ray_cluster *c, const struct ray_options *o, struct arena *a);
/* Adds the container to the template of the head, if it reports, and with o->ship to all templates; hashes stay. False: a template stays as
 * it is, because it has a container of that name or would be too large. */
bool ray_add_agent(struct ray_cluster *c, bool reports, const struct ray_options *o, struct arena *a, struct err *e);

/* ---- names: functions of owner, group, index and the replaced pod ---- */

/* v1: "<cluster>-head". legacy: podConfig's generateName (prefixed with the cluster's name unless it starts with it) and five characters.
 * Every head of a cluster has the same name, so the API server itself allows one head at most. */
struct slice ray_head_pod_name(const struct ray_cluster *c, struct arena *a);
/* v1: "<cluster>-<group>-worker-<index>-<5>", legacy: "<generateName><index>-<5>", at most 63 bytes. The five characters are a hash of uid,
 * group, index and the uid of the replaced pod (empty for the first). So a create repeated after a lost answer gets AlreadyExists and never
 * makes a second pod. */
struct slice ray_worker_pod_name(const struct ray_cluster *c, const struct ray_group *g, int32_t index, struct slice replaces_uid,
                                 struct arena *a);
struct slice ray_head_service_name(const struct ray_cluster *c, struct arena *a);
struct slice ray_headless_service_name(const struct ray_cluster *c, struct arena *a);
/* The Services of a cluster: to its head; for its workers, if a group has several hosts; to all of its Ray pods, for Serve requests. */
enum ray_service { RAY_SERVICE_HEAD, RAY_SERVICE_HEADLESS, RAY_SERVICE_SERVE, RAY_SERVICES };
struct slice ray_service_name(const struct ray_cluster *c, enum ray_service which, struct arena *a);
bool ray_wants_service(const struct ray_cluster *c, enum ray_service which);

/* ---- builders: each writes one JSON object ---- */

/* A pod is the group's template with our fields spliced in; every other byte of the template is copied unchanged. Our fields: metadata
 * (name, namespace, labels, annotations, owner); the first container's command, args, env, ports, probes and volumeMounts; volumes;
 * initContainers; with autoscaling restartPolicy Never, unless the user sets one; with KubeRay's autoscaler its container and
 * serviceAccountName.
 *
 * index counts pods of a group: replica = index / hosts, host = index % hosts. The replica's name depends on owner, group and replica only,
 * so that all its hosts get the same one; a replica is created again only when all its old pods are gone. Workers wait for the GCS in the
 * init container wait-gcs-ready, unless the template has an init container of that name or the GCS uses TLS (RAY_USE_TLS). */
bool ray_build_head_pod(const struct ray_cluster *c, const struct ray_options *o, struct arena *a, struct buf *out, struct err *e);
bool ray_build_worker_pod(const struct ray_cluster *c, const struct ray_group *g, int32_t index, struct slice replaces_uid,
                          const struct ray_options *o, struct arena *a, struct buf *out, struct err *e);
/* RAY_SERVICE_HEAD of v1: headless unless serviceType or headService say otherwise. legacy: with a cluster IP as in 2021, because
 * headServicePorts may map one port to another; the GCS port, by which workers connect today, is added. Both publish a head that is not
 * ready yet. RAY_SERVICE_SERVE: the ports of the head's Ray container that are called serve or serve-…, else c->serve_port. A service
 * carries RAY_ANNOTATION_HASH too, the hash of the whole object. */
bool ray_build_service(const struct ray_cluster *c, enum ray_service which, struct arena *a, struct buf *out, struct err *e);
/* "group small: replicas 9 is above maxReplicas 4, so 4 are made"; empty: `replicas` is in range, or an autoscaler sets the number. */
struct slice ray_clamp_text(const struct ray_cluster *c, const struct ray_group *g, struct arena *a);
/* The two Services of a RayService, for the cluster c that takes its requests. head: selects the head pod. serve: as RAY_SERVICE_SERVE, and
 * selects the pods whose RAY_LABEL_SERVE is "true". given: a Service whose metadata and spec are copied, or no value. */
bool ray_build_service_head(const struct ray_cluster *c, const struct owner *owner, struct slice name, struct arena *a, struct buf *out,
                            struct err *e);
bool ray_build_service_serve(const struct ray_cluster *c, const struct owner *owner, struct slice name, struct jval given, struct arena *a,
                             struct buf *out, struct err *e);
/* The Ingress of the head's dashboard (headGroupSpec.enableIngress): its name, its class (empty: the cluster's default), and its labels,
 * annotations and spec. Annotations are those of the RayCluster, for the ingress controller. */
/* The Secret with the certificate of its Ingress, and the hosts ("a,b") that it is for; empty: no TLS. field: that names it; empty: none
 * does. Of several Secrets in the spec it is the first. */
struct slice ray_ingress_secret(const struct ray_cluster *c, struct slice *hosts, struct slice *field, struct arena *a);
bool ray_wants_ingress(const struct ray_cluster *c);
struct slice ray_ingress_host(const struct ray_cluster *c, struct arena *a); /* of the dashboard; empty: any */
/* Ports that RAY_ANNOTATION_PORTS names and the head service does not have, or that have no host: "a, b". */
struct slice ray_ingress_missing(const struct ray_cluster *c, struct arena *a);
struct slice ray_ingress_name(const struct ray_cluster *c, struct arena *a);
struct slice ray_ingress_class(const struct ray_cluster *c, struct arena *a);
struct pairs;
void ray_build_ingress(const struct ray_cluster *c, struct pairs *labels, struct pairs *annotations, struct buf *spec);
int32_t ray_serve_port(const struct ray_cluster *c, struct arena *a); /* of its serve Service: the one called serve, else the first */
/* Hash of our fields of a service: equal for the object that we build and for the server's copy with defaults, until somebody changes one
 * of our fields. */
uint64_t ray_service_hash(struct jval service);
/* {"dashboard":"30123"}: for each named port of a live service its node port, or its target port if it has none. */
void ray_service_endpoints(struct jval service, struct arena *a, struct buf *out);
/* The shell text that starts Ray in the group's container. v1: "ray start --head …", the value of KUBERAY_GEN_RAY_START_CMD, without
 * ulimit. legacy: the setup and start commands, a line each, with --block.
 *
 * In KubeRay values of rayStartParams are shell text, and its samples depend on that: '"{\"a\": 1}"', "$MY_POD_IP". Here a value is copied
 * unchanged if a shell reads it as one word and runs nothing: safe characters (A-Z a-z 0-9 _ @ % + = : , . / -), $NAME and ${NAME}, \c, '…'
 * and "…" without command substitution. Any other value is put in single quotes as a whole. So {"a": 1} works without quotes too, and
 * "1; curl …" is a malformed number, not a command. Keys must be [A-Za-z0-9][A-Za-z0-9_-]*. */
bool ray_start_command(const struct ray_cluster *c, const struct ray_group *g, const struct ray_options *o, struct arena *a,
                       struct slice *out, struct err *e);

/* Objects that must exist before the head is created: account, role and binding of KubeRay's autoscaler, and the Secrets with the cluster's
 * token and its CA. If the head's template names a service account, or authOptions or RAY_ANNOTATION_CA a Secret, the user creates it.
 * Names are KubeRay's, because other programs look for them; the CA's is "<cluster>-ray-ca". */
enum ray_account { RAY_ACCOUNT, RAY_ACCOUNT_ROLE, RAY_ACCOUNT_BINDING, RAY_ACCOUNT_SECRET, RAY_ACCOUNT_CA, RAY_ACCOUNT_OBJECTS };
extern const struct kube_resource ray_account_resources[RAY_ACCOUNT_OBJECTS];
bool ray_has_sidecar(const struct ray_cluster *c, const struct ray_options *o);
bool ray_wants_account(const struct ray_cluster *c, enum ray_account which, const struct ray_options *o, struct arena *a);
struct slice ray_account_name(const struct ray_cluster *c, enum ray_account which, struct arena *a);
/* secret: the token of RAY_ACCOUNT_SECRET, or the data of RAY_ACCOUNT_CA as a JSON object. */
bool ray_build_account(const struct ray_cluster *c, enum ray_account which, struct slice secret, struct arena *a, struct buf *out);

/* Token authentication (spec.authOptions of ray.io/v1). */
#define RAY_AUTH_KEY "auth_token" /* of the Secret's data */
/* Keys of a CA's Secret, of type kubernetes.io/tls; ca.crt: the root, if tls.crt does not have it. Mounted, they are files in
 * RAY_CA_FOLDER; the files of a pod's certificate, in RAY_TLS_FOLDER, have the same names. */
#define RAY_CA_CERT "tls.crt"
#define RAY_CA_KEY "tls.key"
#define RAY_CA_ROOT "ca.crt"
#define RAY_CA_FOLDER "/var/run/mobula-ca"
#define RAY_TLS_FOLDER "/etc/ray/tls"
#define RAY_TLS_INIT_CONTAINER "ray-cert" /* makes a pod's certificate */
#define RAY_TLS_HEAD "ray-head"           /* SAN of head certificates only, so no worker can pose as a head */
/* Name of the Secret that a RayCluster's spec selects; empty: no token. *ours: we create it. */
struct slice ray_auth_secret(struct jval spec, struct slice cluster, bool *ours, struct arena *a);
/* The token in the key's bytes: surrounding white space is removed. False: it cannot be sent in a header. */
bool ray_auth_token(struct slice text, struct slice *token, struct err *e);
/* The token in the API server's answer to a GET of its Secret. It lies in *text, which the caller initialises with room for
 * LIMIT_KUBE_TOKEN bytes and wipes afterwards. */
bool ray_auth_read(struct slice secret, struct buf *text, struct slice *token, struct arena *a, struct err *e);

/* ---- RayJob ---- */

extern const struct kube_resource ray_job_resource;
#define RAY_JOB_FINALIZER                                                                                                                  \
    "ray.io/rayjob-finalizer" /* only on jobs with clusterSelector: the cluster outlives the job, and the job's processes on it must be    \
                                 stopped */

enum { RAY_JOB_ID_MAX = 253 }; /* bytes of spec.jobId */
enum ray_job_mode { RAY_JOB_K8S, RAY_JOB_HTTP, RAY_JOB_INTERACTIVE, RAY_JOB_SIDECAR };
/* The objects that are deleted after the end, in rising order. */
enum ray_job_removal { RAY_REMOVE_NONE, RAY_REMOVE_WORKERS, RAY_REMOVE_CLUSTER, RAY_REMOVE_SELF };
/* Kinds of end, as bits: one end may be several of them. */
enum {
    RAY_END_ANY = 1,       /* it is over */
    RAY_END_SUCCEEDED = 2, /* Ray says SUCCEEDED */
    RAY_END_FAILED = 4,    /* Ray says FAILED */
    RAY_END_GIVEN_UP = 8,  /* the RayJob failed, whatever Ray says */
};
struct ray_job_rule {
    uint8_t ends; /* the rule applies after any of these */
    uint8_t what; /* enum ray_job_removal */
    int32_t ttl_s;
};

/* All slices and values lie in the document or in the arena given to the reader. */
struct ray_job {
    struct slice ns, name, uid;
    int64_t generation;
    bool deleting, suspend;
    bool managed_elsewhere; /* spec.managedBy names another controller */
    bool finalizer;         /* RAY_JOB_FINALIZER is on it */
    bool own_submitter;     /* submitterPodTemplate has a command, which replaces `mobula submit` in the submitter pod */
    enum ray_job_mode mode;
    struct jval spec, labels, annotations;
    struct slice entrypoint;
    struct slice job_id;   /* spec.jobId; empty: it is generated */
    struct slice selected; /* name of the cluster that clusterSelector selects; empty: one is created from cluster_spec */
    struct jval cluster_spec;
    struct slice runtime_env; /* JSON; empty: none */
    struct slice resources;   /* entrypointResources as JSON; empty: none */
    struct jval metadata, num_cpus, num_gpus, submitter_template;
    int32_t submitter_retries, retries;
    int32_t active_deadline_s, pre_running_deadline_s; /* 0: none */
    struct ray_job_rule rules[LIMIT_RAY_RULES];        /* shutdownAfterJobFinishes, onSuccess and onFailure are converted to rules */
    uint32_t rule_count;
    bool shutdown; /* the rules are those of shutdownAfterJobFinishes */
};

/* As ray_read and ray_notes, for a RayJob and its rayClusterSpec; errors of the latter have their full path. */
bool ray_read_job(struct jval object, struct arena *a, struct ray_job *out, struct spec_errors *errors);
bool ray_read_job_resource(const struct spec_object *from, struct arena *a, struct ray_job *out, struct spec_errors *errors);
void ray_job_notes(struct jval object, struct arena *a, struct spec_errors *notes);
/* The same of a spec that stands in another resource, where RayJobs are made of it; out has no metadata then. */
void ray_read_job_spec(const struct place *spec, struct arena *a, struct ray_job *out, struct spec_errors *errors);
void ray_job_spec_notes(const struct place *spec, struct arena *a, struct spec_errors *notes);

/* "<job>-<5>", five characters from a hash of uid and attempt: however many answers are lost, an attempt never gets two clusters or two
 * submissions. The submission id is spec.jobId if that is given. */
struct slice ray_job_cluster_name(const struct ray_job *job, int32_t attempt, struct arena *a);
struct slice ray_job_submission_id(const struct ray_job *job, int32_t attempt, struct arena *a);
/* Name of the attempt's nth submitter pod, counted from 0. */
struct slice ray_job_submitter_name(const struct ray_job *job, int32_t attempt, int32_t n, struct arena *a);
/* The RayCluster of an attempt, with the job's labels and annotations, as in KubeRay. */
bool ray_build_job_cluster(const struct ray_job *job, struct slice name, struct buf *out, struct arena *a);
/* A submission. The user's values are copied byte for byte; runtimeEnvYAML is converted to JSON. entrypoint and id are text; the others are
 * JSON, or empty: not given. */
struct ray_submission {
    struct slice entrypoint, id, runtime_env, metadata, num_cpus, num_gpus, memory, resources;
};
struct ray_submission ray_job_submission(const struct ray_job *job, struct slice id);
/* The body of POST /api/jobs/. */
bool ray_write_submission(const struct ray_submission *s, struct buf *out);
bool ray_build_submission(const struct ray_job *job, struct slice id,
                          struct buf *out); /* ray_job_submission and ray_write_submission in one */

/* The submitter pod of a K8sJobMode job, named by ray_job_submitter_name. It runs `mobula submit` with the submission id of status, so the
 * job is submitted once however many submitter pods there are. With submitterPodTemplate it is that pod, and runs the template's command if
 * it has one; else it is one container of 10m CPU and 16Mi with the head's node selector and tolerations. A submitter pod is never
 * restarted: the next one has the next name. It carries RAY_LABEL_CLUSTER, the selector of our watch. */
#define RAY_SUBMITTER_CONTAINER "ray-job-submitter" /* unless the template names another */
struct ray_submitter {
    struct slice name, id;
    struct slice cluster;   /* the RayCluster's name */
    struct slice dashboard; /* HOST:PORT */
    struct slice secret;    /* with the token that this dashboard asks for; empty: none */
    struct jval spec;       /* the RayCluster's: the default image is the head's, which the cluster's nodes can pull */
};
/* Whether the job fits into the command of a submitter pod. False with *e: it never will (LIMIT_RAY_ARGUMENT). */
bool ray_submitter_fits(const struct ray_job *job, struct err *e);
bool ray_build_submitter_pod(const struct ray_job *job, const struct ray_submitter *s, const struct ray_options *o, struct arena *a,
                             struct buf *out, struct err *e);

/* ---- live pods: webhooks and people may have changed anything that we built ---- */

/* The container that runs Ray, or of a submitter pod the one that submits, at whatever position; absent: the pod has none. */
struct jval ray_live_container(struct jval pod);
/* Of a pod as it was built and as somebody changed it: the variable of the container that Ray runs in by which Ray and the operator agree,
 * and which is not there any more or another; "name": that of the container; NULL: all are as they were. */
const char *ray_live_lost(struct jval before, struct jval after);
/* Whether this is a word for RAY_LABEL_MARKET of a group's template. */
bool ray_market_known(struct slice market);
/* Whether a resource of a container is a GPU, or a part of one, or a TPU. */
bool ray_accelerates(struct slice resource);
/* Whether the pod is a head, judged by its name and not by its labels, which somebody may have changed. */
bool ray_live_head(struct jval pod, struct arena *a);
/* Whether a worker's name belongs to this group. If not, somebody has changed its group label. Names of legacy pods do not tell their
 * group; there only a missing label is known to be changed. */
bool ray_named_for(const struct ray_cluster *c, struct slice group, struct slice pod, struct arena *a);

/* The condition of a RayCluster's status that explains why the cluster is not ready; if several do, the one nearest to the cause. NO_VALUE:
 * none. */
struct jval ray_cluster_unready(struct jval status);

/* Sums over desired pods, for status: milli-CPU, bytes, GPUs, TPUs. A sum is written in the form of its first quantity, as KubeRay does. */
struct ray_sum {
    int64_t amount;
    enum quantity_form form; /* of the first that is not zero */
};
struct ray_sums {
    struct ray_sum cpu, memory, gpu, tpu;
};
bool ray_desired_sums(const struct ray_cluster *c, struct arena *a, struct ray_sums *out, struct err *e);

/* Resources and labels that one pod of a group will offer to Ray, as its `ray start` gets them; used until its node has registered. An
 * amount that cannot be read is left out. */
struct ray_offer {
    struct ray_bundle bundle;
    const struct ray_label *labels;
    uint32_t label_count;
};
struct ray_offer ray_group_offer(const struct ray_cluster *c, const struct ray_group *g, struct arena *a);

#endif
