/* ray_service_hash: the same for what we build and for what a server makes of it, another when somebody changed what is ours. And notes,
 * limits. */
#include "golden.h"

static uint64_t hash_of(struct slice text, struct arena *a)
{
    struct json doc;
    struct err e = {0};
    return CHECK(json_parse(&doc, text, a, &e)) ? ray_service_hash(json_root(&doc)) : 0;
}

static const struct {
    const char *id, *file;
    const char *patch; /* what the server, or somebody else, does to the object (RFC 6902) */
    bool same;
} changes[] = {
    {"server's defaults", "v1-plain",
     "[{\"op\":\"add\",\"path\":\"/spec/type\",\"value\":\"ClusterIP\"},{\"op\":\"add\",\"path\":\"/spec/"
     "sessionAffinity\",\"value\":\"None\"},"
     "{\"op\":\"add\",\"path\":\"/spec/clusterIPs\",\"value\":[\"None\"]},{\"op\":\"add\",\"path\":\"/spec/"
     "ipFamilies\",\"value\":[\"IPv4\"]},"
     "{\"op\":\"add\",\"path\":\"/spec/internalTrafficPolicy\",\"value\":\"Cluster\"},"
     "{\"op\":\"add\",\"path\":\"/spec/ports/0/protocol\",\"value\":\"TCP\"},{\"op\":\"add\",\"path\":\"/spec/ports/0/"
     "targetPort\",\"value\":10001},"
     "{\"op\":\"add\",\"path\":\"/metadata/uid\",\"value\":\"x\"},{\"op\":\"add\",\"path\":\"/metadata/resourceVersion\",\"value\":\"5\"},"
     "{\"op\":\"add\",\"path\":\"/status\",\"value\":{\"loadBalancer\":{}}}]",
     true},
    {"a foreign label", "v1-plain", "[{\"op\":\"add\",\"path\":\"/metadata/labels/theirs\",\"value\":\"x\"}]", true},
    {"a foreign annotation", "v1-plain", "[{\"op\":\"add\",\"path\":\"/metadata/annotations/theirs\",\"value\":\"x\"}]", true},
    {"node port given", "v1-service",
     "[{\"op\":\"add\",\"path\":\"/spec/ports/1/nodePort\",\"value\":31000},{\"op\":\"add\",\"path\":\"/spec/"
     "clusterIP\",\"value\":\"10.0.0.1\"}]",
     true},
    {"cluster IP given", "legacy-one", "[{\"op\":\"add\",\"path\":\"/spec/clusterIP\",\"value\":\"10.0.0.1\"}]", true},
    {"selector changed", "v1-plain", "[{\"op\":\"add\",\"path\":\"/spec/selector/x\",\"value\":\"y\"}]", false},
    {"port gone", "v1-plain", "[{\"op\":\"remove\",\"path\":\"/spec/ports/0\"}]", false},
    {"port changed", "v1-plain", "[{\"op\":\"replace\",\"path\":\"/spec/ports/0/port\",\"value\":1}]", false},
    {"target changed", "legacy-two", "[{\"op\":\"replace\",\"path\":\"/spec/ports/1/targetPort\",\"value\":1}]", false},
    {"type changed", "v1-plain", "[{\"op\":\"add\",\"path\":\"/spec/type\",\"value\":\"NodePort\"}]", false},
    {"not-ready addresses gone", "v1-plain", "[{\"op\":\"remove\",\"path\":\"/spec/publishNotReadyAddresses\"}]", false},
    {"affinity", "v1-plain", "[{\"op\":\"add\",\"path\":\"/spec/sessionAffinity\",\"value\":\"ClientIP\"}]", false},
    {"our label gone", "v1-plain", "[{\"op\":\"remove\",\"path\":\"/metadata/labels/ray.io~1cluster\"}]", false},
    {"made from something else", "v1-plain",
     "[{\"op\":\"replace\",\"path\":\"/metadata/annotations/mobula.dev~1template-hash\",\"value\":\"0123456789abcdef\"}]", false},
};

