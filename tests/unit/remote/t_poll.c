/* The call to a control plane, over a network without sockets and in virtual time. */
#include "hub.h"

#include "../kube/answers.h"

#include <unistd.h>

/* Cases of one answer to one call: what the user is told, what is kept as trouble, and when the next call goes out. */
static void test_cases(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/remote/answers.case", &files);
    for (struct case_text c; case_next(&file, &c);) {
        struct hub h;
        int64_t status = 200, least = 0, most = 0, tries = 1;
        hub_init(&h);
        struct slice wait = slice_trim(case_part(&c, "wait")), trouble = slice_trim(case_part(&c, "trouble"));
        struct slice headers = slice_trim(case_part(&c, "headers")), told = case_part(&c, "told");
        if (case_part(&c, "status").ptr)
            CHECK(slice_int(slice_trim(case_part(&c, "status")), &status));
        if (!slice_empty(headers))
            headers = arena_printf(&files, "%.*s\r\n", SLICE_ARG(headers));
        if (case_part(&c, "tries").ptr)
            CHECK(slice_int(slice_trim(case_part(&c, "tries")), &tries));
        for (; tries > 0; tries--) {
            hub_answer(&h, (int)status, slice_empty(headers) ? "" : headers.ptr, slice_trim(case_part(&c, "body")));
            hub_run(&h, tries > 1 ? 4000 : 0);
        }
        CHECK_SLICE(slice_trim(buf_slice(&h.story)), slice_trim(told));
        CHECK_INT(remote_stats(h.remote)->trouble.code != ERR_NONE, trouble.ptr != NULL);
        if (trouble.ptr && !CHECK(slice_has(slice_of(remote_stats(h.remote)->trouble.text), arena_dup(&files, trouble).ptr)))
            printf("  got  %s\n", remote_stats(h.remote)->trouble.text);
        CHECK(slice_int(slice_cut(&wait, ' '), &least) && slice_int(wait, &most));
        if (least) {
            hub_run(&h, least - 1);
            CHECK(!hub_waits(&h));
        }
        hub_run(&h, most - least + 1);
        CHECK(hub_waits(&h) != NULL);
        CHECK_INT(fake_alive(&h.f), 1);
        hub_free(&h);
    }
    arena_free(&files);
}

static void test_request(void)
{
    struct hub h;
    test_case("what a call says");
    hub_init(&h);
    struct fakelink *l = hub_waits(&h);
    CHECK_STR(fake_line(l), "POST /v1/sync");
    CHECK(fake_has(l, "Authorization: Bearer secret-1\r\n"));
    CHECK(fake_has(l, "Content-Type: application/json\r\n"));
    CHECK_STR(hub_request(l), "{\"protocol\":1,\"cloud\":\"cldrsrc_abcdefghijklmnopqrstuvwx\",\"instance\":\"i\",\"version\":\"0\","
                              "\"revision\":\"\",\"wait\":25}");
    hub_answer(&h, 200, "", ANSWER("5", "true", "false", ""));
    CHECK_TOLD(&h, "told taken\nheard 5 full fresh\n");
    hub_run(&h, REMOTE_LEAST_MS);
    CHECK(slice_has(hub_request(hub_waits(&h)), "\"revision\":\"5\""));
    CHECK_INT(h.f.count, 1);
    hub_free(&h);
}

/* By which the control plane knows us: of a longer one the beginning. */
static void test_identity(void)
{
    for (int more = 0; more < 2; more++) {
        struct hub h;
        char name[LIMIT_REMOTE_IDENTITY + 2] = "";
        struct arena a = {0};
        test_case("LIMIT_REMOTE_IDENTITY%s", more ? ", and one more" : "");
        memset(name, 'i', (size_t)(LIMIT_REMOTE_IDENTITY + more));
        hub_init(&h);
        hub_answer(&h, 200, "",
                   arena_printf(&a, "{\"protocol\":1,\"revision\":\"5\",\"full\":true,\"more\":false,\"workloads\":[],\"identity\":\"%s\"}",
                                name));
        CHECK_INT(strlen(remote_stats(h.remote)->identity), LIMIT_REMOTE_IDENTITY);
        hub_free(&h);
        arena_free(&a);
    }
}

