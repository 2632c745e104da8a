/* `mobula service` with a control plane: the service is a Workload. A file has the configuration of a version. */
#include "cli.h"
#include "fleet.h"
#include "service.h"

#include <stdio.h>

struct plane_service {
    struct desk desk; /* must be the first member: a verb gets its address */
    struct service_desk *from;
    bool back; /* a rollback */
};

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

/* ---- the file ---- */

/* Members of the file, and those of a version in the Workload that they become. spec NULL: read by read_file or put_config. */
static const struct {
    const char *file, *spec;
} members[] = {{"applications", "applications"},
               {"image_uri", "image"},
               {"ray_version", "rayVersion"},
               {"registry_login_secret", "imagePullSecret"},
               {"env_vars", "env"},
               {"name", NULL},
               {"cloud", NULL},
               {"version_name", NULL},
               {"compute_config", NULL},
               {"query_auth_token_enabled", NULL}};

static bool check_members(struct desk *d, struct jval file, struct err *e)
{
    struct jval k, v;
    for (struct jiter it = json_iter(file); json_next(&it, &k, &v);) {
        size_t i = 0;
        while (i < COUNT_OF(members) && !json_is(k, members[i].file))
            i++;
        if (i == COUNT_OF(members))
            return err_set(e, ERR_CONFIG, "%s: \"%.*s\" is no field that a service can have here: remove it", d->o.file.ptr,
                           SLICE_ARG(arena_clean(&d->a, json_str(k, &d->a), 64)));
    }
    return true;
}

static void take(struct slice *option, struct jval file, const char *key, struct arena *a)
{
    if (slice_empty(*option))
        *option = json_get_str(file, key, a);
}

/* The compute config is copied into the version, which so keeps its nodes when another version of the config is created. */
static bool put_config(struct desk *d, struct jval file, struct jout *w, struct err *e)
{
    struct jval config = json_get(file, "compute_config");
    take(&d->o.config, file, "compute_config", &d->a);
    if (!slice_empty(d->o.config)) {
        config = config_read(d, d->o.config, e);
        if (!json_there(config))
            return false;
        config = json_get(config, "spec");
    }
    if (json_there(config)) {
        jout_kobject(w, "computeConfig");
        jout_kval(w, "inline", config);
        jout_end(w);
    }
    return true;
}

static bool read_file(struct plane_service *p, struct service_change *c, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = LIMIT_JSON_ITEM};
    struct desk *d = &p->desk;
    struct service_options *o = &p->from->o;
    struct slice text, json;
    struct jval file;
    struct jout w;
    if (slice_empty(d->o.file))
        return true;
    if (!fleet_file(d, &text, &json, e) || !json_read(&file, json, &d->a, e) || !check_members(d, file, e))
        return false;
    take(&d->o.name, file, "name", &d->a);
    take(&d->o.cloud, file, "cloud", &d->a);
    take(&o->version, file, "version_name", &d->a);
    if (json_bool(json_get(file, "query_auth_token_enabled"), false) && slice_empty(o->auth))
        o->auth = SLICE("token");
    jout_init(&w, &out);
    jout_object(&w);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if (members[i].spec && !(strcmp(members[i].spec, "image") == 0 && d->o.image.len))
            jout_kval(&w, members[i].spec, json_get(file, members[i].file));
    jout_form(&w, "image?:'%.*s'", SLICE_ARG(d->o.image));
    if (!put_config(d, file, &w, e))
        return false;
    jout_end(&w);
    return json_read(&c->given, arena_dup(&d->a, buf_slice(&out)), &d->a, e);
}

/* ---- deploy ---- */

/* service_put_versions writes the primary version first. */
static void find_primary(struct service_change *c, struct arena *a)
{
    c->primary = json_get_str(json_at(c->live, 0), "name", a);
    c->canary = json_get_str(json_at(c->live, 1), "name", a);
}

