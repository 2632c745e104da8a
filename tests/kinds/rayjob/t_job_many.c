/* Many RayJobs, and some of their heads hang: the others do not notice. JOBS=1000 in the environment is the figure, half a minute of CPU
 * under the sanitizers; a fifth of them shows the same. */
#include "tests/world/jobs.h"

static struct slice job_name(struct world *w, int i)
{
    return arena_printf(&w->arena, "j%d", i);
}

enum { HUNG = 10, JOBS = 200, MOST_MS = 60 * 1000, WATCHED_MS = 14 * 1000 };

static int how_many(void)
{
    const char *text = getenv("JOBS");
    long jobs = text ? strtol(text, NULL, 10) : JOBS;
    return jobs < HUNG || jobs > 100 * JOBS ? JOBS : (int)jobs;
}

static void test_many(void)
{
    const int jobs = how_many();
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
    enum { ALONE = 5 };
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

/* More heads hang than the API server has places for what it passes on. Once that is known of them, the others do not notice. */
static void test_proxied(void)
{
    enum { BAD = 3 * KUBE_PROXY_CALLS / 2, GOOD = 20, FEW = BAD + GOOD };
    struct world w;
    test_case("%d jobs whose heads are asked through the API server, of which %d hang", FEW, BAD);
    make_job_world_with(&w, false, OPERATOR_PROXY);
    board.run_ms = 0;
    for (int i = 0; i < FEW; i++)
        apply_job(&w, job_name(&w, i).ptr, "");
    for (int64_t until = w.now.mono_ms + MOST_MS; board.taken < FEW && w.now.mono_ms < until;)
        world_run(&w, 1000);
    CHECK_INT(board.taken, FEW);
    CHECK_INT(board.submits, FEW);
    for (int i = 0; i < BAD; i++)
        ray_of(&w, job_name(&w, i).ptr)->fake.hangs = true;
    world_run(&w, 3 * RAY_DASH_MS); /* the first time nobody knows, and they hold what they get */
    for (struct submission *s = board.first; s; s = s->next)
        s->late_ms = 0;
    world_run(&w, JOB_CHECK_TIMEOUT_MS);
    int64_t late_ms = board_late_ms();
    CHECK(late_ms <= JOB_LOOK_MS);
    if (getenv("FIGURES"))
        printf("  the latest look was %lld ms late\n", (long long)late_ms);
    for (int i = 0; i < FEW; i++) {
        test_case("… and of job %d", i);
        CHECK(job_is(&w, job_name(&w, i).ptr, i < BAD ? "Failed" : "Running"));
    }
    end_job_world(&w);
}

struct lines {
    uint32_t count;
    char last[512];
};

static void on_line(void *owner, struct slice line)
{
    struct lines *n = owner;
    if (!memmem(line.ptr, line.len, "RayJobs wait", 12))
        return;
    n->count++;
    slice_copy(slice_head(line, sizeof n->last - 1), n->last, sizeof n->last);
}

/* Somebody has applied the kind of jobs and not that of clusters: nothing can be done, and it is said why. */
static void test_half_installed(void)
{
    enum { FEW = 20, MINUTE_MS = 60 * 1000 };
    static const char crd[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rayclusters.ray.io";
    struct world w;
    struct lines n = {0};
    char name[16];
    test_case("jobs where the API server does not know RayClusters");
    make_job_world(&w, false);
    CHECK_INT(world_call(&w, "DELETE", crd, "application/json", SLICE("{}")), 200);
    world_kill_operator(&w);
    log_global.sink = on_line;
    log_global.owner = &n;
    world_start_operator(&w, false);
    world_run(&w, MINUTE_MS);
    CHECK_INT(n.count, 0);
    for (int i = 0; i < FEW; i++) {
        snprintf(name, sizeof name, "j%d", i);
        apply_job(&w, name, "");
        world_run(&w, MINUTE_MS / 2);
    }
    CHECK_INT(n.count, 1);
    CHECK(strstr(n.last, "level=warn") && strstr(n.last, "namespace=n") && strstr(n.last, "mobula install --crds-only --print"));
    test_case("and go on when it does");
    make_crd(&w, "ray.io", "");
    for (int i = 0; i < FEW; i++) {
        snprintf(name, sizeof name, "j%d", i);
        CHECK(run_until(&w, name, "Complete", 3 * MINUTE_MS));
    }
    CHECK_INT(n.count, 1);
    log_global.sink = NULL;
    end_job_world(&w);
}

int main(void)
{
    log_global.fd = getenv("LOG") ? 2 : -1;
    test_many();
    test_shared();
    test_proxied();
    test_half_installed();
    return test_done();
}
