/* The client: sends a call, retries transient errors, and corrects clock, region and credentials when the store rejects them. */
#include "store.h"

#include <stdio.h>

enum {
    HEAD_MAX = 4 * LIMIT_HTTP_HEAD + CLOUD_CHUNK, /* of a head, or of a chunk of a body */
    KEEP = 64 * KIB,
    OPEN_MS = NET_CONNECT_MS + NET_HANDSHAKE_MS,
    SKEW_S = 300,
    NEAR_MS = 3000 /* to connect to a server of this node */
};

static void say(struct cloud_store *s, const char *line)
{
    if (s->o.say)
        s->o.say(s->o.owner, line);
}

static void drop_link(struct cloud_store *s)
{
    if (s->link)
        link_close(s->link);
    s->link = NULL;
}

/* The server of the current request. */
static const struct cloud_host *host_of(const struct cloud_store *s)
{
    const struct cloud_host *const hosts[] = {
        [CLOUD_TO_STORE] = &s->o.store, [CLOUD_TO_IDENTITY] = &s->o.identity, [CLOUD_TO_SIGNER] = &s->o.signer};
    return hosts[s->errand ? s->errand->to : CLOUD_TO_STORE];
}

/* ---- the end of a call ---- */

static void end_call(struct cloud_store *s, struct cloud_answer *answer, struct now now)
{
    const struct cloud_call c = s->call;
    s->busy = false;
    s->next_ms = TIME_NEVER;
    if (answer->err.code != ERR_NONE)
        err_wrap(&answer->err, "%s %s://%.*s%s%.*s", c.method, s->o.protocol->scheme, SLICE_ARG(s->o.bucket), slice_empty(c.key) ? "" : "/",
                 SLICE_ARG(slice_head(c.key, 200)));
    c.done(c.done_owner, answer, now);
}

static void fail_call(struct cloud_store *s, const struct err *why, struct now now)
{
    struct cloud_answer answer = {.err = *why};
    drop_link(s);
    if (s->errand)
        err_wrap(&answer.err, "%s from %.*s (%s)", s->errand->what, SLICE_ARG(host_of(s)->authority), s->o.settings.source);
    end_call(s, &answer, now);
}

/* Schedules the next attempt, after least_ms or the backoff, whichever is longer. False: no attempt is left. */
static bool retry_later(struct cloud_store *s, int64_t least_ms, struct now now)
{
    int64_t wait_ms = backoff_ms(&s->rng, s->tries, CLOUD_BACKOFF_MS, CLOUD_BACKOFF_MAX_MS);
    if (++s->tries >= CLOUD_TRIES)
        return false;
    s->next_ms = now.mono_ms + (least_ms > wait_ms ? earlier(least_ms, CLOUD_SILENCE_MS) : wait_ms);
    return true;
}

static void retry_now(struct cloud_store *s, struct now now)
{
    s->next_ms = now.mono_ms;
}

/* The connection failed or closed. If it was kept open from an earlier request and closed before the first byte of this answer, the
 * server had merely timed it out: the request is sent again at once and does not count as an attempt. */
static void lose_connection(struct cloud_store *s, const struct err *why, struct now now)
{
    struct err kept = *why;
    bool stale = s->reused && s->reader.head.len == 0 && !s->got && kept.code != ERR_TIMEOUT;
    drop_link(s);
    if (stale)
        retry_now(s, now);
    else if (kept.code == ERR_TLS_TRUST || kept.code == ERR_TLS_NAME || kept.code == ERR_DENIED || !retry_later(s, 0, now))
        fail_call(s, &kept, now);
}

/* ---- corrections of clock, region and credentials ---- */

static bool mend_clock(struct cloud_store *s, const struct cloud_refusal *r, struct now now)
{
    int64_t there_us;
    char line[160];
    if (s->skewed || (r->status != 403 && r->status != 400) || !http_date(http_header_get(&s->reader, SLICE("date")), &there_us))
        return false;
    int64_t skew_s = (there_us - now.wall_us) / 1000000;
    if (skew_s > -SKEW_S && skew_s < SKEW_S)
        return false;
    s->skewed = true;
    s->skew_us = skew_s * 1000000;
    snprintf(line, sizeof line, "the store's clock is %lld s %s this machine's, and is used: set one of them right",
             (long long)(skew_s < 0 ? -skew_s : skew_s), skew_s < 0 ? "behind" : "ahead of");
    say(s, line);
    return true;
}

