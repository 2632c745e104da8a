#include "../json/cases.h"

#include <mobula/policy.h>
#include <mobula/work.h>
#include <mobula/yaml.h>

static const char container[] = "{\"name\":\"ray\",\"image\":\"registry.example/ray:2.60.0\",\"env\":[{\"name\":\"A\",\"value\":\"1\"}]}";

static struct jval parse(struct slice text, struct arena *a)
{
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    CHECK(json_parse(doc, text, a, &e));
    return json_root(doc);
}

/* A part of the case, which is YAML, as JSON; else what it is otherwise. */
static struct slice part_json(const struct case_text *c, const char *part, const char *otherwise, struct arena *a)
{
    struct yaml_docs docs;
    struct err e = {0};
    struct slice text = case_part(c, part);
    if (!text.ptr)
        return slice_of(otherwise);
    if (CHECK(yaml_parse(text, a, &docs, &e) && docs.count == 1))
        return docs.docs[0].json;
    printf("  %s\n", e.text);
    return slice_of(otherwise);
}

static struct slice merged(struct slice document, struct slice patch, struct arena *a)
{
    struct slice out = document;
    struct err e = {0};
    CHECK(json_merge(document, patch, a, &out, &e));
    return out;
}

static struct slice object_of(const struct case_text *c, struct arena *a)
{
    struct slice one = merged(slice_of(container), part_json(c, "container", "{}", a), a);
    struct slice pod = merged(arena_printf(a, "{\"automountServiceAccountToken\":false,\"containers\":[%.*s]}", SLICE_ARG(one)),
                              part_json(c, "pod", "{}", a), a);
    struct slice whole = arena_printf(
        a,
        "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"train\",\"namespace\":\"team-a\",\"labels\":{"
        "\"" WORK_LABEL_MANAGED_BY "\":\"mobula\",\"" WORK_LABEL_UID "\":\"u\",\"" WORK_LABEL_TAG "team\":\"a\"}},\"spec\":{"
        "\"headGroupSpec\":{\"rayStartParams\":{},\"template\":{\"metadata\":{\"annotations\":{\"anyscale.com/market-type\":\"SPOT\"}},"
        "\"spec\":%.*s}},\"workerGroupSpecs\":[]}}",
        SLICE_ARG(pod));
    return merged(whole, part_json(c, "object", "{}", a), a);
}

static void check_case(const struct case_text *c, struct arena *a)
{
    struct spec_errors errors = {0}, refused = {0};
    struct reader r = {.arena = a, .errors = &errors};
    const struct place *at = place_root(parse(part_json(c, "policy", "{}", a), a), a);
    struct work_policy policy;
    struct slice want = slice_trim(case_part(c, "rule"));
    uint32_t rule = 99;
    CHECK(work_policy_read(&r, at, &policy));
    bool ok = work_policy_check(&policy, parse(guarded_n(0, object_of(c, a)), a), a, &refused, &rule);
    CHECK_INT(ok, !want.ptr);
    CHECK_INT(ok, refused.count == 0 && rule == 0);
    bool named = false;
    for (uint32_t i = 0; i < refused.count; i++) {
        CHECK(slice_starts(refused.list[i].text, SLICE("rule ")));
        named |= want.ptr && slice_starts(slice_skip(refused.list[i].text, 5), want) && refused.list[i].text.ptr[5 + want.len] == ':';
    }
    if (!CHECK(named == (want.ptr != NULL)) || (want.ptr && !ok && !CHECK(rule >= 1 && rule <= WORK_RULES)))
        printf("  %.*s\n", SLICE_ARG(spec_errors_text(&refused, 900, a)));
}

/* ---- changes to an object, and the rules that refuse them: tests/data/work/asks.txt ---- */

static const char strict[] =
    "{\"namespaces\":[\"team-*\"],\"images\":[\"registry.example/*\"],\"requireDigest\":true,\"maxPodCPU\":4,\"maxPods\":10,"
    "\"maxGracePeriodSeconds\":60,\"sources\":[\"https://files.bank.example/*\"]}";

