/* The HTTP server: whole requests within limits, answers at once or later, one after the other on a connection that is kept. */
#include "../test.h"

#include <mobula/serve.h>

enum { BODY = 100, ROOM = 64 * KIB };

/* A client's end of a link. */
struct visitor {
    struct link link; /* first */
    struct buf in, out;
    size_t room;
    bool closed;
    char scratch[4096];
};

struct rig {
    struct net net;
    struct now now;
    struct serve *serve;
    struct serve_ask *held[4];
    unsigned count, gone, bad;
    bool hold; /* asks are kept */
};

static struct slice visitor_peek(struct link *l)
{
    return buf_slice(&((struct visitor *)l)->in);
}

static void visitor_used(struct link *l, size_t n)
{
    buf_drop(&((struct visitor *)l)->in, n);
}

static char *visitor_room(struct link *l, size_t *n)
{
    struct visitor *v = (struct visitor *)l;
    *n = v->room < sizeof v->scratch ? v->room : sizeof v->scratch;
    return v->scratch;
}

static void visitor_wrote(struct link *l, size_t n)
{
    struct visitor *v = (struct visitor *)l;
    buf_put(&v->out, (struct slice){v->scratch, n});
    v->room -= n;
    net_wake(l);
}

static void visitor_close(struct link *l)
{
    net_forget(l);
    ((struct visitor *)l)->closed = true;
}

static const struct link_ops visitor_ops = {visitor_peek, visitor_used, visitor_room, visitor_wrote, visitor_close};

static void on_ask(void *owner, struct serve_ask *q, struct now now)
{
    struct rig *r = owner;
    if (r->hold) {
        r->held[r->count++] = q;
        q->state = r;
        return;
    }
    const struct http_header type = {SLICE("Content-Type"), SLICE("text/plain")};
    serve_answer(q, 200, &type, 1, slice_empty(q->body) ? q->head->target : q->body, now);
}

static void on_bad(void *owner, struct serve_ask *q, int status, const struct err *why, struct now now)
{
    ((struct rig *)owner)->bad++;
    serve_answer(q, status, NULL, 0, slice_of(why->text), now);
}

static void on_gone(void *owner, struct serve_ask *q)
{
    struct rig *r = owner;
    CHECK(q->state == r);
    r->gone++;
}

static const struct serve_user user = {on_ask, on_bad, on_gone};

static void start(struct rig *r)
{
    *r = (struct rig){.now = {1000, 0}};
    r->serve = serve_new(&(struct serve_options){
        .user = &user, .owner = r, .body_max = BODY, .bodies_max = 2 * BODY, .request_ms = 100, .answer_ms = 200, .idle_ms = 1000});
}

static void enter(struct rig *r, struct visitor *v)
{
    *v = (struct visitor){.link = {.ops = &visitor_ops, .net = &r->net, .state = LINK_OPEN}, .room = ROOM};
    buf_init(&v->in, MIB);
    buf_init(&v->out, MIB);
    struct link_accept *a = serve_accept(r->serve);
    a->accept(a, &v->link, r->now);
}

static void leave(struct visitor *v)
{
    CHECK(v->closed);
    buf_free(&v->in);
    buf_free(&v->out);
}

static void turn(struct rig *r)
{
    while (net_dispatch(&r->net, r->now))
        ;
}

static void say(struct rig *r, struct visitor *v, struct slice text)
{
    if (v->closed)
        return;
    buf_put(&v->in, text);
    net_wake(&v->link);
    turn(r);
}

static void ends(struct rig *r, struct visitor *v, enum link_state how)
{
    if (v->closed)
        return;
    v->link.state = how;
    net_wake(&v->link);
    turn(r);
}

/* What was answered since the last look. */
static void answered(struct visitor *v, const char *text)
{
    CHECK_STR(buf_slice(&v->out), text);
    buf_clear(&v->out);
}

#define GET(target) SLICE("GET " target " HTTP/1.1\r\nHost: h\r\n\r\n")
#define TEXT(length, body) "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " length "\r\n\r\n" body

