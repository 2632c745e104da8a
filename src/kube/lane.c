#include "lane.h"

#include "config.h"

/* A lane sends the calls of its queue over a few connections, one at a time on each. Who comes first is served first, but for calls that
 * have to be sent again: they stand in front.
 *
 * Connections are opened a few at a time (KUBE_OPENING): handshakes cost both sides more than requests do, and sixty-four at once would
 * keep the first request waiting for the last handshake. While they open, those that stand carry the queue.
 *
 * A 429 of the server's flow control is for everybody. One about what was written, by a webhook or a limit of one namespace, is for its own
 * call. Both may carry the X-Kubernetes-PF headers, which stand on every answer; but flow control stands before all that knows objects, and
 * writes plain text, while admission and storage write a Status.
 *
 * When a connection cannot be opened, or flow control asks for a pause, the whole lane waits (not_before_ms); while the last connection
 * could not be opened, it tries with one at a time. The lease has a lane of its own, so its renewals wait for nobody.
 *
 * What comes back on the proxy's lane may be anybody's word, be it a Status: whoever runs what the server passes calls on to may have
 * written it. It counts for its own call, not for the lane, and nothing of the server is learned from it. */

/* ---- the lists ---- */

void conns_push(struct conns *list, struct conn *conn)
{
    conn->prev = NULL;
    conn->next = list->first;
    *(list->first ? &list->first->prev : &list->last) = conn;
    list->first = conn;
}

void conns_take(struct conns *list, struct conn *conn)
{
    *(conn->prev ? &conn->prev->next : &list->first) = conn->next;
    *(conn->next ? &conn->next->prev : &list->last) = conn->prev;
}

static struct lane *lane_of(struct conn *conn)
{
    return &conn->client->lanes[conn->lane];
}

static bool hearsay(const struct conn *conn)
{
    return conn->lane == KUBE_LANE_PROXY;
}

void queue_front(struct lane *lane, struct call *call)
{
    call->next = lane->first;
    lane->first = call;
    if (!lane->last)
        lane->last = call;
    lane->queued++;
    lane->queue_deadline_ms = earlier(lane->queue_deadline_ms, call->begin_ms);
}

void lane_add(struct kube_client *c, struct call *call)
{
    struct lane *lane = &c->lanes[call->lane];
    if (!lane->last) {
        queue_front(lane, call);
        return;
    }
    lane->last->next = call;
    lane->last = call;
    lane->queued++;
    lane->queue_deadline_ms = earlier(lane->queue_deadline_ms, call->begin_ms);
}

static struct call *queue_pop(struct lane *lane)
{
    struct call *call = lane->first;
    lane->first = call->next;
    if (!lane->first)
        lane->last = NULL;
    call->next = NULL;
    lane->queued--;
    return call;
}

/* ---- the end of a call ---- */

void finish_lost(struct kube_client *c, struct call *call, enum kube_outcome outcome, const struct err *why, struct now now)
{
    struct kube_answer answer = {.outcome = outcome, .err = *why, .status.retry_after_ms = -1};
    call_finish(c, call, &answer, now);
}

/* The server cannot be reached: everybody waits a while. Of the connections that fail together one counts. */
static void lane_fail(struct kube_client *c, struct lane *lane, const struct err *why, struct now now)
{
    /* A renewal is worth nothing when it comes too late, so its lane does not wait long. */
    int64_t most = lane == &c->lanes[KUBE_LANE_LEASE] ? KUBE_BACKOFF_MS : c->backoff_max_ms;
    if (lane->failures == 0 || now.mono_ms >= lane->not_before_ms)
        lane->not_before_ms = now.mono_ms + backoff_ms(&c->rng, lane->failures++, KUBE_BACKOFF_MS, most);
    client_trouble(c, why, now);
}

/* Back to the front of the queue, with the credentials of now. */
static void send_again(struct kube_client *c, struct call *call)
{
    c->stats.retries++;
    call_reform(c, call);
    queue_front(&c->lanes[call->lane], call);
}

static void send_later(struct kube_client *c, struct call *call, int64_t until_ms)
{
    struct lane *lane = &c->lanes[call->lane];
    c->stats.retries++;
    call_reform(c, call);
    call->not_before_ms = until_ms;
    call->next = lane->later;
    lane->later = call;
    lane->queued++;
}

