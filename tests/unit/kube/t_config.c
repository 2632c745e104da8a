/* Kubeconfigs (rule 1.7): a table of clusters and users, lists of files, files that change. */
#include "../test.h"

#include "src/kube/config.h"

#include <sys/stat.h>

static char dir[] = "/tmp/mobula-t-config-XXXXXX";

static const char *in_dir(const char *name, struct arena *a)
{
    return arena_printf(a, "%s/%s", dir, name).ptr;
}

static void write_file(const char *path, struct slice text)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(text.ptr ? text.ptr : "", 1, text.len, f) == text.len);
    if (f)
        fclose(f);
}

/* A configuration as one line. */
static struct slice describe(const struct kube_config *c, struct arena *a)
{
    struct slice s = arena_printf(a, "%s%s %.*s:%u%.*s name=%.*s ns=%.*s auth=%.*s%s%s", c->tls ? "https" : "http", c->insecure ? "!" : "",
                                  SLICE_ARG(c->host), c->port, SLICE_ARG(c->path_prefix), SLICE_ARG(c->tls_name), SLICE_ARG(c->namespace_),
                                  SLICE_ARG(kube_config_authorization(c)), c->trust ? " trust" : "", c->identity ? " identity" : "");
    if (c->use_proxy)
        s = arena_printf(a, "%.*s proxy=%.*s:%u:%.*s", SLICE_ARG(s), SLICE_ARG(c->proxy.host), c->proxy.port, SLICE_ARG(c->proxy.basic));
    if (c->impersonate_user.len)
        s = arena_printf(a, "%.*s as=%.*s/%.*s", SLICE_ARG(s), SLICE_ARG(c->impersonate_user), SLICE_ARG(c->impersonate_uid));
    for (uint32_t i = 0; i < c->impersonate_group_count; i++)
        s = arena_printf(a, "%.*s +%.*s", SLICE_ARG(s), SLICE_ARG(c->impersonate_groups[i]));
    for (uint32_t i = 0; i < c->impersonate_extra_count; i++)
        s = arena_printf(a, "%.*s %.*s:%.*s", SLICE_ARG(s), SLICE_ARG(c->impersonate_extra[i].name),
                         SLICE_ARG(c->impersonate_extra[i].value));
    return s;
}

#define CA "certificate-authority: CERTS/ca.pem"
#define BASE "server: 'https://api.test', " CA

