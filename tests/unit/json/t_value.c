#include "../test.h"

#include <mobula/json.h>

static struct arena mem;
static struct json docs[4]; /* one per slot, so that two documents may be compared */

static struct jval parse_n(unsigned slot, struct slice text)
{
    struct err e = {0};
    if (!json_parse(&docs[slot], guarded_n(slot, text), &mem, &e))
        printf("  %s\n", e.text);
    return json_root(&docs[slot]);
}

static struct jval parse(const char *text)
{
    return parse_n(0, slice_of(text));
}

static void test_paths(void)
{
    test_case("paths");
    struct jval other,
        v = parse("{\"metadata\":{\"name\":\"a\",\"labels\":{\"ray.io/cluster\":\"x\"}},\"n\":3,\"b\":true,\"list\":[1,[2],{\"k\":3}],"
                  "\"\\u006bey\":\"esc\",\"null\":null}");
    CHECK_INT(json_type(v), JSON_OBJECT);
    CHECK_INT(json_len(v), 6);
    CHECK_STR(json_get_str(v, "metadata.name", &mem), "a");
    CHECK_STR(json_str(json_key(json_get(v, "metadata.labels"), SLICE("ray.io/cluster")), &mem), "x");
    CHECK_STR(json_str(json_child(json_get(v, "metadata.labels"), "ray.io/cluster"), &mem), "x");
    CHECK(json_read(&other, SLICE("{\"a\":1}"), &mem, NULL) && json_get_int(other, "a", 0) == 1);
    CHECK(!json_read(&other, SLICE("{"), &mem, NULL) && !json_there(other));
    CHECK_INT(json_get_int(v, "n", 7), 3);
    CHECK_INT(json_get_int(v, "b", 7), 7);
    CHECK(json_get_bool(v, "b", false));
    CHECK(json_get_bool(v, "n", true));
    CHECK_STR(json_get_str(v, "key", &mem), "esc");
    CHECK_INT(json_type(json_get(v, "null")), JSON_NULL);
    CHECK_INT(json_type(json_get(v, "list")), JSON_ARRAY);
    CHECK_INT(json_len(json_get(v, "list")), 3);
    CHECK_STR(json_raw(json_at(json_get(v, "list"), 1)), "[2]");
    CHECK_STR(json_raw(json_at(json_get(v, "list"), 2)), "{\"k\":3}");
    CHECK(!json_there(json_at(json_get(v, "list"), 3)));
    CHECK(!json_there(json_at(v, 0)));
    CHECK(!json_there(json_key(json_get(v, "list"), SLICE("k"))));
    CHECK(!json_there(json_get(v, "metadata.nothing.at.all")));
    CHECK(!json_there(json_get(v, "n.x")));
    CHECK(!json_there(json_get(v, "")));
    CHECK_STR(json_raw(json_get(v, "metadata.name")), "\"a\"");
    CHECK_INT(json_offset(json_get(v, "metadata.name")), 20);
}

static void test_nothing(void)
{
    test_case("nothing");
    struct jval none = json_get(parse("{}"), "x");
    struct jval k, x;
    int64_t n = 5;
    double d = 5;
    CHECK(!json_there(none));
    CHECK_INT(json_type(none), JSON_NONE);
    CHECK(json_raw(none).ptr == NULL);
    CHECK_INT(json_offset(none), 0);
    CHECK_INT(json_len(none), 0);
    CHECK(!json_there(json_key(none, SLICE("a"))));
    CHECK(!json_there(json_at(none, 0)));
    CHECK(!json_there(json_get(none, "a.b")));
    CHECK(json_str(none, &mem).ptr == NULL);
    CHECK(!json_int(none, &n) && n == 5);
    CHECK(!json_num(none, &d) && d == 5);
    CHECK(json_bool(none, true));
    CHECK(!json_str_eq(none, SLICE("")));
    struct jiter it = json_iter(none);
    CHECK(!json_next(&it, &k, &x));
    struct json empty = {0};
    CHECK(!json_there(json_root(&empty)));
}

