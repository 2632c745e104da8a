/* A cluster with a list of zones: its pods are in one of them at a time, and in the next when its minimum has no room there. */
#include "tests/world/maps.h"

enum { MINUTE = 60 * 1000 };

/* more: annotations of the head's template beside its zones; full: the zones without room for workers. */
static void create(struct world *w, const char *zones, const char *more, const char *full)
{
    create_annotated(w, arena_printf(&w->arena, "\"anyscale.com/zone\":\"%s\"%s", zones, more).ptr, 2,
                     arena_printf(&w->arena, "\"fake.kubelet/full\":\"%s\"", full).ptr);
}

static void begin(struct world *w, const char *zones, const char *more, const char *full)
{
    make_world(w, false);
    create(w, zones, more, full);
}

/* In JSON Patch: sets what stands at a path of the cluster. */
static void change(struct world *w, const char *path, const char *value)
{
    struct slice patch = arena_printf(&w->arena, "[{\"op\":\"add\",\"path\":\"/spec/%s\",\"value\":%s}]", path, value);
    CHECK_INT(world_call(w, "PATCH", arena_printf(&w->arena, "%s/c", v1).ptr, "application/json-patch+json", patch), 200);
}

/* Pods that are made for a zone: by their label, and all of these by their selector, too. */
static uint32_t pods_in(struct world *w, const char *zone)
{
    struct slice list, path = arena_printf(&w->arena, "%s?labelSelector=anyscale.com%%2Fzone%%3D%s", pods_path, zone);
    struct json doc;
    struct err e = {0};
    struct jval k, pod;
    CHECK_INT(world_ask(w, "GET", path.ptr, "application/json", SLICE_NONE, &list), 200);
    if (!CHECK(json_parse(&doc, list, &w->arena, &e)))
        return 0;
    for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &pod);) {
        CHECK(json_str_eq(json_key(json_get(pod, "spec.nodeSelector"), SLICE("topology.kubernetes.io/zone")), slice_of(zone)));
        CHECK(json_str_eq(json_key(json_get(pod, "metadata.annotations"), SLICE("anyscale.com/zone")), slice_of(zone)));
    }
    return (uint32_t)json_len(json_get(json_root(&doc), "items"));
}

static void test_next(void)
{
    struct world w;
    begin(&w, "a, b", "", "a");
    test_case("the first zone has no room for the workers: it is waited for");
    world_run(&w, RAYCLUSTER_ZONE_MS - 5000);
    CHECK_INT(pods_in(&w, "a"), 3);
    test_case("then all pods go, the head with them, and are made in the next");
    world_run(&w, 30 * 1000);
    CHECK_INT(pods_in(&w, "a"), 0);
    CHECK_INT(pods_in(&w, "b"), 3);
    CHECK(is_ready(&w, "c"));
    CHECK(tells(&w, "ZoneNotAvailable", "has no node in zone a, where the cluster's minimum did not run within 600 s: b is next"));
    check_fixed_point(&w);
    test_case("the next leader finds the cluster in zone b and leaves it there");
    world_crash(&w, 0);
    world_start_operator(&w, false);
    world_run(&w, 20 * MINUTE);
    CHECK_INT(pods_in(&w, "b"), 3);
    check_fixed_point(&w);
    test_case("suspended and taken up again it begins with the first");
    change(&w, "workerGroupSpecs/0/template/metadata/annotations", "{}");
    change(&w, "suspend", "true");
    world_run(&w, 30 * 1000);
    CHECK_INT(pods_of(&w, "c"), 0);
    change(&w, "suspend", "false");
    world_run(&w, 30 * 1000);
    CHECK_INT(pods_in(&w, "a"), 3);
    check_fixed_point(&w);
    world_free(&w);
}

#define QUICK ",\"mobula.dev/zone-starting-timeout\":\"2m\""

