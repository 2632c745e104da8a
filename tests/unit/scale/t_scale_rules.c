/* What holds for the autoscaler whatever there is: seeded random clusters, and a small world in which its plans are carried out. */
#include "scene.h"

enum { ROUNDS = 400, STEPS = 60, JOIN_MS = 4000, IDLE_MS = 20000 };

static struct scale_world w;

static uint32_t below(struct rng *r, uint32_t n)
{
    return (uint32_t)rng_below(r, n);
}

static struct ray_bundle random_bundle(struct rng *r, uint32_t most)
{
    static const struct slice names[] = {SLICE("CPU"), SLICE("GPU"), SLICE("memory"), SLICE("x")};
    struct ray_amount *list = arena_array(&w.a, COUNT_OF(names), sizeof *list);
    struct ray_bundle b = {.list = list};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (i == 0 || below(r, 3) == 0)
            list[b.count++] = (struct ray_amount){names[i], (1 + below(r, most)) * (RAY_QUANTUM / 2)};
    return b;
}

static void random_groups(struct rng *r)
{
    uint32_t count = 1 + below(r, SCALE_GROUPS - 1);
    for (uint32_t i = 0; i < count; i++) {
        struct ray_group *g = &w.groups[w.cluster.group_count++];
        *g = (struct ray_group){
            .name = arena_printf(&w.a, "g%u", i), .hosts = below(r, 4) ? 1 : 1 + (int32_t)below(r, 3), .idle_timeout_s = -1};
        g->min = (int32_t)below(r, 3);
        g->max = g->min + (int32_t)below(r, 8);
        g->priority = below(r, 4) ? 0 : (int32_t)below(r, 3);
        g->hash = 1;
        w.offers[i + 1].bundle = random_bundle(r, 16);
        w.memory[i].target = -1;
        if (below(r, 5) == 0)
            w.failures[i + 1] = (struct group_failures){.count = below(r, 6), .not_before_ms = SCALE_NOW_MS + below(r, 2) * 1000};
    }
}

static void random_pods(struct rng *r)
{
    uint32_t count = below(r, 24);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t group = below(r, w.cluster.group_count);
        int32_t hosts = w.groups[group].hosts;
        for (int32_t host = 0; host < hosts && w.pod_count < SCALE_PODS; host++) {
            struct pod *p = scale_add_pod(&w, w.groups[group].name);
            p->index = (int32_t)i;
            p->host = host;
            p->phase = below(r, 3) ? POD_RUNNING : POD_PENDING;
            if (p->phase == POD_PENDING || below(r, 5) == 0)
                continue;
            struct ray_node *n = scale_add_node(&w, p, w.offers[group + 1].bundle);
            n->status = (enum ray_node_status)below(r, RAY_NODE_DRAINING + 1);
            n->idle_ms = n->status == RAY_NODE_IDLE ? below(r, 100) * 1000 : 0;
            n->available = n->status == RAY_NODE_IDLE || below(r, 2) ? n->total : (struct ray_bundle){0};
        }
    }
    w.view.pod_count = w.pod_count;
}

static void random_demand(struct rng *r)
{
    w.state.demands.count = below(r, 6);
    for (uint32_t i = 0; i < w.state.demands.count; i++)
        w.demands[i] = (struct ray_demand){.request.bundle = random_bundle(r, 8), .count = 1 + below(r, 9)};
    w.constraint.count = below(r, 3);
    w.state.constraint_count = w.constraint.count > 0;
    for (uint32_t i = 0; i < w.constraint.count; i++)
        w.asked[i] = (struct ray_demand){.request.bundle = random_bundle(r, 8), .count = 1 + below(r, 4)};
    w.state.gang_count = below(r, 4);
    for (uint32_t i = 0; i < w.state.gang_count; i++) {
        struct ray_request *list = arena_array(&w.a, 4, sizeof *list);
        struct slice label = arena_printf(&w.a, "_PG_%u", i);
        w.gangs[i] =
            (struct ray_gang){.requests = list, .count = 1 + below(r, 4), .strategy = (enum ray_strategy)below(r, 4), .details = label};
        for (uint32_t k = 0; k < w.gangs[i].count; k++)
            list[k] = (struct ray_request){.bundle = random_bundle(r, 6), .anti_affinity = label};
    }
}

