#include "../test.h"

static const struct {
    const char *text;
    int decimals;
    enum err_code code;
    int64_t value;
} parse_cases[] = {
    {"1", 0, ERR_NONE, 1},
    {"500m", 3, ERR_NONE, 500},
    {"1.5", 3, ERR_NONE, 1500},
    {"+2", 0, ERR_NONE, 2},
    {".5", 3, ERR_NONE, 500},
    {"1.", 0, ERR_NONE, 1},
    {"0.5m", 3, ERR_NONE, 1}, /* rounded up, as the API server does */
    {"1n", 0, ERR_NONE, 1},   /* the same, from far below */
    {"1u", 9, ERR_NONE, 1000},
    {"0", 3, ERR_NONE, 0},
    {"-0", 0, ERR_NONE, 0},
    {"512Mi", 0, ERR_NONE, 536870912},
    {"1.5Gi", 0, ERR_NONE, 1610612736},
    {"1G", 0, ERR_NONE, 1000000000},
    {"2e3", 0, ERR_NONE, 2000},
    {"2E3", 0, ERR_NONE, 2000},
    {"2e+3", 0, ERR_NONE, 2000},
    {"1E", 0, ERR_NONE, 1000000000000000000},
    {"5e-1", 0, ERR_NONE, 1},
    {"0.000000000000000001", 0, ERR_NONE, 1}, /* zeros that carry no value are not digits */
    {"123456789012345678", 0, ERR_NONE, 123456789012345678},
    {"1234567890123456789", 0, ERR_LIMIT, 0},
    {"7Ei", 0, ERR_NONE, 8070450532247928832},
    {"8Ei", 0, ERR_RANGE, 0},
    {"9223372036854775.808k", 0, ERR_LIMIT, 0},
    {"1e19", 0, ERR_RANGE, 0},
    {"1e99", 0, ERR_RANGE, 0},
    {"0e99", 0, ERR_NONE, 0},
    {"1e-99", 0, ERR_NONE, 1},
    {"-1", 0, ERR_RANGE, 0},
    {"", 0, ERR_SYNTAX, 0},
    {".", 0, ERR_SYNTAX, 0},
    {"+", 0, ERR_SYNTAX, 0},
    {"--1", 0, ERR_SYNTAX, 0},
    {"-1x", 0, ERR_SYNTAX, 0},
    {"m", 0, ERR_SYNTAX, 0},
    {"1.2.3", 0, ERR_SYNTAX, 0},
    {"1 Gi", 0, ERR_SYNTAX, 0},
    {"1GB", 0, ERR_SYNTAX, 0},
    {"1K", 0, ERR_SYNTAX, 0},
    {"1e", 0, ERR_SYNTAX, 0},
    {"1e+", 0, ERR_SYNTAX, 0},
    {"1e100", 0, ERR_SYNTAX, 0},
    {"0x10", 0, ERR_SYNTAX, 0},
};

static void test_parse(void)
{
    for (size_t i = 0; i < COUNT_OF(parse_cases); i++) {
        test_case("quantity %s", parse_cases[i].text);
        struct err e = {0};
        int64_t value = -1;
        CHECK(quantity_parse(guarded(slice_of(parse_cases[i].text)), parse_cases[i].decimals, &value, &e) ==
              (parse_cases[i].code == ERR_NONE));
        CHECK_INT(e.code, parse_cases[i].code);
        CHECK_INT(value, parse_cases[i].code == ERR_NONE ? parse_cases[i].value : -1);
    }
}

static void test_format(void)
{
    static const struct {
        int64_t value;
        int decimals;
        bool binary;
        const char *want;
    } cases[] = {
        {0, 0, false, "0"},
        {0, 3, true, "0"},
        {500, 3, false, "500m"},
        {1000, 3, false, "1"},
        {1500, 3, false, "1500m"},
        {2000000, 3, false, "2k"},
        {1, 0, false, "1"},
        {1000, 0, false, "1k"},
        {1500, 0, false, "1500"},
        {1000000000, 0, false, "1G"},
        {1000, 0, true, "1k"}, /* so does the API server, below 1024 */
        {1023, 0, true, "1023"},
        {1024, 0, true, "1Ki"},
        {1025, 0, true, "1025"},
        {2000, 0, true, "2000"},
        {536870912, 0, true, "512Mi"},
        {1610612736, 0, true, "1536Mi"},
        {1LL << 60, 0, true, "1Ei"},
        {1, 9, false, "1n"},
        {10, 4, false, "1m"},
        {1, 4, false, "100u"},
        {2048000, 3, true, "2Ki"},
        {2048500, 3, true, "2048500m"}, /* a fraction: decimal */
        {-1500, 3, false, "-1500m"},
        {INT64_MAX, 0, false, "9223372036854775807"},
        {INT64_MIN, 0, true, "-8Ei"},
        {INT64_MAX, 9, false, "9223372036854775807n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[QUANTITY_TEXT_MAX];
        test_case("format %lld %d %d", (long long)cases[i].value, cases[i].decimals, cases[i].binary);
        CHECK_STR(quantity_format(cases[i].value, cases[i].decimals, cases[i].binary, out), cases[i].want);
    }
}

int main(void)
{
    test_parse();
    test_format();
    return test_done();
}
