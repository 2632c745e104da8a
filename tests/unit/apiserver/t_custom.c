/* CustomResourceDefinitions and what they bring. */
#include "drive.h"

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define THINGS "/apis/x.y/v1/namespaces/default/things"

static const char *const crd =
    "{\"metadata\":{\"name\":\"things.x.y\"},\"spec\":{\"group\":\"x.y\",\"scope\":\"Namespaced\","
    "\"names\":{\"plural\":\"things\",\"kind\":\"Thing\",\"shortNames\":[\"th\"]},\"versions\":[{\"name\":\"v1\",\"served\":true,"
    "\"storage\":true,"
    "\"subresources\":{\"status\":{}},\"additionalPrinterColumns\":[{\"name\":\"Size\",\"type\":\"integer\",\"jsonPath\":\".spec.size\"},"
    "{\"name\":\"Ready\",\"type\":\"string\",\"jsonPath\":\".status.conditions[?(@.type==\\\"Ready\\\")].status\"}],"
    "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"required\":[\"spec\"],\"properties\":{\"spec\":{\"type\":\"object\","
    "\"properties\":{"
    "\"size\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9,\"default\":3},\"color\":{\"type\":\"string\",\"enum\":[\"red\",\"blue\"]},"
    "\"name\":{\"type\":\"string\",\"maxLength\":4},\"any\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true},"
    "\"list\":{\"type\":\"array\",\"maxItems\":2,\"items\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"default\":1}}"
    "}}}},"
    "\"status\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}}}]}}";

/* A new Thing: its spec, the status, and the spec that is stored. */
static const struct {
    const char *id, *query, *spec;
    int status;
    const char *stored;
} cases[] = {
    {"default", "", "{}", 201, "{\"size\":3}"},
    {"default-in-list", "", "{\"list\":[{},{\"n\":2}]}", 201, "{\"list\":[{\"n\":1},{\"n\":2}],\"size\":3}"},
    {"prune", "", "{\"size\":1,\"other\":1}", 201, "{\"size\":1}"},
    {"prune-keeps", "", "{\"size\":1,\"any\":{\"other\":1}}", 201, "{\"size\":1,\"any\":{\"other\":1}}"},
    {"strict", "?fieldValidation=Strict", "{\"size\":1,\"other\":1}", 400, NULL},
    {"type", "", "{\"size\":\"1\"}", 422, NULL},
    {"type-fraction", "", "{\"size\":1.5}", 422, NULL},
    {"minimum", "", "{\"size\":1}", 201, "{\"size\":1}"},
    {"minimum-under", "", "{\"size\":0}", 422, NULL},
    {"maximum", "", "{\"size\":9}", 201, "{\"size\":9}"},
    {"maximum-over", "", "{\"size\":10}", 422, NULL},
    {"enum", "", "{\"size\":1,\"color\":\"red\"}", 201, "{\"size\":1,\"color\":\"red\"}"},
    {"enum-other", "", "{\"color\":\"green\"}", 422, NULL},
    {"maxLength", "", "{\"size\":1,\"name\":\"abcd\"}", 201, "{\"size\":1,\"name\":\"abcd\"}"},
    {"maxLength-over", "", "{\"name\":\"abcde\"}", 422, NULL},
    {"maxItems-over", "", "{\"list\":[{},{},{}]}", 422, NULL},
    {"required", "", NULL, 422, NULL},
};

static struct answer make(struct world *w, const char *query, const char *spec)
{
    const char *body = arena_printf(&w->mem, "{\"apiVersion\":\"x.y/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\"}%s%s}",
                                    spec ? ",\"spec\":" : "", spec ? spec : "")
                           .ptr;
    return ask(w, "POST", arena_printf(&w->mem, THINGS "%s", query).ptr, body);
}

static void schemas(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        test_case("schema-%s", cases[i].id);
        world_open(&w, NULL);
        CHECK_INT(ask(&w, "POST", CRDS, crd).status, 201);
        struct answer a = make(&w, cases[i].query, cases[i].spec);
        CHECK_INT(a.status, cases[i].status);
        if (cases[i].stored)
            CHECK_SLICE(json_raw(json_get(a.json, "spec")), slice_of(cases[i].stored));
        world_close(&w);
    }
}

