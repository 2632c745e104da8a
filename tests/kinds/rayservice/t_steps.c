/* Upgrades of RayServices in steps, in a simulated world with a Gateway controller: object by object, back, with a canary that falls ill,
 * and with an operator that is killed at each write. */
#include "cluster.h"

#include "tests/model/sim/fakeray.h"

#include "src/kinds/rayservice/rayservice.h"

static const char services_path[] = "/apis/ray.io/v1/namespaces/n/rayservices";
static const char gateways_path[] = "/apis/gateway.networking.k8s.io/v1/namespaces/n/gateways";
static const char routes_path[] = "/apis/gateway.networking.k8s.io/v1/namespaces/n/httproutes";
static const char merge[] = "application/merge-patch+json";

enum { HEADS_MAX = 8, DEPLOY_MS = 2000, STEPS_MAX = 64 };

/* The configuration that a head was sent last. */
struct serve_head {
    char cluster[64], import[64]; /* import: import_path of its application */
    uint32_t session, puts;
    int64_t put_ms; /* 0: none in this session */
    int capacity;   /* -1: none was given */
    bool ill;
};
static struct {
    struct world *world;
    struct serve_head heads[HEADS_MAX];
    uint32_t count;
    bool mute; /* applications are listed without what they were deployed from */
} board;

static struct serve_head *head_of(const char *cluster)
{
    for (uint32_t i = 0; i < board.count; i++)
        if (strcmp(board.heads[i].cluster, cluster) == 0)
            return &board.heads[i];
    if (board.count == HEADS_MAX)
        abort();
    struct serve_head *h = &board.heads[board.count++];
    *h = (struct serve_head){.capacity = -1};
    snprintf(h->cluster, sizeof h->cluster, "%s", cluster);
    return h;
}

static bool serves(const struct serve_head *h)
{
    return h->put_ms && !h->ill && board.world->now.mono_ms - h->put_ms >= DEPLOY_MS;
}

static void take_put(struct serve_head *h, struct slice body)
{
    struct arena a = {0};
    struct jval doc;
    if (CHECK(json_read(&doc, body, &a, NULL))) {
        struct jval app = json_at(json_get(doc, "applications"), 0);
        slice_copy(json_get_str(app, "import_path", &a), h->import, sizeof h->import);
        h->capacity = (int)json_get_int(doc, "target_capacity", -1);
    }
    h->puts++;
    h->put_ms = board.world->now.mono_ms;
    arena_free(&a);
}

static int board_answer(struct fakehead *fake, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    struct fakeray *ray = (struct fakeray *)fake;
    struct serve_head *h = head_of(ray->cluster);
    if (h->session != ray->sessions) {
        h->session = ray->sessions;
        h->put_ms = 0;
        h->capacity = -1;
    }
    if (!slice_starts(target, SLICE("/api/serve/applications/")))
        return 404;
    if (slice_is(method, "PUT")) {
        take_put(h, body);
        return 200;
    }
    buf_printf(out, "{\"proxies\":{\"n\":{\"node_ip\":\"%s\",\"status\":\"HEALTHY\"}},\"applications\":{", ray->ip);
    if (h->put_ms) {
        buf_printf(out, "\"a\":{\"name\":\"a\",\"status\":\"%s\",\"message\":\"\",\"deployments\":{},\"deployed_app_config\":",
                   serves(h) ? "RUNNING"
                   : h->ill  ? "UNHEALTHY"
                             : "DEPLOYING");
        if (board.mute)
            buf_printf(out, "null}");
        else
            buf_printf(out, "{\"name\":\"a\",\"import_path\":\"%s\"}}", h->import);
    }
    buf_printf(out, "},\"target_capacity\":null}");
    return 200;
}

/* ---- the world ---- */

static void make_steps_world(struct world *w, bool gateway_api)
{
    struct apiserver_config config = {.seed = 1};
    world_init(w, &config);
    memset(&board, 0, sizeof board);
    board.world = w;
    make_namespace(w);
    make_crd(w, "ray.io", "");
    make_definition(w, "ray.io", "RayService", "rayservices", "");
    if (gateway_api) {
        make_definition(w, "gateway.networking.k8s.io", "Gateway", "gateways", "");
        make_definition(w, "gateway.networking.k8s.io", "HTTPRoute", "httproutes", "");
    }
    fakerays_begin(w, true);
    w->rays->dash = board_answer;
    world_start_operator(w, false);
}

