/* Certificates of host names in a simulated world: made, renewed in time, repaired, and bounded. */
#include "route_world.h"

#include <mobula/tls.h>

static const char own_ca[] = "/api/v1/namespaces/n/secrets/" ROUTE_CA_OWN;
static const char secrets[] = "/api/v1/namespaces/n/secrets", one[] = "/api/v1/namespaces/n/secrets/c-head-tls";

static void create(struct world *w, const char *options)
{
    struct slice body = cluster_body(w, "c", 1, "");
    const char *at = strstr(body.ptr, "\"rayStartParams\"");
    CHECK_INT(world_call(w, "POST", v1, "application/json",
                         arena_printf(&w->arena, "%.*s\"enableIngress\":true,\"ingressOptions\":{%s},%s", (int)(at - body.ptr), body.ptr,
                                      options, at)),
              201);
}

static struct jval secret(struct world *w, const char *name)
{
    return json_document(apiserver_get(w->server, SLICE("secrets"), SLICE("n"), slice_of(name), &w->arena), &w->arena, NULL);
}

static struct slice text_of(struct world *w, const char *name, const char *key)
{
    struct buf out;
    buf_init(&out, 64 * KIB);
    base64_decode(json_str(json_child(json_get(secret(w, name), "data"), key), &w->arena), &out, NULL);
    struct slice text = arena_dup(&w->arena, buf_slice(&out));
    buf_free(&out);
    return text;
}

static int64_t days_left(struct world *w, const char *name, const char *host)
{
    struct tls_identity *id = tls_identity_load(text_of(w, name, "tls.crt"), text_of(w, name, "tls.key"), NULL);
    struct tls_leaf leaf = {.not_after_us = 0};
    bool read = id && tls_identity_leaf(id, slice_of(host), &leaf) && (leaf.has_name || leaf.ca);
    tls_identity_drop(id);
    return read ? (leaf.not_after_us - w->now.wall_us + TIME_DAY_US / 2) / TIME_DAY_US : -1;
}

static void pass(struct world *w, int64_t days)
{
    w->now.wall_us += days * TIME_DAY_US;
    world_run(w, 3 * ROUTE_TLS_LOOK_MS);
}

static bool told(struct world *w, const char *words)
{
    return says(w, "rayclusters.ray.io", "c", words);
}

static void test_life(void)
{
    struct world w;
    test_case("made for the host, and renewed after two thirds of its life");
    open_world(&w, ROUTE_CA_OWN, "");
    create(&w, "\"host\":\"a.example.com\"");
    world_run(&w, 10 * 1000);
    CHECK_INT(days_left(&w, "c-head-tls", "a.example.com"), TLS_ISSUED_DAYS - 1);
    CHECK(told(&w, "Secret c-head-tls is valid until") && tells(&w, "CreatedCertificate", "c-head-tls"));
    CHECK(json_is(json_get(secret(&w, "c-head-tls"), "type"), "kubernetes.io/tls"));
    check_fixed_point(&w);
    struct slice first = text_of(&w, "c-head-tls", "tls.key");
    pass(&w, 58);
    CHECK(slice_eq(text_of(&w, "c-head-tls", "tls.key"), first));
    pass(&w, 2);
    CHECK(!slice_eq(text_of(&w, "c-head-tls", "tls.key"), first) && tells(&w, "RenewedCertificate", "c-head-tls"));
    CHECK_INT(days_left(&w, "c-head-tls", "a.example.com"), TLS_ISSUED_DAYS - 1);
    check_fixed_point(&w);
    test_case("the CA is renewed in its last year with the same key, and the certificate has it in its chain");
    struct slice ca = text_of(&w, ROUTE_CA_OWN, "tls.crt"), key = text_of(&w, ROUTE_CA_OWN, "tls.key");
    pass(&w, TLS_CA_DAYS - TLS_CA_RENEW_DAYS - 50);
    CHECK(!slice_eq(text_of(&w, ROUTE_CA_OWN, "tls.crt"), ca) && slice_eq(text_of(&w, ROUTE_CA_OWN, "tls.key"), key));
    CHECK(slice_ends(text_of(&w, "c-head-tls", "tls.crt"), text_of(&w, ROUTE_CA_OWN, "tls.crt")));
    CHECK_INT(days_left(&w, ROUTE_CA_OWN, "x"), TLS_CA_DAYS);
    check_fixed_point(&w);
    world_free(&w);
}

