/* mobula control-plane: the hub in the event loop. */
#include "cli.h"

#include <mobula/command.h>
#include <mobula/hub.h>

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

struct options {
    struct slice namespaces, kubeconfig, context, http, https, cert, key, secret, names, replica, metrics, log_level, log_format, identity,
        sandbox, sts;
    bool all_namespaces;
};

#define AT(field) offsetof(struct options, field)
static const struct flag list[] = {
    {"namespace", FLAG_LIST, AT(namespaces), "NS[,NS…]"},
    {"all-namespaces", FLAG_SWITCH, AT(all_namespaces), NULL},
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
    {"https-addr", FLAG_TEXT, AT(https), "[HOST]:PORT"},
    {"tls-cert", FLAG_TEXT, AT(cert), "FILE"},
    {"tls-key", FLAG_TEXT, AT(key), "FILE"},
    {"tls-secret", FLAG_TEXT, AT(secret), "NAME"},
    {"tls-name", FLAG_LIST, AT(names), "NAME[,...]"},
    {"replica-addr", FLAG_TEXT, AT(replica), "IP"},
    {"http-addr", FLAG_TEXT, AT(http), "HOST:PORT"},
    {"sts-url", FLAG_TEXT, AT(sts), "URL"},
    {"metrics-addr", FLAG_TEXT, AT(metrics), "[HOST]:PORT"},
    {"identity", FLAG_TEXT, AT(identity), "NAME"},
    TLS_FLAG,
    SANDBOX_FLAG(AT(sandbox)),
    {"log-level", FLAG_TEXT, AT(log_level), "debug|info|warn|error"},
    {"log-format", FLAG_TEXT, AT(log_format), "logfmt|json"},
};
#undef AT
static const struct flags flags = {
    .usage = "mobula control-plane [--namespace NS[,NS…]] [FLAG…]",
    .list = list,
    .count = COUNT_OF(list),
};

struct process {
    struct options o;
    struct cli_namespaces projects;
    struct arena arena;
    struct net_allow *allow;
    struct loop *loop;
    struct kube_config *config;
    struct hub *hub;
    int64_t reload_ms;
};

enum { RELOAD_MS = 60 * 1000 };

/* Files are replaced in place, as a mounted Secret is: new connections use the new certificate. */
static bool load_identity(struct process *p, struct err *e)
{
    struct arena a = {0};
    struct slice cert, key;
    if (slice_empty(p->o.cert))
        return true;
    bool read = cli_read_file(p->o.cert, &a, &cert, e) && cli_read_file(p->o.key, &a, &key, e);
    bool well = read && hub_certify(p->hub, cert, key, SLICE_NONE, e);
    if (read)
        mem_wipe((char *)(uintptr_t)key.ptr, key.len);
    arena_free(&a);
    return well;
}

static void reload(struct process *p, struct now now)
{
    struct err e = {0};
    if (!load_identity(p, &e))
        log_warn("the new certificate cannot be used: the one before stays", LF_CSTR("error", e.text));
    p->reload_ms = now.mono_ms + RELOAD_MS;
}

/* Tokens do not go over a network in the clear. */
static bool check_addresses(const struct options *o, struct err *e)
{
    bool files = !slice_empty(o->cert) && !slice_empty(o->key);
    if (slice_empty(o->cert) != slice_empty(o->key) || (files && !slice_empty(o->secret)) ||
        (!slice_empty(o->https) && !files && slice_empty(o->secret)))
        return err_set(e, ERR_CONFIG,
                       "--https-addr needs --tls-secret, or --tls-cert and --tls-key, PEM files such as those of a mounted Secret of type "
                       "kubernetes.io/tls");
    struct slice address = o->http;
    return slice_empty(address) || slice_starts(address, SLICE("127.")) || slice_starts(address, SLICE("[::1]:")) ||
           slice_starts(address, SLICE("localhost:")) ||
           err_set(e, ERR_CONFIG,
                   "--http-addr: \"%.*s\" is no loopback address (127.0.0.1:PORT, [::1]:PORT), and tokens do not go over a "
                   "network in the clear",
                   SLICE_ARG(address));
}

