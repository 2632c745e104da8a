/* One call: what goes over the wire, and what becomes of each kind of answer. */
#include "answers.h"

static void check_request_bytes(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("C1 C6 the bytes of a request");
    CHECK(post(&f, &a));
    fake_run(&f, 0);
    CHECK_INT(f.count, 1);
    CHECK_STR(fake_sent(f.links[0]), "POST /api/v1/namespaces/a/pods HTTP/1.1\r\nHost: api.test:6443\r\nUser-Agent: mobula/test\r\n"
                                     "Accept: application/json\r\nAccept-Encoding: identity\r\nContent-Type: application/json\r\n"
                                     "Authorization: Bearer secret-1\r\nContent-Length: 2\r\n\r\n{}");
    fake_answer(f.links[0], 201, "", SLICE("{\"a\":1}"));
    CHECK_INT(a.ok, 1);
    CHECK_STR(slice_of(a.body), "{\"a\":1}");
    CHECK_INT(a.tag, 77);
    CHECK_INT(kube_client_stats(f.client)->requests, 1);
    CHECK(kube_client_stats(f.client)->bytes_out > 200 && kube_client_stats(f.client)->bytes_in > 60);
    fake_free(&f);
}

static void check_prefix_and_impersonation(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    struct slice groups[] = {SLICE("g1"), SLICE("g2")};
    struct http_header extra[] = {{SLICE("Impersonate-Extra-scopes"), SLICE("view")}};
    f.config->host = SLICE("fd00::1");
    f.config->port = 443;
    f.config->path_prefix = SLICE("/k8s/clusters/c-1");
    f.config->impersonate_user = SLICE("bob");
    f.config->impersonate_uid = SLICE("u");
    f.config->impersonate_groups = groups;
    f.config->impersonate_group_count = 2;
    f.config->impersonate_extra = extra;
    f.config->impersonate_extra_count = 1;
    test_case("1.7 path prefix, IPv6 and default port, impersonation");
    CHECK(get(&f, &a));
    fake_run(&f, 0);
    CHECK_STR(fake_sent(f.links[0]),
              "GET /k8s/clusters/c-1/api/v1/namespaces/a/pods HTTP/1.1\r\nHost: [fd00::1]\r\nUser-Agent: mobula/test\r\n"
              "Accept: application/json\r\nAccept-Encoding: identity\r\nAuthorization: Bearer secret-1\r\n"
              "Impersonate-User: bob\r\nImpersonate-Uid: u\r\nImpersonate-Group: g1\r\nImpersonate-Group: g2\r\n"
              "Impersonate-Extra-scopes: view\r\n\r\n");
    fake_free(&f);
}

