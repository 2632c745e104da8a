/* Workloads of a control plane: from its answer to a RayJob, from the RayJob's status to its report, and back to nothing. */
#include "tests/world/planes.h"

static struct slice meta_says(struct world *w, const char *name, const char *object, const char *key)
{
    return json_str(json_key(job_value(w, name, object), slice_of(key)), &w->arena);
}

static void test_life(void)
{
    struct world w;
    struct plane p;
    test_case("a workload becomes a RayJob, and its status goes back");
    begin_plane(&w, &p);
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
    int64_t from = w.now.mono_ms;
    while (jobs_now(&w) == 0 && w.now.mono_ms < from + 1000)
        world_step(&w, from + 1000);
    CHECK(w.now.mono_ms < from + 50);
    CHECK_INT(jobs_now(&w), 1);
    CHECK_STR(meta_says(&w, "train", "metadata.labels", "mobula.dev/workload-uid"), x->uid);
    CHECK_STR(meta_says(&w, "train", "metadata.labels", "app.kubernetes.io/managed-by"), "mobula");
    CHECK_STR(meta_says(&w, "train", "metadata.annotations", "mobula.dev/workload-generation"), "1");
    CHECK(run_until_says(&w, &p, x, "RUNNING", 20 * 1000));
    CHECK(run_until_says(&w, &p, x, "SUCCEEDED", 40 * 1000));
    CHECK_STR(slice_of(x->states), "STARTING RUNNING SUCCEEDED");
    CHECK_SLICE(plane_says(&p, x, "startedAt"), job_says(&w, "train", "startTime"));
    CHECK(tells(&w, "RemoteApplied", "applied for workload train (uid aaaaaaaa-0000-4000-8000-000000000000, generation 1)"));
    CHECK(p.links_most <= 2);
    test_case("nothing changes any more");
    world_run(&w, 60 * 1000);
    uint32_t reports = x->reports, writes = world_writes(&w), calls = p.calls;
    world_run(&w, 10 * 60 * 1000);
    CHECK_INT(x->reports, reports);
    CHECK_INT(world_writes(&w), writes);
    CHECK(p.calls - calls <= 30);
    test_case("its deletion deletes the RayJob, and is reported");
    plane_delete(&p, x);
    world_run(&w, 5000);
    CHECK_INT(jobs_now(&w), 0);
    CHECK(!p.first);
    CHECK(tells(&w, "RemoteDeleted", "its workload was deleted in the control plane"));
    end_plane(&w, &p);
}

static void test_terminate(void)
{
    struct world w;
    struct plane p;
    test_case("a workload that is ended, and stays in the control plane");
    begin_plane(&w, &p);
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "RUNNING", 20 * 1000));
    plane_put(&p, 'a', "n", "train", JOB_ENDS);
    CHECK(run_until_says(&w, &p, x, "TERMINATED", 20 * 1000));
    CHECK_INT(jobs_now(&w), 0);
    CHECK(slice_ends(slice_of(x->states), SLICE("TERMINATED")));
    test_case("and never begins again, whoever starts again");
    world_kill_operator(&w);
    world_start_operator(&w, false);
    world_run(&w, 60 * 1000);
    CHECK_INT(jobs_now(&w), 0);
    end_plane(&w, &p);
}

/* What has ended stays as it ended, whatever becomes of its object. */
static void test_over(void)
{
    struct world w;
    struct plane p;
    test_case("a job that has succeeded is ended: it stays SUCCEEDED, and its RayJob goes");
    begin_plane(&w, &p);
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB), *y = plane_put(&p, 'b', "n", "other", JOB);
    CHECK(run_until_says(&w, &p, x, "SUCCEEDED", 60 * 1000) && run_until_says(&w, &p, y, "SUCCEEDED", 60 * 1000));
    plane_put(&p, 'a', "n", "train", JOB_ENDS);
    world_run(&w, 10 * 1000);
    CHECK_INT(jobs_now(&w), 1);
    CHECK_STR(slice_of(x->states), "STARTING RUNNING SUCCEEDED");
    test_case("somebody deletes the other RayJob: it is SUCCEEDED still");
    delete_job(&w, "other");
    world_run(&w, 10 * 1000);
    CHECK_STR(slice_of(y->states), "STARTING RUNNING SUCCEEDED");
    test_case("an operator that starts again makes neither again");
    world_kill_operator(&w);
    world_start_operator(&w, false);
    world_run(&w, 60 * 1000);
    CHECK_INT(jobs_now(&w), 0);
    CHECK_STR(slice_of(x->states), "STARTING RUNNING SUCCEEDED");
    CHECK_STR(slice_of(y->states), "STARTING RUNNING SUCCEEDED");
    test_case("a change makes it again");
    plane_put(&p, 'b', "n", "other", JOB);
    CHECK(run_until_says(&w, &p, y, "RUNNING", 20 * 1000));
    test_case("and its deletion ends it");
    plane_delete(&p, x);
    plane_delete(&p, y);
    world_run(&w, 10 * 1000);
    CHECK(!p.first && jobs_now(&w) == 0);
    end_plane(&w, &p);
}

