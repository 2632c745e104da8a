/* RFC 1951 as it is written: one block with the fixed code. A third of source code is left, where the best compressors leave a quarter. */
#include <mobula/base.h>

enum { HASH_BITS = 13, WINDOW = 32 * 1024, SHORTEST = 3, LONGEST = 258, TRIES = 64, END_OF_BLOCK = 256 };

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

/* A code goes highest bit first. */
static void put_code(struct writer *w, uint32_t code, unsigned bits)
{
    while (bits-- > 0)
        put(w, code >> bits & 1, 1);
}

__attribute__((noinline)) static void put_symbol(struct writer *w, unsigned s)
{
    if (s < 144)
        put_code(w, 0x30 + s, 8);
    else if (s < END_OF_BLOCK)
        put_code(w, 0x190 + s - 144, 9);
    else if (s < 280)
        put_code(w, s - END_OF_BLOCK, 7);
    else
        put_code(w, 0xc0 + s - 280, 8);
}

/* Which of the ranges has the value, and how many bits say which of its members it is: 2^same ranges of one size, then as many of twice it.
 */
static unsigned range_of(uint32_t value, unsigned same, unsigned *extra)
{
    *extra = 0;
    while (value >> *extra >> (same + 1))
        ++*extra;
    return (*extra << same) + (value >> *extra);
}

static void put_copy(struct writer *w, uint32_t length, uint32_t distance)
{
    unsigned extra, range = range_of(length - SHORTEST, 2, &extra);
    if (length == LONGEST) { /* has a symbol of its own */
        range = 28;
        extra = 0;
    }
    put_symbol(w, END_OF_BLOCK + 1 + range);
    put(w, (length - SHORTEST) & ((1u << extra) - 1), extra);
    put_code(w, range_of(distance - 1, 1, &extra), 5);
    put(w, (distance - 1) & ((1u << extra) - 1), extra);
}

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
static uint32_t find(struct chains *c, struct slice in, size_t at, uint32_t *distance)
{
    size_t room = in.len - at < LONGEST ? in.len - at : LONGEST;
    uint32_t best = 0;
    if (room < SHORTEST)
        return 0;
    size_t from = *chain_at(c, in, at);
    for (int tries = TRIES; from && at - (from - 1) <= WINDOW && tries > 0; tries--) {
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

bool deflate(struct slice in, struct buf *out)
{
    struct chains *c = mem_alloc(sizeof *c);
    struct writer w = {.out = out};
    put(&w, 1 | 1 << 1, 3); /* the last block, with the fixed code */
    for (size_t at = 0; at < in.len && !out->full;) {
        uint32_t distance = 0, length = find(c, in, at, &distance);
        if (length >= SHORTEST) {
            put_copy(&w, length, distance);
        } else {
            put_symbol(&w, (unsigned char)in.ptr[at]);
            length = 1;
        }
        for (; length > 0; length--)
            enter(c, in, at++);
    }
    put_symbol(&w, END_OF_BLOCK);
    put(&w, 0, 7); /* fills its byte */
    mem_free(c);
    return !out->full;
}

uint32_t crc32(struct slice in)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < in.len; i++) {
        crc ^= (unsigned char)in.ptr[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}
