#include "install.h"

#include <mobula/artifact.h>
#include <mobula/inspect.h>

static void golden(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    o.no_crds = true;
    test_case("defaults");
    CHECK_SLICE(written(&o, a, &e), read_file("tests/data/cli/install-default.yaml", a));

    test_case("everything else");
    o.create_namespace = true;
    o.watch = SLICE("team-a,123");
    o.replicas = 2;
    o.image = SLICE("registry.local:5000/ray/mobula@sha256:00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff");
    o.args.tools = SLICE("none");
    CHECK_SLICE(written(&o, a, &e), read_file("tests/data/cli/install-full.yaml", a));
    CHECK_STR(slice_of(e.text), "");

    test_case("one operator that elects itself, in a namespace it makes clusters in, with submitter pods");
    o = install_defaults;
    o.no_crds = o.create_namespace = o.leader_elect = true;
    o.args.kinds = SLICE("all");
    o.watch = SLICE("a,mobula");
    o.args.tools = SLICE("image:localhost/tools:1");
    o.args.tools_resources = SLICE("cpu=100m,memory=90Mi");
    o.args.submitter = SLICE("pod");
    CHECK_SLICE(written(&o, a, &e), read_file("tests/data/cli/install-elect.yaml", a));
    CHECK_STR(slice_of(e.text), "");

    test_case("KubeRay's autoscaler, whose roles it must be able to make");
    o = install_defaults;
    o.no_crds = true;
    o.args.autoscaler = SLICE("sidecar");
    CHECK_SLICE(written(&o, a, &e), read_file("tests/data/cli/install-sidecar.yaml", a));
    o.args.autoscaler = SLICE("off");
    struct slice off = written(&o, a, &e);
    CHECK(strstr(off.ptr, "        - --autoscaler=off\n") && !strstr(off.ptr, "serviceaccounts"));
    CHECK_STR(slice_of(e.text), "");
    test_case("heads through the API server, and through their services");
    o.args.autoscaler = SLICE("operator");
    o.args.ray_access = SLICE("proxy");
    struct slice proxy = written(&o, a, &e);
    CHECK(strstr(proxy.ptr, "        - --ray-access=proxy\n") && strstr(proxy.ptr, "resources: [services/proxy]"));
    o.args.ray_access = SLICE("service");
    struct slice service = written(&o, a, &e);
    CHECK(strstr(service.ptr, "        - --ray-access=service\n") && !strstr(service.ptr, "services/proxy"));
    CHECK(!strstr(proxy.ptr, "[secrets]") && !strstr(service.ptr, "[secrets]"));
    o.with.ray_auth = true;
    struct slice auth = written(&o, a, &e);
    CHECK(strstr(auth.ptr, "resources: [secrets]") && strstr(strstr(auth.ptr, "[secrets]"), "verbs: [create, get]\n"));
    o.args.ray_access = SLICE("none");
    CHECK(!written(&o, a, &e).ptr && strstr(e.text, "--ray-access is \"none\""));
    e = (struct err){0};
    o.args.ray_access = SLICE("direct");
    o.args.autoscaler = SLICE("none");
    CHECK(!written(&o, a, &e).ptr && strstr(e.text, "--autoscaler is \"none\""));
    e = (struct err){0};
}

/* The Role for the ConfigMap comes with the flag that makes the operator watch it. */
static void shapes(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    test_case("instance types of a ConfigMap");
    o.no_crds = o.with.shapes = true;
    CHECK_SLICE(written(&o, a, &e), read_file("tests/data/cli/install-shapes.yaml", a));
    test_case("default patches");
    o.defaults = (struct default_patches){.provider = SLICE("aws"), .karpenter = true, .pull_secrets = SLICE("a,b")};
    struct slice text = written(&o, a, &e);
    CHECK(text.ptr && strstr(text.ptr, "        - --patches-configmap=patches\n        - --cloud-provider=aws\n        - --karpenter=true\n"
                                       "        - --workload-pull-secrets=a,b\n        ports:\n"));
    o.defaults.provider = SLICE("gce");
    CHECK(!written(&o, a, &e).ptr && strstr(e.text, "--cloud-provider is \"gce\""));
}

