/* Resources and demand of a cluster, in the two forms that people know: the old operator's log block, and `ray status`. */
#include "private.h"

#include <stdio.h>

enum { SUMS_MAX = 64 };
static const char line[] = "---------------------------------------------------------------\n";

/* The resources of all nodes together. A sum that would not fit stays at the most that does. */
struct sums {
    struct slice names[SUMS_MAX];
    int64_t all[SUMS_MAX], free[SUMS_MAX];
    uint32_t count;
};

/* The share of a placement group in a node, CPU_group_0_<its id>: Ray's own accounts, of what counts as CPU already. */
static bool is_reserved(struct slice name)
{
    enum { ID = 36 };
    return name.len > ID && slice_has(slice_head(name, name.len - ID), "_group_");
}

static void add_amounts(struct sums *s, const struct ray_bundle *b, int64_t *to)
{
    for (uint32_t i = 0; i < b->count; i++) {
        const struct ray_amount *a = &b->list[i];
        uint32_t at = 0;
        if (slice_starts(a->name, SLICE("node:")) || is_reserved(a->name) || a->amount < 0)
            continue;
        while (at < s->count && !slice_eq(s->names[at], a->name))
            at++;
        if (at == SUMS_MAX)
            continue;
        if (at == s->count)
            s->names[s->count++] = a->name;
        if (__builtin_add_overflow(to[at], a->amount, &to[at]))
            to[at] = INT64_MAX;
    }
}

static void sort_sums(struct sums *s)
{
    for (uint32_t i = 1; i < s->count; i++)
        for (uint32_t k = i; k > 0 && slice_cmp(s->names[k], s->names[k - 1]) < 0; k--) {
            struct sums one = {.names = {s->names[k]}, .all = {s->all[k]}, .free = {s->free[k]}};
            s->names[k] = s->names[k - 1], s->all[k] = s->all[k - 1], s->free[k] = s->free[k - 1];
            s->names[k - 1] = one.names[0], s->all[k - 1] = one.all[0], s->free[k - 1] = one.free[0];
        }
}

static bool lives(const struct ray_node *n)
{
    return n->status != RAY_NODE_DEAD;
}

static void sum_nodes(const struct ray_state *state, struct sums *s)
{
    for (uint32_t i = 0; state && i < state->node_count; i++)
        if (lives(&state->nodes[i])) {
            add_amounts(s, &state->nodes[i].total, s->all);
            add_amounts(s, &state->nodes[i].available, s->free);
        }
    sort_sums(s);
}

static int64_t used_of(const struct sums *s, uint32_t i)
{
    return s->all[i] > s->free[i] ? s->all[i] - s->free[i] : 0;
}

static void put_float(struct buf *b, int64_t amount)
{
    scale_put_amount(b, amount);
    if (amount % RAY_QUANTUM == 0)
        buf_put(b, SLICE(".0"));
}

/* {'CPU': 1.0} */
static void put_dict(struct buf *b, const struct ray_bundle *bundle)
{
    buf_putc(b, '{');
    for (uint32_t i = 0; i < bundle->count && i < LIMIT_SCALE_NAMES; i++) {
        buf_put(b, i ? SLICE(", '") : SLICE("'"));
        scale_put_name(b, bundle->list[i].name);
        buf_put(b, SLICE("': "));
        put_float(b, bundle->list[i].amount);
    }
    buf_put(b, bundle->count > LIMIT_SCALE_NAMES ? SLICE(", ...}") : SLICE("}"));
}

static bool is_bytes(struct slice name)
{
    return slice_ends(name, SLICE("memory"));
}

/* In hundredths of a GiB, half ones rounded to even ones. */
static void put_gib(struct buf *b, int64_t amount, const char *unit)
{
    const int64_t hundredth = RAY_QUANTUM / 100 * (INT64_C(1) << 30);
    int64_t n = amount / hundredth, over = amount % hundredth - hundredth / 2;
    n += over > 0 || (over == 0 && n % 2);
    buf_printf(b, "%lld.%02d%s", (long long)n / 100, (int)(n % 100), unit);
}

