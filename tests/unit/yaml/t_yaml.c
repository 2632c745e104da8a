#include "../json/cases.h"

#include <mobula/json.h>
#include <mobula/yaml.h>

static bool contains(const char *text, struct slice part)
{
    for (struct slice s = slice_of(text); s.len >= part.len; s = slice_skip(s, 1))
        if (slice_starts(s, part))
            return true;
    return false;
}

static void check_same(struct slice got, struct slice want, struct arena *a)
{
    struct json one, two;
    struct err e = {0};
    if (!CHECK(json_parse(&one, got, a, &e) && json_parse(&two, want, a, &e) && json_equal(json_root(&one), json_root(&two))))
        printf("  got  %.*s\n  want %.*s\n  %s\n", SLICE_ARG(got), SLICE_ARG(want), e.text);
}

typedef bool reader(struct slice text, struct arena *a, struct yaml_docs *out, struct err *e);

static void test_read(const char *path, reader *read)
{
    struct arena files = {0};
    struct slice file = read_file(path, &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct arena a = {0};
        struct err e = {0};
        struct yaml_docs docs;
        struct slice json = case_part(&c, "json"), limit = case_part(&c, "limit");
        struct slice error = slice_trim(limit.ptr ? limit : case_part(&c, "error"));
        bool ok = read(guarded(case_part(&c, "yaml")), &a, &docs, &e);
        if (!CHECK_INT(ok, json.ptr != NULL))
            printf("  %s\n", e.text);
        if (!ok && !CHECK(contains(e.text, error) && e.code == (limit.ptr ? ERR_LIMIT : ERR_SYNTAX) && docs.count == 0))
            printf("  got %s\n", e.text);
        struct slice lines = slice_trim(json);
        uint32_t count = 0;
        for (; ok && !slice_empty(lines) && count < docs.count; count++)
            check_same(docs.docs[count].json, slice_cut(&lines, '\n'), &a);
        CHECK_INT(docs.count, count);
        CHECK(slice_empty(lines) || !ok);
        arena_free(&a);
    }
    arena_free(&files);
}

static void test_documents(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/yaml/documents.case", &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct arena a = {0};
        struct err e = {0};
        struct yaml_docs docs;
        struct slice lines = slice_trim(case_part(&c, "documents"));
        CHECK(yaml_parse_each(guarded(case_part(&c, "yaml")), &a, &docs, &e));
        for (uint32_t i = 0; i < docs.count; i++) {
            const struct yaml_doc *doc = &docs.docs[i];
            struct slice want = slice_cut(&lines, '\n');
            if (doc->error)
                CHECK_SLICE(arena_printf(&a, "%u: %s", doc->line, doc->error->text), want);
            else
                check_same(doc->json, want, &a);
        }
        CHECK(slice_empty(lines));
        arena_free(&a);
    }
    arena_free(&files);
}

static void test_write(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/yaml/write.case", &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct arena a = {0};
        struct err e = {0};
        struct yaml_docs docs;
        struct buf out;
        buf_init(&out, MIB);
        struct slice yaml = case_part(&c, "yaml"), error = slice_trim(case_part(&c, "error"));
        bool ok = yaml_write(guarded(case_part(&c, "json")), &out, &e);
        CHECK_INT(ok, yaml.ptr != NULL);
        if (ok) {
            if (slice_ends(yaml, SLICE("\n\n"))) /* the empty line before the next case */
                yaml.len--;
            CHECK_SLICE(buf_slice(&out), yaml);
            if (CHECK(yaml_parse(buf_slice(&out), &a, &docs, &e) && docs.count == 1))
                check_same(docs.docs[0].json, case_part(&c, "json"), &a);
        } else {
            CHECK(contains(e.text, error));
        }
        buf_free(&out);
        arena_free(&a);
    }
    arena_free(&files);
}

static uint32_t line_of(const struct yaml_doc *doc, const char *pointer, struct arena *a)
{
    struct json json;
    CHECK(json_parse(&json, doc->json, a, NULL));
    struct jval v = json_pointer(json_root(&json), slice_of(pointer));
    CHECK(json_there(v));
    return yaml_line(doc, json_offset(v));
}

