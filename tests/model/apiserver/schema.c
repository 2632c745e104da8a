#include "cel.h"
#include "request.h"

#include <stdlib.h>

static bool preserves(const struct node *schema)
{
    return !schema || dom_true(schema, "x-kubernetes-preserve-unknown-fields");
}

/* The schema of a member: a property of its own, or what all others share. */
static const struct node *member_schema(const struct node *schema, struct slice key)
{
    const struct node *property = dom_key(dom_get(schema, "properties"), key);
    if (property)
        return property;
    const struct node *others = dom_get(schema, "additionalProperties");
    return dom_is(others, JSON_OBJECT) ? others : NULL;
}

/* Null where it is not a value. */
static bool is_no_value(const struct node *value, const struct node *schema)
{
    return dom_is(value, JSON_NULL) && dom_get(schema, "type") && !dom_true(schema, "nullable");
}

/* ---- defaults ---- */

void schema_default(struct node *value, const struct node *schema, struct arena *a)
{
    if (!value || !schema)
        return;
    if (value->type == JSON_ARRAY) {
        for (struct node *c = value->child; c; c = c->next)
            schema_default(c, dom_get(schema, "items"), a);
        return;
    }
    if (value->type != JSON_OBJECT)
        return;
    const struct node *properties = dom_get(schema, "properties");
    for (const struct node *p = properties ? properties->child : NULL; p; p = p->next) {
        const struct node *otherwise = dom_get(p, "default"), *said = dom_key(value, p->key);
        if (otherwise && (!said || is_no_value(said, p)))
            dom_put(value, p->key, dom_copy(otherwise, a));
    }
    for (struct node *c = value->child; c; c = c->next)
        schema_default(c, member_schema(schema, c->key), a);
}

/* ---- pruning ---- */

enum { UNKNOWN_MAX = REQUEST_WARNINGS };

struct pruning {
    struct arena *a;
    struct slice unknown[UNKNOWN_MAX]; /* paths */
    size_t count;
    bool types; /* values of another type than the schema's are put down, too */
    struct slice mistyped;
};

static void prune(struct pruning *p, struct node *value, const struct node *schema, struct slice path);

static void prune_members(struct pruning *p, struct node *object, const struct node *schema, struct slice path)
{
    bool open = preserves(schema);
    for (struct node *c = object->child, *next; c; c = next) {
        next = c->next;
        const struct node *member = member_schema(schema, c->key);
        bool typed =
            !path.len && (slice_eq(c->key, SLICE("metadata")) || slice_eq(c->key, SLICE("kind")) || slice_eq(c->key, SLICE("apiVersion")));
        if (typed)
            continue;
        struct slice inner = arena_printf(p->a, "%.*s%s%.*s", SLICE_ARG(path), path.len ? "." : "", SLICE_ARG(c->key));
        bool any = dom_is(dom_get(schema, "additionalProperties"), JSON_BOOL) && dom_true(schema, "additionalProperties");
        if (member) {
            prune(p, c, member, inner);
        } else if (!open && !any) {
            if (p->count < UNKNOWN_MAX)
                p->unknown[p->count++] = inner;
            dom_unlink(object, c);
        }
    }
}

static bool is_of(const struct node *v, struct slice type)
{
    if (slice_eq(type, SLICE("integer")) || slice_eq(type, SLICE("number")))
        return v->type == JSON_NUMBER;
    if (slice_eq(type, SLICE("boolean")))
        return v->type == JSON_BOOL;
    if (slice_eq(type, SLICE("array")) || slice_eq(type, SLICE("object")))
        return v->type == (slice_eq(type, SLICE("array")) ? JSON_ARRAY : JSON_OBJECT);
    return !slice_eq(type, SLICE("string")) || v->type == JSON_STRING;
}

static void prune(struct pruning *p, struct node *value, const struct node *schema, struct slice path)
{
    if (p->types && value->type != JSON_NULL && schema && !dom_true(schema, "x-kubernetes-preserve-unknown-fields") &&
        !is_of(value, dom_str(schema, "type")))
        p->mistyped = path;
    if (value->type == JSON_OBJECT) {
        prune_members(p, value, schema, path);
        return;
    }
    const struct node *items = dom_get(schema, "items");
    unsigned i = 0;
    for (struct node *c = value->type == JSON_ARRAY && items ? value->child : NULL; c; c = c->next, i++)
        prune(p, c, items, arena_printf(p->a, "%.*s[%u]", SLICE_ARG(path), i));
}

