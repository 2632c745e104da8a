/* Resources in short, and the errors that readers find in them. */
#ifndef MOBULA_TEST_ERRORS_H
#define MOBULA_TEST_ERRORS_H

#include "../test.h"

#include <mobula/spec.h>

/* JSON with single quotes for the reader's sake. */
static inline struct jval parse_quoted(const char *text, struct arena *a)
{
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    size_t len = strlen(text);
    char *copy = arena_alloc(a, len + 1);
    for (size_t i = 0; i < len; i++)
        copy[i] = text[i] == '\'' ? '"' : text[i];
    if (!CHECK(json_parse(doc, guarded((struct slice){copy, len}), a, &e)))
        printf("  %s\n", e.text);
    return json_root(doc);
}

/* want: one a line, in order: the path and how the text begins; NULL: none. */
static inline void check_spec_errors(const struct spec_errors *errors, const char *want, struct arena *a)
{
    struct slice rest = slice_of(want);
    for (uint32_t i = 0; i < errors->count; i++) {
        struct slice line = slice_cut(&rest, '\n');
        struct slice got = arena_printf(a, "%.*s: %.*s", SLICE_ARG(errors->list[i].path), SLICE_ARG(errors->list[i].text));
        if (!CHECK(line.ptr && slice_starts(got, line)))
            printf("  got  %.*s\n  want %.*s\n", SLICE_ARG(got), SLICE_ARG(line));
    }
    if (!CHECK(slice_empty(rest)))
        printf("  missing %.*s\n", SLICE_ARG(rest));
}

#endif
