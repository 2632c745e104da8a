/* A network of fake heads in virtual time, for clients of heads without an operator. */
#ifndef MOBULA_TEST_HEADNET_H
#define MOBULA_TEST_HEADNET_H

#include "../grpc/hex.h"
#include "fakehead.h"

/* Their names: "head0", "head1" … */
struct headnet;
struct headlink {
    struct link link; /* first */
    struct headnet *world;
    struct headlink *next;
    struct fakehead_conn *conn;
    size_t taken;     /* bytes of the output that were used; dropped together, because what is left may be long */
    size_t shown;     /* bytes behind them that have arrived */
    int64_t moved_ms; /* when the last of them did */
    char scratch[64 * KIB];
};

struct headnet {
    struct net net; /* first */
    struct now now;
    struct fakehead *heads;
    uint32_t count;
    struct headlink *links;
    bool unreachable; /* connections do not open and do not fail */
    bool refused;
    struct ray_gcs_pool *pool;
    struct ray_dash_pool *dash;
    uint32_t live, most;
};

static struct slice headlink_peek(struct link *l)
{
    struct headlink *h = (struct headlink *)l;
    return h->conn ? slice_head(slice_skip(buf_slice(&h->conn->out), h->taken), h->shown) : SLICE_NONE;
}

static void headlink_used(struct link *l, size_t n)
{
    struct headlink *h = (struct headlink *)l;
    h->taken += n;
    h->shown -= n;
    if (h->conn && h->taken == h->conn->out.len) {
        buf_clear(&h->conn->out);
        h->taken = 0;
    }
}

static char *headlink_room(struct link *l, size_t *n)
{
    struct headlink *h = (struct headlink *)l;
    *n = l->state == LINK_OPEN ? sizeof h->scratch : 0;
    return h->scratch;
}

static void headlink_wrote(struct link *l, size_t n)
{
    struct headlink *h = (struct headlink *)l;
    fakehead_feed(h->conn, (struct slice){h->scratch, n});
}

static void headlink_close(struct link *l)
{
    struct headlink *h = (struct headlink *)l, **at = &h->world->links;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    net_forget(l);
    if (h->conn)
        fakehead_disconnect(h->conn);
    h->world->live--;
    mem_free(h);
}

static struct link *headnet_open(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e)
{
    static const struct link_ops ops = {headlink_peek, headlink_used, headlink_room, headlink_wrote, headlink_close};
    struct headnet *w = (struct headnet *)n;
    int64_t number;
    if (!slice_starts(to->host, SLICE("head")) || !slice_int(slice_skip(to->host, 4), &number) || number >= w->count) {
        err_set(e, ERR_DENIED, "%.*s is not on the list", SLICE_ARG(to->host));
        return NULL;
    }
    struct headlink *h = mem_alloc(sizeof *h);
    h->link = (struct link){.ops = &ops, .net = n, .owner = owner, .deadline_ms = deadline_ms, .state = LINK_OPENING};
    h->world = w;
    h->next = w->links;
    w->links = h;
    w->live++;
    w->most = w->live > w->most ? w->live : w->most;
    if (w->refused) {
        h->link.state = LINK_FAILED;
        err_set(&h->link.error, ERR_CONNECT, "no connection to %.*s:%u: refused", SLICE_ARG(to->host), to->port);
    } else if (!w->unreachable) {
        h->conn = fakehead_connect(&w->heads[number], to->port);
        h->link.state = LINK_OPEN;
    }
    net_wake(&h->link);
    return &h->link;
}

static void headnet_end(struct headlink *h, enum link_state state, enum err_code code, const char *text)
{
    if (h->link.state == LINK_FAILED || h->link.state == LINK_ENDED)
        return;
    h->link.state = state;
    if (state == LINK_FAILED)
        err_set(&h->link.error, code, "%s", text);
    net_wake(&h->link);
}

/* Moves what waits. Whether anything did. */
static bool headnet_move(struct headnet *w)
{
    bool moved = false;
    for (struct headlink *h = w->links; h; h = h->next) {
        if (h->link.deadline_ms <= w->now.mono_ms) {
            headnet_end(h, LINK_FAILED, ERR_TIMEOUT, "head: the deadline passed");
            continue;
        }
        if (!h->conn)
            continue;
        size_t step = h->conn->head->per_step, left = h->conn->out.len - h->taken - h->shown;
        size_t more = !step ? left : h->moved_ms == w->now.mono_ms ? 0 : step < left ? step : left;
        h->moved_ms = w->now.mono_ms;
        h->shown += more;
        if (more > 0)
            net_wake(&h->link);
        else if (h->conn->ended && left == 0)
            headnet_end(h, LINK_ENDED, ERR_NONE, NULL);
        moved |= more > 0;
    }
    return moved;
}

/* A millisecond at a time. */
__attribute__((unused)) static void headnet_run(struct headnet *w, int64_t ms)
{
    for (int64_t i = 0; i <= ms; i++) {
        bool moved = true;
        while (moved) {
            ray_gcs_pool_tick(w->pool, w->now);
            ray_dash_pool_tick(w->dash, w->now);
            moved = headnet_move(w);
            moved |= net_dispatch(&w->net, w->now);
        }
        if (i < ms) {
            w->now.mono_ms++;
            w->now.wall_us += 1000;
        }
    }
}

__attribute__((unused)) static void headnet_init(struct headnet *w, struct fakehead *heads, uint32_t count)
{
    static const struct net_ops ops = {headnet_open};
    *w = (struct headnet){.net = {.ops = &ops}, .now = {1000000, 1800000000000000}, .heads = heads, .count = count};
    w->pool = ray_gcs_pool_new(&w->net, 1);
    w->dash = ray_dash_pool_new(&w->net);
}

__attribute__((unused)) static void headnet_free(struct headnet *w)
{
    ray_gcs_pool_free(w->pool);
    ray_dash_pool_free(w->dash);
    CHECK_INT(w->live, 0);
}

#endif
