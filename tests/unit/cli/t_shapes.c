/* Instance types suggested from nodes are such as the operator reads. */
#include "../test.h"

#include "../../../src/cli/shapes.h"

#include <mobula/base.h>

static const char nodes[] =
    "[{\"metadata\":{\"labels\":{\"node.kubernetes.io/instance-type\":\"m5.4xlarge\",\"kubernetes.io/arch\":\"amd64\"}},"
    "\"status\":{\"allocatable\":{\"cpu\":\"15890m\",\"memory\":\"62000000Ki\",\"pods\":\"110\",\"hugepages-2Mi\":\"0\"}}},"
    "{\"metadata\":{},\"status\":{\"allocatable\":{\"cpu\":\"15800m\",\"memory\":\"62000001Ki\"}}},"
    "{\"metadata\":{\"labels\":{\"nvidia.com/gpu.product\":\"Tesla-T4\",\"kubernetes.io/arch\":\"arm64\"}},"
    "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"32Gi\",\"nvidia.com/gpu\":\"1\",\"example.com/nic\":\"2\",\"bad "
    "key/x\":\"1\"}}},"
    "{\"spec\":{\"unschedulable\":true},\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"32Gi\"}}},"
    "{\"spec\":{\"taints\":[{\"key\":\"node-role.kubernetes.io/"
    "control-plane\"}]},\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"32Gi\"}}},"
    "{\"status\":{\"allocatable\":{\"cpu\":\"1\",\"memory\":\"32Gi\"}}},{\"status\":{\"allocatable\":{\"cpu\":1,\"memory\":[]}}},7]";

static void suggested(struct arena *a)
{
    static const char want[] = "# one on each of 2 nodes, like m5.4xlarge\n15CPU-58GB:\n  resources:\n    CPU: 15\n    memory: 58Gi\n"
                               "# one on each of 1 node, like Tesla-T4: add accelerators: [Ray's name for it]\n"
                               "7CPU-31GB-1xGPU-arm64:\n  resources:\n    CPU: 7\n    memory: 31Gi\n    GPU: 1\n    example.com/nic: 2\n"
                               "  cpuArchitecture: arm64\n"
                               "# 5 nodes are left out: cordoned, of the control plane, or too small\n";
    const struct shapes_reserve reserve = {500, INT64_C(1) << 30};
    struct shapes *s = arena_new(a, struct shapes);
    struct shape_types types;
    struct spec_errors errors = {0};
    struct json doc;
    struct err e = {0};
    struct jval k, node;
    struct buf out;
    *s = (struct shapes){0};
    buf_init(&out, MIB);
    test_case("suggest");
    if (!CHECK(json_parse(&doc, slice_of(nodes), a, &e)))
        return;
    for (struct jiter it = json_iter(json_root(&doc)); json_next(&it, &k, &node);)
        shapes_add_node(s, node, &reserve, a);
    shapes_suggest(s, &out);
    CHECK_STR(buf_slice(&out), want);
    CHECK(shape_types_read(buf_slice(&out), a, &types, &errors) && types.count == 2);

    test_case("list");
    buf_clear(&out);
    shapes_list(&types, a, &out);
    CHECK_STR(buf_slice(&out), "NAME                                  CPU     MEMORY  MORE\n"
                               "15CPU-58GB                             15       58Gi  \n"
                               "7CPU-31GB-1xGPU-arm64                   7       31Gi  nvidia.com/gpu: 1, example.com/nic: 2, arm64\n");
    buf_free(&out);
}

/* More kinds of nodes than are told. */
static void many(struct arena *a)
{
    const struct shapes_reserve none = {0};
    struct shapes *s = arena_new(a, struct shapes);
    *s = (struct shapes){0};
    test_case("as many kinds as there is room for, and one more");
    for (int i = 1; i <= (int)COUNT_OF(s->list) + 1; i++) {
        struct json doc;
        struct err e = {0};
        CHECK(json_parse(&doc, arena_printf(a, "{\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"8Gi\"}}}", i), a, &e));
        shapes_add_node(s, json_root(&doc), &none, a);
    }
    CHECK_INT(s->count, COUNT_OF(s->list));
    CHECK_INT(s->left_out, 1);
}

int main(void)
{
    struct arena a = {0};
    suggested(&a);
    many(&a);
    arena_free(&a);
    return test_done();
}
