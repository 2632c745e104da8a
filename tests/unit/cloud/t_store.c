/* The client against scripted stores: retries, corrections, and credentials of AWS. */
#include "script.h"

#include <stdlib.h>

static bool take(void *owner, struct slice piece, struct err *e)
{
    struct run *r = owner;
    (void)e;
    return buf_put(&r->got, piece);
}

static void begin(struct run *r, const struct answer *script, bool role)
{
    begin_with(r, script,
               (struct cloud_store_options){.protocol = &cloud_s3,
                                            .settings = {.keys = {SLICE("AKID"), SLICE("hush-hush"), SLICE("")},
                                                         .role = role ? SLICE("arn:aws:iam::1:role/r") : SLICE(""),
                                                         .region = SLICE("us-east-1"),
                                                         .endpoint = SLICE("http://store:9000"),
                                                         .token_file = SLICE("/token"),
                                                         .session_name = SLICE("mobula")}});
}

/* ---- cases ---- */

#define HALF "HTTP/1.1 200 OK\r\nETag: \"e1\"\r\nContent-Length: 5\r\n\r\nhe"

static const struct {
    const char *name;
    struct answer script[STEPS];
    unsigned requests;
    const char *err;  /* part of the error's text; NULL: the call succeeds */
    const char *sent; /* part of the requests sent; NULL: not checked */
    const char *said; /* part of the warnings; NULL: none expected */
} cases[] = {
    {"an object is read",
     {{OK, false, false}},
     1,
     NULL,
     "GET /bucket/dir/name HTTP/1.1\r\nHost: store:9000\r\nX-Amz-Date: 20130524T000000Z",
     NULL},
    {"SlowDown passes",
     {{NO("503", "", CODE("15", "SlowDown")), false, false}, {NO("503", "Retry-After: 1\r\n", ""), false, false}, {OK, false, false}},
     3,
     NULL,
     NULL,
     NULL},
    {"SlowDown does not pass",
     {{NO("503", "", CODE("15", "SlowDown")), true, false},
      {NO("503", "", CODE("15", "SlowDown")), true, false},
      {NO("503", "", CODE("15", "SlowDown")), true, false},
      {NO("503", "", CODE("15", "SlowDown")), true, false},
      {NO("503", "", CODE("15", "SlowDown")), true, false},
      {NO("503", "", CODE("15", "SlowDown")), true, false}},
     CLOUD_TRIES,
     "GET s3://bucket/dir/name: 503 SlowDown: the store is overloaded or broken: try again later",
     NULL,
     NULL},
    {"an answer that is cut off: the rest is requested, of the same version of the object",
     {{"HTTP/1.1 200 OK\r\nETag: \"e1\"\r\nContent-Length: 5\r\n\r\nhe", true, false},
      {"HTTP/1.1 206 X\r\nETag: \"e1\"\r\nContent-Length: 3\r\n\r\nllo", false, false}},
     2,
     NULL,
     "Range: bytes=2-\r\nIf-Match: \"e1\"\r\n",
     NULL},
    {"an answer in chunks that is cut off: the rest is requested",
     {{"HTTP/1.1 200 OK\r\nETag: \"e1\"\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", true, false},
      {"HTTP/1.1 206 X\r\nETag: \"e1\"\r\nContent-Length: 2\r\n\r\nlo", false, false}},
     2,
     NULL,
     "Range: bytes=3-\r\nIf-Match: \"e1\"\r\n",
     NULL},
    {"half of a body, and then silence: the rest is requested",
     {{HALF, false, true}, {"HTTP/1.1 206 X\r\nETag: \"e1\"\r\nContent-Length: 3\r\n\r\nllo", false, false}},
     2,
     NULL,
     "Range: bytes=2-\r\nIf-Match: \"e1\"\r\n",
     NULL},
    {"half of a head, and then silence", {{"HTTP/1.1 200 OK\r\nContent-Le", false, true}, {OK, false, false}}, 2, NULL, NULL, NULL},
    {"silence after half of a body, and in all further attempts",
     {{HALF, false, true}, {"", false, true}, {"", false, true}, {"", false, true}, {"", false, true}, {"", false, true}},
     CLOUD_TRIES,
     "GET s3://bucket/dir/name: no answer in time",
     NULL,
     NULL},
    {"a store that does not support Range",
     {{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", true, false}, {OK, false, false}},
     2,
     "the store ignores the header Range",
     NULL,
     NULL},
    {"an object that is replaced while it is read",
     {{"HTTP/1.1 200 OK\r\nETag: \"e1\"\r\nContent-Length: 5\r\n\r\nhe", true, false}, {NO("412", "", ""), false, false}},
     2,
     "412 Precondition Failed: the object was changed while it was read",
     NULL,
     NULL},
    {"a store that leaves one request unanswered", {{"", false, true}, {OK, false, false}}, 2, NULL, NULL, NULL},
    {"a store that never answers",
     {{"", false, true}, {"", false, true}, {"", false, true}, {"", false, true}, {"", false, true}, {"", false, true}},
     CLOUD_TRIES,
     "GET s3://bucket/dir/name: no answer in time",
     NULL,
     NULL},
    {"our clock is wrong: the store's is used, once",
     {{NO("403", "Date: Fri, 24 May 2013 01:00:00 GMT\r\n", CODE("21", "RequestTimeTooSkewed")), false, false}, {OK, false, false}},
     2,
     NULL,
     "X-Amz-Date: 20130524T010000Z",
     "the store's clock is 3600 s ahead of this machine's"},
    {"RequestTimeTooSkewed although the store's clock is used",
     {{NO("403", "Date: Thu, 23 May 2013 23:00:00 GMT\r\n", CODE("21", "RequestTimeTooSkewed")), false, false},
      {NO("403", "Date: Thu, 23 May 2013 23:00:00 GMT\r\n", CODE("21", "RequestTimeTooSkewed")), false, false}},
     2,
     "403 RequestTimeTooSkewed: set this machine's clock right",
     NULL,
     "the store's clock is 3600 s behind this machine's"},
    {"a wrong region, with an endpoint of one's own: the bucket's is used",
     {{NO("400", "x-amz-bucket-region: eu-west-1\r\n", CODE("29", "AuthorizationHeaderMalformed")), false, false}, {OK, false, false}},
     2,
     NULL,
     "/eu-west-1/s3/aws4_request",
     "the bucket is in region eu-west-1"},
    {"a redirect to another region, with an endpoint of one's own: the bucket's is used",
     {{"HTTP/1.1 301 X\r\nx-amz-bucket-region: eu-west-1\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n", false, false},
      {OK, false, false}},
     2,
     NULL,
     "/eu-west-1/s3/aws4_request",
     "the bucket is in region eu-west-1"},
    {"a redirect that does not end",
     {{"HTTP/1.1 301 X\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n", false, false}},
     1,
     "301 Moved Permanently: the bucket is in another region or at another endpoint: set AWS_REGION or --endpoint",
     NULL,
     NULL},
    {"a missing right",
     {{NO("403", "", CODE("19", "AccessDenied")), false, false}},
     1,
     "403 AccessDenied: grant s3:GetObject on arn:aws:s3:::bucket/*, or the object does not exist",
     NULL,
     NULL},
    {"no such object", {{NO("404", "", CODE("16", "NoSuchKey")), false, false}}, 1, "404 NoSuchKey: there is no such object", NULL, NULL},
    {"expired credentials that cannot be renewed",
     {{NO("400", "", CODE("19", "ExpiredToken")), false, false}},
     1,
     "400 ExpiredToken: the session token has expired",
     NULL,
     NULL},
    {"an error document that is not XML",
     {{"HTTP/1.1 403 X\r\nContent-Length: 6\r\n\r\n<html>", false, false}},
     1,
     "403 Forbidden: grant",
     NULL,
     NULL},
    {"an answer that is not HTTP",
     {{"220 ftp\r\n", true, false},
      {"220 ftp\r\n", true, false},
      {"220 ftp\r\n", true, false},
      {"220 ftp\r\n", true, false},
      {"220 ftp\r\n", true, false},
      {"220 ftp\r\n", true, false}},
     CLOUD_TRIES,
     "GET s3://bucket/dir/name: ",
     NULL,
     NULL},
};

static void test_cases(void)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run r;
        struct cloud_call c = {.method = "GET", .right = CLOUD_READ, .key = SLICE("dir/name"), .piece = take};
        test_case("%s", cases[i].name);
        begin(&r, cases[i].script, false);
        wait_over(&r, &c);
        CHECK_INT(r.f.requests, cases[i].requests);
        if (cases[i].err) {
            if (!CHECK(r.err.code != ERR_NONE && slice_has(slice_of(r.err.text), cases[i].err)))
                printf("  %s\n", r.err.text);
        } else if (CHECK_STR(buf_slice(&r.got), "hello")) {
            CHECK_INT(r.err.code, ERR_NONE);
        } else {
            printf("  %s\n", r.err.text);
        }
        CHECK(!cases[i].sent || slice_has(buf_slice(&r.f.sent), cases[i].sent));
        CHECK(cases[i].said ? slice_has(buf_slice(&r.said), cases[i].said) : slice_empty(buf_slice(&r.said)));
        CHECK(!slice_has(slice_of(r.err.text), "hush") && !slice_has(buf_slice(&r.f.sent), "hush"));
        end(&r);
    }
}

