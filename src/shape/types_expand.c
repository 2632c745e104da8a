/* A whole RayCluster with the instance types of its groups. */
#include <mobula/shape.h>
#include <mobula/spec.h>

struct expanded {
    const struct shape_types *types;
    struct arena *arena;
    struct reader r;
};

/* The group (or pod type) with its template replaced; itself where it names no type or one that cannot be applied. */
static struct slice expand_group(struct expanded *x, const struct place *group, const char *key, bool head)
{
    struct place template = place_key(group, key);
    struct slice name = shape_type_named(template.value, x->arena), made, bare, out;
    struct err e = {0};
    if (slice_empty(name))
        return json_raw(group->value);
    const struct shape_type *type = shape_type_find(x->types, name);
    if (!type) {
        place_bad(&x->r, &template, "names instance type %.*s, which the ConfigMap does not have", SLICE_ARG(slice_head(name, 64)));
        return json_raw(group->value);
    }
    if (shape_type_apply(type, template.value, head ? SLICE("head") : SLICE("worker"), x->arena, &made, &e) &&
        json_merge(json_raw(group->value), arena_printf(x->arena, "{\"%s\":null}", key), x->arena, &bare, &e) &&
        json_merge(bare, arena_printf(x->arena, "{\"%s\":%.*s}", key, SLICE_ARG(made)), x->arena, &out, &e))
        return out;
    place_bad(&x->r, &template, "%s", e.text);
    return json_raw(group->value);
}

static void expand_list(struct expanded *x, const struct place *spec, const char *key, const char *template, struct jout *w)
{
    struct place list = place_key(spec, key), head = place_key(spec, "headPodType");
    struct jval k, v;
    size_t i = 0;
    if (json_type(list.value) != JSON_ARRAY)
        return;
    jout_karray(w, key);
    for (struct jiter it = json_iter(list.value); json_next(&it, &k, &v); i++) {
        struct place group = place_element(&list, i, v);
        struct jval name = json_key(v, SLICE("name"));
        bool is_head = json_type(name) == JSON_STRING && json_str_eq(head.value, json_str(name, x->arena));
        jout_raw(w, expand_group(x, &group, template, is_head));
    }
    jout_end(w);
}

bool shape_types_expand(const struct shape_types *types, struct jval cluster, struct arena *a, struct slice *out, struct ray_errors *errors,
                        struct err *e)
{
    struct expanded x = {.types = types, .arena = a, .r = {.arena = a, .errors = errors}};
    struct place root = place_root(cluster), spec = place_key(&root, "spec"), head = place_key(&spec, "headGroupSpec");
    struct buf patch;
    struct jout w;
    buf_init(&patch, LIMIT_JSON_ITEM);
    jout_init(&w, &patch);
    jout_object(&w);
    jout_kobject(&w, "spec");
    if (json_type(head.value) == JSON_OBJECT)
        jout_kraw(&w, "headGroupSpec", expand_group(&x, &head, "template", true));
    expand_list(&x, &spec, "workerGroupSpecs", "template", &w);
    expand_list(&x, &spec, "podTypes", "podConfig", &w);
    jout_end(&w);
    jout_end(&w);
    bool ok = !patch.full || err_set(e, ERR_LIMIT, "the cluster is larger than %zu bytes with its instance types", patch.max);
    ok = ok && json_merge(json_raw(cluster), arena_dup(a, buf_slice(&patch)), a, out, e);
    buf_free(&patch);
    return ok;
}
