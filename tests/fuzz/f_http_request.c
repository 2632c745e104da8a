/* A client's bytes, cut in several ways, are read as the same requests; their targets may be asked for their queries. */
#include "http_steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(struct slice in)
{
    struct arena a = {0};
    struct slice out = SLICE_NONE, again = SLICE_NONE;
    struct buf b;
    buf_init(&b, 3 * in.len);
    if (http_percent_encode(in, &b) && (!http_percent_decode(buf_slice(&b), &a, &out) || !slice_eq(out, in)))
        abort();
    struct slice value = http_query_get(in, SLICE("q"));
    if (value.ptr && (value.len > in.len || slice_find(value, '&') >= 0))
        abort();
    http_query_decode(value, &a, &again);
    buf_free(&b);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size};
    steps_check(HTTP_REQUESTS, SLICE_NONE, in);
    check_text(in);
    return 0;
}
