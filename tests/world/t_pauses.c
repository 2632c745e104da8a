/* A 5xx or 429 with Retry-After, as a webhook of one namespace may write it: its clusters keep the pause, and nobody else does. */
#include "scene.h"

static const char services_path[] = "/api/v1/namespaces/n/services", status_path[] = "/apis/ray.io/v1/namespaces/n/rayclusters/c/status";

/* Requests of one kind, and the log lines that tell of them. */
struct observer {
    struct world_hooks hooks; /* first */
    struct slice method, path;
    uint32_t count, lines;
    int64_t last_ms, first_pause_ms, shortest_ms;
};

static void sent(struct world_hooks *hooks, struct world_request *q)
{
    struct observer *o = (struct observer *)hooks;
    if (!slice_eq(q->method, o->method) || !slice_starts(q->target, o->path))
        return;
    int64_t pause_ms = q->began_ms - o->last_ms;
    o->last_ms = q->began_ms;
    if (o->count++ == 0)
        return;
    o->first_pause_ms = o->count == 2 ? pause_ms : o->first_pause_ms;
    o->shortest_ms = o->count == 2 || pause_ms < o->shortest_ms ? pause_ms : o->shortest_ms;
}

static void on_line(void *owner, struct slice line)
{
    struct observer *o = owner;
    o->lines += memmem(line.ptr, line.len, "call failed", 11) && memmem(line.ptr, line.len, "retry_in_ms=", 12);
}

static void fail(struct world *w, struct observer *o, int status, const char *method, const char *path, int seconds)
{
    *o = (struct observer){.hooks = {.sent = sent}, .method = slice_of(method), .path = slice_of(path)};
    w->hooks = &o->hooks;
    log_global.sink = on_line;
    log_global.owner = o;
    override(w, method, path, status, false, UINT32_MAX);
    apiserver_faults(w->server)->next.reason = "TooManyRequests"; /* of a 429: else it is flow control's, and for everybody */
    apiserver_faults(w->server)->next.retry_after_s = seconds;
}

static void finish(struct world *w)
{
    log_global.sink = NULL;
    world_free(w);
}

static const int statuses[] = {503, 429};

/* A longer one than the longest pause of our own is that long. */
static void test_kept(void)
{
    static const struct {
        const char *method, *path;
    } calls[] = {{"POST", pods_path}, {"PATCH", services_path}};
    static const struct {
        int seconds;
        int64_t pause_ms;
    } cases[] = {{5, 5000},
                 {30, 30 * 1000},
                 {OPERATOR_BACKOFF_MAX_MS / 1000, OPERATOR_BACKOFF_MAX_MS},
                 {OPERATOR_BACKOFF_MAX_MS / 1000 + 1, OPERATOR_BACKOFF_MAX_MS},
                 {3600, OPERATOR_BACKOFF_MAX_MS}};
    for (size_t i = 0; i < COUNT_OF(statuses) * COUNT_OF(calls) * COUNT_OF(cases); i++) {
        struct world w;
        struct observer o;
        int status = statuses[i % COUNT_OF(statuses)];
        size_t k = i / COUNT_OF(statuses);
        int seconds = cases[k / COUNT_OF(calls)].seconds;
        int64_t pause_ms = cases[k / COUNT_OF(calls)].pause_ms;
        const char *method = calls[k % COUNT_OF(calls)].method;
        test_case("%d to a %s, Retry-After: %d is kept, and told at once", status, method, seconds);
        make_world(&w, false);
        fail(&w, &o, status, method, calls[k % COUNT_OF(calls)].path, seconds);
        apply(&w, "c", 0);
        world_run(&w, 1000);
        CHECK_INT(o.count, 1);
        CHECK_INT(o.lines, 1);
        world_run(&w, 10 * pause_ms);
        CHECK(o.count >= 5);
        CHECK(o.shortest_ms >= pause_ms);
        CHECK(o.first_pause_ms <= pause_ms + pause_ms / 8 + 1000);
        apiserver_faults(w.server)->next.times = 0;
        world_run(&w, 2 * OPERATOR_BACKOFF_MAX_MS);
        CHECK(is_ready(&w, "c"));
        finish(&w);
    }
}

