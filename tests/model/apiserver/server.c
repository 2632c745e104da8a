#include "request.h"

#include <stdio.h>

enum {
    CONN_OUT_MAX = 1024 * MIB, /* a list of everything is one piece */
    BODY_SLACK = 1,            /* one byte past the limit shows that a body is too large */
    PATIENCE_MS = 3000,        /* for a resourceVersion that has not come yet */
    SCRATCH_KEEP = MIB,
};

/* ---- life ---- */

static int64_t default_to(int64_t value, int64_t otherwise)
{
    return value ? value : otherwise;
}

struct apiserver *apiserver_new(const struct apiserver_config *config, struct now now)
{
    struct apiserver *s = mem_alloc(sizeof *s);
    s->config = *config;
    s->config.pod_net = config->pod_net ? config->pod_net : "127.100";
    s->config.schedule_ms = default_to(config->schedule_ms, 20);
    s->config.start_ms = default_to(config->start_ms, 500);
    s->config.stop_ms = default_to(config->stop_ms, 200);
    s->config.lose_ms = default_to(config->lose_ms, 1000);
    s->config.collect_ms = default_to(config->collect_ms, 50);
    s->config.bookmark_ms = default_to(config->bookmark_ms, 60 * 1000);
    s->config.history = config->history ? config->history : 4096;
    s->now = now;
    rng_seed(&s->rng, config->seed);
    buf_init(&s->body, CONN_OUT_MAX);
    buf_init(&s->line, CONN_OUT_MAX);
    registry_builtins(s);
    world_start(s);
    for (size_t i = 0; i < s->resource_count; i++) /* as after a restart: what was before is known only as it is now */
        store_forget(s->resources[i], s->rv);
    arena_reset(&s->scratch, SCRATCH_KEEP);
    return s;
}

void apiserver_free(struct apiserver *s)
{
    while (s->conns)
        apiserver_disconnect(s, s->conns);
    map_free(&s->by_uid);
    for (size_t i = 0; i < s->resource_count; i++)
        store_free(s->resources[i]);
    mem_free(s->resources);
    mem_free(s->apis);
    mem_free(s->timers.heap);
    buf_free(&s->body);
    buf_free(&s->line);
    arena_free(&s->scratch);
    arena_free(&s->forever);
    mem_free(s);
}

struct conn *apiserver_connect(struct apiserver *s)
{
    struct conn *c = mem_alloc(sizeof *c);
    http_reader_init(&c->reader, HTTP_REQUESTS);
    buf_init(&c->in, 2 * (size_t)REQUEST_BODY_MAX);
    buf_init(&c->body, REQUEST_BODY_MAX + BODY_SLACK);
    buf_init(&c->out, CONN_OUT_MAX);
    c->next = s->conns;
    s->conns = c;
    return c;
}

void apiserver_disconnect(struct apiserver *s, struct conn *c)
{
    if (c->watch)
        watch_close(s, c->watch);
    struct conn **link = &s->conns;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    http_reader_free(&c->reader);
    buf_free(&c->in);
    buf_free(&c->body);
    buf_free(&c->out);
    mem_free(c);
}

/* ---- answers ---- */

/* 299 - "unknown field \"spec.x\"" */
static struct slice quoted(struct slice text, struct arena *a)
{
    char *out = arena_alloc(a, 2 * text.len + 16);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"' || text.ptr[i] == '\\')
            out[n++] = '\\';
        out[n++] = text.ptr[i];
    }
    return arena_printf(a, "299 - \"%.*s\"", (int)n, out);
}

/* What flow control refuses is no Status: it stands before all that knows objects. */
static void write_refusal(struct request *q)
{
    bool flow = q->st.code == 429 && !*q->st.reason;
    struct jout w;
    buf_clear(q->out);
    jout_init(&w, q->out);
    if (flow)
        buf_put(q->out, SLICE("Too many requests, please try again later.\n"));
    else
        status_write(&q->st, &w);
    q->code = q->st.code;
    q->type = flow ? "text/plain; charset=utf-8" : NULL;
}

