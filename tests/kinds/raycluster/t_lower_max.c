/* Workers above a maximum that was lowered, and workers that nobody wanted by the time they came: neither goes but by the autoscaler's
 * ways, a drain that was accepted or ten seconds of not having started. */
#include "tests/world/scaled.h"

enum { GONE_MS = 10 * 1000, ROUNDS = 24, TURNS = 14, MOST = 6 };

/* Every DELETE of a worker is looked at as it comes to the server. */
struct watcher {
    struct world_hooks hooks; /* first */
    uint32_t undrained;       /* of such that ran, and whose raylet had not ended */
};

static void arrived(struct world_hooks *hooks, struct world_request *q)
{
    struct watcher *t = (struct watcher *)hooks;
    struct slice name = q->target;
    if (!slice_eq(q->method, SLICE("DELETE")) || !slice_starts(name, SLICE("/api/v1/namespaces/n/pods/")))
        return;
    name = slice_skip(name, strlen("/api/v1/namespaces/n/pods/"));
    name = slice_cut(&name, '?');
    for (const struct fakeray_pod *p = q->world->rays->pods; p; p = p->next)
        t->undrained += !p->head && p->runs && !p->ended && slice_eq(slice_of(p->name), name);
}

static void patch(struct world *w, const char *kind, const char *name, const char *member, int value)
{
    struct slice path = arena_printf(&w->arena, "%s/%s", kind, name);
    struct slice body = arena_printf(&w->arena, "[{\"op\":\"replace\",\"path\":\"/spec/%s\",\"value\":%d}]", member, value);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/json-patch+json", body), 200);
}

static void lower(struct world *w, const char *name, int max)
{
    patch(w, v1, name, "workerGroupSpecs/0/maxReplicas", max);
}

/* Six workers, three of which work: idle ones go first, and then such that work, as nobody can refuse that. */
static void test_lowered(void)
{
    struct world w;
    test_case("above a lowered maxReplicas: idle nodes drain, those that work stay");
    make_scaled_world(&w, false);
    struct watcher t = {.hooks = {.arrived = arrived}};
    w.hooks = &t.hooks;
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = 6, .max = 10, .idle = 300});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 4000);
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    world_run(&w, 4000);
    CHECK_INT(fakeray_nodes(h), 6);
    lower(&w, "c", 4);
    world_run(&w, GONE_MS);
    CHECK_INT(workers_of(&w, "c"), 4);
    CHECK_INT(h->accepted, 2);
    CHECK_INT(h->preempted, 0);
    CHECK_INT(h->works[0].waiting, 0);
    test_case("one that works goes when there is no other");
    lower(&w, "c", 2);
    world_run(&w, GONE_MS);
    CHECK_INT(workers_of(&w, "c"), 2);
    CHECK_INT(h->accepted, 4);
    CHECK_INT(h->preempted, 1);
    CHECK_INT(t.undrained, 0);
    CHECK_STR(scaling_condition(&w, "c", "reason"), "DemandUnmet");
    world_free(&w);
}

static void test_lowered_old(bool of_type)
{
    struct world w;
    test_case("above a lowered maxWorkers of %s", of_type ? "a type" : "the cluster, down to its minimum");
    make_scaled_world(&w, false);
    struct watcher t = {.hooks = {.arrived = arrived}};
    w.hooks = &t.hooks;
    apply_old(&w, &(struct old){.name = "old", .min = 2, .max = 9, .workers = 8, .idle = 5});
    struct fakeray *h = fakeray_of(&w, "cluster.ray.io", "n", "old");
    world_run(&w, 5000);
    fakeray_work(h, 0, FAKERAY_CPUS, 6, false);
    world_run(&w, 5000);
    CHECK_INT(fakeray_nodes(h), 6);
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    world_run(&w, 2000);
    patch(&w, old_kind, "old", of_type ? "podTypes/1/maxWorkers" : "maxWorkers", 4);
    world_run(&w, GONE_MS);
    CHECK_INT(workers_of(&w, "old"), 4);
    CHECK_INT(h->accepted, 2);
    CHECK_INT(h->preempted, 0);
    patch(&w, old_kind, "old", of_type ? "podTypes/1/maxWorkers" : "maxWorkers", 2);
    world_run(&w, GONE_MS);
    CHECK_INT(workers_of(&w, "old"), 2);
    CHECK_INT(h->accepted, 4);
    CHECK_INT(h->preempted, 1);
    CHECK_INT(t.undrained, 0);
    world_free(&w);
}

static void test_refused(void)
{
    struct world w;
    test_case("nothing goes that does not drain, and none comes in its place");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = 5, .max = 5, .idle = 300});
    struct fakeray *h = head_of(&w, "c");
    h->refuses = true;
    world_run(&w, 5000);
    fakeray_work(h, 0, FAKERAY_CPUS, 5, false);
    lower(&w, "c", 2);
    world_run(&w, 60 * 1000);
    CHECK_INT(workers_of(&w, "c"), 5);
    CHECK_INT(w.sent.deletes, 0);
    struct slice names[5];
    CHECK_INT(pod_names(&w, "worker", names, 5), 5);
    CHECK_INT(world_call(&w, "DELETE", arena_printf(&w.arena, "%s/%s", pods_path, names[0].ptr).ptr, "application/json", SLICE("{}")), 200);
    world_run(&w, 10 * 1000);
    CHECK_INT(workers_of(&w, "c"), 4);
    h->refuses = false;
    world_run(&w, GONE_MS);
    CHECK_INT(workers_of(&w, "c"), 2);
    CHECK_INT(h->accepted, 2);
    world_free(&w);
}

