#include "../test.h"

#include <mobula/kube.h>

/* W1, W11: what a refusal means stands in its reason, not in its code. */
static const struct {
    int code;
    const char *body;
    enum kube_reason reason;
    const char *message;
    int64_t retry_after_ms;
} cases[] = {
    {409, "{\"kind\":\"Status\",\"code\":409,\"reason\":\"Conflict\",\"message\":\"m\"}", KUBE_CONFLICT, "m", -1},
    {409, "{\"kind\":\"Status\",\"code\":409,\"reason\":\"AlreadyExists\",\"message\":\"m\"}", KUBE_ALREADY_EXISTS, "m", -1},
    {410, "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"old\"}", KUBE_EXPIRED, "old", -1},
    {410, "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Gone\",\"message\":\"old\"}", KUBE_GONE, "old", -1},
    {500, "{\"kind\":\"Status\",\"reason\":\"ServerTimeout\",\"details\":{\"retryAfterSeconds\":2}}", KUBE_SERVER_TIMEOUT,
     "HTTP 500 Internal Server Error", 2000},
    {429, "{\"kind\":\"Status\",\"reason\":\"TooManyRequests\",\"details\":{\"retryAfterSeconds\":99999}}", KUBE_TOO_MANY_REQUESTS,
     "HTTP 429 Too Many Requests", 3600000},
    {500, "{\"kind\":\"Status\",\"reason\":\"StorageReadError\"}", KUBE_STORAGE_READ, "HTTP 500 Internal Server Error", -1},
    {400, "{\"kind\":\"Status\",\"reason\":\"SomethingNew\",\"message\":\"m\"}", KUBE_REASON_OTHER, "m", -1},
    {401, "", KUBE_UNAUTHORIZED, "HTTP 401 Unauthorized", -1},
    {403, "", KUBE_FORBIDDEN, "HTTP 403 Forbidden", -1},
    {404, "404 page not found", KUBE_NOT_FOUND, "HTTP 404 Not Found", -1},
    {409, "", KUBE_CONFLICT, "HTTP 409 Conflict", -1},
    {410, "", KUBE_GONE, "HTTP 410 Gone", -1},
    {413, "", KUBE_TOO_LARGE, "HTTP 413 Content Too Large", -1},
    {415, "", KUBE_UNSUPPORTED_MEDIA, "HTTP 415 Unsupported Media Type", -1},
    {422, "", KUBE_INVALID, "HTTP 422 Unprocessable Content", -1},
    {503, "<html>", KUBE_UNAVAILABLE, "HTTP 503 Service Unavailable", -1},
    {504, "", KUBE_TIMEOUT, "HTTP 504 Gateway Timeout", -1},
    {502, "", KUBE_REASON_OTHER, "HTTP 502 Bad Gateway", -1},
    {500, "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\"}", KUBE_FORBIDDEN, "HTTP 500 Internal Server Error", -1},
    {500, "{\"kind\":\"Pod\",\"reason\":\"Forbidden\",\"message\":\"no\"}", KUBE_INTERNAL, "HTTP 500 Internal Server Error", -1},
    {500, "{\"kind\":\"Status\",\"reason\":3,\"message\":[],\"details\":7}", KUBE_INTERNAL, "HTTP 500 Internal Server Error", -1},
    {500, "{\"kind\":\"Status\",\"kind\":\"Status\",\"reason\":\"Forbidden\"}", KUBE_INTERNAL, "HTTP 500 Internal Server Error", -1},
};

static void check_cases(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct kube_status s;
        test_case("W11 %d %s", cases[i].code, cases[i].body);
        kube_status_read(cases[i].code, guarded(slice_of(cases[i].body)), &s);
        CHECK_INT(s.code, cases[i].code);
        CHECK_INT(s.reason, cases[i].reason);
        CHECK_STR(slice_of(s.message), cases[i].message);
        CHECK_INT(s.retry_after_ms, cases[i].retry_after_ms);
    }
}

static void check_causes(void)
{
    struct kube_status s;
    test_case("L6 ResourceVersionTooLarge");
    kube_status_read(504,
                     SLICE("{\"kind\":\"Status\",\"reason\":\"Timeout\",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\","
                           "\"message\":\"Too large resource version\"}],\"retryAfterSeconds\":1}}"),
                     &s);
    CHECK(s.version_too_large && !s.namespace_terminating && !s.manager_conflict);
    CHECK_INT(s.retry_after_ms, 1000);
    test_case("W14 NamespaceTerminating");
    kube_status_read(
        403, SLICE("{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"details\":{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]}}"), &s);
    CHECK(s.namespace_terminating && s.reason == KUBE_FORBIDDEN);
    test_case("W5 FieldManagerConflict");
    kube_status_read(409,
                     SLICE("{\"kind\":\"Status\",\"reason\":\"Conflict\",\"details\":{\"causes\":[{\"reason\":\"x\"},"
                           "{\"reason\":\"FieldManagerConflict\"}]}}"),
                     &s);
    CHECK(s.manager_conflict && !s.namespace_terminating);
}

static void check_message_limit(void)
{
    test_case("a message is cut at a whole character");
    struct arena a = {0};
    struct buf b;
    buf_init(&b, 4 * KIB);
    buf_put(&b, SLICE("{\"kind\":\"Status\",\"message\":\"x"));
    for (int i = 0; i < ERR_TEXT_MAX; i++)
        buf_put(&b, SLICE("\xc3\xa9"));
    buf_put(&b, SLICE("\"}"));
    struct kube_status s;
    kube_status_read(500, buf_slice(&b), &s);
    CHECK(strlen(s.message) >= ERR_TEXT_MAX - 3 && strlen(s.message) < ERR_TEXT_MAX);
    CHECK(slice_ends(slice_of(s.message), SLICE("…")));
    CHECK(utf8_valid(slice_of(s.message)));
    buf_free(&b);
    arena_free(&a);
}

static void check_reason_texts(void)
{
    test_case("W11 reasons have their words");
    for (int r = KUBE_UNAUTHORIZED; r < KUBE_REASON_OTHER; r++)
        CHECK(strcmp(kube_reason_text((enum kube_reason)r), "Unknown") != 0);
    CHECK_STR(slice_of(kube_reason_text(KUBE_REASON_NONE)), "");
    CHECK_STR(slice_of(kube_reason_text(KUBE_REASON_OTHER)), "Unknown");
}

int main(void)
{
    check_cases();
    check_causes();
    check_message_limit();
    check_reason_texts();
    return test_done();
}
