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
    .blank = "{\"spec\":{},\"status\":{}}", .name = NAME_LABEL, .defaults = namespace_defaults, .fill = fill_namespace};

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
}

static void service_defaults(struct node *service, struct arena *a)
{
    struct node *spec = dom_want(a, service, "spec", JSON_OBJECT);
    const struct node *ports = dom_get(spec, "ports");
    for (struct node *p = ports ? ports->child : NULL; p; p = p->next) {
        dom_default_str(a, p, "protocol", "TCP");
        const struct node *target = dom_get(p, "targetPort");
        bool said = target && target->text.len && !(target->type == JSON_NUMBER && slice_eq(target->text, SLICE("0")));
        if (!said && dom_get(p, "port"))
            dom_put(p, SLICE("targetPort"), dom_copy(dom_get(p, "port"), a));
    }
    dom_default_str(a, spec, "type", "ClusterIP");
    dom_default_str(a, spec, "sessionAffinity", "None");
    struct slice type = dom_str(spec, "type");
    if (!slice_eq(type, SLICE("ExternalName")))
        dom_default_str(a, spec, "internalTrafficPolicy", "Cluster");
    if (slice_eq(type, SLICE("NodePort")) || slice_eq(type, SLICE("LoadBalancer")))
        dom_default_str(a, spec, "externalTrafficPolicy", "Cluster");
}

static bool has_outside(const struct node *spec)
{
    return slice_eq(dom_str(spec, "type"), SLICE("NodePort")) || slice_eq(dom_str(spec, "type"), SLICE("LoadBalancer"));
}

/* A service that is no longer seen from outside loses what it was given for that, unless the client has changed it. */
static void drop_outside(struct node *spec, const struct node *old)
{
    const struct node *ports = dom_get(spec, "ports"), *had = dom_get(old, "ports");
    size_t i = 0;
    bool same = true;
    if (has_outside(spec) || !has_outside(old))
        return;
    if (dom_equal(dom_get(spec, "externalTrafficPolicy"), dom_get(old, "externalTrafficPolicy")))
        dom_drop(spec, "externalTrafficPolicy");
    for (const struct node *p = ports ? ports->child : NULL; p; p = p->next, i++)
        same = same && dom_equal(dom_get(p, "nodePort"), dom_get(dom_at(had, i), "nodePort"));
    for (struct node *p = ports && same ? ports->child : NULL; p; p = p->next)
        dom_drop(p, "nodePort");
}

/* Who finds the addresses of a headless service without a selector may find any. */
static bool takes_any(const struct node *spec)
{
    return slice_eq(dom_str(spec, "clusterIP"), SLICE("None")) && !dom_len(dom_get(spec, "selector"));
}

/* Unless the client says otherwise, how many families there are stays as it was. */
static void choose_families(struct node *spec, const struct node *old, struct arena *a)
{
    struct slice had = dom_str(old, "ipFamilyPolicy");
    bool any = takes_any(spec);
    if (!dom_get(spec, "ipFamilyPolicy"))
        dom_put_str(a, spec, "ipFamilyPolicy", had.len ? had : any ? SLICE("RequireDualStack") : SLICE("SingleStack"));
    bool single = slice_eq(dom_str(spec, "ipFamilyPolicy"), SLICE("SingleStack"));
    if (!dom_get(spec, "ipFamilies"))
        dom_put(spec, SLICE("ipFamilies"), dom_literal(a, any && !single ? "[\"IPv4\",\"IPv6\"]" : "[\"IPv4\"]"));
}

static void fill_service(struct apiserver *s, struct node *service, const struct node *old, struct arena *a)
{
    struct node *spec = dom_get(service, "spec");
    if (old)
        drop_outside(spec, dom_get(old, "spec"));
    allocate(s, spec, old, a);
    if (!slice_eq(dom_str(spec, "type"), SLICE("ExternalName")))
        choose_families(spec, dom_get(old, "spec"), a);
    dom_want(a, dom_want(a, service, "status", JSON_OBJECT), "loadBalancer", JSON_OBJECT);
}

static void check_port(struct status *st, const struct node *p, const char *field, unsigned i)
{
    int64_t port = dom_int(p, field, 0);
    if (port < 1 || port > 65535)
        status_cause(st, "FieldValueInvalid", arena_printf(st->a, "spec.ports[%u].%s", i, field),
                     "Invalid value: %lld: must be between 1 and 65535, inclusive", (long long)port);
}

