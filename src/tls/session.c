#include <mobula/tls.h>

#include "check.h"

#include <arpa/inet.h>

/* One block: BearSSL's client or server, our class, and the record buffers in both directions. The largest record must fit, because Go
 * ignores the wish for smaller ones. */
struct tls {
    union {
        br_ssl_engine_context engine; /* what both begin with */
        br_ssl_client_context client;
        br_ssl_server_context server;
    } side;
    bool accepted; /* we are the server */
    struct tls_check check;
    struct tls_trust *trust;
    struct tls_identity *identity;
    enum tls_state state;
    struct err error;
    char name[LIMIT_NET_HOST + 1];
    unsigned char records[BR_SSL_BUFSIZE_BIDI];
};

enum { SEED_BYTES = 32 };

/* ---- opening ---- */

/* AES-GCM is the faster one where the CPU has instructions for it, and slow and cache-timing-proof where it has not. */
static void set_suites(br_ssl_engine_context *engine)
{
    static const uint16_t gcm_first[] = {
        BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,       BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,       BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    };
    static const uint16_t chacha_first[] = {
        BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,       BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,       BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    };
    bool fast_aes = br_aes_x86ni_ctr_get_vtable() && br_ghash_pclmul_get();
    br_ssl_engine_set_suites(engine, fast_aes ? gcm_first : chacha_first, COUNT_OF(gcm_first));
}

/* As br_ssl_engine_set_default_chapol does, without Poly1305 for processors of 32 bits and ChaCha20 for SSE2, which is the slower one
 * today. */
static void set_chapol(br_ssl_engine_context *engine)
{
    br_ssl_engine_set_chapol(engine, &br_sslrec_in_chapol_vtable, &br_sslrec_out_chapol_vtable);
    br_ssl_engine_set_chacha20(engine, br_chacha20_ct_run);
    br_ssl_engine_set_poly1305(engine, br_poly1305_ctmulq_get());
}

static void set_algorithms(br_ssl_engine_context *engine)
{
    br_ssl_engine_set_versions(engine, BR_TLS12, BR_TLS12);
    set_suites(engine);
    br_ssl_engine_set_hash(engine, br_sha256_ID, &br_sha256_vtable);
    br_ssl_engine_set_hash(engine, br_sha384_ID, &br_sha384_vtable);
    br_ssl_engine_set_hash(engine, br_sha512_ID, &br_sha512_vtable);
    br_ssl_engine_set_prf_sha256(engine, &br_tls12_sha256_prf);
    br_ssl_engine_set_prf_sha384(engine, &br_tls12_sha384_prf);
    br_ssl_engine_set_default_rsavrfy(engine);
    br_ssl_engine_set_default_ecdsa(engine); /* and the curves */
    br_ssl_engine_set_default_aes_gcm(engine);
    set_chapol(engine);
}

static void set_identity(br_ssl_client_context *client, struct tls_identity *id)
{
    const br_rsa_private_key *rsa = br_skey_decoder_get_rsa(&id->key);
    const br_ec_private_key *ec = br_skey_decoder_get_ec(&id->key);
    if (rsa)
        br_ssl_client_set_single_rsa(client, id->chain, id->count, rsa, br_rsa_pkcs1_sign_get_default());
    else
        br_ssl_client_set_single_ec(client, id->chain, id->count, ec, BR_KEYTYPE_SIGN, (unsigned)id->signer_key_type, br_ec_get_default(),
                                    br_ecdsa_sign_asn1_get_default());
}

/* An address never goes into SNI: RFC 6066 forbids it, and servers refuse it. */
static const char *server_name(const struct tls *t)
{
    unsigned char address[16];
    bool is_address = inet_pton(AF_INET, t->name, address) == 1 || inet_pton(AF_INET6, t->name, address) == 1;
    return is_address || !t->name[0] ? NULL : t->name;
}

