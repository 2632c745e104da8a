/* Many calls: connections, the window, retries, and what a lost answer means. */
#include "answers.h"

#define FLOW_429 SLICE("Too many requests, please try again later.\n")

/* ---- C2: connections that are kept ---- */

static void check_keep_alive(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("C2 one connection for one call after another");
    for (int i = 0; i < 3; i++) {
        get(&f, &a);
        fake_run(&f, 0);
        fake_answer(f.links[0], 200, "", SLICE("{}"));
    }
    CHECK_INT(f.count, 1);
    CHECK_INT(a.ok, 3);
    test_case("C2 idle for 60 s: closed by us, before the server does at 90 s");
    fake_run(&f, NET_IDLE_MS - 1);
    CHECK_INT(fake_alive(&f), 1);
    fake_run(&f, 1);
    CHECK_INT(fake_alive(&f), 0);
    CHECK_INT(kube_client_stats(f.client)->links, 0);
    test_case("Connection: close is obeyed");
    get(&f, &a);
    fake_run(&f, 0);
    fake_answer(f.links[1], 200, "Connection: close\r\n", SLICE("{}"));
    CHECK_INT(fake_alive(&f), 0);
    CHECK_INT(a.ok, 4);
    fake_free(&f);
}

static void check_most_recent_first(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("the most recently used connection goes first");
    get(&f, &a);
    get(&f, &a);
    fake_run(&f, 0);
    CHECK_INT(f.count, 2);
    fake_answer(f.links[1], 200, "", SLICE("{}"));
    fake_answer(f.links[0], 200, "", SLICE("{}"));
    fake_take(f.links[0]);
    get(&f, &a);
    fake_run(&f, 0);
    CHECK(fake_has(f.links[0], "GET"));
    fake_free(&f);
}

static void check_stray_bytes(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("bytes that nobody asked for close an idle connection");
    get(&f, &a);
    fake_run(&f, 0);
    fake_answer(f.links[0], 200, "", SLICE("{}"));
    fake_put(f.links[0], SLICE("HTTP/1.1 200 OK\r\n\r\n"));
    CHECK_INT(fake_alive(&f), 0);
    test_case("bytes behind an answer close its connection");
    get(&f, &a);
    fake_run(&f, 0);
    fake_put(f.links[1], SLICE("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n"));
    CHECK_INT(a.ok, 2);
    CHECK_INT(fake_alive(&f), 0);
    fake_free(&f);
}

static void check_stale_link(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("C2 C4 a kept connection that the server has closed: GET goes again at once");
    get(&f, &a);
    fake_run(&f, 0);
    fake_answer(f.links[0], 200, "", SLICE("{}"));
    get(&f, &a);
    fake_end(f.links[0]);
    CHECK_INT(f.count, 2);
    CHECK(fake_has(f.links[1], "GET"));
    fake_answer(f.links[1], 200, "", SLICE("{}"));
    CHECK_INT(a.ok, 2);
    CHECK_INT(kube_client_stats(f.client)->retries, 1);
    test_case("C4 the same for POST: nobody knows whether it happened");
    post(&f, &a);
    fake_end(f.links[1]);
    CHECK_INT(a.unknown, 1);
    CHECK_INT(a.last.err.code, ERR_CLOSED);
    CHECK_INT(f.count, 2);
    fake_free(&f);
}

/* ---- C4, C5: what a failure means ---- */

static void check_unsent(void)
{
    struct fake f;
    struct answers a = {0};
    struct lines lines;
    fake_init(&f);
    log_into(&lines, "cannot be used");
    f.manual = true;
    test_case("C4 a connection that could not be opened: POST is tried again");
    post(&f, &a);
    fake_fail(f.links[0], ERR_CONNECT, "connection refused");
    CHECK_INT(a.count, 0);
    CHECK_INT(kube_client_stats(f.client)->trouble.code, ERR_CONNECT);
    CHECK_INT(kube_client_room(f.client), 0);
    test_case("L15 first backoff is 0.4 to 0.8 s");
    CHECK(f.next_ms >= f.now.mono_ms + KUBE_BACKOFF_MS / 2 && f.next_ms <= f.now.mono_ms + KUBE_BACKOFF_MS);
    fake_run(&f, KUBE_BACKOFF_MS);
    CHECK_INT(f.count, 2);
    fake_fail(fake_last(&f), ERR_DNS, "no such host");
    CHECK_INT(kube_client_stats(f.client)->trouble.code, ERR_DNS);
    test_case("unreachable: one line, then one a minute");
    CHECK_INT(lines.count, 1);
    CHECK(strstr(lines.last, "step=connect") != NULL);
    fake_run(&f, 2 * KUBE_BACKOFF_MS);
    fake_open(fake_last(&f));
    fake_answer(fake_last(&f), 201, "", SLICE("{}"));
    CHECK_INT(a.ok, 1);
    CHECK_INT(kube_client_stats(f.client)->trouble.code, ERR_NONE);
    test_case("a server that comes and goes: still one line a minute");
    for (int i = 0; i < 10; i++) {
        post(&f, &a);
        fake_fail(fake_last(&f), ERR_CLOSED, "reset");
        f.manual = false;
        get(&f, &a);
        fake_run(&f, 0);
        fake_answer(fake_last(&f), 200, "", SLICE("{}"));
    }
    CHECK_INT(lines.count, 1);
    log_quiet();
    fake_free(&f);
}

