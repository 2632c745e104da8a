#include "headnet.h"

#include <mobula/grpc.h>

/* ---- an owner that remembers ---- */

struct log_of {
    struct ray_gcs *gcs;
    uint32_t answers, states, errors, accepted, new_sessions;
    enum ray_gcs_call call;
    struct err err;
    int grpc_status;
    uint32_t failures, nodes, demands;
    bool open, gave_way, close_on_answer;
    int64_t last_ms, took_ms;
    char words[128], node[RAY_NODE_ID];
};

static void on_answer(void *owner, const struct ray_gcs_answer *a, struct now now)
{
    struct log_of *l = owner;
    CHECK(a->err.code == ERR_NONE || a->state == NULL);
    CHECK_INT(a->failures > 0, a->err.code != ERR_NONE);
    l->answers++;
    l->call = a->call;
    l->err = a->err;
    l->grpc_status = a->grpc_status;
    l->errors += a->err.code != ERR_NONE;
    l->failures = a->failures;
    l->open = a->open;
    l->gave_way = a->gave_way;
    l->new_sessions += a->new_session;
    l->last_ms = now.mono_ms;
    l->took_ms = a->took_ms;
    if (a->state) {
        l->states++;
        l->nodes = a->state->node_count;
        l->demands = a->state->demands.count;
    }
    if (a->call == RAY_GCS_DRAIN) {
        l->accepted += a->accepted;
        snprintf(l->words, sizeof l->words, "%.*s", SLICE_ARG(a->words));
        CHECK_STR(a->pod, "c-small-0");
        CHECK_INT(a->node.len, RAY_NODE_ID);
        memcpy(l->node, a->node.ptr, sizeof l->node);
    }
    if (l->close_on_answer)
        ray_gcs_close(l->gcs);
}

static void log_open(struct log_of *l, struct headnet *w, const char *host, const char *token)
{
    struct err e = {0};
    *l = (struct log_of){0};
    const struct ray_gcs_options o = {.host = slice_of(host), .port = 6379, .token = slice_of(token), .done = on_answer, .owner = l};
    l->gcs = ray_gcs_open(w->pool, &o, &e);
    CHECK(l->gcs != NULL);
}

/* One head, one client. */
struct pair {
    struct arena a;
    struct fakehead head;
    struct headnet w;
    struct log_of log;
};

static void pair_init(struct pair *p, const char *name, const char *token)
{
    test_case("%s", name);
    *p = (struct pair){0};
    p->head.state = read_file("tests/data/ray/gcs/state-2.60-all.bin", &p->a);
    p->head.drain = SLICE("\x08\x01");
    headnet_init(&p->w, &p->head, 1);
    log_open(&p->log, &p->w, "head0", token);
}

static void pair_free(struct pair *p)
{
    headnet_free(&p->w);
    arena_free(&p->a);
}

/* ---- the four calls ---- */

static void polls(void)
{
    struct pair p;
    pair_init(&p, "a state every second on one connection", NULL);
    ray_gcs_poll(p.log.gcs, 100, p.w.now); /* which is too often */
    headnet_run(&p.w, 10 * 1000);
    CHECK(p.head.states >= 9 && p.head.states <= 10);
    CHECK_INT(p.log.states, p.head.states);
    CHECK_INT(p.log.errors, 0);
    CHECK_INT(p.head.connections, 1);
    CHECK_INT(p.log.nodes, 1);
    CHECK_INT(p.log.demands, 4);
    CHECK_INT(p.log.last_ms % RAY_GCS_GRID_MS, 0);
    CHECK_INT(p.log.new_sessions, 0);
    test_case("no more of them: the connection rests, and goes after a while");
    uint32_t before = p.head.states;
    ray_gcs_poll(p.log.gcs, 0, p.w.now);
    headnet_run(&p.w, NET_IDLE_MS - 2000);
    CHECK_INT(p.w.live, 1);
    headnet_run(&p.w, 4000);
    CHECK_INT(p.head.states, before);
    CHECK_INT(p.w.live, 0);
    test_case("and again");
    ray_gcs_poll(p.log.gcs, 2000, p.w.now);
    headnet_run(&p.w, 4000);
    CHECK(p.head.states >= before + 2);
    CHECK_INT(p.head.connections, 2);
    pair_free(&p);
}

