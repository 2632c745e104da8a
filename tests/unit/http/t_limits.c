#include "transcript.h"

#define OK "HTTP/1.1 200 OK\r\n"

/* Every limit of the reader: a stream at it is read, one past it is refused. */

static void put_times(struct buf *b, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        buf_put(b, slice_of(text));
}

static void check(const char *id, enum http_side side, struct buf *in, const char *want)
{
    test_case("%s", id);
    struct transcript t;
    transcript_init(&t, side);
    transcript_feed(&t, buf_slice(in));
    CHECK_STR(buf_slice(&t.text), want);
    buf_clear(&t.text);
    http_reader_free(&t.reader);
    t.over = t.in_body = false;
    for (size_t i = 0; i < in->len; i += 7) /* again in small pieces */
        transcript_feed(&t, slice_head(slice_skip(buf_slice(in), i), 7));
    CHECK_STR(buf_slice(&t.text), want);
    transcript_free(&t);
    buf_clear(in);
}

/* A header that fills the head up to `size` bytes with its empty line. */
static void put_head_of(struct buf *b, size_t size)
{
    buf_put(b, SLICE(OK "Content-Length: 0\r\nFill: "));
    put_times(b, size - b->len - 4, "x");
    buf_put(b, SLICE("\r\n\r\n"));
}

static void heads(struct buf *b)
{
    put_head_of(b, LIMIT_HTTP_HEAD);
    check("head-at-limit", HTTP_RESPONSES, b, "200 length=0 keep end; ");
    put_head_of(b, LIMIT_HTTP_HEAD + 1);
    check("head-past-limit", HTTP_RESPONSES, b, " bad limit: head is longer than 16384 bytes (LIMIT_HTTP_HEAD)");

    buf_put(b, SLICE(OK "Content-Length: 0\r\n"));
    put_times(b, LIMIT_HTTP_HEADERS - 1, "Xy: z\r\n");
    buf_put(b, SLICE("\r\n"));
    check("headers-at-limit", HTTP_RESPONSES, b, "200 length=0 keep end; ");
    buf_put(b, SLICE(OK "Content-Length: 0\r\n"));
    put_times(b, LIMIT_HTTP_HEADERS, "Xy: z\r\n");
    buf_put(b, SLICE("\r\n"));
    check("headers-past-limit", HTTP_RESPONSES, b, " bad limit: more than 64 headers (LIMIT_HTTP_HEADERS)");

    put_times(b, LIMIT_HTTP_INTERIM, "HTTP/1.1 100 Continue\r\n\r\n");
    buf_put(b, SLICE(OK "Content-Length: 0\r\n\r\n"));
    check("interim-at-limit", HTTP_RESPONSES, b, "200 length=0 keep end; ");
    put_times(b, LIMIT_HTTP_INTERIM + 1, "HTTP/1.1 100 Continue\r\n\r\n");
    check("interim-past-limit", HTTP_RESPONSES, b, " bad limit: more than 8 interim answers (LIMIT_HTTP_INTERIM)");
}

static void put_request_of(struct buf *b, size_t target)
{
    buf_put(b, SLICE("GET /"));
    put_times(b, target - 1, "x");
    buf_put(b, SLICE(" HTTP/1.1\r\nHost: a\r\n\r\n"));
}

static void targets(struct buf *b)
{
    struct transcript t;
    test_case("target-at-limit");
    transcript_init(&t, HTTP_REQUESTS);
    put_request_of(b, LIMIT_HTTP_URL);
    transcript_feed(&t, buf_slice(b));
    CHECK_INT(t.reader.target.len, LIMIT_HTTP_URL);
    CHECK(slice_ends(buf_slice(&t.text), SLICE(" keep end; ")));
    transcript_free(&t);
    buf_clear(b);
    put_request_of(b, LIMIT_HTTP_URL + 1);
    check("target-past-limit", HTTP_REQUESTS, b, " bad limit: request target is longer than 4096 bytes (LIMIT_HTTP_URL)");
}

static void put_trailers_of(struct buf *b, size_t size)
{
    buf_put(b, SLICE(OK "Transfer-Encoding: chunked\r\n\r\n0\r\n"));
    put_times(b, size - 4, "x");
    buf_put(b, SLICE("\r\n\r\n"));
}

