/* Live watches: versions, ends, silence, errors, and items that cannot be read. */
#include "watcher.h"

#define ITEM(name, version) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define LIST(version, items) "{\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"

static void start_live(struct watcher *t)
{
    watcher_start(t, false);
    go_live(t);
}

static void check_events(void)
{
    struct watcher t;
    start_live(&t);
    test_case("L11 bookmarks move the version");
    event(&t, "BOOKMARK", "", 20);
    CHECK_STORY(&t, "P20");
    CHECK_INT(kube_watch_version(t.w), 20);
    test_case("W12 the version is that of everything handed out");
    event(&t, "ADDED", "q", 21);
    CHECK_STORY(&t, "+q P21");
    CHECK_INT(kube_watch_version(t.w), 21);
    test_case("L9 unknown types are ignored");
    event(&t, "FROBBED", "x", 22);
    CHECK_STORY(&t, "");
    CHECK_INT(kube_watch_version(t.w), 21);
    test_case("L10 ADDED of a known object, DELETED of an unknown one, the same event twice");
    event(&t, "ADDED", "p", 23);
    event(&t, "DELETED", "never-seen", 24);
    event(&t, "DELETED", "never-seen", 24);
    CHECK_STORY(&t, "+p P23 -never-seen P24 -never-seen P24");
    CHECK_INT(kube_client_stats(t.f.client)->watch_restarts, 0);
    watcher_free(&t);
}

static void check_backwards(void)
{
    struct watcher t;
    start_live(&t);
    test_case("L3 a stream that goes back has holes: the list is taken again");
    event(&t, "ADDED", "q", 21);
    event(&t, "ADDED", "r", 20);
    CHECK_STORY(&t, "+q P21 T0");
    fake_run(&t.f, KUBE_BACKOFF_MS);
    CHECK(asks(&t, "?limit=500&resourceVersion=21"));
    watcher_free(&t);
}

static void check_normal_end(void)
{
    struct watcher t;
    start_live(&t);
    test_case("L13 the server ends the watch in time: on at once, from the same version, on the same connection");
    fake_run(&t.f, 240 * 1000 - KUBE_SILENCE_MS);
    event(&t, "BOOKMARK", "", 30);
    fake_run(&t.f, 60 * 1000);
    buf_clear(&t.story);
    fake_last_chunk(watcher_link(&t));
    CHECK_STORY(&t, "");
    CHECK(asks(&t, "watch=1") && asks(&t, "&resourceVersion=30"));
    CHECK_INT(t.f.count, 1);
    watcher_free(&t);
}

static void check_timeout_range(void)
{
    struct watcher t;
    long low = 1000, high = 0;
    start_live(&t);
    test_case("L13 timeoutSeconds is random in [240, 290]");
    for (int i = 0; i < 400; i++) {
        fake_run(&t.f, 2000);
        fake_last_chunk(watcher_link(&t));
        const char *at = memmem(t.f.links[0]->out.ptr, t.f.links[0]->out.len, "timeoutSeconds=", 15);
        long seconds = at ? strtol(at + 15, NULL, 10) : 0;
        low = seconds < low ? seconds : low;
        high = seconds > high ? seconds : high;
        begin_stream(&t);
    }
    CHECK_INT(low, KUBE_WATCH_SECONDS - WATCH_SPREAD_SECONDS);
    CHECK_INT(high, KUBE_WATCH_SECONDS);
    watcher_free(&t);
}

static void check_overdue(void)
{
    struct watcher t;
    start_live(&t);
    test_case("L13 the server does not end it: 5 s later we do");
    for (int i = 0; i < 4; i++) {
        fake_run(&t.f, 60 * 1000);
        event(&t, "BOOKMARK", "", 30);
    }
    buf_clear(&t.story);
    fake_run(&t.f, 55 * 1000);
    CHECK(t.f.links[0]->link == NULL);
    CHECK_STORY(&t, "");
    CHECK_INT(t.f.count, 2);
    CHECK(asks(&t, "watch=1") && asks(&t, "&resourceVersion=30"));
    watcher_free(&t);
}