static void set_engine(struct tls *t)
{
    static const char *protocols[] = {"http/1.1"};
    br_ssl_engine_context *engine = &t->side.engine;
    unsigned char seed[SEED_BYTES];
    set_algorithms(engine);
    br_ssl_engine_add_flags(engine, BR_OPT_NO_RENEGOTIATION);
    br_ssl_engine_set_protocol_names(engine, protocols, COUNT_OF(protocols));
    br_ssl_engine_set_buffer(engine, t->records, sizeof t->records, 1);
    random_bytes(seed, sizeof seed);
    br_ssl_engine_inject_entropy(engine, seed, sizeof seed);
    mem_wipe(seed, sizeof seed);
}

static void start(struct tls *t)
{
    br_ssl_client_zero(&t->side.client);
    set_engine(t);
    br_ssl_engine_set_x509(&t->side.engine, &t->check.vtable);
    if (t->identity)
        set_identity(&t->side.client, t->identity);
    br_ssl_client_reset(&t->side.client, server_name(t), 0);
}

/* Its key signs, and never decrypts: only suites with an ephemeral key exchange are offered. */
static void start_server(struct tls *t)
{
    br_ssl_server_context *server = &t->side.server;
    const struct tls_identity *id = t->identity;
    const br_rsa_private_key *rsa = br_skey_decoder_get_rsa(&t->identity->key);
    const br_ec_private_key *ec = br_skey_decoder_get_ec(&t->identity->key);
    br_ssl_server_zero(server);
    set_engine(t);
    br_ssl_engine_add_flags(&server->eng, BR_OPT_ENFORCE_SERVER_PREFERENCES);
    if (rsa)
        br_ssl_server_set_single_rsa(server, id->chain, id->count, rsa, BR_KEYTYPE_SIGN, NULL, br_rsa_pkcs1_sign_get_default());
    else
        br_ssl_server_set_single_ec(server, id->chain, id->count, ec, BR_KEYTYPE_SIGN, (unsigned)id->signer_key_type, br_ec_get_default(),
                                    br_ecdsa_sign_asn1_get_default());
    br_ssl_server_reset(server);
}

static bool check_options(const struct tls_options *o, struct err *e)
{
    if (o->name.len > LIMIT_NET_HOST)
        return err_set(e, ERR_LIMIT, "server name is longer than %d bytes (LIMIT_NET_HOST)", LIMIT_NET_HOST);
    if (slice_find(o->name, '\0') >= 0)
        return err_set(e, ERR_CONFIG, "server name holds a NUL");
    if (!o->insecure && slice_empty(o->name))
        return err_set(e, ERR_CONFIG, "no server name to check the certificate against");
    if (!o->insecure && !o->trust)
        return err_set(e, ERR_CONFIG, "no CA to check the server's certificate against");
    return true;
}

static void settle(struct tls *t);

struct tls *tls_open(const struct tls_options *options, struct err *e)
{
    if (!check_options(options, e))
        return NULL;
    struct tls *t = mem_alloc(sizeof *t);
    t->trust = options->trust ? tls_trust_keep(options->trust) : NULL;
    t->identity = options->identity ? tls_identity_keep(options->identity) : NULL;
    if (options->name.len)
        memcpy(t->name, options->name.ptr, options->name.len);
    tls_check_init(&t->check, slice_of(t->name), t->trust, options->insecure, options->wall_us);
    start(t);
    settle(t);
    return t;
}

struct tls *tls_accept(struct tls_identity *identity)
{
    struct tls *t = mem_alloc(sizeof *t);
    t->accepted = true;
    t->identity = tls_identity_keep(identity);
    start_server(t);
    settle(t);
    return t;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    tls_check_free(&t->check);
    tls_trust_drop(t->trust);
    tls_identity_drop(t->identity);
    mem_wipe(t, sizeof *t);
    mem_free(t);
}

/* ---- what became of it ---- */

static void fail(struct tls *t, enum err_code code, const char *text)
{
    t->state = TLS_FAILED;
    err_set(&t->error, code, "%s", text);
}

static void settle_closed(struct tls *t)
{
    int code = br_ssl_engine_last_error(&t->side.engine);
    if (code == 0 && t->state == TLS_OPEN) {
        t->state = TLS_CLOSED;
    } else if (code == 0) {
        fail(t, ERR_CLOSED,
             t->accepted ? "client closed the connection before the TLS handshake was done"
                         : "server closed the connection before the TLS handshake was done");
    } else if (t->accepted) {
        t->state = TLS_FAILED;
        err_set(&t->error, ERR_TLS, "the TLS session with the client failed (code %d)", code);
    } else if (t->check.error.code != ERR_NONE) {
        t->error = t->check.error;
        t->state = TLS_FAILED;
    } else {
        tls_explain(&t->error, code, t->identity != NULL, t->check.certificates > 0);
        t->state = TLS_FAILED;
    }
}

