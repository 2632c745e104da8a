#include <mobula/http.h>

#include "chars.h"

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool http_is_token(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_alnum(s.ptr[i]) && (s.ptr[i] == '\0' || !strchr("!#$%&'*+-.^_`|~", s.ptr[i])))
            return false;
    return s.len > 0;
}

bool http_is_value(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!http_is_value_byte(s.ptr[i]))
            return false;
    return true;
}

bool http_is_word(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] >= 0x7f)
            return false;
    return s.len > 0;
}

int http_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_unreserved(char c)
{
    return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

bool http_percent_encode(struct slice in, struct buf *out)
{
    for (size_t i = 0; i < in.len; i++) {
        if (is_unreserved(in.ptr[i]))
            buf_putc(out, in.ptr[i]);
        else
            buf_printf(out, "%%%02X", (unsigned char)in.ptr[i]);
    }
    return !out->full;
}

static bool decode(struct slice in, bool plus_is_space, struct arena *a, struct slice *out)
{
    char *text = arena_alloc(a, in.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < in.len; i++) {
        char c = in.ptr[i];
        if (c == '%') {
            int high = in.len - i > 2 ? http_hex_digit(in.ptr[i + 1]) : -1;
            int low = in.len - i > 2 ? http_hex_digit(in.ptr[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        text[len++] = c;
    }
    *out = (struct slice){text, len};
    return true;
}

bool http_percent_decode(struct slice in, struct arena *a, struct slice *out)
{
    return decode(in, false, a, out);
}

bool http_query_decode(struct slice in, struct arena *a, struct slice *out)
{
    return decode(in, true, a, out);
}

struct slice http_query_get(struct slice target, struct slice name)
{
    slice_cut(&target, '?');
    while (target.ptr) {
        struct slice value = slice_cut(&target, '&');
        if (slice_eq(slice_cut(&value, '='), name))
            return value.ptr ? value : SLICE("");
    }
    return SLICE_NONE;
}
