/* ray: what a Ray cluster is and what its Kubernetes objects look like. Readers turn the custom resources of both groups into one model;
 * builders turn the model into pods and services. After the reader nothing knows which kind it was, but names, labels and status that
 * users see. Pure functions of bytes: how objects are stored or sent is unknown here. What is said to the heads of running clusters stands
 * in heads.h. */
#ifndef MOBULA_RAY_H
#define MOBULA_RAY_H

#include <mobula/base.h>
#include <mobula/heads.h>
#include <mobula/json.h>
#include <mobula/kube.h>

/* ---- labels, annotations, names that users and other tools rely on ---- */

#define RAY_LABEL_CLUSTER "ray.io/cluster"     /* on every pod and service of both kinds: what we watch by */
#define RAY_LABEL_NODE_TYPE "ray.io/node-type" /* head | worker */
#define RAY_INIT_CONTAINER "wait-gcs-ready"    /* of a worker: it ends when the head answers, with 1 when it never does */
#define RAY_LABEL_GROUP "ray.io/group"         /* headgroup | the group's (or pod type's) name */
#define RAY_LABEL_REPLICA_INDEX "ray.io/worker-group-replica-index"
#define RAY_LABEL_REPLICA_NAME "ray.io/worker-group-replica-name"
#define RAY_LABEL_HOST_INDEX "ray.io/replica-host-index"
#define RAY_LABEL_OWNER_UID "mobula.dev/owner-uid"        /* of the RayCluster: tells children of an older cluster of the same name apart */
#define RAY_ANNOTATION_HASH "mobula.dev/template-hash"    /* of what the pod or service was made from: 16 hex digits */
#define RAY_ANNOTATION_AUTOSCALER "mobula.dev/autoscaler" /* of a RayCluster: operator | sidecar, who scales it */
#define RAY_ANNOTATION_TOOLS_RESOURCES "mobula.dev/tools-resources" /* of a RayCluster or RayJob: cpu=100m,memory=90Mi */
#define RAY_FIELD_MANAGER "mobula"
#define RAY_HEAD_GROUP "headgroup"

enum ray_kind { RAY_V1, RAY_LEGACY };
extern const struct kube_resource ray_resources[2]; /* by enum ray_kind: ray.io/v1 and cluster.ray.io/v1 rayclusters */
struct slice ray_api_version(enum ray_kind kind);

/* ---- the model ---- */

/* Who scales a cluster, as far as it says so itself; else it is the operator's setting. */
enum ray_scaler { RAY_SCALER_UNSAID, RAY_SCALER_OPERATOR, RAY_SCALER_SIDECAR };

/* Head or worker group. All slices and values lie in the document or in the arena given to the reader. */
struct ray_group {
    struct slice name; /* "headgroup", groupName, or podTypes[].name */
    bool head;
    int32_t replicas, min, max; /* as given, defaults filled in; head: 1, 1, 1 */
    int32_t hosts;              /* pods per replica, ≥ 1 */
    int32_t desired;            /* replicas to run now: clamped to [min, max]; 0 when suspended */
    int64_t idle_timeout_s;     /* -1: not given */
    int32_t priority;           /* of groups that fit the same demand, the highest is taken */
    bool suspended;
    struct jval template;                       /* PodTemplateSpec; legacy: podConfig */
    struct jval start_params;                   /* rayStartParams */
    struct jval resources, labels;              /* group overrides; legacy: resources = rayResources */
    struct jval setup_commands, start_commands; /* legacy */
    struct slice *workers_to_delete;
    uint32_t workers_to_delete_count;
    uint64_t hash; /* of all that a pod of this group is made of (legacy: also metadata.labels, the forced restart) */
};

