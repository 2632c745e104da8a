/* A server that says anything to a session: it never becomes open, never gives plaintext, and fails in words, however the bytes are cut. */
#include <mobula/tls.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct slice in, size_t piece)
{
    struct err e = {0};
    const struct tls_options o = {.name = SLICE("a.test"), .insecure = true, .wall_us = 1800000000ll * 1000000};
    struct tls *t = tls_open(&o, &e);
    if (!t)
        abort();
    while (in.len && tls_state(t) == TLS_HANDSHAKE) {
        size_t room = 0, n = in.len < piece ? in.len : piece;
        char *to = tls_recv_room(t, &room);
        struct slice out = tls_send_peek(t);
        tls_send_used(t, out.len);
        n = n < room ? n : room;
        if (n == 0)
            continue; /* what it had to say made room */
        memcpy(to, in.ptr, n);
        tls_recv_wrote(t, n);
        in = slice_skip(in, n);
    }
    if (tls_state(t) == TLS_OPEN || tls_read_peek(t).len)
        abort();
    tls_eof(t);
    if (tls_state(t) == TLS_FAILED && (tls_error(t)->code == ERR_NONE || !tls_error(t)->text[0]))
        abort();
    tls_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size};
    feed(in, SIZE_MAX);
    feed(in, 3);
    return 0;
}
