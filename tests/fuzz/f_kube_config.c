/* Kubeconfigs: whatever a file holds, reading it gives settings that can be used, or an error. */
#include "src/kube/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct kube_settings *s)
{
    if (slice_empty(s->server) || s->as_group_count > LIMIT_KUBE_IMPERSONATE || s->as_extra_count > LIMIT_KUBE_IMPERSONATE)
        abort();
    if (s->exec.argv && !s->exec.argv[0])
        abort();
    struct kube_url url;
    if (kube_url_parse(s->server, "server", &url, NULL) && (slice_empty(url.host) || url.port == 0 || slice_ends(url.path, SLICE("/"))))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("kubeconfig", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    struct arena a = {0};
    struct kube_settings s = {0};
    struct err e = {0};
    const struct kube_config_options o = {.allow_exec = true};
    if (kube_kubeconfig_read(slice_of(path), true, &o, &a, &s, &e))
        check(&s);
    else if (e.code == ERR_NONE)
        abort();
    arena_free(&a);
    return 0;
}
