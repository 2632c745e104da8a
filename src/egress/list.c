/* Gathers the list as the operator gathers its own, and writes it. */
#include "list.h"

#include <mobula/kube.h>

struct egress_options egress_defaults(void)
{
    return (struct egress_options){
        .format = SLICE("text"), .ns = SLICE("mobula"), .ray_access = SLICE("direct"), .head_ports = SLICE("6379,8265")};
}

static bool add_config(struct egress_gather *g, struct err *e)
{
    struct kube_config_options o = {g->o->kubeconfig.ptr, g->o->context.ptr, true};
    struct kube_config *config = kube_config_load(&o, e);
    bool ok = config && kube_config_allow(config, g->allow, e);
    if (ok && config->use_proxy)
        g->list->proxies[0] = arena_dup(g->arena, config->proxy.host);
    kube_config_free(config);
    return ok || err_wrap(e, "the API server (--api-server HOST:PORT names it, --api-server none leaves it out)");
}

static bool add_api_servers(struct egress_gather *g, struct err *e)
{
    struct cli_items it = {.of = &g->o->api_servers};
    struct slice item;
    if (g->o->api_servers.count == 0)
        return add_config(g, e);
    while (cli_items_next(&it, &item))
        if (!slice_eq(item, SLICE("none")) && !net_allow_text(g->allow, item, true, "--api-server", e))
            return false;
    return true;
}

/* As the operator does it: the control plane, and the proxy to it. */
static bool add_plane(struct egress_gather *g, struct err *e)
{
    const struct net_proxies *p = &g->o->proxies;
    struct net_proxy proxy;
    struct slice host;
    uint16_t port;
    bool use = false;
    if (slice_empty(g->o->plane_url))
        return (slice_empty(p->https) && slice_empty(p->none) && slice_empty(p->table)) ||
               err_set(e, ERR_CONFIG, "--proxy, --no-proxy and --proxies need --control-plane-url: they are the way to it");
    if (!cli_plane_url(g->o->plane_url, &host, &port, e) || !net_allow_add(g->allow, host, port, "--control-plane-url", e))
        return false;
    if (!net_proxy_for(p, host, port, g->arena, &proxy, &use, e))
        return err_wrap(e, "--proxy, --proxies");
    g->list->proxies[1] = use ? proxy.host : SLICE_NONE;
    return !use || net_allow_add(g->allow, proxy.host, proxy.port, "--proxy or --proxies", e);
}

/* Adds the sources in the order in which the list is printed. */
static bool fill(struct egress_gather *g, const struct egress_format *format, struct err *e)
{
    struct egress *list = g->list;
    struct cli_items profiles = {.of = &g->o->profiles};
    struct slice profile;
    if (!add_api_servers(g, e))
        return false;
    list->api = net_allow_first(g->allow) != NULL;
    for (const struct net_rule *r = net_allow_first(g->allow); r; r = r->next)
        if (format->pod && !format->names && r->kind != NET_NETWORK)
            return err_set(e, ERR_CONFIG,
                           "--format %s holds addresses only, and would cut the operator off from %.*s: name the API server's addresses "
                           "with --api-server",
                           format->name, SLICE_ARG(r->host));
    if (!add_plane(g, e) || !egress_add_sts(g->o->sts, g->allow, g->arena, e) || !egress_add_bucket(&g->o->bucket, g->allow, g->arena, e) ||
        !cli_egress_entries(&g->o->entries, g->o->strict, g->allow, e))
        return false;
    while (cli_items_next(&profiles, &profile))
        if (!egress_add_profile(g, profile, e))
            return false;
    list->rules = net_allow_first(g->allow);
    return true;
}

static bool read_head_ports(struct slice text, struct egress *list, struct err *e)
{
    for (struct slice rest = text; rest.ptr;) {
        int64_t port;
        if (!slice_int(slice_trim(slice_cut(&rest, ',')), &port) || port < 1 || port > UINT16_MAX ||
            list->head_port_count == EGRESS_HEAD_PORTS)
            return err_set(e, ERR_CONFIG, "--head-ports is \"%.*s\": want ports as 6379,8265, at most %d", SLICE_ARG(text),
                           EGRESS_HEAD_PORTS);
        list->head_ports[list->head_port_count++] = (uint16_t)port;
    }
    return true;
}

static bool read_sources(const struct egress_options *o, struct net_allow *sources, struct err *e)
{
    struct cli_items it = {.of = &o->sources};
    struct slice item;
    while (cli_items_next(&it, &item))
        if (!net_allow_add(sources, item, 0, "--source", e))
            return false;
    for (const struct net_rule *r = net_allow_first(sources); r; r = r->next)
        if (r->kind != NET_NETWORK)
            return err_set(e, ERR_CONFIG, "--source: \"%.*s\" is not an IP address or CIDR", SLICE_ARG(r->host));
    return true;
}

bool egress_write(const struct egress_options *o, struct buf *out, struct buf *notes, struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    struct egress list = {.ns = o->ns};
    struct egress_gather g = {.o = o, .list = &list, .arena = &mem, .allow = net_allow_new(), .notes = notes};
    struct net_allow *sources = net_allow_new();
    enum operator_access access = OPERATOR_DIRECT;
    const struct egress_format *format = egress_format(o->format, e);
    struct slice watch = slice_empty(o->watch) ? o->ns : o->watch;
    bool ok = format && cli_namespace(o->ns, "--namespace", e) && cli_namespaces(watch, "--watch-namespace", &list.watch, e) &&
              cli_access(o->ray_access, &access, e) && read_head_ports(o->head_ports, &list, e) && read_sources(o, sources, e) &&
              fill(&g, format, e);
    if (ok) {
        if (o->all_namespaces)
            list.watch.count = 0;
        list.heads = access != OPERATOR_PROXY;
        list.sources = net_allow_first(sources);
        egress_put_list(&list, format, &mem, out, notes);
        ok = egress_put_pods(o->ray_version, format->write ? notes : out, e);
        if (ok && out->len == 0)
            buf_put(out, SLICE("# nothing\n"));
    }
    net_allow_free(g.allow);
    net_allow_free(sources);
    return ok;
}
