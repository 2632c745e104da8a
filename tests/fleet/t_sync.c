/* POST /v1/sync against the model API server: what an operator is told, what it reports, who holds a cloud. */
#include "hubworld.h"

static void test_first(void)
{
    struct hubworld h;
    test_case("a cloud gets its deployment id, a workload its finalizer, and the operator the workload");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "train", "edge", "");
    CHECK_INT(field(&h, "clouds", "edge", "status.deploymentId").len, HUB_DEPLOYMENT_ID);
    CHECK_STR(json_str(json_at(json_get(object_of(&h, "workloads", "train"), "metadata.finalizers"), 0), &h.w.arena), HUB_FINALIZER);
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ""), 200);
    CHECK(json_get_bool(json_root(&h.doc), "full", false) && !json_get_bool(json_root(&h.doc), "more", true));
    CHECK_INT(workloads(&h), 1);
    CHECK_STR(json_get_str(workload_at(&h, 0), "name", &h.w.arena), "train");
    CHECK_STR(json_get_str(workload_at(&h, 0), "project", &h.w.arena), "n");
    CHECK_STR(json_get_str(workload_at(&h, 0), "spec.job.entrypoint", &h.w.arena), "python main.py");
    CHECK_INT(json_get_int(workload_at(&h, 0), "generation", 0), 1);
    CHECK_STR(field(&h, "clouds", "edge", "status.session.instance"), "one");
    CHECK_STR(field(&h, "clouds", "edge", "status.session.replica"), "hub-1");
    CHECK_STR(field(&h, "clouds", "edge", "status.operatorVersion"), "0.1.0");

    test_case("nothing is new: the answer is held for 25 s");
    const char *known = revision(&h);
    sync_send(c, "edge", "one", known, "");
    run(&h, 24 * 1000);
    CHECK_INT(answer(c), 0);
    run(&h, 2000);
    CHECK_INT(answer(c), 200);
    CHECK_INT(workloads(&h), 0);
    CHECK(!json_get_bool(json_root(&h.doc), "full", true));

    test_case("a held answer goes out with the workload that is made meanwhile");
    sync_send(c, "edge", "one", revision(&h), "");
    run(&h, 5000);
    CHECK_INT(answer(c), 0);
    make_job(&h, "next", "edge", "");
    CHECK_INT(answer(c), 200);
    CHECK_INT(workloads(&h), 1);
    CHECK_STR(json_get_str(workload_at(&h, 0), "name", &h.w.arena), "next");
    test_case("and is not told once more");
    CHECK_INT(sync_ask(c, "edge", "one", revision(&h), ",\"wait\":0"), 200);
    CHECK_INT(workloads(&h), 0);
    finish(&h);
}

/* A cloud with a workload, whose operator has called once. */
static struct client *begin_job(struct hubworld *h, const char *more, struct slice *uid)
{
    start(h);
    make_cloud(h, "edge");
    make_job(h, "train", "edge", "");
    struct client *c = client_new(h);
    CHECK_INT(sync_ask(c, "edge", "one", "", more), 200);
    *uid = json_get_str(workload_at(h, 0), "uid", &h->w.arena);
    return c;
}