static void check_short(void)
{
    struct watcher t;
    start_live(&t);
    test_case("L14 a watch that ends at once without an event backs off");
    fake_last_chunk(watcher_link(&t));
    CHECK_STORY(&t, "T0");
    CHECK_INT(fake_sent(watcher_link(&t)).len, 0);
    fake_run(&t.f, KUBE_BACKOFF_MS);
    CHECK(asks(&t, "watch=1") && asks(&t, "&resourceVersion=10"));
    test_case("L14 with an event it does not");
    begin_stream(&t);
    event(&t, "ADDED", "q", 11);
    fake_last_chunk(watcher_link(&t));
    CHECK(asks(&t, "&resourceVersion=11"));
    watcher_free(&t);
}

static void check_unreachable(void)
{
    struct watcher t;
    start_live(&t);
    event(&t, "ADDED", "q", 11);
    buf_clear(&t.story);
    test_case("L15 the connection breaks: the same version, no list");
    fake_fail(watcher_link(&t), ERR_CLOSED, "reset by peer");
    CHECK_STORY(&t, "T0");
    CHECK(kube_watch_synced(t.w));
    t.f.manual = true;
    test_case("L15 refused: backoff of 0.8 s, doubled up to 30 s, one half of it random");
    int64_t cap = KUBE_BACKOFF_MS;
    for (int i = 0; i < 10; i++) {
        int64_t wait = t.w->not_before_ms - t.f.now.mono_ms;
        CHECK(wait >= cap / 2 && wait <= cap);
        fake_run(&t.f, wait);
        fake_fail(watcher_link(&t), ERR_CONNECT, "connection refused");
        cap = cap * 2 < KUBE_BACKOFF_MAX_MS ? cap * 2 : KUBE_BACKOFF_MAX_MS;
    }
    CHECK_STORY(&t, "T0"); /* another kind of trouble, once */
    t.f.manual = false;
    fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
    CHECK(asks(&t, "&resourceVersion=11"));
    test_case("L15 after two quiet minutes the backoff starts again");
    struct fakelink *live = watcher_link(&t);
    begin_stream(&t);
    fake_answer(watcher_link(&t), 200, "", SLICE(LIST("11", ITEM("q", "11")))); /* where the server stands */
    for (int i = 0; i < 3; i++) {
        fake_run(&t.f, 41 * 1000);
        fake_chunk(live, SLICE("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"20\"}}}\n"));
    }
    CHECK_INT(kube_watch_version(t.w), 20);
    fake_fail(live, ERR_CLOSED, "reset by peer");
    CHECK(t.w->not_before_ms - t.f.now.mono_ms <= KUBE_BACKOFF_MS);
    watcher_free(&t);
}

static void check_throttled(void)
{
    struct watcher t;
    start_live(&t);
    fake_run(&t.f, 2000);
    fake_last_chunk(watcher_link(&t));
    test_case("L15 C9 429 on open: Retry-After, then the same version, no list");
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 429, "Retry-After: 5\r\n", SLICE("{\"kind\":\"Status\",\"reason\":\"TooManyRequests\"}"));
    CHECK_STORY(&t, "T429");
    fake_run(&t.f, 4999);
    CHECK_INT(fake_sent(watcher_link(&t)).len, 0);
    fake_run(&t.f, 1);
    CHECK(asks(&t, "watch=1") && asks(&t, "&resourceVersion=10"));
    test_case("a stream that opens ends the trouble: its next event may be long in coming");
    begin_stream(&t);
    CHECK_STORY(&t, "P10");
    test_case("500 as an event: the same version");
    error_event(&t, 500, "InternalError");
    fake_run(&t.f, 2 * KUBE_BACKOFF_MS);
    CHECK(asks(&t, "watch=1") && asks(&t, "&resourceVersion=10"));
    CHECK_STORY(&t, "T500");
    watcher_free(&t);
}

