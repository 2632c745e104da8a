/* A server's bytes, cut in several ways, are read as the same answers. */
#include "http_steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    steps_check(HTTP_RESPONSES, SLICE_NONE, (struct slice){(const char *)data, size});
    return 0;
}