/* A port may be named: letters, digits and dashes between them, at least one letter, fifteen at most. */
static void check_port_name(struct status *st, struct slice name, struct slice field)
{
    enum { PORT_NAME_MAX = 15 };
    bool chars = name.len > 0, letter = false, dashes = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        letter = letter || (c >= 'a' && c <= 'z');
        chars = chars && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-');
        dashes = dashes || (c == '-' && i + 1 < name.len && name.ptr[i + 1] == '-');
    }
    bool ends = name.len && (name.ptr[0] == '-' || name.ptr[name.len - 1] == '-');
    const char *why[] = {name.len > PORT_NAME_MAX ? "must be no more than 15 characters" : NULL,
                         chars ? NULL : "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                         letter ? NULL : "must contain at least one letter (a-z)", dashes ? "must not contain consecutive hyphens" : NULL,
                         ends ? "must not begin or end with a hyphen" : NULL};
    for (size_t i = 0; i < COUNT_OF(why); i++)
        if (why[i])
            status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": %s", SLICE_ARG(name), why[i]);
}

static void check_choice(struct status *st, const struct node *object, const char *key, struct slice field, const char *const *choices)
{
    struct slice is = dom_str(object, key), all = SLICE("");
    for (const char *const *c = choices; *c; c++) {
        if (slice_eq(is, slice_of(*c)))
            return;
        all = arena_printf(st->a, "%.*s%s\"%s\"", SLICE_ARG(all), all.len ? ", " : "", *c);
    }
    status_cause(st, "FieldValueNotSupported", field, "Unsupported value: \"%.*s\": supported values: %.*s", SLICE_ARG(is), SLICE_ARG(all));
}

/* No two ports of a service have one name, or one number and protocol. */
static void check_port_differs(struct status *st, const struct node *ports, const struct node *p, unsigned i)
{
    bool name = false, number = false;
    struct slice protocol = dom_str(p, "protocol");
    for (const struct node *d = ports->child; d != p; d = d->next) {
        name = name || (dom_str(p, "name").len && slice_eq(dom_str(p, "name"), dom_str(d, "name")));
        number = number || (slice_eq(protocol, dom_str(d, "protocol")) && slice_eq(dom_str(p, "port"), dom_str(d, "port")));
    }
    if (name)
        status_cause(st, "FieldValueDuplicate", arena_printf(st->a, "spec.ports[%u].name", i), "Duplicate value: \"%.*s\"",
                     SLICE_ARG(dom_str(p, "name")));
    if (number)
        status_cause(
            st, "FieldValueDuplicate", arena_printf(st->a, "spec.ports[%u]", i),
            "Duplicate value: {\"Name\":\"\",\"Protocol\":\"%.*s\",\"AppProtocol\":null,\"Port\":%lld,\"TargetPort\":0,\"NodePort\":0}",
            SLICE_ARG(protocol), (long long)dom_int(p, "port", 0));
}

static void check_ports(struct status *st, const struct node *ports)
{
    unsigned i = 0;
    size_t count = dom_len(ports);
    for (const struct node *p = ports ? ports->child : NULL; p; p = p->next, i++) {
        if (count > 1 && !dom_str(p, "name").len)
            status_cause(st, "FieldValueRequired", arena_printf(st->a, "spec.ports[%u].name", i), "Required value");
        static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
        check_choice(st, p, "protocol", arena_printf(st->a, "spec.ports[%u].protocol", i), protocols);
        check_port(st, p, "port", i);
        if (dom_is(dom_get(p, "targetPort"), JSON_NUMBER))
            check_port(st, p, "targetPort", i);
        else if (dom_is(dom_get(p, "targetPort"), JSON_STRING))
            check_port_name(st, dom_str(p, "targetPort"), arena_printf(st->a, "spec.ports[%u].targetPort", i));
        check_port_differs(st, ports, p, i);
    }
}

/* Four decimal numbers, as one; false when it is no such address. */
static bool read_address(struct slice text, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        int64_t n;
        struct slice part = slice_cut(&text, '.');
        if (!slice_int(part, &n) || n < 0 || n > 255 || (i < 3) != (text.ptr != NULL))
            return false;
        *out = *out << 8 | (uint32_t)n;
    }
    return true;
}

