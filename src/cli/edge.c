/* mobula edge: the reverse proxy in the event loop. */
#include "edge.h"
#include "cli.h"

#include <mobula/command.h>
#include <mobula/edge.h>
#include <mobula/schema.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#define AT(field) offsetof(struct edge_command, field)
static const struct flag list[] = {
    {"config", FLAG_TEXT, AT(config), "FILE"},
    {"services", FLAG_TEXTS, AT(services), "DIR"},
    {"upstream", FLAG_TEXT, AT(upstream), "HOST:PORT"},
    {"auth", FLAG_TEXT, AT(auth), "users|token|none"},
    {"cluster", FLAG_TEXT, AT(cluster), "NAME"},
    {"token-file", FLAG_TEXT, AT(token), "FILE"},
    {"namespace", FLAG_TEXT, AT(ns), "NS"},
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
    {"http-addr", FLAG_TEXT, AT(http), "[HOST]:PORT"},
    {"https-addr", FLAG_TEXT, AT(https), "[HOST]:PORT"},
    {"tls-cert", FLAG_TEXT, AT(cert), "FILE"},
    {"tls-key", FLAG_TEXT, AT(key), "FILE"},
    {"metrics-addr", FLAG_TEXT, AT(metrics), "[HOST]:PORT"},
    {"behind-proxy", FLAG_SWITCH, AT(behind_proxy), NULL},
    {"connections", FLAG_INT, AT(connections), "N"},
    {"body-max", FLAG_TEXT, AT(body_max), "BYTES"},
    {"answer-timeout", FLAG_DURATION, AT(answer_ms), "TIME"},
    {"drain", FLAG_DURATION, AT(drain_ms), "TIME"},
    {"print", FLAG_SWITCH, AT(print), NULL},
    POD_FLAGS(AT(pod)),
    {"values", FLAG_TEXT, AT(values), "FILE"},
    TLS_FLAG,
    SANDBOX_FLAG(AT(sandbox)),
    {"log-level", FLAG_TEXT, AT(log_level), "debug|info|warn|error"},
    {"log-format", FLAG_TEXT, AT(log_format), "logfmt|json"},
};
#undef AT
static const struct flags flags = {
    .usage = "mobula edge --config FILE | --upstream HOST:PORT --auth users|token|none [FLAG…]",
    .list = list,
    .count = COUNT_OF(list),
};

