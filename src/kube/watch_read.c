#include "watch.h"

#include "status.h"

/* All watches are of one store. What any of them has seen is no more, whether its own versions show that or not: their owners forget it,
 * and all begin as at the start. */
void watch_rewound(struct kube_watch *by, const char *why, uint64_t seen, uint64_t is, struct now now)
{
    log_warn(why, LF("resource", by->what.resource.plural), LF("namespace", by->what.ns), LF_INT("seen", seen), LF_INT("now", is));
    for (struct kube_watch *w = by->client->watches; w; w = w->next) {
        w->highest = w->version = w->probe.version = w->probe.newest = 0;
        w->list.stale = 0;
        w->list.paged = false;
        kube_watch_refresh(w, now);
        watch_say(w, KUBE_WATCH_REWOUND, (struct jval){.at = -1}, is, now);
    }
}

/* C7: a server that lags behind another one, seen before, must not turn the time back. But a consistent list that is older again and again
 * is the truth: the store was restored from a backup. */
static void stale_list(struct kube_watch *w, uint64_t version, struct now now)
{
    struct err e = {0};
    struct arena a = {0};
    if (w->list.consistent && w->list.stale < WATCH_STALE_LISTS)
        w->list.stale = WATCH_STALE_LISTS;
    w->list.consistent |= ++w->list.stale >= WATCH_STALE_LISTS;
    if (w->list.stale >= 2 * WATCH_STALE_LISTS) {
        watch_rewound(w, WATCH_WENT_BACK, w->highest, version, now);
        return;
    }
    err_set(&e, ERR_STATUS, "list of %.*s is older (%llu) than what was seen before (%llu): refused", SLICE_ARG(watch_name(w, &a)),
            (unsigned long long)version, (unsigned long long)w->highest);
    watch_fail(w, &e, NULL, -1, now);
    arena_free(&a);
}

/* The owner has a newer version of an object, and the list is newer than that, too: the store was restored, and its versions were raised
 * (etcdutl's --bump-revision). A stream may have begun with an old state, and a cache may be wrong: only pages of a consistent list are
 * believed. Returns whether that is so. */
static bool list_contradicted(struct kube_watch *w, uint64_t version, struct now now)
{
    if (!w->list.newer || w->list.newer > version)
        return false;
    bool proof = w->phase == WATCH_LIST && w->list.consistent;
    if (proof)
        watch_rewound(w, WATCH_OLDER, w->list.newer, version, now);
    w->list.paged = !proof;
    w->list.consistent = true;
    watch_relist(w, now);
    return true;
}

/* The list is whole. False when it is not taken. */
static bool list_complete(struct kube_watch *w, uint64_t version, struct now now)
{
    if (version < w->highest) {
        stale_list(w, version, now);
        return false;
    }
    if (list_contradicted(w, version, now))
        return false;
    if (w->list.skipped && !w->list.skip_known) {
        w->list.skip_known = true;
        watch_relist(w, now);
        return false;
    }
    w->list.skip_known = w->list.skipped;
    w->version = version;
    w->highest = version > w->highest ? version : w->highest;
    w->synced = true;
    w->list.wanted = w->list.consistent = w->list.whole = w->list.paged = false;
    w->list.stale = w->cut_streams = 0;
    watch_say(w, KUBE_WATCH_SYNCED, (struct jval){.at = -1}, version, now);
    return true;
}

/* ---- pages ---- */

/* Where one item ends and the next begins cannot be told any more. */
static void stream_broken(struct kube_watch *w, const struct err *why, struct now now)
{
    w->list.wanted = true;
    watch_skip(w, why, now);
    watch_fail(w, why, NULL, -1, now);
}

/* Where the list goes on, if it does. One that goes on without end would be asked for page after page, without a pause. */
static bool next_page(struct kube_watch *w, struct slice token, struct err *e)
{
    w->list.pages = w->list.page.len ? w->list.pages + 1 : 1;
    if (token.len && slice_eq(token, buf_slice(&w->list.page)))
        return err_set(e, ERR_SYNTAX, "the list goes on where this page of it began: its continue token is the same again");
    if (token.len && w->list.pages == LIMIT_KUBE_PAGES)
        return err_set(e, ERR_LIMIT, "the list has more than %d pages (LIMIT_KUBE_PAGES)", LIMIT_KUBE_PAGES);
    buf_clear(&w->list.page);
    return buf_put(&w->list.page, token) ||
           err_set(e, ERR_LIMIT, "the list's continue token is longer than %d bytes (LIMIT_HTTP_URL)", LIMIT_HTTP_URL);
}

