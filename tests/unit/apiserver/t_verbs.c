/* Create, get, update, delete: codes, reasons, and what an object looks like afterwards. */
#include "drive.h"

#define PODS "/api/v1/namespaces/default/pods"
#define POD(name) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

/* Requests against a world that holds pod "a", and what they are answered. */
static const struct {
    const char *id, *method, *target, *body;
    int status;
    const char *reason;
} cases[] = {
    {"get", "GET", PODS "/a", NULL, 200, ""},
    {"get-none", "GET", PODS "/b", NULL, 404, "NotFound"},
    {"get-no-resource", "GET", "/api/v1/namespaces/default/nothing", NULL, 404, "NotFound"},
    {"get-no-version", "GET", "/apis/apps/v7/deployments", NULL, 404, "NotFound"},
    {"get-log", "GET", PODS "/a/log", NULL, 200, ""},
    {"get-no-sub", "GET", PODS "/a/shell", NULL, 404, "NotFound"},
    {"W1-exists", "POST", PODS, POD("a"), 409, "AlreadyExists"},
    {"create", "POST", PODS, POD("b"), 201, ""},
    {"create-cluster-wide", "POST", "/api/v1/pods", POD("b"), 405, "MethodNotAllowed"},
    {"create-no-namespace", "POST", "/api/v1/namespaces/none/pods", POD("b"), 404, "NotFound"},
    {"create-other-namespace", "POST", PODS, "{\"metadata\":{\"name\":\"b\",\"namespace\":\"other\"}}", 400, "BadRequest"},
    {"create-bad-name", "POST", PODS, POD("B_"), 422, "Invalid"},
    {"create-no-name", "POST", PODS, "{}", 422, "Invalid"},
    {"create-no-containers", "POST", PODS, "{\"metadata\":{\"name\":\"b\"}}", 422, "Invalid"},
    {"create-bad-label", "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"b\",\"labels\":{\"a\":\"b c\"}}}", 422, "Invalid"},
    {"create-with-rv", "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"7\"}}", 500, ""},
    {"create-not-json", "POST", PODS, "{", 400, "BadRequest"},
    {"create-twice-key", "POST", PODS, "{\"spec\":{},\"spec\":{}}", 400, "BadRequest"},
    {"create-other-kind", "POST", PODS, "{\"kind\":\"Service\"}", 400, "BadRequest"},
    {"create-other-version", "POST", PODS, "{\"apiVersion\":\"v2\",\"kind\":\"Pod\"}", 400, "BadRequest"},
    {"create-array", "POST", PODS, "[]", 400, "BadRequest"},
    {"put-none", "PUT", PODS "/b", POD("b"), 404, "NotFound"},
    {"put-other-name", "PUT", PODS "/a", POD("b"), 400, "BadRequest"},
    {"put-spec", "PUT", PODS "/a", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"name\":\"d\",\"image\":\"i\"}]}}", 422,
     "Invalid"},
    {"W1-conflict", "PUT", PODS "/a", "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}", 409, "Conflict"},
    {"put-uid", "PUT", PODS "/a", "{\"metadata\":{\"name\":\"a\",\"uid\":\"x\"}}", 409, "Conflict"},
    {"W3-uid", "DELETE", PODS "/a", "{\"preconditions\":{\"uid\":\"x\"}}", 409, "Conflict"},
    {"W3-rv", "DELETE", PODS "/a", "{\"preconditions\":{\"resourceVersion\":\"1\"}}", 409, "Conflict"},
    {"delete-policy", "DELETE", PODS "/a?propagationPolicy=Sideways", NULL, 422, "Invalid"},
    {"delete-none", "DELETE", PODS "/b", NULL, 404, "NotFound"},
    {"delete-default-ns", "DELETE", "/api/v1/namespaces/default", NULL, 403, "Forbidden"},
    {"W4-415", "PATCH", PODS "/a", "{}", 415, "UnsupportedMediaType"},
    {"W10-dry-run", "POST", PODS "?dryRun=All", POD("b"), 201, ""},
    {"dry-run-word", "POST", PODS "?dryRun=Some", POD("b"), 422, "Invalid"},
    {"post-to-object", "POST", PODS "/a", POD("a"), 405, "MethodNotAllowed"},
    {"service-name", "POST", "/api/v1/namespaces/default/services", "{\"metadata\":{\"name\":\"1a\"},\"spec\":{\"ports\":[{\"port\":1}]}}",
     422, "Invalid"},
    {"service-port", "POST", "/api/v1/namespaces/default/services",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"ports\":[{\"port\":65536}]}}", 422, "Invalid"},
    {"service-port-max", "POST", "/api/v1/namespaces/default/services",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"ports\":[{\"port\":65535}]}}", 201, ""},
    {"lease-duration", "POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases",
     "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"leaseDurationSeconds\":0}}", 422, "Invalid"},
    {"lease-put-creates", "PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/a", "{\"metadata\":{\"name\":\"a\"}}", 201, ""},
    {"rootless", "GET", "?api/v1", NULL, 404, "NotFound"},
    {"health", "GET", "/readyz", NULL, 200, ""},
    {"version", "GET", "/version", NULL, 200, ""},
    {"openapi", "GET", "/openapi/v3/api/v1", NULL, 200, ""},
};

