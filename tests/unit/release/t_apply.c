/* What `mobula install --apply` reads out of manifests and answers. tests/e2e/test_apply.py has the requests. */
#include "../test.h"

#include <mobula/release.h>

static struct jval parse(const char *text, struct arena *a)
{
    struct err e = {0};
    struct json *doc = arena_new(a, struct json);
    if (!CHECK(json_parse(doc, slice_of(text), a, &e)))
        printf("  %s\n", e.text);
    return json_root(doc);
}

static void paths(struct arena *a)
{
    static const struct {
        const char *text, *path;
    } cases[] = {
        {"apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n", "/api/v1/namespaces/x"},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: ns}\n", "/api/v1/namespaces/ns/configmaps/x"},
        {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x, namespace: ns}\n", "/apis/apps/v1/namespaces/ns/deployments/x"},
        {"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: x, namespace: ns}\n",
         "/apis/networking.k8s.io/v1/namespaces/ns/networkpolicies/x"},
        {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.y}\n",
         "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x.y"},
        {"apiVersion: v1\nkind: ConfigMap\n", NULL},
        {"apiVersion: v1\nmetadata: {name: x}\n", NULL},
        {"kind: ConfigMap\nmetadata: {name: x}\n", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct apply p = {.a = a};
        struct err e = {0};
        test_case("path %zu", i);
        CHECK(apply_read(&p, slice_of(cases[i].text), &e) == (cases[i].path != NULL));
        if (cases[i].path)
            CHECK_STR(p.list[0].path, cases[i].path);
        else
            CHECK_STR(slice_of(e.text), "document 1 has no apiVersion, kind or name");
    }
}

static void limits(struct arena *a)
{
    const struct slice one = SLICE("---\n{apiVersion: v1, kind: Namespace, metadata: {name: x}}\n");
    struct buf text;
    buf_init(&text, MIB);
    for (int i = 0; i < APPLY_OBJECTS_MAX; i++)
        buf_put(&text, one);
    struct apply p = {.a = a};
    struct err e = {0};
    test_case("APPLY_OBJECTS_MAX");
    CHECK(apply_read(&p, buf_slice(&text), &e) && p.count == APPLY_OBJECTS_MAX);
    buf_put(&text, one);
    CHECK(!apply_read(&p, buf_slice(&text), &e) && e.code == ERR_LIMIT);
    buf_free(&text);
}

#define OURS "\"app.kubernetes.io/name\":\"mobula\""

