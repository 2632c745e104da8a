/* Builds Services for Serve requests. Those of a RayService outlive its RayClusters, and select the pods of one of them. */
#include "service.h"

static bool is_serve(struct slice name)
{
    return slice_is(name, "serve") || slice_starts(name, SLICE("serve-"));
}

static struct service_ports serve_ports(const struct ray_cluster *c, struct arena *a)
{
    struct service_ports all = v1_ports(c, a), own = ports_new(a, all.count + 1);
    for (uint32_t i = 0; i < all.count; i++)
        if (is_serve(all.list[i].name))
            ports_add(&own, all.list[i]);
    if (own.count == 0)
        ports_add(&own, (struct service_port){.name = SLICE("serve"), .port = c->ports.serve, .target = NO_VALUE});
    return own;
}

int32_t ray_serve_port(const struct ray_cluster *c, struct arena *a)
{
    struct service_ports own = serve_ports(c, a);
    for (uint32_t i = 0; i < own.count; i++)
        if (slice_is(own.list[i].name, "serve"))
            return own.list[i].port;
    return own.list[0].port;
}

/* of_service: made for a RayService, which labels the pods that take requests. Else all Ray pods are selected, as in KubeRay; a RayJob's
 * submitter, which has the cluster's label, too, is none. */
static void write_serve(struct jout *w, const struct ray_cluster *c, bool of_service, struct jval given, struct arena *a)
{
    static const char *const ours[] = {"selector", "ports", NULL};
    struct jval spec = json_get(given, "spec"), ports = json_get(spec, "ports");
    struct slice type = json_get_str(c->spec, "headGroupSpec.serviceType", a);
    struct service_ports own = serve_ports(c, a);
    jout_object(w);
    if (value_given(spec))
        splice_members(w, spec, ours, a);
    if (!slice_empty(type) && !json_there(json_get(spec, "type")))
        jout_kstr(w, "type", type);
    jout_form(w, "selector:{%s:'%.*s',%s:'%s'}", RAY_LABEL_CLUSTER, SLICE_ARG(c->name), of_service ? RAY_LABEL_SERVE : RAY_LABEL_NODE,
              of_service ? "true" : "yes");
    if (json_len(ports))
        jout_kval(w, "ports", ports);
    else
        ports_write(&own, NULL, w); /* not "tcp" as in KubeRay: some controllers of Gateways, as Traefik, refuse such a port */
    jout_end(w);
}

/* Labels by which users find the Service. Our watch selects on the first, RAY_LABEL_CLUSTER. */
static void set_labels(const struct ray_cluster *c, const struct owner *owner, struct pairs *labels)
{
    pairs_set(labels, SLICE(RAY_LABEL_CLUSTER), c->name);
    pairs_set(labels, SLICE(RAY_LABEL_OWNER_UID), owner->uid);
    pairs_set(labels, SLICE(RAY_LABEL_MAKER_NAME), owner->name);
    pairs_set(labels, SLICE(RAY_LABEL_MAKER_KIND), owner->kind);
}

bool ray_build_service_serve(const struct ray_cluster *c, const struct owner *owner, struct slice name, struct jval given, struct arena *a,
                             struct buf *out, struct err *e)
{
    struct pairs labels = pairs_new(a), annotations = pairs_new(a);
    struct jval metadata = json_get(given, "metadata");
    __attribute__((cleanup(buf_free))) struct buf spec;
    struct jout w;
    buf_init(&spec, out->max);
    jout_init(&w, &spec);
    write_serve(&w, c, c->serves || slice_is(owner->kind, "RayService"), given, a);
    if (spec.full)
        return err_set(e, ERR_LIMIT, "service %.*s is larger than %zu bytes (LIMIT_JSON_ITEM)", SLICE_ARG(name), out->max);
    pairs_set_all(&labels, json_get(metadata, "labels"));
    pairs_set_all(&annotations, json_get(metadata, "annotations"));
    pairs_set(&labels, SLICE(RAY_LABEL_SERVE), arena_printf(a, "%.*s-serve", SLICE_ARG(owner->name)));
    set_labels(c, owner, &labels);
    return service_finish(owner, name, metadata, &labels, &annotations, buf_slice(&spec), a, out, e);
}

bool ray_build_service_head(const struct ray_cluster *c, const struct owner *owner, struct slice name, struct arena *a, struct buf *out,
                            struct err *e)
{
    struct pairs labels = pairs_new(a), annotations = pairs_new(a);
    struct jval metadata = json_get(c->spec, "headGroupSpec.headService.metadata");
    __attribute__((cleanup(buf_free))) struct buf spec;
    struct jout w;
    buf_init(&spec, out->max);
    jout_init(&w, &spec);
    jout_object(&w);
    v1_head_service(&w, c, &labels, &annotations);
    jout_end(&w);
    if (spec.full)
        return err_set(e, ERR_LIMIT, "service %.*s is larger than %zu bytes (LIMIT_JSON_ITEM)", SLICE_ARG(name), out->max);
    set_labels(c, owner, &labels);
    return service_finish(owner, name, metadata, &labels, &annotations, buf_slice(&spec), a, out, e);
}
