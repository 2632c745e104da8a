/* mobula egress: the options, the list that they ask for, and what stands above it. */
#include "egress.h"

#include <mobula/kube.h>
#include <mobula/ray.h>
#include <mobula/schema.h>

#include <stdio.h>
#include <unistd.h>

struct egress_options egress_defaults(void)
{
    return (struct egress_options){
        .format = SLICE("text"), .ns = SLICE("mobula"), .ray_access = SLICE("direct"), .head_ports = SLICE("6379,8265")};
}

/* ---- profiles: rows of egress_domains.txt ---- */

/* The sources of the list, and where it goes. */
struct gather {
    const struct egress_options *o;
    struct egress *list;
    struct arena *arena;
    struct net_allow *allow;
    struct buf *notes;
};

/* "cld_AbC" as it stands in host names: cld-abc. */
static bool read_cloud_id(struct gather *g, struct slice text, struct slice *out, struct err *e)
{
    struct slice id = slice_lower(text, g->arena);
    char *label = arena_alloc(g->arena, id.len + 1);
    for (size_t i = 0; i < id.len; i++)
        label[i] = id.ptr[i] == '_' ? '-' : id.ptr[i];
    *out = (struct slice){label, id.len};
    return (slice_starts(*out, SLICE("cld-")) && name_dns1123_label(*out)) ||
           err_set(e, ERR_CONFIG, "--cloud-id: \"%.*s\" is not the id of a cloud: want cld_ and letters and digits", SLICE_ARG(text));
}

static bool add_for_clouds(struct gather *g, struct slice host, const char *setting, struct err *e)
{
    struct cli_items it = {.of = &g->o->cloud_ids};
    struct slice item, id, tail = host, before = slice_cut(&tail, '*');
    while (cli_items_next(&it, &item)) {
        if (!read_cloud_id(g, item, &id, e))
            return false;
        struct slice name = arena_printf(g->arena, "%.*s%.*s%.*s", SLICE_ARG(before), SLICE_ARG(id), SLICE_ARG(tail));
        if (!net_allow_add(g->allow, name, NET_ALLOW_PORT, setting, e))
            return false;
    }
    return true;
}

static bool add_row(struct gather *g, char sign, struct slice host, const char *setting, struct err *e)
{
    if (sign == '@' && g->o->cloud_ids.count)
        return add_for_clouds(g, host, setting, e);
    if (sign == '@' && g->o->strict)
        return err_set(e, ERR_CONFIG, "--strict needs --cloud-id, once for each cloud: it stands in the place of the star in %.*s",
                       SLICE_ARG(host));
    if (sign == '*' && g->o->strict) {
        buf_printf(g->notes, "left out, because --strict takes no wildcard and no cloud id narrows it: %.*s\n", SLICE_ARG(host));
        return true;
    }
    return net_allow_add(g->allow, host, NET_ALLOW_PORT, setting, e);
}

static bool unknown_profile(struct gather *g, struct slice name, struct slice table, struct err *e)
{
    struct slice known = SLICE(""), last = SLICE_NONE;
    while (!slice_empty(table)) {
        struct slice row = slice_cut(&table, '\n'), profile = slice_cut(&row, ' ');
        if (slice_starts(profile, SLICE("#")) || slice_eq(profile, last))
            continue;
        known = arena_printf(g->arena, "%.*s%s%.*s", SLICE_ARG(known), last.ptr ? ", " : "", SLICE_ARG(profile));
        last = profile;
    }
    return err_set(e, ERR_CONFIG, "--profile is \"%.*s\": want one of %.*s", SLICE_ARG(name), SLICE_ARG(known));
}

static bool add_profile(struct gather *g, struct slice name, struct err *e)
{
    struct slice all = embed_file(embed_all(g->arena), EMBED_EGRESS), table = all;
    bool known = false;
    while (!slice_empty(table)) {
        struct slice row = slice_cut(&table, '\n'), profile = slice_cut(&row, ' '), sign = slice_cut(&row, ' '),
                     host = slice_cut(&row, ' ');
        if (slice_starts(profile, SLICE("#")) || !slice_eq(profile, name))
            continue;
        known = true;
        const char *setting = arena_printf(g->arena, "--profile %.*s: %.*s", SLICE_ARG(profile), SLICE_ARG(row)).ptr;
        if (!add_row(g, sign.ptr[0], host, setting, e))
            return false;
    }
    return known || unknown_profile(g, name, all, e);
}

/* ---- the list ---- */

static bool add_config(struct gather *g, struct err *e)
{
    struct kube_config_options o = {g->o->kubeconfig.ptr, g->o->context.ptr, true};
    struct kube_config *config = kube_config_load(&o, e);
    bool ok = config && kube_config_allow(config, g->allow, e);
    if (ok && config->use_proxy)
        g->list->proxies[0] = arena_dup(g->arena, config->proxy.host);
    kube_config_free(config);
    return ok || err_wrap(e, "the API server (--api-server HOST:PORT names it, --api-server none leaves it out)");
}

