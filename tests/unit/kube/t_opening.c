/* When connections are opened: a few at a time, and one for the next call. */
#include "answers.h"

#define WEBHOOK_429                                                                                                                        \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"reason\":\"TooManyRequests\",\"code\":429,"       \
    "\"message\":\"admission webhook \\\"w.test\\\" denied the request: later\",\"details\":{\"retryAfterSeconds\":5}}"

static void check_opening(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    f.manual = true;
    test_case("KUBE_OPENING connections open at a time, and those that stand carry the queue");
    for (int i = 0; i < 20; i++)
        post(&f, &a);
    CHECK_INT(f.count, KUBE_OPENING);
    fake_open(f.links[0]);
    CHECK_INT(f.count, KUBE_OPENING + 1);
    fake_take(f.links[0]);
    fake_answer(f.links[0], 201, "", SLICE("{}"));
    CHECK(fake_sent(f.links[0]).len > 0);
    fake_free(&f);
}

static void check_warm(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("one connection is kept for the next call, when asked for");
    kube_client_keep_warm(f.client);
    fake_run(&f, 1000);
    CHECK_INT(f.count, 0); /* not before the server has answered once */
    post(&f, &a);
    fake_run(&f, 0);
    fake_take(f.links[0]);
    fake_answer(f.links[0], 201, "", SLICE("{}"));
    CHECK_INT(a.count, 1);
    fake_run(&f, NET_IDLE_MS);
    CHECK_INT(f.count, 2);
    fake_run(&f, NET_IDLE_MS);
    CHECK_INT(f.count, 3);
    test_case("but not while the server is in trouble");
    fake_fail(fake_last(&f), ERR_CLOSED, "gone");
    f.refuse = "connection refused";
    fake_run(&f, NET_IDLE_MS);
    CHECK_INT(f.count, 3);
    CHECK(f.next_ms > f.now.mono_ms);
    fake_free(&f);
}

static void check_dead_path(void)
{
    static const struct {
        enum err_code code;
        const char *what;
        uint32_t links;
    } cases[] = {{ERR_CLOSED, "was reset: another that stands is used", 2}, {ERR_TIMEOUT, "stopped acknowledging: no other is used", 3}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fake f;
        struct answers a = {0};
        fake_init(&f);
        post(&f, &a);
        post(&f, &a);
        for (int k = 0; k < 2; k++) {
            fake_take(f.links[k]);
            fake_answer(f.links[k], 201, "", SLICE("{}"));
        }
        CHECK_INT(f.count, 2);
        test_case("a connection %s", cases[i].what);
        call_before(&f, &a, KUBE_LANE_MAIN, "GET", NULL, true, 0);
        fake_fail(f.links[fake_sent(f.links[0]).len ? 0 : 1], cases[i].code, "the connection was dropped");
        fake_run(&f, KUBE_BACKOFF_MAX_MS);
        CHECK_INT(f.count, cases[i].links);
        fake_free(&f);
    }
}

/* Not before `ms` from now, and not at all behind it. */
static bool delete_within(struct fake *f, struct answers *a, int64_t ms)
{
    return call_before(f, a, KUBE_LANE_MAIN, "DELETE", "{\"within\":1}", true, f->now.mono_ms + ms);
}

static void check_begin(void)
{
    enum { WITHIN_MS = 10 * 1000, CALLS = KUBE_OPENING + 3 };
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    f.manual = true;
    test_case("what must begin soon waits for a connection so long, and not longer");
    for (int i = 0; i < CALLS; i++)
        delete_within(&f, &a, WITHIN_MS);
    fake_run(&f, WITHIN_MS - 1);
    CHECK_INT(a.count, 0);
    fake_run(&f, 1);
    CHECK_INT(a.unsent, CALLS);
    CHECK_INT(a.last.err.code, ERR_TIMEOUT);
    test_case("its connections go on opening, for the next ones");
    CHECK_INT(fake_alive(&f), KUBE_OPENING);
    CHECK_INT(kube_client_room(f.client), KUBE_WINDOW_START);
    CHECK_INT(kube_client_stats(f.client)->trouble.code, ERR_NONE);
    delete_within(&f, &a, WITHIN_MS);
    CHECK_INT(f.count, KUBE_OPENING);
    for (uint32_t i = 0; i < KUBE_OPENING; i++)
        fake_open(f.links[i]);
    uint32_t sent = 0;
    for (uint32_t i = 0; i < KUBE_OPENING; i++)
        sent += fake_sent(f.links[i]).len > 0;
    CHECK_INT(sent, 1);
    test_case("what has begun has the time that every call has");
    fake_run(&f, KUBE_CALL_MS - 1);
    CHECK_INT(a.count, CALLS);
    fake_run(&f, 1);
    CHECK_INT(a.unknown, 1);
    fake_free(&f);
}

static void check_begin_again(void)
{
    enum { WITHIN_MS = 2000 };
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("a connection that stands is taken before one that opens");
    get(&f, &a);
    f.manual = true;
    delete_within(&f, &a, WITHIN_MS);
    fake_answer(f.links[0], 200, "", SLICE("{}"));
    fake_take(f.links[0]);
    fake_run(&f, WITHIN_MS);
    CHECK(a.ok == 1 && a.unsent == 1 && fake_alive(&f) == 2);
    delete_within(&f, &a, WITHIN_MS);
    CHECK(fake_has(f.links[0], "within"));
    test_case("what was sent once and waits to be sent again ends then, too: nobody knows what has become of it");
    fake_fail(f.links[0], ERR_CLOSED, "reset");
    fake_run(&f, WITHIN_MS - 1);
    CHECK_INT(a.count, 2);
    fake_run(&f, 1);
    CHECK_INT(a.unknown, 1);
    CHECK_INT(fake_sent(f.links[1]).len, 0);
    fake_free(&f);
}

