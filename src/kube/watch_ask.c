#include "watch.h"

struct slice watch_name(const struct kube_watch *w, struct arena *a)
{
    const struct kube_resource *r = &w->what.resource;
    const char *dot = slice_empty(r->group) ? "" : ".";
    if (slice_empty(w->what.ns))
        return arena_printf(a, "%.*s%s%.*s in all namespaces", SLICE_ARG(r->plural), dot, SLICE_ARG(r->group));
    return arena_printf(a, "%.*s%s%.*s in namespace %.*s", SLICE_ARG(r->plural), dot, SLICE_ARG(r->group), SLICE_ARG(w->what.ns));
}

/* ---- requests ---- */

static void ask_version(struct kube_watch *w, struct buf *path)
{
    char text[KUBE_VERSION_TEXT];
    if (!w->list.consistent && w->highest)
        kube_query(path, "resourceVersion", kube_version_format(w->highest, text));
}

/* L2, L7: a match only beside a version, and neither on later pages. */
static void ask_page(struct kube_watch *w, struct buf *path)
{
    if (!w->list.whole)
        buf_printf(path, "?limit=%d", KUBE_PAGE);
    if (w->list.page.len) {
        kube_query(path, "continue", buf_slice(&w->list.page));
        return;
    }
    ask_version(w, path);
    if (!w->list.consistent && w->highest)
        kube_query(path, "resourceVersionMatch", SLICE("NotOlderThan"));
}

static void ask_watch(struct kube_watch *w, struct buf *path)
{
    char text[KUBE_VERSION_TEXT];
    uint64_t seconds = KUBE_WATCH_SECONDS - WATCH_SPREAD_SECONDS + rng_below(&w->client->rng, WATCH_SPREAD_SECONDS + 1);
    if (w->list.skip_known)
        seconds = WATCH_HOLE_SECONDS;
    buf_printf(path, "?watch=1&allowWatchBookmarks=true&timeoutSeconds=%u", (unsigned)seconds);
    w->deadline_ms = w->begun_ms + (int64_t)seconds * 1000 + WATCH_MARGIN_MS;
    if (w->phase == WATCH_LIVE) {
        kube_query(path, "resourceVersion", kube_version_format(w->version, text));
        return;
    }
    kube_query(path, "sendInitialEvents", SLICE("true"));
    kube_query(path, "resourceVersionMatch", SLICE("NotOlderThan"));
    ask_version(w, path);
}

static void ask_selected(const struct kube_watch *w, struct slice fields, struct buf *path)
{
    if (!slice_empty(w->what.labels))
        kube_query(path, "labelSelector", w->what.labels);
    if (!slice_empty(fields))
        kube_query(path, "fieldSelector", fields);
}

bool watch_form(struct kube_watch *w, struct err *e)
{
    struct buf path;
    buf_init(&path, LIMIT_HTTP_URL);
    kube_path(&path, &w->what.resource, w->what.ns, SLICE_NONE, SLICE_NONE);
    w->deadline_ms = w->begun_ms + KUBE_CALL_MS;
    if (w->phase == WATCH_STREAM || (w->phase == WATCH_LIST && w->list.page.len == 0)) {
        w->list.asked_ms = w->begun_ms;
        w->probe.newest = 0;
    }
    if (w->phase == WATCH_LIST)
        ask_page(w, &path);
    else
        ask_watch(w, &path);
    ask_selected(w, w->what.fields, &path);
    struct kube_request r = {.method = SLICE("GET"), .path = buf_slice(&path)};
    bool ok = path.full ? err_set(e, ERR_LIMIT, "the URL of the watch is longer than %d bytes (LIMIT_HTTP_URL)", LIMIT_HTTP_URL)
                        : call_form(w->client, &w->request, &r, e);
    buf_free(&path);
    return ok;
}

/* ---- answers that say no ---- */

