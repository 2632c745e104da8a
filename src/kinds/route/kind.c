/* Ingresses, Gateways, HTTPRoutes, GRPCRoutes and VirtualServices as kinds, and what their controllers' statuses say. A new kind of route
 * is a table here, a function that reads its status, and the verb that deletes it. */
#include "record.h"

/* ---- statuses ---- */

static void read_ingress(struct jval object, struct arena *a, struct slice *trouble, struct slice *address)
{
    struct jval first = json_at(json_get(object, "status.loadBalancer.ingress"), 0);
    (void)trouble; /* a controller need not say anything */
    *address = json_get_str(first, "ip", a);
    if (slice_empty(*address))
        *address = json_get_str(first, "hostname", a);
}

/* Of a list of conditions about `object`: the first of these two that is not True, or that is of a generation before the given one. A
 * controller need not set observedGeneration. */
static struct slice not_true(struct jval object, int64_t generation, struct jval list, const char *const types[2], const char *what,
                             struct arena *a)
{
    struct slice name = json_get_str(object, "metadata.name", a);
    for (int i = 0; i < 2; i++) {
        struct jval c = list_find(list, "type", slice_of(types[i]));
        struct slice reason = json_get_str(c, "reason", a), message = json_get_str(c, "message", a);
        int64_t seen = json_get_int(c, "observedGeneration", 0);
        if (!json_there(c))
            return arena_printf(a, "%s %.*s has no condition %s yet: no controller has looked at it", what, SLICE_ARG(name), types[i]);
        if (seen && seen < generation)
            return arena_printf(a,
                                "condition %s of %s %.*s is of generation %lld, the spec of %lld: its controller has not looked at it yet",
                                types[i], what, SLICE_ARG(name), (long long)seen, (long long)generation);
        if (!json_is(json_get(c, "status"), "True"))
            return arena_printf(a, "%s %.*s is not %s: %.*s: %.*s", what, SLICE_ARG(name), types[i], SLICE_ARG(reason), SLICE_ARG(message));
    }
    return SLICE("");
}

/* "; listener https is not ResolvedRefs: REASON: MESSAGE" of one listener of a Gateway: causes before what follows from them. */
static struct slice broken_listener(struct jval gateway, struct arena *a)
{
    static const char *const types[] = {"ResolvedRefs", "Accepted", "Programmed"};
    struct jval k, one;
    for (size_t i = 0; i < COUNT_OF(types); i++)
        for (struct jiter it = json_iter(json_get(gateway, "status.listeners")); json_next(&it, &k, &one);) {
            struct jval c = list_find(json_get(one, "conditions"), "type", slice_of(types[i]));
            struct slice name = json_get_str(one, "name", a), reason = json_get_str(c, "reason", a),
                         message = json_get_str(c, "message", a);
            if (json_is(json_get(c, "status"), "False"))
                return arena_printf(a, "; listener %.*s is not %s: %.*s: %.*s", SLICE_ARG(name), types[i], SLICE_ARG(reason),
                                    SLICE_ARG(message));
        }
    return SLICE("");
}

static void read_gateway(struct jval object, struct arena *a, struct slice *trouble, struct slice *address)
{
    static const char *const types[2] = {"Accepted", "Programmed"};
    /* Generations are not compared: some controllers update observedGeneration of a Gateway only when the status of a condition changes. */
    *trouble = not_true(object, 0, json_get(object, "status.conditions"), types, "Gateway", a);
    if (!slice_empty(*trouble)) {
        struct slice listener = broken_listener(object, a);
        *trouble = arena_printf(a, "%.*s%.*s", SLICE_ARG(*trouble), SLICE_ARG(listener));
    }
    *address = json_get_str(json_at(json_get(object, "status.addresses"), 0), "value", a);
}

/* Several controllers may speak, one for each parent. Ours has one parent. */
static void read_parents(struct jval object, const char *kind, struct arena *a, struct slice *trouble)
{
    static const char *const types[2] = {"Accepted", "ResolvedRefs"};
    struct slice name = json_get_str(object, "metadata.name", a),
                 parent = json_get_str(json_at(json_get(object, "spec.parentRefs"), 0), "name", a);
    struct jval k, p;
    *trouble = arena_printf(a, "Gateway %.*s has not taken up %s %.*s yet", SLICE_ARG(parent), kind, SLICE_ARG(name));
    for (struct jiter it = json_iter(json_get(object, "status.parents")); json_next(&it, &k, &p);) {
        if (!json_str_eq(json_get(p, "parentRef.name"), parent))
            continue;
        *trouble = not_true(object, json_get_int(object, "metadata.generation", 0), json_get(p, "conditions"), types, kind, a);
        if (slice_empty(*trouble))
            return;
    }
}

static void read_httproute(struct jval object, struct arena *a, struct slice *trouble, struct slice *address)
{
    (void)address;
    read_parents(object, "HTTPRoute", a, trouble);
}

static void read_grpcroute(struct jval object, struct arena *a, struct slice *trouble, struct slice *address)
{
    (void)address;
    read_parents(object, "GRPCRoute", a, trouble);
}

