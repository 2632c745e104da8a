/* Rules of the Kubernetes API between the fields of one object of a pod template, as its own validation has them. */
#include "private.h"

#include <stdio.h>

static struct jval get(struct jval v, const char *path)
{
    return json_get(v, path);
}

static bool is_text(struct jval v, const char *text)
{
    return json_str_eq(v, slice_of(text));
}

static struct slice text_of(const struct spot *at, struct jval v)
{
    return json_type(v) == JSON_STRING ? json_str(v, at->out->arena) : SLICE("");
}

PRINTF_LIKE(4, 5) static void bad(const struct spot *at, const char *field, struct jval v, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    struct spot there = spot_member(at, slice_of(field));
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    spot_bad(&there, false, v, "%s", text);
}

/* ---- small ones ---- */

static void env(const struct spot *at, struct jval v)
{
    struct jval from = get(v, "valueFrom");
    if (is_given(from) && !slice_empty(text_of(at, get(v, "value"))))
        bad(at, "valueFrom", from, "and value exclude each other");
}

static void toleration(const struct spot *at, struct jval v)
{
    struct jval op = get(v, "operator"), key = get(v, "key"), value = get(v, "value"), seconds = get(v, "tolerationSeconds");
    bool exists = is_text(op, "Exists");
    if (slice_empty(text_of(at, key)) && !exists)
        bad(at, "operator", is_given(op) ? op : v, "must be Exists where there is no key");
    if (exists && !slice_empty(text_of(at, value)))
        bad(at, "value", value, "must not be here: operator is Exists");
    if (is_given(seconds) && !is_text(get(v, "effect"), "NoExecute"))
        bad(at, "tolerationSeconds", seconds, "is only for effect NoExecute");
}

static void requirement(const struct spot *at, struct jval v)
{
    struct jval op = get(v, "operator"), values = get(v, "values");
    size_t count = json_len(values);
    if ((is_text(op, "In") || is_text(op, "NotIn")) && count == 0)
        bad(at, "values", v, "is missing: operator is In or NotIn");
    if ((is_text(op, "Exists") || is_text(op, "DoesNotExist")) && count > 0)
        bad(at, "values", values, "must not be here: operator is Exists or DoesNotExist");
    if ((is_text(op, "Gt") || is_text(op, "Lt")) && count != 1)
        bad(at, "values", is_given(values) ? values : v, "must have one value: operator is Gt or Lt");
}

static void profile(const struct spot *at, struct jval v)
{
    struct jval own = get(v, "localhostProfile");
    bool local = is_text(get(v, "type"), "Localhost");
    if (local && slice_empty(text_of(at, own)))
        bad(at, "localhostProfile", v, "is missing: type is Localhost");
    if (!local && is_given(own))
        bad(at, "localhostProfile", own, "is only for type Localhost");
}

static void security(const struct spot *at, struct jval v)
{
    struct jval escalation = get(v, "allowPrivilegeEscalation"), key, one;
    if (json_bool(escalation, true))
        return;
    if (json_bool(get(v, "privileged"), false))
        bad(at, "allowPrivilegeEscalation", escalation, "is false, and privileged is true: they exclude each other");
    for (struct jiter it = json_iter(get(v, "capabilities.add")); json_next(&it, &key, &one);)
        if (is_text(one, "CAP_SYS_ADMIN"))
            bad(at, "allowPrivilegeEscalation", escalation, "is false, and CAP_SYS_ADMIN is added: they exclude each other");
}

static void spread(const struct spot *at, struct jval v)
{
    struct jval domains = get(v, "minDomains");
    if (is_given(domains) && !is_text(get(v, "whenUnsatisfiable"), "DoNotSchedule"))
        bad(at, "minDomains", domains, "is only for whenUnsatisfiable DoNotSchedule");
}

static void mount(const struct spot *at, struct jval v)
{
    struct jval expr = get(v, "subPathExpr"), recursive = get(v, "recursiveReadOnly");
    if (!slice_empty(text_of(at, expr)) && !slice_empty(text_of(at, get(v, "subPath"))))
        bad(at, "subPathExpr", expr, "and subPath exclude each other");
    if (is_given(recursive) && !is_text(recursive, "Disabled") && !json_bool(get(v, "readOnly"), false))
        bad(at, "recursiveReadOnly", recursive, "is only for mounts with readOnly: true");
}

