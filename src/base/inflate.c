/* RFC 1951, for what the build has compressed: small rather than fast. Broken input is an error all the same. */
#include <mobula/base.h>

enum { CODE_BITS = 15, LITERALS = 286, DISTANCES = 30, DISTANCES_FAR = 42, LENGTH_CODES = 19, END_OF_BLOCK = 256, LENGTH_MAX = 258 };

struct stream {
    struct slice in;
    uint32_t held; /* bits of bytes that were begun, the next one lowest */
    unsigned count;
    bool ended; /* more bits were asked for than there are: they were 0 */
    bool far;   /* a block has up to 42 codes for distances, and their number has 6 bits */
    struct buf *out;
};

/* A canonical Huffman code: how many symbols have each length, and the symbols in order of their codes. */
struct code {
    uint16_t count[CODE_BITS + 1];
    uint16_t symbol[LITERALS + 2];
};

/* Makes s->held so many bits, at most 24, unless the bytes end before. */
static void hold(struct stream *s, unsigned bits)
{
    for (; s->count < bits && !slice_empty(s->in); s->count += 8) {
        s->held |= (uint32_t)(unsigned char)s->in.ptr[0] << s->count;
        s->in = slice_skip(s->in, 1);
    }
}

static void drop(struct stream *s, unsigned bits)
{
    s->ended |= bits > s->count;
    s->count -= bits < s->count ? bits : s->count;
    s->held >>= bits;
}

static uint32_t take(struct stream *s, unsigned bits)
{
    hold(s, bits);
    uint32_t value = s->held & ((1u << bits) - 1);
    drop(s, bits);
    return value;
}

/* False: more symbols than codes of their lengths. Fewer are well: a single distance has half of all codes. */
static bool make_code(struct code *c, const uint8_t *lengths, unsigned symbols)
{
    uint16_t next[CODE_BITS + 1] = {0};
    *c = (struct code){0};
    for (unsigned i = 0; i < symbols; i++)
        c->count[lengths[i]]++;
    c->count[0] = 0;
    int left = 1;
    for (unsigned bits = 1; bits <= CODE_BITS; bits++) {
        left = 2 * left - c->count[bits];
        if (left < 0)
            return false;
        next[bits] = (uint16_t)(next[bits - 1] + c->count[bits - 1]);
    }
    for (unsigned i = 0; i < symbols; i++)
        if (lengths[i])
            c->symbol[next[lengths[i]]++] = (uint16_t)i;
    return true;
}

/* The next symbol, or one beyond all of them when no code is like these bits. Codes of one length are consecutive numbers. */
static unsigned take_symbol(struct stream *s, const struct code *c)
{
    hold(s, CODE_BITS);
    uint32_t next = s->held, bits = 0, first = 0, index = 0;
    for (unsigned length = 1; length <= CODE_BITS; length++, next >>= 1) {
        bits |= next & 1;
        if (bits - first < c->count[length]) {
            drop(s, length);
            return c->symbol[index + bits - first];
        }
        index += c->count[length];
        first = (first + c->count[length]) << 1;
        bits <<= 1;
    }
    return UINT16_MAX;
}

/* Lengths and distances: the first 2 << few symbols are values, then every 1 << few of them are followed by a bit more. */
static uint32_t take_value(struct stream *s, unsigned symbol, unsigned few)
{
    if (symbol < 2u << few)
        return symbol;
    unsigned more = (symbol >> few) - 1, top = 1u << few;
    return ((top + (symbol & (top - 1))) << more) + take(s, more);
}

static bool copy(struct stream *s, size_t distance, size_t length)
{
    char *to = distance <= s->out->len ? buf_room(s->out, length) : NULL;
    if (!to)
        return false;
    for (size_t i = 0; i < length; i++) /* the copied bytes may be those that have just been written */
        to[i] = to[(ptrdiff_t)(i - distance)];
    s->out->len += length;
    return true;
}