/* Only with an endpoint of one's own: at AWS the host's name has the region in it, and the client keeps to its host. */
static bool mend_region(struct cloud_store *s, const struct cloud_refusal *r)
{
    char line[160];
    if (s->moved || slice_empty(s->o.settings.endpoint) || slice_empty(r->region) || slice_is(r->region, s->region) ||
        (r->status != 400 && r->status != 301 && r->status != 403) || !slice_copy(r->region, s->region, sizeof s->region))
        return false;
    s->moved = true;
    snprintf(line, sizeof line, "the bucket is in region %s, which is used: set AWS_REGION", s->region);
    say(s, line);
    return true;
}

static bool mend_credentials(struct cloud_store *s, const struct cloud_refusal *r)
{
    bool expired = slice_is(r->code, "ExpiredToken") || slice_is(r->code, "InvalidToken") || slice_is(r->code, "TokenRefreshRequired") ||
                   r->status == 401;
    if (s->renewed || !expired || s->keys.expires_us == TIME_NEVER)
        return false;
    s->renewed = true;
    s->keys.expires_us = 0;
    return true;
}

/* ---- answers of the store and of STS ---- */

static bool is_transient(const struct cloud_refusal *r)
{
    return r->status == 429 || r->status == 408 || (r->status >= 500 && r->status != 501) || slice_is(r->code, "SlowDown") ||
           slice_is(r->code, "RequestTimeout") || slice_is(r->code, "OperationAborted");
}

/* CompleteMultipartUpload can answer 200 before it has finished, and then report its failure in the body. */
static bool is_error(const struct cloud_store *s)
{
    return strcmp(s->call.method, "POST") == 0 && slice_has(slice_head(buf_slice(&s->answer), 512), "<Error>");
}

/* Ends a call for a signed URL. */
static void end_signed(struct cloud_store *s, struct now now)
{
    struct cloud_answer answer = {.body = s->url, .seconds = s->url_s};
    end_call(s, &answer, now);
}

/* The answer has credentials, and is wiped. */
static void take_errand(struct cloud_store *s, struct now now)
{
    struct err e = {0};
    bool well = s->errand->take(s, now, &e);
    if (s->answer.len)
        mem_wipe(s->answer.ptr, s->answer.len);
    if (!well)
        fail_call(s, &e, now);
    else if (!slice_empty(s->url))
        end_signed(s, now);
    else
        retry_now(s, now);
}

static void take_answer(struct cloud_store *s, struct now now)
{
    struct cloud_refusal r;
    struct err e = {0};
    bool whole = slice_empty(s->unsent) && (s->errand || s->sent == s->call.size);
    bool well = s->reader.status / 100 == 2 && !is_error(s);
    if (!s->reader.keep_alive || !whole || s->link->state != LINK_OPEN)
        drop_link(s);
    s->reused = true;
    if (well && s->errand) {
        take_errand(s, now);
        return;
    }
    cloud_refusal_read(s, &s->a, &r);
    if (!well && !s->errand && (mend_clock(s, &r, now) || mend_region(s, &r) || mend_credentials(s, &r))) {
        retry_now(s, now);
        return;
    }
    if (!well && (is_transient(&r) || is_error(s)) && retry_later(s, http_retry_after_ms(&s->reader, now.wall_us), now))
        return;
    if (!well)
        cloud_refusal_words(s, &r, &e);
    if (!well && s->errand) {
        fail_call(s, &e, now);
        return;
    }
    struct cloud_answer answer = {
        .err = e, .status = r.status, .code = r.code, .message = r.message, .body = buf_slice(&s->answer), .reader = &s->reader};
    end_call(s, &answer, now);
}

/* ---- reading and writing the connection ---- */

