#include "drive.h"

void world_open(struct world *w, const struct apiserver_config *config)
{
    *w = (struct world){.now = {.mono_ms = 1000, .wall_us = 1800000000ll * 1000000}};
    w->server = apiserver_new(config ? config : &(struct apiserver_config){.seed = 1}, w->now);
    w->conn = apiserver_connect(w->server);
}

void world_close(struct world *w)
{
    apiserver_free(w->server);
    arena_free(&w->mem);
}

static void move_to(struct world *w, int64_t mono_ms)
{
    w->now.wall_us += (mono_ms - w->now.mono_ms) * 1000;
    w->now.mono_ms = mono_ms;
    apiserver_tick(w->server, w->now);
}

void world_sleep(struct world *w, int64_t ms)
{
    int64_t end = w->now.mono_ms + ms;
    for (int64_t next = apiserver_deadline(w->server); next <= end; next = apiserver_deadline(w->server))
        move_to(w, next > w->now.mono_ms ? next : w->now.mono_ms);
    move_to(w, end);
}

static struct answer read_answer(struct world *w, struct conn *c)
{
    struct answer a = {0};
    struct http_reader r;
    struct buf body;
    struct err e = {0};
    http_reader_init(&r, HTTP_RESPONSES);
    buf_init(&body, 256 * (size_t)MIB);
    struct slice in = apiserver_output(c), piece;
    size_t all = in.len;
    for (enum http_step step = HTTP_MORE; step != HTTP_END;) {
        step = http_read(&r, &in, &piece, &e);
        if (step == HTTP_HEAD)
            a.status = r.status;
        if (step == HTTP_BODY)
            buf_put(&body, piece);
        if (step == HTTP_MORE || step == HTTP_BAD)
            break;
    }
    apiserver_sent(w->server, c, all - in.len, w->now);
    a.body = arena_dup(&w->mem, buf_slice(&body));
    struct json *doc = arena_new(&w->mem, struct json);
    a.json = (struct jval){doc, -1};
    if (json_parse(doc, a.body, &w->mem, NULL))
        a.json = json_root(doc);
    buf_free(&body);
    http_reader_free(&r);
    return a;
}

static void send(struct world *w, struct conn *c, const char *method, const char *target, const char *type, const char *accept,
                 const char *body)
{
    struct buf b;
    buf_init(&b, 64 * (size_t)MIB);
    struct http_header headers[] = {
        {SLICE("User-Agent"), SLICE("test/1")}, {SLICE("Accept"), slice_of(accept)}, {SLICE("Content-Type"), slice_of(type)}};
    struct slice bytes = slice_of(body);
    CHECK(http_write_request(&b, slice_of(method), slice_of(target), SLICE("model"), headers, COUNT_OF(headers), body ? &bytes : NULL));
    apiserver_feed(w->server, c, buf_slice(&b), w->now);
    buf_free(&b);
}

struct answer ask_typed(struct world *w, const char *method, const char *target, const char *type, const char *body)
{
    send(w, w->conn, method, target, type, "application/json", body);
    return read_answer(w, w->conn);
}

struct answer ask(struct world *w, const char *method, const char *target, const char *body)
{
    return ask_typed(w, method, target, "application/json", body);
}

struct answer ask_accept(struct world *w, const char *target, const char *accept)
{
    send(w, w->conn, "GET", target, "application/json", accept, NULL);
    return read_answer(w, w->conn);
}

struct slice text(struct answer a, struct world *w, const char *path)
{
    return json_get_str(a.json, path, &w->mem);
}

int64_t whole(struct answer a, const char *path)
{
    return json_get_int(a.json, path, -1);
}

/* ---- watches ---- */

void stream_open(struct stream *s, struct world *w, const char *target)
{
    *s = (struct stream){.w = w, .conn = apiserver_connect(w->server)};
    http_reader_init(&s->reader, HTTP_RESPONSES);
    json_slicer_init(&s->slicer, JSON_STREAM_LINES, 3 * MIB);
    buf_init(&s->lines, MIB);
    send(w, s->conn, "GET", target, "application/json", "application/json", NULL);
}

void stream_close(struct stream *s)
{
    apiserver_disconnect(s->w->server, s->conn);
    http_reader_free(&s->reader);
    json_slicer_free(&s->slicer);
    buf_free(&s->lines);
}

static void one_event(struct stream *s, struct slice item)
{
    struct json doc;
    s->last = arena_dup(&s->w->mem, item);
    if (!CHECK(json_parse(&doc, s->last, &s->w->mem, NULL)))
        return;
    struct jval root = json_root(&doc);
    struct slice type = json_get_str(root, "type", &s->w->mem), name = json_get_str(root, "object.metadata.name", &s->w->mem);
    if (slice_eq(type, SLICE("ERROR")))
        name = json_get_str(root, "object.reason", &s->w->mem);
    buf_printf(&s->lines, "%s%.*s%s%.*s", s->lines.len ? ", " : "", SLICE_ARG(type), name.len ? " " : "", SLICE_ARG(name));
}

struct slice stream_look(struct stream *s)
{
    struct slice in = apiserver_output(s->conn), piece;
    size_t all = in.len;
    struct err e = {0};
    buf_clear(&s->lines);
    for (bool more = true; more;) {
        struct slice item;
        switch (http_read(&s->reader, &in, &piece, &e)) {
        case HTTP_HEAD:
            s->status = s->reader.status;
            break;
        case HTTP_BODY:
            while (json_slice(&s->slicer, &piece, &item, &e) == JSON_ITEM)
                one_event(s, item);
            break;
        case HTTP_END:
            s->ended = true;
            more = false;
            break;
        case HTTP_MORE:
        case HTTP_BAD:
            more = false;
            break;
        }
    }
    apiserver_sent(s->w->server, s->conn, all - in.len, s->w->now);
    return buf_slice(&s->lines);
}
