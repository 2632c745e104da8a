/* Status as a user sees it: it comes, it stays true, and it costs nothing when nothing changes. */
#include "tests/world/scene.h"

/* The status of KubeRay's older CRDs: what mobula adds is cut off by the server. */
static const char old_status[] = "{\"type\":\"object\",\"properties\":{\"state\":{\"type\":\"string\"},\"reason\":{\"type\":\"string\"},"
                                 "\"observedGeneration\":{\"type\":\"integer\"},\"desiredWorkerReplicas\":{\"type\":\"integer\"}}}";

static void test_pruned(void)
{
    struct world w;
    struct apiserver_config config = {.seed = 1};
    test_case("a server that drops parts of the status");
    world_init(&w, &config);
    make_namespace(&w);
    make_crd(&w, "ray.io", old_status);
    world_start_operator(&w, false);
    apply(&w, "c", 5);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    CHECK(slice_empty(status_of(&w, "c", "status.head.podName")));
    check_fixed_point(&w);
    uint32_t before = w.sent.patches;
    for (int i = 0; i < 20; i++) { /* what happens to pods makes it look again, and again */
        annotate(&w, "pods", "c-head", i);
        world_run(&w, 1500);
    }
    CHECK_INT(w.sent.patches, before);
    world_free(&w);
}

static void get_ready(struct world *w, const char *name)
{
    static const struct slice status =
        SLICE("{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    struct slice path = arena_printf(&w->arena, "%s/%s/status", pods_path, name);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", status), 200);
}

/* Decisions have pauses between them. At the end nobody waits for one. */
static void test_last(void)
{
    struct world w;
    struct apiserver_config config = {.seed = 1, .start_ms = 3600 * 1000};
    struct slice names[2];
    test_case("the last pod gets ready right behind the others: the cluster is ready one round trip later");
    world_init(&w, &config);
    make_namespace(&w);
    make_crd(&w, "ray.io", "");
    world_start_operator(&w, false);
    apply(&w, "c", 2);
    world_run(&w, 10 * 1000);
    CHECK_INT(pod_names(&w, "worker", names, 2), 2);
    get_ready(&w, "c-head");
    get_ready(&w, names[0].ptr);
    world_run(&w, 30);
    get_ready(&w, names[1].ptr);
    world_run(&w, 30);
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    world_free(&w);
}

/* Whatever is dropped of a plan is done by the next one: an annotation may come at any moment. */
static void test_disturbed(void)
{
    for (int at = 1; at < 80; at += 3) {
        struct world w;
        test_case("an annotation after %d steps", at);
        make_world(&w, false);
        world_run(&w, 500);
        apply(&w, "c", 2);
        for (int i = 0; i < at; i++)
            world_step(&w, w.now.mono_ms + 1000);
        annotate(&w, "rayclusters", "c", at);
        world_run(&w, 30 * 1000);
        CHECK(is_ready(&w, "c"));
        CHECK_STR(status_of(&w, "c", "status.head.podName"), "c-head");
        world_free(&w);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *id;
        int status, times;
        const char *reason;
    } cases[] = {
        {"a status that is refused for a while", 422, 3, "Invalid"},
        {"a status in conflict", 409, 2, "Conflict"},
        {"a status of something that is not there, and is", 404, 2, "NotFound"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("%s", cases[i].id);
        make_world(&w, false);
        override(&w, "PATCH", v1, cases[i].status, false, (uint32_t)cases[i].times);
        apiserver_faults(w.server)->next.reason = cases[i].reason;
        apply(&w, "c", 2);
        world_run(&w, 1000);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 3);
        world_run(&w, 60 * 1000);
        CHECK(is_ready(&w, "c"));
        CHECK_INT(apiserver_faults(w.server)->next.times, 0);
        world_free(&w);
    }
}

/* A status that never gets through is no reason to leave pods alone. */
static void test_never(void)
{
    struct world w;
    test_case("a status that never gets through");
    make_world(&w, false);
    override(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c/status", 403, false, 1000000);
    apply(&w, "c", 2);
    world_run(&w, 10 * 60 * 1000);
    uint32_t before = w.sent.patches;
    scale(&w, "c", 4);
    world_run(&w, 2000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 5);
    CHECK(w.sent.patches <= before + 1);
    CHECK(before < 60);
    world_free(&w);
}

static void test_foreign(void)
{
    struct world w;
    test_case("conditions of others stay");
    make_world(&w, false);
    apply(&w, "c", 1);
    world_run(&w, 5000);
    struct slice other = SLICE("[{\"op\":\"add\",\"path\":\"/status/conditions/-\",\"value\":{\"type\":\"Billed\",\"status\":\"True\","
                               "\"reason\":\"Yes\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}}]");
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c/status", "application/json-patch+json", other), 200);
    scale(&w, "c", 3);
    world_run(&w, 30 * 1000);
    struct slice object = apiserver_get(w.server, SLICE("rayclusters.ray.io"), SLICE("n"), SLICE("c"), &w.arena);
    CHECK(strstr(object.ptr, "Billed") != NULL);
    CHECK_STR(status_of(&w, "c", "status.head.podName"), "c-head");
    check_fixed_point(&w);
    test_case("a status that somebody spoiled is set right");
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c/status", "application/merge-patch+json",
                         SLICE("{\"status\":{\"state\":\"failed\"}}")),
              200);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

