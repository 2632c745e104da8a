/* What the API server adds to a pod, and what it refuses. The defaults are those of k8s.io/kubernetes pkg/apis/core/v1/defaults.go and of
 * the admission plugins DefaultTolerationSeconds, Priority and ServiceAccount, as far as pods of this project meet them. */
#include "rules.h"

/* ---- defaults ---- */

static void probe_defaults(struct arena *a, struct node *probe)
{
    if (!probe)
        return;
    dom_default_int(a, probe, "timeoutSeconds", 1);
    dom_default_int(a, probe, "periodSeconds", 10);
    dom_default_int(a, probe, "successThreshold", 1);
    dom_default_int(a, probe, "failureThreshold", 3);
    struct node *http = dom_get(probe, "httpGet"), *grpc = dom_get(probe, "grpc");
    if (http) {
        dom_default_str(a, http, "path", "/");
        dom_default_str(a, http, "scheme", "HTTP");
    }
    if (grpc)
        dom_default_str(a, grpc, "service", "");
}

static void env_defaults(struct arena *a, struct node *env)
{
    for (struct node *e = env ? env->child : NULL; e; e = e->next) {
        struct node *ref = dom_get(e, "valueFrom.fieldRef"), *resource = dom_get(e, "valueFrom.resourceFieldRef");
        if (ref)
            dom_default_str(a, ref, "apiVersion", "v1");
        if (resource)
            dom_default_str(a, resource, "divisor", "0");
    }
}

/* A limit without a request is also the request. */
static void resource_defaults(struct arena *a, struct node *container)
{
    struct node *resources = dom_want(a, container, "resources", JSON_OBJECT), *limits = dom_get(resources, "limits");
    for (struct node *l = limits ? limits->child : NULL; l; l = l->next) {
        struct node *requests = dom_want(a, resources, "requests", JSON_OBJECT);
        if (!dom_key(requests, l->key))
            dom_put(requests, l->key, dom_copy(l, a));
    }
}

enum { MILLI = 3 };

/* Quantities are printed in their canonical form: 1000m is 1. */
static void canonical_amount(struct status *st, struct node *n, struct arena *a)
{
    char text[QUANTITY_TEXT_MAX];
    int64_t value;
    if (!n || (n->type != JSON_STRING && n->type != JSON_NUMBER) || slice_starts(n->text, SLICE("-")))
        return;
    if (!quantity_parse(n->text, MILLI, &value, NULL)) {
        status_bad(st, "Pod in version \"v1\" cannot be handled as a Pod: quantities must match the regular expression "
                       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
        return;
    }
    n->type = JSON_STRING;
    n->text = arena_dup(a, quantity_format(value, MILLI, slice_ends(n->text, SLICE("i")), text));
}

static void canonical_amounts(struct status *st, struct node *amounts, struct arena *a)
{
    for (struct node *n = amounts ? amounts->child : NULL; n; n = n->next)
        canonical_amount(st, n, a);
}

/* An empty string is left out when a typed object is printed. */
static void drop_empty_values(struct node *env)
{
    for (struct node *e = env ? env->child : NULL; e; e = e->next)
        if (dom_is(dom_get(e, "value"), JSON_STRING) && !dom_str(e, "value").len)
            dom_drop(e, "value");
}

/* What the status says once and is printed twice. */
static void decode_status(struct node *status, struct arena *a)
{
    struct slice ip = dom_str(status, "podIP");
    const struct node *conditions = dom_get(status, "conditions");
    for (struct node *c = conditions ? conditions->child : NULL; c; c = c->next) {
        static const char *const times[] = {"lastProbeTime", "lastTransitionTime"};
        for (size_t i = 0; i < COUNT_OF(times); i++)
            if (!dom_get(c, times[i]))
                dom_put(c, slice_of(times[i]), dom_new(a, JSON_NULL));
    }
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const struct node *list = dom_get(status, lists[i]);
        for (struct node *c = list ? list->child : NULL; c; c = c->next) {
            dom_want(a, c, "state", JSON_OBJECT);
            dom_want(a, c, "lastState", JSON_OBJECT);
        }
    }
    if (!ip.len || slice_eq(dom_str(dom_at(dom_get(status, "podIPs"), 0), "ip"), ip))
        return;
    struct node *first = dom_new(a, JSON_OBJECT), *list = dom_new(a, JSON_ARRAY);
    dom_put_str(a, first, "ip", ip);
    dom_push(list, first);
    dom_put(status, SLICE("podIPs"), list);
}

