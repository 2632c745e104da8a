#include "expect.h"

#include <mobula/patches.h>

static void check_object(const struct shape_patches *patches, struct slice object, struct slice result, struct slice refused,
                         struct arena *a)
{
    struct err e = {0};
    struct slice out = SLICE_NONE;
    bool ok = shape_patches_apply(patches, guarded_n(1, slice_trim(object)), NULL, a, &out, &e);
    expect_document(ok, out, &e, result, refused, a);
}

static void test_cases(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/shape/patches.case", &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct arena a = {0};
        struct shape_patches patches;
        struct spec_errors errors = {0};
        bool ok = shape_patches_read(guarded_n(0, case_part(&c, "patches")), &a, &patches, &errors);
        CHECK_INT(ok, case_part(&c, "errors").ptr == NULL);
        expect_errors(case_part(&c, "errors").ptr ? case_part(&c, "errors") : SLICE(""), &errors, &a);
        if (ok && CHECK(case_part(&c, "object").ptr != NULL))
            check_object(&patches, case_part(&c, "object"), case_part(&c, "result"), case_part(&c, "refused"), &a);
        if (ok && case_part(&c, "object 2").ptr)
            check_object(&patches, case_part(&c, "object 2"), case_part(&c, "result 2"), case_part(&c, "refused 2"), &a);
        arena_free(&a);
    }
    arena_free(&files);
}

/* Each example of the page is a case. */
static void test_docs(void)
{
    struct arena a = {0};
    struct slice docs = read_file("docs/patches.md", &a), cases = read_file("tests/data/shape/patches.case", &a);
    int examples = 0;
    test_case("docs");
    for (ptrdiff_t at; (at = slice_find_text(docs, "```yaml\n")) >= 0; examples++) {
        docs = slice_skip(docs, (size_t)at + strlen("```yaml\n"));
        struct slice example = slice_head(docs, (size_t)slice_find_text(docs, "```"));
        struct slice part = arena_printf(&a, "-- patches\n%.*s-- object\n", SLICE_ARG(example));
        if (!CHECK(slice_has(cases, part.ptr)))
            printf("  %.*s\n", SLICE_ARG(example));
        docs = slice_skip(docs, example.len + strlen("```"));
    }
    CHECK(examples >= 5);
    arena_free(&a);
}

static void check_selected(const struct shape_selector *s, struct slice lines, bool meets, struct arena *a)
{
    for (struct slice rest = slice_trim(lines); !slice_empty(rest);) {
        struct json doc;
        struct err e = {0};
        struct slice line = slice_cut(&rest, '\n');
        if (CHECK(json_parse(&doc, arena_printf(a, "{\"metadata\":%.*s}", SLICE_ARG(line)), a, &e)) &&
            !CHECK(shape_selector_meets(s, json_edit_new(&doc, a, &e)) == meets))
            printf("  %.*s\n", SLICE_ARG(line));
    }
}

static void test_selectors(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/shape/selectors.case", &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct arena a = {0};
        struct shape_selector s;
        struct err e = {0};
        bool ok = shape_selector_read(guarded(slice_trim(case_part(&c, "selector"))), &a, &s, &e);
        struct slice error = slice_trim(case_part(&c, "error"));
        CHECK_INT(ok, slice_empty(error));
        if (ok) {
            check_selected(&s, case_part(&c, "meets"), true, &a);
            check_selected(&s, case_part(&c, "misses"), false, &a);
        } else if (!CHECK(slice_has(slice_of(e.text), arena_printf(&a, "%.*s", SLICE_ARG(error)).ptr))) {
            printf("  got %s\n", e.text);
        }
        arena_free(&a);
    }
    arena_free(&files);
}

static bool selects(const char *begin, const char *more, int count, const char *end)
{
    struct arena a = {0};
    struct shape_selector s;
    struct err e = {0};
    struct buf b;
    buf_init(&b, MIB);
    buf_printf(&b, "%s", begin);
    for (int i = 0; i < count; i++)
        buf_printf(&b, "%s", more);
    buf_printf(&b, "%s", end);
    bool ok = shape_selector_read(buf_slice(&b), &a, &s, &e);
    CHECK(ok || (e.code == ERR_LIMIT && slice_has(slice_of(e.text), "LIMIT_PATCH_")));
    buf_free(&b);
    arena_free(&a);
    return ok;
}

static bool reads(int patches, int operations)
{
    struct arena a = {0};
    struct shape_patches out;
    struct spec_errors errors = {0};
    struct buf b;
    buf_init(&b, LIMIT_SHAPE_TEXT);
    for (int i = 0; i < patches; i++)
        buf_printf(&b, "- patch: []\n");
    buf_printf(&b, "- patch:\n");
    for (int i = 0; i < operations; i++)
        buf_printf(&b, "  - {op: remove, path: /a}\n");
    bool ok = shape_patches_read(buf_slice(&b), &a, &out, &errors);
    CHECK(ok || (errors.count == 1 && slice_has(errors.list[0].text, "LIMIT_PATCHES")));
    CHECK_INT(ok ? 0 : errors.list[0].line, ok ? 0 : patches < LIMIT_PATCHES ? patches + 1 : 1); /* of the patch that is one too many */
    buf_free(&b);
    arena_free(&a);
    return ok;
}