/* ---- rights, and signed URLs that have ended ---- */

#define DENIED "HTTP/1.1 403 X\r\nContent-Length: 41\r\n\r\n<Error><Code>AccessDenied</Code></Error>  "

/* The bucket of another account answers 403 to every call. A HEAD has no error document. */
static const struct {
    const struct cloud_protocol *protocol;
    const char *method;
    enum cloud_right right;
    const char *key, *url, *answer, *err;
} refused[] = {
    {&cloud_s3, "GET", CLOUD_READ, "x", "", DENIED,
     "403 AccessDenied: grant s3:GetObject on arn:aws:s3:::bucket/*, or the object does not "},
    {&cloud_s3, "HEAD", CLOUD_READ, "x", "", "HTTP/1.1 403 X\r\n\r\n",
     "403 Forbidden: grant s3:GetObject on arn:aws:s3:::bucket/*, or the"},
    {&cloud_s3, "GET", CLOUD_LIST, "", "", DENIED, "GET s3://bucket: 403 AccessDenied: grant s3:ListBucket on arn:aws:s3:::bucket"},
    {&cloud_s3, "PUT", CLOUD_WRITE, "x", "", DENIED, "403 AccessDenied: grant s3:PutObject on arn:aws:s3:::bucket/*"},
    {&cloud_s3, "DELETE", CLOUD_DELETE, "x", "", DENIED, "403 AccessDenied: grant s3:DeleteObject on arn:aws:s3:::bucket/*"},
    {&cloud_s3, "DELETE", CLOUD_ABORT, "x", "", DENIED, "403 AccessDenied: grant s3:AbortMultipartUpload on arn:aws:s3:::bucket/*"},
    {&cloud_azure, "GET", CLOUD_LIST, "", "", DENIED, "grant role Storage Blob Data Reader (SAS: l) on container bucket"},
    {&cloud_azure, "PUT", CLOUD_WRITE, "x", "", DENIED, "grant role Storage Blob Data Contributor (SAS: cw) on container bucket"},
    {&cloud_gcs, "GET", CLOUD_READ, "x", "", DENIED, "grant storage.objects.get on bucket bucket"},
    {&cloud_gcs, "DELETE", CLOUD_DELETE, "x", "", DENIED, "grant storage.objects.delete on bucket bucket"},
    {&cloud_s3, "GET", CLOUD_READ, "x", "http://store:9000/bucket/x?X-Amz-Signature=1", DENIED,
     "403 AccessDenied: the signed URL has ended"},
    {&cloud_gcs, "GET", CLOUD_READ, "x", "http://store:9000/bucket/x?X-Goog-Signature=1",
     "HTTP/1.1 400 X\r\nContent-Length: 41\r\n\r\n<Error><Code>ExpiredToken</Code></Error>  ",
     "400 ExpiredToken: the signed URL has ended"},
};

