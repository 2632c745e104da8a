/* The two ways to the objects of a control plane: its API, and its cluster's API server. */
#include <mobula/fleet.h>

/* ---- its cluster ---- */

static struct slice cluster_path(struct desk *d, struct slice name)
{
    __attribute__((cleanup(buf_free))) struct buf b;
    buf_init(&b, 2 * KIB);
    kube_path(&b, d->noun->resource, d->o.ns, name, SLICE_NONE);
    return arena_dup(&d->a, buf_slice(&b));
}

static void cluster_refused(struct desk *d, const struct ask_answer *a, struct err *e)
{
    char words[ASK_WORDS];
    (void)d;
    err_set(e, ERR_STATUS, "%s", ask_words(a, words));
}

static void cluster_silent(struct desk *d, struct err *e)
{
    (void)d;
    (void)e;
}

/* Not this machine's clock, which may be any: it would call all operators silent, or none. */
static int64_t cluster_now_us(struct desk *d)
{
    struct ask_answer a = {0};
    struct json doc;
    struct err ignored = {0};
    int64_t us = 0;
    return ask_time(&d->ask, &d->a, &us, &doc, &a, &ignored) ? us : 0;
}

static int64_t hub_now_us(struct desk *d)
{
    (void)d;
    return 0;
}

static bool cluster_upload(struct desk *d, const struct work_folder *f, struct ask_answer *a, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf path = {.max = 2 * KIB}, body = {.max = LIMIT_JSON_ITEM};
    kube_path(&path, &kube_configmaps, d->o.ns, SLICE_NONE, SLICE_NONE);
    work_folder_write(f, &d->a, &body);
    return ask_post(&d->ask, buf_slice(&path), buf_slice(&body), &d->a, a, NULL, e);
}

static const struct fleet_way cluster = {false, cluster_path, cluster_refused, cluster_silent, cluster_now_us, cluster_upload};

/* ---- its API ---- */

static struct slice hub_path(struct desk *d, struct slice name)
{
    return arena_printf(&d->a, "/v1/projects/%.*s/%.*s%s%.*s", SLICE_ARG(d->o.ns), SLICE_ARG(d->noun->resource->plural),
                        slice_empty(name) ? "" : "/", SLICE_ARG(name));
}

static void hub_refused(struct desk *d, const struct ask_answer *a, struct err *e)
{
    struct json doc;
    bool read = json_parse(&doc, a->body, &d->a, NULL);
    struct slice message = read ? json_get_str(json_root(&doc), "error.message", &d->a) : a->message;
    struct slice remedy = read ? json_get_str(json_root(&doc), "error.remedy", &d->a) : SLICE("is this a control plane?");
    if (a->code == 401)
        remedy = SLICE("it has expired or was revoked: get another one, and mobula login again");
    err_set(e, a->code >= 500 ? ERR_CLOSED : ERR_STATUS, "%d: %.*s (%.*s)", a->code, SLICE_ARG(message), SLICE_ARG(remedy));
}

static bool add_remedy(struct err *e, const char *remedy)
{
    struct err bare = *e;
    *e = (struct err){0};
    return err_set(e, bare.code, "%s: %s", bare.text, remedy);
}

static void hub_silent(struct desk *d, struct err *e)
{
    static const struct {
        enum err_code code;
        const char *remedy;
    } remedies[] = {
        {ERR_TLS_TRUST, "name the CA of its certificate: mobula login --ca-file FILE"},
        {ERR_TLS_NAME, "name the server as its certificate does"},
        {ERR_NONE, "does it run, and does this machine reach it (HTTPS_PROXY, NO_PROXY)?"},
    };
    size_t i = 0;
    while (remedies[i].code != ERR_NONE && remedies[i].code != e->code)
        i++;
    add_remedy(e, remedies[i].remedy);
    (void)d;
}

static bool hub_upload(struct desk *d, const struct work_folder *f, struct ask_answer *a, struct err *e)
{
    struct slice path = arena_printf(&d->a, "%.*s/folder", SLICE_ARG(hub_path(d, d->o.name)));
    return ask_put(&d->ask, path, arena_printf(&d->a, "{\"data\":\"%.*s\"}", SLICE_ARG(f->base64)), &d->a, a, e);
}

static const struct fleet_way hub = {true, hub_path, hub_refused, hub_silent, hub_now_us, hub_upload};

/* ---- which of them ---- */

bool fleet_open_hub(struct desk *d, struct slice server, struct slice token, const char *ca_file, struct err *e)
{
    d->way = &hub;
    return ask_open_url(
        &d->ask,
        &(struct kube_config_url){.url = server.ptr, .setting = "--server", .name = "control plane", .token = token, .ca_file = ca_file},
        e);
}

static bool open_hub(struct desk *d, const struct login *l, struct err *e)
{
    struct fleet_options *o = &d->o;
    bool same = slice_empty(o->server) || slice_eq(o->server, l->server);
    struct slice token = same ? l->token : SLICE_NONE;
    const char *ca = !slice_empty(o->ca_file) ? o->ca_file.ptr : same && l->ca ? l->path.ptr : NULL;
    if (!slice_empty(o->token_file) && !cli_read_most(o->token_file, LIMIT_KUBE_TOKEN, "LIMIT_KUBE_TOKEN", &d->a, &token, e))
        return false;
    if (slice_empty(token))
        return err_set(e, ERR_CONFIG, "no token for %s: mobula login --server %s, or --token-file FILE", o->server.ptr, o->server.ptr);
    if (slice_empty(o->ns))
        o->ns = same && !slice_empty(l->project) ? l->project : SLICE("default");
    if (slice_empty(o->server))
        o->server = l->server;
    return fleet_open_hub(d, o->server, slice_trim(token), ca, e);
}

bool fleet_open(struct desk *d, struct err *e)
{
    struct fleet_options *o = &d->o;
    struct login l;
    if (!login_read(&l, &d->a, e))
        return false;
    if (!slice_empty(o->server) || (!slice_empty(l.server) && slice_empty(o->kubeconfig) && slice_empty(o->context)))
        return open_hub(d, &l, e);
    d->way = &cluster;
    if (!ask_open(&d->ask, o->kubeconfig, o->context, e))
        return slice_empty(o->kubeconfig) ? add_remedy(e, "nor is anybody logged in at a control plane (mobula login)") : false;
    if (slice_empty(o->ns))
        o->ns = d->ask.config->namespace_;
    return true;
}

void fleet_tell(struct desk *d, struct slice text)
{
    if (d->told)
        d->told(text);
}