static void test_report(void)
{
    struct hubworld h;
    struct slice uid;
    struct client *c = begin_job(&h, "", &uid);
    const char *known = revision(&h);
    test_case("a status is stored, and does not come back as news");
    const char *running =
        arena_printf(
            &h.w.arena,
            ",\"wait\":0,\"statuses\":[{\"uid\":\"%.*s\",\"generation\":1,\"state\":\"RUNNING\",\"attempts\":1,\"startedAt\":"
            "\"2026-11-25T10:01:02Z\",\"objects\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayJob\",\"name\":\"train\"}],\"urls\":"
            "[{\"name\":\"dashboard\",\"url\":\"http://x\"}]}]",
            SLICE_ARG(uid))
            .ptr;
    CHECK_INT(sync_ask(c, "edge", "one", known, running), 200);
    CHECK_INT(workloads(&h), 0);
    CHECK_STR(field(&h, "workloads", "train", "status.state"), "RUNNING");
    CHECK_STR(field(&h, "workloads", "train", "status.startedAt"), "2026-11-25T10:01:02Z");
    CHECK_STR(json_get_str(json_at(json_get(object_of(&h, "workloads", "train"), "status.urls"), 0), "url", &h.w.arena), "http://x");
    CHECK_INT(json_get_int(object_of(&h, "workloads", "train"), "status.observedGeneration", 0), 1);
    test_case("the same once more writes nothing");
    uint64_t before = apiserver_revision(h.w.server);
    CHECK_INT(sync_ask(c, "edge", "one", known, running), 200);
    CHECK_INT(apiserver_revision(h.w.server), before);
    test_case("health, instance types and nodes are stored with the cloud; a hash that is not known is asked for");
    CHECK_INT(sync_ask(c, "edge", "one", known,
                       ",\"instanceTypes\":{\"hash\":\"a1\"},\"nodes\":{\"hash\":\"b1\",\"items\":[{\"name\":\"n1\"}]},\"health\":{"
                       "\"checkedAt\":\"2026-11-25T10:00:00Z\",\"components\":[{\"name\":\"X\",\"state\":\"ERROR\",\"message\":\"no\"}]}"),
              200);
    CHECK_INT(json_len(json_get(json_root(&h.doc), "wants")), 1);
    CHECK_STR(json_str(json_at(json_get(json_root(&h.doc), "wants"), 0), &h.w.arena), "instanceTypes");
    CHECK_STR(field(&h, "clouds", "edge", "status.nodes.hash"), "b1");
    CHECK_STR(field(&h, "clouds", "edge", "status.health"), "UNHEALTHY");
    CHECK_STR(json_get_str(json_at(json_get(object_of(&h, "clouds", "edge"), "status.components"), 0), "status", &h.w.arena), "FAILED");
    before = apiserver_revision(h.w.server);
    CHECK_INT(sync_ask(c, "edge", "one", known,
                       ",\"wait\":0,\"nodes\":{\"hash\":\"b1\"},\"health\":{"
                       "\"checkedAt\":\"2026-11-25T10:05:00Z\",\"components\":[{\"name\":\"X\",\"state\":\"ERROR\",\"message\":\"no\"}]}"),
              200);
    CHECK_INT(apiserver_revision(h.w.server), before);
    test_case("a time that is none is left out");
    CHECK_INT(sync_ask(c, "edge", "one", known, ",\"wait\":0,\"health\":{\"checkedAt\":\"\",\"components\":[]}"), 200);
    CHECK_STR(field(&h, "clouds", "edge", "status.health"), "HEALTHY");
    CHECK_STR(field(&h, "clouds", "edge", "status.checkedTime"), "2026-11-25T10:00:00Z");
    finish(&h);
}

/* One status, as an instance reports it. */
static void report_state(struct client *c, const char *instance, struct slice uid, int sequence, const char *state)
{
    struct hubworld *h = c->of;
    const char *more =
        arena_printf(&h->w.arena,
                     ",\"wait\":0,\"lease\":\"l\",\"statuses\":[{\"uid\":\"%.*s\",\"generation\":1,\"sequence\":%d,\"state\":\"%s\"}]",
                     SLICE_ARG(uid), sequence, state)
            .ptr;
    CHECK_INT(sync_ask(c, "edge", instance, "", more), 200);
}

