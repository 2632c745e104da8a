/* What a gRPC server sends: wherever the bytes are cut, the same comes of them, and what comes is a whole message or an error with a
 * reason. */
#include <mobula/grpc.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ANSWER_MAX = 16 * KIB };

/* Until the answer is there, or the connection is of no use, or the bytes are used up. */
static enum grpc_step feed(struct grpc *c, struct slice bytes, size_t piece, struct err *e)
{
    const struct grpc_request r = {SLICE("/p"), SLICE("gcs"), SLICE("secret"), SLICE("message"), ANSWER_MAX, false};
    enum grpc_step step = GRPC_MORE;
    grpc_init(c);
    grpc_call(c, &r);
    while (step == GRPC_MORE && !slice_empty(bytes)) {
        struct slice in = slice_head(bytes, piece);
        size_t had = in.len;
        step = grpc_read(c, &in, e);
        if (step == GRPC_MORE && !slice_empty(in))
            abort();
        bytes = slice_skip(bytes, had - in.len);
    }
    return step;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct grpc whole, pieces;
    struct err e = {0}, same = {0};
    struct slice bytes = {(const char *)data, size};
    size_t piece = size ? 1 + data[size - 1] % 16 : 1;
    enum grpc_step step = feed(&whole, bytes, SIZE_MAX, &e);
    if (feed(&pieces, bytes, piece, &same) != step || whole.status != pieces.status || strcmp(e.text, same.text) != 0)
        abort();
    if ((step == GRPC_BROKEN || step == GRPC_REFUSED) != (e.code != ERR_NONE))
        abort();
    if (step == GRPC_DONE && (grpc_answer(&whole).len > ANSWER_MAX || !slice_eq(grpc_answer(&whole), grpc_answer(&pieces))))
        abort();
    if (strlen(whole.text) >= GRPC_TEXT_MAX)
        abort();
    grpc_rest(&whole);
    grpc_free(&whole);
    grpc_free(&pieces);
    return 0;
}
