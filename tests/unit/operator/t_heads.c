/* A question to the dashboard of a cluster's head: where it goes, that the way is open no longer than it takes, and that nobody is told
 * who no longer wants to be. */
#include "heads.h"

#include "src/kinds/rayjob/record.h"

static void answer(struct rig *r)
{
    fake_answer(fake_last(&r->f), 200, "", SLICE("{\"version\":\"4\",\"ray_version\":\"2.60.0\",\"session_name\":\"s\"}"));
    heads_tick(r->op);
}

static void check_way(void)
{
    struct rig r;
    struct err e = {0};
    start(&r, "\"dashboard-port\":\"9000\"");
    test_case("without a head that runs nobody is asked");
    CHECK(!ask(&r, &e) && strstr(e.text, "no head"));
    tell_head(&r, 11, "Pending", "");
    e = (struct err){0};
    CHECK(!ask(&r, &e) && strstr(e.text, "no head"));
    CHECK_INT(r.f.count, 0);
    test_case("the head's own address and the port of its dashboard, which are on the allowlist until it has answered");
    tell_head(&r, 12, "Running", "10.1.2.3");
    CHECK(!may_reach(&r, "10.1.2.3", 9000));
    CHECK(ask(&r, &e));
    CHECK_STR(slice_of(fake_last(&r.f)->host), "10.1.2.3");
    CHECK_INT(fake_last(&r.f)->port, 9000);
    CHECK(may_reach(&r, "10.1.2.3", 9000));
    CHECK_INT(r.answers, 0);
    answer(&r);
    CHECK_INT(r.answers, 1);
    CHECK_INT(r.tag, 7);
    CHECK_INT(r.outcome, RAY_DASH_OK);
    CHECK_STR(slice_of(r.version), "2.60.0");
    CHECK(!may_reach(&r, "10.1.2.3", 9000));
    CHECK(rayclusters_of(r.op)->calls == NULL);
    finish(&r);
}

static void check_forget(void)
{
    struct rig r;
    struct err e = {0};
    start(&r, "");
    tell_head(&r, 11, "Running", "10.1.2.3");
    test_case("who has been forgotten is not told");
    CHECK(ask(&r, &e));
    CHECK_INT(fake_alive(&r.f), 1);
    int other;
    heads_forget(r.op, &other);
    CHECK_INT(fake_alive(&r.f), 1);
    heads_forget(r.op, &r);
    CHECK_INT(fake_alive(&r.f), 0);
    CHECK_INT(r.answers, 0);
    CHECK(!may_reach(&r, "10.1.2.3", 8265));
    test_case("nor is anybody when the operator ends");
    CHECK(ask(&r, &e));
    CHECK(may_reach(&r, "10.1.2.3", 8265));
    finish(&r);
    CHECK_INT(r.answers, 0);
}

static void check_wrong(void)
{
    struct rig r;
    struct err e = {0};
    start(&r, "\"dashboard-port\":\"none\"");
    tell_head(&r, 11, "Running", "10.1.2.3");
    test_case("a spec with errors does not stop questions to the head that runs: a port that cannot be read is Ray's own");
    CHECK(ask(&r, &e));
    CHECK_INT(fake_last(&r.f)->port, 8265);
    finish(&r);
    start(&r, "");
    tell_head(&r, 11, "Running", "127.0.0.1");
    test_case("a head that claims to be this machine is not asked");
    e = (struct err){0};
    CHECK(!ask(&r, &e));
    CHECK_INT(e.code, ERR_DENIED);
    CHECK(rayclusters_of(r.op)->calls == NULL);
    finish(&r);
}

/* What questions go by is kept, and as long as the spec. */
static void check_kept(void)
{
    struct rig r;
    struct err e = {0};
    start(&r, "\"dashboard-port\":\"9000\"");
    tell_head(&r, 11, "Running", "10.1.2.3");
    CHECK(ask(&r, &e));
    test_case("a second question reads no spec");
    model_forget(r.op, r.c);
    CHECK(ask(&r, &e));
    CHECK(r.op->models.loaded->of == NULL);
    CHECK_INT(fake_last(&r.f)->port, 9000);
    test_case("a spec that is changed is read");
    tell_cluster(&r, 12, "\"dashboard-port\":\"9001\"", "");
    CHECK(ask(&r, &e));
    CHECK_INT(fake_last(&r.f)->port, 9001);
    tell_cluster(&r, 13, "\"dashboard-port\":\"none\"", "");
    CHECK(ask(&r, &e));
    CHECK_INT(fake_last(&r.f)->port, 8265);
    tell_cluster(&r, 14, "\"dashboard-port\":\"9002\"", "");
    CHECK(ask(&r, &e));
    CHECK_INT(fake_last(&r.f)->port, 9002);
    finish(&r);
}

