#include "loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Reads of one wire in one turn: a peer that sends faster than we decrypt must not keep the others waiting. */
enum { WIRE_READS = 32, WIRE_DISCARD = 4 * KIB };

struct wire *wire_new(struct loop *l, struct slice peer)
{
    struct wire *w = mem_alloc(sizeof *w + peer.len + 1);
    w->link = (struct link){.ops = &wire_ops, .net = &l->net, .deadline_ms = TIME_NEVER};
    w->loop = l;
    w->watch = (struct watch){.fd = -1, .ready = wire_ready};
    w->step_until_ms = TIME_NEVER;
    w->moved = true;
    memcpy(w->peer, peer.ptr, peer.len);
    w->next = l->wires;
    l->wires = w;
    return w;
}

/* ---- ends ---- */

static void release(struct wire *w)
{
    loop_close_fd(w->loop, &w->watch);
    dial_free(w);
    tls_free(w->tls);
    w->tls = NULL;
    tls_trust_drop(w->trust);
    w->trust = NULL;
    tls_identity_drop(w->identity);
    w->identity = NULL;
    flow_drop(&w->out);
    w->step_until_ms = TIME_NEVER;
}

void wire_gone(struct wire *w)
{
    if (w->step == WIRE_GONE)
        return;
    release(w);
    w->step = WIRE_GONE;
    w->loop->gone = true;
    if (!w->listener)
        w->loop->dialled--;
}

void wire_free(struct wire *w)
{
    wire_gone(w);
    flow_drop(&w->in);
    mem_free(w);
}

void wire_fail(struct wire *w)
{
    release(w);
    if (w->link.state == LINK_OPENING)
        flow_drop(&w->in); /* a proxy's words, not the peer's */
    w->step = WIRE_FAILED;
    w->link.state = LINK_FAILED;
    net_wake(&w->link);
}

/* The socket said no. */
static void fail_errno(struct wire *w, int error)
{
    if (error == ECONNRESET || error == EPIPE)
        err_set(&w->link.error, ERR_CLOSED, "%s reset the connection", w->peer);
    else if (error == ETIMEDOUT)
        err_set(&w->link.error, ERR_TIMEOUT, "%s stopped acknowledging; the connection was dropped", w->peer);
    else
        err_set(&w->link.error, ERR_IO, "connection to %s: %s", w->peer, strerror(error));
    wire_fail(w);
}

/* ---- bytes between the socket and the session ---- */

static struct slice out_peek(const struct wire *w)
{
    return w->tls ? tls_send_peek(w->tls) : flow_peek(&w->out);
}

static bool can_send(const struct wire *w)
{
    return w->send_errno == 0 && !slice_empty(out_peek(w));
}

static bool can_recv(const struct wire *w)
{
    size_t n = 0;
    if (w->tls)
        tls_recv_room(w->tls, &n);
    else
        n = flow_space(&w->in);
    return n > 0 && !w->eof;
}

void wire_send(struct wire *w)
{
    while (can_send(w)) {
        struct slice s = out_peek(w);
        ssize_t n = send(w->watch.fd, s.ptr, s.len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        /* Bytes that the peer sent before it stopped listening, often the reason, may still be read: reading will find the end. */
        if (n < 0)
            w->send_errno = errno;
        else if (w->tls)
            tls_send_used(w->tls, (size_t)n);
        else
            flow_used(&w->out, (size_t)n);
    }
    flow_rest(&w->out);
}

bool wire_recv(struct wire *w)
{
    size_t room;
    if (!can_recv(w))
        return false;
    char *to = w->tls ? tls_recv_room(w->tls, &room) : flow_room(&w->in, &room);
    ssize_t n = recv(w->watch.fd, to, room, 0);
    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n < 0) {
        fail_errno(w, errno);
        return false;
    }
    w->news = w->heard = true;
    if (n == 0) {
        w->eof = true;
        if (w->tls)
            tls_eof(w->tls);
        return false;
    }
    if (w->tls)
        tls_recv_wrote(w->tls, (size_t)n);
    else
        flow_wrote(&w->in, (size_t)n);
    return (size_t)n == room;
}

