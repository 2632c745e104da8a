#include <mobula/kube.h>

const struct kube_resource kube_pods = {SLICE_NONE, {"v1", 2}, {"pods", 4}};
const struct kube_resource kube_services = {SLICE_NONE, {"v1", 2}, {"services", 8}};
const struct kube_resource kube_configmaps = {SLICE_NONE, {"v1", 2}, {"configmaps", 10}};
const struct kube_resource kube_secrets = {SLICE_NONE, {"v1", 2}, {"secrets", 7}};

static void put_segment(struct buf *b, struct slice segment)
{
    if (slice_empty(segment))
        return;
    buf_putc(b, '/');
    http_percent_encode(segment, b);
}

bool kube_path(struct buf *b, const struct kube_resource *r, struct slice ns, struct slice name, struct slice sub)
{
    buf_put(b, slice_empty(r->group) ? SLICE("/api") : SLICE("/apis"));
    put_segment(b, r->group);
    put_segment(b, r->version);
    if (!slice_empty(ns))
        buf_put(b, SLICE("/namespaces"));
    put_segment(b, ns);
    put_segment(b, r->plural);
    put_segment(b, name);
    put_segment(b, sub);
    return !b->full;
}

bool kube_query(struct buf *b, const char *name, struct slice value)
{
    bool first = slice_find(buf_slice(b), '?') < 0;
    buf_printf(b, "%c%s=", first ? '?' : '&', name);
    http_percent_encode(value, b);
    return !b->full;
}

bool kube_delete_options(struct buf *b, struct slice uid, uint64_t version, struct slice propagation)
{
    struct jout w;
    jout_init(&w, b);
    char text[KUBE_VERSION_TEXT];
    struct slice seen = version ? kube_version_format(version, text) : SLICE_NONE;
    jout_form(&w, "{apiVersion:'v1',kind:'DeleteOptions',preconditions:{uid:'%.*s',resourceVersion?:'%.*s'},propagationPolicy?:'%.*s'}",
              SLICE_ARG(uid), SLICE_ARG(seen), SLICE_ARG(propagation));
    return !b->full;
}