/* What the operator is told, item by item; what it would refuse is refused here. */
static void egress(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    o.no_crds = true;
    test_case("entries of the allowlist");
    o.args.egress = SLICE("cp.example.com,\n *.example.com:8443 ,[fd00::/8]:80");
    struct slice text = written(&o, a, &e);
    CHECK_STR(slice_of(e.text), "");
    CHECK(text.ptr && strstr(text.ptr, "        - --egress-allow=cp.example.com\n"
                                       "        - --egress-allow=*.example.com:8443\n"
                                       "        - --egress-allow=[fd00::/8]:80\n"
                                       "        ports:\n"));
    test_case("strict");
    o.args.egress_strict = true;
    CHECK(!written(&o, a, &e).ptr && strstr(e.text, "--egress-allow: \"*.example.com:8443\" is a wildcard"));
    e = (struct err){0};
    o.args.egress = SLICE("cp.example.com");
    text = written(&o, a, &e);
    CHECK(text.ptr && strstr(text.ptr, "        - --egress-allow=cp.example.com\n        - --egress-strict\n"));
    test_case("no entry");
    o.args.egress = SLICE("a.example.com,x: y");
    CHECK(!written(&o, a, &e).ptr && strstr(e.text, "--egress-allow: \"x: y\""));
}

static void one_kind(struct arena *a)
{
    struct err e = {0};
    struct install_options o;
    test_case("the legacy kind alone: no right to the other, and none to jobs");
    o = install_defaults;
    o.no_crds = true;
    o.args.kinds = SLICE("legacy");
    struct slice legacy = written(&o, a, &e);
    CHECK(strstr(legacy.ptr, "- apiGroups: [cluster.ray.io]\n") && strstr(legacy.ptr, "        - --kinds=legacy\n"));
    CHECK(!strstr(legacy.ptr, "apiGroups: [ray.io") && !strstr(legacy.ptr, "rayjobs"));
    CHECK_STR(slice_of(e.text), "");
}

#define OPTIONAL_KINDS "raycronjobs.ray.io rayservices.ray.io versionedservices.mobula.dev"

/* The definitions of the kinds of this group (empty: of all), without those that the list names. */
static struct slice definitions_of(const char *group, const char *without, struct arena *a)
{
    struct inspect_kind k;
    struct slice text = SLICE("");
    for (uint32_t i = 0; inspect_kind(i, &k); i++) {
        struct slice of = slice_of(k.resource);
        slice_cut(&of, '.');
        of = slice_is(of, "mobula.dev") ? SLICE("ray.io") : of; /* made of kinds of this group, and installed with them */
        if (!k.stored || !k.decided || (*group && !slice_is(of, group)) || strstr(without, k.resource))
            continue;
        struct slice file = read_file(arena_printf(a, "airgap/crds/%s.yaml", k.resource).ptr, a);
        text = arena_printf(a, "%.*s---\n%.*s", SLICE_ARG(text), SLICE_ARG(file));
    }
    return text;
}

/* The definitions travel as they are, comments included. */
static void definitions(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    o.crds_only = true;
    o.args.kinds = SLICE("all");
    struct slice all = definitions_of("", "", a);
    o.with.no_admission_policy = true;
    test_case("definitions");
    CHECK_SLICE(written(&o, a, &e), all);
    CHECK(all.len < 128 * KIB);
    test_case("definitions of one group: two kinds that are called RayCluster hide each other from kubectl");
    o.args.kinds = SLICE("ray.io");
    CHECK_SLICE(written(&o, a, &e), definitions_of("ray.io", OPTIONAL_KINDS, a));
    memset(o.optional, true, sizeof o.optional);
    CHECK_SLICE(written(&o, a, &e), definitions_of("ray.io", "", a));
    o.args.kinds = SLICE("legacy");
    CHECK_SLICE(written(&o, a, &e), definitions_of("cluster.ray.io", "", a));
    test_case("all of it");
    o.args.kinds = SLICE("all");
    o.crds_only = false;
    CHECK(slice_starts(written(&o, a, &e), all));
}

/* A line for each object: "Kind name namespace". */
static struct slice kinds_of(struct slice text, struct arena *a)
{
    struct buf out;
    buf_init(&out, MIB);
    while (text.ptr) {
        struct slice line = slice_cut(&text, '\n');
        if (slice_starts(line, SLICE("kind: ")))
            buf_printf(&out, "%.*s ", SLICE_ARG(slice_skip(line, 6)));
    }
    struct slice copy = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return copy;
}

