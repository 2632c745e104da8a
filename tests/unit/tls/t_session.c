#include "peer.h"

#define NAME "kubernetes.default.svc"

/* A session with the server, before any byte has moved. */
static struct tls *session(const char *trust, const char *client)
{
    struct tls_options o = {.name = SLICE(NAME), .wall_us = clock_now().wall_us};
    struct err e = {0};
    o.trust = pki_trust(trust);
    o.identity = client ? pki_identity(client) : NULL;
    struct tls *t = tls_open(&o, &e);
    CHECK_INT(e.code, ERR_NONE);
    tls_trust_drop(o.trust); /* the session keeps its own */
    tls_identity_drop(o.identity);
    return t;
}

static struct tls *open_session(struct peer *p)
{
    struct tls *t = session("ca.pem", NULL);
    peer_pump(p, t);
    CHECK_INT(tls_state(t), TLS_OPEN);
    return t;
}

static void put(struct tls *t, struct slice s)
{
    while (s.len) {
        size_t room = 0;
        char *to = tls_write_room(t, &room);
        if (!to)
            return;
        memcpy(to, s.ptr, s.len < room ? s.len : room);
        tls_write_wrote(t, s.len < room ? s.len : room);
        s = slice_skip(s, s.len < room ? s.len : room);
    }
    tls_flush(t);
}

/* ---- who we are ---- */

static void client_certificates(void)
{
    static const struct {
        const char *client, *trusted;
        bool accepted;
    } cases[] = {
        {"client-ec", "ca.pem", true},      {"client-p384", "ca.pem", true}, {"client-rsa", "ca.pem", true},
        {"client-ec", "rsa-ca.pem", false}, {NULL, "ca.pem", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("client certificate %s", cases[i].client ? cases[i].client : "none");
        struct peer *p = peer_new("both", cases[i].trusted, i, 3000);
        struct tls *t = session("ca.pem", cases[i].client);
        struct buf got;
        buf_init(&got, KIB);
        peer_pump(p, t);
        CHECK((tls_state(t) == TLS_OPEN) == cases[i].accepted);
        CHECK((br_ssl_engine_last_error(&p->server.eng) == 0) == cases[i].accepted);
        put(t, SLICE("hello"));
        peer_pump(p, t);
        peer_read(p, &got);
        CHECK_STR(buf_slice(&got), cases[i].accepted ? "hello" : "");
        tls_eof(t);
        CHECK_INT(tls_error(t)->code, ERR_CLOSED);
        buf_free(&got);
        tls_free(t);
        peer_free(p);
    }
}

/* ---- what is offered ---- */

static void hello(void)
{
    static const struct {
        const char *name;
        bool in_hello;
    } cases[] = {{NAME, true}, {"127.0.0.1", false}, {"fd00::1", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("client hello for %s", cases[i].name);
        struct tls_options o = {.name = slice_of(cases[i].name), .trust = pki_trust("ca.pem"), .wall_us = clock_now().wall_us};
        struct tls *t = tls_open(&o, NULL);
        struct slice hello = tls_send_peek(t);
        CHECK((memmem(hello.ptr, hello.len, cases[i].name, strlen(cases[i].name)) != NULL) == cases[i].in_hello);
        CHECK(memmem(hello.ptr, hello.len, "\x08http/1.1", 9) != NULL);
        CHECK(slice_starts(slice_skip(hello, 9), SLICE("\x03\x03"))); /* legacy_version: TLS 1.2 */
        /* legacy_session_id of 32 bytes (RFC 8446 §D.4); cipher suites: three of TLS 1.3 and six of 1.2, of two bytes each. */
        CHECK(hello.ptr[43] == 32 && hello.ptr[76] == 0 && hello.ptr[77] == 18);
        tls_free(t);
        tls_trust_drop(o.trust);
    }
    test_case("no two hellos are alike");
    struct tls *a = session("ca.pem", NULL), *b = session("ca.pem", NULL);
    CHECK(!slice_eq(tls_send_peek(a), tls_send_peek(b)));
    tls_free(a);
    tls_free(b);
}

/* ---- bytes ---- */

/* The byte at each place of a long stream. */
static char byte_of(size_t i)
{
    return (char)(i * 7 + (i >> 8) * 13);
}

/* Sends `total` bytes each way at once through pieces of odd sizes and compares what arrives. */
static void transfer(const char *server, uint64_t seed, size_t piece, size_t total)
{
    struct peer *p = peer_new(server, NULL, seed, piece);
    struct tls *t = session(server[0] == 'r' ? "rsa-ca.pem" : "ca.pem", NULL);
    size_t sent = 0, answered = 0, come = 0, taken = 0;
    bool right = true;
    for (int idle = 0; idle < 3 && (come < total || taken < total);) {
        size_t before = sent + answered + come + taken, room = 0, n = 0;
        peer_pump(p, t);
        char *to = tls_write_room(t, &room);
        room = peer_some(p, room < total - sent ? room : total - sent);
        for (size_t i = 0; to && i < room; i++)
            to[i] = byte_of(sent++);
        tls_write_wrote(t, to ? room : 0);
        if (rng_below(&p->rng, 3) == 0 || sent == total)
            tls_flush(t);
        unsigned char *server_to = br_ssl_engine_sendapp_buf(&p->server.eng, &room);
        room = peer_some(p, room < total - answered ? room : total - answered);
        for (size_t i = 0; server_to && i < room; i++)
            server_to[i] = (unsigned char)byte_of(answered++);
        if (server_to && room)
            br_ssl_engine_sendapp_ack(&p->server.eng, room);
        br_ssl_engine_flush(&p->server.eng, 0);
        struct slice got = tls_read_peek(t);
        got = slice_head(got, peer_some(p, got.len));
        for (size_t i = 0; i < got.len; i++)
            right &= got.ptr[i] == byte_of(come++);
        tls_read_used(t, got.len);
        const unsigned char *server_got = br_ssl_engine_recvapp_buf(&p->server.eng, &n);
        for (size_t i = 0; server_got && i < n; i++)
            right &= server_got[i] == (unsigned char)byte_of(taken++);
        if (server_got)
            br_ssl_engine_recvapp_ack(&p->server.eng, n);
        idle = sent + answered + come + taken == before ? idle + 1 : 0;
    }
    CHECK(right && come == total && taken == total);
    CHECK_INT(tls_state(t), TLS_OPEN);
    tls_free(t);
    peer_free(p);
}

static void transfers(void)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        test_case("transfer, seed %d", (int)seed);
        transfer(seed % 2 ? "both" : "rsa", seed, seed < 4 ? 5 : seed < 8 ? 700 : 20000, seed < 4 ? 3000 : 200000);
    }
    test_case("transfer of 4 MiB");
    transfer("both", 99, 40000, 4 * MIB);
}

