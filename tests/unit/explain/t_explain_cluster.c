/* What `mobula explain cluster` says: a case is the cluster, its pods and what its head said, as YAML documents, and after >>> the words.
 */
#include "tests/kinds/cases.h"

#include <mobula/explain.h>
#include <mobula/yaml.h>

#include <stdio.h>
#include <stdlib.h>

static int64_t noon(void)
{
    int64_t us = 0;
    struct err e = {0};
    CHECK(time_parse(SLICE("2026-11-22T12:00:00Z"), &us, &e));
    return us;
}

static void read_document(struct explain_facts *f, struct slice text, struct arena *a)
{
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    if (!CHECK(json_parse(doc, text, a, &e)))
        return;
    struct jval root = json_root(doc);
    bool cluster = json_str_eq(json_get(root, "kind"), SLICE("RayCluster"));
    if (cluster && f->object.doc)
        explain_add_cluster(f, root, a);
    else if (cluster)
        f->object = root;
    else if (json_str_eq(json_get(root, "kind"), SLICE("Pod")))
        explain_add_pod(f, root, a);
    else if (json_get_bool(root, "unwatched", false))
        f->unwatched = true;
    else
        CHECK(explain_said(text, a, &f->said) || (f->silence = json_get_str(root, "silence", a)).len);
}

static void run(struct slice text)
{
    struct arena a = {0};
    struct yaml_docs docs;
    struct buf out;
    struct err e = {0};
    const char *mark = memmem(text.ptr, text.len, "\n>>>\n", 5);
    struct slice in = slice_head(text, mark ? (size_t)(mark - text.ptr) + 1 : text.len), want = slice_skip(text, in.len + 4);
    struct explain_facts f = {.now = {.mono_ms = 1, .wall_us = noon()}};
    buf_init(&out, EXPLAIN_WORDS_MAX);
    if (!CHECK(yaml_parse(in, &a, &docs, &e)))
        printf("  %s\n", e.text);
    for (uint32_t i = 0; i < docs.count; i++)
        read_document(&f, docs.docs[i].json, &a);
    if (CHECK(f.object.doc != NULL) && docs.count > 1 && json_str_eq(json_get(f.object, "metadata.name"), SLICE("waits")))
        explain_wait(&f, &a);
    if (f.object.doc)
        explain_words(&f, &a, &out);
    CHECK_SLICE(slice_trim(buf_slice(&out)), slice_trim(want));
    buf_free(&out);
    arena_free(&a);
}

static void said(struct arena *a)
{
    static const char *const bad[] = {
        "", "text", "[]", "{}", "{\"data\":{}}", "{\"data\":{\"clusterStatus\":null}}", "{\"data\":{\"clusterStatus\":1}}"};
    struct slice text;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        test_case("no status: %s", bad[i]);
        CHECK(!explain_said(guarded(slice_of(bad[i])), a, &text));
    }
    test_case("a status");
    CHECK(explain_said(guarded(SLICE("{\"result\":true,\"data\":{\"clusterStatus\":\"a\\nb\"}}")), a, &text));
    CHECK_STR(text, "a\nb");
}