/* In cluster and user, CERTS is the folder of the certificates, and {{FILE}} the base64 of a file there. */
static const struct {
    const char *id, *cluster, *user, *want; /* want begins with "error: " for what the message must hold */
} cases[] = {
    {"https", BASE, "", "https api.test:443 name=api.test ns=default auth= trust"},
    {"http", "server: 'http://localhost:8001'", "", "http localhost:8001 name=localhost ns=default auth="},
    {"http port", "server: 'http://h'", "", "http h:80 name=h ns=default auth="},
    {"IPv6", "server: 'https://[fd00::1]:6443', " CA, "", "https fd00::1:6443 name=fd00::1 ns=default auth= trust"},
    {"IPv6 without port", "server: 'http://[::1]'", "", "http ::1:80 name=::1 ns=default auth="},
    {"prefix", "server: 'https://r.test/k8s/clusters/c-1/', " CA, "",
     "https r.test:443/k8s/clusters/c-1 name=r.test ns=default auth= trust"},
    {"tls-server-name", BASE ", tls-server-name: other.test", "", "https api.test:443 name=other.test ns=default auth= trust"},
    {"insecure", "server: 'https://api.test', insecure-skip-tls-verify: true", "", "https! api.test:443 name=api.test ns=default auth="},
    {"insecure and CA", BASE ", insecure-skip-tls-verify: true", "", "error: want one of them"},
    {"disable-compression", BASE ", disable-compression: true", "", "https api.test:443 name=api.test ns=default auth= trust"},
    {"CA data", "server: 'https://api.test', certificate-authority-data: {{ca.pem}}", "",
     "https api.test:443 name=api.test ns=default auth= trust"},
    {"-data wins over the file", "server: 'https://api.test', certificate-authority-data: {{ca.pem}}, certificate-authority: /nowhere", "",
     "https api.test:443 name=api.test ns=default auth= trust"},
    {"CA that is no base64", "server: 'https://api.test', certificate-authority-data: '%%%'", "", "error: certificate-authority-data"},
    {"CA that is no PEM", "server: 'https://api.test', certificate-authority-data: aGVsbG8=", "", "error: certificate-authority"},
    {"CA file that is not there", "server: 'https://api.test', certificate-authority: /nowhere/ca.pem", "", "error: /nowhere/ca.pem"},
    {"proxy-url", BASE ", proxy-url: 'http://u:p%40ss@proxy.test:3128'", "",
     "https api.test:443 name=api.test ns=default auth= trust proxy=proxy.test:3128:dTpwQHNz"},
    {"proxy-url with a user and no password", BASE ", proxy-url: 'http://token@proxy.test:3128'", "",
     "https api.test:443 name=api.test ns=default auth= trust proxy=proxy.test:3128:dG9rZW46"},
    {"proxy-url with a colon in its user", BASE ", proxy-url: 'http://a%3Ab:c@proxy.test'", "",
     "https api.test:443 name=api.test ns=default auth= trust proxy=proxy.test:80:YTpiOmM="},
    {"https proxy", BASE ", proxy-url: 'https://proxy.test'", "", "error: only http:// proxies"},
    {"socks proxy", BASE ", proxy-url: 'socks5://proxy.test'", "", "error: proxy-url"},
    {"no server", CA, "", "error: the cluster has no server"},
    {"no scheme", "server: 'api.test:6443'", "", "error: must begin with https:// or http://"},
    {"bad port", "server: 'https://api.test:99999'", "", "error: is no port"},
    {"empty port", "server: 'https://api.test:'", "", "error: is no port"},
    {"bad host", "server: 'https://a b'", "", "error: is no host name or address"},
    {"half IPv6", "server: 'https://[::1'", "", "error: is no host name or address"},
    {"junk behind IPv6", "server: 'https://[::1]x'", "", "error: is no host name or address"},
    {"query", "server: 'https://a/?x=1'", "", "error: query"},
    {"user in the URL", "server: 'https://u:p@api.test', " CA, "", "error: a user in the URL"},
    {"token", BASE, "token: abc", "https api.test:443 name=api.test ns=default auth=Bearer abc trust"},
    {"tokenFile wins over token", BASE, "token: abc, tokenFile: CERTS/../token",
     "https api.test:443 name=api.test ns=default auth=Bearer file-token trust"},
    {"tokenFile that is not there", BASE, "token: abc, tokenFile: /nowhere/token", "error: /nowhere/token"},
    {"token with a line end inside", BASE, "token: \"a\\nb\"", "error: holds white space"},
    {"basic", BASE, "username: u, password: p", "https api.test:443 name=api.test ns=default auth=Basic dTpw trust"},
    {"token wins over basic", BASE, "username: u, password: p, token: t",
     "https api.test:443 name=api.test ns=default auth=Bearer t trust"},
    {"identity files", BASE, "client-certificate: CERTS/client.pem, client-key: CERTS/client.key",
     "https api.test:443 name=api.test ns=default auth= trust identity"},
    {"identity data", BASE, "client-certificate-data: {{client.pem}}, client-key-data: {{client.key}}",
     "https api.test:443 name=api.test ns=default auth= trust identity"},
    {"identity data and file", BASE, "client-certificate-data: {{client.pem}}, client-key: CERTS/client.key",
     "https api.test:443 name=api.test ns=default auth= trust identity"},
    {"key of somebody else", BASE, "client-certificate: CERTS/client.pem, client-key: CERTS/other.key", "error: client-certificate"},
    {"certificate without key", BASE, "client-certificate: CERTS/client.pem", "error: belong together"},
    {"impersonation", BASE, "token: t, as: bob, as-uid: '7', as-groups: [g1, g2], as-user-extra: {a/b: [x, z]}",
     "https api.test:443 name=api.test ns=default auth=Bearer t trust as=bob/7 +g1 +g2 Impersonate-Extra-a%2Fb:x "
     "Impersonate-Extra-a%2Fb:z"},
    {"groups without user", BASE, "as-groups: [g1]", "error: need \"as\""},
    {"LIMIT_KUBE_IMPERSONATE", BASE, "as: b, as-groups: [a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a]",
     "https api.test:443 name=api.test ns=default auth= trust as=b/ +a +a +a +a +a +a +a +a +a +a +a +a +a +a +a +a"},
    {"LIMIT_KUBE_IMPERSONATE + 1", BASE, "as: b, as-groups: [a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a]",
     "error: LIMIT_KUBE_IMPERSONATE"},
    {"a header inside a name", BASE, "as: \"b\\r\\nX: y\"", "error: control characters"},
    {"auth-provider", BASE, "auth-provider: {name: gcp}", "error: auth-provider, which Kubernetes removed"},
    {"a number for a name", BASE, "username: u, password: 12345", "error: password must be a string"},
    {"null is nothing", BASE, "token: null", "https api.test:443 name=api.test ns=default auth= trust"},
    {"exec", BASE, "exec: {command: x}", "error: runs only from a terminal"},
};

