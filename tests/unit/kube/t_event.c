/* Events (rule 1.5): their shape, series, and limits. */
#include "answers.h"

struct rig {
    struct fake f;
    struct kube_events *q;
};

static void start(struct rig *r)
{
    fake_init(&r->f);
    r->q = kube_events_new(r->f.client, SLICE("mobula.io/operator"), SLICE("mobula-0"));
}

static void finish(struct rig *r)
{
    kube_events_free(r->q);
    fake_free(&r->f);
}

static void run(struct rig *r, int64_t ms)
{
    fake_run(&r->f, ms);
    kube_events_tick(r->q, r->f.now);
    fake_run(&r->f, 0);
}

static void say_note(struct rig *r, const char *name, const char *reason, const char *note)
{
    struct kube_event ev = {.about = {SLICE("ray.io/v1"), SLICE("RayCluster"), SLICE("a"), slice_of(name), SLICE("uid-1")},
                            .reason = slice_of(reason),
                            .action = SLICE("Create"),
                            .note = slice_of(note)};
    kube_event_say(r->q, &ev, r->f.now);
    fake_run(&r->f, 0);
}

static void say(struct rig *r, const char *name, const char *reason)
{
    say_note(r, name, reason, "pod \"x\" created");
}

static void answer(struct rig *r, int code)
{
    struct fakelink *l = fake_last(&r->f);
    fake_take(l);
    fake_answer(l, code, "", SLICE("{}"));
}

static void check_shape(void)
{
    struct rig r;
    start(&r);
    test_case("1.5 the shape of an event");
    say(&r, "c", "Created");
    struct fakelink *l = fake_last(&r.f);
    CHECK_STR(fake_line(l), "POST /apis/events.k8s.io/v1/namespaces/a/events");
    struct slice sent = fake_sent(l);
    const char *body = memmem(sent.ptr, sent.len, "\r\n\r\n", 4);
    CHECK_STR(
        ((struct slice){body + 4, sent.len - (size_t)(body + 4 - sent.ptr)}),
        "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"c.18e91efd5bd38000\",\"namespace\":\"a\"},"
        "\"eventTime\":\"2026-11-18T11:06:40.000000Z\",\"reportingController\":\"mobula.io/operator\",\"reportingInstance\":\"mobula-0\","
        "\"action\":\"Create\",\"reason\":\"Created\",\"regarding\":{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\","
        "\"namespace\":\"a\",\"name\":\"c\",\"uid\":\"uid-1\"},\"note\":\"pod \\\"x\\\" created\",\"type\":\"Normal\"}");
    answer(&r, 201);
    test_case("1.5 names are distinct within one tick of the clock");
    say(&r, "c", "Other");
    CHECK(fake_has(l, "\"name\":\"c.18e91efd5bd38001\""));
    finish(&r);
}

static void check_cluster_scoped(void)
{
    struct rig r;
    start(&r);
    test_case("events about cluster-scoped objects live in default");
    struct kube_event ev = {
        .about = {SLICE("v1"), SLICE("Namespace"), SLICE(""), SLICE("n"), SLICE("u")}, .warning = true, .reason = SLICE("R")};
    kube_event_say(r.q, &ev, r.f.now);
    fake_run(&r.f, 0);
    CHECK_STR(fake_line(fake_last(&r.f)), "POST /apis/events.k8s.io/v1/namespaces/default/events");
    CHECK(fake_has(fake_last(&r.f), "\"type\":\"Warning\"") && fake_has(fake_last(&r.f), "\"action\":\"R\""));
    finish(&r);
}

static void check_note_limit(void)
{
    char note[LIMIT_KUBE_EVENT_NOTE + 3];
    memset(note, 'x', sizeof note);
    memcpy(note + LIMIT_KUBE_EVENT_NOTE - 1, "\xc3\xa9", 2);
    for (size_t len = LIMIT_KUBE_EVENT_NOTE - 1; len <= LIMIT_KUBE_EVENT_NOTE + 1; len++) {
        struct rig r;
        start(&r);
        test_case("LIMIT_KUBE_EVENT_NOTE: %zu bytes, cut at a whole character", len);
        struct kube_event ev = {
            .about = {SLICE("v1"), SLICE("Pod"), SLICE("a"), SLICE("p"), SLICE("u")}, .reason = SLICE("R"), .note = {note, len}};
        kube_event_say(r.q, &ev, r.f.now);
        fake_run(&r.f, 0);
        struct slice sent = fake_sent(fake_last(&r.f));
        size_t n = 0;
        for (size_t i = 0; i < sent.len; i++)
            n += sent.ptr[i] == 'x';
        bool cut = len >= LIMIT_KUBE_EVENT_NOTE; /* the last character is half of one, or there is one too many */
        CHECK_INT(n, cut ? LIMIT_KUBE_EVENT_NOTE - 3 : LIMIT_KUBE_EVENT_NOTE - 1);
        CHECK(fake_has(fake_last(&r.f), "xx…\"") == cut);
        CHECK(!fake_has(fake_last(&r.f), "\xc3"));
        finish(&r);
    }
}

static void check_series(void)
{
    struct rig r;
    start(&r);
    test_case("1.5 a repeat within six minutes becomes a series");
    say(&r, "c", "Created");
    answer(&r, 201);
    run(&r, 5 * 60 * 1000);
    say(&r, "c", "Created");
    struct fakelink *l = fake_last(&r.f);
    CHECK_STR(fake_line(l), "PATCH /apis/events.k8s.io/v1/namespaces/a/events/c.18e91efd5bd38000");
    CHECK(fake_has(l, "Content-Type: application/merge-patch+json"));
    CHECK(slice_ends(fake_sent(l), SLICE("{\"series\":{\"count\":2,\"lastObservedTime\":\"2026-11-18T11:11:40.000000Z\"}}")));
    answer(&r, 200);
    test_case("1.5 after six quiet minutes it is a new event");
    run(&r, 6 * 60 * 1000);
    say(&r, "c", "Created");
    CHECK(slice_starts(fake_line(fake_last(&r.f)), SLICE("POST")));
    finish(&r);
}

