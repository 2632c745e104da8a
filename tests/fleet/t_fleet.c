/* An operator and two control planes together, for many seeds: people make, end and delete workloads, while connections break with what
 * they carry, answers come late, and processes die. No work is done twice, what is over stays so, and in the end all is as it was asked
 * for. */
#include "fleet.h"
#include "objects.h"

#include "tests/world/jobs.h"
#include "tests/world/maps.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORKLOADS = 12, MOVES_MS = 60 * 1000, SETTLE_MS = 240 * 1000, LOOK_MS = 100 };

/* What a user has done with a workload, and what was seen of it. */
struct item {
    char name[16], uid[64], job[64], state[24];
    bool made, ended, deleted;
    uint32_t jobs; /* RayJobs that were seen */
    uint64_t seen; /* hash of the workload and its RayJob at the last look */
};

struct run {
    struct world w;
    struct fleet f;
    struct rng rng;
    struct item item[WORKLOADS];
    uint32_t items, kills, starts, stops;
    bool stopping;                 /* the operator was told to end, and goes on until it says so */
    char holder[64], session[512]; /* as the cloud's status has said last, and ... */
    int64_t renewed_ms;            /* ... since when it says so */
    int64_t stop_ms;
    int64_t back_ms[FLEET_HUBS + 1]; /* when a process that was killed is started again; 0: it runs. The last: the operator */
    uint64_t seed;
};

static const char workloads_path[] = "/apis/mobula.dev/v1/namespaces/n/workloads";

static struct slice text_of(struct run *r, const char *resource, const char *name, const char *path)
{
    struct arena *a = &r->w.arena;
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    struct slice all = apiserver_get(r->w.server, slice_of(resource), SLICE("n"), slice_of(name), a);
    return all.ptr && json_parse(doc, all, a, &e) ? json_get_str(json_root(doc), path, a) : SLICE_NONE;
}

/* Whether the workload or its RayJob is another one than at the last look: what has not changed is not parsed again. */
static bool has_changed(struct run *r, struct item *t)
{
    struct slice job = apiserver_get(r->w.server, SLICE("rayjobs.ray.io"), SLICE("n"), slice_of(t->name), &r->w.arena);
    struct slice work = apiserver_get(r->w.server, SLICE("workloads.mobula.dev"), SLICE("n"), slice_of(t->name), &r->w.arena);
    uint64_t before = t->seen;
    t->seen = hash64(work, hash64(job, 1));
    return t->seen != before;
}

static bool is_over(struct slice state)
{
    return slice_eq(state, SLICE("SUCCEEDED")) || slice_eq(state, SLICE("FAILED")) || slice_eq(state, SLICE("TERMINATED"));
}

/* ---- users ---- */

static void make_workload(struct run *r)
{
    struct item *t = &r->item[r->items++];
    snprintf(t->name, sizeof t->name, "w%u", r->items);
    struct slice spec =
        arena_printf(&r->w.arena, "{\"cloud\":\"edge\",\"image\":\"ray:1\",\"job\":{\"entrypoint\":\"python %s.py\"}}", t->name);
    create_hub_object(&r->w, "Workload", "workloads", t->name, spec.ptr);
    t->made = true;
    slice_copy(text_of(r, "workloads.mobula.dev", t->name, "metadata.uid"), t->uid, sizeof t->uid);
}

static const char *path_of_item(struct run *r, const struct item *t)
{
    return arena_printf(&r->w.arena, "%s/%s", workloads_path, t->name).ptr;
}

static void end_workload(struct run *r, struct item *t)
{
    if (t->deleted)
        return;
    t->ended = true;
    CHECK_INT(world_call(&r->w, "PATCH", path_of_item(r, t), "application/merge-patch+json", SLICE("{\"spec\":{\"terminate\":true}}")),
              200);
}

