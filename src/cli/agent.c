/* mobula agent: runs beside Ray in its pods. In a head it reports to the control plane how Ray is: it exchanges the pod's projected token
 * for a credential that is valid for some minutes, and sends what the head's GCS says when that changes, and every --every; or it sends
 * that to the operator, with the token itself. With --bucket it stores Ray's log files in a bucket (ship.h). */
#include "cli.h"
#include "wait_gcs.h"

#include <mobula/command.h>
#include <mobula/heads.h>
#include <mobula/ship.h>
#include <mobula/storage.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { POLL_MS = 5 * 1000, RETRY_MS = 1000, LEAST_MS = 6 * 1000, STOP_MS = 500, TEXT_MAX = 16 * KIB };

struct options {
    struct slice url, operator_url, ca, cloud, token_file, gcs, dashboard, sandbox;
    int64_t every_ms;
    struct slice bucket, logs, logs_name;
    int64_t flush_ms;
    struct storage_options storage;
};

#define AT(field) offsetof(struct options, field)
static const struct flag list[] = {
    {"control-plane-url", FLAG_TEXT, AT(url), "URL"},
    {"control-plane-ca-file", FLAG_TEXT, AT(ca), "FILE"},
    {"cloud-deployment-id", FLAG_TEXT, AT(cloud), "ID"},
    {"operator-url", FLAG_TEXT, AT(operator_url), "URL"},
    {"token-file", FLAG_TEXT, AT(token_file), "FILE"},
    {"gcs-addr", FLAG_TEXT, AT(gcs), "IP:PORT"},
    {"dashboard-addr", FLAG_TEXT, AT(dashboard), "IP:PORT"},
    {"every", FLAG_DURATION, AT(every_ms), "TIME"},
    {"bucket", FLAG_TEXT, AT(bucket), "URL"},
    {"logs-name", FLAG_TEXT, AT(logs_name), "NAMESPACE/CLUSTER/NODE"},
    {"logs-dir", FLAG_TEXT, AT(logs), "DIR"},
    {"logs-every", FLAG_DURATION, AT(flush_ms), "TIME"},
    STORAGE_FLAGS(AT(storage)),
    TLS_FLAG,
    SANDBOX_FLAG(AT(sandbox)),
};
#undef AT
static const struct flags flags = {
    .usage = "mobula agent --operator-url=URL | --control-plane-url=URL --cloud-deployment-id=ID | --bucket=URL --logs-name=NAME [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

struct agent {
    struct options o;
    struct net_allow *allow;
    struct loop *loop;
    struct kube_config *config;
    struct kube_client *client;
    struct ray_gcs_pool *pool;
    struct ray_gcs *gcs;
    struct ray_dash_pool *dash_pool;
    struct ray_dash_to dash;
    int64_t dash_ms; /* the dashboard is asked then; TIME_NEVER: its answer is awaited */
    bool dash_known; /* it has answered, or failed to; why: the latter */
    struct err dash_why;
    char version[64];   /* of Ray, as the dashboard has said it */
    struct arena arena; /* of one event */
    struct rng rng;
    struct buf report;
    uint64_t hash, sent;     /* of the report; of the last one that the control plane accepted */
    int64_t next_ms, due_ms; /* no call earlier; then a report is due though nothing changed */
    char credential[1024];   /* empty: none */
    bool busy;
    unsigned failures;
    struct log_limit log;
    bool reports; /* of Ray's state are sent */
    struct storage storage;
    struct ship *ship; /* NULL: no logs are shipped (yet) */
    struct cloud_place bucket;
    int64_t ship_ms; /* the settings of the bucket are read again then, while they cannot be used */
};

static const char *ray_token(void)
{
    const char *token = getenv("RAY_AUTH_TOKEN");
    return token ? token : "";
}

/* ---- answers of Ray ---- */

static void on_state(void *owner, const struct ray_gcs_answer *answer, struct now now)
{
    static const char *const health[] = {"HEALTHY", "UNHEALTHY"};
    struct agent *g = owner;
    struct jout w;
    (void)now;
    if (answer->call != RAY_GCS_STATE)
        return;
    buf_clear(&g->report);
    jout_init(&w, &g->report);
    jout_form(&w, "{ray:{health:'%s',version?:'%s',dashboard?:'%s',message:'%s'", health[!answer->state], g->version,
              g->dash_known ? health[g->dash_why.code != ERR_NONE] : "", answer->state ? g->dash_why.text : answer->err.text);
    if (answer->state)
        ray_state_report(answer->state, &w);
    jout_end(&w);
    jout_end(&w);
    g->hash = hash64(buf_slice(&g->report), 0) | 1;
}

/* Told with the next state. */
static void on_dashboard(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now)
{
    struct agent *g = owner;
    (void)tag;
    g->dash_known = true;
    g->dash_why = answer->err;
    if (answer->outcome == RAY_DASH_OK)
        slice_copy(slice_head(answer->ray_version, sizeof g->version - 1), g->version, sizeof g->version);
    g->dash_ms = now.mono_ms + POLL_MS;
}

static int64_t ask_dashboard(struct agent *g, struct now now)
{
    const struct ray_dash_request r = {.call = RAY_DASH_VERSION, .token = slice_of(ray_token())};
    if (now.mono_ms >= g->dash_ms)
        g->dash_ms = ray_dash_ask(g->dash_pool, &g->dash, &r, &g->dash_why) ? TIME_NEVER : now.mono_ms + POLL_MS;
    int64_t next = ray_dash_pool_tick(g->dash_pool, now);
    return next < g->dash_ms ? next : g->dash_ms;
}

/* ---- calls to the control plane ---- */

static void call_failed(struct agent *g, const char *why, int64_t least_ms, struct now now)
{
    int64_t wait_ms = backoff_ms(&g->rng, g->failures++, RETRY_MS, g->o.every_ms);
    g->next_ms = now.mono_ms + (wait_ms > least_ms ? wait_ms : least_ms);
    if (log_limit_pass(&g->log, now))
        log_warn("a call to the control plane failed: trying again",
                 LF_CSTR("call", slice_empty(g->o.operator_url) && !g->credential[0] ? "bootstrap" : "report"), LF_CSTR("error", why));
}

static void on_answer(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct agent *g = owner;
    struct jval doc;
    bool report = tag != 0;
    g->busy = false;
    arena_reset(&g->arena, TEXT_MAX);
    if (a->outcome == KUBE_OK && report) {
        g->failures = 0;
        g->sent = tag;
        g->next_ms = now.mono_ms + LEAST_MS;
        g->due_ms = now.mono_ms + g->o.every_ms;
    } else if (a->outcome == KUBE_OK && json_read(&doc, a->body, &g->arena, NULL) &&
               slice_copy(json_get_str(doc, "credential", &g->arena), g->credential, sizeof g->credential) && g->credential[0]) {
        g->next_ms = now.mono_ms;
    } else {
        bool refused = a->outcome == KUBE_REFUSED;
        call_failed(g, refused ? a->status.message : a->err.text, a->status.retry_after_ms, now);
        if (refused && a->status.code == 401)
            g->credential[0] = '\0';
    }
}

static void send_call(struct agent *g, struct now now)
{
    struct err e = {0};
    struct slice token = slice_of(g->credential), body = buf_slice(&g->report);
    bool direct = slice_empty(g->o.operator_url), report = !direct || g->credential[0];
    arena_reset(&g->arena, TEXT_MAX);
    if (!report)
        body = arena_printf(&g->arena, "{\"cloud\":\"%.*s\"}", SLICE_ARG(g->o.cloud));
    if ((!direct || !report) && !cli_read_file(g->o.token_file, &g->arena, &token, &e)) {
        call_failed(g, e.text, 0, now);
        return;
    }
    token = slice_trim(token);
    const struct kube_request r = {.lane = KUBE_LANE_MAIN,
                                   .method = SLICE("POST"),
                                   .path = report ? SLICE("/v1/report") : SLICE("/v1/bootstrap"),
                                   .content_type = SLICE(KUBE_TYPE_JSON),
                                   .body = body,
                                   .header = {SLICE("Authorization"), arena_printf(&g->arena, "Bearer %.*s", SLICE_ARG(token))},
                                   .again = true,
                                   .at_once = true,
                                   .secret = true,
                                   .timeout_ms = REMOTE_CALL_MS,
                                   .done = on_answer,
                                   .owner = g,
                                   .tag = report ? g->hash : 0};
    g->busy = kube_call(g->client, &r, now, &e);
    if (!g->busy)
        call_failed(g, e.text, 0, now);
}

/* ---- the process ---- */

static int64_t step_reports(struct agent *g, struct now now)
{
    int64_t calls = kube_client_tick(g->client, now), states = ray_gcs_pool_tick(g->pool, now);
    int64_t next = calls < states ? calls : states, dash = ask_dashboard(g, now);
    next = next < dash ? next : dash;
    bool told = g->hash == g->sent;
    int64_t at = told && g->due_ms > g->next_ms ? g->due_ms : g->next_ms;
    if (g->busy || !g->hash)
        return next;
    if (now.mono_ms < at)
        return at < next ? at : next;
    send_call(g, now);
    return now.mono_ms;
}

static bool open_logs(struct agent *g, struct err *e)
{
    const struct options *o = &g->o;
    struct ship_options to = {.root = o->logs, .flush_ms = o->flush_ms};
    if (g->storage.from.owner)
        storage_close(&g->storage);
    if (!storage_prepare(&g->storage, &o->storage, &g->bucket, g->allow, e))
        return false;
    to.protocol = g->storage.with.protocol;
    to.prefix = arena_printf(&g->storage.a, "%.*s%.*s/", SLICE_ARG(storage_logs(g->bucket.key, &g->storage.a)), SLICE_ARG(o->logs_name));
    g->storage.store = cloud_store_new(loop_net(g->loop), &g->storage.with);
    g->ship = ship_new(g->storage.store, &to);
    return true;
}

/* A Secret or an identity that is missing must not end this container: Ray's pod would not get ready. */
static int64_t step_logs(struct agent *g, struct now now)
{
    struct err e = {0};
    if (!g->ship && now.mono_ms >= g->ship_ms && !open_logs(g, &e)) {
        g->ship_ms = now.mono_ms + SHIP_RETRY_MAX_MS;
        log_warn("logs are not stored: the settings of the bucket cannot be used, and are read again in a minute",
                 LF_CSTR("error", e.text));
    }
    return g->ship ? ship_step(g->ship, now) : g->ship_ms;
}

static int64_t step(void *of, struct now now)
{
    struct agent *g = of;
    int64_t reports = g->reports ? step_reports(g, now) : TIME_NEVER;
    return earlier(reports, slice_empty(g->o.bucket) ? TIME_NEVER : step_logs(g, now));
}

static void renew(void *of, struct now now)
{
    struct agent *g = of;
    if (g->client)
        kube_client_renew(g->client, now);
}

static bool stop(void *of, struct now now)
{
    struct agent *g = of;
    return !g->ship || ship_stop(g->ship, now);
}

/* ---- the start ---- */

static bool open_reports(struct agent *g, struct err *e)
{
    const struct options *o = &g->o;
    struct slice host;
    uint16_t port;
    bool direct = slice_empty(o->operator_url);
    if ((direct && !cli_cloud_id(o->cloud, e)) || !net_place(o->gcs, &host, &port) || !net_is_ip(host) ||
        !net_place(o->dashboard, &g->dash.host, &g->dash.port) || !net_is_ip(g->dash.host) || o->every_ms < LEAST_MS)
        return err_set(e, ERR_CONFIG, "--gcs-addr and --dashboard-addr are IP:PORT, --every 6s or more");
    g->dash.done = on_dashboard;
    g->dash.owner = g;
    const struct kube_config_url to = {.url = direct ? o->url.ptr : o->operator_url.ptr,
                                       .setting = direct ? "--control-plane-url" : "--operator-url",
                                       .name = direct ? "control plane" : "operator",
                                       .clear = !direct,
                                       .ca_file = slice_empty(o->ca) ? NULL : o->ca.ptr};
    g->config = kube_config_url(&to, e);
    if (!g->config || !kube_config_allow(g->config, g->allow, e) || !net_allow_add(g->allow, host, port, "--gcs-addr", e) ||
        !net_allow_add(g->allow, g->dash.host, g->dash.port, "--dashboard-addr", e))
        return false;
    g->client = kube_client_new(loop_net(g->loop), g->config, rng_next(&g->rng), "mobula-agent/" MOBULA_VERSION);
    g->pool = ray_gcs_pool_new(loop_net(g->loop), rng_next(&g->rng));
    g->dash_pool = ray_dash_pool_new(loop_net(g->loop));
    struct ray_gcs_options gcs = {.host = host, .port = port, .token = slice_of(ray_token()), .done = on_state, .owner = g};
    g->gcs = gcs_tls(&gcs, e) ? ray_gcs_open(g->pool, &gcs, e) : NULL;
    if (g->gcs)
        ray_gcs_poll(g->gcs, POLL_MS, clock_now());
    return g->gcs != NULL;
}

static bool start(struct agent *g, struct err *e)
{
    const struct options *o = &g->o;
    const char *sandbox;
    g->reports = !slice_empty(o->url) || !slice_empty(o->operator_url);
    bool both = !slice_empty(o->url) && !slice_empty(o->operator_url), logs = !slice_empty(o->bucket);
    if (both || (!g->reports && !logs))
        return err_set(e, ERR_CONFIG, "--operator-url, or --control-plane-url and --cloud-deployment-id, or --bucket is needed");
    if (logs && !cloud_place(o->bucket, &g->bucket, e))
        return err_wrap(e, "--bucket");
    if (logs && !cloud_key(o->logs_name, e))
        return err_wrap(e, "--logs-name");
    g->allow = net_allow_new();
    g->loop = loop_new(g->allow, e);
    if (!g->loop || (g->reports && !open_reports(g, e)) || !sandbox_enter(o->sandbox, false, &sandbox, e))
        return false;
    log_info("started", LF_CSTR("version", MOBULA_VERSION), LF_CSTR("sandbox", sandbox), LF("bucket", o->bucket));
    return true;
}

static void release(struct agent *g)
{
    ship_free(g->ship);
    if (g->storage.from.owner)
        storage_close(&g->storage);
    if (g->pool)
        ray_gcs_pool_free(g->pool);
    if (g->dash_pool)
        ray_dash_pool_free(g->dash_pool);
    kube_client_free(g->client);
    if (g->loop)
        loop_free(g->loop);
    kube_config_free(g->config);
    net_allow_free(g->allow);
    arena_free(&g->arena);
    buf_free(&g->report);
    mem_wipe(g->credential, sizeof g->credential);
}

int cli_agent(int argc, char **argv)
{
    struct cli_daemon daemon = {.renew = renew, .step = step, .stop = stop, .stop_ms = STOP_MS};
    struct agent g = {.o = {.token_file = SLICE("/var/run/mobula/token"),
                            .gcs = SLICE("127.0.0.1:6379"),
                            .dashboard = SLICE("127.0.0.1:8265"),
                            .sandbox = SLICE("auto"),
                            .every_ms = 30 * 1000,
                            .logs = SLICE("/tmp/ray"),
                            .flush_ms = 60 * 1000}};
    int status;
    struct err e = {0};
    if (!flags_parse(&flags, argc, argv, &g.o, &status))
        return status;
    signal(SIGPIPE, SIG_IGN);
    rng_seed_system(&g.rng);
    buf_init(&g.report, TEXT_MAX);
    bool started = start(&g, &e);
    daemon.stop_ms = slice_empty(g.o.bucket) ? STOP_MS : SHIP_END_MS;
    if (started)
        cli_daemon_run(&daemon, g.loop, &g);
    release(&g);
    return cli_daemon_end(&flags, started, &e);
}
