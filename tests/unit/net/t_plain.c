#include "../test.h"

#include "rig.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static void test_echo(void)
{
    struct rig r;
    struct server s;
    struct probe p;
    test_case("echo");
    rig_open(&r);
    server_start(&s, 1, serve_echo, NULL);
    probe_init(&p, SLICE("hello"));
    probe_open(&p, &r, s.port);
    CHECK_INT(p.link->state, LINK_OPENING);
    size_t n = 1;
    link_room(p.link, &n);
    CHECK_INT(n, 0);
    CHECK(RIG_UNTIL(&r, p.got.len == 5));
    CHECK_STR(buf_slice(&p.got), "hello");
    CHECK_INT(p.link->state, LINK_OPEN);
    probe_free(&p);
    server_stop(&s);
    CHECK(rig_close(&r));
}

/* Both ends have far more to say than all buffers hold, and we read only now and then. */
static void test_big(void)
{
    enum { SIZE = 8 * MIB };
    struct rig r;
    struct server s;
    struct probe p;
    struct arena a = {0};
    struct slice sent = pattern(&a, SIZE);
    test_case("8 MiB there and back, against back-pressure");
    rig_open(&r);
    server_start(&s, 1, serve_echo, NULL);
    probe_init(&p, sent);
    probe_open(&p, &r, s.port);
    p.hold = 1;
    int stuck = 0;
    for (int turns = 0; p.got.len < SIZE && turns < 20000; turns++) {
        size_t before = p.got.len;
        rig_turn(&r, 5);
        stuck = p.got.len == before ? stuck + 1 : 0;
        if (stuck > 3) { /* nothing comes any more while we leave bytes unused: now take them */
            CHECK(link_peek(p.link).len <= NET_BUFFER);
            p.hold = p.got.len + 1 * MIB;
            net_wake(p.link);
            stuck = 0;
        }
    }
    CHECK_INT(p.got.len, SIZE);
    CHECK(slice_eq(buf_slice(&p.got), sent));
    probe_free(&p);
    server_stop(&s);
    CHECK(rig_close(&r));
    arena_free(&a);
}

/* Whether a turn of 100 ms sleeps to its end and steps nobody, twice in a row: the first times something may still be under way. */
static bool becomes_quiet(struct rig *r, const struct probe *p)
{
    int quiet = 0;
    for (int i = 0; i < RIG_PATIENCE_S * 10 && quiet < 2; i++) {
        int steps = p->steps;
        int64_t begin = clock_now().mono_ms;
        rig_turn(r, 100);
        quiet = p->steps == steps && clock_now().mono_ms - begin >= 100 ? quiet + 1 : 0;
    }
    return quiet == 2;
}

static void test_pressure_is_quiet(void)
{
    struct rig r;
    struct server s;
    struct probe p;
    struct arena a = {0};
    test_case("a link whose owner does not read costs no turns");
    rig_open(&r);
    server_start(&s, 1, serve_echo, NULL);
    probe_init(&p, pattern(&a, 64 * KIB));
    p.hold = 1;
    probe_open(&p, &r, s.port);
    CHECK(RIG_UNTIL(&r, link_peek(p.link).len == NET_BUFFER));
    CHECK(becomes_quiet(&r, &p));
    CHECK_INT(link_peek(p.link).len, NET_BUFFER);
    p.hold = 0;
    net_wake(p.link);
    CHECK(RIG_UNTIL(&r, p.got.len == 64 * KIB));
    probe_free(&p);
    server_stop(&s);
    CHECK(rig_close(&r));
    arena_free(&a);
}

static void serve_last_words(struct server *s)
{
    char bytes[64];
    send_all(s->peer, SLICE("last words"));
    shutdown(s->peer, SHUT_WR);
    for (ssize_t n; (n = recv(s->peer, bytes, sizeof bytes, 0)) > 0;)
        *(size_t *)(uintptr_t)s->arg += (size_t)n;
}