/* ---- the end ---- */

static void the_server_closes(void)
{
    test_case("close_notify");
    struct peer *p = peer_new("both", NULL, 1, 1000);
    struct tls *t = open_session(p);
    CHECK_INT(peer_write(p, SLICE("last words")), 10);
    br_ssl_engine_close(&p->server.eng);
    peer_pump(p, t);
    CHECK_INT(tls_state(t), TLS_OPEN); /* there is something to read, and close_notify waits behind it */
    size_t room = 0;
    CHECK(tls_recv_room(t, &room) == NULL && room == 0);
    CHECK_STR(tls_read_peek(t), "last words");
    tls_read_used(t, 10);
    peer_pump(p, t);
    CHECK_INT(tls_state(t), TLS_CLOSED);
    CHECK(tls_write_room(t, &room) == NULL && room == 0);
    CHECK_INT(br_ssl_engine_current_state(&p->server.eng), BR_SSL_CLOSED); /* our answer reached it */
    CHECK_INT(br_ssl_engine_last_error(&p->server.eng), 0);
    tls_eof(t);
    CHECK_INT(tls_state(t), TLS_CLOSED);
    CHECK_INT(tls_error(t)->code, ERR_NONE);
    tls_free(t);
    peer_free(p);
}

/* The answer to close_notify cannot be sent: the session is closed all the same. */
static void the_server_closes_and_is_gone(void)
{
    test_case("close_notify and gone");
    struct peer *p = peer_new("both", NULL, 1, 1000);
    struct tls *t = open_session(p);
    br_ssl_engine_close(&p->server.eng);
    while (peer_to_client(p, t))
        ;
    CHECK_INT(tls_state(t), TLS_CLOSED);
    CHECK(tls_send_peek(t).len > 0);
    tls_eof(t);
    CHECK_INT(tls_state(t), TLS_CLOSED);
    tls_free(t);
    peer_free(p);
}