static void judges(struct arena *a)
{
    static const struct {
        const char *kind, *there, *error; /* error NULL: it is applied */
        bool replaces, force, shown;
    } cases[] = {
        {"Role", "{\"metadata\":{\"resourceVersion\":\"7\",\"labels\":{" OURS "}}}", NULL, .force = true},
        {"Role", "{\"metadata\":{\"resourceVersion\":\"7\"}}", "Role x exists in namespace n and is not of mobula", .force = false},
        {"Role", "{\"metadata\":{\"labels\":{\"app.kubernetes.io/name\":\"other\"}}}", "is not of mobula", .force = false},
        {"Role", "{\"metadata\":{\"deletionTimestamp\":\"t\",\"labels\":{" OURS "}}}", "Role x is being deleted: wait until it is gone",
         .force = true},
        {"Role", "{\"metadata\":{\"labels\":{" OURS "},\"annotations\":{\"meta.helm.sh/release-name\":\"r\"}}}",
         "belongs to the Helm release r: use helm upgrade", .force = true},
        {"Role", "{\"metadata\":{\"labels\":{" OURS "},\"annotations\":{\"meta.helm.sh/release-name\":\"r\"}}}", NULL, .force = true,
         .shown = true},
        {"Namespace", "{\"metadata\":{}}", NULL, .force = false},
        {"Namespace", "{\"metadata\":{\"deletionTimestamp\":\"t\"}}",
         "Namespace x is being deleted: wait until it is gone, or choose another", .force = false},
        {"CustomResourceDefinition", "{\"metadata\":{}}", NULL, .force = false},
        {"CustomResourceDefinition", "{\"metadata\":{\"labels\":{" OURS "}}}", NULL, .force = true},
        {"Deployment", "{\"metadata\":{\"labels\":{" OURS ",\"app.kubernetes.io/version\":\"" MOBULA_VERSION "\"}}}", NULL, .force = true},
        {"Deployment", "{\"metadata\":{\"labels\":{" OURS ",\"app.kubernetes.io/version\":\"0.0.1\"}}}",
         "mobula 0.0.1 is installed in namespace n: mobula upgrade", .force = true},
        {"Deployment", "{\"metadata\":{\"labels\":{" OURS ",\"app.kubernetes.io/version\":\"0.0.1\"}}}", NULL, .replaces = true,
         .force = true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct apply_object o = {.kind = slice_of(cases[i].kind), .name = SLICE("x"), .ns = SLICE("n")};
        struct err e = {0};
        o.release = cases[i].shown ? SLICE("r") : SLICE_NONE;
        test_case("judge %zu", i);
        CHECK(apply_judge(&o, parse(cases[i].there, a), cases[i].replaces, a, &e) == (cases[i].error == NULL));
        CHECK(!cases[i].error || strstr(e.text, cases[i].error));
        CHECK(o.force == cases[i].force);
    }
}

/* What has a name of ours, and was made by somebody else, stays. */
static void spares(struct arena *a)
{
    static const struct {
        const char *kind, *there, *error;
        bool spared;
    } cases[] = {
        {"Role", "{\"metadata\":{\"labels\":{" OURS "}}}", NULL, false},
        {"Role", "{\"metadata\":{}}", NULL, true},
        {"Service",
         "{\"metadata\":{\"labels\":{\"app.kubernetes.io/name\":\"other\"},\"annotations\":{\"meta.helm.sh/release-name\":\"r\"}}}", NULL,
         true},
        {"Role", "{\"metadata\":{\"labels\":{\"app.kubernetes.io/name\":\"mobula-control-plane\"}}}", NULL, false},
        {"ConfigMap", "{\"metadata\":{}}", NULL, false},
        {"Lease", "{\"metadata\":{}}", NULL, false},
        {"Deployment", "{\"metadata\":{\"labels\":{" OURS "},\"annotations\":{\"meta.helm.sh/release-name\":\"r\"}}}",
         "Deployment x belongs to the Helm release r: helm uninstall r deletes it", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct apply_object o = {.kind = slice_of(cases[i].kind), .name = SLICE("x"), .ns = SLICE("n")};
        struct err e = {0};
        bool spared;
        test_case("uninstall leaves what is not of mobula, %zu", i);
        CHECK_INT(apply_spared(&o, parse(cases[i].there, a), a, &spared, &e), cases[i].error == NULL);
        CHECK_INT(spared, cases[i].spared);
        CHECK_STR(slice_of(e.text), cases[i].error ? cases[i].error : "");
    }
}

#define ARGUMENTS(list) "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"args\":[" list "]}]}}}}"

static void drops(struct arena *a)
{
    static const struct {
        const char *there, *wanted, *dropped;
    } cases[] = {
        {ARGUMENTS("\"operator\",\"--a=1\",\"--b\""), ARGUMENTS("\"operator\",\"--b=2\",\"--a\",\"--c\""), ""},
        {ARGUMENTS("\"operator\",\"--a=1\",\"--ab\",\"--c=2=3\""), ARGUMENTS("\"other\",\"--ab\""), "--a=1, --c=2=3"},
        {ARGUMENTS("\"--a=1\",\"--a=2\",\"--b=false\",7"), ARGUMENTS("\"--a=3\",null"), ""},
        {ARGUMENTS("\"--a\""), "{}", "--a"},
        {"{\"spec\":1}", ARGUMENTS("\"--a\""), ""},
        {ARGUMENTS("\"--a\",\"--b\",\"--c=false\""), ARGUMENTS("\"--a=false\",\"--b\",\"--c=false\",\"--d=false\""), "--a, --d"},
        {ARGUMENTS("\"--kinds=all\""), ARGUMENTS("\"--kinds=ray.io\""), "--kinds=all"},
        {ARGUMENTS("\"--kinds=legacy\""), ARGUMENTS("\"--kinds=ray.io\""), "--kinds=legacy"},
        {ARGUMENTS("\"--kinds=ray.io\""), ARGUMENTS("\"--kinds=all\""), ""},
        {ARGUMENTS("\"--kinds=ray.io\""), ARGUMENTS("\"--kinds=ray.io\""), ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("flags that would go %zu", i);
        CHECK_STR(apply_dropped(parse(cases[i].there, a), parse(cases[i].wanted, a), SLICE_NONE, a), cases[i].dropped);
    }
    test_case("an older version names no flag for a function: it has those that its Roles grant rights for");
    struct jval there = parse(ARGUMENTS("\"--a\""), a), wanted = parse(ARGUMENTS("\"--a\",\"--b=false\",\"--c=false\""), a);
#define OPERATORS "{\"resources\":[\"rayclusters/status\"]}"
#define OTHERS "{\"resources\":[\"b\"]}{\"resources\":[\"cc\",\"c/status\"]}"
    CHECK_STR(apply_dropped(there, wanted, SLICE(OPERATORS OTHERS), a), "--b");
    test_case("another scope: the Role with the operator's rules is not there, and each function may be dropped");
    CHECK_STR(apply_dropped(there, wanted, SLICE(OTHERS), a), "--b, --c");
}

#define POD(spec, container) "{\"spec\":{\"replicas\":2,\"template\":{\"spec\":{" spec "\"containers\":[{" container "}]}}}}"
#define SOURCES(list) "\"volumes\":[{\"name\":\"control-plane\",\"projected\":{\"sources\":[" list "]}}],"
#define FILE_OF(kind, name, path) "{\"" kind "\":{\"name\":\"" name "\",\"items\":[{\"path\":\"" path "\"}]}}"
#define LIMITS_OF(cpu) "\"image\":\"r.example/mobula:1\",\"resources\":{\"limits\":{\"cpu\":\"" cpu "\",\"memory\":\"64Mi\"}}"

/* Flags of install that do not become arguments of the operator. */
#define PLACED(manager)                                                                                                                    \
    "{\"metadata\":{\"managedFields\":[{\"manager\":\"" manager                                                                            \
    "\",\"operation\":\"Apply\",\"fieldsV1\":{\"f:spec\":{\"f:template\":{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"o\\\"}\":{"  \
    "\"f:env\":{\"k:{\\\"name\\\":\\\"X\\\"}\":{}}}},\"f:tolerations\":{},\"f:nodeSelector\":{},\"f:priorityClassName\":{},"               \
    "\"f:affinity\":{},\"f:topologySpreadConstraints\":{}}}}}}]},"                                                                         \
    "\"spec\":{\"template\":{\"spec\":{\"tolerations\":[],\"nodeSelector\":{},\"affinity\":{},\"topologySpreadConstraints\":[],"           \
    "\"priorityClassName\":\"p\",\"containers\":[{\"name\":\"o\",\"env\":[{\"name\":\"X\"}]}]}}}}"

static void drops_elsewhere(struct arena *a)
{
    static const struct {
        const char *there, *wanted, *dropped;
    } cases[] = {
        {POD("\"imagePullSecrets\":[{\"name\":\"a\"},{\"name\":\"b\"}],", ""), POD("\"imagePullSecrets\":[{\"name\":\"b\"}],", ""),
         "--pull-secret=a"},
        {POD("", "\"env\":[{\"name\":\"HTTPS_PROXY\",\"value\":\"http://u:secret@p\"},{\"name\":\"NO_PROXY\"},{\"name\":\"X\"}]"),
         POD("", "\"env\":[{\"name\":\"NO_PROXY\"}]"), "--proxy"},
        {PLACED("mobula"), POD("", ""),
         "--values: extraEnv=X, --toleration, --node-selector, --priority-class-name, --values: affinity, "
         "--values: topologySpreadConstraints"},
        {PLACED("kubectl-edit"), POD("", ""), ""}, /* set by another manager: not dropped */
        {POD("", "\"env\":[{\"name\":\"MOBULA_PROXIES\"},{\"name\":\"PROXY_CREDENTIALS\"}]"), POD("", ""), "--proxies, --proxy-secret"},
        {POD("", LIMITS_OF("500m")), POD("", LIMITS_OF("200m")), "--resources=cpu=500m,memory=64Mi"},
        {POD("", LIMITS_OF("200m")), POD("", LIMITS_OF("200m")), ""},
        {POD("", "\"image\":\"r.example/mobula:1\""), POD("", "\"image\":\"localhost/mobula:2\""),
         "--image (or --registry)=r.example/mobula:1"},
        {POD("", "\"image\":\"localhost/mobula:1\""), POD("", "\"image\":\"localhost/mobula:2\""), ""},
        {POD("", "\"image\":\"pause:3\",\"command\":[\"/program/mobula\"]"), POD("", "\"image\":\"localhost/mobula:2\""), "--registryless"},
        {POD("", ""), "{\"spec\":{\"replicas\":1}}", "--replicas=2"},
        {POD("\"securityContext\":{\"runAsNonRoot\":true},", ""), POD("\"securityContext\":{\"runAsUser\":65532},", ""), "--openshift"},
        {POD(SOURCES(FILE_OF("secret", "edge", "token") "," FILE_OF("configMap", "corp", "ca.crt")), ""),
         POD(SOURCES(FILE_OF("configMap", "mobula-control-plane-ca", "ca.crt")), ""),
         "--control-plane-token=edge, --control-plane-ca=corp"},
        {POD(SOURCES(FILE_OF("configMap", "corp", "ca.crt")), ""), POD(SOURCES(FILE_OF("configMap", "other", "ca.crt")), ""), ""},
        {POD(SOURCES(FILE_OF("configMap", "corp", "egress-ca.crt") ",{\"secret\":{\"name\":\"mine\"}}"), ""), POD("", ""),
         "--tls-secret=mine, --egress-ca=corp"},
        {"{}", POD("", ""), ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct apply p = {0};
        test_case("flags that are no arguments and would go %zu", i);
        CHECK_STR(apply_dropped_elsewhere(&p, parse(cases[i].there, a), parse(cases[i].wanted, a), a), cases[i].dropped);
    }
    struct apply given = {.image_given = true, .resources_given = true, .replicas_given = true};
    test_case("flags that are given with another value");
    CHECK_STR(apply_dropped_elsewhere(&given, parse(POD("", LIMITS_OF("500m")), a),
                                      parse("{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"image\":\"x\"}]}}}}", a), a),
              "");
}

#define LABELLED "\"f:metadata\":{\"f:labels\":{\"f:app.kubernetes.io/name\":{}}}"
#define ENTRY(manager, operation, fields)                                                                                                  \
    "{\"manager\":\"" manager "\",\"operation\":\"" operation "\",\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{" fields \
    "}}"
#define MANAGED(entries) "{\"metadata\":{\"resourceVersion\":\"7\",\"managedFields\":[" entries "]}}"

static void takes_over(struct arena *a)
{
    static const struct {
        const char *there, *patch; /* patch: NULL: no takeover */
    } cases[] = {
        {MANAGED(ENTRY("kubectl", "Apply", LABELLED ",\"f:a\":{}")), MANAGED(ENTRY("mobula", "Apply", LABELLED ",\"f:a\":{}"))},
        {MANAGED(ENTRY("kubectl-client-side-apply", "Update", LABELLED)), MANAGED(ENTRY("mobula", "Apply", LABELLED))},
        {MANAGED(ENTRY("mobula", "Apply", "\"f:a\":{}") "," ENTRY("k", "Update", "") "," ENTRY("kubectl", "Apply", LABELLED)),
         MANAGED(ENTRY("k", "Update", "") "," ENTRY("mobula", "Apply", "\"f:a\":{}," LABELLED))},
        {MANAGED(ENTRY("mobula", "Apply", LABELLED)), NULL},
        {MANAGED(ENTRY("kubectl", "Apply", "\"f:spec\":{}")), NULL}, /* kubectl applied a few fields without our label */
        {MANAGED(ENTRY("kubectl-edit", "Update", LABELLED)), NULL},
        {MANAGED(ENTRY("argocd-controller", "Apply", LABELLED)), NULL},
        {"{}", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("fields that kubectl has applied, %zu", i);
        CHECK_STR(surplus_takeover(parse(cases[i].there, a), a), cases[i].patch ? cases[i].patch : "");
    }
}

static void waits(struct arena *a)
{
    static const struct {
        const char *deployment, *why; /* NULL: it is available */
    } cases[] = {
        {"{\"metadata\":{\"generation\":1},\"spec\":{\"replicas\":1}}", "the controller manager has not looked at it yet"},
        {"{\"metadata\":{\"generation\":2},\"spec\":{\"replicas\":1},\"status\":{\"observedGeneration\":1,\"availableReplicas\":1}}",
         "the controller manager has not looked at it yet"},
        {"{\"metadata\":{\"generation\":2},\"spec\":{\"replicas\":2},"
         "\"status\":{\"observedGeneration\":2,\"availableReplicas\":2,\"updatedReplicas\":1,\"replicas\":3}}",
         "1 of 2 pods are ready"},
        {"{\"metadata\":{\"generation\":2},\"spec\":{\"replicas\":1},"
         "\"status\":{\"observedGeneration\":2,\"availableReplicas\":1,\"updatedReplicas\":1,\"replicas\":2}}",
         "1 of 1 pods are ready"},
        {"{\"metadata\":{\"generation\":2},\"spec\":{\"replicas\":2},"
         "\"status\":{\"observedGeneration\":2,\"availableReplicas\":2,\"updatedReplicas\":2,\"replicas\":2}}",
         NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice why = SLICE_NONE;
        test_case("available %zu", i);
        CHECK(apply_available(parse(cases[i].deployment, a), a, &why) == (cases[i].why == NULL));
        if (cases[i].why)
            CHECK_STR(why, cases[i].why);
    }
    test_case("a control plane waits for its own pods, beside an operator in the same namespace");
    CHECK_STR(apply_pods(&(struct apply_object){.name = SLICE("mobula-control-plane"), .ns = SLICE("n")}, a),
              "/api/v1/namespaces/n/pods?labelSelector=app.kubernetes.io%2Fname%3Dmobula-control-plane");
    test_case("what keeps a pod");
    CHECK_STR(apply_pod_words(parse("{\"metadata\":{\"name\":\"p\"},\"status\":{\"containerStatuses\":[{\"state\":{\"waiting\":"
                                    "{\"reason\":\"ErrImagePull\",\"message\":\"no such host\"}}}]}}",
                                    a),
                              a),
              "pod p: ErrImagePull no such host");
    CHECK_STR(apply_pod_words(parse("{\"metadata\":{\"name\":\"p\"},\"status\":{\"containerStatuses\":[{\"state\":{\"terminated\":"
                                    "{\"exitCode\":2}}}]}}",
                                    a),
                              a),
              "pod p ended with status 2: kubectl logs says why");
    CHECK_STR(apply_pod_words(parse("{\"metadata\":{\"name\":\"p\"},\"status\":{\"conditions\":[{\"type\":\"PodScheduled\","
                                    "\"status\":\"False\",\"message\":\"0/3 nodes\"}]}}",
                                    a),
                              a),
              "pod p: 0/3 nodes");
    CHECK(slice_empty(apply_pod_words(parse("{\"metadata\":{\"name\":\"p\"}}", a), a)));
    test_case("the last warning of the kubelet about a pod");
    CHECK_STR(
        apply_event_words(parse("{\"items\":[{\"type\":\"Warning\",\"reason\":\"FailedMount\",\"message\":\"configmap "
                                "\\\"ca\\\" not found\",\"lastTimestamp\":\"2026-11-22T11:58:00Z\"},{\"type\":\"Warning\",\"reason\":"
                                "\"Older\",\"message\":\"x\",\"lastTimestamp\":\"2026-11-22T11:57:00Z\"},{\"type\":\"Normal\",\"reason\":"
                                "\"Pulled\",\"message\":\"y\",\"lastTimestamp\":\"2026-11-22T11:59:00Z\"}]}",
                                a),
                          a),
        "FailedMount: configmap \"ca\" not found");
    test_case("a pod that a rollout replaces has ended as it should");
    CHECK(slice_empty(apply_pod_words(parse("{\"metadata\":{\"name\":\"p\",\"deletionTimestamp\":\"2026-11-22T11:58:00Z\"},"
                                            "\"status\":{\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":0}}}]}}",
                                            a),
                                      a)));
}

