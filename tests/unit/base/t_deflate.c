#include "../texts.h"

enum { SIZE = 100 * 1000 };

/* Texts of SIZE bytes at most: byte number i of each. */
static unsigned char every_byte(size_t i, struct rng *r)
{
    (void)r;
    return (unsigned char)i;
}

/* The same again at the end of the window, and one beyond it. */
static unsigned char far_back(size_t i, struct rng *r)
{
    unsigned char n = (unsigned char)rng_next(r);
    return (i % 32768 < 20 || i % 32769 < 3) ? (unsigned char)(i % 32768) : n;
}

static const struct {
    const char *name;
    unsigned char (*at)(size_t i, struct rng *r);
    size_t most; /* percent that are left, at SIZE */
} texts[] = {{"one byte", text_zeros, 1},
             {"every byte", every_byte, 2},
             {"noise", text_noise, 101},
             {"words", text_words, 20},
             {"far back", far_back, 101}};

static const struct {
    const char *name;
    bool (*pack)(struct slice in, struct buf *out);
    bool (*unpack)(struct slice in, struct buf *out, struct err *e);
} packers[] = {{"deflate", deflate, inflate}, {"deflate_far", deflate_far, inflate_far}};

static void there_and_back(size_t t, size_t len, size_t p)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = SIZE}, packed = {.max = 2 * SIZE}, out = {.max = SIZE};
    struct rng rng;
    struct err e = {0};
    rng_seed(&rng, t);
    for (size_t i = 0; i < len; i++)
        buf_putc(&text, (char)texts[t].at(i, &rng));
    CHECK(packers[p].pack(guarded(buf_slice(&text)), &packed));
    CHECK(packers[p].unpack(guarded(buf_slice(&packed)), &out, &e));
    CHECK(slice_eq(buf_slice(&out), buf_slice(&text)));
    if (len == SIZE)
        CHECK(packed.len <= SIZE * texts[t].most / 100);
    buf_clear(&packed);
    buf_clear(&out);
    CHECK(gzip(buf_slice(&text), &packed) && gunzip(guarded(buf_slice(&packed)), &out, &e));
    CHECK(slice_eq(buf_slice(&out), buf_slice(&text)));
    buf_clear(&packed);
    CHECK(packers[p].pack(buf_slice(&text), &packed));
    struct buf small = {.max = packed.len - 1};
    CHECK(!packers[p].pack(buf_slice(&text), &small));
    buf_free(&small);
}

int main(void)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 257, 258, 259, 260, 261, 32768, 32769, SIZE};
    for (size_t p = 0; p < COUNT_OF(packers); p++)
        for (size_t t = 0; t < COUNT_OF(texts); t++)
            for (size_t i = 0; i < COUNT_OF(sizes); i++) {
                test_case("%s: %s, %zu bytes", packers[p].name, texts[t].name, sizes[i]);
                there_and_back(t, sizes[i], p);
            }
    test_case("gzip files that are no such ones, or damaged");
    static const char *const bad[] = {"", "\x1f\x8b\x08 0123456789abcdef", "PK0123456789abcdefghij"};
    struct buf packed = {.max = KIB}, out = {.max = KIB};
    struct err e = {0};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK(!gunzip(guarded(slice_of(bad[i])), &out, &e));
    CHECK(gzip(SLICE("hello hello hello"), &packed));
    for (size_t i = 0; i < packed.len; i++) {
        buf_clear(&out);
        CHECK(!gunzip(guarded((struct slice){packed.ptr, i}), &out, &e));
        packed.ptr[i] ^= 1;
        buf_clear(&out);
        CHECK(!gunzip(guarded(buf_slice(&packed)), &out, &e) || i < 10); /* the header has a date and a system, which do not count */
        packed.ptr[i] ^= 1;
    }
    buf_free(&packed);
    buf_free(&out);
    test_case("crc32");
    CHECK_INT(crc32(SLICE("123456789")), 0xcbf43926);
    CHECK_INT(crc32(SLICE("")), 0);
    return test_done();
}
