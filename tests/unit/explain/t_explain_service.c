/* Tests the text of `mobula explain service`: a case is the RayService, its Service and its RayClusters as YAML documents, then >>> and the
 * text. */
#include "tests/kinds/cases.h"

#include <mobula/explain.h>
#include <mobula/rayservice.h>
#include <mobula/yaml.h>

#include <stdio.h>

static void read_document(struct explain_service *f, struct slice text, struct arena *a)
{
    struct jval root;
    if (!CHECK(json_read(&root, text, a, NULL)))
        return;
    if (json_is(json_get(root, "kind"), "RayService"))
        f->object = root;
    else if (json_is(json_get(root, "kind"), "Service"))
        f->serve = root;
    else if (json_is(json_get(root, "kind"), "RayClusterList"))
        f->clusters = json_get(root, "items");
    else {
        f->unwatched |= json_get_bool(root, "unwatched", false);
        f->serve_silence = json_get_str(root, "serve", a);
        f->clusters_silence = json_get_str(root, "clusters", a);
    }
}

static void run(struct slice text)
{
    struct arena a = {0};
    struct yaml_docs docs;
    struct buf out = {.max = EXPLAIN_WORDS_MAX};
    struct err e = {0};
    const char *mark = memmem(text.ptr, text.len, "\n>>>\n", 5);
    struct slice in = slice_head(text, mark ? (size_t)(mark - text.ptr) + 1 : text.len), want = slice_skip(text, in.len + 4);
    struct explain_service f = {.object = NO_VALUE, .serve = NO_VALUE, .clusters = NO_VALUE};
    CHECK(time_parse(SLICE("2026-11-22T12:00:00Z"), &f.now_us, &e));
    if (!CHECK(yaml_parse(in, &a, &docs, &e)))
        printf("  %s\n", e.text);
    for (uint32_t i = 0; i < docs.count; i++)
        read_document(&f, docs.docs[i].json, &a);
    f.serve_name = rayservice_serve_name(json_get_str(f.object, "metadata.name", &a), json_get(f.object, "spec.serveService"), &a);
    explain_service_words(&f, &a, &out);
    CHECK_SLICE(slice_trim(buf_slice(&out)), slice_trim(want));
    buf_free(&out);
    arena_free(&a);
}

int main(void)
{
    run_cases("tests/data/cli/explain-service.case", run);
    return test_done();
}
