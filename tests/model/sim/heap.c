/* Takes the place of base's mem.c: the same, and it counts what is alive, and looks for what must not stay in memory that is given back. */
#include "world.h"

#include <malloc.h>
#include <stdlib.h>

static uint64_t alive;

uint64_t world_heap_bytes(void)
{
    return alive;
}

/* ---- what blocks hold when they are given back ---- */

static struct {
    const struct world *world; /* NULL: nothing is looked for */
    struct slice texts[2];
    uint32_t found;
} search;

void world_heap_search(const struct world *w, const char *text, const char *other)
{
    search.world = w;
    search.texts[0] = slice_of(text);
    search.texts[1] = slice_of(other);
    search.found = 0;
}

uint32_t world_heap_found(void)
{
    search.world = NULL;
    return search.found;
}

static void look_into(void *p)
{
    for (size_t i = 0; p && search.world && search.world->turn && i < COUNT_OF(search.texts); i++)
        search.found += memmem(p, malloc_usable_size(p), search.texts[i].ptr, search.texts[i].len) != NULL;
}

/* ---- mem.c ---- */

static void *counted(void *p, size_t size)
{
    if (!p)
        fatal("out of memory for %zu bytes", size);
    alive += malloc_usable_size(p);
    return p;
}

void *mem_alloc(size_t size)
{
    return counted(calloc(1, size ? size : 1), size);
}

void *mem_resize(void *p, size_t size)
{
    look_into(p); /* it may move, and leaves a copy behind then */
    size_t had = p ? malloc_usable_size(p) : 0;
    alive -= had;
    p = counted(realloc(p, size ? size : 1), size);
    size_t has = malloc_usable_size(p);
    if (has > had)
        memset((char *)p + had, 0, has - had); /* what it grew by may hold what others gave back, the server of the test among them */
    return p;
}

void mem_free(void *p)
{
    look_into(p);
    alive -= p ? malloc_usable_size(p) : 0;
    free(p);
}

void mem_wipe(void *p, size_t size)
{
    if (size)
        explicit_bzero(p, size);
}
