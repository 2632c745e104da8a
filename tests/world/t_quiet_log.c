/* What many heads do wrong at once, or one head again and again, is not a flood in the log of the operator. */
#include "scaled.h"

enum { HEADS = LIMIT_LOG_SAID + 16, NODES = LIMIT_LOG_SAID + 16, CLUSTERS = LIMIT_LOG_SAID + 16, MINUTE_MS = 60 * 1000 };

struct lines {
    uint32_t cut, silent, drains, held, set, failed, tokens;
};

static void on_line(void *owner, struct slice line)
{
    struct lines *n = owner;
    n->cut += memmem(line.ptr, line.len, "watch was cut", 13) != NULL;
    n->silent += memmem(line.ptr, line.len, "cannot read the state of the head", 24) != NULL;
    n->drains += memmem(line.ptr, line.len, "autoscaler: drain", 17) != NULL;
    n->set += memmem(line.ptr, line.len, "the wall clock was set", 22) != NULL;
    n->failed += memmem(line.ptr, line.len, "call failed", 11) != NULL;
    n->tokens += memmem(line.ptr, line.len, "cannot read the cluster's token", 31) != NULL;
    n->held += memmem(line.ptr, line.len, "repeated log lines suppressed", 29) != NULL;
}

static void listen(struct lines *n)
{
    log_global.sink = on_line;
    log_global.owner = n;
}

static void test_many_heads(void)
{
    struct world w;
    struct lines n = {0};
    test_case("more heads than are remembered are lost at once");
    make_scaled_world(&w, false);
    for (int i = 0; i < HEADS; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        head_of(&w, name)->refused = true;
        apply_scaled(&w, &(struct scaled){.name = name});
    }
    listen(&n);
    world_run(&w, MINUTE_MS);
    CHECK(n.silent >= LIMIT_LOG_SAID / 2 && n.silent <= LIMIT_LOG_SAID);
    test_case("that more was not said is said when something is");
    world_run(&w, 2 * MINUTE_MS);
    CHECK(n.silent <= 3 * LIMIT_LOG_SAID);
    CHECK(n.held > 0 && n.held <= 2 * LIMIT_LOG_SAID);
    log_global.sink = NULL;
    world_free(&w);
}

static void test_many_drains(void)
{
    struct world w;
    struct lines n = {0};
    test_case("a head whose idle nodes refuse to drain, each second");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .replicas = NODES, .idle = 10});
    struct fakeray *h = head_of(&w, "c");
    h->refuses = true;
    world_run(&w, 30 * 1000);
    uint32_t before = h->declined;
    listen(&n);
    world_run(&w, 2 * MINUTE_MS);
    CHECK(h->declined - before > 20 * NODES);
    CHECK(n.drains > 0 && n.drains <= 3 * LIMIT_LOG_SAID);
    CHECK_INT(workers_of(&w, "c"), NODES);
    log_global.sink = NULL;
    world_free(&w);
}

/* As by two services that set it, each to a time of its own. */
static void test_wall_clock(void)
{
    enum { STEPS = 60, STEP_MS = 3000 };
    struct world w;
    struct lines n = {0};
    test_case("a wall clock that is set back and forth");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c"});
    world_run(&w, MINUTE_MS);
    listen(&n);
    for (int i = 0; i < STEPS; i++) {
        w.process[0].skew_us = i % 2 ? 0 : INT64_C(3600) * 1000 * 1000;
        world_run(&w, STEP_MS);
    }
    CHECK(n.set > 0 && n.set <= STEPS * STEP_MS / MINUTE_MS + 1);
    log_global.sink = NULL;
    world_free(&w);
}

/* Each answer names what it is about, each call that is not answered tells how long it took, and what a busy server puts off for longer
 * than a plan is good for was never sent: of each there is a line, and not many. */
static void test_server_in_trouble(void)
{
    enum { OUTAGE_MS = 3 * MINUTE_MS };
    static const struct {
        const char *method, *path;
        int status;
    } cases[] = {{"PATCH", "/api/v1/namespaces/n/services/", 503}, {"POST", "/api/v1/namespaces/n/pods", 429}};
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        struct world w;
        struct lines n = {0};
        test_case("calls of many clusters fail on a server in trouble: one line a minute of each thing they do (%d)", cases[k].status);
        make_world(&w, false);
        override(&w, cases[k].method, cases[k].path, cases[k].status, false, UINT32_MAX);
        listen(&n);
        for (int i = 0; i < CLUSTERS; i++) {
            char name[16];
            snprintf(name, sizeof name, "c%d", i);
            apply(&w, name, 0);
        }
        world_run(&w, OUTAGE_MS);
        CHECK(n.failed > 0 && n.failed <= OUTAGE_MS / MINUTE_MS + 1);
        CHECK_INT(n.held, 0);
        log_global.sink = NULL;
        world_free(&w);
    }
}

/* Each try brings other words, and each cluster tries for itself. */
static void test_tokens(void)
{
    enum { STEP_MS = 200, OUTAGE_MS = 3 * MINUTE_MS };
    struct world w;
    struct lines n = {0};
    test_case("the tokens of many clusters cannot be read from a server in trouble, which says now this and now that");
    make_scaled_world(&w, false);
    listen(&n);
    for (int i = 0; i < CLUSTERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        apply_scaled(&w, &(struct scaled){.name = name,
                                          .more = "\"rayVersion\":\"2.60.0\",\"authOptions\":{\"mode\":\"token\","
                                                  "\"secretName\":\"mine\"},"});
    }
    for (int i = 0; i < OUTAGE_MS / STEP_MS; i++) {
        override(&w, "GET", "/api/v1/namespaces/n/secrets", i % 2 ? 503 : 500, false, UINT32_MAX);
        world_run(&w, STEP_MS);
    }
    CHECK(n.tokens > 0 && n.tokens <= 2 * (OUTAGE_MS / MINUTE_MS + 1));
    CHECK_INT(n.held, 0);
    log_global.sink = NULL;
    world_free(&w);
}

static void test_watches(void)
{
    struct world w;
    struct lines n = {0};
    test_case("a reset of all connections is told in one line");
    make_world(&w, false);
    apply(&w, "c", 1);
    world_run(&w, MINUTE_MS);
    listen(&n);
    CHECK_INT(apiserver_drop_watches(w.server, SLICE("pods"), true), 1);
    CHECK_INT(apiserver_drop_watches(w.server, SLICE("services"), true), 1);
    world_run(&w, MINUTE_MS / 2);
    CHECK_INT(n.cut, 1);
    log_global.sink = NULL;
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    test_server_in_trouble();
    test_many_heads();
    test_many_drains();
    test_wall_clock();
    test_tokens();
    test_watches();
    return test_done();
}
