/* `mobula check`: the table of checks, and how their rows are told. */
#include "check.h"
#include "cli.h"

#include <stdio.h>

enum { CHECK_OUTPUT_MAX = 4 * MIB, CHECK_PAGES_MAX = 200 };
enum { STATUS_FAILED = 3, STATUS_WARNED = 4 };

static const struct check_entry {
    const char *name;
    void (*run)(struct check *c);
    bool needs_server;
} checks[] = {
    {"server", check_server, false},
    {"tls", check_tls, false},
    {"clock", check_clock, true},
    {"proxy", check_proxy, false},
    {"dns", check_dns, true},
    {"reach", check_reach, false},
    {"operators", check_operators, true},
    {"origin", check_origin, true},
    {"lease", check_lease, true},
    {"policies", check_policies, true},
    {"network", check_network, true},
    {"rights", check_rights, true},
    {"account", check_account, true},
    {"control-plane", check_plane, true},
    {"sandbox", check_sandbox, false},
    {"definitions", check_definitions, true},
    {"namespace", check_namespace, true},
    {"pods", check_pods, true},
    {"quota", check_quota, true},
    {"limits", check_limits, true},
    {"classes", check_classes, true},
    {"nodes", check_nodes, true},
    {"pull-secrets", check_pull_secrets, true},
    {"certificates", check_certificates, true},
    {"idle", check_idle, true},
    {"storage", check_storage, false},
};

/* ---- rows ---- */

void check_say(struct check *c, enum check_result result, const char *remedy, const char *fmt, ...)
{
    char line[ERR_TEXT_MAX], clean[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    c->results[result]++;
    if (c->count == CHECK_ROWS_MAX) {
        c->beyond++;
        return;
    }
    struct slice text = arena_dup(c->a, utf8_clean(slice_of(line), clean, sizeof clean));
    c->rows[c->count++] = (struct check_row){c->current, result, text, remedy};
}

static const char *const result_names[] = {[CHECK_PASS] = "pass", [CHECK_SKIP] = "skip", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail"};

static void write_json(const struct check *c, struct buf *out)
{
    struct jout w;
    jout_init(&w, out);
    jout_object(&w);
    jout_karray(&w, "checks");
    for (uint32_t i = 0; i < c->count; i++) {
        const struct check_row *row = &c->rows[i];
        jout_object(&w);
        jout_kstr(&w, "check", slice_of(row->check));
        jout_kstr(&w, "result", slice_of(result_names[row->result]));
        jout_kstr(&w, "found", row->text);
        if (row->remedy)
            jout_kstr(&w, "remedy", slice_of(row->remedy));
        jout_end(&w);
    }
    jout_end(&w);
    for (size_t i = 0; i < COUNT_OF(result_names); i++)
        jout_kint(&w, result_names[i], c->results[i]);
    jout_end(&w);
    buf_putc(out, '\n');
}

void check_write(const struct check *c, struct buf *out)
{
    if (slice_eq(c->o->output, SLICE("json"))) {
        write_json(c, out);
        return;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        const struct check_row *row = &c->rows[i];
        buf_printf(out, "%s  %-13s %.*s\n", result_names[row->result], row->check, SLICE_ARG(row->text));
        if (row->remedy)
            buf_printf(out, "      %-13s -> %s\n", "", row->remedy);
    }
    if (c->beyond > 0)
        buf_printf(out, "and %u more rows\n", c->beyond);
    buf_printf(out, "passed: %u, skipped: %u, warnings: %u, failed: %u\n", c->results[CHECK_PASS], c->results[CHECK_SKIP],
               c->results[CHECK_WARN], c->results[CHECK_FAIL]);
}

int check_status(const struct check *c)
{
    return c->results[CHECK_FAIL] ? STATUS_FAILED : c->results[CHECK_WARN] ? STATUS_WARNED : STATUS_OK;
}

/* ---- questions ---- */

/* A status that is not 2xx, and not 404, as a row. A right that is missing is a gap in what was checked, and no fault of the cluster. */
static void say_refused(struct check *c, struct slice path, const struct ask_answer *answer)
{
    char words[ASK_WORDS];
    bool rights = answer->reason == KUBE_FORBIDDEN;
    check_say(c, rights ? CHECK_SKIP : CHECK_FAIL, rights ? "run it as a user who may read this, or leave it to the cluster's admin" : NULL,
              "GET %.*s: %s", SLICE_ARG(path), ask_words(answer, words));
}

bool check_get(struct check *c, struct slice path, struct jval *object, bool *absent)
{
    struct ask_answer answer = {0};
    struct err e = {0};
    *absent = false;
    if (!ask_get(&c->ask, path, NULL, c->a, &answer, &e)) {
        check_say(c, CHECK_FAIL, NULL, "GET %.*s: %s", SLICE_ARG(path), e.text);
        return false;
    }
    *absent = answer.code == 404;
    if (answer.code >= 300) {
        if (!*absent)
            say_refused(c, path, &answer);
        return false;
    }
    struct json *doc = arena_new(c->a, struct json);
    if (!json_parse(doc, answer.body, c->a, &e)) {
        check_say(c, CHECK_FAIL, "something between here and the API server answers in its place", "GET %.*s: no JSON: %s", SLICE_ARG(path),
                  e.text);
        return false;
    }
    *object = json_root(doc);
    return true;
}

bool check_list(struct check *c, struct slice path, check_item *item, void *state)
{
    struct slice more = SLICE_NONE;
    for (unsigned page = 0; page < CHECK_PAGES_MAX; page++) {
        struct jval list, key, one;
        bool absent;
        __attribute__((cleanup(buf_free))) struct buf to;
        buf_init(&to, LIMIT_HTTP_URL);
        buf_put(&to, path);
        kube_query(&to, "limit", SLICE("50"));
        if (!slice_empty(more))
            kube_query(&to, "continue", more);
        if (!check_get(c, buf_slice(&to), &list, &absent)) {
            if (absent)
                check_say(c, CHECK_SKIP, NULL, "GET %.*s: the server does not have this", SLICE_ARG(path));
            return false;
        }
        for (struct jiter it = json_iter(json_key(list, SLICE("items"))); json_next(&it, &key, &one);)
            item(c, state, one);
        more = json_get_str(list, "metadata.continue", c->a);
        if (slice_empty(more))
            return true;
    }
    check_say(c, CHECK_SKIP, NULL, "GET %.*s: only the first %d pages were read", SLICE_ARG(path), CHECK_PAGES_MAX);
    return true;
}

/* ---- the command ---- */

static const struct flag list[] = {
#define AT(field) offsetof(struct check_options, field)
    {"n", FLAG_TEXT, AT(ns), "NS", "where clusters are to run (default: that of the context or service account)"},
    {"operator-namespace", FLAG_TEXT, AT(operator_ns), "NS", "where the operator runs, or will (the same, else mobula)"},
    {"image", FLAG_TEXT, AT(image), "REF", "of the pods that are tried in a dry run (rayproject/ray:2.52.0)"},
    {"reach", FLAG_LIST, AT(reach), "HOST[:PORT][,...]", "what must be reached from here, through the proxy where HTTPS_PROXY says so"},
    {"bucket", FLAG_TEXT, AT(bucket), "s3://BUCKET[/NAME]", "writes, reads and deletes an object there, as mobula storage check does"},
    {"idle", FLAG_DURATION, AT(idle_ms), "TIME",
     "how long the path to the API server keeps idle connections: tried up to this time, such as 5m, which it takes"},
    {"cluster-domain", FLAG_TEXT, AT(cluster_domain), "DOMAIN", "of the cluster's DNS (cluster.local)"},
    {"output", FLAG_TEXT, AT(output), "text|json", "lines (default) or one JSON object"},
    {"support-bundle", FLAG_TEXT, AT(support), "FILE", "write a tar of logs, objects and events without secrets, for support"},
    ASK_TIMEOUT_FLAG(AT(timeout_ms)),
    TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE",
     "how to reach the API server (default: $KUBECONFIG, else in-cluster, else ~/.kube/config)"},
    {"context", FLAG_TEXT, AT(context), "NAME", "of the kubeconfig (default: its current-context)"},
#undef AT
};

static const struct flags flags = {
    .examples = "mobula check -n team-a --reach registry.bank.example:5000",
    .usage = "mobula check [FLAG...]",
    .about =
        "Checks a cluster and the way to it, before an installation or after. It changes nothing in it: it reads, and tries pods in a dry "
        "run.\n"
        "Exit status: 0 all passed, 1 an error that was printed, 2 wrong usage, 3 a check failed, 4 there are only warnings. What could\n"
        "not be looked at for lack of rights is said, and changes no exit status.",
    .list = list,
    .count = COUNT_OF(list),
};

static void run_all(struct check *c)
{
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        c->current = checks[i].name;
        if (c->ask.signal == 0 && !(c->unreachable && checks[i].needs_server))
            checks[i].run(c);
    }
}

