#include "client.h"
#include "config.h"

#include <stdio.h>

/* ---- credentials ---- */

static void close_idle(struct kube_client *c)
{
    for (size_t i = 0; i < KUBE_LANES; i++)
        lane_close_idle(c, (enum kube_lane)i);
}

static void client_reload(struct kube_client *c, struct now now, bool at_once)
{
    bool changed;
    struct err e = {0};
    if (!kube_config_reload(c->config, now, at_once, &changed, &e) && log_limit_pass(&c->reload_log, now))
        log_warn("credentials cannot be read again: the old ones stay", LF("config", c->config->source), LF_CSTR("error", e.text));
    if (!changed)
        return;
    log_info("certificates have changed: connections are opened again", LF("config", c->config->source));
    c->generation++;
    close_idle(c);
}

void client_renew(struct kube_client *c, int64_t apart_ms, struct now now)
{
    if (c->reloaded_ms != 0 && now.mono_ms < c->reloaded_ms + apart_ms)
        return;
    c->reloaded_ms = now.mono_ms;
    client_reload(c, now, true);
}

void kube_client_renew(struct kube_client *c, struct now now)
{
    c->reload_log = (struct log_limit){0}; /* a reload on request is logged, whatever was logged before */
    client_reload(c, now, true);
}

void client_lost(struct kube_client *c, const struct exchange *x, const struct err *why)
{
    bool opened = x->sent > 0 || x->answers > 0; /* one that could not be opened tells nothing of those that stand */
    if (why->code == ERR_TIMEOUT && opened)
        close_idle(c);
}

bool client_open(struct kube_client *c, struct exchange *x, int64_t deadline_ms, struct err *e)
{
    struct endpoint to;
    kube_config_endpoint(c->config, &to);
    return exchange_open(x, c->net, &to, deadline_ms, e);
}

/* ---- window of requests in flight ---- */

static void show_window(struct kube_client *c)
{
    c->stats.window = c->window.size;
    c->stats.pressure = c->window.pressure;
    c->stats.waiting = window_waiting(&c->window);
}

/* ---- proxies between us and the server ---- */

void client_trouble(struct kube_client *c, const struct err *why, struct now now)
{
    c->stats.trouble = *why;
    if (why->code == ERR_TLS_TRUST)
        client_renew(c, CLIENT_RENEW_MS, now); /* the server's CA may have been replaced, and ours with it */
    if (!log_limit_pass(&c->trouble_log, now))
        return;
    c->trouble_said = true;
    char what[64];
    snprintf(what, sizeof what, "the %s cannot be used", c->config->name);
    log_warn(what, LF("server", c->config->host), LF_INT("port", c->config->port), LF_CSTR("step", err_code_name(why->code)),
             LF_CSTR("error", why->text), LF("config", c->config->source));
}

void client_well(struct kube_client *c, struct now now)
{
    char what[64];
    snprintf(what, sizeof what, "the %s answers again", c->config->name);
    if (c->trouble_said)
        log_info(what, LF("server", c->config->host));
    c->trouble_said = false;
    c->stats.trouble = (struct err){0};
    c->stats.last_ok_ms = now.mono_ms;
}

/* That a call was not answered does not last until the next one, which may be minutes away. But a watch that stands needs neither a new
 * connection nor credentials: it says nothing of those. */
void client_goes_on(struct kube_client *c, struct now now)
{
    if (c->stats.trouble.code == ERR_TIMEOUT || c->stats.trouble.code == ERR_CLOSED)
        client_well(c, now);
}

void client_denied(struct kube_client *c, const struct kube_status *status, struct now now)
{
    struct err e = {0};
    err_set(&e, ERR_STATUS, "401 Unauthorized: the %s does not accept the credentials of %.*s (%s)", c->config->name,
            SLICE_ARG(c->config->source), status->message);
    client_trouble(c, &e, now);
}

