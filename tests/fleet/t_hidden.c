/* Workloads that are hidden from their operators, because the compute config that they name is missing. */
#include "hubworld.h"

#define STATUS "/apis/mobula.dev/v1/namespaces/n/workloads/train/status"

/* all: the writes before the config comes, that it is missing, are lost as well. */
static void test_lost_write(bool all)
{
    struct hubworld h;
    const struct apiserver_override lost = {
        .method = SLICE("PATCH"), .path = SLICE(STATUS), .status = 500, .reason = "InternalError", .times = UINT32_MAX};
    test_case("a config comes, and %s lost: the operator gets the workload all the same",
              all ? "all writes of the workload's status are" : "the write of the workload's status is");
    start(&h);
    make_cloud(&h, "edge");
    if (all)
        apiserver_faults(h.w.server)->next = lost;
    make_job(&h, "train", "edge", ",\"computeConfig\":{\"name\":\"small\"}");
    CHECK_STR(field(&h, "workloads", "train", "status.reason"), all ? "" : "ComputeConfigUnknown");
    apiserver_faults(h.w.server)->next = lost;
    make(&h, "ComputeConfig", "computeconfigs", "small-v1", "{}");
    CHECK(apiserver_faults(h.w.server)->next.times < lost.times);
    apiserver_faults(h.w.server)->next.times = 0;
    run(&h, 11 * 1000);
    CHECK_INT(sync_ask(client_new(&h), "edge", "one", "", ",\"wait\":0"), 200);
    CHECK_INT(workloads(&h), 1);
    finish(&h);
}

/* Its watch has missed the deletion. */
static void test_missed_deletion(void)
{
    struct hubworld h;
    test_case("a config that a list does not have any more hides the workload that names it");
    start(&h);
    make_cloud(&h, "edge");
    make(&h, "ComputeConfig", "computeconfigs", "small-v1", "{}");
    make_job(&h, "train", "edge", ",\"computeConfig\":{\"name\":\"small\"}");
    apiserver_faults(h.w.server)->watch_delay_ms = 5000;
    CHECK_INT(world_call(&h.w, "DELETE", path_of(&h, "computeconfigs", "small-v1").ptr, "application/json", SLICE("{}")), 200);
    world_cut_all(&h.w);
    apiserver_compact(h.w.server, SLICE(""));
    apiserver_faults(h.w.server)->watch_delay_ms = 0;
    run(&h, 5000);
    CHECK_STR(field(&h, "workloads", "train", "status.reason"), "ComputeConfigUnknown");
    CHECK_INT(sync_ask(client_new(&h), "edge", "one", "", ",\"wait\":0"), 200);
    CHECK_INT(workloads(&h), 0);
    finish(&h);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = 1};
    test_lost_write(false);
    test_lost_write(true);
    test_missed_deletion();
    return test_done();
}
