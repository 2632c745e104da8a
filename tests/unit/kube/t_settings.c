/* Kubeconfigs as whole files: what is refused before anything is loaded, and with which words; and credentials at their limits. */
#include "../test.h"

#include "src/kube/config.h"

#include <sys/stat.h>

static char dir[] = "/tmp/mobula-t-settings-XXXXXX";

#define CONTEXT "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
#define CLUSTER "clusters: [{name: c, cluster: {server: 'http://h'}}]\n"
#define USER(text) CONTEXT CLUSTER "users: [{name: u, user: {" text "}}]\n"
#define EXEC(text) USER("exec: {apiVersion: client.authentication.k8s.io/v1, " text "}")
#define NINE "a, a, a, a, a, a, a, a, a"
#define HUNDRED NINE ", " NINE ", " NINE ", " NINE ", " NINE ", " NINE ", " NINE ", " NINE ", " NINE ", " NINE ", " NINE ", a"

static const struct {
    const char *id, *text, *want; /* want: what the error says; "": none */
} files[] = {
    {"anonymous", "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n" CLUSTER, ""},
    {"no YAML", "a: [", "config"},
    {"two documents", "a: 1\n---\nb: 2\n", "holds 2 documents"},
    {"nothing is current", CLUSTER, "no current-context"},
    {"the context is not there", "current-context: nope\n" CLUSTER, "there is no context \"nope\""},
    {"a user who is not there", CONTEXT CLUSTER, "names the user \"u\", who is not there"},
    {"a namespace that is a number", "current-context: x\ncontexts: [{name: x, context: {cluster: c, namespace: 5}}]\n" CLUSTER,
     "namespace must be a string"},
    {"a server that is a number", CONTEXT "clusters: [{name: c, cluster: {server: 5}}]\n", "cluster \"c\": server must be a string"},
    {"an empty user", CONTEXT CLUSTER "users: [{name: u}]\n", ""},
    {"a key without its certificate", USER("client-key: /nowhere/key"), "belong together"},
    {"bytes that are no base64", USER("client-certificate-data: '%'"), "client-certificate-data"},
    {"the same of the key", USER("client-key-data: '%'"), "client-key-data"},
    {"DEL in a token", USER("token: \"a\\x7f\""), "holds white space"},
    {"DEL in a name to impersonate", USER("as: \"a\\x7f\""), "control characters"},
    {"a uid without a name", USER("as-uid: '7'"), "need \"as\""},
    {"extras without a name", USER("as-user-extra: {k: [v]}"), "need \"as\""},
    {"LIMIT_KUBE_IMPERSONATE values", USER("as: a, as-user-extra: {k: [" NINE "], l: [a, a, a, a, a, a, a]}"), ""},
    {"LIMIT_KUBE_IMPERSONATE values and one", USER("as: a, as-user-extra: {k: [" NINE "], l: [a, a, a, a, a, a, a, a]}"),
     "LIMIT_KUBE_IMPERSONATE"},
    {"a plugin without a command", EXEC("args: [a]"), "has no command"},
    {"a plugin whose command is a number", EXEC("command: 5"), "command must be a string"},
    {"a plugin that wants a terminal", EXEC("command: x, interactiveMode: Always"), "interactiveMode: Always"},
    {"a plugin with too many arguments", EXEC("command: x, args: [" HUNDRED "]"), "more than"},
    {"a plugin with too many variables", EXEC("command: x, env: [" HUNDRED "]"), "more than"},
    {"a plugin from PATH that is not there", EXEC("command: mobula-no-such-plugin"), "mobula-no-such-plugin"},
    {"a proxy without a user",
     CONTEXT "clusters: [{name: c, cluster: {server: 'http://h', proxy-url: 'http://p:1'}}]\nusers: [{name: u}]\n", ""},
    {"a proxy's user that is no percent-encoding",
     CONTEXT "clusters: [{name: c, cluster: {server: 'http://h', proxy-url: 'http://u%zz@p:1'}}]\nusers: [{name: u}]\n",
     "not percent-encoded"},
    {"a proxy's port that is none",
     CONTEXT "clusters: [{name: c, cluster: {server: 'http://h', proxy-url: 'http://p:0'}}]\nusers: [{name: u}]\n", "is no port"},
};

static void put_file(const char *path, struct slice text)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(text.ptr ? text.ptr : "", 1, text.len, f) == text.len);
    if (f)
        fclose(f);
}