static void sessions(void)
{
    struct pair p;
    pair_init(&p, "another session", NULL);
    ray_gcs_poll(p.log.gcs, 1000, p.w.now);
    headnet_run(&p.w, 3000);
    CHECK_INT(p.log.new_sessions, 0);
    p.head.state = read_file("tests/data/ray/gcs/state-2.40-pending.bin", &p.a);
    headnet_run(&p.w, 3000);
    CHECK_INT(p.log.new_sessions, 1);
    p.head.state = SLICE("\x0a\x00"); /* a state of nothing is a session too */
    headnet_run(&p.w, 3000);
    CHECK_INT(p.log.new_sessions, 2);
    pair_free(&p);
}

static void checks(void)
{
    struct pair p;
    pair_init(&p, "health needs no token", NULL);
    p.head.token = "right";
    ray_gcs_check(p.log.gcs, p.w.now.mono_ms + 1000, p.w.now);
    headnet_run(&p.w, 10);
    CHECK_INT(p.head.checks, 1);
    CHECK(p.log.answers == 1 && p.log.call == RAY_GCS_HEALTH && p.log.errors == 0);
    test_case("a server that does not know it is an older Ray");
    p.head.refusal = "12";
    ray_gcs_check(p.log.gcs, p.w.now.mono_ms + 1000, p.w.now);
    headnet_run(&p.w, 10);
    CHECK(p.log.answers == 2 && p.log.errors == 0);
    test_case("any other refusal is one");
    p.head.refusal = "14";
    ray_gcs_check(p.log.gcs, p.w.now.mono_ms + 1000, p.w.now);
    headnet_run(&p.w, 10);
    CHECK(p.log.answers == 3 && p.log.errors == 1 && p.log.grpc_status == 14);
    test_case("it ends when it must");
    p.head.hangs = true;
    int64_t until = p.w.now.mono_ms + 300;
    ray_gcs_check(p.log.gcs, until, p.w.now);
    headnet_run(&p.w, 1000);
    CHECK(p.log.answers == 4 && p.log.err.code == ERR_TIMEOUT && p.log.open);
    CHECK_INT(p.log.last_ms, until);
    pair_free(&p);
}

static void tokens(void)
{
    struct pair p;
    pair_init(&p, "the right token", "right");
    p.head.token = "right";
    ray_gcs_poll(p.log.gcs, 1000, p.w.now);
    headnet_run(&p.w, 1000);
    CHECK(p.log.states > 0 && p.log.errors == 0);
    pair_free(&p);
    pair_init(&p, "none", NULL);
    p.head.token = "right";
    ray_gcs_poll(p.log.gcs, 1000, p.w.now);
    headnet_run(&p.w, 1000);
    CHECK(p.log.states == 0 && p.log.grpc_status == 16 && p.log.failures > 0 && p.log.open);
    CHECK(strstr(p.log.err.text, "head0:6379: the server answers with gRPC status 16"));
    CHECK_INT(p.head.connections, 1); /* a refusal leaves the connection as it is */
    pair_free(&p);
}

static const char node[] = "0123456789012345678901234567";

static bool drain(struct pair *p, const char *id, struct err *e)
{
    const struct ray_drain d = {.node_id = slice_of(id), .message = SLICE("idle for 60 s"), .pod = SLICE("c-small-0")};
    return ray_gcs_drain(p->log.gcs, &d, p->w.now, e);
}

