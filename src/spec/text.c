#include <mobula/text.h>

static bool add_error(struct spec_errors *errors, struct slice text, uint32_t line)
{
    spec_errors_add(errors, (struct spec_error){.path = SLICE(""), .text = text, .line = line});
    return false;
}

/* The error of a text that cannot be read begins with its place: "line 3, column 1: …". */
static bool add_unreadable(struct spec_errors *errors, struct slice text, struct arena *a)
{
    int64_t line = 1;
    if (slice_starts(text, SLICE("line "))) {
        struct slice rest = slice_skip(text, strlen("line ")), number = slice_cut(&rest, ',');
        if (slice_int(number, &line))
            text = slice_trim(rest);
    }
    return add_error(errors, arena_dup(a, text), (uint32_t)line);
}

bool spec_text_open(struct slice text, const char *what, struct arena *a, struct yaml_doc *doc, struct jval *root,
                    struct spec_errors *errors)
{
    struct yaml_docs docs;
    struct jval json;
    struct err e = {0};
    *doc = (struct yaml_doc){0};
    *root = NO_VALUE;
    if (text.len > LIMIT_SHAPE_TEXT)
        return add_error(errors, arena_printf(a, "has %zu bytes: at most %d (LIMIT_SHAPE_TEXT)", text.len, LIMIT_SHAPE_TEXT), 1);
    if (!yaml_parse(text, a, &docs, &e))
        return add_unreadable(errors, slice_of(e.text), a);
    if (docs.count == 0)
        return true;
    if (docs.count > 1)
        return add_error(errors, arena_printf(a, "holds a second document: all %s are in one", what), docs.docs[1].line);
    if (!json_read(&json, docs.docs[0].json, a, &e))
        return add_unreadable(errors, slice_of(e.text), a);
    *doc = docs.docs[0];
    *root = json;
    return true;
}

bool spec_text_lines(const struct yaml_doc *doc, struct spec_errors *errors)
{
    for (uint32_t i = 0; i < errors->count; i++)
        errors->list[i].line = yaml_line(doc, errors->list[i].offset);
    return errors->count == 0;
}
