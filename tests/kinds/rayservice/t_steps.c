/* Upgrades of RayServices in steps, in a simulated world with a Gateway controller: object by object, back, with a canary that falls ill,
 * and with an operator that is killed at each write. */
#include "steps.h"

enum { STEPS_MAX = 64 };

/* ---- an upgrade ---- */

static void check_objects(struct world *w, const char *first)
{
    struct jval g = gateway(w), listener = json_at(json_get(g, "spec.listeners"), 0), r = route(w);
    CHECK(json_is(json_get(g, "spec.gatewayClassName"), "any"));
    CHECK(json_is(json_get(listener, "name"), "http") && json_is(json_get(listener, "protocol"), "HTTP"));
    CHECK_INT(json_get_int(listener, "port", 0), 80);
    struct jval owner = json_at(json_get(g, "metadata.ownerReferences"), 0), rule = json_at(json_get(r, "spec.rules"), 0);
    CHECK(json_is(json_get(owner, "kind"), "RayService") && json_get_bool(owner, "controller", false));
    CHECK(json_is(json_get(json_at(json_get(r, "spec.parentRefs"), 0), "name"), "s-gateway"));
    CHECK(json_is(json_get(json_at(json_get(rule, "matches"), 0), "path.type"), "PathPrefix"));
    CHECK_INT(json_len(json_get(rule, "backendRefs")), 1);
    CHECK_INT(json_get_int(json_at(json_get(rule, "backendRefs"), 0), "port", 0), 8000);
    CHECK_INT(weight_of(w, first), 100);
    struct jval own = world_object(w, "services", arena_printf(&w->arena, "%s-serve-svc", first).ptr);
    CHECK(json_is(json_child(json_get(own, "spec.selector"), "ray.io/serve"), "true"));
    CHECK(json_is(json_get(json_at(json_get(own, "metadata.ownerReferences"), 0), "kind"), "RayCluster"));
    CHECK_INT(head_of(first)->capacity, 100);
}

/* The document's table for 25, with the moments between a PUT and its record. */
static void test_upgrade(void)
{
    static const struct seen want[] = {{0, 0, 100, 100},  {25, 0, 100, 100}, {25, 25, 100, 75}, {25, 25, 75, 75},  {50, 25, 75, 75},
                                       {50, 50, 75, 50},  {50, 50, 50, 50},  {75, 50, 50, 50},  {75, 75, 50, 25},  {75, 75, 25, 25},
                                       {100, 75, 25, 25}, {100, 100, 25, 0}, {100, 100, 0, 0},  {-1, -1, 100, 100}};
    struct world w;
    struct seen all[STEPS_MAX] = {{0}}, last = {0};
    uint32_t count = 0;
    test_case("capacity and traffic move in turns, and the earlier cluster goes");
    make_steps_world(&w, true);
    const char *first = deployed(&w, 25, 25, 5);
    check_objects(&w, first);
    settle(&w);
    change_service(&w, "2.60.0", "m:b", 25, 25, 5);
    bool right = true;
    int64_t began_ms = w.now.mono_ms;
    for (int64_t end_ms = w.now.mono_ms + 300 * 1000; w.now.mono_ms < end_ms;) {
        world_step(&w, w.now.mono_ms + 50);
        tend_gateway(&w);
        right &= check_shares(&w);
        struct seen now = see(&w);
        if (memcmp(&now, &last, sizeof now) != 0 && count < STEPS_MAX && (now.pending_capacity >= 0 || count))
            all[count++] = now;
        last = now;
        if (count && now.pending_capacity < 0)
            break;
    }
    CHECK(right);
    CHECK(w.now.mono_ms - began_ms >= 4 * 5000); /* four steps of traffic, each after an interval */
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++)
        at += at < COUNT_OF(want) && memcmp(&all[i], &want[at], sizeof want[at]) == 0;
    if (!CHECK_INT(at, COUNT_OF(want)))
        for (uint32_t i = 0; i < count; i++)
            printf("  %d/%d/%d/%d\n", all[i].pending_capacity, all[i].pending_traffic, all[i].active_capacity, all[i].active_traffic);
    CHECK(strcmp(active(&w), first) != 0);
    CHECK(run_steps(&w, 60 * 1000, is_single));
    CHECK(is_single(&w));
    CHECK(strcmp(head_of(first)->import, "m:a") == 0); /* the earlier version kept its configuration until its end … */
    CHECK_INT(head_of(first)->capacity, 0);
    CHECK(strcmp(head_of(active(&w))->import, "m:b") == 0);
    CHECK(tells(&w, "UpdatedServeTargetCapacity", "sent target_capacity 25 % to RayCluster"));
    settle(&w);
    world_free(&w);
}

