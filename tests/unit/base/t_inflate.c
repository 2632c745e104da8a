#include "../test.h"

/* As zlib compresses: a block of each kind. */
static const struct {
    const char *name;
    struct slice packed;
    const char *first; /* the text is so many times this one, and this one */
    size_t times;
    const char *last;
} streams[] = {
    {"stored", SLICE("\x01\x05\x00\xfa\xff\x68\x65\x6c\x6c\x6f"), "", 0, "hello"},
    {"nothing", SLICE("\x03\x00"), "", 0, ""},
    {"fixed codes", SLICE("\xcb\x48\xcd\xc9\xc9\x57\x28\xcf\x2f\xca\x49\x01\x00"), "", 0, "hello world"},
    {"copies of what they write, the longest", SLICE("\x4b\x4c\x1c\x05\xc4\x02\x00"), "a", 300, ""},
    {"codes of its own", SLICE("\xed\xc1\x21\x01\x00\x00\x00\x02\xa0\xad\xfa\x7f\x84\x37\x0c\x40\x02\x00\x00\xbc\xeb\x00"), "a", 3000, "b"},
};

/* Refused by zlib, too, but for what it would wait for more of. */
static const struct {
    const char *name;
    struct slice packed;
} broken[] = {
    {"no bytes at all", SLICE("")},
    {"reserved kind of block", SLICE("\x07")},
    {"stored, its lengths disagree", SLICE("\x01\x05\x00\xfb\xff\x68\x65\x6c\x6c\x6f")},
    {"stored, longer than all", SLICE("\x01\x06\x00\xf9\xff\x68\x65\x6c\x6c\x6f")},
    {"distance before the beginning", SLICE("\x4b\x04\x42\x00\x00\x00\x00\x00\x00\x00\x00")},
    {"length symbol 286", SLICE("\x1b\x03\x00\x00\x00\x00\x00\x00\x00\x00")},
    {"distance symbol 30", SLICE("\x4b\x04\x3e\x00\x00\x00\x00\x00\x00\x00\x00")},
    {"288 literals", SLICE("\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
    {"32 distances", SLICE("\x05\x1f\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
    {"four codes of one bit", SLICE("\x05\x00\x92\x04\x00\x00\x00\x00\x00\x00\x00\x00")},
    {"nothing to repeat", SLICE("\x05\x00\x12\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
    {"repeated beyond the end", SLICE("\x05\x00\x80\xc0\xdf\x1f\x00\x00\x00\x00\x00\x00\x00\x00")},
    {"bits that are no code", SLICE("\x05\x00\x80\x20\x00\x00\x00\x00\x00\x00\x00\x00")},
    {"no codes at all", SLICE("\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
};

static bool unpack(struct slice packed, size_t max, struct buf *out, struct err *e)
{
    *e = (struct err){0};
    buf_init(out, max);
    return inflate(guarded(packed), out, e);
}

static void test_stream(size_t i)
{
    struct buf want, out;
    struct err e;
    test_case("inflate: %s", streams[i].name);
    buf_init(&want, 4 * KIB);
    for (size_t n = 0; n < streams[i].times; n++)
        buf_put(&want, slice_of(streams[i].first));
    buf_put(&want, slice_of(streams[i].last));
    CHECK(unpack(streams[i].packed, want.len, &out, &e));
    CHECK_SLICE(buf_slice(&out), buf_slice(&want));
    buf_free(&out);
    if (want.len) {
        CHECK(!unpack(streams[i].packed, want.len - 1, &out, &e));
        CHECK_INT(e.code, ERR_LIMIT);
        buf_free(&out);
    }
    for (size_t n = 0; n < streams[i].packed.len; n++) {
        CHECK(!unpack(slice_head(streams[i].packed, n), want.len, &out, &e));
        CHECK_INT(e.code, ERR_SYNTAX);
        buf_free(&out);
    }
    buf_free(&want);
}

/* Whatever a wrong bit makes of a stream, it ends, inside the limit. */
static void test_flipped(size_t i)
{
    char bytes[64];
    struct slice packed = {bytes, streams[i].packed.len};
    struct buf out;
    struct err e;
    test_case("inflate: %s, each bit wrong", streams[i].name);
    for (size_t bit = 0; bit < 8 * packed.len; bit++) {
        memcpy(bytes, streams[i].packed.ptr, packed.len);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        CHECK(unpack(packed, 4 * KIB, &out, &e) == (e.code == ERR_NONE));
        CHECK(out.len <= 4 * KIB);
        buf_free(&out);
    }
}

/* The number of a block's distance codes has 6 bits: 42 codes and one more. */
static void test_far(void)
{
    static const struct slice most = SLICE("\x05\x29\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00");
    static const struct slice more = SLICE("\x05\x2a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00");
    struct buf out;
    struct err e = {0};
    test_case("inflate_far: 42 and 43 distances");
    buf_init(&out, KIB);
    CHECK(!inflate_far(guarded(most), &out, &e));
    CHECK_STR(slice_of(e.text), "compressed data is broken before byte 6");
    e = (struct err){0};
    CHECK(!inflate_far(guarded(more), &out, &e));
    CHECK_STR(slice_of(e.text), "compressed data is broken before byte 3");
    buf_free(&out);
}

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        test_stream(i);
        test_flipped(i);
    }
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        struct buf out;
        struct err e;
        test_case("inflate: %s", broken[i].name);
        CHECK(!unpack(broken[i].packed, 4 * KIB, &out, &e));
        CHECK_INT(e.code, ERR_SYNTAX);
        buf_free(&out);
    }
    test_far();
    return test_done();
}