struct ray_cluster {
    enum ray_kind kind;
    struct slice ns, name, uid;
    int64_t generation;
    bool deleting;
    bool redis_finalizer; /* KubeRay put RAY_REDIS_FINALIZER on it */
    int64_t deleted_us;   /* wall clock of the API server: since when it is being deleted */
    int64_t redis_wait_s; /* after so long RAY_REDIS_FINALIZER is taken off */
    bool suspend;
    bool managed_elsewhere; /* spec.managedBy names another controller: not ours to touch */
    bool recreate;          /* upgradeStrategy Recreate, and always for legacy: pods of an older template are replaced */
    bool autoscaling;
    enum ray_scaler scaler;
    double upscaling_speed; /* nodes that may be pending, as a multiple of those that run */
    int64_t idle_timeout_s; /* of groups that give none */
    int32_t max_workers;    /* of all groups together; INT32_MAX: no limit but the groups' own */
    struct slice ray_version;
    struct slice auth_secret; /* the Secret that holds the token which every client of the head must have; empty: none must */
    bool auth_ours;           /* it is made for this cluster */
    struct jval spec, labels, annotations;
    struct ray_group head;
    struct ray_group *groups;
    uint32_t group_count;
    int32_t gcs_port; /* rayStartParams.port or 6379 */
    int32_t dashboard_port, dashboard_agent_port, serve_port;
};

struct ray_error {
    struct slice path; /* "spec.workerGroupSpecs[1].minReplicas" */
    struct slice text; /* "is 5, above maxReplicas 3: lower it or raise maxReplicas" */
    size_t offset;     /* of the value in the document, for line numbers */
};
/* The path of a member of what has the path `up`: spec.labels, spec.labels["ray.io/x"]. */
struct slice ray_path_member(struct slice up, struct slice key, struct arena *a);
struct ray_errors {
    struct ray_error list[LIMIT_RAY_ERRORS];
    uint32_t count;  /* stored */
    uint32_t beyond; /* more that were found and not stored */
};

/* Reads a whole custom resource (metadata and spec). Every error at once goes to *errors; returns whether there was none. The model is
 * filled as far as it can be read even then (ns, name, uid always), so that status can be written. */
bool ray_read(struct jval object, struct arena *a, struct ray_cluster *out, struct ray_errors *errors);
/* The same for who has read these very bytes before and kept the hashes, the head's first and then each group's: they cost as much as all
 * the rest. */
bool ray_read_known(struct jval object, const uint64_t *hashes, struct arena *a, struct ray_cluster *out, struct ray_errors *errors);
/* What is accepted and has no effect: fields that nobody knows (a slip of the pen, mostly), and those of features that are not there yet
 * and whose absence is no danger. Fields whose silent absence would be one (enableK8sTokenAuth, tlsOptions, networkPolicy,
 * gcsFaultToleranceOptions) are errors of ray_read. For `mobula validate` and for an event. */
void ray_notes(struct jval object, struct arena *a, struct ray_errors *notes);
/* One line: "spec.headGroupSpec.template.spec.containers: …; spec.…: …; and 3 more", at most max bytes. */
struct slice ray_errors_text(const struct ray_errors *errors, size_t max, struct arena *a);

/* KubeRay's promise to empty the Redis of a cluster before it goes; and how many seconds after its deletion that is given up. */
#define RAY_REDIS_FINALIZER "ray.io/gcs-ft-redis-cleanup-finalizer"
#define RAY_ANNOTATION_REDIS_WAIT "ray.io/gcs-ft-deletion-timeout"
enum { RAY_REDIS_WAIT_S = 300 };

/* The value of RAY_ANNOTATION_HASH and back; false: it is not one of ours. */
enum { RAY_HASH_TEXT = 16 };
void ray_hash_format(uint64_t hash, char out[RAY_HASH_TEXT]); /* no NUL */
bool ray_hash_parse(struct slice text, uint64_t *hash);

/* ---- what the operator's settings decide about pods ---- */

enum ray_tools { RAY_TOOLS_CONFIGMAP, RAY_TOOLS_IMAGE, RAY_TOOLS_NONE };
#define RAY_TOOLS_CONFIGMAP_NAME "mobula-tools"

/* What a container in which this binary runs asks for and is limited to: quantities; empty where nobody has said. Then wait-gcs-ready has
 * what the Ray container has, which costs nothing beside it and passes where that passes (LimitRange, quota), and a submitter 10m of CPU
 * and 16Mi. */
struct ray_tools_resources {
    struct slice cpu, memory;
};
/* "cpu=100m,memory=90Mi", or one of them. */
bool ray_tools_resources(struct slice text, struct ray_tools_resources *out, struct err *e);

