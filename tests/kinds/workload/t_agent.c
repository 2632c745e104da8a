/* The container mobula-agent in the heads of workloads. */
#include "tests/world/maps.h"
#include "tests/world/planes.h"

#include <mobula/http.h>

#define TYPED                                                                                                                              \
    "{\"cloud\":\"c\",\"image\":\"ray:1\",\"job\":{\"entrypoint\":\"x\"},\"computeConfig\":{\"inline\":{\"head_node\":"                    \
    "{\"instance_type\":\"small\"}}}}"

static const struct slice reports[] = {SLICE("--operator-url=http://o.n.svc:8082"), {0}};

static struct jval only_head(struct world *w)
{
    struct slice list;
    struct jval doc = {.at = -1};
    CHECK_INT(
        world_ask(w, "GET", "/api/v1/namespaces/n/pods?labelSelector=ray.io%2Fnode-type%3Dhead", "application/json", SLICE_NONE, &list),
        200);
    CHECK(json_read(&doc, list, &w->arena, NULL));
    CHECK_INT(json_len(json_get(doc, "items")), 1);
    return json_at(json_get(doc, "items"), 0);
}

static void begin(struct world *w, struct plane *p, const struct slice *agent, const char *patches)
{
    stage_plane(w, p);
    w->agent = agent;
    w->executable = SLICE("a program");
    watch_map(w, "instance-types");
    put_types(w, "small: {resources: {CPU: 4, memory: 8Gi}}");
    if (patches) {
        watch_map(w, "patches");
        put_map(w, "patches", "patches.yaml", patches);
    }
    world_start_operator(w, false);
    world_run(w, 2000);
}

static struct slice hash_of(struct world *w, struct jval pod)
{
    return json_str(json_child(json_get(pod, "metadata.annotations"), RAY_ANNOTATION_HASH), &w->arena);
}

static struct slice cpu_of(struct world *w, struct jval container)
{
    return json_get_str(container, "resources.requests.cpu", &w->arena);
}

/* The head of a workload of this type; with an agent or without. */
static struct jval head_with(struct world *w, struct plane *p, const struct slice *agent, const char *patches)
{
    begin(w, p, agent, patches);
    plane_put(p, 'a', "n", "train", TYPED);
    world_run(w, 5000);
    return only_head(w);
}

static void test_with_type(void)
{
    struct world w;
    struct plane p;
    char hash[RAY_HASH_TEXT + 1];
    test_case("without the flag there is none");
    struct jval pod = head_with(&w, &p, NULL, NULL);
    CHECK_INT(json_len(json_get(pod, "spec.containers")), 1);
    CHECK_STR(cpu_of(&w, json_at(json_get(pod, "spec.containers"), 0)), "4");
    CHECK(slice_copy(hash_of(&w, pod), hash, sizeof hash));
    end_plane(&w, &p);
    test_case("it is counted by the instance type, and the hash of the template does not know it");
    pod = head_with(&w, &p, reports, NULL);
    struct jval list = json_get(pod, "spec.containers"), agent = json_at(list, 1);
    CHECK_INT(json_len(list), 2);
    CHECK_STR(json_get_str(agent, "name", &w.arena), RAY_AGENT_CONTAINER);
    CHECK(slice_has(json_raw(json_get(agent, "command")), "\"--operator-url=http://o.n.svc:8082\""));
    CHECK_STR(cpu_of(&w, json_at(list, 0)), "3990m");
    CHECK_STR(cpu_of(&w, agent), "10m");
    CHECK_STR(json_get_str(json_at(list, 0), "resources.requests.memory", &w.arena), "8176Mi");
    CHECK(slice_has(json_raw(json_get(pod, "spec.volumes")), "\"audience\":\"mobula.dev/bootstrap\""));
    CHECK(slice_starts(json_str(json_child(json_get(pod, "metadata.annotations"), "mobula.dev/control-plane-ca"), &w.arena),
                       SLICE("-----BEGIN")));
    CHECK_STR(hash_of(&w, pod), hash);
    test_case("the program is there for it");
    CHECK(apiserver_get(w.server, SLICE("configmaps"), SLICE("n"), SLICE(RAY_TOOLS_CONFIGMAP_NAME), &w.arena).ptr);
    end_plane(&w, &p);
}

static void test_patched(void)
{
    struct world w;
    struct plane p;
    test_case("patches of pods find it");
    struct jval pod =
        head_with(&w, &p, reports,
                  "- kind: Pod\\n  patch: [{op: replace, path: /spec/containers/name=mobula-agent/resources/limits/memory, value: 32Mi}, "
                  "{op: add, path: /spec/containers/name=mobula-agent/env, value: [{name: A, value: b}]}, "
                  "{op: add, path: /spec/tolerations, value: [{operator: Exists}]}]\\n");
    struct jval agent = json_at(json_get(pod, "spec.containers"), 1);
    CHECK_STR(json_get_str(agent, "resources.limits.memory", &w.arena), "32Mi");
    CHECK_STR(json_raw(json_key(agent, SLICE("env"))), "[{\"name\":\"A\",\"value\":\"b\"}]");
    CHECK_STR(json_raw(json_get(pod, "spec.tolerations")), "[{\"operator\":\"Exists\"}]");
    end_plane(&w, &p);
}

static void test_of_others(void)
{
    struct world w;
    struct plane p;
    test_case("a cluster that no workload has made gets none");
    begin(&w, &p, reports, NULL);
    CHECK_INT(world_call(&w, "POST", v1, "application/json", annotated_body(&w, "", "", 0, "\"x\":\"y\"")), 201);
    world_run(&w, 5000);
    CHECK_INT(json_len(json_get(only_head(&w), "spec.containers")), 1);
    end_plane(&w, &p);
}

