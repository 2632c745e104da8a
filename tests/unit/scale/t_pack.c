/* Shapes, rooms and who goes where; whole decisions are tested with the kinds. Amounts are written in quarters of a unit. */
#include "../test.h"

#include <mobula/scale.h>

enum { QUARTER = RAY_QUANTUM / 4, MANY = 8 };

static struct arena arena;

/* "CPU 4 GPU 8": sorted as it is written. */
static struct ray_bundle bundle(const char *text)
{
    struct ray_amount *list = arena_array(&arena, MANY, sizeof *list);
    struct ray_bundle b = {.list = list};
    struct slice rest = slice_of(text);
    while (!slice_empty(rest)) {
        struct slice name = slice_cut(&rest, ' '), number = slice_cut(&rest, ' ');
        int64_t n = 0;
        CHECK(slice_int(number, &n));
        list[b.count++] = (struct ray_amount){name, n * QUARTER};
    }
    return b;
}

static struct ray_request *request(const char *text)
{
    struct ray_request *r = arena_new(&arena, struct ray_request);
    r->bundle = bundle(text);
    return r;
}

static struct ray_want want(struct ray_pack *p, const char *text, int64_t count)
{
    struct ray_want w = {.count = count};
    CHECK(ray_pack_shape(p, request(text), &w.shape, NULL));
    return w;
}

static struct ray_pack pack_of(const char *names)
{
    struct ray_pack p;
    ray_pack_init(&p, &arena);
    struct ray_bundle b = bundle(names);
    ray_pack_learn(&p, &b);
    return p;
}

static void add(struct ray_pack *p, struct ray_rooms *rooms, const char *text, int64_t n)
{
    struct ray_bundle b = bundle(text);
    struct ray_room room = ray_pack_room(p, &b, NULL, 0);
    ray_pack_add(p, rooms, &room, n);
}

static void test_fit(void)
{
    test_case("fit");
    struct ray_pack p = pack_of("CPU 1 GPU 1 a 1");
    struct ray_rooms rooms = {0};
    add(&p, &rooms, "CPU 16", 2);
    add(&p, &rooms, "CPU 16 GPU 4", 1);
    struct ray_want wants[] = {want(&p, "CPU 4", 7), want(&p, "CPU 4 GPU 4", 2), want(&p, "CPU 12", 1), want(&p, "CPU 4", 3)};
    uint32_t count = ray_pack_sort(wants, COUNT_OF(wants));
    CHECK_INT(count, 3);
    CHECK_INT(wants[0].shape.count, 2);
    CHECK_INT(wants[1].shape.parts[0].amount, 12 * QUARTER);
    CHECK_INT(wants[2].count, 10);
    ray_pack_fit(&rooms, wants, count);
    CHECK_INT(wants[0].count, 1); /* one GPU is there */
    CHECK_INT(wants[1].count, 0); /* the first room: 4 are left there */
    CHECK_INT(wants[2].count, 2); /* 1 + 4 + 3 of 10 */
    CHECK_INT(rooms.list[0].parts[0].amount, 0);
    CHECK_INT(rooms.list[2].parts[0].amount, 0);
    CHECK(rooms.list[0].used && rooms.list[1].used && rooms.list[2].used);
}

static void test_tenths(void)
{
    test_case("0.1 three times is 0.3");
    struct ray_pack p = pack_of("CPU 1");
    struct ray_amount third = {SLICE("CPU"), 3000}, tenth = {SLICE("CPU"), 1000};
    struct ray_request r = {.bundle = {&tenth, 1}};
    struct ray_bundle b = {&third, 1};
    struct ray_room room = ray_pack_room(&p, &b, NULL, 0);
    struct ray_rooms rooms = {0};
    ray_pack_add(&p, &rooms, &room, 1);
    struct ray_want w = {.count = 4};
    CHECK(ray_pack_shape(&p, &r, &w.shape, NULL));
    ray_pack_fit(&rooms, &w, 1);
    CHECK_INT(w.count, 1);
}

