/* Autoscaling without Ray: the operator, the API server and the heads of its clusters in one process, in virtual time. */
#include "tests/world/scaled.h"

#include <mobula/inspect.h>

enum { POLL = RAY_GCS_EVERY_MS + 50, PROGRESS_MS = 70 * 1000 }; /* progress is written to status at most once a minute */

/* From a demand, at any time between two polls, until the last pod was sent. */
static void test_up(void)
{
    struct world w;
    test_case("demand becomes pods within one poll interval and 50 ms");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .idle = 3});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 5000);
    CHECK_INT(fakeray_nodes(h), 0);
    CHECK_STR(scaling_condition(&w, "c", "reason"), "DemandMet");
    for (int i = 0; i < 20; i++) {
        uint32_t before = w.sent.pod_posts, count = 1 + (uint32_t)i % 7;
        world_run(&w, 37 * i);
        fakeray_work(h, 0, FAKERAY_CPUS, count, false);
        int64_t from = w.now.mono_ms;
        while (w.sent.pod_posts < before + count && w.now.mono_ms < from + 10 * POLL)
            world_step(&w, w.now.mono_ms + 1);
        CHECK(w.now.mono_ms - from <= POLL);
        world_run(&w, 3000);
        CHECK_INT(w.sent.pod_posts, before + count);
        CHECK_INT(h->works[0].waiting, 0);
        fakeray_work(h, 0, 0, 0, false);
        world_run(&w, 6000);
        CHECK_INT(workers_of(&w, "c"), 0);
    }
    CHECK_INT(h->strange, 0);
    CHECK(h->longest_ms <= RAY_GCS_EVERY_MS + RAY_GCS_GRID_MS);
    world_free(&w);
}

/* Down to the minimum, one accepted drain for each pod that goes, and no other. */
static void test_down(void)
{
    struct world w;
    test_case("idle nodes drain and go, down to the minimum");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .min = 2, .idle = 10});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 3000);
    CHECK_INT(workers_of(&w, "c"), 2);
    fakeray_work(h, 0, FAKERAY_CPUS, 6, false);
    world_run(&w, 5000);
    CHECK_INT(fakeray_nodes(h), 6);
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    int64_t took = run_until_workers(&w, "c", 3, 60 * 1000);
    CHECK(took >= 9000 && took <= 14 * 1000);
    world_run(&w, 30 * 1000);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK_INT(h->accepted, 3);
    fakeray_work(h, 0, FAKERAY_CPUS, 0, false);
    world_run(&w, 30 * 1000);
    CHECK_INT(workers_of(&w, "c"), 2);
    CHECK_INT(h->accepted, 4);
    CHECK_INT(w.sent.deletes, 4);
    CHECK_INT(h->declined + h->strange, 0);
    CHECK(tells(&w, "DeletedWorkerPod", "worker pods: drained after 10 s idle") ||
          tells(&w, "DeletedWorkerPod", "drained after 11 s idle"));
    CHECK(!tells(&w, "DeletedWorkerPod", "given up"));
    CHECK(!tells(&w, "DeletedWorkerPod", "it ended"));
    world_run(&w, PROGRESS_MS);
    check_fixed_point(&w);
    world_free(&w);
}

static void end_workers(struct world *w, uint32_t most)
{
    struct slice names[8];
    uint32_t count = pod_names(w, "worker", names, COUNT_OF(names));
    CHECK(count > 0);
    for (uint32_t i = 0; i < count && i < most; i++)
        CHECK_INT(world_call(w, "PATCH", arena_printf(&w->arena, "%s/%s/status", pods_path, names[i].ptr).ptr,
                             "application/merge-patch+json", SLICE("{\"status\":{\"phase\":\"Succeeded\",\"conditions\":[]}}")),
                  200);
}

