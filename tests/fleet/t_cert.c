/* The certificate that the control plane makes for itself, against the model API server, with a clock that is set forward. */
#include "hubworld.h"

#include "tests/unit/tls/pki.h"
#include "tests/unit/tls/wire.h"

static const struct slice names[] = {SLICE("localhost"), SLICE("hub.n.svc"), SLICE("10.1.2.3")};
static const struct hub_cert options = {
    .ns = SLICE("n"), .secret = SLICE("tls"), .ca_secret = SLICE("tls-ca"), .names = names, .name_count = COUNT_OF(names)};

static struct jval live_object(struct hubworld *h, const char *plural, const char *name)
{
    struct json *doc = arena_new(&h->w.arena, struct json);
    struct slice body;
    struct err e = {0};
    int status = world_ask(&h->w, "GET", arena_printf(&h->w.arena, "/api/v1/namespaces/n/%s/%s", plural, name).ptr, "", SLICE_NONE, &body);
    if (status != 200 || !json_parse(doc, body, &h->w.arena, &e))
        return (struct jval){.at = -1};
    return json_root(doc);
}

static struct slice secret_text(struct hubworld *h, const char *name, const char *key)
{
    struct buf b;
    buf_init(&b, MIB);
    base64_decode(json_str(json_child(json_get(live_object(h, "secrets", name), "data"), key), &h->w.arena), &b, NULL);
    struct slice out = arena_dup(&h->w.arena, buf_slice(&b));
    buf_free(&b);
    return out;
}

static struct slice public_text(struct hubworld *h)
{
    return json_str(json_child(json_get(live_object(h, "configmaps", HUB_CA_CONFIGMAP), "data"), "ca.crt"), &h->w.arena);
}

static int64_t wall(struct hubworld *h)
{
    return world_process_now(&h->w.process[1]).wall_us;
}

static void begin(struct hubworld *h)
{
    start(h);
    hub_down(h);
    h->cert = options;
    hub_up(h);
    run(h, 3000);
}

static void test_made(void)
{
    struct hubworld h;
    test_case("a certificate is made where there is none");
    begin(&h);
    struct slice ca = secret_text(&h, "tls-ca", "ca.crt"), first = secret_text(&h, "tls", "tls.crt");
    CHECK(first.len && ca.len && secret_text(&h, "tls-ca", "ca.key").len);
    CHECK(slice_eq(ca, secret_text(&h, "tls", "ca.crt")) && slice_eq(ca, public_text(&h)));
    CHECK_STR(json_get_str(live_object(&h, "secrets", "tls"), "type", &h.w.arena), "kubernetes.io/tls");
    CHECK(slice_empty(secret_text(&h, "tls", "ca.key")));
    CHECK(trusts(ca, "hub.n.svc", wall(&h), *hub_identity(h.hub)) && trusts(ca, "10.1.2.3", wall(&h), *hub_identity(h.hub)));
    test_case("and stays for 58 days");
    uint64_t before = apiserver_revision(h.w.server);
    h.w.process[1].skew_us = 58 * TIME_DAY_US;
    run(&h, 120 * 1000);
    CHECK_INT(apiserver_revision(h.w.server), before);
    test_case("then there is another one by the same CA");
    h.w.process[1].skew_us = 61 * TIME_DAY_US;
    run(&h, 61 * 1000);
    struct slice second = secret_text(&h, "tls", "tls.crt");
    CHECK(second.len && !slice_eq(first, second) && slice_eq(ca, secret_text(&h, "tls", "ca.crt")));
    CHECK(trusts(ca, "hub.n.svc", wall(&h), *hub_identity(h.hub)));
    test_case("what has become unreadable is written again, and a public part that somebody has changed");
    struct slice answer;
    world_ask(&h.w, "PATCH", "/api/v1/namespaces/n/secrets/tls", "application/merge-patch+json", SLICE("{\"data\":{\"tls.crt\":\"\"}}"),
              &answer);
    world_ask(&h.w, "PATCH", "/api/v1/namespaces/n/configmaps/" HUB_CA_CONFIGMAP, "application/merge-patch+json",
              SLICE("{\"data\":{\"ca.crt\":\"x\"}}"), &answer);
    run(&h, 65 * 1000);
    CHECK(secret_text(&h, "tls", "tls.crt").len && slice_eq(ca, public_text(&h)));
    test_case("the CA is renewed after nine years, and who knows the one before knows the next");
    h.w.process[1].skew_us = 9 * 366 * TIME_DAY_US;
    run(&h, 125 * 1000);
    struct slice renewed = public_text(&h);
    CHECK(renewed.len > ca.len && slice_ends(renewed, ca) && slice_eq(renewed, secret_text(&h, "tls", "ca.crt")));
    CHECK(trusts(ca, "hub.n.svc", wall(&h), *hub_identity(h.hub)) && trusts(renewed, "hub.n.svc", wall(&h), *hub_identity(h.hub)));
    finish(&h);
}

