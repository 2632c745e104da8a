/* A world whose clusters are scaled by what their heads say. Workers have FAKERAY_CPUS CPUs. */
#ifndef MOBULA_TEST_SCALED_H
#define MOBULA_TEST_SCALED_H

#include "scene.h"

#include "tests/model/sim/fakeray.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

/* Without an operator. */
static void make_unstarted_scaled_world(struct world *w)
{
    struct apiserver_config config = {.seed = 1};
    world_init(w, &config);
    make_namespace(w);
    make_crd(w, "ray.io", "");
    make_crd(w, "cluster.ray.io", "");
    fakerays_begin(w, true);
}

static void make_scaled_world(struct world *w, bool elect)
{
    make_unstarted_scaled_world(w);
    world_start_operator(w, elect);
}

static struct fakeray *head_of(struct world *w, const char *cluster)
{
    return fakeray_of(w, "ray.io", "n", cluster);
}

/* Of group "small"; hosts: 0 is 1; idle: seconds; note: an annotation of worker pods for the model's kubelet, or "". */
struct scaled {
    const char *name;
    int min, replicas, max, hosts, idle;
    const char *note, *more; /* more: members of the spec, each with its comma */
};

static void apply_scaled(struct world *w, const struct scaled *s)
{
    struct slice body = arena_printf(
        &w->arena,
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"%s\"},\"spec\":{%s"
        "\"enableInTreeAutoscaling\":true,\"autoscalerOptions\":{\"idleTimeoutSeconds\":%d},\"headGroupSpec\":{\"rayStartParams\":"
        "{\"num-cpus\":\"0\"},\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}},\"workerGroupSpecs\":"
        "[{\"groupName\":\"small\",\"replicas\":%d,\"minReplicas\":%d,\"maxReplicas\":%d,\"numOfHosts\":%d,\"rayStartParams\":{},"
        "\"template\":{\"metadata\":{\"annotations\":{%s}},\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\",\"resources\":"
        "{\"limits\":{\"cpu\":\"%d\"}}}]}}}]}}",
        s->name, s->more ? s->more : "", s->idle ? s->idle : 10, s->replicas, s->min, s->max ? s->max : 100, s->hosts ? s->hosts : 1,
        s->note ? s->note : "", FAKERAY_CPUS);
    CHECK_INT(world_call(w, "POST", v1, "application/json", body), 201);
}

/* Of the old kind, with a head and type "small"; idle: minutes. */
struct old {
    const char *name;
    int min, max, workers, idle; /* workers: maxWorkers of the cluster */
};

static const char old_kind[] = "/apis/cluster.ray.io/v1/namespaces/n/rayclusters";

static void apply_old(struct world *w, const struct old *o)
{
    static const char container[] = "{\"spec\":{\"containers\":[{\"name\":\"ray-node\",\"image\":\"ray:1\"}]}}";
    struct slice body = arena_printf(
        &w->arena,
        "{\"apiVersion\":\"cluster.ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"%s\"},\"spec\":{\"maxWorkers\":%d,"
        "\"upscalingSpeed\":1.0,\"idleTimeoutMinutes\":%d,\"headPodType\":\"head\",\"headStartRayCommands\":[\"ray start --head\"],"
        "\"workerStartRayCommands\":[\"ray start --address=$RAY_HEAD_IP:6379\"],\"podTypes\":[{\"name\":\"head\",\"podConfig\":%s},"
        "{\"name\":\"small\",\"minWorkers\":%d,\"maxWorkers\":%d,\"rayResources\":{\"CPU\":%d},\"podConfig\":%s}]}}",
        o->name, o->workers, o->idle, container, o->min, o->max, FAKERAY_CPUS, container);
    CHECK_INT(world_call(w, "POST", old_kind, "application/json", body), 201);
}

static struct slice scaling_condition(struct world *w, const char *cluster, const char *field)
{
    struct jval k, c, conditions = json_get(world_object(w, "rayclusters.ray.io", cluster), "status.conditions");
    for (struct jiter it = json_iter(conditions); json_next(&it, &k, &c);)
        if (json_str_eq(json_get(c, "type"), SLICE("Autoscaling")))
            return json_get_str(c, field, &w->arena);
    return SLICE("");
}

static uint32_t workers_of(struct world *w, const char *cluster)
{
    uint32_t pods = pods_of(w, cluster);
    return pods ? pods - 1 : 0;
}

/* Until there are so many workers, `ms` at most; returns how long it took. */
static int64_t run_until_workers(struct world *w, const char *cluster, uint32_t count, int64_t ms)
{
    int64_t from = w->now.mono_ms;
    while (w->now.mono_ms < from + ms && workers_of(w, cluster) != count)
        world_step(w, w->now.mono_ms + 5);
    return w->now.mono_ms - from;
}

#pragma GCC diagnostic pop

#endif