struct process {
    struct edge_command o;
    struct arena arena;
    struct net_allow *allow;
    struct loop *loop;
    struct kube_config *config;
    struct edge *edge;
    uint64_t configured;        /* hash of the file of routes */
    int64_t reload_ms, stop_ms; /* stop_ms: when SIGTERM had come; 0: it has not */
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

/* ---- files ---- */

/* The routes: of the file, or of the flags that stand for one, and of services. */
static bool configure(struct process *p, struct err *e)
{
    const struct edge_command *o = &p->o;
    struct arena a = {0};
    struct edge_text *texts = arena_array(&a, LIMIT_CLI_FILES + 1, sizeof *texts);
    struct manifest_files files;
    struct err none = {0}; /* the folder is empty until the first service comes */
    struct slice text = SLICE_NONE;
    struct buf b = {.max = LIMIT_EDGE_CONFIG};
    struct jout w;
    bool well = true;
    if (slice_empty(o->config)) {
        jout_init(&w, &b);
        jout_form(&w, "{routes:[{upstream:'%.*s',auth?:'%.*s',cluster?:'%.*s',tokenFile?:'%.*s'}]}", SLICE_ARG(o->upstream),
                  SLICE_ARG(o->auth), SLICE_ARG(o->cluster), SLICE_ARG(o->token));
        text = buf_slice(&b);
    } else {
        well = read_file(o->config, &a, &text, e);
    }
    texts[0] = (struct edge_text){text, slice_empty(o->config) ? "--upstream" : o->config.ptr};
    manifest_files(&o->services, &a, &files, &none);
    for (uint32_t i = 0; well && i < files.count; i++) {
        texts[i + 1].file = files.list[i].ptr;
        well = read_file(files.list[i], &a, &texts[i + 1].text, e);
    }
    uint64_t hash = 0;
    for (uint32_t i = 0; i <= files.count; i++)
        hash = hash64(texts[i].text, hash64(slice_of(texts[i].file), hash));
    if (well && hash != p->configured) {
        well = edge_configure(p->edge, texts, files.count + 1, e);
        if (well && p->configured)
            log_info("the routes have changed");
        p->configured = well ? hash : p->configured;
    }
    buf_free(&b);
    arena_free(&a);
    return well;
}

static bool certify(struct process *p, struct err *e)
{
    struct arena a = {0};
    struct slice cert, key;
    if (slice_empty(p->o.cert))
        return true;
    bool well = read_file(p->o.cert, &a, &cert, e) && read_file(p->o.key, &a, &key, e) && edge_certify(p->edge, cert, key, e);
    arena_wipe(&a);
    return well;
}

static void reload(struct process *p, struct now now)
{
    static struct log_memory said;
    struct err e = {0};
    if (!configure(p, &e) && log_memory_pass(&said, hash64(slice_of(e.text), 0), now))
        log_warn("the new routes cannot be used: those before stay", LF_CSTR("error", e.text));
    e = (struct err){0};
    if (!certify(p, &e) && log_memory_pass(&said, hash64(slice_of(e.text), 0), now))
        log_warn("the new certificate cannot be used: the one before stays", LF_CSTR("error", e.text));
    edge_reload(p->edge);
    p->reload_ms = now.mono_ms + EDGE_RELOAD_MS;
}

/* ---- life ---- */

static bool check_flags(const struct edge_command *o, struct err *e)
{
    if (slice_empty(o->config) == slice_empty(o->upstream))
        return err_set(e, ERR_CONFIG, "--config or --upstream is needed, and not both");
    if (slice_empty(o->cert) != slice_empty(o->key) || slice_empty(o->https) != slice_empty(o->cert))
        return err_set(e, ERR_CONFIG, "--https-addr, --tls-cert and --tls-key belong together");
    if (o->connections < 1 || o->connections > LIMIT_EDGE_CONNECTIONS)
        return err_set(e, ERR_CONFIG, "--connections: want 1 to %d (LIMIT_EDGE_CONNECTIONS)", LIMIT_EDGE_CONNECTIONS);
    return true;
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
    if (!check_flags(o, e) || !load_kubeconfig(p, e))
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
    if (!configure(p, e) || !certify(p, e) || !cli_listen(p->loop, o->http, edge_accept(p->edge), "http-addr", e) ||
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
    reload(p, now);
}

static int64_t step(void *of, struct now now)
{
    struct process *p = of;
    if (now.mono_ms >= p->reload_ms)
        reload(p, now);
    int64_t next = edge_step(p->edge, now);
    next = earlier(next, p->reload_ms);
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
    struct process p = {.o = {.http = SLICE(":8000"),
                              .metrics = SLICE(":8080"),
                              .body_max = SLICE("1Gi"),
                              .connections = EDGE_CONNECTIONS,
                              .answer_ms = EDGE_ANSWER_MS,
                              .drain_ms = EDGE_DRAIN_MS,
                              .pod = install_defaults,
                              .sandbox = SLICE("auto"),
                              .log_level = SLICE("info"),
                              .log_format = SLICE("logfmt")}};
    int status;
    struct err e = {0};
    if (!flags_parse(&flags, argc, argv, &p.o, &status))
        return status;
    if (!cli_log(p.o.log_level, p.o.log_format, &e))
        return flags_wrong(&flags, "%s", e.text);
    if (p.o.print && edge_print(&flags, argc, argv, &p.o, &e))
        return STATUS_OK;
    if (p.o.print)
        return e.code == ERR_CONFIG ? flags_wrong(&flags, "%s", e.text) : cli_fail(&e);
    signal(SIGPIPE, SIG_IGN);
    bool started = start(&p, &e);
    if (started)
        cli_daemon_run(&daemon, p.loop, &p);
    edge_free(p.edge);
    if (p.loop)
        loop_free(p.loop);
    kube_config_free(p.config);
    net_allow_free(p.allow);
    arena_free(&p.arena);
    return cli_daemon_end(&flags, started, &e);
}