/* A preempted node of Ray ends when its work does, and some work never does. */
static void test_lingers(void)
{
    struct world w;
    test_case("a node above the maximum that has agreed to go and does not has its time, and no more");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = 3, .max = 5, .idle = 300});
    struct fakeray *h = head_of(&w, "c");
    h->lingers = true;
    world_run(&w, 5000);
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    world_run(&w, 2000);
    lower(&w, "c", 1);
    world_run(&w, SCALE_PREEMPT_MS - 2000);
    CHECK_INT(h->preempted, 2);
    CHECK_INT(workers_of(&w, "c"), 3);
    world_run(&w, 6000);
    CHECK_INT(workers_of(&w, "c"), 1);
    CHECK_INT(h->preempted, 2);
    CHECK_INT(fakeray_nodes(h), 1);
    world_free(&w);
}

/* Nothing that runs goes without a word of the head; what cannot run does not need one. */
static void test_unheard(void)
{
    struct world w;
    test_case("a maximum is lowered while the head is silent: pods that have not started go");
    make_scaled_world(&w, false);
    head_of(&w, "c")->unreachable = true;
    head_of(&w, "d")->unreachable = true;
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = 5, .note = "\"fake.kubelet/stuck\":\"Unschedulable\""});
    apply_scaled(&w, &(struct scaled){.name = "d", .replicas = 5});
    world_run(&w, 60 * 1000);
    lower(&w, "c", 2);
    lower(&w, "d", 2);
    world_run(&w, GONE_MS);
    CHECK_INT(workers_of(&w, "c"), 2);
    CHECK_INT(workers_of(&w, "d"), 5);
    CHECK_INT(w.sent.deletes, 3);
    world_run(&w, 70 * 1000);
    check_fixed_point(&w);
    world_free(&w);
}

/* What was ordered and is not yet seen counts for nothing when demand ends: it is not ten seconds less welcome for that. */
static void test_in_flight(void)
{
    struct world w;
    test_case("demand ends while the pods for it are on their way");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .idle = 300, .note = "\"fake.kubelet/ready-after\":\"90s\""});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 5000);
    w.path.latency_ms = 1500;
    fakeray_work(h, 0, FAKERAY_CPUS, 3, false);
    while (w.sent.pod_posts < 4)
        world_step(&w, w.now.mono_ms + 5);
    fakeray_work(h, 0, 0, 0, false);
    world_run(&w, 8000);
    CHECK_INT(workers_of(&w, "c"), 3);
    CHECK_INT(w.sent.deletes, 0);
    world_run(&w, SCALE_CANCEL_MS + 5000);
    CHECK_INT(workers_of(&w, "c"), 0);
    CHECK_INT(w.sent.pod_posts, 4);
    world_free(&w);
}

/* ---- whatever happens ---- */

static void take_turn(struct world *w, struct fakeray *h, struct rng *r, int *max)
{
    switch (rng_below(r, 6)) {
    case 0:
    case 1:
        *max = (int)rng_below(r, MOST + 1);
        lower(w, "c", *max);
        break;
    case 2:
    case 3:
        fakeray_work(h, 0, FAKERAY_CPUS, (uint32_t)rng_below(r, MOST + 2), false);
        break;
    case 4:
        h->refuses = !h->refuses;
        break;
    case 5:
        world_kill_operator(w);
        world_run(w, (int64_t)rng_below(r, 3000));
        world_start_operator(w, false);
    }
    world_run(w, 1 + (int64_t)rng_below(r, 15 * 1000));
}

static void test_any(uint64_t seed)
{
    struct world w;
    struct rng r;
    int max = MOST;
    test_case("any maximum, any demand: seed %d", (int)seed);
    rng_seed(&r, seed);
    make_scaled_world(&w, false);
    struct watcher t = {.hooks = {.arrived = arrived}};
    w.hooks = &t.hooks;
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = (int)rng_below(&r, MOST), .max = max, .idle = 8});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 5000);
    for (int i = 0; i < TURNS; i++)
        take_turn(&w, h, &r, &max);
    h->refuses = false;
    world_run(&w, 60 * 1000);
    uint32_t work = h->works[0].count, want = work < (uint32_t)max ? work : (uint32_t)max;
    CHECK_INT(workers_of(&w, "c"), want);
    CHECK_INT(h->works[0].waiting, work - want);
    CHECK_INT(t.undrained, 0);
    CHECK_INT(h->strange, 0);
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_lowered();
    test_lowered_old(true);
    test_lowered_old(false);
    test_refused();
    test_lingers();
    test_unheard();
    test_in_flight();
    for (uint64_t seed = 1; seed <= ROUNDS; seed++)
        test_any(seed);
    return test_done();
}