/* L7: all pages of a list have the same version; the last one has no continue token. */
void watch_page_end(struct kube_watch *w, struct now now)
{
    struct jval doc;
    struct err e = {0};
    uint64_t version;
    if (!w->list.complete)
        err_set(&e, ERR_CLOSED, "the list ends before its last brace");
    arena_reset(&w->item, WATCH_MEMORY_KEPT);
    if (!w->list.complete || !json_read(&doc, json_slicer_envelope(&w->slicer), &w->item, &e)) {
        stream_broken(w, &e, now);
        return;
    }
    struct jval root = doc;
    if (!kube_version_parse(json_get_str(root, "metadata.resourceVersion", &w->item), &version)) {
        err_set(&e, ERR_SYNTAX, "the list has no resourceVersion");
        stream_broken(w, &e, now);
        return;
    }
    if (w->list.page.len && version != w->list.version) {
        watch_relist(w, now);
        return;
    }
    struct slice token = json_get_str(root, "metadata.continue", &w->item);
    w->list.version = version;
    if (!next_page(w, token, &e))
        watch_fail(w, &e, NULL, -1, now);
    else if (token.len || list_complete(w, version, now))
        watch_again(w, now);
}

/* ---- items ---- */

static void item_bad(struct kube_watch *w, struct err *e, struct now now)
{
    struct arena a = {0};
    struct slice name = watch_name(w, &a);
    err_wrap(e, "an item of %.*s was passed over", SLICE_ARG(name));
    arena_free(&a);
    bool live = w->phase == WATCH_LIVE;
    w->list.skipped = true;
    watch_skip(w, e, now);
    if (live)
        watch_relist(w, now);
}

/* Whether a member says what it should. Items of a list of the core group say nothing. */
static bool says(struct jval object, const char *key, struct slice wanted, struct err *e)
{
    struct jval v = json_child(object, key);
    return !json_there(v) || slice_empty(wanted) || json_str_eq(v, wanted) ||
           err_set(e, ERR_SYNTAX, "its %s is not %.*s", key, SLICE_ARG(wanted));
}

/* An object of another kind must not become one of ours: a spec that it does not have would be the least. */
static bool item_ours(struct kube_watch *w, struct jval object, uint64_t *version, struct err *e)
{
    if (!says(object, "kind", w->what.kind, e) || !says(object, "apiVersion", w->what.api_version, e))
        return false;
    return kube_version_parse(json_get_str(object, "metadata.resourceVersion", &w->item), version) ||
           err_set(e, ERR_SYNTAX, "it has no resourceVersion");
}

/* Remembers the newest object: whether it is still there, and not older, tells whether the store is the same (watch_probe). */
static void remember(struct kube_watch *w, bool gone, struct jval object, uint64_t version)
{
    struct slice name = json_get_str(object, "metadata.name", &w->item), ns = json_get_str(object, "metadata.namespace", &w->item);
    if (!gone && version > w->probe.newest) {
        w->probe.newest = version;
        slice_copy(name, w->probe.name, sizeof w->probe.name);
        slice_copy(ns, w->probe.ns, sizeof w->probe.ns);
    } else if (gone && slice_is(name, w->probe.name) && slice_is(ns, w->probe.ns)) {
        w->probe.newest = 0;
    }
}

static void read_item(struct kube_watch *w, struct jval object, struct now now)
{
    struct err e = {0};
    uint64_t version;
    if (!item_ours(w, object, &version, &e)) {
        item_bad(w, &e, now);
        return;
    }
    remember(w, false, object, version);
    watch_say(w, KUBE_WATCH_UPSERT, object, version, now);
}

/* ---- events ---- */

static void advance(struct kube_watch *w, uint64_t version, struct now now)
{
    w->version = version;
    w->highest = version > w->highest ? version : w->highest;
    client_goes_on(w->client, now);
    watch_say(w, KUBE_WATCH_PROGRESS, (struct jval){.at = -1}, version, now);
}

