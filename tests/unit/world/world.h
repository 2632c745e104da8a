/* A world in one process: the whole operator and the model API server, joined by links in memory, in virtual time. Nothing waits; a step
 * goes to whatever is due next. */
#ifndef MOBULA_TEST_WORLD_H
#define MOBULA_TEST_WORLD_H

#include <mobula/operator.h>

#include "../../apiserver/apiserver.h"
#include "../test.h"

enum { WORLD_START_MS = 1000000, WORLD_LINK_BUFFER = 16 * KIB };

struct world_link {
    struct link link; /* first */
    struct conn *conn;
    struct buf to_server;
    bool ended;
    struct world_link *next;
};

/* What the operator sent. */
struct world_traffic {
    uint32_t posts, patches, puts, deletes; /* but of events and leases */
    uint32_t bare_deletes;                  /* without the uid of what is to go: it may be another object by now */
    uint32_t pod_posts, events;
    uint32_t at_once; /* most POSTs of pods that were under way together */
};

struct world {
    struct net net; /* first */
    struct apiserver *server;
    struct kube_config *config;
    struct op *op;
    struct now now;
    struct world_link *links;
    struct arena arena;
    struct slice executable; /* for ConfigMap mobula-tools; empty: --tools=none */
    bool unreachable;        /* no connection is made while it is set */
    uint64_t steps;
    struct world_traffic sent;
};

/* ---- links ---- */

static struct world *world_of(struct link *l)
{
    return (struct world *)l->net;
}

static struct slice world_peek(struct link *l)
{
    struct world_link *w = (struct world_link *)l;
    return w->conn ? apiserver_output(w->conn) : SLICE_NONE;
}

static void world_used(struct link *l, size_t n)
{
    struct world_link *w = (struct world_link *)l;
    if (n)
        apiserver_sent(world_of(l)->server, w->conn, n, world_of(l)->now);
}

static char *world_room(struct link *l, size_t *n)
{
    struct world_link *w = (struct world_link *)l;
    *n = w->conn ? WORLD_LINK_BUFFER - w->to_server.len : 0;
    return buf_room(&w->to_server, *n ? *n : 1);
}

static void world_wrote(struct link *l, size_t n)
{
    ((struct world_link *)l)->to_server.len += n;
}

static void world_cut(struct world_link *w, bool failed)
{
    if (w->conn)
        apiserver_disconnect(world_of(&w->link)->server, w->conn);
    w->conn = NULL;
    w->link.state = failed ? LINK_FAILED : LINK_ENDED;
    if (failed)
        err_set(&w->link.error, ERR_CLOSED, "the world cut the connection");
    net_wake(&w->link);
}

static void world_close(struct link *l)
{
    struct world *world = world_of(l);
    struct world_link *w = (struct world_link *)l;
    if (w->conn)
        apiserver_disconnect(world->server, w->conn);
    for (struct world_link **at = &world->links; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            break;
        }
    net_forget(l);
    buf_free(&w->to_server);
    mem_free(w);
}

static struct link *world_open(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e)
{
    static const struct link_ops ops = {world_peek, world_used, world_room, world_wrote, world_close};
    struct world *world = (struct world *)n;
    (void)to;
    (void)e;
    struct world_link *w = mem_alloc(sizeof *w);
    w->link = (struct link){.ops = &ops, .net = n, .owner = owner, .deadline_ms = deadline_ms, .state = LINK_OPEN};
    buf_init(&w->to_server, WORLD_LINK_BUFFER + 1);
    w->next = world->links;
    world->links = w;
    if (world->unreachable) {
        w->link.state = LINK_FAILED;
        err_set(&w->link.error, ERR_CONNECT, "connect to 10.0.0.1:443: refused");
    } else {
        w->conn = apiserver_connect(world->server);
    }
    net_wake(&w->link);
    return &w->link;
}

/* ---- life ---- */

static void world_start_operator(struct world *w, bool elect)
{
    static const struct slice namespaces[] = {{"n", 1}};
    struct operator_options o = {.namespaces = namespaces,
                                 .namespace_count = 1,
                                 .ray = {.tools = RAY_TOOLS_NONE, .cluster_domain = SLICE("cluster.local"), .version = SLICE("0")},
                                 .executable = w->executable,
                                 .leader_elect = elect,
                                 .lease = {SLICE("n"), SLICE("mobula"), SLICE("me"), 5000, 3000, 1000},
                                 .instance = SLICE("test"),
                                 .seed = 1};
    if (w->executable.len)
        o.ray.tools = RAY_TOOLS_CONFIGMAP;
    struct err e = {0};
    w->op = operator_new(&w->net, w->config, &o, &e);
    if (!w->op)
        fatal("world: %s", e.text);
}

__attribute__((unused)) static void world_kill_operator(struct world *w)
{
    operator_free(w->op);
    w->op = NULL;
    while (w->links)
        world_close(&w->links->link);
}

static void world_init(struct world *w, const struct apiserver_config *config)
{
    static const struct net_ops ops = {world_open};
    *w = (struct world){.net = {.ops = &ops}, .now = {WORLD_START_MS, 1800000000000000}};
    struct err e = {0};
    w->config = kube_config_load(&(struct kube_config_options){.kubeconfig = "tests/data/world/kubeconfig"}, &e);
    if (!w->config)
        fatal("world: %s", e.text);
    w->server = apiserver_new(config, w->now);
}

static void world_free(struct world *w)
{
    CHECK_INT(w->sent.bare_deletes, 0);
    if (w->op)
        world_kill_operator(w);
    apiserver_free(w->server);
    kube_config_free(w->config);
    arena_free(&w->arena);
}