/* ---- the old operator's log ---- */

struct block {
    const struct scale_view *in;
    struct buf *out;
    char time[TIME_TEXT_MAX + 8]; /* 2020-12-12 13:55:36,814 */
};

static void begin(struct block *b)
{
    buf_put(b->out, b->in->cluster->name);
    buf_putc(b->out, ':');
}

static void begin_at(struct block *b, const char *level, const char *what)
{
    begin(b);
    buf_printf(b->out, "%s\t%s -- %s", b->time, level, what);
}

static void put_time(int64_t wall_us, char *out, size_t size)
{
    char text[TIME_TEXT_MAX];
    struct slice s = time_format(wall_us, text);
    if (s.len > 11)
        text[10] = ' ';
    snprintf(out, size, "%.*s,%03d", (int)(s.len ? s.len - 1 : 0), text, (int)(wall_us / 1000 % 1000));
}

struct spread {
    int64_t least, most, sum, count;
};

static void spread_add(struct spread *s, int64_t n)
{
    s->least = s->count == 0 || n < s->least ? n : s->least;
    s->most = n > s->most ? n : s->most;
    s->sum += n / 1000; /* milliseconds are told in seconds */
    s->count++;
}

static void put_spread(struct block *b, const char *what, const struct spread *s)
{
    begin(b);
    if (s->count)
        buf_printf(b->out, " - %s: Min=%lld Mean=%lld Max=%lld\n", what, (long long)s->least / 1000, (long long)(s->sum / s->count),
                   (long long)s->most / 1000);
    else
        buf_printf(b->out, " - %s: Min=-1 Mean=-1 Max=-1\n", what);
}

static void put_beats(struct block *b)
{
    const struct ray_state *state = b->in->state;
    struct spread idle = {0}, beat = {0};
    int64_t age = b->in->now.mono_ms - b->in->state_ms;
    uint32_t told = 0;
    begin(b);
    buf_put(b->out, SLICE(" - MostDelayedHeartbeats: {"));
    for (uint32_t i = 0; state && i < state->node_count; i++) {
        const struct ray_node *n = &state->nodes[i];
        if (!lives(n))
            continue;
        spread_add(&idle, n->status == RAY_NODE_IDLE && n->idle_ms > 0 && n->idle_ms < INT64_MAX / 1024 ? n->idle_ms : 0);
        spread_add(&beat, age);
        if (told++ >= 5)
            continue; /* as Ray: five of them */
        buf_put(b->out, told > 1 ? SLICE(", '") : SLICE("'"));
        scale_put_name(b->out, n->ip);
        buf_printf(b->out, "': %lld.%03d", (long long)age / 1000, (int)(age % 1000));
    }
    buf_put(b->out, SLICE("}\n"));
    put_spread(b, "NodeIdleSeconds", &idle);
    begin(b);
    buf_put(b->out, SLICE(" - ResourceUsage: "));
    struct sums s = {0};
    sum_nodes(state, &s);
    for (uint32_t i = 0; i < s.count; i++) {
        buf_put(b->out, i ? SLICE(", ") : SLICE(""));
        if (is_bytes(s.names[i])) {
            put_gib(b->out, used_of(&s, i), " GiB/");
            put_gib(b->out, s.all[i], " GiB");
        } else {
            put_float(b->out, used_of(&s, i));
            buf_putc(b->out, '/');
            put_float(b->out, s.all[i]);
        }
        buf_putc(b->out, ' ');
        scale_put_name(b->out, s.names[i]);
    }
    buf_putc(b->out, '\n');
    put_spread(b, "TimeSinceLastHeartbeat", &beat);
}