static void put_base64(struct buf *out, const char *name)
{
    struct arena a = {0};
    base64_encode(read_file(arena_printf(&a, "tests/data/kube/certs/%s", name).ptr, &a), out);
    arena_free(&a);
}

/* CERTS and {{FILE}} put in. */
static void expand(struct buf *out, const char *text, const char *certs)
{
    for (const char *p = text; *p;) {
        if (strncmp(p, "CERTS", 5) == 0) {
            buf_put(out, slice_of(certs));
            p += 5;
        } else if (strncmp(p, "{{", 2) == 0) {
            char name[32];
            snprintf(name, sizeof name, "%.*s", (int)(strstr(p, "}}") - p - 2), p + 2);
            put_base64(out, name);
            p = strstr(p, "}}") + 2;
        } else {
            buf_putc(out, *p++);
        }
    }
}

static void write_case(const char *path, const char *certs, const char *cluster, const char *user)
{
    struct buf b;
    buf_init(&b, MIB);
    buf_put(&b, SLICE("apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"));
    buf_put(&b, SLICE("clusters: [{name: c, cluster: {"));
    expand(&b, cluster, certs);
    buf_put(&b, SLICE("}}]\nusers: [{name: u, user: {"));
    expand(&b, user, certs);
    buf_put(&b, SLICE("}}]\n"));
    write_file(path, buf_slice(&b));
    buf_free(&b);
}

static void check_load(const struct kube_config_options *o, const char *want)
{
    struct arena a = {0};
    struct err e = {0};
    struct kube_config *c = kube_config_load(o, &e);
    bool fails = slice_starts(slice_of(want), SLICE("error: "));
    if (fails)
        CHECK(c == NULL && strstr(e.text, want + 7) != NULL);
    else
        CHECK_STR(c ? describe(c, &a) : slice_of(e.text), want);
    if (fails && (c || !strstr(e.text, want + 7)))
        printf("  error \"%s\"\n", e.text);
    kube_config_free(c);
    arena_free(&a);
}

static void check_cases(void)
{
    struct arena a = {0};
    char certs[4096];
    const char *path = in_dir("config", &a);
    if (!realpath("tests/data/kube/certs", certs))
        abort();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        test_case("1.7 %s", cases[i].id);
        write_case(path, certs, cases[i].cluster, cases[i].user);
        check_load(&(struct kube_config_options){.kubeconfig = path}, cases[i].want);
    }
    arena_free(&a);
}

