/* RayJobs that a pod submits: made once, followed over the dashboard as ever, waited for, and made again when it failed. */
#include "tests/world/submitters.h"

/* Until the job has so many submitter pods: whether it ever had. */
static bool run_until_pods(struct world *w, const char *job, uint32_t count, int64_t ms)
{
    for (int64_t until = w->now.mono_ms + ms; w->now.mono_ms < until && submitters_of(w, job).count < count;)
        world_run(w, 100);
    return submitters_of(w, job).count == count;
}

/* Until the job runs, and not a moment longer. */
static void run_finely(struct world *w, const char *job)
{
    for (int64_t until = w->now.mono_ms + 20 * 1000; w->now.mono_ms < until && !job_is(w, job, "Running");)
        world_step(w, w->now.mono_ms + 1);
    CHECK(job_is(w, job, "Running"));
}

/* A lease that was edited by hand makes two leaders for a moment, and the other one has asked later. */
static void test_another_knows(void)
{
    struct world w;
    test_case("status says that Ray knows the job, and here it was not known yet");
    make_pod_world(&w);
    apply_job(&w, "j", "\"backoffLimit\":1,");
    CHECK(run_until_pods(&w, "j", 1, 20 * 1000));
    struct submitters s = submitters_of(&w, "j");
    world_run(&w, 5000);
    submit_from(&w, "j", s.names[0]);
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayjobs/j/status", "application/merge-patch+json",
                         SLICE("{\"status\":{\"jobStatus\":\"RUNNING\"}}")),
              200);
    world_run(&w, 5000);
    CHECK(job_is(&w, "j", "Running"));
    CHECK_STR(job_says(&w, "j", "jobStatus"), "RUNNING");
    CHECK_INT(board.taken, 1);
    test_case("and so it is, until Ray forgets it");
    fakeray_restart(ray_of(&w, "j"));
    CHECK(run_until(&w, "j", "Retrying", 10 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "HeadLost");
    end_job_world(&w);
}

