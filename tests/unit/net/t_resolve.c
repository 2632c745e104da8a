#include "../test.h"

#include "rig.h"
#include "src/net/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- our own DNS: this program's getaddrinfo comes before libc's ---- */

static sem_t gate; /* "slow." waits here */
static _Atomic int asked;
static char last_name[300];
static int addresses;    /* of "many." */
static char families[8]; /* of the last questions: 4, or * for any; the newest last */

static struct addrinfo *one_address(const char *ip, const char *port, struct addrinfo *next)
{
    struct addrinfo *a = calloc(1, sizeof *a + sizeof(struct sockaddr_in6));
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)(a + 1);
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)in;
    bool v6 = strchr(ip, ':');
    in->sin_family = v6 ? AF_INET6 : AF_INET;
    in->sin_port = htons((uint16_t)strtoul(port, NULL, 10)); /* both have it in the same place */
    inet_pton(in->sin_family, ip, v6 ? (void *)&in6->sin6_addr : (void *)&in->sin_addr);
    a->ai_family = in->sin_family;
    a->ai_addrlen = v6 ? sizeof *in6 : sizeof *in;
    a->ai_addr = (struct sockaddr *)in;
    a->ai_next = next;
    return a;
}

int getaddrinfo(const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict res)
{
    bool any = hints->ai_family == AF_UNSPEC;
    asked++;
    memmove(families, families + 1, sizeof families - 2);
    families[sizeof families - 2] = any ? '*' : '4';
    snprintf(last_name, sizeof last_name, "%s", node);
    if (strcmp(node, "slow.") == 0)
        sem_wait(&gate);
    if (strcmp(node, "no.such.name.") == 0)
        return EAI_NONAME;
    if (strcmp(node, "refused.") == 0)
        return EAI_AGAIN;
    if (strcmp(node, "no.six.") == 0 && any)
        return EAI_NONAME;
    if (strcmp(node, "silent.six.") == 0 && any)
        return EAI_AGAIN;
    if (strcmp(node, "only.six.") == 0 && !any)
        return EAI_NODATA;
    *res = NULL;
    if (strcmp(node, "many.") == 0)
        for (int i = 0; i < addresses; i++)
            *res = one_address("127.0.0.2", service, *res);
    if (strcmp(node, "sixes.") == 0)
        *res = one_address("fd00::2", service, NULL);
    else
        *res = one_address("127.0.0.1", service, *res);
    if (strncmp(node, "six", 3) == 0)
        *res = one_address("fd00::1", service, *res);
    return 0;
}

/* ---- our own kernel, which may be one without IPv6 ---- */

static bool no_v6;