static void describe(const struct kube_watch *w, const struct kube_status *s, struct err *e)
{
    struct arena a = {0};
    struct slice name = watch_name(w, &a);
    const char *verb = w->phase == WATCH_LIST ? "list" : "watch";
    if (s->code == 403)
        err_set(e, ERR_STATUS, "no right to %s %.*s: grant the verbs list and watch to this user (%s)", verb, SLICE_ARG(name), s->message);
    else
        err_set(e, ERR_STATUS, "%s of %.*s: %d %s: %s", verb, SLICE_ARG(name), s->code, kube_reason_text(s->reason), s->message);
    arena_free(&a);
}

static bool is_gone(const struct kube_status *s)
{
    return s->code == 410 || s->reason == KUBE_EXPIRED || s->reason == KUBE_GONE;
}

/* A server without the WatchList feature refuses its parameters; one whose gate is off says which (L12). */
static bool is_stream_refused(const struct kube_watch *w, const struct kube_status *s)
{
    return w->phase == WATCH_STREAM && (s->code == 400 || s->code == 422 || strstr(s->message, "sendInitialEvents"));
}

/* The version that we asked for is too old, or one that this server has not reached (L5, L6). */
static void version_refused(struct kube_watch *w, struct now now)
{
    bool later_page = w->list.page.len > 0;
    w->list.whole |= later_page;
    w->list.consistent |= w->phase != WATCH_LIVE && !later_page;
    watch_relist(w, now);
}

static void set_absent(struct kube_watch *w, struct now now)
{
    exchange_close(&w->x);
    w->phase = WATCH_WAIT;
    w->list.wanted = true;
    buf_clear(&w->list.page); /* objects of earlier pages count as gone: the next list begins with its first */
    w->not_before_ms = now.mono_ms + WATCH_ABSENT_MS;
    w->synced = true;
    bool news = !w->absent;
    w->absent = true;
    if (news)
        watch_say(w, KUBE_WATCH_ABSENT, (struct jval){.at = -1}, w->version, now);
}

static void refused(struct kube_watch *w, const struct kube_status *s, struct now now)
{
    struct err e = {0};
    describe(w, s, &e);
    if (s->code == 401 && w->failures > 0)
        client_denied(w->client, s, now); /* with fresh credentials too */
    if (s->code == 401)
        client_renew(w->client, CLIENT_RENEW_MS, now);
    if (s->code == 401 && w->client->config->identity)
        exchange_close(&w->x); /* the certificate that was refused was this connection's */
    watch_fail(w, &e, s, s->retry_after_ms, now);
}

void watch_refused(struct kube_watch *w, int code, struct now now)
{
    struct kube_status s;
    kube_status_read(code, buf_slice(&w->refusal), &s);
    if (w->retry_after_ms >= 0)
        s.retry_after_ms = w->retry_after_ms;
    w->client->stats.throttled += code == 429;
    if (is_stream_refused(w, &s)) {
        w->client->no_stream = true;
        watch_again(w, now);
    } else if (is_gone(&s) || s.version_too_large) {
        version_refused(w, now);
    } else if (code == 404 && !slice_empty(w->what.resource.group)) { /* the core's own are always there, whatever a gateway says */
        set_absent(w, now);
    } else {
        refused(w, &s, now);
    }
}

void watch_error_event(struct kube_watch *w, const struct kube_status *s, struct now now)
{
    if (is_gone(s) || s->version_too_large)
        version_refused(w, now);
    else
        refused(w, s, now);
}

/* ---- silence (C3): a dead path looks like a quiet one, and so does a server whose store was restored from a backup: it takes a watch from
 * a version that is still to come, and says nothing in it until it is there. It may be there soon, and events come then as if there were no
 * hole before them: so a watch that goes on on another connection asks at once where the server stands, and whether the newest object is
 * there and is not older: the version that was asked for may have come meanwhile. ---- */

bool watch_silent(const struct kube_watch *w, struct now now)
{
    return now.mono_ms >= w->x.heard_ms + KUBE_SILENCE_MS;
}

