/* Whether an operator is silent, as `mobula cloud list` says it. */
#include "tests/unit/test.h"

#include "../../../src/cli/fleet.h"

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

int main(void)
{
    check_silent();
    return test_done();
}