static void put_list(struct block *b, const char *what, const struct ray_demand *list, uint32_t count)
{
    begin_at(b, "INFO", what);
    buf_putc(b->out, '[');
    for (uint32_t i = 0; i < count && i < LIMIT_SCALE_TOLD; i++) {
        buf_put(b->out, i ? SLICE(", ") : SLICE(""));
        put_dict(b->out, &list[i].request.bundle);
        if (list[i].count != 1)
            buf_printf(b->out, " * %lld", (long long)list[i].count);
    }
    buf_put(b->out, count > LIMIT_SCALE_TOLD ? SLICE(", ...]\n") : SLICE("]\n"));
}

static void put_nodes(struct block *b)
{
    const struct ray_state *state = b->in->state;
    uint32_t told = 0;
    begin_at(b, "INFO", "Cluster resources: [");
    for (uint32_t i = 0; state && i < state->node_count; i++) {
        if (!lives(&state->nodes[i]) || told++ >= LIMIT_SCALE_TOLD)
            continue;
        buf_put(b->out, told > 1 ? SLICE(", ") : SLICE(""));
        put_dict(b->out, &state->nodes[i].total);
    }
    buf_put(b->out, told > LIMIT_SCALE_TOLD ? SLICE(", ...]\n") : SLICE("]\n"));
}

static void put_count(struct block *b, bool *more, struct slice name, int64_t n)
{
    if (n <= 0)
        return;
    buf_printf(b->out, "%s'%.*s': %lld", *more ? ", " : "", SLICE_ARG(name), (long long)n);
    *more = true;
}

static void put_counts(struct block *b, const struct scale_plan *p, uint32_t heads)
{
    const struct ray_cluster *c = b->in->cluster;
    begin_at(b, "INFO", "Node counts: defaultdict(<class 'int'>, {");
    if (heads)
        buf_printf(b->out, "'%.*s': %u", SLICE_ARG(c->head.name), heads);
    bool more = heads > 0;
    for (uint32_t i = 0; i < c->group_count; i++)
        put_count(b, &more, c->groups[i].name, (int64_t)p->groups[i].before * c->groups[i].hosts);
    buf_put(b->out, SLICE("})\n"));
}

static void put_requests(struct block *b, const struct scale_plan *p)
{
    const struct ray_cluster *c = b->in->cluster;
    begin_at(b, "INFO", "Node requests: {");
    bool more = false;
    for (uint32_t i = 0; i < c->group_count; i++)
        put_count(b, &more, c->groups[i].name, (int64_t)p->groups[i].launch * c->groups[i].hosts);
    buf_put(b->out, SLICE("}\n"));
}

static void put_demands(struct block *b, const struct scale_plan *p, struct arena *a)
{
    const struct ray_state none = {0}, *state = b->in->state ? b->in->state : &none;
    struct ray_demand *list = arena_array(a, (size_t)state->gang_count + p->unmet_count, sizeof *list);
    uint32_t n = 0;
    for (uint32_t i = 0; i < state->gang_count; i++)
        if (state->gangs[i].count)
            list[n++] = (struct ray_demand){.request = state->gangs[i].requests[0], .count = state->gangs[i].count};
    put_list(b, "Placement group demands: ", list, n);
    put_list(b, "Resource demands: ", state->demands.list, state->demands.count);
    n = 0;
    for (uint32_t i = 0; i < p->unmet_count; i++) {
        const struct scale_unmet *u = &p->unmet[i];
        list[n++] = u->gang ? (struct ray_demand){.request = u->gang->requests[0], .count = u->gang->count}
                            : (struct ray_demand){.request = *u->request, .count = u->count};
    }
    put_list(b, "Unfulfilled demands: ", list, n);
}

static bool goes(const struct scale_plan *p, const struct pod *pod)
{
    bool found = false;
    for (uint32_t i = 0; i < p->removal_count && !found; i++)
        found = p->removals[i].pod == pod;
    return found;
}