/* hosts: their number. */
static const char *options_of(struct world *w, int hosts)
{
    const char *list = "";
    for (int i = 0; i < hosts; i++)
        list = arena_printf(&w->arena, "%s%s\"h%d.example.com\"", list, i ? "," : "", i).ptr;
    return arena_printf(&w->arena, "\"tls\":[{\"hosts\":[%s]}]", list).ptr;
}

static void test_hosts(void)
{
    for (int more = 0; more < 2; more++) {
        struct world w;
        test_case("32 hosts, and one more");
        open_world(&w, ROUTE_CA_OWN, "");
        create(&w, options_of(&w, 32 + more));
        world_run(&w, 10 * 1000);
        CHECK_INT(days_left(&w, "c-head-tls", "h31.example.com"), more ? -1 : TLS_ISSUED_DAYS - 1);
        CHECK(is_ready(&w, "c") && told(&w, more ? "its route has more than 32 hosts" : "is valid until"));
        world_free(&w);
    }
}

/* Requests for the certificate's Secret. */
struct counter {
    struct world_hooks hooks; /* first */
    uint32_t reads, writes;
};

static void on_arrived(struct world_hooks *h, struct world_request *q)
{
    struct counter *c = (struct counter *)h;
    c->reads += slice_is(q->method, "GET") && slice_is(q->target, one);
    c->writes += slice_is(q->method, "POST") && slice_is(q->target, secrets);
}

/* Hosts that no client accepts a certificate for: nothing is signed or written, and the condition names the host. */
static void test_unfit_hosts(void)
{
    static const char *const hosts[] = {"*",    "*.corp",          "10.96.0.1",         "a b",
                                        "x..y", "*.*.example.com", "a.example.com:443", "UPPER.example.com"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        struct world w;
        struct counter count = {.hooks = {.arrived = on_arrived}};
        test_case("host \"%s\": no certificate is made", hosts[i]);
        open_world(&w, ROUTE_CA_OWN, "");
        world_run(&w, 1000);
        w.hooks = &count.hooks;
        create(&w, arena_printf(&w.arena, "\"tls\":[{\"hosts\":[\"a.example.com\",\"%s\"]}]", hosts[i]).ptr);
        world_run(&w, 10 * ROUTE_TLS_LOOK_MS);
        CHECK(!json_there(secret(&w, "c-head-tls")) && count.writes <= 1); /* of the CA */
        CHECK(told(&w, "Secret c-head-tls: no certificate is made for host"));
        world_free(&w);
    }
}