/* The answer is held: no call beside it, three a minute at most, on one connection. */
static void test_idle(void)
{
    struct hub h;
    uint32_t calls = 0;
    test_case("an idle hour");
    hub_init(&h);
    for (int64_t s = 0; s < 3600; s++) {
        hub_run(&h, 1000);
        if (s % REMOTE_WAIT_S == REMOTE_WAIT_S - 1 && hub_waits(&h)) {
            calls++;
            hub_answer(&h, 200, "", ANSWER("5", "false", "false", ""));
        }
    }
    CHECK(calls >= 100 && calls <= 180);
    CHECK_INT(h.f.count, 1);
    CHECK_INT(remote_stats(h.remote)->failures, 0);
    hub_free(&h);
}

static void test_pages(void)
{
    struct hub h;
    test_case("a full answer in pages, the next at once");
    hub_init(&h);
    hub_answer(&h, 200, "", ANSWER("9.a", "true", "true", WORKLOAD(UID_A, "a", "1")));
    CHECK_TOLD(&h, "told taken\nheard 9.a full fresh more\nitem aaaa n/a 1 {}\n");
    CHECK(slice_has(hub_request(hub_waits(&h)), "\"revision\":\"9.a\",\"wait\":0"));
    remote_push(h.remote, h.f.now);
    hub_run(&h, 5000);
    CHECK_INT(h.f.count, 1);
    hub_answer(&h, 200, "", ANSWER("9", "true", "false", WORKLOAD(UID_B, "b", "1")));
    CHECK_TOLD(&h, "told taken\nheard 9 full\nitem bbbb n/b 1 {}\n");
    test_case("a full answer again is a new list");
    hub_run(&h, REMOTE_SOON_MS);
    hub_answer(&h, 200, "", ANSWER("11", "true", "false", ""));
    CHECK_TOLD(&h, "told taken\nheard 11 full fresh\n");
    hub_free(&h);
}

static void test_endless(void)
{
    struct hub h;
    test_case("a list without an end: REMOTE_PAGES come without a pause, and ten a second from there on");
    hub_init(&h);
    for (int i = 0; i <= REMOTE_PAGES; i++)
        hub_answer(&h, 200, "", ANSWER("9.a", "true", "true", WORKLOAD(UID_A, "a", "1")));
    CHECK(hub_waits(&h) != NULL);
    hub_answer(&h, 200, "", ANSWER("9.a", "true", "true", WORKLOAD(UID_A, "a", "1")));
    CHECK(hub_waits(&h) == NULL);
    uint64_t before = remote_stats(h.remote)->calls;
    for (int ms = 0; ms < 10 * 1000; ms += 10) {
        hub_run(&h, 10);
        if (hub_waits(&h))
            hub_answer(&h, 200, "", ANSWER("9.a", "true", "true", WORKLOAD(UID_A, "a", "1")));
    }
    CHECK(remote_stats(h.remote)->calls - before <= 10 * 1000 / REMOTE_SOON_MS + 10 * 1000 / REMOTE_LEAST_MS + 1);
    hub_free(&h);
}

