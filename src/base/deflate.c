/* Compresses to DEFLATE (RFC 1951): blocks with dynamic Huffman codes, or with the fixed codes where those are shorter. */
#include "deflate.h"

enum {
    LITERALS = DEFLATE_LITERALS,
    DISTANCES = DEFLATE_DISTANCES,
    DISTANCES_FIXED = 30,
    FIXED = DEFLATE_FIXED,
    END_OF_BLOCK = DEFLATE_END_OF_BLOCK,
    LENGTHS = 19,
    LENGTHS_BITS = 7,
    CODE_BITS = 15,
    TRIES = 128,    /* places that are compared with each one to compress */
    QUICK_BITS = 13 /* deflate_quick compares one place: the last one with the same hash */
};

/* ---- bits ---- */

/* The lowest bits of value, lowest first. */
__attribute__((noinline)) static void put(struct deflate_writer *w, uint32_t value, unsigned bits)
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
static bool measure(struct deflate_code *c, unsigned symbols, unsigned limit, unsigned shift)
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
static void number_codes(struct deflate_code *c, unsigned symbols)
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
static void make_code(struct deflate_code *c, unsigned symbols, unsigned limit)
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

static void put_symbol(struct deflate_writer *w, const struct deflate_code *c, unsigned symbol)
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

unsigned deflate_symbol(struct deflate_token t, unsigned *extra)
{
    *extra = 0;
    if (t.length == 0)
        return t.value;
    return t.length == DEFLATE_LONGEST ? LITERALS - 1 : END_OF_BLOCK + 1 + range_of(t.length - DEFLATE_SHORTEST, 2, extra);
}

unsigned deflate_distance(struct deflate_token t, unsigned *extra)
{
    return range_of(t.value, 1, extra);
}

void deflate_add(struct deflate_block *b, struct deflate_token t)
{
    unsigned extra;
    b->tokens[b->count++] = t;
    b->literals[b->at & (b->lanes - 1)].uses[deflate_symbol(t, &extra)]++;
    if (t.length)
        b->distances.uses[deflate_distance(t, &extra)]++;
    b->at += deflate_length(t);
}

static void put_tokens(struct deflate_writer *w, const struct deflate_block *b)
{
    unsigned extra;
    size_t at = b->begin;
    for (const struct deflate_token *t = b->tokens; t < b->tokens + b->count; at += deflate_length(*t++)) {
        const struct deflate_code *c = &b->literals[at & (b->lanes - 1)];
        unsigned symbol = deflate_symbol(*t, &extra), bits = c->bits[symbol];
        put(w, c->code[symbol] | ((t->length - DEFLATE_SHORTEST) & ((1u << extra) - 1)) << bits, bits + extra);
        if (t->length == 0)
            continue;
        put_symbol(w, &b->distances, deflate_distance(*t, &extra));
        put(w, t->value & ((1u << extra) - 1), extra);
    }
    put_symbol(w, &b->literals[at & (b->lanes - 1)], END_OF_BLOCK);
}

/* The code lengths of a dynamic block, Huffman-coded themselves (RFC 1951 §3.2.7): symbols 0 to 15 are lengths, 16 to 18 repeat one. */
struct lengths {
    uint8_t of[DEFLATE_LANES * LITERALS + DISTANCES];
    unsigned count, literals, distances, codes;
    struct deflate_code code;
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

static unsigned used_of(const struct deflate_code *c, unsigned most, unsigned least)
{
    while (most > least && c->bits[most - 1] == 0)
        most--;
    return most;
}

static void measure_lengths(struct lengths *l, const struct deflate_block *b)
{
    unsigned symbol;
    *l = (struct lengths){.literals = END_OF_BLOCK + 1, .distances = used_of(&b->distances, DISTANCES, 1)};
    for (unsigned i = 0; i < b->lanes; i++)
        l->literals = used_of(&b->literals[i], LITERALS, l->literals);
    for (unsigned i = 0; i < b->lanes; i++, l->count += l->literals)
        memcpy(l->of + l->count, b->literals[i].bits, l->literals);
    memcpy(l->of + l->count, b->distances.bits, l->distances);
    l->count += l->distances;
    for (unsigned at = 0; at < l->count;) {
        at += repeated(l, at, &symbol);
        l->code.uses[symbol]++;
    }
    make_code(&l->code, LENGTHS, LENGTHS_BITS);
    for (l->codes = LENGTHS; l->codes > 4 && l->code.bits[deflate_nth_length(l->codes - 1)] == 0;)
        l->codes--;
}

static void put_lengths(struct deflate_writer *w, const struct lengths *l)
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

static uint64_t cost_code(const struct deflate_code *c, unsigned symbols)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < symbols; i++)
        sum += (uint64_t)c->uses[i] * c->bits[i];
    return sum;
}