static void test_walk(void)
{
    test_case("walk");
    struct jval k, x;
    struct buf b;
    buf_init(&b, KIB);
    struct jval v = parse("{\"a\":{\"x\":[1,2]},\"b\":[],\"c\":\"s\"}");
    for (struct jiter it = json_iter(v); json_next(&it, &k, &x);)
        buf_printf(&b, "%.*s=%.*s ", SLICE_ARG(json_str(k, &mem)), SLICE_ARG(json_raw(x)));
    v = parse("[[1,[2]],{},\"s\",4]");
    for (struct jiter it = json_iter(v); json_next(&it, &k, &x);)
        buf_printf(&b, "%d%.*s ", json_there(k), SLICE_ARG(json_raw(x)));
    v = parse("7");
    for (struct jiter it = json_iter(v); json_next(&it, &k, &x);)
        buf_printf(&b, "never");
    CHECK_STR(buf_slice(&b), "a={\"x\":[1,2]} b=[] c=\"s\" 0[1,[2]] 0{} 0\"s\" 04 ");
    buf_free(&b);
}

static void test_strings(void)
{
    static const struct {
        const char *json;
        struct slice text;
    } cases[] = {
        {"\"\"", SLICE("")},
        {"\"plain\"", SLICE("plain")},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", SLICE("\"\\/\b\f\n\r\t")},
        {"\"\\u0000x\"", SLICE("\0x")},
        {"\"\\u00e4\\u20AC\"", SLICE("\xc3\xa4\xe2\x82\xac")},
        {"\"a\\ud83e\\udd93b\"", SLICE("a\xf0\x9f\xa6\x93"
                                       "b")},
        {"\"\\uDBFF\\uDFFF\"", SLICE("\xf4\x8f\xbf\xbf")},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("string %s", cases[i].json);
        struct jval v = parse(cases[i].json);
        CHECK_SLICE(json_str(v, &mem), cases[i].text);
        CHECK(json_str_eq(v, cases[i].text));
        CHECK(json_is(v, arena_dup(&mem, cases[i].text).ptr) == (slice_find(cases[i].text, '\0') < 0));
        CHECK(!json_str_eq(v, SLICE("other")));
        CHECK(!json_str_eq(v, SLICE("plainer")));
        CHECK(!json_str_eq(v, SLICE("pla")));
        /* and written again it reads the same */
        struct buf b;
        buf_init(&b, KIB);
        CHECK(json_quote(cases[i].text, &b));
        CHECK_SLICE(json_str(parse_n(1, buf_slice(&b)), &mem), cases[i].text);
        buf_free(&b);
    }
}

