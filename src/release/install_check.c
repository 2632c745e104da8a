/* The flags of `mobula install`: their defaults, the settings that they ask for, and errors in them. */
#include "private.h"

#include <mobula/artifact.h>
#include <mobula/cloud.h>
#include <mobula/kinds.h>
#include <mobula/route.h>

const struct install_options install_defaults = {
    .ns = SLICE("mobula"),
    .args.kinds = SLICE("ray.io"),
    .args.tools = SLICE("configmap"),
    .args.autoscaler = SLICE("operator"),
    .args.submitter = SLICE("operator"),
    .args.ray_access = SLICE("direct"),
    .tls.made = SLICE("mobula-control-plane-tls"),
    .timeout_ms = 2 * 60 * 1000,
};

static bool check_image(struct slice image, const char *flag, struct err *e)
{
    const char *bad = image_reference_bad(image);
    return !bad || err_set(e, ERR_CONFIG, "%s: \"%.*s\" %s", flag, SLICE_ARG(slice_head(image, 128)), bad);
}

struct flag_texts install_egress(const struct install_options *o)
{
    return (struct flag_texts){.list = {o->args.egress}, .count = !slice_empty(o->args.egress)};
}

static bool check_egress(const struct install_options *o, struct err *e)
{
    struct net_allow *allow = net_allow_new();
    struct flag_texts entries = install_egress(o);
    bool ok = cli_egress_entries(&entries, o->args.egress_strict, allow, e);
    net_allow_free(allow);
    return ok;
}

#define CREDENTIALS "$(PROXY_CREDENTIALS)" /* of --proxy-secret; the kubelet puts them in */

/* Characters that go into a quoted string of YAML as they are. */
static bool check_plain(struct slice text, const char *flag, struct err *e)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~' || strchr("\"\\", text.ptr[i]))
            return err_set(e, ERR_CONFIG, "%s holds a blank, a quote or another character that a URL does not have", flag);
    return true;
}

/* NAME or NAME/KEY of a Secret or ConfigMap. */
static bool check_key(struct slice text, const char *flag, struct err *e)
{
    struct slice key = text, name = slice_cut(&key, '/');
    return slice_empty(text) || (name_dns1123_subdomain(name) && (!key.ptr || (key.len && name_label_value(key)))) ||
           err_set(e, ERR_CONFIG, "%s: \"%.*s\" is not NAME or NAME/KEY", flag, SLICE_ARG(text));
}

/* The entry's own destination does not matter for the port: "*" takes its place, which holds every destination. */
bool install_next_proxy(struct slice *table, struct arena *a, uint16_t *port, struct err *e)
{
    struct slice value = slice_trim(slice_cut(table, ',')), entry = slice_cut(&value, '=');
    struct slice one = slice_empty(entry) ? entry : arena_printf(a, "*=%.*s", SLICE_ARG(value));
    struct net_proxy proxy = {0};
    bool use;
    *port = 0;
    if (slice_empty(one) ||
        !net_proxy_for(&(struct net_proxies){.table = one}, SLICE("proxied.invalid"), NET_ALLOW_PORT, a, &proxy, &use, e))
        return err_set(e, ERR_CONFIG, "want ENTRY=URL or ENTRY=direct, joined by commas") || err_wrap(e, "--proxies");
    *port = proxy.port;
    return true;
}

static bool check_proxies(const struct install_options *o, struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct slice table = o->proxy.proxies;
    uint16_t port;
    bool well = check_plain(table, "--proxies", e);
    while (well && !slice_empty(table))
        well = install_next_proxy(&table, &a, &port, e);
    return well;
}

