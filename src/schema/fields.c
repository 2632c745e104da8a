/* Reads pod_fields.txt and checks values against it: types, forms and ranges of single fields. */
#include "private.h"

#include <arpa/inet.h>

/* ---- the table ---- */

struct field_type {
    struct slice name, fields;
    bool exactly; /* one of its |FIELDs */
};
struct field_types {
    struct field_type list[160];
    uint32_t count;
};

struct field {
    struct slice name, type;
    bool required, of_several;
};

static bool next_field(struct slice *rest, struct field *out)
{
    if (slice_empty(*rest))
        return false;
    struct slice type = slice_cut(rest, ' '), name = slice_cut(&type, '=');
    out->of_several = slice_starts(name, SLICE("|"));
    out->required = slice_ends(name, SLICE("!"));
    name = slice_skip(name, out->of_several);
    name.len -= out->required;
    out->name = name;
    out->type = type.ptr ? type : SLICE("text");
    return true;
}

static const struct field_types *load(struct slice text, struct arena *a)
{
    struct field_types *types = arena_new(a, struct field_types);
    while (!slice_empty(text)) {
        struct slice line = slice_cut(&text, '\n'), name = slice_cut(&line, ' ');
        if (slice_eq(name, SLICE("#")))
            continue;
        bool exactly = slice_ends(name, SLICE("|"));
        name.len -= exactly;
        if (types->count == COUNT_OF(types->list))
            fatal("pod_fields.txt has too many types");
        types->list[types->count++] = (struct field_type){name, line, exactly};
    }
    return types;
}

static const struct field_type *find_type(struct findings *f, struct slice name)
{
    struct schemas *all = schemas_of(f);
    if (!all->types)
        all->types = load(embed_file(all->files, EMBED_POD_FIELDS), f->arena);
    for (uint32_t i = 0; i < all->types->count; i++)
        if (slice_eq(all->types->list[i].name, name))
            return &all->types->list[i];
    fatal("pod_fields.txt has no type %.*s", SLICE_ARG(name));
}

static bool find_field(const struct field_type *type, struct slice name, struct field *out)
{
    struct slice rest = type->fields;
    while (next_field(&rest, out))
        if (slice_eq(out->name, name))
            return true;
    return false;
}

/* ---- scalars ---- */

static bool is_port_name(struct slice s)
{
    bool letter = false;
    for (size_t i = 0; i < s.len; i++) {
        letter |= s.ptr[i] >= 'a' && s.ptr[i] <= 'z';
        if (s.ptr[i] == '-' && i + 1 < s.len && s.ptr[i + 1] == '-')
            return false;
    }
    return letter && s.len <= 15 && name_dns1123_label(s);
}

static bool all_in(struct slice s, const char *more)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i], lower = (char)(c | 0x20);
        if (!((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || (c && strchr(more, c))))
            return false;
    }
    return true;
}

static bool is_data_key(struct slice s)
{
    return s.len <= 253 && all_in(s, "-._") && !slice_eq(s, SLICE(".")) && !slice_eq(s, SLICE(".."));
}

static bool is_header(struct slice s)
{
    return all_in(s, "-_");
}

static bool is_variable(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < ' ' || s.ptr[i] > '~' || s.ptr[i] == '=')
            return false;
    return true;
}

static bool is_trimmed(struct slice s)
{
    return slice_trim(s).len == s.len;
}

static bool stays_inside(struct slice s)
{
    while (s.ptr)
        if (slice_eq(slice_cut(&s, '/'), SLICE("..")))
            return false;
    return true;
}

static bool is_below(struct slice s)
{
    return !slice_starts(s, SLICE("/")) && stays_inside(s);
}

static bool is_absolute(struct slice s)
{
    return slice_starts(s, SLICE("/"));
}

static bool is_ip(struct slice s)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    return slice_copy(s, text, sizeof text) && (inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1);
}

static bool is_field_path(struct slice s)
{
    static const char *const paths[] = {"metadata.name",           "metadata.namespace", "metadata.uid",        "spec.nodeName",
                                        "spec.serviceAccountName", "status.hostIP",      "status.hostIPs",      "status.podIP",
                                        "status.podIPs",           "metadata.labels",    "metadata.annotations"};
    struct slice key = s, of = slice_cut(&key, '[');
    if (key.ptr)
        return (slice_eq(of, SLICE("metadata.labels")) || slice_eq(of, SLICE("metadata.annotations"))) && key.len > 3 &&
               slice_starts(key, SLICE("'")) && slice_ends(key, SLICE("']"));
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        if (slice_eq(s, slice_of(paths[i])))
            return true;
    return false;
}

static bool is_any(struct slice s)
{
    return s.ptr != NULL;
}

