/* Whoever may write into one namespace may name a uid of another as an owner there. Kubernetes knows no owner across namespaces, and its
 * collector takes such objects in its time; until then, and when they are made again, they are nobody's. All namespaces are watched here.
 * The collector is late here, or they have a finalizer. */
#include "jobs.h"

static void make_here_and_there(struct world *w)
{
    struct apiserver_config config = {.seed = 1, .collect_ms = 3600 * 1000};
    world_init(w, &config);
    make_namespace(w);
    make_other_namespace(w);
    make_crd(w, "ray.io", "");
}

/* more: members of its metadata, each with its comma. */
static void make_named_service(struct world *w, struct slice owner, const char *more)
{
    struct slice body = arena_printf(
        &w->arena,
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{%s\"name\":\"c-head-svc\",\"labels\":{\"ray.io/cluster\":\"c\"},"
        "\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\"c\",\"uid\":\"%.*s\",\"controller\":true}]},"
        "\"spec\":{\"selector\":{\"app\":\"theirs\"},\"ports\":[{\"name\":\"client\",\"port\":10001}]}}",
        more, SLICE_ARG(owner));
    CHECK_INT(world_call(w, "POST", "/api/v1/namespaces/m/services", "application/json", body), 201);
}

static void make_children(struct world *w)
{
    make_named_service(w, status_of(w, "c", "metadata.uid"), "");
    make_pod_of_c(w, "/api/v1/namespaces/m/pods", "their-head", "head", "headgroup");
    make_pod_of_c(w, "/api/v1/namespaces/m/pods", "their-worker", "worker", "small");
}

static void check_cluster(struct world *w)
{
    CHECK_INT(w->sent.pod_posts, 3);
    CHECK_INT(w->sent.deletes, 0);
    CHECK_INT(pods_of(w, "c"), 3);
    CHECK_INT(apiserver_count(w->server, SLICE("pods")), 3 + 2);
    CHECK(is_ready(w, "c"));
    CHECK(!slice_eq(status_of(w, "c", "status.head.podName"), SLICE("their-head")));
    CHECK(says(w, "services", "c-head-svc", "ray.io/node-type"));
    check_fixed_point(w);
}

static void test_children(void)
{
    struct world w;
    test_case("pods and a service of another namespace that name a cluster as their owner");
    make_here_and_there(&w);
    launch_for_all(&w);
    apply(&w, "c", 2);
    world_run(&w, 10 * 1000);
    make_children(&w);
    world_run(&w, 70 * 1000); /* progress is told once a minute */
    check_cluster(&w);
    world_free(&w);
    test_case("the same, and they were there before the operator");
    make_here_and_there(&w);
    apply(&w, "c", 2);
    make_children(&w);
    world_run(&w, 5000);
    launch_for_all(&w);
    world_run(&w, 70 * 1000);
    check_cluster(&w);
    world_free(&w);
}

/* A cluster of namespace m that names the job of n as its owner, under the name of the job's cluster. It stays when it is deleted. */
static void make_named_cluster(struct world *w, const char *job)
{
    struct slice name = job_says(w, job, "rayClusterName"), uid = json_get_str(job_value(w, job, "metadata"), "uid", &w->arena);
    struct slice body = arena_printf(
        &w->arena,
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"%.*s\",\"finalizers\":[\"example.com/stay\"],"
        "\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayJob\",\"name\":\"%s\",\"uid\":\"%.*s\",\"controller\":true}]},"
        "\"spec\":{\"headGroupSpec\":{\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":"
        "\"ray:1\"}]}}}}}",
        SLICE_ARG(name), job, SLICE_ARG(uid));
    CHECK_INT(world_call(w, "POST", "/apis/ray.io/v1/namespaces/m/rayclusters", "application/json", body), 201);
}

/* seen: the operator knows the job already. */
static void test_job(bool seen)
{
    struct world w;
    test_case("a cluster of another namespace that names a job as its owner%s", seen ? "" : ", known before the job is");
    make_job_world(&w, false);
    make_other_namespace(&w);
    world_kill_operator(&w);
    launch_for_all(&w);
    apply_job(&w, "j", "\"suspend\":false,");
    CHECK(run_until(&w, "j", "Initializing", 10 * 1000));
    if (!seen)
        world_kill_operator(&w);
    make_named_cluster(&w, "j");
    world_run(&w, 1000);
    if (!seen)
        launch_for_all(&w);
    CHECK(run_until(&w, "j", "Running", 60 * 1000));
    world_run(&w, 2000); /* its status has the id before it is submitted */
    CHECK_INT(board.taken, 1);
    CHECK(board.first && board.first->head == ray_of(&w, "j")); /* the one in n */
    test_case("… and the job that is suspended does not wait for it to go");
    change_job(&w, "j", "\"suspend\":true");
    CHECK(run_until(&w, "j", "Suspended", 60 * 1000));
    CHECK_INT(clusters_now(&w), 1);
    end_job_world(&w);
}

/* What is refused here is not waited for because of one of that name elsewhere. */
static void test_left_over(void)
{
    struct world w;
    test_case("a head service is refused, and another namespace has one of that name whose owner is gone");
    make_here_and_there(&w);
    launch_for_all(&w);
    make_named_service(&w, SLICE("00000000-0000-0000-0000-00000000dead"), "\"finalizers\":[\"example.com/stay\"],");
    world_run(&w, 5000);
    CHECK_INT(apiserver_count(w.server, SLICE("services")), 2); /* one is the API server's own */
    override(&w, "PATCH", "/api/v1/namespaces/n/services/c-head-svc", 403, false, 1000);
    apply(&w, "c", 1);
    world_run(&w, 60 * 1000);
    CHECK(says(&w, "rayclusters.ray.io", "c", "ReplicaFailure"));
    CHECK(says(&w, "rayclusters.ray.io", "c", "service c-head-svc: 403"));
    CHECK(w.sent.patches < 20);
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_children();
    test_job(true);
    test_job(false);
    test_left_over();
    return test_done();
}
