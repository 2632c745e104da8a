/* A simulated world whose operator has the options of routes. */
#ifndef MOBULA_TESTS_ROUTE_WORLD_H
#define MOBULA_TESTS_ROUTE_WORLD_H

#include "tests/world/maps.h"

#include <mobula/route.h>

/* ca: the Secret of --route-ca. domain: as --domain; empty: none. */
static void start_operator(struct world *w, const char *ca, const char *domain)
{
    static const struct slice namespaces[] = {{"n", 1}};
    const struct operator_options o = {.namespaces = namespaces,
                                       .namespace_count = 1,
                                       .ray = {.tools = RAY_TOOLS_NONE, .cluster_domain = SLICE("cluster.local"), .version = SLICE("0")},
                                       .instance = SLICE("test"),
                                       .settings_ns = SLICE("n"),
                                       .route_ca = slice_of(ca),
                                       .domain = slice_of(domain),
                                       .seed = 1};
    world_launch(w, 0, &o);
}

static void open_world(struct world *w, const char *ca, const char *domain)
{
    struct apiserver_config config = {.seed = 1};
    world_init(w, &config);
    make_namespace(w);
    make_crd(w, "ray.io", "");
    start_operator(w, ca, domain);
}

#endif
