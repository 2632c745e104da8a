#include "token.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FRACTION = 52, /* bits of a double */
    BIAS = 1075,   /* of its exponent, for mantissas that are integers */
    WORD = 1000000000,
    WORD_DIGITS = 9,
    WORDS = 86, /* no double, and nothing halfway between two, has more than 768 digits */
    DIGITS_MAX = WORDS * WORD_DIGITS,
    FIVES = 12, /* 5^12 is less than WORD, and so is every carry */
    SHORTEST_MAX = 17,
};

/* Writes all digits of mantissa * 2^two, which is not 0. Returns the power of ten of the first one. */
static int expand(uint64_t mantissa, int two, char digits[DIGITS_MAX + 1])
{
    /* It is mantissa * 5^-two * 10^two. */
    uint32_t words[WORDS + 1] = {(uint32_t)(mantissa % WORD), (uint32_t)(mantissa / WORD)};
    int count = 2;
    for (int left = abs(two), step; left > 0; left -= step) {
        uint64_t factor = 1, carry = 0;
        for (step = 0; step < FIVES && step < left; step++)
            factor *= two < 0 ? 5 : 2;
        for (int i = 0; i < count; i++) {
            carry += words[i] * factor;
            words[i] = (uint32_t)(carry % WORD);
            carry /= WORD;
        }
        if (carry)
            words[count++] = (uint32_t)carry;
    }
    int len = 0;
    for (int i = count; i-- > 0;)
        if (len || words[i])
            len += snprintf(digits + len, (size_t)(DIGITS_MAX + 1 - len), "%0*u", len ? WORD_DIGITS : 1, words[i]);
    return len - 1 + (two < 0 ? two : 0);
}

/* ---- reading ---- */

