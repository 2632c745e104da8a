/* Every field of a RayCluster's spec, edited while the cluster runs: pods are replaced as upgradeStrategy says, or Services and workers
 * still lead to the running head. The legacy kind always replaces them. */
#include "fields.h"
#include "jobs.h"

#include <stdlib.h>

struct field_case {
    struct world w;
    const char *plural; /* rayclusters.GROUP, as the model server knows it */
    const char *path;   /* of the cluster */
    bool legacy, recreate;
    const struct field_edit *edit;
    struct arena a;
};

static const char *const template = "{\"metadata\":{\"labels\":{\"a\":\"b\"},\"annotations\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{"
                                    "\"name\":\"ray\",\"image\":\"ray:1\"}]}}";

static struct slice body_v1(struct arena *a, const char *strategy)
{
    return arena_printf(
        a,
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},\"spec\":{"
        "\"rayVersion\":\"2.55.0\",\"upgradeStrategy\":{\"type\":\"%s\"},\"headGroupSpec\":{\"rayStartParams\":{\"num-gpus\":"
        "\"0\"},\"template\":%s},\"workerGroupSpecs\":[{\"groupName\":\"small\",\"replicas\":1,\"minReplicas\":0,"
        "\"maxReplicas\":10,\"rayStartParams\":{\"num-gpus\":\"0\"},\"template\":%s}]}}",
        strategy, template, template);
}

static struct slice body_legacy(struct arena *a)
{
    return arena_printf(a,
                        "{\"apiVersion\":\"cluster.ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\"},"
                        "\"spec\":{\"maxWorkers\":3,\"headPodType\":\"head\",\"podTypes\":[{\"name\":\"head\",\"podConfig\":%s},{\"name\":"
                        "\"worker\",\"minWorkers\":1,\"maxWorkers\":3,\"podConfig\":%s}]}}",
                        template, template);
}

/* ---- reading objects of the model server ---- */

static struct jval object_of(struct field_case *t, const char *plural, struct slice name)
{
    struct jval doc = {.at = -1};
    struct slice text = apiserver_get(t->w.server, slice_of(plural), SLICE("n"), name, &t->a);
    if (!slice_empty(text))
        CHECK(json_read(&doc, arena_dup(&t->a, text), &t->a, NULL));
    return doc;
}

static struct jval list_of(struct field_case *t, const char *path)
{
    struct slice text;
    struct jval doc = {.at = -1};
    CHECK_INT(world_ask(&t->w, "GET", path, "application/json", SLICE_NONE, &text), 200);
    CHECK(json_read(&doc, arena_dup(&t->a, text), &t->a, NULL));
    return json_get(doc, "items");
}

static bool lives(struct jval pod)
{
    return !json_there(json_get(pod, "metadata.deletionTimestamp")) && json_is(json_get(pod, "status.phase"), "Running");
}

/* The only live head pod; no value: none, or two. */
static struct jval head_of(struct field_case *t)
{
    struct jval k, pod, head = {.at = -1};
    struct slice type = SLICE("ray.io/node-type");
    uint32_t n = 0;
    for (struct jiter it = json_iter(list_of(t, pods_path)); json_next(&it, &k, &pod);)
        if (lives(pod) && json_is(json_key(json_get(pod, "metadata.labels"), type), "head")) {
            head = pod;
            n++;
        }
    return n == 1 ? head : (struct jval){.at = -1};
}

/* The value of the last `--flag=` in the pod's text: the port at which its Ray listens. */
static int64_t listens(struct jval pod, const char *flag, int64_t usual)
{
    return fakeray_flag(json_raw(pod), flag, usual);
}

static bool selects(struct field_case *t, struct jval service, struct jval pod)
{
    struct jval k, v, labels = json_get(pod, "metadata.labels");
    for (struct jiter it = json_iter(json_get(service, "spec.selector")); json_next(&it, &k, &v);)
        if (!json_equal(json_key(labels, json_str(k, &t->a)), v))
            return false;
    return json_len(json_get(service, "spec.selector")) > 0;
}

/* Whether the port of this name leads to `number`: by its targetPort, or as it is. */
static bool port_leads(struct field_case *t, struct jval service, const char *name, int64_t number)
{
    struct jval port = list_find(json_get(service, "spec.ports"), "name", slice_of(name)), target = json_get(port, "targetPort");
    if (!json_there(port))
        return true;
    if (json_type(target) == JSON_STRING)
        return !slice_empty(json_str(target, &t->a));
    return json_get_int(port, json_there(target) ? "targetPort" : "port", 0) == number;
}

static void failed(struct field_case *t, const char *why)
{
    CHECK(false);
    printf("  %.*s = %.*s: %s\n", SLICE_ARG(t->edit->path), SLICE_ARG(slice_head(t->edit->value, 100)), why);
}

static void want(struct field_case *t, bool is, const char *why)
{
    if (is)
        CHECK(true);
    else
        failed(t, why);
}

/* ---- invariants after an edit ---- */

