/* Takes the place of base's mem.c: the same, and it counts what is alive. */
#include "world.h"

#include <malloc.h>
#include <stdlib.h>

static uint64_t alive;

uint64_t world_heap_bytes(void)
{
    return alive;
}

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
    alive -= p ? malloc_usable_size(p) : 0;
    return counted(realloc(p, size ? size : 1), size);
}

void mem_free(void *p)
{
    alive -= p ? malloc_usable_size(p) : 0;
    free(p);
}

void mem_wipe(void *p, size_t size)
{
    if (size)
        explicit_bzero(p, size);
}
