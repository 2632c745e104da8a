/* VersionedServices: rollouts, decision by decision. */
#include "src/kinds/versioned/versioned.h"

#include "world.h"

/* The documented table for 25 percent, with traffic and the capacity of the old version one after the other. */
static void test_table(void)
{
    struct world w = begin("v1 100", QUICK);
    test_case("25 percent of capacity at a time");
    set_spec(&w, "v2 100", QUICK);
    run(&w, 200, 125);
    CHECK_STR(slice_of(w.told), "v2 25/0 v1 100/100\n"
                                "v2 25/25 v1 100/75\nv2 25/25 v1 75/75\n"
                                "v2 50/25 v1 75/75\nv2 50/50 v1 75/50\nv2 50/50 v1 50/50\n"
                                "v2 75/50 v1 50/50\nv2 75/75 v1 50/25\nv2 75/75 v1 25/25\n"
                                "v2 100/75 v1 25/25\nv2 100/100 v1 25/0\nv2 100/100 v1 0/0\n"
                                "v2 100/100\n");
    CHECK_STR(said(&w, "rollout.phase"), "Complete");
    CHECK_STR(said(&w, "primaryVersion"), "v2");
    CHECK_INT(w.count, 1);
    uint32_t before = w.actions;
    run(&w, 20, 100);
    CHECK_INT(w.actions, before); /* nothing is written at the fixed point */
    end(&w);
}

static void test_without_limit(void)
{
    struct world w = begin("v1 100", "{\"stepPercent\":50}");
    test_case("without maxSurgePercent each version has all of its capacity, and its configuration as it is");
    set_spec(&w, "v2 100", "{\"stepPercent\":50}");
    run(&w, 200, 200);
    CHECK_STR(slice_of(w.told), "v2 100/0 v1 100/100\nv2 100/50 v1 100/50\nv2 100/100 v1 100/0\nv2 100/100\n");
    CHECK_STR(json_get_str(w.children[0].spec, "serveConfigV2", &w.a), "applications: [{name: a, import_path: m:v2}]");
    end(&w);
}

static void test_many(void)
{
    struct world w = begin("a 40 b 30 c 30", QUICK);
    test_case("several versions gain and lose at once");
    set_spec(&w, "a 10 d 50 c 40", QUICK);
    run(&w, 300, 125);
    CHECK_STR(share_text(&w), "a 10/10 d 50/50 c 40/40");
    CHECK_STR(said(&w, "rollout.phase"), "Complete");
    CHECK_INT(w.count, 3);
    test_case("one that comes and goes before it served");
    set_spec(&w, "a 10 e 90", QUICK);
    run(&w, 3, 125);
    set_spec(&w, "f 100", QUICK);
    run(&w, 300, 125);
    CHECK_STR(share_text(&w), "f 100/100");
    CHECK_INT(w.count, 1);
    end(&w);
}

static void test_start(void)
{
    struct world w = begin("v1 100", QUICK);
    test_case("after a start of the operator nothing is written before the list of routes has come");
    uint32_t before = w.actions;
    w.unlisted = true;
    run(&w, 5, 100);
    CHECK_INT(w.actions, before);
    CHECK_STR(condition_of(&w, "RoutesReady", "status"), "True");
    w.unlisted = false;
    w.refused = true;
    run(&w, 5, 100);
    CHECK_STR(condition_of(&w, "RoutesReady", "status"), "False");
    end(&w);
}

static void test_failure(void)
{
    struct world w = begin("v1 100", QUICK);
    test_case("a version that fails gets nothing, and goes");
    set_spec(&w, "v2 100", QUICK);
    w.ill[1] = "DEPLOY_FAILED";
    run(&w, 4, 125);
    CHECK_STR(said(&w, "rollout.phase"), "RolledBack");
    CHECK_STR(said(&w, "rollout.reason"), "version v2: application a is DEPLOY_FAILED");
    CHECK(slice_find_text(slice_of(w.told), "v1 100/75") < 0);
    run(&w, 100, 125);
    CHECK_INT(w.count, 1);
    CHECK_STR(share_text(&w), "v1 100/100");
    w.ill[1] = NULL;

    test_case("in the middle: all requests go back in one step");
    set_spec(&w, "v3 100", QUICK);
    while (slice_find_text(slice_of(w.told), "v3 50/50 v1 50/50\n") < 0 && w.steps < 60)
        decide(&w);
    w.ill[1] = "UNHEALTHY";
    decide(&w);
    CHECK_STR(share_text(&w), "v3 50/0 v1 100/100");
    CHECK_STR(said(&w, "rollout.phase"), "RolledBack");
    run(&w, 100, 150);
    CHECK_INT(w.count, 1);
    w.ill[1] = NULL;

    test_case("not with automaticRollback false: it gets no requests while it is ill, and gets no more");
    set_spec(&w, "v4 100", "{\"stepPercent\":25,\"automaticRollback\":false}");
    while (slice_find_text(slice_of(w.told), "v4 100/25") < 0 && w.steps < 99)
        decide(&w);
    w.ill[1] = "UNHEALTHY";
    run(&w, 60, 200);
    CHECK_STR(said(&w, "rollout.phase"), "Progressing");
    CHECK_STR(share_text(&w), "v4 100/25 v1 100/75");
    CHECK(slice_find_text(w.route_text, "{\"name\":\"s-v1-serve-svc\",\"port\":8000,\"weight\":75}]}") >= 0);
    test_case("back by request");
    w.back = w.generation--;
    set_spec(&w, "v4 100", "{\"stepPercent\":25,\"automaticRollback\":false}");
    run(&w, 2, 200);
    CHECK_STR(said(&w, "rollout.reason"), "it was requested");
    CHECK_STR(share_text(&w), "v4 100/0 v1 100/100");
    end(&w);
}

