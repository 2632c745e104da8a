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
    test_malformed();
    test_limit();
    return test_done();
}
