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

/* The number behind the port of the service that the path names by its number or name. 0: the service has none such. */
static int64_t port_behind(const struct request *q, const struct object *service, struct slice port)
{
    const struct node *ports = dom_get(version_tree(service->now, q->a), "spec.ports");
    for (size_t i = 0; i < dom_len(ports); i++) {
        const struct node *p = dom_at(ports, i);
        if (!slice_eq(dom_str(p, "name"), port) && !slice_eq(dom_str(p, "port"), port))
            continue;
        return dom_int(p, "targetPort", dom_int(p, "port", 0));
    }
    return 0;
}

void passed_serve(struct request *q)
{
    struct slice port = q->name, name = slice_cut(&port, ':');
    struct slice target = slice_skip(q->target, (size_t)(q->sub.ptr - q->target.ptr) + SLICE("proxy").len);
    struct apiserver_passed p = {.ns = q->ns,
                                 .service = name,
                                 .method = q->method,
                                 .target = slice_empty(target) ? SLICE("/") : target,
                                 .token = http_header_get(&q->conn->reader, SLICE("X-Ray-Authorization")),
                                 .body = q->body};
    const struct object *service = store_find(q->api->of, q->ns, name);
    if (!service) {
        status_not_found(&q->st, q->api->group, q->api->of->plural, name);
        return;
    }
    p.port = port_behind(q, service, port);
    if (!p.port) {
        status_set(&q->st, 503, "ServiceUnavailable", "no service port \"%.*s\" found for service \"%.*s\"", SLICE_ARG(port),
                   SLICE_ARG(name));
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