static void test_refused(void)
{
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        const struct answer script[] = {{refused[i].answer, true, false}, {NULL, false, false}};
        struct run r;
        struct cloud_call c = {
            .method = refused[i].method, .right = refused[i].right, .key = slice_of(refused[i].key), .url = slice_of(refused[i].url)};
        test_case("refused: %s", refused[i].err);
        begin_with(&r, script,
                   (struct cloud_store_options){
                       .protocol = refused[i].protocol,
                       .settings = {.keys = {SLICE("AKID"), SLICE("hush"), SLICE("?sig=hush-hush")}, .region = SLICE("us-east-1")}});
        wait_over(&r, &c);
        CHECK_INT(r.f.requests, 1);
        if (!CHECK(slice_has(slice_of(r.err.text), refused[i].err) && !slice_has(slice_of(r.err.text), "hush")))
            printf("  %s\n", r.err.text);
        end(&r);
    }
}

/* ---- request bodies ---- */

static bool read_body(void *owner, uint64_t at, char *to, size_t n, struct err *e)
{
    (void)owner;
    (void)e;
    for (size_t i = 0; i < n; i++)
        to[i] = (char)('a' + (at + i) % 26);
    return true;
}

static void test_put(void)
{
    static const struct answer script[] = {
        {NO("500", "", CODE("1a", "InternalError")), false, false}, {OK, false, false}, {OK, false, false}, {NULL, false, false}};
    struct run r;
    struct cloud_call c = {.method = "PUT", .right = CLOUD_WRITE, .key = SLICE("a b"), .size = 10000, .read = read_body};
    test_case("a retry sends the body from its beginning; the next call uses the same connection");
    begin(&r, script, false);
    wait_over(&r, &c);
    CHECK_INT(r.err.code, ERR_NONE);
    CHECK_INT(r.f.requests, 2);
    CHECK(r.f.sent.len > 20000);
    CHECK(slice_has(buf_slice(&r.f.sent), "PUT /bucket/a%20b HTTP/1.1"));
    CHECK(slice_has(buf_slice(&r.f.sent), "Content-Encoding: aws-chunked\r\nX-Amz-Decoded-Content-Length: 10000\r\n"));
    CHECK(slice_has(buf_slice(&r.f.sent), "X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n"));
    c = (struct cloud_call){
        .method = "PUT", .right = CLOUD_WRITE, .key = SLICE("c"), .size = 2, .body = SLICE("hi"), .sha256 = SLICE("00")};
    wait_over(&r, &c);
    CHECK_INT(r.err.code, ERR_NONE);
    CHECK_INT(r.f.links, 1);
    CHECK(slice_ends(buf_slice(&r.f.sent), SLICE("\r\n\r\nhi")));
    end(&r);
    static const struct answer late[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 49\r\n\r\n<Error><Code>EntityTooSmall</Code></Error>        ", false, false},
        {OK, false, false},
        {NULL, false, false}};
    test_case("CompleteMultipartUpload with an error in the body of a 200 is retried");
    begin(&r, late, false);
    c = (struct cloud_call){.method = "POST", .right = CLOUD_WRITE, .key = SLICE("c"), .size = 2, .body = SLICE("<>")};
    wait_over(&r, &c);
    CHECK_INT(r.err.code, ERR_NONE);
    CHECK_INT(r.f.requests, 2);
    end(&r);
}

