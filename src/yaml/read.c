#include "scalar.h"

#include <mobula/json.h>

#include <yaml.h>

struct level {
    bool mapping, key_due;
    uint32_t key_line; /* of the key whose value is due */
    struct map keys;   /* those seen, to refuse the second of a name */
};

struct reader {
    yaml_parser_t parser;
    struct slice text;
    struct arena *a;
    struct err *e;
    struct buf docs;  /* of struct yaml_doc */
    struct buf json;  /* of this document */
    struct buf marks; /* of struct yaml_mark, of this document */
    struct jout out;
    uint32_t started; /* documents, also those without content */
    uint32_t line;    /* where this document begins */
    bool nothing;     /* this one has no content */
    unsigned depth;
    struct level levels[LIMIT_YAML_DEPTH];
};

_Static_assert((int)LIMIT_YAML_DEPTH <= (int)LIMIT_JSON_DEPTH, "what is read can be written");

enum { JSON_MAX = 4 * LIMIT_YAML_INPUT }; /* quotes and escapes make no text longer than that */

static bool fail(struct reader *r, yaml_mark_t at, enum err_code code, const char *what, struct slice text)
{
    return err_set(r->e, code, "line %zu, column %zu: %s%s%.*s%s", at.line + 1, at.column + 1, what, text.ptr ? " \"" : "",
                   (int)(text.len < 80 ? text.len : 80), text.ptr ? text.ptr : "", text.ptr ? "\"" : "");
}

static bool fail_parser(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        fatal("out of memory in libyaml");
    yaml_mark_t at = p->problem_mark;
    if (p->error == YAML_READER_ERROR) { /* has an offset only */
        at = (yaml_mark_t){0};
        for (size_t i = 0; i < p->problem_offset && i < r->text.len; i++) {
            at.column = r->text.ptr[i] == '\n' ? 0 : at.column + 1;
            at.line += r->text.ptr[i] == '\n';
        }
    }
    return fail(r, at, ERR_SYNTAX, p->problem ? p->problem : "not YAML", SLICE_NONE);
}

static struct level *innermost(struct reader *r)
{
    return r->depth ? &r->levels[r->depth - 1] : NULL;
}

/* Remembers where the value stood that is written next. What is behind a key is looked for where the key is. */
static bool mark_value(struct reader *r, yaml_mark_t at)
{
    struct level *in = innermost(r);
    struct yaml_mark mark = {(uint32_t)r->json.len, (uint32_t)at.line + 1};
    if (in && in->mapping) {
        mark.line = in->key_line;
        in->key_due = true;
    } else if (in && r->json.len && r->json.ptr[r->json.len - 1] != '[') {
        mark.offset++; /* the comma that comes first */
    }
    return buf_put(&r->marks, (struct slice){(const char *)&mark, sizeof mark}) ||
           fail(r, at, ERR_LIMIT, "more values than a document may have (LIMIT_JSON_TOKENS)", SLICE_NONE);
}

static bool refuse_extras(struct reader *r, const yaml_event_t *event, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor)
        return fail(r, event->start_mark, ERR_SYNTAX, "anchors and aliases are refused: write the value out", SLICE_NONE);
    return !tag || fail(r, event->start_mark, ERR_SYNTAX, "tags are refused: quote what is a string", SLICE_NONE);
}

static bool refuse_guess(struct reader *r, yaml_mark_t at, enum plain kind, struct slice text)
{
    if (kind == PLAIN_BOOL_GUESS)
        return fail(r, at, ERR_SYNTAX, "write true, false or null, or put quotes around", text);
    return fail(r, at, ERR_SYNTAX, "write a decimal number as JSON has it, or put quotes around", text);
}

static bool take_key(struct reader *r, const yaml_event_t *event, struct slice text)
{
    struct level *in = innermost(r);
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    enum plain kind = plain ? plain_kind(text) : PLAIN_STRING;
    if (plain && slice_eq(text, SLICE("<<")))
        return fail(r, event->start_mark, ERR_SYNTAX, "merge keys are refused: write the members out", SLICE_NONE);
    if (kind == PLAIN_BOOL_GUESS || kind == PLAIN_NUMBER_GUESS || kind == PLAIN_FILE_MODE)
        return refuse_guess(r, event->start_mark, kind, text);
    if (kind != PLAIN_STRING)
        return fail(r, event->start_mark, ERR_SYNTAX, "a key that is not a string: put quotes around", text);
    struct slice kept = arena_dup(r->a, text);
    if (map_get(&in->keys, kept))
        return fail(r, event->start_mark, ERR_SYNTAX, "this key stands twice:", kept);
    map_put(&in->keys, kept, in);
    in->key_due = false;
    in->key_line = (uint32_t)event->start_mark.line + 1;
    jout_key(&r->out, kept);
    return true;
}

static bool take_plain(struct reader *r, const yaml_event_t *event, struct slice text)
{
    enum plain kind = plain_kind(text);
    switch (kind) {
    case PLAIN_NULL:
        jout_null(&r->out);
        return true;
    case PLAIN_TRUE:
    case PLAIN_FALSE:
        jout_bool(&r->out, kind == PLAIN_TRUE);
        return true;
    case PLAIN_NUMBER:
        jout_raw(&r->out, text);
        return true;
    case PLAIN_FILE_MODE:
        jout_int(&r->out, (text.ptr[1] - '0') * 64 + (text.ptr[2] - '0') * 8 + (text.ptr[3] - '0'));
        return true;
    case PLAIN_STRING:
        jout_str(&r->out, text);
        return true;
    default:
        return refuse_guess(r, event->start_mark, kind, text);
    }
}

