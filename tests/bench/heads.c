/* All heads of a bench at once: a GCS behind port 6379 of every address that leads to this machine. Which nodes each head knows stands in a
 * file, a line for each: the head's address, the pod's name, its group, its address, and how long it has been idle (0: it works). What the
 * heads want more stands in the second file, a line for each: the head's address, CPUs and a count.
 *   heads FILE FILE      SIGHUP: reads both again; SIGUSR1: prints what came, as JSON */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/heads/fakehead.h"
#include <mobula/grpc.h>
#include <mobula/ray.h>

enum { PORT = 6379, HEADS = 20000, LINE = 512, STATE_MAX = 4 * MIB, EVENTS = 256, READ = 16 * KIB, CPUS = 2, BACKLOG = 4096 };

struct head {
    struct fakehead fake; /* first */
    char ip[64];
    struct buf state;
};

struct client {
    int fd;
    struct fakehead_conn *conn;
};

struct bench {
    const char *nodes_path, *wants_path;
    struct head heads[HEADS];
    uint32_t count, live, most;
    int epoll, listener;
};

static struct bench b;
static volatile sig_atomic_t reload, report, over;

static void on_signal(int sig)
{
    *(sig == SIGHUP ? &reload : sig == SIGUSR1 ? &report : &over) = 1;
}

/* ---- heads ---- */

static struct head *head_of(const char *ip)
{
    for (uint32_t i = 0; i < b.count; i++)
        if (strcmp(b.heads[i].ip, ip) == 0)
            return &b.heads[i];
    if (b.count == HEADS)
        fatal("heads: more than %d", HEADS);
    struct head *h = &b.heads[b.count++];
    snprintf(h->ip, sizeof h->ip, "%s", ip);
    buf_init(&h->state, STATE_MAX);
    h->fake.drain = SLICE("\x08\x01");
    return h;
}

static void put_cpus(struct buf *to, uint32_t number, double cpus)
{
    size_t at = proto_open(to, number);
    proto_put_bytes(to, 1, SLICE("CPU"));
    proto_put_double(to, 2, cpus);
    proto_close(to, at);
}

static void put_node(struct head *h, const char *pod, const char *group, const char *ip, int idle_ms)
{
    char id[RAY_NODE_ID + 1];
    snprintf(id, sizeof id, "%028llu", (unsigned long long)hash64(slice_of(pod), 1));
    size_t at = proto_open(&h->state, 3);
    proto_put_bytes(&h->state, 1, slice_of(id));
    proto_put_bytes(&h->state, 2, slice_of(pod));
    proto_put_bytes(&h->state, 3, slice_of(group));
    if (strcmp(group, RAY_HEAD_GROUP) != 0) {
        put_cpus(&h->state, 4, idle_ms ? CPUS : 0);
        put_cpus(&h->state, 5, CPUS);
    }
    proto_put_int(&h->state, 8, idle_ms ? RAY_NODE_IDLE : RAY_NODE_RUNNING);
    proto_put_int(&h->state, 9, idle_ms);
    proto_put_bytes(&h->state, 10, slice_of(ip));
    proto_close(&h->state, at);
}

static void put_want(struct head *h, double cpus, int count)
{
    size_t demand = proto_open(&h->state, 4), request = proto_open(&h->state, 1);
    put_cpus(&h->state, 1, cpus);
    proto_close(&h->state, request);
    proto_put_int(&h->state, 2, count);
    proto_close(&h->state, demand);
}

static void each_line(const char *path, void (*use)(const char *line))
{
    char line[LINE];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        use(line);
    if (f)
        fclose(f);
}

/* The next word, ended by a zero. */
static const char *word(struct slice *rest, char out[LINE])
{
    struct slice w = slice_cut(rest, ' ');
    snprintf(out, LINE, "%.*s", SLICE_ARG(slice_trim(w)));
    return out;
}

static int number(struct slice *rest)
{
    int64_t n = 0;
    if (!slice_int(slice_trim(slice_cut(rest, ' ')), &n))
        fatal("heads: a line without its number");
    return (int)n;
}

static void use_node(const char *line)
{
    char head[LINE], pod[LINE], group[LINE], ip[LINE];
    struct slice rest = slice_of(line);
    struct head *h = head_of(word(&rest, head));
    word(&rest, pod);
    word(&rest, group);
    word(&rest, ip);
    put_node(h, pod, group, ip, number(&rest));
}