static void delete_workload(struct run *r, struct item *t)
{
    if (t->deleted)
        return;
    t->deleted = true;
    CHECK_INT(world_call(&r->w, "DELETE", path_of_item(r, t), "application/json", SLICE_NONE), 200);
}

/* ---- what goes wrong ---- */

static void start_operator(struct run *r)
{
    snprintf(r->f.instance, sizeof r->f.instance, "op-%u", ++r->starts);
    world_start_operator(&r->w, false);
}

static void kill_process(struct run *r, uint32_t which)
{
    if (r->back_ms[which] || (which == FLEET_HUBS && r->stopping))
        return;
    if (which == FLEET_HUBS && rng_below(&r->rng, 2)) {
        r->stopping = true;
        r->stop_ms = r->w.now.mono_ms + 2000; /* as long as mobula operator waits for it */
        return;
    }
    r->kills++;
    r->back_ms[which] = r->w.now.mono_ms + 200 + (int64_t)rng_below(&r->rng, 8000);
    if (which == FLEET_HUBS)
        world_kill_operator(&r->w);
    else
        fleet_hub_kill(&r->f, which);
}

/* After each turn, as cli_daemon_run does. */
static void stop_operator(struct run *r)
{
    if (!r->stopping || (!operator_stop(r->w.op, r->w.now) && r->w.now.mono_ms < r->stop_ms))
        return;
    r->stopping = false;
    r->stops++;
    r->back_ms[FLEET_HUBS] = r->w.now.mono_ms + 1 + (int64_t)rng_below(&r->rng, 3000);
    world_kill_operator(&r->w);
}

static void start_processes(struct run *r, bool all)
{
    for (uint32_t i = 0; i <= FLEET_HUBS; i++) {
        if (!r->back_ms[i] || (!all && r->w.now.mono_ms < r->back_ms[i]))
            continue;
        r->back_ms[i] = 0;
        if (i == FLEET_HUBS)
            start_operator(r);
        else
            fleet_hub_start(&r->f, i);
    }
}

/* The administrator's hand. */
static void set_policy(struct run *r, bool free)
{
    static const char *const policies[] = {
        "{}", "maxTotalPods: 2", "writesPerMinute: 30", "maxObjects: 3\\nnewPerMinute: 12", "frozen: true", "wrong"};
    put_map(&r->w, "policy", "policy.yaml", free ? policies[0] : policies[rng_below(&r->rng, COUNT_OF(policies))]);
    bool frozen = !free && rng_below(&r->rng, 3) == 0;
    world_call(&r->w, "PATCH", arena_printf(&r->w.arena, "%s/policy", maps_path).ptr, "application/merge-patch+json",
               frozen ? SLICE("{\"metadata\":{\"annotations\":{\"" SETTING_FROZEN "\":\"true\"}}}")
                      : SLICE("{\"metadata\":{\"annotations\":{\"" SETTING_FROZEN "\":null}}}"));
}

static void move(struct run *r)
{
    uint32_t dice = (uint32_t)rng_below(&r->rng, 16);
    struct item *t = r->items ? &r->item[rng_below(&r->rng, r->items)] : NULL;
    if (dice < 4 && r->items < WORKLOADS)
        make_workload(r);
    else if (dice == 4 && t)
        end_workload(r, t);
    else if (dice == 5 && t)
        delete_workload(r, t);
    else if (dice == 6 && t && slice_is(slice_of(t->state), "SUCCEEDED")) /* by hand: it is not run again */
        world_call(&r->w, "DELETE", arena_printf(&r->w.arena, "/apis/ray.io/v1/namespaces/n/rayjobs/%s", t->name).ptr, "application/json",
                   SLICE_NONE);
    else if (dice < 9)
        bridges_break(&r->f.bridges, 128);
    else if (dice < 11)
        kill_process(r, (uint32_t)rng_below(&r->rng, FLEET_HUBS + 1));
    else if (dice == 11)
        world_break(&r->w, 64, rng_below(&r->rng, 2) == 0);
    else if (dice == 12)
        r->f.bridges.delay_ms = (int64_t)rng_below(&r->rng, 3000);
    else if (dice == 13)
        r->f.bridges.delay_ms = 0;
    else if (dice == 14)
        set_policy(r, false);
    else if (rng_below(&r->rng, 2)) /* the operator's clock, which is not the control plane's */
        r->w.process[0].skew_us = ((int64_t)rng_below(&r->rng, 2 * 86400) - 86400) * 1000000;
    else
        r->f.hub[rng_below(&r->rng, FLEET_HUBS)].process.skew_us = ((int64_t)rng_below(&r->rng, 2 * 86400) - 86400) * 1000000;
}