static void test_half_close(void)
{
    struct rig r;
    struct server s;
    struct probe p;
    size_t heard = 0;
    test_case("the peer ends first: its bytes are read, ours still go out");
    rig_open(&r);
    server_start(&s, 1, serve_last_words, &heard);
    probe_init(&p, SLICE_NONE);
    p.hold = 1;
    probe_open(&p, &r, s.port);
    CHECK(RIG_UNTIL(&r, p.link->state == LINK_ENDED));
    CHECK_STR(buf_slice(&p.got), "last words");
    rig_turn(&r, 1);
    struct slice more = SLICE("I heard you");
    CHECK(link_put(p.link, &more));
    link_close(p.link);
    p.link = NULL;
    server_stop(&s);
    CHECK_INT(heard, 11);
    probe_free(&p);
    CHECK(rig_close(&r));
}

static void serve_reset(struct server *s)
{
    char byte;
    send_all(s->peer, SLICE("413 too large"));
    (void)!recv(s->peer, &byte, 1, 0);
    usleep(50 * 1000);
    setsockopt(s->peer, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
}

static void test_reset(void)
{
    struct rig r;
    struct server s;
    struct probe p;
    struct arena a = {0};
    test_case("a reset is a failure, and what came before it may be read");
    rig_open(&r);
    server_start(&s, 1, serve_reset, NULL);
    probe_init(&p, pattern(&a, 16 * MIB));
    probe_open(&p, &r, s.port);
    CHECK(RIG_UNTIL(&r, p.link->state == LINK_FAILED));
    CHECK_INT(p.link->error.code, ERR_CLOSED);
    char want[64];
    snprintf(want, sizeof want, "127.0.0.1:%u reset the connection", s.port);
    CHECK_STR(slice_of(p.link->error.text), want);
    rig_turn(&r, 1);
    CHECK_STR(buf_slice(&p.got), "413 too large");
    size_t n;
    link_room(p.link, &n);
    CHECK_INT(n, 0);
    probe_free(&p);
    server_stop(&s);
    CHECK(rig_close(&r));
    arena_free(&a);
}

static void test_refused(void)
{
    struct rig r;
    struct probe p;
    uint16_t port;
    int closed = closed_port(&port);
    char want[160];
    test_case("nobody listens");
    rig_open(&r);
    probe_init(&p, SLICE_NONE);
    probe_open(&p, &r, port);
    CHECK(RIG_UNTIL(&r, p.link->state == LINK_FAILED && p.steps > 0));
    CHECK_INT(p.link->error.code, ERR_CONNECT);
    snprintf(want, sizeof want, "no connection to 127.0.0.1:%u: 127.0.0.1: Connection refused", port);
    CHECK_STR(slice_of(p.link->error.text), want);
    probe_free(&p);
    test_case("localhost is both loopback addresses, and asks no DNS");
    CHECK(net_allow_add(r.allow, SLICE("localhost"), 0, "--test", NULL));
    probe_init(&p, SLICE_NONE);
    probe_open_to(&p, &r, &(struct endpoint){.host = SLICE("localhost"), .port = port});
    CHECK(RIG_UNTIL(&r, p.link->state == LINK_FAILED));
    snprintf(want, sizeof want, "no connection to localhost:%u: 2 addresses tried, the first: 127.0.0.1: Connection refused", port);
    CHECK_STR(slice_of(p.link->error.text), want);
    probe_free(&p);
    CHECK(rig_close(&r));
    close(closed);
}

static void serve_silence(struct server *s)
{
    char byte;
    while (recv(s->peer, &byte, 1, 0) > 0)
        ;
}

static void test_deadline(void)
{
    struct rig r;
    struct server s;
    struct probe p;
    test_case("the owner's deadline, changed on the way");
    rig_open(&r);
    server_start(&s, 1, serve_silence, NULL);
    probe_init(&p, SLICE("?"));
    probe_open(&p, &r, s.port);
    CHECK(RIG_UNTIL(&r, slice_empty(p.to_send)));
    int64_t begin = clock_now().mono_ms;
    p.link->deadline_ms = begin + 60;
    do /* where the process was frozen and thawed, it wakes for nothing */
        r.now = loop_wait(r.loop, TIME_NEVER);
    while (p.link->state == LINK_OPEN);
    CHECK(r.now.mono_ms >= begin + 60);
    CHECK_INT(p.link->state, LINK_FAILED);
    CHECK_INT(p.link->error.code, ERR_TIMEOUT);
    char want[160];
    snprintf(want, sizeof want, "127.0.0.1:%u: the deadline passed while waiting for an answer", s.port);
    CHECK_STR(slice_of(p.link->error.text), want);
    CHECK(net_dispatch(loop_net(r.loop), r.now));
    probe_free(&p);
    server_stop(&s);
    CHECK(rig_close(&r));
}

static void serve_late(struct server *s)
{
    send_all(s->peer, SLICE("here"));
    serve_silence(s);
}

static void test_late(void)
{
    struct rig r;
    struct server s;
    struct probe p;
    test_case("an answer that is there when the process wakes up late is still taken, once");
    rig_open(&r);
    server_start(&s, 1, serve_late, NULL);
    probe_init(&p, SLICE_NONE);
    probe_open(&p, &r, s.port);
    CHECK(RIG_UNTIL(&r, p.link->state == LINK_OPEN));
    CHECK(probe_await_bytes(&p));
    p.link->deadline_ms = r.now.mono_ms; /* the loop has not looked since, and is late */
    rig_turn(&r, 0);
    CHECK_STR(buf_slice(&p.got), "here");
    CHECK_INT(p.link->state, LINK_OPEN);
    rig_turn(&r, 0);
    CHECK_INT(p.link->state, LINK_FAILED);
    probe_free(&p);
    server_stop(&s);
    CHECK(rig_close(&r));
}

/* A listener that accepts nothing and whose queue is full: connecting neither works nor fails. */
static void test_connect_deadline(void)
{
    struct rig r;
    struct server s;
    struct probe first, p;
    char want[96];
    test_case("the owner's deadline while connecting");
    rig_open(&r);
    server_start(&s, 0, NULL, NULL);
    CHECK(listen(s.listener, 0) == 0); /* a queue for one */
    probe_init(&first, SLICE_NONE);
    probe_open(&first, &r, s.port);
    CHECK(RIG_UNTIL(&r, poll(&(struct pollfd){.fd = s.listener, .events = POLLIN}, 1, 0) == 1));
    probe_init(&p, SLICE_NONE);
    probe_open(&p, &r, s.port);
    p.link->deadline_ms = clock_now().mono_ms + 50;
    CHECK(RIG_UNTIL(&r, p.link->state == LINK_FAILED));
    CHECK_INT(p.link->error.code, ERR_TIMEOUT);
    snprintf(want, sizeof want, "127.0.0.1:%u: the deadline passed while connecting", s.port);
    CHECK_STR(slice_of(p.link->error.text), want);
    probe_free(&p);
    probe_free(&first);
    server_stop(&s);
    CHECK(rig_close(&r));
}

static void test_close_sends(void)
{
    enum { SIZE = 12 * KIB };
    struct rig r;
    struct server s;
    size_t heard = 0;
    struct probe p;
    struct arena a = {0};
    struct slice sent = pattern(&a, SIZE);
    test_case("what was written before link_close is sent");
    rig_open(&r);
    server_start(&s, 1, serve_last_words, &heard);
    probe_init(&p, SLICE_NONE);
    probe_open(&p, &r, s.port);
    CHECK(RIG_UNTIL(&r, p.link->state == LINK_OPEN));
    CHECK(link_put(p.link, &sent));
    probe_free(&p);
    for (int i = 0; i < 10; i++)
        rig_turn(&r, 10);
    server_stop(&s);
    CHECK_INT(heard, SIZE);
    CHECK(rig_close(&r));
    arena_free(&a);
}

int main(void)
{
    test_echo();
    test_big();
    test_pressure_is_quiet();
    test_half_close();
    test_reset();
    test_refused();
    test_deadline();
    test_late();
    test_connect_deadline();
    test_close_sends();
    return test_done();
}
