/* Checks of an installation beside its Deployment: the Lease, the admission policies, and whether its NetworkPolicy lets out what goes to
 * the API server. */
#include <mobula/check.h>
#include <mobula/release.h>

/* ---- the Lease ---- */

void check_lease_object(struct check *c, struct jval lease)
{
    struct slice ns = c->operator_ns, holder = json_get_str(lease, "spec.holderIdentity", c->a);
    int64_t renewed_us = 0, s = json_get_int(lease, "spec.leaseDurationSeconds", 0);
    char until[TIME_TEXT_MAX];
    if (slice_empty(holder) || !time_parse(json_get_str(lease, "spec.renewTime", c->a), &renewed_us, NULL))
        return; /* it has no holder: the next operator does not wait */
    bool over = renewed_us + s * 1000000 < c->wall_us, there = json_there(c->deployment);
    struct slice end = time_format(renewed_us + s * 1000000, until);
    if (!over)
        check_say(c, there ? CHECK_PASS : CHECK_WARN,
                  there ? NULL : "another operator of this namespace runs, which mobula install has not made: end it first",
                  "Lease mobula in namespace %.*s: %.*s leads, until %.*s unless it renews", SLICE_ARG(ns), SLICE_ARG(holder),
                  SLICE_ARG(end));
    else
        check_say(c, CHECK_WARN, arena_printf(c->a, "kubectl -n %.*s delete lease mobula, if no operator runs", SLICE_ARG(ns)).ptr,
                  "Lease mobula in namespace %.*s is an old one: %.*s held it until %.*s", SLICE_ARG(ns), SLICE_ARG(holder),
                  SLICE_ARG(end));
}

void check_lease(struct check *c)
{
    struct jval lease;
    bool absent;
    struct slice path = arena_printf(c->a, "/apis/coordination.k8s.io/v1/namespaces/%.*s/leases/mobula", SLICE_ARG(c->operator_ns));
    if (check_get(c, path, &lease, &absent))
        check_lease_object(c, lease);
}

/* ---- admission policies ---- */

static bool read_manifests(struct check *c, bool crds_only, struct apply *p)
{
    struct install_options o = install_defaults;
    struct err e = {0};
    __attribute__((cleanup(buf_free))) struct buf text;
    buf_init(&text, INSTALL_TEXT_MAX);
    o.ns = c->operator_ns;
    o.crds_only = crds_only;
    o.no_crds = !crds_only;
    o.with.shapes = check_argument(c, "--instance-types-configmap").ptr != NULL;
    return install_write(&o, &text, &e) && apply_read(p, arena_dup(c->a, buf_slice(&text)), &e);
}

struct jval check_usual(struct check *c)
{
    struct apply p = {.ask = &c->ask, .a = c->a};
    struct jval doc = NO_VALUE;
    bool read = read_manifests(c, false, &p);
    for (uint32_t i = 0; read && i < p.count; i++)
        if (apply_is(&p.list[i], "Deployment") && json_read(&doc, p.list[i].json, c->a, NULL))
            return doc;
    return NO_VALUE;
}

/* Compares what the API server holds with what this program would write, defaults included. */
void check_policies(struct check *c)
{
    struct apply p = {.ask = &c->ask, .a = c->a};
    struct jval have, want;
    bool absent, differs = false, any = false;
    const char *remedy =
        arena_printf(c->a, "mobula install --apply --crds-only --namespace=%.*s writes them", SLICE_ARG(c->operator_ns)).ptr;
    if (!json_there(c->deployment) || !read_manifests(c, true, &p))
        return;
    for (uint32_t i = 0; i < p.count; i++) {
        struct apply_object *o = &p.list[i];
        if (!slice_starts(o->kind, SLICE("ValidatingAdmissionPolicy")) || !json_read(&want, o->json, c->a, NULL))
            continue;
        bool there = check_get(c, o->path, &have, &absent);
        if (!there && !absent)
            return; /* a row says why it cannot be read */
        any |= there;
        if (there && json_covers(json_key(have, SLICE("spec")), json_key(want, SLICE("spec"))))
            continue;
        differs = true;
        if (there)
            check_say(c, CHECK_WARN, remedy, "%.*s %.*s is not the one of this version", SLICE_ARG(o->kind), SLICE_ARG(o->name));
    }
    if (!any)
        check_say(c, CHECK_WARN, remedy, "no admission policy holds for the operator's account in namespace %.*s",
                  SLICE_ARG(c->operator_ns));
    else if (!differs)
        check_say(c, CHECK_PASS, NULL, "the admission policies of the operator's account are those of this version");
}

/* ---- manifests of another namespace ---- */

/* Tools such as kustomize change metadata.namespace and leave namespaces inside of texts: of arguments, and of policies' expressions. */
void check_origin(struct check *c)
{
    struct jval binding;
    bool absent;
    struct slice path =
        arena_printf(c->a, "/apis/rbac.authorization.k8s.io/v1/namespaces/%.*s/rolebindings/mobula", SLICE_ARG(c->operator_ns));
    if (!json_there(c->deployment) || !check_get(c, path, &binding, &absent))
        return; /* it watches other namespaces alone, whose objects have names with this one's */
    struct slice of = json_str(json_child(json_get(binding, "metadata.labels"), "mobula.dev/installation"), c->a);
    if (slice_empty(of) || slice_eq(of, c->operator_ns))
        return;
    check_say(
        c, CHECK_FAIL,
        arena_printf(c->a, "mobula install --print --namespace=%.*s prints those of this one", SLICE_ARG(c->operator_ns)).ptr,
        "the manifests of namespace %.*s were printed for namespace %.*s: arguments, RoleBindings and the admission policy name that one",
        SLICE_ARG(c->operator_ns), SLICE_ARG(of));
}

/* ---- the NetworkPolicy ---- */

/* A policy is held against the address behind the Service, so the port of the EndpointSlice counts. */
void check_policy_ports(struct check *c, struct jval policy, struct jval slice)
{
    struct jval key, one;
    for (struct jiter it = json_iter(json_get(slice, "ports")); json_next(&it, &key, &one);) {
        int64_t port = json_get_int(one, "port", 0);
        bool out = apply_lets_out(policy, port);
        check_say(c, out ? CHECK_PASS : CHECK_WARN,
                  out ? NULL
                      : arena_printf(c->a, "mobula upgrade --egress-allow=%.*s adds the port, --no-network-policy leaves the policy out",
                                     SLICE_ARG(apply_endpoint(slice, port, c->a)))
                            .ptr,
                  "the NetworkPolicy of namespace %.*s %s port %lld, where the API server listens", SLICE_ARG(c->operator_ns),
                  out ? "lets out" : "does not let out", (long long)port);
    }
}

static void on_slice(struct check *c, void *state, struct jval item)
{
    check_policy_ports(c, *(const struct jval *)state, item);
}

void check_network(struct check *c)
{
    struct jval policy;
    bool absent;
    struct slice path = arena_printf(c->a, "/apis/networking.k8s.io/v1/namespaces/%.*s/networkpolicies/mobula", SLICE_ARG(c->operator_ns));
    if (json_there(c->deployment) && check_get(c, path, &policy, &absent))
        check_list(c, SLICE(APPLY_ENDPOINTS), on_slice, &policy);
}
