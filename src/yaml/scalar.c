#include "scalar.h"

#include <mobula/json.h>

#include <math.h>
#include <stdlib.h>

/* ---- words ---- */

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* The three spellings that YAML 1.1 knows of a word: yes, Yes, YES. */
static bool spells(struct slice s, struct slice word)
{
    if (!slice_eq_nocase(s, word))
        return false;
    bool upper = s.len > 1 && is_upper(s.ptr[0]) && is_upper(s.ptr[1]);
    for (size_t i = 1; i < s.len; i++)
        if (is_upper(s.ptr[i]) != upper)
            return false;
    return true;
}

static bool is_word(struct slice s, struct scalar *out)
{
    static const struct {
        const char *word;
        enum scalar_type type;
        const char *json;
    } words[] = {
        {"true", SCALAR_BOOL, "true"}, {"yes", SCALAR_BOOL, "true"},  {"on", SCALAR_BOOL, "true"}, {"y", SCALAR_BOOL, "true"},
        {"no", SCALAR_BOOL, "false"},  {"off", SCALAR_BOOL, "false"}, {"n", SCALAR_BOOL, "false"}, {"false", SCALAR_BOOL, "false"},
        {"~", SCALAR_NULL, "null"},    {"null", SCALAR_NULL, "null"}, {"", SCALAR_NULL, "null"},
    };
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (spells(s, slice_of(words[i].word))) {
            *out = (struct scalar){words[i].type, slice_of(words[i].json)};
            return true;
        }
    return false;
}

static bool is_no_json(struct slice s, struct scalar *out)
{
    *out = (struct scalar){SCALAR_NO_JSON, SLICE(".nan")};
    if (slice_starts(s, SLICE(".")) && (spells(slice_skip(s, 1), SLICE("nan")) || slice_is(s, ".NaN")))
        return true;
    bool minus = slice_starts(s, SLICE("-"));
    if (minus || slice_starts(s, SLICE("+")))
        s = slice_skip(s, 1);
    out->text = minus ? SLICE("-.inf") : SLICE(".inf");
    return slice_starts(s, SLICE(".")) && spells(slice_skip(s, 1), SLICE("inf"));
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Of a digit in bases up to 16; 16 for what is none. */
static unsigned digit_value(char c)
{
    if (is_digit(c))
        return (unsigned)(c - '0');
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

/* 12, 0644, 0o644, 0x1f, 0b11. One without a sign may have 64 bits. */
static bool is_int(struct slice s, struct arena *a, struct scalar *out)
{
    bool minus = s.ptr[0] == '-', sign = minus || s.ptr[0] == '+';
    s = slice_skip(s, sign);
    unsigned base = 10;
    if (s.len > 1 && s.ptr[0] == '0') {
        char c = s.ptr[1] | 0x20;
        base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
        s = slice_skip(s, c == 'x' || c == 'b' || c == 'o' ? 2 : 1);
    }
    uint64_t value = 0, most = sign ? (uint64_t)INT64_MAX + minus : UINT64_MAX;
    for (size_t i = 0; i < s.len; i++) {
        unsigned digit = digit_value(s.ptr[i]);
        if (digit >= base || __builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value))
            return false;
    }
    if (slice_empty(s) || value > most)
        return false;
    *out = (struct scalar){SCALAR_INT, arena_printf(a, "%s%llu", minus && value ? "-" : "", (unsigned long long)value)};
    return true;
}

static size_t skip_digits(struct slice *s)
{
    size_t n = 0;
    while (n < s->len && is_digit(s->ptr[n]))
        n++;
    *s = slice_skip(*s, n);
    return n;
}

static bool skip_one_of(struct slice *s, const char *set)
{
    if (slice_empty(*s) || !s->ptr[0] || !strchr(set, s->ptr[0]))
        return false;
    *s = slice_skip(*s, 1);
    return true;
}

static bool looks_float(struct slice s)
{
    skip_one_of(&s, "+-");
    size_t whole = skip_digits(&s);
    size_t parts = skip_one_of(&s, ".") ? skip_digits(&s) : 0;
    if (whole + parts == 0)
        return false;
    if (skip_one_of(&s, "eE")) {
        skip_one_of(&s, "+-");
        if (skip_digits(&s) == 0)
            return false;
    }
    return slice_empty(s);
}

/* As Go writes it. */
static struct slice write_float(double value, enum double_form form, struct arena *a)
{
    char text[DOUBLE_TEXT_MAX];
    return arena_dup(a, json_double_text(value, form, text));
}

static bool is_float(struct slice s, struct arena *a, struct scalar *out)
{
    if (!looks_float(s))
        return false;
    double value = json_double(s, false);
    if (isinf(value))
        return false;
    *out = (struct scalar){SCALAR_FLOAT, write_float(value, DOUBLE_JSON, a)};
    return true;
}

static bool is_number(struct slice s, struct arena *a, struct scalar *out)
{
    if (slice_empty(s) || !(is_digit(s.ptr[0]) || strchr("+-.", s.ptr[0])))
        return false;
    char *plain = arena_alloc(a, s.len + 1);
    size_t len = 0;
    bool point = s.ptr[0] == '.'; /* behind which they stand only between digits */
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] != '_' || (point && !(is_digit(s.ptr[i - 1]) && i + 1 < s.len && is_digit(s.ptr[i + 1]))))
            plain[len++] = s.ptr[i];
    struct slice digits = {plain, len};
    return is_int(digits, a, out) || is_float(digits, a, out);
}

/* ---- scalars ---- */

struct scalar scalar_plain(struct slice s, struct arena *a)
{
    struct scalar out;
    if (is_word(s, &out) || is_no_json(s, &out) || is_number(s, a, &out))
        return out;
    return (struct scalar){SCALAR_STRING, s};
}

static bool take_base64(struct slice s, struct arena *a, struct scalar *out)
{
    struct buf bytes;
    buf_init(&bytes, s.len);
    bool ok = base64_decode(s, &bytes, NULL);
    *out = (struct scalar){SCALAR_STRING, arena_dup(a, buf_slice(&bytes))};
    buf_free(&bytes);
    return ok;
}

bool scalar_tagged(struct slice tag, struct slice s, struct arena *a, struct scalar *out)
{
    static const char *const names[] = {"null", "bool", "int", "float"};
    *out = (struct scalar){SCALAR_STRING, s};
    struct slice own = SLICE("tag:yaml.org,2002:");
    if (!slice_starts(tag, own))
        return true;
    tag = slice_skip(tag, own.len);
    if (slice_is(tag, "binary"))
        return take_base64(s, a, out);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (slice_is(tag, names[i])) {
            enum scalar_type want = (enum scalar_type)(SCALAR_NULL + i);
            *out = scalar_plain(s, a);
            return out->type == want || (want == SCALAR_FLOAT && (out->type == SCALAR_INT || out->type == SCALAR_NO_JSON));
        }
    return true;
}

bool scalar_key(struct scalar s, struct arena *a, struct slice *out)
{
    if (s.type == SCALAR_NULL)
        return false;
    if (s.type == SCALAR_FLOAT) {
        double value = json_double(s.text, true);
        s.text = isinf(value) ? (value < 0 ? SLICE("-.inf") : SLICE(".inf")) : write_float(value, DOUBLE_FLOAT, a);
    }
    *out = s.text;
    return true;
}
