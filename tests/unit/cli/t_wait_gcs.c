#include "../ports.h"
#include "said.h"

#include "../../../src/cli/cli.h"
#include "../../../src/cli/wait_gcs.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

/* ---- a GCS that answers each connection with the next of a list of texts, and all that follow with the last ---- */

struct answer {
    struct slice bytes; /* SLICE_NONE: hold the connection and say nothing */
};

struct gcs {
    int listener;
    uint16_t port;
    const struct answer *answers;
    size_t count;
    pthread_t thread;
};

/* Closed only when the other side has: what it still sends would else be answered with a reset, sooner or later than the end is read. */
static void close_behind(int fd)
{
    char byte;
    while (recv(fd, &byte, 1, 0) > 0)
        ;
    close(fd);
}

static void *serve(void *arg)
{
    struct gcs *g = arg;
    char request[256];
    int fd;
    for (size_t i = 0; (fd = accept(g->listener, NULL, NULL)) >= 0; i += i + 1 < g->count) {
        struct slice answer = g->answers[i].bytes;
        if (answer.ptr && recv(fd, request, sizeof request, 0) > 0)
            (void)!send(fd, answer.ptr, answer.len, MSG_NOSIGNAL);
        if (answer.ptr)
            shutdown(fd, SHUT_WR);
        close_behind(fd);
    }
    return NULL;
}

static void gcs_start(struct gcs *g, const struct answer *answers, size_t count)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    *g = (struct gcs){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .answers = answers, .count = count};
    if (g->listener < 0 || bind(g->listener, (struct sockaddr *)&a, len) != 0 || listen(g->listener, 8) != 0 ||
        getsockname(g->listener, (struct sockaddr *)&a, &len) != 0)
        fatal("cannot listen");
    g->port = ntohs(a.sin_port);
    if (pthread_create(&g->thread, NULL, serve, g) != 0)
        fatal("no thread");
}

static void gcs_stop(struct gcs *g)
{
    shutdown(g->listener, SHUT_RDWR);
    pthread_join(g->thread, NULL);
    close(g->listener);
}

/* What Ray's GCS sends: SETTINGS, their acknowledgement, HEADERS, one message of gRPC, HEADERS with the status. */
#define SETTINGS "\0\0\0\4\0\0\0\0\0\0\0\0\4\1\0\0\0\0"
#define HEADERS "\0\0\1\1\4\0\0\0\1\x88"
#define TRAILERS                                                                                                                           \
    "\0\0\17\1\5\0\0\0\1\x40\13grpc-status\1"                                                                                              \
    "0"
#define MESSAGE(status) "\0\0\7\0\0\0\0\0\1\0\0\0\0\2\10" status
static const struct answer serving = {SLICE(SETTINGS HEADERS MESSAGE("\1") TRAILERS)};
static const struct answer not_serving = {SLICE(SETTINGS HEADERS MESSAGE("\2") TRAILERS)};
static const struct answer silent = {SLICE_NONE};
static const struct answer nothing = {SLICE(SETTINGS)};
static const struct answer http1 = {SLICE("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")};

/* ---- waiting for it ---- */

struct wait_rig {
    struct net_allow *allow;
    struct loop *loop;
    struct gcs_wait w;
};

/* How long a machine may be held up. */
enum { PATIENCE_MS = 60 * 1000 };

/* Until it serves or the time is over; `first` ends the time as soon as there is an answer, however long that took. */
static bool run(struct wait_rig *r, uint16_t port, int64_t timeout_ms, bool first)
{
    struct err e = {0};
    struct now now = clock_now();
    r->allow = net_allow_new();
    if (!net_allow_add(r->allow, SLICE("127.0.0.1"), port, "--address", &e) || !(r->loop = loop_new(r->allow, &e)))
        fatal("%s", e.text);
    const struct endpoint to = {.host = SLICE("127.0.0.1"), .port = port};
    if (!gcs_wait_begin(&r->w, loop_net(r->loop), &to, now.mono_ms + timeout_ms, 1, &e))
        fatal("%s", e.text);
    while (!gcs_wait_over(&r->w, now)) {
        now = loop_wait(r->loop, gcs_wait_step(&r->w, now));
        net_dispatch(loop_net(r->loop), now);
        if (first && r->w.why.code != ERR_NONE)
            r->w.until_ms = now.mono_ms;
    }
    gcs_wait_end(&r->w);
    loop_free(r->loop);
    net_allow_free(r->allow);
    return r->w.serving;
}

