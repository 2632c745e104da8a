/* A process that was told to end removes its finalizers in a namespace that is being deleted, and in no other. */
#include "jobs.h"

/* Steps until the operator has ended. Returns how long that took. */
static int64_t stop(struct world *w)
{
    int64_t from_ms = w->now.mono_ms;
    bool stopped = false;
    for (int i = 0; i < 300 && !stopped; i++) {
        stopped = operator_stop(w->op, w->now);
        world_step(w, w->now.mono_ms + 50);
    }
    CHECK(stopped);
    return w->now.mono_ms - from_ms;
}

static void begin(struct world *w)
{
    make_job_world(w, false);
    board.run_ms = 0;
    apply(w, "c", 1);
    apply_job(w, "j", "\"clusterSelector\":{\"ray.io/cluster\":\"c\"},");
    CHECK(run_until(w, "j", "Running", 60 * 1000));
    world_run(w, 5000);
    CHECK(says(w, "rayjobs.ray.io", "j", RAY_JOB_FINALIZER));
}

static void test_stop(void)
{
    struct world w;
    test_case("a stop leaves the finalizer of a job that runs on, for the next operator");
    begin(&w);
    CHECK(stop(&w) < 2000);
    CHECK(says(&w, "rayjobs.ray.io", "j", RAY_JOB_FINALIZER));
    end_job_world(&w);
}

static void test_namespace_goes(void)
{
    struct world w;
    test_case("the namespace is being deleted, and the operator is the first to be told to end");
    begin(&w);
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayjobs/j", "application/merge-patch+json",
                         SLICE("{\"metadata\":{\"finalizers\":[\"" RAY_JOB_FINALIZER "\",\"example.com/stay\"]}}")),
              200);
    CHECK(world_call(&w, "DELETE", "/api/v1/namespaces/n", "application/json", SLICE("{}")) < 300);
    CHECK(stop(&w) < 9000);
    CHECK(!says(&w, "rayjobs.ray.io", "j", RAY_JOB_FINALIZER));
    CHECK(says(&w, "rayjobs.ray.io", "j", "example.com/stay"));
    end_job_world(&w);
}

static void test_silent(void)
{
    struct world w;
    test_case("an API server that does not answer delays the end by 12 s at most");
    begin(&w);
    w.unreachable = true;
    world_cut_all(&w);
    CHECK(stop(&w) < 12 * 1000);
    end_job_world(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_stop();
    test_namespace_goes();
    test_silent();
    return test_done();
}
