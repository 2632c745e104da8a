/* Lists and watches: the L rules. */
#include "drive.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

static void add(struct world *w, const char *name, const char *labels)
{
    char body[256];
    snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"%s\",\"labels\":{%s}}}", name, labels);
    CHECK_INT(ask(w, "POST", MAPS, body).status, 201);
}

/* The names of a list, joined. */
static struct slice names(struct answer a, struct world *w)
{
    struct slice all = SLICE("");
    struct jval k, x;
    for (struct jiter it = json_iter(json_get(a.json, "items")); json_next(&it, &k, &x);) {
        struct slice name = json_get_str(x, "metadata.name", &w->mem);
        all = arena_printf(&w->mem, "%.*s%s%.*s", SLICE_ARG(all), all.len ? " " : "", SLICE_ARG(name));
    }
    return all;
}

static const struct {
    const char *query, *names;
} selections[] = {
    {"labelSelector=app%3Dx", "a b"},
    {"labelSelector=app%3D%3Dx", "a b"},
    {"labelSelector=app!%3Dx", "c d"},
    {"labelSelector=app", "a b c"},
    {"labelSelector=!app", "d"},
    {"labelSelector=app+in+(x,y)", "a b c"},
    {"labelSelector=app%20notin%20(x)", "c d"},
    {"labelSelector=app%3Dx,tier%3D1", "a"},
    {"labelSelector=app+in+(x),tier+notin+(1,2)", ""},
    {"labelSelector=other.io/name", ""},
    {"labelSelector=", "a b c d"},
    {"fieldSelector=metadata.name%3Db", "b"},
    {"fieldSelector=metadata.name!%3Db", "a c d"},
    {"fieldSelector=metadata.namespace%3Ddefault,metadata.name%3Dd", "d"},
    {"labelSelector=app+near+x", NULL},
    {"labelSelector=%3Dx", NULL},
    {"fieldSelector=data.x%3Dy", NULL},
    {"fieldSelector=metadata.name", NULL},
    {"limit=many", NULL},
    {"limit=-1", "a b c d"},
    {"resourceVersion=x", NULL},
    {"resourceVersionMatch=Exact", NULL},
    {"resourceVersionMatch=Exact&resourceVersion=0", NULL},
    {"resourceVersionMatch=Roughly&resourceVersion=5", NULL},
    {"continue=x", NULL},
};

static void fill(struct world *w)
{
    world_open(w, NULL);
    add(w, "b", "\"app\":\"x\",\"tier\":\"2\"");
    add(w, "a", "\"app\":\"x\",\"tier\":\"1\"");
    add(w, "d", "");
    add(w, "c", "\"app\":\"y\"");
}

static void selectors(void)
{
    struct world w;
    fill(&w);
    for (size_t i = 0; i < COUNT_OF(selections); i++) {
        test_case("L16 %s", selections[i].query);
        struct answer a = ask(&w, "GET", arena_printf(&w.mem, MAPS "?%s", selections[i].query).ptr, NULL);
        if (selections[i].names) {
            CHECK_INT(a.status, 200);
            CHECK_STR(names(a, &w), selections[i].names);
        } else {
            CHECK(a.status == 400 || a.status == 422);
        }
    }
    world_close(&w);
}

/* L7: all pages show the state of the first, and a token from before the history is a 410 that offers another. */
static void pages(void)
{
    struct world w;
    fill(&w);
    test_case("L7-pages");
    struct answer a = ask(&w, "GET", MAPS "?limit=2", NULL);
    CHECK_STR(names(a, &w), "a b");
    CHECK_INT(whole(a, "metadata.remainingItemCount"), 2);
    struct slice rv = text(a, &w, "metadata.resourceVersion"), token = text(a, &w, "metadata.continue");
    CHECK_INT(ask(&w, "DELETE", MAPS "/c", NULL).status, 200);
    add(&w, "aa", "");
    add(&w, "e", "");
    const char *next = arena_printf(&w.mem, MAPS "?limit=2&continue=%.*s", SLICE_ARG(token)).ptr;
    a = ask(&w, "GET", next, NULL);
    CHECK_STR(names(a, &w), "c d");
    CHECK_SLICE(text(a, &w, "metadata.resourceVersion"), rv);
    CHECK(!text(a, &w, "metadata.continue").len);
    test_case("L7-expired");
    apiserver_compact(w.server, SLICE("configmaps"));
    a = ask(&w, "GET", next, NULL);
    CHECK_INT(a.status, 410);
    CHECK_STR(text(a, &w, "reason"), "Expired");
    CHECK(text(a, &w, "metadata.continue").len > 0);
    test_case("L2-exact");
    a = ask(&w, "GET", arena_printf(&w.mem, MAPS "?resourceVersionMatch=Exact&resourceVersion=%.*s", SLICE_ARG(rv)).ptr, NULL);
    CHECK_INT(a.status, 410);
    world_close(&w);
}