static void test_late(void)
{
    struct hubworld h;
    struct slice uid;
    struct client *c = begin_job(&h, ",\"lease\":\"l\"", &uid);
    CHECK(!json_there(json_get(workload_at(&h, 0), "state")));
    test_case("a status that was long on its way does not replace a newer one of the same instance");
    report_state(c, "one", uid, 5, "RUNNING");
    report_state(c, "one", uid, 4, "STARTING");
    CHECK_STR(field(&h, "workloads", "train", "status.state"), "RUNNING");
    CHECK_INT(json_get_int(object_of(&h, "workloads", "train"), "status.sequence", 0), 5);
    test_case("nor after a restart of the hub");
    hub_down(&h);
    hub_up(&h);
    run(&h, 1000);
    c = client_new(&h);
    report_state(c, "one", uid, 3, "PENDING");
    CHECK_STR(field(&h, "workloads", "train", "status.state"), "RUNNING");
    test_case("another instance counts again");
    report_state(c, "two", uid, 1, "SUCCEEDED");
    CHECK_STR(field(&h, "workloads", "train", "status.state"), "SUCCEEDED");
    CHECK_STR(field(&h, "workloads", "train", "status.reporter"), "two");
    test_case("how it has ended goes back to the operator");
    CHECK_INT(sync_ask(c, "edge", "two", "", ",\"lease\":\"l\""), 200);
    CHECK_STR(json_get_str(workload_at(&h, 0), "state", &h.w.arena), "SUCCEEDED");
    CHECK_INT(json_get_int(workload_at(&h, 0), "observedGeneration", 0), 1);
    finish(&h);
}

static void test_deletion(void)
{
    struct hubworld h;
    struct slice uid;
    struct client *c = begin_job(&h, "", &uid);
    const char *known = revision(&h);
    test_case("a deleted workload stays until the operator has nothing of it any more");
    sync_send(c, "edge", "one", known, "");
    run(&h, 100);
    CHECK_INT(world_call(&h.w, "DELETE", path_of(&h, "workloads", "train").ptr, "application/json", SLICE("{}")), 200);
    run(&h, 100);
    CHECK_INT(answer(c), 200);
    CHECK(workloads(&h) == 1 && json_get_bool(workload_at(&h, 0), "delete", false));
    CHECK(json_there(object_of(&h, "workloads", "train")));
    known = revision(&h);
    const char *gone =
        arena_printf(&h.w.arena, ",\"wait\":0,\"statuses\":[{\"uid\":\"%.*s\",\"generation\":1,\"state\":\"DELETED\"}]", SLICE_ARG(uid))
            .ptr;
    CHECK_INT(sync_ask(c, "edge", "one", known, gone), 200);
    CHECK(!json_there(object_of(&h, "workloads", "train")));
    CHECK_INT(sync_ask(c, "edge", "one", known, ",\"wait\":0"), 200);
    CHECK_INT(workloads(&h), 0);
    finish(&h);
}

static void test_session(void)
{
    struct hubworld h;
    start(&h);
    make_cloud(&h, "edge");
    struct client *a = client_new(&h), *b = client_new(&h);
    test_case("a second instance gets 409 with the holder's name");
    CHECK_INT(sync_ask(a, "edge", "one", "", ",\"lease\":\"l\""), 200);
    CHECK_INT(sync_ask(b, "edge", "two", "", ""), 409);
    CHECK_STR(said(&h, "error.code"), "CloudInUse");
    CHECK(slice_has(said(&h, "error.message"), "instance one"));
    test_case("but not if it took over by the same lease");
    CHECK_INT(sync_ask(b, "edge", "two", "", ",\"lease\":\"l\""), 200);
    CHECK_INT(sync_ask(a, "edge", "three", "", ",\"lease\":\"k\""), 409);
    test_case("and when the holder has not called for a minute");
    run(&h, HUB_SESSION_MS);
    CHECK_INT(sync_ask(a, "edge", "three", "", ",\"lease\":\"k\""), 200);
    test_case("an instance that calls keeps its cloud");
    for (int i = 0; i < 6; i++) {
        run(&h, 24 * 1000);
        CHECK_INT(sync_ask(a, "edge", "three", "", ",\"lease\":\"k\",\"wait\":0"), 200);
    }
    CHECK_INT(sync_ask(b, "edge", "two", "", ""), 409);
    finish(&h);
}

