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

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = 1};
    test_lost_write(false);
    test_lost_write(true);
    return test_done();
}
