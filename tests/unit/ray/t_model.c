/* Numbers, names, hashes, sums and limits of the model. */
#include "../test.h"

#include <mobula/ray.h>

#define POD "{\"spec\":{\"containers\":[{\"name\":\"r\",\"image\":\"i\"%s}]}}"
#define UID "11111111-2222-3333-4444-555555555555"

struct model {
    struct arena arena;
    struct json doc;
    struct ray_cluster cluster;
    struct spec_errors errors;
};

static bool load(struct model *m, struct slice text)
{
    struct err e = {0};
    return CHECK(json_parse(&m->doc, text, &m->arena, &e)) && ray_read(json_root(&m->doc), &m->arena, &m->cluster, &m->errors);
}

static void done(struct model *m)
{
    arena_free(&m->arena);
}

/* A v1 cluster with what is given in its spec, container and group. */
static bool load_v1(struct model *m, const char *spec, const char *container, const char *group)
{
    *m = (struct model){0};
    struct slice pod = arena_printf(&m->arena, POD, container);
    return load(m, arena_printf(&m->arena,
                                "{\"apiVersion\":\"ray.io/v1\",\"metadata\":{\"name\":\"demo\",\"namespace\":\"team\",\"uid\":\"" UID "\","
                                "\"generation\":7},\"spec\":{%s\"headGroupSpec\":{\"template\":%.*s},"
                                "\"workerGroupSpecs\":[{\"groupName\":\"g\",\"template\":%.*s%s}]}}",
                                spec, SLICE_ARG(pod), SLICE_ARG(pod), group));
}

static const char *legacy_head = "h"; /* the name of its type */

static bool load_legacy(struct model *m, const char *labels, const char *spec, const char *type)
{
    *m = (struct model){0};
    struct slice pod = arena_printf(&m->arena, POD, "");
    return load(
        m, arena_printf(&m->arena,
                        "{\"apiVersion\":\"cluster.ray.io/v1\",\"metadata\":{\"name\":\"demo\",\"namespace\":\"team\",\"uid\":\"" UID "\","
                        "\"labels\":{%s}},\"spec\":{%s\"headPodType\":\"%s\",\"podTypes\":[{\"name\":\"%s\",\"podConfig\":%.*s},"
                        "{\"name\":\"g\",\"podConfig\":%.*s%s}]}}",
                        labels, spec, legacy_head, legacy_head, SLICE_ARG(pod), SLICE_ARG(pod), type));
}

static const struct {
    const char *spec, *group;
    int32_t desired, min, max, hosts;
    int head;
} desired[] = {
    {"", "", 0, 0, INT32_MAX, 1, 1},
    {"", ",\"replicas\":3", 3, 0, INT32_MAX, 1, 1},
    {"", ",\"replicas\":3.0,\"numOfHosts\":2", 3, 0, INT32_MAX, 2, 1},
    {"", ",\"replicas\":3,\"minReplicas\":5", 5, 5, INT32_MAX, 1, 1},
    {"", ",\"replicas\":3,\"maxReplicas\":2", 2, 0, 2, 1, 1},
    {"", ",\"minReplicas\":4", 4, 4, INT32_MAX, 1, 1},
    {"", ",\"replicas\":3,\"suspend\":true", 0, 0, INT32_MAX, 1, 1},
    {"\"suspend\":true,", ",\"replicas\":3", 0, 0, INT32_MAX, 1, 0},
};

static void test_desired(void)
{
    for (size_t i = 0; i < COUNT_OF(desired); i++) {
        struct model m;
        test_case("desired %s%s", desired[i].spec, desired[i].group);
        CHECK(load_v1(&m, desired[i].spec, "", desired[i].group));
        const struct ray_group *g = &m.cluster.groups[0];
        CHECK_INT(g->desired, desired[i].desired);
        CHECK_INT(g->min, desired[i].min);
        CHECK_INT(g->max, desired[i].max);
        CHECK_INT(g->hosts, desired[i].hosts);
        CHECK_INT(m.cluster.head.desired, desired[i].head);
        CHECK_INT(g->idle_timeout_s, -1);
        CHECK_INT(m.cluster.generation, 7);
        done(&m);
    }
}