static void too_large(void)
{
    struct world w;
    fill(&w);
    test_case("L6-too-large");
    uint64_t rv = apiserver_revision(w.server);
    const char *target = arena_printf(&w.mem, MAPS "?resourceVersion=%llu", (unsigned long long)rv + 1).ptr;
    CHECK_INT(ask(&w, "GET", target, NULL).status, 0); /* it waits … */
    world_sleep(&w, 2999);
    CHECK_INT(apiserver_output(w.conn).len, 0);
    world_sleep(&w, 1); /* … three seconds */
    struct answer a = ask(&w, "GET", "/version", NULL);
    CHECK_INT(a.status, 504);
    CHECK_STR(text(a, &w, "reason"), "Timeout");
    CHECK_STR(json_get_str(json_at(json_get(a.json, "details.causes"), 0), "reason", &w.mem), "ResourceVersionTooLarge");
    world_close(&w);

    fill(&w);
    test_case("L6-comes-in-time");
    CHECK_INT(ask(&w, "GET", target = MAPS "?resourceVersion=17", NULL).status, 0);
    struct conn *other = apiserver_connect(w.server);
    for (int i = 0; apiserver_revision(w.server) < 17; i++) {
        const char *body = arena_printf(&w.mem, "{\"metadata\":{\"name\":\"x%d\"}}", i).ptr;
        const char *bytes =
            arena_printf(&w.mem, "POST " MAPS " HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body).ptr;
        apiserver_feed(w.server, other, slice_of(bytes), w.now);
    }
    CHECK(slice_starts(apiserver_output(w.conn), SLICE("HTTP/1.1 200")));
    world_close(&w);
}

static void watches(void)
{
    struct world w;
    struct stream s, only_x;
    fill(&w);
    test_case("L1-from-list");
    struct answer a = ask(&w, "GET", MAPS, NULL);
    const char *from = arena_printf(&w.mem, MAPS "?watch=1&resourceVersion=%.*s", SLICE_ARG(text(a, &w, "metadata.resourceVersion"))).ptr;
    add(&w, "e", "");
    stream_open(&s, &w, from);
    stream_open(&only_x, &w, arena_printf(&w.mem, "%s&labelSelector=app%%3Dx", from).ptr);
    CHECK_STR(stream_look(&s), "ADDED e");
    CHECK_STR(stream_look(&only_x), "");
    test_case("L10-transitions");
    CHECK_INT(ask(&w, "PUT", MAPS "/e", "{\"metadata\":{\"name\":\"e\",\"labels\":{\"app\":\"x\"}}}").status, 200);
    CHECK_STR(stream_look(&s), "MODIFIED e");
    CHECK_STR(stream_look(&only_x), "ADDED e");
    CHECK_INT(ask(&w, "PUT", MAPS "/e", "{\"metadata\":{\"name\":\"e\"},\"data\":{\"k\":\"v\"}}").status, 200);
    CHECK_STR(stream_look(&s), "MODIFIED e");
    CHECK_STR(stream_look(&only_x), "DELETED e");
    CHECK(memmem(only_x.last.ptr, only_x.last.len, "\"app\":\"x\"", 9) != NULL); /* the old content … */
    struct slice rv = arena_printf(&w.mem, "\"resourceVersion\":\"%llu\"", (unsigned long long)apiserver_revision(w.server));
    CHECK(memmem(only_x.last.ptr, only_x.last.len, rv.ptr, rv.len) != NULL); /* … at the new resourceVersion */
    CHECK_INT(ask(&w, "DELETE", MAPS "/e", NULL).status, 200);
    CHECK_STR(stream_look(&s), "DELETED e");
    CHECK_STR(stream_look(&only_x), "");
    test_case("L9-synthetic");
    stream_close(&s);
    stream_open(&s, &w, MAPS "?watch=1");
    CHECK_STR(stream_look(&s), "ADDED a, ADDED b, ADDED c, ADDED d");
    stream_close(&s);
    stream_close(&only_x);
    world_close(&w);
}

/* The events of a deletion, as kube-apiserver 1.34 was seen to send them. */
static void deletions(void)
{
    struct world w;
    struct stream s;
    world_open(&w, NULL);
    test_case("delete-pod-events");
    stream_open(&s, &w, "/api/v1/pods?watch=1&resourceVersion=0");
    CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/default/pods",
                  "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}")
                  .status,
              201);
    CHECK_INT(ask(&w, "DELETE", "/api/v1/namespaces/default/pods/p", NULL).status, 200);
    CHECK_STR(stream_look(&s), "ADDED p, MODIFIED p, DELETED p");
    stream_close(&s);
    test_case("delete-finalizer-events");
    stream_open(&s, &w, MAPS "?watch=1&resourceVersion=0");
    CHECK_INT(ask(&w, "POST", MAPS, "{\"metadata\":{\"name\":\"m\",\"finalizers\":[\"a/b\"]}}").status, 201);
    CHECK_INT(ask(&w, "DELETE", MAPS "/m", NULL).status, 200);
    CHECK_STR(stream_look(&s), "ADDED m, MODIFIED m");
    CHECK_INT(ask_typed(&w, "PATCH", MAPS "/m", "application/merge-patch+json", "{\"metadata\":{\"finalizers\":null}}").status, 200);
    CHECK_STR(stream_look(&s), "DELETED m");
    stream_close(&s);
    world_close(&w);
}

