/* A group that prefers spot, where there are no spot nodes: its pods are made on demand after a while, and for spot again later. */
#include "tests/world/maps.h"

static void create(struct world *w, const char *more)
{
    create_annotated(
        w, "", 2,
        arena_printf(&w->arena, "\"anyscale.com/instance-type\":\"small\",\"anyscale.com/market-type\":\"PREFER_SPOT\"%s", more).ptr);
}

/* Workers of this market, by their label. */
static uint32_t workers_of(struct world *w, const char *market)
{
    struct slice list, path = arena_printf(&w->arena, "%s?labelSelector=anyscale.com%%2Fmarket-type%%3D%s", pods_path, market);
    struct json doc;
    struct err e = {0};
    CHECK_INT(world_ask(w, "GET", path.ptr, "application/json", SLICE_NONE, &list), 200);
    return CHECK(json_parse(&doc, list, &w->arena, &e)) ? (uint32_t)json_len(json_get(json_root(&doc), "items")) : 0;
}

static void test_fallback(void)
{
    struct world w;
    make_world_with_types(&w);
    put_types(&w, "small: {resources: {CPU: 4, memory: 8Gi}}");
    create(&w, ",\"fake.kubelet/stuck\":\"Spot\"");
    test_case("there are no spot nodes: the pods wait for two minutes");
    world_run(&w, RAYCLUSTER_SPOT_FALLBACK_MS - 5000);
    CHECK_INT(workers_of(&w, "SPOT"), 2);
    test_case("then they are replaced, and the cluster is ready");
    world_run(&w, 15 * 1000);
    CHECK_INT(workers_of(&w, "SPOT"), 0);
    CHECK_INT(workers_of(&w, "ON_DEMAND"), 2);
    CHECK(is_ready(&w, "c") && tells(&w, "SpotNotScheduled", "group small has had no spot node for 12"));
    test_case("until the retry time is over new pods are on-demand, too");
    scale(&w, "c", 3);
    world_run(&w, 5000);
    CHECK_INT(workers_of(&w, "ON_DEMAND"), 3);
    test_case("then they are made for spot, and those that run stay");
    world_run(&w, RAYCLUSTER_SPOT_RETRY_MS);
    scale(&w, "c", 4);
    world_run(&w, 5000);
    CHECK_INT(workers_of(&w, "SPOT"), 1);
    CHECK_INT(workers_of(&w, "ON_DEMAND"), 3);
    world_run(&w, RAYCLUSTER_SPOT_FALLBACK_MS + 10 * 1000);
    CHECK_INT(workers_of(&w, "ON_DEMAND"), 4);
    world_free(&w);
}

/* The same while operators die, answers are lost, and writes are refused: it falls back and returns all the same, with no pod too many. */
static void test_faults(void)
{
    for (int i = 0; i < 8; i++) {
        struct world w;
        test_case("an operator dies %d s into the wait, and answers are lost", 17 * i);
        make_world_with_types(&w);
        put_types(&w, "small: {resources: {CPU: 4, memory: 8Gi}}");
        create(&w, ",\"fake.kubelet/stuck\":\"Spot\"");
        world_run(&w, 1000 + 17 * 1000 * i);
        override(&w, "POST", pods_path, 500, true, 2);
        world_crash(&w, 0);
        world_start_operator(&w, false);
        world_run(&w, RAYCLUSTER_SPOT_FALLBACK_MS);
        override(&w, i % 2 ? "DELETE" : "POST", pods_path, i % 2 ? 500 : 403, i % 2, 3);
        world_run(&w, 60 * 1000);
        CHECK_INT(workers_of(&w, "SPOT"), 0);
        CHECK_INT(workers_of(&w, "ON_DEMAND"), 2);
        CHECK(is_ready(&w, "c"));
        apiserver_faults(w.server)->next.times = 0;
        world_crash(&w, 0); /* a new leader tries spot capacity first */
        world_start_operator(&w, false);
        world_run(&w, 5000);
        scale(&w, "c", 3);
        world_run(&w, 5000);
        CHECK_INT(workers_of(&w, "SPOT"), 1);
        CHECK_INT(workers_of(&w, "ON_DEMAND"), 2);
        CHECK_INT(pods_of(&w, "c"), 4);
        world_free(&w);
    }
}

static void test_spot(void)
{
    struct world w;
    make_world_with_types(&w);
    put_types(&w, "small: {resources: {CPU: 4, memory: 8Gi}}");
    test_case("spot nodes take them");
    create(&w, "");
    world_run(&w, RAYCLUSTER_SPOT_FALLBACK_MS + 60 * 1000);
    CHECK_INT(workers_of(&w, "SPOT"), 2);
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    world_free(&w);
}

/* Nothing is known of instance types here, and the market counts all the same: what required_resources become has no type. */
static void test_untyped(void)
{
    struct world w;
    make_world(&w, false);
    test_case("a group without a type falls back, too");
    create_annotated(&w, "\"anyscale.com/market-type\":\"PREFER_SPOT\"", 2,
                     "\"fake.kubelet/stuck\":\"Spot\",\"anyscale.com/market-type\":\"PREFER_SPOT\"");
    world_run(&w, RAYCLUSTER_SPOT_FALLBACK_MS - 5000);
    CHECK_INT(workers_of(&w, "SPOT"), 2);
    CHECK_INT(workers_of(&w, "ON_DEMAND"), 1); /* the head */
    world_run(&w, 15 * 1000);
    CHECK_INT(workers_of(&w, "SPOT"), 0);
    CHECK_INT(workers_of(&w, "ON_DEMAND"), 3);
    CHECK(is_ready(&w, "c") && tells(&w, "SpotNotScheduled", "group small has had no spot node for 12"));
    check_fixed_point(&w);
    world_free(&w);
}

int main(void)
{
    test_untyped();
    test_fallback();
    test_faults();
    test_spot();
    return test_done();
}