static struct slice asked(struct slice part, struct slice patch, struct arena *a)
{
    static const char image[] =
        "{\"image\":\"registry.example/ray@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}";
    struct slice one = merged(slice_of(container), slice_of(image), a);
    one = merged(one, slice_is(part, "container") ? patch : SLICE("{}"), a);
    struct slice pod = merged(arena_printf(a, "{\"automountServiceAccountToken\":false,\"containers\":[%.*s]}", SLICE_ARG(one)),
                              slice_is(part, "pod") ? patch : SLICE("{}"), a);
    struct slice cluster = arena_printf(a, "{\"headGroupSpec\":{\"rayStartParams\":{},\"template\":{\"spec\":%.*s}}}", SLICE_ARG(pod));
    bool job = slice_is(part, "job");
    if (job)
        cluster = merged(arena_printf(a, "{\"entrypoint\":\"x\",\"rayClusterSpec\":%.*s}", SLICE_ARG(cluster)), patch, a);
    struct slice whole =
        arena_printf(a,
                     "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"train\",\"namespace\":"
                     "\"team-a\",\"labels\":{\"" WORK_LABEL_MANAGED_BY "\":\"mobula\",\"" WORK_LABEL_UID "\":\"u\"}},\"spec\":%.*s}",
                     job ? "RayJob" : "RayCluster", SLICE_ARG(cluster));
    return merged(whole, slice_is(part, "object") ? patch : SLICE("{}"), a);
}

static void check_ask(const char *text, struct slice want, struct slice object, struct arena *a)
{
    struct spec_errors errors = {0}, refused = {0};
    struct reader r = {.arena = a, .errors = &errors};
    struct work_policy policy;
    uint32_t rule = 0;
    bool named = false, passes = slice_is(want, "-");
    CHECK(work_policy_read(&r, place_root(parse(slice_of(text), a), a), &policy));
    CHECK_INT(work_policy_check(&policy, parse(guarded_n(0, object), a), a, &refused, &rule), passes);
    for (uint32_t i = 0; i < refused.count; i++)
        named |= slice_starts(refused.list[i].text, arena_printf(a, "rule %.*s:", SLICE_ARG(want)));
    if (!CHECK(named != passes))
        printf("  %.*s\n", SLICE_ARG(spec_errors_text(&refused, 900, a)));
}

static void test_asks(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/work/asks.txt", &files);
    uint32_t count = 0;
    while (!slice_empty(file)) {
        struct arena a = {0};
        struct yaml_docs docs;
        struct slice line = slice_cut(&file, '\n'), rest = line;
        struct slice by_default = slice_cut(&rest, ' '), by_strict = slice_cut(&rest, ' '), part = slice_cut(&rest, ' ');
        if (!slice_empty(line) && !slice_starts(line, SLICE("#"))) {
            count++;
            test_case("ask %.*s", SLICE_ARG(line));
            if (CHECK(yaml_parse(rest, &a, &docs, NULL) && docs.count == 1)) {
                check_ask("{}", by_default, asked(part, docs.docs[0].json, &a), &a);
                check_ask(strict, by_strict, asked(part, docs.docs[0].json, &a), &a);
            }
        }
        arena_free(&a);
    }
    CHECK(count >= 78);
    arena_free(&files);
}

static void test_cases(uint32_t *items)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/work/policy.case", &files);
    for (struct case_text c; case_next(&file, &c); *items += case_part(&c, "rule").ptr != NULL) {
        struct arena a = {0};
        check_case(&c, &a);
        arena_free(&a);
    }
    arena_free(&files);
}

