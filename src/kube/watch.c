#include "watch.h"
#include "config.h"

static void tell(struct kube_watch *w, const struct kube_watch_event *ev, struct now now)
{
    w->client->news = true;
    if (!w->stopped)
        w->on(w->owner, ev, now);
}

void watch_say(struct kube_watch *w, enum kube_watch_what what, struct jval item, uint64_t version, struct now now)
{
    if (what == KUBE_WATCH_RESTART || what == KUBE_WATCH_UPSERT || what == KUBE_WATCH_PROGRESS)
        w->trouble = 0;
    struct kube_watch_event ev = {.what = what, .item = item, .version = version};
    tell(w, &ev, now);
}

void watch_skip(struct kube_watch *w, const struct err *why, struct now now)
{
    struct kube_watch_event ev = {.what = KUBE_WATCH_SKIPPED, .item.at = -1, .version = w->version, .err = why};
    w->client->stats.watch_skipped++;
    tell(w, &ev, now);
}

/* ---- failing, and going on ---- */

static int64_t next_backoff(struct kube_watch *w, struct now now)
{
    if (now.mono_ms - w->failed_ms > WATCH_QUIET_MS)
        w->failures = 0;
    w->failed_ms = now.mono_ms;
    return backoff_ms(&w->client->rng, w->failures++, KUBE_BACKOFF_MS, KUBE_BACKOFF_MAX_MS);
}

/* An answer that is read to its end leaves the link for the next request; one that is left in the middle takes the link with it. */
static void rest(struct kube_watch *w)
{
    if (w->x.busy)
        exchange_close(&w->x);
    w->phase = WATCH_WAIT;
}

void watch_fail(struct kube_watch *w, const struct err *why, const struct kube_status *status, int64_t after_ms, struct now now)
{
    int64_t wait = next_backoff(w, now);
    uint64_t kind = (uint64_t)why->code << 16 | (uint64_t)(status ? status->code : 0);
    rest(w);
    buf_clear(&w->list.page); /* a list that failed begins with its first page */
    w->not_before_ms = now.mono_ms + (after_ms > wait ? after_ms : wait);
    if (kind == w->trouble)
        return;
    w->trouble = kind;
    struct kube_watch_event ev = {.what = KUBE_WATCH_TROUBLE, .item.at = -1, .version = w->version, .err = why, .status = status};
    tell(w, &ev, now);
}

void watch_relist(struct kube_watch *w, struct now now)
{
    rest(w);
    buf_clear(&w->list.page);
    w->list.wanted = true;
    w->not_before_ms = now.mono_ms + next_backoff(w, now);
}

void watch_again(struct kube_watch *w, struct now now)
{
    rest(w);
    w->not_before_ms = now.mono_ms;
}

/* ---- the exchange ---- */

static bool is_json(struct slice content_type)
{
    return slice_eq_nocase(slice_trim(slice_cut(&content_type, ';')), SLICE(KUBE_TYPE_JSON));
}

static void begin_reading(struct kube_watch *w, struct now now)
{
    json_slicer_free(&w->slicer);
    json_slicer_init(&w->slicer, w->phase == WATCH_LIST ? JSON_STREAM_LIST : JSON_STREAM_LINES, LIMIT_JSON_ITEM);
    w->list.complete = false;
    w->events = 0;
    if (w->phase == WATCH_LIVE && w->trouble)
        watch_say(w, KUBE_WATCH_PROGRESS, (struct jval){.at = -1}, w->version, now); /* the trouble is over; events may be long in coming */
    if (w->phase == WATCH_LIVE || w->list.page.len > 0)
        return;
    w->synced = w->absent = w->list.skipped = false;
    w->list.newer = 0;
    w->client->stats.watch_restarts += w->highest != 0;
    watch_say(w, KUBE_WATCH_RESTART, (struct jval){.at = -1}, w->highest, now);
}

static void on_head(struct exchange *x, struct now now)
{
    struct kube_watch *w = (struct kube_watch *)x;
    w->retry_after_ms = http_retry_after_ms(&x->reader, now.wall_us);
    client_warnings(w->client, &x->reader);
    if (slice_empty(x->unsent))
        buf_wipe(&w->request);
    if (x->status != 200)
        return;
    if (!is_json(http_header_get(&x->reader, SLICE("content-type")))) {
        struct err e = {0};
        err_set(&e, ERR_HTTP, "the answer to a watch is no JSON: is something else than an API server at %.*s?",
                SLICE_ARG(w->client->config->host));
        watch_fail(w, &e, NULL, -1, now);
        return;
    }
    client_well(w->client, now);
    begin_reading(w, now);
}

static void on_body(struct exchange *x, struct slice piece, struct now now)
{
    struct kube_watch *w = (struct kube_watch *)x;
    if (x->status == 200)
        watch_read(w, piece, now);
    else
        buf_put(&w->refusal, piece); /* a longer one is cut: then the bare code speaks */
}

/* On from the same version; but an object that was passed over may be readable by now, and no event would tell. */
static void live_over(struct kube_watch *w, struct now now)
{
    w->list.wanted |= w->list.skip_known;
    watch_again(w, now);
}

