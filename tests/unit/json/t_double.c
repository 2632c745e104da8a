#include "../test.h"

#include <mobula/json.h>

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
        CHECK_STR(json_double_text(cases[i].value, DOUBLE_JSON, out), cases[i].json);
        CHECK_STR(json_double_text(cases[i].value, DOUBLE_SHORT, out), cases[i].text);
    }
    test_case("not a number");
    CHECK(slice_has(json_double_text(NAN, DOUBLE_JSON, out), "nan"));
    test_case("floats");
    CHECK_STR(json_double_text(0.1F, DOUBLE_FLOAT, out), "0.1");
    CHECK_STR(json_double_text(16777216.0F, DOUBLE_FLOAT, out), "1.6777216e+07");
    CHECK_STR(json_double_text(0x1.fffffep+127F, DOUBLE_FLOAT, out), "3.4028235e+38");
    CHECK_STR(json_double_text(0x1p-149F, DOUBLE_FLOAT, out), "1e-45");
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
        json_double_text(value, DOUBLE_SHORT, got);
        double exact = strtod(got, NULL);
        bool exponent = strchr(got, 'e') != NULL;
        wrong += exact != value || (exponent && !same(got, reference(value, want)));
        if (wrong == 1)
            test_case("%s, not %s", got, want);
    }
    CHECK(tried > 15000);
    CHECK_INT(wrong, 0);
}

/* ---- reading ---- */

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* strtod and strtof of the same text. */
static bool reads(const char *text)
{
    double got = json_double(slice_of(text), false), narrow = json_double(slice_of(text), true);
    return bits_of(got) == bits_of(strtod(text, NULL)) && bits_of(narrow) == bits_of((double)strtof(text, NULL));
}

static const char *const texts[] = {
    "0",
    "-0",
    "+0",
    "0e999999999999999999",
    "0.000",
    "1",
    "+1.5",
    "-1.5",
    ".5",
    "5.",
    "1e5",
    "1E+5",
    "1e-5",
    "0001.500e0003",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993.00000000000000000000000000000001",
    "9007199254740994",
    "9007199254740995",
    "9007199254740992.99999999999999999999999999999999999999",
    "1e23",
    "8.5e22",
    "123456789012345678901234567890",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.7976931348623159e308",
    "1e309",
    "-1e309",
    "1e400",
    "1e401",
    "1e999999999999",
    "4.9e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "2.48e-324",
    "1e-323",
    "1e-399",
    "1e-400",
    "1e-401",
    "-1e-999999999999",
    "2.2250738585072011e-308",
    "2.2250738585072014e-308",
    "2.225073858507201e-308",
    "3.4028235e38",
    "3.4028236e38",
    "3.40282356779733642e38",
    "3.40282356779733661e38",
    "16777217",
    "16777217.0000000001",
    "16777219",
    "7.006492321624085e-46",
    "7.0064923216240853e-46",
    "7.0064923216240854e-46",
    "1.401298464324817e-45",
    "0.1",
    "0.30000000000000004",
    /* halfway between 0 and the smallest number, and above it in its last digit */
    "2."
    "4703282292062327208828439643411068618252990130716238221279284125033775363510437593264991818081799618989828234772285886546332835517"
    "7969898199387398005390939063150356595155702263922908583924491051844359318028499365361525003193704576782492193656236698636584807570"
    "0158576926990370631192827955855133292783433840935197801553124659726357957462276646527282722005637400648549997709659947045402082816"
    "6226237857393450736339007967730577506750176324673600968951340535537458516661134223766678604162159680461914467291840300530057530849"
    "0487653917113865916462395249126236538818796362393732804238910186723484976682350898633885879256283027559956575244555072551893136908"
    "362547791869486679949683240497058210285131854513962138377228261454376934125320985913276672363281250e-324",
    "2."
    "4703282292062327208828439643411068618252990130716238221279284125033775363510437593264991818081799618989828234772285886546332835517"
    "7969898199387398005390939063150356595155702263922908583924491051844359318028499365361525003193704576782492193656236698636584807570"
    "0158576926990370631192827955855133292783433840935197801553124659726357957462276646527282722005637400648549997709659947045402082816"
    "6226237857393450736339007967730577506750176324673600968951340535537458516661134223766678604162159680461914467291840300530057530849"
    "0487653917113865916462395249126236538818796362393732804238910186723484976682350898633885879256283027559956575244555072551893136908"
    "362547791869486679949683240497058210285131854513962138377228261454376934125320985913276672363281251e-324",
};

static void read_known(void)
{
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        test_case("%.60s", texts[i]);
        CHECK(reads(texts[i]));
    }
}

/* Texts of random length near a number, the exact texts of numbers halfway between two, and those with one digit more. */
static void read_beside_strtod(void)
{
    enum { LENGTH = 1400, HALF_OF_FLOAT = 1 << 28 };
    struct rng r;
    rng_seed(&r, 23);
    char text[LENGTH];
    int wrong = 0, tried = 0;
    for (int i = 0; i < 30000; i++) {
        double value = sample(&r, i), next;
        uint64_t bits = bits_of(value) + 1;
        memcpy(&next, &bits, sizeof next);
        if (!isfinite(value) || !isfinite(next))
            continue;
        snprintf(text, sizeof text, "%.*e", (int)rng_below(&r, 40), value);
        tried++;
        wrong += !reads(text);
        if (fabs(value) < 1e-290 || fabs(value) > 1e290)
            continue;
        /* Halfway between two floats; the same with a last digit that is not 0. */
        double near = (double)(float)value, half;
        bits = bits_of(near) + HALF_OF_FLOAT;
        memcpy(&half, &bits, sizeof half);
        if (isfinite(half) && half != 0) {
            int len = snprintf(text, sizeof text, "%.1000f", half);
            wrong += !reads(text);
            text[len - 1] = '1';
            wrong += !reads(text);
        }
        if (wrong == 1)
            test_case("%s", text);
    }
    CHECK(tried > 25000);
    CHECK_INT(wrong, 0);
}

int main(void)
{
    known();
    beside_printf();
    read_known();
    read_beside_strtod();
    return test_done();
}
