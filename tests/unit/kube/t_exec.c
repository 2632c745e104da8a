/* Exec plugins: what they are given, what they may answer, and how they may fail. The plugins are shell scripts. */
#include "../test.h"

#include "src/kube/config.h"

#include <sys/stat.h>

static char dir[] = "/tmp/mobula-t-exec-XXXXXX";

#define V1 "client.authentication.k8s.io/v1"
#define CREDENTIAL(status) "echo '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{" status "}}'"

static const struct {
    const char *id, *version, *script, *want; /* the token, or "error: …" */
} cases[] = {
    {"token", V1, CREDENTIAL("\"token\":\"abc\""), "abc"},
    {"v1beta1", V1 "beta1",
     "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"old\"}}'", "old"},
    {"expiry", V1, CREDENTIAL("\"token\":\"abc\",\"expirationTimestamp\":\"2030-01-01T00:00:00Z\""), "abc"},
    {"the environment", V1,
     "case $KUBERNETES_EXEC_INFO in *'\"interactive\":false'*) " CREDENTIAL("\"token\":\"'$FROM_CONFIG'\"") ";; esac", "xyz"},
    {"arguments", V1, CREDENTIAL("\"token\":\"'$1-$2'\""), "one-two three"},
    {"stdin is empty", V1, "read x || " CREDENTIAL("\"token\":\"abc\""), "abc"},
    {"another version than asked for", V1 "beta1", CREDENTIAL("\"token\":\"abc\""), "error: no ExecCredential of " V1 "beta1"},
    {"a version that is not known", "client.authentication.k8s.io/v1alpha1", "true", "error: is not client.authentication.k8s.io/v1"},
    {"no output", V1, "true", "error: what the exec plugin"},
    {"not JSON", V1, "echo hello", "error: what the exec plugin"},
    {"nothing in it", V1, CREDENTIAL("\"x\":1"), "error: neither a token nor a certificate"},
    {"exit code", V1, CREDENTIAL("\"token\":\"abc\"") "; exit 3", "error: ended with exit code 3"},
    {"signal", V1, "kill -9 $$", "error: ended with signal 9"},
    {"bad expiry", V1, CREDENTIAL("\"token\":\"abc\",\"expirationTimestamp\":\"soon\""), "error: "},
    {"too much output", V1, "yes", "error: wrote more than"},
};

static void write_script(const char *path, const char *body)
{
    FILE *f = fopen(path, "w");
    fprintf(f, "#!/bin/sh\n%s\n", body);
    fclose(f);
    chmod(path, 0700);
}

static void check_cases(void)
{
    char path[256];
    snprintf(path, sizeof path, "%s/plugin", dir);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a = {0};
        struct err e = {0};
        struct kube_exec_result r;
        const char *argv[] = {path, "one", "two three", NULL}, *env[] = {"FROM_CONFIG=xyz", NULL};
        struct kube_exec x = {.api_version = slice_of(cases[i].version), .argv = argv, .env = env};
        write_script(path, cases[i].script);
        test_case("1.7 exec: %s", cases[i].id);
        bool ok = kube_exec_run(&x, &a, &r, &e);
        if (slice_starts(slice_of(cases[i].want), SLICE("error: ")))
            CHECK(!ok && strstr(e.text, cases[i].want + 7) != NULL);
        else
            CHECK_STR(ok ? r.token : slice_of(e.text), cases[i].want);
        if (strcmp(cases[i].id, "expiry") == 0)
            CHECK_INT(r.expires_us, 1893456000000000);
        arena_free(&a);
    }
    unlink(path);
}

static void check_missing(void)
{
    struct arena a = {0};
    struct err e = {0};
    struct kube_exec_result r;
    const char *argv[] = {"/nowhere/plugin", NULL};
    struct kube_exec x = {.api_version = SLICE(V1), .argv = argv};
    test_case("1.7 exec: no such program");
    CHECK(!kube_exec_run(&x, &a, &r, &e) && strstr(e.text, "/nowhere/plugin") != NULL);
    arena_free(&a);
}

