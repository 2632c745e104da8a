/* JSON patch, merge patch, strategic merge patch and server-side apply. */
#include "drive.h"

#define POD "/api/v1/namespaces/default/pods/a"
#define MAP "/api/v1/namespaces/default/configmaps/a"
#define SERVICE "/api/v1/namespaces/default/services/a"
#define JSON_PATCH "application/json-patch+json"
#define MERGE "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"
#define APPLY "application/apply-patch+yaml"

static const char *const pod =
    "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"},"
    "{\"name\":\"d\",\"image\":\"j\"}],\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]}}";
static const char *const map =
    "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"},\"finalizers\":[\"p/q\",\"r/s\"]},\"data\":{\"k\":\"v\",\"l\":\"w\"}}";
static const char *const service =
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"ports\":[{\"name\":\"p\",\"port\":80},{\"name\":\"q\",\"port\":81}],"
    "\"selector\":{\"a\":\"b\",\"c\":\"d\"}}}";

/* A patch, its answer, and what then stands at a JSON pointer ("" for nothing). */
static const struct {
    const char *id, *target, *type, *patch;
    int status;
    const char *pointer, *want;
} cases[] = {
    {"json", MAP, JSON_PATCH, "[{\"op\":\"replace\",\"path\":\"/data/k\",\"value\":\"z\"}]", 200, "/data", "{\"k\":\"z\",\"l\":\"w\"}"},
    {"json-test", MAP, JSON_PATCH, "[{\"op\":\"test\",\"path\":\"/data/k\",\"value\":\"z\"}]", 422, "/data/k", "\"v\""},
    {"json-broken", MAP, JSON_PATCH, "[", 400, "/data/k", "\"v\""},
    {"json-rv", MAP, JSON_PATCH, "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"1\"}]", 409, "/data/k", "\"v\""},
    {"json-name", MAP, JSON_PATCH, "[{\"op\":\"replace\",\"path\":\"/metadata/name\",\"value\":\"b\"}]", 400, "/metadata/name", "\"a\""},
    {"merge", MAP, MERGE, "{\"data\":{\"k\":null,\"m\":\"n\"}}", 200, "/data", "{\"l\":\"w\",\"m\":\"n\"}"},
    {"merge-rv", MAP, MERGE, "{\"metadata\":{\"resourceVersion\":\"1\"}}", 409, "/data/k", "\"v\""},
    {"merge-uid", MAP, MERGE, "{\"metadata\":{\"uid\":\"u\"}}", 422, "/data/k", "\"v\""},
    {"merge-list", POD, MERGE, "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}", 422, "/spec/containers/1/name", "\"d\""},
    {"strategic-key", POD, STRATEGIC, "{\"spec\":{\"containers\":[{\"name\":\"d\",\"image\":\"new\"}]}}", 200, "/spec/containers/1/image",
     "\"new\""},
    {"strategic-other", POD, STRATEGIC, "{\"spec\":{\"containers\":[{\"name\":\"d\",\"image\":\"new\"}]}}", 200, "/spec/containers/0/image",
     "\"i\""},
    {"strategic-order", POD, STRATEGIC, "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"c\"},{\"name\":\"d\"}]}}", 200,
     "/spec/containers/0/name", "\"c\""},
    {"strategic-reorder", POD, STRATEGIC,
     "{\"metadata\":{\"labels\":{\"q\":\"1\"}},\"spec\":{\"$setElementOrder/"
     "containers\":[{\"name\":\"d\"},{\"name\":\"c\"}],\"containers\":[{\"name\":\"d\"}]}}",
     422, "", ""},
    {"strategic-new-first", SERVICE, STRATEGIC, "{\"spec\":{\"ports\":[{\"name\":\"r\",\"port\":82}]}}", 200, "/spec/ports/0/port", "82"},
    {"strategic-service", SERVICE, STRATEGIC, "{\"spec\":{\"ports\":[{\"port\":81,\"targetPort\":9}]}}", 200, "/spec/ports/1/targetPort",
     "9"},
    {"strategic-delete", SERVICE, STRATEGIC, "{\"spec\":{\"ports\":[{\"port\":80,\"$patch\":\"delete\"}]}}", 200, "/spec/ports/0/port",
     "81"},
    {"strategic-replace", SERVICE, STRATEGIC, "{\"spec\":{\"ports\":[{\"name\":\"n\",\"port\":5},{\"$patch\":\"replace\"}]}}", 200,
     "/spec/ports/0/name", "\"n\""},
    {"strategic-replace-all", SERVICE, STRATEGIC, "{\"spec\":{\"ports\":[{\"port\":5},{\"$patch\":\"replace\"}]}}", 200, "/spec/ports/1",
     ""},
    {"strategic-map-replace", SERVICE, STRATEGIC, "{\"spec\":{\"selector\":{\"$patch\":\"replace\",\"e\":\"f\"}}}", 200, "/spec/selector",
     "{\"e\":\"f\"}"},
    {"strategic-set", MAP, STRATEGIC, "{\"metadata\":{\"finalizers\":[\"t/u\"]}}", 200, "/metadata/finalizers",
     "[\"t/u\",\"p/q\",\"r/s\"]"},
    {"strategic-from-set", MAP, STRATEGIC, "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"p/q\"]}}", 200,
     "/metadata/finalizers", "[\"r/s\"]"},
    {"strategic-retain", SERVICE, STRATEGIC, "{\"spec\":{\"selector\":{\"$retainKeys\":[\"a\"],\"a\":\"z\"}}}", 200, "/spec/selector",
     "{\"a\":\"z\"}"},
    {"strategic-null", MAP, STRATEGIC, "{\"data\":{\"k\":null}}", 200, "/data", "{\"l\":\"w\"}"},
    {"W6-status-ignores-spec", POD "/status", MERGE, "{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Failed\"}}", 200,
     "/status/phase", "\"Failed\""},
    {"W6-main-ignores-status", POD, MERGE, "{\"metadata\":{\"labels\":{\"y\":\"2\"}},\"status\":{\"phase\":\"Failed\"}}", 200,
     "/status/phase", "\"Pending\""},
    {"W5-no-manager", MAP, APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}", 422, "", ""},
    {"W5-managed", MAP "?fieldManager=m", APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"managedFields\":[{}]}}",
     400, "", ""},
    {"W5-conflict", MAP "?fieldManager=m", APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"k\":\"z\"}}", 409, "/data/k",
     "\"v\""},
    {"W5-force", MAP "?fieldManager=m&force=true", APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"k\":\"z\"}}", 200,
     "/data", "{\"k\":\"z\",\"l\":\"w\"}"},
    {"W5-same-value", MAP "?fieldManager=m", APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"k\":\"v\"}}", 200, "/data",
     "{\"k\":\"v\",\"l\":\"w\"}"},
    {"W5-yaml", MAP "?fieldManager=m", APPLY, "apiVersion: v1\nkind: ConfigMap\ndata:\n  p: o\n", 200, "/data/p", "\"o\""},
    {"W5-add", MAP "?fieldManager=m", APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"n\":\"o\"}}", 200, "/data",
     "{\"k\":\"v\",\"l\":\"w\",\"n\":\"o\"}"},
    {"W5-uid", MAP "?fieldManager=m", APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"uid\":\"u\"}}", 422, "", ""},
    {"W5-name", MAP "?fieldManager=m", APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b\"}}", 400, "", ""},
    {"W5-keyed-list", POD "?fieldManager=m&force=true", APPLY,
     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"name\":\"d\",\"image\":\"z\"}]}}", 200,
     "/spec/containers/1/image", "\"z\""},
};

