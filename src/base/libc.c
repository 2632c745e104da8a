#include "libc.h"

/* Merges runs of twice the length each time, from one array to the other. */
void libc_qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    char *from = items, *to = mem_alloc(count * size), *spare = to;
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t at = 0, left, right; at < count;) {
            left = at;
            size_t middle = count - left < run ? count : left + run, end = count - middle < run ? count : middle + run;
            for (right = middle; at < end; at++) {
                bool first = left < middle && (right == end || compare(from + left * size, from + right * size) <= 0);
                memcpy(to + at * size, from + (first ? left++ : right++) * size, size);
            }
        }
        char *other = from;
        from = to;
        to = other;
    }
    if (from == spare && count)
        memcpy(items, spare, count * size);
    mem_free(spare);
}
