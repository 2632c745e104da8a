/* What mobula logs shows of a log that comes again each time, and which pod it asks. */
#include "../test.h"

#include "../../../src/cli/logs.h"

#include <stdio.h>
#include <unistd.h>

/* ---- what is printed ---- */

static struct {
    int saved, pipe[2];
} out;

static void capture(void)
{
    fflush(stdout);
    CHECK(pipe(out.pipe) == 0);
    out.saved = dup(STDOUT_FILENO);
    dup2(out.pipe[1], STDOUT_FILENO);
    close(out.pipe[1]);
}

static struct slice captured(char *text, size_t size)
{
    dup2(out.saved, STDOUT_FILENO);
    close(out.saved);
    ssize_t n = read(out.pipe[0], text, size);
    close(out.pipe[0]);
    return (struct slice){text, n > 0 ? (size_t)n : 0};
}

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
        struct logs_view v = {0};
        char text[256];
        bool well = true;
        test_case("readings %zu", i);
        capture();
        for (size_t k = 0; k < 4 && cases[i].readings[k]; k++)
            well = take(&v, cases[i].json, cases[i].readings[k]);
        CHECK_STR(captured(text, sizeof text), cases[i].shown);
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
        struct logs_view v = {0};
        char text[256];
        test_case("what was kept %zu", i);
        capture();
        take(&v, false, cases[i].shown);
        bool found = logs_view_rest(&v, guarded(slice_of(cases[i].kept)));
        struct slice all = captured(text, sizeof text);
        CHECK_INT(found, cases[i].rest != NULL);
        CHECK_STR(slice_skip(all, strlen(cases[i].shown)), cases[i].rest ? cases[i].rest : "");
    }
}

static void last_bytes(void)
{
    for (size_t n = LOGS_LAST - 1; n <= LOGS_LAST + 1; n++) {
        struct logs_view v = {0};
        char line[2 * LOGS_LAST], text[1024];
        test_case("of %zu bytes that were shown the last LOGS_LAST are looked for", n);
        memset(line, 'a', sizeof line);
        memcpy(line, "xyz", 3);
        line[n] = 0;
        capture();
        take(&v, false, line);
        CHECK_INT(v.last_len, n < LOGS_LAST ? n : LOGS_LAST);
        CHECK(logs_view_rest(&v, slice_of(line)));
        CHECK_INT(captured(text, sizeof text).len, n);
    }
}

/* ---- which pod ---- */

#define POD(name, at, phase, uid, containers)                                                                                              \
    "{\"metadata\":{\"name\":\"" name "\",\"creationTimestamp\":\"2027-01-15T0" at ":00:00Z\",\"ownerReferences\":[{\"uid\":\"" uid        \
    "\"}]},\"spec\":{\"containers\":[" containers "]},\"status\":{\"phase\":\"" phase "\"}}"

static void submitters(void)
{
    static const struct {
        const char *items, *pod, *container;
    } cases[] = {
        {"", "", "ray-job-submitter"},
        {POD("a", "1", "Running", "u", "{\"name\":\"ray-job-submitter\"}"), "a", "ray-job-submitter"},
        {POD("a", "1", "Running", "u", "{\"name\":\"proxy\"},{\"name\":\"ray-job-submitter\"}"), "a", "ray-job-submitter"},
        {POD("a", "1", "Failed", "u", "{\"name\":\"mine\"},{\"name\":\"other\"}"), "a", "mine"},
        {POD("b", "2", "Failed", "u", "{\"name\":\"x\"}") "," POD("a", "1", "Succeeded", "u", "{\"name\":\"y\"}"), "b", "x"},
        {POD("b", "2", "Pending", "u", "{\"name\":\"x\"}") "," POD("a", "1", "Failed", "u", "{\"name\":\"y\"}"), "a", "y"},
        {POD("b", "2", "Running", "of-another", "{\"name\":\"x\"}"), "", "ray-job-submitter"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json doc;
        struct err e = {0};
        struct slice container = SLICE("ray-job-submitter");
        test_case("submitter %zu", i);
        CHECK(json_parse(&doc, arena_printf(&a, "{\"items\":[%s]}", cases[i].items), &a, &e));
        CHECK_STR(logs_submitter(json_root(&doc), SLICE("u"), &container, &a), cases[i].pod);
        CHECK_STR(container, cases[i].container);
    }
    arena_free(&a);
}

int main(void)
{
    views();
    rests();
    last_bytes();
    submitters();
    return test_done();
}