static void random_world(uint64_t seed)
{
    struct rng r;
    rng_seed(&r, seed);
    scale_begin(&w);
    random_groups(&r);
    random_pods(&r);
    random_demand(&r);
    w.cluster.scale.upscaling_speed = below(&r, 2) ? 1 : 1000;
    w.cluster.scale.max_workers = below(&r, 3) ? INT32_MAX : 4 + (int32_t)below(&r, 20);
}

static int64_t total(const struct scale_plan *p)
{
    int64_t nodes = 0;
    for (uint32_t i = 0; i < w.cluster.group_count; i++)
        nodes += (int64_t)p->groups[i].target * w.groups[i].hosts;
    return nodes;
}

/* Never above max but for what is there, never below min; a drain is of an idle node that is not needed for the minimum, or of one too
 * many. */
static void check_bounds(const struct scale_plan *p)
{
    int32_t *going = arena_array(&w.a, w.cluster.group_count, sizeof *going),
            *above = arena_array(&w.a, w.cluster.group_count, sizeof *above);
    for (uint32_t i = 0; i < w.cluster.group_count; i++) {
        const struct scale_group *g = &p->groups[i];
        CHECK(g->target >= w.groups[i].min);
        CHECK(g->target <= w.groups[i].max || (g->target <= g->before && g->launch == 0));
        above[i] = g->before > w.groups[i].max;
    }
    for (uint32_t i = 0; i < p->drain_count; i++) {
        const struct ray_node *n = NULL;
        for (uint32_t k = 0; k < w.state.node_count; k++)
            n = slice_eq(w.nodes[k].id, p->drains[i].node_id) ? &w.nodes[k] : n;
        CHECK(n && n->status != RAY_NODE_DEAD && n->status != RAY_NODE_DRAINING && !p->drains[i].pod->head);
        bool victim = slice_starts(p->drains[i].message, SLICE("there are more"));
        CHECK(victim || (n->status == RAY_NODE_IDLE && n->idle_ms >= 60000));
        CHECK(!p->drains[i].preempt || victim);
        going[p->drains[i].group]++;
    }
    for (uint32_t i = 0; i < w.cluster.group_count; i++)
        CHECK(above[i] ||
              p->groups[i].before - going[i] / w.groups[i].hosts >= (p->groups[i].before < w.groups[i].min ? 0 : w.groups[i].min) ||
              going[i] == 0);
}

/* One shape more of what waits never makes for fewer nodes where there is one kind of demand and one group. */
static void check_monotone(uint64_t seed)
{
    struct rng r;
    rng_seed(&r, seed);
    scale_begin(&w);
    random_groups(&r);
    w.cluster.group_count = 1;
    random_pods(&r);
    w.demands[0].request.bundle = random_bundle(&r, 8);
    w.state.demands.count = 1;
    int64_t last = 0;
    for (int64_t n = 1; n < 40; n++) {
        struct scale_plan p;
        w.demands[0].count = n;
        scale_cluster(&w.view, &w.a, &p);
        CHECK(total(&p) >= last);
        last = total(&p);
    }
}

