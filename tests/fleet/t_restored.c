/* A control plane whose objects come back from a backup object by object: with other uids, and without status; and one whose namespace is
 * deleted. */
#include "hubworld.h"

static struct slice kept(struct hubworld *h, const char *plural, const char *name)
{
    struct err e = {0};
    struct slice out = SLICE_NONE;
    CHECK(json_merge_into(object_of(h, plural, name),
                          SLICE("{\"metadata\":{\"uid\":null,\"resourceVersion\":null,\"creationTimestamp\":null,\"generation\":null,"
                                "\"finalizers\":null},\"status\":null}"),
                          &h->w.arena, &out, &e));
    return out;
}

static void lose(struct hubworld *h, const char *plural, const char *name)
{
    struct slice free = SLICE("{\"metadata\":{\"finalizers\":null}}");
    CHECK_INT(world_call(&h->w, "PATCH", path_of(h, plural, name).ptr, "application/merge-patch+json", free), 200);
    CHECK_INT(world_call(&h->w, "DELETE", path_of(h, plural, name).ptr, "application/json", SLICE("{}")), 200);
}

static void put_back(struct hubworld *h, const char *plural, struct slice object)
{
    CHECK_INT(world_call(&h->w, "POST", path_of(h, plural, "").ptr, "application/json", object), 201);
}

static const char *report_of(struct hubworld *h, struct slice uid, long long generation, const char *state)
{
    return arena_printf(&h->w.arena, ",\"wait\":0,\"statuses\":[{\"uid\":\"%.*s\",\"generation\":%lld,\"sequence\":9,\"state\":\"%s\"}]",
                        SLICE_ARG(uid), generation, state)
        .ptr;
}

/* in_order: clouds before workloads; else workloads first. */
static void test_restored(bool in_order)
{
    struct hubworld h;
    test_case("clouds and workloads keep their identities over a restore, %s first", in_order ? "clouds" : "workloads");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "over", "edge", "");
    make_job(&h, "runs", "edge", "");
    struct slice id = field(&h, "clouds", "edge", "status.deploymentId"), over = field(&h, "workloads", "over", "metadata.uid"),
                 runs = field(&h, "workloads", "runs", "metadata.uid");
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", report_of(&h, over, 1, "SUCCEEDED")), 200);
    CHECK_INT(sync_ask(c, "edge", "one", revision(&h), report_of(&h, runs, 1, "RUNNING")), 200);
    run(&h, 2000);
    struct slice cloud = kept(&h, "clouds", "edge"), first = kept(&h, "workloads", "over"), second = kept(&h, "workloads", "runs");
    hub_down(&h);
    lose(&h, "workloads", "over");
    lose(&h, "workloads", "runs");
    lose(&h, "clouds", "edge");
    hub_up(&h);
    run(&h, 5000);
    if (in_order)
        put_back(&h, "clouds", cloud);
    put_back(&h, "workloads", first);
    put_back(&h, "workloads", second);
    run(&h, 1000);
    if (!in_order)
        put_back(&h, "clouds", cloud);
    run(&h, 2000);
    CHECK_SLICE(field(&h, "clouds", "edge", "status.deploymentId"), id);
    CHECK(!slice_eq(field(&h, "workloads", "runs", "metadata.uid"), runs));
    CHECK_STR(field(&h, "workloads", "over", "status.state"), "SUCCEEDED");
    CHECK_STR(field(&h, "workloads", "over", "status.reason"), "Restored");

    c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "two", "", ""), 200);
    CHECK_INT(workloads(&h), 2);
    for (size_t i = 0; i < 2; i++) {
        struct jval w = workload_at(&h, i);
        bool ended = json_is(json_get(w, "name"), "over");
        CHECK_SLICE(json_get_str(w, "uid", &h.w.arena), ended ? over : runs);
        CHECK(json_get_int(w, "generation", 0) > 1); /* beyond all that its operator knows of it */
        CHECK_INT(json_get_int(w, "observedGeneration", 0), ended ? json_get_int(w, "generation", 0) : 0);
        CHECK(json_is(json_get(w, "state"), "SUCCEEDED") == ended);
    }
    test_case("its operator goes on to report under the uid that it knows");
    CHECK_INT(sync_ask(c, "edge", "two", revision(&h), report_of(&h, runs, json_get_int(workload_at(&h, 1), "generation", 0), "RUNNING")),
              200);
    run(&h, 1000);
    CHECK_STR(field(&h, "workloads", "runs", "status.state"), "RUNNING");
    CHECK_INT(json_get_int(object_of(&h, "workloads", "runs"), "status.observedGeneration", 0), 1);
    finish(&h);
}

