#include "transcript.h"

static struct buf out;

static struct slice written(void)
{
    return buf_slice(&out);
}

static void fresh(const char *id, size_t max)
{
    test_case("%s", id);
    buf_free(&out);
    buf_init(&out, max);
}

static void requests(void)
{
    const struct http_header headers[] = {{SLICE("Accept"), SLICE("application/json")}, {SLICE("X"), SLICE("")}};
    struct slice body = SLICE("{}"), empty = SLICE("");
    fresh("request", KIB);
    CHECK(http_write_request(&out, SLICE("GET"), SLICE("/api?a=b"), SLICE("h:6443"), headers, 2, NULL));
    CHECK_STR(written(), "GET /api?a=b HTTP/1.1\r\nHost: h:6443\r\nAccept: application/json\r\nX: \r\n\r\n");
    fresh("request-body", KIB);
    CHECK(http_write_request(&out, SLICE("POST"), SLICE("/"), SLICE("h"), NULL, 0, &body));
    CHECK_STR(written(), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}");
    fresh("request-empty-body", KIB);
    CHECK(http_write_request(&out, SLICE("POST"), SLICE("/"), SLICE("h"), NULL, 0, &empty));
    CHECK_STR(written(), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
}

static void responses(void)
{
    const struct http_header headers[] = {{SLICE("A"), SLICE("b")}};
    struct slice body = SLICE("{}");
    fresh("response", KIB);
    CHECK(http_write_response(&out, 200, headers, 1, &body));
    CHECK_STR(written(), "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\n{}");
    fresh("response-no-body", KIB);
    CHECK(http_write_response(&out, 404, NULL, 0, NULL));
    CHECK_STR(written(), "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    fresh("response-204", KIB);
    CHECK(http_write_response(&out, 204, NULL, 0, NULL));
    CHECK_STR(written(), "HTTP/1.1 204 No Content\r\n\r\n");
    fresh("response-204-body", KIB);
    CHECK(!http_write_response(&out, 204, NULL, 0, &body));
    fresh("response-chunked", KIB);
    CHECK(http_write_chunked_response(&out, 200, headers, 1));
    CHECK(http_write_chunk(&out, SLICE("hello, world")));
    CHECK(http_write_chunk(&out, SLICE("")));
    CHECK(http_write_last_chunk(&out));
    CHECK_STR(written(), "HTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\nc\r\nhello, world\r\n0\r\n\r\n");
    fresh("chunked-204", KIB);
    CHECK(!http_write_chunked_response(&out, 204, NULL, 0));
    CHECK_STR(slice_of(http_status_text(422)), "Unprocessable Content");
    CHECK_STR(slice_of(http_status_text(299)), "Unknown");
}

/* What would be more than one message, or none, on the wire. */
static void refused(void)
{
    static const struct {
        const char *id;
        struct slice method, target, host;
        struct http_header header;
    } cases[] = {
        {"value-cr", SLICE("GET"), SLICE("/"), SLICE("h"), {SLICE("A"), SLICE("b\rc")}},
        {"value-lf", SLICE("GET"), SLICE("/"), SLICE("h"), {SLICE("A"), SLICE("b\nc: d")}},
        {"value-nul", SLICE("GET"), SLICE("/"), SLICE("h"), {SLICE("A"), SLICE("b\0c")}},
        {"name-colon", SLICE("GET"), SLICE("/"), SLICE("h"), {SLICE("A:"), SLICE("b")}},
        {"name-empty", SLICE("GET"), SLICE("/"), SLICE("h"), {SLICE(""), SLICE("b")}},
        {"host-header", SLICE("GET"), SLICE("/"), SLICE("h"), {SLICE("host"), SLICE("b")}},
        {"length-header", SLICE("GET"), SLICE("/"), SLICE("h"), {SLICE("content-length"), SLICE("1")}},
        {"coding-header", SLICE("GET"), SLICE("/"), SLICE("h"), {SLICE("Transfer-encoding"), SLICE("chunked")}},
        {"method-space", SLICE("GET /x"), SLICE("/"), SLICE("h"), {SLICE("A"), SLICE("b")}},
        {"target-space", SLICE("GET"), SLICE("/ HTTP/1.1"), SLICE("h"), {SLICE("A"), SLICE("b")}},
        {"target-lf", SLICE("GET"), SLICE("/\nx"), SLICE("h"), {SLICE("A"), SLICE("b")}},
        {"target-empty", SLICE("GET"), SLICE(""), SLICE("h"), {SLICE("A"), SLICE("b")}},
        {"host-lf", SLICE("GET"), SLICE("/"), SLICE("h\r\nA: b"), {SLICE("A"), SLICE("b")}},
        {"host-empty", SLICE("GET"), SLICE("/"), SLICE(""), {SLICE("A"), SLICE("b")}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        fresh(cases[i].id, KIB);
        buf_put(&out, SLICE("before"));
        CHECK(!http_write_request(&out, cases[i].method, cases[i].target, cases[i].host, &cases[i].header, 1, NULL));
        CHECK_STR(written(), "before");
        CHECK(out.full);
    }
    const struct http_header header = {SLICE("A"), SLICE("b\nc")};
    fresh("response-value-lf", KIB);
    CHECK(!http_write_response(&out, 200, &header, 1, NULL));
    fresh("chunked-value-lf", KIB);
    CHECK(!http_write_chunked_response(&out, 200, &header, 1));
    fresh("status-600", KIB);
    CHECK(!http_write_response(&out, 600, NULL, 0, NULL));
}

static void url_limit(void)
{
    static char target[LIMIT_HTTP_URL + 1];
    memset(target, '/', sizeof target);
    fresh("target-at-limit", 2 * LIMIT_HTTP_URL);
    CHECK(http_write_request(&out, SLICE("GET"), (struct slice){target, LIMIT_HTTP_URL}, SLICE("h"), NULL, 0, NULL));
    fresh("target-past-limit", 2 * LIMIT_HTTP_URL);
    CHECK(!http_write_request(&out, SLICE("GET"), (struct slice){target, sizeof target}, SLICE("h"), NULL, 0, NULL));
}

/* A buffer of every size up to the message's: nothing of it is left behind when it does not fit. */
static void no_room(void)
{
    struct slice body = SLICE("{\"a\":1}");
    const struct http_header headers[] = {{SLICE("A"), SLICE("b")}};
    bool right = true;
    for (size_t max = 0; right && max < 200; max++) {
        fresh("no-room", max);
        bool fits = http_write_request(&out, SLICE("POST"), SLICE("/"), SLICE("h"), headers, 1, &body);
        right &= fits == (max >= 60) && fits == !out.full && out.len == (fits ? 60u : 0);
        fresh("no-room", max);
        fits = http_write_response(&out, 200, headers, 1, &body);
        right &= fits == (max >= 51) && fits == !out.full && out.len == (fits ? 51u : 0);
        fresh("no-room", max);
        fits = http_write_chunk(&out, body);
        right &= fits == (max >= 12) && fits == !out.full && out.len == (fits ? 12u : 0);
    }
    CHECK(right);
}

/* What the writers write, the readers read. */
static void round_trip(void)
{
    struct transcript t;
    struct slice body = SLICE("hello");
    const struct http_header headers[] = {{SLICE("A"), SLICE("b c")}};
    fresh("round-trip-requests", KIB);
    http_write_request(&out, SLICE("PATCH"), SLICE("/x?y"), SLICE("h"), headers, 1, &body);
    http_write_request(&out, SLICE("GET"), SLICE("/"), SLICE("h"), NULL, 0, NULL);
    transcript_init(&t, HTTP_REQUESTS);
    transcript_feed(&t, written());
    CHECK_STR(buf_slice(&t.text), "PATCH /x?y length=5 keep A=[b c] (hello) end; GET / keep end; ");
    transcript_free(&t);
    fresh("round-trip-responses", KIB);
    http_write_response(&out, 100, NULL, 0, NULL);
    http_write_chunked_response(&out, 200, headers, 1);
    http_write_chunk(&out, body);
    http_write_chunk(&out, body);
    http_write_last_chunk(&out);
    http_write_response(&out, 304, NULL, 0, NULL);
    http_write_response(&out, 409, NULL, 0, &body);
    transcript_init(&t, HTTP_RESPONSES);
    transcript_feed(&t, written());
    CHECK_STR(buf_slice(&t.text), "200 keep A=[b c] (hellohello) end; 304 keep end; 409 length=5 keep (hello) end; ");
    transcript_free(&t);
}

int main(void)
{
    requests();
    responses();
    refused();
    url_limit();
    no_room();
    round_trip();
    buf_free(&out);
    return test_done();
}
