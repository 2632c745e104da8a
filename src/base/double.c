#include <mobula/base.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FRACTION = 52, /* bits */
    BIAS = 1075,   /* of the exponent, for mantissas that are integers */
    WORD = 1000000000,
    WORD_DIGITS = 9,
    WORDS = 86, /* no double has more than 767 digits */
    FIVES = 12, /* 5^12 is less than WORD, and so is every carry */
    SHORTEST_MAX = 17,
};

/* Writes all digits of |value|, which is finite and not 0. Returns the power of ten of the first one. */
static int expand(double value, char *digits, size_t size)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int field = (int)(bits >> FRACTION & 0x7ff), two = (field ? field : 1) - BIAS;
    uint64_t mantissa = (bits & ((UINT64_C(1) << FRACTION) - 1)) | (uint64_t)(field != 0) << FRACTION;
    /* |value| = mantissa * 2^two = mantissa * 5^-two * 10^two */
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
    size_t len = 0;
    for (int i = count; i-- > 0;)
        if (len || words[i])
            len += (size_t)snprintf(digits + len, size - len, "%0*u", len ? WORD_DIGITS : 1, words[i]);
    return (int)len - 1 + (two < 0 ? two : 0);
}

/* Rounds |value| to as few digits as strtod (narrow: strtof) still reads as |value|. Returns as expand does. */
static int shorten(double value, bool narrow, char digits[SHORTEST_MAX + 8])
{
    char all[WORDS * WORD_DIGITS + SHORTEST_MAX] = "";
    int exponent = expand(value, all, sizeof all), n = 0;
    uint64_t head = 0;
    do {
        const char *rest = all + ++n;
        head = head * 10 + (rest[-1] ? (uint64_t)(rest[-1] - '0') : 0);
        bool half = *rest == '5' && !rest[1 + strspn(rest + 1, "0")], up = half ? head % 2 : *rest >= '5';
        snprintf(digits, SHORTEST_MAX + 8, "%llue%d", (unsigned long long)head + up, exponent - n + 1);
    } while (n < SHORTEST_MAX && (narrow ? strtof(digits, NULL) != fabsf((float)value) : strtod(digits, NULL) != fabs(value)));
    size_t len = strcspn(digits, "e");
    exponent += (int)len - n; /* 9.9 rounded up is 10 */
    while (len > 1 && digits[len - 1] == '0')
        len--;
    digits[len] = '\0';
    return exponent;
}

struct slice double_format(double value, enum double_form form, char out[DOUBLE_TEXT_MAX])
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
