/* The printf family's core. Nothing calls these by name but their tests: the link of the product takes them in place of the C library's
 * vsnprintf and vfprintf, which all other functions of the family call. */
#ifndef MOBULA_BASE_FORMAT_H
#define MOBULA_BASE_FORMAT_H

#include <mobula/base.h>

#include <stdio.h>

/* gcc drops functions that nothing in the program calls, unless the linker may need them. */
#ifdef MOBULA_PRODUCT
#define FORMAT_FOR_LINKER __attribute__((externally_visible))
#else
#define FORMAT_FOR_LINKER
#endif

/* As vsnprintf, for the conversions c, d, o, s, u, x, X and %% with the flags - and 0, width, precision and the lengths l, ll and z. Any
 * other one ends the process. */
FORMAT_FOR_LINKER int format_text(char *out, size_t size, const char *format, va_list args) PRINTF_LIKE(3, 0);
/* As vfprintf, with one write for an unbuffered file. */
FORMAT_FOR_LINKER int format_file(FILE *f, const char *format, va_list args) PRINTF_LIKE(2, 0);

#endif