/* Null is "not said" where it is no value and there is no default for it. */
static void drop_nulls(struct node *value, const struct node *schema)
{
    if (value->type == JSON_ARRAY) {
        for (struct node *c = value->child; c; c = c->next)
            drop_nulls(c, dom_get(schema, "items"));
        return;
    }
    for (struct node *c = value->type == JSON_OBJECT ? value->child : NULL, *next; c; c = next) {
        next = c->next;
        const struct node *member = member_schema(schema, c->key);
        if (is_no_value(c, member) && !dom_get(member, "default"))
            dom_unlink(value, c);
        else
            drop_nulls(c, member);
    }
}

void schema_prune(struct request *q, struct node *object)
{
    struct pruning p = {.a = q->a};
    struct slice all = SLICE("");
    prune(&p, object, q->api->schema, SLICE(""));
    if (!slice_starts(q->content_type, SLICE("application/apply-patch"))) /* what is applied is never read as an object */
        drop_nulls(object, q->api->schema);
    for (size_t i = 0; i < p.count; i++) {
        struct slice one = arena_printf(q->a, "unknown field \"%.*s\"", SLICE_ARG(p.unknown[i]));
        if (q->warn)
            request_warn(q, one);
        all = arena_printf(q->a, "%.*s%s%.*s", SLICE_ARG(all), i ? ", " : "", SLICE_ARG(one));
    }
    if (q->strict && p.count)
        status_bad(&q->st, "%.*s in version \"%.*s\" cannot be handled as a %.*s: strict decoding error: %.*s", SLICE_ARG(q->api->of->kind),
                   SLICE_ARG(q->api->version), SLICE_ARG(q->api->of->kind), SLICE_ARG(all));
}

bool schema_declared(struct request *q, const struct node *config)
{
    struct pruning p = {.a = q->a, .types = true};
    struct slice all = SLICE(""), name = dom_str(config, "metadata.name"), ns = dom_str(config, "metadata.namespace");
    prune(&p, dom_copy(config, q->a), q->api->schema, SLICE(""));
    for (size_t i = 0; i < p.count; i++)
        all = arena_printf(q->a, "%.*s%s.%.*s: field not declared in schema", SLICE_ARG(all), p.count > 1 ? "\n  " : "",
                           SLICE_ARG(p.unknown[i]));
    if (p.mistyped.ptr)
        all = arena_printf(q->a, ".%.*s: expected another type", SLICE_ARG(p.mistyped));
    if (!p.count && !p.mistyped.ptr)
        return true;
    return status_set(&q->st, 500, "", "failed to create typed patch object (%.*s/%.*s; %.*s/%.*s, Kind=%.*s): %s%.*s", SLICE_ARG(ns),
                      SLICE_ARG(name), SLICE_ARG(q->api->group), SLICE_ARG(q->api->version), SLICE_ARG(q->api->of->kind),
                      p.count > 1 ? "errors:" : "", SLICE_ARG(all));
}

/* ---- checks ---- */

static bool is_whole(struct slice number)
{
    return slice_find(number, '.') < 0 && slice_find(number, 'e') < 0 && slice_find(number, 'E') < 0;
}

static const char *type_name(const struct node *v)
{
    switch (v->type) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_NUMBER:
        return is_whole(v->text) ? "integer" : "number";
    case JSON_BOOL:
        return "boolean";
    default:
        return "null";
    }
}

static bool has_type(const struct node *v, const struct node *schema)
{
    struct slice want = dom_str(schema, "type"), is = slice_of(type_name(v));
    if (v->type == JSON_NULL)
        return dom_true(schema, "nullable") || !want.len;
    if (dom_true(schema, "x-kubernetes-int-or-string"))
        return v->type == JSON_STRING || (v->type == JSON_NUMBER && is_whole(v->text));
    return !want.len || slice_eq(want, is) || (slice_eq(want, SLICE("number")) && v->type == JSON_NUMBER);
}

