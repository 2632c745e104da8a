#include "../test.h"

#include <math.h>

static const struct {
    double value;
    const char *json, *text;
} cases[] = {
    {0, "0", "0"},
    {-0.0, "-0", "-0"},
    {1, "1", "1"},
    {-1.5, "-1.5", "-1.5"},
    {0.1, "0.1", "0.1"},
    {0.1 + 0.2, "0.30000000000000004", "0.30000000000000004"},
    {1.0 / 3, "0.3333333333333333", "0.3333333333333333"},
    {100, "100", "100"},
    {123.456, "123.456", "123.456"},
    {999999, "999999", "999999"},
    {1e6, "1000000", "1e+06"},
    {1234567, "1234567", "1.234567e+06"},
    {0.0001, "0.0001", "0.0001"},
    {0.00001, "0.00001", "1e-05"},
    {0.000001, "0.000001", "1e-06"},
    {0.0000001, "1e-7", "1e-07"},
    {1e20, "100000000000000000000", "1e+20"},
    {1e21, "1e+21", "1e+21"},
    {9007199254740992, "9007199254740992", "9.007199254740992e+15"},
    {9007199254740994, "9007199254740994", "9.007199254740994e+15"},
    {9.5, "9.5", "9.5"},
    {0x1p-44, "5.6843418860808015e-14", "5.6843418860808015e-14"}, /* rounded to 16 digits it is another value */
    {5e-324, "5e-324", "5e-324"},
    {0x1p-1022, "2.2250738585072014e-308", "2.2250738585072014e-308"},
    {0x0.fffffffffffffp-1022, "2.225073858507201e-308", "2.225073858507201e-308"},
    {0x1.fffffffffffffp+1023, "1.7976931348623157e+308", "1.7976931348623157e+308"},
    {-0x1.fffffffffffffp+1023, "-1.7976931348623157e+308", "-1.7976931348623157e+308"},
    {INFINITY, "inf", "inf"},
    {-INFINITY, "-inf", "-inf"},
};

static void known(void)
{
    char out[DOUBLE_TEXT_MAX];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].json);
        CHECK_STR(double_format(cases[i].value, DOUBLE_JSON, out), cases[i].json);
        CHECK_STR(double_format(cases[i].value, DOUBLE_SHORT, out), cases[i].text);
    }
    test_case("not a number");
    CHECK(slice_has(double_format(NAN, DOUBLE_JSON, out), "nan"));
    test_case("floats");
    CHECK_STR(double_format(0.1F, DOUBLE_FLOAT, out), "0.1");
    CHECK_STR(double_format(16777216.0F, DOUBLE_FLOAT, out), "1.6777216e+07");
    CHECK_STR(double_format(0x1.fffffep+127F, DOUBLE_FLOAT, out), "3.4028235e+38");
    CHECK_STR(double_format(0x1p-149F, DOUBLE_FLOAT, out), "1e-45");
}

/* printf's digits, of the first precision from which the same value is read. */
static const char *reference(double value, char out[64])
{
    for (int precision = 0; precision <= 16; precision++) {
        snprintf(out, 64, "%.*e", precision, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return out;
}

/* Digits and exponent as "%.*e" writes them. */
static bool same(const char *got, const char *want)
{
    char digits[2][64] = {"", ""};
    const char *texts[] = {got, want};
    for (int i = 0; i < 2; i++)
        for (const char *c = texts[i]; *c && *c != 'e'; c++)
            if (*c != '.')
                strncat(digits[i], c, 1);
    return strcmp(digits[0], digits[1]) == 0 && strtod(got, NULL) == strtod(want, NULL);
}

/* Random bit patterns, decimals of few digits, and powers of two and ten with their neighbours. */
static double sample(struct rng *r, int i)
{
    enum { FRACTION = 52, POWERS_OF_TWO = 2046 };
    uint64_t bits = rng_next(r);
    double value;
    char power[16];
    if (i % 4 == 1)
        return (double)rng_below(r, 1000000) / 10000;
    if (i % 4 == 2)
        bits = (rng_below(r, POWERS_OF_TWO) << FRACTION) - 1 + rng_below(r, 3);
    if (i % 4 == 3) {
        snprintf(power, sizeof power, "1e%d", (int)rng_below(r, 632) - 323);
        value = strtod(power, NULL);
        memcpy(&bits, &value, sizeof bits);
        bits += rng_below(r, 3) - 1;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void beside_printf(void)
{
    struct rng r;
    rng_seed(&r, 17);
    char got[DOUBLE_TEXT_MAX], want[64];
    int wrong = 0, tried = 0;
    for (int i = 0; i < 20000; i++) {
        double value = sample(&r, i);
        if (!isfinite(value) || value == 0)
            continue;
        tried++;
        double_format(value, DOUBLE_SHORT, got);
        double exact = strtod(got, NULL);
        bool exponent = strchr(got, 'e') != NULL;
        wrong += exact != value || (exponent && !same(got, reference(value, want)));
        if (wrong == 1)
            test_case("%s, not %s", got, want);
    }
    CHECK(tried > 15000);
    CHECK_INT(wrong, 0);
}

int main(void)
{
    known();
    beside_printf();
    return test_done();
}
