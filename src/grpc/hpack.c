#include "hpack.h"

static bool bad(struct err *e, const char *what)
{
    return err_set(e, ERR_SYNTAX, "a header field %s", what);
}

/* ---- numbers and texts ---- */

/* RFC 7541 5.1: a number whose first `bits` bits stand in the first byte. Three bytes more are longer than any block may be. */
static bool take_int(struct slice *s, unsigned bits, uint32_t *out, struct err *e)
{
    enum { SHIFT_LAST = 14 };
    unsigned mask = (1U << bits) - 1;
    if (slice_empty(*s))
        return bad(e, "is cut off");
    *out = (unsigned char)s->ptr[0] & mask;
    *s = slice_skip(*s, 1);
    if (*out < mask)
        return true;
    for (unsigned shift = 0; shift <= SHIFT_LAST; shift += 7) {
        if (slice_empty(*s))
            return bad(e, "is cut off");
        unsigned c = (unsigned char)s->ptr[0];
        *s = slice_skip(*s, 1);
        *out += (c & 0x7f) << shift;
        if (!(c & 0x80))
            return true;
    }
    return bad(e, "is too long");
}

/* The code of RFC 7541 appendix B is canonical: codes of one length follow one another, and the first of a length follows the last shorter
 * one. So the symbols in the order of their codes, and how many there are of each length, say all. The end symbol is the last of 30 bits.
 */
enum { CODE_MIN = 5, CODE_MAX = 30, SYMBOLS = 256 };
static const unsigned char code_counts[CODE_MAX + 1] = {
    [5] = 10, [6] = 26,  [7] = 32,  [8] = 6,   [10] = 5,  [11] = 3, [12] = 2,  [13] = 6,  [14] = 2,  [15] = 3, [19] = 3,
    [20] = 8, [21] = 13, [22] = 26, [23] = 29, [24] = 12, [25] = 4, [26] = 15, [27] = 19, [28] = 29, [30] = 4,
};
static const unsigned char code_symbols[SYMBOLS] = {
    48,  49,  50,  97,  99,  101, 105, 111, 115, 116, 32,  37,  45,  46,  47,  51,  52,  53,  54,  55,  56,  57,  61,  65,  95,  98,
    100, 102, 103, 104, 108, 109, 110, 112, 114, 117, 58,  66,  67,  68,  69,  70,  71,  72,  73,  74,  75,  76,  77,  78,  79,  80,
    81,  82,  83,  84,  85,  86,  87,  89,  106, 107, 113, 118, 119, 120, 121, 122, 38,  42,  44,  59,  88,  90,  33,  34,  40,  41,
    63,  39,  43,  124, 35,  62,  0,   36,  64,  91,  93,  126, 94,  125, 60,  96,  123, 92,  195, 208, 128, 130, 131, 162, 184, 194,
    224, 226, 153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230, 129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164,
    169, 170, 173, 178, 181, 185, 186, 187, 189, 190, 196, 198, 228, 232, 233, 1,   135, 137, 138, 139, 140, 141, 143, 147, 149, 150,
    151, 152, 155, 157, 158, 165, 166, 168, 174, 175, 180, 182, 183, 188, 191, 197, 231, 239, 9,   142, 144, 145, 148, 159, 171, 206,
    215, 225, 236, 237, 199, 207, 234, 235, 192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255, 203, 204, 211,
    212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254, 2,   3,   4,   5,   6,   7,   8,   11,  12,  14,
    15,  16,  17,  18,  19,  20,  21,  23,  24,  25,  26,  27,  28,  29,  30,  31,  127, 220, 249, 10,  13,  22,
};

/* One code at a time, bit by bit. */
struct huffman {
    uint32_t code, first;  /* the bits read of this code; the first code of as many bits */
    unsigned bits, before; /* how many bits; symbols with shorter codes */
    bool ones;             /* it is all ones, as padding is */
};

static const struct huffman huffman_start = {.ones = true};

/* The symbol, or -1: more bits are needed. SYMBOLS is the end symbol. */
static int huffman_bit(struct huffman *h, unsigned bit)
{
    h->code = h->code << 1 | bit;
    h->bits++;
    h->ones = h->ones && bit;
    if (h->code - h->first < code_counts[h->bits]) {
        unsigned at = h->before + (h->code - h->first);
        *h = huffman_start;
        return at < SYMBOLS ? code_symbols[at] : SYMBOLS;
    }
    h->before += code_counts[h->bits];
    h->first = (h->first + code_counts[h->bits]) << 1;
    return -1;
}