/* W-rules that are one request and one answer: what was asked for arrives as it is, and what the server says comes back with its reason. */
static const struct {
    const char *id, *method, *path, *type, *body;
    int code;
    const char *reason;
    enum kube_reason want;
} writes[] = {
    {"W1 conflict", "PUT", "/api/v1/namespaces/a/services/s", KUBE_TYPE_JSON, "{\"metadata\":{\"resourceVersion\":\"1\"}}", 409, "Conflict",
     KUBE_CONFLICT},
    {"W1 exists", "POST", "/api/v1/namespaces/a/pods", KUBE_TYPE_JSON, "{}", 409, "AlreadyExists", KUBE_ALREADY_EXISTS},
    {"W2 PUT without version is refused for custom resources", "PUT", "/apis/ray.io/v1/namespaces/a/rayclusters/c", KUBE_TYPE_JSON, "{}",
     422, "Invalid", KUBE_INVALID},
    {"W3 another uid", "DELETE", "/api/v1/namespaces/a/pods/p", KUBE_TYPE_JSON, "{\"preconditions\":{\"uid\":\"u\"}}", 409, "Conflict",
     KUBE_CONFLICT},
    {"W4 json patch", "PATCH", "/api/v1/namespaces/a/pods/p", KUBE_TYPE_JSON_PATCH, "[]", 422, "Invalid", KUBE_INVALID},
    {"W4 merge patch", "PATCH", "/api/v1/namespaces/a/pods/p", KUBE_TYPE_MERGE_PATCH, "{}", 404, "NotFound", KUBE_NOT_FOUND},
    {"W4 a type that a custom resource does not know", "PATCH", "/apis/ray.io/v1/namespaces/a/rayclusters/c",
     "application/strategic-merge-patch+json", "{}", 415, "UnsupportedMediaType", KUBE_UNSUPPORTED_MEDIA},
    {"W5 apply", "PATCH", "/api/v1/namespaces/a/services/s?fieldManager=mobula&force=true", KUBE_TYPE_APPLY, "{}", 403, "Forbidden",
     KUBE_FORBIDDEN},
    {"W6 status", "PATCH", "/apis/ray.io/v1/namespaces/a/rayclusters/c/status", KUBE_TYPE_MERGE_PATCH, "{\"status\":{}}", 404, "NotFound",
     KUBE_NOT_FOUND},
    {"W7 finalizer", "PATCH", "/apis/ray.io/v1/namespaces/a/rayclusters/c", KUBE_TYPE_JSON_PATCH,
     "[{\"op\":\"test\",\"path\":\"/metadata/finalizers/0\",\"value\":\"x\"},{\"op\":\"remove\",\"path\":\"/metadata/finalizers/0\"}]", 422,
     "Invalid", KUBE_INVALID},
    {"W8 owner", "POST", "/api/v1/namespaces/a/pods", KUBE_TYPE_JSON, "{\"metadata\":{\"ownerReferences\":[]}}", 422, "Invalid",
     KUBE_INVALID},
    {"W9 a deterministic name", "POST", "/api/v1/namespaces/a/pods", KUBE_TYPE_JSON, "{\"metadata\":{\"name\":\"c-head\"}}", 409,
     "AlreadyExists", KUBE_ALREADY_EXISTS},
    {"W10 dry run", "POST", "/api/v1/namespaces/a/pods?dryRun=All&fieldValidation=Strict", KUBE_TYPE_JSON, "{}", 400, "BadRequest",
     KUBE_BAD_REQUEST},
    {"W14 terminating", "POST", "/api/v1/namespaces/a/pods", KUBE_TYPE_JSON, "{}", 403, "Forbidden", KUBE_FORBIDDEN},
};

static void check_writes(void)
{
    struct fake f;
    fake_init(&f);
    for (size_t i = 0; i < COUNT_OF(writes); i++) {
        struct answers a = {0};
        struct err e = {0};
        struct kube_request r = {.method = slice_of(writes[i].method),
                                 .path = slice_of(writes[i].path),
                                 .content_type = slice_of(writes[i].type),
                                 .body = slice_of(writes[i].body),
                                 .done = on_answer,
                                 .owner = &a};
        char head[256], body[256];
        test_case("%s", writes[i].id);
        CHECK(kube_call(f.client, &r, f.now, &e));
        fake_run(&f, 0);
        struct fakelink *l = fake_last(&f);
        snprintf(head, sizeof head, "%s %s", writes[i].method, writes[i].path);
        CHECK_STR(fake_line(l), head);
        CHECK(fake_has(l, writes[i].type));
        CHECK(slice_ends(fake_sent(l), slice_of(writes[i].body)));
        fake_take(l);
        snprintf(body, sizeof body, "{\"kind\":\"Status\",\"code\":%d,\"reason\":\"%s\"}", writes[i].code, writes[i].reason);
        fake_answer(l, writes[i].code, "", slice_of(body));
        CHECK_INT(a.refused, 1);
        CHECK_INT(a.last.status.reason, writes[i].want);
        CHECK_INT(a.last.status.code, writes[i].code);
    }
    CHECK_INT(f.count, 1);
    fake_free(&f);
}