static void bookmarks(void)
{
    struct world w;
    struct stream s;
    fill(&w);
    test_case("L11-bookmarks");
    stream_open(&s, &w, MAPS "?watch=1&allowWatchBookmarks=true&timeoutSeconds=130&resourceVersion=10");
    stream_look(&s);
    world_sleep(&w, 59999);
    CHECK_STR(stream_look(&s), "");
    world_sleep(&w, 1);
    CHECK_STR(stream_look(&s), "BOOKMARK");
    world_sleep(&w, 60000);
    CHECK_STR(stream_look(&s), "BOOKMARK");
    world_sleep(&w, 8000);
    CHECK_STR(stream_look(&s), "BOOKMARK"); /* two seconds before the end */
    test_case("L13-timeout");
    CHECK(!s.ended);
    world_sleep(&w, 2000);
    CHECK_STR(stream_look(&s), "");
    CHECK(s.ended);
    test_case("L12-streaming-list");
    stream_close(&s);
    const char *streaming =
        MAPS "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=app";
    stream_open(&s, &w, streaming);
    CHECK_STR(stream_look(&s), "ADDED a, ADDED b, ADDED c, BOOKMARK");
    CHECK(memmem(s.last.ptr, s.last.len, "\"k8s.io/initial-events-end\":\"true\"", 34) != NULL);
    add(&w, "f", "\"app\":\"q\"");
    CHECK_STR(stream_look(&s), "ADDED f");
    stream_close(&s);
    test_case("L12-refused");
    apiserver_faults(w.server)->no_streaming_lists = true;
    CHECK_INT(ask(&w, "GET", streaming, NULL).status, 422);
    CHECK_INT(ask(&w, "GET", MAPS "?watch=1&sendInitialEvents=true", NULL).status, 422);
    CHECK_INT(ask(&w, "GET", MAPS "?watch=1&resourceVersionMatch=NotOlderThan", NULL).status, 422);
    world_close(&w);
}

