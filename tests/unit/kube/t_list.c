/* Lists: pages, streams, versions, and what must never be taken for a whole list. */
#include "watcher.h"

#define ITEM(name, version) "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define LIST(version, items)                                                                                                               \
    "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"

static void check_list_then_watch(void)
{
    struct watcher t;
    watcher_start(&t, false);
    test_case("L2 L16 L17 the first list is consistent, by label, whole objects");
    CHECK_STR(fake_line(watcher_link(&t)), "GET /api/v1/namespaces/a/pods?limit=500&labelSelector=ray.io%2Fcluster");
    CHECK(fake_has(watcher_link(&t), "\r\nAccept: application/json\r\n"));
    CHECK(!kube_watch_synced(t.w));
    answer_list(&t, LIST("10", ITEM("p", "3") "," ITEM("q", "7")));
    CHECK_STORY(&t, "R +p +q S10");
    CHECK(kube_watch_synced(t.w));
    CHECK_INT(kube_watch_version(t.w), 10);
    test_case("L1 the watch starts from the list's version, on the same connection");
    CHECK(asks(&t, "watch=1&allowWatchBookmarks=true&timeoutSeconds="));
    CHECK(asks(&t, "&resourceVersion=10&labelSelector=ray.io%2Fcluster"));
    CHECK_INT(t.f.count, 1);
    begin_stream(&t);
    event(&t, "ADDED", "r", 11);
    event(&t, "MODIFIED", "p", 12);
    event(&t, "DELETED", "q", 13);
    CHECK_STORY(&t, "+r P11 +p P12 -q P13");
    watcher_free(&t);
}