static void test_lines(void)
{
    struct arena a = {0};
    struct yaml_docs docs;
    struct err e = {0};
    test_case("lines");
    CHECK(yaml_parse(SLICE("# comment\n"
                           "a: 1\n"
                           "list:\n"
                           "- name: x\n"
                           "  port: 1\n"
                           "- name: z\n"
                           "  port:\n"
                           "    deep: true\n"
                           "flow: [1, 2,\n"
                           "  3]\n"
                           "---\n"
                           "b: 2\n"),
                     &a, &docs, &e));
    CHECK_INT(docs.count, 2);
    CHECK_INT(docs.docs[0].line, 2);
    CHECK_INT(line_of(&docs.docs[0], "/a", &a), 2);
    CHECK_INT(line_of(&docs.docs[0], "/list", &a), 3);
    CHECK_INT(line_of(&docs.docs[0], "/list/0", &a), 4);
    CHECK_INT(line_of(&docs.docs[0], "/list/0/port", &a), 5);
    CHECK_INT(line_of(&docs.docs[0], "/list/1", &a), 6);
    CHECK_INT(line_of(&docs.docs[0], "/list/1/name", &a), 6);
    CHECK_INT(line_of(&docs.docs[0], "/list/1/port", &a), 7);
    CHECK_INT(line_of(&docs.docs[0], "/list/1/port/deep", &a), 8);
    CHECK_INT(line_of(&docs.docs[0], "/flow/1", &a), 9);
    CHECK_INT(line_of(&docs.docs[0], "/flow/2", &a), 10);
    CHECK_INT(yaml_line(&docs.docs[0], SIZE_MAX), 10);
    CHECK_INT(docs.docs[1].line, 11);
    CHECK_INT(line_of(&docs.docs[1], "/b", &a), 12);
    test_case("lines of JSON");
    CHECK(yaml_parse(SLICE("\n{\n \"a\": 1,\n \"b\":\n  [1,\n 2]}"), &a, &docs, &e));
    CHECK_INT(docs.docs[0].line, 2);
    CHECK_INT(line_of(&docs.docs[0], "/a", &a), 3);
    CHECK_INT(line_of(&docs.docs[0], "/b", &a), 4);
    CHECK_INT(line_of(&docs.docs[0], "/b/0", &a), 5);
    CHECK_INT(line_of(&docs.docs[0], "/b/1", &a), 6);
    test_case("JSON between white space begins with its value, and its lines are the text's");
    static const char *const leads[] = {"", "\n", " \n\t\r\n"};
    for (size_t i = 0; i < COUNT_OF(leads); i++) {
        CHECK(yaml_parse(arena_printf(&a, "%s{\"a\":\n1} \n", leads[i]), &a, &docs, &e));
        CHECK_STR(docs.docs[0].json, "{\"a\":\n1}");
        CHECK_INT(docs.docs[0].line, 1 + i);
        CHECK_INT(line_of(&docs.docs[0], "/a", &a), 1 + i);
    }
    arena_free(&a);
}

static enum err_code try(const struct buf *text)
{
    struct arena a = {0};
    struct yaml_docs docs;
    struct err e = {0};
    struct json doc;
    if (yaml_parse(buf_slice(text), &a, &docs, &e))
        for (uint32_t i = 0; i < docs.count; i++)
            CHECK(json_parse(&doc, docs.docs[i].json, &a, &e));
    arena_free(&a);
    return e.code;
}

/* n nested lists, in flow or in block style. */
static void nest(struct buf *b, int n, bool flow)
{
    buf_clear(b);
    for (int i = 0; i < n; i++)
        buf_put(b, flow ? SLICE("[") : SLICE("- "));
    buf_put(b, flow ? SLICE("x") : SLICE("x\n"));
    for (int i = 0; i < n; i++)
        buf_put(b, flow ? SLICE("]") : SLICE(""));
}

