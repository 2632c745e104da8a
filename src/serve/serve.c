#include <mobula/serve.h>

enum conn_state {
    CONN_IDLE,    /* no byte of a request has come */
    CONN_READING, /* the head, or the body */
    CONN_WAITING, /* the owner has the request */
    CONN_WRITING, /* the answer is being sent */
};

struct conn {
    struct link_owner owner; /* first */
    struct serve_ask ask;
    struct serve *of;
    struct link *link;
    struct http_reader reader;
    struct buf body, answer;
    size_t sent;    /* bytes of the answer; "100 Continue" before it is one too */
    size_t counted; /* bytes of the body in stats.bytes */
    size_t owed;    /* bytes of the answer in stats.answers */
    enum conn_state state;
    bool last; /* the connection ends with this answer */
    struct conn *next, **back;
};

struct serve {
    struct link_accept accept; /* first */
    struct serve_options o;
    struct serve_stats stats;
    struct conn *conns;
    struct log_limit log;
    bool stopping;
};

static void count_body(struct conn *c, size_t bytes)
{
    c->of->stats.bytes += bytes - c->counted;
    c->counted = bytes;
}

static void count_answer(struct conn *c, size_t bytes)
{
    c->of->stats.answers += bytes - c->owed;
    c->owed = bytes;
}

static void leave(struct conn *c)
{
    struct serve *s = c->of;
    if (c->state == CONN_WAITING) {
        s->stats.waiting--;
        if (s->o.user->gone)
            s->o.user->gone(s->o.owner, &c->ask);
    }
    *c->back = c->next;
    if (c->next)
        c->next->back = c->back;
    s->stats.connections--;
    count_body(c, 0);
    count_answer(c, 0);
    link_close(c->link);
    http_reader_free(&c->reader);
    buf_free(&c->body);
    buf_free(&c->answer);
    mem_free(c);
}

/* ---- answers ---- */

/* A HEAD is answered with the head alone, and its length is that of the body which is left out. */
static bool write_answer(struct conn *c, int status, const struct http_header *headers, size_t count, struct slice body)
{
    enum { HEADERS_MAX = 8 };
    struct http_header all[HEADERS_MAX + 1];
    if (count > HEADERS_MAX)
        return false;
    if (count)
        memcpy(all, headers, count * sizeof *headers);
    if (c->last)
        all[count++] = (struct http_header){SLICE("Connection"), SLICE("close")};
    bool written = http_write_response(&c->answer, status, all, count, &body);
    if (written && slice_is(c->reader.method, "HEAD"))
        c->answer.len -= body.len;
    return written;
}

static struct conn *conn_of(struct serve_ask *q)
{
    return (struct conn *)(void *)((char *)q - offsetof(struct conn, ask));
}

void serve_trust(struct serve_ask *q, bool known)
{
    conn_of(q)->link->worth = known ? LINK_SERVED : LINK_ASKED;
}

void serve_drop_body(struct serve_ask *q)
{
    struct conn *c = conn_of(q);
    count_body(c, 0);
    buf_free(&c->body);
    q->body = SLICE_NONE;
}

/* Closes connections that are slow to read their answers while all answers together exceed answers_max bytes: a client that reads takes
 * milliseconds. */
static void make_room(struct serve *s, const struct conn *but, struct now now)
{
    while (s->o.answers_max && s->stats.answers > s->o.answers_max) {
        struct conn *slow = NULL;
        for (struct conn *c = s->conns; c; c = c->next)
            if (c != but && c->state == CONN_WRITING && (!slow || c->link->deadline_ms < slow->link->deadline_ms))
                slow = c;
        if (!slow)
            return;
        if (log_limit_pass(&s->log, now))
            log_warn("clients do not take their answers: the connection that has waited longest is closed",
                     LF_INT("bytes", s->stats.answers), LF_INT("most", s->o.answers_max));
        leave(slow);
    }
}

