/* An operator that has ended, and another one: what the first has sent is carried out whenever it comes. */
#include "scene.h"

/* Only worker of cluster c, in the world's arena. */
static struct slice worker_of_c(struct world *w)
{
    struct slice name = {0};
    CHECK_INT(pod_names(w, "worker", &name, 1), 1);
    return arena_printf(&w->arena, "%s/%.*s", pods_path, SLICE_ARG(name));
}

static uint32_t workers(struct world *w)
{
    struct slice names[8];
    return pod_names(w, "worker", names, COUNT_OF(names));
}

static void hold(struct world *w, struct slice pod, const char *finalizers)
{
    struct slice patch = arena_printf(&w->arena, "{\"metadata\":{\"finalizers\":%s}}", finalizers);
    CHECK_INT(world_call(w, "PATCH", pod.ptr, "application/merge-patch+json", patch), 200);
}

/* Sees what is sent, and not only what comes. */
struct sender {
    struct world_hooks hooks; /* first */
    uint32_t posts;           /* of pods */
    int64_t list_ms;          /* lists of pods are answered so late, with what was when they came */
};

static void on_arrived(struct world_hooks *h, struct world_request *q)
{
    bool list = slice_eq(q->method, SLICE("GET")) && slice_starts(q->target, slice_of(pods_path)) && !strstr(q->target.ptr, "watch=");
    q->delay_ms = list ? ((struct sender *)h)->list_ms : 0;
}

static void on_sent(struct world_hooks *h, struct world_request *q)
{
    if (slice_eq(q->method, SLICE("POST")) && slice_starts(q->target, slice_of(pods_path)))
        ((struct sender *)h)->posts++;
}

/* A worker is going and its successor, whose name is made of its uid, is on its way: so the operator ends. Then the worker is gone, and who
 * comes next knows of neither. */
static void test_successor_on_its_way(int64_t late_ms, int64_t list_ms)
{
    struct world w;
    struct sender sender = {.hooks = {.sent = on_sent, .arrived = on_arrived}};
    test_case("a successor that a dead operator has sent comes %lld ms after the next one begins, whose list takes %lld ms",
              (long long)late_ms, (long long)list_ms);
    make_world(&w, false);
    apiserver_faults(w.server)->no_streaming_lists = list_ms != 0;
    apply(&w, "c", 1);
    world_run(&w, 10 * 1000);
    struct slice old = worker_of_c(&w);
    hold(&w, old, "[\"example.com/hold\"]");
    world_run(&w, 1000);
    w.hooks = &sender.hooks;
    w.path.latency_ms = late_ms;
    CHECK_INT(world_call(&w, "DELETE", old.ptr, "application/json", SLICE("{}")), 200);
    for (int64_t end_ms = w.now.mono_ms + 10 * 1000; sender.posts == 0 && w.now.mono_ms < end_ms;)
        world_step(&w, end_ms);
    world_kill_operator(&w);
    CHECK_INT(sender.posts, 1);
    CHECK_INT(workers(&w), 1); /* the one that goes */
    hold(&w, old, "null");
    CHECK_INT(workers(&w), 0);
    w.path.latency_ms = 0;
    w.fence_ms = OPERATOR_FENCE_MS;
    sender.list_ms = list_ms;
    world_start_operator(&w, false);
    world_run(&w, late_ms - 1);
    CHECK_INT(workers(&w), 0);
    world_run(&w, 10 * 1000);
    CHECK_INT(workers(&w), 1);
    CHECK_INT(sender.posts, 1);
    CHECK_INT(w.sent.deletes, 0);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void set_hosts(struct world *w, int hosts)
{
    struct slice patch = arena_printf(&w->arena, "[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/0/numOfHosts\",\"value\":%d}]", hosts);
    CHECK_INT(world_call(w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json-patch+json", patch), 200);
}

/* The same of a replica of two hosts: its pods have one name each, but which replica is the next depends on the one that goes. */
static void test_replica_on_its_way(void)
{
    enum { LATE_MS = 500, HOSTS = 2 };
    struct world w;
    struct sender sender = {.hooks = {.sent = on_sent}};
    struct slice old[HOSTS];
    test_case("a replica of two hosts that a dead operator has sent comes after the next one begins");
    make_world(&w, false);
    apply(&w, "c", 1);
    set_hosts(&w, HOSTS);
    world_run(&w, 10 * 1000);
    CHECK_INT(pod_names(&w, "worker", old, HOSTS), HOSTS);
    for (int i = 0; i < HOSTS; i++) {
        old[i] = arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(old[i]));
        hold(&w, old[i], "[\"example.com/hold\"]");
    }
    world_run(&w, 1000);
    w.hooks = &sender.hooks;
    w.path.latency_ms = LATE_MS;
    for (int i = 0; i < HOSTS; i++)
        CHECK_INT(world_call(&w, "DELETE", old[i].ptr, "application/json", SLICE("{}")), 200);
    for (int64_t end_ms = w.now.mono_ms + 10 * 1000; sender.posts < HOSTS && w.now.mono_ms < end_ms;)
        world_step(&w, end_ms);
    world_kill_operator(&w);
    CHECK_INT(sender.posts, HOSTS);
    for (int i = 0; i < HOSTS; i++)
        hold(&w, old[i], "null");
    CHECK_INT(workers(&w), 0);
    uint32_t deletes = w.sent.deletes;
    w.path.latency_ms = 0;
    w.fence_ms = OPERATOR_FENCE_MS;
    world_start_operator(&w, false);
    world_run(&w, LATE_MS - 1);
    CHECK_INT(workers(&w), 0);
    world_run(&w, 10 * 1000);
    CHECK_INT(workers(&w), HOSTS);
    CHECK_INT(sender.posts, HOSTS);
    CHECK_INT(w.sent.deletes, deletes);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

/* … and so with workers that nobody has sent: they wait as long, and no head waits. */
static void test_missing(void)
{
    struct world w;
    test_case("clusters that an operator finds at its start");
    make_world(&w, false);
    world_kill_operator(&w);
    apply(&w, "c", 3);
    w.fence_ms = OPERATOR_FENCE_MS;
    world_start_operator(&w, false);
    world_run(&w, OPERATOR_FENCE_MS - 1);
    CHECK_INT(workers(&w), 0);
    CHECK_INT(pods_of(&w, "c"), 1);
    world_run(&w, 2); /* one step past it */
    CHECK_INT(workers(&w), 3);
    test_case("… and one that comes later");
    apply(&w, "d", 3);
    world_run(&w, 500);
    CHECK_INT(pods_of(&w, "d"), 4);
    world_free(&w);
}

int main(void)
{
    test_successor_on_its_way(500, 0);
    test_successor_on_its_way(OPERATOR_FENCE_MS - 1, 0);
    test_successor_on_its_way(500, OPERATOR_FENCE_MS - 1);
    test_successor_on_its_way(500, OPERATOR_FENCE_MS + 200);
    test_replica_on_its_way();
    test_missing();
    return test_done();
}
