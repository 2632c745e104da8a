/* The client against scripted stores, over simulated links and in virtual time. */
#include "../test.h"

#include <mobula/cloud.h>

enum { STEPS = 12, SENT_MAX = 256 * KIB };
#define BEGAN_US (1369353600LL * 1000000) /* 2013-05-24T00:00:00Z */

/* ---- the scripted store ---- */

/* The store's answer to one request. */
struct answer {
    const char *bytes; /* NULL: end of the script */
    bool closes;       /* the store closes the connection after the answer … */
    bool hangs;        /* … or never answers */
};

struct fake {
    struct link l; /* first */
    struct net net;
    const struct answer *script;
    unsigned next, requests, links;
    struct slice in;
    struct answer now;
    struct buf sent, one; /* all requests; the one being received */
    char room[4096];
};

static struct fake *of(struct link *l)
{
    return (struct fake *)l;
}

static struct slice peek(struct link *l)
{
    return of(l)->in;
}

static void settle(struct fake *f)
{
    if (slice_empty(f->in) && f->now.closes)
        f->l.state = LINK_ENDED;
    net_wake(&f->l);
}

static void used(struct link *l, size_t n)
{
    of(l)->in = slice_skip(of(l)->in, n);
    if (n && slice_empty(of(l)->in))
        settle(of(l));
}

static char *room(struct link *l, size_t *n)
{
    *n = sizeof of(l)->room;
    return of(l)->room;
}

/* Whether a request is complete: head, and Content-Length bytes of body. */
static bool is_whole(struct slice text)
{
    ptrdiff_t end = slice_find_text(text, "\r\n\r\n"), at = slice_find_text(text, "Content-Length: ");
    int64_t length = 0;
    struct slice rest = at < 0 ? SLICE("0\r") : slice_skip(text, (size_t)at + strlen("Content-Length: "));
    return end >= 0 && slice_int(slice_cut(&rest, '\r'), &length) && text.len >= (size_t)end + 4 + (size_t)length;
}

static void wrote(struct link *l, size_t n)
{
    struct fake *f = of(l);
    buf_put(&f->sent, (struct slice){f->room, n});
    buf_put(&f->one, (struct slice){f->room, n});
    if (!is_whole(buf_slice(&f->one)))
        return;
    buf_clear(&f->one);
    f->requests++;
    f->now = f->script[f->next];
    if (!CHECK(f->now.bytes != NULL))
        f->now = (struct answer){"", true, false};
    else
        f->next++;
    f->in = slice_of(f->now.bytes);
    settle(f);
}

static void close_link(struct link *l)
{
    net_forget(l);
    l->state = LINK_FAILED;
}

static struct link *open_link(struct net *n, const struct endpoint *to, struct link_owner *owner, int64_t deadline_ms, struct err *e)
{
    static const struct link_ops ops = {peek, used, room, wrote, close_link};
    struct fake *f = (struct fake *)((char *)n - offsetof(struct fake, net));
    (void)to;
    (void)e;
    f->l = (struct link){.ops = &ops, .net = n, .owner = owner, .state = LINK_OPEN, .deadline_ms = deadline_ms};
    f->in = SLICE_NONE;
    f->now = (struct answer){NULL, false, false};
    f->links++;
    buf_clear(&f->one);
    return &f->l;
}

/* ---- the client ---- */

struct run {
    struct fake f;
    struct cloud_store *s;
    struct buf got, said;
    bool over;
    struct err err;
    int status;
    struct now now;
};

static bool take(void *owner, struct slice piece, struct err *e)
{
    struct run *r = owner;
    (void)e;
    return buf_put(&r->got, piece);
}

static void done(void *owner, const struct cloud_answer *answer, struct now now)
{
    struct run *r = owner;
    (void)now;
    r->over = true;
    r->err = answer->err;
    r->status = answer->status;
}

static void say(void *owner, const char *line)
{
    struct run *r = owner;
    buf_printf(&r->said, "%s\n", line);
}

static struct slice get(void *owner, const char *name)
{
    (void)owner;
    (void)name;
    return SLICE("");
}

static bool read_token(void *owner, struct slice path, struct arena *a, struct slice *text, struct err *e)
{
    (void)owner;
    (void)path;
    (void)e;
    *text = arena_dup(a, SLICE("pod-token\n"));
    return true;
}

static const struct cloud_surroundings surroundings = {get, read_token, NULL};

static void begin(struct run *r, const struct answer *script, bool role)
{
    static const struct net_ops ops = {open_link};
    struct cloud_store_options o = {.protocol = &cloud_s3,
                                    .from = &surroundings,
                                    .settings = {.keys = {SLICE("AKID"), SLICE("hush-hush"), SLICE("")},
                                                 .region = SLICE("us-east-1"),
                                                 .endpoint = SLICE("http://store:9000"),
                                                 .token_file = SLICE("/token"),
                                                 .session_name = SLICE("mobula"),
                                                 .source = "the case"},
                                    .store = {.authority = SLICE("store:9000"), .path = SLICE("")},
                                    .identity = {.authority = SLICE("sts"), .path = SLICE("")},
                                    .bucket = SLICE("bucket"),
                                    .path_style = true,
                                    .say = say,
                                    .owner = r,
                                    .seed = 1};
    *r = (struct run){.f.net.ops = &ops, .f.script = script, .now = {1000, BEGAN_US}};
    if (role)
        o.settings.role = SLICE("arn:aws:iam::1:role/r");
    buf_init(&r->f.sent, SENT_MAX);
    buf_init(&r->f.one, SENT_MAX);
    buf_init(&r->got, SENT_MAX);
    buf_init(&r->said, SENT_MAX);
    r->s = cloud_store_new(&r->f.net, &o);
}

static void end(struct run *r)
{
    cloud_store_free(r->s);
    buf_free(&r->f.sent);
    buf_free(&r->f.one);
    buf_free(&r->got);
    buf_free(&r->said);
}

/* Runs the client until the call is done. Virtual time advances to the next deadline when no link is ready. */
static void wait_over(struct run *r, struct cloud_call *c)
{
    c->done = done;
    c->done_owner = c->owner = r;
    r->over = false;
    cloud_store_call(r->s, c, r->now);
    for (int i = 0; i < 1000 && !r->over; i++) {
        int64_t next = cloud_store_tick(r->s, r->now);
        if (net_dispatch(&r->f.net, r->now) || r->over)
            continue;
        if (next == TIME_NEVER && r->f.l.state == LINK_OPEN) {
            next = r->f.l.deadline_ms;
            r->f.l.state = LINK_FAILED;
            r->f.l.error = (struct err){0};
            err_put(&r->f.l.error, ERR_TIMEOUT, "no answer in time");
            net_wake(&r->f.l);
        }
        r->now.wall_us += (next - r->now.mono_ms) * 1000;
        r->now.mono_ms = next;
    }
    CHECK(r->over);
}

#define OK "HTTP/1.1 200 OK\r\nETag: \"e1\"\r\nContent-Length: 5\r\n\r\nhello"
#define NO(status, headers, code)                                                                                                          \
    "HTTP/1.1 " status " X\r\n" headers "Transfer-Encoding: chunked\r\n\r\n"                                                               \
    "7\r\n<Error>\r\n" code "8\r\n</Error>\r\n0\r\n\r\n"
#define CODE(length, name) length "\r\n<Code>" name "</Code>\r\n"

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
    if (!CHECK(slice_has(slice_of(r.err.text), "new credentials from sts: 403 AccessDenied")))
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