void conn_trouble(const struct conn *conn, const struct err *why, struct now now)
{
    if (!hearsay(conn) || conn->x.sent == 0)
        client_trouble(conn->client, why, now);
}

/* The connection is gone; what does that mean for its call? */
static void call_lost(struct kube_client *c, struct conn *conn, struct call *call, const struct err *why, struct now now)
{
    bool unsent = conn->x.sent == 0;
    /* The server may close a connection that was kept at any time: that says nothing about the server, so there is no wait. */
    bool stale = conn->x.answers > 0 && !conn->x.heard;
    int64_t wait = stale || unsent ? 0 : backoff_ms(&c->rng, call->tries - 1, KUBE_BACKOFF_MS, KUBE_BACKOFF_MAX_MS);
    call->why = *why;
    call->maybe |= !unsent;
    if (!unsent && (!call->again || call->tries >= CALL_TRIES || now.mono_ms + wait >= call->begin_ms)) {
        conn_trouble(conn, why, now);
        finish_lost(c, call, KUBE_UNKNOWN, why, now);
    } else if (stale) {
        send_again(c, call);
    } else if (unsent) {
        lane_fail(c, lane_of(conn), why, now);
        send_again(c, call);
    } else {
        conn_trouble(conn, why, now);
        send_later(c, call, now.mono_ms + wait);
    }
}

static bool is_throttle(const struct conn *conn, const struct call *call, const struct kube_status *status)
{
    bool about_object = status->object && strcmp(call->method, "GET") != 0;
    return status->code == 429 && !hearsay(conn) && !about_object;
}

/* Answers that ask for another try. Returns whether the call was put back. */
static bool try_again(struct kube_client *c, struct conn *conn, struct call *call, const struct kube_status *status, struct now now)
{
    struct lane *lane = lane_of(conn);
    if (status->code == 401 && !call->renewed) {
        call->renewed = true;
        call->maybe |= hearsay(conn); /* a head may say no and do it all the same */
        client_renew(c, hearsay(conn) ? CLIENT_RENEW_HEARSAY_MS : CLIENT_RENEW_MS, now);
        send_again(c, call);
        return true;
    }
    bool throttled = is_throttle(conn, call, status); /* else nothing is known but that the call is to come later */
    bool asks = status->code == 429 || (status->code >= 500 && conn->retry_after_ms >= 0);
    if (!asks || (call->at_once && !throttled))
        return false;
    int64_t told = conn->retry_after_ms, wait = told >= 0 ? told : backoff_ms(&c->rng, call->tries, KUBE_BACKOFF_MS, KUBE_BACKOFF_MAX_MS);
    wait += (int64_t)rng_below(&c->rng, (uint64_t)wait / 8 + 1); /* not all of us at the same moment */
    if (throttled && now.mono_ms + wait > lane->not_before_ms)
        lane->not_before_ms = now.mono_ms + wait;
    if (call->tries >= CALL_TRIES || now.mono_ms + wait >= call->deadline_ms)
        return false;
    call->why.code = ERR_NONE; /* the last thing that stopped it counts */
    err_set(&call->why, ERR_STATUS, "%d %s: %s", status->code, kube_reason_text(status->reason), status->message);
    if (throttled)
        send_again(c, call);
    else
        send_later(c, call, now.mono_ms + wait);
    call->maybe |= status->code != 429 || hearsay(conn); /* a 429 was not carried out; of a 5xx nobody knows */
    return true;
}

/* ---- connections ---- */

static void on_head(struct exchange *x, struct now now)
{
    struct conn *conn = (struct conn *)x;
    conn->retry_after_ms = http_retry_after_ms(&x->reader, now.wall_us);
    buf_clear(&conn->warnings);
    if (conn->call && conn->call->warnings)
        client_gather_warnings(&x->reader, &conn->warnings);
    else if (!hearsay(conn))
        client_warnings(conn->client, &x->reader);
}

struct call *conn_detach(struct conn *conn)
{
    struct call *call = conn->call;
    struct lane *lane = lane_of(conn);
    conns_take(call ? &lane->busy : &lane->idle, conn);
    if (!lane->busy.first)
        lane->busy_deadline_ms = TIME_NEVER;
    lane->in_flight -= call != NULL;
    conn->client->stats.in_flight -= call != NULL;
    conn->call = NULL;
    return call;
}