/* The head runs in each zone, its workers have room in none. */
static void test_exhausted(void)
{
    struct world w;
    begin(&w, "a,b", QUICK, "a,b");
    test_case("no zone has room for the workers: one after the other, in the cluster's own time");
    world_run(&w, 2 * MINUTE - 5000);
    CHECK_INT(pods_in(&w, "a"), 3);
    world_run(&w, 2 * MINUTE);
    CHECK_INT(pods_in(&w, "b"), 3);
    test_case("each zone was tried: the head that runs is not deleted for another try");
    world_run(&w, 30 * MINUTE);
    CHECK_INT(pods_in(&w, "b"), 3);
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"type\":\"ZonesExhausted\",\"status\":\"True\""));
    CHECK(tells(&w, "ZonesExhausted", "no zone of a,b had room for the cluster's minimum: it stays in b"));
    check_fixed_point(&w);
    test_case("nor by the next leader");
    world_crash(&w, 0);
    world_start_operator(&w, false);
    world_run(&w, 20 * MINUTE);
    CHECK_INT(pods_in(&w, "b"), 3);
    CHECK(says(&w, "rayclusters.ray.io", "c", "ZonesExhausted"));
    test_case("after a change of the spec each zone is tried again");
    change(&w, "workerGroupSpecs/0/template/metadata/annotations", "{\"fake.kubelet/full\":\"b\"}");
    world_run(&w, 3 * MINUTE);
    CHECK_INT(pods_in(&w, "a"), 3);
    CHECK(is_ready(&w, "c"));
    CHECK(!says(&w, "rayclusters.ray.io", "c", "ZonesExhausted"));
    world_free(&w);
}

static void test_nowhere(void)
{
    struct world w;
    begin(&w, "a,b", QUICK ",\"fake.kubelet/full\":\"a,b\"", "a,b");
    test_case("no zone has room for the head either: nothing runs that would be lost, and zone after zone is tried");
    world_run(&w, 2 * MINUTE - 5000);
    CHECK(pods_in(&w, "a") > 0);
    world_run(&w, 2 * MINUTE);
    CHECK(pods_in(&w, "b") > 0);
    world_run(&w, 2 * MINUTE);
    CHECK(pods_in(&w, "a") > 0);
    CHECK(!says(&w, "rayclusters.ray.io", "c", "ZonesExhausted"));
    world_free(&w);
    begin(&w, "a", "", "a");
    test_case("there is no other zone: it stays");
    world_run(&w, 3 * RAYCLUSTER_ZONE_MS);
    CHECK_INT(pods_in(&w, "a"), 3);
    CHECK(!tells(&w, "ZoneNotAvailable", ""));
    world_free(&w);
}

static void test_settled(void)
{
    struct world w;
    begin(&w, "a,b", "", "");
    world_run(&w, 30 * 1000);
    CHECK(is_ready(&w, "c"));
    test_case("what it wants beyond its minimum later, and does not get, does not move it");
    change(&w, "workerGroupSpecs/0/template/metadata/annotations", "{\"fake.kubelet/full\":\"a\"}");
    scale(&w, "c", 4);
    world_run(&w, 3 * RAYCLUSTER_ZONE_MS);
    CHECK_INT(pods_in(&w, "a"), 5);
    test_case("nor does a list without its zone, for pods that run");
    scale(&w, "c", 2);
    world_run(&w, 30 * 1000);
    change(&w, "headGroupSpec/template/metadata/annotations", "{\"anyscale.com/zone\":\"b,c\",\"fake.kubelet/full\":\"b\"}");
    world_run(&w, MINUTE);
    CHECK_INT(pods_in(&w, "a"), 3);
    test_case("its head goes, and finds no node: the next zone has it, and the workers");
    struct slice names[1];
    CHECK_INT(pod_names(&w, "head", names, 1), 1);
    CHECK_INT(
        world_call(&w, "DELETE", arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(names[0])).ptr, "application/json", SLICE("{}")),
        200);
    world_run(&w, RAYCLUSTER_ZONE_MS - 10 * 1000);
    CHECK_INT(pods_in(&w, "b"), 1);
    world_run(&w, MINUTE);
    CHECK_INT(pods_in(&w, "c"), 3);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void remove_pods(struct world *w)
{
    struct slice names[8];
    uint32_t heads = pod_names(w, "head", names, 1), count = heads + pod_names(w, "worker", names + heads, 7);
    CHECK_INT(count, 3);
    for (uint32_t i = 0; i < count; i++)
        CHECK_INT(world_call(w, "DELETE", arena_printf(&w->arena, "%s/%.*s", pods_path, SLICE_ARG(names[i])).ptr, "application/json",
                             SLICE("{\"gracePeriodSeconds\":0}")),
                  200);
}