/* The revision goes with the order of answers, whatever it says: who is sent an old one is told again what came since. */
static void test_replayed(void)
{
    struct hub h;
    test_case("an answer that was replayed");
    hub_init(&h);
    hub_answer(&h, 200, "", ANSWER("9", "false", "false", WORKLOAD(UID_A, "a", "2")));
    hub_run(&h, REMOTE_SOON_MS);
    hub_answer(&h, 200, "", ANSWER("7", "false", "false", WORKLOAD(UID_A, "a", "1")));
    hub_run(&h, REMOTE_SOON_MS);
    CHECK(slice_has(hub_request(hub_waits(&h)), "\"revision\":\"7\""));
    hub_answer(&h, 200, "", ANSWER("9", "false", "false", WORKLOAD(UID_A, "a", "2")));
    CHECK_TOLD(&h, "told taken\nheard 9\nitem aaaa n/a 2 {}\ntold taken\nheard 7\nitem aaaa n/a 1 {}\n"
                   "told taken\nheard 9\nitem aaaa n/a 2 {}\n");
    test_case("an answer that came twice");
    hub_run(&h, REMOTE_SOON_MS);
    struct fakelink *l = hub_waits(&h);
    fake_take(l);
    struct slice one = SLICE("HTTP/1.1 200 OK\r\nContent-Length: 70\r\n\r\n"
                             "{\"protocol\":1,\"revision\":\"9\",\"full\":false,\"more\":false,\"workloads\":[]}");
    char both[512];
    snprintf(both, sizeof both, "%.*s%.*s", SLICE_ARG(one), SLICE_ARG(one));
    fake_put(l, slice_of(both));
    hub_run(&h, 0);
    CHECK_TOLD(&h, "told taken\nheard 9\n");
    hub_run(&h, REMOTE_LEAST_MS);
    CHECK(hub_waits(&h) && hub_waits(&h) != l); /* that connection cannot be trusted any more */
    hub_free(&h);
}

static void test_truncated(void)
{
    struct slice body = ANSWER("9", "true", "false", WORKLOAD(UID_A, "a", "1"));
    char answer[512];
    size_t len =
        (size_t)snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%.*s",
                         body.len, SLICE_ARG(body));
    test_case("an answer that ends after each of its bytes");
    for (size_t n = 0; n < len; n++) {
        struct hub h;
        hub_init(&h);
        for (int tries = 0; tries < 4; tries++) { /* the client tries again on its own at first */
            struct fakelink *l = hub_waits(&h);
            if (!l)
                break;
            fake_take(l);
            fake_put(l, (struct slice){answer, n});
            fake_end(l);
            hub_run(&h, REMOTE_BEGIN_MS);
        }
        CHECK(!slice_has(buf_slice(&h.story), "heard"));
        CHECK(!slice_has(buf_slice(&h.story), "taken"));
        CHECK(remote_stats(h.remote)->failures > 0);
        hub_free(&h);
    }
    struct hub h;
    hub_init(&h);
    fake_take(hub_waits(&h));
    fake_put(fake_last(&h.f), slice_of(answer));
    CHECK_TOLD(&h, "told taken\nheard 9 full fresh\nitem aaaa n/a 1 {}\n");
    hub_free(&h);
}

/* A DNS server that does not answer: the lookup ends after NET_DNS_MS, later than the call, which ends after REMOTE_BEGIN_MS. */
static void test_name(void)
{
    enum { MINUTES = 10, STEP_MS = 250 };
    struct hub h;
    struct lines lines;
    int64_t ages[FAKE_LINKS] = {0};
    hub_init(&h);
    log_into(&lines, "cannot be used");
    h.f.manual = true;
    test_case("a name that is not resolved is logged with step dns within 15 s");
    for (int64_t ms = 0; ms < MINUTES * 60 * 1000; ms += STEP_MS) {
        for (uint32_t i = 0; i < h.f.count; i++) {
            ages[i] += STEP_MS;
            if (h.f.links[i]->link && ages[i] >= NET_DNS_MS)
                fake_fail(h.f.links[i], ERR_DNS, "no answer from DNS for hub.test");
        }
        hub_run(&h, STEP_MS);
        if (ms == 15 * 1000)
            CHECK_INT(lines.count, 1);
    }
    CHECK(strstr(lines.last, "step=dns") && strstr(lines.last, "hub.test"));
    test_case("and at most once a minute, but about as often");
    CHECK(lines.count >= MINUTES - 2 && lines.count <= MINUTES + 1);
    log_quiet();
    hub_free(&h);
}