static void the_wire_is_cut(void)
{
    test_case("cut after a record");
    struct peer *p = peer_new("both", NULL, 1, 1000);
    struct tls *t = open_session(p);
    peer_write(p, SLICE("half an answer"));
    peer_pump(p, t);
    tls_read_used(t, tls_read_peek(t).len);
    tls_eof(t);
    CHECK_INT(tls_state(t), TLS_FAILED);
    CHECK_INT(tls_error(t)->code, ERR_CLOSED);
    CHECK_STR(slice_of(tls_error(t)->text), "connection was cut: it ended without close_notify");
    size_t room = 0;
    CHECK(tls_send_peek(t).len == 0 && tls_read_peek(t).len == 0);
    CHECK(!tls_recv_room(t, &room) && !tls_write_room(t, &room));
    tls_close(t); /* nothing happens any more */
    CHECK_INT(tls_state(t), TLS_FAILED);
    tls_free(t);
    peer_free(p);
    test_case("cut in the handshake");
    t = session("ca.pem", NULL);
    tls_eof(t);
    CHECK_STR(slice_of(tls_error(t)->text), "server ended the connection during the TLS handshake");
    tls_free(t);
}

/* What was written, then close_notify, even with plaintext unread and nothing sent yet. */
static void we_close(void)
{
    for (int unread = 0; unread < 2; unread++) {
        test_case(unread ? "close with unread plaintext" : "close");
        struct peer *p = peer_new("both", NULL, 1, 1000);
        struct tls *t = open_session(p);
        struct buf got;
        buf_init(&got, KIB);
        if (unread)
            peer_write(p, SLICE("nobody reads this"));
        peer_pump(p, t);
        size_t room = 0;
        memcpy(tls_write_room(t, &room), "bye", 3);
        tls_write_wrote(t, 3);
        tls_close(t);
        CHECK_INT(tls_state(t), TLS_CLOSED);
        CHECK(tls_read_peek(t).len == 0 && !tls_recv_room(t, &room));
        for (bool moved = true; moved;) {
            moved = peer_to_server(p, t);
            peer_read(p, &got);
        }
        CHECK_STR(buf_slice(&got), "bye");
        CHECK(p->server.eng.shutdown_recv); /* close_notify has come */
        CHECK_INT(tls_send_peek(t).len, 0);
        buf_free(&got);
        tls_free(t);
        peer_free(p);
    }
    test_case("close in the handshake");
    struct tls *t = session("ca.pem", NULL);
    tls_close(t);
    CHECK_INT(tls_state(t), TLS_CLOSED);
    tls_free(t);
    tls_free(NULL);
}

/* ---- hostile wires ---- */

/* One bit of the stream from the server is turned: the session fails or stands still, and what is read is never wrong. */
static void a_changed_byte(void)
{
    struct slice text = SLICE("plaintext that must not be changed on its way");
    size_t wrong = 0, whole = 0, came = 0;
    test_case("a changed byte");
    for (size_t at = 1; at < 2000; at += 7) {
        struct peer *p = peer_new("both", NULL, 7, 100);
        struct tls *t = session("ca.pem", NULL);
        p->flip = at;
        peer_pump(p, t);
        peer_write(p, text);
        peer_pump(p, t);
        struct slice got = tls_read_peek(t);
        whole += slice_eq(got, text) && p->came >= at;
        wrong += got.len && !slice_eq(got, text);
        came = p->came > came ? p->came : came;
        tls_free(t);
        peer_free(p);
    }
    CHECK_INT(wrong, 0);
    CHECK(whole <= 8); /* the outer bytes of records have some slack: a version number, lengths that are not looked at */
    CHECK(came > 500 && came < 2000);
}

