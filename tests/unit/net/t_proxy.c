#include "../test.h"

#include <mobula/net.h>

/* What Go's httpproxy says of each (the first list is the one in its documentation's spirit: every kind of entry once). */
static const char list[] = "foobar.com, .barbaz.net, *.wildcard.io, 192.168.1.1, 192.168.1.2:81, 192.168.1.3:80, 10.0.0.0/30, "
                           "2001:db8::52:0:1, [2001:db8::52:0:2]:443, [2001:db8::52:0:3]:80, 2002:db8:a::45/64, ported.example:443";

static const struct {
    const char *no_proxy, *host;
    uint16_t port;
    bool use;
} rules[] = {
    {list, "localhost", 80, false},
    {list, "127.0.0.1", 80, false},
    {list, "127.0.0.2", 80, false},
    {list, "::1", 80, false},
    {list, "::2", 80, true},
    {list, "192.168.1.1", 80, false},
    {list, "::ffff:192.168.1.1", 80, false},
    {list, "192.168.1.2", 80, true},
    {list, "192.168.1.3", 80, false},
    {list, "192.168.1.4", 80, true},
    {list, "10.0.0.2", 80, false},
    {list, "10.0.0.4", 80, true},
    {list, "2001:db8::52:0:1", 80, false},
    {list, "2001:db8::52:0:2", 80, true},
    {list, "2001:db8::52:0:3", 80, false},
    {list, "2002:db8:a::123", 80, false},
    {list, "fe80::424b:c8be:1643:a1b6", 80, true},
    {list, "barbaz.net", 80, true},
    {list, "www.barbaz.net", 80, false},
    {list, "foobar.com", 80, false},
    {list, "FooBar.com", 80, false},
    {list, "www.foobar.com", 80, false},
    {list, "foofoobar.com", 80, true},
    {list, "baz.com", 80, true},
    {list, "localhost.net", 80, true},
    {list, "local.localhost", 80, true},
    {list, "wildcard.io", 80, true},
    {list, "nested.wildcard.io", 80, false},
    {list, "awildcard.io", 80, true},
    {list, "ported.example", 443, false},
    {list, "ported.example", 444, true},
    /* never proxied here, whatever the list */
    {"", "kubernetes.default.svc", 443, false},
    {"", "head.ray.svc.cluster.local", 6379, false},
    {"", "svc", 443, true},
    {"", "10.96.0.1", 443, false}, /* KUBERNETES_SERVICE_HOST in this test */
    {"", "10.96.0.2", 443, true},
    /* shapes of entries */
    {"*", "example.com", 443, false},
    {"*", "192.0.2.1", 443, false},
    {"x, * ,y", "example.com", 443, false},
    {"*.com", "com", 443, true},
    {"*com", "example.com", 443, true},
    {" example.com ", "example.com", 443, false},
    {"EXAMPLE.COM", "example.com", 443, false},
    {"example.com:", "example.com", 443, false},
    {"example.com:0443", "example.com", 443, true},
    {"example.com:https", "example.com", 443, true},
    {":443", "example.com", 443, true},
    {",,", "example.com", 443, true},
    {".", "example.com", 443, true},
    {"com", "example.com", 443, false},
    {"ample.com", "example.com", 443, true},
    {"http://example.com", "example.com", 443, true},
    {"[2001:db8::1]", "2001:db8::1", 443, true}, /* brackets without a port mean nothing to Go */
    {"2001:db8::1", "2001:db8::1", 443, false},
    {"2001:DB8:0::1", "2001:db8::1", 443, false},
    {"[example.com]:443", "example.com", 443, false},
    {".1", "192.0.2.1", 443, true}, /* a domain never holds an address */
    {"0.0.0.0/0", "192.0.2.1", 443, false},
    {"0.0.0.0/0", "example.com", 443, true}, /* networks hold only literal addresses: nothing is looked up */
    {"::/0", "192.0.2.1", 443, true},
    {"192.0.2.0/24:443", "192.0.2.1", 443, true},
    {"192.0.2.0", "192.0.2.1", 443, true},
    {"a]b:443", "b", 443, true},
    {"[a:443", "a", 443, true},
    {"[a]x:443", "a", 443, true},
};

