/* What names may be, and how the real server says that one is not: k8s.io/apimachinery/pkg/util/validation. */
#include "rules.h"

enum { LABEL_MAX = 63, SUBDOMAIN_MAX = 253 };

#define LABEL_FMT "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define QUALIFIED_FMT "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define QUALIFIED                                                                                                                          \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "               \
    "'MyName',  or 'my.name',  or '123-abc', regex used for validation is '" QUALIFIED_FMT "')"

static const char *const said[] = {
    [NAME_SUBDOMAIN] =
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
        "end with an alphanumeric character (e.g. 'example.com', regex used for validation is '" LABEL_FMT "(\\." LABEL_FMT ")*')",
    [NAME_LABEL] = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
                   "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '" LABEL_FMT "')",
    [NAME_LABEL_1035] = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
                        "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
                        "'[a-z]([-a-z0-9]*[a-z0-9])?')",
};

static bool alnum(char c, bool upper)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (upper && c >= 'A' && c <= 'Z');
}

/* Of these characters, with a letter or digit at both ends. */
static bool consists(struct slice s, const char *between, bool upper)
{
    if (!s.len || !alnum(s.ptr[0], upper) || !alnum(s.ptr[s.len - 1], upper))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!alnum(s.ptr[i], upper) && !strchr(between, s.ptr[i]))
            return false;
    return true;
}

static bool subdomain(struct slice s)
{
    bool ok = s.len > 0 && s.ptr[s.len - 1] != '.';
    while (ok && s.ptr)
        ok = consists(slice_cut(&s, '.'), "-", false);
    return ok;
}

static void path_segment(struct status *st, struct slice field, struct slice name)
{
    if (slice_eq(name, SLICE(".")) || slice_eq(name, SLICE("..")))
        status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": may not be '%.*s'", SLICE_ARG(name), SLICE_ARG(name));
    for (const char *c = "/%"; *c; c++)
        if (slice_find(name, *c) >= 0)
            status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": may not contain '%c'", SLICE_ARG(name), *c);
}

void names_check(struct status *st, struct slice field, struct slice name, enum name_rule rule)
{
    size_t max = rule == NAME_SUBDOMAIN ? SUBDOMAIN_MAX : LABEL_MAX;
    if (rule == NAME_PATH) {
        path_segment(st, field, name);
        return;
    }
    if (name.len > max)
        status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": must be no more than %zu characters", SLICE_ARG(name), max);
    bool letter = rule != NAME_LABEL_1035 || (name.len && name.ptr[0] >= 'a');
    if (rule == NAME_LABEL && slice_find(name, '.') >= 0 && subdomain(name))
        status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": must not contain dots", SLICE_ARG(name));
    else if (rule == NAME_SUBDOMAIN ? !subdomain(name) : !letter || !consists(name, "-", false))
        status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": %s", SLICE_ARG(name), said[rule]);
}

static void prefix_part(struct status *st, struct slice field, struct slice key, struct slice prefix)
{
    if (!prefix.len)
        status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": prefix part must be non-empty", SLICE_ARG(key));
    else if (!subdomain(prefix))
        status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": prefix part %s", SLICE_ARG(key), said[NAME_SUBDOMAIN]);
}

void names_check_qualified(struct status *st, struct slice field, struct slice key)
{
    struct slice name = key, prefix = SLICE_NONE;
    if (slice_find(name, '/') >= 0)
        prefix = slice_cut(&name, '/');
    if (slice_find(name, '/') >= 0) {
        status_cause(st, "FieldValueInvalid", field,
                     "Invalid value: \"%.*s\": a qualified name " QUALIFIED " with an optional DNS subdomain prefix and '/' (e.g. "
                     "'example.com/MyName')",
                     SLICE_ARG(key));
        return;
    }
    if (prefix.ptr)
        prefix_part(st, field, key, prefix);
    if (!name.len)
        status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": name part must be non-empty", SLICE_ARG(key));
    else if (name.len > LABEL_MAX)
        status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": name part must be no more than %d characters",
                     SLICE_ARG(key), LABEL_MAX);
    if (!consists(name, "-_.", true))
        status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": name part " QUALIFIED, SLICE_ARG(key));
}

void names_check_label_value(struct status *st, struct slice field, struct slice value)
{
    if (value.len > LABEL_MAX)
        status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": must be no more than %d characters", SLICE_ARG(value),
                     LABEL_MAX);
    if (value.len && !consists(value, "-_.", true))
        status_cause(st, "FieldValueInvalid", field,
                     "Invalid value: \"%.*s\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
                     "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
                     "for validation is '(" QUALIFIED_FMT ")?')",
                     SLICE_ARG(value));
}
