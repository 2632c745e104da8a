/* The requests of pods, of one and of all. */
#include <mobula/policy.h>

/* More than any cluster has; and the sum of two does not overflow. */
#define MOST (INT64_C(1) << 61)

static int64_t sum_of(int64_t a, int64_t b)
{
    return a > MOST - b ? MOST : a + b;
}

static int64_t times(int64_t a, int64_t n)
{
    return n > 0 && a > MOST / n ? MOST : a * n;
}

static int64_t *amount_of(struct work_size *s, struct slice resource)
{
    if (slice_is(resource, "cpu"))
        return &s->milli_cpu;
    if (slice_is(resource, "memory"))
        return &s->memory;
    return slice_ends(resource, SLICE("/gpu")) || slice_starts(resource, SLICE("nvidia.com/mig-")) ? &s->gpus : NULL;
}

static bool type_has(const struct shape_type *type, struct slice resource)
{
    for (uint32_t i = 0; type && i < type->amount_count; i++)
        if (slice_eq(type->amounts[i].name, resource))
            return true;
    return false;
}

/* Of requests and limits the larger ones, but for what the type of the pod has: that is for all of its containers. */
static void add_container(struct jval container, const struct shape_type *type, struct arena *a, struct work_size *out)
{
    static const char *const sides[] = {"requests", "limits"};
    struct work_size most = {0};
    struct jval k, v;
    for (size_t i = 0; i < COUNT_OF(sides); i++) {
        struct work_size side = {0};
        for (struct jiter it = json_iter(json_child(json_get(container, "resources"), sides[i])); json_next(&it, &k, &v);) {
            struct slice text = json_type(v) == JSON_STRING ? json_str(v, a) : json_raw(v);
            int64_t n, *to = amount_of(&side, json_str(k, a));
            if (!to || !value_given(v) || type_has(type, json_str(k, a)))
                continue;
            if (!quantity_parse(text, to == &side.milli_cpu ? 3 : 0, &n, NULL) || n > LIMIT_RAY_AMOUNT)
                n = LIMIT_RAY_AMOUNT; /* an amount that cannot be read counts as more than any cluster has */
            *to = sum_of(*to, n);
        }
        most.milli_cpu = side.milli_cpu > most.milli_cpu ? side.milli_cpu : most.milli_cpu;
        most.memory = side.memory > most.memory ? side.memory : most.memory;
        most.gpus = side.gpus > most.gpus ? side.gpus : most.gpus;
    }
    work_size_add(out, &most, 1);
}

void work_size_add(struct work_size *to, const struct work_size *one, int64_t n)
{
    to->milli_cpu = sum_of(to->milli_cpu, times(one->milli_cpu, n));
    to->memory = sum_of(to->memory, times(one->memory, n));
    to->gpus = sum_of(to->gpus, times(one->gpus, n));
    to->pods = sum_of(to->pods, times(one->pods, n));
}

void work_pod_size(struct jval template, const struct shape_types *types, struct arena *a, struct work_size *out)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct slice name = shape_type_named(template, a);
    const struct shape_type *type = types && !slice_empty(name) ? shape_type_find(types, name) : NULL;
    struct jval spec = json_get(template, "spec"), k, v;
    *out = (struct work_size){.pods = 1};
    for (uint32_t i = 0; type && i < type->amount_count; i++) {
        int64_t *to = amount_of(out, type->amounts[i].name);
        if (to)
            *to = sum_of(*to, type->amounts[i].amount);
    }
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (struct jiter it = json_iter(json_child(spec, lists[i])); json_next(&it, &k, &v);)
            add_container(v, type, a, out);
}

int64_t work_group_pods(struct jval group)
{
    int64_t most = json_get_int(group, "maxReplicas", INT32_MAX), now = json_get_int(group, "replicas", 0),
            hosts = json_get_int(group, "numOfHosts", 1);
    most = most < now ? now : most;
    bool sane = most >= 0 && most <= INT32_MAX && hosts >= 1 && hosts <= LIMIT_RAY_HOSTS;
    return sane ? most * hosts : INT32_MAX;
}

static void add_cluster(struct jval cluster, const struct shape_types *types, struct arena *a, struct work_size *out)
{
    struct jval k, v;
    struct work_size one;
    work_pod_size(json_get(cluster, "headGroupSpec.template"), types, a, &one);
    work_size_add(out, &one, 1);
    for (struct jiter it = json_iter(json_get(cluster, "workerGroupSpecs")); json_next(&it, &k, &v);) {
        work_pod_size(json_get(v, "template"), types, a, &one);
        work_size_add(out, &one, work_group_pods(v));
    }
}

void work_size(struct jval spec, const struct shape_types *types, struct arena *a, struct work_size *out)
{
    struct jval cluster = json_get(spec, "rayClusterSpec"), versions = json_get(spec, "versions"), k, v;
    *out = (struct work_size){0};
    if (json_type(cluster) != JSON_OBJECT)
        cluster = json_get(spec, "rayClusterConfig");
    if (json_type(versions) != JSON_ARRAY)
        add_cluster(json_type(cluster) == JSON_OBJECT ? cluster : spec, types, a, out);
    else
        for (struct jiter it = json_iter(versions); json_next(&it, &k, &v);)
            add_cluster(json_get(v, "rayServiceConfig.rayClusterConfig"), types, a, out);
}

const char *work_size_above(const struct work_size *size, const struct work_size *most)
{
    const struct {
        int64_t is, may;
        const char *limit;
    } all[] = {{size->pods, most->pods, "maxTotalPods"},
               {size->milli_cpu, most->milli_cpu, "maxTotalCPU"},
               {size->memory, most->memory, "maxTotalMemory"},
               {size->gpus, most->gpus, "maxTotalGPU"}};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i].may && all[i].is > all[i].may)
            return all[i].limit;
    return NULL;
}
