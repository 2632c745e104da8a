/* Signatures against the test vectors that AWS and Google publish, and texts to sign of Azure's documentation, which has no signature by a
 * key that it names: those are checked by Azurite (tests/e2e/test_clouds.py). Names of buckets and objects. */
#include "../json/cases.h"

#include <mobula/cloud.h>
#include <mobula/tls.h>

static struct slice word(struct slice *line)
{
    return slice_cut(line, ' ');
}

static struct slice part_line(const struct case_text *c, const char *part)
{
    return slice_trim(case_part(c, part));
}

static void read_pairs(struct slice text, char sep, struct http_header *list, uint32_t *count)
{
    while (!slice_empty(text)) {
        struct slice line = slice_cut(&text, '\n');
        if (slice_empty(line))
            continue;
        struct slice name = slice_cut(&line, sep);
        list[(*count)++] = (struct http_header){name, sep == ':' ? slice_skip(line, 1) : line};
    }
}

static void test_vectors(void)
{
    struct arena a = {0};
    struct slice file = read_file("tests/data/cloud/sign.case", &a);
    for (struct case_text c; case_next(&file, &c);) {
        struct cloud_request r = {.payload = part_line(&c, "payload")};
        struct cloud_signer s = {0};
        struct slice keys = part_line(&c, "keys"), when = part_line(&c, "when"), what = part_line(&c, "request"), out;
        int64_t seconds = 0;
        s.keys.id = word(&keys);
        s.keys.secret = word(&keys);
        s.keys.session = word(&keys);
        CHECK(time_parse(word(&when), &s.wall_us, NULL));
        s.region = word(&when);
        s.service = word(&when);
        r.method = word(&what);
        r.host = word(&what);
        r.path = word(&what);
        read_pairs(case_part(&c, "query"), '=', r.query, &r.query_count);
        read_pairs(case_part(&c, "headers"), ':', r.headers, &r.header_count);
        if (slice_int(part_line(&c, "seconds"), &seconds)) {
            cloud_sign_query(&r, &s, seconds, &a);
            out = r.query[r.query_count - 1].value;
        } else {
            cloud_sign(&r, &s, &a);
            out = r.headers[r.header_count - 1].value;
            out = slice_skip(out, (size_t)slice_find_text(out, "Signature=") + strlen("Signature="));
        }
        CHECK_SLICE(out, part_line(&c, "signature"));
    }
    arena_free(&a);
}

