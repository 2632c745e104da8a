#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { LOOP_EVENTS = 64 };

/* ---- descriptors that epoll watches ---- */

void loop_watch(struct loop *l, struct watch *w, uint32_t events)
{
    if (events == w->events)
        return;
    int op = w->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    struct epoll_event event = {.events = events, .data.ptr = w};
    if (epoll_ctl(l->epoll, op, w->fd, &event) != 0)
        fatal("epoll_ctl: %s", strerror(errno));
    w->events = events;
}

void loop_close_fd(struct loop *l, struct watch *w)
{
    if (w->fd < 0)
        return;
    loop_watch(l, w, 0); /* closing is not enough where a child process still holds the socket */
    close(w->fd);
    w->fd = -1;
}

/* ---- signals ---- */

static const int loop_signals[] = {SIGTERM, SIGINT, SIGHUP};

static void signals_ready(struct watch *w)
{
    struct loop *l = CONTAINER_OF(w, struct loop, signal);
    struct signalfd_siginfo info;
    while (read(w->fd, &info, sizeof info) == (ssize_t)sizeof info)
        l->signals |= 1U << info.ssi_signo;
}

int loop_signal(struct loop *l)
{
    for (size_t i = 0; i < COUNT_OF(loop_signals); i++) {
        uint32_t bit = 1U << loop_signals[i];
        if (l->signals & bit) {
            l->signals &= ~bit;
            return loop_signals[i];
        }
    }
    return 0;
}

static int signals_open(struct loop *l)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < COUNT_OF(loop_signals); i++)
        sigaddset(&set, loop_signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, &l->mask);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- DNS ---- */

static void answers_ready(struct watch *w)
{
    struct loop *l = CONTAINER_OF(w, struct loop, answers);
    for (struct lookup *answer; (answer = resolver_next(l->resolver)) != NULL;)
        dial_answer(answer);
}

/* ---- life ---- */

/* Container runtimes start a process with 1,024 descriptors and let it ask for more. Without them fewer links open, each by its own error.
 */
static void raise_descriptors(void)
{
    enum { WANTED = LIMIT_NET_LINKS + LIMIT_EDGE_CONNECTIONS + 2 * LIMIT_NET_ACCEPTED + 64 }; /* 2: health and metrics */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= WANTED)
        return;
    limit.rlim_cur = limit.rlim_max < WANTED ? limit.rlim_max : WANTED;
    prlimit(0, RLIMIT_NOFILE, &limit, NULL); /* setrlimit has kernels in mind that have no call for all threads, in 1 KB */
}

static const struct net_ops loop_net_ops = {.open = dial_open};

struct loop *loop_new(struct net_allow *allow, struct err *e)
{
    struct loop *l = mem_alloc(sizeof *l);
    l->net.ops = &loop_net_ops;
    l->allow = allow;
    l->now = clock_now();
    raise_descriptors();
    l->answers = (struct watch){.fd = -1, .ready = answers_ready};
    l->signal = (struct watch){.fd = signals_open(l), .ready = signals_ready};
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll < 0 || l->signal.fd < 0) {
        err_set(e, ERR_IO, "cannot make an event loop: %s", strerror(errno));
        loop_free(l);
        return NULL;
    }
    l->resolver = resolver_new(e);
    if (!l->resolver) {
        loop_free(l);
        return NULL;
    }
    l->answers.fd = resolver_fd(l->resolver);
    loop_watch(l, &l->signal, EPOLLIN);
    loop_watch(l, &l->answers, EPOLLIN);
    return l;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    listeners_free(l);
    for (struct wire *w = l->wires, *next; w; w = next) {
        next = w->next;
        wire_free(w);
    }
    flow_keep(0);
    resolver_free(l->resolver); /* closes the descriptor of answers */
    if (l->signal.fd >= 0)
        close(l->signal.fd);
    if (l->epoll >= 0)
        close(l->epoll);
    pthread_sigmask(SIG_SETMASK, &l->mask, NULL);
    mem_free(l);
}

void loop_bulk(void)
{
    flow_keep(0);
    flow_size = NET_BULK;
}

void loop_keep(uint32_t buffers)
{
    flow_keep(buffers);
}

struct net *loop_net(struct loop *l)
{
    return &l->net;
}

/* ---- waiting ---- */

static void bury(struct loop *l)
{
    if (!l->gone)
        return;
    l->gone = false;
    for (struct wire **at = &l->wires; *at;) {
        struct wire *w = *at;
        if (w->step == WIRE_GONE) {
            *at = w->next;
            wire_free(w);
        } else {
            at = &w->next;
        }
    }
}

/* Tells epoll what everybody wants now, and returns when to wake at the latest. The deadlines of all wires are looked at each time, so that
 * nobody has to report a changed one; what a wire wants only when something has happened to it. */
static int64_t prepare(struct loop *l, int64_t deadline_ms)
{
    for (struct listener *s = l->listeners; s; s = s->next)
        if (s->watch.fd >= 0)
            loop_watch(l, &s->watch, listener_wants(s));
    if (l->accept_pause_ms > l->now.mono_ms)
        deadline_ms = earlier(deadline_ms, l->accept_pause_ms);
    l->expire_ms = TIME_NEVER;
    for (struct wire *w = l->wires; w; w = w->next) {
        if (w->moved || w->step != WIRE_OPEN) {
            w->moved = false;
            flow_rest(&w->in);
            flow_rest(&w->out);
            loop_watch(l, &w->watch, wire_wants(w));
        }
        l->expire_ms = earlier(l->expire_ms, wire_deadline(w));
    }
    return l->net.ready_first ? 0 : earlier(deadline_ms, l->expire_ms);
}

static int timeout_ms(int64_t until_ms, int64_t now_ms)
{
    if (until_ms <= now_ms)
        return 0;
    if (until_ms == TIME_NEVER)
        return -1;
    return until_ms - now_ms < INT32_MAX ? (int)(until_ms - now_ms) : INT32_MAX;
}

/* A link on which something has just come is stepped once more before its deadline counts: when the whole process was held up, the answer
 * is often there already. */
static void expire(struct loop *l)
{
    if (l->now.mono_ms < l->expire_ms && !l->late)
        return; /* a deadline that was set since then is the next turn's */
    l->late = false;
    for (struct wire *w = l->wires; w; w = w->next) {
        if (wire_deadline(w) > l->now.mono_ms)
            w->late = false;
        else if (w->link.ready && !w->late)
            w->late = l->late = true;
        else
            wire_expire(w);
    }
}

struct now loop_wait(struct loop *l, int64_t deadline_ms)
{
    struct epoll_event events[LOOP_EVENTS];
    bury(l);
    l->now = clock_now();
    int64_t until_ms = prepare(l, deadline_ms);
    int n = epoll_wait(l->epoll, events, LOOP_EVENTS, timeout_ms(until_ms, l->now.mono_ms));
    if (n < 0 && errno != EINTR)
        fatal("epoll_wait: %s", strerror(errno));
    l->now = clock_now();
    for (int i = 0; i < n; i++) {
        struct watch *w = events[i].data.ptr;
        w->ready(w);
    }
    expire(l);
    return l->now;
}
