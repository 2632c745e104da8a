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
        enum quantity_form form;
        const char *want;
    } cases[] = {
        {0, 0, QUANTITY_DECIMAL, "0"},
        {0, 3, QUANTITY_BINARY, "0"},
        {500, 3, QUANTITY_DECIMAL, "500m"},
        {1000, 3, QUANTITY_DECIMAL, "1"},
        {1500, 3, QUANTITY_DECIMAL, "1500m"},
        {2000000, 3, QUANTITY_DECIMAL, "2k"},
        {1, 0, QUANTITY_DECIMAL, "1"},
        {1000, 0, QUANTITY_DECIMAL, "1k"},
        {1500, 0, QUANTITY_DECIMAL, "1500"},
        {1000000000, 0, QUANTITY_DECIMAL, "1G"},
        {1000, 0, QUANTITY_BINARY, "1k"}, /* so does the API server, below 1024 */
        {1023, 0, QUANTITY_BINARY, "1023"},
        {1024, 0, QUANTITY_BINARY, "1Ki"},
        {1025, 0, QUANTITY_BINARY, "1025"},
        {2000, 0, QUANTITY_BINARY, "2000"},
        {536870912, 0, QUANTITY_BINARY, "512Mi"},
        {1610612736, 0, QUANTITY_BINARY, "1536Mi"},
        {1LL << 60, 0, QUANTITY_BINARY, "1Ei"},
        {1, 9, QUANTITY_DECIMAL, "1n"},
        {10, 4, QUANTITY_DECIMAL, "1m"},
        {1, 4, QUANTITY_DECIMAL, "100u"},
        {2048000, 3, QUANTITY_BINARY, "2Ki"},
        {2048500, 3, QUANTITY_BINARY, "2048500m"}, /* a fraction: decimal */
        {-1500, 3, QUANTITY_DECIMAL, "-1500m"},
        {INT64_MAX, 0, QUANTITY_DECIMAL, "9223372036854775807"},
        {INT64_MIN, 0, QUANTITY_BINARY, "-8Ei"},
        {INT64_MAX, 9, QUANTITY_DECIMAL, "9223372036854775807n"},
        {0, 0, QUANTITY_EXPONENT, "0"},
        {100, 0, QUANTITY_EXPONENT, "100"},
        {8000000000, 0, QUANTITY_EXPONENT, "8e9"},
        {1500, 3, QUANTITY_EXPONENT, "1500e-3"},
        {INT64_MIN, 9, QUANTITY_EXPONENT, "-9223372036854775808e-9"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[QUANTITY_TEXT_MAX];
        test_case("format %lld %d %d", (long long)cases[i].value, cases[i].decimals, cases[i].form);
        CHECK_STR(quantity_format(cases[i].value, cases[i].decimals, cases[i].form, out), cases[i].want);
    }
}

static void test_form(void)
{
    static const struct {
        const char *text;
        enum quantity_form form;
    } cases[] = {{"", QUANTITY_DECIMAL},     {"8", QUANTITY_DECIMAL},    {"8G", QUANTITY_DECIMAL},
                 {"8E", QUANTITY_DECIMAL},   {"500m", QUANTITY_DECIMAL}, {"8Gi", QUANTITY_BINARY},
                 {"1.5Ei", QUANTITY_BINARY}, {"8e9", QUANTITY_EXPONENT}, {"1E-3", QUANTITY_EXPONENT}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("form of %s", cases[i].text);
        CHECK_INT(quantity_form(slice_of(cases[i].text)), cases[i].form);
    }
}

int main(void)
{
    test_parse();
    test_form();
    test_format();
    return test_done();
}
