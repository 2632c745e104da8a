#include "loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_full(const struct loop *l)
{
    return l->accepted == LIMIT_NET_ACCEPTED || l->now.mono_ms < l->accept_pause_ms;
}

/* Nothing while no more can be taken: connections then wait in the kernel's queue. */
uint32_t listener_wants(const struct listener *s)
{
    return is_full(s->loop) ? 0U : EPOLLIN;
}

static void take(struct listener *s, int fd, const struct address *from)
{
    struct loop *l = s->loop;
    char text[ADDRESS_TEXT_MAX];
    struct wire *w = wire_new(l, slice_of(address_text(from, text)));
    l->accepted++;
    w->accepted = true;
    w->watch.fd = fd;
    tcp_options(fd);
    w->step = WIRE_OPEN;
    w->link.state = LINK_OPEN;
    s->accept->accept(s->accept, &w->link, l->now);
    if (w->step != WIRE_OPEN)
        return; /* it was closed */
    if (w->link.owner)
        net_wake(&w->link);
    else
        link_close(&w->link);
}

static void listener_ready(struct watch *watch)
{
    struct listener *s = CONTAINER_OF(watch, struct listener, watch);
    struct loop *l = s->loop;
    while (!is_full(l)) {
        struct address from = {.len = sizeof from.v6};
        int fd = accept4(s->watch.fd, &from.any, &from.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take(s, fd, &from);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* The connection stays in the queue and epoll goes on about it: look away for a moment. */
            l->accept_pause_ms = l->now.mono_ms + NET_ACCEPT_PAUSE_MS;
            if (log_limit_pass(&l->accept_log, l->now))
                log_warn("cannot accept connections", LF_CSTR("error", strerror(errno)));
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

bool loop_listen(struct loop *l, struct slice address, struct link_accept *accept, uint16_t *port, struct err *e)
{
    int fd;
    if (!tcp_listen(address, &fd, port, e))
        return false;
    struct listener *s = mem_alloc(sizeof *s);
    *s = (struct listener){.next = l->listeners, .loop = l, .watch = {.fd = fd, .ready = listener_ready}, .accept = accept};
    l->listeners = s;
    return true;
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