/* There are addresses of one family here, so a service that needs two gets none; unless nobody gives it any. */
static void check_families(struct status *st, const struct node *spec)
{
    const struct node *families = dom_get(spec, "ipFamilies");
    unsigned i = 0;
    if (takes_any(spec) || slice_eq(dom_str(spec, "type"), SLICE("ExternalName")))
        return;
    if (slice_eq(dom_str(spec, "ipFamilyPolicy"), SLICE("RequireDualStack")))
        status_cause(st, "FieldValueInvalid", SLICE("spec.ipFamilyPolicy"),
                     "Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services");
    for (const struct node *f = families ? families->child : NULL; f; f = f->next, i++)
        if (!slice_eq(f->text, SLICE("IPv4")))
            status_cause(st, "FieldValueInvalid", arena_printf(st->a, "spec.ipFamilies[%u]", i),
                         "Invalid value: \"%.*s\": not configured on this cluster", SLICE_ARG(f->text));
}

static void begin_service(struct status *st, const struct node *service, const struct node *old, bool dry_run)
{
    struct slice ip = dom_str(service, "spec.clusterIP");
    const uint32_t range = 10U << 24 | 96U << 16, mask = 0xfff00000; /* 10.96.0.0/12, as kube-apiserver has it when nothing is said */
    uint32_t n;
    struct slice why = SLICE("the provided network does not match the current range");
    unsigned before = st->cause_count;
    check_families(st, dom_get(service, "spec"));
    if (st->cause_count > before || !ip.len || slice_eq(ip, SLICE("None")))
        return;
    if (dry_run)
        why =
            arena_printf(st->a, "the provided IP (%.*s) is not in the valid range. The range of valid IPs is 10.96.0.0/12", SLICE_ARG(ip));
    if (!read_address(ip, &n))
        status_cause(st, "FieldValueInvalid", SLICE("spec.clusterIPs[0]"),
                     "Invalid value: \"%.*s\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)", SLICE_ARG(ip));
    else if (!old && (n & mask) != range)
        status_cause(st, "FieldValueInvalid", SLICE("spec.clusterIPs"), "Invalid value: [\"%.*s\"]: failed to allocate IP %.*s: %.*s",
                     SLICE_ARG(ip), SLICE_ARG(ip), SLICE_ARG(why));
}

static void check_service(struct status *st, const struct api *api, const struct node *service, const struct node *old)
{
    (void)api;
    struct slice ip = dom_str(service, "spec.clusterIP"), had = dom_str(old, "spec.clusterIP");
    const struct node *ports = dom_get(service, "spec.ports");
    bool headless = slice_eq(ip, SLICE("None")), external = slice_eq(dom_str(service, "spec.type"), SLICE("ExternalName"));
    if (!dom_len(ports) && !headless && !external)
        status_cause(st, "FieldValueRequired", SLICE("spec.ports"), "Required value");
    static const char *const types[] = {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort", NULL};
    static const char *const affinities[] = {"ClientIP", "None", NULL};
    check_choice(st, service, "spec.type", SLICE("spec.type"), types);
    check_choice(st, service, "spec.sessionAffinity", SLICE("spec.sessionAffinity"), affinities);
    check_ports(st, ports);
    struct slice type = dom_str(service, "spec.type");
    if (headless && (slice_eq(type, SLICE("NodePort")) || slice_eq(type, SLICE("LoadBalancer"))))
        status_cause(st, "FieldValueInvalid", SLICE("spec.clusterIPs[0]"),
                     "Invalid value: \"None\": may not be set to 'None' for %.*s services", SLICE_ARG(type));
    if (had.len && ip.len && !slice_eq(had, ip))
        status_cause(st, "FieldValueInvalid", SLICE("spec.clusterIPs[0]"), "Invalid value: [\"%.*s\"]: may not change once set",
                     SLICE_ARG(ip));
}

const struct rules rules_service = {.blank = "{\"spec\":{},\"status\":{\"loadBalancer\":{}}}",
                                    .name = NAME_LABEL_1035,
                                    .defaults = service_defaults,
                                    .fill = fill_service,
                                    .begin = begin_service,
                                    .check = check_service};

/* ---- leases, events ---- */

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

/* The spec is printed even when nothing was said. */
static void decode_lease(struct status *st, struct node *lease, struct arena *a)
{
    (void)st;
    dom_want(a, lease, "spec", JSON_OBJECT);
}

const struct rules rules_lease = {.blank = "{\"spec\":{}}", .decode = decode_lease, .check = check_lease};

/* Fields of both kinds of events that are printed even when nothing was said. */
static void decode_event(struct status *st, struct node *event, struct arena *a)
{
    (void)st;
    static const char *const times[] = {"firstTimestamp", "lastTimestamp", "eventTime"};
    for (size_t i = 0; i < COUNT_OF(times); i++)
        if (!dom_get(event, times[i]))
            dom_put(event, slice_of(times[i]), dom_new(a, JSON_NULL));
    dom_want(a, event, "source", JSON_OBJECT);
    dom_default_str(a, event, "reportingComponent", "");
    dom_default_str(a, event, "reportingInstance", "");
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
        if (i == 0)
            names_check_qualified(st, field, text);
        else if (i > 0 && text.len > TEXT_MAX)
            status_cause(st, "FieldValueInvalid", field, "Invalid value: \"\": can have at most 128 characters");
    }
    if (dom_str(event, "message").len > NOTE_MAX)
        status_cause(st, "FieldValueInvalid", SLICE("message"), "Invalid value: \"\": can have at most 1024 characters");
}

