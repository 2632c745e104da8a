/* Instance types and patches beyond the pods of a ray.io/v1 cluster: those of a legacy one, and the pod that submits a RayJob. */
#include "submitters.h"

#include "maps.h"

#include <mobula/shape.h>

static const char types[] = "small: {resources: {CPU: 4, memory: 8Gi}, nodeSelector: {disk: ssd}}";
static const char patches[] = "- kind: Pod\\n  selector: anyscale.com/instance-type in (small), !skip\\n  patch:\\n"
                              "  - {op: add, path: /spec/nodeSelector/pool, value: a}\\n"
                              "  - {op: copy, from: /metadata/annotations/anyscale.com~1zone, path: /spec/nodeSelector/zone}";

/* Starts the operator of this world again, with both ConfigMaps. */
static void give_maps(struct world *w)
{
    world_kill_operator(w);
    watch_map(w, "instance-types");
    watch_map(w, "patches");
    put_types(w, types);
    put_map(w, "patches", "patches.yaml", patches);
    world_start_operator(w, false);
}

/* The first pod with this label, as JSON; its first container asks for what the type leaves it, and both maps show in it. */
static void check_pod(struct world *w, const char *label, const char *node_type, const char *cpu)
{
    struct slice list;
    struct json doc;
    struct err e = {0};
    CHECK_INT(
        world_ask(w, "GET", arena_printf(&w->arena, "%s?labelSelector=%s", pods_path, label).ptr, "application/json", SLICE_NONE, &list),
        200);
    if (!CHECK(json_parse(&doc, list, &w->arena, &e)))
        return;
    struct jval pod = json_at(json_get(json_root(&doc), "items"), 0);
    struct jval limits = json_get(json_at(json_get(pod, "spec.containers"), 0), "resources.limits");
    CHECK(json_str_eq(json_key(limits, SLICE("cpu")), slice_of(cpu)));
    CHECK(json_str_eq(json_get(pod, "spec.nodeSelector.disk"), SLICE("ssd")));
    CHECK(json_str_eq(json_get(pod, "spec.nodeSelector.pool"), SLICE("a")));
    CHECK(json_str_eq(json_get(pod, "spec.nodeSelector.zone"), SLICE("z")));
    for (int side = 0; side < 2; side++) {
        struct jval told = json_get(pod, side ? "metadata.labels" : "metadata.annotations");
        CHECK(json_str_eq(json_key(told, SLICE(SHAPE_INSTANCE_TYPE)), SLICE("small")));
        CHECK(json_str_eq(json_key(told, SLICE(SHAPE_NODE_TYPE)), slice_of(node_type)));
        CHECK(json_str_eq(json_key(told, SLICE(SHAPE_MARKET)), SLICE("ON_DEMAND")));
    }
}

static void test_legacy(void)
{
    struct world w;
    test_case("a legacy cluster: head and workers, the type by annotation and by label");
    make_world(&w, false);
    make_crd(&w, "cluster.ray.io", "");
    give_maps(&w);
    struct slice legacy = SLICE(
        "{\"apiVersion\":\"cluster.ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\"},\"spec\":{\"maxWorkers\":3,"
        "\"headPodType\":\"head\",\"podTypes\":[{\"name\":\"head\",\"podConfig\":{\"metadata\":{\"generateName\":\"c-head\","
        "\"annotations\":{\"anyscale.com/instance-type\":\"small\",\"anyscale.com/zone\":\"z\"}},\"spec\":"
        "{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}},{\"name\":\"small\",\"minWorkers\":1,\"maxWorkers\":3,\"podConfig\":"
        "{\"metadata\":{\"generateName\":\"c-small\",\"labels\":{\"anyscale.com/instance-type\":\"small\",\"anyscale.com/zone\":\"z\"}},"
        "\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"},{\"name\":\"log\",\"image\":\"l\",\"resources\":{\"requests\":"
        "{\"cpu\":\"1\"}}}]}}}],"
        "\"headStartRayCommands\":[\"ray stop\",\"ray start --head --port=6379\"],\"workerStartRayCommands\":[\"ray stop\","
        "\"ray start --address=$RAY_HEAD_IP:6379\"]}}");
    CHECK_INT(world_call(&w, "POST", "/apis/cluster.ray.io/v1/namespaces/n/rayclusters", "application/json", legacy), 201);
    world_run(&w, 10 * 1000);
    check_pod(&w, "ray-node-type%3Dhead", "head", "4");
    check_pod(&w, "ray-node-type%3Dworker", "worker", "3");
    CHECK(says(&w, "rayclusters.cluster.ray.io", "c", "\"Running\""));
    check_fixed_point(&w);
    test_case("its type goes: the condition names it");
    put_types(&w, "smal: {resources: {CPU: 4, memory: 8Gi}}");
    CHECK_INT(world_call(&w, "DELETE", arena_printf(&w.arena, "%s?labelSelector=ray-node-type%%3Dworker", pods_path).ptr,
                         "application/json", SLICE("{}")),
              200);
    world_run(&w, 15 * 1000);
    CHECK(says(&w, "rayclusters.cluster.ray.io", "c",
               "group small names instance type small, which the ConfigMap does not have: did you mean smal (line 1)?"));
    world_free(&w);
}

