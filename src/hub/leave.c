/* The last work of a control plane that was told to end: if kubectl delete namespace is why, nothing would remove the finalizers of the
 * namespace's workloads afterwards. A dry run of a create asks the API server. */
#include "private.h"

/* Of a control plane of all namespaces: its own. */
static struct slice space_ns(const struct hub *h, const struct space *s)
{
    return slice_empty(s->ns) ? h->o.cert.ns : s->ns;
}

static void on_asked(struct hub *h, struct call *c, void *about, const struct kube_answer *a)
{
    struct space *s = about;
    struct workload *w;
    (void)c;
    h->leaving--;
    if (a->outcome != KUBE_REFUSED || !a->status.namespace_terminating)
        return;
    s->going = true;
    for (uint32_t i = 0; (w = map_next(&h->workloads, &i)) != NULL;)
        if (w->finalizer >= 0 && slice_eq(w->ns, space_ns(h, s)))
            finalizer_write(h, w, false);
}

static void ask(struct hub *h, struct space *s)
{
    static const struct kube_resource maps = {SLICE(""), SLICE("v1"), SLICE("configmaps")};
    buf_clear(&h->body);
    buf_printf(&h->body, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"mobula-farewell\"}}");
    struct slice path = arena_printf(&h->event, "%.*s?dryRun=All", SLICE_ARG(hub_path(h, &maps, space_ns(h, s), SLICE_NONE, SLICE_NONE)));
    struct kube_request r = {
        .method = SLICE("POST"), .path = path, .content_type = SLICE(KUBE_TYPE_JSON), .body = buf_slice(&h->body), .at_once = true};
    h->leaving++;
    hub_ask(h, NULL, &r, on_asked, s);
}

static bool is_held(const struct hub *h, const struct space *s)
{
    const struct workload *w;
    for (uint32_t i = 0; (w = map_next(&h->workloads, &i)) != NULL;)
        if (w->finalizer >= 0 && slice_eq(w->ns, space_ns(h, s)))
            return true;
    return false;
}

bool hub_leaves(struct hub *h)
{
    bool waits = false;
    bool begins = h->leave_ms == 0;
    if (begins)
        h->leave_ms = h->now.mono_ms + HUB_LEAVE_MS;
    for (uint32_t i = 0; begins && i < h->o.namespace_count; i++)
        if (is_held(h, &h->spaces[i]))
            ask(h, &h->spaces[i]);
    for (uint32_t i = 0; i < h->o.namespace_count; i++)
        waits |= h->spaces[i].going && is_held(h, &h->spaces[i]);
    return (waits || h->leaving > 0) && h->now.mono_ms < h->leave_ms;
}