/* Of a new event only the series may change. */
static void check_same_event(struct status *st, const struct node *event, const struct node *old)
{
    static const char *const fixed[] = {"involvedObject",   "reason", "message",   "type",   "source",  "firstTimestamp",
                                        "lastTimestamp",    "count",  "eventTime", "action", "related", "reportingComponent",
                                        "reportingInstance"};
    for (size_t i = 0; i < COUNT_OF(fixed); i++) {
        const struct node *now = dom_get(event, fixed[i]), *before = dom_get(old, fixed[i]);
        if (dom_equal(now, before) || (!dom_str(event, fixed[i]).len && !dom_str(old, fixed[i]).len && !dom_len(now) && !dom_len(before)))
            continue;
        struct slice value = now ? dom_text(now, st->a) : SLICE("\"\""), field = slice_of(fixed[i]);
        if (slice_eq(field, SLICE("reportingComponent")))
            field = SLICE("reportingController");
        status_cause(st, "FieldValueInvalid", field, "Invalid value: %.*s: field is immutable", SLICE_ARG(value));
    }
}

static void check_series(struct status *st, const struct node *series)
{
    if (series && dom_int(series, "count", 0) < 2)
        status_cause(st, "FieldValueInvalid", SLICE("series.count"), "Invalid value: \"\": should be at least 2");
    if (series && !dom_str(series, "lastObservedTime").len)
        status_cause(st, "FieldValueRequired", SLICE("series.lastObservedTime"), "Required value");
}

/* Fields of the old kind of event that a new one may not begin with. */
static void check_unset(struct status *st, const struct node *event)
{
    const char *const said[] = {dom_str(event, "firstTimestamp").len ? "firstTimestamp" : NULL,
                                dom_str(event, "lastTimestamp").len ? "lastTimestamp" : NULL, dom_int(event, "count", 0) ? "count" : NULL,
                                dom_str(event, "source.component").len || dom_str(event, "source.host").len ? "source" : NULL};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (said[i])
            status_cause(st, "FieldValueInvalid", slice_of(said[i]), "Invalid value: \"\": needs to be unset");
}

static void check_event(struct status *st, const struct api *api, const struct node *event, const struct node *old)
{
    struct slice about = dom_str(event, "involvedObject.namespace"), ns = dom_str(event, "metadata.namespace"),
                 type = dom_str(event, "type");
    bool is_new = dom_str(event, "eventTime").len > 0, home = slice_eq(ns, SLICE("default"));
    if (is_new ? !about.len && !home && !slice_eq(ns, SLICE("kube-system")) : about.len ? !slice_eq(about, ns) : !home)
        status_cause(st, "FieldValueInvalid", SLICE("involvedObject.namespace"), "Invalid value: \"%.*s\": does not match event.namespace",
                     SLICE_ARG(about));
    if (is_new)
        check_new_event(st, api, event);
    if (!api->events_view)
        return;
    if (!old || !dom_equal(dom_get(event, "series"), dom_get(old, "series")))
        check_series(st, dom_get(event, "series"));
    if (old) {
        check_same_event(st, event, old);
        return;
    }
    check_unset(st, event);
    if (!is_new)
        status_cause(st, "FieldValueRequired", SLICE("eventTime"), "Required value");
    if (!slice_eq(type, SLICE("Normal")) && !slice_eq(type, SLICE("Warning")))
        status_cause(st, "FieldValueInvalid", SLICE("type"), "Invalid value: \"\": has invalid value: %.*s", SLICE_ARG(type));
}