static void test_another_name(void)
{
    struct hubworld h;
    static const struct slice more[] = {SLICE("localhost"), SLICE("hub.example")};
    test_case("another name asks for another certificate");
    begin(&h);
    hub_down(&h);
    h.cert.names = more;
    h.cert.name_count = COUNT_OF(more);
    hub_up(&h);
    run(&h, 3000);
    CHECK(trusts(public_text(&h), "hub.example", wall(&h), *hub_identity(h.hub)));
    finish(&h);
}

static void put_text(struct hubworld *h, const char *name, const char *cert_key, struct slice cert, const char *key_key, struct slice key)
{
    __attribute__((cleanup(buf_free))) struct buf body = {.max = MIB};
    struct slice answer;
    struct jout w;
    jout_init(&w, &body);
    jout_form(&w, "{apiVersion:'v1',kind:'Secret',type:'%s',metadata:{name:'%s'},stringData:{%s:'%.*s',%s:'%.*s'}}",
              strcmp(cert_key, "tls.crt") == 0 ? "kubernetes.io/tls" : "Opaque", name, cert_key, SLICE_ARG(cert), key_key, SLICE_ARG(key));
    CHECK_INT(world_ask(&h->w, "POST", "/api/v1/namespaces/n/secrets", "application/json", buf_slice(&body), &answer), 201);
}

/* A Secret with a CA's certificate and key that somebody else has made; it ends in so many days. Returns the certificate. */
static struct slice put_secret(struct hubworld *h, const char *name, const char *cert_key, const char *key_key, int64_t days)
{
    __attribute__((cleanup(buf_free))) struct buf cert = {.max = MIB}, key = {.max = MIB};
    struct err e = {0};
    CHECK(tls_issue(&(struct tls_issue){.not_before_us = wall(h) - TIME_DAY_US, .not_after_us = wall(h) + days * TIME_DAY_US}, &cert, &key,
                    &e));
    put_text(h, name, cert_key, buf_slice(&cert), key_key, buf_slice(&key));
    return arena_dup(&h->w.arena, buf_slice(&cert));
}

static void test_theirs(void)
{
    struct hubworld h;
    test_case("a Secret of somebody else's making is used, and stays as it is");
    start(&h);
    hub_down(&h);
    struct slice text = put_secret(&h, "tls", "tls.crt", "tls.key", 1);
    uint64_t before = apiserver_revision(h.w.server);
    h.cert = options;
    hub_up(&h);
    run(&h, 65 * 1000);
    CHECK(*hub_identity(h.hub) && apiserver_revision(h.w.server) == before);
    CHECK(slice_eq(secret_text(&h, "tls", "tls.crt"), text));
    finish(&h);
    test_case("a CA of somebody else's making signs, and stays as it is, also near its end");
    start(&h);
    hub_down(&h);
    text = put_secret(&h, "tls-ca", "ca.crt", "ca.key", TLS_CA_RENEW_DAYS - 1);
    h.cert = options;
    hub_up(&h);
    run(&h, 65 * 1000);
    CHECK(slice_eq(secret_text(&h, "tls-ca", "ca.crt"), text) && slice_eq(public_text(&h), text));
    CHECK(trusts(text, "hub.n.svc", wall(&h), *hub_identity(h.hub)));
    finish(&h);
}