static void test_legacy_model(void)
{
    struct model m;
    test_case("legacy defaults");
    CHECK(load_legacy(&m, "", "", ",\"minWorkers\":2"));
    CHECK_INT(m.cluster.kind, RAY_LEGACY);
    CHECK_STR(m.cluster.head.name, "h");
    CHECK_INT(m.cluster.group_count, 1);
    CHECK_INT(m.cluster.groups[0].desired, 2);
    CHECK_INT(m.cluster.groups[0].max, 2);
    CHECK_INT(m.cluster.groups[0].idle_timeout_s, 300);
    CHECK(m.cluster.recreate);
    CHECK_INT(m.cluster.ports.gcs, 6379);
    done(&m);
    test_case("legacy port");
    CHECK(load_legacy(
        &m, "", "\"idleTimeoutMinutes\":0,\"headStartRayCommands\":[\"x --dashboard-port=1\",\"ray start --head --port 6390\"],", ""));
    CHECK_INT(m.cluster.ports.gcs, 6390);
    CHECK_INT(m.cluster.groups[0].idle_timeout_s, 0);
    CHECK_INT(json_len(m.cluster.head.start_commands), 2);
    done(&m);
    test_case("no start commands are none of one's own");
    CHECK(load_legacy(&m, "", "\"headStartRayCommands\":[],\"workerStartRayCommands\":[],", ""));
    CHECK(json_type(m.cluster.head.start_commands) == JSON_NONE);
    CHECK(json_type(m.cluster.groups[0].start_commands) == JSON_NONE);
    done(&m);
}

static void test_options(void)
{
    struct model m;
    test_case("options");
    CHECK(load_v1(&m, "\"managedBy\":\"kueue.x-k8s.io/multikueue\",\"upgradeStrategy\":{\"type\":\"Recreate\"},", "",
                  ",\"scaleStrategy\":{\"workersToDelete\":[\"a\",\"b\"]}"));
    CHECK(m.cluster.managed_elsewhere);
    CHECK(m.cluster.recreate);
    CHECK_INT(m.cluster.groups[0].workers_to_delete_count, 2);
    CHECK_STR(m.cluster.groups[0].workers_to_delete[1], "b");
    done(&m);
    CHECK(load_v1(&m, "\"managedBy\":\"ray.io/kuberay-operator\",\"upgradeStrategy\":{\"type\":\"None\"},", "", ""));
    CHECK(!m.cluster.managed_elsewhere && !m.cluster.recreate && !m.cluster.scale.on);
    done(&m);
}

/* What nobody here knows goes through as it was written, to the byte. */
static void test_untouched(void)
{
    static const char *const kept[] = {"{\"b\" : [1, 2.50,null , 1e3],\"a\":\"\\u00e9\"}", "[ { \"name\":\"side\" } ]", "3.000"};
    char container[256];
    struct model m;
    struct buf b;
    struct err e = {0};
    struct ray_options o = {.cluster_domain = SLICE("cluster.local")};
    test_case("untouched");
    buf_init(&b, MIB);
    snprintf(container, sizeof container, ",\"future\":%s}],\"others\":%s,\"number\":%s,\"x\":[{", kept[0], kept[1], kept[2]);
    CHECK(load_v1(&m, "", container, ""));
    CHECK(ray_build_worker_pod(&m.cluster, &m.cluster.groups[0], 0, SLICE(""), &o, &m.arena, &b, &e));
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        CHECK(memmem(b.ptr, b.len, kept[i], strlen(kept[i])) != NULL);
    buf_free(&b);
    done(&m);
}

/* ---- names ---- */

