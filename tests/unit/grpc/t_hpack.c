#include "hex.h"

#include "src/grpc/hpack.h"

/* All fields of a block, or what is wrong with it. */
static struct slice told(struct slice block, struct arena *a)
{
    struct slice out = SLICE("");
    struct err e = {0};
    for (struct hpack_field f; hpack_next(&block, &f, &e);)
        out = arena_printf(a, "%.*s%.*s=%.*s;", SLICE_ARG(out), SLICE_ARG(f.name), SLICE_ARG(f.value));
    return e.code == ERR_NONE ? out : arena_dup(a, slice_of(e.text));
}

static const struct {
    const char *id, *hex, *want;
} blocks[] = {
    {"nothing", "", ""},
    {"a table size of 0, then a status", "2088", ":status=200;"},
    {"statuses of the static table", "88898a8b8c8d8e",
     ":status=200;:status=204;:status=206;:status=304;:status=400;:status=404;:status=500;"},
    {"other fields of the static table", "8182bd", "=;=;=;"},
    {"a literal status", "0803343032", ":status=402;"},
    {"what Ray sends", "400b677270632d7374617475730130", "grpc-status=0;"},
    {"without indexing", "000b677270632d7374617475730130", "grpc-status=0;"},
    {"never indexed", "100b677270632d7374617475730130", "grpc-status=0;"},
    {"a name of the static table", "5f0161", "=a;"},
    {"Huffman-coded name and value", "40889acac8b21234da8f8107", "grpc-status=0;"},
    {"empty texts", "400000", "=;"},
    {"the dynamic table", "be", "a header field refers to a table that we announced as empty"},
    {"its names", "7e0130", "a header field refers to a table that we announced as empty"},
    {"an index without a number", "80", "a header field has no number"},
    {"a table with a size", "21", "a header field sets up a table that we announced as empty"},
    {"cut off: index", "ff", "a header field is cut off"},
    {"cut off: name", "400b67", "a header field is cut off"},
    {"cut off: value", "400167", "a header field is cut off"},
    {"cut off: text", "40016702", "a header field is cut off"},
    {"a number without end", "ffffffffffff", "a header field is too long"},
    {"Huffman: the end symbol", "400084ffffffff", "a header field holds the end of a Huffman-coded text"},
    {"Huffman: half a code", "40008100fe", "a header field ends in half a Huffman code"},
    {"Huffman: padding that is not all ones", "40008100", "a header field ends in half a Huffman code"},
    {"Huffman: a whole byte of padding", "40008207ff", "a header field ends in half a Huffman code"},
};

static void reading(void)
{
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        struct arena a = {0};
        test_case("%s", blocks[i].id);
        CHECK_STR(told(guarded(from_hex(slice_of(blocks[i].hex), &a)), &a), blocks[i].want);
        arena_free(&a);
    }
}

