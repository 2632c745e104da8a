/* The whole operator against the model API server, in one process and in virtual time. */
#include "scene.h"

static void test_life(void)
{
    struct world w;
    test_case("from apply to deleted");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 3000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 4);
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 2); /* and `kubernetes` */
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    test_case("scale");
    scale(&w, "c", 10);
    world_run(&w, 3000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 11);
    scale(&w, "c", 1);
    world_run(&w, 3000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 2);
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    test_case("delete");
    CHECK_INT(world_call(&w, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json", SLICE("{}")), 200);
    world_run(&w, 3000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    world_free(&w);
}

/* Killed at a step of every kind of moment, started again: nothing twice, nothing missing. */
static void test_crashes(void)
{
    for (int at = 1; at < 120; at += 7) {
        struct world w;
        test_case("crash after %d steps", at);
        make_world(&w, false);
        world_run(&w, 500);
        apply(&w, "c", 20);
        for (int i = 0; i < at; i++)
            world_step(&w, w.now.mono_ms + 1000);
        world_kill_operator(&w);
        world_run(&w, 700);
        CHECK(apiserver_count(w.server, SLICE("pods")) <= 21);
        world_start_operator(&w, false);
        world_run(&w, 5000);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 21);
        CHECK(is_ready(&w, "c"));
        world_free(&w);
    }
}

static void test_answers(void)
{
    static const struct {
        const char *id, *method, *path;
        int status;
        bool commit;
        uint32_t times;
    } cases[] = {
        {"a lost answer to a POST that was carried out", "POST", pods_path, 0, true, 3},
        {"a lost POST", "POST", pods_path, 0, false, 3},
        {"500 to a POST", "POST", pods_path, 500, false, 3},
        {"503 after the commit", "POST", pods_path, 503, true, 3},
        {"429", "POST", pods_path, 429, false, 10},
        {"403 to a POST", "POST", pods_path, 403, false, 2},
        {"a lost answer to the service", "PATCH", "/api/v1/namespaces/n/services", 0, true, 1},
        {"500 to the status", "PATCH", v1, 500, false, 2},
        {"the lists fail at first", "GET", "/api", 500, false, 6},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("%s", cases[i].id);
        make_world(&w, false);
        override(&w, cases[i].method, cases[i].path, cases[i].status, cases[i].commit, cases[i].times);
        apply(&w, "c", 5);
        world_run(&w, 90 * 1000);
        CHECK_INT(apiserver_faults(w.server)->next.times, 0); /* the fault was met */
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 6);
        CHECK(is_ready(&w, "c"));
        world_free(&w);
    }
}

/* A 409 to a DELETE says that the pod of this uid is gone, or that a webhook does not want it to go: only the watch tells which. */
static void test_delete_conflict(void)
{
    struct world w;
    test_case("409 to a DELETE, and the pod is still there");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 3000);
    override(&w, "DELETE", pods_path, 409, false, 3);
    apiserver_faults(w.server)->next.reason = "Conflict";
    scale(&w, "c", 1);
    world_run(&w, 10 * 1000);
    CHECK_INT(apiserver_faults(w.server)->next.times, 0);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 2);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void test_watches(void)
{
    struct world w;
    test_case("watches cut, history gone, server away");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 3000);
    apiserver_drop_watches(w.server, SLICE("pods"), true);
    apiserver_compact(w.server, SLICE("pods"));
    scale(&w, "c", 6);
    world_run(&w, 60 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 7);
    w.unreachable = true;
    world_cut_all(&w);
    world_run(&w, 5000);
    struct buf why;
    buf_init(&why, 4 * KIB);
    CHECK(!operator_ready(w.op, w.now, &why));
    CHECK(why.len > 0);
    buf_free(&why);
    scale(&w, "c", 2);
    w.unreachable = false;
    world_run(&w, 90 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 3);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

/* The end of a cluster that its watch does not tell of: its pods go, and are not made again as fast as they do. */
static void test_untold(void)
{
    struct world w;
    test_case("nobody tells that a cluster was deleted");
    make_world(&w, false);
    apply(&w, "c", 3);
    apply(&w, "d", 3);
    world_run(&w, 10 * 1000);
    CHECK(is_ready(&w, "c") && is_ready(&w, "d"));
    uint32_t before = world_writes(&w);
    apiserver_faults(w.server)->drop_events = 1;
    CHECK_INT(world_call(&w, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json", SLICE("{}")), 200);
    world_run(&w, 20 * 1000);
    CHECK_INT(apiserver_faults(w.server)->drop_events, 0);
    CHECK_INT(world_writes(&w), before);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 4);
    test_case("a pod that somebody deletes is made again at once");
    struct slice names[1], path;
    CHECK_INT(pod_names(&w, "worker", names, 1), 1);
    path = arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(names[0]));
    CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    world_run(&w, 500);
    CHECK_INT(w.sent.pod_posts, 4 + 4 + 1);
    world_run(&w, 10 * 1000);
    CHECK(is_ready(&w, "d"));
    check_fixed_point(&w);
    world_free(&w);
}