static void placed(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    test_case("where the pod runs, and what it asks for");
    o.place.requests = SLICE("memory=32Mi");
    o.place.tolerations = SLICE("gpu=yes:NoSchedule,spot");
    o.place.node_selector = SLICE("pool=ops,zone=");
    o.place.priority_class = SLICE("high");
    struct slice text = written(&o, a, &e);
    CHECK(strstr(text.ptr, "            cpu: \"10m\"\n            memory: \"32Mi\"\n"));
    CHECK(strstr(text.ptr,
                 "      priorityClassName: \"high\"\n      tolerations: [{\"key\":\"gpu\",\"operator\":\"Equal\",\"value\":\"yes\","
                 "\"effect\":\"NoSchedule\"},{\"key\":\"spot\",\"operator\":\"Exists\"}]\n"
                 "      nodeSelector: {\"pool\":\"ops\",\"zone\":\"\"}\n"));
}

static void parts(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    test_case("what needs a cluster's admin");
    o.crds_only = true;
    o.ns = SLICE("ray");
    struct slice text = written(&o, a, &e);
    CHECK_STR(kinds_of(slice_skip(text, definitions_of("ray.io", OPTIONAL_KINDS, a).len), a),
              "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
              "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ");
    CHECK(strstr(text.ptr, "  name: mobula.ray\n") && strstr(text.ptr, "\"system:serviceaccount:ray:mobula\""));
    test_case("all namespaces");
    o = install_defaults;
    o.no_crds = o.all_namespaces = true;
    o.replicas = 2;
    text = written(&o, a, &e);
    CHECK_STR(kinds_of(text, a),
              "ServiceAccount ClusterRole ClusterRoleBinding Role RoleBinding NetworkPolicy PodDisruptionBudget Deployment ");
    CHECK(strstr(text.ptr, "        - --all-namespaces\n") && !strstr(text.ptr, "        - --namespace"));
    CHECK(strstr(text.ptr, "namespaceSelector: {}\n"));
    test_case("neither policy nor budget");
    o.with.no_network_policy = true;
    o.all_namespaces = false;
    o.replicas = 1;
    CHECK_STR(kinds_of(written(&o, a, &e), a), "ServiceAccount Role RoleBinding Deployment ");
    CHECK_STR(slice_of(e.text), "");
    test_case("the pod");
    o.registry = SLICE("r.example:5000/x");
    o.pull_secrets = SLICE("one,two");
    o.proxy.url = SLICE("http://u:p@proxy.example:3128");
    o.proxy.no_proxy = SLICE(".svc,10.0.0.0/8");
    o.proxy.proxies = SLICE("hub.example:8443=http://x:y@dmz.example:8118,10.0.0.0/8=direct,.cloud.example=http://cloud.example");
    o.resources = SLICE("memory=128Mi");
    o.with.openshift = true;
    o.with.no_network_policy = false;
    o.args.egress = SLICE("a.example,b.example:8443");
    text = written(&o, a, &e);
    CHECK_STR(slice_of(e.text), "");
    static const char *const holds[] = {"        image: \"r.example:5000/x/mobula:VERSION\"\n",
                                        "      imagePullSecrets:\n      - name: \"one\"\n      - name: \"two\"\n",
                                        "        - {name: HTTPS_PROXY, value: \"http://u:p@proxy.example:3128\"}\n",
                                        "        - {name: NO_PROXY, value: \".svc,10.0.0.0/8\"}\n",
                                        "        - {name: MOBULA_PROXIES, value: \"hub.example:8443=http://x:y@dmz.example:8118,10.0",
                                        "            cpu: \"200m\"\n            memory: \"128Mi\"\n",
                                        "    - {port: 8443, protocol: TCP}\n    - {port: 3128, protocol: TCP}\n",
                                        "    - {port: 8118, protocol: TCP}\n    - {port: 80, protocol: TCP}\n  - to:\n",
                                        "        - --raycronjobs=false\n"};
    for (size_t i = 0; i < COUNT_OF(holds); i++)
        CHECK(text.ptr && strstr(text.ptr, holds[i]));
    CHECK(!strstr(text.ptr, "runAsUser"));
}

