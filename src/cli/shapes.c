/* Instance types for people: those that there are, in a table, and those that would fill the nodes of a cluster. */
#include "shapes.h"

#include <mobula/spec.h>

/* ---- list ---- */

static int64_t amount_in(const struct shape_type *t, const char *name)
{
    for (uint32_t i = 0; i < t->amount_count; i++)
        if (slice_eq(t->amounts[i].name, slice_of(name)))
            return t->amounts[i].amount;
    return 0;
}

void shapes_list(const struct shape_types *types, struct arena *a, struct buf *out)
{
    buf_printf(out, "%-32s %8s %10s  %s\n", "NAME", "CPU", "MEMORY", "MORE");
    for (uint32_t i = 0; i < types->count; i++) {
        const struct shape_type *t = &types->list[i];
        char cpu[QUANTITY_TEXT_MAX], memory[QUANTITY_TEXT_MAX];
        struct slice more = SLICE("");
        for (uint32_t k = 0; k < t->amount_count; k++)
            if (slice_find(t->amounts[k].name, '/') >= 0)
                more = arena_printf(a, "%.*s%s%.*s: %lld", SLICE_ARG(more), more.len ? ", " : "", SLICE_ARG(t->amounts[k].name),
                                    (long long)t->amounts[k].amount);
        struct slice rest[] = {t->accelerator, t->architecture};
        for (size_t k = 0; k < COUNT_OF(rest); k++)
            if (rest[k].len)
                more = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(more), more.len ? ", " : "", SLICE_ARG(rest[k]));
        buf_printf(out, "%-32.*s %8.*s %10.*s  %.*s\n", SLICE_ARG(t->name),
                   SLICE_ARG(quantity_format(amount_in(t, "cpu"), 3, QUANTITY_DECIMAL, cpu)),
                   SLICE_ARG(quantity_format(amount_in(t, "memory"), 0, QUANTITY_BINARY, memory)), SLICE_ARG(more));
    }
}

/* ---- suggest ---- */

static bool takes_pods(struct jval node)
{
    struct jval k, taint;
    bool takes = !json_get_bool(node, "spec.unschedulable", false);
    for (struct jiter it = json_iter(json_get(node, "spec.taints")); json_next(&it, &k, &taint);)
        takes = takes && !json_str_eq(json_get(taint, "key"), SLICE("node-role.kubernetes.io/control-plane"));
    return takes;
}

static int64_t amount_of(struct jval allocatable, struct slice name, int decimals, struct arena *a)
{
    int64_t n = 0;
    struct slice text = json_str(json_key(allocatable, name), a);
    return text.ptr && quantity_parse(text, decimals, &n, NULL) && n > 0 && n <= LIMIT_RAY_AMOUNT ? n : 0;
}

/* Devices: what has a domain, but for what the kubelet counts of volumes. */
static void put_devices(struct jval allocatable, struct slice *name, struct slice *text, struct arena *a)
{
    struct jval k, v;
    for (struct jiter it = json_iter(allocatable); json_next(&it, &k, &v);) {
        struct slice key = json_str(k, a);
        int64_t n = slice_find(key, '/') > 0 && name_qualified(key) ? amount_of(allocatable, key, 0, a) : 0;
        bool gpu = slice_eq(key, SLICE("nvidia.com/gpu")), tpu = slice_eq(key, SLICE("google.com/tpu"));
        if (n == 0)
            continue;
        if (gpu || tpu)
            *name = arena_printf(a, "%.*s-%lldx%s", SLICE_ARG(*name), (long long)n, gpu ? "GPU" : "TPU");
        *text = arena_printf(a, "%.*s    %.*s: %lld\n", SLICE_ARG(*text),
                             SLICE_ARG(gpu   ? SLICE("GPU")
                                       : tpu ? SLICE("TPU")
                                             : key),
                             (long long)n);
    }
}

static void count_node(struct shapes *s, const struct shapes_found *f)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (slice_eq(s->list[i].text, f->text)) {
            s->list[i].nodes++;
            return;
        }
    if (s->count < COUNT_OF(s->list))
        s->list[s->count++] = *f;
    else
        s->left_out++;
}

