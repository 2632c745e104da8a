/* Decisions of the autoscaler, from tests/data/scale/scale.case. Every case is also decided with everything that has no order in
 * another order: the answer is the same. */
#include "scene.h"

static void put_bundle(struct buf *b, const struct ray_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->count; i++)
        buf_printf(b, "%s%.*s:%g", i ? "," : "", SLICE_ARG(bundle->list[i].name), (double)bundle->list[i].amount / RAY_QUANTUM);
}

static int compare_lines(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* Sorted: what is said of pods and of demands has no order either. */
static void put_sorted(struct buf *out, struct buf *lines)
{
    struct slice list[2 * SCALE_PODS], rest = buf_slice(lines);
    size_t n = 0;
    while (!slice_empty(rest) && n < COUNT_OF(list))
        list[n++] = slice_cut(&rest, '\n');
    qsort(list, n, sizeof *list, compare_lines);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%.*s\n", SLICE_ARG(list[i]));
}

static void put_plan(const struct scale_world *w, const struct scale_plan *p, struct buf *out)
{
    static const char *const whys[] = {"no-group", "at-max", "waits", "later", "malformed"};
    struct buf lines;
    buf_init(&lines, MIB);
    if (p->held)
        buf_printf(out, "held: %s\n", p->held);
    for (uint32_t i = 0; i < w->cluster.group_count; i++) {
        buf_printf(out, "%.*s %d", SLICE_ARG(w->groups[i].name), p->groups[i].target);
        if (p->groups[i].throttled)
            buf_printf(out, " throttled %d", p->groups[i].throttled);
        buf_putc(out, '\n');
    }
    for (uint32_t i = 0; i < p->drain_count; i++)
        buf_printf(&lines, "drain %s%s\n", p->drains[i].pod->name, p->drains[i].preempt ? " preempt" : "");
    for (uint32_t i = 0; i < p->removal_count; i++)
        buf_printf(&lines, "remove %s\n", p->removals[i].pod->name);
    for (uint32_t i = 0; i < p->unmet_count; i++) {
        buf_printf(&lines, "unmet %lld ", (long long)p->unmet[i].count);
        if (p->unmet[i].gang)
            buf_printf(&lines, "group of %u", p->unmet[i].gang->count);
        else
            put_bundle(&lines, &p->unmet[i].request->bundle);
        buf_printf(&lines, "%s %s\n", p->unmet[i].constraint >= 0 ? " asked" : "", whys[p->unmet[i].why]);
    }
    put_sorted(out, &lines);
    if (p->next_ms != TIME_NEVER)
        buf_printf(out, "again %lld\n", (long long)(p->next_ms - SCALE_NOW_MS));
    buf_free(&lines);
}

/* What holds for every plan. */
static void check_plan(const struct scale_world *w, const struct scale_plan *p)
{
    for (uint32_t i = 0; i < w->cluster.group_count; i++) {
        const struct scale_group *g = &p->groups[i];
        const struct ray_group *spec = &w->groups[i];
        if (spec->suspended || w->cluster.suspend)
            continue;
        CHECK(g->target >= spec->min && (g->target <= spec->max || g->target <= g->before));
        CHECK(g->launch >= 0 && g->throttled >= 0 && p->memory[i].target == g->target);
    }
    for (uint32_t i = 0; i < p->drain_count; i++)
        CHECK(p->drains[i].node_id.len == RAY_NODE_ID && (p->drains[i].deadline_ms != 0) == p->drains[i].preempt);
    CHECK(p->line_count > 0 && p->line_count <= LIMIT_SCALE_LINES);
}

static void swap(void *list, size_t size, uint64_t a, uint64_t b)
{
    char *x = (char *)list + size * a, *y = (char *)list + size * b;
    for (size_t i = 0; i < size; i++) {
        char c = x[i];
        x[i] = y[i];
        y[i] = c;
    }
}

static void shuffle(struct rng *r, void *list, size_t count, size_t size)
{
    for (size_t i = count; i > 1; i--)
        swap(list, size, i - 1, rng_below(r, i));
}

static void decide_text(struct scale_world *w, struct buf *out)
{
    struct scale_plan p;
    struct scale_seen *seen = arena_array(&w->a, w->pod_count, sizeof *seen);
    for (uint32_t i = 0; i < w->pod_count; i++)
        seen[i] = w->seen[w->list[i] - w->pods];
    w->view.seen = seen;
    scale_cluster(&w->view, &w->a, &p);
    check_plan(w, &p);
    put_plan(w, &p, out);
}

static void run_case(struct slice text)
{
    static struct scale_world w;
    scale_read(&w, &text);
    struct buf out, other;
    buf_init(&out, MIB);
    buf_init(&other, MIB);
    decide_text(&w, &out);
    CHECK_SLICE(slice_trim(buf_slice(&out)), slice_trim(text));
    struct rng r;
    rng_seed(&r, 1);
    for (int i = 0; i < 5; i++) {
        shuffle(&r, w.list, w.pod_count, sizeof w.list[0]);
        shuffle(&r, w.nodes, w.state.node_count, sizeof w.nodes[0]);
        shuffle(&r, w.demands, w.state.demands.count, sizeof w.demands[0]);
        shuffle(&r, w.asked, w.constraint.count, sizeof w.asked[0]);
        shuffle(&r, w.gangs, w.state.gang_count, sizeof w.gangs[0]);
        buf_clear(&other);
        decide_text(&w, &other);
        CHECK_SLICE(buf_slice(&other), buf_slice(&out));
    }
    buf_free(&out);
    buf_free(&other);
    arena_free(&w.a);
}

/* At the limit and one past it. */
static void test_lines(void)
{
    for (uint32_t n = LIMIT_SCALE_LINES - 1; n <= LIMIT_SCALE_LINES + 1; n++) {
        test_case("%u lines", n);
        static struct scale_world w;
        scale_begin(&w);
        w.view.pod_count = w.pod_count;
        struct ray_demand *list = arena_array(&w.a, n, sizeof *list);
        for (uint32_t i = 0; i < n; i++)
            list[i] = (struct ray_demand){.request.bundle = scale_bundle(&w, arena_printf(&w.a, "r%u:1", i)), .count = 1};
        w.state.demands = (struct ray_demands){list, n};
        struct scale_plan p;
        scale_cluster(&w.view, &w.a, &p);
        CHECK_INT(p.unmet_count, n);
        CHECK_INT(p.line_count, n < LIMIT_SCALE_LINES ? n : LIMIT_SCALE_LINES);
        CHECK(slice_starts(p.lines[p.line_count - 1], n < LIMIT_SCALE_LINES ? SLICE("1 x") : SLICE("and ")));
        arena_free(&w.a);
    }
}

/* Each at its limit and one past it: what is beyond is told, and the rest decided. */
static void test_limits(void)
{
    static struct scale_world w;
    struct scale_plan p;
    for (uint32_t n = LIMIT_SCALE_WANTS; n <= LIMIT_SCALE_WANTS + 1; n++) {
        test_case("%u demands", n);
        scale_begin(&w);
        w.view.pod_count = w.pod_count;
        struct ray_demand *list = arena_array(&w.a, n, sizeof *list);
        struct ray_bundle one = scale_bundle(&w, SLICE("CPU:1"));
        for (uint32_t i = 0; i < n; i++)
            list[i] = (struct ray_demand){.request.bundle = one, .count = 1};
        w.state.demands = (struct ray_demands){list, n};
        scale_cluster(&w.view, &w.a, &p);
        CHECK_INT(p.unmet_count, n - LIMIT_SCALE_WANTS + 1);
        CHECK_INT(p.unmet[p.unmet_count - 1].count, LIMIT_SCALE_WANTS);
        arena_free(&w.a);
    }
    for (uint32_t n = LIMIT_SCALE_CONSTRAINTS; n <= LIMIT_SCALE_CONSTRAINTS + 1; n++) {
        test_case("%u request_resources()", n);
        scale_begin(&w);
        w.view.pod_count = w.pod_count;
        struct ray_demands *list = arena_array(&w.a, n, sizeof *list);
        struct ray_demand one = {.request.bundle = scale_bundle(&w, SLICE("CPU:1")), .count = 1};
        for (uint32_t i = 0; i < n; i++)
            list[i] = (struct ray_demands){&one, 1};
        w.state.constraints = list;
        w.state.constraint_count = n;
        scale_cluster(&w.view, &w.a, &p);
        CHECK_INT(p.unmet_count, n);
        CHECK_INT(p.unmet[0].why == SCALE_MALFORMED, n > LIMIT_SCALE_CONSTRAINTS);
        arena_free(&w.a);
    }
}

static void test_names(void)
{
    test_case("names of a bundle, as many as are told and one more");
    struct arena a = {0};
    struct ray_amount list[LIMIT_SCALE_NAMES + 1];
    for (int i = 0; i <= LIMIT_SCALE_NAMES; i++)
        list[i] = (struct ray_amount){SLICE("x"), RAY_QUANTUM};
    struct ray_bundle b = {list, LIMIT_SCALE_NAMES};
    CHECK(!memmem(scale_bundle_text(&b, &a).ptr, scale_bundle_text(&b, &a).len, "more", 4));
    b.count++;
    CHECK(slice_ends(scale_bundle_text(&b, &a), SLICE(" and 1 more}")));
    list[0] = (struct ray_amount){SLICE("a\nb\xff\x1b"), RAY_QUANTUM / 4};
    list[1] = (struct ray_amount){SLICE("memory"), INT64_C(2147483648) * RAY_QUANTUM};
    b.count = 2;
    CHECK_STR(scale_bundle_text(&b, &a), "{a?b??: 0.25, memory: 2Gi}");
    arena_free(&a);
}

/* What a decision says of demand that is not met, and of idle nodes of which none goes. */
static void check_words(void)
{
    static const struct {
        const char *what, *scene, *line;
    } cases[] = {
        {"a group at its maximum is named", "group small CPU:2 max=2\ngroup big CPU:1 max=0\ndemand 9 CPU:2\n",
         "7 x {CPU: 2} wait for a free node: group small is at maxReplicas 2"},
        {"the cluster is at its own", "group small CPU:1 max=9\ncluster workers=2\ndemand 3 CPU:1\n",
         "1 x {CPU: 1} waits for a free node: the cluster is at maxWorkers 2"},
        {"no group has such a thing at all", "group small CPU:2 max=2\ndemand 1 GPU:1\n", "1 x {GPU: 1}: no worker group offers GPU"},
        {"no group has enough of it", "group small CPU:2 max=2\ndemand 1 CPU:3\n",
         "1 x {CPU: 3}: no worker group's pods are large enough for it, or have the labels that it asks for"},
        {"idle, and at the minimum", "group small CPU:2 min=1 max=2\npod small idle=90\n",
         "group small: 1 of 1 nodes is idle (none goes: the group is at its minimum of 1)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        static struct scale_world w;
        struct scale_plan p;
        struct slice text = slice_of(cases[i].scene);
        test_case("words: %s", cases[i].what);
        scale_read(&w, &text);
        scale_cluster(&w.view, &w.a, &p);
        bool said = false;
        for (uint32_t k = 0; k < p.line_count; k++)
            said |= slice_eq(p.lines[k], slice_of(cases[i].line));
        if (!CHECK(said))
            for (uint32_t k = 0; k < p.line_count; k++)
                printf("  %.*s\n", SLICE_ARG(p.lines[k]));
        arena_free(&w.a);
    }
}

int main(void)
{
    check_words();
    test_lines();
    test_names();
    test_limits();
    run_cases("tests/data/scale/scale.case", run_case);
    return test_done();
}
