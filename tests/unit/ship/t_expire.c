/* Retention of logs against a store that answers as a case says, in virtual time. */
#include "fake.h"

enum { DAY_S = 24 * 3600 };

struct run {
    struct fake f;
    struct ship_expiry *x;
    struct now now;
    struct arena a;
};

static void begin(struct run *r, int64_t keep_ms, uint64_t keep_bytes)
{
    *r = (struct run){.f = {.net.ops = &fake_net, .delete = "202 Accepted", .one = {.max = 8 * MIB}, .seen = {.max = 8 * MIB}},
                      .now = {1000, INT64_C(1800000000) * 1000000}};
    struct ship_expiry_options o = {.with = &fake_store, .prefix = SLICE("p/logs/"), .keep_ms = keep_ms, .keep_bytes = keep_bytes};
    static struct ship_expiry_options kept;
    kept = o;
    r->x = ship_expiry_new(&r->f.net, &kept);
}

static void end(struct run *r)
{
    ship_expiry_free(r->x);
    buf_free(&r->f.one);
    buf_free(&r->f.seen);
    arena_free(&r->a);
}

static void run_for(struct run *r, int64_t ms, bool lead)
{
    for (int64_t until_ms = r->now.mono_ms + ms; r->now.mono_ms < until_ms;) {
        int64_t next = ship_expiry_step(r->x, lead, r->now);
        while (net_dispatch(&r->f.net, r->now))
            next = ship_expiry_step(r->x, lead, r->now);
        int64_t at = next > r->now.mono_ms ? earlier(next, until_ms) : r->now.mono_ms + 1;
        r->now.wall_us += (at - r->now.mono_ms) * 1000;
        r->now.mono_ms = at;
    }
}

static struct slice object(struct run *r, const char *name, int64_t age_s, int size)
{
    char stamp[HTTP_DATE];
    http_date_write(r->now.wall_us - age_s * 1000000, stamp);
    return arena_printf(&r->a,
                        "<Blob><Name>p/logs/%s</Name><Properties><Last-Modified>%s</Last-Modified><Content-Length>%d</Content-Length>"
                        "</Properties></Blob>",
                        name, stamp, size);
}

#define NAMED(file) "ns/c/pod.1/" file "/0123456789abcdef-000000000000.gz"

static void list(struct run *r, struct slice a, struct slice b, struct slice c)
{
    r->f.list = arena_printf(&r->a, "<EnumerationResults><Blobs>%.*s%.*s%.*s</Blobs><NextMarker/></EnumerationResults>", SLICE_ARG(a),
                             SLICE_ARG(b), SLICE_ARG(c))
                    .ptr;
}

static void ages(void)
{
    struct run r;
    begin(&r, INT64_C(30) * DAY_S * 1000, 0);
    list(&r, object(&r, NAMED("new"), 30 * DAY_S - 60, 5), object(&r, NAMED("old"), 30 * DAY_S, 7), SLICE(""));
    test_case("a process that does not lead begins nothing");
    run_for(&r, 5000, false);
    CHECK_INT(r.f.lists, 0);
    test_case("at the age, and younger");
    run_for(&r, 5000, true);
    CHECK_INT(r.f.deletes, 1);
    CHECK(slice_has(buf_slice(&r.f.seen), "DELETE /logs/p/logs/ns/c/pod.1/old/0123456789abcdef-000000000000.gz HTTP"));
    const struct ship_expired *done = ship_expiry_done(r.x);
    CHECK(done->objects == 1 && done->bytes == 7 && done->sweeps == 1 && done->trouble.code == ERR_NONE);
    test_case("again an hour later");
    run_for(&r, SHIP_EXPIRE_MS - 60 * 1000, true);
    CHECK_INT(r.f.lists, 1);
    run_for(&r, 60 * 1000, true);
    CHECK_INT(r.f.lists, 2);
    end(&r);
}

/* Objects of other programs and dates that cannot be read are left alone. */
static void strangers(void)
{
    static const char *const names[] = {"ns/c/pod.1/notes.txt", "ns/c/pod.1/f/0123456789abcdef-000000000000.gz.bak",
                                        "ns/c/pod.1/f/0123456789ABCDEF-000000000000.gz", "0123456789abcdef-0.gz"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct run r;
        test_case("not a log: %s", names[i]);
        begin(&r, 3600 * 1000, 1);
        list(&r, object(&r, names[i], 1000 * DAY_S, 5), SLICE(""), SLICE(""));
        run_for(&r, 5000, true);
        CHECK(r.f.lists == 2 && r.f.deletes == 0);
        end(&r);
    }
    struct run r;
    test_case("a log outside of the prefix, one without a date, one from the future");
    begin(&r, 3600 * 1000, 0);
    list(&r, SLICE("<Blob><Name>q/logs/" NAMED("f") "</Name><Last-Modified>Sun, 06 Nov 1994 08:49:37 GMT</Last-Modified></Blob>"),
         SLICE("<Blob><Name>p/logs/" NAMED("g") "</Name><Last-Modified>yesterday</Last-Modified></Blob>"),
         object(&r, NAMED("h"), -DAY_S, 5));
    run_for(&r, 5000, true);
    CHECK(r.f.lists == 1 && r.f.deletes == 0);
    end(&r);
}

static void bytes(void)
{
    static const struct {
        uint64_t keep;
        unsigned deletes;
    } cases[] = {{60, 0}, {59, 1}, {30, 1}, {29, 2}, {10, 2}, {9, 3}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run r;
        test_case("%d bytes stay of 10 + 20 + 30, the youngest first", (int)cases[i].keep);
        begin(&r, 0, cases[i].keep);
        list(&r, object(&r, NAMED("b"), 2 * DAY_S, 20), object(&r, NAMED("a"), 3600, 10), object(&r, NAMED("c"), 90 * DAY_S, 30));
        run_for(&r, 5000, true);
        CHECK_INT(r.f.deletes, cases[i].deletes);
        end(&r);
    }
}

static void troubles(void)
{
    struct run r;
    test_case("the store refuses to delete: the sweep ends, and begins again an hour later");
    begin(&r, 3600 * 1000, 0);
    r.f.delete = "403 Forbidden";
    list(&r, object(&r, NAMED("a"), DAY_S, 1), object(&r, NAMED("b"), DAY_S, 1), SLICE(""));
    run_for(&r, 60 * 1000, true);
    CHECK_INT(r.f.deletes, 1);
    CHECK(ship_expiry_done(r.x)->sweeps == 1 && ship_expiry_done(r.x)->trouble.code == ERR_STATUS);
    r.f.delete = "404 Not Found";
    run_for(&r, SHIP_EXPIRE_MS, true);
    test_case("another process has deleted them");
    CHECK_INT(r.f.deletes, 3);
    CHECK(ship_expiry_done(r.x)->trouble.code == ERR_NONE);
    test_case("a list that is none");
    r.f.list = "<html/>";
    run_for(&r, SHIP_EXPIRE_MS, true);
    CHECK(ship_expiry_done(r.x)->trouble.code == ERR_SYNTAX);
    end(&r);
}

int main(void)
{
    ages();
    strangers();
    bytes();
    troubles();
    return test_done();
}