static void table(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("%s", cases[i].id);
        world_open(&w, NULL);
        CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/default/pods", pod).status, 201);
        CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/default/configmaps", map).status, 201);
        CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/default/services", service).status, 201);
        CHECK_INT(ask_typed(&w, "PATCH", cases[i].target, cases[i].type, cases[i].patch).status, cases[i].status);
        struct slice path = slice_of(cases[i].target);
        path = slice_cut(&path, '?');
        if (slice_ends(path, SLICE("/status")))
            path.len -= 7;
        struct answer a = ask(&w, "GET", arena_dup(&w.mem, path).ptr, NULL);
        if (*cases[i].pointer)
            CHECK_SLICE(json_raw(json_pointer(a.json, slice_of(cases[i].pointer))), slice_of(cases[i].want));
        world_close(&w);
    }
}

/* What an applier writes in its own spelling is no change when it is applied again; what admission added to the pod comes back. */
static void apply_pod(void)
{
    static const char *const body =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"creationTimestamp\":null},\"spec\":{\"containers\":[{"
        "\"name\":\"c\","
        "\"image\":\"i\",\"env\":[{\"name\":\"E\",\"value\":\"\"}],\"resources\":{\"limits\":{\"cpu\":\"1000m\"}}}],"
        "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]}}";
    struct world w;
    world_open(&w, NULL);
    test_case("apply-pod-again");
    const char *target = "/api/v1/namespaces/default/pods/p?fieldManager=m";
    CHECK_INT(ask_typed(&w, "PATCH", target, APPLY, body).status, 201);
    uint64_t rv = apiserver_revision(w.server);
    struct answer a = ask_typed(&w, "PATCH", target, APPLY, body);
    CHECK_INT(a.status, 200);
    CHECK_INT(apiserver_revision(w.server), rv);
    CHECK_INT(json_len(json_get(a.json, "spec.tolerations")), 3);
    CHECK_STR(json_get_str(json_at(json_get(a.json, "spec.containers"), 0), "resources.limits.cpu", &w.mem), "1");
    test_case("apply-no-name");
    CHECK_INT(ask_typed(&w, "PATCH", "/api/v1/namespaces/default/configmaps/z?fieldManager=m", APPLY,
                        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}")
                  .status,
              400);
    test_case("apply-bad-quantity");
    a = ask_typed(&w, "PATCH", target, APPLY,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":"
                  "\"abc\"}}}]}}");
    CHECK_INT(a.status, 500);
    world_close(&w);
}

