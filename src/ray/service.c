#include "service.h"

#include <stdlib.h>

struct service_ports ports_new(struct arena *a, size_t most)
{
    return (struct service_ports){.arena = a, .list = arena_array(a, most, sizeof(struct service_port))};
}

bool ports_add(struct service_ports *p, struct service_port port)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct service_port *other = &p->list[i];
        struct slice tcp = SLICE("TCP"), one = slice_empty(port.protocol) ? tcp : port.protocol,
                     two = slice_empty(other->protocol) ? tcp : other->protocol;
        if (slice_eq(other->name, port.name) || (other->port == port.port && slice_eq(one, two)))
            return false;
    }
    p->list[p->count++] = port;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    const struct service_port *x = a, *y = b;
    return slice_cmp(x->name, y->name);
}

void ports_sort(struct service_ports *p)
{
    if (p->count)
        qsort(p->list, p->count, sizeof *p->list, compare_names);
}

void ports_write(const struct service_ports *p, const char *app_protocol, struct jout *w)
{
    if (!p->count)
        return;
    jout_karray(w, "ports");
    for (uint32_t i = 0; i < p->count; i++) {
        const struct service_port *port = &p->list[i];
        if (port->raw.ptr) {
            jout_raw(w, port->raw);
            continue;
        }
        struct slice target = value_given(port->target) ? json_raw(port->target) : SLICE_NONE;
        jout_form(w, "{name:'%.*s',port:%d,targetPort:%.*s,protocol?:'%.*s',appProtocol?:'%s'}", SLICE_ARG(port->name), (int)port->port,
                  SLICE_ARG(target), SLICE_ARG(port->protocol), app_protocol);
    }
    jout_end(w);
}

static void write_service(const struct owner *owner, struct slice name, struct jval metadata, const struct pairs *labels,
                          const struct pairs *annotations, struct slice spec, struct arena *a, struct buf *out)
{
    struct jout w;
    jout_init(&w, out);
    jout_form(&w, "{apiVersion:'v1',kind:'Service'");
    write_metadata(&w, owner, name, metadata, labels, annotations, a);
    jout_kraw(&w, "spec", spec);
    jout_end(&w);
}

bool service_finish(const struct owner *owner, struct slice name, struct jval metadata, const struct pairs *labels,
                    struct pairs *annotations, struct slice spec, struct arena *a, struct buf *out, struct err *e)
{
    size_t before = out->len;
    write_service(owner, name, metadata, labels, annotations, spec, a, out);
    if (!out->full) {
        char *hash = arena_alloc(a, RAY_HASH_TEXT);
        ray_hash_format(hash64(slice_skip(buf_slice(out), before), 0), hash);
        pairs_set(annotations, SLICE(RAY_ANNOTATION_HASH), (struct slice){hash, RAY_HASH_TEXT});
        out->len = before;
        write_service(owner, name, metadata, labels, annotations, spec, a, out);
    }
    return !out->full || err_set(e, ERR_LIMIT, "service %.*s is larger than %zu bytes (LIMIT_JSON_ITEM)", SLICE_ARG(name), out->max);
}

static bool build_head(const struct ray_cluster *c, struct arena *a, struct buf *out, struct err *e)
{
    struct pairs labels = pairs_new(a), annotations = pairs_new(a);
    struct jval metadata = NO_VALUE;
    struct buf spec;
    struct jout w;
    buf_init(&spec, out->max);
    jout_init(&w, &spec);
    jout_object(&w);
    if (c->kind == RAY_V1) {
        metadata = json_get(c->spec, "headGroupSpec.headService.metadata");
        v1_head_service(&w, c, &labels, &annotations);
    } else {
        pairs_set(&labels, SLICE("cluster.ray.io/component"), ray_head_service_name(c, a));
        legacy_head_service(&w, c, a);
    }
    jout_end(&w);
    pairs_set(&labels, SLICE(RAY_LABEL_CLUSTER), c->name);
    pairs_set(&labels, SLICE(RAY_LABEL_OWNER_UID), c->uid);
    struct slice text = spec.full ? SLICE("null") : arena_dup(a, buf_slice(&spec));
    bool full = spec.full;
    buf_free(&spec);
    struct slice name = ray_head_service_name(c, a);
    if (full)
        return err_set(e, ERR_LIMIT, "service %.*s is larger than %zu bytes (LIMIT_JSON_ITEM)", SLICE_ARG(name), out->max);
    const struct owner owner = owner_cluster(c);
    return service_finish(&owner, name, metadata, &labels, &annotations, text, a, out, e);
}

