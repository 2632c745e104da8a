/* CA bundles: CRLF, a byte-order mark and a missing last newline change nothing. Identities: loaded or refused in words. */
#include <mobula/tls.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
    bool ok;
    uint32_t count, skipped;
};

static struct result load(struct slice pem)
{
    struct result r = {.ok = false};
    struct err e = {0};
    struct tls_trust *t = tls_trust_load(pem, &r.count, &r.skipped, &e);
    r.ok = t != NULL;
    if (r.ok == (e.code != ERR_NONE) || (r.ok && r.count == 0))
        abort();
    tls_trust_drop(t);
    return r;
}

static void check_identity(struct slice in)
{
    struct err e = {0};
    struct slice key = in, cert = slice_cut(&key, '\0');
    struct tls_identity *id = tls_identity_load(cert, key, &e);
    if ((id != NULL) == (e.code != ERR_NONE))
        abort();
    tls_identity_drop(id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size};
    struct buf windows;
    buf_init(&windows, 2 * size + 3);
    if (!slice_starts(in, SLICE("\xef\xbb\xbf")))
        buf_put(&windows, SLICE("\xef\xbb\xbf"));
    for (size_t i = 0; i < size; i++) {
        if (in.ptr[i] == '\n')
            buf_putc(&windows, '\r');
        buf_putc(&windows, in.ptr[i]);
    }
    struct result a = load(in), b = load(buf_slice(&windows));
    if (a.ok != b.ok || a.count != b.count || a.skipped != b.skipped)
        abort();
    buf_free(&windows);
    check_identity(in);
    return 0;
}