const struct rules rules_event = {
    .blank = "{\"involvedObject\":{},\"source\":{},\"firstTimestamp\":null,\"lastTimestamp\":null,\"eventTime\":null,"
             "\"reportingComponent\":\"\",\"reportingInstance\":\"\"}",
    .name = NAME_PATH,
    .checks_first = true,
    .decode = decode_event,
    .check = check_event};

/* ---- secrets, service accounts ---- */

static void check_base64(struct status *st, const struct node *map, const char *kind)
{
    for (const struct node *c = map ? map->child : NULL; c; c = c->next) {
        struct buf b;
        struct err e = {0};
        buf_init(&b, 4 * (size_t)MIB);
        if (c->type != JSON_STRING || !base64_decode(c->text, &b, &e))
            status_bad(st, "%s in version \"v1\" cannot be handled as a %s: illegal base64 data: %s", kind, kind, e.text);
        buf_free(&b);
    }
}

static void drop_empty(struct node *object, const char *key)
{
    if (dom_get(object, key) && !dom_len(dom_get(object, key)))
        dom_drop(object, key);
}

static void decode_configmap(struct status *st, struct node *map, struct arena *a)
{
    (void)a;
    drop_empty(map, "data");
    drop_empty(map, "binaryData");
    check_base64(st, dom_get(map, "binaryData"), "ConfigMap");
}

/* stringData is only a way of writing data. */
static void decode_secret(struct status *st, struct node *secret, struct arena *a)
{
    check_base64(st, dom_get(secret, "data"), "Secret");
    const struct node *plain = dom_get(secret, "stringData");
    for (const struct node *p = plain ? plain->child : NULL; p; p = p->next) {
        struct buf b;
        buf_init(&b, 4 * (size_t)MIB);
        base64_encode(p->text, &b);
        dom_put(dom_want(a, secret, "data", JSON_OBJECT), p->key, dom_new_str(a, arena_dup(a, buf_slice(&b))));
        buf_free(&b);
    }
    dom_drop(secret, "stringData");
    drop_empty(secret, "data");
}

static void secret_defaults(struct node *secret, struct arena *a)
{
    dom_default_str(a, secret, "type", "Opaque");
}

/* A key is a file's name. */
static void check_key(struct status *st, const char *map, struct slice key)
{
    enum { KEY_MAX = 253 };
    bool chars = key.len > 0;
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), digit = c >= '0' && c <= '9';
        chars = chars && (letter || digit || c == '-' || c == '_' || c == '.');
    }
    bool up = slice_eq(key, SLICE("..")), in = slice_starts(key, SLICE(".."));
    struct slice field = arena_printf(st->a, "%s[%.*s]", map, SLICE_ARG(key));
    const char *why[] = {key.len > KEY_MAX ? "must be no more than 253 characters" : NULL,
                         chars ? NULL
                               : "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
                                 "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
                         slice_eq(key, SLICE(".")) ? "must not be '.'" : NULL, up ? "must not be '..'" : NULL,
                         in && !up ? "must not start with '..'" : NULL};
    for (size_t i = 0; i < COUNT_OF(why); i++)
        if (why[i])
            status_cause(st, "FieldValueInvalid", field, "Invalid value: \"%.*s\": %s", SLICE_ARG(key), why[i]);
}

/* ConfigMaps and secrets: their keys, and those that are immutable. */
static void check_data(struct status *st, const struct api *api, const struct node *object, const struct node *old)
{
    (void)api;
    static const char *const fields[] = {"data", "binaryData"};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const struct node *map = dom_get(object, fields[i]);
        for (const struct node *c = map ? map->child : NULL; c; c = c->next)
            check_key(st, fields[i], c->key);
    }
    struct slice type = dom_str(object, "type");
    if (old && !slice_eq(type, dom_str(old, "type")))
        status_cause(st, "FieldValueInvalid", SLICE("type"), "Invalid value: \"%.*s\": field is immutable", SLICE_ARG(type));
    if (!dom_true(old, "immutable"))
        return;
    if (!dom_true(object, "immutable"))
        status_cause(st, "FieldValueForbidden", SLICE("immutable"), "Forbidden: field is immutable when `immutable` is set");
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (!dom_equal(dom_get(object, fields[i]), dom_get(old, fields[i])))
            status_cause(st, "FieldValueForbidden", slice_of(fields[i]), "Forbidden: field is immutable when `immutable` is set");
}

const struct rules rules_configmap = {.decode = decode_configmap, .check = check_data};
const struct rules rules_secret = {.decode = decode_secret, .defaults = secret_defaults, .check = check_data};
const struct rules rules_account = {.name = NAME_SUBDOMAIN};
