/* The parts of an installation: the files of airgap/install, when each is there, and whose. `mobula install` prints them in this order,
 * `mobula uninstall` takes the names of what it deletes out of them, and airgap/make-chart reads the tables of this file. */
#include "private.h"

#include <mobula/kinds.h>
#include <mobula/route.h>

const char *const install_plane_kinds[] = {"clouds.mobula.dev", "computeconfigs.mobula.dev", "workloads.mobula.dev", NULL};

const struct install_file install_files[] = {
    /* objects that need a cluster's admin, the ClusterRole of --all-namespaces left out: its rights are the operator's */
    {"plane-reviews", ALWAYS, OF_PLANE, INSTALL_ADMIN},
    {"admission", IF_ADMISSION, OF_OPERATOR, INSTALL_ADMIN},
    {"admission-shapes", IF_ADMISSION_OF_SHAPES, OF_OPERATOR, INSTALL_ADMIN},
    {"agent-reviews", IF_AGENT, OF_OPERATOR, INSTALL_ADMIN},
    {"account", ALWAYS, OF_BOTH, INSTALL_ONCE},
    {"role", ALWAYS, OF_OPERATOR, INSTALL_EACH},
    {"plane-role", ALWAYS, OF_PLANE, INSTALL_EACH},
    {"role-leader", IF_ELECTED, OF_OPERATOR, INSTALL_ONCE},
    {"plane-service", ALWAYS, OF_PLANE, INSTALL_ONCE},
    {"plane-tls", IF_OWN_CERTIFICATE, OF_PLANE, INSTALL_ONCE},
    {"role-shapes", IF_SHAPES, OF_OPERATOR, INSTALL_ONCE},
    {"role-route-ca", IF_ROUTE_CA, OF_OPERATOR, INSTALL_ONCE},
    {"role-policy", IF_PLANE_URL, OF_OPERATOR, INSTALL_ONCE},
    {"role-nodes", IF_NODES, OF_OPERATOR, INSTALL_ONCE},
    {"agent-service", IF_AGENT_HERE, OF_OPERATOR, INSTALL_ONCE},
    {"network", IF_NETWORK_POLICY, OF_BOTH, INSTALL_ONCE},
    {"disruption", IF_REPLICAS, OF_BOTH, INSTALL_ONCE},
    {"program", IF_PROGRAM, OF_BOTH, INSTALL_ONCE},
    {"deployment", ALWAYS, OF_BOTH, INSTALL_ONCE}, /* last, so uninstall deletes it first: who has lost its rights would only complain */
    {NULL, ALWAYS, OF_BOTH, INSTALL_ONCE},
};

const struct install_inset install_insets[] = {
    {"TOOLS_RULE", "role-tools", IF_TOOLS},
    {"SIDECAR_RULES", "role-sidecar", IF_SIDECAR},
    {"PROXY_RULE", "role-proxy", IF_PROXIED},
    {"REMOTE_RULE", "role-remote", IF_PLANE_URL},
    {"AGENT_PORT", "agent-port", IF_AGENT_HERE},
    {"IDENTITY_EGRESS", "network-identity", IF_IDENTITY},
    {"AUTH_RULE", "role-auth", IF_AUTH},
    {"ROUTES_RULE", "role-routes", IF_ROUTE_CA},
    {"SERVICE_AUTH_RULE", "role-service-auth", IF_SERVICE_AUTH},
    {"ROUTE_CA_RULE", "role-route-made", IF_ROUTE_CA_OWN},
    {NULL, NULL, ALWAYS},
};

bool install_has(enum install_when when, const struct install_options *o, const struct install_wanted *want)
{
    const bool holds[] = {
        [ALWAYS] = true,
        [IF_ADMISSION] = !o->with.no_admission_policy,
        [IF_ADMISSION_OF_SHAPES] = o->with.shapes && !o->with.no_admission_policy,
        [IF_AGENT] = o->with.agent,
        [IF_AGENT_HERE] = o->with.agent && !o->with.agent_direct,
        [IF_AGENT_DIRECT] = o->with.agent && o->with.agent_direct,
        [IF_AUTH] = o->with.ray_auth,
        [IF_ELECTED] = want->elect,
        [IF_IDENTITY] = !slice_empty(o->hub.sts) || (!slice_empty(o->bucket.url) && slice_empty(o->bucket.secret)),
        [IF_NETWORK_POLICY] = !o->with.no_network_policy,
        [IF_NODES] = o->with.report_nodes,
        [IF_OWN_CERTIFICATE] = slice_empty(o->tls.secret),
        [IF_PLANE_TOKEN] = !slice_empty(o->hub.url) && slice_empty(o->hub.sts),
        [IF_PLANE_URL] = !slice_empty(o->hub.url),
        [IF_PROGRAM] = !slice_empty(o->program.bytes),
        [IF_PROXIED] = slice_is(o->args.ray_access, "proxy"),
        [IF_REPLICAS] = want->replicas > 1,
        [IF_ROUTE_CA] = !slice_empty(o->args.route_ca),
        [IF_ROUTE_CA_OWN] = slice_is(o->args.route_ca, ROUTE_CA_OWN),
        [IF_SERVICE_AUTH] = !slice_empty(o->args.service_auth),
        [IF_SHAPES] = o->with.shapes,
        [IF_SIDECAR] = slice_is(o->args.autoscaler, "sidecar"),
        [IF_TOOLS] = want->tools.tools == RAY_TOOLS_CONFIGMAP,
        [IF_VIRTUAL_HOST] = o->bucket.virtual_host,
    };
    return holds[when];
}

struct slice install_role_name(struct slice name, struct slice ns, struct slice watched, struct arena *a)
{
    return slice_eq(ns, watched) ? name : arena_printf(a, "%.*s.%.*s", SLICE_ARG(name), SLICE_ARG(ns));
}

/* ---- which rights follow from the operator's flags ---- */

static bool switched(struct slice value)
{
    return value.ptr && !slice_is(value, "false");
}

void install_of_operator(struct install_options *o, install_flag *value, const void *of)
{
    *o = install_defaults;
    const struct {
        const char *flag;
        struct slice *to;
    } texts[] = {{"kinds", &o->args.kinds},           {"tools", &o->args.tools},
                 {"autoscaler", &o->args.autoscaler}, {"submitter", &o->args.submitter},
                 {"ray-access", &o->args.ray_access}, {"cloud-deployment-id", &o->hub.cloud},
                 {"route-ca", &o->args.route_ca},     {"service-auth", &o->args.service_auth}};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct slice given = value(of, texts[i].flag);
        *texts[i].to = given.ptr ? given : *texts[i].to;
    }
    o->all_namespaces = switched(value(of, "all-namespaces"));
    o->leader_elect = switched(value(of, "leader-elect"));
    for (size_t i = 0; kinds[i]; i++)
        o->optional[i] = kinds[i]->optional.flag && !slice_is(value(of, kinds[i]->optional.flag), "false");
    o->with.shapes = !slice_empty(value(of, "instance-types-configmap"));
    /* They do not depend on the control plane's URL, which an operator may be given in more ways than an installation. */
    o->hub.url = slice_empty(o->hub.cloud) ? SLICE_NONE : SLICE("https://control-plane.invalid");
    struct slice agent = value(of, "agent");
    o->with.agent = !slice_empty(o->hub.url) && !slice_empty(agent) && !slice_is(agent, "off");
    o->no_definitions = o->with.no_admission_policy = true; /* no rights follow from them */
}