static void test_unreachable(void)
{
    struct world w;
    struct plane p;
    test_case("without the control plane all goes on and nothing is deleted");
    begin_plane(&w, &p);
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "RUNNING", 20 * 1000));
    p.down = true;
    CHECK(run_until(&w, "train", "Complete", 60 * 1000));
    world_run(&w, 60 * 60 * 1000);
    CHECK_INT(jobs_now(&w), 1);
    CHECK_STR(plane_says(&p, x, "state"), "RUNNING");
    test_case("an operator that starts without it deletes nothing either");
    world_kill_operator(&w);
    world_start_operator(&w, false);
    world_run(&w, 60 * 60 * 1000);
    CHECK_INT(jobs_now(&w), 1);
    CHECK(is_ready(&w, "none") || operator_ready(w.op, w.now, &(struct buf){.max = KIB}));
    test_case("it is there again: all is told within a minute");
    p.down = false;
    CHECK(run_until_says(&w, &p, x, "SUCCEEDED", 65 * 1000));
    CHECK_INT(jobs_now(&w), 1);
    end_plane(&w, &p);
}

/* A token that has expired, or whose user has lost the right. */
static void test_rights_lost(void)
{
    static const int codes[] = {401, 403};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        struct world w;
        struct plane p;
        test_case("%d: told with its cause, tried again and again, and what runs goes on", codes[i]);
        begin_plane(&w, &p);
        struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
        CHECK(run_until_says(&w, &p, x, "RUNNING", 20 * 1000));
        p.status = codes[i];
        world_run(&w, 30 * 1000);
        uint32_t calls = p.calls;
        CHECK(run_until(&w, "train", "Complete", 60 * 1000));
        world_run(&w, 60 * 60 * 1000);
        CHECK_INT(jobs_now(&w), 1);
        CHECK(p.calls > calls + 3600 / 20 && p.calls < calls + 3600 / 3);
        p.status = 0;
        CHECK(run_until_says(&w, &p, x, "SUCCEEDED", 30 * 1000));
        end_plane(&w, &p);
    }
}

static void test_refusals(void)
{
    static const struct {
        const char *id, *project, *spec, *reason;
    } cases[] = {
        {"a namespace that is not watched", "kube-system", JOB, "NamespaceNotWatched"},
        {"what is not supported", "n", "{\"cloud\":\"c\",\"service\":{}}", "InvalidSpec"},
        {"a node with the host's network", "n",
         "{\"cloud\":\"c\",\"image\":\"ray:1\",\"computeConfig\":{\"inline\":{\"head_node\":{\"required_resources\":{\"CPU\":1,\"memory\":"
         "\"1Gi\"},\"advanced_instance_config\":{\"spec\":{\"hostNetwork\":true}}}}},\"job\":{\"entrypoint\":\"true\"}}",
         "PolicyRefused"},
    };
    struct world w;
    struct plane p;
    begin_plane(&w, &p);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("refused: %s", cases[i].id);
        struct plane_workload *x = plane_put(&p, (char)('a' + i), cases[i].project, "train", cases[i].spec);
        CHECK(run_until_says(&w, &p, x, "REFUSED", 5000));
        CHECK_STR(plane_says(&p, x, "reason"), cases[i].reason);
    }
    CHECK_INT(jobs_now(&w), 0);
    test_case("an object of the name is there: it is left alone");
    apply_job(&w, "mine", "");
    world_run(&w, 2000);
    struct plane_workload *x = plane_put(&p, 'd', "n", "mine", JOB);
    CHECK(run_until_says(&w, &p, x, "REFUSED", 5000));
    CHECK_STR(plane_says(&p, x, "reason"), "NameTaken");
    plane_delete(&p, x);
    world_run(&w, 10 * 1000);
    CHECK_INT(jobs_now(&w), 1);
    CHECK_STR(meta_says(&w, "mine", "metadata.labels", "mobula.dev/workload-uid"), "");
    test_case("the API server refuses it: told, and tried again later");
    override(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayjobs/train2", 403, false, 2);
    x = plane_put(&p, 'e', "n", "train2", JOB);
    world_run(&w, 1000);
    CHECK_STR(plane_says(&p, x, "reason"), "ApplyRefused");
    CHECK(run_until_says(&w, &p, x, "RUNNING", 60 * 1000));
    end_plane(&w, &p);
}

