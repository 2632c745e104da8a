/* What this room refuses to send, calls that are taken back, and answers that do not come in time. */
#include "watcher.h"

/* ---- calls ---- */

static void check_requests(void)
{
    enum { REQUEST_LARGE = 3 * LIMIT_HTTP_BODY };
    struct fake f;
    fake_init(&f);
    char *large = mem_alloc(REQUEST_LARGE);
    const struct {
        const char *id;
        struct kube_request r;
        enum err_code code;
    } cases[] = {
        {"a method that is no word", {.method = SLICE("PROPPATCH-AND-MORE"), .path = SLICE("/x")}, ERR_CONFIG},
        {"a content type that is a sentence",
         {.method = SLICE("PUT"),
          .path = SLICE("/x"),
          .content_type = SLICE("application/json; charset=utf-8; boundary=0123456789012345678901234567890123456789")},
         ERR_CONFIG},
        {"a body that no server takes",
         {.method = SLICE("PUT"), .path = SLICE("/x"), .content_type = SLICE(KUBE_TYPE_JSON), .body = {large, REQUEST_LARGE}},
         ERR_LIMIT},
        {"no path", {.method = SLICE("GET")}, ERR_CONFIG},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = {0};
        test_case("%s", cases[i].id);
        CHECK(!kube_call(f.client, &cases[i].r, f.now, &e));
        CHECK_INT(e.code, cases[i].code);
        CHECK_INT(f.count, 0);
    }
    mem_free(large);
    fake_free(&f);
}

static bool ask(struct fake *f, struct answers *a, const char *path, int64_t timeout_ms)
{
    struct err e = {0};
    struct kube_request r = {.lane = KUBE_LANE_EVENTS,
                             .method = SLICE("GET"),
                             .path = slice_of(path),
                             .again = true,
                             .timeout_ms = timeout_ms,
                             .done = on_answer,
                             .owner = a};
    return kube_call(f->client, &r, f->now, &e);
}

static void check_queue_order(void)
{
    struct fake f;
    struct answers a = {0}, b = {0};
    fake_init(&f);
    test_case("of a queue only those whose time is over are given up, wherever they stand");
    ask(&f, &a, "/sent", 0);
    ask(&f, &a, "/first", 0);
    ask(&f, &b, "/short", 1000);
    ask(&f, &a, "/middle", 0);
    ask(&f, &b, "/last", 1000);
    fake_run(&f, 1000);
    CHECK(b.count == 2 && b.unsent == 2 && a.count == 0);
    CHECK(strstr(b.last.err.text, "waited 1000 ms") != NULL);
    static const char *const rest[] = {"GET /first", "GET /middle", "GET /behind"};
    ask(&f, &a, "/behind", 0);
    for (size_t i = 0; i < COUNT_OF(rest); i++) {
        fake_take(f.links[0]);
        fake_answer(f.links[0], 200, "", SLICE("{}"));
        CHECK_STR(fake_line(f.links[0]), rest[i]);
    }
    CHECK_INT(a.ok, 3);
    fake_free(&f);
}

static void check_recall(void)
{
    struct fake f;
    struct answers a = {0}, b = {0};
    fake_init(&f);
    test_case("an owner's calls are taken back: those that wait were not sent, others' stay");
    ask(&f, &a, "/sent", 0);
    ask(&f, &b, "/other", 0);
    ask(&f, &a, "/waits", 0);
    kube_calls_recall(f.client, &a, NULL, f.now);
    CHECK(a.count == 1 && a.unsent == 1 && b.count == 0);
    CHECK(strstr(a.last.err.text, "before it was sent") != NULL);
    test_case("what is on its way is not sent a second time");
    fake_fail(f.links[0], ERR_CLOSED, "reset");
    CHECK(a.count == 2 && a.unknown == 1);
    fake_run(&f, KUBE_BACKOFF_MS);
    CHECK_STR(fake_line(fake_last(&f)), "GET /other");
    test_case("nor what waits for its Retry-After");
    fake_answer(fake_last(&f), 503, "Retry-After: 5\r\n", SLICE("{}"));
    ask(&f, &a, "/again", 0);
    fake_run(&f, 0);
    fake_answer(fake_last(&f), 503, "Retry-After: 5\r\n", SLICE("{}"));
    CHECK(a.count == 2 && b.count == 0);
    kube_calls_recall(f.client, &a, NULL, f.now);
    CHECK(a.count == 3 && a.unknown == 2 && b.count == 0);
    kube_calls_recall(f.client, &b, NULL, f.now);
    CHECK(b.count == 1 && b.unknown == 1);
    fake_free(&f);
}

