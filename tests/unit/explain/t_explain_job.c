/* Tests the text of `mobula explain job`: a case is the RayJob as a YAML document, then >>> and the text. A second document
 * {unwatched: true} means that no installation watches the namespace. */
#include "tests/kinds/cases.h"

#include <mobula/explain.h>
#include <mobula/yaml.h>

#include <stdio.h>

static void run(struct slice text)
{
    struct arena a = {0};
    struct yaml_docs docs;
    struct buf out = {.max = EXPLAIN_WORDS_MAX};
    struct err e = {0};
    const char *mark = memmem(text.ptr, text.len, "\n>>>\n", 5);
    struct slice in = slice_head(text, mark ? (size_t)(mark - text.ptr) + 1 : text.len), want = slice_skip(text, in.len + 4);
    struct explain_job f = {.object = NO_VALUE};
    CHECK(time_parse(SLICE("2026-11-22T12:00:00Z"), &f.now_us, &e));
    if (!CHECK(yaml_parse(in, &a, &docs, &e)) || !CHECK(docs.count > 0))
        printf("  %s\n", e.text);
    else if (CHECK(json_read(&f.object, docs.docs[0].json, &a, NULL))) {
        f.unwatched = docs.count > 1;
        explain_job_words(&f, &a, &out);
        CHECK_SLICE(slice_trim(buf_slice(&out)), slice_trim(want));
    }
    buf_free(&out);
    arena_free(&a);
}

int main(void)
{
    run_cases("tests/data/cli/explain-rayjob.case", run);
    return test_done();
}
