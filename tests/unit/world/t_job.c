/* RayJobs from the resource to their end: a cluster is made, the head is asked, the program is submitted once, and what is said of it
 * becomes status. */
#include "jobs.h"

static void test_success(void)
{
    struct world w;
    test_case("a job that succeeds");
    make_job_world(&w, false);
    apply_job(&w, "j", "");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    CHECK_INT(clusters_now(&w), 1);
    CHECK(run_until(&w, "j", "Complete", 20 * 1000));
    CHECK_STR(job_says(&w, "j", "jobStatus"), "SUCCEEDED");
    CHECK_STR(job_says(&w, "j", "jobId"), board.first ? board.first->id : "");
    CHECK_STR(job_says(&w, "j", "rayClusterStatus.state"), "ready");
    CHECK_INT(job_counts(&w, "j", "succeeded"), 1);
    CHECK_INT(job_counts(&w, "j", "failed"), 0);
    CHECK_INT(board.submits, 1);
    CHECK_STR(slice_of(board.first->entrypoint), "python j.py");
    check_fixed_point(&w);
    CHECK_INT(clusters_now(&w), 1);
    test_case("and is deleted, with its cluster");
    delete_job(&w, "j");
    world_run(&w, 5000);
    CHECK_INT(clusters_now(&w), 0);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    CHECK_INT(board.stops, 0);
    end_job_world(&w);
}

int main(void)
{
    log_global.fd = getenv("LOG") ? 2 : -1;
    test_success();
    return test_done();
}
