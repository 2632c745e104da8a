/* The bytes as a chunked body, cut in several ways; and the bytes as data that is written in chunks and comes back whole. */
#include "http_steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD SLICE("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")

static void check_round_trip(struct slice in)
{
    struct buf wire, back;
    struct rng rng;
    rng_seed(&rng, in.len);
    buf_init(&wire, 8 * in.len + KIB);
    buf_init(&back, in.len);
    http_write_chunked_response(&wire, 200, NULL, 0);
    for (struct slice rest = in; rest.len;) {
        struct slice piece = slice_head(rest, 1 + (size_t)rng_below(&rng, 300));
        http_write_chunk(&wire, piece);
        rest = slice_skip(rest, piece.len);
    }
    if (!http_write_last_chunk(&wire))
        abort();
    struct http_reader r;
    struct slice left = buf_slice(&wire), body;
    http_reader_init(&r, HTTP_RESPONSES);
    enum http_step step = http_read(&r, &left, &body, NULL);
    while (step == HTTP_HEAD || step == HTTP_BODY) {
        buf_put(&back, body);
        step = http_read(&r, &left, &body, NULL);
    }
    if (step != HTTP_END || left.len || !slice_eq(buf_slice(&back), in))
        abort();
    http_reader_free(&r);
    buf_free(&wire);
    buf_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size};
    steps_check(HTTP_RESPONSES, HEAD, in);
    check_round_trip(in);
    return 0;
}