/* A client that may change the service may name its ports; a text that is no name of a port is left out. */
static void add_endpoint(struct jval port, struct pairs *out)
{
    struct arena *a = out->arena;
    struct slice name = json_get_str(port, "name", a);
    struct jval target = json_get(port, "targetPort");
    int64_t node = json_get_int(port, "nodePort", 0), number = json_get_int(port, "targetPort", 0);
    if (number == 0 && !value_given(target))
        number = json_get_int(port, "port", 0);
    number = node ? node : number;
    struct slice text = number ? arena_printf(a, "%lld", (long long)number) : json_str(target, a);
    if (name_dns1123_label(name) && name_dns1123_label(text) && out->count < LIMIT_RAY_ENDPOINTS)
        pairs_default(out, name, text);
}

void ray_service_endpoints(struct jval service, struct arena *a, struct buf *out)
{
    struct pairs all = pairs_new(a);
    struct jval k, port;
    for (struct jiter it = json_iter(json_get(service, "spec.ports")); json_next(&it, &k, &port);)
        add_endpoint(port, &all);
    struct jout w;
    jout_init(&w, out);
    pairs_write(&all, &w);
}

static bool wants_headless(const struct ray_cluster *c)
{
    for (uint32_t i = 0; i < c->group_count; i++)
        if (c->groups[i].hosts > 1)
            return true;
    return false;
}

static bool build_headless(const struct ray_cluster *c, struct arena *a, struct buf *out, struct err *e)
{
    struct pairs labels = pairs_new(a), annotations = pairs_new(a), selector = pairs_new(a);
    struct slice name = ray_headless_service_name(c, a);
    pairs_set(&labels, SLICE("ray.io/headless-worker-svc"), c->name); /* the cluster's name, as in KubeRay */
    pairs_set(&labels, SLICE(RAY_LABEL_CLUSTER), c->name);
    pairs_set(&labels, SLICE(RAY_LABEL_OWNER_UID), c->uid);
    pairs_set(&selector, SLICE(RAY_LABEL_CLUSTER), c->name);
    pairs_set(&selector, SLICE(RAY_LABEL_NODE_TYPE), SLICE("worker"));
    struct buf spec;
    struct jout w;
    buf_init(&spec, 4 * KIB);
    jout_init(&w, &spec);
    /* Hosts of a slice look for each other before they are ready. */
    jout_form(&w, "{clusterIP:'None',publishNotReadyAddresses:true,selector:");
    pairs_write(&selector, &w);
    jout_end(&w);
    struct slice text = arena_dup(a, buf_slice(&spec));
    buf_free(&spec);
    const struct owner owner = owner_cluster(c);
    return service_finish(&owner, name, NO_VALUE, &labels, &annotations, text, a, out, e);
}

/* ---- a cluster's services ---- */

static bool wants_head(const struct ray_cluster *c)
{
    (void)c;
    return true;
}

static bool wants_serve(const struct ray_cluster *c)
{
    return c->serve_service;
}

static struct slice serve_name(const struct ray_cluster *c, struct arena *a)
{
    return arena_printf(a, "%.*s-serve-svc", SLICE_ARG(c->name));
}

static bool build_serve(const struct ray_cluster *c, struct arena *a, struct buf *out, struct err *e)
{
    const struct owner owner = owner_cluster(c);
    return ray_build_service_serve(c, &owner, serve_name(c, a), NO_VALUE, a, out, e);
}

static const struct {
    struct slice (*name)(const struct ray_cluster *c, struct arena *a);
    bool (*wanted)(const struct ray_cluster *c);
    bool (*build)(const struct ray_cluster *c, struct arena *a, struct buf *out, struct err *e);
} services[RAY_SERVICES] = {
    [RAY_SERVICE_HEAD] = {ray_head_service_name, wants_head, build_head},
    [RAY_SERVICE_HEADLESS] = {ray_headless_service_name, wants_headless, build_headless},
    [RAY_SERVICE_SERVE] = {serve_name, wants_serve, build_serve},
};

struct slice ray_service_name(const struct ray_cluster *c, enum ray_service which, struct arena *a)
{
    return services[which].name(c, a);
}

bool ray_wants_service(const struct ray_cluster *c, enum ray_service which)
{
    return services[which].wanted(c);
}

bool ray_build_service(const struct ray_cluster *c, enum ray_service which, struct arena *a, struct buf *out, struct err *e)
{
    return services[which].build(c, a, out, e);
}
