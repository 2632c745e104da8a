/* Compresses to DEFLATE (RFC 1951): blocks with dynamic Huffman codes, or with the fixed codes where those are shorter. */
#include <mobula/base.h>

enum {
    HASH_BITS = 15,
    WINDOW = 32 * 1024,
    SHORTEST = 3, /* bytes of a copy */
    LONGEST = 258,
    LITERALS = 286,
    DISTANCES = 30,
    FIXED = 288, /* symbols of the fixed literal/length code: 286 and 287 are never used */
    END_OF_BLOCK = 256,
    LENGTHS = 19,
    LENGTHS_BITS = 7,
    CODE_BITS = 15,
    TOKENS = 20 * 1024, /* most literals and copies of a block */
    TRIES = 128,        /* places that are compared with each one to compress */
    QUICK_BITS = 13     /* deflate_quick compares one place: the last one with the same hash */
};

struct writer {
    struct buf *out;
    uint64_t held; /* bits that are not written yet, the first one lowest */
    unsigned count;
    bool far; /* the stream is one of deflate_far() */
};

struct code {
    uint32_t uses[FIXED];
    uint8_t bits[FIXED];
    uint16_t code[FIXED]; /* bits in reverse: codes are written highest bit first, all else lowest first */
};

struct token {
    uint32_t length : 9; /* of a copy; 0: a literal */
    uint32_t value : 23; /* the literal byte, or the copy's distance minus 1 */
};

struct block {
    struct code literals, distances;
    unsigned count;
    struct token tokens[TOKENS];
};

/* ---- bits ---- */

/* The lowest bits of value, lowest first. */
__attribute__((noinline)) static void put(struct writer *w, uint32_t value, unsigned bits)
{
    w->held |= (uint64_t)value << w->count;
    w->count += bits;
    if (w->count < 32)
        return;
    buf_put(w->out, (struct slice){(const char *)&w->held, 4}); /* both architectures store the lowest byte first */
    w->held >>= 32;
    w->count -= 32;
}

/* ---- Huffman codes ---- */

/* Returns the lightest node without a parent, and makes node number `nodes` its parent. */
static unsigned take_lightest(const uint32_t *weight, uint16_t *parent, unsigned nodes)
{
    unsigned best = nodes;
    for (unsigned i = 0; i < nodes; i++)
        if (weight[i] && !parent[i] && (best == nodes || weight[i] < weight[best]))
            best = i;
    parent[best] = (uint16_t)nodes;
    return best;
}

/* Computes code lengths with Huffman's tree; weights are uses >> shift. False: a code is longer than limit bits. */
static bool measure(struct code *c, unsigned symbols, unsigned limit, unsigned shift)
{
    uint32_t weight[2 * FIXED];
    uint16_t parent[2 * FIXED] = {0};
    unsigned nodes = symbols, roots = 0;
    for (unsigned i = 0; i < symbols; i++) {
        weight[i] = c->uses[i] ? (c->uses[i] >> shift) + 1 : 0;
        roots += weight[i] != 0;
    }
    for (; roots > 1; roots--, nodes++) {
        uint32_t both = weight[take_lightest(weight, parent, nodes)];
        weight[nodes] = both + weight[take_lightest(weight, parent, nodes)];
    }
    for (unsigned i = 0; i < symbols; i++) {
        unsigned depth = 0;
        for (unsigned at = i; parent[at]; at = parent[at])
            depth++;
        if (depth > limit)
            return false;
        c->bits[i] = (uint8_t)depth;
    }
    return true;
}

/* Assigns the canonical codes to their lengths (RFC 1951 §3.2.2). */
static void number_codes(struct code *c, unsigned symbols)
{
    unsigned next = 0;
    for (unsigned bits = 1; bits <= CODE_BITS; bits++, next <<= 1)
        for (unsigned i = 0; i < symbols; i++)
            if (c->bits[i] == bits) {
                c->code[i] = 0;
                for (unsigned n = 0; n < bits; n++)
                    c->code[i] |= (uint16_t)((next >> n & 1) << (bits - 1 - n));
                next++;
            }
}