static void proxy_secrets(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    test_case("the password of a proxy stays in its Secret");
    o.proxy.url = SLICE("http://$(PROXY_CREDENTIALS)@proxy.example:3128");
    o.proxy.secret = SLICE("proxy");
    CHECK(strstr(written(&o, a, &e).ptr,
                 "        env:\n        - {name: PROXY_CREDENTIALS, valueFrom: {secretKeyRef: {name: \"proxy\", key: \"credentials\"}}}\n"
                 "        - {name: HTTPS_PROXY, value: \"http://$(PROXY_CREDENTIALS)@proxy.example:3128\"}\n"));
    o.proxy.secret = SLICE("proxy/dmz");
    CHECK(strstr(written(&o, a, &e).ptr, "{secretKeyRef: {name: \"proxy\", key: \"dmz\"}}"));
    test_case("a Secret that nothing names");
    o.proxy.url = SLICE("http://proxy.example:3128");
    CHECK(!written(&o, a, &e).ptr);
    CHECK_STR(slice_of(e.text), "--proxy-secret: neither --proxy nor --proxies has $(PROXY_CREDENTIALS) in it, as in "
                                "http://$(PROXY_CREDENTIALS)@proxy.example:3128");
}

/* The control plane, and an operator that calls one. */
static void planes(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    test_case("a control plane");
    o.plane = true;
    o.ns = SLICE("hub");
    o.watch = SLICE("a,b");
    struct slice text = written(&o, a, &e);
    CHECK_STR(kinds_of(text, a), "CustomResourceDefinition CustomResourceDefinition CustomResourceDefinition ClusterRoleBinding "
                                 "ServiceAccount Role RoleBinding Role RoleBinding Service Role RoleBinding NetworkPolicy "
                                 "PodDisruptionBudget Deployment ");
    CHECK(strstr(text.ptr, "  resourceNames: [mobula-control-plane-tls, mobula-control-plane-tls-ca]\n") &&
          strstr(text.ptr,
                 "        - --tls-secret=mobula-control-plane-tls\n        - --tls-name=mobula-control-plane,mobula-control-plane.hub,"
                 "mobula-control-plane.hub.svc,mobula-control-plane.hub.svc.cluster.local\n"));
    CHECK(strstr(text.ptr, "        - --namespace=a,b\n        - --https-addr=:8443\n") && strstr(text.ptr, "  replicas: 2\n"));
    CHECK(strstr(text.ptr, "  name: mobula-control-plane.hub\n") && !strstr(text.ptr, "name: mobula\n") &&
          !strstr(text.ptr, "ray.io/node"));
    o.all_namespaces = true;
    o.watch = SLICE_NONE;
    o.replicas = 1;
    o.no_crds = true;
    o.tls.secret = SLICE("hub-tls");
    text = written(&o, a, &e);
    CHECK_STR(kinds_of(text, a), "ServiceAccount ClusterRole ClusterRoleBinding Service NetworkPolicy Deployment ");
    CHECK(strstr(text.ptr, "          - secret:\n              name: \"hub-tls\"\n"));
    test_case("an operator with a control plane");
    o = install_defaults;
    o.no_crds = true;
    o.hub.url = SLICE("https://hub.example:9443");
    o.hub.cloud = SLICE("cldrsrc_abcdefghijklmnopqrstuvwx");
    text = written(&o, a, &e);
    static const char *const holds[] = {
        "  resources: [rayclusters, rayjobs] # what a control plane asks for",
        "        - --control-plane-url=https://hub.example:9443\n",
        "token-file=/control-plane/token\n",
        ("          sources:\n          - serviceAccountToken: {path: token, audience: mobula.dev/control-plane, expirationSeconds: 3607}\n"
         "          - configMap:\n              name: \"mobula-control-plane-ca\"\n"),
        "    - {port: 9443, protocol: TCP}\n",
        "  resourceNames: [mobula-policy]\n  verbs: [list, watch]\n",
        "        - --policy-configmap=mobula-policy\n",
        "        - --status-addr=127.0.0.1:2113\n"};
    for (size_t i = 0; i < COUNT_OF(holds); i++)
        CHECK(text.ptr && strstr(text.ptr, holds[i]));
    o.hub.default_image = SLICE("registry.bank/ray:2");
    o.hub.token = SLICE("edge/ANYSCALE_CLI_TOKEN");
    o.hub.ca = SLICE("ca/x.crt");
    text = written(&o, a, &e);
    CHECK(strstr(text.ptr,
                 "              name: \"edge\"\n              items:\n              - {key: \"ANYSCALE_CLI_TOKEN\", path: token}\n"));
    CHECK(strstr(text.ptr, "              - {key: \"x.crt\", path: ca.crt}\n") && !strstr(text.ptr, "egress-ca"));
    CHECK(strstr(text.ptr, "        - --default-image=registry.bank/ray:2\n"));
    test_case("CAs of a proxy that opens TLS");
    o.args.egress_ca = SLICE("corp");
    text = written(&o, a, &e);
    CHECK(strstr(text.ptr, "        - --egress-ca-file=/control-plane/egress-ca.crt\n"));
    CHECK(strstr(text.ptr, "              name: \"corp\"\n              items:\n              - {key: \"ca.crt\", path: egress-ca.crt}\n"));
    CHECK_STR(slice_of(e.text), "");
}