/* Only what is about one of the owner's things; the others go on. */
static void check_recall_about(void)
{
    struct fake f;
    struct answers a = {0};
    static const char things[2];
    static const char *const paths[] = {"/one/way", "/other/way", "/one/waits", "/other/waits"};
    fake_init(&f);
    test_case("of an owner's calls those about one thing are taken back");
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        struct err e = {0};
        struct kube_request r = {.lane = i < 2 ? KUBE_LANE_PROXY : KUBE_LANE_EVENTS,
                                 .method = SLICE("GET"),
                                 .path = slice_of(paths[i]),
                                 .again = true,
                                 .done = on_answer,
                                 .owner = &a,
                                 .about = &things[i % 2],
                                 .tag = i};
        CHECK(kube_call(f.client, &r, f.now, &e));
    }
    CHECK_INT(f.count, 3); /* the last one waits for the event before it */
    fake_take(f.links[2]);
    fake_answer(f.links[2], 503, "Retry-After: 5\r\n", SLICE("{}"));
    kube_calls_recall(f.client, &a, &things[0], f.now);
    CHECK(a.count == 1 && a.unknown == 1 && a.tag == 2);
    test_case("what is on its way is not sent a second time, and others' is");
    fake_fail(f.links[0], ERR_CLOSED, "reset");
    CHECK(a.count == 2 && a.unknown == 2 && a.tag == 0);
    fake_fail(f.links[1], ERR_CLOSED, "reset");
    CHECK_INT(a.count, 2);
    fake_run(&f, KUBE_BACKOFF_MS);
    CHECK_STR(fake_line(f.links[2]), "GET /other/waits");
    CHECK_STR(fake_line(fake_last(&f)), "GET /other/way");
    fake_answer(f.links[2], 200, "", SLICE("{}"));
    fake_answer(fake_last(&f), 200, "", SLICE("{}"));
    CHECK(a.count == 4 && a.ok == 2);
    fake_free(&f);
}

/* What a slow connection has not taken yet must not follow when its owner may not write any more. */
static void check_recall_of_a_part(void)
{
    enum { BODY = 40 * KIB, PART = 1000 };
    struct fake f;
    struct answers a = {0}, b = {0};
    struct err e = {0};
    char *body = mem_alloc(BODY);
    memset(body, ' ', BODY);
    memcpy(body, "{}", 2);
    fake_init(&f);
    f.manual = true;
    test_case("a request of which only a part was written is taken back, and its connection closed");
    struct kube_request r = {.lane = KUBE_LANE_EVENTS,
                             .method = SLICE("POST"),
                             .path = SLICE("/half"),
                             .content_type = SLICE(KUBE_TYPE_JSON),
                             .body = {body, BODY},
                             .done = on_answer,
                             .owner = &a};
    CHECK(kube_call(f.client, &r, f.now, &e));
    fake_run(&f, 0);
    struct fakelink *l = fake_last(&f);
    l->most = PART;
    fake_open(l);
    CHECK_INT(fake_sent(l).len, PART);
    kube_calls_recall(f.client, &b, NULL, f.now);
    CHECK(a.count == 0 && l->link);
    kube_calls_recall(f.client, &a, NULL, f.now);
    CHECK(a.count == 1 && a.unsent == 1 && !l->link);
    CHECK_INT(fake_sent(l).len, PART);
    fake_free(&f);
    mem_free(body);
}