/* Writes the rest of the head and as much of the body as the link takes. False: call.read failed. */
static bool send_some(struct cloud_store *s, struct link *l, struct err *e)
{
    while (link_put(l, &s->unsent) && !s->errand && s->sent < s->call.size) {
        size_t n;
        if (s->signature[0]) {
            if (!cloud_request_chunk(s, e))
                return false;
            continue;
        }
        char *room = link_room(l, &n);
        uint64_t left = s->call.size - s->sent;
        n = n < left ? n : (size_t)left;
        if (n == 0)
            break;
        if (!s->call.read)
            memcpy(room, s->call.body.ptr + s->sent, n);
        else if (!s->call.read(s->call.owner, s->sent, room, n, e))
            return false;
        link_wrote(l, n);
        s->sent += n;
    }
    return true;
}

static bool check_head(struct cloud_store *s, struct err *e)
{
    struct slice etag = http_header_get(&s->reader, SLICE("etag"));
    if (!s->got && (slice_empty(etag) || !slice_copy(etag, s->etag, sizeof s->etag)))
        s->etag[0] = '\0';
    return s->errand || !s->call.piece || s->reader.status != 200 || s->call.from + s->got == 0 ||
           err_set(e, ERR_STATUS,
                   "the store ignores the header Range: after a lost connection it sent the object from its beginning; get it again");
}

static bool take_piece(struct cloud_store *s, struct slice piece, struct err *e)
{
    if (s->call.piece && !s->errand && s->reader.status / 100 == 2) {
        s->got += piece.len;
        return s->call.piece(s->call.owner, piece, e);
    }
    return buf_put(&s->answer, piece) ||
           err_set(e, ERR_LIMIT, "the store's answer has more than %d bytes (LIMIT_CLOUD_ANSWER)", LIMIT_CLOUD_ANSWER);
}

static void on_link(struct link_owner *owner, struct link *l, struct now now)
{
    struct cloud_store *s = (struct cloud_store *)owner;
    struct err e = {0};
    enum http_step step = HTTP_MORE;
    if (l->state == LINK_OPENING)
        return;
    if (!s->busy || s->next_ms != TIME_NEVER) { /* no request in flight: the store may close its idle connection */
        if (l->state != LINK_OPEN || !slice_empty(link_peek(l)))
            drop_link(s);
        return;
    }
    bool well = l->state != LINK_OPEN || send_some(s, l, &e);
    l->deadline_ms = now.mono_ms + CLOUD_SILENCE_MS;
    for (; well;) {
        struct slice in = link_peek(l), piece;
        size_t had = in.len;
        step = http_read(&s->reader, &in, &piece, &e);
        if (step == HTTP_HEAD)
            well = check_head(s, &e);
        if (step == HTTP_BODY)
            well = take_piece(s, piece, &e);
        link_used(l, had - in.len);
        if (step == HTTP_END || step == HTTP_BAD || (step == HTTP_MORE && had == 0))
            break;
    }
    if (!well)
        fail_call(s, &e, now);
    else if (step == HTTP_END)
        take_answer(s, now);
    else if (step == HTTP_BAD)
        lose_connection(s, &e, now);
    else if (l->state == LINK_FAILED)
        lose_connection(s, &l->error, now);
    else if (l->state == LINK_ENDED && http_read_end(&s->reader, &e) == HTTP_END)
        take_answer(s, now);
    else if (l->state == LINK_ENDED) {
        err_set(&e, ERR_CLOSED, "the store closed the connection before its answer was complete");
        lose_connection(s, &e, now);
    }
}

/* Signs the URL of a call, with what the client has. */
static void sign_url(struct cloud_store *s, struct now now)
{
    const struct cloud_fetched *k = &s->keys;
    struct cloud_request r;
    int64_t until_us = k->delegation.until_us ? k->delegation.until_us : k->expires_us;
    if (until_us == TIME_NEVER && s->o.protocol->keys_until)
        until_us = s->o.protocol->keys_until(&s->o.settings.keys, &s->a);
    struct cloud_signer signer =
        cloud_url_begin(s, until_us == TIME_NEVER ? CLOUD_URL_S : (until_us - now.wall_us - s->skew_us) / 1000000, now, &r);
    s->o.protocol->sign_url(&r, &signer, s->url_s, &s->a);
    cloud_url_end(s, &r);
    end_signed(s, now);
}