static void check_service(struct field_case *t, struct jval service, struct jval head)
{
    want(t, selects(t, service, head), "the service does not select the head that runs");
    if (t->recreate && slice_has(t->edit->path, "/ports"))
        return; /* the spec itself names ports at which its head does not listen */
    want(t, port_leads(t, service, "gcs-server", listens(head, " --port=", 6379)), "the GCS port of the service leads nowhere");
    want(t, port_leads(t, service, "dashboard", listens(head, " --dashboard-port=", 8265)), "the dashboard port leads nowhere");
    want(t, port_leads(t, service, "client", listens(head, " --ray-client-server-port=", 10001)), "the client port leads nowhere");
    want(t, port_leads(t, service, "metrics", listens(head, " --metrics-export-port=", 8080)), "the metrics port leads nowhere");
}

/* Every worker that lives was made with an address that leads to the head: its service exists, selects the head, and the port is the GCS's.
 */
static void check_workers(struct field_case *t, struct jval head)
{
    struct jval k, pod;
    struct slice type = SLICE("ray.io/node-type");
    int64_t gcs = listens(head, " --port=", 6379);
    for (struct jiter it = json_iter(list_of(t, pods_path)); json_next(&it, &k, &pod);) {
        if (!lives(pod) || json_is(json_key(json_get(pod, "metadata.labels"), type), "head"))
            continue;
        struct slice text = json_raw(pod);
        ptrdiff_t at = slice_find_text(text, ".n.svc.cluster.local:");
        if (at < 0)
            continue; /* its command is the user's own */
        size_t from = (size_t)at;
        while (from && strchr("abcdefghijklmnopqrstuvwxyz0123456789-", text.ptr[from - 1]))
            from--;
        struct slice name = {text.ptr + from, (size_t)at - from};
        struct jval service = object_of(t, "services", name);
        want(t, json_there(service), "a worker knows a service that does not exist");
        want(t, selects(t, service, head), "a worker is led to pods that are not the head");
        want(t, strtol(text.ptr + at + strlen(".n.svc.cluster.local:"), NULL, 10) == gcs,
             "a worker knows a GCS port where no head listens");
    }
}

static void check_status(struct field_case *t, struct jval cluster, struct jval head)
{
    struct jval service, status = json_get(cluster, "status");
    struct slice name = json_get_str(status, "head.serviceName", &t->a);
    if (t->legacy)
        name = SLICE("c-ray-head");
    want(t, !slice_empty(name), "status does not name the service");
    service = object_of(t, "services", name);
    want(t, json_there(service), "the service of status does not exist");
    if (json_there(service))
        check_service(t, service, head);
}

static bool condition_says(struct jval cluster, const char *type, const char *yes)
{
    return condition_is(json_get(cluster, "status"), type, yes);
}

/* Fields that set the number of workers, or name those to delete. */
static bool is_of_numbers(struct slice path)
{
    static const char *const names[] = {"replicas",         "maxReplicas",   "suspend",   "groupName",
                                        "numOfHosts",       "scaleStrategy", "managedBy", "enableInTreeAutoscaling",
                                        "workerGroupSpecs", "ray.io~1group"};
    bool is = false;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        is |= slice_is(last_name(path), names[i]);
    return is;
}

/* The uids of the workers that live, in the order of their names. */
static struct slice workers_now(struct field_case *t)
{
    struct jval k, pod;
    struct slice all = SLICE(""), type = SLICE("ray.io/node-type");
    for (struct jiter it = json_iter(list_of(t, pods_path)); json_next(&it, &k, &pod);)
        if (lives(pod) && !json_is(json_key(json_get(pod, "metadata.labels"), type), "head"))
            all = arena_printf(&t->a, "%.*s%.*s ", SLICE_ARG(all), SLICE_ARG(json_get_str(pod, "metadata.uid", &t->a)));
    return all;
}

/* Whether the edited spec suspends the cluster, or hands it to another controller. */
static bool asked_to_end(struct jval cluster)
{
    struct jval spec = json_get(cluster, "spec");
    return json_get_bool(spec, "suspend", false) || json_is(json_get(spec, "managedBy"), "kueue.x-k8s.io/multikueue");
}

static void grow(struct field_case *t)
{
    static const char *const v1_grow = "[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/0/replicas\",\"value\":3}]";
    static const char *const legacy_grow = "[{\"op\":\"add\",\"path\":\"/spec/podTypes/1/minWorkers\",\"value\":2}]";
    world_call(&t->w, "PATCH", t->path, "application/json-patch+json", slice_of(t->legacy ? legacy_grow : v1_grow));
    world_run(&t->w, 5000);
}

static void check_after(struct field_case *t, struct slice uid, struct slice workers)
{
    struct jval cluster = object_of(t, t->plural, SLICE("c")), head = head_of(t);
    bool valid = !condition_says(cluster, "Valid", "False");
    if (asked_to_end(cluster))
        return;
    want(t, json_there(head), "no head runs, or two do");
    if (!json_there(head))
        return;
    bool same = json_str_eq(json_get(head, "metadata.uid"), uid);
    want(t, same || (t->recreate && valid), "the head was replaced, and nobody has asked for that");
    want(t, !t->recreate || !valid || !condition_says(cluster, "TemplateDrift", "True"),
         "with Recreate pods of an older template are kept");
    if (!t->recreate && !is_of_numbers(t->edit->path))
        want(t, slice_has(workers_now(t), arena_dup(&t->a, workers).ptr), "a worker was replaced, and nobody has asked for that");
    check_status(t, cluster, head);
    check_workers(t, head);
}

