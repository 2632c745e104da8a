/* A value of rayStartParams: what is written is one shell word, and when it was quoted here it means exactly the value. */
#include "src/ray/shell.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct slice value = {(const char *)data, size}, back = SLICE_NONE;
    struct slice word = shell_word(value, &a);
    bool same = shell_is_word(value);
    if (slice_find(value, '\0') < 0 && !shell_is_word(word))
        abort();
    if (same ? !slice_eq(word, value) : !shell_unquote(word, &a, &back) || !slice_eq(back, value))
        abort();
    arena_free(&a);
    return 0;
}