/* From one spec to another and back while nobody looked: nothing is to do, and status says that this was seen. */
static void test_there_and_back(void)
{
    struct world w;
    test_case("a spec that was changed and changed back unseen");
    make_world(&w, false);
    apply(&w, "c", 2);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    uint32_t posts = w.sent.posts;
    w.unreachable = true;
    world_cut_all(&w);
    scale(&w, "c", 4);
    scale(&w, "c", 2);
    apiserver_compact(w.server, SLICE("rayclusters.ray.io"));
    world_run(&w, 1000);
    w.unreachable = false;
    world_run(&w, 60 * 1000);
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"observedGeneration\":3"));
    CHECK_INT(w.sent.posts, posts);
    world_free(&w);
}

static size_t count_events(struct world *w, const char *reason)
{
    struct slice list, words = arena_printf(&w->arena, "\"reason\":\"%s\"", reason);
    size_t n = 0;
    CHECK_INT(world_ask(w, "GET", "/apis/events.k8s.io/v1/namespaces/n/events", "application/json", SLICE_NONE, &list), 200);
    for (const char *at = list.ptr; (at = strstr(at, words.ptr)) != NULL; at++)
        n++;
    return n;
}

/* The API server takes a pod with a slip in it, drops the field and says so. Nobody reads that but us. */
static void test_warnings(void)
{
    static const char warns[] = "the API server warns: unknown field \\\"spec.containers[0].resource\\\"";
    struct world w;
    test_case("a slip in a pod template is told at the cluster, once");
    make_world(&w, false);
    struct slice body = cluster_body(&w, "c", 3, "");
    const char *image = "\"image\":\"ray:1\"", *at = strstr(body.ptr, image);
    struct slice slip = arena_printf(&w.arena, "%.*s\"resource\":{},%s", (int)(at - body.ptr), body.ptr, at);
    at = strstr(at + 1, image);
    slip = arena_printf(&w.arena, "%.*s\"resource\":{},%s", (int)(strstr(slip.ptr + (at - body.ptr), image) - slip.ptr), slip.ptr,
                        strstr(slip.ptr + (at - body.ptr), image));
    CHECK_INT(world_call(&w, "POST", v1, "application/json", slip), 201);
    world_run(&w, 40 * 1000);
    CHECK(is_ready(&w, "c"));
    CHECK(says(&w, "rayclusters.ray.io", "c", warns));
    CHECK_INT(count_events(&w, "ServerWarning"), 1);
    check_fixed_point(&w);
    test_case("… and still when another process has begun, which has not heard it");
    world_kill_operator(&w);
    world_start_operator(&w, false);
    world_run(&w, 5000);
    CHECK(says(&w, "rayclusters.ray.io", "c", warns));
    CHECK_INT(count_events(&w, "ServerWarning"), 1);
    check_fixed_point(&w);
    test_case("… until the template is right");
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/merge-patch+json",
                         SLICE("{\"spec\":{\"headGroupSpec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":"
                               "\"ray:1\"}]}}}}}")),
              200);
    world_run(&w, 40 * 1000);
    CHECK(!says(&w, "rayclusters.ray.io", "c", "the API server warns"));
    world_free(&w);
}

/* What comes true with a status is told when that is stored, and once: a write that fails is decided again. */
static void test_told_when_stored(void)
{
    struct world w;
    test_case("an event that goes with a status is told when the status has been stored");
    make_world(&w, false);
    override(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c/status", 403, false, UINT32_MAX);
    CHECK_INT(world_call(&w, "POST", v1, "application/json", cluster_body(&w, "c", 1, "\"rayVersion\":5,")), 201);
    world_run(&w, 20 * 1000);
    CHECK(!tells(&w, "InvalidRayClusterSpec", ""));
    override(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c/status", 403, false, 0);
    world_run(&w, 5 * 60 * 1000);
    CHECK(tells(&w, "InvalidRayClusterSpec", "rayVersion"));
    check_fixed_point(&w);
    world_free(&w);
}

static void test_service_refused(void)
{
    struct world w;
    test_case("a service that is refused is not told as a head pod that cannot be created");
    make_world(&w, false);
    override(&w, "PATCH", "/api/v1/namespaces/n/services", 403, false, UINT32_MAX);
    apply(&w, "c", 1);
    world_run(&w, 30 * 1000);
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"FailedCreateService\""));
    CHECK(!says(&w, "rayclusters.ray.io", "c", "FailedCreateHeadPod"));
    CHECK(tells(&w, "FailedToCreateService", "service c-head-svc"));
    world_free(&w);
}

int main(void)
{
    test_last();
    log_global.fd = -1;
    test_service_refused();
    test_warnings();
    test_pruned();
    test_disturbed();
    test_refused();
    test_never();
    test_foreign();
    test_there_and_back();
    test_told_when_stored();
    return test_done();
}
