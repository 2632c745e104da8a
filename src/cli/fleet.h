/* Shared by the commands about objects of a control plane: cloud, compute-config, job, node, login. */
#ifndef MOBULA_CLI_FLEET_H
#define MOBULA_CLI_FLEET_H

#include <mobula/command.h>
#include <mobula/hub.h>
#include <mobula/logs.h>
#include <mobula/work.h>

struct fleet_options {
    struct slice kubeconfig, context, server, token_file, ca_file, ns, name, word, output;
    struct {
        struct slice provider, stack, region, zones, networking, identity, spaces, bucket, bucket_region, endpoint, storage, nfs_server,
            nfs_path, claim, csi, ingress, gateway, address, heads, services;
    } site;                                               /* of a cloud that is registered or updated */
    struct slice file;                                    /* a spec */
    struct slice cloud, config, image, dir, requirements; /* of a job */
    struct flag_texts env, excludes, modules;
    const char *folder; /* of packed folders in the bucket; NULL: working-dirs */
    int64_t retries, timeout_ms, lines;
    bool wait, follow, force, bucket_uri;
    struct storage_options store;
};
#define FLEET_AT(field) offsetof(struct fleet_options, field)
/* Of all these commands; the first of them are those of login. */
enum { FLEET_FLAGS = 10, FLEET_FLAGS_LOGIN = 6 };
extern const struct flag fleet_flags[FLEET_FLAGS];
enum { JOB_FLAGS = 15 + STORAGE_FLAG_COUNT };
extern const struct flag job_flags[JOB_FLAGS];

/* ---- where the objects are: behind the API of a control plane, or in its cluster ---- */

struct desk;
struct fleet_way {
    struct slice (*path)(struct desk *d, struct slice name); /* of the noun's objects, or of one */
    /* Why an answer is none of 2xx, and what to do about it. */
    void (*refused)(struct desk *d, const struct ask_answer *a, struct err *e);
    void (*silent)(struct desk *d, struct err *e); /* adds what to do when no answer came */
    bool (*logs)(struct desk *d, struct err *e);   /* of the job that is named */
    /* The time there, for events that are not recorded while no control plane runs; 0: one that runs has. */
    int64_t (*now_us)(struct desk *d);
    /* Stores the folder of the job that is named: its Workload is there. */
    bool (*upload)(struct desk *d, const struct work_folder *f, struct ask_answer *a, struct err *e);
};

struct column {
    const char *head, *path;
};
/* The path of a Cloud's health: what its status says, but UNKNOWN once its operator is silent, also when no control plane runs to write
 * that. */
#define FLEET_HEALTH "status.health"
/* That of a workload's state: PENDING while nobody has looked at it, DELETING from its deletion on. */
#define FLEET_STATE "status.state"
/* Columns: the name, of a compute config as NAME:N; the head's instance type, or its resources if it has none. */
#define FLEET_NAME "metadata.name"
#define FLEET_HEAD "spec.head_node.instance_type"
struct slice fleet_shown(struct desk *d, struct slice name); /* the name of an object as users see it */
bool fleet_is_silent(struct desk *d, struct jval cloud);

enum { FLEET_COLUMNS = 6, FLEET_VERBS = 8, FLEET_TRIES = 5 /* of a write, when other clients write, too */ };
struct noun;
struct desk {
    const struct noun *noun;
    const struct fleet_way *way;
    struct fleet_options o;
    struct ask ask;
    struct arena a;
    struct slice command; /* behind "--" */
    int64_t now_us;       /* of way->now_us, once it was asked; 0: unknown */
    bool asked_now;
    int status; /* exit status when a verb says no without an error */
};
/* Behind the API when --server says so or somebody is logged in, unless a kubeconfig is named. Wants ask_close in any case. */
bool fleet_open(struct desk *d, struct err *e);
bool fleet_open_hub(struct desk *d, struct slice server, struct slice token, const char *ca_file, struct err *e);