/* A request of so many bytes: spaces behind its JSON. */
static int ask_bytes(struct client *c, size_t bytes)
{
    struct hubworld *h = c->of;
    char *body = arena_alloc(&h->w.arena, bytes + 1);
    memset(body, ' ', bytes);
    body[0] = '{';
    body[1] = '}';
    body[bytes] = '\0';
    return ask(c, "POST", "/v1/sync", "operator", body);
}

static void test_limits(void)
{
    struct hubworld h;
    int codes[2] = {0}, code;
    start(&h);
    make_cloud(&h, "edge");
    test_case("a request of LIMIT_HUB_BODY, and one byte more");
    CHECK_INT(ask_bytes(client_new(&h), LIMIT_HUB_BODY), 400);
    CHECK_INT(ask_bytes(client_new(&h), LIMIT_HUB_BODY + 1), 413);
    CHECK_STR(said(&h, "error.code"), "TooLarge");
    CHECK_INT(ask_bytes(client_new(&h), 10 * MIB), 413);
    test_case("one token calls HUB_BURST times at once, then at its rate; others are not kept waiting");
    struct client *c = client_new(&h);
    for (int i = 0; i < HUB_BURST + 20; i++) {
        send(c, "GET", "/v1/projects/n/workloads/none", "operator", SLICE_NONE);
        run(&h, 1);
        code = answer(c);
        CHECK(code == 404 || code == 403 || code == 429);
        codes[code == 429]++;
        if (code == 429)
            CHECK(slice_is(said(&h, "error.code"), "TooManyRequests") && !slice_empty(said(&h, "error.remedy")));
    }
    CHECK(codes[0] >= HUB_BURST - 2 && codes[0] <= HUB_BURST + 5);
    CHECK_INT(ask(client_new(&h), "GET", "/v1/projects/n/workloads/none", "nobody", NULL), 403);
    run(&h, HUB_RATE_MS * 2);
    CHECK(ask(c, "GET", "/v1/projects/n/workloads/none", "operator", NULL) != 429);
    finish(&h);
}

static void test_release(void)
{
    struct hubworld h;
    start(&h);
    make_cloud(&h, "edge");
    struct client *a = client_new(&h), *b = client_new(&h);
    CHECK_INT(sync_ask(a, "edge", "one", "", ",\"lease\":\"l\",\"wait\":0"), 200);
    test_case("who does not hold a cloud cannot give it back, with the holder's lease neither");
    CHECK_INT(sync_ask(b, "edge", "two", "", ",\"lease\":\"l\",\"wait\":0,\"release\":true"), 409);
    CHECK(slice_has(said(&h, "error.message"), "two does not hold"));
    CHECK_INT(sync_ask(b, "edge", "three", "", ",\"wait\":0"), 409);
    CHECK_STR(field(&h, "clouds", "edge", "status.session.instance"), "one");
    test_case("the holder gives it back, and another instance has it at once");
    CHECK_INT(sync_ask(a, "edge", "one", "", ",\"lease\":\"l\",\"wait\":0,\"release\":true"), 200);
    CHECK_STR(field(&h, "clouds", "edge", "status.session.instance"), "");
    CHECK_STR(field(&h, "clouds", "edge", "status.session.lease"), "");
    CHECK_INT(sync_ask(b, "edge", "two", "", ",\"wait\":0"), 200);
    test_case("a call of the one before that comes late changes nothing, twice given back neither");
    CHECK_INT(sync_ask(a, "edge", "one", "", ",\"lease\":\"l\",\"wait\":0"), 409);
    CHECK_INT(sync_ask(a, "edge", "one", "", ",\"lease\":\"l\",\"wait\":0,\"release\":true"), 409);
    CHECK_STR(field(&h, "clouds", "edge", "status.session.instance"), "two");
    test_case("nor does a restart of the hub");
    CHECK_INT(sync_ask(b, "edge", "two", "", ",\"wait\":0,\"release\":true"), 200);
    hub_down(&h);
    hub_up(&h);
    run(&h, 1000);
    a = client_new(&h);
    CHECK_INT(sync_ask(a, "edge", "three", "", ",\"wait\":0"), 200);
    test_case("a cloud that was given back and not taken is silent after a minute, as of the last call");
    CHECK_INT(sync_ask(a, "edge", "three", "", ",\"wait\":0,\"release\":true"), 200);
    run(&h, HUB_SESSION_MS / 2);
    CHECK(!slice_is(field(&h, "clouds", "edge", "status.health"), "UNKNOWN"));
    run(&h, HUB_SESSION_MS);
    CHECK_STR(field(&h, "clouds", "edge", "status.health"), "UNKNOWN");
    finish(&h);
}