/* The newest object is gone, and the watch did not say so: it may come yet, or the store was restored from before the object was created.
 */
static void newest_missing(struct kube_watch *by, struct now now)
{
    log_info("an object is gone, and the watch did not say so: all lists are asked for again", LF("resource", by->what.resource.plural),
             LF_CSTR("namespace", by->probe.ns), LF_CSTR("name", by->probe.name));
    for (struct kube_watch *w = by->client->watches; w; w = w->next)
        kube_watch_refresh(w, now);
}

/* Whether the newest object shows another store than before. Then the watches begin again. */
static bool is_another_store(struct kube_watch *w, struct jval list, struct arena *a, struct now now)
{
    struct jval items = json_get(list, "items"), object = json_at(items, 0);
    uint64_t version = 0;
    if (!w->probe.asked || w->probe.newest != w->probe.asked || json_type(items) != JSON_ARRAY)
        return false;
    if (!json_there(object))
        newest_missing(w, now);
    else if (kube_version_parse(json_get_str(object, "metadata.resourceVersion", a), &version) && version < w->probe.asked)
        watch_rewound(w, WATCH_WENT_BACK, w->probe.asked, version, now);
    else
        return false;
    return true;
}

static void probe_done(void *owner, uint64_t tag, const struct kube_answer *answer, struct now now)
{
    struct kube_watch *w = owner;
    struct arena a = {0};
    struct jval doc;
    struct err e = {0};
    uint64_t version = 0;
    (void)tag;
    w->probe.under_way = false;
    bool read = answer->outcome == KUBE_OK && json_read(&doc, answer->body, &a, &e) &&
                kube_version_parse(json_get_str(doc, "metadata.resourceVersion", &a), &version);
    if (w->phase == WATCH_LIVE && read && version < w->probe.version) {
        w->list.wanted = w->list.consistent = true;
        watch_again(w, now);
    } else if (w->phase == WATCH_LIVE && read && is_another_store(w, doc, &a, now)) {
        w->probe.asked = 0; /* all begin again */
    } else if (w->phase == WATCH_LIVE && watch_silent(w, now)) {
        if (read && version <= w->version)
            w->x.heard_ms = now.mono_ms; /* nothing was missed */
        else
            watch_again(w, now);
    } else if (w->phase == WATCH_LIVE && answer->outcome == KUBE_UNSENT) {
        w->probe.new_link = true; /* no request was sent: after trouble watches come through before calls do */
    }
    arena_free(&a);
}

/* Which object the probe asks for: the newest one, or any. */
static void put_newest(const struct kube_watch *w, struct buf *out)
{
    const char *comma = slice_empty(w->what.fields) ? "" : ",", *ns = w->probe.ns;
    buf_put(out, w->what.fields);
    if (w->probe.newest)
        buf_printf(out, "%smetadata.name=%s%s%s", comma, w->probe.name, ns[0] ? ",metadata.namespace=" : "", ns);
}

void watch_probe(struct kube_watch *w, struct now now)
{
    struct buf path, fields;
    struct err e = {0};
    buf_init(&path, LIMIT_HTTP_URL);
    buf_init(&fields, LIMIT_HTTP_URL);
    kube_path(&path, &w->what.resource, w->what.ns, SLICE_NONE, SLICE_NONE);
    buf_put(&path, SLICE("?limit=1"));
    put_newest(w, &fields);
    ask_selected(w, buf_slice(&fields), &path);
    struct kube_request r = {
        .method = SLICE("GET"), .path = buf_slice(&path), .again = true, .timeout_ms = WATCH_PROBE_MS, .done = probe_done, .owner = w};
    w->probe.under_way = kube_call(w->client, &r, now, &e);
    buf_free(&path);
    buf_free(&fields);
    if (w->probe.under_way) {
        w->probe.new_link = false;
        w->probe.version = w->version;
        w->probe.asked = w->probe.newest;
    } else if (watch_silent(w, now)) {
        watch_again(w, now); /* the queue is full: asking again costs no call */
    }
}
