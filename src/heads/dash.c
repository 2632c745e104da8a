/* A call to a dashboard is a connection: it opens, the request goes out, the answer comes, and that is the end of both. */
#include <mobula/heads.h>

struct ray_dash_pool {
    struct net *net;
    struct dash *first, *last; /* in the order in which they were asked */
    struct dash *closed;       /* freed by the next tick, when no step can stand inside them */
    struct ray_turns turns;
    struct arena scratch;
};

struct dash {
    struct link_owner owner; /* first */
    struct ray_dash_pool *pool;
    struct dash *prev, *next;
    enum ray_dash_call call;
    ray_dash_done *done; /* NULL: over */
    void *user;
    uint64_t tag;
    char *host;
    uint16_t port;
    struct ray_turn turn;
    struct link *link; /* NULL: it waits for its turn */
    struct buf request;
    struct slice unsent;
    bool sent;
    struct http_reader reader;
    int status;
    struct buf body;
    struct ray_log log;
    ray_dash_text *show; /* NULL: the end of the log is kept instead */
    struct ray_log_text text;
    uint64_t step; /* bytes of log since the deadline was set */
};

enum { REQUEST_MAX = LIMIT_JSON_ITEM + LIMIT_RAY_TOKEN + 8 * KIB, SCRATCH_KEPT = 64 * KIB };

static struct dash *dash_new(struct ray_dash_pool *p, const struct ray_dash_to *to, enum ray_dash_call call)
{
    struct dash *d = mem_alloc(sizeof *d);
    d->pool = p;
    d->call = call;
    d->done = to->done;
    d->user = to->owner;
    d->tag = to->tag;
    d->host = mem_alloc(to->host.len + 1);
    memcpy(d->host, to->host.ptr, to->host.len);
    d->port = to->port;
    d->show = to->text;
    buf_init(&d->request, REQUEST_MAX);
    buf_init(&d->body, LIMIT_RAY_DASH);
    ray_log_init(&d->log);
    http_reader_init(&d->reader, HTTP_RESPONSES);
    return d;
}

static void dash_free(struct dash *d)
{
    buf_wipe(&d->request); /* it holds the token */
    buf_free(&d->body);
    ray_log_free(&d->log);
    http_reader_free(&d->reader);
    mem_free(d->host);
    mem_free(d);
}

/* Out of the queue; freed later. */
static void dash_close(struct dash *d)
{
    struct ray_dash_pool *p = d->pool;
    if (d->link)
        link_close(d->link);
    ray_turn_leave(&p->turns, &d->turn);
    d->link = NULL;
    d->done = NULL;
    *(d->prev ? &d->prev->next : &p->first) = d->next;
    *(d->next ? &d->next->prev : &p->last) = d->prev;
    d->next = p->closed;
    p->closed = d;
}

/* ---- the end of a call ---- */

static void tell(struct dash *d, struct ray_dash_answer *a, struct now now)
{
    struct ray_dash_pool *p = d->pool;
    ray_dash_done *done = d->done;
    bool v6 = strchr(d->host, ':') != NULL;
    if (a->err.code != ERR_NONE && a->outcome < RAY_DASH_UNSENT) /* errors of the link say it themselves */
        err_wrap(&a->err, v6 ? "[%s]:%u" : "%s:%u", d->host, d->port);
    dash_close(d);
    done(d->user, d->tag, a, now);
    buf_free(&d->body);
    ray_log_free(&d->log);
    arena_reset(&p->scratch, SCRATCH_KEPT);
}

static void lost(struct dash *d, const struct err *why, struct now now)
{
    struct ray_dash_answer a = {.call = d->call, .outcome = d->sent ? RAY_DASH_LOST : RAY_DASH_UNSENT, .err = *why};
    tell(d, &a, now);
}

/* The answer is no good: too long, or no HTTP. */
static void broken(struct dash *d, const struct err *why, struct now now)
{
    struct ray_dash_answer a = {.call = d->call, .outcome = RAY_DASH_FAILED, .err = *why, .http_status = d->status};
    tell(d, &a, now);
}

