/* A cluster that a control plane has asked for goes on scaling, up and down, while the control plane is away. */
#include "tests/world/planes.h"
#include "tests/world/scaled.h"

#include <stdio.h>

static const char cluster[] =
    "{\"cloud\":\"c\",\"image\":\"ray:1\",\"cluster\":{},\"computeConfig\":{\"inline\":{\"head_node\":{\"required_resources\":{\"CPU\":1,"
    "\"memory\":\"1Gi\"}},\"worker_nodes\":[{\"name\":\"small\",\"required_resources\":{\"CPU\":%d,\"memory\":\"1Gi\"},\"min_nodes\":0,"
    "\"max_nodes\":6}]}}}";

static void test_unreachable(void)
{
    struct world w;
    struct plane p;
    char spec[512];
    test_case("a cluster of a workload scales up and down while its control plane is away");
    begin_plane(&w, &p);
    snprintf(spec, sizeof spec, cluster, FAKERAY_CPUS);
    struct plane_workload *x = plane_put(&p, 'a', "n", "train", spec);
    world_run(&w, 10 * 1000);
    CHECK_STR(plane_says(&p, x, "state"), "RUNNING");
    p.down = true;
    world_run(&w, 60 * 1000);
    struct fakeray *h = head_of(&w, "train");
    CHECK_INT(workers_of(&w, "train"), 0);
    fakeray_work(h, 0, FAKERAY_CPUS, 4, false);
    run_until_workers(&w, "train", 4, 20 * 1000);
    CHECK_INT(workers_of(&w, "train"), 4);
    world_run(&w, 10 * 60 * 1000);
    CHECK_INT(workers_of(&w, "train"), 4);
    fakeray_work(h, 0, FAKERAY_CPUS, 0, false);
    run_until_workers(&w, "train", 0, 20 * 60 * 1000);
    CHECK_INT(workers_of(&w, "train"), 0);
    CHECK_INT(pods_of(&w, "train"), 1);
    p.down = false;
    world_run(&w, 40 * 1000);
    CHECK_STR(plane_says(&p, x, "state"), "RUNNING");
    CHECK_INT(pods_of(&w, "train"), 1);
    end_plane(&w, &p);
}

int main(void)
{
    test_unreachable();
    return test_done();
}