static void test_numbers(void)
{
    static const struct {
        const char *json;
        bool is_int;
        int64_t value;
        double number;
    } cases[] = {
        {"0", true, 0, 0},
        {"-0", true, 0, 0},
        {"0.000e99", true, 0, 0},
        {"1", true, 1, 1},
        {"1.0", true, 1, 1},
        {"1e0", true, 1, 1},
        {"1e3", true, 1000, 1000},
        {"1.5e1", true, 15, 15},
        {"1500e-2", true, 15, 15},
        {"-12.50e+1", true, -125, -125},
        {"1.5", false, 0, 1.5},
        {"15e-1", false, 0, 1.5},
        {"0.1", false, 0, 0.1},
        {"1e-400", false, 0, 0},
        {"9223372036854775807", true, INT64_MAX, 9223372036854775807.0},
        {"9223372036854775807.000", true, INT64_MAX, 9223372036854775807.0},
        {"9223372036854775808", false, 0, 9223372036854775808.0},
        {"-9223372036854775808", true, INT64_MIN, -9223372036854775808.0},
        {"-9223372036854775809", false, 0, -9223372036854775808.0},
        {"1000000000000000000000e-21", true, 1, 1},
        {"3.141592653589793238462643383279502884197169399375", false, 0, 3.141592653589793},
        {"1e99999999999999999999", false, 0, -1}, /* infinite: no number either */
        {"\"1\"", false, 0, -1},
        {"true", false, 0, -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("number %s", cases[i].json);
        struct jval v = parse(cases[i].json);
        int64_t n = 77;
        double d = -1;
        CHECK(json_int(v, &n) == cases[i].is_int);
        CHECK_INT(n, cases[i].is_int ? cases[i].value : 77);
        json_num(v, &d);
        CHECK(!(d < cases[i].number) && !(d > cases[i].number));
    }
}

static void test_equal(void)
{
    enum { EQUAL = 1, COVERS = 2, COVERED = 4 };
    static const struct {
        const char *a, *b;
        int how;
    } cases[] = {
        {"{\"a\":1,\"b\":[1,2]}", "{ \"b\":[1, 2], \"a\":1.0 }", 7},
        {"[1,2]", "[2,1]", 0},
        {"[1,2]", "[1]", 0},
        {"[]", "{}", 0},
        {"{\"a\":null}", "{}", COVERS},
        {"{\"a\":1,\"x\":2}", "{\"a\":1}", COVERS},
        {"[{\"a\":1,\"x\":2}]", "[{\"a\":1}]", COVERS},
        {"{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1}}", COVERS},
        {"{\"a\":{\"b\":2,\"c\":2}}", "{\"a\":{\"b\":1}}", 0},
        {"{\"a\":1}", "{\"b\":1}", 0},
        {"\"\\u0061\"", "\"a\"", 7},
        {"\"\\u0061\"", "\"\\u0061\"", 7},
        {"\"\\u0062\"", "\"\\u0061\"", 0},
        {"{\"\\u0061\":1}", "{\"a\":1}", 7},
        {"\"1\"", "1", 0},
        {"1", "1.0", 7},
        {"100", "1e2", 7},
        {"0", "-0.0", 7},
        {"1", "-1", 0},
        {"12345678901234567890123", "12345678901234567890124", 0},
        {"12345678901234567890123.0", "1.2345678901234567890123e22", 7},
        {"0.1", "0.10", 7},
        {"true", "true", 7},
        {"true", "false", 0},
        {"null", "null", 7},
        {"null", "false", 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("equal %s %s", cases[i].a, cases[i].b);
        struct jval a = parse_n(0, slice_of(cases[i].a)), b = parse_n(1, slice_of(cases[i].b));
        CHECK_INT(json_equal(a, b), (cases[i].how & EQUAL) != 0);
        CHECK_INT(json_equal(b, a), (cases[i].how & EQUAL) != 0);
        CHECK_INT(json_covers(a, b), (cases[i].how & COVERS) != 0);
        CHECK_INT(json_covers(b, a), (cases[i].how & COVERED) != 0);
        struct buf one, two;
        buf_init(&one, KIB);
        buf_init(&two, KIB);
        CHECK(json_canonical(a, &one) && json_canonical(b, &two));
        CHECK_INT(slice_eq(buf_slice(&one), buf_slice(&two)), (cases[i].how & EQUAL) != 0);
        CHECK(json_equal(parse_n(2, buf_slice(&one)), a));
        buf_free(&one);
        buf_free(&two);
    }
    test_case("equal nothing");
    struct jval v = parse("{}"), none = json_get(v, "x");
    CHECK(!json_equal(v, none));
    CHECK(json_equal(none, none));
    CHECK(json_covers(v, none));
    CHECK(!json_covers(none, v));
}

static void test_canonical(void)
{
    test_case("canonical");
    struct buf b;
    buf_init(&b, KIB);
    json_canonical(parse("{ \"b\" : [ 1.50, 1e2, -0, 123e30 ], \"a\" : \"\\u0041\\/\\n\\u0001\" , \"aa\":{\"z\":null,\"y\":true}}"), &b);
    CHECK_STR(buf_slice(&b), "{\"a\":\"A/\\n\\u0001\",\"aa\":{\"y\":true,\"z\":null},\"b\":[15e-1,100,0,123e30]}");
    buf_free(&b);
    buf_init(&b, 3);
    CHECK(!json_canonical(parse("[1,2]"), &b));
    buf_free(&b);
}

static void test_pointer(void)
{
    /* RFC 6901, section 5 */
    static const struct {
        const char *pointer, *want;
    } cases[] = {
        {"/foo", "[\"bar\",\"baz\"]"},
        {"/foo/0", "\"bar\""},
        {"/", "0"},
        {"/a~1b", "1"},
        {"/c%d", "2"},
        {"/e^f", "3"},
        {"/g|h", "4"},
        {"/i\\j", "5"},
        {"/k\"l", "6"},
        {"/ ", "7"},
        {"/m~0n", "8"},
        {"/foo/1", "\"baz\""},
        {"/foo/2", NULL},
        {"/foo/-", NULL},
        {"/foo/00", NULL},
        {"/foo/01", NULL},
        {"/foo/-0", NULL},
        {"/foo/+1", NULL},
        {"/foo/", NULL},
        {"/foo/1e0", NULL},
        {"foo", NULL},
        {"/a~b", NULL},
        {"/a~", NULL},
        {"/a~2b", NULL},
        {"/nope", NULL},
        {"/foo/0/x", NULL},
        {"/foo/18446744073709551616", NULL},
    };
    static const char text[] =
        "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,"
        "\"m~n\":8}";
    struct jval v = parse(text);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("pointer %s", cases[i].pointer);
        struct jval got = json_pointer(v, guarded_n(1, slice_of(cases[i].pointer)));
        CHECK_INT(json_there(got), cases[i].want != NULL);
        if (cases[i].want)
            CHECK_STR(json_raw(got), cases[i].want);
    }
    CHECK_STR(json_raw(json_pointer(v, SLICE(""))), text);
}

static void test_without(void)
{
    static const struct {
        const char *text, *path, *want; /* NULL: as it was */
    } cases[] = {
        {"{\"a\":1}", "a", "{}"},
        {"{\"a\":[{\"}\":\"]\\\"\"}],\"b\":2}", "a", "{\"b\":2}"},
        {" { \"b\" : 2 , \"a\" : \"\\\\\" } ", "a", " { \"b\" : 2  } "},
        {"{\"b\":2,\"a\":null ,\"c\":3}", "a", "{\"b\":2,\"c\":3}"},
        {"{\"a\":{\"b\":{\"c\":1}},\"o\":{\"x\":\"\",\"a\":{\"c\":1,\"b\":[1,2]}}}", "o.a.b",
         "{\"a\":{\"b\":{\"c\":1}},\"o\":{\"x\":\"\",\"a\":{\"c\":1}}}"},
        {"{\"a\":1}", "b", NULL},
        {"{\"a\":{}}", "a.b", NULL},
        {"{\"a\":[\"b\"]}", "a.b", NULL},
        {"[{\"a\":1}]", "a", NULL},
        {"{}", "a", NULL},
        {"{\"x\":1 \"a\":1}", "a", NULL},
        {"{\"x\" \"a\":1}", "a", NULL},
        {"{\"a\"", "a", NULL},
        {"{\"a\":", "a", NULL},
        {"{\"a\":[1", "a", NULL},
        {"{\"a\":\"x\\", "a", NULL},
        {"{\"a", "a", NULL},
        {"{\"x\":{\"a\":1", "a", NULL},
        {"", "a", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s without %s", cases[i].text, cases[i].path);
        struct slice text = guarded(slice_of(cases[i].text)), rest = json_without(text, cases[i].path, &mem);
        CHECK_STR(rest, cases[i].want ? cases[i].want : cases[i].text);
        CHECK((rest.ptr == text.ptr) == (cases[i].want == NULL));
    }
    test_case("an answer that has no body");
    CHECK(json_without(SLICE_NONE, "a", &mem).ptr == NULL);
}

int main(void)
{
    test_paths();
    test_nothing();
    test_walk();
    test_strings();
    test_numbers();
    test_equal();
    test_canonical();
    test_pointer();
    test_without();
    arena_free(&mem);
    return test_done();
}
