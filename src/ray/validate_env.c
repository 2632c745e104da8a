/* What Ray itself refuses of a runtime environment, minutes later, when a cluster has been made for it. */
#include "build.h"

void check_runtime_env(struct reader *r, const struct place *at, struct slice json)
{
    struct jval doc;
    struct jval k, v;
    if (!json_read(&doc, json, r->arena, NULL))
        return; /* whoever submits it says why */
    struct jval variables = json_get(doc, "env_vars"), folder = json_get(doc, "working_dir");
    if (value_given(variables) && json_type(variables) != JSON_OBJECT)
        place_bad(r, at, "env_vars is %s: must be names with texts", value_type_name(json_type(variables)));
    if (value_given(folder) && json_type(folder) != JSON_STRING)
        place_bad(r, at, "working_dir is %s: must be a string", value_type_name(json_type(folder)));
    for (struct jiter it = json_iter(variables); json_type(variables) == JSON_OBJECT && json_next(&it, &k, &v);) {
        struct slice name = json_str(k, r->arena);
        if (json_type(v) != JSON_STRING)
            place_bad(r, at, "env_vars.%.*s is %s: Ray takes strings alone, put it in quotes", SLICE_ARG(slice_head(name, 128)),
                      value_type_name(json_type(v)));
    }
}
