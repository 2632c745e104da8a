/* Makes and verifies the signatures of CertificateVerify (RFC 8446 §4.4.3): ECDSA, and RSA-PSS (RFC 8017 §8.1) with a salt as long as the
 * hash. */
#include "v13.h"

enum { CONTEXT = 64, CONTEXT_TEXT = 33 };

/* Schemes for CertificateVerify, in order of preference. In TLS 1.3 a scheme of ECDSA fixes the curve as well as the hash. */
static const struct scheme {
    uint16_t id;
    uint8_t curve; /* 0: RSA-PSS */
    const br_hash_class *hash;
} schemes[] = {
    {0x0403, BR_EC_secp256r1, &br_sha256_vtable},
    {0x0503, BR_EC_secp384r1, &br_sha384_vtable},
    {0x0603, BR_EC_secp521r1, &br_sha512_vtable},
    {0x0804, 0, &br_sha256_vtable},
    {0x0805, 0, &br_sha384_vtable},
    {0x0806, 0, &br_sha512_vtable},
};

/* The client's signature_algorithms. PKCS #1 v1.5 (0x0401 to 0x0601) is for TLS 1.2 and for certificates. It comes before RSA-PSS, so that
 * a TLS 1.2 server that follows this order signs with it. */
const uint16_t v13_schemes[] = {0x0403, 0x0503, 0x0603, 0x0401, 0x0501, 0x0601, 0x0804, 0x0805, 0x0806};
const size_t v13_scheme_count = COUNT_OF(v13_schemes);

static const struct scheme *scheme_of(unsigned id)
{
    for (size_t i = 0; i < COUNT_OF(schemes); i++)
        if (schemes[i].id == id)
            return &schemes[i];
    return NULL;
}

static size_t hash_len(const br_hash_class *h)
{
    return h->desc >> BR_HASHDESC_OUT_OFF & BR_HASHDESC_OUT_MASK;
}

/* The hash of the signed content: 64 spaces, the context string with its NUL, the transcript hash. */
static void digest(const struct scheme *k, bool server, const struct v13_suite *s, const unsigned char *transcript, unsigned char *out)
{
    br_hash_compat_context h;
    unsigned char spaces[CONTEXT];
    memset(spaces, ' ', sizeof spaces);
    k->hash->init(&h.vtable);
    k->hash->update(&h.vtable, spaces, sizeof spaces);
    k->hash->update(&h.vtable, server ? "TLS 1.3, server CertificateVerify" : "TLS 1.3, client CertificateVerify", CONTEXT_TEXT + 1);
    k->hash->update(&h.vtable, transcript, v13_hash_len(s));
    k->hash->out(&h.vtable, out);
}

/* ---- RSA-PSS ---- */

/* XORs MGF1(seed) into the n bytes at `to`. */
static void mask(const br_hash_class *h, const unsigned char *seed, unsigned char *to, size_t n)
{
    unsigned char block[64];
    br_hash_compat_context c;
    for (uint32_t i = 0; n > 0; i++) {
        const unsigned char count[4] = {(unsigned char)(i >> 24), (unsigned char)(i >> 16), (unsigned char)(i >> 8), (unsigned char)i};
        size_t take = n < hash_len(h) ? n : hash_len(h);
        h->init(&c.vtable);
        h->update(&c.vtable, seed, hash_len(h));
        h->update(&c.vtable, count, sizeof count);
        h->out(&c.vtable, block);
        for (size_t j = 0; j < take; j++)
            to[j] ^= block[j];
        to += take;
        n -= take;
    }
}

/* H = Hash(eight zeros, message hash, salt). */
static void salted(const br_hash_class *h, const unsigned char *message, const unsigned char *salt, unsigned char *out)
{
    static const unsigned char zeros[8];
    br_hash_compat_context c;
    h->init(&c.vtable);
    h->update(&c.vtable, zeros, sizeof zeros);
    h->update(&c.vtable, message, hash_len(h));
    h->update(&c.vtable, salt, hash_len(h));
    h->out(&c.vtable, out);
}

/* The length of the modulus in bits; the encoded message has one bit less. */
static uint32_t bit_length(const unsigned char *n, size_t len)
{
    while (len > 0 && *n == 0)
        n++, len--;
    uint32_t bits = (uint32_t)len * 8;
    for (unsigned top = 0x80; len > 0 && top && !(*n & top); top >>= 1)
        bits--;
    return bits;
}

/* EMSA-PSS-ENCODE of a hash into the len bytes of x, as many as the modulus has. False: the key is too short for this hash. */
static bool pss_encode(const br_hash_class *h, const unsigned char *message, uint32_t bits, unsigned char *x, size_t len)
{
    unsigned char salt[64];
    size_t n = hash_len(h), em = (bits - 1 + 7) / 8;
    if (em < 2 * n + 2)
        return false;
    random_bytes(salt, n);
    memset(x, 0, len);
    unsigned char *at = x + (len - em), *hash = at + em - n - 1;
    hash[-(ptrdiff_t)n - 1] = 1;
    memcpy(hash - n, salt, n);
    salted(h, message, salt, hash);
    mask(h, hash, at, em - n - 1);
    at[0] &= (unsigned char)(0xff >> (8 * em - (bits - 1)));
    at[em - 1] = 0xbc;
    return true;
}

