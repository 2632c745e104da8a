/* Things fail: pods, heads, quotas, namespaces. Nothing is tried in a tight loop, and all comes back when the cause is gone. */
#include "scene.h"

#include <mobula/inspect.h>

/* A cluster whose workers (or head) carry an annotation that makes the model's kubelet misbehave. */
static void apply_failing(struct world *w, const char *head, const char *worker, int workers)
{
    static const char format[] = "{\"metadata\":{\"annotations\":{%s}},\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}";
    struct slice head_template = arena_printf(&w->arena, format, head), worker_template = arena_printf(&w->arena, format, worker);
    struct slice body = arena_printf(&w->arena,
                                     "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\"},\"spec\":{"
                                     "\"headGroupSpec\":{\"rayStartParams\":{},\"template\":%s},\"workerGroupSpecs\":[{\"groupName\":"
                                     "\"small\",\"replicas\":%d,\"minReplicas\":0,\"maxReplicas\":1000,\"rayStartParams\":{},"
                                     "\"template\":%s}]}}",
                                     head_template.ptr, workers, worker_template.ptr);
    CHECK_INT(world_call(w, "POST", v1, "application/json", body), 201);
}

static void test_crash_loop(void)
{
    static const struct {
        const char *id, *head, *worker;
        int workers;
        uint32_t most; /* pods created in 20 minutes */
    } cases[] = {
        {"a worker that fails at once", "", "\"fake.kubelet/fail\":\"after=0s\"", 1, 2 + 13},
        {"20 workers that fail at once", "", "\"fake.kubelet/fail\":\"after=0s\"", 20, 21 + 13 * 20},
        {"a worker that fails after half a minute", "", "\"fake.kubelet/fail\":\"after=30s\"", 1, 2 + 12},
        {"a head that fails at once", "\"fake.kubelet/fail\":\"after=0s\"", "", 1, 2 + 13},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("%s", cases[i].id);
        make_world(&w, false);
        apply_failing(&w, cases[i].head, cases[i].worker, cases[i].workers);
        world_run(&w, 20 * 60 * 1000);
        CHECK(w.sent.pod_posts > 6);
        CHECK(w.sent.pod_posts <= cases[i].most);
        CHECK(w.sent.patches <= 5 * 15);
        CHECK(w.sent.events <= 40);
        CHECK(says(&w, "rayclusters.ray.io", "c", "\"ReplicaFailure\""));
        CHECK(says(&w, "rayclusters.ray.io", "c", "times in a row"));
        if (w.sent.pod_posts > cases[i].most)
            printf("  %u posts\n", w.sent.pod_posts);
        world_free(&w);
    }
}

static void fail_pod(struct world *w, const char *name)
{
    struct slice path = arena_printf(&w->arena, "%s/%s/status", pods_path, name);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json",
                         SLICE("{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"conditions\":[]}}")),
              200);
}

static void test_once(void)
{
    struct world w;
    test_case("a head is evicted");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 5000);
    uint32_t posts = w.sent.pod_posts;
    fail_pod(&w, "c-head");
    for (int i = 0; i < 100 && !says(&w, "pods", "c-head", "\"Ready\",\"status\":\"True\""); i++)
        world_run(&w, 100);
    world_run(&w, 500);
    test_case("… and its workers are no workers of the new head, until Ray in them was started again");
    CHECK(says(&w, "rayclusters.ray.io", "c", "HeadPodRunningAndReady"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"availableWorkerReplicas\":0,\"readyWorkerReplicas\":0"));
    CHECK(!is_ready(&w, "c"));
    world_run(&w, 3800);
    CHECK(is_ready(&w, "c"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"availableWorkerReplicas\":3,\"readyWorkerReplicas\":3"));
    CHECK_INT(w.sent.pod_posts, posts + 1);
    CHECK_INT(w.sent.deletes, 1);
    test_case("the failure is forgotten, wherever the wall clock is put meanwhile");
    w.process[0].skew_us = -3600000000;
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"HeadPodFailed\""));
    world_run(&w, 5 * 60 * 1000);
    CHECK(!says(&w, "rayclusters.ray.io", "c", "ReplicaFailure"));
    check_fixed_point(&w);
    world_free(&w);
}

