/* RayJobs from the resource to their end: a cluster is made, the head is asked,
 * the program is submitted once, and what is said of it becomes status. */
#include "tests/world/jobs.h"

#define SHUTDOWN "\"shutdownAfterJobFinishes\":true,"

static const char clusters_path[] = "/apis/ray.io/v1/namespaces/n/rayclusters";

static bool text_in(struct slice text, const char *what)
{
    return text.len && memmem(text.ptr, text.len, what, strlen(what)) != NULL;
}

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
    CHECK_STR(job_says(&w, "j", "jobId"), board.first->id);
    CHECK_STR(job_says(&w, "j", "rayClusterStatus.state"), "ready");
    CHECK(slice_ends(job_says(&w, "j", "dashboardURL"), SLICE(".n.svc.cluster.local:8265")));
    CHECK_INT(job_counts(&w, "j", "succeeded"), 1);
    CHECK_INT(job_counts(&w, "j", "failed"), 0);
    CHECK_INT(board.submits, 1);
    CHECK_STR(slice_of(board.first->entrypoint), "python j.py");
    CHECK(says(&w, "rayjobs.ray.io", "j", "\"type\":\"Complete\""));
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

static void test_failure(void)
{
    struct world w;
    test_case("a job that fails");
    make_job_world(&w, false);
    board.fail = true;
    board.log = "begin\\nlast words\\n";
    apply_job(&w, "j", "");
    CHECK(run_until(&w, "j", "Failed", 30 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "AppFailed");
    CHECK_STR(job_says(&w, "j", "message"), "it is FAILED\nlog:\nbegin\nlast words");
    CHECK_INT(board.submits, 1);
    CHECK_INT(board.logs, 1);
    CHECK_INT(board.stops, 0);
    check_fixed_point(&w);
    end_job_world(&w);

    test_case("and is tried again, on a new cluster");
    make_job_world(&w, false);
    board.fail = true;
    apply_job(&w, "j", "\"backoffLimit\":1,");
    CHECK(run_until(&w, "j", "Retrying", 30 * 1000));
    struct slice first = arena_dup(&w.arena, job_says(&w, "j", "rayClusterName"));
    board.fail = false;
    CHECK(run_until(&w, "j", "Complete", 40 * 1000));
    CHECK(!slice_eq(first, job_says(&w, "j", "rayClusterName")));
    CHECK_INT(job_counts(&w, "j", "failed"), 1);
    CHECK_INT(job_counts(&w, "j", "succeeded"), 1);
    CHECK_INT(board.taken, 2);
    CHECK(strcmp(board.first->id, board.first->next->id) != 0);
    CHECK_INT(clusters_now(&w), 1);
    check_fixed_point(&w);
    end_job_world(&w);
}

static void test_ends(void)
{
    static const struct {
        const char *id, *more;
        uint32_t before, after, pods; /* clusters some seconds after the end and
                                         half a minute later; pods then */
        bool job;                     /* it is there still */
    } cases[] = {
        {"nothing is deleted", "", 1, 1, 2, true},
        {"its cluster is deleted at once", SHUTDOWN, 0, 0, 0, true},
        {"its cluster is deleted after a time", SHUTDOWN "\"ttlSecondsAfterFinished\":20,", 1, 0, 0, true},
        {"the RayJob is deleted after a time",
         "\"deletionStrategy\":{\"deletionRules\":[{\"policy\":\"DeleteSelf\","
         "\"condition\":{\"jobStatus\":\"SUCCEEDED\","
         "\"ttlSeconds\":20}}]},",
         1, 0, 0, false},
        {"only its workers are deleted",
         "\"deletionStrategy\":{\"deletionRules\":[{\"policy\":\"DeleteWorkers\","
         "\"condition\":{\"jobStatus\":\"SUCCEEDED\","
         "\"ttlSeconds\":20}}]},",
         1, 1, 1, true},
        {"a rule for another end",
         "\"deletionStrategy\":{\"onFailure\":{\"policy\":\"DeleteCluster\"},"
         "\"onSuccess\":{\"policy\":\"DeleteNone\"}},",
         1, 1, 2, true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("afterwards: %s", cases[i].id);
        make_job_world(&w, false);
        apply_job(&w, "j", cases[i].more);
        CHECK(run_until(&w, "j", "Complete", 30 * 1000));
        world_run(&w, 10 * 1000);
        CHECK_INT(clusters_now(&w), cases[i].before);
        world_run(&w, 30 * 1000);
        CHECK_INT(clusters_now(&w), cases[i].after);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), cases[i].pods);
        CHECK_INT(job_is(&w, "j", "Complete"), cases[i].job);
        CHECK_INT(board.submits, 1);
        check_fixed_point(&w);
        end_job_world(&w);
    }
}