static void test_rules(void)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        test_case("NO_PROXY=\"%s\" %s:%u", rules[i].no_proxy, rules[i].host, rules[i].port);
        struct arena a = {0};
        struct net_proxy p;
        struct err e = {0};
        bool use = !rules[i].use;
        const struct net_proxies from = {SLICE("proxy.example:3128"), guarded_n(1, slice_of(rules[i].no_proxy)), SLICE_NONE};
        CHECK(net_proxy_for(&from, guarded(slice_of(rules[i].host)), rules[i].port, &a, &p, &use, &e));
        CHECK_INT(use, rules[i].use);
        if (use)
            CHECK_STR(p.host, "proxy.example");
        arena_free(&a);
    }
}

static const struct {
    const char *url, *host;
    uint16_t port;
    const char *basic;
    const char *error; /* NULL: none */
} urls[] = {
    {"http://proxy.example:3128", "proxy.example", 3128, "", NULL},
    {"http://proxy.example:3128/", "proxy.example", 3128, "", NULL},
    {"HTTP://proxy.example", "proxy.example", 80, "", NULL},
    {"proxy.example", "proxy.example", 80, "", NULL},
    {"proxy", "proxy", 80, "", NULL},
    {"localhost:3128", "localhost", 3128, "", NULL},
    {"10.0.0.1:8080", "10.0.0.1", 8080, "", NULL},
    {"http://[2001:db8::1]:8080", "2001:db8::1", 8080, "", NULL},
    {"http://[2001:db8::1]", "2001:db8::1", 80, "", NULL},
    {"http://proxy.example:", "proxy.example", 80, "", NULL},
    {"http://u:p@proxy.example:1", "proxy.example", 1, "dTpw", NULL},
    {"u:p@proxy.example:1", "proxy.example", 1, "dTpw", NULL},
    {"http://u@proxy.example", "proxy.example", 80, "dTo=", NULL},
    {"http://me%40corp:p%3aw@proxy.example?x#y", "proxy.example", 80, "bWVAY29ycDpwOnc=", NULL},
    {"http://u:p@ss@proxy.example", "proxy.example", 80, "dTpwQHNz", NULL},
    {"https://proxy.example", "", 0, "", "HTTPS_PROXY names a proxy of scheme https://: only http:// proxies are supported"},
    {"socks5://proxy.example", "", 0, "", "HTTPS_PROXY names a proxy of scheme socks5://: only http:// proxies are supported"},
    {"user:secret://a@proxy.example:1", "", 0, "", "HTTPS_PROXY is not a proxy's address: want http://[USER:PASSWORD@]HOST[:PORT]"},
    {"http://", "", 0, "", "HTTPS_PROXY is not a proxy's address: want http://[USER:PASSWORD@]HOST[:PORT]"},
    {"http://proxy.example:99999", "", 0, "", "HTTPS_PROXY is not a proxy's address: want http://[USER:PASSWORD@]HOST[:PORT]"},
    {"http://proxy.example:0", "", 0, "", "HTTPS_PROXY is not a proxy's address: want http://[USER:PASSWORD@]HOST[:PORT]"},
    {"http://pro xy", "", 0, "", "HTTPS_PROXY is not a proxy's address: want http://[USER:PASSWORD@]HOST[:PORT]"},
    {"http://2001:db8::1", "", 0, "", "HTTPS_PROXY is not a proxy's address: want http://[USER:PASSWORD@]HOST[:PORT]"},
    {"http://[proxy]:1", "", 0, "", "HTTPS_PROXY is not a proxy's address: want http://[USER:PASSWORD@]HOST[:PORT]"},
    {"http://[", "", 0, "", "HTTPS_PROXY is not a proxy's address: want http://[USER:PASSWORD@]HOST[:PORT]"},
    {"http://u:%4@proxy.example", "", 0, "", "HTTPS_PROXY has a user or password that is malformed or too long: want percent-encoded text"},
};

static void test_urls(void)
{
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        test_case("HTTPS_PROXY=\"%s\"", urls[i].url);
        struct arena a = {0};
        struct net_proxy p = {0};
        struct err e = {0};
        bool use;
        bool ok =
            net_proxy_for(&(struct net_proxies){.https = guarded(slice_of(urls[i].url))}, SLICE("example.com"), 443, &a, &p, &use, &e);
        CHECK_INT(ok, urls[i].error == NULL);
        CHECK_INT(e.code, urls[i].error ? ERR_CONFIG : ERR_NONE);
        CHECK_STR(slice_of(e.text), urls[i].error ? urls[i].error : "");
        if (ok) {
            CHECK(use);
            CHECK_STR(p.host, urls[i].host);
            CHECK_INT(p.port, urls[i].port);
            CHECK_STR(p.basic, urls[i].basic);
        }
        arena_free(&a);
    }
}