/* Names with a wildcard among them, which no certificate has as a host. */
static void test_intermediate(void)
{
    struct hubworld h;
    static const struct slice wild[] = {SLICE("hub.n.svc"), SLICE("*.hub.example")};
    test_case("a given intermediate CA: one certificate, with its chain, which clients take that know only the root");
    start(&h);
    hub_down(&h);
    h.w.process[1].skew_us = clock_now().wall_us + 60 * 60 * INT64_C(1000000) - wall(&h); /* the files were made just now */
    struct slice root = pki_file("ca.pem", &h.w.arena);
    struct slice chain = arena_printf(&h.w.arena, "%.*s%.*s", SLICE_ARG(pki_file("inter.pem", &h.w.arena)), SLICE_ARG(root));
    put_text(&h, "tls-ca", "ca.crt", chain, "ca.key", pki_file("inter.key", &h.w.arena));
    h.cert = options;
    h.cert.names = wild;
    h.cert.name_count = COUNT_OF(wild);
    hub_up(&h);
    run(&h, 3000);
    struct slice first = secret_text(&h, "tls", "tls.crt");
    CHECK(slice_ends(first, chain) && slice_eq(public_text(&h), chain));
    CHECK(trusts(root, "hub.n.svc", wall(&h), *hub_identity(h.hub)) && trusts(root, "a.hub.example", wall(&h), *hub_identity(h.hub)));
    uint64_t before = apiserver_revision(h.w.server);
    run(&h, 180 * 1000);
    CHECK_INT(apiserver_revision(h.w.server), before);
    CHECK(slice_eq(secret_text(&h, "tls", "tls.crt"), first));
    finish(&h);
    test_case("a given CA that has ended signs nothing, and /readyz says so");
    start(&h);
    hub_down(&h);
    put_secret(&h, "tls-ca", "ca.crt", "ca.key", -1);
    h.cert = options;
    hub_up(&h);
    run(&h, 12 * 1000);
    struct buf why = {.max = KIB};
    CHECK(!*hub_identity(h.hub) && !hub_ready(h.hub, &why));
    CHECK(slice_has(buf_slice(&why), "Secret tls-ca, which holds the CA: certificate 1 of the chain is valid only until"));
    buf_free(&why);
    finish(&h);
}

/* Two replicas that start at once, step by step in turn. */
static void test_race(void)
{
    struct hubworld h;
    struct err e = {0};
    static const struct slice namespaces[] = {SLICE("n")};
    test_case("two replicas that start at once have one CA and one certificate");
    start(&h);
    hub_down(&h);
    h.cert = options;
    hub_up(&h);
    struct kube_config *config = kube_config_load(&(struct kube_config_options){.kubeconfig = h.w.kubeconfig}, &e);
    struct hub *other =
        hub_new(&h.w.process[0].net, config,
                &(struct hub_options){.namespaces = namespaces, .namespace_count = 1, .replica = SLICE("hub-2"), .cert = options}, &e);
    int64_t until = h.w.now.mono_ms + 5000;
    struct hub *both[] = {other, h.hub};
    while (h.w.now.mono_ms < until) {
        int64_t next = until;
        for (int i = 0; i < 2; i++) {
            struct now now = world_process_now(&h.w.process[i]);
            while (net_dispatch(&h.w.process[i].net, now))
                ;
            int64_t due = hub_step(both[i], now);
            next = due < next ? due : next;
        }
        world_step(&h.w, next);
    }
    struct tls_leaf leaf[2];
    CHECK(*hub_identity(h.hub) && *hub_identity(other));
    CHECK(tls_identity_leaf(*hub_identity(h.hub), SLICE("hub.n.svc"), &leaf[0]) &&
          tls_identity_leaf(*hub_identity(other), SLICE("hub.n.svc"), &leaf[1]));
    CHECK(trusts(public_text(&h), "hub.n.svc", wall(&h), *hub_identity(h.hub)) &&
          trusts(public_text(&h), "hub.n.svc", wall(&h), *hub_identity(other)));
    CHECK_STR(slice_of(leaf[0].issuer), leaf[1].issuer);
    CHECK(leaf[0].issuer[0]);
    hub_free(other);
    kube_config_free(config);
    finish(&h);
}

int main(void)
{
    test_made();
    test_another_name();
    test_theirs();
    test_intermediate();
    test_race();
    return test_done();
}
