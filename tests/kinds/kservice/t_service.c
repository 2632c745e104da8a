/* Services: repaired, never stolen, and never written in a loop. */
#include "tests/world/scene.h"

static const char head_service[] = "/api/v1/namespaces/n/services/c-head-svc";

static struct slice service_owner(struct world *w, const char *name)
{
    struct json *doc = arena_new(&w->arena, struct json);
    struct err e = {0};
    if (!json_parse(doc, apiserver_get(w->server, SLICE("services"), SLICE("n"), slice_of(name), &w->arena), &w->arena, &e))
        return SLICE_NONE;
    return json_get_str(json_at(json_get(json_root(doc), "metadata.ownerReferences"), 0), "uid", &w->arena);
}

/* As text; empty: it has none. */
static struct slice node_port(struct world *w, const char *port)
{
    struct json *doc = arena_new(&w->arena, struct json);
    struct err e = {0};
    struct jval k, v;
    if (!json_parse(doc, apiserver_get(w->server, SLICE("services"), SLICE("n"), SLICE("c-head-svc"), &w->arena), &w->arena, &e))
        return SLICE_NONE;
    for (struct jiter it = json_iter(json_get(json_root(doc), "spec.ports")); json_next(&it, &k, &v);)
        if (json_str_eq(json_get(v, "name"), slice_of(port)))
            return json_raw(json_get(v, "nodePort"));
    return SLICE_NONE;
}

static void test_drift(void)
{
    struct world w;
    test_case("a service that was edited is set right, one that was deleted comes back");
    make_world(&w, false);
    apply(&w, "c", 1);
    world_run(&w, 5000);
    struct slice edit = SLICE("{\"spec\":{\"selector\":{\"ray.io/node-type\":\"worker\"}}}");
    CHECK_INT(world_call(&w, "PATCH", head_service, "application/merge-patch+json", edit), 200);
    world_run(&w, 1000);
    CHECK(!says(&w, "services", "c-head-svc", "\"worker\""));
    CHECK_INT(world_call(&w, "DELETE", head_service, "application/json", SLICE("{}")), 200);
    world_run(&w, 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 2);
    check_fixed_point(&w);
    test_case("somebody who edits it again and again is not fought at full speed");
    uint32_t before = w.sent.patches;
    for (int i = 0; i < 300; i++) {
        CHECK_INT(world_call(&w, "PATCH", head_service, "application/merge-patch+json", edit), 200);
        world_run(&w, 100);
    }
    CHECK(w.sent.patches > before);
    CHECK(w.sent.patches - before <= 8);
    world_run(&w, 30 * 1000);
    CHECK(!says(&w, "services", "c-head-svc", "\"worker\""));
    check_fixed_point(&w);
    world_free(&w);
}

static void edit_selector(struct world *w)
{
    struct slice edit = SLICE("{\"spec\":{\"selector\":{\"ray.io/cluster\":\"other\"}}}");
    CHECK_INT(world_call(w, "PATCH", head_service, "application/merge-patch+json", edit), 200);
}

/* Answers to applies of the service come late: by then the watch may have told of what was done to it since. */
struct slow {
    struct world_hooks hooks; /* first */
    int64_t ms;
    uint32_t applies; /* that were sent */
};

static bool is_apply(const struct world_request *q)
{
    return slice_eq(q->method, SLICE("PATCH")) && slice_starts(q->target, slice_of(head_service));
}

static void began(struct world_hooks *hooks, struct world_request *q)
{
    ((struct slow *)hooks)->applies += is_apply(q);
}

static void arrived(struct world_hooks *hooks, struct world_request *q)
{
    if (is_apply(q))
        q->delay_ms = ((struct slow *)hooks)->ms;
}

/* Until the operator has sent the service once more: its request is on the way then, and not yet there. */
static void run_to_apply(struct world *w, struct slow *slow)
{
    uint32_t before = slow->applies;
    for (int ms = 0; ms < 10 * 1000 && slow->applies == before; ms++)
        world_run(w, 1);
    CHECK(slow->applies > before);
}

/* The watch goes past a service without a word of it: an API server that has lost an event. What is applied again is nothing new to the
 * server, so no watch would ever tell. */
