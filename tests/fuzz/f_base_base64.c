/* Any bytes encode and decode to themselves; text that decodes has one spelling without its white space. */
#include <mobula/base.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size};
    struct buf text, bytes;
    buf_init(&text, 2 * size + 4);
    buf_init(&bytes, size);
    if (!base64_encode(in, &text) || !base64_decode(buf_slice(&text), &bytes, NULL) || !slice_eq(buf_slice(&bytes), in))
        abort();
    buf_clear(&text);
    buf_clear(&bytes);
    if (base64_decode(in, &bytes, NULL)) {
        if (!base64_encode(buf_slice(&bytes), &text))
            abort();
        size_t at = 0;
        for (size_t i = 0; i < size; i++)
            if (!strchr(" \t\r\n", in.ptr[i]) && (at == text.len || text.ptr[at++] != in.ptr[i]))
                abort();
        if (at != text.len)
            abort();
    }
    buf_free(&text);
    buf_free(&bytes);
    return 0;
}
