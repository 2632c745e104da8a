/* An operator's checks and lists on their way into the status of its Cloud, with a real control plane between, and in virtual time. */
#include "fleet.h"
#include "objects.h"

#include <mobula/health.h>

#include "tests/world/jobs.h"
#include "tests/world/maps.h"

#include <stdio.h>

#define TYPES(more) "4CPU:\\n  resources: {CPU: 4, memory: 16Gi}\\n" more

struct run {
    struct world w;
    struct fleet f;
};

static struct jval cloud_of(struct run *r, const char *path)
{
    struct arena *a = &r->w.arena;
    struct jval doc = {.at = -1};
    struct slice all = apiserver_get(r->w.server, SLICE("clouds.mobula.dev"), SLICE("n"), SLICE("edge"), a);
    return all.ptr && json_read(&doc, all, a, NULL) ? json_get(json_get(doc, "status"), path) : doc;
}

static struct slice text_of(struct run *r, const char *path)
{
    return json_str(cloud_of(r, path), &r->w.arena);
}

/* Of the component, or condition, of this name. */
static struct slice member(struct run *r, const char *list, const char *key, const char *name, const char *what)
{
    struct jval k, one;
    for (struct jiter it = json_iter(cloud_of(r, list)); json_next(&it, &k, &one);)
        if (json_is(json_get(one, key), name))
            return json_get_str(one, what, &r->w.arena);
    return SLICE_NONE;
}

static struct slice component(struct run *r, const char *name)
{
    return member(r, "components", "name", name, "status");
}

static struct slice condition(struct run *r, const char *type, const char *what)
{
    return member(r, "conditions", "type", type, what);
}

static void run_for(struct run *r, int64_t ms)
{
    for (int64_t until = r->w.now.mono_ms + ms; r->w.now.mono_ms < until;)
        world_step(&r->w, until);
}

static uint64_t calls(const struct run *r)
{
    return inspect_figures(r->w.op).plane_calls;
}

static void start_operator(struct run *r)
{
    snprintf(r->f.instance, sizeof r->f.instance, "op");
    world_start_operator(&r->w, false);
}

static void begin(struct run *r)
{
    *r = (struct run){0};
    make_job_world(&r->w, false);
    world_kill_operator(&r->w);
    watch_map(&r->w, "instance-types");
    put_types(&r->w, TYPES(""));
    define_hub_kinds(&r->w);
    create_cloud(&r->w, "edge");
    struct jval doc;
    struct slice all = apiserver_get(r->w.server, SLICE("clouds.mobula.dev"), SLICE("n"), SLICE("edge"), &r->w.arena);
    CHECK(json_read(&doc, all, &r->w.arena, NULL));
    fleet_begin(&r->f, &r->w, 1);
    hub_deployment_id(json_get_str(doc, "metadata.uid", &r->w.arena), r->f.cloud);
    fleet_hub_start(&r->f, 0);
    start_operator(r);
    run_for(r, 5000);
}

static void end(struct run *r)
{
    fleet_hub_kill(&r->f, 0);
    end_job_world(&r->w);
    fleet_free(&r->f);
}

static void test_reported(struct run *r)
{
    test_case("what the operator has checked, its instance types and its nodes are in the status of its cloud soon");
    CHECK_STR(text_of(r, "health"), "HEALTHY");
    CHECK_INT(json_len(cloud_of(r, "components")), 7);
    CHECK_STR(component(r, "CLOUD_RESOURCES"), "PASSED");
    CHECK_STR(component(r, "IAM_IDENTITY"), "PASSED");
    CHECK_STR(member(r, "components", "name", "IAM_IDENTITY", "details"), "the control plane knows this operator as operator");
    CHECK_STR(component(r, "INSTANCE_TYPES"), "PASSED");
    CHECK_STR(component(r, "KUBERNETES_PERMISSIONS"), "PASSED");
    CHECK_STR(component(r, "KUBERNETES_VERSION"), "PASSED");
    CHECK_STR(component(r, "GATEWAY_RESOURCES"), "SKIPPED");
    CHECK_STR(component(r, "STORAGE_BUCKET"), "SKIPPED");
    CHECK_STR(condition(r, "Connected", "status"), "True");
    CHECK_STR(condition(r, "Healthy", "status"), "True");
    CHECK_STR(json_get_str(json_at(cloud_of(r, "instanceTypes.items"), 0), "name", &r->w.arena), "4CPU");
    run_for(r, 30 * 1000);
    CHECK_STR(json_get_str(json_at(cloud_of(r, "nodes.items"), 0), "name", &r->w.arena), "model-node");
}

static void test_idle(struct run *r)
{
    uint64_t before = calls(r);
    test_case("half an idle hour, in which all is checked again six times: three calls a minute at most");
    run_for(r, 30 * 60 * 1000);
    CHECK(calls(r) - before >= 60 && calls(r) - before <= 90);
}

/* One page after the other; beyond LIMIT_REMOTE_LISTED they are counted. */
static void test_many_nodes(struct run *r)
{
    test_case("LIMIT_REMOTE_LISTED nodes, and one more");
    for (int i = 1; i <= LIMIT_REMOTE_LISTED; i++) {
        if (i == LIMIT_REMOTE_LISTED) {
            run_for(r, OPERATOR_CHECK_MS + 60 * 1000);
            CHECK_INT(json_len(cloud_of(r, "nodes.items")), LIMIT_REMOTE_LISTED);
            CHECK_STR(text_of(r, "nodes.message"), "");
        }
        struct slice body = arena_printf(&r->w.arena, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%d\"}}", i);
        CHECK_INT(world_call(&r->w, "POST", "/api/v1/nodes", "application/json", body), 201);
    }
    run_for(r, OPERATOR_CHECK_MS + 60 * 1000);
    CHECK_INT(json_len(cloud_of(r, "nodes.items")), LIMIT_REMOTE_LISTED);
    CHECK_STR(text_of(r, "nodes.message"), "1 further nodes are not listed");
}

