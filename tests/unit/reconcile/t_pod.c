/* What a decision sees of a Pod object. */
#include "../test.h"

#include <mobula/reconcile.h>

static struct pod read_pod(const char *text, struct arena *a)
{
    struct json *doc = arena_new(a, struct json);
    struct err e = {0};
    struct pod p;
    CHECK(json_parse(doc, guarded(slice_of(text)), a, &e));
    pod_read(json_root(doc), a, &p);
    return p;
}

static void whole(struct arena *a)
{
    test_case("all that is looked at");
    struct pod p =
        read_pod("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{"
                 "\"ray.io/group\":\"g\",\"ray.io/node-type\":\"worker\",\"ray.io/worker-group-replica-index\":\"3\","
                 "\"ray.io/replica-host-index\":\"1\"},\"annotations\":{\"mobula.dev/template-hash\":\"00000000000000ff\"}},"
                 "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"ray\"},{\"name\":\"side\"}]},"
                 "\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
                 "\"lastTransitionTime\":\"2026-01-01T00:00:02Z\"}]}}",
                 a);
    CHECK_STR(slice_of(p.name), "n");
    CHECK_STR(slice_of(p.uid), "u");
    CHECK_STR(slice_of(p.ip), "10.0.0.1");
    CHECK_STR(p.group, "g");
    CHECK(!p.head && p.ready && !p.deleting && !p.ended && !p.counted && p.version == 0);
    CHECK_INT(p.index, 3);
    CHECK_INT(p.host, 1);
    CHECK_INT(p.hash, 255);
    CHECK_INT(p.phase, POD_RUNNING);
    CHECK_INT(p.ready_us - p.created_us, 2000000);
    CHECK(slice_empty(p.reason));
}

static void parts(struct arena *a)
{
    static const struct {
        const char *what, *status, *reason;
        enum pod_phase phase;
        bool ended;
    } cases[] = {
        {"nothing yet", "{}", "", POD_PENDING, false},
        {"a phase that nobody knows", "{\"phase\":\"Lost\"}", "", POD_UNKNOWN, false},
        {"an init container comes first",
         "{\"phase\":\"Pending\",\"initContainerStatuses\":[{\"state\":{\"waiting\":{\"reason\":\"ErrImagePull\"}}}],"
         "\"containerStatuses\":[{\"state\":{\"waiting\":{\"reason\":\"Other\"}}}]}",
         "ErrImagePull", POD_PENDING, false},
        {"waiting for init containers is no reason",
         "{\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{\"reason\":\"PodInitializing\"}}}]}", "", POD_PENDING,
         false},
        {"unscheduled",
         "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\"}]}",
         "Unschedulable", POD_PENDING, false},
        {"evicted", "{\"phase\":\"Failed\",\"reason\":\"Evicted\"}", "Evicted", POD_FAILED, false},
        {"Ray ended, whoever else runs",
         "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"side\",\"state\":{\"running\":{}}},{\"name\":\"ray\",\"state\":{"
         "\"terminated\":{\"exitCode\":1,\"reason\":\"Error\"}}}]}",
         "Error", POD_RUNNING, true},
        {"another one ended",
         "{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"side\",\"state\":{\"terminated\":{\"exitCode\":1,"
         "\"reason\":\"Error\"}}},{\"name\":\"ray\",\"state\":{\"running\":{}}}]}",
         "Error", POD_RUNNING, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].what);
        struct slice text = arena_printf(a,
                                         "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":"
                                         "\"ray\"},{\"name\":\"side\"}]},\"status\":%s}",
                                         cases[i].status);
        struct pod p = read_pod(text.ptr, a);
        CHECK_INT(p.phase, cases[i].phase);
        CHECK_INT(p.ended, cases[i].ended);
        CHECK_STR(p.reason, cases[i].reason);
        CHECK_INT(p.index, -1);
        CHECK_INT(p.host, 0);
    }
    test_case("a number that no pod of ours has, a hash that is none, an address that is too long");
    struct pod p = read_pod("{\"metadata\":{\"labels\":{\"ray.io/worker-group-replica-index\":\"-1\",\"ray.io/replica-host-index\":\"x\"},"
                            "\"annotations\":{\"mobula.dev/template-hash\":\"none\"},\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
                            "\"status\":{\"podIP\":\"1234567890123456789012345678901234567890123456\"}}",
                            a);
    CHECK(p.index == -1 && p.host == 0 && p.hash == 0 && p.ip[0] == '\0' && p.deleting);
}

int main(void)
{
    struct arena a = {0};
    whole(&a);
    parts(&a);
    arena_free(&a);
    return test_done();
}
