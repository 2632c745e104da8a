/* Ingresses of RayClusters in a simulated world: made, set right, taken away, and never stolen from somebody else. */
#include "tests/world/maps.h"

static const char path_of[] = "/apis/networking.k8s.io/v1/namespaces/n/ingresses";
static const char one[] = "/apis/networking.k8s.io/v1/namespaces/n/ingresses/c-head-ingress";
static const char patch_type[] = "application/merge-patch+json";

static struct slice wants(struct world *w, const char *annotations, const char *options)
{
    struct slice body = cluster_body(w, "c", 1, "");
    const char *at = strstr(body.ptr, "\"rayStartParams\""), *name = strstr(body.ptr, "\"name\":\"c\"");
    return arena_printf(&w->arena, "%.*s\"annotations\":{%s},%.*s\"enableIngress\":true,%s%s", (int)(name - body.ptr), body.ptr,
                        annotations, (int)(at - name), name, options, at);
}

static void create(struct world *w, const char *annotations, const char *options)
{
    CHECK_INT(world_call(w, "POST", v1, "application/json", wants(w, annotations, options)), 201);
}

static struct jval ingress(struct world *w)
{
    return json_document(apiserver_get(w->server, SLICE("ingresses.networking.k8s.io"), SLICE("n"), SLICE("c-head-ingress"), &w->arena),
                         &w->arena, NULL);
}

static void check_text(struct world *w, const char *path, const char *text)
{
    CHECK_STR(json_get_str(ingress(w), path, &w->arena), text);
}

static void enable(struct world *w, bool on)
{
    struct slice patch = arena_printf(&w->arena, "{\"spec\":{\"headGroupSpec\":{\"enableIngress\":%s}}}", on ? "true" : "false");
    CHECK_INT(world_call(w, "PATCH", arena_printf(&w->arena, "%s/c", v1).ptr, patch_type, patch), 200);
}

/* Requests that the last override would still answer. */
static uint32_t left(const struct world *w)
{
    return apiserver_faults(w->server)->next.times;
}

static void test_made(void)
{
    struct world w;
    test_case("made as KubeRay makes it, and owned by the cluster");
    make_world(&w, false);
    create(
        &w, "\"kubernetes.io/ingress.class\":\"nginx\",\"nginx.ingress.kubernetes.io/rewrite-target\":\"/$1\"",
        "\"ingressOptions\":{\"host\":\"ray.example.com\",\"path\":\"/c\",\"pathType\":\"Exact\",\"tls\":[{\"hosts\":[\"ray.example.com\"],"
        "\"secretName\":\"cert\"}]},");
    world_run(&w, 5000);
    CHECK(is_ready(&w, "c"));
    struct jval it = ingress(&w), rule = json_at(json_get(it, "spec.rules"), 0), path = json_at(json_get(rule, "http.paths"), 0);
    check_text(&w, "spec.ingressClassName", "nginx");
    CHECK(json_is(json_get(rule, "host"), "ray.example.com"));
    CHECK(json_is(json_get(path, "path"), "/c") && json_is(json_get(path, "pathType"), "Exact"));
    CHECK(json_is(json_get(path, "backend.service.name"), "c-head-svc"));
    CHECK_INT(json_get_int(path, "backend.service.port.number", 0), 8265);
    CHECK(json_is(json_get(json_at(json_get(it, "spec.tls"), 0), "secretName"), "cert"));
    struct jval notes = json_get(it, "metadata.annotations"), labels = json_get(it, "metadata.labels");
    CHECK(json_is(json_child(notes, "nginx.ingress.kubernetes.io/rewrite-target"), "/$1"));
    CHECK(!json_there(json_child(notes, "kubernetes.io/ingress.class")));
    CHECK(json_is(json_child(labels, "ray.io/cluster"), "c") && json_is(json_child(labels, "ray.io/identifier"), "c-head"));
    CHECK(json_is(json_child(labels, "app.kubernetes.io/name"), "kuberay"));
    struct jval owner = json_at(json_get(it, "metadata.ownerReferences"), 0);
    CHECK(json_is(json_get(owner, "kind"), "RayCluster") && json_get_bool(owner, "controller", false));
    CHECK(tells(&w, "CreatedIngress", "c-head-ingress"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "no ingress controller has given it an address: is \\\"nginx\\\""));
    struct slice status = SLICE("{\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"10.0.0.9\"}]}}}");
    CHECK_INT(world_call(&w, "PATCH", arena_printf(&w.arena, "%s/status", one).ptr, patch_type, status), 200);
    world_run(&w, 60 * 1000);
    CHECK(says(&w, "rayclusters.ray.io", "c", "reached at 10.0.0.9 as ray.example.com"));
    check_fixed_point(&w);
    world_free(&w);
}

