#include <mobula/spec.h>

#include <stdio.h>

const struct place *place_root(struct jval document, struct arena *a)
{
    struct place *p = arena_new(a, struct place);
    p->arena = a;
    p->value = document;
    return p;
}

const struct place *place_member(const struct place *object, struct slice key, struct jval value)
{
    struct place *p = arena_new(object->arena, struct place);
    *p = (struct place){.arena = object->arena, .up = object, .key = key, .value = value};
    return p;
}

const struct place *place_key(const struct place *object, const char *key)
{
    struct slice name = slice_of(key);
    return place_member(object, name, json_key(object->value, name));
}

const struct place *place_element(const struct place *array, size_t index, struct jval value)
{
    struct place *p = arena_new(array->arena, struct place);
    *p = (struct place){.arena = array->arena, .up = array, .index = index, .value = value};
    return p;
}

bool value_given(struct jval v)
{
    enum json_type type = json_type(v);
    return type != JSON_NONE && type != JSON_NULL;
}

struct jval list_find(struct jval array, const char *key, struct slice text)
{
    struct jval k, v;
    for (struct jiter it = json_iter(array); json_next(&it, &k, &v);)
        if (json_str_eq(json_child(v, key), text))
            return v;
    return NO_VALUE;
}

bool list_has(struct jval array, const char *key, struct slice text)
{
    return json_there(list_find(array, key, text));
}

bool value_quantity(struct jval v, int decimals, int64_t *out, struct err *e, struct arena *a)
{
    switch (json_type(v)) {
    case JSON_STRING:
        return quantity_parse(json_str(v, a), decimals, out, e);
    case JSON_NUMBER:
        return quantity_parse(json_raw(v), decimals, out, e);
    default:
        return err_set(e, ERR_TYPE, "must be a quantity, such as \"500m\" or \"2Gi\"");
    }
}

struct slice spec_path_member(struct slice up, struct slice key, struct arena *a)
{
    bool plain = !slice_empty(key);
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        plain &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    }
    if (!plain)
        return arena_printf(a, "%.*s[\"%.*s\"]", SLICE_ARG(up), SLICE_ARG(key));
    return arena_printf(a, "%.*s%s%.*s", SLICE_ARG(up), slice_empty(up) ? "" : ".", SLICE_ARG(key));
}

static struct slice place_path(const struct place *p, struct arena *a)
{
    if (!p->up)
        return SLICE("");
    struct slice up = place_path(p->up, a);
    return p->key.ptr ? spec_path_member(up, p->key, a) : arena_printf(a, "%.*s[%zu]", SLICE_ARG(up), p->index);
}

void spec_errors_add(struct spec_errors *errors, struct spec_error one)
{
    if (errors->count < LIMIT_SPEC_ERRORS)
        errors->list[errors->count++] = one;
    else
        errors->beyond++;
}

