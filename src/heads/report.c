/* The state of a cluster as `mobula agent` reports it: counts of nodes, and sums of their resources. */
#include <mobula/heads.h>

#include <math.h>

struct sum {
    struct slice name;
    double amounts[2]; /* of all nodes: total, available */
};

static void add_resources(struct sum *all, const struct ray_bundle *b, int which)
{
    for (uint32_t i = 0; i < b->count; i++) {
        struct slice name = b->list[i].name;
        struct sum *at = all;
        if (slice_starts(name, SLICE("node:"))) /* each node has one of its own */
            continue;
        while (at->name.len && !slice_eq(at->name, name))
            at++;
        if (at == all + RAY_REPORT_RESOURCES)
            continue;
        at->name = name;
        at->amounts[which] += (double)b->list[i].amount / RAY_QUANTUM;
    }
}

/* Without the noise of sums of fractions: in steps of Ray's. Sums of large amounts are of integers. */
static struct slice write_sum(double sum, char out[DOUBLE_TEXT_MAX])
{
    static const double large = 9e14; /* times RAY_QUANTUM it is below 2^63 */
    if (fabs(sum) < large)
        sum = (double)(int64_t)(sum * RAY_QUANTUM + (sum < 0 ? -0.5 : 0.5)) / RAY_QUANTUM;
    return json_double_text(sum, DOUBLE_JSON, out);
}

void ray_state_report(const struct ray_state *s, struct jout *w)
{
    struct sum all[RAY_REPORT_RESOURCES + 1] = {0}; /* the last one has no name */
    uint32_t dead = 0;
    char total[DOUBLE_TEXT_MAX], used[DOUBLE_TEXT_MAX];
    for (uint32_t i = 0; i < s->node_count; i++) {
        dead += s->nodes[i].status == RAY_NODE_DEAD;
        add_resources(all, &s->nodes[i].total, 0);
        add_resources(all, &s->nodes[i].available, 1);
    }
    jout_form(w, "nodesAlive:%u,nodesDead:%u,resources:[", s->node_count - dead, dead);
    for (const struct sum *at = all; at->name.len; at++) {
        jout_form(w, "{name:'%.*s',total:%.*s,used:%.*s}", SLICE_ARG(at->name), SLICE_ARG(write_sum(at->amounts[0], total)),
                  SLICE_ARG(write_sum(at->amounts[0] - at->amounts[1], used)));
    }
    jout_end(w);
}