/* The framing of a body in signed chunks: returns its content. A store checks the signatures: tests/e2e/test_storage.py. */
static struct slice unframed(struct slice body, struct arena *a, unsigned *chunks)
{
    struct buf out = {.max = MIB};
    for (uint64_t n = 1; n; ++*chunks) {
        struct slice head = slice_cut(&body, '\n'), hex = slice_cut(&head, ';');
        n = strtoull(arena_dup(a, hex).ptr, NULL, 16);
        CHECK(slice_starts(head, SLICE("chunk-signature=")) && head.len == strlen("chunk-signature=\r") + 64);
        buf_put(&out, slice_head(body, n));
        body = slice_skip(body, n);
        CHECK(slice_starts(body, SLICE("\r\n")));
        body = slice_skip(body, 2);
    }
    CHECK(slice_empty(body));
    struct slice content = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return content;
}

static void test_chunks(void)
{
    static const struct answer script[] = {{OK, false, false}, {NULL, false, false}};
    static const struct {
        bool tls;
        uint64_t size;
        unsigned chunks;
        bool near;
    } sizes[] = {{false, 1, 2, false},
                 {false, 128 * KIB, 2, false},
                 {false, 128 * KIB + 1, 3, false},
                 {true, 65 * KIB, 0, false},
                 {false, 65 * KIB, 0, true}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct run r;
        struct arena a = {0};
        unsigned chunks = 0;
        struct cloud_call c = {.method = "PUT", .right = CLOUD_WRITE, .key = SLICE("a"), .size = sizes[i].size, .read = read_body};
        test_case("a body of %llu bytes whose hash is not known, %s TLS", (unsigned long long)c.size,
                  sizes[i].tls    ? "with"
                  : sizes[i].near ? "on this machine without"
                                  : "without");
        begin_with(&r, script,
                   (struct cloud_store_options){.protocol = &cloud_s3,
                                                .settings = {.keys = {SLICE("AKID"), SLICE("hush"), SLICE("")}, .region = SLICE("r")},
                                                .store.at.tls = sizes[i].tls,
                                                .near = sizes[i].near});
        wait_over(&r, &c);
        CHECK_STR(slice_of(r.err.text), "");
        CHECK_INT(r.f.requests, 1);
        struct slice sent = buf_slice(&r.f.sent), body = slice_skip(sent, (size_t)slice_find_text(sent, "\r\n\r\n") + 4);
        bool plain = sizes[i].chunks == 0;
        CHECK(slice_has(sent, plain ? "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD\r\n" : "256-PAYLOAD\r\n"));
        body = plain ? body : unframed(body, &a, &chunks);
        CHECK_INT(chunks, sizes[i].chunks);
        CHECK_INT(body.len, sizes[i].size);
        bool same = true;
        for (size_t k = 0; k < body.len; k++)
            same &= body.ptr[k] == (char)('a' + k % 26);
        CHECK(same);
        arena_free(&a);
        end(&r);
    }
}