/* Of each pod that stays as it is. */
static void put_pods(struct block *b, const struct scale_plan *p)
{
    const struct scale_view *in = b->in;
    uint32_t told = 0;
    for (uint32_t i = 0; i < in->pod_count && told < LIMIT_SCALE_TOLD; i++) {
        const struct pod *pod = in->pods[i];
        if (pod->head || !pod_live(pod) || goes(p, pod))
            continue;
        told++;
        begin_at(b, "DEBUG", pod->name);
        buf_put(b->out, SLICE(" is not being updated and passes config check (can_update=True).\n"));
    }
}

void scale_log_legacy(const struct scale_view *in, const struct scale_plan *plan, struct arena *a, struct buf *out)
{
    struct block b = {.in = in, .out = out};
    int workers = 0;
    uint32_t heads = 0;
    put_time(in->now.wall_us, b.time, sizeof b.time);
    for (uint32_t i = 0; i < in->cluster->group_count; i++)
        workers += plan->groups[i].nodes;
    for (uint32_t i = 0; i < in->pod_count; i++)
        heads += in->pods[i]->head && pod_live(in->pods[i]);
    begin_at(&b, "DEBUG", "Cluster status: ");
    buf_printf(out, "%d nodes\n", workers);
    put_beats(&b);
    begin(&b);
    buf_put(out, SLICE("Worker node types:\n"));
    for (uint32_t i = 0; i < in->cluster->group_count; i++)
        if (plan->groups[i].nodes) {
            begin(&b);
            buf_printf(out, " - %.*s: %d\n", SLICE_ARG(in->cluster->groups[i].name), plan->groups[i].nodes);
        }
    put_nodes(&b);
    put_counts(&b, plan, heads);
    put_demands(&b, plan, a);
    put_requests(&b, plan);
    put_pods(&b, plan);
}

/* ---- ray status ---- */

static void put_none(struct buf *out, size_t before, const char *what)
{
    if (out->len == before)
        buf_printf(out, " (no %s)\n", what);
}

static void put_groups(const struct scale_view *in, const struct scale_plan *p, bool idle, struct buf *out)
{
    const struct ray_state *state = in->state;
    uint32_t heads = 0;
    for (uint32_t i = 0; state && i < state->node_count; i++)
        heads += lives(&state->nodes[i]) && slice_eq(state->nodes[i].type, in->cluster->head.name) &&
                 (state->nodes[i].status == RAY_NODE_IDLE) == idle;
    if (heads)
        buf_printf(out, " %u %.*s\n", heads, SLICE_ARG(in->cluster->head.name));
    for (uint32_t i = 0; i < in->cluster->group_count; i++) {
        int n = idle ? p->groups[i].idle : p->groups[i].nodes - p->groups[i].idle;
        if (n > 0)
            buf_printf(out, " %d %.*s\n", n, SLICE_ARG(in->cluster->groups[i].name));
    }
}

static void put_pending(const struct scale_plan *p, struct buf *out)
{
    const struct ray_report *r = &p->report;
    for (uint32_t i = 0; i < r->launch_count; i++)
        buf_printf(out, " %.*s, %lld launching\n", SLICE_ARG(r->launches[i].type), (long long)r->launches[i].count);
    for (uint32_t i = 0; i < r->launching_count && i < LIMIT_SCALE_TOLD; i++)
        buf_printf(out, " %.*s: %.*s, %.*s\n", SLICE_ARG(r->launching[i].type), SLICE_ARG(r->launching[i].instance_id),
                   SLICE_ARG(r->launching[i].details));
    if (r->launching_count > LIMIT_SCALE_TOLD)
        buf_printf(out, " and %u more\n", r->launching_count - LIMIT_SCALE_TOLD);
}