static void test_all_gone(void)
{
    struct world w;
    begin(&w, "a,b", "", "a");
    world_run(&w, RAYCLUSTER_ZONE_MS + 30 * 1000);
    change(&w, "workerGroupSpecs/0/template/metadata/annotations", "{}");
    world_run(&w, MINUTE);
    CHECK_INT(pods_in(&w, "b"), 3);
    test_case("all of its pods are gone, in whichever way: it begins with the first zone again");
    remove_pods(&w);
    world_run(&w, MINUTE);
    CHECK_INT(pods_in(&w, "a"), 3);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_several(void)
{
    struct world w;
    begin(&w, "a,b", ",\"mobula.dev/allow-cross-zone\":\"true\"", "a");
    test_case("in all zones at once: no pod is said to be in one");
    world_run(&w, 2 * RAYCLUSTER_ZONE_MS);
    CHECK(is_ready(&w, "c"));
    CHECK_INT(pods_in(&w, "a") + pods_in(&w, "b"), 0);
    CHECK(says(&w, "pods", "c-head", "\"values\":[\"a\",\"b\"]") && says(&w, "pods", "c-head", "\"maxSkew\":1"));
    world_free(&w);
    make_world(&w, false);
    test_case("a group with zones of its own");
    create(&w, "a,b", "", "");
    change(&w, "workerGroupSpecs/0/template/metadata/annotations", "{\"anyscale.com/zone\":\"c\"}");
    world_run(&w, 30 * 1000);
    CHECK_INT(pods_in(&w, "a"), 1);
    CHECK_INT(pods_in(&w, "c"), 2);
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    world_free(&w);
}

/* As if whoever leads had moved the cluster there. */
static void move_pods(struct world *w, const char *zone)
{
    struct slice names[8], patch = arena_printf(&w->arena, "{\"metadata\":{\"labels\":{\"anyscale.com/zone\":\"%s\"}}}", zone);
    uint32_t heads = pod_names(w, "head", names, 1), count = heads + pod_names(w, "worker", names + heads, 7);
    CHECK_INT(count, 3);
    for (uint32_t i = 0; i < count; i++)
        CHECK_INT(world_call(w, "PATCH", arena_printf(&w->arena, "%s/%.*s", pods_path, SLICE_ARG(names[i])).ptr,
                             "application/merge-patch+json", patch),
                  200);
}

static void test_other_leader(void)
{
    struct world w;
    test_case("who leads again finds the cluster in another zone, and leaves it there");
    make_world(&w, true);
    create(&w, "a,b", "", "a");
    world_run(&w, 30 * 1000);
    CHECK_INT(pods_in(&w, "a"), 3);
    take_lease(&w, "somebody else", 3600);
    world_run(&w, 10 * 1000);
    CHECK(!inspect_figures(w.op).leading);
    move_pods(&w, "b");
    take_lease(&w, "", 1); /* released */
    uint64_t deleted = w.sent.deletes;
    world_run(&w, MINUTE);
    CHECK(inspect_figures(w.op).leading);
    CHECK_INT(w.sent.deletes, deleted);
    world_free(&w);
}

static void test_not_applied(void)
{
    struct world w;
    begin(&w, "a,b", ",\"mobula.dev/allow-cross-zone\":\"true\"", "");
    world_run(&w, 30 * 1000);
    test_case("zones that a template has no place for are told, without a ConfigMap of instance types too");
    change(&w, "headGroupSpec/template/spec/affinity", "\"none\"");
    world_run(&w, 30 * 1000);
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"reason\":\"ZoneNotApplied\""));
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"observedGeneration\":2"));
    check_fixed_point(&w);
    world_free(&w);
}

int main(void)
{
    test_next();
    test_exhausted();
    test_nowhere();
    test_settled();
    test_all_gone();
    test_several();
    test_other_leader();
    test_not_applied();
    return test_done();
}