/* Every connection ends as when a cable is pulled. */
__attribute__((unused)) static void world_cut_all(struct world *w)
{
    for (struct world_link *l = w->links; l; l = l->next)
        if (l->link.state == LINK_OPEN)
            world_cut(l, true);
}

static void world_count(struct world *w, struct slice request, uint32_t *at_once)
{
    static const char precondition[] = "\"preconditions\":{\"uid\":\"";
    struct slice line = slice_head(request, 200), method = slice_cut(&line, ' '), path = slice_cut(&line, ' ');
    struct slice name = slice_cut(&path, '?');
    if (slice_ends(name, SLICE("/events")) || slice_starts(name, SLICE("/apis/events.k8s.io/"))) {
        w->sent.events++;
        return;
    }
    if (!slice_starts(name, SLICE("/api")) || slice_starts(name, SLICE("/apis/coordination.k8s.io/")))
        return; /* not the beginning of a request */
    w->sent.posts += slice_eq(method, SLICE("POST"));
    w->sent.patches += slice_eq(method, SLICE("PATCH"));
    w->sent.puts += slice_eq(method, SLICE("PUT"));
    w->sent.deletes += slice_eq(method, SLICE("DELETE"));
    w->sent.bare_deletes += slice_eq(method, SLICE("DELETE")) && !memmem(request.ptr, request.len, precondition, strlen(precondition));
    if (slice_eq(method, SLICE("POST")) && slice_ends(name, SLICE("/pods"))) {
        w->sent.pod_posts++;
        (*at_once)++;
    }
}

__attribute__((unused)) static uint32_t world_writes(const struct world *w)
{
    return w->sent.posts + w->sent.patches + w->sent.puts + w->sent.deletes;
}

/* Bytes that wait go to the server; links with output or an end wake their owners. Returns whether anything moved. */
static bool world_move(struct world *w)
{
    bool moved = false;
    uint32_t at_once = 0;
    for (struct world_link *l = w->links; l; l = l->next) {
        if (l->conn && l->to_server.len) {
            struct slice bytes = buf_slice(&l->to_server);
            world_count(w, bytes, &at_once);
            apiserver_feed(w->server, l->conn, bytes, w->now);
            buf_clear(&l->to_server);
            net_wake(&l->link);
            moved = true;
        }
        if (l->conn && apiserver_output(l->conn).len) {
            net_wake(&l->link);
            moved = true;
        } else if (l->conn && apiserver_wants_close(l->conn)) {
            world_cut(l, false);
            moved = true;
        }
        if (l->link.deadline_ms <= w->now.mono_ms && l->link.state == LINK_OPEN) {
            err_set(&l->link.error, ERR_TIMEOUT, "deadline passed");
            l->link.state = LINK_FAILED;
            net_wake(&l->link);
            moved = true;
        }
    }
    w->sent.at_once = at_once > w->sent.at_once ? at_once : w->sent.at_once;
    return moved;
}

static int64_t world_links_deadline(const struct world *w)
{
    int64_t next = TIME_NEVER;
    for (const struct world_link *l = w->links; l; l = l->next)
        if (l->link.state == LINK_OPEN && l->link.deadline_ms < next)
            next = l->link.deadline_ms;
    return next;
}

/* One turn at the present time, then on to whatever is due next, at most `until`. */
static void world_step(struct world *w, int64_t until)
{
    w->steps++;
    apiserver_tick(w->server, w->now);
    bool moved = world_move(w);
    moved |= net_dispatch(&w->net, w->now);
    int64_t next = w->op ? operator_step(w->op, w->now) : TIME_NEVER;
    moved |= world_move(w);
    if (moved || w->net.ready_first)
        return;
    int64_t server = apiserver_deadline(w->server), links = world_links_deadline(w);
    next = server < next ? server : next;
    next = links < next ? links : next;
    next = until < next ? until : next;
    if (next <= w->now.mono_ms)
        next = w->now.mono_ms + 1;
    w->now.wall_us += (next - w->now.mono_ms) * 1000;
    w->now.mono_ms = next;
}

__attribute__((unused)) static void world_run(struct world *w, int64_t ms)
{
    int64_t until = w->now.mono_ms + ms;
    while (w->now.mono_ms < until)
        world_step(w, until);
}

/* ---- the admin's hand: one request, answered at once ---- */

/* *answer, when it is wanted: the body, in the world's arena. */
__attribute__((unused)) static int world_ask(struct world *w, const char *method, const char *path, const char *type, struct slice body,
                                             struct slice *answer)
{
    struct conn *c = apiserver_connect(w->server);
    struct buf b;
    buf_init(&b, LIMIT_JSON_ITEM);
    const struct http_header headers[] = {{SLICE("Content-Type"), slice_of(type)}};
    http_write_request(&b, slice_of(method), slice_of(path), SLICE("admin"), headers, 1, &body);
    apiserver_feed(w->server, c, buf_slice(&b), w->now);
    struct slice out = arena_dup(&w->arena, apiserver_output(c));
    int64_t status = 0;
    slice_int(out.len > 12 ? (struct slice){out.ptr + 9, 3} : SLICE("0"), &status);
    const char *end = out.ptr ? strstr(out.ptr, "\r\n\r\n") : NULL;
    if (answer)
        *answer = end ? slice_of(end + 4) : SLICE_NONE;
    apiserver_disconnect(w->server, c);
    buf_free(&b);
    return (int)status;
}

__attribute__((unused)) static int world_call(struct world *w, const char *method, const char *path, const char *type, struct slice body)
{
    return world_ask(w, method, path, type, body, NULL);
}

#endif
