#include "token.h"

static uint32_t hex4(const char *p)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value * 16 + (uint32_t)(p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
    return value;
}

/* Decodes the escape at the front of *raw, into at most four bytes: never more than it is long. */
static size_t unescape_one(struct slice *raw, char *out)
{
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    char c = raw->ptr[1];
    if (c != 'u') {
        *raw = slice_skip(*raw, 2);
        *out = bytes[strchr(names, c) - names];
        return 1;
    }
    uint32_t point = hex4(raw->ptr + 2);
    bool pair = point >= 0xd800 && point <= 0xdbff;
    if (pair)
        point = 0x10000 + ((point - 0xd800) << 10) + (hex4(raw->ptr + 8) - 0xdc00);
    *raw = slice_skip(*raw, pair ? 12 : 6);
    return utf8_encode(point, out);
}

size_t json_unescape(struct slice raw, char *out)
{
    size_t len = 0;
    while (!slice_empty(raw)) {
        ptrdiff_t backslash = slice_find(raw, '\\');
        size_t plain = backslash < 0 ? raw.len : (size_t)backslash;
        memcpy(out + len, raw.ptr, plain);
        len += plain;
        raw = slice_skip(raw, plain);
        if (!slice_empty(raw))
            len += unescape_one(&raw, out + len);
    }
    return len;
}

static struct slice raw_text(const struct json *doc, const struct json_token *t)
{
    return (struct slice){doc->text.ptr + t->start, t->end - t->start};
}

struct slice json_token_text(const struct json *doc, const struct json_token *t, struct arena *a)
{
    struct slice raw = raw_text(doc, t);
    if (!t->escaped)
        return raw;
    char *out = arena_alloc(a, raw.len + 1);
    return (struct slice){out, json_unescape(raw, out)};
}

bool json_token_eq(const struct json *doc, const struct json_token *t, struct slice text)
{
    struct slice raw = raw_text(doc, t);
    if (!t->escaped)
        return slice_eq(raw, text);
    while (!slice_empty(raw)) {
        char decoded[4];
        size_t len = 1;
        if (raw.ptr[0] == '\\') {
            len = unescape_one(&raw, decoded);
        } else {
            decoded[0] = raw.ptr[0];
            raw = slice_skip(raw, 1);
        }
        if (text.len < len || memcmp(text.ptr, decoded, len) != 0)
            return false;
        text = slice_skip(text, len);
    }
    return slice_empty(text);
}