static void test_drift(void)
{
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        struct golden g;
        struct buf ours;
        struct err e = {0};
        struct slice theirs = SLICE_NONE;
        char path[128];
        snprintf(path, sizeof path, "tests/data/ray/%s.json", changes[i].file);
        test_case("%s", changes[i].id);
        buf_init(&ours, LIMIT_JSON_ITEM);
        if (golden_load(&g, path) && CHECK(ray_build_service(&g.cluster, RAY_SERVICE_HEAD, &g.arena, &ours, &e)) &&
            CHECK(json_patch(buf_slice(&ours), slice_of(changes[i].patch), &g.arena, &theirs, &e)))
            CHECK_INT(hash_of(buf_slice(&ours), &g.arena) == hash_of(theirs, &g.arena), changes[i].same);
        if (e.code)
            printf("  %s\n", e.text);
        buf_free(&ours);
        arena_free(&g.arena);
    }
}

static const struct {
    const char *spec;
    const char *notes;  /* one a line */
    const char *scaler; /* the annotation mobula.dev/autoscaler */
} notes[] = {
    {"\"headGroupSpec\":{}", "", NULL},
    {"\"headGroupSpec\":{\"templat\":1,\"enableIngress\":true},\"workerGroupSpec\":[],\"workerGroupSpecs\":[{},{\"minReplica\":1}]",
     "spec.workerGroupSpec: is no field\nspec.headGroupSpec.templat: is no field\nspec.workerGroupSpecs[1].minReplica: is no field\n"
     "metadata.annotations[\"kubernetes.io/ingress.class\"]: is missing: the Ingress goes to the default IngressClass",
     NULL},
    {"\"enableInTreeAutoscaling\":true,\"gcsFaultToleranceOptions\":{},\"historyServerOptions\":{},\"autoscalerOptions\":{\"x\":1,"
     "\"image\":\"i\"}",
     "spec.autoscalerOptions.x: is no field\nspec.autoscalerOptions.image: has no effect\nspec.historyServerOptions: is not", NULL},
    {"\"enableInTreeAutoscaling\":false,\"gcsFaultToleranceOptions\":null", "", NULL},
    {"\"enableInTreeAutoscaling\":true,\"autoscalerOptions\":{\"image\":\"i\",\"env\":[]}", "", "sidecar"},
    {"\"enableInTreeAutoscaling\":true,\"autoscalerOptions\":{\"image\":\"i\"}", "spec.autoscalerOptions.image: has no effect", "operator"},
    {"\"workerGroupSpecs\":[{},{\"idleTimeoutSeconds\":1}]",
     "metadata.annotations[\"mobula.dev/autoscaler\"]: has no effect\nspec.workerGroupSpecs[1].idleTimeoutSeconds: has no effect",
     "sidecar"},
    {"\"podTypes\":[{\"name\":\"h\",\"minWorker\":1}],\"SetupCommands\":[],\"setupCommands\":[]",
     "spec.setupCommands: is no field\nspec.podTypes[0].minWorker: is no field", NULL},
};

static void test_notes(void)
{
    for (size_t i = 0; i < COUNT_OF(notes); i++) {
        struct arena a = {0};
        struct json doc;
        struct spec_errors got = {0};
        test_case("notes on %s", notes[i].spec);
        const char *scaler = notes[i].scaler;
        struct slice meta =
            scaler ? arena_printf(&a, "\"metadata\":{\"annotations\":{\"mobula.dev/autoscaler\":\"%s\"}},", scaler) : SLICE("");
        CHECK(json_parse(&doc, arena_printf(&a, "{%.*s\"spec\":{%s}}", SLICE_ARG(meta), notes[i].spec), &a, NULL));
        ray_notes(json_root(&doc), &a, &got);
        struct slice rest = slice_of(notes[i].notes);
        for (uint32_t k = 0; k < got.count; k++) {
            struct slice text = arena_printf(&a, "%.*s: %.*s", SLICE_ARG(got.list[k].path), SLICE_ARG(got.list[k].text)),
                         want = slice_cut(&rest, '\n');
            if (!CHECK(want.len && slice_starts(text, want)))
                printf("  got %.*s\n", SLICE_ARG(text));
        }
        CHECK_STR(rest, "");
        arena_free(&a);
    }
}