/* Whatever their times say: Ray in them would have exited by then. */
static void test_run_on(void)
{
    struct world w;
    struct apiserver_config config = {.seed = 1, .lose_ms = 3600 * 1000};
    test_case("workers that run on after their head was replaced count again after a while");
    world_init(&w, &config);
    make_namespace(&w);
    make_crd(&w, "ray.io", "");
    world_start_operator(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 5000);
    fail_pod(&w, "c-head");
    world_run(&w, POD_OLD_HEAD_MS - 1000);
    CHECK(!is_ready(&w, "c"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"availableWorkerReplicas\":0,\"readyWorkerReplicas\":0"));
    world_run(&w, 3000);
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    world_free(&w);
}

/* A node goes and takes many pods along: one failure, and all come back within seconds. */
static void test_together(void)
{
    struct world w;
    test_case("thirty of forty workers are evicted");
    make_world(&w, false);
    apply(&w, "c", 40);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    struct slice names[40];
    uint32_t count = pod_names(&w, "worker", names, COUNT_OF(names));
    CHECK_INT(count, 40);
    for (uint32_t i = 0; i < 30 && i < count; i++) {
        fail_pod(&w, names[i].ptr);
        world_run(&w, 5);
    }
    world_run(&w, 10 * 1000);
    CHECK(is_ready(&w, "c"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "failed once"));
    test_case("a pod that ends by itself, or was refused: each has an event of its own");
    CHECK(tells(&w, "WorkerPodEnded", "failed: Evicted"));
    CHECK(!tells(&w, "FailedToCreateWorkerPod", ""));
    world_free(&w);
}

/* What the operator may not delete stays: its user has to be told, and nothing is said to be deleted. */
static void test_delete_refused(void)
{
    struct world w;
    test_case("a webhook refuses the deletion of pods: an event says so, and none says that they were deleted");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    override(&w, "DELETE", pods_path, 403, false, UINT32_MAX);
    scale(&w, "c", 1);
    world_run(&w, 60 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 4);
    CHECK(tells(&w, "FailedToDeletePod", ": 403 Forbidden"));
    CHECK(!tells(&w, "FailedToCreateWorkerPod", ""));
    CHECK(!tells(&w, "Created", "deleted"));
    CHECK(!tells(&w, "DeletedWorkerPod", ""));
    CHECK(w.sent.deletes < 40);
    override(&w, "DELETE", pods_path, 403, false, 0);
    world_run(&w, OPERATOR_BACKOFF_MAX_MS + 5000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 2);
    CHECK(tells(&w, "DeletedWorkerPod", "more replicas than desired"));
    world_free(&w);
}

/* After a failure few come at first, and soon as many as are wanted: whose clock is ahead has to wait no longer for that. */
static void test_growth(void)
{
    static const int hours[] = {0, 1, -1};
    for (size_t i = 0; i < COUNT_OF(hours); i++) {
        struct world w;
        test_case("a group that failed once grows, and our clock is %d hours ahead of the API server's", hours[i]);
        make_world(&w, false);
        w.process[0].skew_us = hours[i] * INT64_C(3600) * 1000 * 1000;
        apply(&w, "c", 200);
        override(&w, "POST", pods_path, 403, false, 1);
        world_run(&w, 3000);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 201);
        world_free(&w);
    }
}

