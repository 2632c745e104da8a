#include "../test.h"

#include "rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- listening ---- */

/* Takes connections: echoes what comes, and closes when the peer has ended. */
struct taker {
    struct link_accept accept;
    struct link_owner owner;
    int taken, ended;
    enum take { TAKE_ECHO, TAKE_CLOSE, TAKE_LEAVE } how;
    struct link *last;
};

static void taker_step(struct link_owner *owner, struct link *l, struct now now)
{
    struct taker *t = (struct taker *)(void *)((char *)owner - offsetof(struct taker, owner));
    (void)now;
    struct slice s = link_peek(l), rest = s;
    link_put(l, &rest);
    link_used(l, s.len - rest.len);
    if (l->state == LINK_FAILED || (l->state == LINK_ENDED && slice_empty(rest))) {
        t->ended++;
        link_close(l);
    }
}

static void taker_accept(struct link_accept *a, struct link *l, struct now now)
{
    struct taker *t = (struct taker *)(void *)a;
    (void)now;
    t->taken++;
    t->last = l;
    CHECK_INT(l->state, LINK_OPEN);
    if (t->how == TAKE_ECHO)
        l->owner = &t->owner;
    else if (t->how == TAKE_CLOSE)
        link_close(l);
}

static struct taker taker_of(enum take how)
{
    return (struct taker){.accept = {.accept = taker_accept}, .owner = {taker_step}, .how = how};
}

static int dial_local(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
        fatal("cannot dial: %s", strerror(errno));
    return fd;
}

static void test_accept(void)
{
    struct rig r;
    struct taker t = taker_of(TAKE_ECHO);
    struct probe p;
    struct arena a = {0};
    struct slice sent = pattern(&a, 2 * MIB);
    uint16_t port = 0;
    test_case("both ends in one loop, 2 MiB through an echo");
    rig_open(&r);
    CHECK(loop_listen(r.loop, SLICE("127.0.0.1:0"), &t.accept, &port, NULL));
    probe_init(&p, sent);
    probe_open(&p, &r, port);
    CHECK(RIG_UNTIL(&r, p.got.len == sent.len));
    CHECK(slice_eq(buf_slice(&p.got), sent));
    probe_free(&p);
    CHECK(RIG_UNTIL(&r, t.ended == 1));
    CHECK_INT(t.taken, 1);
    CHECK(rig_close(&r));
    arena_free(&a);
}

static void test_not_wanted(void)
{
    for (enum take how = TAKE_CLOSE; how <= TAKE_LEAVE; how++) {
        struct rig r;
        struct taker t = taker_of(how);
        struct probe p;
        uint16_t port = 0;
        test_case(how == TAKE_CLOSE ? "closed inside accept" : "left without an owner");
        rig_open(&r);
        CHECK(loop_listen(r.loop, SLICE("127.0.0.1:0"), &t.accept, &port, NULL));
        probe_init(&p, SLICE_NONE);
        probe_open(&p, &r, port);
        CHECK(RIG_UNTIL(&r, probe_over(&p)));
        CHECK_INT(p.link->state, LINK_ENDED);
        probe_free(&p);
        CHECK(rig_close(&r));
    }
}

static bool echoes(struct rig *r, int fd)
{
    char c = 'x';
    send_all(fd, (struct slice){&c, 1});
    return RIG_UNTIL(r, recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK) == 1) && recv(fd, &c, 1, 0) == 1;
}

