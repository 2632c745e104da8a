#include "rig.h"

#include "src/net/loop.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of links and servers, when nobody in a test is patient any more. */
enum { PATIENCE_MS = 4 * RIG_PATIENCE_S * 1000 };

int open_fds(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (!d)
        fatal("cannot read /proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

void rig_open(struct rig *r)
{
    struct err e = {0};
    r->fds = open_fds();
    r->allow = net_allow_new();
    r->loop = loop_new(r->allow, &e);
    if (!r->loop || !net_allow_add(r->allow, SLICE("127.0.0.1"), 0, "--test", &e))
        fatal("%s", e.text);
    r->now = clock_now();
}

bool rig_close(struct rig *r)
{
    loop_free(r->loop);
    net_allow_free(r->allow);
    return open_fds() == r->fds;
}

void rig_turn(struct rig *r, int64_t ms)
{
    r->now = loop_wait(r->loop, clock_now().mono_ms + ms);
    net_dispatch(loop_net(r->loop), r->now);
}

static void probe_step(struct link_owner *owner, struct link *l, struct now now)
{
    struct probe *p = (struct probe *)(void *)owner;
    (void)now;
    p->steps++;
    for (struct slice s = link_peek(l); s.len > 0 && (p->hold == 0 || p->got.len < p->hold); s = link_peek(l)) {
        if (!buf_put(&p->got, s))
            fatal("a probe got more than it has room for");
        link_used(l, s.len);
    }
    if (l->state == LINK_OPEN || l->state == LINK_ENDED)
        link_put(l, &p->to_send);
    if (p->close_at_end && l->state == LINK_ENDED && slice_empty(p->to_send)) {
        link_close(l);
        p->link = NULL;
    }
}

void probe_init(struct probe *p, struct slice to_send)
{
    *p = (struct probe){.owner = {probe_step}, .to_send = to_send};
    buf_init(&p->got, 64 * MIB);
}

void probe_free(struct probe *p)
{
    if (p->link)
        link_close(p->link);
    p->link = NULL;
    buf_free(&p->got);
}

void probe_open_to(struct probe *p, struct rig *r, const struct endpoint *to)
{
    struct err e = {0};
    p->link = net_open(loop_net(r->loop), to, &p->owner, clock_now().mono_ms + PATIENCE_MS, &e);
    if (!p->link)
        fatal("%s", e.text);
}

void probe_open(struct probe *p, struct rig *r, uint16_t port)
{
    probe_open_to(p, r, &(struct endpoint){.host = SLICE("127.0.0.1"), .port = port});
}

bool probe_over(const struct probe *p)
{
    return p->link->state == LINK_ENDED || p->link->state == LINK_FAILED;
}

bool probe_shakes_hands(const struct probe *p)
{
    return ((const struct wire *)p->link)->step == WIRE_HANDSHAKE;
}

bool probe_await_bytes(const struct probe *p)
{
    struct pollfd fd = {.fd = ((const struct wire *)p->link)->watch.fd, .events = POLLIN};
    return poll(&fd, 1, RIG_PATIENCE_S * 1000) == 1;
}

/* ---- servers ---- */

static int listen_any(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) != 0 || listen(fd, 256) != 0 || getsockname(fd, (struct sockaddr *)&a, &len) != 0)
        fatal("cannot listen: %s", strerror(errno));
    *port = ntohs(a.sin_port);
    return fd;
}

static void *server_main(void *arg)
{
    struct server *s = arg;
    for (int i = 0; i < s->rounds; i++) {
        struct pollfd waiting = {.fd = s->listener, .events = POLLIN};
        if (poll(&waiting, 1, PATIENCE_MS) == 0)
            break; /* the test has failed, and waits for this thread: nobody comes any more */
        s->peer = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
        if (s->peer < 0)
            fatal("accept: %s", strerror(errno));
        s->serve(s);
        close(s->peer);
    }
    return NULL;
}

void server_start(struct server *s, int rounds, void (*serve)(struct server *s), const void *arg)
{
    *s = (struct server){.peer = -1, .rounds = rounds, .serve = serve, .arg = arg};
    s->listener = listen_any(&s->port);
    if (rounds > 0 && pthread_create(&s->thread, NULL, server_main, s) != 0)
        fatal("no thread for a server");
}

void server_stop(struct server *s)
{
    if (s->rounds > 0)
        pthread_join(s->thread, NULL);
    close(s->listener);
}

void send_all(int fd, struct slice s)
{
    while (!slice_empty(s)) {
        ssize_t n = send(fd, s.ptr, s.len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        s = slice_skip(s, (size_t)n);
    }
}

void serve_echo(struct server *s)
{
    static char bytes[64 * KIB];
    for (ssize_t n; (n = recv(s->peer, bytes, sizeof bytes, 0)) > 0;)
        send_all(s->peer, (struct slice){bytes, (size_t)n});
}

struct slice pattern(struct arena *a, size_t len)
{
    char *p = arena_alloc(a, len);
    for (size_t i = 0; i < len; i++)
        p[i] = (char)(i * 2654435761U >> 13);
    return (struct slice){p, len};
}