static void test_time(void)
{
    struct world w = begin("v1 100", "{\"timeoutMinutes\":2}");
    test_case("the first rollout has nothing to go back to; a later one goes back when its time is over");
    set_spec(&w, "v2 100", "{\"timeoutMinutes\":2}");
    w.ill[1] = "DEPLOYING";
    run(&w, 119, 200);
    CHECK_STR(said(&w, "rollout.phase"), "Progressing");
    CHECK_STR(share_text(&w), "v2 100/0 v1 100/100");
    run(&w, 5, 200);
    CHECK_STR(said(&w, "rollout.phase"), "RolledBack");
    CHECK(slice_find_text(said(&w, "rollout.reason"), "not complete within 2 min") >= 0);
    end(&w);

    struct world first = {.now = {.mono_ms = 1000, .wall_us = INT64_C(1800000000) * 1000000}, .status = SLICE("{}"), .back = -1};
    set_spec(&first, "v1 100", "{\"timeoutMinutes\":1}");
    first.ill[0] = "DEPLOY_FAILED";
    run(&first, 100, 100);
    CHECK_STR(said(&first, "rollout.phase"), "Progressing");
    CHECK_STR(said(&first, "state"), "Starting");
    CHECK(!first.route_text.len);
    test_case("a first version that is replaced before it served goes at once");
    set_spec(&first, "v2 100", "{\"timeoutMinutes\":1}");
    run(&first, 2, 200);
    CHECK_INT(first.count, 1);
    first.ill[0] = NULL;
    run(&first, 10, 100);
    CHECK_STR(said(&first, "state"), "Running");
    end(&first);
}

static void test_waits(void)
{
    struct world w = begin("v1 100", QUICK);
    test_case("a Gateway that does not take up the route: no step");
    w.refused = true;
    set_spec(&w, "v2 100", QUICK);
    run(&w, 60, 125);
    CHECK(slice_find_text(slice_of(w.told), "v1 100/75") < 0);
    CHECK_STR(condition_of(&w, "Progressing", "message"), "Gateway g has not taken up HTTPRoute s-httproute yet");
    w.refused = false;
    run(&w, 200, 125);
    CHECK_STR(share_text(&w), "v2 100/100");

    test_case("an error in the spec: all goes on as it was");
    set_spec(&w, "v3 90", QUICK);
    uint32_t before = w.actions;
    run(&w, 30, 125);
    CHECK_INT(w.actions, before + 1); /* the status */
    CHECK_STR(share_text(&w), "v2 100/100");
    set_spec(&w, "v2 100", QUICK);
    run(&w, 5, 125);
    CHECK_STR(condition_of(&w, "Valid", "reason"), "SpecAccepted");

    test_case("a status that is lost: versions keep their requests as soon as they run");
    w.status = SLICE("{}");
    run(&w, 10, 125);
    CHECK_STR(share_text(&w), "v2 100/100");
    CHECK_INT(w.count, 1);

    test_case("more RayServices than are kept go");
    for (uint32_t i = 0; i < CHILDREN_MAX - 2; i++) {
        struct versioned_child *c = &w.children[w.count++];
        *c = w.children[0];
        c->version = arena_printf(&w.a, "x%u", i);
        c->name = arena_printf(&w.a, "s-x%u", i);
    }
    run(&w, 100, 125 + 100 * CHILDREN_MAX);
    CHECK_INT(w.count, 1);
    end(&w);
}

static void run_until(struct world *w, const char *told, int most)
{
    for (int i = 0; i < 300 && slice_find_text(slice_of(w->told), told) < 0; i++)
        run(w, 1, most);
    CHECK(slice_find_text(slice_of(w->told), told) >= 0);
}