static void test_back(void)
{
    struct world w;
    test_case("the spec goes back in the middle: so do requests and capacity, in steps, and the new cluster goes");
    make_steps_world(&w, true);
    const char *first = deployed(&w, 50, 25, 3);
    change_service(&w, "2.60.0", "m:b", 50, 25, 3);
    CHECK(run_steps(&w, 200 * 1000, is_half));
    const char *second = pending(&w);
    CHECK(is_half(&w) && *second);
    change_service(&w, "2.52.0", "m:a", 50, 25, 3);
    CHECK(run_steps(&w, 2000, NULL));
    CHECK(says(&w, "rayservices.ray.io", "s", "RollbackInProgress"));
    CHECK_INT(see(&w).pending_capacity >= 0, 1);
    CHECK(run_steps(&w, 200 * 1000, is_single));
    CHECK(is_single(&w));
    CHECK_STR(slice_of(active(&w)), first);
    CHECK_INT(head_of(first)->capacity, 100);
    CHECK(strcmp(head_of(first)->import, "m:a") == 0);
    CHECK(!says(&w, "rayservices.ray.io", "s", "RollbackInProgress"));
    CHECK(!json_there(world_object(&w, "rayclusters.ray.io", second)));
    settle(&w);
    world_free(&w);
}

static void test_third(void)
{
    struct world w;
    test_case("a third version in the middle: first back to the first one, then onward to the third");
    make_steps_world(&w, true);
    const char *first = deployed(&w, 50, 50, 10);
    change_service(&w, "2.60.0", "m:b", 50, 50, 10);
    CHECK(run_steps(&w, 200 * 1000, is_half));
    const char *second = pending(&w);
    change_service(&w, "2.60.1", "m:c", 50, 50, 10);
    CHECK(run_steps(&w, 3000, NULL));
    CHECK(says(&w, "rayservices.ray.io", "s", "RollbackInProgress"));
    CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 2);
    CHECK(run_steps(&w, 300 * 1000, is_single));
    CHECK(is_single(&w));
    CHECK(strcmp(active(&w), first) != 0 && strcmp(active(&w), second) != 0);
    CHECK(strcmp(head_of(active(&w))->import, "m:c") == 0);
    CHECK(strcmp(head_of(second)->import, "m:b") == 0);
    settle(&w);
    world_free(&w);
}

static void test_ill(void)
{
    struct world w;
    test_case("a canary that falls ill gets no more, and the active version keeps what it has");
    make_steps_world(&w, true);
    deployed(&w, 25, 25, 2);
    change_service(&w, "2.60.0", "m:b", 25, 25, 2);
    CHECK(run_steps(&w, 200 * 1000, is_half));
    head_of(pending(&w))->ill = true;
    CHECK(run_steps(&w, 5000, NULL));
    struct seen then = see(&w);
    CHECK(then.pending_traffic < 100);
    CHECK(run_steps(&w, 120 * 1000, NULL));
    struct seen now = see(&w);
    CHECK(memcmp(&now, &then, sizeof now) == 0);
    CHECK(says(&w, "rayservices.ray.io", "s", "application a is UNHEALTHY"));
    test_case("… until it is well");
    head_of(pending(&w))->ill = false;
    CHECK(run_steps(&w, 200 * 1000, is_single));
    CHECK(is_single(&w));
    world_free(&w);
}

