/* Paths and queries that people ask for objects with. */
#include "hubworld.h"

static void test_empty_segments(void)
{
    static const char *const cases[][2] = {{"GET", "/v1/projects/n/workloads/"},
                                           {"PUT", "/v1/projects/n/workloads/"},
                                           {"DELETE", "/v1/projects/n/workloads/"},
                                           {"GET", "/v1/projects//workloads"},
                                           {"GET", "/v1/projects/n/workloads//logs"}};
    struct hubworld h;
    start(&h);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("a path with an empty segment: %s %s", cases[i][0], cases[i][1]);
        CHECK_INT(ask(client_new(&h), cases[i][0], cases[i][1], "ann", NULL), 404);
        CHECK_STR(said(&h, "error.message"), "there is nothing at this path");
    }
    finish(&h);
}

struct seen_lists {
    struct world_hooks hooks;
    uint32_t count;
};

static void count_list(struct world_hooks *hooks, struct world_request *q)
{
    ((struct seen_lists *)hooks)->count += slice_has(q->target, "labelSelector");
}

static void test_long_query(void)
{
    struct hubworld h;
    struct seen_lists seen = {{.arrived = count_list}, 0};
    start(&h);
    h.w.hooks = &seen.hooks;
    for (int labels = 100; labels <= 1500; labels += 1400) {
        struct slice path = SLICE("/v1/projects/n/workloads?labelSelector=a");
        for (int i = 1; i < labels; i++)
            path = arena_printf(&h.w.arena, "%.*s,a", SLICE_ARG(path));
        test_case("a label selector of %d labels", labels);
        CHECK_INT(ask(client_new(&h), "GET", path.ptr, "ann", NULL), labels == 100 ? 200 : 400);
        CHECK_INT(seen.count, 1);
    }
    CHECK_STR(said(&h, "error.message"), "the query is too long");
    h.w.hooks = NULL;
    finish(&h);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = 1};
    test_empty_segments();
    test_long_query();
    return test_done();
}
