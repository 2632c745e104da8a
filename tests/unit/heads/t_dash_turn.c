/* Many calls to dashboards, and not enough connections for all of them. */
#include "headnet.h"

struct asker {
    int answers, ok;
    int64_t at_ms;
};

static void on_answer(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now)
{
    struct asker *a = owner;
    CHECK_INT(tag, 0);
    a->answers++;
    a->ok += answer->outcome == RAY_DASH_OK;
    a->at_ms = now.mono_ms;
}

static int answer_job(struct fakehead *h, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    (void)h, (void)method, (void)target, (void)body;
    buf_put(out, SLICE("{\"submission_id\": \"j\", \"status\": \"RUNNING\"}"));
    return 200;
}

/* 1,000 jobs, ten of whose heads hang: all others have their answer at once. */
static void crowd(void)
{
    enum { HEADS = 1000, HUNG = 10 };
    static struct fakehead heads[HEADS];
    static struct asker logs[HEADS];
    struct headnet w;
    char host[16];
    test_case("a crowd");
    headnet_init(&w, heads, HEADS);
    int64_t began = w.now.mono_ms;
    for (int i = 0; i < HEADS; i++) {
        heads[i] = (struct fakehead){.dash = answer_job, .hangs = i % (HEADS / HUNG) == 0};
        snprintf(host, sizeof host, "head%d", i);
        const struct ray_dash_to to = {.host = slice_of(host), .port = 8265, .done = on_answer, .owner = &logs[i]};
        CHECK(ray_dash_ask(w.dash, &to, &(struct ray_dash_request){.call = RAY_DASH_JOB, .id = SLICE("j")}, NULL));
    }
    headnet_run(&w, RAY_DASH_MS + 10);
    for (int i = 0; i < HEADS; i++) {
        test_case("a crowd: head%d", i);
        CHECK_INT(logs[i].ok, !heads[i].hangs);
        CHECK(heads[i].hangs || logs[i].at_ms <= began + 100);
    }
    CHECK(w.most <= RAY_DASH_LINKS);
    headnet_free(&w);
}

/* More heads hang than there are connections. They are known to, and so the others have theirs. */
static void doubtful(void)
{
    enum { HEADS = 100, HUNG = RAY_DASH_LINKS + 8 };
    static struct fakehead heads[HEADS];
    static struct asker logs[HEADS];
    struct headnet w;
    char host[16];
    test_case("doubtful heads");
    headnet_init(&w, heads, HEADS);
    int64_t began = w.now.mono_ms;
    for (int i = 0; i < HEADS; i++) {
        heads[i] = (struct fakehead){.dash = answer_job, .hangs = i < HUNG};
        snprintf(host, sizeof host, "head%d", i);
        const struct ray_dash_to to = {.host = slice_of(host), .port = 8265, .done = on_answer, .owner = &logs[i]};
        const struct ray_dash_request r = {.call = RAY_DASH_JOB, .id = SLICE("j"), .doubtful = i < HUNG};
        CHECK(ray_dash_ask(w.dash, &to, &r, NULL));
    }
    headnet_run(&w, 1000);
    CHECK_INT(w.live, RAY_DASH_LINKS_DOUBTFUL);
    for (int i = HUNG; i < HEADS; i++)
        CHECK(logs[i].ok == 1 && logs[i].at_ms <= began + 100);
    headnet_run(&w, 3 * RAY_DASH_MS + 10); /* and each of those has its turn */
    CHECK_INT(w.live, 0);
    for (int i = 0; i < HUNG; i++)
        CHECK_INT(logs[i].answers, 1);
    headnet_free(&w);
}

/* A thousand calls to one head, and one to each of others behind them: those do not wait, and to find whose turn it is costs the same
 * however many wait. */
static void shared(void)
{
    enum { HEADS = 20, CALLS = 1000 };
    static struct fakehead heads[HEADS];
    static struct asker logs[HEADS];
    struct headnet w;
    char host[16];
    test_case("a shared head");
    headnet_init(&w, heads, HEADS);
    int64_t began = w.now.mono_ms;
    for (int i = 0; i < CALLS + HEADS - 1; i++) {
        int head = i < CALLS ? 0 : i - CALLS + 1;
        heads[head] = (struct fakehead){.dash = answer_job};
        snprintf(host, sizeof host, "head%d", head);
        const struct ray_dash_to to = {.host = slice_of(host), .port = 8265, .done = on_answer, .owner = &logs[head]};
        const struct ray_dash_request r = {.call = RAY_DASH_JOB, .id = SLICE("j"), .doubtful = i % 3 == 0};
        CHECK(ray_dash_ask(w.dash, &to, &r, NULL));
    }
    ray_dash_pool_tick(w.dash, w.now);
    CHECK_INT(w.live, RAY_DASH_LINKS_HOST + HEADS - 1);
    headnet_run(&w, 100);
    CHECK_INT(logs[0].ok, CALLS);
    for (int i = 1; i < HEADS; i++)
        CHECK(logs[i].ok == 1 && logs[i].at_ms == began);
    CHECK(ray_dash_pool_looked(w.dash) <= 6 * (CALLS + HEADS)); /* nothing is scanned */
    if (getenv("FIGURES"))
        printf("  %d calls: %llu looks\n", CALLS, (unsigned long long)ray_dash_pool_looked(w.dash));
    headnet_free(&w);
}

/* Calls that wait are given up in any order, with their host or before it. */
static void forgotten(void)
{
    static struct asker logs[4];
    struct fakehead head = {.dash = answer_job, .hangs = true};
    struct headnet w;
    test_case("forgotten in any order");
    headnet_init(&w, &head, 1);
    for (int i = 0; i < 12; i++) {
        const struct ray_dash_to to = {.host = SLICE("head0"), .port = 8265, .done = on_answer, .owner = &logs[i % 4]};
        CHECK(ray_dash_ask(w.dash, &to, &(struct ray_dash_request){.call = RAY_DASH_VERSION, .doubtful = i % 2 == 0}, NULL));
    }
    headnet_run(&w, 1);
    CHECK_INT(w.live, RAY_DASH_LINKS_HOST);
    for (int i = 2; i < 6; i++) {
        ray_dash_forget(w.dash, &logs[i % 4]);
        headnet_run(&w, 1);
        CHECK_INT(w.live, i < 5 ? RAY_DASH_LINKS_HOST : 0);
    }
    head.hangs = false;
    for (int i = 0; i < 4; i++)
        CHECK_INT(logs[i].answers, 0);
    const struct ray_dash_to to = {.host = SLICE("head0"), .port = 8265, .done = on_answer, .owner = &logs[0]};
    CHECK(ray_dash_ask(w.dash, &to, &(struct ray_dash_request){.call = RAY_DASH_JOB, .id = SLICE("j")}, NULL));
    headnet_run(&w, 1);
    CHECK_INT(logs[0].ok, 1);
    headnet_free(&w);
}

int main(void)
{
    crowd();
    doubtful();
    shared();
    forgotten();
    return test_done();
}
