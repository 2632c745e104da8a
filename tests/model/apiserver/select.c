#include "request.h"

enum term_op { OP_EXISTS, OP_ABSENT, OP_IN, OP_NOT_IN };

struct term {
    bool field; /* a field selector's */
    enum term_op op;
    struct slice key;
    struct slice *values;
    size_t value_count;
    struct term *next;
};

struct selector {
    struct term *terms;
};

/* Fields that may be selected by, beside metadata.name and metadata.namespace. */
static const struct {
    const char *plural, *field;
} selectable[] = {
    {"pods", "spec.nodeName"},
    {"pods", "spec.restartPolicy"},
    {"pods", "spec.schedulerName"},
    {"pods", "spec.serviceAccountName"},
    {"pods", "status.phase"},
    {"pods", "status.podIP"},
    {"namespaces", "status.phase"},
    {"nodes", "spec.unschedulable"},
    {"services", "spec.clusterIP"},
    {"services", "spec.type"},
    {"secrets", "type"},
    {"events", "involvedObject.kind"},
    {"events", "involvedObject.namespace"},
    {"events", "involvedObject.name"},
    {"events", "involvedObject.uid"},
    {"events", "involvedObject.apiVersion"},
    {"events", "involvedObject.resourceVersion"},
    {"events", "involvedObject.fieldPath"},
    {"events", "reason"},
    {"events", "reportingComponent"},
    {"events", "source"},
    {"events", "type"},
};

static struct term *add(struct selector *sel, struct term like, struct arena *a)
{
    struct term *t = arena_new(a, struct term);
    *t = like;
    t->next = sel->terms;
    sel->terms = t;
    return t;
}

static void one_value(struct term *t, struct slice value, struct arena *a)
{
    t->values = arena_new(a, struct slice);
    t->values[0] = arena_dup(a, value);
    t->value_count = 1;
}

/* "key in (a,b)" with what stands before and behind the word; false when it is not of this form. */
static bool set_term(struct selector *sel, struct slice text, struct slice word, enum term_op op, struct arena *a)
{
    ptrdiff_t open = slice_find(text, '(');
    if (open < 0 || !slice_ends(text, SLICE(")")))
        return false;
    struct slice head = slice_trim(slice_head(text, (size_t)open));
    if (!slice_ends(head, word))
        return false;
    struct slice key = slice_trim(slice_head(head, head.len - word.len));
    if (!key.len || key.len + word.len == head.len) /* no blank between them: "notin" ends in "in" */
        return false;
    struct slice list = slice_head(slice_skip(text, (size_t)open + 1), text.len - (size_t)open - 2);
    struct term *t = add(sel, (struct term){.op = op, .key = arena_dup(a, key)}, a);
    t->values = arena_array(a, list.len + 1, sizeof(struct slice));
    while (list.ptr)
        t->values[t->value_count++] = arena_dup(a, slice_trim(slice_cut(&list, ',')));
    return true;
}

/* "key=value", "key==value", "key!=value" */
static bool equal_term(struct selector *sel, struct slice text, bool field, struct arena *a)
{
    ptrdiff_t at = slice_find(text, '=');
    if (at <= 0)
        return false;
    bool differ = text.ptr[at - 1] == '!';
    struct slice key = slice_trim(slice_head(text, (size_t)at - differ)), value = slice_skip(text, (size_t)at + 1);
    if (slice_starts(value, SLICE("=")))
        value = slice_skip(value, 1);
    enum term_op op = differ ? OP_NOT_IN : OP_IN;
    one_value(add(sel, (struct term){.field = field, .op = op, .key = arena_dup(a, key)}, a), slice_trim(value), a);
    return key.len > 0;
}

static bool label_term(struct selector *sel, struct slice text, struct arena *a, struct status *st)
{
    if (set_term(sel, text, SLICE("notin"), OP_NOT_IN, a) || set_term(sel, text, SLICE("in"), OP_IN, a) || equal_term(sel, text, false, a))
        return name_qualified(sel->terms->key) ||
               status_bad(st, "unable to parse requirement: key: Invalid value: \"%.*s\"", SLICE_ARG(sel->terms->key));
    bool absent = slice_starts(text, SLICE("!"));
    struct slice key = absent ? slice_trim(slice_skip(text, 1)) : text;
    struct slice word = text;
    slice_cut(&word, ' ');
    if (word.len) {
        struct slice rest = slice_trim(word), found = slice_cut(&rest, ' ');
        return status_bad(st, "unable to parse requirement: found '%.*s', expected: in, notin, =, ==, !=, gt, lt", SLICE_ARG(found));
    }
    if (!name_qualified(key))
        return status_bad(st, "unable to parse requirement: found '%.*s'", SLICE_ARG(text));
    add(sel, (struct term){.op = absent ? OP_ABSENT : OP_EXISTS, .key = arena_dup(a, key)}, a);
    return true;
}