/* A kubelet may be faster than the head, and the head may have fallen silent. */
static void test_down_untold(bool silent, int hosts, uint32_t first)
{
    struct world w;
    test_case("pods of nodes that drain, %d to a replica, end, %u of them first, before the head%s: no failure, and nobody takes their "
              "places",
              hosts, first, silent ? " falls silent" : " has told");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = 3 / hosts, .hosts = hosts, .idle = 10});
    struct fakeray *h = head_of(&w, "c");
    for (int i = 0; i < 40000 && h->accepted < 3; i++)
        world_step(&w, w.now.mono_ms + 1);
    CHECK_INT(h->accepted, 3);
    h->fake.hangs = silent;
    uint32_t posts = w.sent.pod_posts;
    end_workers(&w, first);
    world_run(&w, silent ? 20 * 1000 : 5 * 1000);
    h->fake.hangs = false;
    world_run(&w, 20 * 1000);
    CHECK_INT(workers_of(&w, "c"), 0);
    CHECK_INT(w.sent.pod_posts, posts);
    CHECK(!says(&w, "rayclusters.ray.io", "c", "ReplicaFailure"));
    test_case("and are there again when they are needed");
    fakeray_work(h, 0, FAKERAY_CPUS, 2, false);
    CHECK(run_until_workers(&w, "c", hosts > 1 ? (uint32_t)hosts : 2, 10 * 1000) <= POLL);
    world_free(&w);
}

static void test_refused(void)
{
    struct world w;
    test_case("a node that does not want to drain stays");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = 3});
    struct fakeray *h = head_of(&w, "c");
    h->refuses = true;
    world_run(&w, 60 * 1000);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK(h->declined >= 3 && h->declined <= 3 * 60);
    CHECK_INT(w.sent.deletes, 0);
    test_case("until it does");
    h->refuses = false;
    world_run(&w, 5 * 1000);
    CHECK_INT(workers_of(&w, "c"), 0);
    CHECK_INT(h->accepted, 3);
    world_free(&w);
}

/* What a head says again and again is looked at when it matters: a minute costs next to nothing, and nothing comes later for it. */
static void test_rest(void)
{
    struct world w;
    test_case("a cluster that rests is not decided on");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .min = 1, .replicas = 1, .idle = 30});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 120 * 1000);
    uint64_t decided = inspect_figures(w.op).scalings;
    uint32_t asked = h->fake.states;
    world_run(&w, 60 * 1000);
    CHECK(h->fake.states - asked >= 57);
    CHECK(inspect_figures(w.op).scalings - decided <= 2);
    test_case("demand is met as soon as ever");
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    CHECK(run_until_workers(&w, "c", 3, 10 * 1000) <= POLL);
    world_run(&w, 10 * 1000);
    test_case("so is a raylet that dies");
    struct slice names[3];
    CHECK_INT(pod_names(&w, "worker", names, 3), 3);
    fakeray_kill_raylet(h, names[1].ptr);
    world_run(&w, 10 * 1000);
    CHECK_INT(w.sent.deletes, 1);
    CHECK_INT(workers_of(&w, "c"), 3);
    test_case("idle nodes go when it is time, not earlier and not later");
    world_run(&w, 20 * 1000);
    fakeray_work(h, 0, 0, 0, false);
    decided = inspect_figures(w.op).scalings;
    world_run(&w, 29 * 1000);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK(inspect_figures(w.op).scalings - decided <= 6);
    world_run(&w, 4000);
    CHECK_INT(workers_of(&w, "c"), 1);
    test_case("a pod that is deleted by hand comes back");
    world_run(&w, 60 * 1000);
    CHECK_INT(pod_names(&w, "worker", names, 3), 1);
    CHECK_INT(world_call(&w, "DELETE", arena_printf(&w.arena, "%s/%s", pods_path, names[0].ptr).ptr, "application/json", SLICE("{}")), 200);
    world_run(&w, 5000);
    CHECK_INT(workers_of(&w, "c"), 1);
    CHECK_INT(fakeray_nodes(h), 1);
    world_free(&w);
}

static void test_dead_raylet(void)
{
    struct world w;
    struct slice names[3];
    test_case("a pod whose raylet is dead is replaced although it runs");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .min = 3, .replicas = 3});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 4000);
    CHECK_INT(pod_names(&w, "worker", names, 3), 3);
    fakeray_kill_raylet(h, names[1].ptr);
    world_run(&w, 5000);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK_INT(w.sent.deletes, 1);
    CHECK_INT(w.sent.pod_posts, 5);
    CHECK_INT(fakeray_nodes(h), 3);
    CHECK(!apiserver_get(w.server, SLICE("pods"), SLICE("n"), names[1], &w.arena).ptr);
    world_run(&w, PROGRESS_MS);
    check_fixed_point(&w);
    world_free(&w);
}