static struct jval gateway(struct world *w)
{
    return world_object(w, "gateways.gateway.networking.k8s.io", "s-gateway");
}

static struct jval route(struct world *w)
{
    return world_object(w, "httproutes.gateway.networking.k8s.io", "s-httproute");
}

static struct jval service(struct world *w)
{
    return world_object(w, "rayservices.ray.io", "s");
}

static const char *text_of(struct world *w, struct jval v, const char *path)
{
    return arena_printf(&w->arena, "%.*s", SLICE_ARG(json_get_str(v, path, &w->arena))).ptr;
}

#define OBSERVED(N)                                                                                                                        \
    "{\"status\":{\"parents\":[{\"parentRef\":{\"name\":\"s-gateway\"},\"conditions\":[{\"type\":\"Accepted\",\"status\":\"True\","        \
    "\"observedGeneration\":" #N "},{\"type\":\"ResolvedRefs\",\"status\":\"True\"}]}]}}"

/* The controller of the Gateway: takes up whatever there is. */
static void tend_gateway(struct world *w)
{
    static const char gateway_status[] =
        "{\"status\":{\"addresses\":[{\"value\":\"10.0.0.7\"}],\"conditions\":[{\"type\":\"Accepted\",\"status\":\"True\"},"
        "{\"type\":\"Programmed\",\"status\":\"True\"}]}}";
    if (json_there(gateway(w)) && !json_len(json_get(gateway(w), "status.conditions")))
        world_call(w, "PATCH", arena_printf(&w->arena, "%s/s-gateway/status", gateways_path).ptr, merge, slice_of(gateway_status));
    if (json_there(route(w)) && !json_len(json_get(route(w), "status.parents")))
        world_call(w, "PATCH", arena_printf(&w->arena, "%s/s-httproute/status", routes_path).ptr, merge, slice_of(OBSERVED(0)));
}

/* version: the cluster's rayVersion; import: the application's import_path. */
static struct slice spec_of(struct world *w, const char *version, const char *import, int surge, int step, int interval)
{
    return arena_printf(&w->arena,
                        "\"spec\":{\"serveConfigV2\":\"applications: [{name: a, import_path: %s}]\",\"rayClusterDeletionDelaySeconds\":5,"
                        "\"upgradeStrategy\":{\"type\":\"NewClusterWithIncrementalUpgrade\",\"clusterUpgradeOptions\":{\"maxSurgePercent\":"
                        "%d,\"stepSizePercent\":%d,\"intervalSeconds\":%d,\"gatewayClassName\":\"any\"}},\"rayClusterConfig\":%.*s}",
                        import, surge, step, interval, SLICE_ARG(cluster_spec(w, version, true)));
}

static void create_service(struct world *w, int surge, int step, int interval)
{
    struct slice body = arena_printf(&w->arena,
                                     "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayService\",\"metadata\":{\"name\":\"s\",\"namespace\":"
                                     "\"n\"},%.*s}",
                                     SLICE_ARG(spec_of(w, "2.52.0", "m:a", surge, step, interval)));
    CHECK_INT(world_call(w, "POST", services_path, "application/json", body), 201);
}

static void change_service(struct world *w, const char *version, const char *import, int surge, int step, int interval)
{
    struct slice path = arena_printf(&w->arena, "%s/s", services_path),
                 patch = arena_printf(&w->arena, "{%.*s}", SLICE_ARG(spec_of(w, version, import, surge, step, interval)));
    CHECK_INT(world_call(w, "PATCH", path.ptr, merge, patch), 200);
}

/* ---- capacities and traffic in status ---- */

/* Capacities and traffic of both clusters, as status has them; -1: it does not. */
struct seen {
    int pending_capacity, pending_traffic, active_capacity, active_traffic;
};

