/* A lane's calls and connections that wait, and what ends that: their time, or an owner that may not write any longer. */
#include "lane.h"

enum { WARM_AGAIN_MS = 5000 };

/* ---- time ---- */

static void run_later(struct lane *lane, struct now now)
{
    for (struct call **at = &lane->later, *call; (call = *at) != NULL;) {
        if (call->not_before_ms > now.mono_ms) {
            at = &call->next;
            continue;
        }
        *at = call->next;
        lane->queued--;
        queue_front(lane, call);
    }
}

/* Takes one call out of the queue whose time is over; searched again each time, because its owner may change the queue. */
static struct call *queue_expired(struct lane *lane, struct now now)
{
    struct call *before = NULL;
    for (struct call *call = lane->first; call; before = call, call = call->next) {
        if (call->begin_ms > now.mono_ms)
            continue;
        *(before ? &before->next : &lane->first) = call->next;
        if (lane->last == call)
            lane->last = before;
        lane->queued--;
        return call;
    }
    return NULL;
}

static void expire_queue(struct kube_client *c, struct lane *lane, struct now now)
{
    if (now.mono_ms < lane->queue_deadline_ms)
        return;
    for (struct call *call; (call = queue_expired(lane, now)) != NULL;) {
        if (call->why.code == ERR_NONE)
            err_set(&call->why, ERR_TIMEOUT, "waited %lld ms for its turn", (long long)(now.mono_ms - call->made_ms));
        struct err why = call->why;
        finish_lost(c, call, call->maybe ? KUBE_UNKNOWN : KUBE_UNSENT, &why, now);
    }
    lane->queue_deadline_ms = TIME_NEVER;
    for (const struct call *call = lane->first; call; call = call->next)
        lane->queue_deadline_ms = earlier(lane->queue_deadline_ms, call->begin_ms);
}

/* A connection that opens too slowly for its call goes on with that: it is there for the next one, or nobody would ever get through. */
static void expire_conn(struct kube_client *c, struct conn *conn, struct now now)
{
    struct err e = {0};
    bool opening = conn->x.link->state == LINK_OPENING, unsent = conn->x.sent == 0;
    bool go_on = opening && now.mono_ms < conn->call->deadline_ms;
    long long ms = (long long)(now.mono_ms - conn->call->made_ms);
    err_set(&e, ERR_TIMEOUT, opening ? "no connection within %lld ms" : "no answer within %lld ms", ms);
    if (go_on)
        exchange_unsend(&conn->x);
    else
        exchange_close(&conn->x);
    struct call *call = conn_detach(conn);
    conn_rest(conn, now);
    if (!go_on)
        conn_trouble(conn, &e, now);
    finish_lost(c, call, unsent && !call->maybe ? KUBE_UNSENT : KUBE_UNKNOWN, &e, now);
}

static struct conn *conns_expired(const struct conns *busy, struct now now)
{
    struct conn *conn = busy->first;
    while (conn && conn_due(conn) > now.mono_ms)
        conn = conn->next;
    return conn;
}

/* Looks at them only when one may be due: every turn of the loop comes by, and there are up to KUBE_WINDOW_MAX. */
static void expire_busy(struct kube_client *c, struct lane *lane, struct now now)
{
    if (now.mono_ms < lane->busy_deadline_ms)
        return;
    for (struct conn *conn; (conn = conns_expired(&lane->busy, now)) != NULL;)
        expire_conn(c, conn, now);
    lane->busy_deadline_ms = TIME_NEVER;
    for (const struct conn *conn = lane->busy.first; conn; conn = conn->next)
        lane->busy_deadline_ms = earlier(lane->busy_deadline_ms, conn_due(conn));
}

/* When the connection that rested longest is closed. A burst leaves many behind, each with its TLS buffers: what goes beyond a few is not
 * kept long. */
static int64_t idle_until(const struct lane *lane)
{
    unsigned before = 0;
    for (const struct conn *conn = lane->idle.first; conn != lane->idle.last && before < KUBE_IDLE_KEPT; conn = conn->next)
        before++;
    return lane->idle.last->idle_since_ms + (before < KUBE_IDLE_KEPT ? NET_IDLE_MS : KUBE_IDLE_EXTRA_MS);
}