static const struct {
    const char *id, *kubeconfig, *list, *context, *want;
} lists[] = {
    {"relative paths, namespace", "tests/data/kube/relative.yaml", NULL, NULL,
     "https api.test:6443 name=api.test ns=team-a auth=Bearer file-token trust identity"},
    {"KUBECONFIG: the first wins, missing files are passed over", NULL,
     "/nowhere/x::tests/data/kube/relative.yaml:tests/data/kube/second.yaml", NULL,
     "https api.test:6443 name=api.test ns=team-a auth=Bearer file-token trust identity"},
    {"KUBECONFIG: the other order", NULL, "tests/data/kube/second.yaml:tests/data/kube/relative.yaml", NULL,
     "http second.test:8080/prefix name=second.test ns=default auth="},
    {"KUBECONFIG: a context over both files", NULL, "tests/data/kube/second.yaml:tests/data/kube/relative.yaml", "mixed",
     "http second.test:8080/prefix name=second.test ns=default auth=Bearer file-token identity"},
    {"--kubeconfig wins over KUBECONFIG", "tests/data/kube/second.yaml", "/nowhere/x", NULL,
     "http second.test:8080/prefix name=second.test ns=default auth="},
    {"no file exists", NULL, "/nowhere/x:/nowhere/y", NULL,
     "error: none of the files in KUBECONFIG=/nowhere/x:/nowhere/y exists and holds anything"},
    {"a file that is empty, alone", NULL, "tests/data/kube/nothing.yaml", NULL,
     "error: none of the files in KUBECONFIG=tests/data/kube/nothing.yaml exists and holds anything"},
    {"a file that is empty, by name", "tests/data/kube/nothing.yaml", NULL, NULL,
     "error: tests/data/kube/nothing.yaml: holds no document: a kubeconfig is one"},
    {"the named file does not exist", "/nowhere/x", NULL, NULL, "error: cannot open /nowhere/x"},
    {"unknown context", "tests/data/kube/relative.yaml", NULL, "nope", "error: there is no context \"nope\""},
    {"context of an unknown cluster", "tests/data/kube/relative.yaml", NULL, "there", "error: names the cluster \"nowhere\""},
    {"no kubeconfig at all", "tests/data/kube/certs/ca.pem", NULL, NULL, "error: tests/data/kube/certs/ca.pem"},
};

static void check_lists(void)
{
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        test_case("1.7 %s", lists[i].id);
        if (lists[i].list)
            setenv("KUBECONFIG", lists[i].list, 1);
        check_load(&(struct kube_config_options){.kubeconfig = lists[i].kubeconfig, .context = lists[i].context}, lists[i].want);
        unsetenv("KUBECONFIG");
    }
}

static void check_home(void)
{
    struct arena a = {0};
    test_case("1.7 nothing is configured");
    setenv("HOME", dir, 1);
    check_load(&(struct kube_config_options){0}, "error: .kube/config does not exist");
    unsetenv("HOME");
    check_load(&(struct kube_config_options){0}, "error: HOME is not set");
    test_case("1.7 ~/.kube/config");
    setenv("HOME", dir, 1);
    CHECK(mkdir(in_dir(".kube", &a), 0700) == 0);
    write_file(in_dir(".kube/config", &a), read_file("tests/data/kube/second.yaml", &a));
    check_load(&(struct kube_config_options){0}, "http second.test:8080/prefix name=second.test ns=default auth=");
    unlink(in_dir(".kube/config", &a));
    rmdir(in_dir(".kube", &a));
    arena_free(&a);
}