/* etcd is restored with --bump-revision: versions of objects are older than before, and that of lists is newer. */
static void test_restored_store(void)
{
    struct hubworld h;
    test_case("after a restore of the store a cloud with an older version is its operator's as before");
    start(&h);
    make_cloud(&h, "edge");
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    run(&h, 1000);
    uint64_t then = apiserver_revision(h.w.server);
    run(&h, HUB_RENEW_MS);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200); /* written again */
    CHECK(apiserver_revision(h.w.server) > then);
    CHECK(apiserver_restore(h.w.server, then));
    apiserver_raise_revision(h.w.server, 1000);
    world_cut_all(&h.w);
    run(&h, 5000);
    run(&h, HUB_RENEW_MS);
    CHECK_INT(sync_ask(client_new(&h), "edge", "one", "", ",\"wait\":0"), 200);
    finish(&h);
}

/* The operator calls before the control plane has listed anything again: it is not told that all is as it was. */
static void test_deleted_workload(void)
{
    struct hubworld h;
    test_case("a workload that was deleted after the snapshot is its operator's again");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "back", "edge", "");
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    CHECK_INT(workloads(&h), 1);
    run(&h, 1000);
    uint64_t then = apiserver_revision(h.w.server);
    lose(&h, "workloads", "back");
    run(&h, HUB_RENEW_MS);
    CHECK_INT(sync_ask(c, "edge", "one", revision(&h), ",\"wait\":0"), 200);
    const char *seen = revision(&h);
    CHECK(apiserver_restore(h.w.server, then));
    apiserver_raise_revision(h.w.server, 1000);
    apiserver_faults(h.w.server)->next = (struct apiserver_override){.method = SLICE("GET"),
                                                                     .path = SLICE("/apis/mobula.dev/v1/namespaces/n/clouds?"),
                                                                     .status = 503,
                                                                     .reason = "ServiceUnavailable",
                                                                     .times = 3};
    bool told = false;
    for (int i = 0; i < 60 && !told; i++) {
        told = sync_ask(c, "edge", "one", seen, ",\"wait\":0") == 200 && workloads(&h) == 1;
        run(&h, 500);
    }
    CHECK(told);
    finish(&h);
}

/* Annotations of identity are for the object that they name. */
static void test_copies(void)
{
    struct hubworld h;
    test_case("a copy under another name has an identity of its own, and no end");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "over", "edge", "");
    struct slice uid = field(&h, "workloads", "over", "metadata.uid"), id = field(&h, "clouds", "edge", "status.deploymentId");
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", report_of(&h, uid, 1, "SUCCEEDED")), 200);
    run(&h, 2000);
    struct slice was[] = {kept(&h, "workloads", "over"), kept(&h, "clouds", "edge")}, copy[2];
    static const char *const plurals[] = {"workloads", "clouds"};
    for (size_t i = 0; i < COUNT_OF(was); i++) {
        struct json doc;
        struct err e = {0};
        CHECK(json_parse(&doc, was[i], &h.w.arena, &e));
        CHECK(json_merge_into(json_root(&doc), SLICE("{\"metadata\":{\"name\":\"copy\"}}"), &h.w.arena, &copy[i], &e));
        put_back(&h, plurals[i], copy[i]);
    }
    run(&h, 2000);
    CHECK(!slice_eq(field(&h, "clouds", "copy", "status.deploymentId"), id));
    CHECK_STR(field(&h, "workloads", "copy", "status.state"), "");
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    CHECK_INT(workloads(&h), 2);
    for (size_t i = 0; i < 2; i++)
        CHECK(slice_eq(json_get_str(workload_at(&h, i), "uid", &h.w.arena), uid) == json_is(json_get(workload_at(&h, i), "name"), "over"));

    test_case("an identity that is the uid of another workload is refused, whichever comes first");
    struct slice forged = arena_printf(&h.w.arena,
                                       "{\"apiVersion\":\"mobula.dev/v1\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"a\",\"namespace\":"
                                       "\"n\",\"annotations\":{\"mobula.dev/identity\":\"n/a %.*s\"}},\"spec\":{\"cloud\":\"edge\",\"job\":"
                                       "{\"entrypoint\":\"x\"}}}",
                                       SLICE_ARG(uid));
    put_back(&h, "workloads", forged);
    run(&h, 1000);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
        for (size_t k = 0; k < workloads(&h); k++)
            CHECK(slice_eq(json_get_str(workload_at(&h, k), "uid", &h.w.arena), uid) ==
                  json_is(json_get(workload_at(&h, k), "name"), "over"));
        hub_down(&h); /* the list of another hub has "a" first */
        hub_up(&h);
        run(&h, 3000);
        c = client_new(&h);
    }
    finish(&h);
}

