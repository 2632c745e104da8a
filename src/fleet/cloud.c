/* Clouds: their spec from the values of flags, the commands that connect an operator, and what is checked of one. */
#include <mobula/fleet.h>
#include <mobula/remote.h>

/* ---- the spec ---- */

/* Flags, and what they are in the spec. */
static const struct {
    size_t at;
    const char *path;
} members[] = {
    {FLEET_AT(site.provider), "provider"},
    {FLEET_AT(site.region), "region"},
    {FLEET_AT(site.networking), "networking"},
    {FLEET_AT(site.identity), "operatorIdentity"},
    {FLEET_AT(site.bucket), "objectStorage.bucket"},
    {FLEET_AT(site.endpoint), "objectStorage.endpoint"},
    {FLEET_AT(site.storage), "fileStorage.id"},
    {FLEET_AT(site.nfs_server), "fileStorage.nfs.server"},
    {FLEET_AT(site.nfs_path), "fileStorage.nfs.path"},
    {FLEET_AT(site.address), "ingress.address"},
};

/* Lays {"a":{"b":…}} of "a.b" over the spec; a list is written as "x,y". */
static bool lay(struct slice *spec, struct slice path, struct slice text, bool list, struct arena *a, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = 64 * KIB};
    struct jout w;
    int depth = list;
    jout_init(&w, &b);
    for (; path.ptr; depth++) {
        jout_object(&w);
        jout_key(&w, slice_cut(&path, '.'));
    }
    if (list)
        jout_array(&w);
    do
        jout_str(&w, list ? slice_cut(&text, ',') : text);
    while (list && text.ptr);
    while (depth-- > 0)
        jout_end(&w);
    return json_merge(*spec, arena_dup(a, buf_slice(&b)), a, spec, e);
}

/* The documents name buckets in three ways: s3://NAME, arn:aws:s3:::NAME, and NAME alone. */
static void name_bucket(struct fleet_options *o, struct arena *a)
{
    struct slice name = o->site.bucket;
    if (slice_empty(name) || slice_has(name, "://"))
        return;
    while (slice_starts(o->site.bucket, SLICE("arn:")) && slice_find(name, ':') >= 0)
        slice_cut(&name, ':');
    o->site.bucket = arena_printf(a, "%s://%.*s", slice_eq(o->site.provider, SLICE("gcp")) ? "gs" : "s3", SLICE_ARG(name));
}

bool fleet_cloud_spec(struct desk *d, struct slice *spec, struct err *e)
{
    struct fleet_options *o = &d->o;
    struct arena *a = &d->a;
    struct slice whole;
    *spec = SLICE("{}");
    if (!slice_empty(o->site.stack) && !slice_eq_nocase(o->site.stack, SLICE("k8s")))
        return err_set(e, ERR_CONFIG, "--compute-stack: only k8s is known here");
    if (!slice_empty(o->file) && !fleet_file(d, &whole, spec, e))
        return false;
    o->site.provider = slice_lower(o->site.provider, a);
    o->site.networking = slice_lower(o->site.networking, a);
    name_bucket(o, a);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const struct slice *text = (const void *)((const char *)o + members[i].at);
        if (!slice_empty(*text) && !lay(spec, slice_of(members[i].path), *text, false, a, e))
            return false;
    }
    return slice_empty(o->site.zones) || lay(spec, SLICE("zones"), o->site.zones, true, a, e);
}

/* Path of the CA of the control plane's certificate; empty: a well-known CA has signed it. */
static struct slice ca_file(struct desk *d)
{
    struct login l;
    if (!slice_empty(d->o.ca_file))
        return d->o.ca_file;
    return slice_empty(d->o.server) || (login_read(&l, &d->a, &(struct err){0}) && l.ca) ? SLICE("ca.crt") : SLICE_NONE;
}

