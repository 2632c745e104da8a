/* An edge between clients and upstreams that are buffers here: what one end says is what the other hears. */
#ifndef MOBULA_TEST_EDGE_H
#define MOBULA_TEST_EDGE_H

#include "src/edge/private.h"

#include "../test.h"

enum { RIG_ENDS = 80, RIG_ROOM = 64 * KIB };

/* One end of a link: `in` is what the edge reads, `out` what it has written. */
struct end {
    struct link link; /* first */
    struct buf in, out;
    size_t room, got; /* got: bytes of out that were looked at */
    bool used, closed;
    uint16_t port;
    char host[64], scratch[4096];
};

struct rig {
    struct net net; /* first */
    struct now now;
    struct edge *edge;
    struct end up[RIG_ENDS]; /* in the order in which they were opened */
    unsigned ups;
    struct net_allow *allow;
    bool refuse; /* connections to upstreams fail at once */
    bool slow;   /* … or do not open by themselves */
};

static const char *rig_tokens = "first\nsecond\n"; /* the text of every file but these; NULL: it is missing */
static struct rig_file {
    const char *path, *text;
} rig_files[4];

static struct slice end_peek(struct link *l)
{
    return buf_slice(&((struct end *)l)->in);
}

static void end_used(struct link *l, size_t n)
{
    buf_drop(&((struct end *)l)->in, n);
}

static char *end_room(struct link *l, size_t *n)
{
    struct end *v = (struct end *)l;
    *n = l->state != LINK_OPEN ? 0 : v->room < sizeof v->scratch ? v->room : sizeof v->scratch;
    return v->scratch;
}

static void end_wrote(struct link *l, size_t n)
{
    struct end *v = (struct end *)l;
    buf_put(&v->out, (struct slice){v->scratch, n});
    v->room -= n;
    if (n)
        net_wake(l);
}

static void end_close(struct link *l)
{
    net_forget(l);
    ((struct end *)l)->closed = true;
}

static const struct link_ops end_ops = {end_peek, end_used, end_room, end_wrote, end_close};

static void end_begin(struct rig *r, struct end *v)
{
    buf_free(&v->in);
    buf_free(&v->out);
    *v = (struct end){.link = {.ops = &end_ops, .net = &r->net, .state = LINK_OPEN, .peer = "10.0.0.9", .deadline_ms = TIME_NEVER},
                      .room = RIG_ROOM,
                      .used = true};
    buf_init(&v->in, MIB);
    buf_init(&v->out, MIB);
}

static struct link *rig_open(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e)
{
    struct rig *r = (struct rig *)n;
    if (r->ups == RIG_ENDS)
        return err_set(e, ERR_LIMIT, "more than %d connections to upstreams", RIG_ENDS), NULL;
    struct end *v = &r->up[r->ups++];
    end_begin(r, v);
    v->port = to->port;
    v->link.owner = owner;
    v->link.deadline_ms = deadline_ms;
    slice_copy(to->host, v->host, sizeof v->host);
    if (r->refuse) {
        v->link.state = LINK_FAILED;
        err_set(&v->link.error, ERR_CONNECT, "refused");
    }
    if (r->slow)
        v->link.state = LINK_OPENING;
    else
        net_wake(&v->link);
    return &v->link;
}

static const struct net_ops rig_ops = {rig_open};

static bool rig_read(struct slice path, struct arena *a, struct slice *out, struct err *e)
{
    const char *text = rig_tokens;
    for (size_t i = 0; i < COUNT_OF(rig_files); i++)
        text = rig_files[i].path && slice_is(path, rig_files[i].path) ? rig_files[i].text : text;
    if (!text)
        return err_set(e, ERR_MISSING, "%.*s: no such file", SLICE_ARG(path));
    *out = arena_dup(a, slice_of(text));
    return !slice_is(path, "/missing") || err_set(e, ERR_IO, "there is no file /missing");
}

__attribute__((unused)) static void rig_start(struct rig *r, struct kube_config *config, const char *routes)
{
    struct err e = {0};
    *r = (struct rig){.net.ops = &rig_ops, .now = {1000, 0}};
    const struct edge_options o = {.ns = SLICE("team-a"), .body_max = 1000, .connections = 16, .seed = 7, .read = rig_read};
    r->edge = edge_new(&r->net, config, &o);
    if (!CHECK(edge_configure(r->edge, &(struct edge_text){slice_of(routes), "routes.yaml"}, 1, &e)))
        printf("  %s\n", e.text);
    edge_step(r->edge, r->now);
}

__attribute__((unused)) static void rig_turn(struct rig *r)
{
    while (net_dispatch(&r->net, r->now) || edge_step(r->edge, r->now) <= r->now.mono_ms)
        ;
}

__attribute__((unused)) static void rig_enter(struct rig *r, struct end *v)
{
    end_begin(r, v);
    struct link_accept *a = edge_accept(r->edge);
    a->accept(a, &v->link, r->now);
}

__attribute__((unused)) static void rig_say(struct rig *r, struct end *v, const char *text)
{
    if (v->closed)
        return;
    buf_put(&v->in, slice_of(text));
    net_wake(&v->link);
    rig_turn(r);
}

/* The end closes its side. */
__attribute__((unused)) static void rig_end(struct rig *r, struct end *v)
{
    if (v->closed)
        return;
    v->link.state = LINK_ENDED;
    net_wake(&v->link);
    rig_turn(r);
}

/* Time passes, and links whose deadline it was fail. */
__attribute__((unused)) static void rig_wait(struct rig *r, struct end *client, int64_t ms)
{
    r->now.mono_ms += ms;
    for (unsigned i = 0; i <= r->ups; i++) {
        struct end *v = i < r->ups ? &r->up[i] : client;
        if (v && v->used && !v->closed && v->link.deadline_ms <= r->now.mono_ms) {
            v->link.state = LINK_FAILED;
            err_set(&v->link.error, ERR_TIMEOUT, "the deadline passed");
            net_wake(&v->link);
        }
    }
    rig_turn(r);
}

/* Bytes that the edge has written since the last call. */
__attribute__((unused)) static struct slice rig_hear(struct end *v)
{
    struct slice news = slice_skip(buf_slice(&v->out), v->got);
    v->got = v->out.len;
    return news;
}

__attribute__((unused)) static int rig_status(struct end *v)
{
    struct slice text = rig_hear(v);
    int64_t status = 0;
    if (slice_starts(text, SLICE("HTTP/1.1 ")))
        slice_int(slice_head(slice_skip(text, 9), 3), &status);
    return (int)status;
}

__attribute__((unused)) static void rig_leave(struct end *v)
{
    buf_free(&v->in);
    buf_free(&v->out);
}

__attribute__((unused)) static void rig_stop(struct rig *r, struct end *client)
{
    edge_free(r->edge);
    if (client) {
        CHECK(client->closed);
        rig_leave(client);
    }
    for (unsigned i = 0; i < r->ups; i++) {
        CHECK(r->up[i].closed);
        rig_leave(&r->up[i]);
    }
}

#endif