static void put_usage(const struct ray_state *state, struct buf *out)
{
    struct sums s = {0};
    sum_nodes(state, &s);
    for (uint32_t i = 0; i < s.count; i++) {
        buf_putc(out, ' ');
        if (is_bytes(s.names[i])) {
            put_gib(out, used_of(&s, i), "GiB/");
            put_gib(out, s.all[i], "GiB");
        } else {
            put_float(out, used_of(&s, i));
            buf_putc(out, '/');
            put_float(out, s.all[i]);
        }
        buf_putc(out, ' ');
        scale_put_name(out, s.names[i]);
        buf_putc(out, '\n');
    }
}

static void put_asked(const struct ray_demands *d, const char *what, struct buf *out)
{
    for (uint32_t i = 0; i < d->count && i < LIMIT_SCALE_TOLD; i++) {
        buf_putc(out, ' ');
        put_dict(out, &d->list[i].request.bundle);
        buf_printf(out, ": %lld%s\n", (long long)d->list[i].count, what);
    }
    if (d->count > LIMIT_SCALE_TOLD)
        buf_printf(out, " and %u shapes more\n", d->count - LIMIT_SCALE_TOLD);
}

static void put_gangs(const struct ray_state *state, struct buf *out)
{
    static const char *const names[] = {"PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"};
    for (uint32_t i = 0; i < state->gang_count && i < LIMIT_SCALE_TOLD; i++) {
        const struct ray_gang *g = &state->gangs[i];
        if (g->count == 0)
            continue;
        buf_putc(out, ' ');
        put_dict(out, &g->requests[0].bundle);
        buf_printf(out, " * %u (%s): 1+ pending placement groups\n", g->count, names[g->strategy & 3]);
    }
    if (state->gang_count > LIMIT_SCALE_TOLD)
        buf_printf(out, " and %u placement groups more\n", state->gang_count - LIMIT_SCALE_TOLD);
}

void scale_status_text(const struct scale_view *in, const struct scale_plan *plan, struct arena *a, struct buf *out)
{
    const struct ray_state none = {0}, *state = in->state ? in->state : &none;
    char *now = arena_alloc(a, TIME_TEXT_MAX + 8);
    put_time(in->now.wall_us, now, TIME_TEXT_MAX + 8);
    buf_printf(out, "======== Autoscaler status: %.19s ========\nNode status\n%sActive:\n", now, line);
    size_t at = out->len;
    put_groups(in, plan, false, out);
    put_none(out, at, "active nodes");
    buf_put(out, SLICE("Idle:\n"));
    at = out->len;
    put_groups(in, plan, true, out);
    put_none(out, at, "idle nodes");
    buf_put(out, SLICE("Pending:\n"));
    at = out->len;
    put_pending(plan, out);
    put_none(out, at, "pending nodes");
    buf_put(out, SLICE("Recent failures:\n"));
    at = out->len;
    for (uint32_t i = 0; i < plan->report.failure_count; i++)
        buf_printf(out, " %.*s: %lld, %.*s\n", SLICE_ARG(plan->report.failures[i].type), (long long)plan->report.failures[i].count,
                   SLICE_ARG(plan->report.failures[i].reason));
    put_none(out, at, "failures");
    buf_printf(out, "\nResources\n%sTotal Usage:\n", line);
    at = out->len;
    put_usage(in->state, out);
    put_none(out, at, "resources");
    buf_put(out, SLICE("\nFrom request_resources:\n"));
    at = out->len;
    for (uint32_t i = 0; i < state->constraint_count; i++)
        put_asked(&state->constraints[i], " from request_resources()", out);
    put_none(out, at, "request_resources()");
    buf_put(out, SLICE("Pending Demands:\n"));
    at = out->len;
    put_asked(&state->demands, "+ pending tasks/actors", out);
    put_gangs(state, out);
    put_none(out, at, "resource demands");
    buf_printf(out, "\nDecision\n%s", line);
    for (uint32_t i = 0; i < plan->line_count; i++)
        buf_printf(out, " %.*s\n", SLICE_ARG(plan->lines[i]));
}
