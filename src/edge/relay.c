/* A request on its way to an upstream, and its answer on the way back. */
#include "private.h"

/* ---- to the upstream ---- */

static void count_failure(struct call *c, enum failure what, const char *why)
{
    struct edge *g = c->front->edge;
    g->stats.failures[what]++;
    if (log_memory_pass(&g->said, hash64(c->version->authority, what), g->now))
        log_warn("an upstream failed", LF("upstream", c->version->authority), LF("version", c->version->name), LF_CSTR("error", why));
}

/* The host of the version, with the cluster's name in place of the star. */
static struct slice host_of(struct call *c)
{
    struct slice host = c->version->host;
    ptrdiff_t star = slice_find(host, '*');
    if (star < 0)
        return host;
    struct slice rest = slice_skip(host, (size_t)star + 1);
    return arena_printf(&c->arena, "%.*s%.*s%.*s", (int)star, host.ptr, SLICE_ARG(c->label), SLICE_ARG(rest));
}

static void dial(struct call *c, bool fresh)
{
    struct err e = {0};
    c->up.first = buf_slice(&c->sent);
    c->up_said = PUMP_ROOM;
    c->back = back_open(c, host_of(c), c->version->port, fresh, &e);
    if (c->back)
        return;
    count_failure(c, FAILURE_CONNECT, e.text);
    edge_call_refuse(c, 502, "the service cannot be reached at this moment");
}

void relay_open(struct call *c)
{
    c->state = CALL_RELAY;
    c->down = (struct pump){.chunked = false};
    if (c->head)
        http_reader_expect_no_body(&c->answer);
    if (c->request.expects_continue && (c->request.length > 0 || c->up.chunked))
        c->down.first = SLICE("HTTP/1.1 100 Continue\r\n\r\n");
    c->slow_until_ms = c->front->edge->now.mono_ms + EDGE_SLOW_MS;
    dial(c, false);
}

/* An idempotent request without a body is repeated once, if the upstream closed a kept connection before it answered. */
static bool may_repeat(const struct call *c)
{
    static const char *const idempotent[] = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"};
    bool whole = c->request.length <= 0 && !c->up.chunked && slice_empty(buf_slice(&c->answer.head));
    for (size_t i = 0; whole && c->back->reused && c->back->link->error.code != ERR_TIMEOUT && i < COUNT_OF(idempotent); i++)
        if (slice_is(c->request.method, idempotent[i]))
            return true;
    return false;
}

/* The upstream has gone before it has answered. */
static void lose(struct call *c)
{
    const struct link *l = c->back->link;
    bool opened = c->up.moved > 0, late = l->error.code == ERR_TIMEOUT;
    if (may_repeat(c)) {
        c->front->edge->stats.retries++;
        back_close(c->back);
        c->back = NULL;
        dial(c, true);
        return;
    }
    count_failure(c,
                  late     ? FAILURE_TIMEOUT
                  : opened ? FAILURE_CLOSED
                           : FAILURE_CONNECT,
                  l->error.code ? l->error.text : "it closed the connection before an answer");
    if (late)
        edge_call_refuse(c, 504, "the service did not answer in time");
    else
        edge_call_refuse(
            c, 502, opened ? "the service ended the connection before it had answered" : "the service cannot be reached at this moment");
}

/* ---- the answer's head ---- */

static void take_answer(struct call *c)
{
    struct err e = {0};
    bool whole = c->up_said == PUMP_DONE;
    int status = c->answer.status;
    c->last |= !whole || c->front->edge->draining; /* the rest of the request cannot be told from the next one */
    if ((status == 101 && !c->upgrade) || !head_answer(c, &e)) {
        count_failure(c, FAILURE_ANSWER, status == 101 ? "101 was not asked for" : e.text);
        edge_call_refuse(c, 502, "the answer of the service cannot be passed on");
        return;
    }
    c->front->edge->stats.codes[status]++;
    c->replied = true;
    c->down.first = buf_slice(&c->reply);
    if (status != 101)
        return;
    c->state = CALL_TUNNEL;
    c->last = true;
    c->up.raw = c->down.raw = true;
    c->up.ended = false;
    c->up_said = PUMP_SOURCE;
}

