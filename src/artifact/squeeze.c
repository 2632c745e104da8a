/* Packs a program for its carried form, which unpack.c unpacks: a fifth smaller than deflate() does. Of all ways to write a segment as
 * literals and copies the cheapest is computed from its beginning on: each place has the price of the best way to it, in sixteenths of a
 * bit, and the distances of the last copies on that way. Prices are those of the contexts at the beginning of the segment. */
#include "private.h"

#include "coder.h"

enum {
    BIT = 16, /* price of a bit */
    FAR_WINDOW = 2 * MIB,
    FAR_BYTES = 4, /* the shortest copy that is looked for outside the near window */
    FAR_HASH = 18,
    NEAR_WINDOW = 32 * KIB,
    NEAR_HASH = 15,
    TRIES_NEAR = 32,                /* places in the near window that are compared with each one; _FAR: in the far one */
    TRIES_FAR = 48,                 /* 64 and 128 take a third longer, for 2 KB less */
    SYMBOLS_MAX = 3 * CODER_SEGMENT /* a literal has three symbols; no other token has as many for a byte */
};

/* The cheapest way to a place. */
struct station {
    uint32_t price, next;     /* next: the station behind it on the chosen way */
    struct coder_token token; /* the last one on the way here */
    struct coder_past past;
};

/* The share of the probabilities that a symbol has, and where it begins. */
struct share {
    uint16_t begin, size;
};

struct coder_flow {
    struct slice in; /* the whole text */
    size_t begin;    /* of the segment */
    struct chains *near, *far;
    struct station stations[CODER_SEGMENT + 1];
    uint16_t price[CODER_COPIES + 1][CODER_LONGEST + 1]; /* of a length; 0: of a copy with a new distance */
    uint32_t count;
    struct share shares[SYMBOLS_MAX];
    uint16_t words[SYMBOLS_MAX];
};

/* ---- symbols ---- */

static struct share share_of(const struct coder_model *a, const struct coder_model *b, unsigned symbol)
{
    b = b ? b : a;
    unsigned last = symbol == CODER_SYMBOLS - 1, begin = (unsigned)(a->below[symbol] + b->below[symbol]) / 2;
    unsigned end = last ? CODER_ONE : (unsigned)(a->below[symbol + 1] + b->below[symbol + 1]) / 2;
    return (struct share){(uint16_t)begin, (uint16_t)(end - begin)};
}

static unsigned code_symbol(struct coder *c, struct coder_model *a, struct coder_model *b, unsigned symbol)
{
    c->flow->shares[c->flow->count++] = share_of(a, b, symbol);
    coder_adapt(a, symbol, coder_slowest(b));
    if (b)
        coder_adapt(b, symbol, coder_slowest(b));
    return symbol;
}

static unsigned code_bits(struct coder *c, unsigned count, unsigned value)
{
    c->flow->shares[c->flow->count++] = (struct share){(uint16_t)(value << (CODER_BITS - count)), (uint16_t)(CODER_ONE >> count)};
    return value;
}

/* Writes the segment's symbols, from the last one to the first: the unpacker takes back what was done last. */
static bool put_symbols(struct coder_flow *f, struct buf *out)
{
    uint32_t states[CODER_STATES] = {CODER_STATE, CODER_STATE}, i = f->count;
    uint16_t *word = f->words + COUNT_OF(f->words);
    while (i-- > 0) {
        uint32_t *state = &states[i % CODER_STATES], size = f->shares[i].size;
        if (*state >= (uint64_t)size << (32 - CODER_BITS)) {
            *--word = (uint16_t)*state;
            *state >>= 16;
        }
        *state = *state / size << CODER_BITS | (*state % size + f->shares[i].begin);
    }
    f->count = 0;
    return buf_put(out, (struct slice){(const char *)states, sizeof states}) &&
           buf_put(out, (struct slice){(const char *)word, (size_t)((const char *)(f->words + COUNT_OF(f->words)) - (const char *)word)});
}

/* ---- prices ---- */

/* The logarithm of the share's size: the line between two powers of 2 lies close enough to it. */
static uint32_t price_share(struct share s)
{
    unsigned bits = 31 - (unsigned)__builtin_clz(s.size), part = ((unsigned)s.size * BIT >> bits) % BIT;
    return BIT * (CODER_BITS - bits) - part - (part > 1 && part < BIT - 2);
}

static uint32_t price(const struct coder_model *a, unsigned symbol)
{
    return price_share(share_of(a, NULL, symbol));
}

static uint32_t price_length(const struct coder_model m[2], unsigned n)
{
    enum { MORE = CODER_SYMBOLS - 1 };
    if (n < MORE)
        return price(&m[0], n);
    return price(&m[0], MORE) + (n < 2 * MORE ? price(&m[1], n - MORE) : price(&m[1], MORE) + 8 * BIT);
}

static void price_lengths(struct coder *c)
{
    for (unsigned n = 1; n <= CODER_LONGEST; n++) {
        for (unsigned i = 1; i <= CODER_COPIES; i++)
            c->flow->price[i][n] = (uint16_t)price_length(c->models.length[i], n - 1);
        c->flow->price[0][n] = n < CODER_LONG ? 0 : (uint16_t)price_length(c->models.length[0], n - CODER_LONG);
    }
}

