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

int main(void)
{
    test_refused_route();
    return test_done();
}
