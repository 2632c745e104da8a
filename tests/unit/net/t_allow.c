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
    {"registry-*.cp.example.com", 443, "--extra"},
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
    {"registry-cld-1.cp.example.com", 443, NULL},
    {"registry-cld-1.cp.example.com", 80,
     "registry-cld-1.cp.example.com:80 is not on the egress allowlist: --extra allows port 443 there, not 80"},
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
    test_case("what adds to it");
    e = (struct err){0};
    net_allow_remedy(a, "--extra");
    CHECK(!net_allow_check(a, SLICE("evil.org"), 443, &e));
    CHECK_STR(slice_of(e.text), "evil.org:443 is not on the egress allowlist, which is made of --kubeconfig, --control-plane, --namespace, "
                                "--extra (--extra adds to it)");
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

/* What one wildcard holds and what it does not. */
static void test_wildcards(void)
{
    static const struct {
        const char *pattern, *host;
        bool held;
    } rows[] = {
        {"grafana-*.cp.dev", "grafana-cld-1.cp.dev", true},
        {"grafana-*.cp.dev", "GRAFANA-1.CP.Dev", true},
        {"Grafana-*.CP.dev", "grafana-1.cp.dev", true},
        {"grafana-*.cp.dev", "grafana-.cp.dev", false},
        {"grafana-*.cp.dev", "grafana.cp.dev", false},
        {"grafana-*.cp.dev", "grafana-a.b.cp.dev", false},
        {"grafana-*.cp.dev", "x-grafana-a.cp.dev", false},
        {"grafana-*.cp.dev", "grafana-a.cp.dev.evil.org", false},
        {"grafana-*.cp.dev", "grafana-a.xcp.dev", false},
        {"grafana-*.cp.dev", "grafana-*.cp.dev", false},
        {"*.cp.dev", "a_b.cp.dev", true},
        {"*.cp.dev", "a b.cp.dev", false},
        {"*.cp.dev", "a/b.cp.dev", false},
        {"*.cp.dev", "a@b.cp.dev", false},
        {"*.cp.dev", "cp.dev", false},
        {"*.cp.dev", "a.cp.dev.", false},
        {"*.0.0.x1", "10.0.0.1", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct net_allow *a = net_allow_new();
        struct err e = {0};
        test_case("%s and %s", rows[i].pattern, rows[i].host);
        CHECK(net_allow_add(a, guarded(slice_of(rows[i].pattern)), 443, "--extra", &e));
        CHECK_INT(net_allow_check(a, guarded(slice_of(rows[i].host)), 443, &e), rows[i].held);
        net_allow_free(a);
    }
    test_case("a NUL in the label");
    struct net_allow *a = net_allow_new();
    struct err e = {0};
    CHECK(net_allow_add(a, SLICE("*.cp.dev"), 443, "--extra", &e));
    CHECK(!net_allow_check(a, guarded(SLICE("evil.org\0.cp.dev")), 443, &e));
    CHECK(!net_allow_check(a, guarded(SLICE("a\0.cp.dev")), 443, &e));
    net_allow_free(a);
}

/* "HOST:PORT", and how it is spelt on the list. */
static void test_text(void)
{
    static const struct {
        const char *text;
        bool strict;
        const char *host; /* NULL: refused, and then what is said */
        int port;
        const char *error;
    } rows[] = {
        {"Console.Example.Com", false, "console.example.com", 443, NULL},
        {"console.example.com:8443", true, "console.example.com", 8443, NULL},
        {"*.example.com:1", false, "*.example.com", 1, NULL},
        {"registry-*.Example.com:65535", false, "registry-*.example.com", 65535, NULL},
        {"10.0.0.1", true, "10.0.0.1/32", 443, NULL},
        {"10.1.2.3/8:6443", true, "10.0.0.0/8", 6443, NULL},
        {"::ffff:10.0.0.1", false, "10.0.0.1/32", 443, NULL},
        {"2001:DB8::1", false, "2001:db8::1/128", 443, NULL},
        {"[2001:db8::1]", false, "2001:db8::1/128", 443, NULL},
        {"[2001:db8::1]:53", false, "2001:db8::1/128", 53, NULL},
        {"[2001:db8::1/32]:53", false, "2001:db8::/32", 53, NULL},
        {"0.0.0.0/0", false, "0.0.0.0/0", 443, NULL},
        {"::/0", false, "::/0", 443, NULL},
        {"*.example.com", true, NULL, 0,
         "--extra: \"*.example.com\" is a wildcard, which strict mode refuses: write one entry for each name"},
        {"a.example.com:0", false, NULL, 0, "--extra: \"a.example.com:0\": want HOST or HOST:PORT, and a port from 1 to 65535"},
        {"a.example.com:65536", false, NULL, 0, "--extra: \"a.example.com:65536\": want HOST or HOST:PORT, and a port from 1 to 65535"},
        {"a.example.com:", false, NULL, 0, "--extra: \"a.example.com:\": want HOST or HOST:PORT, and a port from 1 to 65535"},
        {"https://a.example.com", false, NULL, 0,
         "--extra: \"https://a.example.com\": want HOST or HOST:PORT, and a port from 1 to 65535; a host, without https:// and without a "
         "path"},
        {"", false, NULL, 0, "--extra: \"\" is not a host name, *.NAME, PREFIX*.NAME, IP address or CIDR"},
        {"[", false, NULL, 0, "--extra: \"[\" is not a host name, *.NAME, PREFIX*.NAME, IP address or CIDR"},
        {"[]:1", false, NULL, 0, "--extra: \"\" is not a host name, *.NAME, PREFIX*.NAME, IP address or CIDR"},
        {"*.com", false, NULL, 0, "--extra: \"*.com\" holds all of a top-level domain: want two labels or more behind the star"},
        {"a*b.example.com", false, NULL, 0,
         "--extra: \"a*b.example.com\" is not a wildcard: want *.NAME or PREFIX*.NAME, one star at the end of the first label"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct net_allow *a = net_allow_new();
        struct err e = {0};
        test_case("text \"%s\"", rows[i].text);
        CHECK_INT(net_allow_text(a, guarded(slice_of(rows[i].text)), rows[i].strict, "--extra", &e), rows[i].host != NULL);
        CHECK_STR(slice_of(e.text), rows[i].error ? rows[i].error : "");
        const struct net_rule *r = net_allow_first(a);
        if (CHECK((r != NULL) == (rows[i].host != NULL)) && r) {
            CHECK_STR(r->host, rows[i].host);
            CHECK_INT(r->port, rows[i].port);
            CHECK_INT(r->v6, r->kind == NET_NETWORK && slice_find(r->host, ':') >= 0);
        }
        net_allow_free(a);
    }
}

/* A pattern of LIMIT_NET_HOST bytes, and one byte more; a label of 63 and of 64. */
static void test_long_wildcards(void)
{
    char pattern[LIMIT_NET_HOST + 2];
    for (int label = 63; label <= 64; label++)
        for (size_t len = LIMIT_NET_HOST; len <= LIMIT_NET_HOST + 1; len++) {
            struct net_allow *a = net_allow_new();
            struct err e = {0};
            test_case("a wildcard of %zu bytes, its first label of %d", len, label);
            for (size_t i = 0; i < len; i++)
                pattern[i] = i == (size_t)label || (i > (size_t)label && i % 60 == 0) ? '.' : 'a';
            pattern[label - 1] = '*';
            CHECK_INT(net_allow_add(a, guarded((struct slice){pattern, len}), 443, "--extra", &e), len == LIMIT_NET_HOST && label == 63);
            net_allow_free(a);
        }
}

static void test_malformed(void)
{
    static const char *const hosts[] = {"",          "*",       "*.",    "a.*.b",   "**.a",      "https://a", "a:443", "10.0.0.0/40",
                                        "[::1]",     "a b",     "127.1", "*.com",   "a*b.c.dev", "a*",        "*a.b",  "*..b.c",
                                        "a.*.b.c.d", "*.b.*.d", "*.1.2", "a b*.c.d"};
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
    CHECK_STR(slice_of(e.text), "--extra: \"h0.example\" does not fit in the egress allowlist: LIMIT_NET_ALLOW is 256");
    net_allow_free(a);
    net_allow_free(NULL);
}

static void test_places(void)
{
    static const struct {
        const char *text, *host;
        int port; /* 0: malformed */
    } places[] = {{"a.example", "a.example", 443},
                  {"a.example:5000", "a.example", 5000},
                  {"10.0.0.1:1", "10.0.0.1", 1},
                  {"[fd00::1]", "fd00::1", 443},
                  {"[fd00::1]:65535", "fd00::1", 65535},
                  {"a.example:65536", "", 0},
                  {"a.example:x", "", 0},
                  {"a.example:0", "", 0},
                  {":443", "", 443}};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct slice host;
        uint16_t port = 0;
        test_case("a host with its port: %s", places[i].text);
        bool well = net_place(guarded(slice_of(places[i].text)), &host, &port);
        CHECK_INT(well, places[i].port != 0);
        CHECK_INT(well ? port : 0, places[i].port);
        if (well)
            CHECK_STR(host, places[i].host);
    }
}

static void test_urls(void)
{
    static const struct {
        const char *text, *host;
        uint16_t port; /* 0: refused */
        const char *authority, *rest;
    } urls[] = {
        {"https://a", "a", 443, "a", ""},
        {"http://a", "a", 80, "a", ""},
        {"http://a:443/b/c", "a", 443, "a:443", "b/c"},
        {"https://a:80/", "a", 80, "a:80", ""},
        {"http://[::1]", "::1", 80, "[::1]", ""},
        {"http://[::1]:81/", "::1", 81, "[::1]:81", ""},
        {"http://1:1001", "1", 1001, "1:1001", ""},
        {"http://a:0", "", 0, "", ""},
        {"http://a:b", "", 0, "", ""},
        {"ftp://a", "", 0, "", ""},
        {"a:80", "", 0, "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct endpoint at = {.port = 0};
        struct slice authority, rest;
        test_case("a URL: %s", urls[i].text);
        bool well = net_url(guarded(slice_of(urls[i].text)), &at, &authority, &rest);
        CHECK_INT(well, urls[i].port != 0);
        if (!well)
            continue;
        CHECK(at.tls == (strncmp(urls[i].text, "https:", 6) == 0));
        CHECK_STR(at.host, urls[i].host);
        CHECK_INT(at.port, urls[i].port);
        CHECK_STR(authority, urls[i].authority);
        CHECK_SLICE(rest, slice_of(urls[i].rest));
    }
}

int main(void)
{
    test_list();
    test_peers();
    test_peers_limit();
    test_wildcards();
    test_text();
    test_long_wildcards();
    test_malformed();
    test_limit();
    test_places();
    test_urls();
    return test_done();
}