static void decode(struct status *st, struct node *pod, struct arena *a)
{
    static const char *const lists[] = {"initContainers", "containers"};
    struct node *status = dom_get(pod, "status"), *spec = dom_get(pod, "spec");
    if (dom_str(spec, "serviceAccountName").len) /* the old name of the same */
        dom_put_str(a, spec, "serviceAccount", dom_str(spec, "serviceAccountName"));
    if (status)
        decode_status(status, a);
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const struct node *list = dom_get(dom_get(pod, "spec"), lists[i]);
        for (struct node *c = list ? list->child : NULL; c; c = c->next) {
            canonical_amounts(st, dom_get(c, "resources.limits"), a);
            canonical_amounts(st, dom_get(c, "resources.requests"), a);
            drop_empty_values(dom_get(c, "env"));
        }
    }
    const struct node *volumes = dom_get(pod, "spec.volumes");
    for (struct node *v = volumes ? volumes->child : NULL; v; v = v->next)
        canonical_amount(st, dom_get(v, "emptyDir.sizeLimit"), a);
}

static struct slice pull_policy(struct slice image)
{
    ptrdiff_t slash = slice_find(image, '/');
    while (slash >= 0) {
        image = slice_skip(image, (size_t)slash + 1);
        slash = slice_find(image, '/');
    }
    bool latest = slice_find(image, ':') < 0 || slice_ends(image, SLICE(":latest"));
    return latest && slice_find(image, '@') < 0 ? SLICE("Always") : SLICE("IfNotPresent");
}

static void container_defaults(struct arena *a, struct node *c)
{
    dom_default_str(a, c, "terminationMessagePath", "/dev/termination-log");
    dom_default_str(a, c, "terminationMessagePolicy", "File");
    if (!dom_get(c, "imagePullPolicy"))
        dom_put_str(a, c, "imagePullPolicy", pull_policy(dom_str(c, "image")));
    resource_defaults(a, c);
    const struct node *ports = dom_get(c, "ports");
    for (struct node *p = ports ? ports->child : NULL; p; p = p->next)
        dom_default_str(a, p, "protocol", "TCP");
    env_defaults(a, dom_get(c, "env"));
    probe_defaults(a, dom_get(c, "livenessProbe"));
    probe_defaults(a, dom_get(c, "readinessProbe"));
    probe_defaults(a, dom_get(c, "startupProbe"));
}

static void volume_defaults(struct arena *a, struct node *volumes)
{
    static const char *const moded[] = {"configMap", "secret", "projected", "downwardAPI"};
    enum { MODE = 0644 };
    for (struct node *v = volumes ? volumes->child : NULL; v; v = v->next) {
        for (size_t i = 0; i < COUNT_OF(moded); i++)
            if (dom_get(v, moded[i]))
                dom_default_int(a, dom_get(v, moded[i]), "defaultMode", MODE);
        if (dom_get(v, "hostPath"))
            dom_default_str(a, dom_get(v, "hostPath"), "type", "");
        if (dom_len(v) == 1)
            dom_want(a, v, "emptyDir", JSON_OBJECT);
    }
}

