/* The server's side of a session, with our own client at the other end. */
#include "pki.h"
#include "wire.h"

#include "src/tls/trust.h"

static struct tls *client(const char *trust)
{
    struct tls_options o = {.name = SLICE("kubernetes.default.svc"), .wall_us = clock_now().wall_us, .trust = pki_trust(trust)};
    struct err e = {0};
    struct tls *t = tls_open(&o, &e);
    CHECK_INT(e.code, ERR_NONE);
    tls_trust_drop(o.trust);
    return t;
}

static struct tls *server(const char *name)
{
    struct tls_identity *id = pki_identity(name);
    struct tls *t = tls_accept(id);
    tls_identity_drop(id); /* the session keeps its own */
    return t;
}

/* Our servers refuse ALPN h2: they speak HTTP/1.1 only. */
static void other_protocol(void)
{
    test_case("a client that asks for h2");
    struct tls_options o = {.name = SLICE("kubernetes.default.svc"), .h2 = true, .wall_us = clock_now().wall_us};
    struct err e = {0};
    o.trust = pki_trust("ca.pem");
    struct tls *c = tls_open(&o, &e), *s = server("both");
    tls_trust_drop(o.trust);
    pump(c, s, SIZE_MAX);
    CHECK(strstr(tls_error(c)->text, "alert 120") && strstr(tls_error(s)->text, "offers no application protocol"));
    tls_free(c);
    tls_free(s);
}

static void hears(struct tls *t, const char *text)
{
    struct slice got = tls_read_peek(t);
    CHECK_STR(got, text);
    tls_read_used(t, got.len);
}

static void talk(const char *name, const char *trust, size_t most)
{
    test_case("%s, %zu bytes at a time", name, most);
    struct tls *c = client(trust), *s = server(name);
    CHECK_INT(tls_state(s), TLS_HANDSHAKE);
    pump(c, s, most);
    if (CHECK(tls_state(c) == TLS_OPEN && tls_state(s) == TLS_OPEN)) {
        struct tls_info i;
        tls_info(s, &i);
        CHECK_STR(slice_of(i.group), "X25519MLKEM768");
        CHECK_STR(slice_of(i.certificate), "");
        tls_info(c, &i);
        CHECK_STR(slice_of(i.certificate), strcmp(name, "both") == 0 ? "ECDSA P-256" : strcmp(name, "p384") == 0 ? "ECDSA P-384" : "RSA");
        say(c, "ask");
        pump(c, s, most);
        hears(s, "ask");
        say(s, "answer");
        tls_close(s);
        pump(c, s, most);
        CHECK_STR(tls_read_peek(c), "answer");
        tls_read_used(c, 6);
        pump(c, s, most);
        CHECK_INT(tls_state(c), TLS_CLOSED);
    } else {
        printf("  %s; %s\n", tls_error(c)->text, tls_error(s)->text);
    }
    tls_free(c);
    tls_free(s);
}

/* A server that shows a certificate whose key it does not have. */
static void wrong_key(void)
{
    test_case("a server without the key of its certificate");
    struct tls_identity *id = pki_identity("both"), *other = pki_identity("no-ca");
    id->key = other->key;
    struct tls *c = client("ca.pem"), *s = tls_accept(id);
    pump(c, s, SIZE_MAX);
    CHECK_STR(slice_of(tls_error(c)->text), "server sent a wrong signature: it does not have the key of its certificate");
    CHECK_STR(slice_of(tls_error(s)->text), "client ended the TLS session: alert 51 decrypt_error");
    tls_free(c);
    tls_free(s);
    tls_identity_drop(id);
    tls_identity_drop(other);
}

int main(void)
{
    other_protocol();
    talk("both", "ca.pem", 1);
    talk("both", "ca.pem", SIZE_MAX);
    talk("rsa", "rsa-ca.pem", SIZE_MAX);
    wrong_key();
    test_case("a client that does not trust the certificate goes");
    struct tls *c = client("rsa-ca.pem"), *s = server("both");
    pump(c, s, SIZE_MAX);
    CHECK_INT(tls_error(c)->code, ERR_TLS_TRUST);
    CHECK_INT(tls_state(s), TLS_FAILED);
    CHECK_STR(slice_of(tls_error(s)->text), "client ended the TLS session: alert 48 unknown_ca");
    tls_free(c);
    tls_free(s);
    test_case("a client that cannot verify the certificate names the reason");
    c = client("rsa-ca.pem"), s = server("sha1");
    pump(c, s, SIZE_MAX);
    CHECK_STR(slice_of(tls_error(s)->text), "client ended the TLS session: alert 43 unsupported_certificate");
    tls_free(c);
    tls_free(s);
    test_case("what is no TLS at all");
    s = server("both");
    size_t room = 0;
    char *to = tls_recv_room(s, &room);
    memcpy(to, "GET / HTTP/1.1\r\n", room < 16 ? room : 16);
    tls_recv_wrote(s, room < 16 ? room : 16);
    CHECK_INT(tls_state(s), TLS_FAILED);
    tls_free(s);
    test_case("a client that goes during the handshake");
    s = server("both");
    tls_eof(s);
    CHECK(tls_state(s) == TLS_FAILED && tls_error(s)->code == ERR_CLOSED);
    tls_free(s);
    return test_done();
}