/* What was refused is there: nothing is left to be said, and nothing to wait for. */
static void test_lifted(void)
{
    struct world w;
    test_case("a quota is full, and raised: the condition goes with the pods that come");
    make_world(&w, false);
    override(&w, "POST", pods_path, 403, false, 1000000);
    apply(&w, "c", 3);
    world_run(&w, 60 * 1000);
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"ReplicaFailure\""));
    apiserver_faults(w.server)->next.times = 0;
    while (pods_of(&w, "c") < 4)
        world_run(&w, 100);
    world_run(&w, 2000);
    CHECK(!says(&w, "rayclusters.ray.io", "c", "ReplicaFailure"));
    check_fixed_point(&w);
    test_case("what was refused is not asked for any more");
    override(&w, "POST", pods_path, 403, false, 1000000);
    scale(&w, "c", 5);
    world_run(&w, 20 * 1000);
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"ReplicaFailure\""));
    scale(&w, "c", 3);
    world_run(&w, 2000);
    CHECK(!says(&w, "rayclusters.ray.io", "c", "ReplicaFailure"));
    world_free(&w);
}

static void test_refusals(void)
{
    static const struct {
        const char *id, *reason;
        int status;
        uint32_t times, most;
        bool failure;
    } cases[] = {
        {"a quota that is full", "Forbidden", 403, 1000000, 150, true},
        {"conflicts of a quota that is counted", "Conflict", 409, 30, 700, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("%s", cases[i].id);
        make_world(&w, false);
        override(&w, "POST", pods_path, cases[i].status, false, cases[i].times);
        apiserver_faults(w.server)->next.reason = cases[i].reason;
        apply(&w, "c", 300);
        world_run(&w, 10 * 60 * 1000);
        CHECK(w.sent.pod_posts <= cases[i].most);
        if (w.sent.pod_posts > cases[i].most)
            printf("  %u posts\n", w.sent.pod_posts);
        CHECK(says(&w, "rayclusters.ray.io", "c", "ReplicaFailure") == cases[i].failure);
        apiserver_faults(w.server)->next.times = 0;
        world_run(&w, 6 * 60 * 1000);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 301);
        CHECK(is_ready(&w, "c"));
        world_free(&w);
    }
}

/* Of a policy that looks at containers the manifest does not have: the way out stands before the words that may be cut. */
static void test_limit_range(void)
{
    struct world w;
    test_case("a LimitRange with a minimum");
    make_world(&w, false);
    override(&w, "POST", pods_path, 403, false, 1000000);
    apiserver_faults(w.server)->next.message =
        "pods \"c-g-worker-0-x\" is forbidden: minimum cpu usage per Container is 100m, but request is 10m";
    apply(&w, "c", 1);
    world_run(&w, 60 * 1000);
    CHECK(
        says(&w, "rayclusters.ray.io", "c", "403 Forbidden (of an added container: set the annotation mobula.dev/tools-resources): pods"));
    world_free(&w);
}

static void test_namespace(void)
{
    struct world w;
    test_case("the namespace is deleted underneath");
    make_world(&w, false);
    apply(&w, "c", 5);
    world_run(&w, 3000);
    uint32_t before = world_writes(&w);
    CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n", "application/json", SLICE("{}")), 200);
    world_run(&w, 5 * 60 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 0);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    CHECK(world_writes(&w) - before < 30);
    check_fixed_point(&w);
    test_case("and made again");
    make_namespace(&w);
    apply(&w, "c", 5);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void test_relabelled(void)
{
    struct world w;
    test_case("a worker that loses its labels is not asked for in a loop");
    make_world(&w, false);
    apply(&w, "c", 2);
    world_run(&w, 3000);
    struct slice names[2];
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 2);
    struct slice path = arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(names[0]));
    uint32_t before = w.sent.posts;
    CHECK_INT(
        world_call(&w, "PATCH", path.ptr, "application/merge-patch+json", SLICE("{\"metadata\":{\"labels\":{\"ray.io/cluster\":null}}}")),
        200);
    world_run(&w, 5 * 60 * 1000);
    CHECK(w.sent.posts - before < 30);
    CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    world_run(&w, 2 * 60 * 1000);
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 2);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void test_said_to_be_gone(void)
{
    struct world w;
    test_case("a DELETE is answered 404 and the pod stays");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 3000);
    override(&w, "DELETE", pods_path, 404, false, 4);
    struct slice patch = SLICE("{\"spec\":{\"suspend\":true}}");
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/merge-patch+json", patch), 200);
    world_run(&w, 9 * 1000);
    CHECK_INT(w.sent.deletes, 4);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 4);
    world_run(&w, 5 * 1000);
    CHECK_INT(w.sent.deletes, 8);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    check_fixed_point(&w);
    world_free(&w);
}