static void test_kept(void)
{
    struct rig r;
    struct visitor v;
    test_case("two requests of one connection, the second in pieces, the third with a body");
    start(&r);
    enter(&r, &v);
    CHECK_INT(v.link.deadline_ms, r.now.mono_ms + 100);
    say(&r, &v, GET("/a"));
    answered(&v, TEXT("2", "/a"));
    CHECK_INT(v.link.deadline_ms, r.now.mono_ms + 1000);
    r.now.mono_ms += 500;
    say(&r, &v, SLICE("GET /b HT"));
    CHECK_INT(v.link.deadline_ms, r.now.mono_ms + 100);
    say(&r, &v, SLICE("TP/1.1\r\nHost: h\r\n\r"));
    answered(&v, "");
    say(&r, &v, SLICE("\nPOST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbo"));
    answered(&v, TEXT("2", "/b"));
    CHECK_INT(serve_stats(r.serve)->bytes, 4);
    say(&r, &v, SLICE("dy"));
    answered(&v, TEXT("4", "body"));
    CHECK_INT(serve_stats(r.serve)->bytes, 0);
    CHECK_INT(serve_stats(r.serve)->requests, 3);
    test_case("a chunked body, which the client asks to be let in");
    say(&r, &v, SLICE("POST /d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"));
    answered(&v, "HTTP/1.1 100 Continue\r\n\r\n");
    say(&r, &v, SLICE("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
    answered(&v, TEXT("5", "abcde"));
    test_case("HEAD");
    say(&r, &v, SLICE("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n"));
    answered(&v, TEXT("2", ""));
    test_case("a client that wants no more");
    say(&r, &v, SLICE("GET /e HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    answered(&v, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 2\r\n\r\n/e");
    leave(&v);
    CHECK_INT(serve_stats(r.serve)->connections, 0);
    serve_free(r.serve);
}

static void test_worth(void)
{
    struct rig r;
    struct visitor v[3];
    test_case("the first head has its own time, and the body the usual one");
    r = (struct rig){.now = {1000, 0}};
    r.serve = serve_new(&(struct serve_options){.user = &user,
                                                .owner = &r,
                                                .each = 2,
                                                .body_max = BODY,
                                                .bodies_max = 2 * BODY,
                                                .head_ms = 30,
                                                .request_ms = 100,
                                                .answer_ms = 200,
                                                .idle_ms = 1000});
    r.hold = true;
    enter(&r, &v[0]);
    CHECK_INT(v[0].link.deadline_ms, 1030);
    CHECK_INT(v[0].link.worth, LINK_STRANGER);
    r.now.mono_ms += 20;
    say(&r, &v[0], SLICE("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n"));
    CHECK_INT(v[0].link.deadline_ms, 1120);
    CHECK_INT(v[0].link.worth, LINK_STRANGER);
    test_case("a connection is worth more with its request, and more when its caller is known");
    say(&r, &v[0], SLICE("{}"));
    CHECK_INT(v[0].link.worth, LINK_ASKED);
    serve_trust(r.held[0], true);
    CHECK_INT(v[0].link.worth, LINK_SERVED);
    serve_answer(r.held[0], 204, NULL, 0, SLICE_NONE, r.now);
    turn(&r);
    CHECK_INT(v[0].link.worth, LINK_KNOWN);
    say(&r, &v[0], GET("/b"));
    serve_trust(r.held[1], false);
    CHECK_INT(v[0].link.worth, LINK_ASKED);
    test_case("with half as many as one address may have, those of unknown callers end with their answer");
    serve_answer(r.held[1], 204, NULL, 0, SLICE_NONE, r.now);
    turn(&r);
    CHECK(!v[0].closed);
    enter(&r, &v[1]);
    enter(&r, &v[2]);
    say(&r, &v[1], GET("/c"));
    serve_answer(r.held[2], 204, NULL, 0, SLICE_NONE, r.now);
    turn(&r);
    CHECK(v[1].closed);
    say(&r, &v[2], GET("/d"));
    serve_trust(r.held[3], true);
    serve_answer(r.held[3], 204, NULL, 0, SLICE_NONE, r.now);
    turn(&r);
    CHECK(!v[2].closed);
    serve_free(r.serve);
    for (size_t i = 0; i < COUNT_OF(v); i++)
        leave(&v[i]);
}

static void test_later(void)
{
    struct rig r;
    struct visitor v, w;
    test_case("an answer that is given later; the next request waits for it");
    start(&r);
    enter(&r, &v);
    enter(&r, &w);
    r.hold = true;
    say(&r, &v, GET("/a"));
    say(&r, &v, GET("/b"));
    say(&r, &w, GET("/c"));
    CHECK_INT(r.count, 2);
    CHECK_INT(serve_stats(r.serve)->waiting, 2);
    CHECK_INT(v.link.deadline_ms, TIME_NEVER);
    ends(&r, &w, LINK_ENDED);
    CHECK_INT(r.gone, 0); /* it may still listen */
    serve_answer(r.held[0], 204, NULL, 0, SLICE_NONE, r.now);
    turn(&r);
    answered(&v, "HTTP/1.1 204 No Content\r\n\r\n");
    CHECK_INT(r.count, 3);
    CHECK_STR(r.held[2]->head->target, "/b");
    test_case("clients that go before they are answered");
    ends(&r, &v, LINK_FAILED);
    CHECK_INT(r.gone, 1);
    leave(&v);
    serve_free(r.serve);
    CHECK_INT(r.gone, 2);
    leave(&w);
}

static void test_limits(void)
{
    static const struct {
        const char *what, *request, *answer;
    } cases[] = {
        {"a body at the limit", "Content-Length: 100\r\n\r\n", ""},
        {"a body above the limit", "Content-Length: 101\r\n\r\n", "HTTP/1.1 413 "},
        {"a length above every limit", "Content-Length: 9223372036854775807\r\n\r\n", "HTTP/1.1 413 "},
        {"a chunked body above the limit", "Transfer-Encoding: chunked\r\n\r\n65\r\n", ""},
        {"two lengths", "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 400 "},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r;
        struct visitor v;
        test_case("%s", cases[i].what);
        start(&r);
        enter(&r, &v);
        say(&r, &v, SLICE("POST / HTTP/1.1\r\nHost: h\r\n"));
        say(&r, &v, slice_of(cases[i].request));
        CHECK(slice_starts(buf_slice(&v.out), slice_of(cases[i].answer)));
        if (i == 3) {
            char big[BODY + 1] = {0};
            say(&r, &v, (struct slice){big, sizeof big});
            CHECK(slice_starts(buf_slice(&v.out), SLICE("HTTP/1.1 413 ")));
        }
        CHECK_INT(v.closed, v.out.len > 0);
        CHECK_INT(serve_stats(r.serve)->bad, v.out.len > 0);
        ends(&r, &v, LINK_FAILED);
        leave(&v);
        CHECK_INT(serve_stats(r.serve)->bytes, 0);
        serve_free(r.serve);
    }
}

static void test_memory(void)
{
    struct rig r;
    struct visitor v[3];
    test_case("the bodies of all requests together");
    start(&r);
    for (int i = 0; i < 3; i++) {
        enter(&r, &v[i]);
        say(&r, &v[i], SLICE("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n"));
    }
    CHECK(v[2].closed && slice_starts(buf_slice(&v[2].out), SLICE("HTTP/1.1 503 ")));
    CHECK_INT(serve_stats(r.serve)->bytes, 2 * BODY);
    test_case("a server that stops lets nobody in, and answers who has asked");
    leave(&v[2]);
    enter(&r, &v[2]);
    serve_stop(r.serve);
    leave(&v[2]);
    CHECK_INT(serve_stats(r.serve)->connections, 2);
    for (int i = 0; i < 2; i++) {
        char body[BODY] = {0};
        say(&r, &v[i], (struct slice){body, sizeof body});
        CHECK(slice_has(buf_slice(&v[i].out), "Connection: close"));
        leave(&v[i]);
    }
    serve_free(r.serve);
}

static void test_slow(void)
{
    struct rig r;
    struct visitor v;
    test_case("an answer that the client takes slowly, and then another");
    start(&r);
    enter(&r, &v);
    v.room = 10;
    say(&r, &v, GET("/a"));
    CHECK_INT(v.out.len, 10);
    CHECK_INT(v.link.deadline_ms, r.now.mono_ms + 200);
    say(&r, &v, GET("/b"));
    CHECK_INT(serve_stats(r.serve)->requests, 1);
    v.room = ROOM;
    say(&r, &v, SLICE(""));
    CHECK_STR(buf_slice(&v.out), TEXT("2", "/a") TEXT("2", "/b"));
    test_case("a connection that is silent ends");
    ends(&r, &v, LINK_FAILED);
    leave(&v);
    serve_free(r.serve);
}

/* Clients that ask and do not read. */
static void test_untaken(void)
{
    enum { LENGTH = sizeof TEXT("2", "/a") - 1 };
    struct rig r;
    struct visitor v[4];
    test_case("answers that nobody takes have a bound: who has waited longest goes, and the others stay");
    start(&r);
    serve_free(r.serve);
    r.serve = serve_new(&(struct serve_options){
        .user = &user, .owner = &r, .body_max = BODY, .answers_max = 3 * LENGTH, .request_ms = 100, .answer_ms = 200, .idle_ms = 1000});
    for (int i = 0; i < 4; i++) {
        enter(&r, &v[i]);
        v[i].room = 10;
        r.now.mono_ms++;
        say(&r, &v[i], GET("/a"));
        CHECK_INT(serve_stats(r.serve)->answers, (i < 3 ? i + 1 : 3) * LENGTH);
    }
    CHECK(v[0].closed && !v[1].closed && !v[2].closed && !v[3].closed);
    test_case("one that is taken has gone from the count");
    v[1].room = ROOM;
    say(&r, &v[1], SLICE(""));
    CHECK_STR(buf_slice(&v[1].out), TEXT("2", "/a"));
    CHECK_INT(serve_stats(r.serve)->answers, 2 * LENGTH);
    serve_free(r.serve);
    for (int i = 0; i < 4; i++)
        leave(&v[i]);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    test_kept();
    test_worth();
    test_later();
    test_limits();
    test_memory();
    test_slow();
    test_untaken();
    return test_done();
}