static void check_split(void)
{
    static const char text[] = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nWarning: 299 - \"w\"\r\n\r\n"
                               "5\r\n{\"a\":\r\n2;x=y\r\n1}\r\n0\r\nX: y\r\n\r\n";
    struct lines lines;
    log_into(&lines, "warns");
    for (size_t at = 0; at < sizeof text; at++) {
        struct fake f;
        struct answers a = {0};
        fake_init(&f);
        test_case("an answer split at byte %zu", at);
        get(&f, &a);
        fake_run(&f, 0);
        fake_put(f.links[0], (struct slice){text, at});
        fake_put(f.links[0], (struct slice){text + at, sizeof text - 1 - (at < sizeof text ? at : 0)});
        CHECK_INT(a.ok, 1);
        CHECK_STR(slice_of(a.body), "{\"a\":1}");
        fake_free(&f);
    }
    CHECK_INT(lines.count, sizeof text);
    log_quiet();
}

static void check_bytewise(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    test_case("a request that leaves byte by byte, an answer that comes byte by byte");
    f.manual = true;
    post(&f, &a);
    f.links[0]->room = 1;
    fake_open(f.links[0]);
    CHECK(slice_ends(fake_sent(f.links[0]), SLICE("\r\n\r\n{}")));
    struct slice s = SLICE("HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\n[1]");
    for (size_t i = 0; i < s.len; i++)
        fake_put(f.links[0], (struct slice){s.ptr + i, 1});
    CHECK_STR(slice_of(a.body), "[1]");
    fake_free(&f);
}

/* Answers that break HTTP or a limit. */
static const struct {
    const char *id, *text;
    enum err_code code;
} broken[] = {
    {"C6 a coding that was not asked for", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", ERR_HTTP},
    {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", ERR_HTTP},
    {"no HTTP", "hello world\r\n\r\n", ERR_HTTP},
};

static void check_broken(void)
{
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        struct fake f;
        struct answers a = {0};
        fake_init(&f);
        test_case("%s", broken[i].id);
        post(&f, &a);
        fake_run(&f, 0);
        fake_put(f.links[0], slice_of(broken[i].text));
        CHECK_INT(a.unknown, 1);
        CHECK_INT(a.last.err.code, broken[i].code);
        CHECK_INT(fake_alive(&f), 0);
        fake_free(&f);
    }
}

static void check_body_limit(void)
{
    struct buf body;
    buf_init(&body, LIMIT_HTTP_BODY + 1);
    memset(buf_room(&body, LIMIT_HTTP_BODY + 1), 'x', LIMIT_HTTP_BODY + 1);
    for (size_t more = 0; more < 2; more++) {
        struct fake f;
        struct answers a = {0};
        fake_init(&f);
        test_case("LIMIT_HTTP_BODY + %zu", more);
        get(&f, &a);
        fake_run(&f, 0);
        body.len = LIMIT_HTTP_BODY + more;
        fake_answer(f.links[0], 200, "", buf_slice(&body));
        CHECK_INT(a.count, 1);
        CHECK_INT(a.ok, more == 0);
        CHECK_INT(a.last.err.code, more ? ERR_LIMIT : ERR_NONE);
        CHECK_INT(fake_alive(&f), more == 0);
        fake_free(&f);
    }
    buf_free(&body);
}

static void check_malformed_requests(void)
{
    struct fake f;
    struct answers a = {0};
    struct err e = {0};
    fake_init(&f);
    char *path = mem_alloc(LIMIT_HTTP_URL + 2);
    memset(path, '/', LIMIT_HTTP_URL + 1);
    struct kube_request r = {.method = SLICE("GET"), .path = {path, LIMIT_HTTP_URL}, .done = on_answer, .owner = &a};
    test_case("LIMIT_HTTP_URL");
    CHECK(kube_call(f.client, &r, f.now, &e));
    r.path.len++;
    CHECK(!kube_call(f.client, &r, f.now, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    test_case("a path that would be two lines");
    e = (struct err){0};
    r.path = SLICE("/x HTTP/1.1\r\nX: y");
    CHECK(!kube_call(f.client, &r, f.now, &e));
    CHECK_INT(e.code, ERR_CONFIG);
    r.path = SLICE("relative");
    CHECK(!kube_call(f.client, &r, f.now, &e));
    mem_free(path);
    fake_free(&f);
}

int main(void)
{
    log_quiet();
    check_request_bytes();
    check_prefix_and_impersonation();
    check_writes();
    check_split();
    check_bytewise();
    check_broken();
    check_body_limit();
    check_malformed_requests();
    return test_done();
}
