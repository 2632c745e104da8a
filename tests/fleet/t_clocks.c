/* Two replicas of the control plane whose wall clocks differ, and are set while they run: a cloud has one operator at a time. Of an
 * operator here only the calls are played: it asks for work, and asks again when it has an answer. */
#include "hubworld.h"

#include <stdlib.h>

#define MINUTE_US (INT64_C(60) * 1000 * 1000)

enum { CALL_MS = 25 * 1000, RIVAL_MS = 5 * 1000 };

static void begin_two(struct hubworld *h, int64_t first_us, int64_t second_us)
{
    start(h);
    h->w.process[1].skew_us = first_us;
    h->w.process[0].skew_us = second_us;
    second_up(h);
    run(h, 1000);
    make_cloud(h, "edge");
}

static int call_once(struct client *c, const char *instance)
{
    return sync_ask(c, "edge", instance, "", ",\"wait\":0");
}

/* The other one asks all the time. Returns how often it was given the cloud. */
static int ask_for(struct client *c, const char *instance, int64_t ms)
{
    int given = 0;
    for (int64_t until = c->of->w.now.mono_ms + ms; c->of->w.now.mono_ms < until; run(c->of, RIVAL_MS - 200))
        given += call_once(c, instance) == 200;
    return given;
}

static void test_apart(int64_t first_us, int64_t second_us)
{
    struct hubworld h;
    begin_two(&h, first_us, second_us);
    struct client *a = client_at(&h, false), *b = client_at(&h, true);
    test_case("clocks %lld and %lld s off: who calls keeps its cloud", (long long)first_us / 1000000, (long long)second_us / 1000000);
    for (int i = 0; i < 8; i++) {
        CHECK_INT(call_once(a, "one"), 200);
        CHECK_INT(ask_for(b, "two", CALL_MS), 0);
    }
    test_case("likewise while clocks are set");
    for (int i = 0; i < 8; i++) {
        h.w.process[i % 2].skew_us = (i % 3 - 1) * 10 * MINUTE_US + i * 1000000;
        CHECK_INT(call_once(a, "one"), 200);
        CHECK_INT(ask_for(b, "two", CALL_MS), 0);
    }
    CHECK(slice_has(said(&h, "error.message"), "held by instance one, which may be silent for another "));
    CHECK(!slice_is(field(&h, "clouds", "edge", "status.health"), "UNKNOWN"));
    test_case("who has stopped calling loses it when the session time is over, whatever the clocks say");
    CHECK_INT(call_once(a, "one"), 200);
    CHECK_INT(ask_for(b, "two", HUB_SESSION_MS - HUB_RENEW_MS - RIVAL_MS), 0);
    CHECK(ask_for(b, "two", HUB_RENEW_MS + 2 * RIVAL_MS) > 0);
    CHECK_INT(call_once(a, "one"), 409);
    test_case("who gives it back makes room at once");
    CHECK_INT(sync_ask(b, "edge", "two", "", ",\"wait\":0,\"release\":true"), 200);
    CHECK_INT(call_once(a, "three"), 200);
    finish(&h);
}

static void test_renewal(void)
{
    struct hubworld h;
    begin_two(&h, 0, 0);
    struct client *a = client_at(&h, false), *b = client_at(&h, true), *rival = client_at(&h, false);
    char before[TIME_TEXT_MAX];
    test_case("a renewal whose times are those of the one before, by a clock that is as much behind, is one all the same");
    CHECK_INT(call_once(a, "one"), 200);
    slice_copy(field(&h, "clouds", "edge", "status.session.expiryTime"), before, sizeof before);
    int64_t since_us = h.w.now.wall_us;
    run(&h, 40 * 1000);
    h.w.process[0].skew_us = since_us - h.w.now.wall_us - 200 * 1000;
    CHECK_INT(call_once(b, "one"), 200);
    CHECK_STR(field(&h, "clouds", "edge", "status.session.expiryTime"), before);
    CHECK_INT(json_get_int(object_of(&h, "clouds", "edge"), "status.session.renewals", 0), 2);
    run(&h, 30 * 1000);
    CHECK_INT(call_once(rival, "two"), 409);
    test_case("a renewal is written when this replica's own is HUB_RENEW_MS old, and not before");
    uint64_t revision = apiserver_revision(h.w.server);
    CHECK_INT(call_once(b, "one"), 200);
    CHECK_INT(json_get_int(object_of(&h, "clouds", "edge"), "status.session.renewals", 0), 3);
    revision = apiserver_revision(h.w.server);
    run(&h, HUB_RENEW_MS - 2000);
    CHECK_INT(call_once(b, "one"), 200);
    CHECK_INT(apiserver_revision(h.w.server), revision);
    run(&h, 2000);
    CHECK_INT(call_once(b, "one"), 200);
    CHECK(apiserver_revision(h.w.server) > revision);
    finish(&h);
}

