/* mobula control-plane: the hub in the event loop. */
#include "control_plane.h"

#include "cli.h"

#include <mobula/hub.h>

#include <signal.h>
#include <unistd.h>

struct process {
    struct control_plane_options o;
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

static bool start(struct process *p, struct err *e)
{
    const struct control_plane_options *o = &p->o;
    struct hub_options h = {.replica = o->identity};
    char host[256] = "mobula";
    struct rng rng;
    const char *sandbox;
    struct kube_config_options config = {o->kubeconfig.ptr, o->context.ptr, isatty(STDERR_FILENO)};
    p->allow = net_allow_new();
    p->config = control_plane_flags_check(o, e) ? kube_config_load(&config, e) : NULL;
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
    if (!slice_empty(o->replica) && !hub_replica_url(o->replica, o->https, &p->arena, &h.url))
        return err_set(e, ERR_CONFIG, "--replica-addr: want an IP address, and --https-addr");
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
    struct process p = {0};
    int status;
    struct err e = {0};
    control_plane_flags_init(&p.o);
    if (!flags_parse(&control_plane_flags, argc, argv, &p.o, &status))
        return status;
    if (!cli_log(p.o.log_level, p.o.log_format, &e))
        return flags_wrong(&control_plane_flags, "%s", e.text);
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
    return cli_daemon_end(&control_plane_flags, started, &e);
}