static void check_silence(void)
{
    struct watcher t;
    start_live(&t);
    test_case("C3 silence for 150 s is probed");
    fake_run(&t.f, KUBE_SILENCE_MS - 1);
    CHECK_INT(t.f.count, 1);
    fake_run(&t.f, 1);
    CHECK_INT(t.f.count, 2);
    CHECK_STR(fake_line(t.f.links[1]),
              "GET /api/v1/namespaces/a/pods?limit=1&labelSelector=ray.io%2Fcluster&fieldSelector=metadata.name%3Dp");
    test_case("C3 nothing was missed: it goes on");
    fake_answer(t.f.links[1], 200, "", SLICE(LIST("10", ITEM("p", "3"))));
    CHECK(t.f.links[0]->link != NULL);
    watcher_free(&t);

    start_live(&t);
    test_case("C3 something was missed: another connection, the same version");
    fake_run(&t.f, KUBE_SILENCE_MS);
    fake_answer(t.f.links[1], 200, "", SLICE(LIST("11", ITEM("q", "11"))));
    CHECK(t.f.links[0]->link == NULL);
    CHECK(asks(&t, "watch=1") && asks(&t, "&resourceVersion=10"));
    CHECK_STORY(&t, "");
    watcher_free(&t);

    start_live(&t);
    test_case("C3 the server stands below what was seen: its store was restored, and the watch would stay deaf");
    fake_run(&t.f, KUBE_SILENCE_MS);
    fake_answer(t.f.links[1], 200, "", SLICE(LIST("9", ITEM("p", "3"))));
    CHECK(t.f.links[0]->link == NULL);
    CHECK(asks(&t, "?limit=500&labelSelector"));
    for (int i = 1; i < WATCH_STALE_LISTS; i++) {
        answer_list(&t, LIST("9", ITEM("p", "3")));
        CHECK_STORY(&t, "R +p T0");
        CHECK(!kube_watch_synced(t.w));
        fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
        CHECK(asks(&t, "?limit=500&labelSelector"));
    }
    answer_list(&t, LIST("9", ITEM("p", "3")));
    CHECK_STORY(&t, "R +p R W9");
    CHECK(!kube_watch_synced(t.w));
    CHECK(asks(&t, "?limit=500&labelSelector"));
    answer_list(&t, LIST("9", ITEM("p", "3")));
    CHECK_STORY(&t, "R +p S9");
    CHECK(asks(&t, "watch=1") && asks(&t, "&resourceVersion=9"));
    watcher_free(&t);

    start_live(&t);
    test_case("C3 the probe fails: the same");
    fake_run(&t.f, KUBE_SILENCE_MS);
    fake_run(&t.f, WATCH_PROBE_MS);
    CHECK(t.f.links[0]->link == NULL);
    CHECK(asks(&t, "&resourceVersion=10"));
    test_case("a watch that is stopped while it probes");
    begin_stream(&t);
    fake_run(&t.f, KUBE_SILENCE_MS);
    kube_watch_stop(t.w);
    fake_run(&t.f, WATCH_PROBE_MS);
    watcher_free(&t);
}

/* One call that was not answered is trouble; in a quiet cluster the next one may be minutes away. */
static void check_goes_on(void)
{
    struct watcher t;
    struct answers a = {0};
    start_live(&t);
    const struct kube_client_stats *stats = kube_client_stats(t.f.client);
    struct fakelink *live = watcher_link(&t);
    test_case("after a call that was not answered a watch that goes on says that the server is there");
    get(&t.f, &a);
    fake_run(&t.f, KUBE_CALL_MS);
    CHECK_INT(a.unknown, 1);
    CHECK_INT(stats->trouble.code, ERR_TIMEOUT);
    fake_chunk(live, SLICE("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"11\"}}}\n"));
    CHECK_INT(stats->trouble.code, ERR_NONE);
    test_case("it needs no credentials any more, and says nothing of them");
    get(&t.f, &a);
    for (int i = 0; i < 2; i++) { /* with fresh ones too */
        fake_run(&t.f, 0);
        fake_answer(watcher_link(&t), 401, "", SLICE(""));
    }
    CHECK_INT(a.refused, 1);
    CHECK_INT(stats->trouble.code, ERR_STATUS);
    fake_chunk(live, SLICE("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"12\"}}}\n"));
    CHECK_INT(stats->trouble.code, ERR_STATUS);
    watcher_free(&t);
}

