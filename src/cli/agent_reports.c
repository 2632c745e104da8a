#include "agent.h"

#include <stdlib.h>

enum { POLL_MS = 5 * 1000, RETRY_MS = 1000 };

static const char *ray_token(void)
{
    const char *token = getenv("RAY_AUTH_TOKEN");
    return token ? token : "";
}

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

/* The next report of Ray's state has what the dashboard has answered. */
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
    arena_reset(&g->arena, AGENT_REPORT_MAX);
    if (a->outcome == KUBE_OK && report) {
        g->failures = 0;
        g->sent = tag;
        g->next_ms = now.mono_ms + AGENT_REPORT_LEAST_MS;
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
    arena_reset(&g->arena, AGENT_REPORT_MAX);
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

bool agent_reports_open(struct agent *g, struct err *e)
{
    const struct agent_options *o = &g->o;
    struct slice host;
    uint16_t port;
    bool direct = slice_empty(o->operator_url);
    if ((direct && !cli_cloud_id(o->cloud, e)) || !net_place(o->gcs, &host, &port) || !net_is_ip(host) ||
        !net_place(o->dashboard, &g->dash.host, &g->dash.port) || !net_is_ip(g->dash.host) || o->every_ms < AGENT_REPORT_LEAST_MS)
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
    g->gcs = ray_gcs_tls(&gcs, cli_read_file, e) ? ray_gcs_open(g->pool, &gcs, e) : NULL;
    if (g->gcs)
        ray_gcs_poll(g->gcs, POLL_MS, clock_now());
    return g->gcs != NULL;
}

int64_t agent_reports_step(struct agent *g, struct now now)
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
