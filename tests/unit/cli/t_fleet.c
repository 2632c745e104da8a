/* Whether an operator is silent, as `mobula cloud list` says it. */
#include "tests/unit/test.h"

#include "../../../src/cli/fleet.h"

static struct slice quoted(const char *text, struct arena *a)
{
    char *copy = (char *)(uintptr_t)arena_dup(a, slice_of(text)).ptr;
    for (char *at = copy; (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    return slice_of(copy);
}

static int asked;
static int64_t now_us;

static int64_t tell_time(struct desk *d)
{
    (void)d;
    asked++;
    return now_us;
}

static struct jval cloud(const char *connected, struct arena *a)
{
    struct jval doc = NO_VALUE;
    struct slice text = arena_printf(a,
                                     "{\"status\":{\"session\":{\"expiryTime\":\"2026-01-01T00:00:00Z\"},"
                                     "\"conditions\":[{\"type\":\"Connected\",\"status\":\"%s\"}]}}",
                                     connected);
    CHECK(json_read(&doc, text, a, NULL));
    return doc;
}

static void check_silent(void)
{
    static const struct {
        const char *connected, *now; /* now: NULL: the server does not tell it */
        bool silent;
        int asked;
    } cases[] = {{"False", NULL, true, 0},
                 {"True", "2025-12-31T23:59:59Z", false, 1},
                 {"True", "2026-01-01T00:00:00Z", true, 1},
                 {"True", NULL, false, 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct fleet_way way = {.now_us = tell_time};
        struct desk d = {.way = &way};
        asked = 0;
        now_us = 0;
        if (cases[i].now)
            CHECK(time_parse(slice_of(cases[i].now), &now_us, NULL));
        test_case("silent, %zu: the server's time is asked for once, for however many clouds", i);
        for (int k = 0; k < 3; k++)
            CHECK(fleet_is_silent(&d, cloud(cases[i].connected, &d.a)) == cases[i].silent);
        CHECK_INT(asked, cases[i].asked);
        arena_free(&d.a);
    }
}

static void names(void)
{
    static const char *const cases[][2] = {{"small-v1", "small:1"},  {"a-v2-v31", "a-v2:31"},    {"small", "small"}, {"small-v", "small-v"},
                                           {"small-v0", "small-v0"}, {"small-v01", "small-v01"}, {"-v1", "-v1"},     {"", ""}};
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("a compute config's name is shown, %zu", i);
        CHECK_STR(config_shown(slice_of(cases[i][0]), &a), cases[i][1]);
    }
    arena_free(&a);
}

static void types(void)
{
    static const char clouds[] = "[{'metadata':{'name':'a'},'status':{'instanceTypes':{'items':[{'name':'2CPU-8GB'},{'name':'big'}]}}},"
                                 "{'metadata':{'name':'b'},'status':{'instanceTypes':{'items':[{'name':'other'}]}}},"
                                 "{'metadata':{'name':'c'}}]";
    static const struct {
        const char *cloud, *config, *want;
    } cases[] = {
        {"a", "{'head_node':{'instance_type':'2CPU-8GB'},'worker_nodes':[{'instance_type':'big'}]}", ""},
        {"a", "{'head_node':{'instance_type':'2CPU-8G'}}",
         "mobula: warning: head_node: instance type 2CPU-8G is not among those that the operator of cloud a reported; did you mean "
         "2CPU-8GB?\n"},
        {"a", "{'head_node':{},'worker_nodes':[{'instance_type':'other'}]}",
         "mobula: warning: worker_nodes: instance type other is not among those that the operator of cloud a reported\n"},
        {"", "{'worker_nodes':[{'instance_type':'other'},{'instance_type':'zzzzzz'}]}",
         "mobula: warning: worker_nodes: instance type zzzzzz is not among those that the operators have reported\n"},
        {"c", "{'head_node':{'instance_type':'zzzzzz'}}", ""}, /* the cloud's operator has reported no types */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct buf out = {.max = KIB};
        struct jval all = NO_VALUE, config = NO_VALUE;
        test_case("instance types that no operator has reported, %zu", i);
        CHECK(json_read(&all, quoted(clouds, &a), &a, NULL) && json_read(&config, quoted(cases[i].config, &a), &a, NULL));
        config_warn(config, all, slice_of(cases[i].cloud), &a, &out);
        CHECK_STR(buf_slice(&out), cases[i].want);
        buf_free(&out);
        arena_free(&a);
    }
}

int main(void)
{
    names();
    types();
    check_silent();
    return test_done();
}
