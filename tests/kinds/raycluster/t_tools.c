/* ConfigMap mobula-tools: there before workers need it, also in the next namespace of the same name. */
#include "tests/world/jobs.h"
#include "tests/world/maps.h"

static bool has_tools(struct world *w)
{
    return says(w, "configmaps", "mobula-tools", "AAEC"); /* base64 of 0 1 2 */
}

static void start(struct world *w, struct slice executable)
{
    struct apiserver_config config = {.seed = 1};
    world_init(w, &config);
    w->executable = executable;
    make_namespace(w);
    make_crd(w, "ray.io", "");
    world_start_operator(w, false);
}

static void remove_all(struct world *w)
{
    CHECK_INT(world_call(w, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json", SLICE("{}")), 200);
    world_run(w, 1000);
    CHECK_INT(world_call(w, "DELETE", "/api/v1/namespaces/n/configmaps/mobula-tools", "application/json", SLICE("{}")), 200);
}

static void test_life(void)
{
    struct world w;
    test_case("the tools come with the first workers, and again after they went with the last");
    start(&w, SLICE("\0\1\2"));
    world_run(&w, 1000);
    CHECK(!has_tools(&w));
    apply(&w, "c", 1);
    world_run(&w, 1000);
    CHECK(has_tools(&w));
    check_fixed_point(&w);
    remove_all(&w);
    apply(&w, "c", 1);
    world_run(&w, 2000);
    CHECK(has_tools(&w));
    world_free(&w);
}

/* A kubelet says FailedMount of a pod that comes before its ConfigMap, and tries again seconds later. */
static void test_before_workers(void)
{
    struct world w;
    test_case("no worker is made before the tools are there");
    start(&w, SLICE("\0\1\2"));
    world_run(&w, 2000);
    override(&w, "PATCH", "/api/v1/namespaces/n/configmaps", 429, false, 3);
    apply(&w, "c", 1);
    for (int ms = 0; ms < 20 * 1000 && apiserver_count(w.server, SLICE("pods")) < 2; ms++)
        world_run(&w, 1);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 2);
    CHECK(has_tools(&w));
    world_free(&w);
}

/* Pods are there, and nothing is to be made: they wait all the same. */
static void test_killed_between(void)
{
    struct world w;
    test_case("an operator ends when it has made the workers and not the tools");
    start(&w, SLICE("\0\1\2"));
    override(&w, "PATCH", "/api/v1/namespaces/n/configmaps", 503, false, 1000000);
    apply(&w, "c", 3);
    world_run(&w, 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 4);
    CHECK(!has_tools(&w));
    world_kill_operator(&w);
    apiserver_faults(w.server)->next.times = 0;
    world_start_operator(&w, false);
    world_run(&w, 10 * 1000);
    CHECK(has_tools(&w));
    CHECK(is_ready(&w, "c"));
    check_fixed_point(&w);
    world_free(&w);
}

static void test_refused(void)
{
    struct world w;
    test_case("tools that are refused for a while, and no longer wanted");
    start(&w, SLICE("\0\1\2"));
    override(&w, "PATCH", "/api/v1/namespaces/n/configmaps", 403, false, 3);
    apply(&w, "c", 1);
    world_run(&w, 60 * 1000);
    CHECK(has_tools(&w));
    override(&w, "GET", "/api/v1/namespaces/n/configmaps", 403, false, 1000000);
    remove_all(&w);
    apply(&w, "c", 1);
    world_run(&w, 10 * 1000);
    uint32_t left = apiserver_faults(w.server)->next.times;
    CHECK(left < 1000000);
    CHECK_INT(world_call(&w, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json", SLICE("{}")), 200);
    world_run(&w, 1000);
    left = apiserver_faults(w.server)->next.times;
    world_run(&w, 10 * 60 * 1000);
    CHECK_INT(apiserver_faults(w.server)->next.times, left); /* nobody asks for a namespace without clusters */
    world_free(&w);
}

static void test_jobs(void)
{
    struct world w;
    test_case("nothing is kept of a namespace whose last object is a RayJob that has lost its cluster");
    make_job_world(&w, false);
    world_kill_operator(&w);
    w.executable = SLICE("\0\1\2");
    world_start_operator(&w, false);
    apply_job(&w, "j", "\"shutdownAfterJobFinishes\":true,");
    CHECK(run_until(&w, "j", "Complete", 60 * 1000));
    world_run(&w, 30 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 0);
    CHECK(has_tools(&w));
    CHECK_INT(inspect_figures(w.op).tools, 1);
    delete_job(&w, "j");
    world_run(&w, 5000);
    CHECK_INT(inspect_figures(w.op).records, 0);
    CHECK_INT(inspect_figures(w.op).tools, 0);
    end_job_world(&w);
}

static struct slice last_warning;
static char warning[1024];

static void keep_warning(void *owner, struct slice line)
{
    (void)owner;
    last_warning = slice_head(line, sizeof warning);
    memcpy(warning, line.ptr, last_warning.len);
    last_warning.ptr = warning;
}

static void test_too_large(void)
{
    struct world w;
    test_case("a program that no ConfigMap holds");
    struct slice large = {calloc(1, 4 * MIB), 4 * MIB};
    start(&w, large);
    log_global.level = LOG_WARN;
    log_global.sink = keep_warning;
    apply(&w, "c", 1);
    world_run(&w, 5000);
    CHECK(memmem(last_warning.ptr ? last_warning.ptr : "", last_warning.len, "more than a ConfigMap holds", 27) != NULL);
    log_global.sink = NULL;
    log_global.level = LOG_INFO;
    world_free(&w);
    free((void *)(uintptr_t)large.ptr);
}

static bool packed;
static uint32_t takes;

static bool take(void *carrier, struct slice *out)
{
    (void)carrier;
    takes++;
    if (packed)
        *out = SLICE("\0\1\2");
    return packed;
}

static void test_packed_when_needed(void)
{
    struct world w;
    test_case("the program is packed when the tools are to be written, and meanwhile all else goes on");
    packed = false;
    takes = 0;
    struct apiserver_config config = {.seed = 1};
    world_init(&w, &config);
    w.executable_take = take;
    make_namespace(&w);
    make_crd(&w, "ray.io", "");
    world_start_operator(&w, false);
    world_run(&w, 5000);
    CHECK_INT(takes, 0);
    apply(&w, "c", 1);
    world_run(&w, 3000);
    CHECK(takes > 1 && takes < 30);
    CHECK(!has_tools(&w));
    CHECK_INT(inspect_figures(w.op).tools, 1);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 1); /* the head */
    packed = true;
    world_run(&w, 3000);
    CHECK(has_tools(&w));
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 2);
    check_fixed_point(&w);
    test_case("tools that are there are not packed again after a start");
    takes = 0;
    world_kill_operator(&w);
    world_start_operator(&w, false);
    apply(&w, "d", 1);
    world_run(&w, 5000);
    CHECK_INT(takes, 0);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 4);
    world_free(&w);
}

