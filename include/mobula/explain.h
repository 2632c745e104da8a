/* explain: what the operator makes of manifests, and why objects of the API server are as they are, in words. The first is a function of
 * texts; the second reads the objects (struct seek). Texts lie in the arena that is given; times of day are microseconds. A function that
 * fails returns false and sets *e, or puts what is wrong into notes; none prints. */
#ifndef MOBULA_EXPLAIN_H
#define MOBULA_EXPLAIN_H

#include <mobula/command.h>
#include <mobula/compute.h>
#include <mobula/heads.h>
#include <mobula/patches.h>
#include <mobula/ray.h>
#include <mobula/raycluster.h>

/* ---- explain ---- */

/* The output of `mobula explain`, as a function of the manifests: the objects that the operator would create in an empty namespace, by the
 * very same decisions and builders. */

enum { EXPLAIN_OUTPUT_MAX = 512 * MIB }; /* bytes of objects that a command prints */

struct explain_how {
    struct ray_options ray;
    const struct shape_types *types;     /* NULL: instance types are not applied */
    const struct shape_patches *patches; /* NULL: none are applied */
    bool steps;                          /* changes by types and patches are shown as diffs, instead of the objects */
    bool submitter_pods;                 /* as the operator has it */
    bool json;                           /* one v1 List; else YAML documents */
    int64_t now_us;                      /* when RayCronJobs are due */
};

/* Objects go to out, what is to be said about the manifests to notes. Returns whether there was no error. */
bool explain_text(const char *file, struct slice text, const struct explain_how *how, struct arena *a, struct buf *out, struct buf *notes);
/* Instance types out of a file: the ConfigMap's manifest, or its text alone. Errors go to notes, a line each; false: there was one. */
bool explain_types(const char *file, struct slice text, struct arena *a, struct shape_types *out, struct buf *notes);
/* Patches, the same way. */
bool explain_patches(const char *file, struct slice text, struct arena *a, struct shape_patches *out, struct buf *notes);
/* The object as the patches make it; with how->steps, each operation goes to out as a diff, and before them what its instance type has made
 * of it. untyped: what it would be without one; .ptr NULL: the same. */
bool explain_patched(const struct explain_how *how, struct slice untyped, struct slice object, struct arena *a, struct slice *made,
                     struct buf *out, struct err *e);
/* Around all of them. */
void explain_begin(const struct explain_how *how, struct buf *out);
void explain_end(const struct explain_how *how, struct buf *out);

/* ---- compute ---- */

/* The work of `mobula compute-config`, as a function of the texts. */

#define COMPUTE_IMAGE "rayproject/ray:2.60.0" /* of the rendered cluster, unless another is named */

struct compute_how {
    struct slice name, image, ray_version; /* of the RayCluster; the last may be empty */
    const struct shape_types *types;       /* NULL: not known */
    const struct shape_patches *patches;   /* which the cluster's objects must bear; NULL: none */
};

/* Writes the RayCluster of a compute config as YAML to out, and "FILE:LINE: PATH: TEXT" for each error and warning to notes. Returns
 * whether there was no error; then out has the cluster. */
bool compute_text(const char *file, struct slice text, const struct compute_how *how, struct arena *a, struct buf *out, struct buf *notes);

/* ---- explain_cluster ---- */

/* `mobula explain cluster`: why a cluster is as it is, in words. What the operator knows stands in the cluster's status, what is there in
 * its pods, and what Ray wants at this moment says the head itself: so whoever may read the cluster may read why, and nobody has to reach
 * into the operator. */

enum { EXPLAIN_WORDS_MAX = 16 * MIB }; /* LIMIT_RAY_GROUPS groups, each with LIMIT_SCALE_TOLD pods in trouble, and their reasons */

struct explain_facts {
    struct jval object; /* the RayCluster */
    struct pod *pods;   /* that carry its label and are its own */
    uint32_t pod_count, pod_cap, pages;
    struct slice running; /* values of ray_running_read from its head pod; empty: no head runs */
    struct slice kept;    /* message of condition ClusterKept of its RayJob, which has ended; empty: none, or it cannot be read */
    bool sidecar;         /* KubeRay's autoscaler runs beside its head */
    struct slice said;    /* the head's own `ray status`; empty: … */
    struct slice silence; /* … why there is none */
    bool waits;           /* it has no status and lacks pods: the operator has not begun with it, or is creating the pods … */
    uint32_t ahead;       /* … number of such clusters of the namespace that the operator serves earlier */
    bool unwatched;       /* no installation watches its namespace; false if that cannot be read */
    struct now now;
};

/* One Pod. Those of an older cluster of the same name are passed over. */
void explain_add_pod(struct explain_facts *f, struct jval pod, struct arena *a);
/* The query for a page of the pods of a cluster. A server whose `more` does not fit is not asked: cut short it is another's. */
bool explain_page_path(struct slice ns, struct slice cluster, struct slice more, struct buf *path, struct err *e);
/* The Pods of a page of a list; *more is what the next page is asked for with, or empty. A list has LIMIT_EXPLAIN_PAGES at most, and
 * LIMIT_EXPLAIN_PODS of the cluster's own, whatever the server takes for a page. */
bool explain_add_pods(struct explain_facts *f, struct slice page, struct slice *more, struct arena *a, struct err *e);
/* explain_wait sets f->waits from the cluster and its pods. explain_add_cluster then counts another RayCluster of the namespace in f->ahead
 * if the operator serves it earlier: those with fewer pods first, then the older ones. explain_add_clusters does so for a page. */