static void check_streaming_list(void)
{
    struct watcher t;
    watcher_start(&t, true);
    test_case("L12 streaming list");
    CHECK(asks(&t, "watch=1&allowWatchBookmarks=true"));
    CHECK(asks(&t, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&labelSelector="));
    CHECK(!asks(&t, "resourceVersion="));
    begin_stream(&t);
    event(&t, "ADDED", "p", 9);
    event(&t, "ADDED", "q", 3);
    CHECK_STORY(&t, "R +p +q");
    test_case("L9 synthetic events do not move the version");
    CHECK_INT(kube_watch_version(t.w), 0);
    test_case("L12 a bookmark without the annotation does not end the list");
    event(&t, "BOOKMARK", "", 9);
    CHECK(!kube_watch_synced(t.w));
    initial_end(&t, 10);
    CHECK_STORY(&t, "S10");
    CHECK_INT(kube_watch_version(t.w), 10);
    test_case("L12 the same stream goes on");
    event(&t, "MODIFIED", "p", 11);
    CHECK_STORY(&t, "+p P11");
    CHECK_INT(t.f.count, 1);
    watcher_free(&t);
}

static const struct {
    int code;
    const char *body;
} stream_refusals[] = {
    {400, ""},
    {422, "{\"kind\":\"Status\",\"reason\":\"Invalid\"}"},
    {403, "{\"kind\":\"Status\",\"message\":\"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled\"}"},
};

static void check_stream_refused(void)
{
    for (size_t i = 0; i < COUNT_OF(stream_refusals); i++) {
        struct watcher t;
        watcher_start(&t, true);
        test_case("L12 %d: pages instead, remembered for the client", stream_refusals[i].code);
        fake_take(watcher_link(&t));
        fake_answer(watcher_link(&t), stream_refusals[i].code, "", slice_of(stream_refusals[i].body));
        CHECK(asks(&t, "?limit=500"));
        CHECK(t.f.client->no_stream);
        CHECK_STORY(&t, "");
        watcher_free(&t);
    }
}

static void check_stream_cut(void)
{
    struct watcher t;
    watcher_start(&t, true);
    test_case("L12 streams that end before their bookmark: twice, then pages");
    for (int i = 0; i < WATCH_CUT_STREAMS; i++) {
        CHECK(asks(&t, "sendInitialEvents"));
        begin_stream(&t);
        event(&t, "ADDED", "p", 9);
        fake_last_chunk(watcher_link(&t));
        fake_run(&t.f, 2 * KUBE_BACKOFF_MS);
    }
    CHECK_STORY(&t, "R +p T0 R +p T0");
    CHECK(!kube_watch_synced(t.w));
    CHECK(asks(&t, "?limit=500"));
    watcher_free(&t);
}

static void check_stream_withheld(void)
{
    struct watcher t;
    watcher_start(&t, true);
    test_case("L12 the end bookmark is withheld: given up after KUBE_CALL_MS of silence");
    begin_stream(&t);
    fake_run(&t.f, KUBE_CALL_MS - 1);
    event(&t, "ADDED", "p", 9);
    fake_run(&t.f, KUBE_CALL_MS - 1);
    CHECK_STORY(&t, "R +p");
    fake_run(&t.f, 1);
    CHECK_STORY(&t, "T0");
    CHECK_INT(fake_alive(&t.f), 0);
    test_case("L12 or when the server talks on without it");
    fake_run(&t.f, KUBE_BACKOFF_MS);
    begin_stream(&t);
    for (int i = 0; i < 2; i++) {
        fake_run(&t.f, 30 * 1000);
        event(&t, "BOOKMARK", "", 9);
    }
    CHECK_INT(fake_alive(&t.f), 1);
    fake_run(&t.f, KUBE_CALL_MS - 60 * 1000);
    CHECK_INT(fake_alive(&t.f), 0);
    CHECK(!kube_watch_synced(t.w));
    fake_run(&t.f, 2 * KUBE_BACKOFF_MS);
    CHECK(asks(&t, "?limit=500"));
    watcher_free(&t);
}

static void check_pages(void)
{
    struct watcher t;
    watcher_start(&t, false);
    test_case("L7 pages; metadata may stand behind the items");
    answer_list(&t,
                "{\"apiVersion\":\"v1\",\"items\":[" ITEM("p", "3") "],\"metadata\":{\"continue\":\"t/1=\",\"resourceVersion\":\"10\"}}");
    CHECK_STORY(&t, "R +p");
    CHECK_STR(fake_line(watcher_link(&t)), "GET /api/v1/namespaces/a/pods?limit=500&continue=t%2F1%3D&labelSelector=ray.io%2Fcluster");
    CHECK(!kube_watch_synced(t.w));
    answer_list(&t, "{\"metadata\":{\"continue\":\"t2\",\"resourceVersion\":\"10\"},\"items\":[" ITEM("q", "4") "]}");
    CHECK_STORY(&t, "+q");
    answer_list(&t, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[]}");
    CHECK_STORY(&t, "S10");
    CHECK(asks(&t, "watch=1"));
    CHECK_INT(t.f.count, 1);
    watcher_free(&t);
}

/* A page without items, and where the list goes on. */
static void answer_page(struct watcher *t, struct slice token)
{
    struct buf b;
    buf_init(&b, MIB);
    buf_printf(&b, "{\"metadata\":{\"continue\":\"%.*s\",\"resourceVersion\":\"10\"},\"items\":[]}", SLICE_ARG(token));
    fake_take(watcher_link(t));
    fake_answer(watcher_link(t), 200, "", buf_slice(&b));
    buf_free(&b);
}

/* Told, and asked for again from the first page, after a while. */
static void check_given_up(struct watcher *t, const char *why)
{
    CHECK_STORY(t, "R T0");
    CHECK(strstr(t->error, why) != NULL);
    CHECK(!kube_watch_synced(t->w));
    fake_take(watcher_link(t));
    fake_run(&t->f, 0);
    CHECK(slice_empty(fake_line(watcher_link(t))));
    fake_run(&t->f, KUBE_BACKOFF_MS);
    CHECK(asks(t, "limit=500") && !asks(t, "continue"));
}

/* A server that is broken, or none: a list that does not come to an end is not followed for ever. */
static void check_endless(void)
{
    struct watcher t;
    struct arena a = {0};
    struct slice most = arena_printf(&a, "%0*d", LIMIT_HTTP_URL, 0);
    watcher_start(&t, false);
    test_case("L7 a page that goes on with itself");
    answer_page(&t, SLICE("t"));
    CHECK(asks(&t, "continue=t&"));
    answer_page(&t, SLICE("t"));
    check_given_up(&t, "the same again");
    watcher_free(&t);
    for (uint32_t past = 0; past < 2; past++) {
        watcher_start(&t, false);
        test_case("L7 a continue token of LIMIT_HTTP_URL bytes and %u more: no address holds it", past);
        answer_page(&t, arena_printf(&a, "%.*s%.*s", SLICE_ARG(most), (int)past, "1"));
        check_given_up(&t, past ? "continue token is longer than" : "URL of the watch is longer than");
        watcher_free(&t);
    }
    for (uint32_t past = 0; past < 2; past++) {
        watcher_start(&t, false);
        test_case("L7 LIMIT_KUBE_PAGES and %u more", past);
        for (uint32_t i = 1; i < LIMIT_KUBE_PAGES; i++)
            answer_page(&t, arena_printf(&a, "t%u", i));
        CHECK(asks(&t, arena_printf(&a, "continue=t%d&", LIMIT_KUBE_PAGES - 1).ptr));
        answer_page(&t, past ? SLICE("more") : SLICE(""));
        if (past)
            check_given_up(&t, "LIMIT_KUBE_PAGES");
        else
            CHECK_STORY(&t, "R S10");
        watcher_free(&t);
    }
    arena_free(&a);
}

static void check_page_expired(void)
{
    struct watcher t;
    watcher_start(&t, false);
    test_case("L7 410 in the middle of the pages: from the start, without pages");
    answer_list(&t, "{\"metadata\":{\"continue\":\"t1\",\"resourceVersion\":\"10\"},\"items\":[" ITEM("p", "3") "]}");
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 410, "", SLICE("{\"kind\":\"Status\",\"reason\":\"Expired\"}"));
    fake_run(&t.f, KUBE_BACKOFF_MS);
    CHECK_STR(fake_line(watcher_link(&t)), "GET /api/v1/namespaces/a/pods?labelSelector=ray.io%2Fcluster");
    answer_list(&t, LIST("12", ITEM("p", "3")));
    CHECK_STORY(&t, "R +p R +p S12");
    test_case("L7 pages of two versions are no list");
    watcher_free(&t);
    watcher_start(&t, false);
    answer_list(&t, "{\"metadata\":{\"continue\":\"t1\",\"resourceVersion\":\"10\"},\"items\":[" ITEM("p", "3") "]}");
    answer_list(&t, LIST("11", ITEM("q", "4")));
    CHECK_STORY(&t, "R +p +q");
    CHECK(!kube_watch_synced(t.w));
    fake_run(&t.f, KUBE_BACKOFF_MS);
    CHECK(!asks(&t, "continue"));
    watcher_free(&t);
}

static void check_partial(void)
{
    struct watcher t;
    struct slice body = SLICE(LIST("10", ITEM("p", "3") "," ITEM("q", "7")));
    for (size_t cut = 0; cut < body.len; cut++) {
        char head[128];
        watcher_start(&t, false);
        test_case("L7 a list that is cut at byte %zu is never complete", cut);
        snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", body.len);
        fake_put(watcher_link(&t), slice_of(head));
        fake_put(watcher_link(&t), slice_head(body, cut));
        fake_end(watcher_link(&t));
        CHECK(!kube_watch_synced(t.w) && kube_watch_version(t.w) == 0);
        fake_run(&t.f, KUBE_BACKOFF_MS);
        CHECK(asks(&t, "limit=500"));
        test_case("L7 nor when the server says that this was all of it (%zu)", cut);
        fake_answer(watcher_link(&t), 200, "", slice_head(body, cut));
        CHECK(!kube_watch_synced(t.w) && kube_watch_version(t.w) == 0);
        watcher_free(&t);
    }
}

static void split_bytes(struct buf *list, struct buf *live)
{
    static const char body[] = LIST("10", ITEM("p", "3") "," ITEM("q", "7"));
    static const char events[] =
        "{\"type\":\"ADDED\",\"object\":" ITEM("r", "11") "}\n{\"type\":\"DELETED\",\"object\":" ITEM("q", "12") "}\n";
    buf_init(list, KIB);
    buf_init(live, KIB);
    buf_printf(list, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", sizeof body - 1, body);
    buf_put(live, SLICE("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"));
    http_write_chunk(live, (struct slice){events, 70});
    http_write_chunk(live, (struct slice){events + 70, sizeof events - 1 - 70});
}

/* The same list and events, however the bytes are cut. */
static void check_split(void)
{
    struct buf list, live;
    split_bytes(&list, &live);
    for (size_t at = 0; at <= list.len + live.len; at++) {
        struct watcher t;
        watcher_start(&t, false);
        test_case("L18 split at byte %zu", at);
        size_t a = at < list.len ? at : list.len, b = at - a;
        fake_put(watcher_link(&t), slice_head(buf_slice(&list), a));
        fake_put(watcher_link(&t), slice_skip(buf_slice(&list), a));
        fake_put(watcher_link(&t), slice_head(buf_slice(&live), b));
        fake_put(watcher_link(&t), slice_skip(buf_slice(&live), b));
        CHECK_STORY(&t, "R +p +q S10 +r P11 -q P12");
        watcher_free(&t);
    }
    buf_free(&list);
    buf_free(&live);
}

static void check_relist(void)
{
    struct watcher t;
    watcher_start(&t, false);
    go_live(&t);
    event(&t, "ADDED", "r", 20);
    buf_clear(&t.story);
    test_case("L4 L5 410 as an event: the list is taken again, not older than what was seen");
    error_event(&t, 410, "Expired");
    CHECK_STORY(&t, "");
    CHECK(kube_watch_synced(t.w)); /* the cache stays as it was until the list begins */
    fake_run(&t.f, KUBE_BACKOFF_MS);
    CHECK(asks(&t, "?limit=500&resourceVersion=20&resourceVersionMatch=NotOlderThan"));
    test_case("L8 what is not handed out between RESTART and SYNCED is gone");
    answer_list(&t, LIST("30", ITEM("r", "20")));
    CHECK_STORY(&t, "R +r S30");
    test_case("L5 410 on open: the same");
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 410, "", SLICE("{\"kind\":\"Status\",\"reason\":\"Gone\"}"));
    fake_run(&t.f, 2 * KUBE_BACKOFF_MS);
    CHECK(asks(&t, "&resourceVersion=30&resourceVersionMatch=NotOlderThan"));
    test_case("L5 when the list says Expired: once without a version");
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 410, "", SLICE("{\"kind\":\"Status\",\"reason\":\"Expired\"}"));
    fake_run(&t.f, 4 * KUBE_BACKOFF_MS);
    CHECK(asks(&t, "?limit=500&labelSelector"));
    answer_list(&t, LIST("40", ""));
    CHECK_STORY(&t, "R S40");
    CHECK_INT(kube_client_stats(t.f.client)->watch_restarts, 2);
    watcher_free(&t);
}