/* After every step of the engine. When an open engine neither takes nor gives plaintext and wants nothing from the wire, then the peer has
 * said close_notify, and only our own is still to be sent. */
static void settle(struct tls *t)
{
    unsigned now = br_ssl_engine_current_state(&t->side.engine);
    if (t->state >= TLS_CLOSED)
        return;
    if (t->state == TLS_HANDSHAKE && now & (BR_SSL_SENDAPP | BR_SSL_RECVAPP)) {
        t->state = TLS_OPEN;
        buf_free(&t->check.leaf);
    }
    if (now & BR_SSL_CLOSED)
        settle_closed(t);
    else if (t->state == TLS_OPEN && !(now & (BR_SSL_SENDAPP | BR_SSL_RECVAPP | BR_SSL_RECVREC)))
        t->state = TLS_CLOSED;
}

enum tls_state tls_state(const struct tls *t)
{
    return t->state;
}

const struct err *tls_error(const struct tls *t)
{
    return &t->error;
}

int64_t tls_peer_expires(const struct tls *t)
{
    return t->state == TLS_HANDSHAKE ? 0 : t->check.leaf_expires_us;
}

/* ---- moving bytes ---- */

struct slice tls_send_peek(struct tls *t)
{
    size_t n = 0;
    const unsigned char *p = t->state == TLS_FAILED ? NULL : br_ssl_engine_sendrec_buf(&t->side.engine, &n);
    return p ? (struct slice){(const char *)p, n} : SLICE_NONE;
}

void tls_send_used(struct tls *t, size_t n)
{
    if (n == 0)
        return;
    br_ssl_engine_sendrec_ack(&t->side.engine, n);
    settle(t);
}

char *tls_recv_room(struct tls *t, size_t *n)
{
    *n = 0;
    return t->state >= TLS_CLOSED ? NULL : (char *)br_ssl_engine_recvrec_buf(&t->side.engine, n);
}

void tls_recv_wrote(struct tls *t, size_t n)
{
    if (n == 0)
        return;
    br_ssl_engine_recvrec_ack(&t->side.engine, n);
    settle(t);
}

struct slice tls_read_peek(struct tls *t)
{
    size_t n = 0;
    const unsigned char *p = t->state == TLS_OPEN ? br_ssl_engine_recvapp_buf(&t->side.engine, &n) : NULL;
    return p ? (struct slice){(const char *)p, n} : SLICE_NONE;
}

void tls_read_used(struct tls *t, size_t n)
{
    if (n == 0)
        return;
    br_ssl_engine_recvapp_ack(&t->side.engine, n);
    settle(t);
}

char *tls_write_room(struct tls *t, size_t *n)
{
    *n = 0;
    return t->state == TLS_OPEN ? (char *)br_ssl_engine_sendapp_buf(&t->side.engine, n) : NULL;
}

void tls_write_wrote(struct tls *t, size_t n)
{
    if (n == 0)
        return;
    br_ssl_engine_sendapp_ack(&t->side.engine, n);
    settle(t);
}

void tls_flush(struct tls *t)
{
    if (t->state == TLS_OPEN)
        br_ssl_engine_flush(&t->side.engine, 0);
}

void tls_eof(struct tls *t)
{
    if (t->state == TLS_HANDSHAKE)
        fail(t, ERR_CLOSED,
             t->accepted ? "client ended the connection during the TLS handshake" : "server ended the connection during the TLS handshake");
    else if (t->state == TLS_OPEN)
        fail(t, ERR_CLOSED, "connection was cut: it ended without close_notify");
}

void tls_close(struct tls *t)
{
    if (t->state >= TLS_CLOSED)
        return;
    tls_read_used(t, tls_read_peek(t).len);
    tls_flush(t);
    br_ssl_engine_close(&t->side.engine);
    t->state = TLS_CLOSED;
}
