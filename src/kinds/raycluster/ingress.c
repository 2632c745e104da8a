/* The Ingress of a RayCluster's dashboard: when it is made and goes, and what its condition says. */
#include "facts.h"

#include <mobula/pairs.h>

bool raycluster_build_ingress(const struct ray_cluster *c, uint64_t seed, struct arena *a, struct buf *out, struct err *e)
{
    struct pairs labels = pairs_new(a), annotations = pairs_new(a);
    __attribute__((cleanup(buf_free))) struct buf spec = {.max = out->max};
    const struct route_object o = {
        .api_version = "networking.k8s.io/v1",
        .kind = "Ingress",
        .owner = {.api_version = SLICE("ray.io/v1"), .kind = SLICE("RayCluster"), .ns = c->ns, .name = c->name, .uid = c->uid},
        .name = ray_ingress_name(c, a),
        .labels = &labels,
        .annotations = &annotations,
        .seed = seed};
    ray_build_ingress(c, &labels, &annotations, &spec);
    struct route_object whole = o;
    whole.spec = buf_slice(&spec);
    return spec.full ? err_set(e, ERR_LIMIT, "Ingress %.*s is larger than %zu bytes (LIMIT_JSON_ITEM)", SLICE_ARG(o.name), out->max)
                     : route_write(&whole, a, out, e);
}

void decide_ingress(const struct cluster_view *in, struct plan *p)
{
    if (in->ingress)
        route_tls_decide(in->ingress->tls, p);
    if (in->ingress && ray_wants_ingress(in->cluster))
        route_decide(in->ingress, in->now, p);
    else if (in->ingress)
        route_end(in->ingress, "headGroupSpec.enableIngress is not true any more", in->now, p);
}

/* An Ingress that no controller takes up is no error of Kubernetes: it is only without an address. */
static struct slice where(const struct facts *f)
{
    const struct ray_cluster *c = f->in->cluster;
    const struct route *have = f->in->ingress->have;
    struct slice host = ray_ingress_host(c, f->a), class = ray_ingress_class(c, f->a), missing = ray_ingress_missing(c, f->a), words;
    if (have->address.len)
        words = arena_printf(f->a, "reached at %.*s%s%.*s%s", SLICE_ARG(have->address), host.len ? " as " : "", SLICE_ARG(host),
                             slice_has(have->text, ROUTE_ADDRESS) ? ", the given address: its status is not looked at" : "");
    else if (slice_empty(class))
        words = SLICE("no ingress controller has given it an address; the annotation kubernetes.io/ingress.class names none");
    else
        words =
            arena_printf(f->a, "no ingress controller has given it an address: is \"%.*s\" (kubernetes.io/ingress.class) an IngressClass?",
                         SLICE_ARG(class));
    return slice_empty(missing)
               ? words
               : arena_printf(f->a, "%.*s; annotation " RAY_ANNOTATION_PORTS ": no host, or no port of the head service, for %.*s",
                              SLICE_ARG(words), SLICE_ARG(missing));
}

bool ingress_condition(const struct facts *f, struct condition *out)
{
    const struct route_view *v = f->in->ingress;
    if (!v || f->in->errors->count)
        return false;
    if (!v->known && slice_empty(v->why_not))
        return route_prior_condition(f->prior, STATUS_INGRESS, f->a, out); /* until the list is complete */
    bool wanted = ray_wants_ingress(f->in->cluster);
    *out = (struct condition){.type = STATUS_INGRESS, .generation = f->in->cluster->generation};
    if (!wanted && v->known && !v->have)
        return false;
    out->yes = wanted && route_there(v);
    out->reason = out->yes ? SLICE("IngressApplied") : !wanted ? SLICE("IngressDeleting") : SLICE("IngressNotApplied");
    if (!wanted)
        out->message = SLICE("headGroupSpec.enableIngress is not true any more: it is deleted");
    else
        out->message = out->yes ? where(f) : route_trouble(v, f->a);
    if (!v->known)
        out->message = arena_printf(f->a, "headGroupSpec.enableIngress: %.*s; `mobula install --ingresses` gives the right to make them",
                                    SLICE_ARG(v->why_not));
    out->message = arena_cut(f->a, out->message, LIMIT_KUBE_EVENT_NOTE);
    return true;
}
