/* The files of a running edge: routes of a file, of flags and of services, and the certificate. */
#include "rig.h"

static struct slice services[2];
static uint32_t service_count;

static uint32_t list(const void *of, struct arena *a, const struct slice **files)
{
    CHECK(of == &service_count);
    *files = arena_array(a, COUNT_OF(services), sizeof *services);
    memcpy((void *)(uintptr_t)*files, services, sizeof services);
    return service_count;
}

/* The status of a request for this path. */
static int status_of(struct rig *r, const char *path)
{
    struct end client;
    char text[128];
    memset(&client, 0, sizeof client);
    rig_enter(r, &client);
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n", path);
    rig_say(r, &client, text);
    unsigned up = r->ups;
    int status = rig_status(&client);
    if (up && !r->up[up - 1].closed) {
        status = r->up[up - 1].port; /* the request has passed */
        buf_put(&r->up[up - 1].in, SLICE("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
        net_wake(&r->up[up - 1].link);
        rig_turn(r);
    }
    rig_end(r, &client);
    CHECK(client.closed);
    rig_leave(&client);
    return status;
}

static void routes(void)
{
    static struct rig r;
    struct err e = {0};
    rig_start(&r, NULL, "routes: []");
    struct edge_files f = {.edge = r.edge, .config = SLICE("/routes"), .list = list, .of = &service_count};
    rig_files[0] = (struct rig_file){"/routes", "routes: [{path: /a, auth: none, upstream: 'u:1'}]"};
    rig_files[1] = (struct rig_file){"/service", "routes: [{path: /s, auth: none, upstream: 'u:3'}]"};
    test_case("the routes of a file");
    CHECK(edge_files_read(&f, &e));
    CHECK_INT(status_of(&r, "/a"), 1);
    CHECK_INT(status_of(&r, "/s"), 404);
    uint64_t configured = f.configured;
    edge_files_reload(&f, r.now);
    CHECK(f.configured == configured && f.next_ms == r.now.mono_ms + EDGE_RELOAD_MS);
    test_case("a service comes");
    services[service_count++] = SLICE("/service");
    edge_files_reload(&f, r.now);
    CHECK(f.configured != configured);
    CHECK_INT(status_of(&r, "/s"), 3);
    test_case("what cannot be used or read changes nothing");
    configured = f.configured;
    rig_files[0].text = "routes: 7";
    edge_files_reload(&f, r.now);
    CHECK(f.configured == configured);
    rig_files[0].text = NULL;
    edge_files_reload(&f, r.now);
    CHECK(f.configured == configured);
    CHECK_INT(status_of(&r, "/a"), 1);
    CHECK(!edge_files_read(&f, &e) && e.code == ERR_MISSING);
    test_case("another file of routes");
    rig_files[0].text = "routes: [{path: /a, auth: none, upstream: 'u:2'}]";
    edge_files_reload(&f, r.now);
    CHECK_INT(status_of(&r, "/a"), 2);
    test_case("a service goes");
    service_count = 0;
    edge_files_reload(&f, r.now);
    CHECK_INT(status_of(&r, "/s"), 404);
    rig_stop(&r, NULL);
}

static void flags(void)
{
    static struct rig r;
    struct err e = {0};
    rig_start(&r, NULL, "routes: []");
    struct edge_files f = {.edge = r.edge, .upstream = SLICE("u:5"), .auth = SLICE("none")};
    test_case("one route of flags");
    CHECK(edge_files_read(&f, &e));
    CHECK_INT(status_of(&r, "/any/path"), 5);
    test_case("flags that make no route");
    f.auth = SLICE("token");
    CHECK(!edge_files_read(&f, &e) && slice_starts(slice_of(e.text), SLICE("--upstream: ")));
    rig_stop(&r, NULL);
}

static void certificate(void)
{
    static struct rig r;
    struct arena a = {0};
    struct err e = {0};
    struct buf cert, key;
    int64_t now = clock_now().wall_us;
    buf_init(&cert, 64 * KIB);
    buf_init(&key, 64 * KIB);
    rig_start(&r, NULL, "routes: []");
    CHECK(tls_issue(&(struct tls_issue){.not_before_us = now - TIME_DAY_US, .not_after_us = now + TIME_DAY_US}, &cert, &key, &e));
    rig_files[0] = (struct rig_file){"/cert", arena_dup(&a, buf_slice(&cert)).ptr};
    rig_files[1] = (struct rig_file){"/key", arena_dup(&a, buf_slice(&key)).ptr};
    struct edge_files f = {.edge = r.edge, .upstream = SLICE("u:5"), .auth = SLICE("none"), .cert = SLICE("/cert"), .key = SLICE("/key")};
    test_case("the certificate");
    CHECK(edge_files_read(&f, &e) && *edge_identity(r.edge));
    struct tls_identity *before = *edge_identity(r.edge);
    test_case("a certificate that cannot be used changes nothing");
    rig_files[0].text = "nothing";
    edge_files_reload(&f, r.now);
    CHECK(*edge_identity(r.edge) == before);
    CHECK(!edge_files_read(&f, &e));
    rig_stop(&r, NULL);
    buf_free(&cert);
    buf_wipe(&key);
    arena_free(&a);
}

int main(void)
{
    log_global.level = LOG_ERROR + 1;
    routes();
    flags();
    certificate();
    return test_done();
}
