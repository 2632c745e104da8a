/* `mobula service` with a control plane: the service is a Workload. */
#include "service.h"

#include <stdio.h>

enum { LINES = 1000 }; /* of all logs of a version together */

static const struct noun noun = {
    .kind = "Workload",
    .word = "service",
    .resource = &hub_workloads,
    .columns = {{"NAME", FLEET_NAME},
                {"CLOUD", "spec.cloud"},
                {"STATE", FLEET_STATE},
                {"REASON", "status.reason"},
                {"HOSTS", "spec.service.hostnames"},
                {"CREATED", "metadata.creationTimestamp"}},
    .part = PLANE_PART,
};

static bool wait(struct desk *d, struct err *e)
{
    return fleet_wait(d, plane_look, e);
}

static bool deploy(struct desk *d, struct err *e)
{
    struct plane_service *p = (struct plane_service *)d;
    struct ask_answer a;
    return plane_send(p, &a, e) && cli_fleet_print(d, a.body, e) && (!p->from->o.wait || wait(d, e));
}

/* All versions but the primary one get no requests any more. */
static bool rollback(struct desk *d, struct err *e)
{
    struct plane_service *p = (struct plane_service *)d;
    p->back = true;
    p->from->o.canary = 0;
    return deploy(d, e);
}

static bool is_named(struct desk *d, struct err *e)
{
    struct ask_answer a;
    struct jval there;
    return fleet_get(d, d->o.name, &a, e) && json_read(&there, a.body, &d->a, e) && plane_is_service(d, there, e);
}

static bool terminate(struct desk *d, struct err *e)
{
    return is_named(d, e) && cli_job_terminate(d, e);
}

static bool remove_service(struct desk *d, struct err *e)
{
    return is_named(d, e) && cli_fleet_remove(d, e);
}

static bool show(struct desk *d, struct err *e)
{
    uint64_t said = 0;
    bool over;
    if (!cli_fleet_show(d, e))
        return false;
    return !slice_is(d->o.output, "table") || plane_look(d, &said, &over, e) || e->code == ERR_STATUS;
}

/* The replicas' logs have their names above them, so a look that follows another cannot go on behind it. */
static bool logs(struct desk *d, struct err *e)
{
    const struct service_options *o = &((struct plane_service *)d)->from->o;
    struct slice text;
    if (!d->way->api || o->follow)
        return err_set(e, ERR_CONFIG, "%s: give --kubeconfig of the cluster that the service runs in",
                       o->follow ? "--follow: the control plane has the end of the logs only"
                                 : "logs come through the API of the control plane");
    if (!is_named(d, e) || !fleet_job_log_tail(d, o->version, &text, e))
        return false;
    if (slice_empty(text))
        fprintf(stderr, "mobula: service %.*s has no logs yet: mobula service status has its state\n", SLICE_ARG(o->name));
    return cli_print(text);
}

/* ---- the command ---- */

bool service_uses_plane(const struct service_desk *d, struct arena *a)
{
    const struct service_options *o = &d->o;
    struct login l;
    if (!slice_empty(o->server) || !slice_empty(o->cloud))
        return true;
    return slice_empty(o->seek.kubeconfig) && slice_empty(o->seek.context) && (!login_read(&l, a, &(struct err){0}) || l.server.len);
}

int service_plane(struct service_desk *from, const char *verb)
{
    static const struct {
        const char *name;
        cli_fleet_verb *run;
    } verbs[] = {{"deploy", deploy}, {"status", show},         {"list", cli_fleet_show},   {"rollback", rollback},
                 {"wait", wait},     {"terminate", terminate}, {"delete", remove_service}, {"logs", logs}};
    const struct service_options *o = &from->o;
    struct plane_service p = {.desk = {.noun = &noun,
                                       .o = {.kubeconfig = o->seek.kubeconfig,
                                             .context = o->seek.context,
                                             .ns = o->seek.ns,
                                             .server = o->server,
                                             .token_file = o->token_file,
                                             .ca_file = o->ca_file,
                                             .name = o->name,
                                             .file = o->file,
                                             .cloud = o->cloud,
                                             .config = o->config,
                                             .image = o->image,
                                             .dir = o->dir,
                                             .requirements = o->requirements,
                                             .excludes = o->excludes,
                                             .site.bucket = o->bucket,
                                             .store = o->store,
                                             .lines = LINES,
                                             .output = slice_empty(o->output) ? SLICE("table") : o->output,
                                             .timeout_ms = o->wait_ms ? o->wait_ms : SERVICE_WAIT_MS},
                                       .status = STATUS_ERROR,
                                       .told = cli_fleet_note},
                              .from = from};
    struct err e = {0};
    size_t i = 0;
    while (i < COUNT_OF(verbs) && strcmp(verb, verbs[i].name) != 0)
        i++;
    if (i == COUNT_OF(verbs))
        return -1;
    p.desk.ask.timeout_ms = o->seek.timeout_ms;
    bool well = fleet_open(&p.desk, &e) && verbs[i].run(&p.desk, &e);
    ask_close(&p.desk.ask);
    arena_free(&p.desk.a);
    if (!well && e.code != ERR_NONE)
        cli_fail(&e);
    return well ? STATUS_OK : p.desk.status;
}
