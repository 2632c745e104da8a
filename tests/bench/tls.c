/* The cost of TLS: processor time of each side for a handshake and for bulk data. Our sides are measured against OpenSSL as the peer, and
 * with each other where OpenSSL does not know the key exchange; OpenSSL's own sides are measured in the same run. Certificates are ECDSA
 * P-256, verified by the client. Sessions are resumed in the last row alone, which shows what tickets would save.
 *
 *   bench-tls [HANDSHAKES] [MIB]   the median of RUNS runs, in a table */
#include "measure.h"

#include "../unit/tls/pki.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>

enum { RUNS = 5, PIECE = 16 * 1024 };
static char name[] = "kubernetes.default.svc", modern_groups[] = "X25519", old_groups[] = "X25519:P-256"; /* 1.2: of certificates, too */

/* ---- one side, ours or OpenSSL's ---- */

struct side {
    struct tls *ours; /* NULL: OpenSSL's */
    SSL *ssl;
    BIO *in, *out;
    double ms; /* of the processor, so far */
};

static SSL_CTX *contexts[2][2]; /* [TLS 1.3][server] */
static SSL_SESSION *ticket;     /* the client's next session resumes this one; NULL: a full handshake */
static struct tls_options options;
static struct tls_identity *identity;

static void must(bool well, const char *what)
{
    if (!well)
        fatal("bench-tls: %s: %s", what, ERR_error_string(ERR_get_error(), NULL));
}

static SSL_CTX *context_make(bool modern, bool server)
{
    SSL_CTX *c = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    int version = modern ? TLS1_3_VERSION : TLS1_2_VERSION;
    must(SSL_CTX_set_min_proto_version(c, version) && SSL_CTX_set_max_proto_version(c, version), "version");
    must(SSL_CTX_set1_groups_list(c, modern ? modern_groups : old_groups), "groups");
    must(SSL_CTX_set_cipher_list(c, "ECDHE-ECDSA-AES128-GCM-SHA256") && SSL_CTX_set_ciphersuites(c, "TLS_AES_128_GCM_SHA256"), "suite");
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(c, 0);
    if (server) {
        must(SSL_CTX_use_certificate_chain_file(c, PKI "/both.pem") == 1 &&
                 SSL_CTX_use_PrivateKey_file(c, PKI "/both.key", SSL_FILETYPE_PEM) == 1,
             "certificate");
    } else {
        must(SSL_CTX_load_verify_locations(c, PKI "/ca.pem", NULL) == 1, "CA");
        SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
    }
    return c;
}

static void side_open(struct side *s, bool ours, bool modern, bool server)
{
    double from = processor_ms();
    *s = (struct side){0};
    if (ours) {
        s->ours = server ? tls_accept(identity) : tls_open(&options, NULL);
    } else {
        s->ssl = SSL_new(contexts[modern][server]);
        s->in = BIO_new(BIO_s_mem());
        s->out = BIO_new(BIO_s_mem());
        SSL_set_bio(s->ssl, s->in, s->out);
        if (server) {
            SSL_set_accept_state(s->ssl);
        } else {
            SSL_set_connect_state(s->ssl);
            SSL_set_tlsext_host_name(s->ssl, name);
            SSL_set1_host(s->ssl, name);
            must(!ticket || SSL_set_session(s->ssl, ticket) == 1, "ticket");
        }
        SSL_do_handshake(s->ssl);
    }
    s->ms += processor_ms() - from;
}