/* Whole CPUs and GiB, as the names of types have them: what is below one is no node to run Ray on. */
void shapes_add_node(struct shapes *s, struct jval node, const struct shapes_reserve *reserve, struct arena *a)
{
    struct jval allocatable = json_get(node, "status.allocatable"), labels = json_get(node, "metadata.labels");
    int64_t cpu = (amount_of(allocatable, SLICE("cpu"), 3, a) - reserve->cpu) / 1000;
    int64_t memory = (amount_of(allocatable, SLICE("memory"), 0, a) - reserve->memory) / (INT64_C(1) << 30);
    if (cpu < 1 || memory < 1 || !takes_pods(node)) {
        s->left_out++;
        return;
    }
    struct shapes_found f = {.nodes = 1};
    struct slice like = json_str(json_key(labels, SLICE("node.kubernetes.io/instance-type")), a);
    struct slice gpu = json_str(json_key(labels, SLICE("nvidia.com/gpu.product")), a);
    struct slice arch = json_str(json_key(labels, SLICE("kubernetes.io/arch")), a);
    f.name = arena_printf(a, "%lldCPU-%lldGB", (long long)cpu, (long long)memory);
    f.text = arena_printf(a, "  resources:\n    CPU: %lld\n    memory: %lldGi\n", (long long)cpu, (long long)memory);
    put_devices(allocatable, &f.name, &f.text, a);
    if (slice_eq(arch, SLICE("arm64"))) {
        f.name = arena_printf(a, "%.*s-arm64", SLICE_ARG(f.name));
        f.text = arena_printf(a, "%.*s  cpuArchitecture: arm64\n", SLICE_ARG(f.text));
    }
    f.like = like.ptr && name_label_value(like) ? like : SLICE("");
    if (gpu.ptr && name_label_value(gpu))
        f.like =
            arena_printf(a, "%.*s%s%.*s: add accelerators: [Ray's name for it]", SLICE_ARG(f.like), f.like.len ? ", " : "", SLICE_ARG(gpu));
    count_node(s, &f);
}

void shapes_suggest(const struct shapes *s, struct buf *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct shapes_found *f = &s->list[i];
        uint32_t same = 0; /* types of other devices may have the same name */
        for (uint32_t k = 0; k < i; k++)
            same += slice_eq(s->list[k].name, f->name);
        buf_printf(out, "# one on each of %u node%s%s%.*s\n%.*s", f->nodes, f->nodes == 1 ? "" : "s", f->like.len ? ", like " : "",
                   SLICE_ARG(f->like), SLICE_ARG(f->name));
        if (same)
            buf_printf(out, "-%u", same + 1);
        buf_printf(out, ":\n%.*s", SLICE_ARG(f->text));
    }
    if (s->left_out)
        buf_printf(out, "# %u node%s left out: cordoned, of the control plane, or too small\n", s->left_out,
                   s->left_out == 1 ? " is" : "s are");
}

/* ---- the ConfigMap ---- */

bool shapes_fetch(struct ask *ask, struct slice ns, struct slice name, bool must, struct arena *a, struct slice *out, struct err *e)
{
    __attribute__((cleanup(buf_free))) struct buf path;
    struct ask_answer answer;
    char words[ASK_WORDS];
    buf_init(&path, LIMIT_HTTP_URL);
    kube_path(&path, &kube_configmaps, ns, name, SLICE_NONE);
    if (!ask_get(ask, buf_slice(&path), NULL, a, &answer, e))
        return false;
    bool none = answer.code == 404 && !must;
    *out = none ? SLICE("") : answer.body;
    return none || answer.code < 300 ||
           err_set(e, ERR_STATUS, "%.*s: %s%s", SLICE_ARG(buf_slice(&path)), ask_words(&answer, words),
                   answer.code == 404 ? ": --namespace and --configmap say where it is, -f names a file" : "");
}
