#include "../test.h"

static char last[8 * KIB];
static size_t lines;

static void keep(void *owner, struct slice line)
{
    CHECK(owner == &lines);
    CHECK(line.len < sizeof last);
    memcpy(last, line.ptr, line.len);
    last[line.len] = '\0';
    lines++;
}

static int64_t fixed_time(void)
{
    return 1795230245000006;
}

#define LINE_HEAD "ts=2026-11-21T03:04:05.000006Z level=info room=base msg="

static void test_logfmt(void)
{
    test_case("logfmt");
    log_info("started");
    CHECK_STR(slice_of(last), LINE_HEAD "started");
    log_info("pod created", LF("pod", SLICE("a-b")), LF_INT("n", -3), LF_BOOL("ok", true), LF("why", SLICE_NONE));
    CHECK_STR(slice_of(last), LINE_HEAD "\"pod created\" pod=a-b n=-3 ok=true why=\"\"");
    log_info("x", LF("v", SLICE("a=b \"c\" \\ \n\t\x01\x7f")));
    CHECK_STR(slice_of(last), LINE_HEAD "x v=\"a=b \\\"c\\\" \\\\ \\n\\t\\u0001\\u007f\"");
    log_info("x", LF("v", SLICE("\xc3\xa4 \xff \xc2\x9b \xe2\x82")));
    CHECK_STR(slice_of(last), LINE_HEAD "x v=\"\xc3\xa4 \\xff \\u009b \\xe2\\x82\"");
    size_t before = lines;
    log_debug("not asked for");
    CHECK_INT(lines, before);
    log_raw(SLICE("<cluster>:a b\nc"));
    CHECK_STR(slice_of(last), "<cluster>:a b\\nc");
    log_raw(SLICE("c:a\tb\t"));
    CHECK_STR(slice_of(last), "c:a\tb\t");
}

static void test_json(void)
{
    test_case("json");
    log_global.json = true;
    log_info("pod created", LF("pod", SLICE("a\"\\\n")), LF_INT("n", -3), LF_BOOL("ok", false), LF("bad", SLICE("\xff")));
    CHECK_STR(slice_of(last), "{\"ts\":\"2026-11-21T03:04:05.000006Z\",\"level\":\"info\",\"room\":\"base\",\"msg\":\"pod created\","
                              "\"pod\":\"a\\\"\\\\\\n\",\"n\":-3,\"ok\":false,\"bad\":\"\xef\xbf\xbd\"}");
    log_global.json = false;
}

/* Whatever the length, the line ends in whole: quotes and braces closed, never above 4 KiB with its newline. */
static void test_cut(void)
{
    static char text[5000];
    for (size_t n = 3900; n < 4200; n++) {
        memset(text, 'x', n);
        for (int json = 0; json < 2; json++) {
            test_case("cut %zu %d", n, json);
            log_global.json = json;
            log_info("m", LF("v", ((struct slice){text, n})), LF_INT("number", 123456), LF("s", SLICE("a \"b\"")));
            size_t len = strlen(last);
            struct slice end = {last + len - 20, 20};
            bool cut = slice_ends(end, json ? SLICE("\"cut\":true}") : SLICE(" cut=true"));
            bool whole = slice_ends(end, json ? SLICE("\"a \\\"b\\\"\"}") : SLICE("s=\"a \\\"b\\\"\""));
            if (len > 4095 || cut == whole)
                CHECK(!"ends whole, or says that it was cut");
        }
    }
    CHECK(slice_starts(slice_of(last), SLICE("{\"ts\"")));
    log_global.json = false;
}

static void test_fd(void)
{
    test_case("fd");
    int fds[2];
    char got[200];
    if (pipe(fds) != 0)
        abort();
    log_global.fd = fds[1];
    log_info("one");
    ssize_t n = read(fds[0], got, sizeof got);
    CHECK_STR(((struct slice){got, n > 0 ? (size_t)n : 0}), LINE_HEAD "one\n");
    log_global.fd = -1;
    close(fds[0]);
    close(fds[1]);
}

static void test_limit(void)
{
    test_case("limit");
    struct log_limit l = {0};
    struct now now = {.mono_ms = 5};
    CHECK(log_limit_pass(&l, now));
    now.mono_ms += 59999;
    CHECK(!log_limit_pass(&l, now));
    CHECK(!log_limit_pass(&l, now));
    CHECK_INT(l.held, 2);
    now.mono_ms += 1;
    CHECK(log_limit_pass(&l, now));
    CHECK_INT(l.held, 0);
}

static void test_memory(void)
{
    struct log_memory m = {0};
    struct now now = {.mono_ms = 5};
    test_case("as many things as are remembered, by turns: each once a minute");
    for (uint64_t i = 0; i < LIMIT_LOG_SAID; i++, now.mono_ms++)
        CHECK(log_memory_pass(&m, 100 + i, now));
    for (uint64_t i = 0; i < LIMIT_LOG_SAID; i++)
        CHECK(!log_memory_pass(&m, 100 + i, now));
    now.mono_ms = 5 + 59999;
    CHECK(!log_memory_pass(&m, 100, now));
    now.mono_ms = 5 + 60000;
    CHECK(log_memory_pass(&m, 100, now));
    CHECK(!log_memory_pass(&m, 101, now));
    CHECK_INT(m.held, 0);
    test_case("one more: it is held back until the one that was said first may be forgotten");
    CHECK(!log_memory_pass(&m, 1, now));
    CHECK(!log_memory_pass(&m, 2, now));
    CHECK_INT(m.held, 2);
    now.mono_ms++;
    CHECK(log_memory_pass(&m, 1, now));
    CHECK_INT(m.held, 0);
    CHECK(!log_memory_pass(&m, 1, now));
    CHECK(!log_memory_pass(&m, 101, now));
    CHECK_INT(m.held, 1);
    CHECK(!log_memory_pass(&m, 102, now));
    CHECK_INT(m.held, 1);
}

int main(void)
{
    log_global.fd = -1;
    log_global.sink = keep;
    log_global.owner = &lines;
    log_global.wall_us = fixed_time;
    test_logfmt();
    test_json();
    test_cut();
    test_fd();
    test_limit();
    test_memory();
    return test_done();
}