static struct seen see(struct world *w)
{
    struct jval s = json_get(service(w), "status");
    return (struct seen){(int)json_get_int(s, "pendingServiceStatus.targetCapacity", -1),
                         (int)json_get_int(s, "pendingServiceStatus.trafficRoutedPercent", -1),
                         (int)json_get_int(s, "activeServiceStatus.targetCapacity", -1),
                         (int)json_get_int(s, "activeServiceStatus.trafficRoutedPercent", -1)};
}

static const char *active(struct world *w)
{
    return text_of(w, service(w), "status.activeServiceStatus.rayClusterName");
}

static const char *pending(struct world *w)
{
    return text_of(w, service(w), "status.pendingServiceStatus.rayClusterName");
}

/* The percent of requests that the route gives to the cluster; -1: it is no backend. */
static int weight_of(struct world *w, const char *cluster)
{
    struct jval backends = json_get(json_at(json_get(route(w), "spec.rules"), 0), "backendRefs"), k, b;
    struct slice name = arena_printf(&w->arena, "%s-serve-svc", cluster);
    for (struct jiter it = json_iter(backends); json_next(&it, &k, &b);)
        if (json_str_eq(json_get(b, "name"), name))
            return (int)json_get_int(b, "weight", -1);
    return -1;
}

/* No cluster gets more requests than it has capacity, as its head was told; none that does not exist gets any. */
static bool check_shares(struct world *w)
{
    struct jval backends = json_get(json_at(json_get(route(w), "spec.rules"), 0), "backendRefs"), k, b;
    int all = 0;
    for (struct jiter it = json_iter(backends); json_next(&it, &k, &b);) {
        struct slice name = json_get_str(b, "name", &w->arena);
        int weight = (int)json_get_int(b, "weight", 0);
        const char *cluster = arena_printf(&w->arena, "%.*s", (int)(name.len - strlen("-serve-svc")), name.ptr).ptr;
        bool exists = json_there(world_object(w, "rayclusters.ray.io", cluster));
        all += weight;
        if (weight > 0 && !exists)
            return false;
        if (weight > head_of(cluster)->capacity && head_of(cluster)->capacity >= 0)
            return false;
    }
    return all == 100 || !json_len(backends);
}

static bool run_steps(struct world *w, int64_t ms, bool (*over)(struct world *w))
{
    bool right = true;
    for (int64_t end_ms = w->now.mono_ms + ms; w->now.mono_ms < end_ms;) {
        world_step(w, w->now.mono_ms + 50);
        tend_gateway(w);
        right &= check_shares(w);
        if (over && over(w))
            break;
    }
    return right;
}

static void settle(struct world *w)
{
    run_steps(w, 20 * 1000, NULL); /* the autoscaler says what it has seen of idle nodes */
    check_fixed_point(w);
}

static bool is_served(struct world *w)
{
    return *active(w) && weight_of(w, active(w)) == 100 && see(w).active_traffic == 100 &&
           says(w, "rayservices.ray.io", "s", "GatewayProgrammed");
}

static const char *deployed(struct world *w, int surge, int step, int interval)
{
    create_service(w, surge, step, interval);
    CHECK(run_steps(w, 120 * 1000, is_served));
    CHECK(is_served(w));
    return active(w);
}

/* ---- an upgrade ---- */

static void check_objects(struct world *w, const char *first)
{
    struct jval g = gateway(w), listener = json_at(json_get(g, "spec.listeners"), 0), r = route(w);
    CHECK(json_is(json_get(g, "spec.gatewayClassName"), "any"));
    CHECK(json_is(json_get(listener, "name"), "http") && json_is(json_get(listener, "protocol"), "HTTP"));
    CHECK_INT(json_get_int(listener, "port", 0), 80);
    struct jval owner = json_at(json_get(g, "metadata.ownerReferences"), 0), rule = json_at(json_get(r, "spec.rules"), 0);
    CHECK(json_is(json_get(owner, "kind"), "RayService") && json_get_bool(owner, "controller", false));
    CHECK(json_is(json_get(json_at(json_get(r, "spec.parentRefs"), 0), "name"), "s-gateway"));
    CHECK(json_is(json_get(json_at(json_get(rule, "matches"), 0), "path.type"), "PathPrefix"));
    CHECK_INT(json_len(json_get(rule, "backendRefs")), 1);
    CHECK_INT(json_get_int(json_at(json_get(rule, "backendRefs"), 0), "port", 0), 8000);
    CHECK_INT(weight_of(w, first), 100);
    struct jval own = world_object(w, "services", arena_printf(&w->arena, "%s-serve-svc", first).ptr);
    CHECK(json_is(json_child(json_get(own, "spec.selector"), "ray.io/serve"), "true"));
    CHECK(json_is(json_get(json_at(json_get(own, "metadata.ownerReferences"), 0), "kind"), "RayCluster"));
    CHECK_INT(head_of(first)->capacity, 100);
}

