/* A spec edited while a head runs: service and workers keep leading to the running head, and follow the next head when it is made. */
#include "submitters.h"

static void begin_with(struct world *w, const char *program, const char *more)
{
    struct apiserver_config config = {.seed = 1};
    world_init(w, &config);
    w->executable = slice_of(program);
    make_namespace(w);
    make_crd(w, "ray.io", "");
    CHECK_INT(world_call(w, "POST", v1, "application/json", cluster_body(w, "c", 1, more)), 201);
    world_start_operator(w, false);
    world_run(w, 5000);
    CHECK(is_ready(w, "c"));
}

static void begin(struct world *w, const char *more)
{
    begin_with(w, NULL, more);
}

static void edit(struct world *w, const char *patch)
{
    CHECK_INT(world_call(w, "PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json-patch+json", slice_of(patch)), 200);
}

static const char head_edit[] =
    "[{\"op\":\"add\",\"path\":\"/spec/headGroupSpec/template/metadata\",\"value\":{\"labels\":{\"app.kubernetes.io/name\":\"mine\"}}},"
    "{\"op\":\"add\",\"path\":\"/spec/headGroupSpec/rayStartParams\",\"value\":{\"port\":\"7000\",\"dashboard-port\":\"9000\","
    "\"ray-client-server-port\":\"9001\",\"metrics-export-port\":\"9002\"}},"
    "{\"op\":\"replace\",\"path\":\"/spec/workerGroupSpecs/0/replicas\",\"value\":2}]";

/* Whether the service selects this app.kubernetes.io/name and has these GCS and dashboard ports. */
static bool leads(struct world *w, const char *service, const char *app, int gcs, int dashboard)
{
    char name[64], port[64], page[64];
    snprintf(name, sizeof name, "\"app.kubernetes.io/name\":\"%s\"", app);
    snprintf(port, sizeof port, "\"port\":%d", gcs);
    snprintf(page, sizeof page, "\"port\":%d", dashboard);
    return says(w, "services", service, name) && says(w, "services", service, port) && says(w, "services", service, page);
}

/* Number of workers that were made with this GCS address. */
static uint32_t workers_to(struct world *w, const char *address)
{
    struct slice names[8];
    uint32_t count = pod_names(w, "worker", names, 8), to = 0;
    for (uint32_t i = 0; i < count; i++)
        to += says(w, "pods", arena_printf(&w->arena, "%.*s", SLICE_ARG(names[i])).ptr, address);
    return to;
}

static void test_running_head(void)
{
    struct world w;
    begin(&w, "");
    test_case("an edit of the next head leaves the ways to the running one, and new workers join it");
    edit(&w, head_edit);
    world_run(&w, 5000);
    CHECK(leads(&w, "c-head-svc", "kuberay", 6379, 8265));
    CHECK(!says(&w, "services", "c-head-svc", "7000"));
    CHECK_INT(workers_to(&w, "c-head-svc.n.svc.cluster.local:6379"), 2);
    CHECK_INT(workers_to(&w, ":7000"), 0);
    test_case("… TemplateDrift and its event name the fields that differ and how to apply them");
    CHECK(says(&w, "rayclusters.ray.io", "c", "\"type\":\"TemplateDrift\""));
    CHECK(says(&w, "rayclusters.ray.io", "c", "dashboard port 8265 runs, 9000 is asked for"));
    CHECK(tells(&w, "TemplateDrift", "delete the head pod"));
    check_fixed_point(&w);
    test_case("… the next leader reads the head's ports and labels from its pod");
    world_kill_operator(&w);
    world_start_operator(&w, false);
    world_run(&w, 5000);
    CHECK(leads(&w, "c-head-svc", "kuberay", 6379, 8265));
    CHECK(!says(&w, "services", "c-head-svc", "7000"));
    test_case("… another head is made as the spec says, and everything follows it");
    CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/pods/c-head", "application/json", SLICE_NONE), 200);
    world_run(&w, 60 * 1000);
    CHECK(says(&w, "pods", "c-head", "--port=7000"));
    CHECK(leads(&w, "c-head-svc", "mine", 7000, 9000));
    CHECK(!says(&w, "services", "c-head-svc", "6379"));
    test_case("… workers follow a new head of the new template");
    CHECK_INT(workers_to(&w, "c-head-svc.n.svc.cluster.local:7000"), 2);
    CHECK(!says(&w, "rayclusters.ray.io", "c", "TemplateDrift"));
    world_free(&w);
}

static void test_recreate(void)
{
    struct world w;
    begin(&w, "\"upgradeStrategy\":{\"type\":\"Recreate\"},");
    test_case("with upgradeStrategy Recreate pods and service go to the new template together");
    edit(&w, head_edit);
    world_run(&w, 60 * 1000);
    CHECK(says(&w, "pods", "c-head", "--port=7000"));
    CHECK(leads(&w, "c-head-svc", "mine", 7000, 9000));
    CHECK_INT(workers_to(&w, "c-head-svc.n.svc.cluster.local:7000"), 2);
    CHECK(!says(&w, "rayclusters.ray.io", "c", "TemplateDrift"));
    world_free(&w);
}