/* Somebody on the way says that it is not there, and it is: nobody else comes into its place. When it has really gone, the place is filled
 * as soon as the watch has told; when the watch is silent, as soon as a list has. */
static void test_place_of_doubted(void)
{
    static const struct {
        const char *id;
        bool commit;
        bool untold;            /* the watch is silent as long as the place is held */
        int64_t held_ms, in_ms; /* so long the place is held; so much later all is well */
        uint32_t deletes;
    } cases[] = {
        {"a DELETE is answered 404, and the pod runs: its place is kept", false, false, 9 * 1000, 10 * 1000, 2},
        {"a DELETE is answered 404, and the pod goes: its place is filled at once", true, false, 0, 2 * 1000, 1},
        {"a DELETE is answered 404, and the watch does not tell of it: its place is filled after a list", true, true, 9 * 1000, 10 * 1000,
         1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        struct slice names[3];
        test_case("%s", cases[i].id);
        make_world(&w, false);
        apply(&w, "c", 1);
        world_run(&w, 5000);
        CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 1);
        struct slice old = names[0];
        override(&w, "DELETE", pods_path, 404, cases[i].commit, 1);
        struct slice patch = arena_printf(&w.arena,
                                          "[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/0/scaleStrategy\",\"value\":"
                                          "{\"workersToDelete\":[\"%.*s\"]}}]",
                                          SLICE_ARG(old));
        CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json-patch+json", patch), 200);
        apiserver_faults(w.server)->drop_events = cases[i].untold ? UINT32_MAX : 0;
        uint32_t posts = w.sent.pod_posts;
        world_run(&w, cases[i].held_ms);
        apiserver_faults(w.server)->drop_events = 0;
        CHECK_INT(w.sent.pod_posts, posts);
        world_run(&w, cases[i].in_ms);
        CHECK_INT(w.sent.pod_posts, posts + 1);
        CHECK_INT(w.sent.deletes, cases[i].deletes);
        CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 1);
        CHECK(!slice_eq(names[0], old) && is_ready(&w, "c"));
        world_run(&w, 60 * 1000); /* progress is told once a minute */
        check_fixed_point(&w);
        world_free(&w);
    }
}

/* A DELETE is carried out, the answer says otherwise, and no watch tells. What is the worst pod of all by then stays: one was to go. */
static void test_one_too_many(void)
{
    struct world w;
    test_case("a DELETE is answered 503 and the pod goes, and another falls ill");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 5000);
    override(&w, "DELETE", pods_path, 503, true, 1);
    scale(&w, "c", 2);
    apiserver_faults(w.server)->drop_events = 3; /* that it is to go, that it goes, that it has gone */
    world_run(&w, 300);
    CHECK_INT(apiserver_faults(w.server)->drop_events, 0);
    struct slice names[3];
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 2);
    struct slice path = arena_printf(&w.arena, "%s/%.*s/status", pods_path, SLICE_ARG(names[0]));
    struct slice ill = SLICE("{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}");
    CHECK_INT(world_call(&w, "PATCH", path.ptr, "application/merge-patch+json", ill), 200);
    world_run(&w, 20 * 1000);
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 2);
    CHECK_INT(w.sent.deletes, 2);
    CHECK_INT(w.sent.pod_posts, 4);
    world_free(&w);
}

