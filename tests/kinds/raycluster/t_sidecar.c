/* Clusters that KubeRay's autoscaler scales: what it acts by is there before the head that it runs in, and what it writes is done. */
#include "tests/world/scene.h"

static const char accounts[] = "/api/v1/namespaces/n/serviceaccounts", rbac[] = "/apis/rbac.authorization.k8s.io/v1/namespaces/n";
static const char scaled[] = "\"enableInTreeAutoscaling\":true,";

static struct slice sidecar_body(struct world *w, const char *name, int workers)
{
    struct slice body = cluster_body(w, name, workers, scaled);
    static const char mark[] = "\"namespace\":\"n\"";
    const char *at = strstr(body.ptr, mark) + strlen(mark);
    return arena_printf(&w->arena, "%.*s,\"annotations\":{\"" RAY_ANNOTATION_AUTOSCALER "\":\"sidecar\"}%s", (int)(at - body.ptr), body.ptr,
                        at);
}

static void apply_sidecar(struct world *w, const char *name, int workers)
{
    CHECK_INT(world_call(w, "POST", v1, "application/json", sidecar_body(w, name, workers)), 201);
}

static int get(struct world *w, const char *base, const char *resource, const char *name, struct slice *body)
{
    struct slice path = arena_printf(&w->arena, "%s%s%s/%s", base, *resource ? "/" : "", resource, name);
    return world_ask(w, "GET", path.ptr, "application/json", SLICE_NONE, body);
}

static bool all_there(struct world *w, const char *name)
{
    struct slice body;
    return get(w, accounts, "", name, &body) == 200 && get(w, rbac, "roles", name, &body) == 200 &&
           get(w, rbac, "rolebindings", name, &body) == 200;
}

