/* Walks the table "States that can last" of docs/troubleshooting.md: each row is brought about in a world, and its condition and event
 * appear within a little more than a minute, at any age of the cluster. A row without a scenario, or a scenario without a row, fails. */
#include "jobs.h"

enum { LASTS_MS = 75 * 1000, MINUTE_MS = 60 * 1000 };

#define WAITS(reason, message)                                                                                                             \
    "{\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}],\"containerStatuses\":[{\"name\":"      \
    "\"ray\",\"ready\":false,\"image\":\"i\",\"imageID\":\"\",\"restartCount\":0,\"state\":{\"waiting\":{\"reason\":\"" reason             \
    "\",\"message\":\"" message "\"}}}]}}"
#define UNSCHEDULED(reason)                                                                                                                \
    "{\"status\":{\"phase\":\"Pending\",\"containerStatuses\":null,\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"},{\"type\":"   \
    "\"PodScheduled\",\"status\":\"False\",\"reason\":\"" reason "\",\"message\":\"0/3 nodes are available\"}]}}"

/* States of a pod, as its kubelet or the scheduler reports them. */
static const struct {
    const char *row;    /* in the first cell */
    const char *status; /* merge patch of the pod */
    const char *words;  /* of the condition and of the event */
    bool starts;        /* every head goes through it on its way up: no event of a head */
} pod_states[] = {
    {"Unschedulable", UNSCHEDULED("Unschedulable"), "Unschedulable: 0/3 nodes are available", false},
    {"SchedulingGated", UNSCHEDULED("SchedulingGated"), "SchedulingGated", false},
    {"ErrImagePull", WAITS("ImagePullBackOff", "no such image"), "ImagePullBackOff: no such image", false},
    {"ContainerCreating", WAITS("ContainerCreating", ""), "ContainerCreating: volumes, network or image", true},
    {"Init: …",
     "{\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}],\"containerStatuses\":null,"
     "\"initContainerStatuses\":[{\"name\":\"early\",\"ready\":false,\"image\":\"i\",\"imageID\":\"\",\"restartCount\":0,\"state\":{"
     "\"running\":{}}}]}}",
     "Init: container early runs", true},
    {"CrashLoopBackOff",
     "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}],\"containerStatuses\":[{\"name\":"
     "\"ray\",\"ready\":false,\"image\":\"i\",\"imageID\":\"\",\"restartCount\":3,\"state\":{\"waiting\":{\"reason\":"
     "\"CrashLoopBackOff\"}},\"lastState\":{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]}}",
     "CrashLoopBackOff: ended with exit code 137 (OOMKilled)", false},
    {"containers with unready status",
     "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"message\":\"containers with unready "
     "status: [ray]\"}],\"containerStatuses\":[{\"name\":\"ray\",\"ready\":false,\"image\":\"i\",\"imageID\":\"\",\"restartCount\":0,"
     "\"state\":{\"running\":{}}}]}}",
     "containers with unready status: [ray]", true},
};

/* ---- the table ---- */

static uint32_t rows, found;

static struct slice read_table(struct arena *a)
{
    char *text = arena_alloc(a, 256 * KIB);
    FILE *in = fopen("docs/troubleshooting.md", "r");
    if (!CHECK(in != NULL))
        return SLICE_NONE;
    struct slice page = {text, fread(text, 1, 256 * KIB, in)};
    fclose(in);
    ptrdiff_t from = slice_find_text(page, "## States that can last"), until = slice_find_text(page, "## Conditions of a cluster");
    if (!CHECK(from >= 0 && until > from))
        return SLICE_NONE;
    return slice_skip(slice_head(page, (size_t)until), (size_t)from);
}

/* The row whose first cell has this text; its cells for meaning and remedy must not be empty. */
static void find_row(struct slice table, const char *text)
{
    uint32_t n = 0;
    while (!slice_empty(table)) {
        struct slice line = slice_cut(&table, '\n'), rest = slice_skip(line, 1);
        if (!slice_starts(line, SLICE("| ")) || slice_find_text(line, text) < 0)
            continue;
        struct slice first = slice_cut(&rest, '|'), means = slice_cut(&rest, '|'), todo = slice_cut(&rest, '|');
        if (slice_find_text(first, text) < 0)
            continue;
        CHECK(slice_trim(means).len > 10 && slice_trim(todo).len > 3);
        n++;
    }
    if (!CHECK_INT(n, 1))
        printf("  docs/troubleshooting.md: %u rows of %s\n", n, text);
    found += n;
}

static uint32_t count_rows(struct slice table)
{
    uint32_t n = 0;
    while (!slice_empty(table))
        n += slice_starts(slice_cut(&table, '\n'), SLICE("| "));
    return n - 1; /* the head */
}

/* ---- scenarios ---- */

static void patch(struct world *w, const char *path, const char *name, const char *sub, const char *body)
{
    struct slice at = arena_printf(&w->arena, "%s/%s%s", path, name, sub);
    CHECK_INT(world_call(w, "PATCH", at.ptr, "application/merge-patch+json", slice_of(body)), 200);
}

static void hold(struct world *w, const char *pod)
{
    patch(w, pods_path, pod, "", "{\"metadata\":{\"finalizers\":[\"example.com/keep\"]}}");
}

static void remove_pod(struct world *w, const char *pod)
{
    struct slice path = arena_printf(&w->arena, "%s/%s", pods_path, pod);
    world_call(w, "DELETE", path.ptr, "application/json", SLICE_NONE);
}

static const char *worker_of(struct world *w)
{
    struct slice names[4];
    return CHECK_INT(pod_names(w, "worker", names, 4), 1) ? names[0].ptr : "";
}

static void begin(struct world *w)
{
    make_world(w, false);
    apply(w, "c", 1);
    world_run(w, 10 * 1000);
    CHECK(is_ready(w, "c"));
}

static bool cluster_says(struct world *w, const char *text)
{
    return says(w, "rayclusters.ray.io", "c", text);
}

static void test_pod_states(struct slice table)
{
    for (size_t i = 0; i < COUNT_OF(pod_states); i++) {
        struct world w;
        test_case("%s: of a head", pod_states[i].row);
        find_row(table, pod_states[i].row);
        begin(&w);
        patch(&w, pods_path, "c-head", "/status", pod_states[i].status);
        world_run(&w, LASTS_MS);
        CHECK(cluster_says(&w, pod_states[i].words));
        CHECK_SLICE(status_of(&w, "c", "status.state"), SLICE(""));
        CHECK(pod_states[i].starts || tells(&w, "HeadPodNotReady", pod_states[i].words));
        world_free(&w);
        test_case("%s: of a worker of a cluster that is ready", pod_states[i].row);
        begin(&w);
        patch(&w, pods_path, worker_of(&w), "/status", pod_states[i].status);
        world_run(&w, LASTS_MS);
        CHECK(cluster_says(&w, "\"type\":\"WorkersNotReady\""));
        CHECK(cluster_says(&w, pod_states[i].words));
        CHECK(tells(&w, "WorkersNotReady", pod_states[i].words));
        check_fixed_point(&w);
        world_free(&w);
    }
}

static void test_hanging_pods(struct slice table)
{
    struct world w;
    test_case("a head that hangs in Terminating");
    find_row(table, "HeadPodHangs");
    begin(&w);
    hold(&w, "c-head");
    remove_pod(&w, "c-head");
    world_run(&w, LASTS_MS);
    CHECK(cluster_says(&w, "HeadPodHangs") && cluster_says(&w, "out-of-service"));
    CHECK(tells(&w, "HeadPodNotReady", "Terminating"));
    world_free(&w);
    test_case("a worker that hangs in Terminating, and another in its place");
    find_row(table, "`WorkersNotReady=True` `PodsHang`");
    begin(&w);
    const char *worker = worker_of(&w);
    hold(&w, worker);
    remove_pod(&w, worker);
    world_run(&w, LASTS_MS);
    CHECK(cluster_says(&w, "\"reason\":\"PodsHang\"") && cluster_says(&w, "out-of-service"));
    CHECK(tells(&w, "WorkersNotReady", "Terminating"));
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    test_case("… until it has gone");
    patch(&w, pods_path, worker, "", "{\"metadata\":{\"finalizers\":null}}");
    world_run(&w, 5000);
    CHECK(!cluster_says(&w, "WorkersNotReady"));
    world_free(&w);
}

static void test_late_group(struct slice table)
{
    struct world w;
    test_case("a group that is added to a cluster that is ready, and whose image cannot be had");
    find_row(table, "`WorkersNotReady=True`, reason");
    begin(&w);
    static const char group[] = "[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/-\",\"value\":{\"groupName\":\"late\",\"replicas\":1,"
                                "\"minReplicas\":0,\"maxReplicas\":1,\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":[{"
                                "\"name\":\"ray\",\"image\":\"none:1\"}]}}}}]";
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json-patch+json", slice_of(group)), 200);
    world_run(&w, 200);
    struct slice names[4];
    for (uint32_t i = 0, n = pod_names(&w, "worker", names, 4); i < n; i++)
        if (slice_has(names[i], "late"))
            patch(&w, pods_path, names[i].ptr, "/status", WAITS("ImagePullBackOff", "no such image"));
    world_run(&w, 1000);
    for (uint32_t i = 0, n = pod_names(&w, "worker", names, 4); i < n; i++)
        if (slice_has(names[i], "late")) /* the model's kubelet may have started it meanwhile */
            patch(&w, pods_path, names[i].ptr, "/status", WAITS("ImagePullBackOff", "no such image"));
    world_run(&w, LASTS_MS);
    CHECK(cluster_says(&w, "group late: pod c-late-worker-0"));
    CHECK(tells(&w, "WorkersNotReady", "ImagePullBackOff"));
    world_free(&w);
}

static void test_failed_pods(struct slice table)
{
    struct world w;
    test_case("a worker that was evicted, again and again");
    find_row(table, "`ReplicaFailure=True`");
    begin(&w);
    patch(&w, pods_path, worker_of(&w), "/status",
          "{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"the node was low on memory\",\"conditions\":[],"
          "\"containerStatuses\":null}}");
    world_run(&w, 2000);
    CHECK(cluster_says(&w, "ReplicaFailure") && cluster_says(&w, "Evicted: the node was low on memory"));
    CHECK(tells(&w, "WorkerPodEnded", "Evicted"));
    world_free(&w);
}

static void test_jobs(struct slice table)
{
    struct world w;
    test_case("a job that is suspended while a pod hangs");
    find_row(table, "RayJob `Waiting=True` `PodsHang`");
    make_job_world(&w, false);
    board.run_ms = 1000 * 1000;
    apply_job(&w, "j", "\"shutdownAfterJobFinishes\":true,");
    CHECK(run_until(&w, "j", "Running", 20 * 1000));
    hold(&w, arena_printf(&w.arena, "%.*s-head", SLICE_ARG(job_says(&w, "j", "rayClusterName"))).ptr);
    change_job(&w, "j", "\"suspend\":true");
    world_run(&w, 3 * LASTS_MS);
    CHECK(says(&w, "rayjobs.ray.io", "j", "PodsHang") && tells(&w, "PodsHang", "Terminating"));
    end_job_world(&w);
    static const struct {
        const char *rules, *reason, *words;
    } kept[] = {
        {"[{\"policy\":\"DeleteCluster\",\"condition\":{\"jobStatus\":\"FAILED\"}}]", "NoDeletionRule", "no rule of deletionStrategy"},
        {"[{\"policy\":\"DeleteNone\",\"condition\":{\"jobStatus\":\"SUCCEEDED\"}}]", "\"DeleteNone\"", "for this end is DeleteNone"},
        {"[{\"policy\":\"DeleteWorkers\",\"condition\":{\"jobStatus\":\"SUCCEEDED\"}}]", "OnlyWorkersDeleted", "which keeps the head"},
    };
    find_row(table, "RayJob `ClusterKept=True`");
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        test_case("a job is over, and its cluster stays: %s", kept[i].reason);
        make_job_world(&w, false);
        apply_job(&w, "j", arena_printf(&w.arena, "\"deletionStrategy\":{\"deletionRules\":%s},", kept[i].rules).ptr);
        CHECK(run_until(&w, "j", "Complete", 60 * 1000));
        world_run(&w, 5000);
        CHECK(says(&w, "rayjobs.ray.io", "j", kept[i].reason) && says(&w, "rayjobs.ray.io", "j", kept[i].words));
        CHECK(says(&w, "rayjobs.ray.io", "j", "stays since"));
        CHECK(tells(&w, "ClusterKept", kept[i].words));
        check_fixed_point(&w);
        end_job_world(&w);
    }
}

static void test_causes(struct slice table)
{
    struct world w;
    test_case("what becomes of a worker is told by the job that runs, and in its failure");
    find_row(table, "RayJob: `RayCluster NAME: group");
    make_job_world(&w, false);
    board.fail = true;
    board.run_ms = 30 * 1000;
    apply_job(&w, "j", "");
    CHECK(run_until(&w, "j", "Running", 20 * 1000));
    patch(&w, pods_path, worker_of(&w), "/status",
          "{\"status\":{\"phase\":\"Failed\",\"conditions\":[],\"containerStatuses\":[{\"name\":\"ray\",\"ready\":false,\"image\":\"i\","
          "\"imageID\":\"\",\"restartCount\":0,\"state\":{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}}}]}}");
    world_run(&w, 5000);
    CHECK(says(&w, "rayjobs.ray.io", "j", "\"message\":\"RayCluster ") && says(&w, "rayjobs.ray.io", "j", "OOMKilled"));
    CHECK(run_until(&w, "j", "Failed", 60 * 1000));
    CHECK(slice_has(job_says(&w, "j", "message"), "ended with exit code 137 (OOMKilled)"));
    end_job_world(&w);
}

static void test_crons(struct slice table)
{
    struct world w;
    struct slice cluster;
    static const char path[] = "/apis/ray.io/v1/namespaces/n/raycronjobs";
    find_row(table, "RayCronJob `Waiting=True` `PodsHang`");
    find_row(table, "RayCronJob `LastRunFailed=True`");
    test_case("a run fails: the cron job has its cause");
    make_job_world(&w, false);
    make_definition(&w, "ray.io", "RayCronJob", "raycronjobs", "");
    board.fail = true;
    cluster = cluster_body(&w, "c", 0, "");
    struct slice spec = slice_skip(cluster, (size_t)slice_find_text(cluster, "\"spec\":") + 7);
    spec.len--; /* the brace of the whole */
    CHECK_INT(
        world_call(&w, "POST", path, "application/json",
                   arena_printf(&w.arena,
                                "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCronJob\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},"
                                "\"spec\":{\"concurrencyPolicy\":\"Replace\",\"schedule\":\"* * * * *\",\"jobTemplate\":{\"entrypoint\":"
                                "\"python x.py\",\"shutdownAfterJobFinishes\":true,\"rayClusterSpec\":%.*s}}}",
                                SLICE_ARG(spec))),
        201);
    world_run(&w, 2 * MINUTE_MS);
    CHECK(says(&w, "raycronjobs.ray.io", "c", "\"type\":\"LastRunFailed\"") && says(&w, "raycronjobs.ray.io", "c", "AppFailed"));
    CHECK(tells(&w, "LastRunFailed", "AppFailed"));
    test_case("… until a later one has succeeded");
    board.fail = false;
    world_run(&w, 2 * MINUTE_MS);
    CHECK(!says(&w, "raycronjobs.ray.io", "c", "LastRunFailed"));
    test_case("a run that is to be replaced hangs");
    board.run_ms = 1000 * 1000;
    world_run(&w, MINUTE_MS);
    struct slice names[8];
    uint32_t heads = pod_names(&w, "head", names, 8);
    for (uint32_t i = 0; i < heads; i++)
        hold(&w, names[i].ptr);
    CHECK(heads > 0);
    world_run(&w, 4 * MINUTE_MS);
    CHECK(says(&w, "raycronjobs.ray.io", "c", "PodsHang") && tells(&w, "PodsHang", "Terminating"));
    end_job_world(&w);
}

int main(void)
{
    struct arena a = {0};
    struct slice table = read_table(&a);
    rows = count_rows(table);
    test_pod_states(table);
    test_hanging_pods(table);
    test_late_group(table);
    test_failed_pods(table);
    test_jobs(table);
    test_causes(table);
    test_crons(table);
    test_case("each row of the page has a scenario");
    CHECK_INT(found, rows);
    arena_free(&a);
    return test_done();
}