static void test_suspend(void)
{
    struct world w;
    test_case("suspended from the beginning");
    make_job_world(&w, false);
    apply_job(&w, "j", SHUTDOWN "\"suspend\":true,");
    CHECK(run_until(&w, "j", "Suspended", 5000));
    world_run(&w, 10 * 1000);
    CHECK_INT(clusters_now(&w), 0);
    check_fixed_point(&w);
    change_job(&w, "j", "\"suspend\":false");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    test_case("suspended while it runs");
    world_run(&w, 3000);
    CHECK_INT(board.taken, 1);
    change_job(&w, "j", "\"suspend\":true");
    CHECK(run_until(&w, "j", "Suspended", 10 * 1000));
    CHECK_INT(clusters_now(&w), 0);
    world_run(&w, 5000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    check_fixed_point(&w);
    test_case("and resumed");
    change_job(&w, "j", "\"suspend\":false");
    CHECK(run_until(&w, "j", "Complete", 30 * 1000));
    CHECK_INT(board.taken, 2);
    CHECK(strcmp(board.first->id, board.first->next->id) != 0);
    end_job_world(&w);
}

static void test_selected(void)
{
    static const char more[] = "\"clusterSelector\":{\"ray.io/cluster\":\"c\"},";
    struct world w;
    test_case("on a cluster that comes later");
    make_job_world(&w, false);
    apply_job(&w, "j", more);
    world_run(&w, 3000);
    CHECK_STR(job_says(&w, "j", "message"), "RayCluster c does not exist");
    check_fixed_point(&w);
    CHECK_INT(clusters_now(&w), 0);
    apply(&w, "c", 1);
    CHECK(!says(&w, "rayjobs.ray.io", "j", RAY_JOB_FINALIZER));
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    world_run(&w, 3000);
    CHECK(says(&w, "rayjobs.ray.io", "j", RAY_JOB_FINALIZER));
    test_case("and deleted while it runs: it is stopped, its cluster stays");
    delete_job(&w, "j");
    world_run(&w, 5000);
    CHECK_INT(board.stops, 1);
    CHECK(slice_empty(job_text(&w, "j")));
    CHECK_INT(clusters_now(&w), 1);
    check_fixed_point(&w);
    end_job_world(&w);
}

static uint32_t events_of(struct world *w, const char *reason)
{
    struct slice list;
    struct json doc;
    struct err e = {0};
    struct jval k, event;
    uint32_t count = 0;
    CHECK_INT(world_ask(w, "GET", "/apis/events.k8s.io/v1/namespaces/n/events", "application/json", SLICE_NONE, &list), 200);
    if (CHECK(json_parse(&doc, list, &w->arena, &e)))
        for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &event);)
            count += json_str_eq(json_get(event, "reason"), slice_of(reason));
    return count;
}

/* A cluster that may not be deleted runs on, and costs: the RayJob tells of it. */
static void test_cluster_stays(void)
{
    struct world w;
    test_case("the deletion of its cluster is refused: an event says so, until it is taken");
    make_job_world(&w, false);
    apply_job(&w, "j", SHUTDOWN "\"ttlSecondsAfterFinished\":5,");
    CHECK(run_until(&w, "j", "Complete", 60 * 1000));
    override(&w, "DELETE", clusters_path, 403, false, UINT32_MAX);
    world_run(&w, 30 * 1000);
    CHECK_INT(clusters_now(&w), 1);
    CHECK(events_of(&w, "FailedToDeleteRayCluster") > 0);
    CHECK_INT(events_of(&w, "DeletedRayCluster"), 0);
    override(&w, "DELETE", clusters_path, 403, false, 0);
    world_run(&w, OPERATOR_BACKOFF_MAX_MS + 5000);
    CHECK_INT(clusters_now(&w), 0);
    CHECK_INT(events_of(&w, "DeletedRayCluster"), 1);
    end_job_world(&w);
}

