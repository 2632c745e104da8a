/* The model API server and bytes from anybody. Input that begins with '!' is a list of requests, each METHOD TARGET TYPE on a line, its
 * body behind it, and a NUL between two of them; anything else is what came over a connection. Two servers of one seed get the same bytes,
 * one of them in small pieces: they must say the same and end in the same state. */
#include "tests/model/apiserver/apiserver.h"

#include <mobula/http.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char crd[] =
    "!POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions application/json\n"
    "{\"metadata\":{\"name\":\"things.x.y\"},\"spec\":{\"group\":\"x.y\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"things\","
    "\"kind\":\"Thing\"},"
    "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{"
    "\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"default\":1},"
    "\"l\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"k\"],\"items\":{\"type\":\"object\","
    "\"properties\":{\"k\":{\"type\":\"string\"}}}}}}}}}}]}}";

struct side {
    struct apiserver *server;
    struct conn *conn;
    struct now now;
    size_t piece;
    struct buf said;
};

static void open_side(struct side *s, size_t piece)
{
    *s = (struct side){.now = {.mono_ms = 1, .wall_us = 1800000000ll * 1000000}, .piece = piece};
    s->server = apiserver_new(&(struct apiserver_config){.seed = 1, .history = 8, .pod_events = true}, s->now);
    s->conn = apiserver_connect(s->server);
    buf_init(&s->said, 64 * (size_t)MIB);
}

static void close_side(struct side *s)
{
    apiserver_free(s->server);
    buf_free(&s->said);
}

static void listen_to(struct side *s)
{
    struct slice out = apiserver_output(s->conn);
    buf_put(&s->said, out);
    apiserver_sent(s->server, s->conn, out.len, s->now);
}

static void feed(struct side *s, struct slice bytes)
{
    while (bytes.len) {
        size_t n = bytes.len < s->piece ? bytes.len : s->piece;
        apiserver_feed(s->server, s->conn, slice_head(bytes, n), s->now);
        bytes = slice_skip(bytes, n);
    }
    listen_to(s);
}

static void pass_time(struct side *s, int64_t ms)
{
    s->now.mono_ms += ms;
    s->now.wall_us += ms * 1000;
    apiserver_tick(s->server, s->now);
    listen_to(s);
}

/* A connection that a watch holds, or that is over, makes room for a new one. */
static void request(struct side *s, struct slice record)
{
    struct slice line = slice_cut(&record, '\n'), method = slice_cut(&line, ' '), target = slice_cut(&line, ' ');
    struct http_header headers[] = {{SLICE("Content-Type"), line}, {SLICE("Accept"), SLICE("application/json")}};
    struct buf b;
    buf_init(&b, 16 * (size_t)MIB);
    apiserver_disconnect(s->server, s->conn);
    s->conn = apiserver_connect(s->server);
    if (http_write_request(&b, method, target, SLICE("x"), headers, line.len ? 2 : 0, record.len ? &record : NULL))
        feed(s, buf_slice(&b));
    buf_free(&b);
    pass_time(s, 100);
}

static void play(struct side *s, struct slice input)
{
    if (!slice_starts(input, SLICE("!"))) {
        feed(s, input);
        pass_time(s, 1000);
        return;
    }
    struct slice rest = slice_skip(input, 1);
    while (rest.ptr)
        request(s, slice_cut(&rest, '\0'));
    pass_time(s, 60000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct side whole, pieces;
    struct slice input = {(const char *)data, size};
    open_side(&whole, SIZE_MAX);
    open_side(&pieces, 7);
    play(&whole, slice_of(crd));
    play(&pieces, slice_of(crd));
    play(&whole, input);
    play(&pieces, input);
    if (apiserver_revision(whole.server) != apiserver_revision(pieces.server))
        abort();
    if (!slice_eq(buf_slice(&whole.said), buf_slice(&pieces.said)))
        abort();
    close_side(&whole);
    close_side(&pieces);
    return 0;
}
