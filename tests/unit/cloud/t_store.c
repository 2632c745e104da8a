/* The client against scripted stores: retries, corrections, and credentials of AWS. */
#include "script.h"

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
    CHECK(slice_has(buf_slice(&r.f.sent), "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD"));
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
    test_cases();
    test_put();
    test_role();
    return test_done();
}
