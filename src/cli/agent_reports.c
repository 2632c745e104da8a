#include "agent.h"

#include <stdlib.h>

enum { POLL_MS = 5 * 1000 };

static const char *ray_token(void)
{
    const char *token = getenv("RAY_AUTH_TOKEN");
    return token ? token : "";
}

static void on_state(void *owner, const struct ray_gcs_answer *answer, struct now now)
{
    static const char *const health[] = {"HEALTHY", "UNHEALTHY"};
    struct agent *g = owner;
    __attribute__((cleanup(buf_free))) struct buf report = {.max = REMOTE_AGENT_REPORT_MAX};
    struct jout w;
    (void)now;
    if (answer->call != RAY_GCS_STATE)
        return;
    jout_init(&w, &report);
    jout_form(&w, "{ray:{health:'%s',version?:'%s',dashboard?:'%s',message:'%s'", health[!answer->state], g->version,
              g->dash_known ? health[g->dash_why.code != ERR_NONE] : "", answer->state ? g->dash_why.text : answer->err.text);
    if (answer->state)
        ray_state_report(answer->state, &w);
    jout_end(&w);
    jout_end(&w);
    remote_agent_report(g->calls, buf_slice(&report));
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

bool agent_reports_open(struct agent *g, struct err *e)
{
    const struct agent_options *o = &g->o;
    struct slice host;
    uint16_t port;
    bool direct = slice_empty(o->operator_url);
    if ((direct && !cli_cloud_id(o->cloud, e)) || !net_place(o->gcs, &host, &port) || !net_is_ip(host) ||
        !net_place(o->dashboard, &g->dash.host, &g->dash.port) || !net_is_ip(g->dash.host) || o->every_ms < REMOTE_AGENT_LEAST_MS)
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
    const struct remote_agent_options calls = {.cloud = direct ? o->cloud : SLICE_NONE,
                                               .token_file = o->token_file,
                                               .every_ms = o->every_ms,
                                               .seed = rng_next(&g->rng),
                                               .read = cli_read_file};
    g->calls = remote_agent_new(loop_net(g->loop), g->config, &calls);
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
    int64_t next = earlier(ray_gcs_pool_tick(g->pool, now), ask_dashboard(g, now));
    return earlier(next, remote_agent_tick(g->calls, now));
}
