/* What status says of a RayJob is put back: with all of the store, from a backup of etcd, or alone, by whoever restores objects. What the
 * heads know goes on: what they have been given in an attempt is taken up, and not given to them again. */
#include "tests/world/submitters.h"

enum { REVISIONS_MAX = 64, RUN_MS = 30 * 1000 };

static void begin(struct world *w, bool pods)
{
    if (pods)
        make_pod_world(w);
    else
        make_job_world(w, false);
    board.run_ms = RUN_MS;
}

/* Does what submitter pods do: the program is given to Ray once, under the id of the attempt. Their ends are not of interest here. */
static void play_pods(struct world *w, const char *job)
{
    struct submitters s = submitters_of(w, job);
    for (uint32_t i = 0; i < s.count; i++) {
        bool runs = json_str_eq(pod_value(w, s.names[i], "status.phase"), SLICE("Running"));
        struct submission *known = submission_of(ray_of(w, job), job_says(w, job, "jobId"));
        if (runs && !known)
            submit_from(w, job, s.names[i]);
        else if (runs && w->now.mono_ms - known->began_ms > board.run_ms)
            end_pod(w, s.names[i], 0);
    }
}

static void run_playing(struct world *w, const char *job, bool pods, const char *phase, int64_t ms)
{
    for (int64_t until = w->now.mono_ms + ms; w->now.mono_ms < until && !job_is(w, job, phase);) {
        world_run(w, 100);
        if (pods)
            play_pods(w, job);
    }
    CHECK(job_is(w, job, phase));
}

/* Until Ray runs the program of this attempt, and status says so. *count revisions of the store on the way there. */
static void run_until_running(struct world *w, bool pods, uint64_t *revisions, uint32_t *count)
{
    bool running = false;
    uint64_t seen = 0;
    for (int64_t until = w->now.mono_ms + 60 * 1000; w->now.mono_ms < until && !running; world_step(w, w->now.mono_ms + 1)) {
        if (seen == apiserver_revision(w->server))
            continue;
        seen = apiserver_revision(w->server);
        if (revisions && *count < REVISIONS_MAX)
            revisions[(*count)++] = seen;
        if (pods && job_is(w, "j", "Running"))
            play_pods(w, "j");
        running = slice_eq(job_says(w, "j", "jobStatus"), SLICE("RUNNING"));
    }
    CHECK(running);
}

static uint32_t alive; /* times that Ray did not notice */

/* Returns whether there was one more revision to go back to. */
static bool restore_one(uint32_t which, bool pods)
{
    struct world w;
    uint64_t revisions[REVISIONS_MAX];
    uint32_t count = 0;
    begin(&w, pods);
    world_run(&w, 1000);
    apply_job(&w, "j", "");
    run_until_running(&w, pods, revisions, &count);
    test_case("the store goes back to moment %u of %u, submitted by %s", which, count, pods ? "a pod" : "the operator");
    CHECK(count < REVISIONS_MAX);
    if (which < count) {
        world_run(&w, 2000);
        const struct fakeray *ray = ray_of(&w, "j");
        uint32_t sessions = ray->sessions;
        CHECK(apiserver_restore(w.server, revisions[which]));
        world_cut_all(&w);
        uint32_t made = submitters_of(&w, "j").count;
        run_playing(&w, "j", pods, "Complete", 5 * 60 * 1000);
        bool lived = ray->sessions == sessions;
        CHECK(!lived || submitters_of(&w, "j").count <= made); /* Ray knows the job: nobody needs a pod to submit it */
        alive += lived;
        CHECK_STR(job_says(&w, "j", "jobStatus"), "SUCCEEDED");
        CHECK_INT(job_counts(&w, "j", "attempt"), 1);
        CHECK_INT(job_counts(&w, "j", "failed"), 0);
        CHECK_INT(board.taken, lived ? 1 : 2); /* Ray began again where the backup has no head that runs */
        CHECK_INT(board.submits, board.taken);
        CHECK_INT(clusters_now(&w), 1);
    }
    end_job_world(&w);
    return which + 1 < count;
}