struct ray_options {
    enum ray_tools tools;     /* how workers get the binary that waits for the GCS */
    struct slice tools_image; /* RAY_TOOLS_IMAGE */
    struct ray_tools_resources tools_resources;
    struct slice cluster_domain; /* "cluster.local" */
    struct slice version;        /* mobula's, for the tags that Ray reports */
    bool sidecar;                /* clusters that do not say who scales them get KubeRay's autoscaler as a container of their head */
};

/* ---- names: functions of the owner, the group, the index and the pod replaced ---- */

/* v1: "<cluster>-head". legacy: podConfig's generateName (with the cluster's name before it unless it starts so) and five characters that
 * are the same for every head of this cluster: the API server itself then allows one head at most. */
struct slice ray_head_pod_name(const struct ray_cluster *c, struct arena *a);
/* v1: "<cluster>-<group>-worker-<index>-<5>", legacy: "<generateName><index>-<5>"; the five are made of uid, group, index and the uid of
 * the pod that it replaces (empty for the first), so that an answer that was lost leads to AlreadyExists and never to a twin. ≤ 63 bytes.
 */
struct slice ray_worker_pod_name(const struct ray_cluster *c, const struct ray_group *g, int32_t index, struct slice replaces_uid,
                                 struct arena *a);
struct slice ray_head_service_name(const struct ray_cluster *c, struct arena *a);
struct slice ray_headless_service_name(const struct ray_cluster *c, struct arena *a);

/* ---- builders: each writes one JSON object ---- */

/* A pod is the group's template with what is ours spliced in; all else goes through to the byte. Ours are: metadata (name, namespace,
 * labels, annotations, owner), of the first container command, args, env, ports, probes and volumeMounts, and besides it volumes,
 * initContainers and, with autoscaling, restartPolicy Never where the user gave none; with KubeRay's autoscaler its container and
 * serviceAccountName.
 *
 * index counts pods of a group: replica = index / hosts, host = index % hosts. The replica's name is a function of owner, group and
 * replica alone, so that its hosts agree without asking: a replica is built anew only when all pods of the old one are gone. Workers wait
 * for the GCS in the init container wait-gcs-ready, unless the template has one of that name or the GCS speaks TLS (RAY_USE_TLS). */
bool ray_build_head_pod(const struct ray_cluster *c, const struct ray_options *o, struct arena *a, struct buf *out, struct err *e);
bool ray_build_worker_pod(const struct ray_cluster *c, const struct ray_group *g, int32_t index, struct slice replaces_uid,
                          const struct ray_options *o, struct arena *a, struct buf *out, struct err *e);
/* v1: headless unless serviceType or headService say otherwise. legacy: with an address of its own, as it always was, because
 * headServicePorts may lead from one number to another; the GCS's port is added, by which workers now come. That one and a headless one
 * name a head that is not ready yet. A service carries RAY_ANNOTATION_HASH too, of the whole object. */
bool ray_build_head_service(const struct ray_cluster *c, struct arena *a, struct buf *out, struct err *e);
bool ray_wants_headless_service(const struct ray_cluster *c);
/* "group small: replicas 9 is above maxReplicas 4, so 4 are made"; empty: its replicas are as they stand in the spec, or nobody goes by
 * them. */
struct slice ray_clamp_text(const struct ray_cluster *c, const struct ray_group *g, struct arena *a);
bool ray_build_headless_service(const struct ray_cluster *c, struct arena *a, struct buf *out, struct err *e);
/* The same for what we build and for what the server gives back with its defaults filled in: equal as long as nobody changed what is ours.
 */
uint64_t ray_service_hash(struct jval service);
/* {"dashboard":"30123"}: what clients of a service that the API server has use by the names of its ports: the node's port, else the pod's.
 */
void ray_service_endpoints(struct jval service, struct arena *a, struct buf *out);
/* The text that starts Ray in the group's container: v1 "ray start --head …", as KUBERAY_GEN_RAY_START_CMD has it, without ulimit;
 * legacy the setup and start commands, each on lines of its own, with --block.
 *
 * Values of rayStartParams are shell text in KubeRay, and samples rely on it: '"{\"a\": 1}"', "$MY_POD_IP". Here a value is left as it is
 * when it is one word to a shell and can run nothing: safe characters (A-Z a-z 0-9 _ @ % + = : , . / -), $NAME and ${NAME}, \c, '…' and
 * "…" without command substitution. Any other value is put in single quotes as a whole. So {"a": 1} works without quotes too, and
 * "1; curl …" is an odd number of CPUs, not a command. Keys must be [A-Za-z0-9][A-Za-z0-9_-]*. */
