/* The little that slices lack here. */
#ifndef MOBULA_RAY_TEXT_H
#define MOBULA_RAY_TEXT_H

#include <mobula/base.h>

/* Where words stand in text for the first or the last time; -1 when they do not. */
ptrdiff_t text_find(struct slice text, const char *words);
ptrdiff_t text_find_last(struct slice text, const char *words);
static inline bool text_has(struct slice text, const char *words)
{
    return text_find(text, words) >= 0;
}

struct slice lower_case(struct slice text, struct arena *a); /* ASCII */

#endif
