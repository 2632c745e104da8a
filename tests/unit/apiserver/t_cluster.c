/* What happens by itself: the kubelet, the garbage collector, and that all of it is a function of the seed. */
#include "drive.h"

#define PODS "/api/v1/namespaces/default/pods"
#define MAPS "/api/v1/namespaces/default/configmaps"

static void make_pod(struct world *w, const char *annotations)
{
    const char *body =
        arena_printf(&w->mem,
                     "{\"metadata\":{\"name\":\"a\",\"annotations\":%s},\"spec\":{\"initContainers\":[{\"name\":\"i\",\"image\":\"x\"}],"
                     "\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}",
                     annotations)
            .ptr;
    CHECK_INT(ask(w, "POST", PODS, body).status, 201);
}

/* A pod with an annotation, some time later. */
static const struct {
    const char *id, *annotations;
    int64_t after_ms;
    const char *phase, *cells;
} pods[] = {
    {"new", "{}", 0, "Pending", "[\"a\",\"0/1\",\"Pending\",\"0\",\"0s\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]"},
    {"bound", "{}", 20, "Pending", "[\"a\",\"0/1\",\"Pending\",\"0\",\"0s\",\"<none>\",\"model-node\",\"<none>\",\"<none>\"]"},
    {"not-yet", "{}", 519, "Pending", "[\"a\",\"0/1\",\"Pending\",\"0\",\"0s\",\"<none>\",\"model-node\",\"<none>\",\"<none>\"]"},
    {"ready", "{}", 520, "Running", "[\"a\",\"1/1\",\"Running\",\"0\",\"0s\",\"127.100.0.2\",\"model-node\",\"<none>\",\"<none>\"]"},
    {"ready-after", "{\"fake.kubelet/ready-after\":\"3s\"}", 3020, "Running",
     "[\"a\",\"1/1\",\"Running\",\"0\",\"3s\",\"127.100.0.2\",\"model-node\",\"<none>\",\"<none>\"]"},
    {"unschedulable", "{\"fake.kubelet/stuck\":\"Unschedulable\"}", 9000, "Pending",
     "[\"a\",\"0/1\",\"Pending\",\"0\",\"9s\",\"<none>\",\"<none>\",\"<none>\",\"<none>\"]"},
    {"image", "{\"fake.kubelet/stuck\":\"ImagePullBackOff\"}", 9000, "Pending",
     "[\"a\",\"0/1\",\"ImagePullBackOff\",\"0\",\"9s\",\"<none>\",\"model-node\",\"<none>\",\"<none>\"]"},
    {"fail-before", "{\"fake.kubelet/fail\":\"after=2s\"}", 2519, "Running",
     "[\"a\",\"1/1\",\"Running\",\"0\",\"2s\",\"127.100.0.2\",\"model-node\",\"<none>\",\"<none>\"]"},
    {"fail", "{\"fake.kubelet/fail\":\"after=2s\"}", 2520, "Failed",
     "[\"a\",\"0/1\",\"Evicted\",\"0\",\"2s\",\"127.100.0.2\",\"model-node\",\"<none>\",\"<none>\"]"},
    {"crash", "{\"fake.kubelet/crash\":\"after=100ms\"}", 620, "Running",
     "[\"a\",\"0/1\",\"CrashLoopBackOff\",\"1\",\"0s\",\"127.100.0.2\",\"model-node\",\"<none>\",\"<none>\"]"},
    {"crash-back", "{\"fake.kubelet/crash\":\"after=100ms\"}", 1120, "Running",
     "[\"a\",\"1/1\",\"Running\",\"1\",\"1s\",\"127.100.0.2\",\"model-node\",\"<none>\",\"<none>\"]"},
};

static void kubelet(void)
{
    for (size_t i = 0; i < COUNT_OF(pods); i++) {
        struct world w;
        test_case("kubelet-%s", pods[i].id);
        world_open(&w, NULL);
        make_pod(&w, pods[i].annotations);
        world_sleep(&w, pods[i].after_ms);
        CHECK_STR(text(ask(&w, "GET", PODS "/a", NULL), &w, "status.phase"), pods[i].phase);
        struct answer a = ask_accept(&w, PODS, "application/json;as=Table;v=v1;g=meta.k8s.io");
        CHECK_SLICE(json_raw(json_get(json_at(json_get(a.json, "rows"), 0), "cells")), slice_of(pods[i].cells));
        world_close(&w);
    }
}