static void check_new_link(void)
{
    static const struct {
        const char *id, *version;
        bool below;
    } cases[] = {{"is where it was", "10", false}, {"is further", "4711", false}, {"has gone back", "9", true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct watcher t;
        char list[256];
        start_live(&t);
        test_case("C3 on another connection the server is asked where it stands: it %s", cases[i].id);
        fake_fail(watcher_link(&t), ERR_CLOSED, "reset by peer");
        fake_run(&t.f, KUBE_BACKOFF_MS);
        struct fakelink *live = watcher_link(&t);
        CHECK(asks(&t, "watch=1") && asks(&t, "&resourceVersion=10"));
        CHECK_INT(t.f.count, 2);
        begin_stream(&t);
        struct fakelink *probe = watcher_link(&t);
        CHECK_STR(fake_line(probe), "GET /api/v1/namespaces/a/pods?limit=1&labelSelector=ray.io%2Fcluster&fieldSelector=metadata.name%3Dp");
        buf_clear(&t.story);
        fake_chunk(live, SLICE("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"q\",\"resourceVersion\":\"12\"}}}\n"));
        CHECK_STORY(&t, "+q P12"); /* the answer may have been on its way when it came */
        snprintf(list, sizeof list, LIST("%s", ITEM("p", "3")), cases[i].version);
        fake_answer(probe, 200, "", slice_of(list));
        CHECK((live->link == NULL) == cases[i].below);
        fake_run(&t.f, 0);
        CHECK_INT(t.f.count, cases[i].below ? 4 : 3);
        CHECK(!cases[i].below || (asks(&t, "?limit=500&") && !asks(&t, "resourceVersion")));
        watcher_free(&t);
    }
    struct watcher t;
    start_live(&t);
    test_case("C3 a probe that is not answered is no reason to begin again while the watch speaks");
    fake_fail(watcher_link(&t), ERR_CLOSED, "reset by peer");
    fake_run(&t.f, KUBE_BACKOFF_MS);
    struct fakelink *live = watcher_link(&t);
    begin_stream(&t);
    fake_run(&t.f, WATCH_PROBE_MS);
    CHECK(live->link != NULL && !t.w->probe.under_way && !t.w->probe.new_link);
    watcher_free(&t);

    start_live(&t);
    test_case("C3 … and one that could not be sent, because calls wait for a server in trouble, is asked again");
    struct lane *lane = &t.f.client->lanes[KUBE_LANE_MAIN];
    fake_fail(watcher_link(&t), ERR_CLOSED, "reset by peer");
    fake_run(&t.f, KUBE_BACKOFF_MS);
    live = watcher_link(&t);
    lane->not_before_ms = t.f.now.mono_ms + 3 * WATCH_PROBE_MS;
    begin_stream(&t);
    fake_run(&t.f, WATCH_PROBE_MS);
    CHECK(live->link != NULL && t.w->probe.under_way && lane->queued == 1);
    fake_run(&t.f, 2 * WATCH_PROBE_MS + 1);
    fake_answer(watcher_link(&t), 200, "", SLICE(LIST("9", "")));
    CHECK(live->link == NULL);
    watcher_free(&t);
}

#define POD_OF_B(name, version) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"b\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

/* On another connection to a server that has come further than the watch, and that may be another store. */
static struct fakelink *probe_newest(struct watcher *t, const char *event)
{
    start_live(t);
    fake_chunk(watcher_link(t), slice_of(event));
    fake_fail(watcher_link(t), ERR_CLOSED, "reset by peer");
    fake_run(&t->f, 2 * KUBE_BACKOFF_MS);
    begin_stream(t);
    buf_clear(&t->story);
    return watcher_link(t);
}

static void check_newest(void)
{
    static const struct {
        const char *id, *items, *story;
    } cases[] = {
        {"as it was", POD_OF_B("q", "12"), ""},
        {"newer", POD_OF_B("q", "40"), ""},
        {"older: the store was restored", POD_OF_B("q", "4"), "R W4"},
        {"gone, and the watch did not say so", "", "R"},
    };
    struct watcher t;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char list[256];
        test_case("C3 on another connection the newest object is asked for: it is %s", cases[i].id);
        struct fakelink *probe = probe_newest(&t, EVENT("ADDED", POD_OF_B("q", "12")));
        CHECK_STR(fake_line(probe),
                  "GET /api/v1/namespaces/a/pods?limit=1&labelSelector=ray.io%2Fcluster&fieldSelector=metadata.name%3Dq%2C"
                  "metadata.namespace%3Db");
        snprintf(list, sizeof list, LIST("4711", "%s"), cases[i].items);
        fake_answer(probe, 200, "", slice_of(list));
        CHECK_STORY(&t, cases[i].story);
        fake_run(&t.f, 0);
        CHECK(!cases[i].story[0] || (asks(&t, "?limit=500&") && !asks(&t, "resourceVersion")));
        watcher_free(&t);
    }
    test_case("C3 the watch says that it is gone before the probe does");
    struct fakelink *probe = probe_newest(&t, EVENT("ADDED", POD_OF_B("q", "12")));
    fake_chunk(t.f.links[t.f.count - 2], SLICE(EVENT("DELETED", POD_OF_B("q", "13"))));
    fake_answer(probe, 200, "", SLICE(LIST("4711", "")));
    CHECK_STORY(&t, "-q P13");
    watcher_free(&t);

    test_case("C3 no newest object is known, because it was deleted: any is asked for");
    probe = probe_newest(&t, EVENT("DELETED", "{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"12\"}}"));
    CHECK_STR(fake_line(probe), "GET /api/v1/namespaces/a/pods?limit=1&labelSelector=ray.io%2Fcluster");
    fake_answer(probe, 200, "", SLICE(LIST("4711", "")));
    CHECK_STORY(&t, "");
    watcher_free(&t);
}

