/* A watch is a cursor into its resource's event history. Events are written to its connection as far as they are due (a fault may delay
 * them) and as the connection takes them; a watch that has fallen out of the history is ended, as the real server does. */
#include "request.h"

#include <stdio.h>

enum {
    WATCH_BUFFER = MIB, /* above this much unsent output a watch waits for its client */
    WATCH_MIN_MS = 1800 * 1000,
    BOOKMARK_BEFORE_END_MS = 2000,
};

struct watch {
    struct watch *next;
    struct conn *conn;
    struct resource *of;
    const struct api *api;
    struct arena mem; /* of what follows */
    struct selector *selector;
    struct slice ns;
    enum format format;
    enum table_object table_object;
    bool columns_sent;
    bool bookmarks;
    uint64_t cursor;
    uint64_t after_rv; /* events up to here are not wanted */
    uint64_t end_rv;   /* the initial events end when it has seen everything up to here; 0: they have ended */
    int64_t deadline_ms, bookmark_ms;
};

/* ---- writing events ---- */

static void send_line(struct watch *w, struct buf *line)
{
    buf_putc(line, '\n');
    http_write_chunk(&w->conn->out, buf_slice(line));
    buf_clear(line);
}

/* rv: not 0 when the event's resourceVersion is not the version's own. */
static void send_version(struct apiserver *s, struct watch *w, const char *type, const struct version *v, uint64_t rv)
{
    struct version moved;
    if (rv && rv != v->rv) { /* it stopped matching: the old content under the new resourceVersion */
        struct node *tree = version_tree(v, &s->scratch);
        dom_put_str(&s->scratch, dom_get(tree, "metadata"), "resourceVersion", arena_printf(&s->scratch, "%llu", (unsigned long long)rv));
        moved = *v;
        moved.json = dom_text(tree, &s->scratch);
        v = &moved;
    }
    buf_printf(&s->line, "{\"type\":\"%s\",\"object\":", type);
    view_write(w->api, w->format, w->table_object, s, v, false, !w->columns_sent, &s->line);
    buf_putc(&s->line, '}');
    w->columns_sent = true;
    send_line(w, &s->line);
}

static void send_bookmark(struct apiserver *s, struct watch *w, uint64_t rv, bool initial_end)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)rv);
    struct jout out;
    jout_init(&out, &s->line);
    jout_object(&out);
    jout_kstr(&out, "type", SLICE("BOOKMARK"));
    jout_kobject(&out, "object");
    bool whole = w->format == FORMAT_OBJECT;
    jout_kstr(&out, "kind", whole ? w->api->of->kind : w->format == FORMAT_TABLE ? SLICE("Table") : SLICE("PartialObjectMetadata"));
    jout_kstr(&out, "apiVersion", whole ? api_version(w->api, &s->scratch) : SLICE("meta.k8s.io/v1"));
    jout_kobject(&out, "metadata");
    jout_kstr(&out, "resourceVersion", slice_of(text));
    if (initial_end) {
        jout_kobject(&out, "annotations");
        jout_kstr(&out, "k8s.io/initial-events-end", SLICE("true"));
        jout_end(&out);
    }
    jout_end(&out);
    const struct rules *rules = w->of->rules;
    struct node *blank = whole && rules && rules->blank ? dom_literal(&s->scratch, rules->blank) : NULL;
    if (blank)
        view_from_storage(w->api, blank);
    for (const struct node *b = blank ? blank->child : NULL; b; b = b->next) {
        jout_key(&out, b->key);
        dom_write(b, &out);
    }
    if (w->format == FORMAT_TABLE) {
        jout_karray(&out, "rows");
        jout_end(&out);
    }
    jout_end(&out);
    jout_end(&out);
    send_line(w, &s->line);
}

/* What the change is to this watch. */
struct meaning {
    bool was, is; /* one of its objects, before and after */
};

static struct meaning meaning_of(struct apiserver *s, const struct watch *w, const struct event *e)
{
    if (e->rv <= w->after_rv || (w->ns.len && !slice_eq(e->now->ns, w->ns)))
        return (struct meaning){0};
    return (struct meaning){e->before && selector_matches(w->selector, e->before, &s->scratch),
                            e->change != CHANGE_DELETED && selector_matches(w->selector, e->now, &s->scratch)};
}