/* ---- what must be ---- */

static struct slice session_of(struct run *r)
{
    struct arena *a = &r->w.arena;
    struct jval doc;
    struct slice all = apiserver_get(r->w.server, SLICE("clouds.mobula.dev"), SLICE("n"), SLICE("edge"), a);
    return all.ptr && json_read(&doc, all, a, NULL) && json_there(json_get(doc, "status.session"))
               ? json_raw(json_get(doc, "status.session"))
               : SLICE("");
}

/* Nobody takes a cloud whose holder may still write: it has ended as it should and given it back, or has not called for a minute. */
static void look_holder(struct run *r)
{
    struct slice holder = text_of(r, "clouds.mobula.dev", "edge", "status.session.instance");
    struct slice session = session_of(r);
    bool taken = !slice_empty(holder) && r->holder[0] && !slice_eq(holder, slice_of(r->holder));
    if (taken && !CHECK(r->w.now.mono_ms + 2 * LOOK_MS >= r->renewed_ms + HUB_SESSION_MS))
        printf("  seed %llu: %.*s took the cloud from %s\n", (unsigned long long)r->seed, SLICE_ARG(holder), r->holder);
    bool back = slice_empty(holder) && r->holder[0];
    if (back && r->w.op && !CHECK(r->stopping || !slice_is(slice_of(r->f.instance), r->holder)))
        printf("  seed %llu: %s gave the cloud back, and runs\n", (unsigned long long)r->seed, r->holder);
    slice_copy(holder, r->holder, sizeof r->holder);
    if (!slice_eq(session, slice_of(r->session)))
        r->renewed_ms = r->w.now.mono_ms;
    CHECK(slice_copy(session, r->session, sizeof r->session));
}

static void look(struct run *r)
{
    look_holder(r);
    for (uint32_t i = 0; i < r->items; i++) {
        struct item *t = &r->item[i];
        if (!has_changed(r, t))
            continue;
        struct slice job = text_of(r, "rayjobs.ray.io", t->name, "metadata.uid");
        struct slice state = text_of(r, "workloads.mobula.dev", t->name, "status.state");
        if (!slice_empty(job) && !slice_eq(job, slice_of(t->job))) {
            slice_copy(job, t->job, sizeof t->job);
            t->jobs++;
            if (!CHECK(t->jobs == 1))
                printf("  seed %llu: %s was made a RayJob %u times\n", (unsigned long long)r->seed, t->name, t->jobs);
        }
        bool changed = !slice_empty(state) && !slice_eq(state, slice_of(t->state));
        if (is_over(slice_of(t->state)) && changed && !t->deleted && !CHECK(false))
            printf("  seed %llu: %s was %s and is %.*s\n", (unsigned long long)r->seed, t->name, t->state, SLICE_ARG(state));
        slice_copy(state, t->state, sizeof t->state);
    }
}

static bool item_settled(struct run *r, const struct item *t)
{
    return t->deleted ? slice_empty(text_of(r, "workloads.mobula.dev", t->name, "metadata.uid")) &&
                            slice_empty(text_of(r, "rayjobs.ray.io", t->name, "metadata.uid"))
                      : is_over(slice_of(t->state));
}

static bool settled(struct run *r)
{
    for (uint32_t i = 0; i < r->items; i++)
        if (!item_settled(r, &r->item[i]))
            return false;
    return true;
}