static const struct form {
    const char *name;
    bool (*fits)(struct slice s);
    const char *want;
} forms[] = {
    {"text", is_any, ""},
    {"label", name_dns1123_label, "at most 63 lower case letters, digits and dashes, with no dash at an end"},
    {"name", name_dns1123_subdomain, "lower case letters, digits, dashes and dots"},
    {"key", name_qualified, "[prefix/]name of at most 63 letters, digits, - _ and ."},
    {"value", name_label_value, "at most 63 letters, digits, - _ and ., with a letter or digit at both ends"},
    {"portname", is_port_name, "at most 15 lower case letters, digits and single dashes, with a letter among them"},
    {"variable", is_variable, "printable characters without ="},
    {"datakey", is_data_key, "at most 253 letters, digits, - _ and ."},
    {"fieldpath", is_field_path, "a field that the downward API has, such as metadata.name or status.podIP"},
    {"header", is_header, "letters, digits, - and _"},
    {"trimmed", is_trimmed, "without white space around it"},
    {"inside", stays_inside, "a path without .."},
    {"below", is_below, "a path without .. that does not begin with /"},
    {"absolute", is_absolute, "a path that begins with /"},
    {"ip", is_ip, "an IP address"},
};

static void check_form(const struct spot *at, const struct form *form, struct jval v)
{
    struct slice text = json_str(v, at->out->arena);
    if (json_type(v) != JSON_STRING)
        spot_bad(at, false, v, "is %s: must be a string%s", json_type_name(v), json_type(v) < JSON_STRING ? ", put it in quotes" : "");
    else if (!slice_empty(text) && !form->fits(text))
        spot_bad(at, false, v, "is \"%.*s\": must be %s", SLICE_ARG(slice_head(text, 64)), form->want);
}

/* "int", "long:0..", "int:1..65535" */
static void check_number(const struct spot *at, struct slice type, struct jval v)
{
    struct slice range = type, size = slice_cut(&range, ':'), least = range.ptr ? slice_cut(&range, '.') : SLICE(""), most = range;
    int64_t n, min = slice_eq(size, SLICE("int")) ? INT32_MIN : INT64_MIN, max = slice_eq(size, SLICE("int")) ? INT32_MAX : INT64_MAX;
    slice_int(least, &min);
    if (most.ptr)
        slice_int(slice_skip(most, 1), &max);
    if (json_type(v) != JSON_NUMBER)
        spot_bad(at, false, v, "is %s: must be a number%s", json_type_name(v), json_type(v) == JSON_STRING ? " without quotes" : "");
    else if (!json_int(v, &n))
        spot_bad(at, false, v, "is %.*s: must be a whole number", SLICE_ARG(slice_head(json_raw(v), 32)));
    else if (n < min || n > max)
        spot_bad(at, false, v, "is %lld: must be from %lld to %lld", (long long)n, (long long)min, (long long)max);
}

static void check_amount(const struct spot *at, struct jval v)
{
    struct err e = {0};
    int64_t n;
    bool text = json_type(v) == JSON_STRING;
    if (!text && json_type(v) != JSON_NUMBER)
        spot_bad(at, false, v, "is %s: must be an amount, such as \"500m\" or \"2Gi\"", json_type_name(v));
    else if (!quantity_parse(text ? json_str(v, at->out->arena) : json_raw(v), 0, &n, &e))
        spot_bad(at, false, v, "is no amount: %s", e.text);
}

static void check_port(const struct spot *at, struct jval v)
{
    int64_t n;
    if (json_type(v) == JSON_STRING && is_port_name(json_str(v, at->out->arena)))
        return;
    if (json_type(v) != JSON_NUMBER || !json_int(v, &n) || n < 1 || n > UINT16_MAX)
        spot_bad(at, false, v, "must be a number from 1 to 65535 or the name of a port");
}

static void check_word(const struct spot *at, struct slice words, struct jval v)
{
    struct slice text = json_str(v, at->out->arena), all = {words.ptr + 1, words.len - 2}, rest = all;
    while (rest.ptr)
        if (slice_eq(slice_cut(&rest, ','), text))
            return;
    if (json_type(v) == JSON_STRING && slice_empty(text)) /* the default */
        return;
    struct slice got = json_type(v) == JSON_STRING ? json_raw(v) : slice_of(json_type_name(v));
    spot_bad(at, false, v, "is %.*s: must be one of %.*s", SLICE_ARG(slice_head(got, 64)), SLICE_ARG(all));
}

/* ---- maps ---- */

enum { ANNOTATIONS_MAX = 256 * KIB };

static struct slice lower_case(struct slice s, struct arena *a)
{
    char *text = arena_alloc(a, s.len);
    for (size_t i = 0; i < s.len; i++)
        text[i] = s.ptr[i] >= 'A' && s.ptr[i] <= 'Z' ? (char)(s.ptr[i] | 0x20) : s.ptr[i];
    return (struct slice){text, s.len};
}

