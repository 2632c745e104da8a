/* mobula operator: the controller in the event loop. Everything that happens, happens in turns: wait, let the links speak, let the operator
 * act. */
#include "cli.h"
#include "operator_bucket.h"
#include "operator_caller.h"

#include <mobula/artifact.h>
#include <mobula/command.h>
#include <mobula/health.h>
#include <mobula/hub.h>
#include <mobula/kinds.h>
#include <mobula/operator.h>
#include <mobula/release.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STOP_MS = 12 * 1000 }; /* operator_stop ends before */

struct options {
    struct slice namespaces, kubeconfig, context, kinds, tools, tools_resources, autoscaler, submitter, ray_access, cluster_domain,
        zoneinfo;
    struct {
        struct slice health, status, metrics; /* addresses; empty: nowhere */
    } serve;
    struct {
        struct slice level, format;
    } log;
    struct slice sandbox;
    struct {
        struct slice ns, name, identity;
        int64_t lease_ms, renew_ms, retry_ms;
        bool elect;
    } lease;
    struct operator_configmap types, patches, policy;
    struct default_patches defaults;
    struct {
        struct slice url, cloud, token, sts, ca, policy_file, image;
        struct slice agent, agent_addr, agent_url, agent_resources; /* of head pods */
        bool own;
    } plane; /* the control plane that is called */
    struct slice egress_ca;
    struct {
        struct slice gateway, gateway_ns, ingress_class, ca, hosts;
        int64_t service_auth_ms;
    } route; /* of dashboards and services */
    struct bucket_options bucket;
    struct flag_texts egress, excluded;
    struct {
        int64_t spot_fallback_ms, spot_retry_ms, unscheduled_ms, zone_ms, starting_ms;
    } wait;
    bool all_namespaces, egress_strict;
    bool optional[LIMIT_KINDS]; /* by place in kinds[]: of optional kinds, whether they are run */
};

#define AT(field) offsetof(struct options, field)
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
    {"instance-types-configmap", FLAG_TEXT, AT(types.name), "NAME"},
    {"instance-types-key", FLAG_TEXT, AT(types.key), "KEY"},
    {"patches-configmap", FLAG_TEXT, AT(patches.name), "NAME"},
    {"patches-key", FLAG_TEXT, AT(patches.key), "KEY"},
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
    {"policy-configmap", FLAG_TEXT, AT(policy.name), "NAME"},
    {"policy-key", FLAG_TEXT, AT(policy.key), "KEY"},
    {"policy-file", FLAG_TEXT, AT(plane.policy_file), "FILE"},
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
    {"service-auth", FLAG_DURATION, AT(route.service_auth_ms), "TIME"},
    {"metrics-addr", FLAG_TEXT, AT(serve.metrics), "[HOST]:PORT"},
    TLS_FLAG,
    SANDBOX_FLAG(AT(sandbox)),
    {"log-level", FLAG_TEXT, AT(log.level), "debug|info|warn|error"},
    {"log-format", FLAG_TEXT, AT(log.format), "logfmt|json"},
};
#undef AT
/* A switch for each optional kind. */
static bool kind_flag(size_t n, struct flag *row, const char **help)
{
    const struct kind *k = cli_kind_switch(n, row);
    if (k)
        *help = k->optional.run;
    return k != NULL;
}

static const struct flags flags = {
    .usage = "mobula operator [--namespace NS[,NS…]] [--kubeconfig FILE] [FLAG…]",
    .list = list,
    .count = COUNT_OF(list),
    .each = kind_flag,
};

/* The state of the process while it runs. */
struct process {
    struct options o;
    struct cli_namespaces watched;
    struct arena arena;
    struct net_allow *allow;
    struct loop *loop;
    struct kube_config *config, *plane;
    struct storage storage; /* of the bucket */
    struct operator_caller caller;
    struct op *op;
};

static bool check_name(struct slice name, const char *of, const char *flag, struct err *e)
{
    return slice_empty(name) || name_dns1123_subdomain(name) ||
           err_set(e, ERR_CONFIG, "%s: \"%.*s\" is not the name of a %s", flag, SLICE_ARG(name), of);
}

/* Errors that do not depend on the cluster: reported before any is looked for. */
static bool check_flags(const struct options *o, struct err *e)
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
           cli_submitter(o->submitter, &tools, &pods, e) && cli_domain(o->cluster_domain, e) &&
           check_name(o->types.name, "ConfigMap", "--instance-types-configmap", e) &&
           check_name(o->patches.name, "ConfigMap", "--patches-configmap", e) &&
           check_name(o->policy.name, "ConfigMap", "--policy-configmap", e) && check_name(o->route.ca, "Secret", "--route-ca", e) &&
           cli_route_hosts(o->route.hosts, e) && defaults_check(&o->defaults, e);
}