static void check_malformed(void)
{
    struct watcher t;
    static const char twice[] = "{\"metadata\":{\"name\":\"q\",\"name\":\"z\",\"resourceVersion\":\"5\"}}";
    watcher_start(&t, false);
    test_case("L19 an item with a duplicate key is passed over, and the list taken again");
    char list[512];
    snprintf(list, sizeof list, LIST("10", ITEM("p", "3") ",%s," ITEM("r", "6")), twice);
    answer_list(&t, list);
    CHECK_STORY(&t, "R +p K +r");
    CHECK(strstr(t.error, "an item of pods in namespace a was passed over") != NULL);
    CHECK(!kube_watch_synced(t.w));
    test_case("the same again: it must not block all others");
    fake_run(&t.f, KUBE_BACKOFF_MS);
    answer_list(&t, list);
    CHECK_STORY(&t, "R +p K +r S10");
    CHECK_INT(kube_client_stats(t.f.client)->watch_skipped, 2);
    test_case("an object that could not be read is not missed for ever: a minute later the list is taken again");
    CHECK(asks(&t, "watch=1") && asks(&t, "&timeoutSeconds=60&resourceVersion=10"));
    begin_stream(&t);
    fake_run(&t.f, WATCH_HOLE_SECONDS * 1000);
    fake_last_chunk(watcher_link(&t));
    CHECK(asks(&t, "limit=500"));
    answer_list(&t, LIST("10", ITEM("p", "3") "," ITEM("q", "5")));
    CHECK_STORY(&t, "R +p +q S10");
    CHECK(asks(&t, "watch=1") && !asks(&t, "&timeoutSeconds=60&"));
    test_case("a server that does not end that watch changes nothing");
    begin_stream(&t);
    t.w->list.skip_known = true;
    fake_run(&t.f, (KUBE_WATCH_SECONDS * 1000) + WATCH_MARGIN_MS);
    CHECK(asks(&t, "limit=500"));
    answer_list(&t, list);
    CHECK_STORY(&t, "R +p K +r S10");
    test_case("a live event that cannot be read: the list is taken again, once");
    begin_stream(&t);
    fake_chunk(watcher_link(&t), SLICE("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"no version\"}}}\n"));
    CHECK_STORY(&t, "K");
    fake_run(&t.f, 2 * KUBE_BACKOFF_MS);
    CHECK(asks(&t, "limit=500"));
    answer_list(&t, list);
    CHECK_STORY(&t, "R +p K +r S10");
    test_case("invalid UTF-8");
    begin_stream(&t);
    fake_chunk(watcher_link(&t), SLICE("{\"type\":\"ADDED\",\"object\":\"\xff\"}\n"));
    CHECK_STORY(&t, "K");
    watcher_free(&t);
}