/* A server in trouble says so and stores the pod; its watch tells late. When the pod that it replaces has gone, the next one would be
 * called otherwise: so it is looked for first. */
static void test_stored_all_the_same(void)
{
    struct world w;
    test_case("503, and the pod was made");
    make_world(&w, false);
    apply(&w, "c", 1);
    world_run(&w, 10 * 1000);
    CHECK(is_ready(&w, "c"));
    struct slice names[1], path;
    CHECK_INT(pod_names(&w, "worker", names, 1), 1);
    path = arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(names[0]));
    override(&w, "POST", pods_path, 503, true, 1);
    CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    apiserver_faults(w.server)->watch_delay_ms = 3000;
    world_run(&w, 30 * 1000);
    CHECK_INT(apiserver_faults(w.server)->next.times, 0);
    CHECK_INT(w.sent.pod_posts, 3);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void test_lease(void)
{
    struct world w;
    test_case("the lease of somebody who is gone is taken over, and given up on a stop");
    make_world(&w, true);
    apply(&w, "c", 1);
    world_run(&w, 2000);
    CHECK(is_ready(&w, "c"));
    world_kill_operator(&w);
    apply(&w, "d", 1);
    world_start_operator(&w, true);
    world_run(&w, 10 * 1000);
    CHECK(is_ready(&w, "d"));
    bool stopped = false;
    for (int i = 0; i < 100 && !stopped; i++) {
        world_step(&w, w.now.mono_ms + 100);
        stopped = operator_stop(w.op, w.now);
    }
    CHECK(stopped);
    struct json doc;
    struct err e = {0};
    struct slice lease = apiserver_get(w.server, SLICE("leases.coordination.k8s.io"), SLICE("n"), SLICE("mobula"), &w.arena);
    CHECK(json_parse(&doc, lease, &w.arena, &e));
    CHECK_STR(json_get_str(json_root(&doc), "spec.holderIdentity", &w.arena), "");
    world_free(&w);
}

static void test_invalid(void)
{
    struct world w;
    test_case("a spec that cannot work");
    make_world(&w, false);
    struct slice bad =
        arena_printf(&w.arena, "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\"},\"spec\":"
                               "{\"headGroupSpec\":{\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":[]}}}}}");
    CHECK_INT(world_call(&w, "POST", v1, "application/json", bad), 201);
    world_run(&w, 3000);
    CHECK_STR(status_of(&w, "c", "status.state"), "failed");
    CHECK(status_of(&w, "c", "status.reason").len > 0);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    check_fixed_point(&w);
    world_free(&w);
}

/* One event for the pods of a start, although workers are created once their head is there. */
static void test_events(void)
{
    struct world w;
    test_case("the event of a head waits for that of its workers");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 3000);
    CHECK(tells(&w, "CreatedHeadPod", "created head pod c-head; created 3 worker pods"));
    CHECK(!tells(&w, "CreatedWorkerPod", ""));
    scale(&w, "c", 5);
    world_run(&w, 3000);
    CHECK(tells(&w, "CreatedWorkerPod", "created 2 worker pods"));
    test_case("… but not where they are refused, or there are none");
    apply(&w, "d", 3);
    while (apiserver_count(w.server, SLICE("pods")) == 6)
        world_step(&w, w.now.mono_ms + 100);
    override(&w, "POST", pods_path, 403, false, 1000000);
    world_run(&w, 10 * 1000);
    CHECK_INT(pods_of(&w, "d"), 1);
    CHECK(tells(&w, "CreatedHeadPod", "created head pod d-head"));
    apiserver_faults(w.server)->next.times = 0;
    apply(&w, "e", 0);
    world_run(&w, 3000);
    CHECK(tells(&w, "CreatedHeadPod", "created head pod e-head"));
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_life();
    test_crashes();
    test_answers();
    test_delete_conflict();
    test_watches();
    test_untold();
    test_stored_all_the_same();
    test_lease();
    test_invalid();
    test_events();
    return test_done();
}
