/* Leadership: who does not hold the lease writes nothing, remembers nothing that is gone, and goes on where the other stopped. */
#include "scene.h"

#include <mobula/inspect.h>

static const char lease_path[] = "/apis/coordination.k8s.io/v1/namespaces/n/leases/mobula";

static void test_no_write_after_loss(void)
{
    static const struct {
        const char *id;
        int status, retry_after_s;
    } cases[] = {
        {"the lease is lost while calls wait for a Retry-After", 429, 6},
        {"the lease is lost while calls wait to be sent again", 503, 6},
        {"the lease is lost while pods are created", 0, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("%s", cases[i].id);
        make_world(&w, true);
        world_run(&w, 2000);
        CHECK(inspect_figures(w.op).leading);
        if (cases[i].status) {
            override(&w, "POST", pods_path, cases[i].status, false, 2);
            apiserver_faults(w.server)->next.retry_after_s = cases[i].retry_after_s;
        }
        apply(&w, "c", 100);
        for (int k = 0; k < 6; k++)
            world_step(&w, w.now.mono_ms + 1);
        take_lease(&w, "somebody else", 3600);
        while (inspect_figures(w.op).leading)
            world_step(&w, w.now.mono_ms + 100);
        world_step(&w, w.now.mono_ms + 1);
        uint32_t before = world_writes(&w);
        world_run(&w, 60 * 1000);
        CHECK_INT(world_writes(&w), before);
        test_case("%s: and comes back", cases[i].id);
        take_lease(&w, "", 1); /* released */
        world_run(&w, 30 * 1000);
        CHECK(inspect_figures(w.op).leading);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 101);
        CHECK(is_ready(&w, "c"));
        world_free(&w);
    }
}

