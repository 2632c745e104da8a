#include <mobula/tls.h>

#include "check.h"

/* RSA keys below 2048 bits in the server's chain are refused. */
enum { RSA_BYTES_MIN = 256 };
/* BearSSL counts days from the year 0. */
enum { DAYS_TO_1970 = 719528, SECONDS_PER_DAY = 86400 };
#define US_PER_SECOND INT64_C(1000000)

/* BearSSL hands out the address of the vtable pointer, which is the first field. */
static struct tls_check *check_of(const br_x509_class **ctx)
{
    return (struct tls_check *)(void *)ctx;
}

static void start_chain(const br_x509_class **ctx, const char *server_name)
{
    struct tls_check *c = check_of(ctx);
    (void)server_name; /* the name for SNI; c->name is checked */
    c->certificates = 0;
    buf_clear(&c->leaf);
    if (c->insecure)
        br_x509_decoder_init(&c->engine.decoder, NULL, NULL);
    else
        c->engine.minimal.vtable->start_chain(&c->engine.minimal.vtable, NULL);
}

static void start_cert(const br_x509_class **ctx, uint32_t length)
{
    struct tls_check *c = check_of(ctx);
    buf_clear(&c->cert);
    if (++c->certificates > LIMIT_TLS_PEER_CHAIN && c->error.code == ERR_NONE)
        err_set(&c->error, ERR_LIMIT, "server sent more than %d certificates (LIMIT_TLS_PEER_CHAIN)", LIMIT_TLS_PEER_CHAIN);
    if (!c->insecure && c->error.code == ERR_NONE)
        c->engine.minimal.vtable->start_cert(&c->engine.minimal.vtable, length);
}

static void append(const br_x509_class **ctx, const unsigned char *bytes, size_t len)
{
    struct tls_check *c = check_of(ctx);
    if (!buf_put(&c->cert, (struct slice){(const char *)bytes, len}) && c->error.code == ERR_NONE)
        err_set(&c->error, ERR_LIMIT, "a certificate of the server's chain is longer than %d bytes (LIMIT_TLS_MESSAGE)", LIMIT_TLS_MESSAGE);
}

/* Shows a certificate to BearSSL. Within its signed part, the signature of the certificate before it is verified; behind it, its own. */
static void show(struct tls_check *c)
{
    static const unsigned char pkcs1[] = {[br_sha256_ID] = 0x0b, [br_sha384_ID] = 0x0c, [br_sha512_ID] = 0x0d}; /* ends of their OIDs */
    br_x509_minimal_context *m = &c->engine.minimal;
    unsigned char *der = (unsigned char *)c->cert.ptr;
    int hash = 0;
    size_t at = tls_signature_algorithm(buf_slice(&c->cert), &hash);
    unsigned char was = at ? der[at - 1] : 0;
    if (hash)
        der[at - 1] = pkcs1[hash];
    if (at)
        m->vtable->append(&m->vtable, der, at);
    c->pss = hash != 0;
    if (at < c->cert.len)
        m->vtable->append(&m->vtable, der + at, c->cert.len - at);
    if (hash)
        der[at - 1] = was;
    m->vtable->end_cert(&m->vtable);
}

static void end_cert(const br_x509_class **ctx)
{
    struct tls_check *c = check_of(ctx);
    if (c->error.code != ERR_NONE)
        return;
    if (!c->insecure)
        show(c);
    else if (c->certificates == 1)
        br_x509_decoder_push(&c->engine.decoder, c->cert.ptr, c->cert.len);
    if (c->certificates != 1)
        return;
    buf_free(&c->leaf);
    c->leaf = c->cert;
    buf_init(&c->cert, LIMIT_TLS_MESSAGE);
}

/* x is the signature within BearSSL's context, which is within ours. */
static uint32_t verify_rsa(const unsigned char *x, size_t len, const unsigned char *oid, size_t hash_len, const br_rsa_public_key *key,
                           unsigned char *out)
{
    const struct tls_check *c = (const void *)(x - offsetof(struct tls_check, engine.minimal.cert_sig));
    if (c->pss)
        memcpy(out, c->engine.minimal.tbs_hash, hash_len);
    return tls_verify_rsa(x, len, c->pss ? (const unsigned char *)"" : oid, hash_len, key, out);
}

