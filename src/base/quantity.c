#include <mobula/base.h>

#include <stdio.h>

/* The value while it is read: digits * 10^exp10 * 2^exp2. */
struct number {
    uint64_t digits;
    int exp10;
    int exp2;
};

static const struct suffix {
    const char name[3];
    int exp10;
    int exp2;
} suffixes[] = {
    {"n", -9, 0}, {"u", -6, 0}, {"m", -3, 0},  {"", 0, 0},    {"k", 3, 0},   {"M", 6, 0},   {"G", 9, 0},   {"T", 12, 0},
    {"P", 15, 0}, {"E", 18, 0}, {"Ki", 0, 10}, {"Mi", 0, 20}, {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes a sign off the front of *s, and says whether it was a minus. */
static bool take_sign(struct slice *s)
{
    if (slice_empty(*s) || (s->ptr[0] != '-' && s->ptr[0] != '+'))
        return false;
    bool minus = s->ptr[0] == '-';
    *s = slice_skip(*s, 1);
    return minus;
}

/* Reads "12.50" off the front of *s. Zeros that carry no value are not counted as digits. */
static bool read_digits(struct slice *s, struct number *n, struct slice whole, struct err *e)
{
    bool seen = false, point = false;
    int significant = 0;
    for (; !slice_empty(*s); *s = slice_skip(*s, 1)) {
        char c = s->ptr[0];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(c))
            break;
        seen = true;
        significant += n->digits != 0 || c != '0';
        if (significant > QUANTITY_DIGITS_MAX)
            return err_set(e, ERR_LIMIT, "quantity \"%.*s\" has more than %d digits", SLICE_ARG(whole), QUANTITY_DIGITS_MAX);
        n->digits = n->digits * 10 + (uint64_t)(c - '0');
        n->exp10 -= point;
    }
    return seen || err_set(e, ERR_SYNTAX, "quantity \"%.*s\" has no digits", SLICE_ARG(whole));
}

/* Reads "e3" or "E-3". A lone E is the suffix exa, which the caller has tried before. */
static bool read_exponent(struct slice s, struct number *n)
{
    if (s.len < 2 || (s.ptr[0] != 'e' && s.ptr[0] != 'E'))
        return false;
    s = slice_skip(s, 1);
    bool negative = take_sign(&s);
    if (slice_empty(s) || s.len > 2) /* two digits reach far past both ends of the range */
        return false;
    int exponent = 0;
    for (; !slice_empty(s); s = slice_skip(s, 1)) {
        if (!is_digit(s.ptr[0]))
            return false;
        exponent = exponent * 10 + (s.ptr[0] - '0');
    }
    n->exp10 += negative ? -exponent : exponent;
    return true;
}

static bool read_suffix(struct slice s, struct number *n)
{
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        if (slice_eq(s, slice_of(suffixes[i].name))) {
            n->exp10 += suffixes[i].exp10;
            n->exp2 = suffixes[i].exp2;
            return true;
        }
    }
    return read_exponent(s, n);
}

/* Divides by ten and returns the remainder, 32 bits at a time: whole divisions of 128 bits take 1.6 KB of libgcc's code on arm64. */
static unsigned divide_by_ten(unsigned __int128 *v)
{
    unsigned __int128 quotient = 0;
    uint64_t rest = 0;
    for (int shift = 96; shift >= 0; shift -= 32) {
        rest = rest << 32 | (uint32_t)(*v >> shift);
        quotient |= (unsigned __int128)(rest / 10) << shift;
        rest %= 10;
    }
    *v = quotient;
    return (unsigned)rest;
}

/* digits * 10^exp10 * 2^exp2, rounded up; false when it does not fit. */
static bool number_to_int64(struct number n, int64_t *out)
{
    /* Halving while dividing by ten would round twice, so the power of two goes first: 10^18 * 2^60 fits 128 bits. */
    unsigned __int128 v = (unsigned __int128)n.digits << n.exp2;
    for (; n.exp10 > 0 && v != 0; n.exp10--) {
        if (v > INT64_MAX)
            return false;
        v *= 10;
    }
    bool inexact = false;
    for (; n.exp10 < 0 && v != 0; n.exp10++)
        inexact |= divide_by_ten(&v) != 0;
    v += inexact;
    if (v > INT64_MAX)
        return false;
    *out = (int64_t)v;
    return true;
}

bool quantity_parse(struct slice text, int decimals, int64_t *out, struct err *e)
{
    struct number n = {.exp10 = decimals};
    struct slice rest = text;
    bool negative = take_sign(&rest);
    if (!read_digits(&rest, &n, text, e))
        return false;
    if (!read_suffix(rest, &n))
        return err_set(e, ERR_SYNTAX,
                       "quantity \"%.*s\" ends in \"%.*s\": want one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent",
                       SLICE_ARG(text), SLICE_ARG(rest));
    if (negative && n.digits != 0)
        return err_set(e, ERR_RANGE, "quantity \"%.*s\" is negative", SLICE_ARG(text));
    if (!number_to_int64(n, out))
        return err_set(e, ERR_RANGE, "quantity \"%.*s\" is too large", SLICE_ARG(text));
    return true;
}

enum quantity_form quantity_form(struct slice text)
{
    char last = slice_empty(text) ? 0 : text.ptr[text.len - 1];
    if (last == 'i')
        return QUANTITY_BINARY;
    return is_digit(last) && (slice_find(text, 'e') >= 0 || slice_find(text, 'E') >= 0) ? QUANTITY_EXPONENT : QUANTITY_DECIMAL;
}

/* The name of the suffix that stands for 10^exp10 * 2^exp2. */
static const char *suffix_name(int exp10, int exp2)
{
    for (size_t i = 0; i < COUNT_OF(suffixes); i++)
        if (suffixes[i].exp10 == exp10 && suffixes[i].exp2 == exp2)
            return suffixes[i].name;
    fatal("no quantity suffix for 10^%d * 2^%d", exp10, exp2);
}

struct slice quantity_format(int64_t value, int decimals, enum quantity_form form, char out[QUANTITY_TEXT_MAX])
{
    if (decimals < 0 || decimals > 9)
        fatal("quantity_format: %d decimals", decimals);
    uint64_t v = value < 0 ? -(uint64_t)value : (uint64_t)value;
    int exp10 = -decimals, exp2 = 0;
    while (exp10 < 0 && v % 10 == 0) { /* whole units, where there are */
        v /= 10;
        exp10++;
    }
    if (form == QUANTITY_BINARY && exp10 == 0 &&
        v >= 1024) { /* smaller ones, and those with a fraction, are written in decimal by the API server too */
        for (; v % 1024 == 0 && exp2 < 60; exp2 += 10)
            v /= 1024;
    } else {
        for (; exp10 % 3 != 0; exp10--) /* suffixes are three digits apart */
            v *= 10;
        for (; v != 0 && v % 1000 == 0 && exp10 < 18; exp10 += 3)
            v /= 1000;
        exp10 = v == 0 ? 0 : exp10;
    }
    int n = snprintf(out, QUANTITY_TEXT_MAX, "%s%llu", value < 0 ? "-" : "", (unsigned long long)v);
    if (form != QUANTITY_EXPONENT)
        n += snprintf(out + n, QUANTITY_TEXT_MAX - (size_t)n, "%s", suffix_name(exp10, exp2));
    else if (exp10 != 0)
        n += snprintf(out + n, QUANTITY_TEXT_MAX - (size_t)n, "e%d", exp10);
    return (struct slice){out, (size_t)n};
}