void fleet_cloud_install(struct desk *d, struct slice cloud, struct slice id, struct buf *out)
{
    const struct fleet_options *o = &d->o;
    struct slice ca = ca_file(d), spaces = slice_empty(o->site.spaces) ? SLICE("ray") : o->site.spaces, ns = slice_cut(&spaces, ',');
    struct slice url = slice_empty(o->server) ? SLICE("https://HOST") : o->server;
    buf_printf(out, "cloud deployment id: %.*s\n", SLICE_ARG(id));
    bool aws = slice_starts(o->site.identity, SLICE("arn:"));
    if (!aws)
        buf_printf(out,
                   "\nin the control plane's cluster, the operator's account and its token:\n"
                   "  kubectl -n %.*s create serviceaccount %.*s-operator\n"
                   "  kubectl -n %.*s create role %.*s-operator --verb=sync --resource=clouds.mobula.dev --resource-name=%.*s\n"
                   "  kubectl -n %.*s create rolebinding %.*s-operator --role=%.*s-operator --serviceaccount=%.*s:%.*s-operator\n"
                   "  kubectl -n %.*s create token %.*s-operator --audience=" HUB_AUDIENCE " --duration=8760h > token\n",
                   SLICE_ARG(o->ns), SLICE_ARG(cloud), SLICE_ARG(o->ns), SLICE_ARG(cloud), SLICE_ARG(cloud), SLICE_ARG(o->ns),
                   SLICE_ARG(cloud), SLICE_ARG(cloud), SLICE_ARG(o->ns), SLICE_ARG(cloud), SLICE_ARG(o->ns), SLICE_ARG(cloud));
    buf_printf(out, "\nin the cloud's own cluster%s:\n  kubectl create namespace %.*s\n",
               slice_empty(o->server) ? ", HOST being the control plane's name" : "", SLICE_ARG(ns));
    if (!slice_eq(ns, o->ns))
        buf_printf(out, "  kubectl create namespace %.*s\n", SLICE_ARG(o->ns));
    if (!aws)
        buf_printf(out, "  kubectl -n %.*s create secret generic %.*s --from-file=token\n", SLICE_ARG(ns), SLICE_ARG(cloud));
    if (!slice_empty(ca))
        buf_printf(out, "  kubectl -n %.*s create configmap mobula-control-plane-ca --from-file=ca.crt%s%.*s\n", SLICE_ARG(ns),
                   slice_is(ca, "ca.crt") ? "" : "=", slice_is(ca, "ca.crt") ? 0 : (int)ca.len, ca.ptr);
    buf_printf(out, "  mobula install --apply --namespace=%.*s --watch-namespace=%.*s --registryless", SLICE_ARG(ns), SLICE_ARG(o->ns));
    if (!slice_eq(o->site.provider, SLICE("generic")))
        buf_printf(out, " --cloud-provider=%.*s --shapes", SLICE_ARG(o->site.provider));
    buf_printf(out,
               " %s%.*s%s --control-plane-url=%.*s --cloud-deployment-id=%.*s\n"
               "\nIn place of --registryless, --registry=PREFIX takes the program from an image of a registry.\n",
               aws ? "--sts-url=https://sts." : "--control-plane-token=", SLICE_ARG(aws ? o->site.region : cloud),
               aws ? ".amazonaws.com" : "", SLICE_ARG(url), SLICE_ARG(id));
}

struct slice fleet_cloud_checks(struct jval status, bool silent, bool *failed, struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf b = {.max = MIB};
    struct jout w;
    struct jval k, one;
    struct slice when = json_get_str(status, "checkedTime", a), seen = json_get_str(status, "lastContactTime", a);
    jout_init(&w, &b);
    jout_array(&w);
    jout_form(&w, "{name:'OPERATOR',status:'%s',details:'%s %.*s'}", silent ? "FAILED" : "PASSED",
              silent ? "does not call, see its log; the last call:" : "has called at",
              SLICE_ARG(slice_empty(seen) ? SLICE("never") : seen));
    for (struct jiter it = json_iter(json_get(status, "components")); json_next(&it, &k, &one);) {
        struct slice name = json_get_str(one, "name", a), word = json_get_str(one, "status", a), details = json_get_str(one, "details", a);
        *failed |= slice_is(word, "FAILED");
        if (silent) {
            details = arena_printf(a, "was %.*s at %.*s", SLICE_ARG(word), SLICE_ARG(slice_empty(seen) ? when : seen));
            word = SLICE("UNKNOWN");
        }
        jout_form(&w, "{name:'%.*s',status:'%.*s',details:'%.*s'}", SLICE_ARG(name), SLICE_ARG(word), SLICE_ARG(details));
    }
    jout_end(&w);
    return arena_dup(a, buf_slice(&b));
}

bool fleet_cloud_workloads(struct desk *d, uint32_t *running, struct slice *first, struct err *e)
{
    static const struct noun jobs = {.kind = "Workload", .word = "job", .resource = &hub_workloads};
    const struct noun *own = d->noun;
    struct ask_answer a;
    struct json doc;
    struct jval k, one;
    struct slice name = d->o.name;
    *running = 0;
    *first = SLICE("");
    d->noun = &jobs;
    d->o.name = SLICE_NONE;
    if (!fleet_get(d, SLICE_NONE, &a, e) || !json_parse(&doc, a.body, &d->a, e))
        return false;
    for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &one);) {
        if (!json_str_eq(json_get(one, "spec.cloud"), name) || remote_ended(json_get(one, "status.state")))
            continue;
        *first = json_get_str(one, "metadata.name", &d->a);
        ++*running;
    }
    d->noun = own;
    d->o.name = name;
    return true;
}
