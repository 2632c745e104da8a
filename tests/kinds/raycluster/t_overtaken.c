/* Pods that are given up as such that have not started or are not ready, and that are others by the time their DELETE comes to the API
 * server, because the watch has not told yet. */
#include "tests/world/scaled.h"

enum { LATE_MS = 120 * 1000, PODS = 5 };

/* What becomes of the DELETEs of pods. */
struct watcher {
    struct world_hooks hooks; /* first */
    uint32_t taken, refused;
    uint32_t versioned; /* of the taken: such that were for one version alone */
    uint32_t lines;     /* of the log, with a warning or an error */
    uint32_t as_shown;  /* of those: that a pod counts as it is shown */
};

static void answered(struct world_hooks *hooks, const struct world_request *q, int status, struct slice answer)
{
    struct watcher *t = (struct watcher *)hooks;
    (void)answer;
    if (!slice_eq(q->method, SLICE("DELETE")) || !slice_starts(q->target, slice_of(pods_path)))
        return;
    bool versioned = memmem(q->body.ptr, q->body.len, "\"resourceVersion\":\"", 19) != NULL;
    t->taken += status < 300;
    t->versioned += status < 300 && versioned;
    t->refused += status == 409;
}

static void on_line(void *owner, struct slice line)
{
    struct watcher *t = owner;
    t->lines += memmem(line.ptr, line.len, "level=warn", 10) || memmem(line.ptr, line.len, "level=error", 11);
    t->as_shown += memmem(line.ptr, line.len, "it counts as it is shown", 24) != NULL;
}

static void listen(struct watcher *t)
{
    log_global.sink = on_line;
    log_global.owner = t;
}

static void finish(struct world *w)
{
    log_global.sink = NULL;
    world_free(w);
}

static void set(struct world *w, const char *member, int value)
{
    struct slice path = arena_printf(&w->arena, "%s/c", v1);
    struct slice body = arena_printf(&w->arena, "[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/0/%s\",\"value\":%d}]", member, value);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/json-patch+json", body), 200);
}

static void begin(struct world *w, struct watcher *t, int hosts, const char *note)
{
    make_scaled_world(w, false);
    world_kill_operator(w);
    *t = (struct watcher){.hooks = {.answered = answered}};
    w->hooks = &t->hooks;
    head_of(w, "c")->unreachable = true;
    apply_scaled(w, &(struct scaled){.name = "c", .replicas = PODS, .max = 10, .idle = 300, .note = note});
    set(w, "numOfHosts", hosts);
    world_start_operator(w, false);
    world_run(w, 12 * 1000);
    CHECK_INT(workers_of(w, "c"), PODS * hosts);
    apiserver_faults(w->server)->no_streaming_lists = true; /* such a one waits for the cache, too */
}

/* They run, and the watch of pods is silent. */
static void test_started(void)
{
    struct world w;
    struct watcher t;
    test_case("a maximum is lowered, and pods run that are not known to: none is deleted, each is tried once");
    begin(&w, &t, 1, "\"fake.kubelet/ready-after\":\"20s\"");
    apiserver_hold_cache(w.server, SLICE("pods"), 0, LATE_MS);
    world_run(&w, 20 * 1000);
    listen(&t);
    set(&w, "maxReplicas", 2);
    world_run(&w, OPERATOR_DOUBT_MS - 2000);
    CHECK_INT(t.refused, PODS);
    CHECK_INT(t.taken, 0);
    CHECK_INT(t.lines, 0);
    test_case("then all are listed, and they are known to run");
    world_run(&w, 40 * 1000); /* as long as a status with mere counts may take */
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"availableWorkerReplicas\":5"));
    CHECK_INT(t.refused, PODS);
    CHECK_INT(t.taken, 0);
    test_case("they drain as soon as there is a head to ask");
    head_of(&w, "c")->unreachable = false;
    world_run(&w, 20 * 1000);
    CHECK_INT(workers_of(&w, "c"), 2);
    CHECK_INT(head_of(&w, "c")->accepted, 3);
    CHECK_INT(t.taken, 3);
    CHECK_INT(t.versioned, 0);
    finish(&w);
}

/* Somebody writes to them while their DELETEs are on their way; what they are does not change. */
static void test_touched(void)
{
    struct world w;
    struct watcher t;
    struct slice names[PODS];
    test_case("pods that were written to and have not started go as soon as the watch has told");
    begin(&w, &t, 1, "\"fake.kubelet/stuck\":\"Unschedulable\"");
    listen(&t);
    w.path.latency_ms = 500;
    world_run(&w, 5000);
    set(&w, "maxReplicas", 2);
    world_run(&w, 700);
    CHECK_INT(pod_names(&w, "worker", names, PODS), PODS);
    for (int i = 0; i < PODS; i++)
        annotate(&w, "pods", names[i].ptr, 1);
    world_run(&w, 3000);
    CHECK_INT(workers_of(&w, "c"), 2);
    CHECK_INT(t.refused, 3);
    CHECK_INT(t.taken, 3);
    CHECK_INT(t.versioned, 3);
    CHECK_INT(t.lines, 0);
    finish(&w);
}

