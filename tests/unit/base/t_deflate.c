#include "../test.h"

enum { SIZE = 100 * 1000 };

/* Texts of SIZE bytes at most: byte number i of each. */
static unsigned char zeros(size_t i, struct rng *r)
{
    (void)i;
    (void)r;
    return 0;
}

static unsigned char every_byte(size_t i, struct rng *r)
{
    (void)r;
    return (unsigned char)i;
}

static unsigned char noise(size_t i, struct rng *r)
{
    (void)i;
    return (unsigned char)rng_next(r);
}

static unsigned char words(size_t i, struct rng *r)
{
    static const char text[] = "def main(self, argument): return self.value + argument\n";
    return (unsigned char)(rng_below(r, 20) ? (uint64_t)text[i % (sizeof text - 1)] : 'a' + rng_below(r, 26));
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
} texts[] = {
    {"one byte", zeros, 1}, {"every byte", every_byte, 2}, {"noise", noise, 101}, {"words", words, 20}, {"far back", far_back, 101}};

static bool one_lane(struct slice in, struct buf *out)
{
    return deflate_far(in, 1, out);
}

static bool four_lanes(struct slice in, struct buf *out)
{
    return deflate_far(in, DEFLATE_LANES, out);
}

static const struct {
    const char *name;
    bool (*pack)(struct slice in, struct buf *out);
    bool (*unpack)(struct slice in, struct buf *out, struct err *e);
} packers[] = {{"deflate", deflate, inflate}, {"deflate_far", one_lane, inflate_far}, {"four lanes", four_lanes, inflate_far}};

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

static void smaller(void)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = SIZE}, first = {.max = SIZE}, best = {.max = SIZE};
    struct rng rng;
    rng_seed(&rng, 1);
    for (size_t i = 0; i < SIZE; i++)
        buf_putc(&text, (char)words(i, &rng));
    CHECK(deflate(buf_slice(&text), &first) && deflate_far(buf_slice(&text), 1, &best));
    CHECK(best.len < first.len * 96 / 100);
}

/* Noise, and its first KiB again. */
static size_t packed_with_copy(size_t distance)
{
    enum { PIECE = KIB };
    __attribute__((cleanup(buf_free))) struct buf text = {.max = 4 * MIB}, packed = {.max = 4 * MIB}, out = {.max = 4 * MIB};
    struct rng rng;
    struct err e = {0};
    rng_seed(&rng, 1);
    for (size_t i = 0; i < distance; i++)
        buf_putc(&text, (char)rng_next(&rng));
    for (size_t i = 0; i < PIECE; i++)
        buf_putc(&text, text.ptr[i]);
    CHECK(deflate_far(guarded(buf_slice(&text)), 1, &packed));
    CHECK(inflate_far(guarded(buf_slice(&packed)), &out, &e));
    CHECK(slice_eq(buf_slice(&out), buf_slice(&text)));
    return packed.len;
}

/* Words of 4 bytes, each byte of another range, as in instructions of arm64. */
static void lanes(void)
{
    __attribute__((cleanup(buf_free))) struct buf text = {.max = SIZE}, one = {.max = 2 * SIZE}, four = {.max = SIZE}, out = {.max = SIZE};
    struct rng rng;
    struct err e = {0};
    rng_seed(&rng, 1);
    for (size_t i = 0; i < SIZE; i++)
        buf_putc(&text, (char)(64 * (i % 4) + rng_below(&rng, 64)));
    CHECK(one_lane(buf_slice(&text), &one) && four_lanes(buf_slice(&text), &four));
    CHECK(four.len < one.len * 80 / 100);
    for (size_t i = 0; i < four.len; i += 997) {
        buf_clear(&out);
        CHECK(!inflate_far(guarded((struct slice){four.ptr, i}), &out, &e));
    }
}

static void farthest(void)
{
    CHECK(packed_with_copy(2 * MIB) + KIB / 2 < packed_with_copy(2 * MIB + 1));
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
    test_case("deflate_far is smaller than deflate");
    smaller();
    test_case("four lanes are smaller for words of four bytes");
    lanes();
    test_case("deflate_far copies from 2 MiB back, and from no farther");
    farthest();
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
