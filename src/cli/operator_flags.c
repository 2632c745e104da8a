#include "operator_flags.h"

#include <mobula/command.h>
#include <mobula/route.h>

#define AT(field) offsetof(struct operator_flags, field)
static const struct flag list[] = {
    {"namespace", FLAG_LIST, AT(namespaces), "NS[,NS…]"},
    {"all-namespaces", FLAG_SWITCH, AT(all_namespaces), NULL},
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
    {"kinds", FLAG_TEXT, AT(kinds), "all|ray.io|legacy"},
    {"tools", FLAG_TEXT, AT(tools), "configmap|image:REF|none"},
    {"tools-resources", FLAG_TEXT, AT(tools_resources), "cpu=N,memory=N"},
    {"autoscaler", FLAG_TEXT, AT(autoscaler), "operator|sidecar|off"},
    {"submitter", FLAG_TEXT, AT(submitter), "operator|pod"},
    {"ray-access", FLAG_TEXT, AT(ray_access), "direct|service|proxy"},
    {"cluster-domain", FLAG_TEXT, AT(cluster_domain), "DOMAIN"},
    {"egress-allow", FLAG_TEXTS, AT(egress), "HOST[:PORT][,…]"},
    {"egress-ca-file", FLAG_TEXT, AT(egress_ca), "FILE"},
    {"egress-strict", FLAG_SWITCH, AT(egress_strict), NULL},
    {NULL, FLAG_EACH, AT(optional), NULL},
    {"zoneinfo", FLAG_TEXT, AT(zoneinfo), "DIR"},
    {"leader-elect", FLAG_SWITCH, AT(lease.elect), NULL},
    {"lease-namespace", FLAG_TEXT, AT(lease.ns), "NS"},
    {"lease-name", FLAG_TEXT, AT(lease.name), "NAME"},
    {"lease-duration", FLAG_DURATION, AT(lease.lease_ms), "TIME"},
    {"renew-deadline", FLAG_DURATION, AT(lease.renew_ms), "TIME"},
    {"retry-period", FLAG_DURATION, AT(lease.retry_ms), "TIME"},
    {"identity", FLAG_TEXT, AT(lease.identity), "NAME"},
    {NULL, FLAG_EACH, AT(settings), NULL},
    {"policy-file", FLAG_TEXT, AT(plane.policy_file), "FILE"},
    DEFAULT_PATCHES_FLAGS(AT(defaults)),
    {"unscheduled-timeout", FLAG_DURATION, AT(wait.unscheduled_ms), "TIME"},
    {"zone-starting-timeout", FLAG_DURATION, AT(wait.zone_ms), "TIME"},
    {"workload-starting-timeout", FLAG_DURATION, AT(wait.starting_ms), "TIME"},
    {"spot-fallback", FLAG_DURATION, AT(wait.spot_fallback_ms), "TIME"},
    {"spot-retry", FLAG_DURATION, AT(wait.spot_retry_ms), "TIME"},
    {"control-plane-url", FLAG_TEXT, AT(plane.url), "URL"},
    {"cloud-deployment-id", FLAG_TEXT, AT(plane.cloud), "ID"},
    {"control-plane-token-file", FLAG_TEXT, AT(plane.token), "FILE"},
    {"sts-url", FLAG_TEXT, AT(plane.sts), "URL"},
    {"control-plane-own-token", FLAG_SWITCH, AT(plane.own), NULL},
    {"control-plane-ca-file", FLAG_TEXT, AT(plane.ca), "FILE"},
    {"default-image", FLAG_TEXT, AT(plane.image), "REF"},
    {"agent", FLAG_TEXT, AT(plane.agent), "off|operator|direct"},
    {"agent-resources", FLAG_TEXT, AT(plane.agent_resources), "cpu=N,memory=N"},
    {"agent-addr", FLAG_TEXT, AT(plane.agent_addr), "[HOST]:PORT"},
    {"agent-url", FLAG_TEXT, AT(plane.agent_url), "URL"},
    BUCKET_FLAGS(AT(bucket)),
    {"health-addr", FLAG_TEXT, AT(serve.health), "[HOST]:PORT"},
    {"status-addr", FLAG_TEXT, AT(serve.status), "[HOST]:PORT"},
    {"exclude-component-verification", FLAG_TEXTS, AT(excluded), "NAME[,…]"},
    {"gateway-name", FLAG_TEXT, AT(route.gateway), "NAME"},
    {"gateway-namespace", FLAG_TEXT, AT(route.gateway_ns), "NS"},
    {"ingress-class", FLAG_TEXT, AT(route.ingress_class), "NAME"},
    {"route-ca", FLAG_TEXT, AT(route.ca), "NAME"},
    {"route-hosts", FLAG_LIST, AT(route.hosts), "HOST[,HOST]"},
    {"domain", FLAG_TEXT, AT(route.domain), "DOMAIN"},
    {"service-auth", FLAG_DURATION, AT(route.service_auth_ms), "TIME"},
    {"metrics-addr", FLAG_TEXT, AT(serve.metrics), "[HOST]:PORT"},
    TLS_FLAG,
    SANDBOX_FLAG(AT(sandbox)),
    {"log-level", FLAG_TEXT, AT(log.level), "debug|info|warn|error"},
    {"log-format", FLAG_TEXT, AT(log.format), "logfmt|json"},
};
#undef AT
/* A switch for each optional kind, and the flags of settings. */
static bool each_flag(size_t n, struct flag *row, const char **help)
{
    if (row->at == offsetof(struct operator_flags, settings))
        return cli_setting_flag(n, row);
    const struct kind *k = cli_kind_switch(n, row);
    if (k)
        *help = k->optional.run;
    return k != NULL;
}

