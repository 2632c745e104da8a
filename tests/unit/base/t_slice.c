#include "../test.h"

static void test_compare(void)
{
    test_case("compare");
    CHECK(slice_cmp(SLICE("a"), SLICE("b")) < 0);
    CHECK(slice_cmp(SLICE("a"), SLICE("ab")) < 0);
    CHECK(slice_cmp(SLICE("b"), SLICE("ab")) > 0);
    CHECK(slice_cmp(SLICE("\xff"), SLICE("a")) > 0); /* bytes are unsigned */
    CHECK(slice_cmp(SLICE_NONE, SLICE("")) == 0);
    CHECK(slice_eq(SLICE_NONE, SLICE("")));
    CHECK(!slice_eq(SLICE("a"), SLICE("b")));
    CHECK(slice_is(SLICE("ab"), "ab") && !slice_is(SLICE("ab"), "a") && !slice_is(SLICE("a"), "ab") && slice_is(SLICE_NONE, ""));
    CHECK(slice_eq_nocase(SLICE("Content-LENGTH"), SLICE("content-length")));
    CHECK(!slice_eq_nocase(SLICE("a["), SLICE("a{"))); /* 0x20 apart, and no letters */
    CHECK(!slice_eq_nocase(SLICE("a"), SLICE("ab")));
    CHECK(slice_starts(SLICE("spec.a"), SLICE("spec.")));
    CHECK(!slice_starts(SLICE("spec"), SLICE("spec.")));
    CHECK(slice_starts(SLICE("a"), SLICE_NONE));
    CHECK(slice_ends(SLICE("x.svc"), SLICE(".svc")));
    CHECK(!slice_ends(SLICE("svc"), SLICE(".svc")));
    CHECK(slice_ends(SLICE_NONE, SLICE("")));
    CHECK(slice_of(NULL).ptr == NULL);
    CHECK_STR(slice_of("abc"), "abc");
}

static void test_cut(void)
{
    test_case("cut");
    struct slice s = guarded(SLICE("a,,b"));
    CHECK_STR(slice_cut(&s, ','), "a");
    CHECK_STR(slice_cut(&s, ','), "");
    CHECK_STR(s, "b");
    CHECK_STR(slice_cut(&s, ','), "b");
    CHECK(s.ptr == NULL);
    struct slice ends = SLICE("a,");
    CHECK_STR(slice_cut(&ends, ','), "a");
    CHECK(ends.ptr != NULL && ends.len == 0); /* there was a separator: something empty stands behind it */
    CHECK_INT(slice_find(SLICE("abc"), 'c'), 2);
    CHECK_INT(slice_find(SLICE("abc"), 'd'), -1);
    CHECK_INT(slice_find(SLICE_NONE, 'd'), -1);
    CHECK_STR(slice_trim(guarded(SLICE(" \t\r\n a b \n"))), "a b");
    CHECK_STR(slice_trim(guarded(SLICE("   "))), "");
    CHECK(slice_listed(guarded(SLICE("a, bc,d")), SLICE("bc")) && slice_listed(SLICE("a,d"), SLICE("d")) &&
          slice_listed(SLICE("a"), SLICE("a")));
    CHECK(!slice_listed(SLICE("abc,d"), SLICE("bc")) && !slice_listed(SLICE_NONE, SLICE("")) && !slice_listed(SLICE("a"), SLICE("")));
}

static void test_int(void)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"42", true, 42},
        {"-42", true, -42},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+1", false, 0},
        {"01", false, 0},
        {"00", false, 0},
        {"1 ", false, 0},
        {" 1", false, 0},
        {"1.0", false, 0},
        {"0x1", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("int %s", cases[i].text);
        int64_t value = 77;
        CHECK(slice_int(guarded(slice_of(cases[i].text)), &value) == cases[i].ok);
        CHECK_INT(value, cases[i].ok ? cases[i].value : 77);
    }
}

static void test_copy(void)
{
    test_case("copy");
    char to[4] = "xyz";
    CHECK(!slice_copy(SLICE("abcd"), to, sizeof to));
    CHECK(memcmp(to, "xyz", 4) == 0);
    CHECK(slice_copy(guarded(SLICE("abc")), to, sizeof to));
    CHECK(memcmp(to, "abc", 4) == 0);
    CHECK(slice_copy(guarded(SLICE("a")), to, sizeof to));
    CHECK(memcmp(to, "a\0\0", 4) == 0);
    CHECK(slice_copy(SLICE_NONE, to, sizeof to) && to[0] == '\0');
}

static void test_behind(void)
{
    test_case("one behind the other");
    char room[5] = "xxxxx", *at = room;
    CHECK_STR(slice_behind(&at, guarded(SLICE("ab"))), "ab");
    CHECK(slice_behind(&at, SLICE_NONE).ptr == NULL && slice_behind(&at, SLICE("")).ptr == NULL);
    CHECK_STR(slice_behind(&at, guarded(SLICE("cd"))), "cd");
    CHECK(at == room + 4 && memcmp(room, "abcdx", 5) == 0);
}

int main(void)
{
    test_copy();
    test_behind();
    test_compare();
    test_cut();
    test_int();
    return test_done();
}
