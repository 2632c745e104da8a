/* The character classes of RFC 9110 and RFC 3986, for all of this room. */
#ifndef MOBULA_HTTP_CHARS_H
#define MOBULA_HTTP_CHARS_H

#include <mobula/base.h>

/* A method or the name of a header: at least one character, all of them tchar. */
bool http_is_token(struct slice s);
/* The bytes that a header's value, a reason or a chunk extension may hold: no control byte but tab. */
bool http_is_value(struct slice s);
/* Printable ASCII without white space, at least one character: a request target or a host. */
bool http_is_word(struct slice s);
int http_hex_digit(char c); /* 0 … 15, or -1 */

static inline bool http_is_value_byte(char c)
{
    return c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f);
}

#endif