/* Workers that have no node yet go first, and without a drain. */
static void test_cancelled(void)
{
    struct world w;
    test_case("pods that have not started are cancelled when the demand has shrunk");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = 1, .idle = 300});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 4000);
    CHECK_INT(fakeray_nodes(h), 1);
    const char *path = "/apis/ray.io/v1/namespaces/n/rayclusters/c";
    CHECK_INT(world_call(&w, "PATCH", path, "application/json-patch+json",
                         SLICE("[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/0/template/metadata/annotations/"
                               "fake.kubelet~1stuck\",\"value\":\"Unschedulable\"}]")),
              200);
    fakeray_work(h, 0, FAKERAY_CPUS, 6, false);
    world_run(&w, 5000);
    CHECK_INT(workers_of(&w, "c"), 6);
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    world_run(&w, 5000);
    CHECK_INT(workers_of(&w, "c"), 6); /* demand comes and goes */
    world_run(&w, SCALE_CANCEL_MS);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK_INT(fakeray_nodes(h), 1);
    CHECK_INT(h->accepted + h->declined, 0);
    world_free(&w);
}

/* What was marked to go and could not be deleted is looked at again: it may have come to be of use. */
static void test_cancelled_in_vain(void)
{
    struct world w;
    test_case("a pod that was to be cancelled, and could not be, is kept when it is needed again");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .idle = 300, .note = "\"fake.kubelet/ready-after\":\"25s\""});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 4000);
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    world_run(&w, 3000);
    CHECK_INT(workers_of(&w, "c"), 3);
    fakeray_work(h, 0, 0, 0, false);
    override(&w, "DELETE", pods_path, 503, false, 1000000);
    world_run(&w, SCALE_CANCEL_MS + 3000);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK(w.sent.deletes > 0);
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    world_run(&w, 20 * 1000);
    CHECK_INT(h->works[0].waiting, 0);
    uint32_t deletes = w.sent.deletes;
    override(&w, "DELETE", pods_path, 503, false, 0);
    world_run(&w, 120 * 1000);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK_INT(w.sent.deletes, deletes);
    CHECK_INT(h->accepted, 0);
    world_free(&w);
}

static void test_request(void)
{
    struct world w;
    test_case("request_resources() holds nodes that are idle");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .idle = 3});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 4000);
    fakeray_request(h, 1, 7);
    world_run(&w, 30 * 1000);
    CHECK_INT(workers_of(&w, "c"), 4); /* of FAKERAY_CPUS each */
    CHECK_INT(h->accepted, 0);
    fakeray_request(h, 1, 2);
    world_run(&w, 10 * 1000);
    CHECK_INT(workers_of(&w, "c"), 1);
    fakeray_request(h, 0, 0);
    world_run(&w, 10 * 1000);
    CHECK_INT(workers_of(&w, "c"), 0);
    CHECK_INT(h->accepted, 4);
    world_free(&w);
}

static void test_gang(void)
{
    struct world w;
    test_case("a STRICT_SPREAD placement group gets a node for each bundle");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .idle = 5, .max = 6});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 4000);
    fakeray_work(h, 0, 0.5, 5, true);
    world_run(&w, 4000);
    CHECK_INT(workers_of(&w, "c"), 5);
    CHECK_INT(h->works[0].waiting, 0);
    test_case("one that cannot have them all gets none, and says so");
    fakeray_work(h, 1, FAKERAY_CPUS, 3, true);
    world_run(&w, PROGRESS_MS);
    CHECK_INT(workers_of(&w, "c"), 5);
    CHECK_STR(scaling_condition(&w, "c", "reason"), "DemandUnmet");
    CHECK(h->fake.reports > 0);
    world_free(&w);
}

