/* mobula edge: the reverse proxy in the event loop. */
#include "edge.h"
#include "cli.h"

#include <mobula/command.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

struct process {
    struct edge_command o;
    struct net_allow *allow;
    struct loop *loop;
    struct kube_config *config;
    struct edge *edge;
    struct edge_files files;
    int64_t stop_ms; /* when SIGTERM had come; 0: it has not */
};

static bool read_file(struct slice path, struct arena *a, struct slice *out, struct err *e)
{
    struct err why = {0};
    if (cli_read_most(path, LIMIT_EDGE_CONFIG, "LIMIT_EDGE_CONFIG", a, out, &why))
        return true;
    int fd = open(path.ptr, O_RDONLY | O_CLOEXEC); /* the sandbox has no access() */
    if (fd >= 0)
        close(fd);
    else if (errno == ENOENT)
        why.code = ERR_MISSING;
    return err_set(e, why.code, "%s", why.text);
}

/* Users need an API server; an edge that has none of them starts without one. */
static bool load_kubeconfig(struct process *p, struct err *e)
{
    struct kube_config_options config = {p->o.kubeconfig.ptr, p->o.context.ptr, isatty(STDERR_FILENO)};
    struct err why = {0};
    p->config = kube_config_load(&config, &why);
    if (p->config)
        return kube_config_allow(p->config, p->allow, e);
    if (slice_empty(p->o.kubeconfig))
        return true;
    *e = why;
    return false;
}

static bool start(struct process *p, struct err *e)
{
    struct edge_command *o = &p->o;
    struct edge_options g = {.ns = o->ns,
                             .connections = (uint32_t)o->connections,
                             .answer_ms = o->answer_ms,
                             .tls = !slice_empty(o->https),
                             .behind_proxy = o->behind_proxy,
                             .read = read_file};
    struct rng rng;
    const char *sandbox;
    p->allow = g.allow = net_allow_new();
    net_allow_remedy(p->allow, "--config");
    if (!edge_flags_check(o, e) || !load_kubeconfig(p, e))
        return false;
    if (!quantity_parse(o->body_max, 0, &g.body_max, e))
        return err_wrap(e, "--body-max");
    p->loop = loop_new(p->allow, e);
    if (!p->loop)
        return false;
    loop_keep(LIMIT_EDGE_SPARE);
    rng_seed_system(&rng);
    g.seed = rng_next(&rng);
    if (slice_empty(g.ns))
        g.ns = p->config ? p->config->namespace_ : SLICE("default");
    p->edge = edge_new(loop_net(p->loop), p->config, &g);
    edge_flags_files(o, p->edge, &p->files);
    if (!edge_files_read(&p->files, e) || !cli_listen(p->loop, o->http, edge_accept(p->edge), "http-addr", e) ||
        !cli_listen_tls(p->loop, o->https, edge_accept(p->edge), edge_identity(p->edge), "https-addr", e) ||
        !cli_listen(p->loop, o->metrics, edge_figures(p->edge), "metrics-addr", e) ||
        !sandbox_enter(o->sandbox, p->config && p->config->plugin, &sandbox, e))
        return false;
    log_info("started", LF_CSTR("version", MOBULA_VERSION), LF_CSTR("sandbox", sandbox), LF("namespace", g.ns),
             LF_BOOL("users", edge_has_users(p->edge)));
    return true;
}

static void renew(void *of, struct now now)
{
    struct process *p = of;
    edge_renew(p->edge, now);
    edge_files_reload(&p->files, now);
}

static int64_t step(void *of, struct now now)
{
    struct process *p = of;
    if (now.mono_ms >= p->files.next_ms)
        edge_files_reload(&p->files, now);
    int64_t next = edge_step(p->edge, now);
    next = earlier(next, p->files.next_ms);
    return p->stop_ms && p->stop_ms + p->o.drain_ms > now.mono_ms ? earlier(next, p->stop_ms + p->o.drain_ms) : next;
}

static bool stop(void *of, struct now now)
{
    struct process *p = of;
    if (!p->stop_ms)
        p->stop_ms = now.mono_ms;
    bool close = now.mono_ms >= p->stop_ms + p->o.drain_ms;
    if (close)
        loop_deaf(p->loop);
    return edge_drain(p->edge, close, now);
}

int cli_edge(int argc, char **argv)
{
    static const struct cli_daemon daemon = {.renew = renew, .step = step, .stop = stop, .stop_ms = EDGE_STOP_MS};
    struct process p = {0};
    int status;
    struct err e = {0};
    edge_flags_init(&p.o);
    if (!flags_parse(&edge_flags, argc, argv, &p.o, &status))
        return status;
    if (!cli_log(p.o.log_level, p.o.log_format, &e))
        return flags_wrong(&edge_flags, "%s", e.text);
    if (p.o.print && edge_print(&edge_flags, argc, argv, &p.o, &e))
        return STATUS_OK;
    if (p.o.print)
        return e.code == ERR_CONFIG ? flags_wrong(&edge_flags, "%s", e.text) : cli_fail(&e);
    signal(SIGPIPE, SIG_IGN);
    bool started = start(&p, &e);
    if (started)
        cli_daemon_run(&daemon, p.loop, &p);
    edge_free(p.edge);
    if (p.loop)
        loop_free(p.loop);
    kube_config_free(p.config);
    net_allow_free(p.allow);
    return cli_daemon_end(&edge_flags, started, &e);
}