/* count groups, all right or all without a name. */
static void check_groups(int count, bool named, uint32_t stored, uint32_t beyond)
{
    struct arena a = {0};
    struct buf text;
    struct json doc;
    struct ray_cluster c;
    struct spec_errors errors = {0};
    test_case("%d groups, %s", count, named ? "named" : "nameless");
    buf_init(&text, LIMIT_JSON_ITEM);
    static const char pod[] = "{\"spec\":{\"containers\":[{\"name\":\"r\",\"image\":\"i\"}]}}";
    buf_printf(&text, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"headGroupSpec\":{\"template\":%s},\"workerGroupSpecs\":[", pod);
    for (int i = 0; i < count; i++)
        buf_printf(&text, "%s{\"groupName\":%s%d%s,\"template\":%s}", i ? "," : "", named ? "\"g" : "", i, named ? "\"" : "", pod);
    buf_printf(&text, "]}}");
    CHECK(json_parse(&doc, buf_slice(&text), &a, NULL));
    CHECK_INT(ray_read(json_root(&doc), &a, &c, &errors), stored == 0);
    CHECK_INT(errors.count, stored);
    CHECK_INT(errors.beyond, beyond);
    CHECK(c.group_count <= LIMIT_RAY_GROUPS);
    buf_free(&text);
    arena_free(&a);
}

static void test_small_buffer(void)
{
    struct golden g;
    test_case("a pod larger than the buffer");
    if (golden_load(&g, "tests/data/ray/v1-plain.json")) {
        struct buf b;
        struct err e = {0};
        buf_init(&b, 1000);
        CHECK(!ray_build_head_pod(&g.cluster, &g.options, &g.arena, &b, &e));
        CHECK_INT(e.code, ERR_LIMIT);
        buf_clear(&b);
        e = (struct err){0};
        b.max = 300;
        CHECK(!ray_build_service(&g.cluster, RAY_SERVICE_HEAD, &g.arena, &b, &e));
        CHECK_INT(e.code, ERR_LIMIT);
        buf_free(&b);
    }
    arena_free(&g.arena);
}

static const struct {
    const char *id, *ports, *want;
} endpoints[] = {
    {"no ports", "", "{}"},
    {"none at all", "null", "{}"},
    {"of nodes", "[{'name':'dashboard','port':8265,'targetPort':8265,'nodePort':30001},{'name':'gcs','port':1,'targetPort':6379}]",
     "{\"dashboard\":\"30001\",\"gcs\":\"6379\"}"},
    {"by name", "[{'name':'a','port':80,'targetPort':'http'},{'name':'b','port':81}]", "{\"a\":\"http\",\"b\":\"81\"}"},
    {"without a name, as KubeRay leaves them out", "[{'port':80,'targetPort':80}]", "{}"},
    {"what no API server gives",
     "[{'name':'a','port':80},{'name':'a','port':81},{'name':'\\u0000','port':1},{'name':'c','targetPort':'A B'},7,null,{'name':7}]",
     "{\"a\":\"80\"}"},
};

static void check_endpoints(const char *ports, const char *want)
{
    struct arena a = {0};
    struct json doc;
    struct err e = {0};
    struct buf got;
    buf_init(&got, LIMIT_JSON_ITEM);
    char *text = (char *)(uintptr_t)arena_printf(&a, "{'spec':{'ports':%s}}", *ports ? ports : "[]").ptr;
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    if (CHECK(json_parse(&doc, slice_of(text), &a, &e))) {
        ray_service_endpoints(json_root(&doc), &a, &got);
        CHECK_STR(buf_slice(&got), want);
    }
    buf_free(&got);
    arena_free(&a);
}