static void test_deleted_here(void)
{
    struct world w;
    struct plane p;
    test_case("somebody deletes the RayJob: it is not run again");
    begin_plane(&w, &p);
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "RUNNING", 20 * 1000));
    delete_job(&w, "train");
    CHECK(run_until_says(&w, &p, x, "TERMINATED", 20 * 1000));
    CHECK_STR(plane_says(&p, x, "reason"), "DeletedHere");
    world_run(&w, 60 * 1000);
    CHECK_INT(jobs_now(&w), 0);
    test_case("but the next generation is");
    plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "RUNNING", 20 * 1000));
    test_case("and its termination is reported");
    plane_put(&p, 'a', "n", "train", JOB_ENDS);
    CHECK(run_until_says(&w, &p, x, "TERMINATED", 20 * 1000));
    end_plane(&w, &p);
}

/* What a full answer lacks. */
static void test_full(void)
{
    struct world w;
    struct plane p;
    char name[32];
    struct plane_workload *all[6];
    test_case("six workloads, in pages of two");
    begin_plane(&w, &p);
    p.page = 2;
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "train%d", i);
        all[i] = plane_put(&p, (char)('a' + i), "n", name, JOB);
    }
    CHECK(run_until_says(&w, &p, all[5], "RUNNING", 30 * 1000));
    CHECK_INT(jobs_now(&w), 6);
    test_case("one of six is gone: it is deleted at once");
    plane_lose(&p, all[0]);
    world_run(&w, 5000);
    CHECK_INT(jobs_now(&w), 5);
    test_case("two of five are gone: nothing is deleted, and it is announced");
    plane_lose(&p, all[1]);
    p.oldest = p.revision = p.revision + 10;
    plane_lose(&p, all[2]);
    world_run(&w, 9 * 60 * 1000);
    CHECK_INT(jobs_now(&w), 5);
    CHECK(tells(&w, "RemoteDeletionHeld", "it is deleted in 10 min unless"));
    test_case("one is there again, of an older generation");
    all[2] = plane_put(&p, 'c', "n", "train2", JOB);
    world_run(&w, 30 * 1000);
    test_case("ten minutes later the other one is deleted");
    world_run(&w, 60 * 1000);
    CHECK_INT(jobs_now(&w), 4);
    test_case("the control plane comes back from a backup, empty");
    while (p.first)
        plane_lose(&p, p.first);
    p.revision = p.oldest = 1;
    world_run(&w, 9 * 60 * 1000);
    CHECK_INT(jobs_now(&w), 4);
    test_case("and goes: without it nothing is deleted, however long");
    p.down = true;
    world_run(&w, 60 * 60 * 1000);
    CHECK_INT(jobs_now(&w), 4);
    p.down = false;
    world_run(&w, 3 * 60 * 1000);
    CHECK_INT(jobs_now(&w), 0);
    end_plane(&w, &p);
}

static void lose(struct plane *p, char uid)
{
    plane_lose(p, plane_find(p, arena_printf(&p->world->arena, "%c%c%c%c%c%c%c%c-0000-4000-8000-000000000000", uid, uid, uid, uid, uid, uid,
                                             uid, uid)));
}

