/* Heads that hang, lie, or are no heads at all: nothing goes because of them, little comes, status says why, and no other cluster is
 * asked later for it. */
#include "tests/world/scaled.h"

#include <mobula/grpc.h>

#include <math.h>

enum { GOOD = 4, BUSY_S = 120, LAG = RAY_GCS_EVERY_MS + RAY_GCS_GRID_MS };

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* 0 where nobody counts. */
static int64_t allocated(void)
{
    return __sanitizer_get_current_allocated_bytes ? (int64_t)__sanitizer_get_current_allocated_bytes() : 0;
}

/* ---- what a head may say ---- */

static struct slice keep(struct world *w, struct buf *b)
{
    struct slice copy = arena_dup(&w->arena, buf_slice(b));
    buf_free(b);
    return copy;
}

/* The state as it is now, with something more in it. */
static struct slice with(struct world *w, const struct fakeray *h, void (*add)(struct buf *b))
{
    struct slice outer = buf_slice(&h->state), inner = SLICE_NONE;
    struct proto_field f;
    struct err e = {0};
    CHECK(proto_next(&outer, &f, &e) && proto_bytes(&f, &inner, &e));
    struct buf b, whole;
    buf_init(&b, 64 * MIB);
    buf_init(&whole, 64 * MIB);
    buf_put(&b, inner);
    add(&b);
    proto_put_bytes(&whole, 1, buf_slice(&b));
    buf_free(&b);
    return keep(w, &whole);
}

static void add_node(struct buf *b, const char *resource, double amount, int64_t status, int64_t idle_ms)
{
    size_t at = proto_open(b, 3);
    proto_put_bytes(b, 1, SLICE("0123456789012345678901234567"));
    proto_put_bytes(b, 2, SLICE("a-stranger"));
    size_t entry = proto_open(b, 5);
    proto_put_bytes(b, 1, slice_of(resource));
    proto_put_double(b, 2, amount);
    proto_close(b, entry);
    proto_put_int(b, 8, status);
    proto_put_int(b, 9, idle_ms);
    proto_close(b, at);
}

static void add_demand(struct buf *b, double cpus, int64_t count)
{
    size_t demand = proto_open(b, 4), request = proto_open(b, 1), entry = proto_open(b, 1);
    proto_put_bytes(b, 1, SLICE("CPU"));
    proto_put_double(b, 2, cpus);
    proto_close(b, entry);
    proto_close(b, request);
    proto_put_int(b, 2, count);
    proto_close(b, demand);
}

static void add_nan(struct buf *b)
{
    add_node(b, "CPU", (double)NAN, RAY_NODE_RUNNING, 0);
}

static void add_negative_amount(struct buf *b)
{
    add_node(b, "CPU", -4, RAY_NODE_RUNNING, 0);
}

static void add_negative_count(struct buf *b)
{
    add_demand(b, 1, -7);
}

static void add_endless_count(struct buf *b)
{
    add_demand(b, 1, INT64_C(1) << 62);
}

static void add_short_id(struct buf *b)
{
    size_t at = proto_open(b, 3);
    proto_put_bytes(b, 1, SLICE("short"));
    proto_close(b, at);
}

static void add_wrong_type(struct buf *b)
{
    proto_put_int(b, 3, 12);
}

static void add_half(struct buf *b)
{
    buf_put(b, SLICE("\x1a\x7f"));
}

/* Nodes, each with a name that nobody knows, until the whole is so large. */
static void add_strangers(struct buf *b, size_t size)
{
    char id[RAY_NODE_ID + 1];
    for (uint32_t i = 0; b->len < size; i++) {
        snprintf(id, sizeof id, "%028u", i);
        size_t at = proto_open(b, 3);
        proto_put_bytes(b, 1, slice_of(id));
        proto_put_bytes(b, 2, SLICE("a pod of which nobody has ever heard, with a name that is long enough to fill a good part of it"));
        proto_close(b, at);
    }
}

static void add_megabytes(struct buf *b)
{
    add_strangers(b, (size_t)10 * 1000 * 1000);
}

static void add_what_is_allowed(struct buf *b)
{
    add_strangers(b, LIMIT_RAY_ANSWER - 64 * KIB);
}