/* Events of one stream come in the order of their versions. Where one does not, what we have may have holes. */
static bool in_order(struct kube_watch *w, uint64_t version, struct now now)
{
    if (version >= w->version)
        return true;
    struct err e = {0};
    err_set(&e, ERR_SYNTAX, "watch of %.*s went back from resourceVersion %llu to %llu", SLICE_ARG(w->what.resource.plural),
            (unsigned long long)w->version, (unsigned long long)version);
    w->list.wanted = true;
    watch_fail(w, &e, NULL, -1, now);
    return false;
}

static void read_bookmark(struct kube_watch *w, struct jval object, uint64_t version, struct now now)
{
    struct jval annotations = json_get(object, "metadata.annotations");
    bool ends = json_is(json_child(annotations, "k8s.io/initial-events-end"), "true");
    if (w->phase == WATCH_LIVE) {
        if (in_order(w, version, now))
            advance(w, version, now);
    } else if (ends && list_complete(w, version, now)) {
        w->phase = WATCH_LIVE;
    }
}

/* L9, L10: before the end bookmark the items come in no order, and say nothing of how far we are. */
static void read_change(struct kube_watch *w, bool gone, struct jval object, uint64_t version, struct now now)
{
    if (w->phase == WATCH_LIVE && !in_order(w, version, now))
        return;
    w->events++;
    w->list.listed_ms = now.mono_ms;
    remember(w, gone, object, version);
    watch_say(w, gone ? KUBE_WATCH_DELETE : KUBE_WATCH_UPSERT, object, version, now);
    if (w->phase == WATCH_LIVE)
        advance(w, version, now);
}

static void read_event(struct kube_watch *w, struct jval event, struct now now)
{
    struct jval type = json_get(event, "type"), object = json_get(event, "object");
    struct err e = {0};
    uint64_t version;
    if (json_is(type, "ERROR")) {
        struct kube_status s;
        kube_status_from(0, object, &s);
        watch_error_event(w, &s, now);
        return;
    }
    bool gone = json_is(type, "DELETED"), bookmark = json_is(type, "BOOKMARK");
    if (!gone && !bookmark && !json_is(type, "ADDED") && !json_is(type, "MODIFIED")) {
        if (json_type(type) != JSON_STRING) {
            err_set(&e, ERR_SYNTAX, "it is no watch event: it has no type");
            item_bad(w, &e, now);
        }
        return; /* a type of a later Kubernetes */
    }
    if (!item_ours(w, object, &version, &e))
        item_bad(w, &e, now);
    else if (bookmark)
        read_bookmark(w, object, version, now);
    else
        read_change(w, gone, object, version, now);
}

static void read_text(struct kube_watch *w, struct slice text, struct now now)
{
    struct jval doc;
    struct err e = {0};
    w->client->stats.watch_events++;
    arena_reset(&w->item, WATCH_MEMORY_KEPT);
    text = json_without(text, w->phase == WATCH_LIST ? KUBE_UNREAD : "object." KUBE_UNREAD, &w->item);
    if (!json_read(&doc, text, &w->item, &e))
        item_bad(w, &e, now);
    else if (w->phase == WATCH_LIST)
        read_item(w, doc, now);
    else
        read_event(w, doc, now);
}

void watch_read(struct kube_watch *w, struct slice piece, struct now now)
{
    while (w->x.busy) { /* the bytes read may have ended the stream, or the watch */
        struct err e = {0};
        struct slice item;
        switch (json_slice(&w->slicer, &piece, &item, &e)) {
        case JSON_MORE:
            return;
        case JSON_DONE:
            w->list.complete = true;
            return;
        case JSON_BAD:
            stream_broken(w, &e, now);
            return;
        case JSON_OVER:
            err_set(&e, ERR_LIMIT, "it is larger than %d bytes (LIMIT_JSON_ITEM) or nested too deep", LIMIT_JSON_ITEM);
            item_bad(w, &e, now);
            break;
        case JSON_ITEM:
            read_text(w, item, now);
            if (w->slicer.item.cap > WATCH_MEMORY_KEPT)
                buf_shrink(&w->slicer.item, 0); /* one large object must not cost its size for ever */
            break;
        }
    }
}