/* A connection that opens only when the lease is lost carries nothing. */
static void test_late_connections(void)
{
    struct world w;
    test_case("the lease is lost while connections open");
    make_world(&w, true);
    world_run(&w, 2000);
    CHECK(inspect_figures(w.op).leading);
    w.path.latency_ms = 4000;
    apply(&w, "c", 20);
    world_run(&w, 200);
    CHECK(inspect_figures(w.op).leading);
    uint32_t posts = w.sent.pod_posts;
    world_run(&w, 30 * 1000);
    CHECK(!inspect_figures(w.op).leading);
    CHECK_INT(w.sent.pod_posts, posts);
    w.path.latency_ms = 0;
    world_run(&w, 60 * 1000);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

/* The answers that came while the process was stopped do not let out what waits behind them. */
static void test_sleeper(void)
{
    struct world w;
    test_case("the lease is lost while the process is stopped");
    make_world(&w, true);
    world_run(&w, 2000);
    CHECK(inspect_figures(w.op).leading);
    w.path.latency_ms = 40;
    apply(&w, "c", 200);
    while (w.sent.pod_posts == 0)
        world_step(&w, w.now.mono_ms + 1);
    w.process[0].frozen_until_ms = w.now.mono_ms + 10 * 1000;
    take_lease(&w, "somebody else", 15);
    world_run(&w, 9 * 1000);
    uint32_t before = world_writes(&w);
    CHECK(before < 100);
    world_run(&w, 4 * 1000);
    CHECK_INT(world_writes(&w), before);
    CHECK(!inspect_figures(w.op).leading);
    world_run(&w, 60 * 1000);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

/* What a standby knows may be old without its knowing: a watch that has fallen silent. It looks again before it leads. */
static void test_looks_anew(void)
{
    struct world w;
    test_case("a standby whose watches have fallen silent takes over");
    make_world(&w, true);
    apply(&w, "c", 3);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    take_lease(&w, "somebody else", 3600);
    world_run(&w, 5000);
    CHECK(!inspect_figures(w.op).leading);
    world_silence(&w, 256);
    /* The other one scales down, and has to replace a pod: what the standby knows of would be made, or deleted, once more. */
    scale(&w, "c", 1);
    struct slice names[3];
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 3);
    for (int i = 1; i < 3; i++) {
        struct slice path = arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(names[i]));
        CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    }
    world_run(&w, 5000);
    struct world_traffic before = w.sent;
    take_lease(&w, "", 1); /* released */
    world_run(&w, 10 * 1000);
    CHECK(inspect_figures(w.op).leading);
    CHECK_INT(w.sent.pod_posts, before.pod_posts);
    CHECK_INT(w.sent.deletes, before.deletes);
    CHECK_INT(pods_of(&w, "c"), 2);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

/* Who loses the lease and gets it back while nobody else had it knows everything: no list is taken. */
static void test_gets_it_back(void)
{
    struct world w;
    test_case("the lease lapses and nobody else takes it");
    make_world(&w, true);
    apply(&w, "c", 1);
    world_run(&w, 5000);
    uint64_t restarts = inspect_figures(w.op).watch_restarts;
    override(&w, "PUT", lease_path, 503, false, 1000);
    for (int i = 0; i < 200 && inspect_figures(w.op).leading; i++)
        world_run(&w, 50);
    CHECK(!inspect_figures(w.op).leading);
    CHECK(apiserver_faults(w.server)->next.times >= 1000 - 10); /* two tries a round, and no more */
    apiserver_faults(w.server)->next.times = 0;
    world_run(&w, 20 * 1000);
    CHECK(inspect_figures(w.op).leading);
    CHECK_INT(inspect_figures(w.op).watch_restarts, restarts);
    world_free(&w);
}

/* What the other one has sent may come yet. */
static void test_begins_anew(void)
{
    struct world w;
    test_case("who leads again makes no workers for a moment");
    make_world(&w, false);
    world_kill_operator(&w);
    w.fence_ms = OPERATOR_FENCE_MS;
    world_start_operator(&w, true);
    world_run(&w, 5000);
    CHECK(inspect_figures(w.op).leading);
    take_lease(&w, "somebody else", 3600);
    world_run(&w, 5000);
    CHECK(!inspect_figures(w.op).leading);
    apply(&w, "c", 3);
    world_run(&w, 5000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    take_lease(&w, "", 1); /* released */
    for (int64_t end_ms = w.now.mono_ms + 10 * 1000; !inspect_figures(w.op).leading && w.now.mono_ms < end_ms;)
        world_step(&w, end_ms);
    CHECK(inspect_figures(w.op).leading);
    world_run(&w, OPERATOR_FENCE_MS - 1);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 1);
    world_run(&w, 100);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 4);
    world_free(&w);
}

static void check_empty(struct world *w)
{
    struct inspect_figures has = inspect_figures(w->op);
    CHECK_INT(has.records, 0);
    CHECK_INT(has.pods, 0);
    CHECK_INT(has.services, 0);
    CHECK_INT(has.strings, 0);
    CHECK_INT(has.allocated, 0);
    CHECK_INT(has.calls, 0);
    CHECK_INT(has.timers, 0);
}

static void test_standby(void)
{
    struct world w;
    test_case("a standby forgets what is gone");
    make_world(&w, true);
    world_run(&w, 2000);
    take_lease(&w, "somebody else", 3600);
    world_run(&w, 5000);
    CHECK(!inspect_figures(w.op).leading);
    for (int i = 0; i < 20; i++) {
        struct slice name = arena_printf(&w.arena, "c%d", i), path = arena_printf(&w.arena, "%s/c%d", v1, i);
        apply(&w, name.ptr, 1);
        world_run(&w, 100);
        CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
        world_run(&w, 100);
    }
    world_run(&w, 1000);
    check_empty(&w);
    world_free(&w);
}

static void test_churn(void)
{
    struct world w;
    test_case("a leader forgets what is gone");
    make_world(&w, false);
    for (int i = 0; i < 40; i++) {
        struct slice name = arena_printf(&w.arena, "c%d", i), path = arena_printf(&w.arena, "%s/c%d", v1, i);
        apply(&w, name.ptr, 5);
        world_run(&w, 100 + 60 * i); /* at any moment of its life */
        CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    }
    world_run(&w, 10 * 1000);
    check_empty(&w);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    world_free(&w);
}

