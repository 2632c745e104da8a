/* SHA-256 of files and objects, by the processor's instructions where it has them: BearSSL's portable code hashes 0.2 GB/s, which is less
 * than a disk reads. Its state is BearSSL's, so both can take turns. */
#include <mobula/tls.h>

#include <bearssl.h>

_Static_assert(sizeof(struct tls_sha256) >= sizeof(br_sha256_context), "room for BearSSL's state");

enum { BLOCK = 64 };

#if defined __x86_64__
#include <cpuid.h>
#include <immintrin.h>

/* FIPS 180-4, 4.2.2 */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static bool has_instructions(void)
{
    enum { SSSE3 = 1 << 9, SSE41 = 1 << 19, SHA = 1 << 29 };
    static int known; /* 0: not asked yet */
    unsigned a, b, c, d;
    if (!known) {
        bool sse = __get_cpuid(1, &a, &b, &c, &d) && (c & SSSE3) && (c & SSE41);
        known = sse && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & SHA) ? 1 : -1;
    }
    return known > 0;
}

/* The instructions keep the state as (a, b, e, f) and (c, d, g, h), highest first, and do two rounds each. */
__attribute__((target("sha,sse4.1,ssse3"))) static void add_blocks(uint32_t state[8], const unsigned char *p, size_t count)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0xb1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);
    for (; count > 0; count--, p += BLOCK) {
        const __m128i before[2] = {abef, cdgh};
        __m128i w[4];
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) {
            __m128i *now = &w[i & 3], last = w[(i + 3) & 3];
            if (i < 4)
                *now = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i)), swap);
            else
                *now = _mm_sha256msg2_epu32(
                    _mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(i + 1) & 3]), _mm_alignr_epi8(last, w[(i + 2) & 3], 4)), last);
            __m128i k = _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)(const void *)(constants + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(k, 0x0e));
        }
        abef = _mm_add_epi32(abef, before[0]);
        cdgh = _mm_add_epi32(cdgh, before[1]);
    }
    low = _mm_shuffle_epi32(abef, 0x1b);
    high = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(high, low, 8));
}
#else
static bool has_instructions(void)
{
    return false;
}

static void add_blocks(uint32_t state[8], const unsigned char *p, size_t count)
{
    (void)state, (void)p, (void)count;
}
#endif

void tls_sha256_begin(struct tls_sha256 *h)
{
    br_sha256_init((br_sha256_context *)h);
}

void tls_sha256_add(struct tls_sha256 *h, struct slice bytes)
{
    br_sha256_context *c = (br_sha256_context *)h;
    size_t begun = (size_t)c->count % BLOCK, first = begun ? BLOCK - begun : 0;
    if (has_instructions() && bytes.len >= first + BLOCK) {
        br_sha256_update(c, bytes.ptr, first); /* ends the block that was begun */
        bytes = slice_skip(bytes, first);
        add_blocks(c->val, (const unsigned char *)bytes.ptr, bytes.len / BLOCK);
        c->count += bytes.len / BLOCK * BLOCK;
        bytes = slice_skip(bytes, bytes.len / BLOCK * BLOCK);
    }
    br_sha256_update(c, bytes.ptr, bytes.len);
}

void tls_sha256_end(const struct tls_sha256 *h, char out[TLS_SHA256_HEX])
{
    unsigned char digest[br_sha256_SIZE];
    br_sha256_out((const br_sha256_context *)h, digest);
    hex_encode((struct slice){(const char *)digest, sizeof digest}, out);
}

void tls_sha256_hex(struct slice bytes, char out[TLS_SHA256_HEX])
{
    struct tls_sha256 h;
    tls_sha256_begin(&h);
    tls_sha256_add(&h, bytes);
    tls_sha256_end(&h, out);
}
