#include "token.h"

/* A byte machine. Around the items it looks at every byte; inside an item, or a value of the envelope, it only counts brackets and steps
 * over strings until the value ends. What it does not check (separators, scalars, escapes) json_parse checks in each item and in the
 * envelope, where json_slicer leaves every byte that is not an item. */
enum state {
    AT_START,     /* LIST: before the document */
    AT_FIRST_KEY, /* behind its brace */
    AT_KEY,       /* behind a comma */
    IN_KEY,
    AT_COLON,
    AT_VALUE,
    IN_VALUE, /* in a string, array or object beside the items */
    IN_SCALAR,
    BEHIND_VALUE,
    AT_FIRST_ITEM, /* behind the bracket of the items */
    AT_ITEM,       /* behind a comma; LINES: between items */
    IN_ITEM,
    BEHIND_ITEM,
    AT_END, /* LIST: behind the document */
    BROKEN,
};

enum { KEPT = 256 * KIB }; /* memory of the item that outlives a reset */

void json_slicer_init(struct json_slicer *s, enum json_stream stream, size_t max_item)
{
    *s = (struct json_slicer){.stream = stream, .max_item = max_item};
    buf_init(&s->item, max_item);
    buf_init(&s->envelope, LIMIT_JSON_ENVELOPE);
    json_slicer_reset(s);
}

void json_slicer_free(struct json_slicer *s)
{
    buf_free(&s->item);
    buf_free(&s->envelope);
}

void json_slicer_reset(struct json_slicer *s)
{
    buf_shrink(&s->item, KEPT);
    buf_clear(&s->envelope);
    s->state = s->stream == JSON_STREAM_LIST ? AT_START : AT_ITEM;
    s->depth = 0;
    s->in_string = s->escaped = s->over = s->items_seen = false;
    s->skipped = 0;
}

static enum json_step bad(struct json_slicer *s, struct err *e, const char *what)
{
    s->state = BROKEN;
    err_set(e, ERR_SYNTAX, "%s: %s", s->stream == JSON_STREAM_LIST ? "list" : "stream of objects", what);
    return JSON_BAD;
}

/* p is in a string; behind its closing quote afterwards, or at the end. */
static const char *skip_string(struct json_slicer *s, const char *p, const char *end)
{
    for (; p < end; p++) {
        if (s->escaped) {
            s->escaped = false;
            continue;
        }
        p = json_plain_end(p, end);
        if (p == end)
            break;
        s->escaped = *p == '\\';
        if (*p == '"') {
            s->in_string = false;
            return p + 1;
        }
    }
    return p;
}

static bool is_bracket(char c)
{
    return c == '{' || c == '}' || c == '[' || c == ']';
}

static bool value_ended(const struct json_slicer *s)
{
    return s->depth == 0 && !s->in_string;
}

/* One bracket more or less. A value that is too deep is passed over: below the limit its brackets are no longer told apart. */
static bool count_bracket(struct json_slicer *s, char c)
{
    bool object = c == '{' || c == '}';
    if (c == '{' || c == '[') {
        if (s->depth == LIMIT_JSON_DEPTH) {
            s->over = true;
            s->beyond++;
            return true;
        }
        s->open = object ? s->open | (uint64_t)1 << s->depth : s->open & ~((uint64_t)1 << s->depth);
        s->depth++;
        return true;
    }
    if (s->beyond > 0) {
        s->beyond--;
        return true;
    }
    s->depth--;
    return (s->open >> s->depth & 1) == object;
}

/* Steps through a value that began with a quote or a bracket. Returns where it ends, end when it goes on behind that, or NULL when its
 * brackets do not match; the value is over when nothing is open any more. */
static const char *skip_value(struct json_slicer *s, const char *p, const char *end)
{
    while (p < end) {
        if (s->in_string) {
            p = skip_string(s, p, end);
        } else {
            char c = *p++;
            s->in_string = c == '"';
            if (is_bracket(c) && !count_bracket(s, c))
                return NULL;
        }
        if (value_ended(s))
            break;
    }
    return p;
}

