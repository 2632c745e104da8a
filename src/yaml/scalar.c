#include "scalar.h"

#include <mobula/json.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* YAML 1.1 lets underscores stand among digits. */
static size_t skip_digits(struct slice *s)
{
    size_t digits = 0;
    for (; !slice_empty(*s) && (is_digit(s->ptr[0]) || s->ptr[0] == '_'); *s = slice_skip(*s, 1))
        digits += is_digit(s->ptr[0]);
    return digits;
}

static bool skip_one_of(struct slice *s, const char *set)
{
    if (slice_empty(*s) || !s->ptr[0] || !strchr(set, s->ptr[0]))
        return false;
    *s = slice_skip(*s, 1);
    return true;
}

/* 0x1F, 0b1, 0o17; not 0xyz */
static bool is_based(struct slice s)
{
    if (s.len < 3 || s.ptr[0] != '0' || !strchr("xXoObB", s.ptr[1]))
        return false;
    for (s = slice_skip(s, 2); !slice_empty(s); s = slice_skip(s, 1))
        if (!is_digit(s.ptr[0]) && !strchr("abcdefABCDEF_", s.ptr[0]))
            return false;
    return true;
}

/* Behind the first digits: 12:30, 12:30:45.5 */
static bool is_sexagesimal(struct slice s)
{
    if (slice_empty(s) || s.ptr[0] != ':')
        return false;
    while (skip_one_of(&s, ":")) {
        bool tens = skip_one_of(&s, "012345");
        if (!skip_one_of(&s, "0123456789") && !tens)
            return false;
    }
    if (skip_one_of(&s, "."))
        skip_digits(&s);
    return slice_empty(s);
}

/* Whatever YAML 1.1 or 1.2 calls a number. */
static bool is_number_like(struct slice s)
{
    skip_one_of(&s, "+-");
    if (slice_eq_nocase(s, SLICE(".inf")) || slice_eq_nocase(s, SLICE(".nan")) || is_based(s))
        return true;
    if (slice_empty(s) || s.ptr[0] == '_')
        return false;
    size_t digits = skip_digits(&s);
    if (digits > 0 && is_sexagesimal(s))
        return true;
    if (skip_one_of(&s, "."))
        digits += skip_digits(&s);
    if (digits > 0 && skip_one_of(&s, "eE")) {
        skip_one_of(&s, "+-");
        digits = skip_digits(&s);
    }
    return digits > 0 && slice_empty(s);
}

static bool is_json_number(struct slice s)
{
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    struct json doc;
    return (s.ptr[0] == '-' || is_digit(s.ptr[0])) && json_parse(&doc, s, &mem, NULL) && json_type(json_root(&doc)) == JSON_NUMBER;
}

static bool is_file_mode(struct slice s)
{
    bool octal = s.len == 4 && s.ptr[0] == '0';
    for (size_t i = 1; octal && i < s.len; i++)
        octal = s.ptr[i] >= '0' && s.ptr[i] <= '7';
    return octal;
}

enum plain plain_kind(struct slice s)
{
    static const char *const guesses[] = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"};
    if (slice_empty(s) || slice_eq(s, SLICE("~")) || slice_eq(s, SLICE("null")))
        return PLAIN_NULL;
    if (slice_eq(s, SLICE("true")))
        return PLAIN_TRUE;
    if (slice_eq(s, SLICE("false")))
        return PLAIN_FALSE;
    for (size_t i = 0; i < COUNT_OF(guesses); i++)
        if (slice_eq_nocase(s, slice_of(guesses[i])))
            return PLAIN_BOOL_GUESS;
    if (is_file_mode(s))
        return PLAIN_FILE_MODE;
    if (!is_number_like(s))
        return PLAIN_STRING;
    return is_json_number(s) ? PLAIN_NUMBER : PLAIN_NUMBER_GUESS;
}