static void attempts(void)
{
    const struct {
        const char *id;
        struct answer answers[3];
        size_t count;
        const char *why; /* how the reason begins; NULL: it serves in the end */
    } cases[] = {
        {"serving", {serving}, 1, NULL},
        {"not serving, then serving", {not_serving, serving}, 2, NULL},
        {"something else, then serving", {http1, nothing, serving}, 3, NULL},
        {"not serving", {not_serving}, 1, "the GCS answers that it is not serving (health status 2)"},
        {"not HTTP/2", {http1}, 1, "the answer is no gRPC over HTTP/2"},
        {"closed", {nothing}, 1, "it closed the connection without an answer"},
        {"silent", {silent}, 1, "the port is open but nobody answers"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].id);
        struct gcs g;
        struct wait_rig r = {0};
        gcs_start(&g, cases[i].answers, cases[i].count);
        bool is_silent = !cases[i].answers[0].bytes.ptr;
        bool serves = run(&r, g.port, is_silent ? 300 : PATIENCE_MS, cases[i].why);
        CHECK_INT(serves, cases[i].why == NULL);
        char why[256];
        snprintf(why, sizeof why, "127.0.0.1:%u: %s", g.port, cases[i].why ? cases[i].why : "");
        if (cases[i].why && !CHECK(slice_starts(slice_of(r.w.why.text), slice_of(why))))
            printf("  got \"%s\"\n", r.w.why.text);
        gcs_stop(&g);
    }
}

static void refused(void)
{
    test_case("refused");
    uint16_t port;
    int closed = closed_port(&port);
    struct wait_rig r = {0};
    CHECK(!run(&r, port, PATIENCE_MS, true));
    CHECK_INT(r.w.why.code, ERR_CONNECT);
    test_case("refused until the time is over");
    CHECK(!run(&r, port, 300, false));
    CHECK_INT(r.w.why.code, ERR_CONNECT);
    close(closed);
}

static void addresses(void)
{
    static const struct {
        const char *text, *host;
        uint16_t port; /* 0: refused */
    } cases[] = {
        {"head:6379", "head", 6379},
        {"a-head-svc.ns.svc.cluster.local:1", "a-head-svc.ns.svc.cluster.local", 1},
        {"[fd00::1]:65535", "fd00::1", 65535},
        {"10.0.0.1:6379", "10.0.0.1", 6379},
        {"", NULL, 0},
        {"head", NULL, 0},
        {":6379", NULL, 0},
        {"head:", NULL, 0},
        {"head:0", NULL, 0},
        {"head:65536", NULL, 0},
        {"head:x", NULL, 0},
        {"fd00::1:6379", NULL, 0},
        {"[]:1", NULL, 0},
        {"[fd00::0/0]:3", NULL, 0},
        {"10.0.0.0/8:6379", NULL, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("address \"%s\"", cases[i].text);
        struct endpoint to = {0};
        struct err e = {0};
        CHECK_INT(gcs_address(guarded(slice_of(cases[i].text)), &to, &e), cases[i].port != 0);
        CHECK_STR(to.host, cases[i].host);
        CHECK_INT(to.port, cases[i].port);
    }
}

/* ---- the command, and what it says ---- */

static int command(const char *address, const char *timeout, char *said, size_t size)
{
    char name[] = "wait-gcs", first[64], second[64], *argv[] = {name, first, second, NULL};
    snprintf(first, sizeof first, "--address=%s", address);
    snprintf(second, sizeof second, "--timeout=%s", timeout);
    return run_said(cli_wait_gcs, argv, said, size);
}

static void commands(void)
{
    char said[4096], address[32];
    uint16_t port;
    struct gcs g;
    struct answer answers[] = {not_serving, serving};
    test_case("command: it answers");
    gcs_start(&g, answers, 2);
    snprintf(address, sizeof address, "127.0.0.1:%u", g.port);
    CHECK_INT(command(address, "60s", said, sizeof said), STATUS_OK);
    CHECK(strstr(said, "wait-gcs: asking 127.0.0.1:"));
    CHECK(strstr(said, "wait-gcs: not yet after "));
    CHECK(strstr(said, "s: 127.0.0.1:"));
    CHECK(strstr(said, "wait-gcs: the GCS answers after "));
    gcs_stop(&g);
    test_case("command: reasons that take turns are told once each");
    struct answer turns[] = {not_serving, http1, not_serving, serving};
    gcs_start(&g, turns, COUNT_OF(turns));
    snprintf(address, sizeof address, "127.0.0.1:%u", g.port);
    CHECK_INT(command(address, "60s", said, sizeof said), STATUS_OK);
    int told = 0;
    for (const char *at = said; (at = strstr(at, "not yet after")) != NULL; at++)
        told++;
    CHECK_INT(told, 2);
    gcs_stop(&g);
    test_case("command: it gives up");
    int closed = closed_port(&port);
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    CHECK_INT(command(address, "100ms", said, sizeof said), STATUS_ERROR);
    CHECK(strstr(said, "wait-gcs: gave up after "));
    CHECK(strstr(said, "s: no connection to 127.0.0.1:"));
    close(closed);
    test_case("command: usage");
    CHECK_INT(command("nonsense", "1s", said, sizeof said), STATUS_USAGE);
    CHECK(strstr(said, "mobula: --address: \"nonsense\" is not HOST:PORT\nsee: mobula help wait-gcs\n"));
    CHECK_INT(command(address, "0", said, sizeof said), STATUS_USAGE);
}

int main(void)
{
    attempts();
    refused();
    addresses();
    commands();
    return test_done();
}