static bool unhuffman(struct slice in, char out[HPACK_TEXT], struct slice *text, struct err *e)
{
    enum { PADDING_MAX = 7 };
    struct huffman h = huffman_start;
    size_t n = 0;
    for (size_t i = 0; i < 8 * in.len; i++) {
        int symbol = huffman_bit(&h, (unsigned char)in.ptr[i / 8] >> (7 - i % 8) & 1);
        if (symbol == SYMBOLS)
            return bad(e, "holds the end of a Huffman-coded text");
        if (symbol >= 0 && n < HPACK_TEXT)
            out[n++] = (char)symbol;
    }
    *text = (struct slice){out, n};
    return (h.ones && h.bits <= PADDING_MAX) || bad(e, "ends in half a Huffman code");
}

static bool take_text(struct slice *s, char scratch[HPACK_TEXT], struct slice *out, struct err *e)
{
    uint32_t len;
    bool huffman = !slice_empty(*s) && (unsigned char)s->ptr[0] & 0x80;
    if (!take_int(s, 7, &len, e))
        return false;
    if (len > s->len)
        return bad(e, "is cut off");
    struct slice raw = slice_head(*s, len);
    *s = slice_skip(*s, len);
    *out = raw;
    return !huffman || unhuffman(raw, scratch, out, e);
}

/* ---- fields ---- */

enum { STATIC_STATUS_FIRST = 8, STATIC_STATUS_LAST = 14, STATIC_LAST = 61 };

/* The static table, as far as a status stands in it. */
static bool static_name(uint32_t index, struct hpack_field *f, struct err *e)
{
    if (index > STATIC_LAST)
        return bad(e, "refers to a table that we announced as empty");
    if (index >= STATIC_STATUS_FIRST && index <= STATIC_STATUS_LAST)
        f->name = SLICE(":status");
    return true;
}

static bool indexed(struct slice *block, struct hpack_field *f, struct err *e)
{
    static const char statuses[][4] = {"200", "204", "206", "304", "400", "404", "500"};
    uint32_t index;
    if (!take_int(block, 7, &index, e) || !static_name(index, f, e))
        return false;
    if (index == 0)
        return bad(e, "has no number");
    if (!slice_empty(f->name))
        f->value = (struct slice){statuses[index - STATIC_STATUS_FIRST], 3};
    return true;
}

static bool literal(struct slice *block, unsigned bits, struct hpack_field *f, struct err *e)
{
    uint32_t index;
    return take_int(block, bits, &index, e) && (index ? static_name(index, f, e) : take_text(block, f->text[0], &f->name, e)) &&
           take_text(block, f->text[1], &f->value, e);
}

static bool table_size(struct slice *block, struct err *e)
{
    uint32_t size;
    return take_int(block, 5, &size, e) && (size == 0 || bad(e, "sets up a table that we announced as empty"));
}

bool hpack_next(struct slice *block, struct hpack_field *f, struct err *e)
{
    f->name = f->value = SLICE_NONE;
    while (!slice_empty(*block)) {
        unsigned first = (unsigned char)block->ptr[0];
        if (first & 0x80)
            return indexed(block, f, e);
        if (first & 0x40)
            return literal(block, 6, f, e);
        if (!(first & 0x20))
            return literal(block, 4, f, e);
        if (!table_size(block, e))
            return false;
    }
    return false;
}

/* ---- writing ---- */

static void put_int(struct buf *b, unsigned first, unsigned bits, size_t value)
{
    unsigned mask = (1U << bits) - 1;
    if (value < mask) {
        buf_putc(b, (char)(first | value));
        return;
    }
    buf_putc(b, (char)(first | mask));
    for (value -= mask; value >= 0x80; value >>= 7)
        buf_putc(b, (char)(value | 0x80));
    buf_putc(b, (char)value);
}

static void put_text(struct buf *b, struct slice text)
{
    put_int(b, 0, 7, text.len);
    buf_put(b, text);
}

void hpack_put(struct buf *b, unsigned index, struct slice name, struct slice value, bool secret)
{
    put_int(b, secret ? 0x10 : 0, 4, index);
    if (!index)
        put_text(b, name);
    put_text(b, value);
}
