/* A compute config, and behind a NUL instance types: every error has words, and what is rendered is JSON. */
#include <mobula/compute.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct compute_config config;
    struct compute_pods pods = {.image = SLICE("i"), .env = NO_VALUE};
    struct shape_types types;
    struct spec_errors wrong = {0};
    struct spec_errors errors = {0}, notes = {0};
    struct reader r = {.arena = &a, .errors = &errors};
    struct slice rest = {(const char *)data, size}, text = slice_cut(&rest, '\0'), out;
    struct json doc, made;
    struct err e = {0};
    if (json_parse(&doc, text, &a, NULL)) {
        const struct place *at = place_root(json_root(&doc), &a);
        if (rest.ptr)
            shape_types_read(rest, &a, &types, &wrong);
        bool ok = compute_read(&r, at, rest.ptr ? &types : NULL, &config, &notes);
        if (ok != (errors.count == 0))
            abort();
        for (uint32_t i = 0; i < errors.count; i++)
            if (slice_empty(errors.list[i].text) || errors.list[i].offset > text.len)
                abort();
        if (ok && (compute_render(&config, &pods, &a, &out, &e) ? !json_parse(&made, out, &a, &e) : e.code == ERR_NONE))
            abort();
    }
    arena_free(&a);
    return 0;
}