#define OF_KIND(kind, version)                                                                                                             \
    "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"" kind "\",\"apiVersion\":\"" version "\",\"metadata\":{\"name\":\"q\","                \
    "\"resourceVersion\":\"12\"}}}\n"

static void check_another_kind(void)
{
    struct watcher t;
    static const char *const foreign[] = {OF_KIND("Secret", "v1"), OF_KIND("Pod", "metrics.k8s.io/v1"), OF_KIND("Pod", "v2")};
    for (size_t i = 0; i < COUNT_OF(foreign); i++) {
        start_live(&t);
        test_case("an object of another kind or group is malformed: passed over, and the list taken again");
        fake_chunk(watcher_link(&t), slice_of(foreign[i]));
        CHECK_STORY(&t, "K");
        CHECK(strstr(t.error, i == 0 ? "its kind is not Pod" : "its apiVersion is not v1") != NULL);
        fake_run(&t.f, KUBE_BACKOFF_MS);
        CHECK(asks(&t, "limit=500"));
        watcher_free(&t);
    }
    start_live(&t);
    test_case("one of the kind is taken");
    fake_chunk(watcher_link(&t), SLICE(OF_KIND("Pod", "v1")));
    CHECK_STORY(&t, "+q P12");
    watcher_free(&t);
}

static void check_broken_stream(void)
{
    struct watcher t;
    start_live(&t);
    test_case("bytes that are no stream of objects: counted, and the list is taken again");
    fake_chunk(watcher_link(&t), SLICE("<html>\n"));
    CHECK_STORY(&t, "K T0");
    fake_run(&t.f, KUBE_BACKOFF_MS);
    CHECK(asks(&t, "?limit=500&resourceVersion=10"));
    CHECK(kube_watch_synced(t.w));
    watcher_free(&t);

    start_live(&t);
    test_case("a stream that ends inside an event: it is asked for again from the same version");
    fake_chunk(watcher_link(&t), SLICE("{\"type\":\"ADDED\",\"obj"));
    fake_last_chunk(watcher_link(&t));
    CHECK_STORY(&t, "T0");
    fake_run(&t.f, KUBE_BACKOFF_MS);
    CHECK(asks(&t, "watch=1") && asks(&t, "&resourceVersion=10"));
    watcher_free(&t);
}

static void put_padded(struct watcher *t, const char *name, unsigned version, size_t size)
{
    struct buf b;
    buf_init(&b, size);
    buf_printf(&b, "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%u\"},\"pad\":\"", name,
               version);
    memset(buf_room(&b, size - b.len), 'x', size - b.len);
    b.len = size - 3;
    buf_put(&b, SLICE("\"}}"));
    fake_chunk(watcher_link(t), buf_slice(&b));
    buf_free(&b);
}

