/* Compresses to DEFLATE (RFC 1951): blocks with dynamic Huffman codes, or with the fixed codes where those are shorter. */
#include <mobula/base.h>

enum {
    HASH_BITS = 15,
    WINDOW = 32 * 1024,
    SHORTEST = 3,
    LONGEST = 258,
    TRIES = 128,
    QUICK = 4, /* tries of deflate_quick */
    END_OF_BLOCK = 256,
    LITERALS = 286,
    DISTANCES = 30,
    FIXED = 288, /* symbols of the fixed literal/length code: 286 and 287 are never used */
    LENGTHS = 19,
    LENGTHS_BITS = 7,
    CODE_BITS = 15,
    TOKENS = 24 * 1024 /* most literals and copies of a block */
};

/* ---- bits ---- */

struct writer {
    struct buf *out;
    uint32_t held; /* bits of a byte that is not full, the first one lowest */
    unsigned count;
};

/* The lowest bits of value, lowest first. */
__attribute__((noinline)) static void put(struct writer *w, uint32_t value, unsigned bits)
{
    w->held |= value << w->count;
    for (w->count += bits; w->count >= 8; w->count -= 8) {
        buf_putc(w->out, (char)(w->held & 0xff));
        w->held >>= 8;
    }
}

/* ---- Huffman codes ---- */

struct code {
    uint32_t uses[FIXED];
    uint8_t bits[FIXED];
    uint16_t code[FIXED]; /* bits in reverse: codes are written highest bit first, all else lowest first */
};

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

struct token {
    uint16_t length; /* of a copy; 0: a literal */
    uint16_t value;  /* the literal byte, or the copy's distance minus 1 */
};

struct block {
    struct token tokens[TOKENS];
    unsigned count;
    struct code literals, distances;
};

/* Returns the number of the range that holds the value; *extra: the bits that select a value in it. Ranges have 1 value each at first; from
 * range 2^(same+1) on, each 2^same ranges are twice as large as those before. */
static unsigned range_of(uint32_t value, unsigned same, unsigned *extra)
{
    *extra = 0;
    while (value >> *extra >> (same + 1))
        ++*extra;
    return (*extra << same) + (value >> *extra);
}

static unsigned symbol_of(const struct token *t, unsigned *extra)
{
    *extra = 0;
    if (t->length == 0)
        return t->value;
    return t->length == LONGEST ? LITERALS - 1 : END_OF_BLOCK + 1 + range_of(t->length - SHORTEST, 2, extra);
}

static void add_token(struct block *b, unsigned length, unsigned value)
{
    struct token *t = &b->tokens[b->count++];
    unsigned extra;
    *t = (struct token){(uint16_t)length, (uint16_t)value};
    b->literals.uses[symbol_of(t, &extra)]++;
    if (length)
        b->distances.uses[range_of(value, 1, &extra)]++;
}

static void put_tokens(struct writer *w, const struct block *b)
{
    unsigned extra;
    for (const struct token *t = b->tokens; t < b->tokens + b->count; t++) {
        put_symbol(w, &b->literals, symbol_of(t, &extra));
        if (t->length == 0)
            continue;
        put(w, (t->length - SHORTEST) & ((1u << extra) - 1), extra);
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
    put(w, l->distances - 1, 5);
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

static void put_block(struct writer *w, struct block *b, bool last)
{
    struct lengths l;
    b->literals.uses[END_OF_BLOCK]++;
    make_code(&b->literals, LITERALS, CODE_BITS);
    make_code(&b->distances, DISTANCES, CODE_BITS);
    measure_lengths(&l, b);
    uint64_t own = cost(b) + cost_lengths(&l);
    struct code literals = b->literals, distances = b->distances;
    make_fixed(b);
    bool fixed = cost(b) <= own;
    if (!fixed) {
        b->literals = literals;
        b->distances = distances;
    }
    put(w, last, 1);
    put(w, fixed ? 1 : 2, 2);
    if (!fixed)
        put_lengths(w, &l);
    put_tokens(w, b);
    b->count = 0;
    memset(b->literals.uses, 0, sizeof b->literals.uses);
    memset(b->distances.uses, 0, sizeof b->distances.uses);
}

/* ---- search for copies ---- */

struct chains {
    uint32_t head[1 << HASH_BITS]; /* 1 + the last place of three bytes with this hash; 0: none */
    uint32_t before[WINDOW];       /* the place before that with the same hash, as in head */
};

static uint32_t *chain_at(struct chains *c, struct slice in, size_t at)
{
    const unsigned char *p = (const unsigned char *)in.ptr + at;
    return &c->head[(p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16) * 2654435761u >> (32 - HASH_BITS)];
}

/* The longest copy of what stands at `at`; below SHORTEST: none. */
static uint32_t find(struct chains *c, struct slice in, size_t at, int tries, uint32_t *distance)
{
    size_t room = in.len - at < LONGEST ? in.len - at : LONGEST;
    uint32_t best = 0;
    if (room < SHORTEST)
        return 0;
    size_t from = *chain_at(c, in, at);
    for (; from && at - (from - 1) <= WINDOW && tries > 0; tries--) {
        uint32_t n = 0;
        while (n < room && in.ptr[from - 1 + n] == in.ptr[at + n])
            n++;
        if (n > best) {
            best = n;
            *distance = (uint32_t)(at - (from - 1));
        }
        size_t next = c->before[(from - 1) % WINDOW];
        if (next >= from) /* its place was given to a later one */
            break;
        from = next;
    }
    return best;
}

static void enter(struct chains *c, struct slice in, size_t at)
{
    if (in.len - at < SHORTEST)
        return;
    uint32_t *head = chain_at(c, in, at);
    c->before[at % WINDOW] = *head;
    *head = (uint32_t)at + 1;
}

static bool compress(struct slice in, int tries, struct buf *out)
{
    struct chains *c = mem_alloc(sizeof *c);
    struct block *b = mem_alloc(sizeof *b);
    struct writer w = {.out = out};
    for (size_t at = 0; at < in.len && !out->full;) {
        uint32_t distance = 0, length = find(c, in, at, tries, &distance);
        if (b->count == TOKENS)
            put_block(&w, b, false);
        if (length >= SHORTEST) {
            add_token(b, length, distance - 1);
        } else {
            add_token(b, 0, (unsigned char)in.ptr[at]);
            length = 1;
        }
        for (; length > 0; length--)
            enter(c, in, at++);
    }
    put_block(&w, b, true);
    put(&w, 0, 7); /* fills its byte */
    mem_free(b);
    mem_free(c);
    return !out->full;
}

bool deflate(struct slice in, struct buf *out)
{
    return compress(in, TRIES, out);
}

bool deflate_quick(struct slice in, struct buf *out)
{
    return compress(in, QUICK, out);
}

uint32_t crc32(struct slice in)
{
    uint32_t crc = UINT32_MAX, table[256];
    for (uint32_t i = 0; i < COUNT_OF(table); i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    for (size_t i = 0; i < in.len; i++)
        crc = crc >> 8 ^ table[(crc ^ (unsigned char)in.ptr[i]) & 0xff];
    return ~crc;
}