static void test_spread(void)
{
    test_case("spread");
    struct ray_pack p = pack_of("CPU 1");
    struct ray_rooms rooms = {0};
    add(&p, &rooms, "CPU 16", 3);
    const struct ray_label mine = {SLICE("_PG_1"), SLICE("")}, other = {SLICE("_PG_2"), SLICE("")}, nobody = {0};
    rooms.list[1].labels = &mine;
    rooms.list[1].label_count = 1;
    struct ray_put put[MANY];
    struct ray_want w = want(&p, "CPU 4", 4);
    uint32_t n = ray_pack_spread(&rooms, &w, 1, &mine, put);
    CHECK_INT(n, 2);
    CHECK_INT(w.count, 2);
    CHECK_INT(rooms.list[0].parts[0].amount, 12 * QUARTER);
    CHECK_INT(rooms.list[1].parts[0].amount, 16 * QUARTER);
    ray_pack_take_back(put, n);
    CHECK_INT(rooms.list[0].parts[0].amount, 16 * QUARTER);
    CHECK(!rooms.list[0].used);
    w.count = 4;
    CHECK_INT(ray_pack_spread(&rooms, &w, 1, &other, put), 3);
    w.count = 1;
    CHECK_INT(ray_pack_spread(&rooms, &w, 1, &nobody, put), 1);
}

static const struct slice zones[] = {SLICE("a"), SLICE("b")};
static const struct ray_condition in_a = {SLICE("zone"), zones, 1, false}, not_b = {SLICE("zone"), zones + 1, 1, true};
static const struct ray_selector only_a = {&in_a, 1}, no_b = {&not_b, 1}, any = {NULL, 0};

static void test_selectors(void)
{
    test_case("selectors");
    static const struct {
        const struct ray_selector *list;
        uint32_t count, at;
        const char *zone;
        bool met;
    } cases[] = {
        {&only_a, 1, 0, "a", true}, {&only_a, 1, 0, "b", false}, {&only_a, 1, 0, NULL, false}, {&no_b, 1, 0, "b", false},
        {&no_b, 1, 0, NULL, true},  {&no_b, 1, 0, "a", true},    {&any, 1, 0, "b", true},      {NULL, 0, 0, "b", true},
    };
    uint32_t at;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("selectors %zu", i);
        struct ray_request r = {.selectors = cases[i].list, .selector_count = cases[i].count};
        struct ray_label label = {SLICE("zone"), slice_of(cases[i].zone)};
        CHECK(ray_selected(&r, &label, cases[i].zone != NULL, &at) == cases[i].met);
        CHECK_INT(at, cases[i].at);
    }
    const struct ray_selector either[] = {only_a, no_b};
    struct ray_request r = {.selectors = either, .selector_count = 2, .bundle = bundle("CPU 4")};
    CHECK(ray_selected(&r, NULL, 0, &at));
    CHECK_INT(at, 1);

    struct ray_pack p = pack_of("CPU 1");
    struct ray_want w = {.count = 8}, again = {.count = 1};
    CHECK(ray_pack_shape(&p, &r, &w.shape, NULL) && ray_pack_shape(&p, &r, &again.shape, NULL));
    CHECK_INT(p.selector_count, 1);
    CHECK_INT(w.shape.selector, again.shape.selector);
    struct ray_label b = {SLICE("zone"), SLICE("b")}, a = {SLICE("zone"), SLICE("a")};
    struct ray_bundle four = bundle("CPU 16");
    struct ray_room in_b = ray_pack_room(&p, &four, &b, 1), in_zone_a = ray_pack_room(&p, &four, &a, 1);
    struct ray_rooms rooms = {0};
    ray_pack_add(&p, &rooms, &in_b, 1);
    ray_pack_add(&p, &rooms, &in_zone_a, 1);
    ray_pack_fit(&rooms, &w, 1);
    CHECK_INT(w.count, 4);
    CHECK(!rooms.list[0].used && rooms.list[1].used);
    /* The kind that meets the earlier selector is chosen, though the other's name is greater. */
    struct ray_room plain = ray_pack_room(&p, &four, NULL, 0);
    struct ray_supply kinds[] = {{.name = SLICE("z"), .full = plain, .hosts = 1, .left = 9},
                                 {.name = SLICE("a"), .full = in_zone_a, .hosts = 1, .left = 9}};
    ray_pack_choose(&p, kinds, 2, &w, 1, 9);
    CHECK_INT(kinds[0].added, 0);
    CHECK_INT(kinds[1].added, 1);
}

