#include "../test.h"

#include <mobula/net.h>

static const struct {
    const char *host;
    uint16_t port;
    const char *setting;
} list[] = {
    {"10.96.0.1", 443, "--kubeconfig"},
    {"cp.example.com", 443, "--control-plane"},
    {"*.ray.svc.cluster.local", 6379, "--namespace"},
    {"192.168.0.0/16", 8080, "--extra"},
    {"2001:db8::1", 0, "--extra"},
};

static const struct {
    const char *host;
    uint16_t port;
    const char *refusal; /* NULL: allowed */
} cases[] = {
    {"10.96.0.1", 443, NULL},
    {"::ffff:10.96.0.1", 443, NULL},
    {"CP.Example.Com", 443, NULL},
    {"a-head-svc.ray.svc.cluster.local", 6379, NULL},
    {"192.168.255.1", 8080, NULL},
    {"2001:db8:0::1", 9, NULL},
    {"10.96.0.1", 6443, "10.96.0.1:6443 is not on the egress allowlist: --kubeconfig allows port 443 there, not 6443"},
    {"10.96.0.2", 443,
     "10.96.0.2:443 is not on the egress allowlist, which is made of --kubeconfig, --control-plane, --namespace, --extra"},
    {"x.cp.example.com", 443,
     "x.cp.example.com:443 is not on the egress allowlist, which is made of --kubeconfig, --control-plane, --namespace, --extra"},
    {"cp.example.com.", 443,
     "cp.example.com.:443 is not on the egress allowlist, which is made of --kubeconfig, --control-plane, --namespace, --extra"},
    {"ray.svc.cluster.local", 6379,
     "ray.svc.cluster.local:6379 is not on the egress allowlist, which is made of --kubeconfig, --control-plane, --namespace, --extra"},
    {"a.b.ray.svc.cluster.local", 6379,
     "a.b.ray.svc.cluster.local:6379 is not on the egress allowlist, which is made of --kubeconfig, --control-plane, --namespace, "
     "--extra"},
    {".ray.svc.cluster.local", 6379,
     ".ray.svc.cluster.local:6379 is not on the egress allowlist, which is made of --kubeconfig, --control-plane, --namespace, --extra"},
    {"192.169.0.1", 8080,
     "192.169.0.1:8080 is not on the egress allowlist, which is made of --kubeconfig, --control-plane, --namespace, --extra"},
};

static void test_list(void)
{
    struct net_allow *a = net_allow_new();
    struct err e = {0};
    test_case("an empty list");
    CHECK(!net_allow_check(a, SLICE("10.96.0.1"), 443, &e));
    CHECK_INT(e.code, ERR_DENIED);
    CHECK_STR(slice_of(e.text), "10.96.0.1:443 is not on the egress allowlist, which is empty");
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        e = (struct err){0};
        CHECK(net_allow_add(a, guarded(slice_of(list[i].host)), list[i].port, list[i].setting, &e));
    }
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s:%u", cases[i].host, cases[i].port);
        e = (struct err){0};
        CHECK_INT(net_allow_check(a, guarded(slice_of(cases[i].host)), cases[i].port, &e), cases[i].refusal == NULL);
        CHECK_INT(e.code, cases[i].refusal ? ERR_DENIED : ERR_NONE);
        CHECK_STR(slice_of(e.text), cases[i].refusal ? cases[i].refusal : "");
    }
    net_allow_free(a);
}

static void test_peers(void)
{
    static const char *const refused[] = {"",          "head.example.com", "0.0.0.0",         "127.0.0.1", "169.254.169.254",
                                          "224.0.0.1", "255.255.255.255",  "10.0.0.0/8",      "::",        "::1",
                                          "fe80::1",   "ff02::1",          "::ffff:127.0.0.1"};
    static const char *const taken[] = {"10.0.0.7", "192.0.2.1", "169.253.0.1", "fd00::7", "2001:db8::7", "::ffff:10.0.0.8"};
    struct net_allow *a = net_allow_new();
    struct err e;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        test_case("peer \"%s\" is refused", refused[i]);
        e = (struct err){0};
        CHECK(!net_allow_peer(a, guarded(slice_of(refused[i])), 6379, &e));
        CHECK_INT(e.code, ERR_DENIED);
    }
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        test_case("peer %s", taken[i]);
        struct slice ip = guarded(slice_of(taken[i]));
        CHECK(net_allow_peer(a, ip, 6379, &e) && net_allow_peer(a, ip, 6379, &e));
        CHECK(net_allow_check(a, ip, 6379, &e));
        CHECK(!net_allow_check(a, ip, 8265, &e));
        net_allow_drop_peer(a, ip, 6379);
        CHECK(net_allow_check(a, ip, 6379, &e)); /* the other user is there */
        net_allow_drop_peer(a, ip, 6379);
        CHECK(!net_allow_check(a, ip, 6379, &e));
        net_allow_drop_peer(a, ip, 6379); /* one too many changes nothing */
    }
    test_case("no port");
    CHECK(!net_allow_peer(a, SLICE("10.0.0.7"), 0, &e));
    net_allow_free(a);
}

static void test_peers_limit(void)
{
    struct net_allow *a = net_allow_new();
    struct err e = {0};
    char ip[32];
    test_case("peers at the limit");
    bool all = true;
    for (int i = 0; i < LIMIT_NET_PEERS; i++) {
        snprintf(ip, sizeof ip, "10.1.%d.%d", i / 256, i % 256);
        all &= net_allow_peer(a, slice_of(ip), 6379, &e);
    }
    CHECK(all);
    CHECK(net_allow_peer(a, slice_of(ip), 6379, &e)); /* one that is there already */
    CHECK(!net_allow_peer(a, SLICE("10.2.0.1"), 6379, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    net_allow_drop_peer(a, SLICE("10.1.0.0"), 6379);
    CHECK(net_allow_peer(a, SLICE("10.2.0.1"), 6379, &e));
    net_allow_free(a);
}

static void test_malformed(void)
{
    static const char *const hosts[] = {"", "*", "*.", "a.*.b", "**.a", "https://a", "a:443", "10.0.0.0/40", "[::1]", "a b", "127.1"};
    struct net_allow *a = net_allow_new();
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        test_case("add \"%s\"", hosts[i]);
        struct err e = {0};
        CHECK(!net_allow_add(a, guarded(slice_of(hosts[i])), 443, "--extra", &e));
        CHECK_INT(e.code, ERR_CONFIG);
        CHECK(slice_starts(slice_of(e.text), SLICE("--extra: ")));
    }
    net_allow_free(a);
}

static void test_limit(void)
{
    struct net_allow *a = net_allow_new();
    char name[32];
    struct err e = {0};
    test_case("LIMIT_NET_ALLOW entries");
    for (int i = 0; i < LIMIT_NET_ALLOW; i++) {
        snprintf(name, sizeof name, "h%d.example", i);
        CHECK(net_allow_add(a, slice_of(name), 443, "--extra", &e));
    }
    test_case("the same again is no new entry");
    CHECK(net_allow_add(a, SLICE("H0.example"), 443, "--other", &e));
    test_case("one more");
    CHECK(!net_allow_add(a, SLICE("h0.example"), 444, "--extra", &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_STR(slice_of(e.text), "--extra: \"h0.example\" does not fit in the egress allowlist: LIMIT_NET_ALLOW is 64");
    net_allow_free(a);
    net_allow_free(NULL);
}

int main(void)
{
    test_list();
    test_peers();
    test_peers_limit();
    test_malformed();
    test_limit();
    return test_done();
}