static bool take_executable(void *carrier, struct slice *out)
{
    return carrier_take(carrier, out);
}

static bool put_executable(struct operator_options *to, struct err *e)
{
    to->executable.carrier = carrier_open(&to->executable.hash, e);
    to->executable.take = take_executable;
    return to->executable.carrier || err_wrap(e, "ConfigMap " RAY_TOOLS_CONFIGMAP_NAME " (mount /proc, or use --tools=none)");
}

/* Small files of this machine: read in place, each time that they are needed. */
static bool read_zone(const void *folder, struct slice name, struct arena *a, struct slice *out, struct err *e)
{
    const struct slice *in = folder;
    return cli_read_file(arena_printf(a, "%.*s/%.*s", SLICE_ARG(*in), SLICE_ARG(name)), a, out, e) ||
           err_wrap(e, "time zone %.*s (--zoneinfo)", SLICE_ARG(name));
}

/* Reads environment variables of KubeRay's operator, for Deployments that were written for it. */
static bool read_peers(struct operator_options *to, struct err *e)
{
    struct slice silence = slice_of(getenv("RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS")),
                 remove = slice_of(getenv("DELETE_RAYJOB_CR_AFTER_JOB_FINISHES"));
    if (!slice_empty(silence) && (!slice_int(silence, &to->job_silence_s) || to->job_silence_s < 1 || to->job_silence_s > INT32_MAX))
        return err_set(e, ERR_CONFIG, "RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS is \"%.*s\": want a number of seconds", SLICE_ARG(silence));
    to->delete_jobs = slice_eq_nocase(remove, SLICE("true"));
    return true;
}

static bool read_options(struct process *p, struct operator_options *to, struct err *e)
{
    const struct options *o = &p->o;
    char host[256] = "mobula";
    gethostname(host, sizeof host - 1);
    struct rng rng;
    rng_seed_system(&rng);
    to->seed = rng_next(&rng);
    to->instance = slice_empty(o->lease.identity) ? arena_dup(&p->arena, slice_of(host)) : o->lease.identity;
    to->leader_elect = o->lease.elect;
    for (size_t i = 0; kinds[i]; i++)
        to->without[i] = kinds[i]->optional.flag && !o->optional[i];
    to->fence_ms = OPERATOR_FENCE_MS;
    to->autoscaling = !slice_eq(o->autoscaler, SLICE("off"));
    to->ray.sidecar = slice_eq(o->autoscaler, SLICE("sidecar"));
    to->lease = (struct kube_lease_options){
        .ns = slice_empty(o->lease.ns) ? p->config->namespace_ : o->lease.ns,
        .name = o->lease.name,
        /* two processes on one host, or one after the other, are never taken for each other */
        .identity = arena_printf(&p->arena, "%.*s_%016llx", SLICE_ARG(to->instance), (unsigned long long)rng_next(&rng)),
        .lease_ms = o->lease.lease_ms,
        .renew_ms = o->lease.renew_ms,
        .retry_ms = o->lease.retry_ms};
    to->ray.cluster_domain = o->cluster_domain;
    to->ray.unscheduled_ms = o->wait.unscheduled_ms;
    to->ray.zone_ms = o->wait.zone_ms;
    to->ray.starting_ms = o->wait.starting_ms;
    to->ray.spot_fallback_ms = o->wait.spot_fallback_ms;
    to->ray.spot_retry_ms = o->wait.spot_retry_ms;
    to->ray.version = SLICE(MOBULA_VERSION);
    to->settings_ns = to->lease.ns;
    to->route_ca = o->route.ca;
    to->route_hosts = o->route.hosts;
    to->service_auth_ms = o->route.service_auth_ms;
    to->settings[OPERATOR_INSTANCE_TYPES] = o->types;
    to->settings[OPERATOR_PATCHES] = o->patches;
    to->settings[OPERATOR_POLICY] = o->policy;
    to->zone_file = read_zone;
    to->zones = &o->zoneinfo;
    if (!defaults_read(&o->defaults, &p->arena, &to->patches, e) || !cli_access(o->ray_access, &to->access, e) ||
        !cli_kinds(o->kinds, &to->kinds, e) || !cli_tools(o->tools, &to->ray, e) ||
        !cli_resources("tools-resources", o->tools_resources, &to->ray.tools_resources, e) ||
        !cli_resources("agent-resources", o->plane.agent_resources, &to->ray.agent_resources, e) ||
        !cli_submitter(o->submitter, &to->ray, &to->submitter_pods, e) || !read_peers(to, e) ||
        !cli_projects(o->namespaces, o->all_namespaces, p->config->namespace_, &p->watched, e))
        return false;
    to->namespaces = p->watched.list;
    to->namespace_count = p->watched.count;
    return to->ray.tools != RAY_TOOLS_CONFIGMAP || put_executable(to, e);
}

