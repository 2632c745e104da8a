/* fleet: the client of a control plane: where its objects are and with which token, requests and what their answers mean, specs of objects
 * from the values of flags, tables of objects, and workloads that somebody waits for. It reads no flags and prints nothing: texts for
 * standard output go into a buf, notes for whoever waits to desk.told. A desk is one command's turn: texts and answers lie in its arena.
 * A function that fails returns false and sets *e, with what to do about it. */
#ifndef MOBULA_FLEET_H
#define MOBULA_FLEET_H

#include <mobula/command.h>
#include <mobula/hub.h>
#include <mobula/storage.h>
#include <mobula/work.h>

/* Values of flags; not given: empty, 0 or false. */
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

/* ---- where the objects are: behind the API of a control plane, or in its cluster ---- */

struct desk;
struct fleet_way {
    bool api;                                                /* the control plane's own API */
    struct slice (*path)(struct desk *d, struct slice name); /* of the noun's objects, or of one */
    /* Why an answer is none of 2xx, and what to do about it. */
    void (*refused)(struct desk *d, const struct ask_answer *a, struct err *e);
    void (*silent)(struct desk *d, struct err *e); /* adds what to do when no answer came */
    /* The time there, for events that are not recorded while no control plane runs; 0: one that runs has. */
    int64_t (*now_us)(struct desk *d);
    /* Stores the folder of the job that is named: its Workload is there. */
    bool (*upload)(struct desk *d, const struct work_folder *f, struct ask_answer *a, struct err *e);
};

enum { FLEET_COLUMNS = 6, FLEET_TRIES = 5 /* of a write, when other clients write, too */ };
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

/* A kind of object. */
struct noun {
    const char *kind, *word; /* word: what people call it */
    const struct kube_resource *resource;
    const char *part; /* lists show only objects that have this, such as "spec.service"; NULL: all */
    struct column columns[FLEET_COLUMNS];
};

struct desk {
    const struct noun *noun;
    const struct fleet_way *way;
    struct fleet_options o;
    struct ask ask;
    struct arena a;
    void (*told)(struct slice text); /* lines of notes, perhaps in pieces; NULL: nobody reads them */
    struct slice command;            /* that a job runs */
    int64_t now_us;                  /* of way->now_us, once it was asked; 0: unknown */
    bool asked_now;
    int status; /* exit status when a verb says no without an error */
};
/* Behind the API when o.server says so or somebody is logged in, unless a kubeconfig is named. Wants ask_close in any case. */
bool fleet_open(struct desk *d, struct err *e);
bool fleet_open_hub(struct desk *d, struct slice server, struct slice token, const char *ca_file, struct err *e);
void fleet_tell(struct desk *d, struct slice text);

/* ---- the user who is logged in ---- */

struct login {
    struct slice path; /* of the file */
    struct slice server, project, token;
    bool ca; /* the file holds the server's CA, too */
};
/* Reads the login file. An empty `server` afterwards: nobody is logged in. */
bool login_read(struct login *l, struct arena *a, struct err *e);
bool login_path(struct arena *a, struct slice *path, struct err *e);
/* Writes the file, which only its owner may read; ca: may be empty. */
bool login_write(const struct login *l, struct slice ca, struct arena *a, struct err *e);
enum { LOGIN_MAX = 256 * KIB }; /* of the file; a CA has at most half of it */

/* ---- requests ---- */

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
/* The text of o.file, and its one document as JSON. */
bool fleet_file(struct desk *d, struct slice *text, struct slice *json, struct err *e);
bool fleet_delete(struct desk *d, struct ask_answer *a, struct err *e);
bool fleet_upload(struct desk *d, const struct work_folder *f, struct ask_answer *a, struct err *e);

/* ---- objects as text ---- */

/* Writes an object or a list in the form o.output. */
bool fleet_write(struct desk *d, struct slice body, struct buf *out, struct err *e);
/* The same of rows that are no objects of their own: each has a name. */
bool fleet_write_rows(struct desk *d, const struct column columns[FLEET_COLUMNS], struct jval list, struct buf *out, struct err *e);
enum { FLEET_OUTPUT_MAX = 64 * MIB };                        /* of such a text */
struct slice fleet_shown(struct desk *d, struct slice name); /* the name of an object as users see it */
bool fleet_is_silent(struct desk *d, struct jval cloud);

/* ---- clouds ---- */

/* The file's fields of the spec, overridden by those of o.site. */
bool fleet_cloud_spec(struct desk *d, struct slice *spec, struct err *e);
/* Writes the commands that connect an operator, in the order and layout of docs/control-plane.md. id: its deployment id. */
void fleet_cloud_install(struct desk *d, struct slice cloud, struct slice id, struct buf *out);
/* A list of the cloud's checks in JSON: the operator's calls, and what it has checked itself. Once it is silent, each component is UNKNOWN,
 * with what it was before. *failed is set if one of them has failed. */
struct slice fleet_cloud_checks(struct jval status, bool silent, bool *failed, struct arena *a);