/* The server refuses a request while its body is still being sent. */
static const struct {
    const char *answer;
    bool closes;
    unsigned requests;
    const char *err;
} early[] = {
    {DENIED, true, 1, "PUT s3://bucket/a: 403 AccessDenied: grant s3:PutObject"},
    {DENIED, false, 1, "PUT s3://bucket/a: 403 AccessDenied: grant s3:PutObject"},
    {"HTTP/1.1 413 X\r\nContent-Length: 44\r\n\r\n<Error><Code>EntityTooLarge</Code></Error>   ", true, 1, "413 EntityTooLarge"},
    {NO("503", "", CODE("15", "SlowDown")), true, 2, ""},
    {NO("503", "", CODE("15", "SlowDown")), false, 2, ""},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 X\r\n\r\n", true, 1, "403 Forbidden"},
};

static void test_early(void)
{
    for (size_t i = 0; i < COUNT_OF(early); i++) {
        const struct answer script[] = {{early[i].answer, early[i].closes, false}, {OK, false, false}, {NULL, false, false}};
        struct run r;
        struct cloud_call c = {.method = "PUT", .right = CLOUD_WRITE, .key = SLICE("a"), .size = 100000, .read = read_body};
        test_case("an answer in the middle of a body: %.12s, and the store %s", early[i].answer,
                  early[i].closes ? "closes" : "takes no more");
        begin(&r, script, false);
        r.f.early = 20000;
        wait_over(&r, &c);
        if (!CHECK(early[i].err[0] ? slice_has(slice_of(r.err.text), early[i].err) : r.err.code == ERR_NONE))
            printf("  %s\n", r.err.text);
        CHECK_INT(r.f.requests, early[i].requests);
        CHECK_INT(r.f.links, early[i].requests); /* the connection with half of a request is not used again */
        end(&r);
    }
}