static void run_for(struct run *r, int64_t ms)
{
    int64_t until = r->w.now.mono_ms + ms;
    while (r->w.now.mono_ms < until) {
        int64_t next = r->w.now.mono_ms + LOOK_MS;
        while (r->w.now.mono_ms < next) {
            world_step(&r->w, next);
            stop_operator(r);
        }
        look(r);
    }
}

/* ---- one seed ---- */

static void begin(struct run *r, uint64_t seed)
{
    *r = (struct run){.seed = seed};
    rng_seed(&r->rng, seed);
    make_job_world(&r->w, false);
    world_kill_operator(&r->w);
    board.run_ms = 4000;
    define_hub_kinds(&r->w);
    create_cloud(&r->w, "edge");
    watch_map(&r->w, "policy");
    fleet_begin(&r->f, &r->w, seed);
    hub_deployment_id(text_of(r, "clouds.mobula.dev", "edge", "metadata.uid"), r->f.cloud);
    for (uint32_t i = 0; i < FLEET_HUBS; i++) {
        r->f.hub[i].process.skew_us = (i % 2 ? 1 : -1) * INT64_C(600) * 1000000; /* nothing goes by their clocks */
        fleet_hub_start(&r->f, i);
    }
    start_operator(r);
    run_for(r, 2000);
}

static void end(struct run *r)
{
    for (uint32_t i = 0; i < FLEET_HUBS; i++)
        fleet_hub_kill(&r->f, i);
    end_job_world(&r->w);
    fleet_free(&r->f);
}

static void check_end(struct run *r)
{
    for (uint32_t i = 0; i < r->items; i++) {
        const struct item *t = &r->item[i];
        if (!item_settled(r, t) && !CHECK(false))
            printf("  seed %llu: %s (%s%s) is %s\n", (unsigned long long)r->seed, t->name, t->ended ? "ended " : "",
                   t->deleted ? "deleted" : "", t->state);
        if (!t->ended && !t->deleted)
            CHECK_STR(slice_of(t->state), "SUCCEEDED");
    }
    CHECK(board.taken <= r->items);
}

static void test_seed(uint64_t seed, uint32_t *totals)
{
    static struct run r;
    begin(&r, seed);
    for (int64_t until = r.w.now.mono_ms + MOVES_MS; r.w.now.mono_ms < until;) {
        move(&r);
        start_processes(&r, false);
        run_for(&r, 100 + (int64_t)rng_below(&r.rng, 1500));
    }
    r.f.bridges.delay_ms = 0;
    set_policy(&r, true);
    for (int i = 0; i < 3 && r.stopping; i++)
        run_for(&r, 1000);
    start_processes(&r, true);
    for (int64_t until = r.w.now.mono_ms + SETTLE_MS; r.w.now.mono_ms < until && !settled(&r);)
        run_for(&r, 1000);
    run_for(&r, 5000);
    check_end(&r);
    totals[0] += r.items;
    totals[1] += r.f.bridges.broken;
    totals[2] += r.f.bridges.lost;
    totals[3] += r.kills;
    totals[4] += r.stops;
    end(&r);
}

/* How long the operator that is started now waits for its cloud, in ms. */
static int64_t takeover_ms(struct run *r)
{
    int64_t since = r->w.now.mono_ms;
    start_operator(r);
    while (r->w.now.mono_ms < since + 120 * 1000 && !slice_eq(slice_of(r->f.instance), slice_of(r->holder)))
        run_for(r, LOOK_MS);
    return r->w.now.mono_ms - since;
}