/* Whether a connection should stand although nothing is to be sent, and none does. */
static bool wants_warm(const struct kube_client *c, enum kube_lane which)
{
    const struct lane *lane = &c->lanes[which];
    return c->warm && which == KUBE_LANE_MAIN && !lane->busy.first && !lane->idle.first && lane->failures == 0 &&
           c->stats.last_ok_ms != 0 && c->stats.trouble.code == ERR_NONE;
}

static void keep_warm(struct kube_client *c, enum kube_lane which, struct now now)
{
    struct err e = {0};
    if (!wants_warm(c, which) || now.mono_ms < c->warm_ms)
        return;
    c->warm_ms = now.mono_ms + WARM_AGAIN_MS;
    struct conn *conn = conn_new(c, which);
    if (client_open(c, &conn->x, now.mono_ms + NET_CONNECT_MS, &e)) {
        conn->idle_since_ms = now.mono_ms;
        conns_push(&c->lanes[which].idle, conn);
    } else {
        conn_free(conn);
    }
}

void lane_tick(struct kube_client *c, enum kube_lane which, struct now now)
{
    struct lane *lane = &c->lanes[which];
    expire_busy(c, lane, now);
    run_later(lane, now);
    expire_queue(c, lane, now);
    for (struct conn *conn; (conn = lane->idle.last) != NULL && now.mono_ms >= idle_until(lane);) {
        conns_take(&lane->idle, conn);
        conn_free(conn);
    }
    lane_run(c, which, now);
    keep_warm(c, which, now);
}

int64_t lane_next(const struct kube_client *c, enum kube_lane which, struct now now)
{
    const struct lane *lane = &c->lanes[which];
    int64_t next = lane->idle.last ? idle_until(lane) : TIME_NEVER;
    next = earlier(next, earlier(lane->queue_deadline_ms, lane->busy_deadline_ms));
    if (wants_warm(c, which))
        next = earlier(next, c->warm_ms);
    if (lane->first && lane->not_before_ms > now.mono_ms)
        next = earlier(next, lane->not_before_ms);
    for (const struct call *call = lane->later; call; call = call->next)
        next = earlier(next, call->not_before_ms);
    return next;
}

/* ---- an owner that may not write any longer ---- */

static bool is_recalled(const struct call *call, const void *owner, const void *about)
{
    return call->owner == owner && (!about || call->about == about);
}

static struct call *take_recalled(struct lane *lane, const void *owner, const void *about)
{
    struct call *before = NULL;
    for (struct call *call = lane->first; call; before = call, call = call->next)
        if (is_recalled(call, owner, about)) {
            *(before ? &before->next : &lane->first) = call->next;
            if (lane->last == call)
                lane->last = before;
            lane->queued--;
            return call;
        }
    for (struct call **at = &lane->later, *call; (call = *at) != NULL; at = &call->next)
        if (is_recalled(call, owner, about)) {
            *at = call->next;
            lane->queued--;
            return call;
        }
    return NULL;
}

/* Calls of the owner whose connection is still opening go back to the queue, and so do those of which a part is still here: no server
 * carries out the beginning of a request. Of those that are on their way nothing is tried again. */
static void recall_busy(struct kube_client *c, struct lane *lane, const void *owner, const void *about, struct now now)
{
    for (struct conn *conn = lane->busy.first, *next; conn; conn = next) {
        struct call *call = conn->call;
        next = conn->next;
        if (!is_recalled(call, owner, about))
            continue;
        call->again = false;
        call->renewed = true;
        call->tries = CALL_TRIES;
        if (conn->x.sent != 0 && slice_empty(conn->x.unsent))
            continue;
        exchange_close(&conn->x);
        conn_detach(conn);
        conn_rest(conn, now);
        queue_front(&c->lanes[call->lane], call);
    }
}

void kube_calls_recall(struct kube_client *c, const void *owner, const void *about, struct now now)
{
    for (size_t i = 0; i < KUBE_LANES; i++) {
        recall_busy(c, &c->lanes[i], owner, about, now);
        for (struct call *call; (call = take_recalled(&c->lanes[i], owner, about)) != NULL;) {
            struct err why = {0};
            err_set(&why, ERR_CLOSED, "recalled after %lld ms, before it was sent", (long long)(now.mono_ms - call->made_ms));
            finish_lost(c, call, call->maybe ? KUBE_UNKNOWN : KUBE_UNSENT, &why, now);
        }
    }
}