static void test_beside(void)
{
    static const struct answer script[] = {
        {NO("400", "x-amz-bucket-region: eu-west-1\r\n", CODE("29", "AuthorizationHeaderMalformed")), false, false},
        {OK, false, false},
        {OK, false, false},
        {NULL, false, false}};
    struct run r;
    struct cloud_call c = {.method = "GET", .right = CLOUD_READ, .key = SLICE("x")};
    test_case("another client of the same store begins with what the first has learned");
    begin(&r, script, false);
    wait_over(&r, &c);
    struct cloud_store *first = r.s;
    r.s = cloud_store_beside(first);
    wait_over(&r, &c);
    CHECK_INT(r.err.code, ERR_NONE);
    CHECK_INT(r.f.requests, 3);
    CHECK_INT(r.f.links, 2);
    cloud_store_free(first);
    end(&r);
}

static void test_deaf(void)
{
    static const struct answer script[] = {{OK, false, false}, {NULL, false, false}};
    for (unsigned deaf = CLOUD_TRIES - 1; deaf <= CLOUD_TRIES; deaf++) {
        struct run r;
        struct cloud_call c = {.method = "PUT", .right = CLOUD_WRITE, .key = SLICE("a"), .size = 10000, .read = read_body};
        test_case("a store that takes no byte of a request, %u times", deaf);
        begin(&r, script, false);
        r.f.deaf = deaf;
        wait_over(&r, &c);
        CHECK_INT(r.f.links, CLOUD_TRIES);
        CHECK_INT(r.f.requests, CLOUD_TRIES - deaf);
        CHECK_STR(slice_of(r.err.text), deaf == CLOUD_TRIES ? "PUT s3://bucket/a: no answer in time" : "");
        end(&r);
    }
    static const struct answer changed[] = {{NO("400", "", CODE("26", "XAmzContentSHA256Mismatch")), false, false}, {NULL, false, false}};
    struct run r;
    struct cloud_call c = {.method = "PUT", .key = SLICE("c"), .size = 2, .body = SLICE("hi"), .sha256 = SLICE("00")};
    test_case("a body that the store finds changed");
    begin(&r, changed, false);
    wait_over(&r, &c);
    CHECK(slice_has(slice_of(r.err.text), "400 XAmzContentSHA256Mismatch: the body was changed on the way, or the file while it was sent"));
    end(&r);
}

/* ---- renewal of credentials ---- */

#define STS(expires)                                                                                                                       \
    "HTTP/1.1 200 OK\r\n\r\n<A><B><Credentials><AccessKeyId>NEW</AccessKeyId><SecretAccessKey>hush</SecretAccessKey>"                      \
    "<SessionToken>sess</SessionToken><Expiration>" expires "</Expiration></Credentials></B></A>"

