#include "operator_setup.h"

#include <mobula/artifact.h>
#include <mobula/command.h>
#include <mobula/health.h>
#include <mobula/release.h>

#include <unistd.h>

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

static bool read_options(struct operator_setup *p, struct operator_options *to, struct err *e)
{
    const struct operator_flags *o = &p->o;
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
    to->domain = o->route.domain;
    to->service_auth_ms = o->route.service_auth_ms;
    memcpy(to->settings, o->settings, sizeof to->settings);
    to->zone_file = read_zone;
    to->zones = &o->zoneinfo;
    if (!defaults_read(&o->defaults, &p->arena, &to->patches, e) || !cli_access(o->ray_access, &to->access, e) ||
        !cli_kinds(o->kinds, &to->kinds, e) || !cli_tools(o->tools, &to->ray, e) ||
        !cli_resources("tools-resources", o->tools_resources, &to->ray.tools_resources, e) ||
        !cli_resources("agent-resources", o->plane.agent_resources, &to->ray.agent_resources, e) ||
        !cli_submitter(o->submitter, &to->ray, &to->submitter_pods, e) || !cli_kuberay_settings(to, e) ||
        !cli_projects(o->namespaces, o->all_namespaces, p->config->namespace_, &p->watched, e))
        return false;
    to->namespaces = p->watched.list;
    to->namespace_count = p->watched.count;
    return to->ray.tools != RAY_TOOLS_CONFIGMAP || put_executable(to, e);
}

static struct slice flag_of(const void *of, const char *flag)
{
    return flags_value(&operator_flags, of, flag);
}

static bool read_checks(struct operator_setup *p, struct operator_options *to, struct err *e)
{
    const struct operator_flags *o = &p->o;
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
        c->rights =
            install_rights_needed(flag_of, o, to->settings_ns, slice_empty(o->namespaces) ? to->settings_ns : o->namespaces, &p->arena);
    return true;
}

bool operator_setup_read(struct operator_setup *p, struct operator_options *to, struct err *e)
{
    struct kube_config_options config = {operator_text(p->o.kubeconfig), operator_text(p->o.context), isatty(STDERR_FILENO)};
    p->allow = net_allow_new();
    net_allow_remedy(p->allow, "--egress-allow");
    if (!cli_egress_entries(&p->o.egress, p->o.egress_strict, p->allow, e))
        return false;
    p->config = kube_config_load(&config, e);
    to->allow = p->allow;
    return p->config && kube_config_allow(p->config, p->allow, e) && read_options(p, to, e) && operator_plane_read(p, to, e) &&
           operator_agent_read(p, to, e) && operator_bucket_read(&p->o.bucket, p->allow, &p->arena, &p->storage, to, e) &&
           read_checks(p, to, e) && (p->loop = loop_new(p->allow, e));
}

void operator_setup_free(struct operator_setup *p)
{
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
