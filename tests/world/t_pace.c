/* An API server with a few cores that other users share: requests in flight, refused requests, and the order in which clusters come up. */
#include "scene.h"

#include <mobula/inspect.h>

enum { SEEDS = 4, CLUSTERS = 80, WORKERS = 3, PODS = WORKERS + 1, LARGE = 2000, HALF_MOST = 16 };

/* Counts the POSTs of pods of clusters called c0, c1 … and of any other. */
struct seen {
    struct world_hooks hooks; /* first */
    uint32_t pods[CLUSTERS], begun, whole, half, others, statuses;
    uint32_t first_at[CLUSTERS]; /* POSTs of others' pods before the cluster's first one */
};

static bool is_pod(const struct world_request *q)
{
    return slice_eq(q->method, SLICE("POST")) && slice_starts(q->target, slice_of(pods_path));
}

static void on_arrived(struct world_hooks *h, struct world_request *q)
{
    struct seen *s = (struct seen *)h;
    static const char label[] = "\"ray.io/cluster\":\"c";
    s->statuses += slice_eq(q->method, SLICE("PATCH")) && slice_has(q->target, "/status?");
    if (!is_pod(q))
        return;
    const char *at = memmem(q->body.ptr, q->body.len, label, strlen(label));
    uint32_t i = at ? (uint32_t)strtoul(at + strlen(label), NULL, 10) : CLUSTERS;
    if (i >= CLUSTERS) {
        s->others++;
        return;
    }
    if (s->pods[i]++ == 0) {
        s->begun++;
        s->first_at[i] = s->others;
    }
    s->whole += s->pods[i] == PODS;
    s->half = s->begun - s->whole > s->half ? s->begun - s->whole : s->half;
}

static uint32_t window_of(struct world *w)
{
    static const char name[] = "\nmobula_kube_window ";
    struct buf b;
    buf_init(&b, 64 * KIB);
    inspect_metrics(w->op, &b);
    buf_putc(&b, '\0');
    const char *at = strstr(b.ptr, name);
    uint32_t window = at ? (uint32_t)strtoul(at + strlen(name), NULL, 10) : 0;
    buf_free(&b);
    return window;
}

static void make(struct world *w, struct seen *s, uint64_t seed)
{
    make_world(w, false);
    world_run(w, 5000);
    rng_seed(&w->rng, seed);
    *s = (struct seen){.hooks = {.arrived = on_arrived}};
    w->hooks = &s->hooks;
}

static void apply_number(struct world *w, int i, int workers)
{
    apply(w, arena_printf(&w->arena, "c%d", i).ptr, workers);
}

static void run_until_pods(struct world *w, uint32_t posts, int64_t most_ms)
{
    int64_t until = w->now.mono_ms + most_ms;
    while (w->sent.pod_posts < posts && w->now.mono_ms < until)
        world_run(w, 100);
    CHECK_INT(w->sent.pod_posts, posts);
}

static void test_whole(void)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world w;
        struct seen s;
        test_case("two cores and other users, seed %llu: clusters come up one after another, and nobody else is refused", (long long)seed);
        make(&w, &s, seed);
        w.costs = (struct world_costs){.cores = 2, .others_ms = 20, .patience_ms = 300};
        for (int i = 0; i < CLUSTERS; i++)
            apply_number(&w, i, WORKERS);
        run_until_pods(&w, CLUSTERS * PODS, 60 * 1000);
        CHECK(window_of(&w) >= KUBE_WINDOW_PROBE && window_of(&w) <= 24);
        CHECK_INT(w.costs.refused, 0);
        CHECK_INT(w.costs.others_refused, 0);
        CHECK(w.costs.others_longest_ms < 250);
        world_run(&w, 60 * 1000);
        CHECK_INT(w.sent.pod_posts, CLUSTERS * PODS);
        test_case("a cluster that comes up without trouble has two statuses at most, seed %llu", (long long)seed);
        CHECK(s.statuses >= CLUSTERS && s.statuses <= 2 * CLUSTERS);
        CHECK(is_ready(&w, "c0") && is_ready(&w, "c79"));
        world_free(&w);
    }
}

static void test_distance(void)
{
    struct world w;
    struct seen s;
    test_case("a large API server 200 ms away: the window opens");
    make(&w, &s, 1);
    w.costs = (struct world_costs){.cores = WORLD_CORES, .more_ms = 200};
    apply(&w, "large", LARGE - 1);
    run_until_pods(&w, LARGE, 60 * 1000);
    CHECK_INT(window_of(&w), KUBE_WINDOW_MAX);
    test_case("an API server that answers each call after 3 s: all the same");
    w.costs.more_ms = 3000;
    apply_number(&w, 0, LARGE - 1);
    run_until_pods(&w, 2 * LARGE, 10 * 60 * 1000);
    CHECK(window_of(&w) >= KUBE_WINDOW_START);
    world_free(&w);
}

/* Pods of a large cluster that are sent before the head of a small one that was created later. */
static void test_head(void)
{
    struct world w;
    struct seen s;
    test_case("a large cluster is under way: the head of a small one does not wait longer than for a window");
    make(&w, &s, 1);
    w.costs = (struct world_costs){.cores = 2};
    apply(&w, "large", LARGE);
    world_run(&w, 3000);
    uint32_t before = s.others;
    apply_number(&w, 0, WORKERS);
    world_run(&w, 2000);
    CHECK_INT(s.pods[0], PODS);
    CHECK(s.first_at[0] - before <= KUBE_WINDOW_MAX / 2);
    test_case("nor that of another large one");
    before = s.others;
    apply_number(&w, 1, LARGE);
    world_run(&w, 2000);
    CHECK(s.pods[1] > 1 && s.first_at[1] - before <= KUBE_WINDOW_MAX / 2);
    test_case("and both go on");
    world_run(&w, 3000);
    CHECK(s.pods[1] > 100);
    CHECK(s.others > before + 100);
    world_free(&w);
}

static void test_starved(void)
{
    struct world w;
    struct seen s;
    test_case("small clusters keep coming, more than the server takes: a large one is not starved");
    make(&w, &s, 1);
    w.costs = (struct world_costs){.cores = 1};
    apply(&w, "large", LARGE);
    world_run(&w, 2000);
    uint32_t before = s.others;
    for (int i = 0; i < CLUSTERS; i++) {
        apply_number(&w, i, WORKERS);
        world_run(&w, 50);
    }
    CHECK(s.whole < CLUSTERS);
    CHECK(s.others > before + CLUSTERS / 2);
    CHECK(s.half <= HALF_MOST);
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_whole();
    test_distance();
    test_head();
    test_starved();
    return test_done();
}
