#include <mobula/explain.h>
#include <mobula/kinds.h>
#include <mobula/preview.h>
#include <mobula/schema.h>

/* ---- one document ---- */

/* State that is the same for all objects of a document, those that are made of its own among them. */
struct shown {
    const struct explain_how *how;
    const char *file;
    const struct yaml_doc *doc;
    struct arena *arena;
    struct buf *out, *notes;
};

static bool write_object(const struct explain_how *how, struct slice object, struct buf *out, struct err *e)
{
    if (how->steps)
        return !out->full; /* they have been shown */
    if (!how->json)
        return buf_put(out, SLICE("---\n")) && yaml_write(object, out, e);
    char last = out->len ? out->ptr[out->len - 1] : '[';
    return (last == '[' || buf_put(out, SLICE(",\n"))) && buf_put(out, object);
}

static bool show_made(struct preview *p, struct slice object);

/* object: of the document, or made of one of it (`made`), and then it has no place in the file. */
static bool show_kind(const struct shown *s, const struct kind *kind, struct jval object, bool made, struct slice prefix)
{
    struct arena *a = s->arena;
    struct preview p = {.ray = s->how->ray,
                        .types = s->how->types,
                        .steps = s->how->steps,
                        .submitter_pods = s->how->submitter_pods,
                        .now_us = s->how->now_us,
                        .put = show_made,
                        .to = s,
                        .arena = a,
                        .errors = arena_new(a, struct spec_errors)};
    p.errors->count = p.errors->beyond = 0;
    bool well = kind->preview(object, &p);
    for (uint32_t i = 0; made && i < p.errors->count; i++)
        p.errors->list[i].offset = 0;
    if (p.errors->count) {
        struct findings *f = arena_new(a, struct findings);
        *f = (struct findings){.arena = a, .prefix = prefix};
        findings_add_spec(f, false, p.errors);
        findings_write(f, s->file, s->doc, s->notes);
        return false;
    }
    if (!well && p.err.code != ERR_NONE)
        findings_error(s->file, s->doc->line, &p.err, s->notes);
    if (well && !slice_empty(p.note))
        buf_printf(s->notes, "%s:%u: %.*s\n", s->file, s->doc->line, SLICE_ARG(p.note));
    return well;
}

/* Its findings have been reported; an error of the caller's own would be said once more. */
static bool show_made(struct preview *p, struct slice object)
{
    const struct shown *s = p->to;
    struct json *doc = arena_new(s->arena, struct json);
    struct manifest_fault fault;
    const struct kind *kind;
    object = arena_dup(s->arena, object);
    if (!explain_patched(s->how, p->untyped, object, s->arena, &object, s->out, &p->err) ||
        !write_object(s->how, object, s->out, &p->err)) {
        if (p->err.code == ERR_NONE)
            err_set(&p->err, ERR_LIMIT, "more than %d bytes of objects (EXPLAIN_OUTPUT_MAX)", EXPLAIN_OUTPUT_MAX);
        return false;
    }
    if (!json_parse(doc, object, s->arena, &p->err))
        return false;
    if (manifest_what(json_root(doc), s->arena, &kind, &fault) != MANIFEST_KIND || !kind->preview)
        return true;
    struct slice name = json_get_str(json_root(doc), "metadata.name", s->arena);
    return show_kind(s, kind, json_root(doc), true, arena_printf(s->arena, "%s %.*s: ", kind->name, SLICE_ARG(name)));
}

static bool show_object(const struct shown *s, struct jval object, struct slice prefix)
{
    const struct kind *kind;
    struct manifest_fault fault;
    struct arena *a = s->arena;
    bool well = true;
    switch (manifest_what(object, a, &kind, &fault)) {
    case MANIFEST_LIST: {
        struct jval key, item;
        size_t i = 0;
        for (struct jiter it = json_iter(json_key(object, SLICE("items"))); json_next(&it, &key, &item); i++)
            well &= show_object(s, item, arena_printf(a, "%.*sitems[%zu].", SLICE_ARG(prefix), i));
        return well;
    }
    case MANIFEST_KIND:
        if (kind->preview)
            return show_kind(s, kind, object, false, prefix);
        break;
    case MANIFEST_WRONG: {
        struct findings *f = arena_new(a, struct findings);
        *f = (struct findings){.arena = a, .prefix = prefix};
        findings_add(f, false, fault.path, json_offset(fault.at), fault.text);
        findings_write(f, s->file, s->doc, s->notes);
        return false;
    }
    case MANIFEST_OTHER:
        break;
    }
    manifest_skip(s->file, yaml_line(s->doc, json_offset(object)), object, "is nothing of which the operator makes objects", a, s->notes);
    return true;
}

bool explain_text(const char *file, struct slice text, const struct explain_how *how, struct arena *a, struct buf *out, struct buf *notes)
{
    struct yaml_docs docs;
    struct err e = {0};
    if (!yaml_parse_each(text, a, &docs, &e)) {
        findings_error(file, 0, &e, notes);
        return false;
    }
    bool well = true;
    for (uint32_t i = 0; i < docs.count; i++) {
        const struct yaml_doc *doc = &docs.docs[i];
        struct json json;
        struct err why = {0};
        if (!doc->error && json_parse(&json, doc->json, a, &why)) {
            well &= show_object(&(struct shown){how, file, doc, a, out, notes}, json_root(&json), SLICE(""));
        } else {
            findings_error(file, doc->line, doc->error ? doc->error : &why, notes);
            well = false;
        }
    }
    return well;
}

void explain_begin(const struct explain_how *how, struct buf *out)
{
    if (how->json)
        buf_put(out, SLICE("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["));
}

void explain_end(const struct explain_how *how, struct buf *out)
{
    if (how->json)
        buf_put(out, SLICE("]}\n"));
}