/* Loads the file; want as above. The configuration, or NULL. */
static struct kube_config *load(const char *path, const char *want)
{
    struct err e = {0};
    struct kube_config *c = kube_config_load(&(struct kube_config_options){.kubeconfig = path, .allow_exec = true}, &e);
    bool right = *want ? !c && strstr(e.text, want) : c != NULL;
    if (!CHECK(right))
        printf("  error \"%s\"\n", e.text);
    return c;
}

static void check_files(void)
{
    char path[256];
    snprintf(path, sizeof path, "%s/config", dir);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        test_case("1.7 %s", files[i].id);
        put_file(path, slice_of(files[i].text));
        kube_config_free(load(path, files[i].want));
    }
    unlink(path);
}

static void check_relative(void)
{
    char before[4096];
    test_case("1.7 a kubeconfig named without a folder: paths in it are relative to where we are");
    if (!getcwd(before, sizeof before) || chdir(dir) != 0)
        abort();
    put_file("config", SLICE(USER("tokenFile: token")));
    put_file("token", SLICE("here"));
    struct kube_config *c = load("config", "");
    if (c)
        CHECK_STR(kube_config_authorization(c), "Bearer here");
    kube_config_free(c);
    unlink("config");
    unlink("token");
    if (chdir(before) != 0)
        abort();
}

static void check_odd_files(void)
{
    struct arena a = {0};
    struct err e = {0};
    struct buf out;
    char path[256];
    snprintf(path, sizeof path, "%s/config", dir);
    test_case("a folder is no kubeconfig, and neither is something inside of a file");
    load(dir, "is no regular file");
    load("/dev/null/config", "cannot open /dev/null/config");
    test_case("a token from a file that does not say how long it is");
    put_file(path, SLICE(USER("tokenFile: /proc/sys/kernel/ostype")));
    struct kube_config *c = load(path, "");
    if (c)
        CHECK_STR(kube_config_authorization(c), "Bearer Linux");
    kube_config_free(c);
    for (size_t more = 0; more < 2; more++) {
        test_case("a file of the buffer's size - 1 + %zu", more);
        put_file(path, arena_printf(&a, "%0*d", 99 + (int)more, 0));
        buf_init(&out, 100);
        CHECK(kube_file_read(path, &out, &e) == (more == 0));
        CHECK_INT(e.code, more ? ERR_LIMIT : ERR_NONE);
        buf_free(&out);
    }
    unlink(path);
    arena_free(&a);
}

static void check_long_basic(void)
{
    enum { TOO_LONG = 4 * KIB };
    struct arena a = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/config", dir);
    char *text = arena_alloc(&a, TOO_LONG);
    memset(text, 'p', TOO_LONG);
    test_case("a password, and a proxy's, beyond what a header holds");
    put_file(path, arena_printf(&a, CONTEXT CLUSTER "users: [{name: u, user: {username: u, password: %.*s}}]\n", TOO_LONG, text));
    load(path, "username and password are too long");
    put_file(path,
             arena_printf(
                 &a, CONTEXT "clusters: [{name: c, cluster: {server: 'http://h', proxy-url: 'http://%.*s%.*s@p'}}]\nusers: [{name: u}]\n",
                 TOO_LONG, text, TOO_LONG, text));
    load(path, "proxy-url");
    unlink(path);
    arena_free(&a);
}

static void check_settled(void)
{
    struct arena a = {0};
    struct buf b;
    bool changed;
    char path[256];
    snprintf(path, sizeof path, "%s/config", dir);
    buf_init(&b, MIB);
    buf_put(&b, SLICE(CONTEXT CLUSTER "users: [{name: u, user: {token: t, client-certificate-data: "));
    base64_encode(read_file("tests/data/kube/certs/client.pem", &a), &b);
    buf_put(&b, SLICE(", client-key-data: "));
    base64_encode(read_file("tests/data/kube/certs/client.key", &a), &b);
    buf_put(&b, SLICE("}}]\n"));
    put_file(path, buf_slice(&b));
    test_case("what came as bytes is loaded once");
    struct kube_config *c = load(path, "");
    struct tls_identity *before = c ? c->identity : NULL;
    CHECK(before && kube_config_reload(c, (struct now){0}, true, &changed, NULL) && !changed && c->identity == before);
    CHECK_STR(kube_config_authorization(c), "Bearer t");
    kube_config_free(c);
    unlink(path);
    buf_free(&b);
    arena_free(&a);
}