static void test_submitter(void)
{
    struct world w;
    test_case("the pod that submits a RayJob");
    make_pod_world(&w);
    give_maps(&w);
    apply_job(&w, "j",
              "\"submitterPodTemplate\":{\"metadata\":{\"annotations\":{\"anyscale.com/instance-type\":\"small\",\"anyscale.com/"
              "market-type\":\"PREFER_SPOT\"},\"labels\":{\"anyscale.com/"
              "zone\":\"z\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"submit\",\"image\":\"ray:1\"}]}},");
    world_run(&w, 20 * 1000);
    CHECK_INT(submitters_of(&w, "j").count, 1);
    check_pod(&w, "anyscale.com%2Fray-node-type%3Dsubmitter", "submitter", "4");
    end_job_world(&w);
    test_case("its type is not there: the job says so, and goes on when it comes");
    make_pod_world(&w);
    give_maps(&w);
    apply_job(
        &w, "j",
        "\"submitterPodTemplate\":{\"metadata\":{\"annotations\":{\"anyscale.com/instance-type\":\"smal\",\"anyscale.com/zone\":\"z\"}},"
        "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"submit\",\"image\":\"ray:1\"}]}},");
    world_run(&w, 10 * 1000);
    CHECK_INT(submitters_of(&w, "j").count, 0);
    CHECK(tells(&w, "FailedToCreateRayJobSubmitter",
                "its pod template: names instance type smal, which the ConfigMap does not have: did you mean small (line 1)?"));
    put_types(&w, "smal: {resources: {CPU: 2, memory: 8Gi}}");
    world_run(&w, 30 * 1000);
    CHECK_INT(submitters_of(&w, "j").count, 1);
    end_job_world(&w);
}

static void test_reason(void)
{
    struct world w;
    test_case("a RayJob whose cluster names a missing type says which, and what was meant");
    make_pod_world(&w);
    give_maps(&w);
    const char *job = "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayJob\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},"
                      "\"spec\":{\"entrypoint\":\"x\",\"rayClusterSpec\":{\"headGroupSpec\":{\"template\":{\"metadata\":{"
                      "\"annotations\":{\"anyscale.com/instance-type\":\"smal\"}},\"spec\":{\"containers\":["
                      "{\"name\":\"ray\",\"image\":\"ray:1\"}]}}}}}}";
    CHECK_INT(world_call(&w, "POST", jobs_path, "application/json", slice_of(job)), 201);
    world_run(&w, 5 * 1000);
    CHECK(slice_find_text(job_says(&w, "j", "message"), "is not ready: group headgroup names instance type smal, which the ConfigMap does "
                                                        "not have: did you mean small (line 1)?") >= 0);
    end_job_world(&w);
}

int main(void)
{
    test_reason();
    test_legacy();
    test_submitter();
    return test_done();
}