static bool take_scalar(struct reader *r, const yaml_event_t *event)
{
    struct slice text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    struct level *in = innermost(r);
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (!refuse_extras(r, event, event->data.scalar.anchor, event->data.scalar.tag))
        return false;
    if (in && in->mapping && in->key_due)
        return take_key(r, event, text);
    r->nothing = !in && plain && slice_empty(text);
    if (!mark_value(r, event->start_mark))
        return false;
    if (plain)
        return take_plain(r, event, text);
    jout_str(&r->out, text);
    return true;
}

static bool open_level(struct reader *r, const yaml_event_t *event, bool mapping)
{
    struct level *in = innermost(r);
    if (in && in->mapping && in->key_due)
        return fail(r, event->start_mark, ERR_SYNTAX, "a key that is not a string", SLICE_NONE);
    if (r->depth == LIMIT_YAML_DEPTH)
        return fail(r, event->start_mark, ERR_LIMIT, "nested too deep (LIMIT_YAML_DEPTH)", SLICE_NONE);
    if (!mark_value(r, event->start_mark))
        return false;
    if (mapping)
        jout_object(&r->out);
    else
        jout_array(&r->out);
    r->levels[r->depth++] = (struct level){.mapping = mapping, .key_due = mapping};
    return true;
}

static void close_level(struct reader *r)
{
    map_free(&innermost(r)->keys);
    r->depth--;
    jout_end(&r->out);
}

static bool begin_document(struct reader *r, const yaml_event_t *event)
{
    if (r->started++ == LIMIT_YAML_DOCUMENTS)
        return fail(r, event->start_mark, ERR_LIMIT, "too many documents (LIMIT_YAML_DOCUMENTS)", SLICE_NONE);
    r->line = (uint32_t)event->start_mark.line + 1;
    r->nothing = false;
    buf_clear(&r->json);
    buf_clear(&r->marks);
    jout_init(&r->out, &r->json);
    return true;
}

static void *keep(struct arena *a, const struct buf *b)
{
    void *copy = arena_alloc(a, b->len);
    return b->len ? memcpy(copy, b->ptr, b->len) : copy;
}

static bool end_document(struct reader *r, const yaml_event_t *event)
{
    if (r->nothing)
        return true;
    if (r->json.full)
        return fail(r, event->start_mark, ERR_LIMIT, "the document is too large (LIMIT_YAML_INPUT)", SLICE_NONE);
    struct yaml_doc doc = {
        .json = {keep(r->a, &r->json), r->json.len},
        .marks = keep(r->a, &r->marks),
        .mark_count = (uint32_t)(r->marks.len / sizeof(struct yaml_mark)),
        .line = r->line,
    };
    return buf_put(&r->docs, (struct slice){(const char *)&doc, sizeof doc});
}

static bool take_event(struct reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return begin_document(r, event);
    case YAML_DOCUMENT_END_EVENT:
        return end_document(r, event);
    case YAML_SCALAR_EVENT:
        return take_scalar(r, event);
    case YAML_SEQUENCE_START_EVENT:
        return refuse_extras(r, event, event->data.sequence_start.anchor, event->data.sequence_start.tag) && open_level(r, event, false);
    case YAML_MAPPING_START_EVENT:
        return refuse_extras(r, event, event->data.mapping_start.anchor, event->data.mapping_start.tag) && open_level(r, event, true);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_level(r);
        return true;
    case YAML_ALIAS_EVENT:
        return refuse_extras(r, event, event->data.alias.anchor, NULL);
    default:
        return true;
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

static bool read_yaml(struct reader *r, struct yaml_docs *out)
{
    if (!yaml_parser_initialize(&r->parser))
        fatal("out of memory in libyaml");
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)r->text.ptr, r->text.len);
    buf_init(&r->docs, LIMIT_YAML_DOCUMENTS * sizeof(struct yaml_doc));
    buf_init(&r->json, JSON_MAX);
    buf_init(&r->marks, LIMIT_JSON_TOKENS * sizeof(struct yaml_mark));
    bool ok = read_events(r);
    if (ok)
        *out = (struct yaml_docs){keep(r->a, &r->docs), (uint32_t)(r->docs.len / sizeof(struct yaml_doc))};
    while (r->depth)
        map_free(&r->levels[--r->depth].keys);
    buf_free(&r->docs);
    buf_free(&r->json);
    buf_free(&r->marks);
    yaml_parser_delete(&r->parser);
    return ok;
}

bool yaml_parse(struct slice text, struct arena *a, struct yaml_docs *out, struct err *e)
{
    *out = (struct yaml_docs){0};
    if (text.len > LIMIT_YAML_INPUT)
        return err_set(e, ERR_LIMIT, "%zu bytes of YAML: more than %d (LIMIT_YAML_INPUT)", text.len, LIMIT_YAML_INPUT);
    if (yaml_from_json(text, a, out)) /* or libyaml would refuse surrogate pairs and tabs */
        return true;
    struct reader r = {.text = text.ptr ? text : SLICE(""), .a = a, .e = e};
    return read_yaml(&r, out);
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
