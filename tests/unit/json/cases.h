/* Files of cases: "== name" begins one, "-- part" begins one of its parts, which goes on to the next such line. Lines before the first
 * case are comments. */
#ifndef MOBULA_TEST_CASES_H
#define MOBULA_TEST_CASES_H

#include "../test.h"

struct case_text {
    struct slice name, parts;
};

/* The line at the front of *s, with its newline. */
static inline struct slice case_line(struct slice s)
{
    ptrdiff_t newline = slice_find(s, '\n');
    return slice_head(s, newline < 0 ? s.len : (size_t)newline + 1);
}

/* Everything before the next line that begins with mark. */
static inline struct slice case_until(struct slice s, struct slice mark)
{
    struct slice rest = s;
    while (!slice_empty(rest) && !slice_starts(rest, mark))
        rest = slice_skip(rest, case_line(rest).len);
    return slice_head(s, s.len - rest.len);
}

/* for (struct case_text c; case_next(&file, &c);) */
static inline bool case_next(struct slice *file, struct case_text *c)
{
    *file = slice_skip(*file, case_until(*file, SLICE("== ")).len);
    if (slice_empty(*file))
        return false;
    struct slice title = case_line(*file);
    *file = slice_skip(*file, title.len);
    c->name = slice_trim(slice_skip(title, 3));
    c->parts = case_until(*file, SLICE("== "));
    test_case("%.*s", SLICE_ARG(c->name));
    return true;
}

/* SLICE_NONE when the case has no such part. */
static inline struct slice case_part(const struct case_text *c, const char *part)
{
    struct slice rest = c->parts;
    while (!slice_empty(rest)) {
        struct slice title = case_line(rest);
        rest = slice_skip(rest, title.len);
        struct slice body = case_until(rest, SLICE("-- "));
        if (slice_starts(title, SLICE("-- ")) && slice_eq(slice_trim(slice_skip(title, 3)), slice_of(part)))
            return body;
        rest = slice_skip(rest, body.len);
    }
    return SLICE_NONE;
}

#endif