/* Halves the weights until no code is longer than limit bits. At least two symbols get a code: some decoders refuse fewer. */
static void make_code(struct code *c, unsigned symbols, unsigned limit)
{
    unsigned used = 0, shift = 0;
    for (unsigned i = 0; i < symbols; i++)
        used += c->uses[i] != 0;
    for (unsigned i = 0; used < 2; i++)
        if (!c->uses[i]) {
            c->uses[i] = 1;
            used++;
        }
    while (!measure(c, symbols, limit, shift))
        shift++;
    number_codes(c, symbols);
}

static void put_symbol(struct writer *w, const struct code *c, unsigned symbol)
{
    put(w, c->code[symbol], c->bits[symbol]);
}

/* ---- blocks ---- */

/* Returns the number of the range that holds the value; *extra: the bits that select a value in it. Ranges have 1 value each at first; from
 * range 2^(same+1) on, each 2^same ranges are twice as large as those before. */
static unsigned range_of(uint32_t value, unsigned same, unsigned *extra)
{
    *extra = value >> (same + 1) ? 31 - same - (unsigned)__builtin_clz(value) : 0;
    return (*extra << same) + (value >> *extra);
}

/* The symbol of a literal or of a copy's length; *extra: how many bits select a value among those of the symbol. */
static unsigned symbol_of(struct token t, unsigned *extra)
{
    *extra = 0;
    if (t.length == 0)
        return t.value;
    return t.length == LONGEST ? LITERALS - 1 : END_OF_BLOCK + 1 + range_of(t.length - SHORTEST, 2, extra);
}

static void add(struct block *b, struct token t)
{
    unsigned extra;
    b->tokens[b->count++] = t;
    b->literals.uses[symbol_of(t, &extra)]++;
    if (t.length)
        b->distances.uses[range_of(t.value, 1, &extra)]++;
}

static void put_tokens(struct writer *w, const struct block *b)
{
    unsigned extra;
    for (const struct token *t = b->tokens; t < b->tokens + b->count; t++) {
        unsigned symbol = symbol_of(*t, &extra), bits = b->literals.bits[symbol];
        put(w, b->literals.code[symbol] | ((t->length - SHORTEST) & ((1u << extra) - 1)) << bits, bits + extra);
        if (t->length == 0)
            continue;
        put_symbol(w, &b->distances, range_of(t->value, 1, &extra));
        put(w, t->value & ((1u << extra) - 1), extra);
    }
    put_symbol(w, &b->literals, END_OF_BLOCK);
}

/* The code lengths of a dynamic block, Huffman-coded themselves (RFC 1951 §3.2.7): symbols 0 to 15 are lengths, 16 to 18 repeat one. */
struct lengths {
    uint8_t of[LITERALS + DISTANCES];
    unsigned count, literals, distances, codes;
    struct code code;
};

/* Chooses the symbol for the length at `at`. Returns how many lengths it stands for. */
static unsigned repeated(const struct lengths *l, unsigned at, unsigned *symbol)
{
    unsigned run = 1;
    *symbol = l->of[at];
    while (at + run < l->count && l->of[at + run] == l->of[at])
        run++;
    if (l->of[at] == 0 && run >= 3) {
        *symbol = run < 11 ? 17 : 18;
        return run < 138 ? run : 138;
    }
    /* cppcheck-suppress arrayIndexOutOfBoundsCond ; `at` is below count, which is at most the array's length */
    bool as_before = at > 0 && l->of[at - 1] == l->of[at] && run >= 3;
    if (as_before)
        *symbol = 16;
    return !as_before ? 1 : run < 6 ? run : 6;
}

static unsigned used_of(const struct code *c, unsigned most, unsigned least)
{
    while (most > least && c->bits[most - 1] == 0)
        most--;
    return most;
}