static void test_lost_again(void)
{
    struct world w;
    struct plane p;
    char name[32];
    test_case("two of five workloads are gone, are there again, and are gone again after 9:30 min");
    begin_plane(&w, &p);
    struct plane_workload *x = NULL;
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "train%d", i);
        x = plane_put(&p, (char)('a' + i), "n", name, JOB);
    }
    CHECK(run_until_says(&w, &p, x, "RUNNING", 30 * 1000));
    lose(&p, 'a');
    lose(&p, 'b');
    world_run(&w, 60 * 1000);
    plane_put(&p, 'a', "n", "train0", JOB);
    plane_put(&p, 'b', "n", "train1", JOB);
    world_run(&w, (9 * 60 - 30) * 1000);
    lose(&p, 'a');
    lose(&p, 'b');
    world_run(&w, 2 * 60 * 1000);
    CHECK_INT(jobs_now(&w), 5);
    test_case("a third one that goes meanwhile waits with them");
    lose(&p, 'c');
    world_run(&w, 60 * 1000);
    CHECK_INT(jobs_now(&w), 5);
    test_case("they are deleted ten minutes later");
    world_run(&w, 10 * 60 * 1000);
    CHECK_INT(jobs_now(&w), 2);
    end_plane(&w, &p);
}

/* Another replica leads meanwhile, and reports the end of the job. */
static void test_leads_again(void)
{
    struct world w;
    struct plane p;
    test_case("a report that was not sent before the lease was lost is not sent when this process leads again");
    stage_plane(&w, &p);
    world_start_operator(&w, true);
    world_run(&w, 2000);
    board.run_ms = 3600 * 1000;
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "STARTING", 20 * 1000));
    p.down = true;
    CHECK(run_until(&w, "train", "Running", 60 * 1000));
    world_run(&w, 2000);
    take_lease(&w, "another", 60);
    world_run(&w, 20 * 1000);
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayjobs/train/status", "application/merge-patch+json",
                         SLICE("{\"status\":{\"jobStatus\":\"SUCCEEDED\",\"jobDeploymentStatus\":\"Complete\"}}")),
              200);
    p.down = false;
    CHECK(run_until_says(&w, &p, x, "SUCCEEDED", 180 * 1000));
    CHECK_STR(slice_of(x->states), "STARTING SUCCEEDED");
    end_plane(&w, &p);
}

static void test_restart(void)
{
    struct world w;
    struct plane p;
    test_case("an operator that starts again runs nothing twice");
    begin_plane(&w, &p);
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB), *y = plane_put(&p, 'b', "n", "train1", JOB);
    for (int i = 0; i < 10; i++) {
        world_run(&w, 700);
        world_kill_operator(&w);
        world_start_operator(&w, false);
    }
    CHECK(run_until_says(&w, &p, x, "SUCCEEDED", 60 * 1000) && run_until_says(&w, &p, y, "SUCCEEDED", 60 * 1000));
    CHECK_INT(board.taken, 2);
    CHECK_INT(jobs_now(&w), 2);
    test_case("a workload that was deleted while it was away");
    world_kill_operator(&w);
    plane_delete(&p, x);
    world_start_operator(&w, false);
    world_run(&w, 5000);
    CHECK_INT(jobs_now(&w), 1);
    CHECK(!plane_find(&p, SLICE("aaaaaaaa-0000-4000-8000-000000000000")));
    test_case("one that was never here is deleted too");
    struct plane_workload *z = plane_put(&p, 'c', "n", "train2", JOB);
    plane_delete(&p, z);
    world_run(&w, 5000);
    CHECK_INT(jobs_now(&w), 1);
    CHECK(!plane_find(&p, SLICE("cccccccc-0000-4000-8000-000000000000")));
    end_plane(&w, &p);
}

static void test_questions(void)
{
    struct world w;
    struct plane p;
    test_case("a question that is not understood is answered so");
    begin_plane(&w, &p);
    p.questions = "[{\"id\":\"q3\",\"kind\":\"dance\"}]";
    world_run(&w, 30 * 1000);
    CHECK_STR(slice_of(p.answered), "[{\"id\":\"q3\",\"kind\":\"dance\",\"error\":\"unsupported\",\"code\":503}]");
    end_plane(&w, &p);
}

static void test_busy(void)
{
    struct world w;
    struct plane p;
    test_case("a question is answered while statuses change all the time");
    begin_plane(&w, &p);
    p.questions = "[{\"id\":\"q4\",\"kind\":\"dance\"}]";
    for (int i = 0; i < 50; i++) {
        plane_put(&p, 'a', "n", "train", "{\"cloud\":\"c\"}");
        world_run(&w, 100);
    }
    CHECK(p.answered && strstr(p.answered, "\"q4\""));
    end_plane(&w, &p);
}