static bool is_single(struct world *w)
{
    return !*pending(w) && weight_of(w, active(w)) == 100 && apiserver_count(w->server, SLICE("rayclusters.ray.io")) == 1;
}

/* The document's table for 25, with the moments between a PUT and its record. */
static void test_upgrade(void)
{
    static const struct seen want[] = {{0, 0, 100, 100},  {25, 0, 100, 100}, {25, 25, 100, 75}, {25, 25, 75, 75},  {50, 25, 75, 75},
                                       {50, 50, 75, 50},  {50, 50, 50, 50},  {75, 50, 50, 50},  {75, 75, 50, 25},  {75, 75, 25, 25},
                                       {100, 75, 25, 25}, {100, 100, 25, 0}, {100, 100, 0, 0},  {-1, -1, 100, 100}};
    struct world w;
    struct seen all[STEPS_MAX] = {{0}}, last = {0};
    uint32_t count = 0;
    test_case("capacity and traffic move in turns, and the earlier cluster goes");
    make_steps_world(&w, true);
    const char *first = deployed(&w, 25, 25, 5);
    check_objects(&w, first);
    settle(&w);
    change_service(&w, "2.60.0", "m:b", 25, 25, 5);
    bool right = true;
    int64_t began_ms = w.now.mono_ms;
    for (int64_t end_ms = w.now.mono_ms + 300 * 1000; w.now.mono_ms < end_ms;) {
        world_step(&w, w.now.mono_ms + 50);
        tend_gateway(&w);
        right &= check_shares(&w);
        struct seen now = see(&w);
        if (memcmp(&now, &last, sizeof now) != 0 && count < STEPS_MAX && (now.pending_capacity >= 0 || count))
            all[count++] = now;
        last = now;
        if (count && now.pending_capacity < 0)
            break;
    }
    CHECK(right);
    CHECK(w.now.mono_ms - began_ms >= 4 * 5000); /* four steps of traffic, each after an interval */
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++)
        at += at < COUNT_OF(want) && memcmp(&all[i], &want[at], sizeof want[at]) == 0;
    if (!CHECK_INT(at, COUNT_OF(want)))
        for (uint32_t i = 0; i < count; i++)
            printf("  %d/%d/%d/%d\n", all[i].pending_capacity, all[i].pending_traffic, all[i].active_capacity, all[i].active_traffic);
    CHECK(strcmp(active(&w), first) != 0);
    CHECK(run_steps(&w, 60 * 1000, is_single));
    CHECK(is_single(&w));
    CHECK(strcmp(head_of(first)->import, "m:a") == 0); /* the earlier version kept its configuration until its end … */
    CHECK_INT(head_of(first)->capacity, 0);
    CHECK(strcmp(head_of(active(&w))->import, "m:b") == 0);
    CHECK(tells(&w, "UpdatedServeTargetCapacity", "sent target_capacity 25 % to RayCluster"));
    settle(&w);
    world_free(&w);
}

static bool is_half(struct world *w)
{
    return see(w).pending_traffic >= 50;
}