static void test_service_name(void)
{
    struct world w;
    begin(&w, "");
    test_case("a head service that is called otherwise leaves the one that running workers know");
    edit(&w, "[{\"op\":\"add\",\"path\":\"/spec/headGroupSpec/headService\",\"value\":{\"metadata\":{\"name\":\"other\"}}}]");
    world_run(&w, 10 * 1000);
    CHECK(leads(&w, "other", "kuberay", 6379, 8265));
    CHECK(leads(&w, "c-head-svc", "kuberay", 6379, 8265));
    world_free(&w);
}

static void begin_cluster_for_jobs(struct world *w, const char *more)
{
    make_pod_world(w);
    CHECK_INT(world_call(w, "POST", v1, "application/json", cluster_body(w, "c", 1, more)), 201);
    world_run(w, 5000);
    CHECK(is_ready(w, "c"));
}

static void test_submitter_token(void)
{
    static const char secret[] = "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"one\",\"namespace\":\"n\"},"
                                 "\"data\":{\"auth_token\":\"YWJjZA==\"}}";
    struct world w;
    test_case("a submitter pod has the token of the head that runs");
    begin_cluster_for_jobs(&w, "\"rayVersion\":\"2.60.0\",\"authOptions\":{\"mode\":\"token\",\"secretName\":\"one\"},");
    CHECK_INT(world_call(&w, "POST", "/api/v1/namespaces/n/secrets", "application/json", slice_of(secret)), 201);
    edit(&w, "[{\"op\":\"add\",\"path\":\"/spec/authOptions/secretName\",\"value\":\"two\"}]");
    apply_job(&w, "j", "\"clusterSelector\":{\"ray.io/cluster\":\"c\"},");
    CHECK(run_until(&w, "j", "Running", 30 * 1000));
    world_run(&w, 5000);
    struct submitters pods = submitters_of(&w, "j");
    CHECK_INT(pods.count, 1);
    CHECK(says(&w, "pods", pods.names[0].ptr, "\"name\":\"one\""));
    CHECK(!says(&w, "pods", pods.names[0].ptr, "\"name\":\"two\""));
    end_job_world(&w);
}

static void test_tls(void)
{
    struct world w;
    test_case("workers of a head without TLS get none, even if the spec now has tlsOptions");
    begin_with(&w, "program", "");
    edit(&w, "[{\"op\":\"add\",\"path\":\"/spec/tlsOptions\",\"value\":{\"enabled\":true}},"
             "{\"op\":\"replace\",\"path\":\"/spec/workerGroupSpecs/0/replicas\",\"value\":2}]");
    world_run(&w, 5000);
    CHECK_INT(workers_to(&w, "c-head-svc.n.svc.cluster.local:6379"), 2);
    CHECK_INT(workers_to(&w, "RAY_USE_TLS"), 0);
    CHECK(says(&w, "rayclusters.ray.io", "c", "the Secret of its CA is another"));
    test_case("… until the next head");
    CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/pods/c-head", "application/json", SLICE_NONE), 200);
    world_run(&w, 20 * 1000);
    CHECK(says(&w, "pods", "c-head", "\"secretName\":\"c-ray-ca\"") && says(&w, "secrets", "c-ray-ca", "kubernetes.io/tls"));
    test_case("… and the other way round");
    edit(&w, "[{\"op\":\"remove\",\"path\":\"/spec/tlsOptions\"},"
             "{\"op\":\"replace\",\"path\":\"/spec/workerGroupSpecs/0/replicas\",\"value\":3}]");
    world_run(&w, 5000);
    CHECK(workers_to(&w, "RAY_USE_TLS") > 0);
    world_free(&w);
}

static void test_dashboard_url(void)
{
    struct world w;
    test_case("the dashboard of a job has the service's port, not its node port");
    begin_cluster_for_jobs(&w, "");
    edit(&w, "[{\"op\":\"add\",\"path\":\"/spec/headGroupSpec/serviceType\",\"value\":\"NodePort\"}]");
    world_run(&w, 5000);
    CHECK(says(&w, "services", "c-head-svc", "nodePort"));
    apply_job(&w, "j", "\"clusterSelector\":{\"ray.io/cluster\":\"c\"},");
    CHECK(run_until(&w, "j", "Running", 30 * 1000));
    CHECK_SLICE(job_says(&w, "j", "dashboardURL"), SLICE("c-head-svc.n.svc.cluster.local:8265"));
    end_job_world(&w);
}

int main(void)
{
    test_submitter_token();
    test_dashboard_url();
    test_running_head();
    test_recreate();
    test_service_name();
    test_tls();
    return test_done();
}