/* Checks that writes stop once the cluster is at rest. Not for a refused pod (retried, and counted in status), nor with an autoscaler. */
static void check_rest(struct field_case *t)
{
    struct jval cluster = object_of(t, t->plural, SLICE("c"));
    if (condition_says(cluster, "ReplicaFailure", "True") || json_get_bool(cluster, "spec.enableInTreeAutoscaling", false))
        return;
    world_run(&t->w, 35 * 1000); /* counters in status are written up to 30 s late */
    uint64_t before = apiserver_revision(t->w.server);
    world_run(&t->w, 20 * 1000);
    want(t, apiserver_revision(t->w.server) == before, "writes go on at the fixed point");
}

/* The job on the cluster runs to its end: its state is asked for at the port at which the head listens. */
static void check_job(struct field_case *t)
{
    if (asked_to_end(object_of(t, t->plural, SLICE("c"))))
        return;
    want(t, run_until(&t->w, "j", "Complete", 60 * 1000), "the job that ran on the cluster was lost");
    want(t, board.taken == 1, "the job was submitted twice");
}

static bool apply_edit(struct field_case *t)
{
    struct slice patch =
        arena_printf(&t->a, "[{\"op\":\"add\",\"path\":\"%.*s\",\"value\":%.*s}]", SLICE_ARG(t->edit->path), SLICE_ARG(t->edit->value));
    return world_call(&t->w, "PATCH", t->path, "application/json-patch+json", patch) == 200;
}

static void start(struct field_case *t, struct slice definition, struct slice body, bool proxy)
{
    struct apiserver_config config = {.seed = 1};
    world_init(&t->w, &config);
    make_namespace(&t->w);
    take_definition(&t->w, definition);
    make_definition(&t->w, "ray.io", "RayJob", "rayjobs", "");
    fakerays_begin(&t->w, true);
    t->w.rays->dash = board_answer;
    t->w.access = proxy ? OPERATOR_PROXY : OPERATOR_DIRECT;
    board = (struct board){.world = &t->w, .run_ms = 25 * 1000};
    fakeray_of(&t->w, "ray.io", "n", "c")->service = "other";
    struct slice path = slice_of(t->path);
    path.len -= 2; /* of the collection */
    CHECK_INT(world_call(&t->w, "POST", arena_dup(&t->a, path).ptr, "application/json", body), 201);
    world_start_operator(&t->w, false);
    world_run(&t->w, 5000);
    if (t->recreate)
        return;
    apply_job(&t->w, "j", "\"clusterSelector\":{\"ray.io/cluster\":\"c\"},");
    CHECK(run_until(&t->w, "j", "Running", 10 * 1000));
}

/* Returns whether the server took the edit. */
static bool run_case(struct field_case *t, struct slice definition, struct slice body, bool proxy)
{
    start(t, definition, body, proxy);
    struct jval head = head_of(t);
    bool taken = CHECK(json_there(head)) && apply_edit(t);
    if (taken) {
        struct slice uid = json_get_str(head, "metadata.uid", &t->a), workers = workers_now(t);
        world_run(&t->w, t->recreate ? 20 * 1000 : 5000);
        check_after(t, uid, workers);
        grow(t);
        check_after(t, uid, workers);
        if (!t->recreate)
            check_job(t);
        check_rest(t);
    }
    end_job_world(&t->w);
    arena_free(&t->a);
    return taken;
}

static void test_kind(const char *name, bool legacy, const char *strategy, uint32_t least)
{
    struct arena a = {0};
    struct fields *f = arena_new(&a, struct fields);
    bool recreate = legacy || strcmp(strategy, "Recreate") == 0;
    f->a = &a;
    struct slice definition = read_definition(&a, name), body = legacy ? body_legacy(&a) : body_v1(&a, strategy);
    test_case("%s, %s: every field of the spec is edited under a running cluster", name, strategy);
    fields_read(f, definition, body);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        struct field_case t = {.edit = &f->list[i],
                               .legacy = legacy,
                               .recreate = recreate,
                               .plural = legacy ? "rayclusters.cluster.ray.io" : "rayclusters.ray.io",
                               .path = legacy ? "/apis/cluster.ray.io/v1/namespaces/n/rayclusters/c"
                                              : "/apis/ray.io/v1/namespaces/n/rayclusters/c"};
        taken += run_case(&t, definition, body, !recreate && i % 2);
    }
    printf("  %u edits, %u of them taken by the server\n", f->count, taken);
    CHECK(taken >= least);
    arena_free(&a);
}

int main(void)
{
    test_kind("rayclusters.ray.io", false, "None", 100);
    test_kind("rayclusters.ray.io", false, "Recreate", 100);
    test_kind("rayclusters.cluster.ray.io", true, "always", 20);
    return test_done();
}
