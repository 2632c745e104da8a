/* What is special about the smaller built-in kinds. */
#include "rules.h"

/* ---- namespaces ---- */

static void namespace_defaults(struct node *ns, struct arena *a)
{
    struct node *labels = dom_want(a, dom_want(a, ns, "metadata", JSON_OBJECT), "labels", JSON_OBJECT);
    dom_put_str(a, labels, "kubernetes.io/metadata.name", dom_str(ns, "metadata.name"));
}

static void fill_namespace(struct apiserver *s, struct node *ns, const struct node *old, struct arena *a)
{
    (void)s;
    if (old)
        return;
    dom_put(dom_want(a, ns, "spec", JSON_OBJECT), SLICE("finalizers"), dom_literal(a, "[\"kubernetes\"]"));
    dom_put_str(a, dom_want(a, ns, "status", JSON_OBJECT), "phase", SLICE("Active"));
}

const struct rules rules_namespace = {
    .name = name_dns1123_label,
    .name_rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
                 "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    .defaults = namespace_defaults,
    .fill = fill_namespace};

/* ---- services ---- */

static struct slice cluster_ip(struct apiserver *s, struct arena *a)
{
    uint32_t n = ++s->cluster_ips;
    return arena_printf(a, "10.96.%u.%u", n / 254 % 256, n % 254);
}

/* Addresses are given once and stay. */
static void allocate(struct apiserver *s, struct node *spec, const struct node *old, struct arena *a)
{
    enum { NODE_PORT_FIRST = 30000 };
    struct slice had = dom_str(old, "spec.clusterIP"), ip = dom_str(spec, "clusterIP"), type = dom_str(spec, "type");
    if (!ip.len && !slice_eq(type, SLICE("ExternalName")))
        dom_put_str(a, spec, "clusterIP", ip = had.len ? had : cluster_ip(s, a));
    if (!dom_get(spec, "clusterIPs") && ip.len)
        dom_push(dom_want(a, spec, "clusterIPs", JSON_ARRAY), dom_new_str(a, ip));
    if (!slice_eq(type, SLICE("NodePort")) && !slice_eq(type, SLICE("LoadBalancer")))
        return;
    const struct node *ports = dom_get(spec, "ports");
    size_t i = 0;
    for (struct node *p = ports ? ports->child : NULL; p; p = p->next, i++) {
        int64_t before = dom_int(dom_at(dom_get(old, "spec.ports"), i), "nodePort", 0);
        if (!dom_get(p, "nodePort"))
            dom_put_int(a, p, "nodePort", before ? before : NODE_PORT_FIRST + s->node_ports++);
    }
    dom_default_str(a, spec, "externalTrafficPolicy", "Cluster");
}

static void service_defaults(struct node *service, struct arena *a)
{
    struct node *spec = dom_want(a, service, "spec", JSON_OBJECT);
    const struct node *ports = dom_get(spec, "ports");
    for (struct node *p = ports ? ports->child : NULL; p; p = p->next) {
        dom_default_str(a, p, "protocol", "TCP");
        if (!dom_get(p, "targetPort") && dom_get(p, "port"))
            dom_put(p, SLICE("targetPort"), dom_copy(dom_get(p, "port"), a));
    }
    dom_default_str(a, spec, "type", "ClusterIP");
    dom_default_str(a, spec, "sessionAffinity", "None");
    if (!slice_eq(dom_str(spec, "type"), SLICE("ExternalName")))
        dom_default_str(a, spec, "internalTrafficPolicy", "Cluster");
}

static void fill_service(struct apiserver *s, struct node *service, const struct node *old, struct arena *a)
{
    struct node *spec = dom_get(service, "spec");
    allocate(s, spec, old, a);
    if (!slice_eq(dom_str(spec, "type"), SLICE("ExternalName"))) {
        if (!dom_get(spec, "ipFamilies"))
            dom_put(spec, SLICE("ipFamilies"), dom_literal(a, "[\"IPv4\"]"));
        dom_default_str(a, spec, "ipFamilyPolicy", "SingleStack");
    }
    dom_want(a, dom_want(a, service, "status", JSON_OBJECT), "loadBalancer", JSON_OBJECT);
}

static void check_port(struct status *st, const struct node *p, const char *field, unsigned i)
{
    int64_t port = dom_int(p, field, 0);
    if (port < 1 || port > 65535)
        status_cause(st, "FieldValueInvalid", arena_printf(st->a, "spec.ports[%u].%s", i, field),
                     "Invalid value: %lld: must be between 1 and 65535, inclusive", (long long)port);
}

static void check_ports(struct status *st, const struct node *ports)
{
    unsigned i = 0;
    size_t count = dom_len(ports);
    for (const struct node *p = ports ? ports->child : NULL; p; p = p->next, i++) {
        if (count > 1 && !dom_str(p, "name").len)
            status_cause(st, "FieldValueRequired", arena_printf(st->a, "spec.ports[%u].name", i), "Required value");
        check_port(st, p, "port", i);
        if (dom_is(dom_get(p, "targetPort"), JSON_NUMBER))
            check_port(st, p, "targetPort", i);
        for (const struct node *d = ports->child; d != p; d = d->next)
            if (dom_str(p, "name").len && slice_eq(dom_str(p, "name"), dom_str(d, "name")))
                status_cause(st, "FieldValueDuplicate", arena_printf(st->a, "spec.ports[%u].name", i), "Duplicate value: \"%.*s\"",
                             SLICE_ARG(dom_str(p, "name")));
    }
}

