/* The answer to a health check: its beginning is unfinished or says what the whole says, and a verdict that is no yes has a reason. */
#include <mobula/ray.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct slice all = {(const char *)data, size};
    enum ray_health whole = ray_health_read(all, &e);
    if ((whole == RAY_HEALTH_NOT || whole == RAY_HEALTH_BAD) != (e.code != ERR_NONE))
        abort();
    for (size_t n = 0; n < size; n += 1 + n / 8) {
        enum ray_health part = ray_health_read(slice_head(all, n), NULL);
        if (part != RAY_HEALTH_MORE && part != whole)
            abort();
    }
    return 0;
}
