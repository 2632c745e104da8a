/* RayServices in a simulated cluster: requests lead only to a cluster whose application runs, at whichever write the operator is killed. */
#include "cluster.h"

#include "tests/model/sim/fakeray.h"

#include "src/kinds/rayservice/rayservice.h"

static const char services_path[] = "/apis/ray.io/v1/namespaces/n/rayservices";

enum { HEADS_MAX = 8, DEPLOY_MS = 3000 };

/* The Serve configurations that a head has received. */
struct serve_head {
    char cluster[64];
    uint32_t session, puts;
    int64_t put_ms; /* time of the last PUT; 0: none in this session */
};
static struct {
    struct world *world;
    struct serve_head heads[HEADS_MAX];
    uint32_t count;
    const char *stuck; /* an application whose configuration contains this never gets ready; NULL: all do */
    bool is_stuck[HEADS_MAX];
    uint32_t deployments; /* of the application … */
    size_t name, message; /* … bytes in the name of each, and in its message */
} board;

static struct serve_head *head_of(const char *cluster)
{
    for (uint32_t i = 0; i < board.count; i++)
        if (strcmp(board.heads[i].cluster, cluster) == 0)
            return &board.heads[i];
    if (board.count == HEADS_MAX)
        abort();
    struct serve_head *h = &board.heads[board.count++];
    snprintf(h->cluster, sizeof h->cluster, "%s", cluster);
    return h;
}

static bool serves(const struct serve_head *h)
{
    return h->put_ms && !board.is_stuck[h - board.heads] && board.world->now.mono_ms - h->put_ms >= DEPLOY_MS;
}

/* Members of the application's "deployments". */
static void put_deployments(struct buf *out)
{
    for (uint32_t i = 0; i < board.deployments; i++) {
        buf_printf(out, "%s\"d%u", i ? "," : "", i);
        for (size_t len = 2; len < board.name; len++)
            buf_putc(out, 'n');
        buf_printf(out, "\":{\"name\":\"d\",\"status\":\"HEALTHY\",\"message\":\"");
        for (size_t len = 0; len < board.message; len++)
            buf_putc(out, 'm');
        buf_printf(out, "\"}");
    }
}

static int board_answer(struct fakehead *fake, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    struct fakeray *ray = (struct fakeray *)fake;
    struct serve_head *h = head_of(ray->cluster);
    if (h->session != ray->sessions)
        *h = (struct serve_head){.session = ray->sessions, .puts = h->puts};
    if (!h->cluster[0])
        snprintf(h->cluster, sizeof h->cluster, "%s", ray->cluster);
    if (!slice_starts(target, SLICE("/api/serve/applications/")))
        return 404;
    if (slice_is(method, "PUT")) {
        h->puts++;
        h->put_ms = board.world->now.mono_ms;
        board.is_stuck[h - board.heads] = board.stuck && slice_find_text(body, board.stuck) >= 0;
        return 200;
    }
    buf_printf(out, "{\"proxies\":{\"n\":{\"node_ip\":\"%s\",\"status\":\"HEALTHY\"}},\"applications\":{", ray->ip);
    if (h->put_ms) {
        buf_printf(out, "\"a\":{\"name\":\"a\",\"status\":\"%s\",\"message\":\"\",\"deployments\":{", serves(h) ? "RUNNING" : "DEPLOYING");
        put_deployments(out);
        buf_printf(out, "}}");
    }
    buf_printf(out, "}}");
    return 200;
}

static void make_service_world(struct world *w, bool elect)
{
    struct apiserver_config config = {.seed = 1};
    world_init(w, &config);
    memset(&board, 0, sizeof board);
    board.world = w;
    make_namespace(w);
    make_crd(w, "ray.io", "");
    make_definition(w, "ray.io", "RayService", "rayservices", "");
    fakerays_begin(w, true);
    w->rays->dash = board_answer;
    world_start_operator(w, elect);
}

/* version: the cluster's rayVersion; import: the application's import_path. */
static struct slice service_spec(struct world *w, const char *version, const char *import)
{
    return arena_printf(&w->arena,
                        "\"spec\":{\"serveConfigV2\":\"applications: [{name: a, import_path: %s}]\",\"rayClusterDeletionDelaySeconds\":20,"
                        "\"rayClusterConfig\":%.*s}",
                        import, SLICE_ARG(cluster_spec(w, version, false)));
}