static void check_unsent_until_timeout(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    f.refuse = "denied by the allowlist";
    test_case("C4 unreachable until the timeout: UNSENT with the step");
    post(&f, &a);
    for (int i = 0; i < 70 && a.count == 0; i++)
        fake_run(&f, 1000);
    CHECK_INT(a.unsent, 1);
    CHECK_INT(a.last.err.code, ERR_CONNECT);
    CHECK_INT(a.last.took_ms, KUBE_CALL_MS);
    CHECK_STR(slice_of(a.last.err.text), "denied by the allowlist");
    test_case("one call has room even so, or nobody would find out that the server is back");
    CHECK_INT(kube_client_room(f.client), 1);
    f.refuse = NULL;
    fake_run(&f, KUBE_BACKOFF_MAX_MS);
    post(&f, &a);
    fake_run(&f, 0);
    fake_answer(fake_last(&f), 201, "", SLICE("{}"));
    CHECK_INT(kube_client_room(f.client), KUBE_WINDOW_START);
    fake_free(&f);
}

static void check_one_probe_while_down(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    f.manual = true;
    test_case("while the server is down, one connection at a time is tried");
    for (int i = 0; i < 20; i++)
        post(&f, &a);
    for (uint32_t i = 0; i < f.count; i++)
        fake_fail(f.links[i], ERR_CONNECT, "connection refused");
    uint32_t before = f.count;
    CHECK(before <= KUBE_OPENING + 1);
    fake_run(&f, KUBE_BACKOFF_MS); /* those that failed together count as one */
    CHECK_INT(f.count, before + 1);
    fake_open(fake_last(&f));
    fake_answer(fake_last(&f), 201, "", SLICE("{}"));
    test_case("and as many as the window has when it is back");
    for (uint32_t i = before + 1; i < f.count; i++)
        fake_open(f.links[i]);
    CHECK_INT(f.count, before + KUBE_WINDOW_START);
    fake_free(&f);
}

static void check_timeouts(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("C5 no answer in time: it may have happened");
    post(&f, &a);
    fake_run(&f, KUBE_CALL_MS - 1);
    CHECK_INT(a.count, 0);
    fake_run(&f, 1);
    CHECK_INT(a.unknown, 1);
    CHECK_INT(a.last.err.code, ERR_TIMEOUT);
    CHECK_INT(fake_alive(&f), 0);
    test_case("a tick that told an owner something asks to come again at once");
    CHECK_INT(f.next_ms, f.now.mono_ms);
    fake_run(&f, 0);
    CHECK(f.next_ms > f.now.mono_ms);
    test_case("C5 no connection in time: it did not happen");
    f.manual = true;
    post(&f, &a);
    fake_run(&f, KUBE_CALL_MS);
    CHECK_INT(a.unsent, 1);
    CHECK_INT(a.last.err.code, ERR_TIMEOUT);
    fake_free(&f);
}

