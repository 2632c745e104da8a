/* A small HTTP server for probes and Prometheus: one answer per connection, then it is closed. */
#include "op.h"

enum { ANSWER_MAX = 64 * KIB };

struct visitor {
    struct link_owner owner; /* first */
    struct health *of;
    struct link *link;
    struct http_reader reader;
    struct buf answer;
    struct slice left; /* of the answer, still to be sent */
    bool answering;
    struct visitor *next, **back;
};

struct health {
    struct link_accept accept; /* first */
    struct op *op;
    bool metrics;
    struct visitor *visitors;
};

static void leave(struct visitor *v)
{
    *v->back = v->next;
    if (v->next)
        v->next->back = v->back;
    link_close(v->link);
    http_reader_free(&v->reader);
    buf_free(&v->answer);
    mem_free(v);
}

static int content(struct health *h, struct slice path, struct buf *body, struct now now)
{
    if (h->metrics && slice_eq(path, SLICE("/metrics"))) {
        metrics_write(h->op, body);
        return 200;
    }
    if (!h->metrics && (slice_eq(path, SLICE("/healthz")) || slice_eq(path, SLICE("/livez")))) {
        buf_put(body, SLICE("ok\n"));
        return 200;
    }
    if (!h->metrics && slice_eq(path, SLICE("/readyz"))) {
        if (operator_ready(h->op, now, body)) {
            buf_put(body, SLICE("ok\n"));
            return 200;
        }
        return 503;
    }
    buf_put(body, h->metrics ? SLICE("not found: try /metrics\n") : SLICE("not found: try /healthz or /readyz\n"));
    return 404;
}

static void answer(struct visitor *v, struct now now)
{
    struct buf body;
    buf_init(&body, ANSWER_MAX);
    struct slice path = v->reader.target;
    path = slice_cut(&path, '?');
    int status = slice_eq(v->reader.method, SLICE("GET")) ? content(v->of, path, &body, now) : 405;
    const struct http_header headers[] = {
        {SLICE("Content-Type"), v->of->metrics ? SLICE("text/plain; version=0.0.4; charset=utf-8") : SLICE("text/plain; charset=utf-8")},
        {SLICE("Connection"), SLICE("close")},
    };
    struct slice text = buf_slice(&body);
    http_write_response(&v->answer, status, headers, COUNT_OF(headers), &text);
    buf_free(&body);
    v->left = buf_slice(&v->answer);
    v->answering = true;
    v->link->deadline_ms = now.mono_ms + HEALTH_ANSWER_MS;
}

static void step(struct link_owner *owner, struct link *l, struct now now)
{
    struct visitor *v = (struct visitor *)owner;
    struct err e = {0};
    while (!v->answering) {
        struct slice in = link_peek(l), rest = in, body;
        enum http_step s = http_read(&v->reader, &rest, &body, &e);
        if (s == HTTP_HEAD)
            answer(v, now); /* a body, should there be one, is not read */
        else
            link_used(l, in.len - rest.len);
        if (s == HTTP_BAD || (s == HTTP_MORE && l->state != LINK_OPEN)) {
            leave(v);
            return;
        }
        if (s == HTTP_MORE)
            return;
    }
    if (l->state == LINK_FAILED || link_put(l, &v->left))
        leave(v);
}

static void accept_link(struct link_accept *a, struct link *l, struct now now)
{
    struct health *h = (struct health *)a;
    struct visitor *v = mem_alloc(sizeof *v);
    v->owner.step = step;
    v->of = h;
    v->link = l;
    http_reader_init(&v->reader, HTTP_REQUESTS);
    buf_init(&v->answer, ANSWER_MAX + LIMIT_HTTP_HEAD);
    v->next = h->visitors;
    v->back = &h->visitors;
    if (v->next)
        v->next->back = &v->next;
    h->visitors = v;
    l->owner = &v->owner;
    l->deadline_ms = now.mono_ms + HEALTH_HEAD_MS;
}

struct health *health_new(struct op *op, bool metrics)
{
    struct health *h = mem_alloc(sizeof *h);
    h->accept.accept = accept_link;
    h->op = op;
    h->metrics = metrics;
    return h;
}

void health_free(struct health *h)
{
    if (!h)
        return;
    while (h->visitors)
        leave(h->visitors);
    mem_free(h);
}

struct link_accept *health_accept(struct health *h)
{
    return &h->accept;
}