static bool check_proxy(const struct install_options *o, uint16_t *port, struct err *e)
{
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    struct net_proxy proxy = {0};
    bool use = false;
    if (!check_proxies(o, e) || !check_key(o->proxy.secret, "--proxy-secret", e))
        return false;
    if (!slice_empty(o->proxy.secret) && !slice_has(o->proxy.url, CREDENTIALS) && !slice_has(o->proxy.proxies, CREDENTIALS))
        return err_set(e, ERR_CONFIG,
                       "--proxy-secret: neither --proxy nor --proxies has " CREDENTIALS " in it, as in http://" CREDENTIALS
                       "@proxy.example:3128");
    if (slice_empty(o->proxy.url))
        return slice_empty(o->proxy.no_proxy) || err_set(e, ERR_CONFIG, "--no-proxy needs --proxy");
    if (!check_plain(o->proxy.url, "--proxy", e) || !check_plain(o->proxy.no_proxy, "--no-proxy", e) ||
        !net_proxy_for(&(struct net_proxies){.https = o->proxy.url}, SLICE("proxied.invalid"), NET_ALLOW_PORT, &a, &proxy, &use, e))
        return err_wrap(e, "--proxy");
    *port = proxy.port;
    return true;
}

/* The operator's way to a control plane. */
static bool check_plane(const struct install_options *o, uint16_t *port, struct err *e)
{
    struct slice host;
    if (slice_empty(o->hub.url) && o->with.report_nodes)
        return err_set(e, ERR_CONFIG, "--report-nodes needs --control-plane-url");
    if (slice_empty(o->hub.url))
        return (slice_empty(o->hub.cloud) && slice_empty(o->hub.token) &&
                (slice_empty(o->hub.ca) || slice_is(o->hub.ca, "mobula-control-plane-ca")) && slice_empty(o->args.egress_ca) &&
                slice_empty(o->hub.default_image)) ||
               err_set(e, ERR_CONFIG,
                       "--cloud-deployment-id, --control-plane-token, --control-plane-ca, --default-image and --egress-ca need "
                       "--control-plane-url");
    if (!cli_plane_url(o->hub.url, &host, port, e) || !check_plain(o->hub.url, "--control-plane-url", e))
        return false;
    if (o->plane)
        return err_set(e, ERR_CONFIG, "--control-plane and --control-plane-url exclude each other: one is the hub's, one the operator's");
    return cli_cloud_id(o->hub.cloud, e) &&
           (slice_empty(o->hub.default_image) || check_image(o->hub.default_image, "--default-image", e)) &&
           check_key(o->hub.token, "--control-plane-token", e) && check_key(o->hub.ca, "--control-plane-ca", e) &&
           check_key(o->args.egress_ca, "--egress-ca", e);
}

/* *port: that the NetworkPolicy opens for the URL; 0: it is open, or there is no URL. */
static bool check_url(struct slice url, const char *flag, uint16_t *port, struct err *e)
{
    struct endpoint at = {.port = NET_ALLOW_PORT};
    struct slice authority, rest;
    if (!check_plain(url, flag, e))
        return false;
    if (!slice_empty(url) && !net_url(url, &at, &authority, &rest))
        return err_set(e, ERR_CONFIG, "%s: want http[s]://HOST[:PORT]", flag);
    *port = at.port == NET_ALLOW_PORT ? 0 : at.port;
    return true;
}

static bool check_time(struct slice text, const char *flag, struct err *e)
{
    int64_t ms;
    return slice_empty(text) || duration_parse(text, &ms, e) || err_wrap(e, "%s", flag);
}

static bool check_quantity(struct slice text, const char *flag, struct err *e)
{
    int64_t bytes;
    return slice_empty(text) || quantity_parse(text, 0, &bytes, e) || err_wrap(e, "%s", flag);
}

static bool check_bucket(const struct install_options *o, uint16_t *port, struct err *e)
{
    struct cloud_place at;
    struct slice endpoint = o->bucket.endpoint;
    if (slice_empty(o->bucket.url))
        return (slice_empty(endpoint) && slice_empty(o->bucket.region) && slice_empty(o->bucket.secret) && slice_empty(o->bucket.ca) &&
                slice_empty(o->bucket.keep) && slice_empty(o->bucket.keep_bytes) && !o->bucket.virtual_host) ||
               err_set(e, ERR_CONFIG, "--bucket-… flags need --bucket");
    if (!cloud_place(o->bucket.url, &at, e))
        return err_wrap(e, "--bucket");
    if (slice_is(o->args.tools, "none") || o->plane)
        return err_set(e, ERR_CONFIG, "--bucket is the operator's, and needs --tools=configmap or image:REF");
    return check_plain(o->bucket.url, "--bucket", e) && check_url(endpoint, "--bucket-endpoint", port, e) &&
           check_plain(o->bucket.region, "--bucket-region", e) && check_time(o->bucket.keep, "--bucket-retention", e) &&
           check_quantity(o->bucket.keep_bytes, "--bucket-retention-bytes", e) && check_key(o->bucket.ca, "--bucket-ca", e) &&
           (slice_empty(o->bucket.secret) || name_dns1123_subdomain(o->bucket.secret) ||
            err_set(e, ERR_CONFIG, "--bucket-secret: \"%.*s\" is not the name of a Secret", SLICE_ARG(o->bucket.secret)));
}

