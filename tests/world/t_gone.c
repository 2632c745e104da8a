/* A cluster that is gone: what waits to be sent for it, for the first time or again, is not sent any more. It names the old cluster as the
 * owner of what it writes, and most often there is another one of that name by then: a service that is applied so changes hands, and the
 * garbage collector takes it. And what is answered then does not bring it back. */
#include "jobs.h"

#include <mobula/inspect.h>

static const char cluster_path[] = "/apis/ray.io/v1/namespaces/n/rayclusters/c";

/* Looks on: what is written for an owner whose end the operator has seen. */
struct onlooker {
    struct world_hooks hooks; /* first */
    char uid[UID_TEXT_MAX + 1];
    uint32_t named, late; /* requests with that uid; of those, such that came too late */
};

static void on_sent(struct world_hooks *h, struct world_request *q)
{
    struct onlooker *l = (struct onlooker *)h;
    if (!world_is_write(q) || !memmem(q->body.ptr, q->body.len, l->uid, strlen(l->uid)))
        return;
    struct inspect_record c;
    l->named++;
    l->late += !inspect_record(q->from->op, slice_of(l->uid), SLICE("n"), &c) || !c.present;
}

static void remake(struct world *w)
{
    CHECK_INT(world_call(w, "DELETE", cluster_path, "application/json", SLICE("{}")), 200);
    apply(w, "c", 3);
}

/* Nothing of the old one is left behind, in the store or in memory. */
static void check_end(struct world *w, const struct onlooker *l)
{
    CHECK(l->named > 0);
    CHECK_INT(l->late, 0);
    CHECK(is_ready(w, "c"));
    CHECK_INT(apiserver_count(w->server, SLICE("pods")), 4);
    CHECK_INT(apiserver_count(w->server, SLICE("services")), 2);
    CHECK(says(w, "services", "c-head-svc", arena_printf(&w->arena, "%.*s", SLICE_ARG(status_of(w, "c", "metadata.uid"))).ptr));
    CHECK_INT(inspect_figures(w->op).calls, 0);
    CHECK_INT(inspect_figures(w->op).records, 1);
}

static const struct {
    const char *id, *method, *path;
    int status, retry_after_s;
    int64_t latency_ms;
} waits[] = {
    {"services wait for a Retry-After", "PATCH", "/api/v1/namespaces/n/services", 429, 5, 0},
    {"services wait to be sent again", "PATCH", "/api/v1/namespaces/n/services", 503, 5, 0},
    {"the answers to services were lost", "PATCH", "/api/v1/namespaces/n/services", 0, 0, 0},
    {"pods wait for a Retry-After", "POST", pods_path, 429, 5, 0},
    {"pods wait to be sent again", "POST", pods_path, 503, 5, 0},
    {"connections open", "", "", 0, 0, 400},
};

static void test_remade(void)
{
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        struct world w;
        struct onlooker l = {.hooks.sent = on_sent};
        test_case("made again while %s", waits[i].id);
        make_world(&w, false);
        world_run(&w, 2000);
        w.hooks = &l.hooks;
        w.path.latency_ms = waits[i].latency_ms;
        override(&w, waits[i].method, waits[i].path, waits[i].status, false, waits[i].method[0] ? 40 : 0);
        apiserver_faults(w.server)->next.retry_after_s = waits[i].retry_after_s;
        apply(&w, "c", 3);
        slice_copy(status_of(&w, "c", "metadata.uid"), l.uid, sizeof l.uid);
        world_run(&w, 50);
        remake(&w);
        apiserver_faults(w.server)->next.times = 0;
        world_run(&w, 2 * waits[i].latency_ms + 20 * 1000);
        w.path.latency_ms = 0;
        world_run(&w, 10 * 1000);
        check_end(&w, &l);
        w.hooks = NULL;
        world_free(&w);
    }
}

/* Not every end is one: a server that has just started may say of a resource that there is none. What was to go, and was not told so, is
 * nobody's doing then. */
