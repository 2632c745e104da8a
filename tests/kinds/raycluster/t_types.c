/* Instance types of pods that are made, and what a changed ConfigMap does to those that run: nothing, unless they ask for it. */
#include "tests/world/maps.h"

static const char small[] = "small: {resources: {CPU: 4, memory: 8Gi}}", large[] = "small: {resources: {CPU: 6, memory: 8Gi}}";

/* A cluster whose workers name this type; the head names none. more: further annotations, each with a comma before it. */
static struct slice typed_body(struct world *w, int workers, const char *type, const char *more, const char *spec)
{
    return annotated_body(w, spec, "", workers, arena_printf(&w->arena, "\"anyscale.com/instance-type\":\"%s\"%s", type, more).ptr);
}

static void create(struct world *w, struct slice body)
{
    CHECK_INT(world_call(w, "POST", v1, "application/json", body), 201);
}

static void change(struct world *w, struct slice body)
{
    CHECK_INT(world_call(w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/merge-patch+json", body), 200);
}

/* How many workers have these requests, and how many of them carry the type's name as a label. */
static uint32_t workers_with(struct world *w, const char *cpu)
{
    struct slice list;
    struct json doc;
    struct err e = {0};
    struct jval k, pod;
    uint32_t count = 0;
    CHECK_INT(
        world_ask(w, "GET", "/api/v1/namespaces/n/pods?labelSelector=ray.io%2Fnode-type%3Dworker", "application/json", SLICE_NONE, &list),
        200);
    if (!CHECK(json_parse(&doc, list, &w->arena, &e)))
        return 0;
    for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &pod);) {
        struct jval requests = json_get(json_at(json_get(pod, "spec.containers"), 0), "resources.requests");
        count += *cpu ? json_str_eq(json_key(requests, SLICE("cpu")), slice_of(cpu)) : !json_there(requests);
    }
    return count;
}

static bool condition_says(struct world *w, const char *status, const char *text)
{
    struct json doc;
    struct err e = {0};
    struct jval k, v;
    bool found = false;
    CHECK(json_parse(&doc, apiserver_get(w->server, SLICE("rayclusters.ray.io"), SLICE("n"), SLICE("c"), &w->arena), &w->arena, &e));
    for (struct jiter it = json_iter(json_get(json_root(&doc), "status.conditions")); json_next(&it, &k, &v);)
        found |= json_str_eq(json_get(v, "type"), SLICE("InstanceTypesReady")) && json_str_eq(json_get(v, "status"), slice_of(status)) &&
                 strstr(arena_dup(&w->arena, json_raw(v)).ptr, text);
    return found;
}

