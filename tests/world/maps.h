/* A world whose operator reads ConfigMaps. */
#ifndef MOBULA_TEST_MAPS_H
#define MOBULA_TEST_MAPS_H

#include "scene.h"

#include <mobula/inspect.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

static const char maps_path[] = "/api/v1/namespaces/n/configmaps";

/* text: as JSON has it. */
static void put_map(struct world *w, const char *name, const char *key, const char *text)
{
    struct slice body =
        arena_printf(&w->arena, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\"},\"data\":{\"%s\":\"%s\"}}",
                     name, key, text);
    struct slice path = arena_printf(&w->arena, "%s/%s?fieldManager=t&force=true", maps_path, name);
    int status = world_call(w, "PATCH", path.ptr, "application/apply-patch+yaml", body);
    CHECK(status == 200 || status == 201);
}

/* The operator of this world, when it starts, watches this ConfigMap. */
static void watch_map(struct world *w, enum operator_setting s)
{
    static const struct operator_configmap maps[OPERATOR_SETTINGS] = {
        [OPERATOR_INSTANCE_TYPES] = {SLICE("instance-types"), SLICE("instance_types.yaml")},
        [OPERATOR_PATCHES] = {SLICE("patches"), SLICE("patches.yaml")},
        [OPERATOR_POLICY] = {SLICE("policy"), SLICE("policy.yaml")}};
    w->settings[s] = maps[s];
}

static void put_types(struct world *w, const char *text)
{
    put_map(w, "instance-types", "instance_types.yaml", text);
}

static void make_world_with_types(struct world *w)
{
    struct apiserver_config config = {.seed = 1};
    world_init(w, &config);
    make_namespace(w);
    make_crd(w, "ray.io", "");
    watch_map(w, OPERATOR_INSTANCE_TYPES);
    world_start_operator(w, false);
}

#pragma GCC diagnostic pop

#endif
