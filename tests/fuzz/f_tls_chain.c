/* A server's chain of certificates: one that our CA has not signed is never accepted. Input: certificates, each after two bytes of length.
 * They are passed to the check whole, and in pieces of 7 bytes. */
#include "src/tls/v13.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tls_trust *ca(void)
{
    static struct tls_trust *made;
    struct tls_issue o = {.not_after_us = INT64_C(1) << 52};
    struct buf cert, key;
    struct err e = {0};
    uint32_t count = 0, skipped = 0;
    if (made)
        return made;
    buf_init(&cert, 64 * KIB);
    buf_init(&key, 64 * KIB);
    if (!tls_issue(&o, &cert, &key, &e))
        abort();
    made = tls_trust_load(buf_slice(&cert), &count, &skipped, &e);
    if (!made)
        abort();
    buf_free(&cert);
    buf_free(&key);
    return made;
}

static void run(struct slice in, bool insecure, size_t piece)
{
    struct tls_check c;
    const br_x509_class **x = &c.vtable;
    struct slice one;
    tls_check_init(&c, SLICE("kubernetes.default.svc"), ca(), insecure, INT64_C(1800000000) * 1000000);
    (*x)->start_chain(x, NULL);
    while (v13_get_vector(&in, 2, &one)) {
        (*x)->start_cert(x, (uint32_t)one.len);
        for (; one.len; one = slice_skip(one, piece < one.len ? piece : one.len))
            (*x)->append(x, (const unsigned char *)one.ptr, piece < one.len ? piece : one.len);
        (*x)->end_cert(x);
    }
    unsigned verdict = (*x)->end_chain(x);
    if (!insecure && (verdict == 0 || c.error.code == ERR_NONE))
        abort();
    tls_check_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = {(const char *)data, size};
    run(in, false, SIZE_MAX);
    run(in, false, 7);
    run(in, true, SIZE_MAX);
    return 0;
}
