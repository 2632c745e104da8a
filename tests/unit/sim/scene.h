/* A simulator in which nothing runs, and what it is shown. */
#ifndef TEST_SIM_SCENE_H
#define TEST_SIM_SCENE_H

#include "tests/model/sim/jobs.h"

#include "../test.h"

/* Each program uses some of these. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

#define OWNER "00000000-0000-4000-8000-000000000001"
#define OTHER "00000000-0000-4000-8000-000000000002"
#define POD_A "00000000-0000-4000-8000-00000000000a"
#define POD_B "00000000-0000-4000-8000-00000000000b"

struct scene {
    struct sim *s;
    struct sim_plan *plan;
    struct sim_options o;
    struct sim_result *r;
};

static struct scene begin(const char *what, bool elect)
{
    struct scene t = {mem_alloc(sizeof *t.s), mem_alloc(sizeof *t.plan), {0}, mem_alloc(sizeof *t.r)};
    struct apiserver_config config = {.seed = 1};
    test_case("%s", what);
    t.plan->setup.elect = elect;
    t.s->plan = t.plan;
    t.s->r = t.r;
    world_init(&t.s->w, &config);
    fakerays_begin(&t.s->w, false);
    t.s->tampered_ms = INT64_MIN / 2;
    check_begin(t.s);
    for (uint32_t i = 0; i < WORLD_PROCESSES; i++)
        check_started(t.s, i);
    t.s->want[0] = (struct want){.kind = RAY_V1, .ns = "n", .name = "c", .there = true, .groups = 1, .uid = OWNER, .most = {1}};
    return t;
}

static struct scene begin_jobs(const char *what)
{
    struct scene t = begin(what, true);
    t.s->o = &t.o;
    t.s->jobs = mem_alloc(sizeof *t.s->jobs);
    return t;
}

/* The invariant that is broken now; "": none. */
static void expect(const struct scene *t, const char *which)
{
    CHECK_STR(slice_of(t->r->which), which);
}

static void end(struct scene *t)
{
    check_end(t->s);
    world_free(&t->s->w);
    arena_free(&t->s->arena);
    mem_free(t->s);
    mem_free(t->plan);
    mem_free(t->r);
}

/* ---- what is shown ---- */

static void change(struct scene *t, unsigned what, const char *plural, const char *name, const char *uid, const char *json)
{
    static uint64_t rv;
    struct apiserver_change c = {.group = strncmp(plural, "ray", 3) == 0 ? SLICE("ray.io") : SLICE(""),
                                 .plural = slice_of(plural),
                                 .ns = SLICE("n"),
                                 .name = slice_of(name),
                                 .uid = slice_of(uid),
                                 .json = slice_of(json),
                                 .rv = ++rv};
    c.what = what;
    t->s->o = &t->o;
    check_change(t->s, &c);
}

static struct world_request request(struct scene *t, const char *method, const char *target, const char *body)
{
    t->s->o = &t->o;
    return (struct world_request){.world = &t->s->w,
                                  .from = &t->s->w.process[0],
                                  .began_ms = t->s->w.now.mono_ms,
                                  .method = slice_of(method),
                                  .target = slice_of(target),
                                  .body = slice_of(body)};
}

static void send(struct scene *t, const char *method, const char *target, const char *body)
{
    struct world_request q = request(t, method, target, body);
    check_request_began(t->s, &q);
    check_request(t->s, &q);
}

#define PODS "/api/v1/namespaces/n/pods"
#define WITH_UID(uid) "{\"preconditions\":{\"uid\":\"" uid "\"}}"

#pragma GCC diagnostic pop
#endif
