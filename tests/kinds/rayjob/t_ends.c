/* Pods that take long to end: a RayJob is neither suspended nor retried while a pod of its cluster exists. */
#include "tests/world/jobs.h"

/* Sets the finalizers of the pod: it exists until they are removed. */
static void hold(struct world *w, struct slice pod, const char *finalizers)
{
    struct slice path = arena_printf(&w->arena, "/api/v1/namespaces/n/pods/%.*s", SLICE_ARG(pod));
    struct slice patch = arena_printf(&w->arena, "{\"metadata\":{\"finalizers\":%s}}", finalizers);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", patch), 200);
}

static struct slice hold_head(struct world *w)
{
    struct slice pod = arena_printf(&w->arena, "%.*s-head", SLICE_ARG(job_says(w, "j", "rayClusterName")));
    hold(w, pod, "[\"example.com/keep\"]");
    return pod;
}

static bool names_hanging(struct world *w, struct slice pod)
{
    struct slice text = arena_printf(&w->arena, "pod %.*s is Terminating", SLICE_ARG(pod));
    return says(w, "rayjobs.ray.io", "j", "PodsHang") && says(w, "rayjobs.ray.io", "j", text.ptr) &&
           says(w, "rayjobs.ray.io", "j", "out-of-service");
}

static void test_suspended(void)
{
    struct world w;
    test_case("suspended while its head takes long to end");
    make_job_world(&w, false);
    board.run_ms = 1000 * 1000;
    apply_job(&w, "j", "\"shutdownAfterJobFinishes\":true,");
    CHECK(run_until(&w, "j", "Running", 20 * 1000));
    world_run(&w, 5000);
    struct slice pod = hold_head(&w);
    change_job(&w, "j", "\"suspend\":true");
    CHECK(run_until(&w, "j", "Suspending", 5000));
    world_run(&w, 50 * 1000);
    CHECK_INT(board.stops, 1); /* the job was asked to stop before its cluster was deleted */
    CHECK(job_is(&w, "j", "Suspending"));
    world_run(&w, 150 * 1000);
    CHECK(job_is(&w, "j", "Suspending"));
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 1);
    CHECK(names_hanging(&w, pod));
    check_fixed_point(&w);
    test_case("… until it has ended");
    hold(&w, pod, "[]");
    CHECK(run_until(&w, "j", "Suspended", 10 * 1000));
    CHECK(!says(&w, "rayjobs.ray.io", "j", "PodsHang"));
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    check_fixed_point(&w);
    end_job_world(&w);
}

static void test_retried(void)
{
    struct world w;
    test_case("the next attempt waits for the last pod of the one before");
    make_job_world(&w, false);
    board.fail = true;
    apply_job(&w, "j", "\"backoffLimit\":1,");
    CHECK(run_until(&w, "j", "Running", 20 * 1000));
    world_run(&w, 3000);
    struct slice pod = hold_head(&w), first = arena_dup(&w.arena, job_says(&w, "j", "rayClusterName"));
    CHECK(run_until(&w, "j", "Retrying", 30 * 1000));
    board.fail = false;
    world_run(&w, 200 * 1000);
    CHECK(job_is(&w, "j", "Retrying"));
    CHECK_INT(clusters_now(&w), 1);
    CHECK_INT(board.taken, 1);
    CHECK(names_hanging(&w, pod));
    hold(&w, pod, "[]");
    CHECK(run_until(&w, "j", "Complete", 60 * 1000));
    CHECK(!slice_eq(first, job_says(&w, "j", "rayClusterName")));
    CHECK_INT(board.taken, 2);
    end_job_world(&w);
}

int main(void)
{
    test_suspended();
    test_retried();
    return test_done();
}
