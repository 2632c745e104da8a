/* Connections to upstreams. Idle ones are kept for a while; one on which anything happens meanwhile is closed. */
#include "private.h"

static void take_out(struct back *b)
{
    *b->before = b->next;
    if (b->next)
        b->next->before = b->before;
    b->edge->idle_count--;
}

void back_close(struct back *b)
{
    if (!b->call)
        take_out(b);
    link_close(b->link);
    mem_free(b);
}

static bool is_usable(const struct back *b)
{
    return b->link->state == LINK_OPEN && slice_empty(link_peek(b->link));
}

static void step(struct link_owner *owner, struct link *l, struct now now)
{
    struct back *b = (struct back *)owner;
    b->edge->now = now;
    (void)l;
    if (b->call)
        front_run(b->call->front);
    else if (!is_usable(b))
        back_close(b);
}

static struct back *back_idle(struct edge *g, struct slice host, uint16_t port)
{
    for (struct back *b = g->idle; b; b = b->next)
        if (b->port == port && slice_is(host, b->host) && is_usable(b))
            return b;
    return NULL;
}

struct back *back_open(struct call *c, struct slice host, uint16_t port, bool fresh, struct err *e)
{
    struct edge *g = c->front->edge;
    struct back *b = fresh ? NULL : back_idle(g, host, port);
    if (b) {
        take_out(b);
        b->call = c;
        b->reused = true;
        b->link->deadline_ms = g->now.mono_ms + g->o.answer_ms;
        return b;
    }
    b = mem_alloc(sizeof *b + host.len + 1);
    b->owner.step = step;
    b->edge = g;
    b->call = c;
    b->port = port;
    memcpy(b->host, host.ptr, host.len);
    const struct endpoint to = {.host = host, .port = port};
    b->link = net_open(g->net, &to, &b->owner, g->now.mono_ms + EDGE_CONNECT_MS, e);
    if (b->link)
        return b;
    mem_free(b);
    return NULL;
}

void back_keep(struct back *b)
{
    struct edge *g = b->edge;
    if (!is_usable(b) || g->closed) {
        back_close(b);
        return;
    }
    if (g->idle_count == LIMIT_EDGE_IDLE) {
        struct back *oldest = g->idle;
        while (oldest->next)
            oldest = oldest->next;
        back_close(oldest);
    }
    b->call = NULL;
    b->next = g->idle;
    b->before = &g->idle;
    if (b->next)
        b->next->before = &b->next;
    g->idle = b;
    g->idle_count++;
    b->link->deadline_ms = g->now.mono_ms + EDGE_POOL_MS;
}

void backs_free(struct edge *g)
{
    while (g->idle)
        back_close(g->idle);
}
