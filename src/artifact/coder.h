/* The code of the compressed program in a carried form: tokens, each of them a literal byte or a copy of earlier bytes, as symbols of 4
 * bits. The probabilities of a symbol adapt to those before it in the same context. The symbols of a segment are coded by rANS (Jarek
 * Duda, asymmetric numeral systems) with two states that take turns. Packer (squeeze.c) and unpacker (unpack.c, which is in the stub)
 * include this file: each defines code_symbol and code_bits, which take a symbol in the packer and return it in the unpacker. Probabilities
 * are added up as vectors of 16 numbers, as fast as unpacking must be. */
#ifndef MOBULA_ARTIFACT_CODER_H
#define MOBULA_ARTIFACT_CODER_H

#include <mobula/carried.h>

enum {
    CODER_SEGMENT = 32 * KIB, /* bytes of the program whose symbols are coded as one number */
    CODER_BITS = 15,          /* of a probability */
    CODER_ONE = 1 << CODER_BITS,
    CODER_STATE = 1 << 16, /* first and lowest value of a state */
    CODER_STATES = 2,
    CODER_SYMBOLS = 16,
    CODER_COPIES = 3,     /* distances of the last copies, which have commands of their own */
    CODER_HISTORIES = 27, /* of three tokens */
    CODER_SHORTEST = 3,   /* bytes of a copy with a new distance */
    CODER_LONGEST = 258,
    CODER_LONG = 14, /* a copy with a new distance that is as long has its length beside the command */
    CODER_NEAR = 256 /* distances are coded in 8 bits up to here; above it in as many as they have */
};

typedef int16_t coder_vector __attribute__((vector_size(16), aligned(2)));

/* A context: the probabilities of all lower symbols, added up, for each symbol. */
struct coder_model {
    union {
        uint16_t below[CODER_SYMBOLS];
        coder_vector half[2];
    };
    int16_t pace; /* the weight of the next symbol is 2^-(pace / 4) */
};

/* Literals: the upper half of the byte in two contexts (before; ahead), whose probabilities are averaged, then the lower one. */
struct coder_models {
    struct coder_model command[CODER_HISTORIES][4], before[256], ahead[256 + 64], lower[4 * 256];
    struct coder_model length[CODER_COPIES + 1][2], scale[4], near[CODER_SYMBOLS + 1], last[4];
};

/* The tokens before: kinds of the last three, and distances of the last copies, the latest first. */
struct coder_past {
    uint32_t history, distance[CODER_COPIES];
};

struct coder {
    struct coder_models models;
    struct coder_past past;
    unsigned align; /* 3: contexts and distances depend on the place in an instruction of 4 bytes; 0: they do not */
    struct coder_flow *flow;
};

enum coder_kind { CODER_LITERAL, CODER_AGAIN, CODER_COPY }; /* AGAIN: with one of the last distances */

struct coder_token {
    uint16_t length, kind;
    uint32_t value; /* the byte; which of the last distances; the distance */
};

static unsigned code_symbol(struct coder *c, struct coder_model *a, struct coder_model *b, unsigned symbol); /* b: NULL: none */
static unsigned code_bits(struct coder *c, unsigned count, unsigned value);

static inline void coder_init(struct coder *c, uint16_t machine)
{
    enum { FIRST_PACE = 3 * 4 };
    struct coder_model *m = (struct coder_model *)&c->models;
    for (size_t i = 0; i < sizeof c->models / sizeof *m; i++) {
        m[i].pace = FIRST_PACE;
        for (unsigned k = 0; k < CODER_SYMBOLS; k++)
            m[i].below[k] = (uint16_t)(k * (CODER_ONE / CODER_SYMBOLS));
    }
    c->align = machine == EM_AARCH64 ? 3 : 0;
    c->past = (struct coder_past){0, {4, 8, 12}};
}

static inline coder_vector coder_all(unsigned n)
{
    int16_t s = (int16_t)n;
    return (coder_vector){s, s, s, s, s, s, s, s};
}

/* numbers: of the symbols of this half. */
static inline coder_vector coder_adapt_half(coder_vector below, coder_vector numbers, coder_vector symbol, int rate)
{
    coder_vector goal = ((numbers > symbol) & coder_all(CODER_ONE - CODER_SYMBOLS)) + numbers;
    return below + ((goal - below) >> rate);
}

/* Moves the probabilities towards the symbol. Each keeps at least 1. slowest: the pace at which a context ends. */
static inline void coder_adapt(struct coder_model *m, unsigned symbol, int slowest)
{
    const coder_vector first = {0, 1, 2, 3, 4, 5, 6, 7}, second = {8, 9, 10, 11, 12, 13, 14, 15};
    coder_vector all = coder_all(symbol);
    int pace = m->pace;
    m->pace = (int16_t)(pace + (pace < slowest));
    m->half[0] = coder_adapt_half(m->half[0], first, all, pace / 4);
    m->half[1] = coder_adapt_half(m->half[1], second, all, pace / 4);
}

/* ---- contexts ---- */

static inline struct coder_model *coder_command(struct coder *c, const struct coder_past *p, size_t place)
{
    return &c->models.command[p->history][place & c->align];
}

static inline unsigned coder_byte(const unsigned char *text, size_t place, size_t distance)
{
    return distance <= place ? text[place - distance] : 0;
}

