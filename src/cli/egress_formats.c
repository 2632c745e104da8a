/* The formats of `mobula egress`. Hosts, namespaces and networks were checked where they were read, so none holds a character that means
 * something in any of them. */
#include "egress.h"

#include <mobula/json.h>
#include <mobula/yaml.h>

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
    jout_form(w,
              "{apiVersion:'%s',kind:'%s',metadata:{name:'mobula-egress',namespace:'%.*s'},"
              "spec:{%s:{matchLabels:{app.kubernetes.io/name:'mobula'}}",
              version, kind, SLICE_ARG(g->ns), selector);
}

static void policy_end(struct jout *w, const struct buf *json, struct buf *out)
{
    struct err e = {0};
    jout_form(w, "]}}");
    if (!yaml_write(buf_slice(json), out, &e))
        fatal("egress: a policy cannot be written as YAML: %s", e.text);
}

/* {key: KEY, operator: In, values: [the watched namespaces]} */
static void namespaces(struct jout *w, const char *key, const struct egress *g)
{
    jout_form(w, "matchExpressions:[{key:'%s',operator:'%s'", key, g->watch.count ? "In" : "Exists");
    if (g->watch.count)
        jout_form(w, "values:[");
    for (uint32_t i = 0; i < g->watch.count; i++)
        jout_str(w, g->watch.list[i]);
    jout_form(w, g->watch.count ? "]}]" : "}]");
}

static void kube_heads(struct jout *w, const struct egress *g)
{
    jout_form(w, "{to:[{namespaceSelector:{");
    namespaces(w, "kubernetes.io/metadata.name", g);
    jout_form(w, "},podSelector:{matchLabels:{" RAY_LABEL_NODE_TYPE ":'head'}}}],ports:[");
    for (uint32_t i = 0; i < g->head_port_count; i++)
        jout_form(w, "{protocol:'TCP',port:%u}", g->head_ports[i]);
    jout_form(w, "]}");
}

static void networkpolicy(const struct egress *g, struct buf *out)
{
    __attribute__((cleanup(buf_free))) struct buf json;
    struct jout w;
    buf_init(&json, MIB);
    jout_init(&w, &json);
    policy_begin(&w, g, "networking.k8s.io/v1", "NetworkPolicy", "podSelector");
    jout_form(&w, "policyTypes:['Egress'],egress:[");
    for (const struct net_rule *r = g->rules; r; r = r->next)
        if (r->kind == NET_NETWORK)
            jout_form(&w, "{to:[{ipBlock:{cidr:'%.*s'}}],ports:[{protocol:'TCP',port:%u}]}", SLICE_ARG(r->host), r->port);
    if (g->heads)
        kube_heads(&w, g);
    if (has_names(g))
        jout_form(&w, "{to:[{namespaceSelector:{matchLabels:{kubernetes.io/metadata.name:'kube-system'}},"
                      "podSelector:{matchLabels:{k8s-app:'kube-dns'}}}],ports:[{protocol:'UDP',port:53},{protocol:'TCP',port:53}]}");
    policy_end(&w, &json, out);
}

/* ---- Cilium ---- */

#define CILIUM_NAMESPACE "k8s:io.kubernetes.pod.namespace"

static void cilium_ports(struct jout *w, const uint16_t *ports, uint32_t count)
{
    jout_form(w, "toPorts:[{ports:[");
    for (uint32_t i = 0; i < count; i++)
        jout_form(w, "{port:'%u',protocol:'TCP'}", ports[i]);
    jout_form(w, "]}]}"); /* and the rule that has them */
}

static void cilium_name(struct jout *w, const struct net_rule *r)
{
    jout_form(w, "{%s:'%.*s'}", r->kind == NET_NAME ? "matchName" : "matchPattern", SLICE_ARG(r->host));
}

static void cilium_rule(struct jout *w, const struct net_rule *r)
{
    if (r->kind == NET_NETWORK) {
        jout_form(w, "{toCIDR:['%.*s']", SLICE_ARG(r->host));
    } else {
        jout_form(w, "{toFQDNs:[");
        cilium_name(w, r);
        jout_end(w);
    }
    cilium_ports(w, &r->port, 1);
}

/* Cilium learns the addresses of names from the answers that pass it, and lets only questions for these names pass. */
static void cilium_dns(struct jout *w, const struct egress *g)
{
    jout_form(w,
              "{toEndpoints:[{matchLabels:{%s:'kube-system',%s:'kube-dns'}}],"
              "toPorts:[{ports:[{port:'53',protocol:'ANY'}],rules:{dns:[",
              CILIUM_NAMESPACE, "k8s:k8s-app");
    for (const struct net_rule *r = g->rules; r; r = r->next)
        if (r->kind != NET_NETWORK)
            cilium_name(w, r);
    jout_form(w, "]}}]}");
}

