/* The effect of instance types and patches on the objects of `mobula explain`: their files, and diffs of each step. */
#include <mobula/explain.h>
#include <mobula/yaml.h>

/* ---- files ---- */

/* The text out of a ConfigMap's manifest, with the lines above it; of another file all of it. */
static struct slice text_of(struct slice file, const char *key, struct arena *a, uint32_t *above)
{
    struct yaml_docs docs;
    struct json json;
    *above = 0;
    if (!yaml_parse(file, a, &docs, NULL) || docs.count != 1 || !json_parse(&json, docs.docs[0].json, a, NULL) ||
        !json_str_eq(json_key(json_root(&json), SLICE("kind")), SLICE("ConfigMap")))
        return file;
    struct jval inner = json_key(json_key(json_root(&json), SLICE("data")), slice_of(key));
    if (json_type(inner) != JSON_STRING)
        return SLICE("");
    *above = yaml_line(&docs.docs[0], json_offset(inner));
    return json_str(inner, a);
}

static void put_errors(const char *file, uint32_t above, const struct spec_errors *errors, struct buf *notes)
{
    for (uint32_t i = 0; i < errors->count; i++) {
        const struct spec_error *one = &errors->list[i];
        size_t from = notes->len;
        buf_printf(notes, "%s:%u: %.*s%s%.*s", file, above + one->line, SLICE_ARG(one->path), one->path.len ? ": " : "",
                   SLICE_ARG(one->text));
        findings_end_line(notes, from);
    }
}

bool explain_types(const char *file, struct slice text, struct arena *a, struct shape_types *out, struct buf *notes)
{
    struct spec_errors *errors = arena_new(a, struct spec_errors);
    uint32_t above;
    bool well = shape_types_read(text_of(text, "instance_types.yaml", a, &above), a, out, errors);
    put_errors(file, above, errors, notes);
    return well;
}

bool explain_patches(const char *file, struct slice text, struct arena *a, struct shape_patches *out, struct buf *notes)
{
    struct spec_errors *errors = arena_new(a, struct spec_errors);
    uint32_t above;
    bool well = shape_patches_read(text_of(text, "patches.yaml", a, &above), a, out, errors);
    put_errors(file, above, errors, notes);
    return well;
}

/* ---- patches ---- */

struct shown {
    struct arena *arena;
    struct slice object; /* "Pod a-head" */
    struct buf *out;
    struct err *e;
    uint32_t steps;
};

static bool show_step(void *who, const struct shape_step *s)
{
    struct shown *w = who;
    struct slice set = s->set->name;
    w->steps++;
    struct slice title = arena_printf(w->arena, "%.*s%spatch %u (line %u), operation %u: %s %.*s", SLICE_ARG(set), set.len ? ": " : "",
                                      s->number, s->patch->line, s->op_number, json_op_name(s->op), SLICE_ARG(s->op->path));
    return diff_yaml(s->before, s->after, w->object, title, w->out, w->e);
}

static bool show_type(struct shown *w, struct slice untyped, struct slice typed, struct slice type)
{
    if (slice_empty(type))
        return true;
    w->steps++;
    return diff_yaml(untyped, typed, w->object, arena_printf(w->arena, "instance type %.*s", SLICE_ARG(type)), w->out, w->e);
}

bool explain_patched(const struct explain_how *how, struct slice untyped, struct slice object, struct arena *a, struct slice *made,
                     struct buf *out, struct err *e)
{
    struct json doc;
    struct shown w = {.arena = a, .out = out, .e = e};
    struct shape_listener listener = {show_step, &w};
    *made = object;
    if (!how->patches && !how->steps)
        return true;
    if (!json_parse(&doc, object, a, e))
        return false;
    w.object = arena_printf(a, "%.*s %.*s", SLICE_ARG(json_get_str(json_root(&doc), "kind", a)),
                            SLICE_ARG(json_get_str(json_root(&doc), "metadata.name", a)));
    if (untyped.ptr && !show_type(&w, untyped, object, shape_type_named(json_root(&doc), a)))
        return false;
    if (how->patches && !shape_patches_apply(how->patches, object, how->steps ? &listener : NULL, a, made, e))
        return err_wrap(e, "%.*s", SLICE_ARG(w.object));
    if (how->steps && w.steps == 0)
        buf_printf(out, "%.*s: nothing changes it\n", SLICE_ARG(w.object));
    return true;
}
