#include "config.h"

#include <stdlib.h>

static bool read_home(const struct kube_config_options *o, struct arena *a, struct kube_settings *out, struct err *e)
{
    static const char nothing[] = "no cluster is configured: this is no pod, neither --kubeconfig nor KUBECONFIG is set, and";
    const char *home = getenv("HOME");
    struct err why = {0};
    if (!home || !*home)
        return err_set(e, ERR_CONFIG, "%s HOME is not set", nothing);
    const char *path = arena_printf(a, "%s/.kube/config", home).ptr;
    if (kube_kubeconfig_read(slice_of(path), true, o, a, out, &why))
        return true;
    return why.code == ERR_MISSING ? err_set(e, ERR_CONFIG, "%s %s does not exist", nothing, path) : err_set(e, why.code, "%s", why.text);
}

/* $KUBECONFIG, else the file of a person at a terminal. */
static bool find_kubeconfig(const struct kube_config_options *o, struct arena *a, struct kube_settings *out, struct err *e)
{
    struct slice list = slice_of(getenv("KUBECONFIG"));
    if (o->kubeconfig)
        return kube_kubeconfig_read(slice_of(o->kubeconfig), true, o, a, out, e);
    if (!slice_empty(list))
        return kube_kubeconfig_read(list, false, o, a, out, e);
    return read_home(o, a, out, e);
}

/* proxy-url holds for whatever server it stands beside; the environment's proxy asks NO_PROXY first, and only for https, as in Go. */
static bool find_proxy(struct kube_config *c, const struct kube_settings *s, struct arena *a, struct err *e)
{
    if (!slice_empty(s->proxy_url)) {
        struct kube_url url;
        if (!kube_url_parse(s->proxy_url, "proxy-url", &url, e))
            return false;
        if (url.tls)
            return err_set(e, ERR_CONFIG, "proxy-url: only http:// proxies (CONNECT) are supported");
        c->use_proxy = true;
        c->proxy = (struct net_proxy){.host = url.host, .port = url.port};
        return slice_empty(url.user) || net_proxy_basic(url.user, a, &c->proxy.basic) ||
               err_set(e, ERR_CONFIG, "proxy-url: its user and password are not percent-encoded rightly, or too long");
    }
    struct net_proxies p = net_proxies_environment();
    return !c->tls || net_proxy_for(&p, c->host, c->port, a, &c->proxy, &c->use_proxy, e);
}

static bool apply_settings(struct kube_config *c, struct err *e)
{
    struct kube_config_private *p = c->private_;
    const struct kube_settings *s = &p->settings;
    struct kube_url url;
    if (!kube_url_parse(s->server, "server", &url, e))
        return false;
    if (!slice_empty(url.user))
        return err_set(e, ERR_CONFIG, "server: a user in the URL is not supported");
    c->host = url.host;
    c->port = url.port;
    c->tls = url.tls;
    c->insecure = s->insecure;
    c->plugin = s->exec.argv != NULL;
    c->path_prefix = url.path;
    c->tls_name = slice_empty(s->tls_name) ? url.host : s->tls_name;
    c->namespace_ = slice_empty(s->namespace_) ? SLICE("default") : s->namespace_;
    c->source = s->source;
    c->impersonate_user = s->as;
    c->impersonate_uid = s->as_uid;
    c->impersonate_groups = s->as_groups;
    c->impersonate_group_count = s->as_group_count;
    c->impersonate_extra = s->as_extra;
    c->impersonate_extra_count = s->as_extra_count;
    if (c->insecure)
        log_warn("the API server's certificate is NOT checked (insecure-skip-tls-verify): anybody on the way can read the token",
                 LF("server", c->host), LF("config", c->source));
    return find_proxy(c, s, &p->arena, e);
}

static struct kube_config *config_new(const char *name, const char *setting)
{
    struct kube_config *c = mem_alloc(sizeof *c);
    c->name = name;
    c->setting = setting;
    c->private_ = mem_alloc(sizeof *c->private_);
    buf_init(&c->private_->authorization, LIMIT_KUBE_TOKEN + 16);
    return c;
}