static void check_lease_lane(void)
{
    struct fake f;
    struct answers a = {0};
    fake_init(&f);
    f.refuse = "connection refused";
    test_case("1.6 the lease's lane never waits long: a renewal is worth nothing when it comes too late");
    call_on(&f, &a, KUBE_LANE_LEASE, "PUT", "{}", false);
    for (int i = 0; i < 20; i++) {
        fake_run(&f, KUBE_BACKOFF_MS);
        CHECK(f.client->lanes[KUBE_LANE_LEASE].not_before_ms <= f.now.mono_ms + KUBE_BACKOFF_MS);
    }
    CHECK_INT(a.count, 0);
    fake_free(&f);
}

/* ---- watches ---- */

static void check_opening(void)
{
    struct watcher t;
    watcher_start(&t, false);
    t.f.manual = true;
    fake_fail(watcher_link(&t), ERR_CLOSED, "reset");
    buf_clear(&t.story);
    fake_run(&t.f, 2 * KUBE_BACKOFF_MS);
    test_case("C5 a list whose connection does not open");
    fake_run(&t.f, KUBE_CALL_MS);
    CHECK_STORY(&t, "T0");
    CHECK(strstr(t.error, "no connection within") != NULL);
    t.f.manual = false;
    test_case("C5 a list that does not end");
    fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
    begin_stream(&t);
    fake_chunk(watcher_link(&t), SLICE("{\"items\":[{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"3\"}},"));
    CHECK_STORY(&t, "R +p");
    fake_run(&t.f, KUBE_CALL_MS);
    CHECK_STORY(&t, "T0");
    CHECK(strstr(t.error, "not complete after") != NULL && !kube_watch_synced(t.w));
    watcher_free(&t);
}

static const struct {
    const char *id, *body, *story, *error;
} lists[] = {
    {"a list without a version", "{\"metadata\":{},\"items\":[]}", "R K T0", "has no resourceVersion"},
    {"an envelope with a key that stands twice", "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[],\"a\":1,\"a\":2}", "R K T0",
     "stands twice"},
    {"an item without a version", "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"p\"}}]}", "R K",
     "an item of pods in namespace a was passed over: it has no resourceVersion"},
    {"something behind the list", "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]} {}", "R S5", ""},
};

static void check_lists(void)
{
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct watcher t;
        watcher_start(&t, false);
        test_case("L7 %s", lists[i].id);
        answer_list(&t, lists[i].body);
        CHECK_STORY(&t, lists[i].story);
        CHECK(strstr(t.error, lists[i].error) != NULL);
        watcher_free(&t);
    }
}

static const struct {
    const char *id, *text, *story, *error;
} events[] = {
    {"no type", "{\"object\":{}}\n", "K", "it has no type"},
    {"a type that is a number", "{\"type\":1,\"object\":{}}\n", "K", "it has no type"},
    {"no version", "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"p\"}}}\n", "K", "it has no resourceVersion"},
    {"a bookmark without a version", "{\"type\":\"BOOKMARK\",\"object\":{}}\n", "K", "it has no resourceVersion"},
    {"a bookmark that goes back", "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n", "T0", "went back"},
};

static void check_events(void)
{
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        struct watcher t;
        watcher_start(&t, false);
        go_live(&t);
        test_case("L9 an event with %s", events[i].id);
        fake_chunk(watcher_link(&t), slice_of(events[i].text));
        CHECK_STORY(&t, events[i].story);
        CHECK(strstr(t.error, events[i].error) != NULL);
        test_case("the list is taken again");
        fake_run(&t.f, 2 * KUBE_BACKOFF_MS);
        CHECK(asks(&t, "limit=500") && asks(&t, "resourceVersion=10&resourceVersionMatch=NotOlderThan"));
        watcher_free(&t);
    }
}