/* What is answered to a question about the log of workload a. */
static struct slice log_of(struct world *w, struct plane *p, const char *id, int lines)
{
    p->answered = "";
    p->questions =
        arena_printf(&w->arena, "[{\"id\":\"%s\",\"kind\":\"logTail\",\"uid\":\"aaaaaaaa-0000-4000-8000-000000000000\",\"lines\":%d}]", id,
                     lines)
            .ptr;
    int64_t until = w->now.mono_ms + 30 * 1000;
    while (w->now.mono_ms < until && !strstr(p->answered, id))
        world_step(w, until);
    return slice_of(p->answered);
}

static void test_logs(void)
{
    struct world w;
    struct plane p;
    test_case("the log of a workload that is not known, and of one that has not begun, is empty");
    begin_plane(&w, &p);
    CHECK_STR(log_of(&w, &p, "q1", 5), "[{\"id\":\"q1\",\"kind\":\"logTail\"}]");
    board.log = "one\\ntwo\\nthree\\n";
    board.run_ms = 3600 * 1000;
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK_STR(log_of(&w, &p, "q2", 5), "[{\"id\":\"q2\",\"kind\":\"logTail\"}]");
    test_case("of one that runs it comes from its head");
    CHECK(run_until_says(&w, &p, x, "RUNNING", 20 * 1000));
    CHECK_STR(log_of(&w, &p, "q3", 5), "[{\"id\":\"q3\",\"kind\":\"logTail\",\"text\":\"one\\ntwo\\nthree\\n\"}]");
    test_case("so many lines of its end as are asked for");
    CHECK_STR(log_of(&w, &p, "q4", 2), "[{\"id\":\"q4\",\"kind\":\"logTail\",\"text\":\"two\\nthree\\n\"}]");
    test_case("a question that comes twice is answered");
    log_of(&w, &p, "q4", 1);
    CHECK_STR(log_of(&w, &p, "q5", 1), "[{\"id\":\"q5\",\"kind\":\"logTail\",\"text\":\"three\\n\"}]");
    test_case("when it was terminated the answer is that its log is gone, not that it is empty");
    plane_put(&p, 'a', "n", "train", JOB_ENDS);
    CHECK(run_until_says(&w, &p, x, "TERMINATED", 20 * 1000));
    CHECK_STR(log_of(&w, &p, "q6", 5),
              "[{\"id\":\"q6\",\"kind\":\"logTail\",\"error\":\"the log was deleted with the workload's object\",\"code\":404}]");
    end_plane(&w, &p);

    test_case("a job that has ended");
    begin_plane(&w, &p);
    x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "SUCCEEDED", 60 * 1000));
    world_run(&w, 5000);
    struct slice said = log_of(&w, &p, "q7", 5);
    CHECK(slice_has(said, "the log is gone with RayCluster train-") && slice_has(said, "\"code\":404"));
    test_case("the operator ends while a head is asked");
    p.questions = "[{\"id\":\"q8\",\"kind\":\"logTail\",\"uid\":\"aaaaaaaa-0000-4000-8000-000000000000\",\"lines\":1}]";
    end_plane(&w, &p);
}

static void test_small_room(void)
{
    struct world w;
    struct plane p;
    struct buf log;
    test_case("a log that is longer than the room that refusals with 413 have left is sent");
    begin_plane(&w, &p);
    buf_init(&log, 2 * LIMIT_RAY_LOG);
    while (log.len < LIMIT_RAY_LOG)
        buf_printf(&log, "epoch\\n");
    board.log = arena_dup(&w.arena, buf_slice(&log)).ptr;
    buf_free(&log);
    board.run_ms = 3600 * 1000;
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", JOB);
    CHECK(run_until_says(&w, &p, x, "RUNNING", 20 * 1000));
    world_run(&w, 30 * 1000);
    p.status = 413;
    world_run(&w, 3 * 60 * 1000);
    p.status = 0;
    world_run(&w, 30 * 1000);
    CHECK(log_of(&w, &p, "q9", LIMIT_RAY_LOG).len > REMOTE_REPORT_LEAST);
    end_plane(&w, &p);
}

int main(void)
{
    test_life();
    test_terminate();
    test_over();
    test_unreachable();
    test_rights_lost();
    test_refusals();
    test_deleted_here();
    test_full();
    test_lost_again();
    test_leads_again();
    test_restart();
    test_questions();
    test_busy();
    test_logs();
    test_small_room();
    return test_done();
}