/* Bits of a block's symbols, without the extra bits, which are the same with any code. */
static uint64_t cost(const struct deflate_block *b)
{
    uint64_t sum = cost_code(&b->distances, DISTANCES);
    for (unsigned i = 0; i < b->lanes; i++)
        sum += cost_code(&b->literals[i], LITERALS);
    return sum;
}

static uint64_t cost_lengths(const struct lengths *l)
{
    const uint32_t *uses = l->code.uses;
    return 14 + 3 * l->codes + cost_code(&l->code, LENGTHS) + 2 * uses[16] + 3 * uses[17] + 7 * uses[18];
}

static void make_fixed(struct deflate_block *b)
{
    memset(b->literals->bits, 8, FIXED);
    memset(b->literals->bits + 144, 9, 256 - 144);
    memset(b->literals->bits + 256, 7, 280 - 256);
    memset(b->distances.bits, 0, DISTANCES);
    memset(b->distances.bits, 5, DISTANCES_FIXED);
    number_codes(b->literals, FIXED);
    number_codes(&b->distances, DISTANCES);
}

void deflate_measure(struct deflate_block *b)
{
    for (unsigned i = 0; i < b->lanes; i++)
        make_code(&b->literals[i], LITERALS, CODE_BITS);
    make_code(&b->distances, DISTANCES, CODE_BITS);
}

void deflate_clear(struct deflate_block *b, size_t begin)
{
    b->count = 0;
    b->begin = b->at = begin;
    for (unsigned i = 0; i < b->lanes; i++)
        memset(b->literals[i].uses, 0, sizeof b->literals[i].uses);
    memset(b->distances.uses, 0, sizeof b->distances.uses);
}

void deflate_put(struct deflate_writer *w, struct deflate_block *b, bool last)
{
    struct lengths l;
    b->literals[b->at & (b->lanes - 1)].uses[END_OF_BLOCK]++;
    deflate_measure(b);
    measure_lengths(&l, b);
    uint64_t own = cost(b) + cost_lengths(&l);
    struct deflate_code literals = *b->literals, distances = b->distances;
    bool fixed = false;
    if (!w->far) {
        make_fixed(b);
        fixed = cost(b) <= own;
    }
    if (!fixed) {
        *b->literals = literals;
        b->distances = distances;
    }
    put(w, last, 1);
    put(w, fixed ? 1 : b->lanes == 1 ? 2 : 3, 2);
    if (!fixed)
        put_lengths(w, &l);
    put_tokens(w, b);
    *b->literals = literals;
    b->distances = distances;
    deflate_clear(b, b->at);
}

void deflate_end(struct deflate_writer *w)
{
    for (put(w, 0, 7); w->count >= 8; w->count -= 8, w->held >>= 8)
        buf_putc(w->out, (char)(w->held & 0xff));
}

struct deflate_block *deflate_block_new(unsigned lanes, size_t tokens)
{
    struct deflate_block *b = mem_alloc(sizeof *b + tokens * sizeof *b->tokens);
    *b = (struct deflate_block){.lanes = lanes};
    return b;
}

/* ---- search for copies ---- */