/* NULL when the settings were not found or do not work. */
static struct kube_config *config_finish(struct kube_config *c, bool found, struct err *e)
{
    bool changed;
    if (found && apply_settings(c, e) && kube_credentials_load(c, clock_now().wall_us, true, &changed, e))
        return c;
    if (!slice_empty(c->private_->settings.source)) /* else the message names the file already */
        err_wrap(e, "%.*s", SLICE_ARG(c->private_->settings.source));
    kube_config_free(c);
    return NULL;
}

struct kube_config *kube_config_incluster(const char *dir, struct err *e)
{
    struct kube_config *c = config_new("API server", "KUBERNETES_SERVICE_HOST");
    c->in_cluster = true;
    return config_finish(c, kube_incluster_read(dir, &c->private_->arena, &c->private_->settings, e), e);
}

struct kube_config *kube_config_load(const struct kube_config_options *o, struct err *e)
{
    if (!o->kubeconfig && slice_empty(slice_of(getenv("KUBECONFIG"))) && getenv("KUBERNETES_SERVICE_HOST"))
        return kube_config_incluster(KUBE_SERVICE_ACCOUNT_DIR, e);
    struct kube_config *c = config_new("API server", "--kubeconfig");
    return config_finish(c, find_kubeconfig(o, &c->private_->arena, &c->private_->settings, e), e);
}

static bool is_this_machine(struct slice host)
{
    return slice_is(host, "localhost") || slice_is(host, "::1") || (net_is_ip(host) && slice_starts(host, SLICE("127.")));
}

struct kube_config *kube_config_url(const struct kube_config_url *o, struct err *e)
{
    struct kube_config *c = config_new(o->name, o->setting);
    struct kube_settings *s = &c->private_->settings;
    struct arena *a = &c->private_->arena;
    struct kube_url url;
    s->source = slice_of(o->setting);
    s->server = arena_dup(a, slice_of(o->url));
    s->token = (struct kube_secret){.path = o->token_file, .data = o->token_file ? SLICE_NONE : arena_dup(a, o->token)};
    s->ca.path = o->ca_file;
    s->ca.data = o->ca.ptr ? arena_dup(a, o->ca) : SLICE_NONE;
    s->tls_name = o->tls_name.ptr ? arena_dup(a, o->tls_name) : SLICE_NONE;
    s->more_ca.path = o->more_ca_file;
    bool sound = kube_url_parse(s->server, "URL", &url, e) &&
                 (url.tls || o->clear || is_this_machine(url.host) ||
                  err_set(e, ERR_CONFIG, "https:// is needed: http:// would show the token to everybody on the way"));
    return config_finish(c, sound, e);
}

void kube_config_free(struct kube_config *c)
{
    if (!c)
        return;
    kube_credentials_wipe(c);
    tls_trust_drop(c->trust);
    tls_identity_drop(c->identity);
    arena_free(&c->private_->arena);
    mem_free(c->private_);
    mem_free(c);
}

struct slice kube_config_authorization(const struct kube_config *c)
{
    return buf_slice(&c->private_->authorization);
}

bool kube_config_reload(struct kube_config *c, struct now now, bool at_once, bool *changed, struct err *e)
{
    *changed = false;
    if (!at_once && now.mono_ms < c->private_->reload_ms)
        return true;
    c->private_->reload_ms = now.mono_ms + KUBE_RELOAD_MS;
    return kube_credentials_load(c, now.wall_us, at_once, changed, e);
}

struct slice kube_config_cluster(const struct kube_config *c, struct arena *a)
{
    return arena_printf(a, "%.*s:%u%.*s@%016llx", SLICE_ARG(c->host), c->port, SLICE_ARG(c->path_prefix),
                        (unsigned long long)tls_trust_hash(c->trust));
}

void kube_config_endpoint(const struct kube_config *c, struct endpoint *out)
{
    *out = (struct endpoint){
        .host = c->host,
        .port = c->port,
        .tls = c->tls,
        .tls_name = c->tls_name,
        .trust = c->trust,
        .identity = c->identity,
        .insecure = c->insecure,
        .proxy = c->use_proxy ? &c->proxy : NULL,
    };
}

bool kube_config_allow(const struct kube_config *c, struct net_allow *allow, struct err *e)
{
    return net_allow_add(allow, c->host, c->port, c->setting, e) &&
           (!c->use_proxy || net_allow_add(allow, c->proxy.host, c->proxy.port, "HTTPS_PROXY, MOBULA_PROXIES or proxy-url", e));
}
