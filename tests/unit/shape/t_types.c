#include "expect.h"

#include <mobula/ray.h>
#include <mobula/shape.h>

static void check_template(const struct case_text *c, const struct shape_types *types, struct arena *a)
{
    struct json template;
    struct err e = {0};
    struct slice text = slice_trim(case_part(c, "template")), result = case_part(c, "result"), out = SLICE_NONE;
    struct slice refused = slice_trim(case_part(c, "refused"));
    if (!CHECK(json_parse(&template, guarded_n(1, text), a, &e)))
        return;
    const struct shape_type *type = shape_type_find(types, shape_type_named(json_root(&template), a));
    if (!CHECK(type != NULL))
        return;
    bool ok = shape_type_apply(type, json_root(&template), SLICE("worker"), a, &out, &e);
    expect_document(ok, out, &e, result, refused, a);
}

static void test_cases(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/shape/types.case", &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct arena a = {0};
        struct shape_types types;
        struct spec_errors errors = {0};
        bool ok = shape_types_read(guarded_n(0, case_part(&c, "text")), &a, &types, &errors);
        CHECK_INT(ok, case_part(&c, "errors").ptr == NULL);
        expect_errors(case_part(&c, "errors").ptr ? case_part(&c, "errors") : SLICE(""), &errors, &a);
        if (case_part(&c, "template").ptr)
            check_template(&c, &types, &a);
        arena_free(&a);
    }
    arena_free(&files);
}

/* Each example of the page is a case. */
static void test_docs(void)
{
    struct arena a = {0};
    struct slice docs = read_file("docs/instance-types.md", &a), cases = read_file("tests/data/shape/types.case", &a);
    int examples = 0;
    test_case("docs");
    for (ptrdiff_t at; (at = slice_find_text(docs, "```yaml\n")) >= 0; examples++) {
        docs = slice_skip(docs, (size_t)at + strlen("```yaml\n"));
        struct slice example = slice_head(docs, (size_t)slice_find_text(docs, "```"));
        if (!CHECK(slice_has(cases, arena_printf(&a, "-- text\n%.*s", SLICE_ARG(example)).ptr)))
            printf("  %.*s\n", SLICE_ARG(example));
        docs = slice_skip(docs, example.len + strlen("```"));
    }
    CHECK(examples >= 4);
    arena_free(&a);
}

static bool read_many(int types, int resources)
{
    struct arena a = {0};
    struct shape_types out;
    struct spec_errors errors = {0};
    struct buf b;
    buf_init(&b, 2 * MIB);
    for (int i = 0; i < types; i++) {
        buf_printf(&b, "t%d:\n  resources:\n    CPU: 1\n    memory: 1Gi\n", i);
        for (int k = 2; k < resources; k++)
            buf_printf(&b, "    example.com/r%d: 1\n", k);
    }
    bool ok = shape_types_read(buf_slice(&b), &a, &out, &errors);
    CHECK(ok || slice_has(errors.list[0].text, "LIMIT_SHAPE_"));
    CHECK_INT(ok ? 0 : errors.list[0].line, ok ? 0 : types > 1 ? 1 : 2 + resources); /* of the whole, or of the resource */
    CHECK_INT(out.count, ok ? types : 0);
    buf_free(&b);
    arena_free(&a);
    return ok;
}

static void test_limits(void)
{
    test_case("limits");
    CHECK(read_many(LIMIT_SHAPE_TYPES, 2) && !read_many(LIMIT_SHAPE_TYPES + 1, 2));
    CHECK(read_many(1, LIMIT_SHAPE_RESOURCES) && !read_many(1, LIMIT_SHAPE_RESOURCES + 1));
    struct arena a = {0};
    struct shape_types out;
    struct spec_errors errors = {0};
    struct buf b;
    buf_init(&b, LIMIT_SHAPE_TEXT + 1);
    memset(buf_room(&b, LIMIT_SHAPE_TEXT + 1), ' ', LIMIT_SHAPE_TEXT + 1);
    CHECK(shape_types_read((struct slice){b.ptr, LIMIT_SHAPE_TEXT}, &a, &out, &errors));
    CHECK(!shape_types_read((struct slice){b.ptr, LIMIT_SHAPE_TEXT + 1}, &a, &out, &errors));
    CHECK(slice_has(errors.list[0].text, "LIMIT_SHAPE_TEXT"));
    buf_free(&b);
    arena_free(&a);
}

