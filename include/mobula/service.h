/* service: versions of services, which are VersionedServices in the cluster of a kubeconfig, or Workloads of a control plane: what there is
 * of one, the list of versions from the values of flags, and rollouts that somebody waits for. It reads no flags and prints nothing: notes
 * go to service_desk.told. Texts and answers lie in the arena seek.a. A function that fails returns false and sets *e, with what to do
 * about it. */
#ifndef MOBULA_SERVICE_H
#define MOBULA_SERVICE_H

#include <mobula/explain.h>
#include <mobula/fleet.h>
#include <mobula/versioned.h>

enum { SERVICE_WAIT_MS = 150 * 60 * 1000 }; /* longer than a rollout may take */

/* Values of flags; not given: empty, 0 or false, where nothing else is said. */
struct service_options {
    struct seek_options seek;
    struct slice name, file, version, versions, gateway, class, controller, istio, hosts, auth;
    struct slice server, token_file, ca_file, cloud, config, image, output; /* with a control plane */
    struct slice dir, bucket, requirements;                                 /* likewise */
    struct flag_texts excludes;                                             /* likewise */
    struct storage_options store;                                           /* likewise */
    int64_t canary, surge, wait_ms;                                         /* -1: not given; wait_ms 0 */
    bool in_place, wait, rotate, follow;
};

struct service_desk {
    struct service_options o;
    struct seek seek;
    struct jval live;                /* the VersionedService; absent: there is none */
    void (*told)(struct slice text); /* lines of notes; NULL: nobody reads them */
    bool conflict;                   /* the last write was refused because the object had changed */
    int64_t back;                    /* the generation that --wait expects to be rolled back; 0: not a rollback */
    uint64_t said;                   /* hash of what --wait printed last */
    struct service_tails *tails;     /* of the logs that are shown: the caller's */
    uint64_t rotates;                /* hash of the VERSIONED_ROTATE that --wait expects to be carried out; 0: not a rotation */
};

typedef bool service_call(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e);
bool service_find(struct service_desk *d, const struct kube_resource *r, struct slice name, struct jval *out, bool *absent, struct err *e);
bool service_find_child(struct service_desk *d, struct slice version, struct jval *out, bool *absent, struct err *e); /* its RayService */
/* Sets d->live. */
bool service_find_live(struct service_desk *d, struct err *e);
bool service_send(struct service_desk *d, service_call *call, struct slice path, struct slice body, struct err *e);
/* One look. False: it will not come to a good end, or cannot be read. */
typedef bool service_look(struct service_desk *d, bool *over, struct err *e);
bool service_wait(struct service_desk *d, service_look *look, const char *process,
                  struct err *e); /* process: "rollout", "rotation" or "log" */
bool service_wait_rollout(struct service_desk *d, struct err *e);
/* Asks for the versions that served before this rollout; *generation: that of the rollout. */
bool service_back(struct service_desk *d, int64_t *generation, struct err *e);

/* A change of the versions of a service. */
struct service_change {
    struct service_desk *d;
    struct jval given;            /* the new version; absent: none */
    struct slice version;         /* its name */
    struct jval live;             /* the list of versions in the spec as it is now; absent: the service does not exist yet */
    struct slice primary, canary; /* names of versions in live; may be empty */
    bool plane;                   /* a version is one of a Workload, without name and weight; else it is the spec of a RayService */
    struct jout w;
};
/* Writes the new versions, as the flags ask for them, into the list that is open in p->w. */
bool service_put_versions(struct service_change *p, struct err *e);
void service_put_list(struct service_change *p, const char *key, struct slice list); /* of texts, with commas between */
struct slice service_name_version(const struct service_change *p);

/* Reads the file o.file, if there is one, as the new version: a RayService. */
bool service_read(struct service_change *p, struct err *e);
/* Writes the service with the versions of *p, which is left as it was. */
bool service_write(const struct service_change *p, struct err *e);

/* ---- a service of a control plane: its VersionedService is in the cluster of its cloud ---- */

#define PLANE_PART "spec.service" /* of a Workload: it is a service */

struct plane_service {
    struct desk desk; /* must be the first member: a verb gets its address */
    struct service_desk *from;
    bool back; /* a rollback */
};
bool plane_is_service(struct desk *d, struct jval workload, struct err *e); /* false: it is another kind of workload, and *e says so */
/* Reads the code that flags and file name. A folder is stored in the bucket of --bucket or of the cloud. */
struct work_code;
bool plane_read_code(struct desk *d, struct jval file, struct work_code *code, struct err *e);
/* Refuses flags that would have no effect, and a service that cannot be deployed to. there: the Workload; may be absent. */
bool plane_check_flags(struct plane_service *p, struct jval there, struct err *e);
/* Deploys what the flags and the file say; with p->back: goes back to the primary version. *a: the Workload as it was written. */
bool plane_send(struct plane_service *p, struct ask_answer *a, struct err *e);
fleet_look plane_look;

#endif