static void test_started(void)
{
    struct hubworld h;
    begin_two(&h, 0, 0);
    struct client *a = client_at(&h, false);
    test_case("a replica that has just started watches for a whole session time before it calls a session ended by silence");
    CHECK_INT(call_once(a, "one"), 200);
    run(&h, HUB_SESSION_MS - 10 * 1000);
    second_down(&h);
    second_up(&h);
    run(&h, 1000);
    struct client *b = client_at(&h, true);
    CHECK_INT(ask_for(b, "two", HUB_SESSION_MS - RIVAL_MS), 0);
    CHECK(ask_for(b, "two", 2 * RIVAL_MS) > 0);
    test_case("but what was given back before it started is free at once");
    CHECK_INT(sync_ask(b, "edge", "two", "", ",\"wait\":0,\"release\":true"), 200);
    second_down(&h);
    second_up(&h);
    run(&h, 1000);
    b = client_at(&h, true);
    CHECK_INT(call_once(b, "three"), 200);
    finish(&h);
}

static void test_held(void)
{
    struct hubworld h;
    begin_two(&h, 0, 0);
    struct client *a = client_at(&h, false), *b = client_at(&h, true);
    test_case("a call that is held when another instance takes the cloud ends with that: no further work is told");
    CHECK_INT(sync_ask(a, "edge", "one", "", ",\"lease\":\"l\""), 200);
    sync_send(a, "edge", "one", revision(&h), ",\"lease\":\"l\"");
    run(&h, 1000);
    CHECK_INT(answer(a), 0);
    CHECK_INT(sync_ask(b, "edge", "two", "", ",\"lease\":\"l\",\"wait\":0"), 200);
    CHECK_INT(answer(a), 409);
    CHECK(slice_has(said(&h, "error.message"), "held by instance two"));
    finish(&h);
}

/* ---- many seeds ---- */

enum { RIVALS = 3, RUN_MS = 10 * 60 * 1000, STEP_MS = 1000 };

struct rival {
    struct client *client;
    char instance[8];
    bool second, waits, held; /* where it calls; an answer is awaited, which may be held back */
    int64_t call_ms;          /* the next call */
    int64_t asleep_ms;        /* it calls again from then on: it was stopped, or cannot get through */
    int64_t given_ms;         /* the last answer that gave it the cloud; 0: none, or it was refused since */
};

struct contest {
    struct hubworld h;
    struct rng rng;
    struct rival rival[RIVALS];
    uint32_t holder, changes, restarts; /* holder: RIVALS: nobody */
    int64_t back_ms;                    /* when the second replica is started again */
};

static void reach(struct contest *t, struct rival *r)
{
    struct hubworld *h = &t->h;
    if (r->client && !r->client->closed && (h->second || !r->second))
        return;
    r->second = h->second && rng_below(&t->rng, 2);
    r->waits = false;
    if (!r->client)
        r->client = client_at(h, r->second);
    else
        client_open(r->client, r->second ? h->second : h->hub, &h->w.process[r->second ? 0 : 1]);
}

/* A cloud goes to another one only when its holder has not called for a while: no call that is made in time is ever too late. */
static void judge(struct contest *t, uint32_t i, int status, uint64_t seed)
{
    struct rival *r = &t->rival[i];
    int64_t now_ms = t->h.w.now.mono_ms;
    const struct rival *old = t->holder < RIVALS && t->holder != i ? &t->rival[t->holder] : NULL;
    r->given_ms = status == 200 ? now_ms : 0;
    if (status != 200)
        return;
    bool awake = old && old->given_ms && !old->asleep_ms;
    if (!CHECK(!awake))
        printf("  seed %llu: at %lld ms %s was given the cloud of %s, which calls\n", (unsigned long long)seed, (long long)now_ms,
               r->instance, old->instance);
    t->changes += t->holder != i;
    t->holder = i;
}