static void test_limits(void)
{
    struct buf b;
    buf_init(&b, 2 * LIMIT_YAML_INPUT);
    for (int past = 0; past < 2; past++) {
        enum err_code want = past ? ERR_LIMIT : ERR_NONE;
        test_case("depth %d", past);
        nest(&b, LIMIT_YAML_DEPTH + past, true);
        CHECK_INT(try(&b), want);
        nest(&b, LIMIT_YAML_DEPTH + past, false);
        CHECK_INT(try(&b), want);
        test_case("input %d", past);
        buf_clear(&b);
        buf_printf(&b, "a: %0*d\n", LIMIT_YAML_INPUT - 4 + past, 0);
        b.ptr[3] = 'x';
        CHECK_INT(try(&b), want);
        test_case("documents %d", past);
        buf_clear(&b);
        for (int i = 0; i < LIMIT_YAML_DOCUMENTS + past; i++)
            buf_put(&b, SLICE("--- a\n"));
        CHECK_INT(try(&b), want);
        test_case("values %d", past);
        buf_clear(&b);
        for (int i = 0; i < LIMIT_JSON_TOKENS - 1 + past; i++)
            buf_put(&b, SLICE("- a\n"));
        CHECK_INT(try(&b), want);
    }
    test_case("deep, and quickly");
    nest(&b, 100 * 1000, true);
    CHECK_INT(try(&b), ERR_LIMIT);
    test_case("many anchors, and quickly");
    buf_clear(&b);
    for (int i = 0; i < 40 * 1000; i++)
        buf_printf(&b, "- &a%d x\n", i);
    CHECK_INT(try(&b), ERR_NONE);
    buf_free(&b);
}

/* Each value by an alias counts as 1,024 bytes: its text and four around it. */
static void test_aliased(void)
{
    struct buf b;
    buf_init(&b, LIMIT_YAML_INPUT);
    for (int past = 0; past < 2; past++) {
        test_case("aliases %d", past);
        buf_clear(&b);
        buf_printf(&b, "- &a %0*d\n", 1020, 0);
        b.ptr[5] = 'x';
        for (int i = 0; i < LIMIT_YAML_ALIASED / KIB; i++)
            buf_put(&b, SLICE("- *a\n"));
        if (past)
            buf_put(&b, SLICE("- &b ''\n- *b\n"));
        CHECK_INT(try(&b), past ? ERR_LIMIT : ERR_NONE);
        test_case("merge keys of merge keys %d", past);
        buf_clear(&b);
        buf_put(&b, SLICE("m0: &m0 {a: 1}\n"));
        for (int i = 1; i <= LIMIT_YAML_DEPTH + past; i++)
            buf_printf(&b, "m%d: &m%d {<<: *m%d}\n", i, i, i - 1);
        CHECK_INT(try(&b), past ? ERR_LIMIT : ERR_NONE);
        test_case("depth by an alias %d", past);
        buf_clear(&b);
        buf_put(&b, SLICE("- &a "));
        for (int i = 0; i < 32; i++)
            buf_put(&b, SLICE("["));
        for (int i = 0; i < 32; i++)
            buf_put(&b, SLICE("]"));
        buf_put(&b, SLICE("\n- "));
        for (int i = 0; i < 31 + past; i++)
            buf_put(&b, SLICE("["));
        buf_put(&b, SLICE("*a"));
        for (int i = 0; i < 31 + past; i++)
            buf_put(&b, SLICE("]"));
        CHECK_INT(try(&b), past ? ERR_LIMIT : ERR_NONE);
    }
    test_case("an alias's line is its own");
    struct arena a = {0};
    struct yaml_docs docs;
    CHECK(yaml_parse(SLICE("a: &a\n  b: 1\nc:\n- *a\nd:\n  <<: *a\n"), &a, &docs, NULL));
    CHECK_INT(line_of(&docs.docs[0], "/a/b", &a), 2);
    CHECK_INT(line_of(&docs.docs[0], "/c/0/b", &a), 4);
    CHECK_INT(line_of(&docs.docs[0], "/d/b", &a), 6);
    arena_free(&a);
    buf_free(&b);
}

