/* Guards: tokens in files, reviews at an API server that a test plays. */
#include "auth.h"

/* ---- tokens in files ---- */

static int with_token(const char *token)
{
    int status;
    ask(&client, "GET", token, "");
    struct end *u = upstream();
    if (u && u->out.len > u->got) {
        CHECK(!slice_has(rig_hear(u), "Authorization"));
        rig_say(&rig, u, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
    status = rig_status(&client);
    return status;
}

static void test_tokens(void)
{
    struct err e = {0};
    rig_tokens = "first\n\n second \r\n";
    begin("two tokens are valid at a time", "routes: [{auth: token, tokenFile: /t, upstream: 'u:1'}]");
    CHECK_INT(with_token("first"), 200);
    CHECK_INT(with_token("second"), 200);
    CHECK_INT(with_token("secon"), 401);
    CHECK_INT(with_token("seconds"), 401);
    CHECK_INT(with_token(""), 401);
    CHECK_INT(with_token(NULL), 401);
    test_case("a file that changes");
    rig_tokens = "second\nthird\n";
    edge_reload(rig.edge);
    CHECK_INT(with_token("first"), 401);
    CHECK_INT(with_token("third"), 200);
    test_case("a file that is no use changes nothing");
    static const char *const useless[] = {"", "\n\n", "a b\n", "a\nb\nc\n", "\x01\n"};
    for (size_t i = 0; i < COUNT_OF(useless); i++) {
        rig_tokens = useless[i];
        edge_reload(rig.edge);
        CHECK_INT(with_token("third"), 200);
    }
    test_case("tokens of a file that is gone are refused until it is there again");
    rig_tokens = NULL;
    edge_reload(rig.edge);
    CHECK_INT(with_token("third"), 401);
    CHECK_INT(with_token(""), 401);
    rig_tokens = "third\n";
    edge_reload(rig.edge);
    CHECK_INT(with_token("third"), 200);
    test_case("no routes without their tokens");
    CHECK(
        !edge_configure(rig.edge, &(struct edge_text){SLICE("routes: [{auth: token, tokenFile: /missing, upstream: 'u:1'}]"), "f"}, 1, &e));
    CHECK(slice_has(slice_of(e.text), "/missing"));
    char most[LIMIT_EDGE_TOKEN + 2];
    memset(most, 'a', sizeof most);
    most[LIMIT_EDGE_TOKEN + 1] = '\0';
    struct token_file f = {.path = SLICE("/t")};
    rig_tokens = most + 1;
    test_case("the longest token, and one byte more");
    CHECK(edge_auth_read_tokens(rig.edge, &f, &e));
    rig_tokens = most;
    CHECK(!edge_auth_read_tokens(rig.edge, &f, &e));
    over();
    rig_tokens = "first\nsecond\n";
}

static struct buf heard_log; /* lines of the log since the last reload */

static void keep_line(void *owner, struct slice line)
{
    buf_printf(owner, "%.*s\n", SLICE_ARG(line));
}

static void reload(void)
{
    buf_free(&heard_log);
    heard_log = (struct buf){.max = MIB};
    edge_reload(rig.edge);
}

static bool is_logged(const char *words)
{
    return slice_has(buf_slice(&heard_log), words);
}

/* The status that the route of this path answers with. */
static int at_path(const char *path, const char *token)
{
    ask_for(&client, "GET", path, token, "");
    struct end *u = upstream();
    if (u && u->out.len > u->got) {
        CHECK(slice_has(rig_hear(u), "Authorization: Bearer upstreams\r\n"));
        rig_say(&rig, u, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
    return rig_status(&client);
}

#define GONE "a file of tokens is gone: its tokens are not accepted any more"
#define STAY "a file of tokens cannot be read: the tokens before it stay"
#define UPSTREAM "a token for an upstream cannot be read: the one before stays in use"

/* Files of two routes at a reload: the statuses of requests with the tokens before it, and the lines of the log. */
static const struct {
    const char *what, *a, *b, *up;
    int status_a, status_b;
    const char *logged[3]; /* each a line; no others */
} readings[] = {
    {"the first file is gone, the second one is empty", NULL, "", "upstreams\n", 401, 200, {GONE "\" error=\"/a", STAY "\" error=\"/b"}},
    {"the first file is empty, the second one is gone", "", NULL, "upstreams\n", 200, 401, {STAY "\" error=\"/a", GONE "\" error=\"/b"}},
    {"the file for the upstream is gone", "of-a\n", "of-b\n", NULL, 200, 200, {UPSTREAM "\" error=\"/up"}},
    {"the file for the upstream and a file of tokens are gone",
     "of-a\n",
     NULL,
     NULL,
     200,
     401,
     {UPSTREAM "\" error=\"/up", GONE "\" error=\"/b"}},
    {"all are broken", "a b\n", "\x01\n", "", 200, 200, {STAY "\" error=\"/a", STAY "\" error=\"/b", UPSTREAM "\" error=\"/up"}},
};

static void test_files_apart(void)
{
    const struct log before = log_global;
    log_global = (struct log){.level = LOG_WARN, .fd = -1, .sink = keep_line, .owner = &heard_log};
    for (size_t i = 0; i < COUNT_OF(readings); i++) {
        uint32_t lines = 0, wanted = 0;
        memcpy(rig_files, (const struct rig_file[]){{"/a", "of-a\n"}, {"/b", "of-b\n"}, {"/up", "upstreams\n"}}, 3 * sizeof *rig_files);
        begin(readings[i].what, "routes: [{path: /a, auth: token, tokenFile: /a, upstreamTokenFile: /up, upstream: 'u:1'},"
                                "{path: /b, auth: token, tokenFile: /b, upstreamTokenFile: /up, upstream: 'u:1'}]");
        CHECK_INT(at_path("/a", "of-a"), 200);
        CHECK_INT(at_path("/b", "of-b"), 200);
        rig_files[0].text = readings[i].a;
        rig_files[1].text = readings[i].b;
        rig_files[2].text = readings[i].up;
        reload();
        CHECK_INT(at_path("/a", "of-a"), readings[i].status_a);
        CHECK_INT(at_path("/b", "of-b"), readings[i].status_b);
        for (size_t n = 0; n < COUNT_OF(readings[i].logged) && readings[i].logged[n]; n++, wanted++)
            CHECK(is_logged(readings[i].logged[n]));
        for (size_t at = 0; at < heard_log.len; at++)
            lines += heard_log.ptr[at] == '\n';
        if (!CHECK_INT(lines, wanted))
            printf("%.*s", SLICE_ARG(buf_slice(&heard_log)));
        over();
    }
    buf_free(&heard_log);
    memset(rig_files, 0, sizeof rig_files);
    log_global = before;
}

/* ---- services ---- */

#define FIRST "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e"
#define SECOND "16367aacb67a4a017c8da8ab95682ccb390863780f7114dda0a0e0c55644c7c4"
#define NO_USE "a service gets no requests: its routes cannot be used"

static bool serve(const char *one, const char *two)
{
    struct err e = {0};
    const struct edge_text texts[] = {{SLICE("routes: []"), "routes.yaml"}, {slice_of(one), "one.json"}, {slice_of(two), "two.json"}};
    buf_free(&heard_log);
    heard_log = (struct buf){.max = MIB};
    return edge_configure(rig.edge, texts, COUNT_OF(texts), &e);
}

static int in_service(const char *path, const char *token)
{
    ask_for(&client, "GET", path, token, "");
    struct end *u = upstream();
    if (u && u->out.len > u->got) {
        CHECK(!slice_has(rig_hear(u), "Authorization"));
        rig_say(&rig, u, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
    return rig_status(&client);
}

static void test_services(void)
{
    static const char both[] =
        "{\"routes\":[{\"host\":\"h\",\"path\":\"/a\",\"auth\":\"token\",\"tokenSha256\":\"" FIRST " " SECOND "\",\"upstream\":\"u:1\"}]}",
                      only_first[] =
                          "{\"routes\":[{\"host\":\"h\",\"auth\":\"token\",\"tokenSha256\":\"" FIRST "\",\"upstream\":\"u:1\"}]}",
                      only_second[] =
                          "{\"routes\":[{\"host\":\"h\",\"auth\":\"token\",\"tokenSha256\":\"" SECOND "\",\"upstream\":\"u:1\"}]}";
    const struct log before = log_global;
    log_global = (struct log){.level = LOG_WARN, .fd = -1, .sink = keep_line, .owner = &heard_log};
    begin("two services on one host, the first with a current and a former token", "routes: []");
    CHECK(serve(both, only_second) && heard_log.len == 0);
    CHECK_INT(in_service("/a", "first"), 200);
    CHECK_INT(in_service("/a", "second"), 200);
    CHECK_INT(in_service("/a", "third"), 401);
    CHECK_INT(in_service("/a", FIRST), 401);
    CHECK_INT(in_service("/", "first"), 401);
    CHECK_INT(in_service("/", "second"), 200);
    ask_for(&client, "GET", "/", NULL, "");
    struct slice heard = rig_hear(&client);
    CHECK(slice_starts(heard, SLICE("HTTP/1.1 401 ")) && slice_has(heard, "WWW-Authenticate: Bearer\r\n") &&
          slice_has(heard, "Authorization: Bearer TOKEN"));
    test_case("the former token's time is over");
    CHECK(serve(only_first, "routes: []"));
    CHECK_INT(in_service("/a", "first"), 200);
    CHECK_INT(in_service("/a", "second"), 401);
    test_case("the second service has the host and path of the first: it gets no requests, and the first goes on");
    CHECK(serve(only_first, only_second) && is_logged(NO_USE) && is_logged("two.json") && is_logged("host and path of another route"));
    CHECK_INT(in_service("/", "first"), 200);
    CHECK_INT(in_service("/", "second"), 401);
    test_case("what is wrong with one changes nothing for the other");
    CHECK(serve("nonsense: [", only_second) && is_logged(NO_USE) && is_logged("one.json"));
    CHECK_INT(in_service("/", "second"), 200);
    test_case("a refused service that was read to its end leaves nothing to the next one");
    static const char twice[] = "{\"routes\":[{\"host\":\"h\",\"auth\":\"token\",\"tokenSha256\":\"" FIRST " " SECOND "\",\"versions\":"
                                "[{\"upstream\":\"u:1\"},{\"name\":\"b\",\"upstream\":\"v:1\"}]}]}",
                      next[] = "{\"routes\":[{\"host\":\"h\",\"path\":\"/c\",\"auth\":\"token\",\"tokenSha256\":\"" SECOND
                               "\",\"upstream\":\"u:1\"}]}";
    const struct edge_text texts[] = {{SLICE("routes: []"), "routes.yaml"},
                                      {slice_of(only_first), "one.json"},
                                      {slice_of(twice), "two.json"},
                                      {slice_of(next), "three.json"}};
    struct net_allow *allow = net_allow_new();
    struct err e = {0};
    rig.edge->o.allow = allow;
    buf_clear(&heard_log);
    CHECK(edge_configure(rig.edge, texts, COUNT_OF(texts), &e) && is_logged("two.json") && !is_logged("three.json"));
    CHECK_INT(in_service("/c", "second"), 200);
    CHECK_INT(in_service("/c", "first"), 401);
    CHECK_INT(in_service("/", "first"), 200);
    CHECK(net_allow_check(allow, SLICE("u"), 1, &e) && !net_allow_check(allow, SLICE("v"), 1, &e));
    rig.edge->o.allow = NULL;
    net_allow_free(allow);
    over();
    buf_free(&heard_log);
    log_global = before;
}

/* ---- users ---- */

static void test_users(void)
{
    begin("a token is reviewed, then the right; both answers are kept", USERS);
    ask(&client, "GET", "t1", "");
    answer("\"token\":\"t1\"", ACCEPTED);
    answer("\"resourceAttributes\":{\"namespace\":\"team-a\",\"verb\":\"get\",\"group\":\"ray.io\",\"version\":\"v1\","
           "\"resource\":\"rayclusters\",\"name\":\"rag\"}",
           ALLOWED);
    struct slice heard = served();
    CHECK(slice_has(heard, "X-Forwarded-User: ann\r\n") && !slice_has(heard, "Authorization"));
    ask(&client, "GET", "t1", "");
    CHECK(nothing_asked());
    served();
    test_case("what changes something is another right");
    ask(&client, "DELETE", "t1", "");
    answer("\"verb\":\"update\"", DENIED);
    CHECK_INT(rig_status(&client), 403);
    ask(&client, "DELETE", "t1", "");
    CHECK(nothing_asked());
    test_case("the refusal names the page where a browser signs in as another user");
    heard = rig_hear(&client);
    CHECK(slice_starts(heard, SLICE("HTTP/1.1 403 ")) && slice_has(heard, "or sign in as another user at /.mobula/login"));
    test_case("and so is a WebSocket");
    ask(&client, "GET", "t1", "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    CHECK_INT(rig_status(&client), 403);
    static const char *const kills[] = {"/api/actors/kill?actor_id=1", "/api/actors%2f%6Bill", "/logical/kill_actor"};
    for (size_t i = 0; i < COUNT_OF(kills); i++) {
        test_case("and so is a GET by which Ray kills an actor: %s", kills[i]);
        ask_for(&client, "GET", kills[i], "t1", "");
        CHECK_INT(rig_status(&client), 403);
    }
    test_case("refusals are forgotten sooner than acceptances");
    rig_wait(&rig, &client, EDGE_NO_MS);
    ask(&client, "DELETE", "t1", "");
    answer("\"verb\":\"update\"", ALLOWED);
    served();
    rig_wait(&rig, &client, EDGE_YES_MS);
    ask(&client, "GET", "t1", "");
    answer("\"token\":\"t1\"", REJECTED);
    CHECK_INT(rig_status(&client), 401);
    over();
}

static void test_waiting(void)
{
    struct end second = {0}, third = {0};
    begin("calls with one token wait for one review; who goes meanwhile is no harm", USERS);
    ask(&client, "GET", "t1", "");
    rig_enter(&rig, &second);
    ask(&second, "GET", "t1", "");
    rig_enter(&rig, &third);
    ask(&third, "GET", "t1", "");
    rig_end(&rig, &second);
    CHECK(second.closed);
    answer("tokenreviews", REJECTED);
    CHECK(nothing_asked());
    CHECK_INT(rig_status(&client), 401);
    CHECK_INT(rig_status(&third), 401);
    CHECK_INT(rig.edge->asked, 0);
    CHECK_INT(rig.edge->asked_unknown, 0);
    over();
    rig_leave(&second);
    rig_leave(&third);
    begin("the edge may not ask: 503, and the next request asks again", USERS);
    ask(&client, "GET", "t1", "");
    struct slice question;
    struct end *api = asked(&question);
    rig_say(&rig, api, "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
    CHECK_INT(rig_status(&client), 503);
    ask(&client, "GET", "t1", "");
    answer("tokenreviews", REJECTED);
    CHECK_INT(rig_status(&client), 401);
    over();
}

static void refuse_review(void)
{
    struct slice question;
    struct end *api = asked(&question);
    if (CHECK(api))
        rig_say(&rig, api, "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
}

/* Two requests in one piece: the second one comes while those that have waited for the failed review go on. */
static void test_pipelined(void)
{
    static const char both[] = "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x\r\n\r\n"
                               "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x\r\n\r\n";
    struct end second = {0};
    begin("the next request of a client asks again, and is not refused with the one before", USERS);
    rig_say(&rig, &client, both);
    refuse_review();
    CHECK_INT(rig_status(&client), 503);
    CHECK_INT(rig.edge->asked, 1);
    answer("tokenreviews", REJECTED);
    CHECK_INT(rig.edge->asked, 0);
    over();
    begin("and is refused alone when it may not ask", USERS);
    for (int i = 0; i < EDGE_ADDRESS_BURST; i++) {
        char token[16];
        snprintf(token, sizeof token, "t%d", i);
        ask(&client, "GET", token, "");
        answer("tokenreviews", REJECTED);
        CHECK_INT(rig_status(&client), 401);
    }
    rig_say(&rig, &client, both);
    rig_enter(&rig, &second);
    ask(&second, "GET", "x", "");
    refuse_review();
    struct slice heard = rig_hear(&client);
    CHECK(slice_starts(heard, SLICE("HTTP/1.1 503 ")) && slice_has(heard, "HTTP/1.1 429 "));
    CHECK_INT(rig_status(&second), 503);
    CHECK(rig.edge->asked == 0 && nothing_asked());
    over();
    rig_leave(&second);
}

static int spend(const char *more)
{
    char token[16];
    int refused = 0;
    for (int i = 0; i <= EDGE_ADDRESS_BURST + 1; i++) {
        snprintf(token, sizeof token, "t%d", i);
        ask(&client, "GET", token, more);
        if (rig.edge->asked)
            answer("tokenreviews", REJECTED);
        refused += rig_status(&client) == 429;
    }
    return refused;
}

static void test_budget(void)
{
    begin("unknown tokens of one address have a budget", USERS);
    CHECK_INT(spend(""), 1);
    rig_wait(&rig, NULL, EDGE_ADDRESS_MS);
    ask(&client, "GET", "later", "");
    CHECK_INT(rig.edge->asked, 1);
    over();
    begin("behind a proxy, an address is that of the proxy's client, which the proxy has appended", USERS);
    rig.edge->o.behind_proxy = true;
    CHECK_INT(spend("X-Forwarded-For: 9.9.9.9, 1.2.3.4\r\n"), 1);
    ask(&client, "GET", "more", "X-Forwarded-For: 8.8.8.8\r\nX-Forwarded-For: 1.2.3.4\r\n");
    CHECK_INT(rig_status(&client), 429);
    ask(&client, "GET", "other", "X-Forwarded-For: 1.2.3.4, 9.9.9.9\r\n");
    CHECK_INT(rig.edge->asked, 1);
    over();
}

static void ask_cluster(struct end *v, const char *token, int name)
{
    char text[200];
    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: c%d.i\r\nAuthorization: Bearer %s\r\n\r\n", name, token);
    rig_say(&rig, v, text);
}

static void test_rights_budget(void)
{
    int refused = 0;
    begin("rights of one user have a budget", "routes: [{host: '*.i', auth: users, cluster: '*', upstream: 'u:1'}]");
    ask_cluster(&client, "t1", 0);
    answer("\"token\":\"t1\"", ACCEPTED);
    answer("\"name\":\"c0\"", DENIED);
    CHECK_INT(rig_status(&client), 403);
    for (int i = 1; i <= EDGE_ADDRESS_BURST + 1; i++) {
        ask_cluster(&client, "t1", i);
        if (rig.edge->asked)
            answer("subjectaccessreviews", DENIED);
        refused += rig_status(&client) == 429;
    }
    CHECK_INT(refused, 1);
    test_case("and others are not refused for it");
    ask_cluster(&client, "t2", 1);
    answer("\"token\":\"t2\"", ACCEPTED);
    answer("\"name\":\"c1\"", DENIED);
    CHECK_INT(rig_status(&client), 403);
    over();
}

static void test_kept_answers(void)
{
    char token[16];
    begin("as many answers are kept as the limit says", USERS);
    for (int i = 0; i <= LIMIT_EDGE_REVIEWS; i++) {
        snprintf(token, sizeof token, "t%d", i);
        rig.now.mono_ms += EDGE_UNKNOWN_MS;
        client.room = RIG_ROOM;
        memset(rig.edge->address_ms, 0, sizeof rig.edge->address_ms); /* each from an address of its own */
        ask(&client, "GET", token, "");
        answer("tokenreviews", REJECTED);
        CHECK_INT(rig_status(&client), 401);
        CHECK(rig.edge->tokens.count <= LIMIT_EDGE_REVIEWS);
    }
    over();
}

int main(void)
{
    log_global.level = LOG_ERROR + 1;
    test_tokens();
    test_files_apart();
    test_services();
    test_users();
    test_waiting();
    test_pipelined();
    test_budget();
    test_rights_budget();
    test_kept_answers();
    return test_done();
}
