/* The spec of a VersionedService with a new version or other weights. */
#include <mobula/kind_versioned.h>
#include <mobula/service.h>

enum { SEND_TRIES = 5 };

bool service_read(struct service_change *p, struct err *e)
{
    struct service_options *o = &p->d->o;
    struct arena *a = p->d->seek.a;
    struct slice text;
    struct yaml_docs docs;
    struct jval object;
    if (slice_empty(o->file))
        return true;
    if (!cli_read_file(o->file, a, &text, e) || !yaml_parse(text, a, &docs, e))
        return err_wrap(e, "%s", o->file.ptr);
    if (docs.count != 1 || !json_read(&object, docs.docs[0].json, a, e) || !json_is(json_get(object, "kind"), "RayService"))
        return err_set(e, ERR_CONFIG, "%s: must hold one RayService (kind: RayService), whose spec the version gets", o->file.ptr);
    p->given = json_get(object, "spec");
    o->name = slice_empty(o->name) ? json_get_str(object, "metadata.name", a) : o->name;
    return true;
}

/* Of a service that is made now. */
static bool put_route(struct service_change *p, struct err *e)
{
    const struct service_options *o = &p->d->o;
    ptrdiff_t slash = slice_find(o->gateway, '/');
    struct slice ns = slice_head(o->gateway, slash > 0 ? (size_t)slash : 0), name = slice_skip(o->gateway, (size_t)(slash + 1));
    int given = (o->gateway.len > 0) + (o->class.len > 0) + (o->istio.len > 0);
    if (given != 1)
        return err_set(e, ERR_CONFIG,
                       "--gateway [NS/]NAME, --ingress-class NAME or --istio-gateway [NS/]NAME is needed: %.*s does not exist yet",
                       SLICE_ARG(o->name));
    jout_form(&p->w, "ingressClassName?:'%.*s'", SLICE_ARG(o->class));
    if (o->gateway.len)
        jout_form(&p->w, "gateway:{name:'%.*s',namespace?:'%.*s'}", SLICE_ARG(name), SLICE_ARG(ns));
    if (o->istio.len) {
        jout_kobject(&p->w, "istio");
        service_put_list(p, VERSIONED_ISTIO_LIST, o->istio);
        jout_end(&p->w);
    }
    return true;
}

static bool write_object(struct service_change *p, struct err *e)
{
    const struct service_options *o = &p->d->o;
    bool fresh = !json_there(p->d->live), listed = o->versions.len > 0, stays = listed || (o->canary >= 0 && o->canary < 100);
    struct slice version = json_get_str(p->d->live, "metadata.resourceVersion", p->d->seek.a);
    jout_form(&p->w, "{apiVersion:'" VERSIONED_API "',kind:'" VERSIONED_KIND "',metadata:{name:'%.*s',resourceVersion?:'%.*s'},spec:{",
              SLICE_ARG(o->name), SLICE_ARG(version));
    if (fresh && !put_route(p, e))
        return false;
    if (o->hosts.len)
        service_put_list(p, "hostnames", o->hosts);
    jout_form(&p->w, "auth?:'%.*s',ingressController?:'%.*s'", SLICE_ARG(o->auth), SLICE_ARG(o->controller));
    if (!fresh && o->auth.len + o->controller.len && !json_there(p->given) && !stays && o->canary < 0) {
        jout_form(&p->w, "}}"); /* the versions stay as they are */
        return true;
    }
    jout_form(&p->w, "rollout:{automaticRollback:%hhd", (bool)!stays);
    if (o->surge > 0)
        jout_kint(&p->w, "maxSurgePercent", o->surge);
    jout_end(&p->w);
    jout_karray(&p->w, "versions");
    if (!service_put_versions(p, e))
        return false;
    jout_form(&p->w, "]}}");
    return true;
}

static bool create(struct ask *k, struct slice path, struct slice body, struct arena *a, struct ask_answer *out, struct err *e)
{
    return ask_post(k, path, body, a, out, NULL, e);
}

/* Reads the service and writes it. False with d->conflict: another client, such as the operator with its status, was between the two. */
static bool send_once(struct service_desk *d, const struct service_change *from, struct err *e)
{
    struct service_change p = *from;
    __attribute__((cleanup(buf_free))) struct buf body = {.max = LIMIT_JSON_ITEM};
    bool absent = false;
    if (!service_find(d, kind_versioned.resource, d->o.name, &d->live, &absent, e))
        return false;
    p.live = json_get(d->live, "spec.versions");
    p.primary = json_get_str(d->live, "status.primaryVersion", d->seek.a);
    p.canary = json_get_str(d->live, "status.canaryVersion", d->seek.a);
    p.version = service_name_version(&p);
    jout_init(&p.w, &body);
    if (!write_object(&p, e))
        return false;
    struct slice path = seek_path(&d->seek, kind_versioned.resource, absent ? SLICE_NONE : d->o.name, SLICE_NONE);
    return service_send(d, absent ? create : ask_merge, path, buf_slice(&body), e);
}

bool service_write(const struct service_change *p, struct err *e)
{
    bool sent = false;
    for (int i = 0; !sent && (i == 0 || (p->d->conflict && i < SEND_TRIES)); i++) {
        *e = (struct err){0};
        sent = send_once(p->d, p, e);
    }
    return sent;
}