static void test_success(void)
{
    struct world w;
    test_case("a pod submits");
    make_pod_world(&w);
    apply_job(&w, "j", "");
    CHECK(run_until_pods(&w, "j", 1, 20 * 1000));
    struct submitters s = submitters_of(&w, "j");
    world_run(&w, 5000);
    CHECK_INT(board.submits, 0); /* the operator leaves it to the pod */
    CHECK_INT(submitters_of(&w, "j").count, 1);
    CHECK_INT(apiserver_count(w.server, SLICE("configmaps")) > 0, 1);
    CHECK_SLICE(json_str(json_key(pod_value(&w, s.names[0], "metadata.labels"), SLICE(RAY_LABEL_CLUSTER)), &w.arena),
                job_says(&w, "j", "rayClusterName"));
    submit_from(&w, "j", s.names[0]);
    world_run(&w, 5000);
    CHECK_STR(job_says(&w, "j", "jobStatus"), "RUNNING");
    test_case("its end is waited for");
    world_run(&w, 20 * 1000);
    CHECK_STR(job_says(&w, "j", "jobStatus"), "SUCCEEDED");
    CHECK(job_is(&w, "j", "Running"));
    end_pod(&w, s.names[0], 0);
    CHECK(run_until(&w, "j", "Complete", 5000));
    CHECK_INT(board.submits, 1);
    CHECK_STR(slice_of(board.first->entrypoint), "python j.py");
    check_fixed_point(&w);
    CHECK_INT(submitters_of(&w, "j").count, 1); /* its log can still be read */
    test_case("a pod goes with its job");
    delete_job(&w, "j");
    world_run(&w, 5000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    end_job_world(&w);
}

static void test_failing_pods(void)
{
    struct world w;
    test_case("pods that fail are made again, and not for ever");
    make_pod_world(&w);
    apply_job(&w, "j", "\"submitterConfig\":{\"backoffLimit\":1},");
    for (uint32_t n = 1; n <= 2; n++) {
        CHECK(run_until_pods(&w, "j", n, 30 * 1000));
        world_run(&w, 1000);
        struct submitters s = submitters_of(&w, "j");
        for (uint32_t i = 0; i < s.count; i++)
            if (json_str_eq(pod_value(&w, s.names[i], "status.phase"), SLICE("Running")))
                end_pod(&w, s.names[i], 1);
    }
    CHECK(run_until(&w, "j", "Failed", 30 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "SubmissionFailed");
    CHECK(slice_starts(job_says(&w, "j", "message"), SLICE("2 submitter pods failed, the last: ")));
    CHECK_INT(board.submits, 0);
    end_job_world(&w);
}

/* It submitted and is lost with its node: nobody needs a second one to know how the job ends. */
static void test_lost_pod(void)
{
    struct world w;
    test_case("a pod is lost when it has submitted");
    make_pod_world(&w);
    board.run_ms = 60 * 1000;
    apply_job(&w, "j", "");
    CHECK(run_until_pods(&w, "j", 1, 20 * 1000));
    world_run(&w, 1000);
    struct submitters s = submitters_of(&w, "j");
    submit_from(&w, "j", s.names[0]);
    end_pod(&w, s.names[0], 137);
    CHECK(run_until(&w, "j", "Complete", 90 * 1000));
    CHECK(board.submits == 1 && board.taken == 1);
    CHECK_STR(job_says(&w, "j", "jobStatus"), "SUCCEEDED");
    CHECK_INT(submitters_of(&w, "j").count, 1);
    end_job_world(&w);
}

/* Both were on the node that is lost. The next pod would submit to the next head, which knows nothing of the job. */
static void test_lost_with_head(void)
{
    struct world w;
    struct slice heads[1], pods[2];
    test_case("a pod is lost with its head when it has submitted: there is no second one");
    make_pod_world(&w);
    board.run_ms = 60 * 1000;
    apply_job(&w, "j", "");
    CHECK(run_until_pods(&w, "j", 1, 20 * 1000));
    world_run(&w, 1000);
    pods[0] = submitters_of(&w, "j").names[0];
    submit_from(&w, "j", pods[0]);
    CHECK_INT(pod_names(&w, "head", heads, 1), 1);
    pods[1] = heads[0];
    for (size_t i = 0; i < COUNT_OF(pods); i++) {
        struct slice path = arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(pods[i]));
        CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{\"gracePeriodSeconds\":0}")), 200);
    }
    uint32_t most = 0;
    for (int64_t until = w.now.mono_ms + 20 * 1000; w.now.mono_ms < until;) {
        world_run(&w, 50);
        most = submitters_of(&w, "j").count > most ? submitters_of(&w, "j").count : most;
    }
    CHECK_INT(most, 0);
    CHECK(job_is(&w, "j", "Failed"));
    CHECK_STR(job_says(&w, "j", "reason"), "HeadLost");
    CHECK_INT(board.submits, 1);
    end_job_world(&w);
}

static bool stands(const struct submitters *all, struct slice name)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (slice_eq(all->names[i], name))
            return true;
    return false;
}

/* The pod follows what it submitted, or has not come to it yet. Left alone it would give the program to the next head, under the id of an
 * attempt that is over. */
static void test_outlived_head(void)
{
    for (int retries = 0; retries < 2; retries++) {
        struct world w;
        test_case("a pod outlives its head, %d retries", retries);
        make_pod_world(&w);
        apply_job(&w, "j", retries ? "\"backoffLimit\":1," : "");
        CHECK(run_until_pods(&w, "j", 1, 20 * 1000));
        struct slice first = submitters_of(&w, "j").names[0];
        struct slice id = arena_dup(&w.arena, job_says(&w, "j", "jobId"));
        world_run(&w, 1000);
        fakeray_restart(ray_of(&w, "j"));
        CHECK(run_until(&w, "j", retries ? "Retrying" : "Failed", 20 * 1000));
        CHECK_STR(job_says(&w, "j", "reason"), "HeadLost");
        for (int i = 0; i < 1000; i++) {
            world_step(&w, w.now.mono_ms + 20);
            struct submitters now = submitters_of(&w, "j");
            CHECK(slice_eq(job_says(&w, "j", "jobId"), id) || !stands(&now, first));
        }
        CHECK_INT(submitters_of(&w, "j").count, retries);
        CHECK_INT(board.submits, 0);
        end_job_world(&w);
    }
}

