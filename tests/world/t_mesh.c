/* Clusters whose pods are changed as they are created: by a mesh, by injectors, by policies. */
#include "scene.h"

#define NEVER "\"restartPolicy\":\"Never\","
#define PROXY_RUNS                                                                                                                         \
    "{\"name\":\"istio-proxy\",\"image\":\"i\",\"imageID\":\"i\",\"ready\":true,\"restartCount\":0,\"state\":{\"running\":{}}}"
#define PROXY_ENDED                                                                                                                        \
    "{\"name\":\"istio-proxy\",\"image\":\"i\",\"imageID\":\"i\",\"ready\":false,\"restartCount\":0,\"state\":{\"terminated\":{"           \
    "\"exitCode\":0,\"reason\":\"Completed\"}}}"
#define RAY_RUNS "{\"name\":\"ray\",\"image\":\"i\",\"imageID\":\"i\",\"ready\":true,\"restartCount\":0,\"state\":{\"running\":{}}}"
#define RAY_KILLED                                                                                                                         \
    "{\"name\":\"ray\",\"image\":\"i\",\"imageID\":\"i\",\"ready\":false,\"restartCount\":0,\"state\":{\"terminated\":{\"exitCode\":137,"  \
    "\"reason\":\"OOMKilled\"}}}"

static struct slice uid_of(struct world *w, struct slice name)
{
    struct json doc;
    struct err e = {0};
    struct slice pod = apiserver_get(w->server, SLICE("pods"), SLICE("n"), name, &w->arena);
    return pod.ptr && json_parse(&doc, pod, &w->arena, &e) ? json_get_str(json_root(&doc), "metadata.uid", &w->arena) : SLICE_NONE;
}

/* What the kubelet says of the containers; the pod runs, and is not ready. */
static void tell(struct world *w, struct slice name, const char *statuses)
{
    struct slice path = arena_printf(&w->arena, "%s/%.*s/status", pods_path, SLICE_ARG(name));
    struct slice patch = arena_printf(
        &w->arena, "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}],\"containerStatuses\":[%s]}}", statuses);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", patch), 200);
}

static void begin(struct world *w, uint32_t mutators, const char *policy)
{
    make_world(w, false);
    apiserver_mutate(w->server, mutators);
    struct slice body = cluster_body(w, "c", 2, ""), rest = body;
    struct buf b;
    buf_init(&b, MIB);
    for (ptrdiff_t at; (at = slice_find_text(rest, "\"containers\"")) >= 0; rest = slice_skip(rest, (size_t)at + 12))
        buf_printf(&b, "%.*s%s\"containers\"", (int)at, rest.ptr, policy);
    buf_put(&b, rest);
    CHECK_INT(world_call(w, "POST", v1, "application/json", buf_slice(&b)), 201);
    buf_free(&b);
    world_run(w, 3000);
}

static void test_well(void)
{
    for (uint32_t bits = 1; bits <= MUTATE_ALL; bits = bits < MUTATE_ALL && bits * 2 > MUTATE_ALL ? MUTATE_ALL : bits * 2) {
        struct world w;
        test_case("changed at creation (%u): a cluster comes, and then nothing is written", bits);
        begin(&w, bits, "");
        CHECK(is_ready(&w, "c"));
        CHECK_INT(w.sent.pod_posts, 3);
        check_fixed_point(&w);
        scale(&w, "c", 1);
        world_run(&w, 3000);
        CHECK(is_ready(&w, "c"));
        CHECK_INT(pods_of(&w, "c"), 2);
        world_free(&w);
    }
}

static void test_ends(void)
{
    static const struct {
        const char *what, *policy, *statuses;
        bool replaced;
    } cases[] = {
        {"Ray is killed for its memory, and its proxy runs on", NEVER, PROXY_RUNS "," RAY_KILLED, true},
        {"Ray is killed for its memory, and is started again", "", PROXY_RUNS "," RAY_KILLED, false},
        {"the proxy alone ends", NEVER, PROXY_ENDED "," RAY_RUNS, false},
        {"the proxy alone ends, and is started again", "", PROXY_ENDED "," RAY_RUNS, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases) * 2; i++) {
        struct world w;
        bool head = i % 2, replaced = cases[i / 2].replaced;
        struct slice names[2], before[2], pod = SLICE("c-head");
        test_case("behind a proxy, a %s: %s", head ? "head" : "worker", cases[i / 2].what);
        begin(&w, MUTATE_FIRST, cases[i / 2].policy);
        CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 2);
        pod = head ? pod : names[0];
        before[0] = uid_of(&w, pod);
        before[1] = uid_of(&w, names[1]);
        tell(&w, pod, cases[i / 2].statuses);
        world_run(&w, 20 * 1000);
        CHECK_INT(slice_eq(uid_of(&w, pod), before[0]), !replaced);
        bool ends_too = head && replaced; /* Ray in a worker ends with its head, and this one is not to be restarted */
        CHECK_INT(slice_eq(uid_of(&w, names[1]), before[1]), !ends_too);
        CHECK(is_ready(&w, "c") || !replaced);
        CHECK_INT(pods_of(&w, "c"), 3);
        world_free(&w);
    }
}

/* A pod that nobody would tell of again is no success, and no ground for another. */
static void test_stripped(void)
{
    struct world w;
    test_case("whatever admits pods takes away the label that they are watched by: that is told, and pods do not become more and more");
    begin(&w, MUTATE_STRIP, "");
    world_run(&w, 10 * 60 * 1000);
    CHECK(!is_ready(&w, "c"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "came without its label ray.io/cluster or its owner"));
    CHECK_INT(w.sent.pod_posts < 60, 1);
    struct slice list;
    struct json doc;
    struct err e = {0};
    CHECK_INT(world_ask(&w, "GET", pods_path, "application/json", SLICE_NONE, &list), 200);
    if (CHECK(json_parse(&doc, list, &w.arena, &e)))
        CHECK(json_len(json_get(json_root(&doc), "items")) <= 3);
    test_case("… and when it does not any more, and the pods are deleted, the cluster comes");
    apiserver_mutate(w.server, 0);
    CHECK_INT(world_call(&w, "DELETE", pods_path, "application/json", SLICE("{}")), 200);
    world_run(&w, PLAN_BACKOFF_MAX_MS + 20 * 1000);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

int main(void)
{
    test_well();
    test_ends();
    test_stripped();
    return test_done();
}