static void check_many_endpoints(int ports)
{
    struct buf in, want;
    test_case("endpoints, %d of them", ports);
    buf_init(&in, LIMIT_JSON_ITEM);
    buf_init(&want, LIMIT_JSON_ITEM);
    for (int i = 0; i < ports; i++) {
        buf_printf(&in, "%s{'name':'p%d','port':%d}", i ? "," : "[", i, i + 1);
        if (i < LIMIT_RAY_ENDPOINTS)
            buf_printf(&want, "%s\"p%d\":\"%d\"", i ? "," : "{", i, i + 1);
    }
    buf_printf(&in, "]%c", 0);
    buf_printf(&want, "}%c", 0);
    check_endpoints(in.ptr, want.ptr);
    buf_free(&in);
    buf_free(&want);
}

static void test_endpoints(void)
{
    for (size_t i = 0; i < COUNT_OF(endpoints); i++) {
        test_case("endpoints %s", endpoints[i].id);
        check_endpoints(endpoints[i].ports, endpoints[i].want);
    }
    check_many_endpoints(LIMIT_RAY_ENDPOINTS);
    check_many_endpoints(LIMIT_RAY_ENDPOINTS + 1);
}

/* Which head services have an address of their own, by which --ray-access=service reaches heads (docs/autoscaling.md, "Other ways to the
 * heads"). */
static void test_addresses(void)
{
    static const struct {
        const char *kind, *head;
        bool headless;
    } cases[] = {
        {"ray.io/v1", "", true},
        {"ray.io/v1", "'serviceType':'ClusterIP',", true},
        {"ray.io/v1", "'serviceType':'NodePort',", false},
        {"ray.io/v1", "'serviceType':'LoadBalancer',", false},
        {"ray.io/v1", "'headService':{'spec':{'type':'ClusterIP'}},", false},
        {"ray.io/v1", "'headService':{'spec':{'clusterIP':'None'}},", true},
        {"cluster.ray.io/v1", "", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct spec_errors errors = {0};
        struct ray_cluster c;
        struct jval object, service;
        struct err e = {0};
        __attribute__((cleanup(buf_free))) struct buf b = {.max = LIMIT_JSON_ITEM};
        bool legacy = slice_starts(slice_of(cases[i].kind), SLICE("cluster."));
        test_case("a head service of its own address: %s %s", cases[i].kind, cases[i].head);
        char *text = (char *)(uintptr_t)arena_printf(
                         &a,
                         legacy ? "{'apiVersion':'%s','kind':'RayCluster','metadata':{'name':'c','namespace':'n','uid':'u'},'spec':{%s"
                                  "'podTypes':[{'name':'head','podConfig':{'spec':{'containers':[{'name':'h','image':'i'}]}}}],"
                                  "'headPodType':'head'}}"
                                : "{'apiVersion':'%s','kind':'RayCluster','metadata':{'name':'c','namespace':'n','uid':'u'},'spec':{"
                                  "'headGroupSpec':{%s'rayStartParams':{},'template':{'spec':{'containers':[{'name':'h','image':'i'}]}}}}}",
                         cases[i].kind, cases[i].head)
                         .ptr;
        for (char *at = text; *at; at++)
            *at = *at == '\'' ? '"' : *at;
        if (CHECK(json_read(&object, slice_of(text), &a, &e)) && CHECK(ray_read(object, &a, &c, &errors)) &&
            CHECK(ray_build_service(&c, RAY_SERVICE_HEAD, &a, &b, &e)) && CHECK(json_read(&service, buf_slice(&b), &a, &e)))
            CHECK_INT(json_is(json_get(service, "spec.clusterIP"), "None"), cases[i].headless);
        else
            printf("  %s %s\n", e.text, spec_errors_text(&errors, KIB, &a).ptr);
        arena_free(&a);
    }
}

int main(void)
{
    test_addresses();
    test_endpoints();
    test_drift();
    test_notes();
    check_groups(LIMIT_RAY_GROUPS, true, 0, 0);
    check_groups(LIMIT_RAY_GROUPS + 1, true, 1, 0);
    check_groups(LIMIT_SPEC_ERRORS, false, LIMIT_SPEC_ERRORS, 0);
    check_groups(LIMIT_SPEC_ERRORS + 1, false, LIMIT_SPEC_ERRORS, 1);
    test_small_buffer();
    return test_done();
}
