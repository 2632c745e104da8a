/* What a decision sees of a Pod object. */
#include "../test.h"

#include <mobula/pod.h>

static struct pod read_pod(const char *text, struct arena *a)
{
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    struct pod p;
    CHECK(json_parse(doc, guarded(slice_of(text)), a, &e));
    pod_read(json_root(doc), a, &p);
    return p;
}

static void whole(struct arena *a)
{
    test_case("all that is looked at");
    struct pod p =
        read_pod("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{"
                 "\"ray.io/group\":\"g\",\"ray.io/node-type\":\"worker\",\"ray.io/worker-group-replica-index\":\"3\","
                 "\"ray.io/replica-host-index\":\"1\"},\"annotations\":{\"mobula.dev/template-hash\":\"00000000000000ff\"}},"
                 "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"ray\"},{\"name\":\"side\"}]},"
                 "\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
                 "\"lastTransitionTime\":\"2026-01-01T00:00:02Z\"}]}}",
                 a);
    CHECK_STR(slice_of(p.name), "n");
    CHECK_STR(slice_of(p.uid), "u");
    CHECK_STR(slice_of(p.ip), "10.0.0.1");
    CHECK_STR(p.group, "g");
    CHECK(!p.head && p.ready && !p.deleting && !p.ended && !p.ours.counted && p.version == 0);
    CHECK_INT(p.index, 3);
    CHECK_INT(p.host, 1);
    CHECK_INT(p.hash, 255);
    CHECK_INT(p.phase, POD_RUNNING);
    CHECK_INT(p.ready_us - p.created_us, 2000000);
    CHECK(slice_empty(p.reason));
}

static void parts(struct arena *a)
{
    static const struct {
        const char *what, *status, *reason;
        enum pod_phase phase;
        bool ended;
    } cases[] = {
        {"nothing yet", "{}", "", POD_PENDING, false},
        {"a phase that nobody knows", "{\"phase\":\"Lost\"}", "", POD_UNKNOWN, false},
        {"an init container comes first",
         "{\"phase\":\"Pending\",\"initContainerStatuses\":[{\"state\":{\"waiting\":{\"reason\":\"ErrImagePull\"}}}],"
         "\"containerStatuses\":[{\"state\":{\"waiting\":{\"reason\":\"Other\"}}}]}",
         "ErrImagePull", POD_PENDING, false},
        {"waiting for init containers is no reason",
         "{\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{\"reason\":\"PodInitializing\"}}}]}", "", POD_PENDING,
         false},
        {"unscheduled",
         "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\"}]}",
         "Unschedulable", POD_PENDING, false},
        {"evicted", "{\"phase\":\"Failed\",\"reason\":\"Evicted\"}", "Evicted", POD_FAILED, false},
        {"Ray ended, whoever else runs",
         "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"side\",\"state\":{\"running\":{}}},{\"name\":\"ray\",\"state\":{"
         "\"terminated\":{\"exitCode\":1,\"reason\":\"Error\"}}}]}",
         "Error", POD_RUNNING, true},
        {"another one ended",
         "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"side\",\"state\":{\"terminated\":{\"exitCode\":1,"
         "\"reason\":\"Error\"}}},{\"name\":\"ray\",\"state\":{\"running\":{}}}]}",
         "Error", POD_RUNNING, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].what);
        struct slice text = arena_printf(a,
                                         "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":"
                                         "\"ray\"},{\"name\":\"side\"}]},\"status\":%s}",
                                         cases[i].status);
        struct pod p = read_pod(text.ptr, a);
        CHECK_INT(p.phase, cases[i].phase);
        CHECK_INT(p.ended, cases[i].ended);
        CHECK_STR(p.reason, cases[i].reason);
        CHECK_INT(p.index, -1);
        CHECK_INT(p.host, 0);
    }
    test_case("a number that no pod of ours has, a hash that is none, an address that is too long");
    struct pod p = read_pod("{\"metadata\":{\"labels\":{\"ray.io/worker-group-replica-index\":\"-1\",\"ray.io/replica-host-index\":\"x\"},"
                            "\"annotations\":{\"mobula.dev/template-hash\":\"none\"},\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
                            "\"status\":{\"podIP\":\"1234567890123456789012345678901234567890123456\"}}",
                            a);
    CHECK(p.index == -1 && p.host == 0 && p.hash == 0 && p.ip[0] == '\0' && p.deleting);
}