static enum json_step too_much(struct json_slicer *s, struct err *e, const char *what, const char *name, int limit)
{
    s->state = BROKEN;
    err_set(e, ERR_LIMIT, "list: %s (%s is %d)", what, name, limit);
    return JSON_BAD;
}

/* Moves n bytes of the input into the envelope. */
static enum json_step keep(struct json_slicer *s, struct slice *in, size_t n, struct err *e)
{
    bool fits = buf_put(&s->envelope, slice_head(*in, n));
    *in = slice_skip(*in, n);
    return fits ? JSON_MORE : too_much(s, e, "too large beside its items", "LIMIT_JSON_ENVELOPE", LIMIT_JSON_ENVELOPE);
}

static void begin(struct json_slicer *s, enum state state)
{
    s->state = state;
    s->over = false;
    s->beyond = 0;
    buf_clear(&s->item);
}

/* An item that lies whole in the input is handed out where it lies; else its pieces are gathered. */
static enum json_step step_item(struct json_slicer *s, struct slice *in, struct slice *item, struct err *e)
{
    const char *end = skip_value(s, in->ptr, in->ptr + in->len);
    if (!end)
        return bad(s, e, "brackets do not match");
    struct slice piece = slice_head(*in, (size_t)(end - in->ptr));
    *in = slice_skip(*in, piece.len);
    bool whole = value_ended(s) && s->item.len == 0;
    if (whole ? piece.len > s->max_item : !s->over && !buf_put(&s->item, piece))
        s->over = true;
    if (s->over)
        buf_clear(&s->item);
    if (!value_ended(s))
        return JSON_MORE;
    s->state = s->stream == JSON_STREAM_LIST ? BEHIND_ITEM : AT_ITEM;
    if (s->over) {
        s->skipped++;
        return JSON_OVER;
    }
    *item = whole ? piece : buf_slice(&s->item);
    return JSON_ITEM;
}

/* A string, array or object beside the items stays in the envelope as it is. */
static enum json_step step_value(struct json_slicer *s, struct slice *in, struct err *e)
{
    const char *end = skip_value(s, in->ptr, in->ptr + in->len);
    if (s->over)
        return too_much(s, e, "nested too deep beside its items", "LIMIT_JSON_DEPTH", LIMIT_JSON_DEPTH);
    if (!end)
        return bad(s, e, "brackets do not match");
    if (value_ended(s))
        s->state = BEHIND_VALUE;
    return keep(s, in, (size_t)(end - in->ptr), e);
}

/* A byte of a top-level key. No server escapes there, and "items" must not hide. */
static enum json_step step_key(struct json_slicer *s, struct slice *in, struct err *e)
{
    char c = in->ptr[0];
    if (c == '\\')
        return bad(s, e, "an escape in a key of the top level");
    if (c == '"')
        s->state = AT_COLON;
    else if (s->key_len < sizeof s->key)
        s->key[s->key_len++] = c;
    return keep(s, in, 1, e);
}

static enum json_step step_scalar(struct json_slicer *s, struct slice *in, struct err *e)
{
    char c = in->ptr[0];
    if (c != ',' && c != '}' && !json_is_space(c))
        return keep(s, in, 1, e);
    s->state = BEHIND_VALUE;
    return JSON_MORE;
}

/* The value of a top-level member; all but the items' bracket is left to the states that step through values. */
static enum json_step begin_member(struct json_slicer *s, struct slice *in, struct err *e)
{
    char c = in->ptr[0];
    bool items = slice_eq((struct slice){s->key, s->key_len}, SLICE("items"));
    if (items && s->items_seen)
        return bad(s, e, "two members are called items");
    if (items && c != '[' && c != 'n') /* null: none, and the envelope says so */
        return bad(s, e, "items is not an array");
    s->items_seen |= items;
    if (items && c == '[') {
        s->state = AT_FIRST_ITEM;
        return keep(s, in, 1, e);
    }
    begin(s, c == '"' || c == '{' || c == '[' ? IN_VALUE : IN_SCALAR);
    return JSON_MORE;
}

