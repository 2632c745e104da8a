/* RayJobs whose heads misbehave, whose operator dies, or that are many: nothing
 * is submitted twice, and nobody waits for another's head. */
#include "tests/world/jobs.h"

#include <mobula/inspect.h>

static bool text_in(struct slice text, const char *what)
{
    return text.len && memmem(text.ptr, text.len, what, strlen(what)) != NULL;
}

/* ---- bad heads ---- */

enum fault { HANGS, CUTS, GARBAGE, SLOW, REFUSES, DENIES, SILENT };

static void spoil(struct fakeray *h, enum fault fault, bool on)
{
    h->fake.hangs = on && fault == HANGS;
    h->fake.cuts = on && fault == CUTS;
    h->fake.garbage = on && fault == GARBAGE ? SLICE("SSH-2.0-OpenSSH_9.2\r\n") : SLICE_NONE;
    h->fake.per_step = on && fault == SLOW ? 1 : 0;
    h->pace_ms = on && fault == SLOW ? 1000 : 0;
    h->refused = on && fault == REFUSES;
    h->fake.token = on && fault == DENIES ? "nobody-knows-it" : NULL;
    h->unreachable = on && fault == SILENT;
}

static void test_bad_heads(enum operator_access access)
{
    const char *way = access == OPERATOR_PROXY ? "a dashboard behind the API server" : "a dashboard";
    static const char silent[] = "the dashboard does not answer", denied[] = "HTTP status 401", broken[] = "error trying to reach service";
    static const struct {
        const char *name, *direct, *proxied;
    } cases[] = {
        [HANGS] = {"hangs", silent, silent},
        [CUTS] = {"cuts connections", silent, broken},
        [GARBAGE] = {"speaks another protocol", silent, broken},
        [SLOW] = {"sends a byte a second", silent, silent},
        [REFUSES] = {"refuses connections", silent, broken},
        [DENIES] = {"wants a token", denied, denied},
        [SILENT] = {"does not answer at all", silent, silent},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *words = access == OPERATOR_PROXY ? cases[i].proxied : cases[i].direct;
        struct world w;
        test_case("%s that %s, from the beginning", way, cases[i].name);
        make_job_world_with(&w, false, access);
        apply_job(&w, "bad", "");
        for (int k = 0; k < 1000 && slice_empty(job_says(&w, "bad", "rayClusterName")); k++)
            world_step(&w, w.now.mono_ms + 1);
        struct fakeray *h = ray_of(&w, "bad");
        spoil(h, (enum fault)i, true);
        apply_job(&w, "good", "");
        CHECK(run_until(&w, "good", "Complete", 20 * 1000));
        world_run(&w, 20 * 1000);
        CHECK(job_is(&w, "bad", "Initializing"));
        CHECK(text_in(job_says(&w, "bad", "message"), words));
        test_case("%s that %s, and recovers", way, cases[i].name);
        spoil(h, (enum fault)i, false);
        CHECK(run_until(&w, "bad", "Running", 45 * 1000));
        world_run(&w, 3000);
        CHECK_INT(board.taken, 2);
        test_case("%s that %s, while the job runs", way, cases[i].name);
        spoil(h, (enum fault)i, true);
        world_run(&w, 60 * 1000);
        CHECK(job_is(&w, "bad", "Running"));
        CHECK(text_in(job_says(&w, "bad", "message"), words));
        spoil(h, (enum fault)i, false);
        CHECK(run_until(&w, "bad", "Complete", 45 * 1000));
        CHECK_INT(board.submits, 2);
        check_fixed_point(&w);
        end_job_world(&w);
    }
}

/* The operator may not ask the API server to pass anything on, or not now: that says nothing of Ray, and the job waits. */
static void test_refused_way(void)
{
    static const int statuses[] = {403, 429, 503};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        struct world w;
        test_case("the API server does not pass a submission on: %d", statuses[i]);
        make_job_world_with(&w, false, OPERATOR_PROXY);
        override(&w, "POST", "/api/v1/namespaces/n/services/", statuses[i], false, 2 * JOB_SUBMIT_TRIES);
        apply_job(&w, "j", "");
        world_run(&w, 60 * 1000);
        if (statuses[i] != 429) { /* which the client itself sends again */
            CHECK(text_in(job_says(&w, "j", "message"), "could not be submitted so far: the API server"));
            CHECK(text_in(job_says(&w, "j", "message"), arena_printf(&w.arena, ": %d ", statuses[i]).ptr));
        }
        CHECK(run_until(&w, "j", "Complete", JOB_CHECK_TIMEOUT_MS));
        CHECK(slice_empty(job_says(&w, "j", "reason")) && !text_in(job_says(&w, "j", "message"), "so far"));
        CHECK_INT(apiserver_faults(w.server)->next.times, 0);
        CHECK_INT(board.submits, 1);
        end_job_world(&w);
    }
}

