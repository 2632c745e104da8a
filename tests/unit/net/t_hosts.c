#include "../test.h"

#include "src/net/host.h"
#include "src/net/resolve.h"

static void test_ip(void)
{
    static const struct {
        const char *text;
        bool ok, v4, loopback;
    } cases[] = {
        {"10.0.0.1", true, true, false},
        {"127.0.0.1", true, true, true},
        {"127.255.0.9", true, true, true},
        {"::1", true, false, true},
        {"::2", true, false, false},
        {"::ffff:10.0.0.1", true, true, false},
        {"::ffff:127.0.0.1", true, true, true},
        {"2001:db8::52:0:1", true, false, false},
        {"FE80::A", true, false, false},
        {"", false, false, false},
        {"10.0.0", false, false, false},
        {"10.0.0.256", false, false, false},
        {"010.0.0.1", false, false, false},
        {"10.0.0.1.", false, false, false},
        {"0x7f.0.0.1", false, false, false},
        {"[::1]", false, false, false},
        {"fe80::1%eth0", false, false, false},
        {"1:2:3:4:5:6:7:8:9", false, false, false},
        {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555", false, false, false},
        {"localhost", false, false, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("ip %s", cases[i].text);
        struct ip ip;
        CHECK_INT(ip_parse(guarded(slice_of(cases[i].text)), &ip), cases[i].ok);
        if (cases[i].ok) {
            CHECK_INT(ip_is_v4(&ip), cases[i].v4);
            CHECK_INT(ip_is_loopback(&ip), cases[i].loopback);
        }
    }
    struct ip ip;
    test_case("ip with a NUL");
    CHECK(!ip_parse((struct slice){"10.0.0.1\0x", 10}, &ip));
}

static void test_cidr(void)
{
    static const struct {
        const char *cidr, *ip;
        int holds; /* -1: not a CIDR */
    } cases[] = {
        {"10.0.0.0/8", "10.255.0.1", 1},
        {"10.0.0.0/8", "11.0.0.1", 0},
        {"10.9.9.9/8", "10.0.0.1", 1},
        {"10.0.0.0/30", "10.0.0.3", 1},
        {"10.0.0.0/30", "10.0.0.4", 0},
        {"0.0.0.0/0", "203.0.113.7", 1},
        {"0.0.0.0/0", "::1", 0},
        {"::/0", "10.0.0.1", 0},
        {"::/0", "2001:db8::1", 1},
        {"::ffff:10.0.0.0/104", "10.1.2.3", 1},
        {"::ffff:10.0.0.0/104", "11.1.2.3", 0},
        {"10.0.0.0/8", "::ffff:10.1.2.3", 1},
        {"2002:db8:a::45/64", "2002:db8:a::123", 1},
        {"2002:db8:a::45/64", "2002:db8:a:1::123", 0},
        {"10.0.0.1/32", "10.0.0.1", 1},
        {"10.0.0.1/32", "10.0.0.0", 0},
        {"::1/128", "::1", 1},
        {"10.0.0.0/08", "10.0.0.1", 1}, /* as Go reads it */
        {"10.0.0.0/33", "10.0.0.1", -1},
        {"::/129", "::1", -1},
        {"10.0.0.0/", "10.0.0.1", -1},
        {"10.0.0.0/-1", "10.0.0.1", -1},
        {"10.0.0.0/8/8", "10.0.0.1", -1},
        {"10.0.0.0", "10.0.0.1", -1},
        {"/8", "10.0.0.1", -1},
        {"host/8", "10.0.0.1", -1},
        {"10.0.0.0/99999999999999999999", "10.0.0.1", -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("%s has %s", cases[i].cidr, cases[i].ip);
        struct cidr c;
        struct ip ip;
        CHECK(ip_parse(slice_of(cases[i].ip), &ip));
        bool ok = cidr_parse(guarded(slice_of(cases[i].cidr)), &c);
        CHECK_INT(ok ? cidr_has(&c, &ip) : -1, cases[i].holds);
    }
}

static void test_names(void)
{
    static const struct {
        const char *name;
        bool ok;
    } cases[] = {
        {"localhost", true}, {"a.b.c", true},     {"A-1.example", true}, {"x_y.example", true}, {"1.example", true}, {"4me", true},
        {"", false},         {".", false},        {"a.", false},         {".a", false},         {"a..b", false},     {"a b", false},
        {"a/b", false},      {"a:1", false},      {"127.1", false},      {"2130706433", false}, {"a.1", false},      {"a@b", false},
        {"*.a", false},      {"\xc3\xa9", false}, {"a\r\nb", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("name %s", cases[i].name);
        CHECK_INT(host_is_name(guarded(slice_of(cases[i].name))), cases[i].ok);
    }
    char long_name[LIMIT_NET_HOST + 2];
    memset(long_name, 'a', sizeof long_name);
    for (size_t i = 50; i < sizeof long_name - 1; i += 50)
        long_name[i] = '.';
    test_case("name at and past LIMIT_NET_HOST");
    CHECK(host_is_name(guarded((struct slice){long_name, LIMIT_NET_HOST})));
    CHECK(!host_is_name(guarded((struct slice){long_name, LIMIT_NET_HOST + 1})));
    memset(long_name, 'a', 64);
    test_case("label at and past 63");
    CHECK(host_is_name((struct slice){long_name, 63}));
    CHECK(!host_is_name((struct slice){long_name, 64}));
    test_case("localhost");
    CHECK(host_is_localhost(SLICE("LocalHost")));
    CHECK(host_is_localhost(SLICE("a.localhost")));
    CHECK(!host_is_localhost(SLICE("alocalhost")));
    CHECK(!host_is_localhost(SLICE("localhost.example")));
}

static void test_hosts_file(void)
{
    static const struct {
        const char *line, *name, *ip; /* ip NULL: not there */
    } cases[] = {
        {"127.0.0.1 localhost\n", "localhost", "127.0.0.1"},
        {"10.1.2.3\tapi.example api\n", "api", "10.1.2.3"},
        {"10.1.2.3\tapi.example api\n", "API.Example", "10.1.2.3"},
        {"  10.1.2.3 \t x  y # z\n", "y", "10.1.2.3"},
        {"10.1.2.3 x # y\n", "y", NULL},
        {"10.1.2.3 x#y\n", "x", "10.1.2.3"},
        {"# 10.1.2.3 x\n", "x", NULL},
        {"::1 ip6-localhost", "ip6-localhost", "::1"},
        {"10.1.2.3 xy", "x", NULL},
        {"10.1.2.3 x", "xy", NULL},
        {"10.1.2.3", "10.1.2.3", NULL},
        {"fe80::1%lo0 x", "x", NULL},
        {"x 10.1.2.3", "10.1.2.3", NULL},
        {"10.1.2.3 x\r\n", "x", "10.1.2.3"},
        {"", "x", NULL},
        {"\n", "x", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("hosts line \"%s\" for %s", cases[i].line, cases[i].name);
        struct ip ip, want;
        CHECK_INT(hosts_line_has(guarded(slice_of(cases[i].line)), slice_of(cases[i].name), &ip), cases[i].ip != NULL);
        if (cases[i].ip && CHECK(ip_parse(slice_of(cases[i].ip), &want)))
            CHECK(memcmp(&ip, &want, sizeof ip) == 0);
    }
}

static void test_search(void)
{
    static const struct {
        const char *line, *name, *domain;
    } cases[] = {
        {"search ray.svc.cluster.local svc.cluster.local cluster.local", "hub.control.svc", "cluster.local"},
        {"search\tray.svc.corp.example svc.corp.example corp.example example", "hub.control.svc", "corp.example"},
        {"search svc.cluster.local", "hub.example", ""},
        {"search svc.cluster.local", "hub.control", ""},
        {"search example.com cluster.local", "hub.control.svc", ""},
        {"search svc.", "hub.control.svc", ""},
        {"search svc.a/b", "hub.control.svc", ""},
        {"nameserver svc.cluster.local", "hub.control.svc", ""},
        {"search", "hub.control.svc", ""},
        {"", "hub.control.svc", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("cluster's domain in \"%s\" for %s", cases[i].line, cases[i].name);
        CHECK_STR(search_line_domain(guarded(slice_of(cases[i].line)), slice_of(cases[i].name)), cases[i].domain);
    }
}

int main(void)
{
    test_ip();
    test_cidr();
    test_names();
    test_hosts_file();
    test_search();
    return test_done();
}
