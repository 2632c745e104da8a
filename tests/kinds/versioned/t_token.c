/* Tokens of VersionedServices: the steps of the Secret, and the edge's text. */
#include "src/kinds/versioned/versioned.h"

#include "world.h"

#define SECOND (INT64_C(1000) * 1000)
static const struct {
    const char *what;
    struct token_state has;
    uint64_t asked;
    int64_t age_ms, grace_ms;
    enum token_step step;
} token_steps[] = {
    {"there is no Secret", {.there = false}, 0, 0, 1000, TOKEN_MAKE},
    {"another client's", {.there = true, .valid = true, .former = true}, 7, 0, 1000, TOKEN_READ},
    {"another client's, without a token", {.there = true}, 7, 0, 1000, TOKEN_READ},
    {"nothing is asked", {true, true, true, .done = 7}, 0, 0, 1000, TOKEN_READ},
    {"it was carried out", {true, true, true, .done = 7}, 7, 0, 1000, TOKEN_READ},
    {"another token is asked for", {true, true, true, .done = 7}, 8, 0, 1000, TOKEN_STAGE},
    {"the next one waits", {true, true, true, true, .done = 7}, 8, TOKEN_LEAD_MS - 1, 24 * 3600 * 1000, TOKEN_READ},
    {"its time has come", {true, true, true, true, .done = 7}, 8, TOKEN_LEAD_MS, 24 * 3600 * 1000, TOKEN_TAKE},
    {"half of a short time", {true, true, true, true, .done = 7}, 0, 499, 1000, TOKEN_READ},
    {"which is over", {true, true, true, true, .done = 7}, 0, 500, 1000, TOKEN_TAKE},
    {"the former one is valid", {true, true, true, false, true, .done = 7}, 7, 999, 1000, TOKEN_READ},
    {"and then is not", {true, true, true, false, true, .done = 7}, 7, 1000, 1000, TOKEN_END},
    {"a rotation does not wait for its end", {true, true, true, false, true, .done = 7}, 8, 1, 1000, TOKEN_STAGE},
};

static void test_token_steps(void)
{
    for (size_t i = 0; i < COUNT_OF(token_steps); i++) {
        struct token_state has = token_steps[i].has;
        has.since_us = 5000 * SECOND;
        test_case("%s", token_steps[i].what);
        CHECK_INT(versioned_token_step(&has, token_steps[i].asked, token_steps[i].grace_ms, has.since_us + token_steps[i].age_ms * 1000),
                  token_steps[i].step);
    }
}

static bool edge_has(struct world *w, const char *words)
{
    return CHECK(slice_find_text(w->edge, words) >= 0) || (printf("  %.*s\n", SLICE_ARG(w->edge)), false);
}

#define SUM_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SUM_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct world begin_token(void)
{
    struct world w = {
        .now = {.mono_ms = 1000, .wall_us = INT64_C(1800000000) * 1000000}, .status = SLICE("{}"), .back = -1, .auth = "token"};
    test_case("an operator without --service-auth makes no token, and routes lead to the edge nevertheless");
    set_spec(&w, "v1 90 v2 10", QUICK);
    run(&w, 20, 200);
    CHECK_STR(slice_of(w.acts), "");
    CHECK_STR(condition_of(&w, "TokenReady", "status"), "False");
    CHECK(slice_find_text(condition_of(&w, "TokenReady", "message"), "mobula install --service-auth") >= 0);
    CHECK(slice_find_text(w.route_text, "\"rules\":[{\"matches\":[{\"path\":{\"type\":\"PathPrefix\",\"value\":\"/\"}}],"
                                        "\"backendRefs\":[{\"name\":\"mobula-edge\",\"port\":80,\"weight\":1}]}]") >= 0);
    CHECK(slice_find_text(w.route_text, "\"anyscale.com/bearer-token\":\"s-token\"") >= 0);

    test_case("with it: the Secret is read, the token made, and the edge gets its sum");
    w.grace_ms = 600 * 1000;
    run(&w, 2, 200);
    CHECK_STR(slice_of(w.acts), "r");
    CHECK_STR(condition_of(&w, "TokenReady", "status"), "False");
    run(&w, 8, 200);
    CHECK_STR(slice_of(w.acts), "rmT");
    CHECK_STR(w.edge, "{\"routes\":[{\"host\":\"a.example.org\",\"auth\":\"token\",\"tokenSha256\":\"" SUM_A "\",\"versions\":["
                      "{\"name\":\"v1\",\"weight\":90,\"upstream\":\"s-v1-serve-svc.n.svc:8000\"},"
                      "{\"name\":\"v2\",\"weight\":10,\"upstream\":\"s-v2-serve-svc.n.svc:8000\"}]},"
                      "{\"host\":\"b.example.org\",\"auth\":\"token\",\"tokenSha256\":\"" SUM_A "\",\"versions\":["
                      "{\"name\":\"v1\",\"weight\":90,\"upstream\":\"s-v1-serve-svc.n.svc:8000\"},"
                      "{\"name\":\"v2\",\"weight\":10,\"upstream\":\"s-v2-serve-svc.n.svc:8000\"}]}]}");
    CHECK_STR(condition_of(&w, "TokenReady", "reason"), "TokenValid");
    CHECK_STR(said(&w, "tokenSecret"), "s-token");
    return w;
}