static void send_event(struct apiserver *s, struct watch *w, const struct event *e, bool was, bool is)
{
    if (is)
        send_version(s, w, was ? "MODIFIED" : "ADDED", e->now, 0);
    else if (was && e->change == CHANGE_DELETED)
        send_version(s, w, "DELETED", e->now, 0);
    else if (was)
        send_version(s, w, "DELETED", e->before, e->rv);
}

static void send_error(struct apiserver *s, struct watch *w, const struct status *st)
{
    struct jout out;
    jout_init(&out, &s->line);
    jout_object(&out);
    jout_kstr(&out, "type", SLICE("ERROR"));
    jout_key(&out, SLICE("object"));
    status_write(st, &out);
    jout_end(&out);
    send_line(w, &s->line);
}

/* ---- the stream ---- */

/* rude: the connection breaks off in the middle of the chunked answer. */
static void finish(struct apiserver *s, struct watch *w, bool rude)
{
    struct conn *c = w->conn;
    if (rude)
        c->closing = true;
    else
        http_write_last_chunk(&c->out);
    watch_close(s, w);
}

void watch_close(struct apiserver *s, struct watch *w)
{
    (void)s;
    struct watch **link = &w->of->watches;
    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    w->conn->watch = NULL;
    arena_free(&w->mem);
    mem_free(w);
}

uint32_t watch_end_all(struct apiserver *s, struct resource *r, bool rude)
{
    uint32_t n = 0;
    for (; r->watches; n++)
        finish(s, r->watches, rude);
    return n;
}

uint32_t watch_expire_all(struct apiserver *s, struct resource *r)
{
    uint32_t n = 0;
    for (; r->watches; n++) {
        struct status st = {.a = &s->scratch};
        status_set(&st, 410, "Expired", "too old resource version: the watch cache was made again");
        send_error(s, r->watches, &st);
        finish(s, r->watches, false);
    }
    return n;
}

/* The highest resourceVersion of which this watch has seen everything. */
static uint64_t seen_rv(const struct apiserver *s, const struct watch *w)
{
    uint64_t seen = w->cursor < w->of->next ? store_event(w->of, w->cursor)->rv - 1 : s->rv, cached = store_cached(s, w->of);
    return seen < cached ? seen : cached;
}

static void end_initial(struct apiserver *s, struct watch *w)
{
    if (!w->end_rv || seen_rv(s, w) < w->end_rv)
        return;
    w->end_rv = 0;
    send_bookmark(s, w, seen_rv(s, w), true);
}

static int64_t bookmark_period(const struct apiserver *s)
{
    return s->faults.bookmark_ms ? s->faults.bookmark_ms : s->config.bookmark_ms;
}

static void pump_bookmarks(struct apiserver *s, struct watch *w)
{
    if (s->now.mono_ms < w->bookmark_ms)
        return;
    int64_t last = w->deadline_ms - BOOKMARK_BEFORE_END_MS, next = s->now.mono_ms + bookmark_period(s);
    w->bookmark_ms = s->now.mono_ms >= last ? TIME_NEVER : next < last ? next : last;
    if (seen_rv(s, w) < w->after_rv || w->end_rv) /* a cache that has not come so far says nothing of it */
        return;
    if (w->bookmarks && !s->faults.no_bookmarks)
        send_bookmark(s, w, seen_rv(s, w), false);
    s->hits.bookmarks += w->bookmarks && s->faults.no_bookmarks;
}

static size_t unsent(const struct watch *w)
{
    return w->conn->out.len - w->conn->sent;
}

static bool take_one(uint32_t *count)
{
    bool any = *count > 0;
    *count -= any;
    return any;
}

