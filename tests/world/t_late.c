/* What was decided waits, for a connection or for its turn. When it has waited so long that its reason may be gone, it is decided again. */
#include "jobs.h"

#include <mobula/inspect.h>

/* The server answers the POST of a pod so late, and connections as it likes. */
struct slow {
    struct world_hooks hooks; /* first */
    int64_t post_ms;
    bool silent;
    uint64_t decisions, most; /* so far, and most of one step */
};

static void on_arrived(struct world_hooks *h, struct world_request *q)
{
    if (slice_eq(q->method, SLICE("POST")) && slice_starts(q->target, slice_of(pods_path)))
        q->delay_ms = ((struct slow *)h)->post_ms;
}

static bool on_connect(struct world_hooks *h, struct process *p)
{
    (void)p;
    return !((struct slow *)h)->silent;
}

static void on_stepped(struct world_hooks *h, struct process *p, uint64_t since)
{
    struct slow *s = (struct slow *)h;
    uint64_t decisions = inspect_figures(p->op).decisions, count = decisions - s->decisions;
    (void)since;
    s->most = count > s->most ? count : s->most;
    s->decisions = decisions;
}

/* Of the cluster's three workers the last one is to go; then somebody else deletes the first, and two are left. */
static void give_up_one(struct world *w, const char *cluster, const struct slice names[3])
{
    scale(w, cluster, 2);
    world_run(w, 2000);
    struct slice path = arena_printf(&w->arena, "%s/%.*s", pods_path, SLICE_ARG(names[0]));
    CHECK_INT(world_call(w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
}

static bool is_there(struct world *w, struct slice pod)
{
    return apiserver_get(w->server, SLICE("pods"), SLICE("n"), pod, &w->arena).ptr != NULL;
}

static void test_no_connection(void)
{
    struct world w;
    struct slow slow = {.hooks = {.connect = on_connect}};
    struct slice names[3];
    test_case("a DELETE waits for a connection, and is not wanted any more when there is one");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 10 * 1000);
    CHECK_INT(pod_names(&w, "worker", names, 3), 3);
    w.hooks = &slow.hooks;
    slow.silent = true;
    world_run(&w, NET_IDLE_MS + 5000); /* by then only the watches have a connection */
    give_up_one(&w, "c", names);
    world_run(&w, 5000);
    slow.silent = false;
    world_run(&w, 2 * NET_CONNECT_MS);
    CHECK_INT(w.sent.deletes, 0);
    CHECK(is_there(&w, names[1]) && is_there(&w, names[2]));
    CHECK_INT(pods_of(&w, "c"), 3);
    test_case("… and nothing has failed");
    scale(&w, "c", 1);
    world_run(&w, 500);
    CHECK_INT(w.sent.deletes, 1);
    world_free(&w);
}

static void test_turn(void)
{
    static const struct {
        int64_t post_ms;
        uint32_t deletes;
    } cases[] = {{OPERATOR_PLAN_MS, 1}, {OPERATOR_PLAN_MS + 2000, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        struct slow slow = {.hooks = {.arrived = on_arrived}};
        struct slice names[3];
        test_case("a DELETE waits for its turn for about %lld ms", (long long)cases[i].post_ms);
        make_world(&w, false);
        apply(&w, "c", 3);
        world_run(&w, 10 * 1000);
        CHECK_INT(pod_names(&w, "worker", names, 3), 3);
        apply(&w, "many", 0);
        world_run(&w, 1000);
        w.hooks = &slow.hooks;
        slow.post_ms = cases[i].post_ms;
        scale(&w, "many", 200);
        world_run(&w, 1000);
        give_up_one(&w, "c", names);
        world_run(&w, cases[i].post_ms);
        CHECK_INT(w.sent.deletes, cases[i].deletes);
        CHECK(is_there(&w, names[2]) == (cases[i].deletes == 0));
        slow.post_ms = 0;
        world_run(&w, 60 * 1000);
        CHECK_INT(pods_of(&w, "many"), 201);
        CHECK_INT(pods_of(&w, "c"), 3);
        world_free(&w);
    }
}

static void test_slow_path(void)
{
    struct world w;
    test_case("connections take longer to open than a plan is good for");
    make_world(&w, false);
    world_run(&w, 5000);
    world_cut_all(&w);
    w.path.latency_ms = OPERATOR_PLAN_MS + 2000;
    apply(&w, "c", 20);
    world_run(&w, 4 * 60 * 1000);
    CHECK_INT(pods_of(&w, "c"), 21);
    CHECK_INT(w.sent.pod_posts, 21);
    world_free(&w);
}

/* Far more work than a slow server does while a plan is good: everybody has their turn, and few are decided again. */
static void test_fleet(void)
{
    enum { CLUSTERS = 400, WORKERS = 3, POST_MS = 1200 };
    struct world w;
    struct slow slow = {.hooks = {.arrived = on_arrived}, .post_ms = POST_MS};
    test_case("a fleet at once, and a slow server");
    make_world(&w, false);
    world_run(&w, 5000);
    w.hooks = &slow.hooks;
    for (int i = 0; i < CLUSTERS; i++)
        apply(&w, arena_printf(&w.arena, "c%d", i).ptr, WORKERS);
    int64_t began_ms = w.now.mono_ms;
    while (w.sent.pod_posts < CLUSTERS * (WORKERS + 1) && w.now.mono_ms < began_ms + 10 * 60 * 1000)
        world_run(&w, 1000);
    CHECK(w.now.mono_ms - began_ms > 3 * OPERATOR_PLAN_MS && w.now.mono_ms - began_ms < 45 * 1000);
    CHECK(inspect_figures(w.op).plans < 5 * CLUSTERS);
    world_run(&w, 10 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), CLUSTERS * (WORKERS + 1));
    CHECK_INT(w.sent.pod_posts, CLUSTERS * (WORKERS + 1));
    world_free(&w);
}

static uint32_t old_plans(const struct world *w)
{
    return inspect_old_plans(w->op, w->now.mono_ms - OPERATOR_PLAN_MS);
}

/* The plans of jobs take no place in the window of calls to the API server: they ask a dashboard. */
static void test_stalled(void)
{
    enum { JOBS = 4 * OPERATOR_DECISIONS, STALL_MS = 60 * 1000 };
    struct world w;
    struct slow slow = {.hooks = {.arrived = on_arrived, .stepped = on_stepped}};
    test_case("stopped for a minute with many plans under way: they are decided again in many steps");
    make_job_world(&w, false);
    board.run_ms = 0;
    apply(&w, "shared", 1);
    for (int i = 0; i < JOBS; i++)
        apply_job(&w, arena_printf(&w.arena, "j%d", i).ptr, "\"clusterSelector\":{\"ray.io/cluster\":\"shared\"},");
    for (int64_t until = w.now.mono_ms + 60 * 1000; board.taken < JOBS && w.now.mono_ms < until;)
        world_run(&w, 1000);
    CHECK_INT(board.taken, JOBS);
    apply(&w, "many", 0);
    world_run(&w, 1000);
    w.hooks = &slow.hooks;
    slow.post_ms = OPERATOR_PLAN_MS - 1000;
    scale(&w, "many", 200);
    world_run(&w, OPERATOR_PLAN_MS - 2000);
    w.process[0].frozen_until_ms = w.now.mono_ms + STALL_MS;
    world_run(&w, STALL_MS - 1);
    CHECK(old_plans(&w) > 2 * OPERATOR_DECISIONS);
    slow.post_ms = 0;
    slow.most = 0;
    world_run(&w, 10 * 1000);
    CHECK(slow.most <= 2 * OPERATOR_DECISIONS);
    CHECK_INT(old_plans(&w), 0);
    world_run(&w, 10 * 1000);
    CHECK_INT(pods_of(&w, "many"), 201);
    CHECK_INT(board.submits, JOBS);
    end_job_world(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_no_connection();
    test_turn();
    test_slow_path();
    test_fleet();
    test_stalled();
    return test_done();
}
