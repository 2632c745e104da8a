#include "token.h"

struct scan {
    const char *start, *p, *end;
    struct err *e;
};

static bool bad(struct scan *s, const char *what)
{
    return err_set(s->e, ERR_SYNTAX, "byte %zu: %s", (size_t)(s->p - s->start), what);
}

/* Four hexadecimal digits at p, or -1. */
static int32_t hex4(const char *p, const char *end)
{
    int32_t value = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i], lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + (lower - 'a' + 10);
        else
            return -1;
    }
    return value;
}

/* s->p is at a backslash. */
static bool scan_escape(struct scan *s)
{
    if (s->end - s->p < 2)
        return bad(s, "the text ends inside a string");
    char c = s->p[1];
    if (c != 'u') {
        if (!c || !strchr("\"\\/bfnrt", c))
            return bad(s, "unknown escape in a string");
        s->p += 2;
        return true;
    }
    int32_t unit = hex4(s->p + 2, s->end);
    if (unit < 0)
        return bad(s, "\\u without four hexadecimal digits");
    bool high = unit >= 0xd800 && unit <= 0xdbff;
    if (high) {
        bool second = s->end - s->p >= 12 && s->p[6] == '\\' && s->p[7] == 'u';
        int32_t low = second ? hex4(s->p + 8, s->end) : -1;
        high = low >= 0xdc00 && low <= 0xdfff;
    }
    if (unit >= 0xd800 && unit <= 0xdfff && !high)
        return bad(s, "half a surrogate pair");
    s->p += high ? 12 : 6;
    return true;
}

/* s->p is at the opening quote; behind the closing one afterwards. */
static bool scan_string(struct scan *s)
{
    for (s->p++;;) {
        s->p = json_plain_end(s->p, s->end);
        if (s->p == s->end)
            return bad(s, "the text ends inside a string");
        if (*s->p == '"') {
            s->p++;
            return true;
        }
        if (*s->p != '\\')
            return bad(s, "control byte in a string");
        if (!scan_escape(s))
            return false;
    }
}

static bool scan_utf8(struct scan *s)
{
    struct slice rest = {s->p, (size_t)(s->end - s->p)};
    if (utf8_valid(rest))
        return true;
    for (size_t step; (step = utf8_step(rest)) != 0;)
        rest = slice_skip(rest, step);
    s->p = rest.ptr;
    return bad(s, "not UTF-8");
}

/* Bytes of numbers and literals; which of them make sense is seen later. */
static bool is_scalar(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'E';
}

static void skip_scalar(struct scan *s)
{
    while (s->p < s->end && is_scalar(*s->p))
        s->p++;
}

bool json_scan(struct slice text, uint32_t *tokens, struct err *e)
{
    struct scan s = {text.ptr, text.ptr, text.ptr + text.len, e};
    unsigned depth = 0;
    if (!scan_utf8(&s))
        return false;
    for (*tokens = 0; s.p < s.end;) {
        char c = *s.p;
        if (c == ',' || c == ':' || json_is_space(c)) {
            s.p++;
            continue;
        }
        if (c == '}' || c == ']') {
            if (depth-- == 0)
                return bad(&s, "a bracket that nothing opened");
            s.p++;
            continue;
        }
        if (++*tokens > LIMIT_JSON_TOKENS)
            return err_set(e, ERR_LIMIT, "more than %d values and keys in one document (LIMIT_JSON_TOKENS)", LIMIT_JSON_TOKENS);
        if (c == '"') {
            if (!scan_string(&s))
                return false;
        } else if (c == '{' || c == '[') {
            if (++depth > LIMIT_JSON_DEPTH)
                return err_set(e, ERR_LIMIT, "byte %zu: nested deeper than %d (LIMIT_JSON_DEPTH)", (size_t)(s.p - s.start),
                               LIMIT_JSON_DEPTH);
            s.p++;
        } else if (is_scalar(c)) {
            skip_scalar(&s);
        } else {
            return bad(&s, "a byte that begins no value");
        }
    }
    return true;
}

bool json_result(const struct buf *text, struct arena *a, struct slice *out, struct err *e)
{
    uint32_t tokens;
    if (text->full)
        return err_set(e, ERR_LIMIT, "the result has more than %zu bytes (LIMIT_JSON_ITEM)", text->max);
    if (!json_scan(buf_slice(text), &tokens, e))
        return err_wrap(e, "the result");
    *out = arena_dup(a, buf_slice(text));
    return true;
}