static void test_never_told(void)
{
    struct world w;
    struct slow slow = {.hooks = {.began = began, .arrived = arrived}, .ms = 3000};
    test_case("a service that the watch does not tell of is listed, and applied once more at most");
    make_world(&w, false);
    apiserver_faults(w.server)->bookmark_ms = 100;
    apply(&w, "c", 1);
    world_run(&w, 10 * 1000);
    w.hooks = &slow.hooks;
    w.path.latency_ms = 8;
    CHECK_INT(world_call(&w, "DELETE", head_service, "application/json", SLICE("{}")), 200);
    run_to_apply(&w, &slow);
    apiserver_faults(w.server)->drop_events = 1;
    world_run(&w, 4000);
    CHECK_INT(apiserver_faults(w.server)->drop_events, 0);
    CHECK(says(&w, "services", "c-head-svc", "selector"));
    slow.ms = 0;
    world_run(&w, 4000);
    CHECK(slow.applies <= 2);
    check_fixed_point(&w);
    CHECK_INT(world_call(&w, "DELETE", head_service, "application/json", SLICE("{}")), 200);
    world_run(&w, 1000);
    CHECK(says(&w, "services", "c-head-svc", "selector"));
    check_fixed_point(&w);
    world_free(&w);
}

/* Ten times a second for a minute. */
static void fight(struct world *w, const char *method, const char *type, const char *body)
{
    for (int i = 0; i < 600; i++) {
        int status = world_call(w, method, head_service, type, slice_of(body));
        CHECK(status == 200 || status == 404);
        world_run(w, 100);
    }
}

#define UNLABEL "{\"metadata\":{\"labels\":{\"ray.io/cluster\":null}}}"

/* Somebody takes it away each time: a policy engine, a tool that prunes what it does not know. Answers come before the watch has told of
 * the service, after that, and so late that it has gone long since. */
static void test_taken_away(void)
{
    static const struct {
        const char *id, *method, *type, *body;
        int64_t answer_ms;
        uint32_t least, most;
    } cases[] = {
        {"a service that is deleted whenever it is made is made ever more rarely", "DELETE", "application/json", "{}", 0, 4, 12},
        {"… and when the watch tells before the answer", "DELETE", "application/json", "{}", 60, 4, 12},
        {"… and when the answer is late", "DELETE", "application/json", "{}", 6000, 3, 7},
        {"… and one that loses its label each time", "PATCH", "application/merge-patch+json", UNLABEL, 0, 4, 12},
        {"… and when the watch tells of that one before the answer", "PATCH", "application/merge-patch+json", UNLABEL, 60, 4, 12},
    };
    struct slice two_hosts = SLICE("[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/0/numOfHosts\",\"value\":2}]");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        struct slow slow = {.hooks = {.began = began, .arrived = arrived}, .ms = cases[i].answer_ms};
        test_case("%s", cases[i].id);
        make_world(&w, false);
        apply(&w, "c", 2);
        CHECK_INT(world_call(&w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json-patch+json", two_hosts), 200);
        world_run(&w, 10 * 1000);
        w.hooks = &slow.hooks;
        fight(&w, cases[i].method, cases[i].type, cases[i].body);
        CHECK(slow.applies >= cases[i].least);
        CHECK(slow.applies <= cases[i].most);
        slow.ms = 0;
        world_run(&w, cases[i].answer_ms);
        test_case("… and pods and the other service do not wait for it");
        uint32_t before = slow.applies;
        CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/services/c-headless", "application/json", SLICE("{}")), 200);
        CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/pods/c-head", "application/json", SLICE("{}")), 200);
        world_run(&w, 3000);
        CHECK(says(&w, "services", "c-headless", "selector"));
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 5);
        CHECK_INT(slow.applies, before);
        test_case("… nor does a new spec, and from then on it is made at once");
        scale(&w, "c", 3);
        world_run(&w, 3000);
        CHECK(says(&w, "services", "c-head-svc", "\"ray.io/cluster\""));
        CHECK(slow.applies <= before + 1); /* one that was answered late may be there by now */
        world_run(&w, 10 * 1000);
        CHECK_INT(world_call(&w, "DELETE", head_service, "application/json", SLICE("{}")), 200);
        world_run(&w, 1000);
        CHECK(says(&w, "services", "c-head-svc", "selector"));
        world_run(&w, 60 * 1000); /* progress is told once a minute */
        check_fixed_point(&w);
        world_free(&w);
    }
}

