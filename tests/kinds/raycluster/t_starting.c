/* A cluster that is not ready for the first time within its time: its status and an event say why, and nothing is stopped. */
#include "tests/world/maps.h"

enum { MINUTE = 60 * 1000 };

static void create(struct world *w, const char *timeout)
{
    create_annotated(w, timeout, 1, "\"fake.kubelet/stuck\":\"Unschedulable\"");
}

static void suspend(struct world *w, const char *value)
{
    struct slice patch = arena_printf(&w->arena, "[{\"op\":\"add\",\"path\":\"/spec/suspend\",\"value\":%s}]", value);
    CHECK_INT(world_call(w, "PATCH", arena_printf(&w->arena, "%s/c", v1).ptr, "application/json-patch+json", patch), 200);
}

static bool is_late(struct world *w)
{
    return says(w, "rayclusters.ray.io", "c", "StartingTimedOut");
}

static void test_late(void)
{
    struct world w;
    make_world(&w, false);
    create(&w, "\"mobula.dev/workload-starting-timeout\":\"10m\"");
    test_case("a worker has no node: it is waited for, and another operator waits no longer");
    world_run(&w, 5 * MINUTE);
    world_crash(&w, 0);
    world_start_operator(&w, false);
    world_run(&w, 5 * MINUTE - 5000);
    CHECK(!is_late(&w));
    world_run(&w, 10 * 1000);
    test_case("then status and an event say why, once, and all goes on as before");
    CHECK(is_late(&w) && says(&w, "rayclusters.ray.io", "c", "not ready within 600 s: 0 of 1 worker pods and 1 of 1 head pod are ready"));
    CHECK(tells(&w, "WorkloadStartingTimeout", "Unschedulable"));
    CHECK_INT(pods_of(&w, "c"), 2);
    world_run(&w, MINUTE);
    check_fixed_point(&w);
    test_case("suspended and taken up again it has all of its time again");
    suspend(&w, "true");
    world_run(&w, MINUTE);
    CHECK(!is_late(&w));
    suspend(&w, "false");
    world_run(&w, 9 * MINUTE);
    CHECK(!is_late(&w) && !tells(&w, "WorkloadStartingTimeout", "0 of 1 head pod"));
    world_run(&w, 2 * MINUTE);
    CHECK(is_late(&w));
    test_case("it is ready: nothing is said of it any more, whatever it waits for later");
    scale(&w, "c", 0);
    world_run(&w, MINUTE);
    CHECK(is_ready(&w, "c") && !is_late(&w));
    scale(&w, "c", 2);
    world_run(&w, 30 * MINUTE);
    CHECK(!is_late(&w));
    world_free(&w);
}

static void test_never(void)
{
    struct world w;
    make_world(&w, false);
    test_case("0: whatever it takes");
    create(&w, "\"mobula.dev/workload-starting-timeout\":\"0\"");
    world_run(&w, 60 * MINUTE);
    CHECK(!is_late(&w));
    world_free(&w);
}

int main(void)
{
    test_late();
    test_never();
    return test_done();
}