static void test_token(void)
{
    struct world w = begin_token();
    test_case("a rotation: the edge gets the next token, it is taken, and the former one ended");
    w.rotate = "1";
    set_spec(&w, "v1 90 v2 10", QUICK);
    w.acts[0] = 0;
    memset(w.acts, 0, sizeof w.acts);
    run(&w, 5, 200);
    CHECK_STR(slice_of(w.acts), "sT");
    CHECK(edge_has(&w, "\"tokenSha256\":\"" SUM_A " " SUM_B "\""));
    CHECK_STR(condition_of(&w, "TokenReady", "reason"), "TokenRotating");
    run(&w, TOKEN_LEAD_MS / 1000, 200);
    CHECK(w.secret.former && !w.secret.next);
    CHECK_STR(condition_of(&w, "TokenReady", "reason"), "TokenRotating");
    run(&w, 610, 200);
    CHECK(!w.secret.former && w.token.sum_count == 1);
    CHECK(slice_find_text(w.edge, SUM_B) < 0);
    CHECK_STR(condition_of(&w, "TokenReady", "reason"), "TokenValid");

    test_case("a refused write is tried again after its backoff, and the edge keeps what it knows");
    struct slice before = w.edge;
    w.rotate = "2";
    w.forbidden = true;
    set_spec(&w, "v1 90 v2 10", QUICK);
    memset(w.acts, 0, sizeof w.acts);
    run(&w, 40, 200);
    CHECK_STR(slice_of(w.acts), "srs");
    CHECK(slice_eq(w.edge, before));
    w.forbidden = false;
    run(&w, 40, 200);
    CHECK(w.secret.next);

    test_case("the edge gets the weights");
    set_spec(&w, "v1 50 v2 50", QUICK);
    run(&w, 400, 200);
    CHECK(edge_has(&w, "\"name\":\"v2\",\"weight\":50"));

    end(&w);
}

static bool leads_to_edge(const struct world *w)
{
    CHECK((slice_find_text(w->route_text, "anyscale.com/bearer-token") >= 0) == (slice_find_text(w->route_text, "mobula-edge") >= 0));
    return slice_find_text(w->route_text, "mobula-edge") >= 0;
}

/* Decides until the edge has the service, and then for all but the last second of the lead. */
static void run_lead(struct world *w, int64_t since_ms)
{
    while (w->now.mono_ms + 1000 < since_ms + TOKEN_LEAD_MS) {
        run(w, 1, 200);
        CHECK(!leads_to_edge(w));
        CHECK_STR(condition_of(w, "TokenReady", "reason"), "TokenNotRequiredYet");
    }
}

static void test_auth_is_added(void)
{
    test_case("auth that is added to a service with traffic: routes lead to the versions until the edge knows it");
    struct world w = {.now = {.mono_ms = 1000, .wall_us = INT64_C(1800000000) * 1000000}, .status = SLICE("{}"), .back = -1, .hosts = true};
    set_spec(&w, "v1 90 v2 10", QUICK);
    run(&w, 20, 200);
    CHECK_STR(condition_of(&w, "TokenReady", "status"), "");
    CHECK(!leads_to_edge(&w) && w.route_text.len > 0);
    w.auth = "token";
    set_spec(&w, "v1 90 v2 10", QUICK);
    run(&w, 5, 200);
    CHECK(slice_find_text(condition_of(&w, "TokenReady", "message"), "requests are served without a token: the operator makes no tokens") >=
          0);
    CHECK(!leads_to_edge(&w));

    test_case("the token is made, and a new leader waits for the whole time again");
    w.grace_ms = 600 * 1000;
    run(&w, 6, 200);
    CHECK_STR(slice_of(w.acts), "rmT");
    run_lead(&w, w.token.since_ms);
    memset(&w.token, 0, sizeof w.token);
    memset(w.acts, 0, sizeof w.acts);
    run(&w, 4, 200);
    CHECK_STR(slice_of(w.acts), "rT");
    run_lead(&w, w.token.since_ms);
    run(&w, 4, 200);
    CHECK(leads_to_edge(&w));
    CHECK_STR(condition_of(&w, "TokenReady", "reason"), "TokenValid");
    CHECK_STR(condition_of(&w, "TokenReady", "message"), "");

    test_case("then they lead to the edge, also with a new leader, and one that may not read the Secret");
    memset(&w.token, 0, sizeof w.token);
    run(&w, 1, 200);
    CHECK_STR(condition_of(&w, "TokenReady", "status"), "True");
    struct intern texts = {0};
    w.token.known = true;
    w.token.part[TOKEN_SECRET].trouble = intern_get(&texts, SLICE("s-token: 403 Forbidden"));
    run(&w, 5, 200);
    CHECK_STR(condition_of(&w, "TokenReady", "reason"), "TokenNotReady");
    CHECK(leads_to_edge(&w));
    intern_drop(&texts, w.token.part[TOKEN_SECRET].trouble);
    intern_free(&texts);
    end(&w);
}