/* L14: a watch that ends at once, with nothing to say, would be asked for again in a tight loop. */
static void live_ended(struct kube_watch *w, struct now now)
{
    bool whole = json_slicer_at_rest(&w->slicer); /* else the rest of an event is lost; the server has it still */
    if (whole && (w->events > 0 || now.mono_ms - w->begun_ms >= WATCH_SHORT_MS)) {
        live_over(w, now);
        return;
    }
    struct err e = {0};
    err_set(&e, ERR_CLOSED,
            whole ? "the server ends the watch of %.*s at once, without an event" : "the watch of %.*s ended inside an event",
            SLICE_ARG(w->what.resource.plural));
    watch_fail(w, &e, NULL, -1, now);
}

/* L12: half a list. A server (or something before it) that cannot do better is asked for pages. */
static void stream_cut(struct kube_watch *w, const char *how, struct now now)
{
    struct err e = {0};
    err_set(&e, ERR_CLOSED, "the streaming list of %.*s %s", SLICE_ARG(w->what.resource.plural), how);
    if (++w->cut_streams >= WATCH_CUT_STREAMS)
        w->client->no_stream = true;
    watch_fail(w, &e, NULL, -1, now);
}

static void on_end(struct exchange *x, struct now now)
{
    struct kube_watch *w = (struct kube_watch *)x;
    if (w->stopped)
        return;
    if (x->status != 200)
        watch_refused(w, x->status, now);
    else if (w->phase == WATCH_LIST)
        watch_page_end(w, now);
    else if (w->phase == WATCH_STREAM)
        stream_cut(w, "ended before it was complete", now);
    else if (w->phase == WATCH_LIVE)
        live_ended(w, now);
    buf_shrink(&w->refusal, 0);
}

static void on_lost(struct exchange *x, const struct err *why, struct now now)
{
    struct kube_watch *w = (struct kube_watch *)x;
    bool stale = x->answers > 0 && !x->heard;
    client_lost(w->client, x, why);
    if (w->stopped || w->phase == WATCH_WAIT)
        return; /* a link that was kept for the next request */
    if (stale) {
        watch_again(w, now);
        return;
    }
    if (w->phase != WATCH_LIVE || !x->heard)
        client_trouble(w->client, why, now); /* a live stream may end at any time: only what follows tells whether the server is there */
    watch_fail(w, why, NULL, -1, now);
}

static const struct exchange_events watch_events = {.head = on_head, .body = on_body, .end = on_end, .lost = on_lost};

/* ---- time ---- */

static void begin(struct kube_watch *w, struct now now)
{
    struct kube_client *c = w->client;
    struct err e = {0};
    if (w->x.link && w->generation != c->generation)
        exchange_close(&w->x);
    w->phase = !w->list.wanted ? WATCH_LIVE : c->no_stream || w->list.paged ? WATCH_LIST : WATCH_STREAM;
    w->begun_ms = now.mono_ms;
    buf_clear(&w->refusal);
    buf_wipe(&w->request);
    if (!watch_form(w, &e)) {
        watch_fail(w, &e, NULL, -1, now);
        return;
    }
    w->generation = c->generation;
    bool fresh = !w->x.link;
    if (fresh && !client_open(c, &w->x, w->deadline_ms, &e)) {
        client_trouble(c, &e, now);
        watch_fail(w, &e, NULL, -1, now);
        return;
    }
    w->probe.new_link = fresh ? w->phase == WATCH_LIVE : w->probe.new_link;
    w->x.heard_ms = w->list.listed_ms = now.mono_ms;
    c->stats.requests++;
    exchange_send(&w->x, buf_slice(&w->request), now);
}

/* L13: the server did not end the request in time, so the path to it is dead or it is. A live watch just starts again. */
static void overdue(struct kube_watch *w, struct now now)
{
    bool opening = w->x.link->state == LINK_OPENING;
    if (w->phase == WATCH_LIVE) {
        live_over(w, now);
        return;
    }
    if (w->phase == WATCH_STREAM && !opening) {
        stream_cut(w, "does not come to its end", now);
        return;
    }
    struct err e = {0};
    err_set(&e, ERR_TIMEOUT, opening ? "no connection within %lld ms" : "the list is not complete after %lld ms",
            (long long)(now.mono_ms - w->begun_ms));
    if (opening)
        client_trouble(w->client, &e, now);
    watch_fail(w, &e, NULL, -1, now);
}

/* When the request in flight is given up: a list may not fall silent for long, a live watch may. */
static int64_t patience(const struct kube_watch *w)
{
    int64_t last = json_slicer_at_rest(&w->slicer) ? w->list.listed_ms : w->x.heard_ms; /* bookmarks are no progress of a list */
    int64_t silent = w->phase == WATCH_STREAM ? last + KUBE_CALL_MS : TIME_NEVER;
    return silent < w->deadline_ms ? silent : w->deadline_ms;
}

