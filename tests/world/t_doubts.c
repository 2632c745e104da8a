/* A DELETE is answered 404, by a webhook or a gateway, and the pod stays, or the service, for as long as anybody looks. It is asked for
 * ever more rarely, because each time all of them are listed; nothing that is told of the cluster changes with it. */
#include "scene.h"

enum { MINUTE_MS = 60 * 1000 };

static const char one_cluster[] = "/apis/ray.io/v1/namespaces/n/rayclusters/c", services_path[] = "/api/v1/namespaces/n/services";

struct observer {
    struct world_hooks hooks; /* first */
    const char *path;
    uint32_t deletes, lists, lines;
    int64_t last_ms, pause_ms; /* the last DELETE, and how long the one before it was ago */
};

static void sent(struct world_hooks *hooks, struct world_request *q)
{
    struct observer *o = (struct observer *)hooks;
    if (!slice_starts(q->target, slice_of(o->path)))
        return;
    o->lists += slice_eq(q->method, SLICE("GET")) && !strstr(q->target.ptr, "watch=1");
    if (!slice_eq(q->method, SLICE("DELETE")))
        return;
    o->deletes++;
    o->pause_ms = o->last_ms ? q->began_ms - o->last_ms : 0;
    o->last_ms = q->began_ms;
}

static void on_line(void *owner, struct slice line)
{
    struct observer *o = owner;
    o->lines += memmem(line.ptr, line.len, " is not there, but shows it", 27) != NULL;
}

static void begin_of(struct world *w, struct observer *o, const char *path)
{
    make_world(w, false);
    apply(w, "c", 1);
    apiserver_faults(w->server)->no_streaming_lists = true;
    world_run(w, 5000);
    CHECK(is_ready(w, "c"));
    *o = (struct observer){.hooks = {.sent = sent}, .path = path};
    w->hooks = &o->hooks;
    log_global.sink = on_line;
    log_global.owner = o;
    override(w, "DELETE", path, 404, false, UINT32_MAX);
}

/* A cluster whose one worker is not wanted any more, and does not go. */
static void begin(struct world *w, struct observer *o)
{
    begin_of(w, o, pods_path);
    scale(w, "c", 0);
}

/* Another head service is wanted in the place of the one that is there, which does not go. */
static void want_address(struct world *w, const char *name)
{
    struct slice path = arena_printf(&w->arena, "%s/%s", v1, name);
    struct slice patch = SLICE("{\"spec\":{\"headGroupSpec\":{\"serviceType\":\"NodePort\"}}}");
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", patch), 200);
}

static void finish(struct world *w)
{
    log_global.sink = NULL;
    world_free(w);
}

static void test_pauses(void)
{
    struct world w;
    struct observer o;
    test_case("a DELETE that is answered 404 for ever: the second one follows the first after a list");
    begin(&w, &o);
    world_run(&w, OPERATOR_DOUBT_MS - 1000);
    CHECK_INT(o.deletes, 1);
    CHECK_INT(o.lists, 0);
    world_run(&w, 2000);
    CHECK_INT(o.deletes, 2);
    CHECK_INT(o.lists, 1);
    test_case("… and each pause is twice the one before");
    world_run(&w, 2 * OPERATOR_DOUBT_MS);
    CHECK_INT(o.deletes, 3);
    CHECK(o.pause_ms >= 2 * OPERATOR_DOUBT_MS && o.pause_ms < 2 * OPERATOR_DOUBT_MS + 1000);
    world_run(&w, 4 * OPERATOR_DOUBT_MS);
    CHECK_INT(o.deletes, 4);
    CHECK(o.pause_ms >= 4 * OPERATOR_DOUBT_MS && o.pause_ms < 4 * OPERATOR_DOUBT_MS + 1000);
    CHECK_INT(o.lines, 2); /* one a minute */
    test_case("… up to the longest, which stays");
    world_run(&w, 20 * MINUTE_MS);
    for (int i = 0; i < 3; i++) {
        uint32_t deletes = o.deletes, lists = o.lists;
        world_run(&w, OPERATOR_DOUBT_MAX_MS + 2000);
        CHECK_INT(o.deletes, deletes + 1);
        CHECK_INT(o.lists, lists + 1);
        CHECK(o.pause_ms >= OPERATOR_DOUBT_MAX_MS && o.pause_ms < OPERATOR_DOUBT_MAX_MS + 1000);
    }
    test_case("… and when somebody deletes it at last, all is well");
    apiserver_faults(w.server)->next.times = 0;
    world_run(&w, OPERATOR_DOUBT_MAX_MS + 2000);
    CHECK_INT(pods_of(&w, "c"), 1);
    CHECK(is_ready(&w, "c"));
    finish(&w);
}

