/* The command line of another operator's chart, out of a Deployment as that chart renders it. */
#include "../test.h"

#include "../../../src/cli/start.h"

#include <mobula/json.h>
#include <mobula/yaml.h>

static int read_arguments(struct arena *a, char **argv, int most)
{
    struct yaml_docs docs;
    struct json doc;
    struct err e = {0};
    int count = 0;
    CHECK(yaml_parse(read_file("tests/data/cli/anyscale-deployment.yaml", a), a, &docs, &e));
    CHECK(json_parse(&doc, docs.docs[0].json, a, &e));
    struct jval key, one, container = json_at(json_get(json_root(&doc), "spec.template.spec.containers"), 0);
    for (struct jiter it = json_iter(json_get(container, "args")); json_next(&it, &key, &one) && count < most;) {
        struct slice text = json_str(one, a);
        argv[count] = arena_alloc(a, text.len + 1);
        memcpy(argv[count], text.ptr, text.len);
        argv[count++][text.len] = '\0';
    }
    return count;
}

static void chart(struct arena *a)
{
    static const char *const want[] = {"operator",
                                       "--health-addr=:8081",
                                       "--metrics-addr=:2112",
                                       "--status-addr=:2113",
                                       "--log-level=info",
                                       "--patches-configmap=patches",
                                       "--gateway-name=gateway",
                                       "--leader-elect=true",
                                       "--lease-namespace=anyscale",
                                       "--lease-name=anyscale-operator-lease",
                                       "--exclude-component-verification=STORAGE_BUCKET",
                                       "--exclude-component-verification=CLOUD_RESOURCES",
                                       "--instance-types-configmap=instance-types"};
    char *argv[64];
    int argc = read_arguments(a, argv, 64);
    struct start s;
    struct err e = {0};
    test_case("the chart's container");
    CHECK_INT(argc, 22);
    CHECK(start_arguments(argc, argv, a, &s, &e));
    CHECK_INT(s.count, COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want) && (int)i < s.count; i++)
        CHECK_STR(slice_of(s.list[i]), want[i]);
    CHECK(s.list[s.count] == NULL);
    CHECK(slice_starts(s.ignored, SLICE("--log-file, --cloud-deployment-id, --control-plane-url")));
    CHECK(!slice_empty(s.provider) && !slice_has(s.ignored, "--cloud-provider"));
    test_case("each is named once");
    CHECK(slice_ends(s.ignored, SLICE("--vector-enrichment-table-path, --operator-version")));
}

/* What the chart's values may add beside that, each with a value: taken, with a meaning here or none. */
static void conditional(struct arena *a)
{
    static const struct {
        const char *theirs, *ours; /* NULL: without a meaning */
    } rows[] = {
        {"--unscheduled-pod-reaper-termination-threshold=10m", "--unscheduled-timeout=10m"},
        {"--unscheduled-pod-reaper-reconcile-interval=1m", NULL},
        {"--kubernetes-client-rate-limiter-burst=100", NULL},
        {"--aws-region=eu-1", NULL},
        {"--gateway-namespace=edge", "--gateway-namespace=edge"},
        {"--gateway-hostname=a.example", NULL},
        {"--gateway-ip=10.0.0.1", NULL},
        {"--gateway-api-version=v1", NULL},
        {"--service-auth-fallback-enabled=true", NULL},
        {"--kube-config=/etc/config", "--kubeconfig=/etc/config"},
        {"--enable-status-reporting=true", NULL},
        {"--auth-audience=api", NULL},
        {"--enable-cross-namespace-resource-management=true", "--all-namespaces=true"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *argv[] = {(char *)(uintptr_t)rows[i].theirs};
        struct start s;
        struct err e = {0};
        test_case("of the chart's values: %s", rows[i].theirs);
        CHECK(start_arguments(1, argv, a, &s, &e));
        CHECK_INT(s.count, rows[i].ours ? 5 : 4);
        CHECK(slice_empty(s.ignored) == (rows[i].ours != NULL));
        if (rows[i].ours && s.count == 5)
            CHECK_STR(slice_of(s.list[4]), rows[i].ours);
    }
}

static void refused(struct arena *a)
{
    static const char *const cases[] = {"--no-such-flag=1", "--log-level", "word", "-x=1", ""};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice text = arena_dup(a, slice_of(cases[i]));
        char copy[64], *argv[] = {copy};
        struct start s;
        struct err e = {0};
        test_case("refused %zu", i);
        slice_copy(text, copy, sizeof copy);
        CHECK(!start_arguments(1, argv, a, &s, &e) && strstr(e.text, "is not a flag of this chart's operator"));
    }
    char *many[START_ARGUMENTS_MAX], flag[] = "--log-level=info";
    struct start s;
    struct err e = {0};
    test_case("START_ARGUMENTS_MAX");
    for (int i = 0; i < START_ARGUMENTS_MAX; i++)
        many[i] = flag;
    CHECK(start_arguments(START_ARGUMENTS_MAX - 4, many, a, &s, &e) && s.count == START_ARGUMENTS_MAX);
    CHECK(!start_arguments(START_ARGUMENTS_MAX - 3, many, a, &s, &e) && e.code == ERR_LIMIT);
}

int main(void)
{
    struct arena a = {0};
    chart(&a);
    conditional(&a);
    refused(&a);
    arena_free(&a);
    return test_done();
}
