/* Clouds: their spec from the values of flags, the commands that connect an operator, and what is checked of one. */
#include "desk.h"

static void check_spec(void)
{
    static const struct {
        struct fleet_options o;
        const char *want; /* NULL: refused */
    } cases[] = {
        {{.site = {.provider = SLICE("AWS"), .zones = SLICE("a,b"), .bucket = SLICE("logs")}},
         "{'provider':'aws','objectStorage':{'bucket':'s3://logs'},'zones':['a','b']}"},
        {{.site = {.provider = SLICE("gcp"), .bucket = SLICE("logs")}}, "{'provider':'gcp','objectStorage':{'bucket':'gs://logs'}}"},
        {{.site = {.bucket = SLICE("arn:aws:s3:::logs")}}, "{'objectStorage':{'bucket':'s3://logs'}}"},
        {{.site = {.bucket = SLICE("azure://logs"), .stack = SLICE("K8S")}}, "{'objectStorage':{'bucket':'azure://logs'}}"},
        {{.site = {.nfs_server = SLICE("h"), .nfs_path = SLICE("/p")}}, "{'fileStorage':{'nfs':{'server':'h','path':'/p'}}}"},
        {{.site = {.stack = SLICE("vm")}}, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct desk d = {.o = cases[i].o};
        struct err e = {0};
        struct slice spec;
        test_case("the spec of a cloud, %zu", i);
        bool well = fleet_cloud_spec(&d, &spec, &e);
        CHECK(well == (cases[i].want != NULL));
        if (cases[i].want)
            CHECK_SLICE(spec, quoted(cases[i].want, &d.a));
        else
            CHECK_STR(slice_of(e.text), "--compute-stack: only k8s is known here");
        arena_free(&d.a);
    }
}

static void check_install(void)
{
    static const struct {
        const char *provider, *identity, *text; /* text: a part of the commands */
        bool is_there;
    } cases[] = {
        {"generic", "", "--watch-namespace=team --registryless --control-plane-token=edge --control-plane-url=https://plane", true},
        {"generic", "", "kubectl -n team create serviceaccount edge-operator", true},
        {"generic", "", "--cloud-provider", false},
        {"aws", "arn:aws:iam::1:role/r", "--cloud-provider=aws --shapes --sts-url=https://sts.eu-1.amazonaws.com", true},
        {"aws", "arn:aws:iam::1:role/r", "serviceaccount", false},
        {"aws", "", "create configmap mobula-control-plane-ca --from-file=ca.crt=my.pem\n", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct desk d = {
            .o = {.ns = SLICE("team"),
                  .server = SLICE("https://plane"),
                  .ca_file = SLICE("my.pem"),
                  .site = {.provider = slice_of(cases[i].provider), .identity = slice_of(cases[i].identity), .region = SLICE("eu-1")}}};
        struct buf out = {.max = 64 * KIB};
        test_case("commands that connect an operator, %zu: %s", i, cases[i].text);
        fleet_cloud_install(&d, SLICE("edge"), SLICE("cld_1"), &out);
        CHECK(slice_has(buf_slice(&out), cases[i].text) == cases[i].is_there);
        CHECK(slice_has(buf_slice(&out), "--cloud-deployment-id=cld_1\n"));
        buf_free(&out);
        arena_free(&d.a);
    }
}

static void check_checks(void)
{
    static const char status[] = "{'lastContactTime':'T','components':[{'name':'RAY','status':'FAILED','details':'no heads'}]}";
    static const struct {
        const char *status, *want;
        bool silent, failed;
    } cases[] = {
        {status,
         "[{'name':'OPERATOR','status':'PASSED','details':'has called at T'},{'name':'RAY','status':'FAILED','details':'no heads'}]", false,
         true},
        {status,
         "[{'name':'OPERATOR','status':'FAILED','details':'does not call, see its log; the last call: T'},"
         "{'name':'RAY','status':'UNKNOWN','details':'was FAILED at T'}]",
         true, true},
        {"{}", "[{'name':'OPERATOR','status':'FAILED','details':'does not call, see its log; the last call: never'}]", true, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        bool failed = false;
        test_case("checks of a cloud, %zu", i);
        CHECK_SLICE(fleet_cloud_checks(parsed(cases[i].status, &a), cases[i].silent, &failed, &a), quoted(cases[i].want, &a));
        CHECK(failed == cases[i].failed);
        arena_free(&a);
    }
}

int main(void)
{
    check_spec();
    check_install();
    check_checks();
    return test_done();
}