/* The hosts of --hostname, or one below the domain that the Cloud has for services. */
static bool put_hosts(struct plane_service *p, struct service_change *c, struct err *e)
{
    struct desk *d = &p->desk;
    struct slice hosts = p->from->o.hosts, body, domain;
    struct jval cloud;
    if (slice_empty(hosts) && !json_there(c->live)) {
        if (!fleet_cloud(d, d->o.cloud, &body, e) || !json_read(&cloud, body, &d->a, e))
            return false;
        domain = json_get_str(cloud, "spec.domains.services", &d->a);
        if (slice_empty(domain))
            return err_set(e, ERR_CONFIG, "--hostname is needed: cloud %.*s has no domain for services", SLICE_ARG(d->o.cloud));
        hosts = arena_printf(&d->a, "%.*s-%.*s.%.*s", SLICE_ARG(d->o.name), SLICE_ARG(d->o.ns), SLICE_ARG(domain));
    }
    if (!slice_empty(hosts))
        service_put_list(c, "hostnames", hosts);
    return true;
}

/* object: the Workload as it was read, if there is one. */
static bool send(struct plane_service *p, struct service_change *c, struct slice object, bool *conflict, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf body = {.max = LIMIT_JSON_ITEM};
    struct desk *d = &p->desk;
    const struct service_options *o = &p->from->o;
    bool fresh = !json_there(c->live), stays = o->versions.len || (o->canary >= 0 && o->canary < 100);
    struct ask_answer a;
    c->version = service_name_version(c);
    find_primary(c, &d->a);
    jout_init(&c->w, &body);
    jout_object(&c->w);
    if (fresh)
        jout_kstr(&c->w, "cloud", d->o.cloud);
    jout_kobject(&c->w, "service");
    if (!put_hosts(p, c, e))
        return false;
    jout_form(&c->w, "auth?:'%.*s',rollout:{automaticRollback:%hhd", SLICE_ARG(o->auth), (bool)!stays);
    if (o->surge > 0)
        jout_kint(&c->w, "maxSurgePercent", o->surge);
    jout_form(&c->w, "},versions:[");
    if (!service_put_versions(c, e))
        return false;
    jout_form(&c->w, "]}}");
    return (fresh ? fleet_create(d, d->o.name, buf_slice(&body), &a, e) : fleet_replace(d, object, buf_slice(&body), &a, conflict, e)) &&
           fleet_print(d, a.body, e);
}

static bool is_service(struct desk *d, struct jval workload, struct err *e)
{
    return json_there(json_get(workload, noun.part)) ||
           err_set(e, ERR_CONFIG, "workload %.*s is no service: see mobula job status", SLICE_ARG(d->o.name));
}

