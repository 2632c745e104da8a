#include "build.h"

static struct slice number(struct arena *a, int32_t n)
{
    return arena_printf(a, "%d", (int)n);
}

/* Those that a user's template may change. */
static void open_labels(const struct ray_cluster *c, struct slice type, struct pairs *out)
{
    pairs_set(out, SLICE(RAY_LABEL_NODE), SLICE("yes"));
    pairs_set(out, SLICE("ray.io/identifier"), arena_printf(out->arena, "%.*s-%.*s", SLICE_ARG(c->name), SLICE_ARG(type)));
    if (c->kind == RAY_V1) { /* labels by which other tools select KubeRay's pods */
        pairs_set(out, SLICE("app.kubernetes.io/name"), SLICE("kuberay"));
        pairs_set(out, SLICE("app.kubernetes.io/created-by"), SLICE("kuberay-operator"));
    }
}

/* Those that we find our pods by. */
static void fixed_labels(const struct ray_cluster *c, const struct ray_group *g, struct slice type, struct pairs *out)
{
    pairs_set(out, SLICE(RAY_LABEL_CLUSTER), c->name);
    pairs_set(out, SLICE(RAY_LABEL_NODE_TYPE), type);
    pairs_set(out, SLICE(RAY_LABEL_GROUP), g->name);
    pairs_set(out, SLICE(RAY_LABEL_OWNER_UID), c->uid);
    if (c->kind == RAY_V1)
        return;
    /* Of the old operator's labels those that stay true; ray-node-status told of steps that no longer exist. */
    pairs_set(out, SLICE("ray-cluster-name"), c->name);
    pairs_set(out, SLICE("ray-node-type"), type);
    pairs_set(out, SLICE("ray-user-node-type"), g->name);
    if (g->head)
        pairs_set(out, SLICE("cluster.ray.io/component"), arena_printf(out->arena, "%.*s-ray-head", SLICE_ARG(c->name)));
}

static void place_labels(const struct ray_cluster *c, const struct ray_group *g, int32_t index, struct pairs *out)
{
    int32_t replica = index / g->hosts;
    pairs_set(out, SLICE(RAY_LABEL_REPLICA_INDEX), number(out->arena, replica));
    if (g->hosts == 1)
        return;
    pairs_set(out, SLICE(RAY_LABEL_REPLICA_NAME), replica_name(c, g, replica, out->arena));
    pairs_set(out, SLICE(RAY_LABEL_HOST_INDEX), number(out->arena, index % g->hosts));
}

void pod_labels(const struct ray_cluster *c, const struct ray_group *g, int32_t index, struct pairs *out)
{
    struct slice type = g->head ? SLICE("head") : SLICE("worker");
    open_labels(c, type, out);
    pairs_set_all(out, json_get(g->template, "metadata.labels"));
    pairs_set_all(out, g->labels);
    fixed_labels(c, g, type, out);
    if (!g->head)
        place_labels(c, g, index, out);
    if (c->serves && !g->head)
        pairs_set(out, SLICE(RAY_LABEL_SERVE), SLICE("true"));
}
