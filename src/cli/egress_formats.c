/* The formats of `mobula egress`. Hosts, namespaces and networks were checked where they were read, so none holds a character that means
 * something in any of them. */
#include "egress.h"

#include <mobula/json.h>
#include <mobula/yaml.h>

#include <stdio.h>

enum { DNS_PORT = 53 };

static bool has_names(const struct egress *g)
{
    for (const struct net_rule *r = g->rules; r; r = r->next)
        if (r->kind != NET_NETWORK)
            return true;
    return false;
}

/* ---- policies for the operator's pod, as JSON that is written as YAML ---- */

static void policy_begin(struct jout *w, const struct egress *g, const char *version, const char *kind, const char *selector)
{
    jout_object(w);
    jout_kstr(w, "apiVersion", slice_of(version));
    jout_kstr(w, "kind", slice_of(kind));
    jout_kobject(w, "metadata");
    jout_kstr(w, "name", SLICE("mobula-egress"));
    jout_kstr(w, "namespace", g->ns);
    jout_end(w);
    jout_kobject(w, "spec");
    jout_kobject(w, selector);
    jout_kraw(w, "matchLabels", SLICE("{\"app.kubernetes.io/name\":\"mobula\"}"));
    jout_end(w);
}

static void policy_end(struct jout *w, const struct buf *json, struct buf *out)
{
    struct err e = {0};
    jout_end(w);
    jout_end(w);
    if (!yaml_write(buf_slice(json), out, &e))
        fatal("egress: a policy cannot be written as YAML: %s", e.text);
}

/* {key: KEY, operator: In, values: [the watched namespaces]} */
static void namespaces(struct jout *w, const char *key, const struct egress *g)
{
    jout_karray(w, "matchExpressions");
    jout_object(w);
    jout_kstr(w, "key", slice_of(key));
    jout_kstr(w, "operator", g->watch.count ? SLICE("In") : SLICE("Exists"));
    if (g->watch.count)
        jout_karray(w, "values");
    for (uint32_t i = 0; i < g->watch.count; i++)
        jout_str(w, g->watch.list[i]);
    if (g->watch.count)
        jout_end(w);
    jout_end(w);
    jout_end(w);
}

static void kube_port(struct jout *w, uint16_t port, const char *protocol)
{
    jout_object(w);
    jout_kstr(w, "protocol", slice_of(protocol));
    jout_kint(w, "port", port);
    jout_end(w);
}

static void kube_heads(struct jout *w, const struct egress *g)
{
    jout_object(w);
    jout_karray(w, "to");
    jout_object(w);
    jout_kobject(w, "namespaceSelector");
    namespaces(w, "kubernetes.io/metadata.name", g);
    jout_end(w);
    jout_kraw(w, "podSelector", SLICE("{\"matchLabels\":{\"" RAY_LABEL_NODE_TYPE "\":\"head\"}}"));
    jout_end(w);
    jout_end(w);
    jout_karray(w, "ports");
    for (uint32_t i = 0; i < g->head_port_count; i++)
        kube_port(w, g->head_ports[i], "TCP");
    jout_end(w);
    jout_end(w);
}

static void kube_dns(struct jout *w)
{
    jout_object(w);
    jout_kraw(w, "to",
              SLICE("[{\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"kube-system\"}},"
                    "\"podSelector\":{\"matchLabels\":{\"k8s-app\":\"kube-dns\"}}}]"));
    jout_karray(w, "ports");
    kube_port(w, DNS_PORT, "UDP");
    kube_port(w, DNS_PORT, "TCP");
    jout_end(w);
    jout_end(w);
}

static void networkpolicy(const struct egress *g, struct buf *out)
{
    __attribute__((cleanup(buf_free))) struct buf json;
    struct jout w;
    buf_init(&json, MIB);
    jout_init(&w, &json);
    policy_begin(&w, g, "networking.k8s.io/v1", "NetworkPolicy", "podSelector");
    jout_kraw(&w, "policyTypes", SLICE("[\"Egress\"]"));
    jout_karray(&w, "egress");
    for (const struct net_rule *r = g->rules; r; r = r->next) {
        if (r->kind != NET_NETWORK)
            continue;
        jout_object(&w);
        jout_karray(&w, "to");
        jout_object(&w);
        jout_kobject(&w, "ipBlock");
        jout_kstr(&w, "cidr", r->host);
        jout_end(&w);
        jout_end(&w);
        jout_end(&w);
        jout_karray(&w, "ports");
        kube_port(&w, r->port, "TCP");
        jout_end(&w);
        jout_end(&w);
    }
    if (g->heads)
        kube_heads(&w, g);
    if (has_names(g))
        kube_dns(&w);
    jout_end(&w);
    policy_end(&w, &json, out);
}

