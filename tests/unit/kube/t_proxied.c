/* What the server passes on to others: whoever runs a head writes what comes back, and may lie. It counts for the call that asked for it,
 * and nobody else waits, is told that the server is gone, or reads the credentials again and again. */
#include "answers.h"

#define THROTTLED "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":429,\"reason\":\"TooManyRequests\",\"message\":\"wait\"}"
#define DENIED "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":401,\"reason\":\"Unauthorized\",\"message\":\"no\"}"

static bool ask(struct fake *f, struct answers *a, const char *method)
{
    bool asked = call_on(f, a, KUBE_LANE_PROXY, method, strcmp(method, "GET") ? "{}" : NULL, strcmp(method, "GET") == 0);
    fake_run(f, 0);
    return asked;
}

/* The newest link, whose request is taken from it. */
static struct fakelink *taken(struct fake *f)
{
    struct fakelink *l = fake_last(f);
    fake_take(l);
    return l;
}

static bool is_well(const struct fake *f)
{
    return kube_client_stats(f->client)->trouble.code == ERR_NONE;
}

static void check_pauses(void)
{
    static const char *const bodies[] = {"slow down", THROTTLED};
    static const char *const headers[] = {"Retry-After: 3600\r\n", "Retry-After: 5\r\n", ""};
    for (size_t i = 0; i < COUNT_OF(bodies) * COUNT_OF(headers); i++) {
        struct fake f;
        struct answers a = {0}, b = {0};
        const char *body = bodies[i / COUNT_OF(headers)], *header = headers[i % COUNT_OF(headers)];
        bool hour = strstr(header, "3600") != NULL;
        fake_init(&f);
        test_case("a head's 429 delays its own call and no other: %.*s, %s", (int)strcspn(header, "\r"), header, body);
        ask(&f, &a, "GET");
        fake_answer(taken(&f), 429, header, slice_of(body));
        CHECK_INT(a.refused, hour); /* later than its time: it is answered now */
        CHECK_INT(a.count, hour);
        ask(&f, &b, "GET");
        CHECK_STR(fake_line(fake_last(&f)), "GET /api/v1/namespaces/a/pods");
        fake_answer(taken(&f), 200, "", SLICE("{}"));
        CHECK(b.count == 1 && b.ok == 1);
        CHECK_INT(kube_client_stats(f.client)->throttled, 0); /* it is not the server that asks for less */
        if (!hour) {
            test_case("and is asked again when it said");
            fake_run(&f, 2 * KUBE_BACKOFF_MAX_MS);
            CHECK_STR(fake_line(fake_last(&f)), "GET /api/v1/namespaces/a/pods");
            fake_answer(fake_last(&f), 200, "", SLICE("{}"));
            CHECK(a.count == 1 && a.ok == 1);
        }
        fake_free(&f);
    }
}

/* A 429 of the server itself means that nothing was done. Of somebody else's nobody knows. */
static void check_pause_of_a_write(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("a head that says 429 may have done what was asked");
    ask(&f, &a, "POST");
    fake_answer(taken(&f), 429, "Retry-After: 5\r\n", SLICE(THROTTLED));
    kube_calls_recall(f.client, &a, NULL, f.now);
    CHECK(a.count == 1 && a.unknown == 1);
    test_case("… and one that says 401");
    ask(&f, &a, "POST");
    f.client->lanes[KUBE_LANE_PROXY].not_before_ms = f.now.mono_ms + 1000;
    fake_answer(taken(&f), 401, "", SLICE("no"));
    kube_calls_recall(f.client, &a, NULL, f.now);
    CHECK(a.count == 2 && a.unknown == 2);
    fake_free(&f);
}

