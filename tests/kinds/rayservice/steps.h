/* A world for upgrades of RayServices in steps: heads that take configurations, a Gateway controller, and the shares in status. */
#ifndef TESTS_RAYSERVICE_STEPS_H
#define TESTS_RAYSERVICE_STEPS_H

#include "cluster.h"

#include "tests/model/sim/fakeray.h"

/* Each program uses some of these. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-const-variable"

static const char services_path[] = "/apis/ray.io/v1/namespaces/n/rayservices";
static const char gateways_path[] = "/apis/gateway.networking.k8s.io/v1/namespaces/n/gateways";
static const char routes_path[] = "/apis/gateway.networking.k8s.io/v1/namespaces/n/httproutes";
static const char merge[] = "application/merge-patch+json";

enum { HEADS_MAX = 8, DEPLOY_MS = 2000 };

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

static bool is_half(struct world *w)
{
    return see(w).pending_traffic >= 50;
}

static bool is_single(struct world *w)
{
    return !*pending(w) && weight_of(w, active(w)) == 100 && apiserver_count(w->server, SLICE("rayclusters.ray.io")) == 1;
}

#pragma GCC diagnostic pop

#endif