/* Compares |d| with mantissa * 2^two. */
static int compare(struct json_decimal d, uint64_t mantissa, int two)
{
    char digits[DIGITS_MAX + 1];
    int64_t exponent = expand(mantissa, two, digits), own = d.exp10 + (int64_t)d.count - 1;
    if (own != exponent)
        return own < exponent ? -1 : 1;
    for (const char *at = digits; *at || d.count; at += *at != '\0') {
        char a = '0', b = *at ? *at : '0';
        if (d.count) {
            d.count--;
            a = json_next_digit(&d.digits);
        }
        if (a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

/* A number that is mantissa * 2^two and somewhat more: each product may lack 3 in 2^64. */
struct product {
    uint64_t mantissa; /* its highest bit is set, unless it is 0 */
    int two;
};

static void multiply(struct product *p, uint64_t factor, int two)
{
    int shift = __builtin_clzll(factor);
    unsigned __int128 all = (unsigned __int128)p->mantissa * (factor << shift);
    bool high = all >> 127;
    p->mantissa = (uint64_t)(all >> (high ? 64 : 63));
    p->two += two + (high ? 64 : 63) - shift;
}

/* |d| with an error of less than 100 in 2^64. Its exponent is not larger than some hundreds. */
static struct product approximate(struct json_decimal d)
{
    /* 10^19 and the nearest that 64 bits have to 10^-19. */
    enum { TENS = 19, SMALL_TWO = -127 };
    static const uint64_t large = UINT64_C(10000000000000000000), small = UINT64_C(0xec1e4a7db69561a5);
    struct product p = {.mantissa = UINT64_C(1) << 63, .two = -63};
    uint64_t head = 0, rest = 1;
    size_t kept = d.count < TENS ? d.count : TENS;
    int tens = (int)d.exp10 + (int)(d.count - kept);
    for (size_t i = 0; i < kept; i++)
        head = head * 10 + (uint64_t)(json_next_digit(&d.digits) - '0');
    multiply(&p, head, 0);
    for (; tens < 0; tens += TENS)
        multiply(&p, small, SMALL_TWO);
    for (; tens >= TENS; tens -= TENS)
        multiply(&p, large, 0);
    for (; tens > 0; tens--)
        rest *= 10;
    multiply(&p, rest, 0);
    return p;
}

double json_double(struct slice number, bool narrow)
{
    enum { ERROR = 128, EXPONENT_MAX = 400, LEAST = -1074, LEAST_NARROW = -149 };
    if (slice_starts(number, SLICE("+")))
        number = slice_skip(number, 1);
    struct json_decimal d = json_decimal(number);
    int64_t exponent = d.exp10 + (int64_t)d.count;
    double value = 0;
    if (d.count && exponent > EXPONENT_MAX)
        value = INFINITY;
    else if (d.count && exponent > -EXPONENT_MAX) {
        struct product p = approximate(d);
        int bits = narrow ? 64 - FLT_MANT_DIG : 64 - DBL_MANT_DIG, least = narrow ? LEAST_NARROW : LEAST;
        if (p.two + bits < least)
            bits = least - p.two;
        for (; bits > 64; bits--, p.two++)
            p.mantissa /= 2;
        /* Round to the nearest, and halfway between two to the even one. */
        uint64_t half = UINT64_C(1) << (bits - 1), kept = p.mantissa / half / 2, low = p.mantissa - kept * half * 2;
        int order = low > half ? 1 : -1;
        if (low - half + ERROR <= 2 * ERROR)
            order = compare(d, kept * 2 + 1, p.two + bits - 1);
        kept += order > 0 || (order == 0 && kept % 2);
        value = scalbn((double)kept, p.two + bits);
    }
    if (narrow && value > (double)FLT_MAX)
        value = INFINITY;
    return number.len && number.ptr[0] == '-' ? -value : value;
}

/* ---- writing ---- */

/* Rounds |value|, which is finite and not 0, to the smallest number of digits at which it is read back (json.h). Returns the power of ten
 * of the first one. */
static int shorten(double value, bool narrow, char out[SHORTEST_MAX + 8])
{
    char all[DIGITS_MAX + SHORTEST_MAX + 1] = "";
    uint64_t bits, head = 0;
    memcpy(&bits, &value, sizeof bits);
    int field = (int)(bits >> FRACTION & 0x7ff), n = 0;
    uint64_t mantissa = (bits & ((UINT64_C(1) << FRACTION) - 1)) | (uint64_t)(field != 0) << FRACTION;
    int exponent = expand(mantissa, (field ? field : 1) - BIAS, all);
    size_t len;
    do {
        const char *rest = all + ++n;
        head = head * 10 + (rest[-1] ? (uint64_t)(rest[-1] - '0') : 0);
        bool half = *rest == '5' && !rest[1 + strspn(rest + 1, "0")], up = half ? head % 2 : *rest >= '5';
        len = (size_t)snprintf(out, SHORTEST_MAX + 8, "%llue%d", (unsigned long long)head + up, exponent - n + 1);
    } while (n < SHORTEST_MAX && json_double((struct slice){out, len}, narrow) != fabs(value));
    len = strcspn(out, "e");
    exponent += (int)len - n; /* 9.9 rounded up is 10 */
    while (len > 1 && out[len - 1] == '0')
        len--;
    out[len] = '\0';
    return exponent;
}

struct slice json_double_text(double value, enum double_form form, char out[DOUBLE_TEXT_MAX])
{
    static const struct {
        bool narrow;
        int low, high; /* with an exponent below 10^low and from 10^high on */
        int width;     /* of the exponent, at least */
    } forms[] = {[DOUBLE_JSON] = {false, -6, 21, 1}, [DOUBLE_SHORT] = {false, -4, 6, 2}, [DOUBLE_FLOAT] = {true, -4, 6, 2}};
    char digits[SHORTEST_MAX + 8] = "0";
    const char *sign = signbit(value) ? "-" : "";
    int len, exponent = value != 0 && isfinite(value) ? shorten(value, forms[form].narrow, digits) : 0, count = (int)strlen(digits);
    if (!isfinite(value))
        len = snprintf(out, DOUBLE_TEXT_MAX, "%s%s", sign, isnan(value) ? "nan" : "inf");
    else if (exponent < forms[form].low || exponent >= forms[form].high)
        len = snprintf(out, DOUBLE_TEXT_MAX, "%s%c%s%se%c%0*d", sign, digits[0], digits[1] ? "." : "", digits + 1, exponent < 0 ? '-' : '+',
                       forms[form].width, abs(exponent));
    else if (exponent < 0)
        len = snprintf(out, DOUBLE_TEXT_MAX, "%s0.%.*d%s", sign, -exponent - 1, 0, digits);
    else if (count <= exponent + 1)
        len = snprintf(out, DOUBLE_TEXT_MAX, "%s%s%.*d", sign, digits, exponent + 1 - count, 0);
    else
        len = snprintf(out, DOUBLE_TEXT_MAX, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
    return (struct slice){out, (size_t)len};
}