static void create_service(struct world *w)
{
    struct slice body = arena_printf(&w->arena,
                                     "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayService\",\"metadata\":{\"name\":\"s\",\"namespace\":"
                                     "\"n\"},%.*s}",
                                     SLICE_ARG(service_spec(w, "2.52.0", "m:a")));
    CHECK_INT(world_call(w, "POST", services_path, "application/json", body), 201);
}

static void change_service(struct world *w, const char *version, const char *import)
{
    struct slice path = arena_printf(&w->arena, "%s/s", services_path),
                 patch = arena_printf(&w->arena, "{%.*s}", SLICE_ARG(service_spec(w, version, import)));
    CHECK_INT(world_call(w, "PATCH", path.ptr, "application/merge-patch+json", patch), 200);
}

static struct slice value_of(struct world *w, const char *resource, const char *name, const char *path)
{
    struct jval object = world_object(w, resource, name);
    return json_there(object) ? json_get_str(object, path, &w->arena) : SLICE_NONE;
}

/* The cluster that the serve service leads to; empty: none. */
static const char *selected(struct world *w)
{
    struct jval selector = json_get(world_object(w, "services", "s-serve-svc"), "spec.selector");
    struct slice to = json_str(json_child(selector, "ray.io/cluster"), &w->arena);
    return arena_printf(&w->arena, "%.*s", SLICE_ARG(to)).ptr;
}

static const char *active(struct world *w)
{
    struct slice name = value_of(w, "rayservices.ray.io", "s", "status.activeServiceStatus.rayClusterName");
    return arena_printf(&w->arena, "%.*s", SLICE_ARG(name)).ptr;
}

static bool exists(struct world *w, const char *cluster)
{
    return !slice_empty(value_of(w, "rayclusters.ray.io", cluster, "metadata.uid"));
}

/* The serve service leads to no cluster, or to one whose application runs. */
static bool check_selected(struct world *w)
{
    const char *to = selected(w);
    return !*to || (exists(w, to) && serves(head_of(to)));
}

/* Runs until a cluster other than `not` is active, at most two minutes. Returns its name. */
static const char *run_until_active(struct world *w, const char * not )
{
    bool right = true;
    for (int64_t end_ms = w->now.mono_ms + 120 * 1000; w->now.mono_ms < end_ms;) {
        world_step(w, w->now.mono_ms + 50);
        right &= check_selected(w);
        const char *now = active(w);
        if (*now && strcmp(now, not ) != 0)
            break;
    }
    CHECK(right);
    return active(w);
}

static void test_switch(void)
{
    struct world w;
    test_case("deployed, replaced, and the earlier cluster deleted after its delay");
    make_service_world(&w, false);
    create_service(&w);
    const char *first = run_until_active(&w, "");
    CHECK(*first);
    CHECK_STR(slice_of(selected(&w)), first);
    CHECK_INT(head_of(first)->puts, 1);
    change_service(&w, "2.60.0", "m:b");
    const char *second = run_until_active(&w, first);
    CHECK(*second && strcmp(second, first) != 0);
    CHECK_STR(slice_of(selected(&w)), second);
    CHECK_INT(head_of(first)->puts, 1);
    CHECK_INT(head_of(second)->puts, 1);
    world_run(&w, 10 * 1000);
    CHECK(exists(&w, first));
    world_run(&w, 20 * 1000);
    CHECK(!exists(&w, first));
    check_fixed_point(&w);
    CHECK_INT(head_of(second)->puts, 1);
    world_free(&w);
}

static void test_failing(void)
{
    struct world w;
    test_case("a version that does not run gets no request, and going back ends it");
    make_service_world(&w, false);
    create_service(&w);
    const char *first = run_until_active(&w, "");
    board.stuck = "broken";
    change_service(&w, "2.60.0", "m:broken");
    for (int i = 0; i < 60; i++) {
        world_run(&w, 1000);
        CHECK(check_selected(&w));
    }
    CHECK_STR(slice_of(selected(&w)), first);
    CHECK(!slice_empty(value_of(&w, "rayservices.ray.io", "s", "status.pendingServiceStatus.rayClusterName")));
    change_service(&w, "2.52.0", "m:a");
    world_run(&w, 40 * 1000);
    CHECK_STR(slice_of(active(&w)), first);
    CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 1);
    CHECK_INT(head_of(first)->puts, 1);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_head_forgets(void)
{
    struct world w;
    test_case("a head that starts again gets its applications again");
    make_service_world(&w, false);
    create_service(&w);
    const char *first = run_until_active(&w, "");
    fakeray_restart(fakeray_of(&w, "ray.io", "n", first));
    world_run(&w, 30 * 1000);
    CHECK_INT(head_of(first)->puts, 2);
    CHECK(serves(head_of(first)));
    CHECK_STR(slice_of(active(&w)), first);
    world_free(&w);
}