static void table(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("%s", cases[i].id);
        world_open(&w, NULL);
        CHECK_INT(ask(&w, "POST", PODS, POD("a")).status, 201);
        struct answer a = ask(&w, cases[i].method, cases[i].target, cases[i].body);
        CHECK_INT(a.status, cases[i].status);
        if (cases[i].status >= 400) {
            CHECK_STR(text(a, &w, "kind"), "Status");
            CHECK_STR(text(a, &w, "status"), "Failure");
            CHECK_INT(whole(a, "code"), cases[i].status);
            CHECK_SLICE(text(a, &w, "reason").ptr ? text(a, &w, "reason") : SLICE(""), slice_of(cases[i].reason));
        }
        world_close(&w);
    }
}

static void a_pod(void)
{
    struct world w;
    world_open(&w, NULL);
    test_case("pod-defaults");
    struct answer a = ask(&w, "POST", PODS,
                          "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i:1\","
                          "\"resources\":{\"limits\":{\"cpu\":\"1000m\"}},\"ports\":[{\"containerPort\":80}]}]}}");
    CHECK_STR(text(a, &w, "spec.restartPolicy"), "Always");
    CHECK_STR(text(a, &w, "spec.serviceAccountName"), "default");
    CHECK_STR(text(a, &w, "status.phase"), "Pending");
    struct jval c = json_at(json_get(a.json, "spec.containers"), 0);
    CHECK_STR(json_get_str(c, "imagePullPolicy", &w.mem), "IfNotPresent");
    CHECK_STR(json_get_str(c, "resources.requests.cpu", &w.mem), "1");
    CHECK_STR(json_get_str(json_at(json_get(c, "ports"), 0), "protocol", &w.mem), "TCP");
    CHECK_INT(whole(a, "metadata.generation"), 1);
    CHECK_INT(text(a, &w, "metadata.uid").len, 36);

    test_case("pod-unchanged"); /* a PUT of what is there moves nothing */
    uint64_t rv = apiserver_revision(w.server);
    CHECK_INT(ask(&w, "PUT", PODS "/a", arena_dup(&w.mem, a.body).ptr).status, 200);
    CHECK_INT(apiserver_revision(w.server), rv);

    test_case("pod-delete"); /* at once while it has no node, in two steps afterwards */
    CHECK_INT(ask(&w, "DELETE", PODS "/a", NULL).status, 200);
    CHECK_INT(ask(&w, "GET", PODS "/a", NULL).status, 404);
    CHECK_INT(ask(&w, "POST", PODS, POD("a")).status, 201);
    world_sleep(&w, 600);
    a = ask(&w, "GET", PODS "/a", NULL);
    CHECK_STR(text(a, &w, "status.phase"), "Running");
    a = ask(&w, "DELETE", PODS "/a", NULL);
    CHECK_INT(a.status, 200);
    CHECK_INT(whole(a, "metadata.deletionGracePeriodSeconds"), 30);
    CHECK_INT(ask(&w, "GET", PODS "/a", NULL).status, 200);
    world_sleep(&w, 200);
    CHECK_INT(ask(&w, "GET", PODS "/a", NULL).status, 404);

    test_case("pod-delete-now");
    CHECK_INT(ask(&w, "POST", PODS, POD("a")).status, 201);
    world_sleep(&w, 600);
    CHECK_INT(ask(&w, "DELETE", PODS "/a?gracePeriodSeconds=0", NULL).status, 200);
    CHECK_INT(ask(&w, "GET", PODS "/a", NULL).status, 404);
    world_close(&w);
}

static void generate_name(void)
{
    struct world w;
    world_open(&w, NULL);
    test_case("W9-generateName");
    struct answer a = ask(&w, "POST", CONFIGMAPS, "{\"metadata\":{\"generateName\":\"a-\"}}");
    CHECK_INT(a.status, 201);
    CHECK_INT(text(a, &w, "metadata.name").len, 7);
    char body[256];
    snprintf(body, sizeof body, "{\"metadata\":{\"generateName\":\"%0100d\"}}", 1);
    a = ask(&w, "POST", CONFIGMAPS, body);
    CHECK_INT(text(a, &w, "metadata.name").len, 63);
    world_close(&w);
}

