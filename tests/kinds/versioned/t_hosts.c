/* Hosts of routes that get each other's requests. */
#include "src/kinds/versioned/versioned.h"

#include "tests/unit/test.h"

static bool meets(const char *hosts, const char *host, bool one_label)
{
    struct arena a = {0};
    struct slice text = arena_printf(&a,
                                     "{\"metadata\":{\"annotations\":{\"target\":\"lb.example.org\",\"x\":\"},\\\"spec\\\":\"}},"
                                     "\"spec\":{\"hostnames\":[%s]}}",
                                     hosts);
    bool yes = versioned_hosts_meet(text, slice_of(host), one_label, &a);
    arena_free(&a);
    return yes;
}

static void test_hosts(void)
{
    static const struct {
        const char *theirs, *ours;
        bool gateway, ingress;
    } all[] = {
        {"\"a.example.org\"", "a.example.org", true, true},
        {"\"a.example.org\"", "b.example.org", false, false},
        {"\"ba.example.org\"", "a.example.org", false, false},
        {"\"*.example.org\"", "a.example.org", true, true},
        {"\"*.example.org\"", "b.a.example.org", true, false},
        {"\"*.org\"", "a.example.org", true, false},
        {"\"*.example.org\"", "example.org", false, false},
        {"\"a.example.org\"", "*.example.org", true, true},
        {"\"b.a.example.org\"", "*.example.org", true, false},
        {"\"b.a.example.org\",\"c.example.org\"", "*.example.org", true, true},
        {"\"*.example.org\"", "*.example.org", true, true},
        {"\"*.org\"", "*.example.org", true, false},
        {"\"example.org\"", "*.example.org", false, false},
        {"\"aexample.org\"", "*.example.org", false, false},
        {"\"a.example.com\"", "*.example.org", false, false},
        {"\"a.example.com\"", "lb.example.org", false, false}, /* an annotation is no host */
        {"", "*.example.org", false, false},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        test_case("%s and %s", all[i].theirs, all[i].ours);
        CHECK(meets(all[i].theirs, all[i].ours, false) == all[i].gateway);
        CHECK(meets(all[i].theirs, all[i].ours, true) == all[i].ingress);
    }
}

int main(void)
{
    test_hosts();
    return test_done();
}
