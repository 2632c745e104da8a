/* The model API server on loopback: build/apiserver [options]. One thread, one poll(2) loop, plain HTTP/1.1, no authentication: it
 * listens on 127.0.0.1 only. */
#include "apiserver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLIENTS_MAX = 512,
    READ_SIZE = 64 * KIB,
    WRITE_SIZE = MIB,
};

struct client {
    int fd;
    struct conn *conn;
};

struct host {
    struct apiserver *server;
    int listener;
    struct client clients[CLIENTS_MAX];
    size_t count;
    char buffer[READ_SIZE];
};

static volatile sig_atomic_t stopped, compacted;

static void stop(int sig)
{
    (void)sig;
    stopped = 1;
}

static void compact(int sig)
{
    (void)sig;
    compacted = 1;
}

static const char usage[] = "usage: apiserver [--listen PORT] [--seed N] [--ready-after MS] [--collect-after MS] [--pod-events]\n"
                            "                 [--no-nodes] [--no-past] [--pod-net A.B] [--jobs-take MS]\n"
                            "  A model Kubernetes API server on 127.0.0.1. Port 0 (the default) picks a free one;\n"
                            "  the first line on standard output is its URL. SIGUSR1: what is past is compacted away.\n"
                            "  --jobs-take: services have Ray's dashboard behind them, and each job takes so long.\n";

struct options {
    uint16_t port;
    bool no_past;    /* what is there at the start has no history */
    int64_t jobs_ms; /* 0: no dashboards */
    struct apiserver_config config;
};

static bool number(const char *text, int64_t max, int64_t *out)
{
    return text && slice_int(slice_of(text), out) && *out >= 0 && *out <= max;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        int64_t n = 0;
        bool ok = true;
        if (strcmp(argv[i], "--pod-events") == 0)
            o->config.pod_events = true;
        else if (strcmp(argv[i], "--no-nodes") == 0)
            o->config.no_nodes = true;
        else if (strcmp(argv[i], "--no-past") == 0)
            o->no_past = true;
        else if (strcmp(argv[i], "--pod-net") == 0 && argv[i + 1])
            o->config.pod_net = argv[++i];
        else if (strcmp(argv[i], "--listen") == 0 && (ok = number(argv[++i], UINT16_MAX, &n)))
            o->port = (uint16_t)n;
        else if (strcmp(argv[i], "--seed") == 0 && (ok = number(argv[++i], INT64_MAX, &n)))
            o->config.seed = (uint64_t)n;
        else if (strcmp(argv[i], "--ready-after") == 0 && (ok = number(argv[++i], 3600 * 1000, &n)))
            o->config.start_ms = n;
        else if (strcmp(argv[i], "--jobs-take") == 0 && (ok = number(argv[++i], 3600 * 1000, &n)))
            o->jobs_ms = n;
        else if (strcmp(argv[i], "--collect-after") == 0 && (ok = number(argv[++i], 3600 * 1000, &n)))
            o->config.collect_ms = n;
        else
            ok = false;
        if (!ok)
            return false;
    }
    return true;
}

/* ---- sockets ---- */

static int listen_on(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) || bind(fd, (struct sockaddr *)&at, sizeof at) ||
        listen(fd, 256) || getsockname(fd, (struct sockaddr *)&at, &size)) {
        fprintf(stderr, "apiserver: cannot listen on 127.0.0.1:%u: %s\n", *port, strerror(errno));
        return -1;
    }
    *port = ntohs(at.sin_port);
    return fd;
}

static void accept_all(struct host *h)
{
    while (h->count < CLIENTS_MAX) {
        int yes = 1, fd = accept4(h->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        h->clients[h->count++] = (struct client){fd, apiserver_connect(h->server)};
    }
}

static void close_client(struct host *h, size_t i)
{
    apiserver_disconnect(h->server, h->clients[i].conn);
    close(h->clients[i].fd);
    h->clients[i] = h->clients[--h->count];
}

/* False when the connection is over. */
static bool read_client(struct host *h, const struct client *c)
{
    ssize_t n = read(c->fd, h->buffer, sizeof h->buffer);
    if (n > 0)
        apiserver_feed(h->server, c->conn, (struct slice){h->buffer, (size_t)n}, clock_now());
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool write_client(struct host *h, const struct client *c)
{
    struct slice out = apiserver_output(c->conn);
    while (out.len) {
        ssize_t n = send(c->fd, out.ptr, out.len < WRITE_SIZE ? out.len : WRITE_SIZE, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        apiserver_sent(h->server, c->conn, (size_t)n, clock_now());
        out = apiserver_output(c->conn);
    }
    return !apiserver_wants_close(c->conn);
}

/* ---- the loop ---- */

static int wait_ms(const struct apiserver *s)
{
    int64_t deadline = apiserver_deadline(s), left = deadline - clock_now().mono_ms;
    if (deadline == TIME_NEVER)
        return -1;
    return left < 0 ? 0 : left > 60 * 1000 ? 60 * 1000 : (int)left;
}

static void step(struct host *h)
{
    static struct pollfd polls[CLIENTS_MAX + 1];
    size_t count = h->count;
    polls[0] = (struct pollfd){.fd = h->listener, .events = count < CLIENTS_MAX ? POLLIN : 0};
    for (size_t i = 0; i < count; i++) {
        bool more = apiserver_output(h->clients[i].conn).len > 0;
        polls[i + 1] = (struct pollfd){.fd = h->clients[i].fd, .events = (short)(POLLIN | (more ? POLLOUT : 0))};
    }
    if (poll(polls, count + 1, wait_ms(h->server)) < 0)
        return;
    apiserver_tick(h->server, clock_now());
    for (size_t i = count; i-- > 0;) { /* downwards: closing moves the last one into the gap */
        bool open = !(polls[i + 1].revents & (POLLIN | POLLHUP | POLLERR)) || read_client(h, &h->clients[i]);
        if (!open)
            close_client(h, i);
    }
    for (size_t i = h->count; i-- > 0;)
        if (!write_client(h, &h->clients[i]))
            close_client(h, i);
    if (polls[0].revents)
        accept_all(h);
}

int main(int argc, char **argv)
{
    static struct host h;
    struct options o = {.config.seed = (uint64_t)clock_now().wall_us};
    if (!read_options(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    h.listener = listen_on(&o.port);
    if (h.listener < 0)
        return 1;
    struct sigaction act = {.sa_handler = stop};
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = compact}, NULL);
    h.server = apiserver_new(&o.config, clock_now());
    if (o.jobs_ms)
        apiserver_run_jobs(h.server, o.jobs_ms);
    if (o.no_past)
        apiserver_compact(h.server, SLICE(""));
    printf("http://127.0.0.1:%u\n", o.port);
    fflush(stdout);
    while (!stopped) {
        if (compacted)
            apiserver_compact_lists(h.server);
        compacted = 0;
        step(&h);
    }
    while (h.count)
        close_client(&h, h.count - 1);
    apiserver_free(h.server);
    close(h.listener);
    return 0;
}
