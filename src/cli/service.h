/* Shared by service.c, service_deploy.c, service_logs.c, service_plane.c, service_plane_deploy.c and service_token.c. */
#ifndef MOBULA_CLI_SERVICE_H
#define MOBULA_CLI_SERVICE_H

#include <mobula/explain.h>
#include <mobula/storage.h>
#include <mobula/versioned.h>

enum { SERVICE_WAIT_MS = 150 * 60 * 1000 }; /* longer than a rollout may take */

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
    struct jval live;            /* the VersionedService; absent: there is none */
    bool conflict;               /* the last write was refused because the object had changed */
    int64_t back;                /* the generation that --wait expects to be rolled back; 0: not a rollback */
    uint64_t said;               /* hash of what --wait printed last */
    struct service_tails *tails; /* of the logs that are shown */
    uint64_t rotates;            /* hash of the VERSIONED_ROTATE that --wait expects to be carried out; 0: not a rotation */
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
bool service_token(struct service_desk *d, struct err *e);
bool service_logs(struct service_desk *d, struct err *e);
bool service_deploy(struct service_desk *d, struct err *e);

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

/* With a control plane the service is a Workload: its VersionedService is in the cluster of its cloud. */
bool service_uses_plane(const struct service_desk *d, struct arena *a); /* the flags or a login name a control plane */
int service_plane(struct service_desk *d, const char *verb);            /* returns the exit status */

#endif