static void test_leaving(void)
{
    struct world w = begin("v1 100", QUICK);
    test_case("a version that leaves stays 60 s, however the spec is edited meanwhile, and no header pins it");
    set_spec(&w, "v2 100", QUICK);
    run_until(&w, "v2 100/100 v1 0/0\n", 125);
    run(&w, 3, 125);
    CHECK_STR(said(&w, "rollout.phase"), "Complete");
    CHECK(slice_find_text(w.route_text, "\"value\":\"v2\"") >= 0);
    CHECK(slice_find_text(w.route_text, "\"value\":\"v1\"") < 0);
    set_spec(&w, "v2 100", "{\"intervalSeconds\":20,\"maxSurgePercent\":25}");
    run(&w, 55, 125);
    CHECK_INT(w.count, 2);
    CHECK_STR(said(&w, "rollout.phase"), "Complete");
    run(&w, 70, 125);
    CHECK_INT(w.count, 1);
    end(&w);
}

static void test_in_place(void)
{
    struct world w = begin("v1 100", "{\"timeoutMinutes\":2}");
    test_case("a change in place that takes longer than timeoutMinutes is not said to be rolled back, nor on request");
    w.back = w.generation + 1;
    set_spec(&w, "v1 100", "{\"timeoutMinutes\":2,\"stepPercent\":20}");
    w.ill[0] = "DEPLOYING";
    run(&w, 200, 100);
    CHECK_STR(said(&w, "rollout.phase"), "Progressing");
    w.ill[0] = NULL;
    run(&w, 5, 100);
    CHECK_STR(said(&w, "rollout.phase"), "Complete");
    end(&w);
}

static void test_idle(void)
{
    struct world w = begin("v1 100 v2 0", QUICK);
    test_case("a version without a weight has one percent of capacity, for requests that a header pins to it");
    CHECK_STR(share_text(&w), "v1 100/100 v2 1/0");
    set_spec(&w, "v1 0 v2 100", QUICK);
    run(&w, 200, 125);
    CHECK_STR(share_text(&w), "v1 1/0 v2 100/100");
    uint32_t before = w.actions;
    run(&w, 20, 125);
    CHECK_INT(w.actions, before);
    test_case("but not so many that a rollout has no capacity to add");
    set_spec(&w, "v1 0 v2 98 v3 1 v4 1 v5 0", "{\"intervalSeconds\":15,\"maxSurgePercent\":2}");
    run(&w, 300, 102);
    CHECK_STR(share_text(&w), "v1 1/0 v2 98/98 v3 1/1 v4 1/1 v5 0/0");
    CHECK_STR(said(&w, "rollout.phase"), "Complete");
    end(&w);
}

static void test_back_by_steps(void)
{
    struct world w = begin("v1 100", QUICK);
    test_case("on request, requests go back as the version gets capacity for them");
    set_spec(&w, "v2 100", QUICK);
    run_until(&w, "v2 75/75 v1 25/25\n", 125);
    w.told[0] = 0;
    w.back = w.generation--;
    set_spec(&w, "v2 100", QUICK);
    run(&w, 2, 125);
    CHECK_STR(said(&w, "rollout.phase"), "RolledBack");
    CHECK_STR(condition_of(&w, "Progressing", "reason"), "RollingBack");
    CHECK_STR(condition_of(&w, "Progressing", "status"), "True");
    CHECK_STR(said(&w, "rollout.endTime"), "");
    run(&w, 30, 125);
    CHECK(slice_starts(slice_of(w.told), SLICE("v2 75/75 v1 50/25\nv2 75/50 v1 50/50\nv2 50/50 v1 50/50\n")));
    CHECK_STR(share_text(&w), "v2 25/0 v1 100/100");
    CHECK_STR(condition_of(&w, "Progressing", "reason"), "RolledBack");
    CHECK(said(&w, "rollout.endTime").len > 0);
    CHECK_INT(w.count, 2);
    run(&w, 100, 125);
    CHECK_INT(w.count, 1);

    test_case("and at once when the version that they leave fails meanwhile");
    w.told[0] = 0;
    w.back = -1;
    set_spec(&w, "v3 100", QUICK);
    run_until(&w, "v3 75/75 v1 25/25\n", 125);
    w.back = w.generation--;
    set_spec(&w, "v3 100", QUICK);
    run(&w, 1, 125);
    w.ill[1] = "UNHEALTHY";
    run(&w, 2, 200);
    CHECK_STR(share_text(&w), "v3 75/0 v1 100/100");
    CHECK_STR(condition_of(&w, "Progressing", "reason"), "RolledBack");
    w.ill[1] = NULL;

    test_case("a version that stays loses the capacity that it does not need");
    run(&w, 100, 200);
    set_spec(&w, "v1 90 v4 10", QUICK);
    run(&w, 100, 125);
    set_spec(&w, "v1 50 v4 50", QUICK);
    run_until(&w, "v1 50/50 v4 50/50\n", 125);
    w.ill[1] = "UNHEALTHY";
    run(&w, 60, 200);
    CHECK_STR(said(&w, "rollout.phase"), "RolledBack");
    CHECK_STR(share_text(&w), "v1 90/90 v4 10/10");
    end(&w);
}

int main(void)
{
    test_leaving();
    test_in_place();
    test_idle();
    test_back_by_steps();
    test_table();
    test_without_limit();
    test_many();
    test_start();
    test_failure();
    test_time();
    test_waits();
    return test_done();
}