static void test_refused(void)
{
    static const struct {
        const char *token, *body;
        int status;
        const char *code;
    } cases[] = {
        {"", "{}", 401, "Unauthorized"},
        {"bad", "{}", 401, "Unauthorized"},
        {"operator", "", 400, "BadRequest"},
        {"operator", "{", 400, "BadRequest"},
        {"operator", "[]", 400, "BadRequest"},
        {"operator", "{}", 400, "BadRequest"},
        {"operator", "{\"protocol\":\"1\"}", 400, "BadRequest"},
        {"operator", "{\"protocol\":3,\"cloud\":\"x\",\"instance\":\"i\"}", 422, "ProtocolUnsupported"},
        {"operator", "{\"protocol\":1,\"cloud\":\"x\",\"instance\":\"\"}", 400, "BadRequest"},
        {"operator", "{\"protocol\":1,\"cloud\":\"x\",\"instance\":\"i\"}", 404, "CloudUnknown"},
        {"operator", "{\"protocol\":1,\"cloud\":7,\"instance\":\"i\"}", 400, "BadRequest"},
        {"operator", "{\"protocol\":1,\"cloud\":\"x\",\"instance\":\"i\",\"statuses\":{}}", 400, "BadRequest"},
        {"operator", "{\"protocol\":2,\"cloud\":\"x\",\"instance\":\"i\",\"later\":[1]}", 404, "CloudUnknown"},
    };
    struct hubworld h;
    start(&h);
    make_cloud(&h, "edge");
    struct client *c = client_new(&h);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("refused: %s %s", cases[i].token, cases[i].body);
        CHECK_INT(ask(c, "POST", "/v1/sync", cases[i].token, cases[i].body), cases[i].status);
        CHECK_STR(said(&h, "error.code"), cases[i].code);
        CHECK(!slice_empty(said(&h, "error.message")) && !slice_empty(said(&h, "error.remedy")));
    }
    test_case("a token without the right");
    struct slice body = arena_printf(&h.w.arena, "{\"protocol\":1,\"cloud\":\"%.*s\",\"instance\":\"i\"}",
                                     SLICE_ARG(field(&h, "clouds", "edge", "status.deploymentId")));
    CHECK_INT(ask(c, "POST", "/v1/sync", "nobody", body.ptr), 403);
    CHECK(slice_has(said(&h, "error.message"), "sync clouds.mobula.dev edge in project n"));
    test_case("no path, no method, no JSON");
    CHECK_INT(ask(c, "GET", "/v1/nothing", "operator", NULL), 404);
    CHECK_INT(ask(c, "GET", "/v1/sync", "operator", NULL), 405);
    CHECK_INT(ask(c, "GET", "/v1/projects/n/secrets", "operator", NULL), 404);
    CHECK_INT(ask(c, "GET", "/v1/projects/n/workloads/..%2f..%2fsecrets", "operator", NULL), 404);
    CHECK_INT(ask(c, "GET", "/healthz", "", NULL), 200);
    CHECK_INT(ask(c, "GET", "/readyz", "", NULL), 200);
    finish(&h);
}

/* How many calls it takes to get everything, and how many workloads came. */
static void fetch(struct client *c, const char *cloud, uint32_t *calls, uint32_t *count)
{
    struct hubworld *h = c->of;
    const char *known = "";
    *calls = *count = 0;
    do {
        if (!CHECK_INT(sync_ask(c, cloud, "one", known, ",\"wait\":0"), 200))
            return;
        CHECK(json_get_bool(json_root(&h->doc), "full", false));
        ++*calls;
        *count += (uint32_t)workloads(h);
        known = revision(h);
    } while (json_get_bool(json_root(&h->doc), "more", false));
}