static void test_choose(void)
{
    test_case("priority before fit, fit before name, hosts come together");
    struct ray_pack p = pack_of("CPU 1");
    struct ray_bundle small = bundle("CPU 8"), large = bundle("CPU 64");
    struct ray_supply kinds[] = {
        {.name = SLICE("large"), .full = ray_pack_room(&p, &large, NULL, 0), .hosts = 1, .left = 2, .priority = 1},
        {.name = SLICE("pair"), .full = ray_pack_room(&p, &small, NULL, 0), .hosts = 2, .left = 5},
        {.name = SLICE("one"), .full = ray_pack_room(&p, &small, NULL, 0), .hosts = 1, .left = 5},
    };
    struct ray_want w = want(&p, "CPU 8", 3);
    ray_pack_choose(&p, kinds, COUNT_OF(kinds), &w, 1, 100);
    CHECK_INT(w.count, 0);
    CHECK_INT(kinds[0].added, 1);
    kinds[0].left = kinds[0].added = 0;
    w.count = 6;
    ray_pack_choose(&p, kinds, COUNT_OF(kinds), &w, 1, 100);
    CHECK_INT(kinds[1].added, 4); /* the fifth would be half a pair */
    CHECK_INT(kinds[2].added, 2);
    kinds[1].left = kinds[2].left = 9;
    kinds[1].added = kinds[2].added = 0;
    w.count = 5;
    ray_pack_choose_spread(&p, kinds, COUNT_OF(kinds), &w, 1, 3);
    CHECK_INT(kinds[1].added + kinds[2].added, 3);
    CHECK_INT(w.count, 2);
}

static void test_garbage(void)
{
    test_case("garbage");
    struct ray_pack p = pack_of("CPU 1");
    const int64_t most = LIMIT_RAY_AMOUNT * RAY_QUANTUM;
    static const struct {
        int64_t amount;
        bool ok;
    } cases[] = {{0, true}, {1, true}, {-1, false}, {INT64_MIN, false}, {INT64_MAX, false}};
    struct ray_shape s;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct ray_amount cpu = {SLICE("CPU"), cases[i].amount};
        struct ray_request r = {.bundle = {&cpu, 1}};
        struct err e = {0};
        CHECK(ray_pack_shape(&p, &r, &s, &e) == cases[i].ok && (e.code == ERR_NONE) == cases[i].ok);
    }
    struct ray_amount at = {SLICE("CPU"), most}, past = {SLICE("CPU"), most + 1};
    struct ray_request r = {.bundle = {&at, 1}};
    CHECK(ray_pack_shape(&p, &r, &s, NULL));
    r.bundle.list = &past;
    CHECK(!ray_pack_shape(&p, &r, &s, NULL));
    struct ray_bundle offered = {&past, 1};
    CHECK_INT(ray_pack_room(&p, &offered, NULL, 0).parts[0].amount, 0);
    struct ray_bundle twice = bundle("CPU 4 CPU 8");
    struct ray_request two = {.bundle = twice};
    CHECK(ray_pack_shape(&p, &two, &s, NULL) && s.count == 1);
    CHECK_INT(s.parts[0].amount, 8 * QUARTER);
    CHECK_INT(ray_pack_room(&p, &twice, NULL, 0).parts[0].amount, 4 * QUARTER);
}

static void test_limits(void)
{
    test_case("limits");
    struct ray_pack p;
    ray_pack_init(&p, &arena);
    struct ray_amount *list = arena_array(&arena, LIMIT_RAY_PACK_NAMES + 1, sizeof *list);
    for (int i = 0; i <= LIMIT_RAY_PACK_NAMES; i++)
        list[i] = (struct ray_amount){arena_printf(&arena, "r%05d", i), QUARTER};
    struct ray_bundle all = {list, LIMIT_RAY_PACK_NAMES + 1};
    ray_pack_learn(&p, &all);
    CHECK_INT(p.name_count, LIMIT_RAY_PACK_NAMES);
    struct ray_request r = {.bundle = {list, LIMIT_RAY_PACK_NAMES}};
    struct ray_shape s;
    struct err e = {0};
    CHECK(ray_pack_shape(&p, &r, &s, &e));
    r.bundle.count++;
    CHECK(!ray_pack_shape(&p, &r, &s, &e) && e.code == ERR_LIMIT);

    for (int i = 0; i <= LIMIT_RAY_PACK_SELECTORS; i++) {
        struct ray_condition *c = arena_new(&arena, struct ray_condition);
        struct ray_selector *one = arena_new(&arena, struct ray_selector);
        struct ray_request *with = arena_new(&arena, struct ray_request);
        *c = (struct ray_condition){list[i].name, zones, 1, false};
        *one = (struct ray_selector){c, 1};
        *with = (struct ray_request){.selectors = one, .selector_count = 1};
        e.code = ERR_NONE;
        CHECK(ray_pack_shape(&p, with, &s, &e) == (i < LIMIT_RAY_PACK_SELECTORS));
    }
    CHECK_INT(e.code, ERR_LIMIT);
}

int main(void)
{
    test_fit();
    test_tenths();
    test_spread();
    test_selectors();
    test_choose();
    test_garbage();
    test_limits();
    arena_free(&arena);
    return test_done();
}
