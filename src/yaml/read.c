#include "text.h"
#include "tree.h"

struct reader {
    yaml_parser_t parser;
    struct slice part; /* of the text: one document, nearly always */
    uint32_t line;     /* of the part's first one */
    struct arena *a;
    struct err *e; /* the error that ends the reading of the whole text */
    struct err why;
    uint32_t why_line;
    struct tree tree;
    struct buf docs, json, marks; /* of struct yaml_doc; and of this document, its JSON and struct yaml_mark */
    uint32_t started;             /* documents, also those without content */
    uint32_t begins;              /* the line of this one */
};

enum { JSON_MAX = 4 * LIMIT_YAML_INPUT }; /* quotes and escapes make no text longer than that */

static bool fail_parser(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        fatal("out of memory in libyaml");
    yaml_mark_t at = p->problem_mark;
    if (p->error == YAML_READER_ERROR) { /* has an offset only */
        at = (yaml_mark_t){0};
        for (size_t i = 0; i < p->problem_offset && i < r->part.len; i++) {
            at.column = r->part.ptr[i] == '\n' ? 0 : at.column + 1;
            at.line += r->part.ptr[i] == '\n';
        }
    }
    return tree_fail(&r->tree, r->line + (uint32_t)at.line, at.column + 1, ERR_SYNTAX, p->problem ? p->problem : "not YAML", SLICE_NONE);
}

static bool count_document(struct reader *r, uint32_t line)
{
    r->begins = line;
    return r->started++ < LIMIT_YAML_DOCUMENTS ||
           err_set(r->e, ERR_LIMIT, "line %u, column 1: more than %d documents (LIMIT_YAML_DOCUMENTS)", line, LIMIT_YAML_DOCUMENTS);
}

static void put_document(struct reader *r, struct yaml_doc doc)
{
    buf_put(&r->docs, (struct slice){(const char *)&doc, sizeof doc});
}

static void *keep(struct arena *a, const struct buf *b)
{
    void *copy = arena_alloc(a, b->len);
    return b->len ? memcpy(copy, b->ptr, b->len) : copy;
}

static bool end_document(struct reader *r)
{
    bool ok = tree_empty(&r->tree) || tree_write(&r->tree, &r->json, &r->marks);
    if (ok && !tree_empty(&r->tree))
        put_document(r, (struct yaml_doc){
                            .json = {keep(r->a, &r->json), r->json.len},
                            .marks = keep(r->a, &r->marks),
                            .mark_count = (uint32_t)(r->marks.len / sizeof(struct yaml_mark)),
                            .line = r->begins,
                        });
    tree_clear(&r->tree);
    return ok;
}

static bool take_event(struct reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
        return true;
    case YAML_DOCUMENT_START_EVENT:
        return count_document(r, r->line + (uint32_t)event->start_mark.line);
    case YAML_DOCUMENT_END_EVENT:
        return end_document(r);
    default:
        return tree_take(&r->tree, event);
    }
}

static bool read_events(struct reader *r)
{
    for (yaml_event_type_t type = YAML_NO_EVENT; type != YAML_STREAM_END_EVENT;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event))
            return fail_parser(r);
        type = event.type;
        bool ok = take_event(r, &event);
        yaml_event_delete(&event);
        if (!ok)
            return false;
    }
    return true;
}

/* A part that cannot be read is a document that cannot. */
static bool read_yaml(struct reader *r)
{
    if (!yaml_parser_initialize(&r->parser))
        fatal("out of memory in libyaml");
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->part.ptr, r->part.len);
    r->why = (struct err){0};
    uint32_t before = r->started;
    bool ok = read_events(r);
    tree_clear(&r->tree);
    yaml_parser_delete(&r->parser);
    if (ok || r->why.code == ERR_NONE)
        return ok;
    if (r->started == before && !count_document(r, r->why_line))
        return false;
    struct err *why = arena_new(r->a, struct err);
    *why = r->why;
    put_document(r, (struct yaml_doc){.line = r->why_line, .error = why});
    return true;
}

static bool read_parts(struct reader *r, struct slice text)
{
    bool ok = true;
    r->line = 1;
    while (ok && (r->part = text_next(&text)).ptr) {
        struct yaml_doc doc;
        if (!text_json(r->part, r->line, r->a, &doc)) /* or libyaml would refuse surrogate pairs and tabs */
            ok = read_yaml(r);
        else if ((ok = count_document(r, doc.line)))
            put_document(r, doc);
        for (size_t i = 0; i < r->part.len; i++)
            r->line += r->part.ptr[i] == '\n';
    }
    return ok;
}

static struct slice with_newline(struct slice text, struct arena *a)
{
    char *copy = arena_alloc(a, text.len + 1);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\n';
    return (struct slice){copy, text.len + 1};
}

static bool read_text(struct slice text, bool runtime_env, struct arena *a, struct yaml_docs *out, struct err *e)
{
    struct arena scratch = {0};
    struct reader r = {.a = a, .e = e};
    *out = (struct yaml_docs){0};
    if (text.len > LIMIT_YAML_INPUT)
        return err_set(e, ERR_LIMIT, "%zu bytes of YAML: more than %d (LIMIT_YAML_INPUT)", text.len, LIMIT_YAML_INPUT);
    if (!text_decode(&text, a, e))
        return false;
    if (!runtime_env && !slice_empty(text) && !slice_ends(text, SLICE("\n"))) /* so has kubectl's: a block scalar may end there */
        text = with_newline(text, a);
    r.tree = (struct tree){.runtime_env = runtime_env, .scratch = &scratch, .e = &r.why, .line = &r.why_line, .first_line = &r.line};
    buf_init(&r.docs, LIMIT_YAML_DOCUMENTS * sizeof(struct yaml_doc));
    buf_init(&r.json, JSON_MAX);
    buf_init(&r.marks, LIMIT_JSON_TOKENS * sizeof(struct yaml_mark));
    bool ok = read_parts(&r, text);
    if (ok)
        *out = (struct yaml_docs){keep(a, &r.docs), (uint32_t)(r.docs.len / sizeof(struct yaml_doc))};
    buf_free(&r.docs);
    buf_free(&r.json);
    buf_free(&r.marks);
    arena_free(&scratch);
    return ok;
}

static bool read_all(struct slice text, bool runtime_env, struct arena *a, struct yaml_docs *out, struct err *e)
{
    if (!read_text(text, runtime_env, a, out, e))
        return false;
    for (uint32_t i = 0; i < out->count; i++) {
        const struct yaml_doc *doc = &out->docs[i];
        if (doc->error) {
            *out = (struct yaml_docs){0};
            return err_set(e, doc->error->code, "line %u, %s", doc->line, doc->error->text);
        }
    }
    return true;
}

bool yaml_parse(struct slice text, struct arena *a, struct yaml_docs *out, struct err *e)
{
    return read_all(text, false, a, out, e);
}

bool yaml_parse_each(struct slice text, struct arena *a, struct yaml_docs *out, struct err *e)
{
    return read_text(text, false, a, out, e);
}

bool yaml_parse_runtime_env(struct slice text, struct arena *a, struct yaml_docs *out, struct err *e)
{
    return read_all(text, true, a, out, e);
}

uint32_t yaml_line(const struct yaml_doc *doc, size_t offset)
{
    uint32_t low = 0, high = doc->mark_count; /* marks before low are at or before the offset, those from high on behind it */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (doc->marks[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? doc->marks[low - 1].line : doc->line;
}
