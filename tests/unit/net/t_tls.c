#include "tests/unit/tls/peer.h"

#include "rig.h"

#include <sys/socket.h>

/* A TLS server on a blocking socket. */
struct tls_server {
    const char *identity;
    bool tunnel; /* it is asked for with CONNECT first */
    void (*talk)(br_sslio_context *io);
    bool in_order; /* the client said close_notify */
};

static int low_read(void *ctx, unsigned char *to, size_t n)
{
    ssize_t got = recv(*(int *)ctx, to, n, 0);
    return got > 0 ? (int)got : -1;
}

static int low_write(void *ctx, const unsigned char *from, size_t n)
{
    ssize_t sent = send(*(int *)ctx, from, n, MSG_NOSIGNAL);
    return sent > 0 ? (int)sent : -1;
}

static void serve_tls(struct server *s)
{
    struct tls_server *t = (struct tls_server *)(uintptr_t)s->arg;
    if (t->tunnel) {
        char request[256];
        size_t len = 0;
        while (len < 4 || memcmp(request + len - 4, "\r\n\r\n", 4) != 0)
            if (len == sizeof request || recv(s->peer, request + len++, 1, 0) <= 0)
                return;
        send_all(s->peer, SLICE("HTTP/1.1 200 Connection established\r\n\r\n"));
    }
    struct peer *p = peer_new(t->identity, NULL, 1, 1);
    br_sslio_context io;
    br_sslio_init(&io, &p->server.eng, low_read, &s->peer, low_write, &s->peer);
    t->talk(&io);
    t->in_order = br_ssl_engine_current_state(&p->server.eng) == BR_SSL_CLOSED && br_ssl_engine_last_error(&p->server.eng) == 0;
    peer_free(p);
}

static void talk_echo(br_sslio_context *io)
{
    static char bytes[64 * KIB];
    for (int n; (n = br_sslio_read(io, bytes, sizeof bytes)) > 0;)
        if (br_sslio_write_all(io, bytes, (size_t)n) != 0 || br_sslio_flush(io) != 0)
            return;
}

static void talk_and_close(br_sslio_context *io)
{
    br_sslio_write_all(io, "farewell", 8);
    br_sslio_flush(io);
    br_sslio_close(io);
}

static void talk_and_cut(br_sslio_context *io)
{
    br_sslio_write_all(io, "half an ans", 11);
    br_sslio_flush(io);
}

static struct tls_server tls_server_of(void (*talk)(br_sslio_context *))
{
    return (struct tls_server){.identity = "both", .talk = talk};
}

struct tls_rig {
    struct rig r;
    struct server s;
    struct probe p;
    struct tls_trust *trust;
};

static void begin(struct tls_rig *t, struct tls_server *server, struct slice to_send, const char *ca, const char *name)
{
    rig_open(&t->r);
    server_start(&t->s, 1, serve_tls, server);
    t->trust = pki_trust(ca);
    probe_init(&t->p, to_send);
    struct endpoint to = {.host = SLICE("127.0.0.1"), .port = t->s.port, .tls = true, .tls_name = slice_of(name), .trust = t->trust};
    struct net_proxy proxy = {SLICE("127.0.0.1"), t->s.port, SLICE_NONE};
    if (server->tunnel) {
        to.host = SLICE("kubernetes.default.svc");
        to.port = 443;
        to.proxy = &proxy;
        CHECK(net_allow_add(t->r.allow, to.host, to.port, "--test", NULL));
    }
    probe_open_to(&t->p, &t->r, &to);
    tls_trust_drop(t->trust); /* the link counts it while it lives */
}

static void end(struct tls_rig *t)
{
    probe_free(&t->p);
    for (int i = 0; i < 5; i++)
        rig_turn(&t->r, 5);
    server_stop(&t->s);
    CHECK(rig_close(&t->r));
}

static void test_echo(void)
{
    struct tls_rig t;
    struct tls_server server = tls_server_of(talk_echo);
    test_case("tls: echo, and an orderly end");
    begin(&t, &server, SLICE("hello"), "ca.pem", NULL);
    CHECK_INT(t.p.link->state, LINK_OPENING);
    CHECK(RIG_UNTIL(&t.r, t.p.got.len == 5));
    CHECK_STR(buf_slice(&t.p.got), "hello");
    CHECK_INT(t.p.link->state, LINK_OPEN);
    CHECK(t.p.link->peer_expires_us > t.r.now.wall_us);
    end(&t);
    CHECK(server.in_order);
    test_case("tls: through a proxy, checked against the server's name");
    server = tls_server_of(talk_echo);
    server.tunnel = true;
    begin(&t, &server, SLICE("hello"), "ca.pem", NULL);
    CHECK(RIG_UNTIL(&t.r, t.p.got.len == 5));
    end(&t);
    CHECK(server.in_order);
}

