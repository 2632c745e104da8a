#include "../json/cases.h"

#include <mobula/compute.h>
#include <mobula/ray.h>
#include <mobula/yaml.h>

static bool read_doc(struct slice text, struct arena *a, struct yaml_docs *docs, struct jval *out)
{
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    if (!CHECK(yaml_parse(text, a, docs, &e) && docs->count == 1 && json_parse(doc, docs->docs[0].json, a, &e))) {
        printf("  %s\n", e.text);
        return false;
    }
    *out = json_root(doc);
    return true;
}

static void check_told(struct slice want, const struct spec_errors *told, const struct yaml_docs *docs, struct arena *a)
{
    struct slice rest = slice_trim(want);
    for (uint32_t i = 0; i < told->count; i++) {
        const struct spec_error *one = &told->list[i];
        struct slice got =
            arena_printf(a, "%u: %.*s: %.*s", yaml_line(&docs->docs[0], one->offset), SLICE_ARG(one->path), SLICE_ARG(one->text));
        struct slice line = slice_empty(rest) ? SLICE("none") : slice_cut(&rest, '\n');
        if (!CHECK(slice_starts(got, line)))
            printf("  got  %.*s\n  want %.*s\n", SLICE_ARG(got), SLICE_ARG(line));
    }
    CHECK(slice_empty(rest));
}

static void check_groups(struct slice want, const struct compute_config *config)
{
    struct slice rest = slice_trim(want);
    for (uint32_t i = 0; i < config->worker_count; i++)
        CHECK_SLICE(config->workers[i].name, slice_cut(&rest, '\n'));
    CHECK(slice_empty(rest));
}

/* What is made is what the case says, and a cluster that the operator takes. */
static void check_spec(const struct case_text *c, const struct compute_config *config, struct arena *a)
{
    struct compute_pods pods = {.image = SLICE("the-image"), .env = NO_VALUE};
    struct slice out = SLICE_NONE, want = case_part(c, "spec"), refused = slice_trim(case_part(c, "refused"));
    struct spec_errors errors = {0};
    struct ray_cluster model;
    struct yaml_docs docs;
    struct json made, whole;
    struct jval wanted;
    struct err e = {0};
    bool ok = compute_render(config, &pods, a, &out, &e);
    CHECK_INT(ok, refused.ptr == NULL);
    if (!ok) {
        if (!CHECK(slice_starts(slice_of(e.text), refused)))
            printf("  got %s\n", e.text);
        return;
    }
    if (!CHECK(json_parse(&made, out, a, &e)))
        return;
    if (want.ptr && read_doc(want, a, &docs, &wanted) && !CHECK(json_equal(json_root(&made), wanted)))
        printf("  got %.*s\n", SLICE_ARG(out));
    struct slice cluster = arena_printf(
        a, "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\"},\"spec\":%.*s}", SLICE_ARG(out));
    CHECK(json_parse(&whole, cluster, a, &e));
    if (!CHECK(ray_read(json_root(&whole), a, &model, &errors)))
        printf("  %.*s\n", SLICE_ARG(spec_errors_text(&errors, 500, a)));
}

static void check_case(const struct case_text *c, struct arena *a)
{
    struct compute_config config;
    struct shape_types types;
    struct spec_errors wrong = {0};
    struct spec_errors errors = {0}, notes = {0};
    struct reader r = {.arena = a, .errors = &errors};
    struct yaml_docs docs;
    struct jval root;
    struct slice known = case_part(c, "types"), want = case_part(c, "errors");
    if (!read_doc(guarded_n(0, case_part(c, "config")), a, &docs, &root) ||
        (known.ptr && !CHECK(shape_types_read(known, a, &types, &wrong))))
        return;
    const struct place *at = place_root(root, a);
    bool ok = compute_read(&r, at, known.ptr ? &types : NULL, &config, &notes);
    CHECK_INT(ok, want.ptr == NULL);
    check_told(want.ptr ? want : SLICE(""), &errors, &docs, a);
    if (!ok)
        return;
    if (case_part(c, "warnings").ptr)
        check_told(case_part(c, "warnings"), &notes, &docs, a);
    if (case_part(c, "groups").ptr)
        check_groups(case_part(c, "groups"), &config);
    check_spec(c, &config, a);
}

static void test_cases(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/shape/compute.case", &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct arena a = {0};
        check_case(&c, &a);
        arena_free(&a);
    }
    arena_free(&files);
}

/* Whether a config is read; its first error must name the limit otherwise. */
static bool is_read(struct slice text, const char *limit)
{
    struct arena a = {0};
    struct compute_config config;
    struct spec_errors errors = {0};
    struct reader r = {.arena = &a, .errors = &errors};
    struct yaml_docs docs;
    struct jval root;
    bool ok = false;
    if (read_doc(text, &a, &docs, &root)) {
        const struct place *at = place_root(root, &a);
        ok = compute_read(&r, at, NULL, &config, NULL);
        CHECK(ok || slice_has(errors.list[0].text, limit));
    }
    arena_free(&a);
    return ok;
}

static bool with_many(const char *before, const char *each, int count, const char *after, const char *limit)
{
    struct buf b;
    buf_init(&b, 4 * MIB);
    buf_put(&b, slice_of(before));
    for (int i = 0; i < count; i++)
        buf_printf(&b, "%s%s%d", i ? "," : "", each, i);
    buf_put(&b, slice_of(after));
    bool ok = is_read(buf_slice(&b), limit);
    buf_free(&b);
    return ok;
}