/* Whether the reason means that the new generation is not in force yet, while the former one may serve. */
static bool is_pending(struct slice reason)
{
    static const char *const words[] = {WORK_PROGRESSING, "QuotaExceeded", "RateLimited", "Frozen", "ApplyRefused"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (slice_is(reason, words[i]))
            return true;
    return false;
}

/* The rollout is over when the Workload's generation is in force and runs. */
static bool look(struct desk *d, uint64_t *said, bool *over, struct err *e)
{
    struct json doc;
    struct slice state;
    if (!job_read(d, &doc, &state, e) || !is_service(d, json_root(&doc), e))
        return false;
    struct jval all = json_root(&doc);
    struct slice message = json_get_str(all, "status.message", &d->a), reason = json_get_str(all, "status.reason", &d->a);
    bool now = json_get_int(all, "status.observedGeneration", -1) == json_get_int(all, "metadata.generation", 0),
         failed = job_ended(state) || slice_is(reason, "RolledBack") || slice_is(reason, "InvalidSpec");
    *over = now && slice_is(state, "RUNNING") && !is_pending(reason);
    uint64_t news = hash64(message, hash64(state, 0));
    if (news != *said)
        fleet_say(d, state, message);
    *said = news;
    return !now || !failed ||
           err_set(e, ERR_STATUS, "service %.*s: %.*s: see the message above, and mobula service status", SLICE_ARG(d->o.name),
                   SLICE_ARG(slice_empty(reason) ? state : reason));
}

static bool wait_rollout(struct desk *d, struct err *e)
{
    return fleet_wait(d, look, e);
}

/* Refuses flags that would have no effect, and a service that cannot be deployed to. */
static bool check_flags(struct plane_service *p, struct jval there, struct err *e)
{
    const struct service_options *o = &p->from->o;
    const struct fleet_options *f = &p->desk.o;
    struct slice cloud = json_get_str(there, "spec.cloud", &p->desk.a);
    if (o->gateway.len || o->class.len || o->controller.len || o->istio.len)
        return err_set(e, ERR_CONFIG,
                       "--gateway, --ingress-class, --ingress-controller and --istio-gateway are for a kubeconfig: the administrator "
                       "of the cloud's cluster names the route (mobula operator --gateway-name)");
    if (slice_empty(f->file) && (f->image.len || f->config.len))
        return err_set(e, ERR_CONFIG, "--image-uri and --compute-config are of a new version: give that with -f");
    if (json_there(there) && f->cloud.len && !slice_eq(f->cloud, cloud))
        return err_set(e, ERR_CONFIG, "service %.*s is in cloud %.*s, and does not move to %.*s", SLICE_ARG(f->name), SLICE_ARG(cloud),
                       SLICE_ARG(f->cloud));
    if (json_bool(json_get(there, "spec.terminate"), false))
        return err_set(e, ERR_CONFIG,
                       "service %.*s was terminated, which cannot be taken back: mobula service delete %.*s, then deploy again",
                       SLICE_ARG(f->name), SLICE_ARG(f->name));
    if (!json_there(there) && slice_empty(f->cloud))
        return err_set(e, ERR_CONFIG, "--cloud NAME is needed: service %.*s does not exist yet", SLICE_ARG(f->name));
    return true;
}

/* Reads the Workload and writes it. *conflict: another client wrote it between the two. */
static bool deploy_once(struct plane_service *p, const struct service_change *from, bool *conflict, struct err *e)
{
    struct service_change c = *from;
    struct desk *d = &p->desk;
    struct ask_answer a;
    struct jval there = NO_VALUE;
    bool absent = false;
    if (!(p->back ? fleet_get(d, d->o.name, &a, e) : fleet_find(d, d->o.name, &a, &absent, e)) ||
        (!absent && (!json_read(&there, a.body, &d->a, e) || !is_service(d, there, e))) || !check_flags(p, there, e))
        return false;
    c.live = json_get(there, "spec.service.versions");
    if (p->back && json_len(c.live) < 2)
        return err_set(e, ERR_STATUS, "there is nothing to go back to: service %.*s has one version; deploy the former one again",
                       SLICE_ARG(d->o.name));
    return (!absent || fleet_has_cloud(d, d->o.cloud, e)) && send(p, &c, a.body, conflict, e);
}

static bool deploy(struct desk *d, struct err *e)
{
    struct plane_service *p = (struct plane_service *)d;
    struct service_change c = {.d = p->from, .given = NO_VALUE, .live = NO_VALUE, .plane = true};
    bool conflict = true, sent = false;
    if (!read_file(p, &c, e))
        return false;
    if (slice_empty(d->o.name))
        return err_set(e, ERR_CONFIG, "the name of a service is needed");
    for (int try = 0; conflict && try < FLEET_TRIES; try++) {
        *e = (struct err){0};
        conflict = false;
        sent = deploy_once(p, &c, &conflict, e);
    }
    return sent && (!p->from->o.wait || wait_rollout(d, e));
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
    return fleet_get(d, d->o.name, &a, e) && json_read(&there, a.body, &d->a, e) && is_service(d, there, e);
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
    } verbs[] = {{"deploy", deploy},     {"status", show},         {"list", fleet_show},      {"rollback", rollback},
                 {"wait", wait_rollout}, {"terminate", terminate}, {"delete", remove_service}};
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
                                             .output = slice_empty(o->output) ? SLICE("table") : o->output,
                                             .timeout_ms = o->wait_ms ? o->wait_ms : SERVICE_WAIT_MS},
                                       .status = STATUS_ERROR},
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