/* Without demand nothing is launched but the minimum, with an old state nothing goes. */
static void check_quiet(void)
{
    struct scale_plan p;
    w.state.demands.count = w.state.gang_count = w.state.constraint_count = 0;
    scale_cluster(&w.view, &w.a, &p);
    for (uint32_t i = 0; i < w.cluster.group_count; i++)
        CHECK(p.groups[i].launch == 0 || p.groups[i].target <= w.groups[i].min + p.groups[i].before);
    w.view.state_ms -= SCALE_STALE_MS + 1;
    scale_cluster(&w.view, &w.a, &p);
    CHECK(p.held && p.drain_count == 0);
    int32_t *gone = arena_array(&w.a, w.cluster.group_count, sizeof *gone);
    for (uint32_t i = 0; i < p.removal_count; i++)
        gone[p.removals[i].group] += p.removals[i].pod->phase == POD_PENDING && p.removals[i].pod->host == 0;
    for (uint32_t i = 0; i < w.cluster.group_count; i++) {
        bool above = p.groups[i].before > w.groups[i].max || w.cluster.scale.max_workers < INT32_MAX;
        CHECK(p.groups[i].target >= p.groups[i].before - gone[i] && p.groups[i].target >= w.groups[i].min);
        CHECK(gone[i] == 0 || above);
    }
}

static void test_random(void)
{
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        test_case("seed %d", (int)seed);
        struct scale_plan p, q;
        random_world(seed);
        scale_cluster(&w.view, &w.a, &p);
        scale_cluster(&w.view, &w.a, &q);
        CHECK(total(&p) == total(&q) && p.drain_count == q.drain_count && p.unmet_count == q.unmet_count && p.next_ms == q.next_ms);
        check_bounds(&p);
        check_quiet();
        arena_free(&w.a);
        if (seed < ROUNDS / 8) {
            check_monotone(seed);
            arena_free(&w.a);
        }
    }
}

/* ---- a world in which plans are carried out: pods join after a while, take the demand that fits, and end when they are drained ---- */

struct node_life {
    int64_t born_ms, idle_since_ms;
    bool dead, gone;
};
static struct node_life life[SCALE_PODS + 1];

static struct ray_node *node_of(const struct pod *p)
{
    for (uint32_t i = 0; i < w.state.node_count; i++)
        if (slice_eq(w.nodes[i].instance_id, slice_of(p->name)))
            return &w.nodes[i];
    return NULL;
}

/* Demand that fits goes to where it fits, a unit of CPU each. */
static void run_tasks(int64_t *waiting)
{
    for (uint32_t i = 1; i < w.pod_count; i++) {
        struct ray_node *n = node_of(&w.pods[i]);
        if (!n || life[i].dead)
            continue;
        int64_t fits = n->available.count ? n->available.list[0].amount / RAY_QUANTUM : 0, take = fits < *waiting ? fits : *waiting;
        struct ray_amount *left = arena_new(&w.a, struct ray_amount);
        *left = (struct ray_amount){SLICE("CPU"), (fits - take) * RAY_QUANTUM};
        n->available = (struct ray_bundle){left, fits > take};
        *waiting -= take;
        if (take > 0)
            n->status = RAY_NODE_RUNNING;
    }
}

static void finish_tasks(int64_t now)
{
    for (uint32_t i = 1; i < w.pod_count; i++) {
        struct ray_node *n = node_of(&w.pods[i]);
        if (!n || life[i].dead)
            continue;
        n->available = n->total;
        n->status = RAY_NODE_IDLE;
        life[i].idle_since_ms = now;
    }
}

static void pass_time(int64_t now)
{
    w.view.now = (struct now){now, scale_now_us + (now - SCALE_NOW_MS) * 1000};
    w.view.state_ms = now;
    for (uint32_t i = 1; i < w.pod_count; i++) {
        struct ray_node *n = node_of(&w.pods[i]);
        if (!n && !life[i].gone && now - life[i].born_ms >= JOIN_MS) {
            w.pods[i].phase = POD_RUNNING;
            n = scale_add_node(&w, &w.pods[i], w.offers[1].bundle);
            n->status = RAY_NODE_IDLE;
            life[i].idle_since_ms = now;
        }
        if (n)
            n->idle_ms = n->status == RAY_NODE_IDLE ? now - life[i].idle_since_ms : 0;
    }
}