static void test_broken(struct run *r)
{
    char since[TIME_TEXT_MAX];
    test_case("a broken ConfigMap of instance types is told at once, and its end too; what was read before is in force");
    slice_copy(condition(r, "Healthy", "lastTransitionTime"), since, sizeof since);
    put_types(&r->w, TYPES("8CPU: {resources: {CPU: x}}\\n"));
    run_for(r, 3000);
    CHECK_STR(component(r, "INSTANCE_TYPES"), "FAILED");
    CHECK_STR(text_of(r, "health"), "UNHEALTHY");
    CHECK_STR(condition(r, "Healthy", "status"), "False");
    CHECK(slice_has(condition(r, "Healthy", "message"), "INSTANCE_TYPES: ConfigMap instance-types is broken"));
    CHECK(!slice_is(condition(r, "Healthy", "lastTransitionTime"), since));
    CHECK_STR(condition(r, "Connected", "status"), "True");
    CHECK_INT(json_len(cloud_of(r, "instanceTypes.items")), 1);
    put_types(&r->w, TYPES("8CPU: {resources: {CPU: 8, memory: 32Gi}}\\n"));
    run_for(r, 3000);
    CHECK_STR(component(r, "INSTANCE_TYPES"), "PASSED");
    CHECK_STR(text_of(r, "health"), "HEALTHY");
    CHECK_INT(json_len(cloud_of(r, "instanceTypes.items")), 2);
}

/* A watch continues for minutes after its right was revoked. The first watch that is refused starts a check at once. */
static void test_denied(struct run *r)
{
    struct apiserver_override *next = &apiserver_faults(r->w.server)->next;
    test_case("a watch that is refused: all is checked again at once");
    run_for(r, OPERATOR_CHECK_MS);
    *next = (struct apiserver_override){
        .method = SLICE("GET"), .path = SLICE("/api/v1/namespaces/n/services"), .status = 403, .reason = "Forbidden", .times = 1};
    for (int i = 0; i < 600 && next->times > 0; i++)
        run_for(r, 1000);
    CHECK_INT(next->times, 0);
    int64_t refused_us = r->w.now.wall_us - 1000 * 1000;
    run_for(r, 60 * 1000); /* the time of a check that found nothing new is written with the session */
    int64_t checked_us = 0;
    struct slice text = text_of(r, "checkedTime");
    if (!CHECK(time_parse(text, &checked_us, NULL) && checked_us >= refused_us && checked_us < refused_us + 20 * 1000 * 1000))
        printf("  %.*s, refused at %lld\n", SLICE_ARG(text), (long long)refused_us);
}

/* No watch ends meanwhile. */
static void test_rights(struct run *r)
{
    struct apiserver_override *next = &apiserver_faults(r->w.server)->next;
    test_case("rights that go are shown within 30 s, and rights that come back, too");
    CHECK(strcmp(health_components[HEALTH_RIGHTS].name, "KUBERNETES_PERMISSIONS") == 0);
    *next = (struct apiserver_override){.method = SLICE("POST"),
                                        .path = SLICE("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"),
                                        .status = 403,
                                        .reason = "Forbidden",
                                        .times = 1};
    run_for(r, 29 * 1000);
    CHECK_INT(next->times, 0);
    CHECK(!slice_is(component(r, "KUBERNETES_PERMISSIONS"), "PASSED"));
    run_for(r, 30 * 1000);
    CHECK_STR(component(r, "KUBERNETES_PERMISSIONS"), "PASSED");
}

static void test_silent(struct run *r)
{
    char last[TIME_TEXT_MAX];
    test_case("an operator that does not call: its health is unknown, and the last call is named");
    world_kill_operator(&r->w);
    slice_copy(text_of(r, "lastContactTime"), last, sizeof last);
    run_for(r, HUB_SESSION_MS + 15 * 1000);
    CHECK_STR(text_of(r, "health"), "UNKNOWN");
    CHECK_STR(condition(r, "Connected", "status"), "False");
    CHECK_STR(condition(r, "Healthy", "status"), "Unknown");
    CHECK(slice_has(condition(r, "Connected", "message"), last));
    CHECK_INT(json_len(cloud_of(r, "components")), 7);
    test_case("and that is written once");
    uint64_t before = apiserver_revision(r->w.server);
    run_for(r, 60 * 1000);
    CHECK_INT(apiserver_revision(r->w.server), before);
    test_case("until it calls again, and has checked all again");
    start_operator(r);
    run_for(r, 5000);
    CHECK_STR(text_of(r, "health"), "HEALTHY");
    CHECK_STR(condition(r, "Connected", "status"), "True");
}

int main(void)
{
    static struct run r;
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    begin(&r);
    test_reported(&r);
    test_idle(&r);
    test_many_nodes(&r);
    test_broken(&r);
    test_rights(&r);
    test_denied(&r);
    test_silent(&r);
    end(&r);
    return test_done();
}
