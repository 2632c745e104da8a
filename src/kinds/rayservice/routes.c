/* Builds the routes of a RayService, KubeRay's but for labels and annotations, and Serve configurations with a target capacity. */
#include "rayservice.h"

#include <mobula/pairs.h>

struct slice rayservice_gateway_name(const struct rayservice *s, struct arena *a)
{
    return arena_printf(a, "%.*s-gateway", SLICE_ARG(s->name));
}

struct slice rayservice_route_name(const struct rayservice *s, struct arena *a)
{
    return arena_printf(a, "%.*s-httproute", SLICE_ARG(s->name));
}

struct slice rayservice_own_name(struct slice cluster, struct arena *a)
{
    return arena_printf(a, "%.*s-serve-svc", SLICE_ARG(cluster));
}

static void set_labels(const struct rayservice *s, struct pairs *labels)
{
    pairs_set(labels, SLICE(RAY_LABEL_MAKER_NAME), s->name);
    pairs_set(labels, SLICE(RAY_LABEL_MAKER_KIND), SLICE("RayService"));
}

static bool write_route(const struct rayservice *s, const char *kind, struct slice name, struct pairs *annotations, const struct buf *spec,
                        uint64_t seed, struct buf *out, struct err *e)
{
    struct arena *a = annotations->arena;
    struct pairs labels = pairs_new(a);
    const struct route_object o = {.api_version = "gateway.networking.k8s.io/v1",
                                   .kind = kind,
                                   .owner = rayservice_owner(s),
                                   .name = name,
                                   .labels = &labels,
                                   .annotations = annotations,
                                   .spec = buf_slice(spec),
                                   .seed = seed};
    set_labels(s, &labels);
    return route_write(&o, a, out, e);
}

bool rayservice_build_gateway(const struct rayservice *s, uint64_t seed, struct arena *a, struct buf *out, struct err *e)
{
    struct pairs annotations = pairs_new(a);
    __attribute__((cleanup(buf_free))) struct buf spec = {.max = LIMIT_JSON_ITEM};
    struct slice tls = json_str(json_child(s->annotations, RAYSERVICE_TLS), a);
    struct jout w;
    jout_init(&w, &spec);
    jout_form(&w, "{gatewayClassName:'%.*s',listeners:[{name:'http',protocol:'HTTP',port:80}", SLICE_ARG(s->options.gateway_class));
    if (tls.len)
        jout_form(&w, "{name:'https',protocol:'HTTPS',port:443,tls:{certificateRefs:[{name:'%.*s'}]}}", SLICE_ARG(tls));
    jout_form(&w, "]}");
    pairs_set(&annotations, SLICE("anyscale.com/ingress-type"), SLICE("gateway"));
    return write_route(s, "Gateway", rayservice_gateway_name(s, a), &annotations, &spec, seed, out, e);
}

static void write_backend(struct jout *w, const struct rayservice *s, const struct service_cluster *c, int32_t weight, struct arena *a)
{
    struct slice name = rayservice_own_name(c->name, a);
    jout_form(w, "{name:'%.*s',namespace:'%.*s',port:%d,weight:%d}", SLICE_ARG(name), SLICE_ARG(s->ns), (int)c->serve_port, (int)weight);
}

static void set_share(struct pairs *out, const char *prefix, const struct service_cluster *c, int32_t weight)
{
    struct arena *a = out->arena;
    pairs_set(out, arena_printf(a, "%ssvc", prefix), rayservice_own_name(c->name, a));
    pairs_set(out, arena_printf(a, "%sweight", prefix), arena_printf(a, "%d", (int)weight));
}

bool rayservice_build_route(const struct rayservice *s, const struct service_cluster *primary, const struct service_cluster *canary,
                            int32_t weight, uint64_t seed, struct arena *a, struct buf *out, struct err *e)
{
    struct pairs annotations = pairs_new(a);
    __attribute__((cleanup(buf_free))) struct buf spec = {.max = LIMIT_JSON_ITEM};
    struct slice gateway = rayservice_gateway_name(s, a);
    struct jout w;
    jout_init(&w, &spec);
    jout_form(&w, "{parentRefs:[{name:'%.*s',namespace:'%.*s'}],rules:[{matches:[{path:{type:'PathPrefix',value:'/'}}],backendRefs:[",
              SLICE_ARG(gateway), SLICE_ARG(s->ns));
    write_backend(&w, s, primary, 100 - weight, a);
    if (canary)
        write_backend(&w, s, canary, weight, a);
    jout_form(&w, "]}]}");
    pairs_set(&annotations, SLICE("anyscale.com/ingress-type"), SLICE("gateway"));
    set_share(&annotations, RAYSERVICE_PRIMARY, primary, 100 - weight);
    pairs_set(&annotations, SLICE(RAYSERVICE_CANARY "exists"), canary ? SLICE("true") : SLICE("false"));
    if (canary)
        set_share(&annotations, RAYSERVICE_CANARY, canary, weight);
    return write_route(s, "HTTPRoute", rayservice_route_name(s, a), &annotations, &spec, seed, out, e);
}

/* ---- target capacity ---- */

struct slice rayservice_with_capacity(struct slice config, int32_t capacity, struct arena *a)
{
    static const char *const skipped[] = {"target_capacity", NULL};
    __attribute__((cleanup(buf_free))) struct buf text = {.max = LIMIT_JSON_ITEM};
    struct jval doc;
    struct jout w;
    if (!json_read(&doc, config, a, NULL))
        return config;
    jout_init(&w, &text);
    jout_object(&w);
    splice_members(&w, doc, skipped, a);
    if (capacity >= 0)
        jout_kint(&w, "target_capacity", capacity);
    jout_end(&w);
    return text.full ? config : arena_dup(a, buf_slice(&text));
}

uint64_t serve_scale_id(int32_t capacity)
{
    return hash64(SLICE("target_capacity"), (uint64_t)capacity) | 1;
}