static void test_pages(void)
{
    enum { JOBS = 7, BIG = 200 * KIB };
    struct hubworld h;
    uint32_t calls, count;
    test_case("a full answer in pages");
    start(&h);
    make_cloud(&h, "edge");
    char *big = arena_alloc(&h.w.arena, BIG + 1);
    memset(big, 'x', BIG);
    for (int i = 0; i < JOBS; i++)
        make(&h, "Workload", "workloads", arena_printf(&h.w.arena, "j%d", i).ptr,
             arena_printf(&h.w.arena, "{\"cloud\":\"edge\",\"cluster\":{},\"computeConfig\":{\"inline\":{\"x\":\"%s\"}}}", big).ptr);
    struct client *c = client_new(&h);
    fetch(c, "edge", &calls, &count);
    CHECK_INT(count, JOBS);
    CHECK(calls >= 2 && calls <= JOBS);
    test_case("changes that do not fit one answer come in the next");
    const char *known = revision(&h);
    for (int i = 0; i < JOBS; i++)
        CHECK_INT(world_call(&h.w, "PATCH", path_of(&h, "workloads", arena_printf(&h.w.arena, "j%d", i).ptr).ptr,
                             "application/merge-patch+json", SLICE("{\"spec\":{\"terminate\":true}}")),
                  200);
    run(&h, 500);
    bool more = true;
    for (calls = count = 0; more && calls < 10; calls++) {
        CHECK_INT(sync_ask(c, "edge", "one", known, ",\"wait\":0"), 200);
        CHECK(!json_get_bool(json_root(&h.doc), "full", true));
        count += (uint32_t)workloads(&h);
        known = revision(&h);
        more = json_get_bool(json_root(&h.doc), "more", false);
    }
    CHECK_INT(count, JOBS);
    CHECK(calls >= 2);
    finish(&h);
}

/* A call whose revision the new hub has not seen in the order of its changes is answered in full, at once. */
static void test_restart(void)
{
    struct hubworld h;
    struct slice uid;
    struct client *c = begin_job(&h, "", &uid);
    const char *known = revision(&h);
    test_case("another hub does not know what changed when: all is sent, and nothing is lost");
    hub_down(&h);
    CHECK_INT(world_call(&h.w, "DELETE", path_of(&h, "workloads", "train").ptr, "application/json", SLICE("{}")), 200);
    hub_up(&h);
    run(&h, 1000);
    make_job(&h, "next", "edge", "");
    c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", known, ""), 200);
    CHECK(json_get_bool(json_root(&h.doc), "full", false));
    CHECK_INT(workloads(&h), 2);
    test_case("a revision that no store has known is answered in full as well");
    sync_send(c, "edge", "one", "999999", "");
    run(&h, 1000);
    CHECK_INT(answer(c), 0);
    run(&h, HUB_CATCH_UP_MS);
    CHECK_INT(answer(c), 200);
    CHECK(json_get_bool(json_root(&h.doc), "full", false) && workloads(&h) == 2);
    finish(&h);
}

