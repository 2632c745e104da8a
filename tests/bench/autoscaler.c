/* How much processor time one decision of the autoscaler takes, as the product is compiled: each line is the median of a few runs.
 *   make bench-autoscaler
 * Nodes have a random part of their resources left, so that every demand is tried on many of them and a part of it fits. A line above its
 * goal has failed. */
#include "measure.h"

#include <mobula/scale.h>

#include <stdio.h>

struct load {
    const char *what;
    uint32_t groups, nodes, shapes, count, gangs, goal_ms;
    bool idle; /* free nodes, no demand */
};

static const struct load loads[] = {
    {"1,000 tasks of one shape, 1 group, 1,000 nodes", 1, 1000, 1, 1000, 0, 10, false},
    {"1,000 tasks, each another shape, 1 group, 1,000 nodes", 1, 1000, 1000, 1, 0, 10, false},
    {"2,000 tasks of 100 shapes, 100 groups, 1,000 nodes", 100, 1000, 100, 20, 0, 20, false},
    {"2,000 tasks, each another shape, 100 groups, 1,000 nodes", 100, 1000, 2000, 1, 0, 20, false},
    {"100 spread groups of 10, 5 groups, 1,000 nodes", 5, 1000, 0, 0, 100, 20, false},
    {"nothing to do, 100 groups, 1,000 nodes", 100, 1000, 0, 0, 0, 20, true},
};

enum { RUNS = 9, GANG = 10 };

struct world {
    struct arena a;
    struct rng r;
    struct ray_cluster cluster;
    struct ray_state state;
    struct scale_view view;
};

static struct ray_bundle bundle(struct world *w, double cpu, double memory, double gpu)
{
    struct ray_amount *list = arena_array(&w->a, 3, sizeof *list);
    struct ray_bundle b = {.list = list};
    const struct ray_amount all[] = {{SLICE("CPU"), (int64_t)(cpu * RAY_QUANTUM)},
                                     {SLICE("GPU"), (int64_t)(gpu * RAY_QUANTUM)},
                                     {SLICE("memory"), (int64_t)(memory * RAY_QUANTUM)}};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i].amount > 0)
            list[b.count++] = all[i];
    return b;
}

static double part(struct world *w)
{
    return (double)rng_below(&w->r, 1001) / 1000;
}

static void make_groups(struct world *w, const struct load *l, struct ray_offer *offers)
{
    w->cluster.groups = arena_array(&w->a, l->groups, sizeof *w->cluster.groups);
    for (; w->cluster.group_count < l->groups; w->cluster.group_count++) {
        uint32_t i = w->cluster.group_count;
        w->cluster.groups[i] =
            (struct ray_group){.name = arena_printf(&w->a, "g%u", i), .max = INT32_MAX, .hosts = 1, .idle_timeout_s = -1};
        offers[i + 1].bundle = bundle(w, 4 + i % 61, (1 + i % 16) * 1e9, i % 4 == 3 ? 1 + i % 8 : 0);
    }
}

static void make_nodes(struct world *w, const struct load *l, const struct ray_offer *offers)
{
    struct pod *pods = arena_array(&w->a, l->nodes + 1, sizeof *pods);
    const struct pod **list = arena_array(&w->a, l->nodes + 1, sizeof(struct pod *));
    struct ray_node *nodes = arena_array(&w->a, l->nodes + 1, sizeof *nodes);
    for (uint32_t i = 0; i <= l->nodes; i++) {
        uint32_t group = i % l->groups;
        struct ray_bundle all = i ? offers[group + 1].bundle : (struct ray_bundle){0};
        struct ray_amount *left = arena_array(&w->a, all.count, sizeof *left);
        double free = l->idle ? 1 : part(w) * 0.3;
        for (uint32_t k = 0; k < all.count; k++)
            left[k] = (struct ray_amount){all.list[k].name, (int64_t)((double)all.list[k].amount * free)};
        snprintf(pods[i].name, sizeof pods[i].name, "pod-%06u", i);
        pods[i].phase = POD_RUNNING;
        pods[i].head = i == 0;
        pods[i].group = i ? w->cluster.groups[group].name : SLICE("headgroup");
        nodes[i] = (struct ray_node){.id = arena_printf(&w->a, "%028u", i),
                                     .instance_id = slice_of(pods[i].name),
                                     .status = l->idle ? RAY_NODE_IDLE : RAY_NODE_RUNNING,
                                     .total = all,
                                     .available = {left, all.count}};
        list[i] = &pods[i];
    }
    w->view.pods = list;
    w->state.nodes = nodes;
    w->view.pod_count = w->state.node_count = l->nodes + 1;
}