/* Checks that a good chain does not include: whether the certificate is this server's. */
static unsigned check_leaf(struct tls_check *c, const struct tls_leaf *leaf)
{
    if (!leaf->has_name) {
        err_set(&c->error, ERR_TLS_NAME, "certificate is for %s, wanted %.*s",
                leaf->first_name[0] ? leaf->first_name : "no server (it has no subjectAltName)", SLICE_ARG(c->name));
        return BR_ERR_X509_BAD_SERVER_NAME;
    }
    if (leaf->has_eku && !leaf->server) {
        err_set(&c->error, ERR_TLS_TRUST, "certificate is not a server's: its extended key usage has no serverAuth");
        return BR_ERR_X509_FORBIDDEN_KEY_USAGE;
    }
    return 0;
}

static unsigned end_chain(const br_x509_class **ctx)
{
    struct tls_check *c = check_of(ctx);
    struct tls_leaf leaf;
    bool readable = c->leaf.len <= LIMIT_TLS_LEAF && tls_leaf_read(buf_slice(&c->leaf), c->name, &leaf, NULL);
    c->leaf_expires_us = readable ? leaf.not_after_us : 0;
    if (c->error.code != ERR_NONE)
        return BR_ERR_X509_LIMIT_EXCEEDED;
    if (c->insecure)
        return (unsigned)br_x509_decoder_last_error(&c->engine.decoder);
    unsigned verdict = c->engine.minimal.vtable->end_chain(&c->engine.minimal.vtable);
    if (verdict == 0 && c->leaf.len > LIMIT_TLS_LEAF) {
        err_set(&c->error, ERR_LIMIT, "certificate is longer than %d bytes (LIMIT_TLS_LEAF)", LIMIT_TLS_LEAF);
        return BR_ERR_X509_LIMIT_EXCEEDED;
    }
    if (verdict == 0 && !readable)
        verdict = BR_ERR_X509_INVALID_VALUE;
    if (verdict) {
        tls_explain_certificate(&c->error, (int)verdict, readable ? &leaf : NULL, c->wall_us);
        return verdict;
    }
    return check_leaf(c, &leaf);
}

static const br_x509_pkey *get_pkey(const br_x509_class *const *ctx, unsigned *usages)
{
    const struct tls_check *c = (const struct tls_check *)(const void *)ctx;
    if (!c->insecure)
        return c->engine.minimal.vtable->get_pkey(&c->engine.minimal.vtable, usages);
    if (usages)
        *usages = BR_KEYTYPE_KEYX | BR_KEYTYPE_SIGN;
    return br_x509_decoder_get_pkey((br_x509_decoder_context *)(uintptr_t)&c->engine.decoder); /* it only reads */
}

static const br_x509_class check_class = {
    .context_size = sizeof(struct tls_check),
    .start_chain = start_chain,
    .start_cert = start_cert,
    .append = append,
    .end_cert = end_cert,
    .end_chain = end_chain,
    .get_pkey = get_pkey,
};

/* SHA-1 is left out: a chain that needs it is refused as unsupported. */
static void init_minimal(br_x509_minimal_context *m, const struct tls_trust *trust, int64_t wall_us)
{
    int64_t seconds = wall_us / US_PER_SECOND;
    br_x509_minimal_init(m, &br_sha256_vtable, trust->anchors, trust->count);
    br_x509_minimal_set_rsa(m, verify_rsa);
    br_x509_minimal_set_ecdsa(m, br_ec_get_default(), br_ecdsa_vrfy_asn1_get_default());
    br_x509_minimal_set_hash(m, br_sha256_ID, &br_sha256_vtable);
    br_x509_minimal_set_hash(m, br_sha384_ID, &br_sha384_vtable);
    br_x509_minimal_set_hash(m, br_sha512_ID, &br_sha512_vtable);
    br_x509_minimal_set_minrsa(m, RSA_BYTES_MIN);
    br_x509_minimal_set_time(m, (uint32_t)(seconds / SECONDS_PER_DAY + DAYS_TO_1970), (uint32_t)(seconds % SECONDS_PER_DAY));
}

void tls_check_init(struct tls_check *c, struct slice name, const struct tls_trust *trust, bool insecure, int64_t wall_us)
{
    *c = (struct tls_check){.vtable = &check_class, .name = name, .insecure = insecure, .wall_us = wall_us};
    buf_init(&c->leaf, LIMIT_TLS_MESSAGE);
    buf_init(&c->cert, LIMIT_TLS_MESSAGE);
    if (!insecure)
        init_minimal(&c->engine.minimal, trust, wall_us);
}

void tls_check_free(struct tls_check *c)
{
    buf_free(&c->leaf);
    buf_free(&c->cert);
}
