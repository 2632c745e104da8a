#include "private.h"

#include <stdio.h>

/* ---- the schema, out of the CRD that is part of the binary ---- */

struct schemas *schemas_of(struct findings *f)
{
    if (!f->schemas) {
        f->schemas = arena_new(f->arena, struct schemas);
        f->schemas->files = embed_all(f->arena);
    }
    return f->schemas;
}

static struct jval load_schema(struct slice definition, struct arena *a)
{
    struct yaml_docs docs;
    struct err e = {0};
    struct json *crd = arena_new(a, struct json);
    if (!yaml_parse(definition, a, &docs, &e) || docs.count != 1 || !json_parse(crd, docs.docs[0].json, a, &e))
        fatal("the embedded CRD cannot be read: %s", e.text);
    return json_get(json_at(json_get(json_root(crd), "spec.versions"), 0), "schema.openAPIV3Schema");
}

static struct jval schema_of(const char *plural, struct findings *f)
{
    struct schemas *all = schemas_of(f);
    size_t i = 0;
    while (all->kinds[i].plural && strcmp(all->kinds[i].plural, plural) != 0)
        i++; /* there are no more kinds than places */
    if (!all->kinds[i].plural) {
        all->kinds[i].plural = plural;
        all->kinds[i].root = load_schema(embed_definition(all->files, plural), f->arena);
    }
    return all->kinds[i].root;
}

/* ---- a value and its schema ---- */

static struct slice spot_path(const struct spot *at, struct arena *a)
{
    if (!at->up)
        return at->key;
    struct slice up = spot_path(at->up, a);
    return at->key.ptr ? spec_path_member(up, at->key, a) : arena_printf(a, "%.*s[%zu]", SLICE_ARG(up), at->index);
}

void spot_bad(const struct spot *at, bool warning, struct jval v, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    if (findings_full(at->out, warning))
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    findings_add(at->out, warning, spot_path(at, at->out->arena), json_offset(v), arena_dup(at->out->arena, slice_of(text)));
}

struct spot spot_member(const struct spot *at, struct slice name)
{
    return (struct spot){.out = at->out, .up = at, .key = name};
}

struct spot spot_item(const struct spot *at, size_t i)
{
    return (struct spot){.out = at->out, .up = at, .index = i};
}