static void test_names(void)
{
    struct model m;
    struct arena *a = &m.arena;
    test_case("names");
    CHECK(load_v1(&m, "", "", ""));
    struct ray_cluster *c = &m.cluster;
    struct ray_group *g = &c->groups[0];
    CHECK_STR(ray_head_pod_name(c, a), "demo-head");
    CHECK_STR(ray_head_service_name(c, a), "demo-head-svc");
    CHECK_STR(ray_headless_service_name(c, a), "demo-headless");
    struct slice first = ray_worker_pod_name(c, g, 3, SLICE(""), a), again = ray_worker_pod_name(c, g, 3, SLICE_NONE, a);
    CHECK_SLICE(first, again);
    CHECK_STR(slice_head(first, 16), "demo-g-worker-3-");
    CHECK_INT(first.len, 21);
    CHECK(!slice_eq(first, ray_worker_pod_name(c, g, 3, SLICE("x"), a)));
    g->name = SLICE("A_b.C");
    CHECK_STR(slice_head(ray_worker_pod_name(c, g, 0, SLICE(""), a), 20), "demo-a-b-c-worker-0-");
    /* The longest cluster and group that the reader lets through, the highest index. */
    c->name = SLICE("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyza");
    g->name = SLICE("G.234567890123456789012345678901234567890123456789012345678901z");
    struct slice longest = ray_worker_pod_name(c, g, LIMIT_RAY_PODS - 1, SLICE(UID), a);
    CHECK_INT(longest.len, 63);
    CHECK(name_dns1123_label(longest));
    CHECK(name_dns1123_label(ray_head_pod_name(c, a)));
    CHECK(name_dns1035_label(ray_headless_service_name(c, a)));
    done(&m);
}

static void test_legacy_names(void)
{
    struct model m;
    struct arena *a = &m.arena;
    test_case("legacy names");
    CHECK(load_legacy(&m, "", "", ""));
    struct slice head = ray_head_pod_name(&m.cluster, a);
    CHECK_STR(slice_head(head, 14), "demo-ray-head-");
    CHECK_INT(head.len, 19);
    CHECK_STR(slice_head(ray_worker_pod_name(&m.cluster, &m.cluster.groups[0], 4, SLICE(""), a), 18), "demo-ray-worker-4-");
    CHECK_STR(ray_head_service_name(&m.cluster, a), "demo-ray-head");
    done(&m);
}

/* ---- hashes: what changes them, what does not, and that they are what they were ---- */

static uint64_t hash_of(const char *spec, const char *container, const char *group, bool head)
{
    struct model m;
    uint64_t hash = load_v1(&m, spec, container, group) ? (head ? m.cluster.head.hash : m.cluster.groups[0].hash) : 0;
    CHECK(hash != 0);
    done(&m);
    return hash;
}

static void check_hash(uint64_t hash, const char *want)
{
    char text[RAY_HASH_TEXT];
    ray_hash_format(hash, text);
    CHECK_STR(((struct slice){text, sizeof text}), want);
}