static void tell_service(struct rig *r, const char *ns, const char *ip)
{
    struct slice text = arena_printf(
        &r->arena,
        "{\"metadata\":{\"name\":\"c-head-svc\",\"namespace\":\"%s\",\"uid\":\"s-%s\",\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\","
        "\"kind\":\"RayCluster\",\"name\":\"c\",\"uid\":\"" CLUSTER "\",\"controller\":true}]},\"spec\":{\"clusterIP\":\"%s\"}}",
        ns, ns, ip);
    extract_service(r->op, &r->op->spaces[0], parsed(r, text), 20 + (uint64_t)strlen(ip), 1);
}

static void check_service(void)
{
    struct rig r;
    struct err e = {0};
    start_with(&r, "", OPERATOR_SERVICE);
    tell_head(&r, 11, "Running", "10.1.2.3");
    test_case("a service without an address of its own leads to the pod's");
    tell_service(&r, "n", "None");
    CHECK(ask(&r, &e));
    CHECK_STR(slice_of(fake_last(&r.f)->host), "10.1.2.3");
    test_case("one with an address is asked there");
    tell_service(&r, "n", "10.96.0.7");
    CHECK(ask(&r, &e));
    CHECK_STR(slice_of(fake_last(&r.f)->host), "10.96.0.7");
    test_case("one of that name in another namespace is not, whatever owner it names");
    tell_service(&r, "m", "10.96.6.66");
    CHECK(ask(&r, &e));
    CHECK_STR(slice_of(fake_last(&r.f)->host), "10.96.0.7");
    finish(&r);
}

/* The operator ends, and does not wait for an answer to a job's question. */
static void check_proxy_free(void)
{
    static const char uid[] = "00000000-0000-0000-0000-0000000000b1";
    struct rig r;
    struct err e = {0};
    const struct ray_dash_request request = {.call = RAY_DASH_VERSION};
    test_case("questions of a job wait, or are under way, when all is freed");
    start_with(&r, "", OPERATOR_PROXY);
    tell_head(&r, 11, "Running", "10.1.2.3");
    struct slice text = arena_printf(&r.arena, "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"%s\"},\"spec\":{}}", uid);
    extract_record(r.op, source_of(&r.op->spaces[0], &kind_rayjob), parsed(&r, text), 12, 1);
    struct job *j = job_of(r.op, record_get(r.op, slice_of(uid), SLICE("n")));
    for (int i = 0; i < RAY_DASH_LINKS_HOST + 4; i++)
        CHECK(head_ask(r.op, r.c, &request, on_answer, j, 7, &e));
    run(&r);
    CHECK(proxied(&r, RAY_DASH_LINKS_HOST - 1) && !proxied(&r, RAY_DASH_LINKS_HOST));
    finish(&r);
}

static void start_auth(struct rig *r, enum operator_access access)
{
    start_spec(r, "", access, "\"rayVersion\":\"2.60.0\",\"authOptions\":{\"secretName\":\"mine\"},");
    tell_head(r, 11, "Running", "10.1.2.3");
}

/* Reads the Secret, as the first question makes it. */
static void give_token(struct rig *r, const char *data)
{
    struct err e = {0};
    CHECK(!ask(r, &e) && strstr(e.text, "the token in Secret mine is being read"));
    CHECK_INT(e.code, ERR_MISSING);
    run(r);
    struct fakelink *l = link_with(r, "/secrets/mine");
    if (!CHECK(l != NULL))
        return;
    CHECK_STR(fake_line(l), "GET /api/v1/namespaces/n/secrets/mine");
    fake_take(l);
    fake_answer(l, 200, "", arena_printf(&r->arena, "{\"data\":{\"auth_token\":\"%s\"}}", data));
    run(r);
}

static void check_token(void)
{
    struct rig r;
    struct err e = {0};
    test_case("the token of the Secret goes to the head");
    start_auth(&r, OPERATOR_DIRECT);
    give_token(&r, "c2VzYW1l"); /* sesame */
    CHECK(ask(&r, &e));
    CHECK(fake_has(fake_last(&r.f), "\r\nAuthorization: Bearer sesame\r\n"));
    finish(&r);
    test_case("… through the API server in a header that is not its own, which stands beside the operator's credentials");
    start_auth(&r, OPERATOR_PROXY);
    give_token(&r, "c2VzYW1l");
    CHECK(ask(&r, &e));
    run(&r);
    struct fakelink *l = proxied(&r, 0);
    if (CHECK(l != NULL)) {
        CHECK(fake_has(l, "\r\nX-Ray-Authorization: Bearer sesame\r\n") && !fake_has(l, "\r\nAuthorization: Bearer sesame"));
        test_case("… again when the API server refuses those");
        fake_take(l);
        fake_answer(l, 401, "", SLICE("{\"kind\":\"Status\",\"reason\":\"Unauthorized\",\"code\":401}"));
        run(&r);
        l = proxied(&r, 0);
        CHECK(l && fake_has(l, "\r\nX-Ray-Authorization: Bearer sesame\r\n"));
    }
    finish(&r);
}