static void check_denials(void)
{
    struct fake f;
    struct answers a = {0}, b = {0};
    struct lines lines;
    fake_init(&f);
    log_into(&lines, "cannot be used");
    test_case("a head's 401, a Status or not, is none of the server's");
    for (int i = 0; i < 2; i++) {
        ask(&f, &a, "GET");
        for (int tries = 0; tries < 2; tries++)
            fake_answer(taken(&f), 401, "", i ? SLICE(DENIED) : SLICE("no token"));
        CHECK_INT(a.refused, i + 1);
        CHECK(is_well(&f));
    }
    CHECK_INT(lines.count, 0);
    test_case("the credentials may have rotated: they are read again, no more often than they are anyway");
    int64_t first_ms = f.client->reloaded_ms;
    CHECK_INT(first_ms, f.now.mono_ms);
    fake_run(&f, CLIENT_RENEW_HEARSAY_MS - 1);
    ask(&f, &a, "GET");
    fake_answer(taken(&f), 401, "", SLICE(DENIED));
    CHECK_INT(f.client->reloaded_ms, first_ms);
    fake_answer(taken(&f), 401, "", SLICE(DENIED));
    fake_run(&f, 1);
    ask(&f, &a, "GET");
    fake_answer(taken(&f), 401, "", SLICE(DENIED));
    CHECK_INT(f.client->reloaded_ms, f.now.mono_ms);
    fake_answer(taken(&f), 401, "", SLICE(DENIED));
    test_case("the server's own 401 is believed a second later, and told");
    fake_run(&f, CLIENT_RENEW_MS);
    get(&f, &b);
    fake_run(&f, 0);
    fake_answer(taken(&f), 401, "", SLICE(DENIED));
    CHECK_INT(f.client->reloaded_ms, f.now.mono_ms);
    fake_answer(taken(&f), 401, "", SLICE(DENIED));
    CHECK(b.refused == 1 && !is_well(&f));
    CHECK_INT(lines.count, 1);
    log_quiet();
    fake_free(&f);
}

static void check_silence(void)
{
    static const char *const methods[] = {"GET", "POST"};
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct fake f;
        struct answers a = {0}, b = {0};
        struct lines lines;
        fake_init(&f);
        log_into(&lines, "cannot be used");
        test_case("a head that hangs is not the server: %s", methods[i]);
        ask(&f, &a, methods[i]);
        fake_run(&f, KUBE_CALL_MS);
        CHECK(a.count == 1 && a.unknown == 1 && is_well(&f));
        test_case("nor is one whose connection is lost, or that breaks HTTP: %s", methods[i]);
        ask(&f, &a, methods[i]);
        fake_fail(taken(&f), ERR_CLOSED, "reset");
        CHECK(is_well(&f));
        ask(&f, &b, methods[i]); /* nor does anybody wait for it */
        CHECK(fake_has(fake_last(&f), methods[i]));
        fake_put(taken(&f), SLICE("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx"));
        CHECK(is_well(&f));
        CHECK_INT(lines.count, 0);
        log_quiet();
        fake_free(&f);
    }
}

static void check_server_gone(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("a connection that cannot be opened is the server's, on this lane too: the lane waits");
    f.refuse = "connection refused";
    ask(&f, &a, "GET");
    CHECK(!is_well(&f) && f.client->lanes[KUBE_LANE_PROXY].not_before_ms > f.now.mono_ms);
    f.refuse = NULL;
    fake_run(&f, KUBE_BACKOFF_MAX_MS);
    fake_answer(fake_last(&f), 200, "", SLICE("{}"));
    CHECK(a.ok == 1 && is_well(&f));
    test_case("and one that does not open in time");
    fake_fail(fake_last(&f), ERR_CLOSED, "reset");
    f.manual = true;
    ask(&f, &a, "GET");
    fake_run(&f, KUBE_CALL_MS);
    CHECK(a.unsent == 1 && !is_well(&f));
    fake_free(&f);
}

static void check_warnings(void)
{
    struct fake f;
    struct answers a = {0};
    struct lines lines;
    fake_init(&f);
    log_into(&lines, "warns");
    test_case("C8 a head's Warning is not told as the server's");
    ask(&f, &a, "GET");
    fake_answer(taken(&f), 200, "Warning: 299 - \"buy this\"\r\n", SLICE("{}"));
    CHECK_INT(a.ok, 1);
    CHECK_INT(lines.count, 0);
    log_quiet();
    fake_free(&f);
}

static void on_piece(void *owner, uint64_t tag, struct slice piece)
{
    struct answers *a = owner;
    size_t n = strlen(a->body);
    (void)tag;
    snprintf(a->body + n, sizeof a->body - n, "%.*s", SLICE_ARG(piece));
}