/* A pod knows its address; the port is that of --https-addr. */
static bool replica_url(const struct options *o, struct arena *a, struct slice *url, struct err *e)
{
    struct slice host = o->replica, port = o->https;
    if (slice_empty(host))
        return true;
    while (port.ptr && slice_find(port, ':') >= 0)
        slice_cut(&port, ':');
    bool v6 = slice_find(host, ':') >= 0;
    *url = arena_printf(a, "https://%s%.*s%s:%.*s", v6 ? "[" : "", SLICE_ARG(host), v6 ? "]" : "", SLICE_ARG(port));
    return (net_is_ip(host) && !slice_empty(port)) || err_set(e, ERR_CONFIG, "--replica-addr: want an IP address, and --https-addr");
}

static bool start(struct process *p, struct err *e)
{
    const struct options *o = &p->o;
    struct hub_options h = {.replica = o->identity};
    char host[256] = "mobula";
    struct rng rng;
    const char *sandbox;
    struct kube_config_options config = {o->kubeconfig.ptr, o->context.ptr, isatty(STDERR_FILENO)};
    p->allow = net_allow_new();
    p->config = check_addresses(o, e) ? kube_config_load(&config, e) : NULL;
    if (!p->config || !kube_config_allow(p->config, p->allow, e) ||
        !cli_projects(o->namespaces, o->all_namespaces, p->config->namespace_, &p->projects, e))
        return false;
    p->loop = loop_new(p->allow, e);
    if (!p->loop)
        return false;
    gethostname(host, sizeof host - 1);
    if (slice_empty(h.replica))
        h.replica = arena_dup(&p->arena, slice_of(host));
    rng_seed_system(&rng);
    h.seed = rng_next(&rng);
    h.namespaces = p->projects.list;
    h.namespace_count = p->projects.count;
    h.allow = p->allow;
    h.sts = slice_empty(o->sts) ? NULL : o->sts.ptr;
    if (!replica_url(o, &p->arena, &h.url, e))
        return false;
    h.cert.ns = p->config->namespace_;
    h.cert.secret = o->secret;
    h.cert.ca_secret = arena_printf(&p->arena, "%.*s-ca", SLICE_ARG(o->secret));
    if (!cli_server_names(o->names, &p->arena, &h.cert.names, &h.cert.name_count, e))
        return false;
    p->hub = hub_new(loop_net(p->loop), p->config, &h, e);
    if (!p->hub || !load_identity(p, e) || !cli_listen_tls(p->loop, o->https, hub_accept(p->hub), hub_identity(p->hub), "https-addr", e) ||
        !cli_listen(p->loop, o->http, hub_accept(p->hub), "http-addr", e) ||
        !cli_listen(p->loop, o->metrics, hub_metrics(p->hub), "metrics-addr", e) ||
        !sandbox_enter(o->sandbox, p->config->plugin, &sandbox, e))
        return false;
    log_info("started", LF_CSTR("version", MOBULA_VERSION), LF_CSTR("sandbox", sandbox), LF("server", p->config->host),
             LF_INT("port", p->config->port), LF("config", p->config->source), LF("replica", h.replica));
    return true;
}

static void renew(void *of, struct now now)
{
    struct process *p = of;
    hub_renew(p->hub, now);
    reload(p, now);
}

static int64_t step(void *of, struct now now)
{
    struct process *p = of;
    if (now.mono_ms >= p->reload_ms)
        reload(p, now);
    int64_t next = hub_step(p->hub, now);
    return next < p->reload_ms ? next : p->reload_ms;
}

static bool stop(void *of, struct now now)
{
    return hub_stop(((struct process *)of)->hub, now);
}

int cli_control_plane(int argc, char **argv)
{
    static const struct cli_daemon daemon = {.renew = renew, .step = step, .stop = stop, .stop_ms = HUB_STOP_MS + HUB_LEAVE_MS};
    struct process p = {.o = {.http = SLICE("127.0.0.1:8480"),
                              .metrics = SLICE(":8080"),
                              .sandbox = SLICE("auto"),
                              .log_level = SLICE("info"),
                              .log_format = SLICE("logfmt")}};
    int status;
    struct err e = {0};
    if (!flags_parse(&flags, argc, argv, &p.o, &status))
        return status;
    if (!cli_log(p.o.log_level, p.o.log_format, &e))
        return flags_wrong(&flags, "%s", e.text);
    signal(SIGPIPE, SIG_IGN);
    bool started = start(&p, &e);
    if (started)
        cli_daemon_run(&daemon, p.loop, &p);
    hub_free(p.hub);
    if (p.loop)
        loop_free(p.loop);
    kube_config_free(p.config);
    net_allow_free(p.allow);
    arena_free(&p.arena);
    return cli_daemon_end(&flags, started, &e);
}