static void test_refusals(void)
{
    struct world w;
    test_case("the API server refuses the pod for a while");
    make_pod_world(&w);
    apply_job(&w, "j", "");
    run_finely(&w, "j");
    override(&w, "POST", pods_path, 403, false, 2);
    world_run(&w, 500);
    CHECK(slice_starts(job_says(&w, "j", "message"), SLICE("submitter pod j-")));
    CHECK(memmem(job_says(&w, "j", "message").ptr, job_says(&w, "j", "message").len, "403 Forbidden", 13) != NULL);
    CHECK(run_until_pods(&w, "j", 1, 30 * 1000));
    world_run(&w, 5000);
    CHECK_SLICE(job_says(&w, "j", "message"), SLICE_NONE);
    CHECK_INT(submitters_of(&w, "j").count, 1);
    end_job_world(&w);
    test_case("the answer to its making is lost");
    make_pod_world(&w);
    apply_job(&w, "j", "");
    run_finely(&w, "j");
    override(&w, "POST", pods_path, 500, true, 1);
    world_run(&w, 10 * 1000);
    CHECK_INT(submitters_of(&w, "j").count, 1);
    end_job_world(&w);
}

static void test_too_long(void)
{
    struct world w;
    test_case("more than a pod's command takes");
    make_pod_world(&w);
    apply_job(&w, "j", arena_printf(&w.arena, "\"metadata\":{\"k\":\"%0*d\"},\"backoffLimit\":3,", LIMIT_RAY_ARGUMENT, 0).ptr);
    CHECK(run_until(&w, "j", "Failed", 20 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "SubmissionFailed");
    CHECK(slice_starts(job_says(&w, "j", "message"), SLICE("spec.metadata has 122888 bytes, and a submitter pod takes 122880")));
    CHECK_INT(submitters_of(&w, "j").count, 0);
    end_job_world(&w);
}

static void test_retry(void)
{
    struct world w;
    test_case("the next attempt has a pod of its own");
    make_pod_world(&w);
    board.fail = true;
    apply_job(&w, "j", "\"backoffLimit\":1,");
    CHECK(run_until_pods(&w, "j", 1, 20 * 1000));
    world_run(&w, 1000);
    struct submitters s = submitters_of(&w, "j");
    struct slice first = arena_dup(&w.arena, job_says(&w, "j", "jobId"));
    submit_from(&w, "j", s.names[0]);
    world_run(&w, 15 * 1000);
    end_pod(&w, s.names[0], 1);
    CHECK(run_until(&w, "j", "Retrying", 20 * 1000));
    board.fail = false;
    CHECK(run_until(&w, "j", "Running", 60 * 1000));
    CHECK(run_until_pods(&w, "j", 1, 20 * 1000));
    world_run(&w, 1000);
    struct submitters next = submitters_of(&w, "j");
    CHECK(next.count == 1 && !slice_eq(next.names[0], s.names[0]));
    CHECK(!slice_eq(job_says(&w, "j", "jobId"), first));
    submit_from(&w, "j", next.names[0]);
    world_run(&w, 15 * 1000);
    end_pod(&w, next.names[0], 0);
    CHECK(run_until(&w, "j", "Complete", 20 * 1000));
    end_job_world(&w);
}

/* Somebody on the way says that it is not there, and it is: the job does not wait for its end for ever. */
static void test_said_to_be_gone(void)
{
    struct world w;
    test_case("a DELETE of a pod is answered 404 and the pod stays");
    make_pod_world(&w);
    apply_job(&w, "j", "\"shutdownAfterJobFinishes\":true,");
    CHECK(run_until_pods(&w, "j", 1, 20 * 1000));
    world_run(&w, 1000);
    struct slice path = arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(submitters_of(&w, "j").names[0]));
    override(&w, "DELETE", path.ptr, 404, false, 1);
    change_job(&w, "j", "\"suspend\":true");
    world_run(&w, 9 * 1000);
    CHECK_INT(submitters_of(&w, "j").count, 1);
    CHECK(!job_is(&w, "j", "Suspended"));
    CHECK(run_until(&w, "j", "Suspended", 20 * 1000));
    CHECK_INT(submitters_of(&w, "j").count, 0);
    end_job_world(&w);
}