/* ---- Cilium ---- */

static void cilium_port(struct jout *w, uint16_t port, const char *protocol)
{
    char text[8];
    snprintf(text, sizeof text, "%u", port);
    jout_object(w);
    jout_kstr(w, "port", slice_of(text));
    jout_kstr(w, "protocol", slice_of(protocol));
    jout_end(w);
}

static void cilium_ports(struct jout *w, const uint16_t *ports, uint32_t count)
{
    jout_karray(w, "toPorts");
    jout_object(w);
    jout_karray(w, "ports");
    for (uint32_t i = 0; i < count; i++)
        cilium_port(w, ports[i], "TCP");
    jout_end(w);
    jout_end(w);
    jout_end(w);
}

static void cilium_name(struct jout *w, const struct net_rule *r)
{
    jout_object(w);
    jout_kstr(w, r->kind == NET_NAME ? "matchName" : "matchPattern", r->host);
    jout_end(w);
}

static void cilium_rule(struct jout *w, const struct net_rule *r)
{
    jout_object(w);
    jout_karray(w, r->kind == NET_NETWORK ? "toCIDR" : "toFQDNs");
    if (r->kind == NET_NETWORK)
        jout_str(w, r->host);
    else
        cilium_name(w, r);
    jout_end(w);
    cilium_ports(w, &r->port, 1);
    jout_end(w);
}

/* Cilium learns the addresses of names from the answers that pass it, and lets only questions for these names pass. */
static void cilium_dns(struct jout *w, const struct egress *g)
{
    jout_object(w);
    jout_kraw(w, "toEndpoints",
              SLICE("[{\"matchLabels\":{\"k8s:io.kubernetes.pod.namespace\":\"kube-system\",\"k8s:k8s-app\":\"kube-dns\"}}]"));
    jout_karray(w, "toPorts");
    jout_object(w);
    jout_karray(w, "ports");
    cilium_port(w, DNS_PORT, "ANY");
    jout_end(w);
    jout_kobject(w, "rules");
    jout_karray(w, "dns");
    for (const struct net_rule *r = g->rules; r; r = r->next)
        if (r->kind != NET_NETWORK)
            cilium_name(w, r);
    jout_end(w);
    jout_end(w);
    jout_end(w);
    jout_end(w);
    jout_end(w);
}

static void cilium_heads(struct jout *w, const struct egress *g)
{
    jout_object(w);
    jout_karray(w, "toEndpoints");
    jout_object(w);
    jout_kraw(w, "matchLabels", SLICE("{\"" RAY_LABEL_NODE_TYPE "\":\"head\"}"));
    namespaces(w, "k8s:io.kubernetes.pod.namespace", g);
    jout_end(w);
    jout_end(w);
    cilium_ports(w, g->head_ports, g->head_port_count);
    jout_end(w);
}

static void cilium(const struct egress *g, struct buf *out)
{
    __attribute__((cleanup(buf_free))) struct buf json;
    struct jout w;
    buf_init(&json, MIB);
    jout_init(&w, &json);
    policy_begin(&w, g, "cilium.io/v2", "CiliumNetworkPolicy", "endpointSelector");
    jout_karray(&w, "egress");
    /* The API server's own port is not that of its Service, so the entity has none. */
    if (g->api)
        jout_raw(&w, SLICE("{\"toEntities\":[\"kube-apiserver\"]}"));
    for (const struct net_rule *r = g->rules; r; r = r->next)
        cilium_rule(&w, r);
    if (has_names(g))
        cilium_dns(&w, g);
    if (g->heads)
        cilium_heads(&w, g);
    jout_end(&w);
    policy_end(&w, &json, out);
}

/* ---- Azure Firewall: an ARM template of a rule collection group ---- */

static void azure_sources(struct jout *w, const struct egress *g)
{
    jout_karray(w, "sourceAddresses");
    for (const struct net_rule *r = g->sources; r; r = r->next)
        jout_str(w, r->host);
    if (!g->sources)
        jout_str(w, SLICE("*"));
    jout_end(w);
}

static void azure_list(struct jout *w, const char *key, struct slice only)
{
    jout_karray(w, key);
    jout_str(w, only);
    jout_end(w);
}