static void check_made(void)
{
    struct world w;
    struct slice body;
    test_case("the account, the role and the binding, then the head with both containers");
    make_world(&w, false);
    apply_sidecar(&w, "c", 2);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c") && all_there(&w, "c"));
    CHECK_INT(get(&w, pods_path, "", "c-head", &body), 200);
    CHECK(strstr(body.ptr, "kuberay-autoscaler") && strstr(body.ptr, "\"serviceAccountName\":\"c\""));
    CHECK_INT(w.sent.posts, 3 + 3);
    check_fixed_point(&w);
    test_case("a head that is made again finds them, or has them made again");
    CHECK_INT(world_call(&w, "DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/n/roles/c", "application/json", SLICE_NONE), 200);
    CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/pods/c-head", "application/json", SLICE_NONE), 200);
    world_run(&w, 10 * 1000);
    CHECK(is_ready(&w, "c") && all_there(&w, "c"));
    test_case("they go with the cluster");
    CHECK_INT(world_call(&w, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json", SLICE_NONE), 200);
    world_run(&w, 10 * 1000);
    CHECK_INT(get(&w, accounts, "", "c", &body), 404);
    CHECK_INT(get(&w, rbac, "roles", "c", &body), 404);
    CHECK_INT(get(&w, rbac, "rolebindings", "c", &body), 404);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    world_free(&w);
}

/* Without its account the server refuses a pod. */
static void check_taken_away(void)
{
    struct world w;
    test_case("an account that goes while the head waits is made again before the head");
    make_world(&w, false);
    override(&w, "POST", pods_path, 403, false, 1);
    apply_sidecar(&w, "c", 0);
    world_run(&w, 500);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    CHECK_INT(world_call(&w, "DELETE", arena_printf(&w.arena, "%s/c", accounts).ptr, "application/json", SLICE_NONE), 200);
    for (int ms = 0; ms < 60 * 1000 && apiserver_count(w.server, SLICE("pods")) == 0; ms++)
        world_run(&w, 1);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 1);
    CHECK(all_there(&w, "c"));
    world_run(&w, 60 * 1000);
    check_fixed_point(&w);
    world_free(&w);
}

static void patch(struct world *w, int replicas, const char *names)
{
    struct slice text = arena_printf(&w->arena,
                                     "[{\"op\":\"replace\",\"path\":\"/spec/workerGroupSpecs/0/replicas\",\"value\":%d},{\"op\":\"add\","
                                     "\"path\":\"/spec/workerGroupSpecs/0/scaleStrategy\",\"value\":{\"workersToDelete\":[%s]}}]",
                                     replicas, names);
    CHECK_INT(world_call(w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json-patch+json", text), 200);
}

static void check_scaled(void)
{
    struct world w;
    struct slice names[8];
    make_world(&w, false);
    apply_sidecar(&w, "c", 1);
    world_run(&w, 5000);
    test_case("up by replicas");
    patch(&w, 3, "");
    world_run(&w, 5000);
    CHECK_INT(pods_of(&w, "c"), 4);
    test_case("down by name, and by nothing else");
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 3);
    struct slice gone = names[1], quoted = arena_printf(&w.arena, "\"%.*s\"", SLICE_ARG(gone)), body;
    patch(&w, 2, quoted.ptr);
    world_run(&w, 5000);
    CHECK_INT(pods_of(&w, "c"), 3);
    CHECK_INT(get(&w, pods_path, "", gone.ptr, &body), 404);
    patch(&w, 1, "");
    world_run(&w, 5000);
    CHECK_INT(pods_of(&w, "c"), 3);
    test_case("up again while the names still stand there: none of them is given to a new pod, which would go at once");
    uint32_t deletes = w.sent.deletes, made = w.sent.pod_posts;
    patch(&w, 3, quoted.ptr);
    world_run(&w, 10 * 1000);
    CHECK_INT(pods_of(&w, "c"), 4);
    CHECK_INT(w.sent.pod_posts - made, 1);
    CHECK_INT(w.sent.deletes - deletes, 0);
    CHECK_INT(get(&w, pods_path, "", gone.ptr, &body), 404);
    check_fixed_point(&w);
    world_free(&w);
}

/* An object of this name that somebody else made. */
static void put(struct world *w, const char *path, const char *api, const char *kind, const char *owner)
{
    struct slice body =
        arena_printf(&w->arena, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"%s}%s}", api, kind,
                     owner, strcmp(kind, "Role") == 0 ? ",\"rules\":[]" : "");
    CHECK_INT(world_call(w, "POST", path, "application/json", body), 201);
}

static void check_found(void)
{
    struct world w;
    struct slice body;
    test_case("what is there already stays as it is");
    make_world(&w, false);
    put(&w, accounts, "v1", "ServiceAccount", ",\"labels\":{\"mine\":\"yes\"}");
    put(&w, "/apis/rbac.authorization.k8s.io/v1/namespaces/n/roles", "rbac.authorization.k8s.io/v1", "Role", "");
    apply_sidecar(&w, "c", 1);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c") && all_there(&w, "c"));
    CHECK_INT(get(&w, accounts, "", "c", &body), 200);
    CHECK(strstr(body.ptr, "\"mine\"") && !strstr(body.ptr, "ownerReferences"));
    CHECK_INT(get(&w, rbac, "roles", "c", &body), 200);
    CHECK(!strstr(body.ptr, "\"patch\""));
    world_free(&w);
}

static void check_refused(void)
{
    struct world w;
    test_case("an account that may not be made is said, and no head is made without it");
    make_world(&w, false);
    override(&w, "POST", "/apis/rbac.authorization.k8s.io/", 403, false, 1000);
    apply_sidecar(&w, "c", 0);
    world_run(&w, 3000);
    CHECK_INT(pods_of(&w, "c"), 0);
    CHECK(says(&w, "rayclusters.ray.io", "c", "mobula install --autoscaler=sidecar"));
    apiserver_faults(w.server)->next.times = 0;
    world_run(&w, 60 * 1000);
    CHECK(is_ready(&w, "c") && all_there(&w, "c"));
    world_free(&w);
}

/* What it made a moment ago is not known yet where the server looks for it. */
static void check_unseen(void)
{
    struct world w;
    test_case("a role that the server has not heard of yet is no failure of the head");
    make_world(&w, false);
    override(&w, "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/n/rolebindings", 404, false, 2);
    apiserver_faults(w.server)->next.reason = "NotFound";
    apply_sidecar(&w, "c", 0);
    for (int i = 0; i < 200; i++) {
        world_run(&w, 50);
        CHECK(!says(&w, "rayclusters.ray.io", "c", "ReplicaFailure"));
    }
    CHECK(is_ready(&w, "c"));
    CHECK(all_there(&w, "c"));
    CHECK_INT(apiserver_faults(w.server)->next.times, 0);
    world_free(&w);
}

/* Killed anywhere in between, it goes on. */
static void check_crash(void)
{
    for (int at = 1; at < 30; at++) {
        struct world w;
        test_case("crash %d steps after the cluster came", at);
        make_world(&w, false);
        world_run(&w, 500);
        apply_sidecar(&w, "c", 1);
        for (int i = 0; i < at; i++)
            world_step(&w, w.now.mono_ms + 5);
        world_kill_operator(&w);
        world_run(&w, 40);
        world_start_operator(&w, false);
        world_run(&w, 10 * 1000);
        CHECK(is_ready(&w, "c") && all_there(&w, "c"));
        CHECK_INT(pods_of(&w, "c"), 2);
        world_free(&w);
    }
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    check_made();
    check_taken_away();
    check_scaled();
    check_found();
    check_refused();
    check_unseen();
    check_crash();
    return test_done();
}