static int64_t watch_tick(struct kube_watch *w, struct now now)
{
    if (w->x.busy && now.mono_ms >= patience(w))
        overdue(w, now);
    if (w->stopped)
        return now.mono_ms;
    if (w->phase == WATCH_LIVE && !w->probe.under_way && (watch_silent(w, now) || (w->probe.new_link && w->x.heard)))
        watch_probe(w, now);
    if (w->phase == WATCH_WAIT && now.mono_ms >= w->not_before_ms)
        begin(w, now);
    if (w->phase == WATCH_WAIT)
        return w->not_before_ms;
    int64_t silence = w->phase == WATCH_LIVE && !w->probe.under_way ? w->x.heard_ms + KUBE_SILENCE_MS : TIME_NEVER;
    return silence < patience(w) ? silence : patience(w);
}

static void watch_free(struct kube_watch *w)
{
    exchange_close(&w->x);
    buf_wipe(&w->request);
    buf_free(&w->list.page);
    buf_free(&w->refusal);
    json_slicer_free(&w->slicer);
    arena_free(&w->item);
    arena_free(&w->strings);
    mem_free(w);
}

int64_t watches_tick(struct kube_client *c, struct now now)
{
    int64_t next = TIME_NEVER;
    for (struct kube_watch **at = &c->watches, *w; (w = *at) != NULL;) {
        if (w->stopped) {
            *at = w->next;
            watch_free(w);
            continue;
        }
        int64_t due = watch_tick(w, now);
        next = due < next ? due : next;
        at = &w->next;
    }
    return next;
}

void watches_free(struct kube_client *c)
{
    for (struct kube_watch *w = c->watches, *next; w; w = next) {
        next = w->next;
        watch_free(w);
    }
    c->watches = NULL;
}

/* ---- for the owner ---- */

struct kube_watch *kube_watch_start(struct kube_client *c, const struct kube_watch_options *o, struct err *e)
{
    if (c->watch_count >= LIMIT_KUBE_WATCHES) {
        err_set(e, ERR_LIMIT, "%d watches run already (LIMIT_KUBE_WATCHES)", LIMIT_KUBE_WATCHES);
        return NULL;
    }
    struct kube_watch *w = mem_alloc(sizeof *w);
    exchange_init(&w->x, &watch_events, &c->stats);
    w->client = c;
    w->what.resource.group = arena_dup(&w->strings, o->resource.group);
    w->what.resource.version = arena_dup(&w->strings, o->resource.version);
    w->what.resource.plural = arena_dup(&w->strings, o->resource.plural);
    w->what.ns = arena_dup(&w->strings, o->ns);
    w->what.labels = arena_dup(&w->strings, o->labels);
    w->what.fields = arena_dup(&w->strings, o->fields);
    w->what.kind = arena_dup(&w->strings, o->kind);
    bool core = slice_empty(o->resource.group);
    w->what.api_version = core ? w->what.resource.version
                               : arena_printf(&w->strings, "%.*s/%.*s", SLICE_ARG(o->resource.group), SLICE_ARG(o->resource.version));
    w->on = o->on;
    w->owner = o->owner;
    w->list.wanted = w->list.consistent = true; /* L2: the first list is consistent */
    buf_init(&w->list.page, LIMIT_HTTP_URL);
    buf_init(&w->request, 0);
    buf_init(&w->refusal, WATCH_STATUS_MAX);
    json_slicer_init(&w->slicer, JSON_STREAM_LIST, LIMIT_JSON_ITEM);
    w->next = c->watches;
    c->watches = w;
    c->watch_count++;
    c->news = true;
    return w;
}

void kube_watch_stop(struct kube_watch *w)
{
    if (!w || w->stopped)
        return;
    w->stopped = true;
    w->client->watch_count--;
    calls_orphan(w->client, w);
    exchange_close(&w->x);
}

void kube_watch_refresh(struct kube_watch *w, struct now now)
{
    if (w->stopped)
        return;
    if (w->phase != WATCH_WAIT || w->absent)
        watch_again(w, now); /* else it waits for a server in trouble, and goes on doing so */
    buf_clear(&w->list.page);
    w->list.wanted = w->list.consistent = true;
    w->synced = w->absent = false;
    watch_say(w, KUBE_WATCH_RESTART, (struct jval){.at = -1}, w->highest, now);
}

bool kube_watch_is_old(struct kube_watch *w, uint64_t version, uint64_t known)
{
    if (w && w->phase != WATCH_LIVE && version < known && (!w->list.newer || known < w->list.newer))
        w->list.newer = known;
    return version <= known;
}

void kube_watch_restored(struct kube_watch *w, uint64_t known, uint64_t is, struct now now)
{
    if (w && !w->stopped)
        watch_rewound(w, WATCH_OLDER, known, is, now);
}

bool kube_watch_synced(const struct kube_watch *w)
{
    return w->synced;
}

uint64_t kube_watch_version(const struct kube_watch *w)
{
    return w->version;
}

int64_t kube_watch_asked_ms(const struct kube_watch *w)
{
    return w->list.asked_ms;
}
