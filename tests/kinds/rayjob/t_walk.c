/* Random walks of RayJobs through a small world: clusters that come, go and lose their heads, a dashboard that forgets and falls silent,
 * writes that are lost on the way there or on the way back, an operator that starts again. Whatever happens, what must hold always is
 * checked at each step, and once the world is left in peace the job must come to its end. */
#include <mobula/rayjob.h>

#include "tests/unit/test.h"

enum { NOW_MS = 1000000, WALKS = 60, UNREST = 200, PEACE = 2000, REST = 60, ATTEMPTS = 16, CLUSTERS = 24 };

static const int64_t now_us = 1800000000000000;

struct ray {
    uint32_t session; /* counts heads */
    bool silent;
    struct slice id; /* of the one job that it knows; empty: none */
    enum job_state state;
};

struct here {
    char name[POD_NAME_MAX + 1], uid[8];
    bool there, deleting, ready, workers_suspended;
    struct ray ray;
};

struct world {
    struct arena a;
    struct rng rng;
    struct now now;
    struct ray_job job;
    struct buf status;
    uint64_t status_hash;
    int64_t status_not_before_ms;
    struct here clusters[CLUSTERS];
    uint32_t uids, submissions, events, status_writes;
    char submitted[ATTEMPTS][POD_NAME_MAX + 1]; /* ids that a Ray has ever taken */
    struct job_said said;
    char said_cluster[POD_NAME_MAX + 1], said_session[16], said_id[POD_NAME_MAX + 1];
    bool peace, suspend, gone; /* gone: the RayJob itself was deleted */
};

static bool chance(struct world *w, uint32_t percent)
{
    return rng_below(&w->rng, 100) < percent;
}

static struct here *find(struct world *w, struct slice name)
{
    for (size_t i = 0; i < CLUSTERS; i++)
        if (w->clusters[i].there && slice_eq(slice_of(w->clusters[i].name), name))
            return &w->clusters[i];
    return NULL;
}

/* ---- what the actions do ---- */

static void create(struct world *w, struct slice name)
{
    if (find(w, name))
        return; /* AlreadyExists */
    for (size_t i = 0; i < CLUSTERS; i++)
        CHECK(!w->clusters[i].there); /* what two of them would need may not be there */
    for (size_t i = 0; i < CLUSTERS; i++) {
        struct here *c = &w->clusters[i];
        if (c->there)
            continue;
        *c = (struct here){.there = true, .ray = {.session = 1 + w->uids, .silent = true}};
        snprintf(c->name, sizeof c->name, "%.*s", SLICE_ARG(name));
        snprintf(c->uid, sizeof c->uid, "u%u", ++w->uids);
        return;
    }
    CHECK(!"too many clusters");
}

/* No id is ever taken twice, by whatever Ray. */
static void take(struct world *w, struct ray *ray, struct slice id)
{
    if (slice_eq(ray->id, id))
        return; /* "Please use a different submission_id" */
    for (uint32_t i = 0; i < w->submissions; i++)
        CHECK(!slice_eq(slice_of(w->submitted[i]), id));
    CHECK(w->submissions < ATTEMPTS);
    snprintf(w->submitted[w->submissions], (size_t)POD_NAME_MAX + 1, "%.*s", SLICE_ARG(id));
    ray->id = slice_of(w->submitted[w->submissions++]);
    ray->state = JOB_PENDING;
}

/* A question to a dashboard: it may be lost on its way, or its answer may be. */
static void ask(struct world *w, const struct action *act)
{
    struct here *c = find(w, act->name);
    bool lost = !w->peace && chance(w, 20), answered = c && !c->ray.silent && !lost && (w->peace || !chance(w, 20));
    if (c && !c->ray.silent && !lost && act->verb == &rayjob_submit)
        take(w, &c->ray, act->text);
    if (c && !c->ray.silent && !lost && act->verb == &rayjob_stop && slice_eq(c->ray.id, act->text) && c->ray.state < JOB_STOPPED)
        c->ray.state = c->ray.state == JOB_PENDING ? JOB_PENDING : JOB_STOPPED; /* what waits for a place is not stopped, says Ray or not */
    snprintf(w->said_cluster, sizeof w->said_cluster, "%.*s", SLICE_ARG(act->name));
    if (!slice_eq(w->said.cluster, slice_of(w->said_cluster)))
        w->said = (struct job_said){.cluster = slice_of(w->said_cluster)};
    if (act->verb == &rayjob_read_log)
        w->said.log_asked = true;
    if (!answered) {
        w->said.failing_ms = w->said.failures++ ? w->said.failing_ms : w->now.mono_ms;
        w->said.failed_ms = w->now.mono_ms;
        if (act->verb == &rayjob_submit)
            w->said.id = SLICE_NONE; /* nobody knows: to be asked again */
        return;
    }
    w->said.failures = 0;
    w->said.answered_ms = w->now.mono_ms;
    if (act->verb == &rayjob_stop) {
        w->said.stops++;
        w->said.stop_ms = w->now.mono_ms;
        w->said.stopping = true;
    }
    if (act->verb != &rayjob_look && act->verb != &rayjob_submit)
        return;
    w->said.stopping &= act->verb != &rayjob_look;
    snprintf(w->said_session, sizeof w->said_session, "s%u", c->ray.session);
    snprintf(w->said_id, sizeof w->said_id, "%.*s", SLICE_ARG(act->text));
    w->said.session = slice_of(w->said_session);
    w->said.id = slice_of(w->said_id);
    w->said.known = !slice_empty(act->text) && slice_eq(c->ray.id, act->text);
    w->said.state = w->said.known ? c->ray.state : JOB_STATE_NONE;
}

