/* The flags of mobula install and mobula upgrade. */
#include "install_command.h"

static const struct flag list[] = {
#define AT(field) offsetof(struct install_options, field)
    {"print", FLAG_SWITCH, AT(mode.print), NULL},
    {"apply", FLAG_SWITCH, AT(mode.apply), NULL},
    {"dry-run", FLAG_SWITCH, AT(mode.dry_run), NULL},
    {"timeout", FLAG_DURATION, AT(timeout_ms), "TIME"},
    TLS_FLAG,
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
    {"namespace", FLAG_TEXT, AT(ns), "NS"},
    {"watch-namespace", FLAG_LIST, AT(watch), "NS[,NS...]"},
    {"create-namespace", FLAG_SWITCH, AT(create_namespace), NULL},
    {"all-namespaces", FLAG_SWITCH, AT(all_namespaces), NULL},
    {"crds-only", FLAG_SWITCH, AT(crds_only), NULL},
    {"no-crds", FLAG_SWITCH, AT(no_crds), NULL},
    {"kinds", FLAG_TEXT, AT(args.kinds), "ray.io|legacy|all"},
    {NULL, FLAG_EACH, AT(optional), NULL},
    POD_FLAGS(0),
    {"registryless", FLAG_SWITCH, AT(program.registryless), NULL},
    {"program", FLAG_TEXT, AT(program.file), "FILE"},
    {"values", FLAG_TEXT, AT(values), "FILE"},
    {"proxy", FLAG_TEXT, AT(proxy.url), "URL"},
    {"no-proxy", FLAG_LIST, AT(proxy.no_proxy), "LIST"},
    {"proxies", FLAG_LIST, AT(proxy.proxies), "ENTRY=URL|direct[,...]"},
    {"proxy-secret", FLAG_TEXT, AT(proxy.secret), "SECRET[/KEY]"},
    {"no-network-policy", FLAG_SWITCH, AT(with.no_network_policy), NULL},
    {"no-admission-policy", FLAG_SWITCH, AT(with.no_admission_policy), NULL},
    {"leader-elect", FLAG_SWITCH, AT(leader_elect), NULL},
    {"tools", FLAG_TEXT, AT(args.tools), "configmap|image:REF|none"},
    {"tools-resources", FLAG_TEXT, AT(args.tools_resources), "cpu=N,memory=N"},
    {"agent-resources", FLAG_TEXT, AT(args.agent_resources), "cpu=N,memory=N"},
    {"autoscaler", FLAG_TEXT, AT(args.autoscaler), "operator|sidecar|off"},
    {"submitter", FLAG_TEXT, AT(args.submitter), "operator|pod"},
    {"ray-access", FLAG_TEXT, AT(args.ray_access), "direct|service|proxy"},
    {"egress-allow", FLAG_LIST, AT(args.egress), "HOST[:PORT][,...]"},
    {"egress-strict", FLAG_SWITCH, AT(args.egress_strict), NULL},
    {"shapes", FLAG_SWITCH, AT(with.shapes), NULL},
    DEFAULT_PATCHES_FLAGS(AT(defaults)),
    {"control-plane-url", FLAG_TEXT, AT(hub.url), "URL"},
    {"cloud-deployment-id", FLAG_TEXT, AT(hub.cloud), "ID"},
    {"control-plane-token", FLAG_TEXT, AT(hub.token), "SECRET[/KEY]"},
    {"sts-url", FLAG_TEXT, AT(hub.sts), "URL"},
    {"control-plane-ca", FLAG_TEXT, AT(hub.ca), "CONFIGMAP[/KEY]"},
    {"egress-ca", FLAG_TEXT, AT(args.egress_ca), "CONFIGMAP[/KEY]"},
    {"default-image", FLAG_TEXT, AT(hub.default_image), "REF"},
    {"bucket", FLAG_TEXT, AT(bucket.url), "URL"},
    {"bucket-endpoint", FLAG_TEXT, AT(bucket.endpoint), "URL"},
    {"bucket-region", FLAG_TEXT, AT(bucket.region), "NAME"},
    {"bucket-virtual-host", FLAG_SWITCH, AT(bucket.virtual_host), NULL},
    {"bucket-retention", FLAG_TEXT, AT(bucket.keep), "TIME"},
    {"bucket-retention-bytes", FLAG_TEXT, AT(bucket.keep_bytes), "QUANTITY"},
    {"bucket-secret", FLAG_TEXT, AT(bucket.secret), "NAME"},
    {"bucket-ca", FLAG_TEXT, AT(bucket.ca), "CONFIGMAP[/KEY]"},
    {"report-nodes", FLAG_SWITCH, AT(with.report_nodes), NULL},
    {"control-plane", FLAG_SWITCH, AT(plane), NULL},
    {"tls-secret", FLAG_TEXT, AT(tls.secret), "NAME"},
    {"tls-self-made", FLAG_TEXT, AT(tls.made), "NAME"},
    {"tls-name", FLAG_LIST, AT(tls.names), "NAME[,...]"},
    {"agent", FLAG_SWITCH, AT(with.agent), NULL},
    {"agent-direct", FLAG_SWITCH, AT(with.agent_direct), NULL},
    {"drop-flags", FLAG_SWITCH, AT(mode.drop_flags), NULL},
    {"ray-auth", FLAG_SWITCH, AT(with.ray_auth), NULL},
    {"route-ca", FLAG_TEXT, AT(args.route_ca), "NAME"},
    {"route-hosts", FLAG_LIST, AT(args.route_hosts), "HOST[,HOST]"},
    {"domain", FLAG_TEXT, AT(args.domain), "DOMAIN"},
    {"service-auth", FLAG_TEXT, AT(args.service_auth), "TIME"},
    {"gateway-name", FLAG_TEXT, AT(args.gateway), "NAME"},
    {"gateway-namespace", FLAG_TEXT, AT(args.gateway_ns), "NS"},
    {"ingress-class", FLAG_TEXT, AT(args.ingress_class), "NAME"},
#undef AT
};

/* A switch for each optional kind. */
static bool kind_flag(size_t n, struct flag *row, const char **help)
{
    const struct kind *k = cli_kind_switch(n, row);
    if (k)
        *help = k->optional.install;
    return k != NULL;
}

const struct flags install_flags = {
    .usage = "mobula install --print|--apply [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
    .each = kind_flag,
};

const struct flags upgrade_flags = {
    .usage = "mobula upgrade [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
    .each = kind_flag,
};