/* Whoever acts on a code does not read it in words. */
static void check_told(void)
{
    enum { WITHIN_MS = 2000 };
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("what was told no and had no time for another try says which");
    delete_within(&f, &a, WITHIN_MS);
    fake_run(&f, 0);
    fake_answer(f.links[0], 429, "Retry-After: 5\r\n", SLICE("Too many requests, please try again later.\n"));
    fake_run(&f, WITHIN_MS);
    CHECK_INT(a.unsent, 1);
    CHECK_INT(a.last.err.code, ERR_STATUS);
    CHECK_INT(a.last.told, 429);
    test_case("… and so does what was lost after it");
    fake_run(&f, KUBE_BACKOFF_MAX_MS);
    get(&f, &a);
    fake_run(&f, 0);
    fake_answer(fake_last(&f), 503, "Retry-After: 1\r\n", SLICE(""));
    fake_run(&f, 1200);
    fake_run(&f, KUBE_CALL_MS);
    CHECK_INT(a.unknown, 1);
    CHECK_INT(a.last.err.code, ERR_TIMEOUT);
    CHECK_INT(a.last.told, 503);
    test_case("… while what was only lost was told nothing");
    post(&f, &a);
    fake_run(&f, 0);
    fake_fail(fake_last(&f), ERR_CLOSED, "reset");
    CHECK_INT(a.unknown, 2);
    CHECK_INT(a.last.told, 0);
    fake_free(&f);
}

/* A call that its owner does not want told at once waits by itself. The headers say nothing: they stand on every answer. */
static void check_about_object(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("429 of a webhook delays its own call and no other, and the window stays as it is");
    uint32_t window = kube_client_stats(f.client)->window;
    post(&f, &a);
    fake_run(&f, 0);
    fake_take(f.links[0]);
    fake_answer(f.links[0], 429, "Retry-After: 5\r\nX-Kubernetes-PF-FlowSchema-UID: u\r\n", SLICE(WEBHOOK_429));
    CHECK_INT(a.count, 0);
    CHECK_INT(kube_client_stats(f.client)->window, window);
    CHECK_INT(kube_client_stats(f.client)->throttled, 0);
    get(&f, &a);
    fake_run(&f, 0);
    CHECK(fake_has(f.links[0], "GET"));
    fake_take(f.links[0]);
    fake_answer(f.links[0], 200, "", SLICE("{}"));
    CHECK_INT(a.ok, 1);
    test_case("it goes again when its time has come");
    fake_run(&f, 6000);
    CHECK(fake_has(f.links[0], "POST"));
    fake_free(&f);
}

/* Whoever has a place in the window and waits keeps others from it: so the owner waits, and not the call. */
static void check_at_once(void)
{
    struct fake f;
    struct answers a = {0};
    struct err e = {0};
    struct kube_request r = {.lane = KUBE_LANE_MAIN,
                             .method = SLICE("POST"),
                             .path = SLICE("/at/once"),
                             .content_type = SLICE(KUBE_TYPE_JSON),
                             .body = SLICE("{}"),
                             .at_once = true,
                             .done = on_answer,
                             .owner = &a};
    fake_init(&f);
    test_case("C4 503 with Retry-After, to a call whose owner wants to know: told at once, with the pause");
    uint32_t room = kube_client_room(f.client);
    CHECK(kube_call(f.client, &r, f.now, &e));
    fake_run(&f, 0);
    CHECK_INT(kube_client_room(f.client), room - 1);
    fake_answer(f.links[0], 503, "Retry-After: 5\r\n", SLICE(""));
    CHECK_INT(a.refused, 1);
    CHECK_INT(a.last.told, 503);
    CHECK_INT(a.last.status.retry_after_ms, 5000);
    CHECK_INT(kube_client_room(f.client), room);
    test_case("429 of a webhook, which is for what was written, likewise");
    CHECK(kube_call(f.client, &r, f.now, &e));
    fake_run(&f, 0);
    fake_take(f.links[0]);
    fake_answer(f.links[0], 429, "Retry-After: 5\r\n", SLICE(WEBHOOK_429));
    CHECK_INT(a.refused, 2);
    CHECK_INT(a.last.status.retry_after_ms, 5000);
    CHECK_INT(kube_client_room(f.client), room);
    test_case("C9 429 of flow control, which is for everybody, is waited for all the same");
    CHECK(kube_call(f.client, &r, f.now, &e));
    fake_run(&f, 0);
    fake_answer(f.links[0], 429, "Retry-After: 5\r\n", SLICE(""));
    CHECK_INT(a.count, 2);
    fake_take(f.links[0]);
    fake_run(&f, 6000);
    CHECK(fake_has(f.links[0], "POST"));
    fake_free(&f);
}

int main(void)
{
    check_opening();
    check_begin();
    check_begin_again();
    check_told();
    check_at_once();
    check_about_object();
    check_warm();
    check_dead_path();
    return test_done();
}