static void test_many(void)
{
    struct world w;
    test_case("five clusters at once: more than models are kept");
    make_service_world(&w, false);
    create_service(&w);
    const char *first = run_until_active(&w, "");
    for (int i = 0; i < 4; i++) {
        change_service(&w, arena_printf(&w.arena, "2.60.%d", i).ptr, "m:b");
        world_run(&w, 1000);
    }
    CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 5);
    const char *last = run_until_active(&w, first);
    CHECK(slice_is(value_of(&w, "rayclusters.ray.io", last, "spec.rayVersion"), "2.60.3"));
    CHECK_STR(slice_of(selected(&w)), last);
    world_run(&w, 40 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 1);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_corrected(void)
{
    struct world w;
    test_case("the initializing timeout begins when a spec is corrected");
    make_service_world(&w, false);
    CHECK_INT(
        world_call(&w, "POST", services_path, "application/json",
                   arena_printf(&w.arena,
                                "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayService\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\","
                                "\"annotations\":{\"ray.io/initializing-timeout\":\"30s\"}},%.*s}",
                                SLICE_ARG(service_spec(&w, "2.52.0", "m:a, x: [")))),
        201);
    world_run(&w, 60 * 1000);
    CHECK(says(&w, "rayservices.ray.io", "s", "ValidationFailed"));
    change_service(&w, "2.52.0", "m:a");
    CHECK(*run_until_active(&w, ""));
    world_free(&w);
}

/* ---- from KubeRay ---- */

/* `text` with the first `from` replaced. */
static struct slice edited(struct world *w, struct slice text, const char *from, const char *to)
{
    const char *at = strstr(text.ptr, from);
    size_t before = (size_t)(at - text.ptr), behind = before + strlen(from);
    return arena_printf(&w->arena, "%.*s%s%.*s", (int)before, text.ptr, to, (int)(text.len - behind), text.ptr + behind);
}

/* A RayService whose cluster KubeRay made: the stored spec has members of Go structs. observed: status.observedGeneration. */
static void make_kuberay_service(struct world *w, int observed)
{
    make_service_world(w, false);
    world_kill_operator(w);
    create_service(w);
    struct slice uid = value_of(w, "rayservices.ray.io", "s", "metadata.uid"),
                 spec = edited(w, cluster_spec(w, "2.52.0", false), "\"rayStartParams\"", "\"resources\":{},\"rayStartParams\"");
    CHECK_INT(world_call(w, "POST", v1, "application/json",
                         arena_printf(&w->arena,
                                      "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"s-go\","
                                      "\"namespace\":\"n\",\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayService\","
                                      "\"name\":\"s\",\"uid\":\"%.*s\",\"controller\":true}]},\"spec\":%.*s}",
                                      SLICE_ARG(uid), SLICE_ARG(spec))),
              201);
    CHECK_INT(world_call(w, "PATCH", arena_printf(&w->arena, "%s/s/status", services_path).ptr, "application/merge-patch+json",
                         arena_printf(&w->arena,
                                      "{\"status\":{\"observedGeneration\":%d,\"activeServiceStatus\":{\"rayClusterName\":\"s-go\"},"
                                      "\"pendingServiceStatus\":{}}}",
                                      observed)),
              200);
    world_start_operator(w, false);
    world_run(w, 10 * 1000);
}