/* Labels, annotations, node selectors: keys in one form (those of annotations in any case), and values in another. */
static void check_texts(const struct spot *at, struct jval v, bool labels)
{
    struct jval key, one;
    size_t bytes = 0;
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one);) {
        struct slice name = json_str(key, at->out->arena), text = json_str(one, at->out->arena);
        struct spot there = spot_member(at, name);
        bytes += name.len + text.len;
        if (!name_qualified(labels ? name : lower_case(name, at->out->arena)))
            spot_bad(&there, false, one, "is no key: must be [prefix/]name of at most 63 letters, digits, - _ and .");
        else if (is_given(one) && json_type(one) != JSON_STRING)
            spot_bad(&there, false, one, "is %s: must be a string, put it in quotes", json_type_name(one));
        else if (labels && !name_label_value(text))
            spot_bad(&there, false, one, "is \"%.*s\": must be at most 63 letters, digits, - _ and ., with a letter or digit at both ends",
                     SLICE_ARG(slice_head(text, 64)));
    }
    if (!labels && bytes > ANNOTATIONS_MAX)
        spot_bad(at, false, v, "have %zu bytes: at most %d are taken", bytes, ANNOTATIONS_MAX);
}

static void check_amounts(const struct spot *at, struct jval v)
{
    struct jval key, one;
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one);) {
        struct slice name = json_str(key, at->out->arena), domain = name;
        struct spot there = spot_member(at, name);
        bool native = slice_find(name, '/') < 0;
        slice_cut(&domain, '/');
        if (native ? !slice_eq(name, SLICE("cpu")) && !slice_eq(name, SLICE("memory")) && !slice_eq(name, SLICE("ephemeral-storage")) &&
                         !slice_starts(name, SLICE("hugepages-"))
                   : !name_qualified(name))
            spot_bad(&there, false, one,
                     "is no resource: write cpu, memory, ephemeral-storage, hugepages-SIZE, or one with its domain, such "
                     "as nvidia.com/gpu");
        else if (is_given(one))
            check_amount(&there, one);
    }
}

/* ---- values ---- */

static void check(const struct spot *at, struct slice type, struct jval v);

static void check_list(const struct spot *at, struct slice type, struct jval v)
{
    struct slice twins = {type.ptr + 1, type.len - 2}, of = slice_cut(&twins, '/');
    struct jval key, one;
    size_t i = 0;
    if (type.ptr[1] == '(')
        of = (struct slice){type.ptr + 1, type.len - 2};
    if (json_type(v) != JSON_ARRAY) {
        spot_bad(at, false, v, "is %s: must be an array, each item with a dash before it", json_type_name(v));
        return;
    }
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one); i++) {
        struct spot there = spot_item(at, i);
        if (is_given(one) || (of.ptr[0] >= 'A' && of.ptr[0] <= 'Z')) /* null is an object without members, an empty text, 0 */
            check(&there, of, one);
        struct slice name = json_str(json_key(one, twins), at->out->arena);
        for (size_t k = 0; k < i && i < PAIRS_MAX && !slice_empty(name); k++)
            if (json_str_eq(json_key(json_at(v, k), twins), name)) {
                struct spot twin = spot_member(&there, twins);
                spot_bad(&twin, false, json_key(one, twins), "is \"%.*s\", as that of item %zu: each must be another",
                         SLICE_ARG(slice_head(name, 64)), k);
                break;
            }
    }
}

static void unknown(const struct spot *at, const struct field_type *type, struct slice name, struct jval v)
{
    struct nearest n = {.typed = name};
    struct slice rest = type->fields;
    struct field field;
    while (at->out->count < FINDINGS_MAX && next_field(&rest, &field))
        nearest_try(&n, field.name);
    bool in_pod = slice_eq(type->name, SLICE("Pod")), in_container = slice_eq(type->name, SLICE("Container"));
    if (n.best.ptr)
        spot_bad(at, false, v, "is no field here, and Kubernetes leaves it out: did you mean %.*s?", SLICE_ARG(n.best));
    else if (in_pod && find_field(find_type(at->out, SLICE("Container")), name, &field))
        spot_bad(at, false, v, "is no field here, and Kubernetes leaves it out: it belongs into a container");
    else if (in_container && find_field(find_type(at->out, SLICE("Pod")), name, &field))
        spot_bad(at, false, v, "is no field here, and Kubernetes leaves it out: it belongs into the pod's spec");
    else
        spot_bad(at, false, v, "is no field here, and Kubernetes leaves it out: remove it");
}

