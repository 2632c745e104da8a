#include <mobula/base.h>

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

size_t utf8_step(struct slice s)
{
    if (slice_empty(s))
        return 0;
    unsigned char first = (unsigned char)s.ptr[0];
    if (first < 0x80)
        return 1;
    /* Table 3-7 of the Unicode standard: the second byte is where overlong forms, surrogates and what lies past U+10FFFF are seen. */
    size_t len = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || s.len < len)
        return 0;
    unsigned char second = (unsigned char)s.ptr[1];
    unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most)
        return 0;
    for (size_t i = 2; i < len; i++)
        if (!continues(s.ptr[i]))
            return 0;
    return len;
}

bool utf8_valid(struct slice s)
{
    while (!slice_empty(s)) {
        uint64_t eight;
        if (s.len >= sizeof eight) {
            memcpy(&eight, s.ptr, sizeof eight);
            if (!(eight & 0x8080808080808080)) {
                s = slice_skip(s, sizeof eight);
                continue;
            }
        }
        size_t step = utf8_step(s);
        if (step == 0)
            return false;
        s = slice_skip(s, step);
    }
    return true;
}

bool utf8_control(struct slice character)
{
    unsigned char first = (unsigned char)character.ptr[0];
    return first < 0x20 || first == 0x7f || (first == 0xc2 && (unsigned char)character.ptr[1] < 0xa0);
}

static const char mark[] = "\xe2\x80\xa6"; /* … */
enum { MARK = sizeof mark - 1 };

/* n bytes were written, the first `fits` of which leave room for the mark. */
static struct slice end_text(char *out, size_t size, size_t n, size_t fits, bool cut)
{
    if (cut && size > MARK) {
        memcpy(out + fits, mark, MARK);
        n = fits + MARK;
    }
    out[n] = '\0';
    return (struct slice){out, n};
}

struct slice utf8_clean(struct slice text, char *out, size_t size)
{
    size_t n = 0, fits = 0;
    bool gap = false, cut = false; /* white space is owed, unless nothing follows */
    while (!slice_empty(text)) {
        size_t step = utf8_step(text), take = step ? step : 1;
        bool space = step && (text.ptr[0] == ' ' || utf8_control(slice_head(text, step)));
        cut = !space && n + (gap && n) + take >= size;
        if (cut)
            break;
        if (!space && gap && n)
            out[n++] = ' ';
        gap = space;
        if (!space)
            memcpy(out + n, step ? text.ptr : "?", take);
        n += space ? 0 : take;
        fits = n + MARK < size ? n : fits;
        text = slice_skip(text, take);
    }
    return end_text(out, size, n, fits, cut);
}

struct slice utf8_copy(struct slice text, char *out, size_t size)
{
    size_t n = 0, fits = 0, step;
    while ((step = utf8_step(slice_skip(text, n))) != 0 && n + step < size) {
        memcpy(out + n, text.ptr + n, step);
        n += step;
        fits = n + MARK < size ? n : fits;
    }
    return end_text(out, size, n, fits, n < text.len);
}

size_t utf8_encode(uint32_t point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3f));
    static const unsigned char lead[] = {[2] = 0xc0, [3] = 0xe0, [4] = 0xf0};
    out[0] = (char)(lead[len] | point);
    return len;
}