static void put_status_back(struct world *w, struct slice status)
{
    struct slice patch = arena_printf(&w->arena, "[{\"op\":\"replace\",\"path\":\"/status\",\"value\":%.*s}]", SLICE_ARG(status));
    CHECK_INT(world_call(w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayjobs/j/status", "application/json-patch+json", patch), 200);
}

static struct slice status_now(struct world *w)
{
    return arena_dup(&w->arena, json_raw(job_value(w, "j", "status")));
}

/* The cluster of the first attempt has gone, and that of the second runs the program. */
static void test_lower_attempt(bool pods)
{
    static const char *const from[] = {"no status", "Initializing", "Running"};
    for (size_t i = 0; i < COUNT_OF(from); i++) {
        struct world w;
        test_case("status goes back from attempt 2 to %s of attempt 1, submitted by %s", from[i], pods ? "a pod" : "the operator");
        begin(&w, pods);
        board.fail = true;
        apply_job(&w, "j", "\"backoffLimit\":1,");
        CHECK(run_until(&w, "j", "Initializing", 5000));
        struct slice statuses[] = {SLICE("{}"), status_now(&w), SLICE_NONE};
        run_until_running(&w, pods, NULL, NULL);
        statuses[2] = status_now(&w);
        run_playing(&w, "j", pods, "Retrying", 60 * 1000);
        board.fail = false;
        run_playing(&w, "j", pods, "Running", 60 * 1000);
        run_until_running(&w, pods, NULL, NULL);
        struct slice second = arena_dup(&w.arena, job_says(&w, "j", "jobId"));
        put_status_back(&w, statuses[i]);
        world_run(&w, 10 * 1000);
        CHECK_INT(job_counts(&w, "j", "attempt"), 2);
        CHECK_INT(job_counts(&w, "j", "failed"), 1);
        CHECK_SLICE(job_says(&w, "j", "jobId"), second);
        run_playing(&w, "j", pods, "Complete", 60 * 1000);
        CHECK(board.taken == 2 && board.submits == 2);
        CHECK_INT(clusters_now(&w), 1);
        end_job_world(&w);
    }
}

/* Two attempts have come and gone since the backup. */
static void test_far_back(const char *phase)
{
    struct world w;
    test_case("status goes back by two attempts to %s", phase);
    begin(&w, false);
    board.fail = true;
    board.run_ms = 3000;
    apply_job(&w, "j", "\"backoffLimit\":2,");
    CHECK(run_until(&w, "j", phase, 60 * 1000));
    struct slice first = status_now(&w);
    for (int64_t until = w.now.mono_ms + 120 * 1000; board.taken < 3 && w.now.mono_ms < until;)
        world_run(&w, 50);
    CHECK_INT(board.taken, 3);
    put_status_back(&w, first);
    CHECK(run_until(&w, "j", "Failed", 60 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "AppFailed");
    CHECK_INT(job_counts(&w, "j", "attempt"), 3);
    CHECK_INT(job_counts(&w, "j", "failed"), 3);
    CHECK(board.taken == 3 && board.submits == 3);
    end_job_world(&w);
}

/* It came by a resume, no retry is left to it, and somebody suspends the job in the same moment. */
static void test_suspended(void)
{
    struct world w;
    test_case("status goes back to the attempt before a suspension");
    begin(&w, false);
    apply_job(&w, "j", "\"shutdownAfterJobFinishes\":true,");
    CHECK(run_until(&w, "j", "Initializing", 5000));
    struct slice first = status_now(&w);
    run_until_running(&w, false, NULL, NULL);
    change_job(&w, "j", "\"suspend\":true");
    CHECK(run_until(&w, "j", "Suspended", 10 * 1000));
    change_job(&w, "j", "\"suspend\":false");
    run_until_running(&w, false, NULL, NULL);
    put_status_back(&w, first);
    world_run(&w, 10 * 1000);
    CHECK_INT(job_counts(&w, "j", "attempt"), 2);
    CHECK_INT(job_counts(&w, "j", "failed"), 0);
    CHECK_INT(board.taken, 2);
    put_status_back(&w, first);
    change_job(&w, "j", "\"suspend\":true");
    CHECK(run_until(&w, "j", "Suspended", 20 * 1000));
    world_run(&w, 5000);
    CHECK_INT(clusters_now(&w), 0);
    CHECK_INT(board.taken, 2);
    end_job_world(&w);
}

int main(void)
{
    log_global.fd = getenv("LOG") ? 2 : -1;
    for (int pods = 0; pods < 2; pods++) {
        alive = 0;
        for (uint32_t which = 0; restore_one(which, pods); which++) {
        }
        CHECK(alive > 3);
        test_lower_attempt(pods);
    }
    test_far_back("Initializing");
    test_far_back("Retrying");
    test_suspended();
    return test_done();
}