static void template(const struct spot *at, struct jval v)
{
    struct jval finalizers = get(v, "metadata.finalizers");
    struct spot meta = spot_member(at, SLICE("metadata")), there = spot_member(&meta, SLICE("finalizers"));
    if (json_len(finalizers))
        spot_bad(&there, true, finalizers, "keep every pod Terminating until somebody takes them off");
}

/* ---- resources ---- */

/* The scheduler gives whole ones of these, and never lends them: their request is their limit. */
static bool is_whole(struct slice name)
{
    return slice_starts(name, SLICE("hugepages-")) ||
           (slice_find(name, '/') >= 0 && !slice_eq(slice_cut(&name, '/'), SLICE("kubernetes.io")));
}

static bool amount(const struct spot *at, struct jval v, int64_t *milli)
{
    struct slice text = json_type(v) == JSON_NUMBER ? json_raw(v) : text_of(at, v);
    return is_given(v) && quantity_parse(text, 3, milli, NULL);
}

static void resources(const struct spot *at, struct jval v)
{
    struct jval limits = get(v, "limits"), requests = get(v, "requests"), key, one;
    struct spot in_limits = spot_member(at, SLICE("limits")), in_requests = spot_member(at, SLICE("requests"));
    int64_t limit, request;
    if (json_len(limits) > PAIRS_MAX)
        return;
    for (struct jiter it = json_iter(limits); json_next(&it, &key, &one);) {
        struct slice name = json_str(key, at->out->arena);
        struct spot there = spot_member(&in_limits, name);
        if (is_whole(name) && amount(at, one, &limit) && limit % 1000)
            spot_bad(&there, false, one, "must be a whole number");
    }
    for (struct jiter it = json_iter(requests); json_next(&it, &key, &one);) {
        struct slice name = json_str(key, at->out->arena);
        struct jval other = json_key(limits, name);
        struct spot there = spot_member(&in_requests, name);
        if (is_whole(name) && !is_given(other))
            spot_bad(&there, false, one, "has no limit: the limit of this resource must be there and be the same");
        if (!amount(at, one, &request) || !amount(at, other, &limit))
            continue;
        if (is_whole(name) && request != limit)
            spot_bad(&there, false, one, "is not the limit: they must be the same for this resource");
        else if (request > limit)
            spot_bad(&there, false, one, "is above the limit: lower it or raise the limit");
    }
}

/* ---- containers and their pod ---- */

static void container(const struct spot *at, struct jval v)
{
    static const char *const probes[] = {"livenessProbe", "startupProbe"};
    struct jval grace = get(v, "readinessProbe.terminationGracePeriodSeconds"), key, one;
    int64_t n;
    for (size_t i = 0; i < COUNT_OF(probes); i++) {
        struct jval times = json_key(json_key(v, slice_of(probes[i])), SLICE("successThreshold"));
        struct spot probe = spot_member(at, slice_of(probes[i]));
        if (json_int(times, &n) && n > 1)
            bad(&probe, "successThreshold", times, "is %lld: must be 1 for this probe", (long long)n);
    }
    struct spot ready = spot_member(at, SLICE("readinessProbe"));
    if (is_given(grace))
        bad(&ready, "terminationGracePeriodSeconds", grace, "must not be here: a readiness probe ends nothing");
    size_t i = 0;
    for (struct jiter it = json_iter(get(v, "volumeMounts")); json_next(&it, &key, &one); i++)
        if (is_text(get(one, "mountPropagation"), "Bidirectional") && !json_bool(get(v, "securityContext.privileged"), false)) {
            struct spot list = spot_member(at, SLICE("volumeMounts")), there = spot_item(&list, i);
            bad(&there, "mountPropagation", get(one, "mountPropagation"), "is Bidirectional: only for privileged containers");
        }
}

/* Volumes that the builders add where nobody has them. */
static bool is_added(struct jval mount, struct slice name)
{
    return slice_eq(name, SLICE("shared-mem")) && !is_text(get(mount, "mountPath"), "/dev/shm");
}

static bool has_name(struct jval list, struct slice name)
{
    if (json_len(list) > PAIRS_MAX)
        return true; /* not looked for */
    return list_has(list, "name", name);
}