bool ray_start_command(const struct ray_cluster *c, const struct ray_group *g, const struct ray_options *o, struct arena *a,
                       struct slice *out, struct err *e);

/* What must stand before the head is made: the objects that KubeRay's autoscaler beside it acts by, and the Secret with the cluster's
 * token. A service account that the head's template names is its user's to make, and so is a Secret that authOptions names. Names are
 * KubeRay's, which other programs look for. */
enum ray_account { RAY_ACCOUNT, RAY_ACCOUNT_ROLE, RAY_ACCOUNT_BINDING, RAY_ACCOUNT_SECRET, RAY_ACCOUNT_OBJECTS };
extern const struct kube_resource ray_account_resources[RAY_ACCOUNT_OBJECTS];
bool ray_has_sidecar(const struct ray_cluster *c, const struct ray_options *o);
bool ray_wants_account(const struct ray_cluster *c, enum ray_account which, const struct ray_options *o, struct arena *a);
struct slice ray_account_name(const struct ray_cluster *c, enum ray_account which, struct arena *a);
/* token: RAY_ACCOUNT_SECRET's. */
bool ray_build_account(const struct ray_cluster *c, enum ray_account which, struct slice token, struct arena *a, struct buf *out);

/* Token authentication (spec.authOptions of ray.io/v1). */
#define RAY_AUTH_KEY "auth_token" /* of the Secret's data */
/* The Secret of a RayCluster's spec; empty: its head asks for no token. ours: it is made for the cluster. */
struct slice ray_auth_secret(struct jval spec, struct slice cluster, bool *ours, struct arena *a);
/* What of the key's bytes is the token: white space around it is not. False: none that can be sent. */
bool ray_auth_token(struct slice text, struct slice *token, struct err *e);
/* The token in what the API server answers to a GET of its Secret: a part of *text, which the caller has begun with room for
 * LIMIT_KUBE_TOKEN bytes and wipes. */
bool ray_auth_read(struct slice secret, struct buf *text, struct slice *token, struct arena *a, struct err *e);

/* ---- RayJob: a program, and the cluster that it runs on ---- */

extern const struct kube_resource ray_job_resource;
#define RAY_JOB_FINALIZER                                                                                                                  \
    "ray.io/rayjob-finalizer" /* only on jobs of a selected cluster: it outlives them, and what they run on it must not */

enum { RAY_JOB_ID_MAX = 253 }; /* bytes of spec.jobId */
enum ray_job_mode { RAY_JOB_K8S, RAY_JOB_HTTP, RAY_JOB_INTERACTIVE, RAY_JOB_SIDECAR };
/* What is deleted after the end; a higher one destroys more. */
enum ray_job_removal { RAY_REMOVE_NONE, RAY_REMOVE_WORKERS, RAY_REMOVE_CLUSTER, RAY_REMOVE_SELF };
/* Ends, as bits: one end may be several of them. */
enum {
    RAY_END_ANY = 1,       /* it is over */
    RAY_END_SUCCEEDED = 2, /* Ray says SUCCEEDED */
    RAY_END_FAILED = 4,    /* Ray says FAILED */
    RAY_END_GIVEN_UP = 8,  /* the RayJob failed, whatever Ray says */
};
struct ray_job_rule {
    uint8_t ends; /* it holds after any of these */
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
    bool own_submitter;     /* submitterPodTemplate brings a command: that one is to run, in a pod */
    enum ray_job_mode mode;
    struct jval spec, labels, annotations;
    struct slice entrypoint;
    struct slice job_id;   /* spec.jobId; empty: one is chosen */
    struct slice selected; /* the cluster that clusterSelector names; empty: one is made of cluster_spec */
    struct jval cluster_spec;
    struct slice runtime_env; /* JSON; empty: none */
    struct slice resources;   /* JSON, what entrypointResources holds; empty: none */
    struct jval metadata, num_cpus, num_gpus, submitter_template;
    int32_t submitter_retries, retries;
    int32_t active_deadline_s, pre_running_deadline_s; /* 0: none */
    struct ray_job_rule rules[LIMIT_RAY_RULES];        /* shutdownAfterJobFinishes, onSuccess and onFailure are rules too */
    uint32_t rule_count;
};

