/* Bytes as people write them down: hexadecimal digits with white space between them. */
#ifndef MOBULA_TEST_HEX_H
#define MOBULA_TEST_HEX_H

#include "../test.h"

__attribute__((unused)) static struct slice from_hex(struct slice hex, struct arena *a)
{
    char *out = arena_alloc(a, hex.len / 2 + 1);
    size_t digits = 0;
    for (size_t i = 0; i < hex.len; i++) {
        char c = hex.ptr[i];
        if (c == '\n' || c == ' ')
            continue;
        unsigned value = (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        out[digits / 2] = (char)((unsigned)(unsigned char)out[digits / 2] << 4 | value);
        digits++;
    }
    return (struct slice){out, digits / 2};
}

__attribute__((unused)) static struct slice to_hex(struct slice s, struct arena *a)
{
    static const char digits[] = "0123456789abcdef";
    char *out = arena_alloc(a, 2 * s.len + 1);
    for (size_t i = 0; i < s.len; i++) {
        out[2 * i] = digits[(unsigned char)s.ptr[i] >> 4];
        out[2 * i + 1] = digits[(unsigned char)s.ptr[i] & 15];
    }
    return (struct slice){out, 2 * s.len};
}

#define HEX(text, a) from_hex(SLICE(text), (a))

#endif
