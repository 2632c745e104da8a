#include "libc.h"

#include <limits.h>

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

char *libc_strstr(const char *text, const char *words)
{
    for (size_t len = strlen(words); strncmp(text, words, len) != 0; text++)
        if (!*text)
            return NULL;
    return (char *)(uintptr_t)text;
}

/* Of a digit in bases up to 16; 16 for what is none. */
static unsigned digit_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' ? c | 0x20 : c) : NULL;
    return at ? (unsigned)(at - digits) : 16;
}

unsigned long libc_strtoul(const char *text, char **end, int base)
{
    unsigned long value = 0, unit = (unsigned long)base;
    bool hex = text[0] == '0' && (text[1] | 0x20) == 'x' && digit_value(text[2]) < 16 && (base == 0 || base == 16);
    if (base == 0)
        unit = hex ? 16 : text[0] == '0' ? 8 : 10;
    for (text += hex ? 2 : 0; digit_value(*text) < unit; text++)
        if (__builtin_mul_overflow(value, unit, &value) || __builtin_add_overflow(value, digit_value(*text), &value))
            value = ULONG_MAX;
    if (end)
        *end = (char *)(uintptr_t)text;
    return value;
}
