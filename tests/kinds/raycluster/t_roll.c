/* Rolling updates from start to end, for many budgets, in a simulation: pods start and end in any order, new pods may fail, and the
 * operator sees each change at once. Invariants: enough pods are up, not too many exist, and the update completes. */
#include "scene.h"

enum { ROUNDS_MAX = 4000, BROKEN_ROUNDS = 400, BROKEN_HASH = 2 };

struct course {
    int32_t want, surge, unavailable; /* replicas; the budget that follows from the percents */
    int32_t failures;                 /* number of new pods that fail at first */
    bool drains;                      /* workers that run are drained before they are deleted */
    uint32_t drained;
    bool broken; /* the new template's pods stay Pending until the template changes again, after BROKEN_ROUNDS */
    uint32_t made;
    struct rng rng;
};

static bool is_old(const struct pod *p)
{
    return p->hash <= BROKEN_HASH;
}

static int32_t count(const struct scene *s, bool (*is)(const struct pod *p))
{
    int32_t n = 0;
    for (uint32_t i = 1; i < s->pod_count; i++)
        n += is(&s->pods[i]);
    return n;
}

static bool is_up(const struct pod *p)
{
    return p->ready && !p->deleting && !p->ours.drain;
}

static bool holds_node(const struct pod *p)
{
    return p->phase != POD_FAILED;
}

static bool is_failed(const struct pod *p)
{
    return p->phase == POD_FAILED && !p->deleting;
}

static void make_pod(struct scene *s, struct course *c, const struct action *act)
{
    if (!CHECK(s->pod_count < PODS_MAX))
        return;
    struct pod *p = &s->pods[s->pod_count++];
    *p = (struct pod){.group = SLICE("small"), .index = act->index, .hash = s->cluster.groups[0].hash, .created_us = now_us};
    snprintf(p->name, sizeof p->name, "n%u", ++c->made);
    snprintf(p->uid, sizeof p->uid, "n%u", c->made);
}

static void carry_out(struct scene *s, struct course *c, const struct plan *p)
{
    struct group_failures *f = &s->failures[1];
    for (uint32_t k = 0; k < p->count; k++) {
        const struct action *act = &p->actions[k];
        if (act->verb == &raycluster_create_pod)
            make_pod(s, c, act);
        if (act->verb == &raycluster_forget_failures)
            *f = (struct group_failures){0};
        for (uint32_t i = 0; i < s->pod_count; i++) {
            struct pod *pod = &s->pods[i];
            if (!slice_eq(act->uid, slice_of(pod->uid)))
                continue;
            if (act->verb == &raycluster_count_failure) {
                pod->ours.counted = true;
                *f = (struct group_failures){.count = f->count + 1, .ends = f->ends + 1, .ended = true, .reason = "it ended"};
            }
            if (act->verb == &raycluster_drain_pod) {
                CHECK(is_old(pod) && !pod->ours.drain);
                pod->ours.drain = POD_DRAIN_ASKED;
                c->drained++;
            }
            if (act->verb == &pod_delete) {
                CHECK(!c->drains || !pod->ready || count(s, is_old) == 0);   /* one that is ready has not drained */
                CHECK(!f->count || !pod->ready || count(s, is_failed) == 0); /* no ready pod is deleted while a failed one exists */
                pod->deleting = true;
            }
        }
    }
}

/* One random pod changes: it starts to run, becomes ready, fails, or is deleted for good. */
static void go_on(struct scene *s, struct course *c)
{
    if (s->pod_count < 2)
        return;
    uint32_t i = 1 + (uint32_t)(rng_next(&c->rng) % (s->pod_count - 1));
    struct pod *p = &s->pods[i];
    if (p->ours.drain && p->ours.drain < POD_DRAIN_DONE && !p->deleting) {
        p->ours.drain = (p->ours.drain + 1u) & 3u;
        p->ready = false;
    } else if (p->deleting) {
        *p = s->pods[--s->pod_count];
    } else if (p->phase == POD_PENDING) {
        p->phase = p->hash == BROKEN_HASH || (!is_old(p) && c->broken && c->failures == 0) ? POD_PENDING : POD_RUNNING;
    } else if (p->phase == POD_RUNNING && !p->ready && !is_old(p) && c->failures > 0) {
        p->phase = POD_FAILED;
        c->failures--;
    } else if (p->phase == POD_RUNNING && !p->ours.drain) {
        p->ready = true;
        p->run_us = now_us;
    }
}