static void check_enum(struct status *st, const struct node *v, const struct node *schema, struct slice path)
{
    const struct node *allowed = dom_get(schema, "enum");
    if (!allowed)
        return;
    struct buf b;
    buf_init(&b, 64 * KIB);
    for (const struct node *c = allowed->child; c; c = c->next) {
        if (dom_equal(c, v)) {
            buf_free(&b);
            return;
        }
        buf_printf(&b, "%s\"%.*s\"", b.len ? ", " : "", SLICE_ARG(c->text));
    }
    status_cause(st, "FieldValueNotSupported", path, "Unsupported value: \"%.*s\": supported values: %.*s", SLICE_ARG(v->text),
                 SLICE_ARG(buf_slice(&b)));
    buf_free(&b);
}

static void check_number(struct status *st, const struct node *v, const struct node *schema, struct slice path)
{
    int64_t n, low = dom_int(schema, "minimum", INT64_MIN), high = dom_int(schema, "maximum", INT64_MAX);
    if (!slice_int(v->text, &n)) {
        double value = strtod(arena_dup(st->a, v->text).ptr, NULL);
        if (dom_get(schema, "minimum") && value < (double)low)
            status_cause(st, "FieldValueInvalid", path, "Invalid value: %.*s: %.*s in body should be greater than or equal to %lld",
                         SLICE_ARG(v->text), SLICE_ARG(path), (long long)low);
        return;
    }
    if (n < low)
        status_cause(st, "FieldValueInvalid", path, "Invalid value: %lld: %.*s in body should be greater than or equal to %lld",
                     (long long)n, SLICE_ARG(path), (long long)low);
    if (n > high)
        status_cause(st, "FieldValueInvalid", path, "Invalid value: %lld: %.*s in body should be less than or equal to %lld", (long long)n,
                     SLICE_ARG(path), (long long)high);
}

static void check_size(struct status *st, const struct node *v, const struct node *schema, struct slice path)
{
    bool text = v->type == JSON_STRING;
    const char *least = text ? "minLength" : v->type == JSON_ARRAY ? "minItems" : "minProperties";
    const char *most = text ? "maxLength" : v->type == JSON_ARRAY ? "maxItems" : "maxProperties";
    int64_t n = (int64_t)(text ? v->text.len : dom_len(v)), low = dom_int(schema, least, 0), high = dom_int(schema, most, INT64_MAX);
    if (n > high && text)
        status_cause(st, "FieldValueTooLong", path, "Too long: may not be more than %lld bytes", (long long)high);
    else if (n > high)
        status_cause(st, "FieldValueTooMany", path, "Too many: %lld: must have at most %lld items", (long long)n, (long long)high);
    if (n < low && text)
        status_cause(st, "FieldValueInvalid", path, "Invalid value: \"%.*s\": %.*s in body should be at least %lld chars long",
                     SLICE_ARG(v->text), SLICE_ARG(path), (long long)low);
    else if (n < low)
        status_cause(st, "FieldValueInvalid", path, "Invalid value: %lld: %.*s in body should have at least %lld %s", (long long)n,
                     SLICE_ARG(path), (long long)low, v->type == JSON_ARRAY ? "items" : "properties");
}

static void check_format(struct status *st, const struct node *v, const struct node *schema, struct slice path)
{
    int64_t us;
    struct slice format = dom_str(schema, "format");
    if (slice_eq(format, SLICE("date-time")) && !time_parse(v->text, &us, NULL))
        status_cause(st, "FieldValueTypeInvalid", path, "Invalid value: \"%.*s\": %.*s in body must be of type date-time: \"%.*s\"",
                     SLICE_ARG(v->text), SLICE_ARG(path), SLICE_ARG(v->text));
}

static void check_members(struct status *st, const struct node *v, const struct node *schema, struct slice path)
{
    const struct node *required = dom_get(schema, "required");
    for (const struct node *r = required ? required->child : NULL; r; r = r->next)
        if (!dom_key(v, r->text))
            status_cause(st, "FieldValueRequired",
                         arena_printf(st->a, "%.*s%s%.*s", SLICE_ARG(path), path.len ? "." : "", SLICE_ARG(r->text)), "Required value");
    for (const struct node *c = v->child; c; c = c->next) {
        bool typed = !path.len && slice_eq(c->key, SLICE("metadata"));
        if (!typed)
            schema_check(st, c, member_schema(schema, c->key),
                         arena_printf(st->a, "%.*s%s%.*s", SLICE_ARG(path), path.len ? "." : "", SLICE_ARG(c->key)));
    }
}

