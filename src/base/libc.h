/* Functions that the link of the product takes in place of the C library's: LIBC in the Makefile names them. Only their tests call them by
 * name. */
#ifndef MOBULA_BASE_LIBC_H
#define MOBULA_BASE_LIBC_H

#include <mobula/base.h>

#include <stdio.h>

/* gcc drops functions that nothing in the program calls, unless the linker may need them. */
#ifdef MOBULA_PRODUCT
#define FOR_LINKER __attribute__((externally_visible))
#else
#define FOR_LINKER
#endif

/* As vsnprintf, for the conversions c, d, o, s, u, x, X and %% with the flags - and 0, width, precision and the lengths l, ll and z. Any
 * other one ends the process. */
FOR_LINKER int format_text(char *out, size_t size, const char *format, va_list args) PRINTF_LIKE(3, 0);
/* As vfprintf, with one write for an unbuffered file. */
FOR_LINKER int format_file(FILE *f, const char *format, va_list args) PRINTF_LIKE(2, 0);

/* As qsort, and equal items keep their order, as with the glibc of tests; musl's do not. */
FOR_LINKER void libc_qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));

#endif
