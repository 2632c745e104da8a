/* What yaml_parse takes is JSON, with marks in order, and survives being written and read again. */
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
    if (yaml_parse((struct slice){(const char *)data, size}, &a, &docs, &e))
        for (uint32_t i = 0; i < docs.count; i++)
            check_doc(&docs.docs[i], &a);
    else if (e.code == ERR_NONE)
        abort();
    arena_free(&a);
    return 0;
}
