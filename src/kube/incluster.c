#include "config.h"

#include <stdlib.h>

static const char *path_in(const char *dir, const char *name, struct arena *a)
{
    return arena_printf(a, "%s/%s", dir, name).ptr;
}

/* The namespace of the pod. It never changes, and a pod without the file is in "default" for all we know. */
static struct slice read_namespace(const char *path, struct arena *a)
{
    enum { NAMESPACE_MAX = 64 };
    struct buf text;
    buf_init(&text, NAMESPACE_MAX);
    struct err ignored = {0};
    struct slice ns = SLICE_NONE;
    if (kube_file_read(path, &text, &ignored) && name_dns1123_label(slice_trim(buf_slice(&text))))
        ns = arena_dup(a, slice_trim(buf_slice(&text)));
    buf_free(&text);
    return ns;
}

bool kube_incluster_read(const char *dir, struct arena *a, struct kube_settings *out, struct err *e)
{
    struct slice host = slice_of(getenv("KUBERNETES_SERVICE_HOST")), port = slice_of(getenv("KUBERNETES_SERVICE_PORT"));
    if (slice_empty(host) || slice_empty(port))
        return err_set(e, ERR_MISSING, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod");
    bool v6 = slice_find(host, ':') >= 0;
    out->source = SLICE("in-cluster");
    out->server = arena_printf(a, v6 ? "https://[%.*s]:%.*s" : "https://%.*s:%.*s", SLICE_ARG(host), SLICE_ARG(port));
    out->ca.path = path_in(dir, "ca.crt", a);
    out->token.path = path_in(dir, "token", a);
    out->namespace_ = read_namespace(path_in(dir, "namespace", a), a);
    return true;
}