/* One event that is due, with what goes wrong with it. */
static void pass_on(struct apiserver *s, struct watch *w, const struct event *e)
{
    struct meaning m = meaning_of(s, w, e);
    if (!m.was && !m.is)
        return;
    if (take_one(&s->faults.drop_events)) {
        s->hits.dropped++;
        return;
    }
    s->hits.late += s->faults.watch_delay_ms && s->now.mono_ms > e->at_ms;
    send_event(s, w, e, m.was, m.is);
    if (!take_one(&s->faults.double_events))
        return;
    s->hits.doubled++;
    send_event(s, w, e, m.was, m.is);
}

static void pump(struct apiserver *s, struct watch *w)
{
    if (w->cursor < w->of->first) {
        finish(s, w, false);
        return;
    }
    uint64_t cached = store_cached(s, w->of);
    while (w->cursor < w->of->next && unsent(w) < WATCH_BUFFER) {
        const struct event *e = store_event(w->of, w->cursor);
        if (e->at_ms + s->faults.watch_delay_ms > s->now.mono_ms)
            break;
        if (e->rv > cached) {
            s->hits.held++;
            break;
        }
        w->cursor++;
        pass_on(s, w, e);
    }
    end_initial(s, w);
    pump_bookmarks(s, w);
    if (s->now.mono_ms >= w->deadline_ms)
        finish(s, w, false);
}

void watch_pump(struct apiserver *s)
{
    for (size_t i = 0; i < s->resource_count; i++) {
        struct watch *next;
        for (struct watch *w = s->resources[i]->watches; w; w = next) {
            next = w->next;
            pump(s, w);
        }
    }
}

int64_t watch_deadline(const struct apiserver *s)
{
    int64_t first = TIME_NEVER;
    for (size_t i = 0; i < s->resource_count; i++) {
        for (const struct watch *w = s->resources[i]->watches; w; w = w->next) {
            first = earlier(first, earlier(w->deadline_ms, w->bookmark_ms));
            bool held = store_cached(s, w->of) < s->rv; /* apiserver_deadline knows until when */
            if (!held && w->cursor < w->of->next && w->cursor >= w->of->first && unsent(w) < WATCH_BUFFER)
                first = earlier(first, store_event(w->of, w->cursor)->at_ms + s->faults.watch_delay_ms);
        }
    }
    return first;
}

/* ---- opening ---- */

struct watch_options {
    int64_t rv;        /* -1: none was given */
    bool initial;      /* begin with the objects that are there … */
    bool announce_end; /* … and say where they end */
    int64_t timeout_ms;
};

static bool invalid(struct request *q, const char *field, const char *why)
{
    status_cause(&q->st, "FieldValueForbidden", slice_of(field), "Forbidden: %s", why);
    return status_invalid(&q->st, SLICE("meta.k8s.io"), SLICE("ListOptions"), SLICE(""));
}

