/* Patches of a ConfigMap in what the operator writes, and what a changed text does to what runs: nothing to pods, services follow. */
#include "maps.h"

#include <mobula/patches.h>

/* In JSON's spelling of a string. */
static const char nodes[] = "- kind: Pod\\n  patch: [{op: add, path: /spec/nodeSelector/pool, value: %s}]\\n"
                            "- kind: Service\\n  patch: [{op: add, path: /metadata/annotations/pool, value: %s}]\\n";

static void put_patches(struct world *w, const char *text)
{
    put_map(w, "patches", "patches.yaml", text);
}

static void put_pool(struct world *w, const char *pool)
{
    char text[512];
    struct slice made = arena_printf(&w->arena, nodes, pool, pool);
    snprintf(text, sizeof text, "%.*s", SLICE_ARG(made));
    put_patches(w, text);
}

static void begin(struct world *w)
{
    struct apiserver_config config = {.seed = 1};
    world_init(w, &config);
    make_namespace(w);
    make_crd(w, "ray.io", "");
    watch_map(w, "patches");
}

static uint32_t pods_in(struct world *w, const char *pool)
{
    struct slice list;
    struct json doc;
    struct err e = {0};
    struct jval k, pod;
    uint32_t count = 0;
    CHECK_INT(world_ask(w, "GET", pods_path, "application/json", SLICE_NONE, &list), 200);
    if (!CHECK(json_parse(&doc, list, &w->arena, &e)))
        return 0;
    for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &pod);)
        count += json_str_eq(json_get(pod, "spec.nodeSelector.pool"), slice_of(pool));
    return count;
}

static void create_recreated(struct world *w, int workers)
{
    CHECK_INT(world_call(w, "POST", v1, "application/json", cluster_body(w, "c", workers, "\"upgradeStrategy\":{\"type\":\"Recreate\"},")),
              201);
}

static void test_change(void)
{
    struct world w;
    begin(&w);
    put_pool(&w, "a");
    create_recreated(&w, 2);
    test_case("what is made has them, and no service is applied again and again");
    world_start_operator(&w, false);
    world_run(&w, 3000);
    CHECK_INT(pods_in(&w, "a"), 3);
    CHECK(says(&w, "services", "c-head-svc", "\"pool\":\"a\""));
    check_fixed_point(&w);
    test_case("a changed text: the next pods have it within a second, those that run stay, and services follow");
    put_pool(&w, "b");
    world_run(&w, 100);
    scale(&w, "c", 3);
    world_run(&w, 1000);
    CHECK_INT(pods_in(&w, "a"), 3);
    CHECK_INT(pods_in(&w, "b"), 1);
    CHECK(says(&w, "services", "c-head-svc", "\"pool\":\"b\""));
    check_fixed_point(&w);
    test_case("a broken text: what was read last stays in force");
    put_patches(&w, "- pach: []");
    scale(&w, "c", 4);
    world_run(&w, 2000);
    CHECK_INT(pods_in(&w, "b"), 2);
    CHECK(tells(&w, "BrokenSetting", "line 1: [0].pach: is not known here"));
    test_case("there are none any more: the service is as it was without");
    CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/configmaps/patches", "application/json", SLICE("{}")), 200);
    world_run(&w, 2000);
    CHECK(!says(&w, "services", "c-head-svc", "pool"));
    CHECK_INT(pods_in(&w, "b"), 2);
    check_fixed_point(&w);
    world_free(&w);
}

