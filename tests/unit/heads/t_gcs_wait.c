/* Waiting for a GCS: attempts, addresses, and Ray's own settings of TLS. */
#include "../gcs.h"
#include "../ports.h"
#include "../test.h"

#include <mobula/heads.h>

#include <stdlib.h>

/* ---- waiting for it ---- */

struct wait_rig {
    struct net_allow *allow;
    struct loop *loop;
    struct ray_gcs_wait w;
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
    if (!ray_gcs_wait_begin(&r->w, loop_net(r->loop), &to, now.mono_ms + timeout_ms, 1, NULL, &e))
        fatal("%s", e.text);
    while (!ray_gcs_wait_over(&r->w, now)) {
        now = loop_wait(r->loop, ray_gcs_wait_step(&r->w, now));
        net_dispatch(loop_net(r->loop), now);
        if (first && r->w.why.code != ERR_NONE)
            r->w.until_ms = now.mono_ms;
    }
    ray_gcs_wait_end(&r->w);
    loop_free(r->loop);
    net_allow_free(r->allow);
    return r->w.serving;
}

static void attempts(void)
{
    const struct {
        const char *id;
        struct canned_answer answers[3];
        size_t count;
        const char *why; /* how the reason begins; NULL: it serves in the end */
    } cases[] = {
        {"serving", {gcs_serving}, 1, NULL},
        {"not serving, then serving", {gcs_not_serving, gcs_serving}, 2, NULL},
        {"something else, then serving", {gcs_http1, gcs_nothing, gcs_serving}, 3, NULL},
        {"not serving", {gcs_not_serving}, 1, "the GCS answers that it is not serving (health status 2)"},
        {"not HTTP/2", {gcs_http1}, 1, "the answer is no gRPC over HTTP/2"},
        {"closed", {gcs_nothing}, 1, "it closed the connection without an answer"},
        {"silent", {gcs_silent}, 1, "the port is open but nobody answers"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s", cases[i].id);
        struct canned g;
        struct wait_rig r = {0};
        canned_start(&g, cases[i].answers, cases[i].count);
        bool is_silent = !cases[i].answers[0].bytes.ptr;
        bool serves = run(&r, g.port, is_silent ? 300 : PATIENCE_MS, cases[i].why);
        CHECK_INT(serves, cases[i].why == NULL);
        char why[256];
        snprintf(why, sizeof why, "127.0.0.1:%u: %s", g.port, cases[i].why ? cases[i].why : "");
        if (cases[i].why && !CHECK(slice_starts(slice_of(r.w.why.text), slice_of(why))))
            printf("  got \"%s\"\n", r.w.why.text);
        canned_stop(&g);
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
        CHECK_INT(ray_gcs_address(guarded(slice_of(cases[i].text)), &to, &e), cases[i].port != 0);
        CHECK_STR(to.host, cases[i].host);
        CHECK_INT(to.port, cases[i].port);
    }
}

/* ---- Ray's own settings of TLS ---- */

static struct buf cert, key;

/* Two files: a certificate that is its own CA, and its key. */
static bool read_text(struct slice path, struct arena *a, struct slice *out, struct err *e)
{
    const struct buf *file = slice_is(path, "/cert") ? &cert : slice_is(path, "/key") ? &key : NULL;
    *out = file ? arena_dup(a, buf_slice(file)) : SLICE_NONE;
    return file || err_set(e, ERR_IO, "%.*s: no such file", SLICE_ARG(path));
}

static void environment(void)
{
    struct ray_gcs_options o = {.port = 1};
    struct err e = {0};
    int64_t now = clock_now().wall_us;
    buf_init(&cert, 64 * KIB);
    buf_init(&key, 64 * KIB);
    CHECK(tls_issue(&(struct tls_issue){.not_before_us = now - TIME_DAY_US, .not_after_us = now + TIME_DAY_US}, &cert, &key, &e));
    test_case("TLS if Ray's own variables are set");
    CHECK(ray_gcs_tls(&o, read_text, &e) && !o.trust && !o.identity);
    setenv("RAY_USE_TLS", "0", 1);
    CHECK(ray_gcs_tls(&o, read_text, &e) && !o.trust);
    setenv("RAY_USE_TLS", "1", 1);
    CHECK(!ray_gcs_tls(&o, read_text, &e));
    CHECK_STR(slice_of(e.text), "RAY_TLS_CA_CERT: not set");
    setenv("RAY_TLS_CA_CERT", "/cert", 1);
    setenv("RAY_TLS_SERVER_CERT", "/cert", 1);
    setenv("RAY_TLS_SERVER_KEY", "/none", 1);
    e = (struct err){0};
    CHECK(!ray_gcs_tls(&o, read_text, &e));
    CHECK_STR(slice_of(e.text), "RAY_TLS_SERVER_KEY: /none: no such file");
    setenv("RAY_TLS_SERVER_KEY", "/key", 1);
    e = (struct err){0};
    if (!CHECK(ray_gcs_tls(&o, read_text, &e) && o.trust && o.identity))
        printf("  %s\n", e.text);
    tls_trust_drop(o.trust);
    tls_identity_drop(o.identity);
    unsetenv("RAY_USE_TLS");
    buf_free(&cert);
    buf_wipe(&key);
}

int main(void)
{
    attempts();
    refused();
    addresses();
    environment();
    return test_done();
}