/* https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html: 65 KiB of "a" in chunks of 64 KiB. */
static void test_chunks(void)
{
    static const struct {
        size_t bytes;
        const char *signature;
    } chunks[] = {{64 * KIB, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"},
                  {KIB, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"},
                  {0, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"}};
    static char content[64 * KIB];
    char signature[TLS_SHA256_HEX] = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";
    struct arena a = {0};
    struct cloud_signer s = {.keys = {SLICE("AKIAIOSFODNN7EXAMPLE"), SLICE("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), SLICE("")},
                             .region = SLICE("us-east-1"),
                             .service = SLICE("s3")};
    memset(content, 'a', sizeof content);
    CHECK(time_parse(SLICE("2013-05-24T00:00:00Z"), &s.wall_us, NULL));
    for (size_t i = 0; i < COUNT_OF(chunks); i++) {
        test_case("S3: put an object in chunks, chunk %zu", i);
        cloud_sign_chunk(&s, (struct slice){content, chunks[i].bytes}, signature, &a);
        CHECK_STR(slice_of(signature), chunks[i].signature);
    }
    arena_free(&a);
}

static void test_google(void)
{
    struct arena a = {0};
    struct slice file = read_file("tests/data/cloud/google.case", &a), key = read_file("tests/data/cloud/google.key", &a);
    for (struct case_text c; case_next(&file, &c);) {
        struct cloud_signer s = {.keys = {SLICE("test-iam-credentials@dummy-project-id.iam.gserviceaccount.com"), key, SLICE("")},
                                 .region = SLICE("auto"),
                                 .service = SLICE("storage")};
        struct cloud_request r = {0};
        struct slice when = part_line(&c, "when"), what = part_line(&c, "request");
        int64_t seconds = 0;
        CHECK(time_parse(word(&when), &s.wall_us, NULL) && slice_int(when, &seconds));
        r.method = word(&what);
        r.host = word(&what);
        r.path = what;
        read_pairs(case_part(&c, "query"), ':', r.query, &r.query_count);
        read_pairs(case_part(&c, "headers"), ':', r.headers, &r.header_count);
        cloud_sign_google(&r, &s, seconds, &a);
        CHECK_SLICE(r.query[r.query_count - 1].value, part_line(&c, "signature"));
    }
    arena_free(&a);
}

static void test_target(void)
{
    struct arena a = {0};
    struct cloud_request r = {.path = SLICE("/b/a b%2F\xc3\xbc+&/c"), .query = {{SLICE("x"), SLICE("a/b")}}, .query_count = 1};
    test_case("a path is encoded once: %%2F in a name is encoded, too");
    CHECK_STR(cloud_target(&r, &a), "/b/a%20b%252F%C3%BC%2B%26/c?x=a%2Fb");
    test_case("query parameters are sorted by name if one name is a prefix of another");
    r.query[0] = (struct http_header){SLICE("a-b"), SLICE("1")};
    r.query[1] = (struct http_header){SLICE("a"), SLICE("2")};
    r.query_count = 2;
    CHECK_STR(cloud_target(&r, &a), "/b/a%20b%252F%C3%BC%2B%26/c?a=2&a-b=1");
    arena_free(&a);
}

static void test_pieces(void)
{
    char whole[TLS_SHA256_HEX], pieces[TLS_SHA256_HEX];
    struct tls_sha256 h;
    test_case("SHA-256 of a text added in pieces");
    tls_sha256_hex(SLICE("hello world"), whole);
    tls_sha256_begin(&h);
    tls_sha256_add(&h, SLICE("hello"));
    tls_sha256_add(&h, SLICE(" world"));
    tls_sha256_end(&h, pieces);
    CHECK_STR(slice_of(pieces), whole);
    test_case("SHA-256 of a megabyte: of all at once, and of pieces of every length");
    struct buf b = {.max = MIB};
    for (uint32_t i = 0; i < MIB; i++)
        buf_putc(&b, (char)(i * 7 >> 3));
    tls_sha256_hex(buf_slice(&b), whole);
    CHECK_STR(slice_of(whole), "85fa7f8243916a1fce2e7359a935a83fd50f0541e8a680fbc8ea2b186bf6818f");
    tls_sha256_begin(&h);
    struct slice rest = buf_slice(&b);
    for (size_t n = 1; !slice_empty(rest); n = n % 300 + 1) {
        struct slice piece = slice_head(rest, n);
        tls_sha256_add(&h, guarded(piece));
        rest = slice_skip(rest, piece.len);
    }
    tls_sha256_end(&h, pieces);
    CHECK_STR(slice_of(pieces), whole);
    buf_free(&b);
}

static bool place(const char *url, struct err *e)
{
    struct cloud_place p;
    *e = (struct err){0};
    return cloud_place(guarded(slice_of(url)), &p, e);
}

static void test_places(void)
{
    static const char *const good[] = {"s3://abc",
                                       "s3://abc/",
                                       "s3://my.bucket-1/a/b.zip",
                                       "s3://abc/\xc3\xbc %2F..x/...",
                                       "gs://abc/d",
                                       "azure://abc",
                                       "abfss://abc@acc.dfs.core.windows.net/d"};
    static const char *const bad[] = {"abc",
                                      "s3:abc",
                                      "s3://",
                                      "s3://ab",
                                      "s3://-abc",
                                      "s3://a/b",
                                      "s3://a b c",
                                      "http://abc/x",
                                      "s3://abc/a/../b",
                                      "s3://abc/.",
                                      "s3://abc/a\nb",
                                      "s3://abc/\xff",
                                      "wasbs://abc/x",
                                      "abfss://abc/x",
                                      "abfss://abc@acc/x",
                                      "abfss://abc@acc.blob.core.windows.net/x",
                                      "abfss://abc@/x",
                                      "abfss://@acc.dfs.core.windows.net",
                                      "abfss://abc@a c.dfs.core.windows.net"};
    struct err e;
    struct cloud_place p;
    test_case("URLs of buckets and objects");
    for (size_t i = 0; i < COUNT_OF(good); i++)
        if (!CHECK(place(good[i], &e)))
            printf("  %s: %s\n", good[i], e.text);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (!CHECK(!place(bad[i], &e)))
            printf("  %s\n", bad[i]);
    CHECK(cloud_place(SLICE("s3://abc/d/e"), &p, &e));
    CHECK_STR(p.bucket, "abc");
    CHECK_STR(p.key, "d/e");
    CHECK(p.protocol == &cloud_s3);
    CHECK(cloud_place(SLICE("abfss://abc@acc.dfs.core.windows.net/d/e"), &p, &e) && p.protocol == &cloud_azure);
    CHECK_STR(p.bucket, "abc");
    CHECK_STR(p.account, "acc");
    CHECK_STR(p.domain, "core.windows.net");
    CHECK_STR(p.key, "d/e");
    test_case("an object's name of the maximum length, and one byte longer");
    char name[LIMIT_CLOUD_KEY + 1];
    memset(name, 'n', sizeof name);
    e = (struct err){0};
    CHECK(cloud_key((struct slice){name, LIMIT_CLOUD_KEY}, &e));
    CHECK(!cloud_key((struct slice){name, LIMIT_CLOUD_KEY + 1}, &e));
    CHECK_INT(e.code, ERR_LIMIT);
}

/* https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key: "Get Container Metadata", and a PUT with all headers. */
static void test_azure(void)
{
    struct arena a = {0};
    struct cloud_request r = {
        .method = SLICE("GET"),
        .path = SLICE("/mycontainer"),
        .query = {{SLICE("restype"), SLICE("container")}, {SLICE("comp"), SLICE("metadata")}, {SLICE("timeout"), SLICE("20")}},
        .query_count = 3,
        .headers = {{SLICE("x-ms-version"), SLICE("2015-02-21")}, {SLICE("x-ms-date"), SLICE("Fri, 26 Jun 2015 23:39:12 GMT")}},
        .header_count = 2};
    test_case("what SharedKey signs");
    CHECK_STR(cloud_azure_text(&r, SLICE("myaccount"), &a),
              "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n/myaccount/mycontainer\n"
              "comp:metadata\nrestype:container\ntimeout:20");
    r = (struct cloud_request){.method = SLICE("PUT"),
                               .path = SLICE("/c/a b"),
                               .headers = {{SLICE("Content-Type"), SLICE("text/plain")},
                                           {SLICE("If-None-Match"), SLICE("*")},
                                           {SLICE("Range"), SLICE("bytes=1-")}},
                               .header_count = 3,
                               .size = 7};
    CHECK_STR(cloud_azure_text(&r, SLICE("acc"), &a), "PUT\n\n\n7\n\ntext/plain\n\n\n\n*\n\nbytes=1-\n/acc/c/a%20b");
    test_case("a later page of a list has all of a user delegation SAS");
    struct cloud_call c = {.method = "GET"};
    const struct cloud_signer s = {.keys = {.session = SLICE("?sp=rl&st=2026-01-01&se=2026-01-02&skoid=1&sktid=2&skt=3&ske=4&sks=b&skv=5"
                                                             "&spr=https&sv=2022-11-02&sr=c&sig=a%2Bb")}};
    cloud_azure.list(&c, SLICE("p/"), false, SLICE("next"));
    r = (struct cloud_request){.method = SLICE("GET"), .path = SLICE("/c"), .query_count = c.query_count};
    memcpy(r.query, c.query, sizeof c.query);
    cloud_azure.sign(&r, &s, &a);
    CHECK(slice_has(cloud_target(&r, &a), "&sig=a%2Bb&sk") && slice_has(cloud_target(&r, &a), "&marker=next&"));
    arena_free(&a);
}

static void test_regions(void)
{
    static const struct {
        const char *region, *sts, *partition;
    } regions[] = {{"us-east-1", "sts.us-east-1.amazonaws.com", "aws"},
                   {"cn-north-1", "sts.cn-north-1.amazonaws.com.cn", "aws-cn"},
                   {"us-gov-west-1", "sts.us-gov-west-1.amazonaws.com", "aws-us-gov"},
                   {"cnx-1", "sts.cnx-1.amazonaws.com", "aws"}};
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(regions); i++) {
        struct slice region = guarded(slice_of(regions[i].region));
        test_case("hosts and ARNs of AWS in region %s", regions[i].region);
        CHECK_STR(cloud_aws_host("sts", region, &a), regions[i].sts);
        CHECK_STR(slice_of(cloud_partition(region)), regions[i].partition);
    }
    arena_free(&a);
}

int main(void)
{
    test_vectors();
    test_chunks();
    test_google();
    test_target();
    test_pieces();
    test_places();
    test_regions();
    test_azure();
    return test_done();
}