static void ask_pieces(struct fake *f, struct answers *a)
{
    struct err e = {0};
    struct kube_request r = {.lane = KUBE_LANE_PROXY,
                             .method = SLICE("GET"),
                             .path = SLICE("/log"),
                             .again = true,
                             .timeout_ms = 1000,
                             .done = on_answer,
                             .piece = on_piece,
                             .owner = a};
    *a = (struct answers){0};
    CHECK(kube_call(f->client, &r, f->now, &e));
    fake_run(f, 0);
}

static void check_pieces(void)
{
    struct fake f;
    struct answers a;
    fake_init(&f);
    test_case("an answer is handed on as it comes; its time begins again with each part");
    ask_pieces(&f, &a);
    fake_stream(taken(&f));
    for (int i = 0; i < 10; i++) {
        CHECK_INT(strlen(a.body), i * 10);
        fake_chunk(fake_last(&f), SLICE("0123456789"));
        fake_run(&f, 999);
    }
    CHECK(a.count == 0 && strlen(a.body) == 100);
    fake_run(&f, 1);
    CHECK(a.count == 1 && a.unknown == 1);
    test_case("what was handed on is not asked for again");
    ask_pieces(&f, &a);
    fake_stream(taken(&f));
    fake_chunk(fake_last(&f), SLICE("x"));
    fake_fail(fake_last(&f), ERR_CLOSED, "reset");
    CHECK(a.count == 1 && a.unknown == 1);
    CHECK_STR(slice_of(a.body), "");
    test_case("an error is no part: the answer has it");
    ask_pieces(&f, &a);
    fake_answer(taken(&f), 404, "", SLICE("no such job"));
    CHECK(a.count == 1 && a.refused == 1);
    CHECK_STR(slice_of(a.body), "no such job");
    fake_free(&f);
}

/* What the owner of a call is handed: how many lines, and how long the longest is. */
struct told {
    uint32_t lines;
    size_t longest;
};

static void on_told(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now)
{
    struct told *t = owner;
    (void)tag, (void)now;
    *t = (struct told){0};
    for (struct slice rest = answer->warnings; !slice_empty(rest); t->lines++) {
        size_t len = slice_cut(&rest, '\n').len;
        t->longest = len > t->longest ? len : t->longest;
    }
}

static void check_told(struct fake *f, int warnings, int bytes, struct told want)
{
    struct buf headers;
    struct told got = {0};
    struct err e = {0};
    struct kube_request r = {.method = SLICE("GET"), .path = SLICE("/x"), .warnings = true, .done = on_told, .owner = &got};
    test_case("%d warnings of %d bytes for the owner of a call", warnings, bytes);
    buf_init(&headers, LIMIT_HTTP_HEAD);
    for (int i = 0; i < warnings; i++)
        buf_printf(&headers, "Warning: 299 - \"%0*d\"\r\n", bytes, i);
    buf_putc(&headers, 0);
    CHECK(kube_call(f->client, &r, f->now, &e));
    fake_run(f, 0);
    fake_answer(f->links[0], 200, headers.ptr, SLICE("{}"));
    CHECK_INT(got.lines, want.lines);
    CHECK_INT(got.longest, want.longest);
    buf_free(&headers);
}

static void check_told_limits(void)
{
    struct fake f;
    struct lines lines;
    fake_init(&f);
    log_into(&lines, "warns");
    check_told(&f, 1, LIMIT_KUBE_WARNING, (struct told){1, LIMIT_KUBE_WARNING});
    check_told(&f, 1, LIMIT_KUBE_WARNING + 1, (struct told){1, LIMIT_KUBE_WARNING});
    check_told(&f, LIMIT_KUBE_WARNINGS, 10, (struct told){LIMIT_KUBE_WARNINGS, 10});
    check_told(&f, LIMIT_KUBE_WARNINGS + 1, 10, (struct told){LIMIT_KUBE_WARNINGS, 10});
    check_told(&f, 0, 0, (struct told){0, 0});
    CHECK_INT(lines.count, 0);
    log_quiet();
    fake_free(&f);
}

int main(void)
{
    log_quiet();
    check_pieces();
    check_pauses();
    check_pause_of_a_write();
    check_denials();
    check_silence();
    check_server_gone();
    check_warnings();
    check_told_limits();
    return test_done();
}