/* A connection that has no call any more waits for the next one, or for its end. A certificate that was refused was that connection's. */
void conn_rest(struct conn *conn, struct now now)
{
    struct kube_client *c = conn->client;
    if (conn->x.link && (conn->generation != c->generation || (conn->x.status == 401 && c->config->identity && !hearsay(conn))))
        exchange_close(&conn->x);
    conn->idle_since_ms = now.mono_ms;
    conns_push(conn->x.link ? &lane_of(conn)->idle : &c->closed, conn);
}

/* Output that an owner has received cannot be taken back: such a call is sent once. */
static void hand_on(struct call *call, struct slice piece, struct now now)
{
    call->again = false;
    call->deadline_ms = now.mono_ms + call->timeout_ms;
    if (call->done)
        call->piece(call->owner, call->tag, piece);
}

static void on_body(struct exchange *x, struct slice piece, struct now now)
{
    struct conn *conn = (struct conn *)x;
    if (conn->call->piece && x->status / 100 == 2) {
        hand_on(conn->call, piece, now);
        return;
    }
    if (conn->secret ? kube_buf_put_secret(&conn->body, piece) : buf_put(&conn->body, piece))
        return;
    struct err e = {0};
    err_set(&e, ERR_LIMIT, "the answer is longer than %d bytes (LIMIT_HTTP_BODY)", LIMIT_HTTP_BODY);
    exchange_close(x);
    struct call *call = conn_detach(conn);
    conn_rest(conn, now);
    finish_lost(conn->client, call, KUBE_UNKNOWN, &e, now);
}

static void on_lost(struct exchange *x, const struct err *why, struct now now)
{
    struct conn *conn = (struct conn *)x;
    struct call *call = conn_detach(conn);
    conn_rest(conn, now);
    client_lost(conn->client, x, why);
    if (call)
        call_lost(conn->client, conn, call, why, now);
    else if (!x->opened) /* its call did not wait until here */
        lane_fail(conn->client, lane_of(conn), why, now);
    lane_run(conn->client, conn->lane, now);
}

static void on_end(struct exchange *x, struct now now)
{
    struct conn *conn = (struct conn *)x;
    struct kube_client *c = conn->client;
    struct kube_answer answer = {
        .body = buf_slice(&conn->body), .warnings = buf_slice(&conn->warnings), .status.code = x->status, .status.retry_after_ms = -1};
    bool good = x->status >= 200 && x->status < 300;
    if (!good)
        kube_status_read(x->status, answer.body, &answer.status);
    if (conn->retry_after_ms >= 0)
        answer.status.retry_after_ms = conn->retry_after_ms;
    uint32_t in_flight = lane_of(conn)->in_flight;
    struct call *call = conn_detach(conn);
    if (!good)
        call->told = answer.status.code;
    bool secret = conn->secret; /* of this call: the owner may make the next one */
    conn_rest(conn, now);
    lane_of(conn)->failures = 0;
    if (answer.status.code != 401)
        client_well(c, now);
    bool throttled = is_throttle(conn, call, &answer.status);
    c->stats.throttled += throttled;
    if (answer.status.code < 500)
        client_window(c, conn->lane,
                      &(struct window_answer){.class = call->class,
                                              .took_ms = now.mono_ms - x->sent_ms,
                                              .serial = conn->serial,
                                              .sent = c->serial,
                                              .in_flight = in_flight,
                                              .throttled = throttled,
                                              .timed = good},
                      now);
    if (good || !try_again(c, conn, call, &answer.status, now)) {
        answer.outcome = good ? KUBE_OK : KUBE_REFUSED;
        if (answer.status.code == 401 && !hearsay(conn))
            client_denied(c, &answer.status, now);
        call_finish(c, call, &answer, now);
    }
    /* Nothing has come for a next call yet: that takes another step. */
    if (secret)
        buf_wipe(&conn->body);
    else
        buf_shrink(&conn->body, BODY_KEPT);
    lane_run(c, conn->lane, now);
}

static const struct exchange_events conn_events = {.head = on_head, .body = on_body, .end = on_end, .lost = on_lost};