static void test_silent_for_good(void)
{
    struct world w;
    test_case("a dashboard that falls silent for good");
    make_job_world(&w, false);
    apply_job(&w, "j", "\"backoffLimit\":2,");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    world_run(&w, 3000);
    spoil(ray_of(&w, "j"), HANGS, true);
    CHECK(run_until(&w, "j", "Failed", JOB_CHECK_TIMEOUT_MS + 60 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "JobStatusCheckTimeoutExceeded");
    CHECK(text_in(job_says(&w, "j", "message"), "deadline passed"));
    world_run(&w, 6 * 60 * 1000);
    check_fixed_point(&w);
    end_job_world(&w);
}

/* The operator's wall clock is set, by an hour: what waits neither ends early for that nor an hour late. */
static void test_wall_clock(void)
{
    const int64_t hour_us = INT64_C(3600) * 1000 * 1000;
    struct world w;
    test_case("a dashboard that is silent for some seconds while the wall clock is set");
    make_job_world(&w, false);
    apply_job(&w, "j", "\"shutdownAfterJobFinishes\":true,\"ttlSecondsAfterFinished\":300,");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    world_run(&w, 3000);
    spoil(ray_of(&w, "j"), HANGS, true);
    world_run(&w, 30 * 1000);
    w.process[0].skew_us = hour_us;
    world_run(&w, 30 * 1000);
    CHECK(job_is(&w, "j", "Running"));
    w.process[0].skew_us = 0;
    spoil(ray_of(&w, "j"), HANGS, false);
    CHECK(run_until(&w, "j", "Complete", 45 * 1000));
    world_run(&w, 280 * 1000);
    test_case("a cluster that is to go in some seconds by a clock that is an hour behind, and set right");
    world_kill_operator(&w); /* who has seen the end itself knows how long ago that was */
    w.process[0].skew_us = -hour_us;
    world_start_operator(&w, false);
    world_run(&w, 40 * 1000);
    CHECK_INT(clusters_now(&w), 1);
    w.process[0].skew_us = 0;
    world_run(&w, 200 * 1000); /* it looks at its clock when it has something to do */
    CHECK_INT(clusters_now(&w), 0);
    check_fixed_point(&w);
    end_job_world(&w);
}

static void test_behind(void)
{
    struct world w;
    test_case("a cluster that is to go by a clock that was set back by an hour, and stays so");
    make_job_world(&w, false);
    apply_job(&w, "j", "\"shutdownAfterJobFinishes\":true,\"ttlSecondsAfterFinished\":60,");
    CHECK(run_until(&w, "j", "Complete", 60 * 1000));
    w.process[0].skew_us = -INT64_C(3600) * 1000 * 1000;
    world_run(&w, 50 * 1000);
    CHECK_INT(clusters_now(&w), 1);
    world_run(&w, 30 * 1000);
    CHECK_INT(clusters_now(&w), 0);
    check_fixed_point(&w);
    end_job_world(&w);
}

/* The clock is ahead when a job begins, or ends, and is set right: what waits for a while after that is no hour late. */
static void test_from_the_future(void)
{
    const int64_t hour_us = INT64_C(3600) * 1000 * 1000;
    for (int again = 0; again < 2; again++) {
        struct world w;
        test_case("a cluster that is to go after an end that was told an hour ahead%s", again ? ", by another process" : "");
        make_job_world(&w, false);
        apply_job(&w, "j", "\"shutdownAfterJobFinishes\":true,\"ttlSecondsAfterFinished\":60,");
        CHECK(run_until(&w, "j", "Running", 10 * 1000));
        w.process[0].skew_us = hour_us;
        CHECK(run_until(&w, "j", "Complete", 60 * 1000));
        w.process[0].skew_us = 0;
        world_run(&w, 50 * 1000);
        CHECK_INT(clusters_now(&w), 1);
        if (again) {
            world_kill_operator(&w);
            world_start_operator(&w, false);
            world_run(&w, 50 * 1000);
            CHECK_INT(clusters_now(&w), 1); /* too long is right, too short never is */
        }
        world_run(&w, 30 * 1000);
        CHECK_INT(clusters_now(&w), 0);
        check_fixed_point(&w);
        end_job_world(&w);
    }
}

static void test_deadline_from_the_future(void)
{
    struct world w;
    test_case("a deadline of a job that began an hour ahead");
    make_job_world(&w, false);
    board.run_ms = 600 * 1000;
    w.process[0].skew_us = INT64_C(3600) * 1000 * 1000;
    apply_job(&w, "j", "\"activeDeadlineSeconds\":120,");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    w.process[0].skew_us = 0;
    world_run(&w, 100 * 1000);
    CHECK(job_is(&w, "j", "Running"));
    CHECK(run_until(&w, "j", "Failed", 30 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "DeadlineExceeded");
    end_job_world(&w);
}

/* The answer to the write of its end is lost, and the watch is late: what the operator believes of the job is old. Meanwhile its clock is
 * set right, by which the deadline has not passed. */
static void test_unheard_end(void)
{
    static const int statuses[] = {0, 504};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        struct world w;
        test_case("a job that has ended is not begun again by who has not heard of it: %d", statuses[i]);
        make_job_world(&w, false);
        board.run_ms = 60 * 1000;
        apply_job(&w, "j", "\"activeDeadlineSeconds\":1800,");
        CHECK(run_until(&w, "j", "Running", 10 * 1000));
        world_run(&w, 40 * 1000);
        struct apiserver_faults *faults = apiserver_faults(w.server);
        faults->watch_delay_ms = 120 * 1000;
        faults->next = (struct apiserver_override){.method = SLICE("PATCH"),
                                                   .path = SLICE("/apis/ray.io/v1/namespaces/n/rayjobs/j/status"),
                                                   .status = statuses[i],
                                                   .reason = "Timeout",
                                                   .commit = true,
                                                   .times = 1};
        w.process[0].skew_us = INT64_C(3600) * 1000 * 1000;
        CHECK(run_until(&w, "j", "Failed", 20 * 1000));
        w.process[0].skew_us = 0;
        for (int s = 0; s < 100; s++) {
            world_run(&w, 1000);
            CHECK(job_is(&w, "j", "Failed"));
        }
        CHECK_STR(job_says(&w, "j", "reason"), "DeadlineExceeded");
        faults->watch_delay_ms = 0;
        end_job_world(&w);
    }
}

/* As on a node of GPUs that was taken away, and no other comes. */
static void test_head_stays_away(void)
{
    struct world w;
    test_case("a head that waits for a node, and nothing runs any more: tried again");
    make_job_world(&w, false);
    apply_job(&w, "j", "\"backoffLimit\":1,");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    world_run(&w, 3000);
    struct slice path = arena_printf(&w.arena, "%s/%.*s/status", pods_path, SLICE_ARG(job_says(&w, "j", "rayClusterStatus.head.podName")));
    struct slice patch =
        SLICE("{\"status\":{\"phase\":\"Pending\",\"podIP\":null,\"podIPs\":null,\"containerStatuses\":null,\"conditions\":[{"
              "\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes are available\"}]}}");
    CHECK_INT(world_call(&w, "PATCH", path.ptr, "application/merge-patch+json", patch), 200);
    world_run(&w, JOB_CHECK_TIMEOUT_MS - 10 * 1000);
    CHECK(job_is(&w, "j", "Running"));
    CHECK(run_until(&w, "j", "Retrying", 60 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "HeadLost");
    CHECK(text_in(job_says(&w, "j", "message"), "no head runs: "));
    CHECK(slice_ends(job_says(&w, "j", "message"), SLICE("-head: Unschedulable: 0/1 nodes are available")));
    CHECK(run_until(&w, "j", "Complete", 60 * 1000));
    CHECK_INT(board.taken, 2);
    end_job_world(&w);
}

static void test_unnamed(void)
{
    struct world w;
    test_case("a Ray that does not name its session");
    make_job_world(&w, false);
    board.unnamed = true;
    apply_job(&w, "j", "");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    world_run(&w, 3000);
    CHECK_INT(board.taken, 1);
    fakeray_restart(ray_of(&w, "j"));
    CHECK(run_until(&w, "j", "Failed", 20 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "JobLost");
    CHECK_INT(board.submits, 1);
    end_job_world(&w);
}

/* ---- deaths of the operator ---- */

static void test_crashes(void)
{
    for (int at = 1; at < 120; at += 5) {
        struct world w;
        test_case("killed at step %d", at);
        make_job_world(&w, false);
        board.run_ms = 1500;
        board.fail = at % 2;
        apply_job(&w, "j", "\"backoffLimit\":1,\"shutdownAfterJobFinishes\":true,");
        for (int i = 0; i < at; i++)
            world_step(&w, w.now.mono_ms + 50);
        world_kill_operator(&w);
        world_run(&w, 200);
        world_start_operator(&w, false);
        CHECK(run_until(&w, "j", board.fail ? "Failed" : "Complete", 60 * 1000));
        CHECK_INT(board.taken, board.fail ? 2 : 1);
        world_run(&w, 10 * 1000);
        CHECK_INT(clusters_now(&w), 0);
        check_fixed_point(&w);
        end_job_world(&w);
    }
}

/* What KubeRay 1.6's definition of a RayJob has of what is written here: all else is dropped by the server. */
static const char kuberay_status[] =
    "{\"type\":\"object\",\"properties\":{\"jobDeploymentStatus\":{\"type\":\"string\"},\"jobStatus\":{\"type\":\"string\"},"
    "\"jobId\":{\"type\":\"string\"},\"rayClusterName\":{\"type\":\"string\"},\"dashboardURL\":{\"type\":\"string\"},"
    "\"reason\":{\"type\":\"string\"},\"message\":{\"type\":\"string\"},\"succeeded\":{\"type\":\"integer\"},"
    "\"failed\":{\"type\":\"integer\"},\"startTime\":{\"type\":\"string\"},\"endTime\":{\"type\":\"string\"},"
    "\"observedGeneration\":{\"type\":\"integer\"},\"rayClusterStatus\":{\"type\":\"object\",\"properties\":{"
    "\"state\":{\"type\":\"string\"},\"conditions\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"type\":{\"type\":\"string\"},\"status\":{\"type\":\"string\"},\"reason\":{\"type\":\"string\"},"
    "\"message\":{\"type\":\"string\"},\"lastTransitionTime\":{\"type\":\"string\"},"
    "\"observedGeneration\":{\"type\":\"integer\"}}}}}}}}";

/* The head is restarted while no operator runs: the next one must know that this is another Ray. */
static void test_restarted_unseen(void)
{
    static const struct {
        const char *definition, *status;
        bool ours;
    } cases[] = {{"our", "", true}, {"KubeRay's", kuberay_status, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("%s definition, and the head is restarted while no operator runs", cases[i].definition);
        make_job_world_of(&w, false, OPERATOR_DIRECT, cases[i].status);
        board.run_ms = 0;
        apply_job(&w, "j", "\"backoffLimit\":1,");
        CHECK(run_until(&w, "j", "Running", 10 * 1000));
        world_run(&w, 5000);
        CHECK_INT(says(&w, "rayjobs.ray.io", "j", "\"raySession\""), cases[i].ours);
        check_fixed_point(&w);
        world_kill_operator(&w);
        fakeray_restart(ray_of(&w, "j"));
        world_run(&w, 1000);
        world_start_operator(&w, false);
        CHECK(run_until(&w, "j", "Retrying", 10 * 1000));
        CHECK_STR(job_says(&w, "j", "reason"), "HeadLost");
        CHECK(run_until(&w, "j", "Running", 20 * 1000));
        world_run(&w, 5000);
        CHECK_INT(board.taken, 2);
        check_fixed_point(&w);
        end_job_world(&w);
    }
}

/* Without `attempt` in status a resumed job has the names of its first attempt again: its cluster is gone by then, and nothing runs twice.
 */
static void test_resumed(void)
{
    for (int killed = 0; killed < 2; killed++) {
        struct world w;
        test_case("KubeRay's definition, and a job that is suspended while it runs, and resumed%s", killed ? " by another process" : "");
        make_job_world_of(&w, false, OPERATOR_DIRECT, kuberay_status);
        apply_job(&w, "j", "\"shutdownAfterJobFinishes\":true,");
        CHECK(run_until(&w, "j", "Running", 10 * 1000));
        world_run(&w, 3000);
        change_job(&w, "j", "\"suspend\":true");
        CHECK(run_until(&w, "j", "Suspended", 10 * 1000));
        CHECK_INT(clusters_now(&w), 0);
        world_run(&w, 5000);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
        if (killed) {
            world_kill_operator(&w);
            world_start_operator(&w, false);
        }
        change_job(&w, "j", "\"suspend\":false");
        CHECK(run_until(&w, "j", "Complete", 60 * 1000));
        CHECK_INT(board.taken, 2);
        world_run(&w, 30 * 1000);
        CHECK_INT(board.taken, 2);
        CHECK_INT(clusters_now(&w), 0);
        check_fixed_point(&w);
        end_job_world(&w);
    }
}

/* The number of the attempt is not in the status that such a server keeps, so a run after a suspension has the names of an earlier one: it
 * is begun once all the same, on a cluster of its own. */
static void test_resumed_after_retry(void)
{
    for (int killed = 0; killed < 2; killed++) {
        struct world w;
        test_case("KubeRay's definition: a job is suspended in its second attempt, and resumed%s", killed ? " by another process" : "");
        make_job_world_of(&w, false, OPERATOR_DIRECT, kuberay_status);
        board.run_ms = 0;
        apply_job(&w, "j", "\"backoffLimit\":2,\"shutdownAfterJobFinishes\":true,");
        CHECK(run_until(&w, "j", "Running", 10 * 1000));
        world_run(&w, 5000);
        fakeray_restart(ray_of(&w, "j"));
        CHECK(run_until(&w, "j", "Retrying", 10 * 1000));
        CHECK(run_until(&w, "j", "Running", 20 * 1000));
        world_run(&w, 5000);
        CHECK_INT(board.taken, 2);
        change_job(&w, "j", "\"suspend\":true");
        CHECK(run_until(&w, "j", "Suspended", 10 * 1000));
        world_run(&w, 5000);
        CHECK_INT(clusters_now(&w), 0);
        check_fixed_point(&w);
        if (killed)
            world_kill_operator(&w);
        change_job(&w, "j", "\"suspend\":false");
        if (killed)
            world_start_operator(&w, false);
        CHECK(run_until(&w, "j", "Running", 20 * 1000));
        world_run(&w, 5000);
        CHECK_INT(board.taken, 3);
        CHECK_INT(clusters_now(&w), 1);
        CHECK_INT(job_counts(&w, "j", "failed"), 1);
        if (killed) { /* … and a process that comes now goes on with it */
            world_kill_operator(&w);
            world_start_operator(&w, false);
            world_run(&w, 10 * 1000);
            CHECK_INT(board.taken, 3);
        }
        check_fixed_point(&w);
        fakeray_restart(ray_of(&w, "j"));
        CHECK(run_until(&w, "j", "Retrying", 10 * 1000));
        CHECK(run_until(&w, "j", "Running", 20 * 1000));
        world_run(&w, 5000);
        CHECK_INT(board.taken, 4);
        CHECK_INT(clusters_now(&w), 1);
        end_job_world(&w);
    }
}

/* ---- leadership ---- */

static const char lease_path[] = "/apis/coordination.k8s.io/v1/namespaces/n/leases/mobula";

static void test_leadership(void)
{
    struct world w;
    char now[TIME_TEXT_MAX];
    test_case("who does not lead asks nothing and submits nothing");
    make_job_world(&w, true);
    world_run(&w, 2000);
    apply_job(&w, "j", "");
    CHECK(run_until(&w, "j", "Initializing", 5000));
    time_format_micro(w.now.wall_us, now);
    struct slice patch = arena_printf(&w.arena,
                                      "{\"spec\":{\"holderIdentity\":\"other\","
                                      "\"leaseDurationSeconds\":3600,\"renewTime\":\"%s\"}}",
                                      now);
    CHECK_INT(world_call(&w, "PATCH", lease_path, "application/merge-patch+json", patch), 200);
    while (inspect_figures(w.op).leading)
        world_step(&w, w.now.mono_ms + 20);
    uint32_t writes = world_writes(&w), submits = board.submits;
    uint32_t asked = 0;
    for (struct fakeray *h = w.rays->first; h; h = h->next)
        asked += h->fake.dashes;
    world_run(&w, 60 * 1000);
    CHECK_INT(world_writes(&w), writes);
    CHECK_INT(board.submits, submits);
    for (struct fakeray *h = w.rays->first; h; h = h->next)
        asked -= h->fake.dashes;
    CHECK_INT(asked, 0);
    CHECK_INT(inspect_figures(w.op).leading, 0);
    test_case("and goes on when it leads again");
    patch = SLICE("{\"spec\":{\"holderIdentity\":\"\",\"leaseDurationSeconds\":1}}");
    CHECK_INT(world_call(&w, "PATCH", lease_path, "application/merge-patch+json", patch), 200);
    CHECK(run_until(&w, "j", "Complete", 60 * 1000));
    CHECK_INT(board.taken, 1);
    end_job_world(&w);
}

/* It has changed, or is gone, as the watch tells in a moment: or a webhook says so, for as long as it likes. */
static void test_kept(void)
{
    enum { MINUTES = 10, MINUTE_MS = 60 * 1000 };
    static const struct {
        int status;
        const char *reason;
    } cases[] = {{409, "Conflict"}, {404, "NotFound"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("the DELETE of a job's cluster is answered %d for ever: it is sent ever more rarely", cases[i].status);
        make_job_world(&w, false);
        apply_job(&w, "j", "\"shutdownAfterJobFinishes\":true,");
        CHECK(run_until(&w, "j", "Running", MINUTE_MS));
        override(&w, "DELETE", v1, cases[i].status, false, UINT32_MAX);
        apiserver_faults(w.server)->next.reason = cases[i].reason;
        CHECK(run_until(&w, "j", "Complete", MINUTE_MS));
        world_run(&w, MINUTE_MS);
        CHECK(w.sent.deletes >= 5 && w.sent.deletes <= 12);
        uint32_t deletes = w.sent.deletes;
        world_run(&w, MINUTES * MINUTE_MS);
        CHECK(w.sent.deletes - deletes >= MINUTES && w.sent.deletes - deletes <= 2 * MINUTES + 1);
        apiserver_faults(w.server)->next.times = 0;
        world_run(&w, OPERATOR_BACKOFF_MAX_MS + 2000);
        CHECK_INT(clusters_now(&w), 0);
        end_job_world(&w);
    }
}

/* As one does whose GCS hangs: what the dashboard knows by itself it tells. */
static void test_half_an_answer(void)
{
    struct world w;
    test_case("a dashboard that tells its session, and of the job nothing");
    make_job_world(&w, false);
    board.run_ms = 0;
    apply_job(&w, "j", "\"backoffLimit\":2,");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    world_run(&w, 3000);
    board.job_status = 500;
    world_run(&w, JOB_TROUBLE_MS + 20 * 1000);
    CHECK(text_in(job_says(&w, "j", "message"), "HTTP status 500"));
    uint32_t looks = board.looks;
    world_run(&w, 60 * 1000);
    CHECK(board.looks - looks <= 4); /* less and less often */
    test_case("and recovers");
    board.job_status = 0;
    world_run(&w, JOB_LOOK_FAILING_MAX_MS + 5 * 1000);
    CHECK(job_is(&w, "j", "Running") && slice_empty(job_says(&w, "j", "message")));
    test_case("and does not any more");
    board.job_status = 500;
    CHECK(run_until(&w, "j", "Failed", JOB_CHECK_TIMEOUT_MS + 60 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "JobStatusCheckTimeoutExceeded");
    world_run(&w, JOB_STOP_MS + 60 * 1000);
    CHECK_INT(board.taken, 1);
    check_fixed_point(&w);
    end_job_world(&w);
}

static void test_restarted_operators(void)
{
    struct world w;
    test_case("a dashboard that is silent, and an operator that is restarted every two minutes");
    make_job_world(&w, false);
    board.run_ms = 1000 * 1000;
    apply_job(&w, "j", "");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    world_run(&w, 3000);
    board.job_status = 500;
    for (int i = 0; i < 3; i++) {
        CHECK(job_is(&w, "j", "Running"));
        world_run(&w, 120 * 1000);
        world_kill_operator(&w);
        world_start_operator(&w, false);
    }
    CHECK(job_is(&w, "j", "Failed"));
    CHECK_STR(job_says(&w, "j", "reason"), "JobStatusCheckTimeoutExceeded");
    end_job_world(&w);
}

int main(void)
{
    test_restarted_operators();
    log_global.fd = getenv("LOG") ? 2 : -1;
    test_bad_heads(OPERATOR_DIRECT);
    test_bad_heads(OPERATOR_PROXY);
    test_refused_way();
    test_silent_for_good();
    test_half_an_answer();
    test_wall_clock();
    test_behind();
    test_from_the_future();
    test_deadline_from_the_future();
    test_unheard_end();
    test_head_stays_away();
    test_unnamed();
    test_crashes();
    test_restarted_unseen();
    test_resumed();
    test_resumed_after_retry();
    test_leadership();
    test_kept();
    return test_done();
}