static void make_demand(struct world *w, const struct load *l)
{
    struct ray_demand *demands = arena_array(&w->a, l->shapes, sizeof *demands);
    struct ray_gang *gangs = arena_array(&w->a, l->gangs, sizeof *gangs);
    for (uint32_t i = 0; i < l->shapes; i++) {
        double cpu = l->shapes == 1 ? 1 : 0.5 + part(w) * 8 + i * 0.0001;
        demands[i] =
            (struct ray_demand){.count = l->count, .request.bundle = bundle(w, cpu, i % 3 == 1 ? part(w) * 2e9 : 0, i % 10 == 9 ? 1 : 0)};
    }
    for (uint32_t i = 0; i < l->gangs; i++) {
        struct ray_request *requests = arena_array(&w->a, GANG, sizeof *requests);
        for (uint32_t k = 0; k < GANG; k++)
            requests[k] = (struct ray_request){.bundle = bundle(w, 1 + i % 4, 0, 0), .anti_affinity = arena_printf(&w->a, "_PG_%u", i)};
        gangs[i] = (struct ray_gang){.requests = requests, .count = GANG, .strategy = RAY_STRICT_SPREAD, .details = SLICE("")};
    }
    w->state.demands = (struct ray_demands){demands, l->shapes};
    w->state.gangs = gangs;
    w->state.gang_count = l->gangs;
}

/* Whether the goal is met. */
static bool run(const struct load *l)
{
    struct world w = {
        .cluster = {.name = SLICE("c"), .scale.upscaling_speed = 1000, .scale.idle_timeout_s = 60, .scale.max_workers = INT32_MAX}};
    struct ray_offer *offers = arena_array(&w.a, l->groups + 1, sizeof *offers);
    rng_seed(&w.r, 1);
    make_groups(&w, l, offers);
    make_nodes(&w, l, offers);
    make_demand(&w, l);
    w.view.cluster = &w.cluster;
    w.view.offers = offers;
    w.view.failures = arena_array(&w.a, l->groups + 1, sizeof *w.view.failures);
    w.view.state = &w.state;
    double ms[RUNS];
    size_t memory = 0;
    int64_t launched = 0;
    for (int i = 0; i < RUNS; i++) {
        struct arena a = {0};
        struct scale_plan p;
        double start = processor_ms();
        scale_cluster(&w.view, &a, &p);
        ms[i] = processor_ms() - start;
        memory = a.used;
        launched = 0;
        for (uint32_t k = 0; k < l->groups; k++)
            launched += p.groups[k].launch + p.groups[k].throttled;
        arena_free(&a);
    }
    double middle = median(ms, RUNS);
    printf("%-60s %8.2f ms, goal %u %8zu KiB %6lld nodes to add\n", l->what, middle, l->goal_ms, memory / KIB, (long long)launched);
    arena_free(&w.a);
    return middle <= l->goal_ms;
}

int main(void)
{
    unsigned met = 0;
    for (size_t i = 0; i < COUNT_OF(loads); i++)
        met += run(&loads[i]);
    printf("%u passed, %zu failed\n", met, COUNT_OF(loads) - met);
    return met < COUNT_OF(loads);
}