/* A prefix of an answer's body with a length that fits it: no prefix passes for an answer. */
static void test_prefixes(void)
{
    struct slice body = ANSWER("9", "true", "false", WORKLOAD(UID_A, "a", "1"));
    test_case("a body that was cut, with a fitting length");
    for (size_t n = 0; n < body.len; n++) {
        struct arena a = {0};
        struct remote_answer out;
        struct err e = {0};
        CHECK(!remote_read(guarded(slice_head(body, n)), &a, &out, &e));
        CHECK(e.code != ERR_NONE);
        arena_free(&a);
    }
}

/* An answer of so many bytes, blanks behind its JSON. */
static void answer_padded(struct hub *h, size_t bytes)
{
    struct slice body = ANSWER("9", "true", "false", "");
    struct fakelink *l = hub_waits(h);
    char head[128], blanks[4096];
    memset(blanks, ' ', sizeof blanks);
    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", bytes);
    fake_take(l);
    fake_put(l, slice_of(head));
    fake_put(l, body);
    for (size_t sent = body.len; sent < bytes && l->link;) {
        size_t n = bytes - sent < sizeof blanks ? bytes - sent : sizeof blanks;
        fake_put(l, (struct slice){blanks, n});
        hub_run(h, 0);
        sent += n;
    }
    hub_run(h, 0);
}

