/* Shared by the builders: everything about one pod that is known before a byte is written. */
#ifndef MOBULA_RAY_BUILD_H
#define MOBULA_RAY_BUILD_H

#include "reader.h"

#include <mobula/pairs.h>

/* KubeRay's names and defaults that more than one file needs. */
#define RAY_OVERWRITE_COMMAND "ray.io/overwrite-container-cmd" /* annotation */
#define RAY_TOOLS_VOLUME "mobula-tools"
#define RAY_LOGS_VOLUME "ray-logs" /* at /tmp/ray, where another container reads Ray's logs */
#define RAY_SHARED_MEMORY_VOLUME "shared-mem"
enum {
    RAY_GCS_PORT = 6379,
    RAY_CLIENT_PORT = 10001,
    RAY_DASHBOARD_PORT = 8265,
    RAY_AGENT_PORT = 52365,
    RAY_SERVE_PORT = 8000,
    RAY_METRICS_PORT = 8080,
};

struct pod_build {
    const struct ray_cluster *cluster;
    const struct ray_group *group;
    const struct ray_options *options;
    struct arena *arena;
    int32_t index;
    struct slice name, fqdn;     /* of the pod; of the head service */
    struct jval spec, container; /* template.spec, and the Ray container in it */
    struct slice command;        /* ray_start_command */
};

/* ---- names.c ---- */
struct slice replica_name(const struct ray_cluster *c, const struct ray_group *g, int32_t replica, struct arena *a);
/* The hostname of a pod that is a host of a TPU slice: the others find it by the cluster's headless service. */
struct slice host_name(const struct ray_cluster *c, const struct ray_group *g, int32_t index, struct arena *a);
struct slice legacy_head_suffix(struct slice uid, struct arena *a); /* the end of the names of all heads of this cluster */
struct slice head_fqdn(const struct ray_cluster *c, const struct ray_options *o, struct arena *a);
/* The owner of an object. */
struct owner owner_cluster(const struct ray_cluster *c);
struct owner owner_job(const struct ray_job *job);

/* ---- labels.c ---- */
void pod_labels(const struct ray_cluster *c, const struct ray_group *g, int32_t index, struct pairs *out);

/* ---- flags.c, command.c, command_legacy.c: how Ray is started ---- */
/* A member of rayStartParams, or SLICE_NONE; the same as a port, `otherwise` when it is not there or no port. */
struct slice start_param(const struct ray_group *g, const char *key, struct arena *a);
int32_t start_port(const struct ray_group *g, const char *key, int32_t otherwise, struct arena *a);
bool read_port(struct slice text, int32_t *out);
/* All flags of ray start for v1, sorted. */
void start_flags(const struct ray_cluster *c, const struct ray_group *g, const struct ray_options *o, struct pairs *flags);
struct slice legacy_command(const struct ray_cluster *c, const struct ray_group *g, struct arena *a);
/* The N of --port=N or --port N in the head's start commands; 6379 when there is none. False when it is no port. */
bool legacy_gcs_port(struct jval start_commands, struct arena *a, int32_t *out);
/* "command" and "args" of the Ray container; false: the user's stay. */
bool writes_command(const struct pod_build *b);
void write_command(struct jout *w, const struct pod_build *b);

/* ---- amounts.c: what a container asks for ---- */
bool is_gpu_key(struct slice key);
/* resources.limits[key] or resources.requests[key]; false when it is not there (or zero). */
bool container_amount(struct jval container, const char *side, const char *key, int decimals, int64_t *out, struct arena *a);
/* The first key of resources.limits, bytewise, that is a GPU and not zero. */
bool container_gpus(struct jval container, int64_t *out, struct arena *a);
/* The old operator's GPUs: the key that has "gpu" in it. */
struct slice legacy_gpu_key(struct jval container, bool *several, struct arena *a);
/* The value of RAY_OVERRIDE_RESOURCES. */
struct slice legacy_resources(const struct ray_group *g, struct arena *a);

/* ---- parts of a pod; each writes members into the object that is open ---- */
void write_env(struct jout *w, const struct pod_build *b);             /* "env" of the Ray container */
bool in_tpu_slice(const struct pod_build *b);                          /* of several hosts, whose names the template leaves to us */
void write_init_containers(struct jout *w, const struct pod_build *b); /* "initContainers", if any */
void write_probes(struct jout *w, const struct pod_build *b);
void write_ports(struct jout *w, const struct pod_build *b);
void write_volumes(struct jout *w, const struct pod_build *b);
void write_volume_mounts(struct jout *w, const struct pod_build *b);
bool waits_for_gcs(const struct pod_build *b);         /* whether the init container is added */
bool uses_tls(struct jval container, struct arena *a); /* whether Ray does in there: this binary asks no such GCS */
/* tools.c: what a container has in which this binary runs, beside Ray's or in its place. Its user is the Ray container's. */
void tools_command(struct jout *w, const struct ray_options *o); /* opens "command" with the binary in it: more words may follow */
void tools_image(struct jout *w, const struct ray_options *o, struct jval ray_container);
/* annotations: the owner's. beside: the Ray container of the same pod, or no value. */
void tools_resources(struct jout *w, const struct ray_options *o, struct jval annotations, struct jval beside, struct arena *a);
void tools_security(struct jout *w, struct jval container, struct jval pod); /* pod: its own securityContext's, or no value */
void tools_mount(struct jout *w);                                            /* one element of "volumeMounts" */
void tools_volume(struct jout *w);                                           /* one element of "volumes" */
/* ---- auth.c: the token that every client of the head must have ---- */
#define RAY_AUTH_MODE "RAY_AUTH_MODE"
#define RAY_AUTH_TOKEN "RAY_AUTH_TOKEN"
void write_auth_env(struct jout *w, struct slice secret); /* two elements of "env"; none without a Secret */
bool is_auth_variable(struct jval name);                  /* ours to set then */
/* ca: content is the data of the CA's Secret (tlsOptions); else content is the token. */
bool build_secret(const struct ray_cluster *c, bool ca, struct slice content, struct arena *a, struct buf *out);
/* ---- tls.c: certificates of pods (spec.tlsOptions) ---- */
#define RAY_TLS_VOLUME "ray-tls"
#define RAY_CA_VOLUME "ray-ca"
bool has_tls(const struct ray_cluster *c);
void write_tls_env(struct jout *w, const struct ray_cluster *c);   /* elements of "env"; these four functions write nothing without TLS */
void write_tls_mount(struct jout *w, const struct ray_cluster *c); /* of "volumeMounts" */
void write_tls_volumes(struct jout *w, const struct pod_build *b);
void write_tls_init(struct jout *w, const struct pod_build *b); /* of "initContainers": makes the certificate */
/* ---- sidecar.c: KubeRay's autoscaler ---- */
/* KubeRay's CheckName: the last fifty characters, beginning with a letter. */
struct slice clipped_name(struct slice name, struct arena *a);
bool has_sidecar(const struct pod_build *b);
void write_sidecar(struct jout *w, const struct pod_build *b); /* the container, in "containers" */
/* Its logs are read by the head: both mount one volume. Whether the Ray container gets it, and how; the volume itself. */
bool sidecar_logs(const struct pod_build *b);
void write_logs_mount(struct jout *w);
void write_logs_volume(struct jout *w, const struct pod_build *b);
/* "env" of a user's own init container */
void write_init_env(struct jout *w, const struct pod_build *b, struct jval container);

#endif