static void measure_lengths(struct lengths *l, const struct block *b)
{
    unsigned symbol;
    *l = (struct lengths){.literals = used_of(&b->literals, LITERALS, END_OF_BLOCK + 1), .distances = used_of(&b->distances, DISTANCES, 1)};
    memcpy(l->of, b->literals.bits, l->literals);
    memcpy(l->of + l->literals, b->distances.bits, l->distances);
    l->count = l->literals + l->distances;
    for (unsigned at = 0; at < l->count;) {
        at += repeated(l, at, &symbol);
        l->code.uses[symbol]++;
    }
    make_code(&l->code, LENGTHS, LENGTHS_BITS);
    for (l->codes = LENGTHS; l->codes > 4 && l->code.bits[deflate_nth_length(l->codes - 1)] == 0;)
        l->codes--;
}

static void put_lengths(struct writer *w, const struct lengths *l)
{
    unsigned symbol;
    put(w, l->literals - 257, 5);
    put(w, l->distances - 1, w->far ? 6 : 5);
    put(w, l->codes - 4, 4);
    for (unsigned i = 0; i < l->codes; i++)
        put(w, l->code.bits[deflate_nth_length(i)], 3);
    for (unsigned at = 0, n; at < l->count; at += n) {
        n = repeated(l, at, &symbol);
        put_symbol(w, &l->code, symbol);
        if (symbol >= 16)
            put(w, n - (symbol == 18 ? 11 : 3), symbol == 16 ? 2 : symbol == 17 ? 3 : 7);
    }
}

static uint64_t cost_code(const struct code *c, unsigned symbols)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < symbols; i++)
        sum += (uint64_t)c->uses[i] * c->bits[i];
    return sum;
}

/* Bits of a block's symbols, without the extra bits, which are the same with any code. */
static uint64_t cost(const struct block *b)
{
    return cost_code(&b->literals, LITERALS) + cost_code(&b->distances, DISTANCES);
}

static uint64_t cost_lengths(const struct lengths *l)
{
    const uint32_t *uses = l->code.uses;
    return 14 + 3 * l->codes + cost_code(&l->code, LENGTHS) + 2 * uses[16] + 3 * uses[17] + 7 * uses[18];
}

static void make_fixed(struct block *b)
{
    memset(b->literals.bits, 8, FIXED);
    memset(b->literals.bits + 144, 9, 256 - 144);
    memset(b->literals.bits + 256, 7, 280 - 256);
    memset(b->distances.bits, 5, DISTANCES);
    number_codes(&b->literals, FIXED);
    number_codes(&b->distances, DISTANCES);
}

/* Writes the tokens as a block, and removes them. */
static void put_block(struct writer *w, struct block *b, bool last)
{
    struct lengths l;
    b->literals.uses[END_OF_BLOCK]++;
    make_code(&b->literals, LITERALS, CODE_BITS);
    make_code(&b->distances, DISTANCES, CODE_BITS);
    measure_lengths(&l, b);
    uint64_t own = cost(b) + cost_lengths(&l);
    struct code literals = b->literals, distances = b->distances;
    bool fixed = false;
    if (!w->far) {
        make_fixed(b);
        fixed = cost(b) <= own;
    }
    if (!fixed) {
        b->literals = literals;
        b->distances = distances;
    }
    put(w, last, 1);
    put(w, fixed ? 1 : 2, 2);
    if (!fixed)
        put_lengths(w, &l);
    put_tokens(w, b);
    memset(b, 0, offsetof(struct block, tokens));
}

/* ---- search for copies ---- */

