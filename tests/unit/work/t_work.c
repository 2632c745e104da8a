#include "../json/cases.h"

#include "object.h"

#include <mobula/yaml.h>

static bool read_doc(struct slice text, struct arena *a, struct jval *out)
{
    struct yaml_docs docs;
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    if (!CHECK(yaml_parse(text, a, &docs, &e) && docs.count == 1 && json_parse(doc, docs.docs[0].json, a, &e))) {
        printf("  %s\n", e.text);
        return false;
    }
    *out = json_root(doc);
    return true;
}

static void check_errors(struct slice want, const struct spec_errors *errors, struct arena *a)
{
    struct slice rest = slice_trim(want);
    for (uint32_t i = 0; i < errors->count; i++) {
        struct slice got = arena_printf(a, "%.*s: %.*s", SLICE_ARG(errors->list[i].path), SLICE_ARG(errors->list[i].text));
        struct slice line = slice_empty(rest) ? SLICE("none") : slice_cut(&rest, '\n');
        if (!CHECK(slice_starts(got, line)))
            printf("  got  %.*s\n  want %.*s\n", SLICE_ARG(got), SLICE_ARG(line));
    }
    CHECK(slice_empty(rest));
}

static const struct work_options options = {.ns = SLICE("team-a"), .prefix = SLICE(""), .image = SLICE("default-image")};
static const struct work_options routed = {
    .ns = SLICE("team-a"), .image = SLICE("default-image"), .gateway = SLICE("public"), .gateway_ns = SLICE("infra")};

static struct workload_in workload(struct slice project, struct slice text, struct arena *a)
{
    struct jval spec;
    CHECK(json_read(&spec, text, a, NULL));
    return (struct workload_in){.uid = SLICE("0b6f3c1e-51f5-4d1b-9a3e-7f0c2d8e4a11"),
                                .project = slice_empty(project) ? SLICE("team-a") : project,
                                .name = SLICE("train"),
                                .generation = 2,
                                .spec = spec};
}

static void check_render(const struct case_text *c, struct arena *a)
{
    struct slice project = slice_trim(case_part(c, "project")), object = case_part(c, "object"), part = case_part(c, "part");
    struct spec_errors errors = {0};
    struct jval spec, want;
    struct json made;
    struct work_made out;
    struct err e = {0};
    if (!read_doc(case_part(c, "spec"), a, &spec))
        return;
    struct workload_in in = workload(project, guarded_n(0, json_raw(spec)), a);
    bool ok = work_render(&in, case_part(c, "route").ptr ? &routed : &options, a, &out, &errors, NULL);
    CHECK_INT(ok, case_part(c, "errors").ptr == NULL);
    check_errors(case_part(c, "errors").ptr ? case_part(c, "errors") : SLICE(""), &errors, a);
    CHECK(!slice_empty(out.name) && out.name.len <= WORK_NAME_MAX);
    if (!ok || (object.ptr && slice_empty(slice_trim(object)))) {
        CHECK(ok ? out.terminate && slice_empty(out.object) : true);
        return;
    }
    if (!CHECK(json_parse(&made, out.object, a, &e)) || !read_doc(object.ptr ? object : part, a, &want))
        return;
    if (!CHECK(object.ptr ? json_equal(json_root(&made), want) : json_covers(json_root(&made), want)))
        printf("  got %.*s\n", SLICE_ARG(out.object));
}

static void check_state(const struct case_text *c, struct arena *a)
{
    struct slice object = case_part(c, "object");
    struct jval given = {NULL, -1}, want;
    struct work_status status;
    struct json made;
    struct jout w;
    struct buf b;
    struct err e = {0};
    if ((object.ptr && !read_doc(object, a, &given)) || !read_doc(case_part(c, "status"), a, &want))
        return;
    work_state(object_of(given, a), case_part(c, "terminate").ptr != NULL, a, &status);
    buf_init(&b, MIB);
    jout_init(&w, &b);
    jout_object(&w);
    work_status_write(&status, object_of(given, a), &w);
    jout_end(&w);
    if (CHECK(json_parse(&made, buf_slice(&b), a, &e)) && !CHECK(json_equal(json_root(&made), want)))
        printf("  got %.*s\n", SLICE_ARG(buf_slice(&b)));
    CHECK_INT(status.over, case_part(c, "over").ptr != NULL || (!object.ptr && case_part(c, "terminate").ptr));
    buf_free(&b);
}

static void test_cases(const char *path, void (*check)(const struct case_text *c, struct arena *a))
{
    struct arena files = {0};
    struct slice file = read_file(path, &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct arena a = {0};
        check(&c, &a);
        arena_free(&a);
    }
    arena_free(&files);
}

static bool is_made(const char *member, int count)
{
    struct arena a = {0};
    struct spec_errors errors = {0};
    struct work_made out;
    struct buf b;
    buf_init(&b, MIB);
    buf_printf(&b, "{\"cluster\":{},\"%s\":{", member);
    for (int i = 0; i < count; i++)
        buf_printf(&b, "%s\"K%d\":\"v\"", i ? "," : "", i);
    buf_put(&b, SLICE("}}"));
    struct workload_in in = workload(SLICE(""), buf_slice(&b), &a);
    bool ok = work_render(&in, &options, &a, &out, &errors, NULL);
    CHECK(ok || slice_has(errors.list[0].text, "LIMIT_WORK_"));
    buf_free(&b);
    arena_free(&a);
    return ok;
}

static void test_limits(void)
{
    test_case("limits");
    CHECK(is_made("env", LIMIT_WORK_ENV) && !is_made("env", LIMIT_WORK_ENV + 1));
    CHECK(is_made("tags", LIMIT_WORK_TAGS) && !is_made("tags", LIMIT_WORK_TAGS + 1));
}

/* The generation that a status speaks of is that of the object; a message is cut to what the wire takes. */
static void test_status(void)
{
    struct arena a = {0};
    struct work_status s;
    struct json doc;
    struct err e = {0};
    struct buf b;
    test_case("status");
    buf_init(&b, MIB);
    buf_put(
        &b,
        SLICE("{\"kind\":\"RayJob\",\"metadata\":{\"annotations\":{\"mobula.dev/workload-generation\":\"7\"}},\"status\":{\"message\":\""));
    for (int i = 0; i < 10000; i++)
        buf_putc(&b, 'm');
    buf_put(&b, SLICE("\"}}"));
    if (CHECK(json_parse(&doc, buf_slice(&b), &a, &e)))
        work_state(object_of(json_root(&doc), &a), false, &a, &s);
    CHECK_INT(s.generation, 7);
    CHECK(s.message.len < 8192 && slice_ends(s.message, SLICE("\u2026")));
    buf_free(&b);
    arena_free(&a);
}

int main(void)
{
    test_cases("tests/data/work/render.case", check_render);
    test_cases("tests/data/work/state.case", check_state);
    test_limits();
    test_status();
    return test_done();
}
