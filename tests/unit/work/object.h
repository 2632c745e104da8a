/* For tests of room work: an object as the API server has it. */
#ifndef TESTS_WORK_OBJECT_H
#define TESTS_WORK_OBJECT_H

#include <mobula/spec.h>
#include <mobula/work.h>

/* NULL: it is none. */
static const struct work_object *object_of(struct jval all, struct arena *a)
{
    struct work_object *o = arena_new(a, struct work_object);
    struct jval meta = json_get(all, "metadata");
    *o = (struct work_object){.api_version = json_get_str(all, "apiVersion", a),
                              .kind = json_get_str(all, "kind", a),
                              .ns = json_get_str(meta, "namespace", a),
                              .name = json_get_str(meta, "name", a),
                              .uid = json_get_str(meta, "uid", a),
                              .deleting = value_given(json_get(meta, "deletionTimestamp")),
                              .generation = json_get_int(all, "generation", 0),
                              .metadata = meta,
                              .spec = json_get(all, "spec"),
                              .status = json_get(all, "status")};
    return json_type(all) == JSON_OBJECT ? o : NULL;
}

#endif
