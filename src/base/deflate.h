/* deflate: what its two searches for copies share. deflate() takes the first long copy that it finds (deflate.c); deflate_far()
 * compares what all copies of a segment cost (deflate_far.c). Both write blocks by deflate.c. */
#ifndef MOBULA_BASE_DEFLATE_H
#define MOBULA_BASE_DEFLATE_H

#include <mobula/base.h>

enum {
    DEFLATE_HASH_BITS = 15,
    DEFLATE_WINDOW = 32 * 1024,
    DEFLATE_SHORTEST = 3, /* bytes of a copy */
    DEFLATE_LONGEST = 258,
    DEFLATE_LITERALS = 286,
    DEFLATE_DISTANCES = 42, /* RFC 1951 has 30 of them; deflate_far() goes on counting */
    DEFLATE_FIXED = 288,    /* symbols of the fixed literal/length code: 286 and 287 are never used */
    DEFLATE_END_OF_BLOCK = 256,
    DEFLATE_TOKENS = 20 * 1024 /* most literals and copies of a block of deflate() */
};

struct deflate_writer {
    struct buf *out;
    uint64_t held; /* bits that are not written yet, the first one lowest */
    unsigned count;
    bool far; /* the stream is one of deflate_far() */
};

struct deflate_code {
    uint32_t uses[DEFLATE_FIXED];
    uint8_t bits[DEFLATE_FIXED];
    uint16_t code[DEFLATE_FIXED]; /* bits in reverse: codes are written highest bit first, all else lowest first */
};

struct deflate_token {
    uint32_t length : 9; /* of a copy; 0: a literal */
    uint32_t value : 23; /* the literal byte, or the copy's distance minus 1 */
};

/* The code for a literal or length at offset `at` is literals[at % lanes], of a power of 2. */
struct deflate_block {
    struct deflate_code literals[DEFLATE_LANES], distances;
    unsigned lanes; /* 1 or DEFLATE_LANES */
    size_t begin;   /* the offset of the block's text */
    size_t at;      /* the offset behind the last token */
    unsigned count;
    struct deflate_token tokens[];
};

struct deflate_chains {
    unsigned bytes, bits; /* how many bytes are hashed, and to how many bits */
    size_t window;        /* bytes, a power of 2 */
    uint32_t *before;     /* for each of the window: the place before it with the same hash, as in head */
    uint32_t head[];      /* 1 + the last place of bytes with this hash; 0: none */
};

static inline size_t deflate_length(struct deflate_token t)
{
    return t.length ? t.length : 1;
}

static inline struct deflate_token deflate_copy(size_t length, size_t distance)
{
    return (struct deflate_token){.length = (uint32_t)length & 0x1ff, .value = (uint32_t)(distance - 1) & 0x7fffff};
}

/* The symbol of a literal or of a copy's length, and of a copy's distance; *extra: how many bits select a value among those of the symbol.
 */
unsigned deflate_symbol(struct deflate_token t, unsigned *extra);
unsigned deflate_distance(struct deflate_token t, unsigned *extra);
/* There must be room for the token. */
void deflate_add(struct deflate_block *b, struct deflate_token t);
/* Sets the code lengths that the uses so far call for. */
void deflate_measure(struct deflate_block *b);
/* Removes all tokens; the next ones begin at this offset. */
void deflate_clear(struct deflate_block *b, size_t begin);
/* Writes the tokens as a block, and removes them; the next block begins behind it. The code lengths of its own codes remain, although the
 * fixed ones may have been used. */
void deflate_put(struct deflate_writer *w, struct deflate_block *b, bool last);
/* Fills the last byte. */
void deflate_end(struct deflate_writer *w);

/* Both are to be freed with mem_free. A block has room for so many tokens. */
struct deflate_block *deflate_block_new(unsigned lanes, size_t tokens);
struct deflate_chains *deflate_chains_new(unsigned bytes, unsigned bits, size_t window);
/* The first place with the same hash as `at`, as in struct deflate_chains; 0: none. */
size_t deflate_first(const struct deflate_chains *c, struct slice in, size_t at);
/* The next one behind `from`; 0: none. */
size_t deflate_next(const struct deflate_chains *c, size_t from);
void deflate_enter(struct deflate_chains *c, struct slice in, size_t at);

#endif