/* As ray_read and ray_notes, for a RayJob: its cluster's spec is read too, and its errors are named by their whole path. */
bool ray_read_job(struct jval object, struct arena *a, struct ray_job *out, struct ray_errors *errors);
void ray_job_notes(struct jval object, struct arena *a, struct ray_errors *notes);

/* "<job>-<5>", the five being made of uid and attempt: the same attempt never has two clusters or two jobs, whatever answer is lost. The id
 * is spec.jobId where that is given. */
struct slice ray_job_cluster_name(const struct ray_job *job, int32_t attempt, struct arena *a);
struct slice ray_job_submission_id(const struct ray_job *job, int32_t attempt, struct arena *a);
/* Of its nth submitter pod, n from 0. */
struct slice ray_job_submitter_name(const struct ray_job *job, int32_t attempt, int32_t n, struct arena *a);
/* The RayCluster of an attempt. It carries the job's labels and annotations, as KubeRay's does. */
bool ray_build_job_cluster(const struct ray_job *job, struct slice name, struct buf *out, struct arena *a);
/* What is submitted. What the user wrote is in it byte for byte; runtimeEnvYAML as JSON. Entrypoint and id are text, all else is JSON or
 * empty: none. */
struct ray_submission {
    struct slice entrypoint, id, runtime_env, metadata, num_cpus, num_gpus, memory, resources;
};
struct ray_submission ray_job_submission(const struct ray_job *job, struct slice id);
/* The body of POST /api/jobs/. */
bool ray_write_submission(const struct ray_submission *s, struct buf *out);
bool ray_build_submission(const struct ray_job *job, struct slice id, struct buf *out); /* both at once */

/* The submitter pod of a K8sJobMode job, named by ray_job_submitter_name: it runs `mobula submit`, with the id that status has, and so
 * submits once however often it is made. It is the template's pod where the job brings one, else a container of 10m CPU and 16Mi on the
 * head's kind of nodes; and it runs the template's own command where that has one. A pod is made once and never restarted: the next one
 * has the next name. It carries RAY_LABEL_CLUSTER, by which pods are watched. */
#define RAY_SUBMITTER_CONTAINER "ray-job-submitter" /* where no template names another */
struct ray_submitter {
    struct slice name, id;
    struct slice cluster;   /* the RayCluster's name */
    struct slice dashboard; /* HOST:PORT */
    struct jval spec;       /* the RayCluster's: the head's image is the one that every node of the cluster can have */
};
/* Whether its command holds the job: false of one that never will. */
bool ray_submitter_fits(const struct ray_job *job, struct err *e);
bool ray_build_submitter_pod(const struct ray_job *job, const struct ray_submitter *s, const struct ray_options *o, struct arena *a,
                             struct buf *out, struct err *e);

/* ---- pods as the API server has them: no webhook or person is expected to have left them as they were built ---- */

/* The container in which Ray runs, or of a submitter pod the one that submits, wherever it stands; not there: the pod has none. */
struct jval ray_live_container(struct jval pod);
/* Whether it is a head, by its name: a worker that somebody labels as one stays what it is, and so does a head without its label. */
bool ray_live_head(struct jval pod, struct arena *a);
/* Whether a worker's name is one of this group. Else somebody has changed the label that says so; of the legacy kind no name tells, and
 * only a label that is not there is known to be changed. */
bool ray_named_for(const struct ray_cluster *c, struct slice group, struct slice pod, struct arena *a);

/* Sums over pods that should run, for status: milli-CPU, bytes, GPUs, TPUs. They are written as the first of them is, as by KubeRay. */
struct ray_sum {
    int64_t amount;
    enum quantity_form form; /* of the first that is not zero */
};
struct ray_sums {
    struct ray_sum cpu, memory, gpu, tpu;
};
bool ray_desired_sums(const struct ray_cluster *c, struct arena *a, struct ray_sums *out, struct err *e);

/* What one pod of a group has for Ray before it has said so itself: its resources and labels as its `ray start` is told them. An unreadable
 * amount is left out. */
struct ray_offer {
    struct ray_bundle bundle;
    const struct ray_label *labels;
    uint32_t label_count;
};
struct ray_offer ray_group_offer(const struct ray_cluster *c, const struct ray_group *g, struct arena *a);

#endif
