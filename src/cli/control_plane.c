/* mobula control-plane: the hub in the event loop. */
#include "cli.h"

#include <mobula/hub.h>

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

struct options {
    struct slice namespaces, kubeconfig, context, http, metrics, log_level, log_format, identity;
    bool all_namespaces;
};

#define AT(field) offsetof(struct options, field)
static const struct flag list[] = {
    {"namespace", FLAG_TEXT, AT(namespaces), "NS[,NS…]", "projects: namespaces whose objects are served (default: the context's)"},
    {"all-namespaces", FLAG_SWITCH, AT(all_namespaces), NULL, "every namespace is a project: needs a ClusterRole"},
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE",
     "how to reach the hub's own cluster (default: $KUBECONFIG, else in-cluster, else ~/.kube/config)"},
    {"context", FLAG_TEXT, AT(context), "NAME", "of the kubeconfig (default: its current-context)"},
    {"http-addr", FLAG_TEXT, AT(http), "HOST:PORT", "serves the API without TLS, on a loopback address only; empty: nowhere"},
    {"metrics-addr", FLAG_TEXT, AT(metrics), "[HOST]:PORT", "serves /metrics; empty: nowhere"},
    {"identity", FLAG_TEXT, AT(identity), "NAME", "of this replica in Cloud.status.session (default: the host's name)"},
    {"log-level", FLAG_TEXT, AT(log_level), "debug|info|warn|error", "what is logged"},
    {"log-format", FLAG_TEXT, AT(log_format), "logfmt|json", "how it is logged"},
};
static const struct flags flags = {
    .usage = "mobula control-plane [--namespace NS[,NS…]] [FLAG…]",
    .about = "Runs the control plane: people store Clouds, ComputeConfigs and Workloads in its cluster, and the operators of the clouds "
             "call it and get the workloads that are theirs (docs/api/openapi.yaml).",
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
};

/* Tokens do not go over a network in the clear. */
static bool check_http(struct slice address, struct err *e)
{
    return slice_empty(address) || slice_starts(address, SLICE("127.")) || slice_starts(address, SLICE("[::1]:")) ||
           slice_starts(address, SLICE("localhost:")) ||
           err_set(e, ERR_CONFIG,
                   "--http-addr: \"%.*s\" is no loopback address (127.0.0.1:PORT, [::1]:PORT), and tokens do not go over a "
                   "network in the clear",
                   SLICE_ARG(address));
}

static bool start(struct process *p, struct err *e)
{
    const struct options *o = &p->o;
    struct hub_options h = {.replica = o->identity};
    char host[256] = "mobula";
    struct rng rng;
    struct kube_config_options config = {o->kubeconfig.ptr, o->context.ptr, isatty(STDERR_FILENO)};
    p->allow = net_allow_new();
    p->config = check_http(o->http, e) ? kube_config_load(&config, e) : NULL;
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
    p->hub = hub_new(loop_net(p->loop), p->config, &h, e);
    if (!p->hub || !cli_listen(p->loop, o->http, hub_accept(p->hub), "http-addr", e) ||
        !cli_listen(p->loop, o->metrics, hub_metrics(p->hub), "metrics-addr", e))
        return false;
    log_info("started", LF_CSTR("version", MOBULA_VERSION), LF("server", p->config->host), LF_INT("port", p->config->port),
             LF("config", p->config->source), LF("replica", h.replica));
    return true;
}

static void renew(void *of, struct now now)
{
    hub_renew(of, now);
}

static int64_t step(void *of, struct now now)
{
    return hub_step(of, now);
}

static bool stop(void *of, struct now now)
{
    return hub_stop(of, now);
}

int cli_control_plane(int argc, char **argv)
{
    static const struct cli_daemon daemon = {.renew = renew, .step = step, .stop = stop, .stop_ms = HUB_STOP_MS};
    struct process p = {
        .o = {.http = SLICE("127.0.0.1:8480"), .metrics = SLICE(":8080"), .log_level = SLICE("info"), .log_format = SLICE("logfmt")}};
    int status;
    struct err e = {0};
    if (!flags_parse(&flags, argc, argv, &p.o, &status))
        return status;
    if (!cli_log(p.o.log_level, p.o.log_format, &e))
        return flags_wrong(&flags, "%s", e.text);
    signal(SIGPIPE, SIG_IGN);
    bool started = start(&p, &e);
    if (started)
        cli_daemon_run(&daemon, p.loop, p.hub);
    hub_free(p.hub);
    if (p.loop)
        loop_free(p.loop);
    kube_config_free(p.config);
    net_allow_free(p.allow);
    arena_free(&p.arena);
    return cli_daemon_end(&flags, started, &e);
}