static void tolerate(struct arena *a, struct node *spec, const char *key)
{
    struct node *list = dom_want(a, spec, "tolerations", JSON_ARRAY);
    for (const struct node *t = list->child; t; t = t->next) {
        struct slice effect = dom_str(t, "effect"), of = dom_str(t, "key");
        if ((!of.len || slice_eq(of, slice_of(key))) && (!effect.len || slice_eq(effect, SLICE("NoExecute"))))
            return;
    }
    struct node *t = dom_push(list, dom_new(a, JSON_OBJECT));
    dom_put_str(a, t, "key", slice_of(key));
    dom_put_str(a, t, "operator", SLICE("Exists"));
    dom_put_str(a, t, "effect", SLICE("NoExecute"));
    dom_put_int(a, t, "tolerationSeconds", 300);
}

static const struct object *account_of(struct apiserver *s, const struct node *pod)
{
    struct slice name = dom_str(pod, "spec.serviceAccountName");
    return store_find(registry_resource(s, SLICE(""), SLICE("serviceaccounts")), dom_str(pod, "metadata.namespace"),
                      name.len ? name : SLICE("default"));
}

/* The admission plugin ServiceAccount: a pod without one is not looked at. */
static bool admit(struct status *st, struct apiserver *s, const struct node *pod)
{
    struct slice account = dom_str(pod, "spec.serviceAccountName"), ns = dom_str(pod, "metadata.namespace"),
                 name = dom_str(pod, "metadata.name");
    if (account_of(s, pod))
        return true;
    account = account.len ? account : SLICE("default");
    name = name.len ? name : dom_str(pod, "metadata.generateName");
    status_set(st, 403, "Forbidden",
               "pods \"%.*s\" is forbidden: error looking up service account %.*s/%.*s: serviceaccount \"%.*s\" not found", SLICE_ARG(name),
               SLICE_ARG(ns), SLICE_ARG(account), SLICE_ARG(account));
    st->name = name;
    st->kind = SLICE("pods");
    return false;
}

/* What the pod says about the token, or else its account. */
static bool wants_token(struct apiserver *s, const struct node *pod)
{
    const struct object *account = account_of(s, pod);
    const struct node *said = dom_get(pod, "spec.automountServiceAccountToken");
    if (!said && account)
        said = dom_get(version_tree(account->now, &s->scratch), "automountServiceAccountToken");
    return !said || (dom_is(said, JSON_BOOL) && said->text.ptr[0] == 't');
}

/* The volume with the service account's token, which the admission plugin mounts into every container that has not one of its own. */
static void mount_token(struct apiserver *s, struct node *spec, struct arena *a)
{
    static const char *const path = "/var/run/secrets/kubernetes.io/serviceaccount";
    static const char *const lists[] = {"initContainers", "containers"};
    struct node *volume = dom_literal(
        a, "{\"name\":\"\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}},"
           "{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}},"
           "{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\",\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}"
           "]}}],"
           "\"defaultMode\":420}}");
    struct slice suffix = world_suffix(s, a), name = arena_printf(a, "kube-api-access-%.*s", SLICE_ARG(suffix));
    dom_put_str(a, volume, "name", name);
    dom_push(dom_want(a, spec, "volumes", JSON_ARRAY), volume);
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const struct node *list = dom_get(spec, lists[i]);
        for (struct node *c = list ? list->child : NULL; c; c = c->next) {
            struct node *mounts = dom_want(a, c, "volumeMounts", JSON_ARRAY), *m = mounts->child;
            while (m && !slice_eq(dom_str(m, "mountPath"), slice_of(path)))
                m = m->next;
            if (m)
                continue;
            m = dom_push(mounts, dom_new(a, JSON_OBJECT));
            dom_put_str(a, m, "name", name);
            dom_put_bool(a, m, "readOnly", true);
            dom_put_str(a, m, "mountPath", slice_of(path));
        }
    }
}

static const char *qos_class(const struct node *spec)
{
    static const char *const lists[] = {"initContainers", "containers"}, *const names[] = {"cpu", "memory"};
    bool any = false, all = true;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const struct node *list = dom_get(spec, lists[i]);
        for (const struct node *c = list ? list->child : NULL; c; c = c->next) {
            const struct node *requests = dom_get(c, "resources.requests"), *limits = dom_get(c, "resources.limits");
            for (size_t n = 0; n < COUNT_OF(names); n++) {
                const struct node *limit = dom_key(limits, slice_of(names[n])), *request = dom_key(requests, slice_of(names[n]));
                any = any || limit || request;
                all = all && limit && request && slice_eq(limit->text, request->text);
            }
        }
    }
    return !any ? "BestEffort" : all ? "Guaranteed" : "Burstable";
}