int socket(int family, int type, int protocol)
{
    if (family == AF_INET6 && no_v6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return (int)syscall(SYS_socket, family, type, protocol);
}

void freeaddrinfo(struct addrinfo *a)
{
    while (a) {
        struct addrinfo *next = a->ai_next;
        free(a);
        a = next;
    }
}

/* ---- */

static void allow_names(struct rig *r)
{
    static const char *const names[] = {"slow",      "no.such.name", "refused", "many",   "server.example", "plain",
                                        "localhost", "six",          "sixes",   "no.six", "silent.six",     "only.six"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        CHECK(net_allow_add(r->allow, slice_of(names[i]), 0, "--test", NULL));
}

static void open_name(struct probe *p, struct rig *r, const char *name, uint16_t port)
{
    probe_init(p, SLICE("hello"));
    probe_open_to(p, r, &(struct endpoint){.host = slice_of(name), .port = port});
}

static void test_names(void)
{
    struct rig r;
    struct server s;
    static const char *const names[] = {"server.example", "plain"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct probe p;
        char want[64];
        test_case("%s is asked with a trailing dot", names[i]);
        rig_open(&r);
        allow_names(&r);
        server_start(&s, 1, serve_echo, NULL);
        open_name(&p, &r, names[i], s.port);
        CHECK(RIG_UNTIL(&r, p.got.len == 5));
        snprintf(want, sizeof want, "%s.", names[i]);
        CHECK_STR(slice_of(last_name), want);
        probe_free(&p);
        server_stop(&s);
        CHECK(rig_close(&r));
    }
}

static void test_not_asked(void)
{
    struct rig r;
    struct server s;
    int before = asked;
    static const char *const names[] = {"127.0.0.1", "localhost", "::ffff:127.0.0.1"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct probe p;
        test_case("%s is not asked", names[i]);
        rig_open(&r);
        allow_names(&r);
        server_start(&s, 1, serve_echo, NULL);
        open_name(&p, &r, names[i], s.port);
        CHECK(RIG_UNTIL(&r, p.got.len == 5));
        CHECK_INT(asked, before);
        probe_free(&p);
        server_stop(&s);
        CHECK(rig_close(&r));
    }
}

static void test_failures(void)
{
    static const struct {
        const char *name, *error;
    } cases[] = {
        {"no.such.name", "no address for no.such.name: DNS does not know the name"},
        {"refused", "no address for refused: no DNS server answers, or it refuses (is there a DNS policy?)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r;
        struct probe p;
        test_case("DNS failure for %s", cases[i].name);
        rig_open(&r);
        allow_names(&r);
        open_name(&p, &r, cases[i].name, 1);
        CHECK(RIG_UNTIL(&r, p.link->state == LINK_FAILED));
        CHECK_INT(p.link->error.code, ERR_DNS);
        CHECK_STR(slice_of(p.link->error.text), cases[i].error);
        probe_free(&p);
        CHECK(rig_close(&r));
    }
}

/* A DNS server that is asked for IPv6 addresses and says that there is no such name, or says nothing, as libc tells it. */
static void test_half_a_dns(void)
{
    static const struct {
        const char *name, *families;
    } cases[] = {
        {"no.six", "*4"}, {"no.six", "*4"},   {"silent.six", "*4"}, {"silent.six", "4"},
        {"plain", "4"},   {"only.six", "4*"}, {"refused", "4*"},
    };
    struct rig r;
    struct server s;
    rig_open(&r);
    allow_names(&r);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct probe p;
        int before = asked;
        bool found = strcmp(cases[i].name, "refused") != 0;
        test_case("a DNS server that is none for IPv6, question %zu: %s", i, cases[i].name);
        server_start(&s, found ? 1 : 0, found ? serve_echo : NULL, NULL);
        open_name(&p, &r, cases[i].name, s.port);
        CHECK(RIG_UNTIL(&r, p.got.len == 5 || p.link->state == LINK_FAILED));
        CHECK_INT(p.got.len, found ? 5 : 0);
        CHECK_INT(asked - before, strlen(cases[i].families));
        CHECK(slice_ends(slice_of(families), slice_of(cases[i].families)));
        probe_free(&p);
        server_stop(&s);
    }
    CHECK(rig_close(&r));
}

/* A server that was away for a moment looks as one that is silent about IPv6: what is reached by its IPv6 addresses only is found again. */
static void test_dns_is_well_again(void)
{
    struct rig r;
    uint16_t port;
    int closed = closed_port(&port);
    rig_open(&r);
    allow_names(&r);
    for (int i = 0; i <= NET_DNS_V4_FIRST + 2; i++) {
        struct probe p;
        bool v4 = i > 0 && i <= NET_DNS_V4_FIRST;
        const char *name = i == 0 ? "silent.six" : "plain";
        test_case("after a DNS server was silent once, lookup %d", i);
        open_name(&p, &r, name, port);
        CHECK(RIG_UNTIL(&r, p.link->state == LINK_FAILED));
        CHECK(slice_ends(slice_of(families), slice_of(i == 0 ? "*4" : v4 ? "4" : "*")));
        CHECK_INT(p.link->error.code, ERR_CONNECT);
        probe_free(&p);
    }
    CHECK(rig_close(&r));
    close(closed);
}

static void test_many(void)
{
    struct rig r;
    struct probe p;
    struct server s;
    test_case("each address is tried, in order");
    rig_open(&r);
    allow_names(&r);
    addresses = LIMIT_NET_ADDRESSES + 5;
    uint16_t port;
    int closed = closed_port(&port);
    char want[160];
    open_name(&p, &r, "many", port);
    CHECK(RIG_UNTIL(&r, p.link->state == LINK_FAILED));
    CHECK_INT(p.link->error.code, ERR_CONNECT);
    snprintf(want, sizeof want, "no connection to many:%u: %d addresses tried, the first: 127.0.0.1: Connection refused", port,
             LIMIT_NET_ADDRESSES);
    CHECK_STR(slice_of(p.link->error.text), want);
    probe_free(&p);
    close(closed);
    addresses = 1;
    server_start(&s, 1, serve_echo, NULL);
    open_name(&p, &r, "many", s.port);
    CHECK(RIG_UNTIL(&r, p.got.len == 5));
    probe_free(&p);
    server_stop(&s);
    CHECK(rig_close(&r));
}

static void test_no_v6(void)
{
    static const struct {
        const char *name, *error;
    } cases[] = {
        {"six", "127.0.0.1: Connection refused"},
        {"localhost", "127.0.0.1: Connection refused"},
        {"sixes", "fd00::2: Address family not supported by protocol"},
    };
    struct rig r;
    struct probe p;
    struct server s;
    uint16_t port;
    int closed = closed_port(&port);
    no_v6 = true;
    test_case("a kernel without IPv6: the IPv4 address behind an IPv6 one is tried");
    rig_open(&r);
    allow_names(&r);
    server_start(&s, 1, serve_echo, NULL);
    open_name(&p, &r, "six", s.port);
    CHECK(RIG_UNTIL(&r, p.got.len == 5 || p.link->state == LINK_FAILED));
    CHECK_STR(buf_slice(&p.got), "hello");
    probe_free(&p);
    server_stop(&s);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char want[160];
        test_case("a kernel without IPv6, and nobody listens: %s", cases[i].name);
        open_name(&p, &r, cases[i].name, port);
        CHECK(RIG_UNTIL(&r, p.link->state == LINK_FAILED));
        CHECK_INT(p.link->error.code, ERR_CONNECT);
        snprintf(want, sizeof want, "no connection to %s:%u: %s", cases[i].name, port, cases[i].error);
        CHECK_STR(slice_of(p.link->error.text), want);
        probe_free(&p);
    }
    no_v6 = false;
    CHECK(rig_close(&r));
    close(closed);
}

static void test_same_name(void)
{
    enum { LINKS = 5 };
    struct rig r;
    struct probe p[LINKS];
    struct server s;
    test_case("one slow lookup answers all who ask for that name meanwhile");
    rig_open(&r);
    allow_names(&r);
    server_start(&s, LINKS, serve_echo, NULL);
    int before = asked;
    open_name(&p[0], &r, "slow", s.port);
    CHECK(RIG_UNTIL(&r, asked > before));
    for (int i = 1; i < LINKS; i++)
        open_name(&p[i], &r, "slow", s.port);
    sem_post(&gate);
    for (int i = 0; i < LINKS; i++) {
        CHECK(RIG_UNTIL(&r, p[i].got.len == 5));
        probe_free(&p[i]);
    }
    CHECK_INT(asked - before, 1);
    server_stop(&s);
    CHECK(rig_close(&r));
}

/* The thread is stuck: links with addresses go on, deadlines hold, nothing piles up, and late answers are thrown away. */
static void test_stuck(void)
{
    struct rig r;
    struct probe slow, other, behind[3];
    struct server s;
    rig_open(&r);
    allow_names(&r);
    server_start(&s, 2, serve_echo, NULL);
    int before = asked;
    open_name(&slow, &r, "slow", s.port);
    CHECK(RIG_UNTIL(&r, asked > before));
    test_case("the loop goes on while a lookup hangs");
    open_name(&other, &r, "127.0.0.1", s.port);
    CHECK(RIG_UNTIL(&r, other.got.len == 5));
    probe_free(&other);
    test_case("the owner's deadline during a lookup");
    for (int i = 0; i < 3; i++)
        open_name(&behind[i], &r, "server.example", s.port);
    before = asked;
    slow.link->deadline_ms = behind[0].link->deadline_ms = clock_now().mono_ms + 30;
    CHECK(RIG_UNTIL(&r, slow.link->state == LINK_FAILED && behind[0].link->state == LINK_FAILED));
    CHECK_INT(slow.link->error.code, ERR_TIMEOUT);
    char want[128];
    snprintf(want, sizeof want, "slow:%u: the deadline passed during the DNS lookup", s.port);
    CHECK_STR(slice_of(slow.link->error.text), want);
    probe_free(&slow);
    probe_free(&behind[0]);
    probe_free(&behind[1]); /* a question nobody waits for any more is never asked */
    sem_post(&gate);
    test_case("the next question is answered when the thread comes back");
    CHECK(RIG_UNTIL(&r, behind[2].got.len == 5));
    CHECK_INT(asked - before, 1);
    probe_free(&behind[2]);
    for (int i = 0; i < 3; i++)
        rig_turn(&r, 5);
    server_stop(&s);
    CHECK(rig_close(&r));
}

/* All at once, because each takes its time. */
static void test_step_deadlines(void)
{
    struct rig r;
    struct probe p, tls, closed;
    struct server s; /* never accepts, never answers, never ends */
    char want[128];
    rig_open(&r);
    allow_names(&r);
    server_start(&s, 0, NULL, NULL);
    probe_init(&closed, SLICE_NONE);
    probe_open(&closed, &r, s.port);
    CHECK(RIG_UNTIL(&r, closed.link->state == LINK_OPEN));
    int64_t begin = r.now.mono_ms; /* the loop's time: what is opened now is counted from it */
    int before = asked;
    open_name(&p, &r, "slow", 1);
    CHECK(RIG_UNTIL(&r, asked > before)); /* the helper thread has closed its hosts file: the count below is the links' */
    probe_init(&tls, SLICE_NONE);
    probe_open_to(&tls, &r, &(struct endpoint){.host = SLICE("127.0.0.1"), .port = s.port, .tls = true, .insecure = true});
    int fds = open_fds();
    probe_free(&closed);
    test_case("a closed link waits for the peer's end, NET_LINGER_MS at most");
    CHECK(RIG_UNTIL(&r, open_fds() < fds));
    CHECK(clock_now().mono_ms - begin >= NET_LINGER_MS);
    CHECK(RIG_UNTIL(&r, p.link->state == LINK_FAILED && tls.link->state == LINK_FAILED));
    CHECK(clock_now().mono_ms - begin >= NET_DNS_MS);
    test_case("no answer from DNS within NET_DNS_MS");
    CHECK_INT(p.link->error.code, ERR_DNS);
    CHECK_STR(slice_of(p.link->error.text), "no answer from DNS for slow in 12 s");
    test_case("no TLS within NET_HANDSHAKE_MS");
    CHECK_INT(tls.link->error.code, ERR_TLS);
    snprintf(want, sizeof want, "127.0.0.1:%u: no TLS handshake in 10 s: no TLS server, or large packets are lost on the way (MTU)",
             s.port);
    CHECK_STR(slice_of(tls.link->error.text), want);
    probe_free(&tls);
    probe_free(&p);
    server_stop(&s);
    test_case("the loop ends while the thread is stuck, and the thread cleans up behind it");
    fds = r.fds;
    CHECK(!rig_close(&r)); /* the thread still holds its descriptor */
    sem_post(&gate);
    for (int i = 0; i < RIG_PATIENCE_S * 100 && open_fds() != fds; i++)
        usleep(10 * 1000);
    CHECK_INT(open_fds(), fds);
}

int main(void)
{
    sem_init(&gate, 0, 0);
    test_names();
    test_not_asked();
    test_failures();
    test_half_a_dns();
    test_dns_is_well_again();
    test_many();
    test_no_v6();
    test_same_name();
    test_stuck();
    test_step_deadlines();
    return test_done();
}