static const char *text_or_null(struct slice s)
{
    return slice_empty(s) ? NULL : s.ptr;
}

/* The arguments of `mobula agent` of each head. */
static bool read_agent(struct process *p, struct operator_options *to, struct err *e)
{
    const struct options *o = &p->o;
    struct slice *args = arena_array(&p->arena, 4, sizeof *args);
    if (slice_is(o->plane.agent, "off"))
        return true;
    bool direct = slice_is(o->plane.agent, "direct");
    if (!direct && !slice_is(o->plane.agent, "operator"))
        return err_set(e, ERR_CONFIG, "--agent: want off, operator or direct");
    if (slice_empty(o->plane.url) || to->ray.tools == RAY_TOOLS_NONE)
        return err_set(e, ERR_CONFIG,
                       "--agent needs --control-plane-url, and --tools=configmap or image:REF, by which pods get this program");
    to->ray.agent = args;
    args[0] = arena_printf(&p->arena, "--operator-url=%.*s", SLICE_ARG(o->plane.agent_url));
    if (!direct && slice_empty(o->plane.agent_url))
        args[0] = arena_printf(&p->arena, "--operator-url=http://mobula-agent.%.*s.svc.%.*s:8082", SLICE_ARG(to->settings_ns),
                               SLICE_ARG(o->cluster_domain));
    if (!direct)
        return true;
    if (!slice_empty(o->plane.ca) &&
        !cli_read_most(o->plane.ca, LIMIT_REMOTE_AGENT_CA, "LIMIT_REMOTE_AGENT_CA", &p->arena, &to->ray.agent_ca, e))
        return err_wrap(e, "--control-plane-ca-file, for --agent");
    args[0] =
        arena_printf(&p->arena, "--control-plane-url=%.*s", SLICE_ARG(slice_empty(o->plane.agent_url) ? o->plane.url : o->plane.agent_url));
    args[1] = arena_printf(&p->arena, "--cloud-deployment-id=%.*s", SLICE_ARG(o->plane.cloud));
    if (!slice_empty(to->ray.agent_ca))
        args[2] = SLICE("--control-plane-ca-file=" RAY_AGENT_CA);
    return true;
}

static bool is_inside(struct slice url, struct slice domain, struct arena *a)
{
    struct slice rest = slice_skip(url, (size_t)(slice_find_text(url, "://") < 0 ? 0 : slice_find_text(url, "://") + 3)), host = SLICE("");
    uint16_t port;
    net_place(slice_cut(&rest, '/'), &host, &port);
    return slice_ends(host, SLICE(".svc")) || slice_ends(host, arena_printf(a, ".svc.%.*s", SLICE_ARG(domain))) ||
           slice_is(host, "localhost") || slice_starts(host, SLICE("127."));
}

/* Refuses to send the API server's token of this account out of the cluster: its holder has all rights of the account. */
static bool check_token(struct process *p, struct err *e)
{
    const struct options *o = &p->o;
    struct slice own = kube_config_authorization(p->config);
    if (o->plane.own || is_inside(o->plane.url, o->cluster_domain, &p->arena) || slice_empty(own) ||
        !slice_eq(own, kube_config_authorization(p->plane)))
        return true;
    return err_set(
        e, ERR_CONFIG,
        "the token for --control-plane-url is that of this operator's own account, and %.*s is outside the cluster: it would give "
        "that host the account's rights. Use a Secret's token (install --control-plane-token), or a projected one with "
        "audience " HUB_AUDIENCE "; --control-plane-own-token shows it all the same",
        SLICE_ARG(o->plane.url));
}