static void test_bytes(void)
{
    static const struct {
        struct slice text;
        const char *error;
    } cases[] = {
        {SLICE("a: 1\nb: \xff"), "line 2, column 4: invalid leading UTF-8 octet"},
        {SLICE("a: \"\xed\xa0\x80\""), "line 1, column 5: invalid Unicode character"},
        {SLICE("a: \0"), "line 1, column 4: control characters are not allowed"},
        {SLICE("a: \x01"), "line 1, column 4: control characters are not allowed"},
        {SLICE("\xff\xfe"
               "a\0:"),
         "UTF-16 that ends within a character"},
        {SLICE("\xfe\xff\xd8\x3e\0a"), "UTF-16 with half of a character, at byte 2"},
        {SLICE("\xfe\xff\xdd\x93\xd8\x3e"), "UTF-16 with half of a character, at byte 2"},
        {SLICE("\xfe\xff\0a\xd8\x3e"), "UTF-16 with half of a character, at byte 4"},
        {SLICE("a\0"), "line 1, column 2: control characters are not allowed"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct yaml_docs docs;
        struct err e = {0};
        test_case("bytes %zu", i);
        CHECK(!yaml_parse(guarded(cases[i].text), &a, &docs, &e));
        CHECK_STR(slice_of(e.text), cases[i].error);
        arena_free(&a);
    }
}

static void test_encodings(void)
{
    static const struct {
        const char *name;
        struct slice text;
        const char *json;
    } cases[] = {
        {"byte order mark",
         SLICE("\xef\xbb\xbf"
               "a: 1\n"),
         "{\"a\":1}"},
        {"byte order mark and JSON",
         SLICE("\xef\xbb\xbf"
               "{\"a\":\t1}"),
         "{\"a\":\t1}"},
        {"CR LF", SLICE("a: |\r\n  b\r\nc:\r\n- d\r\n"), "{\"a\":\"b\\n\",\"c\":[\"d\"]}"},
        {"UTF-16 LE", SLICE("\xff\xfe[\0\xe4\0,\0\x3e\xd8\x93\xdd]\0\n\0"), "[\"ä\",\"🦓\"]"},
        {"UTF-16 BE", SLICE("\xfe\xff\0[\0\xe4\0,\xd8\x3e\xdd\x93\0]"), "[\"ä\",\"🦓\"]"},
        {"a block scalar without a newline behind it", SLICE("a: |\n  b"), "{\"a\":\"b\\n\"}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct yaml_docs docs;
        struct err e = {0};
        test_case("%s", cases[i].name);
        CHECK(yaml_parse(guarded(cases[i].text), &a, &docs, &e) && docs.count == 1);
        CHECK_STR(docs.docs[0].json, cases[i].json);
        arena_free(&a);
    }
    struct arena a = {0};
    struct yaml_docs docs;
    test_case("documents in UTF-16");
    CHECK(yaml_parse(guarded(SLICE("\xff\xfe"
                                   "1\0\n\0-\0-\0-\0\n\0"
                                   "2\0")),
                     &a, &docs, NULL));
    CHECK_INT(docs.count, 2);
    CHECK(yaml_parse(SLICE_NONE, &a, &docs, NULL));
    CHECK_INT(docs.count, 0);
    arena_free(&a);
}

static void test_write_limits(void)
{
    for (int past = 0; past < 2; past++) {
        struct buf json, out;
        struct err e = {0};
        buf_init(&json, 4 * KIB);
        test_case("write key %d", past);
        buf_init(&out, 4 * KIB);
        buf_printf(&json, "{\"a%0*d\":1}", 999 + past, 0);
        CHECK(yaml_write(buf_slice(&json), &out, &e) == !past);
        CHECK_INT(e.code, past ? ERR_LIMIT : ERR_NONE);
        test_case("write key with escapes %d", past); /* it is the written length that readers look at */
        e = (struct err){0};
        buf_clear(&json);
        buf_clear(&out);
        buf_put(&json, SLICE("{\"12"));
        for (int i = 0; i < 166; i++)
            buf_put(&json, SLICE("\\u0000"));
        buf_put(&json, past ? SLICE("3\":1}") : SLICE("\":1}"));
        CHECK(yaml_write(buf_slice(&json), &out, &e) == !past);
        CHECK_INT(e.code, past ? ERR_LIMIT : ERR_NONE);
        buf_free(&out);
        test_case("write size %d", past);
        e = (struct err){0};
        buf_init(&out, 5 - (size_t)past);
        CHECK(yaml_write(SLICE("{\"a\":1}"), &out, &e) == !past);
        CHECK_INT(e.code, past ? ERR_LIMIT : ERR_NONE);
        buf_free(&out);
        buf_free(&json);
    }
}

int main(void)
{
    test_read("tests/data/yaml/read.case", yaml_parse);
    test_read("tests/data/yaml/kubectl.case", yaml_parse);
    test_read("tests/data/yaml/runtime-env.case", yaml_parse_runtime_env);
    test_documents();
    test_write();
    test_lines();
    test_limits();
    test_aliased();
    test_bytes();
    test_encodings();
    test_write_limits();
    return test_done();
}
