#include <mobula/base.h>

#include "poison.h"

#include <stdio.h>

enum {
    ARENA_ALIGN = 16,
    ARENA_FIRST = 4 * KIB,
    ARENA_LARGEST = 256 * KIB, /* blocks grow up to this; a larger request gets a block of its own */
};

/* Blocks stand in a list in the order of their use; those behind arena.last were kept by a reset and are empty. */
struct arena_block {
    struct arena_block *next;
    size_t size; /* of data */
    size_t used;
    _Alignas(ARENA_ALIGN) char data[];
};

static struct arena_block *block_new(size_t size)
{
    struct arena_block *b = mem_resize(NULL, sizeof *b + size); /* not zeroed: arena_alloc does it for what is used */
    b->next = NULL;
    b->size = size;
    b->used = 0;
    poison(b->data, size);
    return b;
}

static void block_free(struct arena_block *b)
{
    unpoison(b->data, b->size);
    mem_free(b);
}

/* Makes the next block of the arena one with room for size bytes. */
static void arena_advance(struct arena *a, size_t size)
{
    struct arena_block *last = a->last;
    if (last && last->next && last->next->size >= size) {
        a->last = last->next;
        return;
    }
    size_t want = !last ? ARENA_FIRST : last->size * 2 < ARENA_LARGEST ? last->size * 2 : ARENA_LARGEST;
    struct arena_block *b = block_new(want > size ? want : size);
    b->next = last ? last->next : NULL;
    *(last ? &last->next : &a->first) = b;
    a->last = b;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > PTRDIFF_MAX)
        fatal("an arena was asked for %zu bytes", size);
    size_t whole = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (!a->last || a->last->size - a->last->used < whole)
        arena_advance(a, whole);
    char *p = a->last->data + a->last->used;
    a->last->used += whole;
    a->used += whole;
    unpoison(p, size);
    return memset(p, 0, size);
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        fatal("an arena was asked for %zu times %zu bytes", count, size);
    return arena_alloc(a, total);
}

struct slice arena_dup(struct arena *a, struct slice s)
{
    if (!s.ptr)
        return SLICE_NONE;
    char *copy = arena_alloc(a, s.len + 1);
    memcpy(copy, s.ptr, s.len);
    return (struct slice){copy, s.len};
}

struct slice arena_printf(struct arena *a, const char *fmt, ...)
{
    char shorter[128]; /* most texts are, and so formatted once */
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int len = vsnprintf(shorter, sizeof shorter, fmt, ap);
    va_end(ap);
    if (len < 0)
        fatal("arena_printf: cannot format \"%s\"", fmt);
    char *text = arena_alloc(a, (size_t)len + 1);
    if ((size_t)len < sizeof shorter)
        memcpy(text, shorter, (size_t)len + 1);
    else
        vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    return (struct slice){text, (size_t)len};
}

struct slice arena_clean(struct arena *a, struct slice text, size_t max)
{
    size_t size = (text.len < max ? text.len : max) + 1;
    return utf8_clean(text, arena_alloc(a, size), size);
}

struct slice arena_cut(struct arena *a, struct slice text, size_t max)
{
    return text.len <= max && utf8_valid(text) ? text : utf8_copy(text, arena_alloc(a, max + 1), max + 1);
}

void arena_reset(struct arena *a, size_t keep)
{
    struct arena_block **link = &a->first;
    for (struct arena_block *b = a->first, *next; b; b = next) {
        next = b->next;
        if (b->size > keep) {
            block_free(b);
            continue;
        }
        keep -= b->size;
        poison(b->data, b->size);
        b->used = 0;
        *link = b;
        link = &b->next;
    }
    *link = NULL;
    a->last = a->first;
    a->used = 0;
}

void arena_free(struct arena *a)
{
    arena_reset(a, 0);
}

void arena_wipe(struct arena *a)
{
    for (struct arena_block *b = a->first; b; b = b->next)
        mem_wipe(b->data, b->used);
    arena_free(a);
}