/* Behind the lease: its identity is this start of the process. */
static bool read_plane(struct process *p, struct operator_options *to, struct err *e)
{
    const struct options *o = &p->o;
    struct slice token = slice_of(getenv("ANYSCALE_CLI_TOKEN"));
    if (slice_empty(o->plane.url))
        return (slice_empty(o->plane.cloud) && slice_empty(o->egress_ca) && slice_empty(o->plane.policy_file) &&
                slice_empty(o->policy.name) && slice_empty(o->plane.sts)) ||
               err_set(e, ERR_CONFIG, "--cloud-deployment-id, --sts-url, --egress-ca-file and --policy-… need --control-plane-url");
    if (!cli_cloud_id(o->plane.cloud, e))
        return false;
    if (!slice_empty(o->plane.image) && !image_reference_check(o->plane.image, e))
        return err_wrap(e, "--default-image");
    if (to->kinds == OPERATOR_LEGACY)
        return err_set(e, ERR_CONFIG, "--control-plane-url makes objects of ray.io, and --kinds=legacy leaves those out");
    if (slice_empty(o->plane.token) && slice_empty(token) == slice_empty(o->plane.sts))
        return err_set(e, ERR_CONFIG,
                       "--control-plane-token-file is needed, or the token in the variable ANYSCALE_CLI_TOKEN, or --sts-url");
    p->plane = kube_config_url(&(struct kube_config_url){.url = o->plane.url.ptr,
                                                         .setting = "--control-plane-url",
                                                         .name = "control plane",
                                                         .token_file = text_or_null(o->plane.token),
                                                         .token = token,
                                                         .ca_file = text_or_null(o->plane.ca),
                                                         .more_ca_file = text_or_null(o->egress_ca)},
                               e);
    if (!p->plane || !check_token(p, e) || !kube_config_allow(p->plane, p->allow, e))
        return false;
    to->plane = (struct operator_plane){.config = p->plane,
                                        .cloud = o->plane.cloud,
                                        .instance = to->lease.identity,
                                        .image = o->plane.image,
                                        .policy_file = o->plane.policy_file,
                                        .read_file = cli_read_file};
    if (!operator_caller_read(&p->caller, o->plane.sts, o->plane.cloud, p->plane, p->allow, e))
        return false;
    if (o->lease.elect)
        to->plane.lease = arena_printf(&p->arena, "%.*s/%.*s/%.*s", SLICE_ARG(kube_config_cluster(p->config, &p->arena)),
                                       SLICE_ARG(to->lease.ns), SLICE_ARG(to->lease.name));
    return true;
}

static struct slice flag_of(const void *of, const char *flag)
{
    return flags_value(&flags, of, flag);
}

/* The rights that an installation with these flags has. */
static struct slice needed_rights(const struct options *o, const struct operator_options *to, struct arena *keep)
{
    struct install_options i;
    struct slice rules = SLICE_NONE;
    __attribute__((cleanup(arena_free))) struct arena a = {0};
    install_of_operator(&i, flag_of, o);
    for (size_t k = 0; kinds[k]; k++) /* a right that nobody needs yet: the object that needs it names it in a condition */
        i.optional[k] &= !kinds[k]->on_demand;
    i.ns = to->settings_ns;
    i.watch = o->all_namespaces ? SLICE_NONE : slice_empty(o->namespaces) ? to->settings_ns : o->namespaces;
    return install_rights(&i, SLICE_NONE, &a, &rules, NULL) ? arena_dup(keep, rules) : SLICE_NONE;
}

static bool read_checks(struct process *p, struct operator_options *to, struct err *e)
{
    const struct options *o = &p->o;
    struct cli_items it = {.of = &o->excluded};
    struct slice item;
    bool excluded[HEALTH_COMPONENTS] = {0};
    const struct slice names[] = {o->route.gateway, o->route.gateway_ns, o->route.ingress_class};
    struct operator_checks *c = &to->checks;
    while (cli_items_next(&it, &item))
        c->excluded = arena_printf(&p->arena, "%.*s%s%.*s", SLICE_ARG(c->excluded), slice_empty(c->excluded) ? "" : ",", SLICE_ARG(item));
    if (!health_excluded_read(c->excluded, excluded, e))
        return err_wrap(e, "--exclude-component-verification");
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!slice_empty(names[i]) && !name_dns1123_subdomain(names[i]))
            return err_set(e, ERR_CONFIG, "--%s: \"%.*s\" is no name",
                           (const char *[]){"gateway-name", "gateway-namespace", "ingress-class"}[i], SLICE_ARG(names[i]));
    c->gateway = o->route.gateway;
    c->gateway_ns = o->route.gateway_ns;
    c->ingress_class = o->route.ingress_class;
    c->on = p->plane || !slice_empty(o->serve.status) || !slice_empty(o->bucket.url);
    if (c->on)
        c->rights = needed_rights(o, to, &p->arena);
    return true;
}