static bool check_pull_secrets(struct slice text, struct err *e)
{
    while (!slice_empty(text)) {
        struct slice name = slice_trim(slice_cut(&text, ','));
        if (!name_dns1123_subdomain(name))
            return err_set(e, ERR_CONFIG, "--pull-secret: \"%.*s\" is not the name of a Secret", SLICE_ARG(name));
    }
    return true;
}

/* Checks --node-selector and --priority-class-name. The API server checks the other values in the dry run. */
static bool check_placement(const struct install_options *o, struct err *e)
{
    for (struct slice rest = o->place.node_selector; !slice_empty(rest);) {
        struct slice one = slice_cut(&rest, ',');
        if (slice_find(one, '=') <= 0)
            return err_set(e, ERR_CONFIG, "--node-selector: \"%.*s\" is not LABEL=VALUE", SLICE_ARG(one));
    }
    return slice_empty(o->place.priority_class) || name_dns1123_subdomain(o->place.priority_class) ||
           err_set(e, ERR_CONFIG, "--priority-class-name: \"%.*s\" is not a name", SLICE_ARG(o->place.priority_class));
}

/* The default name lies in the registry that was named, or on the node. */
static bool choose_image(const struct install_options *o, struct arena *a, struct slice *image, struct err *e)
{
    if (o->image.ptr && o->registry.ptr)
        return err_set(e, ERR_CONFIG, "--registry stands before the default image's name: with --image give the whole reference");
    struct slice registry = o->registry;
    if (slice_ends(registry, SLICE("/")))
        registry.len--;
    *image = o->image.ptr   ? o->image
             : registry.ptr ? arena_printf(a, "%.*s/mobula:" MOBULA_VERSION, SLICE_ARG(registry))
                            : SLICE(INSTALL_IMAGE);
    return check_image(*image, registry.ptr ? "--registry" : "--image", e);
}

static bool check_parts(const struct install_options *o, struct arena *a, struct err *e)
{
    if (o->crds_only && o->no_crds)
        return err_set(e, ERR_CONFIG, "--crds-only and --no-crds leave nothing to print");
    if (o->all_namespaces && !slice_empty(o->watch))
        return err_set(e, ERR_CONFIG, "--all-namespaces and --watch-namespace exclude each other");
    if (!o->plane && (!slice_empty(o->tls.secret) || !slice_empty(o->tls.names)))
        return err_set(e, ERR_CONFIG, "--tls-secret and --tls-name need --control-plane");
    if (o->replicas < 0 || o->replicas > INSTALL_REPLICAS_MAX)
        return err_set(e, ERR_CONFIG, "--replicas: want 1 to %d", INSTALL_REPLICAS_MAX);
    if (o->program.bytes.len > INSTALL_PROGRAM_MAX)
        return err_set(e, ERR_LIMIT, "the program has %zu bytes, and a ConfigMap holds %d (INSTALL_PROGRAM_MAX)", o->program.bytes.len,
                       INSTALL_PROGRAM_MAX);
    const struct slice *names, objects[] = {o->args.gateway, o->args.gateway_ns, o->args.ingress_class};
    uint32_t count = 0;
    for (size_t i = 0; i < COUNT_OF(objects); i++)
        if (!slice_empty(objects[i]) && !name_dns1123_subdomain(objects[i]))
            return err_set(e, ERR_CONFIG, "--gateway-name, --gateway-namespace, --ingress-class: \"%.*s\" is no name",
                           SLICE_ARG(objects[i]));
    if (o->with.agent_direct && !o->with.agent)
        return err_set(e, ERR_CONFIG, "--agent-direct needs --agent");
    if (o->with.agent && (slice_empty(o->hub.url) || slice_is(o->args.tools, "none")))
        return err_set(e, ERR_CONFIG, "--agent needs --control-plane-url, and --tools=configmap or image:REF");
    return (slice_empty(o->args.route_ca) || name_dns1123_subdomain(o->args.route_ca) ||
            err_set(e, ERR_CONFIG, "--route-ca: want the name of a Secret")) &&
           cli_route_hosts(o->args.route_hosts, e) && (slice_empty(o->args.domain) || route_domain_check(o->args.domain, e)) &&
           check_time(o->args.service_auth, "--service-auth", e) &&
           (name_dns1123_subdomain(o->tls.made) || err_set(e, ERR_CONFIG, "--tls-self-made: want the name of a Secret")) &&
           cli_server_names(o->tls.names, a, &names, &count, e);
}