/* A command of the user's own runs in a pod whatever the operator was told, and needs no tools. */
static void test_own_command(void)
{
    struct world w;
    test_case("a command of the user's own");
    make_job_world(&w, false);
    apply_job(&w, "j",
              "\"submitterPodTemplate\":{\"spec\":{\"containers\":[{\"name\":\"mine\",\"image\":\"i\",\"command\":[\"submit.sh\"]}]}},");
    apply_job(&w, "k", "");
    CHECK(run_until_pods(&w, "j", 1, 20 * 1000));
    struct submitters s = submitters_of(&w, "j");
    struct jval env = json_get(json_at(pod_value(&w, s.names[0], "spec.containers"), 0), "env");
    CHECK(json_str_eq(json_get(json_at(env, 2), "value"), job_says(&w, "j", "jobId")));
    CHECK(run_until(&w, "k", "Complete", 30 * 1000)); /* which the operator submits */
    CHECK_INT(submitters_of(&w, "k").count, 0);
    CHECK_INT(board.submits, 1);
    end_job_world(&w);
}

/* As `ray job submit` without --submission-id does it: well, it says, and the RayJob would be followed for ever. */
static void test_other_id(void)
{
    struct world w;
    test_case("a command of the user's own that submits under another id");
    make_job_world(&w, false);
    apply_job(&w, "j",
              "\"backoffLimit\":2,\"submitterPodTemplate\":{\"spec\":{\"containers\":[{\"name\":\"mine\",\"image\":\"i\","
              "\"command\":[\"submit.sh\"]}]}},");
    CHECK(run_until_pods(&w, "j", 1, 20 * 1000));
    world_run(&w, 1000);
    struct submitters s = submitters_of(&w, "j");
    struct buf answer;
    buf_init(&answer, MIB);
    CHECK_INT(board_submit(ray_of(&w, "j"), SLICE("{\"submission_id\":\"raysubmit_1\",\"entrypoint\":\"x\"}"), &answer), 200);
    buf_free(&answer);
    end_pod(&w, s.names[0], 0);
    CHECK(run_until(&w, "j", "Failed", 5000));
    CHECK_STR(job_says(&w, "j", "reason"), "SubmissionFailed");
    CHECK(slice_ends(job_says(&w, "j", "message"), SLICE("ray job submit --submission-id \"$RAY_JOB_SUBMISSION_ID\" does")));
    CHECK_INT(submitters_of(&w, "j").count, 1);
    check_fixed_point(&w);
    CHECK_INT(board.submits, 1);
    end_job_world(&w);
}

static void hold_pod(struct world *w, struct slice pod, const char *reason)
{
    struct slice path = arena_printf(&w->arena, "%s/%.*s/status", pods_path, SLICE_ARG(pod));
    struct slice patch = arena_printf(&w->arena,
                                      "{\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":\"x\",\"ready\":false,\"image\":"
                                      "\"i\",\"imageID\":\"\",\"restartCount\":0,\"state\":{\"waiting\":{\"reason\":\"%s\"}}}]}}",
                                      reason);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", patch), 200);
}

static void test_pod_that_waits(void)
{
    struct world w;
    test_case("a pod whose image cannot be had");
    make_pod_world(&w);
    apply_job(&w, "j", "\"activeDeadlineSeconds\":60,");
    CHECK(run_until_pods(&w, "j", 1, 20 * 1000));
    world_run(&w, 1000);
    struct submitters s = submitters_of(&w, "j");
    hold_pod(&w, s.names[0], "ImagePullBackOff");
    world_run(&w, JOB_TROUBLE_MS + 1000);
    struct slice waits = arena_printf(&w.arena, "submitter pod %.*s has not started: ImagePullBackOff", SLICE_ARG(s.names[0]));
    CHECK(job_is(&w, "j", "Running"));
    CHECK_SLICE(job_says(&w, "j", "message"), waits);
    CHECK_INT(submitters_of(&w, "j").count, 1);
    CHECK(run_until(&w, "j", "Failed", 60 * 1000));
    CHECK_STR(job_says(&w, "j", "reason"), "DeadlineExceeded");
    CHECK(slice_ends(job_says(&w, "j", "message"), waits));
    CHECK_INT(board.submits, 0);
    end_job_world(&w);
}

int main(void)
{
    log_global.fd = getenv("LOG") ? 2 : -1;
    test_success();
    test_another_knows();
    test_failing_pods();
    test_lost_pod();
    test_lost_with_head();
    test_outlived_head();
    test_refusals();
    test_too_long();
    test_retry();
    test_said_to_be_gone();
    test_own_command();
    test_other_id();
    test_pod_that_waits();
    return test_done();
}