static void test_limits(void)
{
    struct arena a = {0};
    struct shape_patches out;
    struct spec_errors errors = {0};
    struct buf b;
    test_case("limits");
    CHECK(selects("a", ",a", LIMIT_PATCH_REQUIREMENTS - 1, "") && !selects("a", ",a", LIMIT_PATCH_REQUIREMENTS, ""));
    CHECK(selects("a in (b", ",b", LIMIT_PATCH_VALUES - 1, ")") && !selects("a in (b", ",b", LIMIT_PATCH_VALUES, ")"));
    CHECK(selects("a", " ", LIMIT_PATCH_SELECTOR - 1, "") && !selects("a", " ", LIMIT_PATCH_SELECTOR, ""));
    CHECK(reads(LIMIT_PATCHES - 1, 1) && !reads(LIMIT_PATCHES, 1));
    CHECK(reads(1, LIMIT_PATCHES_OPS) && !reads(1, LIMIT_PATCHES_OPS + 1) && !reads(1, 10 * 1000));
    buf_init(&b, LIMIT_SHAPE_TEXT + 1);
    memset(buf_room(&b, LIMIT_SHAPE_TEXT + 1), ' ', LIMIT_SHAPE_TEXT + 1);
    CHECK(shape_patches_read((struct slice){b.ptr, LIMIT_SHAPE_TEXT}, &a, &out, &errors));
    CHECK(!shape_patches_read((struct slice){b.ptr, LIMIT_SHAPE_TEXT + 1}, &a, &out, &errors));
    buf_free(&b);
    arena_free(&a);
}

/* Each operation copies all that is there: the limit is met before there is much of it, and the message names the operation. */
static void test_doubling(void)
{
    struct arena a = {0};
    struct shape_patches set;
    struct spec_errors errors = {0};
    struct slice out;
    struct err e = {0};
    struct buf b;
    test_case("doubling");
    buf_init(&b, MIB);
    buf_printf(&b, "# copies\n- patch:\n");
    for (int i = 0; i < 40; i++)
        buf_printf(&b, "  - {op: add, path: /a%d, value: {}}\n  - {op: copy, from: '', path: /a%d/x}\n", i, i);
    CHECK(shape_patches_read(buf_slice(&b), &a, &set, &errors));
    CHECK(!shape_patches_apply(&set, SLICE("{\"kind\":\"Pod\"}"), NULL, &a, &out, &e) && e.code == ERR_LIMIT);
    CHECK(slice_starts(slice_of(e.text), SLICE("patch 1 (line 2), operation ")) && slice_has(slice_of(e.text), "LIMIT_JSON_"));
    CHECK(a.used < 64 * MIB);
    buf_free(&b);
    arena_free(&a);
}

/* As many operations as there may be, and the last of them takes away what Ray is started by: which one it was is found without a copy of
 * the pod for each. */
static void test_blame(void)
{
    static const char pod[] =
        "{\"kind\":\"Pod\",\"metadata\":{\"annotations\":{\"a\":\"%0*d\"}},\"spec\":{\"containers\":[{\"name\":\"ray\"}]}}";
    struct arena a = {0};
    struct shape_patches set;
    struct spec_errors errors = {0};
    struct slice out;
    struct err e = {0};
    struct buf b;
    test_case("blame");
    buf_init(&b, MIB);
    buf_printf(&b, "- patch:\n");
    for (int i = 0; i < LIMIT_PATCHES_OPS; i++)
        buf_printf(&b, i == LIMIT_PATCHES_OPS - 2 ? "  - {op: replace, path: /spec/containers/0/name, value: r}\n"
                                                  : "  - {op: add, path: /metadata/labels/a, value: b}\n");
    CHECK(shape_patches_read(buf_slice(&b), &a, &set, &errors));
    size_t before = a.used;
    CHECK(!shape_patches_apply(&set, arena_printf(&a, pod, 20000, 0), NULL, &a, &out, &e));
    CHECK_STR(slice_of(e.text),
              "patch 1 (line 1), operation 4095 (replace /spec/containers/0/name): Ray's container is known and started by its "
              "name: it must stay as it is");
    CHECK(a.used - before < 4 * MIB);
    buf_free(&b);
    arena_free(&a);
}

/* Long keys below stars of wide arrays: each element's path is a copy. */
static void test_wide(void)
{
    struct arena a = {0};
    struct shape_patches set;
    struct spec_errors errors = {0};
    struct slice out;
    struct err e = {0};
    struct buf b;
    test_case("wide");
    buf_init(&b, 2 * MIB);
    buf_printf(&b, "- patch: [{op: add, value: 1, path: \"/a/*/b/*/%0500000d\"}]\n", 0);
    CHECK(shape_patches_read(buf_slice(&b), &a, &set, &errors));
    buf_clear(&b);
    buf_printf(&b, "{\"kind\":\"Pod\",\"a\":[");
    for (int i = 0; i < 40; i++) {
        buf_printf(&b, "%s{\"b\":[{}", i ? "," : "");
        for (int k = 0; k < 40; k++)
            buf_printf(&b, ",{}");
        buf_printf(&b, "]}");
    }
    buf_printf(&b, "]}");
    CHECK(!shape_patches_apply(&set, buf_slice(&b), NULL, &a, &out, &e) && e.code == ERR_LIMIT);
    CHECK(a.used < 128 * MIB);
    buf_free(&b);
    arena_free(&a);
}