static void expired(void)
{
    struct world w;
    struct stream s;
    fill(&w);
    test_case("L5-error-event");
    apiserver_compact(w.server, SLICE("configmaps"));
    stream_open(&s, &w, MAPS "?watch=1&resourceVersion=3");
    CHECK_STR(stream_look(&s), "ERROR Expired");
    CHECK_INT(s.status, 200);
    CHECK(s.ended);
    stream_close(&s);
    test_case("L5-http");
    apiserver_faults(w.server)->expired_as_http = true;
    CHECK_INT(ask(&w, "GET", MAPS "?watch=1&resourceVersion=3", NULL).status, 410);
    world_close(&w);

    test_case("L4-history"); /* as many events as the history holds, and one more */
    world_open(&w, &(struct apiserver_config){.seed = 1, .history = 4});
    uint64_t rv = apiserver_revision(w.server);
    const char *from = arena_printf(&w.mem, MAPS "?watch=1&resourceVersion=%llu", (unsigned long long)rv).ptr;
    for (int i = 0; i < 5; i++) {
        add(&w, arena_printf(&w.mem, "m%d", i).ptr, "");
        stream_open(&s, &w, from);
        CHECK_INT(slice_starts(stream_look(&s), SLICE("ERROR")), i == 4);
        stream_close(&s);
    }
    world_close(&w);
}

static void knobs(void)
{
    struct world w;
    struct stream s;
    fill(&w);
    test_case("fault-delay");
    apiserver_faults(w.server)->watch_delay_ms = 50;
    stream_open(&s, &w, MAPS "?watch=1&resourceVersion=0");
    stream_look(&s);
    add(&w, "z", "");
    world_sleep(&w, 49);
    CHECK_STR(stream_look(&s), "");
    world_sleep(&w, 1);
    CHECK_STR(stream_look(&s), "ADDED z");
    test_case("fault-drop");
    apiserver_drop_watches(w.server, SLICE("configmaps"), false);
    stream_look(&s);
    CHECK(s.ended && !apiserver_wants_close(s.conn));
    stream_close(&s);
    stream_open(&s, &w, MAPS "?watch=1&resourceVersion=0");
    stream_look(&s);
    apiserver_drop_watches(w.server, SLICE("configmaps"), true);
    stream_look(&s);
    CHECK(!s.ended && apiserver_wants_close(s.conn));
    stream_close(&s);
    test_case("fault-override");
    struct apiserver_override *next = &apiserver_faults(w.server)->next;
    *next =
        (struct apiserver_override){.method = SLICE("POST"), .path = SLICE(MAPS), .status = 429, .reason = "TooManyRequests", .times = 1};
    CHECK_INT(ask(&w, "GET", MAPS, NULL).status, 200);
    CHECK_INT(ask(&w, "POST", MAPS, "{\"metadata\":{\"name\":\"q\"}}").status, 429);
    CHECK_INT(ask(&w, "GET", MAPS "/q", NULL).status, 404);
    test_case("fault-lost-answer");
    *next = (struct apiserver_override){.method = SLICE("POST"), .status = 504, .reason = "Timeout", .commit = true, .times = 1};
    CHECK_INT(ask(&w, "POST", MAPS, "{\"metadata\":{\"name\":\"q\"}}").status, 504);
    CHECK_INT(ask(&w, "GET", MAPS "/q", NULL).status, 200);
    test_case("fault-cut");
    *next = (struct apiserver_override){.times = 1};
    CHECK_INT(ask(&w, "GET", MAPS, NULL).status, 0);
    CHECK(apiserver_wants_close(w.conn));
    world_close(&w);
}

static struct slice list_rv(struct world *w, const char *query)
{
    struct answer a = ask(w, "GET", arena_printf(&w->mem, MAPS "?%s", query).ptr, NULL);
    CHECK_INT(a.status, 200);
    return names(a, w);
}