/* A DELETE has failed and was not carried out: for some minutes its pod is the first to go, and not for ever. */
static void test_asked_long_ago(void)
{
    struct world w;
    struct slice names[3];
    char asked[POD_NAME_MAX + 1] = "";
    test_case("a DELETE is answered 500 and nothing happens: much later the pod goes no sooner than one that is not ready");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 5000);
    override(&w, "DELETE", pods_path, 500, false, 1000);
    scale(&w, "c", 2);
    world_run(&w, 500);
    scale(&w, "c", 3);
    world_run(&w, 60 * 1000);
    apiserver_faults(w.server)->next.times = 0;
    CHECK(w.sent.deletes > 0);
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 3);
    struct inspect_pod p;
    for (uint32_t i = 0; inspect_pods(w.op, &i, &p);)
        if (p.pod->ours.asked)
            slice_copy(slice_of(p.pod->name), asked, sizeof asked);
    CHECK(asked[0] != '\0');
    struct slice other = names[slice_eq(names[0], slice_of(asked))];
    struct slice path = arena_printf(&w.arena, "%s/%.*s/status", pods_path, SLICE_ARG(other));
    struct slice ill = SLICE("{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}");
    CHECK_INT(world_call(&w, "PATCH", path.ptr, "application/merge-patch+json", ill), 200);
    world_run(&w, 10 * 60 * 1000);
    scale(&w, "c", 2);
    world_run(&w, 20 * 1000);
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 2);
    CHECK(slice_eq(names[0], slice_of(asked)) || slice_eq(names[1], slice_of(asked)));
    CHECK(!slice_eq(names[0], other) && !slice_eq(names[1], other));
    world_free(&w);
}

/* The other way round: it is gone, and its watch does not tell. Nothing else is given up in its place, and it is not deleted for ever. */
static void test_gone_untold(void)
{
    struct world w;
    test_case("a pod that has gone untold is deleted");
    make_world(&w, false);
    apply(&w, "c", 1);
    world_run(&w, 5000);
    struct slice names[1];
    CHECK_INT(pod_names(&w, "worker", names, 1), 1);
    struct slice path = arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(names[0]));
    apiserver_faults(w.server)->drop_events = 3; /* that it is to go, that it goes, that it has gone */
    CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    world_run(&w, 5000);
    CHECK_INT(apiserver_faults(w.server)->drop_events, 0);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 1);
    scale(&w, "c", 0);
    world_run(&w, 60 * 1000);
    CHECK_INT(w.sent.deletes, 1);
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    world_free(&w);
}

