/* The resources of a pod of a group for Ray, read from the same flags that its `ray start` is given. */
#include "build.h"
#include "shell.h"

/* The value as a shell would hand it on; false: it depends on the pod's environment. */
static bool flag_value(const struct pairs *flags, struct slice key, struct slice *out)
{
    const struct slice *text = pairs_get(flags, key);
    if (!text)
        return false;
    *out = *text;
    return !shell_is_word(*text) || shell_unquote(*text, flags->arena, out);
}

/* In 1/RAY_QUANTUM of a unit, as `digits` after the point. */
static bool read_amount(struct slice text, int64_t *out)
{
    enum { QUANTUM_DIGITS = 4 };
    return quantity_parse(text, QUANTUM_DIGITS, out, NULL) && *out > 0 && *out <= LIMIT_RAY_AMOUNT * RAY_QUANTUM;
}

static void add_object(struct pairs *amounts, struct slice object)
{
    struct jval doc;
    struct jval k, v;
    if (!json_read(&doc, object, amounts->arena, NULL))
        return;
    for (struct jiter it = json_iter(doc); json_next(&it, &k, &v);)
        if (json_there(k) && json_type(v) == JSON_NUMBER)
            pairs_set(amounts, json_str(k, amounts->arena), json_raw(v));
}

static void add_flag(struct pairs *amounts, const struct pairs *flags, struct slice flag, struct slice name)
{
    struct slice text;
    if (flag_value(flags, flag, &text))
        pairs_set(amounts, name, text);
}

static void fill_bundle(struct pairs *amounts, struct ray_bundle *out)
{
    struct ray_amount *list = arena_array(amounts->arena, amounts->count, sizeof *list);
    pairs_sort(amounts);
    for (uint32_t i = 0; i < amounts->count; i++) {
        int64_t n;
        if (read_amount(amounts->list[i].value, &n))
            list[out->count++] = (struct ray_amount){amounts->list[i].key, n};
    }
    out->list = list;
}

static void fill_labels(struct pairs *labels, struct ray_offer *out)
{
    struct ray_label *list = arena_array(labels->arena, labels->count, sizeof *list);
    pairs_sort(labels);
    for (; out->label_count < labels->count; out->label_count++)
        list[out->label_count] = (struct ray_label){labels->list[out->label_count].key, labels->list[out->label_count].value};
    out->labels = list;
}

struct ray_offer ray_group_offer(const struct ray_cluster *c, const struct ray_group *g, struct arena *a)
{
    static const struct ray_options options = {.cluster_domain = SLICE("cluster.local")}; /* of no matter for amounts */
    struct pairs amounts = pairs_new(a), labels = pairs_new(a), flags = pairs_new(a);
    struct ray_offer out = {0};
    struct slice text;
    pairs_set(&labels, SLICE("ray.io/node-group"), g->name); /* which Ray makes of RAY_NODE_TYPE_NAME */
    pairs_set_all(&labels, g->labels);
    if (c->kind == RAY_LEGACY) {
        add_object(&amounts, legacy_resources(g, a));
    } else {
        start_flags(c, g, &options, &flags);
        add_flag(&amounts, &flags, SLICE("num-cpus"), SLICE("CPU"));
        add_flag(&amounts, &flags, SLICE("num-gpus"), SLICE("GPU"));
        add_flag(&amounts, &flags, SLICE("memory"), SLICE("memory"));
        if (flag_value(&flags, SLICE("resources"), &text))
            add_object(&amounts, text);
    }
    fill_bundle(&amounts, &out.bundle);
    fill_labels(&labels, &out);
    return out;
}
