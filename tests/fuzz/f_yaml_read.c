/* What yaml_parse_each takes is JSON, with marks in order, and survives being written and read again. */
#include "yaml_steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_doc(const struct yaml_doc *doc, struct arena *a)
{
    struct json json;
    struct err e = {0};
    if (!json_parse(&json, doc->json, a, &e)) {
        if (e.code != ERR_LIMIT)
            abort();
        return;
    }
    for (uint32_t i = 0; i < doc->mark_count; i++)
        if (doc->marks[i].offset >= doc->json.len || (i > 0 && doc->marks[i].offset <= doc->marks[i - 1].offset) || doc->marks[i].line == 0)
            abort();
    if (doc->mark_count == 0 || doc->marks[0].offset != json_offset(json_root(&json)))
        abort();
    check_round_trip(doc->json, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct yaml_docs docs;
    struct err e = {0};
    struct slice text = {(const char *)data, size};
    bool any = yaml_parse_each(text, &a, &docs, &e), well = any;
    if (!any && e.code == ERR_NONE)
        abort();
    for (uint32_t i = 0; i < docs.count; i++) {
        well &= !docs.docs[i].error;
        if (!docs.docs[i].error)
            check_doc(&docs.docs[i], &a);
        else if (docs.docs[i].json.len > 0 || docs.docs[i].line == 0)
            abort();
    }
    if (yaml_parse(text, &a, &docs, NULL) != well)
        abort();
    if (yaml_parse_runtime_env(text, &a, &docs, NULL))
        for (uint32_t i = 0; i < docs.count; i++)
            check_doc(&docs.docs[i], &a);
    arena_free(&a);
    return 0;
}
