/* work: what a control plane asks for, as custom resources, and what has come of these. Pure functions of bytes: where a workload comes
 * from and who writes its objects is unknown here. What may be written at all is policy.h's. */
#ifndef MOBULA_WORK_H
#define MOBULA_WORK_H

#include <mobula/shape.h>

/* On everything that is made from a workload, pods included, but for the generation and the name, which are on the custom resource alone.
 */
#define WORK_LABEL_UID "mobula.dev/workload-uid"
#define WORK_LABEL_PROJECT "mobula.dev/project"
#define WORK_LABEL_TAG "tag.mobula.dev/" /* in front of the workload's own tags */
#define WORK_LABEL_MANAGED_BY "app.kubernetes.io/managed-by"
#define WORK_MANAGED_BY "mobula"
#define WORK_ANNOTATION_GENERATION "mobula.dev/workload-generation"
#define WORK_ANNOTATION_WORKLOAD "mobula.dev/workload" /* PROJECT/NAME */

enum {
    WORK_NAME_MAX = 47,        /* bytes of the name of an object: of those that RayJobs may have */
    WORK_STARTING_S = 25 * 60, /* how long an attempt may take until its program runs, where nothing says so */
};

/* A workload as it comes (SyncWorkload in docs/api/openapi.yaml). */
struct workload_in {
    struct slice uid, project, name;
    int64_t generation;
    struct jval spec; /* Workload.spec, with the compute config inline */
};

enum work_kind { WORK_NONE, WORK_CLUSTER, WORK_JOB, WORK_SERVICE, WORK_WORKSPACE };

struct work_options {
    struct slice ns;                                 /* where its objects are made */
    struct slice prefix;                             /* of their names; may be empty */
    struct slice image;                              /* of workloads that give none; may be empty: those are refused */
    struct slice gateway, gateway_ns, ingress_class; /* of services; may be empty: without gateway and class services are refused */
    const struct shape_types *types;                 /* NULL: not known, and no type is refused */
};

/* The object that a workload becomes. */
struct work_made {
    enum work_kind kind;
    bool terminate;                  /* its object is to be deleted, and `object` is empty */
    struct slice name;               /* also when it is refused, so that the object of an earlier generation is found */
    struct slice object;             /* JSON, for server-side apply */
    struct jval made;                /* the same, indexed */
    struct slice folder, folder_map; /* SHA-256 of the folder that comes with it, and the ConfigMap that its pods mount; or empty */
};

/* False: it cannot be done, and *errors says why, each with its path in the spec; what was made of an earlier generation stays as it is. A
 * kind that is not carried out yet is such an error. notes: what is accepted and has no effect; may be NULL. All memory is a's. */
bool work_render(const struct workload_in *in, const struct work_options *o, struct arena *a, struct work_made *out,
                 struct spec_errors *errors, struct spec_errors *notes);

/* ---- folders that a job brings along ---- */

#define WORK_FOLDER "upload:" /* Workload.spec.workingDir: behind it SHA-256 of a zip file that is stored beside the workload */
enum { WORK_FOLDER_HASH = 64, WORK_FOLDER_SHORT = 16 };

struct work_folder {
    struct slice ns, name; /* of the ConfigMap */
    struct slice uid;      /* of the workload */
    struct slice owner_version, owner_kind, owner_name, owner_uid;
    struct slice hash, base64;
};
/* False: it names no such folder, and *hash stays as it is. */
bool work_folder_hash(struct slice working_dir, struct slice *hash);
/* The ConfigMap's name. version: in the control plane's cluster the hash, where the workload runs its generation. */
struct slice work_folder_map(struct slice uid, struct slice version, struct arena *a);
struct slice work_folder_key(struct slice hash, struct arena *a); /* in its binaryData */
/* The ConfigMap, to be created. */
void work_folder_write(const struct work_folder *f, struct arena *a, struct buf *out);

/* ---- back: the status of its object, as the workload's ---- */

struct work_url {
    struct slice name, url;
};

/* Texts lie in the object or in the arena. */
struct work_status {
    struct slice state;           /* "RUNNING"; docs/api/openapi.yaml has the words */
    struct slice reason;          /* one word; may be empty */
    struct slice message;         /* may be empty */
    int64_t attempts, generation; /* the latter of the workload that the object was made from; 0: unknown */
    struct slice started, ended;  /* as they are written; empty: not yet */
    struct work_url url;          /* of the dashboard, or the service; empty: none yet */
    bool over;                    /* SUCCEEDED, FAILED, TERMINATED: it stays so */
};

/* The reason of a service whose rollout has not ended: that of condition Progressing. */
#define WORK_PROGRESSING "Progressing"

/* Its RayCluster, RayJob or VersionedService, as the API server has it. */
struct work_object {
    struct slice api_version, kind, ns, name, uid;
    bool deleting;
    int64_t generation;                 /* metadata.generation; 0: not known */
    struct jval metadata, spec, status; /* metadata: annotations, and creationTimestamp if that is known */
};

/* Members of the wire's Ray, into an object that is open: of a pod's report what is known there, whatever else it holds. */
void work_ray_write(struct jval ray, struct arena *a, struct jout *w);

/* object: NULL: there is none. terminate: the workload says so. */
void work_state(const struct work_object *object, bool terminate, struct arena *a, struct work_status *out);
/* Members of the wire's Status, into an object that is open: state to urls. uid and generation are the caller's. */
void work_status_write(const struct work_status *s, const struct work_object *object, struct jout *w);

/* ---- services as people deploy them ---- */

/* The file of `mobula service deploy`, as JSON: what is not of a version. */
struct work_service_file {
    struct slice name, cloud, version; /* empty: not in the file */
    struct slice config;               /* the name of a compute config; empty: none, or the file has the config itself */
    struct slice dir, requirements;    /* working directory: a folder or URL; the name of a file; empty: none */
    bool token;                        /* requests need a bearer token */
};
/* Members that the runtime_env of an application gets, unless it has them; pip: unless it has pip, uv or conda. */
struct work_code {
    struct slice dir; /* working_dir: a URL; empty: none */
    struct jval pip;  /* an array; absent: none */
    struct arena *a;
};
void work_applications_write(struct jval list, const struct work_code *code, struct jout *w); /* as member "applications" */
/* False: the file has a field that no service has (*e; path: of the file). */
bool work_service_file_read(struct jval file, const char *path, struct arena *a, struct work_service_file *out, struct err *e);
/* Writes the version that the file describes into an object that is open. code: NULL: none. image: in the place of the file's; empty: the
 * file's. config: the compute config, which is copied, so that the version keeps its nodes when another version of the config is created;
 * may be absent. */
void work_service_version_write(struct jval file, struct slice image, struct jval config, const struct work_code *code, struct jout *w);

/* The rollout is over when the Workload's generation is in force and runs. state: of the Workload as users see it; ended: it stays so. */
enum work_rollout { WORK_ROLLOUT_GOES_ON, WORK_ROLLOUT_OVER, WORK_ROLLOUT_FAILED };
enum work_rollout work_rollout(struct jval workload, struct slice state, bool ended, struct slice reason);

#endif