static void test_role(void)
{
    static const struct answer script[] = {{STS("2013-05-24T01:00:00Z"), true, false},
                                           {OK, false, false},
                                           {NO("400", "", CODE("19", "ExpiredToken")), false, false},
                                           {STS("2013-05-24T02:00:00Z"), true, false},
                                           {OK, false, false},
                                           {STS("2013-05-24T03:00:00Z"), true, false},
                                           {OK, false, false},
                                           {NULL, false, false}};
    struct run r;
    struct cloud_call c = {.method = "GET", .right = CLOUD_READ, .key = SLICE("x")};
    test_case("a role is assumed before the first call");
    begin(&r, script, true);
    wait_over(&r, &c);
    CHECK_STR(slice_of(r.err.text), "");
    CHECK_INT(r.f.requests, 2);
    CHECK(slice_has(buf_slice(&r.f.sent), "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&WebIdentityToken=pod-token"));
    CHECK(slice_has(buf_slice(&r.f.sent), "X-Amz-Security-Token: sess"));
    test_case("... again when the store answers ExpiredToken");
    wait_over(&r, &c);
    CHECK_STR(slice_of(r.err.text), "");
    CHECK_INT(r.f.requests, 5);
    test_case("... and 5 min before its credentials expire");
    r.now.wall_us = BEGAN_US + (int64_t)(2 * 3600 - CLOUD_RENEW_S) * 1000000;
    wait_over(&r, &c);
    CHECK_STR(slice_of(r.err.text), "");
    CHECK_INT(r.f.requests, 7);
    end(&r);
    static const struct answer old[] = {{STS("2013-05-23T01:00:00Z"), true, false},
                                        {OK, false, false},
                                        {STS("2013-05-23T01:00:00Z"), true, false},
                                        {OK, false, false},
                                        {NULL, false, false}};
    test_case("new credentials that have expired already are used for one request, and the store decides");
    begin(&r, old, true);
    wait_over(&r, &c);
    CHECK_STR(slice_of(r.err.text), "");
    CHECK_INT(r.f.requests, 2);
    wait_over(&r, &c);
    CHECK_INT(r.f.requests, 4);
    end(&r);
    static const struct answer no[] = {{NO("403", "", CODE("19", "AccessDenied")), false, false}, {NULL, false, false}};
    test_case("AssumeRole is denied");
    begin(&r, no, true);
    wait_over(&r, &c);
    if (!CHECK(slice_has(slice_of(r.err.text), "new credentials from sts (the case): 403 AccessDenied")))
        printf("  %s\n", r.err.text);
    end(&r);
}

/* ---- limits ---- */

static void test_longest_name(void)
{
    static const struct answer script[] = {{OK, false, false}, {NULL, false, false}};
    struct run r;
    char name[LIMIT_CLOUD_KEY];
    struct cloud_call c = {.method = "GET", .right = CLOUD_READ, .key = {name, LIMIT_CLOUD_KEY}};
    test_case("a name of LIMIT_CLOUD_KEY bytes, each of which is encoded");
    for (size_t i = 0; i < LIMIT_CLOUD_KEY; i++)
        name[i] = "\xc3\xbc"[i % 2];
    begin(&r, script, false);
    wait_over(&r, &c);
    CHECK_STR(slice_of(r.err.text), "");
    CHECK(slice_has(buf_slice(&r.f.sent), "GET /bucket/%C3%BC%C3") && slice_has(buf_slice(&r.f.sent), "%C3%BC HTTP/1.1\r\n"));
    end(&r);
}

static void test_limits(void)
{
    struct buf big = {.max = LIMIT_CLOUD_ANSWER + KIB};
    for (int more = 0; more < 2; more++) {
        struct run r;
        struct cloud_call c = {.method = "GET", .right = CLOUD_LIST, .key = SLICE("")};
        test_case("an answer of LIMIT_CLOUD_ANSWER bytes, and %d bytes longer", more);
        buf_clear(&big);
        buf_printf(&big, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", LIMIT_CLOUD_ANSWER + more);
        memset(buf_room(&big, LIMIT_CLOUD_ANSWER + 2), 'x', LIMIT_CLOUD_ANSWER + 1);
        big.len += (size_t)LIMIT_CLOUD_ANSWER + (size_t)more;
        buf_putc(&big, '\0');
        const struct answer script[] = {{big.ptr, false, false}, {NULL, false, false}};
        begin(&r, script, false);
        wait_over(&r, &c);
        CHECK_INT(r.err.code, more ? ERR_LIMIT : ERR_NONE);
        CHECK_INT(r.f.requests, 1);
        end(&r);
    }
    buf_free(&big);
}

int main(void)
{
    test_limits();
    test_longest_name();
    test_cases();
    test_refused();
    test_early();
    test_beside();
    test_deaf();
    test_put();
    test_chunks();
    test_role();
    return test_done();
}