static void check_names(void)
{
    struct watcher t = {0};
    struct err e = {0};
    fake_init(&t.f);
    buf_init(&t.story, MIB);
    t.f.client->no_stream = true;
    struct kube_watch_options o = {.resource = {SLICE("ray.io"), SLICE("v1"), SLICE("rayclusters")}, .on = on_watch, .owner = &t};
    test_case("403 in all namespaces, of a resource of a group");
    t.w = kube_watch_start(t.f.client, &o, &e);
    fake_run(&t.f, 0);
    fake_answer(watcher_link(&t), 403, "", SLICE("{}"));
    CHECK_STORY(&t, "T403");
    CHECK(strstr(t.error, "no right to list rayclusters.ray.io in all namespaces: grant") != NULL);
    kube_watch_stop(t.w);
    fake_run(&t.f, 0);
    test_case("a URL beyond LIMIT_HTTP_URL");
    char *labels = mem_alloc(LIMIT_HTTP_URL);
    memset(labels, 'l', LIMIT_HTTP_URL);
    o.labels = (struct slice){labels, LIMIT_HTTP_URL};
    uint32_t before = t.f.count;
    t.w = kube_watch_start(t.f.client, &o, &e);
    fake_run(&t.f, 0);
    CHECK_STORY(&t, "T0");
    CHECK(strstr(t.error, "LIMIT_HTTP_URL") != NULL && t.f.count == before);
    mem_free(labels);
    watcher_free(&t);
}

static void check_probe_without_labels(void)
{
    struct watcher t = {0};
    struct err e = {0};
    fake_init(&t.f);
    buf_init(&t.story, MIB);
    t.f.client->no_stream = true;
    struct kube_watch_options o = {.resource = {SLICE(""), SLICE("v1"), SLICE("pods")}, .ns = SLICE("a"), .on = on_watch, .owner = &t};
    t.w = kube_watch_start(t.f.client, &o, &e);
    fake_run(&t.f, 0);
    go_live(&t);
    struct fakelink *live = watcher_link(&t);
    test_case("C3 a silent watch of everything is probed, and cut before the probe is answered");
    fake_run(&t.f, KUBE_SILENCE_MS);
    struct fakelink *probe = watcher_link(&t);
    CHECK_STR(fake_line(probe), "GET /api/v1/namespaces/a/pods?limit=1&fieldSelector=metadata.name%3Dp");
    fake_fail(live, ERR_CLOSED, "reset");
    CHECK_STORY(&t, "T0");
    fake_answer(probe, 200, "", SLICE("{\"metadata\":{\"resourceVersion\":\"99\"}}"));
    CHECK_STORY(&t, "");
    fake_run(&t.f, 2 * KUBE_BACKOFF_MS);
    CHECK(asks(&t, "watch=1") && asks(&t, "resourceVersion=10"));
    watcher_free(&t);
}

static void check_restored(void)
{
    struct watcher t;
    struct lines lines;
    watcher_start(&t, false);
    go_live(&t);
    error_event(&t, 410, "Expired");
    log_into(&lines, "store restored");
    test_case("C7 a store that was restored from a backup is said in the log");
    for (int i = 0; i < 3 * WATCH_STALE_LISTS && !lines.count; i++) {
        fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
        answer_list(&t, "{\"metadata\":{\"resourceVersion\":\"4\"},\"items\":[]}");
    }
    CHECK_INT(lines.count, 1);
    CHECK(strstr(lines.last, "seen=10 now=4") != NULL && !kube_watch_synced(t.w));
    answer_list(&t, "{\"metadata\":{\"resourceVersion\":\"4\"},\"items\":[]}");
    CHECK(kube_watch_synced(t.w));
    log_quiet();
    watcher_free(&t);
}

/* ---- events and the lease ---- */

static void say(struct fake *f, struct kube_events *q, struct slice kind, const char *name)
{
    struct kube_event ev = {.about = {SLICE("v1"), kind, SLICE("a"), slice_of(name), SLICE("u")}, .reason = SLICE("R")};
    kube_event_say(q, &ev, f->now);
    fake_run(f, 0);
}