/* It is there, and one too many: that is told once. */
static void test_status(void)
{
    struct world w;
    struct observer o;
    test_case("status does not change with what is said of a pod that stays");
    begin(&w, &o);
    world_run(&w, MINUTE_MS); /* progress is told once a minute */
    CHECK(is_ready(&w, "c")); /* it scales down */
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"availableWorkerReplicas\":1"));
    uint32_t patches = w.sent.patches, events = w.sent.events;
    world_run(&w, 30 * MINUTE_MS);
    CHECK_INT(w.sent.patches, patches);
    CHECK_INT(w.sent.events, events);
    CHECK(o.deletes > 6);
    finish(&w);
}

/* What was disproved of one version of a pod, or for one spec, says nothing of the next. */
static void test_news(void)
{
    struct world w;
    struct observer o;
    struct slice names[1];
    test_case("a pod that has changed is asked for as at first");
    begin(&w, &o);
    world_run(&w, 20 * MINUTE_MS);
    CHECK_INT(pod_names(&w, "worker", names, 1), 1);
    uint32_t deletes = o.deletes;
    annotate(&w, "pods", names[0].ptr, 1);
    world_run(&w, OPERATOR_DOUBT_MS + 1000);
    CHECK_INT(o.deletes, deletes + 1);
    world_run(&w, 2 * OPERATOR_DOUBT_MS + 1000);
    CHECK_INT(o.deletes, deletes + 2);
    CHECK(o.pause_ms >= 2 * OPERATOR_DOUBT_MS && o.pause_ms < 2 * OPERATOR_DOUBT_MS + 1000);
    test_case("a pod that is wanted again counts soon, and goes at once when it is not");
    world_run(&w, 20 * MINUTE_MS);
    scale(&w, "c", 1);
    world_run(&w, OPERATOR_DOUBT_MS + 1000);
    CHECK(is_ready(&w, "c"));
    apiserver_faults(w.server)->next.times = 0;
    scale(&w, "c", 0);
    world_run(&w, 2000);
    CHECK_INT(pods_of(&w, "c"), 1);
    finish(&w);
}

/* Pods that were doubted together, a little apart. */
static void test_many(void)
{
    struct world w;
    struct observer o;
    test_case("one list is for all that was in doubt before it");
    begin(&w, &o);
    w.path.jitter_ms = 400;
    scale(&w, "c", 20);
    world_run(&w, 20 * MINUTE_MS);
    uint32_t deletes = o.deletes, lists = o.lists;
    struct slice suspend = SLICE("{\"spec\":{\"suspend\":true}}");
    CHECK_INT(world_call(&w, "PATCH", one_cluster, "application/merge-patch+json", suspend), 200);
    world_run(&w, OPERATOR_DOUBT_MS + 5000);
    CHECK_INT(o.deletes, deletes + 2 * 21);
    CHECK_INT(o.lists, lists + 1);
    finish(&w);
}

/* A 409 says that a pod of that uid is not there any more, as the watch tells in a moment: or a webhook says it, for as long as it likes.
 */
