#include "transcript.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define GET "GET / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"

/* A stream, and what is read from it until the connection ends. */
static const struct {
    const char *id;
    enum http_side side;
    const char *in;
    const char *want;
} cases[] = {
    /* where messages end */
    {"length", HTTP_RESPONSES, OK "Content-Length: 5\r\n\r\nhello", "200 length=5 keep (hello) end; "},
    {"length-0", HTTP_RESPONSES, OK "Content-Length: 0\r\n\r\n", "200 length=0 keep end; "},
    {"length-leading-zeros", HTTP_RESPONSES, OK "Content-Length: 0005\r\n\r\nhello", "200 length=5 keep (hello) end; "},
    {"length-twice-equal", HTTP_RESPONSES, OK "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", "200 length=1 keep (x) end; "},
    {"chunked", HTTP_RESPONSES, OK CHUNKED "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "200 keep (hello world) end; "},
    {"chunked-any-case", HTTP_RESPONSES, OK "transfer-encoding:CHUNKED\r\n\r\nA\r\n0123456789\r\n00\r\n\r\n",
     "200 keep (0123456789) end; "},
    {"chunked-extension", HTTP_RESPONSES, OK CHUNKED "1;a=\"b;c\"\r\nx\r\n0;last\r\n\r\n", "200 keep (x) end; "},
    {"chunked-trailers", HTTP_RESPONSES, OK CHUNKED "1\r\nx\r\n0\r\nExpires: 0\r\nGrpc-Status: 0\r\n\r\n", "200 keep (x) end; "},
    {"chunked-empty", HTTP_RESPONSES, OK CHUNKED "0\r\n\r\n", "200 keep end; "},
    {"until-close", HTTP_RESPONSES, OK "\r\nhello", "200 until-close (hello) end; "},
    {"until-close-empty", HTTP_RESPONSES, OK "\r\n", "200 until-close end; "},
    {"204", HTTP_RESPONSES, "HTTP/1.1 204 No Content\r\n\r\n" OK "Content-Length: 1\r\n\r\nx", "204 keep end; 200 length=1 keep (x) end; "},
    {"204-with-length", HTTP_RESPONSES, "HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", "204 length=7 keep end; "},
    {"304-with-length", HTTP_RESPONSES, "HTTP/1.1 304 \r\nContent-Length: 7\r\n\r\n", "304 length=7 keep end; "},
    {"two", HTTP_RESPONSES, OK "Content-Length: 1\r\n\r\nxHTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\ny",
     "200 length=1 keep (x) end; 404 length=1 keep (y) end; "},
    {"nothing", HTTP_RESPONSES, "", ""},
    {"interim", HTTP_RESPONSES, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: 1\r\n\r\n" OK "Content-Length: 0\r\n\r\n",
     "200 length=0 keep end; "},
    /* the connection afterwards */
    {"close", HTTP_RESPONSES, OK "Connection: close\r\nContent-Length: 0\r\n\r\n", "200 length=0 end; "},
    {"close-in-list", HTTP_RESPONSES, OK "Connection: foo , Close\r\nContent-Length: 0\r\n\r\n", "200 length=0 end; "},
    {"close-beats-keep-alive", HTTP_RESPONSES, OK "Connection: keep-alive\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
     "200 length=0 end; "},
    {"1.0", HTTP_RESPONSES, "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", "200 length=1 (x) end; "},
    {"1.0-keep-alive", HTTP_RESPONSES, "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx",
     "200 length=1 keep (x) end; "},
    /* heads */
    {"no-reason", HTTP_RESPONSES, "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "200 length=0 keep end; "},
    {"values", HTTP_RESPONSES, OK "A: \t x y\t \r\nB:\r\nC:z\r\nA: \xc3\xbc\r\nContent-Length: 0\r\n\r\n",
     "200 length=0 keep A=[x y] B=[] C=[z] A=[\xc3\xbc] end; "},
    {"identity", HTTP_RESPONSES, OK "Content-Encoding: identity\r\nContent-Length: 0\r\n\r\n", "200 length=0 keep end; "},
    {"unit-lf", HTTP_RESPONSES, "HTTP/1.1 200 OK\nA: b\r\n\r\n", " bad http: a line ends in LF without CR"},
    {"header-lf", HTTP_RESPONSES, OK "A: b\nC: d\r\n\r\n", " bad http: a line ends in LF without CR"},
    {"empty-line-lf", HTTP_RESPONSES, OK "A: b\r\n\n", " bad http: a line ends in LF without CR"},
    {"bare-cr", HTTP_RESPONSES, OK "A: b\rc\r\n\r\n", " bad http: header A holds a control byte"},
    {"cr-cr-lf", HTTP_RESPONSES, OK "A: b\r\r\n\r\n", " bad http: header A holds a control byte"},
    {"control", HTTP_RESPONSES, OK "A: \x01\r\n\r\n", " bad http: header A holds a control byte"},
    {"delete", HTTP_RESPONSES, OK "A: \x7f\r\n\r\n", " bad http: header A holds a control byte"},
    {"reason-control", HTTP_RESPONSES, "HTTP/1.1 200 O\x01K\r\n\r\n", " bad http: status line holds a control byte"},
    {"folded", HTTP_RESPONSES, OK "A: b\r\n c\r\n\r\n", " bad http: header line \" c\" does not begin with a name and a colon"},
    {"space-before-colon", HTTP_RESPONSES, OK "A : b\r\n\r\n", " bad http: header line \"A : b\" does not begin with a name and a colon"},
    {"no-colon", HTTP_RESPONSES, OK "Ab\r\n\r\n", " bad http: header line \"Ab\" does not begin with a name and a colon"},
    {"no-name", HTTP_RESPONSES, OK ": b\r\n\r\n", " bad http: header line \": b\" does not begin with a name and a colon"},
    {"name-utf8", HTTP_RESPONSES, OK "\xc3\xbc: b\r\n\r\n",
     " bad http: header line \"\xc3\xbc: b\" does not begin with a name and a colon"},
    {"version-2", HTTP_RESPONSES, "HTTP/2 200\r\n\r\n", " bad http: want HTTP/1.1, got \"HTTP/2\""},
    {"version-case", HTTP_RESPONSES, "http/1.1 200 OK\r\n\r\n", " bad http: the answer is no HTTP/1.1"},
    {"ssh", HTTP_RESPONSES, "SSH-2.0-OpenSSH_9.2\r\n", " bad http: the answer is no HTTP/1.1"},
    {"empty-line-first", HTTP_RESPONSES, "\r\n" OK "\r\n", " bad http: the answer is no HTTP/1.1"},
    {"status-2-digits", HTTP_RESPONSES, "HTTP/1.1 20 OK\r\n\r\n", " bad http: status \"20\" is not a number from 100 to 599"},
    {"status-sign", HTTP_RESPONSES, "HTTP/1.1 -20 OK\r\n\r\n", " bad http: status \"-20\" is not a number from 100 to 599"},
    {"status-099", HTTP_RESPONSES, "HTTP/1.1 099 OK\r\n\r\n", " bad http: status \"099\" is not a number from 100 to 599"},
    {"status-600", HTTP_RESPONSES, "HTTP/1.1 600 OK\r\n\r\n", " bad http: status \"600\" is not a number from 100 to 599"},
    {"status-two-spaces", HTTP_RESPONSES, "HTTP/1.1  200 OK\r\n\r\n", " bad http: status \"\" is not a number from 100 to 599"},
    {"switching", HTTP_RESPONSES, "HTTP/1.1 101 Switching Protocols\r\n\r\n",
     " bad http: 101: the server switches to a protocol that was not asked for"},
    {"gzip", HTTP_RESPONSES, OK "Content-Encoding: gzip\r\n\r\n", " bad http: Content-Encoding \"gzip\" was not asked for"},
    /* framing that two readers could read in two ways */
    {"length-and-chunked", HTTP_RESPONSES, OK "Content-Length: 1\r\n" CHUNKED, " bad http: Content-Length beside Transfer-Encoding"},
    {"two-lengths", HTTP_RESPONSES, OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", " bad http: two different Content-Length headers"},
    {"length-list", HTTP_RESPONSES, OK "Content-Length: 1, 1\r\n\r\n", " bad http: Content-Length \"1, 1\" is not a number"},
    {"length-plus", HTTP_RESPONSES, OK "Content-Length: +1\r\n\r\n", " bad http: Content-Length \"+1\" is not a number"},
    {"length-minus", HTTP_RESPONSES, OK "Content-Length: -1\r\n\r\n", " bad http: Content-Length \"-1\" is not a number"},
    {"length-hex", HTTP_RESPONSES, OK "Content-Length: 0x1\r\n\r\n", " bad http: Content-Length \"0x1\" is not a number"},
    {"length-empty", HTTP_RESPONSES, OK "Content-Length:\r\n\r\n", " bad http: Content-Length \"\" is not a number, or too large a one"},
    {"length-2^63", HTTP_RESPONSES, OK "Content-Length: 9223372036854775808\r\n\r\n",
     " bad http: Content-Length \"9223372036854775808\" is not a number, or too large a one"},
    {"two-codings", HTTP_RESPONSES, OK "Transfer-Encoding: chunked\r\n" CHUNKED, " bad http: more than one Transfer-Encoding"},
    {"gzip-chunked", HTTP_RESPONSES, OK "Transfer-Encoding: gzip, chunked\r\n\r\n",
     " bad http: Transfer-Encoding \"gzip, chunked\" is not understood: only chunked is"},
    {"xchunked", HTTP_RESPONSES, OK "Transfer-Encoding: xchunked\r\n\r\n",
     " bad http: Transfer-Encoding \"xchunked\" is not understood: only chunked is"},
    {"chunked-1.0", HTTP_RESPONSES, "HTTP/1.0 200 OK\r\n" CHUNKED, " bad http: Transfer-Encoding in HTTP/1.0"},
    /* chunks */
    {"chunk-empty-size", HTTP_RESPONSES, OK CHUNKED "\r\n", "200 keep bad http: chunk size is not a hexadecimal number: byte 0x0d in it"},
    {"chunk-minus", HTTP_RESPONSES, OK CHUNKED "-1\r\n", "200 keep bad http: chunk size is not a hexadecimal number: byte 0x2d in it"},
    {"chunk-plus", HTTP_RESPONSES, OK CHUNKED "+1\r\n", "200 keep bad http: chunk size is not a hexadecimal number: byte 0x2b in it"},
    {"chunk-0x", HTTP_RESPONSES, OK CHUNKED "0x1\r\n", "200 keep bad http: chunk size is not a hexadecimal number: byte 0x78 in it"},
    {"chunk-space", HTTP_RESPONSES, OK CHUNKED "1 \r\n", "200 keep bad http: chunk size is not a hexadecimal number: byte 0x20 in it"},
    {"chunk-lf", HTTP_RESPONSES, OK CHUNKED "1\nx\r\n", "200 keep bad http: chunk size is not a hexadecimal number: byte 0x0a in it"},
    {"chunk-15-digits", HTTP_RESPONSES, OK CHUNKED "000000000000001\r\nx\r\n0\r\n\r\n", "200 keep (x) end; "},
    {"chunk-16-digits", HTTP_RESPONSES, OK CHUNKED "0000000000000001\r\nx\r\n", "200 keep bad http: chunk size has more than 15 digits"},
    {"chunk-cr-x", HTTP_RESPONSES, OK CHUNKED "1\rx", "200 keep bad http: byte 0x78 where chunked framing has LF"},
    {"chunk-data-long", HTTP_RESPONSES, OK CHUNKED "1\r\nxy\r\n", "200 keep (x) bad http: byte 0x79 where chunked framing has CR"},
    {"chunk-data-lf", HTTP_RESPONSES, OK CHUNKED "1\r\nx\n", "200 keep (x) bad http: byte 0x0a where chunked framing has CR"},
    {"extension-lf", HTTP_RESPONSES, OK CHUNKED "1;a\nx", "200 keep bad http: control byte 0x0a in a chunk extension or trailer"},
    {"trailer-lf", HTTP_RESPONSES, OK CHUNKED "0\r\nA: b\n\r\n", "200 keep bad http: control byte 0x0a in a chunk extension or trailer"},
    {"trailer-empty-lf", HTTP_RESPONSES, OK CHUNKED "0\r\n\n", "200 keep bad http: control byte 0x0a in a chunk extension or trailer"},
    {"trailer-cr", HTTP_RESPONSES, OK CHUNKED "0\r\nA: b\rc", "200 keep bad http: byte 0x63 where chunked framing has LF"},
    /* cut off */
    {"cut-head", HTTP_RESPONSES, OK "Content-Length: 5\r\n", " bad closed: connection ended before the head was complete"},
    {"cut-after-interim", HTTP_RESPONSES, "HTTP/1.1 100 Continue\r\n\r\n", " bad closed: connection ended before the head was complete"},
    {"cut-length", HTTP_RESPONSES, OK "Content-Length: 5\r\n\r\nhell",
     "200 length=5 keep (hell) bad closed: connection ended inside a body, 4 bytes into it"},
    {"cut-chunk", HTTP_RESPONSES, OK CHUNKED "5\r\nhe", "200 keep (he) bad closed: connection ended inside a body, 2 bytes into it"},
    {"cut-before-last-chunk", HTTP_RESPONSES, OK CHUNKED "2\r\nhe\r\n",
     "200 keep (he) bad closed: connection ended inside a body, 2 bytes into it"},
    {"cut-trailers", HTTP_RESPONSES, OK CHUNKED "0\r\n", "200 keep bad closed: connection ended inside a body, 0 bytes into it"},
    /* requests */
    {"get", HTTP_REQUESTS, "GET /api/v1?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /api/v1?watch=1 keep end; "},
    {"get-get", HTTP_REQUESTS, GET "\r\n" GET "\r\n", "GET / keep end; GET / keep end; "},
    {"post", HTTP_REQUESTS, "POST / HTTP/1.1\r\nhost: a\r\nContent-Length: 2\r\n\r\n{}", "POST / length=2 keep ({}) end; "},
    {"post-chunked", HTTP_REQUESTS, "POST / HTTP/1.1\r\nHost: a\r\n" CHUNKED "2\r\n{}\r\n0\r\n\r\n", "POST / keep ({}) end; "},
    {"continue", HTTP_REQUESTS, "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx",
     "PUT / length=1 keep continue (x) end; "},
    {"continue-is-forgotten", HTTP_REQUESTS, GET "Expect: 100-continue\r\n\r\n" GET "\r\n", "GET / keep continue end; GET / keep end; "},
    {"request-close", HTTP_REQUESTS, GET "Connection: close\r\n\r\n", "GET / end; "},
    {"request-gzip", HTTP_REQUESTS, GET "Content-Encoding: gzip\r\n\r\n", "GET / keep end; "},
    {"request-1.0", HTTP_REQUESTS, "GET / HTTP/1.0\r\n\r\n", "GET / end; "},
    {"request-1.0-chunked", HTTP_REQUESTS, "POST / HTTP/1.0\r\nHost: a\r\n" CHUNKED, " bad http: Transfer-Encoding in HTTP/1.0"},
    {"connect", HTTP_REQUESTS, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", "CONNECT a:443 keep end; "},
    {"no-host", HTTP_REQUESTS, "GET / HTTP/1.1\r\n\r\n", " bad http: want one Host header, got 0"},
    {"two-hosts", HTTP_REQUESTS, GET "Host: a\r\n\r\n", " bad http: want one Host header, got 2"},
    {"two-credentials", HTTP_REQUESTS, GET "Authorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n",
     " bad http: want one Authorization header at most, got 2: a proxy may have judged another one"},
    {"two-hosts-1.0", HTTP_REQUESTS, "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", " bad http: want one Host header, got 2"},
    {"target-space", HTTP_REQUESTS, "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", " bad http: want HTTP/1.1, got \"b HTTP/1.1\""},
    {"target-empty", HTTP_REQUESTS, "GET  HTTP/1.1\r\nHost: a\r\n\r\n",
     " bad http: request target \"\" is empty or holds a byte that must be percent-encoded"},
    {"target-utf8", HTTP_REQUESTS, "GET /\xc3\xbc HTTP/1.1\r\nHost: a\r\n\r\n",
     " bad http: request target \"/\xc3\xbc\" is empty or holds a byte that must be percent-encoded"},
    {"method-empty", HTTP_REQUESTS, " / HTTP/1.1\r\nHost: a\r\n\r\n", " bad http: method \"\" is not a token"},
    {"method-bytes", HTTP_REQUESTS, "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", " bad http: method \"G(T\" is not a token"},
    {"simple-request", HTTP_REQUESTS, "GET /\r\n\r\n", " bad http: want HTTP/1.1, got \"\""},
    {"smuggled", HTTP_REQUESTS, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding : chunked\r\n\r\n",
     " bad http: header line \"Transfer-Encoding : chunked\" does not begin with a name and a colon"},
};

/* The stream whole, cut in two at every place, and byte by byte: the same is read. */
static void check_splits(enum http_side side, struct slice in, struct slice want)
{
    bool same = true;
    struct transcript t;
    transcript_init(&t, side);
    for (size_t cut = 0; same && cut <= in.len + 1; cut++) {
        transcript_free(&t);
        transcript_init(&t, side);
        if (cut <= in.len) {
            transcript_feed(&t, slice_head(in, cut));
            transcript_feed(&t, slice_skip(in, cut));
        } else {
            for (size_t i = 0; i < in.len; i++)
                transcript_feed(&t, slice_head(slice_skip(in, i), 1));
        }
        transcript_end(&t);
        same = slice_eq(buf_slice(&t.text), want);
    }
    CHECK_SLICE(buf_slice(&t.text), want);
    transcript_free(&t);
}

static void cases_at_every_split(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].id);
        check_splits(cases[i].side, slice_of(cases[i].in), slice_of(cases[i].want));
    }
}

static void after_an_error_nothing_is_read(void)
{
    test_case("sticky");
    struct http_reader r;
    http_reader_init(&r, HTTP_RESPONSES);
    for (int i = 0; i < 2; i++) {
        struct slice in = SLICE("HTTP/2 200 OK\r\n\r\n"), body;
        struct err e = {0};
        CHECK_INT(http_read(&r, &in, &body, &e), HTTP_BAD);
        CHECK_INT(e.code, ERR_HTTP);
    }
    struct slice in = SLICE_NONE, body;
    struct err e = {0};
    CHECK_INT(http_read(&r, &in, &body, &e), HTTP_BAD);
    CHECK_INT(http_read_end(&r, NULL), HTTP_BAD);
    http_reader_free(&r);
}

static void an_answer_to_head_has_no_body(void)
{
    test_case("expect-no-body");
    struct transcript t;
    transcript_init(&t, HTTP_RESPONSES);
    http_reader_expect_no_body(&t.reader);
    transcript_feed(&t, SLICE(OK "Content-Length: 5\r\n\r\n" OK "Content-Length: 1\r\n\r\nx"));
    CHECK_STR(buf_slice(&t.text), "200 length=5 keep end; 200 length=1 keep (x) end; ");
    transcript_free(&t);
}

static void headers_are_found_in_any_case(void)
{
    test_case("header-get");
    struct transcript t;
    transcript_init(&t, HTTP_RESPONSES);
    transcript_feed(&t, SLICE(OK "ETag: one\r\netag: two\r\nX:\r\n\r\n"));
    CHECK_STR(http_header_get(&t.reader, SLICE("etag")), "one");
    CHECK(http_header_get(&t.reader, SLICE("x")).ptr != NULL);
    CHECK(http_header_get(&t.reader, SLICE("eta")).ptr == NULL);
    transcript_free(&t);
}

int main(void)
{
    cases_at_every_split();
    after_an_error_nothing_is_read();
    an_answer_to_head_has_no_body();
    headers_are_found_in_any_case();
    return test_done();
}
