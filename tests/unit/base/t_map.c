#include "../test.h"

struct thing {
    char name[16];
    bool seen;
};

enum { N = 5000 };
static struct thing things[N];

static struct slice name_of(int i)
{
    snprintf(things[i].name, sizeof things[i].name, "pod-%d", i);
    return slice_of(things[i].name);
}

static void test_map(void)
{
    test_case("map");
    struct map m = {0};
    CHECK(map_get(&m, SLICE("x")) == NULL);
    CHECK(map_del(&m, SLICE("x")) == NULL);
    for (int i = 0; i < N; i++)
        if (map_put(&m, name_of(i), &things[i]) != NULL)
            CHECK(!"new");
    CHECK_INT(m.count, N);
    CHECK(map_put(&m, name_of(7), &things[8]) == &things[7]);
    CHECK(map_put(&m, name_of(7), &things[7]) == &things[8]);
    CHECK_INT(m.count, N);
    bool all = true;
    for (int i = 0; i < N; i++)
        all &= map_get(&m, slice_of(things[i].name)) == &things[i];
    CHECK(all);
    CHECK(map_get(&m, SLICE("pod-5000")) == NULL);
    struct slice empty = SLICE("");
    CHECK(map_put(&m, empty, &m) == NULL);
    CHECK(map_del(&m, SLICE_NONE) == &m);
    map_free(&m);
    CHECK_INT(m.count, 0);
}

/* Every entry is met once, also when the walk deletes what it stands on. */
static void test_walk(void)
{
    test_case("walk");
    struct map m = {0};
    for (int i = 0; i < N; i++)
        map_put(&m, name_of(i), &things[i]);
    struct thing *t;
    int met = 0;
    for (uint32_t i = 0; (t = map_next(&m, &i)) != NULL; met++) {
        if (t->seen)
            CHECK(!"met once");
        t->seen = true;
        if (met % 3 != 0 && map_del(&m, slice_of(t->name)) != t)
            CHECK(!"deleted");
    }
    CHECK_INT(met, N);
    CHECK_INT(m.count, (N + 2) / 3);
    met = 0;
    for (uint32_t i = 0; (t = map_next(&m, &i)) != NULL; met++)
        map_del(&m, slice_of(t->name));
    CHECK_INT(met, (N + 2) / 3);
    CHECK_INT(m.count, 0);
    map_free(&m);
}

/* Names that come and go leave no tombstones behind that make the table grow. */
static void test_churn(void)
{
    test_case("churn");
    struct map m = {0};
    for (int i = 0; i < 200 * 1000; i++) {
        map_put(&m, name_of(i % N), &things[i % N]);
        if (i >= 10)
            map_del(&m, slice_of(things[(i - 10) % N].name));
    }
    CHECK_INT(m.count, 10);
    CHECK(m.cap <= 64);
    CHECK(m.used <= m.cap);
    map_free(&m);
}

static void test_intern(void)
{
    test_case("intern");
    struct intern t = {{0}};
    const struct istr *a = intern_get(&t, guarded(SLICE("default")));
    const struct istr *b = intern_get(&t, SLICE("default"));
    CHECK(a == b);
    CHECK_INT(a->refs, 2);
    CHECK_STR(istr_slice(a), "default");
    CHECK_INT(a->text[a->len], 0);
    CHECK(intern_keep(a) == a);
    CHECK(intern_keep(NULL) == NULL);
    intern_drop(&t, a);
    intern_drop(&t, a);
    CHECK_INT(t.map.count, 1);
    intern_drop(&t, a);
    CHECK_INT(t.map.count, 0);
    intern_drop(&t, NULL);
    CHECK(istr_slice(NULL).ptr == NULL);
    intern_get(&t, SLICE(""));
    intern_get(&t, SLICE("x"));
    intern_free(&t);
    CHECK_INT(t.map.count, 0);
}

int main(void)
{
    map_seed_set(1);
    test_map();
    test_walk();
    test_churn();
    test_intern();
    return test_done();
}