static void check_lost_again(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("C4 a lost answer to what may be sent again: sent again until the timeout, and then unknown");
    call_on(&f, &a, KUBE_LANE_MAIN, "DELETE", "{\"preconditions\":{\"uid\":\"u\"}}", true);
    int64_t begun = f.now.mono_ms;
    while (a.count == 0 && f.now.mono_ms <= begun + KUBE_CALL_MS) {
        CHECK(slice_ends(fake_sent(fake_last(&f)), SLICE("\"u\"}}")));
        fake_fail(fake_last(&f), ERR_CLOSED, "reset");
        fake_run(&f, f.next_ms - f.now.mono_ms);
    }
    CHECK_INT(a.unknown, 1);
    CHECK(f.count > 3 && f.count <= CALL_TRIES);
    CHECK(f.now.mono_ms < begun + KUBE_CALL_MS);
    test_case("C5 lost once, and then the server cannot be reached: not unsent");
    call_on(&f, &a, KUBE_LANE_MAIN, "DELETE", "{}", true);
    fake_run(&f, 0);
    fake_fail(fake_last(&f), ERR_CLOSED, "reset");
    f.refuse = "connection refused";
    fake_run(&f, KUBE_BACKOFF_MS);
    fake_run(&f, KUBE_CALL_MS);
    CHECK_INT(a.unknown, 2);
    CHECK_INT(a.unsent, 0);
    f.refuse = NULL;
    fake_run(&f, KUBE_BACKOFF_MAX_MS);
    test_case("C4 a cut answer");
    post(&f, &a);
    fake_run(&f, 0);
    fake_put(fake_last(&f), SLICE("HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n{\"a"));
    fake_end(fake_last(&f));
    CHECK_INT(a.unknown, 3);
    fake_free(&f);
}

/* ---- 429, 5xx, 401 ---- */

static void check_throttled(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    uint32_t before = kube_client_stats(f.client)->window;
    test_case("C9 429 with Retry-After: everybody waits, then it goes again");
    post(&f, &a);
    post(&f, &a);
    fake_run(&f, 0);
    fake_answer(f.links[0], 429, "Retry-After: 5\r\n", FLOW_429);
    fake_answer(f.links[1], 429, "Retry-After: 5\r\n", FLOW_429);
    CHECK_INT(a.count, 0);
    CHECK_INT(kube_client_stats(f.client)->throttled, 2);
    test_case("the window is halved once for what was under way together");
    CHECK_INT(kube_client_stats(f.client)->window, before / 2);
    fake_take(f.links[0]);
    fake_take(f.links[1]);
    get(&f, &a);
    fake_run(&f, 4999);
    CHECK(!fake_has(f.links[0], "POST") && !fake_has(f.links[1], "POST") && f.count == 2);
    fake_run(&f, 1000);
    CHECK(fake_has(f.links[0], "POST") && fake_has(f.links[1], "POST"));
    fake_answer(f.links[0], 201, "", SLICE("{}"));
    fake_answer(f.links[1], 201, "", SLICE("{}"));
    CHECK_INT(a.ok, 2);
    test_case("a later 429 halves it again");
    post(&f, &a);
    fake_run(&f, 0);
    fake_answer(f.links[0], 429, "", FLOW_429);
    fake_answer(f.links[1], 429, "", FLOW_429);
    CHECK_INT(kube_client_stats(f.client)->window, before / 4);
    fake_free(&f);
}

static void check_throttled_for_good(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("C4 429 ten times: the answer is handed out");
    post(&f, &a);
    fake_run(&f, 0);
    for (int i = 0; i < 2 * CALL_TRIES && a.count == 0; i++) {
        fake_answer(f.links[0], 429, "Retry-After: 1\r\n", FLOW_429);
        fake_run(&f, 1200);
    }
    CHECK_INT(a.refused, 1);
    CHECK_INT(a.last.status.reason, KUBE_TOO_MANY_REQUESTS);
    CHECK_INT(kube_client_stats(f.client)->requests, CALL_TRIES);
    CHECK_INT(kube_client_stats(f.client)->window, KUBE_WINDOW_MIN);
    test_case("C4 Retry-After beyond the timeout: the answer is handed out at once");
    fake_run(&f, KUBE_BACKOFF_MAX_MS);
    post(&f, &a);
    fake_run(&f, 0);
    fake_answer(f.links[0], 429, "Retry-After: 100\r\n", FLOW_429);
    CHECK_INT(a.refused, 2);
    CHECK_INT(a.last.status.retry_after_ms, 100000);
    fake_free(&f);
}