/* Without the scale, which depends on the length. */
static uint32_t price_distance(const struct coder *c, size_t place, uint32_t distance)
{
    const struct coder_models *m = &c->models;
    uint32_t n = distance - 1, scale = coder_scale_of(distance);
    if (scale == 0)
        return price(&m->near[CODER_SYMBOLS], n >> 4) + price(&m->near[n >> 4], n & 15);
    return (scale - 1 + 4) * BIT + (c->align ? price(&m->last[place & c->align], n & 15) : 4 * BIT);
}

static uint32_t price_literal(struct coder *c, const struct coder_past *p, const unsigned char *text, size_t place)
{
    unsigned upper = text[place] >> 4;
    return price_share(share_of(coder_before(c, text, place), coder_ahead(c, p, text, place), upper)) +
           price(coder_lower(c, text, place, upper), text[place] & 15);
}

/* ---- the cheapest way ---- */

static void reach(struct station *from, uint32_t price, struct coder_token t)
{
    struct station *to = from + t.length;
    if (from->price + price < to->price) {
        to->price = from->price + price;
        to->token = t;
    }
}

static size_t same(const unsigned char *a, const unsigned char *b, size_t most)
{
    size_t n = 0;
    while (n < most && a[n] == b[n])
        n++;
    return n;
}

static void reach_again(struct coder *c, struct station *s, const unsigned char *text, size_t place, size_t room)
{
    for (unsigned i = 0; i < CODER_COPIES; i++) {
        size_t distance = s->past.distance[i], n = distance <= place ? same(text + place - distance, text + place, room) : 0;
        uint32_t command = price(coder_command(c, &s->past, place), 1 + i);
        for (; n > 0; n--)
            reach(s, command + c->flow->price[1 + i][n], (struct coder_token){(uint16_t)n, CODER_AGAIN, i});
    }
}

/* Copies by these chains that are longer than *best, each length from its nearest place. */
static void reach_copies(struct coder *c, const struct chains *chains, int tries, struct station *s, size_t place, size_t room,
                         size_t *best)
{
    struct slice in = c->flow->in;
    const unsigned char *text = (const unsigned char *)in.ptr;
    const struct coder_model *command = coder_command(c, &s->past, place);
    for (size_t from = 0; *best < room && tries > 0 && (from = chains_next(chains, in, place, from)) != 0; tries--) {
        if (text[from - 1 + *best] != text[place + *best])
            continue;
        size_t n = same(text + from - 1, text + place, room);
        uint32_t distance = (uint32_t)(place - (from - 1)), scale = coder_scale_of(distance), far = price_distance(c, place, distance);
        while (*best < n) {
            struct coder_token t = {(uint16_t)++ * best, CODER_COPY, distance};
            reach(s, far + price(command, coder_command_of(t)) + price(coder_scale(c, t.length), scale) + c->flow->price[0][t.length], t);
        }
    }
}

static void reach_all(struct coder *c, struct station *s, size_t place, size_t room)
{
    struct coder_flow *f = c->flow;
    const unsigned char *text = (const unsigned char *)f->in.ptr;
    size_t best = CODER_SHORTEST - 1;
    reach(s, price(coder_command(c, &s->past, place), 0) + price_literal(c, &s->past, text, place),
          (struct coder_token){1, CODER_LITERAL, text[place]});
    reach_again(c, s, text, place, room);
    reach_copies(c, f->near, TRIES_NEAR, s, place, room, &best);
    reach_copies(c, f->far, TRIES_FAR, s, place, room, &best);
    chains_enter(f->near, f->in, place);
    chains_enter(f->far, f->in, place);
}

static void choose(struct coder *c, size_t size)
{
    struct station *s = c->flow->stations;
    price_lengths(c);
    for (size_t i = 0; i <= size; i++)
        s[i].price = UINT32_MAX;
    s[0].price = 0;
    s[0].past = c->past;
    for (size_t i = 0, rest = size; i < size; i++, rest--) {
        reach_all(c, &s[i], c->flow->begin + i, rest < CODER_LONGEST ? rest : CODER_LONGEST);
        s[i + 1].past = s[i + 1 - s[i + 1].token.length].past;
        coder_remember(&s[i + 1].past, s[i + 1].token);
    }
    for (size_t i = size, before; i > 0; i = before) {
        before = i - s[i].token.length;
        s[before].next = (uint32_t)i;
    }
}

static bool put_segment(struct coder *c, size_t size, struct buf *out)
{
    struct coder_flow *f = c->flow;
    choose(c, size);
    for (size_t i = 0; i < size; i = f->stations[i].next)
        code_token(c, (const unsigned char *)f->in.ptr, f->begin + i, f->stations[f->stations[i].next].token);
    return put_symbols(f, out);
}

bool carried_pack(struct slice text, uint16_t machine, struct buf *out)
{
    struct coder *c = mem_alloc(sizeof *c);
    struct coder_flow *f = c->flow = mem_alloc(sizeof *f);
    bool room = true;
    coder_init(c, machine);
    f->in = text;
    f->near = chains_new(CODER_SHORTEST, NEAR_HASH, NEAR_WINDOW);
    f->far = chains_new(FAR_BYTES, FAR_HASH, FAR_WINDOW);
    for (size_t part; room && f->begin < text.len; f->begin += part) {
        part = text.len - f->begin < CODER_SEGMENT ? text.len - f->begin : CODER_SEGMENT;
        room = put_segment(c, part, out);
    }
    mem_free(f->near);
    mem_free(f->far);
    mem_free(f);
    mem_free(c);
    return room;
}