static void test_change(void)
{
    struct world w;
    make_world_with_types(&w);
    put_types(&w, small);
    create(&w, typed_body(&w, 2, "small", "", "\"upgradeStrategy\":{\"type\":\"Recreate\"},"));
    world_run(&w, 3000);
    test_case("the pods have what their type says, and its name");
    CHECK_INT(workers_with(&w, "4"), 2);
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"desiredCPU\":\"8\"") && condition_says(&w, "True", "InstanceTypesApplied"));
    test_case("a changed type: the next pods have it within a second, those that run stay");
    put_types(&w, large);
    world_run(&w, 100);
    scale(&w, "c", 3);
    world_run(&w, 1000);
    CHECK_INT(workers_with(&w, "4"), 2);
    CHECK_INT(workers_with(&w, "6"), 1);
    test_case("a broken text: what was read last stays in force");
    put_types(&w, "small: {resources: {CPU: 5}}");
    scale(&w, "c", 4);
    world_run(&w, 2000);
    CHECK_INT(workers_with(&w, "6"), 2);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_missing(void)
{
    struct world w;
    make_world_with_types(&w);
    test_case("before there is a ConfigMap");
    create(&w, typed_body(&w, 2, "smal", "", "\"upgradeStrategy\":{\"type\":\"Recreate\"},"));
    world_run(&w, 3000);
    CHECK_INT(pods_of(&w, "c"), 1);
    CHECK(condition_says(&w, "False", "InstanceTypeNotFound"));
    test_case("the text is broken");
    put_types(&w, "small: 1");
    world_run(&w, 15 * 1000);
    CHECK(condition_says(&w, "False",
                         "ConfigMap instance-types is broken, and what was read before is in force: line 1: small: is a number"));
    test_case("the nearest name is told, and the head runs");
    put_types(&w, small);
    world_run(&w, 15 * 1000);
    CHECK_INT(pods_of(&w, "c"), 1);
    CHECK(condition_says(&w, "False",
                         "group small names instance type smal, which the ConfigMap does not have: did you mean small (line 1)?"));
    CHECK(tells(&w, "InstanceTypesNotReady", "did you mean small"));
    check_fixed_point(&w);
    test_case("the type comes: pods within a second");
    put_types(&w, "smal: {resources: {CPU: 2, memory: 8Gi}}");
    world_run(&w, 1000);
    CHECK_INT(workers_with(&w, "2"), 2);
    world_run(&w, 1000);
    CHECK(condition_says(&w, "True", ""));
    test_case("it goes, and the spec names another that is not there: what runs stays");
    change(&w, typed_body(&w, 3, "gone", "", "\"upgradeStrategy\":{\"type\":\"Recreate\"},"));
    world_run(&w, 5000);
    CHECK_INT(workers_with(&w, "2"), 2);
    CHECK(condition_says(&w, "False", "group small names instance type gone"));
    check_fixed_point(&w);
    test_case("it is there again: the pods are made again");
    put_types(&w, "gone: {resources: {CPU: 1, memory: 8Gi}}");
    world_run(&w, 10 * 1000);
    CHECK_INT(workers_with(&w, "1"), 3);
    CHECK_INT(workers_with(&w, "2"), 0);
    world_free(&w);
}

static void test_follow(void)
{
    struct world w;
    make_world_with_types(&w);
    put_types(&w, small);
    create(&w, typed_body(&w, 2, "small", ",\"mobula.dev/follow-instance-type\":\"true\"", "\"upgradeStrategy\":{\"type\":\"Recreate\"},"));
    world_run(&w, 3000);
    CHECK_INT(workers_with(&w, "4"), 2);
    test_case("pods that ask for it follow a changed type");
    put_types(&w, large);
    world_run(&w, 10 * 1000);
    CHECK_INT(workers_with(&w, "6"), 2);
    CHECK_INT(workers_with(&w, "4"), 0);
    world_run(&w, 60 * 1000);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_unreadable(void)
{
    struct world w;
    struct apiserver_config config = {.seed = 1};
    test_case("no right to read the ConfigMap: the group waits and says so, others do not wait");
    world_init(&w, &config);
    make_namespace(&w);
    make_crd(&w, "ray.io", "");
    watch_map(&w, "instance-types");
    put_types(&w, small);
    override(&w, "GET", maps_path, 403, false, 5);
    create(&w, typed_body(&w, 2, "small", "", ""));
    apply(&w, "other", 1);
    world_start_operator(&w, false);
    world_run(&w, 800);
    CHECK_INT(pods_of(&w, "c"), 1);
    CHECK_INT(pods_of(&w, "other"), 2);
    CHECK(condition_says(&w, "False", "ConfigMap instance-types cannot be read: no right to watch configmaps"));
    test_case("it is granted");
    world_run(&w, 60 * 1000);
    if (!CHECK_INT(workers_with(&w, "4"), 2))
        printf("%.*s", SLICE_ARG(apiserver_get(w.server, SLICE("rayclusters.ray.io"), SLICE("n"), SLICE("c"), &w.arena)));
    world_free(&w);
}

int main(void)
{
    test_change();
    test_missing();
    test_follow();
    test_unreadable();
    return test_done();
}
