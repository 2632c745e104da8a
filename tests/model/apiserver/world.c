/* The rest of the cluster: what is there at the start, and who looks at which change. */
#include "request.h"

struct slice world_uid(struct apiserver *s, struct arena *a)
{
    uint64_t high = rng_next(&s->rng), low = rng_next(&s->rng);
    return arena_printf(a, "%08x-%04x-4%03x-%x%03x-%012llx", (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
                        (unsigned)(high & 0xfff), (unsigned)(8 + (low >> 62)), (unsigned)(low >> 48 & 0xfff),
                        (unsigned long long)(low & 0xffffffffffff));
}

struct slice world_time(const struct apiserver *s, int64_t after_s, struct arena *a)
{
    char text[TIME_TEXT_MAX];
    return arena_dup(a, time_format(s->now.wall_us + after_s * 1000000, text));
}

struct slice world_suffix(struct apiserver *s, struct arena *a)
{
    char text[NAME_SUFFIX];
    hash_suffix(rng_next(&s->rng), text);
    return arena_dup(a, (struct slice){text, NAME_SUFFIX});
}

struct object *world_create(struct apiserver *s, struct resource *r, struct slice ns, struct slice name, struct node *tree)
{
    struct arena *a = &s->scratch;
    struct node *meta = dom_want(a, tree, "metadata", JSON_OBJECT);
    dom_put_str(a, meta, "name", name);
    if (r->namespaced)
        dom_put_str(a, meta, "namespace", ns);
    dom_put_str(a, meta, "uid", world_uid(s, a));
    dom_put_str(a, meta, "creationTimestamp", world_time(s, 0, a));
    if (r->rules && r->rules->defaults)
        r->rules->defaults(tree, a);
    if (r->rules && r->rules->fill)
        r->rules->fill(s, tree, NULL, a);
    return store_put(s, r, NULL, tree);
}

void world_event(struct apiserver *s, const struct object *about, const char *type, const char *reason, const char *component,
                 struct slice message)
{
    struct arena *a = &s->scratch;
    struct resource *events = registry_resource(s, SLICE(""), SLICE("events"));
    const struct api *api = registry_storage(s, about->of);
    struct node *e = dom_new(a, JSON_OBJECT), *ref = dom_want(a, e, "involvedObject", JSON_OBJECT);
    dom_put_str(a, ref, "kind", about->of->kind);
    dom_put_str(a, ref, "namespace", about->ns);
    dom_put_str(a, ref, "name", about->name);
    dom_put_str(a, ref, "uid", about->uid);
    dom_put_str(a, ref, "apiVersion", api_version(api, a));
    dom_put_str(a, e, "reason", slice_of(reason));
    dom_put_str(a, e, "message", message);
    dom_put_str(a, dom_want(a, e, "source", JSON_OBJECT), "component", slice_of(component));
    dom_put_str(a, e, "firstTimestamp", world_time(s, 0, a));
    dom_put_str(a, e, "lastTimestamp", world_time(s, 0, a));
    dom_put_int(a, e, "count", 1);
    dom_put_str(a, e, "type", slice_of(type));
    dom_put_str(a, e, "reportingComponent", slice_of(component));
    struct slice ns = about->of->namespaced ? about->ns : SLICE("default");
    struct slice name = arena_printf(a, "%.*s.%016llx", SLICE_ARG(about->name), (unsigned long long)rng_next(&s->rng));
    world_create(s, events, ns, name, e);
}

/* What the controller-manager puts into every namespace. */
static void furnish(struct apiserver *s, struct slice ns)
{
    struct resource *accounts = registry_resource(s, SLICE(""), SLICE("serviceaccounts"));
    if (!store_find(accounts, ns, SLICE("default")))
        world_create(s, accounts, ns, SLICE("default"), dom_new(&s->scratch, JSON_OBJECT));
}

void world_changed(struct apiserver *s, struct object *o, enum change change)
{
    const struct rules *rules = o->of->rules;
    gc_saw(s, o, change);
    if (rules == &rules_pod)
        kubelet_saw(s, o, change);
    if (rules == &rules_crd)
        crd_saw(s, o, change);
    if (rules == &rules_namespace && change == CHANGE_ADDED)
        furnish(s, o->name);
    if (rules == &rules_namespace && change == CHANGE_MODIFIED && o->now->deleting)
        timers_add(s, s->now.mono_ms + s->config.collect_ms, WAKE_NAMESPACE, o->uid);
}

void world_wake(struct apiserver *s, const struct timer *t)
{
    struct object *o = store_by_uid(s, (struct slice){t->uid, UID_LEN});
    if (!o)
        return;
    switch (t->what) {
    case WAKE_POD:
        kubelet_wake(s, o);
        break;
    case WAKE_LOST:
        kubelet_lost(s, o);
        break;
    case WAKE_COLLECT:
        gc_wake(s, o);
        break;
    case WAKE_NAMESPACE:
        gc_namespace(s, o);
        break;
    }
}

static const char *const node_text =
    "{\"metadata\":{\"labels\":{\"kubernetes.io/hostname\":\"model-node\",\"kubernetes.io/os\":\"linux\",\"kubernetes.io/"
    "arch\":\"amd64\"}},"
    "\"spec\":{\"podCIDR\":\"127.100.0.0/16\"},"
    "\"status\":{\"capacity\":{\"cpu\":\"100k\",\"memory\":\"1Pi\",\"pods\":\"1M\"},"
    "\"allocatable\":{\"cpu\":\"100k\",\"memory\":\"1Pi\",\"pods\":\"1M\"},"
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\",\"message\":\"it is a model: always ready\"}],"
    "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"},{\"type\":\"Hostname\",\"address\":\"model-node\"}],"
    "\"nodeInfo\":{\"kubeletVersion\":\"v1.34.10\",\"osImage\":\"model\",\"operatingSystem\":\"linux\",\"architecture\":\"amd64\","
    "\"containerRuntimeVersion\":\"model://1\",\"kernelVersion\":\"model\"}}}";

static const char *const kubernetes_text = "{\"metadata\":{\"labels\":{\"component\":\"apiserver\",\"provider\":\"kubernetes\"}},"
                                           "\"spec\":{\"ports\":[{\"name\":\"https\",\"port\":443,\"targetPort\":6443}]}}";

void world_start(struct apiserver *s)
{
    static const char *const names[] = {"default", "kube-node-lease", "kube-public", "kube-system"};
    struct resource *namespaces = registry_resource(s, SLICE(""), SLICE("namespaces"));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        world_create(s, namespaces, SLICE(""), slice_of(names[i]), dom_new(&s->scratch, JSON_OBJECT));
    struct resource *nodes = registry_resource(s, SLICE(""), SLICE("nodes"));
    if (!s->config.no_nodes)
        world_create(s, nodes, SLICE(""), SLICE("model-node"), dom_literal(&s->scratch, node_text));
    struct resource *services = registry_resource(s, SLICE(""), SLICE("services"));
    world_create(s, services, SLICE("default"), SLICE("kubernetes"), dom_literal(&s->scratch, kubernetes_text));
}