static void check_too_large(void)
{
    static const char status[] =
        "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}],"
        "\"retryAfterSeconds\":1}}";
    struct watcher t;
    watcher_start(&t, false);
    go_live(&t);
    test_case("L6 too large a version on a list: without a version next, and no loop");
    error_event(&t, 410, "Expired");
    fake_run(&t.f, KUBE_BACKOFF_MS);
    CHECK(asks(&t, "resourceVersion=10"));
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 504, "Retry-After: 1\r\n", slice_of(status));
    fake_run(&t.f, 2 * KUBE_BACKOFF_MS);
    CHECK(asks(&t, "?limit=500&labelSelector"));
    answer_list(&t, LIST("11", ""));
    CHECK_STORY(&t, "R S11");
    test_case("L6 on a watch: the list is taken again");
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 504, "", slice_of(status));
    fake_run(&t.f, 4 * KUBE_BACKOFF_MS);
    CHECK(asks(&t, "?limit=500&resourceVersion=11"));
    watcher_free(&t);
}

static void check_stale(void)
{
    struct watcher t;
    watcher_start(&t, false);
    go_live(&t);
    event(&t, "ADDED", "r", 50);
    error_event(&t, 410, "Expired");
    buf_clear(&t.story);
    test_case("C7 a list below what was seen is refused and taken again");
    for (int i = 0; i < WATCH_STALE_LISTS; i++) {
        fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
        CHECK(asks(&t, "resourceVersion=50&resourceVersionMatch=NotOlderThan"));
        answer_list(&t, LIST("40", ""));
        CHECK(!kube_watch_synced(t.w));
        CHECK_INT(kube_watch_version(t.w), 50);
    }
    test_case("C7 then without a version; a consistent list is believed in the end: the store was restored");
    for (int i = 0; i < WATCH_STALE_LISTS; i++) {
        fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
        CHECK(asks(&t, "?limit=500&labelSelector"));
        CHECK_INT(kube_watch_version(t.w), 50);
        buf_clear(&t.story);
        answer_list(&t, LIST("40", ""));
        CHECK(!kube_watch_synced(t.w));
    }
    CHECK_STORY(&t, "R R W40");
    CHECK_INT(kube_watch_version(t.w), 0);
    test_case("C7 from there on it is a store as any other");
    CHECK(asks(&t, "?limit=500&labelSelector"));
    answer_list(&t, LIST("41", ""));
    CHECK(kube_watch_synced(t.w));
    CHECK_INT(kube_watch_version(t.w), 41);
    begin_stream(&t);
    error_event(&t, 410, "Expired");
    fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
    CHECK(asks(&t, "resourceVersion=41&resourceVersionMatch=NotOlderThan"));
    buf_clear(&t.story);
    answer_list(&t, LIST("40", ""));
    CHECK_STORY(&t, "R T0");
    test_case("C7 the same for a streaming list");
    watcher_free(&t);
    watcher_start(&t, true);
    begin_stream(&t);
    initial_end(&t, 50);
    error_event(&t, 410, "Expired");
    fake_run(&t.f, KUBE_BACKOFF_MS);
    CHECK(asks(&t, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=50"));
    begin_stream(&t);
    initial_end(&t, 49);
    CHECK(!kube_watch_synced(t.w));
    watcher_free(&t);
}

static void check_stale_count(void)
{
    struct watcher t;
    watcher_start(&t, false);
    go_live(&t);
    test_case("C7 of older lists only those count that had to be newest: one alone is not believed, however many came before");
    error_event(&t, 410, "Expired");
    for (int i = 0; i < WATCH_STALE_LISTS - 1; i++) {
        fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
        answer_list(&t, LIST("9", ""));
    }
    kube_watch_refresh(t.w, t.f.now);
    buf_clear(&t.story);
    for (int i = 0; i < WATCH_STALE_LISTS; i++) {
        CHECK(memchr(t.story.ptr, 'W', t.story.len) == NULL);
        buf_clear(&t.story);
        fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
        CHECK(asks(&t, "?limit=500&labelSelector"));
        answer_list(&t, LIST("9", ""));
    }
    CHECK_STORY(&t, "R R W9");
    watcher_free(&t);
}

/* Its own versions may show nothing: it has been quiet since long before the backup. */
static void check_all_rewound(void)
{
    struct watcher t;
    struct err e = {0};
    struct watcher other = {0};
    struct kube_watch_options o = {
        .resource = {SLICE("ray.io"), SLICE("v1"), SLICE("rayclusters")}, .ns = SLICE("a"), .on = on_watch, .owner = &other};
    buf_init(&other.story, MIB);
    watcher_start(&t, false);
    go_live(&t);
    test_case("C7 when the store went back all watches begin again");
    other.w = kube_watch_start(t.f.client, &o, &e);
    fake_run(&t.f, 0);
    answer_list(&t, LIST("3", ITEM("c", "2")));
    begin_stream(&t);
    CHECK_STORY(&other, "R +c S3");
    struct fakelink *quiet = watcher_link(&t);
    kube_watch_refresh(t.w, t.f.now);
    for (int i = 0; i < WATCH_STALE_LISTS; i++) {
        CHECK(kube_watch_synced(other.w) && quiet->link != NULL);
        fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
        answer_list(&t, LIST("9", ""));
    }
    CHECK_STORY(&other, "R W9");
    CHECK(!kube_watch_synced(other.w) && quiet->link == NULL);
    CHECK(asks(&t, "GET /apis/ray.io/v1/namespaces/a/rayclusters?limit=500") && !asks(&t, "resourceVersion"));
    answer_list(&t, LIST("9", ITEM("c", "1")));
    CHECK_STORY(&other, "R +c S9");
    watcher_free(&t);
    buf_free(&other.story);
}

/* The owner knows objects at version 10: from events, or from answers to its own writes, which may be later than the list. */
static void check_older_objects(void)
{
    struct watcher t;
    watcher_start(&t, false);
    t.known = 10;
    test_case("C7 pages from before an object was written, by a version, are no restore");
    answer_list(&t, LIST("9", ITEM("p", "3")));
    CHECK_STORY(&t, "R +p S9");
    begin_stream(&t);
    event(&t, "MODIFIED", "p", 9);
    error_event(&t, 410, "Expired");
    fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
    CHECK_STORY(&t, "+p P9");
    test_case("C7 pages that are as new as an object, and show an older one: the store was restored, and its versions were raised");
    CHECK(asks(&t, "resourceVersion=9&resourceVersionMatch=NotOlderThan"));
    answer_list(&t, LIST("10", ITEM("p", "3")));
    CHECK_STORY(&t, "R +p"); /* it may be of a cache that is wrong */
    fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
    CHECK(asks(&t, "?limit=500&labelSelector"));
    answer_list(&t, LIST("10", ITEM("p", "3")));
    CHECK_STORY(&t, "R +p R W10");
    t.known = 0;
    fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
    answer_list(&t, LIST("10", ITEM("p", "3")));
    CHECK_STORY(&t, "R +p S10");
    watcher_free(&t);
    test_case("C7 a stream may begin with an old state: pages tell, and are as usual afterwards");
    watcher_start(&t, true);
    begin_stream(&t);
    t.known = 10;
    event(&t, "ADDED", "p", 3);
    event(&t, "MODIFIED", "p", 10);
    initial_end(&t, 11);
    CHECK_STORY(&t, "R +p +p");
    fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
    CHECK(asks(&t, "?limit=500&labelSelector"));
    answer_list(&t, LIST("12", ITEM("p", "10")));
    CHECK_STORY(&t, "R +p S12");
    begin_stream(&t);
    error_event(&t, 410, "Expired");
    fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
    CHECK(asks(&t, "sendInitialEvents=true"));
    watcher_free(&t);
}

static void check_absent(void)
{
    struct watcher t;
    watcher_start(&t, false);
    test_case("404 of the core's own, which every server has, is no answer");
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 404, "", SLICE("404 page not found"));
    CHECK_STORY(&t, "T404");
    CHECK(!kube_watch_synced(t.w));
    fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
    test_case("404: a custom resource that the server does not know is an empty, complete list");
    t.w->what.resource.group = SLICE("ray.io");
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 404, "", SLICE("404 page not found"));
    CHECK_STORY(&t, "A");
    CHECK(kube_watch_synced(t.w));
    fake_run(&t.f, WATCH_ABSENT_MS - 1);
    CHECK_INT(fake_sent(watcher_link(&t)).len, 0);
    fake_run(&t.f, 1);
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 404, "", SLICE("404 page not found"));
    CHECK_STORY(&t, "");
    fake_run(&t.f, WATCH_ABSENT_MS);
    answer_list(&t, LIST("10", ""));
    CHECK_STORY(&t, "R S10");
    watcher_free(&t);
    test_case("404 of a later page: what the first one held has gone, and the list after it begins with its first page");
    watcher_start(&t, false);
    t.w->what.resource.group = SLICE("ray.io");
    answer_list(&t, "{\"metadata\":{\"continue\":\"t1\",\"resourceVersion\":\"10\"},\"items\":[" ITEM("p", "3") "]}");
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 404, "", SLICE("404 page not found"));
    CHECK_STORY(&t, "R +p A");
    fake_run(&t.f, WATCH_ABSENT_MS);
    CHECK(!asks(&t, "continue"));
    answer_list(&t, LIST("10", ITEM("p", "3")));
    CHECK_STORY(&t, "R +p S10");
    watcher_free(&t);
}

