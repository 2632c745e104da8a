/* Objects of a control plane as text, and whether an operator is silent, as `mobula cloud list` says it. */
#include "desk.h"

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

static const struct noun workloads = {.kind = "Workload",
                                      .word = "job",
                                      .resource = &hub_workloads,
                                      .columns = {{"NAME", FLEET_NAME}, {"STATE", FLEET_STATE}, {"HOSTS", "spec.hosts"}}},
                         services = {.kind = "Workload",
                                     .word = "service",
                                     .resource = &hub_workloads,
                                     .part = "spec.service",
                                     .columns = {{"NAME", FLEET_NAME}}},
                         configs = {.kind = "ComputeConfig",
                                    .word = "compute-config",
                                    .resource = &hub_configs,
                                    .columns = {{"NAME", FLEET_NAME}, {"HEAD", FLEET_HEAD}}};

static void check_forms(void)
{
    static const char list[] =
        "{'items':[{'metadata':{'name':'a','managedFields':[1]},'spec':{'cloud':'x','hosts':['h','i']},'status':{'state':'RUNNING'}},"
        "{'metadata':{'name':'longer','deletionTimestamp':'t'},'spec':{'cloud':'y','service':{}}},"
        "{'metadata':{'name':'c\\u001b[31m'},'spec':{'cloud':'z'}}]}",
                      config[] = "{'metadata':{'name':'small-v3'},'spec':{'head_node':{'required_resources':{'CPU':2}}}}";
    static const struct {
        const struct noun *noun;
        const char *body, *output, *cloud, *want;
    } cases[] = {
        {&workloads, list, "table", "", "NAME    STATE     HOSTS\na       RUNNING   h,i\nlonger  DELETING  -\nc [31m  PENDING   -\n"},
        {&workloads, list, "name", "x", "a\n"},
        {&workloads, list, "name", "y", "longer\n"},
        {&services, list, "name", "", "longer\n"},
        {&configs, config, "table", "", "NAME     HEAD\nsmall:3  {\"CPU\":2}\n"},
        {&configs, config, "name", "", "small:3\n"},
        {&configs, config, "yaml", "", "metadata:\n  name: small-v3\nspec:\n  head_node:\n    required_resources:\n      CPU: 2\n"},
        {&workloads, "{'metadata':{'name':'a','managedFields':[1]}}", "json", "", "{\"metadata\":{\"name\":\"a\"}}\n"},
        {&services, "{'items':[{'spec':{}}]}", "json", "", "{\"apiVersion\":\"mobula.dev/v1\",\"kind\":\"WorkloadList\",\"items\":[]}\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct desk d = {.noun = cases[i].noun, .o = {.output = slice_of(cases[i].output), .cloud = slice_of(cases[i].cloud)}};
        struct buf out = {.max = FLEET_OUTPUT_MAX};
        test_case("objects as text, %zu: %s", i, cases[i].output);
        CHECK(fleet_write(&d, quoted(cases[i].body, &d.a), &out, NULL));
        CHECK_STR(buf_slice(&out), cases[i].want);
        buf_free(&out);
        arena_free(&d.a);
    }
}

static void check_rows(void)
{
    static const struct column columns[FLEET_COLUMNS] = {{"CHECK", "name"}, {"STATUS", "status"}};
    static const char *const cases[][2] = {
        {"table", "CHECK     STATUS\nOPERATOR  PASSED\n"},
        {"name", "OPERATOR\n"},
        {"json", "[{\"name\":\"OPERATOR\",\"status\":\"PASSED\"}]\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct desk d = {.noun = &workloads, .o = {.output = slice_of(cases[i][0])}};
        struct buf out = {.max = KIB};
        test_case("rows that are no objects, as %s", cases[i][0]);
        CHECK(fleet_write_rows(&d, columns, parsed("[{'name':'OPERATOR','status':'PASSED'}]", &d.a), &out, NULL));
        CHECK_STR(buf_slice(&out), cases[i][1]);
        buf_free(&out);
        arena_free(&d.a);
    }
}

int main(void)
{
    check_silent();
    check_forms();
    check_rows();
    return test_done();
}
