/* Size: many clusters, one large one, both at once; and what they cost in writes. */
#include "scene.h"

static uint32_t ready_count(struct world *w, int clusters)
{
    uint32_t n = 0;
    for (int i = 0; i < clusters; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        n += is_ready(w, name);
    }
    return n;
}

static void test_many(void)
{
    struct world w;
    enum { CLUSTERS = 30, PODS = 5 };
    test_case("30 clusters of 5 pods");
    make_world(&w, false);
    for (int i = 0; i < CLUSTERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        apply(&w, name, PODS - 1);
    }
    world_run(&w, 3000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), CLUSTERS * PODS);
    CHECK_INT(ready_count(&w, CLUSTERS), CLUSTERS);
    CHECK_INT(w.sent.pod_posts, CLUSTERS * PODS);
    CHECK(w.sent.patches <= CLUSTERS * 4); /* a service and three statuses */
    CHECK(w.sent.events <= CLUSTERS * 2);  /* the head, and then the workers */
    check_fixed_point(&w);
    world_free(&w);
}

static void test_large(void)
{
    struct world w;
    enum { WORKERS = 1000 };
    test_case("1,000 workers");
    make_world(&w, false);
    world_run(&w, 500);
    apply(&w, "c", WORKERS);
    world_run(&w, 20 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), WORKERS + 1);
    CHECK(is_ready(&w, "c"));
    CHECK(w.sent.at_once >= 16);
    CHECK(world_writes(&w) + w.sent.events <= WORKERS * 101 / 100 + 1);
    check_fixed_point(&w);
    test_case("and gone");
    uint32_t deletes = w.sent.deletes;
    scale(&w, "c", 10);
    world_run(&w, 10 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 11);
    CHECK_INT(w.sent.deletes - deletes, WORKERS - 10);
    world_free(&w);
}

/* Turns of the loop until `name` has all its pods; in this world a turn is what a round trip is elsewhere. */
static uint64_t steps_until(struct world *w, const char *name, uint32_t pods)
{
    uint64_t begin = w->steps;
    for (int i = 0; i < 20000 && pods_of(w, name) < pods; i++)
        world_step(w, w->now.mono_ms + 5);
    return w->steps - begin;
}

static void test_fair(void)
{
    struct world w;
    test_case("a cluster of three pods while another creates 1,000");
    make_world(&w, false);
    world_run(&w, 500);
    apply(&w, "alone", 2);
    uint64_t alone = steps_until(&w, "alone", 3);
    world_run(&w, 5000);
    apply(&w, "large", 1000);
    for (int i = 0; i < 4; i++)
        world_step(&w, w.now.mono_ms + 5);
    apply(&w, "small", 2);
    uint64_t beside = steps_until(&w, "small", 3);
    CHECK(pods_of(&w, "large") < 1001); /* it is not done yet */
    CHECK(beside <= 2 * alone + 4);
    if (beside > 2 * alone + 4)
        printf("  %" PRIu64 " turns alone, %" PRIu64 " beside\n", alone, beside);
    world_run(&w, 20 * 1000);
    CHECK(is_ready(&w, "large"));
    world_free(&w);
}

static void test_suspend(void)
{
    struct world w;
    test_case("suspended and resumed");
    make_world(&w, false);
    apply(&w, "c", 20);
    world_run(&w, 3000);
    const char *path = "/apis/ray.io/v1/namespaces/n/rayclusters/c";
    CHECK_INT(world_call(&w, "PATCH", path, "application/merge-patch+json", SLICE("{\"spec\":{\"suspend\":true}}")), 200);
    world_run(&w, 5000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    CHECK_STR(status_of(&w, "c", "status.state"), "suspended");
    check_fixed_point(&w);
    CHECK_INT(world_call(&w, "PATCH", path, "application/merge-patch+json", SLICE("{\"spec\":{\"suspend\":false}}")), 200);
    world_run(&w, 5000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 21);
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    world_free(&w);
}

/* Killed while it scales down: neither more nor fewer go. */
static void test_crash_scaling_down(void)
{
    for (int at = 1; at < 40; at += 3) {
        struct world w;
        test_case("crash %d steps into scaling down", at);
        make_world(&w, false);
        apply(&w, "c", 60);
        world_run(&w, 5000);
        scale(&w, "c", 20);
        for (int i = 0; i < at; i++)
            world_step(&w, w.now.mono_ms + 5);
        world_kill_operator(&w);
        world_run(&w, 40); /* pods that were deleted are still going */
        world_start_operator(&w, false);
        world_run(&w, 5000);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 21);
        CHECK_INT(w.sent.pod_posts, 61);
        CHECK(w.sent.deletes <= 40 + 32); /* an answer that was lost costs a second DELETE of the same pod, never of another */
        CHECK(is_ready(&w, "c"));
        world_free(&w);
    }
}

/* Answers overtake events, lists repeat them. */
static void test_late_watches(void)
{
    static const int64_t delays[] = {1, 30, 700, 5000};
    for (size_t i = 0; i < COUNT_OF(delays); i++) {
        struct world w;
        test_case("watches that are %d ms late, and lists in between", (int)delays[i]);
        make_world(&w, false);
        world_run(&w, 500);
        apiserver_faults(w.server)->watch_delay_ms = delays[i];
        apply(&w, "c", 20);
        for (int k = 0; k < 40; k++) {
            world_run(&w, 150);
            if (k % 5 == 0)
                apiserver_drop_watches(w.server, SLICE("pods"), k % 2);
            if (k % 7 == 0)
                apiserver_compact(w.server, SLICE("pods"));
        }
        world_run(&w, 40 * 1000);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 21);
        CHECK_INT(w.sent.pod_posts, 21);
        CHECK_INT(w.sent.deletes, 0);
        CHECK(is_ready(&w, "c"));
        world_free(&w);
    }
}

static void test_late_kind(void)
{
    struct world w;
    struct apiserver_config config = {.seed = 1};
    test_case("the CRD comes after the operator");
    world_init(&w, &config);
    make_namespace(&w);
    world_start_operator(&w, false);
    world_run(&w, 5000);
    make_crd(&w, "ray.io", "");
    apply(&w, "c", 2);
    world_run(&w, 60 * 1000);
    CHECK(is_ready(&w, "c"));
    test_case("and goes");
    CHECK_INT(world_call(&w, "DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io", "application/json",
                         SLICE("{}")),
              200);
    world_run(&w, 60 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    check_fixed_point(&w);
    make_crd(&w, "ray.io", "");
    apply(&w, "c", 2);
    world_run(&w, 60 * 1000);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void test_reasons(void)
{
    struct world w;
    struct slice names[3];
    test_case("pods that go for several reasons: each is told");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 5000);
    CHECK_INT(pod_names(&w, "worker", names, 3), 3);
    struct slice patch = arena_printf(&w.arena,
                                      "[{\"op\":\"replace\",\"path\":\"/spec/workerGroupSpecs/0/replicas\",\"value\":1},{\"op\":\"add\","
                                      "\"path\":\"/spec/workerGroupSpecs/0/scaleStrategy\",\"value\":{\"workersToDelete\":[\"%.*s\"]}}]",
                                      SLICE_ARG(names[0]));
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json-patch+json", patch), 200);
    world_run(&w, 5000);
    CHECK(tells(&w, "DeletedWorkerPod", "named in workersToDelete"));
    CHECK(tells(&w, "DeletedWorkerPod", "more replicas than desired"));
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_many();
    test_large();
    test_fair();
    test_suspend();
    test_crash_scaling_down();
    test_late_watches();
    test_late_kind();
    test_reasons();
    return test_done();
}