static void check_file_limit(void)
{
    struct buf list;
    buf_init(&list, 4 * KIB);
    for (int i = 0; i < LIMIT_KUBE_CONFIG_FILES; i++)
        buf_put(&list, SLICE("tests/data/kube/second.yaml:"));
    test_case("LIMIT_KUBE_CONFIG_FILES");
    buf_putc(&list, '\0');
    setenv("KUBECONFIG", list.ptr, 1);
    check_load(&(struct kube_config_options){0}, "http second.test:8080/prefix name=second.test ns=default auth=");
    list.len--;
    buf_put(&list, SLICE("tests/data/kube/second.yaml"));
    buf_putc(&list, '\0');
    setenv("KUBECONFIG", list.ptr, 1);
    check_load(&(struct kube_config_options){0}, "error: LIMIT_KUBE_CONFIG_FILES");
    unsetenv("KUBECONFIG");
    buf_free(&list);
}

static void check_environment_proxy(void)
{
    setenv("HTTPS_PROXY", "http://proxy.test:3128", 1);
    test_case("1.7 HTTPS_PROXY");
    const struct kube_config_options o = {.kubeconfig = "tests/data/kube/relative.yaml"};
    check_load(&o, "https api.test:6443 name=api.test ns=team-a auth=Bearer file-token trust identity proxy=proxy.test:3128:");
    test_case("1.7 NO_PROXY");
    setenv("NO_PROXY", ".test", 1);
    check_load(&o, "https api.test:6443 name=api.test ns=team-a auth=Bearer file-token trust identity");
    test_case("1.7 an empty variable does not hide the other spelling");
    setenv("NO_PROXY", "", 1);
    setenv("no_proxy", ".test", 1);
    check_load(&o, "https api.test:6443 name=api.test ns=team-a auth=Bearer file-token trust identity");
    unsetenv("no_proxy");
    unsetenv("NO_PROXY");
    setenv("HTTPS_PROXY", "", 1);
    setenv("https_proxy", "http://small.test:3128", 1);
    check_load(&o, "https api.test:6443 name=api.test ns=team-a auth=Bearer file-token trust identity proxy=small.test:3128:");
    setenv("HTTPS_PROXY", "http://proxy.test:3128", 1);
    check_load(&o, "https api.test:6443 name=api.test ns=team-a auth=Bearer file-token trust identity proxy=proxy.test:3128:");
    unsetenv("https_proxy");
    test_case("1.7 http goes direct");
    check_load(&(struct kube_config_options){.kubeconfig = "tests/data/kube/second.yaml"},
               "http second.test:8080/prefix name=second.test ns=default auth=");
    unsetenv("HTTPS_PROXY");
}

static void copy_file(const char *name, const char *to, struct arena *a)
{
    write_file(to, read_file(arena_printf(a, "tests/data/kube/certs/%s", name).ptr, a));
}

