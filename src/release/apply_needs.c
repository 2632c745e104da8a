/* Objects that the pods of a Deployment need and the manifests do not bring: Secrets and ConfigMaps, looked for before anything is changed;
 * and what the kubelet reports while a pod waits for them. */
#include <mobula/kube.h>
#include <mobula/release.h>

#define ROOT_CA "kube-root-ca.crt" /* ConfigMap that the controller manager puts into each namespace */

struct need {
    struct apply *p;
    const struct apply_object *deployment;
};

static bool brings(const struct apply *p, struct slice path)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (slice_eq(p->list[i].path, path))
            return true;
    return false;
}

/* key: of the file or variable that needs it; empty: a pull secret, which has no key of ours. */
static void say_missing(const struct need *n, bool secret, struct slice name, struct slice key, bool there)
{
    struct arena *a = n->p->a;
    struct slice ns = n->deployment->ns, lacks = there ? arena_printf(a, "has no key %.*s", SLICE_ARG(key)) : SLICE("does not exist");
    struct slice from = slice_empty(key) ? SLICE("--docker-server=HOST --docker-username=NAME --docker-password=WORD")
                                         : arena_printf(a, "--from-file=%.*s=FILE", SLICE_ARG(key));
    const char *kind = !secret ? "configmap" : slice_empty(key) ? "secret docker-registry" : "secret generic";
    apply_fail(n->p, arena_printf(a, "Deployment %.*s needs %s %.*s in namespace %.*s, which %.*s: kubectl -n %.*s create %s %.*s %.*s",
                                  SLICE_ARG(n->deployment->name), secret ? "Secret" : "ConfigMap", SLICE_ARG(name), SLICE_ARG(ns),
                                  SLICE_ARG(lacks), SLICE_ARG(ns), kind, SLICE_ARG(name), SLICE_ARG(from)));
}

/* of: {name or secretName, optional}. Metadata is enough of a Secret: its values are not read. Without the right to read it, it counts as
 * there. */
static bool look_for(const struct need *n, bool secret, struct jval of, struct slice key, struct err *e)
{
    static const struct http_header metadata = {SLICE("Accept"), SLICE("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")};
    struct arena *a = n->p->a;
    struct apply_object o = {.api_version = SLICE("v1"), .kind = secret ? SLICE("Secret") : SLICE("ConfigMap"), .ns = n->deployment->ns};
    struct ask_answer answer = {0};
    struct jval there;
    o.name = json_get_str(of, "name", a);
    if (slice_empty(o.name))
        o.name = json_get_str(of, "secretName", a);
    o.path = apply_path(&o, a);
    if (slice_empty(o.name) || json_get_bool(of, "optional", false) || brings(n->p, o.path) || slice_is(o.name, ROOT_CA))
        return true;
    if (!ask_get(n->p->ask, o.path, secret ? &metadata : NULL, a, &answer, e))
        return false;
    if (answer.code == 404)
        say_missing(n, secret, o.name, key, false);
    else if (!secret && answer.code == 200 && !slice_empty(key) && json_read(&there, answer.body, a, NULL) &&
             !json_there(json_key(json_get(there, "data"), key)))
        say_missing(n, secret, o.name, key, true);
    return true;
}

/* source: of a volume, or of a variable's value. */
static bool look_at_source(const struct need *n, struct jval source, struct err *e)
{
    static const char *const members[] = {"configMap", "secret", "configMapKeyRef", "secretKeyRef"};
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        struct jval of = json_get(source, members[i]);
        struct slice key = json_get_str(json_there(json_get(of, "items")) ? json_at(json_get(of, "items"), 0) : of, "key", n->p->a);
        if (!look_for(n, i % 2, of, key, e))
            return false;
    }
    return true;
}

/* Each element of a list, and those of the list `inner` in it, or their member. */
static bool look_at_list(const struct need *n, struct jval list, const char *inner, const char *member, struct err *e)
{
    struct jval k, one, source;
    for (struct jiter it = json_iter(list); json_next(&it, &k, &one);) {
        if (!look_at_source(n, one, e))
            return false;
        for (struct jiter jt = json_iter(json_get(one, inner)); json_next(&jt, &k, &source);)
            if (!look_at_source(n, member ? json_get(source, member) : source, e))
                return false;
    }
    return true;
}