static struct slice make_map(struct world *w, const char *name, struct slice owner, const char *owner_name)
{
    struct slice refs = SLICE("[]");
    if (owner.len)
        refs =
            arena_printf(&w->mem, "[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"%s\",\"uid\":\"%.*s\",\"controller\":true}]",
                         owner_name, SLICE_ARG(owner));
    const char *body = arena_printf(&w->mem, "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":%.*s}}", name, SLICE_ARG(refs)).ptr;
    struct answer a = ask(w, "POST", MAPS, body);
    CHECK_INT(a.status, 201);
    return text(a, w, "metadata.uid");
}

static bool there(struct world *w, const char *name)
{
    return apiserver_get(w->server, SLICE("configmaps"), SLICE("default"), slice_of(name), &w->mem).ptr != NULL;
}

/* Without a node a pod stays as it was made, and is gone at once when it is deleted. */
static void no_nodes(void)
{
    struct world w;
    test_case("no-nodes");
    world_open(&w, &(struct apiserver_config){.seed = 1, .no_nodes = true});
    make_pod(&w, "{}");
    world_sleep(&w, 60000);
    struct answer pod = ask(&w, "GET", PODS "/a", NULL);
    CHECK_STR(text(pod, &w, "status.phase"), "Pending");
    CHECK(!text(pod, &w, "spec.nodeName").len);
    CHECK_INT(ask(&w, "GET", "/api/v1/nodes/model-node", NULL).status, 404);
    CHECK_INT(ask(&w, "DELETE", PODS "/a", NULL).status, 200);
    CHECK_INT(ask(&w, "GET", PODS "/a", NULL).status, 404);
    world_close(&w);
}

