/* Continues a session in TLS 1.2 with BearSSL's engine, once the peer's hello has shown that it does not speak TLS 1.3. */
#include "der.h"
#include "session.h"

enum { SEED_BYTES = 32 };

/* AES-GCM comes first if the CPU has instructions for it; without them its constant-time code is slower than ChaCha20-Poly1305. */
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
    br_ssl_engine_set_suites(engine, v13_fast_aes() ? gcm_first : chacha_first, COUNT_OF(gcm_first));
}

/* br_ssl_engine_set_default_chapol without Poly1305 for 32-bit processors and without ChaCha20 for SSE2, which is slower than the portable
 * code today. */
static void set_chapol(br_ssl_engine_context *engine)
{
    br_ssl_engine_set_chapol(engine, &br_sslrec_in_chapol_vtable, &br_sslrec_out_chapol_vtable);
    br_ssl_engine_set_chacha20(engine, br_chacha20_ct_run);
    br_ssl_engine_set_poly1305(engine, br_poly1305_ctmulq_get());
}

/* Of a ServerKeyExchange: vendor/patches/bearssl/03-rsa-pss-in-server-key-exchange.patch. */
uint32_t tls_verify_rsa(const unsigned char *x, size_t len, const unsigned char *oid, size_t hash_len, const br_rsa_public_key *key,
                        unsigned char *out)
{
    if (key->elen > LIMIT_TLS_EXPONENT)
        return 0;
    if (!oid || oid[0])
        return br_rsa_pkcs1_vrfy_get_default()(x, len, oid, hash_len, key, out);
    const br_hash_class *hash = hash_len == br_sha256_SIZE   ? &br_sha256_vtable
                                : hash_len == br_sha384_SIZE ? &br_sha384_vtable
                                                             : &br_sha512_vtable;
    return v13_verify_pss(hash, key, out, (struct slice){(const char *)x, len});
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
    br_ssl_engine_set_rsavrfy(engine, tls_verify_rsa);
    br_ssl_engine_set_default_ecdsa(engine); /* sets the curves too */
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

const char *tls_server_name(const struct tls *t)
{
    unsigned char address[16];
    return der_address(slice_of(t->name), address) || !t->name[0] ? NULL : t->name;
}

static void set_engine(struct tls *t)
{
    static const char *protocols[] = {"http/1.1", "h2"};
    br_ssl_engine_context *engine = &t->side.engine;
    unsigned char seed[SEED_BYTES];
    set_algorithms(engine);
    br_ssl_engine_add_flags(engine, BR_OPT_NO_RENEGOTIATION | BR_OPT_FAIL_ON_ALPN_MISMATCH);
    br_ssl_engine_set_protocol_names(engine, protocols + t->h2, 1);
    br_ssl_engine_set_buffer(engine, t->records, sizeof t->records, 1);
    random_bytes(seed, sizeof seed);
    br_ssl_engine_inject_entropy(engine, seed, sizeof seed);
    mem_wipe(seed, sizeof seed);
}

static void start(struct tls *t)
{
    br_ssl_client_zero(&t->side.client);
    set_engine(t);
    br_ssl_engine_set_x509(&t->side.engine, &t->check->vtable);
    if (t->identity)
        set_identity(&t->side.client, t->identity);
    br_ssl_client_reset(&t->side.client, tls_server_name(t), 0);
}

/* The server's key only signs and never decrypts: all suites have an ephemeral key exchange (ECDHE). */
static void start_server(struct tls *t)
{
    br_ssl_server_context *server = &t->side.server;
    const struct tls_identity *id = t->identity;
    const br_rsa_private_key *rsa = br_skey_decoder_get_rsa(&t->identity->key);
    const br_ec_private_key *ec = br_skey_decoder_get_ec(&t->identity->key);
    br_ssl_server_zero(server);
    set_engine(t);
    br_ssl_engine_add_flags(&server->eng, BR_OPT_ENFORCE_SERVER_PREFERENCES | BR_OPT_KNOWS_TLS13);
    if (rsa)
        br_ssl_server_set_single_rsa(server, id->chain, id->count, rsa, BR_KEYTYPE_SIGN, NULL, br_rsa_pkcs1_sign_get_default());
    else
        br_ssl_server_set_single_ec(server, id->chain, id->count, ec, BR_KEYTYPE_SIGN, (unsigned)id->signer_key_type, br_ec_get_default(),
                                    br_ecdsa_sign_asn1_get_default());
    br_ssl_server_reset(server);
}

/* Discards the ClientHello that the engine has written and gives it the one that v13_client_hello has sent: its random, from which the keys
 * are derived, and its bytes for the handshake hash. */
static void replace_hello(br_ssl_engine_context *engine, const struct v13_shake *shake)
{
    size_t n = 0;
    while (br_ssl_engine_sendrec_buf(engine, &n))
        br_ssl_engine_sendrec_ack(engine, n);
    memcpy(engine->client_random, shake->random, sizeof engine->client_random);
    br_multihash_init(&engine->mhash);
    br_multihash_update(&engine->mhash, shake->hello.ptr, shake->hello.len);
}

static void feed(br_ssl_engine_context *engine, struct slice raw)
{
    size_t room = 0;
    for (unsigned char *to; raw.len && (to = br_ssl_engine_recvrec_buf(engine, &room)) != NULL;) {
        size_t n = raw.len < room ? raw.len : room;
        memcpy(to, raw.ptr, n);
        br_ssl_engine_recvrec_ack(engine, n);
        raw = slice_skip(raw, n);
    }
}

void tls_go_old(struct tls *t)
{
    struct v13 was = t->side.modern;
    t->old = true;
    memcpy(t->theirs, was.theirs, sizeof t->theirs);
    memset(&t->side, 0, sizeof t->side);
    if (t->accepted) {
        start_server(t);
    } else {
        start(t);
        replace_hello(&t->side.engine, was.shake);
    }
    feed(&t->side.engine, buf_slice(&was.shake->raw));
    v13_free(&was);
    mem_wipe(&was, sizeof was);
}

void tls_info_old(const br_ssl_engine_context *engine, struct tls_info *out)
{
    static const struct {
        uint16_t id;
        const char *name;
    } suites[] = {
        {BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "ECDHE_ECDSA_AES_128_GCM_SHA256"},
        {BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "ECDHE_RSA_AES_128_GCM_SHA256"},
        {BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "ECDHE_ECDSA_AES_256_GCM_SHA384"},
        {BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "ECDHE_RSA_AES_256_GCM_SHA384"},
        {BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE_ECDSA_CHACHA20_POLY1305_SHA256"},
        {BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE_RSA_CHACHA20_POLY1305_SHA256"},
    };
    const struct v13_group *g = v13_group_of(engine->ecdhe_curve);
    *out = (struct tls_info){"TLS 1.2", g ? g->name : "", "", ""};
    for (size_t i = 0; i < COUNT_OF(suites); i++)
        if (suites[i].id == engine->session.cipher_suite)
            out->suite = suites[i].name;
}