/* The shared cluster outlives the RayJob: its head is told to stop as soon as it answers, within a time, and a user is told when it was
 * not. */
static void test_deleted_in_silence(void)
{
    static const char more[] = "\"clusterSelector\":{\"ray.io/cluster\":\"c\"},";
    struct world w;
    test_case("deleted long after its head fell silent: the head is told all the same");
    make_job_world(&w, false);
    board.run_ms = 0;
    apply(&w, "c", 1);
    apply_job(&w, "j", more);
    CHECK(run_until(&w, "j", "Running", 20 * 1000));
    world_run(&w, 3000);
    struct fakeray *head = fakeray_of(&w, "ray.io", "n", "c");
    head->refused = true;
    fakerays_cut(&w, NULL, 256);
    world_run(&w, 60 * 1000);
    delete_job(&w, "j");
    world_run(&w, 30 * 1000);
    CHECK(!slice_empty(job_text(&w, "j")));
    CHECK_INT(board.stops, 0);
    head->refused = false;
    world_run(&w, JOB_LOOK_FAILING_MAX_MS + 10 * 1000);
    CHECK_INT(board.stops, 1);
    CHECK(slice_empty(job_text(&w, "j")));
    CHECK_INT(events_of(&w, "FailedToStopRayJob"), 0);
    test_case("a head that hangs does not keep it for ever, and that is said");
    apply_job(&w, "k", more);
    CHECK(run_until(&w, "k", "Running", 10 * 1000));
    world_run(&w, 3000);
    head->fake.hangs = true;
    delete_job(&w, "k");
    world_run(&w, JOB_STOP_DELETED_MS - 1000);
    CHECK(!slice_empty(job_text(&w, "k")));
    CHECK_INT(events_of(&w, "FailedToStopRayJob"), 0);
    world_run(&w, 5000);
    CHECK(slice_empty(job_text(&w, "k")));
    CHECK_INT(events_of(&w, "FailedToStopRayJob"), 1);
    end_job_world(&w);
}

/* Ray says "stopped" of what waits for a place, and leaves it PENDING: a job that was given up would start when a place is free. */
static void test_never_placed(void)
{
    static const char more[] = "\"activeDeadlineSeconds\":15,\"clusterSelector\":{\"ray.io/cluster\":\"c\"},";
    struct world w;
    test_case("given up while it waits for a place: stopped when it has one");
    make_job_world(&w, false);
    board.run_ms = 0;
    board.crowded = true;
    apply(&w, "c", 1);
    apply_job(&w, "j", more);
    CHECK(run_until(&w, "j", "Failed", 40 * 1000));
    world_run(&w, 60 * 1000);
    CHECK(board.stops > 2);
    CHECK(board.stops < 12); /* with pauses that grow */
    CHECK_STR(job_says(&w, "j", "jobStatus"), "PENDING");
    board.crowded = false;
    world_run(&w, JOB_LOOK_FAILING_MAX_MS + 10 * 1000);
    CHECK(board.first->stopped_ms > 0);
    CHECK_STR(job_says(&w, "j", "jobStatus"), "STOPPED");
    CHECK_STR(job_says(&w, "j", "reason"), "DeadlineExceeded");
    CHECK_INT(events_of(&w, "FailedToStopRayJob"), 0);
    check_fixed_point(&w);
    test_case("… and when it never has one, that is said once");
    board.crowded = true;
    apply_job(&w, "k", more);
    CHECK(run_until(&w, "k", "Failed", 40 * 1000));
    world_run(&w, JOB_STOP_MS + 40 * 1000);
    CHECK(says(&w, "rayjobs.ray.io", "k", "\"type\":\"MayStillRun\""));
    CHECK_INT(events_of(&w, "FailedToStopRayJob"), 1);
    check_fixed_point(&w);
    uint32_t stops = board.stops;
    world_run(&w, 60 * 1000);
    CHECK_INT(board.stops, stops);
    test_case("deleted while it waits for a place: told again, and let go of");
    apply_job(&w, "l", "\"clusterSelector\":{\"ray.io/cluster\":\"c\"},");
    CHECK(run_until(&w, "l", "Running", 10 * 1000));
    world_run(&w, 5000);
    delete_job(&w, "l");
    world_run(&w, JOB_STOP_DELETED_MS - 2000);
    CHECK(!slice_empty(job_text(&w, "l")));
    CHECK(board.stops > stops + 4);
    world_run(&w, 5000);
    CHECK(slice_empty(job_text(&w, "l")));
    CHECK_INT(events_of(&w, "FailedToStopRayJob"), 2);
    end_job_world(&w);
}

