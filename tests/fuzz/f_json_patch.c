/* A document, a NUL, a patch: what either kind of patch makes of it is a document within the limits, and merging twice is merging once. */
#include <mobula/json.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice patch = {(const char *)data, size}, document = slice_cut(&patch, '\0'), out, again;
    struct arena a = {0};
    struct err e = {0};
    struct json one, two;
    if (json_patch(document, patch, &a, &out, &e)) {
        if (e.code != ERR_NONE || !json_parse(&one, out, &a, NULL))
            abort();
    } else if (e.code == ERR_NONE) {
        abort();
    }
    e = (struct err){0};
    if (json_merge(document, patch, &a, &out, &e)) {
        if (!json_merge(out, patch, &a, &again, NULL))
            abort();
        if (!json_parse(&one, out, &a, NULL) || !json_parse(&two, again, &a, NULL) || !json_equal(json_root(&one), json_root(&two)))
            abort();
    } else if (e.code == ERR_NONE) {
        abort();
    }
    arena_free(&a);
    return 0;
}
