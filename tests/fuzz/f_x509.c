/* The walk over a server's certificate: what it reports is there, and nothing that was cut is read. */
#include <mobula/tls.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t size)
{
    size_t len = strnlen(text, size);
    if (len == size)
        abort();
    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~')
            abort();
}

static void check(struct slice der, struct slice name, struct slice bytes)
{
    struct tls_leaf leaf, cut;
    struct err e = {0};
    bool ok = tls_leaf_read(der, name, &leaf, &e);
    check_text(leaf.first_name, sizeof leaf.first_name);
    check_text(leaf.issuer, sizeof leaf.issuer);
    if (ok == (e.code != ERR_NONE) || (!ok && (leaf.has_name || leaf.server)) || (leaf.server && !leaf.has_eku))
        abort();
    if (leaf.has_name && !memmem(der.ptr, der.len, bytes.ptr, bytes.len))
        abort();
    if (ok && tls_leaf_read(slice_head(der, der.len - 1), name, &cut, NULL))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice der = {(const char *)data, size};
    check(der, SLICE("127.0.0.1"), SLICE("\x7f\x00\x00\x01"));
    check(der, SLICE("fd00::1"), SLICE("\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"));
    check(der, SLICE("1.2.3"), SLICE(".2.3")); /* itself or *.2.3; digits have no other case */
    return 0;
}
