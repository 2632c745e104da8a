/* What the checks read out of answers, and what is left out of a support bundle. */
#include "../test.h"

#include <mobula/artifact.h>
#include <mobula/check.h>

static struct json docs[64];
static uint32_t doc_count;

static struct jval parse(const char *text, struct arena *a)
{
    struct err e = {0};
    struct json *doc = &docs[doc_count++ % COUNT_OF(docs)];
    if (!CHECK(json_parse(doc, slice_of(text), a, &e)))
        printf("  %s\n", e.text);
    return json_root(doc);
}

static struct check fresh(struct arena *a, const struct check_options *o)
{
    return (struct check){.o = o, .a = a, .current = "test", .wall_us = 1700000000LL * 1000000};
}

static void minors(struct arena *a)
{
    CHECK_INT(health_minor(parse("{\"minor\":\"34\"}", a), a), 34);
    CHECK_INT(health_minor(parse("{\"minor\":\"29+\"}", a), a), 29);
    CHECK_INT(health_minor(parse("{\"minor\":\"+\"}", a), a), 0);
    CHECK_INT(health_minor(parse("{}", a), a), 0);
}

static void rights(struct arena *a)
{
    static const char want[] = "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"pods/log\"],\"verbs\":[\"get\",\"create\"]},"
                               "{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"resourceNames\":[\"x\"],\"verbs\":[\"get\"]}]";
    static const struct {
        const char *have, *missing;
    } cases[] = {
        {"[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]", ""},
        {"[]", "get pods, create pods, get pods/log, create pods/log, get configmaps"},
        {"[{\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"*/log\"],\"verbs\":[\"*\"]},"
         "{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"resourceNames\":[\"y\"],\"verbs\":[\"get\"]}]",
         "get configmaps"},
        {"[{\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"*/log\"],\"verbs\":[\"*\"]},"
         "{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"resourceNames\":[\"x\"],\"verbs\":[\"get\"]}]",
         ""},
        {"[{\"apiGroups\":[\"apps\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]",
         "get pods, create pods, get pods/log, create pods/log, get configmaps"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("rights %zu", i);
        CHECK_STR(rights_missing(parse(cases[i].have, a), parse(want, a), a), cases[i].missing);
    }
    static const struct {
        const char *have, *want, *missing;
    } named[] = {{"\"a\",\"b\"", "\"b\",\"a\"", ""},
                 {"\"a\"", "\"a\",\"b\"", "get configmaps"},
                 {"", "\"a\",\"b\"", ""},
                 {"\"a\"", "", "get configmaps"}};
    for (size_t i = 0; i < COUNT_OF(named); i++) {
        static const char rule[] = "[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"resourceNames\":[%s],\"verbs\":[\"get\"]}]";
        test_case("rights to objects by name, %zu", i);
        CHECK_STR(rights_missing(parse(arena_printf(a, rule, named[i].have).ptr, a), parse(arena_printf(a, rule, named[i].want).ptr, a), a),
                  named[i].missing);
    }
}

static void definitions(struct arena *a, const struct check_options *o)
{
    static const char ours[] = "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true},{\"name\":\"v1alpha1\",\"served\":false}]}}";
    static const struct {
        const char *have;
        enum check_result worst;
    } cases[] = {
        {"{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true}]},\"status\":{\"storedVersions\":[\"v1\",\"v1alpha1\"]}}", CHECK_PASS},
        {"{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true}]},\"status\":{\"storedVersions\":[\"v2\"]}}", CHECK_FAIL},
        {"{\"spec\":{\"versions\":[{\"name\":\"v1alpha1\",\"served\":true}]}}", CHECK_FAIL},
        {"{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true}],\"conversion\":{\"strategy\":\"Webhook\"}}}", CHECK_WARN},
        {"{\"metadata\":{\"deletionTimestamp\":\"x\"},\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true}]}}", CHECK_FAIL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct check c = fresh(a, o);
        test_case("definitions %zu", i);
        check_definition(&c, parse(cases[i].have, a), parse(ours, a));
        CHECK_INT(c.count, 1);
        CHECK_INT(c.rows[0].result, cases[i].worst);
        CHECK((c.rows[0].remedy != NULL) == (cases[i].worst != CHECK_PASS));
    }
}

static void schemas(struct arena *a, const struct check_options *o)
{
#define SCHEMA(properties)                                                                                                                 \
    "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"schema\":{\"openAPIV3Schema\":{"            \
    "\"properties\":{"                                                                                                                     \
    "\"spec\":{\"properties\":{" properties "}}}}}}]}}"
    static const struct {
        const char *have, *says; /* says: part of the warning; NULL: none */
    } cases[] = {
        {SCHEMA("\"a\":{\"type\":\"string\",\"default\":\"x\"},\"b\":{\"enum\":[\"p\",\"q\"]},\"c\":{}"), NULL},
        {SCHEMA("\"a\":{\"type\":\"string\"}"), "it differs at spec.properties.b, and"},
        {SCHEMA("\"a\":{\"type\":\"integer\"},\"b\":{\"enum\":[\"p\",\"q\"]}"), "it differs at spec.properties.a.type, and"},
        {SCHEMA("\"a\":{\"type\":\"string\"},\"b\":{\"enum\":[\"p\"]}"), "it differs at spec.properties.b.enum, and"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct check c = fresh(a, o);
        test_case("the content of a definition, %zu", i);
        check_definition(&c, parse(cases[i].have, a), parse(SCHEMA("\"a\":{\"type\":\"string\"},\"b\":{\"enum\":[\"p\",\"q\"]}"), a));
        CHECK_INT(c.rows[0].result, cases[i].says ? CHECK_WARN : CHECK_PASS);
        CHECK(!cases[i].says || slice_has(c.rows[0].text, cases[i].says));
    }
}

static void taints(struct arena *a, const struct check_options *o)
{
    static const struct {
        const char *taints, *first; /* first: in the form of --toleration; "": none keeps pods off */
    } cases[] = {
        {"[]", ""},
        {"[{\"key\":\"a\",\"effect\":\"PreferNoSchedule\"}]", ""},
        {"[{\"key\":\"a\",\"effect\":\"NoSchedule\"}]", "a:NoSchedule"},
        {"[{\"key\":\"a\",\"value\":\"b\",\"effect\":\"NoExecute\"}]", "a=b:NoExecute"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct check c = fresh(a, o);
        struct check_capacity s = {0};
        static const char node[] = "{\"spec\":{\"taints\":%s},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}";
        test_case("taints %zu", i);
        check_node_item(&c, &s, parse(arena_printf(a, node, cases[i].taints).ptr, a));
        CHECK_STR(s.taint, cases[i].first);
        CHECK_INT(s.free, cases[i].first[0] == '\0');
    }
}

static void items(struct arena *a, const struct check_options *o)
{
    struct check c = fresh(a, o);
    struct check_capacity s = {0};
    test_case("quota and nodes");
    check_quota_item(&c, NULL,
                     parse("{\"metadata\":{\"name\":\"q\"},\"status\":{\"hard\":{\"cpu\":\"2\",\"pods\":\"5\"},\"used\":{\"cpu\":"
                           "\"2000m\",\"pods\":\"4\"}}}",
                           a));
    CHECK_INT(c.count, 1);
    CHECK_STR(c.rows[0].text, "ResourceQuota q: cpu is used up: 2000m of 2");
    check_node_item(&c, &s,
                    parse("{\"status\":{\"allocatable\":{\"cpu\":\"7800m\",\"memory\":\"16Gi\",\"nvidia.com/gpu\":\"4\"},\"conditions\":[{"
                          "\"type\":\"Ready\",\"status\":\"True\"}]}}",
                          a));
    check_node_item(
        &c, &s, parse("{\"status\":{\"allocatable\":{\"cpu\":\"8\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}", a));
    CHECK(s.nodes == 2 && s.ready == 1 && s.gpus == 4 && s.gpus_on == 1 && s.cpu_milli == 7800);
    check_secret_item(&c, NULL, parse("{\"metadata\":{\"name\":\"s\"},\"data\":{\"tls.crt\":\"aGVsbG8=\"}}", a));
    CHECK_STR(c.rows[1].text, "Secret s: tls.crt: no certificate in PEM form");
}

/* A type fits a node that has all of it, its architecture and its labels; one node for each is enough. */
static void types_on_nodes(struct arena *a, const struct check_options *o)
{
    struct check c = fresh(a, o);
    struct shape_types types;
    struct spec_errors errors = {.count = 0};
    bool fits[5] = {false};
    test_case("instance types and kernels");
    CHECK(shape_types_read(SLICE("small: {resources: {CPU: 2, memory: 4Gi}}\nlarge: {resources: {CPU: 64, memory: 4Gi}}\n"
                                 "gpu: {resources: {CPU: 2, memory: 4Gi, GPU: 2, 'accelerator_type:T4': 1}}\n"
                                 "gpus: {resources: {CPU: 2, memory: 4Gi, GPU: 4, 'accelerator_type:T4': 1}}\n"
                                 "arm: {resources: {CPU: 2, memory: 4Gi}, cpuArchitecture: arm64}\n"),
                           a, &types, &errors) ||
          !printf("  %.*s\n", SLICE_ARG(errors.list[0].text)));
    if (!CHECK_INT(types.count, 5))
        return;
    struct check_capacity s = {.types = &types, .fits = fits};
    static const char *const nodes[] = {
        "{\"status\":{\"allocatable\":{\"cpu\":\"2\",\"memory\":\"4Gi\"},\"nodeInfo\":{\"kernelVersion\":\"4.13.9-1\",\"architecture\":"
        "\"amd64\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
        "{\"status\":{\"allocatable\":{\"cpu\":\"2\",\"memory\":\"4Gi\",\"nvidia.com/"
        "gpu\":\"2\"},\"nodeInfo\":{\"kernelVersion\":\"4.14.0\","
        "\"architecture\":\"amd64\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
        "{\"status\":{\"allocatable\":{\"cpu\":\"1999m\",\"memory\":\"4Gi\"},\"nodeInfo\":{\"kernelVersion\":\"x\",\"architecture\":"
        "\"arm64\"},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
    };
    for (size_t i = 0; i < COUNT_OF(nodes); i++)
        check_node_item(&c, &s, parse(nodes[i], a));
    CHECK_INT(s.old_kernels, 1);
    for (uint32_t i = 0; i < types.count; i++) {
        test_case("type %.*s", SLICE_ARG(types.list[i].name));
        CHECK(fits[i] == (slice_eq(types.list[i].name, SLICE("small")) || slice_eq(types.list[i].name, SLICE("gpu"))));
    }
}

static void arguments(struct arena *a, const struct check_options *o)
{
    struct check c = fresh(a, o);
    test_case("the operator's arguments");
    CHECK(!check_argument(&c, "--kinds").ptr);
    c.args = parse("[\"operator\",\"--kinds=all\",\"--leader-elect\",\"--kinds=legacy\",\"--kinds-of=x\"]", a);
    CHECK_STR(check_argument(&c, "--kinds"), "legacy");
    CHECK(check_argument(&c, "--leader-elect").ptr && slice_empty(check_argument(&c, "--leader-elect")));
    CHECK(!check_argument(&c, "--kind").ptr);
}

static void rows(struct arena *a)
{
    static const struct check_options text = {.output = SLICE("text")}, json = {.output = SLICE("json")};
    struct check c = fresh(a, &text);
    struct json doc;
    struct err e = {0};
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, MIB);
    test_case("rows");
    CHECK_INT(check_status(&c), 0);
    check_say(&c, CHECK_SKIP, NULL, "a");
    CHECK_INT(check_status(&c), 0);
    check_say(&c, CHECK_WARN, "do", "b\x1b[31m\n");
    CHECK_INT(check_status(&c), 4);
    check_say(&c, CHECK_FAIL, "do", "c");
    CHECK_INT(check_status(&c), 3);
    check_write(&c, &out);
    CHECK(!slice_has(buf_slice(&out), "\x1b") && slice_has(buf_slice(&out), "warnings: 1, failed: 1\n"));
    buf_clear(&out);
    c.o = &json;
    check_write(&c, &out);
    CHECK(json_parse(&doc, buf_slice(&out), a, &e) && json_len(json_get(json_root(&doc), "checks")) == 3);
    for (uint32_t i = 3; i <= CHECK_ROWS_MAX; i++)
        check_say(&c, CHECK_PASS, NULL, "d");
    CHECK_INT(c.count, CHECK_ROWS_MAX);
    CHECK_INT(c.beyond, 1);
}

/* Each holds S3CR3T, which must not be left, and where it says so something that must. */
static const struct {
    const char *text, *stays;
} secrets[] = {
    {"password=S3CR3T", "password="},
    {"db_password: S3CR3T next", "next"},
    {"\"password\": \"S3CR3T\", \"a\": 1", "\"a\": 1"},
    {"PASSWORD S3CR3T", ""},
    {"api_key='S3CR3T'", ""},
    {"--api-key S3CR3T --port 80", "--port 80"},
    {"--token=S3CR3T", ""},
    {"AWS_SECRET_ACCESS_KEY=S3CR3T", ""},
    {"aws_session_token = S3CR3T", ""},
    {"Authorization: Bearer S3CR3T", "Bearer"},
    {"authorization: Basic S3CR3T", ""},
    {"-H 'Authorization: token S3CR3T'", ""},
    {"Bearer S3CR3T", ""},
    {"got Bearer S3CR3T from x", "from x"},
    {"https://user:S3CR3T@host/path", "@host/path"},
    {"postgres://u:S3CR3T@db:5432/x", "@db:5432/x"},
    {"http://S3CR3T@proxy:3128", "@proxy"},
    {"redis://:S3CR3T@cache", "@cache"},
    {"eyJhbGciOiJSUzI1NiJ9.S3CR3T.sig", ""},
    {"x eyJhbGciOiJIUzI1NiJ9.S3CR3T y", " y"},
    {"ghp_0123456789abcdefS3CR3T", ""},
    {"gho_0123456789abcdefS3CR3T", ""},
    {"ghs_0123456789abcdefS3CR3T", ""},
    {"github_pat_11ABCDEFGS3CR3T", ""},
    {"glpat-0123456789S3CR3T", ""},
    {"hf_0123456789abcdefS3CR3T", ""},
    {"sk-0123456789abcdefS3CR3T", ""},
    {"xoxb-0123456789-S3CR3T", ""},
    {"xoxp-0123456789-S3CR3T", ""},
    {"AKIA0123456789S3CR3T", ""},
    {"ASIA0123456789S3CR3T", ""},
    {"AIza0123456789S3CR3T", ""},
    {"npm_0123456789S3CR3T", ""},
    {"pypi-0123456789S3CR3T", ""},
    {"dckr_pat_0123456S3CR3T", ""},
    {"-----BEGIN PRIVATE KEY-----\nS3CR3T\n-----END PRIVATE KEY-----\nafter", "after"},
    {"-----BEGIN RSA PRIVATE KEY-----\nS3CR3T", ""},
    {"-----BEGIN EC PRIVATE KEY-----\nS3CR3T\n-----END EC PRIVATE KEY-----", ""},
    {"sig?X-Amz-Signature=S3CR3T&b=1", "&b=1"},
    {"AccountKey=S3CR3T;EndpointSuffix=core", "EndpointSuffix=core"},
    {"Set-Cookie: S3CR3T", ""},
    {"client_secret=S3CR3T&grant=x", "&grant=x"},
    {"{\\\"token\\\": \\\"S3CR3T\\\"}", ""},
    {"credentials: S3CR3T", ""},
    {"passphrase = \"S3CR3T\"", ""},
};
static const char *const object_secrets[] = {
    "{\"spec\":{\"containers\":[{\"env\":[{\"name\":\"A\",\"value\":\"S3CR3T\"}]}]}}",
    "{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"S3CR3T\"}}}",
    "{\"spec\":{\"runtimeEnvYAML\":\"env_vars: {A: S3CR3T}\"}}",
    "{\"spec\":{\"rayStartParams\":{\"redis-password\":\"S3CR3T\"}}}",
    "{\"spec\":{\"containers\":[{\"args\":[\"--token=S3CR3T\"]}]}}",
    "{\"args\":[\"--password\",\"S3CR3T\",\"--port\",\"80\"]}",
    "{\"stringData\":{\"a\":\"S3CR3T\"}}",
};

static void redaction(struct arena *a)
{
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, MIB);
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        test_case("secret %s", secrets[i].text);
        buf_clear(&out);
        support_redact_text(guarded(slice_of(secrets[i].text)), &out);
        CHECK(!slice_has(buf_slice(&out), "S3CR3T"));
        CHECK(secrets[i].stays[0] == '\0' || slice_has(buf_slice(&out), secrets[i].stays));
    }
    for (size_t i = 0; i < COUNT_OF(object_secrets); i++) {
        test_case("object %s", object_secrets[i]);
        buf_clear(&out);
        support_redact_object(parse(object_secrets[i], a), &out);
        CHECK(!slice_has(buf_slice(&out), "S3CR3T") && slice_has(buf_slice(&out), "REDACTED"));
    }
    static const char plain[] = "ts=2026-01-01T00:00:00Z level=info room=control msg=\"pod created\" pod=a-head url=https://a.b/c?d=e";
    buf_clear(&out);
    support_redact_text(slice_of(plain), &out);
    CHECK_STR(buf_slice(&out), plain);
}

static void images(struct arena *a)
{
    static const char text[] =
        "kind: RayCluster\nspec:\n  headGroupSpec: {template: {spec: {containers: [{image: b}], initContainers: [{image: a}],\n"
        "    volumes: [{image: {reference: v}}]}}}\n---\nkind: ConfigMap\ndata: {image: no}\n---\nkind: List\n"
        "items: [{kind: Pod, spec: {containers: [{image: b}, {image: c}]}}, {kind: Secret, data: {image: no}}]\n";
    struct images *set = arena_new(a, struct images);
    struct err e = {0};
    test_case("images");
    CHECK(images_read(slice_of(text), a, set, &e));
    images_sort(set);
    if (CHECK_INT(set->count, 4))
        for (uint32_t i = 0; i < 4; i++)
            CHECK_SLICE(set->list[i], ((struct slice){&"abcv"[i], 1}));
    for (uint32_t i = set->count; i < IMAGES_MAX; i++)
        CHECK(images_add(set, arena_printf(a, "x%u", i), &e));
    CHECK(!images_add(set, SLICE("y"), &e) && slice_has(slice_of(e.text), "IMAGES_MAX"));
}

static void test_words(void)
{
    struct ask_answer answer = {.code = 503, .reason = KUBE_UNAVAILABLE, .message = SLICE("HTTP 503 Service Unavailable")};
    char words[ASK_WORDS];
    test_case("a refusal that is no Status object is told once");
    CHECK_STR(slice_of(ask_words(&answer, words)), "HTTP 503 Service Unavailable");
    test_case("the words of a Status object");
    answer.object = true;
    answer.message = SLICE("no endpoints");
    CHECK_STR(slice_of(ask_words(&answer, words)), "503 ServiceUnavailable: no endpoints");
}

/* A registry that --reach names is contacted by nodes, so that it is not on the operator's allowlist is no fault of an installation. */
static void allowlists(struct arena *a)
{
    static const struct {
        const char *args, *reach, *told; /* told: the rows, parted by " | " */
    } cases[] = {
        {"[]", "", ""},
        {"[]", "registry.bank.example:5000",
         "pass: registry.bank.example:5000 is not on the operator's allowlist: right where only nodes or people go there"},
        {"[\"--control-plane-url=https://hub.example\"]", "hub.example", ""},
        {"[\"--egress-allow=a.example,*.b.example:8443\"]", "a.example,x.b.example:8443,x:y,a.example:80",
         "pass: the operator may contact 2 places beside the API server, heads and control plane | "
         "pass: a.example:80 is not on the operator's allowlist: right where only nodes or people go there"},
        {"[\"--egress-allow=*\"]", "",
         "fail: the operator's allowlist: --egress-allow: \"*\" is not a wildcard: want *.NAME or PREFIX*.NAME, one star at the end of the "
         "first label"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct check_options o = {.reach = slice_of(cases[i].reach)};
        struct check c = fresh(a, &o);
        struct slice told = SLICE("");
        c.args = parse(cases[i].args, a);
        test_case("what the operator may contact, and --reach %zu", i);
        check_allowlist(&c);
        for (uint32_t k = 0; k < c.count; k++)
            told = arena_printf(a, "%.*s%s%s: %.*s", SLICE_ARG(told), k ? " | " : "", c.rows[k].result == CHECK_PASS ? "pass" : "fail",
                                SLICE_ARG(c.rows[k].text));
        CHECK_STR(told, cases[i].told);
    }
}

static void planes(void)
{
    static const struct {
        int code;
        enum check_result result;
        const char *text, *remedy;
    } cases[] = {
        {200, CHECK_PASS, "Service hub in namespace ns answers through the API server's proxy", NULL},
        {403, CHECK_SKIP, "Service hub in namespace ns may not be tried through the API server's proxy: words", "services/proxy"},
        {404, CHECK_FAIL, "Service hub in namespace ns does not exist, or has no such port: words", "--control-plane-url"},
        {503, CHECK_FAIL, "Service hub in namespace ns does not answer: words", "logs"},
    };
    static const struct {
        const char *cloud;
        enum check_result result;
        const char *text;
    } clouds[] = {
        {"{\"metadata\":{\"name\":\"e\"},\"status\":{\"deploymentId\":\"x\",\"lastContactTime\":\"T\",\"conditions\":[{\"type\":"
         "\"Connected\",\"status\":\"True\"}]}}",
         CHECK_PASS, "Cloud e that the operator has called at T"},
        {"{\"metadata\":{\"name\":\"e\"},\"status\":{\"deploymentId\":\"x\"}}", CHECK_FAIL, "as Cloud e says; the last call: never"},
        {"{\"metadata\":{\"name\":\"e\"},\"status\":{\"deploymentId\":\"y\"}}", CHECK_PASS, NULL},
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct check c = {.a = &a};
        test_case("the way to a control plane through the API server, %zu", i);
        check_plane_answer(&c, SLICE("hub"), SLICE("ns"), cases[i].code, SLICE("words"));
        CHECK_INT(c.count, 1);
        CHECK_INT(c.rows[0].result, cases[i].result);
        CHECK(slice_has(c.rows[0].text, cases[i].text));
        CHECK(!cases[i].remedy == !c.rows[0].remedy && (!cases[i].remedy || strstr(c.rows[0].remedy, cases[i].remedy)));
    }
    for (size_t i = 0; i < COUNT_OF(clouds); i++) {
        struct check c = {.a = &a};
        struct slice id = SLICE("x");
        struct jval cloud;
        test_case("calls that the control plane has recorded, %zu", i);
        if (CHECK(json_read(&cloud, slice_of(clouds[i].cloud), &a, NULL)))
            check_cloud_item(&c, &id, cloud);
        CHECK_INT(c.count, clouds[i].text != NULL);
        CHECK(!c.count || (c.rows[0].result == clouds[i].result && slice_has(c.rows[0].text, clouds[i].text)));
    }
    arena_free(&a);
}

static void leases(struct arena *a, const struct check_options *o)
{
    static const struct {
        const char *lease, *says;
        bool installed;
        enum check_result result;
    } cases[] = {
        {"{\"spec\":{\"holderIdentity\":\"\",\"renewTime\":\"2023-11-14T22:13:19Z\"}}", NULL, true, CHECK_PASS},
        {"{\"spec\":{\"holderIdentity\":\"a\",\"renewTime\":\"never\"}}", NULL, true, CHECK_PASS},
        {"{\"spec\":{\"holderIdentity\":\"a\",\"leaseDurationSeconds\":15,\"renewTime\":\"2023-11-14T22:13:19.5Z\"}}",
         "a leads, until 2023-11-14T22:13:34Z", true, CHECK_PASS},
        {"{\"spec\":{\"holderIdentity\":\"a\",\"leaseDurationSeconds\":15,\"renewTime\":\"2023-11-14T22:13:19Z\"}}", "a leads", false,
         CHECK_WARN},
        {"{\"spec\":{\"holderIdentity\":\"a\",\"leaseDurationSeconds\":15,\"renewTime\":\"2023-11-14T22:13:00Z\"}}",
         "is an old one: a held it until 2023-11-14T22:13:15Z", true, CHECK_WARN},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct check c = fresh(a, o);
        test_case("lease %zu", i);
        c.operator_ns = SLICE("ns");
        c.deployment = cases[i].installed ? parse("{\"kind\":\"Deployment\"}", a) : NO_VALUE;
        check_lease_object(&c, parse(cases[i].lease, a));
        if (!CHECK_INT(c.count, cases[i].says != NULL) || !c.count)
            continue;
        CHECK(slice_has(c.rows[0].text, cases[i].says));
        CHECK_INT(c.rows[0].result, cases[i].result);
        CHECK((c.rows[0].remedy != NULL) == (cases[i].result == CHECK_WARN));
    }
}

static void policy_ports(struct arena *a, const struct check_options *o)
{
    static const char slice[] = "{\"endpoints\":[{\"addresses\":[\"10.0.0.1\"]}],\"ports\":[{\"name\":\"https\",\"port\":7443}]}";
    static const struct {
        const char *egress;
        bool out;
    } cases[] = {{"[]", false},
                 {"[{}]", true},
                 {"[{\"ports\":[{\"port\":443},{\"port\":7443}]}]", true},
                 {"[{\"ports\":[{\"port\":443}]}]", false},
                 {"[{\"to\":[{\"podSelector\":{}}],\"ports\":[{\"port\":7443}]}]", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct check c = fresh(a, o);
        test_case("a NetworkPolicy with egress %s", cases[i].egress);
        check_policy_ports(&c, parse(arena_printf(a, "{\"spec\":{\"egress\":%s}}", cases[i].egress).ptr, a), parse(slice, a));
        CHECK_INT(c.count, 1);
        CHECK_INT(c.rows[0].result, cases[i].out ? CHECK_PASS : CHECK_WARN);
        CHECK(cases[i].out || strstr(c.rows[0].remedy, "--egress-allow=10.0.0.1:7443"));
    }
    test_case("the remedy has an IPv6 address in brackets");
    struct check c = fresh(a, o);
    check_policy_ports(&c, parse("{}", a), parse("{\"endpoints\":[{\"addresses\":[\"fd00::1\"]}],\"ports\":[{\"port\":7443}]}", a));
    CHECK(strstr(c.rows[0].remedy, "--egress-allow=[fd00::1]:7443 adds"));
}

int main(void)
{
    planes();
    static const struct check_options o = {.output = SLICE("text")};
    struct arena a = {0};
    minors(&a);
    rights(&a);
    definitions(&a, &o);
    schemas(&a, &o);
    taints(&a, &o);
    items(&a, &o);
    types_on_nodes(&a, &o);
    arguments(&a, &o);
    allowlists(&a);
    leases(&a, &o);
    policy_ports(&a, &o);
    rows(&a);
    redaction(&a);
    images(&a);
    arena_free(&a);
    test_words();
    return test_done();
}
