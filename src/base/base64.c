#include <mobula/base.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void hex_encode(struct slice in, char *out)
{
    for (size_t i = 0; i < in.len; i++) {
        *out++ = "0123456789abcdef"[(unsigned char)in.ptr[i] >> 4];
        *out++ = "0123456789abcdef"[in.ptr[i] & 15];
    }
    *out = '\0';
}

bool base64_encode(struct slice in, struct buf *out)
{
    size_t groups = in.len / 3 + (in.len % 3 != 0);
    char *to = groups <= SIZE_MAX / 4 ? buf_room(out, groups * 4) : NULL;
    if (!to)
        return false;
    for (; !slice_empty(in); in = slice_skip(in, in.len < 3 ? in.len : 3), to += 4) {
        uint32_t group = 0;
        for (size_t i = 0; i < 3; i++)
            group = group << 8 | (i < in.len ? (unsigned char)in.ptr[i] : 0);
        for (size_t i = 0; i < 4; i++)
            to[i] = i <= in.len ? alphabet[group >> (18 - 6 * i) & 63] : '=';
    }
    out->len += groups * 4;
    return true;
}

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The next byte that is not white space, or -1 at the end. */
static int next_byte(struct slice *in)
{
    while (!slice_empty(*in)) {
        char c = in->ptr[0];
        *in = slice_skip(*in, 1);
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
            return (unsigned char)c;
    }
    return -1;
}

/* Four characters into one to three bytes. */
static bool decode_group(const int chars[4], struct buf *out, struct err *e)
{
    uint32_t group = 0;
    int digits = 0;
    for (int i = 0; i < 4; i++) {
        int value = chars[i] < 0 ? -1 : digit((char)chars[i]);
        if (value >= 0 && digits == i)
            digits++;
        else if (chars[i] != '=' || i < 2)
            return chars[i] < 0 ? err_set(e, ERR_SYNTAX, "base64 ends inside a group of four characters")
                                : err_set(e, ERR_SYNTAX, "base64 has byte 0x%02x where it must not be", (unsigned)chars[i]);
        group = group << 6 | (uint32_t)(value < 0 ? 0 : value);
    }
    if ((digits == 2 && (group & 0xffff)) || (digits == 3 && (group & 0xff)))
        return err_set(e, ERR_SYNTAX, "base64 has bits behind its end");
    for (int i = 0; i < digits - 1; i++)
        if (!buf_putc(out, (char)(group >> (16 - 8 * i))))
            return err_set(e, ERR_LIMIT, "base64 decodes to more than %zu bytes", out->max);
    return true;
}

bool base64_decode(struct slice in, struct buf *out, struct err *e)
{
    bool padded = false;
    for (int first; (first = next_byte(&in)) >= 0;) {
        if (padded)
            return err_set(e, ERR_SYNTAX, "base64 goes on behind its padding");
        int chars[4] = {first};
        for (int i = 1; i < 4; i++)
            chars[i] = next_byte(&in);
        if (!decode_group(chars, out, e))
            return false;
        padded = chars[3] == '=';
    }
    return true;
}
