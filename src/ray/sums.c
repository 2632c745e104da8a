#include "build.h"

/* requests, else limits, of one container. */
static bool amount_of(struct jval container, struct slice key, int decimals, struct ray_sum *out, struct arena *a, struct err *e)
{
    struct jval v = json_key(json_get(container, "resources.requests"), key);
    if (!value_given(v))
        v = json_key(json_get(container, "resources.limits"), key);
    *out = (struct ray_sum){0};
    if (!value_given(v))
        return true;
    out->form = quantity_form(json_type(v) == JSON_STRING ? json_str(v, a) : json_raw(v));
    return value_quantity(v, decimals, &out->amount, e, a);
}

static bool add(struct ray_sum *sum, const struct ray_sum *one, int64_t pods, struct err *e)
{
    int64_t all;
    if (sum->amount == 0)
        sum->form = one->form;
    if (__builtin_mul_overflow(one->amount, pods, &all) || __builtin_add_overflow(sum->amount, all, &sum->amount))
        return err_set(e, ERR_RANGE, "the sum over all pods of what they ask for is too large");
    return true;
}

/* Every GPU of one container; a key that stands on both sides counts once. */
static bool add_gpus(struct jval container, int64_t pods, struct ray_sum *sum, struct arena *a, struct err *e)
{
    struct jval limits = json_get(container, "resources.limits"), requests = json_get(container, "resources.requests"), k, v;
    const struct jval sides[] = {requests, limits};
    for (size_t i = 0; i < COUNT_OF(sides); i++)
        for (struct jiter it = json_iter(sides[i]); json_next(&it, &k, &v);) {
            struct slice key = json_str(k, a);
            struct ray_sum n;
            if (!is_gpu_key(key) || (i == 1 && value_given(json_key(requests, key))))
                continue;
            if (!amount_of(container, key, 0, &n, a, e) || !add(sum, &n, pods, e))
                return false;
        }
    return true;
}

static bool add_group(const struct ray_group *g, struct ray_sums *sums, struct arena *a, struct err *e)
{
    int64_t pods = (int64_t)g->desired * g->hosts;
    struct jval k, container;
    if (pods == 0)
        return true;
    for (struct jiter it = json_iter(json_get(g->template, "spec.containers")); json_next(&it, &k, &container);) {
        struct ray_sum cpu, memory, tpu;
        if (!amount_of(container, SLICE("cpu"), 3, &cpu, a, e) || !amount_of(container, SLICE("memory"), 0, &memory, a, e) ||
            !amount_of(container, SLICE("google.com/tpu"), 0, &tpu, a, e))
            return err_wrap(e, "group %.*s", SLICE_ARG(g->name));
        if (!add(&sums->cpu, &cpu, pods, e) || !add(&sums->memory, &memory, pods, e) || !add(&sums->tpu, &tpu, pods, e) ||
            !add_gpus(container, pods, &sums->gpu, a, e))
            return false;
    }
    return true;
}

bool ray_desired_sums(const struct ray_cluster *c, struct arena *a, struct ray_sums *out, struct err *e)
{
    *out = (struct ray_sums){0};
    if (!add_group(&c->head, out, a, e))
        return false;
    for (uint32_t i = 0; i < c->group_count; i++)
        if (!add_group(&c->groups[i], out, a, e))
            return false;
    return true;
}
