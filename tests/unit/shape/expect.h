/* What cases of texts in ConfigMaps expect: errors with their lines, and a document or the reason why there is none. As test.h counts in
 * each program, these are functions of the file that includes them. */
#ifndef TESTS_UNIT_SHAPE_EXPECT_H
#define TESTS_UNIT_SHAPE_EXPECT_H

#include "../json/cases.h"

#include <mobula/shape.h>

/* want: "LINE: PATH: TEXT" for each error, in order; of each the beginning is enough. */
__attribute__((unused)) static void expect_errors(struct slice want, const struct spec_errors *errors, struct arena *a)
{
    struct slice rest = slice_trim(want);
    for (uint32_t i = 0; i < errors->count; i++) {
        const struct spec_error *one = &errors->list[i];
        struct slice got = arena_printf(a, "%u: %.*s: %.*s", one->line, SLICE_ARG(one->path), SLICE_ARG(one->text));
        struct slice line = slice_empty(rest) ? SLICE("none") : slice_cut(&rest, '\n');
        if (!CHECK(slice_starts(got, slice_trim(line))))
            printf("  got  %.*s\n  want %.*s\n", SLICE_ARG(got), SLICE_ARG(line));
    }
    CHECK(slice_empty(rest));
}

/* ok: whether out was made. It must equal result, as JSON; else the error must hold the words of refused. */
static void expect_document(bool ok, struct slice out, const struct err *e, struct slice result, struct slice refused, struct arena *a)
{
    struct json one, two;
    struct err why = {0};
    CHECK_INT(ok, result.ptr != NULL);
    if (!ok) {
        if (!CHECK(refused.ptr && slice_has(slice_of(e->text), arena_printf(a, "%.*s", SLICE_ARG(slice_trim(refused))).ptr)))
            printf("  got %s\n", e->text);
        return;
    }
    CHECK(json_parse(&one, out, a, &why) && json_parse(&two, slice_trim(result), a, &why));
    if (!CHECK(json_equal(json_root(&one), json_root(&two))))
        printf("  got %.*s\n", SLICE_ARG(out));
}

#endif
