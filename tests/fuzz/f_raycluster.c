/* A whole custom resource of either kind. */
#include "ray_objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct json doc;
    if (json_parse(&doc, (struct slice){(const char *)data, size}, &a, NULL))
        read_and_build(json_root(&doc), &a);
    arena_free(&a);
    return 0;
}
