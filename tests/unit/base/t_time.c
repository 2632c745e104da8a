#include "../test.h"

static const struct {
    const char *text;
    enum err_code code;
    int64_t us;
    const char *micro; /* printed again; NULL: the same text */
} parse_cases[] = {
    {"1970-01-01T00:00:00.000000Z", ERR_NONE, 0, NULL},
    {"1969-12-31T23:59:59.999999Z", ERR_NONE, -1, NULL},
    {"2026-11-21T03:04:05.000006Z", ERR_NONE, 1795230245000006, NULL},
    {"2026-11-21T03:04:05Z", ERR_NONE, 1795230245000000, "2026-11-21T03:04:05.000000Z"},
    {"2026-11-21t03:04:05z", ERR_NONE, 1795230245000000, "2026-11-21T03:04:05.000000Z"},
    {"2026-11-21T08:34:05+05:30", ERR_NONE, 1795230245000000, "2026-11-21T03:04:05.000000Z"},
    {"2026-11-20T19:04:05-08:00", ERR_NONE, 1795230245000000, "2026-11-21T03:04:05.000000Z"},
    {"2026-11-21T03:04:05.1Z", ERR_NONE, 1795230245100000, "2026-11-21T03:04:05.100000Z"},
    {"2026-11-21T03:04:05.123456789Z", ERR_NONE, 1795230245123456, "2026-11-21T03:04:05.123456Z"},
    {"2024-02-29T00:00:00.000000Z", ERR_NONE, 1709164800000000, NULL},
    {"2000-02-29T12:00:00.000000Z", ERR_NONE, 951825600000000, NULL},
    {"0000-01-01T00:00:00.000000Z", ERR_NONE, -62167219200000000, NULL},
    {"0001-01-01T00:00:00.000000Z", ERR_NONE, -62135596800000000, NULL}, /* Go's zero time */
    {"9999-12-31T23:59:59.999999Z", ERR_NONE, 253402300799999999, NULL},
    {"2023-02-29T00:00:00Z", ERR_RANGE, 0, NULL},
    {"1900-02-29T00:00:00Z", ERR_RANGE, 0, NULL},
    {"2026-13-01T00:00:00Z", ERR_RANGE, 0, NULL},
    {"2026-00-01T00:00:00Z", ERR_RANGE, 0, NULL},
    {"2026-04-31T00:00:00Z", ERR_RANGE, 0, NULL},
    {"2026-04-00T00:00:00Z", ERR_RANGE, 0, NULL},
    {"2026-04-01T24:00:00Z", ERR_RANGE, 0, NULL},
    {"2026-04-01T00:60:00Z", ERR_RANGE, 0, NULL},
    {"2026-04-01T23:59:60Z", ERR_RANGE, 0, NULL}, /* leap seconds: Go has none */
    {"2026-04-01T00:00:00+24:00", ERR_SYNTAX, 0, NULL},
    {"2026-04-01T00:00:00+00:60", ERR_SYNTAX, 0, NULL},
    {"2026-04-01T00:00:00", ERR_SYNTAX, 0, NULL},
    {"2026-04-01T00:00:00.Z", ERR_SYNTAX, 0, NULL},
    {"2026-04-01T00:00:00.1234567890Z", ERR_SYNTAX, 0, NULL},
    {"2026-04-01 00:00:00Z", ERR_SYNTAX, 0, NULL},
    {"2026-04-01T00:00:00Z ", ERR_SYNTAX, 0, NULL},
    {"2026-04-01T00:00:00+0100", ERR_SYNTAX, 0, NULL},
    {"2026-4-1T00:00:00Z", ERR_SYNTAX, 0, NULL},
    {"+026-04-01T00:00:00Z", ERR_SYNTAX, 0, NULL},
    {"2026-04-01", ERR_SYNTAX, 0, NULL},
    {"", ERR_SYNTAX, 0, NULL},
};

static void test_parse(void)
{
    for (size_t i = 0; i < COUNT_OF(parse_cases); i++) {
        const char *text = parse_cases[i].text;
        test_case("parse %s", text);
        struct err e = {0};
        int64_t us = 77;
        char out[TIME_TEXT_MAX];
        CHECK(time_parse(guarded(slice_of(text)), &us, &e) == (parse_cases[i].code == ERR_NONE));
        CHECK_INT(e.code, parse_cases[i].code);
        CHECK_INT(us, parse_cases[i].code == ERR_NONE ? parse_cases[i].us : 77);
        if (parse_cases[i].code == ERR_NONE)
            CHECK_STR(time_format_micro(us, out), parse_cases[i].micro ? parse_cases[i].micro : text);
    }
}

static void test_format(void)
{
    char out[TIME_TEXT_MAX];
    test_case("format");
    CHECK_STR(time_format(1795230245999999, out), "2026-11-21T03:04:05Z");
    CHECK_STR(time_format(-1, out), "1969-12-31T23:59:59Z");
    CHECK_STR(time_format(INT64_MAX, out), "9999-12-31T23:59:59Z");
    CHECK_STR(time_format_micro(INT64_MIN, out), "0000-01-01T00:00:00.000000Z");
    /* Every day of a bit more than an era, printed and read again. */
    for (int64_t day = -800000; day < 800000; day += 13) {
        int64_t us = day * 86400 * 1000000 + 12345, back = 0;
        struct slice text = time_format_micro(us, out);
        if (us >= -62167219200000000 && (!time_parse(text, &back, NULL) || back != us))
            CHECK_STR(text, "the same");
    }
}

static void test_age(void)
{
    static const struct {
        int64_t seconds;
        const char *want;
    } cases[] = {
        {-5, "0 s"},           {0, "0 s"},         {119, "119 s"},      {120, "2 min"},    {187, "3 min 7 s"},
        {599, "9 min 59 s"},   {600, "10 min"},    {10799, "179 min"},  {10800, "3 h"},    {18720, "5 h 12 min"},
        {28799, "7 h 59 min"}, {28800, "8 h"},     {172799, "47 h"},    {172800, "2 d"},   {273600, "3 d 4 h"},
        {691199, "7 d 23 h"},  {691200, "8 d"},    {63071999, "729 d"}, {63072000, "2 y"}, {63158400, "2 y 1 d"},
        {252288000, "8 y"},    {283824000, "9 y"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[TIME_TEXT_MAX];
        test_case("age %lld", (long long)cases[i].seconds);
        CHECK_STR(time_format_age(cases[i].seconds, out), cases[i].want);
    }
    char out[TIME_TEXT_MAX];
    CHECK(time_format_age(INT64_MAX, out).len > 0);
}

static void test_clock(void)
{
    test_case("clock");
    struct now a = clock_now(), b = clock_now();
    CHECK(b.mono_ms >= a.mono_ms);
    CHECK(a.wall_us > 1600000000000000);
}

int main(void)
{
    test_parse();
    test_format();
    test_age();
    test_clock();
    return test_done();
}