static void test_none(void)
{
    struct arena a = {0};
    struct net_proxy p;
    struct err e = {0};
    bool use = true;
    test_case("no proxy at all");
    CHECK(net_proxy_for(&(struct net_proxies){.https = SLICE_NONE}, SLICE("example.com"), 443, &a, &p, &use, &e));
    CHECK(!use);
    test_case("a proxy that cannot work, for a host that does not need it");
    use = true;
    CHECK(net_proxy_for(&(struct net_proxies){.https = SLICE("socks5://x"), .none = SLICE("example.com")}, SLICE("example.com"), 443, &a,
                        &p, &use, &e));
    CHECK(!use);
    arena_free(&a);
}

/* MOBULA_PROXIES, beside HTTPS_PROXY=http://usual:1 and NO_PROXY=.inside. */
static const struct {
    const char *table, *host;
    uint16_t port;
    const char *proxy; /* NULL: direct */
    const char *error;
} tables[] = {
    {"", "a.example", 443, "usual", NULL},
    {"b.example=http://p:2", "a.example", 443, "usual", NULL},
    {"a.example=http://p:2", "a.example", 443, "p", NULL},
    {"a.example=p:2", "x.A.example", 443, "p", NULL},
    {"a.example:8443=http://p:2", "a.example", 443, "usual", NULL},
    {"a.example:443=http://p:2", "a.example", 443, "p", NULL},
    {"a.example=direct", "a.example", 443, NULL, NULL},
    {" .example=http://u:p@p:2 , 10.0.0.0/8=http://q:3", "10.9.8.7", 6443, "q", NULL},
    {"a.example=direct,*=http://p:2", "a.example", 443, NULL, NULL},
    {"a.example=direct,*=http://p:2", "b.example", 443, "p", NULL},
    {"*=http://p:2,a.example=direct", "a.example", 443, "p", NULL},
    /* what is never proxied, or is an exception: an entry of its own says otherwise */
    {"10.96.0.1=http://p:2", "10.96.0.1", 443, "p", NULL},
    {"b.example=http://p:2", "10.96.0.1", 443, NULL, NULL},
    {"b.example=http://p:2", "c.inside", 443, NULL, NULL},
    {"c.inside=http://p:2", "c.inside", 443, "p", NULL},
    {"a.example=socks5://p", "a.example", 443, NULL,
     "a URL of MOBULA_PROXIES names a proxy of scheme socks5://: only http:// proxies are "
     "supported"},
    {"a.example=socks5://p", "b.example", 443, "usual", NULL},
    {"a.example", "b.example", 443, NULL,
     "MOBULA_PROXIES: want ENTRY=URL or ENTRY=direct, joined by commas; entries are those of NO_PROXY"},
    {"a.example=", "b.example", 443, NULL,
     "MOBULA_PROXIES: want ENTRY=URL or ENTRY=direct, joined by commas; entries are those of NO_PROXY"},
    {"=http://p:2", "b.example", 443, NULL,
     "MOBULA_PROXIES: want ENTRY=URL or ENTRY=direct, joined by commas; entries are those of NO_PROXY"},
};

static void test_table(void)
{
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        test_case("MOBULA_PROXIES=\"%s\" %s", tables[i].table, tables[i].host);
        struct arena a = {0};
        struct net_proxy p = {0};
        struct err e = {0};
        bool use = true;
        const struct net_proxies from = {SLICE("http://usual:1"), SLICE(".inside"), guarded(slice_of(tables[i].table))};
        CHECK_INT(net_proxy_for(&from, slice_of(tables[i].host), tables[i].port, &a, &p, &use, &e), tables[i].error == NULL);
        CHECK_STR(slice_of(e.text), tables[i].error ? tables[i].error : "");
        if (!tables[i].error)
            CHECK_INT(use, tables[i].proxy != NULL);
        if (tables[i].proxy)
            CHECK_STR(p.host, tables[i].proxy);
        arena_free(&a);
    }
    test_case("of the environment");
    setenv("https_proxy", "small", 1);
    setenv("NO_PROXY", "", 1);
    setenv("no_proxy", "none", 1);
    setenv("MOBULA_PROXIES", "a=direct", 1);
    struct net_proxies from = net_proxies_environment();
    CHECK_STR(from.https, "small");
    CHECK_STR(from.none, "none");
    CHECK_STR(from.table, "a=direct");
}

int main(void)
{
    setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1);
    test_rules();
    test_urls();
    test_none();
    test_table();
    return test_done();
}
