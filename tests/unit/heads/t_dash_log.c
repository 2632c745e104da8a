/* A driver's whole log, decoded as it comes, however it is cut. */
#include "headnet.h"

/* Decodes the whole of it in pieces of this size. False: it was refused somewhere, or is not whole. */
static bool decode(struct slice body, size_t piece, struct buf *out, struct ray_log_text *t)
{
    char text[RAY_LOG_TEXT];
    size_t n;
    bool well = true;
    *t = (struct ray_log_text){0};
    buf_clear(out);
    while (well && !slice_empty(body)) {
        struct slice part = slice_head(body, piece);
        body = slice_skip(body, part.len);
        part = guarded(part);
        while (well && !slice_empty(part)) {
            well = ray_log_text_read(t, &part, text, &n);
            buf_put(out, (struct slice){text, n});
        }
    }
    return well && ray_log_text_whole(t);
}

static const struct {
    const char *body, *text; /* text NULL: refused */
} cases[] = {
    {"{\"logs\": \"\"}", ""},
    {"{\"logs\": \"hello\\n\"}", "hello\n"},
    {" {\n\"logs\"\t:\r\n\"a\" } \n", "a"},
    {"{\"logs\":null}", ""},
    {"{\"logs\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "\"\\/\b\f\n\r\t"},
    {"{\"logs\": \"\\u0041\\u00e4\\u20aC\\uD83D\\uDE00\"}", "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"{\"logs\": \"\xc3\xa4\"}", "\xc3\xa4"},
    {"{\"logs\": \"\\ud83d\"}", "\xef\xbf\xbd"},
    {"{\"logs\": \"\\ud83dx\"}", "\xef\xbf\xbdx"},
    {"{\"logs\": \"\\ud83d\\n\"}", "\xef\xbf\xbd\n"},
    {"{\"logs\": \"\\ud83d\\ud83d\\ude00\"}", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
    {"{\"logs\": \"\\ude00\\ud83d\\u0041\"}", "\xef\xbf\xbd\xef\xbf\xbd"
                                              "A"},
    {"", NULL},
    {"{\"logs\": \"cut", NULL},
    {"{\"logs\": \"cut\"", NULL},
    {"{\"logs\": \"a\"}x", NULL},
    {"{\"logs\": \"a\nb\"}", NULL},
    {"{\"logs\": \"\\x41\"}", NULL},
    {"{\"logs\": \"\\u00g0\"}", NULL},
    {"{\"logs\": nul}", NULL},
    {"{\"logs\": nulll}", NULL},
    {"{\"logs\": 3}", NULL},
    {"{\"log\": \"a\"}", NULL},
    {"{\"lo gs\": \"a\"}", NULL},
    {"{\"logs\": \"a\", \"more\": 1}", NULL},
    {"[]", NULL},
    {"Traceback (most recent call last):", NULL},
};

static void texts(void)
{
    struct buf out;
    struct ray_log_text t;
    buf_init(&out, MIB);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t piece = 1; piece < 40; piece++) {
            test_case("%s in pieces of %zu", cases[i].body, piece);
            CHECK_INT(decode(slice_of(cases[i].body), piece, &out, &t), cases[i].text != NULL);
            CHECK(!cases[i].text || (slice_eq(buf_slice(&out), slice_of(cases[i].text)) && t.total == out.len));
        }
    test_case("a NUL in an escape");
    CHECK(!decode(SLICE("{\"logs\": \"\\\0\"}"), 1, &out, &t));
    test_case("garbage stays garbage");
    CHECK(!decode(SLICE("{\"logs\": 3}"), 100, &out, &t));
    struct slice more = SLICE("{\"logs\": \"a\"}");
    char text[RAY_LOG_TEXT];
    size_t n;
    CHECK(!ray_log_text_read(&t, &more, text, &n) && n == 0 && !ray_log_text_whole(&t));
    buf_free(&out);
}

/* Longer than the room for it: nothing is lost and nothing overruns, whatever stands at the edge. */
static void edges(void)
{
    static const char *const ends[] = {"x", "\\n", "\\ud83d\\ude00", "\\ud83dx", "\xc3\xa4"};
    static const char *const became[] = {"x", "\n", "\xf0\x9f\x98\x80", "\xef\xbf\xbdx", "\xc3\xa4"};
    struct buf body, want, out;
    struct ray_log_text t;
    buf_init(&body, MIB);
    buf_init(&want, MIB);
    buf_init(&out, MIB);
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        for (int filler = RAY_LOG_TEXT - 12; filler < RAY_LOG_TEXT + 2; filler++) {
            test_case("edge %zu behind %d", i, filler);
            buf_clear(&body);
            buf_clear(&want);
            buf_printf(&body, "{\"logs\": \"%0*d%s%s\"}", filler, 0, ends[i], ends[i]);
            buf_printf(&want, "%0*d%s%s", filler, 0, became[i], became[i]);
            CHECK(decode(buf_slice(&body), MIB, &out, &t));
            CHECK(slice_eq(buf_slice(&out), buf_slice(&want)));
        }
    buf_free(&body);
    buf_free(&want);
    buf_free(&out);
}

/* ---- through the client ---- */

struct reader {
    uint64_t bytes, sum;
    uint32_t answers;
    enum ray_dash_outcome outcome;
    char err[ERR_TEXT_MAX];
};

static void on_text(void *owner, uint64_t tag, struct slice piece)
{
    struct reader *r = owner;
    CHECK_INT(tag, 5);
    r->bytes += piece.len;
    for (size_t i = 0; i < piece.len; i++)
        r->sum += (unsigned char)piece.ptr[i];
}

static void on_answer(void *owner, uint64_t tag, const struct ray_dash_answer *answer, struct now now)
{
    struct reader *r = owner;
    (void)tag, (void)now;
    r->answers++;
    r->outcome = answer->outcome;
    CHECK(slice_empty(answer->log));
    snprintf(r->err, sizeof r->err, "%s", answer->err.text);
}

/* As many bytes of log as the owner says. */
static int log_of(struct fakehead *h, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    (void)method, (void)body;
    size_t n = (size_t)(uintptr_t)h->owner;
    CHECK_STR(target, "/api/jobs/j/logs");
    if (n == 0) {
        buf_put(out, SLICE("Job j does not exist"));
        return 404;
    }
    buf_put(out, SLICE("{\"logs\": \""));
    memset(buf_room(out, n), 'x', n);
    out->len += n;
    buf_put(out, SLICE("\"}"));
    return 200;
}

static struct reader read_log(struct fakehead *h, int64_t ms)
{
    struct headnet w;
    struct reader r = {0};
    struct err e = {0};
    const struct ray_dash_to to = {.host = SLICE("head0"), .port = 8265, .done = on_answer, .owner = &r, .tag = 5, .text = on_text};
    headnet_init(&w, h, 1);
    CHECK(ray_dash_ask(w.dash, &to, &(struct ray_dash_request){.call = RAY_DASH_LOG, .id = SLICE("j")}, &e));
    headnet_run(&w, ms);
    headnet_free(&w);
    return r;
}

static void through_the_client(void)
{
    test_case("longer than what is kept of a log");
    struct fakehead h = {.dash = log_of, .owner = (void *)(uintptr_t)(LIMIT_RAY_LOG_ALL + 1)};
    struct reader r = read_log(&h, 1);
    CHECK(r.answers == 1 && r.outcome == RAY_DASH_OK);
    CHECK(r.bytes == LIMIT_RAY_LOG_ALL + 1 && r.sum == (uint64_t)'x' * (LIMIT_RAY_LOG_ALL + 1));
    test_case("longer than one call may last, but it comes");
    enum { LONG = RAY_LOG_STEP + RAY_LOG_STEP / 4 };
    h = (struct fakehead){.dash = log_of, .owner = (void *)(uintptr_t)LONG, .per_step = RAY_LOG_STEP / RAY_DASH_MS + 10};
    r = read_log(&h, 2 * RAY_DASH_MS);
    CHECK(r.answers == 1 && r.outcome == RAY_DASH_OK && r.bytes == LONG);
    test_case("a trickle is cut off");
    h = (struct fakehead){.dash = log_of, .owner = (void *)(uintptr_t)(2 * RAY_DASH_MS), .per_step = 1};
    r = read_log(&h, RAY_DASH_MS + 10);
    CHECK(r.answers == 1 && r.outcome == RAY_DASH_LOST && r.bytes > 0);
    test_case("no such job");
    h = (struct fakehead){.dash = log_of};
    r = read_log(&h, 1);
    CHECK(r.answers == 1 && r.outcome == RAY_DASH_ABSENT && r.bytes == 0);
    CHECK(strstr(r.err, "Job j does not exist") != NULL);
}

static int not_a_log(struct fakehead *h, struct slice method, struct slice target, struct slice body, struct buf *out)
{
    (void)method, (void)target, (void)body;
    buf_put(out, slice_of(h->owner));
    return 200;
}

static void not_logs(void)
{
    static const char *const bodies[] = {"<html>", "{\"logs\": \"a", "{\"logs\": \"a\"}}", ""};
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        test_case("no log: %s", bodies[i]);
        struct fakehead h = {.dash = not_a_log, .owner = (void *)(uintptr_t)bodies[i]};
        struct reader r = read_log(&h, 1);
        CHECK(r.answers == 1 && r.outcome == RAY_DASH_FAILED && strstr(r.err, "cannot be read"));
    }
}

int main(void)
{
    texts();
    edges();
    through_the_client();
    not_logs();
    return test_done();
}
