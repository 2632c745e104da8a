/* Many RayJobs, and some of their heads hang: the others do not notice. JOBS=1000 in the environment is the figure, half a minute of CPU
 * under the sanitizers; a fifth of them shows the same. */
#include "jobs.h"

static struct slice job_name(struct world *w, int i)
{
    return arena_printf(&w->arena, "j%d", i);
}

enum { HUNG = 10, JOBS = 200 };

static int how_many(void)
{
    const char *text = getenv("JOBS");
    long jobs = text ? strtol(text, NULL, 10) : JOBS;
    return jobs < HUNG || jobs > 100 * JOBS ? JOBS : (int)jobs;
}

static void test_many(void)
{
    const int jobs = how_many();
    enum { MOST_MS = 60 * 1000, WATCHED_MS = 14 * 1000 };
    struct world w;
    test_case("%d jobs, of which %d have a head that hangs", jobs, HUNG);
    make_job_world(&w, false);
    board.run_ms = 0;
    for (int i = 0; i < jobs; i++)
        apply_job(&w, job_name(&w, i).ptr, "");
    for (int64_t until = w.now.mono_ms + MOST_MS; board.taken < (uint32_t)jobs && w.now.mono_ms < until;)
        world_run(&w, 1000);
    CHECK_INT(board.taken, jobs);
    CHECK_INT(board.submits, jobs);
    for (int i = 0; i < jobs; i += jobs / HUNG)
        ray_of(&w, job_name(&w, i).ptr)->fake.hangs = true;
    world_run(&w, WATCHED_MS);
    int64_t late_ms = board_late_ms();
    CHECK(late_ms <= JOB_LOOK_MS); /* by no more than one poll */
    if (getenv("FIGURES"))
        printf("  the latest look was %lld ms late\n", (long long)late_ms);
    end_job_world(&w);
}

/* Most of them on one cluster, whose head has two connections for them: those beside them do not notice, and they themselves only as far
 * as it takes to answer them. */
static void test_shared(void)
{
    const int jobs = how_many();
    enum { MOST_MS = 60 * 1000, WATCHED_MS = 14 * 1000, ALONE = 5 };
    struct world w;
    test_case("%d jobs on one cluster", jobs);
    make_job_world(&w, false);
    board.run_ms = 0;
    apply(&w, "shared", 1);
    for (int i = 0; i < jobs; i++)
        apply_job(&w, job_name(&w, i).ptr, i < ALONE ? "" : "\"clusterSelector\":{\"ray.io/cluster\":\"shared\"},");
    for (int64_t until = w.now.mono_ms + MOST_MS; board.taken < (uint32_t)jobs && w.now.mono_ms < until;)
        world_run(&w, 1000);
    CHECK_INT(board.taken, jobs);
    CHECK_INT(board.submits, jobs);
    world_run(&w, WATCHED_MS);
    int64_t late_ms = board_late_ms();
    CHECK(late_ms <= JOB_LOOK_MS);
    if (getenv("FIGURES"))
        printf("  the latest look was %lld ms late\n", (long long)late_ms);
    end_job_world(&w);
}

int main(void)
{
    log_global.fd = getenv("LOG") ? 2 : -1;
    test_many();
    test_shared();
    return test_done();
}
