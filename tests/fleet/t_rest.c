/* Paths that people ask for objects with. */
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

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = 1};
    test_empty_segments();
    return test_done();
}