static void test_auth_is_taken_back(void)
{
    struct world w = begin_token();
    test_case("auth that is taken back: first the routes change, and while they are not in force the edge keeps the service");
    w.auth = NULL;
    w.refused = w.hosts = true;
    set_spec(&w, "v1 90 v2 10", QUICK);
    memset(w.acts, 0, sizeof w.acts);
    run(&w, 200, 200);
    CHECK(!leads_to_edge(&w));
    CHECK_STR(slice_of(w.acts), "");
    CHECK_STR(said(&w, "tokenSecret"), "");
    CHECK_STR(condition_of(&w, "TokenReady", "status"), "False");
    CHECK_STR(condition_of(&w, "TokenReady", "reason"), "TokenNotRequiredAnyMore");

    test_case("they are, and a new leader removes the service after the time for requests under way");
    w.refused = false;
    run(&w, 30, 200);
    CHECK_STR(said(&w, "rollout.phase"), "Complete");
    memset(&w.token, 0, sizeof w.token);
    run(&w, 20, 200);
    CHECK_STR(slice_of(w.acts), "");
    w.unpublished = true;
    run(&w, 50, 200);
    CHECK_STR(slice_of(w.acts), "TT");
    CHECK_STR(condition_of(&w, "TokenReady", "reason"), "TokenNotRequiredAnyMore");
    w.unpublished = false;
    run(&w, 60, 200);
    CHECK_STR(slice_of(w.acts), "TTT");
    CHECK_STR(w.edge, "");
    CHECK_STR(condition_of(&w, "TokenReady", "status"), "");

    test_case("auth that is added again waits until the edge knows the service");
    w.auth = "token";
    set_spec(&w, "v1 90 v2 10", QUICK);
    run(&w, 10, 200);
    CHECK(!leads_to_edge(&w));
    CHECK_STR(condition_of(&w, "TokenReady", "reason"), "TokenNotRequiredYet");
    run(&w, TOKEN_LEAD_MS / 1000, 200);
    CHECK(leads_to_edge(&w));

    test_case("also before the edge has forgotten it, by an operator that does not know whether it has");
    w.auth = NULL;
    set_spec(&w, "v1 90 v2 10", QUICK);
    run(&w, 10, 200);
    memset(&w.token, 0, sizeof w.token);
    w.auth = "token";
    set_spec(&w, "v1 90 v2 10", QUICK);
    run(&w, 10, 200);
    CHECK(!leads_to_edge(&w));
    run(&w, TOKEN_LEAD_MS / 1000, 200);
    CHECK(leads_to_edge(&w));
    CHECK_STR(condition_of(&w, "TokenReady", "reason"), "TokenValid");
    end(&w);
}

/* Requests that come through the edge follow its weights, so capacity must follow those. */
static void test_rollout(void)
{
    test_case("a rollout of a service with a token: capacity is taken from a version when the edge has read that it gets less");
    struct world w = {.now = {.mono_ms = 1000, .wall_us = INT64_C(1800000000) * 1000000},
                      .status = SLICE("{}"),
                      .back = -1,
                      .auth = "token",
                      .grace_ms = 600 * 1000};
    set_spec(&w, "v1 100", QUICK);
    run(&w, 140, 100);
    CHECK_STR(said(&w, "rollout.phase"), "Complete");
    set_spec(&w, "v2 100", QUICK);
    run(&w, 20, 125);
    CHECK_STR(share_text(&w), "v2 25/25 v1 100/75");
    CHECK(edge_has(&w, "\"name\":\"v1\",\"weight\":75"));
    run(&w, 90, 125);
    CHECK_STR(share_text(&w), "v2 25/25 v1 100/75");
    CHECK(slice_find_text(condition_of(&w, "Progressing", "message"), "the edge has not read the last weights yet") >= 0);
    run(&w, 30, 125);
    CHECK_STR(share_text(&w), "v2 50/50 v1 75/50");

    test_case("while the edge's ConfigMap cannot be written, no version ends and the rollout is not complete");
    run(&w, 1000, 125);
    CHECK_STR(share_text(&w), "v2 100/100");
    w.unpublished = true;
    set_spec(&w, "v3 100", "{\"intervalSeconds\":15,\"stepPercent\":25}");
    run(&w, 1200, 200);
    CHECK_INT(w.count, 2);
    CHECK_STR(said(&w, "rollout.phase"), "Progressing");
    w.unpublished = false;
    run(&w, 600, 200);
    CHECK_INT(w.count, 1);
    CHECK_STR(said(&w, "rollout.phase"), "Complete");

    test_case("a next token that was not published is not taken, whatever the clock says");
    w.unpublished = true;
    w.rotate = "1";
    set_spec(&w, "v3 100", QUICK);
    run(&w, 600, 200);
    CHECK(w.secret.next && !w.secret.former);
    w.unpublished = false;
    run(&w, 200, 200);
    CHECK(!w.secret.next && w.secret.former);
    end(&w);
}

int main(void)
{
    test_token_steps();
    test_token();
    test_auth_is_added();
    test_auth_is_taken_back();
    test_rollout();
    return test_done();
}