static bool check_initial(struct request *q)
{
    struct slice initial = request_query(q, "sendInitialEvents"), match = request_query(q, "resourceVersionMatch");
    q->s->hits.streams += initial.len && q->s->faults.no_streaming_lists;
    if (initial.len && q->s->faults.no_streaming_lists)
        return invalid(q, "sendInitialEvents", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled");
    const char *why = match.len && !initial.len ? "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
                      : initial.len && !slice_eq(match, SLICE("NotOlderThan"))
                          ? "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                          : NULL;
    if (match.len && !slice_eq(match, SLICE("NotOlderThan")))
        status_cause(&q->st, "FieldValueNotSupported", SLICE("resourceVersionMatch"),
                     "Unsupported value: \"%.*s\": supported values: \"NotOlderThan\"", SLICE_ARG(match));
    return !why || invalid(q, "resourceVersionMatch", why);
}

static bool read_options(struct request *q, struct watch_options *o)
{
    struct slice rv = request_query(q, "resourceVersion"), seconds = request_query(q, "timeoutSeconds");
    int64_t n;
    o->rv = -1;
    if (rv.len && (!slice_int(rv, &o->rv) || o->rv < 0)) {
        return status_set(&q->st, 500, "", "resourceVersion: Invalid value: \"%.*s\": strconv.ParseUint: parsing \"%.*s\": invalid syntax",
                          SLICE_ARG(rv), SLICE_ARG(rv));
    }
    o->timeout_ms = seconds.len && slice_int(seconds, &n) && n > 0 ? n * 1000 : WATCH_MIN_MS + (int64_t)rng_below(&q->s->rng, WATCH_MIN_MS);
    o->announce_end = request_flag(q, "sendInitialEvents");
    o->initial = request_query(q, "sendInitialEvents").len ? o->announce_end : o->rv <= 0;
    bool older = q->s->faults.older_lists && (uint64_t)o->rv <= q->s->rv;
    if (o->announce_end && o->rv > 0 && (uint64_t)o->rv > store_cached(q->s, q->api->of) && !older) {
        q->wait_rv = (uint64_t)o->rv;
        return false;
    }
    return true;
}

static struct watch *watch_new(struct request *q, const struct watch_options *o)
{
    struct watch *w = mem_alloc(sizeof *w);
    struct status none = {.a = q->a}; /* they have been read before */
    w->selector = selector_parse(request_query(q, "labelSelector"), request_query(q, "fieldSelector"), &w->mem, &none);
    w->conn = q->conn;
    w->of = q->api->of;
    w->api = q->api;
    w->ns = arena_dup(&w->mem, q->ns);
    w->format = q->format;
    w->table_object = q->table_object;
    w->bookmarks = request_flag(q, "allowWatchBookmarks");
    w->deadline_ms = q->s->now.mono_ms + o->timeout_ms;
    w->bookmark_ms = q->s->now.mono_ms + earlier(bookmark_period(q->s), o->timeout_ms - BOOKMARK_BEFORE_END_MS);
    w->next = w->of->watches;
    w->of->watches = w;
    w->conn->watch = w;
    return w;
}

/* The objects that the cache has now, as ADDED. */
static void send_initial(struct apiserver *s, struct watch *w, const struct watch_options *o)
{
    struct version **all;
    size_t count;
    if (!store_snapshot(w->of, w->after_rv, &s->scratch, &all, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct version *v = all[i];
        if ((!w->ns.len || slice_eq(v->ns, w->ns)) && selector_matches(w->selector, v, &s->scratch))
            send_version(s, w, "ADDED", v, 0);
    }
    if (o->announce_end && w->bookmarks)
        w->end_rv = o->rv < 0 ? s->rv : w->after_rv;
    end_initial(s, w);
}

static bool too_old(struct request *q, const struct watch_options *o)
{
    if (o->initial || o->rv <= 0 || (uint64_t)o->rv >= q->api->of->floor_rv)
        return false;
    if (q->api->of->rules == &rules_event) /* no watch cache */
        return !status_set(&q->st, 410, "Expired", "The resourceVersion for the provided watch is too old.");
    status_set(&q->st, 410, "Expired", "too old resource version: %lld (%llu)", (long long)o->rv, (unsigned long long)q->api->of->floor_rv);
    return true;
}

void watch_open(struct request *q)
{
    struct watch_options o = {0};
    const struct selector *sel = selector_parse(request_query(q, "labelSelector"), request_query(q, "fieldSelector"), q->a, &q->st);
    if (!sel || !check_initial(q) || !selector_fits(sel, q->api->of, &q->st) || !read_options(q, &o))
        return;
    bool old = too_old(q, &o);
    q->s->hits.expired += old;
    q->s->hits.expired_as_http += old && q->s->faults.expired_as_http;
    if (old && q->s->faults.expired_as_http)
        return;
    struct status expired = q->st;
    q->st.code = 0;
    struct watch *w = watch_new(q, &o);
    q->streaming = true;
    http_write_chunked_response(&q->conn->out, 200, &(struct http_header){SLICE("Content-Type"), SLICE("application/json")}, 1);
    if (old) {
        send_error(q->s, w, &expired);
        finish(q->s, w, false);
        return;
    }
    bool from_now = o.initial || o.rv < 0 || o.rv == 0;
    w->after_rv = !from_now ? (uint64_t)o.rv : store_cached(q->s, w->of);
    w->cursor = store_after(w->of, w->after_rv);
    q->s->hits.held += from_now && w->cursor < w->of->next;
    if (o.initial)
        send_initial(q->s, w, &o);
}
