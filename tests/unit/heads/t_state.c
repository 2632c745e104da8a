#include "state_text.h"

#include <mobula/grpc.h>

/* ---- what real heads said, against what Ray's own classes read in it ---- */

static void recorded(void)
{
    static const char *const names[] = {"2.9-pending", "2.40-pending", "2.60-all", "2.60-idle", "2.60-backlog", "2.60-gangs"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct arena a = {0};
        struct err e = {0};
        struct ray_state state;
        struct buf text;
        test_case("state-%s", names[i]);
        buf_init(&text, MIB);
        struct slice reply = guarded(read_file(arena_printf(&a, "tests/data/ray/gcs/state-%s.bin", names[i]).ptr, &a));
        struct slice want = read_file(arena_printf(&a, "tests/data/ray/gcs/state-%s.txt", names[i]).ptr, &a);
        CHECK(ray_state_read(reply, &a, &state, &e));
        text_of_state(&text, &state);
        CHECK_SLICE(buf_slice(&text), want);
        buf_free(&text);
        arena_free(&a);
    }
}

/* A beginning of a message is another message or malformed; when it is malformed nothing of it is handed out. */
static void cut_anywhere(void)
{
    struct arena a = {0};
    struct slice whole = read_file("tests/data/ray/gcs/state-2.60-all.bin", &a);
    for (size_t n = 0; n < whole.len; n++) {
        struct arena own = {0};
        struct err e = {0};
        struct ray_state state;
        test_case("the first %zu bytes", n);
        if (!CHECK(!ray_state_read(guarded(slice_head(whole, n)), &own, &state, &e)) || !CHECK(e.code != ERR_NONE) ||
            !CHECK(!state.nodes && !state.node_count && !state.demands.count && !state.gang_count && !state.session.ptr))
            break;
        arena_free(&own);
    }
    arena_free(&a);
}

/* ---- heads that lie ---- */

/* What a test changes in a small state. */
struct lie {
    struct slice id; /* of the only node */
    int64_t status, idle_ms, count, op;
    double amount, left; /* left: of its CPUs; 0: not said */
    struct slice resource;
    bool twice; /* the same node twice */
};

static void put_amount(struct buf *b, uint32_t number, struct slice name, double amount)
{
    size_t at = proto_open(b, number);
    proto_put_bytes(b, 1, name);
    proto_put_double(b, 2, amount);
    proto_close(b, at);
}

static void put_node(struct buf *b, const struct lie *l)
{
    size_t node = proto_open(b, 3);
    proto_put_bytes(b, 1, l->id);
    if (l->left != 0)
        put_amount(b, 4, SLICE("CPU"), l->left);
    put_amount(b, 5, SLICE("CPU"), 4);
    put_amount(b, 5, l->resource, l->amount);
    proto_put_int(b, 8, l->status);
    proto_put_int(b, 9, l->idle_ms);
    proto_close(b, node);
}

static void put_demand(struct buf *b, const struct lie *l)
{
    size_t demand = proto_open(b, 4), request = proto_open(b, 1);
    put_amount(b, 1, SLICE("CPU"), 1);
    size_t selector = proto_open(b, 3), condition = proto_open(b, 1);
    proto_put_bytes(b, 1, SLICE("zone"));
    proto_put_int(b, 2, l->op);
    proto_put_bytes(b, 3, SLICE("a"));
    proto_close(b, condition);
    proto_close(b, selector);
    proto_close(b, request);
    proto_put_int(b, 2, l->count);
    proto_close(b, demand);
}

static bool read_lie(const struct lie *l, struct arena *a, struct ray_state *out, struct err *e)
{
    struct buf b;
    buf_init(&b, 64 * KIB);
    size_t state = proto_open(&b, 1);
    put_node(&b, l);
    if (l->twice)
        put_node(&b, l);
    put_demand(&b, l);
    proto_close(&b, state);
    bool ok = ray_state_read(arena_dup(a, buf_slice(&b)), a, out, e);
    buf_free(&b);
    return ok;
}

#define ID "0123456789012345678901234567"
static const struct lie honest = {.id = SLICE(ID), .status = 3, .idle_ms = 70, .count = 2, .op = 1, .amount = 2, .resource = SLICE("x")};