/* A server whose cache lags behind: what may be old is, and nothing else. */
static void held_lists(struct world *w, unsigned long long before)
{
    static const struct {
        const char *id, *query, *names;
    } cases[] = {
        {"L2-consistent", "", "a b c d e"},
        {"L2-zero", "resourceVersion=0", "a b c d"},
        {"L2-zero-match", "resourceVersion=0&resourceVersionMatch=NotOlderThan", "a b c d"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("held %s", cases[i].id);
        CHECK_STR(list_rv(w, cases[i].query), cases[i].names);
    }
    test_case("held L2-not-older");
    const char *query = arena_printf(&w->mem, "resourceVersionMatch=NotOlderThan&resourceVersion=%llu", before).ptr;
    CHECK_STR(list_rv(w, query), "a b c d");
    test_case("held L2-exact");
    query = arena_printf(&w->mem, "resourceVersionMatch=Exact&resourceVersion=%llu", before + 1).ptr;
    CHECK_STR(list_rv(w, query), "a b c d e");
    test_case("held get");
    CHECK_INT(ask(w, "GET", MAPS "/e", NULL).status, 200);
    CHECK_INT(ask(w, "GET", MAPS "/e?resourceVersion=0", NULL).status, 404);
}

static void held_watches(struct world *w, unsigned long long before)
{
    struct stream s, from, zero;
    test_case("held L12-stream: the old state, and its end when the cache has caught up");
    stream_open(&s, w, MAPS "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
    CHECK_STR(stream_look(&s), "ADDED a, ADDED b, ADDED c, ADDED d");
    test_case("held L12-stream-zero: ends at once");
    stream_open(&zero, w,
                MAPS "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0");
    CHECK(slice_starts(stream_look(&zero), SLICE("ADDED a, ADDED b, ADDED c, ADDED d, BOOKMARK")));
    test_case("held L1-watch: nothing until then");
    stream_open(&from, w, arena_printf(&w->mem, MAPS "?watch=1&allowWatchBookmarks=true&resourceVersion=%llu", before).ptr);
    CHECK_STR(stream_look(&from), "");
    test_case("held: let go");
    world_sleep(w, 10 * 1000);
    CHECK(slice_starts(stream_look(&s), SLICE("ADDED e, BOOKMARK")));
    CHECK_STR(stream_look(&from), "ADDED e");
    CHECK_STR(list_rv(w, "resourceVersion=0"), "a b c d e");
    CHECK(apiserver_hits(w->server)->held > 0);
    stream_close(&s);
    stream_close(&zero);
    stream_close(&from);
}

static void held(void)
{
    struct world w;
    fill(&w);
    uint64_t before = apiserver_revision(w.server);
    world_sleep(&w, 2000);
    add(&w, "e", "");
    apiserver_hold_cache(w.server, SLICE("configmaps"), 1000, 10 * 1000);
    held_lists(&w, before);
    held_watches(&w, before);
    test_case("held: a cache in front of a server may answer with what is older than was asked for");
    apiserver_hold_cache(w.server, SLICE("configmaps"), 100 * 1000, 1000);
    apiserver_faults(w.server)->older_lists = true;
    uint64_t now = apiserver_revision(w.server);
    const char *query = arena_printf(&w.mem, "resourceVersionMatch=NotOlderThan&resourceVersion=%llu", (unsigned long long)now).ptr;
    CHECK(list_rv(&w, query).len < strlen("a b c d e"));
    CHECK_STR(list_rv(&w, ""), "a b c d e");
    test_case("held L6-too-large");
    apiserver_faults(w.server)->older_lists = false;
    apiserver_hold_cache(w.server, SLICE("configmaps"), 100 * 1000, 10 * 1000);
    CHECK_INT(ask(&w, "GET", arena_printf(&w.mem, MAPS "?resourceVersion=%llu", (unsigned long long)now).ptr, NULL).status, 0);
    world_sleep(&w, 3000);
    struct answer a = ask(&w, "GET", "/version", NULL);
    CHECK_INT(a.status, 504);
    CHECK_STR(json_get_str(json_at(json_get(a.json, "details.causes"), 0), "reason", &w.mem), "ResourceVersionTooLarge");
    world_close(&w);
}

static void formats(void)
{
    struct world w;
    fill(&w);
    test_case("L17-metadata");
    struct answer a = ask_accept(&w, MAPS, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    CHECK_STR(text(a, &w, "kind"), "PartialObjectMetadataList");
    CHECK_STR(json_get_str(json_at(json_get(a.json, "items"), 0), "kind", &w.mem), "PartialObjectMetadata");
    test_case("table");
    a = ask_accept(&w, MAPS "/a", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
    CHECK_STR(text(a, &w, "kind"), "Table");
    CHECK_SLICE(json_raw(json_get(json_at(json_get(a.json, "rows"), 0), "cells")), SLICE("[\"a\",0,\"0s\"]"));
    test_case("accept");
    CHECK_INT(ask_accept(&w, MAPS, "application/vnd.kubernetes.protobuf,application/json").status, 200);
    CHECK_INT(ask_accept(&w, MAPS, "application/vnd.kubernetes.protobuf").status, 406);
    world_close(&w);
}

int main(void)
{
    selectors();
    pages();
    too_large();
    watches();
    deletions();
    bookmarks();
    expired();
    knobs();
    held();
    formats();
    return test_done();
}