/* Asks for a log, and answers as the operator does. Returns what the asker gets, with its headers. */
static struct slice log_answered(struct hubworld *h, struct client *c, struct client *o, const char *answered)
{
    CHECK_INT(sync_ask(o, "edge", "one", "", ",\"wait\":0"), 200);
    sync_send(o, "edge", "one", revision(h), "");
    send(c, "GET", "/v1/projects/n/workloads/w/logs?lines=7&version=v2", "ann", SLICE_NONE);
    run(h, 100);
    CHECK_INT(answer(o), 200);
    struct jval q = json_at(json_get(json_root(&h->doc), "questions"), 0);
    CHECK(json_str_eq(json_get(q, "kind"), SLICE("logTail")) && json_get_int(q, "lines", 0) == 7);
    CHECK(json_str_eq(json_get(q, "version"), SLICE("v2")));
    struct slice reply = arena_printf(&h->w.arena, ",\"wait\":0,\"answers\":[{\"id\":\"%.*s\",\"kind\":\"logTail\",%s}]",
                                      SLICE_ARG(json_get_str(q, "id", &h->w.arena)), answered);
    CHECK_INT(sync_ask(o, "edge", "one", "", reply.ptr), 200);
    struct slice got = arena_dup(&h->w.arena, buf_slice(&c->out));
    answer(c);
    return got;
}

static void test_objects(void)
{
    struct hubworld h;
    start(&h);
    make_cloud(&h, "edge");
    struct client *c = client_new(&h), *o = client_new(&h);
    test_case("a compute config that comes after the workload that names it");
    make_job(&h, "train", "edge", ",\"computeConfig\":{\"name\":\"small\"}");
    CHECK_STR(field(&h, "workloads", "train", "status.reason"), "ComputeConfigUnknown");
    CHECK_INT(sync_ask(o, "edge", "one", "", ""), 200);
    CHECK_INT(workloads(&h), 0);
    sync_send(o, "edge", "one", revision(&h), "");
    make(&h, "ComputeConfig", "computeconfigs", "small-v2", "{\"zones\":[\"a\"]}");
    CHECK_INT(answer(o), 200);
    CHECK_STR(json_str(json_at(json_get(workload_at(&h, 0), "spec.computeConfig.inline.zones"), 0), &h.w.arena), "a");
    CHECK(!json_there(json_get(workload_at(&h, 0), "spec.computeConfig.name")));
    test_case("objects by the hub");
    CHECK_INT(ask(c, "POST", "/v1/projects/n/workloads", "ann",
                  "{\"apiVersion\":\"mobula.dev/"
                  "v1\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"w\"},\"spec\":{\"cloud\":\"edge\",\"cluster\":{}}}"),
              201);
    CHECK_INT(ask(c, "GET", "/v1/projects/n/workloads/w", "ann", NULL), 200);
    CHECK_STR(said(&h, "metadata.name"), "w");
    CHECK_INT(ask(c, "GET", "/v1/projects/n/workloads?limit=1", "ann", NULL), 200);
    CHECK_INT(json_len(json_get(json_root(&h.doc), "items")), 1);
    CHECK_INT(ask(c, "GET", "/v1/projects/n/workloads/none", "ann", NULL), 404);
    CHECK_INT(ask(c, "GET", "/v1/projects/n/workloads", "nobody", NULL), 403);
    CHECK_INT(ask(c, "GET", "/v1/projects/other/workloads", "ann", NULL), 404);
    test_case("a log comes from the operator of the cloud");
    CHECK(slice_ends(log_answered(&h, c, o, "\"text\":\"hello\""), SLICE("\r\n\r\nhello")));
    for (int n = LIMIT_KUBE_NAME + 1; n >= LIMIT_KUBE_NAME; n--) {
        test_case("the name of a version has %d bytes", n);
        int code = ask(c, "GET", arena_printf(&h.w.arena, "/v1/projects/n/workloads/none/logs?version=%0*d", n, 1).ptr, "ann", NULL);
        CHECK_INT(code, n > LIMIT_KUBE_NAME ? 400 : 404);
    }
    test_case("without one its asker is told, and to ask later only where that may help");
    static const struct {
        const char *answer, *status;
        bool later;
    } none[] = {
        {"\"error\":\"gone\",\"code\":404", "HTTP/1.1 404 ", false},     {"\"error\":\"kept here\",\"code\":403", "HTTP/1.1 403 ", false},
        {"\"error\":\"no answer\",\"code\":503", "HTTP/1.1 503 ", true}, {"\"error\":\"no code\"", "HTTP/1.1 503 ", true},
        {"\"error\":\"hostile\",\"code\":200", "HTTP/1.1 503 ", true},
    };
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        struct slice got = log_answered(&h, c, o, none[i].answer);
        CHECK(slice_starts(got, slice_of(none[i].status)) && slice_has(got, "Retry-After") == none[i].later);
    }
    finish(&h);
}

