#include <mobula/base.h>

/* SipHash-1-3 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", with one round per word and three at the end). The seed is one
 * half of its key; the other half is a constant. */
static const uint64_t KEY_HALF = 0x6d6f62756c612131; /* "mobula!1" */

struct sip {
    uint64_t v[4];
};

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(struct sip *s)
{
    uint64_t *v = s->v;
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static void sip_word(struct sip *s, uint64_t word)
{
    s->v[3] ^= word;
    sip_round(s);
    s->v[0] ^= word;
}

/* Little-endian on every machine, and up to eight bytes, so that short tails need no copy. */
static uint64_t load(const char *p, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return word;
}

uint64_t hash64(struct slice s, uint64_t seed)
{
    struct sip h = {{
        seed ^ 0x736f6d6570736575,
        KEY_HALF ^ 0x646f72616e646f6d,
        seed ^ 0x6c7967656e657261,
        KEY_HALF ^ 0x7465646279746573,
    }};
    uint64_t length = (uint64_t)s.len << 56;
    for (; s.len >= 8; s = slice_skip(s, 8))
        sip_word(&h, load(s.ptr, 8));
    sip_word(&h, length | load(s.ptr, s.len));
    h.v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(&h);
    return h.v[0] ^ h.v[1] ^ h.v[2] ^ h.v[3];
}

void hash_suffix(uint64_t hash, char out[NAME_SUFFIX])
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    for (int i = 0; i < NAME_SUFFIX; i++, hash /= sizeof alphabet - 1)
        out[i] = alphabet[hash % (sizeof alphabet - 1)];
}
