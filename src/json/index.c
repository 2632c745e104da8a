#include "token.h"

/* Strict, or numbers are split; with parent links, or wide objects cost the square of their size. Only this file sees jsmn. */
#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

/* jsmn takes much for JSON that is not: missing, wrong and doubled separators, values without keys, any word for a literal. All of it
 * shows between the tokens or in the scalars, so one walk over tokens and gaps decides what json_scan left open. */

struct walk {
    struct json doc;
    struct json_token *tokens; /* those of doc */
    uint32_t pos;              /* everything before it has been accounted for */
    unsigned depth;
    uint32_t open[LIMIT_JSON_DEPTH]; /* tokens of the containers that pos is in */
    bool value_due;                  /* the innermost is an object, and a key of it was the last token */
    struct arena *a;
    struct err *e;
};

static bool bad(struct walk *w, uint32_t at, const char *what)
{
    return err_set(w->e, ERR_SYNTAX, "byte %u: %s", at, what);
}

/* Between pos and `to` must be white space, and one sep unless that is 0. */
static bool gap(struct walk *w, uint32_t to, char sep)
{
    for (; w->pos < to; w->pos++) {
        char c = w->doc.text.ptr[w->pos];
        if (c == sep)
            sep = 0;
        else if (!json_is_space(c))
            return bad(w, w->pos, c == ',' ? "a comma too many" : c == ':' ? "a colon that follows no key" : "a separator is missing");
    }
    return !sep || bad(w, to, sep == ',' ? "a comma is missing" : "a colon is missing");
}

static struct json_token *innermost(struct walk *w)
{
    return w->depth ? &w->tokens[w->open[w->depth - 1]] : NULL;
}

/* The innermost container ends before token `next`. */
static bool close_innermost(struct walk *w, uint32_t next)
{
    struct json_token *t = innermost(w);
    if (w->value_due)
        return bad(w, t->end - 1, "a key without a value");
    if (!gap(w, t->end - 1, 0))
        return false;
    w->pos = t->end;
    t->next = next;
    w->depth--;
    return t->type != JSON_OBJECT || json_members_unique((struct jval){&w->doc, (int32_t)(t - w->tokens)}, w->a, w->e);
}

/* The separator that the place of a token asks for, and what becomes of its container. */
static bool enter_place(struct walk *w, uint32_t start, enum json_type type)
{
    struct json_token *in = innermost(w);
    if (!in)
        return w->pos == 0 ? gap(w, start, 0) : bad(w, start, "a second value");
    if (w->value_due) {
        w->value_due = false;
        return gap(w, start, ':');
    }
    if (!gap(w, start, in->size ? ',' : 0))
        return false;
    in->size++;
    w->value_due = in->type == JSON_OBJECT;
    return type == JSON_STRING || in->type == JSON_ARRAY || bad(w, start, "a key that is not a string");
}

static enum json_type scalar_type(struct slice s)
{
    if (slice_eq(s, SLICE("null")))
        return JSON_NULL;
    if (slice_eq(s, SLICE("true")) || slice_eq(s, SLICE("false")))
        return JSON_BOOL;
    return json_number_valid(s) ? JSON_NUMBER : JSON_NONE;
}

static enum json_type token_type(const struct walk *w, jsmntok_t t)
{
    switch (t.type) {
    case JSMN_OBJECT:
        return JSON_OBJECT;
    case JSMN_ARRAY:
        return JSON_ARRAY;
    case JSMN_STRING:
        return JSON_STRING;
    default:
        return scalar_type((struct slice){w->doc.text.ptr + t.start, (size_t)(t.end - t.start)});
    }
}