struct late_answers {
    struct world_hooks hooks;
    const char *method, *path; /* path: its end */
};

static void delay_answer(struct world_hooks *hooks, struct world_request *q)
{
    const struct late_answers *late = (const struct late_answers *)hooks;
    if (slice_is(q->method, late->method) && slice_ends(q->target, slice_of(late->path)))
        q->delay_ms = 3000;
}

/* Deletes the cloud while the answer to a write of the hub is under way. The operator's call ends with it. */
static void delete_cloud_before_answer(struct hubworld *h, struct client *c)
{
    run(h, 500);
    CHECK_INT(world_call(&h->w, "DELETE", path_of(h, "clouds", "edge").ptr, "application/json", SLICE("{}")), 200);
    run(h, 1000);
    CHECK_INT(answer(c), 0);
    run(h, 3000);
    CHECK_INT(answer(c), 404);
    CHECK_STR(said(h, "error.code"), "CloudUnknown");
}

/* The record would come back to life: workloads of the cloud would keep their finalizers. conflict: the status is read again. */
static void test_answer_after_deletion(bool conflict)
{
    struct hubworld h;
    struct late_answers late = {{.arrived = delay_answer}, conflict ? "GET" : "PATCH", conflict ? "/clouds/edge" : "/clouds/edge/status"};
    test_case("a cloud stays deleted when the answer to a %s comes after the event",
              conflict ? "read after a conflict" : "write of its status");
    start(&h);
    make_cloud(&h, "edge");
    make_job(&h, "waits", "edge", "");
    struct client *c = client_new(&h);
    CHECK_INT(sync_ask(c, "edge", "one", "", ",\"wait\":0"), 200);
    run(&h, HUB_RENEW_MS);
    h.w.hooks = &late.hooks;
    if (conflict)
        apiserver_faults(h.w.server)->next =
            (struct apiserver_override){.method = SLICE("PATCH"),
                                        .path = SLICE("/apis/mobula.dev/v1/namespaces/n/clouds/edge/status"),
                                        .status = 409,
                                        .reason = "Conflict",
                                        .times = 1};
    sync_send(c, "edge", "one", revision(&h), ",\"wait\":0");
    delete_cloud_before_answer(&h, c);
    CHECK_INT(world_call(&h.w, "DELETE", path_of(&h, "workloads", "waits").ptr, "application/json", SLICE("{}")), 200);
    run(&h, 5000);
    CHECK(!json_there(object_of(&h, "workloads", "waits")));
    h.w.hooks = NULL;
    finish(&h);
}

/* The session of a deleted cloud is empty, as if it had been written when the hub began. */
static void test_report_after_deletion(void)
{
    struct hubworld h;
    struct slice uid;
    struct late_answers late = {{.arrived = delay_answer}, "PATCH", "/workloads/train/status"};
    struct client *c = begin_job(&h, "", &uid);
    test_case("a cloud stays deleted when the answer to a write of a workload's status comes after the event");
    h.w.hooks = &late.hooks;
    const char *running =
        arena_printf(&h.w.arena, ",\"statuses\":[{\"uid\":\"%.*s\",\"generation\":1,\"state\":\"RUNNING\"}]", SLICE_ARG(uid)).ptr;
    sync_send(c, "edge", "one", revision(&h), running);
    delete_cloud_before_answer(&h, c);
    h.w.hooks = NULL;
    finish(&h);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = 1};
    test_first();
    test_report();
    test_session();
    test_limits();
    test_release();
    test_refused();
    test_pages();
    test_late();
    test_deletion();
    test_answer_after_deletion(false);
    test_answer_after_deletion(true);
    test_report_after_deletion();
    test_restart();
    test_objects();
    return test_done();
}