bool install_check(const struct install_options *o, struct install_wanted *want, struct arena *a, struct err *e)
{
    enum cli_scaler scaler;
    enum operator_access access;
    struct slice watch = slice_empty(o->watch) ? o->ns : o->watch;
    want->name = install_name(o->plane);
    want->component = o->plane ? SLICE("control-plane") : SLICE("operator");
    want->replicas = o->replicas ? o->replicas : 1 + (o->plane || o->edge);
    if (!check_parts(o, a, e) || !cli_namespace(o->ns, "--namespace", e) || !cli_namespaces(watch, "--watch-namespace", &want->watch, e) ||
        !cli_kinds(o->args.kinds, &want->kinds, e) || !choose_image(o, a, &want->image, e) || !cli_tools(o->args.tools, &want->tools, e) ||
        !cli_resources("tools-resources", o->args.tools_resources, &want->tools.tools_resources, e) ||
        !cli_resources("agent-resources", o->args.agent_resources, &want->tools.agent_resources, e) ||
        !cli_scaler(o->args.autoscaler, &scaler, e) ||
        (want->tools.tools == RAY_TOOLS_IMAGE && !check_image(want->tools.tools_image, "--tools", e)) ||
        !cli_submitter(o->args.submitter, &want->tools, &want->pods, e) || !cli_access(o->args.ray_access, &access, e) ||
        !check_egress(o, e) || !check_proxy(o, &want->proxy_port, e) || !check_plane(o, &want->plane_port, e) ||
        !check_url(o->hub.sts, "--sts-url", &want->sts_port, e) || !check_bucket(o, &want->bucket_port, e) ||
        !check_key(o->tls.secret, "--tls-secret", e) || !check_pull_secrets(o->pull_secrets, e) || !check_placement(o, e) ||
        !defaults_check(&o->defaults, e) || !cli_resources("resources", o->resources, &want->limits, e) ||
        !cli_resources("requests", o->place.requests, &want->requests, e))
        return false;
    if (slice_empty(want->requests.cpu))
        want->requests.cpu = o->edge ? SLICE("50m") : SLICE("10m");
    if (slice_empty(want->requests.memory))
        want->requests.memory = o->edge ? SLICE("16Mi") : SLICE("8Mi");
    if (slice_empty(want->limits.cpu))
        want->limits.cpu = o->edge ? SLICE("1") : o->plane ? SLICE("500m") : SLICE("200m");
    if (slice_empty(want->limits.memory))
        want->limits.memory = o->plane ? SLICE("128Mi") : SLICE("64Mi");
    if (!slice_empty(o->hub.url) && want->kinds == OPERATOR_LEGACY)
        return err_set(e, ERR_CONFIG, "--control-plane-url makes objects of ray.io, and --kinds=legacy leaves those out");
    for (size_t i = 0; kinds[i]; i++)
        want->brings[i] =
            wanted_kind(kinds[i], want->kinds) && (!kinds[i]->optional.flag || o->optional[i] || want->kinds == OPERATOR_ALL_KINDS);
    want->elect = !o->plane && (o->leader_elect || want->replicas > 1);
    return true;
}