static bool uses_host_network(const struct node *spec)
{
    const struct node *said = dom_get(spec, "hostNetwork");
    return dom_is(said, JSON_BOOL) && said->text.ptr[0] == 't';
}

/* In the network of the node every port of a container is one of the node. */
static void host_port_defaults(struct arena *a, struct node *spec)
{
    static const char *const lists[] = {"initContainers", "containers"};
    for (size_t i = 0; i < COUNT_OF(lists) && uses_host_network(spec); i++) {
        const struct node *list = dom_get(spec, lists[i]);
        for (const struct node *c = list ? list->child : NULL; c; c = c->next) {
            const struct node *ports = dom_get(c, "ports");
            for (struct node *p = ports ? ports->child : NULL; p; p = p->next)
                if (!dom_int(p, "hostPort", 0))
                    dom_put_int(a, p, "hostPort", dom_int(p, "containerPort", 0));
        }
    }
}

static void defaults(struct node *pod, struct arena *a)
{
    struct node *spec = dom_want(a, pod, "spec", JSON_OBJECT);
    static const char *const lists[] = {"initContainers", "containers"};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const struct node *list = dom_get(spec, lists[i]);
        for (struct node *c = list ? list->child : NULL; c; c = c->next)
            container_defaults(a, c);
    }
    volume_defaults(a, dom_get(spec, "volumes"));
    dom_default_str(a, spec, "restartPolicy", "Always");
    dom_default_int(a, spec, "terminationGracePeriodSeconds", 30);
    dom_default_str(a, spec, "dnsPolicy", "ClusterFirst");
    dom_want(a, spec, "securityContext", JSON_OBJECT);
    dom_default_str(a, spec, "schedulerName", "default-scheduler");
    dom_default_bool(a, spec, "enableServiceLinks", true);
    host_port_defaults(a, spec);
}

static void fill(struct apiserver *s, struct node *pod, const struct node *old, struct arena *a)
{
    struct node *spec = dom_get(pod, "spec");
    tolerate(a, spec, "node.kubernetes.io/not-ready");
    tolerate(a, spec, "node.kubernetes.io/unreachable");
    if (old) {
        dom_default_str(a, dom_want(a, pod, "status", JSON_OBJECT), "qosClass", qos_class(spec));
        return;
    }
    struct slice account = dom_str(spec, "serviceAccountName");
    dom_put_str(a, spec, "serviceAccountName", account.len ? account : SLICE("default"));
    dom_put_str(a, spec, "serviceAccount", account.len ? account : SLICE("default"));
    dom_default_int(a, spec, "priority", 0);
    dom_default_str(a, spec, "preemptionPolicy", "PreemptLowerPriority");
    if (wants_token(s, pod))
        mount_token(s, spec, a);
    struct node *status = dom_want(a, pod, "status", JSON_OBJECT);
    dom_put_str(a, status, "phase", SLICE("Pending"));
    dom_put_str(a, status, "qosClass", slice_of(qos_class(spec)));
}

/* ---- what is refused ---- */

static void check_requests(struct status *st, const struct node *c, struct slice path)
{
    const struct node *limits = dom_get(c, "resources.limits"), *requests = dom_get(c, "resources.requests");
    for (const struct node *r = requests ? requests->child : NULL; r; r = r->next) {
        const struct node *limit = dom_key(limits, r->key);
        int64_t most, wanted;
        if (limit && quantity_parse(limit->text, MILLI, &most, NULL) && quantity_parse(r->text, MILLI, &wanted, NULL) && wanted > most)
            status_cause(st, "FieldValueInvalid", arena_printf(st->a, "%.*s.resources.requests", SLICE_ARG(path)),
                         "Invalid value: \"%.*s\": must be less than or equal to %.*s limit of %.*s", SLICE_ARG(r->text), SLICE_ARG(r->key),
                         SLICE_ARG(limit->text));
    }
}

