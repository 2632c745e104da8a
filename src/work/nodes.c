/* Nodes and instance types as items of the report to a control plane. */
#include <mobula/health.h>
#include <mobula/spec.h>

int64_t node_amount(struct jval allocatable, struct slice name, int decimals, struct arena *a)
{
    int64_t n = 0;
    struct slice text = json_str(json_key(allocatable, name), a);
    return !slice_empty(text) && quantity_parse(text, decimals, &n, NULL) ? n : 0;
}

int64_t node_gpus(struct jval allocatable, struct arena *a)
{
    static const struct slice names[] = {SLICE("nvidia.com/gpu"), SLICE("amd.com/gpu"), SLICE("gpu.intel.com/i915")};
    int64_t all = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        all += node_amount(allocatable, names[i], 0, a);
    return all;
}

/* By labels of nodes that cloud providers and device plugins set. */
static struct slice accelerator(struct jval labels, struct arena *a)
{
    static const char *const keys[] = {"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "cloud.google.com/gke-tpu-accelerator",
                                       "amd.com/gpu.product-name"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct slice text = json_str(json_child(labels, keys[i]), a);
        if (!slice_empty(text))
            return text;
    }
    return SLICE("");
}

/* Conditions that keep pods off the node, or soon may. */
static void write_pressure(struct jval node, struct jout *w)
{
    static const char *const conditions[] = {"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"};
    struct jval status = json_get(node, "status");
    jout_karray(w, "pressure");
    if (!condition_is(status, "Ready", "True"))
        jout_str(w, SLICE("NotReady"));
    if (json_get_bool(node, "spec.unschedulable", false))
        jout_str(w, SLICE("Unschedulable"));
    for (size_t i = 0; i < COUNT_OF(conditions); i++)
        if (condition_is(status, conditions[i], "True"))
            jout_str(w, slice_of(conditions[i]));
    jout_end(w);
}

void health_node_write(struct jval node, struct arena *a, struct jout *w)
{
    struct jval labels = json_get(node, "metadata.labels"), have = json_get(node, "status.allocatable");
    struct slice zone = json_str(json_child(labels, SHAPE_ZONE_LABEL), a), kind = accelerator(labels, a);
    struct slice cpu = json_get_str(have, "cpu", a), memory = json_get_str(have, "memory", a);
    int64_t gpus = node_gpus(have, a);
    struct slice gpu = gpus ? arena_printf(a, "%lld", (long long)gpus) : SLICE("");
    jout_form(w, "{name:'%.*s',zone?:'%.*s',cpu?:'%.*s',memory?:'%.*s',gpu?:'%.*s',accelerator?:'%.*s'",
              SLICE_ARG(json_get_str(node, "metadata.name", a)), SLICE_ARG(zone), SLICE_ARG(cpu), SLICE_ARG(memory), SLICE_ARG(gpu),
              SLICE_ARG(kind));
    write_pressure(node, w);
    jout_end(w);
}

void health_type_write(const struct shape_type *t, struct jout *w)
{
    static const struct {
        const char *resource, *member;
        int decimals;
        enum quantity_form form;
    } amounts[] = {
        {"cpu", "cpu", 3, QUANTITY_DECIMAL}, {"memory", "memory", 0, QUANTITY_BINARY}, {"nvidia.com/gpu", "gpu", 0, QUANTITY_DECIMAL}};
    jout_form(w, "{name:'%.*s',accelerator?:'%.*s'", SLICE_ARG(t->name), SLICE_ARG(t->accelerator));
    for (uint32_t i = 0; i < t->amount_count; i++)
        for (size_t k = 0; k < COUNT_OF(amounts); k++) {
            char text[QUANTITY_TEXT_MAX];
            if (slice_eq(t->amounts[i].name, slice_of(amounts[k].resource)))
                jout_kstr(w, amounts[k].member, quantity_format(t->amounts[i].amount, amounts[k].decimals, amounts[k].form, text));
        }
    jout_end(w);
}