/* The counters of failures are in status: a new leader knows them. */
static void test_counters(void)
{
    struct world w;
    test_case("a new leader knows how often a group failed");
    make_world(&w, true);
    world_run(&w, 2000);
    override(&w, "POST", pods_path, 403, false, 1000000);
    apply(&w, "c", 1);
    world_run(&w, 60 * 1000);
    CHECK(w.sent.pod_posts > 5);
    take_lease(&w, "somebody else", 3600);
    world_run(&w, 5000);
    struct slice patch = SLICE("{\"status\":{\"groups\":[{\"name\":\"headgroup\",\"desired\":1,\"ready\":0,\"failures\":20,"
                               "\"lastFailureTime\":\"2027-01-15T08:01:00Z\",\"reason\":\"quota\"}]}}");
    CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c/status", "application/merge-patch+json", patch), 200);
    world_run(&w, 1000);
    take_lease(&w, "", 1); /* released */
    world_run(&w, 2000);
    CHECK(inspect_figures(w.op).leading);
    struct inspect_record c;
    if (CHECK(inspect_record(w.op, status_of(&w, "c", "metadata.uid"), SLICE("n"), &c)))
        CHECK(c.head_failures >= 20);
    world_free(&w);
}

static void launch(struct world *w, uint32_t process, const char *identity)
{
    static const struct slice namespaces[] = {{"n", 1}};
    const struct operator_options o = {.namespaces = namespaces,
                                       .namespace_count = 1,
                                       .ray = {.tools = RAY_TOOLS_NONE, .cluster_domain = SLICE("cluster.local"), .version = SLICE("0")},
                                       .leader_elect = true,
                                       .lease = {.ns = SLICE("n"), .name = SLICE("mobula"), .identity = slice_of(identity)},
                                       .fence_ms = OPERATOR_FENCE_MS,
                                       .instance = slice_of(identity),
                                       .seed = 1 + process};
    world_launch(w, process, &o);
}

/* The leader is killed at different times between two renewals of the Lease. */
static void test_failover(void)
{
    for (int phase_ms = 0; phase_ms < 1000; phase_ms += 111) {
        struct world w;
        struct apiserver_config config = {.seed = 1};
        test_case("the leader is killed %d ms into a second: the head pod of a new cluster is there within 5 s", phase_ms);
        world_init(&w, &config);
        w.path.latency_ms = 5;
        make_namespace(&w);
        make_crd(&w, "ray.io", "");
        launch(&w, 0, "first");
        world_run(&w, 3000);
        launch(&w, 1, "second");
        world_run(&w, 20 * 1000 + phase_ms);
        CHECK(inspect_figures(w.process[0].op).leading && !inspect_figures(w.process[1].op).leading);
        uint64_t lists = inspect_figures(w.process[1].op).watch_restarts;
        world_crash(&w, 0);
        apply(&w, "c", 1);
        int64_t killed_ms = w.now.mono_ms;
        while (w.sent.pod_posts == 0 && w.now.mono_ms < killed_ms + 20 * 1000)
            world_run(&w, 10);
        CHECK(w.now.mono_ms - killed_ms <= 5000);
        CHECK(w.now.mono_ms - killed_ms > KUBE_LEASE_MS - KUBE_LEASE_RETRY_MS - 200);
        world_run(&w, 5000);
        CHECK(inspect_figures(w.process[1].op).watch_restarts > lists);
        CHECK_INT(w.sent.pod_posts, 2);
        world_free(&w);
    }
}

int main(void)
{
    log_global.fd = -1;
    test_no_write_after_loss();
    test_late_connections();
    test_sleeper();
    test_looks_anew();
    test_gets_it_back();
    test_begins_anew();
    test_standby();
    test_churn();
    test_counters();
    test_failover();
    return test_done();
}
