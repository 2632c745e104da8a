/* `mobula service` with a control plane: the service is a Workload, and a file says what a version is. */
#include "cli.h"
#include "fleet.h"
#include "service.h"

#include <stdio.h>

struct planned {
    struct desk desk; /* first: verbs get this */
    struct service_desk *from;
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

/* Its members. spec NULL: it is read elsewhere. */
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

/* The compute config goes along as it is now: a version keeps its nodes when somebody creates another version of the config. */
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

static bool read_file(struct planned *p, struct service_change *c, struct err *e)
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

/* The version with most of the requests is the primary one. */
static void find_primary(struct service_change *c, struct arena *a)
{
    struct jval k, v;
    int64_t most = -1, weight;
    for (struct jiter it = json_iter(c->live); json_next(&it, &k, &v);)
        if ((weight = json_get_int(v, "weight", 100)) > most) {
            most = weight;
            c->primary = json_get_str(v, "name", a);
        }
    for (struct jiter it = json_iter(c->live); json_next(&it, &k, &v);)
        if (!json_str_eq(json_get(v, "name"), c->primary))
            c->canary = json_get_str(v, "name", a);
}

/* Those of --hostname, or one below the domain that the Cloud has for services. */
static bool put_hosts(struct planned *p, struct service_change *c, struct err *e)
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

static bool send(struct planned *p, struct service_change *c, struct err *e)
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
    return (fresh ? fleet_create(d, d->o.name, buf_slice(&body), &a, e) : fleet_update(d, buf_slice(&body), &a, e)) &&
           fleet_print(d, a.body, e);
}

/* One look; the rollout is over when its generation serves and nothing moves any more. */
static bool look(struct desk *d, uint64_t *said, bool *over, struct err *e)
{
    static const char *const bad[] = {"RolledBack", "InvalidSpec"};
    struct json doc;
    struct slice state;
    if (!job_read(d, &doc, &state, e))
        return false;
    struct jval all = json_root(&doc);
    struct slice message = json_get_str(all, "status.message", &d->a), reason = json_get_str(all, "status.reason", &d->a);
    bool now = json_get_int(all, "status.observedGeneration", -1) == json_get_int(all, "metadata.generation", 0);
    *over = now && slice_is(state, "RUNNING") && !slice_is(reason, WORK_PROGRESSING);
    uint64_t news = hash64(message, hash64(state, 0));
    if (news != *said)
        fleet_say(d, state, message);
    *said = news;
    bool failed = job_ended(state);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        failed |= slice_is(reason, bad[i]);
    return !now || !failed ||
           err_set(e, ERR_STATUS, "service %.*s: %.*s: see the message above, and mobula service status", SLICE_ARG(d->o.name),
                   SLICE_ARG(slice_empty(reason) ? state : reason));
}

static bool wait_rollout(struct desk *d, struct err *e)
{
    return fleet_wait(d, look, e);
}

static bool deploy(struct desk *d, struct err *e)
{
    struct planned *p = (struct planned *)d;
    struct service_change c = {.d = p->from, .given = NO_VALUE, .live = NO_VALUE, .plane = true, .primary = SLICE(""), .canary = SLICE("")};
    struct ask_answer a;
    struct jval there;
    bool absent;
    if (!read_file(p, &c, e))
        return false;
    if (slice_empty(d->o.name))
        return err_set(e, ERR_CONFIG, "the name of a service is needed");
    if (!fleet_find(d, d->o.name, &a, &absent, e) || (!absent && !json_read(&there, a.body, &d->a, e)))
        return false;
    if (!absent)
        c.live = json_get(there, "spec.service.versions");
    if (!absent && !json_there(c.live))
        return err_set(e, ERR_CONFIG, "workload %.*s is no service: choose another name", SLICE_ARG(d->o.name));
    if (absent && slice_empty(d->o.cloud))
        return err_set(e, ERR_CONFIG, "--cloud NAME is needed: service %.*s does not exist yet", SLICE_ARG(d->o.name));
    if (absent && !fleet_has_cloud(d, d->o.cloud, e))
        return false;
    return send(p, &c, e) && (!p->from->o.wait || wait_rollout(d, e));
}

/* The version with fewer requests gets none any more. */
static bool rollback(struct desk *d, struct err *e)
{
    struct planned *p = (struct planned *)d;
    p->from->o.canary = 0;
    return deploy(d, e);
}

static bool show(struct desk *d, struct err *e)
{
    uint64_t said = 0;
    bool over;
    if (!fleet_show(d, e))
        return false;
    if (slice_is(d->o.output, "table"))
        look(d, &said, &over, &(struct err){0});
    return true;
}

/* ---- the command ---- */

bool service_is_planned(const struct service_desk *d, struct arena *a)
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
    } verbs[] = {{"deploy", deploy},     {"status", show},       {"list", fleet_show},
                 {"rollback", rollback}, {"wait", wait_rollout}, {"terminate", job_terminate}};
    const struct service_options *o = &from->o;
    struct planned p = {.desk = {.noun = &noun,
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