static void check_server_errors(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("C4 503 with Retry-After: again; others are not held up");
    post(&f, &a);
    fake_run(&f, 0);
    fake_answer(f.links[0], 503, "Retry-After: 1\r\n", SLICE(""));
    CHECK_INT(a.count, 0);
    get(&f, &a);
    fake_take(f.links[0]);
    fake_answer(f.links[0], 200, "", SLICE("{}"));
    CHECK_INT(a.ok, 1);
    fake_run(&f, 1200);
    CHECK(fake_has(f.links[0], "POST"));
    fake_answer(f.links[0], 201, "", SLICE("{}"));
    CHECK_INT(a.ok, 2);
    test_case("C4 500 without Retry-After: no");
    post(&f, &a);
    fake_run(&f, 0);
    fake_answer(f.links[0], 500, "", SLICE(""));
    CHECK_INT(a.refused, 1);
    CHECK_INT(a.last.status.reason, KUBE_INTERNAL);
    test_case("a redirect is not followed");
    get(&f, &a);
    fake_run(&f, 0);
    fake_answer(f.links[0], 302, "Location: http://evil/\r\n", SLICE(""));
    CHECK_INT(a.refused, 2);
    CHECK_INT(f.count, 1);
    fake_free(&f);
}

static void check_unauthorized(void)
{
    struct fake f;
    struct answers a = {0};
    char path[] = "/tmp/mobula-t-client-XXXXXX";
    fake_init(&f);
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "secret-2\n", 9) == 9);
    f.config->private_->settings.token.path = path;
    test_case("1.7 401: the token is read again at once, and the call goes once more");
    post(&f, &a);
    fake_run(&f, 0);
    CHECK(fake_has(f.links[0], "Bearer secret-1"));
    fake_take(f.links[0]);
    fake_answer(f.links[0], 401, "", SLICE(""));
    CHECK(fake_has(f.links[0], "Bearer secret-2"));
    CHECK(slice_ends(fake_sent(f.links[0]), SLICE("\r\n\r\n{}")));
    fake_answer(f.links[0], 401, "", SLICE(""));
    CHECK_INT(a.refused, 1);
    CHECK_INT(a.last.status.reason, KUBE_UNAUTHORIZED);
    CHECK_INT(kube_client_stats(f.client)->trouble.code, ERR_STATUS);
    test_case("1.7 the token is read again every minute; what cannot be read leaves the old one");
    CHECK(pwrite(fd, "secret-3", 8, 0) == 8);
    fake_run(&f, KUBE_RELOAD_MS);
    CHECK_STR(kube_config_authorization(f.config), "Bearer secret-3");
    unlink(path);
    fake_run(&f, KUBE_RELOAD_MS);
    CHECK_STR(kube_config_authorization(f.config), "Bearer secret-3");
    close(fd);
    fake_free(&f);
}

/* ---- the window and the lanes ---- */

static void answer_if_asked(struct fakelink *l)
{
    bool asked = fake_sent(l).len > 0;
    fake_take(l);
    if (asked)
        fake_answer(l, 201, "", SLICE("{}"));
}

static void check_window(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("the window starts at KUBE_WINDOW_START");
    CHECK_INT(kube_client_room(f.client), KUBE_WINDOW_START);
    for (int i = 0; i < KUBE_WINDOW_START + 5; i++)
        post(&f, &a);
    fake_run(&f, 0);
    CHECK_INT(f.count, KUBE_WINDOW_START);
    CHECK_INT(kube_client_room(f.client), 0);
    CHECK_INT(kube_client_stats(f.client)->in_flight, KUBE_WINDOW_START);
    test_case("W13 a quarter more and one after a window of fast answers");
    for (uint32_t i = 0; i < KUBE_WINDOW_START; i++)
        answer_if_asked(f.links[i]);
    CHECK_INT(kube_client_stats(f.client)->window, KUBE_WINDOW_START + KUBE_WINDOW_START / 4 + 1);
    CHECK_INT(kube_client_stats(f.client)->in_flight, 5);
    test_case("up to KUBE_WINDOW_MAX");
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 40; i++)
            post(&f, &a);
        while (kube_client_stats(f.client)->in_flight)
            for (uint32_t i = 0; i < f.count; i++)
                answer_if_asked(f.links[i]);
    }
    CHECK_INT(kube_client_stats(f.client)->window, KUBE_WINDOW_MAX);
    CHECK(f.count <= KUBE_WINDOW_MAX);
    fake_free(&f);
}

