/* The tar reader of bundles: what it gives lies inside what it was given, has a plain name, and is ever less. */

#include <mobula/artifact.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice all = {(const char *)data, size}, rest = all;
    struct tar_file f;
    struct err e = {0};
    size_t before = rest.len;
    while (tar_next(&rest, &f, &e)) {
        if (f.content.ptr < all.ptr || f.content.ptr + f.content.len > all.ptr + all.len || rest.len >= before)
            abort();
        if (f.name.len == 0 || f.name.ptr[0] == '/')
            abort();
        for (struct slice parts = f.name; parts.ptr;) { /* a folder may be called "m.." */
            struct slice part = slice_cut(&parts, '/');
            if (slice_is(part, "..") || slice_is(part, "."))
                abort();
        }
        before = rest.len;
    }
    return 0;
}
