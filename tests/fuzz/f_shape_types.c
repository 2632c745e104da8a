/* The text of instance types, and behind a NUL a RayCluster: every error has a line and words, and what comes of the cluster is JSON. */
#include <mobula/shape.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cluster(const struct shape_types *types, struct slice text, struct arena *a)
{
    struct json given, made;
    struct ray_errors errors = {0};
    struct slice out = SLICE_NONE;
    struct err e = {0};
    if (!json_parse(&given, text, a, NULL) || json_type(json_root(&given)) != JSON_OBJECT)
        return;
    bool ok = shape_types_expand(types, json_root(&given), a, &out, &errors, &e);
    if (ok ? !json_parse(&made, out, a, &e) && e.code != ERR_LIMIT : e.code == ERR_NONE)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct shape_types types;
    struct shape_errors errors = {0};
    struct slice cluster = {(const char *)data, size}, text = slice_cut(&cluster, '\0');
    bool ok = shape_types_read(text, &a, &types, &errors);
    if (ok != (errors.count == 0))
        abort();
    for (uint32_t i = 0; i < errors.count; i++)
        if (errors.list[i].line == 0 || slice_empty(errors.list[i].text))
            abort();
    if (cluster.ptr)
        check_cluster(&types, cluster, &a);
    arena_free(&a);
    return 0;
}