static void check_service(struct status *st, const struct api *api, const struct node *service, const struct node *old)
{
    (void)api;
    struct slice ip = dom_str(service, "spec.clusterIP"), had = dom_str(old, "spec.clusterIP");
    const struct node *ports = dom_get(service, "spec.ports");
    bool headless = slice_eq(ip, SLICE("None")), external = slice_eq(dom_str(service, "spec.type"), SLICE("ExternalName"));
    if (!dom_len(ports) && !headless && !external)
        status_cause(st, "FieldValueRequired", SLICE("spec.ports"), "Required value");
    check_ports(st, ports);
    struct slice type = dom_str(service, "spec.type");
    if (headless && (slice_eq(type, SLICE("NodePort")) || slice_eq(type, SLICE("LoadBalancer"))))
        status_cause(st, "FieldValueInvalid", SLICE("spec.clusterIPs[0]"),
                     "Invalid value: \"None\": may not be set to 'None' for %.*s services", SLICE_ARG(type));
    if (had.len && ip.len && !slice_eq(had, ip))
        status_cause(st, "FieldValueInvalid", SLICE("spec.clusterIPs[0]"), "Invalid value: [\"%.*s\"]: may not change once set",
                     SLICE_ARG(ip));
}

const struct rules rules_service = {
    .name = name_dns1035_label,
    .name_rule =
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with "
        "an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    .defaults = service_defaults,
    .fill = fill_service,
    .check = check_service};

/* ---- leases, events, RBAC ---- */

static void check_lease(struct status *st, const struct api *api, const struct node *lease, const struct node *old)
{
    (void)api;
    (void)old;
    if (dom_int(lease, "spec.leaseDurationSeconds", 1) <= 0)
        status_cause(st, "FieldValueInvalid", SLICE("spec.leaseDurationSeconds"), "Invalid value: %lld: must be greater than 0",
                     (long long)dom_int(lease, "spec.leaseDurationSeconds", 1));
    int64_t transitions = dom_int(lease, "spec.leaseTransitions", 0);
    if (transitions < 0)
        status_cause(st, "FieldValueInvalid", SLICE("spec.leaseTransitions"), "Invalid value: %lld: must be greater than or equal to 0",
                     (long long)transitions);
}

const struct rules rules_lease = {.check = check_lease};

/* Fields of both kinds of events that are printed even when nothing was said. */
static void decode_event(struct status *st, struct node *event, struct arena *a)
{
    (void)st;
    static const char *const times[] = {"firstTimestamp", "lastTimestamp", "eventTime"};
    for (size_t i = 0; i < COUNT_OF(times); i++)
        if (!dom_get(event, times[i]))
            dom_put(event, slice_of(times[i]), dom_new(a, JSON_NULL));
    dom_want(a, event, "source", JSON_OBJECT);
}

/* An event with an eventTime is a new one, whichever way it came. */
static void check_new_event(struct status *st, const struct api *api, const struct node *event)
{
    enum { NOTE_MAX = 1024, TEXT_MAX = 128 };
    static const char *const wanted[] = {"reportingComponent", "reportingInstance", "action", "reason"};
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        struct slice text = dom_str(event, wanted[i]), field = slice_of(wanted[i]);
        if (i == 0 && api->events_view)
            field = SLICE("reportingController");
        if (!text.len)
            status_cause(st, "FieldValueRequired", field, "Required value");
        else if (i == 0 && !name_qualified(text))
            status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": must be a qualified name", SLICE_ARG(text));
        else if (i > 0 && text.len > TEXT_MAX)
            status_cause(st, "FieldValueInvalid", field, "Invalid value: \"\": can have at most 128 characters");
    }
    if (dom_str(event, "message").len > NOTE_MAX)
        status_cause(st, "FieldValueInvalid", SLICE("message"), "Invalid value: \"\": can have at most 1024 characters");
}

static void check_event(struct status *st, const struct api *api, const struct node *event, const struct node *old)
{
    struct slice about = dom_str(event, "involvedObject.namespace"), ns = dom_str(event, "metadata.namespace"),
                 type = dom_str(event, "type");
    bool is_new = dom_str(event, "eventTime").len > 0, home = slice_eq(ns, SLICE("default"));
    if (old)
        return;
    if (is_new ? !about.len && !home && !slice_eq(ns, SLICE("kube-system")) : about.len ? !slice_eq(about, ns) : !home)
        status_cause(st, "FieldValueInvalid", SLICE("involvedObject.namespace"), "Invalid value: \"%.*s\": does not match event.namespace",
                     SLICE_ARG(about));
    if (is_new)
        check_new_event(st, api, event);
    if (!api->events_view)
        return;
    if (!is_new)
        status_cause(st, "FieldValueRequired", SLICE("eventTime"), "Required value");
    if (!slice_eq(type, SLICE("Normal")) && !slice_eq(type, SLICE("Warning")))
        status_cause(st, "FieldValueInvalid", SLICE("type"), "Invalid value: \"\": has invalid value: %.*s", SLICE_ARG(type));
}

const struct rules rules_event = {.decode = decode_event, .check = check_event};

/* Names of RBAC objects are any path segment. */
static bool path_name(struct slice name)
{
    return name.len && slice_find(name, '/') < 0 && slice_find(name, '%') < 0 && !slice_eq(name, SLICE(".")) &&
           !slice_eq(name, SLICE(".."));
}

const struct rules rules_path_name = {.name = path_name, .name_rule = "may not be empty, '.' or '..', or contain '/' or '%'"};