struct heard {
    struct buf text;
    int stop;
};

static bool hear(void *who, const struct shape_step *s)
{
    struct heard *h = who;
    buf_printf(&h->text, "%.*s%u.%u %s %.*s -> %.*s\n", SLICE_ARG(s->set->name), s->number, s->op_number, json_op_name(s->op),
               SLICE_ARG(s->before), SLICE_ARG(s->after));
    return --h->stop != 0;
}

/* Two sets, one on top of the other: the lower one first, and an error says whose patch it was. */
static void test_sets(void)
{
    struct arena a = {0};
    struct shape_patches lower, upper, alone;
    struct spec_errors errors = {0};
    struct heard h = {.stop = 9};
    struct shape_listener listener = {hear, &h};
    struct slice out, object = SLICE("{\"kind\":\"Pod\"}");
    struct err e = {0};
    test_case("sets");
    buf_init(&h.text, MIB);
    CHECK(shape_patches_read(SLICE("- patch: [{op: add, path: /spec/a, value: 1}]\n"), &a, &lower, &errors));
    CHECK(shape_patches_read(SLICE("\n- patch: [{op: add, path: /spec/a, value: 2}, {op: remove, path: /spec/b}]\n"), &a, &upper, &errors));
    alone = upper;
    lower.name = SLICE("the defaults");
    shape_patches_above(&upper, &lower);
    CHECK(upper.revision != alone.revision && upper.revision != lower.revision);
    CHECK(!shape_patches_apply(&upper, object, &listener, &a, &out, &e));
    CHECK_STR(slice_of(e.text), "patch 1 (line 2), operation 2 (remove /spec/b): nothing is at \"/spec/b\"");
    CHECK_STR(buf_slice(&h.text), "the defaults1.1 add {\"kind\":\"Pod\"} -> {\"kind\":\"Pod\",\"spec\":{\"a\":1}}\n"
                                  "1.1 add {\"kind\":\"Pod\",\"spec\":{\"a\":1}} -> {\"kind\":\"Pod\",\"spec\":{\"a\":2}}\n");
    e = (struct err){0};
    CHECK(!shape_patches_apply(&lower, SLICE("{\"kind\":\"Pod\",\"spec\":1}"), NULL, &a, &out, &e));
    CHECK_STR(slice_of(e.text),
              "the defaults: patch 1 (line 1), operation 1 (add /spec/a): a part of the path is neither an object nor an array");
    buf_free(&h.text);
    arena_free(&a);
}

/* The texts that are given out: a spot pod and an on-demand pod with an affinity of the user's come through each of them. */
static void test_given_out(void)
{
    static const char *const names[] = {"aws", "gcp", "azure", "generic"};
    static const char pod[] =
        "{\"kind\":\"Pod\",\"metadata\":{\"annotations\":{\"anyscale.com/market-type\":\"%s\",\"anyscale.com/zone\":\"z1\"%s}},\"spec\":{"
        "\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{\"matchExpressions\":["
        "{\"key\":\"mine\",\"operator\":\"Exists\"}]}]}}}}}";
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct arena a = {0};
        struct shape_patches set;
        struct spec_errors errors = {0};
        struct slice spot, demand;
        struct err e = {0};
        test_case("%s", names[i]);
        CHECK(shape_patches_read(read_file(arena_printf(&a, "airgap/patches/%s.yaml", names[i]).ptr, &a), &a, &set, &errors));
        CHECK(shape_patches_apply(&set, arena_printf(&a, pod, "SPOT", ",\"anyscale.com/accelerator-type\":\"T4\""), NULL, &a, &spot, &e));
        CHECK(shape_patches_apply(&set, arena_printf(&a, pod, "ON_DEMAND", ""), NULL, &a, &demand, &e));
        CHECK(slice_has(spot, "\"value\":\"SPOT\"") && slice_has(spot, "\"topology.kubernetes.io/zone\":\"z1\""));
        CHECK(slice_has(spot, "\"value\":\"GPU\"") && !slice_has(demand, "\"value\":\"GPU\"") && !slice_has(demand, "SPOT"));
        CHECK(slice_has(demand, "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"mine\"")); /* still one term: all of it is and */
        CHECK(slice_find_text(demand, "matchExpressions") == slice_find_text_last(demand, "matchExpressions"));
        arena_free(&a);
    }
}

int main(void)
{
    test_cases();
    test_docs();
    test_selectors();
    test_limits();
    test_doubling();
    test_blame();
    test_wide();
    test_sets();
    test_given_out();
    return test_done();
}