static bool read_block(struct stream *s, const struct code *literals, const struct code *distances)
{
    while (!s->ended) {
        unsigned symbol = take_symbol(s, literals);
        if (symbol == END_OF_BLOCK)
            return !s->ended;
        if (symbol >= LITERALS)
            return false;
        if (symbol < END_OF_BLOCK) {
            if (!buf_putc(s->out, (char)symbol))
                return false;
            continue;
        }
        uint32_t length = symbol == LITERALS - 1 ? LENGTH_MAX : 3 + take_value(s, symbol - END_OF_BLOCK - 1, 2);
        unsigned far = take_symbol(s, distances);
        if (far >= DISTANCES_FAR || !copy(s, 1 + take_value(s, far, 1), length))
            return false;
    }
    return false;
}

static bool read_fixed(struct stream *s)
{
    struct code literals, distances;
    uint8_t lengths[LITERALS + 2];
    memset(lengths, 8, sizeof lengths);
    memset(lengths + 144, 9, 256 - 144);
    memset(lengths + 256, 7, 280 - 256);
    make_code(&literals, lengths, sizeof lengths);
    memset(lengths, 5, DISTANCES);
    make_code(&distances, lengths, DISTANCES);
    return read_block(s, &literals, &distances);
}

/* The lengths of a block's own codes are compressed themselves: 16 to 18 repeat a length. */
static bool read_lengths(struct stream *s, const struct code *c, uint8_t *lengths, unsigned count)
{
    for (unsigned n = 0; n < count;) {
        unsigned symbol = take_symbol(s, c), times = 1;
        if (s->ended || symbol > 18 || (symbol == 16 && n == 0))
            return false;
        uint8_t length = symbol < 16 ? (uint8_t)symbol : symbol == 16 ? lengths[n - 1] : 0;
        if (symbol >= 16)
            times = symbol == 16 ? 3 + take(s, 2) : symbol == 17 ? 3 + take(s, 3) : 11 + take(s, 7);
        if (times > count - n)
            return false;
        memset(lengths + n, length, times);
        n += times;
    }
    return true;
}

/* 16, 17, 18, 0, 8, 7, 9, 6, 10, ... 1, 15 */
unsigned deflate_nth_length(unsigned i)
{
    return i < 3 ? 16 + i : i == 3 ? 0 : i % 2 ? 8 - (i - 3) / 2 : 8 + (i - 4) / 2;
}

static bool read_dynamic(struct stream *s)
{
    struct code literals, distances;
    uint8_t lengths[LITERALS + DISTANCES_FAR] = {0};
    unsigned nliterals = 257 + take(s, 5), ndistances = 1 + take(s, s->far ? 6 : 5), ncodes = 4 + take(s, 4);
    if (nliterals > LITERALS || ndistances > (s->far ? DISTANCES_FAR : DISTANCES))
        return false;
    for (unsigned i = 0; i < ncodes; i++)
        lengths[deflate_nth_length(i)] = (uint8_t)take(s, 3);
    return make_code(&literals, lengths, LENGTH_CODES) && read_lengths(s, &literals, lengths, nliterals + ndistances) &&
           make_code(&literals, lengths, nliterals) && make_code(&distances, lengths + nliterals, ndistances) &&
           read_block(s, &literals, &distances);
}

static bool read_stored(struct stream *s)
{
    drop(s, s->count % 8); /* then there are at most 16 left: all of them are the lengths' */
    uint32_t length = take(s, 16);
    if ((length ^ take(s, 16)) != 0xffff || s->ended || length > s->in.len || !buf_put(s->out, slice_head(s->in, length)))
        return false;
    s->in = slice_skip(s->in, length);
    return true;
}

static bool read_stream(struct slice in, bool far, struct buf *out, struct err *e)
{
    struct stream s = {.in = in, .far = far, .out = out};
    for (bool last = false, ok; !last;) {
        last = take(&s, 1);
        switch (take(&s, 2)) {
        case 0:
            ok = read_stored(&s);
            break;
        case 1:
            ok = read_fixed(&s);
            break;
        case 2:
            ok = read_dynamic(&s);
            break;
        default:
            ok = false;
        }
        if (!ok && out->full)
            return err_set(e, ERR_LIMIT, "compressed data is more than %zu bytes", out->max);
        if (!ok)
            return err_set(e, ERR_SYNTAX, "compressed data is broken before byte %zu", in.len - s.in.len);
    }
    return true;
}

bool inflate(struct slice in, struct buf *out, struct err *e)
{
    return read_stream(in, false, out, e);
}

bool inflate_far(struct slice in, struct buf *out, struct err *e)
{
    return read_stream(in, true, out, e);
}