/* A series keeps the note of its first occurrence: what says something else is an event of its own. */
static void check_other_note(void)
{
    struct rig r;
    start(&r);
    test_case("an event with another note is not counted as a repeat of the first");
    say_note(&r, "c", "DeletedWorkerPod", "deleted 3 pods: the head's template changed");
    answer(&r, 201);
    run(&r, 1000);
    say_note(&r, "c", "DeletedWorkerPod", "deleted 2 pods: idle");
    CHECK(slice_starts(fake_line(fake_last(&r.f)), SLICE("POST")));
    CHECK(fake_has(fake_last(&r.f), "deleted 2 pods: idle"));
    finish(&r);
}

static void check_series_in_flight(void)
{
    struct rig r;
    start(&r);
    test_case("repeats while the first is on its way are counted and told once");
    for (int i = 0; i < 10; i++)
        say(&r, "c", "Created");
    CHECK_INT(kube_client_stats(r.f.client)->requests, 1);
    answer(&r, 201);
    CHECK(fake_has(fake_last(&r.f), "\"count\":10"));
    answer(&r, 200);
    CHECK_INT(kube_client_stats(r.f.client)->requests, 2);
    test_case("a series that the server has forgotten begins again");
    say(&r, "c", "Created");
    answer(&r, 404);
    CHECK_INT(kube_events_dropped(r.q), 1);
    say(&r, "c", "Created");
    CHECK(slice_starts(fake_line(fake_last(&r.f)), SLICE("POST")));
    finish(&r);
}

static void check_bucket(void)
{
    struct rig r;
    char reason[32];
    start(&r);
    test_case("1.5 25 writes about one object at once");
    for (int i = 0; i < 26; i++) {
        snprintf(reason, sizeof reason, "R%d", i);
        say(&r, "c", reason);
        if (i < 25)
            answer(&r, 201);
    }
    CHECK_INT(kube_client_stats(r.f.client)->requests, 25);
    CHECK_INT(kube_events_dropped(r.q), 1);
    test_case("1.5 another object is not held up");
    say(&r, "d", "R0");
    CHECK_INT(kube_client_stats(r.f.client)->requests, 26);
    answer(&r, 201);
    test_case("1.5 then one per five minutes");
    run(&r, 5 * 60 * 1000 - 1);
    say(&r, "c", "late");
    CHECK_INT(kube_events_dropped(r.q), 2);
    run(&r, 1);
    say(&r, "c", "late");
    say(&r, "c", "later");
    CHECK_INT(kube_client_stats(r.f.client)->requests, 27);
    CHECK_INT(kube_events_dropped(r.q), 3);
    test_case("repeats without a write left are counted, and told when the series ends");
    answer(&r, 201);
    say(&r, "c", "late");
    say(&r, "c", "late");
    CHECK_INT(fake_sent(fake_last(&r.f)).len, 0);
    run(&r, 6 * 60 * 1000);
    CHECK(fake_has(fake_last(&r.f), "PATCH") && fake_has(fake_last(&r.f), "\"count\":3"));
    finish(&r);
}

static void check_bound(void)
{
    struct rig r;
    char name[32];
    start(&r);
    r.f.manual = true;
    test_case("LIMIT_KUBE_EVENTS: more are dropped and counted");
    for (int i = 0; i < LIMIT_KUBE_EVENTS + 1; i++) {
        snprintf(name, sizeof name, "c-%d", i);
        say(&r, name, "Created");
    }
    CHECK_INT(kube_events_dropped(r.q), 1);
    CHECK_INT(r.f.count, 1);
    test_case("and those that the server never gets are dropped in the end");
    run(&r, KUBE_CALL_MS);
    CHECK_INT(kube_events_dropped(r.q), LIMIT_KUBE_EVENTS + 1);
    finish(&r);
}

static void check_refused(void)
{
    struct rig r;
    struct lines lines;
    start(&r);
    log_into(&lines, "not taken");
    test_case("a refused event is dropped, with a debug line");
    say(&r, "c", "Created");
    answer(&r, 403);
    CHECK_INT(kube_events_dropped(r.q), 1);
    CHECK_INT(lines.count, 1);
    CHECK(strstr(lines.last, "level=debug") != NULL);
    log_quiet();
    test_case("freed with events in flight");
    say(&r, "c", "Created");
    kube_events_free(r.q);
    fake_answer(fake_last(&r.f), 201, "", SLICE("{}"));
    fake_free(&r.f);
}

static void check_long_name(void)
{
    struct rig r;
    char name[254];
    start(&r);
    test_case("a long object name leaves room for the suffix");
    memset(name, 'n', 253);
    name[253] = '\0';
    say(&r, name, "Created");
    struct slice sent = fake_sent(fake_last(&r.f));
    const char *at = memmem(sent.ptr, sent.len, "\"metadata\":{\"name\":\"", 20);
    size_t len = at ? (size_t)((const char *)memchr(at + 20, '"', 300) - (at + 20)) : 0;
    CHECK_INT(len, 253);
    finish(&r);
}

int main(void)
{
    log_quiet();
    check_shape();
    check_cluster_scoped();
    check_note_limit();
    check_series();
    check_other_note();
    check_series_in_flight();
    check_bucket();
    check_bound();
    check_refused();
    check_long_name();
    return test_done();
}