/* Ray is started with what the type leaves for its container, and the autoscaler reckons with the same. */
static void test_cluster(void)
{
    static const char cluster[] =
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"uid\":\"u\"},\"spec\":{\"headGroupSpec\":{"
        "\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"r\"}]}}},\"workerGroupSpecs\":[{\"groupName\":\"a\","
        "\"template\":{"
        "\"metadata\":{\"annotations\":{\"anyscale.com/"
        "instance-type\":\"small\"}},\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"r\"},"
        "{\"name\":\"log\",\"image\":\"l\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}},{\"groupName\":\"b\",\"template\":{"
        "\"metadata\":{"
        "\"labels\":{\"anyscale.com/instance-type\":\"gone\"}},\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"r\"}]}}}]}}";
    struct arena a = {0};
    struct shape_types types;
    struct spec_errors wrong = {0};
    struct spec_errors none = {0};
    struct ray_cluster model;
    struct json given;
    struct err e = {0};
    test_case("cluster");
    CHECK(shape_types_read(SLICE("small: {resources: {CPU: 4, memory: 8Gi}}"), &a, &types, &wrong));
    if (!CHECK(json_parse(&given, slice_of(cluster), &a, &e) && ray_read(json_root(&given), &a, &model, &none)))
        return;
    uint64_t before = model.groups[0].hash;
    shape_cluster(&types, &model, &a);
    CHECK(model.typed && !model.head.blocked && !model.groups[0].blocked && model.groups[0].hash == before);
    CHECK_STR(slice_of(model.groups[1].blocked), SHAPE_TYPE_MISSING);
    CHECK_STR(model.groups[1].blocked_text, "names instance type gone, which the ConfigMap does not have");
    struct ray_offer offer = ray_group_offer(&model, &model.groups[0], &a);
    CHECK_INT(offer.bundle.count, 2);
    CHECK_STR(offer.bundle.list[0].name, "CPU");
    CHECK_INT(offer.bundle.list[0].amount, 3 * RAY_QUANTUM);
    CHECK_INT(ray_group_offer(&model, &model.groups[1], &a).bundle.count, 0);
    arena_free(&a);
}

/* What Ray schedules by, as labels of the group, since Ray takes them; the user's own win. */
static void check_labels(const char *version, const char *market, const char *own, const char *want)
{
    static const char cluster[] =
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"uid\":\"u\"},\"spec\":{\"rayVersion\":\"%s\","
        "\"headGroupSpec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"r\"}]}}},\"workerGroupSpecs\":[{"
        "\"groupName\":\"a\",%s\"template\":{\"metadata\":{\"annotations\":{\"anyscale.com/instance-type\":\"t4\",\"anyscale.com/"
        "zone\":\"z\","
        "\"anyscale.com/market-type\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"r\"}]}}}]}}";
    struct arena a = {0};
    struct shape_types types;
    struct spec_errors wrong = {0};
    struct spec_errors none = {0};
    struct ray_cluster model;
    struct json given;
    struct err e = {0};
    test_case("labels of Ray's nodes: %s %s %s", version, market, own);
    CHECK(shape_types_read(SLICE("t4: {resources: {CPU: 4, memory: 8Gi, accelerators: [T4]}}"), &a, &types, &wrong));
    if (CHECK(json_parse(&given, arena_printf(&a, cluster, version, own, market), &a, &e) &&
              ray_read(json_root(&given), &a, &model, &none))) {
        shape_cluster(&types, &model, &a);
        CHECK_SLICE(json_there(model.groups[0].labels) ? json_raw(model.groups[0].labels) : SLICE(""), slice_of(want));
    }
    arena_free(&a);
}