void explain_wait(struct explain_facts *f, struct arena *a);
void explain_add_cluster(struct explain_facts *f, struct jval other, struct arena *a);
bool explain_add_clusters(struct explain_facts *f, struct slice page, struct slice *more, struct arena *a, struct err *e);
/* The text that GET /api/cluster_status?format=1 of the dashboard holds; false: it is no such answer. */
bool explain_said(struct slice body, struct arena *a, struct slice *said);
void explain_words(const struct explain_facts *f, struct arena *a, struct buf *out);
/* Appends text of other writers in a form that is safe for a terminal: no control bytes, no blanks at the ends of lines. */
void explain_plain(struct slice text, struct buf *out);

/* ---- explain_job ---- */

/* `mobula explain job`: reports the phase of a RayJob and its reason, its cluster, and the next step of the operator. */

struct explain_job {
    struct jval object; /* the RayJob */
    bool unwatched;     /* no installation watches its namespace; false if that cannot be read */
    int64_t now_us;
};

void explain_job_words(const struct explain_job *f, struct arena *a, struct buf *out);

/* ---- explain_service ---- */

/* `mobula explain service`: reports which cluster gets the requests of a RayService and why, the states of its applications, and the next
 * step of the operator. It reads the RayService, its Service and its RayClusters. */

struct explain_service {
    struct jval object;            /* the RayService */
    struct slice serve_name;       /* name of the Service that clients use */
    struct jval serve;             /* that Service; NO_VALUE: it does not exist, … */
    struct slice serve_silence;    /* … unless this is the reason why it could not be read */
    struct jval clusters;          /* array of RayClusters; NO_VALUE: … */
    struct slice clusters_silence; /* … the reason why they could not be listed */
    bool unwatched;                /* no installation watches its namespace; false if that cannot be read */
    int64_t now_us;
};

void explain_service_words(const struct explain_service *f, struct arena *a, struct buf *out);

/* ---- seek ---- */

/* Objects that commands look up in the API server: a cluster, its head, the token of its dashboard; and the dashboard, through the API
 * server's proxy, which whoever may read the cluster has wherever they sit. */

struct seek_options {
    struct slice ns, group, kubeconfig, context;
    int64_t timeout_ms;
};
/* Rows of a table of flags; at: the offset of the struct seek_options. */
#define SEEK_AT(at, field) ((at) + offsetof(struct seek_options, field))
#define SEEK_PLACE_FLAGS(at)                                                                                                               \
    {"n", FLAG_TEXT, SEEK_AT(at, ns), "NS"}, TLS_FLAG, {"kubeconfig", FLAG_TEXT, SEEK_AT(at, kubeconfig), "FILE"},                         \
    {                                                                                                                                      \
        "context", FLAG_TEXT, SEEK_AT(at, context), "NAME"                                                                                 \
    }
/* SEEK_PLACE_FLAGS and --group, for commands about a RayCluster. */
#define SEEK_FLAGS(at)                                                                                                                     \
    SEEK_PLACE_FLAGS(at),                                                                                                                  \
    {                                                                                                                                      \
        "group", FLAG_TEXT, SEEK_AT(at, group), "GROUP"                                                                                    \
    }

struct seek {
    const struct seek_options *o;
    struct ask ask;
    struct slice ns;
    struct arena *a; /* results lie in there */
};
bool seek_group_known(const struct seek_options *o); /* --group is one of the two, or not given */
/* Wants seek_close, also after a failure. */
bool seek_open(struct seek *s, const struct seek_options *o, struct arena *a, struct err *e);
void seek_close(struct seek *s);

/* "/apis/…/namespaces/NS/rayclusters/NAME/SUB" in the namespace. */
struct slice seek_path(struct seek *s, const struct kube_resource *r, struct slice name, struct slice sub);
/* "429 TooManyRequests: …" into *e, behind `what`: an answer that is not the object. */
bool seek_refused(const struct ask_answer *answer, const char *what, struct err *e);
/* The RayCluster of that name, of whichever kind. *absent: the server has none. */
bool seek_cluster(struct seek *s, struct slice name, struct jval *object, bool *absent, struct err *e);
/* A head that runs, among pods that were read; NULL: there is none. */
const struct pod *seek_running_head(const struct explain_facts *f);
/* The header of the token in a cluster's Secret. */
bool seek_token(struct seek *s, struct slice secret, struct http_header *out, struct err *e);

/* The dashboard of a cluster's head, through the API server. */
struct seek_head {
    struct slice path;        /* "/api/v1/namespaces/NS/pods/POD:PORT/proxy" */
    struct slice secret;      /* that holds the token it asks for; empty: it asks for none */
    struct http_header token; /* of that, once seek_token has found it */
};
/* Where it is, for pods of the cluster that were read. False: no head runs. */
bool seek_head_of(struct seek *s, const struct explain_facts *f, struct seek_head *out);
/* Finds cluster, head and token. *absent: there is no such cluster, or no head of it runs: *e says which. */
bool seek_head(struct seek *s, struct slice cluster, struct seek_head *out, bool *absent, struct err *e);

/* Appends why the object of that name is as it is, in words. False: *e. */
bool explain_cluster_named(struct seek *s, struct slice name, struct buf *out, struct err *e);
bool explain_job_named(struct seek *s, struct slice name, struct buf *out, struct err *e);
/* A RayService, or a VersionedService where there is no RayService of that name. */
bool explain_service_named(struct seek *s, struct slice name, struct buf *out, struct err *e);
bool explain_versioned_named(struct seek *s, struct slice name, struct buf *out, struct err *e);
/* Reports which version of a VersionedService gets what and why, and what its rollout waits for. */
void explain_versioned_words(struct jval object, int64_t now_us, struct arena *a, struct buf *out);

#endif
