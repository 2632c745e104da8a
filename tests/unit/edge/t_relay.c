/* Requests and answers as they are passed on: framing, headers, what is refused, what is tried again, and when time is over. */
#include "rig.h"

#define ROUTES "routes: [{auth: none, upstream: '127.0.0.1:1'}]"
#define GET "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
#define FORWARDED "X-Forwarded-For: 10.0.0.9\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: h\r\n"
#define OK "HTTP/1.1 200 OK\r\n"

static struct rig rig;
static struct end client;

static void begin(const char *what)
{
    test_case("%s", what);
    rig_start(&rig, NULL, ROUTES);
    rig_enter(&rig, &client);
}

static void over(void)
{
    rig_stop(&rig, &client);
}

/* ---- requests and answers that are passed on ---- */

static const struct {
    const char *name, *request, *upstream_hears, *answer, *client_hears;
} passed[] = {
    {"no body, a counted answer", GET, "GET /a HTTP/1.1\r\nHost: h\r\n" FORWARDED "\r\n", OK "Content-Length: 2\r\nA: 1\r\n\r\nhi",
     OK "A: 1\r\nContent-Length: 2\r\n\r\nhi"},
    {"a counted body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
     "POST / HTTP/1.1\r\nHost: h\r\n" FORWARDED "Content-Length: 3\r\n\r\nabc", OK "Content-Length: 0\r\n\r\n",
     OK "Content-Length: 0\r\n\r\n"},
    {"chunks in both directions; extensions and trailers end here",
     "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\n",
     "POST / HTTP/1.1\r\nHost: h\r\n" FORWARDED "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
     OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n",
     OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n"},
    {"HEAD: the length of a body that does not come", "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n",
     "HEAD /a HTTP/1.1\r\nHost: h\r\n" FORWARDED "\r\n", OK "Content-Length: 2\r\n\r\n", OK "Content-Length: 2\r\n\r\n"},
    {"304 keeps its length", GET, "GET /a HTTP/1.1\r\nHost: h\r\n" FORWARDED "\r\n",
     "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"},
    {"204 has none", GET, "GET /a HTTP/1.1\r\nHost: h\r\n" FORWARDED "\r\n", "HTTP/1.1 204 No Content\r\n\r\n",
     "HTTP/1.1 204 No Content\r\n\r\n"},
    {"an interim answer is passed over, a content coding is not looked at", GET, "GET /a HTTP/1.1\r\nHost: h\r\n" FORWARDED "\r\n",
     "HTTP/1.1 103 Early\r\n\r\n" OK "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nz",
     OK "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nz"},
    {"what belongs to one connection, or says where the client is, ends here",
     "GET / HTTP/1.1\r\nHost: h\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nProxy-Authorization: b\r\n"
     "X-Forwarded-For: 1.2.3.4\r\nx_forwarded_user: root\r\nX-Real-IP: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\nUpgrade: h2c\r\nB: 2\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: h\r\nB: 2\r\n" FORWARDED "\r\n",
     OK "Connection: close, Y-Hop\r\nY-Hop: 1\r\nKeep-Alive: 5\r\nContent-Length: 0\r\nC: 3\r\n\r\n",
     OK "C: 3\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},
    {"Authorization is the upstream's where nobody asks for it", "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x\r\n" FORWARDED "\r\n", OK "Content-Length: 0\r\n\r\n",
     OK "Content-Length: 0\r\n\r\n"},
    {"HTTP/1.0 gets no chunks", "GET / HTTP/1.0\r\n\r\n",
     "GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\nX-Forwarded-For: 10.0.0.9\r\nX-Forwarded-Proto: http\r\n\r\n",
     OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", OK "Connection: close\r\n\r\nhi"},
};

static void test_relayed(void)
{
    for (size_t i = 0; i < COUNT_OF(passed); i++) {
        begin(passed[i].name);
        rig_say(&rig, &client, passed[i].request);
        if (CHECK_INT(rig.ups, 1)) {
            CHECK_STR(rig_hear(&rig.up[0]), passed[i].upstream_hears);
            rig_say(&rig, &rig.up[0], passed[i].answer);
        }
        CHECK_STR(rig_hear(&client), passed[i].client_hears);
        CHECK_INT(rig.edge->busy, 0);
        over();
    }
}

/* The same a byte at a time, and with room for a few bytes at a time. */
static void test_pieces(void)
{
    for (size_t i = 0; i < COUNT_OF(passed); i++) {
        struct buf all = {.max = MIB};
        begin(passed[i].name);
        client.room = 0;
        for (const char *at = passed[i].request; *at; at++)
            rig_say(&rig, &client, (char[]){*at, 0});
        CHECK_INT(rig.ups, 1);
        for (const char *at = passed[i].answer; *at; at++)
            rig_say(&rig, &rig.up[0], (char[]){*at, 0});
        for (int n = 0; n < 400 && !client.closed; n++) {
            client.room = 3;
            net_wake(&client.link);
            rig_turn(&rig);
        }
        CHECK_INT(rig.edge->busy, 0);
        /* chunks may be cut in other places: what they hold is the same */
        if (!slice_has(slice_of(passed[i].client_hears), "chunked"))
            CHECK_STR(buf_slice(&client.out), passed[i].client_hears);
        buf_free(&all);
        over();
    }
}

static void test_believed(void)
{
    begin("behind a proxy, of several X-Forwarded-For lines the last is the proxy's");
    rig.edge->o.behind_proxy = true;
    rig_say(&rig, &client, "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 9.9.9.9\r\nx-forwarded-for: 1.2.3.4\r\n\r\n");
    CHECK(slice_has(rig_hear(&rig.up[0]), "Host: h\r\nX-Forwarded-For: 1.2.3.4, 10.0.0.9\r\nX-Forwarded-Proto: http\r\n"));
    rig_say(&rig, &rig.up[0], OK "Content-Length: 0\r\n\r\n");
    over();
}

static void test_until_close(void)
{
    begin("an answer that ends with the upstream's connection becomes chunks, and the client's goes on");
    rig_say(&rig, &client, GET);
    rig_say(&rig, &rig.up[0], OK "\r\nhi");
    CHECK_STR(rig_hear(&client), OK "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
    rig_end(&rig, &rig.up[0]);
    CHECK_STR(rig_hear(&client), "0\r\n\r\n");
    CHECK(rig.up[0].closed);
    rig_say(&rig, &client, GET);
    CHECK_INT(rig.ups, 2);
    over();
}

static void test_kept(void)
{
    begin("requests of a connection follow each other, on one connection to the upstream; what comes early waits");
    rig_say(&rig, &client, GET "GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(slice_starts(rig_hear(&rig.up[0]), SLICE("GET /a ")));
    rig_say(&rig, &rig.up[0], OK "Content-Length: 1\r\n\r\n1");
    CHECK_STR(rig_hear(&client), OK "Content-Length: 1\r\n\r\n1");
    CHECK_INT(rig.ups, 1);
    CHECK(slice_starts(rig_hear(&rig.up[0]), SLICE("GET /b ")));
    rig_say(&rig, &rig.up[0], OK "Content-Length: 1\r\n\r\n2");
    CHECK_STR(rig_hear(&client), OK "Content-Length: 1\r\n\r\n2");
    test_case("an idle connection on which the upstream says something is closed");
    rig_say(&rig, &rig.up[0], OK);
    CHECK(rig.up[0].closed);
    over();
    begin("and so is one that was idle for long");
    rig_say(&rig, &client, GET);
    rig_say(&rig, &rig.up[0], OK "Content-Length: 0\r\n\r\n");
    rig_wait(&rig, &client, EDGE_POOL_MS - 1);
    CHECK(!rig.up[0].closed);
    rig_wait(&rig, &client, 1);
    CHECK(rig.up[0].closed && !client.closed);
    rig_wait(&rig, &client, EDGE_QUIET_MS);
    CHECK(client.closed);
    over();
}

static void test_continue(void)
{
    begin("100 Continue is the edge's own answer");
    rig_say(&rig, &client, "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    CHECK_STR(rig_hear(&client), "HTTP/1.1 100 Continue\r\n\r\n");
    rig_say(&rig, &client, "ab");
    CHECK(slice_ends(rig_hear(&rig.up[0]), SLICE("Content-Length: 2\r\n\r\nab")));
    rig_say(&rig, &rig.up[0], OK "Content-Length: 0\r\n\r\n");
    CHECK_INT(rig_status(&client), 200);
    over();
}

static void test_early(void)
{
    begin("an answer before the request is whole ends both connections");
    rig_say(&rig, &client, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
    rig_say(&rig, &rig.up[0], "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
    CHECK_STR(rig_hear(&client), "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    CHECK(client.closed && rig.up[0].closed);
    over();
}

static void test_tunnel(void)
{
    begin("after 101 bytes pass in both directions until one side ends");
    rig_say(&rig, &client, "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\nearly");
    CHECK(slice_ends(rig_hear(&rig.up[0]), SLICE("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")));
    rig_say(&rig, &rig.up[0], "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nhello");
    CHECK_STR(rig_hear(&client),
              "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello");
    CHECK_STR(rig_hear(&rig.up[0]), "early");
    rig_say(&rig, &client, "GET /not-a-request HTTP/1.1\r\n\r\n");
    CHECK_STR(rig_hear(&rig.up[0]), "GET /not-a-request HTTP/1.1\r\n\r\n");
    rig_wait(&rig, &client, EDGE_ANSWER_MS + 1);
    CHECK(!client.closed && !rig.up[0].closed);
    buf_put(&rig.up[0].in, SLICE("last"));
    rig_end(&rig, &rig.up[0]);
    CHECK_STR(rig_hear(&client), "last");
    CHECK(client.closed && rig.up[0].closed);
    over();
    begin("a 101 that was not asked for is 502, and h2c is not asked for");
    rig_say(&rig, &client, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    CHECK(!slice_has(rig_hear(&rig.up[0]), "pgrade"));
    rig_say(&rig, &rig.up[0], "HTTP/1.1 101 Switching Protocols\r\n\r\n");
    CHECK_INT(rig_status(&client), 502);
    over();
}

/* ---- requests that are refused ---- */

#define POST "POST / HTTP/1.1\r\nHost: h\r\n"
static const struct {
    const char *name, *request;
    int status;
} refused[] = {
    {"two framings", POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"two lengths", POST "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400},
    {"a length that is no number", POST "Content-Length: +3\r\n\r\nabc", 400},
    {"a list of lengths", POST "Content-Length: 3, 3\r\n\r\nabc", 400},
    {"another coding", POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
    {"a coding in disguise", POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400},
    {"two codings", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 400},
    {"a coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"white space before the colon", POST "Content-Length : 3\r\n\r\nabc", 400},
    {"a folded header", POST "A: 1\r\n Transfer-Encoding: chunked\r\n\r\n", 400},
    {"a bare LF", "GET / HTTP/1.1\nHost: h\n\n", 400},
    {"a bare LF behind a header", "GET / HTTP/1.1\r\nHost: h\nA: 1\r\n\r\n", 400},
    {"a bare CR in a value", "GET / HTTP/1.1\r\nHost: h\r\nA: 1\rB: 2\r\n\r\n", 400},
    {"a NUL in a value", NULL, 400},
    {"two hosts", "GET / HTTP/1.1\r\nHost: h\r\nHost: g\r\n\r\n", 400},
    {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
    {"a host with a path", "GET / HTTP/1.1\r\nHost: h/a\r\n\r\n", 400},
    {"a host with credentials", "GET / HTTP/1.1\r\nHost: a@h\r\n\r\n", 400},
    {"two Authorization headers", "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n", 400},
    {"an absolute target", "GET http://g/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"a target with a fragment", "GET /#a HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"dots in the path", "GET /a/../b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"encoded dots", "GET /a/%2e%2E/b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"dots behind encoded slashes", "GET /a%2f..%2fb HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"dots behind a backslash", "GET /a%5c..%5cb HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"an encoded NUL", "GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"a broken percent", "GET /a%2 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
    {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
    {"CONNECT", "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 405},
    {"TRACE", "TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", 405},
    {"a body above the limit", POST "Content-Length: 1001\r\n\r\n", 413},
};

static void test_refused(void)
{
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        begin(refused[i].name);
        if (refused[i].request) {
            rig_say(&rig, &client, refused[i].request);
        } else {
            buf_put(&client.in, (struct slice){"GET / HTTP/1.1\r\nHost: h\r\nA: \0\r\n\r\n", 33});
            rig_say(&rig, &client, "");
        }
        CHECK_INT(rig_status(&client), refused[i].status);
        CHECK_INT(rig.ups, 0);
        rig_end(&rig, &client);
        CHECK_INT(rig.edge->busy, 0);
        over();
    }
}

static const char *const bad_chunks[] = {"x\r\n",       "-1\r\n",   "0x1\r\na\r\n",         "1 \r\na\r\n", "1\na\r\n",
                                         "1\r\nab\r\n", "1\r\na\n", "1000000000000000\r\n", "\r\n"};

static void test_chunks(void)
{
    for (size_t i = 0; i < COUNT_OF(bad_chunks); i++) {
        begin(bad_chunks[i]);
        rig_say(&rig, &client, POST "Transfer-Encoding: chunked\r\n\r\n");
        rig_say(&rig, &client, bad_chunks[i]);
        CHECK_INT(rig_status(&client), 400);
        CHECK(client.closed && rig.up[0].closed);
        CHECK(!slice_ends(rig_hear(&rig.up[0]), SLICE("0\r\n\r\n")));
        over();
    }
}

static void say_chunk(size_t bytes)
{
    char *text = mem_alloc(bytes + 32);
    int n = snprintf(text, 32, "%zx\r\n", bytes);
    memset(text + n, 'a', bytes);
    strcpy(text + n + bytes, "\r\n");
    rig_say(&rig, &client, text);
    mem_free(text);
}

static void test_limits(void)
{
    begin("chunks up to the limit of a body");
    rig_say(&rig, &client, POST "Transfer-Encoding: chunked\r\n\r\n");
    say_chunk(1000);
    rig_say(&rig, &client, "0\r\n\r\n");
    CHECK_INT(rig_status(&client), 0);
    rig_say(&rig, &rig.up[0], OK "Content-Length: 0\r\n\r\n");
    CHECK_INT(rig_status(&client), 200);
    test_case("and one byte past it");
    rig_say(&rig, &client, POST "Transfer-Encoding: chunked\r\n\r\n");
    say_chunk(1000);
    CHECK_INT(rig_status(&client), 0);
    say_chunk(1);
    CHECK_INT(rig_status(&client), 413);
    CHECK(client.closed && rig.up[0].closed);
    over();
    begin("a head past its limit");
    rig_say(&rig, &client, "GET / HTTP/1.1\r\nHost: h\r\nA: ");
    for (int i = 0; i < 17; i++) {
        char kib[KIB + 1];
        memset(kib, 'a', KIB);
        kib[KIB] = '\0';
        rig_say(&rig, &client, kib);
    }
    CHECK_INT(rig_status(&client), 431);
    over();
    begin("more requests under way than are allowed");
    struct end many[13] = {0};
    for (unsigned i = 0; i < COUNT_OF(many); i++) {
        rig_enter(&rig, &many[i]);
        rig_say(&rig, &many[i], GET);
        CHECK_INT(rig_status(&many[i]), i < 12 ? 0 : 503); /* three quarters of 16 */
    }
    rig_say(&rig, &rig.up[0], OK "Content-Length: 0\r\n\r\n");
    rig_say(&rig, &client, GET);
    CHECK_INT(rig_status(&client), 0);
    over();
    for (unsigned i = 0; i < COUNT_OF(many); i++)
        rig_leave(&many[i]);
}

/* ---- upstreams that fail ---- */

static void test_failures(void)
{
    begin("nobody listens");
    rig.refuse = true;
    rig_say(&rig, &client, GET);
    CHECK_INT(rig_status(&client), 502);
    CHECK_INT(rig.edge->stats.failures[FAILURE_CONNECT], 1);
    over();
    begin("no connection opens: 100 Continue does not extend its deadline");
    rig.slow = true;
    rig_say(&rig, &client, "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    CHECK_STR(rig_hear(&client), "HTTP/1.1 100 Continue\r\n\r\n");
    rig_wait(&rig, &client, EDGE_CONNECT_MS);
    CHECK_INT(rig_status(&client), 504);
    over();
    begin("the upstream ends without an answer: on a fresh connection nothing is sent twice");
    rig_say(&rig, &client, GET);
    rig_end(&rig, &rig.up[0]);
    CHECK_INT(rig_status(&client), 502);
    CHECK_INT(rig.ups, 1);
    over();
    begin("the upstream is silent");
    rig_say(&rig, &client, GET);
    rig_wait(&rig, &client, EDGE_ANSWER_MS - 1);
    CHECK_INT(rig_status(&client), 0);
    rig_wait(&rig, &client, 1);
    CHECK_INT(rig_status(&client), 504);
    over();
    begin("an answer that is cut is not passed on as a whole one");
    rig_say(&rig, &client, GET);
    rig_say(&rig, &rig.up[0], OK "Content-Length: 5\r\n\r\nab");
    rig_end(&rig, &rig.up[0]);
    CHECK_STR(rig_hear(&client), OK "Content-Length: 5\r\n\r\nab");
    CHECK(client.closed);
    over();
    begin("an answer that is no HTTP");
    rig_say(&rig, &client, GET);
    rig_say(&rig, &rig.up[0], "SSH-2.0\r\n");
    CHECK_INT(rig_status(&client), 502);
    over();
    begin("the client goes: the upstream's work ends");
    rig_say(&rig, &client, GET);
    rig_end(&rig, &client);
    CHECK(rig.up[0].closed);
    over();
}

static void warm(const char *what)
{
    begin(what);
    rig_say(&rig, &client, GET);
    rig_say(&rig, &rig.up[0], OK "Content-Length: 0\r\n\r\n");
    CHECK_INT(rig_status(&client), 200);
    rig_hear(&rig.up[0]);
}

static void test_retry(void)
{
    warm("a GET on a connection that the upstream had closed meanwhile is sent again");
    rig_say(&rig, &client, GET);
    CHECK_INT(rig.ups, 1);
    rig_end(&rig, &rig.up[0]);
    CHECK_INT(rig.ups, 2);
    CHECK(slice_starts(rig_hear(&rig.up[1]), SLICE("GET /a ")));
    test_case("but only once");
    rig_end(&rig, &rig.up[1]);
    CHECK_INT(rig_status(&client), 502);
    CHECK_INT(rig.edge->stats.retries, 1);
    over();
    warm("a POST is not");
    rig_say(&rig, &client, POST "Content-Length: 0\r\n\r\n");
    rig_end(&rig, &rig.up[0]);
    CHECK_INT(rig.ups, 1);
    CHECK_INT(rig_status(&client), 502);
    over();
    warm("nor is a PUT with a body");
    rig_say(&rig, &client, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\na");
    rig_end(&rig, &rig.up[0]);
    CHECK_INT(rig_status(&client), 502);
    over();
    warm("nor one whose answer had begun");
    rig_say(&rig, &client, GET);
    rig_say(&rig, &rig.up[0], "HTTP/1.1 2");
    rig_end(&rig, &rig.up[0]);
    CHECK_INT(rig.ups, 1);
    CHECK_INT(rig_status(&client), 502);
    over();
}

/* ---- clients that are slow ---- */

static void test_slow(void)
{
    begin("a silent client");
    rig_wait(&rig, &client, EDGE_HEAD_MS - 1);
    CHECK(!client.closed);
    rig_wait(&rig, &client, 1);
    CHECK(client.closed);
    over();
    begin("a head that comes a byte at a time");
    for (int i = 0; i < 9; i++) {
        rig_say(&rig, &client, "A");
        rig_wait(&rig, &client, EDGE_HEAD_MS / 10);
    }
    CHECK(!client.closed);
    rig_wait(&rig, &client, EDGE_HEAD_MS / 10);
    CHECK(client.closed);
    over();
    begin("a body that comes too slowly");
    rig_say(&rig, &client, POST "Content-Length: 100\r\n\r\n");
    for (int i = 0; i < 5; i++) {
        rig_say(&rig, &client, "a");
        rig_wait(&rig, &client, EDGE_SLOW_MS / 6);
    }
    CHECK(!client.closed);
    rig_wait(&rig, &client, EDGE_SLOW_MS / 6);
    CHECK(client.closed && rig.up[0].closed);
    over();
    begin("an answer that is not taken");
    rig_say(&rig, &client, GET);
    client.room = 10;
    rig_say(&rig, &rig.up[0], OK "Content-Length: 5\r\n\r\nhello");
    rig_wait(&rig, &client, EDGE_SLOW_MS - 1);
    CHECK(!client.closed);
    rig_wait(&rig, &client, 1);
    CHECK(client.closed && rig.up[0].closed);
    over();
    begin("a client that waits is not slow");
    rig_say(&rig, &client, GET);
    rig_say(&rig, &rig.up[0], OK "Transfer-Encoding: chunked\r\n\r\n");
    rig_wait(&rig, &client, EDGE_SLOW_MS * 2);
    rig_say(&rig, &rig.up[0], "1\r\na\r\n");
    CHECK(slice_ends(rig_hear(&client), SLICE("1\r\na\r\n")));
    over();
}

static void test_drain(void)
{
    begin("before it ends, connections end with their next answer, and none is cut");
    struct end idle = {0}, late = {0};
    rig_enter(&rig, &idle);
    rig_say(&rig, &client, GET);
    CHECK(!edge_drain(rig.edge, false, rig.now));
    CHECK(!idle.closed);
    rig_enter(&rig, &late);
    rig_say(&rig, &late, GET);
    rig_say(&rig, &rig.up[1], OK "Content-Length: 0\r\n\r\n");
    CHECK_STR(rig_hear(&late), OK "Connection: close\r\nContent-Length: 0\r\n\r\n");
    CHECK(late.closed);
    CHECK(!edge_drain(rig.edge, true, rig.now));
    CHECK(idle.closed);
    rig_say(&rig, &rig.up[0], OK "Content-Length: 0\r\n\r\n");
    CHECK_STR(rig_hear(&client), OK "Connection: close\r\nContent-Length: 0\r\n\r\n");
    CHECK(edge_drain(rig.edge, true, rig.now));
    over();
    rig_leave(&idle);
    rig_leave(&late);
}

int main(void)
{
    log_global.level = LOG_ERROR + 1;
    test_relayed();
    test_pieces();
    test_believed();
    test_until_close();
    test_kept();
    test_continue();
    test_early();
    test_tunnel();
    test_refused();
    test_chunks();
    test_limits();
    test_failures();
    test_retry();
    test_slow();
    test_drain();
    return test_done();
}