static bool is_over(int fd)
{
    char c;
    ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void test_accept_limit(void)
{
    enum { MORE = LIMIT_NET_ACCEPTED + 1 };
    struct rig r;
    struct taker t = taker_of(TAKE_ECHO), other = taker_of(TAKE_ECHO);
    uint16_t port = 0, other_port = 0;
    int fds[MORE];
    test_case("LIMIT_NET_ACCEPTED connections are kept open, silent as they are");
    log_global.fd = -1;
    rig_open(&r);
    CHECK(loop_listen(r.loop, SLICE("127.0.0.1:0"), &t.accept, &port, NULL));
    CHECK(loop_listen(r.loop, SLICE("127.0.0.1:0"), &other.accept, &other_port, NULL));
    for (int i = 0; i < LIMIT_NET_ACCEPTED; i++)
        fds[i] = dial_local(port);
    CHECK(RIG_UNTIL(&r, t.taken == LIMIT_NET_ACCEPTED));
    CHECK(echoes(&r, fds[0]));
    CHECK_INT(t.ended, 0);
    test_case("another listener has places of its own");
    fds[MORE - 1] = dial_local(other_port);
    CHECK(echoes(&r, fds[MORE - 1]));
    close(fds[MORE - 1]);
    CHECK(RIG_UNTIL(&r, other.ended == 1));
    CHECK_INT(t.ended, 0);
    test_case("one more gets in, and the oldest goes for it");
    fds[MORE - 1] = dial_local(port);
    CHECK(echoes(&r, fds[MORE - 1]));
    CHECK_INT(t.taken, MORE);
    CHECK_INT(t.ended, 1);
    CHECK(is_over(fds[1])); /* the oldest from which nothing was received; fds[0] has sent bytes */
    for (int i = 0; i < MORE; i++)
        CHECK(i == 1 || echoes(&r, fds[i]));
    for (int i = 0; i < MORE; i++)
        close(fds[i]);
    CHECK(RIG_UNTIL(&r, t.ended == MORE));
    log_global.fd = 1;
    CHECK(rig_close(&r));
}

/* Opens connections of this worth, the oldest first, then one more: which of them is closed (goes; -1: none). */
static void test_worth(void)
{
    enum { HELD = 4 };
    static const struct {
        const char *what;
        enum link_worth worth[HELD];
        bool heard[HELD];
        uint32_t each;
        int goes;
    } cases[] = {
        {"silent ones go before older ones that have asked", {LINK_ASKED, LINK_ASKED, LINK_STRANGER, LINK_STRANGER}, {1, 1, 0, 0}, 0, 2},
        {"and before those that have begun to ask", {LINK_STRANGER, LINK_STRANGER, LINK_STRANGER, LINK_STRANGER}, {1, 1, 0, 1}, 0, 2},
        {"one that has asked goes before one that is known", {LINK_KNOWN, LINK_SERVED, LINK_ASKED, LINK_SERVED}, {1, 1, 1, 1}, 0, 2},
        {"of known ones, one that waits for nothing", {LINK_SERVED, LINK_SERVED, LINK_KNOWN, LINK_KNOWN}, {1, 1, 1, 1}, 0, 2},
        {"of equals the oldest", {LINK_SERVED, LINK_SERVED, LINK_SERVED, LINK_SERVED}, {1, 1, 1, 1}, 0, 0},
        {"of one address so many that are not known", {LINK_SERVED, LINK_ASKED, LINK_STRANGER, LINK_KNOWN}, {1, 1, 1, 1}, 2, 2},
        {"where known ones do not count", {LINK_SERVED, LINK_KNOWN, LINK_KNOWN, LINK_STRANGER}, {1, 1, 1, 0}, 2, -1},
    };
    for (size_t n = 0; n < COUNT_OF(cases); n++) {
        struct rig r;
        struct taker t = taker_of(TAKE_ECHO);
        uint16_t port = 0;
        int fds[HELD + 1];
        test_case("%s", cases[n].what);
        t.accept.most = cases[n].goes < 0 ? HELD + 1 : HELD;
        t.accept.most_each = cases[n].each;
        log_global.fd = -1;
        rig_open(&r);
        CHECK(loop_listen(r.loop, SLICE("127.0.0.1:0"), &t.accept, &port, NULL));
        for (int i = 0; i < HELD; i++) {
            fds[i] = dial_local(port);
            CHECK(RIG_UNTIL(&r, t.taken == i + 1));
            CHECK(t.last->peer && strcmp(t.last->peer, "127.0.0.1") == 0);
            t.last->worth = cases[n].worth[i];
            CHECK(!cases[n].heard[i] || echoes(&r, fds[i]));
        }
        fds[HELD] = dial_local(port);
        CHECK(echoes(&r, fds[HELD]));
        for (int i = 0; i <= HELD; i++) {
            CHECK_INT(is_over(fds[i]), i == cases[n].goes);
            close(fds[i]);
        }
        CHECK(RIG_UNTIL(&r, t.ended == HELD + 1));
        log_global.fd = 1;
        CHECK(rig_close(&r));
    }
}

/* As many as two queues full come at once. What the first has said is answered all the same. */
static void test_crowd(void)
{
    enum { CROWD = LIMIT_NET_ACCEPTED * 2 };
    struct rig r;
    struct taker t = taker_of(TAKE_ECHO);
    uint16_t port = 0;
    int fds[CROWD];
    char said[8];
    test_case("who speaks in a crowd of silent ones is heard");
    log_global.fd = -1;
    rig_open(&r);
    CHECK(loop_listen(r.loop, SLICE("127.0.0.1:0"), &t.accept, &port, NULL));
    for (int i = 0; i < CROWD; i++)
        fds[i] = dial_local(port);
    send_all(fds[0], SLICE("hello"));
    CHECK(RIG_UNTIL(&r, t.taken == CROWD));
    CHECK_INT(t.ended, CROWD - LIMIT_NET_ACCEPTED);
    CHECK_INT(recv(fds[0], said, sizeof said, MSG_DONTWAIT), 5);
    for (int i = 0; i < CROWD; i++)
        close(fds[i]);
    CHECK(RIG_UNTIL(&r, t.ended == CROWD));
    log_global.fd = 1;
    CHECK(rig_close(&r));
}

/* Who was answered and does not hang up has a place as well, and it is one of LIMIT_NET_ACCEPTED. */
static void test_lingering(void)
{
    enum { MORE = LIMIT_NET_ACCEPTED + 3 };
    struct rig r;
    struct taker t = taker_of(TAKE_CLOSE);
    uint16_t port = 0;
    int fds[MORE];
    test_case("connections that were closed and linger give way");
    log_global.fd = -1;
    rig_open(&r);
    CHECK(loop_listen(r.loop, SLICE("127.0.0.1:0"), &t.accept, &port, NULL));
    int before = open_fds();
    for (int i = 0; i < MORE; i++)
        fds[i] = dial_local(port);
    CHECK(RIG_UNTIL(&r, t.taken == MORE));
    CHECK(open_fds() <= before + MORE + LIMIT_NET_ACCEPTED);
    for (int i = 0; i < MORE; i++)
        close(fds[i]);
    CHECK(RIG_UNTIL(&r, open_fds() == before));
    log_global.fd = 1;
    CHECK(rig_close(&r));
}

static void test_addresses(void)
{
    static const struct {
        const char *text;
        bool ok;
    } cases[] = {
        {":0", true},      {"127.0.0.1:0", true}, {"localhost:0", true},   {"0.0.0.0:0", true}, {"", false},
        {"0", false},      {"127.0.0.1", false},  {"127.0.0.1:", false},   {"::1:0", false},    {"[127.0.0.1]:0", false},
        {"host:0", false}, {":65536", false},     {"127.0.0.1:-1", false}, {"[::1:0", false},   {":http", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r;
        struct taker t = taker_of(TAKE_ECHO);
        struct err e = {0};
        uint16_t port = 0;
        test_case("listen on \"%s\"", cases[i].text);
        rig_open(&r);
        CHECK_INT(loop_listen(r.loop, guarded(slice_of(cases[i].text)), &t.accept, &port, &e), cases[i].ok);
        CHECK_INT(e.code, cases[i].ok ? ERR_NONE : ERR_CONFIG);
        if (cases[i].ok) {
            close(dial_local(port));
            CHECK(RIG_UNTIL(&r, t.ended == 1));
        }
        CHECK(rig_close(&r));
    }
    struct rig r;
    struct taker t = taker_of(TAKE_ECHO);
    struct err e = {0};
    uint16_t port = 0, again;
    char text[32];
    test_case("a port that is taken");
    rig_open(&r);
    CHECK(loop_listen(r.loop, SLICE("127.0.0.1:0"), &t.accept, &port, NULL));
    snprintf(text, sizeof text, "127.0.0.1:%u", port);
    CHECK(!loop_listen(r.loop, slice_of(text), &t.accept, &again, &e));
    CHECK_INT(e.code, ERR_IO);
    CHECK(rig_close(&r));
}

/* ---- refusals: nothing happens, not even a socket ---- */

static void test_refusals(void)
{
    static const struct {
        const char *host;
        uint16_t port;
        enum err_code code;
    } cases[] = {
        {"evil.example", 443, ERR_DENIED}, {"10.0.0.1", 443, ERR_DENIED}, {"127.0.0.1", 0, ERR_CONFIG}, {"", 443, ERR_CONFIG},
        {"a b", 443, ERR_CONFIG},          {"[::1]", 443, ERR_CONFIG},    {"a..b", 443, ERR_CONFIG},    {"127.1", 443, ERR_CONFIG},
        {"a.example.", 443, ERR_CONFIG},   {"a\r\nb", 443, ERR_CONFIG},
    };
    struct rig r;
    struct probe p;
    rig_open(&r);
    probe_init(&p, SLICE_NONE);
    int fds = open_fds();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = {0};
        test_case("refused: %s:%u", cases[i].host, cases[i].port);
        struct endpoint to = {.host = guarded(slice_of(cases[i].host)), .port = cases[i].port};
        CHECK(!net_open(loop_net(r.loop), &to, &p.owner, TIME_NEVER, &e));
        CHECK_INT(e.code, cases[i].code);
        CHECK_INT(open_fds(), fds);
    }
    CHECK_INT(p.steps, 0);
    CHECK(rig_close(&r));
    probe_free(&p);
}

static void test_link_limit(void)
{
    struct rig r;
    static struct probe p[LIMIT_NET_LINKS + 1];
    struct server s;
    struct err e = {0};
    test_case("LIMIT_NET_LINKS links, and one more");
    struct rlimit was, low, now;
    CHECK(getrlimit(RLIMIT_NOFILE, &was) == 0);
    low = was;
    low.rlim_cur = was.rlim_cur < 1024 ? was.rlim_cur : 1024; /* what container runtimes give: the loop asks for more */
    CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
    rig_open(&r);
    CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0 && (now.rlim_cur > LIMIT_NET_LINKS || now.rlim_cur == now.rlim_max));
    server_start(&s, 0, NULL, NULL); /* never accepts: the kernel's queue takes them */
    struct endpoint to = {.host = SLICE("127.0.0.1"), .port = s.port};
    for (int i = 0; i < LIMIT_NET_LINKS; i++) {
        probe_init(&p[i], SLICE_NONE);
        probe_open_to(&p[i], &r, &to);
    }
    CHECK(!net_open(loop_net(r.loop), &to, &p[0].owner, TIME_NEVER, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    char want[96];
    snprintf(want, sizeof want, "no connection to 127.0.0.1:%u: LIMIT_NET_LINKS is %d", s.port, LIMIT_NET_LINKS);
    CHECK_STR(slice_of(e.text), want);
    test_case("a place becomes free");
    rig_turn(&r, 5);
    server_stop(&s); /* resets them all */
    for (int i = 0; i < LIMIT_NET_LINKS; i++)
        probe_free(&p[i]);
    CHECK(RIG_UNTIL(&r, open_fds() == r.fds + 3)); /* epoll, signals, DNS answers */
    probe_init(&p[0], SLICE_NONE);
    probe_open_to(&p[0], &r, &to);
    probe_free(&p[0]);
    CHECK(rig_close(&r));
}

/* ---- the system's limits, signals, sleeping ---- */

static void test_no_descriptors(void)
{
    struct rig r;
    struct probe p;
    struct taker t = taker_of(TAKE_ECHO);
    struct rlimit old, tight;
    uint16_t port = 0;
    rig_open(&r);
    CHECK(loop_listen(r.loop, SLICE("127.0.0.1:0"), &t.accept, &port, NULL));
    int waiting = dial_local(port), next = dup(waiting);
    getrlimit(RLIMIT_NOFILE, &old);
    tight = (struct rlimit){(rlim_t)next, old.rlim_max};
    close(next);
    setrlimit(RLIMIT_NOFILE, &tight);
    test_case("no descriptor for a connection");
    probe_init(&p, SLICE_NONE);
    probe_open(&p, &r, port);
    CHECK_INT(p.link->state, LINK_FAILED);
    CHECK_INT(p.link->error.code, ERR_IO);
    CHECK(strstr(p.link->error.text, "no file descriptor is left"));
    probe_free(&p);
    test_case("no descriptor to accept with: a pause, not a busy loop");
    log_global.fd = -1;
    int64_t begin = clock_now().mono_ms;
    for (int i = 0; i < 4; i++)
        rig_turn(&r, 30);
    CHECK(clock_now().mono_ms - begin >= 80);
    CHECK_INT(t.taken, 0);
    setrlimit(RLIMIT_NOFILE, &old);
    CHECK(RIG_UNTIL(&r, t.taken == 1));
    log_global.fd = 1;
    close(waiting);
    CHECK(RIG_UNTIL(&r, t.ended == 1));
    CHECK(rig_close(&r));
}

static void test_signals(void)
{
    struct rig r;
    test_case("signals wake the loop and are handed out once");
    rig_open(&r);
    CHECK_INT(loop_signal(r.loop), 0);
    kill(getpid(), SIGHUP);
    kill(getpid(), SIGTERM);
    alarm(RIG_PATIENCE_S);
    loop_wait(r.loop, TIME_NEVER);
    CHECK(alarm(0) > 0); /* else it was the alarm that woke us */
    CHECK_INT(loop_signal(r.loop), SIGTERM);
    CHECK_INT(loop_signal(r.loop), SIGHUP);
    CHECK_INT(loop_signal(r.loop), 0);
    CHECK(rig_close(&r));
}

static void test_sleep(void)
{
    struct rig r;
    test_case("a deadline is never early");
    rig_open(&r);
    int early = 0;
    for (int i = 0; i < 10; i++) {
        int64_t until = clock_now().mono_ms + 3;
        early += loop_wait(r.loop, until).mono_ms < until;
    }
    CHECK(early <= 1); /* as after a freeze and thaw of the process, which is like a signal */
    test_case("a deadline in the past does not wait");
    alarm(RIG_PATIENCE_S);
    loop_wait(r.loop, clock_now().mono_ms - 1000);
    CHECK(alarm(0) > 0);
    test_case("another signal is no event");
    ualarm(10 * 1000, 10 * 1000); /* again and again: the first may come before the loop waits */
    struct now now = loop_wait(r.loop, TIME_NEVER);
    ualarm(0, 0);
    CHECK(!net_dispatch(loop_net(r.loop), now));
    CHECK_INT(loop_signal(r.loop), 0);
    CHECK(rig_close(&r));
}

static void keep_waking(struct link_owner *owner, struct link *l, struct now now)
{
    (void)now;
    ((struct probe *)(void *)owner)->steps++;
    net_wake(l);
}

static void test_eager(void)
{
    struct rig r;
    struct probe p;
    struct server s;
    test_case("an owner that always wakes itself gets a turn each, and nobody sleeps meanwhile");
    rig_open(&r);
    server_start(&s, 0, NULL, NULL);
    probe_init(&p, SLICE_NONE);
    p.owner.step = keep_waking;
    probe_open(&p, &r, s.port);
    CHECK(RIG_UNTIL(&r, p.steps == 1));
    alarm(RIG_PATIENCE_S);
    for (int i = 0; i < 10; i++) {
        r.now = loop_wait(r.loop, TIME_NEVER);
        CHECK(net_dispatch(loop_net(r.loop), r.now));
    }
    CHECK(alarm(0) > 0); /* else some turn slept until then */
    CHECK_INT(p.steps, 11);
    probe_free(&p);
    server_stop(&s);
    CHECK(rig_close(&r));
}

static void on_alarm(int sig)
{
    (void)sig;
}

int main(void)
{
    const struct sigaction wakes = {.sa_handler = on_alarm}; /* and nothing else */
    sigaction(SIGALRM, &wakes, NULL);
    test_accept();
    test_not_wanted();
    test_accept_limit();
    test_worth();
    test_crowd();
    test_lingering();
    test_addresses();
    test_refusals();
    test_link_limit();
    test_no_descriptors();
    test_signals();
    test_sleep();
    test_eager();
    return test_done();
}
