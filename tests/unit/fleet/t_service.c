/* Services: the list of versions as the flags ask for them, and flags that a control plane refuses. */
#include "desk.h"

#include <mobula/service.h>

/* Versions of a Workload: its members are the version's own. */
#define TWO "[{'name':'v1','weight':90,'image':'a'},{'name':'v2','weight':10,'image':'b'}]"
static const struct {
    const char *live, *given;
    struct service_options o;
    const char *want; /* the list, or else the error */
} lists[] = {
    {NULL, "{'image':'n'}", {.canary = -1, .version = SLICE("v1")}, "[{'name':'v1','weight':100,'image':'n'}]"},
    {TWO, "{'image':'n'}", {.canary = -1, .version = SLICE("v3")}, "[{'name':'v3','weight':100,'image':'n'}]"},
    {TWO,
     "{'image':'n'}",
     {.canary = 5, .version = SLICE("v3")},
     "[{'name':'v1','weight':95,'image':'a'},{'name':'v3','weight':5,'image':'n'}]"},
    {TWO, NULL, {.canary = 50}, "[{'name':'v1','weight':50,'image':'a'},{'name':'v2','weight':50,'image':'b'}]"},
    {TWO, NULL, {.canary = 100}, "[{'name':'v2','weight':100,'image':'b'}]"},
    {TWO,
     "{'image':'n'}",
     {.canary = -1, .in_place = true},
     "[{'name':'v1','weight':90,'image':'n'},{'name':'v2','weight':10,'image':'b'}]"},
    {TWO,
     NULL,
     {.canary = -1, .versions = SLICE("[{\"name\":\"v2\",\"traffic_percent\":100}]")},
     "[{'name':'v2','weight':100,'image':'b'}]"},
    {TWO,
     NULL,
     {.canary = -1, .versions = SLICE("{}")},
     "--versions is no JSON list: write '[{\"name\": \"v1\", \"traffic_percent\": 90}, …]'"},
    {TWO,
     NULL,
     {.canary = -1, .versions = SLICE("[{\"name\":\"v9\",\"traffic_percent\":1}]")},
     "version v9 is not there any more: give it with -f and --version-name v9"},
    {TWO, "{}", {.canary = -1, .in_place = true, .version = SLICE("v9")}, "--in-place: the service has no version \"v9\""},
    {TWO, NULL, {.canary = -1}, "-f FILE is needed: the configuration of the service"},
    {"[{'name':'v1'}]", NULL, {.canary = 5}, "--canary-percent needs a version that serves, and another one: give that with -f"},
};

static void check_versions(void)
{
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct arena a = {0};
        struct buf out = {.max = MIB};
        struct err e = {0};
        struct service_desk d = {.o = lists[i].o, .seek.a = &a};
        struct service_change c = {.d = &d, .plane = true, .version = d.o.version, .given = NO_VALUE, .live = NO_VALUE};
        test_case("versions of a service, %zu", i);
        if (lists[i].given)
            c.given = parsed(lists[i].given, &a);
        if (lists[i].live)
            c.live = parsed(lists[i].live, &a);
        c.primary = json_get_str(json_at(c.live, 0), "name", &a);
        c.canary = json_get_str(json_at(c.live, 1), "name", &a);
        jout_init(&c.w, &out);
        jout_array(&c.w);
        bool well = service_put_versions(&c, &e);
        jout_end(&c.w);
        if (well)
            CHECK_SLICE(buf_slice(&out), quoted(lists[i].want, &a));
        else
            CHECK_STR(slice_of(e.text), lists[i].want);
        buf_free(&out);
        arena_free(&a);
    }
}

static void check_name(void)
{
    struct arena a = {0};
    struct service_desk d = {.seek.a = &a};
    struct service_change c = {.d = &d, .given = parsed("{'a':1,'b':2}", &a)}, same = {.d = &d, .given = parsed("{'b':2,'a':1}", &a)},
                          other = {.d = &d, .given = parsed("{'a':1,'b':3}", &a)}, none = {.d = &d, .given = NO_VALUE};
    test_case("the name of a version is of its spec");
    CHECK(slice_starts(service_name_version(&c), SLICE("v-")));
    CHECK_SLICE(service_name_version(&c), service_name_version(&same));
    CHECK(!slice_eq(service_name_version(&c), service_name_version(&other)));
    CHECK_STR(service_name_version(&none), "");
    d.o.version = SLICE("mine");
    test_case("the name of a version as it was given");
    CHECK_STR(service_name_version(&c), "mine");
    arena_free(&a);
}

static void check_flags(void)
{
    static const char there[] = "{'spec':{'cloud':'c','service':{}}}";
    static const struct {
        const char *there;
        struct service_options o;
        struct fleet_options f;
        const char *begins; /* of the error; NULL: none */
    } cases[] = {
        {there, {.canary = 5}, {.name = SLICE("s")}, NULL},
        {there, {.canary = 5}, {.name = SLICE("s"), .cloud = SLICE("c")}, NULL},
        {there, {.canary = 5}, {.name = SLICE("s"), .cloud = SLICE("d")}, "service s is in cloud c, and does not move to d"},
        {there, {.gateway = SLICE("g")}, {.name = SLICE("s")}, "--gateway, --ingress-class, --ingress-controller and --istio-gateway"},
        {there, {.canary = 5}, {.image = SLICE("i")}, "--image-uri, --compute-config, --working-dir, --bucket, --exclude"},
        {there, {.canary = 5}, {.image = SLICE("i"), .file = SLICE("f")}, NULL},
        {"{'spec':{'cloud':'c','terminate':true}}", {.canary = 5}, {.name = SLICE("s")}, "service s was terminated"},
        {NULL, {.canary = -1}, {.name = SLICE("s")}, "--cloud NAME is needed: service s does not exist yet"},
        {NULL, {.canary = -1}, {.name = SLICE("s"), .cloud = SLICE("c")}, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct service_desk d = {.o = cases[i].o};
        struct plane_service p = {.desk.o = cases[i].f, .from = &d};
        struct err e = {0};
        test_case("flags of a service with a control plane, %zu", i);
        struct jval object = cases[i].there ? parsed(cases[i].there, &p.desk.a) : NO_VALUE;
        CHECK(plane_check_flags(&p, object, &e) == !cases[i].begins);
        CHECK(slice_starts(slice_of(e.text), slice_of(cases[i].begins ? cases[i].begins : "")));
        arena_free(&p.desk.a);
    }
}

int main(void)
{
    check_versions();
    check_name();
    check_flags();
    return test_done();
}