const struct flags operator_flags = {
    .usage = "mobula operator [--namespace NS[,NS…]] [--kubeconfig FILE] [FLAG…]",
    .list = list,
    .count = COUNT_OF(list),
    .each = each_flag,
};

void operator_flags_init(struct operator_flags *o)
{
    *o = (struct operator_flags){
        .kinds = SLICE("all"),
        .tools = SLICE("configmap"),
        .autoscaler = SLICE("operator"),
        .submitter = SLICE("operator"),
        .ray_access = SLICE("direct"),
        .cluster_domain = SLICE("cluster.local"),
        .zoneinfo = SLICE("/usr/share/zoneinfo"),
        .serve.health = SLICE(":8081"),
        .serve.metrics = SLICE(":8080"),
        .sandbox = SLICE("auto"),
        .plane.agent = SLICE("off"),
        .plane.agent_addr = SLICE(":8082"),
        .log.level = SLICE("info"),
        .log.format = SLICE("logfmt"),
        .lease.name = SLICE("mobula"),
        .wait.unscheduled_ms = RAYCLUSTER_UNSCHEDULED_MS,
        .wait.zone_ms = RAYCLUSTER_ZONE_MS,
        .wait.starting_ms = RAYCLUSTER_STARTING_MS,
        .wait.spot_fallback_ms = RAYCLUSTER_SPOT_FALLBACK_MS,
        .wait.spot_retry_ms = RAYCLUSTER_SPOT_RETRY_MS,
        .lease.lease_ms = KUBE_LEASE_MS,
        .lease.renew_ms = KUBE_LEASE_RENEW_MS,
        .lease.retry_ms = KUBE_LEASE_RETRY_MS,
    };
    memset(o->optional, true, sizeof o->optional);
    for (size_t i = 0; setting_kinds[i]; i++)
        o->settings[i].key = setting_kinds[i]->key;
}

static bool check_name(struct slice name, const char *of, const char *flag, struct err *e)
{
    return slice_empty(name) || name_dns1123_subdomain(name) ||
           err_set(e, ERR_CONFIG, "--%s: \"%.*s\" is not the name of a %s", flag, SLICE_ARG(name), of);
}

static bool check_settings(const struct operator_flags *o, struct err *e)
{
    for (size_t i = 0; setting_kinds[i]; i++)
        if (!check_name(o->settings[i].name, "ConfigMap", setting_kinds[i]->flags[0], e))
            return false;
    return true;
}

bool operator_flags_check(const struct operator_flags *o, struct err *e)
{
    struct ray_options tools;
    bool pods;
    if (o->lease.lease_ms <= o->lease.renew_ms || o->lease.renew_ms * 5 <= o->lease.retry_ms * 6)
        return err_set(e, ERR_CONFIG, "--lease-duration must be above --renew-deadline, and that above 1.2 times --retry-period");
    enum cli_scaler scaler;
    enum operator_access access;
    enum operator_kinds family;
    return cli_access(o->ray_access, &access, e) && cli_kinds(o->kinds, &family, e) && cli_scaler(o->autoscaler, &scaler, e) &&
           cli_tools(o->tools, &tools, e) && cli_resources("tools-resources", o->tools_resources, &tools.tools_resources, e) &&
           cli_resources("agent-resources", o->plane.agent_resources, &tools.agent_resources, e) &&
           cli_submitter(o->submitter, &tools, &pods, e) && cli_domain(o->cluster_domain, e) && check_settings(o, e) &&
           check_name(o->route.ca, "Secret", "route-ca", e) && cli_route_hosts(o->route.hosts, e) &&
           (slice_empty(o->route.domain) || route_domain_check(o->route.domain, e)) && defaults_check(&o->defaults, e);
}
