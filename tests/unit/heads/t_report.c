/* The report of an agent about a cluster. */
#include "tests/unit/test.h"

#include <mobula/heads.h>

static struct slice report(const struct ray_node *nodes, uint32_t count, struct arena *a)
{
    struct buf out = {.max = 64 * KIB};
    const struct ray_state s = {.nodes = nodes, .node_count = count};
    struct jout w;
    jout_init(&w, &out);
    jout_object(&w);
    ray_state_report(&s, &w);
    jout_end(&w);
    struct slice text = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return text;
}

static void sums(void)
{
    static const struct ray_amount total[] = {{SLICE("CPU"), 4 * RAY_QUANTUM}, {SLICE("node:10.0.0.1"), RAY_QUANTUM}};
    static const struct ray_amount available[] = {{SLICE("CPU"), 3 * RAY_QUANTUM + RAY_QUANTUM / 10 * 7}};
    static const struct ray_amount more[] = {{SLICE("CPU"), RAY_QUANTUM / 10}, {SLICE("GPU"), RAY_QUANTUM}};
    static const struct ray_node nodes[] = {
        {.total = {total, 2}, .available = {available, 1}},
        {.total = {more, 2}, .available = {more, 2}},
        {.status = RAY_NODE_DEAD},
    };
    struct arena a = {0};
    test_case("no node");
    CHECK_STR(report(NULL, 0, &a), "{\"nodesAlive\":0,\"nodesDead\":0,\"resources\":[]}");
    test_case("nodes and their sums, without the noise of fractions, and without the resource that each node has of its own");
    CHECK_STR(report(nodes, 3, &a), "{\"nodesAlive\":2,\"nodesDead\":1,\"resources\":[{\"name\":\"CPU\",\"total\":4.1,\"used\":0.3},"
                                    "{\"name\":\"GPU\",\"total\":1,\"used\":0}]}");
    arena_free(&a);
}

static void many(void)
{
    struct ray_amount list[RAY_REPORT_RESOURCES + 1];
    char names[COUNT_OF(list)][8];
    struct arena a = {0};
    for (uint32_t i = 0; i < COUNT_OF(list); i++) {
        snprintf(names[i], sizeof names[i], "r%02u", i);
        list[i] = (struct ray_amount){slice_of(names[i]), RAY_QUANTUM};
    }
    for (uint32_t more = 0; more < 2; more++) {
        const struct ray_node node = {.total = {list, RAY_REPORT_RESOURCES + more}};
        test_case("%u resources", node.total.count);
        struct slice text = report(&node, 1, &a);
        CHECK(slice_has(text, "\"r31\"") && !slice_has(text, "\"r32\""));
    }
    arena_free(&a);
}

int main(void)
{
    sums();
    many();
    return test_done();
}
