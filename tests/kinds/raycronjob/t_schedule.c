/* When a RayCronJob is due. Expected times were computed by trying each minute with Python's zoneinfo. */
#include "tests/unit/test.h"

#include "src/kinds/raycronjob/schedule.h"

static int64_t seconds(const char *text)
{
    int64_t us = 0;
    struct err e = {0};
    CHECK(time_parse(slice_of(text), &us, &e));
    return us / (1000 * 1000);
}

static const struct {
    const char *schedule, *zone, *after, *next;
} next_cases[] = {
    {"*/15 * * * *", "UTC", "2026-11-25T02:50:00Z", "2026-11-25T03:00:00Z"},
    {"0 9 * * 1-5", "Europe/Berlin", "2026-03-27T08:00:00Z", "2026-03-30T07:00:00Z"},
    {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"}, /* the hour that is left out */
    {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"}, /* … and the one that comes twice */
    {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
    {"30 2 * * *", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"},
    {"0 0 13 * 5", "UTC", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"}, /* either day will do */
    {"0 0 13 * *", "UTC", "2026-01-14T00:00:00Z", "2026-02-13T00:00:00Z"},
    {"0 0 29 2 *", "UTC", "2024-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
    {"0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"}, /* 2100 has none */
    {"0 12 1 jan,JUL *", "America/New_York", "2026-02-01T00:00:00Z", "2026-07-01T16:00:00Z"},
    {"15,45 8-18/2 * * mon-fri", "Asia/Kathmandu", "2026-06-06T00:00:00Z", "2026-06-08T02:30:00Z"},
    {"0 0 * * *", "Australia/Lord_Howe", "2026-04-04T10:00:00Z", "2026-04-04T13:00:00Z"},
    {"*/20 1-2 * * *", "Australia/Lord_Howe", "2026-04-04T14:00:00Z", "2026-04-04T14:20:00Z"},
    {"59 23 31 12 ?", "Pacific/Kiritimati", "2026-05-05T00:00:00Z", "2026-12-31T09:59:00Z"},
    {"5/20 * * * *", "UTC", "2026-05-05T00:46:00Z", "2026-05-05T01:05:00Z"},
    {"0 0 * * */2", "UTC", "2026-05-05T00:00:00Z", "2026-05-07T00:00:00Z"},
    {"0 3 * * *", "America/New_York", "2060-03-13T12:00:00Z", "2060-03-14T07:00:00Z"}, /* by the rules behind the list */
    {"0 3 * * 0", "Europe/Dublin", "2026-10-20T00:00:00Z", "2026-10-25T03:00:00Z"},
    {"@hourly", "UTC", "2026-05-05T00:00:00Z", "2026-05-05T01:00:00Z"},
    {"@weekly", "UTC", "2026-05-05T00:00:00Z", "2026-05-10T00:00:00Z"},
    {" @yearly ", "UTC", "2026-05-05T00:00:00Z", "2027-01-01T00:00:00Z"},
    {"@every 1h30m", "UTC", "2026-05-05T00:00:00Z", "2026-05-05T01:30:00Z"}, /* from 2026-01-01T00:00:00Z */
    {"0 0 * * *", "UTC", "0923-01-01T00:00:00Z", "0923-01-02T00:00:00Z"},
    {"0 0 30 2 *", "UTC", "2026-05-05T00:00:00Z", NULL},
};

static void check_next(void)
{
    static struct zone z;
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(next_cases); i++) {
        struct schedule s;
        struct err e = {0};
        test_case("%s in %s after %s", next_cases[i].schedule, next_cases[i].zone, next_cases[i].after);
        arena_reset(&a, 64 * KIB);
        struct slice file = read_file(arena_printf(&a, "/usr/share/zoneinfo/%s", next_cases[i].zone).ptr, &a);
        CHECK(zone_read(guarded(file), &z, &e));
        CHECK(schedule_parse(guarded(slice_of(next_cases[i].schedule)), &s, &e));
        int64_t from_s = seconds("2026-01-01T00:00:00Z"), next = schedule_next(&s, &z, from_s, seconds(next_cases[i].after));
        CHECK_INT(next, next_cases[i].next ? seconds(next_cases[i].next) : INT64_MAX);
    }
    arena_free(&a);
}

static const struct {
    const char *schedule, *error;
} bad_cases[] = {
    {"@every 999999999h999999999h999999999h", "\"@every 999999999h999999999h999999999h\" is more than 100 years"},
    {"@every 878400h1s", "\"@every 878400h1s\" is more than 100 years"},
    {"", "has 0 fields and must have 5: minute, hour, day of the month, month, day of the week"},
    {"* * * *", "has 4 fields and must have 5: minute, hour, day of the month, month, day of the week"},
    {"* * * * * *", "has more than 5 fields: minute, hour, day of the month, month, day of the week"},
    {"60 * * * *", "the minute \"60\" is not within 0-59; the fields are minute, hour, day of the month, month, day of the week"},
    {"* 24 * * *", "the hour \"24\" is not within 0-23; the fields are minute, hour, day of the month, month, day of the week"},
    {"* * 0 * *", "the day of the month \"0\" is not within 1-31; the fields are minute, hour, day of the month, month, day of the week"},
    {"* * * 13 *", "the month \"13\" is not within 1-12; the fields are minute, hour, day of the month, month, day of the week"},
    {"* * * * 7", "the day of the week \"7\" is not within 0-6: Sunday is 0"},
    {"5-1 * * * *", "the minute \"5-1\" is not within 0-59: it ends before it begins"},
    {"9 0-30 * * 1", "the hour \"0-30\" is not within 0-23; the fields are minute, hour, day of the month, month, day of the week"},
    {"*/0 * * * *", "the minute \"*/0\" cannot be read: write *, a number, a-b, a-b/n, */n or a list of these"},
    {"1, * * * *", "the minute \"\" cannot be read: write *, a number, a-b, a-b/n, */n or a list of these"},
    {"-1 * * * *", "the minute \"-1\" cannot be read: write *, a number, a-b, a-b/n, */n or a list of these"},
    {"* * * foo *", "the month \"foo\" cannot be read: write *, a number, a-b, a-b/n, */n or a list of these"},
    {"9999999999 * * * *", "the minute \"9999999999\" cannot be read: write *, a number, a-b, a-b/n, */n or a list of these"},
    {"TZ=UTC 0 * * * *", "names a time zone: write it into spec.timeZone"},
    {"CRON_TZ=UTC 0 * * * *", "names a time zone: write it into spec.timeZone"},
    {"@often", "\"@often\" is unknown: write @yearly, @monthly, @weekly, @daily, @hourly, @every 1h30m, or five fields"},
    {"@every 30s", "\"@every 30s\" is less than a minute: a RayCronJob starts one job a minute at most"},
    {"@every 1x", "\"@every 1x\" cannot be read: write a duration such as 1h30m"},
    {"@every ", "\"@every\" is unknown: write @yearly, @monthly, @weekly, @daily, @hourly, @every 1h30m, or five fields"},
};

static void check_bad(void)
{
    for (size_t i = 0; i < COUNT_OF(bad_cases); i++) {
        struct schedule s;
        struct err e = {0};
        test_case("\"%s\"", bad_cases[i].schedule);
        CHECK(!schedule_parse(guarded(slice_of(bad_cases[i].schedule)), &s, &e));
        CHECK_STR(slice_of(e.text), bad_cases[i].error);
    }
}

static void check_due(void)
{
    static struct zone utc;
    struct schedule s;
    struct err e = {0};
    zone_utc(&utc);
    CHECK(schedule_parse(SLICE("0 * * * *"), &s, &e));
    const int64_t hour = 3600, from = seconds("2026-01-01T00:00:00Z");
    test_case("nothing is due yet");
    struct schedule_due due = schedule_due(&s, &utc, from, from, from + hour - 1);
    CHECK(due.count == 0 && due.last_s == INT64_MIN && due.next_s == from + hour);
    test_case("the last of three");
    due = schedule_due(&s, &utc, from, from, from + 3 * hour + 5);
    CHECK(due.count == 3 && !due.more && due.last_s == from + 3 * hour && due.next_s == from + 4 * hour);
    test_case("SCHEDULE_MISSED_MAX");
    due = schedule_due(&s, &utc, from, from, from + SCHEDULE_MISSED_MAX * hour);
    CHECK(due.count == SCHEDULE_MISSED_MAX && !due.more && due.last_s == from + SCHEDULE_MISSED_MAX * hour);
    test_case("more were missed than are counted: the last one is found");
    due = schedule_due(&s, &utc, from, from, from + (SCHEDULE_MISSED_MAX + 1) * hour);
    CHECK(due.count == SCHEDULE_MISSED_MAX && due.more && due.last_s == from + (SCHEDULE_MISSED_MAX + 1) * hour);
    due = schedule_due(&s, &utc, from, from, from + 20000 * hour + 17);
    CHECK(due.more && due.last_s == from + 20000 * hour && due.next_s == from + 20001 * hour);
    test_case("a clock that was set back: nothing is due twice");
    due = schedule_due(&s, &utc, from, from + 5 * hour, from + 2 * hour);
    CHECK(due.count == 0 && due.last_s == INT64_MIN);
}

static void put32(struct buf *b, uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_putc(b, (char)(n >> shift));
}

static void put_header(struct buf *b, uint32_t changes, uint32_t types)
{
    buf_put(b, SLICE("TZif2"));
    for (int i = 0; i < 15; i++)
        buf_putc(b, 0);
    for (int i = 0; i < 3; i++)
        put32(b, 0);
    put32(b, changes);
    put32(b, types);
    put32(b, 4);
}

static void put_types(struct buf *b, uint32_t types)
{
    for (uint32_t i = 0; i < types; i++) {
        put32(b, i * 60);
        buf_put(b, (struct slice){"\0\0", 2});
    }
    buf_put(b, (struct slice){"UTC\0", 4});
}

/* A file with so many changes, each a minute after the one before it, and these rules at its end. */
static struct slice make_file(struct buf *b, uint32_t changes, uint32_t types, const char *rules)
{
    buf_clear(b);
    put_header(b, 0, 1);
    put_types(b, 1);
    put_header(b, changes, types);
    for (uint32_t i = 0; i < changes; i++) {
        put32(b, 0);
        put32(b, i * 60);
    }
    for (uint32_t i = 0; i < changes; i++)
        buf_putc(b, (char)(i % types));
    put_types(b, types);
    buf_printf(b, "\n%s\n", rules);
    return buf_slice(b);
}

static const struct {
    const char *rules, *at;
    int32_t ahead_s; /* INT32_MIN: they are malformed */
} rule_cases[] = {
    {"UTC0", "2026-07-01T00:00:00Z", 0},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T00:59:59Z", 3600},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", 7200},
    {"CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00:00Z", 3600},
    {"NZST-12NZDT,M9.5.0,M4.1.0/3", "2026-01-01T00:00:00Z", 13 * 3600}, /* summer over the turn of the year */
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59Z", -7200},
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -3600},
    {"IST-1GMT0,M10.5.0,M3.5.0/1", "2026-12-01T00:00:00Z", 0}, /* Dublin's winter is the one that is saved */
    {"AAA3BBB,J60,J300", "2024-03-01T04:59:59Z", -3 * 3600},   /* the 1st of March, in a leap year too */
    {"AAA3BBB,J60,J300", "2024-03-01T05:00:00Z", -2 * 3600},
    {"AAA3BBB,59,300", "2024-02-29T05:00:00Z", -2 * 3600},
    {"AB3", "2026-01-01T00:00:00Z", INT32_MIN},
    {"CET", "2026-01-01T00:00:00Z", INT32_MIN},
    {"CET-25", "2026-01-01T00:00:00Z", INT32_MIN},
    {"CET-1CEST", "2026-01-01T00:00:00Z", INT32_MIN},
    {"CET-1CEST,M13.5.0,M10.5.0", "2026-01-01T00:00:00Z", INT32_MIN},
    {"CET-1CEST,M3.6.0,M10.5.0", "2026-01-01T00:00:00Z", INT32_MIN},
    {"CET-1CEST,M3.5.0,M10.5.0,", "2026-01-01T00:00:00Z", INT32_MIN},
    {"CET-1CEST,M3.5.0/168,M10.5.0", "2026-01-01T00:00:00Z", INT32_MIN},
    {"<CET-1", "2026-01-01T00:00:00Z", INT32_MIN},
};

static void check_rules(void)
{
    static struct zone z;
    struct buf b;
    struct err e = {0};
    int64_t until_s;
    buf_init(&b, 1 * MIB);
    for (size_t i = 0; i < COUNT_OF(rule_cases); i++) {
        bool well = rule_cases[i].ahead_s != INT32_MIN;
        test_case("rules %s at %s", rule_cases[i].rules, rule_cases[i].at);
        CHECK(zone_read(guarded(make_file(&b, 0, 1, rule_cases[i].rules)), &z, &e) == well);
        if (well)
            CHECK_INT(zone_offset(&z, seconds(rule_cases[i].at), &until_s), rule_cases[i].ahead_s);
    }
    buf_free(&b);
}

static void check_files(void)
{
    static struct zone z;
    struct buf b;
    struct err e = {0};
    int64_t until_s;
    buf_init(&b, 1 * MIB);
    test_case("ZONE_CHANGES_MAX, ZONE_TYPES_MAX");
    CHECK(zone_read(guarded(make_file(&b, ZONE_CHANGES_MAX, ZONE_TYPES_MAX, "")), &z, &e));
    CHECK_INT(zone_offset(&z, 61, &until_s), 60);
    CHECK_INT(until_s, 120);
    CHECK(!zone_read(guarded(make_file(&b, ZONE_CHANGES_MAX + 1, 1, "")), &z, &e));
    CHECK(!zone_read(guarded(make_file(&b, 1, ZONE_TYPES_MAX + 1, "")), &z, &e));
    test_case("a file that is cut off anywhere gives nothing");
    struct slice whole = make_file(&b, 3, 2, "CET-1CEST,M3.5.0,M10.5.0/3");
    for (size_t n = 0; n < whole.len; n++)
        CHECK(!zone_read(guarded(slice_head(whole, n)), &z, &e));
    CHECK(zone_read(guarded(whole), &z, &e));
    test_case("ZONE_FILE_MAX");
    while (b.len < ZONE_FILE_MAX)
        buf_putc(&b, '\n');
    CHECK(zone_read(buf_slice(&b), &z, &e));
    buf_putc(&b, '\n');
    CHECK(!zone_read(buf_slice(&b), &z, &e));
    buf_free(&b);
}

static void check_names(void)
{
    static const char *const good[] = {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST5EDT"};
    static const char *const bad[] = {"", "/UTC", "UTC/", "a//b", "../etc/passwd", "a/../b", "a/.b", "Europe/Ber lin", "a\nb", "5x"};
    char longest[ZONE_NAME_MAX + 1];
    memset(longest, 'a', sizeof longest);
    test_case("names of zones");
    for (size_t i = 0; i < COUNT_OF(good); i++)
        CHECK(zone_name_valid(guarded(slice_of(good[i]))));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK(!zone_name_valid(guarded(slice_of(bad[i]))));
    test_case("ZONE_NAME_MAX");
    CHECK(zone_name_valid((struct slice){longest, ZONE_NAME_MAX}) && !zone_name_valid((struct slice){longest, ZONE_NAME_MAX + 1}));
}

int main(void)
{
    check_next();
    check_bad();
    check_due();
    check_rules();
    check_files();
    check_names();
    return test_done();
}