static void add_a_thousand(struct buf *b)
{
    add_strangers(b, 128 * KIB);
}

/* ---- heads in trouble ---- */

struct trouble {
    const char *id, *reason, *words;
    void (*add)(struct buf *b);
    struct fakehead how;
    int64_t pace_ms, answer_ms;
    bool unreachable, refused;
};

static const struct trouble troubles[] = {
    {"garbage", "GCSAnswerInvalid", "no gRPC",
     .how.garbage = SLICE("\x7f\x45\x4c\x46 what is this, and why does it not end here?\r\n\r\n")},
    {"an HTTP/1 server", "GCSAnswerInvalid", "HTTP/1", .how.garbage = SLICE("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
     .how.plain = true},
    {"NaN", "GCSAnswerInvalid", "nan", .add = add_nan},
    {"a negative amount", "GCSAnswerInvalid", "-4", .add = add_negative_amount},
    {"a negative count", "GCSAnswerInvalid", "-7", .add = add_negative_count},
    {"an endless count", "GCSAnswerInvalid", "LIMIT_RAY_COUNT", .add = add_endless_count},
    {"an id of five bytes", "GCSAnswerInvalid", "5 bytes", .add = add_short_id},
    {"a field of another type", "GCSAnswerInvalid", "", .add = add_wrong_type},
    {"half a message", "GCSAnswerInvalid", "", .add = add_half},
    {"10 MB", "GCSAnswerInvalid", "at most", .add = add_megabytes},
    {"a byte a second", "GCSHangs", "", .how.per_step = 1, .pace_ms = 1000},
    {"a dead GCS behind an open port", "GCSHangs", "hangs", .how.hangs = true},
    {"answers that come too late", "GCSHangs", "", .answer_ms = RAY_GCS_MS + 1000},
    {"resets in the middle of answers", "GCSUnreachable", "", .how.cuts_after = 100},
    {"connections that end at each call", "GCSUnreachable", "closed", .how.cuts = true},
    {"calls that are refused", "GCSRefuses", "12", .how.refusal = "12"},
    {"a token that nobody has", "TokenRefused", "16", .how.refusal = "16"},
    {"a port that is closed", "GCSUnreachable", "refused", .refused = true},
    {"an address that does not answer", "GCSUnreachable", "", .unreachable = true},
};

static void begin_trouble(struct world *w, struct fakeray *h, const struct trouble *t)
{
    struct fakehead kept = h->fake;
    h->fake = t->how;
    h->fake.asked = kept.asked;
    h->fake.state = kept.state;
    h->fake.states = kept.states;
    h->pace_ms = t->pace_ms;
    h->answer_ms = t->answer_ms;
    h->unreachable = t->unreachable;
    h->refused = t->refused;
    h->message = t->add ? with(w, h, t->add) : SLICE_NONE;
    if (t->unreachable || t->refused)
        fakerays_cut(w, h, 256);
}

static void end_trouble(struct fakeray *h)
{
    struct fakehead kept = h->fake;
    h->fake = (struct fakehead){.asked = kept.asked, .state = kept.state, .states = kept.states};
    h->pace_ms = h->answer_ms = 0;
    h->unreachable = h->refused = false;
    h->message = SLICE_NONE;
}

static void make_clusters(struct world *w, struct fakeray *good[GOOD])
{
    make_scaled_world(w, false);
    apply_scaled(w, &(struct scaled){.name = "bad", .idle = 3, .max = 5});
    for (int i = 0; i < GOOD; i++) {
        char name[16];
        snprintf(name, sizeof name, "good%d", i);
        apply_scaled(w, &(struct scaled){.name = name, .idle = 3});
        good[i] = head_of(w, name);
    }
    world_run(w, 4000);
    fakeray_work(head_of(w, "bad"), 0, FAKERAY_CPUS, 3, false);
    for (int i = 0; i < GOOD; i++)
        fakeray_work(good[i], 0, FAKERAY_CPUS, 1, false);
    world_run(w, 5000);
    CHECK_INT(workers_of(w, "bad"), 3);
    for (int i = 0; i < GOOD; i++)
        good[i]->longest_ms = 0;
}

/* Its work ends when nobody can tell: the nodes are idle, and stay. Then it is well again. */
static void test_trouble(const struct trouble *t)
{
    struct world w;
    struct fakeray *good[GOOD];
    test_case("%s", t->id);
    make_clusters(&w, good);
    struct fakeray *bad = head_of(&w, "bad");
    begin_trouble(&w, bad, t);
    fakeray_work(bad, 0, 0, 0, false);
    uint32_t posts = w.sent.pod_posts;
    world_run(&w, BUSY_S * 1000);
    int64_t memory = allocated();
    world_run(&w, BUSY_S * 1000);
    CHECK(allocated() <= memory + 16 * KIB);
    CHECK_INT(workers_of(&w, "bad"), 3);
    CHECK_INT(w.sent.pod_posts, posts);
    CHECK_INT(w.sent.deletes, 0);
    CHECK_INT(bad->accepted + bad->declined, 0);
    CHECK_STR(scaling_condition(&w, "bad", "status"), "False");
    CHECK_STR(scaling_condition(&w, "bad", "reason"), t->reason);
    struct slice words = scaling_condition(&w, "bad", "message");
    if (!CHECK(memmem(words.ptr, words.len, t->words, strlen(t->words)) != NULL))
        printf("  \"%.*s\"\n", SLICE_ARG(words));
    for (int i = 0; i < GOOD; i++)
        CHECK(good[i]->longest_ms <= LAG);
    uint64_t before = apiserver_revision(w.server);
    world_run(&w, 20 * 1000);
    CHECK_INT(apiserver_revision(w.server), before);
    end_trouble(bad);
    world_run(&w, 60 * 1000);
    CHECK_INT(workers_of(&w, "bad"), 0);
    CHECK_INT(bad->accepted, 3);
    CHECK_STR(scaling_condition(&w, "bad", "reason"), "DemandMet");
    world_free(&w);
}

/* ---- heads that lie and are believed ---- */

static void add_many_demands(struct buf *b)
{
    for (int i = 0; i < 2000; i++)
        add_demand(b, 0.0001 * (i + 1), LIMIT_RAY_COUNT);
}

/* What is unknown here may be known to a later Ray: it is no ground for anything. */
static void add_unknown(struct buf *b)
{
    add_node(b, "wombats", 12, 77, 1000 * 1000);
    proto_put_int(b, 999, 1);
    proto_put_bytes(b, 1000, SLICE("\xff\xfe\xfd"));
    size_t at = proto_open(b, 4), request = proto_open(b, 1), entry = proto_open(b, 1);
    proto_put_bytes(b, 1, SLICE("wombats"));
    proto_put_double(b, 2, 1e6);
    proto_close(b, entry);
    proto_close(b, request);
    proto_put_int(b, 2, 3);
    proto_close(b, at);
}

static void test_lies(void)
{
    static const struct {
        const char *id;
        void (*add)(struct buf *b);
        uint32_t workers;
    } cases[] = {{"an endless demand: no more than the maximum", add_many_demands, 5},
                 {"resources, fields and states that nobody knows: as if they were not there", add_unknown, 3}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct world w;
        struct fakeray *good[GOOD];
        test_case("%s", cases[i].id);
        make_clusters(&w, good);
        struct fakeray *bad = head_of(&w, "bad");
        bad->message = with(&w, bad, cases[i].add);
        world_run(&w, BUSY_S * 1000);
        CHECK_INT(workers_of(&w, "bad"), cases[i].workers);
        int64_t memory = allocated();
        world_run(&w, BUSY_S * 1000);
        CHECK(allocated() <= memory + 16 * KIB);
        CHECK_INT(workers_of(&w, "bad"), cases[i].workers);
        CHECK_INT(bad->strange + bad->declined, 0);
        CHECK_STR(scaling_condition(&w, "bad", "reason"), "DemandUnmet");
        for (int k = 0; k < GOOD; k++)
            CHECK(good[k]->longest_ms <= LAG);
        world_free(&w);
    }
}

/* A head that names pods of another cluster, idle or dead: nothing happens to them, and their head is asked for no drain. */
static void test_other_clusters(void)
{
    struct world w;
    struct fakeray *good[GOOD];
    struct slice names[16];
    test_case("a head that names nodes of other clusters");
    make_clusters(&w, good);
    struct fakeray *bad = head_of(&w, "bad");
    uint32_t count = pod_names(&w, "worker", names, COUNT_OF(names));
    CHECK_INT(count, 3 + GOOD);
    struct buf b, whole;
    buf_init(&b, MIB);
    buf_init(&whole, MIB);
    for (const struct fakeray_node *n = good[0]->nodes; n; n = n->next)
        for (int dead = 0; dead < 2; dead++) {
            char id[RAY_NODE_ID];
            memcpy(id, n->id, sizeof id);
            id[0] = (char)(id[0] + dead); /* no node twice */
            size_t at = proto_open(&b, 3);
            proto_put_bytes(&b, 1, (struct slice){id, sizeof id});
            proto_put_bytes(&b, 2, slice_of(n->pod.name));
            proto_put_int(&b, 8, dead ? RAY_NODE_DEAD : RAY_NODE_IDLE);
            proto_put_int(&b, 9, dead ? 0 : 1000 * 1000);
            proto_put_bytes(&b, 10, slice_of(n->pod.ip));
            proto_close(&b, at);
        }
    proto_put_bytes(&whole, 1, buf_slice(&b));
    bad->message = keep(&w, &whole);
    buf_free(&b);
    world_run(&w, BUSY_S * 1000);
    CHECK_INT(pod_names(&w, "worker", names, COUNT_OF(names)), count);
    CHECK_INT(w.sent.deletes, 0);
    CHECK_INT(bad->accepted + bad->declined + bad->strange, 0);
    for (int i = 0; i < GOOD; i++)
        CHECK(good[i]->accepted + good[i]->declined + good[i]->strange == 0 && workers_of(&w, good[i]->cluster) == 1);
    CHECK_STR(scaling_condition(&w, "bad", "reason"), "HeadNotJoined"); /* its own node is not in there */
    world_free(&w);
}

/* It says the same again and again: what it said of pods that are gone or new is no ground, and a raylet that works does not drain. */
static void test_stale(void)
{
    struct world w;
    struct fakeray *good[GOOD];
    test_case("a head that says the same for ever");
    make_clusters(&w, good);
    struct fakeray *bad = head_of(&w, "bad");
    fakeray_work(bad, 0, FAKERAY_CPUS, 1, false);
    world_run(&w, 2500); /* two are idle, not yet for long enough */
    bad->stale = true;
    fakeray_work(bad, 0, FAKERAY_CPUS, 3, false);
    world_run(&w, BUSY_S * 1000);
    CHECK_INT(workers_of(&w, "bad"), 3);
    CHECK_INT(w.sent.deletes, 0);
    CHECK_INT(bad->accepted + bad->strange, 0);
    bad->stale = false;
    world_run(&w, 10 * 1000);
    CHECK_INT(workers_of(&w, "bad"), 3);
    world_free(&w);
}

/* Many of them hold large answers at the same time, each within its limit: together they may not. Whoever is slowest gives way, so the head
 * of a large cluster is heard as before. */
static void test_crowd(void)
{
    enum { STALLING = 20 };
    struct world w;
    struct fakeray *bad[STALLING], *good, *large;
    test_case("heads that stall with large answers");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "good", .idle = 3});
    apply_scaled(&w, &(struct scaled){.name = "large", .idle = 3});
    for (int i = 0; i < STALLING; i++) {
        char name[16];
        snprintf(name, sizeof name, "bad%d", i);
        apply_scaled(&w, &(struct scaled){.name = name, .replicas = 1, .idle = 3});
        bad[i] = head_of(&w, name);
        fakeray_work(bad[i], 0, FAKERAY_CPUS, 1, false);
    }
    good = head_of(&w, "good");
    large = head_of(&w, "large");
    world_run(&w, 6000);
    fakeray_work(large, 0, FAKERAY_CPUS, 1, false);
    struct slice message = with(&w, bad[0], add_what_is_allowed);
    for (int i = 0; i < STALLING; i++) {
        bad[i]->message = message;
        bad[i]->fake.stalls_after = LIMIT_RAY_ANSWER - 64 * KIB;
        fakeray_work(bad[i], 0, 0, 0, false);
    }
    world_run(&w, 2000);
    large->message = with(&w, large, add_a_thousand); /* as it is now, for ever */
    good->longest_ms = large->longest_ms = 0;
    world_run(&w, BUSY_S * 1000);
    int crowded = 0;
    for (int i = 0; i < STALLING; i++) {
        char name[16];
        snprintf(name, sizeof name, "bad%d", i);
        CHECK_INT(workers_of(&w, name), 1);
        CHECK_STR(scaling_condition(&w, name, "status"), "False");
        struct slice reason = scaling_condition(&w, name, "reason");
        crowded += slice_eq(reason, SLICE("GCSAnswersTooLarge"));
        CHECK(slice_eq(reason, SLICE("GCSAnswersTooLarge")) || slice_eq(reason, SLICE("GCSHangs")));
    }
    CHECK(crowded > 0);
    CHECK_INT(w.sent.deletes, 0);
    CHECK(good->longest_ms <= LAG && large->longest_ms <= LAG);
    CHECK_INT(workers_of(&w, "large"), 1);
    CHECK_STR(scaling_condition(&w, "large", "status"), "True");
    world_free(&w);
}