static void chunks(struct buf *b)
{
    put_trailers_of(b, LIMIT_HTTP_HEAD);
    check("trailers-at-limit", HTTP_RESPONSES, b, "200 keep end; ");
    put_trailers_of(b, LIMIT_HTTP_HEAD + 1);
    check("trailers-past-limit", HTTP_RESPONSES, b, "200 keep bad limit: trailers are longer than 16384 bytes (LIMIT_HTTP_HEAD)");

    /* An extension without end, and the "0 CRLF" before the empty line. */
    buf_put(b, SLICE(OK "Transfer-Encoding: chunked\r\n\r\n0;"));
    put_times(b, LIMIT_HTTP_CHUNK_OVERHEAD - 4, "x");
    buf_put(b, SLICE("\r\n\r\n"));
    check("overhead-at-limit", HTTP_RESPONSES, b, "200 keep end; ");
    buf_put(b, SLICE(OK "Transfer-Encoding: chunked\r\n\r\n0;"));
    put_times(b, LIMIT_HTTP_CHUNK_OVERHEAD - 3, "x");
    buf_put(b, SLICE("\r\n\r\n"));
    check("overhead-past-limit", HTTP_RESPONSES, b,
          "200 keep bad limit: chunk headers take more than 65536 bytes and 1/8 of the body (LIMIT_HTTP_CHUNK_OVERHEAD)");
}

/* Chunks of 100 bytes cost 6 bytes each: less than an eighth, so any number of them is fine. Chunks of one byte cost six times as much as
 * they carry: LIMIT / (6 - 1/8) of them, about 11,150, are too many. */
static void overhead_grows_with_the_body(void)
{
    char hundred[] = "64\r\n.........1.........2.........3.........4.........5.........6.........7.........8.........9.........X\r\n";
    struct http_reader r;
    struct err e = {0};
    size_t carried = 0;
    for (int small = 0; small < 2; small++) {
        test_case(small ? "chunks-of-1" : "chunks-of-100");
        http_reader_init(&r, HTTP_RESPONSES);
        struct slice in = SLICE(OK "Transfer-Encoding: chunked\r\n\r\n"), body;
        CHECK_INT(http_read(&r, &in, &body, &e), HTTP_HEAD);
        enum http_step step = HTTP_MORE;
        for (int i = 0; i < 20000 && step != HTTP_BAD; i++) {
            in = small ? SLICE("1\r\nx\r\n") : slice_of(hundred);
            while ((step = http_read(&r, &in, &body, &e)) == HTTP_BODY)
                carried += body.len;
        }
        CHECK_INT(step, small ? HTTP_BAD : HTTP_MORE);
        CHECK_INT(e.code, small ? ERR_LIMIT : ERR_NONE);
        http_reader_free(&r);
    }
    CHECK(carried > 2000000 + 11000 && carried < 2000000 + 14000);
}

/* A stream that is passed on may have any number of small chunks, and each has the whole limit. */
static void relayed_chunks_have_a_limit_each(void)
{
    for (int side = HTTP_RESPONSES; side <= HTTP_REQUESTS; side++)
        for (int past = 0; past < 2; past++) {
            struct http_reader r;
            struct buf chunk = {.max = MIB};
            struct err e = {0};
            struct slice body;
            enum http_step step = HTTP_MORE;
            int count = 0;
            test_case("%s: relayed chunks with headers of LIMIT_HTTP_CHUNK_OVERHEAD bytes%s", side ? "requests" : "responses",
                      past ? " and one more" : "");
            http_reader_init(&r, (enum http_side)side);
            r.relay = true;
            struct slice in = side ? SLICE("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
                                   : SLICE(OK "Transfer-Encoding: chunked\r\n\r\n");
            CHECK_INT(http_read(&r, &in, &body, &e), HTTP_HEAD);
            buf_put(&chunk, SLICE("1;"));
            put_times(&chunk, LIMIT_HTTP_CHUNK_OVERHEAD - 6 + (size_t)past,
                      "x"); /* the limit counts "1;", CRLF and the CRLF behind the data */
            buf_put(&chunk, SLICE("\r\ny\r\n"));
            for (; count < 20 && step != HTTP_BAD; count++) {
                in = buf_slice(&chunk);
                while ((step = http_read(&r, &in, &body, &e)) == HTTP_BODY)
                    ;
            }
            CHECK_INT(count, past ? 1 : 20);
            for (int i = 0; !past && i < 20000 && step != HTTP_BAD; i++) {
                in = SLICE("1\r\nx\r\n");
                while ((step = http_read(&r, &in, &body, &e)) == HTTP_BODY)
                    ;
            }
            CHECK_INT(step, past ? HTTP_BAD : HTTP_MORE);
            CHECK_INT(e.code, past ? ERR_LIMIT : ERR_NONE);
            buf_free(&chunk);
            http_reader_free(&r);
        }
}

int main(void)
{
    struct buf b;
    buf_init(&b, MIB);
    heads(&b);
    targets(&b);
    chunks(&b);
    buf_free(&b);
    overhead_grows_with_the_body();
    relayed_chunks_have_a_limit_each();
    return test_done();
}