static void test_takeover(void)
{
    static struct run r;
    begin(&r, 1);
    make_workload(&r);
    run_for(&r, 3000);
    test_case("an operator without a Lease that ends in order gives its cloud back: the next one has it at once");
    CHECK_STR(slice_of(r.holder), "op-1");
    r.stopping = true;
    r.stop_ms = r.w.now.mono_ms + 2000;
    for (int64_t since = r.w.now.mono_ms; r.stopping; run_for(&r, 10))
        CHECK(r.w.now.mono_ms < since + 500);
    r.back_ms[FLEET_HUBS] = 0;
    CHECK(takeover_ms(&r) <= 2000);
    test_case("one that was killed may still have writes on their way: its session ends first");
    run_for(&r, 3000);
    world_kill_operator(&r.w);
    int64_t waited = takeover_ms(&r);
    CHECK(waited >= HUB_SESSION_MS - HUB_RENEW_MS - 5000 && waited <= HUB_SESSION_MS + 10 * 1000);
    test_case("without the control plane an operator ends as fast, and nothing is lost");
    for (uint32_t i = 0; i < FLEET_HUBS; i++)
        fleet_hub_kill(&r.f, i);
    run_for(&r, 30 * 1000);
    CHECK(operator_stop(r.w.op, r.w.now) || (run_for(&r, 100), operator_stop(r.w.op, r.w.now)));
    for (uint32_t i = 0; i < FLEET_HUBS; i++)
        fleet_hub_start(&r.f, i);
    world_kill_operator(&r.w);
    CHECK(takeover_ms(&r) <= HUB_SESSION_MS + 10 * 1000);
    run_for(&r, 10 * 1000);
    CHECK_STR(slice_of(r.item[0].state), "SUCCEEDED");
    end(&r);
}

/* How long behind its end an outage of all control planes keeps work from the operator, in ms. */
static int64_t back_in_sync_ms(struct run *r, int64_t outage_ms)
{
    for (uint32_t i = 0; i < FLEET_HUBS; i++)
        fleet_hub_kill(&r->f, i);
    run_for(r, outage_ms);
    for (uint32_t i = 0; i < FLEET_HUBS; i++)
        fleet_hub_start(&r->f, i);
    int64_t since_ms = r->w.now.mono_ms;
    make_workload(r);
    while (r->w.now.mono_ms < since_ms + 300 * 1000 && !r->item[0].jobs)
        run_for(r, LOOK_MS);
    return r->w.now.mono_ms - since_ms;
}

static void test_outage(void)
{
    static const int64_t outages_ms[] = {1000, 20 * 1000, 3 * 60 * 1000, 20 * 60 * 1000};
    enum { SYNC_MS = 30 * 1000, SEEDS = 6 };
    static struct run r;
    for (size_t i = 0; i < COUNT_OF(outages_ms); i++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            test_case("control planes that were away for %lld s: the operator is in sync within 30 s", (long long)outages_ms[i] / 1000);
            begin(&r, seed);
            run_for(&r, (int64_t)rng_below(&r.rng, 30 * 1000));
            int64_t took_ms = back_in_sync_ms(&r, outages_ms[i]);
            if (!CHECK(took_ms <= SYNC_MS))
                printf("  seed %llu: %lld ms\n", (unsigned long long)seed, (long long)took_ms);
            run_for(&r, 60 * 1000);
            CHECK_STR(slice_of(r.item[0].state), "SUCCEEDED");
            end(&r);
        }
}

int main(void)
{
    const char *only = getenv("SEED"), *many = getenv("SEEDS");
    uint64_t first = only ? strtoull(only, NULL, 10) : 1, count = only ? 1 : many ? strtoull(many, NULL, 10) : 20;
    uint32_t totals[5] = {0};
    test_takeover();
    test_outage();
    test_case("workloads of many seeds");
    for (uint64_t seed = first; seed < first + count; seed++)
        test_seed(seed, totals);
    CHECK(only || (totals[0] && totals[1] && totals[2] && totals[3] && totals[4]));
    printf("  %u workloads, %u connections broken with %u pieces on their way, %u processes killed, %u operators ended in order\n",
           totals[0], totals[1], totals[2], totals[3], totals[4]);
    return test_done();
}