static void test_back(void)
{
    struct world w;
    test_case("the spec goes back in the middle: so do requests and capacity, in steps, and the new cluster goes");
    make_steps_world(&w, true);
    const char *first = deployed(&w, 50, 25, 3);
    change_service(&w, "2.60.0", "m:b", 50, 25, 3);
    CHECK(run_steps(&w, 200 * 1000, is_half));
    const char *second = pending(&w);
    CHECK(is_half(&w) && *second);
    change_service(&w, "2.52.0", "m:a", 50, 25, 3);
    CHECK(run_steps(&w, 2000, NULL));
    CHECK(says(&w, "rayservices.ray.io", "s", "RollbackInProgress"));
    CHECK_INT(see(&w).pending_capacity >= 0, 1);
    CHECK(run_steps(&w, 200 * 1000, is_single));
    CHECK(is_single(&w));
    CHECK_STR(slice_of(active(&w)), first);
    CHECK_INT(head_of(first)->capacity, 100);
    CHECK(strcmp(head_of(first)->import, "m:a") == 0);
    CHECK(!says(&w, "rayservices.ray.io", "s", "RollbackInProgress"));
    CHECK(!json_there(world_object(&w, "rayclusters.ray.io", second)));
    settle(&w);
    world_free(&w);
}

static void test_third(void)
{
    struct world w;
    test_case("a third version in the middle: first back to the first one, then onward to the third");
    make_steps_world(&w, true);
    const char *first = deployed(&w, 50, 50, 10);
    change_service(&w, "2.60.0", "m:b", 50, 50, 10);
    CHECK(run_steps(&w, 200 * 1000, is_half));
    const char *second = pending(&w);
    change_service(&w, "2.60.1", "m:c", 50, 50, 10);
    CHECK(run_steps(&w, 3000, NULL));
    CHECK(says(&w, "rayservices.ray.io", "s", "RollbackInProgress"));
    CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 2);
    CHECK(run_steps(&w, 300 * 1000, is_single));
    CHECK(is_single(&w));
    CHECK(strcmp(active(&w), first) != 0 && strcmp(active(&w), second) != 0);
    CHECK(strcmp(head_of(active(&w))->import, "m:c") == 0);
    CHECK(strcmp(head_of(second)->import, "m:b") == 0);
    settle(&w);
    world_free(&w);
}

static void test_ill(void)
{
    struct world w;
    test_case("a canary that falls ill gets no more, and the active version keeps what it has");
    make_steps_world(&w, true);
    deployed(&w, 25, 25, 2);
    change_service(&w, "2.60.0", "m:b", 25, 25, 2);
    CHECK(run_steps(&w, 200 * 1000, is_half));
    head_of(pending(&w))->ill = true;
    CHECK(run_steps(&w, 5000, NULL));
    struct seen then = see(&w);
    CHECK(then.pending_traffic < 100);
    CHECK(run_steps(&w, 120 * 1000, NULL));
    struct seen now = see(&w);
    CHECK(memcmp(&now, &then, sizeof now) == 0);
    CHECK(says(&w, "rayservices.ray.io", "s", "application a is UNHEALTHY"));
    test_case("… until it is well");
    head_of(pending(&w))->ill = false;
    CHECK(run_steps(&w, 200 * 1000, is_single));
    CHECK(is_single(&w));
    world_free(&w);
}

static void test_no_gateway(void)
{
    struct world w;
    test_case("a Gateway that no controller takes up: the old version serves, and a condition says what is missing");
    make_steps_world(&w, true);
    create_service(&w, 100, 50, 1);
    world_run(&w, 60 * 1000);
    const char *first = active(&w);
    CHECK(*first);
    CHECK(says(&w, "rayservices.ray.io", "s", "s-gateway has no condition Accepted yet: no controller has looked"));
    CHECK(says(&w, "rayservices.ray.io", "s", "gatewayClassName is \\\"any\\\""));
    change_service(&w, "2.60.0", "m:b", 100, 50, 1);
    world_run(&w, 60 * 1000);
    CHECK_STR(slice_of(active(&w)), first);
    CHECK(*pending(&w));
    CHECK_INT(see(&w).pending_traffic, 0);
    CHECK_INT(see(&w).pending_capacity, 0);
    CHECK_INT(head_of(first)->capacity, 100);
    CHECK(run_steps(&w, 100 * 1000, is_single));
    CHECK(is_single(&w));
    world_free(&w);
    test_case("a server without the Gateway API: the service runs behind its Service, and the definitions may come later");
    make_steps_world(&w, false);
    create_service(&w, 100, 50, 1);
    world_run(&w, 60 * 1000);
    CHECK(*active(&w));
    CHECK(says(&w, "rayservices.ray.io", "s", "the API server does not know gateways.gateway.networking.k8s.io"));
    CHECK(says(&w, "rayservices.ray.io", "s", "mobula install --gateways --httproutes"));
    make_definition(&w, "gateway.networking.k8s.io", "Gateway", "gateways", "");
    make_definition(&w, "gateway.networking.k8s.io", "HTTPRoute", "httproutes", "");
    CHECK(run_steps(&w, 300 * 1000, is_served));
    CHECK(is_served(&w));
    world_free(&w);
}

