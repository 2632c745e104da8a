#include "token.h"

/* A walk over text that nobody has checked yet: whatever is not as it should be ends it with NULL, and json_parse says why. */

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && json_is_space(*p))
        p++;
    return p;
}

/* p is at the opening quote. */
static const char *string_end(const char *p, const char *end)
{
    for (p++; (p = json_plain_end(p, end)) < end; p += *p == '\\' ? 2 : 1) {
        if (*p == '"')
            return p + 1;
        if (end - p < 2)
            break;
    }
    return NULL;
}

static const char *value_end(const char *p, const char *end)
{
    size_t depth = 0;
    while (p && p < end) {
        char c = *p;
        if (c == '"') {
            p = string_end(p, end);
        } else if (c == '{' || c == '[') {
            depth++;
            p++;
        } else if (c == '}' || c == ']' || c == ',') {
            if (depth == 0)
                return p; /* behind a number or a literal */
            depth -= c != ',';
            p++;
        } else {
            p++;
            continue;
        }
        if (p && depth == 0)
            return p;
    }
    return NULL;
}

struct found {
    const char *from, *value; /* its key's quote; the first byte of its value */
    const char *comma;        /* the one before it; NULL: it is the first */
};

/* The member of this name in the object that p is at. */
static bool find_member(const char *p, const char *end, struct slice name, struct found *f)
{
    *f = (struct found){0};
    if (p == end || *p != '{')
        return false;
    for (p = skip_space(p + 1, end); p < end && *p == '"'; p = skip_space(p + 1, end)) {
        f->from = p;
        const char *behind = string_end(p, end);
        if (!behind)
            return false;
        struct slice key = {p + 1, (size_t)(behind - p) - 2};
        p = skip_space(behind, end);
        if (p == end || *p != ':')
            return false;
        f->value = skip_space(p + 1, end);
        if (slice_eq(key, name))
            return true;
        p = value_end(f->value, end);
        f->comma = p ? skip_space(p, end) : end;
        p = f->comma;
        if (p == end || *p != ',')
            return false;
    }
    return false;
}

static struct slice cut(struct slice text, const struct found *f, struct arena *a)
{
    const char *end = text.ptr + text.len, *from = f->comma ? f->comma : f->from, *to = value_end(f->value, end);
    if (!to)
        return text;
    const char *next = skip_space(to, end);
    if (!f->comma && next < end && *next == ',')
        to = next + 1;
    size_t before = (size_t)(from - text.ptr), after = (size_t)(end - to);
    char *rest = arena_alloc(a, before + after);
    memcpy(rest, text.ptr, before);
    memcpy(rest + before, to, after);
    return (struct slice){rest, before + after};
}

struct slice json_without(struct slice text, const char *path, struct arena *a)
{
    if (slice_empty(text))
        return text; /* which may lie nowhere */
    struct found f = {.value = text.ptr};
    const char *end = text.ptr + text.len;
    for (struct slice rest = slice_of(path); rest.ptr;)
        if (!find_member(skip_space(f.value, end), end, slice_cut(&rest, '.'), &f))
            return text;
    return cut(text, &f, a);
}