static void test_broken(void)
{
    static const char *const damage[] = {"{\"data\":{\"tls.key\":null}}", "{\"data\":{\"tls.crt\":\"AAAA\"}}"};
    struct world w;
    test_case("a damaged or deleted Secret is replaced within minutes");
    open_world(&w, ROUTE_CA_OWN, "");
    create(&w, "\"host\":\"*.i.example.com\"");
    world_run(&w, 10 * 1000);
    for (size_t i = 0; i <= COUNT_OF(damage); i++) {
        if (i < COUNT_OF(damage))
            CHECK_INT(world_call(&w, "PATCH", one, "application/merge-patch+json", slice_of(damage[i])), 200);
        else
            CHECK_INT(world_call(&w, "DELETE", one, "application/json", SLICE("{}")), 200);
        CHECK_INT(days_left(&w, "c-head-tls", "x.i.example.com"), -1);
        world_run(&w, 2 * ROUTE_TLS_LOOK_MS);
        CHECK_INT(days_left(&w, "c-head-tls", "x.i.example.com"), TLS_ISSUED_DAYS - 1);
    }
    test_case("a server that refuses writes: the condition has its words, and it is tried again");
    struct counter count = {.hooks = {.arrived = on_arrived}};
    override(&w, "POST", secrets, 500, false, 1000);
    CHECK_INT(world_call(&w, "DELETE", one, "application/json", SLICE("{}")), 200);
    world_run(&w, 2 * ROUTE_TLS_LOOK_MS);
    w.hooks = &count.hooks;
    uint32_t statuses = w.sent.patches;
    for (int i = 0; i < 5 * 60; i++) {
        world_run(&w, ROUTE_TLS_LOOK_MS / 60);
        CHECK(told(&w, "Secret c-head-tls: 500") && is_ready(&w, "c"));
    }
    CHECK(count.writes >= 1 && count.writes <= 8 && count.reads <= 8 && w.sent.patches == statuses);
    override(&w, "GET", "/none", 500, false, 0);
    world_run(&w, 7 * ROUTE_TLS_LOOK_MS);
    CHECK(told(&w, "is valid until"));
    w.hooks = NULL;
    test_case("an operator that starts again writes nothing");
    world_kill_operator(&w);
    uint32_t before = w.sent.patches;
    struct slice key = text_of(&w, "c-head-tls", "tls.key");
    start_operator(&w, ROUTE_CA_OWN, "");
    world_run(&w, 30 * 1000);
    CHECK(slice_eq(text_of(&w, "c-head-tls", "tls.key"), key) && w.sent.patches == before);
    world_free(&w);
}

/* Flow control refuses it for longer than a plan lasts. */
static void test_unsent(void)
{
    struct world w;
    struct counter count = {.hooks = {.arrived = on_arrived}};
    test_case("a write that the server did not take is sent again before the next read");
    open_world(&w, ROUTE_CA_OWN, "");
    create(&w, "\"host\":\"a.example.com\"");
    world_run(&w, 10 * 1000);
    CHECK_INT(world_call(&w, "DELETE", one, "application/json", SLICE("{}")), 200);
    override(&w, "POST", secrets, 429, false, 1000);
    w.hooks = &count.hooks;
    for (int64_t end_ms = w.now.mono_ms + 2 * ROUTE_TLS_LOOK_MS; count.reads == 0 && w.now.mono_ms < end_ms;)
        world_step(&w, w.now.mono_ms + 50);
    world_run(&w, OPERATOR_PLAN_MS + 5000);
    override(&w, "GET", "/none", 500, false, 0);
    world_run(&w, 15 * 1000);
    CHECK_INT(count.reads, 1);
    CHECK_INT(days_left(&w, "c-head-tls", "a.example.com"), TLS_ISSUED_DAYS - 1);
    CHECK(told(&w, "is valid until") && !told(&w, "no longer asks"));
    check_fixed_point(&w);
    w.hooks = NULL;
    world_free(&w);
}

static void test_failing_ca(void)
{
    struct world w;
    struct counter count = {.hooks = {.arrived = on_arrived}};
    open_world(&w, ROUTE_CA_OWN, "");
    create(&w, "\"host\":\"*.i.example.com\"");
    world_run(&w, 10 * 1000);
    w.hooks = &count.hooks;
    test_case("a CA that cannot be read for a while: the one that was read before is used, and no Secret is read more often");
    override(&w, "GET", own_ca, 500, false, UINT32_MAX);
    count.reads = count.writes = 0;
    for (int i = 0; i < 10; i++) {
        world_run(&w, ROUTE_TLS_LOOK_MS);
        CHECK(told(&w, "is valid until"));
    }
    CHECK_INT(world_call(&w, "DELETE", one, "application/json", SLICE("{}")), 200);
    world_run(&w, 2 * ROUTE_TLS_LOOK_MS);
    CHECK_INT(days_left(&w, "c-head-tls", "x.i.example.com"), TLS_ISSUED_DAYS - 1);
    override(&w, "GET", "/none", 500, false, 0);
    world_run(&w, 7 * ROUTE_TLS_LOOK_MS);
    CHECK(count.reads <= 25 && count.writes == 1);
    test_case("a CA that is to be renewed, and a server that refuses that: it is used, and tried again with a back-off");
    override(&w, "PUT", own_ca, 403, false, 1000);
    count.reads = 0;
    w.now.wall_us += (TLS_CA_DAYS - TLS_CA_RENEW_DAYS + 1) * TIME_DAY_US;
    world_run(&w, 10 * ROUTE_TLS_LOOK_MS);
    CHECK(told(&w, "is valid until") && count.reads <= 15);
    CHECK(apiserver_faults(w.server)->next.times > 985 && apiserver_faults(w.server)->next.times < 1000);
    override(&w, "GET", "/none", 500, false, 0);
    world_run(&w, 7 * ROUTE_TLS_LOOK_MS);
    CHECK_INT(days_left(&w, ROUTE_CA_OWN, "x"), TLS_CA_DAYS);
    world_free(&w);
}

