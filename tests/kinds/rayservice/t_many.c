/* A fleet of RayServices in a simulated world: the operator's memory for it, and no write when all is well. */
#include "cluster.h"

#include "tests/model/sim/fakeray.h"

#include "src/kinds/rayservice/rayservice.h"

enum { SERVICES = 100 };

/* Half of what 200 services may take: beside the program itself, 1.5 MiB, 20 MiB of 24. It includes buffers of connections and the arenas'
 * reserve. */
enum { HEAP_MAX = 10 * MIB };

static const char services_path[] = "/apis/ray.io/v1/namespaces/n/rayservices";
static const char merge[] = "application/merge-patch+json";

/* Each head runs its application from the first look after it was sent. */
static int answer(struct fakehead *fake, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    const struct fakeray *ray = (const struct fakeray *)fake;
    (void)body;
    if (!slice_starts(target, SLICE("/api/serve/applications/")))
        return 404;
    if (slice_is(method, "GET"))
        buf_printf(out,
                   "{\"proxies\":{\"n\":{\"node_ip\":\"%s\",\"status\":\"HEALTHY\"}},\"applications\":{\"a\":{\"status\":\"RUNNING\","
                   "\"message\":\"\",\"deployed_app_config\":{\"name\":\"a\",\"import_path\":\"m:a\"},\"deployments\":{\"D\":{\"status\":"
                   "\"HEALTHY\",\"message\":\"\"}}}}}",
                   ray->ip);
    return 200;
}

static struct slice spec_of(struct world *w, const char *version)
{
    return arena_printf(&w->arena,
                        "\"spec\":{\"serveConfigV2\":\"applications: [{name: a, import_path: 'm:a'}]\",\"upgradeStrategy\":{\"type\":"
                        "\"NewClusterWithIncrementalUpgrade\",\"clusterUpgradeOptions\":{\"maxSurgePercent\":50,\"stepSizePercent\":0,"
                        "\"intervalSeconds\":1,\"gatewayClassName\":\"any\"}},\"rayClusterConfig\":%.*s}",
                        SLICE_ARG(cluster_spec(w, version, true)));
}

static uint32_t count_said(struct world *w, const char *text)
{
    uint32_t n = 0;
    for (int i = 0; i < SERVICES; i++)
        n += says(w, "rayservices.ray.io", arena_printf(&w->arena, "s%d", i).ptr, text);
    return n;
}

static void put_status(struct world *w, const char *plural, const char *name, int i, const char *status)
{
    struct slice path = arena_printf(&w->arena, "/apis/gateway.networking.k8s.io/v1/namespaces/n/%s/s%d-%s/status", plural, i, name);
    world_call(w, "PATCH", path.ptr, merge, slice_of(status));
}

static void tend_gateways(struct world *w)
{
    static const char true_two[] = "\"conditions\":[{\"type\":\"Accepted\",\"status\":\"True\"},{\"type\":\"%s\",\"status\":\"True\"}]";
    struct slice programmed = arena_printf(&w->arena, true_two, "Programmed"), resolved = arena_printf(&w->arena, true_two, "ResolvedRefs");
    for (int i = 0; i < SERVICES; i++) {
        put_status(w, "gateways", "gateway", i, arena_printf(&w->arena, "{\"status\":{%.*s}}", SLICE_ARG(programmed)).ptr);
        put_status(
            w, "httproutes", "httproute", i,
            arena_printf(&w->arena, "{\"status\":{\"parents\":[{\"parentRef\":{\"name\":\"s%d-gateway\"},%.*s}]}}", i, SLICE_ARG(resolved))
                .ptr);
    }
}

/* Each head is asked twice in that time. */
static void check_rest(struct world *w)
{
    world_run(w, 2000);
    uint64_t before = apiserver_revision(w->server);
    world_run(w, 20 * 1000);
    CHECK_INT(apiserver_revision(w->server), before);
}

/* Measures the operator's memory by ending it. */
static void check_memory(struct world *w)
{
    uint64_t with = world_heap_bytes();
    world_kill_operator(w);
    uint64_t bytes = with - world_heap_bytes();
    printf("  the operator holds %llu KiB\n", (unsigned long long)bytes / KIB);
    CHECK(bytes < HEAP_MAX);
    world_start_operator(w, false);
    world_run(w, 20 * 1000);
}

int main(void)
{
    struct world w;
    struct apiserver_config config = {.seed = 1};
    test_case("%d services: memory, and no write at the fixed point", SERVICES);
    world_init(&w, &config);
    make_namespace(&w);
    make_crd(&w, "ray.io", "");
    make_definition(&w, "ray.io", "RayService", "rayservices", "");
    make_definition(&w, "gateway.networking.k8s.io", "Gateway", "gateways", "");
    make_definition(&w, "gateway.networking.k8s.io", "HTTPRoute", "httproutes", "");
    fakerays_begin(&w, true);
    w.rays->dash = answer;
    world_start_operator(&w, false);
    for (int i = 0; i < SERVICES; i++)
        CHECK_INT(world_call(&w, "POST", services_path, "application/json",
                             arena_printf(&w.arena,
                                          "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayService\",\"metadata\":{\"name\":\"s%d\","
                                          "\"namespace\":\"n\"},%.*s}",
                                          i, SLICE_ARG(spec_of(&w, "2.52.0")))),
                  201);
    world_run(&w, 20 * 1000);
    tend_gateways(&w);
    world_run(&w, 20 * 1000);
    CHECK_INT(count_said(&w, "GatewayProgrammed"), SERVICES);
    check_memory(&w);
    check_rest(&w);
    test_case("… and in the middle of an upgrade of all");
    for (int i = 0; i < SERVICES; i++)
        CHECK_INT(world_call(&w, "PATCH", arena_printf(&w.arena, "%s/s%d", services_path, i).ptr, merge,
                             arena_printf(&w.arena, "{%.*s}", SLICE_ARG(spec_of(&w, "2.60.0")))),
                  200);
    world_run(&w, 30 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 2 * SERVICES);
    CHECK_INT(count_said(&w, "has 50 % of the capacity and gets 0 % of the requests"), SERVICES);
    check_memory(&w);
    check_rest(&w);
    world_free(&w);
    return test_done();
}