static void write_status(struct world *w, const struct plan *p, struct slice patch)
{
    struct json doc;
    struct err e = {0};
    struct slice merged;
    bool lost = !w->peace && chance(w, 10);
    w->status_not_before_ms = lost ? w->now.mono_ms + 500 : 0;
    if (lost && chance(w, 50))
        return;
    if (!CHECK(json_parse(&doc, patch, &w->a, &e)) ||
        !CHECK(json_merge(buf_slice(&w->status), json_raw(json_get(json_root(&doc), "status")), &w->a, &merged, &e)))
        return;
    buf_clear(&w->status);
    buf_put(&w->status, merged);
    w->status_hash = p->status_hash;
    w->status_writes++;
}

static void carry_out(struct world *w, const struct plan *p, const struct action *act)
{
    struct here *c = find(w, act->name);
    if (act->verb == &verb_status)
        write_status(w, p, act->text);
    else if (act->verb == &rayjob_create_cluster)
        create(w, act->name);
    else if (act->verb == &rayjob_delete_cluster && c && slice_eq(act->uid, slice_of(c->uid)))
        c->deleting = true;
    else if (act->verb == &rayjob_suspend_workers && c)
        c->workers_suspended = true;
    else if (act->verb == &rayjob_delete)
        w->gone = true;
    else if (act->verb == &verb_event)
        w->events++;
    else if (act->verb->how == VERB_ASK)
        ask(w, act);
}

/* ---- what the world does ---- */

static void cluster_lives(struct world *w, struct here *c)
{
    if (c->deleting && chance(w, 30)) {
        c->there = false;
        return;
    }
    if (!c->ready && chance(w, 40)) {
        c->ready = true;
        c->ray.silent = false;
    }
    if (c->ray.state == JOB_PENDING && chance(w, 50))
        c->ray.state = JOB_RUNNING;
    else if (c->ray.state == JOB_RUNNING && chance(w, 10))
        c->ray.state = chance(w, 50) ? JOB_SUCCEEDED : chance(w, 80) ? JOB_FAILED : JOB_STOPPED;
    if (w->peace) {
        c->ray.silent = !c->ready;
        return;
    }
    if (chance(w, 3)) /* the head is lost, and with it what it knew */
        c->ray = (struct ray){.session = c->ray.session + 1000, .silent = c->ray.silent};
    if (chance(w, 5))
        c->ray.silent = !c->ray.silent;
    if (chance(w, 1))
        c->deleting = true;
    if (chance(w, 3))
        c->ready = !c->ready;
}

static void world_lives(struct world *w)
{
    for (size_t i = 0; i < CLUSTERS; i++)
        if (w->clusters[i].there)
            cluster_lives(w, &w->clusters[i]);
    if (w->peace)
        return;
    if (chance(w, 2)) /* the operator starts again: it has forgotten what the dashboard said */
        w->said = (struct job_said){0};
    if (w->suspend && chance(w, 3))
        w->job.suspend = !w->job.suspend;
}

/* ---- what must hold ---- */

static struct slice phase_of(struct world *w)
{
    struct json doc;
    struct err e = {0};
    return json_parse(&doc, buf_slice(&w->status), &w->a, &e) ? json_get_str(json_root(&doc), "jobDeploymentStatus", &w->a) : SLICE_NONE;
}

static bool is_final(struct slice phase)
{
    return slice_eq(phase, SLICE("Complete")) || slice_eq(phase, SLICE("Failed"));
}

static uint32_t live_clusters(const struct world *w)
{
    uint32_t n = 0;
    for (size_t i = 0; i < CLUSTERS; i++)
        n += w->clusters[i].there && !w->clusters[i].deleting;
    return n;
}