static void test_large(void)
{
    static const struct {
        size_t bytes;
        bool fits;
    } cases[] = {{LIMIT_REMOTE_BODY, true}, {LIMIT_REMOTE_BODY + 1, false}, {10 * MIB, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct hub h;
        test_case("an answer of %zu bytes", cases[i].bytes);
        hub_init(&h);
        for (int tries = 0; tries < 4 && hub_waits(&h); tries++) {
            answer_padded(&h, cases[i].bytes);
            if (cases[i].fits)
                break;
            hub_run(&h, 4000);
        }
        CHECK_INT(slice_has(buf_slice(&h.story), "heard"), cases[i].fits);
        CHECK_INT(remote_stats(h.remote)->failures > 0, !cases[i].fits);
        CHECK_INT(remote_stats(h.remote)->unreadable > 0, !cases[i].fits);
        hub_free(&h);
    }
}

static void test_slow(void)
{
    struct hub h;
    test_case("an answer that comes too slowly");
    hub_init(&h);
    struct fakelink *l = hub_waits(&h);
    fake_take(l);
    fake_put(l, SLICE("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"));
    for (int s = 0; s < REMOTE_CALL_MS / 1000; s++) {
        fake_put(l, SLICE(" "));
        hub_run(&h, 1000);
    }
    CHECK_TOLD(&h, "told again\n");
    CHECK_STR(slice_of(err_code_name(remote_stats(h.remote)->trouble.code)), "timeout");
    hub_run(&h, 2 * REMOTE_BACKOFF_MS);
    CHECK(hub_waits(&h) != NULL);
    hub_free(&h);
}

static void test_connection(void)
{
    struct hub h;
    test_case("another certificate, again and again");
    hub_init(&h);
    h.f.manual = true;
    for (int i = 0; i < 60; i++) {
        struct fakelink *l = fake_last(&h.f);
        if (l->link)
            fake_fail(l, ERR_TLS_TRUST, "the certificate is not signed by a known CA");
        hub_run(&h, 10 * 1000);
    }
    CHECK(remote_stats(h.remote)->failures > 5);
    CHECK(h.f.count < 40);
    CHECK_STR(slice_of(remote_stats(h.remote)->trouble.text), "the certificate is not signed by a known CA");
    CHECK(!slice_has(buf_slice(&h.story), "heard"));
    test_case("and the right one at last");
    h.f.manual = false;
    fake_fail(fake_last(&h.f), ERR_TLS_TRUST, "the certificate is not signed by a known CA");
    for (int s = 0; s < 2 * REMOTE_BACKOFF_MAX_MS / 1000 && !hub_waits(&h); s++)
        hub_run(&h, 1000);
    buf_clear(&h.story);
    hub_answer(&h, 200, "", ANSWER("5", "true", "false", ""));
    CHECK_TOLD(&h, "told taken\nheard 5 full fresh\n");
    CHECK_INT(remote_stats(h.remote)->trouble.code, ERR_NONE);
    hub_free(&h);
}

static void test_push(void)
{
    struct hub h;
    test_case("what is to be told while an answer is held goes out beside it");
    hub_init(&h);
    struct fakelink *poll = hub_waits(&h);
    fake_take(poll);
    h.tells = "[1]";
    remote_push(h.remote, h.f.now);
    hub_run(&h, REMOTE_PUSH_MS - 1);
    CHECK(!hub_waits(&h));
    hub_run(&h, 1);
    struct fakelink *push = hub_waits(&h);
    if (!CHECK(push && push != poll))
        return;
    CHECK(slice_has(hub_request(push), "\"statuses\":[1],\"wait\":0}"));
    test_case("and its workloads are not used, its questions are");
    hub_answer_on(&h, push, 200, "",
                  SLICE("{\"protocol\":1,\"revision\":\"8\",\"full\":true,\"more\":false,\"workloads\":[" WORKLOAD(
                      UID_A, "a", "1") "],"
                                       "\"questions\":[{\"id\":\"q1\",\"kind\":\"logTail\"}]}"));
    CHECK_TOLD(&h, "told push taken\nasked q1 logTail\n");
    h.tells = NULL;
    fake_answer(poll, 200, "", ANSWER("7", "true", "false", ""));
    hub_run(&h, REMOTE_LEAST_MS);
    CHECK_TOLD(&h, "told taken\nheard 7 full fresh\n");
    CHECK(slice_has(hub_request(hub_waits(&h)), "\"revision\":\"7\""));
    test_case("more than fits is told at once, and no answer to it is held");
    h.more = true;
    h.tells = "[2]";
    hub_answer(&h, 200, "", ANSWER("8", "false", "false", ""));
    hub_run(&h, REMOTE_LEAST_MS);
    CHECK(slice_has(hub_request(hub_waits(&h)), "\"statuses\":[2],\"wait\":0}"));
    test_case("a server that takes less gets less");
    size_t before = h.room;
    hub_answer(&h, 413, "", SLICE_NONE);
    hub_run(&h, 2 * REMOTE_BACKOFF_MS);
    CHECK_INT(h.room, before / 2);
    test_case("and more again after a call whose report it took");
    h.more = false;
    hub_answer(&h, 200, "", ANSWER("9", "false", "false", ""));
    h.tells = NULL;
    hub_run(&h, REMOTE_LEAST_MS);
    hub_answer(&h, 200, "", ANSWER("10", "false", "false", ""));
    hub_run(&h, REMOTE_LEAST_MS);
    CHECK_INT(h.room, before);
    hub_free(&h);
}

static void test_push_refused(void)
{
    struct hub h;
    test_case("news within the pause that a refused push was given does not end it");
    hub_init(&h);
    fake_take(hub_waits(&h));
    h.tells = "[1]";
    remote_push(h.remote, h.f.now);
    hub_run(&h, REMOTE_PUSH_MS);
    hub_answer(&h, 503, "Retry-After: 20\r\n", SLICE_NONE);
    remote_push(h.remote, h.f.now);
    hub_run(&h, 1000);
    CHECK(!hub_waits(&h));
    hub_run(&h, 18 * 1000);
    CHECK(!hub_waits(&h));
    hub_run(&h, 5 * 1000);
    CHECK(hub_waits(&h) != NULL);
    hub_free(&h);
}

/* Who reports is not kept waiting: work that comes just then is with its operator at once. */
static void test_held_again(void)
{
    struct hub h;
    hub_init(&h);
    hub_answer(&h, 200, "", ANSWER("5", "true", "false", ""));
    h.tells = "[1]";
    remote_push(h.remote, h.f.now);
    test_case("behind a poll that told something and so was answered at once, the next one goes out at once and may be held");
    hub_run(&h, REMOTE_LEAST_MS);
    CHECK(slice_has(hub_request(hub_waits(&h)), "\"statuses\":[1],\"wait\":0}"));
    h.tells = "[2]";
    remote_push(h.remote, h.f.now);
    hub_answer(&h, 200, "", ANSWER("6", "false", "false", ""));
    hub_run(&h, 0);
    struct fakelink *poll = hub_waits(&h);
    CHECK(poll && slice_has(hub_request(poll), "\"revision\":\"6\",\"wait\":25}"));
    test_case("and what has changed meanwhile is pushed beside it, also when nothing more changes");
    fake_take(poll);
    hub_run(&h, REMOTE_PUSH_MS);
    CHECK(slice_has(hub_request(hub_waits(&h)), "\"statuses\":[2],\"wait\":0}"));
    hub_free(&h);
}

static void test_stopped(void)
{
    struct hub h;
    test_case("who stops leading hears no more");
    hub_init(&h);
    struct fakelink *l = hub_waits(&h);
    remote_stop(h.remote);
    hub_answer_on(&h, l, 200, "", ANSWER("5", "true", "false", ""));
    hub_run(&h, 5 * 60 * 1000);
    CHECK(!hub_waits(&h));
    CHECK_TOLD(&h, "");
    test_case("and begins again");
    remote_start(h.remote, h.f.now);
    hub_run(&h, 0);
    CHECK(slice_has(hub_request(hub_waits(&h)), "\"revision\":\"\""));
    hub_free(&h);
}

static void test_release(void)
{
    struct hub h;
    test_case("a control plane that was never heard is not called at the end");
    hub_init(&h);
    CHECK(remote_release(h.remote, h.f.now));
    hub_free(&h);
    test_case("the last call gives the cloud back beside the one that is held, tells nothing, and is waited for");
    hub_init(&h);
    hub_answer(&h, 200, "", ANSWER("5", "true", "false", ""));
    hub_run(&h, REMOTE_LEAST_MS);
    struct fakelink *poll = hub_waits(&h);
    fake_take(poll);
    h.tells = "[1]";
    buf_clear(&h.story);
    CHECK(!remote_release(h.remote, h.f.now));
    hub_run(&h, 0);
    struct fakelink *last = hub_waits(&h);
    CHECK(last && last != poll && slice_has(hub_request(last), "\"wait\":0,\"release\":true}"));
    CHECK(last && !slice_has(hub_request(last), "statuses"));
    CHECK(!remote_release(h.remote, h.f.now));
    hub_answer_on(&h, last, 200, "", ANSWER("6", "true", "false", WORKLOAD(UID_A, "a", "1")));
    CHECK(remote_release(h.remote, h.f.now));
    CHECK_TOLD(&h, "");
    hub_run(&h, 5 * 60 * 1000);
    CHECK(!hub_waits(&h));
    hub_free(&h);
    test_case("what a call under way tells comes first, so that it is not written behind the last one");
    hub_init(&h);
    hub_answer(&h, 200, "", ANSWER("5", "true", "false", ""));
    hub_run(&h, REMOTE_LEAST_MS);
    poll = hub_waits(&h);
    fake_take(poll);
    h.tells = "[1]";
    remote_push(h.remote, h.f.now);
    hub_run(&h, REMOTE_PUSH_MS);
    struct fakelink *push = hub_waits(&h);
    CHECK(push && !remote_release(h.remote, h.f.now) && !slice_has(hub_request(push), "release"));
    hub_answer_on(&h, push, 200, "", ANSWER("5", "true", "false", ""));
    CHECK(!remote_release(h.remote, h.f.now));
    hub_run(&h, 0);
    CHECK(slice_has(hub_request(hub_waits(&h)), "\"release\":true}"));
    test_case("a refusal ends it too");
    hub_answer(&h, 409, "", SLICE_NONE);
    CHECK(remote_release(h.remote, h.f.now));
    hub_free(&h);
}

static void test_expired(void)
{
    struct hub h;
    test_case("a token that expires is read again at once, and the call repeated");
    hub_init(&h);
    struct fakelink *l = hub_waits(&h);
    struct buf *authorization = &h.f.config->private_->authorization;
    buf_clear(authorization);
    buf_put(authorization, SLICE("Bearer secret-2"));
    hub_answer(&h, 401, "", SLICE_NONE);
    CHECK_TOLD(&h, "");
    l = hub_waits(&h);
    CHECK(l && fake_has(l, "Bearer secret-2"));
    hub_answer(&h, 401, "", SLICE("{\"error\":{\"code\":\"Unauthorized\",\"message\":\"expired\"}}"));
    CHECK_TOLD(&h, "told again\n");
    CHECK(slice_starts(slice_of(remote_stats(h.remote)->trouble.text), SLICE("401 Unauthorized: expired: --control-plane-token-file")));
    hub_free(&h);
}

static void test_config(void)
{
    static const struct {
        const char *url, *error;
    } cases[] = {
        {"https://hub.test", NULL},
        {"https://hub.test:8443/prefix/", NULL},
        {"http://127.0.0.1:8080", NULL},
        {"http://localhost:8080", NULL},
        {"http://[::1]:8080", NULL},
        {"http://hub.test", "--control-plane-url: https:// is needed"},
        {"http://127.example.com", "--control-plane-url: https:// is needed"},
        {"http://10.0.0.1", "--control-plane-url: https:// is needed"},
        {"ftp://hub.test", "--control-plane-url: URL must begin with https:// or http://"},
        {"https://user:secret@hub.test", "a user in the URL is not supported"},
        {"https://hub.test/?a=b", "has a query"},
        {"https://", "there is no host name"},
        {"", "must begin with https://"},
    };
    char path[] = "/tmp/mobula-token-XXXXXX";
    int fd = mkstemp(path);
    CHECK(write(fd, "abc\n", 4) == 4);
    close(fd);
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = {0};
        test_case("URL %s", cases[i].url);
        struct kube_config *c = kube_config_url(&(struct kube_config_url){.url = cases[i].url,
                                                                          .setting = "--control-plane-url",
                                                                          .name = "control plane",
                                                                          .token_file = path,
                                                                          .ca_file = "tests/data/kube/certs/ca.pem"},
                                                &e);
        CHECK_INT(c != NULL, cases[i].error == NULL);
        if (c)
            CHECK_STR(kube_config_authorization(c), "Bearer abc");
        if (cases[i].error && !CHECK(slice_has(slice_of(e.text), cases[i].error)))
            printf("  got  %s\n", e.text);
        kube_config_free(c);
    }
    test_case("its host goes on the allowlist, under the flag's name");
    struct err e = {0};
    struct kube_config *c = kube_config_url(
        &(struct kube_config_url){
            .url = "http://127.0.0.1:8080", .setting = "--control-plane-url", .name = "control plane", .token = SLICE("abc")},
        &e);
    struct net_allow *allow = net_allow_new();
    CHECK(c && kube_config_allow(c, allow, &e) && net_allow_check(allow, SLICE("127.0.0.1"), 8080, &e));
    CHECK_STR(slice_of(net_allow_first(allow)->setting), "--control-plane-url");
    net_allow_free(allow);
    kube_config_free(c);
    unlink(path);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    test_cases();
    test_identity();
    test_request();
    test_idle();
    test_pages();
    test_endless();
    test_replayed();
    test_truncated();
    test_prefixes();
    test_large();
    test_slow();
    test_connection();
    test_name();
    test_push();
    test_push_refused();
    test_held_again();
    test_stopped();
    test_release();
    test_expired();
    test_config();
    return test_done();
}
