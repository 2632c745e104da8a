#include "transcript.h"

static void query(void)
{
    static const struct {
        const char *target, *name, *want; /* want NULL: absent */
    } cases[] = {
        {"/a?limit=5", "limit", "5"},
        {"/a?x=1&limit=5&y=2", "limit", "5"},
        {"/a?limit=5&limit=6", "limit", "5"},
        {"/a?limit=", "limit", ""},
        {"/a?watch", "watch", ""},
        {"/a?watch&b", "b", ""},
        {"/a?s=a%3Db=c", "s", "a%3Db=c"},
        {"/a", "limit", NULL},
        {"/a?", "limit", NULL},
        {"/a?limits=5", "limit", NULL},
        {"/a?xlimit=5", "limit", NULL},
        {"/limit=5", "limit", NULL},
        {"/a?b=?limit=5", "b", "?limit=5"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("query %s", cases[i].target);
        struct slice got = http_query_get(guarded(slice_of(cases[i].target)), slice_of(cases[i].name));
        if (CHECK((got.ptr == NULL) == (cases[i].want == NULL)) && got.ptr)
            CHECK_STR(got, cases[i].want);
    }
}

static void percent(void)
{
    static const struct {
        const char *in, *path, *query; /* NULL: malformed */
    } cases[] = {
        {"", "", ""},        {"abc", "abc", "abc"}, {"a%20b", "a b", "a b"}, {"a+b", "a+b", "a b"}, {"%c3%BC", "\xc3\xbc", "\xc3\xbc"},
        {"%2B", "+", "+"},   {"%", NULL, NULL},     {"%2", NULL, NULL},      {"a%2", NULL, NULL},   {"%2g", NULL, NULL},
        {"%-1", NULL, NULL}, {"%%41", NULL, NULL},
    };
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("percent %s", cases[i].in);
        struct slice in = guarded(slice_of(cases[i].in)), out = SLICE_NONE;
        CHECK(http_percent_decode(in, &a, &out) == (cases[i].path != NULL));
        CHECK_STR(out, cases[i].path);
        out = SLICE_NONE;
        CHECK(http_query_decode(in, &a, &out) == (cases[i].query != NULL));
        CHECK_STR(out, cases[i].query);
    }
    test_case("percent-every-byte");
    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    struct buf b;
    buf_init(&b, KIB);
    CHECK(http_percent_encode((struct slice){all, sizeof all}, &b));
    struct slice back = SLICE_NONE;
    CHECK(http_percent_decode(buf_slice(&b), &a, &back));
    CHECK_SLICE(back, ((struct slice){all, sizeof all}));
    buf_clear(&b);
    CHECK(http_percent_encode(SLICE("aZ09-._~ /+"), &b));
    CHECK_STR(buf_slice(&b), "aZ09-._~%20%2F%2B");
    buf_free(&b);
    buf_init(&b, 5);
    CHECK(!http_percent_encode(SLICE("//"), &b));
    buf_free(&b);
    arena_free(&a);
}

static void retry_after(void)
{
    enum { HOUR = 3600000 };
    static const int64_t now_us = INT64_C(784111777000000); /* Sun, 06 Nov 1994 08:49:37 GMT, RFC 9110's own example */
    static const struct {
        const char *value;
        int64_t want;
    } cases[] = {
        {"0", 0},
        {"1", 1000},
        {"3599", 3599000},
        {"3600", HOUR},
        {"3601", HOUR},
        {"9223372036854775807", HOUR},
        {"9223372036854775808", -1},
        {"-1", -1},
        {"1.5", -1},
        {"", -1},
        {"soon", -1},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 0},
        {"Sun, 06 Nov 1994 08:49:39 GMT", 2000},
        {"Sun, 06 Nov 1994 08:49:30 GMT", 0},
        {"Mon, 07 Nov 1994 08:49:37 GMT", HOUR},
        {"Sun, 06 Nov 1994 08:49:39 CET", -1},
        {"Sun, 06 Nox 1994 08:49:39 GMT", -1},
        {"Sun, 36 Nov 1994 08:49:39 GMT", -1},
        {"Sunday, 06-Nov-94 08:49:37 GMT", -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("retry-after %s", cases[i].value);
        struct transcript t;
        struct buf in;
        transcript_init(&t, HTTP_RESPONSES);
        buf_init(&in, KIB);
        buf_printf(&in, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", cases[i].value);
        transcript_feed(&t, buf_slice(&in));
        CHECK_INT(http_retry_after_ms(&t.reader, now_us), cases[i].want);
        buf_free(&in);
        transcript_free(&t);
    }
    test_case("retry-after absent");
    struct http_reader r;
    http_reader_init(&r, HTTP_RESPONSES);
    CHECK_INT(http_retry_after_ms(&r, now_us), -1);
    http_reader_free(&r);
}

static void warnings(void)
{
    static const struct {
        const char *headers, *want; /* want: the texts, each with a | behind it */
    } cases[] = {
        {"", ""},
        {"Warning: 299 - \"one\"\r\nwarning: 299 - \"two\"", "one|two|"},
        {"Warning: 299 - \"unknown field \\\"spec.x\\\"\"", "unknown field \"spec.x\"|"},
        {"Warning: 299 - \"a\\\\b, c\", 199 - \"other\",299 k \"d\" \"Sun, 06 Nov 1994 08:49:37 GMT\" , 299 - \"e\"", "a\\b, c|d|e|"},
        {"Warning: 299 - \"\"", "|"},
        {"Warning:\r\nWarning: 299\r\nWarning: 299 -\r\nWarning: 299 - \r\nWarning: 299 - \"no end\r\nWarning: 299 - \"ends \\", ""},
        {"Warning: 299 - bare\r\nWarning: 299 - \"a\" junk, 299 - \"b\"\r\nWarning: 299 - \"c\" \"no end\r\nWarning: 299 - \"d\"", "c|d|"},
        {"Warning: 299 - \"a\",,, 299 - \"b\"\r\nX-Warning: 299 - \"c\"", "a|"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct transcript t;
        struct buf in, text, got;
        test_case("warnings %s", cases[i].headers);
        transcript_init(&t, HTTP_RESPONSES);
        buf_init(&in, 2 * KIB);
        buf_init(&text, KIB);
        buf_init(&got, KIB);
        buf_printf(&in, "HTTP/1.1 201 Created\r\n%s%sContent-Length: 1\r\n\r\n", cases[i].headers, *cases[i].headers ? "\r\n" : "");
        transcript_feed(&t, buf_slice(&in));
        struct http_warnings it = {.reader = &t.reader};
        while (http_warning_next(&it, &text))
            buf_printf(&got, "%.*s|", (int)text.len, text.ptr);
        CHECK_STR(buf_slice(&got), cases[i].want);
        buf_free(&in);
        buf_free(&text);
        buf_free(&got);
        transcript_free(&t);
    }
}

static void dates(void)
{
    static const struct {
        int64_t s;
        const char *text;
    } list[] = {
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"}, {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"}, {1795856400, "Sat, 28 Nov 2026 09:00:00 GMT"}};
    char text[HTTP_DATE];
    int64_t us;
    test_case("dates are written as they are read");
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        http_date_write(list[i].s * 1000000, text);
        CHECK_STR(slice_of(text), list[i].text);
        CHECK(http_date(slice_of(text), &us) && us == list[i].s * 1000000);
    }
}

int main(void)
{
    dates();
    warnings();
    query();
    percent();
    retry_after();
    return test_done();
}