static void test_group_hash(void)
{
    uint64_t plain = hash_of("", "", "", false), head = hash_of("", "", "", true);
    test_case("pinned: a change here replaces living pods");
    check_hash(plain, "5733600d7da6ede8");
    check_hash(head, "ba848a3ff4f5f6bb");
    test_case("hash stays");
    CHECK(hash_of("", "", ",\"replicas\":3,\"minReplicas\":1,\"maxReplicas\":9,\"idleTimeoutSeconds\":null", false) == plain);
    CHECK(hash_of("", "", ",\"scaleStrategy\":{\"workersToDelete\":[\"a\"]},\"suspend\":true", false) == plain);
    CHECK(hash_of("\"suspend\":true,\"upgradeStrategy\":{\"type\":\"Recreate\"},\"enableInTreeAutoscaling\":false,", "", "", false) ==
          plain);
    CHECK(hash_of("", "}],\"tolerations\":[{\"key\":\"a\"}],\"schedulingGates\":[{\"name\":\"b\"}],\"x\":[{", "", false) !=
          hash_of("", "}],\"tolerations\":[{\"key\":\"c\"}],\"y\":[{", "", false));
    CHECK(hash_of("", "}],\"tolerations\":[{\"key\":\"a\"}],\"schedulingGates\":[{\"name\":\"b\"}],\"x\":[{", "", false) ==
          hash_of("", "}],\"tolerations\":[{\"key\":\"c\"}],\"x\":[{", "", false));
    CHECK(hash_of("", ",\"a\":1,\"b\": 2", "", false) == hash_of("", ",\"b\":2.0 , \"a\":1", "", false));
    test_case("hash changes");
    CHECK(hash_of("", ",\"imagePullPolicy\":\"Always\"", "", false) != plain);
    CHECK(hash_of("", "", ",\"rayStartParams\":{\"num-cpus\":\"1\"}", false) != plain);
    CHECK(hash_of("", "", ",\"resources\":{\"CPU\":\"1\"}", false) != plain);
    CHECK(hash_of("", "", ",\"labels\":{\"a\":\"b\"}", false) != plain);
    CHECK(hash_of("", "", ",\"numOfHosts\":2", false) != plain);
    CHECK(hash_of("\"rayVersion\":\"2.60.0\",", "", "", false) != plain);
    CHECK(hash_of("\"authOptions\":{\"mode\":\"disabled\"},", "", "", false) == plain);
    CHECK(hash_of("\"rayVersion\":\"2.60.0\",\"authOptions\":{},", "", "", false) != hash_of("\"rayVersion\":\"2.60.0\",", "", "", false));
    CHECK(hash_of("\"enableInTreeAutoscaling\":true,", "", "", true) != head);
    test_case("what the container autoscaler is made of is the head's");
    static const char scaled[] = "\"enableInTreeAutoscaling\":true,\"autoscalerOptions\":{\"idleTimeoutSeconds\":1},",
                      made[] = "\"enableInTreeAutoscaling\":true,\"autoscalerOptions\":{\"image\":\"i\"},";
    CHECK(hash_of(scaled, "", "", true) == hash_of("\"enableInTreeAutoscaling\":true,", "", "", true));
    CHECK(hash_of(made, "", "", true) != hash_of(scaled, "", "", true));
    CHECK(hash_of(made, "", "", false) == plain);
    CHECK(hash_of("\"autoscalerOptions\":{\"image\":\"i\"},", "", "", true) == head);
}

static uint64_t legacy_hash(const char *labels, const char *spec, const char *type, bool head)
{
    struct model m;
    uint64_t hash = load_legacy(&m, labels, spec, type) ? (head ? m.cluster.head.hash : m.cluster.groups[0].hash) : 0;
    CHECK(hash != 0);
    done(&m);
    return hash;
}

static void test_legacy_hash(void)
{
    uint64_t plain = legacy_hash("", "", "", false), head = legacy_hash("", "", "", true);
    test_case("legacy: pinned");
    check_hash(plain, "63c7dde388f2af53");
    test_case("legacy: hash stays");
    CHECK(legacy_hash("", "\"maxWorkers\":9,\"idleTimeoutMinutes\":1,", ",\"minWorkers\":3", false) == plain);
    CHECK(legacy_hash("", "\"headSetupCommands\":[\"x\"],", "", false) == plain);
    CHECK(legacy_hash("", "\"workerSetupCommands\":[\"x\"],", "", true) == head);
    test_case("legacy: hash changes");
    CHECK(legacy_hash("\"try\":\"again\"", "", "", false) != plain);
    CHECK(legacy_hash("\"try\":\"again\"", "", "", true) != head);
    CHECK(legacy_hash("", "\"SetupCommands\":[\"x\"],", "", false) != plain);
    CHECK(legacy_hash("", "\"workerSetupCommands\":[\"x\"],", "", false) != plain);
    CHECK(legacy_hash("", "\"workerStartRayCommands\":[\"x\"],", "", false) != plain);
    CHECK(legacy_hash("", "", ",\"rayResources\":{\"a\":1}", false) != plain);
    CHECK(legacy_hash("", "\"headSetupCommands\":[\"x\"],", "", true) != head);
    legacy_head = "other";
    CHECK(legacy_hash("", "", "", true) != head);
    CHECK(legacy_hash("", "", "", false) == plain);
    legacy_head = "h";
}