static void azure_network_rule(struct jout *w, const struct net_rule *r)
{
    char port[8];
    azure_list(w, "ipProtocols", SLICE("TCP"));
    azure_list(w, "destinationAddresses", r->host);
    azure_list(w, "destinationPorts", (struct slice){port, (size_t)snprintf(port, sizeof port, "%u", r->port)});
}

static void azure_application_rule(struct jout *w, const struct net_rule *r)
{
    char name[LIMIT_NET_HOST + 1];
    struct slice star_first = r->host;
    if (r->kind == NET_WILDCARD) /* the only place where a star may stand there */
        star_first = slice_skip(r->host, (size_t)slice_find(r->host, '*'));
    slice_copy(star_first, name, sizeof name);
    jout_karray(w, "protocols");
    jout_object(w);
    jout_kstr(w, "protocolType", SLICE("Https"));
    jout_kint(w, "port", r->port);
    jout_end(w);
    jout_end(w);
    azure_list(w, "targetFqdns", slice_of(name));
}

/* A collection holds rules of one type. */
static void azure_collection(struct jout *w, const struct egress *g, bool networks, struct buf *out)
{
    bool any = false;
    int number = 0;
    for (const struct net_rule *r = g->rules; r; r = r->next)
        any |= (r->kind == NET_NETWORK) == networks;
    if (!any)
        return;
    jout_object(w);
    jout_kstr(w, "ruleCollectionType", SLICE("FirewallPolicyFilterRuleCollection"));
    jout_kstr(w, "name", networks ? SLICE("mobula-addresses") : SLICE("mobula-names"));
    jout_kint(w, "priority", networks ? 100 : 110);
    jout_kraw(w, "action", SLICE("{\"type\":\"Allow\"}"));
    jout_karray(w, "rules");
    for (const struct net_rule *r = g->rules; r; r = r->next) {
        char name[16];
        number++;
        if ((r->kind == NET_NETWORK) != networks)
            continue;
        buf_putc(out, '\n'); /* a rule a line, for who reads them */
        jout_object(w);
        jout_kstr(w, "ruleType", networks ? SLICE("NetworkRule") : SLICE("ApplicationRule"));
        jout_kstr(w, "name", (struct slice){name, (size_t)snprintf(name, sizeof name, "mobula-%d", number)});
        jout_kstr(w, "description", slice_of(r->setting));
        azure_sources(w, g);
        if (networks)
            azure_network_rule(w, r);
        else
            azure_application_rule(w, r);
        jout_end(w);
    }
    jout_end(w);
    jout_end(w);
}

static void azure_firewall(const struct egress *g, struct buf *out)
{
    struct jout w;
    jout_init(&w, out);
    jout_object(&w);
    jout_kstr(&w, "$schema", SLICE("https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"));
    jout_kstr(&w, "contentVersion", SLICE("1.0.0.0"));
    jout_kraw(&w, "parameters", SLICE("{\"firewallPolicy\":{\"type\":\"string\"},\"priority\":{\"type\":\"int\",\"defaultValue\":200}}"));
    jout_karray(&w, "resources");
    jout_object(&w);
    jout_kstr(&w, "type", SLICE("Microsoft.Network/firewallPolicies/ruleCollectionGroups"));
    jout_kstr(&w, "apiVersion", SLICE("2023-09-01"));
    jout_kstr(&w, "name", SLICE("[concat(parameters('firewallPolicy'), '/mobula-egress')]"));
    jout_kobject(&w, "properties");
    jout_kstr(&w, "priority", SLICE("[parameters('priority')]"));
    jout_karray(&w, "ruleCollections");
    azure_collection(&w, g, true, out);
    azure_collection(&w, g, false, out);
    for (int i = 0; i < 5; i++) /* collections, properties, the resource, resources, all */
        jout_end(&w);
    buf_putc(out, '\n');
}

/* ---- Squid ---- */

/* A name's dots are no wildcards in a regular expression; nothing else in it means something there. */
static void squid_pattern(struct slice host, struct buf *out)
{
    buf_putc(out, '^');
    for (size_t i = 0; i < host.len; i++) {
        if (host.ptr[i] == '*')
            buf_put(out, SLICE("[a-z0-9_-]+"));
        else if (host.ptr[i] == '.')
            buf_put(out, SLICE("\\."));
        else
            buf_putc(out, host.ptr[i]);
    }
    buf_putc(out, '$');
}

