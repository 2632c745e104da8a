/* `mobula service deploy`: the spec of a VersionedService with a new version or other weights. */
#include "cli.h"
#include "service.h"

#include <mobula/kind_versioned.h>

static bool read_file(struct service_change *p, struct err *e)
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

static struct jval version_of(const struct service_change *p, struct slice name)
{
    return list_find(p->live, "name", name);
}

/* The spec of a version: the given one, else that of the service, else that of its RayService, which may stay a while. */
static bool spec_of(struct service_change *p, struct slice name, struct jval *out, struct err *e)
{
    struct jval child = NO_VALUE;
    bool absent = false;
    *out = version_of(p, name);
    if (!p->plane)
        *out = json_get(*out, "rayServiceConfig");
    if (slice_eq(name, p->version) && json_there(p->given))
        *out = p->given;
    if (json_there(*out))
        return true;
    absent = p->plane;
    if (!absent && !service_find_child(p->d, name, &child, &absent, e))
        return false;
    *out = absent ? NO_VALUE : json_get(child, "spec");
    return !absent || err_set(e, ERR_MISSING, "version %.*s is not there any more: give it with -f and --version-name %.*s",
                              SLICE_ARG(name), SLICE_ARG(name));
}

static bool put_version(struct service_change *p, struct slice name, int64_t weight, struct err *e)
{
    struct jval spec, k, v;
    if (!spec_of(p, name, &spec, e))
        return false;
    jout_form(&p->w, "{name:'%.*s',weight:%lld", SLICE_ARG(name), (long long)weight);
    if (!p->plane)
        jout_kval(&p->w, "rayServiceConfig", spec);
    for (struct jiter it = json_iter(spec); p->plane && json_next(&it, &k, &v);)
        if (!json_is(k, "name") && !json_is(k, "weight")) {
            jout_key(&p->w, json_str(k, p->d->seek.a));
            jout_val(&p->w, v);
        }
    jout_end(&p->w);
    return true;
}

static bool put_listed(struct service_change *p, struct err *e)
{
    struct arena *a = p->d->seek.a;
    struct jval all, k, v;
    if (!json_read(&all, p->d->o.versions, a, e) || json_type(all) != JSON_ARRAY)
        return err_set(e, ERR_CONFIG, "--versions is no JSON list: write '[{\"name\": \"v1\", \"traffic_percent\": 90}, …]'");
    for (struct jiter it = json_iter(all); json_next(&it, &k, &v);)
        if (!put_version(p, json_get_str(v, "name", a), json_get_int(v, "traffic_percent", -1), e))
            return false;
    return true;
}

static bool put_canary(struct service_change *p, struct err *e)
{
    int64_t canary = p->d->o.canary;
    struct slice name = json_there(p->given) ? p->version : p->canary, primary = p->primary;
    if (slice_empty(name) || slice_empty(primary) || slice_eq(name, primary))
        return err_set(e, ERR_CONFIG, "--canary-percent needs a version that serves, and another one: give that with -f");
    return (canary == 100 || put_version(p, primary, 100 - canary, e)) && put_version(p, name, canary, e);
}

bool service_put_versions(struct service_change *p, struct err *e)
{
    const struct service_options *o = &p->d->o;
    struct jval k, v;
    bool well = true;
    if (o->versions.len)
        return put_listed(p, e);
    if (o->canary >= 0 && json_there(p->live))
        return put_canary(p, e);
    if (!json_there(p->given))
        return err_set(e, ERR_CONFIG, "-f FILE is needed: %s",
                       p->plane ? "the configuration of the service" : "a RayService, whose spec the new version gets");
    if (!o->in_place)
        return put_version(p, p->version, 100, e);
    p->version = o->version.len ? o->version : p->primary;
    if (!json_there(version_of(p, p->version)))
        return err_set(e, ERR_CONFIG, "--in-place: the service has no version \"%.*s\"", SLICE_ARG(p->version));
    for (struct jiter it = json_iter(p->live); well && json_next(&it, &k, &v);)
        well = put_version(p, json_get_str(v, "name", p->d->seek.a), json_get_int(v, "weight", 100), e);
    return well;
}

void service_put_list(struct service_change *p, const char *key, struct slice list)
{
    jout_karray(&p->w, key);
    while (list.len)
        jout_str(&p->w, slice_cut(&list, ','));
    jout_end(&p->w);
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

struct slice service_name_version(const struct service_change *p)
{
    char five[NAME_SUFFIX];
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    if (p->d->o.version.len || !json_there(p->given))
        return p->d->o.version;
    if (!json_canonical(p->given, &text))
        return SLICE("");
    hash_suffix(hash64(buf_slice(&text), 0), five);
    return arena_printf(p->d->seek.a, "v-%.*s", (int)sizeof five, five);
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

enum { SEND_TRIES = 5 };

bool service_deploy(struct service_desk *d, struct err *e)
{
    struct service_change p = {.d = d, .given = NO_VALUE};
    const struct service_options *o = &d->o;
    bool sent = false;
    if (o->image.len || o->config.len || o->dir.len || o->bucket.len || o->requirements.len || o->excludes.count)
        return err_set(e, ERR_CONFIG,
                       "--image-uri, --compute-config, --working-dir, --bucket, --exclude and --requirements are for a control plane "
                       "(--server, --cloud or mobula login): without one the file is a RayService, whose serveConfigV2 names the code");
    if (!read_file(&p, e))
        return false;
    if (slice_empty(d->o.name))
        return err_set(e, ERR_CONFIG, "the name of a service is needed");
    for (int i = 0; !sent && (i == 0 || (d->conflict && i < SEND_TRIES)); i++) {
        *e = (struct err){0};
        sent = send_once(d, &p, e);
    }
    if (!sent)
        return false;
    return d->o.wait ? service_wait_rollout(d, e)
                     : cli_print(arena_printf(d->seek.a, "deployed; see: mobula service status %.*s\n", SLICE_ARG(d->o.name)));
}