static void mounts(const struct spot *at, const char *field, struct jval container, struct jval pod)
{
    struct jval key, one;
    struct spot list = spot_member(at, slice_of(field));
    size_t i = 0;
    for (struct jiter it = json_iter(json_key(container, slice_of(field))); json_next(&it, &key, &one); i++) {
        struct spot there = spot_item(&list, i);
        struct jval named = get(one, "name");
        struct slice name = text_of(at, named);
        if (!slice_empty(name) && !has_name(get(pod, "volumes"), name) && !is_added(one, name))
            bad(&there, "name", named, "is \"%.*s\": no volume of the pod has this name", SLICE_ARG(slice_head(name, 64)));
    }
}

static void host_ports(const struct spot *at, struct jval container)
{
    struct jval key, one;
    struct spot list = spot_member(at, SLICE("ports"));
    size_t i = 0;
    for (struct jiter it = json_iter(get(container, "ports")); json_next(&it, &key, &one); i++) {
        int64_t inside = json_get_int(one, "containerPort", 0), host = json_get_int(one, "hostPort", 0);
        struct spot there = spot_item(&list, i);
        if (host && host != inside)
            bad(&there, "hostPort", get(one, "hostPort"), "must be the containerPort, as hostNetwork is true");
    }
}

static void in_pod(const struct spot *at, const char *field, struct jval pod, bool init)
{
    static const char *const late[] = {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"};
    struct jval key, one;
    struct spot list = spot_member(at, slice_of(field));
    size_t i = 0;
    for (struct jiter it = json_iter(json_key(pod, slice_of(field))); json_next(&it, &key, &one); i++) {
        struct spot there = spot_item(&list, i);
        struct jval restart = get(one, "restartPolicy");
        mounts(&there, "volumeMounts", one, pod);
        mounts(&there, "volumeDevices", one, pod);
        if (json_bool(get(pod, "hostNetwork"), false))
            host_ports(&there, one);
        for (size_t k = 0; init && k < COUNT_OF(late) && !is_text(restart, "Always"); k++)
            if (is_given(json_key(one, slice_of(late[k]))))
                bad(&there, late[k], json_key(one, slice_of(late[k])), "is not for an init container without restartPolicy: Always");
        if (init && json_len(get(pod, "containers")) <= PAIRS_MAX && has_name(get(pod, "containers"), text_of(at, get(one, "name"))))
            bad(&there, "name", get(one, "name"), "is that of a container, too: each must be another");
        if (!init && is_given(restart))
            bad(&there, "restartPolicy", restart, "is only for init containers");
    }
}

/* A pod's own resources, beside those of its containers. */
static void pod_resources(const struct spot *at, struct jval v)
{
    static const char *const sides[] = {"limits", "requests"};
    struct spot there = spot_member(at, SLICE("resources"));
    struct jval key, one;
    for (size_t i = 0; i < COUNT_OF(sides); i++)
        for (struct jiter it = json_iter(json_key(get(v, "resources"), slice_of(sides[i]))); json_next(&it, &key, &one);) {
            struct slice name = json_str(key, at->out->arena);
            struct spot side = spot_member(&there, slice_of(sides[i])), entry = spot_member(&side, name);
            if (slice_find(name, '/') >= 0 || slice_eq(name, SLICE("ephemeral-storage")))
                spot_bad(&entry, false, one, "is not for a whole pod: give it to a container");
        }
}

static void pod(const struct spot *at, struct jval v)
{
    pod_resources(at, v);
    in_pod(at, "containers", v, false);
    in_pod(at, "initContainers", v, true);
    if (is_text(get(v, "dnsPolicy"), "None") && json_len(get(v, "dnsConfig.nameservers")) == 0)
        bad(at, "dnsConfig", get(v, "dnsPolicy"), "must have nameservers: dnsPolicy is None");
}

void rules_check(const struct spot *at, struct slice type, struct jval object)
{
    static const struct {
        const char *type;
        void (*check)(const struct spot *at, struct jval v);
    } rules[] = {{"Env", env},
                 {"Toleration", toleration},
                 {"Requirement", requirement},
                 {"NodeRequirement", requirement},
                 {"Profile", profile},
                 {"Security", security},
                 {"Spread", spread},
                 {"Mount", mount},
                 {"Template", template},
                 {"Config", template},
                 {"Resources", resources},
                 {"Container", container},
                 {"Pod", pod}};
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (slice_eq(type, slice_of(rules[i].type)))
            rules[i].check(at, object);
}