static void nodes_reported(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    test_case("the right to list nodes is there only when it is asked for");
    o.no_crds = true;
    o.hub.url = SLICE("https://hub.example");
    o.hub.cloud = SLICE("cldrsrc_abcdefghijklmnopqrstuvwx");
    CHECK(!strstr(written(&o, a, &e).ptr, "ClusterRole"));
    o.with.report_nodes = true;
    struct slice text = written(&o, a, &e);
    CHECK(strstr(text.ptr, "kind: ClusterRole\nmetadata:\n  name: mobula.mobula.nodes\n") && strstr(text.ptr, "resources: [nodes]"));
}

/* The program in a ConfigMap of its own name, which its bytes decide. */
static void without_a_registry(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    test_case("registryless");
    o.no_crds = true;
    o.program.bytes = SLICE("\177ELF");
    o.program.arch = SLICE("arm64");
    o.image = SLICE("registry.k8s.io/pause:3.10");
    struct slice text = written(&o, a, &e), name = install_program_name(false, o.program.bytes, a);
    static const char *const holds[] = {
        "# Larger than what kubectl apply keeps in an annotation: kubectl apply --server-side -f FILE\napiVersion: v1\nkind: ConfigMap\n",
        "  mobula: f0VMRg==\n",
        "immutable: true\n",
        "        command: [/program/mobula]\n",
        "      nodeSelector: {\"kubernetes.io/arch\":\"arm64\"}\n",
        "        - name: program\n          mountPath: /program\n          readOnly: true\n      volumes:\n"};
    for (size_t i = 0; i < COUNT_OF(holds); i++)
        CHECK(text.ptr && strstr(text.ptr, holds[i]));
    CHECK(strstr(text.ptr, arena_printf(a, "kind: ConfigMap\nmetadata:\n  name: %.*s\n", SLICE_ARG(name)).ptr));
    CHECK(strstr(text.ptr, arena_printf(a, "          name: %.*s\n          defaultMode: 0555\n", SLICE_ARG(name)).ptr));
    CHECK(!slice_eq(name, install_program_name(false, SLICE("other"), a)));
    test_case("INSTALL_PROGRAM_MAX");
    char *large = arena_alloc(a, INSTALL_PROGRAM_MAX + 1);
    memset(large, 'x', INSTALL_PROGRAM_MAX + 1);
    struct buf out;
    buf_init(&out, INSTALL_TEXT_MAX);
    o.program.bytes = (struct slice){large, INSTALL_PROGRAM_MAX};
    CHECK(install_write(&o, &out, &e));
    o.program.bytes.len++;
    CHECK(!install_write(&o, &out, &e) && e.code == ERR_LIMIT);
    buf_free(&out);
}

static struct jval nodes(const char *text, struct arena *a)
{
    struct err e = {0};
    struct json *doc = arena_new(a, struct json);
    CHECK(json_parse(doc, slice_of(text), a, &e));
    return json_root(doc);
}

#define NODE(arch, ready, images)                                                                                                          \
    "{\"status\":{\"nodeInfo\":{\"architecture\":\"" arch "\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"" ready                    \
    "\"}],\"images\":[{\"names\":[" images "]}]}}"