static bool add_api_servers(struct gather *g, struct err *e)
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
static bool add_plane(struct gather *g, struct err *e)
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

/* In the order of the list. */
static bool fill(struct gather *g, const struct egress_format *format, struct err *e)
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
    if (!add_plane(g, e) || !egress_sts(g->o->sts, g->allow, g->arena, e) || !egress_bucket(&g->o->bucket, g->allow, g->arena, e) ||
        !cli_egress_entries(&g->o->entries, g->o->strict, g->allow, e))
        return false;
    while (cli_items_next(&profiles, &profile))
        if (!add_profile(g, profile, e))
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

/* ---- lines above the list ---- */

static struct slice shown(const struct net_rule *r)
{
    struct slice whole = r->v6 ? SLICE("/128") : SLICE("/32");
    return r->kind == NET_NETWORK && slice_ends(r->host, whole) ? slice_head(r->host, r->host.len - whole.len) : r->host;
}

static void put_rows(const struct egress *g, bool pod, const char *prefix, struct arena *a, struct buf *out)
{
    struct slice heads = SLICE("heads of RayClusters");
    for (uint32_t i = 0; i < g->watch.count; i++)
        heads = arena_printf(a, "%.*s%s%.*s", SLICE_ARG(heads), i ? ", " : " in ", SLICE_ARG(g->watch.list[i]));
    struct slice ports = SLICE("");
    for (uint32_t i = 0; i < g->head_port_count; i++)
        ports = arena_printf(a, "%.*s%s%u", SLICE_ARG(ports), i ? "," : "", g->head_ports[i]);
    bool with_heads = pod && g->heads;
    size_t width = with_heads ? heads.len : 0;
    for (const struct net_rule *r = g->rules; r; r = r->next)
        width = shown(r).len > width ? shown(r).len : width;
    for (const struct net_rule *r = g->rules; r; r = r->next)
        buf_printf(out, "%s%-*.*s  %-9u  %s\n", prefix, (int)width, SLICE_ARG(shown(r)), r->port, r->setting);
    if (with_heads)
        buf_printf(out, "%s%-*.*s  %-9.*s  pods with label " RAY_LABEL_NODE_TYPE "=head\n", prefix, (int)width, SLICE_ARG(heads),
                   SLICE_ARG(ports));
}

static void put_lines(struct slice text, struct buf *out)
{
    while (!slice_empty(text)) {
        struct slice line = slice_cut(&text, '\n');
        buf_printf(out, "# %.*s\n", SLICE_ARG(line));
    }
}

/* Entries that the format cannot say, or says wider than they are. */
static void note_rules(const struct egress *g, const struct egress_format *f, struct buf *notes)
{
    for (const struct net_rule *r = g->rules; r; r = r->next) {
        bool prefix = r->kind == NET_WILDCARD && r->host.ptr[0] != '*';
        if (r->kind != NET_NETWORK && !f->names)
            buf_printf(notes, "not in it, because it holds addresses only: %.*s port %u\n", SLICE_ARG(r->host), r->port);
        else if (prefix && !f->prefixes)
            buf_printf(notes, "wider in it, where a star stands first and for anything: %.*s port %u\n", SLICE_ARG(r->host), r->port);
    }
}

/* Addresses outside of the cluster that Ray's pods contact, in Ray POD_VERSION_LEAST to POD_VERSION_MOST (ray_version_number):
 * docs/egress.md. */
static const struct {
    const char *place, *when;
} of_pods[] = {
    {"usage-stats.ray.io:443", "if the template sets RAY_USAGE_STATS_ENABLED; else each pod has it switched off"},
    {"metadata.google.internal:80, 169.254.169.254:80",
     "of a head with a command of its own (ray.io/overwrite-container-cmd), or whose home folder cannot be written"},
    {"metadata.google.internal:80", "of TPU hosts, for the topology of their slice"},
    {"what jobs name", "working_dir, py_modules, pip, and the buckets that a program reads"},
};
enum { POD_VERSION_LEAST = 2009, POD_VERSION_MOST = 2060 };

static bool put_pods(struct slice version, struct buf *out, struct err *e)
{
    int64_t n = ray_version_number(version);
    if (slice_empty(version))
        return true;
    if (n == 0)
        return err_set(e, ERR_CONFIG, "--ray-version: \"%.*s\" is no version, such as 2.60.0", SLICE_ARG(slice_head(version, 64)));
    buf_printf(out, "pods of Ray %.*s:\n", SLICE_ARG(version));
    for (size_t i = 0; i < COUNT_OF(of_pods); i++)
        buf_printf(out, "  %s  %s\n", of_pods[i].place, of_pods[i].when);
    if (n < POD_VERSION_LEAST || n > POD_VERSION_MOST)
        buf_put(out, SLICE("  this version may contact more: only 2.9 to 2.60 are known here\n"));
    return true;
}

