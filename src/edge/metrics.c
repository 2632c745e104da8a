/* Prometheus text, and whether the edge is ready. */
#include "private.h"

#include <stdio.h>

enum { FIGURES_MAX = 64 * KIB };

static void put(struct buf *b, const char *name, const char *type, const char *help, uint64_t value)
{
    buf_printf(b, "# HELP mobula_edge_%s %s\n# TYPE mobula_edge_%s %s\nmobula_edge_%s %llu\n", name, help, name, type, name,
               (unsigned long long)value);
}

static void put_labelled(struct buf *b, const char *name, const char *label, const char *value, uint64_t count)
{
    buf_printf(b, "mobula_edge_%s{%s=\"%s\"} %llu\n", name, label, value, (unsigned long long)count);
}

void edge_figures_write(const struct edge *g, struct buf *b)
{
    static const char *const failures[] = {"connect", "closed", "timeout", "answer"};
    char code[8];
    put(b, "connections", "gauge", "Connections of clients.", g->front_count);
    put(b, "requests_open", "gauge", "Requests under way, tunnels among them.", g->busy);
    put(b, "upstream_connections_idle", "gauge", "Idle connections to upstreams.", g->idle_count);
    put(b, "retries_total", "counter", "Requests that were sent again, on a new connection to the upstream.", g->stats.retries);
    put(b, "evicted_total", "counter", "Connections that were closed for newer ones.", g->stats.evicted);
    put(b, "reviews_total", "counter", "Questions to the API server about tokens and rights.", g->stats.reviews);
    put(b, "reviews_failed_total", "counter", "Of them those without an answer.", g->stats.reviews_failed);
    buf_put(
        b, SLICE("# HELP mobula_edge_requests_total Requests by the status of their answer.\n# TYPE mobula_edge_requests_total counter\n"));
    for (unsigned i = 0; i < COUNT_OF(g->stats.codes); i++)
        if (g->stats.codes[i]) {
            snprintf(code, sizeof code, "%u", i);
            put_labelled(b, "requests_total", "code", code, g->stats.codes[i]);
        }
    buf_put(b, SLICE("# HELP mobula_edge_upstream_failures_total Requests that an upstream failed, by what happened.\n"
                     "# TYPE mobula_edge_upstream_failures_total counter\n"));
    for (size_t i = 0; i < COUNT_OF(failures); i++)
        put_labelled(b, "upstream_failures_total", "what", failures[i], g->stats.failures[i]);
    buf_printf(b, "# HELP mobula_edge_info Version of this process.\n# TYPE mobula_edge_info gauge\nmobula_edge_info{version=\"%s\"} 1\n",
               MOBULA_VERSION);
}

static int answer(const struct edge *g, struct slice path, struct buf *text)
{
    if (slice_is(path, "/metrics"))
        edge_figures_write(g, text);
    else if (slice_is(path, "/healthz"))
        buf_put(text, SLICE("ok\n"));
    else if (slice_is(path, "/readyz"))
        buf_put(text, g->draining ? SLICE("it is being stopped\n") : !g->config ? SLICE("there are no routes yet\n") : SLICE("ok\n"));
    else
        buf_put(text, SLICE("not found: try /metrics, /healthz or /readyz\n"));
    if (slice_starts(buf_slice(text), SLICE("not found")))
        return 404;
    return slice_is(path, "/readyz") && !slice_is(buf_slice(text), "ok\n") ? 503 : 200;
}

static void on_ask(void *owner, struct serve_ask *q, struct now now)
{
    struct buf text;
    struct slice rest = q->head->target, path = slice_cut(&rest, '?');
    bool get = slice_is(q->head->method, "GET") || slice_is(q->head->method, "HEAD");
    buf_init(&text, FIGURES_MAX);
    int status = get ? answer(owner, path, &text) : 405;
    const struct http_header type = {SLICE("Content-Type"), SLICE("text/plain; version=0.0.4; charset=utf-8")};
    serve_answer(q, status, &type, 1, buf_slice(&text), now);
    buf_free(&text);
}

struct serve *edge_figures_start(struct edge *g)
{
    enum { PATIENCE_MS = 5 * 1000 };
    static const struct serve_user user = {.ask = on_ask};
    return serve_new(&(struct serve_options){.user = &user, .owner = g, .request_ms = PATIENCE_MS, .answer_ms = PATIENCE_MS});
}
