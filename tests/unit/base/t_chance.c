#include "../test.h"

static void test_rng(void)
{
    test_case("rng");
    struct rng a, b;
    rng_seed(&a, 42);
    rng_seed(&b, 42);
    CHECK_INT(rng_next(&a), rng_next(&b));
    rng_seed(&b, 43);
    CHECK(rng_next(&a) != rng_next(&b));
    rng_seed(&a, 0);
    CHECK((a.s[0] | a.s[1] | a.s[2] | a.s[3]) != 0);
    /* Pinned: the simulator's seeds are written into bug reports. */
    CHECK_INT(rng_next(&a), (int64_t)0x99ec5f36cb75f2b4);
    int count[7] = {0};
    for (int i = 0; i < 70000; i++)
        count[rng_below(&a, 7)]++;
    for (int i = 0; i < 7; i++)
        CHECK(count[i] > 9500 && count[i] < 10500);
    CHECK_INT(rng_below(&a, 1), 0);
    CHECK(rng_below(&a, UINT64_MAX) < UINT64_MAX);
    rng_seed_system(&a);
    rng_seed_system(&b);
    CHECK(rng_next(&a) != rng_next(&b));
    char bytes[1000] = {0};
    random_bytes(bytes, sizeof bytes);
    int zeros = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        zeros += bytes[i] == 0;
    CHECK(zeros < 50);
}

static void test_backoff(void)
{
    test_case("backoff");
    struct rng r;
    rng_seed(&r, 1);
    for (unsigned n = 0; n < 100; n++) {
        int64_t cap = n < 9 ? 1000LL << n : 300000;
        cap = cap > 300000 ? 300000 : cap;
        int64_t got = backoff_ms(&r, n, 1000, 300000);
        CHECK(got >= cap / 2 && got <= cap);
    }
    CHECK(backoff_ms(&r, UINT32_MAX, 1, INT64_MAX) >= INT64_MAX / 2);
    CHECK(backoff_ms(&r, 3, 5000, 1000) <= 1000);
    CHECK_INT(backoff_ms(&r, 3, 0, 0), 0);
}

/* Names are made of these: the values must never change. */
static void test_hash(void)
{
    static const struct {
        const char *text;
        uint64_t seed, want;
        const char *suffix;
    } cases[] = {
        {"", 0, 0x4825d1fd830e2a63, "2bzd6"},
        {"a", 0, 0xbfd470a6186533de, "96wfg"},
        {"1234567", 0, 0x2d2361faa514574a, "pnvw7"},
        {"12345678", 0, 0x80d23e2862843f4b, "zptgc"},
        {"raycluster-sample/head/0", 0, 0xd3ecabe34f359a0a, "gmqz9"},
        {"raycluster-sample/head/0", 1, 0xff8b43f7920c9be4, "5xt9k"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("hash \"%s\" %d", cases[i].text, (int)cases[i].seed);
        uint64_t hash = hash64(guarded(slice_of(cases[i].text)), cases[i].seed);
        char suffix[NAME_SUFFIX];
        hash_suffix(hash, suffix);
        CHECK_INT(hash, (int64_t)cases[i].want);
        CHECK_STR(((struct slice){suffix, NAME_SUFFIX}), cases[i].suffix);
    }
    CHECK_INT(hash64(SLICE_NONE, 0), (int64_t)hash64(SLICE(""), 0));
}

int main(void)
{
    test_rng();
    test_backoff();
    test_hash();
    return test_done();
}
