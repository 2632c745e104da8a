#include "token.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_digit(struct slice s)
{
    return s.len && s.ptr[0] >= '0' && s.ptr[0] <= '9';
}

static bool is_one_of(struct slice s, const char *set)
{
    return s.len && s.ptr[0] && strchr(set, s.ptr[0]);
}

static bool skip_digits(struct slice *s)
{
    if (!is_digit(*s))
        return false;
    while (is_digit(*s))
        *s = slice_skip(*s, 1);
    return true;
}

bool json_number_valid(struct slice s)
{
    if (is_one_of(s, "-"))
        s = slice_skip(s, 1);
    bool zero = is_one_of(s, "0");
    struct slice whole = s;
    if (!skip_digits(&s) || (zero && whole.len - s.len > 1))
        return false;
    if (is_one_of(s, ".")) {
        s = slice_skip(s, 1);
        if (!skip_digits(&s))
            return false;
    }
    if (is_one_of(s, "eE")) {
        s = slice_skip(s, 1);
        if (is_one_of(s, "+-"))
            s = slice_skip(s, 1);
        if (!skip_digits(&s))
            return false;
    }
    return slice_empty(s);
}

/* "+12", "-3": cut short where no two numbers of a document could differ any more. */
static int64_t read_exponent(struct slice s)
{
    const int64_t enough = 1000000000000;
    bool negative = is_one_of(s, "-");
    if (is_one_of(s, "+-"))
        s = slice_skip(s, 1);
    int64_t value = 0;
    for (; !slice_empty(s) && value < enough; s = slice_skip(s, 1))
        value = value * 10 + (s.ptr[0] - '0');
    return negative ? -value : value;
}

struct json_decimal json_decimal(struct slice number)
{
    struct json_decimal d = {.negative = is_one_of(number, "-")};
    size_t zeros = 0; /* since the last digit that counts */
    bool point = false;
    for (size_t i = d.negative; i < number.len; i++) {
        char c = number.ptr[i];
        if (c == 'e' || c == 'E') {
            d.exp10 += read_exponent(slice_skip(number, i + 1));
            break;
        }
        if (c == '.') {
            point = true;
            continue;
        }
        d.exp10 -= point;
        zeros += c == '0';
        if (c == '0')
            continue;
        d.count = d.count ? d.count + zeros + 1 : 1;
        d.digits.ptr = d.digits.ptr ? d.digits.ptr : number.ptr + i;
        d.digits.len = (size_t)(number.ptr + i + 1 - d.digits.ptr);
        zeros = 0;
    }
    if (d.count == 0)
        return (struct json_decimal){0};
    d.exp10 += (int64_t)zeros;
    return d;
}

char json_next_digit(struct slice *s)
{
    if (s->ptr[0] == '.')
        *s = slice_skip(*s, 1);
    char c = s->ptr[0];
    *s = slice_skip(*s, 1);
    return c;
}

bool json_decimal_eq(struct json_decimal a, struct json_decimal b)
{
    if (a.count != b.count || a.exp10 != b.exp10 || a.negative != b.negative)
        return false;
    for (size_t i = 0; i < a.count; i++)
        if (json_next_digit(&a.digits) != json_next_digit(&b.digits))
            return false;
    return true;
}

struct slice json_decimal_text(struct json_decimal d, struct arena *a)
{
    if (d.count == 0)
        return SLICE("0");
    enum { USUAL = 20 }; /* digits */
    char *text = arena_alloc(a, d.count + sizeof "-e-9223372036854775808");
    size_t len = 0;
    if (d.negative)
        text[len++] = '-';
    for (size_t i = 0; i < d.count; i++)
        text[len++] = json_next_digit(&d.digits);
    if (d.exp10 >= 0 && d.exp10 + (int64_t)d.count <= USUAL)
        for (; d.exp10 > 0; d.exp10--)
            text[len++] = '0';
    else
        len += (size_t)snprintf(text + len, sizeof "e-9223372036854775808", "e%lld", (long long)d.exp10);
    return (struct slice){text, len};
}

bool json_int(struct jval v, int64_t *out)
{
    if (json_type(v) != JSON_NUMBER)
        return false;
    struct json_decimal d = json_decimal(json_raw(v));
    if (d.exp10 < 0)
        return false;
    int64_t value = 0; /* kept negative: INT64_MIN has no positive twin */
    for (size_t i = 0; i < d.count; i++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, json_next_digit(&d.digits) - '0', &value))
            return false;
    for (; d.exp10 > 0; d.exp10--)
        if (__builtin_mul_overflow(value, 10, &value))
            return false;
    if (!d.negative && value == INT64_MIN)
        return false;
    *out = d.negative ? value : -value;
    return true;
}

bool json_num(struct jval v, double *out)
{
    if (json_type(v) != JSON_NUMBER)
        return false;
    double value = json_double(json_raw(v), false);
    if (isinf(value))
        return false;
    *out = value;
    return true;
}