static void test_no_gateway(void)
{
    struct world w;
    test_case("a Gateway that no controller takes up: the old version serves, and a condition says what is missing");
    make_steps_world(&w, true);
    create_service(&w, 100, 50, 1);
    world_run(&w, 60 * 1000);
    const char *first = active(&w);
    CHECK(*first);
    CHECK(says(&w, "rayservices.ray.io", "s", "s-gateway has no condition Accepted yet: no controller has looked"));
    CHECK(says(&w, "rayservices.ray.io", "s", "gatewayClassName is \\\"any\\\""));
    change_service(&w, "2.60.0", "m:b", 100, 50, 1);
    world_run(&w, 60 * 1000);
    CHECK_STR(slice_of(active(&w)), first);
    CHECK(*pending(&w));
    CHECK_INT(see(&w).pending_traffic, 0);
    CHECK_INT(see(&w).pending_capacity, 0);
    CHECK_INT(head_of(first)->capacity, 100);
    CHECK(run_steps(&w, 100 * 1000, is_single));
    CHECK(is_single(&w));
    world_free(&w);
    test_case("a server without the Gateway API: the service runs behind its Service, and the definitions may come later");
    make_steps_world(&w, false);
    create_service(&w, 100, 50, 1);
    world_run(&w, 60 * 1000);
    CHECK(*active(&w));
    CHECK(says(&w, "rayservices.ray.io", "s", "the API server does not know gateways.gateway.networking.k8s.io"));
    CHECK(says(&w, "rayservices.ray.io", "s", "mobula install --gateways --httproutes"));
    make_definition(&w, "gateway.networking.k8s.io", "Gateway", "gateways", "");
    make_definition(&w, "gateway.networking.k8s.io", "HTTPRoute", "httproutes", "");
    CHECK(run_steps(&w, 300 * 1000, is_served));
    CHECK(is_served(&w));
    world_free(&w);
}

/* Whether the service says this after `resource` of the route was patched. */
static bool says_after(struct world *w, const char *resource, const char *patch, const char *text)
{
    world_call(w, "PATCH", arena_printf(&w->arena, "%s/s-httproute%s", routes_path, resource).ptr, merge, slice_of(patch));
    run_steps(w, 2000, NULL);
    return says(w, "rayservices.ray.io", "s", text);
}

static void test_generations(void)
{
    struct world w;
    test_case("conditions of an earlier generation of the HTTPRoute do not count; without observedGeneration they do");
    make_steps_world(&w, true);
    deployed(&w, 50, 50, 1);
    CHECK(says_after(&w, "", "{\"spec\":{\"hostnames\":[\"a.example\"]}}", "GatewayProgrammed"));
    CHECK(says_after(&w, "/status", OBSERVED(2), "GatewayProgrammed") && says_after(&w, "/status", OBSERVED(1), "is of generation 1,"));
    CHECK(says_after(&w, "/status", OBSERVED(0), "GatewayProgrammed"));
    world_free(&w);
}

static void test_others(void)
{
    struct world w;
    test_case("weights that somebody changes are set right, a route that is deleted comes back with its weights");
    make_steps_world(&w, true);
    deployed(&w, 25, 25, 3600);
    change_service(&w, "2.60.0", "m:b", 25, 25, 1);
    CHECK(run_steps(&w, 200 * 1000, is_half));
    change_service(&w, "2.60.0", "m:b", 25, 0, 1); /* a pause */
    CHECK(run_steps(&w, 20 * 1000, NULL));
    CHECK(says(&w, "rayservices.ray.io", "s", "stepSizePercent is 0: no requests move"));
    int weight = weight_of(&w, pending(&w));
    struct jval spec = json_get(route(&w), "spec");
    struct slice text = json_raw(spec), from = arena_printf(&w.arena, "\"weight\":%d", weight);
    const char *at = strstr(text.ptr, from.ptr);
    struct slice edit = arena_printf(&w.arena, "{\"spec\":%.*s\"weight\":99%.*s}", (int)(at - text.ptr), text.ptr,
                                     (int)(text.len - (size_t)(at - text.ptr) - from.len), at + from.len);
    CHECK_INT(world_call(&w, "PATCH", arena_printf(&w.arena, "%s/s-httproute", routes_path).ptr, merge, edit), 200);
    CHECK(run_steps(&w, 2000, NULL) || true);
    CHECK_INT(weight_of(&w, pending(&w)), weight);
    CHECK_INT(world_call(&w, "DELETE", arena_printf(&w.arena, "%s/s-httproute", routes_path).ptr, "application/json", SLICE("{}")), 200);
    CHECK(run_steps(&w, 3000, NULL));
    CHECK_INT(weight_of(&w, pending(&w)), weight);
    settle(&w);
    test_case("suspended: routes, Services and clusters go; resumed: they come back");
    struct slice path = arena_printf(&w.arena, "%s/s", services_path);
    CHECK_INT(world_call(&w, "PATCH", path.ptr, merge, SLICE("{\"spec\":{\"suspend\":true}}")), 200);
    run_steps(&w, 30 * 1000, NULL);
    CHECK(!json_there(gateway(&w)) && !json_there(route(&w)));
    CHECK(says(&w, "rayservices.ray.io", "s", "SuspendComplete"));
    CHECK_INT(world_call(&w, "PATCH", path.ptr, merge, SLICE("{\"spec\":{\"suspend\":false}}")), 200);
    run_steps(&w, 100 * 1000, is_served);
    CHECK(is_served(&w));
    test_case("another upgradeStrategy: the routes go, and the service stays");
    CHECK_INT(world_call(&w, "PATCH", path.ptr, merge, SLICE("{\"spec\":{\"upgradeStrategy\":{\"type\":\"NewCluster\"}}}")), 200);
    run_steps(&w, 20 * 1000, NULL);
    CHECK(!json_there(gateway(&w)) && !json_there(route(&w)));
    CHECK_INT(see(&w).active_traffic, -1);
    CHECK(!says(&w, "rayservices.ray.io", "s", "RoutesReady"));
    settle(&w);
    world_free(&w);
}

