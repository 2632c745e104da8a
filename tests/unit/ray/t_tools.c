#include "../test.h"

#include <mobula/ray.h>

static const char cluster[] =
    "{\"apiVersion\":\"ray.io/"
    "v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"u\",\"annotations\":{%s}},"
    "\"spec\":{\"headGroupSpec\":{\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":[{\"name\":\"ray\",\"image\":\"i\"}]}}},"
    "\"workerGroupSpecs\":[{\"groupName\":\"g\",\"replicas\":1,\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":"
    "[{\"name\":\"ray\",\"image\":\"i\"%s}]}}}]}}";

#define SAID "\"mobula.dev/tools-resources\":\"cpu=100m, memory=90Mi\""
#define BESIDE ",\"resources\":{\"limits\":{\"cpu\":2,\"memory\":\"4Gi\",\"nvidia.com/gpu\":1},\"requests\":{\"cpu\":\"1500m\"}}"
#define BOTH(cpu, memory)                                                                                                                  \
    "{\"limits\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"},\"requests\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}}"

/* The resources of wait-gcs-ready. */
static const struct {
    const char *id, *annotations, *container;
    const char *cpu; /* of the flag */
    const char *want;
} cases[] = {
    {"what the Ray container has, without devices", "", BESIDE, "",
     "{\"limits\":{\"cpu\":2,\"memory\":\"4Gi\"},\"requests\":{\"cpu\":\"1500m\"}}"},
    {"none, where the Ray container has none", "", "", "", ""},
    {"what the annotation says", SAID, BESIDE, "", BOTH("100m", "90Mi")},
    {"what the flag says", "", BESIDE, "200m", BOTH("200m", "16Mi")},
    {"the annotation goes before the flag", SAID, "", "200m", BOTH("100m", "90Mi")},
};

static bool read_cluster(const char *annotations, const char *container, struct arena *a, struct ray_cluster *out,
                         struct spec_errors *errors)
{
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    return CHECK(json_parse(doc, arena_printf(a, cluster, annotations, container), a, &e)) && ray_read(json_root(doc), a, out, errors);
}

/* Of the container mobula-agent: its own flag, then that of all added containers, then what storing logs needs; the annotation wins. */
static void test_agent(void)
{
    static const struct {
        const char *annotations, *all, *agent, *want; /* all, agent: the flags */
    } rows[] = {
        {"", "", "", BOTH("50m", "32Mi")},
        {"", "memory=90Mi", "", BOTH("50m", "90Mi")},
        {"", "cpu=200m,memory=90Mi", "cpu=300m", BOTH("300m", "90Mi")},
        {"", "", "memory=64Mi", BOTH("50m", "64Mi")},
        {SAID, "cpu=200m", "cpu=300m,memory=64Mi", BOTH("100m", "90Mi")},
    };
    static const struct slice none[] = {{NULL, 0}};
    static const struct ray_ship ship = {.args = none};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena a = {0};
        struct ray_cluster c;
        struct spec_errors errors = {0};
        struct json pod;
        struct err e = {0};
        struct ray_options o = {.cluster_domain = SLICE("cluster.local"), .version = SLICE("0"), .ship = &ship};
        __attribute__((cleanup(buf_free))) struct buf out;
        test_case("agent: annotation {%s}, --tools-resources=%s, --agent-resources=%s", rows[i].annotations, rows[i].all, rows[i].agent);
        buf_init(&out, MIB);
        if (rows[i].all[0])
            CHECK(ray_tools_resources(slice_of(rows[i].all), &o.tools_resources, &e));
        if (rows[i].agent[0])
            CHECK(ray_tools_resources(slice_of(rows[i].agent), &o.agent_resources, &e));
        if (CHECK(read_cluster(rows[i].annotations, "", &a, &c, &errors)) && CHECK(ray_add_agent(&c, false, &o, &a, &e)) &&
            CHECK(ray_build_worker_pod(&c, &c.groups[0], 0, SLICE_NONE, &o, &a, &out, &e)) &&
            CHECK(json_parse(&pod, buf_slice(&out), &a, &e)))
            CHECK_STR(json_raw(json_get(list_find(json_get(json_root(&pod), "spec.containers"), "name", SLICE(RAY_AGENT_CONTAINER)),
                                        "resources")),
                      rows[i].want);
        arena_free(&a);
    }
}

static void test_wrong(void)
{
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"", "\"\": want cpu=QUANTITY,memory=QUANTITY"},
        {"cpu=100m,gpu=1", "\"gpu\": want cpu=QUANTITY,memory=QUANTITY"},
        {"cpu", "cpu: "},
        {"memory=90Mb", "memory: "},
        {"cpu=-1", "cpu: "},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct arena a = {0};
        struct ray_cluster c;
        struct spec_errors errors = {0};
        test_case("mobula.dev/tools-resources: \"%s\"", wrong[i].text);
        struct slice note = arena_printf(&a, "\"mobula.dev/tools-resources\":\"%s\"", wrong[i].text);
        CHECK(!read_cluster(note.ptr, "", &a, &c, &errors));
        CHECK(errors.count == 1 && slice_starts(errors.list[0].text, slice_of(wrong[i].error)));
        CHECK(errors.count == 1 && slice_ends(errors.list[0].path, SLICE("mobula.dev/tools-resources\"]")));
        arena_free(&a);
    }
}

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct ray_cluster c;
        struct spec_errors errors = {0};
        struct ray_options options = {
            .cluster_domain = SLICE("cluster.local"), .version = SLICE("0"), .tools_resources = {.cpu = slice_of(cases[i].cpu)}};
        struct json pod;
        struct buf out;
        struct err e = {0};
        test_case("%s", cases[i].id);
        buf_init(&out, MIB);
        if (CHECK(read_cluster(cases[i].annotations, cases[i].container, &a, &c, &errors)) &&
            CHECK(ray_build_worker_pod(&c, &c.groups[0], 0, SLICE_NONE, &options, &a, &out, &e)) &&
            CHECK(json_parse(&pod, buf_slice(&out), &a, &e)))
            CHECK_STR(json_raw(json_get(json_at(json_get(json_root(&pod), "spec.initContainers"), 0), "resources")), cases[i].want);
        buf_free(&out);
        arena_free(&a);
    }
    test_wrong();
    test_agent();
    return test_done();
}
