/* The kinds of a control plane in its own cluster, and objects of them, as kubectl would make them. */
#ifndef MOBULA_TEST_FLEET_OBJECTS_H
#define MOBULA_TEST_FLEET_OBJECTS_H

#include "tests/world/scene.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

static void define_hub_kinds(struct world *w)
{
    make_definition(w, "mobula.dev", "Cloud", "clouds", "");
    make_definition(w, "mobula.dev", "ComputeConfig", "computeconfigs", "");
    make_definition(w, "mobula.dev", "Workload", "workloads", "");
}

static void create_hub_object(struct world *w, const char *kind, const char *plural, const char *name, const char *spec)
{
    struct slice answer, path = arena_printf(&w->arena, "/apis/mobula.dev/v1/namespaces/n/%s", plural);
    struct slice body = arena_printf(&w->arena,
                                     "{\"apiVersion\":\"mobula.dev/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},"
                                     "\"spec\":%s}",
                                     kind, name, spec);
    if (!CHECK_INT(world_ask(w, "POST", path.ptr, "application/json", body, &answer), 201))
        printf("  %.*s\n", SLICE_ARG(answer));
}

static void create_cloud(struct world *w, const char *name)
{
    create_hub_object(w, "Cloud", "clouds", name, "{\"provider\":\"generic\"}");
}

#pragma GCC diagnostic pop

#endif
