/* Azure Firewall: an ARM template of a rule collection group. */
#include "formats.h"

#include <mobula/json.h>

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

void egress_put_azure(const struct egress *g, struct buf *out)
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