static void images_of_nodes(struct arena *a)
{
    static const struct {
        const char *nodes, *image, *error;
    } cases[] = {
        {NODE("amd64", "True", "\"registry.k8s.io/pause:3.10\"") "," NODE("amd64", "True", "\"x/y:1\",\"registry.k8s.io/pause:3.10\""),
         "registry.k8s.io/pause:3.10", NULL},
        {NODE("amd64", "True", "\"a/pause:1\",\"b/pause:2\"") "," NODE("amd64", "True", "\"b/pause:2\""), "b/pause:2", NULL},
        {NODE("amd64", "True", "\"a/pause:1\"") "," NODE("arm64", "True", "\"b/pause:2\"") "," NODE("amd64", "False", ""), "a/pause:1",
         NULL},
        {NODE("amd64", "True", "\"a/pause:1\"") "," NODE("amd64", "True", "\"b/pause:2\""), NULL, "a/pause:1 is on 1 of 2"},
        {NODE("amd64", "True", "\"a/pauses:1\",\"a/paus\""), NULL, "no node says that it has an image called pause"},
        {NODE("arm64", "True", "\"a/pause:1\""), NULL, "no node is ready that runs programs for amd64"},
        {"", NULL, "no node is ready"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice image = SLICE_NONE;
        struct err e = {0};
        test_case("image %zu", i);
        bool found = program_choose(nodes(arena_printf(a, "{\"items\":[%s]}", cases[i].nodes).ptr, a), SLICE("amd64"), a, &image, &e);
        CHECK(found == (cases[i].image != NULL));
        if (found)
            CHECK_STR(image, cases[i].image);
        else
            CHECK(strstr(e.text, cases[i].error) != NULL);
    }
    struct slice arch;
    struct err e = {0};
    test_case("architectures");
    char head[20] = "\177ELF";
    head[18] = 62;
    CHECK(program_arch((struct slice){head, sizeof head}, &arch, &e) && slice_eq(arch, SLICE("amd64")));
    head[18] = (char)183;
    CHECK(program_arch((struct slice){head, sizeof head}, &arch, &e) && slice_eq(arch, SLICE("arm64")));
    CHECK(!program_arch((struct slice){head, sizeof head - 1}, &arch, &e));
    head[18] = 3;
    CHECK(!program_arch((struct slice){head, sizeof head}, &arch, &e));
}

/* What is in the repository for `kubectl apply -f` and `kubectl delete -f`. */
static void as_a_file(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    struct buf out;
    test_case("airgap/operator.yaml is what mobula install --print --no-crds --namespace ray prints");
    o.no_crds = true;
    o.ns = SLICE("ray");
    buf_init(&out, MIB);
    CHECK(install_write(&o, &out, &e));
    CHECK_SLICE(buf_slice(&out), read_file("airgap/operator.yaml", a));
    buf_free(&out);
}

static void limits(struct arena *a)
{
    struct buf watch;
    buf_init(&watch, KIB);
    for (int i = 0; i < CLI_NAMESPACES_MAX; i++)
        buf_printf(&watch, "%sn%d", i ? "," : "", i);
    struct install_options o = install_defaults;
    o.watch = buf_slice(&watch);
    o.replicas = INSTALL_REPLICAS_MAX;
    struct err e = {0};
    test_case("CLI_NAMESPACES_MAX");
    CHECK(written(&o, a, &e).ptr);
    buf_put(&watch, SLICE(",one-more"));
    o.watch = buf_slice(&watch);
    CHECK(!written(&o, a, &e).ptr);
    CHECK_INT(e.code, ERR_LIMIT);
    buf_free(&watch);
}

static void sts(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    o.hub.url = SLICE("https://hub.example");
    o.hub.cloud = SLICE("cldrsrc_0123456789abcdefghijklmn");
    test_case("STS behind a port of its own: the NetworkPolicy opens it");
    o.hub.sts = SLICE("https://sts.bank.example:4566");
    struct slice text = written(&o, a, &e);
    CHECK(text.ptr && strstr(text.ptr, "    - {port: 4566, protocol: TCP}\n"));
    CHECK(strstr(text.ptr, "    - ipBlock: {cidr: 169.254.170.23/32}\n"));
    CHECK_STR(slice_of(e.text), "");
    test_case("STS at its usual port, which is open");
    o.hub.sts = SLICE("https://sts.eu-west-1.amazonaws.com");
    text = written(&o, a, &e);
    CHECK(text.ptr && text.len && !strstr(text.ptr, "{port: 4566,") && strstr(text.ptr, "--sts-url=https://sts.eu-west-1.amazonaws.com\n"));
    test_case("a host without a scheme is refused before anything is installed");
    o.hub.sts = SLICE("sts.amazonaws.com");
    CHECK(!written(&o, a, &e).ptr);
    CHECK_STR(slice_of(e.text), "--sts-url: want http[s]://HOST[:PORT]");
}

static void buckets(struct arena *a)
{
    struct err e = {0};
    struct install_options o = install_defaults;
    struct slice text;
    test_case("a bucket for logs, with its Secret, CA and port");
    o.bucket.url = SLICE("s3://ray/a");
    o.bucket.endpoint = SLICE("https://minio.example:9000");
    o.bucket.secret = SLICE("keys");
    o.bucket.ca = SLICE("corp/store.crt");
    text = written(&o, a, &e);
    CHECK(strstr(text.ptr, "        - --bucket=s3://ray/a\n        - --bucket-endpoint=https://minio.example:9000\n"));
    CHECK(
        strstr(text.ptr,
               "        - --bucket-secret=keys\n        - --bucket-credentials-dir=/bucket\n        - --bucket-ca-file=/bucket/ca.crt\n"));
    CHECK(strstr(text.ptr, "          - secret: {name: \"keys\", optional: true}\n"));
    CHECK(strstr(text.ptr, "              - {key: \"store.crt\", path: ca.crt}\n") &&
          strstr(text.ptr, "    - {port: 9000, protocol: TCP}\n"));
    CHECK(!strstr(text.ptr, "--bucket-virtual-host") && !strstr(text.ptr, "169.254."));
    CHECK_STR(slice_of(e.text), "");
    test_case("the bucket in its host's name");
    o.bucket.virtual_host = true;
    text = written(&o, a, &e);
    CHECK(strstr(text.ptr, "        - --bucket-virtual-host\n        - --bucket-secret=keys\n"));
    test_case("without a Secret the servers that issue credentials to the pod's identity may be contacted");
    o.bucket.secret = SLICE("");
    text = written(&o, a, &e);
    CHECK(strstr(text.ptr, "    - ipBlock: {cidr: 169.254.170.23/32}\n") && strstr(text.ptr, "    - {port: 988, protocol: TCP}\n"));
    o.bucket.secret = SLICE("keys");
    o.bucket.url = SLICE("");
    o.bucket.endpoint = o.bucket.secret = o.bucket.ca = SLICE("");
    CHECK(!written(&o, a, &e).ptr);
    CHECK_STR(slice_of(e.text), "--bucket-\xe2\x80\xa6 flags need --bucket");
    e = (struct err){0};
    o.bucket.url = SLICE("s3://ray/a");
    o.bucket.secret = SLICE("keys");
    o.bucket.virtual_host = false;
    test_case("what the operator could not read is refused before anything is installed");
    o.bucket.keep = SLICE("a month");
    CHECK(!written(&o, a, &e).ptr);
    CHECK_STR(slice_of(e.text), "--bucket-retention: \"a month\" is not a duration such as 500ms, 5s or 1m30s");
    e = (struct err){0};
    o.bucket.keep = SLICE("30d");
    o.bucket.keep_bytes = SLICE("many");
    CHECK(!written(&o, a, &e).ptr && strstr(e.text, "--bucket-retention-bytes: quantity \"many\""));
    e = (struct err){0};
    o.bucket.keep_bytes = SLICE("100Gi");
    CHECK(written(&o, a, &e).ptr);
    o.args.service_auth = SLICE("1 day");
    CHECK(!written(&o, a, &e).ptr);
    CHECK_STR(slice_of(e.text), "--service-auth: \"1 day\" is not a duration such as 500ms, 5s or 1m30s");
    e = (struct err){0};
    o.args.service_auth = o.bucket.keep = o.bucket.keep_bytes = SLICE("");
    test_case("without a bucket its other flags are refused");
    o.bucket.endpoint = SLICE("https://minio.example:9000");
    o.bucket.url = SLICE("");
    CHECK(!written(&o, a, &e).ptr);
    CHECK_STR(slice_of(e.text), "--bucket-\xe2\x80\xa6 flags need --bucket");
}

int main(void)
{
    struct arena a = {0};
    golden(&a);
    shapes(&a);
    egress(&a);
    one_kind(&a);
    definitions(&a);
    parts(&a);
    placed(&a);
    proxy_secrets(&a);
    planes(&a);
    nodes_reported(&a);
    without_a_registry(&a);
    images_of_nodes(&a);
    as_a_file(&a);
    limits(&a);
    sts(&a);
    buckets(&a);
    arena_free(&a);
    return test_done();
}
