/* The control plane of an operator, and the agents of its heads. */
#include "operator_setup.h"

#include <mobula/artifact.h>
#include <mobula/hub.h>

#include <stdlib.h>

/* The arguments of `mobula agent` of each head. */
bool operator_agent_read(struct operator_setup *p, struct operator_options *to, struct err *e)
{
    const struct operator_flags *o = &p->o;
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
static bool check_token(struct operator_setup *p, struct err *e)
{
    const struct operator_flags *o = &p->o;
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

/* Needs to->lease.identity, which names this start of the process. */
bool operator_plane_read(struct operator_setup *p, struct operator_options *to, struct err *e)
{
    const struct operator_flags *o = &p->o;
    struct slice token = slice_of(getenv("ANYSCALE_CLI_TOKEN"));
    if (slice_empty(o->plane.url))
        return (slice_empty(o->plane.cloud) && slice_empty(o->egress_ca) && slice_empty(o->plane.policy_file) &&
                slice_empty(flags_value(&operator_flags, o, "policy-configmap")) && slice_empty(o->plane.sts)) ||
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
                                                         .token_file = operator_text(o->plane.token),
                                                         .token = token,
                                                         .ca_file = operator_text(o->plane.ca),
                                                         .more_ca_file = operator_text(o->egress_ca)},
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
