/* A service of a control plane: its Workload, with a new version or other weights. */
#include <mobula/service.h>

/* ---- the file ---- */

static void take(struct slice *option, struct slice from_file)
{
    if (slice_empty(*option))
        *option = from_file;
}

static bool read_file(struct plane_service *p, struct service_change *c, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf out = {.max = LIMIT_JSON_ITEM};
    struct desk *d = &p->desk;
    struct service_options *o = &p->from->o;
    struct work_service_file has;
    struct slice text, json;
    struct jval file, config;
    struct work_code code;
    struct jout w;
    if (slice_empty(d->o.file))
        return true;
    if (!fleet_file(d, &text, &json, e) || !json_read(&file, json, &d->a, e) ||
        !work_service_file_read(file, d->o.file.ptr, &d->a, &has, e))
        return false;
    take(&d->o.name, has.name);
    take(&d->o.cloud, has.cloud);
    take(&d->o.config, has.config);
    take(&o->version, has.version);
    take(&d->o.dir, arena_dup(&d->a, has.dir)); /* as a flag's text, it ends in a NUL */
    take(&d->o.requirements, arena_dup(&d->a, has.requirements));
    if (has.token)
        take(&o->auth, SLICE("token"));
    if (!plane_read_code(d, file, &code, e))
        return false;
    config = json_get(file, "compute_config");
    if (!slice_empty(d->o.config)) {
        config = fleet_config_read(d, d->o.config, e);
        if (!json_there(config))
            return false;
        config = json_get(config, "spec");
    }
    jout_init(&w, &out);
    jout_object(&w);
    work_service_version_write(file, d->o.image, config, &code, &w);
    jout_end(&w);
    return json_read(&c->given, arena_dup(&d->a, buf_slice(&out)), &d->a, e);
}

/* ---- the Workload ---- */

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
static bool send(struct plane_service *p, struct service_change *c, struct slice object, struct ask_answer *a, bool *conflict,
                 struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf body = {.max = LIMIT_JSON_ITEM};
    struct desk *d = &p->desk;
    const struct service_options *o = &p->from->o;
    bool fresh = !json_there(c->live), stays = o->versions.len || (o->canary >= 0 && o->canary < 100);
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
    return fresh ? fleet_create(d, d->o.name, buf_slice(&body), a, e) : fleet_replace(d, object, buf_slice(&body), a, conflict, e);
}

bool plane_check_flags(struct plane_service *p, struct jval there, struct err *e)
{
    const struct service_options *o = &p->from->o;
    const struct fleet_options *f = &p->desk.o;
    struct slice cloud = json_get_str(there, "spec.cloud", &p->desk.a);
    if (o->gateway.len || o->class.len || o->controller.len || o->istio.len)
        return err_set(e, ERR_CONFIG,
                       "--gateway, --ingress-class, --ingress-controller and --istio-gateway are for a kubeconfig: the administrator "
                       "of the cloud's cluster names the route (mobula operator --gateway-name)");
    bool code = f->dir.len || f->requirements.len || f->site.bucket.len || f->excludes.count;
    if (slice_empty(f->file) && (f->image.len || f->config.len || code))
        return err_set(e, ERR_CONFIG,
                       "--image-uri, --compute-config, --working-dir, --bucket, --exclude and --requirements are of a new version: give "
                       "that with -f");
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
static bool deploy_once(struct plane_service *p, const struct service_change *from, struct ask_answer *a, bool *conflict, struct err *e)
{
    struct service_change c = *from;
    struct desk *d = &p->desk;
    struct jval there = NO_VALUE;
    bool absent = false;
    if (!(p->back ? fleet_get(d, d->o.name, a, e) : fleet_find(d, d->o.name, a, &absent, e)) ||
        (!absent && (!json_read(&there, a->body, &d->a, e) || !plane_is_service(d, there, e))) || !plane_check_flags(p, there, e))
        return false;
    c.live = json_get(there, "spec.service.versions");
    if (p->back && json_len(c.live) < 2)
        return err_set(e, ERR_STATUS, "there is nothing to go back to: service %.*s has one version; deploy the former one again",
                       SLICE_ARG(d->o.name));
    return (!absent || fleet_has_cloud(d, d->o.cloud, e)) && send(p, &c, a->body, a, conflict, e);
}

bool plane_send(struct plane_service *p, struct ask_answer *a, struct err *e)
{
    struct desk *d = &p->desk;
    struct service_change c = {.d = p->from, .given = NO_VALUE, .live = NO_VALUE, .plane = true};
    bool conflict = true, sent = false;
    if (!read_file(p, &c, e))
        return false;
    if (slice_empty(d->o.name))
        return err_set(e, ERR_CONFIG, "the name of a service is needed");
    for (int try = 0; conflict && try < FLEET_TRIES; try++) {
        *e = (struct err){0};
        conflict = false;
        sent = deploy_once(p, &c, a, &conflict, e);
    }
    return sent;
}

/* ---- looking ---- */

bool plane_is_service(struct desk *d, struct jval workload, struct err *e)
{
    return json_there(json_get(workload, PLANE_PART)) ||
           err_set(e, ERR_CONFIG, "workload %.*s is no service: see mobula job status", SLICE_ARG(d->o.name));
}

bool plane_look(struct desk *d, uint64_t *said, bool *over, struct err *e)
{
    struct json doc;
    struct slice state;
    if (!fleet_job_read(d, &doc, &state, e) || !plane_is_service(d, json_root(&doc), e))
        return false;
    struct jval all = json_root(&doc);
    struct slice message = json_get_str(all, "status.message", &d->a), reason = json_get_str(all, "status.reason", &d->a);
    enum work_rollout rollout = work_rollout(all, state, fleet_job_ended(state), reason);
    *over = rollout == WORK_ROLLOUT_OVER;
    uint64_t news = hash64(message, hash64(state, 0));
    if (news != *said)
        fleet_say(d, state, message);
    *said = news;
    return rollout != WORK_ROLLOUT_FAILED || err_set(e, ERR_STATUS, "service %.*s: %.*s: see the message above, and mobula service status",
                                                     SLICE_ARG(d->o.name), SLICE_ARG(slice_empty(reason) ? state : reason));
}
