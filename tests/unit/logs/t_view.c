/* Parts of a log that are shown when it is read from its beginning each time. */
#include "texts.h"

static bool take(struct logs_view *v, bool json, const char *text)
{
    logs_view_begin(v, json);
    for (struct slice rest = slice_of(text); !slice_empty(rest);) {
        size_t n = rest.len < 3 ? rest.len : 3;
        logs_view_add(v, guarded(slice_head(rest, n)));
        rest = slice_skip(rest, n);
    }
    return logs_view_end(v);
}

static void views(void)
{
    static const struct {
        const char *readings[4], *shown;
        bool json, well;
    } cases[] = {
        {{"one\n", "one\ntwo\n", "one\ntwo\n"}, "one\ntwo\n", false, true},
        {{"{\"logs\":\"one\\n\"}", "{\"logs\":\"one\\ntwo\"}"}, "one\ntwo", true, true},
        {{"{\"logs\":null}", "{\"logs\":\"\\u00e4\"}"}, "\xc3\xa4", true, true},
        {{"one\ntwo\n", "one\n", "one\nnew\n"}, "one\ntwo\nnew\n", false, true}, /* it was cut: what is new is shown */
        {{"{\"logs\":\"one\\n"}, "one\n", true, false},
        {{"<html>"}, "", true, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct texts shown = {0};
        const struct logs_sink sink = texts_sink(&shown);
        struct logs_view v = {.sink = &sink};
        bool well = true;
        test_case("readings %zu", i);
        for (size_t k = 0; k < 4 && cases[i].readings[k]; k++)
            well = take(&v, cases[i].json, cases[i].readings[k]);
        CHECK_STR(texts_of(&shown), cases[i].shown);
        CHECK_INT(well, cases[i].well);
    }
}

static void rests(void)
{
    static const struct {
        const char *shown, *kept, *rest; /* NULL: it is not in there */
    } cases[] = {
        {"one\n", "well\nlog:\none\ntwo\nthree", "two\nthree\n"},
        {"one\n", "well\nlog:\none", ""},
        {"one", "well\nlog:\none\ntwo", "\ntwo\n"},
        {"one\n\n", "well\nlog:\none\n\ntwo", "two\n"},
        {"one\n", "well\nlog:\n[...]\nten", NULL},
        {"one\n", "", NULL},
        {"", "well", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct texts shown = {0};
        const struct logs_sink sink = texts_sink(&shown);
        struct logs_view v = {.sink = &sink};
        test_case("what was kept %zu", i);
        take(&v, false, cases[i].shown);
        bool found = logs_view_rest(&v, guarded(slice_of(cases[i].kept)));
        CHECK_INT(found, cases[i].rest != NULL);
        CHECK_STR(slice_skip(texts_of(&shown), strlen(cases[i].shown)), cases[i].rest ? cases[i].rest : "");
    }
}

static void last_bytes(void)
{
    for (size_t n = LOGS_LAST - 1; n <= LOGS_LAST + 1; n++) {
        struct texts shown = {0};
        const struct logs_sink sink = texts_sink(&shown);
        struct logs_view v = {.sink = &sink};
        char line[2 * LOGS_LAST];
        test_case("of %zu bytes that were shown the last LOGS_LAST are looked for", n);
        memset(line, 'a', sizeof line);
        memcpy(line, "xyz", 3);
        line[n] = 0;
        take(&v, false, line);
        CHECK_INT(v.last_len, n < LOGS_LAST ? n : LOGS_LAST);
        CHECK(logs_view_rest(&v, slice_of(line)));
        CHECK_INT(shown.len, n);
    }
}

/* After the output has failed, nothing is written any more and nothing counts as shown. */
static void no_reader(void)
{
    struct texts shown = {.fails = true};
    const struct logs_sink sink = texts_sink(&shown);
    struct logs_view v = {.sink = &sink};
    test_case("the output fails");
    CHECK(take(&v, false, "one\ntwo\n") && v.deaf);
    CHECK_INT(shown.calls, 1);
    CHECK(v.shown == 0 && v.last_len == 0);
    CHECK(logs_view_rest(&v, SLICE("one\ntwo\nthree")));
    CHECK_INT(shown.calls, 1);
}

int main(void)
{
    views();
    rests();
    last_bytes();
    no_reader();
    return test_done();
}
