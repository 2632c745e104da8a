/* `mobula check`: the table of checks, and the command. */
#include "cli.h"
#include "storage_check.h"

#include <mobula/check.h>

#include <stdio.h>

enum { CHECK_OUTPUT_MAX = 4 * MIB };

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

static const struct flag list[] = {
#define AT(field) offsetof(struct check_options, field)
    {"n", FLAG_TEXT, AT(ns), "NS"},
    {"operator-namespace", FLAG_TEXT, AT(operator_ns), "NS"},
    {"image", FLAG_TEXT, AT(image), "REF"},
    {"reach", FLAG_LIST, AT(reach), "HOST[:PORT][,...]"},
    {"bucket", FLAG_TEXT, AT(bucket), "s3://BUCKET[/NAME]"},
    {"origin", FLAG_TEXT, AT(origin), "URL"},
    {"idle", FLAG_DURATION, AT(idle_ms), "TIME"},
    {"cluster-domain", FLAG_TEXT, AT(cluster_domain), "DOMAIN"},
    {"output", FLAG_TEXT, AT(output), "text|json"},
    {"support-bundle", FLAG_TEXT, AT(support), "FILE"},
    ASK_TIMEOUT_FLAG(AT(timeout_ms)),
    TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
#undef AT
};

static const struct flags flags = {
    .usage = "mobula check [FLAG...]",
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
