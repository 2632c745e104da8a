#include "hex.h"

#include <mobula/grpc.h>

/* ---- reading: all fields of a message as text, or what is wrong with it ---- */

static struct slice told(struct slice message, struct arena *a)
{
    struct slice out = SLICE("");
    struct err e = {0};
    for (struct proto_field f; proto_next(&message, &f, &e);) {
        if (f.type == PROTO_BYTES)
            out = arena_printf(a, "%.*s%u:\"%.*s\" ", SLICE_ARG(out), f.number, SLICE_ARG(f.bytes));
        else
            out = arena_printf(a, "%.*s%u:%d:%llu ", SLICE_ARG(out), f.number, f.type, (unsigned long long)f.value);
    }
    return e.code == ERR_NONE ? out : arena_dup(a, slice_of(e.text));
}

static const struct {
    const char *id, *hex, *want;
} messages[] = {
    {"nothing", "", ""},
    {"a number", "0801", "1:0:1 "},
    {"a number of ten bytes", "08ffffffffffffffffff01", "1:0:18446744073709551615 "},
    {"fixed numbers", "110100000000000080 1d01000080", "2:1:9223372036854775809 3:5:2147483649 "},
    {"bytes", "0a0361626312001a0178", "1:\"abc\" 2:\"\" 3:\"x\" "},
    {"the highest number of a field", "f8ffffff0f05", "536870911:0:5 "},
    {"one more", "808080801005", "the message is malformed: a field has no number"},
    {"field 0", "0001", "the message is malformed: a field has no number"},
    {"half a tag", "80", "the message is malformed: a field has no number"},
    {"a number cut off", "0880", "the message is malformed: a number is cut off or too long"},
    {"no number", "08", "the message is malformed: a number is cut off or too long"},
    {"a number of eleven bytes", "08ffffffffffffffffffff01", "the message is malformed: a number is cut off or too long"},
    {"a number of 65 bits", "08ffffffffffffffffff02", "the message is malformed: a number is cut off or too long"},
    {"a fixed number cut off", "1101000000000000", "the message is malformed: a number is cut off"},
    {"a short one cut off", "1d010000", "the message is malformed: a number is cut off"},
    {"bytes cut off", "0a04616263", "the message is malformed: a field is longer than its message"},
    {"a length that overflows", "0affffffffffffffffff01", "the message is malformed: a field is longer than its message"},
    {"a group", "0b0c", "the message is malformed: a field is of no known type"},
    {"type 7", "0f", "the message is malformed: a field is of no known type"},
};

static void reading(void)
{
    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        struct arena a = {0};
        test_case("%s", messages[i].id);
        struct slice message = from_hex(slice_of(messages[i].hex), &a);
        CHECK_STR(told(guarded(message), &a), messages[i].want);
        arena_free(&a);
    }
}

static void values(void)
{
    struct arena a = {0};
    struct err e = {0};
    struct proto_field f;
    struct slice text, message = HEX("08ffffffffffffffffff01 11000000000000f03f 0a02c3a4 0a01ff", &a);
    int64_t n;
    double d;
    test_case("values");
    CHECK_INT(proto_count(message, 1), 3);
    CHECK_INT(proto_count(message, 2), 1);
    CHECK(proto_next(&message, &f, &e) && proto_int(&f, &n, &e) && n == -1);
    CHECK(!proto_text(&f, &text, &e) && e.code == ERR_TYPE);
    e = (struct err){0};
    CHECK(proto_next(&message, &f, &e) && proto_double(&f, &d, &e) && d > 0.5 && d < 1.5);
    CHECK(!proto_int(&f, &n, &e) && e.code == ERR_TYPE);
    e = (struct err){0};
    CHECK(proto_next(&message, &f, &e) && proto_text(&f, &text, &e));
    CHECK_STR(text, "ä");
    CHECK(!proto_double(&f, &d, &e) && e.code == ERR_TYPE);
    e = (struct err){0};
    CHECK(proto_next(&message, &f, &e) && proto_bytes(&f, &text, &e));
    CHECK(!proto_text(&f, &text, &e) && e.code == ERR_SYNTAX);
    arena_free(&a);
}

/* ---- writing ---- */

static void writing(void)
{
    struct arena a = {0};
    struct buf b;
    test_case("writing");
    buf_init(&b, 4 * KIB);
    proto_put_int(&b, 1, 0);
    proto_put_bytes(&b, 2, SLICE(""));
    proto_put_double(&b, 3, 0);
    CHECK_INT(b.len, 0);
    proto_put_int(&b, 1, 300);
    proto_put_int(&b, 2, -1);
    proto_put_double(&b, 3, 1.0);
    proto_put_bytes(&b, 16, SLICE("ab"));
    CHECK_SLICE(to_hex(buf_slice(&b), &a), SLICE("08ac02"
                                                 "10ffffffffffffffffff01"
                                                 "19000000000000f03f"
                                                 "8201026162"));
    buf_clear(&b);
    size_t outer = proto_open(&b, 1), empty = proto_open(&b, 2);
    proto_close(&b, empty);
    size_t inner = proto_open(&b, 3);
    for (int i = 0; i < 100; i++)
        proto_put_int(&b, 1, 1);
    proto_close(&b, inner);
    proto_close(&b, outer);
    CHECK_SLICE(to_hex(slice_head(buf_slice(&b), 10), &a), SLICE("0acd01"
                                                                 "1200"
                                                                 "1ac801"
                                                                 "0801"));
    CHECK_INT(b.len, 3 + 2 + 3 + 200);
    buf_free(&b);
    arena_free(&a);
}

static void full(void)
{
    struct buf b;
    test_case("a buffer that is full stays so");
    buf_init(&b, 3);
    size_t at = proto_open(&b, 1);
    proto_put_int(&b, 1, 1);
    proto_close(&b, at);
    CHECK(b.full);
    CHECK_INT(b.len, 3);
    buf_free(&b);
}

int main(void)
{
    reading();
    values();
    writing();
    full();
    return test_done();
}
