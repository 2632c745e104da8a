#include <mobula/grpc.h>

enum { VARINT_MAX = 10, NUMBER_MAX = (1 << 29) - 1 };

/* ---- reading ---- */

static bool bad(struct err *e, const char *what)
{
    return err_set(e, ERR_SYNTAX, "the message is malformed: %s", what);
}

static bool take_varint(struct slice *s, uint64_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < VARINT_MAX && i < s->len; i++) {
        uint64_t c = (unsigned char)s->ptr[i];
        if (i == VARINT_MAX - 1 && c > 1)
            return false;
        *out |= (c & 0x7f) << (7 * i);
        if (!(c & 0x80)) {
            *s = slice_skip(*s, i + 1);
            return true;
        }
    }
    return false;
}

/* Little-endian. */
static bool take_fixed(struct slice *s, size_t bytes, uint64_t *out)
{
    if (s->len < bytes)
        return false;
    *out = 0;
    for (size_t i = bytes; i-- > 0;)
        *out = *out << 8 | (unsigned char)s->ptr[i];
    *s = slice_skip(*s, bytes);
    return true;
}

static bool take_value(struct slice *s, struct proto_field *f, struct err *e)
{
    switch (f->type) {
    case PROTO_VARINT:
        return take_varint(s, &f->value) || bad(e, "a number is cut off or too long");
    case PROTO_FIXED64:
        return take_fixed(s, 8, &f->value) || bad(e, "a number is cut off");
    case PROTO_FIXED32:
        return take_fixed(s, 4, &f->value) || bad(e, "a number is cut off");
    case PROTO_BYTES:
        if (!take_varint(s, &f->value) || f->value > s->len)
            return bad(e, "a field is longer than its message");
        f->bytes = slice_head(*s, (size_t)f->value);
        *s = slice_skip(*s, (size_t)f->value);
        return true;
    }
    return bad(e, "a field is of no known type"); /* groups too, which nobody writes any more */
}

bool proto_next(struct slice *message, struct proto_field *f, struct err *e)
{
    uint64_t tag;
    if (slice_empty(*message))
        return false;
    if (!take_varint(message, &tag) || tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
        return bad(e, "a field has no number");
    *f = (struct proto_field){.number = (uint32_t)(tag >> 3), .type = (enum proto_type)(tag & 7)};
    return take_value(message, f, e);
}

uint32_t proto_count(struct slice message, uint32_t number)
{
    uint32_t n = 0;
    struct err e = {0};
    for (struct proto_field f; proto_next(&message, &f, &e);)
        n += f.number == number;
    return n;
}

static bool is_type(const struct proto_field *f, enum proto_type want, struct err *e)
{
    return f->type == want ||
           err_set(e, ERR_TYPE, "the message is malformed: field %u is of wire type %d, want %d", f->number, f->type, want);
}

bool proto_bytes(const struct proto_field *f, struct slice *out, struct err *e)
{
    *out = f->bytes;
    return is_type(f, PROTO_BYTES, e);
}

bool proto_text(const struct proto_field *f, struct slice *out, struct err *e)
{
    return proto_bytes(f, out, e) && (utf8_valid(*out) || bad(e, "a text is not UTF-8"));
}

bool proto_int(const struct proto_field *f, int64_t *out, struct err *e)
{
    *out = (int64_t)f->value;
    return is_type(f, PROTO_VARINT, e);
}

bool proto_double(const struct proto_field *f, double *out, struct err *e)
{
    memcpy(out, &f->value, sizeof *out);
    return is_type(f, PROTO_FIXED64, e);
}

/* ---- writing ---- */

static size_t varint_text(uint64_t value, char out[VARINT_MAX])
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        out[n++] = (char)(value | 0x80);
    out[n++] = (char)value;
    return n;
}

static void put_varint(struct buf *b, uint64_t value)
{
    char text[VARINT_MAX];
    buf_put(b, (struct slice){text, varint_text(value, text)});
}

static void put_tag(struct buf *b, uint32_t number, enum proto_type type)
{
    put_varint(b, (uint64_t)number << 3 | type);
}

void proto_put_int(struct buf *b, uint32_t number, int64_t value)
{
    if (value == 0)
        return;
    put_tag(b, number, PROTO_VARINT);
    put_varint(b, (uint64_t)value);
}

void proto_put_bytes(struct buf *b, uint32_t number, struct slice bytes)
{
    if (slice_empty(bytes))
        return;
    put_tag(b, number, PROTO_BYTES);
    put_varint(b, bytes.len);
    buf_put(b, bytes);
}

void proto_put_double(struct buf *b, uint32_t number, double value)
{
    uint64_t bits;
    char text[8];
    memcpy(&bits, &value, sizeof bits);
    if (bits == 0)
        return;
    for (size_t i = 0; i < sizeof text; i++, bits >>= 8)
        text[i] = (char)bits;
    put_tag(b, number, PROTO_FIXED64);
    buf_put(b, (struct slice){text, sizeof text});
}

size_t proto_open(struct buf *b, uint32_t number)
{
    put_tag(b, number, PROTO_BYTES);
    return b->len;
}

void proto_close(struct buf *b, size_t at)
{
    char text[VARINT_MAX];
    size_t len = b->len - at, n = varint_text(len, text);
    if (!buf_room(b, n))
        return;
    memmove(b->ptr + at + n, b->ptr + at, len);
    memcpy(b->ptr + at, text, n);
    b->len += n;
}