/* A patch that cannot be applied stops what it is for, and says so. */
static void test_failing(void)
{
    struct world w;
    begin(&w);
    put_patches(&w, "- kind: Pod\\n  selector: ray.io/node-type=worker\\n  patch:\\n  - {op: test, path: /kind, value: Pod}\\n"
                    "  - {op: remove, path: /spec/nodeName}");
    apply(&w, "c", 2);
    world_start_operator(&w, false);
    world_run(&w, 3000);
    test_case("the condition names patch and operation");
    CHECK_INT(pods_of(&w, "c"), 1);
    CHECK(says(&w, "rayclusters.ray.io", "c",
               "ConfigMap patches: patch 1 (line 1), operation 2 (remove /spec/nodeName): nothing is at \\\"/spec/nodeName\\\""));
    CHECK(tells(&w, "FailedToCreateWorkerPod", "operation 2 (remove /spec/nodeName)"));
    world_run(&w, 60 * 1000);
    test_case("it is mended: pods within a second");
    put_patches(&w, "[]");
    world_run(&w, 1000);
    CHECK_INT(pods_of(&w, "c"), 3);
    test_case("… and the condition goes with its cause");
    world_run(&w, 1000);
    CHECK(!says(&w, "rayclusters.ray.io", "c", "ReplicaFailure"));
    test_case("a service that cannot be patched is not sent, and is not tried without a pause");
    put_patches(&w, "- {kind: Service, patch: [{op: remove, path: /spec/none}]}");
    world_run(&w, 1000);
    CHECK_INT(pods_of(&w, "c"), 3);
    world_run(&w, 60 * 1000);
    CHECK(inspect_figures(w.op).decisions < 300);
    apply(&w, "d", 0);
    world_run(&w, 5000);
    CHECK(says(&w, "rayclusters.ray.io", "d", "service d-head-svc: ConfigMap patches: patch 1 (line 1), operation 1"));
    CHECK(says(&w, "rayclusters.ray.io", "d", "FailedCreateService"));
    test_case("… and mended, its condition goes, too");
    put_patches(&w, "- {kind: Service, patch: [{op: add, path: /metadata/labels/team, value: a}]}");
    world_run(&w, 2000);
    CHECK(says(&w, "services", "c-head-svc", "\"team\":\"a\"") && says(&w, "services", "d-head-svc", "\"team\":\"a\""));
    CHECK(!says(&w, "rayclusters.ray.io", "d", "ReplicaFailure"));
    check_fixed_point(&w);
    world_free(&w);
}

/* What cannot be read may be what keeps pods off a node. */
static void test_unknown(void)
{
    struct world w;
    begin(&w);
    put_pool(&w, "a");
    override(&w, "GET", maps_path, 403, false, 5);
    apply(&w, "c", 1);
    test_case("without the right to read the patches nothing is written, and that is told");
    world_start_operator(&w, false);
    world_run(&w, 800);
    CHECK_INT(pods_of(&w, "c"), 0);
    CHECK(tells(&w, "FailedToCreateService", "ConfigMap patches cannot be read, and nothing is written without its patches: no right"));
    world_run(&w, 60 * 1000);
    CHECK_INT(pods_in(&w, "a"), 2);
    world_free(&w);
    begin(&w);
    put_patches(&w, "- 1");
    apply(&w, "c", 1);
    test_case("a text that is broken from the start");
    world_start_operator(&w, false);
    world_run(&w, 3000);
    CHECK_INT(pods_of(&w, "c"), 0);
    CHECK(tells(&w, "FailedToCreateService", "ConfigMap patches is broken, and nothing is written without its patches: line 1: [0]: is"));
    put_pool(&w, "a");
    world_run(&w, 1000);
    CHECK_INT(pods_in(&w, "a"), 2);
    world_free(&w);
}

/* The token is in the Secret, and patches do not see it. */
static void test_secret(void)
{
    struct world w;
    begin(&w);
    put_patches(&w, "- kind: Secret\\n  patch:\\n  - {op: add, path: /metadata/labels/team, value: a}\\n"
                    "  - {op: copy, from: /stringData/auth_token, path: /stringData/copy}");
    CHECK_INT(world_call(&w, "POST", v1, "application/json",
                         cluster_body(&w, "c", 0, "\"rayVersion\":\"2.60.0\",\"authOptions\":{\"mode\":\"token\"},")),
              201);
    test_case("a Secret");
    world_start_operator(&w, false);
    world_run(&w, 3000);
    struct slice secret = apiserver_get(w.server, SLICE("secrets"), SLICE("n"), SLICE("c"), &w.arena);
    CHECK(secret.ptr && strstr(secret.ptr, "\"team\":\"a\"") && !strstr(secret.ptr, "***"));
    world_free(&w);
}