static void send_answer(struct request *q)
{
    struct http_header headers[3 + REQUEST_WARNINGS];
    size_t n = 0;
    char seconds[16];
    if (q->st.code)
        write_refusal(q);
    headers[n++] = (struct http_header){SLICE("Content-Type"), q->type ? slice_of(q->type) : SLICE("application/json")};
    if (q->st.code && q->st.retry_after_s) {
        snprintf(seconds, sizeof seconds, "%d", q->st.retry_after_s);
        headers[n++] = (struct http_header){SLICE("Retry-After"), slice_of(seconds)};
    }
    for (size_t i = 0; i < q->warning_count; i++)
        headers[n++] = (struct http_header){SLICE("Warning"), quoted(q->warnings[i], q->a)};
    if (!q->conn->reader.keep_alive) {
        headers[n++] = (struct http_header){SLICE("Connection"), SLICE("close")};
        q->conn->closing = true;
    }
    struct slice body = buf_slice(q->out);
    http_write_response(&q->conn->out, q->code, headers, n, &body);
}

/* An answer that a test has ordered. */
static bool overridden(struct request *q)
{
    struct apiserver_override *o = &q->s->faults.next;
    if (!o->times || (o->method.len && !slice_eq(o->method, q->method)) || (o->path.len && !slice_starts(q->target, o->path)))
        return false;
    o->times--;
    if (o->commit)
        request_serve(q);
    q->st = (struct status){.a = q->a};
    if (!o->status) {
        if (q->conn->watch)
            watch_close(q->s, q->conn->watch);
        q->conn->out.len = q->conn->sent;
        q->conn->closing = true;
        return true;
    }
    status_set(&q->st, o->status, o->reason ? o->reason : "", "%s", o->message ? o->message : "ordered by the test");
    q->st.retry_after_s = o->retry_after_s;
    send_answer(q);
    return true;
}

static void refuse_future(struct request *q)
{
    unsigned long long wanted = q->wait_rv, current = store_cached(q->s, q->api->of);
    q->s->hits.held += wanted <= q->s->rv;
    status_cause(&q->st, "ResourceVersionTooLarge", SLICE(""), "Too large resource version");
    status_set(&q->st, 504, "Timeout", "Timeout: Too large resource version: %llu, current: %llu", wanted, current);
    q->st.retry_after_s = q->api->of->rules != &rules_event; /* they have no watch cache that might come to it */
}

static void answer(struct apiserver *s, struct conn *c)
{
    struct http_reader *r = &c->reader;
    struct request q = {
        .s = s, .conn = c, .a = &s->scratch, .method = r->method, .target = r->target, .out = &s->body, .st.a = &s->scratch};
    buf_clear(&s->body);
    q.accept = http_header_get(r, SLICE("Accept"));
    q.content_type = http_header_get(r, SLICE("Content-Type"));
    q.agent = http_header_get(r, SLICE("User-Agent"));
    q.body = buf_slice(&c->body);
    bool first_time = !c->waiting;
    c->waiting = false;
    if (first_time && overridden(&q))
        return;
    if (q.body.len > REQUEST_BODY_MAX)
        status_set(&q.st, 413, "RequestEntityTooLarge", "Request entity too large: limit is %d", REQUEST_BODY_MAX);
    else
        request_serve(&q);
    if (q.wait_rv && !q.st.code) {
        if (first_time)
            c->patience_ms = s->now.mono_ms + PATIENCE_MS;
        c->wait_rv = q.wait_rv;
        c->waits_for = q.api->of;
        c->waiting = s->now.mono_ms < c->patience_ms;
        if (c->waiting)
            return;
        refuse_future(&q);
    }
    if (!q.streaming)
        send_answer(&q);
    arena_reset(&s->scratch, SCRATCH_KEEP);
    buf_shrink(&s->body, SCRATCH_KEEP);
}

/* ---- reading requests ---- */

static void gather(struct conn *c, struct slice piece)
{
    size_t room = c->body.max - c->body.len;
    buf_put(&c->body, slice_head(piece, room)); /* what is past the limit is only counted as one byte too many */
}