/* Both token arrays are the same memory: the slot is read as jsmn's for the last time before it is written as ours. */
static bool take_token(struct walk *w, const jsmntok_t *theirs, uint32_t i)
{
    jsmntok_t from = theirs[i];
    bool string = from.type == JSMN_STRING;
    struct json_token t = {
        .start = (uint32_t)from.start,
        .end = (uint32_t)from.end,
        .next = i + 1,
        .type = (uint8_t)token_type(w, from),
    };
    const char *text = w->doc.text.ptr;
    t.escaped = string && json_plain_end(text + t.start, text + t.end) < text + t.end; /* json_scan has left nothing but backslashes */
    if (t.type == JSON_NONE)
        return bad(w, t.start, "neither a number nor true, false or null");
    while (w->depth && innermost(w)->end <= t.start)
        if (!close_innermost(w, i))
            return false;
    if (!enter_place(w, t.start - string, (enum json_type)t.type))
        return false;
    w->tokens[i] = t;
    w->pos = t.end + string;
    if (t.type == JSON_OBJECT || t.type == JSON_ARRAY) {
        w->pos = t.start + 1;
        w->open[w->depth++] = i;
    }
    return true;
}

_Static_assert(sizeof(jsmntok_t) == sizeof(struct json_token), "tokens are converted in place");

/* jsmn wants a separator behind a number, and so has no numbers and literals on their own. */
static bool parse_scalar(struct walk *w, struct slice trimmed)
{
    uint32_t start = (uint32_t)(trimmed.ptr - w->doc.text.ptr);
    enum json_type type = scalar_type(trimmed);
    if (type == JSON_NONE)
        return bad(w, start, "neither a number nor true, false or null");
    w->tokens[0] = (struct json_token){.start = start, .end = start + (uint32_t)trimmed.len, .next = 1, .type = (uint8_t)type};
    return true;
}

static struct slice trim(struct slice s)
{
    while (s.len && json_is_space(s.ptr[s.len - 1]))
        s.len--;
    while (s.len && json_is_space(s.ptr[0]))
        s = slice_skip(s, 1);
    return s;
}

static bool parse_tokens(struct walk *w, jsmntok_t *theirs)
{
    jsmn_parser parser;
    jsmn_init(&parser);
    int count = jsmn_parse(&parser, w->doc.text.ptr, w->doc.text.len, theirs, w->doc.count);
    if (count == JSMN_ERROR_PART)
        return bad(w, (uint32_t)w->doc.text.len, "the text ends before its value does");
    if (count < 0 || (uint32_t)count != w->doc.count)
        return bad(w, parser.pos, "not JSON");
    for (uint32_t i = 0; i < w->doc.count; i++)
        if (!take_token(w, theirs, i))
            return false;
    while (w->depth)
        if (!close_innermost(w, w->doc.count))
            return false;
    return gap(w, (uint32_t)w->doc.text.len, 0);
}

bool json_parse(struct json *doc, struct slice text, struct arena *a, struct err *e)
{
    *doc = (struct json){0};
    if (text.len > INT32_MAX)
        return err_set(e, ERR_LIMIT, "a document of %zu bytes: more than %d (INT32_MAX)", text.len, INT32_MAX);
    struct walk w = {.doc = {.text = text}, .a = a, .e = e};
    if (!slice_empty(text) && !json_scan(text, &w.doc.count, e))
        return false;
    if (w.doc.count == 0)
        return bad(&w, 0, "no value");
    jsmntok_t *theirs = arena_array(a, w.doc.count, sizeof *theirs);
    w.tokens = (struct json_token *)(void *)theirs;
    w.doc.tokens = w.tokens;
    struct slice trimmed = trim(text);
    bool scalar = !strchr("{[\"", trimmed.ptr[0]);
    if (!(scalar ? parse_scalar(&w, trimmed) : parse_tokens(&w, theirs)))
        return false;
    *doc = w.doc;
    return true;
}

struct jval json_document(struct slice text, struct arena *a, struct err *e)
{
    struct json *doc = arena_new(a, struct json);
    return json_parse(doc, text, a, e) ? json_root(doc) : JVAL_NONE;
}
