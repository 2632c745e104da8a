/* A decision of the autoscaler on whatever a head may say: groups are sane, as the reader of the spec sees to that; nodes, demand, gangs
 * and labels are anything. No group leaves its bounds, an old state changes nothing, a drain names a node that the head named, and the same
 * view gives the same plan. */
#include <mobula/scale.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { GROUPS = 4, PODS = 24, REQUESTS = 16, PARTS = 6, NOW_MS = 1000000 };

struct input {
    const uint8_t *at;
    size_t left;
    struct arena *a;
};

static uint32_t byte(struct input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static uint32_t below(struct input *in, uint32_t n)
{
    return byte(in) % n;
}

/* Mostly small, now and then all 64 bits. */
static int64_t number(struct input *in)
{
    uint64_t n = byte(in);
    for (int i = 0; n > 250 && i < 8; i++)
        n = n << 8 | byte(in);
    return (int64_t)n;
}

static int64_t times(int64_t n, uint64_t factor)
{
    return (int64_t)((uint64_t)n * factor);
}

static struct slice word(struct input *in)
{
    static const char *const words[] = {"",       "CPU",  "GPU",  "memory", "x",  "node:__internal_implicit_resource_a",
                                        "node:1", "g0",   "g1",   "p1",     "p2", "zone",
                                        "a",      "_PG_", "_PG_1"};
    uint32_t n = byte(in);
    if (n < 200)
        return slice_of(words[n % COUNT_OF(words)]);
    struct slice raw = {(const char *)in->at, in->left < n - 200 ? in->left : n - 200};
    in->at += raw.len;
    in->left -= raw.len;
    return raw;
}

static struct ray_bundle bundle(struct input *in)
{
    uint32_t count = below(in, PARTS);
    struct ray_amount *list = arena_array(in->a, count, sizeof *list);
    for (uint32_t i = 0; i < count; i++) {
        list[i].name = word(in);
        list[i].amount = times(number(in), below(in, 2) ? 1 : RAY_QUANTUM / 2);
    }
    return (struct ray_bundle){list, count};
}

static uint32_t labels(struct input *in, const struct ray_label **out)
{
    uint32_t count = below(in, 3);
    struct ray_label *list = arena_array(in->a, count, sizeof *list);
    for (uint32_t i = 0; i < count; i++)
        list[i] = (struct ray_label){word(in), word(in)};
    *out = list;
    return count;
}

static void request(struct input *in, struct ray_request *r)
{
    r->bundle = bundle(in);
    r->selector_count = below(in, 3);
    struct ray_selector *list = arena_array(in->a, r->selector_count, sizeof *list);
    for (uint32_t i = 0; i < r->selector_count; i++) {
        struct ray_condition *c = arena_new(in->a, struct ray_condition);
        struct slice *values = arena_array(in->a, 2, sizeof *values);
        values[0] = word(in);
        values[1] = word(in);
        *c = (struct ray_condition){.key = word(in), .values = values, .value_count = below(in, 3), .not_in = below(in, 2)};
        list[i] = (struct ray_selector){c, below(in, 2)};
    }
    r->selectors = list;
    r->anti_affinity = word(in);
    r->anti_affinity_value = word(in);
}

static struct ray_demands demands(struct input *in)
{
    uint32_t count = below(in, REQUESTS);
    struct ray_demand *list = arena_array(in->a, count, sizeof *list);
    for (uint32_t i = 0; i < count; i++) {
        request(in, &list[i].request);
        list[i].count = number(in);
    }
    return (struct ray_demands){list, count};
}

static void read_state(struct input *in, struct ray_state *s)
{
    struct ray_node *nodes = arena_array(in->a, PODS, sizeof *nodes);
    s->node_count = below(in, PODS);
    for (uint32_t i = 0; i < s->node_count; i++) {
        struct ray_node *n = &nodes[i];
        n->id = below(in, 8) ? arena_printf(in->a, "%028u", i % (1 + below(in, PODS))) : word(in);
        n->instance_id = below(in, 8) ? arena_printf(in->a, "p%u", below(in, PODS)) : word(in);
        n->ip = word(in);
        n->type = word(in);
        n->status = (enum ray_node_status)below(in, 6);
        n->idle_ms = times(number(in), 1000);
        n->total = bundle(in);
        n->available = below(in, 2) ? n->total : bundle(in);
        n->label_count = labels(in, &n->labels);
    }
    struct ray_gang *gangs = arena_array(in->a, REQUESTS, sizeof *gangs);
    s->gang_count = below(in, REQUESTS);
    for (uint32_t i = 0; i < s->gang_count; i++) {
        gangs[i].count = below(in, REQUESTS);
        gangs[i].strategy = (enum ray_strategy)below(in, 4);
        gangs[i].details = word(in);
        struct ray_request *list = arena_array(in->a, gangs[i].count, sizeof *list);
        for (uint32_t k = 0; k < gangs[i].count; k++)
            request(in, &list[k]);
        gangs[i].requests = list;
    }
    struct ray_demands *constraints = arena_array(in->a, 2, sizeof *constraints);
    s->constraint_count = below(in, 3);
    for (uint32_t i = 0; i < s->constraint_count; i++)
        constraints[i] = demands(in);
    s->demands = demands(in);
    s->nodes = nodes;
    s->gangs = gangs;
    s->constraints = constraints;
}

static void read_cluster(struct input *in, struct ray_cluster *c, struct ray_offer *offers, struct group_failures *failures)
{
    c->name = SLICE("c");
    c->suspend = below(in, 32) == 31;
    c->scale.upscaling_speed = (double)number(in) - 1;
    c->scale.idle_timeout_s = below(in, 100);
    c->scale.max_workers = below(in, 2) ? INT32_MAX : (int32_t)below(in, 50);
    c->group_count = below(in, GROUPS + 1);
    c->groups = arena_array(in->a, GROUPS, sizeof *c->groups);
    for (uint32_t i = 0; i < c->group_count; i++) {
        struct ray_group *g = &c->groups[i];
        g->name = arena_printf(in->a, "g%u", i);
        g->min = (int32_t)below(in, 5);
        g->max = below(in, 8) ? g->min + (int32_t)below(in, 40) : INT32_MAX;
        g->hosts = 1 + (int32_t)below(in, 4) / 3;
        g->replicas = (int32_t)below(in, 20);
        g->idle_timeout_s = (int32_t)below(in, 100) - 1;
        g->priority = (int32_t)below(in, 3);
        g->suspended = below(in, 16) == 15;
        offers[i + 1].bundle = bundle(in);
        offers[i + 1].label_count = labels(in, &offers[i + 1].labels);
        failures[i + 1] = (struct group_failures){.count = below(in, 6), .not_before_ms = NOW_MS + (int64_t)below(in, 2) * 500};
    }
}

static uint32_t read_pods(struct input *in, const struct ray_cluster *c, const struct pod **list)
{
    uint32_t count = below(in, PODS);
    struct pod *pods = arena_array(in->a, PODS, sizeof *pods);
    for (uint32_t i = 0; i < count; i++) {
        struct pod *p = &pods[i];
        struct slice name = arena_printf(in->a, "p%u", i), ip = slice_head(word(in), IP_TEXT_MAX);
        memcpy(p->name, name.ptr, name.len);
        if (ip.len)
            memcpy(p->ip, ip.ptr, ip.len);
        p->group = c->group_count && below(in, 8) ? c->groups[below(in, c->group_count)].name : word(in);
        p->head = i == 0;
        p->phase = (uint8_t)below(in, POD_UNKNOWN + 1);
        p->index = (int32_t)below(in, 8) - 1;
        p->host = (int32_t)below(in, 2);
        p->deleting = below(in, 8) == 7;
        p->hash = below(in, 3);
        p->created_us = below(in, 4);
        list[i] = p;
    }
    return count;
}

static void check(const struct scale_view *v, const struct scale_plan *p)
{
    for (uint32_t i = 0; i < v->cluster->group_count; i++) {
        const struct ray_group *g = &v->cluster->groups[i];
        const struct scale_group *s = &p->groups[i];
        bool off = g->suspended || v->cluster->suspend;
        if (s->target < (off ? 0 : g->min) || (s->target > g->max && s->target > s->before) || s->launch < 0 || s->throttled < 0)
            abort();
        if (g->max == INT32_MAX && s->launch > g->min + 3 * SCALE_STEP + REQUESTS * REQUESTS)
            abort();
    }
    if (p->held && (p->drain_count || (v->cluster->suspend && p->removal_count)))
        abort();
    for (uint32_t i = 0; i < p->removal_count && p->held; i++) {
        int32_t group = p->removals[i].group;
        if (p->groups[group].before <= v->cluster->groups[group].max && v->cluster->scale.max_workers == INT32_MAX)
            abort();
    }
    for (uint32_t i = 0; i < p->drain_count; i++) {
        bool named = p->drains[i].node_id.len == RAY_NODE_ID && !p->drains[i].pod->head;
        bool there = false;
        for (uint32_t k = 0; k < v->state->node_count && named; k++)
            there |= slice_eq(v->state->nodes[k].id, p->drains[i].node_id);
        if (!there)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = {0};
    struct input in = {data, size, &a};
    struct ray_cluster c = {0};
    struct ray_offer offers[GROUPS + 1] = {0};
    struct group_failures failures[GROUPS + 1] = {0};
    struct scale_memory memory[GROUPS] = {0};
    const struct pod *list[PODS];
    struct ray_state state = {0};
    read_cluster(&in, &c, offers, failures);
    for (uint32_t i = 0; i < GROUPS; i++)
        memory[i] = (struct scale_memory){.target = (int32_t)below(&in, 30) - 1, .surplus_ms = below(&in, 2) ? NOW_MS - 20000 : 0};
    struct scale_view v = {
        .cluster = &c, .offers = offers, .pods = list, .failures = failures, .memory = memory, .now = {NOW_MS, 1800000000000000}};
    v.pod_count = read_pods(&in, &c, list);
    v.state_ms = NOW_MS - (below(&in, 8) ? 0 : number(&in) % (4 * SCALE_STALE_MS));
    read_state(&in, &state);
    v.state = below(&in, 32) == 31 ? NULL : &state;
    struct scale_plan p, q;
    scale_cluster(&v, &a, &p);
    scale_cluster(&v, &a, &q);
    check(&v, &p);
    if (p.drain_count != q.drain_count || p.unmet_count != q.unmet_count || p.next_ms != q.next_ms)
        abort();
    struct buf out;
    buf_init(&out, MIB);
    scale_log_legacy(&v, &p, &a, &out);
    scale_status_text(&v, &p, &a, &out);
    if (out.len && memchr(out.ptr, 0x1b, out.len))
        abort();
    buf_free(&out);
    arena_free(&a);
    return 0;
}
