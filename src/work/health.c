/* The table of components, and what is made of each one's answers. What cannot be checked is never OK. */
#include <mobula/health.h>

#include <stdarg.h>
#include <stdio.h>

const char *const health_words[] = {
    [HEALTH_UNKNOWN] = "UNKNOWN", [HEALTH_OK] = "OK", [HEALTH_WARN] = "WARN", [HEALTH_ERROR] = "ERROR", [HEALTH_SKIPPED] = "SKIPPED"};

void health_say(struct health_finding *out, enum health_state state, const char *reason, const char *fmt, ...)
{
    char line[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    out->state = state;
    out->reason = reason;
    utf8_clean(slice_of(line), out->message, sizeof out->message);
}

/* The API server's answer says neither yes nor no. */
static void say_refused(const struct health_answer *answer, const char *what, struct health_finding *out)
{
    health_say(out, HEALTH_UNKNOWN, "ApiServerRefused", "%s: %d %.*s", what, answer->code, SLICE_ARG(answer->words));
}

/* ---- the control plane ---- */

/* Whether the component is decided by this: there is none, or it has not answered. */
static bool say_unheard(const struct health_facts *f, struct health_finding *out)
{
    if (slice_empty(f->cloud))
        health_say(out, HEALTH_SKIPPED, "NoControlPlane", "no control plane is configured (--control-plane-url)");
    else if (!f->accepted && slice_empty(f->trouble))
        health_say(out, HEALTH_UNKNOWN, "NotCalled", "this process has not called the control plane yet: only the leader does");
    else if (!f->accepted && f->refused == 0)
        health_say(out, HEALTH_UNKNOWN, "ControlPlaneUnreachable", "%.*s", SLICE_ARG(f->trouble));
    else
        return false;
    return true;
}

static void decide_cloud(const struct health_facts *f, uint32_t n, const struct health_answer *answer, struct arena *a,
                         struct health_finding *out)
{
    (void)n, (void)answer, (void)a;
    if (say_unheard(f, out))
        return;
    if (f->accepted)
        health_say(out, HEALTH_OK, "CloudFound", "the control plane has cloud %.*s, and this operator holds it", SLICE_ARG(f->cloud));
    else if (f->refused == 404 || f->refused == 409)
        health_say(out, HEALTH_ERROR, f->refused == 404 ? "CloudUnknown" : "CloudInUse", "%.*s", SLICE_ARG(f->trouble));
    else
        health_say(out, HEALTH_UNKNOWN, "ControlPlaneRefused", "%.*s", SLICE_ARG(f->trouble));
}

static void decide_identity(const struct health_facts *f, uint32_t n, const struct health_answer *answer, struct arena *a,
                            struct health_finding *out)
{
    (void)n, (void)answer, (void)a;
    if (say_unheard(f, out))
        return;
    if (f->accepted && slice_empty(f->identity))
        health_say(out, HEALTH_OK, "Accepted", "the control plane accepts the token");
    else if (f->accepted)
        health_say(out, HEALTH_OK, "Accepted", "the control plane knows this operator as %.*s", SLICE_ARG(f->identity));
    else
        health_say(out, f->refused == 401 || f->refused == 403 ? HEALTH_ERROR : HEALTH_UNKNOWN, "ControlPlaneRefused", "%.*s",
                   SLICE_ARG(f->trouble));
}

/* ---- gateway ---- */

static bool ask_gateway(const struct health_facts *f, uint32_t n, struct arena *a, struct health_question *q)
{
    bool gateway = !slice_empty(f->gateway);
    if (n > 0 || (!gateway && slice_empty(f->ingress_class)))
        return false;
    q->path = gateway ? arena_printf(a, "/apis/gateway.networking.k8s.io/v1/namespaces/%.*s/gateways/%.*s",
                                     SLICE_ARG(slice_empty(f->gateway_ns) ? f->own_ns : f->gateway_ns), SLICE_ARG(f->gateway))
                      : arena_printf(a, "/apis/networking.k8s.io/v1/ingressclasses/%.*s", SLICE_ARG(f->ingress_class));
    return true;
}

static void decide_gateway(const struct health_facts *f, uint32_t n, const struct health_answer *answer, struct arena *a,
                           struct health_finding *out)
{
    bool gateway = !slice_empty(f->gateway);
    const char *what = gateway ? "Gateway" : "IngressClass";
    struct slice name = gateway ? f->gateway : f->ingress_class;
    (void)n;
    if (!answer) {
        health_say(out, HEALTH_SKIPPED, "NotConfigured", "no gateway and no ingress class is configured (--gateway-name, --ingress-class)");
    } else if (answer->code == 404) {
        health_say(out, HEALTH_ERROR, "NotFound", "there is no %s %.*s: %.*s", what, SLICE_ARG(name), SLICE_ARG(answer->words));
    } else if (answer->code == 403) {
        health_say(out, HEALTH_UNKNOWN, "Forbidden", "%s %.*s may not be read here: grant the operator get on it", what, SLICE_ARG(name));
    } else if (answer->code != 200) {
        say_refused(answer, what, out);
    } else {
        struct jval key, one;
        const char *bad = NULL;
        for (struct jiter it = json_iter(json_get(answer->body, "status.conditions")); json_next(&it, &key, &one);)
            for (int i = 0; i < 2; i++)
                if (json_is(json_get(one, "type"), (const char *[]){"Accepted", "Programmed"}[i]) &&
                    json_is(json_get(one, "status"), "False"))
                    bad = arena_dup(a, json_get_str(one, "message", a)).ptr;
        if (bad)
            health_say(out, HEALTH_ERROR, "NotProgrammed", "%s %.*s: %s", what, SLICE_ARG(name), bad);
        else
            health_say(out, HEALTH_OK, "Found", "%s %.*s is there", what, SLICE_ARG(name));
    }
}

/* ---- instance types ---- */

static void decide_types(const struct health_facts *f, uint32_t n, const struct health_answer *answer, struct arena *a,
                         struct health_finding *out)
{
    (void)n, (void)answer, (void)a;
    if (slice_empty(f->types))
        health_say(out, HEALTH_SKIPPED, "NotConfigured", "no ConfigMap of instance types is named (--instance-types-configmap)");
    else if (f->types_broken)
        health_say(out, HEALTH_ERROR, "ConfigMapBroken", "ConfigMap %.*s is broken, and what was read before is in force: %.*s",
                   SLICE_ARG(f->types), SLICE_ARG(f->types_why));
    else if (!f->types_known && !slice_empty(f->types_why))
        health_say(out, HEALTH_ERROR, "ConfigMapUnreadable", "ConfigMap %.*s cannot be read: %.*s", SLICE_ARG(f->types),
                   SLICE_ARG(f->types_why));
    else if (!f->types_known)
        health_say(out, HEALTH_UNKNOWN, "NotRead", "ConfigMap %.*s has not been read yet", SLICE_ARG(f->types));
    else if (f->type_count == 0)
        health_say(out, HEALTH_SKIPPED, "NoInstanceTypes", "ConfigMap %.*s has no instance types", SLICE_ARG(f->types));
    else
        health_say(out, HEALTH_OK, "Read", "%u instance types", f->type_count);
}

/* ---- Kubernetes ---- */

/* One review for each namespace. */
static bool ask_rights(const struct health_facts *f, uint32_t n, struct arena *a, struct health_question *q)
{
    if (n >= f->namespace_count || slice_empty(f->rights))
        return false;
    q->path = SLICE("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews");
    q->body = rights_review(slice_empty(f->namespaces[n]) ? f->own_ns : f->namespaces[n], a);
    return true;
}

static void decide_rights(const struct health_facts *f, uint32_t n, const struct health_answer *answer, struct arena *a,
                          struct health_finding *out)
{
    struct jval want;
    if (!answer) {
        health_say(out, HEALTH_SKIPPED, "NotKnown", "what rights are needed is not known to this process");
        return;
    }
    if (answer->code != 200 || !json_read(&want, f->rights, a, NULL)) {
        say_refused(answer, "SelfSubjectRulesReview", out);
        return;
    }
    struct jval status = json_get(answer->body, "status");
    bool incomplete = json_get_bool(status, "incomplete", false);
    struct slice missing = rights_missing(json_key(status, SLICE("resourceRules")), want, a);
    struct slice ns = slice_empty(f->namespaces[n]) ? SLICE("all") : f->namespaces[n];
    if (slice_empty(missing))
        health_say(out, HEALTH_OK, "Granted", "all rights of the operator's Role are held");
    else
        health_say(out, incomplete ? HEALTH_WARN : HEALTH_ERROR, "RightsMissing",
                   "not held in namespace %.*s: %.*s%s: apply mobula install --print --no-crds with this operator's flags", SLICE_ARG(ns),
                   SLICE_ARG(missing), incomplete ? " (the server says that its answer is incomplete)" : "");
}

static bool ask_version(const struct health_facts *f, uint32_t n, struct arena *a, struct health_question *q)
{
    (void)f, (void)a;
    q->path = SLICE("/version");
    return n == 0;
}

int64_t health_minor(struct jval version, struct arena *a)
{
    struct slice text = json_get_str(version, "minor", a);
    int64_t minor = 0;
    while (!slice_empty(text) && !(text.ptr[text.len - 1] >= '0' && text.ptr[text.len - 1] <= '9'))
        text.len--; /* "29+" of managed clusters */
    return slice_int(text, &minor) ? minor : 0;
}

static void decide_version(const struct health_facts *f, uint32_t n, const struct health_answer *answer, struct arena *a,
                           struct health_finding *out)
{
    int64_t minor = answer && answer->code == 200 ? health_minor(answer->body, a) : 0;
    struct slice name = minor ? json_get_str(answer->body, "gitVersion", a) : SLICE_NONE;
    (void)f, (void)n;
    if (minor == 0 && answer && answer->code != 200)
        say_refused(answer, "/version", out);
    else if (minor == 0)
        health_say(out, HEALTH_UNKNOWN, "NoVersion", "the API server does not say its version");
    else if (minor < HEALTH_OLDEST_MINOR)
        health_say(out, HEALTH_ERROR, "TooOld", "%.*s: upgrade the cluster to Kubernetes 1.%d or later", SLICE_ARG(name),
                   HEALTH_OLDEST_MINOR);
    else if (minor < HEALTH_USUAL_MINOR)
        health_say(out, HEALTH_WARN, "Old", "%.*s: 1.%d or later is advised", SLICE_ARG(name), HEALTH_USUAL_MINOR);
    else
        health_say(out, HEALTH_OK, "Supported", "%.*s", SLICE_ARG(name));
}

/* ---- storage ---- */

static void decide_bucket(const struct health_facts *f, uint32_t n, const struct health_answer *answer, struct arena *a,
                          struct health_finding *out)
{
    (void)n, (void)answer, (void)a;
    if (slice_empty(f->bucket))
        health_say(out, HEALTH_SKIPPED, "NotConfigured", "no bucket is configured (--bucket): logs end with their pods");
    else if (!slice_empty(f->bucket_trouble))
        health_say(out, HEALTH_ERROR, "NotUsable", "%.*s: %.*s", SLICE_ARG(f->bucket), SLICE_ARG(f->bucket_trouble));
    else if (!f->bucket_checked)
        health_say(out, HEALTH_UNKNOWN, "NotChecked", "%.*s has not been checked yet", SLICE_ARG(f->bucket));
    else
        health_say(out, HEALTH_OK, "Usable", "an object was written, listed, read, read by a signed URL and deleted in %.*s",
                   SLICE_ARG(f->bucket));
}

const struct health_component health_components[HEALTH_COMPONENTS] = {
    {"CLOUD_RESOURCES", NULL, decide_cloud},
    {"GATEWAY_RESOURCES", ask_gateway, decide_gateway},
    {"IAM_IDENTITY", NULL, decide_identity},
    {"INSTANCE_TYPES", NULL, decide_types},
    [HEALTH_RIGHTS] = {"KUBERNETES_PERMISSIONS", ask_rights, decide_rights},
    {"KUBERNETES_VERSION", ask_version, decide_version},
    [HEALTH_BUCKET] = {"STORAGE_BUCKET", NULL, decide_bucket},
};

bool health_excluded_read(struct slice text, bool out[HEALTH_COMPONENTS], struct err *e)
{
    while (!slice_empty(text)) {
        struct slice name = slice_trim(slice_cut(&text, ','));
        size_t i = 0;
        while (i < HEALTH_COMPONENTS && !slice_eq(name, slice_of(health_components[i].name)))
            i++;
        if (i == HEALTH_COMPONENTS)
            return err_set(e, ERR_CONFIG, "\"%.*s\" is no component: want %s, %s, %s, %s, %s, %s or %s", SLICE_ARG(name),
                           health_components[0].name, health_components[1].name, health_components[2].name, health_components[3].name,
                           health_components[4].name, health_components[5].name, health_components[6].name);
        out[i] = true;
    }
    return true;
}
