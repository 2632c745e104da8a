#include <mobula/base.h>

#include <stdio.h>
#include <stdlib.h>

void fatal(const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "mobula: fatal: %s\n", text);
    abort();
}
