/* Compresses to DEFLATE, some 5 % smaller than deflate() and five times as slow, for the carried form (src/artifact/carry.c): its length is
 * limited. The text is cut into segments, each of which becomes a block. For a segment the shortest encoding in bits is computed from its
 * end backwards: at each place a literal or one of the copies found there. A symbol costs its code length of the round before. */
#include "deflate.h"

enum {
    SEGMENT = DEFLATE_TOKENS, /* bytes that become one block */
    FOUND = 8,                /* copies that are remembered for one place, each longer and farther than the one before */
    ROUNDS = 3,
    TRIES = 256,     /* places that are compared with each one to compress */
    UNUSED_BITS = 12 /* cost of a symbol that the round before did not use */
};

struct copies {
    struct deflate_token of[FOUND];
    unsigned count;
};

struct segment {
    struct slice in;    /* the whole text */
    size_t begin, size; /* this part of it */
    struct deflate_chains chains;
    struct copies copies[SEGMENT];
    struct deflate_token choice[SEGMENT];
    uint32_t cost[SEGMENT + 1]; /* of all from this place on, in bits */
    uint32_t length_cost[DEFLATE_LONGEST + 1];
    struct deflate_block block;
};

/* ---- search ---- */

static void find_copies(struct segment *s, size_t place)
{
    size_t at = s->begin + place, rest = s->size - place, room = rest < DEFLATE_LONGEST ? rest : DEFLATE_LONGEST;
    struct copies *to = &s->copies[place];
    const char *here = s->in.ptr + at;
    size_t from = deflate_first(&s->chains, s->in, at), best = DEFLATE_SHORTEST - 1;
    to->count = 0;
    for (int tries = TRIES; from && at - (from - 1) <= DEFLATE_WINDOW && best < room && tries > 0; tries--) {
        const char *there = s->in.ptr + from - 1;
        size_t n = 0;
        while (there[best] == here[best] && n < room && there[n] == here[n])
            n++;
        if (n > best) {
            best = n;
            to->count -= to->count == FOUND;
            to->of[to->count++] = (struct deflate_token){(uint16_t)n, (uint16_t)(here - there - 1)};
        }
        from = deflate_next(&s->chains, from);
    }
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
        unsigned symbol = deflate_symbol((struct deflate_token){(uint16_t)n, 0}, &extra);
        s->length_cost[n] = symbol_cost(&s->block.literals, symbol) + extra;
    }
}

static void choose_at(struct segment *s, size_t place)
{
    unsigned extra;
    const struct copies *c = &s->copies[place];
    struct deflate_token best = {0, (unsigned char)s->in.ptr[s->begin + place]};
    uint32_t least = s->cost[place + 1] + symbol_cost(&s->block.literals, best.value);
    uint16_t n = DEFLATE_SHORTEST;
    for (unsigned i = 0; i < c->count; i++) { /* the nearest copy of each length */
        uint32_t far = symbol_cost(&s->block.distances, deflate_distance(c->of[i], &extra));
        for (far += extra; n <= c->of[i].length; n++) {
            uint32_t cost = s->cost[place + n] + s->length_cost[n] + far;
            if (cost < least) {
                least = cost;
                best = (struct deflate_token){n, c->of[i].value};
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
    deflate_clear(&s->block);
    for (size_t place = 0; place < s->size; place += s->choice[place].length ? s->choice[place].length : 1)
        deflate_add(&s->block, s->choice[place]);
}

static void put_segment(struct segment *s, struct deflate_writer *w)
{
    for (size_t place = 0; place < s->size; place++) {
        find_copies(s, place);
        deflate_enter(&s->chains, s->in, s->begin + place);
    }
    for (int round = 0; round < ROUNDS; round++) {
        choose(s);
        deflate_measure(&s->block);
    }
    deflate_put(w, &s->block, s->begin + s->size == s->in.len);
}

bool deflate_smallest(struct slice in, struct buf *out)
{
    struct segment *s = mem_alloc(sizeof *s);
    struct deflate_writer w = {.out = out};
    s->in = in;
    do {
        s->size = in.len - s->begin < SEGMENT ? in.len - s->begin : SEGMENT;
        put_segment(s, &w);
        s->begin += s->size;
    } while (s->begin < in.len && !out->full);
    deflate_end(&w);
    mem_free(s);
    return !out->full;
}
