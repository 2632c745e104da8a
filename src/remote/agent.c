/* Reports of an agent: how the Ray of a pod is, to a control plane or to the operator. */
#include <mobula/remote.h>

enum { RETRY_MS = 1000 };

struct remote_agent {
    struct kube_client *client;
    struct remote_agent_options o;
    struct arena arena; /* of one event */
    struct rng rng;
    struct buf report;
    uint64_t hash, sent;     /* of the report, 0: there is none; of the last one that was accepted */
    int64_t next_ms, due_ms; /* no call earlier; then a report is due though nothing changed */
    char credential[1024];   /* empty: none */
    bool busy;
    unsigned failures; /* consecutive */
    struct log_limit log;
};

struct remote_agent *remote_agent_new(struct net *net, struct kube_config *config, const struct remote_agent_options *o)
{
    struct remote_agent *g = mem_alloc(sizeof *g);
    g->o = *o;
    rng_seed(&g->rng, o->seed);
    buf_init(&g->report, REMOTE_AGENT_REPORT_MAX);
    g->client = kube_client_new(net, config, rng_next(&g->rng), "mobula-agent/" MOBULA_VERSION);
    return g;
}

void remote_agent_free(struct remote_agent *g)
{
    if (!g)
        return;
    kube_client_free(g->client);
    arena_free(&g->arena);
    buf_free(&g->report);
    mem_wipe(g->credential, sizeof g->credential);
    mem_free(g);
}

void remote_agent_renew(struct remote_agent *g, struct now now)
{
    kube_client_renew(g->client, now);
}

void remote_agent_report(struct remote_agent *g, struct slice report)
{
    buf_clear(&g->report);
    buf_put(&g->report, report);
    g->hash = hash64(report, 0) | 1;
}

/* Without a credential, which the control plane gives for the token, nothing can be reported to it. */
static bool is_report(const struct remote_agent *g)
{
    return slice_empty(g->o.cloud) || g->credential[0];
}

static void call_failed(struct remote_agent *g, const char *why, int64_t least_ms, struct now now)
{
    int64_t wait_ms = backoff_ms(&g->rng, g->failures++, RETRY_MS, g->o.every_ms);
    g->next_ms = now.mono_ms + (wait_ms > least_ms ? wait_ms : least_ms);
    if (log_limit_pass(&g->log, now))
        log_warn("a call to the control plane failed: trying again", LF_CSTR("call", is_report(g) ? "report" : "bootstrap"),
                 LF_CSTR("error", why));
}

static void on_answer(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    struct remote_agent *g = owner;
    struct jval doc;
    bool report = tag != 0;
    g->busy = false;
    arena_reset(&g->arena, REMOTE_AGENT_REPORT_MAX);
    if (a->outcome == KUBE_OK && report) {
        g->failures = 0;
        g->sent = tag;
        g->next_ms = now.mono_ms + REMOTE_AGENT_LEAST_MS;
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

static void send_call(struct remote_agent *g, struct now now)
{
    struct err e = {0};
    struct slice token = slice_of(g->credential), body = buf_slice(&g->report);
    bool report = is_report(g);
    arena_reset(&g->arena, REMOTE_AGENT_REPORT_MAX);
    if (!report)
        body = arena_printf(&g->arena, "{\"cloud\":\"%.*s\"}", SLICE_ARG(g->o.cloud));
    if ((slice_empty(g->o.cloud) || !report) && !g->o.read(g->o.token_file, &g->arena, &token, &e)) {
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

int64_t remote_agent_tick(struct remote_agent *g, struct now now)
{
    int64_t next = kube_client_tick(g->client, now);
    int64_t at = g->hash == g->sent && g->due_ms > g->next_ms ? g->due_ms : g->next_ms;
    if (g->busy || !g->hash)
        return next;
    if (now.mono_ms < at)
        return earlier(at, next);
    send_call(g, now);
    return now.mono_ms;
}