static void refuse_http(struct conn *c, const struct err *e)
{
    struct slice body = slice_of(e->text);
    struct http_header headers[] = {{SLICE("Content-Type"), SLICE("text/plain")}, {SLICE("Connection"), SLICE("close")}};
    http_write_response(&c->out, 400, headers, COUNT_OF(headers), &body);
    c->closing = true;
}

/* Reads as many requests as have come, one after the other; a watch or a waiting request keeps the rest where it is. */
static void read_requests(struct apiserver *s, struct conn *c)
{
    struct slice in = buf_slice(&c->in), piece;
    size_t all = in.len;
    for (bool more = true; more && !c->closing && !c->watch && !c->waiting && !c->forsaken;) {
        struct err e = {0};
        switch (http_read(&c->reader, &in, &piece, &e)) {
        case HTTP_MORE:
            more = false;
            break;
        case HTTP_HEAD:
            buf_shrink(&c->body, 64 * KIB);
            if (c->reader.expects_continue)
                buf_put(&c->out, SLICE("HTTP/1.1 100 Continue\r\n\r\n"));
            break;
        case HTTP_BODY:
            gather(c, piece);
            break;
        case HTTP_END:
            answer(s, c);
            break;
        case HTTP_BAD:
            refuse_http(c, &e);
            break;
        }
    }
    buf_drop(&c->in, all - in.len);
}

/* After anything that may have moved the store: watches, and requests that wait for a resourceVersion. */
static void settle(struct apiserver *s)
{
    watch_pump(s);
    for (struct conn *c = s->conns; c; c = c->next) {
        if (c->waiting && (store_cached(s, c->waits_for) >= c->wait_rv || s->now.mono_ms >= c->patience_ms)) {
            answer(s, c);
            read_requests(s, c);
        }
    }
    arena_reset(&s->scratch, SCRATCH_KEEP);
}

void apiserver_feed(struct apiserver *s, struct conn *c, struct slice bytes, struct now now)
{
    s->now = now;
    if (!c->closing && !buf_put(&c->in, bytes))
        c->closing = true; /* bytes behind a watch that nobody asked for */
    read_requests(s, c);
    settle(s);
}

struct slice apiserver_output(const struct conn *c)
{
    return slice_skip(buf_slice(&c->out), c->sent);
}

void apiserver_sent(struct apiserver *s, struct conn *c, size_t n, struct now now)
{
    s->now = now;
    c->sent += n;
    if (c->sent == c->out.len) {
        buf_shrink(&c->out, 64 * KIB);
        c->sent = 0;
    } else if (c->sent > c->out.len / 2) { /* each byte is moved a bounded number of times */
        buf_drop(&c->out, c->sent);
        c->sent = 0;
    }
    if (c->watch)
        settle(s);
    read_requests(s, c); /* a watch that has just ended may stand before another request */
}

bool apiserver_wants_close(const struct conn *c)
{
    return c->closing;
}

/* ---- time ---- */

int64_t apiserver_deadline(const struct apiserver *s)
{
    int64_t first = timers_next(s), watch = watch_deadline(s);
    for (size_t i = 0; i < s->resource_count; i++)
        if (s->resources[i]->held_until_ms > s->now.mono_ms && s->resources[i]->held_until_ms < first)
            first = s->resources[i]->held_until_ms;
    if (watch < first)
        first = watch;
    for (const struct conn *c = s->conns; c; c = c->next)
        if (c->waiting && c->patience_ms < first)
            first = c->patience_ms;
    return first;
}

void apiserver_tick(struct apiserver *s, struct now now)
{
    s->now = now;
    struct timer t;
    while (timers_take(s, &t)) {
        world_wake(s, &t);
        watch_pump(s);
        arena_reset(&s->scratch, SCRATCH_KEEP);
    }
    settle(s);
    for (struct conn *c = s->conns; c; c = c->next)
        read_requests(s, c);
}

/* ---- faults and oracles ---- */

struct apiserver_faults *apiserver_faults(struct apiserver *s)
{
    return &s->faults;
}

const struct apiserver_hits *apiserver_hits(const struct apiserver *s)
{
    return &s->hits;
}

void apiserver_compact(struct apiserver *s, struct slice resource)
{
    for (size_t i = 0; i < s->resource_count; i++)
        if (!resource.len || s->resources[i] == registry_named(s, resource))
            store_forget(s->resources[i], s->rv);
}

