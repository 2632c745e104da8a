/* Zones in pod templates. */
#include "../test.h"

#include <mobula/pod.h>
#include <mobula/shape.h>

static void test_order(void)
{
    static const char *const cases[][3] = {{"a,b,c", "a", "b"}, {"a, b ,c", "b", "c"}, {"a,b,c", "c", "a"}, {"a", "a", "a"},
                                           {"a,b", "", "a"},    {"a,b", "x", "a"},     {"b,b", "b", "b"},   {"a,", "a", "a"},
                                           {",a,,b", "a", "b"}, {",a,,b", "b", "a"},   {",", "a", ""},      {"a, b, ", "b", "a"}};
    test_case("which is next");
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK_STR(shape_zone_after(guarded(slice_of(cases[i][0])), slice_of(cases[i][1])), cases[i][2]);
    CHECK(pod_zone_hash(SLICE("")) == 0 && pod_zone_hash(SLICE("a")) != pod_zone_hash(SLICE("b")));
}

/* A cluster of a head with these annotations and two groups: one without, one with this template. */
static void make_cluster(const char *notes, const char *template, struct arena *a, struct ray_cluster *out)
{
    struct json *doc = arena_new(a, struct json);
    struct spec_errors *errors = arena_new(a, struct spec_errors);
    struct err e = {0};
    struct slice text =
        arena_printf(a,
                     "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{\"headGroupSpec\":{"
                     "\"template\":{\"metadata\":{\"annotations\":%s},\"spec\":{\"containers\":[{\"name\":\"ray\"}]}}},"
                     "\"workerGroupSpecs\":[{\"groupName\":\"x\",\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\"}]"
                     "}}},{\"groupName\":\"y\",\"template\":%s}]}}",
                     notes, template);
    CHECK(json_parse(doc, text, a, &e));
    errors->count = errors->beyond = 0;
    ray_read(json_root(doc), a, out, errors);
}

#define TERMS "\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":["

static void test_templates(void)
{
    struct arena a = {0};
    struct ray_cluster c;
    test_case("one: a name and a selector, beside what there is");
    make_cluster("{\"anyscale.com/zone\":\"a,b\"}", "{\"spec\":{\"nodeSelector\":{\"disk\":\"ssd\"}}}", &a, &c);
    shape_zones(&c, pod_zone_hash(SLICE("b")), &a);
    CHECK_STR(c.zone.allowed, "a,b");
    CHECK_STR(c.zone.made_for, "b");
    CHECK_STR(json_raw(json_get(c.head.template, "metadata")),
              "{\"annotations\":{\"anyscale.com/zone\":\"b\"},\"labels\":{\"anyscale.com/zone\":\"b\"}}");
    CHECK_STR(json_raw(json_get(c.groups[1].template, "spec")),
              "{\"nodeSelector\":{\"disk\":\"ssd\",\"topology.kubernetes.io/zone\":\"b\"}}");
    CHECK(json_equal(json_get(c.head.template, "metadata"), json_get(c.groups[0].template, "metadata")));
    test_case("commas too many");
    make_cluster("{\"anyscale.com/zone\":\" ,a,,b\"}", "{\"metadata\":{\"labels\":{\"anyscale.com/zone\":\"c, \"}}}", &a, &c);
    shape_zones(&c, 0, &a);
    CHECK_STR(c.zone.made_for, "a");
    CHECK(json_is(json_child(json_get(c.groups[1].template, "metadata.labels"), "anyscale.com/zone"), "c"));
    test_case("a zone that is not in the list: the first");
    make_cluster("{\"anyscale.com/zone\":\"a,b\"}", "{}", &a, &c);
    shape_zones(&c, pod_zone_hash(SLICE("x")), &a);
    CHECK_STR(c.zone.made_for, "a");
    test_case("several of a group's own: joined with each alternative that it has");
    make_cluster("{\"anyscale.com/zone\":\"a\",\"mobula.dev/zone-starting-timeout\":\"1m30s\"}",
                 "{\"metadata\":{\"labels\":{\"anyscale.com/zone\":\"c,d\"}},\"spec\":{" TERMS
                 "{\"matchExpressions\":[{\"key\":\"disk\",\"operator\":\"Exists\"}]},{\"matchFields\":[]}]}}}}}",
                 &a, &c);
    shape_zones(&c, 0, &a);
    CHECK_INT(c.zone.ms, 90 * 1000);
    CHECK_STR(json_raw(json_get(c.groups[1].template, "metadata")), "{\"labels\":{},\"annotations\":{}}");
    static const char in[] = "{\"key\":\"topology.kubernetes.io/zone\",\"operator\":\"In\",\"values\":[\"c\",\"d\"]}";
    CHECK_SLICE(json_raw(json_get(c.groups[1].template, "spec")),
                arena_printf(&a,
                             "{" TERMS "{\"matchExpressions\":[{\"key\":\"disk\",\"operator\":\"Exists\"},%s]},"
                             "{\"matchFields\":[],\"matchExpressions\":[%s]}]}}}}",
                             in, in));
    CHECK(c.groups[1].zoned && !c.groups[0].zoned && !c.groups[1].blocked);
    test_case("none: nothing changes");
    make_cluster("{}", "{}", &a, &c);
    struct slice before = json_raw(c.head.template);
    shape_zones(&c, 0, &a);
    CHECK(json_raw(c.head.template).ptr == before.ptr && slice_empty(c.zone.made_for) && slice_empty(c.zone.allowed));
    test_case("what is no duration is the operator's setting");
    make_cluster("{\"anyscale.com/zone\":\"a\",\"mobula.dev/zone-starting-timeout\":\"soon\"}", "{}", &a, &c);
    shape_zones(&c, 0, &a);
    CHECK_INT(c.zone.ms, 0);
    arena_free(&a);
}

int main(void)
{
    test_order();
    test_templates();
    return test_done();
}