/* A policy that is wrong allows nothing. */
static void test_reading(void)
{
    static const struct {
        const char *text, *told;
    } cases[] = {
        {"{\"imagez\":[]}", "is no field of a policy"},
        {"[]", "is an array"},
        {"{\"images\":\"*\"}", "is a string"},
        {"{\"images\":[1]}", "is a number"},
        {"{\"maxPodCPU\":\"many\"}", "is no amount"},
        {"{\"maxPods\":0}", "is 0"},
        {"{\"frozen\":\"no\"}", "is"},
        {"{\"maxPodMemory\":-1}", "is no amount"},
        {"{\"newPerMinute\":1000001}", "is 1000001"},
        {"{\"maxObjects\":20001}", "is 20001"},
        {"{\"sendLogs\":1}", "is a number"},
        {"{\"maxGracePeriodSeconds\":0}", "is 0"},
        {"{\"sources\":7}", "is a number"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct spec_errors errors = {0};
        struct reader r = {.arena = &a, .errors = &errors};
        struct work_policy policy;
        const struct place *at = place_root(parse(slice_of(cases[i].text), &a), &a);
        test_case("%s", cases[i].text);
        CHECK(!work_policy_read(&r, at, &policy) && policy.frozen && policy.pod.pods == LIMIT_WORK_PODS);
        CHECK(errors.count == 1 && slice_starts(errors.list[0].text, slice_of(cases[i].told)));
        arena_free(&a);
    }
}

static bool list_read(int count)
{
    struct arena a = {0};
    struct spec_errors errors = {0};
    struct reader r = {.arena = &a, .errors = &errors};
    struct work_policy policy;
    struct buf b;
    buf_init(&b, MIB);
    buf_put(&b, SLICE("{\"images\":["));
    for (int i = 0; i < count; i++)
        buf_printf(&b, "%s\"i%d\"", i ? "," : "", i);
    buf_put(&b, SLICE("]}"));
    const struct place *at = place_root(parse(buf_slice(&b), &a), &a);
    bool ok = work_policy_read(&r, at, &policy);
    CHECK(ok || slice_has(errors.list[0].text, "LIMIT_WORK_LIST"));
    buf_free(&b);
    arena_free(&a);
    return ok;
}

/* What work_render makes of a plain workload passes the default policy. */
static void test_rendered(void)
{
    static const char *const specs[] = {
        "{\"job\":{\"entrypoint\":\"x\"},\"workingDir\":\"https://h/x.zip\",\"env\":{\"A\":\"b\"},\"tags\":{\"a\":\"b\"}}",
        "{\"cluster\":{},\"computeConfig\":{\"inline\":{\"zones\":[\"a\"],\"head_node\":{\"instance_type\":\"a\"},\"worker_nodes\":["
        "{\"required_resources\":{\"CPU\":1,\"memory\":\"1Gi\",\"cpu_architecture\":\"arm64\"}}]}}}"};
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        struct arena a = {0};
        struct spec_errors errors = {0}, refused = {0};
        struct work_options options = {.ns = SLICE("team-a"), .prefix = SLICE(""), .image = SLICE("ray")};
        struct workload_in in = {SLICE("u"), SLICE("team-a"), SLICE("train"), 1, parse(slice_of(specs[i]), &a)};
        struct work_policy policy;
        struct work_made out;
        uint32_t rule;
        test_case("%s", specs[i]);
        work_policy_default(&policy);
        if (CHECK(work_render(&in, &options, &a, &out, &errors, NULL)) &&
            !CHECK(work_policy_check(&policy, parse(out.object, &a), &a, &refused, &rule)))
            printf("  %.*s\n", SLICE_ARG(spec_errors_text(&refused, 900, &a)));
        CHECK(work_owns(parse(out.object, &a), SLICE("u")) && !work_owns(parse(out.object, &a), SLICE("v")));
        CHECK(!work_owns(parse(SLICE("{}"), &a), SLICE("")));
        arena_free(&a);
    }
}

