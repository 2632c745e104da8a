/* Policies for the operator's pod, as JSON that is written as YAML: NetworkPolicy and CiliumNetworkPolicy. */
#include "formats.h"

#include <mobula/json.h>
#include <mobula/ray.h>
#include <mobula/yaml.h>

static bool has_names(const struct egress *g)
{
    for (const struct net_rule *r = g->rules; r; r = r->next)
        if (r->kind != NET_NETWORK)
            return true;
    return false;
}

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

/* ---- NetworkPolicy ---- */

void egress_put_networkpolicy(const struct egress *g, struct buf *out)
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

void egress_put_cilium(const struct egress *g, struct buf *out)
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
