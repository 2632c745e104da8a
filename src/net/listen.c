#include "loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Nothing after the system had no descriptor left: connections then wait in the kernel's queue. */
uint32_t listener_wants(const struct listener *s)
{
    return s->loop->now.mono_ms < s->loop->accept_pause_ms ? 0U : EPOLLIN;
}

static unsigned most_of(const struct listener *s)
{
    return s->accept->most ? s->accept->most : LIMIT_NET_ACCEPTED;
}

/* The number of connections that count against one limit, and which of them to close for a new one. */
struct crowd {
    unsigned held;
    struct wire *least;
};

/* The lowest is closed first: closed ones that still linger, then those from which nothing was received, then by link.worth. */
static unsigned worth_of(const struct wire *w)
{
    return w->step == WIRE_CLOSING ? 0 : 1U + w->heard + (unsigned)w->link.worth;
}

/* Counts one more connection. Wires are counted from the newest to the oldest: of equal worth, the oldest is closed. */
static void crowd_count(struct crowd *c, struct wire *w)
{
    c->held++;
    if (!c->least || worth_of(w) <= worth_of(c->least))
        c->least = w;
}

/* The connection to close for a new one from this address; NULL: no limit is reached. */
static struct wire *surplus(const struct listener *s, const char *peer)
{
    struct crowd all = {0}, same = {0};
    for (struct wire *w = s->loop->wires; w; w = w->next) {
        if (w->listener != s || w->step >= WIRE_FAILED)
            continue;
        crowd_count(&all, w);
        if (w->link.worth < LINK_KNOWN && strcmp(w->peer, peer) == 0)
            crowd_count(&same, w);
    }
    if (s->accept->most_each && same.held >= s->accept->most_each)
        return same.least;
    return all.held < most_of(s) ? NULL : all.least;
}

/* A new connection is always accepted, and another one is closed for it. If new ones waited instead, as many silent connections as there
 * are places would keep all callers out. */
static void give_way(struct wire *w)
{
    struct loop *l = w->loop;
    if (log_limit_pass(&l->surplus_log, l->now))
        log_warn("connection limit reached: for each new connection, one without a request is closed, or else the oldest",
                 LF_CSTR("closed", w->peer), LF_INT("limit", most_of(w->listener)), LF_INT("each", w->listener->accept->most_each));
    if (w->step == WIRE_CLOSING) {
        wire_gone(w);
        return;
    }
    err_set(&w->link.error, ERR_LIMIT, "connection of %s was closed for a newer one: this listener keeps at most %u open", w->peer,
            most_of(w->listener));
    wire_fail(w);
}

static void take(struct listener *s, int fd, const char *peer)
{
    struct loop *l = s->loop;
    if (s->identity && !*s->identity) { /* there is no certificate yet */
        close(fd);
        return;
    }
    struct wire *w = wire_new(l, slice_of(peer));
    w->listener = s;
    w->link.peer = w->peer;
    w->watch.fd = fd;
    tcp_options(fd);
    w->step = s->identity ? WIRE_HANDSHAKE : WIRE_OPEN;
    w->link.state = s->identity ? LINK_OPENING : LINK_OPEN;
    w->tls = s->identity ? tls_accept(*s->identity) : NULL;
    s->accept->accept(s->accept, &w->link, l->now);
    if (w->step > WIRE_OPEN)
        return; /* it was closed */
    if (w->link.owner)
        net_wake(&w->link);
    else
        link_close(&w->link);
}

/* Accepts one connection a turn, so that a flood does not hold up the loop: a connection has LIMIT_NET_ACCEPTED - 1 turns to be read and
 * answered before it is the oldest. */
static void listener_ready(struct watch *watch)
{
    struct listener *s = CONTAINER_OF(watch, struct listener, watch);
    struct loop *l = s->loop;
    struct address from = {.len = sizeof from.v6};
    int fd = accept4(s->watch.fd, &from.any, &from.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        char text[ADDRESS_TEXT_MAX];
        const char *peer = address_text(&from, text);
        struct wire *least = surplus(s, peer);
        if (least)
            give_way(least);
        take(s, fd, peer);
    } else if (tcp_is_scarce(errno)) {
        /* The connection stays in the kernel's queue, and epoll would report it at once: do not ask for a while. */
        l->accept_pause_ms = l->now.mono_ms + NET_ACCEPT_PAUSE_MS;
        if (log_limit_pass(&l->accept_log, l->now))
            log_warn("cannot accept connections", LF_CSTR("error", strerror(errno)));
    }
}

bool loop_listen_tls(struct loop *l, struct slice address, struct link_accept *accept, struct tls_identity *const *identity, uint16_t *port,
                     struct err *e)
{
    int fd;
    if (!tcp_listen(address, &fd, port, e))
        return false;
    struct listener *s = mem_alloc(sizeof *s);
    *s = (struct listener){
        .next = l->listeners, .loop = l, .watch = {.fd = fd, .ready = listener_ready}, .accept = accept, .identity = identity};
    l->listeners = s;
    return true;
}

bool loop_listen(struct loop *l, struct slice address, struct link_accept *accept, uint16_t *port, struct err *e)
{
    return loop_listen_tls(l, address, accept, NULL, port, e);
}

/* Links know their listener: it goes with the loop. */
void loop_deaf(struct loop *l)
{
    for (struct listener *s = l->listeners; s; s = s->next)
        loop_close_fd(l, &s->watch);
}

void listeners_free(struct loop *l)
{
    for (struct listener *s = l->listeners, *next; s; s = next) {
        next = s->next;
        loop_close_fd(l, &s->watch);
        mem_free(s);
    }
    l->listeners = NULL;
}
