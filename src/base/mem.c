#include <mobula/base.h>

#include <stdlib.h>

void *mem_alloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p)
        fatal("out of memory for %zu bytes", size);
    return p;
}

void *mem_resize(void *p, size_t size)
{
    p = realloc(p, size ? size : 1);
    if (!p)
        fatal("out of memory for %zu bytes", size);
    return p;
}

void mem_free(void *p)
{
    free(p);
}

void mem_wipe(void *p, size_t size)
{
    if (size)
        explicit_bzero(p, size);
}