static void test_comes_back(void)
{
    struct world w;
    test_case("a DELETE waits to be sent again while the server says that there are no RayClusters");
    make_world(&w, false);
    apply(&w, "c", 3);
    world_run(&w, 5000);
    override(&w, "DELETE", pods_path, 0, false, 40);
    scale(&w, "c", 2);
    world_run(&w, 1000);
    uint32_t ours = 0;
    struct inspect_pod p;
    for (uint32_t i = 0; inspect_pods(w.op, &i, &p);)
        ours += p.by_us;
    CHECK_INT(ours, 1);
    CHECK_INT(inspect_figures(w.op).calls, 1);
    override(&w, "GET", v1, 404, false, 1000);
    apiserver_drop_watches(w.server, SLICE("rayclusters.ray.io"), true);
    world_run(&w, 5000);
    CHECK_INT(inspect_figures(w.op).calls, 0);
    uint32_t asked = 0;
    for (uint32_t i = 0; inspect_pods(w.op, &i, &p); asked += p.pod->ours.asked)
        CHECK(!p.by_us && !p.present);
    CHECK_INT(asked, 1); /* its answer was lost: it may be going */
    apiserver_faults(w.server)->next.times = 0;
    world_run(&w, 60 * 1000);
    CHECK_INT(pods_of(&w, "c"), 3);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

/* Delays the answer to the first POST of a cluster. */
struct delayed {
    struct onlooker onlooker; /* first */
    int64_t ms, arrived_ms;
};

static void on_arrived(struct world_hooks *h, struct world_request *q)
{
    struct delayed *d = (struct delayed *)h;
    if (d->arrived_ms || !slice_eq(q->method, SLICE("POST")) || !slice_starts(q->target, slice_of(v1)))
        return;
    q->delay_ms = d->ms;
    d->arrived_ms = q->world->now.mono_ms;
}

static bool cluster_of_job(const struct world *w, struct inspect_record *c)
{
    for (uint32_t i = 0; inspect_records(w->op, &i, c);)
        if (strcmp(c->kind, "rayclusters.ray.io") == 0)
            return true;
    return false;
}

/* A job has made its cluster, and hears of it from the watch, its end included, before the answer comes. The record stays as long as pods
 * of the cluster do. */
static void test_answered_late(void)
{
    enum { DELETED_MS = 1000, ANSWERED_MS = DELETED_MS + 100 }; /* its pods go after 200 */
    struct world w;
    struct delayed d = {.onlooker.hooks = {.sent = on_sent, .arrived = on_arrived}, .ms = ANSWERED_MS};
    test_case("the answer to the POST of a job's cluster comes when that has been deleted");
    make_job_world(&w, false);
    world_run(&w, 2000);
    slice_copy(SLICE("nobody"), d.onlooker.uid, sizeof d.onlooker.uid);
    w.hooks = &d.onlooker.hooks;
    apply_job(&w, "j", "");
    for (int i = 0; i < 5000 && !d.arrived_ms; i++)
        world_run(&w, 1);
    world_run(&w, d.arrived_ms + DELETED_MS - w.now.mono_ms);
    struct inspect_record c;
    if (CHECK(cluster_of_job(&w, &c) && c.present)) {
        slice_copy(c.uid, d.onlooker.uid, sizeof d.onlooker.uid);
        struct slice path = arena_printf(&w.arena, "%s/%.*s", v1, SLICE_ARG(c.name));
        CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{}")), 200);
    }
    world_run(&w, 50);
    CHECK(inspect_record(w.op, slice_of(d.onlooker.uid), SLICE("n"), &c) && !c.present && c.pods);
    CHECK_INT(inspect_figures(w.op).calls, 1); /* the answer is still to come */
    world_run(&w, 60);
    CHECK(inspect_record(w.op, slice_of(d.onlooker.uid), SLICE("n"), &c) && !c.present && c.pods);
    CHECK(run_until(&w, "j", "Complete", 60 * 1000)); /* on a cluster that was made again */
    CHECK_INT(d.onlooker.named, 0);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 2);
    CHECK_INT(inspect_figures(w.op).records, 2);
    w.hooks = NULL;
    end_job_world(&w);
}

/* KubeRay has left its promise to empty Redis on a cluster. */
static void test_redis_finalizer(void)
{
    static const char keep[] = "{\"metadata\":{\"finalizers\":[\"ray.io/gcs-ft-redis-cleanup-finalizer\"%s],\"annotations\":{%s}}}";
    static const struct {
        const char *id, *other, *annotation;
        int wait_s;
    } cases[] = {
        {"five minutes", "", "", 300},
        {"as long as its annotation says", "", "\"ray.io/gcs-ft-deletion-timeout\":\"20\"", 20},
        {"five minutes, where the annotation is no number", "", "\"ray.io/gcs-ft-deletion-timeout\":\"-1\"", 300},
        {"and another's finalizer stays", ",\"example.com/stay\"", "\"ray.io/gcs-ft-deletion-timeout\":\"20\"", 20},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("a cluster with KubeRay's Redis finalizer is deleted: its pods go, then it does, after %s", cases[i].id);
        make_world(&w, false);
        apply(&w, "c", 3);
        world_run(&w, 5000);
        struct slice body = arena_printf(&w.arena, keep, cases[i].other, cases[i].annotation);
        CHECK_INT(world_call(&w, "PATCH", cluster_path, "application/merge-patch+json", body), 200);
        CHECK_INT(world_call(&w, "DELETE", cluster_path, "application/json", SLICE("{}")), 200);
        world_run(&w, 5000);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
        CHECK(says(&w, "rayclusters.ray.io", "c", "\"RedisCleaned\""));
        world_run(&w, (cases[i].wait_s - 7) * 1000);
        CHECK(says(&w, "rayclusters.ray.io", "c", "gcs-ft-redis-cleanup-finalizer\"]") || cases[i].other[0]);
        world_run(&w, 7000);
        CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), cases[i].other[0] != '\0');
        CHECK(!says(&w, "rayclusters.ray.io", "c", "\"ray.io/gcs-ft-redis-cleanup-finalizer\""));
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
        check_fixed_point(&w);
        world_free(&w);
    }
}

int main(void)
{
    log_global.fd = -1;
    test_remade();
    test_comes_back();
    test_answered_late();
    test_redis_finalizer();
    return test_done();
}