static void check_large(void)
{
    struct watcher t;
    start_live(&t);
    test_case("L18 an object of 1.5 MiB, and one at the limit");
    put_padded(&t, "big", 11, 3 * MIB / 2);
    put_padded(&t, "bigger", 12, LIMIT_JSON_ITEM);
    CHECK_STORY(&t, "+big P11 +bigger P12");
    test_case("L18 its memory does not stay");
    CHECK(t.w->slicer.item.cap <= WATCH_MEMORY_KEPT);
    test_case("L18 one byte more is passed over, and the list taken again");
    put_padded(&t, "too-big", 13, LIMIT_JSON_ITEM + 1);
    CHECK_STORY(&t, "K");
    fake_run(&t.f, KUBE_BACKOFF_MS);
    CHECK(asks(&t, "?limit=500&resourceVersion=12"));
    watcher_free(&t);
}

static void check_stop(void)
{
    struct watcher t;
    watcher_start(&t, false);
    test_case("a watch that its owner stops inside a callback");
    t.stop_at_item = true;
    answer_list(&t, LIST("10", ITEM("p", "3") "," ITEM("q", "4")));
    CHECK_STORY(&t, "R +p");
    CHECK_INT(fake_alive(&t.f), 0);
    CHECK_INT(t.f.client->watch_count, 0);
    watcher_free(&t);
}

static void check_limit(void)
{
    struct fake f;
    struct err e = {0};
    struct kube_watch_options o = {.resource = {SLICE("ray.io"), SLICE("v1"), SLICE("rayclusters")}, .on = on_watch};
    fake_init(&f);
    test_case("LIMIT_KUBE_WATCHES");
    struct kube_watch *last = NULL;
    for (int i = 0; i < LIMIT_KUBE_WATCHES; i++)
        last = kube_watch_start(f.client, &o, &e);
    CHECK(last != NULL);
    CHECK(kube_watch_start(f.client, &o, &e) == NULL && e.code == ERR_LIMIT);
    kube_watch_stop(last);
    CHECK(kube_watch_start(f.client, &o, &e) != NULL);
    test_case("C1 each watch has a connection of its own; all namespaces of a custom resource");
    fake_run(&f, 0);
    CHECK_INT(f.count, LIMIT_KUBE_WATCHES);
    CHECK(slice_starts(fake_line(f.links[0]), SLICE("GET /apis/ray.io/v1/rayclusters?watch=1")));
    fake_free(&f);
}

static void check_unauthorized(void)
{
    struct watcher t;
    char path[] = "/tmp/mobula-t-watch-XXXXXX";
    watcher_start(&t, false);
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "secret-2", 8) == 8);
    t.f.config->private_->settings.token.path = path;
    test_case("1.7 401 on a watch: the credentials are read again");
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 401, "", SLICE(""));
    fake_run(&t.f, KUBE_BACKOFF_MS);
    CHECK(fake_has(watcher_link(&t), "Bearer secret-2"));
    CHECK_STORY(&t, "T401");
    CHECK_INT(kube_client_stats(t.f.client)->trouble.code, ERR_NONE);
    test_case("1.7 401 with fresh credentials too: the client says so for all watches");
    fake_answer(watcher_link(&t), 401, "", SLICE(""));
    CHECK(strstr(kube_client_stats(t.f.client)->trouble.text, "401 Unauthorized") != NULL);
    close(fd);
    unlink(path);
    watcher_free(&t);
}

int main(void)
{
    log_quiet();
    check_events();
    check_backwards();
    check_normal_end();
    check_timeout_range();
    check_overdue();
    check_short();
    check_unreachable();
    check_throttled();
    check_silence();
    check_goes_on();
    check_new_link();
    check_newest();
    check_malformed();
    check_another_kind();
    check_broken_stream();
    check_large();
    check_stop();
    check_limit();
    check_unauthorized();
    return test_done();
}
