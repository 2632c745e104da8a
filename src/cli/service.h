/* Shared by service.c and service_deploy.c. */
#ifndef MOBULA_CLI_SERVICE_H
#define MOBULA_CLI_SERVICE_H

#include <mobula/explain.h>
#include <mobula/versioned.h>

struct service_options {
    struct seek_options seek;
    struct slice name, file, version, versions, gateway, class, istio, hosts;
    int64_t canary, surge, wait_ms; /* -1: not given; wait_ms 0 */
    bool in_place, wait;
};

struct service_desk {
    struct service_options o;
    struct seek seek;
    struct jval live; /* the VersionedService; absent: there is none */
    bool conflict;    /* the last write was refused because the object had changed */
    int64_t back;     /* the generation that --wait expects to be rolled back; 0: not a rollback */
};

typedef bool service_call(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e);
bool service_find(struct service_desk *d, const struct kube_resource *r, struct slice name, struct jval *out, bool *absent, struct err *e);
bool service_find_child(struct service_desk *d, struct slice version, struct jval *out, bool *absent, struct err *e); /* its RayService */
bool service_send(struct service_desk *d, service_call *call, struct slice path, struct slice body, struct err *e);
bool service_wait(struct service_desk *d, struct err *e);
bool service_deploy(struct service_desk *d, struct err *e);

#endif