/* Where an item may begin. */
static enum json_step begin_item(struct json_slicer *s, struct slice *in, struct err *e)
{
    if (in->ptr[0] == ']' && s->state == AT_FIRST_ITEM) {
        s->state = BEHIND_VALUE;
        return keep(s, in, 1, e);
    }
    if (in->ptr[0] != '{')
        return bad(s, e, "an item that is not an object");
    begin(s, IN_ITEM);
    return JSON_MORE;
}

/* Where an item ended. Commas between items are nobody's. */
static enum json_step behind_item(struct json_slicer *s, struct slice *in, struct err *e)
{
    if (in->ptr[0] == ',') {
        *in = slice_skip(*in, 1);
        s->state = AT_ITEM;
        return JSON_MORE;
    }
    s->state = BEHIND_VALUE;
    return in->ptr[0] == ']' ? keep(s, in, 1, e) : bad(s, e, "a comma is missing between items");
}

/* The list's own braces, quotes, colons and commas. */
static enum json_step step_structure(struct json_slicer *s, struct slice *in, struct err *e)
{
    char c = in->ptr[0];
    bool may_end = s->state == AT_FIRST_KEY || s->state == BEHIND_VALUE;
    if (s->state == AT_START && c == '{')
        s->state = AT_FIRST_KEY;
    else if ((s->state == AT_FIRST_KEY || s->state == AT_KEY) && c == '"')
        s->state = IN_KEY;
    else if (s->state == AT_COLON && c == ':')
        s->state = AT_VALUE;
    else if (s->state == BEHIND_VALUE && c == ',')
        s->state = AT_KEY;
    else if (may_end && c == '}')
        s->state = AT_END;
    else
        return bad(s, e, s->state == AT_START ? "not an object" : s->state == AT_END ? "bytes behind its end" : "not JSON");
    s->key_len = s->state == IN_KEY ? 0 : s->key_len;
    enum json_step step = keep(s, in, 1, e);
    return step == JSON_MORE && s->state == AT_END ? JSON_DONE : step;
}

/* Uses some bytes of *in, or changes the state. */
static enum json_step step(struct json_slicer *s, struct slice *in, struct slice *item, struct err *e)
{
    switch ((enum state)s->state) {
    case IN_ITEM:
        return step_item(s, in, item, e);
    case IN_VALUE:
        return step_value(s, in, e);
    case IN_KEY:
        return step_key(s, in, e);
    case IN_SCALAR:
        return step_scalar(s, in, e);
    default:
        break;
    }
    if (json_is_space(in->ptr[0])) {
        *in = slice_skip(*in, 1);
        return JSON_MORE;
    }
    switch ((enum state)s->state) {
    case AT_VALUE:
        return begin_member(s, in, e);
    case AT_FIRST_ITEM:
    case AT_ITEM:
        return begin_item(s, in, e);
    case BEHIND_ITEM:
        return behind_item(s, in, e);
    default:
        return step_structure(s, in, e);
    }
}

enum json_step json_slice(struct json_slicer *s, struct slice *in, struct slice *item, struct err *e)
{
    *item = SLICE_NONE;
    enum json_step result = s->state == BROKEN ? bad(s, e, "broken before") : JSON_MORE;
    while (result == JSON_MORE && !slice_empty(*in))
        result = step(s, in, item, e);
    return result;
}

struct slice json_slicer_envelope(const struct json_slicer *s)
{
    return buf_slice(&s->envelope);
}

bool json_slicer_at_rest(const struct json_slicer *s)
{
    return s->state == (s->stream == JSON_STREAM_LIST ? AT_END : AT_ITEM);
}