bool apply_needs(struct apply *p, struct err *e)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct need n = {p, &p->list[i]};
        struct jval object, k, one, spec;
        if (!apply_is(n.deployment, "Deployment") || !json_read(&object, n.deployment->json, p->a, NULL))
            continue;
        spec = json_get(object, "spec.template.spec");
        if (!look_at_list(&n, json_get(spec, "volumes"), "projected.sources", NULL, e) ||
            !look_at_list(&n, json_get(spec, "containers"), "env", "valueFrom", e))
            return false;
        for (struct jiter it = json_iter(json_get(spec, "imagePullSecrets")); json_next(&it, &k, &one);)
            if (!look_for(&n, true, one, SLICE(""), e))
                return false;
    }
    return true;
}

/* ---- ports ---- */

bool apply_lets_out(struct jval policy, int64_t port)
{
    struct jval key, rule, one;
    for (struct jiter it = json_iter(json_get(policy, "spec.egress")); json_next(&it, &key, &rule);) {
        struct jval ports = json_key(rule, SLICE("ports"));
        if (json_there(json_key(rule, SLICE("to"))))
            continue;
        if (json_len(ports) == 0)
            return true;
        for (struct jiter k = json_iter(ports); json_next(&k, &key, &one);)
            if (json_get_int(one, "port", 0) == port)
                return true;
    }
    return false;
}

struct slice apply_endpoint(struct jval endpoints, int64_t port, struct arena *a)
{
    struct slice host = json_str(json_at(json_get(json_at(json_get(endpoints, "endpoints"), 0), "addresses"), 0), a);
    return arena_printf(a, slice_find(host, ':') >= 0 ? "[%.*s]:%lld" : "%.*s:%lld", SLICE_ARG(host), (long long)port);
}

static void say_port(struct apply *p, struct jval policy, struct jval slice)
{
    struct jval key, one;
    for (struct jiter it = json_iter(json_get(slice, "ports")); json_next(&it, &key, &one);) {
        int64_t port = json_get_int(one, "port", 0);
        if (!apply_lets_out(policy, port))
            p->say(arena_printf(p->a,
                                "NetworkPolicy/%.*s does not let out port %lld, where the API server listens: add --egress-allow=%.*s, "
                                "or leave it out with --no-network-policy",
                                SLICE_ARG(json_get_str(policy, "metadata.name", p->a)), (long long)port,
                                SLICE_ARG(apply_endpoint(slice, port, p->a))));
    }
}

void apply_say_ports(struct apply *p)
{
    struct ask_answer answer = {0};
    struct err e = {0};
    struct jval policy, list, key, one;
    for (uint32_t i = 0; p->say && i < p->count; i++) {
        if (!apply_is(&p->list[i], "NetworkPolicy") || !json_read(&policy, p->list[i].json, p->a, NULL) ||
            !ask_get(p->ask, SLICE(APPLY_ENDPOINTS), NULL, p->a, &answer, &e) || answer.code >= 300 ||
            !json_read(&list, answer.body, p->a, NULL))
            continue;
        for (struct jiter it = json_iter(json_key(list, SLICE("items"))); json_next(&it, &key, &one);)
            say_port(p, policy, one);
    }
}

/* ---- events ---- */

struct slice apply_event_words(struct jval events, struct arena *a)
{
    struct slice last = SLICE_NONE, last_time = SLICE("");
    struct jval k, event;
    for (struct jiter it = json_iter(json_get(events, "items")); json_next(&it, &k, &event);) {
        struct slice time = json_get_str(event, "lastTimestamp", a);
        if (!json_is(json_get(event, "type"), "Warning") || slice_cmp(time, last_time) < 0)
            continue;
        last_time = time;
        last = arena_printf(a, "%.*s: %.*s", SLICE_ARG(json_get_str(event, "reason", a)), SLICE_ARG(json_get_str(event, "message", a)));
    }
    return last;
}

struct slice apply_pod_event(struct apply *p, struct slice ns, struct jval pod)
{
    struct jval waiting = json_get(json_at(json_get(pod, "status.containerStatuses"), 0), "state.waiting.reason"), events;
    struct ask_answer answer = {0};
    struct err e = {0};
    if (!json_is(waiting, "ContainerCreating") && !json_is(waiting, "PodInitializing"))
        return SLICE_NONE;
    struct slice path =
        arena_printf(p->a, "/api/v1/namespaces/%.*s/events?fieldSelector=type%%3DWarning%%2CinvolvedObject.name%%3D%.*s&limit=100",
                     SLICE_ARG(ns), SLICE_ARG(json_get_str(pod, "metadata.name", p->a)));
    if (!ask_get(p->ask, path, NULL, p->a, &answer, &e) || answer.code != 200 || !json_read(&events, answer.body, p->a, NULL))
        return SLICE_NONE;
    return apply_event_words(events, p->a);
}