void place_bad(struct reader *r, const struct place *p, const char *fmt, ...)
{
    if (r->errors->count == LIMIT_SPEC_ERRORS) { /* no words are made of what is not kept */
        r->errors->beyond++;
        return;
    }
    char text[ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const struct place *there = p; /* a missing field is reported at the place where it should be */
    while (there->up && !json_there(there->value))
        there = there->up;
    spec_errors_add(r->errors, (struct spec_error){
                                   .path = place_path(p, r->arena),
                                   .text = arena_dup(r->arena, slice_of(text)),
                                   .offset = json_there(there->value) ? json_offset(there->value) : 0,
                               });
}

const char *value_no_string(enum json_type type)
{
    return type == JSON_BOOL ? "true or false, as y, yes, on, n, no and off are in YAML 1.1" : value_type_name(type);
}

const char *value_type_name(enum json_type type)
{
    static const char *const names[] = {
        [JSON_NONE] = "nothing",    [JSON_NULL] = "null",      [JSON_BOOL] = "true or false", [JSON_NUMBER] = "a number",
        [JSON_STRING] = "a string", [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object",
    };
    return names[type];
}

static bool read_type(struct reader *r, const struct place *p, enum presence presence, enum json_type want)
{
    if (place_type(p) == want)
        return true;
    if (place_given(p))
        place_bad(r, p, "is %s: must be %s", value_type_name(json_type(p->value)), value_type_name(want));
    else if (presence == REQUIRED)
        place_bad(r, p, "is missing: must be %s", value_type_name(want));
    return false;
}

bool read_object(struct reader *r, const struct place *p, enum presence presence)
{
    return read_type(r, p, presence, JSON_OBJECT);
}

bool read_array(struct reader *r, const struct place *p, enum presence presence)
{
    return read_type(r, p, presence, JSON_ARRAY);
}

bool read_text(struct reader *r, const struct place *p, enum presence presence, struct slice *out)
{
    if (!read_type(r, p, presence, JSON_STRING))
        return false;
    *out = json_str(p->value, r->arena);
    return true;
}

bool read_flag(struct reader *r, const struct place *p, bool *out)
{
    if (!read_type(r, p, OPTIONAL, JSON_BOOL))
        return false;
    *out = json_bool(p->value, false);
    return true;
}

bool read_int(struct reader *r, const struct place *p, int64_t least, int64_t most, int64_t *out)
{
    if (!read_type(r, p, OPTIONAL, JSON_NUMBER))
        return false;
    int64_t n;
    struct slice raw = json_raw(p->value);
    if (!json_int(p->value, &n))
        place_bad(r, p, "is %.*s: must be a whole number from %lld to %lld", SLICE_ARG(slice_head(raw, 40)), (long long)least,
                  (long long)most);
    else if (n < least || n > most)
        place_bad(r, p, "is %lld: must be from %lld to %lld", (long long)n, (long long)least, (long long)most);
    else {
        *out = n;
        return true;
    }
    return false;
}

bool read_word(struct reader *r, const struct place *p, const char *const *words, struct slice *out)
{
    struct slice text;
    if (!read_text(r, p, OPTIONAL, &text))
        return false;
    struct buf list;
    buf_init(&list, ERR_TEXT_MAX);
    for (const char *const *w = words; *w; w++) {
        if (slice_is(text, *w)) {
            *out = text;
            buf_free(&list);
            return true;
        }
        buf_printf(&list, "%s%s", w == words ? "" : ", ", **w ? *w : "\"\"");
    }
    place_bad(r, p, "is \"%.*s\": must be one of %.*s", SLICE_ARG(slice_head(text, 60)), SLICE_ARG(buf_slice(&list)));
    buf_free(&list);
    return false;
}

static bool all_text(struct reader *r, const struct place *p)
{
    bool ok = true;
    size_t i = 0;
    struct jval k, v;
    for (struct jiter it = json_iter(p->value); json_next(&it, &k, &v); i++) {
        if (json_type(v) == JSON_STRING)
            continue;
        const struct place *at = json_there(k) ? place_member(p, json_str(k, r->arena), v) : place_element(p, i, v);
        place_bad(r, at, "is %s: must be a string, put it in quotes", value_no_string(json_type(v)));
        ok = false;
    }
    return ok;
}

bool read_text_map(struct reader *r, const struct place *p)
{
    return read_object(r, p, OPTIONAL) && all_text(r, p);
}

bool read_text_list(struct reader *r, const struct place *p)
{
    return read_array(r, p, OPTIONAL) && all_text(r, p);
}

void note_unknown(struct reader *r, const struct place *object, const char *const *known)
{
    struct jval k, v;
    for (struct jiter it = json_iter(object->value); json_next(&it, &k, &v);) {
        if (!json_there(k))
            return;
        const struct place *at = place_member(object, json_str(k, r->arena), v);
        const char *const *word = known;
        while (*word && !slice_is(at->key, *word))
            word++;
        if (!*word)
            place_bad(r, at, "is no field of this kind: it has no effect");
    }
}

struct slice spec_errors_text(const struct spec_errors *errors, size_t max, struct arena *a)
{
    static const char more[] = "; and %u more";
    enum { MORE_MAX = sizeof more + 10 };
    struct buf line;
    buf_init(&line, max);
    uint32_t total = spec_errors_count(errors);
    for (uint32_t i = 0; i < errors->count; i++) {
        const struct spec_error *e = &errors->list[i];
        struct slice one = arena_printf(a, "%s%.*s: %.*s", i ? "; " : "", SLICE_ARG(e->path), SLICE_ARG(e->text));
        bool last = i + 1 == total;
        if (line.len + one.len + (last ? 0 : MORE_MAX) > max) {
            if (i == 0 && max > MORE_MAX) /* better a part of the first than none */
                buf_put(&line, arena_cut(a, one, max - MORE_MAX));
            buf_printf(&line, more, total - i - (i == 0));
            struct slice text = arena_dup(a, buf_slice(&line));
            buf_free(&line);
            return text;
        }
        buf_put(&line, one);
    }
    if (errors->beyond)
        buf_printf(&line, more, errors->beyond);
    struct slice text = arena_dup(a, buf_slice(&line));
    buf_free(&line);
    return text;
}

bool spec_errors_tell(const struct spec_errors *errors, struct err *e)
{
    const struct spec_error *first = &errors->list[0];
    uint32_t more = spec_errors_count(errors) - 1;
    char rest[32] = "";
    if (more)
        snprintf(rest, sizeof rest, "; %u more error%s", more, more == 1 ? "" : "s");
    return err_set(e, ERR_CONFIG, "line %u: %.*s%s%.*s%s", first->line, SLICE_ARG(slice_head(first->path, 200)),
                   first->path.len ? ": " : "", SLICE_ARG(slice_head(first->text, 400)), rest);
}