static void test_hash_text(void)
{
    static const struct {
        const char *text;
        bool ok;
        uint64_t hash;
    } texts[] = {{"0123456789abcdef", true, 0x0123456789abcdef},
                 {"ffffffffffffffff", true, UINT64_MAX},
                 {"0123456789abcde", false, 0},
                 {"0123456789abcdef0", false, 0},
                 {"0123456789ABCDEF", false, 0},
                 {"", false, 0},
                 {"0x23456789abcdef", false, 0}};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        uint64_t hash = 0;
        char back[RAY_HASH_TEXT];
        test_case("hash text %s", texts[i].text);
        CHECK_INT(ray_hash_parse(guarded(slice_of(texts[i].text)), &hash), texts[i].ok);
        CHECK(hash == texts[i].hash);
        ray_hash_format(texts[i].hash, back);
        if (texts[i].ok)
            CHECK_STR(((struct slice){back, RAY_HASH_TEXT}), texts[i].text);
    }
}

/* ---- sums ---- */

static const struct {
    const char *container, *group;
    struct ray_sums want;
    enum err_code code;
} sums[] = {
    {"", ",\"replicas\":2", {.cpu = {0, 0}}, ERR_NONE},
    {",\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":2,\"google.com/tpu\":4}}",
     ",\"replicas\":2,\"numOfHosts\":2",
     {.cpu = {5 * 500, 0}, .memory = {5LL << 30, QUANTITY_BINARY}, .tpu = {5 * 4, 0}},
     ERR_NONE},
    {",\"resources\":{\"limits\":{\"cpu\":2,\"memory\":100,\"nvidia.com/gpu\":1,\"nvidia.com/mig-1g.5gb\":2},\"requests\":{\"nvidia.com/"
     "gpu\":1}}",
     ",\"replicas\":1",
     {.cpu = {4000, 0}, .memory = {200, 0}, .gpu = {6, 0}},
     ERR_NONE},
    {",\"resources\":{\"requests\":{\"cpu\":\"1\"}}},{\"name\":\"side\",\"resources\":{\"requests\":{\"cpu\":\"250m\"}}",
     ",\"replicas\":3,\"suspend\":true",
     {.cpu = {1250, 0}},
     ERR_NONE},
    {",\"resources\":{\"requests\":{\"memory\":\"8G\"}}},{\"name\":\"side\",\"resources\":{\"requests\":{\"memory\":\"1Gi\"}}",
     ",\"replicas\":0",
     {.memory = {8000000000 + (1LL << 30), QUANTITY_DECIMAL}},
     ERR_NONE},
    {",\"resources\":{\"requests\":{\"memory\":\"0\"}}},{\"name\":\"side\",\"resources\":{\"requests\":{\"memory\":1e3}}",
     ",\"replicas\":0",
     {.memory = {1000, QUANTITY_EXPONENT}},
     ERR_NONE},
    {",\"resources\":{\"requests\":{\"memory\":\"8Ei\"}}", ",\"replicas\":1", {.cpu = {0, 0}}, ERR_RANGE},
    {",\"resources\":{\"requests\":{\"memory\":\"7Ei\"}}", ",\"replicas\":1", {.cpu = {0, 0}}, ERR_RANGE},
};

static void test_sums(void)
{
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        struct model m;
        struct ray_sums got;
        struct err e = {0};
        test_case("sums %s", sums[i].container);
        load_v1(&m, "", sums[i].container, sums[i].group);
        CHECK_INT(ray_desired_sums(&m.cluster, &m.arena, &got, &e), sums[i].code == ERR_NONE);
        CHECK_INT(e.code, sums[i].code);
        if (sums[i].code == ERR_NONE) {
            CHECK_INT(got.cpu.amount, sums[i].want.cpu.amount);
            CHECK_INT(got.memory.amount, sums[i].want.memory.amount);
            CHECK_INT(got.memory.form, sums[i].want.memory.form);
            CHECK_INT(got.gpu.amount, sums[i].want.gpu.amount);
            CHECK_INT(got.tpu.amount, sums[i].want.tpu.amount);
        }
        done(&m);
    }
}

