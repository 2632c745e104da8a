/* The head before its workers: they take neither its node nor its share of a quota, and give back what they hold while it has none. */
#include "tests/world/scene.h"

/* What goes out for pods, in its order. */
struct watcher {
    struct world_hooks hooks;    /* first */
    uint32_t heads, early;       /* heads that were made; workers that were asked for before */
    uint32_t workers, deletions; /* asked for */
};

static bool is_pod_of(const struct world_request *q, const char *type)
{
    char label[64];
    int n = snprintf(label, sizeof label, "\"" RAY_LABEL_NODE_TYPE "\":\"%s\"", type);
    return q->body.len && memmem(q->body.ptr, q->body.len, label, (size_t)n) != NULL;
}

static void sent(struct world_hooks *hooks, struct world_request *q)
{
    struct watcher *t = (struct watcher *)hooks;
    bool worker = is_pod_of(q, "worker");
    t->deletions += slice_eq(q->method, SLICE("DELETE")) && slice_starts(q->target, slice_of(pods_path));
    if (!slice_eq(q->method, SLICE("POST")) || !slice_starts(q->target, slice_of(pods_path)) || !worker)
        return;
    t->workers++;
    t->early += t->heads == 0;
}

static void answered(struct world_hooks *hooks, const struct world_request *q, int status, struct slice answer)
{
    struct watcher *t = (struct watcher *)hooks;
    bool head = is_pod_of(q, "head");
    (void)answer;
    t->heads += head && status == 201 && slice_eq(q->method, SLICE("POST"));
}

static void begin(struct world *w, struct watcher *t)
{
    make_world(w, false);
    *t = (struct watcher){.hooks = {.sent = sent, .answered = answered}};
    w->hooks = &t->hooks;
}

static void patch_pod(struct world *w, const char *name, const char *sub, const char *body)
{
    struct slice path = arena_printf(&w->arena, "%s/%s%s", pods_path, name, sub);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", slice_of(body)), 200);
}

/* Templates with annotations for the model's kubelet. */
static void apply_noted(struct world *w, const char *head, const char *worker, int workers)
{
    static const char note[] = "{\"metadata\":{\"annotations\":{%s}},\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}";
    struct slice one = arena_printf(&w->arena, note, head), other = arena_printf(&w->arena, note, worker);
    struct slice body = arena_printf(&w->arena,
                                     "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\"},\"spec\":{"
                                     "\"headGroupSpec\":{\"rayStartParams\":{},\"template\":%s},\"workerGroupSpecs\":[{\"groupName\":"
                                     "\"small\",\"replicas\":%d,\"minReplicas\":0,\"maxReplicas\":10,\"rayStartParams\":{},"
                                     "\"template\":%s}]}}",
                                     one.ptr, workers, other.ptr);
    CHECK_INT(world_call(w, "POST", v1, "application/json", body), 201);
}

static void test_order(void)
{
    struct world w;
    struct watcher t;
    test_case("a worker is asked for when the head has been answered, one round trip later and no more");
    begin(&w, &t);
    w.path.latency_ms = 10;
    apply(&w, "c", 3);
    world_run(&w, 90); /* the watch, the head, the workers: each there and back */
    CHECK_INT(t.heads, 1);
    CHECK_INT(t.early, 0);
    CHECK_INT(t.workers, 3);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    test_case("the head is lost with a worker: the worker is made again after the head");
    t.heads = t.workers = 0;
    patch_pod(&w, "c-head", "/status", "{\"status\":{\"phase\":\"Failed\",\"conditions\":[]}}");
    struct slice names[3];
    CHECK_INT(pod_names(&w, "worker", names, 3), 3);
    patch_pod(&w, names[0].ptr, "/status", "{\"status\":{\"phase\":\"Failed\",\"conditions\":[]}}");
    world_run(&w, 20 * 1000);
    CHECK_INT(t.heads, 1);
    CHECK_INT(t.early, 0);
    CHECK_INT(t.workers, 1);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void test_refused(void)
{
    struct world w;
    struct watcher t;
    test_case("the head is refused: no worker takes its place");
    begin(&w, &t);
    override(&w, "POST", pods_path, 403, false, 4);
    apply(&w, "c", 3);
    world_run(&w, 5000);
    CHECK_INT(t.workers, 0);
    CHECK(says(&w, "rayclusters.ray.io", "c", "no worker is created before the head, which is refused"));
    world_run(&w, 30 * 1000);
    CHECK_INT(t.early, 0);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void test_no_room(void)
{
    struct world w;
    struct watcher t;
    test_case("no node has room for the head: workers that came before this was known go, no other is made, and status says why");
    begin(&w, &t);
    apply_noted(&w, "\"fake.kubelet/stuck\":\"Unschedulable\"", "", 3);
    world_run(&w, 60 * 1000);
    CHECK_INT(t.workers, t.deletions);
    CHECK(t.workers <= 3);
    CHECK_INT(pods_of(&w, "c"), 1);
    CHECK(says(&w, "rayclusters.ray.io", "c", "no worker is created before head pod c-head has a node"));
    check_fixed_point(&w);
    test_case("it gets a node: they come at once");
    patch_pod(&w, "c-head", "/status", "{\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"}]}}");
    t.workers = 0;
    world_run(&w, 1000);
    CHECK_INT(t.workers, 3);
    CHECK(!says(&w, "rayclusters.ray.io", "c", "no worker is created"));
    world_free(&w);
}

/* As an operator has left it that made them all at once, or when the head was lost and others have taken its place. */
static void test_gives_way(void)
{
    struct world w;
    struct watcher t;
    test_case("workers that have not started give way to the head once, those that run stay");
    begin(&w, &t);
    apply_noted(&w, "", "\"fake.kubelet/ready-after\":\"3600s\"", 3);
    world_run(&w, 3000);
    struct slice names[4];
    CHECK_INT(pod_names(&w, "worker", names, 4), 3);
    patch_pod(&w, names[0].ptr, "/status", "{\"status\":{\"phase\":\"Running\"}}");
    patch_pod(&w, "c-head", "/status",
              "{\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":"
              "\"Unschedulable\"}]}}");
    world_run(&w, 5000);
    CHECK_INT(pods_of(&w, "c"), 2);
    CHECK_INT(t.deletions, 2);
    CHECK_INT(t.workers, 3);
    world_run(&w, 60 * 1000);
    check_fixed_point(&w);
    world_free(&w);
}

int main(void)
{
    test_order();
    test_refused();
    test_no_room();
    test_gives_way();
    return test_done();
}
