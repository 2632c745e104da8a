#include "cases.h"

#include <mobula/json.h>

typedef bool change_fn(struct slice document, struct slice patch, struct arena *a, struct slice *out, struct err *e);

static bool contains(const char *text, struct slice part)
{
    for (struct slice s = slice_of(text); s.len >= part.len; s = slice_skip(s, 1))
        if (slice_starts(s, part))
            return true;
    return false;
}

static void check_result(struct slice got, struct slice want, struct arena *a)
{
    struct json one, two;
    struct err e = {0};
    CHECK(json_parse(&one, got, a, &e) && json_parse(&two, want, a, &e));
    if (!CHECK(json_equal(json_root(&one), json_root(&two))))
        printf("  got %.*s\n", SLICE_ARG(got));
}

/* The same by the engine that reads operations once. */
static bool edit(struct slice document, struct slice patch, struct arena *a, struct slice *out, struct err *e)
{
    struct json *doc = arena_new(a, struct json);
    struct json operations;
    struct jval k, operation;
    int index = 0;
    if (!json_parse(doc, document, a, e))
        return err_wrap(e, "document");
    if (!json_parse(&operations, patch, a, e))
        return err_wrap(e, "patch");
    if (json_type(json_root(&operations)) != JSON_ARRAY)
        return err_set(e, ERR_TYPE, "a JSON patch is an array of operations");
    struct json_edit *x = json_edit_new(doc, a, e);
    for (struct jiter it = json_iter(json_root(&operations)); json_next(&it, &k, &operation); index++) {
        struct json_op op = {0};
        if (!json_op_read(operation, true, a, &op, e) || !json_edit_run(x, &op))
            return err_wrap(e, "operation %d (%.*s %.*s)", index, SLICE_ARG(json_get_str(operation, "op", a)),
                            SLICE_ARG(json_get_str(operation, "path", a)));
        CHECK_SLICE(slice_of(json_op_name(&op)), json_get_str(operation, "op", a));
    }
    return json_edit_text(x, out);
}

static void run_cases(const char *path, change_fn *change)
{
    struct arena files = {0};
    struct slice file = read_file(path, &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct arena a = {0};
        struct err e = {0};
        struct slice out = SLICE_NONE, result = case_part(&c, "result"), error = slice_trim(case_part(&c, "error"));
        if (change == edit && case_part(&c, "extended").ptr)
            result = case_part(&c, "extended");
        if (change == edit && case_part(&c, "extended error").ptr) {
            result = SLICE_NONE;
            error = slice_trim(case_part(&c, "extended error"));
        }
        struct slice document = guarded_n(0, slice_trim(case_part(&c, "document")));
        bool ok = change(document, guarded_n(1, slice_trim(case_part(&c, "patch"))), &a, &out, &e);
        CHECK_INT(ok, result.ptr != NULL);
        if (ok)
            check_result(out, result, &a);
        else if (!CHECK(contains(e.text, error) && out.ptr == NULL))
            printf("  got %s\n", e.text);
        arena_free(&a);
    }
    arena_free(&files);
}

static enum err_code try(change_fn *change, const struct buf *document, const struct buf *patch)
{
    struct arena a = {0};
    struct err e = {0};
    struct slice out;
    struct json doc;
    if (change(buf_slice(document), buf_slice(patch), &a, &out, &e))
        CHECK(json_parse(&doc, out, &a, &e));
    arena_free(&a);
    return e.code;
}

static void test_operations(void)
{
    struct buf document, patch;
    buf_init(&document, MIB);
    buf_init(&patch, MIB);
    buf_put(&document, SLICE("{}"));
    for (int past = 0; past < 2; past++) {
        test_case("operations %d", past);
        buf_clear(&patch);
        for (int i = 0; i < LIMIT_JSON_PATCH_OPS + past; i++)
            buf_printf(&patch, "%c{\"op\":\"test\",\"path\":\"\",\"value\":{}}", i ? ',' : '[');
        buf_putc(&patch, ']');
        CHECK_INT(try(json_patch, &document, &patch), past ? ERR_LIMIT : ERR_NONE);
    }
    buf_free(&document);
    buf_free(&patch);
}

/* Copies of copies double the document with every operation: bytes or values, a limit is met, and quickly. */
static void test_amplification(void)
{
    struct buf document, patch;
    buf_init(&document, MIB);
    buf_init(&patch, MIB);
    for (int opened = 0; opened < 2; opened++) {
        test_case("amplification %d", opened);
        buf_clear(&document);
        buf_clear(&patch);
        buf_printf(&document, "{\"a\":[\"%0*d\"]}", 1000, 0);
        for (int i = 0; i < 1000; i++)
            buf_printf(&patch, "%c{\"op\":\"copy\",\"from\":\"/a%s\",\"path\":\"/a/-\"}", i ? ',' : '[', opened ? "" : "/0");
        buf_putc(&patch, ']');
        CHECK_INT(try(json_patch, &document, &patch), opened ? ERR_LIMIT : ERR_NONE);
    }
    test_case("amplification of bytes");
    buf_clear(&document);
    buf_printf(&document, "{\"a\":[\"%0*d\"]}", 10000, 0);
    CHECK_INT(try(json_patch, &document, &patch), ERR_LIMIT);
    buf_clear(&patch);
    for (int i = 0; i < 400; i++)
        buf_printf(&patch, "%c{\"op\":\"copy\",\"from\":\"/a/0\",\"path\":\"/a/-\"}", i ? ',' : '[');
    buf_putc(&patch, ']');
    CHECK_INT(try(json_patch, &document, &patch), ERR_LIMIT);
    buf_free(&document);
    buf_free(&patch);
}