static void check_incluster(void)
{
    struct arena a = {0};
    struct err e = {0};
    bool changed;
    struct now now = {.mono_ms = 1000 * 1000};
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    test_case("1.7 in-cluster without its files");
    CHECK(kube_config_incluster(dir, &e) == NULL && strstr(e.text, "in-cluster") != NULL);
    copy_file("ca.pem", in_dir("ca.crt", &a), &a);
    write_file(in_dir("token", &a), SLICE("  one\n"));
    write_file(in_dir("namespace", &a), SLICE("team-b\n"));
    test_case("1.7 in-cluster; the token is trimmed");
    e = (struct err){0};
    struct kube_config *c = kube_config_incluster(dir, &e);
    CHECK_STR(c ? describe(c, &a) : slice_of(e.text), "https fd00::1:443 name=fd00::1 ns=team-b auth=Bearer one trust");
    test_case("1.7 files are read again every minute");
    CHECK(kube_config_reload(c, now, false, &changed, &e) && !changed);
    write_file(in_dir("token", &a), SLICE("two"));
    now.mono_ms += KUBE_RELOAD_MS - 1;
    CHECK(kube_config_reload(c, now, false, &changed, &e));
    CHECK_STR(kube_config_authorization(c), "Bearer one");
    now.mono_ms += 1;
    CHECK(kube_config_reload(c, now, false, &changed, &e) && !changed);
    CHECK_STR(kube_config_authorization(c), "Bearer two");
    test_case("1.7 at once");
    write_file(in_dir("token", &a), SLICE("three"));
    CHECK(kube_config_reload(c, now, true, &changed, &e) && !changed);
    CHECK_STR(kube_config_authorization(c), "Bearer three");
    test_case("1.7 an empty or missing token leaves the old one");
    write_file(in_dir("token", &a), SLICE(""));
    CHECK(!kube_config_reload(c, now, true, &changed, &e) && e.code == ERR_CONFIG);
    unlink(in_dir("token", &a));
    e = (struct err){0};
    CHECK(!kube_config_reload(c, now, true, &changed, &e) && e.code == ERR_MISSING);
    CHECK_STR(kube_config_authorization(c), "Bearer three");
    test_case("1.7 another CA means other connections; garbage leaves the old one");
    copy_file("other.pem", in_dir("ca.crt", &a), &a);
    struct tls_trust *before = c->trust;
    struct slice cluster = kube_config_cluster(c, &a);
    CHECK(slice_starts(cluster, SLICE("fd00::1:443@")) && slice_eq(cluster, kube_config_cluster(c, &a)));
    kube_config_reload(c, now, true, &changed, NULL);
    CHECK(changed && c->trust != before);
    test_case("… and another cluster, though the address is the same");
    CHECK(!slice_eq(cluster, kube_config_cluster(c, &a)));
    before = c->trust;
    write_file(in_dir("ca.crt", &a), SLICE("garbage"));
    kube_config_reload(c, now, true, &changed, NULL);
    CHECK(!changed && c->trust == before);
    kube_config_free(c);
    unsetenv("KUBERNETES_SERVICE_HOST");
    arena_free(&a);
}

static void check_token_limit(void)
{
    struct arena a = {0};
    char *token = arena_alloc(&a, LIMIT_KUBE_TOKEN + 1);
    memset(token, 't', LIMIT_KUBE_TOKEN + 1);
    copy_file("ca.pem", in_dir("ca.crt", &a), &a);
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    for (size_t more = 0; more < 2; more++) {
        struct err e = {0};
        test_case("LIMIT_KUBE_TOKEN + %zu", more);
        write_file(in_dir("token", &a), (struct slice){token, LIMIT_KUBE_TOKEN + more});
        struct kube_config *c = kube_config_incluster(dir, &e);
        CHECK((c != NULL) == (more == 0));
        kube_config_free(c);
    }
    unsetenv("KUBERNETES_SERVICE_HOST");
    arena_free(&a);
}

/* --egress-ca-file: beside the CA that was given, or the machine's own, or alone where there is none. */
static void check_egress_ca(void)
{
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"", "line 1: no certificate found"},
        {"<html>\n<body>403</body>\n", "line 1: no certificate found"},
        {"# ours\n-----BEGIN CERTIFICATE-----\nMIIB\n", "line 2: PEM: BEGIN CERTIFICATE without END CERTIFICATE"},
        {"-----BEGIN CERTIFICATE-----\nM*IB\n-----END CERTIFICATE-----\n", "line 1: PEM: base64 has byte 0x2a"},
        {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "line 1: no certificate found"},
        {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "line 1: none of the 1 certificates"},
    };
    struct arena a = {0};
    bool changed;
    struct kube_config_url o = {.url = "https://hub.test",
                                .setting = "--control-plane-url",
                                .name = "control plane",
                                .token = SLICE("t"),
                                .ca_file = "tests/data/kube/certs/ca.pem",
                                .more_ca_file = in_dir("more.crt", &a)};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err e = {0};
        test_case("garbage in --egress-ca-file: %s", bad[i].error);
        write_file(o.more_ca_file, slice_of(bad[i].text));
        CHECK(!kube_config_url(&o, &e));
        const char *want = arena_printf(&a, "--egress-ca-file %s: %s", o.more_ca_file, bad[i].error).ptr;
        if (!CHECK(slice_has(slice_of(e.text), want)))
            printf("  got  %s\n", e.text);
    }
    for (int own = 0; own < 2; own++) {
        struct err e = {0};
        test_case("--egress-ca-file %s", own ? "beside the machine's CAs, of which there may be none" : "beside another file");
        o.ca_file = own ? NULL : o.ca_file;
        copy_file("other.pem", o.more_ca_file, &a);
        struct kube_config *c = kube_config_url(&o, &e);
        struct tls_trust *before = c ? c->trust : NULL;
        CHECK(before != NULL);
        CHECK(c && kube_config_reload(c, (struct now){0}, true, &changed, &e) && !changed && c->trust == before);
        write_file(o.more_ca_file, SLICE("garbage"));
        CHECK(c && !kube_config_reload(c, (struct now){0}, true, &changed, NULL) && c->trust == before);
        copy_file("ca.pem", o.more_ca_file, &a);
        CHECK(c && kube_config_reload(c, (struct now){0}, true, &changed, &e) && changed && c->trust != before);
        kube_config_free(c);
    }
    unlink(o.more_ca_file);
    arena_free(&a);
}