static void test_big(void)
{
    enum { SIZE = 4 * MIB };
    struct tls_rig t;
    struct arena a = {0};
    struct slice sent = pattern(&a, SIZE);
    struct tls_server server = tls_server_of(talk_echo);
    test_case("tls: 4 MiB there and back, against back-pressure");
    begin(&t, &server, sent, "ca.pem", NULL);
    t.p.hold = 1;
    int stuck = 0;
    for (int turns = 0; t.p.got.len < SIZE && turns < 20000; turns++) {
        size_t before = t.p.got.len;
        rig_turn(&t.r, 5);
        stuck = t.p.got.len == before ? stuck + 1 : 0;
        if (stuck > 3) {
            t.p.hold = t.p.got.len + 1 * MIB;
            net_wake(t.p.link);
            stuck = 0;
        }
    }
    CHECK_INT(t.p.got.len, SIZE);
    CHECK(slice_eq(buf_slice(&t.p.got), sent));
    end(&t);
    arena_free(&a);
}

static void test_ends(void)
{
    struct tls_rig t;
    struct tls_server server = tls_server_of(talk_and_close);
    test_case("tls: close_notify is an end");
    begin(&t, &server, SLICE_NONE, "ca.pem", NULL);
    CHECK(RIG_UNTIL(&t.r, probe_over(&t.p)));
    CHECK_STR(buf_slice(&t.p.got), "farewell");
    CHECK_INT(t.p.link->state, LINK_ENDED);
    end(&t);
    test_case("tls: an end without close_notify is a failure");
    server = tls_server_of(talk_and_cut);
    begin(&t, &server, SLICE_NONE, "ca.pem", NULL);
    CHECK(RIG_UNTIL(&t.r, probe_over(&t.p)));
    CHECK_STR(buf_slice(&t.p.got), "half an ans");
    CHECK_INT(t.p.link->state, LINK_FAILED);
    CHECK_INT(t.p.link->error.code, ERR_CLOSED);
    end(&t);
}

static void test_refusals(void)
{
    static const struct {
        const char *name, *ca, *tls_name;
        enum err_code code;
    } cases[] = {
        {"another name", "ca.pem", "api.example", ERR_TLS_NAME},
        {"an unknown CA", "other.pem", NULL, ERR_TLS_TRUST},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tls_rig t;
        struct tls_server server = tls_server_of(talk_echo);
        char want[32];
        test_case("tls: %s", cases[i].name);
        begin(&t, &server, SLICE("secret"), cases[i].ca, cases[i].tls_name);
        CHECK(RIG_UNTIL(&t.r, t.p.link->state == LINK_FAILED));
        CHECK_INT(t.p.link->error.code, cases[i].code);
        snprintf(want, sizeof want, "127.0.0.1:%u: ", t.s.port);
        CHECK(slice_starts(slice_of(t.p.link->error.text), slice_of(want)));
        CHECK_INT(t.p.to_send.len, 6);
        end(&t);
    }
}

static void serve_plain(struct server *s)
{
    char byte;
    send_all(s->peer, s->arg ? SLICE("HTTP/1.1 400 Bad Request\r\n\r\n") : SLICE_NONE);
    while (recv(s->peer, &byte, 1, 0) > 0)
        ;
}

static void test_no_tls(void)
{
    for (int silent = 0; silent < 2; silent++) {
        struct rig r;
        struct server s;
        struct probe p;
        test_case(silent ? "tls: a silent server" : "tls: a server that does not speak it");
        rig_open(&r);
        server_start(&s, 1, serve_plain, silent ? NULL : "speak");
        probe_init(&p, SLICE_NONE);
        probe_open_to(&p, &r, &(struct endpoint){.host = SLICE("127.0.0.1"), .port = s.port, .tls = true, .insecure = true});
        if (silent) {
            CHECK(RIG_UNTIL(&r, probe_shakes_hands(&p)));
            p.link->deadline_ms = clock_now().mono_ms + 100;
        }
        CHECK(RIG_UNTIL(&r, p.link->state == LINK_FAILED));
        CHECK_INT(p.link->error.code, silent ? ERR_TIMEOUT : ERR_TLS);
        if (silent)
            CHECK(strstr(p.link->error.text, "the deadline passed during the TLS handshake"));
        probe_free(&p);
        server_stop(&s);
        CHECK(rig_close(&r));
    }
}

static void test_closed_early(void)
{
    struct rig r;
    struct server s;
    struct probe p;
    test_case("tls: closed by its owner during the handshake");
    rig_open(&r);
    server_start(&s, 1, serve_plain, NULL);
    probe_init(&p, SLICE_NONE);
    probe_open_to(&p, &r, &(struct endpoint){.host = SLICE("127.0.0.1"), .port = s.port, .tls = true, .insecure = true});
    CHECK(RIG_UNTIL(&r, probe_shakes_hands(&p)));
    CHECK_INT(p.link->state, LINK_OPENING);
    probe_free(&p);
    server_stop(&s); /* it ends when the connection does */
    CHECK_INT(p.steps, 0);
    CHECK(rig_close(&r));
}

int main(void)
{
    test_echo();
    test_closed_early();
    test_big();
    test_ends();
    test_refusals();
    test_no_tls();
    return test_done();
}