static struct answer apply(struct world *w, const char *manager, const char *data)
{
    const char *target = arena_printf(&w->mem, "/api/v1/namespaces/default/configmaps/b?fieldManager=%s", manager).ptr;
    const char *body =
        arena_printf(&w->mem, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b\"},\"data\":%s}", data).ptr;
    return ask_typed(w, "PATCH", target, APPLY, body);
}

/* W5: two appliers share, drop and take fields; the fixed point writes nothing. */
static void ownership(void)
{
    struct world w;
    world_open(&w, NULL);
    test_case("apply-creates");
    CHECK_INT(apply(&w, "one", "{\"k\":\"v\",\"l\":\"w\"}").status, 201);
    test_case("apply-again");
    uint64_t rv = apiserver_revision(w.server);
    world_sleep(&w, 5000);
    CHECK_INT(apply(&w, "one", "{\"k\":\"v\",\"l\":\"w\"}").status, 200);
    CHECK_INT(apiserver_revision(w.server), rv);
    test_case("apply-shared");
    CHECK_INT(apply(&w, "two", "{\"k\":\"v\",\"m\":\"x\"}").status, 200);
    CHECK_INT(apply(&w, "one", "{\"k\":\"z\",\"l\":\"w\"}").status, 409);
    test_case("apply-drops");
    struct answer a = apply(&w, "one", "{}");
    CHECK_SLICE(json_raw(json_get(a.json, "data")), SLICE("{\"k\":\"v\",\"m\":\"x\"}"));
    a = apply(&w, "two", "{\"m\":\"x\"}");
    CHECK_SLICE(json_raw(json_get(a.json, "data")), SLICE("{\"m\":\"x\"}"));
    test_case("apply-owned-by-update");
    CHECK_INT(ask_typed(&w, "PATCH", "/api/v1/namespaces/default/configmaps/b", MERGE, "{\"data\":{\"m\":\"y\"}}").status, 200);
    a = apply(&w, "two", "{\"m\":\"x\"}");
    CHECK_INT(a.status, 409);
    struct jval cause = json_at(json_get(a.json, "details.causes"), 0);
    CHECK_STR(json_get_str(cause, "reason", &w.mem), "FieldManagerConflict");
    CHECK_STR(json_get_str(cause, "field", &w.mem), ".data.m");
    CHECK_STR(json_get_str(cause, "message", &w.mem), "conflict with \"test\" using v1");
    test_case("apply-status-none");
    CHECK_INT(ask_typed(&w, "PATCH", POD "/status?fieldManager=m", APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}").status, 404);
    world_close(&w);
}

int main(void)
{
    table();
    apply_pod();
    ownership();
    return test_done();
}