/* Whether something will happen by itself that brings the job here again. */
static bool something_comes(const struct world *w)
{
    for (size_t i = 0; i < CLUSTERS; i++)
        if (w->clusters[i].there && (w->clusters[i].deleting || !w->clusters[i].ready))
            return true;
    return false;
}

static void decide(struct world *w, struct plan *p)
{
    static struct spec_errors none;
    struct job_cluster clusters[CLUSTERS];
    struct job_view v = {.job = &w->job,
                         .errors = &none,
                         .clusters = clusters,
                         .status_hash = w->status_hash,
                         .status_not_before_ms = w->status_not_before_ms,
                         .said = w->said,
                         .now = w->now};
    for (size_t i = 0; i < CLUSTERS; i++) {
        const struct here *c = &w->clusters[i];
        if (c->there)
            clusters[v.cluster_count++] = (struct job_cluster){.name = slice_of(c->name),
                                                               .uid = slice_of(c->uid),
                                                               .owned = true,
                                                               .deleting = c->deleting,
                                                               .ready = c->ready,
                                                               .head_runs = c->ready,
                                                               .workers_suspended = c->workers_suspended};
    }
    CHECK(json_read(&v.status, buf_slice(&w->status), &w->a, NULL));
    rayjob_decide(&v, &w->a, p);
}

/* One round: a plan, of which a prefix is carried out, and a while. */
static void round_of(struct world *w)
{
    struct plan p;
    bool final = is_final(phase_of(w));
    decide(w, &p);
    uint32_t count = w->peace ? p.count : (uint32_t)rng_below(&w->rng, p.count + 1);
    for (uint32_t i = 0; i < count; i++)
        carry_out(w, &p, &p.actions[i]);
    CHECK(!final || is_final(phase_of(w)));
    CHECK(live_clusters(w) <= 1);
    bool waits = final || slice_eq(phase_of(w), SLICE("Suspended"));
    CHECK(waits || p.count || p.next_ms < TIME_NEVER || something_comes(w));
    int64_t step = 200 + (int64_t)rng_below(&w->rng, 1500);
    w->now.mono_ms += step;
    w->now.wall_us += step * 1000;
    world_lives(w);
}

/* Nothing is written and nothing asked once all is said. */
static void check_rest(struct world *w)
{
    struct plan p;
    decide(w, &p);
    for (uint32_t i = 0; i < p.count; i++)
        if (!CHECK(p.actions[i].verb == &rayjob_delete))
            printf("  %s\n", p.actions[i].verb->name);
}

static void walk(uint64_t seed)
{
    struct world w = {.now = {.mono_ms = NOW_MS, .wall_us = now_us}};
    test_case("walk %llu", (unsigned long long)seed);
    rng_seed(&w.rng, seed);
    buf_init(&w.status, MIB);
    buf_put(&w.status, SLICE("{}"));
    bool shutdown = chance(&w, 70), self = !shutdown && chance(&w, 50);
    w.job = (struct ray_job){.name = SLICE("j"), .ns = SLICE("n"), .uid = SLICE("00000000-0000-0000-0000-000000000001")};
    w.job.generation = 1;
    w.job.mode = RAY_JOB_HTTP;
    w.job.entrypoint = SLICE("x");
    w.job.retries = (int32_t)rng_below(&w.rng, 4);
    w.job.active_deadline_s = chance(&w, 20) ? 300 : 0;
    w.job.pre_running_deadline_s = chance(&w, 20) ? 60 : 0;
    w.suspend = shutdown && chance(&w, 30);
    if (shutdown || self)
        w.job.rules[w.job.rule_count++] =
            (struct ray_job_rule){RAY_END_ANY, self ? RAY_REMOVE_SELF : RAY_REMOVE_CLUSTER, (int32_t)rng_below(&w.rng, 30)};
    for (int i = 0; i < UNREST && !w.gone && w.submissions + 4 < ATTEMPTS; i++) {
        round_of(&w);
        arena_reset(&w.a, MIB);
    }
    w.peace = true;
    w.job.suspend = false;
    for (int i = 0, rest = 0; i < PEACE && rest < REST && !w.gone; i++) {
        round_of(&w);
        rest += is_final(phase_of(&w)); /* longer than any ttl here */
        arena_reset(&w.a, MIB);
    }
    if (!w.gone) {
        CHECK(is_final(phase_of(&w)));
        check_rest(&w);
        if (shutdown)
            CHECK_INT(live_clusters(&w), 0);
        for (size_t i = 0; i < CLUSTERS; i++) /* what was given up does not run on */
            CHECK(!w.clusters[i].there || slice_empty(w.clusters[i].ray.id) || w.clusters[i].ray.state >= JOB_STOPPED);
        CHECK(!self);
    }
    buf_free(&w.status);
    arena_free(&w.a);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= WALKS; seed++)
        walk(seed);
    return test_done();
}