static void use_want(const char *line)
{
    char head[LINE];
    struct slice rest = slice_of(line);
    struct head *h = head_of(word(&rest, head));
    int cpus = number(&rest);
    put_want(h, cpus, number(&rest));
}

/* A state is a message in a message: its length stands before it, so it is moved. */
static void seal(struct head *h)
{
    struct buf whole;
    buf_init(&whole, STATE_MAX + 64);
    proto_put_bytes(&h->state, 7, SLICE("session_of_a_bench"));
    proto_put_bytes(&whole, 1, buf_slice(&h->state));
    buf_free(&h->state);
    h->state = whole;
    h->fake.state = buf_slice(&h->state);
}

static void load(void)
{
    for (uint32_t i = 0; i < b.count; i++) {
        buf_free(&b.heads[i].state);
        buf_init(&b.heads[i].state, STATE_MAX);
    }
    each_line(b.nodes_path, use_node);
    each_line(b.wants_path, use_want);
    for (uint32_t i = 0; i < b.count; i++)
        seal(&b.heads[i]);
}

static void tell(void)
{
    uint64_t connections = 0, states = 0, reports = 0, drains = 0;
    for (uint32_t i = 0; i < b.count; i++) {
        const struct fakehead *f = &b.heads[i].fake;
        connections += f->connections;
        states += f->states;
        reports += f->reports;
        drains += f->drains;
    }
    printf("{\"heads\": %u, \"connections\": %llu, \"live\": %u, \"states\": %llu, \"reports\": %llu, \"drains\": %llu}\n", b.count,
           (unsigned long long)connections, b.live, (unsigned long long)states, (unsigned long long)reports, (unsigned long long)drains);
    fflush(stdout);
}

/* ---- sockets ---- */

static void watch(int op, int fd, void *who)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = who};
    if (epoll_ctl(b.epoll, op, fd, &e) != 0)
        fatal("heads: epoll: %s", strerror(errno));
}

static void accept_all(void)
{
    for (;;) {
        struct sockaddr_in at;
        socklen_t size = sizeof at;
        char ip[64];
        int yes = 1, fd = accept4(b.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (getsockname(fd, (struct sockaddr *)&at, &size) != 0 || !inet_ntop(AF_INET, &at.sin_addr, ip, sizeof ip))
            fatal("heads: getsockname: %s", strerror(errno));
        struct head *h = head_of(ip);
        if (!h->fake.state.ptr)
            seal(h);
        struct client *c = mem_alloc(sizeof *c);
        *c = (struct client){fd, fakehead_connect(&h->fake, PORT)};
        b.live++;
        watch(EPOLL_CTL_ADD, fd, c);
    }
}

static void hang_up(struct client *c)
{
    close(c->fd);
    fakehead_disconnect(c->conn);
    mem_free(c);
    b.live--;
}

/* Answers are small: a socket that does not take one is given up. */
static void serve(struct client *c)
{
    char bytes[READ];
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN)
            hang_up(c);
        return;
    }
    fakehead_feed(c->conn, (struct slice){bytes, (size_t)n});
    struct slice out = buf_slice(&c->conn->out);
    if (out.len && send(c->fd, out.ptr, out.len, MSG_NOSIGNAL) != (ssize_t)out.len)
        hang_up(c);
    else
        buf_clear(&c->conn->out);
}

static void listen_everywhere(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_ANY)};
    struct rlimit files = {HEADS + 64, HEADS + 64};
    int yes = 1;
    setrlimit(RLIMIT_NOFILE, &files);
    b.epoll = epoll_create1(EPOLL_CLOEXEC);
    b.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (b.listener < 0 || setsockopt(b.listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
        bind(b.listener, (struct sockaddr *)&at, sizeof at) || listen(b.listener, BACKLOG))
        fatal("heads: port %d: %s", PORT, strerror(errno));
    watch(EPOLL_CTL_ADD, b.listener, NULL);
}

static void turn(void)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(b.epoll, events, EVENTS, 1000);
    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr)
            serve(events[i].data.ptr);
        else
            accept_all();
    }
    if (reload)
        load();
    if (report || reload)
        tell();
    reload = report = 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: heads NODES WANTS\n", stderr);
        return 2;
    }
    b.nodes_path = argv[1];
    b.wants_path = argv[2];
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGHUP, &act, NULL);
    sigaction(SIGUSR1, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    load();
    listen_everywhere();
    tell();
    while (!over)
        turn();
    return 0;
}
