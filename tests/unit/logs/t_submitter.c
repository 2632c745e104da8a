/* The submitter pod whose log is shown, and its container. */
#include "../test.h"

#include <mobula/logs.h>

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
    submitters();
    return test_done();
}
