#include "../test.h"

#include <mobula/kube.h>

static const struct kube_resource pods = {SLICE(""), SLICE("v1"), SLICE("pods")};
static const struct kube_resource clusters = {SLICE("ray.io"), SLICE("v1"), SLICE("rayclusters")};

static const struct {
    const struct kube_resource *resource;
    const char *ns, *name, *sub, *want;
} cases[] = {
    {&pods, "", "", "", "/api/v1/pods"},
    {&pods, "a", "", "", "/api/v1/namespaces/a/pods"},
    {&pods, "a", "p-0", "", "/api/v1/namespaces/a/pods/p-0"},
    {&clusters, "", "", "", "/apis/ray.io/v1/rayclusters"},
    {&clusters, "a", "c", "", "/apis/ray.io/v1/namespaces/a/rayclusters/c"},
    {&clusters, "a", "c", "status", "/apis/ray.io/v1/namespaces/a/rayclusters/c/status"}, /* W6 */
    {&pods, "a", "../../secrets?x=1", "", "/api/v1/namespaces/a/pods/..%2F..%2Fsecrets%3Fx%3D1"},
};

static void check_paths(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf b;
        buf_init(&b, LIMIT_HTTP_URL);
        test_case("W6 path %s", cases[i].want);
        CHECK(kube_path(&b, cases[i].resource, slice_of(cases[i].ns), slice_of(cases[i].name), slice_of(cases[i].sub)));
        CHECK_STR(buf_slice(&b), cases[i].want);
        buf_free(&b);
        buf_init(&b, strlen(cases[i].want) - 1);
        CHECK(!kube_path(&b, cases[i].resource, slice_of(cases[i].ns), slice_of(cases[i].name), slice_of(cases[i].sub)));
        buf_free(&b);
    }
}

static void check_query(void)
{
    struct buf b;
    buf_init(&b, LIMIT_HTTP_URL);
    test_case("W5 W10 query");
    kube_path(&b, &pods, SLICE("a"), SLICE("p"), SLICE_NONE);
    CHECK(kube_query(&b, "fieldManager", SLICE("mobula")));
    CHECK(kube_query(&b, "force", SLICE("true")));
    CHECK(kube_query(&b, "dryRun", SLICE("All")));
    CHECK(kube_query(&b, "labelSelector", SLICE("ray.io/cluster,a in (b,c)")));
    CHECK_STR(buf_slice(&b), "/api/v1/namespaces/a/pods/p?fieldManager=mobula&force=true&dryRun=All"
                             "&labelSelector=ray.io%2Fcluster%2Ca%20in%20%28b%2Cc%29");
    buf_free(&b);
}

static void check_delete_options(void)
{
    struct buf b;
    buf_init(&b, KIB);
    test_case("W3 delete options");
    CHECK(kube_delete_options(&b, SLICE("u-1"), 0, SLICE_NONE));
    CHECK_STR(buf_slice(&b), "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":\"u-1\"}}");
    buf_clear(&b);
    CHECK(kube_delete_options(&b, SLICE("u-1"), 42, SLICE("Background")));
    CHECK_STR(buf_slice(&b),
              "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":\"u-1\",\"resourceVersion\":\"42\"},"
              "\"propagationPolicy\":\"Background\"}");
    buf_free(&b);
}

static const struct {
    const char *text;
    bool ok;
    uint64_t value;
} versions[] = {
    {"1", true, 1},
    {"42", true, 42},
    {"9223372036854775807", true, INT64_MAX},
    {"9223372036854775808", false, 0},
    {"10000000000000000000", false, 0},
    {"18446744073709551616", false, 0},
    {"", false, 0},
    {"0", false, 0},
    {"01", false, 0},
    {"-1", false, 0},
    {"+1", false, 0},
    {"1a", false, 0},
    {" 1", false, 0},
    {"1.0", false, 0},
};

static void check_versions(void)
{
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        uint64_t v = 0;
        char text[KUBE_VERSION_TEXT];
        test_case("L3 resourceVersion \"%s\"", versions[i].text);
        CHECK_INT(kube_version_parse(guarded(slice_of(versions[i].text)), &v), versions[i].ok);
        CHECK_INT(v, versions[i].value);
        if (versions[i].ok)
            CHECK_STR(kube_version_format(v, text), versions[i].text);
    }
    char text[KUBE_VERSION_TEXT];
    test_case("L3 order by length, then bytes, is the order of numbers");
    uint64_t a, b;
    CHECK(kube_version_parse(SLICE("999"), &a) && kube_version_parse(SLICE("1000"), &b) && a < b);
    CHECK_STR(kube_version_format(0, text), "");
}

int main(void)
{
    check_paths();
    check_query();
    check_delete_options();
    check_versions();
    return test_done();
}
