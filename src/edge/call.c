/* A request: from its head to a route, through the route's guard to the upstream, or to an answer of our own. */
#include "private.h"

#include <stdio.h>

enum { WORDS_MAX = 512, KEPT = 4 * KIB };

static struct call *make(void)
{
    struct call *c = mem_alloc(sizeof *c);
    http_reader_init(&c->request, HTTP_REQUESTS);
    http_reader_init(&c->answer, HTTP_RESPONSES);
    buf_init(&c->sent, LIMIT_EDGE_HEAD);
    buf_init(&c->reply, LIMIT_EDGE_HEAD + WORDS_MAX);
    buf_init(&c->form, LIMIT_EDGE_FORM);
    return c;
}

/* Calls that have ended are kept with their buffers, so that the next requests need no memory from the system. */
struct call *edge_call_new(struct front *f)
{
    struct edge *g = f->edge;
    struct call *c = g->spare;
    if (c) {
        g->spare = c->next_waiting;
        g->spare_count--;
    } else {
        c = make();
    }
    c->next_waiting = NULL;
    c->front = f;
    c->request.relay = c->answer.relay = c->answer.encoded = true;
    return c;
}

static void destroy(struct call *c)
{
    http_reader_free(&c->request);
    http_reader_free(&c->answer);
    buf_free(&c->sent);
    buf_free(&c->reply);
    buf_free(&c->form);
    arena_free(&c->arena);
    mem_free(c);
}

void edge_calls_free(struct edge *g)
{
    for (struct call *c = g->spare, *next; c; c = next) {
        next = c->next_waiting;
        destroy(c);
    }
}

/* Empties a reader, whose head may hold a token. */
static void empty_reader(struct http_reader *r)
{
    struct buf head = r->head;
    mem_wipe(head.ptr, head.len);
    buf_shrink(&head, KEPT);
    r->head = (struct buf){0};
    http_reader_init(r, r->side);
    r->head = head;
}

static void empty(struct buf *b)
{
    mem_wipe(b->ptr, b->len);
    buf_shrink(b, KEPT);
}

void edge_call_free(struct call *c)
{
    struct edge *g = c->front->edge;
    edge_auth_forget(c);
    if (c->back)
        back_close(c->back);
    if (c->state > CALL_HEAD)
        g->busy--;
    config_drop(c->config);
    empty_reader(&c->request);
    empty_reader(&c->answer);
    struct call clean = {
        .request = c->request, .answer = c->answer, .sent = c->sent, .reply = c->reply, .form = c->form, .arena = c->arena};
    if (c->form.len) /* the arena has the form's token and the cookie */
        arena_wipe(&clean.arena);
    empty(&clean.sent);
    empty(&clean.reply);
    empty(&clean.form);
    arena_reset(&clean.arena, KEPT);
    *c = clean;
    if (g->spare_count == LIMIT_EDGE_SPARE) {
        destroy(c);
        return;
    }
    c->next_waiting = g->spare;
    g->spare = c;
    g->spare_count++;
}

/* ---- answers of our own ---- */

void edge_call_answer(struct call *c, int status, const struct http_header *headers, size_t count, struct slice body)
{
    enum { MOST = 8 };
    struct http_header all[MOST + 1];
    bool bodiless = c->state != CALL_HEAD && c->request.length <= 0 && !http_header_get(&c->request, SLICE("transfer-encoding")).ptr;
    for (size_t i = 0; i < count; i++)
        all[i] = headers[i];
    if (c->back)
        back_close(c->back);
    c->back = NULL;
    edge_auth_forget(c);
    c->front->edge->busy += c->state == CALL_HEAD;
    c->last |= !bodiless; /* the rest of the request stays unread */
    if (c->last)
        all[count++] = (struct http_header){SLICE("Connection"), SLICE("close")};
    buf_clear(&c->reply);
    if (!http_write_response(&c->reply, status, all, count, &body)) {
        buf_clear(&c->reply);
        c->last = true;
        http_write_response(&c->reply, status = 500, &(struct http_header){SLICE("Connection"), SLICE("close")}, 1, &SLICE(""));
    } else if (c->head) {
        c->reply.len -= body.len;
    }
    c->front->edge->stats.codes[status]++;
    c->replied = true;
    c->down = (struct pump){.first = buf_slice(&c->reply)};
    c->front->link->deadline_ms = c->front->edge->now.mono_ms + EDGE_SLOW_MS;
    c->state = CALL_ANSWER;
}