static bool start(struct process *p, struct err *e)
{
    struct kube_config_options config = {text_or_null(p->o.kubeconfig), text_or_null(p->o.context), isatty(STDERR_FILENO)};
    struct operator_options o = {0};
    const char *sandbox;
    p->allow = net_allow_new();
    net_allow_remedy(p->allow, "--egress-allow");
    if (!cli_egress_entries(&p->o.egress, p->o.egress_strict, p->allow, e))
        return false;
    p->config = kube_config_load(&config, e);
    if (!p->config || !kube_config_allow(p->config, p->allow, e) || !read_options(p, &o, e) || !read_plane(p, &o, e) ||
        !read_agent(p, &o, e) || !operator_bucket_read(&p->o.bucket, p->allow, &p->arena, &p->storage, &o, e) || !read_checks(p, &o, e))
        return false;
    p->loop = loop_new(p->allow, e);
    if (!p->loop)
        return false;
    o.allow = p->allow;
    operator_caller_start(&p->caller, loop_net(p->loop));
    p->op = operator_new(loop_net(p->loop), p->config, &o, e);
    if (!p->op || !cli_listen(p->loop, p->o.serve.health, operator_health(p->op), "health-addr", e) ||
        !cli_listen(p->loop, p->o.serve.status, operator_status(p->op), "status-addr", e) ||
        !cli_listen(p->loop, p->o.serve.metrics, operator_metrics(p->op), "metrics-addr", e) ||
        (slice_is(p->o.plane.agent, "operator") && !cli_listen(p->loop, p->o.plane.agent_addr, operator_agents(p->op), "agent-addr", e)) ||
        !sandbox_enter(p->o.sandbox, p->config->plugin, &sandbox, e))
        return false;
    log_info("started", LF_CSTR("version", MOBULA_VERSION), LF_CSTR("sandbox", sandbox), LF("server", p->config->host),
             LF_INT("port", p->config->port), LF("config", p->config->source),
             LF("namespaces", p->o.all_namespaces            ? SLICE("all")
                              : slice_empty(p->o.namespaces) ? p->config->namespace_
                                                             : p->o.namespaces));
    return true;
}

static void renew(void *of, struct now now)
{
    operator_renew(((struct process *)of)->op, now);
}

static void wake(void *of, struct now now)
{
    operator_wake(((struct process *)of)->op, now);
}

static int64_t step(void *of, struct now now)
{
    struct process *p = of;
    int64_t caller = operator_caller_step(&p->caller, now);
    return earlier(caller, operator_step(p->op, now));
}

static bool stop(void *of, struct now now)
{
    return operator_stop(((struct process *)of)->op, now);
}

static void release(struct process *p)
{
    operator_free(p->op);
    operator_caller_free(&p->caller);
    if (p->storage.from.owner)
        storage_close(&p->storage);
    if (p->loop)
        loop_free(p->loop);
    kube_config_free(p->config);
    kube_config_free(p->plane);
    net_allow_free(p->allow);
    arena_free(&p->arena);
}

int cli_operator(int argc, char **argv)
{
    static const struct cli_daemon daemon = {.renew = renew, .wake = wake, .step = step, .stop = stop, .stop_ms = STOP_MS};
    struct process p = {.o = {.kinds = SLICE("all"),
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
                              .types.key = SLICE("instance_types.yaml"),
                              .patches.key = SLICE("patches.yaml"),
                              .policy.key = SLICE("policy.yaml"),
                              .wait.unscheduled_ms = RAYCLUSTER_UNSCHEDULED_MS,
                              .wait.zone_ms = RAYCLUSTER_ZONE_MS,
                              .wait.starting_ms = RAYCLUSTER_STARTING_MS,
                              .wait.spot_fallback_ms = RAYCLUSTER_SPOT_FALLBACK_MS,
                              .wait.spot_retry_ms = RAYCLUSTER_SPOT_RETRY_MS,
                              .lease.lease_ms = KUBE_LEASE_MS,
                              .lease.renew_ms = KUBE_LEASE_RENEW_MS,
                              .lease.retry_ms = KUBE_LEASE_RETRY_MS}};
    int status;
    struct err e = {0};
    memset(p.o.optional, true, sizeof p.o.optional);
    if (!flags_parse(&flags, argc, argv, &p.o, &status))
        return status;
    if (!cli_log(p.o.log.level, p.o.log.format, &e) || !check_flags(&p.o, &e))
        return flags_wrong(&flags, "%s", e.text);
    signal(SIGPIPE, SIG_IGN); /* that nobody reads the log any more is no reason to end */
    bool started = start(&p, &e);
    if (started)
        cli_daemon_run(&daemon, p.loop, &p);
    release(&p);
    return cli_daemon_end(&flags, started, &e);
}