static void answered(struct dash *d, struct now now)
{
    struct ray_dash_answer a;
    bool cut = false, log = d->call == RAY_DASH_LOG && d->status == 200;
    struct slice body = log ? ray_log_end(&d->log, &cut) : buf_slice(&d->body);
    if (log && d->show)
        body = ray_log_text_whole(&d->text) ? SLICE("{\"logs\":null}") : SLICE("");
    ray_dash_read(d->call, d->status, body, cut, &d->pool->scratch, &a);
    tell(d, &a, now);
}

/* ---- steps ---- */

/* While enough of a log comes it may go on: how long that takes is the log's business. */
static bool show(struct dash *d, struct slice piece, struct now now, struct err *e)
{
    char out[RAY_LOG_TEXT];
    size_t n;
    bool well = true;
    d->step += piece.len;
    while (well && !slice_empty(piece)) {
        well = ray_log_text_read(&d->text, &piece, out, &n);
        if (n)
            d->show(d->user, d->tag, (struct slice){out, n});
    }
    if (d->step >= RAY_LOG_STEP) {
        d->step = 0;
        d->link->deadline_ms = now.mono_ms + RAY_DASH_MS;
    }
    return well || err_set(e, ERR_SYNTAX, "the dashboard's answer cannot be read: it is no log");
}

static bool keep(struct dash *d, struct slice piece, struct now now, struct err *e)
{
    if (d->call == RAY_DASH_LOG && d->status == 200 && d->show)
        return show(d, piece, now, e);
    if (d->call != RAY_DASH_LOG || d->status != 200)
        return buf_put(&d->body, piece) ||
               err_set(e, ERR_LIMIT, "the dashboard's answer is longer than %d bytes (LIMIT_RAY_DASH)", LIMIT_RAY_DASH);
    ray_log_add(&d->log, piece);
    return d->log.total <= LIMIT_RAY_LOG_ALL ||
           err_set(e, ERR_LIMIT, "the log is longer than %d bytes (LIMIT_RAY_LOG_ALL)", LIMIT_RAY_LOG_ALL);
}

/* One step of the reader. Whether there may be another one. */
static bool read_some(struct dash *d, struct now now)
{
    struct slice in = link_peek(d->link), body = SLICE_NONE;
    struct err e = {0};
    size_t had = in.len;
    enum http_step step = http_read(&d->reader, &in, &body, &e);
    if (step == HTTP_HEAD)
        d->status = d->reader.status;
    bool kept = step != HTTP_BODY || keep(d, body, now, &e);
    link_used(d->link, had - in.len);
    if (step == HTTP_BAD || !kept) {
        broken(d, &e, now);
        return false;
    }
    if (step == HTTP_END) {
        answered(d, now);
        return false;
    }
    return step != HTTP_MORE || had > 0;
}

static void read_end(struct dash *d, struct now now)
{
    struct err e = {0};
    if (d->link->state == LINK_FAILED) {
        e = d->link->error;
        lost(d, &e, now);
        return;
    }
    if (http_read_end(&d->reader, &e) == HTTP_END) {
        answered(d, now);
        return;
    }
    err_set(&e, ERR_CLOSED, "the dashboard closed the connection before it answered");
    lost(d, &e, now);
}

static void dash_step(struct link_owner *owner, struct link *l, struct now now)
{
    struct dash *d = (struct dash *)owner;
    if (d->link != l || l->state == LINK_OPENING)
        return;
    if (l->state == LINK_OPEN && !slice_empty(d->unsent)) {
        d->sent = true;
        link_put(l, &d->unsent);
    }
    while (d->link == l && read_some(d, now))
        ;
    if (d->link == l && (l->state == LINK_ENDED || l->state == LINK_FAILED))
        read_end(d, now);
}

/* ---- the pool ---- */