static void test_mute(void)
{
    struct world w;
    test_case("a head that does not say from what its applications were deployed: nothing is taken from it, and that is told");
    make_steps_world(&w, true);
    deployed(&w, 50, 50, 1);
    board.mute = true;
    change_service(&w, "2.60.0", "m:b", 50, 50, 1);
    CHECK(run_steps(&w, 120 * 1000, NULL));
    CHECK_INT(see(&w).active_capacity, 100);
    CHECK(tells(&w, "FailedToUpdateTargetCapacity", "it does not say from what its applications were deployed"));
    board.mute = false;
    CHECK(run_steps(&w, 200 * 1000, is_single));
    CHECK(is_single(&w));
    world_free(&w);
}

/* ---- the operator ends ---- */

struct killer {
    struct world_hooks hooks; /* first */
    uint32_t writes, at;
};

static void on_arrived(struct world_hooks *h, struct world_request *q)
{
    ((struct killer *)h)->writes += !slice_is(q->method, "GET") && !slice_has(q->target, "/events");
}

/* The operator ends after each write with an odd number in turn, and another one takes over. back: after those with an even number, and
 * the spec is put back in the middle. */
static void test_crashes(bool back)
{
    for (uint32_t at = back ? 2 : 1; at <= 120; at += 2) {
        struct world w;
        struct killer killer = {.hooks = {.arrived = on_arrived}, .at = at};
        bool right = true, killed = false, returned = false;
        int most = 0;
        test_case("the operator ends after write %u%s", at, back ? ", with a way back" : "");
        make_steps_world(&w, true);
        w.hooks = &killer.hooks;
        create_service(&w, 50, 50, 1);
        const char *first = "";
        for (int64_t end_ms = w.now.mono_ms + 400 * 1000; w.now.mono_ms < end_ms;) {
            world_step(&w, w.now.mono_ms + 50);
            tend_gateway(&w);
            right &= check_shares(&w);
            if (!killed && killer.writes >= at) {
                killed = true;
                world_kill_operator(&w);
                world_run(&w, 2000);
                world_start_operator(&w, false);
            }
            if (!*first && is_served(&w)) {
                first = active(&w);
                change_service(&w, "2.60.0", "m:b", 50, 50, 1);
            } else if (*first && back && !returned && see(&w).pending_traffic >= 50) {
                returned = true;
                change_service(&w, "2.52.0", "m:a", 50, 50, 1);
            } else if (*first && (returned || !back) && (back || strcmp(active(&w), first) != 0) && is_single(&w)) {
                break;
            }
            int now = see(&w).pending_traffic;
            right &= returned || now < 0 || now >= most || !*pending(&w);
            most = now > most ? now : most;
        }
        CHECK(right);
        CHECK(*first && (strcmp(active(&w), first) == 0) == back);
        CHECK(is_single(&w));
        CHECK_INT(head_of(active(&w))->capacity, 100);
        w.hooks = NULL;
        world_free(&w);
        if (!killed)
            break;
    }
}

int main(void)
{
    test_upgrade();
    test_back();
    test_third();
    test_ill();
    test_no_gateway();
    test_generations();
    test_others();
    test_mute();
    test_crashes(false);
    test_crashes(true);
    return test_done();
}