static int64_t run_until_reason(struct world *w, const char *reason, int64_t ms)
{
    int64_t from = w->now.mono_ms;
    while (w->now.mono_ms < from + ms && !slice_eq(scaling_condition(w, "c", "reason"), slice_of(reason)))
        world_step(w, w->now.mono_ms + 5);
    return w->now.mono_ms - from;
}

/* Who waits for work looks at the condition: it must not be as late as a count of pods may be. */
static void test_told_at_once(void)
{
    struct world w;
    test_case("demand that cannot be met is told within a poll, and that it can, too");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .max = 2, .idle = 300});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 60 * 1000);
    CHECK_STR(scaling_condition(&w, "c", "reason"), "DemandMet");
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    CHECK(run_until_reason(&w, "DemandUnmet", PROGRESS_MS) <= 2 * POLL);
    world_run(&w, 60 * 1000);
    fakeray_work(h, 0, FAKERAY_CPUS, 2, false);
    CHECK(run_until_reason(&w, "DemandMet", PROGRESS_MS) <= 2 * POLL);
    test_case("demand that comes and goes every other second costs a write in ten seconds, twenty, and then in thirty");
    world_run(&w, 60 * 1000);
    uint32_t writes = world_writes(&w);
    for (int i = 0; i < 60; i++) {
        fakeray_work(h, 0, FAKERAY_CPUS, i % 2 ? 2 : 3, false);
        world_run(&w, 2000);
    }
    CHECK(world_writes(&w) - writes >= 3);
    CHECK(world_writes(&w) - writes <= 6);
    world_free(&w);
}

/* Pods that the API server does not take: nothing in a tight loop, and Ray is told. */
static void test_refused_pods(void)
{
    struct world w;
    test_case("launches that fail back off, and are reported back");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .idle = 300});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 4000);
    override(&w, "POST", pods_path, 403, false, 1000000);
    fakeray_work(h, 0, FAKERAY_CPUS, 4, false);
    uint32_t before = w.sent.pod_posts;
    world_run(&w, 60 * 1000);
    CHECK(w.sent.pod_posts > before && w.sent.pod_posts - before <= 4 * 12);
    CHECK_INT(workers_of(&w, "c"), 0);
    CHECK(memmem(h->fake.report, h->fake.report_len, "Forbidden", 9) != NULL);
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"ReplicaFailure\""));
    test_case("and go on when they may");
    override(&w, "POST", pods_path, 403, false, 0);
    world_run(&w, 90 * 1000);
    CHECK_INT(workers_of(&w, "c"), 4);
    CHECK_INT(h->works[0].waiting, 0);
    world_run(&w, 90 * 1000);
    CHECK(memmem(h->fake.report, h->fake.report_len, "Forbidden", 9) == NULL);
    world_free(&w);
}

/* A head that begins again knows no node of before, and that is no reason for any of them to go. */
static void test_head_restarts(void)
{
    struct world w;
    struct slice names[5];
    test_case("Ray of the head begins again: nothing goes");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .idle = 20});
    struct fakeray *h = head_of(&w, "c");
    h->rejoin_ms = 40 * 1000;
    world_run(&w, 4000);
    fakeray_work(h, 0, FAKERAY_CPUS, 5, false);
    world_run(&w, 10 * 1000);
    CHECK_INT(fakeray_nodes(h), 5);
    fakeray_restart(h); /* its drivers are gone too */
    fakeray_work(h, 0, 0, 0, false);
    uint32_t sessions = h->sessions;
    world_run(&w, 39 * 1000);
    CHECK_INT(workers_of(&w, "c"), 5);
    CHECK_INT(w.sent.deletes, 0);
    test_case("they come back under new names, and go when those are idle");
    world_run(&w, 19 * 1000);
    CHECK_INT(fakeray_nodes(h), 5);
    CHECK_INT(w.sent.deletes, 0);
    world_run(&w, 10 * 1000);
    CHECK_INT(workers_of(&w, "c"), 0);
    CHECK_INT(h->accepted, 5);
    CHECK_INT(h->strange, 0);
    CHECK_INT(h->sessions, sessions);
    test_case("the head's pod is lost");
    fakeray_work(h, 0, FAKERAY_CPUS, 2, false);
    world_run(&w, 10 * 1000);
    CHECK_INT(fakeray_nodes(h), 2);
    CHECK_INT(pod_names(&w, "head", names, 5), 1);
    uint32_t deletes = w.sent.deletes, posts = w.sent.pod_posts;
    struct slice path = arena_printf(&w.arena, "%s/%s", pods_path, names[0].ptr);
    CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    world_run(&w, 38 * 1000);
    CHECK_INT(workers_of(&w, "c"), 2);
    CHECK_INT(w.sent.deletes, deletes + 2); /* the workers' pods end with their head, and are made again */
    CHECK_INT(w.sent.pod_posts, posts + 1 + 2);
    CHECK(h->sessions > sessions);
    CHECK_STR(scaling_condition(&w, "c", "reason"), "DemandMet");
    world_free(&w);
}