void client_window(struct kube_client *c, enum kube_lane lane, const struct window_answer *a, struct now now)
{
    uint32_t before = c->window.size;
    if (lane != KUBE_LANE_MAIN)
        return;
    bool shrank = window_answered(&c->window, a, now.mono_ms);
    show_window(c);
    if (shrank && before != c->window.size)
        log_debug(a->throttled ? "the API server asks for fewer requests: half as many at a time"
                               : "answers of the API server take longer: fewer requests at a time",
                  LF_INT("window", c->window.size), LF_INT("before", before), LF_INT("pressure_thousandths", c->window.pressure),
                  LF_INT("waiting", c->stats.waiting));
}

static void log_warning(struct kube_client *c, struct slice text)
{
    uint64_t hash = hash64(text, 0);
    uint32_t kept = c->warning_count < WARNINGS_KEPT ? c->warning_count : WARNINGS_KEPT;
    for (uint32_t i = 0; i < kept; i++)
        if (c->warnings[i] == hash)
            return;
    c->warnings[c->warning_count++ % WARNINGS_KEPT] = hash;
    log_warn("the API server warns", LF("warning", text));
}

void client_warnings(struct kube_client *c, const struct http_reader *r)
{
    struct http_warnings it = {.reader = r};
    struct buf text;
    buf_init(&text, LIMIT_HTTP_HEAD);
    while (http_warning_next(&it, &text))
        log_warning(c, buf_slice(&text));
    buf_free(&text);
}

void client_gather_warnings(const struct http_reader *r, struct buf *out)
{
    struct http_warnings it = {.reader = r};
    struct buf text;
    char line[LIMIT_KUBE_WARNING + 1];
    buf_init(&text, LIMIT_HTTP_HEAD);
    for (int n = 0; n < LIMIT_KUBE_WARNINGS && http_warning_next(&it, &text); n++) {
        buf_put(out, utf8_clean(buf_slice(&text), line, sizeof line));
        buf_putc(out, '\n');
    }
    buf_free(&text);
}

/* ---- the client ---- */

struct kube_client *kube_client_new(struct net *net, struct kube_config *config, uint64_t seed, const char *user_agent)
{
    struct kube_client *c = mem_alloc(sizeof *c);
    c->net = net;
    c->config = config;
    c->user_agent = user_agent;
    window_init(&c->window);
    show_window(c);
    c->backoff_max_ms = KUBE_BACKOFF_MAX_MS;
    for (size_t i = 0; i < KUBE_LANES; i++)
        c->lanes[i].queue_deadline_ms = c->lanes[i].busy_deadline_ms = TIME_NEVER;
    rng_seed(&c->rng, seed);
    return c;
}

void kube_client_free(struct kube_client *c)
{
    if (!c)
        return;
    watches_free(c);
    for (size_t i = 0; i < KUBE_LANES; i++)
        lane_free(c, (enum kube_lane)i);
    conns_reap(c);
    mem_free(c);
}

uint32_t kube_client_room(const struct kube_client *c)
{
    const struct lane *lane = &c->lanes[KUBE_LANE_MAIN];
    uint32_t used = lane->in_flight + lane->queued, limit = lane_limit(c, KUBE_LANE_MAIN);
    return used < limit ? limit - used : 0;
}

int64_t kube_client_tick(struct kube_client *c, struct now now)
{
    c->news = false;
    conns_reap(c);
    client_reload(c, now, false);
    if (c->lanes[KUBE_LANE_MAIN].in_flight == 0) {
        window_rest(&c->window, now.mono_ms);
        show_window(c);
    }
    for (size_t i = 0; i < KUBE_LANES; i++)
        lane_tick(c, (enum kube_lane)i, now);
    int64_t next = watches_tick(c, now), reload = c->config->private_->reload_ms;
    next = reload < next ? reload : next;
    for (size_t i = 0; i < KUBE_LANES; i++) { /* only now: watches may have made calls */
        int64_t lane = lane_next(c, (enum kube_lane)i, now);
        next = lane < next ? lane : next;
    }
    return c->news ? now.mono_ms : next;
}

const struct kube_client_stats *kube_client_stats(const struct kube_client *c)
{
    return &c->stats;
}

void kube_client_backoff(struct kube_client *c, int64_t most_ms)
{
    c->backoff_max_ms = most_ms;
}

void kube_client_keep_warm(struct kube_client *c)
{
    c->warm = true;
}