static void lies(void)
{
    const struct {
        const char *id;
        struct lie lie;
        const char *says; /* NULL: it is taken */
    } cases[] = {
        {"honest", honest, NULL},
        {"short id", {.id = SLICE("0123"), .resource = SLICE("x")}, "a node's id of 4 bytes"},
        {"hexadecimal id", {.id = SLICE(ID ID), .resource = SLICE("x")}, "a node's id of 56 bytes"},
        {"no id", {.resource = SLICE("x")}, "a node's id of 0 bytes"},
        {"negative idle time of a node that is", {.id = SLICE(ID), .status = 3, .idle_ms = -1, .resource = SLICE("x")}, NULL},
        {"negative count", {.id = SLICE(ID), .count = -1, .resource = SLICE("x")}, "that -1 tasks of one shape wait"},
        {"count at the limit", {.id = SLICE(ID), .count = LIMIT_RAY_COUNT, .resource = SLICE("x")}, NULL},
        {"count one past it", {.id = SLICE(ID), .count = LIMIT_RAY_COUNT + 1, .resource = SLICE("x")}, "LIMIT_RAY_COUNT"},
        {"negative amount", {.id = SLICE(ID), .amount = -0.5, .resource = SLICE("x")}, "-0.5 of resource \"x\""},
        {"less than nothing left", {.id = SLICE(ID), .left = -1, .resource = SLICE("x")}, NULL},
        {"infinitely less", {.id = SLICE(ID), .left = -__builtin_inf(), .resource = SLICE("x")}, "-inf of resource \"CPU\""},
        {"not a number left", {.id = SLICE(ID), .left = __builtin_nan(""), .resource = SLICE("x")}, "nan of resource \"CPU\""},
        {"not a number", {.id = SLICE(ID), .amount = __builtin_nan(""), .resource = SLICE("x")}, "nan of resource \"x\""},
        {"infinity", {.id = SLICE(ID), .amount = __builtin_inf(), .resource = SLICE("x")}, "inf of resource \"x\""},
        {"amount at the limit", {.id = SLICE(ID), .amount = (double)LIMIT_RAY_AMOUNT, .resource = SLICE("x")}, NULL},
        {"amount one past it", {.id = SLICE(ID), .amount = (double)LIMIT_RAY_AMOUNT + 1, .resource = SLICE("x")}, "LIMIT_RAY_AMOUNT"},
        {"a resource twice", {.id = SLICE(ID), .amount = 1, .resource = SLICE("CPU")}, "resource \"CPU\" twice"},
        {"a name that is no text", {.id = SLICE(ID), .amount = 1, .resource = SLICE("\xff")}, "not UTF-8"},
        {"one node twice", {.id = SLICE(ID), .resource = SLICE("x"), .twice = true}, "one node twice"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct err e = {0};
        struct ray_state state;
        test_case("%s", cases[i].id);
        CHECK_INT(read_lie(&cases[i].lie, &a, &state, &e), cases[i].says == NULL);
        CHECK(cases[i].says ? strstr(e.text, cases[i].says) != NULL : e.code == ERR_NONE);
        CHECK_INT(state.node_count, cases[i].says == NULL);
        arena_free(&a);
    }
}

/* Numbers that a later Ray may mean something by. */
static void unknown(void)
{
    struct arena a = {0};
    struct ray_state state;
    struct lie l = honest;
    test_case("known");
    CHECK(read_lie(&l, &a, &state, NULL));
    CHECK_INT(state.nodes[0].status, RAY_NODE_IDLE);
    CHECK_INT(state.nodes[0].idle_ms, 70);
    CHECK_INT(state.demands.list[0].request.selectors[0].list[0].value_count, 1);
    test_case("unknown: not idle, and a condition that no node meets");
    l.status = 5;
    l.op = 3;
    CHECK(read_lie(&l, &a, &state, NULL));
    CHECK_INT(state.nodes[0].status, RAY_NODE_UNKNOWN);
    CHECK_INT(state.nodes[0].idle_ms, 0);
    CHECK_INT(state.demands.list[0].request.selectors[0].list[0].value_count, 0);
    CHECK(!state.demands.list[0].request.selectors[0].list[0].not_in);
    l.status = -1;
    CHECK(read_lie(&l, &a, &state, NULL));
    CHECK_INT(state.nodes[0].status, RAY_NODE_UNKNOWN);
    test_case("running: no idle time whatever it says");
    l.status = 1;
    CHECK(read_lie(&l, &a, &state, NULL));
    CHECK_INT(state.nodes[0].idle_ms, 0);
    test_case("idle since a time that is still to come, as the head's clock was set back: idle, and not for long");
    l.status = 3;
    l.idle_ms = -3600 * 1000;
    CHECK(read_lie(&l, &a, &state, NULL));
    CHECK_INT(state.nodes[0].status, RAY_NODE_IDLE);
    CHECK_INT(state.nodes[0].idle_ms, 0);
    test_case("a CPU that was lent to another task is owed: of CPUs there is nothing left");
    l.left = -1;
    CHECK(read_lie(&l, &a, &state, NULL));
    CHECK_INT(state.nodes[0].available.count, 0);
    CHECK_INT(state.nodes[0].total.count, 2);
    test_case("a count of 0 is no demand");
    l.count = 0;
    CHECK(read_lie(&l, &a, &state, NULL));
    CHECK_INT(state.demands.count, 0);
    arena_free(&a);
}

/* 0.1 + 0.2 is 0.3; what is finer than Ray's own steps is rounded, and rounded to nothing is nothing. */
static void fixed_point(void)
{
    static const struct {
        double units;
        int64_t want;
    } cases[] = {{0.1, 1000}, {0.2, 2000}, {0.3, 3000}, {0.00005, 1}, {0.00004, 0}, {-0.00004, 0}, {1e9 + 0.5, 10000000005000}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct ray_state state;
        struct lie l = honest;
        test_case("%g", cases[i].units);
        l.amount = cases[i].units;
        if (CHECK(read_lie(&l, &a, &state, NULL)) && CHECK_INT(state.nodes[0].total.count, cases[i].want ? 2 : 1) && cases[i].want)
            CHECK_INT(state.nodes[0].total.list[1].amount, cases[i].want);
        arena_free(&a);
    }
}

/* ---- limits ---- */

/* One node with so many resources and so many labels. */
static bool crowded(int resources, int labels, struct err *e)
{
    struct arena a = {0};
    struct buf b;
    struct ray_state state;
    buf_init(&b, MIB);
    size_t whole = proto_open(&b, 1), node = proto_open(&b, 3);
    proto_put_bytes(&b, 1, SLICE(ID));
    for (int i = 0; i < resources; i++)
        put_amount(&b, 5, arena_printf(&a, "r%d", i), 1);
    for (int i = 0; i < labels; i++) {
        size_t at = proto_open(&b, 13);
        proto_put_bytes(&b, 1, arena_printf(&a, "l%d", i));
        proto_close(&b, at);
    }
    proto_close(&b, node);
    proto_close(&b, whole);
    bool ok = ray_state_read(guarded(buf_slice(&b)), &a, &state, e);
    CHECK(!ok || (state.nodes[0].total.count == (uint32_t)resources && state.nodes[0].label_count == (uint32_t)labels));
    buf_free(&b);
    arena_free(&a);
    return ok;
}

/* So many empty gangs, which are cheap to write and not to keep. */
static bool many_gangs(size_t gangs, struct err *e)
{
    struct arena a = {0};
    struct buf b;
    struct ray_state state;
    buf_init(&b, 4 * MIB);
    size_t whole = proto_open(&b, 1);
    for (size_t i = 0; i < gangs; i++)
        proto_close(&b, proto_open(&b, 5));
    proto_close(&b, whole);
    bool ok = ray_state_read(buf_slice(&b), &a, &state, e);
    CHECK_INT(state.gang_count, ok ? gangs : 0);
    buf_free(&b);
    arena_free(&a);
    return ok;
}

static void limits(void)
{
    struct err e = {0};
    size_t most = LIMIT_RAY_STATE / sizeof(struct ray_gang);
    test_case("resources and labels of one node");
    CHECK(crowded(LIMIT_RAY_RESOURCES, LIMIT_RAY_LABELS, &e));
    CHECK(!crowded(LIMIT_RAY_RESOURCES + 1, 0, &e) && strstr(e.text, "LIMIT_RAY_RESOURCES"));
    e = (struct err){0};
    CHECK(!crowded(0, LIMIT_RAY_LABELS + 1, &e) && strstr(e.text, "LIMIT_RAY_LABELS"));
    test_case("a node with 1,000 bundles of placement groups on it");
    CHECK(crowded(4 * 1000 + 10, 0, &e));
    test_case("memory of the whole");
    e = (struct err){0};
    CHECK(many_gangs(most, &e));
    CHECK(!many_gangs(most + 1, &e) && strstr(e.text, "LIMIT_RAY_STATE"));
}

/* A state of these nodes; each is what the other cases change. */
static struct ray_state two_nodes(struct ray_node nodes[2], const struct ray_amount *cpus, const struct ray_label *label)
{
    nodes[0] = (struct ray_node){.id = SLICE("a"),
                                 .instance_id = SLICE("b"),
                                 .type = SLICE("c"),
                                 .ip = SLICE("d"),
                                 .status = RAY_NODE_IDLE,
                                 .idle_ms = 7,
                                 .total = {cpus, 1},
                                 .labels = label,
                                 .label_count = 1};
    nodes[1] = (struct ray_node){.id = SLICE("ab"), .status = RAY_NODE_RUNNING};
    return (struct ray_state){.session = SLICE("s"), .version = 1, .nodes = nodes, .node_count = 2};
}

static void quiet(void)
{
    struct ray_node nodes[2], other;
    struct ray_amount cpus = {SLICE("CPU"), 1}, more = {SLICE("CPU"), 2};
    struct ray_label label = {SLICE("k"), SLICE("v")}, longer = {SLICE("kv"), SLICE("")};
    struct ray_state s = two_nodes(nodes, &cpus, &label);
    const uint64_t as_it_was = ray_state_quiet(&s);
    test_case("what says the same: another version, more time without work, another order");
    CHECK(as_it_was != 0);
    s.version = 2;
    nodes[0].idle_ms = 1000;
    CHECK(ray_state_quiet(&s) == as_it_was);
    other = nodes[0];
    nodes[0] = nodes[1];
    nodes[1] = other;
    CHECK(ray_state_quiet(&s) == as_it_was);
    test_case("what does not");
#define CHANGED(change)                                                                                                                    \
    do {                                                                                                                                   \
        s = two_nodes(nodes, &cpus, &label);                                                                                               \
        change;                                                                                                                            \
        CHECK(ray_state_quiet(&s) != as_it_was && ray_state_quiet(&s) != 0);                                                               \
    } while (0)
    CHANGED(s.session = SLICE("t"));
    CHANGED(s.node_count = 1);
    CHANGED(nodes[0].id = SLICE("e"));
    CHANGED(nodes[0].instance_id = SLICE("e"));
    CHANGED(nodes[0].type = SLICE("e"));
    CHANGED(nodes[0].ip = SLICE("e"));
    CHANGED((nodes[0].id = SLICE("ab"), nodes[0].instance_id = SLICE("")));
    CHANGED(nodes[0].status = RAY_NODE_DRAINING);
    CHANGED(nodes[0].total = (struct ray_bundle){0});
    CHANGED(nodes[0].total.list = &more);
    CHANGED((nodes[0].available = nodes[0].total, nodes[0].total = (struct ray_bundle){0}));
    CHANGED(nodes[0].labels = &longer);
    CHANGED(nodes[0].label_count = 0);
#undef CHANGED
    test_case("what waits is never the same");
    const struct ray_demand demand = {.count = 1};
    const struct ray_demands asked = {&demand, 1};
    const struct ray_gang gang = {0};
    s = two_nodes(nodes, &cpus, &label);
    s.demands = asked;
    CHECK_INT(ray_state_quiet(&s), 0);
    s = two_nodes(nodes, &cpus, &label);
    s.gangs = &gang, s.gang_count = 1;
    CHECK_INT(ray_state_quiet(&s), 0);
    s = two_nodes(nodes, &cpus, &label);
    s.constraints = &asked, s.constraint_count = 1;
    CHECK_INT(ray_state_quiet(&s), 0);
}

int main(void)
{
    quiet();
    recorded();
    cut_anywhere();
    lies();
    unknown();
    fixed_point();
    limits();
    return test_done();
}
