/* The effect of instance types and patches on the objects of `mobula explain`: their files, and diffs of each step. */
#include "explain.h"

#include <mobula/command.h>
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

/* ---- diffs ---- */

enum { CONTEXT = 3 }; /* lines around what is changed */

struct lines {
    struct slice *list;
    size_t count;
};

static struct lines split(struct slice text, struct arena *a)
{
    struct lines l = {0};
    for (size_t i = 0; i < text.len; i++)
        l.count += text.ptr[i] == '\n';
    l.list = arena_array(a, l.count + 1, sizeof *l.list);
    for (size_t i = 0; i < l.count; i++)
        l.list[i] = slice_cut(&text, '\n');
    return l;
}

static void put_lines(const struct lines *l, size_t from, size_t to, char mark, struct buf *out)
{
    for (size_t i = from; i < to; i++)
        buf_printf(out, "%c%.*s\n", mark, SLICE_ARG(l->list[i]));
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A change: lines [from, to) of the old text ([0]) are replaced by lines [from, to) of the new one ([1]). */
struct change {
    size_t from[2], to[2];
};

static bool alike(const struct lines *before, const struct lines *after, size_t i, size_t j)
{
    return i < before->count && j < after->count && slice_eq(before->list[i], after->list[j]);
}

/* Finds the next change from c->to on. It ends before two consecutive lines that are equal, or at the end of both texts. */
static bool next_change(const struct lines *before, const struct lines *after, struct change *c)
{
    size_t i = c->to[0], j = c->to[1];
    while (alike(before, after, i, j))
        i++, j++;
    c->from[0] = i;
    c->from[1] = j;
    size_t most = before->count - i + after->count - j;
    for (size_t n = 1; n < most; n++)
        for (size_t x = n > after->count - j ? n - (after->count - j) : 0; x <= least(n, before->count - i); x++) {
            size_t at = i + x, in = j + n - x;
            bool last = at + 1 == before->count && in + 1 == after->count;
            if (alike(before, after, at, in) && (last || alike(before, after, at + 1, in + 1))) {
                c->to[0] = at;
                c->to[1] = in;
                return true;
            }
        }
    c->to[0] = before->count;
    c->to[1] = after->count;
    return most > 0;
}

/* Writes the hunks. Changes with at most 2 * CONTEXT equal lines between them share one. */
static void put_hunks(const struct lines *before, const struct lines *after, struct arena *a, struct buf *out)
{
    struct change *list = arena_array(a, before->count + after->count + 1, sizeof *list), next = {.to = {0, 0}};
    size_t count = 0, end;
    while (next_change(before, after, &next))
        list[count++] = next;
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && list[end].from[0] - list[end - 1].to[0] <= 2 * CONTEXT;)
            end++;
        size_t lead = least(list[i].from[0], CONTEXT), tail = least(before->count - list[end - 1].to[0], CONTEXT);
        size_t from = list[i].from[0] - lead, new_from = list[i].from[1] - lead;
        buf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from + 1, list[end - 1].to[0] + tail - from, new_from + 1,
                   list[end - 1].to[1] + tail - new_from);
        for (size_t n = i; n < end; n++) {
            put_lines(before, from, list[n].from[0], ' ', out);
            put_lines(before, list[n].from[0], list[n].to[0], '-', out);
            put_lines(after, list[n].from[1], list[n].to[1], '+', out);
            from = list[n].to[0];
        }
        put_lines(before, from, from + tail, ' ', out);
    }
}

bool explain_diff(struct slice before, struct slice after, struct slice title_before, struct slice title_after, struct buf *out,
                  struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf one, two;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    buf_init(&one, 4 * LIMIT_JSON_ITEM);
    buf_init(&two, 4 * LIMIT_JSON_ITEM);
    if (!yaml_write(before, &one, e) || !yaml_write(after, &two, e))
        return false;
    struct lines old = split(buf_slice(&one), &a), new = split(buf_slice(&two), &a);
    buf_printf(out, "--- %.*s\n+++ %.*s\n", SLICE_ARG(title_before), SLICE_ARG(title_after));
    put_hunks(&old, &new, &a, out);
    return true;
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
    return explain_diff(s->before, s->after, w->object, title, w->out, w->e);
}

static bool show_type(struct shown *w, struct slice untyped, struct slice typed, struct slice type)
{
    if (slice_empty(type))
        return true;
    w->steps++;
    return explain_diff(untyped, typed, w->object, arena_printf(w->arena, "instance type %.*s", SLICE_ARG(type)), w->out, w->e);
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
