/* Not alone in the namespace: both kinds with one name, pods that KubeRay made, clusters of other controllers, groups of several hosts. */
#include "tests/world/scene.h"

static const char container[] = "{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}";

static void test_two_kinds(void)
{
    struct world w;
    test_case("a cluster of each kind with one name");
    make_world(&w, false);
    make_crd(&w, "cluster.ray.io", "");
    world_run(&w, 40 * 1000);
    apply(&w, "c", 2);
    struct slice legacy = arena_printf(
        &w.arena,
        "{\"apiVersion\":\"cluster.ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\"},\"spec\":{\"maxWorkers\":3,"
        "\"headPodType\":\"head\",\"podTypes\":[{\"name\":\"head\",\"podConfig\":{\"metadata\":{\"generateName\":\"c-head\"},\"spec\":"
        "{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}},{\"name\":\"small\",\"minWorkers\":2,\"maxWorkers\":3,\"podConfig\":"
        "{\"metadata\":{\"generateName\":\"c-small\"},\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}}],"
        "\"headStartRayCommands\":[\"ray stop\",\"ray start --head --port=6379\"],\"workerStartRayCommands\":[\"ray stop\","
        "\"ray start --address=$RAY_HEAD_IP:6379\"]}}");
    CHECK_INT(world_call(&w, "POST", "/apis/cluster.ray.io/v1/namespaces/n/rayclusters", "application/json", legacy), 201);
    world_run(&w, 10 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 6);
    CHECK(is_ready(&w, "c"));
    CHECK(says(&w, "rayclusters.cluster.ray.io", "c", "\"Running\""));
    check_fixed_point(&w);
    test_case("one of them goes, the other stays");
    CHECK_INT(world_call(&w, "DELETE", "/apis/cluster.ray.io/v1/namespaces/n/rayclusters/c", "application/json", SLICE("{}")), 200);
    world_run(&w, 10 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 3);
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    world_free(&w);
}

static void test_adopted(void)
{
    struct world w;
    test_case("pods that KubeRay made are kept");
    make_world(&w, false);
    world_run(&w, 500);
    world_kill_operator(&w);
    apply(&w, "c", 3);
    /* as KubeRay v1.2 names and labels them: a generated name, no index, nothing of ours */
    make_pod_of_c(&w, pods_path, "c-head-x7k2p", "head", "headgroup");
    make_pod_of_c(&w, pods_path, "c-small-worker-aaaaa", "worker", "small");
    make_pod_of_c(&w, pods_path, "c-small-worker-bbbbb", "worker", "small");
    make_pod_of_c(&w, pods_path, "c-small-worker-ccccc", "worker", "small");
    world_run(&w, 2000);
    world_start_operator(&w, false);
    world_run(&w, 10 * 1000);
    CHECK_INT(w.sent.pod_posts, 0);
    CHECK_INT(w.sent.deletes, 0);
    CHECK(is_ready(&w, "c"));
    CHECK_STR(status_of(&w, "c", "status.head.podName"), "c-head-x7k2p");
    test_case("… and replaced and scaled as our own");
    scale(&w, "c", 5);
    world_run(&w, 5000);
    CHECK_INT(w.sent.pod_posts, 2);
    CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/pods/c-small-worker-bbbbb", "application/json", SLICE("{}")), 200);
    CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/pods/c-head-x7k2p", "application/json", SLICE("{}")), 200);
    world_run(&w, 5000);
    CHECK_INT(w.sent.pod_posts, 4);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 6);
    CHECK(is_ready(&w, "c"));
    scale(&w, "c", 0);
    world_run(&w, 5000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 1);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_managed(void)
{
    struct world w;
    test_case("a cluster of another controller is left alone");
    make_world(&w, false);
    struct slice body = cluster_body(&w, "c", 2, "\"managedBy\":\"kueue.x-k8s.io/multikueue\",");
    CHECK_INT(world_call(&w, "POST", v1, "application/json", body), 201);
    world_run(&w, 10 * 1000);
    CHECK_INT(world_writes(&w) + w.sent.events, 0);
    world_free(&w);
}

