/* What a RayCluster's record counts and knows beside its objects: failures of its groups, and the services that it should have. */
#include "rig.h"

#include <mobula/inspect.h>

/* A deletion that cannot be sent: no pods of a group are why. */
static void check_no_group(void)
{
    static const char text[] = "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"" CLUSTER "\"},\"spec\":{}}";
    struct rig r;
    start(&r);
    extract_record(r.op, source_of(&r.op->spaces[0], &kind_raycluster), parsed(&r, slice_of(text)), 10, 1);
    struct record *c = record_get(r.op, SLICE(CLUSTER), SLICE("n"));
    struct action act = {.verb = &pod_delete, .group = GROUP_NONE, .name = SLICE("p"), .why = "its group was removed from the spec"};
    test_case("a pod of no group cannot be deleted: that is no failure of the head, and the record waits");
    verb_handler(r.op, act.verb)->failed(r.op, c, &act, "it does not fit");
    CHECK(!failures_of(r.op, c, SLICE_NONE, true, false));
    CHECK(c->backoff.not_before_ms > r.op->now.mono_ms);
    test_case("… a head that cannot be created is one");
    act = (struct action){.verb = &raycluster_create_pod, .group = GROUP_HEAD};
    verb_handler(r.op, act.verb)->failed(r.op, c, &act, "it does not fit");
    const struct group_failures *head = failures_of(r.op, c, SLICE_NONE, true, false);
    CHECK(head && head->count == 1);
    finish(&r);
}

static struct record *tell_cluster(struct rig *r, const char *service_type, unsigned version)
{
    struct slice text = arena_printf(&r->arena,
                                     "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"uid\":\"" CLUSTER
                                     "\",\"generation\":%u},\"spec\":{\"headGroupSpec\":{\"serviceType\":\"%s\",\"template\":{\"spec\":{"
                                     "\"containers\":[{\"name\":\"ray\",\"image\":\"ray:1\"}]}}}}}",
                                     version, service_type);
    extract_record(r->op, source_of(&r->op->spaces[0], &kind_raycluster), parsed(r, text), version, 1);
    struct record *c = record_get(r->op, SLICE(CLUSTER), SLICE("n"));
    model_load(r->op, c);
    CHECK_INT(r->op->models.loaded->errors.count, 0);
    return c;
}

/* What the head service should be is built once, and again when something that it follows from has changed. */
static void check_wanted(void)
{
    struct rig r;
    struct err e = {0};
    start(&r);
    struct setting *patches = &r.op->settings[inspect_setting_place("patches")];
    struct record *c = tell_cluster(&r, "", 10);
    struct raycluster *own = raycluster_of(c);
    test_case("a service that is wanted is known once it was built");
    CHECK(own->wants[0].hash == 0);
    struct service_want first = service_wanted(r.op, c, RAY_SERVICE_HEAD);
    CHECK(first.hash && first.ip == hash64(SLICE("None"), 0));
    CHECK(own->wants[0].hash == first.hash && own->wants[1].hash == 0);
    test_case("… it is another one by another spec");
    tell_cluster(&r, "NodePort", 11);
    CHECK(own->wants[0].hash == 0);
    struct service_want second = service_wanted(r.op, c, RAY_SERVICE_HEAD);
    CHECK(second.hash && second.hash != first.hash && second.ip == 0);
    test_case("… and by patches, until these are gone");
    CHECK(setting_patches.on_text(patches, SLICE("[{kind: Service, patch: [{op: add, path: /metadata/labels/a, value: b}]}]"), &e));
    struct service_want patched = service_wanted(r.op, c, RAY_SERVICE_HEAD);
    CHECK(patched.hash && patched.hash != second.hash);
    CHECK(setting_patches.on_text(patches, SLICE(""), &e));
    CHECK(service_wanted(r.op, c, RAY_SERVICE_HEAD).hash == second.hash);
    test_case("… in another zone it is built again");
    own->wants[0].hash = 1;
    CHECK(service_wanted(r.op, c, RAY_SERVICE_HEAD).hash == 1);
    own->zone++;
    model_load(r.op, c);
    CHECK(service_wanted(r.op, c, RAY_SERVICE_HEAD).hash == second.hash);
    test_case("… and when instance types have changed that it names");
    own->typed = true;
    types_changed(r.op, &r.op->settings[inspect_setting_place("instance-types")]);
    CHECK(own->wants[0].hash == 0);
    test_case("… and when the cluster has gone and is seen again");
    own->wants[0].hash = 1;
    record_gone(r.op, c);
    CHECK(raycluster_of(tell_cluster(&r, "NodePort", 12))->wants[0].hash == 0);
    finish(&r);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    check_no_group();
    check_wanted();
    return test_done();
}