const char *json_type_name(struct jval v)
{
    static const char *const names[] = {
        [JSON_NONE] = "nothing",    [JSON_NULL] = "null",      [JSON_BOOL] = "a boolean",   [JSON_NUMBER] = "a number",
        [JSON_STRING] = "a string", [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object",
    };
    return names[json_type(v)];
}

static bool is_type(struct jval v, struct slice type)
{
    static const struct {
        const char *name;
        enum json_type type;
    } types[] = {{"object", JSON_OBJECT}, {"array", JSON_ARRAY},   {"string", JSON_STRING},
                 {"boolean", JSON_BOOL},  {"number", JSON_NUMBER}, {"integer", JSON_NUMBER}};
    int64_t n;
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (slice_eq(type, slice_of(types[i].name)))
            return json_type(v) == types[i].type && (!slice_eq(type, SLICE("integer")) || json_int(v, &n));
    return true;
}

static bool check_type(const struct spot *at, struct jval schema, struct jval v)
{
    struct slice type = json_get_str(schema, "type", at->out->arena);
    if (json_get_bool(schema, "x-kubernetes-int-or-string", false)) {
        if (is_type(v, SLICE("integer")) || is_type(v, SLICE("string")))
            return true;
        spot_bad(at, false, v, "is %s: must be an integer or a string", json_type_name(v));
        return false;
    }
    /* A null is the same as nothing where there is a default or the schema says so. */
    bool as_nothing =
        json_type(v) == JSON_NULL && (json_there(json_key(schema, SLICE("default"))) || json_get_bool(schema, "nullable", false));
    if (as_nothing || is_type(v, type))
        return !as_nothing;
    bool fraction = slice_eq(type, SLICE("integer")) && json_type(v) == JSON_NUMBER;
    spot_bad(at, false, v, "is %s: must be %s %.*s", fraction ? "not a whole number" : json_type_name(v),
             strchr("aeiou", type.ptr[0]) ? "an" : "a", SLICE_ARG(type));
    return false;
}

static void check_enum(const struct spot *at, struct jval schema, struct jval v)
{
    struct jval allowed = json_key(schema, SLICE("enum")), key, one;
    if (!json_there(allowed))
        return;
    struct buf words;
    buf_init(&words, ERR_TEXT_MAX / 2);
    for (struct jiter it = json_iter(allowed); json_next(&it, &key, &one);) {
        if (json_equal(one, v)) {
            buf_free(&words);
            return;
        }
        struct slice word = json_str(one, at->out->arena);
        buf_printf(&words, "%s%.*s", words.len ? ", " : "", SLICE_ARG(word));
    }
    struct slice got = json_str(v, at->out->arena);
    spot_bad(at, false, v, "is \"%.*s\": must be one of %.*s", SLICE_ARG(slice_head(got, 64)), SLICE_ARG(buf_slice(&words)));
    buf_free(&words);
}

/* The API server counts them, not bytes; what is no UTF-8 it has refused before. */
static size_t characters(struct slice s)
{
    size_t count = 0;
    for (size_t step; (step = utf8_step(s)) > 0; count++)
        s = slice_skip(s, step);
    return count + s.len;
}

static void check_limits(const struct spot *at, struct jval schema, struct jval v)
{
    struct jval least = json_key(schema, SLICE("minimum"));
    double n, minimum;
    int64_t most;
    if (json_num(v, &n) && json_num(least, &minimum) && n < minimum)
        spot_bad(at, false, v, "is %.*s: must not be below %.*s", SLICE_ARG(slice_head(json_raw(v), 32)), SLICE_ARG(json_raw(least)));
    bool int32 = json_str_eq(json_key(schema, SLICE("format")), SLICE("int32"));
    if (int32 && json_num(v, &n) && (n < INT32_MIN || n > INT32_MAX))
        spot_bad(at, false, v, "is %.*s: must fit in 32 bits", SLICE_ARG(slice_head(json_raw(v), 32)));
    if (json_type(v) == JSON_STRING && json_int(json_key(schema, SLICE("maxLength")), &most)) {
        size_t len = characters(json_str(v, at->out->arena));
        if (len > (size_t)most)
            spot_bad(at, false, v, "has %zu characters: must have at most %lld", len, (long long)most);
    }
    if (json_type(v) == JSON_ARRAY && json_int(json_key(schema, SLICE("maxItems")), &most) && json_len(v) > (size_t)most)
        spot_bad(at, false, v, "has %zu items: must have at most %lld", json_len(v), (long long)most);
    if (json_type(v) == JSON_OBJECT && json_int(json_key(schema, SLICE("maxProperties")), &most) && json_len(v) > (size_t)most)
        spot_bad(at, false, v, "has %zu members: must have at most %lld", json_len(v), (long long)most);
}

/* Rules of the form "self in ['a', 'b']". What the others ask for our readers ask for too, and say better. */
static void check_rules(const struct spot *at, struct jval schema, struct jval v)
{
    struct jval key, one;
    for (struct jiter it = json_iter(json_key(schema, SLICE("x-kubernetes-validations"))); json_next(&it, &key, &one);) {
        struct slice rest = json_get_str(one, "rule", at->out->arena), got = json_str(v, at->out->arena);
        bool among = !slice_starts(rest, SLICE("self in ['"));
        slice_cut(&rest, '\'');
        for (; !among && rest.ptr; slice_cut(&rest, '\''))
            among = slice_eq(slice_cut(&rest, '\''), got);
        if (!among)
            spot_bad(at, false, v, "is \"%.*s\": %.*s", SLICE_ARG(slice_head(got, 64)),
                     SLICE_ARG(json_get_str(one, "message", at->out->arena)));
    }
}

/* ---- objects and lists ---- */

static void unknown_member(const struct spot *at, struct slice name, struct jval known, struct jval v)
{
    struct nearest n = {.typed = name};
    struct jval key, schema;
    for (struct jiter it = json_iter(known); at->out->count < FINDINGS_MAX && json_next(&it, &key, &schema);)
        nearest_try(&n, json_str(key, at->out->arena));
    if (n.best.ptr)
        spot_bad(at, false, v, "is no field of this kind, and the API server leaves it out: did you mean %.*s?", SLICE_ARG(n.best));
    else
        spot_bad(at, false, v, "is no field of this kind, and the API server leaves it out: remove it");
}

static void check_required(const struct spot *at, struct jval schema, struct jval v)
{
    struct jval key, one;
    for (struct jiter it = json_iter(json_key(schema, SLICE("required"))); json_next(&it, &key, &one);) {
        struct slice name = json_str(one, at->out->arena);
        struct jval of = json_key(json_key(schema, SLICE("properties")), name);
        if (is_given(json_key(v, name)) || json_there(json_key(of, SLICE("default"))))
            continue;
        struct spot there = spot_member(at, name);
        spot_bad(&there, false, v, "is required");
    }
}

static void check_value(const struct spot *at, struct jval schema, struct jval v);

/* The API server leaves out what is null, and server-side apply refuses it before. */
static void check_member(const struct spot *at, struct jval schema, struct jval v)
{
    bool nothing = json_there(json_key(schema, SLICE("default"))) || json_get_bool(schema, "nullable", false);
    if (json_type(v) == JSON_NULL && !nothing)
        spot_bad(at, true, v, "is null: kubectl apply leaves it out, kubectl apply --server-side refuses it; remove it");
    else
        check_value(at, schema, v);
}

static void check_members(const struct spot *at, struct jval schema, struct jval v)
{
    struct jval known = json_key(schema, SLICE("properties")), others = json_key(schema, SLICE("additionalProperties")), key, one;
    bool open = json_get_bool(schema, "x-kubernetes-preserve-unknown-fields", false);
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one);) {
        struct slice name = json_str(key, at->out->arena);
        struct jval of = json_key(known, name);
        if (open && !json_there(of))
            continue;
        struct spot there = spot_member(at, name);
        if (json_there(of) || json_there(others))
            check_member(&there, json_there(of) ? of : others, one);
        else
            unknown_member(&there, name, known, one);
    }
}

