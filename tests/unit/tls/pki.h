/* The throwaway PKI of tests/data/tls/make.sh. */
#ifndef MOBULA_TEST_PKI_H
#define MOBULA_TEST_PKI_H

#include "../test.h"

#include <mobula/tls.h>

#define PKI "build/test/pki4"

/* Made once, by the first test that runs; before main, because a certificate is not valid at a time that was read before it was made. */
__attribute__((constructor)) static void pki_make(void)
{
    if (access(PKI, R_OK) != 0 && system("sh tests/data/tls/make.sh " PKI) != 0)
        fatal("tests/data/tls/make.sh failed");
}

static struct slice pki_file(const char *name, struct arena *a)
{
    char path[128];
    snprintf(path, sizeof path, PKI "/%s", name);
    return read_file(path, a);
}

__attribute__((unused)) static struct tls_trust *pki_trust(const char *name)
{
    struct arena a = {0};
    struct err e = {0};
    uint32_t count = 0, skipped = 0;
    struct tls_trust *t = tls_trust_load(pki_file(name, &a), &count, &skipped, &e);
    if (!t)
        fatal("%s: %s", name, e.text);
    arena_free(&a);
    return t;
}

/* NAME.pem with NAME.key. */
__attribute__((unused)) static struct tls_identity *pki_identity(const char *name)
{
    struct arena a = {0};
    struct err e = {0};
    char file[64];
    snprintf(file, sizeof file, "%s.pem", name);
    struct slice cert = pki_file(file, &a);
    snprintf(file, sizeof file, "%s.key", name);
    struct tls_identity *id = tls_identity_load(cert, pki_file(file, &a), &e);
    if (!id)
        fatal("%s: %s", name, e.text);
    arena_free(&a);
    return id;
}

#endif
