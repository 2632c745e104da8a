/* The list of versions of a service, as the flags ask for them. */
#include <mobula/service.h>

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
