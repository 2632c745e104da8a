/* Compressed bytes give text within the limit, the same each time, or an error; what is stored without compression comes back as it was. */
#include <mobula/base.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 64 * KIB, BLOCK_MAX = 0xffff };

static bool unpack(struct slice in, bool far, struct buf *out)
{
    struct err e = {0};
    bool ok = far ? inflate_far(in, out, &e) : inflate(in, out, &e);
    if (ok != (e.code == ERR_NONE) || out->len > TEXT_MAX || (ok && out->full))
        abort();
    return ok;
}

static void check_stored(struct slice in)
{
    struct buf packed, out;
    buf_init(&packed, TEXT_MAX + 5);
    buf_init(&out, TEXT_MAX);
    in = slice_head(in, BLOCK_MAX);
    unsigned n = (unsigned)in.len, not = ~n;
    const char head[] = {1, (char)n, (char)(n >> 8), (char)not, (char)(not >> 8)};
    buf_put(&packed, (struct slice){head, sizeof head});
    buf_put(&packed, in);
    if (!unpack(buf_slice(&packed), false, &out) || !slice_eq(buf_slice(&out), in))
        abort();
    buf_free(&packed);
    buf_free(&out);
}

static void check_same(struct slice in, bool far)
{
    struct buf out, again;
    buf_init(&out, TEXT_MAX);
    buf_init(&again, TEXT_MAX);
    if (unpack(in, far, &out) != unpack(in, far, &again) || !slice_eq(buf_slice(&out), buf_slice(&again)))
        abort();
    buf_free(&out);
    buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size};
    check_same(in, false);
    check_same(in, true);
    check_stored(in);
    return 0;
}