/* A probe does one thing. */
static void check_probe(struct status *st, const struct node *probe, struct slice path)
{
    static const char *const handlers[] = {"exec", "httpGet", "tcpSocket", "grpc"};
    bool any = false;
    for (size_t i = 0; i < COUNT_OF(handlers); i++) {
        if (any && dom_get(probe, handlers[i]))
            status_cause(st, "FieldValueForbidden", arena_printf(st->a, "%.*s.%s", SLICE_ARG(path), handlers[i]),
                         "Forbidden: may not specify more than 1 handler type");
        any = any || dom_get(probe, handlers[i]);
    }
    if (probe && !any)
        status_cause(st, "FieldValueRequired", path, "Required value: must specify a handler type");
}

static void check_port(struct status *st, const struct node *p, const char *key, struct slice path)
{
    long long port = dom_int(p, key, 0);
    if (port < 0 || port > 65535)
        status_cause(st, "FieldValueInvalid", arena_printf(st->a, "%.*s.%s", SLICE_ARG(path), key),
                     "Invalid value: %lld: must be between 1 and 65535, inclusive", port);
}

static void check_container(struct status *st, const struct node *c, const char *list, unsigned index)
{
    struct slice name = dom_str(c, "name"), path = arena_printf(st->a, "spec.%s[%u]", list, index);
    if (!name.len)
        status_cause(st, "FieldValueRequired", arena_printf(st->a, "%.*s.name", SLICE_ARG(path)), "Required value");
    else
        names_check(st, arena_printf(st->a, "%.*s.name", SLICE_ARG(path)), name, NAME_LABEL);
    static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"};
    bool init = strcmp(list, "initContainers") == 0 && !slice_eq(dom_str(c, "restartPolicy"), SLICE("Always"));
    for (size_t i = 0; i < COUNT_OF(probes); i++) {
        struct slice field = arena_printf(st->a, "%.*s.%s", SLICE_ARG(path), probes[i]);
        if (!init)
            check_probe(st, dom_get(c, probes[i]), field);
        else if (dom_get(c, probes[i]))
            status_cause(st, "FieldValueForbidden", field, "Forbidden: may not be set for init containers without restartPolicy=Always");
    }
    if (!slice_trim(dom_str(c, "image")).len)
        status_cause(st, "FieldValueRequired", arena_printf(st->a, "%.*s.image", SLICE_ARG(path)), "Required value");
    const struct node *ports = dom_get(c, "ports");
    unsigned i = 0;
    for (const struct node *p = ports ? ports->child : NULL; p; p = p->next, i++) {
        struct slice field = arena_printf(st->a, "%.*s.ports[%u]", SLICE_ARG(path), i);
        if (!dom_int(p, "containerPort", 0))
            status_cause(st, "FieldValueRequired", arena_printf(st->a, "%.*s.containerPort", SLICE_ARG(field)), "Required value");
        check_port(st, p, "containerPort", field);
        check_port(st, p, "hostPort", field);
    }
    check_requests(st, c, path);
    static const char *const amounts[] = {"limits", "requests"};
    for (size_t k = 0; k < COUNT_OF(amounts); k++) {
        const struct node *list_of = dom_get(dom_get(c, "resources"), amounts[k]);
        for (const struct node *n = list_of ? list_of->child : NULL; n; n = n->next) {
            if (slice_starts(n->text, SLICE("-")))
                status_cause(st, "FieldValueInvalid",
                             arena_printf(st->a, "%.*s.resources.%s[%.*s]", SLICE_ARG(path), amounts[k], SLICE_ARG(n->key)),
                             "Invalid value: \"%.*s\": must be greater than or equal to 0", SLICE_ARG(n->text));
        }
    }
}