/* ---- what agents say ---- */

struct visitor {
    struct link link; /* first */
    struct buf in, out;
    char room[4 * KIB];
};

static struct slice visitor_peek(struct link *l)
{
    return buf_slice(&((struct visitor *)l)->in);
}

static void visitor_used(struct link *l, size_t n)
{
    buf_drop(&((struct visitor *)l)->in, n);
}

static char *visitor_room(struct link *l, size_t *n)
{
    *n = sizeof((struct visitor *)l)->room;
    return ((struct visitor *)l)->room;
}

static void visitor_wrote(struct link *l, size_t n)
{
    buf_put(&((struct visitor *)l)->out, (struct slice){((struct visitor *)l)->room, n});
    net_wake(l);
}

static void visitor_close(struct link *l)
{
    net_forget(l);
}

/* One report. Returns the status of its answer. */
static int64_t report(struct world *w, struct link_accept *at, struct slice token, struct slice body)
{
    static const struct link_ops ops = {visitor_peek, visitor_used, visitor_room, visitor_wrote, visitor_close};
    struct process *process = &w->process[0];
    struct visitor v = {.link = {.ops = &ops, .net = &process->net, .state = LINK_OPEN}};
    const struct http_header headers[] = {{SLICE("Authorization"), arena_printf(&w->arena, "Bearer %.*s", SLICE_ARG(token))}};
    int64_t status = 0;
    buf_init(&v.in, 64 * KIB);
    buf_init(&v.out, 64 * KIB);
    http_write_request(&v.in, SLICE("POST"), SLICE("/v1/report"), SLICE("o"), headers, 1, &body);
    at->accept(at, &v.link, world_process_now(process));
    net_wake(&v.link);
    world_run(w, 200);
    struct slice said = buf_slice(&v.out);
    slice_cut(&said, ' ');
    slice_int(slice_cut(&said, ' '), &status);
    buf_free(&v.in);
    buf_free(&v.out);
    return status;
}

static void test_hostile_report(void)
{
    struct world w;
    struct plane p;
    struct buf b;
    begin(&w, &p, reports, NULL);
    struct link_accept *at = operator_agents(w.op);
    board.run_ms = 30 * 1000;
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", TYPED);
    world_run(&w, 5000);
    struct slice token = arena_printf(&w.arena, "of-pod-%.*s", SLICE_ARG(json_get_str(only_head(&w), "metadata.uid", &w.arena)));
    test_case("a report is carried up, and of it what is known");
    CHECK_INT(report(&w, at, SLICE("bad"), SLICE("{\"ray\":{}}")), 401);
    CHECK_INT(
        report(
            &w, at, token,
            SLICE("{\"ray\":{\"health\":\"HEALTHY\",\"own\":1,\"resources\":[{\"name\":\"CPU\",\"total\":4,\"used\":1.5,\"x\":{}},7]}}")),
        200);
    world_run(&w, 1000);
    CHECK(p.reported && strstr(p.reported, "\"health\":\"HEALTHY\"") && !strstr(p.reported, "own"));
    CHECK(p.reported && strstr(p.reported, "\"resources\":[{\"name\":\"CPU\",\"total\":4,\"used\":1.5}]"));
    test_case("one that nests as deep as the operator reads keeps no call from being read");
    world_run(&w, HUB_REPORT_MS);
    buf_init(&b, 16 * KIB);
    buf_put(&b, SLICE("{\"ray\":{\"health\":\"DEEP\",\"resources\":"));
    for (int i = 0; i < LIMIT_JSON_DEPTH - 2; i++)
        buf_putc(&b, '[');
    for (int i = 0; i < LIMIT_JSON_DEPTH - 2; i++)
        buf_putc(&b, ']');
    buf_put(&b, SLICE("}}"));
    CHECK_INT(report(&w, at, token, buf_slice(&b)), 200);
    buf_free(&b);
    CHECK(run_until_says(&w, &p, x, "SUCCEEDED", 60 * 1000));
    CHECK(p.reported && strstr(p.reported, "DEEP"));
    end_plane(&w, &p);
}

/* That a cluster of a job is one of a workload's is known when the job is. */
static void test_job_comes_late(void)
{
    struct world w;
    struct plane p;
    test_case("a head that is made again while RayJobs are not listed yet has one, too");
    struct jval pod = head_with(&w, &p, reports, NULL);
    CHECK_INT(json_len(json_get(pod, "spec.containers")), 2);
    world_kill_operator(&w);
    struct slice path = arena_printf(&w.arena, "%s/%.*s", pods_path, SLICE_ARG(json_get_str(pod, "metadata.name", &w.arena)));
    CHECK_INT(world_call(&w, "DELETE", path.ptr, "application/json", SLICE("{\"gracePeriodSeconds\":0}")), 200);
    override(&w, "GET", jobs_path, 503, false, 4);
    world_start_operator(&w, false);
    for (int ms = 0; ms < 60 * 1000 && apiserver_count(w.server, SLICE("pods")) == 0; ms += 10)
        world_run(&w, 10);
    CHECK_INT(json_len(json_get(only_head(&w), "spec.containers")), 2);
    end_plane(&w, &p);
}

int main(void)
{
    test_with_type();
    test_patched();
    test_of_others();
    test_hostile_report();
    test_job_comes_late();
    return test_done();
}