static const struct {
    const char *id;
    struct slice bytes;
    bool identity;
    const char *text;
} answers[] = {
    {"too old", SLICE("\x15\x03\x03\x00\x02\x02\x46"), false,
     "server does not speak TLS 1.3 or 1.2, which were offered: alert 70 protocol_version"},
    {"no suite", SLICE("\x15\x03\x03\x00\x02\x02\x28"), false,
     "server has no cipher suite, group or signature in common with ours (AES-GCM or ChaCha20-Poly1305; X25519MLKEM768, X25519, "
     "P-256/384/521; ECDSA or RSA, not Ed25519): alert 40 handshake_failure"},
    {"bad certificate", SLICE("\x15\x03\x03\x00\x02\x02\x2a"), true, "server refuses our client certificate: alert 42 bad_certificate"},
    {"wants one", SLICE("\x15\x03\x03\x00\x02\x02\x74"), false, "server wants a client certificate: alert 116 certificate_required"},
    {"wants one, 42", SLICE("\x15\x03\x03\x00\x02\x02\x2a"), false, "server wants a client certificate: alert 42 bad_certificate"},
    {"name", SLICE("\x15\x03\x03\x00\x02\x02\x70"), false,
     "server does not know the name that it was asked for: alert 112 unrecognized_name"},
    {"illegal", SLICE("\x15\x03\x03\x00\x02\x02\x2f"), false, "server ended the session: alert 47 illegal_parameter"},
    {"strange", SLICE("\x15\x03\x03\x00\x02\x02\xc8"), false, "server ended the session: alert 200 unknown"},
    {"closed", SLICE("\x15\x03\x03\x00\x02\x01\x00"), false, "server closed the connection before the TLS handshake was done"},
    {"plain http", SLICE("HTTP/1.1 400 Bad Request\r\n\r\n"), false, "server speaks neither TLS 1.3 nor 1.2 (or no TLS at all)"},
    {"ssh", SLICE("SSH-2.0-OpenSSH_9.2\r\n"), false, "server speaks neither TLS 1.3 nor 1.2 (or no TLS at all)"},
    {"zeros", SLICE("\0\0\0\0\0\0\0\0"), false, "server speaks neither TLS 1.3 nor 1.2 (or no TLS at all)"},
    {"record too long", SLICE("\x16\x03\x03\xff\xff"), false, "server sent a record with a wrong length"},
    {"unknown record", SLICE("\x19\x03\x03\x00\x01\x00"), false, "server sent an unexpected message"},
};

/* Puts bytes on the wire to the session, as far as it takes them. */
static void feed(struct tls *t, struct slice in)
{
    size_t room = 0;
    for (char *to; in.len && tls_state(t) == TLS_HANDSHAKE && (to = tls_recv_room(t, &room)) != NULL;) {
        size_t n = in.len < room ? in.len : room;
        memcpy(to, in.ptr, n);
        tls_recv_wrote(t, n);
        in = slice_skip(in, n);
    }
}

static void what_servers_say(void)
{
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        test_case("answer: %s", answers[i].id);
        struct tls *t = session("ca.pem", answers[i].identity ? "client-ec" : NULL);
        tls_send_used(t, tls_send_peek(t).len);
        feed(t, answers[i].bytes);
        tls_send_used(t, tls_send_peek(t).len);
        CHECK_INT(tls_state(t), TLS_FAILED);
        CHECK_STR(slice_of(tls_error(t)->text), answers[i].text);
        CHECK_INT(tls_error(t)->code, strcmp(answers[i].id, "closed") ? ERR_TLS : ERR_CLOSED);
        tls_free(t);
    }
}

/* OpenSSL says handshake_failure when no client certificate came, which is also what it says when no suite fits. */
static void handshake_failure_after_the_certificate(void)
{
    for (int identity = 0; identity < 2; identity++) {
        test_case("handshake_failure after the certificate");
        struct peer *p = peer_new("both", "rsa-ca.pem", 1, 1000);
        struct tls *t = session("ca.pem", identity ? "client-ec" : NULL);
        while (peer_to_server(p, t))
            ;
        while (peer_to_client(p, t))
            ;
        feed(t, SLICE("\x15\x03\x03\x00\x02\x02\x28"));
        CHECK_STR(slice_of(tls_error(t)->text), identity ? "server refuses our client certificate: alert 40 handshake_failure"
                                                         : "server wants a client certificate: alert 40 handshake_failure");
        tls_free(t);
        peer_free(p);
    }
}

int main(void)
{
    client_certificates();
    hello();
    transfers();
    the_server_closes();
    the_server_closes_and_is_gone();
    the_wire_is_cut();
    we_close();
    a_changed_byte();
    what_servers_say();
    handshake_failure_after_the_certificate();
    return test_done();
}
