#include <mobula/text.h>

#include <stdio.h>

static bool add_error(struct shape_errors *errors, struct slice path, struct slice text, uint32_t line)
{
    if (errors->count == LIMIT_SPEC_ERRORS)
        errors->beyond++;
    else
        errors->list[errors->count++] = (struct shape_error){path, text, line};
    return false;
}

/* The error of a text that cannot be read begins with its place: "line 3, column 1: …". */
static bool add_unreadable(struct shape_errors *errors, struct slice text, struct arena *a)
{
    int64_t line = 1;
    if (slice_starts(text, SLICE("line "))) {
        struct slice rest = slice_skip(text, strlen("line ")), number = slice_cut(&rest, ',');
        if (slice_int(number, &line))
            text = slice_trim(rest);
    }
    return add_error(errors, SLICE(""), arena_dup(a, text), (uint32_t)line);
}

bool shape_text_open(struct slice text, const char *what, struct arena *a, struct yaml_doc *doc, struct jval *root,
                     struct shape_errors *errors)
{
    struct yaml_docs docs;
    struct jval json;
    struct err e = {0};
    *doc = (struct yaml_doc){0};
    *root = NO_VALUE;
    if (text.len > LIMIT_SHAPE_TEXT)
        return add_error(errors, SLICE(""), arena_printf(a, "has %zu bytes: at most %d (LIMIT_SHAPE_TEXT)", text.len, LIMIT_SHAPE_TEXT), 1);
    if (!yaml_parse(text, a, &docs, &e))
        return add_unreadable(errors, slice_of(e.text), a);
    if (docs.count == 0)
        return true;
    if (docs.count > 1)
        return add_error(errors, SLICE(""), arena_printf(a, "holds a second document: all %s are in one", what), docs.docs[1].line);
    if (!json_read(&json, docs.docs[0].json, a, &e))
        return add_unreadable(errors, slice_of(e.text), a);
    *doc = docs.docs[0];
    *root = json;
    return true;
}

bool shape_text_errors(const struct yaml_doc *doc, const struct spec_errors *found, struct shape_errors *errors)
{
    for (uint32_t i = 0; i < found->count; i++)
        add_error(errors, found->list[i].path, found->list[i].text, yaml_line(doc, found->list[i].offset));
    errors->beyond += found->beyond;
    return found->count == 0;
}

bool shape_errors_tell(const struct shape_errors *errors, struct err *e)
{
    const struct shape_error *first = &errors->list[0];
    uint32_t more = errors->count + errors->beyond - 1;
    char rest[32] = "";
    if (more)
        snprintf(rest, sizeof rest, "; %u more error%s", more, more == 1 ? "" : "s");
    return err_set(e, ERR_CONFIG, "line %u: %.*s%s%.*s%s", first->line, SLICE_ARG(slice_head(first->path, 200)),
                   first->path.len ? ": " : "", SLICE_ARG(slice_head(first->text, 400)), rest);
}
