#include "../test.h"

static void test_utf8(void)
{
    static const struct {
        const char *text;
        bool valid;
    } cases[] = {
        {"", true},
        {"plain ascii, longer than eight bytes", true},
        {"\xc3\xa4", true},
        {"12345678\xc3\xa4", true},
        {"\xe2\x82\xac", true},
        {"\xf0\x9f\xa6\x93", true},
        {"\xf4\x8f\xbf\xbf", true},  /* U+10FFFF */
        {"\xf4\x90\x80\x80", false}, /* one past it */
        {"\xef\xbf\xbf", true},
        {"\xed\x9f\xbf", true},
        {"\xed\xa0\x80", false}, /* a surrogate */
        {"\xee\x80\x80", true},
        {"\xc0\x80", false}, /* overlong NUL */
        {"\xc1\xbf", false},
        {"\xc2\x80", true},
        {"\xe0\x9f\xbf", false},
        {"\xe0\xa0\x80", true},
        {"\xf0\x8f\xbf\xbf", false},
        {"\xf0\x90\x80\x80", true},
        {"\x80", false},
        {"\xc3", false},
        {"\xe2\x82", false},
        {"\xf0\x9f\xa6", false},
        {"\xc3"
         "a",
         false},
        {"\xe2\x82"
         "a",
         false},
        {"\xf5\x80\x80\x80", false},
        {"\xff", false},
        {"1234567\xff", false},
        {"12345678\xff", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("utf8 %zu", i);
        CHECK(utf8_valid(guarded(slice_of(cases[i].text))) == cases[i].valid);
    }
    test_case("utf8 all points");
    for (uint32_t point = 0; point <= 0x10ffff; point++) {
        char out[4];
        struct slice s = {out, utf8_encode(point, out)};
        bool surrogate = point >= 0xd800 && point <= 0xdfff;
        if (utf8_step(s) != (surrogate ? 0 : s.len))
            CHECK_INT(point, -1);
    }
    CHECK_INT(utf8_step(SLICE_NONE), 0);
}

/* What others say goes to terminals and into one-line fields. */
static void test_clean(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {" \t\n ", ""},
        {"  a \r\n\tb ", "a b"},
        {"a\x1b[2Jb", "a [2Jb"},
        {"a\x7f\x01\x02z", "a z"},
        {"\xc2\x9b"
         "2Ja\xc2\x80\xc2\x9f"
         "b",
         "2Ja b"},                                /* U+009B is the escape sequence of two bytes in one */
        {"\xc2\xa0\xc3\x9b", "\xc2\xa0\xc3\x9b"}, /* the first character behind them, and another with that last byte */
        {"a\x9b\xff\xe2\x82", "a????"},
        {"\xe2\x82\xac", "\xe2\x82\xac"},
    };
    char out[64];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("clean %zu", i);
        CHECK_STR(utf8_clean(guarded(slice_of(cases[i].text)), out, sizeof out), cases[i].want);
    }
    static const char *const cut[] = {"", "a", "a", "…", "a…", "a…", "a b\xe2\x82\xac"};
    for (size_t size = 1; size <= COUNT_OF(cut); size++) {
        test_case("clean into %zu bytes", size);
        CHECK_STR(utf8_clean(SLICE("a \n b\xe2\x82\xac"), out, size), cut[size - 1]);
        CHECK_INT(out[strlen(cut[size - 1])], 0);
    }
}

/* A text that has no room ends in a mark, so that nobody takes its end for the end of what was said. */
static void test_copy(void)
{
    static const char *const cut[] = {"",
                                      "a",
                                      "ab",
                                      "…",
                                      "a…",
                                      "ab…",
                                      ("ab\xe2\x82\xac"
                                       "c")};
    char out[64];
    for (size_t size = 1; size <= COUNT_OF(cut); size++) {
        test_case("copy into %zu bytes", size);
        CHECK_STR(utf8_copy(guarded(SLICE("ab\xe2\x82\xac"
                                          "c")),
                            out, size),
                  cut[size - 1]);
    }
    test_case("what is no UTF-8 is not passed on");
    CHECK_STR(utf8_copy(SLICE("ab\xff"
                              "c"),
                        out, sizeof out),
              "ab…");
    CHECK_STR(utf8_copy(SLICE_NONE, out, sizeof out), "");
    test_case("a text of an arena that fits is not copied");
    struct arena a = {0};
    struct slice text = SLICE("abcdef");
    CHECK(arena_cut(&a, text, 6).ptr == text.ptr);
    CHECK_STR(arena_cut(&a, text, 5), "ab…");
    arena_free(&a);
}

static char long_name[300];

static const char *of_length(int n)
{
    memset(long_name, 'a', (size_t)n);
    long_name[n] = '\0';
    return long_name;
}

static void test_names(void)
{
    enum { LABEL = 1, LABEL1035 = 2, SUBDOMAIN = 4, QUALIFIED = 8, VALUE = 16 };
    static const struct {
        const char *name;
        int rules;
    } cases[] = {
        {"a", 31},
        {"a-b", 31},
        {"1a", LABEL | SUBDOMAIN | QUALIFIED | VALUE},
        {"", VALUE},
        {"-a", 0},
        {"a-", 0},
        {"A", QUALIFIED | VALUE},
        {"a.b", SUBDOMAIN | QUALIFIED | VALUE},
        {"a..b", QUALIFIED | VALUE},
        {".a", 0},
        {"a.", 0},
        {"a.-b", QUALIFIED | VALUE},
        {"a_b", QUALIFIED | VALUE},
        {"ray.io/cluster", QUALIFIED},
        {"ray.io/", 0},
        {"/cluster", 0},
        {"Ray.io/cluster", 0},
        {"a/b/c", 0},
        {"a b", 0},
        {"a\n", 0},
        {"\xc3\xa4", 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("name %s", cases[i].name);
        struct slice s = guarded(slice_of(cases[i].name));
        CHECK_INT(name_dns1123_label(s), (cases[i].rules & LABEL) != 0);
        CHECK_INT(name_dns1035_label(s), (cases[i].rules & LABEL1035) != 0);
        CHECK_INT(name_dns1123_subdomain(s), (cases[i].rules & SUBDOMAIN) != 0);
        CHECK_INT(name_dns_host(s), (cases[i].rules & SUBDOMAIN) != 0);
        CHECK_INT(name_qualified(s), (cases[i].rules & QUALIFIED) != 0);
        CHECK_INT(name_label_value(s), (cases[i].rules & VALUE) != 0);
    }
    test_case("name lengths");
    CHECK(name_dns1123_label(slice_of(of_length(63))));
    CHECK(name_dns1035_label(slice_of(of_length(63))));
    CHECK(name_label_value(slice_of(of_length(63))));
    CHECK(name_qualified(slice_of(of_length(63))));
    CHECK(!name_dns1123_label(slice_of(of_length(64))));
    CHECK(!name_dns1035_label(slice_of(of_length(64))));
    CHECK(!name_label_value(slice_of(of_length(64))));
    CHECK(!name_qualified(slice_of(of_length(64))));
    CHECK(name_dns1123_subdomain(slice_of(of_length(253))));
    CHECK(!name_dns1123_subdomain(slice_of(of_length(254))));
    CHECK(name_dns_host(slice_of(of_length(63))));
    CHECK(!name_dns_host(slice_of(of_length(64))));
    CHECK(name_label_value(SLICE_NONE));
    CHECK(!name_dns1123_label(SLICE_NONE));
}

int main(void)
{
    test_utf8();
    test_clean();
    test_copy();
    test_names();
    return test_done();
}
