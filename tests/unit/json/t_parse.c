#include "../test.h"

#include <mobula/json.h>

/* What RFC 8259 allows, and what it does not. The second half of the list is what jsmn alone lets through. */
static const struct {
    struct slice text;
    bool ok;
} cases[] = {
#define YES(text)                                                                                                                          \
    {                                                                                                                                      \
        SLICE(text), true                                                                                                                  \
    }
#define NO(text)                                                                                                                           \
    {                                                                                                                                      \
        SLICE(text), false                                                                                                                 \
    }
    YES("{}"),
    YES("[]"),
    YES(" \t\r\n{ \"a\" : [ 1 , 2 ] } \n"),
    YES("{\"a\":{\"b\":{\"c\":[[],{},[{}]]}}}"),
    YES("\"text\""),
    YES("\"\""),
    YES("12"),
    YES(" -0.5e+10 "),
    YES("true"),
    YES(" false"),
    YES("null\n"),
    YES("[0,-0,1,10,0.1,1e5,1E-5,-1.25e+2]"),
    YES("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\"]"),
    YES("[\"\xc3\xa4\xe2\x82\xac\xf0\x9f\xa6\x93\"]"),
    YES("[\"\\ud83e\\udd93\"]"),
    YES("[\"\\uD83E\\uDD93\"]"),
    YES("[\"\x7f\"]"),
    YES("{\"a\":1,\"b\":1,\"A\":1,\"\":1}"),
    YES("[{\"a\":1},{\"a\":2}]"), /* the same key in two objects */
    NO(""),
    NO(" \n"),
    NO("{"),
    NO("["),
    NO("{\"a\":1"),
    NO("[1"),
    NO("\"a"),
    NO("\""),
    NO("\"a\\"),
    NO("\"a\\\""),
    NO("}"),
    NO("[1}"),
    NO("{]"),
    NO("[]]"),
    NO("{}}"),
    NO("{a:1}"),
    NO("{'a':1}"),
    NO("[\"\\x\"]"),
    NO("[\"\\u12g4\"]"),
    NO("[\"\\u12\"]"),
    NO("\"\\u12"),
    NO("[\"\\u\"]"),
    NO("// comment\n{}"),
    NO("\xef\xbb\xbf{}"), /* a byte order mark */
    NO("{} x"),
    NO("nope"),
    NO("tru"),
    NO("1 2"),
    NO("NaN"),
    NO("-Infinity"),
    NO("{} {}"),
    NO("[] []"),
    NO("\"a\" \"b\""),
    NO("[1,,2]"),
    NO("[,]"),
    NO("[,1]"),
    NO("[1,]"),
    NO("{,}"),
    NO("{\"a\":1,}"),
    NO("{,\"a\":1}"),
    NO("{\"a\":1,,\"b\":1}"),
    NO("{\"a\"}"),
    NO("{\"a\" \"b\"}"),
    NO("{\"a\",\"b\"}"),
    NO("{\"a\":}"),
    NO("{\"a\":,\"b\":1}"),
    NO("{\"a\":1 \"b\":2}"),
    NO("{:1}"),
    NO("{1:2}"),
    NO("{null:2}"),
    NO("{[]:2}"),
    NO("{{}:2}"),
    NO("[1 2]"),
    NO("[[] []]"),
    NO("[\"a\" \"b\"]"),
    NO("[01]"),
    NO("[-]"),
    NO("[-01]"),
    NO("[+1]"),
    NO("[.5]"),
    NO("[1.]"),
    NO("[1.2.3]"),
    NO("[1e]"),
    NO("[1e+]"),
    NO("[1-2]"),
    NO("[0x10]"),
    NO("[tru]"),
    NO("[nul]"),
    NO("[True]"),
    NO("[truefalse]"),
    NO("[true false]"),
    NO("[1\"a\"]"),
    NO("[\"a\"1]"),
    NO("[\"a\":1]"),
    NO("[1:2]"),
    NO("{\"a\"::1}"),
    NO("{\"a\":1:2}"),
    NO("{\"a\":{\"b\":1}:2}"),
    NO("{\"a\":{\"b\":1}\"c\":2}"),
    NO("[\"\x01\"]"),
    NO("[\"a\nb\"]"),
    NO("[\"a\0b\"]"),
    NO("[1]\0"),
    NO("[1]\0x"),
    NO("[1\0]"),
    NO("\0"),
    NO("[\"\xff\"]"),
    NO("[\"\xc0\x80\"]"),
    NO("[\"\xed\xa0\x80\"]"),
    NO("[\"\xc3\"]"),
    NO("[\xc3\xa4]"),
    NO("[\"\\ud83e\"]"),
    NO("[\"\\udd93\"]"),
    NO("[\"\\ud83e\\u0041\"]"),
    NO("[\"\\ud83e\\ud83e\"]"),
    NO("[\"\\ud83ex\\udd93\"]"),
    NO("[\"\\ud83e\\udd9\"]"),
    NO("{\"a\":1,\"a\":2}"),
    NO("{\"a\":1,\"b\":{},\"a\":1}"),
    NO("{\"a\":1,\"\\u0061\":2}"), /* the same key in two spellings */
    NO("{\"\\u0061\":1,\"\\u0061\":2}"),
    NO("{\"\\ud83e\\udd93\":1,\"\xf0\x9f\xa6\x93\":2}"),
    NO("[0,{\"x\":{\"a\":1,\"a\":2}}]"),
#undef YES
#undef NO
};

