/* A Secret as the API server gives it, and the bytes of a key: a token that can stand in a header as it is, or an error in words. What is
 * read lies where the caller wipes it. */
#include <mobula/ray.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_token(struct slice token, struct slice text)
{
    if (slice_empty(token) || token.len > LIMIT_RAY_TOKEN || !slice_eq(slice_trim(token), token))
        abort();
    for (size_t i = 0; i < token.len; i++)
        if (token.ptr[i] <= ' ' || token.ptr[i] > '~')
            abort();
    if (token.ptr < text.ptr || token.ptr + token.len > text.ptr + text.len)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size}, token;
    struct arena a = {0};
    struct err e = {0};
    struct buf text;
    bool ok = ray_auth_token(in, &token, &e);
    if (ok)
        check_token(token, in);
    if (ok != (e.code == ERR_NONE))
        abort();
    e = (struct err){0};
    buf_init(&text, LIMIT_KUBE_TOKEN);
    ok = ray_auth_read(in, &text, &token, &a, &e);
    if (ok)
        check_token(token, buf_slice(&text));
    if (ok != (e.code == ERR_NONE) || (!ok && !e.text[0]))
        abort();
    buf_free(&text);
    arena_free(&a);
    return 0;
}