void apiserver_compact_lists(struct apiserver *s)
{
    for (size_t i = 0; i < s->resource_count; i++) {
        s->resources[i]->list_floor = s->rv;
        if (s->resources[i]->rules == &rules_event) /* the one kind without a watch cache */
            store_forget(s->resources[i], s->rv);
    }
}

uint32_t apiserver_drop_watches(struct apiserver *s, struct slice resource, bool rude)
{
    struct resource *r = registry_named(s, resource);
    return r ? watch_end_all(s, r, rude) : 0;
}

uint32_t apiserver_outrun_watches(struct apiserver *s, struct slice resource)
{
    struct resource *r = registry_named(s, resource);
    return r ? watch_expire_all(s, r) : 0;
}

void apiserver_hold_cache(struct apiserver *s, struct slice resource, int64_t back_ms, int64_t for_ms)
{
    struct resource *r = registry_named(s, resource);
    if (!r)
        return;
    uint64_t seq = r->next;
    while (seq > r->first && store_event(r, seq - 1)->at_ms > s->now.mono_ms - back_ms)
        seq--;
    r->held_rv = seq < r->next ? store_event(r, seq)->rv - 1 : s->rv;
    r->held_until_ms = s->now.mono_ms + for_ms;
}

uint32_t apiserver_expire_watches(struct apiserver *s, struct slice resource)
{
    struct resource *r = registry_named(s, resource);
    if (!r)
        return 0;
    store_forget(r, ++s->rv); /* who has seen all there was has to begin again, too */
    return watch_expire_all(s, r);
}

/* From now on a connection carries nothing but what has been answered already. */
static void break_all(struct apiserver *s)
{
    for (size_t i = 0; i < s->resource_count; i++)
        watch_end_all(s, s->resources[i], true);
    for (struct conn *c = s->conns; c; c = c->next) {
        c->closing = true;
        c->waiting = false;
    }
}

bool apiserver_restore(struct apiserver *s, uint64_t revision)
{
    struct version **then;
    size_t count;
    for (size_t i = 0; i < s->resource_count; i++)
        if (!store_snapshot(s->resources[i], revision, &s->scratch, &then, &count))
            return false;
    break_all(s);
    for (size_t i = 0; i < s->resource_count; i++)
        store_restore(s, s->resources[i], revision);
    s->rv = revision;
    for (size_t i = 0; i < s->resource_count; i++)
        for (size_t k = 0; k < s->resources[i]->count; k++) {
            gc_saw(s, s->resources[i]->objects[k], CHANGE_ADDED);
            if (s->resources[i]->rules == &rules_pod)
                kubelet_saw(s, s->resources[i]->objects[k], CHANGE_ADDED);
        }
    arena_reset(&s->scratch, SCRATCH_KEEP);
    return true;
}

void apiserver_raise_revision(struct apiserver *s, uint64_t by)
{
    s->rv += by;
    apiserver_compact(s, SLICE(""));
}

void apiserver_observe(struct apiserver *s, struct apiserver_observer *o)
{
    s->observer = o;
}

uint64_t apiserver_revision(const struct apiserver *s)
{
    return s->rv;
}

struct slice apiserver_get(const struct apiserver *s, struct slice resource, struct slice ns, struct slice name, struct arena *a)
{
    const struct resource *r = registry_named(s, resource);
    const struct object *o = r ? store_find(r, ns, name) : NULL;
    if (!o)
        return SLICE_NONE;
    struct slice version = api_version(registry_storage(s, r), a), head, json = slice_skip(o->now->json, 1);
    head = arena_printf(a, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",", SLICE_ARG(r->kind), SLICE_ARG(version));
    char *text = arena_alloc(a, head.len + json.len + 1); /* zeroed, and so with a NUL behind it */
    memcpy(text, head.ptr, head.len);
    memcpy(text + head.len, json.ptr, json.len);
    return (struct slice){text, head.len + json.len};
}

size_t apiserver_count(const struct apiserver *s, struct slice resource)
{
    const struct resource *r = registry_named(s, resource);
    return r ? r->count : 0;
}