static bool may_select(const struct resource *r, struct slice field)
{
    if (slice_eq(field, SLICE("metadata.name")) || slice_eq(field, SLICE("metadata.namespace")))
        return true;
    for (size_t i = 0; !r->custom && i < COUNT_OF(selectable); i++)
        if (slice_eq(r->plural, slice_of(selectable[i].plural)) && slice_eq(field, slice_of(selectable[i].field)))
            return true;
    return false;
}

static bool has_fields(const struct resource *r)
{
    for (size_t i = 0; i < COUNT_OF(selectable); i++)
        if (slice_eq(r->plural, slice_of(selectable[i].plural)))
            return true;
    return false;
}

/* Cuts at a comma that is not between parentheses. */
static struct slice cut_term(struct slice *rest)
{
    int depth = 0;
    for (size_t i = 0; i < rest->len; i++) {
        depth += (rest->ptr[i] == '(') - (rest->ptr[i] == ')');
        if (rest->ptr[i] != ',' || depth > 0)
            continue;
        struct slice term = slice_head(*rest, i);
        *rest = slice_skip(*rest, i + 1);
        return slice_trim(term);
    }
    struct slice term = slice_trim(*rest);
    *rest = SLICE_NONE;
    return term;
}

struct selector *selector_parse(struct slice labels, struct slice fields, struct arena *a, struct status *st)
{
    struct selector *sel = arena_new(a, struct selector);
    while (labels.len) {
        struct slice text = cut_term(&labels);
        if (!text.len && !status_bad(st, "found ',', expected: !, identifier, or 'end of string'"))
            return NULL;
        if (!label_term(sel, text, a, st))
            return NULL;
    }
    while (fields.len) {
        struct slice text = cut_term(&fields);
        if (!text.len)
            continue;
        if (!equal_term(sel, text, true, a)) {
            status_bad(st, "invalid selector: '%.*s'; can't understand '%.*s'", SLICE_ARG(text), SLICE_ARG(text));
            return NULL;
        }
    }
    return sel;
}

bool selector_fits(const struct selector *sel, const struct resource *r, struct status *st)
{
    const struct term *bad = NULL; /* the first of the text, which is the last here */
    for (const struct term *t = sel->terms; t; t = t->next)
        if (t->field && !may_select(r, t->key))
            bad = t;
    if (bad && (r->custom || has_fields(r)))
        return status_bad(st, "field label not supported: %.*s", SLICE_ARG(bad->key));
    return !bad ||
           status_bad(st, "\"%.*s\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", SLICE_ARG(bad->key));
}

bool selector_empty(const struct selector *sel)
{
    return !sel || !sel->terms;
}

static struct slice field_of(const struct version *v, struct slice field, struct arena *a)
{
    if (slice_eq(field, SLICE("metadata.name")))
        return v->name;
    if (slice_eq(field, SLICE("metadata.namespace")))
        return v->ns;
    struct json doc;
    if (!json_parse(&doc, v->json, a, NULL))
        return SLICE("");
    struct jval x = json_root(&doc);
    for (struct slice rest = field; rest.ptr;)
        x = json_key(x, slice_cut(&rest, '.'));
    if (json_type(x) == JSON_STRING)
        return json_str(x, a);
    return json_type(x) == JSON_NUMBER || json_type(x) == JSON_BOOL ? json_raw(x) : SLICE("");
}

static bool term_matches(const struct term *t, const struct version *v, struct arena *a)
{
    struct slice value = t->field ? field_of(v, t->key, a) : version_label(v, t->key);
    if (t->op == OP_EXISTS || t->op == OP_ABSENT)
        return (value.ptr != NULL) == (t->op == OP_EXISTS);
    bool in = false;
    for (size_t i = 0; value.ptr && i < t->value_count; i++)
        in = in || slice_eq(value, t->values[i]);
    return in == (t->op == OP_IN);
}

bool selector_matches(const struct selector *sel, const struct version *v, struct arena *a)
{
    for (const struct term *t = sel ? sel->terms : NULL; t; t = t->next)
        if (!term_matches(t, v, a))
            return false;
    return true;
}
