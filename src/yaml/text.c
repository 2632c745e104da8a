#include "text.h"

/* ---- encodings ---- */

static uint32_t unit_at(struct slice s, size_t at, bool big)
{
    const unsigned char *b = (const unsigned char *)s.ptr + at;
    return big ? (uint32_t)b[0] << 8 | b[1] : (uint32_t)b[1] << 8 | b[0];
}

static bool decode_utf16(struct slice *text, bool big, struct arena *a, struct err *e)
{
    struct slice in = slice_skip(*text, 2);
    char *out = arena_alloc(a, in.len / 2 * 3);
    size_t len = 0;
    for (size_t i = 0; i < in.len; i += 2) {
        if (in.len - i < 2)
            return err_set(e, ERR_SYNTAX, "UTF-16 that ends within a character");
        uint32_t point = unit_at(in, i, big);
        if (point >= 0xd800 && point < 0xe000) {
            uint32_t low = in.len - i >= 4 ? unit_at(in, i + 2, big) : 0;
            if (point >= 0xdc00 || low < 0xdc00 || low >= 0xe000)
                return err_set(e, ERR_SYNTAX, "UTF-16 with half of a character, at byte %zu", i + 2);
            point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
            i += 2;
        }
        len += utf8_encode(point, out + len);
    }
    *text = (struct slice){out, len};
    return true;
}

bool text_decode(struct slice *text, struct arena *a, struct err *e)
{
    bool big = slice_starts(*text, SLICE("\xfe\xff"));
    if (big || slice_starts(*text, SLICE("\xff\xfe")))
        return decode_utf16(text, big, a, e);
    if (slice_starts(*text, SLICE("\xef\xbb\xbf")))
        *text = slice_skip(*text, 3);
    return true;
}

/* ---- parts ---- */

static struct slice take_line(struct slice *rest)
{
    ptrdiff_t end = slice_find(*rest, '\n');
    struct slice line = slice_head(*rest, end < 0 ? rest->len : (size_t)end + 1);
    *rest = slice_skip(*rest, line.len);
    return line;
}

static bool is_separator(struct slice line)
{
    return slice_starts(line, SLICE("---")) && (line.len == 3 || strchr(" \t\r\n", line.ptr[3]));
}

static bool has_content(struct slice line)
{
    bool directive = slice_starts(line, SLICE("%"));
    line = slice_trim(is_separator(line) ? slice_skip(line, 3) : line);
    return !slice_empty(line) && !slice_starts(line, SLICE("#")) && !directive;
}

struct slice text_next(struct slice *rest)
{
    struct slice part = *rest, after = *rest;
    bool content = false;
    if (slice_empty(part))
        return SLICE_NONE;
    while (!slice_empty(after)) {
        *rest = after;
        struct slice line = take_line(&after);
        if (content && is_separator(line))
            return slice_head(part, part.len - rest->len);
        content |= has_content(line);
    }
    *rest = after;
    return part;
}
