/* Unpacks what squeeze.c has packed. The stub of the carried form contains this file, so it calls nothing. */
#include "coder.h"

struct coder_flow {
    const char *at, *end;
    uint32_t state, other; /* they take turns: `state` is next */
    bool ended;            /* more bytes were asked for than exist */
};

static uint32_t take_bytes(struct coder_flow *f, unsigned count)
{
    uint32_t n = 0;
    f->ended |= f->end - f->at < (ptrdiff_t)count;
    for (unsigned i = 0; i < count && !f->ended; i++)
        n |= (uint32_t)(unsigned char)*f->at++ << 8 * i;
    return n;
}

static inline void set_state(struct coder_flow *f, uint32_t state)
{
    if (state < CODER_STATE)
        state = state << 16 | take_bytes(f, 2);
    f->state = f->other;
    f->other = state;
}

static unsigned code_bits(struct coder *c, unsigned count, unsigned value)
{
    struct coder_flow *f = c->flow;
    uint32_t rest = f->state % CODER_ONE, share = CODER_ONE >> count;
    value = rest >> (CODER_BITS - count);
    set_state(f, share * (f->state >> CODER_BITS) + rest % share);
    return value;
}

/* How many of 16 numbers in ascending order are not above the limit. */
static inline unsigned count_below(const coder_vector half[2], coder_vector limit)
{
    coder_vector low = half[0] <= limit, high = half[1] <= limit;
#ifdef __SSE2__
    typedef char bytes __attribute__((vector_size(16)));
    return (unsigned)__builtin_ctz(~(unsigned)__builtin_ia32_pmovmskb128((bytes)__builtin_ia32_packsswb128(low, high)));
#else
    typedef uint64_t quarters __attribute__((vector_size(16)));
    quarters counts = (quarters) - (low + high);
    return (unsigned)((counts[0] + counts[1]) * 0x0001000100010001u >> 48);
#endif
}

/* The symbol is the last one whose sum of lower probabilities is not above the lowest bits of the state. */
static inline __attribute__((always_inline)) unsigned code_symbol(struct coder *c, struct coder_model *a, struct coder_model *b,
                                                                  unsigned symbol)
{
    typedef uint16_t sums __attribute__((vector_size(16)));
    struct coder_flow *f = c->flow;
    struct {
        coder_vector half[2];
        uint16_t end;
    } all = {{a->half[0], a->half[1]}, CODER_ONE};
    if (b) {
        all.half[0] = (coder_vector)(((sums)a->half[0] + (sums)b->half[0]) >> 1);
        all.half[1] = (coder_vector)(((sums)a->half[1] + (sums)b->half[1]) >> 1);
    }
    symbol = count_below(all.half, coder_all(f->state % CODER_ONE)) - 1;
    const uint16_t *below = (const uint16_t *)(const void *)&all + symbol;
    set_state(f, (uint32_t)(below[1] - below[0]) * (f->state >> CODER_BITS) + f->state % CODER_ONE - below[0]);
    coder_adapt(a, symbol, coder_slowest(b));
    if (b)
        coder_adapt(b, symbol, coder_slowest(b));
    return symbol;
}

static bool write_token(const struct coder *c, struct coder_token t, char *text, size_t place, size_t size)
{
    size_t distance = c->past.distance[0];
    char *to = text + place;
    if (t.kind == CODER_LITERAL)
        *to = (char)t.value;
    else if (distance > place || t.length > size - place)
        return false;
    else
        for (size_t i = 0; i < t.length; i++) /* the copied bytes may be those that have just been written */
            to[i] = to[(ptrdiff_t)(i - distance)];
    return true;
}

bool carried_unpack(struct slice packed, uint16_t machine, char *text, size_t size)
{
    struct coder c = {0};
    struct coder_flow f = {.at = packed.ptr, .end = packed.ptr + packed.len, .state = CODER_STATE, .other = CODER_STATE};
    struct coder_token t = {0};
    coder_init(&c, machine);
    c.flow = &f;
    for (size_t place = 0; place < size; place += t.length) {
        if (place % CODER_SEGMENT == 0) {
            if (f.state != CODER_STATE || f.other != CODER_STATE)
                return false;
            f.state = take_bytes(&f, 4);
            f.other = take_bytes(&f, 4);
        }
        t = code_token(&c, (const unsigned char *)text, place, t);
        if (f.ended || !write_token(&c, t, text, place, size))
            return false;
    }
    return f.state == CODER_STATE && f.other == CODER_STATE && f.at == f.end;
}