/* Lists of one kind and port. -n: no lookups, so that a name is compared as it was asked for. */
static void squid_kind(const struct egress *g, enum net_rule_kind kind, uint16_t port, struct buf *out)
{
    static const char *const types[] = {[NET_NAME] = "names", [NET_WILDCARD] = "patterns", [NET_NETWORK] = "networks"};
    static const char *const tests[] = {[NET_NAME] = "dstdomain -n", [NET_WILDCARD] = "dstdom_regex -n -i", [NET_NETWORK] = "dst -n"};
    bool any = false;
    for (const struct net_rule *r = g->rules; r; r = r->next) {
        if (r->kind != kind || r->port != port)
            continue;
        any = true;
        buf_printf(out, "acl mobula_%s_%u %s ", types[kind], port, tests[kind]);
        if (kind == NET_WILDCARD)
            squid_pattern(r->host, out);
        else
            buf_put(out, r->host);
        buf_putc(out, '\n');
    }
    if (any)
        buf_printf(out, "http_access allow mobula_connect%s mobula_port_%u mobula_%s_%u\n", g->sources ? " mobula_from" : "", port,
                   types[kind], port);
}

/* Whether an entry before this one has its port. */
static bool port_seen(const struct egress *g, const struct net_rule *r)
{
    const struct net_rule *first = g->rules;
    while (first->port != r->port)
        first = first->next;
    return first != r;
}

static void squid(const struct egress *g, struct buf *out)
{
    buf_put(out, SLICE("acl mobula_connect method CONNECT\n"));
    for (const struct net_rule *r = g->sources; r; r = r->next)
        buf_printf(out, "acl mobula_from src %.*s\n", SLICE_ARG(r->host));
    for (const struct net_rule *r = g->rules; r; r = r->next) {
        if (port_seen(g, r))
            continue;
        buf_printf(out, "acl mobula_port_%u port %u\n", r->port, r->port);
        for (int kind = NET_NAME; kind <= NET_NETWORK; kind++)
            squid_kind(g, (enum net_rule_kind)kind, r->port, out);
    }
    if (g->sources)
        buf_put(out, SLICE("http_access deny mobula_from\n"));
}

/* ---- nftables ---- */

static void nftables(const struct egress *g, struct buf *out)
{
    buf_put(out, SLICE("table inet mobula_egress\ndelete table inet mobula_egress\ntable inet mobula_egress {\n"
                       "    chain forward {\n        type filter hook forward priority filter; policy accept;\n"));
    for (const struct net_rule *r = g->sources; r; r = r->next)
        buf_printf(out, "        %s saddr %.*s jump nodes\n", r->v6 ? "ip6" : "ip", SLICE_ARG(r->host));
    if (!g->sources)
        buf_put(out, SLICE("        jump nodes\n"));
    buf_put(out, SLICE("    }\n    chain nodes {\n        ct state established,related accept\n"));
    for (const struct net_rule *r = g->rules; r; r = r->next)
        if (r->kind == NET_NETWORK)
            buf_printf(out, "        %s daddr %.*s tcp dport %u accept\n", r->v6 ? "ip6" : "ip", SLICE_ARG(r->host), r->port);
    if (g->sources)
        buf_put(out, SLICE("        counter reject\n"));
    buf_put(out, SLICE("    }\n}\n"));
}

/* ---- the table ---- */

static const struct egress_format formats[] = {
    {"text", "", true, true, true, NULL},
    {"networkpolicy",
     "For the operator's pod: mobula egress --format networkpolicy | kubectl apply -f -\n"
     "Most network plugins compare the address behind a Service, not the Service's own: name both with --api-server.",
     true, false, false, networkpolicy},
    {"cilium", "For the operator's pod: mobula egress --format cilium | kubectl apply -f -", true, true, true, cilium},
    {"azure-firewall", NULL, false, true, false, azure_firewall},
    {"squid",
     "For squid.conf, before its other http_access lines. A star stands for characters of one label.\n"
     "With --source, the last line refuses these machines all else.",
     false, true, true, squid},
    {"nftables",
     "For the machine that the nodes' packets pass: nft -f FILE. With --source, all else from there is rejected.\n"
     "Name servers are not in it: nodes need theirs.",
     false, false, false, nftables},
};

const struct egress_format *egress_format(struct slice name, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (slice_eq(name, slice_of(formats[i].name)))
            return &formats[i];
    err_set(e, ERR_CONFIG, "--format is \"%.*s\": want text, networkpolicy, cilium, azure-firewall, squid or nftables", SLICE_ARG(name));
    return NULL;
}
