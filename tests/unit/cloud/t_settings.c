/* Settings and credentials from environment and files; addresses of stores. */
#include "../json/cases.h"

#include <mobula/cloud.h>

static struct slice get(void *owner, const char *name)
{
    struct slice text = case_part(owner, "env");
    while (!slice_empty(text)) {
        struct slice line = slice_cut(&text, '\n');
        if (slice_is(slice_cut(&line, '='), name))
            return line;
    }
    return SLICE("");
}

static bool read_it(void *owner, struct slice path, struct arena *a, struct slice *text, struct err *e)
{
    static const struct slice folder = SLICE("/home/u/.aws/");
    struct slice part = slice_starts(path, folder) ? case_part(owner, arena_dup(a, slice_skip(path, folder.len)).ptr) : SLICE_NONE;
    *text = part.ptr ? arena_dup(a, part) : part;
    return part.ptr || err_set(e, ERR_IO, "%.*s: no such file", SLICE_ARG(path));
}

static void write_lines(const struct cloud_settings *s, struct buf *b)
{
    const struct {
        const char *name;
        struct slice value;
    } lines[] = {{"id", s->keys.id},        {"secret", s->keys.secret}, {"session", s->keys.session},   {"role", s->role},
                 {"token", s->token_file},  {"identity", s->identity},  {"signer", s->signer},          {"region", s->region},
                 {"endpoint", s->endpoint}, {"ca", s->ca_file},         {"source", slice_of(s->source)}};
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (!slice_empty(lines[i].value))
            buf_printf(b, "%s %.*s\n", lines[i].name, SLICE_ARG(lines[i].value));
}

static void test_cases(void)
{
    struct arena files = {0};
    struct slice file = read_file("tests/data/cloud/settings.case", &files);
    for (struct case_text c; case_next(&file, &c);) {
        const struct cloud_surroundings from = {get, read_it, &c};
        struct buf b = {.max = 64 * KIB};
        struct arena a = {0};
        struct cloud_settings s;
        struct err e = {0};
        struct slice bad = slice_trim(case_part(&c, "bad"));
        struct slice scheme = slice_trim(case_part(&c, "scheme"));
        const struct cloud_protocol *of = slice_is(scheme, "azure") ? &cloud_azure : slice_is(scheme, "gs") ? &cloud_gcs : &cloud_s3;
        CHECK(of->settings(&from, &a, &s, &e) == !bad.ptr);
        if (bad.ptr && !CHECK(slice_has(slice_of(e.text), arena_dup(&a, bad).ptr)))
            printf("  %s\n", e.text);
        CHECK(!slice_has(slice_of(e.text), "hush"));
        write_lines(&s, &b);
        if (!bad.ptr)
            CHECK_SLICE(slice_trim(buf_slice(&b)), slice_trim(case_part(&c, "is")));
        buf_free(&b);
        arena_free(&a);
    }
    arena_free(&files);
}

static void test_limits(void)
{
    static const struct {
        const char *name;
        size_t most;
    } fields[] = {{"AccessKeyId", LIMIT_CLOUD_SECRET}, {"SecretAccessKey", LIMIT_CLOUD_SECRET}, {"Token", LIMIT_CLOUD_TOKEN}};
    struct buf b = {.max = 64 * KIB};
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        for (size_t more = 0; more < 2; more++) {
            struct arena a = {0};
            struct cloud_keys k;
            int64_t expires_us;
            struct err e = {0};
            test_case("%s of the maximum length, and %zu bytes longer", fields[i].name, more);
            buf_clear(&b);
            buf_printf(&b, "{\"Expiration\":\"2030-01-01T00:00:00Z\"");
            for (size_t f = 0; f < COUNT_OF(fields); f++) {
                buf_printf(&b, ",\"%s\":\"", fields[f].name);
                for (size_t n = 0; n < (f == i ? fields[f].most + more : 1); n++)
                    buf_putc(&b, 'x');
                buf_putc(&b, '"');
            }
            buf_putc(&b, '}');
            CHECK(cloud_credentials_read(buf_slice(&b), &a, &k, &expires_us, &e) == !more);
            CHECK(more || expires_us == 1893456000LL * 1000000);
            arena_free(&a);
        }
    buf_free(&b);
}

static void expect_host(const char *url, const char *host, int port, bool tls, const char *authority, const char *path)
{
    struct cloud_host h;
    struct arena a = {0};
    struct err e = {0};
    test_case("%s", url);
    if (CHECK(cloud_host(guarded(slice_of(url)), "it", &a, &h, &e) == (host != NULL)) && host) {
        CHECK_STR(h.at.host, host);
        CHECK_INT(h.at.port, port);
        CHECK(h.at.tls == tls);
        CHECK_STR(h.authority, authority);
        CHECK_STR(h.path, path);
    }
    arena_free(&a);
}

int main(void)
{
    test_cases();
    test_limits();
    expect_host("https://s3.eu-1.amazonaws.com", "s3.eu-1.amazonaws.com", 443, true, "s3.eu-1.amazonaws.com", "");
    expect_host("http://minio:9000/", "minio", 9000, false, "minio:9000", "");
    expect_host("http://minio", "minio", 80, false, "minio", "");
    expect_host("http://[::1]", "::1", 80, false, "[::1]", "");
    expect_host("http://[::1]:9000/a/b/", "::1", 9000, false, "[::1]:9000", "/a/b");
    expect_host("http://169.254.170.23/v1/credentials", "169.254.170.23", 80, false, "169.254.170.23", "/v1/credentials");
    expect_host("minio:9000", NULL, 0, false, "", "");
    expect_host("http://user:pw@minio", NULL, 0, false, "", "");
    expect_host("http://minio/?x", NULL, 0, false, "", "");
    expect_host("https://", NULL, 0, false, "", "");
    return test_done();
}