static void elsewhere(struct world *w, struct slice owner)
{
    static const char refs[] = "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[%s{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                               "\"name\":\"owner\",\"uid\":\"%.*s\"}]}}";
    const char *maps = "/api/v1/namespaces/n/configmaps", *body;
    CHECK_INT(ask(w, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}").status, 201);
    body = arena_printf(&w->mem, refs, "theirs", "", SLICE_ARG(owner)).ptr;
    CHECK_INT(ask(w, "POST", maps, body).status, 201);
    struct slice own = text(ask(w, "POST", maps, "{\"metadata\":{\"name\":\"own\"}}"), w, "metadata.uid");
    const char *first =
        arena_printf(&w->mem, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"own\",\"uid\":\"%.*s\"},", SLICE_ARG(own)).ptr;
    body = arena_printf(&w->mem, refs, "both", first, SLICE_ARG(owner)).ptr;
    CHECK_INT(ask(w, "POST", maps, body).status, 201);
    world_sleep(w, 200);
    CHECK_INT(ask(w, "GET", "/api/v1/namespaces/n/configmaps/theirs", NULL).status, 404);
    struct answer both = ask(w, "GET", "/api/v1/namespaces/n/configmaps/both", NULL);
    struct jval left = json_get(both.json, "metadata.ownerReferences");
    CHECK_INT(json_len(left), 1);
    CHECK(json_str_eq(json_get(json_at(left, 0), "name"), SLICE("own")));
}

static void collector(void)
{
    struct world w;
    world_open(&w, NULL);
    test_case("W8-background");
    struct slice uid = make_map(&w, "owner", SLICE_NONE, "");
    struct slice child = make_map(&w, "child", uid, "owner");
    make_map(&w, "grandchild", child, "child");
    CHECK_INT(ask(&w, "DELETE", MAPS "/owner", NULL).status, 200);
    CHECK(!there(&w, "owner") && there(&w, "child"));
    world_sleep(&w, 200);
    CHECK(!there(&w, "child") && !there(&w, "grandchild"));
    test_case("W8-wrong-uid"); /* counts as gone */
    uid = make_map(&w, "owner", SLICE_NONE, "");
    make_map(&w, "stray", SLICE("00000000-0000-4000-8000-000000000000"), "owner");
    make_map(&w, "misnamed", uid, "other");
    make_map(&w, "child", uid, "owner");
    world_sleep(&w, 200);
    CHECK(!there(&w, "stray") && !there(&w, "misnamed") && there(&w, "child"));
    test_case("W8-owner-elsewhere"); /* so does one of another namespace */
    elsewhere(&w, uid);
    test_case("W8-orphan");
    CHECK_INT(ask(&w, "DELETE", MAPS "/owner?propagationPolicy=Orphan", NULL).status, 200);
    world_sleep(&w, 200);
    CHECK(!there(&w, "owner") && there(&w, "child"));
    struct answer a = ask(&w, "GET", MAPS "/child", NULL);
    CHECK(!json_there(json_get(a.json, "metadata.ownerReferences")));
    test_case("W8-foreground");
    uid = make_map(&w, "owner", SLICE_NONE, "");
    make_map(&w, "late", uid, "owner");
    CHECK_INT(ask(&w, "DELETE", MAPS "/owner", "{\"propagationPolicy\":\"Foreground\"}").status, 200);
    CHECK(there(&w, "owner") && there(&w, "late"));
    world_sleep(&w, 200);
    CHECK(!there(&w, "owner") && !there(&w, "late"));
    test_case("W8-two-controllers");
    a = ask(&w, "POST", MAPS,
            "{\"metadata\":{\"name\":\"x\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"A\",\"name\":\"a\",\"uid\":\"1\","
            "\"controller\":true},"
            "{\"apiVersion\":\"v1\",\"kind\":\"B\",\"name\":\"b\",\"uid\":\"2\",\"controller\":true}]}}");
    CHECK_INT(a.status, 422);
    test_case("deletecollection");
    make_map(&w, "p", SLICE_NONE, "");
    make_map(&w, "q", SLICE_NONE, "");
    CHECK_INT(ask(&w, "DELETE", MAPS "?fieldSelector=metadata.name%3Dp", NULL).status, 200);
    CHECK(!there(&w, "p") && there(&w, "q"));
    world_close(&w);
}

/* The same seed and the same requests give the same bytes; another seed gives other uids. */
static struct slice history(uint64_t seed, struct arena *a)
{
    struct world w;
    struct stream s;
    world_open(&w, &(struct apiserver_config){.seed = seed, .pod_events = true});
    stream_open(&s, &w, "/api/v1/pods?watch=1");
    make_pod(&w, "{\"fake.kubelet/fail\":\"after=1s\"}");
    ask(&w, "POST", MAPS, "{\"metadata\":{\"generateName\":\"x\"}}");
    world_sleep(&w, 5000);
    stream_look(&s);
    struct slice all = arena_dup(a, s.last);
    stream_close(&s);
    world_close(&w);
    return all;
}

static void determinism(void)
{
    struct arena a = {0};
    test_case("deterministic");
    CHECK_SLICE(history(7, &a), history(7, &a));
    CHECK(!slice_eq(history(7, &a), history(8, &a)));
    arena_free(&a);
}

/* Bytes may come in any pieces. */
static void pieces(void)
{
    static const char request[] = "POST " MAPS " HTTP/1.1\r\nHost: x\r\nContent-Length: 25\r\n\r\n{\"metadata\":{\"name\":\"a\"}}"
                                  "GET " MAPS "/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    struct world w;
    struct slice whole_answer = SLICE_NONE;
    struct arena a = {0};
    for (size_t size = sizeof request - 1; size >= 1; size = size > 7 ? size / 2 : size - 1) {
        test_case("pieces-of-%zu", size);
        world_open(&w, NULL);
        for (size_t at = 0; at < sizeof request - 1; at += size) {
            size_t n = sizeof request - 1 - at;
            apiserver_feed(w.server, w.conn, guarded((struct slice){request + at, n < size ? n : size}), w.now);
        }
        if (!whole_answer.ptr)
            whole_answer = arena_dup(&a, apiserver_output(w.conn));
        CHECK_SLICE(apiserver_output(w.conn), whole_answer);
        CHECK(apiserver_wants_close(w.conn));
        world_close(&w);
    }
    arena_free(&a);
}

int main(void)
{
    kubelet();
    no_nodes();
    collector();
    determinism();
    pieces();
    return test_done();
}