/* A load balancer's controller has to clean up each time: how long a service took to go is not how long it stayed. */
static void test_goes_slowly(void)
{
    enum { HELD_MS = 6 * 1000, FOR_MS = 300 * 1000 };
    static const char hold[] = "{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}", let_go[] = "{\"metadata\":{\"finalizers\":null}}";
    struct world w;
    struct slow slow = {.hooks = {.began = began, .arrived = arrived}};
    test_case("a service that is deleted whenever it is made, and takes long to go, is made ever more rarely");
    make_world(&w, false);
    apply(&w, "c", 1);
    world_run(&w, 10 * 1000);
    w.hooks = &slow.hooks;
    for (int64_t end_ms = w.now.mono_ms + FOR_MS; w.now.mono_ms < end_ms;) {
        if (says(&w, "services", "c-head-svc", "selector")) {
            CHECK_INT(world_call(&w, "PATCH", head_service, "application/merge-patch+json", slice_of(hold)), 200);
            CHECK_INT(world_call(&w, "DELETE", head_service, "application/json", SLICE("{}")), 200);
            world_run(&w, HELD_MS);
            CHECK_INT(world_call(&w, "PATCH", head_service, "application/merge-patch+json", slice_of(let_go)), 200);
        }
        world_run(&w, 100);
    }
    CHECK(slow.applies >= 4);
    CHECK(slow.applies <= 14);
    world_run(&w, 120 * 1000);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_now_and_then(void)
{
    struct world w;
    test_case("a service that is deleted every 20 s comes back at once each time, whatever was before");
    make_world(&w, false);
    apply(&w, "c", 1);
    world_run(&w, 10 * 1000);
    fight(&w, "DELETE", "application/json", "{}");
    world_run(&w, 60 * 1000);
    for (int i = 0; i < 12; i++) {
        world_run(&w, 20 * 1000);
        CHECK_INT(world_call(&w, "DELETE", head_service, "application/json", SLICE("{}")), 200);
        world_run(&w, 500);
        CHECK(says(&w, "services", "c-head-svc", "selector"));
    }
    world_run(&w, 60 * 1000);
    check_fixed_point(&w);
    world_free(&w);
}

struct lister {
    struct world_hooks hooks; /* first */
    uint32_t lists;           /* of services */
};

static void counted(struct world_hooks *hooks, struct world_request *q)
{
    bool services = slice_starts(q->target, SLICE("/api/v1/namespaces/n/services?")) || slice_starts(q->target, SLICE("/api/v1/services?"));
    if (is_apply(q) || slice_eq(q->method, SLICE("PATCH")))
        q->delay_ms = 400; /* the watch is past it by then */
    ((struct lister *)hooks)->lists += services && slice_eq(q->method, SLICE("GET"));
}

static void test_lists(void)
{
    enum { CLUSTERS = 8, ROUNDS = 200, MOST = 8 };
    struct world w;
    struct lister lister = {.hooks = {.arrived = counted}};
    test_case("services of many clusters are deleted as soon as they are made: a list in 5 s at most is for all of them");
    make_world(&w, false);
    apiserver_faults(w.server)->bookmark_ms = 100;
    for (int i = 0; i < CLUSTERS; i++)
        apply(&w, arena_printf(&w.arena, "c%d", i).ptr, 1);
    world_run(&w, 10 * 1000);
    w.hooks = &lister.hooks;
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < CLUSTERS; k++)
            world_call(&w, "DELETE", arena_printf(&w.arena, "/api/v1/namespaces/n/services/c%d-head-svc", k).ptr, "application/json",
                       SLICE("{}"));
        world_run(&w, 100);
    }
    CHECK(lister.lists > 0);
    CHECK(lister.lists <= MOST);
    world_run(&w, 120 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 1 + CLUSTERS);
    check_fixed_point(&w);
    world_free(&w);
}