void edge_call_refuse(struct call *c, int status, const char *fmt, ...)
{
    char words[WORDS_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(words, sizeof words - 1, fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof words - 1 ? (size_t)n : sizeof words - 2;
    words[len++] = '\n';
    struct http_header headers[] = {{SLICE("Content-Type"), SLICE("text/plain; charset=utf-8")},
                                    {SLICE("Cache-Control"), SLICE("no-store")},
                                    {SLICE("Retry-After"), SLICE("1")},
                                    {SLICE("WWW-Authenticate"), SLICE("Bearer")}};
    bool later = status == 429 || status == 503;
    if (status == 401)
        headers[2] = headers[3];
    edge_call_answer(c, status, headers, later || status == 401 ? 3 : 2, (struct slice){words, len});
}

/* ---- a head has come ---- */

/* Tunnels are for WebSocket alone: with h2c a client would ask for more behind the guard's back. */
static bool is_upgrade(const struct http_reader *r)
{
    return slice_is(r->method, "GET") && r->minor == 1 && r->length <= 0 && !http_header_get(r, SLICE("transfer-encoding")).ptr &&
           head_lists(http_header_get(r, SLICE("connection")), SLICE("upgrade")) &&
           slice_eq_nocase(http_header_get(r, SLICE("upgrade")), SLICE("websocket"));
}

/* Ray's dashboards kill actors for a GET, and older ones by another path. */
static bool is_reading(const struct call *c, struct slice path)
{
    struct slice m = c->request.method;
    return !c->upgrade && (slice_is(m, "GET") || slice_is(m, "HEAD") || slice_is(m, "OPTIONS")) &&
           !slice_ends(path, SLICE("/actors/kill")) && !slice_ends(path, SLICE("/kill_actor"));
}

static bool is_too_large(const struct call *c)
{
    return c->request.length > c->front->edge->o.body_max;
}

static bool read_place(struct call *c, struct place_asked *asked)
{
    const struct http_reader *r = &c->request;
    struct err e = {0};
    if (slice_is(r->method, "CONNECT") || slice_is(r->method, "TRACE"))
        edge_call_refuse(c, 405, "%.*s is not passed on", SLICE_ARG(r->method));
    else if (!asked_read(r->target, http_header_get(r, SLICE("host")), &c->arena, asked, &e))
        edge_call_refuse(c, 400, "%s", e.text);
    return c->state == CALL_WAITING;
}

void edge_call_begin(struct call *c)
{
    static void (*const guards[])(struct call * c) = {[GUARD_NONE] = guard_none, [GUARD_USERS] = guard_user, [GUARD_TOKEN] = guard_token};
    struct edge *g = c->front->edge;
    struct place_asked asked;
    c->state = CALL_WAITING;
    g->busy++;
    if (c->front->link->worth < LINK_ASKED)
        c->front->link->worth = LINK_ASKED;
    c->head = slice_is(c->request.method, "HEAD");
    c->upgrade = is_upgrade(&c->request);
    c->last = !c->request.keep_alive || c->request.minor == 0 || g->draining;
    if (g->busy > g->accept.most - g->accept.most / 4) {
        edge_call_refuse(c, 503, "too many requests are under way: at most %u", g->accept.most - g->accept.most / 4);
        return;
    }
    if (!read_place(c, &asked))
        return;
    c->reading = is_reading(c, asked.path);
    if (g->config && g->config->has_users && login_is(asked.path)) {
        login_begin(c);
        return;
    }
    c->route = g->config ? route_find(g->config, &asked, &c->label) : NULL;
    if (!c->route) {
        edge_call_refuse(c, 404, "no route leads to host \"%.*s\" and this path", SLICE_ARG(slice_head(asked.host, LIMIT_NET_HOST)));
        return;
    }
    c->config = g->config;
    c->config->users++;
    if (is_too_large(c))
        edge_call_refuse(c, 413, "the body has %lld bytes: at most %lld (--body-max)", (long long)c->request.length,
                         (long long)g->o.body_max);
    else
        guards[c->route->guard](c);
}

/* ---- the guard lets it pass ---- */

/* The header that pins a version: our own, or the one that Anyscale's services have. */
static struct slice pinned_version(const struct http_reader *r)
{
    struct slice name = http_header_get(r, SLICE("x-mobula-version"));
    return slice_empty(name) ? http_header_get(r, SLICE("x-anyscale-version")) : name;
}

void edge_call_forward(struct call *c)
{
    struct slice pinned = pinned_version(&c->request), target;
    struct err e = {0};
    c->front->link->worth = LINK_SERVED;
    c->version = route_version(c->route, pinned);
    if (!c->version)
        edge_call_refuse(c, 404, "this service has no version \"%.*s\"", SLICE_ARG(slice_head(pinned, 100)));
    else if (!route_target(c->route, c->request.target, &c->arena, &target))
        edge_call_refuse(c, 400, "the path must begin with %.*s as it is written in the route", SLICE_ARG(c->route->path));
    else if (!head_request(c, target, &e))
        edge_call_refuse(c, 431, "%s", e.text);
    else
        relay_open(c);
}
