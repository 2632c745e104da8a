/* What an exec plugin writes: a credential that can be used, or an error in words. */
#include "src/kube/config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *argv[] = {"plugin", NULL};
    const struct kube_exec x = {.api_version = SLICE("client.authentication.k8s.io/v1"), .argv = argv};
    struct kube_exec_result r = {0};
    struct arena a = {0};
    struct err e = {0};
    bool ok = kube_exec_read(&x, (struct slice){(const char *)data, size}, &a, &r, &e);
    if (ok != (e.code == ERR_NONE) || (ok && slice_empty(r.token) && slice_empty(r.cert_pem)))
        abort();
    arena_free(&a);
    return 0;
}