/* The operator was down when the time to tell it was over: the next one tells it, and says what came of that. */
static void test_given_up_long_ago(void)
{
    struct world w;
    for (int hangs = 0; hangs < 2; hangs++) {
        test_case("given up, and no operator for long: the head %s then", hangs ? "hangs" : "answers");
        make_job_world(&w, false);
        board.run_ms = 0;
        apply_job(&w, "j", "\"activeDeadlineSeconds\":15,");
        CHECK(run_until(&w, "j", "Running", 10 * 1000));
        world_run(&w, 3000);
        ray_of(&w, "j")->fake.hangs = true;
        CHECK(run_until(&w, "j", "Failed", 30 * 1000));
        world_kill_operator(&w);
        world_run(&w, JOB_STOP_MS + 60 * 1000);
        CHECK_INT(board.stops, 0);
        ray_of(&w, "j")->fake.hangs = hangs;
        world_start_operator(&w, false);
        world_run(&w, (hangs ? JOB_STOP_MS : 0) + 60 * 1000);
        CHECK(hangs ? board.stops > 0 : board.stops == 1); /* which one that hangs has heard, for all one knows */
        CHECK_STR(job_says(&w, "j", "jobStatus"), hangs ? "RUNNING" : "STOPPED");
        CHECK_INT(says(&w, "rayjobs.ray.io", "j", "\"type\":\"MayStillRun\""), hangs);
        CHECK_INT(events_of(&w, "FailedToStopRayJob"), hangs);
        check_fixed_point(&w);
        end_job_world(&w);
    }
}

static void test_lost(void)
{
    struct world w;
    test_case("the head is restarted");
    make_job_world(&w, false);
    board.run_ms = 0;
    apply_job(&w, "j", "\"backoffLimit\":1,");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    world_run(&w, 5000);
    fakeray_restart(ray_of(&w, "j"));
    CHECK(run_until(&w, "j", "Retrying", 5000));
    CHECK_STR(job_says(&w, "j", "reason"), "HeadLost");
    CHECK(run_until(&w, "j", "Running", 20 * 1000));
    world_run(&w, 5000);
    CHECK_INT(board.taken, 2);
    test_case("the cluster is deleted");
    struct slice path = arena_printf(&w.arena, "%s/%.*s", clusters_path, SLICE_ARG(job_says(&w, "j", "rayClusterName")));
    CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    CHECK(run_until(&w, "j", "Failed", 5000));
    CHECK_STR(job_says(&w, "j", "reason"), "ClusterLost");
    CHECK_INT(job_counts(&w, "j", "failed"), 2);
    world_run(&w, 5000);
    check_fixed_point(&w);
    CHECK_INT(board.taken, 2);
    end_job_world(&w);
}

/* As a server that has just started may say, or a gateway before it. */
static void test_kind_unknown(void)
{
    struct world w;
    test_case("of clusters that the server says it does not know, nothing follows for a job");
    make_job_world(&w, false);
    board.run_ms = 0;
    apply_job(&w, "j", "");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    world_run(&w, 2000);
    world_kill_operator(&w);
    override(&w, "GET", clusters_path, 404, false, 1);
    world_start_operator(&w, false);
    world_run(&w, 5000);
    CHECK(job_is(&w, "j", "Running"));
    world_run(&w, 60 * 1000); /* it has asked again */
    CHECK(job_is(&w, "j", "Running"));
    CHECK_INT(board.taken, 1);
    check_fixed_point(&w);
    end_job_world(&w);
}