/* Port p of a node is asked for a second time: before, in the same container, or (all) in one before it. */
static bool port_taken(const struct node *containers, const struct node *container, const struct node *p, bool all)
{
    for (const struct node *c = all ? containers->child : container;; c = c->next) {
        const struct node *ports = dom_get(c, "ports");
        for (const struct node *o = ports ? ports->child : NULL; o && o != p; o = o->next)
            if (dom_int(o, "hostPort", 0) == dom_int(p, "hostPort", 0) && slice_eq(dom_str(o, "protocol"), dom_str(p, "protocol")) &&
                slice_eq(dom_str(o, "hostIP"), dom_str(p, "hostIP")))
                return true;
        if (c == container)
            return false;
    }
}

/* Init containers run one after the other: each may have all ports, and a collision is said to be one of the first. */
static void check_host_ports(struct status *st, const struct node *spec, const char *list, bool together)
{
    const struct node *containers = dom_get(spec, list);
    unsigned i = 0;
    for (const struct node *c = containers ? containers->child : NULL; c; c = c->next, i++) {
        const struct node *ports = dom_get(c, "ports");
        unsigned k = 0;
        for (const struct node *p = ports ? ports->child : NULL; p; p = p->next, k++) {
            long long port = dom_int(p, "hostPort", 0);
            struct slice field = arena_printf(st->a, "spec.%s[%u].ports[%u].hostPort", list, together ? i : 0, k);
            if (port && port_taken(containers, c, p, together))
                status_cause(st, "FieldValueDuplicate", field, "Duplicate value: \"%.*s/%.*s/%lld\"", SLICE_ARG(dom_str(p, "protocol")),
                             SLICE_ARG(dom_str(p, "hostIP")), port);
            if (together && uses_host_network(spec) && port != dom_int(p, "containerPort", 0))
                status_cause(st, "FieldValueInvalid", field, "Invalid value: %lld: must match `containerPort` when `hostNetwork` is true",
                             port);
        }
    }
}

static void check_names_differ(struct status *st, const struct node *list, const char *path, const struct node *others)
{
    unsigned i = 0;
    for (const struct node *c = list ? list->child : NULL; c; c = c->next, i++)
        for (const struct node *d = others ? others->child : NULL; d; d = d->next)
            if (slice_eq(dom_str(c, "name"), dom_str(d, "name")))
                status_cause(st, "FieldValueDuplicate", arena_printf(st->a, "%s[%u].name", path, i), "Duplicate value: \"%.*s\"",
                             SLICE_ARG(dom_str(c, "name")));
    i = 0;
    for (const struct node *c = list ? list->child : NULL; c; c = c->next, i++)
        for (const struct node *d = list->child; d != c; d = d->next)
            if (slice_eq(dom_str(c, "name"), dom_str(d, "name")) && (dom_str(c, "name").len || !others))
                status_cause(st, "FieldValueDuplicate", arena_printf(st->a, "%s[%u].name", path, i), "Duplicate value: \"%.*s\"",
                             SLICE_ARG(dom_str(c, "name")));
}

/* Tolerations may be added, and how long they hold may change. */
static void check_tolerations(struct status *st, const struct node *now, const struct node *before)
{
    for (const struct node *b = before ? before->child : NULL; b; b = b->next) {
        struct node *old = dom_copy(b, st->a);
        bool found = false;
        dom_drop(old, "tolerationSeconds");
        for (const struct node *n = now ? now->child : NULL; n && !found; n = n->next) {
            struct node *copy = dom_copy(n, st->a);
            dom_drop(copy, "tolerationSeconds");
            found = dom_equal(old, copy);
        }
        if (found)
            continue;
        status_cause(st, "FieldValueForbidden", SLICE("spec.tolerations"),
                     "Forbidden: existing toleration can not be modified except its tolerationSeconds");
        return;
    }
}