static void drains(void)
{
    struct pair p;
    pair_init(&p, "accepted", NULL);
    CHECK(drain(&p, node, NULL));
    headnet_run(&p.w, 10);
    CHECK(p.log.answers == 1 && p.log.call == RAY_GCS_DRAIN && p.log.accepted == 1);
    CHECK(memcmp(p.log.node, node, RAY_NODE_ID) == 0);
    CHECK_SLICE(((struct slice){p.head.drained, p.head.drained_len}), SLICE("\x0a\x1c"
                                                                            "0123456789012345678901234567"
                                                                            "\x10\x01\x1a\x0d"
                                                                            "idle for 60 s"));
    test_case("refused");
    p.head.drain = SLICE("\x08\x00\x12\x0cnot\n idle\x00\xff.");
    CHECK(drain(&p, node, NULL));
    headnet_run(&p.w, 10);
    CHECK(p.log.answers == 2 && p.log.accepted == 1 && p.log.errors == 0);
    CHECK_STR(slice_of(p.log.words), "not idle ?.");
    test_case("malformed answer");
    p.head.drain = SLICE("\x08");
    CHECK(drain(&p, node, NULL));
    headnet_run(&p.w, 10);
    CHECK(p.log.accepted == 1 && p.log.errors == 1 && p.log.err.code == ERR_SYNTAX);
    test_case("an id of another length");
    struct err e = {0};
    CHECK(!drain(&p, "0123", &e) && e.code == ERR_RANGE);
    test_case("a preemption");
    const struct ray_drain d = {
        .node_id = slice_of(node), .preempt = true, .deadline_ms = 1800000000000, .message = SLICE("spot"), .pod = SLICE("c-small-0")};
    CHECK(ray_gcs_drain(p.log.gcs, &d, p.w.now, NULL));
    headnet_run(&p.w, 10);
    CHECK_SLICE(((struct slice){p.head.drained + 30, p.head.drained_len - 30}), SLICE("\x10\x02\x1a\x04spot\x20\x80\xa0\xf1\xc2\xb1\x34"));
    test_case("as many as may wait");
    p.head.drain = SLICE("\x08\x01");
    for (int i = 0; i < LIMIT_RAY_DRAINS; i++)
        CHECK(drain(&p, node, NULL));
    e = (struct err){0};
    CHECK(!drain(&p, node, &e) && strstr(e.text, "LIMIT_RAY_DRAINS"));
    headnet_run(&p.w, 10);
    CHECK_INT(p.log.accepted, 1 + LIMIT_RAY_DRAINS);
    CHECK_INT(p.head.connections, 1);
    test_case("those that wait fail together");
    uint32_t before = p.log.errors;
    p.head.hangs = true;
    for (int i = 0; i < 10; i++)
        CHECK(drain(&p, node, NULL));
    headnet_run(&p.w, RAY_GCS_MS + 1);
    CHECK_INT(p.log.errors, before + 10);
    CHECK_INT(p.log.failures, 1);
    pair_free(&p);
}

static void reports(void)
{
    struct pair p;
    struct ray_state state;
    pair_init(&p, "a report", NULL);
    CHECK(ray_state_read(p.head.state, &p.a, &state, NULL));
    const struct ray_launch launch = {SLICE("gpu"), 3, 1800000000};
    const struct ray_launching launching = {SLICE("small"), SLICE("demo-worker-9"), SLICE(""), SLICE("pod Pending")};
    const struct ray_launch_failure failure = {SLICE("gpu"), SLICE("quota exceeded"), 1, 1800000001};
    const struct ray_gang *gangs[] = {&state.gangs[3]};
    const struct ray_demands *constraints[] = {&state.constraints[0]};
    struct ray_report r = {29, &launch, &launching, &failure, 1, 1, 1, state.demands, gangs, constraints, 1, 1};
    ray_gcs_report(p.log.gcs, &r, p.w.now);
    headnet_run(&p.w, 10);
    CHECK(p.log.answers == 1 && p.log.call == RAY_GCS_REPORT && p.log.errors == 0);
    struct slice sent = {p.head.report, p.head.report_len};
    CHECK_SLICE(to_hex(sent, &p.a), to_hex(from_hex(read_file("tests/data/ray/gcs/report.hex", &p.a), &p.a), &p.a));
    test_case("the newest of several");
    r.state_version = 30;
    ray_gcs_report(p.log.gcs, &r, p.w.now);
    r.state_version = 31;
    ray_gcs_report(p.log.gcs, &r, p.w.now);
    headnet_run(&p.w, 10);
    CHECK_INT(p.head.reports, 2);
    CHECK_INT(p.head.report[4], 31);
    test_case("one while another is under way");
    p.head.hangs = true;
    ray_gcs_report(p.log.gcs, &r, p.w.now);
    headnet_run(&p.w, 10);
    r.state_version = 32;
    ray_gcs_report(p.log.gcs, &r, p.w.now);
    p.head.hangs = false;
    headnet_run(&p.w, RAY_GCS_MS + 10);
    CHECK_INT(p.head.report[4], 32);
    pair_free(&p);
}