/* As on a node that is lost. */
static void test_going_for_ever(void)
{
    enum { MINUTES = 30, MINUTE_MS = 60 * 1000 };
    static const char old[] = "/api/v1/namespaces/n/pods/c-head";
    struct world w;
    test_case("the head's name is taken by an older cluster's, which goes: it is asked for each second, and later more rarely");
    make_world(&w, false);
    struct slice body =
        SLICE("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"c-head\",\"finalizers\":[\"example.com/keep\"],"
              "\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\"c\",\"uid\":"
              "\"00000000-0000-4000-8000-000000000000\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"ray\","
              "\"image\":\"ray:1\"}]}}");
    CHECK_INT(world_call(&w, "POST", pods_path, "application/json", body), 201);
    world_run(&w, 1000);
    apply(&w, "c", 0);
    world_run(&w, 10 * 1000);
    CHECK(w.sent.pod_posts >= 10);
    world_run(&w, 20 * MINUTE_MS);
    uint32_t posts = w.sent.pod_posts;
    world_run(&w, MINUTES * MINUTE_MS);
    CHECK(w.sent.pod_posts - posts >= MINUTES && w.sent.pod_posts - posts <= 2 * MINUTES + 1);
    test_case("… and when it has gone, the new one comes");
    struct slice patch = SLICE("{\"metadata\":{\"finalizers\":null}}");
    CHECK_INT(world_call(&w, "PATCH", old, "application/merge-patch+json", patch), 200);
    world_run(&w, OPERATOR_BACKOFF_MAX_MS + 2000);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void set_image(struct world *w, const char *image)
{
    struct slice patch = arena_printf(
        &w->arena, "[{\"op\":\"replace\",\"path\":\"/spec/workerGroupSpecs/0/template/spec/containers/0/image\",\"value\":\"%s\"}]", image);
    CHECK_INT(world_call(w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json-patch+json", patch), 200);
}

static void test_template(void)
{
    struct world w;
    test_case("a changed template that the API server refuses, until its cause is gone");
    make_world(&w, false);
    struct slice body = cluster_body(&w, "c", 3, "\"upgradeStrategy\":{\"type\":\"Recreate\"},");
    CHECK_INT(world_call(&w, "POST", v1, "application/json", body), 201);
    world_run(&w, 5000);
    uint32_t posts = w.sent.pod_posts;
    override(&w, "POST", pods_path, 403, false, 1000000);
    set_image(&w, "ray:2");
    world_run(&w, 10 * 60 * 1000);
    CHECK_INT(w.sent.deletes, 0);
    CHECK(w.sent.pod_posts - posts <= 11); /* one dry run a minute */
    CHECK(is_ready(&w, "c"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "PodRefused"));
    CHECK(tells(&w, "PodRefused", "") && !tells(&w, "InvalidRayClusterSpec", ""));
    apiserver_faults(w.server)->next.times = 0;
    world_run(&w, 90 * 1000);
    CHECK_INT(w.sent.deletes, 3);
    CHECK(is_ready(&w, "c"));
    CHECK(!says(&w, "rayclusters.ray.io", "c", "PodRefused"));
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 4);
    check_fixed_point(&w);
    world_free(&w);
}

/* Lines of the log that have both. */
struct heard {
    const char *words, *name;
    uint32_t lines;
};

static void on_line(void *owner, struct slice line)
{
    struct heard *h = owner;
    h->lines += memmem(line.ptr, line.len, h->words, strlen(h->words)) && memmem(line.ptr, line.len, h->name, strlen(h->name));
}

/* Two that fail for reasons of their own, by turns: neither makes the other news. */
static void test_log(void)
{
    struct heard heard = {.words = "msg=\"cannot create pods of a group: backing off\"", .name = "cluster=c group=headgroup"};
    struct world w;
    test_case("an error is logged once, and then once a minute");
    make_world(&w, false);
    world_run(&w, 1000);
    log_global.sink = on_line;
    log_global.owner = &heard;
    override(&w, "POST", pods_path, 403, false, 1000);
    apply(&w, "c", 1);
    apply(&w, "d", 1);
    world_run(&w, 50 * 1000);
    CHECK_INT(heard.lines, 1);
    world_run(&w, 120 * 1000);
    CHECK(heard.lines >= 2 && heard.lines <= 3);
    CHECK(w.sent.pod_posts >= 2 * 6);
    log_global.sink = NULL;
    world_free(&w);
}

static void test_log_of_templates(void)
{
    struct heard heard = {.words = "refuses a changed pod template", .name = "cluster=c group=small"};
    struct world w;
    test_case("a fault that one template has after the other is logged once a minute");
    make_world(&w, false);
    struct slice body = cluster_body(&w, "c", 1, "\"upgradeStrategy\":{\"type\":\"Recreate\"},");
    CHECK_INT(world_call(&w, "POST", v1, "application/json", body), 201);
    world_run(&w, 5000);
    log_global.sink = on_line;
    log_global.owner = &heard;
    override(&w, "POST", pods_path, 403, false, 1000);
    uint32_t posts = w.sent.pod_posts;
    set_image(&w, "ray:2");
    world_run(&w, 5000);
    set_image(&w, "ray:3");
    world_run(&w, 5000);
    CHECK_INT(w.sent.pod_posts, posts + 2);
    CHECK_INT(heard.lines, 1);
    world_run(&w, 60 * 1000);
    set_image(&w, "ray:4");
    world_run(&w, 5000);
    CHECK_INT(heard.lines, 2);
    log_global.sink = NULL;
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_log();
    test_log_of_templates();
    test_crash_loop();
    test_once();
    test_run_on();
    test_together();
    test_delete_refused();
    test_growth();
    test_refusals();
    test_lifted();
    test_limit_range();
    test_namespace();
    test_relabelled();
    test_said_to_be_gone();
    test_place_of_doubted();
    test_one_too_many();
    test_asked_long_ago();
    test_gone_untold();
    test_going_for_ever();
    test_template();
    return test_done();
}