/* Every byte there is, as another implementation codes it. */
static void every_symbol(void)
{
    struct arena a = {0};
    struct slice text = HEX("ffc7fffd8fffffe2fffffe3fffffe4fffffe5fffffe6fffffe7fffffe8ffffeafffffff3fffffa7fffffabffffffdfffffeb"
                            "fffffecfffffedfffffeefffffefffffff0ffffff1ffffff2fffffffbfffffcffffffd3fffffd7fffffdbfffffdffffffe3f"
                            "ffffe7fffffebfffffed4fe3f9ffaffcabf1febfafefe7fdfd2cbb00089969b71d79fb9f7fff20ffbff3ff50ddbd7f061c58"
                            "f265cd9f469d5af66dddbf871e5f9cff7ff7fffc3ff9ffe45fff4719242cb34e6e9d68a6a3d7dac426defe3cfaf7fffbfe7f"
                            "fbffdffffffcfffe6ffff4bfff9ffffa3fffd3ffff53fffd5ffffb3fffeb7fffdaffffb7ffff73fffeeffffdeffffebffffb"
                            "fffffd9ffffdbfffebffffe0ffffeeffffc3ffff8bffff1ffffe4fffee7fffb1ffff97fffd9ffffcdffff9fffffbffffdaff"
                            "feeffff4ffffb7fffee7fffe8ffffd3fffdeffffd5fffeeffffbdffffe1fffdfffff7fffff5ffffecffff07fff87fffe0fff"
                            "f17fffedffff87ffff77fffeffffeaffff8bfffe3ffff93ffff87fffcbffff37ffff1fffff83ffffe1fffebfffe3ffff3fff"
                            "ff2ffffa3ffffd9fffff17ffffc7fffff27ffffdefffffbffffff2fffff8fffffb7fff97fff8fffffe6fffffc1fffff87fff"
                            "fe7fffffc5ffffe5fffe4ffff2fffffd1fffff4ffffffefffffe3fffffc9fffff97fffb3ffffcffffb7fffcdffff4ffff9ff"
                            "ffd1ffffcffffeaffffafffffddffffeffffff4fffff5fffffabffffa7ffffd7fffff9bffffecfffffb7fffff3fffffe8fff"
                            "ffd3fffffabfffff5fffffff7ffffecfffffdbfffffbbfffff7ffffff0fffffbbf",
                            &a);
    struct buf b;
    struct err e = {0};
    struct hpack_field f;
    test_case("every symbol");
    buf_init(&b, 4 * KIB);
    buf_put(&b, HEX("4000ffc803", &a));
    buf_put(&b, text);
    struct slice block = guarded(buf_slice(&b));
    CHECK(hpack_next(&block, &f, &e));
    CHECK_INT(f.value.len, 256);
    for (size_t i = 0; i < f.value.len; i++)
        if (!CHECK_INT((unsigned char)f.value.ptr[i], i))
            break;
    buf_free(&b);
    arena_free(&a);
}

/* A coded text as long as is kept, and a longer one, of which the beginning is. */
static void long_text(void)
{
    for (size_t extra = 0; extra < 2; extra++) {
        struct buf b;
        struct err e = {0};
        struct hpack_field f;
        size_t symbols = HPACK_TEXT + 8 * extra, bytes = symbols * 5 / 8; /* "0" is five zero bits */
        test_case("a coded text of %zu bytes", symbols);
        buf_init(&b, 4 * KIB);
        buf_put(&b, SLICE("\x40\x01x\xff"));
        for (bytes -= 0x7f; bytes >= 0x80; bytes >>= 7)
            buf_putc(&b, (char)(bytes | 0x80));
        buf_putc(&b, (char)bytes);
        memset(buf_room(&b, symbols * 5 / 8), 0, symbols * 5 / 8);
        b.len += symbols * 5 / 8;
        struct slice block = guarded(buf_slice(&b));
        CHECK(hpack_next(&block, &f, &e));
        CHECK_STR(f.name, "x");
        CHECK_INT(f.value.len, HPACK_TEXT);
        CHECK_INT(block.len, 0);
        buf_free(&b);
    }
}

static void writing(void)
{
    struct arena a = {0};
    struct buf b;
    test_case("writing");
    buf_init(&b, 4 * KIB);
    hpack_put(&b, 4, SLICE_NONE, SLICE("/p"), false);
    hpack_put(&b, 0, SLICE("te"), SLICE("trailers"), false);
    hpack_put(&b, 23, SLICE_NONE, SLICE("s"), true);
    CHECK_SLICE(to_hex(buf_slice(&b), &a), SLICE("04022f70"
                                                 "000274650874"
                                                 "7261696c657273"
                                                 "1f080173"));
    buf_clear(&b);
    char long_value[300];
    memset(long_value, 'x', sizeof long_value);
    hpack_put(&b, 31, SLICE_NONE, (struct slice){long_value, sizeof long_value}, false);
    struct slice block = buf_slice(&b);
    CHECK_INT(told(block, &a).len, sizeof long_value + 2);
    buf_free(&b);
    arena_free(&a);
}

int main(void)
{
    reading();
    every_symbol();
    long_text();
    writing();
    return test_done();
}
