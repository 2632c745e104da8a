#include "build.h"

bool is_gpu_key(struct slice key)
{
    return slice_ends(key, SLICE("gpu")) || slice_starts(key, SLICE("nvidia.com/mig-"));
}

bool ray_accelerates(struct slice resource)
{
    return is_gpu_key(resource) || slice_is(resource, "google.com/tpu");
}

static struct jval side_of(struct jval container, const char *side)
{
    return json_child(json_get(container, "resources"), side);
}

bool container_amount(struct jval container, const char *side, const char *key, int decimals, int64_t *out, struct arena *a)
{
    int64_t n;
    struct jval v = json_child(side_of(container, side), key);
    if (!value_given(v) || !value_quantity(v, decimals, &n, NULL, a) || n == 0)
        return false;
    *out = n;
    return true;
}

bool container_gpus(struct jval container, int64_t *out, struct arena *a)
{
    struct slice first = SLICE_NONE;
    struct jval k, v;
    for (struct jiter it = json_iter(side_of(container, "limits")); json_next(&it, &k, &v);) {
        struct slice key = json_str(k, a);
        int64_t n;
        if (!is_gpu_key(key) || !value_quantity(v, 0, &n, NULL, a) || n == 0 || (first.ptr && slice_cmp(key, first) > 0))
            continue;
        first = key;
        *out = n;
    }
    return first.ptr != NULL;
}

/* min(requests, limits), a side that is missing being infinite; false when both are. */
static bool least_amount(struct jval container, const char *key, int decimals, int64_t *out, struct arena *a)
{
    int64_t limit, request;
    bool limited = container_amount(container, "limits", key, decimals, &limit, a);
    bool requested = container_amount(container, "requests", key, decimals, &request, a);
    if (!limited && !requested)
        return false;
    *out = !requested || (limited && limit < request) ? limit : request;
    return true;
}

struct slice legacy_gpu_key(struct jval container, bool *several, struct arena *a)
{
    static const char *const sides[] = {"limits", "requests"};
    struct slice found = SLICE_NONE;
    *several = false;
    for (size_t i = 0; i < COUNT_OF(sides); i++) {
        struct jval k, v;
        for (struct jiter it = json_iter(side_of(container, sides[i])); json_next(&it, &k, &v);) {
            struct slice key = json_str(k, a);
            if (!slice_has(slice_lower(key, a), "gpu"))
                continue;
            *several |= found.ptr && !slice_eq(found, key);
            found = key;
        }
    }
    return found;
}

/* The old operator's rules: whole cores rounded up, all GPUs, and the part of the memory that is not the object store's. An amount that is
 * given on neither side is passed as 0, because Ray would take the machine's. */
struct slice legacy_resources(const struct ray_group *g, struct arena *a)
{
    enum { OBJECT_STORE_TENTHS = 3 };
    struct jval container = json_at(json_get(g->template, "spec.containers"), 0), k, v;
    int64_t cpus = 0, gpus = 0, memory;
    bool several;
    struct slice gpu = legacy_gpu_key(container, &several, a);
    least_amount(container, "cpu", 0, &cpus, a);
    if (gpu.ptr)
        least_amount(container, arena_dup(a, gpu).ptr, 0, &gpus, a);
    struct pairs all = pairs_new(a);
    pairs_set(&all, SLICE("CPU"), arena_printf(a, "%lld", (long long)cpus));
    pairs_set(&all, SLICE("GPU"), arena_printf(a, "%lld", (long long)gpus));
    if (least_amount(container, "memory", 0, &memory, a)) {
        int64_t kept = memory / 10 * (10 - OBJECT_STORE_TENTHS) + memory % 10 * (10 - OBJECT_STORE_TENTHS) / 10;
        pairs_set(&all, SLICE("memory"), arena_printf(a, "%lld", (long long)kept));
    }
    for (struct jiter it = json_iter(g->resources); json_next(&it, &k, &v);)
        pairs_set(&all, json_str(k, a), json_raw(v));
    return pairs_numbers(&all);
}