static void cilium_heads(struct jout *w, const struct egress *g)
{
    jout_form(w, "{toEndpoints:[{matchLabels:{" RAY_LABEL_NODE_TYPE ":'head'}");
    namespaces(w, CILIUM_NAMESPACE, g);
    jout_form(w, "}]");
    cilium_ports(w, g->head_ports, g->head_port_count);
}

static void cilium(const struct egress *g, struct buf *out)
{
    __attribute__((cleanup(buf_free))) struct buf json;
    struct jout w;
    buf_init(&json, MIB);
    jout_init(&w, &json);
    policy_begin(&w, g, "cilium.io/v2", "CiliumNetworkPolicy", "endpointSelector");
    /* The API server's own port is not that of its Service, so the entity has none. */
    jout_form(&w, g->api ? "egress:[{toEntities:['kube-apiserver']}" : "egress:[");
    for (const struct net_rule *r = g->rules; r; r = r->next)
        cilium_rule(&w, r);
    if (has_names(g))
        cilium_dns(&w, g);
    if (g->heads)
        cilium_heads(&w, g);
    policy_end(&w, &json, out);
}

/* ---- Azure Firewall: an ARM template of a rule collection group ---- */

static void azure_sources(struct jout *w, const struct egress *g)
{
    jout_form(w, g->sources ? "sourceAddresses:[" : "sourceAddresses:['*'");
    for (const struct net_rule *r = g->sources; r; r = r->next)
        jout_str(w, r->host);
    jout_end(w);
}

/* Whether a rule is of layer 4: for an address, or for a proxy, where the firewall would look for a TLS name in vain. */
static bool azure_is_network(const struct egress *g, const struct net_rule *r)
{
    bool proxy = false;
    for (size_t i = 0; i < COUNT_OF(g->proxies); i++)
        proxy |= slice_eq_nocase(r->host, g->proxies[i]);
    return proxy || r->kind == NET_NETWORK;
}

static void azure_network_rule(struct jout *w, const struct net_rule *r)
{
    jout_form(w, "ipProtocols:['TCP'],%s:['%.*s'],destinationPorts:['%u']}",
              r->kind == NET_NETWORK ? "destinationAddresses" : "destinationFqdns", SLICE_ARG(r->host), r->port);
}

static void azure_application_rule(struct jout *w, const struct net_rule *r)
{
    struct slice star_first = r->host;
    if (r->kind == NET_WILDCARD) /* the only place where a star may stand there */
        star_first = slice_skip(r->host, (size_t)slice_find(r->host, '*'));
    jout_form(w, "protocols:[{protocolType:'Https',port:%u}],targetFqdns:['%.*s']}", r->port, SLICE_ARG(star_first));
}

/* A collection holds rules of one type. */
static void azure_collection(struct jout *w, const struct egress *g, bool networks, struct buf *out)
{
    bool any = false;
    int number = 0;
    for (const struct net_rule *r = g->rules; r; r = r->next)
        any |= azure_is_network(g, r) == networks;
    if (!any)
        return;
    jout_form(w, "{ruleCollectionType:'FirewallPolicyFilterRuleCollection',name:'mobula-%s',priority:%d,action:{type:'Allow'},rules:[",
              networks ? "addresses" : "names", networks ? 100 : 110);
    for (const struct net_rule *r = g->rules; r; r = r->next) {
        number++;
        if (azure_is_network(g, r) != networks)
            continue;
        buf_putc(out, '\n'); /* a rule a line, for who reads them */
        jout_form(w, "{ruleType:'%s',name:'mobula-%d',description:'%s'", networks ? "NetworkRule" : "ApplicationRule", number, r->setting);
        azure_sources(w, g);
        (networks ? azure_network_rule : azure_application_rule)(w, r);
    }
    jout_form(w, "]}");
}

static void azure_firewall(const struct egress *g, struct buf *out)
{
    struct jout w;
    jout_init(&w, out);
    jout_form(&w,
              "{$schema:'https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#',contentVersion:'1.0.0.0',"
              "parameters:{firewallPolicy:{type:'string'},priority:{type:'int',defaultValue:200}},"
              "resources:[{type:'Microsoft.Network/firewallPolicies/ruleCollectionGroups',apiVersion:'2023-09-01',name:'%s',"
              "properties:{priority:'%s',ruleCollections:[",
              "[concat(parameters('firewallPolicy'), '/mobula-egress')]", "[parameters('priority')]");
    azure_collection(&w, g, true, out);
    azure_collection(&w, g, false, out);
    jout_form(&w, "]}}]}");
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
