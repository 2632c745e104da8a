/* What the operator writes becomes requests, each with its place on the wire. */
#include "wire.h"

#include <stdio.h>

void request_free(struct world_request *q)
{
    mem_free(q);
}

void requests_free(struct wire *x)
{
    for (struct world_request *q = x->requests, *next; q; q = next) {
        next = q->next;
        request_free(q);
    }
    if (x->reading)
        request_free(x->reading);
    x->requests = x->last = x->reading = NULL;
}

static struct slice copy_to(char **at, struct slice s)
{
    struct slice copy = {*at, s.len};
    if (s.len)
        memcpy(*at, s.ptr, s.len);
    *at += s.len;
    **at = '\0';
    (*at)++;
    return copy;
}

/* One allocation: the body comes behind the texts when its length is known, which is now. */
static struct world_request *request_new(struct world *w, struct wire *x)
{
    const struct http_reader *r = &x->tap;
    size_t head = 0, body = r->length > 0 ? (size_t)r->length : 0;
    for (uint32_t i = 0; i < r->header_count; i++)
        head += r->headers[i].name.len + r->headers[i].value.len + 3;
    struct world_request *q = mem_alloc(sizeof *q + r->method.len + r->target.len + head + body + 8); /* and NULs */
    char *at = (char *)(q + 1);
    q->world = w;
    q->from = x->process;
    q->wire = x;
    q->number = ++w->requests;
    q->began_ms = w->now.mono_ms;
    q->method = copy_to(&at, r->method);
    q->target = copy_to(&at, r->target);
    q->head.ptr = at;
    for (uint32_t i = 0; i < r->header_count; i++) {
        struct slice name = r->headers[i].name, value = r->headers[i].value;
        if (!slice_eq_nocase(name, SLICE("authorization")))
            at += snprintf(at, name.len + value.len + 4, "%.*s: %.*s\n", SLICE_ARG(name), SLICE_ARG(value));
    }
    q->head.len = (size_t)(at - q->head.ptr);
    q->body.ptr = at + 1;
    return q;
}

static void append(struct world_request *q, struct slice piece)
{
    memcpy((char *)(uintptr_t)q->body.ptr + q->body.len, piece.ptr, piece.len);
    q->body.len += piece.len;
}

/* Reads along what is written. */
void overhear(struct world *w, struct wire *x, struct slice in)
{
    x->written += in.len;
    for (;;) {
        struct slice piece;
        struct err e = {0};
        switch (http_read(&x->tap, &in, &piece, &e)) {
        case HTTP_MORE:
            return;
        case HTTP_HEAD:
            x->reading = request_new(w, x);
            if (w->hooks && w->hooks->began)
                w->hooks->began(w->hooks, x->reading);
            break;
        case HTTP_BODY:
            append(x->reading, piece);
            break;
        case HTTP_END:
            x->reading->end = x->written - in.len;
            *(x->requests ? &x->last->next : &x->requests) = x->reading;
            x->last = x->reading;
            x->reading = NULL;
            if (w->hooks && w->hooks->sent)
                w->hooks->sent(w->hooks, x->last);
            break;
        case HTTP_BAD:
            fatal("world: the operator wrote what is no HTTP: %s", e.text);
        }
    }
}

void count_request(struct world *w, const struct world_request *q)
{
    struct slice path = q->target;
    path = slice_cut(&path, '?');
    bool post = slice_eq(q->method, SLICE("POST"));
    if (slice_ends(path, SLICE("/events")) || slice_starts(path, SLICE("/apis/events.k8s.io/"))) {
        w->sent.events++;
        return;
    }
    if (!world_is_write(q))
        return;
    w->sent.posts += post;
    w->sent.patches += slice_eq(q->method, SLICE("PATCH"));
    w->sent.puts += slice_eq(q->method, SLICE("PUT"));
    static const char precondition[] = "\"preconditions\":{\"uid\":\"";
    bool deletes = slice_eq(q->method, SLICE("DELETE"));
    w->sent.deletes += deletes;
    w->sent.bare_deletes += deletes && !memmem(q->body.ptr, q->body.len, precondition, strlen(precondition));
    if (post && slice_ends(path, SLICE("/pods"))) {
        w->sent.pod_posts++;
        w->pod_posts_now++;
    }
}