static void test_deadline(void)
{
    struct world w;
    test_case("activeDeadlineSeconds: told to stop");
    make_job_world(&w, false);
    board.run_ms = 0;
    apply_job(&w, "j", "\"activeDeadlineSeconds\":15,\"backoffLimit\":3,");
    CHECK(run_until(&w, "j", "Failed", 20 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "DeadlineExceeded");
    world_run(&w, 5000);
    CHECK_INT(board.stops, 1);
    check_fixed_point(&w);
    CHECK_INT(board.stops, 1);
    end_job_world(&w);

    test_case("… although the dashboard does not answer then");
    make_job_world(&w, false);
    board.run_ms = 0;
    apply_job(&w, "j", "\"activeDeadlineSeconds\":15,");
    CHECK(run_until(&w, "j", "Running", 10 * 1000));
    world_run(&w, 3000);
    ray_of(&w, "j")->refused = true;
    fakerays_cut(&w, NULL, 256);
    CHECK(run_until(&w, "j", "Failed", 30 * 1000));
    world_run(&w, 60 * 1000);
    CHECK_INT(board.stops, 0);
    ray_of(&w, "j")->refused = false;
    world_run(&w, 35 * 1000);
    CHECK_INT(board.stops, 1);
    check_fixed_point(&w);
    CHECK_INT(board.stops, 1);
    end_job_world(&w);

    test_case("preRunningDeadlineSeconds: the message has what it waited for");
    make_job_world(&w, false);
    apply_job(&w, "j",
              "\"preRunningDeadlineSeconds\":15,\"clusterSelector\":{\"ray.io/"
              "cluster\":\"c\"},");
    CHECK(run_until(&w, "j", "Failed", 20 * 1000));
    CHECK_STR(job_says(&w, "j", "message"), "preRunningDeadlineSeconds passed: RayCluster c does not exist");
    check_fixed_point(&w);
    end_job_world(&w);

    test_case("… and of a cluster whose head has no node the scheduler's own words");
    make_job_world(&w, false);
    CHECK_INT(world_call(
                  &w, "POST", v1, "application/json",
                  SLICE("{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},\"spec\":{"
                        "\"headGroupSpec\":{\"rayStartParams\":{},\"template\":{\"metadata\":{\"annotations\":{\"fake.kubelet/stuck\":"
                        "\"Unschedulable\"}},\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}}}}")),
              201);
    apply_job(&w, "j",
              "\"preRunningDeadlineSeconds\":35,\"clusterSelector\":{\"ray.io/"
              "cluster\":\"c\"},");
    CHECK(run_until(&w, "j", "Failed", 60 * 1000));
    CHECK_STR(job_says(&w, "j", "message"),
              "preRunningDeadlineSeconds passed: RayCluster c is not ready: the head pod is not ready; pod c-head: "
              "Unschedulable: 0/1 nodes are available: the pod's annotation asks for this");
    end_job_world(&w);
}

static void test_invalid(void)
{
    struct world w;
    test_case("a spec with an error, and mended");
    make_job_world(&w, false);
    apply_job(&w, "j", "\"ttlSecondsAfterFinished\":5,");
    CHECK(run_until(&w, "j", "ValidationFailed", 5000));
    CHECK(text_in(job_says(&w, "j", "message"), "needs shutdownAfterJobFinishes: true"));
    CHECK_INT(clusters_now(&w), 0);
    check_fixed_point(&w);
    change_job(&w, "j", "\"shutdownAfterJobFinishes\":true");
    CHECK(run_until(&w, "j", "Complete", 30 * 1000));
    test_case("an error that comes while the cluster does: it holds no pods meanwhile");
    apply_job(&w, "k", "\"shutdownAfterJobFinishes\":true,");
    CHECK(run_until(&w, "k", "Initializing", 5000));
    change_job(&w, "k", "\"shutdownAfterJobFinishes\":false,\"ttlSecondsAfterFinished\":5");
    CHECK(run_until(&w, "k", "ValidationFailed", 5000));
    world_run(&w, 10 * 1000);
    CHECK_INT(clusters_now(&w), 0);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    check_fixed_point(&w);
    change_job(&w, "k", "\"shutdownAfterJobFinishes\":true");
    CHECK(run_until(&w, "k", "Complete", 30 * 1000));
    CHECK_INT(board.taken, 2);
    end_job_world(&w);
}

static void test_refused(void)
{
    struct world w;
    test_case("the cluster is refused, and later not");
    make_job_world(&w, false);
    world_run(&w, 1000);
    override(&w, "POST", clusters_path, 403, false, 3);
    apply_job(&w, "j", "");
    world_run(&w, 2000);
    CHECK(job_is(&w, "j", "Initializing"));
    CHECK(text_in(job_says(&w, "j", "message"), "cannot be created: 403 Forbidden"));
    CHECK(run_until(&w, "j", "Complete", 60 * 1000));
    CHECK_STR(job_says(&w, "j", "message"), "it is SUCCEEDED");
    CHECK_INT(board.taken, 1);
    end_job_world(&w);
}

/* A quota that is full, a service account that is not there yet. */
static void test_head_refused(void)
{
    enum { TIMES = JOB_HEAD_FAILURES + 3 };
    struct world w;
    test_case("the head is refused more often than a head may end: the job waits, and says for what");
    make_job_world(&w, false);
    world_run(&w, 1000);
    override(&w, "POST", pods_path, 403, false, TIMES);
    apply_job(&w, "j", "");
    world_run(&w, 60 * 1000);
    CHECK(job_is(&w, "j", "Initializing"));
    CHECK(text_in(job_says(&w, "j", "message"), "403 Forbidden"));
    CHECK(run_until(&w, "j", "Complete", 12 * PLAN_BACKOFF_MAX_MS));
    CHECK_INT(apiserver_faults(w.server)->next.times, 0);
    CHECK_INT(board.taken, 1);
    end_job_world(&w);
    test_case("… as long as its deadline lets it");
    make_job_world(&w, false);
    world_run(&w, 1000);
    override(&w, "POST", pods_path, 403, false, 1000);
    apply_job(&w, "j", "\"preRunningDeadlineSeconds\":120,");
    CHECK(run_until(&w, "j", "Failed", 150 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "PreRunningDeadlineExceeded");
    CHECK(text_in(job_says(&w, "j", "message"), "403 Forbidden"));
    end_job_world(&w);
}

/* Answers to a submission that are none, or a no. */
static void test_submission(void)
{
    static const struct {
        const char *id, *words;
        int status;
        bool takes;
        const char *phase, *reason;
        uint32_t submits, taken;
    } cases[] = {
        {"Ray refuses it", "TypeError: what is this?", 400, false, "Failed", "SubmissionFailed", 1, 0},
        {"Ray cannot", "RuntimeError: no room", 500, false, "Failed", "SubmissionFailed", JOB_SUBMIT_TRIES, 0},
        {"Ray takes it and answers with an error", "RuntimeError: oh", 500, true, "Complete", "", 1, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("submission: %s", cases[i].id);
        make_job_world(&w, false);
        board.submit_status = cases[i].status;
        board.words = cases[i].words;
        board.takes = cases[i].takes;
        apply_job(&w, "j", "");
        CHECK(run_until(&w, "j", cases[i].phase, 120 * 1000));
        CHECK_STR(job_says(&w, "j", "reason"), cases[i].reason);
        CHECK_INT(board.submits, cases[i].submits);
        CHECK_INT(board.taken, cases[i].taken);
        if (!cases[i].takes)
            CHECK(text_in(job_says(&w, "j", "message"), cases[i].words));
        check_fixed_point(&w);
        end_job_world(&w);
    }
}

int main(void)
{
    log_global.fd = getenv("LOG") ? 2 : -1;
    test_success();
    test_failure();
    test_ends();
    test_suspend();
    test_selected();
    test_cluster_stays();
    test_deleted_in_silence();
    test_never_placed();
    test_given_up_long_ago();
    test_lost();
    test_kind_unknown();
    test_deadline();
    test_invalid();
    test_refused();
    test_head_refused();
    test_submission();
    return test_done();
}