/* What a RayJob asks for, at its largest. */
static void test_size(void)
{
    static const char spec[] =
        "{\"rayClusterSpec\":{\"headGroupSpec\":{\"template\":{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"500m\","
        "\"memory\":\"1Gi\"},\"limits\":{\"memory\":\"2Gi\"}}},{\"resources\":{\"limits\":{\"cpu\":1,\"nvidia.com/gpu\":2}}}]}}},"
        "\"workerGroupSpecs\":[{\"maxReplicas\":3,\"numOfHosts\":2,\"template\":{\"metadata\":{\"annotations\":{"
        "\"anyscale.com/instance-type\":\"big\"}},\"spec\":{\"containers\":[{}]}}},{\"maxReplicas\":1,\"template\":{\"spec\":{"
        "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"nonsense\"}}}]}}}]}}";
    struct arena a = {0};
    struct shape_types types, plain;
    struct spec_errors errors = {0};
    struct work_size size, one;
    CHECK(shape_types_read(SLICE("plain: {resources: {CPU: 2, memory: 4Gi}}"), &a, &plain, &errors));
    test_case("sums over containers, pods and instance types");
    CHECK(shape_types_read(SLICE("big: {resources: {CPU: 10, memory: 4Gi, GPU: 1, 'accelerator_type:T4': 1}}"), &a, &types, &errors));
    work_size(parse(slice_of(spec), &a), &types, &a, &size);
    CHECK_INT(size.pods, 1 + 6 + 1);
    CHECK_INT(size.gpus, 2 + 6);
    CHECK_INT(size.memory, (2 + 24) * INT64_C(1024) * MIB);
    CHECK_INT(size.milli_cpu, 1500 + 60 * 1000 + LIMIT_RAY_AMOUNT);
    test_case("a pod that names an instance type is as large as that");
    struct spec_errors refused = {0}, none = {0};
    struct work_options options = {.ns = SLICE("n"), .prefix = SLICE(""), .image = SLICE("ray")};
    struct slice typed = SLICE("{\"cluster\":{},\"computeConfig\":{\"inline\":{\"head_node\":{\"instance_type\":\"big\"}}}}");
    struct workload_in in = {SLICE("u"), SLICE("n"), SLICE("train"), 1, parse(typed, &a)};
    struct work_made out;
    struct work_policy policy;
    uint32_t rule = 0;
    work_policy_default(&policy);
    policy.pod.milli_cpu = 9999;
    policy.types = &types;
    CHECK(work_render(&in, &options, &a, &out, &none, NULL));
    CHECK(!work_policy_check(&policy, parse(out.object, &a), &a, &refused, &rule) && rule == WORK_RULE_RESOURCES);
    policy.pod.milli_cpu = 10000;
    CHECK(work_policy_check(&policy, parse(out.object, &a), &a, &refused, &rule));
    test_case("… and what its containers ask for beside it");
    work_pod_size(
        parse(SLICE("{\"metadata\":{\"labels\":{\"anyscale.com/instance-type\":\"plain\"}},\"spec\":{\"containers\":[{\"resources\":{"
                    "\"limits\":{\"nvidia.com/gpu\":8,\"cpu\":64}}}]}}"),
              &a),
        &plain, &a, &one);
    CHECK_INT(one.gpus, 8);
    CHECK_INT(one.milli_cpu, 2000);
    test_case("it is too much, and never too little");
    for (int i = 0; i < 100; i++)
        work_size_add(&size, &size, INT32_MAX);
    CHECK(size.milli_cpu > 0 && size.pods > 0);
    CHECK_STR(slice_of(work_size_above(&size, &(struct work_size){.gpus = 7})), "maxTotalGPU");
    CHECK(!work_size_above(&size, &(struct work_size){0}));
    arena_free(&a);
}

int main(void)
{
    uint32_t items = 0;
    test_cases(&items);
    CHECK(items >= 60);
    for (int i = 1; i <= WORK_RULES; i++)
        CHECK(work_rules[i].name && work_rules[i].says);
    test_asks();
    test_reading();
    test_case("limits");
    CHECK(list_read(LIMIT_WORK_LIST) && !list_read(LIMIT_WORK_LIST + 1));
    test_rendered();
    test_size();
    return test_done();
}
