/* What webhooks, policies and injectors make of an object as it is created: the enum apiserver_mutator that the server has. They come
 * before the defaults, as on a real server, which fills those in again behind them. */
#include "request.h"
#include "rules.h"

#include <mobula/ray.h>

static const char proxy[] =
    "{\"name\":\"istio-proxy\",\"image\":\"mesh/proxyv2:1\",\"env\":[{\"name\":\"RAY_CLUSTER_NAME\",\"value\":\"x\"},"
    "{\"name\":\"POD_NAME\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}}],\"ports\":[{\"name\":"
    "\"http-envoy-prom\",\"containerPort\":15090}]}";
static const char last[] = "{\"name\":\"vault-agent\",\"image\":\"vault:1\"}";
static const char init[] = "{\"name\":\"istio-init\",\"image\":\"mesh/proxyv2:1\"}";
static const char native[] = "{\"name\":\"linkerd-proxy\",\"image\":\"mesh/linkerd:1\",\"restartPolicy\":\"Always\"}";

static void put_first(struct arena *a, struct node *spec, const char *list, const char *container)
{
    struct node *fresh = dom_new(a, JSON_ARRAY), *old = dom_get(spec, list);
    dom_push(fresh, dom_literal(a, container));
    for (const struct node *c = old ? old->child : NULL; c; c = c->next)
        dom_push(fresh, dom_copy(c, a));
    dom_put(spec, slice_of(list), fresh);
}

/* As an image policy does that knows one mirror, and a LimitRange with defaults. */
static void change_containers(struct apiserver *s, struct node *list, uint32_t how)
{
    struct arena *a = &s->scratch;
    for (struct node *c = list ? list->child : NULL; c; c = c->next) {
        if (how & MUTATE_IMAGES)
            dom_put_str(a, c, "image", arena_printf(a, "mirror.local/%.*s", SLICE_ARG(dom_str(c, "image"))));
        if (!(how & MUTATE_RESOURCES))
            continue;
        struct node *resources = dom_want(a, c, "resources", JSON_OBJECT);
        dom_default_str(a, dom_want(a, resources, "requests", JSON_OBJECT), "ephemeral-storage", "1Gi");
        dom_default_str(a, dom_want(a, resources, "limits", JSON_OBJECT), "ephemeral-storage", "2Gi");
    }
}

static void mutate_pod(struct apiserver *s, struct node *pod, uint32_t how)
{
    struct arena *a = &s->scratch;
    struct node *spec = dom_want(a, pod, "spec", JSON_OBJECT);
    if (how & MUTATE_LAST)
        dom_push(dom_want(a, spec, "containers", JSON_ARRAY), dom_literal(a, last));
    if (how & MUTATE_FIRST)
        put_first(a, spec, "containers", proxy);
    if (how & MUTATE_INIT)
        put_first(a, spec, "initContainers", init);
    if (how & MUTATE_NATIVE)
        put_first(a, spec, "initContainers", native);
    change_containers(s, dom_get(spec, "initContainers"), how);
    change_containers(s, dom_get(spec, "containers"), how);
    if (how & MUTATE_STRIP)
        dom_drop(dom_want(a, dom_get(pod, "metadata"), "labels", JSON_OBJECT), RAY_LABEL_CLUSTER);
}

void mutate_new(struct apiserver *s, const struct api *api, struct node *tree)
{
    uint32_t how = s->config.mutators;
    struct arena *a = &s->scratch;
    struct node *metadata = dom_want(a, tree, "metadata", JSON_OBJECT);
    bool pod = api->of->rules == &rules_pod;
    if (pod)
        mutate_pod(s, tree, how);
    if (!(how & MUTATE_METADATA) || !(pod || api->of->rules == &rules_service || api->of->custom))
        return;
    dom_put_str(a, dom_want(a, metadata, "labels", JSON_OBJECT), "policy.example.com/checked", SLICE("yes"));
    if (pod) /* of services it would have to be done at each update, too */
        dom_put_str(a, dom_want(a, metadata, "labels", JSON_OBJECT), "app.kubernetes.io/name", SLICE("everything"));
    dom_put_str(a, dom_want(a, metadata, "annotations", JSON_OBJECT), "kubectl.kubernetes.io/default-container", SLICE("istio-proxy"));
}

void apiserver_mutate(struct apiserver *s, uint32_t mutators)
{
    s->config.mutators = mutators;
}
