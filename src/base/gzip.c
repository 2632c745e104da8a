/* gzip (RFC 1952): one member, without a name or a date. */
#include <mobula/base.h>

enum { HEAD = 10, TAIL = 8 };

static uint32_t number_at(struct slice s, size_t at)
{
    const unsigned char *p = (const unsigned char *)s.ptr + at;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_number(uint32_t n, struct buf *out)
{
    for (int i = 0; i < 4; i++, n >>= 8)
        buf_putc(out, (char)(n & 0xff));
}

bool gzip(struct slice in, struct buf *out)
{
    static const char head[HEAD] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, 3};
    if (!buf_put(out, (struct slice){head, HEAD}) || !deflate_quick(in, out))
        return false;
    put_number(crc32(in), out);
    put_number((uint32_t)in.len, out);
    return !out->full;
}

bool gunzip(struct slice in, struct buf *out, struct err *e)
{
    size_t before = out->len;
    if (in.len < HEAD + TAIL || !slice_starts(in, SLICE("\x1f\x8b\x08")) || in.ptr[3] != 0)
        return err_set(e, ERR_SYNTAX, "it is not a gzip file without a name, as mobula writes it");
    if (!inflate(slice_skip(in, HEAD), out, e))
        return false;
    struct slice text = slice_skip(buf_slice(out), before);
    return (number_at(in, in.len - TAIL) == crc32(text) && number_at(in, in.len - 4) == (uint32_t)text.len) ||
           err_set(e, ERR_SYNTAX, "the gzip file is damaged: its checksum differs");
}