/* A cluster with three replicas of four hosts. */
static void apply_hosts(struct world *w)
{
    struct slice body = arena_printf(&w->arena,
                                     "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\"},\"spec\":{"
                                     "\"headGroupSpec\":{\"rayStartParams\":{},\"template\":%s},\"workerGroupSpecs\":[{\"groupName\":"
                                     "\"small\",\"replicas\":3,\"minReplicas\":0,\"maxReplicas\":1000,\"numOfHosts\":4,"
                                     "\"rayStartParams\":{},\"template\":%s}]}}",
                                     container, container);
    CHECK_INT(world_call(w, "POST", v1, "application/json", body), 201);
    world_run(w, 5000);
    CHECK_INT(apiserver_count(w->server, SLICE("pods")), 13);
}

/* Gives the names of all hosts; the sixth has failed. */
static void fail_host(struct world *w, struct slice names[12])
{
    CHECK_INT(pod_names(w, "worker", names, 12), 12);
    struct slice path = arena_printf(&w->arena, "%s/%.*s/status", pods_path, SLICE_ARG(names[5]));
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", SLICE("{\"status\":{\"phase\":\"Failed\"}}")), 200);
}

static void test_hosts(void)
{
    struct world w;
    test_case("replicas of four hosts");
    make_world(&w, false);
    apply_hosts(&w);
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 3);
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    test_case("one host fails: its replica is made again, the others stay");
    struct slice names[12];
    fail_host(&w, names);
    world_run(&w, 20 * 1000);
    CHECK_INT(w.sent.pod_posts, 13 + 4);
    CHECK_INT(w.sent.deletes, 4);
    CHECK(is_ready(&w, "c"));
    scale(&w, "c", 1);
    world_run(&w, 5000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 5);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void test_named(void)
{
    struct world w;
    struct slice names[12];
    test_case("a replica is named for deletion: nothing is made in its place before it is known to go");
    make_world(&w, false);
    apply_hosts(&w);
    CHECK_INT(pod_names(&w, "worker", names, 12), 12);
    override(&w, "DELETE", pods_path, 404, false, 4); /* by somebody who has not looked */
    struct slice patch = arena_printf(
        &w.arena, "[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/0/scaleStrategy\",\"value\":{\"workersToDelete\":[\"%.*s\"]}}]",
        SLICE_ARG(names[5]));
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json-patch+json", patch), 200);
    world_run(&w, 5000);
    CHECK_INT(w.sent.deletes, 4);
    CHECK_INT(w.sent.pod_posts, 13);
    world_run(&w, 30 * 1000);
    CHECK_INT(w.sent.deletes, 8);
    CHECK_INT(w.sent.pod_posts, 13 + 4);
    CHECK_INT(pods_of(&w, "c"), 13);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

/* A replica whose predecessor is still going gets another place than one that is made later. When a process dies and what it has sent comes
 * behind the list of the next one, which finds the predecessor gone, two are made for one. The younger goes; whatever has work stays. */
static void test_killed_as_a_replica_is_made(void)
{
    enum { ON_THE_WAY_MS = 400, DECIDED_MS = 150, GONE_MS = 150 };
    struct world w;
    struct slice names[12], after[16];
    test_case("killed while a replica is made again");
    make_world(&w, false);
    apply_hosts(&w);
    fail_host(&w, names);
    for (int ms = 0; ms < 10000 && w.sent.deletes < 4; ms++)
        world_run(&w, 1);
    w.path.latency_ms = ON_THE_WAY_MS;
    world_run(&w, DECIDED_MS);
    world_kill_operator(&w);
    w.path.latency_ms = 0;
    world_run(&w, GONE_MS);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 1 + 8);
    world_start_operator(&w, false);
    world_run(&w, 20 * 1000);
    CHECK_INT(w.sent.pod_posts, 13 + 4 + 4);
    CHECK_INT(w.sent.deletes, 4 + 4);
    CHECK(is_ready(&w, "c"));
    CHECK_INT(pod_names(&w, "worker", after, COUNT_OF(after)), 12);
    for (uint32_t i = 0; i < COUNT_OF(names); i++)
        CHECK(slice_eq(names[i], after[i])); /* in the place of the one that went, not beside it */
    world_run(&w, 60 * 1000);                /* progress is told once a minute */
    check_fixed_point(&w);
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_two_kinds();
    test_adopted();
    test_managed();
    test_hosts();
    test_named();
    test_killed_as_a_replica_is_made();
    return test_done();
}