static void check_hint(void)
{
    struct arena a = {0};
    struct err e = {0};
    struct kube_exec_result r;
    const char *argv[] = {"/nowhere/plugin", NULL};
    struct kube_exec x = {.api_version = SLICE(V1), .argv = argv, .hint = SLICE("install it\nwith care")};
    test_case("1.7 exec: no such program, and how it is installed");
    CHECK(!kube_exec_run(&x, &a, &r, &e) && strstr(e.text, "Its installHint: install it") != NULL);
    arena_free(&a);
}

static void check_modes(void)
{
    static const struct {
        const char *mode, *error; /* NULL: it runs */
    } modes[] = {{"Never", NULL},
                 {"IfAvailable", NULL},
                 {"Always", "wants to read from the terminal"},
                 {"Sometimes", "must be Never, IfAvailable or Always"}};
    char path[256], plugin[256];
    snprintf(path, sizeof path, "%s/config", dir);
    snprintf(plugin, sizeof plugin, "%s/plugin", dir);
    write_script(plugin, CREDENTIAL("\"token\":\"t\""));
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        struct err e = {0};
        FILE *f = fopen(path, "w");
        fprintf(f,
                "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                "clusters: [{name: c, cluster: {server: 'http://localhost:1'}}]\n"
                "users: [{name: u, user: {exec: {apiVersion: " V1 ", command: ./plugin, interactiveMode: %s}}}]\n",
                modes[i].mode);
        fclose(f);
        test_case("1.7 exec: without a terminal, interactiveMode %s", modes[i].mode);
        struct kube_config *c = kube_config_load(&(struct kube_config_options){.kubeconfig = path, .allow_exec = true}, &e);
        CHECK(modes[i].error ? !c && strstr(e.text, modes[i].error) : c != NULL);
        kube_config_free(c);
    }
    unlink(path);
    unlink(plugin);
}

static void write_config(const char *path)
{
    FILE *f = fopen(path, "w");
    fprintf(f,
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'http://localhost:1'}}]\n"
            "users:\n- name: u\n  user:\n    exec:\n      apiVersion: " V1 "\n      command: ./plugin\n      interactiveMode: IfAvailable\n"
            "      args: [a]\n      env: [{name: K, value: v}]\n");
    fclose(f);
}

static void check_config(void)
{
    char path[256], plugin[256], count[256];
    struct err e = {0};
    bool changed;
    snprintf(path, sizeof path, "%s/config", dir);
    snprintf(plugin, sizeof plugin, "%s/plugin", dir);
    snprintf(count, sizeof count, "%s/count", dir);
    write_config(path);
    char script[1024];
    snprintf(script, sizeof script,
             "echo x >> %s; " CREDENTIAL("\"token\":\"'$K-$1-$(wc -l < %s)'\",\"expirationTimestamp\":\"2030-01-01T00:00:00Z\""), count,
             count);
    write_script(plugin, script);
    test_case("1.7 exec: relative to the kubeconfig, run once");
    struct kube_config *c = kube_config_load(&(struct kube_config_options){.kubeconfig = path, .allow_exec = true}, &e);
    CHECK_STR(c ? kube_config_authorization(c) : slice_of(e.text), "Bearer v-a-1");
    CHECK(kube_config_reload(c, (struct now){.mono_ms = KUBE_RELOAD_MS}, false, &changed, &e) && !changed);
    CHECK_STR(kube_config_authorization(c), "Bearer v-a-1");
    test_case("1.7 exec: 401 runs it again");
    CHECK(kube_config_reload(c, (struct now){.mono_ms = KUBE_RELOAD_MS}, true, &changed, &e));
    CHECK_STR(kube_config_authorization(c), "Bearer v-a-2");
    test_case("1.7 exec: an expired credential runs it again");
    struct now late = {.mono_ms = 3 * KUBE_RELOAD_MS, .wall_us = 1893456000000000};
    CHECK(kube_config_reload(c, late, false, &changed, &e));
    CHECK_STR(kube_config_authorization(c), "Bearer v-a-3");
    kube_config_free(c);
    unlink(path);
    unlink(plugin);
    unlink(count);
}

int main(void)
{
    log_global = (struct log){.level = LOG_ERROR, .fd = -1};
    if (!mkdtemp(dir))
        abort();
    check_cases();
    check_missing();
    check_hint();
    CHECK(freopen("/dev/null", "r", stdin) != NULL);
    check_modes();
    check_config();
    CHECK(rmdir(dir) == 0);
    return test_done();
}