/* How many workloads of the cloud o.name have not ended, and one of them. After a failure the desk is of no more use. */
bool fleet_cloud_workloads(struct desk *d, uint32_t *running, struct slice *first, struct err *e);

/* ---- compute configs ---- */

/* Whether the object is a version, NAME-vN, of the compute config NAME; *n: N. */
bool fleet_config_is_version(struct slice object, struct slice name, int64_t *n);
/* The object name NAME-vN as "NAME:N"; any other name unchanged. */
struct slice fleet_config_shown(struct slice object, struct arena *a);
/* The object name of NAME:N; of NAME that of its newest version. */
struct slice fleet_config_object(struct desk *d, struct slice typed);
bool fleet_config_next(struct desk *d, struct slice name, struct slice *object, struct err *e); /* the object name of its next version */
struct jval fleet_config_read(struct desk *d, struct slice typed, struct err *e); /* NAME or NAME:N. NO_VALUE: it cannot be read */
/* Writes a warning for each node of a compute config whose instance type the cloud (empty: any) has not reported. No warnings if no
 * instance types are reported at all. */
void fleet_config_warn(struct jval spec, struct jval clouds, struct slice cloud, struct arena *a, struct buf *out);
/* Tells these warnings. An account that may not list the clouds gets none. */
void fleet_config_warn_spec(struct desk *d, struct jval spec, struct slice cloud);
/* The same for the compute config of a job, or one warning if the compute config does not exist. */
void fleet_config_warn_job(struct desk *d);

/* ---- jobs, and other workloads ---- */

/* Writes the spec of a job. dir: URL of the working directory; may be empty. */
bool fleet_job_put_spec(struct desk *d, struct slice dir, struct jout *w, struct err *e);
/* Writes the lines of the file o.requirements as member "requirements", but for comments; nothing without that file. */
bool fleet_job_put_requirements(struct desk *d, struct jout *w, struct err *e);
/* Packs the folder o.dir. One that the control plane does not store, for its size, goes into the Cloud's bucket; *dir: what the spec says.
 */
bool fleet_job_pack(struct desk *d, struct work_folder *f, struct slice *dir, struct err *e);
/* Stores the packed folder, if there is one. made: the job as it was created. A job whose folder is not stored would wait for it for ever,
 * so it is deleted when that fails. */
bool fleet_job_upload(struct desk *d, struct work_folder *f, struct slice made, struct err *e);

bool fleet_job_ended(struct slice state); /* by its name, such as SUCCEEDED */
/* *state: PENDING if the job has none yet. */
bool fleet_job_read(struct desk *d, struct json *doc, struct slice *state, struct err *e);
bool fleet_job_is_over(struct desk *d, bool *over, struct slice *message, struct err *e);
/* One look at a workload, which tells its state when that is another one; *said: hash of what was told last. False: it cannot be read, or
 * has not ended well. */
typedef bool fleet_look(struct desk *d, uint64_t *said, bool *over, struct err *e);
fleet_look fleet_job_look;
/* Until `look` says that it is over. However long that takes, only one answer is kept. A control plane that has answered once may be away
 * for any time: the workload goes on. */
bool fleet_wait(struct desk *d, fleet_look *look, struct err *e);
void fleet_say(struct desk *d, struct slice state, struct slice message); /* tells the state, and its message line by line */
/* Whether to go on behind a failure: the job has been answered for before, and now there is no answer. It tells that once, and clears *e.
 */
bool fleet_job_outlasts(struct desk *d, bool answered, bool *away, struct err *e);

/* The end of a workload's log, o.lines of it, as it stands now, through the API of the control plane. version: of a service; empty: its
 * primary one, or a job's log. */
bool fleet_job_log_tail(struct desk *d, struct slice version, struct slice *text, struct err *e);
/* The part of the window that the one before, `known`, did not show: they overlap, unless more than a window was printed meanwhile. */
struct slice fleet_job_log_behind(struct slice window, struct slice known);
/* The log goes with the job's cluster, but for the lines that its status keeps, in `message`. *rest: what of them comes behind `known`, at
 * most `most` lines. False: there are none, or they do not follow what was shown before. */
bool fleet_job_log_kept(struct slice message, struct slice known, int64_t most, struct slice *rest);

/* ---- a working directory in a bucket ---- */

struct pack_result;
/* Packs o.dir and stores it in o.bucket under its SHA-256, so that the same content is uploaded once; *url: the URL that Ray downloads it
 * from. */
bool bucket_store(struct desk *d, struct slice *url, struct err *e);
/* Sets o.bucket, and endpoint and region unless given, from the job's Cloud. False: it has no bucket, or it cannot be read (*e). */
bool bucket_of_cloud(struct desk *d, struct err *e);
/* Says in *e that the packed folder is larger than the `most` bytes that `what` ("fit in a bucket"), and names its largest files. Returns
 * false. */
bool fleet_job_too_large(struct desk *d, const struct pack_result *r, uint64_t most, const char *what, struct err *e);

#endif