struct conn *conn_new(struct kube_client *c, enum kube_lane which)
{
    struct conn *conn = mem_alloc(sizeof *conn);
    exchange_init(&conn->x, &conn_events, &c->stats);
    conn->client = c;
    conn->lane = which;
    conn->generation = c->generation;
    buf_init(&conn->body, LIMIT_HTTP_BODY);
    buf_init(&conn->warnings, LIMIT_KUBE_WARNINGS * (LIMIT_KUBE_WARNING + 1));
    return conn;
}

void conn_free(struct conn *conn)
{
    exchange_close(&conn->x);
    buf_wipe(&conn->body); /* perhaps of an answer that never came to its end */
    buf_free(&conn->warnings);
    if (conn->call)
        call_free(conn->call);
    mem_free(conn);
}

static void conns_free(struct conns *list)
{
    for (struct conn *conn = list->first, *next; conn; conn = next) {
        next = conn->next;
        conn_free(conn);
    }
    *list = (struct conns){0};
}

void conns_reap(struct kube_client *c)
{
    conns_free(&c->closed);
}

void lane_close_idle(struct kube_client *c, enum kube_lane which)
{
    for (struct conn *conn; (conn = c->lanes[which].idle.first) != NULL;) {
        conns_take(&c->lanes[which].idle, conn);
        exchange_close(&conn->x);
        conns_push(&c->closed, conn);
    }
}

/* ---- sending ---- */

uint32_t lane_limit(const struct kube_client *c, enum kube_lane which)
{
    if (c->lanes[which].failures)
        return 1;
    return which == KUBE_LANE_MAIN ? c->window.size : which == KUBE_LANE_PROXY ? KUBE_PROXY_CALLS : 1;
}

/* The most recently used connection that stands, else one that opens, else a new one; NULL when it cannot even begin to open. */
static struct conn *lane_conn(struct kube_client *c, enum kube_lane which, int64_t deadline_ms, struct err *e)
{
    struct conn *conn = c->lanes[which].idle.first;
    while (conn && conn->next && conn->x.link->state == LINK_OPENING)
        conn = conn->next;
    if (conn) {
        conns_take(&c->lanes[which].idle, conn);
        return conn;
    }
    conn = conn_new(c, which);
    if (client_open(c, &conn->x, deadline_ms, e))
        return conn;
    conn_free(conn);
    return NULL;
}

int64_t conn_due(const struct conn *conn)
{
    return conn->x.sent == 0 ? conn->call->begin_ms : conn->call->deadline_ms;
}

static bool may_open(const struct lane *lane)
{
    uint32_t opening = 0;
    for (const struct conn *conn = lane->busy.first; conn; conn = conn->next)
        opening += conn->x.link && conn->x.link->state == LINK_OPENING;
    return opening < KUBE_OPENING;
}

void lane_run(struct kube_client *c, enum kube_lane which, struct now now)
{
    struct lane *lane = &c->lanes[which];
    while (lane->first && now.mono_ms >= lane->not_before_ms && lane->in_flight < lane_limit(c, which)) {
        if (!lane->idle.first && !may_open(lane))
            return; /* the next tick looks again, and there is one as soon as a connection stands */
        struct err e = {0};
        struct conn *conn = lane_conn(c, which, lane->first->deadline_ms, &e);
        if (!conn) {
            lane->first->why = e;
            lane_fail(c, lane, &e, now);
            return;
        }
        struct call *call = queue_pop(lane);
        call->tries++;
        conn->call = call;
        conn->secret = call->secret;
        conn->serial = ++c->serial;
        conns_push(&lane->busy, conn);
        lane->in_flight++;
        c->stats.in_flight++;
        c->stats.requests++;
        exchange_send(&conn->x, buf_slice(&call->request), now);
        lane->busy_deadline_ms = earlier(lane->busy_deadline_ms, conn_due(conn));
    }
}

void lane_free(struct kube_client *c, enum kube_lane which)
{
    struct lane *lane = &c->lanes[which];
    conns_free(&lane->busy);
    conns_free(&lane->idle);
    for (struct call *call = lane->first, *next; call; call = next) {
        next = call->next;
        call_free(call);
    }
    for (struct call *call = lane->later, *next; call; call = next) {
        next = call->next;
        call_free(call);
    }
}