static void begin(void *call, struct now now)
{
    struct dash *d = call;
    const struct endpoint to = {.host = slice_of(d->host), .port = d->port};
    struct err e = {0};
    d->owner.step = dash_step;
    d->unsent = buf_slice(&d->request);
    d->link = net_open(d->pool->net, &to, &d->owner, now.mono_ms + RAY_DASH_MS, &e);
    if (!d->link)
        lost(d, &e, now);
}

struct ray_dash_pool *ray_dash_pool_new(struct net *net)
{
    struct ray_dash_pool *p = mem_alloc(sizeof *p);
    p->net = net;
    p->turns = (struct ray_turns){.most = RAY_DASH_LINKS, .most_doubtful = RAY_DASH_LINKS_DOUBTFUL, .begin = begin};
    return p;
}

static void reap(struct ray_dash_pool *p)
{
    for (struct dash *d; (d = p->closed) != NULL;) {
        p->closed = d->next;
        dash_free(d);
    }
}

void ray_dash_pool_free(struct ray_dash_pool *p)
{
    if (!p)
        return;
    while (p->first)
        dash_close(p->first);
    reap(p);
    arena_free(&p->scratch);
    mem_free(p);
}

int64_t ray_dash_pool_tick(struct ray_dash_pool *p, struct now now)
{
    reap(p);
    return ray_turns_tick(&p->turns, now);
}

/* ---- asking ---- */

static bool form(struct dash *d, const struct ray_dash_request *r, struct arena *a, struct err *e)
{
    struct http_header headers[5] = {
        {SLICE("User-Agent"), SLICE("mobula/" MOBULA_VERSION)},
        {SLICE("Accept-Encoding"), SLICE("identity")},
        {SLICE("Connection"), SLICE("close")},
    };
    size_t count = 3;
    const char *method = ray_dash_method(r->call);
    bool body = !slice_empty(r->body);
    bool v6 = strchr(d->host, ':') != NULL;
    if (body)
        headers[count++] = (struct http_header){SLICE("Content-Type"), SLICE("application/json")};
    if (!slice_empty(r->token))
        headers[count++] = ray_dash_token(r->token, false, a);
    struct slice path = ray_dash_path(r, SLICE_NONE, SLICE_NONE, 0, a);
    struct slice host = arena_printf(a, v6 ? "[%s]:%u" : "%s:%u", d->host, d->port);
    buf_room(&d->request, r->body.len + r->token.len + 1 * KIB); /* all at once: growing would leave a copy of the token behind */
    if (path.ptr && http_write_request(&d->request, slice_of(method), path, host, headers, count, strcmp(method, "GET") ? &r->body : NULL))
        return true;
    return err_set(e, ERR_CONFIG, "the request to the dashboard is malformed or too large");
}

bool ray_dash_ask(struct ray_dash_pool *p, const struct ray_dash_to *to, const struct ray_dash_request *r, struct err *e)
{
    if (slice_empty(to->host) || to->host.len > LIMIT_NET_HOST || r->token.len > LIMIT_RAY_TOKEN)
        return err_set(e, ERR_CONFIG, "a dashboard has a host name or an address, and a token of at most %d bytes (LIMIT_RAY_TOKEN)",
                       LIMIT_RAY_TOKEN);
    struct arena a = {0};
    struct dash *d = dash_new(p, to, r->call);
    bool ok = form(d, r, &a, e) && ray_turn_enter(&p->turns, &d->turn, to->host, to->port, r->doubtful, e);
    arena_wipe(&a); /* the head's token is in it */
    if (!ok) {
        dash_free(d);
        return false;
    }
    d->turn.call = d;
    d->prev = p->last;
    *(p->last ? &p->last->next : &p->first) = d;
    p->last = d;
    return true;
}

uint64_t ray_dash_pool_looked(const struct ray_dash_pool *p)
{
    return p->turns.looked;
}

void ray_dash_forget(struct ray_dash_pool *p, const void *owner)
{
    for (struct dash *d = p->first, *next; d; d = next) {
        next = d->next;
        if (d->user == owner)
            dash_close(d);
    }
}