static void check_event_series(void)
{
    struct fake f;
    char name[32];
    fake_init(&f);
    struct kube_events *q = kube_events_new(f.client, SLICE("c"), SLICE("i"));
    test_case("1.5 a series that nobody ended is over after six minutes all the same");
    say(&f, q, SLICE("Pod"), "p");
    fake_answer(fake_last(&f), 201, "", SLICE("{}"));
    fake_run(&f, 6 * 60 * 1000);
    say(&f, q, SLICE("Pod"), "p");
    CHECK(slice_starts(fake_line(fake_last(&f)), SLICE("POST")));
    fake_take(fake_last(&f));
    fake_answer(fake_last(&f), 201, "", SLICE("{}"));
    test_case("LIMIT_KUBE_EVENTS series are kept; the quietest is forgotten for one more");
    for (int i = 0; i < LIMIT_KUBE_EVENTS; i++) {
        snprintf(name, sizeof name, "q-%d", i);
        say(&f, q, SLICE("Pod"), name);
        fake_take(fake_last(&f));
        fake_answer(fake_last(&f), 201, "", SLICE("{}"));
    }
    say(&f, q, SLICE("Pod"), "q-1");
    CHECK(slice_starts(fake_line(fake_last(&f)), SLICE("PATCH")));
    fake_take(fake_last(&f));
    fake_answer(fake_last(&f), 200, "", SLICE("{}"));
    say(&f, q, SLICE("Pod"), "p");
    CHECK(slice_starts(fake_line(fake_last(&f)), SLICE("POST")));
    CHECK_INT(kube_events_dropped(q), 0);
    kube_events_free(q);
    kube_events_free(NULL);
    fake_free(&f);
}

static void check_event_too_large(void)
{
    struct fake f;
    fake_init(&f);
    struct kube_events *q = kube_events_new(f.client, SLICE("c"), SLICE("i"));
    char *kind = mem_alloc(20 * KIB);
    memset(kind, 'k', 20 * KIB);
    test_case("an event that does not fit is dropped and counted");
    say(&f, q, (struct slice){kind, 20 * KIB}, "p");
    CHECK_INT(kube_events_dropped(q), 1);
    CHECK_INT(f.count, 0);
    mem_free(kind);
    kube_events_free(q);
    fake_free(&f);
}

static void check_lease_options(void)
{
    static const struct slice some = {"x", 1};
    struct fake f;
    fake_init(&f);
    for (int missing = 0; missing < 3; missing++) {
        struct err e = {0};
        struct kube_lease_options o = {
            .ns = missing == 0 ? SLICE("") : some, .name = missing == 1 ? SLICE("") : some, .identity = missing == 2 ? SLICE("") : some};
        test_case("1.6 a lease without one of its names (%d)", missing);
        CHECK(kube_lease_start(f.client, &o, &e) == NULL && e.code == ERR_CONFIG);
    }
    kube_lease_free(NULL);
    fake_free(&f);
}

static void check_lease_long(void)
{
    struct fake f;
    struct err e = {0};
    struct lines lines;
    char *text = mem_alloc(8 * KIB);
    memset(text, 'x', 8 * KIB);
    struct kube_lease_options o = {.ns = SLICE("a"), .name = SLICE("n"), .identity = {text, 8 * KIB}};
    fake_init(&f);
    log_into(&lines, "leader election does not work");
    test_case("1.6 an identity that is too long: said, and never leader");
    struct kube_lease *l = kube_lease_start(f.client, &o, &e);
    kube_lease_tick(l, f.now);
    fake_run(&f, 0);
    fake_answer(fake_last(&f), 404, "", SLICE("{}"));
    CHECK_INT(lines.count, 1);
    CHECK(strstr(lines.last, "the identity is too long") != NULL && !kube_lease_held(l, f.now));
    log_quiet();
    kube_lease_free(l);
    fake_free(&f);
    mem_free(text);
}

int main(void)
{
    log_quiet();
    check_requests();
    check_queue_order();
    check_recall();
    check_recall_about();
    check_recall_of_a_part();
    check_lease_lane();
    check_opening();
    check_lists();
    check_events();
    check_names();
    check_probe_without_labels();
    check_restored();
    check_event_series();
    check_event_too_large();
    check_lease_options();
    check_lease_long();
    return test_done();
}