static void check_required(const struct spot *at, const struct field_type *type, struct jval v)
{
    struct slice rest = type->fields, first = SLICE("");
    struct field field;
    unsigned several = 0;
    while (next_field(&rest, &field)) {
        struct jval one = json_key(v, field.name);
        struct spot there = spot_member(at, field.name);
        if (field.required && !is_given(one))
            spot_bad(&there, false, v, "is missing");
        else if (field.required && json_str_eq(one, SLICE("")))
            spot_bad(&there, false, one, "is empty");
        else if (field.required && json_type(one) == JSON_ARRAY && json_len(one) == 0)
            spot_bad(&there, false, one, "is empty");
        if (!field.of_several || !is_given(one))
            continue;
        if (several++)
            spot_bad(&there, false, one, "and %.*s exclude each other", SLICE_ARG(first));
        first = field.name;
    }
    if (!type->exactly || several)
        return;
    if (findings_full(at->out, false))
        return;
    struct buf words;
    buf_init(&words, ERR_TEXT_MAX / 2);
    for (rest = type->fields; next_field(&rest, &field);)
        if (field.of_several)
            buf_printf(&words, "%s%.*s", words.len ? ", " : "", SLICE_ARG(field.name));
    spot_bad(at, false, v, "must have one of %.*s", SLICE_ARG(buf_slice(&words)));
    buf_free(&words);
}

static void check_object(const struct spot *at, struct slice name, struct jval v)
{
    const struct field_type *type = find_type(at->out, name);
    struct field field;
    struct jval key, one;
    if (is_given(v) && json_type(v) != JSON_OBJECT) {
        spot_bad(at, false, v, "is %s: must be an object", json_type_name(v));
        return;
    }
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one);) {
        struct slice member = json_str(key, at->out->arena);
        struct spot there = spot_member(at, member);
        if (!find_field(type, member, &field))
            unknown(&there, type, member, one);
        else if (is_given(one))
            check(&there, field.type, one);
    }
    check_required(at, type, v);
    rules_check(at, name, v);
}

static void check_map(const struct spot *at, struct slice type, struct jval v)
{
    struct jval key, one;
    struct slice of = {type.ptr + 1, type.len - 2};
    if (json_type(v) != JSON_OBJECT) {
        spot_bad(at, false, v, "is %s: must be an object", json_type_name(v));
        return;
    }
    if (slice_eq(of, SLICE("label")) || slice_eq(of, SLICE("note"))) {
        check_texts(at, v, slice_eq(of, SLICE("label")));
        return;
    }
    if (slice_eq(of, SLICE("resource"))) {
        check_amounts(at, v);
        return;
    }
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one);) {
        struct spot there = spot_member(at, json_str(key, at->out->arena));
        if (is_given(one))
            check(&there, of, one);
    }
}

static void check(const struct spot *at, struct slice type, struct jval v)
{
    char first = type.ptr[0];
    if (first == '(')
        check_word(at, type, v);
    else if (first == '[')
        check_list(at, type, v);
    else if (first == '{')
        check_map(at, type, v);
    else if (first >= 'A' && first <= 'Z')
        check_object(at, type, v);
    else if (slice_starts(type, SLICE("int")) || slice_starts(type, SLICE("long")))
        check_number(at, type, v);
    else if (slice_eq(type, SLICE("amount")))
        check_amount(at, v);
    else if (slice_eq(type, SLICE("port")))
        check_port(at, v);
    else if (slice_eq(type, SLICE("never")))
        spot_bad(at, false, v, "cannot be given to a new pod: remove it");
    else if (slice_eq(type, SLICE("bool")) && json_type(v) != JSON_BOOL)
        spot_bad(at, false, v, "is %s: must be true or false", json_type_name(v));
    for (size_t i = 0; i < COUNT_OF(forms); i++)
        if (slice_eq(type, slice_of(forms[i].name)))
            check_form(at, &forms[i], v);
}

void fields_check(const struct spot *at, const char *type, struct jval v)
{
    if (is_given(v))
        check(at, slice_of(type), v);
}

void fields_flags(const struct spot *at, struct jval v)
{
    const struct field_type *type = find_type(at->out, SLICE("StartParams"));
    struct field field;
    struct jval key, one;
    for (struct jiter it = json_iter(v); json_next(&it, &key, &one);) {
        struct slice name = json_str(key, at->out->arena), rest = type->fields;
        struct nearest n = {.typed = name};
        while (at->out->count < FINDINGS_MAX && !find_field(type, name, &field) && next_field(&rest, &field))
            nearest_try(&n, field.name);
        struct spot there = spot_member(at, name);
        if (n.best.ptr)
            spot_bad(&there, true, one, "is no flag of ray start that is known here: did you mean %.*s?", SLICE_ARG(n.best));
    }
}