/* What a head that has fallen silent said is no ground for ever: containers begin again. */
static void test_back_unheard(void)
{
    struct world w;
    struct slice names[2];
    test_case("a pod that Ray had ended in, and that could not be deleted, runs Ray again when nobody says so: it stays");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .min = 2, .replicas = 2});
    struct fakeray *h = head_of(&w, "c");
    world_run(&w, 4000);
    CHECK_INT(pod_names(&w, "worker", names, 2), 2);
    char uid[sizeof h->nodes->pod.uid];
    memcpy(uid, fakeray_node_of(h, names[1])->pod.uid, sizeof uid);
    override(&w, "DELETE", pods_path, 503, false, 1000000);
    fakeray_kill_raylet(h, names[1].ptr);
    world_run(&w, 3000);
    CHECK(w.sent.deletes > 0);
    h->fake.hangs = true;
    fakeray_container_ends(&w, uid);
    world_run(&w, 1000);
    fakeray_container_begins(&w, uid);
    world_run(&w, SCALE_STALE_MS + OPERATOR_PLAN_MS);
    override(&w, "DELETE", pods_path, 503, false, 0);
    uint32_t deletes = w.sent.deletes;
    world_run(&w, 120 * 1000);
    CHECK_INT(w.sent.deletes, deletes);
    test_case("and works when its head speaks again");
    h->fake.hangs = false;
    world_run(&w, 30 * 1000);
    CHECK_INT(w.sent.deletes, deletes);
    CHECK_INT(fakeray_nodes(h), 2);
    CHECK_INT(workers_of(&w, "c"), 2);
    world_free(&w);
}