struct deflate_chains *deflate_chains_new(unsigned bytes, unsigned bits, size_t window)
{
    size_t heads = (size_t)1 << bits;
    struct deflate_chains *c = mem_alloc(sizeof *c + (heads + window) * sizeof *c->head);
    *c = (struct deflate_chains){.bytes = bytes, .bits = bits, .window = window, .before = c->head + heads};
    return c;
}

static size_t hash(const struct deflate_chains *c, struct slice in, size_t at)
{
    uint64_t n = 0;
    memcpy(&n, in.ptr + at, c->bytes);
    return n * 0x9e3779b97f4a7c15u >> (64 - c->bits);
}

size_t deflate_first(const struct deflate_chains *c, struct slice in, size_t at)
{
    return in.len - at < c->bytes ? 0 : c->head[hash(c, in, at)];
}

size_t deflate_next(const struct deflate_chains *c, size_t from)
{
    size_t next = c->before[(from - 1) & (c->window - 1)];
    return next < from ? next : 0; /* not below: its place was given to a later one */
}

void deflate_enter(struct deflate_chains *c, struct slice in, size_t at)
{
    if (in.len - at < c->bytes)
        return;
    uint32_t *head = c->head + hash(c, in, at);
    c->before[at & (c->window - 1)] = *head;
    *head = (uint32_t)at + 1;
}

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

/* The longest copy of the text at `at`, of at most `room` bytes; below DEFLATE_SHORTEST: none. */
static size_t find(struct deflate_chains *c, struct slice in, size_t at, size_t room, size_t *distance)
{
    size_t best = 0, from = deflate_first(c, in, at);
    for (int tries = TRIES; from && at - (from - 1) <= c->window && tries > 0; tries--, from = deflate_next(c, from)) {
        size_t n = count_equal(in.ptr + from - 1, in.ptr + at, room);
        if (n > best) {
            best = n;
            *distance = at - (from - 1);
        }
    }
    for (size_t n = best < DEFLATE_SHORTEST ? 1 : best; n > 0; n--)
        deflate_enter(c, in, at++);
    return best;
}

/* The same of the last place with the same hash. Places inside copies are left out. */
static size_t find_quick(struct deflate_chains *c, struct slice in, size_t at, size_t room, size_t *distance)
{
    uint32_t bytes;
    if (room < sizeof bytes)
        return 0;
    memcpy(&bytes, in.ptr + at, sizeof bytes);
    uint32_t *head = c->head + (bytes * 0x9e3779b1u >> (32 - QUICK_BITS));
    size_t from = *head;
    *head = (uint32_t)at + 1;
    *distance = at + 1 - from;
    return from && *distance <= DEFLATE_WINDOW ? count_equal(in.ptr + from - 1, in.ptr + at, room) : 0;
}

static bool compress(struct slice in, struct deflate_chains *c, __typeof__(find) *search, struct buf *out)
{
    struct deflate_block *b = deflate_block_new(1, DEFLATE_TOKENS);
    struct deflate_writer w = {.out = out};
    for (size_t at = 0; at < in.len && !out->full; at = b->at) {
        size_t distance = 0, length = search(c, in, at, in.len - at < DEFLATE_LONGEST ? in.len - at : DEFLATE_LONGEST, &distance);
        struct deflate_token literal = {0, (unsigned char)in.ptr[at]};
        if (b->count == DEFLATE_TOKENS)
            deflate_put(&w, b, false);
        deflate_add(b, length < DEFLATE_SHORTEST ? literal : deflate_copy(length, distance));
    }
    deflate_put(&w, b, true);
    deflate_end(&w);
    mem_free(b);
    mem_free(c);
    return !out->full;
}

bool deflate(struct slice in, struct buf *out)
{
    return compress(in, deflate_chains_new(DEFLATE_SHORTEST, DEFLATE_HASH_BITS, DEFLATE_WINDOW), find, out);
}

bool deflate_quick(struct slice in, struct buf *out)
{
    return compress(in, deflate_chains_new(sizeof(uint32_t), QUICK_BITS, 0), find_quick, out);
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
