/* Compute configs of a control plane: names of their versions, and instance types that no operator has reported. */
#include "tests/unit/test.h"

#include "desk.h"

static void names(void)
{
    static const char *const cases[][2] = {{"small-v1", "small:1"},  {"a-v2-v31", "a-v2:31"},    {"small", "small"}, {"small-v", "small-v"},
                                           {"small-v0", "small-v0"}, {"small-v01", "small-v01"}, {"-v1", "-v1"},     {"", ""}};
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("a compute config's name is shown, %zu", i);
        CHECK_STR(fleet_config_shown(slice_of(cases[i][0]), &a), cases[i][1]);
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
        fleet_config_warn(config, all, slice_of(cases[i].cloud), &a, &out);
        CHECK_STR(buf_slice(&out), cases[i].want);
        buf_free(&out);
        arena_free(&a);
    }
}

int main(void)
{
    names();
    types();
    return test_done();
}