static int run(struct check *c)
{
    struct err e = {0};
    c->ask.timeout_ms = c->o->timeout_ms;
    if (!ask_open(&c->ask, c->o->kubeconfig, c->o->context, &e))
        return cli_fail(&e);
    c->ns = slice_empty(c->o->ns) ? c->ask.config->namespace_ : c->o->ns;
    c->deployment = c->args = (struct jval){.at = -1};
    c->operator_ns = slice_empty(c->o->operator_ns) ? SLICE("mobula") : c->o->operator_ns;
    run_all(c);
    __attribute__((cleanup(buf_free))) struct buf out;
    buf_init(&out, CHECK_OUTPUT_MAX);
    check_write(c, &out);
    if (!cli_print(buf_slice(&out)))
        return STATUS_ERROR;
    if (c->ask.signal)
        return 128 + c->ask.signal;
    if (!slice_empty(c->o->support) && !check_support(c, &e))
        return cli_fail(&e);
    return check_status(c);
}

int cli_check(int argc, char **argv)
{
    struct check_options o = {.output = SLICE("text"), .image = SLICE("rayproject/ray:2.52.0"), .cluster_domain = SLICE("cluster.local")};
    struct err e = {0};
    int status;
    if (!flags_parse(&flags, argc, argv, &o, &status))
        return status;
    if (!slice_eq(o.output, SLICE("text")) && !slice_eq(o.output, SLICE("json")))
        return flags_wrong(&flags, "--output: want text or json");
    if ((!slice_empty(o.ns) && !cli_namespace(o.ns, "--namespace", &e)) ||
        (!slice_empty(o.operator_ns) && !cli_namespace(o.operator_ns, "--operator-namespace", &e)) || !cli_domain(o.cluster_domain, &e))
        return flags_wrong(&flags, "%s", e.text);
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct check *c = arena_new(&a, struct check);
    c->o = &o;
    c->a = &a;
    c->wall_us = clock_now().wall_us;
    status = run(c);
    ask_close(&c->ask);
    return status;
}
