/* Rolling updates with Ray: an old worker is drained before it is deleted, also across leaders, and without Ray it is deleted in time. */
#include "scaled.h"

#include <mobula/raycluster.h>

static void edit_template(struct world *w, const char *mark)
{
    struct slice patch = arena_printf(&w->arena,
                                      "[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/0/template/spec/containers/0/env\",\"value\":"
                                      "[{\"name\":\"MARK\",\"value\":\"%s\"}]}]",
                                      mark);
    struct slice path = arena_printf(&w->arena, "%s/c", v1);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/json-patch+json", patch), 200);
}

static void allow_rolling(struct world *w, const char *budget)
{
    struct slice note = arena_printf(&w->arena, "{\"metadata\":{\"annotations\":{\"" RAY_ANNOTATION_ROLL "\":\"%s\"}}}", budget);
    struct slice path = arena_printf(&w->arena, "%s/c", v1);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", note), 200);
}

/* Two workers, and one extra at a time. */
static struct fakeray *begin(struct world *w)
{
    make_scaled_world(w, false);
    CHECK_INT(world_call(w, "POST", v1, "application/json", cluster_body(w, "c", 2, "")), 201);
    allow_rolling(w, "maxSurgePercent=50");
    world_run(w, 10 * 1000);
    CHECK(is_ready(w, "c"));
    struct fakeray *h = head_of(w, "c");
    CHECK_INT(h->fake.states, 0); /* nothing is asked while nothing is replaced */
    return h;
}

/* The same with a busy node on each worker: a drain ends only when their work does. */
static struct fakeray *begin_busy(struct world *w)
{
    struct fakeray *h = begin(w);
    h->lingers = true;
    fakeray_work(h, 0, FAKERAY_CPUS, 2, false);
    world_run(w, 5 * 1000);
    edit_template(w, "two");
    return h;
}

static uint32_t marked(struct world *w, const char *mark)
{
    struct slice names[8];
    uint32_t count = pod_names(w, "worker", names, 8), n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += says(w, "pods", arena_printf(&w->arena, "%.*s", SLICE_ARG(names[i])).ptr,
                  arena_printf(&w->arena, "\"value\":\"%s\"", mark).ptr);
    return n;
}

static void check_rolled(struct world *w, const char *mark)
{
    CHECK_INT(marked(w, mark), 2);
    CHECK_INT(workers_of(w, "c"), 2);
    CHECK(!says(w, "rayclusters.ray.io", "c", STATUS_DRIFT));
}

static void test_drained(void)
{
    struct world w;
    test_case("idle nodes drain at once, and each pod is deleted after that");
    struct fakeray *h = begin(&w);
    edit_template(&w, "two");
    world_run(&w, 20 * 1000);
    check_rolled(&w, "two");
    CHECK_INT(h->accepted, 2);
    CHECK_INT(h->strange, 0);
    CHECK(!tells(&w, "WorkerNotDrained", ""));
    test_case("… then the GCS is not asked any more");
    uint32_t states = h->fake.states;
    world_run(&w, 20 * 1000);
    CHECK_INT(h->fake.states, states);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_busy(void)
{
    struct world w;
    test_case("a node that works drains as long as it works, and no other is asked meanwhile");
    struct fakeray *h = begin_busy(&w);
    world_run(&w, 60 * 1000);
    CHECK_INT(h->accepted, 1);
    CHECK_INT(h->preempted, 1);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK(says(&w, "rayclusters.ray.io", "c", "Ray drains pod "));
    CHECK(!says(&w, "rayclusters.ray.io", "c", "WorkersNotReady"));
    test_case("… the next leader goes on with it");
    world_kill_operator(&w);
    world_start_operator(&w, false);
    world_run(&w, 60 * 1000);
    CHECK_INT(h->accepted, 1);
    CHECK_INT(workers_of(&w, "c"), 3);
    test_case("… its work ends: it is deleted, and the next one drains");
    h->lingers = false;
    fakeray_work(h, 0, 0, 0, false);
    for (struct fakeray_node *n = h->nodes; n; n = n->next)
        if (n->drains)
            fakeray_kill_raylet(h, n->pod.name); /* as a raylet does whose work has ended */
    world_run(&w, 20 * 1000);
    check_rolled(&w, "two");
    CHECK_INT(h->accepted, 2);
    CHECK(!tells(&w, "WorkerNotDrained", ""));
    world_free(&w);
}

static void test_too_long(void)
{
    struct world w;
    test_case("work that does not end is waited for, but not for ever");
    struct fakeray *h = begin_busy(&w);
    world_run(&w, RAYCLUSTER_DRAIN_MS - 10 * 1000);
    CHECK_INT(h->accepted, 1);
    CHECK_INT(workers_of(&w, "c"), 3);
    world_run(&w, 2 * RAYCLUSTER_DRAIN_MS);
    check_rolled(&w, "two");
    CHECK(tells(&w, "WorkerNotDrained", "are left there after 5 min"));
    world_free(&w);
}

static void test_without_ray(bool refuses)
{
    struct world w;
    test_case(refuses ? "a head that takes no request to drain" : "a head that does not answer");
    struct fakeray *h = begin(&w);
    h->refuses = refuses;
    h->unreachable = !refuses;
    edit_template(&w, "two");
    world_run(&w, RAYCLUSTER_DRAIN_ASK_MS - 1000);
    CHECK_INT(marked(&w, "two"), 1);
    CHECK_INT(workers_of(&w, "c"), 3);
    world_run(&w, (refuses ? 2 : 1) * RAYCLUSTER_DRAIN_ASK_MS); /* once it is silent, the second worker does not wait for it */
    check_rolled(&w, "two");
    CHECK_INT(h->accepted, 0);
    CHECK(tells(&w, "WorkerNotDrained", "does not answer"));
    world_free(&w);
}

static void test_taken_back(void)
{
    struct world w;
    test_case("a template that is put back while a worker drains: the worker stays");
    struct fakeray *h = begin_busy(&w);
    world_run(&w, 20 * 1000);
    CHECK_INT(h->accepted, 1);
    h->lingers = false;
    fakeray_work(h, 0, 0, 0, false);
    struct slice path = arena_printf(&w.arena, "%s/c", v1);
    CHECK_INT(world_call(&w, "PATCH", path.ptr, "application/json-patch+json",
                         SLICE("[{\"op\":\"remove\",\"path\":\"/spec/workerGroupSpecs/0/template/spec/containers/0/env\"}]")),
              200);
    world_run(&w, 20 * 1000);
    CHECK_INT(marked(&w, "two"), 0);
    CHECK_INT(workers_of(&w, "c"), 2);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void test_scaled(void)
{
    struct world w;
    test_case("with an autoscaler: drained workers are replaced, and the group keeps its size");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = 3, .idle = 3600});
    allow_rolling(&w, "maxSurgePercent=0,maxUnavailablePercent=34");
    world_run(&w, 20 * 1000);
    struct fakeray *h = head_of(&w, "c");
    CHECK_INT(workers_of(&w, "c"), 3);
    edit_template(&w, "two");
    for (int step = 0; step < 60; step++) {
        world_run(&w, 1000);
        CHECK(workers_of(&w, "c") >= 2);
    }
    CHECK_INT(marked(&w, "two"), 3);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK_INT(h->accepted, 3);
    CHECK(!tells(&w, "WorkerNotDrained", ""));
    world_free(&w);
}

int main(void)
{
    test_drained();
    test_busy();
    test_too_long();
    test_without_ray(false);
    test_without_ray(true);
    test_taken_back();
    test_scaled();
    return test_done();
}
