/* The text of instance types, and behind a NUL a RayCluster: every error has a line and words, and each group of the cluster has a template
 * or a reason. */
#include <mobula/ray.h>
#include <mobula/shape.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_group(const struct ray_group *g)
{
    if (g->blocked ? slice_empty(g->blocked_text) : json_type(g->template) != JSON_OBJECT)
        abort();
}

static void check_cluster(const struct shape_types *types, struct slice text, struct arena *a)
{
    struct json given;
    struct spec_errors errors = {0};
    struct ray_cluster c;
    if (!json_parse(&given, text, a, NULL) || !ray_read(json_root(&given), a, &c, &errors))
        return;
    shape_cluster(types, &c, a);
    check_group(&c.head);
    for (uint32_t i = 0; i < c.group_count; i++)
        check_group(&c.groups[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct shape_types types;
    struct spec_errors errors = {0};
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