/* A replica is one machine to its users: a host of it that runs keeps it. */
static void test_hosts(void)
{
    struct world w;
    struct watcher t;
    struct slice names[2 * PODS];
    test_case("one host of a replica runs, and is not known to");
    begin(&w, &t, 2, "\"fake.kubelet/stuck\":\"Unschedulable\"");
    CHECK_INT(pod_names(&w, "worker", names, 2 * PODS), 2 * PODS);
    apiserver_hold_cache(w.server, SLICE("pods"), 0, LATE_MS);
    struct slice path = arena_printf(&w.arena, "%s/%s/status", pods_path, names[0].ptr);
    CHECK_INT(world_call(&w, "PATCH", path.ptr, "application/merge-patch+json", SLICE("{\"status\":{\"phase\":\"Running\"}}")), 200);
    set(&w, "maxReplicas", 0);
    world_run(&w, 60 * 1000);
    CHECK_INT(t.refused, 1);
    CHECK_INT(t.versioned, t.taken);
    CHECK(says(&w, "pods", names[0].ptr, "\"Running\""));
    CHECK(!says(&w, "pods", names[0].ptr, "deletionTimestamp"));
    CHECK_INT(workers_of(&w, "c"), 2); /* with its mate, which was made again */
    finish(&w);
}

/* As a webhook may. */
static void test_refused(void)
{
    struct world w;
    struct watcher t;
    test_case("a server that says so of pods that nobody has changed is asked again at leisure");
    begin(&w, &t, 1, "\"fake.kubelet/stuck\":\"Unschedulable\"");
    struct apiserver_override *next = &apiserver_faults(w.server)->next;
    *next = (struct apiserver_override){.method = SLICE("DELETE"), .status = 409, .reason = "Conflict", .times = UINT32_MAX};
    listen(&t);
    set(&w, "maxReplicas", 2);
    world_run(&w, 60 * 1000);
    CHECK(t.refused > PODS && t.refused <= 3 * PODS);
    CHECK(t.lines > 0 && t.lines <= 2);
    CHECK(t.as_shown > 0);
    CHECK_INT(workers_of(&w, "c"), PODS);
    next->times = 0;
    world_run(&w, OPERATOR_DOUBT_MS + 5000);
    CHECK_INT(workers_of(&w, "c"), 2);
    CHECK_INT(t.taken, 3);
    finish(&w);
}

/* ---- clusters that nobody scales ---- */

static void make_ready(struct world *w, struct slice pod)
{
    static const char ready[] = "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}";
    struct slice path = arena_printf(&w->arena, "%s/%s/status", pods_path, pod.ptr);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", slice_of(ready)), 200);
}

/* Replicas are lowered when all workers are ready but those of the first replica, and of none it is known. */
static void unscaled(struct world *w, struct watcher *t, int hosts, int replicas, struct slice *names)
{
    begin(w, t, hosts, "\"fake.kubelet/stuck\":\"Unschedulable\"");
    CHECK_INT(world_call(w, "PATCH", arena_printf(&w->arena, "%s/c", v1).ptr, "application/merge-patch+json",
                         SLICE("{\"spec\":{\"enableInTreeAutoscaling\":false}}")),
              200);
    world_run(w, 3000);
    CHECK_INT(pod_names(w, "worker", names, 2 * PODS), PODS * hosts);
    apiserver_hold_cache(w->server, SLICE("pods"), 0, LATE_MS);
    for (int i = hosts; i < PODS * hosts; i++)
        make_ready(w, names[i]);
    listen(t);
    scale(w, "c", replicas);
    world_run(w, OPERATOR_DOUBT_MS - 2000);
}

static void test_surplus(void)
{
    struct world w;
    struct watcher t;
    struct slice names[2 * PODS];
    test_case("one replica too many, and all but one are ready, which is not known: each is tried, and only that one goes");
    unscaled(&w, &t, 1, PODS - 1, names);
    CHECK_INT(t.taken, 1);
    CHECK_INT(t.versioned, 1);
    CHECK_INT(t.refused, PODS - 1);
    CHECK_INT(t.lines, 0);
    CHECK_INT(workers_of(&w, "c"), PODS - 1);
    CHECK(!says(&w, "pods", names[0].ptr, names[0].ptr));
    finish(&w);

    test_case("three too many: who is not ready goes, and others when it is known that they are");
    unscaled(&w, &t, 1, PODS - 3, names);
    CHECK_INT(t.taken, 1);
    CHECK_INT(workers_of(&w, "c"), PODS - 1);
    world_run(&w, 40 * 1000);
    CHECK_INT(workers_of(&w, "c"), PODS - 3);
    CHECK_INT(t.taken, 3);
    CHECK_INT(t.versioned, 1);
    CHECK_INT(t.refused, PODS - 1);
    CHECK_INT(t.lines, 0);
    finish(&w);

    test_case("none is to stay: all go at once, whatever they are");
    unscaled(&w, &t, 1, 0, names);
    CHECK_INT(t.taken, PODS);
    CHECK_INT(t.versioned + t.refused, 0);
    finish(&w);
}

static void test_surplus_hosts(void)
{
    struct world w;
    struct watcher t;
    struct slice names[2 * PODS];
    test_case("one replica of several hosts too many: that one goes whose hosts are not ready");
    unscaled(&w, &t, 2, PODS - 1, names);
    CHECK_INT(t.taken, 2);
    CHECK_INT(t.versioned, 2);
    CHECK_INT(t.refused, 2 * (PODS - 1));
    CHECK_INT(t.lines, 0);
    CHECK_INT(workers_of(&w, "c"), 2 * (PODS - 1));
    CHECK(!says(&w, "pods", names[0].ptr, names[0].ptr) && !says(&w, "pods", names[1].ptr, names[1].ptr));
    finish(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_started();
    test_touched();
    test_hosts();
    test_refused();
    test_surplus();
    test_surplus_hosts();
    return test_done();
}