static void test_from_kuberay(void)
{
    struct world w;
    test_case("a cluster that KubeRay made for this spec stays, and gets our annotations");
    make_kuberay_service(&w, 1);
    CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 1);
    CHECK_STR(slice_of(active(&w)), "s-go");
    struct jval notes = json_get(world_object(&w, "rayclusters.ray.io", "s-go"), "metadata.annotations");
    CHECK(json_there(json_child(notes, RAYSERVICE_HASH)) && json_there(json_child(notes, RAYSERVICE_SCALE)));
    CHECK(!tells(&w, "UpdatedRayCluster", "")); /* no worker group has changed */
    world_run(&w, 20 * 1000);
    check_fixed_point(&w);
    test_case("… then other numbers of replicas reach it");
    struct slice path = arena_printf(&w.arena, "%s/s", services_path),
                 spec = edited(&w, service_spec(&w, "2.52.0", "m:a"), "\"replicas\":1", "\"replicas\":2");
    CHECK_INT(world_call(&w, "PATCH", path.ptr, "application/merge-patch+json", arena_printf(&w.arena, "{%.*s}", SLICE_ARG(spec))), 200);
    world_run(&w, 10 * 1000);
    CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 1);
    struct jval group = json_at(json_get(world_object(&w, "rayclusters.ray.io", "s-go"), "spec.workerGroupSpecs"), 0);
    CHECK_INT(json_get_int(group, "replicas", 0), 2);
    test_case("… and another spec replaces it");
    change_service(&w, "2.60.0", "m:b");
    CHECK(strcmp(run_until_active(&w, "s-go"), "s-go") != 0);
    world_free(&w);
    test_case("a cluster that KubeRay made for an earlier spec is replaced");
    make_kuberay_service(&w, 7);
    CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 2);
    CHECK(strcmp(run_until_active(&w, "s-go"), "s-go") != 0);
    world_free(&w);
}

/* ---- answers of heads ---- */