#define RAY(more) "{\"name\":\"ray\",\"env\":[{\"name\":\"KUBERAY_GEN_RAY_START_CMD\",\"value\":\"ray start\"}]" more "}"
#define PROXY "{\"name\":\"istio-proxy\",\"env\":[{\"name\":\"RAY_CLUSTER_NAME\"}]}"
#define RUNS(name) "{\"name\":\"" name "\",\"state\":{\"running\":{}}}"
#define ENDED(name, code, reason) "{\"name\":\"" name "\",\"state\":{\"terminated\":{\"exitCode\":" #code ",\"reason\":\"" reason "\"}}}"

/* Whoever admits a pod may put containers before Ray's, and beside it; the kubelet's list is sorted by name. */
static void changed(struct arena *a)
{
    static const struct {
        const char *what, *policy, *containers, *statuses, *init, *reason;
        bool ended;
        int exit_code;
    } cases[] = {
        {"Ray is killed behind a proxy", "Never", PROXY "," RAY(""), RUNS("istio-proxy") "," ENDED("ray", 137, "OOMKilled"), "",
         "OOMKilled", true, 137},
        {"a proxy before Ray ends alone", "Never", PROXY "," RAY(""), ENDED("istio-proxy", 1, "Error") "," RUNS("ray"), "", "Error", false,
         0},
        {"both end: Ray's end is told", "Never", PROXY "," RAY(""), ENDED("istio-proxy", 2, "Error") "," ENDED("ray", 137, "OOMKilled"), "",
         "OOMKilled", true, 137},
        {"Ray is started again", "Always", PROXY "," RAY(""), RUNS("istio-proxy") "," ENDED("ray", 137, "OOMKilled"), "", "OOMKilled",
         false, 137},
        {"Ray ended well, and is started again after failures only", "OnFailure", PROXY "," RAY(""),
         RUNS("istio-proxy") "," ENDED("ray", 0, "Completed"), "", "", true, 0},
        {"Ray failed, and is started again after failures only", "OnFailure", PROXY "," RAY(""),
         RUNS("istio-proxy") "," ENDED("ray", 1, "Error"), "", "Error", false, 1},
        {"a policy of the container's own", "Always", PROXY "," RAY(",\"restartPolicy\":\"Never\""),
         RUNS("istio-proxy") "," ENDED("ray", 1, "Error"), "", "Error", true, 1},
        {"a rule of the container's own that holds", "Always",
         PROXY "," RAY(",\"restartPolicy\":\"Never\",\"restartPolicyRules\":[{\"action\":\"Restart\",\"exitCodes\":{\"operator\":\"In\","
                       "\"values\":[1,42]}}]"),
         RUNS("istio-proxy") "," ENDED("ray", 42, "Error"), "", "Error", false, 42},
        {"a rule of the container's own that does not", "Always",
         PROXY "," RAY(",\"restartPolicy\":\"Never\",\"restartPolicyRules\":[{\"action\":\"Restart\",\"exitCodes\":{\"operator\":\"NotIn\","
                       "\"values\":[1,42]}}]"),
         RUNS("istio-proxy") "," ENDED("ray", 42, "Error"), "", "Error", true, 42},
        {"a native sidecar crashes beside Ray that was killed", "Never", RAY(""), ENDED("ray", 137, "OOMKilled"),
         ENDED("istio-proxy", 2, "Error"), "OOMKilled", true, 137},
        {"a native sidecar ends alone", "Never", RAY(""), RUNS("ray"), ENDED("istio-proxy", 2, "Error"), "Error", false, 0},
        {"an init container that ended is not Ray, whatever its name", "Never", PROXY "," RAY(""), RUNS("istio-proxy"),
         ENDED("ray", 1, "Error"), "Error", false, 0},
        {"the legacy kind's", "Never", PROXY ",{\"name\":\"node\",\"env\":[{\"name\":\"RAY_OVERRIDE_RESOURCES\",\"value\":\"{}\"}]}",
         RUNS("istio-proxy") "," ENDED("node", 1, "Error"), "", "Error", true, 1},
        {"a submitter's", "Never", PROXY ",{\"name\":\"submit\",\"env\":[{\"name\":\"RAY_JOB_SUBMISSION_ID\",\"value\":\"x\"}]}",
         RUNS("istio-proxy") "," ENDED("submit", 0, "Completed"), "", "", true, 0},
        {"a submitter beside the head", "Never",
         "{\"name\":\"submit\",\"env\":[{\"name\":\"RAY_JOB_SUBMISSION_ID\",\"value\":\"x\"}]}," RAY(""),
         RUNS("ray") "," ENDED("submit", 0, "Completed"), "", "", false, 0},
        {"none that is known: the first", "Never", "{\"name\":\"a\"},{\"name\":\"b\"}", ENDED("a", 1, "Error") "," RUNS("b"), "", "Error",
         true, 1},
        {"no container at all", "Never", "", ENDED("a", 1, "Error"), "", "Error", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("changed at admission: %s", cases[i].what);
        struct slice text = arena_printf(a,
                                         "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"restartPolicy\":\"%s\",\"containers\":[%s]},"
                                         "\"status\":{\"phase\":\"Running\",\"containerStatuses\":[%s],\"initContainerStatuses\":[%s]}}",
                                         cases[i].policy, cases[i].containers, cases[i].statuses, cases[i].init);
        struct pod p = read_pod(text.ptr, a);
        CHECK_INT(p.ended, cases[i].ended);
        CHECK_INT(p.exit_code, cases[i].exit_code);
        CHECK_STR(p.reason, cases[i].reason);
    }
}

/* Labels are changed by people and by webhooks; a pod's name is not, and neither is who owns it. */
static void heads(struct arena *a)
{
    static const char uid[] = "00000000-0000-0000-0000-000000000001";
    struct ray_cluster c = {.kind = RAY_LEGACY, .name = SLICE("c"), .uid = slice_of(uid), .head = {.head = true, .template = {.at = -1}}};
    struct ray_group g = {.name = SLICE("w"), .template = {.at = -1}, .hosts = 1};
    struct slice legacy = ray_head_pod_name(&c, a), worker = ray_worker_pod_name(&c, &g, 0, SLICE(""), a);
    const struct {
        const char *what, *api;
        struct slice name;
        const char *labels;
        bool head;
    } cases[] = {
        {"as it was made", "ray.io/v1", SLICE("c-head"), "\"ray.io/node-type\":\"head\"", true},
        {"a head without its label", "ray.io/v1", SLICE("c-head"), "", true},
        {"a head labelled as a worker", "ray.io/v1", SLICE("c-head"), "\"ray.io/node-type\":\"worker\",\"ray.io/group\":\"w\"", true},
        {"a worker labelled as a head", "ray.io/v1", SLICE("c-w-worker-0-abcde"), "\"ray.io/node-type\":\"head\"", false},
        {"a worker labelled as a head in all", "ray.io/v1", SLICE("c-w-worker-12-a2cd3"),
         "\"ray.io/node-type\":\"head\",\"ray.io/group\":\"headgroup\",\"ray.io/identifier\":\"c-head\"", false},
        {"a worker of a group called head, labelled as one", "ray.io/v1", SLICE("c-head-worker-0-abcde"), "\"ray.io/node-type\":\"head\"",
         false},
        {"a worker whose name is cut, labelled as a head", "ray.io/v1",
         SLICE("a-very-long-name-of-a-cluster-and-of-one-of-its-gro-1234-abcde"), "\"ray.io/node-type\":\"head\"", false},
        {"KubeRay's worker labelled as a head", "ray.io/v1", SLICE("c-w-worker-x7k2p"), "\"ray.io/node-type\":\"head\"", false},
        {"KubeRay's head of long ago", "ray.io/v1", SLICE("c-head-x7k2p"), "\"ray.io/node-type\":\"head\"", true},
        {"another cluster's head", "ray.io/v1", SLICE("b-head"), "", false},
        {"a short name", "ray.io/v1", SLICE("x"), "\"ray.io/node-type\":\"head\"", true},
        {"the legacy kind's", "cluster.ray.io/v1", legacy, "\"ray.io/node-type\":\"head\"", true},
        {"the legacy kind's without its label", "cluster.ray.io/v1", legacy, "", true},
        {"the legacy kind's worker", "cluster.ray.io/v1", worker,
         "\"ray.io/node-type\":\"worker\",\"ray.io/worker-group-replica-index\":\"0\"", false},
        {"the legacy kind's worker labelled as a head", "cluster.ray.io/v1", worker, "\"ray.io/node-type\":\"head\"", false},
        {"a worker of the legacy kind whose name ends as the head's", "cluster.ray.io/v1", legacy,
         "\"ray.io/worker-group-replica-index\":\"0\"", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("head or worker: %s", cases[i].what);
        struct slice text = arena_printf(a,
                                         "{\"metadata\":{\"name\":\"%.*s\",\"labels\":{%s},\"ownerReferences\":[{\"apiVersion\":\"v1\","
                                         "\"kind\":\"ConfigMap\",\"name\":\"m\",\"uid\":\"m\"},{\"apiVersion\":\"%s\",\"kind\":"
                                         "\"RayCluster\",\"name\":\"c\",\"uid\":\"%s\",\"controller\":true}]}}",
                                         SLICE_ARG(cases[i].name), cases[i].labels, cases[i].api, uid);
        CHECK_INT(read_pod(text.ptr, a).head, cases[i].head);
    }
}

/* A worker of ours whose wait-gcs is in this state. */
static bool given_up(struct arena *a, const char *command, const char *status)
{
    struct slice text = arena_printf(a,
                                     "{\"metadata\":{},\"spec\":{\"containers\":[{\"name\":\"ray\"}],\"initContainers\":[{\"name\":"
                                     "\"user\"},{\"name\":\"wait-gcs-ready\",\"command\":[\"%s\"]}]},\"status\":{\"phase\":\"Pending\","
                                     "\"initContainerStatuses\":[{\"name\":\"wait-gcs-ready\",%s}]}}",
                                     command, status);
    struct pod p = read_pod(text.ptr, a);
    CHECK_INT(p.ended, p.gave_up);
    return p.gave_up;
}

static void waits(struct arena *a)
{
    static const char again[] = "\"state\":{\"running\":{}},\"lastState\":{\"terminated\":{\"exitCode\":1}}";
    test_case("wait-gcs has given up: it has just ended, waits to be started again, or was");
    CHECK(given_up(a, "wait-gcs", "\"state\":{\"terminated\":{\"exitCode\":1}}"));
    CHECK(given_up(a, "wait-gcs",
                   "\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\"}},\"lastState\":{\"terminated\":{\"exitCode\":1}}"));
    CHECK(given_up(a, "wait-gcs", again));
    test_case("wait-gcs has not: it waits, was killed, has found the head at last, or is the user's");
    CHECK(!given_up(a, "wait-gcs", "\"state\":{\"running\":{}}"));
    CHECK(!given_up(a, "wait-gcs", "\"state\":{\"running\":{}},\"lastState\":{\"terminated\":{\"exitCode\":137}}"));
    CHECK(!given_up(a, "wait-gcs", "\"state\":{\"terminated\":{\"exitCode\":0}},\"lastState\":{\"terminated\":{\"exitCode\":1}}"));
    CHECK(!given_up(a, "until", again));
}

static void scheduling(struct arena *a)
{
    static const char failed[] = "\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"%s\"}]}";
    static const struct {
        const char *what, *before, *reason;
        bool unschedulable;
    } cases[] = {
        {"no node has room", "", "Unschedulable", true},
        {"by the default scheduler, by name", "\"spec\":{\"schedulerName\":\"default-scheduler\"},", "Unschedulable", true},
        {"a gate holds it", "", "SchedulingGated", false},
        {"another scheduler may wait for the whole group", "\"spec\":{\"schedulerName\":\"volcano\"},", "Unschedulable", false},
        {"one of a pod group", "\"metadata\":{\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"}},", "Unschedulable", false},
        {"one of a workload", "\"spec\":{\"workloadRef\":{\"name\":\"w\"}},", "Unschedulable", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].what);
        struct slice status = arena_printf(a, failed, cases[i].reason);
        CHECK_INT(read_pod(arena_printf(a, "{%s%s}", cases[i].before, status.ptr).ptr, a).unschedulable, cases[i].unschedulable);
    }
}

static void stops(struct arena *a)
{
    static const char pod[] = "{\"spec\":{\"containers\":[{\"name\":\"ray\"}]},\"status\":{\"phase\":\"Running\","
                              "\"containerStatuses\":[{\"name\":\"ray\",\"state\":{\"%s\":{}}}]}}";
    test_case("the Ray container of a pod that runs");
    CHECK(!read_pod(arena_printf(a, pod, "running").ptr, a).stopped);
    CHECK(read_pod(arena_printf(a, pod, "waiting").ptr, a).stopped);
    CHECK(read_pod(arena_printf(a, pod, "terminated").ptr, a).stopped);
}

int main(void)
{
    struct arena a = {0};
    whole(&a);
    parts(&a);
    changed(&a);
    heads(&a);
    waits(&a);
    scheduling(&a);
    stops(&a);
    arena_free(&a);
    return test_done();
}