/* A gateway that says 200 by itself. */
static void test_said_to_be_made(void)
{
    struct world w;
    struct slow slow = {.hooks = {.began = began, .arrived = arrived}};
    test_case("an apply is answered 200 by somebody who has not carried it out: it is sent ever more rarely");
    make_world(&w, false);
    w.hooks = &slow.hooks;
    override(&w, "PATCH", head_service, 200, false, UINT32_MAX);
    apply(&w, "c", 1);
    world_run(&w, 60 * 1000);
    CHECK(slow.applies >= 4);
    CHECK(slow.applies <= 12);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 2);
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 1);
    apiserver_faults(w.server)->next.times = 0;
    world_run(&w, 120 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 2);
    check_fixed_point(&w);
    test_case("… and so is one that sets a service right");
    edit_selector(&w);
    override(&w, "PATCH", head_service, 200, false, UINT32_MAX);
    uint32_t before = slow.applies;
    world_run(&w, 60 * 1000);
    CHECK(slow.applies - before >= 4);
    CHECK(slow.applies - before <= 13);
    apiserver_faults(w.server)->next.times = 0;
    world_run(&w, 10 * 1000);
    CHECK(!says(&w, "services", "c-head-svc", "\"other\""));
    check_fixed_point(&w);
    world_free(&w);
}

/* The service of c is edited so long after the apply that makes it was sent, or after it is there, and again after the one that sets it
 * right was, while there is much else to do. */