static void test_limits(void)
{
    static const char group[] = "{instance_type: a, max_nodes: 1";
    struct buf b;
    test_case("limits");
    for (int over = 0; over < 2; over++) {
        CHECK_INT(with_many("zones: [", "z", LIMIT_COMPUTE_ZONES + over, "]", "LIMIT_COMPUTE_ZONES"), !over);
        buf_init(&b, MIB);
        buf_put(&b, SLICE("worker_nodes: ["));
        for (int i = 0; i < LIMIT_RAY_GROUPS + over; i++)
            buf_printf(&b, "%s%s}", i ? "," : "", group);
        buf_put(&b, SLICE("]"));
        CHECK_INT(is_read(buf_slice(&b), "LIMIT_RAY_GROUPS"), !over);
        buf_clear(&b);
        buf_put(&b, SLICE("head_node: {instance_type: a, resources: {"));
        for (int i = 0; i < LIMIT_SHAPE_RESOURCES + over; i++)
            buf_printf(&b, "r%d: 1,", i);
        buf_put(&b, SLICE("}}"));
        CHECK_INT(is_read(buf_slice(&b), "LIMIT_SHAPE_RESOURCES"), !over);
        buf_free(&b);
    }
    buf_init(&b, 2 * MIB);
    buf_put(&b, SLICE("{\"advanced_instance_config\":{\"metadata\":{\"annotations\":{\"a\":\""));
    while (b.len < LIMIT_SHAPE_TEXT - 6)
        buf_putc(&b, 'x');
    struct arena a = {0};
    struct slice most = arena_printf(&a, "%.*s\"}}}}", SLICE_ARG(buf_slice(&b)));
    CHECK(most.len == LIMIT_SHAPE_TEXT - 1 && is_read(most, "LIMIT_SHAPE_TEXT"));
    buf_put(&b, SLICE("xx\"}}}}"));
    CHECK(!is_read(buf_slice(&b), "LIMIT_SHAPE_TEXT"));
    buf_free(&b);
    arena_free(&a);
}

/* A large pod in every group is one error, and not so many copies of it. */
static void test_growth(void)
{
    struct arena a = {0};
    struct compute_config config;
    struct compute_pods pods = {.image = SLICE("i"), .env = NO_VALUE};
    struct spec_errors errors = {0};
    struct reader r = {.arena = &a, .errors = &errors};
    struct yaml_docs docs;
    struct jval root;
    struct slice out;
    struct err e = {0};
    struct buf b;
    test_case("growth");
    buf_init(&b, 2 * MIB);
    buf_put(&b, SLICE("{\"head_node\":{\"instance_type\":\"a\"},\"worker_nodes\":["));
    for (int i = 0; i < LIMIT_RAY_GROUPS; i++)
        buf_printf(&b, "%s{\"instance_type\":\"a\"}", i ? "," : "");
    buf_put(&b, SLICE("],\"advanced_instance_config\":{\"spec\":{\"containers\":["));
    for (int i = 0; b.len < LIMIT_SHAPE_TEXT - 100; i++)
        buf_printf(&b, "%s{\"name\":\"c%d\"}", i ? "," : "", i);
    buf_put(&b, SLICE("]}}}"));
    if (CHECK(read_doc(buf_slice(&b), &a, &docs, &root))) {
        const struct place *at = place_root(root, &a);
        CHECK(compute_read(&r, at, NULL, &config, NULL));
        size_t before = a.used;
        CHECK(!compute_render(&config, &pods, &a, &out, &e) && e.code == ERR_LIMIT);
        CHECK(a.used - before < 64 * KIB);
    }
    buf_free(&b);
    arena_free(&a);
}

/* What the workload says: environment, pull secret, version, labels of every pod. */
static void test_pods(void)
{
    struct arena a = {0};
    struct compute_config config;
    struct json env, made;
    struct slice out;
    struct err e = {0};
    test_case("pods");
    CHECK(json_parse(&env, SLICE("{\"A\":\"1\",\"B\":\"\\\"\"}"), &a, &e));
    struct compute_pods pods = {.image = SLICE("i"),
                                .ray_version = SLICE("2.56.0"),
                                .pull_secret = SLICE("registry"),
                                .env = json_root(&env),
                                .labels = SLICE("{\"x\":\"y\"}"),
                                .suspend = true};
    compute_default(&config, &a);
    if (!CHECK(compute_render(&config, &pods, &a, &out, &e) && json_parse(&made, out, &a, &e)))
        return;
    struct jval root = json_root(&made), pod = json_get(root, "headGroupSpec.template.spec");
    CHECK(json_get_bool(root, "suspend", false));
    CHECK_SLICE(json_get_str(root, "rayVersion", &a), SLICE("2.56.0"));
    CHECK_SLICE(json_raw(json_get(pod, "imagePullSecrets")), SLICE("[{\"name\":\"registry\"}]"));
    CHECK_SLICE(json_raw(json_get(json_at(json_get(pod, "containers"), 0), "env")),
                SLICE("[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"\\\"\"}]"));
    CHECK_SLICE(json_get_str(root, "headGroupSpec.template.metadata.labels.x", &a), SLICE("y"));
    arena_free(&a);
}

int main(void)
{
    test_cases();
    test_pods();
    test_limits();
    test_growth();
    return test_done();
}