static void test_conflict(void)
{
    enum { MINUTES = 10 };
    struct world w;
    struct observer o;
    test_case("a DELETE by uid that is answered 409 for ever is sent ever more rarely");
    begin(&w, &o);
    apiserver_faults(w.server)->next.status = 409;
    apiserver_faults(w.server)->next.reason = "Conflict";
    world_run(&w, MINUTE_MS);
    CHECK(o.deletes >= 5 && o.deletes <= 10);
    uint32_t deletes = o.deletes;
    world_run(&w, MINUTES * MINUTE_MS);
    CHECK(o.deletes - deletes >= MINUTES && o.deletes - deletes <= 2 * MINUTES + 1);
    CHECK_INT(o.lists, 0);
    test_case("… and when it is taken at last, all is well");
    apiserver_faults(w.server)->next.times = 0;
    world_run(&w, OPERATOR_BACKOFF_MAX_MS + 2000);
    CHECK_INT(pods_of(&w, "c"), 1);
    CHECK(is_ready(&w, "c"));
    finish(&w);
}

static void test_service(void)
{
    struct world w;
    struct observer o;
    struct slice names[4];
    test_case("a DELETE of a service that is answered 404 for ever: a list at once, and then ever longer pauses");
    begin_of(&w, &o, services_path);
    want_address(&w, "c");
    world_run(&w, 2000);
    CHECK_INT(o.deletes, 2);
    CHECK_INT(o.lists, 1);
    CHECK_INT(o.lines, 1);
    world_run(&w, 2 * OPERATOR_DOUBT_MS);
    CHECK_INT(o.deletes, 3);
    CHECK(o.pause_ms >= 2 * OPERATOR_DOUBT_MS && o.pause_ms < 2 * OPERATOR_DOUBT_MS + 1000);
    test_case("… and meanwhile the cluster is looked after at once");
    scale(&w, "c", 3);
    world_run(&w, 1000);
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), 3);
    world_run(&w, 30 * MINUTE_MS);
    uint32_t deletes = o.deletes, lists = o.lists;
    world_run(&w, 4 * OPERATOR_DOUBT_MAX_MS);
    CHECK_INT(o.deletes, deletes + 4);
    CHECK_INT(o.lists, lists + 4);
    test_case("… a change of the spec is a reason to ask soon");
    scale(&w, "c", 2);
    world_run(&w, OPERATOR_DOUBT_MS + 1000);
    CHECK_INT(o.deletes, deletes + 5);
    test_case("… and when it is taken at last, the other service comes");
    apiserver_faults(w.server)->next.times = 0;
    world_run(&w, 2 * OPERATOR_DOUBT_MS + 2000);
    CHECK(says(&w, "services", "c-head-svc", "\"NodePort\""));
    CHECK(is_ready(&w, "c"));
    world_run(&w, MINUTE_MS);
    check_fixed_point(&w);
    finish(&w);
}

/* Their pods come and go all the time, which is not to be paid for with lists of services. */
static void test_services_of_many(void)
{
    enum { CLUSTERS = 10, STEPS = 60, STEP_MS = 5000 };
    struct world w;
    struct observer o;
    char name[16];
    test_case("the services of many busy clusters are said not to be there: no list for each change of a spec");
    begin_of(&w, &o, services_path);
    for (int i = 0; i < CLUSTERS; i++) {
        snprintf(name, sizeof name, "c%d", i);
        apply(&w, name, 1);
    }
    world_run(&w, MINUTE_MS);
    for (int i = 0; i < CLUSTERS; i++) {
        snprintf(name, sizeof name, "c%d", i);
        want_address(&w, name);
    }
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < CLUSTERS; i++) {
            snprintf(name, sizeof name, "c%d", i);
            scale(&w, name, k % 2 ? 1 : 3);
            world_run(&w, STEP_MS / CLUSTERS);
        }
    CHECK(o.lists > 0 && o.lists <= CLUSTERS + 2 * STEPS * STEP_MS / OPERATOR_DOUBT_MS);
    finish(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_pauses();
    test_status();
    test_news();
    test_many();
    test_conflict();
    test_service();
    test_services_of_many();
    return test_done();
}