/* What is longer than a limit is refused as a whole. LIMIT_APPS_NAMES: names and states, of the application, too. */
static void test_limits(void)
{
    static const struct {
        uint32_t deployments;
        size_t name;
        const char *limit;
    } rows[] = {
        {LIMIT_APPS_LISTED - 1, 0, NULL},
        {LIMIT_APPS_LISTED, 0, "(LIMIT_APPS_LISTED)"},
        {1, LIMIT_APPS_NAMES - sizeof "aRUNNINGHEALTHY" + 1, NULL},
        {1, LIMIT_APPS_NAMES - sizeof "aRUNNINGHEALTHY" + 2, "(LIMIT_APPS_NAMES)"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world w;
        test_case("%u deployments, a name of %zu bytes", rows[i].deployments, rows[i].name);
        make_service_world(&w, false);
        board.deployments = rows[i].deployments;
        board.name = rows[i].name;
        create_service(&w);
        world_run(&w, 20 * 1000);
        CHECK_INT(*active(&w) != 0, !rows[i].limit);
        CHECK(!rows[i].limit || says(&w, "rayservices.ray.io", "s", rows[i].limit));
        world_free(&w);
    }
}

static void test_words(void)
{
    for (uint32_t more = 0; more < 2; more++) {
        struct world w;
        uint32_t count = LIMIT_APPS_WORDS / SERVE_WORDS_MAX - 2 + more;
        test_case("messages of %u deployments share LIMIT_APPS_WORDS", count);
        make_service_world(&w, false);
        board.deployments = count;
        board.message = SERVE_WORDS_MAX;
        create_service(&w);
        run_until_active(&w, "");
        struct slice words =
            value_of(&w, "rayservices.ray.io", "s", "status.activeServiceStatus.applicationStatuses.a.serveDeploymentStatuses.d0.message");
        CHECK_INT(words.len, more ? LIMIT_APPS_WORDS / (count + 2) : SERVE_WORDS_MAX);
        world_free(&w);
    }
}

/* ---- refusals ---- */

static void test_taken(void)
{
    struct world w;
    test_case("a RayCluster of the same name has its head service: it keeps that, and the condition says so");
    make_service_world(&w, false);
    apply(&w, "s", 1);
    world_run(&w, 5000);
    struct slice owner = value_of(&w, "services", "s-head-svc", "metadata.ownerReferences[0].uid");
    create_service(&w);
    world_run(&w, 60 * 1000);
    CHECK(says(&w, "rayservices.ray.io", "s", "service s-head-svc belongs to RayCluster s (ray.io/v1)"));
    CHECK(slice_eq(value_of(&w, "services", "s-head-svc", "metadata.ownerReferences[0].uid"), owner));
    CHECK(is_ready(&w, "s"));
    CHECK_INT(world_call(&w, "DELETE", arena_printf(&w.arena, "%s/s", v1).ptr, "application/json", SLICE("{}")), 200);
    const char *first = run_until_active(&w, "");
    CHECK(*first);
    apply(&w, "s", 1);
    world_run(&w, 10 * 1000);
    CHECK(says(&w, "rayclusters.ray.io", "s", "service s-head-svc belongs to RayService s (ray.io/v1)"));
    CHECK_STR(slice_of(selected(&w)), first);
    world_free(&w);
}

/* Counts requests of one method to one path. */
struct counter {
    struct world_hooks hooks; /* first */
    const char *method, *path;
    uint32_t count;
};

static void on_counted(struct world_hooks *h, struct world_request *q)
{
    struct counter *c = (struct counter *)h;
    c->count += slice_is(q->method, c->method) && slice_starts(q->target, slice_of(c->path));
}

/* A refused write is not sent again at once. */
static void test_refused(void)
{
    static const struct {
        const char *what, *method, *path, *event;
        bool suspend;
    } rows[] = {
        {"label of the head", "PATCH", pods_path, "FailedToUpdateHeadPodServeLabel", false},
        {"end of its cluster", "DELETE", v1, "FailedToDeleteRayCluster", true},
        {"a cluster", "POST", v1, "FailedToCreateRayCluster", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct world w;
        struct counter counter = {.hooks = {.arrived = on_counted}, .method = rows[i].method, .path = rows[i].path};
        test_case("refused: %s", rows[i].what);
        make_service_world(&w, false);
        if (!rows[i].suspend)
            override(&w, rows[i].method, rows[i].path, 403, false, 1000);
        create_service(&w);
        if (rows[i].suspend) {
            run_until_active(&w, "");
            override(&w, rows[i].method, rows[i].path, 403, false, 1000);
            CHECK_INT(world_call(&w, "PATCH", arena_printf(&w.arena, "%s/s", services_path).ptr, "application/merge-patch+json",
                                 SLICE("{\"spec\":{\"suspend\":true}}")),
                      200);
        }
        w.hooks = &counter.hooks;
        world_run(&w, 60 * 1000);
        CHECK(counter.count >= 3 && counter.count <= 20);
        CHECK(tells(&w, rows[i].event, "403 Forbidden"));
        w.hooks = NULL;
        world_free(&w);
    }
}

/* Kills the operator when write number `at` has reached the API server. */
struct killer {
    struct world_hooks hooks; /* first */
    uint32_t writes, at;
};

static void on_arrived(struct world_hooks *h, struct world_request *q)
{
    ((struct killer *)h)->writes += !slice_is(q->method, "GET");
}

/* The operator is killed after each of its writes in turn, and another one takes over. */
static void test_crashes(void)
{
    for (uint32_t at = 1; at <= 40; at++) {
        struct world w;
        struct killer killer = {.hooks = {.arrived = on_arrived}, .at = at};
        bool right = true, killed = false;
        test_case("the operator ends after write %u", at);
        make_service_world(&w, false);
        w.hooks = &killer.hooks;
        create_service(&w);
        const char *first = "", *now;
        for (int64_t end_ms = w.now.mono_ms + 300 * 1000; w.now.mono_ms < end_ms;) {
            world_step(&w, w.now.mono_ms + 50);
            right &= check_selected(&w);
            if (!killed && killer.writes >= at) {
                killed = true;
                world_kill_operator(&w);
                world_run(&w, 2000);
                world_start_operator(&w, false);
            }
            now = active(&w);
            if (!*first && *now) {
                first = now;
                change_service(&w, "2.60.0", "m:b");
            } else if (*first && strcmp(now, first) != 0 && !exists(&w, first))
                break;
        }
        CHECK(right);
        CHECK(*first && strcmp(active(&w), first) != 0);
        CHECK_STR(slice_of(selected(&w)), active(&w));
        CHECK_INT(apiserver_count(w.server, SLICE("rayclusters.ray.io")), 1);
        w.hooks = NULL;
        world_free(&w);
        if (!killed)
            break;
    }
}

int main(void)
{
    test_switch();
    test_failing();
    test_head_forgets();
    test_many();
    test_corrected();
    test_from_kuberay();
    test_limits();
    test_words();
    test_taken();
    test_refused();
    test_crashes();
    return test_done();
}