static inline struct coder_model *coder_before(struct coder *c, const unsigned char *text, size_t place)
{
    unsigned byte = coder_byte(text, place, 1);
    return &c->models.before[c->align ? byte >> 4 | (place & c->align) << 4 : byte];
}

/* Behind a copy: the byte that would continue it. Else: the second byte before. */
static inline struct coder_model *coder_ahead(struct coder *c, const struct coder_past *p, const unsigned char *text, size_t place)
{
    size_t at = place & c->align;
    bool literal = p->history % 3 == CODER_LITERAL;
    return &c->models.ahead[literal ? coder_byte(text, place, 2) >> 3 | at << 5
                                    : 256 + (coder_byte(text, place, p->distance[0]) >> 4 | at << 4)];
}

static inline struct coder_model *coder_lower(struct coder *c, const unsigned char *text, size_t place, unsigned upper)
{
    return &c->models.lower[(place & c->align) << 8 | upper << 4 | coder_byte(text, place, 1) >> 4];
}

static inline struct coder_model *coder_scale(struct coder *c, unsigned length)
{
    return &c->models.scale[length < CODER_SHORTEST + 3 ? length - CODER_SHORTEST : 3];
}

/* The number of bits of a distance, less one, as a symbol; 0: the distance is near. */
static inline unsigned coder_scale_of(uint32_t distance)
{
    return distance <= CODER_NEAR ? 0 : 24 - (unsigned)__builtin_clz(distance - 1);
}

/* 0: a literal. 1 to 3: AGAIN. 4 and more: a copy, with its length up to 15. */
static inline unsigned coder_command_of(struct coder_token t)
{
    return t.kind == CODER_LITERAL ? 0
           : t.kind == CODER_AGAIN ? 1 + t.value
           : t.length < CODER_LONG ? 1u + CODER_COPIES + t.length - CODER_SHORTEST
                                   : CODER_SYMBOLS - 1;
}

static inline void coder_remember(struct coder_past *p, struct coder_token t)
{
    p->history = (p->history * 3 + t.kind) % CODER_HISTORIES;
    if (t.kind == CODER_LITERAL)
        return;
    uint32_t i = t.kind == CODER_AGAIN ? t.value : CODER_COPIES - 1, distance = t.kind == CODER_AGAIN ? p->distance[i] : t.value;
    for (; i > 0; i--)
        p->distance[i] = p->distance[i - 1];
    p->distance[0] = distance;
}

/* ---- tokens ---- */

/* A number below 15 takes one symbol, below 30 two; the largest is 285. */
static inline unsigned code_length(struct coder *c, struct coder_model m[2], unsigned n)
{
    enum { MORE = CODER_SYMBOLS - 1 };
    unsigned first = code_symbol(c, &m[0], NULL, n < MORE ? n : MORE), second;
    if (first < MORE)
        return first;
    second = code_symbol(c, &m[1], NULL, n < 2 * MORE ? n - MORE : MORE);
    return second < MORE ? MORE + second : 2 * MORE + code_bits(c, 8, n - 2 * MORE);
}

static inline uint32_t code_distance(struct coder *c, unsigned length, size_t place, uint32_t distance)
{
    uint32_t n = distance - 1, scale = code_symbol(c, coder_scale(c, length), NULL, coder_scale_of(distance)), upper = 0;
    if (scale == 0) {
        upper = code_symbol(c, &c->models.near[CODER_SYMBOLS], NULL, n >> 4);
        return 1 + (upper << 4 | code_symbol(c, &c->models.near[upper], NULL, n & 15));
    }
    upper = 1u << (scale - 1) | code_bits(c, scale - 1, n >> 8 & ((1u << (scale - 1)) - 1));
    upper = upper << 4 | code_bits(c, 4, n >> 4 & 15);
    return 1 + (upper << 4 | (c->align ? code_symbol(c, &c->models.last[place & c->align], NULL, n & 15) : code_bits(c, 4, n & 15)));
}

static inline unsigned code_literal(struct coder *c, const unsigned char *text, size_t place, unsigned byte)
{
    unsigned upper = code_symbol(c, coder_before(c, text, place), coder_ahead(c, &c->past, text, place), byte >> 4);
    return upper << 4 | code_symbol(c, coder_lower(c, text, place, upper), NULL, byte & 15);
}

/* Codes the token for this place of the text. The unpacker gets it. */
static inline struct coder_token code_token(struct coder *c, const unsigned char *text, size_t place, struct coder_token t)
{
    unsigned command = code_symbol(c, coder_command(c, &c->past, place), NULL, coder_command_of(t));
    if (command == 0) {
        t = (struct coder_token){1, CODER_LITERAL, code_literal(c, text, place, t.value)};
    } else if (command <= CODER_COPIES) {
        unsigned length = 1 + code_length(c, c->models.length[command], t.length - 1u);
        t = (struct coder_token){(uint16_t)length, CODER_AGAIN, command - 1};
    } else {
        unsigned length = command - 1 - CODER_COPIES + CODER_SHORTEST;
        if (command == CODER_SYMBOLS - 1)
            length = CODER_LONG + code_length(c, c->models.length[0], t.length - (unsigned)CODER_LONG);
        t = (struct coder_token){(uint16_t)length, CODER_COPY, code_distance(c, length, place, t.value)};
    }
    coder_remember(&c->past, t);
    return t;
}

/* The pace at which a context ends: those of literals change sooner. */
static inline int coder_slowest(const struct coder_model *b)
{
    return 4 * (b ? 6 : 7);
}

#endif