static void edit_twice(struct world *w, struct slow *slow, int64_t after_ms, int64_t answered_ms)
{
    apply(w, "x", 1);
    world_run(w, 5000);
    w->hooks = &slow->hooks;
    w->path.latency_ms = 8;
    apply(w, "c", 1);
    run_to_apply(w, slow);
    while (!says(w, "services", "c-head-svc", "selector"))
        world_run(w, 1);
    world_run(w, after_ms);
    edit_selector(w);
    apply(w, "b", 1);
    scale(w, "c", 2);
    CHECK_INT(world_call(w, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/x", "application/json", SLICE("{}")), 200);
    world_run(w, answered_ms);
    CHECK(!says(w, "services", "c-head-svc", "\"other\""));
    edit_selector(w);
    run_to_apply(w, slow);
    world_run(w, after_ms);
    edit_selector(w);
    world_run(w, answered_ms);
    CHECK(!says(w, "services", "c-head-svc", "\"other\""));
    world_run(w, 60 * 1000); /* progress is told once a minute */
    CHECK(is_ready(w, "b") && is_ready(w, "c"));
    check_fixed_point(w);
}

/* In every order of the apply, the edit, the answer to the one and the watch's word of both: nobody waits longer for it to be set right
 * than the pace at which edits are answered. */
static void test_edited_at_any_moment(void)
{
    enum { EACH_MS = 4, MOMENTS = 12, PACE_MS = 6000 };
    static const struct {
        int64_t answer_ms, watch_ms; /* later than usual */
    } late[] = {{0, 0}, {0, 20}, {0, 700}, {60, 0}, {60, 20}, {700, 0}};
    for (size_t i = 0; i < COUNT_OF(late) * MOMENTS; i++) {
        int64_t after_ms = (int64_t)(i % MOMENTS) * EACH_MS, answer_ms = late[i / MOMENTS].answer_ms, watch_ms = late[i / MOMENTS].watch_ms;
        test_case("edited after %lld ms, the answer is %lld ms late, the watch %lld ms", (long long)after_ms, (long long)answer_ms,
                  (long long)watch_ms);
        struct world w;
        struct slow slow = {.hooks = {.began = began, .arrived = arrived}, .ms = answer_ms};
        make_world(&w, false);
        apiserver_faults(w.server)->watch_delay_ms = watch_ms;
        edit_twice(&w, &slow, after_ms, PACE_MS + answer_ms + watch_ms);
        world_free(&w);
    }
}

/* Nobody owns it, or somebody else does: it stays as it is, and the cluster says why it cannot work. */
static void test_foreign(void)
{
    struct world w;
    test_case("a service of that name that is not ours");
    make_world(&w, false);
    struct slice theirs = SLICE("{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"c-head-svc\",\"namespace\":\"n\"},"
                                "\"spec\":{\"selector\":{\"app\":\"shop\"},\"ports\":[{\"name\":\"client\",\"port\":10001}]}}");
    CHECK_INT(world_call(&w, "POST", "/api/v1/namespaces/n/services?fieldManager=shop", "application/json", theirs), 201);
    apply(&w, "c", 1);
    world_run(&w, 30 * 1000);
    CHECK(says(&w, "services", "c-head-svc", "shop"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "group headgroup failed"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "service c-head-svc: 409"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "1 of 1 worker pods and 1 of 1 head pod are ready; service c-head-svc is not there"));
    CHECK(!is_ready(&w, "c"));
    CHECK(!says(&w, "rayclusters.ray.io", "c", "endpoints"));
    CHECK(tells(&w, "FailedToCreateService", "service c-head-svc: 409"));
    CHECK(!tells(&w, "FailedToCreateHeadPod", ""));
    CHECK(w.sent.patches < 20);
    CHECK_INT(world_call(&w, "DELETE", head_service, "application/json", SLICE("{}")), 200);
    world_run(&w, 10 * 60 * 1000);
    CHECK(is_ready(&w, "c"));
    world_free(&w);
}

static void test_two_of_one_name(void)
{
    struct world w;
    test_case("two clusters that ask for the same head service");
    make_world(&w, false);
    const char *more = "\"headService\":{\"metadata\":{\"name\":\"shared\"}},";
    static const char container[] = "{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}";
    for (int i = 0; i < 2; i++) {
        struct slice body = arena_printf(&w.arena,
                                         "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                                         "\"headGroupSpec\":{%s\"rayStartParams\":{},\"template\":%s}}}",
                                         i ? "b" : "a", more, container);
        CHECK_INT(world_call(&w, "POST", v1, "application/json", body), 201);
        world_run(&w, 3000);
    }
    world_run(&w, 30 * 1000);
    CHECK(w.sent.patches < 20);
    CHECK(says(&w, "services", "shared", "\"name\":\"a\""));
    CHECK(says(&w, "rayclusters.ray.io", "b", "shared"));
    world_free(&w);
}

struct told {
    uint32_t failed, waits;
};

static void on_line(void *owner, struct slice line)
{
    struct told *n = owner;
    n->failed += memmem(line.ptr, line.len, "call failed", 11) != NULL;
    n->waits += memmem(line.ptr, line.len, "a call has to wait", 18) != NULL;
}

static void test_recreate(void)
{
    struct world w;
    struct told told = {0};
    log_global.sink = on_line;
    log_global.owner = &told;
    for (int collect = 20; collect < 6000; collect *= 4) {
        struct apiserver_config config = {.seed = 1, .collect_ms = collect, .stop_ms = 2 * collect};
        test_case("deleted and made again at once, garbage collected after %d ms", collect);
        world_init(&w, &config);
        make_namespace(&w);
        make_crd(&w, "ray.io", "");
        world_start_operator(&w, false);
        apply(&w, "c", 3);
        world_run(&w, 5000);
        CHECK_INT(world_call(&w, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json", SLICE("{}")), 200);
        apply(&w, "c", 3);
        uint32_t before = world_writes(&w);
        world_run(&w, 4 * collect + 10 * 1000);
        CHECK_INT(apiserver_count(w.server, SLICE("pods")), 4);
        CHECK_INT(apiserver_count(w.server, SLICE("services")), 2);
        CHECK(is_ready(&w, "c"));
        CHECK(world_writes(&w) - before < 30);
        CHECK(slice_eq(service_owner(&w, "c-head-svc"), status_of(&w, "c", "metadata.uid")));
        check_fixed_point(&w);
        world_free(&w);
    }
    test_case("what waits for pods of the older cluster is no failed call");
    log_global.sink = NULL;
    CHECK(told.waits > 0);
    CHECK_INT(told.failed, 0);
}

static void set_head(struct world *w, const char *members)
{
    struct slice patch = arena_printf(&w->arena, "{\"spec\":{\"headGroupSpec\":{%s}}}", members);
    CHECK_INT(world_call(w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/merge-patch+json", patch), 200);
}

/* What the API server cannot change in a service is changed by another service. */
static void test_replaced(void)
{
    struct world w;
    test_case("a headless head service becomes one with an address, and back");
    make_world(&w, false);
    apply(&w, "c", 1);
    world_run(&w, 5000);
    CHECK(says(&w, "services", "c-head-svc", "\"clusterIP\":\"None\""));
    set_head(&w, "\"serviceType\":\"NodePort\"");
    world_run(&w, 5000);
    CHECK_SLICE(status_of(&w, "c", "status.endpoints.dashboard"), node_port(&w, "dashboard"));
    CHECK(says(&w, "services", "c-head-svc", "\"NodePort\"") && !says(&w, "services", "c-head-svc", "\"None\",\"clusterIPs\""));
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 2);
    CHECK(is_ready(&w, "c") && !says(&w, "rayclusters.ray.io", "c", "ReplicaFailure"));
    CHECK_INT(w.sent.deletes, 1);
    set_head(&w, "\"serviceType\":null");
    world_run(&w, 5000);
    CHECK(says(&w, "services", "c-head-svc", "\"clusterIP\":\"None\""));
    CHECK_INT(w.sent.deletes, 2);
    world_run(&w, 60 * 1000); /* progress is told once a minute */
    check_fixed_point(&w);
    test_case("a head service that is called otherwise stands beside the one that running workers know, and leaves none behind");
    set_head(&w, "\"headService\":{\"metadata\":{\"name\":\"front\"},\"spec\":{\"clusterIP\":\"None\"}}");
    world_run(&w, 5000);
    CHECK(says(&w, "services", "front", "\"c\""));
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 3);
    CHECK_INT(w.sent.deletes, 2);
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"serviceName\":\"front\""));
    scale(&w, "c", 0);
    world_run(&w, 90 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 2);
    CHECK_INT(w.sent.deletes, 4); /* two more: the outdated worker, and the service whose name it knew */
    check_fixed_point(&w);
    world_free(&w);
}

/* Somebody on the way says that it is not there, and it is: it is not waited for for ever. Nor when it has gone and the watch is silent. */
static void test_said_to_be_gone(void)
{
    static const struct {
        const char *id;
        bool commit;
    } cases[] = {{"a DELETE of a service is answered 404, and it stays", false}, {"… and it goes, and nobody tells", true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("%s", cases[i].id);
        make_world(&w, false);
        apply(&w, "c", 1);
        world_run(&w, 5000);
        override(&w, "DELETE", head_service, 404, cases[i].commit, 1);
        set_head(&w, "\"serviceType\":\"NodePort\"");
        apiserver_faults(w.server)->drop_events = cases[i].commit;
        world_run(&w, 10 * 1000);
        CHECK_INT(apiserver_faults(w.server)->drop_events, 0);
        CHECK(says(&w, "services", "c-head-svc", "\"NodePort\""));
        CHECK_INT(w.sent.deletes, cases[i].commit ? 1 : 2);
        CHECK(is_ready(&w, "c"));
        world_run(&w, 60 * 1000);
        check_fixed_point(&w);
        world_free(&w);
    }
}

/* "true", "false" or, in a merge patch, null */
static void annotate_serve(struct world *w, const char *value)
{
    struct slice path = arena_printf(&w->arena, "%s/c", v1),
                 patch = arena_printf(&w->arena, "{\"metadata\":{\"annotations\":{\"" RAY_ANNOTATION_SERVE "\":%s}}}", value);
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", patch), 200);
    world_run(w, 5000);
}

static void test_serve(void)
{
    struct world w;
    static const char serve[] = "/api/v1/namespaces/n/services/c-serve-svc";
    test_case("the serve service comes and goes with its annotation");
    make_world(&w, false);
    apply(&w, "c", 1);
    world_run(&w, 5000);
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 2);
    annotate_serve(&w, "\"true\"");
    CHECK_STR(service_owner(&w, "c-serve-svc"), arena_dup(&w.arena, status_of(&w, "c", "metadata.uid")).ptr);
    CHECK(says(&w, "services", "c-serve-svc", "\"ray.io/is-ray-node\":\"yes\""));
    check_fixed_point(&w);
    CHECK_INT(world_call(&w, "DELETE", serve, "application/json", SLICE("{}")), 200);
    world_run(&w, 2000);
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 3);
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"serviceName\":\"c-head-svc\""));
    annotate_serve(&w, "\"false\"");
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 2);
    annotate_serve(&w, "\"true\"");
    annotate_serve(&w, "null");
    CHECK(slice_empty(service_owner(&w, "c-serve-svc")));
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_drift();
    test_never_told();
    test_taken_away();
    test_goes_slowly();
    test_now_and_then();
    test_lists();
    test_said_to_be_made();
    test_edited_at_any_moment();
    test_replaced();
    test_said_to_be_gone();
    test_foreign();
    test_two_of_one_name();
    test_recreate();
    test_serve();
    return test_done();
}
