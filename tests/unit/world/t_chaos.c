/* Everything at once, at random: users, evictions, lost answers, cut connections, crashes of the operator. Whatever the order, there is
 * never more than one head, and when the dust settles the cluster is what its spec says, and nothing is written any more. A failing seed
 * fails again: pass it as the argument. */
#include "scene.h"

enum { SEEDS = 24, MOVES = 60, WORKERS_MAX = 12 };

struct chaos {
    struct world w;
    struct rng rng;
    int workers, hosts; /* replicas, and pods of each */
    bool elect;
};

static uint32_t below(struct chaos *c, uint32_t n)
{
    return (uint32_t)rng_below(&c->rng, n);
}

static void create(struct chaos *c)
{
    struct world *w = &c->w;
    apply(w, "c", c->workers);
    struct slice path = arena_printf(&w->arena, "%s/c", v1);
    struct slice patch =
        arena_printf(&w->arena, "[{\"op\":\"add\",\"path\":\"/spec/workerGroupSpecs/0/numOfHosts\",\"value\":%d}]", c->hosts);
    if (c->hosts > 1)
        CHECK_INT(world_call(w, "PATCH", path.ptr, "application/json-patch+json", patch), 200);
}

static void pick_pod(struct chaos *c, bool fail)
{
    struct slice names[64];
    struct world *w = &c->w;
    uint32_t count = pod_names(w, below(c, 4) ? "worker" : "head", names, COUNT_OF(names));
    if (count == 0)
        return;
    struct slice path = arena_printf(&w->arena, "%s/%.*s%s", pods_path, SLICE_ARG(names[below(c, count)]), fail ? "/status" : "");
    if (fail)
        world_call(w, "PATCH", path.ptr, "application/merge-patch+json", SLICE("{\"status\":{\"phase\":\"Failed\",\"conditions\":[]}}"));
    else
        world_call(w, "DELETE", path.ptr, "application/json", SLICE("{}"));
}

static void spoil_answers(struct chaos *c)
{
    static const struct {
        const char *method, *path;
        int status;
        const char *reason;
    } list[] = {
        {"POST", pods_path, 0, ""},
        {"POST", pods_path, 500, "InternalError"},
        {"POST", pods_path, 403, "Forbidden"},
        {"POST", pods_path, 409, "Conflict"},
        {"POST", pods_path, 429, "TooManyRequests"},
        {"DELETE", pods_path, 0, ""},
        {"DELETE", pods_path, 503, "ServiceUnavailable"},
        {"PATCH", "/api/v1/namespaces/n/services", 0, ""},
        {"PATCH", "/api/v1/namespaces/n/services", 500, "InternalError"},
        {"PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c/status", 0, ""},
        {"PATCH", "/apis/ray.io/v1/namespaces/n/rayclusters/c/status", 409, "Conflict"},
    };
    uint32_t i = below(c, COUNT_OF(list));
    override(&c->w, list[i].method, list[i].path, list[i].status, list[i].status == 0 && below(c, 2), 1 + below(c, 4));
    apiserver_faults(c->w.server)->next.reason = list[i].reason;
}

static void move(struct chaos *c)
{
    struct world *w = &c->w;
    switch (below(c, 12)) {
    case 0:
    case 1:
        c->workers = (int)below(c, WORKERS_MAX);
        scale(w, "c", c->workers);
        break;
    case 2:
        pick_pod(c, false);
        break;
    case 3:
        pick_pod(c, true);
        break;
    case 4:
        annotate(w, "rayclusters", "c", (int)below(c, 1000));
        break;
    case 5:
        apiserver_drop_watches(w->server, below(c, 2) ? SLICE("pods") : SLICE("rayclusters.ray.io"), below(c, 2));
        break;
    case 6:
        apiserver_compact(w->server, below(c, 2) ? SLICE("pods") : SLICE("services"));
        break;
    case 7:
        world_cut_all(w);
        break;
    case 8:
        world_kill_operator(w);
        world_run(w, below(c, 300));
        world_start_operator(w, c->elect);
        break;
    case 9:
        world_call(w, "DELETE", "/apis/ray.io/v1/namespaces/n/rayclusters/c", "application/json", SLICE("{}"));
        create(c);
        break;
    case 10:
        world_call(w, "DELETE", "/api/v1/namespaces/n/services/c-head-svc", "application/json", SLICE("{}"));
        break;
    default:
        spoil_answers(c);
        break;
    }
    apiserver_faults(w->server)->watch_delay_ms = below(c, 3) ? 0 : below(c, 400);
}

/* Heads that run or may: those that are neither ended nor going. */
static uint32_t live_heads(struct world *w)
{
    struct slice list, path = arena_printf(&w->arena, "%s?labelSelector=ray.io%%2Fnode-type%%3Dhead", pods_path);
    world_ask(w, "GET", path.ptr, "application/json", SLICE_NONE, &list);
    struct json doc;
    struct err e = {0};
    uint32_t live = 0;
    if (!json_parse(&doc, list, &w->arena, &e))
        return 0;
    struct jval k, pod;
    for (struct jiter it = json_iter(json_get(json_root(&doc), "items")); json_next(&it, &k, &pod);)
        live += !json_there(json_get(pod, "metadata.deletionTimestamp")) && !json_str_eq(json_get(pod, "status.phase"), SLICE("Failed"));
    return live;
}

static void run_seed(uint64_t seed)
{
    struct chaos *c = mem_alloc(sizeof *c);
    rng_seed(&c->rng, seed);
    c->elect = seed % 3 == 0;
    c->workers = 3;
    c->hosts = seed % 2 ? 1 : 3;
    test_case("seed %" PRIu64, seed);
    make_world(&c->w, c->elect);
    create(c);
    for (int i = 0; i < MOVES; i++) {
        world_run(&c->w, below(c, 4) ? below(c, 40) : below(c, 3000));
        move(c);
        if (live_heads(&c->w) > 1)
            CHECK(live_heads(&c->w) <= 1);
    }
    apiserver_faults(c->w.server)->next.times = 0;
    apiserver_faults(c->w.server)->watch_delay_ms = 0;
    world_run(&c->w, 8 * 60 * 1000); /* longer than any backoff */
    CHECK_INT(apiserver_count(c->w.server, SLICE("pods")), c->workers * c->hosts + 1);
    CHECK_INT(apiserver_count(c->w.server, SLICE("services")), c->hosts > 1 ? 3 : 2);
    CHECK(is_ready(&c->w, "c"));
    uint32_t writes = world_writes(&c->w);
    world_run(&c->w, 10 * 60 * 1000);
    CHECK(world_writes(&c->w) - writes <= 1); /* a failure is forgotten */
    world_free(&c->w);
    mem_free(c);
}

int main(int argc, char **argv)
{
    log_global.fd = -1;
    int64_t seed;
    if (argc > 1 && slice_int(slice_of(argv[1]), &seed))
        run_seed((uint64_t)seed);
    else
        for (uint64_t i = 1; i <= SEEDS; i++)
            run_seed(i);
    return test_done();
}