static bool write_request(struct cloud_store *s, struct now now, struct err *e)
{
    arena_reset(&s->a, KEEP);
    buf_clear(&s->head);
    buf_shrink(&s->answer, KEEP);
    http_reader_free(&s->reader);
    http_reader_init(&s->reader, HTTP_RESPONSES);
    s->reader.encoded = !s->errand; /* of an object, which is handed out as it is stored */
    if (!s->errand && strcmp(s->call.method, "HEAD") == 0)
        http_reader_expect_no_body(&s->reader);
    s->next_ms = TIME_NEVER;
    s->sent = 0;
    s->signature[0] = '\0';
    return s->errand ? s->errand->write(s, now, e) : s->call.sign_s || cloud_request_write(s, now, e);
}

static void begin_attempt(struct cloud_store *s, struct now now)
{
    struct err e = {0};
    s->errand = s->o.protocol->errand(s, now);
    const struct cloud_host *to = host_of(s);
    if (!s->errand)
        s->keys.fresh = false;
    if (s->linked != to)
        drop_link(s);
    s->linked = to;
    if (!write_request(s, now, &e)) {
        fail_call(s, &e, now);
        return;
    }
    if (!s->errand && s->call.sign_s) {
        sign_url(s, now);
        return;
    }
    s->unsent = buf_slice(&s->head);
    s->reused = s->link != NULL;
    if (!s->link)
        s->link = net_open(s->net, &to->at, &s->owner, now.mono_ms + (s->errand && !to->at.tls ? NEAR_MS : OPEN_MS), &e);
    if (!s->link)
        fail_call(s, &e, now);
    else
        net_wake(s->link);
}

/* ---- the client ---- */

struct cloud_store *cloud_store_new(struct net *net, const struct cloud_store_options *o)
{
    struct cloud_store *s = mem_alloc(sizeof *s);
    s->owner.step = on_link;
    s->net = net;
    s->o = *o;
    s->next_ms = TIME_NEVER;
    rng_seed(&s->rng, o->seed);
    buf_init(&s->head, HEAD_MAX);
    buf_init(&s->answer, LIMIT_CLOUD_ANSWER);
    http_reader_init(&s->reader, HTTP_RESPONSES);
    slice_copy(slice_empty(o->settings.region) ? SLICE("us-east-1") : o->settings.region, s->region, sizeof s->region);
    if (slice_empty(o->settings.role) && slice_empty(o->settings.identity))
        s->keys.expires_us = TIME_NEVER;
    slice_copy(o->settings.keys.id.ptr ? o->settings.keys.id : SLICE(""), s->keys.id, sizeof s->keys.id);
    return s;
}

struct cloud_store *cloud_store_beside(struct cloud_store *s)
{
    struct cloud_store *n = cloud_store_new(s->net, &s->o);
    rng_seed(&n->rng, rng_next(&s->rng));
    n->keys = s->keys;
    memcpy(n->region, s->region, sizeof n->region);
    n->skew_us = s->skew_us;
    n->skewed = s->skewed;
    n->moved = s->moved;
    return n;
}

void cloud_store_free(struct cloud_store *s)
{
    if (!s)
        return;
    drop_link(s);
    http_reader_free(&s->reader);
    buf_wipe(&s->head);
    buf_free(&s->answer);
    arena_wipe(&s->a);
    mem_wipe(s, sizeof *s);
    mem_free(s);
}

const struct http_reader *cloud_store_reader(const struct cloud_store *s)
{
    return &s->reader;
}

void cloud_store_call(struct cloud_store *s, const struct cloud_call *call, struct now now)
{
    s->call = *call;
    s->busy = true;
    s->renewed = s->keys.delegated = false;
    s->url = SLICE("");
    s->tries = 0;
    s->got = 0;
    s->next_ms = now.mono_ms;
}

int64_t cloud_store_tick(struct cloud_store *s, struct now now)
{
    if (!s->busy || s->next_ms > now.mono_ms)
        return s->next_ms;
    begin_attempt(s, now);
    return s->busy ? s->next_ms : now.mono_ms; /* it may have ended the call */
}
