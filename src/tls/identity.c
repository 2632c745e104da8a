#include <mobula/tls.h>

#include "pem.h"
#include "trust.h"

static bool read_chain(struct slice pem, struct tls_identity *id, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf der;
    struct err malformed = {0};
    struct pem_block block;
    size_t total = 0;
    buf_init(&der, LIMIT_TLS_PEM);
    while (pem_next(&pem, &block, &malformed)) {
        if (!pem_is_certificate(&block))
            continue;
        if (id->count == LIMIT_TLS_CHAIN)
            return err_set(e, ERR_LIMIT, "certificate has a chain of more than %d (LIMIT_TLS_CHAIN)", LIMIT_TLS_CHAIN);
        buf_clear(&der);
        if (!pem_decode(block.body, &der, e))
            return err_wrap(e, "certificate");
        total += der.len;
        if (total > LIMIT_TLS_MESSAGE)
            return err_set(e, ERR_LIMIT, "certificate has a chain of more than %d bytes (LIMIT_TLS_MESSAGE)", LIMIT_TLS_MESSAGE);
        unsigned char *copy = arena_alloc(&id->memory, der.len + 1);
        memcpy(copy, der.ptr, der.len);
        id->chain[id->count++] = (br_x509_certificate){copy, der.len};
    }
    if (malformed.code != ERR_NONE)
        return err_set(e, malformed.code, "certificate: %s", malformed.text);
    return id->count > 0 || err_set(e, ERR_MISSING, "no certificate found: want PEM with -----BEGIN CERTIFICATE-----");
}

static bool is_key(struct slice label)
{
    return slice_is(label, "PRIVATE KEY") || slice_is(label, "RSA PRIVATE KEY") || slice_is(label, "EC PRIVATE KEY");
}

static bool decode_key(struct slice body, br_skey_decoder_context *key, struct err *e)
{
    struct buf der;
    buf_init(&der, LIMIT_TLS_PEM);
    bool ok = pem_decode(body, &der, e);
    br_skey_decoder_init(key);
    br_skey_decoder_push(key, der.ptr, der.len);
    buf_wipe(&der);
    if (!ok)
        return false;
    if (br_skey_decoder_last_error(key) != 0)
        return err_set(e, ERR_CONFIG, "private key cannot be used: want RSA up to 8192 bits or EC on P-256/384/521, not Ed25519 (code %d)",
                       br_skey_decoder_last_error(key));
    return true;
}

static bool read_key(struct slice pem, struct tls_identity *id, struct err *e)
{
    struct err malformed = {0};
    struct pem_block block;
    while (pem_next(&pem, &block, &malformed)) {
        bool old_style = slice_starts(slice_trim(block.body), SLICE("Proc-Type:"));
        if (slice_is(block.label, "ENCRYPTED PRIVATE KEY") || (is_key(block.label) && old_style))
            return err_set(e, ERR_CONFIG, "private key is encrypted: a key without a passphrase is needed");
        if (is_key(block.label))
            return decode_key(block.body, &id->key, e) || err_wrap(e, "key");
    }
    if (malformed.code != ERR_NONE)
        return err_set(e, malformed.code, "key: %s", malformed.text);
    return err_set(e, ERR_MISSING, "no private key found: want PEM with -----BEGIN PRIVATE KEY-----, RSA or EC");
}

static bool rsa_belongs(const br_rsa_private_key *secret, const br_rsa_public_key *public)
{
    br_rsa_compute_modulus compute = br_rsa_compute_modulus_get_default();
    unsigned char modulus[TLS_RSA_MAX];
    size_t len = compute(NULL, secret), zeros = 0;
    if (len == 0 || len > sizeof modulus)
        return false;
    compute(modulus, secret);
    while (zeros < public->nlen && public->n[zeros] == 0)
        zeros++;
    return public->nlen - zeros == len && memcmp(modulus, public->n + zeros, len) == 0;
}

static bool ec_belongs(const br_ec_private_key *secret, const br_ec_public_key *public)
{
    unsigned char point[BR_EC_KBUF_PUB_MAX_SIZE];
    size_t len = br_ec_compute_pub(br_ec_get_default(), NULL, point, secret);
    return len > 0 && secret->curve == public->curve && len == public->qlen && memcmp(point, public->q, len) == 0;
}

/* Whether the key is the one that the first certificate was made for. */
static bool check_pair(struct tls_identity *id, struct err *e)
{
    br_x509_decoder_context decoder;
    br_x509_decoder_init(&decoder, NULL, NULL);
    br_x509_decoder_push(&decoder, id->chain[0].data, id->chain[0].data_len);
    const br_x509_pkey *public = br_x509_decoder_get_pkey(&decoder);
    if (!public)
        return err_set(e, ERR_CONFIG, "certificate cannot be used: want RSA up to 8192 bits or EC on P-256/384/521, not Ed25519 (code %d)",
                       br_x509_decoder_last_error(&decoder));
    id->signer_key_type = br_x509_decoder_get_signer_key_type(&decoder);
    const br_rsa_private_key *rsa = br_skey_decoder_get_rsa(&id->key);
    const br_ec_private_key *ec = br_skey_decoder_get_ec(&id->key);
    bool belongs = public->key_type == BR_KEYTYPE_RSA ? rsa && rsa_belongs(rsa, &public->key.rsa) : ec && ec_belongs(ec, &public->key.ec);
    return belongs || err_set(e, ERR_CONFIG, "key does not belong to the first certificate");
}

bool tls_rsa_sign(struct slice key_pem, struct slice text, char out[TLS_RSA_MAX], size_t *len, struct err *e)
{
    struct tls_identity id = {.refs = 1};
    unsigned char hash[br_sha256_SIZE];
    br_sha256_context h;
    bool well = read_key(key_pem, &id, e);
    const br_rsa_private_key *rsa = well ? br_skey_decoder_get_rsa(&id.key) : NULL;
    br_sha256_init(&h);
    br_sha256_update(&h, text.ptr, text.len);
    br_sha256_out(&h, hash);
    *len = rsa ? (rsa->n_bitlen + 7) / 8 : 0;
    bool done =
        rsa && *len <= TLS_RSA_MAX && br_rsa_pkcs1_sign_get_default()(BR_HASH_OID_SHA256, hash, sizeof hash, rsa, (unsigned char *)out);
    mem_wipe(&id, sizeof id);
    return done || (rsa && err_set(e, ERR_CONFIG, RSA_CANNOT_SIGN, rsa->n_bitlen)) ||
           (well && !rsa && err_set(e, ERR_CONFIG, "the private key is not an RSA key"));
}

struct tls_identity *tls_identity_load(struct slice cert_pem, struct slice key_pem, struct err *e)
{
    if (cert_pem.len > LIMIT_TLS_PEM || key_pem.len > LIMIT_TLS_PEM) {
        err_set(e, ERR_LIMIT, "certificate or key is longer than %d bytes (LIMIT_TLS_PEM)", LIMIT_TLS_PEM);
        return NULL;
    }
    struct tls_identity *id = mem_alloc(sizeof *id);
    id->refs = 1;
    if (read_chain(cert_pem, id, e) && read_key(key_pem, id, e) && check_pair(id, e))
        return id;
    tls_identity_drop(id);
    return NULL;
}

struct tls_identity *tls_identity_keep(struct tls_identity *i)
{
    i->refs++;
    return i;
}

void tls_identity_drop(struct tls_identity *i)
{
    if (!i || --i->refs)
        return;
    arena_free(&i->memory);
    mem_wipe(i, sizeof *i);
    mem_free(i);
}
