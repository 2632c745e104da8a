/* ML-KEM-768 (FIPS 203) against the accumulated vectors of C2SP/CCTV, made with the reference implementation: one hash of the keys,
 * ciphertexts and secrets of 100 rounds, and of the secrets from 100 invalid ciphertexts. Then the shares of X25519MLKEM768. */
#include "../test.h"

#include "src/tls/v13.h"

#include <mlkem768.h>

/* ---- SHAKE128 (FIPS 202), which makes the inputs of the vectors and hashes the results ---- */

enum { RATE = 168 };
struct shake {
    uint64_t lane[25];
    size_t at;
    bool squeezing;
};

static uint64_t rotate(uint64_t v, unsigned n)
{
    return n ? v << n | v >> (64 - n) : v;
}

static void permute(uint64_t a[25])
{
    unsigned lfsr = 1;
    for (int round = 0; round < 24; round++) {
        uint64_t c[5], b[25];
        for (int x = 0; x < 5; x++)
            c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        for (int i = 0; i < 25; i++)
            a[i] ^= c[(i + 4) % 5] ^ rotate(c[(i + 1) % 5], 1);
        b[0] = a[0];
        for (unsigned t = 0, x = 1, y = 0; t < 24; t++) {
            unsigned next = (2 * x + 3 * y) % 5;
            b[y + 5 * next] = rotate(a[x + 5 * y], (t + 1) * (t + 2) / 2 % 64);
            x = y, y = next;
        }
        for (int i = 0; i < 25; i++)
            a[i] = b[i] ^ (~b[i / 5 * 5 + (i + 1) % 5] & b[i / 5 * 5 + (i + 2) % 5]);
        for (unsigned j = 0; j < 7; j++) {
            if (lfsr & 1)
                a[0] ^= UINT64_C(1) << ((1u << j) - 1);
            lfsr = lfsr << 1 ^ (lfsr >> 7) * 0x171;
        }
    }
}

static void flip(struct shake *s, unsigned byte)
{
    s->lane[s->at / 8] ^= (uint64_t)byte << 8 * (s->at % 8);
}

static void put(struct shake *s, const unsigned char *p, size_t n)
{
    for (; n--; s->at++) {
        if (s->at == RATE) {
            permute(s->lane);
            s->at = 0;
        }
        flip(s, *p++);
    }
}

static void take(struct shake *s, unsigned char *p, size_t n)
{
    if (!s->squeezing) {
        if (s->at == RATE) {
            permute(s->lane);
            s->at = 0;
        }
        flip(s, 0x1f);
        s->at = RATE - 1;
        flip(s, 0x80);
        s->at = RATE;
        s->squeezing = true;
    }
    for (; n--; s->at++) {
        if (s->at == RATE) {
            permute(s->lane);
            s->at = 0;
        }
        *p++ = (unsigned char)(s->lane[s->at / 8] >> 8 * (s->at % 8));
    }
}

static void vectors(void)
{
    struct shake from = {0}, into = {0};
    unsigned char seed[MLKEM768_SEED], public[MLKEM768_PUBLIC], secret[MLKEM768_SECRET], text[MLKEM768_CIPHERTEXT], message[32], shared[32],
        again[32], sum[32];
    char hex[2 * sizeof sum + 1];
    test_case("100 rounds");
    for (int i = 0; i < 100; i++) {
        take(&from, seed, sizeof seed);
        mlkem768_generate(seed, public, secret);
        put(&into, public, sizeof public);
        take(&from, message, sizeof message);
        CHECK(mlkem768_encapsulate(public, message, text, shared));
        put(&into, text, sizeof text);
        put(&into, shared, sizeof shared);
        mlkem768_decapsulate(secret, text, again);
        CHECK(memcmp(shared, again, sizeof shared) == 0);
        take(&from, text, sizeof text);
        mlkem768_decapsulate(secret, text, again);
        put(&into, again, sizeof again);
    }
    take(&into, sum, sizeof sum);
    hex_encode((struct slice){(const char *)sum, sizeof sum}, hex);
    CHECK_STR(slice_of(hex), "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415");
}

static void bad_shares(void)
{
    const struct v13_group *g = v13_group_of(0x11ec);
    struct v13_exchange x = {0};
    struct buf share, answer;
    unsigned char client[V13_SECRET_MAX], server[V13_SECRET_MAX];
    buf_init(&share, 4 * KIB);
    buf_init(&answer, 4 * KIB);
    test_case("both sides agree");
    v13_share(&x, g, &share);
    CHECK_INT(share.len, g->client_share);
    CHECK_INT(v13_answer(g, buf_slice(&share), &answer, server), 64);
    CHECK_INT(answer.len, g->server_share);
    CHECK_INT(v13_agree(&x, g, buf_slice(&answer), client), 64);
    CHECK(memcmp(client, server, 64) == 0);
    test_case("a changed ciphertext gives another secret, and no error");
    answer.ptr[100] ^= 1;
    CHECK_INT(v13_agree(&x, g, buf_slice(&answer), client), 64);
    CHECK(memcmp(client, server, 32) != 0 && memcmp(client + 32, server + 32, 32) == 0);
    test_case("lengths");
    CHECK_INT(v13_agree(&x, g, slice_head(buf_slice(&answer), answer.len - 1), client), 0);
    CHECK_INT(v13_answer(g, slice_head(buf_slice(&share), share.len - 1), &answer, server), 0);
    test_case("a point of small order");
    buf_clear(&answer);
    memset(share.ptr + share.len - 32, 0, 32);
    CHECK_INT(v13_answer(g, buf_slice(&share), &answer, server), 0);
    test_case("a coefficient of the key that is not below q");
    buf_clear(&answer);
    memset(share.ptr, 0xff, 3);
    share.ptr[share.len - 1] = 9;
    CHECK_INT(v13_answer(g, buf_slice(&share), &answer, server), 0);
    buf_free(&share);
    buf_free(&answer);
}

int main(void)
{
    vectors();
    bad_shares();
    return test_done();
}
