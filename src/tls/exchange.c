/* Key exchange (RFC 8446 §4.2.8, §7.4): the groups in order of preference, their key shares and shared secrets. */
#include "v13.h"

#include <mlkem768.h>

const struct v13_group v13_groups[] = {
    {0x11ec, BR_EC_curve25519, true, "X25519MLKEM768", MLKEM768_PUBLIC + 32, MLKEM768_CIPHERTEXT + 32},
    {29, BR_EC_curve25519, false, "X25519", 32, 32},
    {23, BR_EC_secp256r1, false, "secp256r1", 65, 65},
    {24, BR_EC_secp384r1, false, "secp384r1", 97, 97},
    {25, BR_EC_secp521r1, false, "secp521r1", 133, 133},
};
const size_t v13_group_count = COUNT_OF(v13_groups);

const struct v13_group *v13_group_of(unsigned id)
{
    for (size_t i = 0; i < v13_group_count; i++)
        if (v13_groups[i].id == id)
            return &v13_groups[i];
    return NULL;
}

static bool is_zero(const unsigned char *p, size_t n)
{
    unsigned char any = 0;
    for (size_t i = 0; i < n; i++)
        any |= p[i];
    return any == 0;
}

bool v13_is_scalar(int curve, unsigned char *key)
{
    size_t len = 0;
    const unsigned char *order = br_ec_get_default()->order(curve, &len);
    unsigned keep = 0xff;
    while (keep >> 1 >= order[0])
        keep >>= 1;
    key[0] &= (unsigned char)keep; /* P-521: 521 bits in 66 bytes */
    return !is_zero(key, len) && memcmp(key, order, len) < 0;
}

static size_t key_len(int curve)
{
    size_t len = 0;
    br_ec_get_default()->order(curve, &len);
    return len;
}

/* Makes a random private key: 32 bytes for X25519, else a scalar, by rejection so that each is equally likely (FIPS 186-5, A.2.2). */
static void make_key(int curve, unsigned char *key)
{
    do
        random_bytes(key, key_len(curve));
    while (curve != BR_EC_curve25519 && !v13_is_scalar(curve, key));
}

static void put_point(const unsigned char *key, int curve, struct buf *out)
{
    unsigned char point[BR_EC_KBUF_PUB_MAX_SIZE];
    size_t len = br_ec_get_default()->mulgen(point, key, key_len(curve), curve);
    buf_put(out, (struct slice){(const char *)point, len});
}

/* Writes the X coordinate of key * point to `secret`. Returns its length; 0: the point is invalid, or of small order (X is zero). */
static size_t multiply(const unsigned char *key, int curve, struct slice point, unsigned char *secret)
{
    const br_ec_impl *ec = br_ec_get_default();
    unsigned char work[BR_EC_KBUF_PUB_MAX_SIZE];
    size_t len = 0, at = ec->xoff(curve, &len);
    memcpy(work, point.ptr, point.len);
    if (curve != BR_EC_curve25519 && work[0] != 4)
        return 0;
    bool ok = ec->mul(work, point.len, key, key_len(curve), curve) && !is_zero(work + at, len);
    memcpy(secret, work + at, len);
    mem_wipe(work, sizeof work);
    return ok ? len : 0;
}

/* ---- X25519MLKEM768: ML-KEM comes first in shares and secret (draft-ietf-tls-ecdhe-mlkem) ---- */

/* Only the seed of 64 bytes is kept: decapsulate() generates the key pair from it again. A secret key has 2,400 bytes. */
static void put_kem_key(struct v13_exchange *x, struct buf *out)
{
    unsigned char public[MLKEM768_PUBLIC], secret[MLKEM768_SECRET];
    if (is_zero(x->kem, sizeof x->kem)) /* after a HelloRetryRequest with a cookie alone, the share must be the same */
        random_bytes(x->kem, sizeof x->kem);
    mlkem768_generate(x->kem, public, secret);
    buf_put(out, (struct slice){(const char *)public, sizeof public});
    mem_wipe(secret, sizeof secret);
}

static void decapsulate(const struct v13_exchange *x, struct slice ciphertext, unsigned char *shared)
{
    unsigned char public[MLKEM768_PUBLIC], secret[MLKEM768_SECRET];
    mlkem768_generate(x->kem, public, secret);
    mlkem768_decapsulate(secret, (const unsigned char *)ciphertext.ptr, shared);
    mem_wipe(secret, sizeof secret);
}

static bool encapsulate(struct slice public, struct buf *out, unsigned char *shared)
{
    unsigned char random[32], ciphertext[MLKEM768_CIPHERTEXT];
    random_bytes(random, sizeof random);
    bool ok = mlkem768_encapsulate((const unsigned char *)public.ptr, random, ciphertext, shared);
    mem_wipe(random, sizeof random);
    return ok && buf_put(out, (struct slice){(const char *)ciphertext, sizeof ciphertext});
}

/* ---- key shares and shared secrets of all groups ---- */

void v13_share(struct v13_exchange *x, const struct v13_group *g, struct buf *out)
{
    unsigned char *key = g->curve == BR_EC_curve25519 ? x->x25519 : x->curve;
    if (is_zero(key, key_len(g->curve)))
        make_key(g->curve, key);
    if (g->hybrid)
        put_kem_key(x, out);
    put_point(key, g->curve, out);
}

size_t v13_agree(const struct v13_exchange *x, const struct v13_group *g, struct slice share, unsigned char *secret)
{
    size_t kem = g->hybrid ? MLKEM768_SHARED : 0;
    if (share.len != g->server_share)
        return 0;
    if (g->hybrid) {
        decapsulate(x, share, secret);
        share = slice_skip(share, MLKEM768_CIPHERTEXT);
    }
    size_t n = multiply(g->curve == BR_EC_curve25519 ? x->x25519 : x->curve, g->curve, share, secret + kem);
    return n ? kem + n : 0;
}

size_t v13_answer(const struct v13_group *g, struct slice share, struct buf *out, unsigned char *secret)
{
    unsigned char key[66];
    size_t kem = g->hybrid ? MLKEM768_SHARED : 0;
    if (share.len != g->client_share)
        return 0;
    if (g->hybrid) {
        if (!encapsulate(slice_head(share, MLKEM768_PUBLIC), out, secret))
            return 0;
        share = slice_skip(share, MLKEM768_PUBLIC);
    }
    make_key(g->curve, key);
    size_t n = multiply(key, g->curve, share, secret + kem);
    put_point(key, g->curve, out);
    mem_wipe(key, sizeof key);
    return n ? kem + n : 0;
}