const struct route_kind route_kinds[] = {
    {&kind_ingress, &ingress_delete, SLICE("-ingress"), read_ingress},
    {&kind_gateway, &gateway_delete, SLICE("-gateway"), read_gateway},
    {&kind_httproute, &httproute_delete, SLICE("-httproute"), read_httproute},
    {&kind_grpcroute, &grpcroute_delete, SLICE("-grpcroute"), read_grpcroute},
    {&kind_virtualservice, &virtualservice_delete, SLICE("-virtualservice"), NULL},
    {NULL, NULL, SLICE(""), NULL},
};

/* ---- tables ---- */

#define DELETES(VERB)                                                                                                                      \
    {                                                                                                                                      \
        .verb = &(VERB), .make = route_make_delete, .answer = route_answer_delete, .failed = route_failed, .more = &deletes                \
    }
const struct verb_more route_sealed = {.seal = route_seal};
static const struct verb_more deletes = {.by_us = route_by_us}, secretive = {.secret = route_tls_secret};

/* Of all kinds of routes. */
static const struct verb_handler handlers[] = {
    DELETES(ingress_delete),
    DELETES(gateway_delete),
    DELETES(httproute_delete),
    DELETES(grpcroute_delete),
    DELETES(virtualservice_delete),
    {.verb = &route_write_tls, .make = route_tls_make, .answer = route_tls_answer, .failed = route_tls_failed, .more = &secretive},
    {.verb = NULL}};

#define MADE "make such routes (default); =false: none are made"
#define WITH "with these routes of services (docs/routes.md): five rights more; --kinds=all has them"
#define GATEWAY_API "gateway.networking.k8s.io"
#define ISTIO_API "networking.istio.io"
static const struct kube_resource ingresses = {SLICE("networking.k8s.io"), SLICE("v1"), SLICE("ingresses")},
                                  gateways = {SLICE(GATEWAY_API), SLICE("v1"), SLICE("gateways")},
                                  httproutes = {SLICE(GATEWAY_API), SLICE("v1"), SLICE("httproutes")},
                                  grpcroutes = {SLICE(GATEWAY_API), SLICE("v1"), SLICE("grpcroutes")},
                                  virtualservices = {SLICE(ISTIO_API), SLICE("v1"), SLICE("virtualservices")};

const struct kind kind_ingress = {.name = "Ingress",
                                  .word = "ingress",
                                  .api_version = SLICE("networking.k8s.io/v1"),
                                  .resource = &ingresses,
                                  .plural = "ingresses.networking.k8s.io",
                                  .handlers = handlers,
                                  .family = OPERATOR_RAY_IO,
                                  .keep = keep_route,
                                  .drop = drop_route,
                                  .sweep = sweep_routes,
                                  .free = free_ingresses,
                                  .on_demand = true,
                                  .optional = {.flag = "ingresses",
                                               .run = MADE,
                                               .install = "with Ingresses for dashboards (headGroupSpec.enableIngress): five rights more; "
                                                          "--kinds=all has them"}};

const struct kind kind_gateway = {.name = "Gateway",
                                  .word = "gateway",
                                  .api_version = SLICE("gateway.networking.k8s.io/v1"),
                                  .resource = &gateways,
                                  .plural = "gateways.gateway.networking.k8s.io",
                                  .family = OPERATOR_RAY_IO,
                                  .keep = keep_route,
                                  .drop = drop_route,
                                  .sweep = sweep_routes,
                                  .free = free_gateways,
                                  .on_demand = true,
                                  .optional = {.flag = "gateways", .run = MADE, .install = WITH}};

const struct kind kind_httproute = {.name = "HTTPRoute",
                                    .word = "httproute",
                                    .api_version = SLICE("gateway.networking.k8s.io/v1"),
                                    .resource = &httproutes,
                                    .plural = "httproutes.gateway.networking.k8s.io",
                                    .family = OPERATOR_RAY_IO,
                                    .keep = keep_route,
                                    .drop = drop_route,
                                    .sweep = sweep_routes,
                                    .free = free_httproutes,
                                    .on_demand = true,
                                    .optional = {.flag = "httproutes", .run = MADE, .install = WITH}};

const struct kind kind_grpcroute = {.name = "GRPCRoute",
                                    .word = "grpcroute",
                                    .api_version = SLICE("gateway.networking.k8s.io/v1"),
                                    .resource = &grpcroutes,
                                    .plural = "grpcroutes.gateway.networking.k8s.io",
                                    .family = OPERATOR_RAY_IO,
                                    .keep = keep_route,
                                    .drop = drop_route,
                                    .sweep = sweep_routes,
                                    .free = free_grpcroutes,
                                    .on_demand = true,
                                    .optional = {.flag = "grpcroutes", .run = MADE, .install = WITH}};

const struct kind kind_virtualservice = {.name = "VirtualService",
                                         .word = "virtualservice",
                                         .api_version = SLICE("networking.istio.io/v1"),
                                         .resource = &virtualservices,
                                         .plural = "virtualservices.networking.istio.io",
                                         .family = OPERATOR_RAY_IO,
                                         .keep = keep_route,
                                         .drop = drop_route,
                                         .sweep = sweep_routes,
                                         .free = free_virtualservices,
                                         .on_demand = true,
                                         .optional = {.flag = "virtualservices", .run = MADE, .install = WITH}};
