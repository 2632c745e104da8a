/* `mobula service` with a control plane: the service is a Workload. */
#include "service_plane.h"
#include "cli.h"

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
    .part = "spec.service",
};

bool plane_is_service(struct desk *d, struct jval workload, struct err *e)
{
    return json_there(json_get(workload, noun.part)) ||
           err_set(e, ERR_CONFIG, "workload %.*s is no service: see mobula job status", SLICE_ARG(d->o.name));
}

/* Prints the state of the rollout when it changes. */
static bool look(struct desk *d, uint64_t *said, bool *over, struct err *e)
{
    struct json doc;
    struct slice state;
    if (!job_read(d, &doc, &state, e) || !plane_is_service(d, json_root(&doc), e))
        return false;
    struct jval all = json_root(&doc);
    struct slice message = json_get_str(all, "status.message", &d->a), reason = json_get_str(all, "status.reason", &d->a);
    enum work_rollout rollout = work_rollout(all, state, job_ended(state), reason);
    *over = rollout == WORK_ROLLOUT_OVER;
    uint64_t news = hash64(message, hash64(state, 0));
    if (news != *said)
        fleet_say(d, state, message);
    *said = news;
    return rollout != WORK_ROLLOUT_FAILED || err_set(e, ERR_STATUS, "service %.*s: %.*s: see the message above, and mobula service status",
                                                     SLICE_ARG(d->o.name), SLICE_ARG(slice_empty(reason) ? state : reason));
}

bool plane_wait(struct desk *d, struct err *e)
{
    return fleet_wait(d, look, e);
}

static bool is_named(struct desk *d, struct err *e)
{
    struct ask_answer a;
    struct jval there;
    return fleet_get(d, d->o.name, &a, e) && json_read(&there, a.body, &d->a, e) && plane_is_service(d, there, e);
}

static bool terminate(struct desk *d, struct err *e)
{
    return is_named(d, e) && job_terminate(d, e);
}

static bool remove_service(struct desk *d, struct err *e)
{
    return is_named(d, e) && fleet_remove(d, e);
}

static bool show(struct desk *d, struct err *e)
{
    uint64_t said = 0;
    bool over;
    if (!fleet_show(d, e))
        return false;
    return !slice_is(d->o.output, "table") || look(d, &said, &over, e) || e->code == ERR_STATUS;
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
        fleet_verb *run;
    } verbs[] = {{"deploy", plane_deploy}, {"status", show},         {"list", fleet_show},      {"rollback", plane_rollback},
                 {"wait", plane_wait},     {"terminate", terminate}, {"delete", remove_service}};
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
                                             .output = slice_empty(o->output) ? SLICE("table") : o->output,
                                             .timeout_ms = o->wait_ms ? o->wait_ms : SERVICE_WAIT_MS},
                                       .status = STATUS_ERROR,
                                       .told = fleet_note},
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
