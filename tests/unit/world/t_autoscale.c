/* Autoscaling without Ray: the operator, the API server and the heads of its clusters in one process, in virtual time. */
#include "scaled.h"

enum { POLL = RAY_GCS_EVERY_MS + 50, PROGRESS_MS = 70 * 1000 }; /* progress is written to status at most once a minute */

/* From a demand, at any time between two polls, until the last pod was sent. */
static void test_up(void)
{
    struct world w;
    test_case("demand becomes pods within one poll interval and 50 ms");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .idle = 3});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 5000);
    CHECK_INT(fakeray_nodes(h), 0);
    CHECK_STR(scaling_condition(&w, "c", "reason"), "DemandMet");
    for (int i = 0; i < 20; i++) {
        uint32_t before = w.sent.pod_posts, count = 1 + (uint32_t)i % 7;
        world_run(&w, 37 * i);
        fakeray_work(h, 0, FAKERAY_CPUS, count, false);
        int64_t from = w.now.mono_ms;
        while (w.sent.pod_posts < before + count && w.now.mono_ms < from + 10 * POLL)
            world_step(&w, w.now.mono_ms + 1);
        CHECK(w.now.mono_ms - from <= POLL);
        world_run(&w, 3000);
        CHECK_INT(w.sent.pod_posts, before + count);
        CHECK_INT(h->works[0].waiting, 0);
        fakeray_work(h, 0, 0, 0, false);
        world_run(&w, 6000);
        CHECK_INT(workers_of(&w, "c"), 0);
    }
    CHECK_INT(h->strange, 0);
    CHECK(h->longest_ms <= RAY_GCS_EVERY_MS + RAY_GCS_GRID_MS);
    world_free(&w);
}

/* Down to the minimum, one accepted drain for each pod that goes, and no other. */
static void test_down(void)
{
    struct world w;
    test_case("idle nodes drain and go, down to the minimum");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .min = 2, .idle = 10});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 3000);
    CHECK_INT(workers_of(&w, "c"), 2);
    fakeray_work(h, 0, FAKERAY_CPUS, 6, false);
    world_run(&w, 5000);
    CHECK_INT(fakeray_nodes(h), 6);
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    int64_t took = run_until_workers(&w, "c", 3, 60 * 1000);
    CHECK(took >= 9000 && took <= 14 * 1000);
    world_run(&w, 30 * 1000);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK_INT(h->accepted, 3);
    fakeray_work(h, 0, FAKERAY_CPUS, 0, false);
    world_run(&w, 30 * 1000);
    CHECK_INT(workers_of(&w, "c"), 2);
    CHECK_INT(h->accepted, 4);
    CHECK_INT(w.sent.deletes, 4);
    CHECK_INT(h->declined + h->strange, 0);
    world_run(&w, PROGRESS_MS);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_refused(void)
{
    struct world w;
    test_case("a node that does not want to drain stays");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = 3});
    struct fakeray *h = head_of(&w, "c");
    h->refuses = true;
    world_run(&w, 60 * 1000);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK(h->declined >= 3 && h->declined <= 3 * 60);
    CHECK_INT(w.sent.deletes, 0);
    test_case("until it does");
    h->refuses = false;
    world_run(&w, 5 * 1000);
    CHECK_INT(workers_of(&w, "c"), 0);
    CHECK_INT(h->accepted, 3);
    world_free(&w);
}

static void test_dead_raylet(void)
{
    struct world w;
    struct slice names[3];
    test_case("a pod whose raylet is dead is replaced although it runs");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .min = 3, .replicas = 3});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 4000);
    CHECK_INT(pod_names(&w, "worker", names, 3), 3);
    fakeray_kill_raylet(h, names[1].ptr);
    world_run(&w, 5000);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK_INT(w.sent.deletes, 1);
    CHECK_INT(w.sent.pod_posts, 5);
    CHECK_INT(fakeray_nodes(h), 3);
    CHECK(!apiserver_get(w.server, SLICE("pods"), SLICE("n"), names[1], &w.arena).ptr);
    world_run(&w, PROGRESS_MS);
    check_fixed_point(&w);
    world_free(&w);
}

/* Workers that have no node yet go first, and without a drain. */
static void test_cancelled(void)
{
    struct world w;
    test_case("pods that have not started are cancelled when the demand has shrunk");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = 1, .idle = 300});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 4000);
    CHECK_INT(fakeray_nodes(h), 1);
    const char *path = "/apis/ray.io/v1/namespaces/n/rayclusters/c";
    CHECK_INT(world_call(&w, "PATCH", path, "application/json-patch+json",
                         SLICE("[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/0/template/metadata/annotations/"
                               "fake.kubelet~1stuck\",\"value\":\"Unschedulable\"}]")),
              200);
    fakeray_work(h, 0, FAKERAY_CPUS, 6, false);
    world_run(&w, 5000);
    CHECK_INT(workers_of(&w, "c"), 6);
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    world_run(&w, 5000);
    CHECK_INT(workers_of(&w, "c"), 6); /* demand comes and goes */
    world_run(&w, SCALE_CANCEL_MS);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK_INT(fakeray_nodes(h), 1);
    CHECK_INT(h->accepted + h->declined, 0);
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_up();
    test_down();
    test_refused();
    test_dead_raylet();
    test_cancelled();
    return test_done();
}