static void set_id(struct hubworld *h, const char *name, struct slice id)
{
    struct slice body = arena_printf(&h->w.arena, "{\"status\":{\"deploymentId\":\"%.*s\"}}", SLICE_ARG(id)),
                 path = arena_printf(&h->w.arena, "%s/status", path_of(h, "clouds", name).ptr);
    CHECK_INT(world_call(&h->w, "PATCH", path.ptr, "application/merge-patch+json", body), 200);
    run(h, 1000);
}

static void test_one_id(bool deleted)
{
    struct hubworld h;
    test_case("of two clouds with one deployment id the second has it when the first is %s", deleted ? "deleted" : "given another");
    start(&h);
    make_cloud(&h, "first");
    make_cloud(&h, "second");
    struct slice id = field(&h, "clouds", "first", "status.deploymentId"), other = field(&h, "clouds", "second", "status.deploymentId");
    set_id(&h, "second", id);
    if (deleted)
        lose(&h, "clouds", "first");
    else
        set_id(&h, "first", other);
    run(&h, 1000);
    CHECK_INT(sync_ask(client_new(&h), "second", "one", "", ",\"wait\":0"), 200);
    CHECK_STR(field(&h, "clouds", "second", "status.session.instance"), "one");
    finish(&h);
}

static bool held(struct hubworld *h, const char *name)
{
    return json_len(json_get(object_of(h, "workloads", name), "metadata.finalizers")) > 0;
}

static bool stop(struct hubworld *h)
{
    bool stopped = false;
    for (int i = 0; i < 150 && !stopped; i++) {
        stopped = hub_stop(h->hub, world_process_now(&h->w.process[1]));
        run(h, 100);
    }
    return stopped;
}

static void test_namespace_goes(bool goes)
{
    struct hubworld h;
    test_case("the control plane is told to end, %s",
              goes ? "because its namespace is being deleted: its finalizers go" : "and its finalizers stay");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "train", "edge", "");
    CHECK(held(&h, "train"));
    if (goes)
        CHECK(world_call(&h.w, "DELETE", "/api/v1/namespaces/n", "application/json", SLICE("{}")) < 300);
    CHECK(stop(&h));
    CHECK(held(&h, "train") != goes);
    finish(&h);
}

/* Records of other kinds stay, but nothing is written that may depend on the missing kind. */
static void test_undefined(void)
{
    static const char definition[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/computeconfigs.mobula.dev";
    struct hubworld h;
    struct buf why;
    buf_init(&why, 4 * KIB);
    test_case("the definition of a kind is deleted: the control plane is not ready, and says what to do");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "before", "edge", "");
    CHECK_INT(world_call(&h.w, "DELETE", definition, "application/json", SLICE("{}")), 200);
    run(&h, 60 * 1000);
    CHECK(!hub_ready(h.hub, &why));
    CHECK_STR(buf_slice(&why),
              "computeconfigs in n: the API server does not know it: apply what mobula install --crds-only --control-plane "
              "prints\n");
    make_job(&h, "train", "edge", "");
    CHECK(held(&h, "before") && !held(&h, "train"));
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 503);
    test_case("… until it is applied again");
    make_definition(&h.w, "mobula.dev", "ComputeConfig", "computeconfigs", "");
    run(&h, 60 * 1000);
    buf_clear(&why);
    CHECK(hub_ready(h.hub, &why) && held(&h, "train"));
    CHECK_INT(sync_ask(client_new(&h), "edge", "one", "", ",\"wait\":0"), 200);
    CHECK_INT(workloads(&h), 2);
    buf_free(&why);
    finish(&h);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = 1};
    test_restored(true);
    test_restored(false);
    test_restored_store();
    test_deleted_workload();
    test_copies();
    test_one_id(true);
    test_one_id(false);
    test_namespace_goes(false);
    test_namespace_goes(true);
    test_undefined();
    return test_done();
}
