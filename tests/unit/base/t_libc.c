/* Compares what the product takes in place of the C library's functions with those. */
#include "../../../src/base/libc.h"
#include "../test.h"

struct item {
    int key, place;
    char filling[5];
};

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* Sorted by key, and items of the same key in the order in which they were. */
static void sorts(void)
{
    enum { MOST = 130 };
    struct item items[MOST];
    struct rng r;
    rng_seed(&r, 3);
    for (int count = 0; count <= MOST; count++)
        for (int keys = 1; keys <= 64; keys *= 4) {
            int sum = 0, wrong = 0;
            test_case("%d items of %d keys", count, keys);
            for (int i = 0; i < count; i++) {
                items[i] = (struct item){.key = (int)rng_below(&r, (uint64_t)keys), .place = i};
                sum += items[i].key;
            }
            libc_qsort(items, (size_t)count, sizeof *items, by_key);
            for (int i = 0; i < count; i++) {
                sum -= items[i].key;
                if (i)
                    wrong += items[i].key < items[i - 1].key || (items[i].key == items[i - 1].key && items[i].place <= items[i - 1].place);
            }
            CHECK_INT(wrong, 0);
            CHECK_INT(sum, 0);
        }
}

static void finds(void)
{
    static const char *const texts[] = {"", "a", "ab", "aab", "aaab", "abab", "ababc", "no such"};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        for (size_t k = 0; k < COUNT_OF(texts); k++) {
            const char *volatile text = texts[i];
            test_case("\"%s\" in \"%s\"", texts[k], texts[i]);
            CHECK(libc_strstr(text, texts[k]) == strstr(text, texts[k]));
        }
}

static void numbers(void)
{
    static const char *const texts[] = {
        "",   "0",  "7",   "12",  "012", "09",     "0x1f",  "0X1F", "0x",         "0xg",        "x1",
        "1.", "9a", "ffG", "fff", "12 ", "127.0.", "65536", "0x7f", "4294967295", "4294967296", "18446744073709551615",
    };
    static const char *const large[] = {"18446744073709551616", "99999999999999999999", "999999999999999999999999999999"};
    static const int bases[] = {0, 8, 10, 16};
    for (size_t b = 0; b < COUNT_OF(bases); b++) {
        for (size_t i = 0; i < COUNT_OF(texts); i++) {
            char *end, *want;
            test_case("%s in base %d", texts[i], bases[b]);
            CHECK(libc_strtoul(texts[i], &end, bases[b]) == strtoul(texts[i], &want, bases[b]));
            CHECK(end == want);
        }
        for (size_t i = 0; i < COUNT_OF(large) && bases[b] != 8; i++)
            CHECK(libc_strtoul(large[i], NULL, bases[b]) == strtoul(large[i], NULL, bases[b]));
    }
}

int main(void)
{
    sorts();
    finds();
    numbers();
    return test_done();
}