static void check_items(const struct spot *at, struct jval schema, struct jval v)
{
    struct jval of = json_key(schema, SLICE("items")), key, one;
    size_t i = 0;
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one); i++) {
        struct spot there = spot_item(at, i);
        check_value(&there, of, one);
    }
}

/* Parts that the Kubernetes API describes and our definitions leave open. Fields of autoscalerOptions are those of a container. */
static void check_open(const struct spot *at, bool open, struct jval v)
{
    static const struct {
        const char *field, *type;
    } parts[] = {{"template", "Template"},
                 {"podConfig", "Config"},
                 {"submitterPodTemplate", "Template"},
                 {"headService", "Service"},
                 {"resources", "Resources"},
                 {"env", "Env"},
                 {"envFrom", "EnvFrom"},
                 {"volumeMounts", "Mount"},
                 {"securityContext", "Security"},
                 {"imagePullPolicy", "(Always,IfNotPresent,Never)"}};
    struct slice field = at->key.ptr || !at->up ? at->key : at->up->key; /* an item goes by the name of its list */
    if (slice_eq(field, SLICE("rayStartParams")))
        fields_flags(at, v);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (slice_eq(field, slice_of(parts[i].field)) && (open || parts[i].type[0] == '('))
            fields_check(at, parts[i].type, v);
}

static void check_value(const struct spot *at, struct jval schema, struct jval v)
{
    if (!check_type(at, schema, v))
        return;
    check_open(at, json_get_bool(schema, "x-kubernetes-preserve-unknown-fields", false), v);
    check_enum(at, schema, v);
    check_limits(at, schema, v);
    if (json_type(v) == JSON_STRING)
        check_rules(at, schema, v);
    if (json_type(v) == JSON_OBJECT) {
        check_required(at, schema, v);
        check_members(at, schema, v);
    }
    if (json_type(v) == JSON_ARRAY && json_there(json_key(schema, SLICE("items"))))
        check_items(at, schema, v);
}

void schema_check(const char *plural, struct jval object, struct findings *f)
{
    struct jval schema = json_key(schema_of(plural, f), SLICE("properties")), key, one;
    f->source++;
    for (struct jiter it = json_iter(object); json_next(&it, &key, &one);) {
        struct spot there = {.out = f, .key = json_str(key, f->arena)};
        if (json_str_eq(key, SLICE("spec")))
            check_value(&there, json_key(schema, SLICE("spec")), one);
        else if (json_str_eq(key, SLICE("metadata")))
            fields_check(&there, "Meta", one);
        else if (!json_there(json_key(schema, there.key)))
            unknown_member(&there, there.key, schema, one);
    }
}