/* A report at the limit, and one past it: the pod that is one too many is left out. */
static void long_reports(void)
{
    struct pair p;
    pair_init(&p, "long reports", NULL);
    for (size_t extra = 0; extra < 2; extra++) {
        /* 1 of the state and 3 of its length, 7 of the version, 5 of the first, 1 and 3 of the second, 1 and 3 of its details */
        size_t details = LIMIT_RAY_REPORT - 4 - 7 - 5 - 4 - 4 + extra;
        struct ray_launching launching[] = {{.details = SLICE("x")}, {.details = {arena_alloc(&p.a, details), details}}};
        struct ray_report r = {.launching = launching, .launching_count = 2};
        ray_gcs_report(p.log.gcs, &r, p.w.now);
        headnet_run(&p.w, 10);
        CHECK_INT(p.head.reports, 1 + extra);
        CHECK_INT(p.head.report_size, extra ? 1 + 1 + 7 + 5 : LIMIT_RAY_REPORT);
    }
    test_case("many pods that are launched: as many as fit, and what is infeasible before them");
    struct ray_launching *many = arena_array(&p.a, 2000, sizeof *many);
    for (size_t i = 0; i < 2000; i++)
        many[i] = (struct ray_launching){.type = SLICE("small"), .instance_id = SLICE("demo-worker-12345"), .details = SLICE("Pending")};
    const struct ray_amount cpus = {SLICE("CPU"), RAY_QUANTUM};
    const struct ray_demand task = {.request.bundle = {&cpus, 1}, .count = 1};
    struct ray_report r = {.launching = many, .launching_count = 2000, .infeasible = {&task, 1}};
    ray_gcs_report(p.log.gcs, &r, p.w.now);
    headnet_run(&p.w, 10);
    CHECK(p.head.report_size > LIMIT_RAY_REPORT - 100 && p.head.report_size <= LIMIT_RAY_REPORT);
    CHECK(memmem(p.head.report, 100, "CPU", 3) != NULL);
    pair_free(&p);
}

/* A state as long as an answer may be, and one longer: most of it is a field that nobody knows. */
static void long_answers(void)
{
    for (size_t extra = 0; extra < 2; extra++) {
        struct pair p;
        struct buf b;
        pair_init(&p, extra ? "an answer one past the limit" : "an answer at the limit", NULL);
        buf_init(&b, LIMIT_RAY_ANSWER + 1);
        size_t filler = LIMIT_RAY_ANSWER - p.head.state.len - 1 - 4 + extra; /* its tag and its length */
        buf_put(&b, p.head.state);
        proto_put_bytes(&b, 15, (struct slice){arena_alloc(&p.a, filler), filler});
        CHECK_INT(b.len, LIMIT_RAY_ANSWER + extra);
        p.head.state = buf_slice(&b);
        ray_gcs_poll(p.log.gcs, 1000, p.w.now);
        while (p.log.answers == 0)
            headnet_run(&p.w, 50);
        CHECK_INT(p.log.states, extra == 0);
        CHECK(extra == 0 || (p.log.err.code == ERR_LIMIT && p.log.open));
        buf_free(&b);
        pair_free(&p);
    }
}

/* ---- heads that misbehave ---- */

