#include "start.h"
#include "cli.h"

#include <stdio.h>

/* The chart writes what it means for nodes into the ConfigMap of its patches. */
#define PROVIDER "cloud-provider"

/* Its flags as data. A row without a flag of ours has no meaning here; one that gets a meaning gets its flag here. A flag of ours with its
 * value stands for whatever value the other has. */
static const struct foreign {
    const char *theirs, *ours;
} table[] = {
    {"log-level", "log-level"},
    {"log-file", NULL}, /* the log goes to stderr, as for every pod */
    {"cloud-deployment-id", NULL},
    {"control-plane-url", NULL},
    {PROVIDER, NULL},
    {"unscheduled-pod-reaper-termination-threshold", "unscheduled-timeout"},
    {"unscheduled-pod-reaper-reconcile-interval", NULL},
    {"kubernetes-client-rate-limiter-qps", NULL},
    {"kubernetes-client-rate-limiter-burst", NULL},
    {"aws-region", NULL},
    {"region", NULL},
    {"patch-config-path", "patches-configmap=patches"}, /* where the chart mounts that ConfigMap */
    {"enable-gateway", NULL},
    {"gateway-name", "gateway-name"},
    {"gateway-namespace", "gateway-namespace"},
    {"gateway-hostname", NULL},
    {"gateway-ip", NULL},
    {"gateway-api-version", NULL},
    {"service-auth-fallback-enabled", NULL},
    {"system-logs-ingress-proxy-port", NULL},
    {"system-metrics-ingress-proxy-port", NULL},
    {"vector-enrichment-table-path", NULL},
    {"kube-config", "kubeconfig"},
    {"enable-leader-election", "leader-elect"},
    {"leader-election-lease-namespace", "lease-namespace"},
    {"leader-election-lease-name", "lease-name"},
    {"exclude-component-verification", "exclude-component-verification"},
    {"enable-status-reporting", NULL},
    {"operator-version", NULL},
    {"auth-audience", NULL},
    {"instance-types-config-map-name", "instance-types-configmap"},
    {"enable-cross-namespace-resource-management", "all-namespaces"},
};

/* Where its probes and scrapers look. */
static const char *const places[] = {"--health-addr=:8081", "--metrics-addr=:2112", "--status-addr=:2113"};

static const struct foreign *find(struct slice name)
{
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (slice_eq(name, slice_of(table[i].theirs)))
            return &table[i];
    return NULL;
}

static bool put(struct start *out, struct slice argument, struct arena *a, struct err *e)
{
    if (out->count == START_ARGUMENTS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d arguments (START_ARGUMENTS_MAX)", START_ARGUMENTS_MAX);
    char *copy = arena_alloc(a, argument.len + 1);
    memcpy(copy, argument.ptr, argument.len);
    copy[argument.len] = '\0';
    out->list[out->count++] = copy;
    return true;
}

static bool take(struct slice argument, struct start *out, struct arena *a, struct err *e)
{
    bool flag = slice_starts(argument, SLICE("--"));
    struct slice value = flag ? slice_skip(argument, 2) : SLICE_NONE, name = slice_cut(&value, '=');
    const struct foreign *f = flag ? find(name) : NULL;
    if (!f || !value.ptr)
        return err_set(e, ERR_CONFIG, "start: \"%.*s\" is not a flag of this chart's operator (version 1.8.0), as --NAME=VALUE",
                       SLICE_ARG(argument));
    if (f->ours)
        return slice_empty(value) ||
               put(out, strchr(f->ours, '=') ? arena_printf(a, "--%s", f->ours) : arena_printf(a, "--%s=%.*s", f->ours, SLICE_ARG(value)),
                   a, e);
    if (slice_is(name, PROVIDER))
        out->provider = value;
    else if (!slice_has(out->ignored, arena_printf(a, "--%s", f->theirs).ptr))
        out->ignored = arena_printf(a, "%.*s%s--%s", SLICE_ARG(out->ignored), slice_empty(out->ignored) ? "" : ", ", f->theirs);
    return true;
}

bool start_arguments(int argc, char **argv, struct arena *a, struct start *out, struct err *e)
{
    *out = (struct start){.provider = SLICE(""), .ignored = SLICE("")};
    put(out, SLICE("operator"), a, e);
    for (size_t i = 0; i < COUNT_OF(places); i++)
        put(out, slice_of(places[i]), a, e);
    for (int i = 0; i < argc; i++)
        if (!slice_eq(slice_of(argv[i]), SLICE("start")) && !take(slice_of(argv[i]), out, a, e))
            return false;
    return true;
}

int cli_start(int argc, char **argv)
{
    struct start s;
    struct err e = {0};
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    if (!start_arguments(argc, argv, &a, &s, &e)) {
        cli_fail(&e);
        return STATUS_USAGE;
    }
    if (!slice_empty(s.provider))
        log_info("--" PROVIDER
                 " adds no patches of this program: the chart has written those of its provider into ConfigMap patches, which "
                 "is in force",
                 LF("provider", s.provider));
    if (!slice_empty(s.ignored))
        log_info("flags of the Anyscale operator have no meaning here and are ignored", LF("flags", s.ignored));
    return cli_operator(s.count, s.list);
}