/* Pods do not wait for a status that is not taken. */
static void test_status(int status)
{
    enum { SECONDS = 30 };
    struct world w;
    struct observer o;
    test_case("%d to a status with Retry-After: it waits, and nothing else does", status);
    make_world(&w, false);
    apply(&w, "c", 1);
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    fail(&w, &o, status, "PATCH", status_path, SECONDS);
    scale(&w, "c", 3);
    world_run(&w, 2000);
    CHECK_INT(pods_of(&w, "c"), 4);
    world_run(&w, 10 * SECONDS * 1000);
    CHECK(o.count >= 5);
    CHECK(o.shortest_ms >= SECONDS * 1000);
    finish(&w);
}

/* Waiting for what goes away is no reason to ask sooner. */
static void test_left_over(int status)
{
    enum { SECONDS = 30 };
    static const char left_over[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"c-head-svc\",\"labels\":{\"ray.io/"
        "cluster\":\"c\"},\"finalizers\":["
        "\"example.com/stay\"],\"ownerReferences\":[{\"apiVersion\":\"ray.io/"
        "v1\",\"kind\":\"RayCluster\",\"name\":\"c\",\"uid\":\"00000000-0000-0000-0000-00000000dead\","
        "\"controller\":true}]},\"spec\":{\"selector\":{\"app\":\"theirs\"},\"ports\":[{\"name\":\"client\",\"port\":10001}]}}";
    struct world w;
    struct observer o;
    test_case("%d with Retry-After to a service that is that of a cluster which is gone: it is kept", status);
    make_world(&w, false);
    CHECK_INT(world_call(&w, "POST", services_path, "application/json", slice_of(left_over)), 201);
    world_run(&w, 5000);
    fail(&w, &o, status, "PATCH", services_path, SECONDS);
    apply(&w, "c", 0);
    world_run(&w, 5 * SECONDS * 1000);
    CHECK(o.count >= 3);
    CHECK(o.shortest_ms >= SECONDS * 1000);
    finish(&w);
}

/* As many calls as would fill the window, each told to come again later. */
static void test_others(int status)
{
    enum { CLUSTERS = KUBE_WINDOW_MAX + 20, WORKERS = 1 };
    static const int pauses[] = {5, 30, 120};
    static const char head_only[] =
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"x\"},\"spec\":{\"headGroupSpec\":{"
        "\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}}}}";
    for (size_t i = 0; i < COUNT_OF(pauses); i++) {
        struct apiserver_config config = {.seed = 1};
        struct world w;
        struct observer o;
        test_case("%d with Retry-After: %d to all pods of one namespace: another one's come at once", status, pauses[i]);
        world_init(&w, &config);
        make_namespace(&w);
        make_other_namespace(&w);
        make_crd(&w, "ray.io", "");
        launch_for_all(&w);
        fail(&w, &o, status, "POST", pods_path, pauses[i]);
        for (int k = 0; k < CLUSTERS; k++) {
            char name[16];
            snprintf(name, sizeof name, "c%d", k);
            apply(&w, name, WORKERS);
        }
        world_run(&w, 3000);
        CHECK(o.count >= KUBE_WINDOW_MAX);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
        CHECK_INT(world_call(&w, "POST", "/apis/ray.io/v1/namespaces/m/rayclusters", "application/json", slice_of(head_only)), 201);
        world_run(&w, 1000);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 1);
        finish(&w);
    }
}

int main(void)
{
    log_global.fd = -1;
    test_kept();
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        test_status(statuses[i]);
        test_left_over(statuses[i]);
        test_others(statuses[i]);
    }
    return test_done();
}