/* Reads on until the head of the answer is there. */
static void read_answer(struct call *c)
{
    struct link *l = c->back->link;
    struct slice in = link_peek(l), rest = in, body;
    struct err e = {0};
    enum http_step step = http_read(&c->answer, &rest, &body, &e);
    link_used(l, in.len - rest.len);
    if (step == HTTP_HEAD) {
        take_answer(c);
    } else if (step == HTTP_BAD) {
        count_failure(c, FAILURE_ANSWER, e.text);
        edge_call_refuse(c, 502, "the answer of the service is no HTTP/1.1");
    } else if (l->state > LINK_OPEN) {
        lose(c);
    }
}

/* ---- a turn ---- */

/* A client that is waited for must move on: its time begins again with each EDGE_SLOW_BYTES, and when it is not waited for. */
static void set_deadlines(struct call *c)
{
    struct edge *g = c->front->edge;
    int64_t now = g->now.mono_ms;
    uint64_t moved = c->up.moved + c->down.moved;
    bool waited = c->down_said == PUMP_ROOM || (c->up_said == PUMP_SOURCE && c->state == CALL_RELAY);
    if (!waited || moved >= c->slow_moved + EDGE_SLOW_BYTES) {
        c->slow_moved = moved;
        c->slow_until_ms = now + EDGE_SLOW_MS;
    }
    c->front->link->deadline_ms = waited ? c->slow_until_ms : TIME_NEVER;
    if (moved > c->moved && c->back->link->state != LINK_OPENING) {
        c->moved = moved;
        c->back->link->deadline_ms = now + (c->state == CALL_TUNNEL ? EDGE_TUNNEL_MS : g->o.answer_ms);
    }
}

/* The client's body is malformed or above the limit: it is refused unless the answer has begun. */
static bool refuse_body(struct call *c, int status, const struct err *e)
{
    if (c->replied)
        return false;
    edge_call_refuse(c, status, "%s", e->text);
    return true;
}

static bool send_up(struct call *c, bool *over)
{
    struct edge *g = c->front->edge;
    struct err e = {0};
    if (c->back->link->state == LINK_OPENING || c->up_said == PUMP_DONE)
        return true;
    c->up_said = pump_run(&c->up, c->front->link, c->up.raw ? NULL : &c->request, c->back->link, &e);
    if (c->up_said == PUMP_BAD) {
        if (e.code != ERR_CLOSED && e.code != ERR_TIMEOUT)
            *over = !refuse_body(c, e.code == ERR_LIMIT ? 431 : 400, &e);
        else
            *over = true;
        return false;
    }
    if (!c->up.raw && c->up.body > (uint64_t)g->o.body_max) {
        err_set(&e, ERR_LIMIT, "the body has more than %lld bytes (--body-max)", (long long)g->o.body_max);
        *over = !refuse_body(c, 413, &e);
        return false;
    }
    return true;
}

static void send_down(struct call *c, bool *over)
{
    struct err e = {0};
    bool body = c->replied && !c->down.raw;
    c->down_said = pump_run(&c->down, c->back->link, body ? &c->answer : NULL, c->front->link, &e);
    if (c->down_said == PUMP_BAD) {
        count_failure(c, FAILURE_ANSWER, e.text);
        *over = true; /* the client must see that the answer is not whole */
    }
}

/* Whether the answer, or the tunnel, has ended in order. */
static bool is_done(const struct call *c)
{
    return c->replied && (c->down_said == PUMP_DONE || (c->down.raw && c->up_said == PUMP_DONE));
}

enum relay_said relay_run(struct call *c)
{
    struct link *l = c->front->link;
    bool over = l->state == LINK_FAILED, again = true;
    while (!over && again && c->back) {
        again = false;
        if (!send_up(c, &over))
            break;
        send_down(c, &over);
        if (!over && !c->replied && c->down_said == PUMP_DONE) {
            read_answer(c);
            again = c->replied;
        }
    }
    if (over)
        return RELAY_OVER;
    if (c->state == CALL_ANSWER || is_done(c))
        return RELAY_DONE;
    if (!c->down.raw && l->state == LINK_ENDED && slice_empty(link_peek(l)))
        return RELAY_OVER; /* the client has gone: nobody waits for the answer */
    set_deadlines(c);
    return RELAY_WAITS;
}
