/* What the server does not answer itself: requests to …/services/NAME:PORT/proxy/PATH go on to whoever the test has put behind it. */
#include "request.h"

void apiserver_put_behind(struct apiserver *s, struct apiserver_backend backend)
{
    s->backend = backend;
}

bool passed_is(const struct request *q)
{
    return q->api->of->rules == &rules_service && (slice_eq(q->sub, SLICE("proxy")) || slice_starts(q->sub, SLICE("proxy/")));
}

void passed_serve(struct request *q)
{
    struct slice port = q->name, name = slice_cut(&port, ':');
    struct slice target = slice_skip(q->target, (size_t)(q->sub.ptr - q->target.ptr) + SLICE("proxy").len);
    const struct apiserver_passed p = {.ns = q->ns,
                                       .service = name,
                                       .method = q->method,
                                       .target = slice_empty(target) ? SLICE("/") : target,
                                       .token = http_header_get(&q->conn->reader, SLICE("X-Ray-Authorization")),
                                       .body = q->body};
    if (!store_find(q->api->of, q->ns, name)) {
        status_not_found(&q->st, q->api->group, q->api->of->plural, name);
        return;
    }
    struct err e = {0};
    const struct apiserver_backend *b = &q->s->backend;
    int code = b->serve ? b->serve(b->owner, &p, q->out, &e) : APISERVER_NOBODY;
    q->code = code;
    q->conn->forsaken = q->streaming = code == APISERVER_SILENT;
    if (code == APISERVER_NOBODY)
        status_set(&q->st, 503, "ServiceUnavailable", "no endpoints available for service \"%.*s\"", SLICE_ARG(name));
    else if (code == APISERVER_BROKEN)
        status_set(&q->st, 503, "ServiceUnavailable", "error trying to reach service: %s", e.text);
}