void schema_check(struct status *st, const struct node *v, const struct node *schema, struct slice path)
{
    if (!schema)
        return;
    if (!has_type(v, schema)) {
        struct slice want = dom_str(schema, "type");
        status_cause(st, "FieldValueTypeInvalid", path, "Invalid value: \"%s\": %.*s in body must be of type %.*s: \"%s\"", type_name(v),
                     SLICE_ARG(path), SLICE_ARG(want), type_name(v));
        return;
    }
    check_enum(st, v, schema, path);
    if (v->type == JSON_STRING || v->type == JSON_ARRAY || v->type == JSON_OBJECT)
        check_size(st, v, schema, path);
    if (v->type == JSON_STRING)
        check_format(st, v, schema, path);
    if (v->type == JSON_NUMBER)
        check_number(st, v, schema, path);
    if (v->type == JSON_OBJECT)
        check_members(st, v, schema, path);
    const struct node *items = dom_get(schema, "items");
    unsigned i = 0;
    for (const struct node *c = v->type == JSON_ARRAY && items ? v->child : NULL; c; c = c->next, i++)
        schema_check(st, c, items, arena_printf(st->a, "%.*s[%u]", SLICE_ARG(path), i));
}

static bool has_rules(const struct node *schema)
{
    if (!schema)
        return false;
    if (dom_get(schema, "x-kubernetes-validations"))
        return true;
    for (const struct node *c = schema->child; c; c = c->next)
        if (has_rules(c))
            return true;
    return false;
}

static bool is_blocked(const struct status *st)
{
    static const char *const blocking[] = {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany",
                                           "FieldValueTypeInvalid"};
    for (unsigned i = 0; i < st->cause_count; i++)
        for (size_t k = 0; k < COUNT_OF(blocking); k++)
            if (strcmp(st->causes[i].reason, blocking[k]) == 0)
                return true;
    return false;
}

static void one_rule(struct status *st, const struct node *rule, const struct node *v, const struct node *old, struct slice type,
                     struct slice path)
{
    struct slice text = dom_str(rule, "rule"), message = dom_str(rule, "message"), why;
    if (cel_wants_old(text) && !old)
        return;
    enum cel_result result = cel_decide(text, v, old, st->a, &why);
    if (result == CEL_TRUE)
        return;
    if (result == CEL_FALSE)
        path = arena_printf(st->a, "%.*s%.*s", SLICE_ARG(path), SLICE_ARG(dom_str(rule, "fieldPath")));
    message = message.len ? message : arena_printf(st->a, "failed rule: %.*s", SLICE_ARG(text));
    if (result == CEL_ERROR)
        message = arena_printf(st->a, "%.*s evaluating rule: %.*s", SLICE_ARG(why), SLICE_ARG(message));
    status_cause(st, "FieldValueInvalid", path, "Invalid value: \"%.*s\": %.*s", SLICE_ARG(type), SLICE_ARG(message));
}

/* An item of a list has no value before: lists are replaced as a whole. */
static void check_rules(struct status *st, const struct node *v, const struct node *old, const struct node *schema, struct slice path)
{
    const struct node *rules = dom_get(schema, "x-kubernetes-validations"), *items = dom_get(schema, "items");
    unsigned i = 0;
    for (const struct node *r = rules ? rules->child : NULL; r; r = r->next)
        one_rule(st, r, v, old, dom_str(schema, "type"), path);
    for (const struct node *c = v->type == JSON_ARRAY && items ? v->child : NULL; c; c = c->next, i++)
        check_rules(st, c, NULL, items, arena_printf(st->a, "%.*s[%u]", SLICE_ARG(path), i));
    for (const struct node *c = v->type == JSON_OBJECT ? v->child : NULL; c; c = c->next) {
        const struct node *inner = member_schema(schema, c->key);
        bool named = dom_key(dom_get(schema, "properties"), c->key);
        if (inner)
            check_rules(st, c, dom_key(old, c->key), inner,
                        arena_printf(st->a, named ? "%.*s%s%.*s" : "%.*s%s[%.*s]", SLICE_ARG(path), named && path.len ? "." : "",
                                     SLICE_ARG(c->key)));
    }
}

void schema_rules(struct status *st, const struct node *v, const struct node *old, const struct node *schema)
{
    if (!is_blocked(st))
        check_rules(st, v, old, schema, SLICE(""));
    else if (has_rules(schema))
        status_cause(st, "FieldValueInvalid", SLICE("<nil>"),
                     "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing "
                     "errors to complete validation");
}
