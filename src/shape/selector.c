#include <mobula/patches.h>

struct scanner {
    struct slice rest;
    struct arena *a;
    struct err *e;
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '/';
}

static struct slice take_word(struct scanner *r)
{
    r->rest = slice_trim(r->rest);
    size_t n = 0;
    while (n < r->rest.len && is_word(r->rest.ptr[n]))
        n++;
    struct slice word = slice_head(r->rest, n);
    r->rest = slice_trim(slice_skip(r->rest, n));
    return word;
}

static bool take(struct scanner *r, struct slice mark)
{
    if (!slice_starts(r->rest, mark))
        return false;
    r->rest = slice_trim(slice_skip(r->rest, mark.len));
    return true;
}

static bool read_value(struct scanner *r, struct slice *value)
{
    *value = take_word(r);
    return name_label_value(*value) || err_set(r->e, ERR_SYNTAX, "\"%.*s\" can be no label's value", SLICE_ARG(*value));
}

/* No more parts than this can stand before `end`, and no more than `most` are wanted. */
static size_t parts_before(struct slice text, char end, size_t most)
{
    size_t n = 1;
    for (size_t i = 0; i < text.len && text.ptr[i] != end && n < most; i++)
        n += text.ptr[i] == ',';
    return n;
}

static bool read_values(struct scanner *r, struct shape_requirement *q)
{
    struct slice *values = arena_array(r->a, parts_before(r->rest, ')', LIMIT_PATCH_VALUES), sizeof *values);
    q->values = values;
    if (!take(r, SLICE("(")))
        return err_set(r->e, ERR_SYNTAX, "want ( and values behind in or notin");
    do {
        if (q->value_count == LIMIT_PATCH_VALUES)
            return err_set(r->e, ERR_LIMIT, "more than %d values (LIMIT_PATCH_VALUES)", LIMIT_PATCH_VALUES);
        if (!read_value(r, &values[q->value_count++]))
            return false;
    } while (take(r, SLICE(",")));
    return take(r, SLICE(")")) || err_set(r->e, ERR_SYNTAX, "want , or ) at \"%.*s\"", SLICE_ARG(r->rest));
}

static bool read_requirement(struct scanner *r, struct shape_requirement *q)
{
    bool absent = take(r, SLICE("!"));
    q->key = take_word(r);
    q->relation = absent ? SHAPE_NOT_EXISTS : SHAPE_EXISTS;
    if (!name_qualified(q->key))
        return err_set(r->e, ERR_SYNTAX, "\"%.*s\" can be no label's key", SLICE_ARG(q->key));
    if (absent || slice_empty(r->rest) || r->rest.ptr[0] == ',')
        return true;
    bool differs = take(r, SLICE("!="));
    if (differs || take(r, SLICE("==")) || take(r, SLICE("="))) {
        struct slice *value = arena_new(r->a, struct slice);
        q->relation = differs ? SHAPE_NOT_IN : SHAPE_IN;
        q->values = value;
        q->value_count = 1;
        return read_value(r, value);
    }
    struct slice word = take_word(r);
    bool in = slice_is(word, "in");
    if (!in && !slice_is(word, "notin"))
        return err_set(r->e, ERR_SYNTAX, "want =, ==, !=, in or notin behind \"%.*s\"", SLICE_ARG(q->key));
    q->relation = in ? SHAPE_IN : SHAPE_NOT_IN;
    return read_values(r, q);
}

bool shape_selector_read(struct slice text, struct arena *a, struct shape_selector *out, struct err *e)
{
    struct scanner r = {slice_trim(text), a, e};
    *out = (struct shape_selector){0};
    if (text.len > LIMIT_PATCH_SELECTOR)
        return err_set(e, ERR_LIMIT, "a selector of more than %d bytes (LIMIT_PATCH_SELECTOR)", LIMIT_PATCH_SELECTOR);
    if (slice_empty(r.rest))
        return true;
    struct shape_requirement *list = arena_array(a, parts_before(r.rest, '\0', LIMIT_PATCH_REQUIREMENTS), sizeof *list);
    out->list = list;
    do {
        if (out->count == LIMIT_PATCH_REQUIREMENTS)
            return err_set(e, ERR_LIMIT, "more than %d requirements (LIMIT_PATCH_REQUIREMENTS)", LIMIT_PATCH_REQUIREMENTS);
        if (!read_requirement(&r, &list[out->count++]))
            return false;
    } while (take(&r, SLICE(",")));
    return slice_empty(r.rest) || err_set(e, ERR_SYNTAX, "want a comma at \"%.*s\"", SLICE_ARG(r.rest));
}

static struct slice value_of(struct json_edit *object, struct slice key)
{
    struct slice value = json_edit_str(object, (const struct slice[]){SLICE("metadata"), SLICE("annotations"), key}, 3);
    return value.ptr ? value : json_edit_str(object, (const struct slice[]){SLICE("metadata"), SLICE("labels"), key}, 3);
}

static bool meets(const struct shape_requirement *q, struct slice value)
{
    if (q->relation == SHAPE_EXISTS || q->relation == SHAPE_NOT_EXISTS)
        return (value.ptr != NULL) == (q->relation == SHAPE_EXISTS);
    bool among = false;
    for (uint32_t i = 0; i < q->value_count && value.ptr; i++)
        among |= slice_eq(q->values[i], value);
    return among == (q->relation == SHAPE_IN);
}

bool shape_selector_meets(const struct shape_selector *s, struct json_edit *object)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (!meets(&s->list[i], value_of(object, s->list[i].key)))
            return false;
    return true;
}