/* The largest result there may be, and one byte more. */
static void test_size(void)
{
    struct buf document, patch;
    buf_init(&document, LIMIT_JSON_ITEM);
    buf_init(&patch, KIB);
    buf_printf(&document, "{\"a\":\"%0*d\"}", LIMIT_JSON_ITEM - 8, 0);
    CHECK_INT(document.len, LIMIT_JSON_ITEM);
    test_case("size");
    buf_put(&patch, SLICE("[{\"op\":\"test\",\"path\":\"\",\"value\":1}]"));
    CHECK_INT(try(json_patch, &document, &patch), ERR_RANGE);
    buf_clear(&patch);
    buf_put(&patch, SLICE("[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\"}]"));
    CHECK_INT(try(json_patch, &document, &patch), ERR_NONE);
    buf_clear(&patch);
    buf_put(&patch, SLICE("[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/bb\"}]"));
    CHECK_INT(try(json_patch, &document, &patch), ERR_LIMIT);
    buf_clear(&patch);
    buf_put(&patch, SLICE("{\"b\":1}"));
    CHECK_INT(try(json_merge, &document, &patch), ERR_LIMIT);
    buf_clear(&patch);
    buf_put(&patch, SLICE("{}"));
    CHECK_INT(try(json_merge, &document, &patch), ERR_NONE);
    buf_free(&document);
    buf_free(&patch);
}

/* Operations that put things into each other make no document that is too deep to be read. */
static void test_depth(void)
{
    struct buf document, patch;
    buf_init(&document, KIB);
    buf_init(&patch, MIB);
    buf_put(&document, SLICE("{}"));
    for (int moves = 60; moves < 70; moves++) {
        test_case("depth %d", moves);
        buf_clear(&patch);
        /* every round: /a becomes {"a":<the old /a>} */
        for (int i = 0; i < moves; i++)
            buf_printf(&patch, "%c{\"op\":\"add\",\"path\":\"/b\",\"value\":{}}%s,{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/a\"}",
                       i ? ',' : '[', i ? ",{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b/a\"}" : "");
        buf_putc(&patch, ']');
        CHECK_INT(try(json_patch, &document, &patch), moves < LIMIT_JSON_DEPTH ? ERR_NONE : ERR_LIMIT);
        patch.len--;
        buf_put(&patch, SLICE(",{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"\"}]")); /* one level less, if the copy may be made */
        CHECK_INT(try(json_patch, &document, &patch), moves <= LIMIT_JSON_DEPTH ? ERR_NONE : ERR_LIMIT);
    }
    buf_free(&document);
    buf_free(&patch);
}

/* An array in which each operation looks for its last element: as many as may be looked at, and one more. */
static void test_steps(void)
{
    enum { ELEMENTS = 4 * KIB, OPERATIONS = LIMIT_JSON_PATCH_STEPS / ELEMENTS };
    struct buf document, patch;
    buf_init(&document, MIB);
    buf_init(&patch, MIB);
    for (int i = 0; i <= ELEMENTS; i++)
        buf_printf(&document, "%c0", i ? ',' : '[');
    buf_putc(&document, ']');
    for (int past = 0; past < 2; past++) {
        test_case("steps %d", past);
        buf_clear(&patch);
        for (int i = 0; i < OPERATIONS; i++)
            buf_printf(&patch, "%c{\"op\":\"test\",\"path\":\"/%d\",\"value\":0}", i ? ',' : '[', ELEMENTS);
        buf_put(&patch, past ? SLICE(",{\"op\":\"test\",\"path\":\"/1\",\"value\":0}]") : SLICE("]"));
        CHECK_INT(try(json_patch, &document, &patch), past ? ERR_LIMIT : ERR_NONE);
        CHECK_INT(try(edit, &document, &patch), past ? ERR_LIMIT : ERR_NONE);
    }
    buf_free(&document);
    buf_free(&patch);
}

/* Each operation copies all that is there: 40 of them would make a million million values. */
static void test_doubling(void)
{
    static const char *const below[] = {"", "/x", "/0"};
    struct buf document, patch;
    buf_init(&document, MIB);
    buf_init(&patch, MIB);
    buf_put(&document, SLICE("{\"b\":[0]}"));
    for (size_t i = 0; i < COUNT_OF(below); i++) {
        test_case("doubling %zu", i);
        buf_clear(&patch);
        for (int k = 0; k < 40; k++) {
            char path[32];
            snprintf(path, sizeof path, "/a%d%s", k, below[i]);
            buf_printf(&patch, "%c{\"op\":\"add\",\"path\":\"%s\",\"value\":{}},{\"op\":\"copy\",\"from\":\"\",\"path\":\"%s\"}",
                       k ? ',' : '[', path, path);
        }
        buf_putc(&patch, ']');
        CHECK_INT(try(edit, &document, &patch), ERR_LIMIT);
    }
    buf_free(&document);
    buf_free(&patch);
}

int main(void)
{
    run_cases("tests/data/json/patch.case", json_patch);
    run_cases("tests/data/json/suite.case", json_patch);
    run_cases("tests/data/json/merge.case", json_merge);
    run_cases("tests/data/json/patch.case", edit);
    run_cases("tests/data/json/suite.case", edit);
    run_cases("tests/data/json/edit.case", edit);
    test_steps();
    test_doubling();
    test_operations();
    test_amplification();
    test_size();
    test_depth();
    return test_done();
}