/* What keeps a group with this annotation and numOfHosts from its pods. */
static void check_blocked(const char *market, int hosts, const char *reason, const char *text)
{
    static const char cluster[] =
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"uid\":\"u\"},\"spec\":{\"headGroupSpec\":{"
        "\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"r\"}]}}},\"workerGroupSpecs\":[{\"groupName\":\"a\","
        "\"numOfHosts\":%d,\"template\":{\"metadata\":{\"annotations\":{\"anyscale.com/instance-type\":\"tpu\","
        "\"anyscale.com/market-type\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"r\"}]}}}]}}";
    struct arena a = {0};
    struct shape_types types;
    struct spec_errors wrong = {0}, none = {0};
    struct ray_cluster model;
    struct json given;
    struct err e = {0};
    test_case("a group of market %s with %d hosts", market, hosts);
    CHECK(shape_types_read(SLICE("\ntpu: {resources: {CPU: 4, memory: 8Gi, TPU: 4, anyscale/tpu_hosts: 4}}"), &a, &types, &wrong));
    if (CHECK(json_parse(&given, arena_printf(&a, cluster, hosts, market), &a, &e) && ray_read(json_root(&given), &a, &model, &none))) {
        shape_cluster(&types, &model, &a);
        CHECK_STR(slice_of(model.groups[0].blocked ? model.groups[0].blocked : ""), reason);
        CHECK_STR(model.groups[0].blocked ? model.groups[0].blocked_text : SLICE(""), text);
    }
    arena_free(&a);
}

/* Without types a market counts, too: as annotation and label of the pods, and with a second form of what prefers spot. */
static void test_markets(void)
{
    static const char cluster[] =
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"uid\":\"u\"},\"spec\":{\"headGroupSpec\":{"
        "\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"r\"}]}}},\"workerGroupSpecs\":[{\"groupName\":\"a\","
        "\"template\":{\"metadata\":{\"labels\":{\"anyscale.com/market-type\":\"PREFER_SPOT\"}},\"spec\":{\"containers\":[{"
        "\"name\":\"ray\",\"image\":\"r\"}]}}}]}}";
    struct arena a = {0};
    struct spec_errors none = {0};
    struct ray_cluster model;
    struct json given;
    struct err e = {0};
    test_case("markets without types");
    if (CHECK(json_parse(&given, slice_of(cluster), &a, &e) && ray_read(json_root(&given), &a, &model, &none))) {
        shape_markets(&model, &a);
        CHECK(model.marketed && !model.typed && !model.groups[0].blocked && !model.head.on_demand);
        CHECK_STR(json_raw(json_get(model.groups[0].template, "metadata")),
                  "{\"labels\":{\"anyscale.com/market-type\":\"SPOT\"},\"annotations\":{\"anyscale.com/market-type\":\"SPOT\"}}");
        if (CHECK(model.groups[0].on_demand))
            CHECK_STR(shape_given(model.groups[0].on_demand->template, SHAPE_MARKET, &a), "ON_DEMAND");
    }
    arena_free(&a);
}

static void test_blocked(void)
{
    check_blocked("SPOT", 4, "", "");
    check_blocked("Spot", 4, SHAPE_MARKET_UNKNOWN, "names market type Spot: write ON_DEMAND, SPOT or PREFER_SPOT");
    check_blocked("SPOT", 1, SHAPE_HOSTS_DIFFER,
                  "has numOfHosts 1, and the slices of instance type tpu (line 2 of the ConfigMap) have 4: make them the same");
}

static void test_labels(void)
{
    static const char all[] = "{\"ray.io/accelerator-type\":\"T4\",\"ray.io/market-type\":\"spot\",\"ray.io/availability-zone\":\"z\"}";
    check_labels("2.48.0", "SPOT", "", "");
    check_labels("2.49.0", "SPOT", "", all);
    check_labels("2.49.0", "ON_DEMAND", "",
                 "{\"ray.io/accelerator-type\":\"T4\",\"ray.io/market-type\":\"on-demand\",\"ray.io/availability-zone\":\"z\"}");
    check_labels("2.49.0", "", "",
                 "{\"ray.io/accelerator-type\":\"T4\",\"ray.io/market-type\":\"on-demand\",\"ray.io/availability-zone\":\"z\"}");
    check_labels("2.49.0", "PREFER_SPOT", "", all);
    check_labels("2.60.0", "SPOT", "\"labels\":{\"ray.io/accelerator-type\":\"mine\"},",
                 "{\"ray.io/accelerator-type\":\"mine\",\"ray.io/market-type\":\"spot\",\"ray.io/availability-zone\":\"z\"}");
}

int main(void)
{
    test_cases();
    test_labels();
    test_blocked();
    test_markets();
    test_docs();
    test_cluster();
    test_limits();
    return test_done();
}