static void test_drift(void)
{
    struct world w;
    test_case("what others change is set right, what they add stays, and one that they delete comes back");
    make_world(&w, false);
    create(&w, "\"a\":\"1\",\"b\":\"2\"", "");
    world_run(&w, 5000);
    struct slice edit = SLICE("{\"metadata\":{\"annotations\":{\"other\":\"x\",\"a\":\"9\"}},\"spec\":{\"rules\":[{\"host\":\"evil\"}]}}");
    CHECK_INT(world_call(&w, "PATCH", one, patch_type, edit), 200);
    world_run(&w, 1000);
    CHECK(!says(&w, "ingresses.networking.k8s.io", "c-head-ingress", "evil"));
    CHECK(says(&w, "ingresses.networking.k8s.io", "c-head-ingress", "\"other\":\"x\""));
    CHECK(says(&w, "ingresses.networking.k8s.io", "c-head-ingress", "\"a\":\"1\""));
    CHECK_INT(world_call(&w, "DELETE", one, "application/json", SLICE("{}")), 200);
    world_run(&w, 2000);
    CHECK(json_there(ingress(&w)));
    check_fixed_point(&w);
    test_case("an annotation that the cluster loses goes, also while no operator runs");
    world_kill_operator(&w);
    CHECK_INT(
        world_call(&w, "PATCH", arena_printf(&w.arena, "%s/c", v1).ptr, patch_type, SLICE("{\"metadata\":{\"annotations\":{\"b\":null}}}")),
        200);
    world_start_operator(&w, false);
    world_run(&w, 5000);
    CHECK(!says(&w, "ingresses.networking.k8s.io", "c-head-ingress", "\"b\":\"2\""));
    check_fixed_point(&w);
    test_case("an operator that starts again writes nothing");
    uint32_t before = w.sent.patches;
    world_kill_operator(&w);
    world_start_operator(&w, false);
    world_run(&w, 30 * 1000);
    CHECK_INT(w.sent.patches, before);
    world_free(&w);
}

static void test_taken_away(void)
{
    for (int killed = 0; killed < 2; killed++) {
        struct world w;
        test_case("the flag goes%s: the Ingress goes", killed ? " while no operator runs" : "");
        make_world(&w, false);
        create(&w, "", "");
        world_run(&w, 5000);
        CHECK(json_there(ingress(&w)));
        if (killed)
            world_kill_operator(&w);
        enable(&w, false);
        if (killed)
            world_start_operator(&w, false);
        world_run(&w, 5000);
        CHECK(!json_there(ingress(&w)));
        CHECK(!says(&w, "rayclusters.ray.io", "c", "HeadIngressReady"));
        enable(&w, true);
        world_run(&w, 5000);
        CHECK(json_there(ingress(&w)));
        check_fixed_point(&w);
        world_free(&w);
    }
}

static void test_at_once(void)
{
    struct world w;
    test_case("the flag goes as soon as the Ingress is there, before status tells of it");
    make_world(&w, false);
    create(&w, "", "");
    for (int i = 0; i < 1000 && !json_there(ingress(&w)); i++)
        world_step(&w, w.now.mono_ms + 1);
    CHECK(json_there(ingress(&w)) && !says(&w, "rayclusters.ray.io", "c", "HeadIngressReady"));
    enable(&w, false);
    world_run(&w, 20 * 1000);
    CHECK(!json_there(ingress(&w)));
    check_fixed_point(&w);
    world_free(&w);
}

