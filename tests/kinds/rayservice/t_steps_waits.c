/* Upgrades of RayServices in steps that are held up: by a route that its controller refuses, and by a spec that is invalid for a while. */
#include "steps.h"

static bool is_begun(struct world *w)
{
    return see(w).pending_traffic > 0;
}

static void patch_route_status(struct world *w, const char *patch)
{
    struct slice path = arena_printf(&w->arena, "%s/s-httproute/status", routes_path);
    CHECK_INT(world_call(w, "PATCH", path.ptr, merge, slice_of(patch)), 200);
}

static void test_refused_route(void)
{
    static const char refused[] = "{\"status\":{\"parents\":[{\"parentRef\":{\"name\":\"s-gateway\"},\"conditions\":[{\"type\":"
                                  "\"Accepted\",\"status\":\"False\",\"reason\":\"NotAllowed\",\"message\":\"no\"}]}]}}";
    struct world w;
    test_case("an HTTPRoute that its controller refuses: no more requests move, and the condition names it");
    make_steps_world(&w, true);
    deployed(&w, 100, 10, 1);
    change_service(&w, "2.60.0", "m:b", 100, 10, 1);
    CHECK(run_steps(&w, 200 * 1000, is_begun));
    patch_route_status(&w, refused);
    run_steps(&w, 1000, NULL);
    struct seen then = see(&w);
    CHECK(then.pending_traffic > 0 && then.pending_traffic < 100);
    run_steps(&w, 20 * 1000, NULL);
    CHECK_INT(see(&w).pending_traffic, then.pending_traffic);
    struct slice words = json_get_str(status_condition(json_get(service(&w), "status"), SLICE("UpgradeInProgress")), "message", &w.arena);
    CHECK(slice_find_text(words, "% of the requests; HTTPRoute s-httproute is not Accepted") >= 0);
    patch_route_status(&w, OBSERVED(0));
    CHECK(run_steps(&w, 200 * 1000, is_single));
    CHECK(is_single(&w));
    world_free(&w);
}

static void break_spec(struct world *w)
{
    struct slice path = arena_printf(&w->arena, "%s/s", services_path);
    CHECK_INT(world_call(w, "PATCH", path.ptr, merge, SLICE("{\"spec\":{\"serveConfigV2\":\"applications: [\"}}")), 200);
}

static void restart(struct world *w)
{
    world_kill_operator(w);
    world_start_operator(w, false);
}

/* Up to half of the requests, then 90 s with an invalid spec. Returns the cluster that was active before. */
static const char *broken_at_half(struct world *w)
{
    make_steps_world(w, true);
    const char *first = deployed(w, 50, 25, 3);
    change_service(w, "2.60.0", "m:b", 50, 25, 3);
    CHECK(run_steps(w, 200 * 1000, is_half));
    const char *second = pending(w);
    int weight = weight_of(w, second);
    break_spec(w);
    CHECK(run_steps(w, 90 * 1000, NULL));
    CHECK(says(w, "rayservices.ray.io", "s", "ValidationFailed"));
    CHECK_STR(slice_of(pending(w)), second);
    CHECK_INT(weight_of(w, second), weight);
    return first;
}

static void test_invalid_spec(void)
{
    struct world w;
    test_case("an invalid spec in the middle, then the first one: requests and capacity go back in steps");
    const char *first = broken_at_half(&w), *second = pending(&w);
    int before = weight_of(&w, second);
    bool stepwise = true;
    change_service(&w, "2.52.0", "m:a", 50, 25, 3);
    for (int64_t end_ms = w.now.mono_ms + 200 * 1000; before > 0 && w.now.mono_ms < end_ms;) {
        stepwise &= run_steps(&w, 50, NULL) && apiserver_count(w.server, SLICE("rayclusters.ray.io")) == 2;
        int now = weight_of(&w, second);
        stepwise &= (now > 0 ? now : 0) >= before - 25;
        before = now;
    }
    CHECK(stepwise);
    CHECK(run_steps(&w, 200 * 1000, is_single));
    CHECK_STR(slice_of(active(&w)), first);
    CHECK_INT(head_of(first)->capacity, 100);
    world_free(&w);
    test_case("an invalid spec in the middle and a restart of the operator, then the second one: the upgrade goes on");
    first = broken_at_half(&w);
    restart(&w);
    CHECK(run_steps(&w, 20 * 1000, NULL));
    change_service(&w, "2.60.0", "m:b", 50, 25, 3);
    CHECK(run_steps(&w, 200 * 1000, is_single));
    CHECK(is_single(&w) && strcmp(active(&w), first) != 0);
    world_free(&w);
}

/* A backup restores a RayService without its status. */
static void test_lost_share(void)
{
    struct world w;
    test_case("status lost the share of the pending cluster, and the operator starts again: its capacity is not below its requests");
    make_steps_world(&w, true);
    deployed(&w, 50, 25, 3);
    change_service(&w, "2.60.0", "m:b", 50, 25, 3);
    CHECK(run_steps(&w, 200 * 1000, is_half));
    world_kill_operator(&w);
    struct slice path = arena_printf(&w.arena, "%s/s/status", services_path);
    CHECK_INT(world_call(&w, "PATCH", path.ptr, merge, SLICE("{\"status\":{\"pendingServiceStatus\":null}}")), 200);
    world_start_operator(&w, false);
    CHECK(run_steps(&w, 200 * 1000, is_single));
    CHECK(is_single(&w));
    world_free(&w);
}

static void test_refused_end(void)
{
    struct world w;
    test_case("a DELETE of the Gateway that is refused: a condition says that it is to go, and the next operator deletes it");
    make_steps_world(&w, true);
    deployed(&w, 50, 25, 3);
    override(&w, "DELETE", gateways_path, 403, false, 1000);
    struct slice path = arena_printf(&w.arena, "%s/s", services_path);
    CHECK_INT(world_call(&w, "PATCH", path.ptr, merge, SLICE("{\"spec\":{\"upgradeStrategy\":{\"type\":\"NewCluster\"}}}")), 200);
    run_steps(&w, 5000, NULL);
    CHECK(json_there(gateway(&w)));
    CHECK(says(&w, "rayservices.ray.io", "s", "Gateway and HTTPRoute are being deleted"));
    world_kill_operator(&w);
    override(&w, "GET", "/none", 500, false, 0);
    world_start_operator(&w, false);
    run_steps(&w, 20 * 1000, NULL);
    CHECK(!json_there(gateway(&w)) && !json_there(route(&w)));
    CHECK(!says(&w, "rayservices.ray.io", "s", "RoutesReady"));
    settle(&w);
    world_free(&w);
}

int main(void)
{
    test_refused_end();
    test_invalid_spec();
    test_lost_share();
    test_refused_route();
    return test_done();
}