/* Returns how many pods there are afterwards. */
static int32_t carry_out(const struct scale_plan *p, int64_t now)
{
    int32_t live = 0;
    for (uint32_t i = 0; i < p->drain_count; i++)
        for (uint32_t k = 1; k < w.pod_count; k++)
            if (p->drains[i].pod == &w.pods[k] && node_of(&w.pods[k])->status == RAY_NODE_IDLE) {
                node_of(&w.pods[k])->status = RAY_NODE_DEAD;
                life[k].dead = true;
            }
    for (uint32_t i = 0; i < p->removal_count; i++)
        for (uint32_t k = 1; k < w.pod_count; k++)
            if (p->removals[i].pod == &w.pods[k]) {
                CHECK(life[k].dead || !node_of(&w.pods[k])); /* a pod goes when its node is dead, or has never been */
                w.pods[k].deleting = life[k].gone = true;
            }
    for (uint32_t k = 1; k < w.pod_count; k++)
        live += !life[k].gone; /* the container of a dead node runs on */
    for (int32_t want = p->groups[0].target; live < want && w.pod_count <= SCALE_PODS; live++) {
        life[w.pod_count] = (struct node_life){.born_ms = now};
        scale_add_pod(&w, w.groups[0].name)->phase = POD_PENDING;
    }
    w.view.pod_count = w.pod_count;
    w.view.memory = p->memory;
    return live;
}

static void begin_life(int32_t min, int32_t max)
{
    scale_begin(&w);
    w.cluster.group_count = 1;
    w.groups[0] = (struct ray_group){.name = SLICE("g"), .min = min, .max = max, .hosts = 1, .idle_timeout_s = IDLE_MS / 1000, .hash = 1};
    w.memory[0].target = -1;
    w.offers[1].bundle = scale_bundle(&w, SLICE("CPU:2"));
    w.demands[0].request.bundle = scale_bundle(&w, SLICE("CPU:1"));
    w.view.pod_count = w.pod_count;
    memset(life, 0, sizeof life);
}

/* Demand comes, and once there is room for it nothing more is launched; it ends, and all but the minimum goes. */
static void test_converges(void)
{
    for (int64_t tasks = 1; tasks <= 24; tasks += 5) {
        test_case("%d tasks", (int)tasks);
        begin_life(1, 10);
        int64_t waiting = tasks, now = SCALE_NOW_MS;
        int32_t live = 0, most = 0, want = (int32_t)((tasks + 1) / 2) < 10 ? (int32_t)((tasks + 1) / 2) : 10;
        for (int step = 0; step < STEPS; step++, now += 1000) {
            struct scale_plan p;
            if (step == STEPS / 3) {
                CHECK_INT(live, want);
                waiting = 0;
                finish_tasks(now);
            }
            pass_time(now);
            run_tasks(&waiting);
            w.demands[0].count = waiting;
            w.state.demands.count = waiting > 0;
            scale_cluster(&w.view, &w.a, &p);
            live = carry_out(&p, now);
            most = live > most ? live : most;
            CHECK(p.groups[0].target <= 10 && p.groups[0].target >= 1);
        }
        CHECK_INT(most, want);
        CHECK_INT(live, 1);
        arena_free(&w.a);
    }
}

/* Demand that comes and goes each second: what was ordered for it is neither cancelled nor ordered again. */
static void test_no_flapping(void)
{
    test_case("demand that flaps");
    begin_life(0, 10);
    int64_t now = SCALE_NOW_MS;
    for (int step = 0; step < 30; step++, now += 1000) {
        struct scale_plan p;
        w.demands[0].count = 6;
        w.state.demands.count = step % 2 == 0;
        w.view.now.mono_ms = w.view.state_ms = now;
        scale_cluster(&w.view, &w.a, &p);
        CHECK_INT(carry_out(&p, now), 3);
        CHECK_INT(p.removal_count, 0);
    }
    CHECK_INT(w.pod_count, 4);
    arena_free(&w.a);
}

int main(void)
{
    test_random();
    test_converges();
    test_no_flapping();
    return test_done();
}