void serve_answer(struct serve_ask *q, int status, const struct http_header *headers, size_t count, struct slice body, struct now now)
{
    struct conn *c = conn_of(q);
    struct serve *s = c->of;
    c->last |= s->o.idle_ms == 0 || s->stopping || !c->reader.keep_alive;
    /* with more than o.each / 2 connections open, those of unknown callers end with their answer: idle, they would take up places */
    c->last |= s->o.each && c->link->worth < LINK_KNOWN && s->stats.connections > s->o.each / 2;
    if (!write_answer(c, status, headers, count, body)) {
        log_error("an answer could not be written", LF_INT("status", status), LF_INT("bytes", body.len));
        c->answer.full = false;
        c->last = true;
        write_answer(c, 500, NULL, 0, SLICE_NONE);
    }
    s->stats.waiting -= c->state == CONN_WAITING;
    if (c->link->worth == LINK_SERVED)
        c->link->worth = LINK_KNOWN;
    serve_drop_body(q);
    c->state = CONN_WRITING;
    c->link->deadline_ms = now.mono_ms + s->o.answer_ms;
    count_answer(c, c->answer.len);
    make_room(s, c, now);
    net_wake(c->link);
}

/* ---- requests ---- */

static void begin_ask(struct conn *c)
{
    c->ask =
        (struct serve_ask){.head = &c->reader, .body = buf_slice(&c->body), .peer = c->link->peer ? slice_of(c->link->peer) : SLICE("")};
}

/* Returns false, as nothing more can be read. */
static bool refuse(struct conn *c, int status, const struct err *why, struct now now)
{
    struct serve *s = c->of;
    s->stats.bad++;
    c->last = true;
    begin_ask(c);
    if (s->o.user->bad)
        s->o.user->bad(s->o.owner, &c->ask, status, why, now);
    else
        serve_answer(&c->ask, status, NULL, 0, SLICE_NONE, now);
    return false;
}

static void hand_over(struct conn *c, struct now now)
{
    struct serve *s = c->of;
    s->stats.requests++;
    s->stats.waiting++;
    c->state = CONN_WAITING;
    c->link->deadline_ms = TIME_NEVER;
    if (c->link->worth < LINK_ASKED)
        c->link->worth = LINK_ASKED;
    begin_ask(c);
    s->o.user->ask(s->o.owner, &c->ask, now);
}

static bool check_memory(struct conn *c, struct now now)
{
    struct err e = {0};
    if (c->of->stats.bytes <= c->of->o.bodies_max)
        return true;
    err_set(&e, ERR_LIMIT, "too many requests are being read at this moment");
    return refuse(c, 503, &e, now);
}

static bool refuse_body(struct conn *c, struct now now)
{
    struct err e = {0};
    err_set(&e, ERR_LIMIT, "the body of a request has at most %zu bytes", c->of->o.body_max);
    return refuse(c, 413, &e, now);
}

/* The memory of a body is spoken for by its length, before it comes. */
static bool take_head(struct conn *c, struct now now)
{
    size_t length = c->reader.length > 0 ? (size_t)c->reader.length : 0, most = c->of->o.body_max;
    bool chunked = http_header_get(&c->reader, SLICE("transfer-encoding")).ptr != NULL;
    if (most == 0 && (length || chunked)) {
        c->last = true;
        hand_over(c, now);
        return false;
    }
    if (length > most)
        return refuse_body(c, now);
    c->link->deadline_ms = now.mono_ms + c->of->o.request_ms;
    count_body(c, length);
    if (!check_memory(c, now))
        return false;
    if (c->reader.expects_continue && (length || chunked))
        buf_put(&c->answer, SLICE("HTTP/1.1 100 Continue\r\n\r\n"));
    return true;
}

static bool take_body(struct conn *c, struct slice piece, struct now now)
{
    if (!buf_put(&c->body, piece))
        return refuse_body(c, now);
    if (c->body.len > c->counted)
        count_body(c, c->body.len);
    return check_memory(c, now);
}

