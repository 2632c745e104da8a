/* A client's connection: one request after the other. */
#include "private.h"

void front_leave(struct front *f)
{
    struct edge *g = f->edge;
    g->stats.evicted += f->link->error.code == ERR_LIMIT;
    if (f->call)
        edge_call_free(f->call);
    *f->back = f->next;
    if (f->next)
        f->next->back = f->back;
    g->front_count--;
    link_close(f->link);
    mem_free(f);
}

/* Whether the connection is still there. */
static bool next_call(struct front *f)
{
    struct call *c = f->call;
    bool last = c->last || f->edge->closed, known = c->own_token;
    if (c->back && c->answer.keep_alive && c->up_said == PUMP_DONE && !c->up.raw) {
        struct back *b = c->back;
        c->back = NULL;
        back_keep(b);
    }
    edge_call_free(c);
    f->call = NULL;
    if (last) {
        front_leave(f);
        return false;
    }
    f->link->worth = known ? LINK_KNOWN : LINK_ASKED;
    f->link->deadline_ms = f->edge->now.mono_ms + EDGE_QUIET_MS;
    return true;
}

/* Begins a call at the first byte of a request. The deadline of the first request began with the connection. */
static void begin(struct front *f)
{
    if (f->link->worth > LINK_STRANGER)
        f->link->deadline_ms = f->edge->now.mono_ms + EDGE_HEAD_MS;
    f->call = edge_call_new(f);
}

static void read_head(struct call *c)
{
    struct link *l = c->front->link;
    struct slice in = link_peek(l), rest = in, body;
    struct err e = {0};
    enum http_step step = http_read(&c->request, &rest, &body, &e);
    link_used(l, in.len - rest.len);
    if (step == HTTP_HEAD) {
        l->deadline_ms = TIME_NEVER;
        edge_call_begin(c);
    } else if (step == HTTP_BAD) {
        c->last = true;
        edge_call_refuse(c, e.code == ERR_LIMIT ? 431 : 400, "%s", e.text);
    }
}

static void read_form(struct call *c)
{
    struct link *l = c->front->link;
    struct slice in = link_peek(l), rest = in, body;
    struct err e = {0};
    enum http_step step = http_read(&c->request, &rest, &body, &e);
    if (step == HTTP_BODY && !buf_put(&c->form, body))
        edge_call_refuse(c, 413, "the form has more than %d bytes (LIMIT_EDGE_FORM)", LIMIT_EDGE_FORM);
    link_used(l, in.len - rest.len);
    if (step == HTTP_END)
        login_form(c);
    else if (step == HTTP_BAD)
        edge_call_refuse(c, 400, "%s", e.text);
}

/* One step of a call. False: it waits, or the connection has gone. */
static bool advance(struct front *f)
{
    struct call *c = f->call;
    struct err e = {0};
    enum call_state before = c->state;
    size_t came = link_peek(f->link).len;
    bool gone = f->link->state == LINK_FAILED || (f->link->state == LINK_ENDED && came == 0);
    if (gone && c->state < CALL_RELAY) {
        front_leave(f);
        return false;
    }
    switch (c->state) {
    case CALL_HEAD:
        read_head(c);
        return c->state != before;
    case CALL_FORM:
        read_form(c);
        return c->state != before || link_peek(f->link).len < came;
    case CALL_WAITING:
        return false;
    case CALL_RELAY:
    case CALL_TUNNEL: {
        enum relay_said said = relay_run(c);
        if (said == RELAY_OVER)
            front_leave(f);
        return said == RELAY_DONE && (c->state == CALL_ANSWER || next_call(f));
    }
    case CALL_ANSWER:
        if (f->link->state == LINK_FAILED) {
            front_leave(f);
            return false;
        }
        return pump_run(&c->down, f->link, NULL, f->link, &e) == PUMP_DONE && next_call(f);
    }
    return false;
}

void front_run(struct front *f)
{
    do {
        if (!f->call && slice_empty(link_peek(f->link))) {
            if (f->link->state != LINK_OPEN)
                front_leave(f);
            return;
        }
        if (!f->call)
            begin(f);
    } while (advance(f));
}

static void step(struct link_owner *owner, struct link *l, struct now now)
{
    struct front *f = (struct front *)owner;
    f->edge->now = now;
    if (l->state != LINK_OPENING)
        front_run(f);
}

static void accept_link(struct link_accept *a, struct link *l, struct now now)
{
    struct edge *g = (struct edge *)(void *)((char *)a - offsetof(struct edge, accept));
    if (g->closed)
        return; /* a link without an owner is closed */
    struct front *f = mem_alloc(sizeof *f);
    f->owner.step = step;
    f->edge = g;
    f->link = l;
    f->next = g->fronts;
    f->back = &g->fronts;
    if (f->next)
        f->next->back = &f->next;
    g->fronts = f;
    g->front_count++;
    l->owner = &f->owner;
    l->deadline_ms = now.mono_ms + EDGE_HEAD_MS;
}

void fronts_start(struct edge *g)
{
    g->accept = (struct link_accept){.accept = accept_link, .most = g->o.connections};
}

void fronts_drain(struct edge *g)
{
    for (struct front *f = g->fronts, *next; f; f = next) {
        next = f->next;
        if (!f->call)
            front_leave(f);
    }
}