/* A raylet ended, and the head began again before it could say so: the pod runs, and no node of it will ever come. */
static void test_lost(bool operator_too)
{
    struct world w;
    struct slice names[3];
    int64_t limit = operator_too ? SCALE_JOIN_MS : SCALE_REJOIN_MS;
    test_case("a pod that runs without Ray is replaced%s", operator_too ? ", later when nobody knows that it had it" : "");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .idle = 300});
    struct fakeray *h = head_of(&w, "c");
    h->rejoin_ms = 60 * 1000;
    world_run(&w, 4000);
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    world_run(&w, 5000);
    CHECK_INT(pod_names(&w, "worker", names, 3), 3);
    fakeray_kill_raylet(h, names[0].ptr);
    fakeray_restart(h);
    if (operator_too) {
        world_kill_operator(&w);
        world_start_operator(&w, false);
    }
    world_run(&w, limit - 5000);
    CHECK_INT(fakeray_nodes(h), 2);
    CHECK_INT(w.sent.deletes, 0);
    CHECK_INT(workers_of(&w, "c"), 3);
    world_run(&w, 15 * 1000);
    CHECK_INT(w.sent.deletes, 1);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK_INT(fakeray_nodes(h), 3);
    CHECK_INT(h->works[0].waiting, 0);
    CHECK(!apiserver_get(w.server, SLICE("pods"), SLICE("n"), names[0], &w.arena).ptr);
    world_free(&w);
}

/* Killed at any step of scaling up or down: the other one finishes it, and no node goes that has not agreed. */
static void test_operator_restarts(bool elect)
{
    for (int at = 1; at < 60; at += elect ? 9 : 4) {
        struct world w;
        test_case("the operator is killed %d steps into scaling %s", at, elect ? "(elected)" : "");
        make_scaled_world(&w, elect);
        apply_scaled(&w, &(struct scaled){.name = "c", .min = 1, .idle = 5});
        struct fakeray *h = head_of(&w, "c");
        world_run(&w, 15 * 1000);
        fakeray_work(h, 0, FAKERAY_CPUS, 9, false);
        world_run(&w, 700);
        for (int i = 0; i < at; i++)
            world_step(&w, w.now.mono_ms + 20);
        world_kill_operator(&w);
        world_run(&w, 200);
        world_start_operator(&w, elect);
        world_run(&w, 20 * 1000);
        CHECK_INT(workers_of(&w, "c"), 9);
        CHECK_INT(h->works[0].waiting, 0);
        CHECK_INT(w.sent.deletes, 0);
        fakeray_work(h, 0, FAKERAY_CPUS, 4, false);
        world_run(&w, 5000);
        for (int i = 0; i < at; i++)
            world_step(&w, w.now.mono_ms + 20);
        world_kill_operator(&w);
        world_run(&w, 200);
        world_start_operator(&w, elect);
        world_run(&w, 30 * 1000);
        CHECK_INT(workers_of(&w, "c"), 4);
        CHECK_INT(h->works[0].waiting, 0);
        CHECK_INT(h->accepted, 5);
        CHECK_INT(h->strange, 0);
        world_free(&w);
    }
}