/* A deadline may come, and come nearer. false: nothing else is said. */
static bool check_deadline(struct status *st, const struct node *spec, const struct node *before)
{
    struct slice field = SLICE("spec.activeDeadlineSeconds");
    const char *key = "activeDeadlineSeconds";
    int64_t now = dom_int(spec, key, 0);
    if (dom_get(before, key) && !dom_get(spec, key))
        status_cause(st, "FieldValueInvalid", field, "Invalid value: null: must not update from a positive integer to nil value");
    if (!dom_get(spec, key) || !dom_get(before, key) || now <= dom_int(before, key, 0))
        return true;
    return status_cause(st, "FieldValueInvalid", field, "Invalid value: %lld: must be less than or equal to previous value",
                        (long long)now);
}

/* The fields that an update may change are put back to what they were; what then differs is refused. */
static void check_update(struct status *st, const struct node *pod, const struct node *old)
{
    static const char *const free_fields[] = {"activeDeadlineSeconds", "tolerations", "schedulingGates"};
    static const char *const lists[] = {"containers", "initContainers"};
    struct node *spec = dom_copy(dom_get(pod, "spec"), st->a), *before = dom_copy(dom_get(old, "spec"), st->a);
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        if (dom_len(dom_get(spec, lists[i])) == dom_len(dom_get(before, lists[i])))
            continue;
        status_cause(st, "FieldValueForbidden", arena_printf(st->a, "spec.%s", lists[i]),
                     "Forbidden: pod updates may not add or remove containers");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(free_fields); i++) {
        dom_drop(spec, free_fields[i]);
        dom_drop(before, free_fields[i]);
    }
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        for (int side = 0; side < 2; side++) {
            const struct node *list = dom_get(side ? before : spec, lists[i]);
            for (struct node *c = list ? list->child : NULL; c; c = c->next)
                dom_drop(c, "image");
        }
    }
    if (!check_deadline(st, dom_get(pod, "spec"), dom_get(old, "spec")))
        return;
    check_tolerations(st, dom_get(pod, "spec.tolerations"), dom_get(old, "spec.tolerations"));
    if (!dom_equal(spec, before))
        status_cause(st, "FieldValueForbidden", SLICE("spec"),
                     "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
                     "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
                     "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)");
}

static void check(struct status *st, const struct api *api, const struct node *pod, const struct node *old)
{
    (void)api;
    static const char *const lists[] = {"initContainers", "containers"};
    if (!dom_len(dom_get(pod, "spec.containers")))
        status_cause(st, "FieldValueRequired", SLICE("spec.containers"), "Required value");
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        const struct node *list = dom_get(dom_get(pod, "spec"), lists[i]);
        unsigned index = 0;
        for (const struct node *c = list ? list->child : NULL; c; c = c->next)
            check_container(st, c, lists[i], index++);
    }
    const struct node *containers = dom_get(pod, "spec.containers");
    check_host_ports(st, dom_get(pod, "spec"), "containers", true);
    check_host_ports(st, dom_get(pod, "spec"), "initContainers", false);
    check_names_differ(st, containers, "spec.containers", NULL);
    check_names_differ(st, dom_get(pod, "spec.initContainers"), "spec.initContainers", containers);
    check_names_differ(st, dom_get(pod, "spec.volumes"), "spec.volumes", NULL);
    struct slice policy = dom_str(pod, "spec.restartPolicy");
    if (!slice_eq(policy, SLICE("Always")) && !slice_eq(policy, SLICE("OnFailure")) && !slice_eq(policy, SLICE("Never")))
        status_cause(st, "FieldValueNotSupported", SLICE("spec.restartPolicy"),
                     "Unsupported value: \"%.*s\": supported values: \"Always\", \"OnFailure\", \"Never\"", SLICE_ARG(policy));
    if (old)
        check_update(st, pod, old);
}

const struct rules rules_pod = {.blank = "{\"spec\":{\"containers\":null},\"status\":{}}",
                                .decode = decode,
                                .defaults = defaults,
                                .admit = admit,
                                .fill = fill,
                                .check = check};
