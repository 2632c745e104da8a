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

/* The operator of this world, when it starts, watches the ConfigMap of this name, which is that of a setting. */
static void watch_map(struct world *w, const char *name)
{
    struct slice key = strcmp(name, "instance-types") == 0 ? SLICE("instance_types.yaml") : arena_printf(&w->arena, "%s.yaml", name);
    w->settings[inspect_setting_place(name)] = (struct operator_configmap){slice_of(name), key};
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
    watch_map(w, "instance-types");
    world_start_operator(w, false);
}

#pragma GCC diagnostic pop

#endif
