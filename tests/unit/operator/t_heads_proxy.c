/* Questions to dashboards that go through the API server: what they say and what the answers are, whose turn it is among them, and that
 * heads that hang delay nobody else. */
#include "heads.h"

static void check_answers(void)
{
    static const struct {
        int status;
        const char *body;
        enum ray_dash_outcome outcome;
        int told; /* as the dashboard's status; 0: it has not answered */
    } cases[] = {
        {200, "{\"version\":\"4\",\"ray_version\":\"2.60.0\",\"session_name\":\"s\"}", RAY_DASH_OK, 200},
        {404, "Job x does not exist", RAY_DASH_ABSENT, 404},
        {503, "no room", RAY_DASH_FAILED, 503},
        {404, "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"services \\\"c-head-svc\\\" not found\"}", RAY_DASH_UNSENT, 0},
        {403, "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"no\"}", RAY_DASH_UNSENT, 0},
        {503, "{\"kind\":\"Status\",\"reason\":\"ServiceUnavailable\",\"message\":\"no endpoints\"}", RAY_DASH_FAILED, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r;
        struct err e = {0};
        test_case("through the API server: %d %s", cases[i].status, cases[i].body);
        start_with(&r, "", OPERATOR_PROXY);
        tell_head(&r, 11, "Running", "10.1.2.3");
        CHECK(ask(&r, &e));
        run(&r);
        struct fakelink *l = proxied(&r, 0);
        if (CHECK(l != NULL)) {
            CHECK_STR(slice_of(l->host), "api.test");
            CHECK_STR(fake_line(l), "GET /api/v1/namespaces/n/services/c-head-svc:8265/proxy/api/version");
            CHECK(!may_reach(&r, "10.1.2.3", 8265));
            fake_answer(l, cases[i].status, "", slice_of(cases[i].body));
        }
        run(&r);
        CHECK_INT(r.answers, 1);
        CHECK_INT(r.outcome, cases[i].outcome);
        CHECK_INT(r.http_status, cases[i].told);
        CHECK(rayclusters_of(r.op)->calls == NULL);
        finish(&r);
    }
}

/* ---- whose turn it is ---- */

enum { CROWD = KUBE_PROXY_CALLS + 4 };

/* As many clusters as `CROWD`, each with a head that runs. */
static void start_crowd(struct rig *r)
{
    start_with(r, "", OPERATOR_PROXY);
    for (int i = 0; i < CROWD; i++) {
        tell_cluster_of(r, i, 20, "", "");
        tell_head_of(r, i, 21, "Running", "10.1.2.3");
    }
}

static void ask_of(struct rig *r, int n, const struct ray_dash_request *request, void *owner)
{
    struct err e = {0};
    CHECK(head_ask(r->op, record_get(r->op, uid_of(r, 0xc, n), SLICE("n")), request, on_answer, owner, 7, &e));
}

static void ask_all(struct rig *r, void *owner)
{
    for (int i = 0; i < CROWD; i++)
        ask_of(r, i, &(struct ray_dash_request){.call = RAY_DASH_VERSION}, owner);
    run(r);
    CHECK(proxied(r, KUBE_PROXY_CALLS - 1) && !proxied(r, KUBE_PROXY_CALLS));
}

/* Whether the nth cluster's head is being asked. */
static bool is_asked(struct rig *r, int n)
{
    struct slice path = n ? arena_printf(&r->arena, "/services/c%d-head-svc:", n) : SLICE("/services/c-head-svc:");
    for (uint32_t i = 0; i < r->f.count; i++)
        if (r->f.links[i]->link && fake_has(r->f.links[i], path.ptr))
            return true;
    return false;
}

static void pass(struct rig *r, int64_t ms)
{
    r->f.now.mono_ms += ms;
    run(r);
}

static void answer_one(struct rig *r)
{
    for (uint32_t i = 0; i < r->f.count; i++)
        if (r->f.links[i]->link && fake_has(r->f.links[i], "/proxy/")) {
            fake_take(r->f.links[i]);
            fake_answer(r->f.links[i], 200, "", SLICE("{\"version\":\"4\",\"ray_version\":\"2.60.0\",\"session_name\":\"s\"}"));
            run(r);
            return;
        }
    CHECK(!"nobody is asked");
}

static void check_doubtful(void)
{
    const struct ray_dash_request doubtful = {.call = RAY_DASH_VERSION, .doubtful = true}, good = {.call = RAY_DASH_VERSION};
    struct rig r;
    test_case("heads that did not answer the last time have a part of the places, however many they are");
    start_crowd(&r);
    for (int i = 0; i < CROWD - 1; i++)
        ask_of(&r, i, &doubtful, &r);
    run(&r);
    ask_of(&r, CROWD - 1, &good, &r);
    run(&r);
    CHECK(proxied(&r, RAY_DASH_PROXIED_DOUBTFUL) && !proxied(&r, RAY_DASH_PROXIED_DOUBTFUL + 1));
    CHECK(is_asked(&r, CROWD - 1));
    struct fakelink *l = link_with(&r, arena_printf(&r.arena, "/services/c%d-head-svc:", CROWD - 1).ptr);
    if (CHECK(l != NULL))
        fake_answer(l, 200, "", SLICE("{\"ray_version\":\"2.60.0\",\"session_name\":\"s\"}"));
    run(&r);
    CHECK_INT(r.answers, 1);
    CHECK_INT(r.outcome, RAY_DASH_OK);
    test_case("… and the time of those that wait begins when it is their turn");
    for (int asked = RAY_DASH_PROXIED_DOUBTFUL; asked < CROWD - 1 + RAY_DASH_PROXIED_DOUBTFUL; asked += RAY_DASH_PROXIED_DOUBTFUL) {
        uint32_t before = r.answers;
        pass(&r, RAY_DASH_MS - 1);
        CHECK_INT(r.answers, before);
        pass(&r, 1);
        CHECK_INT(r.answers, 1 + (asked < CROWD - 1 ? asked : CROWD - 1));
        CHECK_INT(r.outcome, RAY_DASH_LOST);
    }
    CHECK(rayclusters_of(r.op)->calls == NULL);
    finish(&r);
}

static void check_host(void)
{
    const struct ray_dash_request request = {.call = RAY_DASH_VERSION};
    struct rig r;
    struct err e = {0};
    test_case("of one head a few questions are under way, and no other head waits for them: LIMIT_RAY_DASH_CALLS");
    start_crowd(&r);
    for (int i = 0; i < LIMIT_RAY_DASH_CALLS - 1; i++)
        ask_of(&r, 0, &request, &r);
    run(&r);
    CHECK(proxied(&r, RAY_DASH_LINKS_HOST - 1) && !proxied(&r, RAY_DASH_LINKS_HOST));
    ask_of(&r, 1, &request, &r);
    run(&r);
    CHECK(is_asked(&r, 1) && !proxied(&r, RAY_DASH_LINKS_HOST + 1));
    CHECK(!head_ask(r.op, r.c, &request, on_answer, &r, 7, &e) && strstr(e.text, "LIMIT_RAY_DASH_CALLS"));
    answer_one(&r);
    ask_of(&r, 2, &request, &r);
    finish(&r);
    CHECK_INT(r.answers, 1);
}

static void check_unsent(void)
{
    enum { LARGE = LIMIT_HTTP_BODY + LIMIT_KUBE_TOKEN + 64 * KIB + 1 }; /* more than any request of the client */
    struct rig r;
    test_case("what cannot be sent when its turn comes is answered so, and keeps no place");
    start_crowd(&r);
    const struct ray_dash_request large = {.call = RAY_DASH_SUBMIT, .body = {arena_alloc(&r.arena, LARGE), LARGE}};
    for (int i = 0; i < RAY_DASH_LINKS_HOST; i++)
        ask_of(&r, 0, &large, &r);
    ask_of(&r, 0, &(struct ray_dash_request){.call = RAY_DASH_VERSION}, &r);
    CHECK_INT(r.answers, 0);
    run(&r);
    CHECK_INT(r.answers, RAY_DASH_LINKS_HOST);
    CHECK_INT(r.outcome, RAY_DASH_UNSENT);
    CHECK(proxied(&r, 0) && !proxied(&r, 1));
    answer_one(&r);
    CHECK_INT(r.outcome, RAY_DASH_OK);
    CHECK(rayclusters_of(r.op)->calls == NULL);
    finish(&r);
}

static void check_forget(void)
{
    struct rig r;
    int other;
    test_case("who has been forgotten is not told, whether the question waits or is under way");
    start_crowd(&r);
    ask_all(&r, &r);
    heads_forget(r.op, &r);
    run(&r);
    CHECK(!proxied(&r, KUBE_PROXY_CALLS)); /* what is under way goes on, and what has waited is not sent */
    test_case("… and another's question has the place of the first that ends");
    ask_of(&r, CROWD - 1, &(struct ray_dash_request){.call = RAY_DASH_VERSION}, &other);
    run(&r);
    CHECK(!is_asked(&r, CROWD - 1));
    answer_one(&r);
    CHECK(is_asked(&r, CROWD - 1));
    heads_forget(r.op, &other);
    for (int i = 0; i < KUBE_PROXY_CALLS; i++)
        answer_one(&r);
    CHECK_INT(r.answers, 0);
    CHECK(rayclusters_of(r.op)->calls == NULL);
    finish(&r);
}

/* The operator ends, and does not wait for what has not been sent. */
static void check_stop(void)
{
    struct rig r;
    test_case("no question is sent any more when the operator is to end");
    start_crowd(&r);
    ask_all(&r, &r);
    for (int i = 0; i < KUBE_PROXY_CALLS; i++) {
        CHECK(!operator_stop(r.op, r.f.now));
        answer_one(&r);
    }
    CHECK(operator_stop(r.op, r.f.now));
    CHECK_INT(r.answers, KUBE_PROXY_CALLS);
    finish(&r);
    CHECK_INT(r.answers, KUBE_PROXY_CALLS);
}

static void check_unscaled(void)
{
    struct rig r;
    test_case("through the API server nothing is scaled by demand, and that is said");
    start_with(&r, "", OPERATOR_PROXY);
    tell_head(&r, 11, "Running", "10.1.2.3");
    model_load(r.op, r.c);
    cluster_model(r.op)->scale.on = true;
    scaling_follow(r.op, r.c);
    const struct scale_news *news = scaling_apply(r.c, NULL, 0, &r.arena);
    CHECK(news && !news->works && strcmp(news->reason, "GCSBehindProxy") == 0 && strstr(news->words.ptr, "--ray-access=proxy"));
    CHECK_INT(r.f.count, 0);
    finish(&r);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    check_answers();
    check_doubtful();
    check_host();
    check_unsent();
    check_forget();
    check_stop();
    check_unscaled();
    return test_done();
}