static void check_incluster(void)
{
    struct arena a = {0};
    struct err e = {0};
    char path[256];
    test_case("1.7 a pod without the port of its API server");
    setenv("KUBERNETES_SERVICE_HOST", "api.test", 1);
    unsetenv("KUBERNETES_SERVICE_PORT");
    CHECK(kube_config_incluster(dir, &e) == NULL && e.code == ERR_MISSING);
    test_case("1.7 in a pod, nothing else is asked; a namespace that is none is passed over");
    setenv("KUBERNETES_SERVICE_PORT", "8443", 1);
    e = (struct err){0};
    CHECK(kube_config_load(&(struct kube_config_options){0}, &e) == NULL && strstr(e.text, "in-cluster") != NULL);
    static const char *const names[] = {"ca.crt", "token", "namespace"};
    snprintf(path, sizeof path, "%s/ca.crt", dir);
    put_file(path, read_file("tests/data/kube/certs/ca.pem", &a));
    snprintf(path, sizeof path, "%s/token", dir);
    put_file(path, SLICE("t"));
    snprintf(path, sizeof path, "%s/namespace", dir);
    put_file(path, SLICE("No_Namespace"));
    e = (struct err){0};
    struct kube_config *c = kube_config_incluster(dir, &e);
    struct net_allow *allow = net_allow_new();
    CHECK(c && slice_eq(c->namespace_, SLICE("default")) && kube_config_allow(c, allow, &e));
    test_case("its setting is named when the port is another");
    CHECK(!net_allow_check(allow, SLICE("api.test"), 1, &e) && strstr(e.text, "KUBERNETES_SERVICE_HOST") != NULL);
    net_allow_free(allow);
    kube_config_free(c);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    arena_free(&a);
}

static const struct {
    const char *text, *want; /* "tls host port path user", or what the error says */
    bool ok;
} urls[] = {
    {"https://A-z_09.Test", "1 A-z_09.Test 443  ", true},
    {"http://h:1/", "0 h 1  ", true},
    {"http://h:65535/a/b//", "0 h 65535 /a/b ", true},
    {"https://u:p@w@h", "1 h 443  u:p@w", true},
    {"https://[fd00::1]/x", "1 fd00::1 443 /x ", true},
    {"https://h:65536", "is no port", false},
    {"https://h:0", "is no port", false},
    {"https://h:x", "is no port", false},
    {"https://h/#a", "query or a fragment", false},
    {"https://[10.0.0.1]", "no host name", false},
    {"https://[fd00::g]", "no host name", false},
    {"https://[fd00::1]8443", "no host name", false},
    {"https://h{", "no host name", false},
    {"https://h@:1", "no host name", false},
    {"https://", "no host name", false},
    {"HTTPS://h", "1 h 443  ", true},
    {"Http://h", "0 h 80  ", true},
    {"ftp://h", "must begin with", false},
    {"", "must begin with", false},
};

/* However a proxy's URL is written wrongly, its password stays in the file. */
static void check_passwords(void)
{
    static const char *const wrong[] = {
        "user:secret@proxy:3128",   "socks5://user:secret@proxy",    "htp://user:secret@proxy", "http:/user:secret@proxy",
        "http://user:secret@pro y", "http://user:secret/more@proxy", "http://secret$/@proxy",   "http://user:secret@proxy:99999",
        "user:secret://a@proxy:1",  "https://user:secret@proxy",     "http://u:secret%zz@p",    "http://user:secret@proxy/?q",
    };
    struct arena a = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/config", dir);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct err e = {0};
        test_case("no error quotes the password of proxy-url: '%s'", wrong[i]);
        put_file(path,
                 arena_printf(&a, CONTEXT "clusters: [{name: c, cluster: {server: 'https://h', proxy-url: '%s'}}]\nusers: [{name: u}]\n",
                              wrong[i]));
        CHECK(kube_config_load(&(struct kube_config_options){.kubeconfig = path}, &e) == NULL);
        CHECK(strstr(e.text, "proxy-url") != NULL && strstr(e.text, "secret") == NULL);
    }
    unlink(path);
    arena_free(&a);
}

