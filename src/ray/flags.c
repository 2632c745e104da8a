#include "build.h"
#include "shell.h"

struct slice start_param(const struct ray_group *g, const char *key, struct arena *a)
{
    return json_str(json_child(g->start_params, key), a);
}

bool read_port(struct slice text, int32_t *out)
{
    int64_t n;
    if (!slice_int(text, &n) || n < 1 || n > 65535)
        return false;
    *out = (int32_t)n;
    return true;
}

int32_t start_port(const struct ray_group *g, const char *key, int32_t otherwise, struct arena *a)
{
    int32_t port = otherwise;
    read_port(start_param(g, key, a), &port);
    return port;
}

static struct slice decimal(struct arena *a, int64_t n)
{
    return arena_printf(a, "%lld", (long long)n);
}

/* '{"TPU":4}': names with numbers, sorted, as one shell word. */
static struct slice resources_word(struct pairs *resources)
{
    pairs_sort(resources);
    return shell_word(pairs_numbers(resources), resources->arena);
}

/* The group's own `resources`: cpu, memory and GPUs have flags; all else is a custom resource. */
static void flags_of_resources(const struct ray_group *g, struct pairs *flags)
{
    struct arena *a = flags->arena;
    struct pairs custom = pairs_new(a);
    struct jval k, v;
    for (struct jiter it = json_iter(g->resources); json_next(&it, &k, &v);) {
        struct slice key = json_str(k, a);
        int64_t whole;
        if (!value_quantity(v, 0, &whole, NULL, a))
            continue;
        if (slice_eq_nocase(key, SLICE("cpu")))
            pairs_set(flags, SLICE("num-cpus"), decimal(a, whole));
        else if (slice_eq_nocase(key, SLICE("memory")))
            pairs_set(flags, SLICE("memory"), decimal(a, whole));
        else if (is_gpu_key(slice_lower(key, a)))
            pairs_set(flags, SLICE("num-gpus"), decimal(a, whole));
        else
            pairs_set(&custom, key, decimal(a, whole));
    }
    if (custom.count)
        pairs_set(flags, SLICE("resources"), resources_word(&custom));
}

static void flag_of_labels(const struct ray_group *g, struct pairs *flags)
{
    struct pairs labels = pairs_new(flags->arena);
    pairs_set_all(&labels, g->labels);
    pairs_sort(&labels);
    struct slice text = SLICE("");
    for (uint32_t i = 0; i < labels.count; i++)
        text = arena_printf(flags->arena, "%.*s%s%.*s=%.*s", SLICE_ARG(text), i ? "," : "", SLICE_ARG(labels.list[i].key),
                            SLICE_ARG(labels.list[i].value));
    if (labels.count)
        pairs_set(flags, SLICE("labels"), text);
}

/* Accelerators that Ray knows as custom resources join `resources`, unless one of them is there or its text is not for us to read. */
static void flag_of_accelerator(struct jval container, struct pairs *flags)
{
    static const struct {
        const char *container, *ray;
    } known[] = {{"aws.amazon.com/neuroncore", "neuron_cores"}, {"google.com/tpu", "TPU"}};
    struct arena *a = flags->arena;
    int64_t n = 0;
    size_t which = 0;
    while (which < COUNT_OF(known) && !container_amount(container, "limits", known[which].container, 0, &n, a))
        which++;
    if (which == COUNT_OF(known))
        return;
    struct pairs all = pairs_new(a);
    const struct slice *given = pairs_get(flags, SLICE("resources"));
    if (given) {
        struct slice text;
        struct jval doc;
        struct jval k, v;
        if (!shell_is_word(*given))
            text = *given;
        else if (!shell_unquote(*given, a, &text))
            return;
        if (!json_read(&doc, text, a, NULL) || json_type(doc) != JSON_OBJECT)
            return;
        for (struct jiter it = json_iter(doc); json_next(&it, &k, &v);)
            pairs_set(&all, json_str(k, a), json_raw(v));
    }
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (pairs_get(&all, slice_of(known[i].ray)))
            return;
    pairs_set(&all, slice_of(known[which].ray), decimal(a, n));
    pairs_set(flags, SLICE("resources"), resources_word(&all));
}

/* The container's limits, passed to Ray, which would count the machine's otherwise. */
static void flags_of_container(struct jval container, struct pairs *flags)
{
    struct arena *a = flags->arena;
    int64_t n;
    if (container_amount(container, "limits", "cpu", 0, &n, a) || container_amount(container, "requests", "cpu", 0, &n, a))
        pairs_default(flags, SLICE("num-cpus"), decimal(a, n));
    if (container_amount(container, "limits", "memory", 0, &n, a))
        pairs_default(flags, SLICE("memory"), decimal(a, n));
    if (container_gpus(container, &n, a))
        pairs_default(flags, SLICE("num-gpus"), decimal(a, n));
    flag_of_accelerator(container, flags);
}

void start_flags(const struct ray_cluster *c, const struct ray_group *g, const struct ray_options *o, struct pairs *flags)
{
    struct arena *a = flags->arena;
    pairs_set_all(flags, g->start_params);
    flags_of_resources(g, flags);
    flag_of_labels(g, flags);
    struct slice head = head_fqdn(c, o, a);
    if (g->head)
        pairs_default(flags, SLICE("dashboard-host"), SLICE("0.0.0.0"));
    else
        pairs_default(flags, SLICE("address"), arena_printf(a, "%.*s:%d", SLICE_ARG(head), (int)c->ports.gcs));
    pairs_default(flags, SLICE("metrics-export-port"), decimal(a, RAY_METRICS_PORT));
    pairs_default(flags, SLICE("dashboard-agent-listen-port"), decimal(a, RAY_AGENT_PORT));
    pairs_set(flags, SLICE("block"), SLICE("true")); /* the container lives as long as Ray does */
    if (g->head && c->scale.on)
        pairs_set(flags, SLICE("no-monitor"), SLICE("true")); /* the operator scales; Ray's own monitor would compete */
    flags_of_container(json_at(json_get(g->template, "spec.containers"), 0), flags);
    pairs_sort(flags);
}