static void side_close(struct side *s)
{
    if (s->ssl) {
        SSL_set_shutdown(s->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* otherwise its ticket is not usable */
        SSL_free(s->ssl);
    }
    tls_free(s->ours);
}

static bool is_open(const struct side *s)
{
    return s->ours ? tls_state(s->ours) == TLS_OPEN : SSL_is_init_finished(s->ssl) == 1;
}

/* Takes at most `size` bytes for the wire. */
static size_t side_send(struct side *s, char *to, size_t size)
{
    double from = processor_ms();
    size_t n = 0;
    if (s->ours) {
        struct slice out = slice_head(tls_send_peek(s->ours), size);
        memcpy(to, out.ptr ? out.ptr : "", out.len);
        tls_send_used(s->ours, n = out.len);
    } else {
        int got = BIO_read(s->out, to, (int)size);
        n = got > 0 ? (size_t)got : 0;
    }
    s->ms += processor_ms() - from;
    return n;
}

/* Gives bytes of the wire. Returns how many were taken. */
static size_t side_receive(struct side *s, const char *from_wire, size_t size)
{
    double from = processor_ms();
    size_t n = size;
    if (s->ours) {
        size_t room = 0;
        char *at = tls_recv_room(s->ours, &room);
        n = !at ? 0 : room < size ? room : size;
        if (n)
            memcpy(at, from_wire, n);
        tls_recv_wrote(s->ours, n);
    } else {
        BIO_write(s->in, from_wire, (int)size);
        if (!is_open(s))
            SSL_do_handshake(s->ssl);
    }
    s->ms += processor_ms() - from;
    return n;
}

/* Writes plaintext; reads and drops plaintext. Both return the number of bytes. */
static size_t side_write(struct side *s, size_t size)
{
    static char text[PIECE];
    double from = processor_ms();
    size_t n = size < sizeof text ? size : sizeof text;
    if (s->ours) {
        size_t room = 0;
        char *at = tls_write_room(s->ours, &room);
        n = !at ? 0 : room < n ? room : n;
        if (n)
            memcpy(at, text, n);
        tls_write_wrote(s->ours, n);
        tls_flush(s->ours);
    } else {
        int put = SSL_write(s->ssl, text, (int)n);
        n = put > 0 ? (size_t)put : 0;
    }
    s->ms += processor_ms() - from;
    return n;
}

static size_t side_read(struct side *s)
{
    static char text[PIECE];
    double from = processor_ms();
    size_t n;
    if (s->ours) {
        struct slice got = tls_read_peek(s->ours);
        memcpy(text, got.ptr ? got.ptr : "", got.len < sizeof text ? got.len : sizeof text);
        tls_read_used(s->ours, n = got.len);
    } else {
        int got = SSL_read(s->ssl, text, sizeof text);
        n = got > 0 ? (size_t)got : 0;
    }
    s->ms += processor_ms() - from;
    return n;
}

/* Carries all that one has for the wire to the other, as far as that takes it. */
static bool carry(struct side *a, struct side *b)
{
    char wire[2 * PIECE];
    size_t n = side_send(a, wire, sizeof wire), at = 0;
    while (at < n) {
        size_t took = side_receive(b, wire + at, n - at);
        must(took > 0 || side_read(b) > 0, "the wire is stuck");
        at += took;
    }
    return n > 0;
}

/* ---- measurements ---- */

struct pair {
    const char *what;
    bool ours[2]; /* client, server */
    bool modern;
    double handshake_ms[2], bulk_ms[2]; /* for each handshake; for each MiB from server to client */
};

static void shake(struct side sides[2], const struct pair *p)
{
    for (int i = 0; i < 2; i++)
        side_open(&sides[i], p->ours[i], p->modern, i);
    for (bool any = true; any;) {
        any = carry(&sides[0], &sides[1]);
        any |= carry(&sides[1], &sides[0]);
    }
    must(is_open(&sides[0]) && is_open(&sides[1]), p->what);
    must(!sides[0].ssl || SSL_session_reused(sides[0].ssl) == (ticket != NULL), "resumption");
}

static void measure_handshakes(struct pair *p, int count)
{
    double values[2][RUNS];
    for (int run = 0; run < RUNS; run++) {
        values[0][run] = values[1][run] = 0;
        for (int n = 0; n < count; n++) {
            struct side sides[2];
            shake(sides, p);
            for (int i = 0; i < 2; i++) {
                values[i][run] += sides[i].ms / count;
                side_close(&sides[i]);
            }
        }
    }
    for (int i = 0; i < 2; i++)
        p->handshake_ms[i] = median(values[i], RUNS);
}

/* ---- resumption ---- */

static int on_ticket(SSL *ssl, SSL_SESSION *session)
{
    (void)ssl;
    SSL_SESSION_free(ticket);
    ticket = session;
    return 1; /* it is ours now */
}

/* Makes OpenSSL's two sides use tickets, and gets one, which the client then uses again and again. */
static void resume(const struct pair *p)
{
    struct side sides[2];
    SSL_CTX *client = contexts[1][0];
    for (int server = 0; server < 2; server++)
        SSL_CTX_clear_options(contexts[1][server], SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(contexts[1][1], 1);
    SSL_CTX_set_session_cache_mode(client, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(client, on_ticket);
    shake(sides, p);
    side_read(&sides[0]);
    must(ticket != NULL, "ticket");
    for (int i = 0; i < 2; i++)
        side_close(&sides[i]);
    SSL_CTX_set_session_cache_mode(client, SSL_SESS_CACHE_OFF); /* with it on, a ticket is used once */
}

static void measure_bulk(struct pair *p, size_t mib)
{
    double values[2][RUNS];
    for (int run = 0; run < RUNS; run++) {
        struct side sides[2];
        shake(sides, p);
        sides[0].ms = sides[1].ms = 0;
        for (size_t got = 0, sent = 0; got < mib * MIB;) {
            sent += side_write(&sides[1], mib * MIB - sent);
            carry(&sides[1], &sides[0]);
            for (size_t n; (n = side_read(&sides[0])) > 0;)
                got += n;
        }
        for (int i = 0; i < 2; i++) {
            values[i][run] = sides[i].ms / (double)mib;
            side_close(&sides[i]);
        }
    }
    for (int i = 0; i < 2; i++)
        p->bulk_ms[i] = median(values[i], RUNS);
}

static void prepare(void)
{
    options = (struct tls_options){.name = slice_of(name), .wall_us = clock_now().wall_us, .trust = pki_trust("ca.pem")};
    identity = pki_identity("both");
    for (int modern = 0; modern < 2; modern++)
        for (int server = 0; server < 2; server++)
            contexts[modern][server] = context_make(modern, server);
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 200;
    size_t mib = argc > 2 ? (size_t)strtol(argv[2], NULL, 10) : 64;
    struct pair pairs[] = {
        {.what = "TLS 1.2 X25519, our client", .ours = {true, false}},
        {.what = "TLS 1.2 X25519, our server", .ours = {false, true}},
        {.what = "TLS 1.3 X25519, our client", .ours = {true, false}, .modern = true},
        {.what = "TLS 1.3 X25519, our server", .ours = {false, true}, .modern = true},
        {.what = "TLS 1.3 X25519MLKEM768, both ours", .ours = {true, true}, .modern = true},
        {.what = "TLS 1.2 X25519, both OpenSSL"},
        {.what = "TLS 1.3 X25519, both OpenSSL", .modern = true},
        {.what = "TLS 1.3 X25519, OpenSSL, resumed", .modern = true},
    };
    prepare();
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        if (i == COUNT_OF(pairs) - 1)
            resume(&pairs[i]);
        measure_handshakes(&pairs[i], count);
        measure_bulk(&pairs[i], mib);
    }
    const double client = pairs[0].handshake_ms[0], server = pairs[1].handshake_ms[1];
    printf("%-36s %22s %22s %12s %12s\n", "", "client", "server", "sends", "receives");
    printf("%-36s %12s %9s %12s %9s %12s %12s\n", "", "ms", "x our 1.2", "ms", "x our 1.2", "ms/MiB", "ms/MiB");
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        const struct pair *p = &pairs[i];
        printf("%-36s %12.3f %9.2f %12.3f %9.2f %12.3f %12.3f\n", p->what, p->handshake_ms[0], p->handshake_ms[0] / client,
               p->handshake_ms[1], p->handshake_ms[1] / server, p->bulk_ms[1], p->bulk_ms[0]);
    }
    return 0;
}
