/* A driver's log as it comes: the same text however it is cut, and the text that the parser of whole documents reads. The first byte is
 * the size of the pieces; the rest is the body. */
#include <mobula/heads.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool decode(struct slice body, size_t piece, struct buf *out)
{
    struct ray_log_text t = {0};
    char text[RAY_LOG_TEXT];
    size_t n;
    bool well = true;
    while (well && !slice_empty(body)) {
        struct slice part = slice_head(body, piece);
        body = slice_skip(body, part.len);
        while (well && !slice_empty(part)) {
            size_t had = part.len;
            well = ray_log_text_read(&t, &part, text, &n);
            if (part.len >= had && well)
                abort();
            buf_put(out, (struct slice){text, n});
        }
    }
    if (t.total != out->len)
        abort();
    return well && ray_log_text_whole(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct slice body = {(const char *)data + 1, size - 1};
    struct buf whole, cut;
    struct arena a = {0};
    struct ray_dash_answer r;
    buf_init(&whole, 4 * size + 16);
    buf_init(&cut, 4 * size + 16);
    bool well = decode(body, size, &whole);
    if (decode(body, 1 + (size_t)data[0], &cut) != well || !slice_eq(buf_slice(&whole), buf_slice(&cut)))
        abort();
    /* What a strict reader takes as nothing but a log is a log here, and the same one. */
    ray_dash_read(RAY_DASH_LOG, 200, body, false, &a, &r);
    if (well && r.outcome == RAY_DASH_OK && !slice_eq(r.log, buf_slice(&whole)))
        abort();
    if (well && utf8_valid(body) && r.outcome != RAY_DASH_OK && !memmem(whole.ptr, whole.len, "\xef\xbf\xbd", 3))
        abort();
    buf_free(&whole);
    buf_free(&cut);
    arena_free(&a);
    return 0;
}
