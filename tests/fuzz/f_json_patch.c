/* A document, a NUL, a patch: what either kind of patch makes of it is a document within the limits, and merging twice is merging once. */
#include <mobula/json.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The engine of json_patch with what goes beyond the RFC: each document on the way is one within the limits, or the edit fails. */
static void edit(struct slice document, struct slice patch, struct arena *a)
{
    struct json doc, operations, made;
    struct jval k, v;
    struct slice out;
    struct err e = {0};
    if (!json_parse(&doc, document, a, NULL) || !json_parse(&operations, patch, a, NULL))
        return;
    struct json_edit *x = json_edit_new(&doc, a, &e);
    for (struct jiter it = json_iter(json_root(&operations)); json_next(&it, &k, &v);) {
        struct json_op op;
        bool ok = json_op_read(v, true, a, &op, &e) && json_edit_run(x, &op);
        if (ok != (e.code == ERR_NONE))
            abort();
        if (!ok)
            return;
    }
    if (json_edit_text(x, &out) ? !json_parse(&made, out, a, NULL) : e.code == ERR_NONE)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice patch = {(const char *)data, size}, document = slice_cut(&patch, '\0'), out, again;
    struct arena a = {0};
    struct err e = {0};
    struct json one, two;
    if (json_patch(document, patch, &a, &out, &e)) {
        if (e.code != ERR_NONE || !json_parse(&one, out, &a, NULL))
            abort();
    } else if (e.code == ERR_NONE) {
        abort();
    }
    edit(document, patch, &a);
    e = (struct err){0};
    if (json_merge(document, patch, &a, &out, &e)) {
        if (!json_merge(out, patch, &a, &again, NULL))
            abort();
        if (!json_parse(&one, out, &a, NULL) || !json_parse(&two, again, &a, NULL) || !json_equal(json_root(&one), json_root(&two)))
            abort();
    } else if (e.code == ERR_NONE) {
        abort();
    }
    arena_free(&a);
    return 0;
}