/* Two operators: the one that leads asks, the other one does not. */
static void test_leader_changes(void)
{
    static const char lease_path[] = "/apis/coordination.k8s.io/v1/namespaces/n/leases/mobula";
    struct world w;
    test_case("who loses the lease asks no head any more");
    make_scaled_world(&w, true);
    apply_scaled(&w, &(struct scaled){.name = "c", .idle = 3});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 6000);
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    world_run(&w, 5000);
    CHECK_INT(workers_of(&w, "c"), 3);
    char now[TIME_TEXT_MAX];
    time_format_micro(w.now.wall_us, now);
    struct slice patch =
        arena_printf(&w.arena, "{\"spec\":{\"holderIdentity\":\"somebody else\",\"leaseDurationSeconds\":20,\"renewTime\":\"%s\"}}", now);
    CHECK_INT(world_call(&w, "PATCH", lease_path, "application/merge-patch+json", patch), 200);
    world_run(&w, 5000);
    uint32_t states = h->fake.states, writes = world_writes(&w);
    fakeray_work(h, 0, 0, 0, false);
    world_run(&w, 12 * 1000);
    CHECK_INT(h->fake.states, states);
    CHECK_INT(world_writes(&w), writes);
    CHECK_INT(fakerays_links(&w), 0);
    CHECK_INT(workers_of(&w, "c"), 3);
    test_case("and asks again when it leads");
    world_run(&w, 30 * 1000);
    CHECK(h->fake.states > states);
    CHECK_INT(workers_of(&w, "c"), 0);
    CHECK_INT(h->accepted, 3);
    world_free(&w);
}

/* ---- the old kind ---- */

struct block {
    uint32_t statuses, unfulfilled;
};

static void on_line(void *owner, struct slice line)
{
    struct block *b = owner;
    if (!slice_starts(line, SLICE("old:")))
        return;
    b->statuses += memmem(line.ptr, line.len, "Cluster status: ", 16) != NULL;
    b->unfulfilled += memmem(line.ptr, line.len, "Unfulfilled demands: [{'CPU': 2.0} * 3]", 39) != NULL;
}

static void test_legacy(void)
{
    struct world w;
    struct block b = {0};
    test_case("the old kind scales too, and logs as it did");
    make_scaled_world(&w, false);
    log_global.sink = on_line;
    log_global.owner = &b;
    apply_old(&w, &(struct old){.name = "old", .min = 1, .max = 10, .workers = 6, .idle = 1});
    struct fakeray *h = fakeray_of(&w, "cluster.ray.io", "n", "old");
    world_run(&w, 6000);
    CHECK_INT(fakeray_nodes(h), 1);
    fakeray_work(h, 0, FAKERAY_CPUS, 9, false);
    world_run(&w, 20 * 1000);
    CHECK_INT(fakeray_nodes(h), 6); /* maxWorkers of the cluster */
    CHECK_INT(h->works[0].waiting, 3);
    CHECK(b.statuses >= 2 && b.unfulfilled > 0);
    fakeray_work(h, 0, FAKERAY_CPUS, 0, false);
    world_run(&w, 55 * 1000);
    CHECK_INT(fakeray_nodes(h), 6);
    world_run(&w, 20 * 1000);
    CHECK_INT(fakeray_nodes(h), 1);
    CHECK_INT(h->accepted, 5);
    test_case("a block when something changes, else once a minute");
    uint32_t before = b.statuses;
    world_run(&w, 5 * 60 * 1000);
    CHECK(b.statuses - before >= 4 && b.statuses - before <= 6);
    log_global.sink = NULL;
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_up();
    test_down();
    for (int silent = 0; silent < 2; silent++) {
        test_down_untold(silent, 1, 3);
        test_down_untold(silent, 3, 3);
        test_down_untold(silent, 3, 1);
    }
    test_refused();
    test_rest();
    test_dead_raylet();
    test_cancelled();
    test_cancelled_in_vain();
    test_request();
    test_gang();
    test_told_at_once();
    test_refused_pods();
    test_head_restarts();
    test_lost(false);
    test_lost(true);
    test_operator_restarts(false);
    test_operator_restarts(true);
    test_leader_changes();
    test_legacy();
    return test_done();
}