static void test_watched(void)
{
    struct world w;
    test_case("a server that refuses the list of Ingresses: nothing is asked where none is wanted, and a cluster that wants one runs");
    make_world(&w, false);
    override(&w, "GET", path_of, 403, false, 1000);
    apply(&w, "d", 1);
    world_run(&w, 60 * 1000);
    CHECK(is_ready(&w, "d"));
    CHECK_INT(left(&w), 1000);
    create(&w, "", "");
    world_run(&w, 60 * 1000);
    CHECK(is_ready(&w, "c"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "headGroupSpec.enableIngress: ingresses.networking.k8s.io cannot be listed: "));
    CHECK(says(&w, "rayclusters.ray.io", "c", "mobula install --ingresses"));
    CHECK(!json_there(ingress(&w)));
    override(&w, "GET", "/none", 500, false, 0);
    world_run(&w, 120 * 1000);
    CHECK(json_there(ingress(&w)));
    check_fixed_point(&w);
    world_free(&w);
}

static void test_refused(void)
{
    struct world w;
    test_case("a webhook of the ingress controller fails: the cluster does not wait for it, and the condition says why");
    make_world(&w, false);
    override(&w, "PATCH", path_of, 500, false, 1000);
    create(&w, "", "");
    world_run(&w, 60 * 1000);
    CHECK(is_ready(&w, "c"));
    CHECK(left(&w) > 985 && left(&w) < 998);
    CHECK(says(&w, "rayclusters.ray.io", "c", "c-head-ingress: 500"));
    CHECK(tells(&w, "FailedToCreateIngress", "Ingress c-head-ingress: 500"));
    override(&w, "GET", "/none", 500, false, 0);
    CHECK_INT(world_call(&w, "PATCH", arena_printf(&w.arena, "%s/c", v1).ptr, patch_type,
                         SLICE("{\"spec\":{\"headGroupSpec\":{\"ingressOptions\":{\"path\":\"/x\"}}}}")),
              200);
    world_run(&w, 2000);
    CHECK(json_there(ingress(&w)));
    world_run(&w, 60 * 1000);
    check_fixed_point(&w);
    world_free(&w);
}

static void test_stranger(void)
{
    struct world w;
    test_case("an Ingress of that name that is somebody else's is left as it is");
    make_world(&w, false);
    struct slice theirs = SLICE("{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"Ingress\",\"metadata\":{\"name\":\"c-head-ingress\"},"
                                "\"spec\":{\"defaultBackend\":{\"service\":{\"name\":\"theirs\"}}}}");
    CHECK_INT(world_call(&w, "POST", path_of, "application/json", theirs), 201);
    create(&w, "", "");
    world_run(&w, 60 * 1000);
    CHECK(is_ready(&w, "c"));
    CHECK(says(&w, "ingresses.networking.k8s.io", "c-head-ingress", "theirs"));
    CHECK(!json_len(json_get(ingress(&w), "metadata.ownerReferences")));
    CHECK(says(&w, "rayclusters.ray.io", "c", "Ingress c-head-ingress exists and belongs to somebody else"));
    world_free(&w);
}

static void make_patched_world(struct world *w, const char *text)
{
    struct apiserver_config config = {.seed = 1};
    world_init(w, &config);
    make_namespace(w);
    make_crd(w, "ray.io", "");
    watch_map(w, "patches");
    put_map(w, "patches", "patches.yaml", text);
    world_start_operator(w, false);
}

static void test_patched(void)
{
    struct world w;
    test_case("patches of the instance reach it, and what a patch added goes with it");
    make_patched_world(&w, "- kind: Ingress\\n  selector: ray.io/cluster\\n  patch:\\n"
                           "  - {op: add, path: /spec/ingressClassName, value: traefik}");
    create(&w, "", "");
    world_run(&w, 5000);
    check_text(&w, "spec.ingressClassName", "traefik");
    check_fixed_point(&w);
    put_map(&w, "patches", "patches.yaml", "[]");
    world_run(&w, 5000);
    check_text(&w, "spec.ingressClassName", "");
    check_fixed_point(&w);
    world_free(&w);
}

int main(void)
{
    test_made();
    test_drift();
    test_taken_away();
    test_at_once();
    test_watched();
    test_refused();
    test_stranger();
    test_patched();
    return test_done();
}