/* Whether the service says this after `resource` of the route was patched. */
static bool says_after(struct world *w, const char *resource, const char *patch, const char *text)
{
    world_call(w, "PATCH", arena_printf(&w->arena, "%s/s-httproute%s", routes_path, resource).ptr, merge, slice_of(patch));
    run_steps(w, 2000, NULL);
    return says(w, "rayservices.ray.io", "s", text);
}

static void test_generations(void)
{
    struct world w;
    test_case("conditions of an earlier generation of the HTTPRoute do not count; without observedGeneration they do");
    make_steps_world(&w, true);
    deployed(&w, 50, 50, 1);
    CHECK(says_after(&w, "", "{\"spec\":{\"hostnames\":[\"a.example\"]}}", "GatewayProgrammed"));
    CHECK(says_after(&w, "/status", OBSERVED(2), "GatewayProgrammed") && says_after(&w, "/status", OBSERVED(1), "is of generation 1,"));
    CHECK(says_after(&w, "/status", OBSERVED(0), "GatewayProgrammed"));
    world_free(&w);
}

static void test_others(void)
{
    struct world w;
    test_case("weights that somebody changes are set right, a route that is deleted comes back with its weights");
    make_steps_world(&w, true);
    deployed(&w, 25, 25, 3600);
    change_service(&w, "2.60.0", "m:b", 25, 25, 1);
    CHECK(run_steps(&w, 200 * 1000, is_half));
    change_service(&w, "2.60.0", "m:b", 25, 0, 1); /* a pause */
    CHECK(run_steps(&w, 20 * 1000, NULL));
    CHECK(says(&w, "rayservices.ray.io", "s", "stepSizePercent is 0: no requests move"));
    int weight = weight_of(&w, pending(&w));
    struct jval spec = json_get(route(&w), "spec");
    struct slice text = json_raw(spec), from = arena_printf(&w.arena, "\"weight\":%d", weight);
    const char *at = strstr(text.ptr, from.ptr);
    struct slice edit = arena_printf(&w.arena, "{\"spec\":%.*s\"weight\":99%.*s}", (int)(at - text.ptr), text.ptr,
                                     (int)(text.len - (size_t)(at - text.ptr) - from.len), at + from.len);
    CHECK_INT(world_call(&w, "PATCH", arena_printf(&w.arena, "%s/s-httproute", routes_path).ptr, merge, edit), 200);
    CHECK(run_steps(&w, 2000, NULL) || true);
    CHECK_INT(weight_of(&w, pending(&w)), weight);
    CHECK_INT(world_call(&w, "DELETE", arena_printf(&w.arena, "%s/s-httproute", routes_path).ptr, "application/json", SLICE("{}")), 200);
    CHECK(run_steps(&w, 3000, NULL));
    CHECK_INT(weight_of(&w, pending(&w)), weight);
    settle(&w);
    test_case("suspended: routes, Services and clusters go; resumed: they come back");
    struct slice path = arena_printf(&w.arena, "%s/s", services_path);
    CHECK_INT(world_call(&w, "PATCH", path.ptr, merge, SLICE("{\"spec\":{\"suspend\":true}}")), 200);
    run_steps(&w, 30 * 1000, NULL);
    CHECK(!json_there(gateway(&w)) && !json_there(route(&w)));
    CHECK(says(&w, "rayservices.ray.io", "s", "SuspendComplete"));
    CHECK_INT(world_call(&w, "PATCH", path.ptr, merge, SLICE("{\"spec\":{\"suspend\":false}}")), 200);
    run_steps(&w, 100 * 1000, is_served);
    CHECK(is_served(&w));
    test_case("another upgradeStrategy: the routes go, and the service stays");
    CHECK_INT(world_call(&w, "PATCH", path.ptr, merge, SLICE("{\"spec\":{\"upgradeStrategy\":{\"type\":\"NewCluster\"}}}")), 200);
    run_steps(&w, 20 * 1000, NULL);
    CHECK(!json_there(gateway(&w)) && !json_there(route(&w)));
    CHECK_INT(see(&w).active_traffic, -1);
    CHECK(!says(&w, "rayservices.ray.io", "s", "RoutesReady"));
    settle(&w);
    world_free(&w);
}

