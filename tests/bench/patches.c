/* How much processor time it takes to compile a set of 200 patches, as the product is compiled: the median of a few runs. A line above its
 * goal has failed.
 *   make bench-patches */
#include "measure.h"

#include <mobula/patches.h>

#include <stdio.h>

enum { RUNS = 15, PATCHES = 200, GOAL_MS = 5 };

static void write_set(struct buf *b)
{
    for (int i = 0; i < PATCHES; i++)
        buf_printf(
            b,
            "- kind: Pod\n  selector: \"anyscale.com/instance-type in (t%d, u%d), anyscale.com/market-type notin (SPOT)\"\n  patch:\n"
            "  - {op: add, path: /spec/nodeSelector/example.com~1shape, value: t%d}\n"
            "  - op: add\n    path: /spec/tolerations/- # as the chart writes them\n"
            "    value: {key: example.com/shape, operator: Equal, value: t%d, effect: NoSchedule}\n",
            i, i, i, i);
}

int main(void)
{
    double ms[RUNS];
    size_t memory = 0;
    struct buf text;
    buf_init(&text, MIB);
    write_set(&text);
    for (int i = 0; i < RUNS; i++) {
        struct arena a = {0};
        struct shape_patches set;
        struct spec_errors errors = {0};
        double start = processor_ms();
        bool ok = shape_patches_read(buf_slice(&text), &a, &set, &errors);
        ms[i] = processor_ms() - start;
        memory = a.used;
        if (!ok || set.count != PATCHES)
            fatal("bench: the set cannot be read: %.*s", SLICE_ARG(errors.list[0].text));
        arena_free(&a);
    }
    double middle = median(ms, RUNS);
    printf("a set of %d patches is compiled in %.2f ms, goal %d ms; %zu KiB\n", PATCHES, middle, GOAL_MS, memory / KIB);
    buf_free(&text);
    return middle > (double)GOAL_MS;
}