/* The template changes again, for one whose pods start. The pods of the broken one are old now. */
static void mend(struct scene *s, struct course *c)
{
    c->broken = false;
    for (uint32_t i = 1; i < s->pod_count; i++)
        if (!is_old(&s->pods[i]))
            s->pods[i].hash = BROKEN_HASH;
}

static bool is_done(const struct scene *s, const struct course *c)
{
    return count(s, is_old) == 0 && count(s, is_up) == c->want && s->pod_count == (uint32_t)c->want + 1;
}

static void run_course(int32_t want, int32_t surge, int32_t unavailable, int32_t failures, bool broken, bool drains)
{
    test_case("%d replicas, surge %d %%, unavailable %d %%, %d fail%s%s", want, surge, unavailable, failures,
              broken ? ", the others stay Pending" : "", drains ? ", drained" : "");
    struct scene s = {.hosts = 1, .max = INT32_MAX, .workers = want, .drains = drains, .kept = true};
    struct course c = {.want = want,
                       .surge = (want * surge + 99) / 100,
                       .unavailable = want * unavailable / 100,
                       .failures = failures,
                       .broken = broken,
                       .drains = drains};
    const struct pod *pods[PODS_MAX];
    rng_seed(&c.rng, (uint64_t)(want + surge));
    if (c.surge + c.unavailable == 0)
        c.unavailable = 1;
    s.roll = arena_printf(&s.a, "maxSurgePercent=%d,maxUnavailablePercent=%d", surge, unavailable);
    read_cluster(&s);
    s.pods[s.pod_count++] = (struct pod){
        .name = "h", .uid = "h", .head = true, .group = SLICE("headgroup"), .phase = POD_RUNNING, .ready = true, .ip = "10.0.0.1"};
    for (int32_t i = 0; i < want; i++) {
        struct pod *p = &s.pods[s.pod_count++];
        *p = (struct pod){.group = SLICE("small"), .index = i, .hash = 1, .phase = POD_RUNNING, .ready = true, .run_us = now_us};
        snprintf(p->name, sizeof p->name, "o%d", i);
        snprintf(p->uid, sizeof p->uid, "o%d", i);
    }
    int round = 0;
    for (; round < ROUNDS_MAX && !is_done(&s, &c); round++) {
        struct cluster_view v;
        struct plan p;
        scene_view(&s, pods, &v);
        raycluster_decide(&v, &s.a, &p);
        carry_out(&s, &c, &p);
        if (c.broken && round == BROKEN_ROUNDS)
            mend(&s, &c);
        CHECK(count(&s, is_up) >= want - c.unavailable);
        CHECK(count(&s, holds_node) <= want + c.surge + c.unavailable); /* terminating pods hold their nodes beside their successors */
        go_on(&s, &c);
    }
    CHECK(round < ROUNDS_MAX);
    CHECK_INT(c.failures, 0);
    CHECK(c.drained >= (uint32_t)want * drains && c.drained <= 1000u * drains);
    arena_free(&s.a);
}

int main(void)
{
    static const int32_t budgets[][2] = {{25, 0}, {1, 0}, {100, 0}, {0, 25}, {0, 1}, {0, 100}, {50, 50}, {34, 33}};
    for (int32_t want = 1; want <= 9; want += 4)
        for (size_t i = 0; i < COUNT_OF(budgets); i++)
            for (int32_t failures = 0; failures < 3; failures += 2)
                for (int how = 0; how < 4; how++)
                    run_course(want, budgets[i][0], budgets[i][1], failures, how & 1, how & 2);
    return test_done();
}