/* ---- functions for the owner ---- */

static struct slice wire_peek(struct link *l)
{
    struct wire *w = (struct wire *)l;
    if (l->state == LINK_OPENING)
        return SLICE_NONE;
    return w->tls ? tls_read_peek(w->tls) : flow_peek(&w->in);
}

static char *room_of(struct wire *w, size_t *n)
{
    *n = 0;
    if (w->step != WIRE_OPEN || w->send_errno != 0)
        return NULL;
    return w->tls ? tls_write_room(w->tls, n) : flow_room(&w->out, n);
}

void wire_opened(struct wire *w)
{
    dial_free(w);
    w->step = WIRE_OPEN;
    w->moved = true;
    w->step_until_ms = TIME_NEVER;
    w->link.state = LINK_OPEN;
    w->link.peer_expires_us = w->tls ? tls_peer_expires(w->tls) : 0;
    if (w->tls) {
        struct tls_info i;
        tls_info(w->tls, &i);
        w->link.tls[0] = i.version, w->link.tls[1] = i.group, w->link.tls[2] = i.suite, w->link.tls[3] = i.certificate;
    }
    net_wake(&w->link);
}

static void settle_tls(struct wire *w)
{
    switch (tls_state(w->tls)) {
    case TLS_HANDSHAKE:
        break;
    case TLS_OPEN:
        if (w->step == WIRE_HANDSHAKE)
            wire_opened(w);
        break;
    case TLS_CLOSED:
        if (w->step == WIRE_HANDSHAKE) {
            err_set(&w->link.error, ERR_TLS, "%s ended the session during the handshake", w->peer);
            wire_fail(w);
        } else if (w->link.state == LINK_OPEN) {
            w->link.state = LINK_ENDED;
            net_wake(&w->link);
        }
        break;
    case TLS_FAILED:
        wire_send(w); /* the fatal alert, if the session has one for the peer */
        w->link.error = *tls_error(w->tls);
        err_wrap(&w->link.error, "%s", w->peer);
        wire_fail(w);
        break;
    }
}

static void settle_plain(struct wire *w)
{
    if (!w->eof || w->link.state != LINK_OPEN)
        return;
    if (w->send_errno != 0) {
        fail_errno(w, w->send_errno);
        return;
    }
    w->link.state = LINK_ENDED;
    net_wake(&w->link);
}

/* Draws the conclusions after bytes have moved. */
static void settle(struct wire *w)
{
    if (w->step == WIRE_FAILED)
        return;
    if (w->tls)
        settle_tls(w);
    else
        settle_plain(w);
    if (w->news && !slice_empty(wire_peek(&w->link)))
        net_wake(&w->link);
    w->news = false;
    size_t n;
    if (w->starved && room_of(w, &n) && n > 0) {
        w->starved = false;
        net_wake(&w->link);
    }
}

void wire_move(struct wire *w)
{
    unsigned reads = 0;
    do
        wire_send(w);
    while (wire_recv(w) && ++reads < WIRE_READS);
    if (w->step != WIRE_FAILED)
        wire_send(w);
    settle(w);
}

static void wire_used(struct link *l, size_t n)
{
    struct wire *w = (struct wire *)l;
    w->moved = true;
    if (!w->tls) {
        flow_used(&w->in, n);
        return;
    }
    bool all = n > 0 && n == tls_read_peek(w->tls).len;
    tls_read_used(w->tls, n);
    if (all) { /* the session may hold the next record already, and the socket would stay silent */
        w->news = true;
        settle(w);
    }
}

static char *wire_room(struct link *l, size_t *n)
{
    struct wire *w = (struct wire *)l;
    char *room = room_of(w, n);
    w->moved = true;
    w->offered = *n;
    w->starved |= *n == 0;
    return room;
}

