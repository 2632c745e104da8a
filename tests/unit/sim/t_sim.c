/* The simulator itself: a seed is its whole history, its invariants can be broken, and a plan can be cut down to what breaks one. And some
 * seeds with every access checked, which the runs of many seeds are too fast for. */
#include "tests/model/sim/sim.h"

#include "../test.h"

enum { SEEDS = 8 };

static void test_seeds(void)
{
    struct sim_result *r = mem_alloc(sizeof *r);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        test_case("seed %" PRIu64, seed);
        sim_seed(seed, false, NULL, r);
        CHECK_STR(slice_of(r->which), "");
        CHECK_STR(slice_of(r->violation), "");
        CHECK(r->requests > 50);
    }
    mem_free(r);
}

/* Seeds whose connections have TLS, 1.3 and 1.2. A 1.2 session has no KeyUpdate. */
static void test_tls(void)
{
    static const uint64_t seeds[] = {9, 217};
    struct sim_result *r = mem_alloc(sizeof *r);
    for (size_t i = 0; i < COUNT_OF(seeds); i++) {
        test_case("seed %" PRIu64 " has TLS", seeds[i]);
        sim_seed(seeds[i], false, NULL, r);
        CHECK_STR(slice_of(r->which), "");
        CHECK_STR(slice_of(r->violation), "");
        CHECK(r->sessions > 10 && r->torn > 0);
        CHECK((r->updates > 0) == (i == 0));
    }
    mem_free(r);
}

static void test_replay(void)
{
    struct sim_result *r = mem_alloc(sizeof *r);
    test_case("the same seed has the same history, byte for byte");
    sim_seed(12, true, NULL, r);
    uint64_t first = r->history;
    CHECK(first != 0);
    sim_seed(12, true, NULL, r);
    CHECK(r->history == first);
    test_case("another seed has another one");
    sim_seed(13, true, NULL, r);
    CHECK(r->history != first);
    mem_free(r);
}

/* Somebody makes a second head, which no operator would. */
static void test_violation(void)
{
    struct sim_result *r = mem_alloc(sizeof *r);
    struct sim_plan *p = mem_alloc(sizeof *p);
    test_case("an invariant that is broken is named, and the plan cut down to what broke it");
    sim_plan_make(p, 7);
    uint32_t before = p->count;
    p->entries[before / 2].kind = MOVE_SECOND_HEAD;
    sim_both(p, false, NULL, r);
    CHECK_STR(slice_of(r->which), "one live head");
    sim_minimise(p, r->which, NULL);
    CHECK(p->count < before / 2);
    bool there = false;
    for (uint32_t i = 0; i < p->count; i++)
        there |= p->entries[i].kind == MOVE_SECOND_HEAD;
    CHECK(there);
    sim_both(p, false, NULL, r);
    CHECK_STR(slice_of(r->which), "one live head");
    mem_free(p);
    mem_free(r);
}

int main(void)
{
    log_global.fd = -1;
    test_seeds();
    test_tls();
    test_replay();
    test_violation();
    return test_done();
}