/* Those of the flags lie below, with and without a ConfigMap. */
static void test_below(void)
{
    struct world w;
    struct arena a = {0};
    struct shape_patches below;
    struct spec_errors errors = {0};
    CHECK(shape_patches_read(SLICE("- {kind: Pod, patch: [{op: add, path: /spec/nodeSelector/pool, value: low}]}\n"
                                   "- {kind: Service, patch: [{op: add, path: /metadata/annotations/pool, value: low}]}"),
                             &a, &below, &errors));
    below.name = SLICE("set");
    test_case("without a ConfigMap");
    begin(&w);
    w.patches = &below;
    w.settings[inspect_setting_place("patches")].name = SLICE_NONE;
    apply(&w, "c", 1);
    world_start_operator(&w, false);
    world_run(&w, 3000);
    CHECK_INT(pods_in(&w, "low"), 2);
    CHECK(says(&w, "services", "c-head-svc", "\"pool\":\"low\""));
    check_fixed_point(&w);
    world_free(&w);
    test_case("below one, and when that is gone");
    begin(&w);
    w.patches = &below;
    put_pool(&w, "a");
    apply(&w, "c", 1);
    world_start_operator(&w, false);
    world_run(&w, 3000);
    CHECK_INT(pods_in(&w, "a"), 2);
    CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/configmaps/patches", "application/json", SLICE("{}")), 200);
    scale(&w, "c", 2);
    world_run(&w, 3000);
    CHECK_INT(pods_in(&w, "low"), 1);
    CHECK(says(&w, "services", "c-head-svc", "\"pool\":\"low\""));
    check_fixed_point(&w);
    world_free(&w);
    arena_free(&a);
}

/* Whether each object of the list has the label that patches of no kind add. */
static uint32_t labelled(struct world *w, const char *path)
{
    struct slice list;
    struct json doc;
    struct err e = {0};
    struct jval k, one;
    uint32_t count = 0;
    CHECK_INT(world_ask(w, "GET", path, "application/json", SLICE_NONE, &list), 200);
    if (!CHECK(json_parse(&doc, list, &w->arena, &e)))
        return 0;
    for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &one); count++)
        CHECK(json_str_eq(json_get(one, "metadata.labels.team"), SLICE("a")));
    return count;
}

/* Whatever the operator makes is patched: of a cluster that KubeRay's autoscaler scales, and of a RayCronJob. */
static void test_kinds(void)
{
    static const char cron[] =
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCronJob\",\"metadata\":{\"name\":\"r\",\"namespace\":\"n\"},\"spec\":{"
        "\"schedule\":\"* * * * *\",\"jobTemplate\":{\"entrypoint\":\"x\",\"rayClusterSpec\":{\"headGroupSpec\":{\"rayStartParams\":{},"
        "\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}}}}}}";
    static const char mark[] = "\"namespace\":\"n\"";
    struct world w;
    test_case("a patch of no kind is for all that is written");
    begin(&w);
    make_definition(&w, "ray.io", "RayJob", "rayjobs", "");
    make_definition(&w, "ray.io", "RayCronJob", "raycronjobs", "");
    put_patches(&w, "- patch: [{op: add, path: /metadata/labels/team, value: a}]");
    struct slice body = cluster_body(&w, "c", 1, "\"enableInTreeAutoscaling\":true,");
    const char *at = strstr(body.ptr, mark) + strlen(mark);
    body = arena_printf(&w.arena, "%.*s,\"labels\":{\"team\":\"a\"},\"annotations\":{\"" RAY_ANNOTATION_AUTOSCALER "\":\"sidecar\"}%s",
                        (int)(at - body.ptr), body.ptr, at);
    CHECK_INT(world_call(&w, "POST", v1, "application/json", body), 201);
    CHECK_INT(world_call(&w, "POST", "/apis/ray.io/v1/namespaces/n/raycronjobs", "application/json", slice_of(cron)), 201);
    world_start_operator(&w, false);
    world_run(&w, 65 * 1000);
    CHECK_INT(labelled(&w, "/api/v1/namespaces/n/serviceaccounts?labelSelector=team%3Da"), 1); /* there is one of the namespace's own */
    CHECK_INT(labelled(&w, "/apis/rbac.authorization.k8s.io/v1/namespaces/n/roles"), 1);
    CHECK_INT(labelled(&w, "/apis/rbac.authorization.k8s.io/v1/namespaces/n/rolebindings"), 1);
    CHECK_INT(labelled(&w, "/api/v1/namespaces/n/services"), 2);
    CHECK_INT(labelled(&w, pods_path), 3);
    CHECK_INT(labelled(&w, "/apis/ray.io/v1/namespaces/n/rayjobs"), 1);
    CHECK_INT(labelled(&w, v1), 2); /* the user's own, and that of the run */
    world_free(&w);
}

int main(void)
{
    test_kinds();
    test_below();
    test_change();
    test_failing();
    test_unknown();
    test_secret();
    return test_done();
}