static void check_forbidden(void)
{
    struct watcher t;
    watcher_start(&t, false);
    test_case("403 names verb, resource and namespace, once");
    for (int i = 0; i < 3; i++) {
        fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
        fake_take(watcher_link(&t));
        fake_answer(watcher_link(&t), 403, "", SLICE("{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"no\"}"));
    }
    CHECK_STORY(&t, "T403");
    CHECK_STR(slice_of(t.error), "no right to list pods in namespace a: grant the verbs list and watch to this user (no)");
    CHECK(!kube_watch_synced(t.w));
    test_case("another trouble is told, and the end of it is a RESTART");
    fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
    fake_take(watcher_link(&t));
    fake_answer(watcher_link(&t), 500, "", SLICE(""));
    fake_run(&t.f, KUBE_BACKOFF_MAX_MS);
    answer_list(&t, LIST("10", ""));
    CHECK_STORY(&t, "T500 R S10");
    watcher_free(&t);
}

static void check_not_json(void)
{
    struct watcher t;
    watcher_start(&t, false);
    test_case("200 that is no JSON is somebody else's page");
    fake_put(watcher_link(&t), SLICE("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"));
    CHECK_STORY(&t, "T0");
    CHECK_INT(fake_alive(&t.f), 0);
    watcher_free(&t);
}

int main(void)
{
    log_quiet();
    check_list_then_watch();
    check_streaming_list();
    check_stream_refused();
    check_stream_cut();
    check_stream_withheld();
    check_pages();
    check_endless();
    check_page_expired();
    check_partial();
    check_split();
    check_relist();
    check_too_large();
    check_stale();
    check_stale_count();
    check_all_rewound();
    check_older_objects();
    check_absent();
    check_forbidden();
    check_not_json();
    return test_done();
}