/* A revision that is not answered in full, and so is held. */
static const char *revision_of(struct hubworld *h)
{
    return arena_printf(&h->w.arena, "%llu", (unsigned long long)apiserver_revision(h->w.server)).ptr;
}

static void call_of(struct contest *t, uint32_t i, uint64_t seed)
{
    struct rival *r = &t->rival[i];
    int64_t now_ms = t->h.w.now.mono_ms;
    if (now_ms < r->asleep_ms)
        return;
    if (r->asleep_ms && r->waits && r->client->out.len) {
        buf_clear(&r->client->out); /* it came in its sleep, and may be old */
        r->waits = false;
    }
    if (r->asleep_ms)
        r->asleep_ms = r->given_ms = 0;
    int status = r->waits && r->client ? answer(r->client) : 0;
    if (status) {
        judge(t, i, status, seed);
        r->waits = false;
        r->call_ms = now_ms + (status != 200 ? RIVAL_MS : r->held ? 0 : (int64_t)rng_below(&t->rng, 2) * (CALL_MS - STEP_MS));
    }
    if (rng_below(&t->rng, 60) == 0) {
        r->asleep_ms = now_ms + (int64_t)rng_below(&t->rng, 2 * HUB_SESSION_MS);
        return;
    }
    bool lost = r->waits && r->client->closed;
    if ((r->waits && !lost) || now_ms < r->call_ms)
        return;
    reach(t, r);
    r->held = rng_below(&t->rng, 2) != 0;
    sync_send(r->client, "edge", r->instance, r->held ? revision_of(&t->h) : "", r->held ? "" : ",\"wait\":0");
    r->waits = true;
}

static void disturb(struct contest *t)
{
    struct hubworld *h = &t->h;
    if (rng_below(&t->rng, 20) == 0)
        h->w.process[rng_below(&t->rng, 2)].skew_us = ((int64_t)rng_below(&t->rng, 20 * 60) - 10 * 60) * 1000000;
    if (!h->second && h->w.now.mono_ms >= t->back_ms)
        second_up(h);
    else if (h->second && rng_below(&t->rng, 90) == 0) {
        second_down(h);
        t->restarts++;
        t->back_ms = h->w.now.mono_ms + (int64_t)rng_below(&t->rng, 20 * 1000);
    }
}

static void test_seed(uint64_t seed, uint32_t totals[2])
{
    static struct contest t;
    t = (struct contest){.holder = RIVALS};
    rng_seed(&t.rng, seed);
    begin_two(&t.h, -10 * MINUTE_US, 10 * MINUTE_US);
    for (uint32_t i = 0; i < RIVALS; i++)
        snprintf(t.rival[i].instance, sizeof t.rival[i].instance, "op-%u", i);
    for (int64_t until = t.h.w.now.mono_ms + RUN_MS; t.h.w.now.mono_ms < until;) {
        disturb(&t);
        for (uint32_t i = 0; i < RIVALS; i++)
            call_of(&t, i, seed);
        run(&t.h, STEP_MS);
    }
    totals[0] += t.changes;
    totals[1] += t.restarts;
    finish(&t.h);
}

int main(void)
{
    static const int64_t apart_us[][2] = {
        {0, 0}, {0, 45 * 1000 * 1000}, {-10 * MINUTE_US, 10 * MINUTE_US}, {10 * MINUTE_US, -10 * MINUTE_US}, {0, 24 * 60 * MINUTE_US}};
    const char *only = getenv("SEED"), *many = getenv("SEEDS");
    uint64_t first = only ? strtoull(only, NULL, 10) : 1, count = only ? 1 : many ? strtoull(many, NULL, 10) : 20;
    uint32_t totals[2] = {0};
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    for (size_t i = 0; i < COUNT_OF(apart_us); i++)
        test_apart(apart_us[i][0], apart_us[i][1]);
    test_renewal();
    test_started();
    test_held();
    test_case("operators that stop and go on, replicas whose clocks are set and that restart: who calls keeps its cloud");
    for (uint64_t seed = first; seed < first + count; seed++)
        test_seed(seed, totals);
    CHECK(only || (totals[0] > count && totals[1] > count));
    printf("  a cloud changed hands %u times, a replica was restarted %u times\n", totals[0], totals[1]);
    return test_done();
}
