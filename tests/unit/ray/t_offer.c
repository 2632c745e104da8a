/* What a pod of a group has for Ray, as the autoscaler reckons with it before the pod has joined; and the settings that it reads. */
#include "../test.h"

#include <mobula/ray.h>

static struct arena arena;

static struct slice offer_text(const struct ray_offer *o)
{
    struct slice text = SLICE("");
    for (uint32_t i = 0; i < o->bundle.count; i++)
        text = arena_printf(&arena, "%.*s%.*s:%g ", SLICE_ARG(text), SLICE_ARG(o->bundle.list[i].name),
                            (double)o->bundle.list[i].amount / RAY_QUANTUM);
    for (uint32_t i = 0; i < o->label_count; i++)
        text = arena_printf(&arena, "%.*s%.*s=%.*s ", SLICE_ARG(text), SLICE_ARG(o->labels[i].key), SLICE_ARG(o->labels[i].value));
    return slice_trim(text);
}

static struct ray_cluster cluster_of(struct slice object)
{
    static struct json doc;
    struct ray_cluster c;
    struct spec_errors errors = {0};
    CHECK(json_parse(&doc, object, &arena, NULL));
    if (!ray_read(json_root(&doc), &arena, &c, &errors))
        test_check(false, __FILE__, __LINE__, errors.count ? errors.list[0].text.ptr : "unreadable");
    return c;
}

#define HEAD "\"headGroupSpec\":{\"rayStartParams\":{},\"template\":{\"spec\":{\"containers\":[{\"name\":\"r\",\"image\":\"r\"}]}}}"

static struct ray_cluster read_group(const char *spec, const char *group, const char *resources)
{
    return cluster_of(
        arena_printf(&arena,
                     "{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"metadata\":{\"name\":\"c\",\"namespace\":\"n\","
                     "\"uid\":\"00000000-0000-0000-0000-000000000001\"},\"spec\":{%s" HEAD ",\"workerGroupSpecs\":[{\"groupName\":"
                     "\"w\",%s\"template\":{\"spec\":{\"containers\":[{\"name\":\"r\",\"image\":\"r\",\"resources\":%s}]}}}]}}",
                     spec, group, resources));
}

static const struct {
    const char *id, *group, *resources, *offer;
} offers[] = {
    {"nothing is known", "\"rayStartParams\":{},", "{}", "ray.io/node-group=w"},
    {"limits, CPU rounded up", "\"rayStartParams\":{},", "{\"limits\":{\"cpu\":\"1500m\",\"memory\":\"2Gi\",\"nvidia.com/gpu\":1}}",
     "CPU:2 GPU:1 memory:2.14748e+09 ray.io/node-group=w"},
    {"CPU of requests, memory not", "\"rayStartParams\":{},", "{\"requests\":{\"cpu\":\"3\",\"memory\":\"2Gi\"}}",
     "CPU:3 ray.io/node-group=w"},
    {"flags before limits", "\"rayStartParams\":{\"num-cpus\":\"7\",\"num-gpus\":\"'2'\",\"memory\":\"1000\"},",
     "{\"limits\":{\"cpu\":\"1\",\"memory\":\"2Gi\"}}", "CPU:7 GPU:2 memory:1000 ray.io/node-group=w"},
    {"none of it", "\"rayStartParams\":{\"num-cpus\":\"0\"},", "{\"limits\":{\"cpu\":\"1\"}}", "ray.io/node-group=w"},
    {"a variable is nobody's guess", "\"rayStartParams\":{\"num-cpus\":\"$CPUS\"},", "{}", "ray.io/node-group=w"},
    {"resources as they are quoted in samples",
     "\"rayStartParams\":{\"resources\":\"\\\"{\\\\\\\"a\\\\\\\": 1, \\\\\\\"b\\\\\\\": 2}\\\"\"},", "{}", "a:1 b:2 ray.io/node-group=w"},
    {"resources in single quotes", "\"rayStartParams\":{\"resources\":\"'{\\\"a\\\": 1, \\\"b\\\": 2}'\"},", "{}",
     "a:1 b:2 ray.io/node-group=w"},
    {"resources as they are", "\"rayStartParams\":{\"resources\":\"{\\\"a\\\": 2}\"},", "{}", "a:2 ray.io/node-group=w"},
    {"the group's own resources and labels",
     "\"rayStartParams\":{},\"resources\":{\"CPU\":\"4\",\"memory\":\"1k\",\"shards\":\"3\"},"
     "\"labels\":{\"zone\":\"a\",\"disk\":\"ssd\"},",
     "{}", "CPU:4 memory:1000 shards:3 disk=ssd ray.io/node-group=w zone=a"},
};

static void test_offers(void)
{
    for (size_t i = 0; i < COUNT_OF(offers); i++) {
        test_case("offer: %s", offers[i].id);
        struct ray_cluster c = read_group("", offers[i].group, offers[i].resources);
        struct ray_offer o = ray_group_offer(&c, &c.groups[0], &arena);
        CHECK_STR(offer_text(&o), offers[i].offer);
    }
}

static void test_legacy(void)
{
    test_case("legacy");
    struct ray_cluster c = cluster_of(read_file("tests/data/ray/legacy-offer.json", &arena));
    CHECK_INT(c.scale.max_workers, 3);
    CHECK_INT(c.scale.idle_timeout_s, 300);
    CHECK(c.scale.upscaling_speed > 1.9 && c.scale.upscaling_speed < 2.1);
    struct ray_offer o = ray_group_offer(&c, &c.groups[0], &arena);
    CHECK_STR(offer_text(&o), "CPU:1 Custom1:1 is_spot:1 memory:3.7581e+08 ray.io/node-group=worker-nodes");
}

static void test_settings(void)
{
    static const struct {
        const char *id, *spec, *group;
        double speed;
        int64_t idle_s, group_idle_s;
        int32_t priority;
    } cases[] = {
        {"none", "", "", 1000, 60, -1, 0},
        {"conservative", "\"autoscalerOptions\":{\"upscalingMode\":\"Conservative\",\"idleTimeoutSeconds\":7},", "", 1, 7, -1, 0},
        {"aggressive", "\"autoscalerOptions\":{\"upscalingMode\":\"Aggressive\"},", "", 1000, 60, -1, 0},
        {"of a group", "\"rayVersion\":\"2.60.0\",\"autoscalerOptions\":{\"version\":\"v2\"},", "\"idleTimeoutSeconds\":5,\"priority\":-3,",
         1000, 60, 5, -3},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("settings: %s", cases[i].id);
        struct slice group = arena_printf(&arena, "\"rayStartParams\":{},%s", cases[i].group);
        struct ray_cluster c = read_group(cases[i].spec, group.ptr, "{}");
        CHECK(c.scale.upscaling_speed >= cases[i].speed && c.scale.upscaling_speed <= cases[i].speed);
        CHECK_INT(c.scale.idle_timeout_s, cases[i].idle_s);
        CHECK_INT(c.groups[0].idle_timeout_s, cases[i].group_idle_s);
        CHECK_INT(c.groups[0].priority, cases[i].priority);
        CHECK_INT(c.scale.max_workers, INT32_MAX);
    }
}

int main(void)
{
    test_offers();
    test_legacy();
    test_settings();
    arena_free(&arena);
    return test_done();
}