/* How many of at most `most` bytes are equal. */
static size_t count_equal(const char *a, const char *b, size_t most)
{
    uint64_t x, y;
    size_t n = 0;
    for (; n + sizeof x <= most; n += sizeof x) {
        memcpy(&x, a + n, sizeof x);
        memcpy(&y, b + n, sizeof y);
        if (x != y)
            return n + (size_t)__builtin_ctzll(x ^ y) / 8;
    }
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

/* The longest copy of the text at `at`, of at most `room` bytes; below SHORTEST: none. */
static size_t find(struct chains *c, struct slice in, size_t at, size_t room, size_t *distance)
{
    size_t best = 0, from = 0;
    for (int tries = TRIES; tries > 0 && (from = chains_next(c, in, at, from)) != 0; tries--) {
        size_t n = count_equal(in.ptr + from - 1, in.ptr + at, room);
        if (n > best) {
            best = n;
            *distance = at - (from - 1);
        }
    }
    for (size_t n = best < SHORTEST ? 1 : best; n > 0; n--)
        chains_enter(c, in, at++);
    return best;
}

/* The same of the last place with the same hash. Places inside copies are left out. */
static size_t find_quick(struct chains *c, struct slice in, size_t at, size_t room, size_t *distance)
{
    uint32_t bytes;
    if (room < sizeof bytes)
        return 0;
    memcpy(&bytes, in.ptr + at, sizeof bytes);
    uint32_t *head = c->head + (bytes * 0x9e3779b1u >> (32 - QUICK_BITS));
    size_t from = *head;
    *head = (uint32_t)at + 1;
    *distance = at + 1 - from;
    return from && *distance <= WINDOW ? count_equal(in.ptr + from - 1, in.ptr + at, room) : 0;
}

static bool compress(struct slice in, struct chains *c, __typeof__(find) *search, bool far, struct buf *out)
{
    struct block *b = mem_alloc(sizeof *b);
    struct writer w = {.out = out, .far = far};
    for (size_t at = 0; at < in.len && !out->full;) {
        size_t distance = 0, length = search(c, in, at, in.len - at < LONGEST ? in.len - at : LONGEST, &distance);
        struct token t = {0, (unsigned char)in.ptr[at]};
        if (length >= SHORTEST)
            t = (struct token){(uint32_t)length & 0x1ff, (uint32_t)(distance - 1) & 0x7fffff};
        if (b->count == TOKENS)
            put_block(&w, b, false);
        add(b, t);
        at += t.length ? t.length : 1;
    }
    put_block(&w, b, true);
    for (put(&w, 0, 7); w.count >= 8; w.count -= 8, w.held >>= 8)
        buf_putc(out, (char)(w.held & 0xff));
    mem_free(b);
    mem_free(c);
    return !out->full;
}

bool deflate(struct slice in, struct buf *out)
{
    return compress(in, chains_new(SHORTEST, HASH_BITS, WINDOW), find, false, out);
}

bool deflate_far(struct slice in, struct buf *out)
{
    return compress(in, chains_new(SHORTEST, HASH_BITS, WINDOW), find, true, out);
}

bool deflate_quick(struct slice in, struct buf *out)
{
    return compress(in, chains_new(sizeof(uint32_t), QUICK_BITS, 0), find_quick, false, out);
}

uint32_t crc32(struct slice in)
{
    enum { STEP = 8, ROW = 256 }; /* STEP: bytes at once, each by its row of the table */
    uint32_t crc = UINT32_MAX, table[STEP * ROW];
    uint64_t piece;
    for (uint32_t i = 0; i < ROW; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    for (uint32_t i = ROW; i < STEP * ROW; i++)
        table[i] = table[i - ROW] >> 8 ^ table[table[i - ROW] & 0xff];
    for (; in.len >= STEP; in = slice_skip(in, STEP)) {
        memcpy(&piece, in.ptr, STEP);
        piece ^= crc;
        crc = 0;
        for (uint32_t row = STEP * ROW; row > 0; piece >>= 8)
            crc ^= table[(row -= ROW) + (piece & 0xff)];
    }
    for (size_t i = 0; i < in.len; i++)
        crc = crc >> 8 ^ table[(crc ^ (unsigned char)in.ptr[i]) & 0xff];
    return ~crc;
}