static void trouble(void)
{
    static const struct {
        const char *id;
        struct fakehead how;
        enum err_code code;
        const char *says;
        bool open;
    } cases[] = {
        {"hangs", {.hangs = true}, ERR_TIMEOUT, "head0:6379: the port is open but nobody answers", true},
        {"cuts", {.cuts = true}, ERR_CLOSED, "head0:6379: it closed the connection without an answer", true},
        {"garbage", {.garbage = SLICE("HTTP/1.1 400 Bad Request\r\n\r\n")}, ERR_SYNTAX, "head0:6379: the answer is no gRPC", true},
        {"a byte a step", {.per_step = 1}, ERR_TIMEOUT, "head0:6379: the port is open but nobody answers", true},
        {"unavailable", {.refusal = "14"}, ERR_STATUS, "head0:6379: the server answers with gRPC status 14", true},
        {"not the state", {.state = SLICE("\x12\x00")}, ERR_MISSING, "head0:6379: the head's answer holds no state", true},
        {"half a state", {.state = SLICE("\x0a\x02\x08")}, ERR_SYNTAX, "head0:6379: the message is malformed", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pair p;
        pair_init(&p, cases[i].id, NULL);
        struct slice good = p.head.state;
        p.head = cases[i].how;
        p.head.state = cases[i].how.state.ptr  ? cases[i].how.state
                       : cases[i].how.per_step ? read_file("tests/data/ray/gcs/state-2.60-gangs.bin", &p.a)
                                               : good;
        ray_gcs_poll(p.log.gcs, 1000, p.w.now);
        headnet_run(&p.w, 1000 + RAY_GCS_MS);
        CHECK(p.log.errors > 0 && p.log.states == 0);
        CHECK_INT(p.log.err.code, cases[i].code);
        if (!CHECK(slice_starts(slice_of(p.log.err.text), slice_of(cases[i].says))))
            printf("  says \"%s\"\n", p.log.err.text);
        CHECK_INT(p.log.open, cases[i].open);
        CHECK(p.log.took_ms <= RAY_GCS_MS);
        headnet_run(&p.w, 60 * 1000); /* less often, and not seldom */
        CHECK(p.log.errors >= 5 && p.log.errors <= 20);
        p.head = (struct fakehead){.state = good};
        headnet_run(&p.w, RAY_GCS_BACKOFF_MAX_MS + RAY_GCS_MS + 1000);
        CHECK(p.log.states > 0 && p.log.failures == 0);
        pair_free(&p);
    }
}

static void no_connection(void)
{
    struct pair p;
    pair_init(&p, "refused", NULL);
    p.w.refused = true;
    ray_gcs_poll(p.log.gcs, 1000, p.w.now);
    headnet_run(&p.w, 2000);
    CHECK(p.log.errors > 0 && p.log.err.code == ERR_CONNECT && !p.log.open);
    pair_free(&p);
    pair_init(&p, "unreachable", NULL);
    p.w.unreachable = true;
    ray_gcs_poll(p.log.gcs, 1000, p.w.now);
    headnet_run(&p.w, RAY_GCS_MS + 1000);
    CHECK(p.log.errors == 1 && p.log.err.code == ERR_TIMEOUT && !p.log.open);
    pair_free(&p);
    pair_init(&p, "denied", NULL);
    struct log_of other;
    log_open(&other, &p.w, "elsewhere", NULL);
    ray_gcs_poll(other.gcs, 1000, p.w.now);
    headnet_run(&p.w, 3000);
    CHECK(other.errors >= 1 && other.errors <= 3 && other.err.code == ERR_DENIED);
    pair_free(&p);
}

/* A connection that the server closed while nobody used it is no failure. */
static void stale(void)
{
    struct pair p;
    pair_init(&p, "a kept connection that is dead", NULL);
    ray_gcs_poll(p.log.gcs, 1000, p.w.now);
    headnet_run(&p.w, 1500);
    uint32_t before = p.log.states;
    CHECK_INT(p.head.connections, 1);
    p.head.cuts_kept = true;
    headnet_run(&p.w, 1500);
    CHECK(p.log.states > before);
    CHECK(p.head.connections >= 2);
    CHECK_INT(p.log.errors, 0);
    p.head.cuts_kept = false;
    test_case("a server that goes away after each answer");
    p.head.goes_away = true;
    headnet_run(&p.w, 5000);
    CHECK_INT(p.log.errors, 0);
    CHECK(p.head.connections >= 6);
    pair_free(&p);
}

static void closing(void)
{
    struct pair p;
    pair_init(&p, "closed in its own answer", NULL);
    p.log.close_on_answer = true;
    CHECK(drain(&p, node, NULL) && drain(&p, node, NULL));
    headnet_run(&p.w, 10);
    CHECK_INT(p.log.answers, 1);
    CHECK_INT(p.w.live, 0);
    pair_free(&p);
    pair_init(&p, "closed with a call under way", NULL);
    p.head.hangs = true;
    CHECK(drain(&p, node, NULL) && drain(&p, node, NULL));
    headnet_run(&p.w, 10);
    ray_gcs_close(p.log.gcs);
    headnet_run(&p.w, 10);
    CHECK_INT(p.log.answers, 0);
    pair_free(&p);
    pair_init(&p, "closed in the answer of a failure with more behind it", NULL);
    p.head.hangs = true;
    p.log.close_on_answer = true;
    CHECK(drain(&p, node, NULL) && drain(&p, node, NULL));
    headnet_run(&p.w, RAY_GCS_MS + 10);
    CHECK_INT(p.log.answers, 1);
    pair_free(&p);
}

static void wrong_options(void)
{
    struct pair p;
    struct err e = {0};
    pair_init(&p, "options", NULL);
    char *token = arena_alloc(&p.a, LIMIT_RAY_TOKEN + 1);
    memset(token, 'x', LIMIT_RAY_TOKEN + 1);
    struct ray_gcs_options o = {
        .host = SLICE("head0"), .port = 6379, .token = {token, LIMIT_RAY_TOKEN}, .done = on_answer, .owner = &p.log};
    p.log.gcs = ray_gcs_open(p.w.pool, &o, &e);
    CHECK(p.log.gcs != NULL);
    ray_gcs_poll(p.log.gcs, 1000, p.w.now);
    headnet_run(&p.w, 1500);
    CHECK(p.log.states > 0);
    o.token.len++;
    CHECK(!ray_gcs_open(p.w.pool, &o, &e) && strstr(e.text, "LIMIT_RAY_TOKEN"));
    e = (struct err){0};
    o = (struct ray_gcs_options){.port = 6379, .done = on_answer};
    CHECK(!ray_gcs_open(p.w.pool, &o, &e) && e.code == ERR_CONFIG);
    pair_free(&p);
}

/* ---- many ---- */

/* Some heads hang, some send garbage: every other one is polled as if they were not there. */
static void crowd(void)
{
    enum { HEADS = 100, BAD = 10 };
    static struct fakehead heads[HEADS];
    static struct log_of logs[HEADS];
    struct headnet w;
    struct arena a = {0};
    char host[16];
    test_case("a crowd");
    struct slice state = read_file("tests/data/ray/gcs/state-2.60-idle.bin", &a);
    headnet_init(&w, heads, HEADS);
    for (int i = 0; i < HEADS; i++) {
        heads[i] = (struct fakehead){.state = state, .hangs = i < BAD / 2, .per_step = i < BAD};
        snprintf(host, sizeof host, "head%d", i);
        log_open(&logs[i], &w, host, NULL);
        ray_gcs_poll(logs[i].gcs, 1000, w.now);
    }
    headnet_run(&w, 20 * 1000);
    for (int i = 0; i < HEADS; i++) {
        test_case("a crowd: head%d", i);
        if (i < BAD / 2)
            CHECK(logs[i].states == 0 && logs[i].errors > 0);
        else
            CHECK(logs[i].states >= (i < BAD ? 8 : 19) && logs[i].errors == 0);
    }
    headnet_free(&w);
    arena_free(&a);
}

/* ---- large answers of many at a time ---- */

enum { CROWD = 8, LARGE = LIMIT_RAY_ANSWER - 64 * KIB };

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* What is allocated but for the heads' own; 0 where nobody counts. */
static size_t held_by_us(const struct headnet *w)
{
    size_t all = __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : 0;
    for (const struct headlink *h = w->links; h && all; h = h->next)
        all -= sizeof *h + (h->conn ? sizeof *h->conn + h->conn->out.cap : 0);
    return all;
}

/* A state of so many bytes, of nodes that nobody knows. */
static struct slice large_state(struct arena *a)
{
    struct buf b, whole;
    char id[RAY_NODE_ID + 1];
    buf_init(&b, LIMIT_RAY_ANSWER);
    buf_init(&whole, LIMIT_RAY_ANSWER);
    for (uint32_t i = 0; b.len < LARGE; i++) {
        snprintf(id, sizeof id, "%028u", i);
        size_t at = proto_open(&b, 3);
        proto_put_bytes(&b, 1, slice_of(id));
        proto_put_bytes(&b, 2, SLICE("a pod with a name that is long enough to fill a good part of what one head may say"));
        proto_close(&b, at);
    }
    proto_put_bytes(&whole, 1, buf_slice(&b));
    struct slice copy = arena_dup(a, buf_slice(&whole));
    buf_free(&b);
    buf_free(&whole);
    return copy;
}

/* Heads of which each stalls before the end of a large answer, asked a millisecond after one another; and at last one that works. Four fit;
 * of more the one that has been at it longest goes, and only that. */
static void stallers(uint32_t stalling)
{
    struct arena a = {0};
    struct headnet w;
    struct fakehead heads[CROWD] = {0};
    struct log_of logs[CROWD];
    test_case("%u heads that stall with large answers", stalling);
    const struct slice state = large_state(&a);
    headnet_init(&w, heads, CROWD);
    size_t before = held_by_us(&w);
    for (uint32_t i = 0; i < stalling; i++) {
        char name[16];
        snprintf(name, sizeof name, "head%u", i);
        heads[i] = (struct fakehead){.state = state, .stalls_after = LARGE};
        log_open(&logs[i], &w, name, NULL);
        ray_gcs_poll(logs[i].gcs, 60 * 1000, w.now);
        headnet_run(&w, 1001); /* it begins anywhere in a second */
        CHECK(!before || held_by_us(&w) - before <= LIMIT_RAY_ANSWERS + 256 * KIB);
    }
    uint32_t most = LIMIT_RAY_ANSWERS / LIMIT_RAY_ANSWER;
    for (uint32_t i = 0; i < stalling; i++) {
        bool gone = i + most < stalling;
        CHECK_INT(logs[i].errors, gone);
        CHECK(!gone || (logs[i].gave_way && logs[i].err.code == ERR_LIMIT && strstr(logs[i].err.text, "LIMIT_RAY_ANSWERS")));
    }
    test_case("… and one that works beside %u", stalling);
    heads[CROWD - 1] = (struct fakehead){.state = state};
    log_open(&logs[CROWD - 1], &w, "head7", NULL);
    ray_gcs_poll(logs[CROWD - 1].gcs, 60 * 1000, w.now);
    headnet_run(&w, 1001);
    CHECK_INT(logs[CROWD - 1].states, 1);
    CHECK_INT(logs[CROWD - 1].errors, 0);
    CHECK(logs[CROWD - 1].nodes > 30000);
    headnet_run(&w, RAY_GCS_MS);
    CHECK(!before || held_by_us(&w) - before <= 256 * KIB); /* all of it is given back */
    headnet_free(&w);
    arena_free(&a);
}

int main(void)
{
    polls();
    sessions();
    checks();
    tokens();
    drains();
    reports();
    long_reports();
    long_answers();
    trouble();
    no_connection();
    stale();
    closing();
    wrong_options();
    crowd();
    stallers(LIMIT_RAY_ANSWERS / LIMIT_RAY_ANSWER);
    stallers(LIMIT_RAY_ANSWERS / LIMIT_RAY_ANSWER + 1);
    stallers(CROWD - 1);
    return test_done();
}
