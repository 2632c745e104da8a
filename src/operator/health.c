/* The answers for probes and Prometheus: one answer per connection, then it is closed. */
#include "op.h"

enum { ANSWER_MAX = 64 * KIB };

static int health(struct op *op, struct slice path, struct buf *body, struct now now)
{
    bool run = slice_is(path, "/healthz/run"); /* of the Anyscale operator, as are /config and /metrics_grpc */
    if (run && op && op->checks) {
        bool ready = operator_ready(op, now, body);
        return checks_run(op, body) && ready ? 200 : 503;
    }
    if (slice_is(path, "/readyz") && !operator_ready(op, now, body))
        return 503;
    bool known = run || slice_is(path, "/healthz") || slice_is(path, "/livez") || slice_is(path, "/readyz");
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

static void answer(struct op *op, struct serve_ask *q, enum health_serves what, struct now now)
{
    static const struct slice types[] = {SLICE("text/plain; charset=utf-8"), SLICE("text/plain; version=0.0.4; charset=utf-8"),
                                         SLICE("application/json")};
    struct buf body;
    buf_init(&body, ANSWER_MAX);
    struct slice path = q->head->target;
    path = slice_cut(&path, '?');
    int status = 405;
    bool get = slice_is(q->head->method, "GET"), config = what == HEALTH_STATUS && slice_is(path, "/config");
    if (get && config) {
        checks_config(op, &body);
        status = 200;
    } else if (get)
        status = what == HEALTH_FIGURES ? metrics(op, path, &body) : health(op, path, &body, now);
    const struct http_header type = {SLICE("Content-Type"), types[config ? 2 : what == HEALTH_FIGURES]};
    serve_answer(q, status, &type, 1, buf_slice(&body), now);
    buf_free(&body);
}

static void ask_health(void *owner, struct serve_ask *q, struct now now)
{
    answer(owner, q, HEALTH_PROBES, now);
}

static void ask_status(void *owner, struct serve_ask *q, struct now now)
{
    answer(owner, q, HEALTH_STATUS, now);
}

static void ask_metrics(void *owner, struct serve_ask *q, struct now now)
{
    answer(owner, q, HEALTH_FIGURES, now);
}

struct serve *health_new(struct op *op, enum health_serves what)
{
    static const struct serve_user users[] = {
        [HEALTH_PROBES] = {.ask = ask_health}, [HEALTH_STATUS] = {.ask = ask_status}, [HEALTH_FIGURES] = {.ask = ask_metrics}};
    return serve_new(
        &(struct serve_options){.user = &users[what], .owner = op, .request_ms = HEALTH_HEAD_MS, .answer_ms = HEALTH_ANSWER_MS});
}