/* One question about the noun's object, or its objects; false: no answer of 2xx. */
bool fleet_get(struct desk *d, struct slice name, struct ask_answer *a, struct err *e);
bool fleet_find(struct desk *d, struct slice name, struct ask_answer *a, bool *absent, struct err *e); /* there may be none */
/* False: there is no cloud of that name, and *e says so. Whoever may not look is not kept from asking for it. */
bool fleet_has_cloud(struct desk *d, struct slice name, struct err *e);
bool fleet_cloud(struct desk *d, struct slice name, struct slice *body, struct err *e); /* *body: the Cloud, as JSON */
bool fleet_create(struct desk *d, struct slice name, struct slice spec, struct ask_answer *a, struct err *e);
/* Lays the patch (RFC 7386) over the spec of an object that was read. *conflict: another client has changed that. */
bool fleet_replace(struct desk *d, struct slice object, struct slice patch, struct ask_answer *a, bool *conflict, struct err *e);
/* The same of the object as it is now. */
bool fleet_update(struct desk *d, struct slice patch, struct ask_answer *a, struct err *e);
/* The text of -f, and its one document as JSON. */
bool fleet_file(struct desk *d, struct slice *text, struct slice *json, struct err *e);
bool fleet_delete(struct desk *d, struct ask_answer *a, struct err *e);
bool fleet_remove(struct desk *d, struct err *e); /* the same as a verb */
bool fleet_upload(struct desk *d, const struct work_folder *f, struct ask_answer *a, struct err *e);
bool fleet_show(struct desk *d, struct err *e);
bool fleet_print(struct desk *d, struct slice body, struct err *e); /* an object or a list, as -o says */
/* The same of rows that are no objects of their own: each has a name. */
bool fleet_rows(struct desk *d, const struct column columns[FLEET_COLUMNS], struct jval list, struct err *e);

/* ---- operations ---- */

typedef bool fleet_verb(struct desk *d, struct err *e);
struct noun {
    const char *kind, *word; /* word: what people call it */
    const struct kube_resource *resource;
    const char *part; /* lists show only objects that have this, such as "spec.service"; NULL: all */
    struct column columns[FLEET_COLUMNS];
    struct flags flags;
    struct {
        const char *name; /* one word or two */
        fleet_verb *run;
    } verbs[FLEET_VERBS];
};
fleet_verb config_create, config_get, config_archive;
fleet_verb cloud_register, cloud_update, cloud_verify, node_list;
fleet_verb job_submit, job_status, job_wait, job_logs, job_terminate;
/* Whether the object is a version, NAME-vN, of the compute config NAME; *n: N. */
bool config_is_version(struct slice object, struct slice name, int64_t *n);
/* The object name NAME-vN as "NAME:N"; any other name unchanged. */
struct slice config_shown(struct slice object, struct arena *a);
struct jval config_read(struct desk *d, struct slice typed, struct err *e); /* NAME or NAME:N. NO_VALUE: it cannot be read */
/* Writes a warning for each node of a compute config whose instance type the cloud (empty: any) has not reported. No warnings if no
 * instance types are reported at all. */
void config_warn(struct jval spec, struct jval clouds, struct slice cloud, struct arena *a, struct buf *out);
/* Prints these warnings for the compute config of a job, or one warning if the compute config does not exist. */
void config_warn_job(struct desk *d);
/* One look at a workload, with a line on stderr when its state is another one; *said: hash of what was said last. False: it cannot be read,
 * or has not ended well. */
typedef bool fleet_look(struct desk *d, uint64_t *said, bool *over, struct err *e);
/* Until `look` says that it is over. However long that takes, only one answer is kept. A control plane that has answered once may be away
 * for any time: the workload goes on. */
bool fleet_wait(struct desk *d, fleet_look *look, struct err *e);
void fleet_say(struct desk *d, struct slice state, struct slice message); /* the state, and its message line by line */
/* Whether to go on behind a failure: the job has been answered for before, and now there is no answer. It is said once, and *e is cleared.
 */
bool job_outlasts(struct desk *d, bool answered, bool *away, struct err *e);
bool job_ended(struct slice state); /* by its name, such as SUCCEEDED */
/* *state: PENDING if the job has none yet. */
bool job_read(struct desk *d, struct json *doc, struct slice *state, struct err *e);
bool job_is_over(struct desk *d, bool *over, struct slice *message, struct err *e);

/* Writes the lines of --requirements as member "requirements", but for comments; nothing without that flag. */
bool job_put_requirements(struct desk *d, struct jout *w, struct err *e);

/* ---- a working directory in a bucket ---- */

struct pack_result;
/* Packs o.dir and stores it in o.bucket; *url: the URL that Ray downloads it from. */
bool bucket_store(struct desk *d, struct slice *url, struct err *e);
/* Sets o.bucket, and endpoint and region unless given, from the job's Cloud. False: it has no bucket, or it cannot be read (*e). */
bool bucket_of_cloud(struct desk *d, struct err *e);
/* The bucket that has the logs of a job: that of --bucket, else of the workload's Cloud; url empty: none. */
struct logs_bucket_options bucket_of_job(struct desk *d, struct jval workload);
bool bucket_logs(struct desk *d); /* prints the log of the job's driver from there; false: it is not there, or cannot be read (stderr) */
bool job_too_large(struct desk *d, const struct pack_result *r, uint64_t most, const char *what, struct err *e); /* returns false */

/* ---- the user who is logged in ---- */

struct login {
    struct slice path; /* of the file */
    struct slice server, project, token;
    bool ca; /* the file holds the server's CA, too */
};
/* Reads the login file. An empty `server` afterwards: nobody is logged in. */
bool login_read(struct login *l, struct arena *a, struct err *e);

#endif