static void test_grammar(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("grammar %.*s", SLICE_ARG(cases[i].text));
        struct arena a = {0};
        struct json doc;
        struct err e = {0};
        CHECK(json_parse(&doc, guarded(cases[i].text), &a, &e) == cases[i].ok);
        CHECK_INT(e.code, cases[i].ok ? ERR_NONE : ERR_SYNTAX);
        CHECK(json_there(json_root(&doc)) == cases[i].ok);
        arena_free(&a);
    }
}

static void test_offsets(void)
{
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"[1,2,]", "byte 4: a comma too many"},
        {"{\"a\":1 \"b\":2}", "byte 7: a comma is missing"},
        {"{\"a\" \"b\"}", "byte 5: a colon is missing"},
        {"{\"a\"}", "byte 4: a key without a value"},
        {"[\"\n\"]", "byte 2: control byte in a string"},
        {"[\"a\xff\"]", "byte 3: not UTF-8"},
        {"[01]", "byte 1: neither a number nor true, false or null"},
        {"[1", "byte 2: the text ends before its value does"},
        {"[1]]", "byte 3: a bracket that nothing opened"},
        {"[]\n{}", "byte 3: a second value"},
        {"[{\"k\":1,\"k\":2}]", "byte 1: key \"k\" stands twice in this object"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        test_case("offset %s", wrong[i].text);
        struct arena a = {0};
        struct json doc;
        struct err e = {0};
        CHECK(!json_parse(&doc, guarded(slice_of(wrong[i].text)), &a, &e));
        CHECK_STR(slice_of(e.text), wrong[i].error);
        arena_free(&a);
    }
}

/* n times `open`, then n times `close`. */
static struct slice nested(struct arena *a, const char *open, const char *close, size_t n)
{
    size_t step = strlen(open);
    char *text = arena_alloc(a, n * (step + 1));
    for (size_t i = 0; i < n; i++) {
        memcpy(text + i * step, open, step);
        text[n * step + i] = *close;
    }
    return (struct slice){text, n * (step + 1)};
}

static void test_depth(void)
{
    struct arena a = {0};
    struct json doc;
    struct err e = {0};
    test_case("depth");
    CHECK(json_parse(&doc, guarded(nested(&a, "[", "]", LIMIT_JSON_DEPTH)), &a, &e));
    CHECK(!json_parse(&doc, guarded(nested(&a, "[", "]", LIMIT_JSON_DEPTH + 1)), &a, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    e = (struct err){0};
    CHECK(!json_parse(&doc, nested(&a, "[", "]", 100 * 1000), &a, &e)); /* quick: jsmn alone takes ten seconds */
    CHECK_INT(e.code, ERR_LIMIT);
    arena_free(&a);
}

/* [0,0,…] with n elements: n + 1 tokens. */
static struct slice zeros(struct arena *a, size_t n)
{
    char *text = arena_alloc(a, 2 * n + 1);
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = ',';
        text[2 * i + 1] = '0';
    }
    text[0] = '[';
    text[2 * n] = ']';
    return (struct slice){text, 2 * n + 1};
}

static void test_tokens(void)
{
    struct arena a = {0};
    struct json doc;
    struct err e = {0};
    test_case("tokens");
    CHECK(json_parse(&doc, zeros(&a, LIMIT_JSON_TOKENS - 1), &a, &e));
    CHECK_INT(doc.count, LIMIT_JSON_TOKENS);
    CHECK(!json_parse(&doc, zeros(&a, LIMIT_JSON_TOKENS), &a, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    arena_free(&a);
}

/* Wide objects: unique keys pass, one that stands twice is found, wherever the two are. */
static void test_wide(void)
{
    for (int n = 1; n < 40; n++) {
        for (int twin = 0; twin < n; twin++) {
            test_case("wide %d %d", n, twin);
            struct buf b;
            struct arena a = {0};
            struct json doc;
            struct err e = {0};
            buf_init(&b, MIB);
            for (int i = 0; i < n; i++)
                buf_printf(&b, "%s\"key-%02d\":%d", i ? "," : "{", i, i);
            buf_putc(&b, '}');
            CHECK(json_parse(&doc, buf_slice(&b), &a, &e));
            b.len--;
            buf_printf(&b, ",\"key-%02d\":0}", twin);
            CHECK(!json_parse(&doc, buf_slice(&b), &a, &e));
            arena_free(&a);
            buf_free(&b);
        }
    }
}

int main(void)
{
    test_grammar();
    test_offsets();
    test_depth();
    test_tokens();
    test_wide();
    return test_done();
}