static void finalizers(void)
{
    struct world w;
    world_open(&w, NULL);
    test_case("W7-finalizers");
    CHECK_INT(ask(&w, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.y/z\"]}}").status, 201);
    struct answer a = ask(&w, "DELETE", CONFIGMAPS "/a", NULL);
    CHECK_STR(text(a, &w, "kind"), "ConfigMap");
    CHECK(text(a, &w, "metadata.deletionTimestamp").len > 0);
    a = ask(&w, "PUT", CONFIGMAPS "/a", "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.y/z\",\"new/one\"]}}");
    CHECK_INT(a.status, 422);
    a = ask_typed(&w, "PATCH", CONFIGMAPS "/a", "application/json-patch+json",
                  "[{\"op\":\"test\",\"path\":\"/metadata/finalizers/0\",\"value\":\"x.y/z\"},{\"op\":\"remove\",\"path\":\"/metadata/"
                  "finalizers/0\"}]");
    CHECK_INT(a.status, 200);
    CHECK_INT(ask(&w, "GET", CONFIGMAPS "/a", NULL).status, 404);
    test_case("delete-status");
    CHECK_INT(ask(&w, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}").status, 201);
    a = ask(&w, "DELETE", CONFIGMAPS "/a", NULL);
    CHECK_STR(text(a, &w, "status"), "Success");
    CHECK_STR(text(a, &w, "details.kind"), "configmaps");
    world_close(&w);
}

static void big_body(void)
{
    struct world w;
    world_open(&w, NULL);
    enum { LIMIT = 3 * MIB };
    for (int over = 0; over < 2; over++) {
        test_case("C5-body-%s", over ? "over" : "limit");
        char *body = mem_alloc(LIMIT + 2);
        const char *head = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"", *tail = "\"}}";
        size_t fill = LIMIT + (size_t)over - strlen(head) - strlen(tail);
        strcpy(body, head);
        memset(body + strlen(head), 'x', fill);
        strcpy(body + strlen(head) + fill, tail);
        CHECK_INT(ask(&w, "POST", CONFIGMAPS, body).status, over ? 413 : 201);
        mem_free(body);
    }
    world_close(&w);
}

static void namespaces(void)
{
    struct world w;
    world_open(&w, NULL);
    test_case("W14-terminating");
    CHECK_INT(ask(&w, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}").status, 201);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/n/serviceaccounts/default", NULL).status, 200);
    CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/n/pods", POD("a")).status, 201);
    struct answer a = ask(&w, "DELETE", "/api/v1/namespaces/n", NULL);
    CHECK_STR(text(a, &w, "status.phase"), "Terminating");
    a = ask(&w, "POST", "/api/v1/namespaces/n/pods", POD("b"));
    CHECK_INT(a.status, 403);
    CHECK_STR(json_get_str(json_at(json_get(a.json, "details.causes"), 0), "reason", &w.mem), "NamespaceTerminating");
    world_sleep(&w, 1000);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/n", NULL).status, 404);
    CHECK_INT(apiserver_count(w.server, SLICE("pods")), 0);
    world_close(&w);
}

/* Bodies may be YAML, as kubectl never sends them and people do. */
static void yaml(void)
{
    struct world w;
    world_open(&w, NULL);
    test_case("yaml");
    struct answer a = ask_typed(&w, "POST", CONFIGMAPS, "application/yaml", "# a comment\nmetadata:\n  name: a\ndata: {k: v}\n");
    CHECK_INT(a.status, 201);
    CHECK_STR(text(a, &w, "data.k"), "v");
    CHECK_INT(ask_typed(&w, "POST", CONFIGMAPS, "application/yaml", "a: 1\n---\nb: 2\n").status, 400);
    CHECK_INT(ask_typed(&w, "POST", CONFIGMAPS, "application/yaml", "a: [").status, 400);
    CHECK_INT(ask_typed(&w, "POST", CONFIGMAPS, "application/yaml", "").status, 400);
    CHECK_INT(ask_typed(&w, "POST", CONFIGMAPS, "application/vnd.kubernetes.protobuf", "k8s").status, 415);
    world_close(&w);
}

int main(void)
{
    table();
    yaml();
    a_pod();
    generate_name();
    finalizers();
    big_body();
    namespaces();
    return test_done();
}