static void test_headless(void)
{
    struct world w;
    test_case("a cluster whose head has gone does not say that it scales by demand");
    make_scaled_world(&w, false);
    apply_scaled(&w, &(struct scaled){.name = "c", .min = 1});
    world_run(&w, 5000);
    CHECK_STR(scaling_condition(&w, "c", "status"), "True");
    override(&w, "POST", pods_path, 403, false, UINT32_MAX);
    CHECK_INT(world_call(&w, "DELETE", arena_printf(&w.arena, "%s/c-head", pods_path).ptr, "application/json", SLICE("{}")), 200);
    world_run(&w, 40 * 1000);
    CHECK_STR(scaling_condition(&w, "c", "status"), "False");
    CHECK_STR(scaling_condition(&w, "c", "reason"), "HeadNotRunning");
    override(&w, "POST", pods_path, 403, false, 0);
    world_run(&w, 3 * 60 * 1000);
    CHECK_STR(scaling_condition(&w, "c", "status"), "True");
    world_free(&w);
}

int main(void)
{
    log_global.fd = -1;
    for (size_t i = 0; i < COUNT_OF(troubles); i++)
        test_trouble(&troubles[i]);
    test_headless();
    test_lies();
    test_other_clusters();
    test_stale();
    test_crowd();
    test_back_unheard();
    return test_done();
}
