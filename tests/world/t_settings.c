/* ConfigMaps of the operator: taken at once, and a broken one changes nothing. */
#include "maps.h"

static struct inspect_setting types_of(const struct world *w)
{
    return inspect_setting(w->op, "instance-types");
}

static void test_taken(void)
{
    struct world w;
    make_world_with_types(&w);
    test_case("a ConfigMap that is not there");
    put_map(&w, "other", "instance_types.yaml", "broken: 1");
    world_run(&w, 500);
    CHECK(types_of(&w).known && !types_of(&w).broken && types_of(&w).empty);
    test_case("it comes");
    put_map(&w, "instance-types", "instance_types.yaml", "a: {resources: {CPU: 1, memory: 1Gi}}");
    world_run(&w, 500);
    CHECK(types_of(&w).known && !types_of(&w).broken && !types_of(&w).empty);
    test_case("it is broken: the event names the line");
    put_map(&w, "instance-types", "instance_types.yaml", "a:\\n  resources: {CPU: 1, memory: 1}\\n  x: 1\\n");
    world_run(&w, 500);
    CHECK(types_of(&w).broken && inspect_figures(w.op).types);
    CHECK(tells(&w, "BrokenSetting", "line 2: a.resources.memory: is 1 bytes: write the unit, such as 8Gi; 1 more error; what was read"));
    test_case("it goes");
    CHECK_INT(world_call(&w, "DELETE", "/api/v1/namespaces/n/configmaps/instance-types", "application/json", SLICE("{}")), 200);
    world_run(&w, 500);
    CHECK(types_of(&w).known && !types_of(&w).broken && types_of(&w).empty);
    world_free(&w);
}

static void test_forbidden(void)
{
    struct world w;
    test_case("no right to watch it: told as the reason, and seen when the right is there");
    struct apiserver_config config = {.seed = 1};
    world_init(&w, &config);
    make_namespace(&w);
    make_crd(&w, "ray.io", "");
    w.settings[inspect_setting_place("instance-types")] = (struct operator_configmap){SLICE("instance-types"), SLICE("k")};
    override(&w, "GET", maps_path, 403, false, 5);
    world_start_operator(&w, false);
    world_run(&w, 100);
    CHECK(!types_of(&w).known && strstr(types_of(&w).why->text, "no right to watch configmaps in namespace n"));
    world_run(&w, 60 * 1000);
    CHECK(types_of(&w).known && types_of(&w).why->code == ERR_NONE);
    world_free(&w);
}

int main(void)
{
    test_taken();
    test_forbidden();
    return test_done();
}