static void check_bad_token(void)
{
    static const struct {
        const char *body, *words;
    } cases[] = {
        {"{\"data\":{\"other\":\"c2VzYW1l\"}}", "it has no key auth_token"},
        {"{\"data\":{\"auth_token\":7}}", "it has no key auth_token"},
        {"{}", "it has no key auth_token"},
        {"[", "cannot be read: "},
        {"{\"data\":{\"auth_token\":\"%%\"}}", "base64"},
        {"{\"data\":{\"auth_token\":\"\"}}", "key auth_token is empty"},
        {"{\"data\":{\"auth_token\":\"IAo=\"}}", "key auth_token is empty"},
        {"{\"data\":{\"auth_token\":\"YQpi\"}}", "holds a byte that no header may have, at 1"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r;
        struct err e = {0};
        test_case("a Secret that is %s", cases[i].body);
        start_auth(&r, OPERATOR_DIRECT);
        CHECK(!ask(&r, &e));
        run(&r);
        struct fakelink *l = link_with(&r, "/secrets/mine");
        if (CHECK(l != NULL))
            fake_answer(l, 200, "", slice_of(cases[i].body));
        run(&r);
        e = (struct err){0};
        CHECK(!ask(&r, &e) && strstr(e.text, "Secret mine") && strstr(e.text, cases[i].words));
        CHECK_INT(e.code, ERR_STATUS);
        CHECK(strstr(e.text, "c2VzYW1l") == NULL && strstr(e.text, "sesame") == NULL);
        finish(&r);
    }
}

static void call_finished(void *owner, uint64_t tag, const struct kube_answer *a, struct now now)
{
    (void)owner;
    (void)tag;
    (void)a;
    (void)now;
}

/* As many calls as may wait, of somebody else. */
static void fill_queue(struct rig *r)
{
    const struct kube_request call = {
        .lane = KUBE_LANE_MAIN, .method = SLICE("GET"), .path = SLICE("/x"), .again = true, .done = call_finished, .owner = r};
    struct err e = {0};
    for (int i = 0; i < 2 * LIMIT_KUBE_CALLS && kube_call(r->op->client, &call, r->f.now, &e); i++)
        continue;
    CHECK(strstr(e.text, "LIMIT_KUBE_CALLS"));
}

static void start_scaled(struct rig *r, enum operator_access access, const char *more)
{
    start_spec(r, "", access, more);
    for (uint32_t k = 0; k < kind_count(r->op); k++)
        r->op->spaces[0].source[k].keeper.synced = true;
    r->op->phase.leading = true;
    tell_head(r, 11, "Running", "10.1.2.3");
}

/* Decides after so long, and sends nothing of the plan. */
static void decide_later(struct rig *r, int64_t ms)
{
    execute_none(r->op);
    r->f.now.mono_ms += ms;
    r->op->now = r->f.now;
    record_touch(r->op, r->c);
    decide_all(r->op);
}

static void touch(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now)
{
    struct rig *r = owner;
    on_answer(owner, tag, answer, now);
    record_touch(r->op, r->c);
}

static void check_failed_at_once(void)
{
    struct rig r;
    struct err e = {0};
    const struct ray_dash_request request = {.call = RAY_DASH_VERSION};
    test_case("a question that cannot be sent: what its answer changes is decided at once, not when something else happens");
    start_scaled(&r, OPERATOR_DIRECT, "");
    for (int i = 0; i < 100 && operator_step(r.op, r.f.now) <= r.f.now.mono_ms; i++)
        net_dispatch(&r.f.net, r.f.now);
    CHECK(operator_step(r.op, r.f.now) > r.f.now.mono_ms);
    r.f.refuse = "no way";
    CHECK(head_ask(r.op, r.c, &request, touch, &r, 7, &e));
    int64_t next = operator_step(r.op, r.f.now);
    CHECK_INT(r.outcome, RAY_DASH_UNSENT);
    CHECK(r.op->dirty.first == r.c && next == r.f.now.mono_ms);
    operator_step(r.op, r.f.now);
    CHECK(r.op->dirty.first == NULL);
    r.f.refuse = NULL;
    finish(&r);
}

static const char scaled_auth[] = "\"enableInTreeAutoscaling\":true,\"rayVersion\":\"2.60.0\",\"authOptions\":{\"secretName\":\"mine\"},";

static void check_full_queue(void)
{
    struct rig r;
    test_case("the queue of calls is full when the token is to be read: it is read later, though nothing happens to the cluster");
    start_scaled(&r, OPERATOR_DIRECT, scaled_auth);
    fill_queue(&r);
    decide_later(&r, 1000);
    CHECK_INT(r.c->in_flight, 0);
    CHECK_INT(r.c->timer.wake_ms - r.f.now.mono_ms, PLAN_BACKOFF_MS);
    kube_calls_recall(r.op->client, &r, NULL, r.f.now);
    decide_later(&r, PLAN_BACKOFF_MS);
    CHECK_INT(r.c->in_flight, 1);
    finish(&r);
}

static void check_nobody_asks(void)
{
    struct rig r;
    test_case("a token that cannot be read is asked for again later");
    start_scaled(&r, OPERATOR_DIRECT, scaled_auth);
    decide_later(&r, 1000);
    run(&r);
    struct fakelink *l = link_with(&r, "/secrets/mine");
    if (CHECK(l != NULL))
        fake_answer(l, 404, "", SLICE("{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}"));
    run(&r);
    decide_later(&r, 1);
    CHECK(r.c->timer.wake_ms > r.f.now.mono_ms && r.c->timer.wake_ms <= r.f.now.mono_ms + PLAN_BACKOFF_MS);
    test_case("… and when nobody needs it by then, that wakes nobody again and again");
    tell_head(&r, 12, "Pending", "");
    decide_later(&r, RAY_TOKEN_AGAIN_MAX_MS);
    CHECK_INT(r.c->in_flight, 0);
    CHECK(r.c->timer.wake_ms > r.f.now.mono_ms);
    finish(&r);
}

static void check_other_secret(void)
{
    struct rig r;
    struct err e = {0};
    test_case("another Secret is named while one is being read: what comes of the first is not the token of the second");
    start_auth(&r, OPERATOR_DIRECT);
    CHECK(!ask(&r, &e));
    run(&r);
    tell_cluster(&r, 12, "", "\"rayVersion\":\"2.60.0\",\"authOptions\":{\"secretName\":\"other\"},");
    r.secret = "other"; /* the next head is made with it */
    tell_head(&r, 13, "Running", "10.1.2.3");
    CHECK(!ask(&r, &e));
    run(&r);
    struct fakelink *first = link_with(&r, "/secrets/mine"), *second = link_with(&r, "/secrets/other");
    if (!CHECK(first && second && first != second)) {
        finish(&r);
        return;
    }
    fake_answer(first, 200, "", SLICE("{\"data\":{\"auth_token\":\"c2VzYW1l\"}}"));
    run(&r);
    e = (struct err){0};
    CHECK(!ask(&r, &e) && strstr(e.text, "the token in Secret other is being read"));
    fake_answer(second, 200, "", SLICE("{\"data\":{\"auth_token\":\"b3Blbg==\"}}")); /* open */
    run(&r);
    CHECK(ask(&r, &e));
    CHECK(fake_has(fake_last(&r.f), "\r\nAuthorization: Bearer open\r\n"));
    CHECK_INT(r.c->in_flight, 0);
    finish(&r);
}

/* The model of a cluster that does not change stays loaded for days. */
static void check_memory(void)
{
    static const enum operator_access ways[] = {OPERATOR_DIRECT, OPERATOR_SERVICE, OPERATOR_PROXY};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct rig r;
        struct err e = {0};
        test_case("whatever is asked again and again, nothing is added to the model (way %zu)", i);
        start_scaled(&r, ways[i], "\"enableInTreeAutoscaling\":true,");
        tell_service(&r, "n", "10.96.0.7");
        model_load(r.op, r.c);
        size_t used = r.op->models.loaded->arena.used;
        for (int k = 0; k < 20; k++) {
            decide_later(&r, 1000);
            ask(&r, &e);
        }
        CHECK(r.op->models.loaded->of == r.c);
        CHECK_INT(r.op->models.loaded->arena.used, used);
        finish(&r);
    }
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    check_way();
    check_forget();
    check_wrong();
    check_kept();
    check_service();
    check_proxy_free();
    check_token();
    check_bad_token();
    check_failed_at_once();
    check_full_queue();
    check_nobody_asks();
    check_other_secret();
    check_memory();
    return test_done();
}