static void check_lanes(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("1.3 the lease and events have one connection each, whatever the main lane does");
    for (int i = 0; i < KUBE_WINDOW_START + 5; i++)
        post(&f, &a);
    uint32_t main_links = f.count;
    call_on(&f, &a, KUBE_LANE_LEASE, "PUT", "{\"lease\":1}", true);
    call_on(&f, &a, KUBE_LANE_EVENTS, "POST", "{\"event\":1}", false);
    call_on(&f, &a, KUBE_LANE_EVENTS, "POST", "{\"event\":2}", false);
    fake_run(&f, 0);
    CHECK_INT(f.count, main_links + 2);
    CHECK(fake_has(f.links[main_links], "{\"lease\":1}"));
    CHECK(fake_has(f.links[main_links + 1], "{\"event\":1}") && !fake_has(f.links[main_links + 1], "{\"event\":2}"));
    test_case("1.3 a 429 on the main lane does not hold up the lease");
    fake_answer(f.links[0], 429, "Retry-After: 30\r\n", FLOW_429);
    fake_answer(f.links[main_links], 200, "", SLICE("{}"));
    fake_take(f.links[main_links]);
    call_on(&f, &a, KUBE_LANE_LEASE, "PUT", "{\"lease\":2}", true);
    fake_run(&f, 0);
    CHECK(fake_has(f.links[main_links], "{\"lease\":2}"));
    fake_free(&f);
}

static void check_queue_limit(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    f.manual = true;
    test_case("LIMIT_KUBE_CALLS");
    for (int i = 0; i < KUBE_OPENING + LIMIT_KUBE_CALLS; i++)
        CHECK(post(&f, &a));
    CHECK(!post(&f, &a));
    test_case("calls that waited for their whole timeout");
    fake_run(&f, KUBE_CALL_MS);
    CHECK_INT(a.unsent, KUBE_OPENING + LIMIT_KUBE_CALLS);
    CHECK_INT(a.last.err.code, ERR_TIMEOUT);
    fake_free(&f);
}

static void check_warnings(void)
{
    struct fake f;
    struct answers a = {0};
    struct lines lines;
    fake_init(&f);
    log_into(&lines, "warns");
    test_case("C8 each Warning text once");
    for (int i = 0; i < 3; i++) {
        get(&f, &a);
        fake_run(&f, 0);
        fake_answer(f.links[0], 200, "Warning: 299 - \"v1 is deprecated\"\r\nWarning: 199 - \"other\"\r\n", SLICE("{}"));
    }
    CHECK_INT(lines.count, 1);
    CHECK(strstr(lines.last, "warning=\"v1 is deprecated\"") != NULL);
    get(&f, &a);
    fake_run(&f, 0);
    fake_answer(f.links[0], 200, "Warning: 299 - \"another\"\r\n", SLICE("{}"));
    CHECK_INT(lines.count, 2);
    test_case("C8 the set is bounded");
    for (int i = 0; i < 3 * WARNINGS_KEPT; i++) {
        char text[64];
        snprintf(text, sizeof text, "Warning: 299 - \"w %d\"\r\n", i);
        get(&f, &a);
        fake_run(&f, 0);
        fake_answer(f.links[0], 200, text, SLICE("{}"));
    }
    CHECK_INT(lines.count, 2 + 3 * WARNINGS_KEPT);
    log_quiet();
    fake_free(&f);
}

/* A callback that makes the next call: the commonest thing that callers do. */
struct chain {
    struct fake *f;
    struct answers answers;
    int left;
};

static void on_chain(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now)
{
    struct chain *c = owner;
    on_answer(&c->answers, tag, answer, now);
    struct err e = {0};
    struct kube_request r = {.method = SLICE("GET"), .path = SLICE("/next"), .done = on_chain, .owner = c};
    if (c->left-- > 0)
        kube_call(c->f->client, &r, now, &e);
    CHECK_STR(answer->body, "{\"x\":2}"); /* still there behind the next call */
}

static void check_chain(void)
{
    struct fake f;
    fake_init(&f);
    struct chain c = {.f = &f, .left = 5};
    struct err e = {0};
    struct kube_request r = {.method = SLICE("GET"), .path = SLICE("/first"), .done = on_chain, .owner = &c};
    test_case("calls from callbacks use the connection that has just become free");
    kube_call(f.client, &r, f.now, &e);
    fake_run(&f, 0);
    for (int i = 0; i < 6; i++)
        fake_answer(f.links[0], 200, "", SLICE("{\"x\":2}"));
    CHECK_INT(c.answers.ok, 6);
    CHECK_INT(f.count, 1);
    fake_free(&f);
}

int main(void)
{
    log_quiet();
    check_keep_alive();
    check_most_recent_first();
    check_stray_bytes();
    check_stale_link();
    check_unsent();
    check_unsent_until_timeout();
    check_one_probe_while_down();
    check_timeouts();
    check_lost_again();
    check_throttled();
    check_throttled_for_good();
    check_server_errors();
    check_unauthorized();
    check_window();
    check_lanes();
    check_queue_limit();
    check_warnings();
    check_chain();
    return test_done();
}
