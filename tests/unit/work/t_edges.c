/* Edges of what workloads are judged by: missing rights, fields of a policy, sizes of pods, names of packed folders. */
#include "../test.h"

#include <mobula/health.h>
#include <mobula/policy.h>
#include <mobula/shape.h>
#include <mobula/work.h>

static struct jval parse(const char *text, struct arena *a)
{
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    if (!CHECK(json_parse(doc, slice_of(text), a, &e)))
        return (struct jval){.at = -1};
    return json_root(doc);
}

static void rights(struct arena *a)
{
#define RULE(verbs, groups, resources) "{\"verbs\":[" verbs "],\"apiGroups\":[" groups "],\"resources\":[" resources "]"
    static const struct {
        const char *have, *want, *missing;
    } cases[] = {
        {"[]", "[]", ""},
        {"[]", "[" RULE("\"get\"", "\"\"", "\"pods\"") "}]", "get pods"},
        {"[" RULE("\"*\"", "\"*\"", "\"*\"") "}]", "[" RULE("\"get\"", "\"apps\"", "\"deployments\"") "}]", ""},
        {"[" RULE("\"get\"", "\"\"", "\"pods\"") "}]", "[" RULE("\"get\",\"list\"", "\"\"", "\"pods\"") "}]", "list pods"},
        {"[" RULE("\"get\"", "\"apps\"", "\"pods\"") "}]", "[" RULE("\"get\"", "\"\"", "\"pods\"") "}]", "get pods"},
        {"[" RULE("\"get\"", "\"\"", "\"services\"") "}]", "[" RULE("\"get\"", "\"\"", "\"pods\"") "}]", "get pods"},
        {"[]", "[" RULE("\"get\",\"list\"", "\"ray.io\"", "\"rayjobs\"") "}]", "get rayjobs.ray.io, list rayjobs.ray.io"},
        {"[" RULE("\"get\"", "\"\"", "\"*/log\"") "}]", "[" RULE("\"get\"", "\"\"", "\"pods/log\"") "}]", ""},
        {"[" RULE("\"get\"", "\"\"", "\"*/proxy\"") "}]", "[" RULE("\"get\"", "\"\"", "\"pods/log\"") "}]", "get pods/log"},
        {"[" RULE("\"get\"", "\"\"", "\"pods\"") ",\"resourceNames\":[\"a\"]}]", "[" RULE("\"get\"", "\"\"", "\"pods\"") "}]", "get pods"},
        {"[" RULE("\"get\"", "\"\"", "\"pods\"") ",\"resourceNames\":[\"a\"]}]",
         "[" RULE("\"get\"", "\"\"", "\"pods\"") ",\"resourceNames\":[\"a\"]}]", ""},
        {"[" RULE("\"get\"", "\"\"", "\"pods\"") ",\"resourceNames\":[\"a\"]}]",
         "[" RULE("\"get\"", "\"\"", "\"pods\"") ",\"resourceNames\":[\"a\",\"b\",\"c\"]}]", "get pods"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("rights that are missing %zu", i);
        CHECK_STR(rights_missing(parse(cases[i].have, a), parse(cases[i].want, a), a), cases[i].missing);
    }
    test_case("more missing rights than a message holds");
    char many[4096] = "[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[";
    for (int i = 0; i < 200; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "%s\"resource-%d\"", i ? "," : "", i);
    snprintf(many + strlen(many), sizeof many - strlen(many), "]}]");
    CHECK(slice_ends(rights_missing(parse("[]", a), parse(many, a), a), SLICE(", and more")));
}

static void fields(void)
{
    test_case("fields of a policy");
    CHECK(work_policy_field(SLICE("maxPods")));
    CHECK(work_policy_field(SLICE("namespaces")));
    CHECK(work_policy_field(SLICE("namePrefix")));
    CHECK(!work_policy_field(SLICE("apiVersion")));
    CHECK(!work_policy_field(SLICE("")));
}

static void sizes(struct arena *a)
{
    enum { CPU = 2000 };
    static const struct shape_amount amounts[] = {{.name = SLICE("cpu"), .amount = 4000}, {.name = SLICE("example.com/x"), .amount = 1}};
    static struct shape_type type = {.name = SLICE("t"), .amounts = amounts, .amount_count = COUNT_OF(amounts)};
    static const struct shape_types types = {&type, 1};
    static const struct {
        const char *resources; /* of one container */
        int64_t milli_cpu, memory, gpus;
        bool typed;
    } cases[] = {
        {"{}", 0, 0, 0, false},
        {"{\"requests\":{\"cpu\":2}}", CPU, 0, 0, false},
        {"{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\",\"memory\":\"1Ki\"}}", CPU, 1024, 0, false},
        {"{\"requests\":{\"cpu\":\"2\",\"memory\":\"2Ki\"},\"limits\":{\"cpu\":\"1\",\"memory\":\"1Ki\"}}", CPU, 2048, 0, false},
        {"{\"limits\":{\"nvidia.com/gpu\":1,\"nvidia.com/mig-1g.5gb\":2}}", 0, 0, 3, false},
        {"{\"limits\":{\"amd.com/gpu\":\"1\",\"nvidia.com/gpus\":\"9\",\"ephemeral-storage\":\"9Gi\"}}", 0, 0, 1, false},
        {"{\"limits\":{\"cpu\":null,\"memory\":\"many\"}}", 0, LIMIT_RAY_AMOUNT, 0, false},
        {"{\"limits\":{\"memory\":\"9223372036854775807\"}}", 0, LIMIT_RAY_AMOUNT, 0, false},
        {"{\"limits\":{\"cpu\":\"64\",\"memory\":\"1Ki\"}}", 2 * CPU, 1024, 0, true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct work_size size;
        test_case("size of a pod %zu", i);
        struct slice text =
            arena_printf(a, "{\"metadata\":{\"annotations\":{%s}},\"spec\":{\"containers\":[{\"name\":\"r\",\"resources\":%s}]}}",
                         cases[i].typed ? "\"" SHAPE_INSTANCE_TYPE "\":\"t\"" : "", cases[i].resources);
        struct jval template = parse(text.ptr, a);
        bool named = slice_eq(shape_type_named(template, a), type.name);
        CHECK_INT(named, cases[i].typed);
        work_pod_size(template, &types, a, &size);
        CHECK_INT(size.milli_cpu, cases[i].milli_cpu);
        CHECK_INT(size.memory, cases[i].memory);
        CHECK_INT(size.gpus, cases[i].gpus);
        CHECK_INT(size.pods, 1);
    }
    static const struct {
        const char *group;
        int64_t pods;
    } groups[] = {
        {"{}", INT32_MAX},
        {"{\"maxReplicas\":3}", 3},
        {"{\"maxReplicas\":3,\"replicas\":4,\"numOfHosts\":2}", 8},
        {"{\"maxReplicas\":-1,\"replicas\":-2}", INT32_MAX},
        {"{\"maxReplicas\":2147483648}", INT32_MAX},
        {"{\"maxReplicas\":1,\"numOfHosts\":0}", INT32_MAX},
        {"{\"maxReplicas\":1,\"numOfHosts\":1000000}", INT32_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        test_case("pods of a group %zu", i);
        CHECK_INT(work_group_pods(parse(groups[i].group, a)), groups[i].pods);
    }
}

static void folders(void)
{
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
    static const struct {
        const char *text;
        bool well;
    } cases[] = {{WORK_FOLDER HEX "f", true},  {WORK_FOLDER HEX "g", false},  {WORK_FOLDER HEX "F", false}, {WORK_FOLDER HEX "/", false},
                 {WORK_FOLDER HEX ":", false}, {WORK_FOLDER HEX "ff", false}, {"xpload:" HEX "f", false},   {"", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice hash = SLICE_NONE;
        test_case("folder %zu", i);
        CHECK_INT(work_folder_hash(slice_of(cases[i].text), &hash), cases[i].well);
        CHECK_INT(hash.len, cases[i].well ? WORK_FOLDER_HASH : 0);
    }
}

int main(void)
{
    struct arena a = {0};
    rights(&a);
    fields();
    sizes(&a);
    folders();
    arena_free(&a);
    return test_done();
}
