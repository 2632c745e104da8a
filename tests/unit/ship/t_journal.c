/* Journals against a store that answers as a case says, in virtual time. */
#include "fake.h"

struct run {
    struct fake f;
    struct ship_journal *j;
    struct now now;
};

static void begin(struct run *r, const char *put)
{
    *r = (struct run){.f = {.net.ops = &fake_net, .put = put, .one = {.max = 8 * MIB}, .seen = {.max = 8 * MIB}}, .now = {1000, 1000000}};
    r->j = ship_journal_new(&r->f.net, &fake_store, SLICE("p/logs/"));
}

static void end(struct run *r)
{
    ship_journal_free(r->j);
    buf_free(&r->f.one);
    buf_free(&r->f.seen);
}

static void run_for(struct run *r, int64_t ms)
{
    for (int64_t until_ms = r->now.mono_ms + ms; r->now.mono_ms < until_ms;) {
        int64_t next = ship_journal_step(r->j, r->now);
        while (net_dispatch(&r->f.net, r->now))
            next = ship_journal_step(r->j, r->now);
        int64_t at = next > r->now.mono_ms ? earlier(next, until_ms) : r->now.mono_ms + 1;
        r->now.wall_us += (at - r->now.mono_ms) * 1000;
        r->now.mono_ms = at;
    }
}

static bool add(struct run *r, const char *file, const char *line)
{
    return ship_journal_add(r->j, slice_of(file), slice_of(line), r->now);
}

static void test_batches(void)
{
    struct run r;
    begin(&r, "201 Created");
    test_case("lines of a file wait for more, and are one object; those of another file are another");
    CHECK(add(&r, "ns/a/x/history.jsonl", "{1}") && add(&r, "ns/b/x/history.jsonl", "{2}"));
    run_for(&r, JOURNAL_FLUSH_MS / 2);
    CHECK(add(&r, "ns/a/x/history.jsonl", "{3}"));
    CHECK_INT(r.f.puts, 0);
    run_for(&r, JOURNAL_FLUSH_MS);
    CHECK_INT(r.f.puts, 2);
    struct slice seen = buf_slice(&r.f.seen);
    CHECK(slice_has(seen, "PUT /logs/p/logs/ns/a/x/history.jsonl/00000001"));
    CHECK(slice_has(seen, "-000000000000.gz HTTP/1.1\r\n") && slice_has(seen, "x-ms-meta-size: 8\r\n") &&
          slice_has(seen, "If-None-Match: *\r\n"));
    CHECK(slice_has(seen, "PUT /logs/p/logs/ns/b/x/history.jsonl/") && slice_has(seen, "x-ms-meta-size: 4\r\n"));
    test_case("a later line is a later object");
    CHECK(add(&r, "ns/a/x/history.jsonl", "{4}"));
    run_for(&r, JOURNAL_FLUSH_MS + 1000);
    CHECK_INT(r.f.puts, 3);
    test_case("at the end lines do not wait");
    CHECK(ship_journal_stop(r.j) && add(&r, "ns/a/x/history.jsonl", "{5}") && !ship_journal_stop(r.j));
    run_for(&r, 100);
    CHECK_INT(r.f.puts, 4);
    CHECK(ship_journal_stop(r.j));
    end(&r);
}

static void test_failures(void)
{
    struct run r;
    begin(&r, "403 Forbidden");
    test_case("the store refuses: it is asked again at growing intervals, and then no line is missing");
    CHECK(add(&r, "a", "{1}"));
    run_for(&r, JOURNAL_FLUSH_MS + 10 * 60 * 1000);
    CHECK(r.f.puts > 8 && r.f.puts < 24);
    CHECK(add(&r, "a", "{2}"));
    r.f.put = "412 Precondition Failed";
    run_for(&r, SHIP_RETRY_MAX_MS + JOURNAL_FLUSH_MS);
    test_case("412: an attempt whose answer was lost");
    CHECK(ship_journal_stop(r.j));
    test_case("501: the store has no conditional PUT");
    unsigned puts = r.f.puts;
    r.f.put = "501 Not Implemented";
    buf_clear(&r.f.seen);
    CHECK(add(&r, "a", "{3}"));
    run_for(&r, 100);
    CHECK(r.f.puts > puts && !slice_has(slice_skip(buf_slice(&r.f.seen), r.f.seen.len / 2), "If-None-Match"));
    end(&r);
}

static void test_limits(void)
{
    struct run r;
    char name[16];
    struct buf line = {.max = MIB};
    begin(&r, "503 Busy");
    test_case("LIMIT_JOURNAL_HELD bytes wait, and one line more is dropped");
    for (int i = 0; i < 64 * KIB - 1; i++)
        buf_putc(&line, 'x');
    for (int i = 0; i < LIMIT_JOURNAL_HELD / (64 * KIB); i++)
        CHECK(ship_journal_add(r.j, SLICE("a"), buf_slice(&line), r.now));
    CHECK(!add(&r, "a", ""));
    end(&r);
    begin(&r, "503 Busy");
    test_case("LIMIT_JOURNAL_FILES files wait, and the line of one more is dropped");
    for (int i = 0; i < LIMIT_JOURNAL_FILES; i++) {
        snprintf(name, sizeof name, "%d", i);
        CHECK(add(&r, name, "x"));
    }
    CHECK(!add(&r, "more", "x") && add(&r, "0", "x"));
    end(&r);
    begin(&r, "201 Created");
    test_case("a line of LIMIT_SHIP_BATCH bytes with its end, and one more");
    for (int i = (int)line.len; i < LIMIT_SHIP_BATCH - 1; i++)
        buf_putc(&line, 'x');
    CHECK(ship_journal_add(r.j, SLICE("a"), buf_slice(&line), r.now));
    buf_putc(&line, 'x');
    CHECK(!ship_journal_add(r.j, SLICE("a"), buf_slice(&line), r.now));
    end(&r);
    buf_free(&line);
}

int main(void)
{
    log_global.level = LOG_ERROR + 1;
    test_batches();
    test_failures();
    test_limits();
    return test_done();
}