static void remedies(void)
{
    static const struct {
        struct apply_object o;
        struct ask_answer answer;
        const char *says;
    } cases[] = {
        {{.kind = SLICE("CustomResourceDefinition")}, {.code = 409, .reason = KUBE_CONFLICT, .manager_conflict = true}, "--no-crds"},
        {{.kind = SLICE("Role"), .ns = SLICE("n")},
         {.code = 409, .reason = KUBE_CONFLICT, .manager_conflict = true},
         "manages these fields"},
        {{.kind = SLICE("Role"), .ns = SLICE("n")},
         {.code = 403, .reason = KUBE_FORBIDDEN, .namespace_terminating = true},
         "is being deleted"},
        {{.kind = SLICE("CustomResourceDefinition")}, {.code = 403, .reason = KUBE_FORBIDDEN}, "--crds-only"},
        {{.kind = SLICE("Role"), .ns = SLICE("n")}, {.code = 403, .reason = KUBE_FORBIDDEN}, "admin of the namespace"},
        {{.kind = SLICE("Role"), .ns = SLICE("n")},
         {.code = 403, .reason = KUBE_FORBIDDEN, .message = SLICE("… RBAC permissions not currently held: …")},
         "every right in it"},
        {{.kind = SLICE("ConfigMap"), .ns = SLICE("n")},
         {.code = 403, .reason = KUBE_FORBIDDEN, .message = SLICE("exceeded quota: q")},
         "raise the quota"},
        {{.kind = SLICE("Role"), .ns = SLICE("n")}, {.code = 422, .reason = KUBE_INVALID}, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("remedy %zu", i);
        const char *says = apply_remedy(&cases[i].o, &cases[i].answer);
        CHECK(cases[i].says[0] ? strstr(says, cases[i].says) != NULL : says[0] == '\0');
    }
}

static void refusals(struct arena *a)
{
    static const struct {
        const char *body, *text;
    } cases[] = {
        {"{\"message\":\"not currently held:\\n{a}\\n{b}\"}",
         "Role r: 403 Forbidden: not currently held: {a} {b}: whoever makes a Role must have every right in it: let a cluster's admin bind "
         "these to you, or apply it"},
        {"no JSON", "Role r: 403 Forbidden: not currently held:: whoever makes"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("a refusal keeps all lines, %zu", i);
        struct ask_answer answer = {.code = 403,
                                    .reason = KUBE_FORBIDDEN,
                                    .object = true,
                                    .message = SLICE("not currently held:\n"),
                                    .body = slice_of(cases[i].body)};
        struct slice text = apply_refusal(&(struct apply_object){.kind = SLICE("Role"), .name = SLICE("r"), .ns = SLICE("n")}, &answer, a);
        CHECK(slice_starts(text, slice_of(cases[i].text)));
    }
}

int main(void)
{
    struct arena a = {0};
    paths(&a);
    limits(&a);
    judges(&a);
    spares(&a);
    drops(&a);
    drops_elsewhere(&a);
    takes_over(&a);
    waits(&a);
    remedies();
    refusals(&a);
    arena_free(&a);
    return test_done();
}