static void life(void)
{
    struct world w;
    struct stream s;
    world_open(&w, NULL);
    test_case("crd-unknown");
    CHECK_INT(make(&w, "", "{}").status, 404);
    CHECK_INT(ask(&w, "GET", "/apis/x.y/v1", NULL).status, 404);
    test_case("crd-established");
    CHECK_INT(ask(&w, "POST", CRDS, crd).status, 201);
    struct answer a = ask(&w, "GET", CRDS "/things.x.y", NULL);
    CHECK_STR(json_get_str(json_at(json_get(a.json, "status.conditions"), 1), "type", &w.mem), "Established");
    CHECK_STR(text(a, &w, "status.acceptedNames.listKind"), "ThingList");
    a = ask(&w, "GET", "/apis/x.y/v1", NULL);
    CHECK_STR(json_get_str(json_at(json_get(a.json, "resources"), 1), "name", &w.mem), "things/status");
    a = ask(&w, "GET", "/apis/x.y", NULL);
    CHECK_STR(text(a, &w, "preferredVersion.groupVersion"), "x.y/v1");
    test_case("W6-generation");
    CHECK_INT(make(&w, "", "{}").status, 201);
    a = ask_typed(&w, "PATCH", THINGS "/a/status", "application/merge-patch+json",
                  "{\"spec\":{\"size\":5},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    CHECK_INT(whole(a, "spec.size"), 3);
    CHECK_INT(whole(a, "metadata.generation"), 1);
    a = ask_typed(&w, "PATCH", THINGS "/a", "application/merge-patch+json", "{\"spec\":{\"size\":5},\"status\":null}");
    CHECK_INT(whole(a, "metadata.generation"), 2);
    CHECK(json_there(json_get(a.json, "status.conditions")));
    test_case("W2-put-without-rv");
    CHECK_INT(
        ask(&w, "PUT", THINGS "/a", "{\"apiVersion\":\"x.y/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\"},\"spec\":{}}").status,
        422);
    test_case("W4-strategic");
    CHECK_INT(ask_typed(&w, "PATCH", THINGS "/a", "application/strategic-merge-patch+json", "{}").status, 415);
    test_case("crd-columns");
    a = ask_accept(&w, THINGS, "application/json;as=Table;v=v1;g=meta.k8s.io");
    CHECK_SLICE(json_raw(json_get(json_at(json_get(a.json, "rows"), 0), "cells")), SLICE("[\"a\",5,\"True\"]"));
    test_case("crd-deleted");
    stream_open(&s, &w, THINGS "?watch=1");
    CHECK_STR(stream_look(&s), "ADDED a");
    CHECK_INT(ask(&w, "DELETE", CRDS "/things.x.y", NULL).status, 200);
    CHECK_STR(stream_look(&s), "DELETED a");
    CHECK(s.ended);
    stream_close(&s);
    CHECK_INT(ask(&w, "GET", THINGS "/a", NULL).status, 404);
    test_case("crd-again");
    CHECK_INT(ask(&w, "POST", CRDS, crd).status, 201);
    CHECK_INT(make(&w, "", "{}").status, 201);
    test_case("crd-name");
    CHECK_INT(ask(&w, "POST", CRDS, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"group\":\"x.y\"}}").status, 422);
    world_close(&w);
}

/* One storage, two kinds of field names. */
static void events(void)
{
    struct world w;
    world_open(&w, NULL);
    test_case("events-two-views");
    struct answer a = ask(&w, "POST", "/apis/events.k8s.io/v1/namespaces/default/events",
                          "{\"metadata\":{\"name\":\"e\"},\"eventTime\":\"2026-01-01T00:00:00.000000Z\",\"reportingController\":\"c\","
                          "\"reportingInstance\":\"i\",\"action\":\"act\",\"reason\":\"r\",\"note\":\"n\",\"type\":\"Normal\","
                          "\"regarding\":{\"kind\":\"Pod\",\"name\":\"p\",\"namespace\":\"default\"}}");
    CHECK_INT(a.status, 201);
    CHECK_STR(text(a, &w, "note"), "n");
    a = ask(&w, "GET", "/api/v1/namespaces/default/events/e", NULL);
    CHECK_STR(text(a, &w, "message"), "n");
    CHECK_STR(text(a, &w, "involvedObject.name"), "p");
    CHECK_STR(text(a, &w, "reportingComponent"), "c");
    a = ask(&w, "GET", "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp", NULL);
    CHECK_INT(json_len(json_get(a.json, "items")), 1);
    test_case("events-note-limit");
    for (int n = 1024; n <= 1025; n++) {
        char body[2048];
        snprintf(body, sizeof body,
                 "{\"metadata\":{\"name\":\"e%d\"},\"eventTime\":\"2026-01-01T00:00:00.000000Z\",\"reportingController\":\"c\","
                 "\"reportingInstance\":\"i\",\"action\":\"act\",\"reason\":\"r\",\"note\":\"%0*d\",\"type\":\"Normal\","
                 "\"regarding\":{\"namespace\":\"default\"}}",
                 n, n, 1);
        CHECK_INT(ask(&w, "POST", "/apis/events.k8s.io/v1/namespaces/default/events", body).status, n > 1024 ? 422 : 201);
    }
    world_close(&w);
}

int main(void)
{
    schemas();
    life();
    events();
    return test_done();
}