static void test_auth(void)
{
    static const struct {
        const char *options, *secret;
        bool ours;
    } secrets[] = {
        {"{}", "", false},
        {"{\"authOptions\":null}", "", false},
        {"{\"authOptions\":{\"mode\":\"disabled\",\"secretName\":\"s\"}}", "", false},
        {"{\"authOptions\":{}}", "c", true},
        {"{\"authOptions\":{\"mode\":\"token\",\"secretName\":\"\"}}", "c", true},
        {"{\"authOptions\":{\"mode\":\"token\",\"secretName\":\"s\"}}", "s", false},
    };
    struct arena a = {0};
    struct err e = {0};
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        struct json doc;
        bool ours = false;
        test_case("the Secret of %s", secrets[i].options);
        if (CHECK(json_parse(&doc, slice_of(secrets[i].options), &a, &e)))
            CHECK_STR(ray_auth_secret(json_root(&doc), SLICE("c"), &ours, &a), secrets[i].secret);
        CHECK_INT(ours, secrets[i].ours);
    }
    for (int extra = 0; extra < 2; extra++) {
        test_case("a token of LIMIT_RAY_TOKEN + %d bytes, and the end of a line", extra);
        struct slice token, text = arena_printf(&a, "%*s\n", LIMIT_RAY_TOKEN + extra, "");
        memset((char *)(uintptr_t)text.ptr, 'x', text.len - 1);
        e = (struct err){0};
        CHECK_INT(ray_auth_token(text, &token, &e), !extra);
        CHECK_INT(token.len, LIMIT_RAY_TOKEN + extra);
        CHECK(!extra || strstr(e.text, "(LIMIT_RAY_TOKEN)"));
    }
    static const struct {
        struct slice text;
        bool good;
    } bytes[] = {{SLICE("!~"), true}, {SLICE("a b"), false}, {SLICE("a\x7f"), false}, {SLICE("\xc3\xa4"), false}, {{"a\0b", 3}, false}};
    for (size_t i = 0; i < COUNT_OF(bytes); i++) {
        struct slice token;
        test_case("a token of strange bytes, %zu", i);
        CHECK_INT(ray_auth_token(bytes[i].text, &token, NULL), bytes[i].good);
    }
    arena_free(&a);
}

static void test_auth_read(void)
{
    static const struct {
        const char *secret, *token, *words;
    } rows[] = {
        {"{\"data\":{\"auth_token\":\"c2VzYW1lCg==\"}}", "sesame", ""},
        {"{\"data\":{\"other\":\"c2VzYW1lCg==\"}}", NULL, "it has no key auth_token"},
        {"{\"data\":{\"auth_token\":7}}", NULL, "it has no key auth_token"},
        {"{\"data\":null}", NULL, "it has no key auth_token"},
        {"{\"data\":{\"auth_token\":\"c2VzYW1\"}}", NULL, "base64"},
        {"{\"data\":{\"auth_token\":\"\"}}", NULL, "key auth_token is empty"},
        {"{\"data\":", NULL, ""},
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf text;
        struct slice token = SLICE_NONE;
        struct err e = {0};
        test_case("the token in %s", rows[i].secret);
        buf_init(&text, LIMIT_KUBE_TOKEN);
        bool read = ray_auth_read(slice_of(rows[i].secret), &text, &token, &a, &e);
        if (CHECK_INT(read, rows[i].token != NULL) && read)
            CHECK_STR(token, rows[i].token);
        CHECK(read || strstr(e.text, rows[i].words));
        buf_free(&text);
    }
    arena_free(&a);
}

int main(void)
{
    test_auth();
    test_auth_read();
    test_desired();
    test_legacy_model();
    test_options();
    test_untouched();
    test_names();
    test_legacy_names();
    test_group_hash();
    test_legacy_hash();
    test_hash_text();
    test_sums();
    return test_done();
}