static void put_list(const struct egress *g, const struct egress_format *f, struct arena *a, struct buf *out, struct buf *notes)
{
    note_rules(g, f, notes);
    if (f->about) {
        put_lines(slice_of(f->about), out);
        put_rows(g, f->pod, f->write ? "# " : "", a, out);
        put_lines(buf_slice(notes), out);
    }
    if (f->write)
        f->write(g, out);
}

bool egress_write(const struct egress_options *o, struct buf *out, struct buf *notes, struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena mem = {0};
    struct egress list = {.ns = o->ns};
    struct gather g = {.o = o, .list = &list, .arena = &mem, .allow = net_allow_new(), .notes = notes};
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
        put_list(&list, format, &mem, out, notes);
        ok = put_pods(o->ray_version, format->write ? notes : out, e);
        if (ok && out->len == 0)
            buf_put(out, SLICE("# nothing\n"));
    }
    net_allow_free(g.allow);
    net_allow_free(sources);
    return ok;
}

/* ---- the command ---- */

static const struct flag list[] = {
#define AT(field) offsetof(struct egress_options, field)
    {"format", FLAG_TEXT, AT(format), "text|networkpolicy|cilium|azure-firewall|squid|nftables"},
    {"namespace", FLAG_TEXT, AT(ns), "NS"},
    {"watch-namespace", FLAG_LIST, AT(watch), "NS[,NS...]"},
    {"all-namespaces", FLAG_SWITCH, AT(all_namespaces), NULL},
    {"ray-access", FLAG_TEXT, AT(ray_access), "direct|service|proxy"},
    {"head-ports", FLAG_LIST, AT(head_ports), "PORT[,PORT...]"},
    {"kubeconfig", FLAG_TEXT, AT(kubeconfig), "FILE"},
    {"context", FLAG_TEXT, AT(context), "NAME"},
    {"api-server", FLAG_TEXTS, AT(api_servers), "HOST[:PORT]"},
    {"control-plane-url", FLAG_TEXT, AT(plane_url), "URL"},
    {"sts-url", FLAG_TEXT, AT(sts), "URL"},
    {"proxy", FLAG_TEXT, AT(proxies.https), "URL"},
    {"no-proxy", FLAG_LIST, AT(proxies.none), "LIST"},
    {"proxies", FLAG_LIST, AT(proxies.table), "ENTRY=URL|direct[,...]"},
    {"bucket", FLAG_TEXT, AT(bucket.url), "URL"},
    {"bucket-endpoint", FLAG_TEXT, AT(bucket.endpoint), "URL"},
    {"bucket-region", FLAG_TEXT, AT(bucket.region), "NAME"},
    {"bucket-virtual-host", FLAG_SWITCH, AT(bucket.virtual_host), NULL},
    {"bucket-secret", FLAG_TEXT, AT(bucket.secret), "NAME"},
    {"egress-allow", FLAG_TEXTS, AT(entries), "HOST[:PORT][,...]"},
    {"profile", FLAG_TEXTS, AT(profiles), "NAME"},
    {"cloud-id", FLAG_TEXTS, AT(cloud_ids), "ID[,ID...]"},
    {"ray-version", FLAG_TEXT, AT(ray_version), "VERSION"},
    {"strict", FLAG_SWITCH, AT(strict), NULL},
    {"source", FLAG_TEXTS, AT(sources), "CIDR[,CIDR...]"},
#undef AT
};

const struct flags egress_flags = {
    .usage = "mobula egress [--format FORMAT] [FLAG...]",
    .list = list,
    .count = COUNT_OF(list),
};

int cli_egress(int argc, char **argv)
{
    struct egress_options o = egress_defaults();
    int status;
    if (!flags_parse(&egress_flags, argc, argv, &o, &status))
        return status;
    struct err e = {0};
    __attribute__((cleanup(buf_free))) struct buf out, notes;
    buf_init(&out, MIB);
    buf_init(&notes, MIB);
    if (!egress_write(&o, &out, &notes, &e))
        return slice_starts(slice_of(e.text), SLICE("--")) ? flags_wrong(&egress_flags, "%s", e.text) : cli_fail(&e);
    for (struct slice rest = buf_slice(&notes); !slice_empty(rest);) {
        struct slice line = slice_cut(&rest, '\n');
        fprintf(stderr, "mobula: %.*s\n", SLICE_ARG(line));
    }
    return cli_print(buf_slice(&out)) ? STATUS_OK : STATUS_ERROR;
}