static const char pool_a[] = "- kind: ConfigMap\\n  patch: [{op: add, path: /metadata/labels/pool, value: a}]\\n";
static const char pool_b[] = "- kind: ConfigMap\\n  patch: [{op: add, path: /metadata/labels/pool, value: b}]\\n";
static const char failing[] = "- kind: ConfigMap\\n  patch: [{op: test, path: /data/none, value: a}]\\n";

static void test_patched(void)
{
    struct world w;
    struct apiserver_config config = {.seed = 1};
    world_init(&w, &config);
    w.executable = SLICE("\0\1\2");
    make_namespace(&w);
    make_crd(&w, "ray.io", "");
    watch_map(&w, "patches");
    put_map(&w, "patches", "patches.yaml", pool_a);
    world_start_operator(&w, false);
    apply(&w, "c", 1);
    world_run(&w, 5000);
    test_case("the tools are patched as all that is written");
    CHECK(has_tools(&w));
    CHECK(says(&w, "configmaps", "mobula-tools", "\"pool\":\"a\""));
    check_fixed_point(&w);
    test_case("and applied once: what is there is what these patches make of it");
    world_run(&w, 60 * 1000);
    override(&w, "PATCH", "/api/v1/namespaces/n/configmaps/mobula-tools", 503, false, 1000);
    apply(&w, "d", 1);
    world_run(&w, 5000);
    CHECK_INT(apiserver_faults(w.server)->next.times, 1000);
    apiserver_faults(w.server)->next.times = 0;
    test_case("the next workers find what other patches make of them");
    put_map(&w, "patches", "patches.yaml", pool_b);
    world_run(&w, 60 * 1000);
    apply(&w, "e", 1);
    world_run(&w, 5000);
    CHECK(says(&w, "configmaps", "mobula-tools", "\"pool\":\"b\"") && has_tools(&w));
    test_case("a patch that fails on them is told, and workers do not wait for it");
    put_map(&w, "patches", "patches.yaml", failing);
    world_run(&w, 60 * 1000);
    log_global.level = LOG_WARN;
    log_global.sink = keep_warning;
    apply(&w, "f", 1);
    world_run(&w, 5000);
    log_global.sink = NULL;
    log_global.level = LOG_INFO;
    CHECK(memmem(last_warning.ptr ? last_warning.ptr : "", last_warning.len, "/data/none", 10) != NULL);
    CHECK(is_ready(&w, "f"));
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_life();
    test_before_workers();
    test_killed_between();
    test_refused();
    test_jobs();
    test_too_large();
    test_packed_when_needed();
    test_patched();
    return test_done();
}