static void check_half_rotated(void)
{
    struct arena a = {0};
    struct err e = {0};
    bool changed;
    test_case("1.7 a client certificate whose key is not there yet");
    copy_file("client.pem", in_dir("c.pem", &a), &a);
    copy_file("client.key", in_dir("c.key", &a), &a);
    copy_file("ca.pem", in_dir("ca.crt", &a), &a);
    write_case(in_dir("config", &a), dir, "server: 'https://api.test', certificate-authority: ca.crt",
               "client-certificate: c.pem, client-key: c.key");
    struct kube_config *c = kube_config_load(&(struct kube_config_options){.kubeconfig = in_dir("config", &a)}, &e);
    struct tls_identity *before = c ? c->identity : NULL;
    CHECK(before != NULL);
    copy_file("other.pem", in_dir("c.pem", &a), &a);
    CHECK(!kube_config_reload(c, (struct now){0}, true, &changed, &e));
    CHECK(!changed && c->identity == before);
    copy_file("other.key", in_dir("c.key", &a), &a);
    e = (struct err){0};
    CHECK(kube_config_reload(c, (struct now){0}, true, &changed, &e));
    CHECK(changed && c->identity != before);
    kube_config_free(c);
    arena_free(&a);
}

static void check_allow_and_endpoint(void)
{
    struct err e = {0};
    struct endpoint to;
    struct net_allow *allow = net_allow_new();
    test_case("host and proxy go on the allowlist, with the setting's name");
    setenv("HTTPS_PROXY", "http://proxy.test:3128", 1);
    struct kube_config *c = kube_config_load(&(struct kube_config_options){.kubeconfig = "tests/data/kube/relative.yaml"}, &e);
    unsetenv("HTTPS_PROXY");
    CHECK(c && kube_config_allow(c, allow, &e));
    CHECK(net_allow_check(allow, SLICE("api.test"), 6443, &e) && net_allow_check(allow, SLICE("proxy.test"), 3128, &e));
    CHECK(!net_allow_check(allow, SLICE("api.test"), 443, &e));
    kube_config_endpoint(c, &to);
    CHECK_STR(to.host, "api.test");
    CHECK(to.tls && to.trust == c->trust && to.identity == c->identity && to.proxy == &c->proxy && to.port == 6443);
    kube_config_free(c);
    net_allow_free(allow);
}

int main(void)
{
    static const char *const names[] = {"config", "token", "namespace", "ca.crt", "c.pem", "c.key"};
    struct arena a = {0};
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    if (!mkdtemp(dir))
        abort();
    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    check_cases();
    check_lists();
    check_home();
    check_file_limit();
    check_environment_proxy();
    check_incluster();
    check_token_limit();
    check_egress_ca();
    check_half_rotated();
    check_allow_and_endpoint();
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unlink(in_dir(names[i], &a));
    CHECK(rmdir(dir) == 0);
    arena_free(&a);
    return test_done();
}