/* Nor is what YAML takes for a number or a truth, or cannot read: a kubeconfig holds passwords, and its errors go to the log. */
static void check_guesses(void)
{
    static const struct {
        const char *text, *secret, *error;
    } wrong[] = {
        {"token: 01234567", "1234567", "token must be a string: put quotes around it"},
        {"password: 0b1101", "1101", "password must be a string: put quotes around it"},
        {"password: YES", "YES", "password must be a string: put quotes around it"},
        {"password: &hunter2 [*hunter2]", "hunter2", "this alias stands inside of its own anchor's value"},
        {"password: *hunter2", "hunter2", "no anchor stands before this alias: \"…\""},
        {"password: !!int hunter2", "hunter2", "its tag does not take this text: \"…\""},
        {"hunter2: 1\n    hunter2: 2", "hunter2", "this key stands twice: \"…\""},
        {"as: a\n    as-groups: [g, YES]", "YES", "as-groups must be strings: put quotes around each"},
        {"as: a\n    as-user-extra: {k: [0x77]}", "77", "the values of as-user-extra must be strings: put quotes around each"},
        {"exec: {command: c, args: [hunter, 0x77]}", "77", "args of the exec plugin must be strings: put quotes around each"},
        {"exec: {command: c, env: [{name: E, value: 0x77}]}", "77",
         "names and values of the exec plugin's env must be strings: put quotes "},
    };
    struct arena a = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/config", dir);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct err e = {0};
        test_case("no error quotes what a kubeconfig says: '%s'", wrong[i].text);
        put_file(path, arena_printf(&a, CONTEXT CLUSTER "users:\n- name: u\n  user:\n    %s\n", wrong[i].text));
        CHECK(kube_config_load(&(struct kube_config_options){.kubeconfig = path, .allow_exec = true}, &e) == NULL);
        CHECK(strncmp(e.text, path, strlen(path)) == 0);
        const char *told = e.text + strlen(path); /* the folder's random name may hold anything */
        if (!CHECK(strstr(told, wrong[i].secret) == NULL && strstr(told, wrong[i].error) != NULL))
            printf("  got %s\n", e.text);
    }
    unlink(path);
    arena_free(&a);
}

/* A file that a tool has written, with anchors and a byte order mark. */
static void check_anchors(void)
{
    struct arena a = {0};
    char path[256];
    struct err e = {0};
    test_case("a kubeconfig with anchors, a merge key and a byte order mark");
    snprintf(path, sizeof path, "%s/config", dir);
    put_file(path, SLICE("\xef\xbb\xbf"
                         "current-context: &n rig\r\n"
                         "contexts: [{name: *n, context: {cluster: *n, user: *n}}]\r\n"
                         "clusters: [{name: *n, cluster: {server: 'https://h'}}]\r\n"
                         "users: [{name: *n, user: {<<: {token: t}, token: !!str 007}}]\r\n"));
    struct kube_config *config = kube_config_load(&(struct kube_config_options){.kubeconfig = path}, &e);
    if (CHECK(config != NULL))
        CHECK_STR(kube_config_authorization(config), "Bearer 007");
    kube_config_free(config);
    unlink(path);
    arena_free(&a);
}

static void check_urls(void)
{
    struct arena a = {0};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct kube_url u;
        struct err e = {0};
        test_case("URL \"%s\"", urls[i].text);
        bool ok = kube_url_parse(guarded(slice_of(urls[i].text)), "server", &u, &e);
        CHECK(ok == urls[i].ok);
        if (ok)
            CHECK_STR(arena_printf(&a, "%d %.*s %u %.*s %.*s", u.tls, SLICE_ARG(u.host), u.port, SLICE_ARG(u.path), SLICE_ARG(u.user)),
                      urls[i].want);
        else
            CHECK(strstr(e.text, urls[i].want) != NULL);
    }
    char *host = arena_alloc(&a, LIMIT_NET_HOST + 1);
    memset(host, 'h', LIMIT_NET_HOST + 1);
    for (int more = 0; more < 2; more++) {
        struct kube_url u;
        struct err e = {0};
        test_case("LIMIT_NET_HOST + %d", more);
        CHECK(kube_url_parse(arena_printf(&a, "https://%.*s", LIMIT_NET_HOST + more, host), "server", &u, &e) == (more == 0));
    }
    arena_free(&a);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    if (!mkdtemp(dir))
        abort();
    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("HTTPS_PROXY");
    unsetenv("https_proxy");
    check_files();
    check_relative();
    check_odd_files();
    check_long_basic();
    check_settled();
    check_incluster();
    check_urls();
    check_passwords();
    check_guesses();
    check_anchors();
    CHECK(rmdir(dir) == 0);
    return test_done();
}
