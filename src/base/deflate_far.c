/* Compresses for the carried form (src/artifact/carry.c), whose length is limited: a program gets some 12 % smaller than by deflate(), half
 * of it because copies come from the whole program instead of the 32 KiB before them. The text is cut into segments, each of which becomes
 * a block. For a segment the shortest encoding in bits is computed from its end backwards: at each place a literal or one of the copies
 * found there. A symbol costs its code length of the round before. */
#include "deflate.h"

enum {
    WINDOW = 2 * MIB,
    SEGMENT = DEFLATE_TOKENS, /* bytes that become one block */
    FOUND = 8,                /* copies that are remembered for one place, each longer and farther than the one before */
    ROUNDS = 3,
    FAR_BYTES = 4, /* the shortest copy that is looked for outside the window of RFC 1951 */
    FAR_BITS = 18,
    TRIES_NEAR = 64,
    TRIES_FAR = 128, /* places outside that window that are compared with each one to compress; _NEAR: inside */
    UNUSED_BITS = 12 /* cost of a symbol that the round before did not use */
};

struct copies {
    struct deflate_token of[FOUND];
    unsigned count;
};

struct segment {
    struct slice in;    /* the whole text */
    size_t begin, size; /* this part of it */
    struct deflate_chains *near, *far;
    struct copies copies[SEGMENT];
    struct deflate_token choice[SEGMENT];
    uint32_t cost[SEGMENT + 1]; /* of all from this place on, in bits */
    uint32_t length_cost[DEFLATE_LANES][DEFLATE_LONGEST + 1];
    struct deflate_block *block;
};

/* ---- search ---- */

/* Appends the copies that the chains lead to and that are longer than *best. */
static void find_in(const struct deflate_chains *c, struct slice in, size_t at, size_t room, int tries, size_t *best, struct copies *to)
{
    const char *here = in.ptr + at;
    size_t from = deflate_first(c, in, at);
    for (; from && at - (from - 1) <= c->window && *best < room && tries > 0; tries--) {
        const char *there = in.ptr + from - 1;
        size_t n = 0;
        while (there[*best] == here[*best] && n < room && there[n] == here[n])
            n++;
        if (n > *best) {
            *best = n;
            to->count -= to->count == FOUND;
            to->of[to->count++] = deflate_copy(n, (size_t)(here - there));
        }
        from = deflate_next(c, from);
    }
}

static void find_copies(struct segment *s, size_t place)
{
    size_t at = s->begin + place, rest = s->size - place, room = rest < DEFLATE_LONGEST ? rest : DEFLATE_LONGEST;
    size_t best = DEFLATE_SHORTEST - 1;
    s->copies[place].count = 0;
    find_in(s->near, s->in, at, room, TRIES_NEAR, &best, &s->copies[place]);
    find_in(s->far, s->in, at, room, TRIES_FAR, &best, &s->copies[place]);
    deflate_enter(s->near, s->in, at);
    deflate_enter(s->far, s->in, at);
}

/* ---- choice ---- */

static uint32_t symbol_cost(const struct deflate_code *c, unsigned symbol)
{
    return c->bits[symbol] ? c->bits[symbol] : UNUSED_BITS;
}

static void measure_lengths(struct segment *s)
{
    unsigned extra;
    for (unsigned n = DEFLATE_SHORTEST; n <= DEFLATE_LONGEST; n++) {
        unsigned symbol = deflate_symbol(deflate_copy(n, 1), &extra);
        for (unsigned i = 0; i < s->block->lanes; i++)
            s->length_cost[i][n] = symbol_cost(&s->block->literals[i], symbol) + extra;
    }
}

static void choose_at(struct segment *s, size_t place)
{
    unsigned extra, lane = (unsigned)(s->begin + place) % s->block->lanes;
    const struct copies *c = &s->copies[place];
    struct deflate_token best = {0, (unsigned char)s->in.ptr[s->begin + place]};
    uint32_t least = s->cost[place + 1] + symbol_cost(&s->block->literals[lane], best.value);
    uint16_t n = DEFLATE_SHORTEST;
    for (unsigned i = 0; i < c->count; i++) { /* the nearest copy of each length */
        uint32_t far = symbol_cost(&s->block->distances, deflate_distance(c->of[i], &extra));
        for (far += extra; n <= c->of[i].length; n++) {
            uint32_t cost = s->cost[place + n] + s->length_cost[lane][n] + far;
            if (cost < least) {
                least = cost;
                best = deflate_copy(n, c->of[i].value + 1);
            }
        }
    }
    s->cost[place] = least;
    s->choice[place] = best;
}

static void choose(struct segment *s)
{
    measure_lengths(s);
    s->cost[s->size] = 0;
    for (size_t place = s->size; place-- > 0;)
        choose_at(s, place);
    deflate_clear(s->block, s->begin);
    for (size_t place = 0; place < s->size; place += deflate_length(s->choice[place]))
        deflate_add(s->block, s->choice[place]);
}

static void put_segment(struct segment *s, struct deflate_writer *w)
{
    for (size_t place = 0; place < s->size; place++)
        find_copies(s, place);
    for (int round = 0; round < ROUNDS; round++) {
        choose(s);
        deflate_measure(s->block);
    }
    deflate_put(w, s->block, s->begin + s->size == s->in.len);
}

bool deflate_far(struct slice in, unsigned lanes, struct buf *out)
{
    struct segment *s = mem_alloc(sizeof *s);
    struct deflate_writer w = {.out = out, .far = true};
    s->in = in;
    s->block = deflate_block_new(lanes, SEGMENT);
    s->near = deflate_chains_new(DEFLATE_SHORTEST, DEFLATE_HASH_BITS, DEFLATE_WINDOW);
    s->far = deflate_chains_new(FAR_BYTES, FAR_BITS, WINDOW);
    do {
        s->size = in.len - s->begin < SEGMENT ? in.len - s->begin : SEGMENT;
        put_segment(s, &w);
        s->begin += s->size;
    } while (s->begin < in.len && !out->full);
    deflate_end(&w);
    mem_free(s->near);
    mem_free(s->far);
    mem_free(s->block);
    mem_free(s);
    return !out->full;
}