/* Two of three pods are the cluster's own. */
static void pages(struct arena *a)
{
    static const char page[] = "{\"kind\":\"PodList\",\"metadata\":{\"continue\":\"next\"},\"items\":["
                               "{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"controller\":true,\"uid\":\"u\"}]}},"
                               "{\"metadata\":{\"name\":\"b\",\"ownerReferences\":[{\"controller\":true,\"uid\":\"older\"}]}},"
                               "{\"metadata\":{\"name\":\"c\",\"ownerReferences\":[{\"controller\":true,\"uid\":\"u\"}]}}]}";
    struct json cluster;
    struct err e = {0};
    struct slice more = SLICE("");
    CHECK(json_parse(&cluster, SLICE("{\"metadata\":{\"uid\":\"u\"}}"), a, &e));
    struct explain_facts f = {.object = json_root(&cluster)};
    test_case("a page of pods");
    CHECK(explain_add_pods(&f, guarded(slice_of(page)), &more, a, &e));
    CHECK_INT(f.pod_count, 2);
    CHECK_STR(more, "next");
    test_case("a pod that cannot be read leaves no error behind");
    CHECK(explain_add_pods(&f, guarded(SLICE("{\"metadata\":{},\"items\":[{\"a\":1,\"a\":2}]}")), &more, a, &e));
    CHECK_INT(f.pod_count, 2);
    CHECK_INT(e.code, ERR_NONE);
    test_case("the last page");
    CHECK(explain_add_pods(&f, guarded(SLICE("{\"metadata\":{},\"items\":[]}")), &more, a, &e));
    CHECK_STR(more, "");
    test_case("a list that does not end");
    for (f.pages = 0; f.pages < LIMIT_EXPLAIN_PAGES;)
        CHECK(explain_add_pods(&f, SLICE("{\"metadata\":{\"continue\":\"next\"},\"items\":[]}"), &more, a, &e));
    CHECK_STR(more, "next");
    CHECK(!explain_add_pods(&f, SLICE("{\"metadata\":{},\"items\":[]}"), &more, a, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(strstr(e.text, "LIMIT_EXPLAIN_PAGES") != NULL);
    f.pages = 0;
    for (size_t n = 0; n < sizeof page - 1; n++) {
        e = (struct err){0};
        test_case("cut at byte %zu", n);
        CHECK(!explain_add_pods(&f, guarded(slice_head(slice_of(page), n)), &more, a, &e));
        CHECK_INT(e.code, ERR_SYNTAX);
    }
}

/* A server that heeds no limit may send as many as it likes, a page or two thousand. */
static void many_pods(struct arena *a)
{
    static const char one[] = "{\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"controller\":true,"
                              "\"uid\":\"u\"}]}}]}";
    struct json cluster;
    struct err e = {0};
    struct slice more = SLICE("");
    struct pod *pods = calloc(LIMIT_EXPLAIN_PODS + 1, sizeof *pods);
    CHECK(pods && json_parse(&cluster, SLICE("{\"metadata\":{\"uid\":\"u\"}}"), a, &e));
    struct explain_facts f = {
        .object = json_root(&cluster), .pods = pods, .pod_count = LIMIT_EXPLAIN_PODS - 1, .pod_cap = LIMIT_EXPLAIN_PODS + 1};
    test_case("as many pods as are kept");
    CHECK(explain_add_pods(&f, slice_of(one), &more, a, &e));
    CHECK_INT(f.pod_count, LIMIT_EXPLAIN_PODS);
    test_case("and one more");
    CHECK(!explain_add_pods(&f, slice_of(one), &more, a, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(strstr(e.text, "LIMIT_EXPLAIN_PODS") != NULL);
    free(pods);
}

static void next_page(void)
{
    static char token[LIMIT_HTTP_URL];
    struct buf path;
    struct err e = {0};
    buf_init(&path, LIMIT_HTTP_URL);
    memset(token, 't', sizeof token);
    test_case("the first page, and the next one");
    CHECK(explain_page_path(SLICE("n"), SLICE("c"), SLICE(""), &path, &e));
    CHECK_STR(buf_slice(&path), "/api/v1/namespaces/n/pods?labelSelector=ray.io%2Fcluster%3Dc&limit=100");
    buf_clear(&path);
    CHECK(explain_page_path(SLICE("n"), SLICE("c"), SLICE("a=b"), &path, &e));
    CHECK(slice_ends(buf_slice(&path), SLICE("&limit=100&continue=a%3Db")));
    size_t room = LIMIT_HTTP_URL - path.len + strlen("a%3Db");
    for (size_t over = 0; over < 2; over++) {
        test_case("what the server says the list goes on at fills the address, and %zu more", over);
        buf_clear(&path);
        CHECK(explain_page_path(SLICE("n"), SLICE("c"), (struct slice){token, room + over}, &path, &e) == (over == 0));
        CHECK_INT(e.code, over ? ERR_LIMIT : ERR_NONE);
    }
    buf_free(&path);
}

int main(void)
{
    struct arena a = {0};
    run_cases("tests/data/cli/explain.case", run);
    said(&a);
    pages(&a);
    many_pods(&a);
    next_page();
    arena_free(&a);
    return test_done();
}
