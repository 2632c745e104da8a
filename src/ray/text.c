#include "text.h"

ptrdiff_t text_find(struct slice text, const char *words)
{
    size_t len = strlen(words);
    for (size_t i = 0; i + len <= text.len; i++)
        if (memcmp(text.ptr + i, words, len) == 0)
            return (ptrdiff_t)i;
    return -1;
}

ptrdiff_t text_find_last(struct slice text, const char *words)
{
    size_t len = strlen(words);
    for (size_t i = text.len; i >= len; i--)
        if (memcmp(text.ptr + i - len, words, len) == 0)
            return (ptrdiff_t)(i - len);
    return -1;
}

struct slice lower_case(struct slice text, struct arena *a)
{
    char *lower = arena_alloc(a, text.len + 1);
    for (size_t i = 0; i < text.len; i++)
        lower[i] = text.ptr[i] >= 'A' && text.ptr[i] <= 'Z' ? (char)(text.ptr[i] - 'A' + 'a') : text.ptr[i];
    return (struct slice){lower, text.len};
}