/* A CA of an admin that ends after so many days. */
static void put_ca(struct world *w, const char *name, int64_t days)
{
    struct tls_issue how = {.not_before_us = w->now.wall_us - TIME_DAY_US, .not_after_us = w->now.wall_us + days * TIME_DAY_US};
    struct buf cert, key, body;
    struct err e = {0};
    struct jout out;
    buf_init(&cert, 64 * KIB);
    buf_init(&key, 64 * KIB);
    buf_init(&body, 64 * KIB);
    CHECK(tls_issue(&how, &cert, &key, &e));
    struct slice c = buf_slice(&cert), k = buf_slice(&key);
    jout_init(&out, &body);
    jout_form(&out, "{apiVersion:'v1',kind:'Secret',metadata:{name:'%s'},stringData:{%s:'%.*s',%s:'%.*s'}}", name, "tls.crt", SLICE_ARG(c),
              "tls.key", SLICE_ARG(k));
    CHECK_INT(world_call(w, "POST", secrets, "application/json", buf_slice(&body)), 201);
    buf_free(&cert);
    buf_free(&key);
    buf_free(&body);
}

static void test_ca(void)
{
    struct world w;
    test_case("a CA of the admin is awaited; one that ends soon limits the certificate, which is not renewed again and again");
    open_world(&w, "corp", "");
    create(&w, "\"host\":\"a.example.com\"");
    world_run(&w, 30 * 1000);
    CHECK(told(&w, "the CA in Secret corp of namespace n (--route-ca): it does not exist") && !json_there(secret(&w, "corp")));
    put_ca(&w, "corp", 1);
    world_run(&w, 6 * ROUTE_TLS_LOOK_MS);
    CHECK_INT(days_left(&w, "c-head-tls", "a.example.com"), 1);
    check_fixed_point(&w);
    struct slice first = text_of(&w, "c-head-tls", "tls.key");
    world_run(&w, 10 * ROUTE_TLS_LOOK_MS);
    CHECK(slice_eq(text_of(&w, "c-head-tls", "tls.key"), first));
    test_case("its end: the condition says so");
    pass(&w, 2);
    world_run(&w, 6 * ROUTE_TLS_LOOK_MS);
    CHECK(told(&w, "the CA in Secret corp of namespace n (--route-ca): certificate 1 of the chain is valid only until"));
    world_free(&w);
    test_case("a CA that an admin has put under the operator's own name is used, and never renewed");
    open_world(&w, "corp", ""); /* until the Secret is there */
    put_ca(&w, ROUTE_CA_OWN, 30);
    struct slice given = text_of(&w, ROUTE_CA_OWN, "tls.crt");
    world_kill_operator(&w);
    start_operator(&w, ROUTE_CA_OWN, "");
    create(&w, "\"host\":\"a.example.com\"");
    world_run(&w, 3 * ROUTE_TLS_LOOK_MS);
    CHECK(slice_ends(text_of(&w, "c-head-tls", "tls.crt"), given) && slice_eq(text_of(&w, ROUTE_CA_OWN, "tls.crt"), given));
    world_free(&w);
}

int main(void)
{
    test_life();
    test_hosts();
    test_unfit_hosts();
    test_broken();
    test_unsent();
    test_failing_ca();
    test_ca();
    return test_done();
}