static void test_mute(void)
{
    struct world w;
    test_case("a head that does not say from what its applications were deployed: nothing is taken from it, and that is told");
    make_steps_world(&w, true);
    deployed(&w, 50, 50, 1);
    board.mute = true;
    change_service(&w, "2.60.0", "m:b", 50, 50, 1);
    CHECK(run_steps(&w, 120 * 1000, NULL));
    CHECK_INT(see(&w).active_capacity, 100);
    CHECK(tells(&w, "FailedToUpdateTargetCapacity", "it does not say from what its applications were deployed"));
    board.mute = false;
    CHECK(run_steps(&w, 200 * 1000, is_single));
    CHECK(is_single(&w));
    world_free(&w);
}

/* ---- the operator ends ---- */

struct killer {
    struct world_hooks hooks; /* first */
    uint32_t writes, at;
};

static void on_arrived(struct world_hooks *h, struct world_request *q)
{
    ((struct killer *)h)->writes += !slice_is(q->method, "GET") && !slice_has(q->target, "/events");
}

/* The operator ends after each write with an odd number in turn, and another one takes over. back: after those with an even number, and
 * the spec is put back in the middle. */
static void test_crashes(bool back)
{
    for (uint32_t at = back ? 2 : 1; at <= 120; at += 2) {
        struct world w;
        struct killer killer = {.hooks = {.arrived = on_arrived}, .at = at};
        bool right = true, killed = false, returned = false;
        int most = 0;
        test_case("the operator ends after write %u%s", at, back ? ", with a way back" : "");
        make_steps_world(&w, true);
        w.hooks = &killer.hooks;
        create_service(&w, 50, 50, 1);
        const char *first = "";
        for (int64_t end_ms = w.now.mono_ms + 400 * 1000; w.now.mono_ms < end_ms;) {
            world_step(&w, w.now.mono_ms + 50);
            tend_gateway(&w);
            right &= check_shares(&w);
            if (!killed && killer.writes >= at) {
                killed = true;
                world_kill_operator(&w);
                world_run(&w, 2000);
                world_start_operator(&w, false);
            }
            if (!*first && is_served(&w)) {
                first = active(&w);
                change_service(&w, "2.60.0", "m:b", 50, 50, 1);
            } else if (*first && back && !returned && see(&w).pending_traffic >= 50) {
                returned = true;
                change_service(&w, "2.52.0", "m:a", 50, 50, 1);
            } else if (*first && (returned || !back) && (back || strcmp(active(&w), first) != 0) && is_single(&w)) {
                break;
            }
            int now = see(&w).pending_traffic;
            right &= returned || now < 0 || now >= most || !*pending(&w);
            most = now > most ? now : most;
        }
        CHECK(right);
        CHECK(*first && (strcmp(active(&w), first) == 0) == back);
        CHECK(is_single(&w));
        CHECK_INT(head_of(active(&w))->capacity, 100);
        w.hooks = NULL;
        world_free(&w);
        if (!killed)
            break;
    }
}

int main(void)
{
    test_upgrade();
    test_back();
    test_third();
    test_ill();
    test_no_gateway();
    test_generations();
    test_others();
    test_mute();
    test_crashes(false);
    test_crashes(true);
    return test_done();
}