/* Reads one step further. False: nothing more can be read now; *over: the connection is of no use any more. */
static bool read_step(struct conn *c, struct now now, bool *over)
{
    struct err e = {0};
    struct slice in = link_peek(c->link), rest = in, body;
    if (c->state == CONN_IDLE && !slice_empty(in)) {
        if (c->reader.head.len || c->reader.method.ptr) /* not the first request, which has had its time since the begin */
            c->link->deadline_ms = now.mono_ms + c->of->o.request_ms;
        c->state = CONN_READING;
    }
    enum http_step step = http_read(&c->reader, &rest, &body, &e);
    bool more = false;
    switch (step) {
    case HTTP_MORE:
        *over = c->link->state != LINK_OPEN;
        break;
    case HTTP_HEAD:
        more = take_head(c, now);
        break;
    case HTTP_BODY:
        more = take_body(c, body, now);
        break;
    case HTTP_END:
        hand_over(c, now);
        break;
    case HTTP_BAD:
        refuse(c, e.code == ERR_LIMIT ? 431 : 400, &e, now);
        break;
    }
    if (!*over)
        link_used(c->link, in.len - rest.len);
    return more;
}

/* Whether all that is to be sent has been. */
static bool send_answer(struct conn *c)
{
    struct slice left = slice_skip(buf_slice(&c->answer), c->sent);
    bool sent = slice_empty(left) || link_put(c->link, &left);
    c->sent = c->answer.len - left.len;
    return sent;
}

/* The answer has been taken: the next request, or the end. */
static bool next_request(struct conn *c, struct now now)
{
    if (c->last)
        return false;
    buf_shrink(&c->answer, 0);
    count_answer(c, 0);
    c->sent = 0;
    c->state = CONN_IDLE;
    c->link->deadline_ms = now.mono_ms + c->of->o.idle_ms;
    return true;
}

/* Whether the connection goes on. A client that has nothing more to say may still listen. */
static bool advance(struct conn *c, struct now now)
{
    bool over = false;
    while (!over && c->link->state != LINK_FAILED) {
        bool sent = send_answer(c);
        if (c->state == CONN_WAITING || (c->state == CONN_WRITING && !sent))
            return true;
        if (c->state == CONN_WRITING && !next_request(c, now))
            return false;
        if (!read_step(c, now, &over) && c->state < CONN_WAITING)
            return !over;
    }
    return false;
}

static void step(struct link_owner *owner, struct link *l, struct now now)
{
    struct conn *c = (struct conn *)owner;
    if (l->state != LINK_OPENING && !advance(c, now))
        leave(c);
}

static void accept_link(struct link_accept *a, struct link *l, struct now now)
{
    struct serve *s = (struct serve *)a;
    if (s->stopping)
        return; /* a link without an owner is closed */
    struct conn *c = mem_alloc(sizeof *c);
    c->owner.step = step;
    c->of = s;
    c->link = l;
    http_reader_init(&c->reader, HTTP_REQUESTS);
    buf_init(&c->body, s->o.body_max);
    buf_init(&c->answer, LIMIT_SERVE_ANSWER + LIMIT_HTTP_HEAD);
    c->next = s->conns;
    c->back = &s->conns;
    if (c->next)
        c->next->back = &c->next;
    s->conns = c;
    s->stats.connections++;
    l->owner = &c->owner;
    l->deadline_ms = now.mono_ms + (s->o.head_ms ? s->o.head_ms : s->o.request_ms);
}

/* ---- life ---- */

struct serve *serve_new(const struct serve_options *o)
{
    struct serve *s = mem_alloc(sizeof *s);
    s->accept = (struct link_accept){.accept = accept_link, .most = o->connections, .most_each = o->each};
    s->o = *o;
    return s;
}

void serve_free(struct serve *s)
{
    if (!s)
        return;
    while (s->conns)
        leave(s->conns);
    mem_free(s);
}

void serve_stop(struct serve *s)
{
    s->stopping = true;
    for (struct conn *c = s->conns, *next; c; c = next) {
        next = c->next;
        if (c->state == CONN_IDLE)
            leave(c);
    }
}

struct link_accept *serve_accept(struct serve *s)
{
    return &s->accept;
}

const struct serve_stats *serve_stats(const struct serve *s)
{
    return &s->stats;
}
