/* What probes and Prometheus get: one answer per connection, then it is closed. */
#include "op.h"

enum { ANSWER_MAX = 64 * KIB };

static int health(const struct op *op, struct slice path, struct buf *body, struct now now)
{
    if (slice_is(path, "/readyz") && !operator_ready(op, now, body))
        return 503;
    bool known = slice_is(path, "/healthz") || slice_is(path, "/livez") || slice_is(path, "/readyz") ||
                 slice_is(path, "/healthz/run"); /* of the Anyscale operator, as is /metrics_grpc */
    buf_put(body, known ? SLICE("ok\n") : SLICE("not found: try /healthz or /readyz\n"));
    return known ? 200 : 404;
}

static int metrics(const struct op *op, struct slice path, struct buf *body)
{
    if (slice_is(path, "/metrics_grpc"))
        return 200;
    if (!slice_is(path, "/metrics")) {
        buf_put(body, SLICE("not found: try /metrics\n"));
        return 404;
    }
    metrics_write(op, body);
    return 200;
}

static void answer(const struct op *op, struct serve_ask *q, bool figures, struct now now)
{
    struct buf body;
    buf_init(&body, ANSWER_MAX);
    struct slice path = q->head->target;
    path = slice_cut(&path, '?');
    int status = 405;
    if (slice_is(q->head->method, "GET"))
        status = figures ? metrics(op, path, &body) : health(op, path, &body, now);
    const struct http_header type = {SLICE("Content-Type"),
                                     figures ? SLICE("text/plain; version=0.0.4; charset=utf-8") : SLICE("text/plain; charset=utf-8")};
    serve_answer(q, status, &type, 1, buf_slice(&body), now);
    buf_free(&body);
}

static void ask_health(void *owner, struct serve_ask *q, struct now now)
{
    answer(owner, q, false, now);
}

static void ask_metrics(void *owner, struct serve_ask *q, struct now now)
{
    answer(owner, q, true, now);
}

struct serve *health_new(struct op *op, bool figures)
{
    static const struct serve_user health_user = {.ask = ask_health}, metrics_user = {.ask = ask_metrics};
    return serve_new(&(struct serve_options){
        .user = figures ? &metrics_user : &health_user, .owner = op, .request_ms = HEALTH_HEAD_MS, .answer_ms = HEALTH_ANSWER_MS});
}