static void wire_wrote(struct link *l, size_t n)
{
    struct wire *w = (struct wire *)l;
    if (w->step != WIRE_OPEN || n == 0)
        return;
    w->moved = true;
    w->starved |= n == w->offered;
    if (w->tls) {
        tls_write_wrote(w->tls, n);
        tls_flush(w->tls);
    } else {
        flow_wrote(&w->out, n);
    }
    wire_send(w);
    settle(w);
}

/* ---- closing: what was written goes out, then our end, then the peer's end is awaited. Closing a socket with unread bytes would send a
 * reset, which takes back what the peer has not read yet. ---- */

static void linger(struct wire *w)
{
    char junk[WIRE_DISCARD];
    for (unsigned reads = 0; !w->eof && reads < WIRE_READS; reads++) {
        ssize_t n = recv(w->watch.fd, junk, sizeof junk, 0);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR) {
            wire_gone(w);
            return;
        }
        w->eof = n == 0;
    }
    wire_send(w);
    if (!w->shut && !can_send(w)) {
        shutdown(w->watch.fd, SHUT_WR);
        w->shut = true;
        tls_free(w->tls);
        w->tls = NULL;
    }
    if (w->send_errno != 0 || (w->shut && w->eof))
        wire_gone(w);
}

static void wire_close(struct link *l)
{
    struct wire *w = (struct wire *)l;
    net_forget(l);
    l->owner = NULL;
    if (w->step != WIRE_OPEN) {
        wire_gone(w);
        return;
    }
    if (w->tls)
        tls_close(w->tls);
    flow_drop(&w->in);
    w->step = WIRE_CLOSING;
    w->step_until_ms = w->loop->now.mono_ms + NET_LINGER_MS;
    linger(w);
}

const struct link_ops wire_ops = {
    .peek = wire_peek,
    .used = wire_used,
    .room = wire_room,
    .wrote = wire_wrote,
    .close = wire_close,
};

/* ---- questions of the loop ---- */

void wire_ready(struct watch *watch)
{
    struct wire *w = CONTAINER_OF(watch, struct wire, watch);
    w->moved = true;
    switch (w->step) {
    case WIRE_RESOLVE:
    case WIRE_FAILED:
    case WIRE_GONE:
        break;
    case WIRE_CONNECT:
    case WIRE_TUNNEL:
        dial_ready(w);
        break;
    case WIRE_HANDSHAKE:
    case WIRE_OPEN:
        wire_move(w);
        break;
    case WIRE_CLOSING:
        linger(w);
        break;
    }
}

uint32_t wire_wants(const struct wire *w)
{
    switch (w->step) {
    case WIRE_RESOLVE:
    case WIRE_FAILED:
    case WIRE_GONE:
        return 0;
    case WIRE_CONNECT:
        return EPOLLOUT;
    case WIRE_TUNNEL:
    case WIRE_HANDSHAKE:
    case WIRE_OPEN:
        return (can_recv(w) ? EPOLLIN : 0U) | (can_send(w) ? EPOLLOUT : 0U);
    case WIRE_CLOSING:
        return (w->eof ? 0U : EPOLLIN) | (can_send(w) ? EPOLLOUT : 0U);
    }
    return 0;
}

int64_t wire_deadline(const struct wire *w)
{
    int64_t owners = w->step <= WIRE_OPEN ? w->link.deadline_ms : TIME_NEVER;
    return owners < w->step_until_ms ? owners : w->step_until_ms;
}

void wire_expire(struct wire *w)
{
    if (w->step == WIRE_CLOSING) {
        wire_gone(w);
    } else if (w->step < WIRE_OPEN && w->link.deadline_ms > w->loop->now.mono_ms) {
        dial_expire(w);
    } else {
        err_set(&w->link.error, ERR_TIMEOUT, "%s: the deadline passed %s", w->peer,
                w->step < WIRE_OPEN ? dial_step_name(w) : "while waiting for an answer");
        wire_fail(w);
    }
}