/* EMSA-PSS-VERIFY. x is the signature raised to the public exponent; it is overwritten. */
static bool pss_check(const br_hash_class *h, const unsigned char *message, uint32_t bits, unsigned char *x, size_t len)
{
    unsigned char want[64];
    size_t n = hash_len(h), em = (bits - 1 + 7) / 8;
    if (em < 2 * n + 2 || (em < len && x[0] != 0))
        return false;
    unsigned char *at = x + (len - em), *hash = at + em - n - 1, keep = (unsigned char)(0xff >> (8 * em - (bits - 1)));
    if (at[em - 1] != 0xbc || at[0] & ~keep)
        return false;
    mask(h, hash, at, em - n - 1);
    at[0] &= keep;
    for (unsigned char *p = at; p < hash - n - 1; p++)
        if (*p)
            return false;
    salted(h, message, hash - n, want);
    return hash[-(ptrdiff_t)n - 1] == 1 && memcmp(want, hash, n) == 0;
}

/* ---- signatures of both kinds ---- */

static bool fits(const struct tls_identity *id, const struct scheme *k)
{
    const br_ec_private_key *ec = br_skey_decoder_get_ec(&id->key);
    const br_rsa_private_key *rsa = br_skey_decoder_get_rsa(&id->key);
    return k->curve ? ec && ec->curve == k->curve : rsa && (rsa->n_bitlen + 7) / 8 >= 2 * hash_len(k->hash) + 2;
}

unsigned v13_scheme_for(const struct tls_identity *id, struct slice offered)
{
    uint32_t one = 0;
    for (size_t i = 0; id && i < COUNT_OF(schemes); i++) {
        struct slice rest = offered;
        while (fits(id, &schemes[i]) && v13_get(&rest, 2, &one))
            if (one == schemes[i].id)
                return one;
    }
    return 0;
}

bool v13_sign(const struct tls_identity *id, unsigned scheme, bool server, const struct v13_suite *s, const unsigned char *transcript,
              struct buf *out)
{
    const struct scheme *k = scheme_of(scheme);
    const br_rsa_private_key *rsa = br_skey_decoder_get_rsa(&id->key);
    unsigned char message[64], x[TLS_RSA_MAX];
    size_t len = 0;
    digest(k, server, s, transcript, message);
    if (k->curve) {
        len = br_ecdsa_sign_asn1_get_default()(br_ec_get_default(), k->hash, message, br_skey_decoder_get_ec(&id->key), x);
    } else {
        len = (rsa->n_bitlen + 7) / 8;
        if (len > sizeof x || !pss_encode(k->hash, message, rsa->n_bitlen, x, len) || !br_rsa_private_get_default()(x, rsa))
            return false;
    }
    return len > 0 && buf_put(out, (struct slice){(const char *)x, len});
}

bool v13_verify_pss(const br_hash_class *hash, const br_rsa_public_key *key, const unsigned char *message, struct slice signature)
{
    unsigned char x[TLS_RSA_MAX];
    size_t zeros = 0;
    while (zeros < key->nlen && key->n[zeros] == 0)
        zeros++;
    if (signature.len != key->nlen - zeros || signature.len > sizeof x || key->elen > LIMIT_TLS_EXPONENT)
        return false;
    br_rsa_public_key stripped = {key->n + zeros, key->nlen - zeros, key->e, key->elen};
    memcpy(x, signature.ptr, signature.len);
    return br_rsa_public_get_default()(x, signature.len, &stripped) &&
           pss_check(hash, message, bit_length(stripped.n, stripped.nlen), x, signature.len);
}

bool v13_scheme_fits(const br_x509_pkey *key, unsigned scheme)
{
    const struct scheme *k = scheme_of(scheme);
    return k && (k->curve ? key->key_type == BR_KEYTYPE_EC && key->key.ec.curve == k->curve : key->key_type == BR_KEYTYPE_RSA);
}

bool v13_verify(const br_x509_pkey *key, unsigned scheme, bool server, const struct v13_suite *s, const unsigned char *transcript,
                struct slice signature)
{
    const struct scheme *k = scheme_of(scheme);
    unsigned char message[64];
    if (!v13_scheme_fits(key, scheme))
        return false;
    digest(k, server, s, transcript, message);
    if (!k->curve)
        return v13_verify_pss(k->hash, &key->key.rsa, message, signature);
    return br_ecdsa_vrfy_asn1_get_default()(br_ec_get_default(), message, hash_len(k->hash), &key->key.ec, signature.ptr, signature.len) ==
           1;
}
